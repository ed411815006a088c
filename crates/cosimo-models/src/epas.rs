//! Electric power assisted steering of a car: column, rack, assist motor behind a belt, tie rods and wheels, and the
//! car as a bicycle at constant speed. Wu 2018, Sec. 8, (8.1) to (8.7), with d/dt in (8.5) and v_x in (8.6) and (8.7).
//!
//! Two places to cut it, each with the spring on either side: the tie rod between rack and wheels (cases I and II of
//! the thesis) or the belt between rack and motor (III and IV). The thesis prints no parameters; the defaults here are
//! a set for which II and IV are unstable at 5 ms and I and III are not.

use std::f64::consts::PI;

use cosimo_core::math;
use cosimo_core::registry::ReferenceEntry;
use cosimo_core::{Abilities, Interface, Options, Port, Spec};
use cosimo_native::solver::MICRO_STEPS;
use cosimo_native::{ABILITIES, Model, Ode, Solver, Tangent};

use crate::parameters::{all, not_negative, parameters, positive};
use crate::{ModelEntry, Native};

parameters! {
    /// The parameters of the car. Each part uses those it needs.
    struct Car {
        jc: f64 = positive["Jc", 0.04, "kg.m2", "inertia of the column"];
        kt: f64 = not_negative["kt", 120.0, "N.m/rad", "stiffness of the torsion bar"];
        dt: f64 = not_negative["dt", 0.2, "N.m.s/rad", "damping of the torsion bar"];
        dc: f64 = not_negative["dc", 0.1, "N.m.s/rad", "damping of the column"];
        eta1: f64 = positive["eta1", 1.0 / 0.0075, "rad/m", "turn of the pinion per travel of the rack"];
        mr: f64 = positive["mr", 3.0, "kg", "mass of the rack"];
        dr: f64 = not_negative["dr", 100.0, "N.s/m", "damping of the rack"];
        jm: f64 = positive["Jm", 3e-4, "kg.m2", "inertia of the motor"];
        dm: f64 = not_negative["d_motor", 6e-3, "N.m.s/rad", "damping of the motor"];
        kb: f64 = not_negative["kb", 0.5, "N.m/rad", "stiffness of the belt, at the motor"];
        db: f64 = not_negative["db", 1e-4, "N.m.s/rad", "damping of the belt, at the motor"];
        eta2: f64 = positive["eta2", 2.7, "1", "ratio of the belt"];
        eta3: f64 = positive["eta3", 2.0 * PI / 0.007, "rad/m", "turn of the ball screw per travel of the rack"];
        krod: f64 = not_negative["krod", 2e6, "N/m", "stiffness of the tie rods"];
        drod: f64 = not_negative["drod", 2000.0, "N.s/m", "damping of the tie rods"];
        jw: f64 = positive["Jw", 0.4, "kg.m2", "inertia of the wheels about the king pin"];
        dw: f64 = not_negative["dw", 20.0, "N.m.s/rad", "damping of the wheels about the king pin"];
        i_s: f64 = positive["i_s", 1.0 / 0.14, "rad/m", "turn of the wheels per travel at the tie rod"];
        trail: f64 = not_negative["trail", 0.03, "m", "trail of the tyre force behind the king pin"];
        m: f64 = positive["m", 1800.0, "kg", "mass of the car"];
        jz: f64 = positive["Jz", 3000.0, "kg.m2", "inertia of the car about its vertical axis"];
        lf: f64 = positive["lf", 1.2, "m", "centre of mass to front axle"];
        lr: f64 = positive["lr", 1.6, "m", "centre of mass to rear axle"];
        cf: f64 = not_negative["Cf", 1.2e5, "N/rad", "cornering stiffness, front"];
        cr: f64 = not_negative["Cr", 1.4e5, "N/rad", "cornering stiffness, rear"];
        vx: f64 = positive["vx", 50.0 / 3.6, "m/s", "speed of the car"];
        assist: f64 = not_negative["assist", 0.1, "1", "assist torque of the motor per pinion torque"];
        amplitude: f64 = not_negative["amplitude", 0.6, "rad", "amplitude of the driver's steering angle, a sweep from 0.2 Hz on"];
        friction: bool = Spec::flag["friction", true, "dry friction of column, rack and motor"];
        saturation: bool = Spec::flag["saturation", true, "the motor assists with 4 N.m at most"];
    }
}

