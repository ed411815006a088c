use cosimo_core::Segment;

use crate::common::{advance, integrals, open, outputs, reference, set_inputs};

/// The mass under a constant force moves on a parabola, and its displacement is the integral it provides.
#[test]
fn the_mass_moves_on_a_parabola_and_provides_its_displacement() {
    let mut mass = open("oscillator/mass", &[]);
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
fn the_force_has_direct_feedthrough_of_the_velocity() {
    let mut spring = open("oscillator/spring-damper", &[]);
    set_inputs(&mut *spring, &[Segment::constant(0.5)]);
    assert_eq!(outputs(&mut *spring), [-1.5, 1.0]);
    advance(&mut *spring, 0.1, &[Segment::constant(0.5)]);
    assert!((outputs(&mut *spring)[0] + 1.55).abs() < 1e-15);
}

#[test]
fn the_reference_has_the_textbook_form() {
    let (t, turn) = (2.7f64, 0.75f64.sqrt());
    let row = &reference("oscillator", &[], &[t])[0];
    let x = (-t / 2.0).exp() * ((turn * t).cos() + 0.5 / turn * (turn * t).sin());
    assert!((row[0] - x).abs() < 1e-15);
    assert_eq!(row[2], -(row[1] + row[0]));
}
/// Runs to t = 40 with a step that follows the sign of v, and repays `gain` of the flow that is owed.
/// Returns the difference of the positions and the position of the mass, which should both be 0.
fn toggling(gain: f64, carried: bool) -> (f64, f64) {
    let mut spring = open("oscillator/spring-damper", &[]);
    let mut mass = open("oscillator/mass", &[]);
    let (mut t, mut owed) = (0.0, 0.0);
    while t < 40.0 {
        let v = outputs(&mut *mass)[0];
        let h = if v < 0.0 { 0.1 } else { 0.01 };
        set_inputs(&mut *spring, &[Segment::constant(v)]);
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

/// Under a changing step a memoryless correction loses the rest for good; one that carries it on loses nothing.
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
