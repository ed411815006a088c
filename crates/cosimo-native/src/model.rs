//! Equations with events, without a solver: x' = f(t, x, m, u), y = g(t, x, m, u).
//!
//! The continuous states x change between events, the discrete states m only at them. The integrator watches the event
//! indicators and calls `event` where one changes its sign or where a time event was announced. Models without events
//! are hybrid too.

use cosimo_core::{Interface, Port};

use crate::ode::Model;

/// Equations with events. They keep no state between calls: all that can change is in the [`ModelPoint`].
pub trait Hybrid: Send {
    /// Ports and feedthrough.
    fn interface(&self) -> Interface;

    /// The continuous states by name. A state with the name of an output is that output; one with the name of a
    /// parameter starts with its value.
    fn states(&self) -> Vec<Port>;

    /// The kind of each output; those beyond the list are real.
    fn kinds(&self) -> Vec<OutputKind> {
        Vec::new()
    }

    /// Continuous and discrete states at the start.
    fn initial(&self) -> (Vec<f64>, Vec<f64>);

    fn derivatives(&self, at: &ModelPoint<'_>, dx: &mut [f64]);

    fn outputs(&self, at: &ModelPoint<'_>, y: &mut [f64]);

    fn indicator_count(&self) -> usize {
        0
    }

    /// Values whose change from above zero to zero or below, or back, is an event.
    fn indicators(&self, _at: &ModelPoint<'_>, _z: &mut [f64]) {}

    /// Changes continuous and discrete states. Also called at the start and at points without an event, where it
    /// should change nothing.
    fn event(&self, _t: f64, _u: &[f64], _x: &mut [f64], _m: &mut [f64]) -> Event {
        Event::default()
    }

    /// Whether events may change this state.
    fn jumps(&self, _state: usize) -> bool {
        false
    }

    /// Nominal values of the states.
    fn nominals(&self, into: &mut [f64]) {
        into.fill(1.0);
    }

    /// Directional derivative: the change of derivatives and outputs along a direction of states and inputs.
    fn tangent(&self, at: &ModelPoint<'_>, along: &Tangent<'_>, dx: &mut [f64], y: &mut [f64]);

    /// Whether one value ever depends on another. For outputs and inputs see the interface.
    fn depends(&self, _value: Unknown, _on: Quantity) -> bool {
        true
    }
}

/// A point at which a model is evaluated.
#[derive(Debug, Clone, Copy)]
pub struct ModelPoint<'a> {
    pub t: f64,
    pub x: &'a [f64],
    pub m: &'a [f64],
    pub u: &'a [f64],
}

/// A direction of states and inputs.
#[derive(Debug, Clone, Copy)]
pub struct Tangent<'a> {
    pub x: &'a [f64],
    pub u: &'a [f64],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unknown {
    Derivative(usize),
    Output(usize),
    Indicator(usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantity {
    State(usize),
    Input(usize),
}

/// The kind of an output. The discrete kinds change at events only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputKind {
    Real,
    /// Real, but constant between events.
    Held,
    Integer,
    /// 0 or 1.
    Boolean,
    /// From 1 on, by name.
    Enumeration(&'static [&'static str]),
}

/// The outcome of an event.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Event {
    /// At least one state jumped.
    pub states_changed: bool,
    /// The next time event.
    pub next: Option<f64>,
    /// The model requests the end of the run.
    pub terminate: bool,
}

/// A model without events has no discrete states.
impl<M: Model> Hybrid for M {
    fn interface(&self) -> Interface {
        Model::interface(self)
    }

    fn states(&self) -> Vec<Port> {
        Model::states(self)
    }

    fn initial(&self) -> (Vec<f64>, Vec<f64>) {
        (Model::initial(self), Vec::new())
    }

    fn derivatives(&self, at: &ModelPoint<'_>, dx: &mut [f64]) {
        Model::derivatives_at(self, at.t, at.x, at.u, dx);
    }

    fn outputs(&self, at: &ModelPoint<'_>, y: &mut [f64]) {
        Model::outputs(self, at.x, at.u, y);
    }

    fn nominals(&self, into: &mut [f64]) {
        Model::nominals(self, into);
    }

    fn tangent(&self, at: &ModelPoint<'_>, along: &Tangent<'_>, dx: &mut [f64], y: &mut [f64]) {
        Model::tangent(self, at.x, at.u, along, dx, y);
    }

    fn depends(&self, value: Unknown, on: Quantity) -> bool {
        Model::depends(self, value, on)
    }
}
