//! Every function of model exchange in every mode, against the tables of the standard: FMI 2.0.1, 3.2.3, and the lists
//! of allowed calls in FMI 3.0, 2.3 and 3.2.1.

use std::ptr::null_mut;

use cosimo_test_fmus::{Design, SABOTEUR, Version};

use crate::load::Fmu;

/// In the order of the columns below.
const MODES: [&str; 6] =
    ["instantiated", "initialization", "event", "continuous-time", "terminated", "error"];

/// An FMU that can be brought into every mode, `error` by a fault in its second call for derivatives.
fn in_mode(version: Version, mode: &str) -> Fmu {
    let fmu = Fmu::of(&Design::exchange(SABOTEUR, version));
    assert_eq!((fmu.set_text("fault", "error"), fmu.set_count("at_step", 2)), (0, 0));
    let begin = || assert_eq!(fmu.enter(0.0, None), 0);
    let initialise = || {
        begin();
        assert_eq!(fmu.exit(), 0);
    };
    match mode {
        "instantiated" => {}
        "initialization" => begin(),
        "event" => {
            initialise();
            assert!(!fmu.update().unwrap().needed);
        }
        _ => {
            initialise();
            fmu.settle();
        }
    }
    match mode {
        "terminated" => assert_eq!(fmu.terminate(), 0),
        "error" => assert_eq!((fmu.derivatives(1).is_ok(), fmu.derivatives(1)), (true, Err(3))),
        _ => {}
    }
    fmu
}

type Call = fn(&Fmu) -> i32;

fn status<T>(answer: Result<T, i32>) -> i32 {
    answer.err().unwrap_or(0)
}

/// With a state at hand, which is freed with the instance.
fn state(fmu: &Fmu) -> *mut std::ffi::c_void {
    let mut state = null_mut();
    fmu.get_state(&mut state);
    state
}

/// A cross where the call is allowed. Numbers in the standard's table are crosses with a condition that these calls
/// meet, but for setting the time in event mode: only for FMUs without continuous states, which this is not. Inputs
/// may be set before initialisation, though FMI 2.0 leaves them out there: importers do, and FMI 3.0 lets them.
const FMI2: &[(&str, &str, Call)] = &[
    ("fmi2SetupExperiment, fmi2EnterInitializationMode", "x.....", |fmu| fmu.enter(0.0, None)),
    ("fmi2ExitInitializationMode", ".x....", Fmu::exit),
    ("fmi2Terminate", "..xx..", Fmu::terminate),
    ("fmi2Reset", "xxxxxx", Fmu::reset),
    ("fmi2GetReal, output", ".xxxxx", |fmu| status(fmu.try_get("y"))),
    ("fmi2GetReal, start value", ".xxxxx", |fmu| status(fmu.try_get("u"))),
    ("fmi2GetReal, derivative", ".xxxxx", |fmu| status(fmu.try_get("der(y)"))),
    ("fmi2GetInteger", ".xxxxx", |fmu| fmu.try_get_count("at_step")),
    ("fmi2GetBoolean, none", ".xxxxx", |fmu| fmu.get_no_flags()),
    ("fmi2SetReal, input", "xxxx..", |fmu| fmu.try_set("u", 2.0)),
    ("fmi2SetReal, state", "...x..", |fmu| fmu.try_set("y", 2.0)),
    ("fmi2SetInteger, fixed parameter", "xx....", |fmu| fmu.set_count("at_step", 7)),
    ("fmi2SetString, fixed parameter", "xx....", |fmu| fmu.set_text("fault", "none")),
    ("fmi2GetFMUstate", "xxxxxx", |fmu| fmu.get_state(&mut { null_mut() })),
    ("fmi2SetFMUstate", "xxxxxx", |fmu| fmu.set_state(state(fmu))),
    ("fmi2FreeFMUstate", "xxxxxx", |fmu| fmu.free_state(&mut state(fmu))),
    ("fmi2GetDirectionalDerivative", ".xxxxx", |fmu| status(fmu.derivative("der(y)", "u"))),
    ("fmi2EnterEventMode", "..xx..", Fmu::enter_event),
    ("fmi2NewDiscreteStates", "..x...", |fmu| status(fmu.update())),
    ("fmi2EnterContinuousTimeMode", "..x...", Fmu::enter_continuous),
    ("fmi2CompletedIntegratorStep", "...x..", |fmu| status(fmu.completed(false))),
    ("fmi2SetTime", "...x..", |fmu| fmu.set_time(0.0)),
    ("fmi2SetContinuousStates", "...x..", |fmu| fmu.set_states(&[1.0])),
    ("fmi2GetEventIndicators", ".xxxxx", |fmu| status(fmu.indicators(1))),
    ("fmi2GetContinuousStates", ".xxxxx", |fmu| status(fmu.states(1))),
    ("fmi2GetDerivatives", ".xxxxx", |fmu| status(fmu.derivatives(1))),
    ("fmi2GetNominalsOfContinuousStates", "xxxxxx", |fmu| status(fmu.nominals(1))),
    ("fmi2DoStep", "......", |fmu| fmu.try_step(0.0, 0.1, false)),
];

