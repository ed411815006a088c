//! A pendulum and an oscillator, joined by a horizontal spring and damper of which both sides own a copy: the inputs of
//! each are the motion of the other, without direct feed-through. The benchmark of Genser & Benedikt 2018 (pre-step).
//!
//! The paper prints stiffness and damping of the coupling (1000 N/m, 10 N s/m) and the ratio of the eigenvalues, 1e5;
//! the mass of the oscillator is chosen here so that the ratio comes out: 2.25e-5 kg. With 0.1 kg it is 25.

use cosimo_core::math;
use cosimo_core::registry::ReferenceEntry;
use cosimo_core::{Abilities, Interface, Options, Port, Spec};
use cosimo_native::linear::monolithic;
use cosimo_native::solver::{EXACT, EXPLICIT, MICRO_STEPS};
use cosimo_native::{ABILITIES, Linear, Model, Ode, Solver, Tangent};

use crate::dormand_prince::sweep;
use crate::parameters::{initial, not_negative, numbers, positive};
use crate::{ModelEntry, input, output};

const M1: Spec = positive("m1", 1.0, "kg", "mass of the pendulum");
const L: Spec = positive("l", 1.0, "m", "length of the pendulum");
const G: Spec = not_negative("g", 9.81, "m/s2", "gravity");
const M2: Spec = positive("m2", 0.1, "kg", "mass of the oscillator; 2.25e-5 is stiff");
const C: Spec = not_negative("c", 10.0, "N/m", "stiffness between the oscillator and the ground");
const K: Spec = not_negative("k", 1000.0, "N/m", "stiffness of the coupling");
const D: Spec = not_negative("d", 10.0, "N.s/m", "damping of the coupling");
const PHI0: Spec = initial("phi0", 0.5, "rad", "angle of the pendulum at the start");
/// l sin(phi0) k / (k + c): the oscillator is at rest between its springs.
const X0: Spec = initial("x0", 0.4746787510932703, "m", "displacement of the oscillator at the start");

/// Inputs of both sides.
fn inputs(other: &str) -> Vec<Port> {
    vec![
        input("x_far", "m", &format!("displacement of the {other}")),
        input("v_far", "m/s", &format!("velocity of the {other}")),
    ]
}

/// Outputs of both sides.
fn motion() -> Vec<Port> {
    vec![output("x", "m", "horizontal displacement"), output("v", "m/s", "horizontal velocity")]
}

/// The pendulum, with its angle and the rate of that.
#[derive(Debug)]
struct Bob {
    m: f64,
    l: f64,
    g: f64,
    k: f64,
    d: f64,
    phi: f64,
}

impl Bob {
    fn of(options: &Options) -> Bob {
        let [m, l, g, k, d, phi] = numbers(options, ["m1", "l", "g", "k", "d", "phi0"]);
        Bob { m, l, g, k, d, phi }
    }

    fn displacement(&self, x: &[f64]) -> [f64; 2] {
        [self.l * math::sin(x[0]), self.l * math::cos(x[0]) * x[1]]
    }

    fn force(&self, x: &[f64], u: &[f64]) -> f64 {
        let [place, velocity] = self.displacement(x);
        self.k * (u[0] - place) + self.d * (u[1] - velocity)
    }
}

impl Model for Bob {
    fn interface(&self) -> Interface {
        Interface {
            inputs: inputs("oscillator"),
            outputs: motion(),
            abilities: Abilities { slopes: true, ..ABILITIES },
            ..Interface::default()
        }
    }

    fn states(&self) -> Vec<Port> {
        vec![output("phi", "rad", "angle"), output("omega", "rad/s", "angular velocity")]
    }

    fn initial(&self) -> Vec<f64> {
        vec![self.phi, 0.0]
    }

    fn derivatives(&self, x: &[f64], u: &[f64], dx: &mut [f64]) {
        dx[0] = x[1];
        dx[1] = -self.g / self.l * math::sin(x[0]) + self.force(x, u) * math::cos(x[0]) / (self.m * self.l);
    }

    fn outputs(&self, x: &[f64], _u: &[f64], y: &mut [f64]) {
        y.copy_from_slice(&self.displacement(x));
    }

    fn tangent(&self, x: &[f64], u: &[f64], along: &Tangent<'_>, dx: &mut [f64], y: &mut [f64]) {
        let ([sin, cos], [a, b]) = ([math::sin(x[0]), math::cos(x[0])], [along.x[0], along.x[1]]);
        y[0] = self.l * cos * a;
        y[1] = self.l * (cos * b - sin * x[1] * a);
        let push = self.k * (along.u[0] - y[0]) + self.d * (along.u[1] - y[1]);
        dx[0] = b;
        dx[1] = -self.g / self.l * cos * a + (push * cos - self.force(x, u) * sin * a) / (self.m * self.l);
    }
}

