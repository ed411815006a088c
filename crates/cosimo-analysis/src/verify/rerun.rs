//! The runs of a verification: the given one, and reruns that are compared at its communication points.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use cosimo_core::{PowerVariable, Registry, Value};
use cosimo_engine::{BondTotals, Layout, Plan, Run, plan};
use cosimo_system::{Choice, EndRule, Exchange, MonolithicDecl, PerInput, Reject, Results, System};
use wildmatch::WildMatch;

use super::{Rerun, StepCallback, VerifyError, VerifyOptions};
use crate::variant::VariantError;

/// An instant is met that lies this part of a step away: times are rounded.
const MEETS: f64 = 1e-6;
/// Numbers kept of each run, and the fewest and most instants.
const KEPT: usize = 1 << 20;
const INSTANTS: (usize, usize) = (256, 4096);
/// Tolerances of the monolithic reference, where it is integrated.
const STRONG: [(&str, f64); 2] = [("relative", 1e-9), ("absolute", 1e-10)];

pub(super) fn planned(system: &System, registry: &Registry) -> Result<Plan, VariantError> {
    plan(system, registry).map_err(VariantError::Plan)
}

/// Steps of one size. Events part the instants of runs that do not follow each other; who takes steps of one size only
/// must not follow.
pub(super) fn is_steady(layout: &Layout) -> bool {
    let rigid = layout.topology.interfaces.iter().any(|interface| !interface.abilities.variable_step);
    !layout.limits.control.adaptive && (rigid || !layout.topology.eventful)
}

