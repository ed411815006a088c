//! Whether to believe a run: the same system again with half and quarter of every step, in another sequence, and undivided.
//! Where errors fall with the step as they should, three step sizes tell how large they are (Richardson); the energy defect
//! of every bond is held against that error, since nothing makes the two agree.
//!
//! A controlled step is followed, not controlled again: the steps that the run took are cut into halves and quarters. So the
//! instants of the run are common to all, and what changes is the step and nothing else.
//!
//! Sources: Richardson 1911; Roache 1994 (J. Fluids Eng. 116) for observed orders and for what to say where there is none.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use cosimo_core::{End, Registry, Value};
use cosimo_engine::{BondSummary, BondTotals, Layout, Plan, Run, Verdict, plan};
use cosimo_system::{Choice, EndRule, Exchange, PerInput, Reject, Results, StrongDecl, System};
use wildmatch::WildMatch;

use crate::order::Truth;
use crate::variant::VariantError;

/// Below this part of a signal's size, differences are rounding.
const ROUNDING: f64 = 1e-13;
/// Differences that fall more slowly than this do not converge.
const LEAST_ORDER: f64 = 0.5;
/// Where no order is seen, the largest difference is multiplied by Roache's factor for two grids.
const DOUBT: f64 = 3.0;
/// An instant is met that lies this part of a step away: times are rounded.
const MEETS: f64 = 1e-6;
/// Numbers kept of each run, and the fewest and most instants.
const KEPT: usize = 1 << 20;
const INSTANTS: (usize, usize) = (256, 4096);
/// Exchanged energy goes to zero with the step where its limit is no more than this part of the last.
const VANISHES: f64 = 0.1;
/// Energy defect and error agree within this factor.
const APART: f64 = 10.0;
/// Tolerances of the undivided form, where it is integrated.
const STRONG: [(&str, f64); 2] = [("relative", 1e-9), ("absolute", 1e-10)];

/// One of the runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rerun {
    /// As the system says.
    Itself,
    Half,
    Quarter,
    OtherSequence,
    /// Units for model exchange, integrated together.
    Strong,
}

impl Rerun {
    pub fn words(self) -> &'static str {
        match self {
            Rerun::Itself => "as it is",
            Rerun::Half => "with half the step",
            Rerun::Quarter => "with a quarter of the step",
            Rerun::OtherSequence => "in another sequence",
            Rerun::Strong => "integrated together",
        }
    }
}

/// Called after every step, with the run on its own thread; `false` stops everything.
pub type Look = Box<dyn FnMut(&Run) -> bool>;

/// What is wanted, and how.
pub struct Wish<'a> {
    /// Allowed error, as a part of the largest value of a signal, and on top of that.
    pub tolerance: f64,
    pub absolute: f64,
    /// Patterns of signals that are judged, as in `wheel.*`; none are all.
    pub signals: &'a [String],
    /// Runs at the same time.
    pub jobs: usize,
    pub watch: &'a (dyn Fn(Rerun) -> Look + Sync),
}

impl std::fmt::Debug for Wish<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Wish({}, {}, {:?})", self.tolerance, self.absolute, self.signals)
    }
}

#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    #[error("the run has {0} steps, which are too few to say how errors fall")]
    TooShort(usize),
    #[error("`{0}` takes steps of {1} s inside, and cannot be run with a quarter of {2} s")]
    Inside(String, f64, f64),
    #[error("it cannot be run {}: {}", .0.words(), .1)]
    Refused(Rerun, VariantError),
    #[error("no signal is called {0}")]
    NoSignal(String),
    #[error("the run {} failed: {}", .0.words(), .1)]
    Failed(Rerun, VariantError),
    #[error("interrupted")]
    Interrupted,
}

impl VerifyError {
    /// What `cosimo explain-error` knows it by.
    pub fn code(&self) -> Option<&'static str> {
        match self {
            VerifyError::Refused(_, cause) | VerifyError::Failed(_, cause) => cause.code(),
            _ => None,
        }
    }

    fn coded(&self) -> String {
        match self {
            VerifyError::Failed(which, VariantError::Run(error)) => {
                format!("the run {} failed: {}", which.words(), error.coded())
            }
            other => other.to_string(),
        }
    }
}

