//! Payments and the coupled system, against matrices of a library that the methods do not use.
#![allow(clippy::unwrap_used)] // helpers of tests are tests

use cosimo_core::dense::{phi, phi_work, pseudo_invert_work};
use cosimo_core::{Bond, End, Side};
use nalgebra::{DMatrix, DVector};

use super::KEEP;
use super::coupled::{grows, mean_over};
use super::repay::{CHEAPEST, repay, residual};

/// Numbers without a pattern between -1 and 1.
fn some(seed: usize, count: usize) -> Vec<f64> {
    (0..count).map(|k| ((seed * 31 + k * k * 7 + k * 13) as f64).sin()).collect()
}

const SIZE: f64 = 0.1;
const STATES: usize = 5;
const INPUTS: usize = 4;

struct Case {
    own: std::ops::Range<usize>,
    inputs: Vec<usize>,
    windows: usize,
    prices: Vec<f64>,
}

/// Payments and their energy, and the same by A = (F^(M-1) G, .., G) and its weighted pseudoinverse.
fn paid(case: &Case) -> ((Vec<f64>, f64), (Vec<f64>, f64)) {
    let (n, m) = (STATES, INPUTS);
    let (r, width, windows) = (case.own.len(), case.inputs.len(), case.windows);
    let mut alone = some(1, 2 * n * n);
    // Not far from the identity, as maps over a window are.
    (0..n).for_each(|i| alone[i * n + i] += 1.0);
    (0..n).for_each(|i| alone[n * n + i * n + i] += 1.0);
    alone.iter_mut().for_each(|entry| *entry *= 0.5);
    let (b, error) = (some(2, n * m), some(3, n));
    let mut payments = vec![0.0; KEEP * m];
    let mut work = vec![f64::NAN; 3 * n * n + m * (3 * n + 1) + 2 * n + pseudo_invert_work(n)];
    let energy = repay(
        case.own.clone(),
        case.inputs.iter().copied(),
        (n, m, SIZE, windows),
        (&alone, &b, &case.prices),
        (&error, &mut payments),
        &mut work,
    );

    let first = case.own.start;
    let block = |from: usize| DMatrix::from_fn(r, r, |i, j| alone[from + (first + i) * n + first + j]);
    let (f, held) = (block(0), block(n * n));
    let mut g = SIZE * held * DMatrix::from_fn(r, width, |i, j| b[(first + i) * m + case.inputs[j]]);
    let units: Vec<f64> = (0..width).map(|j| 1.0 / g.column(j).norm()).collect();
    (0..width).for_each(|j| g.column_mut(j).scale_mut(units[j]));
    let mut answers = DMatrix::zeros(r, windows * width);
    for window in 0..windows {
        let later = f.pow((windows - 1 - window) as u32) * &g;
        answers.view_mut((0, window * width), (r, width)).copy_from(&later);
    }
    let price = |window: usize, j: usize| case.prices[window * m + case.inputs[j]];
    let ease = DMatrix::from_diagonal(&DVector::from_fn(windows * width, |at, _| {
        let (window, j) = (at / width, at % width);
        let mean = (0..windows).map(|window| price(window, j).powi(2)).sum::<f64>() / windows as f64;
        let part = if mean > 0.0 { price(window, j).powi(2) / mean } else { 1.0 };
        1.0 / (part + CHEAPEST)
    }));
    let owed = f.pow(windows as u32) * DVector::from_column_slice(&error[case.own.clone()]);
    let gramian = &answers * &ease * answers.transpose();
    let least = &ease * answers.transpose() * gramian.try_inverse().unwrap() * owed;
    let mut expected = vec![0.0; KEEP * m];
    let mut moved = 0.0;
    for at in 0..windows * width {
        let (window, j) = (at / width, at % width);
        expected[window * m + case.inputs[j]] = units[j] * least[at];
        moved += SIZE * (units[j] * least[at] * price(window, j)).abs();
    }
    ((payments, energy), (expected, moved))
}

#[test]
fn payments_are_the_least_that_take_an_error_away() {
    let prices = some(4, KEEP * INPUTS);
    let mut free = prices.clone();
    free.iter_mut().skip(1).step_by(INPUTS).for_each(|price| *price = 0.0);
    for (own, inputs, windows) in
        [(1..4, vec![1, 3], 6), (0..2, vec![0], 4), (2..5, vec![0, 1, 2], 3), (3..4, vec![1], 1)]
    {
        for prices in [prices.clone(), free.clone()] {
            let case = Case { own: own.clone(), inputs: inputs.clone(), windows, prices };
            let ((payments, energy), (expected, moved)) = paid(&case);
            let largest = expected.iter().fold(0.0f64, |most, value| most.max(value.abs()));
            for (at, (found, wanted)) in payments.iter().zip(&expected).enumerate() {
                assert!((found - wanted).abs() < 1e-6 * largest, "{own:?} {at}: {found} {wanted}");
            }
            assert!((energy - moved).abs() <= 1e-6 * moved, "{own:?}: {energy} {moved}");
            assert!(largest > 0.0);
        }
    }
}

