//! A robot arm that two electro-hydraulic actuators lift and swing, in three parts: the cylinder, the motor, and the arm
//! between them. Their inputs are efforts, so that delayed lines can connect them.
//! Source: the structure of Braun, Hällqvist & Fritzson 2023, section 4.3; the paper prints no constants, so that those here
//! were chosen: an arm of two rotations, a pump whose flow is set by a proportional controller. Flows are positive into
//! the line.

use cosimo_core::math;
use cosimo_core::{Interface, Options, Port, Spec};
use cosimo_native::{Hybrid, Model, ModelPoint, NativeHybrid, Tangent};

use crate::parameters::{INTEGRATED, all, finite, initial, not_negative, numbers, positive};
use crate::{ModelEntry, input, interface, output};

const SIDE_A: Spec = positive("a", 0.5, "m", "distance from the joint to the cylinder's foot");
const SIDE_B: Spec = positive("b", 0.9, "m", "distance from the joint to the cylinder's head");
const WEIGHT: Spec = finite("weight", 1700.0, "N.m", "torque of the arm's weight when horizontal");
const BULK: Spec = positive("bulk", 1e9, "Pa", "bulk modulus of the oil");
const LEAK: Spec = not_negative("leak", 4e-12, "m3/(s.Pa)", "leakage between the chambers");
const LAG: Spec = positive("lag", 0.02, "s", "time constant of the pump");
const PRESSURE: Spec = initial("p0", 5e6, "Pa", "pressure in the second chamber at the start");

/// The cylinder between a foot and a head that the arm turns.
#[derive(Debug, Clone, Copy)]
struct Triangle {
    a: f64,
    b: f64,
}

impl Triangle {
    fn of(options: &Options) -> Triangle {
        Triangle { a: options.number("a"), b: options.number("b") }
    }

    fn length(&self, th: f64) -> f64 {
        (self.a * self.a + self.b * self.b + 2.0 * self.a * self.b * math::sin(th)).sqrt()
    }

    /// The lever, that is the derivative of the length by the angle, and its own derivative.
    fn lever(&self, th: f64) -> (f64, f64) {
        let length = self.length(th);
        let lever = self.a * self.b * math::cos(th) / length;
        (lever, -(self.a * self.b * math::sin(th) + lever * lever) / length)
    }

    /// The force that holds the weight of the horizontal arm.
    fn holding(&self, weight: f64) -> f64 {
        weight / self.lever(0.0).0
    }
}

/// From 0 to 1 within `time`, without a jump in speed or acceleration.
fn rise(t: f64, from: f64, time: f64) -> f64 {
    let s = ((t - from) / time).clamp(0.0, 1.0);
    s * s * s * (10.0 + s * (6.0 * s - 15.0))
}

/// Pressures are of the order of MPa, flows of 0.1 l/s.
const NOMINALS: [f64; 5] = [1.0, 1.0, 1e6, 1e6, 1e-4];

/// Oil that a pump moves between two chambers, of a cylinder or a motor; states: position, speed, two pressures and the pump's flow.
#[derive(Debug)]
struct Actuator {
    /// Area, or volume per angle.
    area: f64,
    volume: f64,
    /// Chambers grow and shrink as the piston moves; those of a motor do not.
    grows: bool,
    bulk: f64,
    inertia: f64,
    friction: f64,
    leak: f64,
    lag: f64,
    gain: f64,
    pressure: f64,
    /// The effort at the start.
    effort: f64,
}

impl Actuator {
    /// By the names of its parameters, in the order of the fields.
    fn of(options: &Options, names: [&str; 9], grows: bool, effort: f64) -> Actuator {
        let [area, volume, bulk, inertia, friction, leak, lag, gain, pressure] = numbers(options, names);
        Actuator { area, volume, grows, bulk, inertia, friction, leak, lag, gain, pressure, effort }
    }

    fn initial(&self) -> (Vec<f64>, Vec<f64>) {
        let difference = self.effort / self.area;
        (vec![0.0, 0.0, self.pressure + difference, self.pressure, self.leak * difference], Vec::new())
    }

    /// Offset of the reference so that the pump supplies the leakage at the start.
    fn offset(&self) -> f64 {
        self.leak * self.effort / (self.area * self.area * self.gain)
    }

    /// Volumes of both chambers.
    fn chambers(&self, place: f64) -> [f64; 2] {
        let more = if self.grows { self.area * place } else { 0.0 };
        [self.volume + more, self.volume - more]
    }

