//! Stability of a step size. One macro step of fixed size maps states, samples and method memory onto themselves. The map
//! is taken from the real engine, one perturbed step per column, so that the implementation itself is measured,
//! corrections and history included. For nonlinear systems it is the linearisation at the current point of the run.
//!
//! A system with simulators that hide their states is measured with linear models in their place (`prepared.rs`).

use cosimo_core::math;
use cosimo_core::{PowerVariable, StepError};
use cosimo_engine::{Layout, Run, RunError};
use serde::Serialize;

use crate::forecast::three_digits;
use crate::linalg::{Eigen, Matrix};
use crate::linear_models::NoModels;
use crate::linearise::LinearSystem;
use crate::variant::VariantError;

/// Perturbation relative to the cell's own size or 1, to both sides; for linear systems any would do. Small beside the
/// range of friction, and large beside the errors of integrators inside.
const PERTURBATION: f64 = 1e-5;
/// A mode with a smaller share in the exchanged values is unobservable.
const UNSEEN: f64 = 1e-9;
/// Entries of a step below this part of the largest of their row have decayed.
const DECAYED: f64 = 1e-30;
/// Eigenvectors hold to this.
const VECTOR: f64 = 1e-6;
/// A radius this near to 1 is 1: differences have rounding errors.
pub const NEUTRAL: f64 = 1e-7;

#[derive(Debug, thiserror::Error)]
pub enum StabilityError {
    #[error("component `{0}` exposes no states: it is analysed by a linear model of it")]
    HiddenStates(String),
    #[error(
        "`{name}` is multi-rate with steps of {every} s, so that one step of {size} s does not map the state of the system \
         onto itself"
    )]
    OwnStep { name: String, every: f64, size: f64 },
    #[error(
        "the correction `{0}` identifies the simulators during the run, so that a step is no fixed map; analyse the system \
         without it, or with `pre-step`"
    )]
    Learns(&'static str),
    #[error("the step size must be a finite number above 0, got {0}")]
    BadSize(f64),
    #[error("no output is connected to an input: there is no coupling to analyse")]
    NothingExchanged,
    #[error("a perturbed step of {0} s gives values that are not finite")]
    NotFinite(f64),
    #[error("the eigenvalues of the step did not converge at size {0} s")]
    NoEigenvalues(f64),
    #[error("no step size between {0} s and {1} s is neutral")]
    NoNeutralStep(f64, f64),
    #[error(transparent)]
    NoModels(#[from] NoModels),
    #[error(transparent)]
    Variant(#[from] VariantError),
    #[error(transparent)]
    Run(#[from] RunError),
}

impl StabilityError {
    pub fn code(&self) -> Option<&'static str> {
        match self {
            StabilityError::Run(error) | StabilityError::NoModels(NoModels::Run(error)) => error.code(),
            StabilityError::Variant(error) | StabilityError::NoModels(NoModels::Variant(error)) => {
                error.code()
            }
            _ => None,
        }
    }
}

/// How a step was measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProbeMethod {
    /// One perturbed step per state, sample and cell of memory.
    States,
    /// The same with linear models in the place of components that expose no states, from their answers to changed inputs.
    /// Modes that are not observable or not controllable by exchanged values stay hidden.
    Models,
    /// The growth of disturbances over many steps, where one step is no linear map.
    Growth,
}

/// How much one step can amplify.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Radius {
    /// The largest modulus among observable modes; above 1 is unstable.
    pub radius: f64,
    /// Unobservable modes, such as a displacement that is not exchanged; not counted.
    pub unseen: usize,
    pub how: ProbeMethod,
}

/// The spectral radius of one step of the given size. Take a few steps first, so that there is a history.
pub fn radius(run: &mut Run, size: f64) -> Result<Radius, StabilityError> {
    if !(size.is_finite() && size > 0.0) {
        return Err(StabilityError::BadSize(size));
    }
    let Layout { topology, methods, .. } = run.layout();
    if let Some(name) = methods.identifying_correction() {
        return Err(StabilityError::Learns(name));
    }
    if topology.driving.is_empty() {
        return Err(StabilityError::NothingExchanged);
    }
    if let Some(rate) = methods.rates.iter().find(|rate| rate.every > size) {
        let name = topology.names[rate.member].clone();
        return Err(StabilityError::OwnStep { name, every: rate.every, size });
    }
    if let Some(&hidden) = topology.hidden.first() {
        return Err(StabilityError::HiddenStates(topology.names[hidden].clone()));
    }
    by_states(run, size)
}

