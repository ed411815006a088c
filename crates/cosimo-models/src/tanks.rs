//! Two open tanks joined by a pipe at their bottoms: pressure one way, volume flow the other, and a root in
//! between. Water in a tank is a pressure p = rho g h; the pipe lets q = k sign(dp) sqrt(|dp|) through.
//!
//! The root is infinitely steep at rest, where the levels end, so it is made linear there:
//! q = k dp / (dp^2 + dp0^2)^(1/4). Levels count from the pipe, deliberately without bottom or brim.

use cosimo_core::registry::ReferenceEntry;
use cosimo_core::{Abilities, Interface, Options, Spec};
use cosimo_native::solver::{EXACT, EXPLICIT, MICRO_STEPS};
use cosimo_native::{ABILITIES, Linear, Model, Ode, Solver, Tangent};

use crate::dormand_prince::sweep;
use crate::parameters::{initial, not_negative, numbers, positive};
use crate::{ModelEntry, input, output};

const A1: Spec = positive("A1", 1.0, "m2", "area of the first tank");
const A2: Spec = positive("A2", 0.5, "m2", "area of the second tank");
const RHO_G: Spec = positive("rho_g", 9810.0, "Pa/m", "density times gravity");
const K: Spec =
    not_negative("k", 1e-3, "m3/s", "flow at a pressure difference of 1 Pa; grows with its square root");
const DP0: Spec = positive("dp0", 100.0, "Pa", "below this difference the flow is linear");
const H10: Spec = initial("h10", 2.0, "m", "level of the first tank at the start");
const H20: Spec = initial("h20", 1.0, "m", "level of the second tank at the start");

#[derive(Debug, Clone, Copy)]
struct Pipe {
    k: f64,
    dp0: f64,
}

impl Pipe {
    fn of(options: &Options) -> Pipe {
        Pipe { k: options.number("k"), dp0: options.number("dp0") }
    }

    /// The flow at a difference of pressure. Two roots have the same bits on every platform, a power need not.
    fn flow(&self, dp: f64) -> f64 {
        self.k * dp / self.size(dp).sqrt().sqrt()
    }

    /// Derivative of the flow.
    fn slope(&self, dp: f64) -> f64 {
        let size = self.size(dp);
        self.k * (dp * dp / 2.0 + self.dp0 * self.dp0) / (size * size.sqrt().sqrt())
    }

    fn size(&self, dp: f64) -> f64 {
        dp * dp + self.dp0 * self.dp0
    }
}

/// The second tank with the pipe that leads to it.
#[derive(Debug)]
struct TankWithPipe {
    pipe: Pipe,
    area: f64,
    rho_g: f64,
    start: f64,
}

impl TankWithPipe {
    fn difference(&self, x: &[f64], u: &[f64]) -> f64 {
        u[0] - self.rho_g * x[0]
    }
}

impl Model for TankWithPipe {
    fn interface(&self) -> Interface {
        Interface {
            inputs: vec![input("p", "Pa", "pressure at the far end of the pipe")],
            outputs: vec![
                output("q", "m3/s", "volume flow through the pipe into this tank"),
                output("h", "m", "level"),
            ],
            feedthrough: vec![(0, 0)],
            abilities: Abilities { slopes: true, ..ABILITIES },
            ..Interface::default()
        }
    }

    fn initial(&self) -> Vec<f64> {
        vec![self.start]
    }

    fn derivatives(&self, x: &[f64], u: &[f64], dx: &mut [f64]) {
        dx[0] = self.pipe.flow(self.difference(x, u)) / self.area;
    }

    fn outputs(&self, x: &[f64], u: &[f64], y: &mut [f64]) {
        y[0] = self.pipe.flow(self.difference(x, u));
        y[1] = x[0];
    }

    fn tangent(&self, x: &[f64], u: &[f64], along: &Tangent<'_>, dx: &mut [f64], y: &mut [f64]) {
        let flow = self.pipe.slope(self.difference(x, u)) * self.difference(along.x, along.u);
        dx[0] = flow / self.area;
        y[0] = flow;
        y[1] = along.x[0];
    }
}

pub(crate) const MODELS: &[ModelEntry] = &[
    ModelEntry {
        name: "tanks/first",
        summary: "open tank; input: volume flow that leaves it",
        parameters: &[A1, RHO_G, H10, EXACT, MICRO_STEPS],
        build: |options| {
            let tank = Linear {
                inputs: vec![input("q", "m3/s", "volume flow out of this tank")],
                outputs: vec![output("p", "Pa", "pressure at the bottom"), output("h", "m", "level")],
                initial: vec![options.number("h10")],
                a: vec![0.0],
                b: vec![-1.0 / options.number("A1")],
                c: vec![options.number("rho_g"), 1.0],
                d: vec![0.0, 0.0],
                drift: vec![0.0],
            };
            Box::new(tank.simulator(options))
        },
    },
    ModelEntry {
        name: "tanks/second-pipe",
        summary: "pipe and the tank it leads to; input: pressure at the pipe's far end",
        parameters: &[A2, RHO_G, K, DP0, H20, EXPLICIT, MICRO_STEPS],
        build: |options| {
            let [area, rho_g, start] = numbers(options, ["A2", "rho_g", "h20"]);
            let tank = TankWithPipe { pipe: Pipe::of(options), area, rho_g, start };
            Box::new(Ode::new(tank, Solver::of(options)))
        },
    },
];

/// Grid of the reference, in seconds.
const GRID: f64 = 1e-3;

/// The root is smooth, so no step needs to be as small as this; it keeps an absurd parameter from stalling.
const LEAST: f64 = GRID / (1u64 << 20) as f64;

pub(crate) const REFERENCE: ReferenceEntry = ReferenceEntry {
    name: "tanks",
    summary: "both tanks, monolithic, by Dormand-Prince at a tolerance of 1e-12",
    parameters: &[A1, A2, RHO_G, K, DP0, H10, H20],
    columns: &["h1", "h2", "p1", "q", "P"],
    solve: |options, _, instants| {
        let pipe = Pipe::of(options);
        let [a1, a2, rho_g] = numbers(options, ["A1", "A2", "rho_g"]);
        let flow = |[h1, h2]: [f64; 2]| pipe.flow(rho_g * (h1 - h2));
        let f = |h: &[f64; 2]| [-flow(*h) / a1, flow(*h) / a2];
        let start = numbers(options, ["h10", "h20"]);
        let row = |[h1, h2]: [f64; 2]| {
            let (p1, q) = (rho_g * h1, flow([h1, h2]));
            vec![h1, h2, p1, q, p1 * q]
        };
        sweep(f, start, GRID, LEAST, instants).into_iter().map(row).collect()
    },
    history: false,
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pipe_is_a_root_far_from_rest_and_linear_at_rest() {
        let pipe = Pipe { k: 1e-3, dp0: 100.0 };
        assert!((pipe.flow(1e6) - 1.0).abs() < 1e-8 && (pipe.flow(-1e6) + 1.0).abs() < 1e-8);
        assert_eq!(pipe.flow(0.0), 0.0);
        assert!((pipe.slope(0.0) - 1e-4).abs() < 1e-18 && (pipe.flow(1e-3) - 1e-7).abs() < 1e-16);
        for dp in [-5000.0, -80.0, 3.0, 100.0, 2e4] {
            let difference = (pipe.flow(dp + 1e-3) - pipe.flow(dp - 1e-3)) / 2e-3;
            assert!((pipe.slope(dp) - difference).abs() < 1e-7 * difference, "{dp}"); // the quotient rounds to 1e-8
        }
    }
}
