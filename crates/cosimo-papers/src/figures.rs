//! The papers' figures: displacements, transmitted power, residual energy and step size of the quarter car,
//! and the error over the step size beside its residual estimate (ECCO Fig. 4).

use cosimo_core::Registry;
use cosimo_core::math;
use cosimo_plot::{Axis, Figure, Panel, Series, Style};
use cosimo_record::{MemoryRecorder, Table};
use cosimo_system::System;

use super::setup::{Changes, apply, reference, started, step};
use super::{FigureRows, ecco_nepce};

/// Rows of the tables that are drawn together: a constant step, ECCO, and NEPCE with it.
struct Together {
    reticulation: u32,
    linear: bool,
    rows: [&'static str; 3],
}

const fn together(reticulation: u32, linear: bool, rows: [&'static str; 3]) -> Together {
    Together { reticulation, linear, rows }
}

const FIGURES: [Together; 4] = [
    together(1, true, ["000/6/constant", "003/III/ECCO 2.8e-06", "000/6/NEPCE mod. a=0.95 r=1.6e-06"]),
    together(1, false, ["000/8/constant", "003/V/ECCO 7.5e-06", "000/8/NEPCE mod. a=0.6 r=4.6e-06"]),
    together(2, true, ["000/7/constant", "003/VI/ECCO 9.1e-07", "000/7/NEPCE mod. a=0.85 r=1.4e-06"]),
    together(2, false, ["000/9/constant", "003/VII/ECCO 2.4e-05", "000/9/NEPCE mod. a=0.4 r=2.7e-05"]),
];

/// All figures with their file names.
pub fn draw(changes: &Changes, registry: &Registry) -> FigureRows {
    let mut figures = vec![("error-over-step.svg".to_owned(), error_over_step(changes, registry)?)];
    for together in &FIGURES {
        let kind = if together.linear { "linear" } else { "nonlinear" };
        let file = format!("reticulation-{}-{kind}.svg", together.reticulation);
        figures.push((file, one(together, changes, registry)?));
    }
    Ok(figures)
}

fn one(together: &Together, changes: &Changes, registry: &Registry) -> Result<Figure, String> {
    let time = || Axis::linear("time in s");
    let mut displacement = Panel::new("Displacements", time(), Axis::linear("z in m"));
    let mut power = Panel::new("Transmitted power", time(), Axis::linear("P in W"));
    let mut energy = Panel::new("Residual energy, summed", time(), Axis::linear("E in J"));
    let mut size = Panel::new("Step size", time(), Axis::log("step in s"));
    let mut monolithic = Vec::new(); // drawn last, on top of the others
    for (k, (name, row)) in
        ["constant step", "ECCO", "NEPCE + ECCO"].into_iter().zip(together.rows).enumerate()
    {
        let mut system = ecco_nepce::system(row)?;
        apply(&mut system, changes, registry)?;
        let table = record(&system, registry)?;
        let series = |column: &str, name: &str| -> Result<Series, String> {
            Ok(Series::new(name, points(&table, column)?))
        };
        if k == 0 {
            displacement = displacement.with(series("chassis.z", "chassis, constant step")?);
            displacement = displacement.with(series("wheel.z", "wheel, constant step")?);
            monolithic = exact(&system, &table, registry)?;
        }
        power = power.with(series("bond.strut.transmitted_power", name)?);
        energy = energy.with(series("bond.strut.residual_energy", name)?);
        size = size.with(series("step.size", name)?.styled(Style::Steps));
    }
    let dashed = |name: &str, column: usize| {
        let points = monolithic.iter().map(|(t, row)| (*t, row[column])).collect();
        Series::new(name, points).styled(Style::Dashed)
    };
    displacement = displacement.with(dashed("chassis, monolithic", 0)).with(dashed("wheel, monolithic", 1));
    power = power.with(dashed("monolithic", 2));
    let damper = if together.linear { "linear" } else { "nonlinear damper" };
    let title = format!("Quarter car, reticulation {}, {damper}", together.reticulation);
    Ok(Figure::new(title, vec![displacement, power, energy, size]))
}

/// ECCO Fig. 4: the mean error of the transmitted power, and half the mean absolute residual power.
fn error_over_step(changes: &Changes, registry: &Registry) -> Result<Figure, String> {
    let (mut error, mut estimate) = (Vec::new(), Vec::new());
    for k in 0..=26 {
        let step = 1e-4 * math::powf(10.0, f64::from(k) / 10.0);
        let mut system = ecco_nepce::system("003/III/constant")?;
        apply(&mut system, &Changes { step: Some(step), tolerance: None, ..changes.clone() }, registry)?;
        let trajectory = ecco_nepce::trajectory(&system, registry)?;
        let exact = ecco_nepce::exact_power(&system, &trajectory, registry)?;
        let end = trajectory.last().map_or(1.0, |last| last.time);
        let mean = |of: &dyn Fn(usize) -> f64| -> f64 {
            (0..trajectory.len()).map(|n| of(n) * trajectory[n].size).sum::<f64>() / end
        };
        error.push((step, mean(&|n| (trajectory[n].transmitted - exact[n]).abs())));
        estimate.push((step, mean(&|n| 0.5 * trajectory[n].residual.abs())));
    }
    let panel = Panel::new(
        "Reticulation 1, linear",
        Axis::log("step in s"),
        Axis::log("mean error of the power in W"),
    )
    .with(Series::new("error against the monolithic reference", error).styled(Style::Dashed))
    .with(Series::new("half the mean residual power", estimate));
    Ok(Figure::new("Error and residual estimate over the step size", vec![panel]))
}

fn record(system: &System, registry: &Registry) -> Result<Table, String> {
    let mut run = started(system, registry)?;
    let memory = MemoryRecorder::default();
    run.record(Box::new(memory.clone())).map_err(|error| error.text_with_code())?;
    while !run.finished() {
        step(&mut run)?;
    }
    Ok(memory.table())
}

fn points(table: &Table, column: &str) -> Result<Vec<(f64, f64)>, String> {
    let missing = || format!("the results have no column `{column}`");
    let values = table.column(column).ok_or_else(missing)?;
    let times = table.column("time").ok_or_else(missing)?;
    // The row at the start has no step behind it.
    Ok(times.iter().copied().zip(values.iter().copied()).skip(1).collect())
}

/// Instants with chassis and wheel displacement and transmitted power of the monolithic reference.
fn exact(system: &System, table: &Table, registry: &Registry) -> Result<Vec<(f64, [f64; 3])>, String> {
    let times = table.column("time").ok_or("the results have no time")?;
    let rows = reference(system, ["zc", "zw", ecco_nepce::power_column(system)], times, registry)?;
    Ok(times.iter().copied().zip(rows).collect())
}