/// Refuses systems that cannot be run with smaller steps, such as FMUs with a fixed internal step.
pub(super) fn refuse(
    system: &System,
    layout: &Layout,
    steady: bool,
    registry: &Registry,
) -> Result<(), VerifyError> {
    if let Some(common) = system.methods.step.size.filter(|_| !layout.limits.control.adaptive) {
        for (name, interface) in layout.topology.names.iter().zip(&layout.topology.interfaces) {
            let Some(inside) = interface.internal_step else { continue };
            let own = system.components.iter().find(|component| component.name == *name);
            let own = own.and_then(|component| component.step.as_ref()).map(|(size, _)| *size);
            let size = own.map_or(common, |own| own.min(common));
            let ratio = size / 4.0 / inside;
            if (ratio - ratio.round()).abs() > MEETS * ratio || ratio < 1.0 - MEETS {
                return Err(VerifyError::Inside(name.clone(), inside, size));
            }
        }
    }
    for (which, parts) in [(Rerun::Half, 2), (Rerun::Quarter, 4)] {
        if steady {
            let finer = finer(system, parts, &[]);
            planned(&finer, registry).map_err(|error| VerifyError::Refused(which, error))?;
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
    let step = &mut finer.methods.step;
    if let [first, second, ..] = steps {
        step.size = Some((second - first) * share);
        step.reject = Reject::Never;
        finer.methods.controller = Choice::named("fixed");
    } else {
        for recipe in finer.method_configs_mut() {
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
fn together(mut whole: System) -> System {
    for component in &mut whole.components {
        component.step = None;
    }
    let recipe = &mut whole.methods;
    recipe.partition = Choice::named("jacobi");
    recipe.iteration = Choice::named("once");
    recipe.input = PerInput::all(Choice::named("hold"));
    recipe.correction = PerInput::all(Choice::named("none"));
    recipe.exchange = PerInput::all(Exchange::Stale);
    recipe.estimate = Choice::named("none");
    whole.monolithic = vec![MonolithicDecl {
        name: "whole".into(),
        components: whole.components.iter().map(|component| (component.name.clone(), 0..0)).collect(),
        options: STRONG.iter().map(|(name, value)| ((*name).into(), Value::Number(*value), 0..0)).collect(),
        span: 0..0,
    }];
    whole
}

/// Where a number of a run comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SignalSource {
    Output(usize),
    Input(usize),
    /// Energy that a bond transmitted so far.
    Transmitted(usize),
}

/// All outputs, inputs that the results name, and what bonds transmit.
fn signals(layout: &Layout, system: &System, recorded: &Results) -> Vec<(String, SignalSource)> {
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
        .map(|output| (ports.path(PowerVariable::Output(output)), SignalSource::Output(output)));
    let inputs = (0..layout.topology.shape.inputs)
        .map(|input| (ports.path(PowerVariable::Input(input)), SignalSource::Input(input)))
        .filter(|(name, _)| patterns.iter().any(|pattern| pattern.matches(name)));
    let bonds = layout.topology.bonds.iter().enumerate();
    let bonds = bonds
        .map(|(k, bond)| (format!("bond.{}.transmitted_energy", bond.name), SignalSource::Transmitted(k)));
    outputs.chain(inputs).chain(bonds).collect()
}

/// Adds a row; what the run does not have is no number.
fn read(run: &Run, signals: &[Option<SignalSource>], into: &mut Vec<f64>) {
    into.extend(signals.iter().map(|signal| match signal {
        Some(SignalSource::Output(output)) => run.outputs()[*output],
        Some(SignalSource::Input(input)) => run.layout().topology.couplings.value(*input, run.outputs()),
        Some(SignalSource::Transmitted(bond)) => run.ledger().totals[*bond].transmitted,
        None => f64::NAN,
    }));
}

/// The run as the system says.
pub(super) struct Base {
    pub(super) controlled: bool,
    /// There is only one simulator.
    pub(super) single: bool,
    pub(super) exact_end: bool,
    pub(super) signals: Vec<(String, SignalSource)>,
    pub(super) units: Vec<String>,
    pub(super) bonds: Vec<BondEnds>,
    pub(super) recorded: Results,
    /// All communication points.
    pub(super) instants: Vec<f64>,
    /// Those at which values are kept, and these, row by row.
    pub(super) kept: Vec<usize>,
    pub(super) values: Vec<f64>,
    pub(super) totals: Vec<BondTotals>,
}

pub(super) struct BondEnds {
    pub(super) name: String,
    /// Columns of the outputs of the components that it joins.
    pub(super) columns: Vec<usize>,
}

impl Base {
    pub(super) fn kept_instants(&self) -> Vec<f64> {
        self.kept.iter().map(|instant| self.instants[*instant]).collect()
    }

    /// The columns of a table that are signals, in their order.
    pub(super) fn columns_of(&self, (names, rows): &(Vec<String>, Vec<Vec<f64>>)) -> Vec<f64> {
        let places: Vec<Option<usize>> =
            self.signals.iter().map(|(name, _)| names.iter().position(|known| known == name)).collect();
        let value = |row: &Vec<f64>, place: &Option<usize>| place.map_or(f64::NAN, |place| row[place]);
        rows.iter().flat_map(|row| places.iter().map(move |place| value(row, place))).collect()
    }

    pub(super) fn row<'a>(&self, values: &'a [f64], row: usize) -> &'a [f64] {
        &values[row * self.signals.len()..(row + 1) * self.signals.len()]
    }

    pub(super) fn instant(&self, row: usize) -> f64 {
        self.instants[self.kept[row]]
    }

    /// The largest distance of a column from another, where both have numbers, and its instant.
    pub(super) fn distance(&self, column: usize, from: &[f64]) -> Option<(f64, f64)> {
        let rows = 0..self.kept.len();
        let each = rows.map(|row| {
            ((self.row(&self.values, row)[column] - self.row(from, row)[column]).abs(), self.instant(row))
        });
        each.filter(|(distance, _)| !distance.is_nan()).reduce(larger)
    }
}

/// The larger of two numbers with their instants, the earlier of equal ones.
pub(super) fn larger(a: (f64, f64), b: (f64, f64)) -> (f64, f64) {
    if b.0 > a.0 { b } else { a }
}

pub(super) fn run_itself(
    plan: Plan,
    system: &System,
    recorded: &Results,
    wish: &VerifyOptions<'_>,
) -> Result<Base, VerifyError> {
    let failed = |error| VerifyError::Failed(Rerun::Itself, VariantError::Run(error));
    let mut run = Run::new(plan, 1).map_err(failed)?;
    let mut look = (wish.watch)(Rerun::Itself);
    let layout = run.layout();
    let signals = signals(layout, system, recorded);
    let columns = run.columns();
    let unit = |(name, _): &(String, SignalSource)| {
        let column = columns.names.iter().position(|known| known == name);
        column.and_then(|column| columns.units.get(column)).cloned().unwrap_or_default()
    };
    let mut base = Base {
        controlled: layout.limits.control.adaptive,
        single: layout.topology.names.len() == 1,
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
    let all: Vec<Option<SignalSource>> = base.signals.iter().map(|(_, signal)| Some(*signal)).collect();
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
fn ends(name: &str, system: &System, layout: &Layout, signals: &[(String, SignalSource)]) -> BondEnds {
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
    let of = |signal: &SignalSource| matches!(signal, SignalSource::Output(output) if joined.contains(&layout.topology.owners[*output]));
    let columns = (0..signals.len()).filter(|column| of(&signals[*column].1)).collect();
    BondEnds { name: name.into(), columns }
}

/// What a rerun gave, at the instants of the run.
pub(super) struct RerunValues {
    pub(super) values: Vec<f64>,
    pub(super) totals: Vec<BondTotals>,
}

/// How reruns follow the run.
pub(super) struct RerunContext<'a> {
    pub(super) base: &'a Base,
    /// Steps of one size, which meet the instants by themselves.
    pub(super) steady: bool,
    pub(super) registry: &'a Registry,
    pub(super) watch: &'a (dyn Fn(Rerun) -> StepCallback + Sync),
}

type RerunResult = Result<RerunValues, VerifyError>;

/// What the reruns gave, or for those beside smaller steps why there is nothing.
pub(super) struct Reruns {
    pub(super) half: RerunValues,
    pub(super) quarter: RerunValues,
    /// With the partition that it has.
    pub(super) sequence: Result<(&'static str, RerunValues), String>,
    pub(super) monolithic: Result<RerunValues, String>,
}

impl RerunContext<'_> {
    /// Plans all reruns and runs those that can be.
    pub(super) fn reruns(&self, system: &System, strong: bool, jobs: usize) -> Result<Reruns, VerifyError> {
        let steps: &[f64] = if self.steady { &[] } else { &self.base.instants };
        let mut reruns =
            vec![(Rerun::Quarter, finer(system, 4, steps)), (Rerun::Half, finer(system, 2, steps))];
        let other = if system.methods.partition.name == "jacobi" { "gauss-seidel" } else { "jacobi" };
        let alone = if system.bonds.iter().any(|bond| bond.line.is_some()) {
            Some("lines divide the system into islands")
        } else {
            self.base.single.then_some("there is only one simulator")
        };
        let mut add = |which: Rerun, change: &dyn Fn(System) -> System| {
            if let Some(reason) = alone {
                return Err(reason.to_owned());
            }
            let changed = change(finer(system, 1, steps));
            planned(&changed, self.registry).map_err(|error| error.coded())?;
            reruns.push((which, changed));
            Ok(())
        };
        let sequence = add(Rerun::OtherSequence, &|mut changed| {
            changed.methods.partition = Choice::named(other);
            changed
        });
        let strong = if strong { add(Rerun::Strong, &together) } else { Err(String::new()) };
        let mut found = self.all(&reruns, jobs)?;
        let mut take = |which: Rerun| found.remove(&which).unwrap_or(Err(VerifyError::Interrupted));
        let (half, quarter) = (take(Rerun::Half), take(Rerun::Quarter));
        let (half, quarter) = (half?, quarter?);
        // What fails beside the run itself says nothing against it.
        let mut beside = |which: Rerun| take(which).map_err(|error| error.coded());
        let sequence = sequence.and_then(|()| Ok((other, beside(Rerun::OtherSequence)?)));
        let strong = strong.and_then(|()| beside(Rerun::Strong));
        Ok(Reruns { half, quarter, sequence, monolithic: strong })
    }

    /// All reruns, several at a time, each made on the thread it lives on.
    fn all(
        &self,
        reruns: &[(Rerun, System)],
        jobs: usize,
    ) -> Result<BTreeMap<Rerun, RerunResult>, VerifyError> {
        let (next, found) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
        let work = || {
            while let Some((which, system)) = reruns.get(next.fetch_add(1, Ordering::Relaxed)) {
                let outcome = self.follow(*which, system);
                if matches!(outcome, Err(VerifyError::Interrupted)) {
                    next.store(reruns.len(), Ordering::Relaxed);
                }
                found.lock().unwrap_or_else(PoisonError::into_inner).insert(*which, outcome);
            }
        };
        std::thread::scope(|scope| {
            let others: Vec<_> = (1..jobs.min(reruns.len())).map(|_| scope.spawn(work)).collect();
            work();
            drop(others); // joined by the scope
        });
        let found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
        let interrupted = |outcome: &RerunResult| matches!(outcome, Err(VerifyError::Interrupted));
        if found.len() < reruns.len() || found.values().any(interrupted) {
            return Err(VerifyError::Interrupted);
        }
        Ok(found)
    }

    fn follow(&self, which: Rerun, system: &System) -> RerunResult {
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
        Ok(RerunValues { values: follower.values, totals })
    }
}

struct Follower<'a> {
    base: &'a Base,
    signals: Vec<Option<SignalSource>>,
    values: Vec<f64>,
    /// The next row of the base.
    row: usize,
    look: StepCallback,
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
