//! Genser & Benedikt 2018 (pre-step): pendulum and oscillator, linear (B2) and not (B3), and the linear quarter car
//! (B4); mean absolute errors over the step size of hold, NEPCE and the pre-step method.
//!
//! The paper has a figure and no table, and does not say all of its parameters; the reference numbers were computed
//! independently of Cosimo for those of the models here. NEPCE takes the exact integral of the outputs.

use cosimo_core::math;
use cosimo_core::registry::{Registry, Value};
use cosimo_plot::{Axis, Figure, Panel, Series};
use cosimo_system::{Choice, PerInput, System};

use super::setup::{Changes, apply, constant, read, started};
use super::{Cell, FigureRows, ReproduceError, RowResult};

/// What is before the method in an id, and the system it stands for.
const SYSTEMS: [(&str, &str, Option<f64>); 5] = [
    ("B2/STIFF", include_str!("pre-step-pendulum-linear.toml"), Some(STIFF)),
    ("B2/MILD", include_str!("pre-step-pendulum-linear.toml"), Some(MILD)),
    ("B3/STIFF", include_str!("pre-step-pendulum.toml"), Some(STIFF)),
    ("B4/ret1", include_str!("pre-step-reticulation-1.toml"), None),
    ("B4/ret2", include_str!("pre-step-reticulation-2.toml"), None),
];

/// Masses of the oscillator, in kg.
const STIFF: f64 = 2.25e-5;
const MILD: f64 = 0.1;

/// The nonlinear pendulum takes micro steps of at most this, in seconds.
const MICRO_STEP: f64 = 1e-3;

/// The tables that rows belong to.
pub fn tables() -> Vec<&'static str> {
    SYSTEMS.iter().map(|(id, ..)| *id).collect()
}

/// Measures all cells of one row, each with its own step size.
pub fn measure(row: &str, cells: &[Cell], changes: &Changes, registry: &Registry) -> RowResult {
    let failed = |message: String| ReproduceError::Row { row: row.into(), message };
    let cell = |cell: &Cell| {
        let size = changes.step.or_else(|| cell.id.rsplit_once("H=")?.1.parse().ok());
        let size = size.ok_or_else(|| failed(format!("`{}` has no step size", cell.id)))?;
        error(row, size, changes, registry).map_err(failed)
    };
    cells.iter().map(cell).collect()
}

/// The mean absolute error of the compared outputs at all communication points; infinite where the run fails.
fn error(row: &str, size: f64, changes: &Changes, registry: &Registry) -> Result<f64, String> {
    let mut system = system(row, size)?;
    apply(&mut system, &changes.of_models(), registry)?;
    let ports: Vec<String> = system
        .reference
        .iter()
        .flat_map(|reference| reference.ports.iter().map(|(port, ..)| port.clone()))
        .collect();
    let mut run = started(&system, registry)?;
    let (mut times, mut values) = (Vec::new(), Vec::new());
    loop {
        times.push(run.time().seconds());
        for port in &ports {
            values.push(run.output(port).ok_or_else(|| format!("there is no output `{port}`"))?);
        }
        if run.finished() {
            break;
        }
        if run.step().is_err() {
            return Ok(f64::INFINITY);
        }
    }
    let exact = cosimo::reference::solve(&system, &times, registry)?;
    let differences = exact.rows.iter().flatten().zip(&values).map(|(exact, value)| (value - exact).abs());
    Ok(differences.sum::<f64>() / values.len() as f64)
}

/// The system of a row with a step size.
fn system(row: &str, size: f64) -> Result<System, String> {
    let known = SYSTEMS
        .iter()
        .find_map(|(id, text, mass)| Some((row.strip_prefix(id)?.strip_prefix('/')?, *text, *mass, *id)));
    let (method, text, mass, id) = known.ok_or_else(|| format!("there is no table of `{row}`"))?;
    let mut system = read(text, &cosimo::registry())?;
    let parameter = |name: &str, value: f64| (name.to_owned(), Value::Number(value), 0..0);
    system.components[1].parameters.extend(mass.map(|mass| parameter("m2", mass)));
    if id.starts_with("B3") {
        let count = (size / MICRO_STEP - 1e-9).ceil().max(1.0);
        system.components[0].parameters.push(parameter("micro_steps", count));
    }
    constant(&mut system, size);
    system.methods.correction = PerInput::all(correction(method)?);
    Ok(system)
}

