//! Wu 2018 (thesis on extrapolation and causality in co-simulation): stability and errors of the dual mass (A2, A3),
//! residual power against state error (A4), soft and stiff interfaces (A5), extrapolation by causality (A6), and the
//! electric power steering in four cuts (A7).
//!
//! Every number comes from the engine's own methods and probing, with the misprints of the thesis put right: quadratic
//! extrapolation ends at 3, -3, 1 where (3.13) to (3.16) print 5/2, -2, 1/2. Only `literal` does what the listing of the
//! thesis does, to find the printed correlations again.

use std::path::Path;

use cosimo_analysis::{correlation, order, stability};
use cosimo_core::registry::{OpenRequest, Registry, Value};
use cosimo_core::{Inputs, Outputs, Segment, Simulator, Time, Window};
use cosimo_engine::history::History;
use cosimo_engine::{Run, RunError};
use cosimo_system::{Choice, EndRule, PerInput, System};

use super::setup::{Changes, apply, constant, planned, read, step};
use super::{Cell, ReproduceError, RowResult};

const DUAL_MASS: &str = include_str!("../../../examples/dual-mass/system.toml");
const STEERING: [&str; 4] = [
    include_str!("../../../examples/epas/case-1.toml"),
    include_str!("../../../examples/epas/case-2.toml"),
    include_str!("../../../examples/epas/case-3.toml"),
    include_str!("../../../examples/epas/case-4.toml"),
];

/// Steps of 10 s for the orders of A3.
pub(super) const STEPS: [f64; 6] = [1000.0, 1600.0, 2500.0, 4000.0, 6400.0, 10000.0];
/// The macro step of A4 and A5, and the end of their runs.
const STEP: f64 = 0.01;
const SHORT: f64 = 3.0;
/// The end of the runs of A3 and A6.
pub(super) const LONG: f64 = 10.0;
/// Where limits of stability are looked for.
const LIMITS: [f64; 2] = [0.01, 3.0];
/// The inner step of the steering.
const INNER: f64 = 1e-4;
/// A rack this fast has left the car.
const LOST: f64 = 10.0;

const ONES: [f64; 4] = [1.0; 4];
const GENERAL: [f64; 4] = [1.0, 0.0, 0.0, 0.0];

/// The chapters that rows belong to.
pub fn tables() -> Vec<&'static str> {
    vec!["A2", "A3", "A4", "A5", "A6", "A7"]
}

/// Measures all cells of one row.
pub fn measure(row: &str, cells: &[Cell], changes: &Changes, registry: &Registry) -> RowResult {
    let failed = |message: String| ReproduceError::Row { row: row.into(), message };
    let bench = Bench { changes, registry };
    let quantities: Vec<&str> = cells.iter().map(Cell::quantity).collect();
    let parts: Vec<&str> = row.split('/').collect();
    match parts[..] {
        ["A2", set, scheme] => quantities.iter().map(|method| bench.limit(set, scheme, method)).collect(),
        ["A2", set, scheme, method] => bench.radii(set, scheme, method, &quantities),
        ["A3", start, method] => bench.orders(start, method, &quantities),
        ["A4", form, set, degree] => bench.correlations(form == "literal", set, degree, &quantities),
        ["A5", ..] => quantities.iter().map(|changed| bench.relative_error(changed)).collect(),
        ["A6", _, method] => quantities.iter().map(|size| bench.unit_error(method, size)).collect(),
        ["A7", rule, case] => {
            quantities.iter().map(|quantity| bench.steering(rule, case, quantity)).collect()
        }
        _ => Err("no such row".into()),
    }
    .map_err(failed)
}

/// x1, v1, x2, v2 and f at all communication points, of a run and of the monolithic reference.
pub(super) struct Trajectory {
    pub(super) times: Vec<f64>,
    pub(super) run: Vec<Vec<f64>>,
    pub(super) truth: Vec<Vec<f64>>,
}

impl Trajectory {
    /// Errors of one column.
    pub(super) fn errors(&self, column: usize) -> Vec<f64> {
        self.run.iter().zip(&self.truth).map(|(run, truth)| run[column] - truth[column]).collect()
    }

    fn states(&self) -> impl Iterator<Item = f64> {
        (0..4).flat_map(|column| self.errors(column))
    }
}

pub(super) struct Bench<'a> {
    pub(super) changes: &'a Changes,
    pub(super) registry: &'a Registry,
}

