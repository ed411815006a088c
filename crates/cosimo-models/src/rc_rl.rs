//! A source that charges a capacitor through a resistor, loaded by a resistor and a coil: the smallest
//! electrical system with a power bond, voltage one way and current the other, and no feedthrough at all.

use cosimo_core::Spec;
use cosimo_core::registry::ReferenceEntry;
use cosimo_native::Linear;
use cosimo_native::linear::monolithic;
use cosimo_native::solver::{EXACT, MICRO_STEPS};

use crate::parameters::{finite, initial, not_negative, numbers, positive};
use crate::{ModelEntry, input, output};

const R1: Spec = positive("R1", 1.0, "Ohm", "resistor between source and capacitor");
const C: Spec = positive("C", 0.01, "F", "capacitor");
const V0: Spec = finite("V0", 10.0, "V", "voltage of the source");
const R2: Spec = not_negative("R2", 0.5, "Ohm", "resistor of the load");
const L: Spec = positive("L", 0.01, "H", "coil of the load");
const V_START: Spec = initial("v0", 0.0, "V", "voltage of the capacitor at the start");
const I_START: Spec = initial("i0", 0.0, "A", "current in the coil at the start");

pub(crate) const MODELS: &[ModelEntry] = &[
    ModelEntry {
        name: "rc-rl/rc",
        summary: "source, resistor and capacitor; input: current that is drawn",
        parameters: &[R1, C, V0, V_START, EXACT, MICRO_STEPS],
        build: |options| {
            let [r, c, source, start] = numbers(options, ["R1", "C", "V0", "v0"]);
            let input = input("i", "A", "current drawn by the load");
            let output = output("v", "V", "voltage of the capacitor");
            let factors = [-1.0 / (r * c), -1.0 / c, source / (r * c)];
            Box::new(Linear::first_order(input, output, start, factors).simulator(options))
        },
    },
    ModelEntry {
        name: "rc-rl/rl",
        summary: "resistor and coil in series; input: voltage across both",
        parameters: &[R2, L, I_START, EXACT, MICRO_STEPS],
        build: |options| {
            let [r, l, start] = numbers(options, ["R2", "L", "i0"]);
            let input = input("v", "V", "voltage across resistor and coil");
            let output = output("i", "A", "current in the coil");
            Box::new(Linear::first_order(input, output, start, [-r / l, 1.0 / l, 0.0]).simulator(options))
        },
    },
];

pub(crate) const REFERENCE: ReferenceEntry = ReferenceEntry {
    name: "rc-rl",
    summary: "monolithic circuit, by the matrix exponential",
    parameters: &[R1, C, V0, R2, L, V_START, I_START],
    columns: &["v", "i", "P"],
    solve: |options, _, instants| {
        let [r1, c, v0, r2, l] = numbers(options, ["R1", "C", "V0", "R2", "L"]);
        // The third state is the constant 1, which carries the source.
        #[rustfmt::skip]
        let a = [
            -1.0 / (r1 * c), -1.0 / c, v0 / (r1 * c),
            1.0 / l, -r2 / l, 0.0,
            0.0, 0.0, 0.0,
        ];
        let start = [options.number("v0"), options.number("i0"), 1.0];
        monolithic(&a, &start, instants, |x| vec![x[0], x[1], x[0] * x[1]])
    },
    history: true,
};
