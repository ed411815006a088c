//! An electric car that drives the New European Driving Cycle over hills, cut at the shaft between its motor and the
//! rest: the input of both is a torque, so that a delayed line can connect them.
//! Source: Braun, Hällqvist & Fritzson 2023, Eqs. (20) and (21), with the motor's constants of its tables. The paper prints
//! no car, controller and altitude; those here were chosen so that the cycle can be driven. Currents are as large as
//! constants of 7e-5 make them. Flows are positive into the line.
//!
//! Kinks of the cycle are no events: the filtered reference has only small ones in the motor's equations.

use std::f64::consts::TAU;

use cosimo_core::math;
use cosimo_core::{Interface, Port};
use cosimo_native::{Hybrid, Model, ModelPoint, NativeHybrid, Tangent};

use crate::parameters::{INTEGRATED, all, finite, not_negative, parameters, positive};
use crate::{ModelEntry, input, interface, output};

/// Instants in seconds and the speeds there in km/h, with lines between.
struct Course {
    times: &'static [f64],
    speeds: &'static [f64],
}

/// The urban part, driven four times.
const URBAN: Course = Course {
    times: &[
        0.0, 11.0, 15.0, 23.0, 25.0, 28.0, 49.0, 54.0, 56.0, 61.0, 85.0, 93.0, 96.0, 117.0, 122.0, 124.0,
        133.0, 135.0, 143.0, 155.0, 163.0, 178.0, 185.0, 188.0,
    ],
    speeds: &[
        0.0, 0.0, 15.0, 15.0, 10.0, 0.0, 0.0, 15.0, 15.0, 32.0, 32.0, 10.0, 0.0, 0.0, 15.0, 15.0, 35.0, 35.0,
        50.0, 50.0, 35.0, 35.0, 10.0, 0.0,
    ],
};

/// The part outside of towns, once.
const EXTRA_URBAN: Course = Course {
    times: &[
        0.0, 20.0, 25.0, 27.0, 36.0, 38.0, 46.0, 48.0, 61.0, 111.0, 119.0, 188.0, 201.0, 251.0, 286.0, 316.0,
        336.0, 346.0, 362.0, 370.0, 380.0, 400.0,
    ],
    speeds: &[
        0.0, 0.0, 15.0, 15.0, 35.0, 35.0, 50.0, 50.0, 70.0, 70.0, 50.0, 50.0, 70.0, 70.0, 100.0, 100.0,
        120.0, 120.0, 80.0, 50.0, 0.0, 0.0,
    ],
};

/// Duration of one urban part in seconds, and their number.
const LENGTH: f64 = 195.0;
const REPEATED: f64 = 4.0;

/// The speed of the cycle in m/s; 0 before and after it.
fn cycle(t: f64) -> f64 {
    let lap = (t / LENGTH).floor().clamp(0.0, REPEATED);
    let Course { times, speeds } = if lap < REPEATED { URBAN } else { EXTRA_URBAN };
    let since = t - lap * LENGTH;
    let after = times.partition_point(|instant| *instant <= since);
    if after == 0 || after == times.len() {
        return 0.0;
    }
    let ([from, to], [slow, fast]) = ([times[after - 1], times[after]], [speeds[after - 1], speeds[after]]);
    (slow + (fast - slow) * (since - from) / (to - from)) / 3.6
}

fn effort() -> Vec<Port> {
    vec![input("e", "N.m", "torque of the line against the shaft").starting_at(0.0)]
}

parameters! {
    /// States: current, speed, integral of the speed error, filtered reference.
    struct Motor {
        ke: f64 = positive["Ke", 7e-5, "V.s/rad", "voltage per speed of the motor"];
        kt: f64 = positive["Kt", 7e-5, "N.m/A", "torque per current"];
        resistance: f64 = positive["R", 4.0, "Ohm", "resistance of the motor"];
        inductance: f64 = positive["L", 1e-5, "H", "inductance of the motor"];
        inertia: f64 = positive["J", 0.1, "kg.m2", "inertia of the motor"];
        friction: f64 = not_negative["B", 0.02, "N.m.s/rad", "friction of the motor"];
        kp: f64 = not_negative["kp", 10.0, "N.m.s/rad", "proportional gain of the speed controller"];
        ki: f64 = not_negative["ki", 15.0, "N.m/rad", "integral gain of the speed controller"];
        lag: f64 = positive["lag", 0.2, "s", "time constant of the filtered reference"];
        n: f64 = positive["n", 8.0, "1", "gear ratio, turns of the motor per turn of a wheel"];
        rw: f64 = positive["rw", 0.3, "m", "radius of a wheel"];
    }
}

