//! A system back as `system.toml`. Reading it again gives the same system; what equals its default is left
//! out, and comments are not kept.

use std::fmt::Write;

use cosimo_core::unit::BASE_UNITS;
use cosimo_core::{Unit, Value};

use crate::recipe::{Choice, PerInput, Recipe, Step};
use crate::system::{
    BondDecl, Component, Direction, Experiment, LineDecl, Opposite, PowerPort, Results, Summand, System,
    WireDecl,
};
use crate::toml::line::{BETWEEN, BOUNDARY, IMPEDANCES, STEADY};
use crate::toml::links::{COMMON, DIRECTION, OPPOSITE};
use crate::toml::method::{EXCHANGE, REJECT};
use crate::toml::{END, RECORD, is_name};

pub fn to_toml(system: &System) -> String {
    let mut page = Page::default();
    experiment(&mut page, &system.experiment);
    for component in &system.components {
        self::component(&mut page, component);
    }
    rest(&mut page, system);
    page.0
}

/// What another format has no words for: everything but start, stop and sources, as [`crate::toml::supplement`] reads
/// it. Leave out of the system what the other format does say.
pub fn to_supplement(system: &System) -> String {
    let mut page = Page::default();
    let usual = Experiment::default();
    let Experiment { end, record, history, .. } = &system.experiment;
    if (*end, *record, history) != (usual.end, usual.record, &None) {
        page.head("[experiment]");
        experiment_rest(&mut page, &system.experiment);
    }
    for component in &system.components {
        let nothing = Component {
            name: component.name.clone(),
            source: component.source.clone(),
            span: component.span.clone(),
            source_span: component.source_span.clone(),
            ..Component::default()
        };
        if *component != nothing {
            page.head(&format!("[component.{}]", key(&component.name)));
            component_rest(&mut page, component);
        }
    }
    rest(&mut page, system);
    page.0
}

fn rest(page: &mut Page, system: &System) {
    for wire in &system.wires {
        self::wire(page, wire);
    }
    for bond in &system.bonds {
        write_bond(page, bond);
    }
    for junction in &system.junctions {
        page.head("[[junction]]");
        page.line("name", &text(&junction.name));
        page.line("common", &text(word(COMMON, junction.common)));
        page.0.push_str("sides = [\n");
        for side in &junction.sides {
            let mut pairs = port(&side.port);
            if side.leaves {
                pairs.push(("power".into(), text("leaves")));
            }
            let _ = writeln!(page.0, "  {},", table(&pairs));
        }
        page.0.push_str("]\n");
        page.number("tolerance", junction.tolerance);
        page.number("energy_scale", junction.energy_scale);
    }
    for group in &system.strong {
        page.head(&format!("[strong.{}]", key(&group.name)));
        let names: Vec<String> = group.components.iter().map(|(name, _)| text(name)).collect();
        page.line("components", &format!("[{}]", names.join(", ")));
        group.options.iter().for_each(|(name, option, _)| page.line(name, &value(option)));
    }
    let method = recipe(&system.recipe, &Recipe::default());
    if !method.is_empty() {
        page.head("[method]");
        method.iter().for_each(|(key, value)| page.line(key, value));
    }
    for island in &system.islands {
        page.head(&format!("[island.{}]", key(&island.name)));
        let names: Vec<String> = island.components.iter().map(|(name, _)| text(name)).collect();
        page.line("components", &format!("[{}]", names.join(", ")));
        recipe(&island.recipe, &system.recipe).iter().for_each(|(key, value)| page.line(key, value));
    }
    if system.results != Results::default() {
        page.head("[results]");
        let variables: Vec<String> =
            system.results.variables.iter().map(|(pattern, _)| text(pattern)).collect();
        page.unless(variables.is_empty(), "variables", &format!("[{}]", variables.join(", ")));
        page.number("every", system.results.every);
    }
    if let Some(reference) = &system.reference {
        page.head("[reference]");
        page.line("model", &text(&reference.model.0));
        let ports = reference.ports.iter();
        let ports: Vec<_> = ports.map(|(port, column, _)| (port.clone(), text(column))).collect();
        page.unless(ports.is_empty(), "ports", &table(&ports));
    }
}

/// One bond as a section of its own.
pub fn bond(bond: &BondDecl) -> String {
    let mut page = Page::default();
    write_bond(&mut page, bond);
    page.0
}

