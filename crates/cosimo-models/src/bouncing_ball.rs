//! A ball that falls, and leaves the ground with a share of its speed each time. Infinitely many bounces in finite
//! time would follow, so below a small speed it lies still.
//!
//! Height and velocity are states, outputs and what the ball starts with: one name, one variable.

use cosimo_core::entry::Range;
use cosimo_core::{Interface, Port, Spec};
use cosimo_native::{Direction, Event, Hybrid, Kind, Known, Point, Unknown};

use crate::parameters::{initial, not_negative, parameters, positive};
use crate::{HybridEntry, output};

parameters! {
    /// The ball, and what is known of it in closed form.
    #[derive(PartialEq)]
    pub struct BouncingBall {
        pub height: f64 = not_negative["height", 1.0, "m", "height over the ground at the start"];
        pub velocity: f64 = initial["velocity", 0.0, "m/s", "velocity upwards at the start"];
        pub restitution: f64 = share["restitution", 0.7, "1", "share of the speed that a bounce leaves"];
        pub gravity: f64 = positive["gravity", 9.81, "m/s2", "acceleration downwards"];
        pub rest: f64 = positive["rest", 0.01, "m/s", "what leaves the ground more slowly stays there"];
    }
}

/// From 0 to 1.
const fn share(name: &'static str, value: f64, unit: &'static str, doc: &'static str) -> Spec {
    Spec::number(name, value, Range::Unit, unit, doc)
}

impl BouncingBall {
    /// All instants at which it touches the ground, the one at which it comes to rest last.
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

    /// Height and velocity at an instant, and how often it has touched the ground.
    pub fn at(&self, t: f64) -> (f64, f64, usize) {
        let bounces = self.bounces();
        let count = bounces.iter().filter(|instant| **instant <= t).count();
        if count == bounces.len() {
            return (0.0, 0.0, count);
        }
        let speed = (self.velocity * self.velocity + 2.0 * self.gravity * self.height).sqrt();
        let (since, height, velocity) = match count {
            0 => (t, self.height, self.velocity),
            _ => (t - bounces[count - 1], 0.0, speed * self.restitution.powi(count as i32)),
        };
        (
            height + velocity * since - self.gravity * since * since / 2.0,
            velocity - self.gravity * since,
            count,
        )
    }
}

/// Places in the memory.
const COUNT: usize = 0;
const RESTING: usize = 1;

const PHASES: &[&str] = &["flying", "resting"];

impl Hybrid for BouncingBall {
    fn interface(&self) -> Interface {
        let mut outputs = self.states();
        outputs.push(output("bounces", "1", "how often it has touched the ground"));
        outputs.push(output("phase", "1", "whether it still flies"));
        Interface { outputs, abilities: cosimo_native::ABILITIES, ..Interface::default() }
    }

    fn states(&self) -> Vec<Port> {
        vec![output("height", "m", "height over the ground"), output("velocity", "m/s", "velocity upwards")]
    }

    fn kinds(&self) -> Vec<Kind> {
        vec![Kind::Real, Kind::Real, Kind::Integer, Kind::Enumeration(PHASES)]
    }

    fn initial(&self) -> (Vec<f64>, Vec<f64>) {
        (vec![self.height, self.velocity], vec![0.0; 2])
    }

    fn derivatives(&self, at: &Point<'_>, dx: &mut [f64]) {
        let flying = 1.0 - at.m[RESTING];
        dx[0] = flying * at.x[1];
        dx[1] = -flying * self.gravity;
    }

    fn outputs(&self, at: &Point<'_>, y: &mut [f64]) {
        y[..2].copy_from_slice(at.x);
        y[2] = at.m[COUNT];
        y[3] = 1.0 + at.m[RESTING];
    }

    fn indicator_count(&self) -> usize {
        1
    }

    fn indicators(&self, at: &Point<'_>, z: &mut [f64]) {
        z[0] = if at.m[RESTING] == 0.0 { at.x[0] } else { 1.0 };
    }

