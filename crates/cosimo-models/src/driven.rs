//! A lag with an input that may jump, T x' = u - x. The difference u - x is an output too, with direct feed-through.

use cosimo_core::math;
use cosimo_core::{Interface, Port};
use cosimo_native::{Model, Quantity, Tangent, Unknown};

use crate::parameters::{initial, parameters, positive};
use crate::{HybridEntry, input, interface, output};

parameters! {
    struct DrivenLag {
        lag: f64 = positive["T", 0.8, "s", "time constant"];
        start: f64 = initial["x0", 0.5, "1", "output of the lag at the start"];
    }
}

/// The input where it is not connected.
const U: f64 = 2.0;

impl Model for DrivenLag {
    fn interface(&self) -> Interface {
        let inputs = vec![input("u", "1", "input of the lag").starting_at(U)];
        let outputs = [Model::states(self), vec![output("e", "1", "input minus output of the lag")]].concat();
        Interface { feedthrough: vec![(1, 0)], ..interface(inputs, outputs) }
    }

    fn states(&self) -> Vec<Port> {
        vec![output("x", "1", "output of the lag")]
    }

    fn initial(&self) -> Vec<f64> {
        vec![self.start]
    }

    fn derivatives(&self, x: &[f64], u: &[f64], dx: &mut [f64]) {
        dx[0] = (u[0] - x[0]) / self.lag;
    }

    fn outputs(&self, x: &[f64], u: &[f64], y: &mut [f64]) {
        y[0] = x[0];
        y[1] = u[0] - x[0];
    }

    fn tangent(&self, _x: &[f64], _u: &[f64], along: &Tangent<'_>, dx: &mut [f64], y: &mut [f64]) {
        dx[0] = (along.u[0] - along.x[0]) / self.lag;
        y[0] = along.x[0];
        y[1] = along.u[0] - along.x[0];
    }

    fn depends(&self, value: Unknown, on: Quantity) -> bool {
        (value, on) != (Unknown::Output(0), Quantity::Input(0))
    }
}

pub(crate) const ENTRY: HybridEntry = HybridEntry {
    name: "driven",
    summary: "first-order lag that follows its input",
    parameters: DrivenLag::PARAMETERS,
    stop: 2.0,
    build: |options| Box::new(DrivenLag::of(options)),
    reference: || {
        let row = |i: i32| {
            let t = 0.1 * f64::from(i);
            let x = lagging(t, DrivenLag::DEFAULT.start, U, DrivenLag::DEFAULT.lag);
            vec![t, x, U - x]
        };
        (0..=20).map(row).collect()
    },
};

/// The lag at time `t` after it was at `x0`, under a constant input. After a jump of the input, start again from there.
pub fn lagging(t: f64, x0: f64, u: f64, lag: f64) -> f64 {
    u + (x0 - u) * math::exp(-t / lag)
}
