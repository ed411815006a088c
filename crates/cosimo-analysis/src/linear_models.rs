//! A system with linear models in the place of its components, identified at an instant of a run: its components need
//! neither expose states nor, where fresh instances can be started, restore them.

use std::collections::BTreeMap;

use cosimo_core::{Interface, Registry, Time};
use cosimo_engine::{Run, RunError, Topology, plan};
use cosimo_system::{EndRule, System};

use crate::identify::{Answers, Doubt, Fit, Grid, identify, rounding};
use crate::linalg::Matrix;
use crate::surrogate::{KIND, LinearComponent, LinearModels};
use crate::variant::{VariantError, refuse_lines};

/// Changes of inputs relative to their values or 1: small beside the range of friction, and large beside the errors of
/// integrators inside.
const CHANGES: [f64; 3] = [1e-3, 1e-1, 1e1];
/// The shortest window as a part of the step.
const SHORTEST: f64 = 0.125;
/// The horizon need not exceed this many durations of the experiment.
const DURATIONS: f64 = 2.0;
/// Powers of two of the steps that components and models are compared over.
const CHECKED: u32 = 4;
/// Steps per answer of a component with one step size.
const MOST_STEPS: u64 = 20_000;

/// Why components have no linear models.
#[derive(Debug, thiserror::Error)]
pub enum NoModels {
    #[error("components of the monolithic group `{0}` are one component, which is not modelled")]
    Monolithic(String),
    #[error("`{0}` is connected by a map of values, which has no linear model")]
    Mapped(String),
    #[error(
        "component `{name}` is no linear system at this instant: its answers to changed inputs over {horizon:.2e} s deviate by \
         {} from those of a model",
        percent(*deviation)
    )]
    NotLinear { name: String, deviation: f64, horizon: f64 },
    #[error(
        "component `{name}` answers differently to steps of {step:.3e} s than to shorter ones, by {}: its solver depends on the \
         step, and no limit agrees with itself",
        percent(*deviation)
    )]
    StepDependent { name: String, deviation: f64, step: f64 },
    #[error("the answers of component `{0}` to a changed input are not finite")]
    NotFinite(String),
    #[error(transparent)]
    Variant(#[from] VariantError),
    #[error(transparent)]
    Run(#[from] RunError),
}

fn percent(deviation: f64) -> String {
    if deviation < 10.0 { format!("{:.2} %", 100.0 * deviation) } else { "more than 1000 %".into() }
}

/// A system of linear models, in the methods and connections of the original.
#[derive(Debug, Clone)]
pub struct ModelledSystem {
    pub system: System,
    pub registry: Registry,
    /// Per component.
    pub models: Vec<LinearComponent>,
    /// The largest relative deviation of a model from what it was made from.
    pub residual: f64,
    /// The instant in seconds.
    pub at: f64,
    /// The shortest window of the answers, in seconds.
    pub unit: f64,
    /// How far the answers go, in seconds.
    pub horizon: f64,
    /// What was asked for.
    asked: Option<f64>,
    /// The relative change of inputs.
    change: f64,
    fits: Vec<Fit>,
    /// Interfaces of what was replaced.
    interfaces: Vec<Interface>,
    base: Registry,
}

impl ModelledSystem {
    /// The same without what moves it by itself.
    pub fn at_rest(&self) -> ModelledSystem {
        self.with(self.models.iter().map(LinearComponent::at_rest).collect())
    }

    /// A, B, C and D of all components side by side, with all of their ports.
    pub(crate) fn matrices(&self, topology: &Topology) -> [Matrix; 4] {
        let (inputs, outputs) = (topology.shape.inputs, topology.shape.outputs);
        let states = self.models.iter().map(LinearComponent::states).sum();
        let (mut a, mut b) = (Matrix::zeros(states, states), Matrix::zeros(states, inputs));
        let (mut c, mut d) = (Matrix::zeros(outputs, states), Matrix::zeros(outputs, inputs));
        let mut first = 0;
        for (model, block) in self.models.iter().zip(&topology.blocks) {
            let (n, m) = (model.states(), block.inputs.len());
            for row in 0..n {
                (0..n).for_each(|k| a[(first + row, first + k)] = model.a[row * n + k]);
                (0..m).for_each(|k| b[(first + row, block.inputs.start + k)] = model.b[row * m + k]);
            }
            for (row, output) in block.outputs.clone().enumerate() {
                (0..n).for_each(|k| c[(output, first + k)] = model.c[row * n + k]);
                (0..m).for_each(|k| d[(output, block.inputs.start + k)] = model.d[row * m + k]);
            }
            first += n;
        }
        [a, b, c, d]
    }

    /// Whether nothing moves by itself.
    pub(crate) fn rests(&self) -> bool {
        self.models.iter().all(|model| model.drift.iter().all(|drift| *drift == 0.0))
    }

    /// The same with other models of the same sizes.
    pub(crate) fn with(&self, models: Vec<LinearComponent>) -> ModelledSystem {
        let names = self.system.components.iter().map(|component| component.name.clone());
        let each = models.iter().cloned().zip(self.interfaces.iter().cloned());
        let named: BTreeMap<String, (LinearComponent, Interface)> = names.zip(each).collect();
        let mut registry = self.base.clone();
        registry.sources.insert(0, std::sync::Arc::new(LinearModels { models: named }));
        ModelledSystem { registry, models, ..self.clone() }
    }

    /// How far components deviate from their models where all windows have this size, and which one most.
    pub(crate) fn deviation_at(
        &self,
        system: &System,
        registry: &Registry,
        step: f64,
    ) -> Result<(String, f64), NoModels> {
        let mut probe = Probe::new(system, registry, self.asked, self.change)?;
        let grid = Grid::new(step, CHECKED);
        let answers = probe.answers(&grid, true)?;
        let mut worst = (String::new(), 0.0);
        for (place, (fit, answers)) in self.fits.iter().zip(&answers).enumerate() {
            let found = fit.deviation(&grid, answers);
            if found > worst.1 || found.is_nan() {
                worst = (probe.run.layout().topology.names[place].clone(), found);
            }
        }
        Ok(worst)
    }
}

/// Identifies every component at an instant, for steps of about the given size.
pub fn modelled(
    system: &System,
    registry: &Registry,
    size: f64,
    at: Option<f64>,
) -> Result<ModelledSystem, NoModels> {
    refuse(system)?;
    with_changes(|change| {
        let probe = Probe::new(system, registry, at, change)?;
        let (unit, uniform) = unit(&probe.run, size);
        identified(probe, system, registry, unit, uniform)
    })
}

/// With larger changes of inputs where small ones are lost in the errors of solvers inside.
fn with_changes(
    attempt: impl Fn(f64) -> Result<ModelledSystem, NoModels>,
) -> Result<ModelledSystem, NoModels> {
    let mut found = attempt(CHANGES[0]);
    for &change in &CHANGES[1..] {
        if !matches!(found, Err(NoModels::NotLinear { .. })) {
            break;
        }
        found = attempt(change).or(found);
    }
    found
}

fn refuse(system: &System) -> Result<(), NoModels> {
    refuse_lines(system)?;
    if let Some(group) = system.monolithic.first() {
        return Err(NoModels::Monolithic(group.name.clone()));
    }
    let mut terms = system.connections.iter().flat_map(|wire| &wire.from);
    if let Some(mapped) = terms.find(|term| !term.map.is_empty()) {
        return Err(NoModels::Mapped(mapped.port.0.clone()));
    }
    Ok(())
}

/// The same with all windows of one size.
pub(crate) fn modelled_at_steps(
    system: &System,
    registry: &Registry,
    step: f64,
    at: Option<f64>,
) -> Result<ModelledSystem, NoModels> {
    with_changes(|change| identified(Probe::new(system, registry, at, change)?, system, registry, step, true))
}

fn identified(
    mut probe: Probe<'_>,
    system: &System,
    registry: &Registry,
    unit: f64,
    uniform: bool,
) -> Result<ModelledSystem, NoModels> {
    let longest = DURATIONS * (system.experiment.stop - system.experiment.start);
    let most = uniform.then_some(MOST_STEPS);
    let found = identify(unit, longest, most, |grid| probe.answers(grid, uniform))?;
    let names = &probe.run.layout().topology.names;
    let (fits, horizon) = found.map_err(|Doubt { component, deviation, horizon }| NoModels::NotLinear {
        name: names[component].clone(),
        deviation,
        horizon,
    })?;
    let found = probe.modelled(system, registry, fits, unit);
    Ok(ModelledSystem { horizon, ..found })
}

/// The unit of a grid, and whether every window must be one unit.
fn unit(run: &Run, size: f64) -> (f64, bool) {
    let interfaces = &run.layout().topology.interfaces;
    if interfaces.iter().any(|interface| !interface.abilities.variable_step) {
        return (size, true);
    }
    let inner = interfaces.iter().filter_map(|interface| interface.internal_step).fold(0.0, f64::max);
    let short = SHORTEST * size;
    (if inner > 0.0 { inner * (short / inner).round().max(1.0) } else { short }, false)
}

/// Runs whose components answer by themselves.
struct Probe<'s> {
    open: System,
    registry: &'s Registry,
    at: Option<f64>,
    run: Run,
    /// Components can be restored; else every answer needs fresh instances.
    restores: bool,
    /// The present run was used up.
    spent: bool,
    held: Vec<f64>,
    outputs: Vec<f64>,
    /// Changes of inputs, relative to their values or 1.
    relative: f64,
}