const FMI3: &[(&str, &str, Call)] = &[
    ("fmi3EnterInitializationMode", "x.....", |fmu| fmu.enter(0.0, None)),
    ("fmi3ExitInitializationMode", ".x....", Fmu::exit),
    ("fmi3Terminate", "..xx..", Fmu::terminate),
    ("fmi3Reset", "xxxxxx", Fmu::reset),
    ("fmi3GetFloat64, output", ".xxxxx", |fmu| status(fmu.try_get("y"))),
    ("fmi3GetFloat64, derivative", ".xxxxx", |fmu| status(fmu.try_get("der(y)"))),
    ("fmi3GetFloat64, indicator", ".xxxxx", |fmu| status(fmu.try_get("indicator_1"))),
    ("fmi3GetFloat64, start value", "xxxxxx", |fmu| status(fmu.try_get("u"))),
    ("fmi3GetBoolean, none", "xxxxxx", |fmu| fmu.get_no_flags()),
    ("fmi3SetFloat64, input", "xxxx..", |fmu| fmu.try_set("u", 2.0)),
    ("fmi3SetFloat64, state", "...x..", |fmu| fmu.try_set("y", 2.0)),
    ("fmi3SetInt32, fixed parameter", "xx....", |fmu| fmu.set_count("at_step", 7)),
    ("fmi3SetString, fixed parameter", "xx....", |fmu| fmu.set_text("fault", "none")),
    ("fmi3GetFMUState", "xxxxxx", |fmu| fmu.get_state(&mut { null_mut() })),
    ("fmi3SetFMUState", "xxxxxx", |fmu| fmu.set_state(state(fmu))),
    ("fmi3FreeFMUState", "xxxxxx", |fmu| fmu.free_state(&mut state(fmu))),
    ("fmi3GetDirectionalDerivative", ".xxxxx", |fmu| status(fmu.derivative("der(y)", "u"))),
    ("fmi3GetAdjointDerivative", ".xxxxx", |fmu| status(fmu.try_adjoint("der(y)", "u"))),
    ("fmi3EnterEventMode", "...x..", Fmu::enter_event),
    ("fmi3UpdateDiscreteStates", "..x...", |fmu| status(fmu.update())),
    ("fmi3EnterContinuousTimeMode", "..x...", Fmu::enter_continuous),
    ("fmi3CompletedIntegratorStep", "...x..", |fmu| status(fmu.completed(false))),
    ("fmi3SetTime", "...x..", |fmu| fmu.set_time(0.0)),
    ("fmi3SetContinuousStates", "...x..", |fmu| fmu.set_states(&[1.0])),
    ("fmi3GetEventIndicators", ".xxxxx", |fmu| status(fmu.indicators(1))),
    ("fmi3GetContinuousStates", ".xxxxx", |fmu| status(fmu.states(1))),
    ("fmi3GetContinuousStateDerivatives", ".xxxxx", |fmu| status(fmu.derivatives(1))),
    ("fmi3GetNominalsOfContinuousStates", ".xxxxx", |fmu| status(fmu.nominals(1))),
    ("fmi3GetNumberOfContinuousStates, fmi3GetNumberOfEventIndicators", "xxx...", |fmu| status(fmu.counts())),
    ("fmi3DoStep", "......", |fmu| fmu.try_step(0.0, 0.1, false)),
];

#[test]
fn every_call_in_every_mode_is_answered_as_the_standard_says() {
    for (version, table) in [(Version::Two, FMI2), (Version::Three, FMI3)] {
        for (name, allowed, call) in table {
            assert_eq!(allowed.len(), MODES.len());
            for (mode, allowed) in MODES.into_iter().zip(allowed.chars()) {
                let fmu = in_mode(version, mode);
                // The same fault must not come again.
                let wanted = if allowed == 'x' { 0 } else { 3 };
                assert_eq!(call(&fmu), wanted, "{name} in mode {mode}: {:?}", fmu.environment.log);
                if wanted == 3 {
                    // Refused in words, and nothing has changed: what was allowed still is.
                    assert!(!fmu.environment.log.is_empty(), "{name} in mode {mode}");
                    assert_eq!(fmu.try_get("y").is_ok(), mode != "instantiated", "{name} in mode {mode}");
                }
            }
        }
    }
}

#[test]
fn without_states_time_moves_on_from_event_to_event_in_fmi_2() {
    let fmu = Fmu::of(&Design::exchange("native:stair", Version::Two));
    fmu.start();
    assert_eq!(fmu.set_time(1.0), 3, "not before the discrete states have settled");
    for level in 0..5 {
        let update = fmu.update().unwrap();
        assert_eq!((update.needed, update.next), (false, Some(f64::from(level + 1))));
        assert_eq!(fmu.get_count("level"), level);
        assert_eq!(fmu.set_time(f64::from(level + 1)), 0, "{}", fmu.last_log());
    }
    assert_eq!(fmu.set_time(6.0), 3, "nor twice");
    let three = Fmu::of(&Design::exchange("native:stair", Version::Three));
    three.start();
    three.update().unwrap();
    assert_eq!(three.set_time(1.0), 3);
    assert!(
        three.last_log().ends_with("it must not be called in event mode (FMI 3.0, 2.3 and 3.2)"),
        "{}",
        three.last_log()
    );
}