/// The same as `--bond` takes it.
pub fn bond_argument(bond: &BondDecl) -> String {
    let side = |port: &PowerPort| format!("{}:{}", port.effort.0, port.flow.0);
    let mut text = format!("{}={}~{}", bond.name, side(&bond.a), side(&bond.b));
    if bond.opposite != Opposite::default() {
        text += &format!(",opposite={}", word(OPPOSITE, bond.opposite));
    }
    if bond.direction != Direction::default() {
        text += &format!(",direction={}", word(DIRECTION, bond.direction));
    }
    for (key, value) in [("tolerance", bond.tolerance), ("energy_scale", bond.energy_scale)] {
        if let Some(value) = value {
            text += &format!(",{key}={}", number(value));
        }
    }
    text
}

fn write_bond(page: &mut Page, bond: &BondDecl) {
    page.head("[[bond]]");
    page.line("name", &text(&bond.name));
    page.line("a", &table(&port(&bond.a)));
    page.line("b", &table(&port(&bond.b)));
    page.word("opposite", OPPOSITE, bond.opposite);
    page.word("direction", DIRECTION, bond.direction);
    page.number("tolerance", bond.tolerance);
    page.number("energy_scale", bond.energy_scale);
    if let Some(line) = &bond.line {
        page.line("line", &table(&self::line(line)));
    }
}

fn line(line: &LineDecl) -> Vec<(String, String)> {
    let usual = LineDecl::of(line.delay, line.impedance);
    let mut pairs = Vec::new();
    let mut push = |key: &str, value: String| pairs.push((key.to_owned(), value));
    push("delay", number(line.delay));
    push("impedance", number(line.impedance));
    let mut unless = |usual: bool, key: &str, value: String| {
        if !usual {
            push(key, value);
        }
    };
    let pair = |pair: [f64; 2]| match pair {
        [a, b] if a == b => number(a),
        [a, b] => format!("[{}, {}]", number(a), number(b)),
    };
    unless(line.between == usual.between, "interpolation", text(word(BETWEEN, line.between)));
    if let Some(steady) = &line.steady {
        unless(false, "control", text("steady-state"));
        unless(same(steady, &Choice::named(STEADY)), "steady", choice(steady));
    }
    unless(line.factor == usual.factor, "factor", pair(line.factor));
    let most = if line.steady.is_some() { usual.most } else { line.factor };
    unless(line.most == most, "most", pair(line.most));
    unless(line.hold == usual.hold, "hold", number(line.hold));
    for (key, flag, usual) in [
        ("linked", line.linked, usual.linked),
        ("announced", line.announced, usual.announced),
        ("rollback", line.rollback, usual.rollback),
    ] {
        unless(flag == usual, key, flag.to_string());
    }
    unless(line.repay == usual.repay, "repay", number(line.repay));
    unless(line.impedances == usual.impedances, "impedances", text(word(IMPEDANCES, line.impedances)));
    unless(line.boundary == usual.boundary, "boundary", text(word(BOUNDARY, line.boundary)));
    for (key, mass) in ["mass_a", "mass_b"].into_iter().zip(line.mass) {
        if let Some(mass) = mass {
            unless(false, key, number(mass));
        }
    }
    pairs
}

fn experiment(page: &mut Page, experiment: &Experiment) {
    page.head("[experiment]");
    page.unless(experiment.start == 0.0, "start", &number(experiment.start));
    page.line("stop", &number(experiment.stop));
    experiment_rest(page, experiment);
}

fn experiment_rest(page: &mut Page, experiment: &Experiment) {
    page.word("end", END, experiment.end);
    page.word("record", RECORD, experiment.record);
    if let Some((path, _)) = &experiment.history {
        page.line("history", &text(&path.to_string_lossy()));
    }
}

fn component(page: &mut Page, component: &Component) {
    page.head(&format!("[component.{}]", key(&component.name)));
    page.line("source", &text(&component.source));
    component_rest(page, component);
}