/// The method of a row by its name, as in `NEPCE mod a=.95` and `pre-step W=I`.
fn correction(method: &str) -> Result<Choice, String> {
    let text = |text: &str| Value::Text(text.into());
    if let Some(gain) = method.strip_prefix("NEPCE") {
        let gain: f64 = gain
            .rsplit_once("a=")
            .and_then(|(_, gain)| gain.parse().ok())
            .ok_or_else(|| format!("`{method}` has no gain"))?;
        let feedthrough = if method.contains(" mod ") { "declared" } else { "off" };
        return Ok(Choice::named("nepce")
            .with("gain", Value::Number(gain))
            .with("form", text("paper"))
            .with("quadrature", text("best"))
            .with("feedthrough", text(feedthrough)));
    }
    match method {
        "ZOH" => Ok(Choice::named("none")),
        "pre-step W" => Ok(Choice::named("pre-step")),
        "pre-step W=I" => Ok(Choice::named("pre-step").with("weight", text("identity"))),
        "mean" => Ok(Choice::named("pre-step").with("input", text("mean"))),
        _ => Err(format!("there is no method `{method}`")),
    }
}

/// Rows of one table that are drawn together.
const DRAWN: [(&str, &str, &str); 5] = [
    ("B2/STIFF", "pendulum-linear-stiff.svg", "Pendulum and oscillator, linear, stiff"),
    ("B2/MILD", "pendulum-linear-mild.svg", "Pendulum and oscillator, linear, mild"),
    ("B3/STIFF", "pendulum-stiff.svg", "Pendulum and oscillator, stiff"),
    ("B4/ret1", "quarter-car-1.svg", "Quarter car, reticulation 1"),
    ("B4/ret2", "quarter-car-2.svg", "Quarter car, reticulation 2"),
];

/// The paper's figure for every table.
pub fn draw(changes: &Changes, registry: &Registry) -> FigureRows {
    let changes = Changes { step: None, ..changes.clone() };
    let one = |(table, file, title): &(&str, &str, &str)| {
        Ok(((*file).to_owned(), figure(table, title, &changes, registry)?))
    };
    DRAWN.iter().map(one).collect()
}

/// Errors over the step size, and by how much a step may be longer than that of hold for the same error.
fn figure(table: &str, title: &str, changes: &Changes, registry: &Registry) -> Result<Figure, String> {
    let size = || Axis::log("step in s");
    let mut errors = Panel::new("Mean error", size(), Axis::log("mean absolute error"));
    let mut factors = Panel::new("Longer step for the error of hold", size(), Axis::log("factor"));
    let mut hold = Vec::new();
    for (row, cells) in crate::PRE_STEP.rows(table).map_err(|error| error.to_string())? {
        let measured = measure(&row, &cells, changes, registry).map_err(|error| error.to_string())?;
        let sizes = cells.iter().filter_map(|cell| cell.id.rsplit_once("H=")?.1.parse::<f64>().ok());
        let points: Vec<(f64, f64)> = sizes.zip(measured).collect();
        let name = row.rsplit_once('/').map_or("", |(_, name)| name);
        errors = errors.with(Series::new(name, points.clone()));
        if name == "ZOH" {
            hold = points;
            continue;
        }
        let factor = |(size, error): &(f64, f64)| (*size, enlargement(&points, *error) / size);
        factors = factors.with(Series::new(name, hold.iter().map(factor).collect()));
    }
    Ok(Figure::new(title, vec![errors, factors]))
}

/// The largest step at which the error is still at most `error`, between two steps by a power law; not beyond the
/// largest that was tried.
fn enlargement(points: &[(f64, f64)], error: f64) -> f64 {
    let Some(met) = points.iter().rposition(|(_, found)| *found <= error) else { return f64::NAN };
    let (size, found) = points[met];
    match points.get(met + 1) {
        Some((next, worse)) if worse.is_finite() && found > 0.0 => {
            size * math::powf(next / size, math::ln(error / found) / math::ln(worse / found))
        }
        _ => size,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_has_errors_and_factors() {
        let registry = cosimo::registry();
        let figure = figure("B4/ret1", "Quarter car", &Changes::default(), &registry).unwrap();
        let [errors, factors] = &figure.panels[..] else { panic!("two panels") };
        assert_eq!((errors.series.len(), factors.series.len()), (5, 4));
        let best = factors.series.iter().find(|series| series.name == "mean").unwrap();
        assert!(best.points.iter().all(|(size, factor)| (factor * size - 3e-2).abs() < 1e-12));
        assert!(figure.svg().contains("<path"));
    }

    #[test]
    fn an_enlargement_lies_between_the_steps_that_were_tried() {
        let points = [(1e-3, 1e-6), (1e-2, 1e-4), (1e-1, f64::INFINITY)];
        assert!((enlargement(&points, 1e-5) - math::powf(10.0, -2.5)).abs() < 1e-12);
        assert_eq!(enlargement(&points, 1e-3), 1e-2);
        assert!(enlargement(&points, 1e-7).is_nan());
    }
}
