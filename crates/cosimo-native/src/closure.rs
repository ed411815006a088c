//! Models from closures: equations that are integrated with error control, and discrete ones with a state of any type.
//!
//! ```
//! use cosimo_native::{discrete, ode};
//!
//! let mass = ode(["F"], [("x", 0.0), ("v", 1.0)], |_t, x, u, dx| {
//!     dx[0] = x[1];
//!     dx[1] = u[0] - 4.0 * x[0];
//! });
//! let controller = discrete(["x"], [("F", 0.0)], 0.0, |sum, _t, u, y| {
//!     *sum += 0.01 * u[0];
//!     y[0] = -2.0 * u[0] - *sum;
//! });
//! # let _ = (mass, controller);
//! ```

use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;

use cosimo_core::math;
use cosimo_core::simulator::{Memory, Rollback};
use cosimo_core::{
    Abilities, Inputs, Interface, Outputs, Port, Setup, Simulator, SimulatorError, StepResult, Time, Window,
};

use crate::model::{Hybrid, ModelPoint, Tangent};
use crate::native_hybrid::NativeHybrid;

/// Builds simulators, as many as needed: planning inspects one, a run steps another.
pub trait Blueprint: Send + Sync {
    fn simulator(&self) -> Box<dyn Simulator>;
}

/// Any function that builds a simulator.
impl<F, S> Blueprint for F
where
    F: Fn() -> S + Send + Sync,
    S: Simulator + 'static,
{
    fn simulator(&self) -> Box<dyn Simulator> {
        Box::new(self())
    }
}

/// x' = f(t, x, u), written into the last argument of the closure. The states are the outputs, each with its start value.
/// An input that is not connected is 0. Integrated by BDF to a relative tolerance of 1e-8; derivatives by states and inputs are finite differences.
pub fn ode<const N: usize, const M: usize>(
    inputs: [&str; N],
    states: [(&str, f64); M],
    derivatives: impl Fn(f64, &[f64], &[f64], &mut [f64]) + Send + Sync + 'static,
) -> impl Blueprint {
    let equations = ClosureEquations {
        inputs: inputs.map(str::to_owned).to_vec(),
        states: states.map(|(name, start)| (name.to_owned(), start)).to_vec(),
        derivatives: Arc::new(derivatives),
    };
    move || NativeHybrid::solved(Box::new(Closure::new(equations.clone())), "bdf", None, RELATIVE, ABSOLUTE)
}

const RELATIVE: f64 = 1e-8;
const ABSOLUTE: f64 = 1e-10;

type Derivatives = dyn Fn(f64, &[f64], &[f64], &mut [f64]) + Send + Sync;

#[derive(Clone)]
struct ClosureEquations {
    inputs: Vec<String>,
    states: Vec<(String, f64)>,
    derivatives: Arc<Derivatives>,
}

struct Closure {
    equations: ClosureEquations,
    /// States, inputs and derivatives at a perturbed point.
    perturbed: RefCell<[Vec<f64>; 3]>,
}

impl Closure {
    fn new(equations: ClosureEquations) -> Closure {
        let (states, inputs) = (equations.states.len(), equations.inputs.len());
        Closure {
            equations,
            perturbed: RefCell::new([vec![0.0; states], vec![0.0; inputs], vec![0.0; states]]),
        }
    }

    fn port(name: &str) -> Port {
        Port { unit: None, ..Port::new(name, "", "") }
    }
}

impl Hybrid for Closure {
    fn interface(&self) -> Interface {
        Interface {
            inputs: self.equations.inputs.iter().map(|name| Closure::port(name).starting_at(0.0)).collect(),
            outputs: self.states(),
            ..Interface::default()
        }
    }

    fn states(&self) -> Vec<Port> {
        self.equations.states.iter().map(|(name, _)| Closure::port(name)).collect()
    }

    fn initial(&self) -> (Vec<f64>, Vec<f64>) {
        (self.equations.states.iter().map(|(_, start)| *start).collect(), Vec::new())
    }

    fn derivatives(&self, at: &ModelPoint<'_>, dx: &mut [f64]) {
        (self.equations.derivatives)(at.t, at.x, at.u, dx);
    }

