//! Models written in Rust, and the monolithic reference to compare them with.
//!
//! A family of models is one file with a table `MODELS` and one line in `FAMILIES`; it has one reference. Equations come from
//! papers on coupling, so that published tables can be reproduced. Models that need a solver with events, or for
//! stiff equations, are lines in `HYBRID`. Deliberately not a modelling library: every model is here because a
//! test, a paper or a benchmark needs it.

mod bouncing_ball;
mod dahlquist;
mod dormand_prince;
mod drive_cycle;
mod driven;
mod dual_mass;
mod epas;
mod faulty;
mod gain_loop;
mod linear;
mod oscillator;
mod parameters;
mod pendulum;
mod quarter_car;
mod quarter_car_linear;
mod rc_rl;
mod ring;
mod robertson;
mod robot;
mod spring_mass;
mod stair;
mod tanks;
mod thermal_wall;
mod thermostat;
mod van_der_pol;

use std::any::Any;

use cosimo_core::registry::{
    self, ModelInfo, OpenProblem, OpenRequest, OptionProblem, ReferenceEntry, suggest,
};
use cosimo_core::{Interface, Options, Port, Simulator, SimulatorError, SourceEntry, Spec, Value};
use cosimo_native::{ABILITIES, Hybrid, Model, NativeHybrid, Ode, native_hybrid, solver};

pub use bouncing_ball::BouncingBall;
pub use dormand_prince::sweep;
pub use driven::lagging;
pub use linear::LINEAR;
pub use thermostat::Thermostat;

const PREFIX: &str = "native:";

/// A model in the registry.
#[derive(Debug)]
struct ModelEntry {
    name: &'static str,
    summary: &'static str,
    parameters: &'static [Spec],
    build: fn(&Options) -> Box<dyn Native>,
}

/// A native simulator, most of them a solver with equations.
trait Native: Simulator + Any {
    /// The equations without the solver; `None` for simulators without equations.
    fn equations(self: Box<Self>) -> Option<Box<dyn Hybrid>> {
        None
    }

    /// Stores what it was built from, so that tunable parameters can change during a run; without effect otherwise.
    fn make_rebuildable(&mut self, _recipe: ModelRecipe) {}
}

impl<M: Model + 'static> Native for Ode<M> {
    fn equations(self: Box<Self>) -> Option<Box<dyn Hybrid>> {
        Some(Box::new(self.into_model()))
    }

    fn make_rebuildable(&mut self, mut recipe: ModelRecipe) {
        let tunable = recipe.tunable();
        let rebuild = move |name: &str, value: f64| match (recipe.rebuild_with(name, value)? as Box<dyn Any>)
            .downcast()
        {
            Ok(ode) => Ok(*ode),
            Err(_) => {
                Err(SimulatorError::new("set_parameter", "this value would change the type of the model"))
            }
        };
        self.make_tunable(tunable, cosimo_native::ParameterRebuild::new(rebuild));
    }
}

impl Native for NativeHybrid {
    fn equations(self: Box<Self>) -> Option<Box<dyn Hybrid>> {
        Some(self.into_model())
    }

    fn make_rebuildable(&mut self, mut recipe: ModelRecipe) {
        let none = || SimulatorError::new("set_parameter", "with this value the model has no equations");
        let tunable = recipe.tunable();
        let rebuild =
            move |name: &str, value: f64| recipe.rebuild_with(name, value)?.equations().ok_or_else(none);
        self.make_tunable(tunable, cosimo_native::ParameterRebuild::new(rebuild));
    }
}

/// What a simulator was built from.
#[derive(Debug)]
struct ModelRecipe {
    model: &'static ModelEntry,
    parameters: Vec<(String, Value)>,
}

impl ModelRecipe {
    /// Parameters that the equations use during the run.
    fn tunable(&self) -> Vec<String> {
        let tunable = |spec: &&Spec| {
            let number = matches!(spec.kind, registry::OptionKind::Number { .. });
            number && !spec.initial && !SOLVER_PARAMETERS.contains(&spec.name)
        };
        self.model.parameters.iter().filter(tunable).map(|spec| spec.name.to_owned()).collect()
    }

    /// The same simulator with one parameter changed, at its start.
    fn rebuild_with(&mut self, name: &str, value: f64) -> Result<Box<dyn Native>, SimulatorError> {
        let mut parameters = self.parameters.clone();
        parameters.retain(|(key, _)| key != name);
        parameters.push((name.to_owned(), Value::Number(value)));
        let options = resolve(self.model.name, self.model.parameters, &parameters).map_err(|problems| {
            let messages: Vec<String> = problems.into_iter().map(|problem| problem.message).collect();
            SimulatorError::new("set_parameter", messages.join("; "))
        })?;
        self.parameters = parameters;
        Ok((self.model.build)(&options))
    }
}

/// All families, in the order in which they are listed.
const FAMILIES: &[&[ModelEntry]] = &[
    quarter_car::MODELS,
    quarter_car_linear::MODELS,
    dual_mass::MODELS,
    rc_rl::MODELS,
    oscillator::MODELS,
    dahlquist::MODELS,
    gain_loop::MODELS,
    tanks::MODELS,
    thermal_wall::MODELS,
    ring::MODELS,
    pendulum::MODELS,
    epas::MODELS,
    spring_mass::MODELS,
    drive_cycle::MODELS,
    robot::MODELS,
    faulty::MODELS,
];

