//! A system ready to be measured at an instant: a run of it, or of linear models in the place of its components where one
//! hides its states, takes steps of its own over several windows, or where a method switches between formulas.

use cosimo_core::Registry;
use cosimo_core::math;
use cosimo_engine::{Run, RunError, plan};
use cosimo_system::{MethodConfig, System};

use crate::growth::{cycle, cycle_growth, growth};
use crate::linalg::{Eigen, Matrix};
use crate::linear_models::{ModelledSystem, NoModels, modelled};
use crate::stability::{self, Limit, NeutralStepSearch, ProbeMethod, Radius, StabilityError, limit_of};
use crate::variant::{VariantError, started};

/// Models of components hold for steps from this multiple of the shortest window that they were made from.
const SHORTEST: f64 = 2.0;
/// Models made for this multiple of a step hold for that step.
const FINER: f64 = 4.0;
/// Shorter and shorter windows, and how often the step that components are modelled at may change.
const ROUNDS: usize = 5;
/// Components answer to steps of a size as their models do, to this.
const ALIKE: f64 = 5e-3;
/// A limit found by models made at the limit itself is kept where it moves by less.
const SETTLED: f64 = 0.02;
/// Growth of models by themselves may differ by this factor between steps.
const SLOWEST: f64 = 1.2;
/// Change of an assumed output, relative to its value or 1.
const SWEPT: f64 = 1e-5;
/// Precision and ratio of sizes of a search by growth over many steps; a larger ratio steps over narrow ranges of instability.
const GROWTH_SEARCH: (f64, f64) = (4e-3, 1.08);

/// See the module.
pub struct Prepared {
    pub run: Run,
    pub models: Option<ModelledSystem>,
    pub how: ProbeMethod,
    /// All components accept steps of any size.
    pub free: bool,
    /// The step that components are modelled for.
    size: f64,
}

impl std::fmt::Debug for Prepared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Prepared({:?}, {:?})", self.run, self.how)
    }
}

impl Prepared {
    pub fn new(
        system: &System,
        registry: &Registry,
        at: Option<f64>,
        size: f64,
    ) -> Result<Prepared, StabilityError> {
        Prepared::from_run(started(system, registry, at)?, system, registry, at, size)
    }

    /// The same from a run of the system at that instant.
    pub fn from_run(
        run: Run,
        system: &System,
        registry: &Registry,
        at: Option<f64>,
        size: f64,
    ) -> Result<Prepared, StabilityError> {
        let layout = run.layout();
        if let Some(name) = layout.methods.identifying_correction() {
            return Err(StabilityError::Learns(name));
        }
        if layout.topology.driving.is_empty() {
            return Err(StabilityError::NothingExchanged);
        }
        let free = layout.topology.interfaces.iter().all(|interface| interface.abilities.variable_step);
        let hidden = !layout.topology.hidden.is_empty();
        if !(hidden || layout.methods.switching() || !layout.methods.rates.is_empty()) {
            return Ok(Prepared { run, models: None, how: ProbeMethod::States, free, size });
        }
        let models = modelled(system, registry, size, at)?;
        let how = if hidden { ProbeMethod::Models } else { ProbeMethod::States };
        Prepared::of(models, how, free, size)
    }

    /// With linear models of all components in any case, at the start.
    pub(crate) fn with_models(
        system: &System,
        registry: &Registry,
        size: f64,
    ) -> Result<Prepared, StabilityError> {
        Prepared::of(modelled(system, registry, size, None)?, ProbeMethod::Models, true, size)
    }

    fn of(
        models: ModelledSystem,
        how: ProbeMethod,
        free: bool,
        size: f64,
    ) -> Result<Prepared, StabilityError> {
        let rest = models.at_rest();
        let mut run = started(&rest.system, &rest.registry, None)?;
        let methods = &run.layout().methods;
        let how = if methods.switching() { ProbeMethod::Growth } else { how };
        if !methods.rates.is_empty() {
            // From the start on, where all steps begin.
            let plan = plan(&rest.system, &rest.registry).map_err(VariantError::Plan)?;
            run = Run::new(plan.rewinding(), 1)?;
        }
        Ok(Prepared { run, models: Some(models), how, free, size })
    }

    /// The same models under other methods; `None` where there are no models.
    pub(crate) fn with_methods(&self, methods: &MethodConfig) -> Option<Result<Prepared, StabilityError>> {
        let mut models = self.models.clone()?;
        models.system.methods = methods.clone();
        let how = if self.how == ProbeMethod::Growth { ProbeMethod::States } else { self.how };
        Some(Prepared::of(models, how, self.free, self.size))
    }

    /// The radius of a step.
    pub fn radius(&mut self, size: f64) -> Result<Radius, StabilityError> {
        if !(size.is_finite() && size > 0.0) {
            return Err(StabilityError::BadSize(size));
        }
        let longer = self.longer(size);
        if self.how != ProbeMethod::Growth
            && longer
            && !self.checks_slopes()
            && let Some(windows) = cycle(&self.run, size)
        {
            let radius = cycle_growth(&mut self.run, size, windows)?;
            return Ok(Radius { radius, unseen: 0, how: ProbeMethod::Growth });
        }
        if self.how == ProbeMethod::Growth || longer {
            let radius = growth(&mut self.run, size)?;
            return Ok(Radius { radius, unseen: 0, how: ProbeMethod::Growth });
        }
        let found = stability::radius(&mut self.run, size)?;
        Ok(Radius { how: self.how, ..found })
    }

