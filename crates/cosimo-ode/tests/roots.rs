//! Events: found where they are, all of them, once, in order, from the right side.
#![allow(clippy::unwrap_used)] // helpers of tests are tests
#![allow(clippy::disallowed_methods, reason = "what tests expect may come from the C library")]

mod common;

use common::{Of, near, settings, started};
use cosimo_ode::{
    CrossingDirection, EvaluationFault, INTEGRATORS, IntegrationFailure, Integrator, OdeSystem, Roots,
    Settings, StepOutcome, entry,
};

/// Time itself, with indicators of time alone.
struct Clocked<Z>(Z);

impl<Z: FnMut(f64, &mut [f64])> OdeSystem for Clocked<Z> {
    fn derivatives(&mut self, _t: f64, _x: &[f64], dx: &mut [f64]) -> Result<(), EvaluationFault> {
        dx[0] = 1.0;
        Ok(())
    }

    fn indicators(&mut self, _t: f64, x: &[f64], z: &mut [f64]) -> Result<(), EvaluationFault> {
        (self.0)(x[0], z);
        Ok(())
    }
}

/// All events up to 10 s in steps of at most 1 s: when, which, and in which direction.
fn events(
    indicators: usize,
    samples: usize,
    z: impl FnMut(f64, &mut [f64]),
) -> Vec<(f64, usize, CrossingDirection)> {
    let mut system = Clocked(z);
    let settings = Settings { first: Some(1.0), largest: 1.0, ..Settings::default() };
    let mut integrator = started("dormand-prince", &settings, 0.0, &[0.0]);
    let mut roots = Roots::new(indicators, 1).with_samples(samples);
    roots.start(&mut integrator, &mut system).unwrap();
    let mut events = Vec::new();
    while integrator.time() < 10.0 {
        integrator.step(&mut system, 10.0).unwrap();
        if let Some(t) = roots.search(&mut integrator, &mut system).unwrap() {
            assert_eq!(t, integrator.time());
            events.extend(roots.crossed().map(|(indicator, direction)| (t, indicator, direction)));
        }
    }
    events
}

#[test]
fn crossings_come_in_order_each_from_its_right_side() {
    use CrossingDirection::{Falling, Rising};
    // Three crossings within one step, not in the order of the indicators.
    let found = events(3, 0, |t, z| {
        z[0] = t - 4.5;
        z[1] = 4.25 - t;
        z[2] = (t - 4.75).powi(3);
    });
    let wanted = [(4.25, 1, Falling), (4.5, 0, Rising), (4.75, 2, Rising)];
    assert_eq!(found.len(), 3, "{found:?}");
    for ((t, indicator, direction), wanted) in found.into_iter().zip(wanted) {
        assert_eq!((indicator, direction), (wanted.1, wanted.2));
        assert!(t >= wanted.0 && t < wanted.0 + 1e-5, "{t}");
        // The cube is flat where it is 0: rounding hides its sign within 1e-5.
        assert!(indicator == 2 || t < wanted.0 + 4e-15, "{t}");
    }
}

#[test]
fn crossings_at_the_same_time_are_one_event() {
    let found = events(3, 0, |t, z| {
        z[0] = t - 2.5;
        z[1] = (2.5 - t).sinh();
        z[2] = t - 2.5;
    });
    assert_eq!(found.len(), 3);
    assert!(found.iter().all(|event| event.0 == found[0].0));
}

#[test]
fn an_indicator_at_zero_waits_for_its_next_crossing() {
    // Exactly 0 at the start, then up and down again: within the first step, or later.
    for back in [0.5, 5.5] {
        let found = events(1, 0, |t, z| z[0] = t * (back - t));
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].2, CrossingDirection::Falling);
        near(found[0].0, back, 4e-15);
    }
    // 0 for ever is no event; nor is 0 up to a rise.
    assert_eq!(events(1, 0, |_, z| z[0] = 0.0), []);
    assert_eq!(events(1, 0, |t, z| z[0] = (t - 3.3).max(0.0)), []);
    // Falling onto 0 is one, and staying there is none.
    let found = events(1, 0, |t, z| z[0] = (3.3 - t).max(0.0));
    assert_eq!(found.len(), 1);
    near(found[0].0, 3.3, 4e-15);
}

