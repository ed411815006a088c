//! Wires, bonds and junctions. Components must exist; whether they have such ports is known to the plan,
//! which opens them.

use cosimo_core::entry::Range;

use super::line;
use super::section::{Item, Section};
use super::{Context, check_name};
use crate::names::Lost;
use crate::problem::{Problem, Span};
use crate::system::{
    BondDecl, Common, Direction, JunctionDecl, JunctionSide, Opposite, PowerPort, Summand, System, WireDecl,
};

pub(crate) const WIRE_KEYS: &[&str] = &["from", "to", "gain", "offset", "map", "convert"];
pub(crate) const SUMMAND_KEYS: &[&str] = &["port", "gain", "map"];
pub(crate) const BOND_KEYS: &[&str] =
    &["name", "a", "b", "opposite", "direction", "tolerance", "energy_scale", "line"];
pub(crate) const JUNCTION_KEYS: &[&str] = &["name", "common", "sides", "tolerance", "energy_scale"];
pub(crate) const PORT_KEYS: &[&str] = &["effort", "flow"];
pub(crate) const SIDE_KEYS: &[&str] = &["effort", "flow", "power"];

pub(crate) const OPPOSITE: &[(&str, Opposite)] =
    &[("none", Opposite::Neither), ("effort", Opposite::Effort), ("flow", Opposite::Flow)];
pub(crate) const DIRECTION: &[(&str, Direction)] =
    &[("a-to-b", Direction::AToB), ("b-to-a", Direction::BToA)];
pub(crate) const COMMON: &[(&str, Common)] = &[("effort", Common::Effort), ("flow", Common::Flow)];
/// Whether power leaves.
pub(crate) const POWER: &[(&str, bool)] = &[("enters", false), ("leaves", true)];

pub(super) fn read(root: &Section<'_>, context: &Context<'_>, system: &mut System, out: &mut Vec<Problem>) {
    if let Some(item) = root.get("wire") {
        for table in item.tables(out) {
            if let Some(section) = Section::open("`[[wire]]`", table, WIRE_KEYS, out) {
                system.wires.push(wire(&section, context, out));
            }
        }
    }
    if let Some(item) = root.get("bond") {
        for (index, table) in item.tables(out).into_iter().enumerate() {
            if let Some(section) = Section::open("`[[bond]]`", table, BOND_KEYS, out) {
                system.bonds.push(bond(section, index, context, out));
            }
        }
    }
    if let Some(item) = root.get("junction") {
        for (index, table) in item.tables(out).into_iter().enumerate() {
            if let Some(section) = Section::open("`[[junction]]`", table, JUNCTION_KEYS, out) {
                system.junctions.extend(junction(section, index, context, out));
            }
        }
    }
    check_unique(system, out);
}

fn wire(section: &Section<'_>, context: &Context<'_>, out: &mut Vec<Problem>) -> WireDecl {
    let from = section.required("from", "from = \"component.output\"", out);
    let from = match from.as_ref().map(|item| (item, item.list())) {
        Some((item, Some(items))) => {
            for key in ["gain", "map"] {
                if let Some(wrong) = section.get(key) {
                    let message = format!("`{key}` stands beside each of several outputs, not beside all");
                    out.push(
                        Problem::error("system/value", message, wrong.whole())
                            .label("of which one?")
                            .hint(format!("write `from = [{{ port = \"a.y\", {key} = .. }}, \"b.y\"]`")),
                    );
                }
            }
            if items.is_empty() {
                out.push(item.wrong("at least one output"));
            }
            items.iter().filter_map(|one| summand(one, context, out)).collect()
        }
        Some((item, None)) => {
            let port = port(item, context, out).unwrap_or_default();
            let gain = section.number("gain", Range::Finite, out).unwrap_or(1.0);
            vec![Summand { port, gain, map: map(section, out) }]
        }
        None => Vec::new(),
    };
    let to = section.required("to", "to = \"component.input\"", out);
    let to = to.and_then(|item| port(&item, context, out)).unwrap_or_default();
    let offset = section.number("offset", Range::Finite, out).unwrap_or(0.0);
    WireDecl { from, to, offset, convert: section.flag("convert", out).unwrap_or(true) }
}