/// The present cells.
pub(crate) fn cells_at(run: &mut Run) -> Result<Vec<f64>, StabilityError> {
    let mut point = vec![0.0; run.island().cells()];
    run.island().read_cells(&mut point).map_err(RunError::from)?;
    Ok(point)
}

fn by_states(run: &mut Run, size: f64) -> Result<Radius, StabilityError> {
    let matrix = step_matrix(run, size)?;
    let states = run.island().state_cells();
    observable_radius(&matrix, states).ok_or(StabilityError::NoEigenvalues(size))
}

/// The radius of a step on cells of which the first ones are states and the others what is told. `None` where the
/// eigenvalues do not converge.
pub fn observable_radius(whole: &Matrix, states: usize) -> Option<Radius> {
    let whole = &without_decayed(whole);
    // Unreachable cells are left out before: where all modes are near 1, eigenvectors cannot separate them. A change
    // that does not reach a cell leaves its bits unchanged, so that zeros are exact.
    let mut reaches: Vec<bool> = (0..whole.nrows()).map(|cell| cell >= states).collect();
    let mut open: Vec<usize> = (states..whole.nrows()).collect();
    while let Some(reached) = open.pop() {
        for cell in (0..states).filter(|&cell| whole[(reached, cell)] != 0.0) {
            if !std::mem::replace(&mut reaches[cell], true) {
                open.push(cell);
            }
        }
    }
    let kept: Vec<usize> = (0..whole.nrows()).filter(|&cell| reaches[cell]).collect();
    let matrix = Matrix::from_fn(kept.len(), kept.len(), |row, column| whole[(kept[row], kept[column])]);
    let (lost, states) = (whole.nrows() - kept.len(), kept.iter().filter(|&&cell| cell < states).count());
    let eigen = Eigen::of(&matrix)?;
    // A force of 1e4 N is no larger than a displacement of 1 m: each cell is scaled by what reaches it.
    let reach: Vec<f64> = (0..matrix.nrows())
        .map(|row| (0..matrix.ncols()).map(|column| matrix[(row, column)].abs()).fold(0.0, f64::max))
        .map(|reach| if reach == 0.0 { 1.0 } else { reach })
        .collect();
    let mut found = Radius { radius: 0.0, unseen: lost, how: ProbeMethod::States };
    for mode in 0..matrix.ncols() {
        if !is_vector(&matrix, &eigen, mode, &reach) {
            found.radius = found.radius.max(eigen.values[mode].norm()); // nothing shows that it is not observable
            continue;
        }
        let share = |cell: usize| eigen.vector_entry(cell, mode).norm() / reach[cell];
        let all = (0..matrix.nrows()).map(share).fold(0.0, f64::max);
        let told = (states..matrix.nrows()).map(share).fold(0.0, f64::max);
        if told <= UNSEEN * all {
            found.unseen += 1;
        } else {
            found.radius = found.radius.max(eigen.values[mode].norm());
        }
    }
    Some(found)
}

/// The same with zeros for what is nothing beside other entries of its row: what has decayed within a step. Balancing would
/// make it as large as the others, and eigenvectors wrong.
fn without_decayed(whole: &Matrix) -> Matrix {
    let most: Vec<f64> = (0..whole.nrows())
        .map(|row| (0..whole.ncols()).map(|column| whole[(row, column)].abs()).fold(0.0, f64::max))
        .collect();
    Matrix::from_fn(whole.nrows(), whole.ncols(), |row, column| {
        let entry = whole[(row, column)];
        if entry.abs() < DECAYED * most[row] { 0.0 } else { entry }
    })
}

/// Whether a computed eigenvector is one: M v = lambda v, each row relative to its largest entry.
fn is_vector(matrix: &Matrix, eigen: &Eigen, mode: usize, reach: &[f64]) -> bool {
    let vector: Vec<_> = (0..matrix.nrows()).map(|cell| eigen.vector_entry(cell, mode)).collect();
    let value = eigen.values[mode];
    let (mut rest, mut all) = (0.0f64, 0.0f64);
    for (row, own) in vector.iter().enumerate() {
        let mut left = value * *own;
        for (column, entry) in vector.iter().enumerate() {
            left = left - *entry * matrix[(row, column)];
        }
        rest = rest.max(left.norm() / reach[row]);
        all = all.max(own.norm() / reach[row]);
    }
    rest <= VECTOR * all
}

/// The smallest step size between two at which the radius crosses 1 from below, to 1e-10 relative.
pub fn neutral(run: &mut Run, from: f64, to: f64) -> Result<f64, StabilityError> {
    let search = NeutralStepSearch { from, to, factor: 1.02, precision: 1e-10 };
    match search.crossing(|size| Ok(radius(run, size)?.radius))? {
        Crossing::At(size) => Ok(size),
        Crossing::Unstable | Crossing::None => Err(StabilityError::NoNeutralStep(from, to)),
    }
}