/// A row of the dual mass.
#[derive(Clone, Copy)]
pub(super) struct Dual<'a> {
    /// Parameters as `name=value`.
    pub(super) set: &'a [&'a str],
    pub(super) start: [f64; 4],
    pub(super) scheme: &'a str,
    pub(super) method: &'a str,
    pub(super) size: f64,
    pub(super) stop: f64,
}

/// Tables 3.1, 6.1 ("proper") and 6.2 ("improper") of the thesis; the first are the models' defaults.
pub(super) fn parameters(set: &str) -> &'static [&'static str] {
    match set {
        "SET3" | "proper" => &["m2=450"],
        "SET4" | "improper" => &["m2=50", "kc=130", "dc=130"],
        _ => &[],
    }
}

impl Bench<'_> {
    fn limit(&self, set: &str, scheme: &str, method: &str) -> Result<f64, String> {
        let mut run = self.probed(parameters(set), scheme, method)?;
        stability::neutral(&mut run, LIMITS[0], LIMITS[1]).map_err(|error| error.to_string())
    }

    fn radii(&self, set: &str, scheme: &str, method: &str, quantities: &[&str]) -> Result<Vec<f64>, String> {
        let mut run = self.probed(parameters(set), scheme, method)?;
        let radius = |quantity: &&str| {
            let size = self.changes.step.map_or_else(|| number(quantity, "radius H="), Ok)?;
            let found = stability::radius(&mut run, size).map_err(|error| error.to_string())?;
            Ok(found.radius)
        };
        quantities.iter().map(radius).collect()
    }

    /// A run with a history, ready to be probed.
    pub(super) fn probed(&self, set: &[&str], scheme: &str, method: &str) -> Result<Run, String> {
        let dual = Dual { set, start: GENERAL, scheme, method, size: STEP, stop: LONG };
        let mut run = self.start(&self.system(&dual)?, false)?;
        for _ in 0..4 {
            step(&mut run)?;
        }
        Ok(run)
    }

    fn orders(&self, start: &str, method: &str, quantities: &[&str]) -> Result<Vec<f64>, String> {
        let start = if start == "ones" { ONES } else { GENERAL };
        let errors = self.largest_errors(start, method)?;
        let sizes = STEPS.map(|steps| LONG / steps);
        let value = |quantity: &&str| match *quantity {
            "slope" => order::slope(&sizes, &errors),
            _ => errors[0],
        };
        Ok(quantities.iter().map(value).collect())
    }

    /// The largest error of x1, for all sizes of A3.
    pub(super) fn largest_errors(&self, start: [f64; 4], method: &str) -> Result<Vec<f64>, String> {
        let largest = |steps: f64| {
            let dual = Dual { set: &[], start, scheme: "stale", method, size: LONG / steps, stop: LONG };
            let errors = self.trajectory(&dual)?.errors(0);
            Ok(errors.into_iter().map(f64::abs).fold(0.0, f64::max))
        };
        STEPS.into_iter().map(largest).collect()
    }

    fn correlations(
        &self,
        literal: bool,
        set: &str,
        degree: &str,
        quantities: &[&str],
    ) -> Result<Vec<f64>, String> {
        let (powers, errors) = self.powers_and_errors(literal, set, degree)?;
        let value = |quantity: &&str| {
            let errors: Vec<f64> = match *quantity {
                "x1" => errors.iter().map(|errors| errors[0]).collect(),
                "x2" => errors.iter().map(|errors| errors[2]).collect(),
                _ => errors.iter().map(|errors| errors.iter().sum()).collect(),
            };
            correlation::pearson(&powers, &errors)
        };
        Ok(quantities.iter().map(value).collect())
    }

    /// |P| of the held samples, as in the listing behind (6.16) to (6.21), and |e| of the four states.
    pub(super) fn powers_and_errors(
        &self,
        literal: bool,
        set: &str,
        degree: &str,
    ) -> Result<(Vec<f64>, Vec<[f64; 4]>), String> {
        let method = ["constant", "linear", "quadratic"]
            .into_iter()
            .nth(degree.parse().unwrap_or(0))
            .ok_or("the degree is 0, 1 or 2")?;
        let size = self.changes.step.unwrap_or(STEP);
        let dual = Dual { set: parameters(set), start: ONES, scheme: "stale", method, size, stop: SHORT };
        let trajectory = if literal { self.literal(&dual)? } else { self.trajectory(&dual)? };
        let (v2, f) = (3, 4);
        // P = u1 . y1 - y2 . u2 with the inputs of the step's start and the outputs of its end; none at the start.
        let power = |pair: &[Vec<f64>]| (pair[0][v2] * pair[1][f] - pair[1][v2] * pair[0][f]).abs();
        let powers = std::iter::once(0.0).chain(trajectory.run.windows(2).map(power)).collect();
        let columns: [Vec<f64>; 4] = std::array::from_fn(|column| trajectory.errors(column));
        let errors =
            (0..trajectory.times.len()).map(|n| std::array::from_fn(|k| columns[k][n].abs())).collect();
        Ok((powers, errors))
    }

    /// The error of all states over the states, in the norm of Frobenius, for constant extrapolation.
    fn relative_error(&self, changed: &str) -> Result<f64, String> {
        let sets: Vec<String> = match changed.strip_prefix("kc=dc=") {
            Some(value) => vec![format!("kc={value}"), format!("dc={value}")],
            None => vec![changed.to_owned()],
        };
        let set: Vec<&str> = sets.iter().map(String::as_str).collect();
        let size = self.changes.step.unwrap_or(STEP);
        let dual = Dual { set: &set, start: GENERAL, scheme: "stale", method: "constant", size, stop: SHORT };
        let trajectory = self.trajectory(&dual)?;
        let squares = |values: &mut dyn Iterator<Item = f64>| values.map(|value| value * value).sum::<f64>();
        let states = &mut trajectory.truth.iter().flat_map(|row| row[..4].iter().copied());
        Ok((squares(&mut trajectory.states()) / squares(states)).sqrt())
    }

    /// The root of the mean square over all samples, all states and four starts, each with one state at 1.
    fn unit_error(&self, method: &str, size: &str) -> Result<f64, String> {
        let size = self.changes.step.map_or_else(|| number(size, "H="), Ok)?;
        let (mut sum, mut count) = (0.0, 0.0);
        for state in 0..4 {
            let start = std::array::from_fn(|k| if k == state { 1.0 } else { 0.0 });
            let dual = Dual { set: &[], start, scheme: "stale", method, size, stop: LONG };
            for error in self.trajectory(&dual)?.states() {
                sum += error * error;
                count += 1.0;
            }
        }
        Ok((sum / count).sqrt())
    }

    fn steering(&self, rule: &str, case: &str, quantity: &str) -> Result<f64, String> {
        let (quantity, size) = quantity.split_once(' ').ok_or("a quantity has a step size")?;
        let size = self
            .changes
            .step
            .map_or_else(|| number(size.trim_end_matches("ms"), "").map(|ms| ms / 1e3), Ok)?;
        let linear = quantity == "radius";
        let system = self.steered(rule, case, size, linear)?;
        let mut run = self.start(&system, false)?;
        if !linear {
            return lost(&mut run, size);
        }
        step(&mut run)?;
        stability::radius(&mut run, size).map(|found| found.radius).map_err(|error| error.to_string())
    }

    /// A cut of the steering; `linear` leaves out friction, saturation and the driver's wish.
    pub(super) fn steered(&self, rule: &str, case: &str, size: f64, linear: bool) -> Result<System, String> {
        let cases = ["I", "II", "III", "IV"];
        let place = cases.iter().position(|known| *known == case).ok_or("cases are I, II, III and IV")?;
        let mut system = read(STEERING[place], self.registry)?;
        if rule == "held" {
            system.methods.input = PerInput::all(Choice::named("hold"));
        }
        let inner = format!("micro_steps={}", (size / INNER).round().max(1.0));
        let mut sets = vec![inner.as_str()];
        if linear {
            sets.extend(["friction=false", "saturation=false", "amplitude=0"]);
        }
        constant(&mut system, size);
        self.set(&mut system, &sets)?;
        Ok(system)
    }

    /// The dual mass as a row wants it.
    fn system(&self, dual: &Dual<'_>) -> Result<System, String> {
        let mut system = read(DUAL_MASS, self.registry)?;
        system.experiment.history = None;
        system.experiment.stop = dual.stop;
        system.experiment.end = EndRule::After;
        let mut words = dual.scheme.split(' ');
        let fresh = words.next() == Some("fresh");
        let solver = match words.next() {
            Some("fe") => Some("euler"),
            Some("fe-end") => Some("euler-end"),
            _ => None,
        };
        let start: Vec<String> = ["x10", "v10", "x20", "v20"]
            .iter()
            .zip(dual.start)
            .map(|(name, value)| format!("{name}={value:?}"))
            .collect();
        let solver = solver.map(|solver| format!("solver=\"{solver}\""));
        let mut sets: Vec<&str> = start.iter().map(String::as_str).chain(dual.set.iter().copied()).collect();
        if let Some(solver) = &solver {
            sets.extend([solver.as_str(), "micro_steps=1"]);
        }
        system.methods.input = PerInput::all(input(dual.method));
        if fresh {
            system.methods.exchange = PerInput::all(cosimo_system::Exchange::Fresh);
        }
        constant(&mut system, dual.size);
        self.set(&mut system, &sets)?;
        Ok(system)
    }

    /// Parameters of the row, and then those of the caller.
    fn set(&self, system: &mut System, sets: &[&str]) -> Result<(), String> {
        let sets: Vec<String> =
            sets.iter().map(|set| (*set).to_owned()).chain(self.changes.sets.clone()).collect();
        apply(system, &Changes { sets, fmus: self.changes.fmus.clone(), ..Changes::default() }, self.registry)
    }

    fn start(&self, system: &System, history: bool) -> Result<Run, String> {
        let mut plan = planned(system, self.registry)?;
        if history {
            plan.layout.limits.history = self.before(system, &plan.layout)?;
        }
        Run::new(plan.rewinding(), 1).map_err(|error| error.text_with_code())
    }

    /// What the monolithic reference did before the start.
    fn before(&self, system: &System, layout: &cosimo_engine::Layout) -> Result<History, String> {
        let size = system.methods.step.size.unwrap_or(STEP);
        let times: Vec<f64> = [-2.0, -1.0].map(|n| n * size).to_vec();
        let solution = cosimo::reference::solve(system, &times, self.registry)?;
        let ports = layout.ports();
        let mut values = vec![vec![f64::NAN; layout.topology.shape.outputs]; times.len()];
        for (column, name) in solution.names.iter().enumerate() {
            let output = ports.output(name, &(0..0)).map_err(|_| format!("there is no output `{name}`"))?;
            for (values, row) in values.iter_mut().zip(&solution.rows) {
                values[output] = row[column];
            }
        }
        Ok(History { times: times.into_iter().filter_map(Time::new).collect(), values })
    }

    pub(super) fn trajectory(&self, dual: &Dual<'_>) -> Result<Trajectory, String> {
        let system = self.system(dual)?;
        let mut run = self.start(&system, true)?;
        let (mut times, mut rows) = (Vec::new(), Vec::new());
        loop {
            let shown = ["left.x", "left.v", "right.x", "right.v", "left.f"].map(|path| run.output(path));
            times.push(run.time().seconds());
            rows.push(shown.into_iter().flatten().collect());
            if run.finished() {
                break;
            }
            step(&mut run)?;
        }
        let truth = self.monolithic(&system, &times)?;
        Ok(Trajectory { times, run: rows, truth })
    }

    fn monolithic(&self, system: &System, times: &[f64]) -> Result<Vec<Vec<f64>>, String> {
        let reference = cosimo::reference::Reference::of(system, self.registry)?;
        reference.columns(times)
    }

    /// What the listing in the appendix of the thesis does, as printed: steps before there are enough samples hold
    /// their inputs, quadratic ones for two steps, and the force takes the extrapolated motion with the coefficients
    /// 5/2, -2, 1/2 where 3, -3, 1 would be right. Not a method of Cosimo: for the printed correlations only.
    fn literal(&self, dual: &Dual<'_>) -> Result<Trajectory, String> {
        let system = self.system(dual)?;
        let [kc, dc] = ["kc", "dc"].map(|name| {
            let given = system.components[0].parameters.iter().find(|(known, ..)| known == name);
            given.and_then(|(_, value, _)| if let Value::Number(value) = value { Some(*value) } else { None })
        });
        let (kc, dc) = kc.zip(dc).ok_or("the coupling has a stiffness and a damping")?;
        let mut bodies = Vec::new();
        for component in &system.components {
            bodies.push(open(component, self.registry)?);
        }
        let degree =
            ["constant", "linear", "quadratic"].iter().position(|name| *name == dual.method).unwrap_or(0);
        let force = |own: &[f64], x2: f64, v2: f64| kc * (own[0] - x2) + dc * (own[1] - v2);
        let [x1, v1, x2, v2] = dual.start;
        let mut rows = vec![vec![x1, v1, x2, v2, force(&[x1, v1], x2, v2)]];
        let steps = (dual.stop / dual.size).round() as usize;
        for n in 0..steps {
            let looks = if n >= degree { degree } else { 0 };
            let sample =
                |column: usize| -> [f64; 3] { std::array::from_fn(|j| rows[n - j.min(looks)][column]) };
            let through = |column: usize| curve(sample(column), looks, dual.size);
            let end = |column: usize| {
                let [now, before, earlier] = sample(column);
                match looks {
                    0 => now,
                    1 => 2.0 * now - before,
                    _ => 2.5 * now - 2.0 * before + 0.5 * earlier,
                }
            };
            let left = advance(&mut *bodies[0], n, dual.size, &[through(2), through(3)])?;
            let right = advance(&mut *bodies[1], n, dual.size, &[through(4)])?;
            // Outputs are f, x, v on the left and v, x on the right.
            let (x1, v1, x2, v2) = (left[1], left[2], right[1], right[0]);
            let row = vec![x1, v1, x2, v2, force(&[x1, v1], end(2), end(3))];
            rows.push(row);
        }
        let times: Vec<f64> = (0..=steps).map(|n| n as f64 * dual.size).collect();
        let truth = self.monolithic(&system, &times)?;
        Ok(Trajectory { times, run: rows, truth })
    }
}

