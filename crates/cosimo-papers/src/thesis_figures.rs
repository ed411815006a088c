//! The figures of Wu 2018: spectral radius over the step (3.1, 3.2), error over the step (4.2), residual power beside
//! the state error (6.1 to 6.4), and the rack of the steering in its four cuts (8.5 to 8.8).

use cosimo_analysis::stability;
use cosimo_core::Registry;
use cosimo_plot::{Axis, Figure, Panel, Series, Style};

use super::FigureRows;
use super::setup::{Changes, reference, started, step};
use super::thesis::{Bench, parameters};

const METHODS: [&str; 4] = ["constant", "causality", "linear", "quadratic"];
/// The curves of the rack end beyond this, in m/s; it really moves with 0.013 m/s.
const SHOWN: f64 = 0.03;

/// All figures with their file names.
pub(super) fn draw(changes: &Changes, registry: &Registry) -> FigureRows {
    let bench = Bench { changes, registry };
    Ok(vec![
        ("radius-over-step.svg".into(), radius(&bench)?),
        ("error-over-step.svg".into(), error(&bench)?),
        ("residual-power-and-error.svg".into(), residual(&bench)?),
        ("rack-speed.svg".into(), rack(&bench)?),
    ])
}

fn radius(bench: &Bench<'_>) -> Result<Figure, String> {
    let mut panels = Vec::new();
    for (title, scheme) in
        [("Exact inside", "stale"), ("One Euler step inside, inputs at its end", "stale fe-end")]
    {
        let axes = (Axis::linear("step in s"), Axis::linear("spectral radius").between(0.5, 1.5));
        let mut panel = Panel::new(title, axes.0, axes.1);
        for method in METHODS {
            let mut run = bench.probed(&[], scheme, method)?;
            let mut points = Vec::new();
            for k in 1..=75 {
                let size = 0.02 * f64::from(k);
                let found = stability::radius(&mut run, size).map_err(|error| error.to_string())?;
                points.push((size, found.radius));
            }
            panel = panel.with(Series::new(method, points));
        }
        panels.push(panel.with(Series::new("", vec![(0.0, 1.0), (1.5, 1.0)]).styled(Style::Dashed)));
    }
    Ok(Figure::new("Dual mass: stability over the step size", panels))
}

fn error(bench: &Bench<'_>) -> Result<Figure, String> {
    let mut panel = Panel::new(
        "Left mass pulled out, exact history",
        Axis::log("step in s"),
        Axis::log("largest error of x1 in m"),
    );
    for method in METHODS {
        let errors = bench.largest_errors([1.0, 0.0, 0.0, 0.0], method)?;
        let sizes = super::thesis::STEPS.map(|steps| super::thesis::LONG / steps);
        panel = panel.with(Series::new(method, sizes.into_iter().zip(errors).collect()));
    }
    Ok(Figure::new("Dual mass: error over the step size", vec![panel]))
}

fn residual(bench: &Bench<'_>) -> Result<Figure, String> {
    let mut panels = Vec::new();
    for set in ["proper", "improper"] {
        for (degree, name) in ["constant", "linear", "quadratic"].into_iter().enumerate() {
            let (powers, errors) = bench.powers_and_errors(false, set, &degree.to_string())?;
            let scaled = |values: Vec<f64>| {
                let largest = values.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
                let count = values.len().max(2) - 1;
                let place = move |(n, value): (usize, f64)| (3.0 * n as f64 / count as f64, value / largest);
                values.into_iter().enumerate().map(place).collect::<Vec<_>>()
            };
            let sums = errors.iter().map(|errors| errors.iter().sum()).collect();
            let title = format!("{set} ({}), {name}", parameters(set).join(", "));
            panels.push(
                Panel::new(title, Axis::linear("time in s"), Axis::linear("share of the largest"))
                    .with(Series::new("residual power", scaled(powers)))
                    .with(Series::new("error of all states", scaled(sums)).styled(Style::Dashed)),
            );
        }
    }
    Ok(Figure::new("Dual mass: residual power and state error", panels).in_columns(3))
}

fn rack(bench: &Bench<'_>) -> Result<Figure, String> {
    let mut panels = Vec::new();
    for case in ["I", "II", "III", "IV"] {
        let system = bench.steered("continued", case, 5e-3, false)?;
        let mut run = started(&system, bench.registry)?;
        let owner = if case.len() < 3 && case != "IV" { "steering.vR" } else { "mechanics.vR" };
        let mut points: Vec<(f64, f64)> = vec![(0.0, 0.0)];
        // What has left the picture does not come back.
        while !run.finished() && points.last().is_some_and(|(_, speed)| speed.abs() < SHOWN) {
            step(&mut run)?;
            points.push((run.time().seconds(), run.output(owner).unwrap_or(f64::NAN)));
        }
        let times: Vec<f64> = (0..=1000).map(|n| f64::from(n) * 5e-3).collect();
        let speeds = reference(&system, ["vR"], &times, bench.registry)?;
        let monolithic = times.into_iter().zip(speeds.into_iter().flatten()).collect();
        let y = Axis::linear("speed of the rack in m/s").between(-SHOWN, SHOWN);
        panels.push(
            Panel::new(format!("Case {case}, steps of 5 ms"), Axis::linear("time in s"), y)
                .with(Series::new("coupled", points))
                .with(Series::new("monolithic", monolithic).styled(Style::Dashed)),
        );
    }
    Ok(Figure::new("Electric power steering, displacements continued", panels).in_columns(2))
}
