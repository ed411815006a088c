//! Forecast of a run: whether its method and step size are stable, the largest stable step, also of every loop, remedies,
//! and the number of steps. All spectral radii are measured, those of the remedies too.

use std::collections::BTreeMap;

use cosimo_core::Registry;
use cosimo_core::math;
use cosimo_core::registry::number_text;
use cosimo_core::trial::Crash;
use cosimo_engine::Run;
use cosimo_system::{Problem, System};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use crate::causality::advise;
use crate::linearise::linearise;
use crate::stability::{
    self, Limit, NEUTRAL, NeutralStepSearch, ProbeMethod, StabilityError, connections, opened, radius,
};
use crate::variant::{VariantError, started, with_methods};

/// Limit of states, samples and memory of a forecast; and where impulse responses are needed, which take 24 steps each.
const MOST: usize = 80;
const MOST_BY_IMPULSES: usize = 16;
/// Range around the step in which the stability limit is searched.
const AROUND: f64 = 64.0;
/// How many remedies are named.
const REMEDIES: usize = 3;
/// Methods to try instead, with their command-line options.
const TRIED: [(&str, &str); 8] = [
    ("causal", "input=causal"),
    ("hold", "input=hold"),
    ("linear", "input=linear"),
    ("gauss-seidel", "partition=gauss-seidel"),
    ("nepce", "correction=nepce"),
    ("pre-step", "correction=pre-step"),
    ("waveform", "iteration=waveform"),
    ("fresh", "exchange=fresh"),
];

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Forecast {
    /// The analysed step size, in seconds: the fixed one, or the largest that the step controller may choose.
    #[serde(rename = "step")]
    pub size: f64,
    /// The step controller may choose other sizes.
    pub varies: bool,
    /// How much a disturbance grows per step.
    pub radius: f64,
    #[serde(skip)]
    pub how: ProbeMethod,
    pub stable: bool,
    /// Seconds; null where it is not known.
    pub largest_stable_step: Option<f64>,
    /// The same as text; null where a component does not accept other step sizes.
    #[serde(serialize_with = "limit_words")]
    #[schemars(with = "Option<String>")]
    pub limit: Option<Limit>,
    /// Where there are several: pairs of components in a loop, each with its own limit.
    pub loops: Vec<LoopLimit>,
    /// For an unstable step only.
    pub remedies: Vec<Remedy>,
    /// The fewest steps that the run can take.
    pub steps: u64,
    /// The most, where they vary.
    pub most_steps: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct LoopLimit {
    pub name: String,
    /// Seconds; null where it is not known.
    pub largest_stable_step: Option<f64>,
    /// The same as text.
    pub limit: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Remedy {
    /// A command-line option, or a description where there is no such option.
    pub words: String,
    pub radius: f64,
}

fn limit_words<S: Serializer>(limit: &Option<Limit>, to: S) -> Result<S::Ok, S::Error> {
    limit.map(Limit::text).serialize(to)
}

/// Why there is no forecast.
#[derive(Debug, thiserror::Error)]
pub enum NoForecast {
    #[error("the step size is not known before the run: neither `size` nor a finite `max` is given")]
    NoSize,
    #[error(
        "{0} states, samples and memory cells are too many for a quick forecast, which is limited to {1}; see `cosimo analyse \
         stability`"
    )]
    TooMany(usize, usize),
    #[error(transparent)]
    Stability(#[from] StabilityError),
    #[error(transparent)]
    Variant(#[from] VariantError),
    #[error(transparent)]
    Crashed(#[from] Crash),
}

pub fn forecast(system: &System, registry: &Registry) -> Result<Forecast, NoForecast> {
    let mut run = started(system, registry, None)?;
    let varies = run.layout().limits.control.adaptive;
    let step = &system.methods.step;
    let size = if varies { Some(step.max) } else { step.size };
    let size = size.filter(|size| size.is_finite() && *size > 0.0).ok_or(NoForecast::NoSize)?;
    if let Some(name) = run.layout().methods.identifying_correction() {
        return Err(StabilityError::Learns(name).into());
    }
    let cells = run.island().cells();
    let most = if run.layout().topology.hidden.is_empty() { MOST } else { MOST_BY_IMPULSES };
    if cells > most {
        return Err(NoForecast::TooMany(cells, most));
    }
    let found = radius(&mut run, size)?;
    // Windows shorter than a multi-rate step would not map the whole state onto itself.
    let own = run.layout().methods.rates.iter().map(|rate| rate.every).fold(0.0, f64::max);
    let search =
        NeutralStepSearch { from: own.max(size / AROUND), to: size * AROUND, factor: 1.25, precision: 1e-3 };
    let free = run.layout().topology.interfaces.iter().all(|interface| interface.abilities.variable_step);
    let limit = if free { Some(stability::limit(&mut run, &search)?) } else { None };
    let loops = if free { loops(&mut run, &search)? } else { Vec::new() };
    let unstable = found.radius > 1.0 + NEUTRAL;
    let remedies = match limit {
        Some(Limit::System(_)) => Vec::new(),
        _ if unstable => remedies(system, registry, &mut run, size, limit),
        _ => Vec::new(),
    };
    let duration = system.experiment.stop - system.experiment.start;
    let count = |size: f64| (duration / size * (1.0 - 1e-9)).ceil().max(1.0) as u64;
    Ok(Forecast {
        size,
        varies,
        radius: found.radius,
        how: found.how,
        stable: !unstable,
        largest_stable_step: limit.and_then(Limit::size),
        limit,
        loops,
        remedies,
        steps: count(size),
        most_steps: if varies { Some(count(step.min)) } else { None },
    })
}

/// Limits of pairs of components with all others held. Nothing where there is one pair only.
fn loops(run: &mut Run, search: &NeutralStepSearch) -> Result<Vec<LoopLimit>, StabilityError> {
    let all = connections(run.layout());
    let mut pairs: BTreeMap<Vec<usize>, Vec<usize>> = BTreeMap::new();
    for (index, connection) in all.iter().enumerate() {
        pairs.entry(connection.between.clone()).or_default().push(index);
    }
    let mut limits = Vec::new();
    if pairs.len() < 2 {
        return Ok(limits);
    }
    for (ends, members) in &pairs {
        // Connections in one direction only are not a loop.
        let blocks = &run.layout().topology.blocks;
        let inputs = members.iter().flat_map(|&index| &all[index].inputs);
        if !ends.iter().all(|&end| inputs.clone().any(|input| blocks[end].inputs.contains(input))) {
            continue;
        }
        let others: Vec<usize> = (0..all.len())
            .filter(|index| !members.contains(index))
            .flat_map(|index| all[index].inputs.clone())
            .collect();
        let bonds: Vec<&str> = members
            .iter()
            .map(|&index| &all[index])
            .filter(|connection| run.layout().topology.bonds.iter().any(|bond| bond.name == connection.name))
            .map(|connection| connection.name.as_str())
            .collect();
        let names: Vec<&str> = ends.iter().map(|&end| run.layout().topology.names[end].as_str()).collect();
        let name = match bonds[..] {
            [] => names.join(" and "),
            _ => format!("{} ({})", bonds.join(", "), names.join(" and ")),
        };
        let limit = opened(run, &others, |run| stability::limit(run, search))?;
        limits.push(LoopLimit { name, largest_stable_step: limit.size(), limit: limit.text() });
    }
    Ok(limits)
}

/// Other methods at the same step, and the same methods at a smaller one; those that are stable, best first.
fn remedies(
    system: &System,
    registry: &Registry,
    run: &mut Run,
    size: f64,
    limit: Option<Limit>,
) -> Vec<Remedy> {
    let mut found: Vec<Remedy> = TRIED
        .iter()
        .filter_map(|(method, option)| {
            let changed = with_methods(system, method, registry).ok()?;
            if changed == *system {
                return None;
            }
            // Methods that cannot be planned or probed are left out.
            let radius = radius(&mut started(&changed, registry, None).ok()?, size).ok()?.radius;
            Some(Remedy { words: format!("--method {option}"), radius })
        })
        .filter(|remedy| remedy.radius < 1.0)
        .collect();
    found.extend(exchanged(system, registry, run, size));
    found.sort_by(|a, b| a.radius.total_cmp(&b.radius));
    if let Some(Limit::At(most)) = limit
        && most < size
    {
        found.truncate(REMEDIES - 1);
        let smaller = rounded_down(0.8 * most);
        if let Ok(smaller_radius) = radius(run, smaller) {
            found.push(Remedy {
                words: format!("--step {}", number_text(smaller)),
                radius: smaller_radius.radius,
            });
        }
    }
    found.truncate(REMEDIES);
    found
}

/// Reversed causality of a bond, where that alone makes the step stable.
fn exchanged(system: &System, registry: &Registry, run: &mut Run, size: f64) -> Option<Remedy> {
    let linearised = linearise(system, registry, run, size).ok()?;
    let advice = advise(&linearised, run.layout(), size).into_iter().find(|advice| advice.exchange)?;
    let (bond, receiver) = (&advice.bond, &advice.tells_effort);
    let words =
        format!("reversing the causality of bond `{bond}` (effort as input of `{receiver}`), inputs held");
    advice.radius_exchanged.filter(|radius| *radius < 1.0).map(|radius| Remedy { words, radius })
}

/// To two digits, never up.
fn rounded_down(value: f64) -> f64 {
    let digits = math::powf(10.0, math::log10(value).floor() - 1.0);
    let rounded = (value / digits).floor() * digits;
    // As text and back, so that 3.5e-3 is 3.5e-3 and not its neighbour.
    format!("{rounded:.1e}").parse().unwrap_or(rounded)
}

impl Forecast {
    /// The warning of `check` about an unstable step. None with step control, which may choose smaller steps, and none where
    /// a disturbance does not even double in the whole run, as the slow growth of undamped motion with held inputs.
    pub fn problem(&self, system: &System) -> Option<Problem> {
        let growth = math::ln(self.radius) * self.steps as f64;
        if self.stable || self.varies || growth < std::f64::consts::LN_2 {
            return None;
        }
        let size = number_text(self.size);
        let (radius, span) = (digits(self.radius), system.methods.step.span.clone());
        let message = match self.limit {
            Some(Limit::System(rate)) => format!(
                "the system itself is unstable, it grows by the factor e in {} s; the coupling is not the cause",
                three_digits(1.0 / rate)
            ),
            Some(Limit::Never) => format!(
                "a step of {size} s is unstable (a disturbance grows {radius} times per step), and so is every smaller one"
            ),
            Some(Limit::At(most)) => format!(
                "a step of {size} s is unstable: a disturbance grows {radius} times per step; the largest stable step is {} s",
                three_digits(most)
            ),
            Some(Limit::Beyond(_)) => format!(
                "a step of {size} s is unstable: a disturbance grows {radius} times per step; smaller and larger steps are stable"
            ),
            None => format!("a step of {size} s is unstable: a disturbance grows {radius} times per step"),
        };
        let problem = Problem::warning("check/unstable-step", message, span);
        if self.remedies.is_empty() {
            return Some(problem);
        }
        let remedies: Vec<String> = self
            .remedies
            .iter()
            .map(|remedy| format!("{} (radius {:.3})", remedy.words, remedy.radius))
            .collect();
        Some(problem.hint(format!("try {}", remedies.join(", or "))))
    }
}

/// A radius to four digits, or more where it is near 1.
pub(crate) fn digits(radius: f64) -> String {
    if (0.999..1.001).contains(&radius) {
        format!("{radius:.7}")
    } else {
        format!("{radius:.3e}").parse::<f64>().map_or_else(|_| radius.to_string(), number_text)
    }
}

/// A number to three digits.
pub fn three_digits(value: f64) -> String {
    format!("{value:.2e}").parse::<f64>().map_or_else(|_| value.to_string(), number_text)
}
