//! What a method does at many step sizes: radii, the largest stable step, and which connection limits it.

use cosimo_engine::Run;

use crate::stability::{Connection, How, Limit, NEUTRAL, Search, StabilityError, limit, openings, radius};

/// How far beyond a limit connections are opened: far enough for the growth to be no rounding error.
const BEYOND: f64 = 1.1;

#[derive(Debug, Clone)]
pub struct Survey {
    /// Step sizes and radii.
    pub points: Vec<(f64, f64)>,
    pub limit: Limit,
    pub limiting: Option<Limiting>,
    pub how: How,
    /// Modes that no exchanged output shows.
    pub unseen: usize,
    /// How many numbers a step maps onto themselves, and how many of them are states.
    pub cells: usize,
    pub states: usize,
}

/// Connections opened one at a time just beyond the limit.
#[derive(Debug, Clone)]
pub struct Limiting {
    pub size: f64,
    pub radius: f64,
    /// Each with the radius that is left without it, the most effective first.
    pub opened: Vec<(Connection, f64)>,
}

impl Limiting {
    /// The connection without which the step would be stable, or at least most so.
    pub fn culprit(&self) -> Option<&(Connection, f64)> {
        self.opened.first().filter(|(_, radius)| *radius < self.radius * (1.0 - 1e-6))
    }
}

/// Measures a run at all sizes, which ascend.
pub fn survey(run: &mut Run, sizes: &[f64], search: &Search) -> Result<Survey, StabilityError> {
    let mut points = Vec::new();
    let (mut how, mut unseen) = (How::States, 0);
    for &size in sizes {
        let found = radius(run, size)?;
        (how, unseen) = (found.how, found.unseen);
        points.push((size, found.radius));
    }
    let limit = limit(run, search)?;
    let beyond = match limit {
        Limit::At(size) => Some(BEYOND * size),
        Limit::Never => Some(search.from),
        Limit::Beyond(_) | Limit::System(_) => None,
    };
    let limiting = beyond.map(|size| limiting(run, size)).transpose()?;
    let (cells, states) = (run.island().cells(), run.island().state_cells());
    Ok(Survey { points, limit, limiting, how, unseen, cells, states })
}

/// The connections of an unstable step, opened one at a time.
pub fn limiting(run: &mut Run, size: f64) -> Result<Limiting, StabilityError> {
    let radius = radius(run, size)?.radius;
    let mut opened = openings(run, size)?;
    opened.sort_by(|(_, a), (_, b)| a.total_cmp(b));
    Ok(Limiting { size, radius, opened })
}

/// A radius in words.
pub fn words(radius: f64) -> String {
    let little = (radius - 1.0).abs();
    if little <= NEUTRAL {
        "neutral: a disturbance neither grows nor decays".into()
    } else if radius > 1.0 {
        let by = if little < 1e-3 {
            format!("by {little:.1e} of itself")
        } else {
            format!("{} times", crate::forecast::digits(radius))
        };
        format!("unstable: a disturbance grows {by} per step")
    } else if little < 1e-3 {
        format!("stable: a disturbance decays by {little:.1e} of itself per step")
    } else {
        format!("stable: a disturbance decays to {radius:.4} of itself per step")
    }
}