#[derive(Debug, Clone)]
pub struct Verification {
    /// Of the run itself.
    pub steps: usize,
    pub smallest: f64,
    pub largest: f64,
    pub controlled: bool,
    /// Delays of lines, the shortest and the longest: they are halved, and steps are those at which the islands are looked at.
    pub delays: Option<(f64, f64)>,
    /// How many instants were compared, and from where to where.
    pub instants: usize,
    pub from: f64,
    pub to: f64,
    /// The name of the other sequence, or why there is none.
    pub sequence: Result<&'static str, String>,
    pub undivided: Result<Undivided, String>,
    /// The worst first.
    pub signals: Vec<Judged>,
    pub bonds: Vec<BondJudged>,
    pub tolerance: f64,
    pub absolute: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Undivided {
    /// The reference model of the system.
    Reference,
    /// Units for model exchange, integrated together.
    Strong,
}

/// How large the error of a signal is.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    pub name: String,
    /// Of all its numbers that are no shares; empty where nobody says.
    pub unit: String,
    /// The largest modulus, of the run and with the smallest step.
    pub largest: f64,
    /// The largest differences of the run and half the step, and of that and a quarter.
    pub differences: [f64; 2],
    /// How these fall: `None` where they are rounding.
    pub order: Option<f64>,
    pub bar: f64,
    pub basis: Basis,
    /// Largest distances from the undivided form, and from the other sequence.
    pub undivided: Option<f64>,
    pub sequence: Option<f64>,
    pub allowed: f64,
    /// The instant of the error, in seconds.
    pub at: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Basis {
    /// Differences are rounding.
    Exact,
    /// They fall with the step, and were extrapolated to none.
    Richardson,
    /// They do not fall as they should; the bar is a multiple of the largest.
    NoOrder,
}

impl Judged {
    /// The bar, or what is known to be the error where that is larger.
    pub fn error(&self) -> f64 {
        self.undivided.map_or(self.bar, |known| known.max(self.bar))
    }

    /// The error as a part of the largest value; nothing where it is next to nothing.
    pub fn relative(&self, absolute: f64) -> f64 {
        if self.error() <= absolute { 0.0 } else { self.error() / self.largest }
    }

    pub fn believed(&self) -> bool {
        self.error() <= self.allowed
    }

