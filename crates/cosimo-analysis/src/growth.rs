//! Growth of disturbances over several steps of a system of linear models at rest: where components take steps of their own
//! over several windows, by the map over the longest of them; where methods switch between formulas, so that a step is no
//! linear map, by following disturbances over many steps.

use cosimo_core::math;
use cosimo_engine::Run;

use crate::linalg::{Eigen, Matrix, Svd};
use crate::stability::{StabilityError, cells_at};

/// Random starts, steps from each at a time, and how often they are continued.
const STARTS: u64 = 4;
const STEPS: usize = 1600;
const BLOCKS: usize = 24;
/// A factor below is the rise and fall of oscillations, not growth; one above is growth of all there is.
const BEATING: f64 = 1.02;
const GROWN: f64 = 1e6;
/// Windows of the longest cycle that is mapped.
const LONGEST: u64 = 4096;
/// Cycles after each change: until all that is remembered has been reached.
const CYCLES: usize = 8;
/// Directions that are this much smaller than others after a cycle have decayed.
const DECAYED: f64 = 1e-10;

/// How many windows of a size pass until all longer steps end together; `None` where they hardly ever do.
pub fn cycle(run: &Run, size: f64) -> Option<u64> {
    let mut windows = 1u64;
    for rate in &run.layout().methods.rates {
        let ratio = rate.every / size;
        if ratio <= 1.0 + 1e-9 {
            continue;
        }
        // A window is cut at the end of a longer step.
        let own = (ratio * (1.0 - 1e-9)).ceil() as u64;
        windows = windows / divisor(windows, own) * own;
        if windows > LONGEST {
            return None;
        }
    }
    Some(windows)
}

fn divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { divisor(b, a % b) }
}

/// The growth per window of a system with longer steps of components, from its answers over some cycles to a change of
/// each cell. What those components remember besides cells shows in two successive cycles: with z the cells after each,
/// [z2; z3] = M [z1; z2], and M on the range of all [z1; z2] has the eigenvalues of a cycle.
pub fn cycle_growth(run: &mut Run, size: f64, windows: u64) -> Result<f64, StabilityError> {
    let mut point = cells_at(run)?;
    let island = run.island();
    let (cells, windows) = (island.cells(), windows as usize);
    let mut rows = vec![0.0; (CYCLES + 3) * windows * cells];
    let answers = cells * CYCLES;
    let (mut first, mut second) = (Matrix::zeros(2 * cells, answers), Matrix::zeros(2 * cells, answers));
    for changed in 0..cells {
        point[changed] += 1.0;
        let stepped = island.step_response(size, Some(&point), &mut rows);
        point[changed] -= 1.0;
        if stepped.is_err() {
            return Ok(f64::INFINITY); // linear models fail only where numbers end
        }
        for cycle in 0..CYCLES {
            let column = changed * CYCLES + cycle;
            for row in 0..cells {
                let after = |later: usize| rows[((cycle + later) * windows - 1) * cells + row];
                first[(row, column)] = after(1);
                first[(cells + row, column)] = after(2);
                second[(row, column)] = after(2);
                second[(cells + row, column)] = after(3);
            }
        }
    }
    if !(first.is_finite() && second.is_finite()) {
        return Ok(f64::INFINITY);
    }
    let size_of = |values: &mut dyn Iterator<Item = f64>| {
        let most = values.fold(0.0f64, |most, value| most.max(value.abs()));
        if most > 0.0 { most } else { 1.0 }
    };
    let scales: Vec<f64> =
        (0..2 * cells).map(|row| size_of(&mut (0..answers).map(|k| first[(row, k)]))).collect();
    let sizes: Vec<f64> = (0..answers)
        .map(|column| size_of(&mut (0..2 * cells).map(|row| first[(row, column)] / scales[row])))
        .collect();
    let scaled = |matrix: &Matrix| {
        Matrix::from_fn(2 * cells, answers, |row, k| matrix[(row, k)] / (scales[row] * sizes[k]))
    };
    let failed = || StabilityError::NoEigenvalues(size);
    let Svd { left, values, right } = Svd::of(&scaled(&first)).ok_or_else(failed)?;
    let kept = values.iter().filter(|value| **value > DECAYED * values[0]).count();
    let (left, right) = (left.block(0, 0, 2 * cells, kept), right.block(0, 0, answers, kept));
    let inner = &left.transposed() * &(&scaled(&second) * &right);
    let map = Matrix::from_fn(kept, kept, |row, k| inner[(row, k)] / values[k]);
    let modes = Eigen::of(&map).ok_or_else(failed)?.values;
    let largest = modes.iter().map(|mode| mode.norm()).fold(0.0, f64::max);
    Ok(math::powf(largest, 1.0 / windows as f64))
}

