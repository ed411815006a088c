//! Systems that fail: now and then, from some time on, with words or with numbers that are none.
#![allow(clippy::unwrap_used)] // helpers of tests are tests
#![allow(clippy::disallowed_methods, reason = "what tests expect may come from the C library")]

mod common;

use common::{near, oscillator, run, settings, started};
use cosimo_ode::{
    Absolute, Cause, EvaluationFault, INTEGRATORS, IntegrationFailure, Integrator, OdeSystem, Pattern,
    Settings, entry,
};

/// The oscillator, which answers what `refuse` says to every call.
struct Moody<R> {
    calls: u64,
    refuse: R,
}

enum Mood {
    Well,
    Nan,
    Retry,
    Fatal,
}

impl<R: FnMut(u64, f64) -> Mood> OdeSystem for Moody<R> {
    fn derivatives(&mut self, t: f64, x: &[f64], dx: &mut [f64]) -> Result<(), EvaluationFault> {
        self.calls += 1;
        oscillator().derivatives(t, x, dx)?;
        match (self.refuse)(self.calls, t) {
            Mood::Well => {}
            Mood::Nan => dx[1] = f64::NAN,
            Mood::Retry => return Err(EvaluationFault::Retry("pressure below vacuum".into())),
            Mood::Fatal => return Err(EvaluationFault::Fatal("memory is gone".into())),
        }
        Ok(())
    }
}

fn moody<R: FnMut(u64, f64) -> Mood>(refuse: R) -> Moody<R> {
    Moody { calls: 0, refuse }
}

#[test]
fn a_refusal_now_and_then_costs_steps_and_nothing_else() {
    for entry in INTEGRATORS {
        for nan in [true, false] {
            let mut system = moody(|call, _| match (call % 37, nan) {
                (0, true) => Mood::Nan,
                (0, false) => Mood::Retry,
                _ => Mood::Well,
            });
            let mut integrator = started(entry.name, &settings(1e-6, 1e-6), 0.0, &[1.0, 0.0]);
            run(&mut integrator, &mut system, 10.0);
            println!("{}: {:?}", entry.name, integrator.counters());
            near(integrator.state()[0], 10f64.cos(), 1e-4);
            assert!(integrator.counters().rejected >= integrator.counters().evaluations / 50);
        }
    }
}

#[test]
fn what_stays_wrong_is_told_with_time_step_and_state() {
    for entry in INTEGRATORS {
        for nan in [true, false] {
            let mut system = moody(|_, t| match (t > 1.0, nan) {
                (true, true) => Mood::Nan,
                (true, false) => Mood::Retry,
                _ => Mood::Well,
            });
            let mut integrator = started(entry.name, &Settings::default(), 0.0, &[1.0, 0.0]);
            let failure = loop {
                match integrator.step(&mut system, 2.0) {
                    Ok(_) => {}
                    Err(failure) => break failure,
                }
            };
            let IntegrationFailure::Stalled { time, step, cause } = &failure else { panic!("{failure}") };
            near(*time, 1.0, 1e-13);
            assert!(*step < 1e-13);
            assert_eq!(*time, integrator.time());
            let refused = Cause::Refused { message: "pressure below vacuum".into() };
            assert_eq!(*cause, if nan { Cause::NotFinite { state: 1 } } else { refused });
            let text = failure.to_string();
            assert!(text.contains("t = 1") || text.contains("t = 0.99999"), "{text}");
            let why =
                if nan { "derivative of x[1] is not a finite" } else { "refuses: pressure below vacuum" };
            assert!(text.contains(why) && text.contains("h = "), "{text}");
        }
    }
}

#[test]
fn a_start_that_is_refused_is_told() {
    for entry in INTEGRATORS {
        let mut integrator = started(entry.name, &Settings::default(), 3.0, &[1.0, 0.0]);
        let failure = integrator.step(&mut moody(|_, _| Mood::Nan), 4.0).unwrap_err();
        assert_eq!(
            failure,
            IntegrationFailure::Stalled { time: 3.0, step: 0.0, cause: Cause::NotFinite { state: 1 } }
        );
        // But not for one refusal.
        let mut once = moody(|call, _| if call == 1 { Mood::Retry } else { Mood::Well });
        run(&mut integrator, &mut once, 4.0);
    }
}