    /// The error bar is not what the undivided form shows.
    pub fn contradicted(&self) -> bool {
        let off = |known: f64| known.max(self.bar) > 2.0 * known.min(self.bar);
        self.undivided.is_some_and(|known| known.max(self.bar) > self.allowed && off(known))
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct BondJudged {
    pub name: String,
    /// The energy defect as a share of the energy exchanged, with all three steps.
    pub defects: [f64; 3],
    /// How it falls.
    pub order: Option<f64>,
    /// The energy exchanged, in joules, with all three steps.
    pub exchanged: [f64; 3],
    /// The energy transmitted, in joules, and its error bar.
    pub transmitted: f64,
    pub transmitted_bar: f64,
    /// The worst relative error among the outputs of the components that it joins, as far as they are judged, and whose
    /// it is.
    pub error: f64,
    pub signal: Option<String>,
    pub agreement: Agreement,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Agreement {
    /// Nothing is transmitted, or what is goes to zero with the step: the defect says nothing.
    Nothing,
    Agree,
    /// The defect does not show the error.
    DefectSmall,
    /// Energy is not conserved, but signals hardly feel it.
    DefectLarge,
}

impl Agreement {
    /// Stable, for scripts.
    pub fn word(self) -> &'static str {
        match self {
            Agreement::Nothing => "nothing-transmitted",
            Agreement::Agree => "agree",
            Agreement::DefectSmall => "defect-small-error-large",
            Agreement::DefectLarge => "defect-large-error-small",
        }
    }
}

impl Verification {
    pub fn believed(&self) -> bool {
        self.signals.iter().all(Judged::believed)
    }
}

/// Runs the system, reruns it, and judges. The truth is that of the undivided model, where the system has one.
pub fn verify(
    system: &System,
    registry: &Registry,
    truth: Result<Truth<'_>, String>,
    wish: &Wish<'_>,
) -> Result<Verification, VerifyError> {
    // Rows are not written; every signal is looked at where all runs meet.
    let mut system = system.clone();
    let recorded = std::mem::take(&mut system.results);
    let first = planned(&system, registry).map_err(|error| VerifyError::Refused(Rerun::Itself, error))?;
    // Events part the instants of runs that do not follow each other; who takes steps of one size only must not follow.
    let rigid = first.layout.topology.interfaces.iter().any(|interface| !interface.abilities.variable_step);
    let steady = !first.layout.limits.control.adaptive && (rigid || !first.layout.topology.eventful);
    refuse(&system, &first.layout)?;
    for (which, parts) in [(Rerun::Half, 2), (Rerun::Quarter, 4)] {
        if steady {
            let finer = finer(&system, parts, &[]);
            planned(&finer, registry).map_err(|error| VerifyError::Refused(which, error))?;
        }
    }
    let delays: Vec<f64> =
        system.bonds.iter().filter_map(|bond| bond.line.as_ref()).map(|line| line.delay).collect();
    let lines = !delays.is_empty();
    let several = first.layout.topology.names.len() > 1 && !lines;
    let other = if system.recipe.partition.name == "jacobi" { "gauss-seidel" } else { "jacobi" };
    let base = run_itself(first, &system, &recorded, wish)?;
    if base.instants.len() < 5 {
        return Err(VerifyError::TooShort(base.instants.len() - 1));
    }
    let steps: &[f64] = if steady { &[] } else { &base.instants };
    let alone = if lines { "lines part the simulators into islands" } else { "there is only one simulator" };
    let mut sequence = Err(alone.to_owned());
    let mut strong = Err(alone.to_owned());
    let mut reruns =
        vec![(Rerun::Quarter, finer(&system, 4, steps)), (Rerun::Half, finer(&system, 2, steps))];
    let mut add = |which: Rerun, changed: System| match planned(&changed, registry) {
        Ok(_) => {
            reruns.push((which, changed));
            Ok(())
        }
        Err(error) => Err(error.coded()),
    };
    if several {
        let mut changed = finer(&system, 1, steps);
        changed.recipe.partition = Choice::named(other);
        sequence = add(Rerun::OtherSequence, changed).map(|()| other);
        if truth.is_err() {
            strong = add(Rerun::Strong, together(&finer(&system, 1, steps)));
        }
    }
    let along = Along { base: &base, steady, registry, watch: wish.watch };
    let mut found = all(&along, &reruns, wish.jobs)?;
    let mut take =
        |which: Rerun| found.iter().position(|(known, _)| *known == which).map(|k| found.swap_remove(k).1);
    let (Some(half), Some(quarter)) = (take(Rerun::Half), take(Rerun::Quarter)) else {
        return Err(VerifyError::Interrupted); // nobody stops without having said why
    };
    let (half, quarter) = (half?, quarter?);
    // What fails beside the run itself says nothing against it.
    let other_found = take(Rerun::OtherSequence).transpose().unwrap_or_else(|error| {
        sequence = Err(error.coded());
        None
    });
    let strong_found = take(Rerun::Strong).transpose().unwrap_or_else(|error| {
        strong = Err(error.coded());
        None
    });
    let (undivided, known) = match truth {
        Ok(truth) => match truth(&base.kept_instants()) {
            Ok(solution) => (Ok(Undivided::Reference), Some(base.columns_of(&solution))),
            Err(reason) => (Err(reason), None),
        },
        Err(reason) => match strong {
            Ok(()) => (Ok(Undivided::Strong), strong_found.map(|found| found.values)),
            Err(cause) => (Err(format!("{reason}; {cause}")), None),
        },
    };
    let three = Three { base: &base, half: &half, quarter: &quarter };
    let mut judged = Vec::new();
    for (column, (name, signal)) in base.signals.iter().enumerate() {
        let estimate = three.estimate(column);
        let distance = |from: Option<&Vec<f64>>| from.and_then(|from| base.distance(column, from));
        let undivided = distance(known.as_ref());
        judged.push((
            *signal,
            Judged {
                name: name.clone(),
                unit: base.units[column].clone(),
                allowed: wish.absolute + wish.tolerance * estimate.largest,
                largest: estimate.largest,
                differences: estimate.differences,
                order: estimate.order,
                bar: estimate.bar,
                basis: estimate.basis,
                at: undivided.filter(|(known, _)| *known > estimate.bar).map_or(estimate.at, |(_, at)| at),
                undivided: undivided.map(|(distance, _)| distance),
                sequence: distance(other_found.as_ref().map(|found| &found.values))
                    .map(|(distance, _)| distance),
            },
        ));
    }
    let patterns: Vec<WildMatch> = wish.signals.iter().map(|pattern| WildMatch::new(pattern)).collect();
    let wanted = |(signal, judged): &(Signal, Judged)| {
        let named = patterns.is_empty() || patterns.iter().any(|pattern| pattern.matches(&judged.name));
        named && !matches!(signal, Signal::Transmitted(_))
    };
    let chosen: Vec<bool> = judged.iter().map(wanted).collect();
    let bonds = base.bonds.iter().enumerate();
    let bonds = bonds.map(|(k, bond)| three.bond(k, bond, &judged, &chosen, wish)).collect();
    let mut signals: Vec<Judged> = judged
        .into_iter()
        .zip(&chosen)
        .filter(|(_, chosen)| **chosen)
        .map(|((_, judged), _)| judged)
        .collect();
    if signals.is_empty() && !wish.signals.is_empty() {
        let named: Vec<String> = wish.signals.iter().map(|pattern| format!("`{pattern}`")).collect();
        return Err(VerifyError::NoSignal(named.join(" or ")));
    }
    let excess = |judged: &Judged| if judged.error() == 0.0 { 0.0 } else { judged.error() / judged.allowed };
    signals.sort_by(|a, b| excess(b).total_cmp(&excess(a)).then(a.name.cmp(&b.name)));
    let sizes = base.instants.windows(2).map(|pair| pair[1] - pair[0]);
    let (from, to) = three.span();
    Ok(Verification {
        steps: base.instants.len() - 1,
        smallest: sizes.clone().fold(f64::INFINITY, f64::min),
        largest: sizes.fold(0.0, f64::max),
        controlled: base.controlled,
        delays: lines.then(|| {
            let shortest = delays.iter().copied().fold(f64::INFINITY, f64::min);
            (shortest, delays.iter().copied().fold(0.0, f64::max))
        }),
        instants: three.common().count(),
        from,
        to,
        sequence,
        undivided,
        signals,
        bonds,
        tolerance: wish.tolerance,
        absolute: wish.absolute,
    })
}

fn planned(system: &System, registry: &Registry) -> Result<Plan, VariantError> {
    plan(system, registry).map_err(VariantError::Plan)
}

/// Units with a step of their own inside cannot follow any smaller one.
fn refuse(system: &System, layout: &Layout) -> Result<(), VerifyError> {
    let Some(everybody) = system.recipe.step.size.filter(|_| !layout.limits.control.adaptive) else {
        return Ok(());
    };
    for (name, interface) in layout.topology.names.iter().zip(&layout.topology.interfaces) {
        let Some(inside) = interface.internal_step else { continue };
        let own = system.components.iter().find(|component| component.name == *name);
        let own = own.and_then(|component| component.step.as_ref()).map(|(size, _)| *size);
        let size = own.map_or(everybody, |own| own.min(everybody));
        let ratio = size / 4.0 / inside;
        if (ratio - ratio.round()).abs() > MEETS * ratio || ratio < 1.0 - MEETS {
            return Err(VerifyError::Inside(name.clone(), inside, size));
        }
    }
    Ok(())
}

/// The system with parts of its steps: of one size, or along those that a run took.
fn finer(system: &System, parts: u32, steps: &[f64]) -> System {
    let mut finer = system.clone();
    let share = 1.0 / f64::from(parts);
    for component in &mut finer.components {
        component.step.iter_mut().for_each(|(size, _)| *size *= share);
    }
    let step = &mut finer.recipe.step;
    if let [first, second, ..] = steps {
        step.size = Some((second - first) * share);
        step.reject = Reject::Never;
        finer.recipe.law = Choice::named("fixed");
    } else {
        for recipe in finer.recipes_mut() {
            recipe.step.size = recipe.step.size.map(|size| size * share);
        }
    }
    // A shorter line of the same capacity.
    for line in finer.bonds.iter_mut().filter_map(|bond| bond.line.as_mut()) {
        (line.delay, line.impedance) = (line.delay * share, line.impedance * share);
    }
    finer
}

/// All components as one system of equations.
fn together(system: &System) -> System {
    let mut whole = system.clone();
    for component in &mut whole.components {
        component.step = None;
    }
    let recipe = &mut whole.recipe;
    recipe.partition = Choice::named("jacobi");
    recipe.iteration = Choice::named("once");
    recipe.input = PerInput::all(Choice::named("hold"));
    recipe.correction = PerInput::all(Choice::named("none"));
    recipe.exchange = PerInput::all(Exchange::Stale);
    recipe.estimate = Choice::named("none");
    whole.strong = vec![StrongDecl {
        name: "whole".into(),
        components: whole.components.iter().map(|component| (component.name.clone(), 0..0)).collect(),
        options: STRONG.iter().map(|(name, value)| ((*name).into(), Value::Number(*value), 0..0)).collect(),
        span: 0..0,
    }];
    whole
}

/// Where a number of a run comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Signal {
    Output(usize),
    Input(usize),
    /// Energy that a bond transmitted so far.
    Transmitted(usize),
}

/// All outputs, inputs that the results name, and what bonds transmit.
fn signals(layout: &Layout, system: &System, recorded: &Results) -> Vec<(String, Signal)> {
    let ports = layout.ports();
    // Delays are what is halved, and whether an end stands still follows from them: neither is a result.
    let books: Vec<String> = system
        .bonds
        .iter()
        .filter(|bond| bond.line.is_some())
        .map(|bond| format!("line.{}", bond.name))
        .collect();
    let patterns: Vec<WildMatch> = recorded
        .variables
        .iter()
        .filter(|(pattern, _)| !pattern.starts_with('!'))
        .map(|(pattern, _)| WildMatch::new(pattern))
        .collect();
    let outputs = (0..layout.topology.shape.outputs)
        .filter(|output| !books.contains(&layout.topology.names[layout.topology.owners[*output]]))
        .map(|output| (ports.path(End::Output(output)), Signal::Output(output)));
    let inputs = (0..layout.topology.shape.inputs)
        .map(|input| (ports.path(End::Input(input)), Signal::Input(input)))
        .filter(|(name, _)| patterns.iter().any(|pattern| pattern.matches(name)));
    let bonds = layout.topology.bonds.iter().enumerate();
    let bonds =
        bonds.map(|(k, bond)| (format!("bond.{}.transmitted_energy", bond.name), Signal::Transmitted(k)));
    outputs.chain(inputs).chain(bonds).collect()
}

/// Adds a row; what the run does not have is no number.
fn read(run: &Run, signals: &[Option<Signal>], into: &mut Vec<f64>) {
    into.extend(signals.iter().map(|signal| match signal {
        Some(Signal::Output(output)) => run.outputs()[*output],
        Some(Signal::Input(input)) => run.layout().topology.couplings.value(*input, run.outputs()),
        Some(Signal::Transmitted(bond)) => run.ledger().totals[*bond].transmitted,
        None => f64::NAN,
    }));
}

/// The run as the system says.
struct Base {
    controlled: bool,
    exact_end: bool,
    signals: Vec<(String, Signal)>,
    units: Vec<String>,
    bonds: Vec<BondEnds>,
    recorded: Results,
    /// All communication points.
    instants: Vec<f64>,
    /// Those at which values are kept, and these, row by row.
    kept: Vec<usize>,
    values: Vec<f64>,
    totals: Vec<BondTotals>,
}

struct BondEnds {
    name: String,
    /// Columns of the outputs of the components that it joins.
    columns: Vec<usize>,
}

impl Base {
    fn kept_instants(&self) -> Vec<f64> {
        self.kept.iter().map(|instant| self.instants[*instant]).collect()
    }

