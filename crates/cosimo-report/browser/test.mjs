// Reports of the real command in a real browser: node test.mjs COSIMO CHROMIUM FOLDER
//
// Everything a person does with a report is done here: look, hover, drag, double click, choose, print, read in the
// dark, without a mouse and without a script. Times are printed, never judged.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [cosimo, executablePath, out] = process.argv.slice(2).map((path) => resolve(path));
const examples = resolve(import.meta.dirname, "../../../examples");
// The quarter car of the papers: Jacobi, held inputs, NEPCE and ECCO.
const papers = resolve(import.meta.dirname, "../../cosimo-papers/systems");
rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });

// --- Reports ---------------------------------------------------------------------------------------------------

function report(name, file, extra = [], status = 0) {
  const page = join(out, `${name}.html`);
  const { status: code, stderr } = spawnSync(cosimo, ["run", file, "--report", page, ...extra], { encoding: "utf8" });
  assert.equal(code, status, `${name}: cosimo ended with ${code}: ${stderr}`);
  return page;
}
function system(name, text) {
  const folder = join(out, name);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "system.toml"), text);
  return join(folder, "system.toml");
}
const failing = `
[experiment]
stop = 1.0
[component.probe]
source = "native:faulty/nan"
start = { u = 1.0 }
[method]
step = { size = 1e-3 }
`;
const car = (k) => `
[component.chassis${k}]
source = "native:quarter-car/chassis-strut"
parameters = { mc = ${300 + 30 * k}.0 }
[component.wheel${k}]
source = "native:quarter-car/wheel"
[[bond]]
name = "strut${k}"
a = { effort = "chassis${k}.F", flow = "chassis${k}.v" }
b = { effort = "wheel${k}.F", flow = "wheel${k}.v" }
`;
// A ring of masses and springs between them: units of both kinds, signals, and junctions of three sides.
const ring = (masses, stop) => {
  const at = (k) => (k + masses) % masses;
  const part = (k) => `
[component.mass${k}]
source = "native:oscillator/mass"
parameters = { x0 = ${k === 0 ? "1.0" : "0.0"} }
[component.link${k}]
source = "native:dual-mass/coupling"
parameters = { kc = ${40 + k}.0, dc = 2.0 }
[[connection]]
from = "mass${k}.x"
to = "link${k}.x1"
[[connection]]
from = "mass${at(k + 1)}.x"
to = "link${k}.x2"
[[junction]]
name = "node${k}"
common = "flow"
sides = [
  { effort = "mass${k}.F", flow = "mass${k}.v" },
  { effort = "link${k}.f1", flow = "link${k}.v1" },
  { effort = "link${at(k - 1)}.f2", flow = "link${at(k - 1)}.v2", power = "leaves" },
]
`;
  return `[experiment]\nstop = ${stop}\n${Array.from({ length: masses }, (_, k) => part(k)).join("")}\n[method]\nstep = { size = 1e-3 }\n`;
};
const cars = `[experiment]\nstop = 0.5\n${Array.from({ length: 12 }, (_, k) => car(k)).join("")}\n[method]\nstep = { size = 1e-3 }\n`;
// Markup in every place that a folder's name reaches.
const hostile = system(`<img src=x onerror="document.title='taken'"><script>document.title='taken'<`, failing.replace("stop = 1.0", "stop = 0.1"));

// --- Browser ---------------------------------------------------------------------------------------------------

const profile = mkdtempSync(join(tmpdir(), "cosimo-browser-"));
const context = await chromium.launchPersistentContext(profile, {
  executablePath,
  headless: true,
  viewport: { width: 1280, height: 900 },
  // As root there is no sandbox; and the browser itself should not call home during the test.
  args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});

const painted = (page) => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));

