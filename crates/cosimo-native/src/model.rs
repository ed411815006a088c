//! Equations with events, apart from whoever solves them: x' = f(t, x, m, u), y = g(t, x, m, u).
//!
//! The states x move between events, the memory m only at them. Whoever integrates watches the indicators, asks
//! for an event where one changes its sign or where one was announced, and lets the model decide what happened.
//! Models without events are hybrid too.

use cosimo_core::{Interface, Port};

use crate::ode::Model;

/// Equations with events. Nothing is kept between calls: all that can change is in the [`Point`].
pub trait Hybrid: Send {
    /// Ports and feedthrough.
    fn interface(&self) -> Interface;

    /// The states by name. One that has the name of an output is that output; one that has the name of a
    /// parameter starts with its value.
    fn states(&self) -> Vec<Port>;

    /// What kind of number each output is; the rest are real.
    fn kinds(&self) -> Vec<OutputKind> {
        Vec::new()
    }

    /// States and memory at the start.
    fn initial(&self) -> (Vec<f64>, Vec<f64>);

    fn derivatives(&self, at: &ModelPoint<'_>, dx: &mut [f64]);

    fn outputs(&self, at: &ModelPoint<'_>, y: &mut [f64]);

    fn indicator_count(&self) -> usize {
        0
    }

    /// Values whose change from above zero to zero or below, or back, is an event.
    fn indicators(&self, _at: &ModelPoint<'_>, _z: &mut [f64]) {}

    /// Changes states and memory as the point demands. Asked at the start too, and whenever somebody thinks that
    /// there is an event: a point where nothing happens is no mistake.
    fn event(&self, _t: f64, _u: &[f64], _x: &mut [f64], _m: &mut [f64]) -> Event {
        Event::default()
    }

    /// Whether events may change this state.
    fn jumps(&self, _state: usize) -> bool {
        false
    }

    /// How large the states usually are.
    fn nominals(&self, into: &mut [f64]) {
        into.fill(1.0);
    }

    /// How derivatives and outputs change when states and inputs move along a direction.
    fn tangent(&self, at: &ModelPoint<'_>, along: &Tangent<'_>, dx: &mut [f64], y: &mut [f64]);

    /// Whether one value ever changes with another. Outputs and inputs are the interface's matter.
    fn depends(&self, _value: Unknown, _on: Quantity) -> bool {
        true
    }
}

/// Where a model is.
#[derive(Debug, Clone, Copy)]
pub struct ModelPoint<'a> {
    pub t: f64,
    pub x: &'a [f64],
    pub m: &'a [f64],
    pub u: &'a [f64],
}

/// Where states and inputs move to.
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

/// What an output can be. The discrete kinds change at events only.
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

/// What an event did.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Event {
    /// At least one state jumped.
    pub states_changed: bool,
    /// The next instant at which to ask, whatever the indicators say.
    pub next: Option<f64>,
    /// The model has nothing more to say; the run should end here.
    pub terminate: bool,
}

/// A model without events needs no memory.
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
