//! Stability measured on the engine, against spectral radii that were computed from matrices, and against
//! what a long run does.
#![allow(clippy::unwrap_used)] // helpers of tests are tests

mod common;

use common::{DUAL_MASS, DualMass};
use cosimo::analysis::stability::{neutral, radius};
use cosimo::engine::Run;

/// A few steps on, so that there is a history.
fn probed(input: &str, exchange: &str, correction: &str, size: f64) -> Run {
    let method = format!(
        "input = \"{input}\"\nexchange = \"{exchange}\"\ncorrection = {correction}\nstep = {{ size = {size:?} }}"
    );
    let mut run = DualMass { stop: 1e6, method: &method, ..DUAL_MASS }.start();
    for _ in 0..4 {
        run.step().unwrap();
    }
    run
}

const SIZES: [f64; 8] = [0.01, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0];

#[test]
fn the_radius_is_that_of_the_step_matrix() {
    let hold = [0.995013, 0.975315, 0.951268, 0.905137, 0.861684, 0.783097, 0.716415, 0.652572];
    let linear = [0.995012, 0.975299, 0.951138, 0.904078, 0.858093, 0.854976, 1.008934, 1.166599];
    for (input, radii) in [("hold", hold), ("linear", linear)] {
        let mut run = probed(input, "stale", "\"none\"", 0.01);
        for (size, wanted) in SIZES.into_iter().zip(radii) {
            let found = radius(&mut run, size).unwrap();
            assert!((found.radius - wanted).abs() < 6e-7, "{input}, {size} s: {}", found.radius);
            assert_eq!(found.unseen, 0);
        }
    }
}

#[test]
fn neutral_steps_are_where_the_radius_crosses_one() {
    for (input, exchange, wanted) in [
        ("causal", "stale", 1.250163625),
        ("linear", "stale", 0.686555545),
        ("quadratic", "stale", 0.216002293),
        ("hold", "fresh", 1.789506803),
        ("causal", "fresh", 1.444013490),
        ("linear", "fresh", 0.949214217),
        ("quadratic", "fresh", 0.542217995),
    ] {
        let mut run = probed(input, exchange, "\"none\"", 0.01);
        let found = neutral(&mut run, 0.01, 3.0).unwrap();
        assert!((found - wanted).abs() <= 1e-6 * wanted, "{input}, {exchange}: {found}");
    }
}

/// One Euler step per macro step, with the input where it starts or, as in Wu 2018, Eq. (3.10), where it ends.
#[test]
fn neutral_steps_depend_on_where_euler_takes_its_input() {
    for (solver, steps) in [
        ("euler", [0.710811288, 0.736709867, 0.736709867, 0.595398789]),
        ("euler-end", [0.710811288, 0.691059311, 0.542355480, 0.111314595]),
    ] {
        let parameters = format!("solver = \"{solver}\", micro_steps = 1");
        for (input, wanted) in ["hold", "causal", "linear", "quadratic"].into_iter().zip(steps) {
            let method = format!("input = \"{input}\"\nexchange = \"stale\"\nstep = {{ size = 0.01 }}");
            let dual_mass = DualMass { stop: 1e6, method: &method, parameters: &parameters, ..DUAL_MASS };
            let mut run = dual_mass.start();
            for _ in 0..4 {
                run.step().unwrap();
            }
            let found = neutral(&mut run, 0.01, 3.0).unwrap();
            assert!((found - wanted).abs() <= 1e-6 * wanted, "{solver}, {input}: {found}");
        }
    }
}

#[test]
fn held_stale_inputs_are_stable_at_any_size() {
    let mut run = probed("hold", "stale", "\"none\"", 0.01);
    assert!(neutral(&mut run, 0.01, 50.0).is_err());
    assert!((radius(&mut run, 50.0).unwrap().radius - 0.375f64.sqrt()).abs() < 1e-6);
}

/// The growth per step of everything a step maps onto itself, from two long stretches of one run.
fn growth(run: &mut Run, expected: f64) -> f64 {
    let length = (300.0 / expected.ln().abs() / 2.5).min(1000.0) as usize; // squares stay within 1e-260..1e260
    let mut cells = vec![0.0; run.island().cells()];
    let mut stretch = |steps: usize| {
        let mut sum = 0.0;
        for _ in 0..steps {
            run.step().unwrap();
            run.island().read_cells(&mut cells).unwrap();
            sum += cells.iter().map(|cell| cell * cell).sum::<f64>().ln() / 2.0;
        }
        sum / steps as f64
    };
    stretch(length / 2); // until the largest mode is alone
    // Modes turn, so norms are averaged over many turns; the centres of the stretches are `length` apart.
    let first = stretch(length);
    let second = stretch(length);
    ((second - first) / length as f64).exp()
}

/// What was probed is what happens, the memory of corrections included.
#[test]
fn a_long_run_grows_or_decays_by_the_radius() {
    let account = "{ nepce = { form = \"account\", gain = 0.5 } }";
    let paper = "{ nepce = { form = \"paper\", gain = 0.5, feedthrough = \"declared\" } }";
    for (input, exchange, correction, size, unstable) in [
        ("linear", "stale", "\"none\"", 0.8, true),
        ("linear", "stale", account, 0.8, true),
        ("linear", "stale", paper, 0.8, true),
        ("hold", "stale", account, 1.5, true),
        ("hold", "fresh", account, 2.0, true),
        ("taylor", "fresh", account, 1.5, false),
        ("hold", "stale", "\"none\"", 0.5, false),
    ] {
        let mut run = probed(input, exchange, correction, size);
        let wanted = radius(&mut run, size).unwrap().radius;
        let case = format!("{input}, {exchange}, {correction}, {size} s");
        assert_eq!(wanted > 1.0, unstable, "{case}: {wanted}");
        let found = growth(&mut run, wanted);
        assert!((found - wanted).abs() < 1e-3 * wanted, "{case}: grows by {found}, radius {wanted}");
    }
}

#[test]
fn a_correction_moves_the_radius() {
    let plain = radius(&mut probed("hold", "stale", "\"none\"", 0.5), 0.5).unwrap().radius;
    let nepce = "{ nepce = { gain = 0.5 } }";
    let corrected = radius(&mut probed("hold", "stale", nepce, 0.5), 0.5).unwrap().radius;
    assert!((plain - corrected).abs() > 1e-3, "{plain} and {corrected}");
}

/// Probing must leave no trace in the run.
#[test]
fn a_probed_run_goes_on_as_if_nothing_had_happened() {
    for correction in ["\"none\"", "{ nepce = { feedthrough = \"declared\" } }"] {
        let (mut probed_run, mut plain) =
            (probed("linear", "fresh", correction, 0.1), probed("linear", "fresh", correction, 0.1));
        radius(&mut probed_run, 0.3).unwrap();
        for _ in 0..20 {
            probed_run.step().unwrap();
            plain.step().unwrap();
            assert_eq!(common::bits(&probed_run), common::bits(&plain), "{correction}");
        }
    }
}