async function open(path, options = {}) {
  const page = await context.newPage();
  await page.addInitScript(reader);
  page.complaints = [];
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && page.complaints.push(message.text()));
  page.on("pageerror", (error) => page.complaints.push(String(error)));
  page.on("dialog", (dialog) => { page.complaints.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
  const address = pathToFileURL(path).href;
  page.on("request", (request) => request.url() !== address && !request.url().startsWith("data:") && page.complaints.push(`asked for ${request.url()}`));
  if (options.dark) await page.emulateMedia({ colorScheme: "dark" });
  if (options.width) await page.setViewportSize({ width: options.width, height: 800 });
  const begun = performance.now();
  await page.goto(address);
  await painted(page);
  page.loaded = performance.now() - begun;
  return page;
}
async function close(page) {
  assert.deepEqual(page.complaints, [], "the page complains or asks for something");
  await page.close();
}

// In the page: pixels of a copy, as reading the original would make the browser complain.
const reader = () => {
  window.pixels = (canvas) => {
    const context = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d", { willReadFrequently: true });
    context.drawImage(canvas, 0, 0);
    return context.getImageData(0, 0, canvas.width, canvas.height).data;
  };
};
// How many pixels of each plot are colourful: axes, grid and letters are grey.
const colourful = (page) => page.evaluate(() =>
  [...document.querySelectorAll(".plot canvas")].map((canvas) => {
    const shown = pixels(canvas);
    let count = 0;
    for (let k = 0; k < shown.length; k += 4) {
      const [r, g, b] = [shown[k], shown[k + 1], shown[k + 2]];
      if (shown[k + 3] > 200 && Math.max(r, g, b) - Math.min(r, g, b) > 60) count += 1;
    }
    return count;
  }));
async function allDrawn(page, count) {
  const seen = await colourful(page);
  assert.equal(seen.length, count, `${count} plots expected`);
  for (const pixels of seen) assert.ok(pixels > 50, `a plot has no curve: ${seen}`);
}
// A curve in the given colour is on the canvas. Its edges are transparent, not of another colour.
const hasColour = (page, id, name) => page.evaluate(([id, name]) => {
  const shown = pixels(document.querySelector(`#${id} canvas`));
  const expected = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const [r, g, b] = [1, 3, 5].map((at) => parseInt(expected.slice(at, at + 2), 16));
  for (let k = 0; k < shown.length; k += 4) {
    if (shown[k + 3] > 100 && Math.abs(shown[k] - r) + Math.abs(shown[k + 1] - g) + Math.abs(shown[k + 2] - b) < 6) return true;
  }
  return false;
}, [id, name]);
const range = async (page) => [Number(await page.inputValue("#from")), Number(await page.inputValue("#to"))];
// Where on the screen a share of a plot's panel lies.
async function at(page, plot, share) {
  const over = page.locator(`${plot} .u-over`);
  await over.scrollIntoViewIfNeeded();
  const box = await over.boundingBox();
  return [box.x + box.width * share, box.y + box.height / 2];
}
async function drag(page, plot, from, to) {
  await page.mouse.move(...(await at(page, plot, from)));
  await page.mouse.down();
  await page.mouse.move(...(await at(page, plot, (from + to) / 2)));
  await page.mouse.move(...(await at(page, plot, to)));
  await page.mouse.up();
}
// The instant under the cursor, then the values of the curves.
async function values(page, plot) {
  return page.locator(`${plot} .u-legend .u-value`).allTextContents();
}
async function step(name, work) {
  const begun = performance.now();
  await work();
  console.log(`ok  ${name} (${((performance.now() - begun) / 1000).toFixed(1)} s)`);
}

// --- What people do --------------------------------------------------------------------------------------------

try {
  await step("a report is complete and quiet", async () => {
    const page = await open(report("quarter-car", join(papers, "quarter-car/system.toml")));
    assert.match(await page.textContent("#verdict"), /^(Accurate|Not accurate) to 1 %: .*estimated error/);
    assert.match(await page.textContent("#balance"), /^Energy defect of bond strut: .* of the energy exchanged/);
    assert.equal(await page.textContent("h1"), "quarter-car");
    assert.equal(await page.locator("[aria-label='Accuracy of signals'] tbody tr").count(), 5);
    assert.equal(await page.locator("[aria-label='Coupling defects'] tbody tr").count(), 2);
    assert.equal(await page.locator("[aria-label='Energy ledger'] tbody tr").count(), 1);
    await allDrawn(page, 8);
    assert.ok(await hasColour(page, "transmitted", "--c0"), "the curve of the first bond is not there");
    await close(page);
    // The first page of a browser may wait for its fonts; what the report moves, it moves every time.
    let moved;
    for (let opening = 0; opening < 3 && moved !== ""; opening++) {
      const page = await open(join(out, "quarter-car.html"));
      moved = await page.evaluate(() => new Promise((done) => {
        const told = (entry) => `${entry.value} at ${entry.startTime} ms: ${entry.sources.map(({ node }) => node?.outerHTML?.slice(0, 100))}`;
        new PerformanceObserver((list) => done(list.getEntries().map(told).join("\n"))).observe({ type: "layout-shift", buffered: true });
        setTimeout(() => done(""), 300);
      }));
      await close(page);
    }
    assert.equal(moved, "", "things move while the page loads");
  });

  await step("hovering reads values, in all plots at once", async () => {
    const page = await open(join(out, "quarter-car.html"));
    assert.ok((await values(page, "#residual")).every((text) => text === "–"), "values before anybody asked");
    await page.mouse.move(...(await at(page, "#residual", 0.5)));
    const [time, residual] = await values(page, "#residual");
    assert.ok(Math.abs(Number(time) - 2) < 0.02, time);
    assert.match(residual, /^0\.3\d+$/);
    assert.deepEqual((await values(page, "#size"))[0], time, "the other plots show the same instant");
    await close(page);
  });

  await step("the system is drawn, with the way that the energy went", async () => {
    const page = await open(join(out, "quarter-car.html"));
    assert.equal(await page.getAttribute(".diagram", "aria-label"), "2 simulators, 1 bond, 0 connections");
    assert.deepEqual(await page.locator(".diagram .name").allTextContents(), ["chassis", "wheel"]);
    assert.match(await page.textContent(".diagram .bond title"), /^bond strut\ntransmitted -750.* J from its first side/);
    assert.match(await page.textContent(".diagram .label"), /^strut 750.* J$/);
    // It went from the second side to the first: the tip touches the box of the chassis.
    const [chassis, head] = await Promise.all([".diagram .unit rect >> nth=0", ".diagram .head"].map((part) => page.locator(part).boundingBox()));
    assert.ok(Math.abs(head.x - chassis.x - chassis.width) < 2, `${head.x} ${chassis.x + chassis.width}`);
    const stroke = (part) => page.locator(part).evaluate((node) => getComputedStyle(node).stroke);
    const before = await stroke(".diagram .bond path >> nth=0");
    await page.hover(".diagram .bond .head");
    assert.notEqual(await stroke(".diagram .bond path >> nth=0"), before, "hovering shows what is meant");
    const times = await page.locator(".times tbody th").allTextContents();
    assert.deepEqual([...times].sort(), ["chassis", "everything else", "wheel"]);
    await close(page);
  });

  await step("errors of signals stand beside the energy defect", async () => {
    const page = await open(join(out, "quarter-car.html"));
    const rows = await page.locator("[aria-label='Errors of signals'] tbody tr").allTextContents();
    assert.equal(rows.length, 3);
    assert.match(rows[2], /^chassis\.FN7\.\d+e1 *1\.3\d+/);
    assert.match(await page.textContent("#balance + p"), /^The largest error of chassis\.F is 1\.3\d+ %, more than the energy defect of 0\.13\d %/);
    await close(page);
  });

  await step("the verdict has a sign, a colour and the words of the run", async () => {
    const colours = new Set();
    for (const [name, extra, title] of [
      ["accurate", ["--accuracy", "1"], "Accurate to 100 %"],
      ["not-accurate", ["--accuracy", "1e-9"], "Not accurate to 1e-7 %"],
      ["unknown", ["--error-bars", "off"], "Accuracy unknown"],
    ]) {
      const summary = join(out, `${name}.json`);
      const page = await open(report(`verdict-${name}`, join(papers, "quarter-car/system.toml"), [...extra, "--summary-json", summary]));
      assert.equal(await page.textContent(".verdict h2"), title);
      assert.equal(await page.textContent(".verdict .sign"), { accurate: "✓", "not-accurate": "✕", unknown: "?" }[name]);
      colours.add(await page.locator(".verdict h2").evaluate((node) => getComputedStyle(node).color));
      const { verdict, words } = JSON.parse(readFileSync(summary, "utf8"));
      assert.equal(verdict, name);
      assert.equal((await page.textContent("#verdict")).toLowerCase(), words.replaceAll("`", "").toLowerCase());
      await close(page);
    }
    assert.equal(colours.size, 3, "verdicts differ in colour, too");
  });

  await step("error bars are bands around curves", async () => {
    // At steps so large that bands are wider than lines.
    const coarse = ["--method", "controller=fixed", "--method", "correction=none", "--step", "4e-3", "--accuracy", "1"];
    const path = report("bands", join(papers, "quarter-car/system.toml"), [...coarse, "--error-bars", "coarse"]);
    const page = await open(path);
    const bars = JSON.parse(await page.textContent("#data")).columns.map((column) => column.bar ?? 0);
    assert.ok(bars.some((bar) => bar > 0), "a signal has an error bar");
    assert.match(await page.textContent("[aria-labelledby=signals] .note"), /Bands show error bars/);
    // Pixels that are neither clear nor a line: a band, and the edges of lines.
    const faint = (page) => page.evaluate(() => [...document.querySelectorAll("#chosen canvas")].map((canvas) => {
      const shown = pixels(canvas);
      let count = 0;
      for (let k = 3; k < shown.length; k += 4) if (shown[k] > 40 && shown[k] < 60) count += 1;
      return count;
    }).reduce((all, count) => all + count, 0));
    const banded = await faint(page);
    await page.screenshot({ path: join(out, "bands.png"), fullPage: true });
    await close(page);
    const off = await open(report("no-bands", join(papers, "quarter-car/system.toml"), [...coarse, "--error-bars", "off"]));
    const bare = await faint(off);
    assert.ok(banded > bare + 500, `${banded} faint pixels with bands, ${bare} without`);
    await close(off);
  });

  await step("lines are drawn as such, with delays over time", async () => {
    const path = report("spring-mass", join(examples, "spring-mass/system.toml"));
    const page = await open(path);
    assert.equal(await page.getAttribute(".diagram", "aria-label"), "2 simulators, 0 bonds, 0 connections, 1 line");
    assert.deepEqual(await page.locator(".diagram .name").allTextContents(), ["left", "right"]);
    assert.match(await page.textContent(".diagram .delayed title"), /^line spring\ntransmitted 145.* J from its first side\n(.*\n)*delay 1e-4 s, up to 8.* times that$/);
    assert.deepEqual(await page.locator(".diagram .label").allTextContents(), ["spring 145.2 J", "delay 1e-4 s"]);
    const colour = (part, what) => page.locator(part).evaluate((node, what) => getComputedStyle(node)[what], what);
    assert.equal(await colour(".diagram .delayed .core", "stroke"), await colour("body", "backgroundColor"), "the line is hollow");
    assert.equal(await page.locator("[aria-label='Delays of the lines'] tbody tr").count(), 2);
    assert.equal(await page.locator("[aria-label='Steps of the islands'] tbody tr").count(), 2);
    assert.equal(await page.locator("#size, #transmitted, .times").count(), 0, "nothing is drawn of what islands do not share");
    // At the start nothing moves, and delays are long; when the force comes they are short; they grow again at the end.
    const kappa = async (share) => {
      await page.mouse.move(...(await at(page, "#kappa", share)));
      return (await values(page, "#kappa")).map(Number);
    };
    assert.deepEqual((await kappa(0.1)).slice(1), [8, 8]);
    assert.deepEqual((await kappa(0.3)).slice(1), [1, 1]);
    const [time, still] = (await values(page, "#still")).map(Number);
    assert.ok(Math.abs(time - 0.195) < 0.01 && still === 0, `${time} ${still}`);
    assert.ok(await hasColour(page, "kappa", "--c0") && await hasColour(page, "still", "--c0"));
    assert.ok((await page.locator("#picker summary").allTextContents()).includes("line spring"));
    await drag(page, "#kappa", 0.25, 0.5);
    assert.ok(Math.abs((await range(page))[0] - 0.1625) < 0.01);
    await page.screenshot({ path: join(out, "lines.png"), fullPage: true });
    await close(page);
    const dark = await open(path, { dark: true });
    assert.equal(await dark.locator(".diagram .delayed .core").evaluate((node) => getComputedStyle(node).stroke), "rgb(13, 17, 23)");
    await dark.screenshot({ path: join(out, "lines-dark.png"), fullPage: true });
    await close(dark);
  });

  await step("warnings and failures say what their codes mean", async () => {
    const coupled = join(out, "coded.html");
    const args = ["chassis=native:quarter-car/chassis-strut", "wheel=native:quarter-car/wheel", "--bond", "strut=chassis.F:chassis.v~wheel.F:wheel.v", "--step", "1e-3", "--stop", "0.1", "--method", "estimate=power-residual", "--report", coupled];
    const { status, stderr } = spawnSync(cosimo, ["run", ...args], { encoding: "utf8" });
    assert.equal(status, 0, stderr);
    const page = await open(coupled);
    const warning = page.locator("[aria-labelledby=warnings] li", { hasText: "energy_scale" });
    assert.equal(await warning.locator("pre").isVisible(), false);
    await warning.locator("summary").click();
    assert.match(await warning.locator("summary").textContent(), /plan\/no-energy-scale/);
    assert.match(await warning.locator("pre").textContent(), /To do: write `energy_scale` in the bond/);
    assert.ok(await warning.locator("pre").isVisible());
    await close(page);
    const failed = await open(report("failed-code", system("failing-code", failing), [], 1));
    assert.match(await failed.textContent(".banner .meaning"), /step\/not-finite.*An output became infinite/s);
    await close(failed);
  });

  await step("reasons of steps are read and zoomed like all else", async () => {
    const page = await open(join(out, "quarter-car.html"));
    await page.mouse.move(...(await at(page, "#reasons", 0.9)));
    const [time, above, largest] = await values(page, "#reasons");
    assert.ok(Math.abs(Number(time) - 3.6) < 0.05, time);
    assert.match(largest, /^(\d+) of \1 steps$/, "at the end all steps are as large as they may be");
    assert.match(above, /^0 of \d+ steps$/);
    await drag(page, "#reasons", 0.5, 0.75);
    const [from, to] = await range(page);
    assert.ok(Math.abs(from - 2) < 0.05 && Math.abs(to - 3) < 0.05, `${from} to ${to}`);
    await page.focus("#reasons");
    await page.keyboard.press("ArrowRight");
    assert.match((await values(page, "#reasons"))[2], / of \d+ steps$/);
    await page.keyboard.press("Home");
    assert.deepEqual(await range(page), [0, 4]);
    await close(page);
  });

  await step("energies and steps are there whatever is recorded", async () => {
    const page = await open(report("recorded", join(papers, "quarter-car/system.toml"), ["--record", "chassis.z"]));
    assert.deepEqual(await page.locator("#picker label").allTextContents(), ["zm"]);
    await allDrawn(page, 6);
    await close(page);
  });

  await step("dragging zooms all plots, a double click shows all", async () => {
    const page = await open(join(out, "quarter-car.html"));
    assert.deepEqual(await range(page), [0, 4]);
    await drag(page, "#transmitted", 0.25, 0.5);
    const [from, to] = await range(page);
    assert.ok(Math.abs(from - 1) < 0.05 && Math.abs(to - 2) < 0.05, `${from} to ${to}`);
    await page.mouse.move(...(await at(page, "#indicator", 0.5)));
    assert.ok(Math.abs(Number((await values(page, "#indicator"))[0]) - 1.5) < 0.05, "another plot follows");
    // Shift and drag to the left moves on in time.
    await page.keyboard.down("Shift");
    await drag(page, "#transmitted", 0.6, 0.1);
    await page.keyboard.up("Shift");
    const moved = await range(page);
    assert.ok(Math.abs(moved[0] - 1.5) < 0.1 && Math.abs(moved[1] - moved[0] - (to - from)) < 1e-6, `${moved}`);
    await page.mouse.dblclick(...(await at(page, "#size", 0.5)));
    assert.deepEqual(await range(page), [0, 4]);
    assert.ok(await page.isDisabled("#reset"));
    await close(page);
  });

  await step("the same without a mouse", async () => {
    const page = await open(join(out, "quarter-car.html"));
    await page.focus("#transmitted");
    await page.keyboard.press("+");
    assert.deepEqual(await range(page), [1, 3]);
    await page.keyboard.press("Shift+ArrowRight");
    assert.deepEqual(await range(page), [1.2, 3.2]);
    await page.keyboard.press("ArrowRight");
    assert.notEqual((await values(page, "#transmitted"))[1], "–");
    await page.keyboard.press("Home");
    assert.deepEqual(await range(page), [0, 4]);
    await page.fill("#from", "0.5");
    await page.press("#from", "Enter");
    assert.deepEqual(await range(page), [0.5, 4]);
    // What is no time changes nothing.
    await page.fill("#to", "soon");
    await page.press("#to", "Enter");
    assert.deepEqual(await range(page), [0.5, 4]);
    await close(page);
  });

  await step("signals are chosen by component", async () => {
    const page = await open(join(out, "quarter-car.html"));
    const groups = await page.locator("#picker summary").allTextContents();
    assert.deepEqual(groups, ["chassis", "wheel", "step", "bond strut"]);
    const titles = () => page.locator("#chosen h3").allTextContents();
    const before = await titles();
    await page.check("input[name='bond.strut.residual_power']");
    assert.deepEqual(await titles(), [...before, "Signals in W"]);
    await allDrawn(page, before.length + 1 + 5);
    await page.uncheck("input[name='bond.strut.residual_power']");
    assert.deepEqual(await titles(), before);
    // A plot that comes later shows the range that is looked at.
    await page.fill("#to", "1");
    await page.press("#to", "Enter");
    await page.check("input[name='bond.strut.power_a']");
    assert.deepEqual(await range(page), [0, 1]);
    await page.mouse.move(...(await at(page, "#chosen .plot:last-child", 0.5)));
    const [time] = await values(page, "#chosen .plot:last-child");
    assert.ok(Math.abs(Number(time) - 0.5) < 0.02, time);
    await page.fill("#picker input[type=search]", "wheel.");
    assert.deepEqual(await page.locator("#picker label:visible").count(), 3);
    await close(page);
  });

  await step("dark, narrow and on paper", async () => {
    const dark = await open(join(out, "quarter-car.html"), { dark: true });
    const background = () => dark.evaluate(() => getComputedStyle(document.body).backgroundColor);
    assert.equal(await background(), "rgb(13, 17, 23)");
    await allDrawn(dark, 8);
    assert.equal(await dark.locator(".diagram .unit rect >> nth=0").evaluate((box) => getComputedStyle(box).fill), "rgb(22, 27, 34)");
    await dark.screenshot({ path: join(out, "dark.png"), fullPage: true });
    assert.ok(await hasColour(dark, "transmitted", "--c0"));
    await dark.emulateMedia({ colorScheme: "light" });
    await painted(dark);
    assert.equal(await background(), "rgb(255, 255, 255)");
    assert.ok(await hasColour(dark, "transmitted", "--c0"), "curves change with the light");
    await dark.emulateMedia({ colorScheme: "dark" });
    const paper = await dark.pdf({ path: join(out, "paper.pdf"), format: "A4" });
    assert.ok(paper.length > 10_000);
    // On paper the diagram is as wide as the page and as light.
    await dark.emulateMedia({ media: "print" });
    assert.equal(await dark.locator(".diagram .unit rect >> nth=0").evaluate((box) => getComputedStyle(box).fill), "rgb(245, 247, 249)");
    assert.ok(await dark.isVisible(".diagram") && !(await dark.isVisible(".tools")));
    await close(dark);
    const narrow = await open(join(out, "quarter-car.html"), { width: 380 });
    const overflow = await narrow.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.ok(overflow <= 0, `the page is ${overflow} pixels too wide`);
    await allDrawn(narrow, 8);
    await close(narrow);
  });

  await step("the words are there without a script", async () => {
    const browser = context.browser() ?? (await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] }));
    const still = await browser.newContext({ javaScriptEnabled: false });
    const page = await still.newPage();
    await page.goto(pathToFileURL(join(out, "quarter-car.html")).href);
    const words = await page.innerText("main");
    for (const expected of ["Accuracy of signals", "Coupling defects", "Energy defect of bond strut", "strut", "drawn by a script", "native:quarter-car/wheel", "SHA-256", "Time per simulator", "Against the monolithic reference"]) {
      assert.ok(words.includes(expected), `“${expected}” is missing`);
    }
    assert.equal(await page.locator(".plot:visible").count(), 0);
    assert.ok(await page.isVisible(".diagram"), "the system is no work of the script");
    await still.close();
    if (!context.browser()) await browser.close();
  });

  await step("rejected steps are marked", async () => {
    const page = await open(report("rc-rl", join(examples, "rc-rl/system.toml")));
    assert.match(await page.textContent("main"), /Triangles mark rejected steps, 3 in total/);
    assert.ok(await hasColour(page, "size", "--c1"), "no triangle");
    await close(page);
  });

  await step("a failed run says so and shows what there is", async () => {
    const page = await open(report("failed", system("failing", failing), [], 1));
    assert.match(await page.textContent(".banner"), /The run failed at t = 0\.49\d* s of 1 s.*returned NaN/s);
    await allDrawn(page, 2);
    await close(page);
  });

  await step("a run that failed in its first step", async () => {
    const page = await open(report("at-once", system("at-once", failing.replace("start =", "parameters = { at = 1e-4 }\nstart =")), [], 1));
    assert.match(await page.textContent(".banner"), /The run failed at t = 0 s/);
    await close(page);
  });

  await step("names cannot become markup", async () => {
    const page = await open(report("hostile", hostile));
    assert.match(await page.textContent("h1"), /^<img src=x onerror=.*<script>/);
    assert.match(await page.title(), /Cosimo report$/);
    assert.equal(await page.locator("img").count(), 0);
    assert.equal(await page.locator("script").count(), 2);
    await close(page);
  });

  await step("nor can names of variables, bonds and units", async () => {
    // A system file cannot have such names, but a unit can: they are put where the page's script finds them.
    const evil = `<img src=x onerror="document.title='taken'"></script><b>`;
    const begin = '<script type="application/json" id=data>';
    const [before, rest] = readFileSync(join(out, "quarter-car.html"), "utf8").split(begin);
    const end = rest.indexOf("</script>");
    const data = JSON.parse(rest.slice(0, end));
    for (const column of data.columns) for (const key of ["name", "group", "label", "unit"]) column[key] += evil;
    for (const bond of data.bonds) bond.name = evil;
    const path = join(out, "hostile-data.html");
    writeFileSync(path, before + begin + JSON.stringify(data).replaceAll("<", "\\u003c") + rest.slice(end));
    const page = await open(path);
    assert.equal(await page.locator("#picker label").count(), data.signals - 1);
    assert.match(await page.textContent("#residual .u-legend"), /<img src=x/);
    assert.equal(await page.locator("img, b").count(), 0);
    assert.match(await page.title(), /Cosimo report$/);
    await close(page);
  });

  await step("many bonds", async () => {
    const page = await open(report("many", system("many", cars)));
    assert.equal(await page.locator("[aria-label='Energy ledger'] tbody tr").count(), 12);
    assert.equal(await page.locator("#bonds input:checked").count(), 8, "the worst are shown first");
    await page.check("#bonds input >> nth=0");
    assert.equal(await page.locator("#residual .u-legend .u-series").count(), 1 + 9);
    await close(page);
  });

  await step("results alone", async () => {
    const rows = join(out, "rows.parquet");
    report("with-rows", join(papers, "quarter-car/system.toml"), ["--out", rows]);
    const path = join(out, "results.html");
    const { status, stderr } = spawnSync(cosimo, ["report", rows, "-o", path], { encoding: "utf8" });
    assert.equal(status, 0, stderr);
    const page = await open(path);
    assert.match(await page.textContent(".verdict"), /Accuracy unknown.*results alone/s);
    // The same energy balance as that of the run, out of the rows of all its steps.
    assert.match(await page.textContent("#balance"), /^Energy defect of bond strut: 1\.00\de0 J .* 0\.13\d %/);
    await allDrawn(page, 7);
    await drag(page, "#residual", 0.25, 0.5);
    assert.ok(Math.abs((await range(page))[0] - 1) < 0.05);
    assert.equal(await page.locator(".diagram").count(), 0);
    await close(page);
  });

  await step("a hundred units", async () => {
    const signals = Array.from({ length: 20 }, (_, k) => ["--record", `mass${k}.x`]).flat();
    const path = report("hundred", system("hundred", ring(50, 20)), signals);
    const page = await open(path);
    const size = statSync(path).size;
    assert.ok(size < 20e6, `${size} bytes`);
    assert.equal(await page.getAttribute(".diagram", "aria-label"), "100 simulators, 50 bonds, 100 connections");
    const overlaps = await page.evaluate(() => {
      const boxes = [...document.querySelectorAll(".diagram .unit > rect:first-of-type")].map((box) => box.getBoundingClientRect());
      return boxes.filter((a, k) => boxes.slice(0, k).some((b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom)).length;
    });
    assert.equal(overlaps, 0, "boxes lie upon each other");
    assert.match(await page.textContent("main"), /Curves of energies and steps are thinned: of 20001 rows/);
    await allDrawn(page, 4);
    assert.equal(await page.locator("#picker label").count(), 20);
    const zoomed = performance.now();
    await drag(page, "#residual", 0.4, 0.6);
    const [from, to] = await range(page);
    assert.ok(from > 7 && to < 13, `${from} to ${to}`);
    console.log(`    ${(size / 1e6).toFixed(1)} MB, opened in ${page.loaded.toFixed(0)} ms, zoomed in ${(performance.now() - zoomed).toFixed(0)} ms`);
    await close(page);
  });

  await step("a million rows", async () => {
    const begun = performance.now();
    const path = report("long", join(examples, "rc-rl/system.toml"), ["--method", "controller=fixed", "--step", "2e-7"]);
    const made = performance.now() - begun;
    const page = await open(path);
    assert.match(await page.textContent("main"), /Curves of signals are thinned: of 1000001 rows/);
    await allDrawn(page, 6);
    const zoomed = performance.now();
    await drag(page, "#transmitted", 0.4, 0.6);
    const [from, to] = await range(page);
    assert.ok(from > 0.07 && to < 0.13, `${from} to ${to}`);
    console.log(`    run ${made.toFixed(0)} ms, ${(statSync(path).size / 1e6).toFixed(1)} MB, opened in ${page.loaded.toFixed(0)} ms, zoomed in ${(performance.now() - zoomed).toFixed(0)} ms`);
    await close(page);
  });
} finally {
  await context.close();
  rmSync(profile, { recursive: true, force: true });
}