    fn outputs(&self, at: &ModelPoint<'_>, y: &mut [f64]) {
        y.copy_from_slice(at.x);
    }

    fn tangent(&self, at: &ModelPoint<'_>, along: &Tangent<'_>, dx: &mut [f64], y: &mut [f64]) {
        y.copy_from_slice(along.x);
        let largest = |values: &[f64]| values.iter().fold(0.0f64, |most, value| most.max(value.abs()));
        let length = largest(along.x).max(largest(along.u));
        if length == 0.0 {
            dx.fill(0.0);
            return;
        }
        // Central differences: rounding and truncation errors balance at the cube root of the precision.
        let step = math::cbrt(f64::EPSILON) * largest(at.x).max(largest(at.u)).max(1.0) / length;
        let [x, u, back] = &mut *self.perturbed.borrow_mut();
        let mut beside = |step: f64, into: &mut [f64]| {
            x.iter_mut().zip(at.x.iter().zip(along.x)).for_each(|(x, (at, d))| *x = at + step * d);
            u.iter_mut().zip(at.u.iter().zip(along.u)).for_each(|(u, (at, d))| *u = at + step * d);
            (self.equations.derivatives)(at.t, x, u, into);
        };
        beside(step, dx);
        beside(-step, back);
        dx.iter_mut().zip(&*back).for_each(|(dx, back)| *dx = (*dx - back) / (2.0 * step));
    }
}

/// A state updated at the end of each macro step by a closure of the state, the time, the inputs at that
/// instant and the outputs. Outputs have their start values until the first step ends, and are held in between.
pub fn discrete<const N: usize, const M: usize, S>(
    inputs: [&str; N],
    outputs: [(&str, f64); M],
    state: S,
    update: impl Fn(&mut S, f64, &[f64], &mut [f64]) + Send + Sync + 'static,
) -> impl Blueprint
where
    S: Clone + Send + Sync + 'static,
{
    let interface = Interface {
        inputs: inputs.iter().map(|name| Closure::port(name).starting_at(0.0)).collect(),
        outputs: outputs.iter().map(|(name, _)| Port { discrete: true, ..Closure::port(name) }).collect(),
        abilities: Abilities { rollback: true, variable_step: true, ..Abilities::default() },
        ..Interface::default()
    };
    let update: Arc<UpdateFunction<S>> = Arc::new(update);
    let now = (state, outputs.iter().map(|(_, start)| *start).collect::<Vec<f64>>());
    move || DiscreteModel {
        interface: interface.clone(),
        update: update.clone(),
        inputs: vec![0.0; N],
        memory: Memory::new(now.clone()),
    }
}

type UpdateFunction<S> = dyn Fn(&mut S, f64, &[f64], &mut [f64]) + Send + Sync;

struct DiscreteModel<S> {
    interface: Interface,
    update: Arc<UpdateFunction<S>>,
    inputs: Vec<f64>,
    /// The state and the outputs.
    memory: Memory<(S, Vec<f64>)>,
}

impl<S> fmt::Debug for DiscreteModel<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Discrete({:?})", self.interface)
    }
}

impl<S: Clone + Send + Sync> Simulator for DiscreteModel<S> {
    fn interface(&self) -> &Interface {
        &self.interface
    }

    fn initialize(&mut self, _setup: &Setup) -> Result<(), SimulatorError> {
        Ok(())
    }

    fn set_inputs(&mut self, _at: Time, _inputs: &Inputs<'_>) -> Result<(), SimulatorError> {
        Ok(())
    }

    fn do_step(&mut self, window: Window, inputs: &Inputs<'_>) -> Result<StepResult, SimulatorError> {
        for (port, value) in self.inputs.iter_mut().enumerate() {
            *value = inputs.at(port, window.size);
        }
        let (state, outputs) = &mut self.memory.now;
        (self.update)(state, window.to.seconds(), &self.inputs, outputs);
        Ok(StepResult::end_of(window, 1))
    }

    fn get_outputs(&mut self, out: &mut Outputs<'_>) -> Result<(), SimulatorError> {
        out.values.copy_from_slice(&self.memory.now.1);
        Ok(())
    }

    fn rollback(&mut self) -> Option<&mut dyn Rollback> {
        Some(&mut self.memory)
    }
}
