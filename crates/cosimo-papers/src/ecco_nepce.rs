//! Sadjina et al. 2017 (ECCO, "003"), Tables III to XII and Sec. IV C; Sadjina & Pedersen 2019 (NEPCE, "000"),
//! Tables 4 to 9: the quarter car under constant steps, ECCO, predictor/corrector and NEPCE.
//!
//! A row is a file of `systems/quarter-car` with methods and micro steps replaced, as on the command line. The settings of a table
//! are in `TABLES`; those of a row are read from its id, as in `NEPCE mod. a=0.95 r=1.6e-06`.

use cosimo_core::math;
use cosimo_core::registry::{Registry, Value};
use cosimo_engine::plan;
use cosimo_system::{Choice, EndRule, PerInput, Problem, System};

use super::setup::{apply, constant, read, reference, started, step};
use super::{Cell, ReproduceError, RowResult};

pub use super::setup::Changes;

const FILES: [[&str; 2]; 2] = [
    [
        include_str!("../systems/quarter-car/reticulation-1.toml"),
        include_str!("../systems/quarter-car/reticulation-1-nonlinear.toml"),
    ],
    [
        include_str!("../systems/quarter-car/system.toml"),
        include_str!("../systems/quarter-car/reticulation-2-nonlinear.toml"),
    ],
];

/// What the rows of one table share.
struct TableSetup {
    id: &'static str,
    reticulation: usize,
    nonlinear: bool,
    /// Micro steps of chassis and wheel.
    micro_steps: [f64; 2],
    controller: &'static str,
    min: f64,
    max: f64,
    /// Powers and energies are printed in this many watts and joules.
    unit: f64,
}

const fn ecco(id: &'static str, reticulation: usize, nonlinear: bool, micro_steps: [f64; 2]) -> TableSetup {
    let unit = if reticulation == 1 { 1.0 } else { 100.0 };
    TableSetup { id, reticulation, nonlinear, micro_steps, controller: "pi", min: 1e-4, max: 1e-2, unit }
}

const fn nepce(id: &'static str, reticulation: usize, nonlinear: bool, max: f64) -> TableSetup {
    TableSetup {
        micro_steps: [256.0; 2],
        controller: "i",
        min: 1e-5,
        max,
        ..ecco(id, reticulation, nonlinear, [0.0; 2])
    }
}

const TABLES: &[TableSetup] = &[
    ecco("003/III", 1, false, [10.0, 10.0]),
    ecco("003/V", 1, true, [10.0, 10.0]),
    ecco("003/VI", 2, false, [10.0, 10.0]),
    ecco("003/VII", 2, true, [10.0, 10.0]),
    ecco("003/VIII", 2, false, [10.0, 1.0]),
    ecco("003/IX", 1, false, [10.0, 10.0]),
    ecco("003/X", 1, true, [10.0, 10.0]),
    ecco("003/XI", 2, false, [10.0, 10.0]),
    ecco("003/XII", 2, true, [10.0, 10.0]),
    nepce("000/4", 1, false, 1e-2),
    nepce("000/5", 2, false, 1e-2),
    nepce("000/6", 1, false, 1e-2),
    nepce("000/7", 2, false, 1e-2),
    nepce("000/8", 1, true, 1e-2),
    nepce("000/9", 2, true, 2.5e-3),
];

/// The papers' constant step.
const CONSTANT_STEP: f64 = 1e-3;

/// The tables that rows belong to.
pub fn tables() -> Vec<&'static str> {
    TABLES.iter().map(|table| table.id).chain(["003/instability"]).collect()
}