    /// The columns of a table that are signals, in their order.
    fn columns_of(&self, (names, rows): &(Vec<String>, Vec<Vec<f64>>)) -> Vec<f64> {
        let places: Vec<Option<usize>> =
            self.signals.iter().map(|(name, _)| names.iter().position(|known| known == name)).collect();
        let value = |row: &Vec<f64>, place: &Option<usize>| place.map_or(f64::NAN, |place| row[place]);
        rows.iter().flat_map(|row| places.iter().map(move |place| value(row, place))).collect()
    }

    fn row<'a>(&self, values: &'a [f64], row: usize) -> &'a [f64] {
        &values[row * self.signals.len()..(row + 1) * self.signals.len()]
    }

    fn instant(&self, row: usize) -> f64 {
        self.instants[self.kept[row]]
    }

    /// The largest distance of a column from another, where both have numbers, and its instant.
    fn distance(&self, column: usize, from: &[f64]) -> Option<(f64, f64)> {
        let rows = 0..self.kept.len();
        let each = rows.map(|row| {
            ((self.row(&self.values, row)[column] - self.row(from, row)[column]).abs(), self.instant(row))
        });
        each.filter(|(distance, _)| !distance.is_nan()).reduce(larger)
    }
}

/// The larger of two numbers with their instants, the earlier of equal ones.
fn larger(a: (f64, f64), b: (f64, f64)) -> (f64, f64) {
    if b.0 > a.0 { b } else { a }
}

