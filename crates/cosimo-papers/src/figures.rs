//! The papers' figures: displacements, transmitted power, residual energy and step size of the quarter car,
//! and the error over the step size beside its residual estimate (ECCO Fig. 4).

use cosimo_core::Registry;
use cosimo_engine::{Run, plan};
use cosimo_plot::{Axis, Figure, Panel, Series, Style};
use cosimo_record::{Memory, Table};
use cosimo_system::System;

use super::ecco_nepce::{self, Changes};

/// Rows of the tables that are drawn together.
struct Drawn {
    title: &'static str,
    file: &'static str,
    constant: &'static str,
    ecco: &'static str,
    nepce: &'static str,
}

const DRAWN: &[Drawn] = &[
    Drawn {
        title: "Quarter car, reticulation 1, linear",
        file: "reticulation-1-linear.svg",
        constant: "000/6/constant",
        ecco: "003/III/ECCO 2.8e-06",
        nepce: "000/6/NEPCE mod. a=0.95 r=1.6e-06",
    },
    Drawn {
        title: "Quarter car, reticulation 1, nonlinear damper",
        file: "reticulation-1-nonlinear.svg",
        constant: "000/8/constant",
        ecco: "003/V/ECCO 7.5e-06",
        nepce: "000/8/NEPCE mod. a=0.6 r=4.6e-06",
    },
    Drawn {
        title: "Quarter car, reticulation 2, linear",
        file: "reticulation-2-linear.svg",
        constant: "000/7/constant",
        ecco: "003/VI/ECCO 9.1e-07",
        nepce: "000/7/NEPCE mod. a=0.85 r=1.4e-06",
    },
    Drawn {
        title: "Quarter car, reticulation 2, nonlinear damper",
        file: "reticulation-2-nonlinear.svg",
        constant: "000/9/constant",
        ecco: "003/VII/ECCO 2.4e-05",
        nepce: "000/9/NEPCE mod. a=0.4 r=2.7e-05",
    },
];

/// All figures with their file names.
pub fn draw(changes: &Changes, registry: &Registry) -> Result<Vec<(String, Figure)>, String> {
    let mut figures = vec![("error-over-step.svg".to_owned(), error_over_step(changes, registry)?)];
    for drawn in DRAWN {
        figures.push((drawn.file.to_owned(), one(drawn, changes, registry)?));
    }
    Ok(figures)
}

fn one(drawn: &Drawn, changes: &Changes, registry: &Registry) -> Result<Figure, String> {
    let rows = [("constant step", drawn.constant), ("ECCO", drawn.ecco), ("NEPCE + ECCO", drawn.nepce)];
    let time = || Axis::linear("time in s");
    let mut displacement = Panel::new("Displacements", time(), Axis::linear("z in m"));
    let mut power = Panel::new("Transmitted power", time(), Axis::linear("P in W"));
    let mut energy = Panel::new("Residual energy, summed", time(), Axis::linear("E in J"));
    let mut size = Panel::new("Step size", time(), Axis::log("step in s"));
    let mut undivided = Vec::new(); // drawn last, on top of the others
    for (k, (name, row)) in rows.iter().enumerate() {
        let mut system = ecco_nepce::system(row)?;
        ecco_nepce::apply(&mut system, changes, registry)?;
        let table = record(&system, registry)?;
        let series = |column: &str, name: &str| -> Result<Series, String> {
            Ok(Series::new(name, points(&table, column)?))
        };
        if k == 0 {
            displacement = displacement.with(series("chassis.z", "chassis, constant step")?);
            displacement = displacement.with(series("wheel.z", "wheel, constant step")?);
            undivided = exact(&system, &table, registry)?;
        }
        power = power.with(series("bond.strut.transmitted_power", name)?);
        energy = energy.with(series("bond.strut.residual_energy", name)?);
        size = size.with(series("step.size", name)?.styled(Style::Steps));
    }
    let dashed = |name: &str, column: usize| {
        let points = undivided.iter().map(|(t, row)| (*t, row[column])).collect();
        Series::new(name, points).styled(Style::Dashed)
    };
    displacement = displacement.with(dashed("chassis, undivided", 0)).with(dashed("wheel, undivided", 1));
    power = power.with(dashed("undivided", 2));
    Ok(Figure::new(drawn.title, vec![displacement, power, energy, size]))
}

/// ECCO Fig. 4: the mean error of the transmitted power, and half the mean absolute residual power.
fn error_over_step(changes: &Changes, registry: &Registry) -> Result<Figure, String> {
    let (mut error, mut estimate) = (Vec::new(), Vec::new());
    for k in 0..=26 {
        let step = 1e-4 * 10f64.powf(f64::from(k) / 10.0);
        let mut system = ecco_nepce::system("003/III/constant")?;
        ecco_nepce::apply(
            &mut system,
            &Changes { step: Some(step), tolerance: None, ..changes.clone() },
            registry,
        )?;
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
    .with(Series::new("error against the undivided model", error).styled(Style::Dashed))
    .with(Series::new("half the mean residual power", estimate));
    Ok(Figure::new("Error and residual estimate over the step size", vec![panel]))
}

fn record(system: &System, registry: &Registry) -> Result<Table, String> {
    let plan =
        plan(system, registry).map_err(|problems| ecco_nepce::check(&problems).err().unwrap_or_default())?;
    let mut run = Run::new(plan, 1).map_err(|error| error.coded())?;
    let memory = Memory::default();
    run.record(Box::new(memory.clone())).map_err(|error| error.coded())?;
    while !run.finished() {
        run.step().map_err(|error| error.coded())?;
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

/// Instants with chassis and wheel displacement and transmitted power of the undivided model.
fn exact(system: &System, table: &Table, registry: &Registry) -> Result<Vec<(f64, [f64; 3])>, String> {
    let (entry, options) = cosimo::reference::entry(system, registry)?;
    let times = table.column("time").ok_or("the results have no time")?;
    let place = |name: &str| {
        entry
            .columns
            .iter()
            .position(|known| *known == name)
            .ok_or_else(|| format!("the reference has no `{name}`"))
    };
    let columns = [place("zc")?, place("zw")?, place(ecco_nepce::power_column(system))?];
    let rows = (entry.solve)(&options, times);
    Ok(times.iter().zip(rows).map(|(t, row)| (*t, columns.map(|column| row[column]))).collect())
}
