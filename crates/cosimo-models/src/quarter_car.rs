//! Quarter car on a step in the road: chassis, strut (spring and damper), wheel and tyre spring.
//! Sadjina et al. 2017 (ECCO); Sadjina & Pedersen 2019 (NEPCE).
//!
//! Two ways to cut it: the strut belongs to the wheel (reticulation 1) or to the chassis (reticulation 2).
//! The strut force F is positive when it pulls the chassis down and the wheel up, in both. Signs of coupling
//! are deliberately left to connections: no model negates an input or output.

use cosimo_core::math;
use cosimo_core::registry::ReferenceEntry;
use cosimo_core::{Interface, Options, Spec};
use cosimo_native::solver::{EXPLICIT, MICRO_STEPS};
use cosimo_native::{Model, Ode, Solver, Tangent};

use crate::dormand_prince::sweep;
use crate::parameters::{finite, initial, not_negative, numbers, positive};
use crate::{ModelEntry, Native, input, interface, output};

pub(crate) const MC: Spec = positive("mc", 400.0, "kg", "mass of the chassis");
pub(crate) const MW: Spec = positive("mw", 40.0, "kg", "mass of the wheel");
pub(crate) const KC: Spec = not_negative("kc", 15000.0, "N/m", "stiffness of the strut");
pub(crate) const KW: Spec = not_negative("kw", 150000.0, "N/m", "stiffness of the tyre");
pub(crate) const DC: Spec = not_negative("dc", 1000.0, "N.s/m", "damper force at 1 m/s; it grows as |v|^p");
const P: Spec = positive("p", 1.0, "1", "exponent of the damper; 1 is linear");
pub(crate) const ROAD: Spec = finite("road", 0.1, "m", "height of the road from t = 0 on");
pub(crate) const ZC0: Spec = initial("zc0", 0.0, "m", "displacement of the chassis at the start");
pub(crate) const VC0: Spec = initial("vc0", 0.0, "m/s", "velocity of the chassis at the start");
pub(crate) const ZW0: Spec = initial("zw0", 0.0, "m", "displacement of the wheel at the start");
pub(crate) const VW0: Spec = initial("vw0", 0.0, "m/s", "velocity of the wheel at the start");
const DISPLACEMENT: Spec = Spec::choice(
    "displacement",
    "integrated",
    &["integrated", "communicated"],
    "where the strut takes the far end's displacement from: its own integral of v, or an input z_far",
);

/// Spring and damper between chassis and wheel.
#[derive(Debug, Clone, Copy)]
struct Strut {
    kc: f64,
    dc: f64,
    p: f64,
}

impl Strut {
    fn of(options: &Options) -> Strut {
        Strut { kc: options.number("kc"), dc: options.number("dc"), p: options.number("p") }
    }

    /// The force at an extension and its rate.
    #[inline]
    fn force(&self, extension: f64, rate: f64) -> f64 {
        self.kc * extension + self.damper(rate)
    }

    #[inline]
    fn damper(&self, v: f64) -> f64 {
        if self.p == 1.0 {
            self.dc * v
        } else if self.p == 0.5 {
            // A square root has the same bits on every platform, a power need not.
            self.dc * v.signum() * v.abs().sqrt()
        } else {
            self.dc * v.signum() * math::powf(v.abs(), self.p)
        }
    }

    /// Derivative of the damper force. 0 near standstill unless the damper is linear: there it is infinite
    /// for p < 1, and a large value straight after the start destroys a run that corrects with it.
    fn damping(&self, v: f64) -> f64 {
        if self.p == 1.0 {
            self.dc
        } else if v.abs() < 1e-9 {
            0.0
        } else {
            self.dc * self.p * math::powf(v.abs(), self.p - 1.0)
        }
    }
}

/// A mass with the forces on it other than the strut's.
#[derive(Debug, Clone, Copy)]
enum CarBody {
    Chassis { mc: f64 },
    Wheel { mw: f64, kw: f64, road: f64 },
}

impl CarBody {
    fn chassis(options: &Options) -> CarBody {
        CarBody::Chassis { mc: options.number("mc") }
    }

    fn wheel(options: &Options) -> CarBody {
        CarBody::Wheel { mw: options.number("mw"), kw: options.number("kw"), road: options.number("road") }
    }

    #[inline]
    fn acceleration(&self, z: f64, force: f64) -> f64 {
        match *self {
            CarBody::Chassis { mc } => -force / mc,
            CarBody::Wheel { mw, kw, road } => (-kw * (z - road) + force) / mw,
        }
    }