/// One of several outputs: a port, or a table with one in it.
fn summand(item: &Item<'_>, context: &Context<'_>, out: &mut Vec<Problem>) -> Option<Summand> {
    if item.table().is_none() {
        return port(item, context, out).map(Summand::plain);
    }
    let section = Section::open("an output of `from`", item.value, SUMMAND_KEYS, out)?;
    let port = port(&section.required("port", "port = \"component.output\"", out)?, context, out)?;
    let gain = section.number("gain", Range::Finite, out).unwrap_or(1.0);
    Some(Summand { port, gain, map: map(&section, out) })
}

/// `{ 0 = 1, 1 = 0 }`: what to take instead of each value; `true` is 1 and `false` is 0.
fn map(section: &Section<'_>, out: &mut Vec<Problem>) -> Vec<(f64, f64)> {
    let mut map: Vec<(f64, f64)> = Vec::new();
    for item in section.free("map", out) {
        let from = match item.key {
            "true" => Some(1.0),
            "false" => Some(0.0),
            text => text.parse::<f64>().ok().filter(|number| number.is_finite()),
        };
        let Some(from) = from else {
            let message = format!("a key of `map` must be a number, `true` or `false`, found {:?}", item.key);
            out.push(
                Problem::error("system/value", message, item.key_span.clone()).label("wanted: a number"),
            );
            continue;
        };
        if map.iter().any(|(known, _)| *known == from) {
            let message = format!("`map` says twice what becomes of {from}");
            out.push(Problem::error("system/value", message, item.key_span.clone()).label("the second one"));
            continue;
        }
        let to = match item.truth() {
            Some(truth) => Some(f64::from(u8::from(truth))),
            None => item.number(Range::Finite, out),
        };
        map.extend(to.map(|to| (from, to)));
    }
    map
}

fn bond(mut section: Section<'_>, index: usize, context: &Context<'_>, out: &mut Vec<Problem>) -> BondDecl {
    let (name, span) = name(&mut section, "bond", index, out);
    let mut side = |key: &str| {
        let example = format!("{key} = {{ effort = \"component.F\", flow = \"component.v\" }}");
        let item = section.required(key, &example, out)?;
        let inner = Section::open(format!("`{key}` of {}", section.title), item.value, PORT_KEYS, out)?;
        Some(power_port(&inner, context, out))
    };
    BondDecl {
        a: side("a").unwrap_or_default(),
        b: side("b").unwrap_or_default(),
        opposite: section.one_of("opposite", OPPOSITE, out).unwrap_or_default(),
        direction: section.one_of("direction", DIRECTION, out).unwrap_or_default(),
        tolerance: section.number("tolerance", Range::Positive, out),
        energy_scale: section.number("energy_scale", Range::Positive, out),
        line: section.get("line").and_then(|item| line::read(&item, &section.title, context, out)),
        name,
        span,
    }
}

/// `None` where it does not say what is common; no choice would be harmless.
fn junction(
    mut section: Section<'_>,
    index: usize,
    context: &Context<'_>,
    out: &mut Vec<Problem>,
) -> Option<JunctionDecl> {
    let (name, span) = name(&mut section, "junction", index, out);
    let common = section.required("common", "common = \"effort\"", out);
    let common = common.and_then(|item| item.one_of(COMMON, out));
    let mut sides = Vec::new();
    let example = "sides = [ { effort = \"a.p\", flow = \"a.q\" }, { effort = \"b.p\", flow = \"b.q\" } ]";
    if let Some(item) = section.required("sides", example, out) {
        let tables = item.tables(out);
        if item.value.get_ref().is_array() && tables.len() < 2 {
            let message = format!("{} needs at least 2 sides, found {}", section.title, tables.len());
            out.push(Problem::error("system/value", message, item.span()).label("too few"));
        }
        for table in tables {
            let title = format!("a side of {}", section.title);
            if let Some(side) = Section::open(title, table, SIDE_KEYS, out) {
                let port = power_port(&side, context, out);
                let leaves = side.one_of("power", POWER, out).unwrap_or(false);
                sides.push(JunctionSide { port, leaves });
            }
        }
    }
    let tolerance = section.number("tolerance", Range::Positive, out);
    let energy_scale = section.number("energy_scale", Range::Positive, out);
    Some(JunctionDecl { name, common: common?, sides, tolerance, energy_scale, span })
}

