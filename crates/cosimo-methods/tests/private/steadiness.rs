#![allow(clippy::disallowed_methods, reason = "what tests expect may come from the C library")]

use cosimo_core::line::Stamp;
use cosimo_core::method::Steadiness;
use cosimo_core::registry::{MethodEntry, Options, Value};

use super::{f_test, noise, r_test, sliding_window};

fn number(name: &str, value: f64) -> (String, Value) {
    (name.to_owned(), Value::Number(value))
}

/// The share of samples that are called steady from `from` on, samples every millisecond.
fn steady(
    entry: &MethodEntry<dyn Steadiness>,
    given: &[(String, Value)],
    from: f64,
    flow: impl Fn(f64) -> f64,
) -> f64 {
    let options = Options::resolve("it", entry.options, given).unwrap();
    let test = (entry.build)(&options);
    let stamp = |k: u32| {
        let t = f64::from(k) * 1e-3;
        Stamp { t, flow: flow(t), effort: 2.0 * flow(t), ..Stamp::default() }
    };
    let mut memory = vec![0.0; test.memory()];
    let mut past = vec![stamp(0)];
    test.start(&past[0], &mut memory);
    let (mut judged, mut still) = (0.0, 0.0);
    for k in 1..3000 {
        let new = stamp(k);
        let is = test.steady(&past, &new, &mut memory);
        past.push(new);
        if new.t >= from {
            (judged, still) = (judged + 1.0, still + f64::from(u8::from(is)));
        }
    }
    still / judged
}

#[test]
fn noise_is_white_and_of_variance_one() {
    let n = 20_000;
    let samples: Vec<f64> = (0..n).map(|k| noise::at(f64::from(k) * 1e-3)).collect();
    let mean = samples.iter().sum::<f64>() / f64::from(n);
    let variance = samples.iter().map(|x| x * x).sum::<f64>() / f64::from(n);
    let next = samples.iter().zip(&samples[1..]).map(|(a, b)| a * b).sum::<f64>() / f64::from(n);
    assert!(mean.abs() < 0.03 && (variance - 1.0).abs() < 0.04 && next.abs() < 0.03);
}

#[test]
fn a_sliding_window_knows_when_a_ramp_has_left_it() {
    let given = [number("window", 0.1), number("tolerance", 0.01)];
    // Moves until 1 s: all that is still in a window of 0.1 s must have moved by less than 0.01.
    let ramp = |t: f64| t.min(1.0);
    assert_eq!(steady(&sliding_window::ENTRY, &given, 0.2, |t| ramp(t).min(0.999)), {
        // Steady from 1.09 s on, when the window holds only the last 0.01 of the ramp.
        let (first, last) = (200, 2999);
        f64::from(last - 1089) / f64::from(last - first + 1)
    });
    assert_eq!(steady(&sliding_window::ENTRY, &given, 0.0, |_| 3.0), 2900.0 / 2999.0);
}

#[test]
fn the_effort_may_object() {
    let wobble = |t: f64| 0.001 * (600.0 * t).sin();
    let alone = [number("window", 0.1), number("tolerance", 0.01)];
    let both = [number("window", 0.1), number("tolerance", 0.01), number("effort_tolerance", 0.003)];
    assert!(steady(&sliding_window::ENTRY, &alone, 0.2, wobble) == 1.0);
    assert!(steady(&sliding_window::ENTRY, &both, 0.2, wobble) == 0.0);
}

/// (1) and (4) or (7) of noise alone are 1 on average, so that twice that is seldom passed.
#[test]
fn noise_alone_stands_still_and_a_ramp_does_not() {
    let given = [number("tolerance", 0.01), number("samples", 100.0)];
    for entry in [&f_test::ENTRY, &r_test::ENTRY] {
        assert!(steady(entry, &given, 0.2, |_| 1.0) > 0.97, "{}", entry.name);
        assert!(steady(entry, &given, 0.2, |t| t) < 0.03, "{}", entry.name);
    }
}
