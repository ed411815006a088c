//! A lag with an input that may jump, T x' = u - x. What drives it, u - x, is shown too and answers at once.

use cosimo_core::{Interface, Port};
use cosimo_native::{ABILITIES, Direction, Known, Model, Unknown};

use crate::parameters::{initial, positive};
use crate::{HybridEntry, input, output};

#[derive(Debug)]
struct Driven {
    lag: f64,
    start: f64,
}

const X0: f64 = 0.5;
const U: f64 = 2.0;
const T: f64 = 0.8;

impl Model for Driven {
    fn interface(&self) -> Interface {
        Interface {
            inputs: vec![input("u", "1", "what the lag follows").starting_at(U)],
            outputs: vec![output("x", "1", "what has come through"), output("e", "1", "what has not")],
            feedthrough: vec![(1, 0)],
            abilities: ABILITIES,
            ..Interface::default()
        }
    }

    fn states(&self) -> Vec<Port> {
        vec![output("x", "1", "what has come through")]
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

    fn tangent(&self, _x: &[f64], _u: &[f64], along: &Direction<'_>, dx: &mut [f64], y: &mut [f64]) {
        dx[0] = (along.u[0] - along.x[0]) / self.lag;
        y[0] = along.x[0];
        y[1] = along.u[0] - along.x[0];
    }

    fn depends(&self, value: Unknown, on: Known) -> bool {
        (value, on) != (Unknown::Output(0), Known::Input(0))
    }
}

pub(crate) const ENTRY: HybridEntry = HybridEntry {
    name: "driven",
    summary: "first-order lag that follows its input",
    parameters: &[
        positive("T", T, "s", "time constant"),
        initial("x0", X0, "1", "what has come through before the start"),
    ],
    stop: 2.0,
    build: |options| Box::new(Driven { lag: options.number("T"), start: options.number("x0") }),
    reference: || {
        let row = |i: i32| {
            let t = 0.1 * f64::from(i);
            let x = lagging(t, X0, U, T);
            vec![t, x, U - x]
        };
        (0..=20).map(row).collect()
    },
};

/// The lag some time after it was at `x0`, under a constant input. Whoever lets the input jump begins anew.
pub fn lagging(t: f64, x0: f64, u: f64, lag: f64) -> f64 {
    u + (x0 - u) * (-t / lag).exp()
}
