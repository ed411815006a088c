//! How errors fall with the step size: the slope of log(error) over log(size), by least squares. Errors are those against
//! a monolithic reference, or where there is none the differences of neighbouring sizes (Richardson), which fall alike.

use cosimo_core::math;
use cosimo_core::{PowerVariable, Registry};
use cosimo_system::{Choice, EndRule, System};

use serde::Serialize;

use crate::variant::{self, VariantError};

/// Values of named outputs at given instants, one row per instant.
pub type Truth<'a> = &'a dyn Fn(&[f64]) -> Result<(Vec<String>, Vec<Vec<f64>>), String>;

/// Below this part of an output's size, errors are rounding errors.
const ROUNDING: f64 = 1e-13;

#[derive(Debug, Clone, Serialize)]
pub struct Orders {
    pub against: ErrorBasis,
    pub steps: Vec<f64>,
    pub outputs: Vec<OutputOrder>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ErrorBasis {
    Monolithic,
    /// Differences of neighbouring step sizes: one fewer than sizes.
    NextSize,
}

#[derive(Debug, Clone, Serialize)]
pub struct OutputOrder {
    pub output: String,
    /// The largest error at common instants, for each size.
    pub errors: Vec<f64>,
    /// NaN where errors are rounding only.
    pub order: f64,
}

#[derive(Debug, thiserror::Error)]
pub enum OrderError {
    #[error("the step size must be a finite number above 0, got {0}")]
    BadSize(f64),
    #[error("the run of {0} s has fewer than four steps of {1} s, which is too few to compare")]
    TooShort(f64, f64),
    #[error("{0}")]
    Truth(String),
    #[error(transparent)]
    Variant(#[from] VariantError),
}

impl OrderError {
    pub fn code(&self) -> Option<&'static str> {
        match self {
            OrderError::Variant(error) => error.code(),
            _ => None,
        }
    }
}

/// Runs the system with a step size, its half, and so on, with constant steps whatever its step controller.
pub fn measure(
    system: &System,
    registry: &Registry,
    size: f64,
    halvings: u32,
    truth: Option<Truth<'_>>,
) -> Result<Orders, OrderError> {
    if !(size.is_finite() && size > 0.0) {
        return Err(OrderError::BadSize(size));
    }
    let (start, duration) = (system.experiment.start, system.experiment.stop - system.experiment.start);
    let steps = (duration / size * (1.0 + 1e-9)).floor();
    if steps < 4.0 {
        return Err(OrderError::TooShort(duration, size));
    }
    let steps = steps as usize;
    let sizes: Vec<f64> = (0..=halvings).map(|k| size * math::powi(0.5, k as i32)).collect();
    let mut names = Vec::new();
    let mut runs = Vec::new();
    for (k, &size) in sizes.iter().enumerate() {
        let mut constant = system.clone();
        constant.methods.estimate = Choice::named("none");
        constant.methods.controller = Choice::named("fixed");
        constant.methods.step.size = Some(size);
        constant.experiment.end = EndRule::After;
        let every = 1usize << k;
        let mut run = variant::run(&constant, registry)?;
        let mut rows = Vec::with_capacity(steps);
        for step in 1..=steps * every {
            run.step().map_err(VariantError::Run)?;
            if step % every == 0 {
                rows.push(run.outputs().to_vec());
            }
        }
        names = (0..run.outputs().len())
            .map(|output| run.layout().ports().path(PowerVariable::Output(output)))
            .collect();
        runs.push(rows);
    }
    let instants: Vec<f64> = (1..=steps).map(|n| start + n as f64 * size).collect();
    let truth = truth.map(|truth| truth(&instants)).transpose().map_err(OrderError::Truth)?;
    Ok(compare(sizes, &names, &runs, truth))
}

fn compare(
    sizes: Vec<f64>,
    names: &[String],
    runs: &[Vec<Vec<f64>>],
    truth: Option<(Vec<String>, Vec<Vec<f64>>)>,
) -> Orders {
    let mut outputs = Vec::new();
    let against = if truth.is_some() { ErrorBasis::Monolithic } else { ErrorBasis::NextSize };
    for (output, name) in names.iter().enumerate() {
        let column = |rows: &[Vec<f64>], at: usize| rows.iter().map(|row| row[at]).collect::<Vec<f64>>();
        let largest = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        let found: Vec<Vec<f64>> = runs.iter().map(|rows| column(rows, output)).collect();
        let errors: Vec<f64> = match &truth {
            Some((known, rows)) => {
                let Some(at) = known.iter().position(|known| known == name) else { continue };
                let truth = column(rows, at);
                found.iter().map(|found| largest(found, &truth)).collect()
            }
            None => found.windows(2).map(|pair| largest(&pair[0], &pair[1])).collect(),
        };
        let size = found.iter().flatten().map(|value| value.abs()).fold(0.0, f64::max);
        let exact = errors.iter().any(|error| *error <= ROUNDING * size);
        let order = if exact { f64::NAN } else { slope(&sizes[..errors.len()], &errors) };
        outputs.push(OutputOrder { output: name.clone(), errors, order });
    }
    Orders { against, steps: sizes, outputs }
}

/// The slope; NaN where an error is no positive number, since then there is nothing to take a logarithm of.
pub fn slope(sizes: &[f64], errors: &[f64]) -> f64 {
    let logs = |values: &[f64]| values.iter().map(|value| math::ln(*value)).collect::<Vec<_>>();
    let (x, y) = (logs(sizes), logs(errors));
    if y.iter().any(|log| !log.is_finite()) {
        return f64::NAN;
    }
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let (mx, my) = (mean(&x), mean(&y));
    let over: f64 = x.iter().zip(&y).map(|(x, y)| (x - mx) * (y - my)).sum();
    over / x.iter().map(|x| (x - mx) * (x - mx)).sum::<f64>()
}