const PART: &[Spec] = all!(Car::PARAMETERS, &[MICRO_STEPS]);

/// Gains of the driver, and the sweep of the steering angle: its frequency in Hz grows from the first number by twice the
/// second every second.
const DRIVER: [f64; 2] = [20.0, 2.0];
const SWEEP: [f64; 2] = [0.2, 0.04];
/// Most that the motor assists with, in N.m.
const MOST: f64 = 4.0;
/// Dry friction of column, rack and motor, and the speeds at which tanh has most of it.
const DRY: [(usize, f64, f64); 3] = [(WS, 0.1, 0.05), (VR, 60.0, 0.005), (WM, 0.01, 1.0)];

// States of the monolithic car.
const DS: usize = 0;
const WS: usize = 1;
const XR: usize = 2;
const VR: usize = 3;
const ANGLE: usize = 4;
const WM: usize = 5;
const XW: usize = 6;
const VW: usize = 7;
const VY: usize = 8;
const WZ: usize = 9;
const STATES: usize = 10;

const NAMES: [(&str, &str, &str); STATES] = [
    ("ds", "rad", "angle of the steering wheel"),
    ("ws", "rad/s", "angular velocity of the steering wheel"),
    ("xR", "m", "displacement of the rack"),
    ("vR", "m/s", "velocity of the rack"),
    ("dm", "rad", "angle of the motor"),
    ("wm", "rad/s", "angular velocity of the motor"),
    ("xw", "m", "angle of the wheels, as a displacement at the tie rod"),
    ("vw", "m/s", "angular velocity of the wheels, as a velocity at the tie rod"),
    ("vy", "m/s", "lateral velocity of the car"),
    ("wz", "rad/s", "yaw rate of the car"),
];

/// Signals exchanged between the parts.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Signal {
    State(usize),
    /// Force of the tie rods; pulls the rack back and the wheels along.
    Rod,
    /// Torque of the belt; pulls the motor back and the rack along.
    Belt,
    /// The same as a force at the rack.
    Screw,
    /// Torque of the pinion, which the assist follows.
    Pinion,
}

use Signal::{Belt, Pinion, Rod, Screw, State};

impl Signal {
    fn port(self) -> Port {
        let (name, unit, description) = match self {
            State(state) => NAMES[state],
            Rod => ("Fr", "N", "force of the tie rods; pulls the rack back and the wheels along"),
            Belt => ("Tb", "N.m", "torque of the belt; pulls the motor back and the rack along"),
            Screw => ("Fb", "N", "force of the belt at the rack; pulls the motor back and the rack along"),
            Pinion => ("Tp", "N.m", "torque of the pinion, which the assist follows"),
        };
        Port::new(name, unit, description)
    }
}

/// Forces between the bodies.
#[derive(Debug, Clone, Copy)]
struct Forces {
    rod: f64,
    belt: f64,
    pinion: f64,
}

/// What is not linear in the states.
#[derive(Debug, Clone, Copy)]
struct Pushes {
    /// Torque of the driver towards the steering angle of the sweep.
    driver: f64,
    /// Of column, rack and motor.
    friction: [f64; 3],
    assist: f64,
}

impl Car {
    /// Turn of the motor per travel of the rack.
    fn eta(&self) -> f64 {
        self.eta2 * self.eta3
    }

    fn forces(&self, z: &[f64; STATES]) -> Forces {
        Forces {
            rod: self.krod * (z[XR] - z[XW]) + self.drod * (z[VR] - z[VW]),
            belt: self.kb * (z[ANGLE] - self.eta() * z[XR]) + self.db * (z[WM] - self.eta() * z[VR]),
            pinion: self.kt * (z[DS] - self.eta1 * z[XR]) + self.dt * (z[WS] - self.eta1 * z[VR]),
        }
    }

