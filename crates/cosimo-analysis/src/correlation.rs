//! Correlation of the residual power of a bond and the error of the run. It is a property of the system: residual energy
//! does not bound the error. Wu 2018, Sec. 6.

use cosimo_core::Registry;
use cosimo_engine::Run;
use cosimo_system::System;
use serde::Serialize;

use crate::order::Truth;
use crate::variant::{self, VariantError};

#[derive(Debug, Clone, Serialize)]
pub struct Correlations {
    pub steps: usize,
    pub bonds: Vec<BondCorrelation>,
}

#[derive(Debug, Clone, Serialize)]
pub struct BondCorrelation {
    pub bond: String,
    /// The same for all bonds.
    pub ports: Vec<PortCorrelation>,
    /// With the sum of all errors, each as a part of its port's largest value.
    pub together: f64,
}

#[derive(Debug, Clone, Serialize)]
pub struct PortCorrelation {
    pub port: String,
    /// Of |residual power| and |error|.
    pub pearson: f64,
}

#[derive(Debug, thiserror::Error)]
pub enum CorrelationError {
    #[error("the system has no power bond, so that there is no residual power")]
    NoBond,
    #[error("{0}")]
    Truth(String),
    #[error(transparent)]
    Variant(#[from] VariantError),
}

impl CorrelationError {
    pub fn code(&self) -> Option<&'static str> {
        match self {
            CorrelationError::Variant(error) => error.code(),
            _ => None,
        }
    }
}

/// Runs the system to its end. The residual power of a step is taken with the inputs as they were applied, extrapolated
/// or corrected, Wu 2018, (6.4).
pub fn measure(
    system: &System,
    registry: &Registry,
    truth: Truth<'_>,
) -> Result<Correlations, CorrelationError> {
    let mut run = variant::run(system, registry)?;
    let names: Vec<String> = run.layout().topology.bonds.iter().map(|bond| bond.name.clone()).collect();
    if names.is_empty() {
        return Err(CorrelationError::NoBond);
    }
    let start = run.time().seconds();
    let (ports, _) = truth(&[start]).map_err(CorrelationError::Truth)?;
    let shown =
        |run: &Run| -> Vec<f64> { ports.iter().map(|port| run.output(port).unwrap_or(f64::NAN)).collect() };
    let (mut times, mut rows) = (vec![start], vec![shown(&run)]);
    let mut powers: Vec<Vec<f64>> = vec![vec![0.0]; names.len()];
    while !run.finished() {
        run.step().map_err(VariantError::Run)?;
        times.push(run.time().seconds());
        rows.push(shown(&run));
        for (powers, power) in powers.iter_mut().zip(&run.ledger().powers) {
            powers.push(power.residual.abs());
        }
    }
    let (_, exact) = truth(&times).map_err(CorrelationError::Truth)?;
    let errors = |port: usize| -> Vec<f64> {
        rows.iter().zip(&exact).map(|(row, exact)| (row[port] - exact[port]).abs()).collect()
    };
    let each: Vec<Vec<f64>> = (0..ports.len()).map(errors).collect();
    let largest = |port: usize| exact.iter().map(|row| row[port].abs()).fold(f64::MIN_POSITIVE, f64::max);
    let sums: Vec<f64> =
        (0..times.len()).map(|n| (0..ports.len()).map(|port| each[port][n] / largest(port)).sum()).collect();
    let bonds = names
        .into_iter()
        .zip(&powers)
        .map(|(bond, powers)| BondCorrelation {
            bond,
            ports: ports
                .iter()
                .zip(&each)
                .map(|(port, errors)| PortCorrelation {
                    port: port.clone(),
                    pearson: pearson(powers, errors),
                })
                .collect(),
            together: pearson(powers, &sums),
        })
        .collect();
    Ok(Correlations { steps: times.len() - 1, bonds })
}

/// Pearson's coefficient, from -1 to 1; NaN where one of them never changes.
pub fn pearson(a: &[f64], b: &[f64]) -> f64 {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let (ma, mb) = (mean(a), mean(b));
    let (mut both, mut aa, mut bb) = (0.0, 0.0, 0.0);
    for (a, b) in a.iter().zip(b) {
        both += (a - ma) * (b - mb);
        aa += (a - ma) * (a - ma);
        bb += (b - mb) * (b - mb);
    }
    both / (aa * bb).sqrt()
}