fn run_itself(plan: Plan, system: &System, recorded: &Results, wish: &Wish<'_>) -> Result<Base, VerifyError> {
    let failed = |error| VerifyError::Failed(Rerun::Itself, VariantError::Run(error));
    let mut run = Run::new(plan, 1).map_err(failed)?;
    let mut look = (wish.watch)(Rerun::Itself);
    let layout = run.layout();
    let signals = signals(layout, system, recorded);
    let columns = run.columns();
    let unit = |(name, _): &(String, Signal)| {
        let column = columns.names.iter().position(|known| known == name);
        column.and_then(|column| columns.units.get(column)).cloned().unwrap_or_default()
    };
    let mut base = Base {
        controlled: layout.limits.control.adaptive,
        exact_end: layout.limits.end == EndRule::Exact,
        bonds: Vec::new(),
        units: signals.iter().map(unit).collect(),
        signals,
        recorded: recorded.clone(),
        instants: Vec::new(),
        kept: Vec::new(),
        values: Vec::new(),
        totals: Vec::new(),
    };
    let width = base.signals.len();
    let most = (KEPT / width.max(1)).clamp(INSTANTS.0, INSTANTS.1);
    let all: Vec<Option<Signal>> = base.signals.iter().map(|(_, signal)| Some(*signal)).collect();
    let mut every = 1;
    loop {
        let place = base.instants.len();
        base.instants.push(run.time().seconds());
        if place.is_multiple_of(every) || run.finished() {
            base.kept.push(place);
            read(&run, &all, &mut base.values);
        }
        if run.finished() {
            break;
        }
        if base.kept.len() > 2 * most {
            every *= 2;
            let rows: Vec<usize> =
                (0..base.kept.len()).filter(|row| base.kept[*row].is_multiple_of(every)).collect();
            base.values = rows.iter().flat_map(|row| base.row(&base.values, *row).to_vec()).collect();
            base.kept = rows.iter().map(|row| base.kept[*row]).collect();
        }
        run.step().map_err(failed)?;
        if !look(&run) {
            return Err(VerifyError::Interrupted);
        }
    }
    // Also those inside islands, and the lines between them.
    let bonds = run.summary().bonds;
    base.bonds = bonds.iter().map(|bond| ends(&bond.name, system, run.layout(), &base.signals)).collect();
    base.totals = bonds.iter().map(|bond| bond.totals).collect();
    Ok(base)
}

