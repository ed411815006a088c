use crate::common::{follows, reference};

/// The eigenvalues for the defaults are -1.5 +- i / sqrt 2.
#[test]
fn the_reference_is_a_decaying_turn() {
    let turn = 0.5f64.sqrt();
    let instants = [-1.0, 0.0, 0.1, 1.0, 5.0];
    for (t, row) in instants.iter().zip(reference("dahlquist", &[], &instants)) {
        let (sin, cos) = (turn * t).sin_cos();
        let decay = (-1.5 * t).exp();
        // The slopes at the start are -1 + 0.5 * 0.5 and -2 * 0.5 - 1.5.
        let x1 = decay * (cos + (-0.75 + 1.5) / turn * sin);
        let x2 = decay * (0.5 * cos + (-2.5 + 0.75) / turn * sin);
        assert!((row[0] - x1).abs() < 1e-14 * (1.0 + decay), "{t}: {} {x1}", row[0]);
        assert!((row[1] - x2).abs() < 1e-14 * (1.0 + decay), "{t}: {} {x2}", row[1]);
    }
}

#[test]
fn every_component_follows_the_reference_with_exact_inputs() {
    follows("dahlquist", 1e-3, 1e-6, &[("dahlquist/first", &[1], &[0]), ("dahlquist/second", &[0], &[1])]);
}
