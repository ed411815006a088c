//! Two masses, each on a spring and damper of its own, joined by a third: the usual test of coupling.
//!
//! The coupling force f = kc (x1 - x2) + dc (v1 - v2) comes out of the left or of the right component, or out
//! of a third one between two masses (force/force); the left mass feels -f and the right one +f, wherever it is
//! computed. Or no force is exchanged: each side has a coupling spring and damper of its own, and its inputs are the
//! motion of the other (displacement/displacement).

use cosimo_core::registry::ReferenceEntry;
use cosimo_core::{Options, Spec};
use cosimo_native::linear::monolithic;
use cosimo_native::solver::{EXACT, MICRO_STEPS};
use cosimo_native::{Linear, Ode};

use crate::parameters::{initial, not_negative, numbers, positive};
use crate::{ModelEntry, input, output};

const M1: Spec = positive("m1", 100.0, "kg", "left mass");
const K1: Spec = not_negative("k1", 100.0, "N/m", "stiffness to the left wall");
const D1: Spec = not_negative("d1", 100.0, "N.s/m", "damping to the left wall");
const M2: Spec = positive("m2", 100.0, "kg", "right mass");
const K2: Spec = not_negative("k2", 100.0, "N/m", "stiffness to the right wall");
const D2: Spec = not_negative("d2", 100.0, "N.s/m", "damping to the right wall");
const KC: Spec = not_negative("kc", 60.0, "N/m", "stiffness between the masses");
const DC: Spec = not_negative("dc", 60.0, "N.s/m", "damping between the masses");
const X10: Spec = initial("x10", 1.0, "m", "displacement of the left mass at the start");
const V10: Spec = initial("v10", 0.0, "m/s", "velocity of the left mass at the start");
const X20: Spec = initial("x20", 0.0, "m", "displacement of the right mass at the start");
const V20: Spec = initial("v20", 0.0, "m/s", "velocity of the right mass at the start");

/// Parameter names of a mass: mass, stiffness, damping, and where it starts.
const ONE: [&str; 5] = ["m1", "k1", "d1", "x10", "v10"];
const TWO: [&str; 5] = ["m2", "k2", "d2", "x20", "v20"];

/// A mass on its own spring and damper; its input, the coupling force, acts with `sign`.
fn force_input(options: &Options, names: [&str; 5], sign: f64, effect: &str) -> Linear {
    let [m, k, d, x, v] = numbers(options, names);
    let motion = [output("v", "m/s", "velocity"), output("x", "m", "displacement")];
    Linear::second_order(input("f", "N", effect), motion, [x, v], [-k / m, -d / m, sign / m, 0.0])
}

/// A mass with the coupling spring and damper; its inputs are the motion of the other mass. Its own motion counts
/// with `sign` in the force.
fn force_output(options: &Options, names: [&str; 5], sign: f64, other: &str) -> Linear {
    let [m, k, d, x, v] = numbers(options, names);
    let (kc, dc) = (options.number("kc"), options.number("dc"));
    Linear {
        inputs: vec![
            input("x_far", "m", &format!("displacement of the {other} mass")),
            input("v_far", "m/s", &format!("velocity of the {other} mass")),
        ],
        outputs: vec![
            output("f", "N", "coupling force; pulls the left mass back and the right one along"),
            output("x", "m", "displacement"),
            output("v", "m/s", "velocity"),
        ],
        initial: vec![x, v],
        a: vec![0.0, 1.0, -(k + kc) / m, -(d + dc) / m],
        b: vec![0.0, 0.0, kc / m, dc / m],
        c: vec![sign * kc, sign * dc, 1.0, 0.0, 0.0, 1.0],
        d: vec![-sign * kc, -sign * dc, 0.0, 0.0, 0.0, 0.0],
        drift: vec![0.0, 0.0],
    }
}

/// As `force_output`, but only the motion is an output. A separate model, because inputs without direct feed-through
/// are another case for stability and for methods that depend on it.
fn motion_output(options: &Options, names: [&str; 5], other: &str) -> Linear {
    let mut model = force_output(options, names, 1.0, other);
    model.outputs.remove(0);
    model.c.drain(..model.initial.len());
    model.d.drain(..model.inputs.len());
    model
}