    /// Change of the acceleration with displacement and force.
    fn change(&self, z: f64, force: f64) -> f64 {
        match *self {
            CarBody::Chassis { mc } => -force / mc,
            CarBody::Wheel { mw, kw, .. } => (-kw * z + force) / mw,
        }
    }
}

/// A body without the strut; its input is the force.
#[derive(Debug)]
struct BodyWithoutStrut {
    body: CarBody,
    start: [f64; 2],
}

impl Model for BodyWithoutStrut {
    fn interface(&self) -> Interface {
        let effect = match self.body {
            CarBody::Chassis { .. } => "strut force; pulls the chassis down",
            CarBody::Wheel { .. } => "strut force; pulls the wheel up",
        };
        let motion = vec![output("v", "m/s", "velocity"), output("z", "m", "displacement")];
        interface(vec![input("F", "N", effect)], motion)
    }

    fn initial(&self) -> Vec<f64> {
        self.start.to_vec()
    }

    #[inline]
    fn derivatives(&self, x: &[f64], u: &[f64], dx: &mut [f64]) {
        dx[0] = x[1];
        dx[1] = self.body.acceleration(x[0], u[0]);
    }

    fn outputs(&self, x: &[f64], _u: &[f64], y: &mut [f64]) {
        y[0] = x[1];
        y[1] = x[0];
    }

    fn tangent(&self, _x: &[f64], _u: &[f64], along: &Tangent<'_>, dx: &mut [f64], y: &mut [f64]) {
        dx[0] = along.x[1];
        dx[1] = self.body.change(along.x[0], along.u[0]);
        y[0] = along.x[1];
        y[1] = along.x[0];
    }
}

/// A body with the strut; its input is the motion of the far end, its output the force.
#[derive(Debug)]
struct WithStrut {
    body: CarBody,
    strut: Strut,
    /// Displacement and velocity of the body, displacement of the far end.
    start: [f64; 3],
    /// The far end's displacement is an input, and not a state.
    communicated: bool,
}

impl WithStrut {
    /// The extension and its rate, positive when the chassis is too high or rising against the wheel.
    #[inline]
    fn extension(&self, x: &[f64], u: &[f64]) -> (f64, f64) {
        let (z, v) = (x[0], x[1]);
        let far = if self.communicated { u[1] } else { x[2] };
        match self.body {
            CarBody::Chassis { .. } => (z - far, v - u[0]),
            CarBody::Wheel { .. } => (far - z, u[0] - v),
        }
    }

    #[inline]
    fn force(&self, x: &[f64], u: &[f64]) -> f64 {
        let (extension, rate) = self.extension(x, u);
        self.strut.force(extension, rate)
    }
}

impl Model for WithStrut {
    fn interface(&self) -> Interface {
        let (far, name) = match self.body {
            CarBody::Chassis { .. } => ("wheel", "v_chassis"),
            CarBody::Wheel { .. } => ("chassis", "v_wheel"),
        };
        let mut inputs = vec![input("v", "m/s", &format!("velocity of the {far}"))];
        let mut feedthrough = vec![(0, 0)];
        if self.communicated {
            inputs.push(input("z_far", "m", &format!("displacement of the {far}")));
            feedthrough.push((0, 1));
        }
        let outputs = vec![
            output("F", "N", "strut force; pulls the chassis down and the wheel up"),
            output("z", "m", "displacement"),
            output(name, "m/s", "velocity"),
        ];
        Interface { feedthrough, ..interface(inputs, outputs) }
    }

    fn initial(&self) -> Vec<f64> {
        self.start[..if self.communicated { 2 } else { 3 }].to_vec()
    }

    #[inline]
    fn derivatives(&self, x: &[f64], u: &[f64], dx: &mut [f64]) {
        let force = self.force(x, u);
        dx[0] = x[1];
        dx[1] = self.body.acceleration(x[0], force);
        if !self.communicated {
            dx[2] = u[0];
        }
    }

    fn outputs(&self, x: &[f64], u: &[f64], y: &mut [f64]) {
        y[0] = self.force(x, u);
        y[1] = x[0];
        y[2] = x[1];
    }