/// Measures all cells of one row.
pub fn measure(row: &str, cells: &[Cell], changes: &Changes, registry: &Registry) -> RowResult {
    let failed = |message: String| ReproduceError::Row { row: row.into(), message };
    if let Some(reticulation) = row.strip_prefix("003/instability/") {
        let mut system = base(if reticulation == "1" { "003/III" } else { "003/VI" }).map_err(&failed)?;
        constant(&mut system, CONSTANT_STEP);
        apply(&mut system, &changes.of_models(), registry).map_err(&failed)?;
        let neutral = neutral_step(&system, registry).map_err(&failed)?;
        return Ok(vec![neutral * 1e3]);
    }
    let (table, name) = split(row);
    let facts = facts(table).map_err(&failed)?;
    let median = cells.iter().any(|cell| cell.median);
    let tolerances =
        if median && changes.tolerance.is_none() { band(number_in(name, "")) } else { vec![None] };
    let mut measured = Vec::new();
    for tolerance in tolerances {
        let mut system = system(row).map_err(&failed)?;
        let changes = Changes { tolerance: tolerance.or(changes.tolerance), ..changes.clone() };
        apply(&mut system, &changes, registry).map_err(&failed)?;
        measured.push(run(&system, facts.unit, registry).map_err(&failed)?);
    }
    Ok(cells
        .iter()
        .map(|cell| {
            let mut values: Vec<f64> =
                measured.iter().map(|outcome| outcome.quantity(cell.quantity())).collect();
            values.sort_by(f64::total_cmp);
            values[values.len() / 2]
        })
        .collect())
}

/// Whether the FMUs that replace the native models lack what the methods of a row need, such as FMU states.
pub fn out_of_reach(row: &str, changes: &Changes, registry: &Registry) -> Result<bool, ReproduceError> {
    let failed = |message: String| ReproduceError::Row { row: row.into(), message };
    let mut system = system(row).map_err(failed)?;
    apply(&mut system, changes, registry).map_err(failed)?;
    let lacking = |problem: &Problem| ["plan/needs-rollback", "plan/needs-jacobian"].contains(&problem.code);
    Ok(plan(&system, registry).is_err_and(|problems| problems.iter().any(lacking)))
}

/// The system of a row, ready to run.
pub fn system(row: &str) -> Result<System, String> {
    let (table, name) = split(row);
    let facts = facts(table)?;
    let mut system = base(table)?;
    let estimate = if name.starts_with("ECCO") {
        Some(("power-residual", number_in(name, "")))
    } else if name.starts_with("pred./corr.") {
        Some(("predictor-corrector", number_in(name, "")))
    } else {
        number_in(name, "r=").map(|tolerance| ("power-residual", Some(tolerance)))
    };
    match estimate {
        None => constant(&mut system, CONSTANT_STEP),
        Some((estimate, tolerance)) => {
            let tolerance = tolerance.ok_or_else(|| format!("`{name}` has no tolerance"))?;
            system.methods.estimate = Choice::named(estimate).with("tolerance", Value::Number(tolerance));
            system.methods.controller = Choice::named(facts.controller);
        }
    }
    if name.starts_with("NEPCE") {
        let gain = number_in(name, "a=").ok_or_else(|| format!("`{name}` has no gain"))?;
        let feedthrough = if name.contains("mod.") { "declared" } else { "off" };
        let nepce = Choice::named("nepce")
            .with("gain", Value::Number(gain))
            .with("form", Value::Text("paper".into()))
            .with("feedthrough", Value::Text(feedthrough.into()));
        system.methods.correction = PerInput::all(nepce);
    }
    Ok(system)
}

/// `paper/table` and the name of the row, which may have slashes of its own.
fn split(row: &str) -> (&str, &str) {
    match row.match_indices('/').nth(1) {
        Some((at, _)) => (&row[..at], &row[at + 1..]),
        None => (row, ""),
    }
}

fn facts(table: &str) -> Result<&'static TableSetup, String> {
    TABLES.iter().find(|known| known.id == table).ok_or_else(|| format!("there is no table `{table}`"))
}

/// The example of a table with the table's micro steps and limits, uncorrected.
fn base(table: &str) -> Result<System, String> {
    let facts = facts(table)?;
    let mut system = read(FILES[facts.reticulation - 1][usize::from(facts.nonlinear)], &cosimo::registry())?;
    for (component, micro_steps) in system.components.iter_mut().zip(facts.micro_steps) {
        component.parameters.retain(|(name, ..)| name != "micro_steps");
        component.parameters.push(("micro_steps".into(), Value::Number(micro_steps), 0..0));
    }
    system.experiment.end = EndRule::After;
    system.methods.correction = PerInput::all(Choice::named("none"));
    let step = &mut system.methods.step;
    (step.min, step.max, step.size) = (facts.min, facts.max, Some(facts.min));
    Ok(system)
}

