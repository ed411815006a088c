//! A damped oscillator cut between its spring with damper and its mass. Both sides integrate the velocity,
//! so whatever the coupling loses of it stays as a lasting difference of their positions.
//!
//! Only the exact solver: here every error must be one of coupling.

use cosimo_core::Spec;
use cosimo_core::entry::ReferenceEntry;
use cosimo_native::linear::undivided;
use cosimo_native::{Linear, Ode};

use crate::parameters::{initial, not_negative, positive};
use crate::{ModelEntry, input, output};

const M: Spec = positive("m", 1.0, "kg", "mass");
const C: Spec = not_negative("c", 1.0, "N.s/m", "damping");
const K: Spec = not_negative("k", 1.0, "N/m", "stiffness");
const X0: Spec = initial("x0", 1.0, "m", "displacement at the start");
const V0: Spec = initial("v0", 0.0, "m/s", "velocity at the start");

pub(crate) const SPRING_DAMPER: ModelEntry = ModelEntry {
    name: "oscillator/spring-damper",
    summary: "spring and damper, told the velocity of the mass",
    parameters: &[C, K, X0],
    build: |options| {
        let (c, k) = (options.number("c"), options.number("k"));
        Box::new(Ode::exact(Linear {
            inputs: vec![input("v", "m/s", "velocity of the mass")],
            outputs: vec![
                output("F", "N", "force on the mass"),
                output("x", "m", "displacement of the spring's end"),
            ],
            initial: vec![options.number("x0")],
            a: vec![0.0],
            b: vec![1.0],
            c: vec![-k, 1.0],
            d: vec![-c, 0.0],
            drift: vec![0.0],
        }))
    },
};

pub(crate) const MASS: ModelEntry = ModelEntry {
    name: "oscillator/mass",
    summary: "mass, told the force of spring and damper",
    parameters: &[M, X0, V0],
    build: |options| {
        Box::new(Ode::exact(Linear {
            inputs: vec![input("F", "N", "force on the mass")],
            outputs: vec![output("v", "m/s", "velocity"), output("x", "m", "displacement")],
            initial: vec![options.number("x0"), options.number("v0")],
            a: vec![0.0, 1.0, 0.0, 0.0],
            b: vec![0.0, 1.0 / options.number("m")],
            c: vec![0.0, 1.0, 1.0, 0.0],
            d: vec![0.0, 0.0],
            drift: vec![0.0, 0.0],
        }))
    },
};

pub(crate) const REFERENCE: ReferenceEntry = ReferenceEntry {
    name: "oscillator",
    summary: "the damped oscillator in one piece, by the matrix exponential",
    parameters: &[M, C, K, X0, V0],
    columns: &["x", "v", "F"],
    solve: |options, instants| {
        let [m, c, k, x0, v0] = ["m", "c", "k", "x0", "v0"].map(|name| options.number(name));
        let a = [0.0, 1.0, -k / m, -c / m];
        undivided(&a, &[x0, v0], instants, |x| vec![x[0], x[1], -(c * x[1] + k * x[0])])
    },
    history: true,
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{advance, defaults, integrals, options, outputs, settle};
    use cosimo_core::Segment;

    /// The mass under a constant force is a parabola, and its way is the integral it offers.
    #[test]
    fn the_mass_is_a_parabola_and_offers_its_way() {
        let mut mass = (MASS.build)(&options(&MASS, &[]));
        let (mut x, mut v) = (1.0, 0.0);
        for step in 0..50 {
            let (h, force) = (if step % 2 == 0 { 0.1 } else { 0.01 }, -f64::from(step) / 50.0);
            let ways = integrals(&mut *mass, h, &[Segment::constant(force)]);
            let way = v * h + force * h * h / 2.0;
            x += way;
            v += force * h;
            let y = outputs(&mut *mass);
            assert!((y[0] - v).abs() < 1e-15 && (y[1] - x).abs() < 1e-15, "step {step}");
            assert!((ways[0] - way).abs() < 1e-16);
        }
    }

    #[test]
    fn the_force_answers_the_velocity_at_once() {
        let mut spring = (SPRING_DAMPER.build)(&options(&SPRING_DAMPER, &[]));
        settle(&mut *spring, &[Segment::constant(0.5)]);
        assert_eq!(outputs(&mut *spring), [-1.5, 1.0]);
        advance(&mut *spring, 0.1, &[Segment::constant(0.5)]);
        assert!((outputs(&mut *spring)[0] + 1.55).abs() < 1e-15);
    }

    #[test]
    fn the_reference_has_the_textbook_form() {
        let (t, turn) = (2.7f64, 0.75f64.sqrt());
        let row = &(REFERENCE.solve)(&defaults(REFERENCE.parameters), &[t])[0];
        let x = (-t / 2.0).exp() * ((turn * t).cos() + 0.5 / turn * (turn * t).sin());
        assert!((row[0] - x).abs() < 1e-15);
        assert_eq!(row[2], -(row[1] + row[0]));
    }
    /// Runs to t = 40 with a step that follows the sign of v, and repays `gain` of the flow that is owed.
    /// Returns the difference of the positions and the position of the mass, which should both be 0.
    fn toggling(gain: f64, carried: bool) -> (f64, f64) {
        let mut spring = (SPRING_DAMPER.build)(&options(&SPRING_DAMPER, &[]));
        let mut mass = (MASS.build)(&options(&MASS, &[]));
        let (mut t, mut owed) = (0.0, 0.0);
        while t < 40.0 {
            let v = outputs(&mut *mass)[0];
            let h = if v < 0.0 { 0.1 } else { 0.01 };
            settle(&mut *spring, &[Segment::constant(v)]);
            let force = outputs(&mut *spring)[0];
            let repaid = gain * owed / h;
            let way = integrals(&mut *mass, h, &[Segment::constant(force)])[0];
            advance(&mut *spring, h, &[Segment::constant(v + repaid)]);
            owed = way - v * h + if carried { owed - repaid * h } else { 0.0 };
            t += h;
        }
        let position = outputs(&mut *mass)[1];
        (outputs(&mut *spring)[1] - position, position)
    }

    /// What a memoryless correction forgets under a changing step is lost for good; an account loses nothing.
    #[test]
    fn a_changing_step_leaves_a_lasting_difference_unless_the_rest_is_carried() {
        let (difference, position) = toggling(0.0, false);
        assert!((difference + 9.6e-4).abs() < 5e-6 && (position - 9.6e-4).abs() < 5e-6, "{difference:e}");
        assert!((toggling(0.6, false).0 + 2.8e-4).abs() < 5e-6);
        assert!((toggling(0.4, false).0 + 4.7e-4).abs() < 5e-6);
        for gain in [0.4, 0.6, 1.0] {
            let (difference, position) = toggling(gain, true);
            assert!(difference.abs() < 6e-14 && position.abs() < 1e-8, "{gain}: {difference:e} {position:e}");
        }
    }
}