    fn derivatives(&self, setpoint: f64, x: &[f64], effort: f64, dx: &mut [f64]) {
        let [place, speed, first, second, flow] = [x[0], x[1], x[2], x[3], x[4]];
        let into = flow - self.leak * (first - second) - self.area * speed;
        let [va, vb] = self.chambers(place);
        dx[0] = speed;
        dx[1] = (self.area * (first - second) - effort - self.friction * speed) / self.inertia;
        dx[2] = self.bulk / va * into;
        dx[3] = -self.bulk / vb * into;
        dx[4] = (self.area * self.gain * (setpoint - place) - flow) / self.lag;
    }

    fn tangent(&self, x: &[f64], along: &[f64], effort: f64, dx: &mut [f64]) {
        self.derivatives(0.0, along, effort, dx);
        let into = x[4] - self.leak * (x[2] - x[3]) - self.area * x[1];
        let change = along[4] - self.leak * (along[2] - along[3]) - self.area * along[1];
        let [va, vb] = self.chambers(x[0]);
        let more = if self.grows { self.area * along[0] } else { 0.0 };
        dx[2] = self.bulk / va * (change - more / va * into);
        dx[3] = -self.bulk / vb * (change + more / vb * into);
    }
}

/// The prescribed motion of an actuator.
#[derive(Debug)]
enum Motion {
    /// Up by an angle, and down again.
    Lift { triangle: Triangle, by: f64, up_at: f64, down_at: f64, time: f64 },
    /// To an angle.
    Swing { by: f64, at: f64, time: f64 },
}

impl Motion {
    fn lift(options: &Options) -> Motion {
        let [by, up_at, down_at, time] = numbers(options, ["lift_by", "up_at", "down_at", "lift_time"]);
        Motion::Lift { triangle: Triangle::of(options), by: by.to_radians(), up_at, down_at, time }
    }

    fn swing(options: &Options) -> Motion {
        let [by, at, time] = numbers(options, ["swing_by", "swing_at", "swing_time"]);
        Motion::Swing { by: by.to_radians(), at, time }
    }

    /// Setpoint of the piston or motor, relative to the start.
    fn setpoint(&self, t: f64) -> f64 {
        match self {
            Motion::Lift { triangle, by, up_at, down_at, time } => {
                let angle = by * (rise(t, *up_at, *time) - rise(t, *down_at, *time));
                triangle.length(angle) - triangle.length(0.0)
            }
            Motion::Swing { by, at, time } => by * rise(t, *at, *time),
        }
    }
}

#[derive(Debug)]
struct PlannedActuator {
    actuator: Actuator,
    plan: Motion,
}

impl PlannedActuator {
    fn setpoint(&self, t: f64) -> f64 {
        self.plan.setpoint(t) + self.actuator.offset()
    }
}

impl Hybrid for PlannedActuator {
    fn interface(&self) -> Interface {
        let (effort, flow, place, what) = match self.plan {
            Motion::Lift { .. } => ("N", "m/s", "m", "piston"),
            Motion::Swing { .. } => ("N.m", "rad/s", "rad", "motor"),
        };
        let effort = input("e", effort, &format!("effort of the line against the {what}"));
        let flow = output("f", flow, "speed into the line");
        let setpoint = output("wanted", place, &format!("setpoint of the {what}"));
        let inputs = vec![effort.starting_at(self.actuator.effort)];
        interface(inputs, [vec![flow], self.states(), vec![setpoint]].concat())
    }

    fn states(&self) -> Vec<Port> {
        let (place, speed, units, what) = match self.plan {
            Motion::Lift { .. } => ("x", "v", ["m", "m/s"], "piston"),
            Motion::Swing { .. } => ("th", "w", ["rad", "rad/s"], "motor"),
        };
        vec![
            output(place, units[0], &format!("position of the {what}")),
            output(speed, units[1], &format!("speed of the {what}")),
            output("pA", "Pa", "pressure in the first chamber"),
            output("pB", "Pa", "pressure in the second chamber"),
            output("q", "m3/s", "flow of the pump"),
        ]
    }

    fn initial(&self) -> (Vec<f64>, Vec<f64>) {
        self.actuator.initial()
    }

    fn derivatives(&self, at: &ModelPoint<'_>, dx: &mut [f64]) {
        self.actuator.derivatives(self.setpoint(at.t), at.x, at.u[0], dx);
    }

    fn outputs(&self, at: &ModelPoint<'_>, y: &mut [f64]) {
        y[0] = at.x[1];
        y[1..6].copy_from_slice(at.x);
        y[6] = self.setpoint(at.t);
    }

