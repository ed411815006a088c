//! Is a step size stable? One macro step of fixed size maps states, samples and method memory onto
//! themselves. The map is taken from the real engine, one perturbed step per column, so what is measured is
//! what is implemented, corrections and history included. For nonlinear systems it is the linearisation at
//! the run's present point.

use cosimo_engine::{Run, RunError};
use faer::Mat;

/// Perturbation relative to the cell's own size or 1, to both sides; for linear systems any would do.
const PERTURBATION: f64 = 1e-4;
/// A mode whose share in what simulators tell each other is below this is seen by nobody.
const UNSEEN: f64 = 1e-9;

#[derive(Debug, thiserror::Error)]
pub enum StabilityError {
    #[error("simulator `{0}` does not show its states, so its part of the step cannot be probed")]
    HiddenStates(String),
    #[error(
        "`{name}` has steps of {every} s of its own, so that one step of {size} s does not map the system onto itself"
    )]
    OwnStep { name: String, every: f64, size: f64 },
    #[error("the step size must be a finite number above 0, found {0}")]
    BadSize(f64),
    #[error("the eigenvalues of the step did not converge at size {0} s")]
    NoEigenvalues(f64),
    #[error("no step size between {0} s and {1} s is neutral")]
    NoNeutralStep(f64, f64),
    #[error(transparent)]
    Run(#[from] RunError),
}

/// How much one step can amplify.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Radius {
    /// The largest modulus among modes that outputs show; above 1 is unstable.
    pub radius: f64,
    /// Modes that no exchanged output shows, such as a displacement nobody reads; not counted.
    pub unseen: usize,
}

/// The spectral radius of one step of the given size. Take a few steps first, so that there is a history.
pub fn radius(run: &mut Run, size: f64) -> Result<Radius, StabilityError> {
    if !(size.is_finite() && size > 0.0) {
        return Err(StabilityError::BadSize(size));
    }
    if let Some(&hidden) = run.layout().hidden.first() {
        return Err(StabilityError::HiddenStates(run.layout().names[hidden].clone()));
    }
    let matrix = step_matrix(run, size)?;
    let eigen = matrix.eigen().map_err(|_| StabilityError::NoEigenvalues(size))?;
    let (vectors, values) = (eigen.U(), eigen.S().column_vector());
    let states = run.island().state_cells();
    // A force of 1e4 N is no larger than a displacement of 1 m: each cell is measured by what reaches it.
    let reach: Vec<f64> = (0..matrix.nrows())
        .map(|row| (0..matrix.ncols()).map(|column| matrix[(row, column)].abs()).fold(0.0, f64::max))
        .map(|reach| if reach == 0.0 { 1.0 } else { reach })
        .collect();
    let mut found = Radius { radius: 0.0, unseen: 0 };
    for mode in 0..matrix.ncols() {
        let share = |cell: usize| vectors[(cell, mode)].norm() / reach[cell];
        let all = (0..matrix.nrows()).map(share).fold(0.0, f64::max);
        let told = (states..matrix.nrows()).map(share).fold(0.0, f64::max);
        if told <= UNSEEN * all {
            found.unseen += 1;
        } else {
            found.radius = found.radius.max(values[mode].norm());
        }
    }
    Ok(found)
}

/// The smallest step size between two at which the radius crosses 1 from below, to 1e-10 relative.
pub fn neutral(run: &mut Run, from: f64, to: f64) -> Result<f64, StabilityError> {
    const SCAN: f64 = 1.02;
    let mut low = from;
    if radius(run, low)?.radius >= 1.0 {
        return Err(StabilityError::NoNeutralStep(from, to));
    }
    let mut high = low * SCAN;
    while radius(run, high)?.radius < 1.0 {
        if high >= to {
            return Err(StabilityError::NoNeutralStep(from, to));
        }
        low = high;
        high *= SCAN;
    }
    while high - low > 1e-10 * low {
        let middle = f64::midpoint(low, high);
        if radius(run, middle)?.radius < 1.0 { low = middle } else { high = middle }
    }
    Ok(f64::midpoint(low, high))
}

/// Column j: what a change of cell j becomes in one step.
pub fn step_matrix(run: &mut Run, size: f64) -> Result<Mat<f64>, StabilityError> {
    let layout = run.layout();
    if let Some(rate) = layout.rates.iter().find(|rate| rate.every > size) {
        let name = layout.names[rate.member].clone();
        return Err(StabilityError::OwnStep { name, every: rate.every, size });
    }
    let island = run.island();
    let cells = island.cells();
    let mut point = vec![0.0; cells];
    island.read_cells(&mut point).map_err(RunError::from)?;
    let mut above = vec![0.0; cells];
    let mut below = vec![0.0; cells];
    let mut matrix = Mat::zeros(cells, cells);
    for column in 0..cells {
        let kept = point[column];
        let perturbation = PERTURBATION * kept.abs().max(1.0);
        let (high, low) = (kept + perturbation, kept - perturbation);
        point[column] = high;
        island.map(size, Some(&point), &mut above).map_err(RunError::from)?;
        point[column] = low;
        island.map(size, Some(&point), &mut below).map_err(RunError::from)?;
        point[column] = kept;
        for row in 0..cells {
            matrix[(row, column)] = (above[row] - below[row]) / (high - low);
        }
    }
    Ok(matrix)
}