pub(crate) const MODELS: &[ModelEntry] = &[
    ModelEntry {
        name: "dual-mass/left-force",
        summary: "left mass with the coupling spring and damper; input: motion of the right mass",
        parameters: &[M1, K1, D1, KC, DC, X10, V10, EXACT, MICRO_STEPS],
        build: |options| Box::new(force_output(options, ONE, 1.0, "right").simulator(options)),
    },
    ModelEntry {
        name: "dual-mass/right",
        summary: "right mass; input: coupling force",
        parameters: &[M2, K2, D2, X20, V20, EXACT, MICRO_STEPS],
        build: |options| {
            Box::new(
                force_input(options, TWO, 1.0, "coupling force; pushes the mass along").simulator(options),
            )
        },
    },
    ModelEntry {
        name: "dual-mass/left",
        summary: "left mass; input: coupling force",
        parameters: &[M1, K1, D1, X10, V10, EXACT, MICRO_STEPS],
        build: |options| {
            Box::new(
                force_input(options, ONE, -1.0, "coupling force; pulls the mass back").simulator(options),
            )
        },
    },
    ModelEntry {
        name: "dual-mass/right-force",
        summary: "right mass with the coupling spring and damper; input: motion of the left mass",
        parameters: &[M2, K2, D2, KC, DC, X20, V20, EXACT, MICRO_STEPS],
        build: |options| Box::new(force_output(options, TWO, -1.0, "left").simulator(options)),
    },
    ModelEntry {
        name: "dual-mass/left-motion",
        summary: "left mass with a coupling spring and damper of its own; only the motion is exchanged",
        parameters: &[M1, K1, D1, KC, DC, X10, V10, EXACT, MICRO_STEPS],
        build: |options| Box::new(motion_output(options, ONE, "right").simulator(options)),
    },
    ModelEntry {
        name: "dual-mass/right-motion",
        summary: "right mass with a coupling spring and damper of its own; only the motion is exchanged",
        parameters: &[M2, K2, D2, KC, DC, X20, V20, EXACT, MICRO_STEPS],
        build: |options| Box::new(motion_output(options, TWO, "left").simulator(options)),
    },
    // The force twice, because a bond to each side takes an effort of its own.
    ModelEntry {
        name: "dual-mass/coupling",
        summary: "coupling spring and damper without a state; inputs: motion of both masses",
        parameters: &[KC, DC],
        build: |options| {
            let (kc, dc) = (options.number("kc"), options.number("dc"));
            let force = [kc, dc, -kc, -dc];
            let inputs = vec![
                input("x1", "m", "displacement of the left mass"),
                input("v1", "m/s", "velocity of the left mass"),
                input("x2", "m", "displacement of the right mass"),
                input("v2", "m/s", "velocity of the right mass"),
            ];
            let outputs = vec![
                output("f1", "N", "coupling force; pulls the left mass back"),
                output("f2", "N", "coupling force; pushes the right mass along"),
            ];
            Box::new(Ode::exact(Linear::gains(inputs, outputs, [force, force].concat())))
        },
    },
];

pub(crate) const REFERENCE: ReferenceEntry = ReferenceEntry {
    name: "dual-mass",
    summary: "monolithic dual mass, by the matrix exponential",
    parameters: &[M1, K1, D1, M2, K2, D2, KC, DC, X10, V10, X20, V20],
    columns: &["x1", "v1", "x2", "v2", "f"],
    solve: |options, _, instants| {
        let [m1, k1, d1, m2, k2, d2, kc, dc] =
            numbers(options, ["m1", "k1", "d1", "m2", "k2", "d2", "kc", "dc"]);
        #[rustfmt::skip]
        let a = [
            0.0, 1.0, 0.0, 0.0,
            -(k1 + kc) / m1, -(d1 + dc) / m1, kc / m1, dc / m1,
            0.0, 0.0, 0.0, 1.0,
            kc / m2, dc / m2, -(k2 + kc) / m2, -(d2 + dc) / m2,
        ];
        let start = numbers(options, ["x10", "v10", "x20", "v20"]);
        monolithic(&a, &start, instants, |x| {
            vec![x[0], x[1], x[2], x[3], kc * (x[0] - x[2]) + dc * (x[1] - x[3])]
        })
    },
    history: true,
};