    fn nominals(&self, into: &mut [f64]) {
        into.copy_from_slice(&NOMINALS);
    }

    fn tangent(&self, at: &ModelPoint<'_>, along: &Tangent<'_>, dx: &mut [f64], y: &mut [f64]) {
        self.actuator.tangent(at.x, along.x, along.u[0], dx);
        y[0] = along.x[1];
        y[1..6].copy_from_slice(along.x);
        y[6] = 0.0;
    }
}

/// States: angle and speed of swinging, then of lifting.
#[derive(Debug)]
struct Arm {
    triangle: Triangle,
    weight: f64,
    post: f64,
    inertia: f64,
    drag: [f64; 2],
}

impl Arm {
    fn of(options: &Options) -> Arm {
        let [weight, post, inertia, d1, d2] = numbers(options, ["weight", "post", "arm", "d1", "d2"]);
        Arm { triangle: Triangle::of(options), weight, post, inertia, drag: [d1, d2] }
    }
}

impl Model for Arm {
    fn interface(&self) -> Interface {
        let force = self.triangle.holding(self.weight);
        let flows = vec![
            output("f_lift", "m/s", "speed into the line of the cylinder (against the piston's)"),
            output("f_swing", "rad/s", "speed into the line of the motor (against the motor's)"),
        ];
        let efforts = vec![
            input("e_lift", "N", "force of the cylinder's line").starting_at(force),
            input("e_swing", "N.m", "torque of the motor's line").starting_at(0.0),
        ];
        interface(efforts, [flows, Model::states(self)].concat())
    }

    fn states(&self) -> Vec<Port> {
        vec![
            output("th1", "rad", "angle of swinging"),
            output("w1", "rad/s", "speed of swinging"),
            output("th2", "rad", "angle of lifting"),
            output("w2", "rad/s", "speed of lifting"),
        ]
    }

    fn initial(&self) -> Vec<f64> {
        vec![0.0; 4]
    }

    fn derivatives(&self, x: &[f64], u: &[f64], dx: &mut [f64]) {
        let [w1, th, w2] = [x[1], x[2], x[3]];
        let (sin, cos) = math::sin_cos(th);
        let both = self.inertia * sin * cos;
        dx[0] = w1;
        dx[1] = (u[1] - self.drag[0] * w1 + 2.0 * both * w1 * w2) / (self.post + self.inertia * cos * cos);
        dx[2] = w2;
        let lifting = u[0] * self.triangle.lever(th).0 - self.weight * cos - both * w1 * w1;
        dx[3] = (lifting - self.drag[1] * w2) / self.inertia;
    }

    fn outputs(&self, x: &[f64], _u: &[f64], y: &mut [f64]) {
        y[0] = -self.triangle.lever(x[2]).0 * x[3];
        y[1] = -x[1];
        y[2..].copy_from_slice(x);
    }

    fn tangent(&self, x: &[f64], u: &[f64], along: &Tangent<'_>, dx: &mut [f64], y: &mut [f64]) {
        let [w1, th, w2] = [x[1], x[2], x[3]];
        let [d1, turn, d2] = [along.x[1], along.x[2], along.x[3]];
        let (sin, cos) = math::sin_cos(th);
        let (lever, bend) = self.triangle.lever(th);
        let (both, changed) = (self.inertia * sin * cos, self.inertia * (cos * cos - sin * sin) * turn);
        let inertia = self.post + self.inertia * cos * cos;
        let torque = u[1] - self.drag[0] * w1 + 2.0 * both * w1 * w2;
        let more = along.u[1] - self.drag[0] * d1 + 2.0 * (changed * w1 * w2 + both * (d1 * w2 + w1 * d2));
        dx[0] = d1;
        dx[1] = (more + torque / inertia * 2.0 * both * turn) / inertia;
        dx[2] = d2;
        let lifting = along.u[0] * lever + u[0] * bend * turn + self.weight * sin * turn
            - changed * w1 * w1
            - 2.0 * both * w1 * d1;
        dx[3] = (lifting - self.drag[1] * d2) / self.inertia;
        y[0] = -(bend * turn * w2 + lever * d2);
        y[1] = -d1;
        y[2..].copy_from_slice(along.x);
    }
}

