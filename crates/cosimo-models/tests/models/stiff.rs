//! References of stiff models, confirmed by an explicit method in a hundred thousand steps.

use cosimo_models::{HYBRID, sweep};
use cosimo_native::ModelPoint;

use crate::common::equations;

/// The reference of a model, and its states at the same instants by Dormand-Prince.
fn twice<const N: usize>(name: &str, grid: f64) -> impl Iterator<Item = (Vec<f64>, [f64; N])> {
    let model = equations(name, &[]).unwrap();
    let (initial, memory) = model.initial();
    let f = |x: &[f64; N]| {
        let mut dx = [0.0; N];
        model.derivatives(&ModelPoint { t: 0.0, x, m: &memory, u: &[] }, &mut dx);
        dx
    };
    let rows = (HYBRID.iter().find(|entry| entry.name == name).unwrap().reference)();
    let instants: Vec<f64> = rows.iter().map(|row| row[0]).collect();
    let found = sweep(f, initial.try_into().unwrap(), grid, 1e-9, &instants);
    rows.into_iter().zip(found)
}

#[test]
fn the_reference_of_robertson_is_confirmed_and_conserves_mass() {
    for (row, x) in twice::<3>("robertson", 4e-4) {
        assert!((0..3).all(|i| (row[i + 1] - x[i]).abs() < 1e-11), "{row:?} {x:?}");
        assert!((row[1..].iter().sum::<f64>() - 1.0).abs() < 1e-14);
    }
}

#[test]
fn the_reference_of_van_der_pol_is_confirmed() {
    for (row, x) in twice::<2>("van-der-pol", 1e-2) {
        assert!((row[1] - x[0]).abs() < 1e-9 && (row[2] - x[1]).abs() < 1e-9, "{row:?} {x:?}");
    }
}