#[test]
fn a_jump_is_found_as_exactly_as_a_line() {
    let found = events(2, 0, |t, z| {
        z[0] = if t < 6.1 { -1e-300 } else { 1e300 };
        z[1] = if t < 6.7 { f64::INFINITY } else { f64::NEG_INFINITY };
    });
    near(found[0].0, 6.1, 4e-15);
    near(found[1].0, 6.7, 4e-15);
    assert_eq!(found.len(), 2);
}

#[test]
fn two_crossings_between_two_looks_are_missed_and_samples_help() {
    let graze = |t: f64, z: &mut [f64]| z[0] = (t - 3.45) * (t - 3.55);
    assert_eq!(events(1, 0, graze), []);
    assert_eq!(events(1, 1, graze).len(), 2);
    let graze = |t: f64, z: &mut [f64]| z[0] = (t - 3.7) * (t - 3.9);
    assert_eq!(events(1, 4, graze).len(), 2);
}

#[test]
fn no_more_than_a_few_indicators_are_evaluated_per_event() {
    let mut system = common::VanDerPol(1.0);
    for entry in INTEGRATORS {
        let mut integrator = started(entry.name, &settings(1e-8, 1e-8), 0.0, &[2.0, 0.0]);
        let mut roots = Roots::new(1, 2);
        roots.start(&mut integrator, &mut system).unwrap();
        let mut events = 0;
        while integrator.step(&mut system, 50.0).unwrap() != StepOutcome::Reached {
            events += u64::from(roots.search(&mut integrator, &mut system).unwrap().is_some());
        }
        let counters = integrator.counters();
        println!("{}: {events} events, {counters:?}", entry.name);
        assert_eq!(events, 15);
        let looks = counters.root_evaluations - counters.accepted;
        assert!(looks <= 10 * events, "{looks} looks for {events} events");
    }
}

#[test]
fn a_curved_indicator_takes_few_looks() {
    // From one side regula falsi would creep along both of them.
    let mut looks = 0;
    let found = events(2, 0, |t, z| {
        looks += 1;
        z[0] = (9.0 * (t - 3.7)).exp() - 1.0;
        z[1] = 1.0 - (9.0 * (t - 4.2)).exp();
    });
    assert_eq!(found.len(), 2);
    // Eleven for the start and the ends of all steps; a bisection would take 100 more.
    assert!(looks <= 11 + 30, "{looks}");
}

#[test]
fn indicators_that_fail_are_told_with_time_and_index() {
    struct Broken;
    impl OdeSystem for Broken {
        fn derivatives(&mut self, _t: f64, _x: &[f64], dx: &mut [f64]) -> Result<(), EvaluationFault> {
            dx[0] = 1.0;
            Ok(())
        }
        fn indicators(&mut self, t: f64, _x: &[f64], z: &mut [f64]) -> Result<(), EvaluationFault> {
            z.fill(1.0);
            if t > 2.0 {
                return Err(EvaluationFault::Retry("table ends".into()));
            }
            z[1] = (1.0 - t).sqrt();
            Ok(())
        }
    }
    let mut integrator = started("bogacki-shampine", &Settings::default(), 0.0, &[0.0]);
    let mut roots = Roots::new(2, 1);
    roots.start(&mut integrator, &mut Broken).unwrap();
    common::run(&mut integrator, &mut Broken, 1.5);
    let failure = roots.search(&mut integrator, &mut Broken).unwrap_err();
    assert_eq!(failure, IntegrationFailure::Indicator { time: 1.5, index: 1 });
    common::run(&mut integrator, &mut Broken, 3.0);
    let failure = roots.search(&mut integrator, &mut Broken).unwrap_err();
    assert_eq!(failure.to_string(), "the system refuses its indicators at t = 3: table ends");
}

const GRAVITY: f64 = 9.81;
const RESTITUTION: f64 = 0.7;

struct Ball;

