//! Robertson's reaction of three species, A -> B, 2 B -> B + C, B + C -> A + C: rates nine orders of magnitude apart,
//! the usual test of stiff solvers. Robertson 1966.

use cosimo_core::Port;
use cosimo_native::{Model, Quantity, Tangent, Unknown};

use crate::parameters::{initial, not_negative, parameters};
use crate::{HybridEntry, output, rows};

parameters! {
    struct Robertson {
        k1: f64 = not_negative["k1", 0.04, "1/s", "rate of A -> B"];
        k2: f64 = not_negative["k2", 3e7, "1/s", "rate of 2 B -> B + C"];
        k3: f64 = not_negative["k3", 1e4, "1/s", "rate of B + C -> A + C"];
        a: f64 = initial["A0", 1.0, "1", "share of species A at the start"];
        b: f64 = initial["B0", 0.0, "1", "share of species B at the start"];
        c: f64 = initial["C0", 0.0, "1", "share of species C at the start"];
    }
}

impl Model for Robertson {
    fn states(&self) -> Vec<Port> {
        ["A", "B", "C"].map(|name| output(name, "1", &format!("share of species {name}"))).to_vec()
    }

    fn initial(&self) -> Vec<f64> {
        vec![self.a, self.b, self.c]
    }

    fn derivatives(&self, x: &[f64], _u: &[f64], dx: &mut [f64]) {
        let (slow, fast, back) = (self.k1 * x[0], self.k2 * x[1] * x[1], self.k3 * x[1] * x[2]);
        dx[0] = back - slow;
        dx[1] = slow - back - fast;
        dx[2] = fast;
    }

    fn nominals(&self, into: &mut [f64]) {
        into.copy_from_slice(&[1.0, 1e-5, 1.0]);
    }

    fn tangent(&self, x: &[f64], _u: &[f64], along: &Tangent<'_>, dx: &mut [f64], y: &mut [f64]) {
        let [a, b, c] = [along.x[0], along.x[1], along.x[2]];
        let (slow, fast) = (self.k1 * a, 2.0 * self.k2 * x[1] * b);
        let back = self.k3 * (b * x[2] + x[1] * c);
        dx[0] = back - slow;
        dx[1] = slow - back - fast;
        dx[2] = fast;
        y.copy_from_slice(along.x);
    }

    fn depends(&self, value: Unknown, on: Quantity) -> bool {
        match (value, on) {
            (Unknown::Derivative(2), Quantity::State(state)) => state == 1,
            (Unknown::Output(output), Quantity::State(state)) => output == state,
            _ => true,
        }
    }
}

pub(crate) const ENTRY: HybridEntry = HybridEntry {
    name: "robertson",
    summary: "three species in a very stiff reaction",
    parameters: Robertson::PARAMETERS,
    stop: 40.0,
    build: |options| Box::new(Robertson::of(options)),
    // By scipy 1.17.1 with the exact Jacobian, and DOP853 agrees within 3e-14:
    // `solve_ivp(lambda t, y: [-0.04*y[0] + 1e4*y[1]*y[2], 0.04*y[0] - 1e4*y[1]*y[2] - 3e7*y[1]**2, 3e7*y[1]**2],
    // (0, 40), [1, 0, 0], "Radau", arange(0, 41, 4.0), rtol=1e-12, atol=1e-16, jac=...)`.
    reference: || rows(include_str!("robertson.csv")),
};
