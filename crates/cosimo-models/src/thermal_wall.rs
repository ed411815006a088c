//! Two rooms on both sides of a wall that stores heat, closed against the outside; the left one is heated.
//!
//! Temperature times heat flow is no power: heat flow is one already. Such a pair is called a pseudo bond, and
//! is coupled by connections.

use cosimo_core::registry::ReferenceEntry;
use cosimo_core::{Options, Spec};
use cosimo_native::Linear;
use cosimo_native::linear::monolithic;
use cosimo_native::solver::{EXACT, MICRO_STEPS};

use crate::parameters::{finite, initial, not_negative, numbers, positive};
use crate::{ModelEntry, Native, input, output};

const C1: Spec = positive("C1", 1e5, "J/K", "heat capacity of the left room");
const C2: Spec = positive("C2", 2e5, "J/K", "heat capacity of the right room");
const CW: Spec = positive("Cw", 1e6, "J/K", "heat capacity of the wall");
const G1: Spec = not_negative("G1", 100.0, "W/K", "conductance, left room to wall");
const G2: Spec = not_negative("G2", 50.0, "W/K", "conductance, wall to right room");
const P1: Spec = finite("P1", 500.0, "W", "heating of the left room");
const P2: Spec = finite("P2", 0.0, "W", "heating of the right room");
const T10: Spec = initial("T10", 293.15, "K", "temperature of the left room at the start");
const T20: Spec = initial("T20", 278.15, "K", "temperature of the right room at the start");
const TW0: Spec = initial("Tw0", 283.15, "K", "temperature of the wall at the start");

/// A room that heat leaves, or enters for `sign` 1, through the wall; parameter names of capacity, heating and
/// start.
fn room(options: &Options, names: [&str; 3], sign: f64, direction: &str) -> Box<dyn Native> {
    let [capacity, heating, start] = numbers(options, names);
    let input = input("q", "W", &format!("heat flow {direction}"));
    let output = output("T", "K", "temperature of the room");
    let factors = [0.0, sign / capacity, heating / capacity];
    Box::new(Linear::first_order(input, output, start, factors).simulator(options))
}

pub(crate) const MODELS: &[ModelEntry] = &[
    ModelEntry {
        name: "thermal-wall/left-room",
        summary: "heated room; input: heat flow into the wall",
        parameters: &[C1, P1, T10, EXACT, MICRO_STEPS],
        build: |options| room(options, ["C1", "P1", "T10"], -1.0, "from the room into the wall"),
    },
    ModelEntry {
        name: "thermal-wall/right-room",
        summary: "room; input: heat flow out of the wall",
        parameters: &[C2, P2, T20, EXACT, MICRO_STEPS],
        build: |options| room(options, ["C2", "P2", "T20"], 1.0, "from the wall into the room"),
    },
    ModelEntry {
        name: "thermal-wall/wall",
        summary: "wall that stores heat; inputs: temperatures of both rooms",
        parameters: &[CW, G1, G2, TW0, EXACT, MICRO_STEPS],
        build: |options| {
            let [cw, g1, g2, start] = numbers(options, ["Cw", "G1", "G2", "Tw0"]);
            let wall = Linear {
                inputs: vec![
                    input("T1", "K", "temperature of the left room"),
                    input("T2", "K", "temperature of the right room"),
                ],
                outputs: vec![
                    output("q1", "W", "heat flow from the left room into the wall"),
                    output("q2", "W", "heat flow from the wall into the right room"),
                    output("Tw", "K", "temperature of the wall"),
                ],
                initial: vec![start],
                a: vec![-(g1 + g2) / cw],
                b: vec![g1 / cw, g2 / cw],
                c: vec![-g1, g2, 1.0],
                d: vec![g1, 0.0, 0.0, -g2, 0.0, 0.0],
                drift: vec![0.0],
            };
            Box::new(wall.simulator(options))
        },
    },
];

pub(crate) const REFERENCE: ReferenceEntry = ReferenceEntry {
    name: "thermal-wall",
    summary: "rooms and wall, monolithic, by the matrix exponential",
    parameters: &[C1, C2, CW, G1, G2, P1, P2, T10, T20, TW0],
    columns: &["T1", "T2", "Tw", "q1", "q2"],
    solve: |options, _, instants| {
        let [c1, c2, cw, g1, g2, p1, p2] = numbers(options, ["C1", "C2", "Cw", "G1", "G2", "P1", "P2"]);
        let [t1, t2, tw] = numbers(options, ["T10", "T20", "Tw0"]);
        // The fourth state is the constant 1, which carries the heating.
        #[rustfmt::skip]
        let a = [
            -g1 / c1, 0.0, g1 / c1, p1 / c1,
            0.0, -g2 / c2, g2 / c2, p2 / c2,
            g1 / cw, g2 / cw, -(g1 + g2) / cw, 0.0,
            0.0, 0.0, 0.0, 0.0,
        ];
        monolithic(&a, &[t1, t2, tw, 1.0], instants, |x| {
            vec![x[0], x[1], x[2], g1 * (x[0] - x[2]), g2 * (x[2] - x[1])]
        })
    },
    history: true,
};
