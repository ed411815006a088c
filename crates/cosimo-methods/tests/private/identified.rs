//! Payments and the coupled system, against matrices of a library that the methods do not use.
#![allow(clippy::unwrap_used)] // helpers of tests are tests
#![allow(clippy::disallowed_methods, reason = "what tests expect may come from the C library")]

use cosimo_core::dense::{phi, phi_work, pseudo_invert_work};
use cosimo_core::linear_model::LinearModels;
use cosimo_core::link::PortRanges;
use cosimo_core::method::{CorrectionContext, Jacobian, Sizes};
use cosimo_core::{Bond, BondSide, Couplings, PowerVariable, Term, Time, Traces};
use nalgebra::{DMatrix, DVector, Matrix2, Vector2};

use super::coupled::{grows, mean_over};
use super::repay::{CHEAPEST, repay, residual};
use super::{IdentifiedPreStep, KEEP};
use crate::identify::finder::{Finder, Head, mark_connected};

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
    let bond = |sides: [(PowerVariable, PowerVariable, f64); 2]| Bond {
        name: String::new(),
        sides: sides.map(|(effort, flow, sign)| BondSide { effort, flow, sign }).to_vec(),
        tolerance: None,
        energy_scale: None,
    };
    // 2 * 5 - 3 * 5 = -5 W, and 2 * 7 + 0.5 * 3 * 5 = 21.5 W.
    let bonds = [
        bond([
            (PowerVariable::Input(0), PowerVariable::Output(0), 1.0),
            (PowerVariable::Input(1), PowerVariable::Output(0), -1.0),
        ]),
        bond([
            (PowerVariable::Output(1), PowerVariable::Input(0), 1.0),
            (PowerVariable::Output(0), PowerVariable::Input(1), 0.5),
        ]),
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

/// Of two simulators in a ring, x' = -rate x + b u + drift and y = x + d u, with u0 = 2 y1 + 0.5 and u1 = -y0.
struct Ring {
    couplings: Couplings,
    blocks: [PortRanges; 2],
    bonds: Vec<Bond>,
    traces: Traces,
}

const RATES: [f64; 2] = [1.0, 3.0];
const PUSHED: [f64; 2] = [0.7, 1.5];
const DRIFT: [f64; 2] = [0.4, -0.2];
const THROUGH: [f64; 2] = [0.3, 0.0];
const CONSTANT: f64 = 0.5;
/// Where the last window ended, what inputs it had, and by how much states are wrong.
const STATES_NOW: [f64; 2] = [1.2, -0.8];
const HELD_LAST: [f64; 2] = [0.6, 0.9];
const WRONG: [f64; 2] = [0.05, -0.3];

impl Ring {
    fn new() -> Ring {
        let rows = [vec![Term { output: 1, gain: 2.0 }], vec![Term { output: 0, gain: -1.0 }]];
        let side = |effort, flow, sign| BondSide { effort, flow, sign };
        let sides = vec![
            side(PowerVariable::Output(0), PowerVariable::Input(0), -1.5),
            side(PowerVariable::Input(1), PowerVariable::Output(1), 0.5),
        ];
        let mut traces = Traces::new(2);
        traces.open(Time::ZERO);
        traces.put(0, &[0, 1].map(|k| STATES_NOW[k] + THROUGH[k] * HELD_LAST[k]), &[]);
        traces.commit();
        Ring {
            couplings: Couplings::new(&rows, vec![CONSTANT, 0.0]),
            blocks: [0, 1].map(|at| PortRanges { inputs: at..at + 1, outputs: at..at + 1 }),
            bonds: vec![Bond { name: String::new(), sides, tolerance: None, energy_scale: None }],
            traces,
        }
    }

    fn known(&self) -> CorrectionContext<'_> {
        CorrectionContext {
            traces: &self.traces,
            couplings: &self.couplings,
            blocks: &self.blocks,
            bonds: &self.bonds,
            corrected: &[true; 2],
            jacobian: Jacobian { values: &[0.0; 2], starts: &[0, 1], owners: &[0, 1] },
            models: LinearModels { present: &[], matrices: &[], places: &[] },
            own: &[],
            shape: Sizes {
                inputs: 2,
                outputs: 2,
                bonds: 1,
                simulators: 2,
                squares: [2, 2, 2],
                ..Sizes::default()
            },
        }
    }
}

