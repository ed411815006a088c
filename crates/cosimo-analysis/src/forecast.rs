//! Forecast of a run: whether its method and step size are stable, the largest stable step, also of every loop, remedies,
//! and the number of steps. All spectral radii are measured, those of the remedies too.

use std::collections::BTreeMap;

use cosimo_core::registry::number_text;
use cosimo_core::trial::Crash;
use cosimo_core::{Registry, StepError, math};
use cosimo_engine::{Run, RunError, plan};
use cosimo_system::{MethodConfig, Problem, System};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use crate::causality::advise;
use crate::line_loops::{LineLoops, line_loops};
use crate::linear_models::{ModelledSystem, NoModels, modelled};
use crate::linearise::linearise;
use crate::prepared::{Prepared, prepared_limit};
use crate::remedies::{Prediction, Predictor, error_text, rounded_down};
use crate::stability::{
    self, Limit, NEUTRAL, NeutralStepSearch, ProbeMethod, Radius, StabilityError, connections, opened, radius,
};
use crate::variant::{VariantError, started, with_methods};

/// Limit of states, samples and memory of a forecast.
const MOST: usize = 120;
/// Steps of the short run of a system that may be nonlinear, and the parts of it that are analysed.
const SHORT_RUN: f64 = 400.0;
const INSTANTS: [f64; 3] = [0.1, 0.4, 1.0];
/// At a later instant the limit is the same if a step this far inside of it is stable.
const INSIDE: f64 = 0.97;
/// Range around the step in which the stability limit is searched.
const AROUND: f64 = 64.0;
/// Ratio of the sizes that are looked at: steps beyond a period of the system have narrow windows of instability. Closely
/// for systems of few cells, whose radii take milliseconds.
const CLOSE: f64 = 1.05;
const COARSE: f64 = 1.12;
const FEW: usize = 40;
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
    /// How much a disturbance grows per step; null where the iteration does not converge at this step.
    #[serde(serialize_with = "finite")]
    #[schemars(with = "Option<f64>")]
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
    /// The instant in seconds with the smallest limit, among those analysed.
    pub at: f64,
    /// How many instants were analysed: later ones of a short run where the system moves.
    pub instants: usize,
    /// What one repetition of an iteration leaves of an error; null without iteration.
    pub contraction: Option<f64>,
    /// The predicted largest error of a signal at the analysed step, relative to its largest value; null where it is not
    /// known.
    pub error: Option<f64>,
    /// The wanted error of signals.
    pub accuracy: f64,
    /// The step in seconds that the wanted error needs with these methods; null where it is not known.
    pub accurate_step: Option<f64>,
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
    /// The predicted largest error of a signal, relative to its largest value; null where it is not known.
    pub error: Option<f64>,
    /// The step in seconds that the wanted accuracy needs with it; null where it is not known.
    pub accurate_step: Option<f64>,
}

fn limit_words<S: Serializer>(limit: &Option<Limit>, to: S) -> Result<S::Ok, S::Error> {
    limit.map(Limit::text).serialize(to)
}

