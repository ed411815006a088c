//! A damped oscillator cut between its spring with damper and its mass. Both sides integrate the velocity,
//! so a coupling error in it stays as a lasting difference of their positions.
//!
//! Only the exact solver: here every error must be one of coupling.

use cosimo_core::Spec;
use cosimo_core::registry::ReferenceEntry;
use cosimo_native::linear::monolithic;
use cosimo_native::{Linear, Ode};

use crate::parameters::{initial, not_negative, numbers, positive};
use crate::{ModelEntry, input, output};

const M: Spec = positive("m", 1.0, "kg", "mass");
const C: Spec = not_negative("c", 1.0, "N.s/m", "damping");
const K: Spec = not_negative("k", 1.0, "N/m", "stiffness");
const X0: Spec = initial("x0", 1.0, "m", "displacement at the start");
const V0: Spec = initial("v0", 0.0, "m/s", "velocity at the start");

pub(crate) const MODELS: &[ModelEntry] = &[
    ModelEntry {
        name: "oscillator/spring-damper",
        summary: "spring and damper; input: velocity of the mass",
        parameters: &[C, K, X0],
        build: |options| {
            let (c, k) = (options.number("c"), options.number("k"));
            Box::new(Ode::exact(Linear {
                inputs: vec![input("v", "m/s", "velocity of the mass")],
                outputs: vec![
                    output("F", "N", "force on the mass"),
                    output("x", "m", "displacement of the spring's end"),
                ],
                initial: vec![options.number("x0")],
                a: vec![0.0],
                b: vec![1.0],
                c: vec![-k, 1.0],
                d: vec![-c, 0.0],
                drift: vec![0.0],
            }))
        },
    },
    ModelEntry {
        name: "oscillator/mass",
        summary: "mass; input: force of spring and damper",
        parameters: &[M, X0, V0],
        build: |options| {
            let [m, x, v] = numbers(options, ["m", "x0", "v0"]);
            let motion = [output("v", "m/s", "velocity"), output("x", "m", "displacement")];
            let factors = [0.0, 0.0, 1.0 / m, 0.0];
            let force = input("F", "N", "force on the mass");
            Box::new(Ode::exact(Linear::second_order(force, motion, [x, v], factors)))
        },
    },
];

pub(crate) const REFERENCE: ReferenceEntry = ReferenceEntry {
    name: "oscillator",
    summary: "monolithic damped oscillator, by the matrix exponential",
    parameters: &[M, C, K, X0, V0],
    columns: &["x", "v", "F"],
    solve: |options, _, instants| {
        let [m, c, k, x0, v0] = numbers(options, ["m", "c", "k", "x0", "v0"]);
        let a = [0.0, 1.0, -k / m, -c / m];
        monolithic(&a, &[x0, v0], instants, |x| vec![x[0], x[1], -(c * x[1] + k * x[0])])
    },
    history: true,
};