/// The outputs of the components that a bond joins. Those of islands and lines are not in the layout, only in the system.
fn ends(name: &str, system: &System, layout: &Layout, signals: &[(String, Signal)]) -> BondEnds {
    let ports = layout.ports();
    let owner = |path: &String| {
        let inside =
            |name: &String| path.strip_prefix(name.as_str()).is_some_and(|rest| rest.starts_with('.'));
        let owners = (0..layout.topology.names.len()).filter(|&k| inside(&layout.topology.names[k]));
        owners.max_by_key(|&k| layout.topology.names[k].len())
    };
    let joined: Vec<usize> = match layout.topology.bonds.iter().find(|bond| bond.name == name) {
        Some(bond) => bond.sides.iter().map(|side| ports.place(side.effort).0).collect(),
        None => {
            let bonds = system.bonds.iter().filter(|bond| bond.name == name);
            let junctions = system.junctions.iter().filter(|junction| junction.name == name);
            let sides = bonds.flat_map(|bond| [&bond.a, &bond.b]);
            let sides =
                sides.chain(junctions.flat_map(|junction| junction.sides.iter().map(|side| &side.port)));
            sides.filter_map(|side| owner(&side.effort.0)).collect()
        }
    };
    let of = |signal: &Signal| matches!(signal, Signal::Output(output) if joined.contains(&layout.topology.owners[*output]));
    let columns = (0..signals.len()).filter(|column| of(&signals[*column].1)).collect();
    BondEnds { name: name.into(), columns }
}

/// What a rerun gave, at the instants of the run.
struct Found {
    values: Vec<f64>,
    totals: Vec<BondTotals>,
}

/// How reruns follow the run.
struct Along<'a> {
    base: &'a Base,
    /// Steps of one size, which meet the instants by themselves.
    steady: bool,
    registry: &'a Registry,
    watch: &'a (dyn Fn(Rerun) -> Look + Sync),
}

type Outcome = Result<Found, VerifyError>;

/// All reruns, several at a time, each made on the thread it lives on.
fn all(
    along: &Along<'_>,
    reruns: &[(Rerun, System)],
    jobs: usize,
) -> Result<Vec<(Rerun, Outcome)>, VerifyError> {
    let (next, found) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    let work = || {
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some((which, system)) = reruns.get(place) else { return };
            let outcome = along.follow(*which, system);
            if matches!(outcome, Err(VerifyError::Interrupted)) {
                next.store(reruns.len(), Ordering::Relaxed);
            }
            found.lock().unwrap_or_else(PoisonError::into_inner).insert(place, (*which, outcome));
        }
    };
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..jobs.min(reruns.len())).map(|_| scope.spawn(work)).collect();
        work();
        drop(others); // joined by the scope
    });
    let found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    if found.len() < reruns.len()
        || found.values().any(|(_, outcome)| matches!(outcome, Err(VerifyError::Interrupted)))
    {
        return Err(VerifyError::Interrupted);
    }
    Ok(found.into_values().collect())
}