impl OdeSystem for Ball {
    fn derivatives(&mut self, _t: f64, x: &[f64], dx: &mut [f64]) -> Result<(), EvaluationFault> {
        dx[0] = x[1];
        dx[1] = -GRAVITY;
        Ok(())
    }

    fn indicators(&mut self, _t: f64, x: &[f64], z: &mut [f64]) -> Result<(), EvaluationFault> {
        z[0] = x[0];
        Ok(())
    }
}

/// Drops a ball from 1 m until events accumulate: the bounces, and where it stopped.
fn bounce(name: &str, tolerance: f64, gap: f64) -> (Vec<f64>, f64, Integrator) {
    let mut integrator = started(name, &settings(tolerance, 1e-2 * tolerance), 0.0, &[1.0, 0.0]);
    let mut roots = Roots::new(1, 2).with_gap(gap);
    roots.start(&mut integrator, &mut Ball).unwrap();
    let mut bounces = Vec::new();
    loop {
        assert!(integrator.counters().accepted < 100_000 && integrator.state()[0] > -1e-9, "{bounces:?}");
        integrator.step(&mut Ball, 10.0).unwrap();
        match roots.search(&mut integrator, &mut Ball) {
            Ok(None) => assert!(integrator.time() < 10.0),
            Ok(Some(t)) => {
                bounces.push(t);
                let speed = integrator.state()[1];
                integrator.restart(t, &[0.0, -RESTITUTION * speed]);
                roots.start(&mut integrator, &mut Ball).unwrap();
            }
            Err(IntegrationFailure::Accumulation { time, .. }) => return (bounces, time, integrator),
            Err(other) => panic!("{other}"),
        }
    }
}

#[test]
fn a_ball_bounces_on_time_until_it_rests() {
    let fall = (2.0 / GRAVITY).sqrt();
    let rest = fall * (1.0 + 2.0 * RESTITUTION / (1.0 - RESTITUTION));
    // Intervals of 2 fall 0.7^k are shorter than a gap of 1e-6 from the 39th on, and nine more are tolerated. At the end the
    // ball rises 1e-15 m: that is no effort to the explicit methods, for which parabolas are exact, and less than nothing
    // to a method that is only as exact as its tolerance.
    let cases = [
        ("dormand-prince", 1e-10, 1e-6, 48),
        ("bogacki-shampine", 1e-10, 1e-6, 48),
        ("bdf", 1e-13, 1e-3, 29),
        ("cvode", 1e-13, 1e-3, 29),
    ];
    for (name, tolerance, gap, count) in cases.into_iter().filter(|case| entry(case.0).is_ok()) {
        let (bounces, stop, mut integrator) = bounce(name, tolerance, gap);
        assert_eq!(bounces.len(), count, "{name}");
        let mut worst = 0.0_f64;
        for (k, found) in bounces.iter().enumerate() {
            // The first fall, and k flights of 2 fall 0.7^k each.
            let wanted = rest - fall * 2.0 * RESTITUTION.powi(k as i32 + 1) / (1.0 - RESTITUTION);
            worst = worst.max((found - wanted).abs());
        }
        println!("{name}: {worst:e} s, {:?}", integrator.counters());
        assert!(worst < 1e-9, "{name}: {worst:e}");
        near(stop, rest, gap);
        // What a caller does about it: the ball rests.
        let mut resting = Of(|_, _: &[f64], dx: &mut [f64]| dx.fill(0.0));
        integrator.restart(stop, &[0.0, 0.0]);
        common::run(&mut integrator, &mut resting, 10.0);
        assert_eq!(integrator.state(), [0.0, 0.0]);
    }
}

#[test]
fn without_a_gap_rounding_is_the_gap() {
    let (bounces, stop, _) = bounce("dormand-prince", 1e-10, 0.0);
    assert!(bounces.len() > 80, "{}", bounces.len());
    near(stop, (2.0 / GRAVITY).sqrt() * (1.0 + 1.4 / 0.3), 1e-9);
    let message = IntegrationFailure::Accumulation { time: 2.5, events: 10, gap: 1e-6 }.to_string();
    assert_eq!(
        message,
        "events accumulate at t = 2.5: the last 10 came within 1e-6 of each other; \
         the model has to come to rest there"
    );
}
