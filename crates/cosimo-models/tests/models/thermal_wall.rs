use crate::common::{follows, reference};

#[test]
fn the_reference_keeps_the_heat_and_ends_in_a_steady_rise() {
    let rows = reference("thermal-wall", &[], &[0.0, 3000.0, 2e5]);
    let heat = |row: &[f64]| 1e5 * row[0] + 2e5 * row[1] + 1e6 * row[2];
    for (t, row) in [0.0, 3000.0, 2e5].iter().zip(&rows) {
        let gained = heat(row) - heat(&rows[0]);
        assert!((gained - 500.0 * t).abs() < 1e-9 * heat(row), "{t}: {gained}");
    }
    // In the end all rise by 500 W / 1.3e6 J/K, and each room's share of the heat passes its side.
    let [q1, q2] = [rows[2][3], rows[2][4]];
    assert!((q1 - 500.0 * 12.0 / 13.0).abs() < 1e-6 && (q2 - 500.0 * 2.0 / 13.0).abs() < 1e-6, "{q1} {q2}");
}

#[test]
fn every_component_follows_the_reference_with_exact_inputs() {
    let cases: [(&str, &[usize], &[usize]); 3] = [
        ("thermal-wall/left-room", &[3], &[0]),
        ("thermal-wall/right-room", &[4], &[1]),
        ("thermal-wall/wall", &[0, 1], &[3, 4, 2]),
    ];
    follows("thermal-wall", 1.0, 1e-3, &cases);
}