/// The input approximation that the thesis calls so. (k, j) are the degrees of the input that passes through to the
/// force and of the force itself, Definition 7.2.1.
fn input(method: &str) -> Choice {
    let causal = |through: &str, integrated: &str| {
        Choice::named("causal")
            .with("through", Value::Text(through.into()))
            .with("integrated", Value::Text(integrated.into()))
    };
    match method {
        "constant" => Choice::named("hold"),
        "causality" => causal("1", "0"),
        "reverse" => causal("0", "1"),
        other => Choice::named(other),
    }
}

fn number(text: &str, mark: &str) -> Result<f64, String> {
    let number = text.strip_prefix(mark).and_then(|number| number.parse().ok());
    number.ok_or_else(|| format!("`{text}` has no number"))
}

/// The end of the first inner step at which the rack is lost. Inner steps are parts of the window from its start:
/// neither held inputs nor those that go on by their slope look at its end.
fn lost(run: &mut Run, size: f64) -> Result<f64, String> {
    let place = rack_speed(run)?;
    let inner = (size / INNER).round() as usize;
    let mut cells = vec![0.0; run.island().cells()];
    while !run.finished() {
        let start = run.time().seconds();
        for k in 1..=inner {
            let part = k as f64 / inner as f64 * size;
            run.island()
                .map(part, None, &mut cells)
                .map_err(|error| RunError::from(error).text_with_code())?;
            if cells[place].abs() >= LOST {
                return Ok(start + part);
            }
        }
        step(run)?;
    }
    Ok(f64::INFINITY)
}

