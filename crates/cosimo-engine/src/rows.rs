//! Columns of result rows. Columns that are not recorded are neither computed nor copied.

use std::collections::BTreeSet;

use cosimo_core::recorder::Columns;
use cosimo_core::registry::suggest;
use cosimo_core::{Bond, Local, PowerVariable};
use cosimo_system::{Problem, RecordPoint, Results};
use wildmatch::WildMatch;

use crate::island::Island;
use crate::ledger::Ledger;
use crate::plan::Ports;

/// The chosen columns, the time first.
#[derive(Debug, Default)]
pub(crate) struct RowLayout {
    /// Names and units.
    pub(crate) columns: Columns,
    sources: Vec<ColumnSource>,
    /// Seconds from row to row; `None`: a row at every communication point.
    pub(crate) every: Option<f64>,
    /// Per component: indices of the recorded local variables.
    pub(crate) locals: Vec<Vec<usize>>,
}

/// Where a value of a row comes from.
#[derive(Debug, Clone, Copy)]
enum ColumnSource {
    Time,
    Output(usize),
    Input(usize),
    /// A local variable, by its index among the recorded ones.
    Local(usize),
    Size,
    Indicator,
    Changed,
    Side(usize),
    Bond(usize, BondValue),
}

/// A value of a bond, by ledger, index and step size.
type BondValue = fn(&Ledger, usize, f64) -> f64;

impl RowLayout {
    /// Chooses columns; a pattern that matches none of them is a problem.
    pub(crate) fn new(
        results: &Results,
        scenario: bool,
        ports: &Ports<'_>,
        locals: &[Vec<Local>],
        bonds: &[Bond],
        problems: &mut Vec<Problem>,
    ) -> RowLayout {
        let all = all(ports, bonds, scenario);
        let patterns: Vec<Pattern> = results.variables.iter().map(|(text, _)| Pattern::new(text)).collect();
        let mut rows = RowLayout { every: results.every, ..RowLayout::default() };
        let inside: Vec<Vec<LocalColumn<'_>>> = locals
            .iter()
            .enumerate()
            .map(|(member, list)| rows.choose(member, list, &patterns, ports))
            .collect();
        for (pattern, (text, span)) in patterns.iter().zip(&results.variables) {
            let wanted = text.strip_prefix('!').unwrap_or(text);
            let ports_fit = || all.iter().any(|column| pattern.fits(&column.name));
            let locals_fit = || inside.iter().flatten().any(|local| pattern.fits(&local.name));
            if judged(wanted, ports) && !ports_fit() && !locals_fit() {
                let known = all.iter().map(|column| column.name.as_str());
                let known = known.chain(inside.iter().flatten().map(|local| local.name.as_str()));
                problems.push(
                    Problem::error("plan/results", format!("no variable matches `{wanted}`"), span.clone())
                        .label("no match")
                        .hint(suggest(wanted, known)),
                );
            }
        }
        for column in all {
            if matches!(column.source, ColumnSource::Time) || keeps(&patterns, &column.name) {
                rows.columns.names.push(column.name);
                rows.columns.units.push(column.unit);
                rows.sources.push(column.source);
            }
        }
        let chosen = inside.into_iter().flatten().filter(|local| local.chosen);
        for (place, local) in chosen.enumerate() {
            rows.columns.names.push(local.name);
            rows.columns.units.push(local.unit.to_owned());
            rows.sources.push(ColumnSource::Local(place));
        }
        rows
    }

    /// Local variables of a component by path. They are recorded only by pattern: there may be very many.
    fn choose<'l>(
        &mut self,
        member: usize,
        list: &'l [Local],
        patterns: &[Pattern],
        ports: &Ports<'_>,
    ) -> Vec<LocalColumn<'l>> {
        let joined = !ports.interfaces[member].members.is_empty();
        let named = |local: &'l Local| {
            let name =
                if joined { local.name.clone() } else { format!("{}.{}", ports.names[member], local.name) };
            let decides = patterns.iter().rev().find(|pattern| pattern.fits(&name));
            let chosen = decides.is_some_and(|pattern| !pattern.excludes);
            LocalColumn { name, unit: &local.unit, chosen }
        };
        let inside: Vec<LocalColumn<'l>> = list.iter().map(named).collect();
        let places = inside.iter().enumerate().filter(|(_, local)| local.chosen);
        self.locals.push(places.map(|(place, _)| place).collect());
        inside
    }

    /// Whether locals are recorded.
    pub(crate) fn has_locals(&self) -> bool {
        self.locals.iter().any(|chosen| !chosen.is_empty())
    }

    /// The row of the present communication point.
    pub(crate) fn fill(&self, island: &Island, row: &mut Vec<f64>) {
        let (board, layout, window) = (&island.board, &island.layout, island.window);
        let (ledger, after) = (&board.ledger, layout.limits.record == RecordPoint::AfterExchange);
        let outputs = if after { board.traces.newest() } else { &board.buffers.outputs };
        row.clear();
        row.extend(self.sources.iter().map(|source| match *source {
            ColumnSource::Time => island.clock.now().seconds(),
            ColumnSource::Output(output) => outputs[output],
            ColumnSource::Input(input) if after => layout.topology.couplings.value(input, outputs),
            ColumnSource::Input(input) => board.buffers.segments[input].at(window.size),
            ColumnSource::Local(place) => board.buffers.locals[place],
            ColumnSource::Size => window.size,
            ColumnSource::Indicator => island.error,
            ColumnSource::Changed => board.changed as f64,
            ColumnSource::Side(side) => ledger.sides[side],
            ColumnSource::Bond(bond, value) => value(ledger, bond, window.size),
        }));
    }
}