pub(crate) const MODELS: &[ModelEntry] = &[
    ModelEntry {
        name: "robot/lift",
        summary: "hydraulic cylinder with its pump and controller; input: force of a line",
        parameters: all!(
            &[
                SIDE_A,
                SIDE_B,
                WEIGHT,
                positive("A", 2e-3, "m2", "area of the piston"),
                positive("V0", 8e-4, "m3", "volume of each chamber at the start"),
                BULK,
                positive("mass", 20.0, "kg", "mass of the piston"),
                not_negative("friction", 4e3, "N.s/m", "friction of the piston"),
                LEAK,
                LAG,
                not_negative("gain", 8.0, "1/s", "speed per position error"),
                PRESSURE,
                finite("lift_by", 25.0, "deg", "angle by which the arm is lifted"),
                finite("up_at", 1.0, "s", "time at which lifting begins"),
                finite("down_at", 9.2, "s", "time at which lowering begins"),
                positive("lift_time", 3.0, "s", "duration of lifting and of lowering"),
            ],
            &INTEGRATED
        ),
        build: |options| {
            let names = ["A", "V0", "bulk", "mass", "friction", "leak", "lag", "gain", "p0"];
            let effort = Triangle::of(options).holding(options.number("weight"));
            let actuator = Actuator::of(options, names, true, effort);
            Box::new(NativeHybrid::of(PlannedActuator { actuator, plan: Motion::lift(options) }, options))
        },
    },
    ModelEntry {
        name: "robot/swing",
        summary: "hydraulic motor with its pump and controller; input: torque of a line",
        parameters: all!(
            &[
                positive("Dm", 1e-4, "m3/rad", "displacement of the motor"),
                positive("V", 8e-4, "m3", "volume of each chamber"),
                BULK,
                positive("J", 1.0, "kg.m2", "inertia of the motor"),
                not_negative("friction", 100.0, "N.m.s/rad", "friction of the motor"),
                LEAK,
                LAG,
                not_negative("gain", 5.0, "1/s", "speed per angle error"),
                PRESSURE,
                finite("swing_by", 90.0, "deg", "angle by which the arm is swung"),
                finite("swing_at", 4.5, "s", "time at which swinging begins"),
                positive("swing_time", 4.5, "s", "duration of swinging"),
            ],
            &INTEGRATED
        ),
        build: |options| {
            let names = ["Dm", "V", "bulk", "J", "friction", "leak", "lag", "gain", "p0"];
            let actuator = Actuator::of(options, names, false, 0.0);
            Box::new(NativeHybrid::of(PlannedActuator { actuator, plan: Motion::swing(options) }, options))
        },
    },
    ModelEntry {
        name: "robot/arm",
        summary: "arm that is swung and lifted; inputs: force and torque of two lines",
        parameters: all!(
            &[
                SIDE_A,
                SIDE_B,
                WEIGHT,
                positive("post", 60.0, "kg.m2", "inertia of the turning post"),
                positive("arm", 300.0, "kg.m2", "inertia of the arm"),
                not_negative("d1", 40.0, "N.m.s/rad", "friction of the post"),
                not_negative("d2", 200.0, "N.m.s/rad", "friction of the arm's joint"),
            ],
            &INTEGRATED
        ),
        build: |options| Box::new(NativeHybrid::of(Arm::of(options), options)),
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lever_is_the_derivative_of_the_length() {
        let triangle = Triangle { a: 0.5, b: 0.9 };
        for th in [-0.4, 0.0, 0.3, 1.0] {
            let (h, (lever, bend)) = (1e-5, triangle.lever(th));
            let slope = (triangle.length(th + h) - triangle.length(th - h)) / (2.0 * h);
            let curve = (triangle.lever(th + h).0 - triangle.lever(th - h).0) / (2.0 * h);
            assert!((slope - lever).abs() < 1e-9 && (curve - bend).abs() < 1e-9, "{th}");
        }
    }

    #[test]
    fn motions_end_at_their_setpoints() {
        let plan = Motion::lift(&Options::resolve("robot", MODELS[0].parameters, &[]).unwrap());
        let up = Triangle { a: 0.5, b: 0.9 }.length(25f64.to_radians()) - (0.25f64 + 0.81).sqrt();
        assert_eq!([0.0, 1.0, 12.2, 20.0].map(|t| plan.setpoint(t)), [0.0; 4]);
        assert!((plan.setpoint(5.0) - up).abs() < 1e-15);
        let plan = Motion::swing(&Options::resolve("robot", MODELS[1].parameters, &[]).unwrap());
        assert_eq!((plan.setpoint(4.5), plan.setpoint(9.0)), (0.0, 90f64.to_radians()));
        assert!((plan.setpoint(6.75) - 45f64.to_radians()).abs() < 1e-15);
    }
}