fn component_rest(page: &mut Page, component: &Component) {
    let parameters: Vec<_> =
        component.parameters.iter().map(|(name, value, _)| (name.clone(), self::value(value))).collect();
    page.unless(parameters.is_empty(), "parameters", &table(&parameters));
    let starts: Vec<_> =
        component.starts.iter().map(|(name, value, _)| (name.clone(), number(*value))).collect();
    page.unless(starts.is_empty(), "start", &table(&starts));
    let units: Vec<_> =
        component.units.iter().map(|(port, unit, _)| (port.clone(), self::unit(unit))).collect();
    page.unless(units.is_empty(), "units", &table(&units));
    page.number("tolerance", component.tolerance);
    page.number("weight", component.weight);
    page.number("step", component.step.as_ref().map(|(every, _)| *every));
}

fn wire(page: &mut Page, wire: &WireDecl) {
    page.head("[[wire]]");
    if let [one] = &wire.from[..] {
        page.line("from", &text(&one.port.0));
        page.line("to", &text(&wire.to.0));
        page.unless(one.gain == 1.0, "gain", &number(one.gain));
        page.unless(one.map.is_empty(), "map", &map(one));
    } else {
        let summand = |one: &Summand| {
            let mut pairs = vec![("port".to_owned(), text(&one.port.0))];
            if one.gain != 1.0 {
                pairs.push(("gain".into(), number(one.gain)));
            }
            if !one.map.is_empty() {
                pairs.push(("map".into(), map(one)));
            }
            if pairs.len() == 1 { text(&one.port.0) } else { table(&pairs) }
        };
        let list: Vec<String> = wire.from.iter().map(summand).collect();
        page.line("from", &format!("[{}]", list.join(", ")));
        page.line("to", &text(&wire.to.0));
    }
    page.unless(wire.offset == 0.0, "offset", &number(wire.offset));
    page.unless(wire.convert, "convert", "false");
}

fn map(summand: &Summand) -> String {
    // Whole numbers without a point, as people write them.
    let pairs = summand.map.iter().map(|(from, to)| (from.to_string(), number(*to)));
    table(&pairs.collect::<Vec<_>>())
}

/// By its name where that says all.
fn unit(unit: &Unit) -> String {
    if Unit::parse(&unit.text).as_ref() == Ok(unit) {
        return text(&unit.text);
    }
    let mut pairs = vec![("name".to_owned(), text(&unit.text))];
    let exponents = BASE_UNITS.iter().zip(unit.dimension).filter(|(_, exponent)| *exponent != 0);
    pairs.extend(exponents.map(|(base, exponent)| ((*base).to_owned(), exponent.to_string())));
    for (key, value, usual) in [("factor", unit.factor, 1.0), ("offset", unit.offset, 0.0)] {
        if value != usual {
            pairs.push((key.into(), number(value)));
        }
    }
    table(&pairs)
}

/// What differs from what is usual.
fn recipe(recipe: &Recipe, usual: &Recipe) -> Vec<(&'static str, String)> {
    let mut lines = Vec::new();
    if !same(&recipe.partition, &usual.partition) {
        lines.push(("partition", choice(&recipe.partition)));
    }
    if !same(&recipe.iteration, &usual.iteration) {
        lines.push(("iteration", choice(&recipe.iteration)));
    }
    for (key, chosen, usual) in
        [("input", &recipe.input, &usual.input), ("correction", &recipe.correction, &usual.correction)]
    {
        let (all, inputs) = (same(&chosen.default, &usual.default), chosen.inputs.iter().zip(&usual.inputs));
        let equal =
            |((left, one, _), (right, other, _)): (&(_, _, _), &(_, _, _))| left == right && same(one, other);
        if !all || chosen.inputs.len() != usual.inputs.len() || !inputs.into_iter().all(equal) {
            lines.push((key, per_input(chosen, choice)));
        }
    }
    if recipe.exchange != usual.exchange {
        lines.push(("exchange", per_input(&recipe.exchange, |exchange| text(word(EXCHANGE, *exchange)))));
    }
    let step = step(recipe, usual);
    if !step.is_empty() {
        lines.push(("step", table(&step)));
    }
    lines
}