fn models() -> impl Iterator<Item = &'static ModelEntry> {
    FAMILIES.iter().copied().flatten()
}

/// Equations in the registry that need a solver from outside.
#[derive(Debug)]
pub struct HybridEntry {
    pub name: &'static str,
    pub summary: &'static str,
    pub parameters: &'static [Spec],
    /// Default stop time in seconds.
    pub stop: f64,
    build: fn(&Options) -> Box<dyn Hybrid>,
    /// Time and all outputs at equal intervals from 0 on, with the default parameters and inputs.
    pub reference: fn() -> Vec<Vec<f64>>,
}

/// Models that no fixed-step solver here can run, because they are stiff or have events.
pub const HYBRID: &[&HybridEntry] = &[
    &van_der_pol::ENTRY,
    &robertson::ENTRY,
    &bouncing_ball::ENTRY,
    &stair::ENTRY,
    &thermostat::ENTRY,
    &driven::ENTRY,
];

/// The monolithic reference of each family.
pub const REFERENCES: &[&ReferenceEntry] = &[
    &quarter_car::REFERENCE,
    &dual_mass::REFERENCE,
    &rc_rl::REFERENCE,
    &oscillator::REFERENCE,
    &dahlquist::REFERENCE,
    &gain_loop::REFERENCE,
    &tanks::REFERENCE,
    &thermal_wall::REFERENCE,
    &pendulum::REFERENCE,
    &pendulum::REFERENCE_LINEAR,
    &epas::REFERENCE,
    &spring_mass::REFERENCE,
];

/// Sources such as `native:quarter-car/chassis`.
pub const NATIVE: SourceEntry = SourceEntry {
    name: "native",
    summary: "a model written in Rust, part of this program",
    claims: |source| source.starts_with(PREFIX),
    open,
    parameters: |source, _| {
        let model = models().find(|model| source.strip_prefix(PREFIX) == Some(model.name));
        model.map_or(&[][..], |model| model.parameters).iter().map(Into::into).collect()
    },
    models: || {
        let info = |model: &ModelEntry| ModelInfo {
            name: model.name.into(),
            summary: model.summary,
            parameters: model.parameters,
        };
        models().map(info).collect()
    },
    join: None,
};

fn open(request: &OpenRequest<'_>) -> Result<Box<dyn Simulator>, Vec<OpenProblem>> {
    if linear::claims(request.source) {
        return linear::open(request);
    }
    build(request).map(|native| native as Box<dyn Simulator>)
}

fn build(request: &OpenRequest<'_>) -> Result<Box<dyn Native>, Vec<OpenProblem>> {
    let name = request.source.strip_prefix(PREFIX).unwrap_or(request.source);
    let Some(model) = models().find(|model| model.name == name) else {
        return Err(vec![OpenProblem {
            parameter: None,
            message: format!("there is no native model `{name}`"),
            hint: Some(suggest(name, models().map(|model| model.name))),
        }]);
    };
    let options = resolve(name, model.parameters, request.parameters)?;
    let mut native = (model.build)(&options);
    native.make_rebuildable(ModelRecipe { model, parameters: request.parameters.to_vec() });
    Ok(native)
}

fn resolve(name: &str, parameters: &[Spec], given: &[(String, Value)]) -> Result<Options, Vec<OpenProblem>> {
    Options::resolve(&format!("model `{name}`"), parameters, given).map_err(|problems| {
        let open_problem = |problem: OptionProblem| OpenProblem {
            parameter: Some(problem.key),
            message: problem.message,
            hint: problem.hint,
        };
        problems.into_iter().map(open_problem).collect()
    })
}

/// Parameters of the solver, which the equations do not use.
pub const SOLVER_PARAMETERS: &[&str] = &[
    solver::EXACT.name,
    solver::MICRO_STEPS.name,
    native_hybrid::RELATIVE.name,
    native_hybrid::ABSOLUTE.name,
];

/// The equations of a model of either list, without a solver. `None` for simulators without equations.
pub fn equations(request: &OpenRequest<'_>) -> Result<Option<Box<dyn Hybrid>>, Vec<OpenProblem>> {
    let name = request.source.strip_prefix(PREFIX).unwrap_or(request.source);
    if linear::claims(request.source) {
        return linear::equations(request);
    }
    match HYBRID.iter().find(|model| model.name == name) {
        Some(model) => {
            let options = resolve(name, model.parameters, request.parameters)?;
            Ok(Some((model.build)(&options)))
        }
        None => build(request).map(Native::equations),
    }
}

/// The numbers of a CSV table with a header line.
fn rows(text: &str) -> Vec<Vec<f64>> {
    let number = |cell: &str| cell.parse().unwrap_or(f64::NAN);
    text.lines().skip(1).map(|line| line.split(',').map(number).collect()).collect()
}

/// Ports without feedthrough, and the abilities of every model.
fn interface(inputs: Vec<Port>, outputs: Vec<Port>) -> Interface {
    Interface { inputs, outputs, abilities: ABILITIES, ..Interface::default() }
}

/// An input without a start value: it must be connected.
fn input(name: &str, unit: &str, description: &str) -> Port {
    Port::new(name, unit, description)
}

fn output(name: &str, unit: &str, description: &str) -> Port {
    Port::new(name, unit, description)
}