impl Along<'_> {
    fn follow(&self, which: Rerun, system: &System) -> Outcome {
        let failed = |error| VerifyError::Failed(which, error);
        let run = Run::new(planned(system, self.registry).map_err(failed)?, 1);
        let mut run = run.map_err(|error| failed(VariantError::Run(error)))?;
        let known = signals(run.layout(), system, &self.base.recorded);
        let place = |name: &String| known.iter().find(|(known, _)| known == name).map(|(_, signal)| *signal);
        let mut follower = Follower {
            signals: self.base.signals.iter().map(|(name, _)| place(name)).collect(),
            base: self.base,
            values: Vec::new(),
            row: 0,
            look: (self.watch)(which),
            which,
        };
        if self.steady {
            follower.by_itself(&mut run)?;
        } else {
            let parts = match which {
                Rerun::Half => 2,
                Rerun::Quarter => 4,
                Rerun::Itself | Rerun::OtherSequence | Rerun::Strong => 1,
            };
            follower.along(&mut run, parts)?;
        }
        // It may have ended before, where a scenario ends runs.
        follower.values.resize(self.base.kept.len() * self.base.signals.len(), f64::NAN);
        let totals = run.summary().bonds.iter().map(|bond| bond.totals).collect();
        Ok(Found { values: follower.values, totals })
    }
}

struct Follower<'a> {
    base: &'a Base,
    signals: Vec<Option<Signal>>,
    values: Vec<f64>,
    /// The next row of the base.
    row: usize,
    look: Look,
    which: Rerun,
}

impl Follower<'_> {
    fn step(&mut self, run: &mut Run) -> Result<(), VerifyError> {
        run.step().map_err(|error| VerifyError::Failed(self.which, VariantError::Run(error)))?;
        if (self.look)(run) { Ok(()) } else { Err(VerifyError::Interrupted) }
    }

    fn ended(&self, run: &Run) -> bool {
        self.row == self.base.kept.len() || (self.base.exact_end && run.finished())
    }

    /// Steps of one size; those of the run are multiples of them.
    fn by_itself(&mut self, run: &mut Run) -> Result<(), VerifyError> {
        loop {
            let (now, near) = (run.time().seconds(), MEETS * run.sizes().1);
            while self.base.kept.get(self.row).is_some_and(|at| self.base.instants[*at] < now - near) {
                self.values.extend(self.signals.iter().map(|_| f64::NAN));
                self.row += 1;
            }
            if self.base.kept.get(self.row).is_some_and(|at| self.base.instants[*at] <= now + near) {
                read(run, &self.signals, &mut self.values);
                self.row += 1;
            }
            if self.ended(run) {
                return Ok(());
            }
            self.step(run)?;
        }
    }

    /// Each step of the run in so many parts.
    fn along(&mut self, run: &mut Run, parts: u32) -> Result<(), VerifyError> {
        let instants = &self.base.instants;
        for (place, &to) in instants.iter().enumerate() {
            let from = instants[place.saturating_sub(1)];
            for part in 1..=parts {
                let aim =
                    if part == parts { to } else { from + (to - from) * f64::from(part) / f64::from(parts) };
                while aim - run.time().seconds() > MEETS * (to - from) {
                    run.set_next_size(aim - run.time().seconds());
                    self.step(run)?;
                }
            }
            if self.base.kept.get(self.row) == Some(&place) {
                read(run, &self.signals, &mut self.values);
                self.row += 1;
            }
            if self.ended(run) {
                break;
            }
        }
        Ok(())
    }
}

/// The run with three steps.
struct Three<'a> {
    base: &'a Base,
    half: &'a Found,
    quarter: &'a Found,
}

struct Estimated {
    largest: f64,
    differences: [f64; 2],
    order: Option<f64>,
    bar: f64,
    basis: Basis,
    at: f64,
}