    fn pushes(&self, t: f64, z: &[f64; STATES], pinion: f64) -> Pushes {
        let target = self.amplitude * math::sin(2.0 * PI * (SWEEP[0] * t + SWEEP[1] * t * t));
        let dry = |(state, force, speed): (usize, f64, f64)| force * math::tanh(z[state] / speed);
        let assist = self.assist * pinion;
        Pushes {
            driver: DRIVER[0] * target,
            friction: if self.friction { DRY.map(dry) } else { [0.0; 3] },
            assist: if self.saturation { assist.clamp(-MOST, MOST) } else { assist },
        }
    }

    /// Directional derivative of the pushes along states and pinion torque.
    fn change(&self, z: &[f64; STATES], pinion: f64, along: &[f64; STATES], along_pinion: f64) -> Pushes {
        let dry = |(state, force, speed): (usize, f64, f64)| {
            let tanh = math::tanh(z[state] / speed);
            force / speed * (1.0 - tanh * tanh) * along[state]
        };
        let free = !self.saturation || (self.assist * pinion).abs() < MOST;
        Pushes {
            driver: 0.0,
            friction: if self.friction { DRY.map(dry) } else { [0.0; 3] },
            assist: if free { self.assist * along_pinion } else { 0.0 },
        }
    }

    fn rates(&self, z: &[f64; STATES], forces: &Forces, pushes: &Pushes) -> [f64; STATES] {
        let Forces { rod, belt, pinion } = *forces;
        let Pushes { driver, friction: [column, rack, motor], assist } = *pushes;
        let mw = self.jw * self.i_s * self.i_s;
        let front = self.cf * (self.i_s * z[XW] - (z[VY] + self.lf * z[WZ]) / self.vx);
        let rear = -self.cr * (z[VY] - self.lr * z[WZ]) / self.vx;
        let steering = driver - DRIVER[0] * z[DS] - DRIVER[1] * z[WS];
        [
            z[WS],
            (steering - pinion - self.dc * z[WS] - column) / self.jc,
            z[VR],
            (self.eta1 * pinion + self.eta() * belt - rod - self.dr * z[VR] - rack) / self.mr,
            z[WM],
            (assist - self.dm * z[WM] - belt - motor) / self.jm,
            z[VW],
            (rod - self.i_s * self.trail * front - self.dw * mw / self.jw * z[VW]) / mw,
            (front + rear - self.m * self.vx * z[WZ]) / self.m,
            (self.lf * front - self.lr * rear) / self.jz,
        ]
    }
}

/// Some of the bodies; inputs are forces or motions of the others.
#[derive(Debug)]
struct EpasPart {
    car: Car,
    own: &'static [usize],
    inputs: &'static [Signal],
    signals: &'static [Signal],
}

impl EpasPart {
    /// All states and forces, filled from own states and inputs; the others stay 0 and are not used.
    fn assemble(&self, x: &[f64], u: &[f64]) -> ([f64; STATES], Forces) {
        let mut z = [0.0; STATES];
        for (state, x) in self.own.iter().zip(x) {
            z[*state] = *x;
        }
        for (signal, u) in self.inputs.iter().zip(u) {
            if let State(state) = signal {
                z[*state] = *u;
            }
        }
        let mut forces = self.car.forces(&z);
        for (signal, u) in self.inputs.iter().zip(u) {
            match signal {
                Rod => forces.rod = *u,
                Belt => forces.belt = *u,
                Screw => forces.belt = *u / self.car.eta(),
                Pinion => forces.pinion = *u,
                State(_) => {}
            }
        }
        (z, forces)
    }

    /// Signals first, then all states.
    fn all_outputs(&self) -> impl Iterator<Item = Signal> {
        self.signals.iter().copied().chain(self.own.iter().copied().map(State))
    }

    fn own_rates(&self, rates: &[f64; STATES], dx: &mut [f64]) {
        for (dx, state) in dx.iter_mut().zip(self.own) {
            *dx = rates[*state];
        }
    }
}