/// The integral of e^(A t) over a window by its size, and of that integral once more.
fn exponentials(a: Matrix2<f64>, h: f64) -> [Matrix2<f64>; 3] {
    let mut whole = DMatrix::zeros(6, 6);
    whole.view_mut((0, 0), (2, 2)).copy_from(&(a * h));
    whole.view_mut((0, 2), (2, 2)).copy_from(&Matrix2::identity());
    whole.view_mut((2, 4), (2, 2)).copy_from(&Matrix2::identity());
    let whole = whole.exp();
    [0, 2, 4].map(|column| whole.fixed_view::<2, 2>(0, column).into_owned())
}

#[test]
fn prices_are_the_powers_that_a_unit_of_input_would_move() {
    let ring = Ring::new();
    let known = ring.known();
    let finder = Finder { order: 1, forgetting: 0.999, quality: 0.01, keep: KEEP };
    let identified = IdentifiedPreStep { finder, gain: 0.4 };
    let mut found = finder.memory(&known.shape, |size| vec![0.0; size]);
    let mut connected = [0.0; 2];
    mark_connected(&known, &mut connected);
    found.head[Head::Size as usize] = SIZE;
    found.head[Head::Samples as usize] = 1.0;
    found.samples[..4].copy_from_slice(&[
        HELD_LAST[0],
        HELD_LAST[1],
        known.traces.newest()[0],
        known.traces.newest()[1],
    ]);
    // Models from the coefficients of y(k) - y(k-1) by 1, v(k), y(k-1) and v(k) - v(k-1).
    let (mut e, mut at) = ([0.0; 2], 0);
    finder.members(&known, &connected, |member| {
        let k = member.simulator;
        let (decay, d) = ((-RATES[k] * SIZE).exp(), THROUGH[k]);
        let moved = |push: f64| (1.0 - decay) / RATES[k] * push;
        let theta = [moved(DRIFT[k]), moved(PUSHED[k]) + d - decay * d, decay - 1.0, decay * d];
        let room = crate::identify::realization::Realization::memory(&member.arx);
        let mut work = vec![0.0; crate::identify::realization::Realization::work(&member.arx)];
        let (title, numbers) = found.models[at..at + 2 + room].split_at_mut(2);
        let mut model = crate::identify::realization::Realization::of(&member.arx, 1, numbers);
        assert!(model.fill(&member.arx, 1, &theta, SIZE, &mut work));
        e[k] = WRONG[k] / model.c[0];
        title.copy_from_slice(&[1.0, 1.0]);
        at += 2 + room;
    });
    let mut scratch =
        vec![0.0; crate::identify::workspace::total(|next| identified.workspace_sizes(&known.shape, next))];
    let mut space = identified.workspace(&known, &mut scratch);
    assert_eq!(identified.prepare(&known, &found.models, SIZE, &mut space), Some(2));
    identified.ahead(&known, (2, SIZE), (&found.head, &found.samples, &e), &mut space);
    let (prices, rest) = space.work.split_at(KEEP * 2);
    let saved = &rest[..KEEP];

    // u = G (L C x + L levels): u0 = 2 x1 + 0.5 (no feed-through at 1), u1 = -(x0 + d u0).
    let d = THROUGH[0];
    let lc = Matrix2::new(0.0, 2.0, -1.0, -2.0 * d);
    let constant = Vector2::new(CONSTANT, -d * CONSTANT);
    let b = Matrix2::new(PUSHED[0], 0.0, 0.0, PUSHED[1]);
    let a = Matrix2::new(-RATES[0], 0.0, 0.0, -RATES[1]) + b * lc;
    let push = Vector2::from(DRIFT) + b * constant;
    let [whole, once, twice] = exponentials(a, SIZE);
    let mut x = Vector2::from(STATES_NOW) + Vector2::from(WRONG);
    for window in 0..8 {
        let mean = once * x + SIZE * twice * push;
        let (inputs, held) = (lc * mean + constant, lc * x + constant);
        x = whole * x + SIZE * once * push;
        let outputs = [x[0] + d * inputs[0], x[1]];
        let near = |found: f64, wanted: f64| {
            assert!((found - wanted).abs() < 1e-9, "window {window}: {found} instead of {wanted}");
        };
        // Input 0 meets the effort of its own side, which moves with it; input 1 the flow of its side.
        near(prices[window * 2], -1.5 * (outputs[0] + d * inputs[0]));
        near(prices[window * 2 + 1], 0.5 * outputs[1]);
        let residual = |u: Vector2<f64>| (-1.5 * outputs[0] * u[0] + 0.5 * u[1] * outputs[1]).abs();
        near(saved[window], SIZE * (residual(held) - residual(inputs)));
    }
}