impl<'s> Probe<'s> {
    fn new(
        system: &System,
        registry: &'s Registry,
        at: Option<f64>,
        relative: f64,
    ) -> Result<Probe<'s>, NoModels> {
        let mut open = system.clone();
        open.experiment.end = EndRule::After;
        open.scenario = None;
        open.components.iter_mut().for_each(|component| component.step = None);
        let (run, restores) = Probe::start(&open, registry, at)?;
        let (topology, outputs) = (&run.layout().topology, run.outputs().to_vec());
        let held =
            (0..topology.shape.inputs).map(|input| topology.couplings.value(input, &outputs)).collect();
        Ok(Probe { open, registry, at, restores, spent: false, held, outputs, relative, run })
    }

    fn start(system: &System, registry: &Registry, at: Option<f64>) -> Result<(Run, bool), NoModels> {
        let plan = plan(system, registry).map_err(VariantError::Plan)?;
        let restores = plan.layout.topology.interfaces.iter().all(|interface| interface.abilities.rollback);
        let mut run = Run::new(if restores { plan.rewinding() } else { plan }, 1)?;
        if let Some(until) = at.and_then(Time::new) {
            run.run_until(until)?;
        }
        Ok((run, restores))
    }

    /// All outputs at the instants of a grid, with inputs held.
    fn respond(&mut self, held: &[f64], sizes: &[f64], kept: &[usize]) -> Result<Matrix, NoModels> {
        if self.spent {
            self.run = Probe::start(&self.open, self.registry, self.at)?.0;
        }
        self.spent = !self.restores;
        let width = self.outputs.len();
        let mut rows = vec![0.0; sizes.len() * width];
        self.run.island().held_response(held, sizes, self.restores, &mut rows).map_err(RunError::from)?;
        Ok(Matrix::from_fn(kept.len(), width, |row, output| rows[kept[row] * width + output]))
    }

    fn answers(&mut self, grid: &Grid, uniform: bool) -> Result<Vec<Answers>, NoModels> {
        let (sizes, kept): (Vec<f64>, Vec<usize>) = if uniform {
            let last = grid.multiples().last().copied().unwrap_or(0);
            (vec![grid.unit; last as usize], grid.multiples().iter().map(|&m| m as usize - 1).collect())
        } else {
            (grid.sizes(), (0..grid.multiples().len()).collect())
        };
        let base = self.respond(&self.held.clone(), &sizes, &kept)?;
        let driven = self.driven();
        let most = driven.iter().map(Vec::len).max().unwrap_or(0);
        // The k-th input of every component at once: held inputs keep them apart.
        let mut pairs = Vec::new();
        for k in 0..most {
            let side = |sign: f64| {
                let mut held = self.held.clone();
                for input in driven.iter().filter_map(|inputs| inputs.get(k)) {
                    held[*input] += sign * self.change(*input);
                }
                held
            };
            let (high, low) = (side(1.0), side(-1.0));
            pairs.push((self.respond(&high, &sizes, &kept)?, self.respond(&low, &sizes, &kept)?));
        }
        let topology = &self.run.layout().topology;
        let mut all = Vec::new();
        for (component, inputs) in driven.iter().enumerate() {
            let shown: Vec<usize> = shown(topology, component);
            let steps: Vec<Matrix> = inputs
                .iter()
                .zip(&pairs)
                .map(|(input, (high, low))| {
                    let twice = 2.0 * self.change(*input);
                    Matrix::from_fn(kept.len(), shown.len(), |row, k| {
                        (high[(row, shown[k])] - low[(row, shown[k])]) / twice
                    })
                })
                .collect();
            let own = Matrix::from_fn(kept.len(), shown.len(), |row, k| {
                base[(row, shown[k])] - self.outputs[shown[k]]
            });
            if !(own.is_finite() && steps.iter().all(Matrix::is_finite)) {
                return Err(NoModels::NotFinite(topology.names[component].clone()));
            }
            let least = inputs.iter().map(|input| self.change(*input)).fold(f64::INFINITY, f64::min);
            let noise = shown
                .iter()
                .map(|&output| {
                    let most = base.column(output).iter().fold(0.0f64, |most, y| most.max(y.abs()));
                    // Between the two answers lies the base, but for errors.
                    let middle = |(high, low): &(Matrix, Matrix)| {
                        let column = |row: usize| 0.5 * (high[(row, output)] + low[(row, output)]);
                        (0..kept.len())
                            .map(|row| (column(row) - base[(row, output)]).abs())
                            .fold(0.0, f64::max)
                    };
                    let apart = pairs.iter().map(middle).fold(0.0, f64::max);
                    (apart / least).max(rounding(most, least))
                })
                .collect();
            all.push(Answers { steps, base: own, noise });
        }
        Ok(all)
    }

    /// The change of an input.
    fn change(&self, input: usize) -> f64 {
        self.relative * self.held[input].abs().max(1.0)
    }

    /// Per component: the inputs that outputs drive, among all inputs.
    fn driven(&self) -> Vec<Vec<usize>> {
        let topology = &self.run.layout().topology;
        let driven = |input: &usize| !topology.couplings.terms(*input).is_empty();
        topology.blocks.iter().map(|block| block.inputs.clone().filter(driven).collect()).collect()
    }

    fn modelled(&self, system: &System, registry: &Registry, fits: Vec<Fit>, unit: f64) -> ModelledSystem {
        let topology = &self.run.layout().topology;
        let mut changed = system.clone();
        changed.scenario = None;
        changed.experiment.history = None;
        changed.reference = None;
        changed.results.variables.clear();
        for component in &mut changed.components {
            component.source = format!("{KIND}{}", component.name);
            component.parameters.clear();
        }
        let models: Vec<LinearComponent> =
            fits.iter().enumerate().map(|(component, fit)| self.model(component, fit)).collect();
        let found = ModelledSystem {
            system: changed,
            registry: registry.clone(),
            models: Vec::new(),
            residual: fits.iter().map(|fit| fit.residual).fold(0.0, f64::max),
            at: self.run.time().seconds(),
            unit,
            horizon: unit,
            asked: self.at,
            change: self.relative,
            fits,
            interfaces: topology.interfaces.clone(),
            base: registry.clone(),
        };
        found.with(models)
    }

    /// The model of a component with all of its ports.
    fn model(&self, component: usize, fit: &Fit) -> LinearComponent {
        let topology = &self.run.layout().topology;
        let block = &topology.blocks[component];
        let (n, m) = (fit.drift.len(), block.inputs.len());
        let mut model = LinearComponent {
            a: (0..n * n).map(|at| fit.a[(at / n, at % n)]).collect(),
            b: vec![0.0; n * m],
            c: vec![0.0; block.outputs.len() * n],
            d: vec![0.0; block.outputs.len() * m],
            drift: fit.drift.clone(),
            inputs: self.held[block.inputs.clone()].to_vec(),
            outputs: self.outputs[block.outputs.clone()].to_vec(),
        };
        let shown = shown(topology, component);
        for (k, input) in self.driven()[component].iter().enumerate() {
            let column = input - block.inputs.start;
            (0..n).for_each(|row| model.b[row * m + column] = fit.b[(row, k)]);
            for (place, output) in shown.iter().enumerate() {
                model.d[(output - block.outputs.start) * m + column] = fit.d[(place, k)];
            }
        }
        for (place, output) in shown.iter().enumerate() {
            let row = output - block.outputs.start;
            (0..n).for_each(|state| model.c[row * n + state] = fit.c[(place, state)]);
        }
        model
    }
}

/// The outputs of a component that drive inputs, among all outputs.
fn shown(topology: &Topology, component: usize) -> Vec<usize> {
    let block = &topology.blocks[component].outputs;
    topology.driving.iter().copied().filter(|output| block.contains(output)).collect()
}
