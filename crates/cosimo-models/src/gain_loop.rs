//! Two gains in an algebraic loop that drives a lag: y1 = a y2 + x, y2 = b y1, T x' = y2 - x.
//!
//! Passing y1 and y2 on with a delay multiplies their error by a b per round, so the loop can be
//! coupled for |a b| < 1 only, although its solution exists for every a b but 1. Inputs deliberately have no
//! start value: breaking the loop is for the user to decide.

use cosimo_core::registry::ReferenceEntry;
use cosimo_core::{Port, Spec};
use cosimo_native::linear::monolithic;
use cosimo_native::solver::{EXACT, MICRO_STEPS};
use cosimo_native::{Linear, Ode};

use crate::parameters::{finite, initial, numbers, positive};
use crate::{ModelEntry, Native, input, output};

const A: Spec = finite("a", 0.5, "1", "gain from the second component to the first");
const B: Spec = finite("b", 0.5, "1", "gain from the first component to the second");
const T: Spec = positive("T", 1.0, "s", "time constant of the lag");
const X0: Spec = initial("x0", 1.0, "1", "output of the lag at the start");

/// y = sum of gain times input, without any state.
fn gains(inputs: Vec<Port>, gains: Vec<f64>) -> Box<dyn Native> {
    let outputs = vec![output("y", "1", "sum of the inputs times their gains")];
    Box::new(Ode::exact(Linear::gains(inputs, outputs, gains)))
}

pub(crate) const MODELS: &[ModelEntry] = &[
    ModelEntry {
        name: "gain-loop/first",
        summary: "gain with a second input, y = a u + w, with direct feed-through of both",
        parameters: &[A],
        build: |options| {
            let inputs =
                vec![input("u", "1", "output of the second gain"), input("w", "1", "output of the lag")];
            gains(inputs, vec![options.number("a"), 1.0])
        },
    },
    ModelEntry {
        name: "gain-loop/second",
        summary: "gain, y = b u, with direct feed-through",
        parameters: &[B],
        build: |options| gains(vec![input("u", "1", "output of the first gain")], vec![options.number("b")]),
    },
    ModelEntry {
        name: "gain-loop/lag",
        summary: "first-order lag, T x' = u - x",
        parameters: &[T, X0, EXACT, MICRO_STEPS],
        build: |options| {
            let rate = 1.0 / options.number("T");
            let ports = [input("u", "1", "output of the second gain"), output("x", "1", "output of the lag")];
            let [input, output] = ports;
            let lag = Linear::first_order(input, output, options.number("x0"), [-rate, rate, 0.0]);
            Box::new(lag.simulator(options))
        },
    },
];

pub(crate) const REFERENCE: ReferenceEntry = ReferenceEntry {
    name: "gain-loop",
    summary: "the loop solved for its gains, y1 = x / (1 - a b), and the lag by the exponential",
    parameters: &[A, B, T, X0],
    columns: &["x", "y1", "y2"],
    solve: |options, _, instants| {
        let [a, b, lag, x0] = numbers(options, ["a", "b", "T", "x0"]);
        let through = 1.0 / (1.0 - a * b); // infinite where there is no solution
        monolithic(&[(b * through - 1.0) / lag], &[x0], instants, |x| {
            vec![x[0], through * x[0], b * through * x[0]]
        })
    },
    history: true,
};