/// How much a disturbance of a system at rest grows per step, in the long run: at most over some random starts.
pub fn growth(run: &mut Run, size: f64) -> Result<f64, StabilityError> {
    let mut most = 0.0f64;
    for start in 0..STARTS {
        let found = from_start(run, size, start)?;
        if found > 1.0 {
            return Ok(found);
        }
        most = most.max(found);
    }
    Ok(most)
}

/// Follows a disturbance until it decays or has grown beyond doubt. It may be scaled in between: methods choose by ratios.
fn from_start(run: &mut Run, size: f64, start: u64) -> Result<f64, StabilityError> {
    let mut point = cells_at(run)?;
    let island = run.island();
    let (cells, states) = (island.cells(), island.state_cells());
    let moved = if states > 0 { 0..states } else { 0..cells };
    let mut seed = start;
    point[moved].iter_mut().for_each(|cell| *cell = 2.0 * random(&mut seed) - 1.0);
    let mut rows = vec![0.0; STEPS * cells];
    let mut scales = vec![0.0f64; cells];
    let (mut grown, mut radius) = (1.0, 1.0);
    for block in 0..BLOCKS {
        if island.step_response(size, Some(&point), &mut rows).is_err() {
            return Ok(f64::INFINITY); // linear models fail only where numbers end
        }
        let half = STEPS / 2 * cells;
        if block == 0 {
            for (at, value) in rows.iter().enumerate().filter(|(_, value)| value.is_finite()) {
                scales[at % cells] = scales[at % cells].max(value.abs());
            }
        }
        let size_of = |rows: &[f64]| {
            let told = |(at, value): (usize, &f64)| {
                let scale = scales[at % cells];
                if at % cells < states || scale == 0.0 { 0.0 } else { value.abs() / scale }
            };
            rows.iter()
                .enumerate()
                .map(told)
                .fold(0.0f64, |most, value| if value > most { value } else { most })
        };
        let (before, after) = (size_of(&rows[..half]), size_of(&rows[half..]));
        if !(before.is_finite() && after.is_finite() && rows.iter().all(|value| value.is_finite())) {
            return Ok(f64::INFINITY);
        }
        let factor = if before > 0.0 { after / before } else { 0.0 };
        radius = math::powf(factor, 2.0 / STEPS as f64);
        grown *= factor;
        if factor < BEATING && block > 0 {
            return Ok(radius.min(1.0));
        }
        if grown > GROWN {
            return Ok(radius.max(1.0 + 1e-6));
        }
        let last = &rows[(STEPS - 1) * cells..];
        let most = last.iter().fold(0.0f64, |most, value| most.max(value.abs()));
        if most == 0.0 {
            return Ok(radius.min(1.0));
        }
        point.iter_mut().zip(last).for_each(|(cell, value)| *cell = value / most);
        scales.iter_mut().for_each(|scale| *scale /= most);
    }
    Ok(radius)
}

/// Splitmix64, from 0 to 1.
fn random(state: &mut u64) -> f64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
}
