use cosimo_core::Segment;

use crate::common::{follows, open, outputs, reference, set_inputs};

/// Without the straight part, the root of the difference falls as a straight line in time.
#[test]
fn the_reference_keeps_the_water_and_falls_as_the_closed_form() {
    let instants = [0.0, 0.0123456, 1.0, 3.0, 6.0];
    for (t, row) in instants.iter().zip(reference("tanks", &[("dp0", 1e-3)], &instants)) {
        let root = 9810f64.sqrt() - 9810.0 * 1e-3 * (1.0 + 1.0 / 0.5) * t / 2.0;
        let h2 = (2.5 - root * root / 9810.0) / 1.5;
        assert!((row[0] + 0.5 * row[1] - 2.5).abs() < 1e-13, "{t}");
        assert!((row[1] - h2).abs() < 1e-10 && (row[3] - 1e-3 * root).abs() < 1e-9, "{t}: {row:?} {h2}");
    }
    let rest = &reference("tanks", &[], &[30.0])[0];
    assert!((rest[0] - rest[1]).abs() < 1e-12 && rest[3].abs() < 1e-12, "{rest:?}");
}

#[test]
fn every_component_follows_the_reference_with_exact_inputs() {
    follows("tanks", 1e-3, 1e-4, &[("tanks/first", &[3], &[2, 0]), ("tanks/second-pipe", &[2], &[3, 1])]);
}

#[test]
fn water_flows_back_from_the_higher_tank() {
    let mut second = open("tanks/second-pipe", &[]);
    set_inputs(&mut *second, &[Segment::constant(0.0)]);
    let back = outputs(&mut *second)[0];
    set_inputs(&mut *second, &[Segment::constant(2.0 * 9810.0)]);
    assert!(back < 0.0 && (back + outputs(&mut *second)[0]).abs() < 1e-16);
}