    fn event(&self, _t: f64, _u: &[f64], x: &mut [f64], m: &mut [f64]) -> Event {
        let hit = m[RESTING] == 0.0 && x[0] <= 0.0 && x[1] <= 0.0;
        if hit {
            m[COUNT] += 1.0;
            // Just above the ground, because an indicator must not be zero where it starts again.
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

    fn tangent(&self, at: &Point<'_>, along: &Direction<'_>, dx: &mut [f64], y: &mut [f64]) {
        dx[0] = (1.0 - at.m[RESTING]) * along.x[1];
        dx[1] = 0.0;
        y.copy_from_slice(&[along.x[0], along.x[1], 0.0, 0.0]);
    }

    fn depends(&self, value: Unknown, on: Known) -> bool {
        match (value, on) {
            (Unknown::Derivative(0), Known::State(1)) | (Unknown::Indicator(0), Known::State(0)) => true,
            (Unknown::Output(output), Known::State(state)) => output == state,
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

#[cfg(test)]
mod tests {
    use super::*;

    const BALL: BouncingBall = BouncingBall::DEFAULT;

    /// From bounce to bounce by the equations alone: they are parabolas, which one step of the second order has
    /// without error.
    #[test]
    fn the_equations_touch_the_ground_when_the_closed_form_says() {
        let (mut x, mut m) = BALL.initial();
        let mut t = 0.0;
        for instant in BALL.bounces() {
            let h = instant - t;
            let mut dx = [0.0; 2];
            BALL.derivatives(&Point { t, x: &x, m: &m, u: &[] }, &mut dx);
            x = vec![x[0] + h * dx[0] + h * h / 2.0 * dx[1], x[1] + h * dx[1]];
            t = instant;
            assert!(x[0].abs() < 1e-13 && x[1] < 0.0, "{t}: {x:?}");
            let mut z = [0.0];
            x[0] = -1e-13;
            BALL.indicators(&Point { t, x: &x, m: &m, u: &[] }, &mut z);
            assert!(z[0] < 0.0);
            let event = BALL.event(t, &[], &mut x, &mut m);
            assert!(event.states_changed && event.next.is_none());
            BALL.indicators(&Point { t, x: &x, m: &m, u: &[] }, &mut z);
            assert!(z[0] > 0.0, "an event begins anew above zero");
            let (height, velocity, count) = BALL.at(t + 1e-15);
            assert!(height.abs() < 1e-13 && (velocity - x[1]).abs() < 1e-12, "{velocity} {}", x[1]);
            assert_eq!(m[COUNT], count as f64);
        }
        assert_eq!((m[COUNT], m[RESTING], x), (18.0, 1.0, vec![0.0, 0.0]));
        let event = BALL.event(t + 1.0, &[], &mut [0.0, 0.0], &mut m);
        assert!(!event.states_changed);
    }

    /// Until it rests it falls short of the point where infinitely many bounces would have ended.
    #[test]
    fn it_rests_before_the_bounces_would_accumulate() {
        let bounces = BALL.bounces();
        let fall = (2.0 / 9.81f64).sqrt();
        let all = fall * (1.0 + 2.0 * 0.7 / 0.3);
        let last = bounces[bounces.len() - 1];
        assert!((bounces[0] - fall).abs() < 1e-15);
        assert!(last < all && all - last < 2.0 * 0.01 / 9.81 / 0.3, "{last} {all}");
        assert_eq!(BALL.at(10.0), (0.0, 0.0, 18));
    }

    #[test]
    fn a_ball_on_the_ground_stays_there_and_one_thrown_up_flies() {
        let still = BouncingBall { height: 0.0, ..BALL };
        let (mut x, mut m) = still.initial();
        still.event(0.0, &[], &mut x, &mut m);
        assert_eq!((x, m), (vec![0.0, 0.0], vec![1.0, 1.0]));
        assert_eq!(still.bounces(), [0.0]);
        let thrown = BouncingBall { height: 0.0, velocity: 9.81, ..BALL };
        let (mut x, mut m) = thrown.initial();
        assert!(!thrown.event(0.0, &[], &mut x, &mut m).states_changed);
        assert_eq!((thrown.bounces()[0], thrown.at(1.0).1), (2.0, 0.0));
    }
}
