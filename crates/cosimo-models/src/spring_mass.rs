//! Three masses in a row, cut between the first and the second: to the left a mass with an external force from `t0` on,
//! to the right two masses with springs. The input of both sides is an effort, so that a delayed line can connect them.
//! Source: Braun, Hällqvist & Fritzson 2023, Eq. (19) and Table 1. Flows are positive into the line.
//!
//! Without springs, dampers and force these are two free masses, whose energy shows whether a line adds any.

use cosimo_core::registry::ReferenceEntry;
use cosimo_core::{Interface, Port, Spec};
use cosimo_native::linear::monolithic;
use cosimo_native::{Event, Hybrid, Model, ModelPoint, NativeHybrid, OutputKind, Tangent};

use crate::parameters::{INTEGRATED, all, finite, initial, not_negative, numbers, positive};
use crate::{ModelEntry, input, interface, output};

const M1: Spec = positive("M1", 5e-3, "kg", "first mass");
const M2: Spec = positive("M2", 5e-3, "kg", "second mass");
const M3: Spec = positive("M3", 5e-3, "kg", "third mass");
const B: Spec = not_negative("B", 0.2, "N.s/m", "damping of each mass against the ground");
const K1: Spec = not_negative("K1", 90.0, "N/m", "stiffness between second and third mass");
const K2: Spec = not_negative("K2", 140.0, "N/m", "stiffness between third mass and ground");
const F: Spec = finite("F", 100.0, "N", "force on the first mass");
const T0: Spec = not_negative("t0", 0.1, "s", "time at which the force begins");
const V0: Spec = initial("v0", 0.0, "m/s", "velocity of the first mass at the start");
const K: Spec = positive("k", 1e3, "N/m", "stiffness between first and second mass");

fn effort() -> Vec<Port> {
    vec![input("e", "N", "force of the line against the mass").starting_at(0.0)]
}

/// States x1, v1; the discrete state is 1 once the force acts.
#[derive(Debug)]
struct LeftMass {
    mass: f64,
    damping: f64,
    force: f64,
    begins: f64,
    velocity: f64,
}

impl Hybrid for LeftMass {
    fn interface(&self) -> Interface {
        let force = Port { discrete: true, ..output("force", "N", "force on the mass") };
        let flow = output("f", "m/s", "velocity into the line");
        interface(effort(), [vec![flow], self.states(), vec![force]].concat())
    }

    fn states(&self) -> Vec<Port> {
        vec![output("x1", "m", "position of the mass"), output("v1", "m/s", "velocity of the mass")]
    }

    fn kinds(&self) -> Vec<OutputKind> {
        vec![OutputKind::Real, OutputKind::Real, OutputKind::Real, OutputKind::Held]
    }

    fn initial(&self) -> (Vec<f64>, Vec<f64>) {
        (vec![0.0, self.velocity], vec![0.0])
    }

    fn derivatives(&self, at: &ModelPoint<'_>, dx: &mut [f64]) {
        dx[0] = at.x[1];
        dx[1] = (at.m[0] - self.damping * at.x[1] - at.u[0]) / self.mass;
    }

    fn outputs(&self, at: &ModelPoint<'_>, y: &mut [f64]) {
        y.copy_from_slice(&[at.x[1], at.x[0], at.x[1], at.m[0]]);
    }

    fn event(&self, t: f64, _u: &[f64], _x: &mut [f64], m: &mut [f64]) -> Event {
        let begun = t >= self.begins;
        m[0] = if begun { self.force } else { 0.0 };
        Event { next: (!begun).then_some(self.begins), ..Event::default() }
    }

    fn tangent(&self, _at: &ModelPoint<'_>, along: &Tangent<'_>, dx: &mut [f64], y: &mut [f64]) {
        dx[0] = along.x[1];
        dx[1] = (-self.damping * along.x[1] - along.u[0]) / self.mass;
        y.copy_from_slice(&[along.x[1], along.x[0], along.x[1], 0.0]);
    }
}

/// States x2, v2, x3, v3.
#[derive(Debug)]
struct RightMass {
    masses: [f64; 2],
    damping: f64,
    stiffness: [f64; 2],
}

impl Model for RightMass {
    fn interface(&self) -> Interface {
        let flow = output("f", "m/s", "velocity into the line (to the left)");
        interface(effort(), [vec![flow], Model::states(self)].concat())
    }

    fn states(&self) -> Vec<Port> {
        vec![
            output("x2", "m", "position of the second mass"),
            output("v2", "m/s", "velocity of the second mass"),
            output("x3", "m", "position of the third mass"),
            output("v3", "m/s", "velocity of the third mass"),
        ]
    }

    fn initial(&self) -> Vec<f64> {
        vec![0.0; 4]
    }

    fn derivatives(&self, x: &[f64], u: &[f64], dx: &mut [f64]) {
        let ([m2, m3], [k1, k2]) = (self.masses, self.stiffness);
        let between = k1 * (x[0] - x[2]);
        dx[0] = x[1];
        dx[1] = (u[0] - self.damping * x[1] - between) / m2;
        dx[2] = x[3];
        dx[3] = (between - self.damping * x[3] - k2 * x[2]) / m3;
    }