fn finite<S: Serializer>(value: &f64, to: S) -> Result<S::Ok, S::Error> {
    value.is_finite().then_some(value).serialize(to)
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
    #[error(
        "the iteration does not converge, not even in short steps: a repetition leaves {} of an error",
        contraction.map_or("most".into(), three_digits)
    )]
    Unsettled { contraction: Option<f64> },
    /// A system with lines has another kind of forecast.
    #[error("{0}")]
    Lines(LineLoops),
    #[error(transparent)]
    NoModels(#[from] NoModels),
    #[error(transparent)]
    Crashed(#[from] Crash),
}

/// The forecast of a run; errors of signals are judged against the wanted accuracy of the system.
pub fn forecast(system: &System, registry: &Registry) -> Result<Forecast, NoForecast> {
    if system.bonds.iter().any(|bond| bond.line.is_some()) {
        return Err(NoForecast::Lines(line_loops(system, registry)?));
    }
    let mut run = match started(system, registry, None) {
        Err(VariantError::Run(RunError::Step(StepError::NotSettled { .. }))) => {
            return Err(unsettled(system, registry));
        }
        found => found?,
    };
    let varies = run.layout().limits.control.adaptive;
    let step = &system.methods.step;
    let size = if varies { Some(step.max) } else { step.size };
    let size = size.filter(|size| size.is_finite() && *size > 0.0).ok_or(NoForecast::NoSize)?;
    let factor = if run.island().cells() <= FEW { CLOSE } else { COARSE };
    let search = NeutralStepSearch { from: size / AROUND, to: size * AROUND, factor, precision: 1e-3 };
    if let Some(name) = run.layout().methods.identifying_correction() {
        return Err(StabilityError::Learns(name).into());
    }
    few(&mut run)?;
    let mut first = Prepared::from_run(run, system, registry, None, size)?;
    few(&mut first.run)?;
    let (mut prepared, limit) = prepared_limit(first, system, registry, None, &search)?;
    let found = prepared.radius(size);
    // An iteration that does not converge at this step has a limit all the same.
    let found = match found {
        Err(StabilityError::Run(RunError::Step(StepError::NotSettled { .. }))) if limit.is_some() => {
            Radius { radius: f64::INFINITY, unseen: 0, how: prepared.how }
        }
        found => found?,
    };
    let iterates = system.methods.iteration.name != MethodConfig::default().iteration.name;
    let contraction = if iterates && !prepared.grows(size) { prepared.contraction(size).ok() } else { None };
    let loops = if limit.is_some() && !prepared.grows(size) {
        loops(&mut prepared.run, &NeutralStepSearch { factor: COARSE, ..search })?
    } else {
        Vec::new()
    };
    let mut worst = Instant { at: prepared.run.time().seconds(), radius: found.radius, limit };
    if let Some(models) = &prepared.models {
        worst.at = models.at;
    }
    let instants = later(system, registry, &prepared, size, &search, &mut worst);
    let unstable = worst.radius > 1.0 + NEUTRAL;
    let predictor = predictor(system, registry, &prepared, size);
    let accuracy = system.experiment.wanted_accuracy();
    let own = predictor.as_ref().filter(|_| !varies);
    let own = own.and_then(|predictor| predictor.predict(&system.methods, size, accuracy));
    let remedies = match worst.limit {
        Some(Limit::System(_)) => Vec::new(),
        _ if unstable => {
            let known =
                Known { system, registry, size, limit: worst.limit, predictor: predictor.as_ref(), own };
            remedies(&known, &mut prepared)
        }
        _ => Vec::new(),
    };
    let duration = system.experiment.stop - system.experiment.start;
    let count = |size: f64| (duration / size * (1.0 - 1e-9)).ceil().max(1.0) as u64;
    Ok(Forecast {
        size,
        varies,
        radius: worst.radius,
        how: found.how,
        stable: !unstable,
        largest_stable_step: worst.limit.and_then(Limit::size),
        limit: worst.limit,
        at: worst.at,
        instants,
        loops,
        contraction,
        error: own.map(|own| own.error).filter(|error| error.is_finite()),
        accuracy,
        accurate_step: own.and_then(|own| own.step),
        remedies,
        steps: count(size),
        most_steps: if varies { Some(count(step.min)) } else { None },
    })
}

/// The contraction of an iteration that does not even converge in short steps, from models that take steps without it.
fn unsettled(system: &System, registry: &Registry) -> NoForecast {
    let size = system.methods.step.size.unwrap_or(system.methods.step.max);
    let mut plain = system.clone();
    plain.methods.iteration = MethodConfig::default().iteration;
    let measured = Prepared::with_models(&plain, registry, size).and_then(|prepared| {
        let Some(iterated) = prepared.with_methods(&system.methods) else { return Ok(None) };
        iterated?.contraction(size).map(Some)
    });
    match measured {
        Ok(contraction) => NoForecast::Unsettled { contraction },
        Err(error) => error.into(),
    }
}

fn few(run: &mut Run) -> Result<(), NoForecast> {
    let cells = run.island().cells();
    if cells > MOST { Err(NoForecast::TooMany(cells, MOST)) } else { Ok(()) }
}

/// A step measured at an instant.
struct Instant {
    at: f64,
    radius: f64,
    limit: Option<Limit>,
}

/// Later instants of a short run, at which a nonlinear system may have another limit: the smallest counts. Returns how many
/// instants were analysed; where the run fails or a later instant has no answer, only those before it.
fn later(
    system: &System,
    registry: &Registry,
    prepared: &Prepared,
    size: f64,
    search: &NeutralStepSearch,
    worst: &mut Instant,
) -> usize {
    let Some(Limit::At(_) | Limit::Beyond(_)) = worst.limit else { return 1 };
    if !prepared.free || prepared.models.as_ref().is_some_and(ModelledSystem::rests) {
        return 1;
    }
    let stable = worst.limit.and_then(Limit::size).map_or(size, |limit| size.min(0.5 * limit));
    let mut short = system.clone();
    short.methods.step.size = Some(stable);
    short.methods.step.max = short.methods.step.max.max(stable);
    let (start, duration) = (system.experiment.start, system.experiment.stop - system.experiment.start);
    let span = duration.min(SHORT_RUN * stable);
    let mut count = 1;
    // Models of components take far more steps than a perturbed step does: only the last instant then.
    let skipped = if prepared.models.is_some() { INSTANTS.len() - 1 } else { 0 };
    for part in &INSTANTS[skipped..] {
        let at = start + part * span;
        let Ok(mut there) = Prepared::new(&short, registry, Some(at), size) else { break };
        let Ok(now) = there.radius(size) else { break };
        let held = match worst.limit {
            Some(Limit::At(limit)) => there.radius(INSIDE * limit).map(|found| found.radius),
            _ => Ok(now.radius),
        };
        let Ok(held) = held else { break };
        count += 1;
        if held <= 1.0 + NEUTRAL {
            continue;
        }
        let Ok(limit) = there.limit(search) else { break };
        let smaller = match (limit, worst.limit) {
            (Limit::At(limit), Some(Limit::At(least))) => limit < least,
            (Limit::Beyond(_), _) => false,
            _ => true,
        };
        if smaller {
            *worst = Instant { at, radius: now.radius.max(worst.radius), limit: Some(limit) };
        }
    }
    count
}

/// Predictions need linear models of all components. Nothing where there are none.
fn predictor(system: &System, registry: &Registry, prepared: &Prepared, size: f64) -> Option<Predictor> {
    match &prepared.models {
        Some(models) => Predictor::new(models),
        None => Predictor::new(&modelled(system, registry, size, None).ok()?),
    }
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

/// What remedies are looked for.
struct Known<'a> {
    system: &'a System,
    registry: &'a Registry,
    size: f64,
    limit: Option<Limit>,
    predictor: Option<&'a Predictor>,
    own: Option<Prediction>,
}

/// Other methods at the same step, and the same methods at a smaller one; those that are stable, the most accurate first.
fn remedies(known: &Known<'_>, prepared: &mut Prepared) -> Vec<Remedy> {
    let mut found: Vec<Remedy> =
        TRIED.iter().filter_map(|(method, option)| other_method(known, prepared, method, option)).collect();
    found.extend(exchanged(known, prepared));
    let rank = |remedy: &Remedy| (remedy.error.unwrap_or(f64::INFINITY), remedy.radius);
    let by_error = |a: &Remedy, b: &Remedy| {
        let ((a, first), (b, second)) = (rank(a), rank(b));
        a.total_cmp(&b).then(first.total_cmp(&second))
    };
    found.sort_by(by_error);
    if let Some(Limit::At(most)) = known.limit
        && most < known.size
    {
        found.truncate(REMEDIES - 1);
        let wanted = known.own.and_then(|own| own.step).unwrap_or(f64::INFINITY);
        let smaller = rounded_down(wanted.min(0.8 * most));
        if let Ok(found_radius) = prepared.radius(smaller)
            && found_radius.radius <= 1.0 + NEUTRAL
        {
            found.push(Remedy {
                words: format!("--step {}", number_text(smaller)),
                radius: found_radius.radius,
                error: known.predictor.and_then(|it| it.error(&known.system.methods, smaller)),
                accurate_step: known.own.and_then(|own| own.step),
            });
        }
        found.sort_by(by_error);
    }
    found.truncate(REMEDIES);
    found
}

/// Methods that cannot be planned or probed are left out.
fn other_method(known: &Known<'_>, prepared: &Prepared, method: &str, option: &str) -> Option<Remedy> {
    let changed = with_methods(known.system, method, known.registry).ok()?;
    if changed == *known.system {
        return None;
    }
    let radius = match prepared.with_methods(&changed.methods) {
        // Models can be rolled back, and what they replace perhaps not.
        Some(models) => {
            plan(&changed, known.registry).ok()?;
            models.ok()?.radius(known.size).ok()?.radius
        }
        None => radius(&mut started(&changed, known.registry, None).ok()?, known.size).ok()?.radius,
    };
    let accuracy = known.system.experiment.wanted_accuracy();
    let predicted = known.predictor.and_then(|it| it.predict(&changed.methods, known.size, accuracy));
    let finite = predicted.is_none_or(|predicted| predicted.error.is_finite());
    (radius < 1.0 && finite).then(|| Remedy {
        words: format!("--method {option}"),
        radius,
        error: predicted.map(|predicted| predicted.error),
        accurate_step: predicted.and_then(|predicted| predicted.step),
    })
}

/// Reversed causality of a bond, where that alone makes the step stable.
fn exchanged(known: &Known<'_>, prepared: &mut Prepared) -> Option<Remedy> {
    let models = prepared.models.as_ref().map(|models| (&models.system, &models.registry));
    let (system, registry) = models.unwrap_or((known.system, known.registry));
    let linearised = linearise(system, registry, &mut prepared.run, known.size).ok()?;
    let layout = prepared.run.layout();
    let advice = advise(&linearised, layout, known.size).into_iter().find(|advice| advice.exchange)?;
    let (bond, receiver) = (&advice.bond, &advice.tells_effort);
    let words =
        format!("reversing the causality of bond `{bond}` (effort as input of `{receiver}`), inputs held");
    let radius = advice.radius_exchanged.filter(|radius| *radius < 1.0)?;
    Some(Remedy { words, radius, error: advice.error_exchanged, accurate_step: None })
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
        let remedies: Vec<String> = self.remedies.iter().map(|remedy| remedy.text(self.accuracy)).collect();
        Some(problem.hint(format!("try {}", remedies.join(", or "))))
    }
}

impl Remedy {
    fn text(&self, accuracy: f64) -> String {
        let error = self.error.map_or(String::new(), |error| format!(", error {}", error_text(error)));
        let step = match (self.error, self.accurate_step) {
            (Some(error), Some(step)) if error > accuracy => {
                format!(", {} needs a step of {} s", error_text(accuracy), number_text(step))
            }
            _ => String::new(),
        };
        format!("{} (radius {:.3}{error}{step})", self.words, self.radius)
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