fn step(recipe: &Recipe, usual: &Recipe) -> Vec<(String, String)> {
    let Step { size, min, max, shrink, grow, reject, .. } = &recipe.step;
    let mut pairs = Vec::new();
    let mut push = |key: &str, value: String| pairs.push((key.to_owned(), value));
    if !same(&recipe.estimate, &usual.estimate) {
        push("estimate", choice(&recipe.estimate));
    }
    if !same(&recipe.law, &usual.law) {
        push("law", choice(&recipe.law));
    }
    if let Some(size) = size.filter(|size| usual.step.size != Some(*size)) {
        push("size", number(size));
    }
    let limits = [
        ("min", *min, usual.step.min),
        ("max", *max, usual.step.max),
        ("shrink", *shrink, usual.step.shrink),
        ("grow", *grow, usual.step.grow),
    ];
    for (key, limit, usual) in limits {
        if limit != usual {
            push(key, number(limit));
        }
    }
    if *reject != usual.step.reject {
        push("reject", text(word(REJECT, *reject)));
    }
    pairs
}

/// Places and who chose do not count.
fn same(left: &Choice, right: &Choice) -> bool {
    left.name == right.name && left.options.is_empty() && right.options.is_empty()
}

fn choice(choice: &Choice) -> String {
    if choice.options.is_empty() {
        return text(&choice.name);
    }
    let options: Vec<_> =
        choice.options.iter().map(|(name, value, _)| (name.clone(), self::value(value))).collect();
    table(&[(choice.name.clone(), table(&options))])
}

fn per_input<T>(per_input: &PerInput<T>, one: impl Fn(&T) -> String) -> String {
    if per_input.inputs.is_empty() {
        return one(&per_input.default);
    }
    let mut pairs = vec![("default".to_owned(), one(&per_input.default))];
    pairs.extend(per_input.inputs.iter().map(|(input, choice, _)| (input.clone(), one(choice))));
    table(&pairs)
}

fn port(port: &PowerPort) -> Vec<(String, String)> {
    vec![("effort".into(), text(&port.effort.0)), ("flow".into(), text(&port.flow.0))]
}

#[derive(Debug, Default)]
struct Page(String);

impl Page {
    fn head(&mut self, head: &str) {
        if !self.0.is_empty() {
            self.0.push('\n');
        }
        self.0.push_str(head);
        self.0.push('\n');
    }

    fn line(&mut self, key: &str, value: &str) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.0, "{key} = {value}");
    }

    fn unless(&mut self, usual: bool, key: &str, value: &str) {
        if !usual {
            self.line(key, value);
        }
    }

    fn number(&mut self, key: &str, value: Option<f64>) {
        if let Some(value) = value {
            self.line(key, &number(value));
        }
    }

    fn word<T: Copy + PartialEq + Default>(&mut self, key: &str, words: &[(&'static str, T)], value: T) {
        self.unless(value == T::default(), key, &text(word(words, value)));
    }
}

/// The reader's own word for it. Every meaning has one: the reader's tests go through them all.
fn word<T: PartialEq>(words: &[(&'static str, T)], value: T) -> &'static str {
    words.iter().find(|(_, meaning)| *meaning == value).map_or("", |(word, _)| word)
}

/// A value as it stands in a file.
pub fn value(value: &Value) -> String {
    match value {
        Value::Number(number) => self::number(*number),
        Value::Flag(flag) => flag.to_string(),
        Value::Text(text) => self::text(text),
        Value::List(items) => {
            format!("[{}]", items.iter().map(self::value).collect::<Vec<_>>().join(", "))
        }
        Value::Table(pairs) => {
            let pairs: Vec<_> = pairs.iter().map(|(key, value)| (key.clone(), self::value(value))).collect();
            table(&pairs)
        }
    }
}

fn table(pairs: &[(String, String)]) -> String {
    if pairs.is_empty() {
        return "{}".into();
    }
    let pairs: Vec<String> = pairs.iter().map(|(name, value)| format!("{} = {value}", key(name))).collect();
    format!("{{ {} }}", pairs.join(", "))
}

/// Shortest text that reads back as the same number.
fn number(number: f64) -> String {
    if number.is_nan() { "nan".into() } else { format!("{number:?}") }
}

/// A key as TOML spells it: bare where that will do.
pub fn key(key: &str) -> String {
    if is_name(key) { key.into() } else { text(key) }
}

/// A text in quotes.
pub fn text(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            control if control.is_control() => {
                let _ = write!(quoted, "\\u{:04X}", u32::from(control));
            }
            _ => quoted.push(letter),
        }
    }
    quoted + "\""
}