impl Motor {
    /// Derivatives for a reference speed; linear in all arguments.
    fn motion(&self, target: f64, x: &[f64], u: &[f64], dx: &mut [f64]) {
        let [current, speed, missing, reference] = [x[0], x[1], x[2], x[3]];
        let error = reference - speed;
        let voltage = self.resistance / self.kt * (self.kp * error + self.ki * missing);
        dx[0] = (voltage - self.resistance * current - self.ke * speed) / self.inductance;
        dx[1] = (self.kt * current - u[0] - self.friction * speed) / self.inertia;
        dx[2] = error;
        dx[3] = (target - reference) / self.lag;
    }
}

/// Nominal current in A; with it an absolute tolerance of 1e-4 is 10 A.
const CURRENT: f64 = 1e5;

impl Hybrid for Motor {
    fn interface(&self) -> Interface {
        let flow = output("f", "rad/s", "speed into the line");
        interface(effort(), [vec![flow], self.states()].concat())
    }

    fn states(&self) -> Vec<Port> {
        vec![
            output("I", "A", "current"),
            output("w", "rad/s", "speed of the motor"),
            output("missing", "rad", "integral of the speed error"),
            output("r", "rad/s", "filtered reference speed"),
        ]
    }

    fn initial(&self) -> (Vec<f64>, Vec<f64>) {
        (vec![0.0; 4], Vec::new())
    }

    fn derivatives(&self, at: &ModelPoint<'_>, dx: &mut [f64]) {
        self.motion(cycle(at.t) * (self.n / self.rw), at.x, at.u, dx);
    }

    fn outputs(&self, at: &ModelPoint<'_>, y: &mut [f64]) {
        y[0] = at.x[1];
        y[1..].copy_from_slice(at.x);
    }

    fn nominals(&self, into: &mut [f64]) {
        into.copy_from_slice(&[CURRENT, 1.0, 1.0, 1.0]);
    }

    fn tangent(&self, _at: &ModelPoint<'_>, along: &Tangent<'_>, dx: &mut [f64], y: &mut [f64]) {
        self.motion(0.0, along.x, along.u, dx);
        y[0] = along.x[1];
        y[1..].copy_from_slice(along.x);
    }
}

parameters! {
    /// States: distance and speed.
    struct Car {
        m: f64 = positive["m", 1200.0, "kg", "mass of the car"];
        n: f64 = positive["n", 8.0, "1", "gear ratio, turns of the motor per turn of a wheel"];
        rw: f64 = positive["rw", 0.3, "m", "radius of a wheel"];
        cr: f64 = not_negative["cr", 0.012, "1", "rolling resistance per weight"];
        cda: f64 = not_negative["CdA", 0.65, "m2", "drag coefficient times area"];
        rho: f64 = not_negative["rho", 1.2, "kg/m3", "density of the air"];
        g: f64 = not_negative["g", 9.81, "m/s2", "gravity"];
        friction: f64 = not_negative["Bw", 0.02, "N.s/m", "viscous friction"];
        v_roll: f64 = positive["v_roll", 0.1, "m/s", "below this speed rolling resistance grows"];
        hill1: f64 = finite["hill1", 6.0, "m", "half the height of the long hills"];
        wave1: f64 = positive["wave1", 2500.0, "m", "length of the long hills"];
        hill2: f64 = finite["hill2", 2.0, "m", "half the height of the short hills"];
        wave2: f64 = positive["wave2", 700.0, "m", "length of the short hills"];
    }
}

impl Car {
    /// Speed of the motor per speed of the car.
    fn ratio(&self) -> f64 {
        self.n / self.rw
    }

    fn rolling(&self) -> f64 {
        self.cr * self.m * self.g
    }