/// The name, given or counted, goes into the title of later problems.
fn name(section: &mut Section<'_>, kind: &str, index: usize, out: &mut Vec<Problem>) -> (String, Span) {
    let given = section.get("name").and_then(|item| item.text(out));
    let (name, span) = match given {
        Some((name, span)) => {
            check_name(kind, &name, span.clone(), out);
            (name, span)
        }
        None => (format!("{kind}{}", index + 1), section.span.clone()),
    };
    section.title = format!("{kind} `{name}`");
    (name, span)
}

fn power_port(section: &Section<'_>, context: &Context<'_>, out: &mut Vec<Problem>) -> PowerPort {
    let mut variable = |key: &str| {
        let item = section.required(key, &format!("{key} = \"component.port\""), out)?;
        port(&item, context, out)
    };
    let effort = variable("effort").unwrap_or_default();
    let flow = variable("flow").unwrap_or_default();
    let owner =
        |port: &str| context.components.split(port).ok().map(|(_, component, _)| component.to_owned());
    if let (Some(left), Some(right)) = (owner(&effort.0), owner(&flow.0))
        && left != right
    {
        let message = format!("{} takes its effort from `{left}` but its flow from `{right}`", section.title);
        out.push(
            Problem::error("system/two-components", message, flow.1.clone())
                .label(format!("not a port of `{left}`"))
                .hint("effort and flow of one side belong to one component; the other side is the other one"),
        );
    }
    PowerPort { effort, flow }
}

/// `component.port` behind a key.
fn port(item: &Item<'_>, context: &Context<'_>, out: &mut Vec<Problem>) -> Option<(String, Span)> {
    let (text, span) = item.text(out)?;
    check_port(item.key, &text, span.clone(), context, out).then_some((text, span))
}

/// Whether `text` is the port of a component that exists.
pub(super) fn check_port(
    key: &str,
    text: &str,
    span: Span,
    context: &Context<'_>,
    out: &mut Vec<Problem>,
) -> bool {
    match context.components.split(text) {
        Ok(_) => true,
        Err(Lost::Unknown(component)) => {
            let message = format!("no component is called `{component}`");
            out.push(
                Problem::error("system/unknown-component", message, span)
                    .label("unknown component")
                    .hint(context.components.suggest(component)),
            );
            false
        }
        Err(Lost::NoPath) => {
            let message = format!("`{key}` must be `component.port`, found {text:?}");
            out.push(Problem::error("system/value", message, span).label("wanted: `component.port`"));
            false
        }
    }
}

fn check_unique(system: &System, out: &mut Vec<Problem>) {
    let bonds = system.bonds.iter().map(|bond| (&bond.name, &bond.span));
    let junctions = system.junctions.iter().map(|junction| (&junction.name, &junction.span));
    let named: Vec<(&String, &Span)> = bonds.chain(junctions).collect();
    for (index, (name, span)) in named.iter().enumerate() {
        if named[..index].iter().any(|(earlier, _)| earlier == name) {
            let message = format!("two bonds or junctions are called `{name}`");
            out.push(
                Problem::error("system/duplicate-name", message, (*span).clone())
                    .label("the second one")
                    .hint("give it another `name`"),
            );
        }
    }
}
