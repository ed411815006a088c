//! The quarter car with a linear damper as matrices, cut in the same two ways: solved exactly, with integrals of its
//! outputs, so that every error is one of coupling. Genser & Benedikt 2018 (pre-step) beside ECCO and NEPCE.
//!
//! The chassis alone has its velocity as its only state: no connection needs its displacement, and a method that uses
//! states would spend a degree of freedom on it. The strut, which has to integrate it anyway, outputs the displacement.

use cosimo_native::Linear;
use cosimo_native::solver::{EXACT, MICRO_STEPS};

use crate::parameters::numbers;
use crate::quarter_car::{DC, KC, KW, MC, MW, ROAD, VC0, VW0, ZC0, ZW0};
use crate::{ModelEntry, input, output};

pub(crate) const MODELS: &[ModelEntry] = &[
    ModelEntry {
        name: "quarter-car/linear-chassis",
        summary: "velocity of the chassis; input: strut force",
        parameters: &[MC, VC0, EXACT, MICRO_STEPS],
        build: |options| {
            let [mc, vc] = numbers(options, ["mc", "vc0"]);
            let force = input("F", "N", "strut force; pulls the chassis down");
            let velocity = output("v", "m/s", "velocity");
            Box::new(Linear::first_order(force, velocity, vc, [0.0, -1.0 / mc, 0.0]).simulator(options))
        },
    },
    ModelEntry {
        name: "quarter-car/linear-wheel-strut",
        summary: "wheel, tyre spring and linear strut; input: velocity of the chassis",
        parameters: &[MW, KW, ROAD, KC, DC, ZW0, VW0, ZC0, EXACT, MICRO_STEPS],
        build: |options| {
            let [mw, kw, road, kc, dc] = numbers(options, ["mw", "kw", "road", "kc", "dc"]);
            // Displacement and velocity of the wheel, displacement of the chassis.
            let model = Linear {
                inputs: vec![input("v", "m/s", "velocity of the chassis")],
                outputs: vec![
                    output("F", "N", "strut force; pulls the chassis down and the wheel up"),
                    output("z", "m", "displacement of the wheel"),
                    output("v_wheel", "m/s", "velocity of the wheel"),
                    output("z_chassis", "m", "displacement of the chassis"),
                ],
                initial: numbers(options, ["zw0", "vw0", "zc0"]).to_vec(),
                a: vec![0.0, 1.0, 0.0, -(kw + kc) / mw, -dc / mw, kc / mw, 0.0, 0.0, 0.0],
                b: vec![0.0, dc / mw, 1.0],
                c: vec![-kc, -dc, kc, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0],
                d: vec![dc, 0.0, 0.0, 0.0],
                drift: vec![0.0, kw * road / mw, 0.0],
            };
            Box::new(model.simulator(options))
        },
    },
    ModelEntry {
        name: "quarter-car/linear-chassis-strut",
        summary: "chassis and linear strut; input: velocity of the wheel",
        parameters: &[MC, KC, DC, ZC0, VC0, ZW0, EXACT, MICRO_STEPS],
        build: |options| {
            let [mc, kc, dc] = numbers(options, ["mc", "kc", "dc"]);
            // Displacement and velocity of the chassis, displacement of the wheel.
            let model = Linear {
                inputs: vec![input("v", "m/s", "velocity of the wheel")],
                outputs: vec![
                    output("F", "N", "strut force; pulls the chassis down and the wheel up"),
                    output("z", "m", "displacement of the chassis"),
                    output("v_chassis", "m/s", "velocity of the chassis"),
                ],
                initial: numbers(options, ["zc0", "vc0", "zw0"]).to_vec(),
                a: vec![0.0, 1.0, 0.0, -kc / mc, -dc / mc, kc / mc, 0.0, 0.0, 0.0],
                b: vec![0.0, dc / mc, 1.0],
                c: vec![kc, dc, -kc, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0],
                d: vec![-dc, 0.0, 0.0],
                drift: vec![0.0; 3],
            };
            Box::new(model.simulator(options))
        },
    },
    ModelEntry {
        name: "quarter-car/linear-wheel",
        summary: "wheel and tyre spring; input: strut force",
        parameters: &[MW, KW, ROAD, ZW0, VW0, EXACT, MICRO_STEPS],
        build: |options| {
            let [mw, kw, road] = numbers(options, ["mw", "kw", "road"]);
            let force = input("F", "N", "strut force; pulls the wheel up");
            let motion = [output("v", "m/s", "velocity"), output("z", "m", "displacement")];
            let factors = [-kw / mw, 0.0, 1.0 / mw, kw * road / mw];
            let start = numbers(options, ["zw0", "vw0"]);
            Box::new(Linear::second_order(force, motion, start, factors).simulator(options))
        },
    },
];
