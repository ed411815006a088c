//! Van der Pol's oscillator, x'' = mu (1 - x^2) x' - x: smooth, and the stiffer the larger mu.

use cosimo_core::Port;
use cosimo_native::{Model, Quantity, Tangent, Unknown};

use crate::parameters::{finite, initial, parameters};
use crate::{HybridEntry, output, rows};

parameters! {
    struct VanDerPol {
        mu: f64 = finite["mu", 5.0, "1/s", "strength of the damping"];
        x: f64 = initial["x0", 2.0, "1", "deflection at the start"];
        v: f64 = initial["v0", 0.0, "1/s", "rate of change of the deflection at the start"];
    }
}

impl Model for VanDerPol {
    fn states(&self) -> Vec<Port> {
        vec![output("x", "1", "deflection"), output("v", "1/s", "rate of change of the deflection")]
    }

    fn initial(&self) -> Vec<f64> {
        vec![self.x, self.v]
    }

    fn derivatives(&self, x: &[f64], _u: &[f64], dx: &mut [f64]) {
        dx[0] = x[1];
        dx[1] = self.mu * (1.0 - x[0] * x[0]) * x[1] - x[0];
    }

    fn tangent(&self, x: &[f64], _u: &[f64], along: &Tangent<'_>, dx: &mut [f64], y: &mut [f64]) {
        let [a, b] = [along.x[0], along.x[1]];
        dx[0] = b;
        dx[1] = self.mu * ((1.0 - x[0] * x[0]) * b - 2.0 * x[0] * x[1] * a) - a;
        y.copy_from_slice(along.x);
    }

    fn depends(&self, value: Unknown, on: Quantity) -> bool {
        match (value, on) {
            (Unknown::Derivative(0), Quantity::State(state)) => state == 1,
            (Unknown::Output(output), Quantity::State(state)) => output == state,
            _ => true,
        }
    }
}

pub(crate) const ENTRY: HybridEntry = HybridEntry {
    name: "van-der-pol",
    summary: "oscillator with negative damping at small and positive damping at large deflection",
    parameters: VanDerPol::PARAMETERS,
    stop: 20.0,
    build: |options| Box::new(VanDerPol::of(options)),
    // By scipy 1.17.1, and Radau agrees within 4e-13:
    // `solve_ivp(lambda t, y: [y[1], 5*(1 - y[0]**2)*y[1] - y[0]], (0, 20), [2, 0], "DOP853", arange(0, 21, 2.0),
    // rtol=1e-13, atol=1e-14)`.
    reference: || rows(include_str!("van_der_pol.csv")),
};
