//! Two of Dahlquist's test equations, coupled: x1' = lambda x1 + c x2 and x2' = mu x2 + d x1. The smallest
//! system in which stability and order of a coupling show; no feedthrough, no physical unit, no power.

use cosimo_core::registry::ReferenceEntry;
use cosimo_core::{Options, Spec};
use cosimo_native::Linear;
use cosimo_native::linear::monolithic;
use cosimo_native::solver::{EXACT, MICRO_STEPS};

use crate::parameters::{finite, initial, numbers};
use crate::{ModelEntry, Native, input, output};

const LAMBDA: Spec = finite("lambda", -1.0, "1/s", "own rate of the first equation");
const C: Spec = finite("c", 0.5, "1/s", "gain of the second equation in the first");
const MU: Spec = finite("mu", -2.0, "1/s", "own rate of the second equation");
const D: Spec = finite("d", -1.5, "1/s", "gain of the first equation in the second");
const X10: Spec = initial("x10", 1.0, "1", "first state at the start");
const X20: Spec = initial("x20", 0.5, "1", "second state at the start");

/// x' = rate x + gain u, y = x; parameter names of rate, gain and start.
fn equation(options: &Options, names: [&str; 3]) -> Box<dyn Native> {
    let [rate, gain, start] = numbers(options, names);
    let (input, output) = (input("u", "1", "state of the other equation"), output("y", "1", "state"));
    Box::new(Linear::first_order(input, output, start, [rate, gain, 0.0]).simulator(options))
}

pub(crate) const MODELS: &[ModelEntry] = &[
    ModelEntry {
        name: "dahlquist/first",
        summary: "test equation x' = lambda x + c u",
        parameters: &[LAMBDA, C, X10, EXACT, MICRO_STEPS],
        build: |options| equation(options, ["lambda", "c", "x10"]),
    },
    ModelEntry {
        name: "dahlquist/second",
        summary: "test equation x' = mu x + d u",
        parameters: &[MU, D, X20, EXACT, MICRO_STEPS],
        build: |options| equation(options, ["mu", "d", "x20"]),
    },
];

pub(crate) const REFERENCE: ReferenceEntry = ReferenceEntry {
    name: "dahlquist",
    summary: "both test equations, monolithic, by the matrix exponential",
    parameters: &[LAMBDA, C, MU, D, X10, X20],
    columns: &["x1", "x2"],
    solve: |options, _, instants| {
        let a = numbers(options, ["lambda", "c", "d", "mu"]);
        let start = numbers(options, ["x10", "x20"]);
        monolithic(&a, &start, instants, <[f64]>::to_vec)
    },
    history: true,
};