impl Model for EpasPart {
    fn interface(&self) -> Interface {
        let mut feedthrough = Vec::new();
        for (place, signal) in self.signals.iter().enumerate() {
            let ends: &[usize] = match signal {
                Rod => &[XR, VR, XW, VW],
                Belt | Screw => &[ANGLE, WM, XR, VR],
                Pinion | State(_) => &[],
            };
            let direct = |input: &Signal| matches!(input, State(state) if ends.contains(state));
            let inputs = self.inputs.iter().enumerate().filter(|(_, input)| direct(input));
            feedthrough.extend(inputs.map(|(port, _)| (place, port)));
        }
        Interface {
            inputs: self.inputs.iter().copied().map(Signal::port).collect(),
            outputs: self.all_outputs().map(Signal::port).collect(),
            feedthrough,
            abilities: Abilities { slopes: true, ..ABILITIES },
            ..Interface::default()
        }
    }

    /// The car drives straight ahead.
    fn initial(&self) -> Vec<f64> {
        vec![0.0; self.own.len()]
    }

    fn states(&self) -> Vec<Port> {
        self.own.iter().map(|state| State(*state).port()).collect()
    }

    fn derivatives(&self, x: &[f64], u: &[f64], dx: &mut [f64]) {
        self.derivatives_at(0.0, x, u, dx);
    }

    fn derivatives_at(&self, t: f64, x: &[f64], u: &[f64], dx: &mut [f64]) {
        let (z, forces) = self.assemble(x, u);
        let pushes = self.car.pushes(t, &z, forces.pinion);
        self.own_rates(&self.car.rates(&z, &forces, &pushes), dx);
    }

    /// Linear in states and inputs.
    fn outputs(&self, x: &[f64], u: &[f64], y: &mut [f64]) {
        let (z, forces) = self.assemble(x, u);
        for (y, signal) in y.iter_mut().zip(self.all_outputs()) {
            *y = match signal {
                State(state) => z[state],
                Rod => forces.rod,
                Belt => forces.belt,
                Screw => self.car.eta() * forces.belt,
                Pinion => forces.pinion,
            };
        }
    }

    fn tangent(&self, x: &[f64], u: &[f64], along: &Tangent<'_>, dx: &mut [f64], y: &mut [f64]) {
        let (z, forces) = self.assemble(x, u);
        let (dz, change) = self.assemble(along.x, along.u);
        let pushes = self.car.change(&z, forces.pinion, &dz, change.pinion);
        self.own_rates(&self.car.rates(&dz, &change, &pushes), dx);
        self.outputs(along.x, along.u, y);
    }
}

const STEERING: &[usize] = &[DS, WS, XR, VR, ANGLE, WM];
const VEHICLE: &[usize] = &[XW, VW, VY, WZ];
const MECHANICS: &[usize] = &[DS, WS, XR, VR, XW, VW, VY, WZ];
const MOTOR: &[usize] = &[ANGLE, WM];

fn part(
    options: &Options,
    own: &'static [usize],
    inputs: &'static [Signal],
    signals: &'static [Signal],
) -> Box<dyn Native> {
    // Nothing simpler: the rack swings with 1300 rad/s.
    let solver = Solver::Rk4 { micro_steps: options.count(MICRO_STEPS.name) };
    Box::new(Ode::new(EpasPart { car: Car::of(options), own, inputs, signals }, solver))
}