/// Where and how closely to look for a neutral step.
#[derive(Debug, Clone, Copy)]
pub struct NeutralStepSearch {
    pub from: f64,
    pub to: f64,
    /// From one size to the next; windows of instability narrower than this may be missed.
    pub factor: f64,
    /// Relative.
    pub precision: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Crossing {
    At(f64),
    /// Unstable at the smallest size already.
    Unstable,
    /// Stable up to the largest.
    None,
}

impl NeutralStepSearch {
    pub fn crossing(
        &self,
        mut radius: impl FnMut(f64) -> Result<f64, StabilityError>,
    ) -> Result<Crossing, StabilityError> {
        let mut low = self.from;
        if radius(low)? > 1.0 + NEUTRAL {
            return Ok(Crossing::Unstable);
        }
        let mut high = low * self.factor;
        while radius(high)? <= 1.0 + NEUTRAL {
            if high >= self.to {
                return Ok(Crossing::None);
            }
            low = high;
            high *= self.factor;
        }
        while high - low > self.precision * low {
            let middle = f64::midpoint(low, high);
            if radius(middle)? <= 1.0 { low = middle } else { high = middle }
        }
        Ok(Crossing::At(f64::midpoint(low, high)))
    }
}

/// The largest step that is stable.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Limit {
    /// Here disturbances begin to grow.
    At(f64),
    /// Stable up to here.
    Beyond(f64),
    /// The system itself grows with this rate per second, whatever the coupling.
    System(f64),
    /// Unstable at any step: the loop of direct feed-throughs amplifies.
    Never,
}

impl Limit {
    /// The largest stable step, where it is known.
    pub fn size(self) -> Option<f64> {
        if let Limit::At(size) = self { Some(size) } else { None }
    }

    pub fn text(self) -> String {
        match self {
            Limit::At(size) => format!("largest stable step {} s", three_digits(size)),
            Limit::Beyond(size) => format!("stable at least up to {} s", three_digits(size)),
            Limit::System(_) => "the system itself is unstable".into(),
            Limit::Never => "unstable at every step".into(),
        }
    }
}

/// The largest stable step, looked for from `search.from` downwards and upwards.
pub fn limit(run: &mut Run, search: &NeutralStepSearch) -> Result<Limit, StabilityError> {
    limit_of(search, |size| Ok(radius(run, size)?.radius))
}

/// The same for any measurement of radii. A step whose iteration does not converge is unstable.
pub fn limit_of(
    search: &NeutralStepSearch,
    mut measure: impl FnMut(f64) -> Result<f64, StabilityError>,
) -> Result<Limit, StabilityError> {
    let mut radius = |size: f64| match measure(size) {
        Err(StabilityError::Run(RunError::Step(StepError::NotSettled { .. }))) => Ok(f64::INFINITY),
        found => found,
    };
    let mut from = search.from;
    let mut before: Option<f64> = None;
    for _ in 0..24 {
        let found = radius(from)?;
        if found <= 1.0 + NEUTRAL {
            let search = NeutralStepSearch { from, ..*search };
            return Ok(match search.crossing(radius)? {
                Crossing::At(size) => Limit::At(size),
                Crossing::Unstable | Crossing::None => Limit::Beyond(search.to),
            });
        }
        // What the system does by itself has a rate in time, whatever the step.
        let now = math::ln(found) / from;
        if before.is_some_and(|before: f64| (now / before - 1.0).abs() < 0.02) {
            return Ok(Limit::System(now));
        }
        before = Some(now);
        from /= 2.0;
    }
    Ok(Limit::Never)
}

/// One path of a feedback loop: a bond, or the input of a plain connection.
#[derive(Debug, Clone, PartialEq)]
pub struct CouplingLoop {
    pub name: String,
    pub inputs: Vec<usize>,
    /// The simulators at its ends, sorted.
    pub between: Vec<usize>,
}

