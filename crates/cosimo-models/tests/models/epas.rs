use crate::common::{follows_within, reference};

#[test]
fn every_part_follows_the_reference_with_exact_inputs() {
    let [ds, ws, xr, vr, dm, wm, xw, vw, vy, wz, fr, tb, tp, fb] = std::array::from_fn(|column| column);
    let cases: [(&str, &[usize], &[usize]); 8] = [
        ("epas/vehicle-rod", &[xr, vr], &[fr, xw, vw, vy, wz]),
        ("epas/steering", &[fr], &[tp, ds, ws, xr, vr, dm, wm]),
        ("epas/vehicle", &[fr], &[xw, vw, vy, wz]),
        ("epas/steering-rod", &[xw, vw], &[fr, tp, ds, ws, xr, vr, dm, wm]),
        ("epas/mechanics-belt", &[dm, wm], &[tb, tp, ds, ws, xr, vr, xw, vw, vy, wz]),
        ("epas/motor", &[tb, tp], &[dm, wm]),
        ("epas/mechanics", &[fb], &[tp, ds, ws, xr, vr, xw, vw, vy, wz]),
        ("epas/motor-belt", &[xr, vr, tp], &[fb, dm, wm]),
    ];
    follows_within("epas", 1e-4, 3000, |largest| 1e-3 * largest, &cases);
}

#[test]
fn without_a_driver_nothing_moves() {
    assert_eq!(reference("epas", &[("amplitude", 0.0)], &[0.5]), vec![vec![0.0; 14]]);
}