impl Three<'_> {
    /// Rows that all three have.
    fn common(&self) -> impl Iterator<Item = usize> {
        let there =
            |values: &[f64], row: usize| self.base.row(values, row).first().is_none_or(|v| !v.is_nan());
        (0..self.base.kept.len())
            .filter(move |row| there(&self.half.values, *row) && there(&self.quarter.values, *row))
    }

    fn span(&self) -> (f64, f64) {
        let at = |row: Option<usize>| row.map_or(f64::NAN, |row| self.base.instant(row));
        (at(self.common().next()), at(self.common().last()))
    }

    fn values(&self, row: usize, column: usize) -> [f64; 3] {
        [&self.base.values, &self.half.values, &self.quarter.values]
            .map(|values| self.base.row(values, row)[column])
    }

    /// With y(h) = y + C h^p the differences of y(h), y(h/2) and y(h/4) have the ratio 2^p, and what is left of the last
    /// is (y(h/2) - y(h/4)) / (2^p - 1). The order is that of the largest differences, the error that at each instant.
    fn estimate(&self, column: usize) -> Estimated {
        let (mut largest, mut differences) = (0.0f64, [0.0f64; 2]);
        let mut apart = (0.0, f64::NAN);
        for row in self.common() {
            let [one, half, quarter] = self.values(row, column);
            largest = largest.max(one.abs()).max(quarter.abs());
            differences[0] = differences[0].max((one - half).abs());
            differences[1] = differences[1].max((half - quarter).abs());
            apart = larger(apart, ((one - half).abs().max((half - quarter).abs()), self.base.instant(row)));
        }
        let at = apart.1;
        let [first, second] = differences;
        if first <= ROUNDING * largest && second <= ROUNDING * largest {
            return Estimated { largest, differences, order: None, bar: first, basis: Basis::Exact, at };
        }
        let order = (first / second).log2();
        if order.is_nan() || order < LEAST_ORDER {
            let bar = DOUBT * first.max(second);
            return Estimated { largest, differences, order: Some(order), bar, basis: Basis::NoOrder, at };
        }
        let rest = 1.0 / (order.exp2() - 1.0);
        let left = |row: usize| {
            let [one, half, quarter] = self.values(row, column);
            ((one - quarter + rest * (half - quarter)).abs(), self.base.instant(row))
        };
        let (bar, at) = self.common().map(left).fold((0.0, at), larger);
        // Nothing but rounding is left with half the step: the order is beyond measure.
        let order = order.is_finite().then_some(order);
        Estimated { largest, differences, order, bar, basis: Basis::Richardson, at }
    }

    fn bond(
        &self,
        k: usize,
        bond: &BondEnds,
        judged: &[(Signal, Judged)],
        chosen: &[bool],
        wish: &Wish<'_>,
    ) -> BondJudged {
        let totals = [&self.base.totals, &self.half.totals, &self.quarter.totals].map(|totals| totals[k]);
        let summaries = totals.map(|totals| BondSummary::of(&bond.name, &totals, 0.0));
        let defects = [0, 1, 2].map(|run| summaries[run].share);
        let exchanged = totals.map(|totals| totals.exchanged);
        let relative = |column: &usize| (judged[*column].1.relative(wish.absolute), *column);
        let columns = bond.columns.iter().filter(|column| chosen[**column]);
        let worst = columns.map(relative).max_by(|a, b| a.0.total_cmp(&b.0));
        let (error, signal) =
            worst.map_or((0.0, None), |(error, column)| (error, Some(judged[column].1.name.clone())));
        let agreement = if vanishes(exchanged) || summaries[0].verdict() == Verdict::Unmeasured {
            Agreement::Nothing
        } else if signal.is_none() {
            Agreement::Agree
        } else if error > wish.tolerance && error > APART * defects[0] {
            Agreement::DefectSmall
        } else if summaries[0].verdict() == Verdict::Large && defects[0] > APART * error {
            Agreement::DefectLarge
        } else {
            Agreement::Agree
        };
        let order = (defects[0] / defects[2]).log2() / 2.0;
        let energy = judged.iter().find(|(signal, _)| *signal == Signal::Transmitted(k));
        BondJudged {
            name: bond.name.clone(),
            defects,
            order: order.is_finite().then_some(order),
            exchanged,
            transmitted: totals[0].transmitted,
            transmitted_bar: energy.map_or(f64::NAN, |(_, judged)| judged.bar),
            error,
            signal,
            agreement,
        }
    }
}

/// Whether three numbers, each with half the step of the one before, go to zero with it. An unstable run exchanges far too
/// much with the first, but has a limit.
fn vanishes([one, half, quarter]: [f64; 3]) -> bool {
    let (first, second) = (one - half, half - quarter);
    let order = (first / second).log2();
    let limit = quarter - second / (order.exp2() - 1.0);
    first > 0.0 && second > 0.0 && order >= LEAST_ORDER && limit <= VANISHES * quarter
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_to_zero_with_the_step_is_told_from_what_blows_up_without_it() {
        assert!(
            vanishes([4.0, 2.0, 1.0]) && vanishes([16.0, 4.0, 1.0]) && vanishes([0.3594, 0.1801, 0.09016])
        );
        // To 1, from above and from below, and from an explosion.
        assert!(!vanishes([1.4, 1.2, 1.1]) && !vanishes([0.6, 0.8, 0.9]) && !vanishes([1e10, 1e3, 1.0]));
        assert!(!vanishes([0.0; 3]) && !vanishes([1.0; 3]) && !vanishes([1.0, 2.0, 4.0]));
    }
}