    /// How much one repetition of an iteration leaves of an error of the assumed outputs.
    pub fn contraction(&mut self, size: f64) -> Result<f64, StabilityError> {
        let layout = self.run.layout();
        let (width, outputs) = (layout.topology.shape.ends(), layout.topology.shape.outputs);
        let entries: Vec<usize> =
            (0..width).filter(|entry| layout.topology.driving.contains(&(entry % outputs.max(1)))).collect();
        let mut assumed = vec![0.0; width];
        assumed[..outputs].copy_from_slice(self.run.outputs());
        let (mut above, mut below) = (vec![0.0; width], vec![0.0; width]);
        let mut matrix = Matrix::zeros(entries.len(), entries.len());
        for (column, &entry) in entries.iter().enumerate() {
            let kept = assumed[entry];
            let change = SWEPT * kept.abs().max(1.0);
            let mut sweep = |value: f64, into: &mut [f64]| {
                assumed[entry] = value;
                self.run.island().sweep_response(size, &assumed, into).map_err(RunError::from)
            };
            sweep(kept + change, &mut above)?;
            sweep(kept - change, &mut below)?;
            assumed[entry] = kept;
            for (row, &of) in entries.iter().enumerate() {
                let quotient = (above[of] - below[of]) / (2.0 * change);
                matrix[(row, column)] = if quotient.is_nan() { 0.0 } else { quotient };
            }
        }
        let modes = Eigen::of(&matrix).ok_or(StabilityError::NoEigenvalues(size))?.values;
        Ok(modes.iter().map(|mode| mode.norm()).fold(0.0, f64::max))
    }

    /// A step of this size is no linear map of the cells.
    pub fn grows(&self, size: f64) -> bool {
        self.how == ProbeMethod::Growth || self.longer(size)
    }

    /// Outputs inside of longer steps are interpolated by slopes where these are plausible, which is no linear map.
    fn checks_slopes(&self) -> bool {
        let layout = self.run.layout();
        let rates = layout.methods.rates.iter();
        rates.map(|rate| &layout.topology.interfaces[rate.member]).any(|interface| interface.abilities.slopes)
    }

    /// A component has a step that is longer.
    fn longer(&self, size: f64) -> bool {
        self.run.layout().methods.rates.iter().any(|rate| rate.every > size * (1.0 + 1e-9))
    }

    /// The largest stable step.
    pub fn limit(&mut self, search: &NeutralStepSearch) -> Result<Limit, StabilityError> {
        let mut search = *search;
        if self.how == ProbeMethod::Growth {
            (search.precision, search.factor) =
                (search.precision.max(GROWTH_SEARCH.0), search.factor.max(GROWTH_SEARCH.1));
        }
        let found = limit_of(&search, |size| Ok(self.radius(size)?.radius))?;
        match (found, &self.models) {
            // Growth that no answer was long enough to show is an error of the models.
            (Limit::System(rate), Some(models)) if rate * models.horizon < 1.0 => {
                limit_of(&search, |size| Ok(self.radius(size)?.radius / math::exp(SLOWEST * rate * size)))
            }
            _ => Ok(found),
        }
    }
}

/// The largest stable step of a system, and what it was measured on. Models of components are made again for shorter steps
/// until they hold at the limit, and there compared with the components themselves.
pub fn prepared_limit(
    first: Prepared,
    system: &System,
    registry: &Registry,
    at: Option<f64>,
    search: &NeutralStepSearch,
) -> Result<(Prepared, Option<Limit>), StabilityError> {
    let size = first.size;
    let mut prepared = first;
    if !prepared.free {
        return Ok((prepared, None));
    }
    let mut limit = prepared.limit(search)?;
    if prepared.models.is_none() {
        return Ok((prepared, Some(limit)));
    }
    for _ in 0..ROUNDS {
        let shortest = SHORTEST * prepared.models.as_ref().map_or(0.0, |models| models.unit);
        let shorter = match limit {
            Limit::At(limit) if limit < shortest => limit,
            // Nothing is known of shorter steps than the models are made from, and there may be unstable ones.
            Limit::Beyond(_) | Limit::System(_) | Limit::Never if shortest > 1.01 * search.from => {
                FINER * search.from
            }
            _ => break,
        };
        prepared = Prepared::new(system, registry, at, shorter)?;
        limit = prepared.limit(search)?;
    }
    if prepared.how == ProbeMethod::States {
        return Ok((prepared, Some(limit)));
    }
    let mut step = limit.size().unwrap_or(size);
    for _ in 0..ROUNDS {
        let Some(models) = &mut prepared.models else { break };
        let (component, deviation) = models.deviation_at(system, registry, step)?;
        if deviation <= ALIKE {
            return Ok((prepared, Some(limit)));
        }
        // Components whose answers depend on the step are modelled with this step.
        let again = crate::linear_models::modelled_at_steps(system, registry, step, at)
            .map_err(|_| NoModels::StepDependent { name: component, deviation, step })?;
        prepared = Prepared::of(again, prepared.how, prepared.free, step)?;
        limit = prepared.limit(search)?;
        let now = limit.size().unwrap_or(step);
        if (now / step - 1.0).abs() <= SETTLED {
            return Ok((prepared, Some(limit)));
        }
        step = now;
    }
    let (name, deviation) = match &mut prepared.models {
        Some(models) => models.deviation_at(system, registry, step)?,
        None => (String::new(), f64::NAN),
    };
    Err(NoModels::StepDependent { name, deviation, step }.into())
}