/// All bonds, and all connections that belong to none.
pub fn connections(layout: &Layout) -> Vec<CouplingLoop> {
    let (topology, ports) = (&layout.topology, layout.ports());
    let between = |inputs: &[usize]| {
        let mut ends: Vec<usize> = Vec::new();
        for &input in inputs {
            ends.push(topology.owner(PowerVariable::Input(input)));
            ends.extend(topology.couplings.terms(input).iter().map(|term| topology.owners[term.output]));
        }
        ends.sort_unstable();
        ends.dedup();
        ends
    };
    let driven = |input: &usize| !topology.couplings.terms(*input).is_empty();
    let mut all = Vec::new();
    let mut taken = vec![false; topology.shape.inputs];
    for bond in &topology.bonds {
        let ends = bond.sides.iter().flat_map(|side| [side.effort, side.flow]);
        let inputs: Vec<usize> = ends
            .filter_map(|end| if let PowerVariable::Input(input) = end { Some(input) } else { None })
            .filter(driven)
            .collect();
        inputs.iter().for_each(|input| taken[*input] = true);
        all.push(CouplingLoop { name: bond.name.clone(), between: between(&inputs), inputs });
    }
    for input in (0..topology.shape.inputs).filter(|input| !taken[*input]).filter(driven) {
        let from = topology.couplings.terms(input).first().map_or(0, |term| term.output);
        let name = format!(
            "{} -> {}",
            ports.path(PowerVariable::Output(from)),
            ports.path(PowerVariable::Input(input))
        );
        all.push(CouplingLoop { name, inputs: vec![input], between: between(&[input]) });
    }
    all
}

/// Measures with some inputs held at what they are, and connects them again.
pub fn opened<T>(
    run: &mut Run,
    inputs: &[usize],
    measure: impl FnOnce(&mut Run) -> Result<T, StabilityError>,
) -> Result<T, StabilityError> {
    let untouched = run.layout().topology.couplings.clone();
    let outputs = run.outputs().to_vec();
    for &input in inputs {
        let value = untouched.value(input, &outputs);
        run.island().layout.topology.couplings.set_row(input, &untouched, 0.0, value);
    }
    let measured = measure(run);
    run.island().layout.topology.couplings = untouched;
    measured
}

/// The radius with one connection opened at a time: the one that lowers it most limits the step.
pub fn radii_without_each_loop(run: &mut Run, size: f64) -> Result<Vec<(CouplingLoop, f64)>, StabilityError> {
    let mut found = Vec::new();
    for connection in connections(run.layout()) {
        let opened = opened(run, &connection.inputs, |run| radius(run, size))?;
        found.push((connection, opened.radius));
    }
    Ok(found)
}

/// What the monolithic system does by itself: the largest real part of its eigenvalues, in 1/s. `None` where states
/// are hidden.
pub fn monolithic_growth(linearised: &LinearSystem) -> Option<f64> {
    fastest_growth(&linearised.monolithic()?)
}

/// The largest real part of the eigenvalues of a matrix.
pub(crate) fn fastest_growth(whole: &Matrix) -> Option<f64> {
    let modes = Eigen::of(whole)?.values;
    Some(modes.iter().map(|mode| mode.re).fold(f64::NEG_INFINITY, f64::max))
}

/// Column j: what a change of cell j becomes in one step.
pub fn step_matrix(run: &mut Run, size: f64) -> Result<Matrix, StabilityError> {
    let mut point = cells_at(run)?;
    step_matrix_at(run, size, &mut point, PERTURBATION)
}

/// The same at another point, with perturbations of another size.
pub fn step_matrix_at(
    run: &mut Run,
    size: f64,
    point: &mut [f64],
    relative: f64,
) -> Result<Matrix, StabilityError> {
    let island = run.island();
    let cells = island.cells();
    let mut matrix = Matrix::zeros(cells, cells);
    let map = |point: &[f64], into: &mut [f64]| island.map(size, Some(point), into);
    differences(point, relative, cells, map, |column, quotient| {
        matrix.column_mut(column).copy_from_slice(quotient);
    })?;
    if matrix.is_finite() { Ok(matrix) } else { Err(StabilityError::NotFinite(size)) }
}

/// Central differences of so many answers by every cell of a point, one cell after the other.
fn differences<Error>(
    point: &mut [f64],
    relative: f64,
    answers: usize,
    mut ask: impl FnMut(&[f64], &mut [f64]) -> Result<(), Error>,
    mut each: impl FnMut(usize, &[f64]),
) -> Result<(), StabilityError>
where
    RunError: From<Error>,
{
    let (mut above, mut below) = (vec![0.0; answers], vec![0.0; answers]);
    for cell in 0..point.len() {
        let kept = point[cell];
        let perturbation = relative * kept.abs().max(1.0);
        let (high, low) = (kept + perturbation, kept - perturbation);
        point[cell] = high;
        ask(point, &mut above).map_err(RunError::from)?;
        point[cell] = low;
        ask(point, &mut below).map_err(RunError::from)?;
        point[cell] = kept;
        above.iter_mut().zip(&below).for_each(|(above, below)| *above = (*above - below) / (high - low));
        each(cell, &above);
    }
    Ok(())
}