#[test]
fn a_fatal_fault_passes_through_at_once_and_changes_nothing() {
    for entry in INTEGRATORS {
        let mut integrator = started(entry.name, &Settings::default(), 0.0, &[1.0, 0.0]);
        run(&mut integrator, &mut oscillator(), 1.0);
        let before = integrator.clone();
        let mut system = moody(|call, _| if call == 2 { Mood::Fatal } else { Mood::Well });
        let failure = loop {
            match integrator.step(&mut system, 2.0) {
                Ok(_) => {}
                Err(failure) => break failure,
            }
        };
        let IntegrationFailure::Fatal { message, .. } = &failure else { panic!("{failure}") };
        assert_eq!(message, "memory is gone");
        assert_eq!(system.calls, 2, "{}", entry.name);
        if integrator.counters().accepted == before.counters().accepted {
            assert_eq!((integrator.time(), integrator.state()), (1.0, before.state()));
        }
    }
}

#[test]
fn a_least_step_is_kept_except_onto_a_limit() {
    for entry in INTEGRATORS {
        let settings = Settings { least: 0.1, ..settings(1e-12, 1e-12) };
        let mut integrator = started(entry.name, &settings, 0.0, &[1.0, 0.0]);
        let failure = integrator.step(&mut oscillator(), 2.0).unwrap_err();
        let IntegrationFailure::Stalled { step, cause: Cause::Error { .. }, .. } = failure else {
            panic!("{failure}")
        };
        near(step, 0.1, 1e-9);
        // A millionth of a second is near enough.
        run(&mut integrator, &mut oscillator(), 1e-6);
        near(integrator.state()[1], -1e-6, 1e-15);
    }
}

#[test]
fn a_solution_that_explodes_ends_in_a_failure() {
    for entry in INTEGRATORS {
        let mut square = common::Of(|_, x: &[f64], dx: &mut [f64]| dx[0] = x[0] * x[0]);
        let mut integrator = started(entry.name, &Settings::default(), 0.0, &[1.0]);
        let failure = loop {
            match integrator.step(&mut square, 2.0) {
                Ok(_) => assert!(integrator.counters().accepted < 10_000),
                Err(failure) => break failure,
            }
        };
        // x = 1 / (1 - t)
        let IntegrationFailure::Stalled { time, .. } = failure else { panic!("{failure}") };
        near(time, 1.0, 1e-4);
    }
}

#[test]
fn limits_that_cannot_be_reached_are_told() {
    let mut integrator = started("dormand-prince", &Settings::default(), 1.0, &[1.0, 0.0]);
    for limit in [0.5, f64::NAN, f64::INFINITY] {
        let failure = integrator.step(&mut oscillator(), limit).unwrap_err();
        assert!(failure.to_string().starts_with("a step from t = 1 needs a finite limit"), "{failure}");
    }
}

#[test]
fn settings_are_refused_with_all_their_problems() {
    let settings = Settings {
        relative: -1.0,
        absolute: Absolute::Each(vec![1.0, 0.0, f64::NAN]),
        first: Some(0.0),
        least: 2.0,
        largest: 1.0,
        order: 6,
        pattern: Some(Pattern::new(3, [])),
    };
    let refusal = Integrator::new(entry("dormand-prince").unwrap(), 2, &settings).unwrap_err();
    assert_eq!(
        refusal.0,
        [
            "the relative tolerance must be 0 or more, not -1",
            "3 absolute tolerances are given for 2 states",
            "the absolute tolerance of x[1] must be above 0, not 0",
            "the absolute tolerance of x[2] must be above 0, not NaN",
            "the first step must be above 0, not 0",
            "the least step, 2, is above the largest, 1",
            "the highest order must be 1 to 5, not 6",
            "the pattern of the Jacobian has 3 states, not 2",
        ]
    );
    let refusal = entry("euler").unwrap_err().to_string();
    assert!(refusal.starts_with("there is no integrator `euler`, only dormand-prince"), "{refusal}");
    for (name, remedy) in cosimo_ode::ABSENT {
        let refusal = entry(name).unwrap_err().to_string();
        assert_eq!(refusal, format!("the integrator `{name}` is not in this build; {remedy}"));
    }
}