    fn drag(&self) -> f64 {
        0.5 * self.rho * self.cda
    }

    /// Slope of the altitude, and its derivative along the road.
    fn slope(&self, x: f64) -> (f64, f64) {
        let mut slope = (0.0, 0.0);
        for (height, length) in [(self.hill1, self.wave1), (self.hill2, self.wave2)] {
            let (turn, per) = (TAU / length * x, TAU / length);
            slope.0 += height * per * math::sin(turn);
            slope.1 += height * per * per * math::cos(turn);
        }
        slope
    }
}

impl Model for Car {
    fn interface(&self) -> Interface {
        let flow = output("f", "rad/s", "speed into the line (against the motor's)");
        interface(effort(), [vec![flow], Model::states(self)].concat())
    }

    fn states(&self) -> Vec<Port> {
        vec![output("x", "m", "distance travelled"), output("v", "m/s", "speed of the car")]
    }

    fn initial(&self) -> Vec<f64> {
        vec![0.0; 2]
    }

    fn derivatives(&self, x: &[f64], u: &[f64], dx: &mut [f64]) {
        let (slope, _) = self.slope(x[0]);
        let resistance = self.rolling() * math::tanh(x[1] / self.v_roll)
            + self.drag() * x[1] * x[1].abs()
            + self.m * self.g * slope / (1.0 + slope * slope).sqrt();
        dx[0] = x[1];
        dx[1] = (u[0] * self.ratio() - resistance - self.friction * x[1]) / self.m;
    }

    fn outputs(&self, x: &[f64], _u: &[f64], y: &mut [f64]) {
        y.copy_from_slice(&[-x[1] * self.ratio(), x[0], x[1]]);
    }

    fn tangent(&self, x: &[f64], _u: &[f64], along: &Tangent<'_>, dx: &mut [f64], y: &mut [f64]) {
        let (slope, bend) = self.slope(x[0]);
        let size = 1.0 + slope * slope;
        let tanh = math::tanh(x[1] / self.v_roll);
        let by_way = self.m * self.g * bend / (size * size.sqrt());
        let by_speed = self.rolling() * (1.0 - tanh * tanh) / self.v_roll + 2.0 * self.drag() * x[1].abs();
        let resistance = by_way * along.x[0] + (by_speed + self.friction) * along.x[1];
        dx[0] = along.x[1];
        dx[1] = (along.u[0] * self.ratio() - resistance) / self.m;
        y.copy_from_slice(&[-along.x[1] * self.ratio(), along.x[0], along.x[1]]);
    }
}

pub(crate) const MODELS: &[ModelEntry] = &[
    ModelEntry {
        name: "drive-cycle/motor",
        summary: "electric motor whose controller follows the driving cycle; input: torque of a line",
        parameters: all!(Motor::PARAMETERS, &INTEGRATED),
        build: |options| Box::new(NativeHybrid::of(Motor::of(options), options)),
    },
    ModelEntry {
        name: "drive-cycle/car",
        summary: "car on hilly ground; input: torque of a line on its shaft",
        parameters: all!(Car::PARAMETERS, &INTEGRATED),
        build: |options| Box::new(NativeHybrid::of(Car::of(options), options)),
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    /// Published figures of the New European Driving Cycle: 1180 s, 120 km/h at most, about 11 km.
    #[test]
    fn the_cycle_is_the_new_european_driving_cycle() {
        for (t, speed) in [
            (-1.0, 0.0),
            (13.0, 7.5),
            (58.5, 23.5),
            (195.0 + 150.0, 50.0),
            (780.0, 0.0),
            (780.0 + 340.0, 120.0),
            (1180.0, 0.0),
            (2e3, 0.0),
        ] {
            assert!((cycle(t) - speed / 3.6).abs() < 1e-12, "{t}");
        }
        let way: f64 = (0..118_000).map(|i| 0.01 * cycle(0.01 * f64::from(i) + 0.005)).sum();
        assert!((10.8e3..11.1e3).contains(&way), "{way}");
        let standing = (0..1180).filter(|t| cycle(f64::from(*t) + 0.5) == 0.0).count();
        assert!((230..300).contains(&standing), "{standing}");
    }
}