/// Whether all names that a pattern may match are known: those of components that could not be opened are not.
fn judged(pattern: &str, ports: &Ports<'_>) -> bool {
    let of =
        |index: usize| pattern.strip_prefix(&ports.names[index]).is_some_and(|rest| rest.starts_with('.'));
    ports.closed.is_empty() || (0..ports.names.len()).any(|index| of(index) && !ports.closed.contains(&index))
}

struct Pattern {
    excludes: bool,
    wild: WildMatch,
}

impl Pattern {
    fn new(text: &str) -> Pattern {
        let rest = text.strip_prefix('!');
        Pattern { excludes: rest.is_some(), wild: WildMatch::new(rest.unwrap_or(text)) }
    }

    fn fits(&self, name: &str) -> bool {
        self.wild.matches(name)
    }
}

/// The last matching pattern decides; without one, names are kept if the first pattern excludes.
fn keeps(patterns: &[Pattern], name: &str) -> bool {
    match patterns.iter().rev().find(|pattern| pattern.fits(name)) {
        Some(pattern) => !pattern.excludes,
        None => patterns.first().is_none_or(|first| first.excludes),
    }
}

/// A local variable of a component.
struct LocalColumn<'l> {
    name: String,
    unit: &'l str,
    chosen: bool,
}

struct Column {
    name: String,
    unit: String,
    source: ColumnSource,
}

const BOND_VALUES: [(&str, &str, BondValue); 6] = [
    ("transmitted_power", "W", |ledger, bond, _| ledger.powers[bond].transmitted),
    ("residual_power", "W", |ledger, bond, _| ledger.powers[bond].residual),
    ("transmitted_energy", "J", |ledger, bond, _| ledger.totals[bond].transmitted),
    ("residual_energy", "J", |ledger, bond, _| ledger.totals[bond].residual),
    // ECCO Eq. (13b): the mean of both sides' local errors in the transmitted energy.
    ("local_error", "J", |ledger, bond, size| -0.5 * ledger.powers[bond].residual * size),
    ("indicator", "1", |ledger, bond, _| ledger.indicators[bond]),
];

/// All possible columns, in the order of the file.
fn all(ports: &Ports<'_>, bonds: &[Bond], scenario: bool) -> Vec<Column> {
    let mut columns = Vec::new();
    let mut add = |name: String, unit: &str, source: ColumnSource| {
        columns.push(Column { name, unit: unit.into(), source });
    };
    add("time".into(), "s", ColumnSource::Time);
    for block in ports.blocks {
        let mut taken = BTreeSet::new();
        let unit = |end: PowerVariable| ports.port(end).unit.as_ref().map_or("", |unit| &unit.text);
        for output in block.outputs.clone() {
            let name = ports.path(PowerVariable::Output(output));
            taken.insert(name.clone());
            add(name, unit(PowerVariable::Output(output)), ColumnSource::Output(output));
        }
        for input in block.inputs.clone() {
            let mut name = ports.path(PowerVariable::Input(input));
            if taken.contains(&name) {
                name.push_str(".in"); // a port name may be that of an input and of an output
            }
            add(name, unit(PowerVariable::Input(input)), ColumnSource::Input(input));
        }
    }
    add("step.size".into(), "s", ColumnSource::Size);
    add("step.indicator".into(), "1", ColumnSource::Indicator);
    if scenario {
        add("scenario.active".into(), "1", ColumnSource::Changed);
    }
    let mut sides = 0;
    for (k, bond) in bonds.iter().enumerate() {
        let name = &bond.name;
        for side in 0..bond.sides.len() {
            add(format!("bond.{name}.power_{}", side_letter(side)), "W", ColumnSource::Side(sides + side));
        }
        sides += bond.sides.len();
        for (value, unit, source) in BOND_VALUES {
            add(format!("bond.{name}.{value}"), unit, ColumnSource::Bond(k, source));
        }
    }
    columns
}

/// The name of a bond side: a, b, c, ... as in the system file; numbers beyond z.
pub fn side_letter(side: usize) -> String {
    match u8::try_from(side) {
        Ok(index) if index < 26 => char::from(b'a' + index).to_string(),
        _ => side.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_pattern_that_fits_decides() {
        let kept = |patterns: &[&str]| -> Vec<&str> {
            let patterns: Vec<Pattern> = patterns.iter().map(|text| Pattern::new(text)).collect();
            let names = ["a.x", "a.q[1,2]", "b.x", "b.xx"];
            names.into_iter().filter(|name| keeps(&patterns, name)).collect()
        };
        assert_eq!(kept(&[]), ["a.x", "a.q[1,2]", "b.x", "b.xx"]);
        assert_eq!(kept(&["a.*"]), ["a.x", "a.q[1,2]"]);
        assert_eq!(kept(&["?.x"]), ["a.x", "b.x"]);
        assert_eq!(kept(&["a.q[1,2]"]), ["a.q[1,2]"]);
        assert_eq!(kept(&["!b.*"]), ["a.x", "a.q[1,2]"]);
        assert_eq!(kept(&["*", "!*.x", "b.x"]), ["a.q[1,2]", "b.x", "b.xx"]);
        assert_eq!(kept(&["b.*", "!b.x"]), ["b.xx"]);
    }
}