    fn outputs(&self, x: &[f64], _u: &[f64], y: &mut [f64]) {
        y[0] = -x[1];
        y[1..].copy_from_slice(x);
    }

    /// The equations are linear.
    fn tangent(&self, _x: &[f64], _u: &[f64], along: &Tangent<'_>, dx: &mut [f64], y: &mut [f64]) {
        Model::derivatives(self, along.x, along.u, dx);
        Model::outputs(self, along.x, along.u, y);
    }
}

/// One mass with a line on either side; states x, v.
#[derive(Debug)]
struct MiddleSpring {
    mass: f64,
    damping: f64,
}

impl Model for MiddleSpring {
    fn interface(&self) -> Interface {
        let inputs = vec![
            input("e", "N", "force of the line on the left"),
            input("e2", "N", "force of the line on the right"),
        ];
        let flows = vec![
            output("f", "m/s", "velocity into the line on the left"),
            output("f2", "m/s", "velocity into the line on the right"),
        ];
        interface(inputs, [flows, Model::states(self)].concat())
    }

    fn states(&self) -> Vec<Port> {
        vec![output("x", "m", "position of the mass"), output("v", "m/s", "velocity of the mass")]
    }

    fn initial(&self) -> Vec<f64> {
        vec![0.0; 2]
    }

    fn derivatives(&self, x: &[f64], u: &[f64], dx: &mut [f64]) {
        dx[0] = x[1];
        dx[1] = (u[0] - u[1] - self.damping * x[1]) / self.mass;
    }

    fn outputs(&self, x: &[f64], _u: &[f64], y: &mut [f64]) {
        y.copy_from_slice(&[-x[1], x[1], x[0], x[1]]);
    }

    /// The equations are linear.
    fn tangent(&self, _x: &[f64], _u: &[f64], along: &Tangent<'_>, dx: &mut [f64], y: &mut [f64]) {
        Model::derivatives(self, along.x, along.u, dx);
        Model::outputs(self, along.x, along.u, y);
    }
}

pub(crate) const MODELS: &[ModelEntry] = &[
    ModelEntry {
        name: "spring-mass/left",
        summary: "mass with an external force from t0 on; input: force of a line",
        parameters: all!(&[M1, B, F, T0, V0], &INTEGRATED),
        build: |options| {
            let [mass, damping, force, begins, velocity] = numbers(options, ["M1", "B", "F", "t0", "v0"]);
            Box::new(NativeHybrid::of(LeftMass { mass, damping, force, begins, velocity }, options))
        },
    },
    ModelEntry {
        name: "spring-mass/middle",
        summary: "mass with a line on either side, for chains",
        parameters: all!(&[M1, B], &INTEGRATED),
        build: |options| {
            let [mass, damping] = numbers(options, ["M1", "B"]);
            Box::new(NativeHybrid::of(MiddleSpring { mass, damping }, options))
        },
    },
    ModelEntry {
        name: "spring-mass/right",
        summary: "two masses with springs to each other and to the ground; input: force of a line",
        parameters: all!(&[M2, M3, B, K1, K2], &INTEGRATED),
        build: |options| {
            let [m2, m3, damping, k1, k2] = numbers(options, ["M2", "M3", "B", "K1", "K2"]);
            Box::new(NativeHybrid::of(RightMass { masses: [m2, m3], damping, stiffness: [k1, k2] }, options))
        },
    },
];

/// With a spring instead of the line.
pub(crate) const REFERENCE: ReferenceEntry = ReferenceEntry {
    name: "spring-mass",
    summary: "all three masses, monolithic, with a spring between first and second, by the matrix exponential",
    parameters: &[M1, M2, M3, B, K1, K2, F, T0, V0, K],
    columns: &["x1", "v1", "x2", "v2", "x3", "v3", "e"],
    solve: |options, start, instants| {
        let [m1, m2, m3, b, k1, k2, force, begins, velocity, k] =
            numbers(options, ["M1", "M2", "M3", "B", "K1", "K2", "F", "t0", "v0", "k"]);
        let begins = (begins - start).max(0.0);
        // The seventh state is 1, for the force.
        #[rustfmt::skip]
        let a = |force: f64| [
            0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0,
            -k / m1, -b / m1, k / m1, 0.0, 0.0, 0.0, force / m1,
            0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0,
            k / m2, 0.0, -(k + k1) / m2, -b / m2, k1 / m2, 0.0, 0.0,
            0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0,
            0.0, 0.0, k1 / m3, 0.0, -(k1 + k2) / m3, -b / m3, 0.0,
            0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0,
        ];
        let row = |x: &[f64]| [&x[..6], &[k * (x[0] - x[2])]].concat();
        let initial = [0.0, velocity, 0.0, 0.0, 0.0, 0.0, 1.0];
        let pushed = monolithic(&a(0.0), &initial, &[begins], |x| x.to_vec()).concat();
        let (before, after) = instants.split_at(instants.partition_point(|t| *t <= begins));
        let since: Vec<f64> = after.iter().map(|t| t - begins).collect();
        let mut rows = monolithic(&a(0.0), &initial, before, row);
        rows.extend(monolithic(&a(force), &pushed, &since, row));
        rows
    },
    history: false,
};