pub(crate) const MODELS: &[ModelEntry] = &[
    ModelEntry {
        name: "epas/vehicle-rod",
        summary: "wheels and car with the tie rods; input: motion of the rack (case I)",
        parameters: PART,
        build: |options| part(options, VEHICLE, &[State(XR), State(VR)], &[Rod]),
    },
    ModelEntry {
        name: "epas/steering",
        summary: "column, rack and motor; input: force of the tie rods (case I)",
        parameters: PART,
        build: |options| part(options, STEERING, &[Rod], &[Pinion]),
    },
    ModelEntry {
        name: "epas/vehicle",
        summary: "wheels and car; input: force of the tie rods (case II)",
        parameters: PART,
        build: |options| part(options, VEHICLE, &[Rod], &[]),
    },
    ModelEntry {
        name: "epas/steering-rod",
        summary: "column, rack and motor with the tie rods; input: motion of the wheels (case II)",
        parameters: PART,
        build: |options| part(options, STEERING, &[State(XW), State(VW)], &[Rod, Pinion]),
    },
    ModelEntry {
        name: "epas/mechanics-belt",
        summary: "all but the motor, with the belt; input: motion of the motor (case III)",
        parameters: PART,
        build: |options| part(options, MECHANICS, &[State(ANGLE), State(WM)], &[Belt, Pinion]),
    },
    ModelEntry {
        name: "epas/motor",
        summary: "assist motor; inputs: torques of belt and pinion (case III)",
        parameters: PART,
        build: |options| part(options, MOTOR, &[Belt, Pinion], &[]),
    },
    ModelEntry {
        name: "epas/mechanics",
        summary: "all but the motor and the belt; input: force of the belt (case IV)",
        parameters: PART,
        build: |options| part(options, MECHANICS, &[Screw], &[Pinion]),
    },
    ModelEntry {
        name: "epas/motor-belt",
        summary: "assist motor with the belt; inputs: motion of the rack and the torque of the pinion (case IV)",
        parameters: PART,
        build: |options| part(options, MOTOR, &[State(XR), State(VR), Pinion], &[Screw]),
    },
];

/// Steps of the reference; the fastest motion of the default car turns by 1.6e-2 rad in one, the error of order four
/// is far below every coupling error.
const FINE: f64 = 1e-5;

pub(crate) const REFERENCE: ReferenceEntry = ReferenceEntry {
    name: "epas",
    summary: "monolithic steering, by RK4 with steps of 1e-5 s",
    parameters: Car::PARAMETERS,
    columns: &["ds", "ws", "xR", "vR", "dm", "wm", "xw", "vw", "vy", "wz", "Fr", "Tb", "Tp", "Fb"],
    solve: |options, start, instants| {
        let car = Car::of(options);
        let f = |t: f64, z: &[f64; STATES]| {
            let forces = car.forces(z);
            car.rates(z, &forces, &car.pushes(t, z, forces.pinion))
        };
        let mut z = [0.0; STATES];
        let mut done = 0u64;
        let row = |instant: &f64| {
            let position = instant.max(0.0) / FINE;
            // The nearest whole step, where it is one but for rounding.
            let whole =
                if (position - position.round()).abs() < 1e-6 { position.round() } else { position.floor() };
            while done < whole as u64 {
                z = rk4(f, start + done as f64 * FINE, &z, FINE);
                done += 1;
            }
            let rest = (position - whole) * FINE;
            let here = if rest > 1e-6 * FINE { rk4(f, start + done as f64 * FINE, &z, rest) } else { z };
            let forces = car.forces(&here);
            here.iter()
                .copied()
                .chain([forces.rod, forces.belt, forces.pinion, car.eta() * forces.belt])
                .collect()
        };
        instants.iter().map(row).collect()
    },
    history: false,
};

fn rk4(f: impl Fn(f64, &[f64; STATES]) -> [f64; STATES], t: f64, z: &[f64; STATES], h: f64) -> [f64; STATES] {
    let ahead = |slope: &[f64; STATES], by: f64| std::array::from_fn(|i| z[i] + by * slope[i]);
    let k1 = f(t, z);
    let k2 = f(t + h / 2.0, &ahead(&k1, h / 2.0));
    let k3 = f(t + h / 2.0, &ahead(&k2, h / 2.0));
    let k4 = f(t + h, &ahead(&k3, h));
    std::array::from_fn(|i| z[i] + h / 6.0 * (k1[i] + 2.0 * k2[i] + 2.0 * k3[i] + k4[i]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Masses and stiffnesses reduced to the rack: II and IV are hard because the receiver is light.
    #[test]
    fn rack_wheels_and_motor_weigh_what_the_cases_are_about() {
        let car = Car::DEFAULT;
        assert!((car.jw * car.i_s * car.i_s - 20.4).abs() < 0.05);
        assert!((car.jm * car.eta() * car.eta() - 1762.0).abs() < 1.0);
        assert!((car.kb * car.eta() * car.eta() - 2.94e6).abs() < 1e4);
    }
}
