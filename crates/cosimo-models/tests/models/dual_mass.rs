use crate::common::{follows, open, reference};

/// For m = k = d = 100 and kc = dc = 60 the sum and the difference of the motions swing on their own,
/// with eigenvalues -0.5 +- 0.866025i and -1.1 +- 0.994987i.
#[test]
fn the_reference_is_two_swings_forwards_and_backwards() {
    let swing = |decay: f64, turn: f64, t: f64| {
        (-decay * t).exp() * ((turn * t).cos() + decay / turn * (turn * t).sin())
    };
    let instants = [-2.0, -0.3, 0.0, 1e-3, 0.5, 3.0, 10.0];
    for (t, row) in instants.iter().zip(reference("dual-mass", &[], &instants)) {
        let sum = swing(0.5, 0.75f64.sqrt(), *t);
        let difference = swing(1.1, (2.2f64 - 1.21).sqrt(), *t);
        assert!((row[0] - (sum + difference) / 2.0).abs() < 1e-13 * (1.0 + sum.abs() + difference.abs()));
        assert!((row[2] - (sum - difference) / 2.0).abs() < 1e-13 * (1.0 + sum.abs() + difference.abs()));
        assert!((row[4] - 60.0 * (row[0] - row[2] + row[1] - row[3])).abs() < 1e-12);
    }
}

#[test]
fn every_component_follows_the_reference_with_exact_inputs() {
    let cases: [(&str, &[usize], &[usize]); 7] = [
        ("dual-mass/left-force", &[2, 3], &[4, 0, 1]),
        ("dual-mass/right", &[4], &[3, 2]),
        ("dual-mass/left", &[4], &[1, 0]),
        ("dual-mass/right-force", &[0, 1], &[4, 2, 3]),
        ("dual-mass/left-motion", &[2, 3], &[0, 1]),
        ("dual-mass/right-motion", &[0, 1], &[2, 3]),
        ("dual-mass/coupling", &[0, 1, 2, 3], &[4, 4]),
    ];
    follows("dual-mass", 1e-3, 1e-5, &cases);
}

#[test]
fn only_a_force_has_direct_feedthrough() {
    for (model, pairs) in [
        ("dual-mass/left-motion", 0),
        ("dual-mass/right-motion", 0),
        ("dual-mass/coupling", 8),
        ("dual-mass/left-force", 2),
    ] {
        let simulator = open(model, &[]);
        assert_eq!(simulator.interface().feedthrough.len(), pairs, "{}", model);
    }
}