/// The first number after a mark, or in the text.
fn number_in(text: &str, mark: &str) -> Option<f64> {
    text.split(' ').filter_map(|word| word.strip_prefix(mark)).find_map(|word| word.parse().ok())
}

/// 31 tolerances inside the rounding of the second printed digit.
fn band(tolerance: Option<f64>) -> Vec<Option<f64>> {
    let Some(tolerance) = tolerance else { return vec![None] };
    let half = 0.5 * math::powi(10.0, math::log10(tolerance).floor() as i32 - 1);
    (0..31).map(|k| Some(tolerance + half * (-0.98 + 1.96 * f64::from(k) / 30.0))).collect()
}

/// What the papers print of a run.
#[derive(Debug, Clone, Copy)]
pub struct RunFigures {
    steps: f64,
    mean_step: f64,
    power: f64,
    power_error: f64,
    residual: f64,
}

impl RunFigures {
    fn quantity(&self, name: &str) -> f64 {
        match name {
            "steps" => self.steps,
            "dt_ms" => self.mean_step * 1e3,
            "P12" => self.power,
            "dP" => self.power_error,
            "E" => self.residual,
            _ => f64::NAN,
        }
    }
}

fn run(system: &System, unit: f64, registry: &Registry) -> Result<RunFigures, String> {
    let trajectory = trajectory(system, registry)?;
    let end = trajectory.last().map_or(0.0, |step| step.time);
    let exact = exact_power(system, &trajectory, registry)?;
    let mean = |of: &dyn Fn(usize, &CommittedStep) -> f64| {
        trajectory.iter().enumerate().map(|(k, step)| of(k, step) * step.size).sum::<f64>() / end / unit
    };
    Ok(RunFigures {
        steps: trajectory.len() as f64,
        mean_step: end / trajectory.len() as f64,
        power: mean(&|_, step| step.transmitted),
        power_error: mean(&|k, step| (step.transmitted - exact[k]).abs()),
        residual: trajectory.iter().map(|step| step.residual * step.size).sum::<f64>() / unit,
    })
}

/// One committed step.
#[derive(Debug, Clone, Copy)]
pub struct CommittedStep {
    pub time: f64,
    pub size: f64,
    pub transmitted: f64,
    pub residual: f64,
}

/// Runs a system with one bond to its end.
pub fn trajectory(system: &System, registry: &Registry) -> Result<Vec<CommittedStep>, String> {
    let mut run = started(system, registry)?;
    let mut trajectory = Vec::new();
    while !run.finished() {
        step(&mut run)?;
        let power = run.ledger().powers[0];
        trajectory.push(CommittedStep {
            time: run.time().seconds(),
            size: run.sizes().0,
            transmitted: power.transmitted,
            residual: power.residual,
        });
    }
    Ok(trajectory)
}

/// P12 of the monolithic system at the same instants.
pub fn exact_power(
    system: &System,
    trajectory: &[CommittedStep],
    registry: &Registry,
) -> Result<Vec<f64>, String> {
    let times: Vec<f64> = trajectory.iter().map(|step| step.time).collect();
    Ok(reference(system, [power_column(system)], &times, registry)?.into_iter().flatten().collect())
}

/// Reticulation 1 cuts at the chassis, reticulation 2 at the wheel.
pub(super) fn power_column(system: &System) -> &'static str {
    let alone = ["native:quarter-car/chassis", "native-quarter-car-chassis.fmu"];
    if alone.contains(&system.components[0].source.as_str()) { "P1" } else { "P2" }
}

/// The step size at which the linear quarter car neither decays nor grows, by probing the engine.
fn neutral_step(system: &System, registry: &Registry) -> Result<f64, String> {
    let mut run = started(system, registry)?;
    for _ in 0..4 {
        step(&mut run)?;
    }
    cosimo_analysis::stability::neutral(&mut run, 1e-3, 1.0).map_err(|error| error.to_string())
}