/// Mass, stiffness to the ground, and the coupling.
fn mass(m: f64, c: f64, k: f64, d: f64, place: f64, other: &str) -> Linear {
    Linear {
        inputs: inputs(other),
        outputs: motion(),
        initial: vec![place, 0.0],
        a: vec![0.0, 1.0, -(k + c) / m, -d / m],
        b: vec![0.0, 0.0, k / m, d / m],
        c: vec![1.0, 0.0, 0.0, 1.0],
        d: vec![0.0; 4],
        drift: vec![0.0; 2],
    }
}

/// Gravity as a spring; starts at the same displacement as the nonlinear pendulum.
fn linearised(options: &Options) -> Linear {
    let Bob { m, l, g, k, d, phi } = Bob::of(options);
    mass(m, m * g / l, k, d, l * math::sin(phi), "oscillator")
}

fn oscillator(options: &Options) -> Linear {
    let [m, c, k, d, x] = numbers(options, ["m2", "c", "k", "d", "x0"]);
    mass(m, c, k, d, x, "pendulum")
}

pub(crate) const MODELS: &[ModelEntry] = &[
    ModelEntry {
        name: "pendulum/bob",
        summary: "pendulum with a coupling spring and damper of its own; input: motion of the oscillator",
        parameters: &[M1, L, G, K, D, PHI0, EXPLICIT, MICRO_STEPS],
        build: |options| Box::new(Ode::new(Bob::of(options), Solver::of(options))),
    },
    ModelEntry {
        name: "pendulum/bob-linear",
        summary: "pendulum as in pendulum/bob, for small angles",
        parameters: &[M1, L, G, K, D, PHI0, EXACT, MICRO_STEPS],
        build: |options| Box::new(linearised(options).simulator(options)),
    },
    ModelEntry {
        name: "pendulum/oscillator",
        summary: "mass on a spring with a coupling spring and damper of its own; input: motion of the pendulum",
        parameters: &[M2, C, K, D, X0, EXACT, MICRO_STEPS],
        build: |options| Box::new(oscillator(options).simulator(options)),
    },
];

/// Grid of the reference and its smallest step, in seconds.
const GRID: f64 = 1e-4;
const LEAST: f64 = 1e-12;

pub(crate) const REFERENCE: ReferenceEntry = ReferenceEntry {
    name: "pendulum",
    summary: "pendulum and oscillator, monolithic, by Dormand-Prince at a tolerance of 1e-12",
    parameters: &[M1, L, G, M2, C, K, D, PHI0, X0],
    columns: &["X", "V", "x", "v"],
    solve: |options, _, instants| {
        let bob = Bob::of(options);
        let Linear { a, b, initial, .. } = oscillator(options);
        let f = |z: &[f64; 4]| {
            let [place, velocity] = bob.displacement(z);
            let mut dx = [0.0; 2];
            bob.derivatives(&z[..2], &z[2..], &mut dx);
            let pull = a[2] * z[2] + a[3] * z[3] + b[2] * place + b[3] * velocity;
            [dx[0], dx[1], z[3], pull]
        };
        let row = |z: [f64; 4]| [bob.displacement(&z).to_vec(), z[2..].to_vec()].concat();
        let start = [bob.phi, 0.0, initial[0], 0.0];
        sweep(f, start, GRID, LEAST, instants).into_iter().map(row).collect()
    },
    history: false,
};

pub(crate) const REFERENCE_LINEAR: ReferenceEntry = ReferenceEntry {
    name: "pendulum-linear",
    summary: "pendulum and oscillator for small angles, monolithic, by the matrix exponential",
    solve: |options, _, instants| {
        let (one, two) = (linearised(options), oscillator(options));
        let row = |near: &Linear, order: [usize; 2]| {
            let mut row = [0.0; 4];
            row[order[0]..][..2].copy_from_slice(&near.a[2..]);
            row[order[1]..][..2].copy_from_slice(&near.b[2..]);
            row
        };
        let a = [[0.0, 1.0, 0.0, 0.0], row(&one, [0, 2]), [0.0, 0.0, 0.0, 1.0], row(&two, [2, 0])];
        monolithic(a.as_flattened(), &[one.initial, two.initial].concat(), instants, <[f64]>::to_vec)
    },
    history: true,
    ..REFERENCE
};

#[cfg(test)]
mod tests {
    use super::*;

    /// At the start the oscillator is at rest between its springs, and the pendulum falls.
    #[test]
    fn the_oscillator_starts_at_rest() {
        let options = Options::resolve("pendulum", REFERENCE.parameters, &[]).unwrap();
        let (one, two) = (linearised(&options), oscillator(&options));
        assert!((two.a[2] * two.initial[0] + two.b[2] * one.initial[0]).abs() < 1e-11);
    }
}
