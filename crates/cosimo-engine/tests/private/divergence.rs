//! What is called divergence and what is not, of outputs by formulas.
#![allow(clippy::unwrap_used)] // helpers of tests are tests

use cosimo_core::math;
use cosimo_core::{Time, Traces};

use super::*;

/// The first step after which an output is said to diverge, of `steps`.
fn diverges(steps: u64, value: impl Fn(f64) -> f64) -> Option<u64> {
    let mut traces = Traces::new(1);
    let mut put = |step: u64| {
        traces.open(Time::new(step as f64).unwrap());
        traces.put(0, &[value(step as f64)], &[]);
        traces.commit();
        traces.clone()
    };
    put(0);
    let mut watch = GrowthWatch::of(vec![0]);
    watch.begin(&[value(0.0)]);
    (1..=steps).find(|&step| {
        let traces = put(step);
        step.is_multiple_of(EVERY) && watch.check(&traces, step).is_some()
    })
}

/// A map with a factor beyond one per step, of either sign or with a period of up to four steps, from whatever it
/// begins with.
#[test]
fn what_turns_and_grows_step_by_step_diverges() {
    for (factor, most) in [(1.01f64, 2900u64), (1.1, 320), (2.0, 64), (10.0, 48), (1e4, 32)] {
        for angle in [1.0, 0.9, 2.0 / 3.0, 0.5] {
            for first in [1.0, 1e5, 1e-9] {
                let mode = |n: f64| {
                    first * math::powf(factor, n) * math::cos(angle * std::f64::consts::PI * n + 0.2)
                };
                let found = diverges(4000, mode);
                assert!(found.is_some_and(|step| step <= most), "{factor} {angle} {first}: {found:?}");
            }
        }
    }
}

/// Two simulators that answer each other every other step.
#[test]
fn values_that_last_for_two_steps_turn_all_the_same() {
    for shift in [0.0, 1.0] {
        let found = diverges(1000, |n| math::powf(-6f64, ((n + shift) / 2.0).floor()));
        assert!(found.is_some_and(|step| step <= 96), "{found:?}");
    }
}

#[test]
fn what_doubles_with_every_step_diverges_after_two_hundred() {
    let found = diverges(1000, |n| math::powf(2f64, n));
    assert!(found.is_some_and(|step| (192..=224).contains(&step)), "{found:?}");
    // From rounding beside a larger value it takes as much longer as it takes to be seen.
    let later = diverges(1000, |n| 1.0 + 1e-15 * math::powf(2f64, n));
    assert!(later > found && later.is_some_and(|step| step <= 280), "{later:?}");
    assert_eq!(diverges(4000, |n| math::powf(1.2f64, n)), None);
}

#[test]
fn what_is_honest_does_not_diverge() {
    let never = |name: &str, value: &dyn Fn(f64) -> f64| {
        assert_eq!(diverges(20_000, value), None, "{name}");
    };
    // An unstable plant over 50 time constants, with steps from a thousandth to a whole one.
    for size in [1e-3, 0.01, 0.1, 0.5, 1.0] {
        assert_eq!(diverges((50.0 / size) as u64, |n| math::exp(size * n)), None, "exp, H = {size}");
        assert_eq!(
            diverges((50.0 / size) as u64, |n| 1e-30 * math::exp(size * n)),
            None,
            "from 1e-30, H = {size}"
        );
    }
    // Flutter that is resolved by eight steps per turn and grows by a third in each.
    assert_eq!(diverges(500, |n| math::exp(0.04 * n) * math::sin(std::f64::consts::PI / 4.0 * n)), None);
    for power in 1..=8 {
        never("integrals", &|n| math::powi(n, power));
        never("from nothing", &|n| 1e-30 * math::powi(n, power));
    }
    never("a step after nothing", &|n| if n < 1000.0 { 0.0 } else { 1.0 });
    never("a step after next to nothing", &|n| if n < 1000.0 { 1e-30 } else { 1e30 });
    never("impacts", &|n| if n % 100.0 == 0.0 { 1e15 } else { 1e-3 * math::sin(0.1 * n) });
    never("impacts that grow", &|n| {
        if n % 500.0 < 3.0 { math::powf(1e3f64, (n / 500.0).floor()) } else { 1e-9 * n }
    });
    never("a switch", &|n| if n % 2.0 == 0.0 { 1.0 } else { -1.0 });
    let chatter = |n: f64| if n % 2.0 == 0.0 { 1.0 } else { -1.0 };
    never("a switch of something that starts", &|n| chatter(n) * if n < 5000.0 { 1e-15 } else { n });
    never("a switch whose voltage grows", &|n| chatter(n) * (1.0 + n));
    let noise = |n: f64| (math::sin(n * n * 12.9898 + n) * 43_758.547).fract();
    never("noise", &|n| noise(n));
    never("noise that grows", &|n| n * n * noise(n));
    never("rounding before a start", &|n| noise(n) * 1e-16 + if n < 3000.0 { 0.0 } else { noise(n + 0.5) });
    never("a slow exponential", &|n| math::exp(5e-3 * n));
    never("nothing", &|_| 0.0);
}
