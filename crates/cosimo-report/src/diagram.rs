//! The system as a diagram: components as boxes, with connections, power bonds and transmission lines, and their energy.
//!
//! Components lie in layers by their distance from a first one, so that a line never leads further than to the next layer.
//! Inside a layer they are sorted by where their neighbours lie. Long chains are folded like text that is read to and
//! fro; parts of the system that nothing connects stand side by side. The same system gives the same picture.

use std::collections::BTreeSet;
use std::fmt::Write;

use cosimo_core::{BondSide, PowerVariable};
use cosimo_engine::{BondSummary, Layout, Topology, Verdict};

use crate::escape::HtmlText;
use crate::page::number;

/// Larger diagrams are not legible.
const MOST: usize = 400;

/// A column and a row of the grid, and the box in it, in pixels.
const CELL: (f64, f64) = (244.0, 84.0);
const BOX: (f64, f64) = (138.0, 46.0);
/// A bond of more than two sides meets in a small circle.
const KNOT: f64 = 6.0;
/// Columns of the page.
const COLUMNS: usize = 5;
/// Passes of sorting: more change nothing that can be seen.
const SWEEPS: usize = 4;
/// By how much a hollow line is wider than what it is filled with.
const HOLLOW: f64 = 3.0;
/// Between lines that join the same two boxes.
const ABREAST: f64 = 17.0;

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Diagram {
    pub units: Vec<DiagramBox>,
    pub signals: Vec<SignalEdge>,
    /// The ledger has them by their names.
    pub bonds: Vec<BondEdge>,
    pub lines: Vec<LineEdge>,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct DiagramBox {
    pub name: String,
    /// Where it comes from, in a word or two.
    pub about: String,
    /// Seconds of wall time inside its calls, where they were taken.
    pub seconds: Option<f64>,
}

/// All signals from one component to another that belong to no bond.
#[derive(Debug, Clone, PartialEq)]
pub struct SignalEdge {
    pub from: usize,
    pub to: usize,
    /// As `output → input`.
    pub signals: Vec<String>,
}

/// A bond and the components of its sides.
#[derive(Debug, Clone, PartialEq)]
pub struct BondEdge {
    pub name: String,
    pub ends: Vec<usize>,
}

/// A line between two components.
#[derive(Debug, Clone, PartialEq)]
pub struct LineEdge {
    pub name: String,
    pub ends: (usize, usize),
    /// The shortest delay, in seconds, and by how much it may be multiplied at most.
    pub delay: f64,
    pub most: f64,
}

impl Diagram {
    /// What a plan couples.
    pub fn of(layout: &Layout) -> Diagram {
        let ports = layout.ports();
        let Topology { names, interfaces, owners, couplings, bonds, byte_connections: parcels, .. } =
            &layout.topology;
        let owner = |end: PowerVariable| layout.topology.owner(end);
        let unit = |name: &String| DiagramBox { name: name.clone(), ..DiagramBox::default() };
        let mut diagram = Diagram { units: names.iter().map(unit).collect(), ..Diagram::default() };
        for bond in bonds {
            let ends = bond.sides.iter().map(|side| owner(side.effort)).collect();
            diagram.bonds.push(BondEdge { name: bond.name.clone(), ends });
        }
        let has = |side: &BondSide, end: PowerVariable| side.effort == end || side.flow == end;
        for input in 0..couplings.inputs() {
            let to = owner(PowerVariable::Input(input));
            for term in couplings.terms(input) {
                let ends = [PowerVariable::Input(input), PowerVariable::Output(term.output)];
                let tied = bonds
                    .iter()
                    .any(|bond| ends.iter().all(|end| bond.sides.iter().any(|side| has(side, *end))));
                if !tied {
                    let signal = format!("{} → {}", ports.path(ends[1]), ports.path(ends[0]));
                    diagram.wire(owners[term.output], to, signal);
                }
            }
        }
        for wire in parcels {
            let ((from, out), (to, into)) = (wire.from, wire.to);
            let (out, into) =
                (&interfaces[from].byte_outputs[out].name, &interfaces[to].byte_inputs[into].name);
            diagram.wire(from, to, format!("{}.{out} → {}.{into}", names[from], names[to]));
        }
        diagram
    }

    /// Adds a signal between two components.
    pub fn wire(&mut self, from: usize, to: usize, signal: String) {
        match self.signals.iter_mut().find(|wire| (wire.from, wire.to) == (from, to)) {
            Some(wire) => wire.signals.push(signal),
            None => self.signals.push(SignalEdge { from, to, signals: vec![signal] }),
        }
    }

    /// As one SVG element. `None` if there is nothing to draw, or too much.
    pub(crate) fn svg(&self, ledger: &[BondSummary]) -> Option<String> {
        if self.units.is_empty() || self.units.len() > MOST {
            return None;
        }
        let net = BoxGraph::new(self);
        let (places, size) = net.places();
        Some(draw(self, ledger, &net, &places, size))
    }
}

/// Boxes, knots and the edges between them.
struct BoxGraph {
    units: usize,
    neighbours: Vec<BTreeSet<usize>>,
    /// It has a connected input or a bond.
    driven: Vec<bool>,
    /// Per bond: its knot, if it needs one.
    knots: Vec<Option<usize>>,
}

impl BoxGraph {
    fn new(diagram: &Diagram) -> BoxGraph {
        let units = diagram.units.len();
        let (mut joined, mut knots, mut count) = (Vec::new(), Vec::new(), units);
        for bond in &diagram.bonds {
            match bond.ends[..] {
                [one, other] if one != other => {
                    joined.push((one, other));
                    knots.push(None);
                }
                _ => {
                    joined.extend(bond.ends.iter().map(|end| (*end, count)));
                    knots.push(Some(count));
                    count += 1;
                }
            }
        }
        joined.extend(diagram.lines.iter().map(|line| line.ends).filter(|(one, other)| one != other));
        let mut driven = vec![false; count];
        joined.iter().for_each(|(one, other)| (driven[*one], driven[*other]) = (true, true));
        for wire in diagram.signals.iter().filter(|wire| wire.from != wire.to) {
            joined.push((wire.from, wire.to));
            driven[wire.to] = true;
        }
        let mut neighbours = vec![BTreeSet::new(); count];
        for (one, other) in joined {
            neighbours[one].insert(other);
            neighbours[other].insert(one);
        }
        BoxGraph { units, neighbours, driven, knots }
    }

    /// The middle of everything, and the size of the whole.
    fn places(&self) -> (Vec<(f64, f64)>, (f64, f64)) {
        let mut places = vec![(0.0, 0.0); self.neighbours.len()];
        let mut seen = vec![false; self.neighbours.len()];
        // A shelf: where the next part goes, and how high those on it are.
        let (mut column, mut top, mut rows, mut widest) = (0, 0, 0, 0);
        while let Some(first) = self.first(&seen) {
            let layers = self.layers(first, &mut seen);
            let cells = folded(&layers);
            let wide = cells.iter().map(|cell| cell.1 + 1).max().unwrap_or(1);
            let high = cells.iter().map(|cell| cell.2).fold(0.0, f64::max) + 1.0;
            if column > 0 && column + wide > COLUMNS {
                (column, top, rows) = (0, top + rows, 0);
            }
            for (node, at, row) in cells {
                places[node] = (
                    (column + at) as f64 * CELL.0 + CELL.0 / 2.0,
                    (top as f64 + row) * CELL.1 + CELL.1 / 2.0,
                );
            }
            column += wide;
            rows = rows.max(high.ceil() as usize);
            widest = widest.max(column);
        }
        (places, (widest as f64 * CELL.0, (top + rows) as f64 * CELL.1))
    }

    /// The first box of the next part: with the smallest index among those without connected inputs, else the one with
    /// the fewest neighbours.
    fn first(&self, seen: &[bool]) -> Option<usize> {
        let start = seen.iter().position(|seen| !seen)?;
        let mut part = BTreeSet::from([start]);
        let mut waiting = vec![start];
        while let Some(node) = waiting.pop() {
            waiting.extend(self.neighbours[node].iter().filter(|next| part.insert(**next)));
        }
        part.into_iter()
            .min_by_key(|&node| (node >= self.units, self.driven[node], self.neighbours[node].len(), node))
    }

    /// By distance, each sorted by the middle of the neighbours in the layer before it, then after it, and again.
    fn layers(&self, first: usize, seen: &mut [bool]) -> Vec<Vec<usize>> {
        let mut layers = vec![vec![first]];
        seen[first] = true;
        loop {
            let mut next = Vec::new();
            for node in &layers[layers.len() - 1] {
                for &neighbour in &self.neighbours[*node] {
                    if !std::mem::replace(&mut seen[neighbour], true) {
                        next.push(neighbour);
                    }
                }
            }
            if next.is_empty() {
                break;
            }
            layers.push(next);
        }
        for sweep in 0..SWEEPS {
            for k in 1..layers.len() {
                let (this, other) =
                    if sweep % 2 == 0 { (k, k - 1) } else { (layers.len() - 1 - k, layers.len() - k) };
                let fixed = layers[other].clone();
                let middle = |node: &usize| {
                    let near = &self.neighbours[*node];
                    let at: Vec<usize> = (0..fixed.len()).filter(|at| near.contains(&fixed[*at])).collect();
                    match at.len() {
                        0 => f64::MAX,
                        count => at.iter().sum::<usize>() as f64 / count as f64 / fixed.len() as f64,
                    }
                };
                layers[this].sort_by(|a, b| middle(a).total_cmp(&middle(b)));
            }
        }
        layers
    }
}

/// Columns and rows of a part: as many layers in a line as fit, every other line from right to left.
fn folded(layers: &[Vec<usize>]) -> Vec<(usize, usize, f64)> {
    let (mut cells, mut top) = (Vec::new(), 0.0);
    for (line, layers) in layers.chunks(COLUMNS).enumerate() {
        let rows = layers.iter().map(Vec::len).max().unwrap_or(0);
        for (k, layer) in layers.iter().enumerate() {
            let column = if line % 2 == 0 { k } else { COLUMNS - 1 - k };
            let free = (rows - layer.len()) as f64 / 2.0;
            cells
                .extend(layer.iter().enumerate().map(|(row, &node)| (node, column, top + free + row as f64)));
        }
        top += rows as f64;
    }
    cells
}

fn draw(
    diagram: &Diagram,
    ledger: &[BondSummary],
    net: &BoxGraph,
    places: &[(f64, f64)],
    (width, height): (f64, f64),
) -> String {
    let mut out = String::new();
    let count = |count: usize, word: &str| format!("{count} {word}{}", if count == 1 { "" } else { "s" });
    let _ = write!(
        out,
        "<svg class=diagram role=img viewBox=\"0 0 {width} {height}\" style=\"max-width:{width}px\" \
         aria-label=\"{}, {}, {}{}\">",
        count(diagram.units.len(), "simulator"),
        count(diagram.bonds.len(), "bond"),
        count(diagram.signals.len(), "connection"),
        match diagram.lines.len() {
            0 => String::new(),
            lines => format!(", {}", count(lines, "line")),
        }
    );
    // Lines that join the same two are drawn beside each other.
    let mut lines: Vec<DrawnLine> = Vec::new();
    for (bond, knot) in diagram.bonds.iter().zip(&net.knots) {
        let one =
            |ends, named| DrawnLine::bond("bond", &bond.name, bond.ends.len() == 2, ledger, ends, named);
        match knot {
            None => lines.push(one((bond.ends[0], bond.ends[1]), true)),
            Some(knot) => {
                lines.extend(bond.ends.iter().enumerate().map(|(side, end)| one((*end, *knot), side == 0)));
            }
        }
    }
    let delayed = diagram.lines.iter().filter(|line| line.ends.0 != line.ends.1);
    lines.extend(delayed.map(|line| DrawnLine::delayed(line, ledger)));
    lines.extend(diagram.signals.iter().filter(|wire| wire.from != wire.to).map(DrawnLine::wire));
    // No line may cross a label.
    let mut labels = String::new();
    for (k, line) in lines.iter().enumerate() {
        let same = |other: &&DrawnLine| {
            (other.from.min(other.to), other.from.max(other.to))
                == (line.from.min(line.to), line.from.max(line.to))
        };
        let (before, all) = (lines[..k].iter().filter(same).count(), lines.iter().filter(same).count());
        let beside = (before as f64 - (all as f64 - 1.0) / 2.0) * ABREAST;
        line.draw(&mut out, &mut labels, net.units, places, beside);
    }
    out.push_str(&labels);
    let longest = diagram.units.iter().filter_map(|unit| unit.seconds).fold(0.0, f64::max);
    for (unit, (x, y)) in diagram.units.iter().zip(places) {
        unit_box(&mut out, unit, (x - BOX.0 / 2.0, y - BOX.1 / 2.0), longest);
    }
    for (x, y) in &places[net.units..] {
        let _ = write!(out, "<circle class=knot cx={x} cy={y} r={KNOT} />");
    }
    out.push_str("</svg>");
    out
}

fn unit_box(out: &mut String, unit: &DiagramBox, (x, y): (f64, f64), longest: f64) {
    let time = unit.seconds.map_or(String::new(), |seconds| format!("\n{} s in its calls", number(seconds)));
    let _ = write!(
        out,
        "<g class=unit><title>{}\n{}{time}</title><rect x={x} y={y} width={} height={} rx=6 />",
        HtmlText(&unit.name),
        HtmlText(&unit.about),
        BOX.0,
        BOX.1
    );
    if let Some(seconds) = unit.seconds.filter(|_| longest > 0.0) {
        let wide = (BOX.0 - 12.0) * seconds / longest;
        let _ =
            write!(out, "<rect class=busy x={} y={} width={wide:.1} height=3 />", x + 6.0, y + BOX.1 - 5.0);
    }
    let middle = x + BOX.0 / 2.0;
    // Of a long path the last name is the most specific.
    let end = unit.about.rsplit('/').next().unwrap_or("");
    let about = if unit.about.chars().count() > 24 { short(end, 24) } else { unit.about.clone() };
    let name = short(&unit.name, 18);
    let _ = write!(out, "<text class=name x={middle} y={}>{}</text>", y + 18.0, HtmlText(&name));
    let _ = write!(out, "<text class=about x={middle} y={}>{}</text></g>", y + 34.0, HtmlText(&about));
}

/// A text of at most so many letters; the whole of it is in the tooltip.
fn short(text: &str, letters: usize) -> String {
    if text.chars().count() <= letters {
        return text.into();
    }
    text.chars().take(letters - 1).chain(['…']).collect()
}

/// What is drawn between two boxes.
#[derive(Default)]
struct DrawnLine {
    from: usize,
    to: usize,
    class: &'static str,
    width: f64,
    /// At the end, at the beginning.
    heads: (bool, bool),
    label: String,
    title: String,
    /// Of lines with a delay, which are drawn hollow.
    below: String,
}

impl DrawnLine {
    /// Like a bond, but hollow, and with its delay.
    fn delayed(line: &LineEdge, ledger: &[BondSummary]) -> DrawnLine {
        let LineEdge { name, ends, delay, most } = line;
        let mut drawn = DrawnLine::bond("line", name, true, ledger, *ends, true);
        let grows = if *most > 1.0 { format!(", up to {} times that", number(*most)) } else { String::new() };
        drawn.width += HOLLOW;
        drawn.below = format!("delay {delay:e} s");
        drawn.title += &format!("\ndelay {delay:e} s{grows}");
        drawn
    }

    fn wire(wire: &SignalEdge) -> DrawnLine {
        let label = match &wire.signals[..] {
            [one] => {
                one.split(" → ").next().and_then(|from| from.rsplit('.').next()).unwrap_or("").to_owned()
            }
            several => format!("{} signals", several.len()),
        };
        let (from, to, title) = (wire.from, wire.to, wire.signals.join("\n"));
        DrawnLine {
            from,
            to,
            class: "wire",
            width: 1.2,
            heads: (true, false),
            label,
            title,
            ..DrawnLine::default()
        }
    }

    /// The arrow shows the net direction of the energy, the width how much was exchanged.
    fn bond(
        kind: &str,
        name: &str,
        two_sides: bool,
        ledger: &[BondSummary],
        (from, to): (usize, usize),
        named: bool,
    ) -> DrawnLine {
        let label = if named { name.to_owned() } else { String::new() };
        let title = format!("{kind} {name}");
        let mut line =
            DrawnLine { from, to, class: "bond", width: 2.0, label, title, ..DrawnLine::default() };
        let booked = ledger.iter().find(|booked| booked.name == name);
        let Some(booked) = booked else { return line };
        let BondSummary { totals, share, .. } = booked;
        let exchanged = ledger.iter().map(|bond| bond.totals.exchanged);
        let largest = exchanged.filter(|energy| energy.is_finite()).fold(0.0, f64::max);
        if largest > 0.0 && totals.exchanged.is_finite() {
            line.width = 2.0 + 4.0 * (totals.exchanged / largest).sqrt();
        }
        line.class = match booked.verdict() {
            _ if share.is_nan() => "bond",
            Verdict::Unmeasured => "bond",
            Verdict::Small => "bond small",
            Verdict::Noticeable => "bond noticeable",
            Verdict::Large => "bond large",
        };
        if two_sides {
            line.heads = (totals.transmitted > 0.0, totals.transmitted < 0.0);
        }
        if named {
            line.label = format!("{name} {}", joules(totals.transmitted.abs()));
        }
        let _ = write!(
            line.title,
            "\ntransmitted {} from its first side\nexchanged {}\nenergy defect {}, {}",
            joules(totals.transmitted),
            joules(totals.exchanged),
            joules(totals.residual_absolute),
            if booked.overflowed() { "overflow".into() } else { format!("{} %", number(share * 100.0)) }
        );
        line
    }

    fn draw(&self, out: &mut String, labels: &mut String, units: usize, places: &[(f64, f64)], beside: f64) {
        let (a, b) = (places[self.from], places[self.to]);
        let half = |node: usize| if node < units { (BOX.0 / 2.0, BOX.1 / 2.0) } else { (KNOT, KNOT) };
        let (mine, other) = (half(self.from), half(self.to));
        let way = (b.0 - a.0).signum();
        // Ends, the points that the curve leans to, and where the label stands.
        let (from, to, lean, label, anchor) = if (b.0 - a.0).abs() > 1.0 {
            let offset = |node: usize| if node < units { beside } else { 0.0 };
            let from = (a.0 + way * mine.0, a.1 + offset(self.from));
            let to = (b.0 - way * other.0, b.1 + offset(self.to));
            let middle = (from.0 + to.0) / 2.0;
            (
                from,
                to,
                ((middle, from.1), (middle, to.1)),
                (middle, (from.1 + to.1 - self.width) / 2.0 - 4.0),
                "middle",
            )
        } else if (b.1 - a.1).abs() < 1.5 * CELL.1 {
            let down = (b.1 - a.1).signum();
            let (x, from, to) = (a.0 + 1.6 * beside, a.1 + down * mine.1, b.1 - down * other.1);
            let middle = (from + to) / 2.0;
            ((x, from), (x, to), ((x, middle), (x, middle)), (x + 6.0, middle + 4.0), "start")
        } else {
            // Around what lies between them.
            let (from, to) = ((a.0 + mine.0, a.1 + beside), (b.0 + other.0, b.1 + beside));
            let out = from.0.max(to.0) + 44.0;
            (from, to, ((out, from.1), (out, to.1)), (out - 6.0, (from.1 + to.1) / 2.0), "start")
        };
        let (p, q) = lean;
        let curve = format!("M{}C{} {} {}", point(from), point(p), point(q), point(to));
        let _ = write!(
            out,
            "<g class=\"line {}{}\"><title>{}</title><path d=\"{curve}\" stroke-width={:.1} />",
            self.class,
            if self.below.is_empty() { "" } else { " delayed" },
            HtmlText(&self.title),
            self.width
        );
        if !self.below.is_empty() {
            let _ = write!(out, "<path class=core d=\"{curve}\" stroke-width={:.1} />", self.width - HOLLOW);
        }
        let tip = if self.below.is_empty() { self.width } else { self.width - HOLLOW };
        if self.heads.0 {
            head(out, to, (to.0 - q.0, to.1 - q.1), tip);
        }
        if self.heads.1 {
            head(out, from, (from.0 - p.0, from.1 - p.1), tip);
        }
        let under = if anchor == "middle" { self.width + 18.0 } else { 15.0 };
        for (text, y) in [(short(&self.label, 20), label.1), (self.below.clone(), label.1 + under)] {
            let (x, y, text) = (tenths(label.0), tenths(y), HtmlText(&text));
            if !text.0.is_empty() {
                let _ = write!(labels, "<text class=label x={x} y={y} text-anchor={anchor}>{text}</text>");
            }
        }
        out.push_str("</g>");
    }
}

/// A triangle with its tip at a place, along a direction that follows an axis.
fn head(out: &mut String, (x, y): (f64, f64), (dx, dy): (f64, f64), width: f64) {
    let (long, wide) = (6.0 + width, 3.0 + width);
    let (a, b) = if dx.abs() >= dy.abs() {
        let back = x - dx.signum() * long;
        ((back, y - wide), (back, y + wide))
    } else {
        let back = y - dy.signum() * long;
        ((x - wide, back), (x + wide, back))
    };
    let _ = write!(out, "<path class=head d=\"M{}L{}L{}z\" />", point((x, y)), point(a), point(b));
}

/// Tenths of a pixel are enough.
fn tenths(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

fn point((x, y): (f64, f64)) -> String {
    format!("{} {}", tenths(x), tenths(y))
}

fn joules(energy: f64) -> String {
    if energy.is_finite() { format!("{} J", number(energy)) } else { "–".into() }
}
