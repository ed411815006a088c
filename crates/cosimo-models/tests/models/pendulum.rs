use crate::common::reference;

/// For small angles both are the same.
#[test]
fn the_references_agree_where_the_angle_is_small() {
    let small = [("phi0", 1e-4), ("x0", 1e-4)];
    let instants = [0.0, 0.3, 1.0];
    let solve = |name: &str| reference(name, &small, &instants);
    for (one, two) in solve("pendulum").iter().zip(solve("pendulum-linear")) {
        for (a, b) in one.iter().zip(two) {
            assert!((a - b).abs() < 1e-11, "{one:?}");
        }
    }
}
