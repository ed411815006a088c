// Draws the curves of the report and handles zoom, readout and selection. All text is in the
// page already. Names reach the page as text nodes only, never as markup.
(() => {
  "use strict";
  const data = JSON.parse(document.getElementById("data").textContent);
  const byId = (id) => document.getElementById(id);
  const COLOURS = 8;
  const MOST_BONDS = 8;
  const MOST_SIGNALS = 8;
  const HEIGHT = 270;
  // Of the plot of reasons: its axis, and each of them.
  const LANES = 62;
  const LANE = 22;

  // --- Columns: decoded when first drawn -----------------------------------------------------------------------

  const decoded = new Map();
  function points(index) {
    if (!decoded.has(index)) {
      const { points: text, bits } = data.columns[index];
      const letters = atob(text);
      const bytes = new Uint8Array(letters.length);
      for (let k = 0; k < bytes.length; k += 1) bytes[k] = letters.charCodeAt(k);
      const numbers = bits === 32 ? new Float32Array(bytes.buffer) : new Float64Array(bytes.buffer);
      decoded.set(index, Array.from(numbers, (value) => (Number.isFinite(value) ? value : null)));
    }
    return decoded.get(index);
  }
  // At the start no step was taken yet, so step size and indicator begin with a zero that means nothing, and that a
  // logarithm has no place for.
  const positive = (values) => values.map((value) => (value > 0 ? value : null));

  // Signals and books have instants of their own; both begin and end with the run.
  const instants = (index) => points(data.columns[index].instants);
  const all = [0, data.signals].filter((index) => index < data.columns.length).map(points).filter((time) => time.length > 0);
  if (all.length === 0) return;
  const whole = [Math.min(...all.map((time) => time[0])), Math.max(...all.map((time) => time[time.length - 1]))];

  // --- Number formats ----------------------------------------------------------------------------------------

  function short(value, digits) {
    if (value === 0) return "0";
    const rounded = Number(value.toPrecision(digits));
    const size = Math.abs(rounded);
    const text = size >= 1e5 || size < 1e-3 ? rounded.toExponential() : String(rounded);
    return text.replace("e+", "e").replaceAll("-", "−");
  }
  function ticks(plot, splits) {
    const largest = splits.reduce((most, value) => Math.max(most, Math.abs(value ?? 0)), 0);
    return splits.map((value) => (value == null ? "" : short(Math.abs(value) < 1e-9 * largest ? 0 : value, 9)));
  }
  const spoken = (value) => (value == null ? "–" : short(value, 7));
  const axisLabel = (quantity, unit) => (unit === "" || unit === "1" ? quantity : `${quantity} in ${unit}`);

  // --- Plots that share their time -----------------------------------------------------------------------------

  const plots = new Map(); // box -> { plot, recipe }
  let range = whole;

  function element(name, attributes, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  }

  function theme() {
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(name).trim();
    return { ink: colour("--ink"), muted: colour("--muted"), grid: colour("--grid"), curve: (k) => colour(`--c${k % COLOURS}`) };
  }

  // Where curves are expected to lie upon each other, every other one lets the one below show through.
  function dash(slot, overlap) {
    if (slot >= COLOURS) return [2, 3];
    return overlap && slot % 2 === 1 ? [9, 7] : [];
  }

  // The first unused colour: curves keep theirs while others are added and removed.
  function freeSlot(slots) {
    const taken = new Set(slots.values());
    let slot = 0;
    while (taken.has(slot)) slot += 1;
    return slot;
  }

  // A recipe: title, quantity, unit, log, curves of { column, label, slot }, and what is drawn on top. Lanes have their
  // instants and values in the recipe, no curves, and no numbers at the left.
  function draw(box, recipe) {
    remove(box);
    const time = recipe.lanes?.time ?? instants(recipe.curves[0]?.column ?? data.signals);
    const look = theme();
    const font = `12px ${getComputedStyle(document.body).fontFamily}`;
    const axis = { stroke: look.muted, font, labelFont: font, labelSize: 20, grid: { stroke: look.grid, width: 1 }, ticks: { stroke: look.grid, width: 1, size: 5 } };
    const options = {
      width: Math.max(box.clientWidth, 200),
      height: recipe.lanes ? LANES + LANE * recipe.curves.length : HEIGHT,
      padding: [8, 12, 0, 0],
      cursor: {
        sync: { key: "time", scales: ["x", null], filters: { pub: (kind) => kind === "mousemove" || kind === "mouseleave" } },
        drag: { x: true, y: false, dist: 5 },
        y: false,
        points: { size: 7 },
        bind: { mousedown: (plot, target, usual) => (event) => (event.shiftKey ? pan(plot, event) : usual(event)), dblclick: () => () => show(...whole) },
      },
      scales: { x: { time: false }, y: recipe.log ? { distr: 3 } : recipe.lanes ? { range: [0, recipe.curves.length] } : {} },
      axes: [
        { ...axis, label: "time in s", size: 34, values: ticks },
        { ...axis, label: axisLabel(recipe.quantity, recipe.unit), size: 64, ...(recipe.lanes ? { splits: () => [], label: "" } : recipe.log ? { values: (plot, splits) => splits.map((value) => (value == null ? "" : short(value, 6))) } : { values: ticks }) },
      ],
      series: [
        { label: "t in s", value: (plot, value) => spoken(value) },
        ...recipe.curves.map(({ label, slot }) => ({
          label,
          stroke: look.curve(slot),
          dash: dash(slot, recipe.overlap),
          width: 1.5,
          pxAlign: 0,
          points: { show: !recipe.lanes && time.length < 3 },
          value: (plot, value, series, index) => (recipe.lanes ? recipe.lanes.spoken(value, index) : spoken(value)),
          ...(recipe.lanes ? { paths: () => null } : {}),
        })),
      ],
      hooks: {
        setScale: [(plot, scale) => scale === "x" && follow(plot)],
        drawAxes: recipe.curves.some(({ bar }) => bar) ? [(plot) => bands(plot, look, recipe)] : [],
        draw: recipe.over ? [(plot) => recipe.over(plot, look, recipe)] : [],
      },
    };
    const values = recipe.lanes?.values ?? recipe.curves.map(({ column }) => (recipe.ofSteps ? positive(points(column)) : points(column)));
    box.replaceChildren(element("h3", {}, recipe.title));
    const plot = new uPlot(options, [time, ...values], box);
    plots.set(box, { plot, recipe });
    box.tabIndex = 0;
    box.setAttribute("role", "group");
    box.setAttribute("aria-label", `${recipe.title}; arrows read values, shift and arrows move, plus and minus zoom, Home shows all`);
    box.onkeydown = (event) => key(plot, event);
    plot.over.addEventListener("wheel", (event) => wheel(plot, event), { passive: false });
    place(plot);
    watch.observe(box);
  }

  // Error bars, below the curves: as much to both sides at all instants.
  function bands(plot, look, { curves }) {
    const { ctx, bbox } = plot;
    const time = plot.data[0];
    const [first, last] = plot.series[0].idxs;
    if (first == null || last == null) return;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    ctx.globalAlpha = 0.2;
    curves.forEach(({ bar, slot }, k) => {
      if (!bar) return;
      const values = plot.data[k + 1];
      ctx.fillStyle = look.curve(slot);
      // From gap to gap: above the curve to the right, below it back to the left.
      for (let from = first; from <= last; from += 1) {
        if (values[from] == null) continue;
        let to = from;
        while (to < last && values[to + 1] != null) to += 1;
        ctx.beginPath();
        for (let at = from; at <= to; at += 1) ctx.lineTo(plot.valToPos(time[at], "x", true), plot.valToPos(values[at] + bar, "y", true));
        for (let at = to; at >= from; at -= 1) ctx.lineTo(plot.valToPos(time[at], "x", true), plot.valToPos(values[at] - bar, "y", true));
        ctx.fill();
        from = to;
      }
    });
    ctx.restore();
  }

  function remove(box) {
    plots.get(box)?.plot.destroy();
    plots.delete(box);
    watch.unobserve(box);
    box.replaceChildren();
  }

  const watch = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      const plot = plots.get(target)?.plot;
      const width = Math.max(target.clientWidth, 200);
      if (plot && plot.width !== width) plot.setSize({ width, height: plot.height });
    }
  });

  function redraw() {
    for (const [box, { recipe }] of [...plots]) draw(box, recipe);
  }

  // --- One range for all ---------------------------------------------------------------------------------------

  function place(plot) {
    if (range[0] < range[1]) plot.setScale("x", { min: range[0], max: range[1] });
  }
  function follow(plot) {
    const { min, max } = plot.scales.x;
    // A range that comes back unchanged is an echo of `place`, not user input.
    if (min == null || !plots.has(plot.root.parentElement) || (min === range[0] && max === range[1])) return;
    show(min, max);
  }
  function show(from, to) {
    const least = (whole[1] - whole[0]) * 1e-9;
    from = Math.max(from, whole[0]);
    to = Math.min(to, whole[1]);
    if (!(to - from > least)) return tell();
    range = [from, to];
    for (const { plot } of plots.values()) place(plot);
    tell();
  }
  function move(share) {
    const width = range[1] - range[0];
    const by = Math.min(Math.max(share * width, whole[0] - range[0]), whole[1] - range[1]);
    show(range[0] + by, range[1] + by);
  }
  function zoom(factor, at = (range[0] + range[1]) / 2) {
    show(at - (at - range[0]) * factor, at + (range[1] - at) * factor);
  }
  function pan(plot, event) {
    let last = event.clientX;
    const moved = (next) => {
      move((last - next.clientX) / plot.over.clientWidth);
      last = next.clientX;
    };
    const done = () => {
      removeEventListener("mousemove", moved);
      removeEventListener("mouseup", done);
    };
    addEventListener("mousemove", moved);
    addEventListener("mouseup", done);
  }
  function wheel(plot, event) {
    if (!event.ctrlKey && !event.metaKey) return; // the page scrolls
    event.preventDefault();
    const left = event.clientX - plot.over.getBoundingClientRect().left;
    zoom(event.deltaY < 0 ? 0.8 : 1.25, plot.posToVal(left, "x"));
  }
  function key(plot, event) {
    const way = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (event.target !== event.currentTarget || event.ctrlKey || event.altKey || event.metaKey) return;
    if (way && event.shiftKey) move(0.1 * way);
    else if (way) read(plot, way);
    else if (event.key === "+" || event.key === "=") zoom(0.5);
    else if (event.key === "-") zoom(2);
    else if (event.key === "Home" || event.key === "Escape") show(...whole);
    else return;
    event.preventDefault();
  }
  // The next instant that is drawn apart from this one.
  function read(plot, way) {
    const time = plot.data[0];
    const pixel = (range[1] - range[0]) / Math.max(plot.over.clientWidth, 1);
    const middle = (range[0] + range[1]) / 2;
    let index = plot.cursor.left >= 0 && plot.cursor.idx != null ? plot.cursor.idx : time.findIndex((t) => t >= middle);
    const from = time[index];
    while (time[index + way] !== undefined && Math.abs(time[index] - from) < pixel) index += way;
    const at = Math.min(Math.max(time[index], range[0]), range[1]);
    plot.setCursor({ left: plot.valToPos(at, "x"), top: plot.over.clientHeight / 2 });
  }

  // --- Tools ---------------------------------------------------------------------------------------------------

  const from = element("input", { type: "text", inputmode: "decimal", id: "from", "aria-label": "shown from, in seconds" });
  const to = element("input", { type: "text", inputmode: "decimal", id: "to", "aria-label": "shown to, in seconds" });
  const button = (label, title, act) => {
    const made = element("button", { type: "button", title, "aria-label": title }, label);
    made.onclick = act;
    return made;
  };
  const reset = button("Show all", "Show the whole run", () => show(...whole));
  reset.id = "reset";
  const tools = byId("tools");
  function tell() {
    from.value = String(Number(range[0].toPrecision(9)));
    to.value = String(Number(range[1].toPrecision(9)));
    reset.disabled = range[0] === whole[0] && range[1] === whole[1];
  }
  from.onchange = to.onchange = () => {
    const [a, b] = [Number(from.value), Number(to.value)];
    if (Number.isFinite(a) && Number.isFinite(b)) show(a, b);
    else tell();
  };
  tools.append(
    element("label", {}, "from", from), element("label", {}, "to", to, "s"),
    button("−", "Zoom out", () => zoom(2)), button("+", "Zoom in", () => zoom(0.5)),
    button("◂", "Earlier", () => move(-0.25)), button("▸", "Later", () => move(0.25)), reset,
    element("span", { class: "help" }, "Drag to zoom, shift-drag to move, double click to show all"),
  );
  tell();

  // --- Energy and steps ----------------------------------------------------------------------------------------

  const check = (label, checked, act) => {
    const box = element("input", { type: "checkbox" });
    box.checked = checked;
    box.onchange = () => act(box.checked);
    return { box, label: element("label", {}, box, ...label) };
  };

  const bonds = data.bonds.filter((bond) => bond.transmitted != null && bond.residual != null);
  const worst = new Set([...bonds].sort((a, b) => (b.share ?? 1e300) - (a.share ?? 1e300)).slice(0, MOST_BONDS));
  const shown = new Map(); // bond -> slot
  for (const bond of bonds) if (worst.has(bond)) shown.set(bond, freeSlot(shown));
  function energy() {
    const curves = (which) => bonds.filter((bond) => shown.has(bond)).map((bond) => ({ column: bond[which], label: bond.name, slot: shown.get(bond) }));
    draw(byId("transmitted"), { title: "Transmitted energy", quantity: "energy", unit: "J", curves: curves("transmitted") });
    draw(byId("residual"), { title: "Residual energy", quantity: "energy", unit: "J", curves: curves("residual") });
  }
  if (bonds.length > 1) {
    const picks = byId("bonds");
    for (const bond of bonds) {
      picks.append(check([bond.name], shown.has(bond), (on) => { on ? shown.set(bond, freeSlot(shown)) : shown.delete(bond); energy(); }).label);
    }
    picks.hidden = false;
  }
  if (bonds.length > 0) energy();

  // Rejected attempts stand at the foot of the panel.
  function triangles(plot, look) {
    const { ctx, bbox } = plot;
    const unit = devicePixelRatio;
    ctx.save();
    ctx.fillStyle = look.curve(1);
    for (const [at] of data.rejected) {
      if (at < range[0] || at > range[1]) continue;
      const x = plot.valToPos(at, "x", true);
      const y = bbox.top + bbox.height;
      ctx.beginPath();
      ctx.moveTo(x, y - 9 * unit);
      ctx.lineTo(x - 4.5 * unit, y);
      ctx.lineTo(x + 4.5 * unit, y);
      ctx.fill();
    }
    ctx.restore();
  }
  // Where the tolerance is just met.
  function one(plot, look) {
    const { ctx, bbox } = plot;
    const y = plot.valToPos(1, "y", true);
    if (!(y >= bbox.top && y <= bbox.top + bbox.height)) return;
    ctx.save();
    ctx.strokeStyle = look.ink;
    ctx.setLineDash([4 * devicePixelRatio, 4 * devicePixelRatio]);
    ctx.beginPath();
    ctx.moveTo(bbox.left, y);
    ctx.lineTo(bbox.left + bbox.width, y);
    ctx.stroke();
    ctx.restore();
  }
  function spread(column) {
    let [low, high] = [Infinity, 0];
    for (const value of points(column)) {
      if (value > 0) [low, high] = [Math.min(low, value), Math.max(high, value)];
    }
    return high / low;
  }
  if (data.size != null && byId("size")) {
    // One decade is where a logarithm begins to show more.
    draw(byId("size"), { title: "Step size", quantity: "step", unit: "s", ofSteps: true, log: spread(data.size) > 10, curves: [{ column: data.size, label: "step size", slot: 0 }], over: triangles });
  }
  if (data.indicator != null && byId("indicator")) {
    draw(byId("indicator"), { title: "Indicator", quantity: "indicator", unit: "1", ofSteps: true, log: spread(data.indicator) > 10, curves: [{ column: data.indicator, label: "indicator", slot: 2 }], over: one });
  }

  // Lines: delays and detected steady states. Equal sides overlap.
  for (const [id, title, quantity] of [["kappa", "Delay as a multiple κ of the shortest", "κ"], ["still", "Steady state detected (1) or not (0)", "steady"]]) {
    const sides = data.sides.filter((side) => side[id] != null).slice(0, MOST_SIGNALS);
    if (sides.length > 0 && byId(id)) {
      draw(byId(id), { title, quantity, unit: "1", overlap: true, curves: sides.map((side, slot) => ({ column: side[id], label: side.name, slot })) });
    }
  }

  // Reasons of steps: a lane for each, as dark as many steps had it.
  function lanes(plot, look, { lanes: { groups }, curves }) {
    const { ctx, bbox } = plot;
    const high = bbox.height / curves.length;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    for (const [begin, end, steps, counts] of groups) {
      if (end < range[0] || begin > range[1]) continue;
      const x = plot.valToPos(begin, "x", true);
      // A single step is seen, however short it is.
      const width = Math.max(plot.valToPos(end, "x", true) - x, devicePixelRatio);
      counts.forEach((count, k) => {
        if (count === 0) return;
        ctx.globalAlpha = 0.3 + 0.7 * Math.min(count / Math.max(steps, 1), 1);
        ctx.fillStyle = look.curve(curves[k].slot);
        ctx.fillRect(x, bbox.top + (k + 0.15) * high, width, 0.7 * high);
      });
    }
    ctx.restore();
  }
  if (data.reasons.names.length > 0 && byId("reasons")) {
    const { names, groups } = data.reasons;
    draw(byId("reasons"), {
      title: "What limited the step size",
      curves: names.map((label, slot) => ({ label, slot })),
      lanes: {
        groups,
        time: groups.map(([begin, end]) => (begin + end) / 2),
        values: names.map((name, k) => groups.map((group) => group[3][k])),
        spoken: (value, index) => (value == null || index == null ? "–" : `${value} of ${groups[index][2]} steps`),
      },
      over: lanes,
    });
  }

  // --- Signals: one plot per unit ------------------------------------------------------------------------------

  const signals = data.columns.slice(0, data.signals).map((column, index) => ({ ...column, index })).slice(1);
  const groups = new Map();
  for (const signal of signals) groups.set(signal.group, [...(groups.get(signal.group) ?? []), signal]);
  const panels = new Map(); // unit -> { box, slots: index -> slot }
  const chosen = byId("chosen");

  function choose(signal, on) {
    let panel = panels.get(signal.unit);
    if (!panel) {
      panel = { box: element("div", { class: "plot" }), slots: new Map() };
      panels.set(signal.unit, panel);
      chosen.append(panel.box);
    }
    if (on) {
      panel.slots.set(signal.index, freeSlot(panel.slots));
    } else {
      panel.slots.delete(signal.index);
    }
    return panel;
  }
  function refresh(unit) {
    const { box, slots } = panels.get(unit);
    if (slots.size === 0) {
      remove(box);
      box.remove();
      panels.delete(unit);
      return;
    }
    const curves = [...slots].map(([index, slot]) => ({ column: index, label: data.columns[index].name, slot, bar: data.columns[index].bar }));
    const known = unit === "" ? "Signals without a unit" : unit === "1" ? "Signals without dimension" : `Signals in ${unit}`;
    draw(box, { title: known, quantity: "value", unit, curves, overlap: true });
  }

  // What components show first; of many, the first of each in turn.
  const ports = [...groups].filter(([group]) => !group.startsWith("bond ") && !group.startsWith("line ") && group !== "step" && group !== "").map(([, members]) => members);
  const first = new Set();
  for (let turn = 0; first.size < MOST_SIGNALS && ports.some((members) => turn < members.length); turn += 1) {
    for (const members of ports) if (turn < members.length && first.size < MOST_SIGNALS) first.add(members[turn]);
  }

  const filter = element("input", { type: "search", placeholder: "Filter", "aria-label": "Filter signals by name" });
  const picker = byId("picker");
  picker.append(filter);
  const rows = [];
  for (const [group, members] of groups) {
    const list = element("details", {}, element("summary", {}, group === "" ? "other" : group));
    list.open = members.some((signal) => first.has(signal)) || groups.size <= 4;
    for (const signal of members) {
      const row = check([element("span", {}, signal.label), element("span", { class: "unit" }, signal.unit)], first.has(signal), (on) => { choose(signal, on); refresh(signal.unit); });
      row.box.name = signal.name;
      list.append(row.label);
      rows.push({ list, label: row.label, name: signal.name.toLowerCase() });
    }
    picker.append(list);
  }
  filter.oninput = () => {
    const wanted = filter.value.trim().toLowerCase();
    for (const { list } of rows) list.hidden = true;
    for (const { list, label, name } of rows) {
      label.hidden = !name.includes(wanted);
      if (!label.hidden) list.hidden = false;
      if (wanted !== "" && !label.hidden) list.open = true;
    }
  };
  for (const signal of signals.filter((signal) => first.has(signal))) choose(signal, true);
  for (const unit of [...panels.keys()]) refresh(unit);

  // --- Other lights, and paper ---------------------------------------------------------------------------------

  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  addEventListener("beforeprint", () => { document.documentElement.classList.add("paper"); redraw(); });
  addEventListener("afterprint", () => { document.documentElement.classList.remove("paper"); redraw(); });
})();