/// Which state is the speed of the rack: the fourth of the part that has it.
fn rack_speed(run: &Run) -> Result<usize, String> {
    let mut before = 0;
    for interface in &run.layout().topology.interfaces {
        let named = |name: &str| interface.outputs.iter().any(|port| port.name == name);
        if named("vR") {
            return Ok(before + 3);
        }
        before += if named("xw") { 4 } else { 2 };
    }
    Err("no component has the speed of the rack as an output".into())
}

fn open(component: &cosimo_system::Component, registry: &Registry) -> Result<Box<dyn Simulator>, String> {
    let kind = registry.source(&component.source);
    let kind = kind.ok_or_else(|| format!("nothing can open `{}`", component.source))?;
    let parameters: Vec<(String, Value)> =
        component.parameters.iter().map(|(name, value, _)| (name.clone(), value.clone())).collect();
    let request = OpenRequest {
        name: &component.name,
        source: &component.source,
        folder: Path::new("."),
        parameters: &parameters,
        joined: false,
    };
    kind.open(&request).map_err(|problems| {
        problems.into_iter().map(|problem| problem.message).collect::<Vec<_>>().join("; ")
    })
}

/// The polynomial of the given degree through the newest samples, one `size` apart (3.12).
fn curve([now, before, earlier]: [f64; 3], degree: usize, size: f64) -> Segment {
    match degree {
        0 => Segment::constant(now),
        1 => Segment::line(now, (now - before) / size),
        _ => Segment([
            now,
            (1.5 * now - 2.0 * before + 0.5 * earlier) / size,
            (0.5 * now - before + 0.5 * earlier) / (size * size),
            0.0,
        ]),
    }
}

fn advance(body: &mut dyn Simulator, n: usize, size: f64, segments: &[Segment]) -> Result<Vec<f64>, String> {
    let [from, to] = [n, n + 1].map(|n| Time::new(n as f64 * size).unwrap_or(Time::ZERO));
    let mut values = vec![0.0; body.interface().outputs.len()];
    let window = Window { from, to, size };
    let mut out = Outputs { values: &mut values, slopes: &mut [] };
    body.do_step_and_get_outputs(window, &Inputs::of(segments), &mut out)
        .map_err(|error| error.to_string())?;
    Ok(values)
}
