use cosimo_core::Segment;

use crate::common::{advance, follows, open, outputs, reference, set_inputs};

#[test]
fn the_reference_solves_both_gains_and_the_lag() {
    let instants = [-1.0, 0.0, 0.3, 4.0];
    for (t, row) in instants.iter().zip(reference("gain-loop", &[], &instants)) {
        let [x, y1, y2] = row[..] else { panic!() };
        assert!((x - (-t / 3.0).exp()).abs() < 1e-15);
        assert!((y1 - (0.5 * y2 + x)).abs() < 1e-15 && (y2 - 0.5 * y1).abs() < 1e-15);
    }
}

#[test]
fn every_component_follows_the_reference_with_exact_inputs() {
    let cases: [(&str, &[usize], &[usize]); 3] =
        [("gain-loop/first", &[2, 0], &[1]), ("gain-loop/second", &[1], &[2]), ("gain-loop/lag", &[2], &[0])];
    follows("gain-loop", 1e-3, 1e-7, &cases);
}

/// No memory: an output follows from the current inputs.
#[test]
fn a_gain_has_direct_feedthrough() {
    let mut first = open("gain-loop/first", &[]);
    advance(&mut *first, 0.1, &[Segment::line(4.0, 20.0), Segment::constant(0.25)]);
    assert_eq!(outputs(&mut *first), [3.25]);
    set_inputs(&mut *first, &[Segment::constant(1.0), Segment::constant(0.25)]);
    assert_eq!(outputs(&mut *first), [0.75]);
}
