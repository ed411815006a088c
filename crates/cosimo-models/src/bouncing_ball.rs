//! A ball that falls, and leaves the ground with a share of its speed each time. Infinitely many bounces in finite
//! time would follow, so below a small speed it lies still.
//!
//! Height and velocity are states, outputs and start parameters at once: one name, one variable.

use cosimo_core::math;
use cosimo_core::registry::Range;
use cosimo_core::{Interface, Port, Spec};
use cosimo_native::{Event, Hybrid, ModelPoint, OutputKind, Quantity, Tangent, Unknown};

use crate::parameters::{initial, not_negative, parameters, positive};
use crate::{HybridEntry, interface, output};

parameters! {
    /// The ball, and its solution in closed form.
    #[derive(PartialEq)]
    pub struct BouncingBall {
        pub height: f64 = not_negative["height", 1.0, "m", "height above the ground at the start"];
        pub velocity: f64 = initial["velocity", 0.0, "m/s", "velocity upwards at the start"];
        pub restitution: f64 = share["restitution", 0.7, "1", "fraction of the speed left after a bounce"];
        pub gravity: f64 = positive["gravity", 9.81, "m/s2", "acceleration downwards"];
        pub rest: f64 = positive["rest", 0.01, "m/s", "speed after a bounce below which the ball comes to rest"];
    }
}

/// From 0 to 1.
const fn share(name: &'static str, value: f64, unit: &'static str, doc: &'static str) -> Spec {
    Spec::number(name, value, Range::Unit, unit, doc)
}

impl BouncingBall {
    /// All times at which it touches the ground; it comes to rest at the last one.
    pub fn bounces(&self) -> Vec<f64> {
        let mut instants = Vec::new();
        let mut speed = (self.velocity * self.velocity + 2.0 * self.gravity * self.height).sqrt();
        let mut instant = (self.velocity + speed) / self.gravity;
        loop {
            instants.push(instant);
            speed *= self.restitution;
            if speed < self.rest {
                return instants;
            }
            instant += 2.0 * speed / self.gravity;
        }
    }

    /// Height and velocity at time `t`, and the number of bounces so far.
    pub fn at(&self, t: f64) -> (f64, f64, usize) {
        let bounces = self.bounces();
        let count = bounces.iter().filter(|instant| **instant <= t).count();
        if count == bounces.len() {
            return (0.0, 0.0, count);
        }
        let speed = (self.velocity * self.velocity + 2.0 * self.gravity * self.height).sqrt();
        let (since, height, velocity) = match count {
            0 => (t, self.height, self.velocity),
            _ => (t - bounces[count - 1], 0.0, speed * math::powi(self.restitution, count as i32)),
        };
        (
            height + velocity * since - self.gravity * since * since / 2.0,
            velocity - self.gravity * since,
            count,
        )
    }
}

/// Indices of the discrete states.
const COUNT: usize = 0;
const RESTING: usize = 1;

const PHASES: &[&str] = &["flying", "resting"];

impl Hybrid for BouncingBall {
    fn interface(&self) -> Interface {
        let mut outputs = self.states();
        outputs.push(output("bounces", "1", "number of bounces so far"));
        outputs.push(output("phase", "1", "flying or resting"));
        interface(vec![], outputs)
    }

    fn states(&self) -> Vec<Port> {
        vec![output("height", "m", "height above the ground"), output("velocity", "m/s", "velocity upwards")]
    }

    fn kinds(&self) -> Vec<OutputKind> {
        vec![OutputKind::Real, OutputKind::Real, OutputKind::Integer, OutputKind::Enumeration(PHASES)]
    }

    fn initial(&self) -> (Vec<f64>, Vec<f64>) {
        (vec![self.height, self.velocity], vec![0.0; 2])
    }

    fn derivatives(&self, at: &ModelPoint<'_>, dx: &mut [f64]) {
        let flying = 1.0 - at.m[RESTING];
        dx[0] = flying * at.x[1];
        dx[1] = -flying * self.gravity;
    }

    fn outputs(&self, at: &ModelPoint<'_>, y: &mut [f64]) {
        y[..2].copy_from_slice(at.x);
        y[2] = at.m[COUNT];
        y[3] = 1.0 + at.m[RESTING];
    }

    fn indicator_count(&self) -> usize {
        1
    }

    fn indicators(&self, at: &ModelPoint<'_>, z: &mut [f64]) {
        z[0] = if at.m[RESTING] == 0.0 { at.x[0] } else { 1.0 };
    }

    fn event(&self, _t: f64, _u: &[f64], x: &mut [f64], m: &mut [f64]) -> Event {
        let hit = m[RESTING] == 0.0 && x[0] <= 0.0 && x[1] <= 0.0;
        if hit {
            m[COUNT] += 1.0;
            // Just above the ground, because an event indicator must not be zero after its event.
            x[0] = f64::MIN_POSITIVE;
            x[1] *= -self.restitution;
            if x[1] < self.rest {
                (x[0], x[1], m[RESTING]) = (0.0, 0.0, 1.0);
            }
        }
        Event { states_changed: hit, ..Event::default() }
    }

    fn jumps(&self, _state: usize) -> bool {
        true
    }

    fn tangent(&self, at: &ModelPoint<'_>, along: &Tangent<'_>, dx: &mut [f64], y: &mut [f64]) {
        dx[0] = (1.0 - at.m[RESTING]) * along.x[1];
        dx[1] = 0.0;
        y.copy_from_slice(&[along.x[0], along.x[1], 0.0, 0.0]);
    }

    fn depends(&self, value: Unknown, on: Quantity) -> bool {
        match (value, on) {
            (Unknown::Derivative(0), Quantity::State(1)) | (Unknown::Indicator(0), Quantity::State(0)) => {
                true
            }
            (Unknown::Output(output), Quantity::State(state)) => output == state,
            _ => false,
        }
    }
}

pub(crate) const ENTRY: HybridEntry = HybridEntry {
    name: "bouncing-ball",
    summary: "ball that loses speed at every bounce and comes to rest",
    parameters: BouncingBall::PARAMETERS,
    stop: 3.0,
    build: |options| Box::new(BouncingBall::of(options)),
    reference: || {
        let ball = BouncingBall::DEFAULT;
        let row = |i: i32| {
            let t = 0.1 * f64::from(i);
            let (height, velocity, count) = ball.at(t);
            let resting = count == ball.bounces().len();
            vec![t, height, velocity, count as f64, 1.0 + f64::from(u8::from(resting))]
        };
        (0..=30).map(row).collect()
    },
};