#[test]
fn without_states_or_inputs_there_is_nothing_to_pay() {
    for (own, inputs) in [(2..2, vec![0]), (1..3, Vec::new())] {
        let mut payments = vec![0.0; KEEP * INPUTS];
        let energy = repay(
            own,
            inputs.into_iter(),
            (STATES, INPUTS, SIZE, 3),
            (&some(1, 50), &some(2, 20), &some(3, KEEP * INPUTS)),
            (&[1.0; STATES], &mut payments),
            &mut [],
        );
        assert!(energy == 0.0 && payments.iter().all(|payment| *payment == 0.0));
    }
}

#[test]
fn what_bonds_make_or_lose_counts_whatever_its_sign() {
    let bond = |sides: [(End, End, f64); 2]| Bond {
        name: String::new(),
        sides: sides.map(|(effort, flow, sign)| Side { effort, flow, sign }).to_vec(),
        tolerance: None,
        energy_scale: None,
    };
    // 2 * 5 - 3 * 5 = -5 W, and 2 * 7 + 0.5 * 3 * 5 = 21.5 W.
    let bonds = [
        bond([(End::Input(0), End::Output(0), 1.0), (End::Input(1), End::Output(0), -1.0)]),
        bond([(End::Output(1), End::Input(0), 1.0), (End::Output(0), End::Input(1), 0.5)]),
    ];
    assert_eq!(residual(&bonds, &[2.0, 3.0], &[5.0, 7.0]), 26.5);
    assert_eq!(residual(&bonds[..1], &[3.0, 3.0], &[5.0, 7.0]), 0.0);
}

#[test]
fn a_mean_is_the_integral_over_the_window_by_its_size() {
    // x1' = -2 x1 + 3, x2' = x1: closed forms of the means over a window from (1, 0.5).
    let (n, h) = (2, 0.4);
    let (mut coupled, mut work) = (vec![0.0; 3 * n * n], vec![0.0; phi_work(n)]);
    phi(n, 2, &[-2.0, 0.0, 1.0, 0.0], h, &mut coupled, &mut work);
    let mut mean = vec![f64::NAN; n];
    mean_over(n, h, &coupled, &[1.0, 0.5], &[3.0, 0.0], &mut mean);
    // x1 = 1.5 - 0.5 e^(-2 t), x2 = 0.5 + 1.5 t - 0.25 (1 - e^(-2 t)).
    let decayed = (1.0 - (-2.0 * h).exp()) / (2.0 * h);
    let wanted = [1.5 - 0.5 * decayed, 0.25 + 0.75 * h + 0.25 * decayed];
    assert!(
        mean.iter().zip(wanted).all(|(found, wanted)| (found - wanted).abs() < 1e-13),
        "{mean:?} {wanted:?}"
    );
}

#[test]
fn a_map_that_grows_eightfold_in_sixty_four_windows_runs_away() {
    let grows = |map: &[f64]| {
        let n = map.len().isqrt();
        grows(n, map, &mut vec![f64::NAN; 2 * n * n])
    };
    let limit = 8f64.powf(1.0 / 64.0);
    assert!(grows(&[1.001 * limit]) && !grows(&[0.999 * limit]));
    assert!(grows(&[-1.001 * limit]) && !grows(&[1.0]) && !grows(&[0.5]) && !grows(&[]));
    let turn = |by: f64, length: f64| {
        let (sine, cosine) = f64::sin_cos(by);
        [length * cosine, -length * sine, length * sine, length * cosine]
    };
    assert!(!grows(&turn(0.3, 1.0)) && grows(&turn(0.3, 1.001 * limit)) && !grows(&turn(0.3, 0.999 * limit)));
    // What is pushed moves on steadily, and that is all.
    assert!(!grows(&[1.0, 1.0, 0.0, 1.0]));
    // Only some directions run away.
    assert!(grows(&[0.5, 0.0, 0.0, 1.001 * limit]));
    assert!(grows(&[1e10]) && grows(&[f64::NAN]));
    // Next to nothing may grow to next to nothing.
    assert!(!grows(&[0.0]) && !grows(&[1e-200]));
}
