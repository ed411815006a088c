//! Stability of a method over many step sizes: spectral radii, the largest stable step, and which connection limits it.

use cosimo_core::Registry;
use cosimo_engine::Run;
use cosimo_system::System;
use serde::{Serialize, Serializer};

use crate::linearise::linearise;
use crate::prepared::{Prepared, prepared_limit};
use crate::remedies::Predictor;
use crate::stability::{
    Limit, NEUTRAL, NeutralStepSearch, ProbeMethod, StabilityError, fastest_growth, monolithic_growth,
    radii_without_each_loop, radius,
};

/// Connections are opened at this multiple of the limit: far enough for the growth to exceed rounding.
const BEYOND: f64 = 1.1;
/// The limit is searched up to this multiple of the largest size.
const SEARCHED: f64 = 16.0;
/// Integrators have a rate of 0, but for rounding: rates below this fraction of the fastest count as 0.
const NO_GROWTH: f64 = 1e-6;

#[derive(Debug, Clone, Serialize)]
pub struct Survey {
    /// The instant, in seconds.
    pub at: f64,
    pub points: Vec<SurveyPoint>,
    pub largest_stable_step: Option<f64>,
    #[serde(serialize_with = "limit_word")]
    pub limit: Limit,
    /// The connection without which the step would be stable, or at least most so.
    pub limited_by: Option<String>,
    pub limiting: Option<LimitingConnections>,
    /// The rate per second at which the monolithic system grows, where it does.
    pub growth_of_system: Option<f64>,
    #[serde(rename = "measured_by")]
    pub how: ProbeMethod,
    /// How many numbers a step maps onto themselves, and how many of them are states.
    pub states: usize,
    pub cells: usize,
    /// Modes that no exchanged output shows.
    pub unseen: usize,
}

/// A step size and its radius.
#[derive(Debug, Clone, Serialize)]
pub struct SurveyPoint {
    pub step: f64,
    pub radius: f64,
    pub words: String,
}

/// Connections opened one at a time just beyond the limit.
#[derive(Debug, Clone, Serialize)]
pub struct LimitingConnections {
    pub step: f64,
    pub radius: f64,
    /// Each with the radius that is left without it, the most effective first.
    pub opened: Vec<OpenedConnection>,
}

#[derive(Debug, Clone, Serialize)]
pub struct OpenedConnection {
    pub connection: String,
    pub radius: f64,
}

impl LimitingConnections {
    /// The connection without which the step would be stable, or at least most so.
    pub fn culprit(&self) -> Option<&OpenedConnection> {
        self.opened.first().filter(|opened| opened.radius < self.radius * (1.0 - 1e-6))
    }
}

fn limit_word<S: Serializer>(limit: &Limit, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(match limit {
        Limit::At(_) => "step",
        Limit::Beyond(_) => "none-found",
        Limit::System(_) => "system",
        Limit::Never => "feed-through",
    })
}

/// Measures a system at an instant, or a few steps after its start, at all sizes, which ascend.
pub fn survey(
    system: &System,
    registry: &Registry,
    at: Option<f64>,
    sizes: &[f64],
) -> Result<Survey, StabilityError> {
    let (first, last) = (sizes[0], sizes[sizes.len() - 1]);
    let search = NeutralStepSearch { from: first, to: SEARCHED * last, factor: 1.1, precision: 1e-6 };
    let prepared = Prepared::new(system, registry, at, first)?;
    let (mut prepared, limit) = prepared_limit(prepared, system, registry, at, &search)?;
    let limit = match limit {
        Some(limit) => limit,
        None => prepared.limit(&search)?,
    };
    let mut points = Vec::new();
    let (mut how, mut unseen) = (ProbeMethod::States, 0);
    for &step in sizes {
        let found = prepared.radius(step)?;
        (how, unseen) = (found.how, found.unseen);
        points.push(SurveyPoint { step, radius: found.radius, words: radius_text(found.radius) });
    }
    let beyond = match limit {
        Limit::At(size) => Some(BEYOND * size),
        Limit::Never => Some(search.from),
        Limit::Beyond(_) | Limit::System(_) => None,
    };
    let beyond = beyond.filter(|size| !prepared.grows(*size));
    let limiting = beyond.map(|size| limiting(&mut prepared.run, size)).transpose()?;
    let (cells, states) = (prepared.run.island().cells(), prepared.run.island().state_cells());
    // Slow growth of the system itself is below the rounding of small steps, so its equations are evaluated, too.
    let growth = match (limit, &prepared.models) {
        (Limit::System(rate), _) => Some(rate),
        (_, Some(models)) => Predictor::new(models).and_then(|whole| fastest_growth(whole.monolithic())),
        (_, None) => {
            let equations = linearise(system, registry, &mut prepared.run, first).ok();
            equations.as_ref().and_then(monolithic_growth)
        }
    };
    let seconds = prepared.models.as_ref().map_or(prepared.run.time().seconds(), |models| models.at);
    Ok(Survey {
        at: seconds,
        points,
        largest_stable_step: limit.size(),
        limit,
        limited_by: limiting
            .as_ref()
            .and_then(LimitingConnections::culprit)
            .map(|culprit| culprit.connection.clone()),
        limiting,
        growth_of_system: growth.filter(|rate| *rate > NO_GROWTH * (1.0 / first)),
        how,
        states,
        cells,
        unseen,
    })
}

/// The connections of an unstable step, opened one at a time.
fn limiting(run: &mut Run, step: f64) -> Result<LimitingConnections, StabilityError> {
    let radius = radius(run, step)?.radius;
    let mut opened = radii_without_each_loop(run, step)?;
    opened.sort_by(|(_, a), (_, b)| a.total_cmp(b));
    let opened = opened.into_iter();
    let opened = opened.map(|(connection, radius)| OpenedConnection { connection: connection.name, radius });
    Ok(LimitingConnections { step, radius, opened: opened.collect() })
}

/// A spectral radius as text.
pub fn radius_text(radius: f64) -> String {
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