    fn tangent(&self, x: &[f64], u: &[f64], along: &Tangent<'_>, dx: &mut [f64], y: &mut [f64]) {
        // The spring is linear; the damper's derivative is taken at the current rate.
        let (_, rate) = self.extension(x, u);
        let (change, change_of_rate) = self.extension(along.x, along.u);
        let force = self.strut.kc * change + self.strut.damping(rate) * change_of_rate;
        dx[0] = along.x[1];
        dx[1] = self.body.change(along.x[0], force);
        if !self.communicated {
            dx[2] = along.u[0];
        }
        y.copy_from_slice(&[force, along.x[0], along.x[1]]);
    }
}

/// A body with the force as input; `start` names its initial values.
fn alone(options: &Options, body: CarBody, start: [&str; 2]) -> Box<dyn Native> {
    Box::new(Ode::new(BodyWithoutStrut { body, start: numbers(options, start) }, Solver::of(options)))
}

/// The same with the strut.
fn with_strut(options: &Options, body: CarBody, start: [&str; 3]) -> Box<dyn Native> {
    let communicated = options.text("displacement") == "communicated";
    let model = WithStrut { body, strut: Strut::of(options), start: numbers(options, start), communicated };
    Box::new(Ode::new(model, Solver::of(options)))
}

pub(crate) const MODELS: &[ModelEntry] = &[
    ModelEntry {
        name: "quarter-car/chassis",
        summary: "chassis alone; input: strut force",
        parameters: &[MC, ZC0, VC0, EXPLICIT, MICRO_STEPS],
        build: |options| alone(options, CarBody::chassis(options), ["zc0", "vc0"]),
    },
    ModelEntry {
        name: "quarter-car/wheel-strut",
        summary: "wheel, tyre spring and strut; input: velocity of the chassis",
        parameters: &[MW, KW, ROAD, KC, DC, P, ZW0, VW0, ZC0, DISPLACEMENT, EXPLICIT, MICRO_STEPS],
        build: |options| with_strut(options, CarBody::wheel(options), ["zw0", "vw0", "zc0"]),
    },
    ModelEntry {
        name: "quarter-car/chassis-strut",
        summary: "chassis and strut; input: velocity of the wheel",
        parameters: &[MC, KC, DC, P, ZC0, VC0, ZW0, DISPLACEMENT, EXPLICIT, MICRO_STEPS],
        build: |options| with_strut(options, CarBody::chassis(options), ["zc0", "vc0", "zw0"]),
    },
    ModelEntry {
        name: "quarter-car/wheel",
        summary: "wheel and tyre spring; input: strut force",
        parameters: &[MW, KW, ROAD, ZW0, VW0, EXPLICIT, MICRO_STEPS],
        build: |options| alone(options, CarBody::wheel(options), ["zw0", "vw0"]),
    },
];

/// Grid of the reference, in seconds.
const GRID: f64 = 1e-5;

/// With a root in the damper the error estimate does not converge where the strut reverses; at this step size the
/// error left behind is below 1e-14 m/s.
const LEAST: f64 = GRID / (1u64 << 20) as f64;

pub(crate) const REFERENCE: ReferenceEntry = ReferenceEntry {
    name: "quarter-car",
    summary: "monolithic quarter car, by Dormand-Prince at a tolerance of 1e-12",
    parameters: &[MC, MW, KC, KW, DC, P, ROAD, ZC0, VC0, ZW0, VW0],
    columns: &["zc", "vc", "zw", "vw", "F", "P1", "P2"],
    solve,
    history: false,
};

fn solve(options: &Options, _: f64, instants: &[f64]) -> Vec<Vec<f64>> {
    let (strut, chassis, wheel) = (Strut::of(options), CarBody::chassis(options), CarBody::wheel(options));
    let force = |x: &[f64; 4]| strut.force(x[0] - x[2], x[1] - x[3]);
    let f = |x: &[f64; 4]| {
        let force = force(x);
        [x[1], chassis.acceleration(x[0], force), x[3], wheel.acceleration(x[2], force)]
    };
    let start = numbers(options, ["zc0", "vc0", "zw0", "vw0"]);
    let row = |x: [f64; 4]| {
        let force = force(&x);
        let [zc, vc, zw, vw] = x;
        vec![zc, vc, zw, vw, force, force * vc, force * vw]
    };
    sweep(f, start, GRID, LEAST, instants).into_iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_derivative_of_a_root_damper_is_zero_at_standstill_only() {
        let strut = Strut { kc: 1.0, dc: 900.0, p: 0.5 };
        assert_eq!(strut.damping(1e-10), 0.0);
        assert!((strut.damping(0.25) - 900.0).abs() < 1e-9);
        assert_eq!(Strut { p: 1.0, ..strut }.damping(0.0), 900.0);
    }
}
