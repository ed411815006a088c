//! Calls in a wrong order are refused with a reason, and change nothing.

use std::ptr::null_mut;

use cosimo_export::{Variant, Version};

use crate::load::Fmu;

fn wheel(version: Version, variant: Variant) -> Fmu {
    Fmu::plain("native:quarter-car/wheel", version, variant)
}

#[test]
fn every_mode_refuses_what_belongs_to_another() {
    for version in Version::ALL {
        let (name, clause) = match version {
            Version::One | Version::Two => ("fmi2", "FMI 2.0, 4.2.4"),
            Version::Three => ("fmi3", "FMI 3.0, 2.3 and 4.2"),
        };
        let fmu = wheel(version, Variant::Plain);
        assert_eq!(fmu.exit(), 3);
        assert_eq!(
            fmu.last_log(),
            format!("3 {name}ExitInitializationMode: it must not be called before initialisation ({clause})")
        );
        assert_eq!((fmu.try_step(0.0, 0.1, false), fmu.terminate(), fmu.try_get("v")), (3, 3, Err(3)));
        assert_eq!(fmu.enter(0.0, None), 0);
        assert_eq!((fmu.try_step(0.0, 0.1, false), fmu.enter(0.0, None), fmu.terminate()), (3, 3, 3));
        assert_eq!(fmu.exit(), 0);
        assert_eq!((fmu.enter(0.0, None), fmu.exit()), (3, 3));
        fmu.step(0.0, 0.1);
        assert_eq!(fmu.terminate(), 0);
        assert!(fmu.try_get("v").is_ok());
        assert_eq!((fmu.try_step(0.1, 0.1, false), fmu.try_set("F", 1.0), fmu.terminate()), (3, 3, 3));
        assert!(fmu.last_log().contains("it must not be called after termination"), "{}", fmu.last_log());
        assert_eq!(fmu.reset(), 0);
        fmu.start();
        fmu.step(0.0, 0.1);
    }
    let fmu = wheel(Version::Two, Variant::Plain);
    assert_eq!(fmu.enter_without_setup(), 3);
    assert!(fmu.last_log().ends_with("`fmi2SetupExperiment` must be called first"), "{}", fmu.last_log());
}

#[test]
fn start_values_can_be_read_before_initialisation_in_fmi_3() {
    let fmu = wheel(Version::Three, Variant::Plain);
    fmu.set("road", 0.3);
    assert_eq!((fmu.get("road"), fmu.get("F"), fmu.get_count("micro_steps")), (0.3, 0.0, 10));
    assert_eq!((fmu.try_get("v"), fmu.try_get("time")), (Err(3), Err(3)));
    assert!(fmu.last_log().ends_with("`time` has no value before initialisation"), "{}", fmu.last_log());
    let fmu = wheel(Version::Two, Variant::Plain);
    assert_eq!(fmu.try_get("road"), Err(3));
}

#[test]
fn a_reset_starts_from_the_defaults() {
    for version in Version::ALL {
        let fmu = wheel(version, Variant::Plain);
        fmu.set("road", 0.3);
        fmu.start();
        fmu.set("F", 5.0);
        fmu.step(0.0, 1e-3);
        assert_eq!(fmu.reset(), 0);
        fmu.start();
        assert_eq!((fmu.get("road"), fmu.get("F"), fmu.get("v"), fmu.get("time")), (0.1, 0.0, 0.0, 0.0));
    }
}

#[test]
fn steps_follow_each_other_and_end_where_the_run_ends() {
    for version in Version::ALL {
        let fmu = wheel(version, Variant::Plain);
        assert_eq!((fmu.enter(1.0, Some(1.25)), fmu.exit()), (0, 0));
        assert_eq!(fmu.try_step(0.0, 0.1, false), 3);
        assert!(fmu.last_log().ends_with("a step from t = 0 cannot follow t = 1"), "{}", fmu.last_log());
        for bad in [0.0, -0.1, f64::NAN, f64::INFINITY] {
            assert_eq!(fmu.try_step(1.0, bad, false), 3);
        }
        assert_eq!(fmu.get("v"), 0.0);
        fmu.step(1.0, 0.1);
        fmu.step(1.1, 0.1);
        assert_eq!(fmu.try_step(1.2, 0.1, false), 3);
        assert!(fmu.last_log().contains("passes the end at 1.25"), "{}", fmu.last_log());
        fmu.step(1.2, 0.05);
    }
}

#[test]
fn a_fixed_step_is_that_of_the_first_step() {
    for version in Version::ALL {
        let fmu = wheel(version, Variant::FixedStep);
        fmu.start();
        fmu.step(0.0, 0.01);
        assert_eq!(fmu.try_step(0.01, 0.02, false), 3);
        assert!(
            fmu.last_log().ends_with("expected a step of 0.01 s like the first one, got 0.02 s"),
            "{}",
            fmu.last_log()
        );
        fmu.step(0.01, 0.02 - 0.01);
        let mut state = null_mut();
        assert_eq!(fmu.get_state(&mut state), 0);
    }
}

#[test]
fn a_foreign_token_and_a_foreign_version_make_no_instance() {
    for version in Version::ALL {
        let mut fmu = wheel(version, Variant::Plain);
        assert!(fmu.exists());
        let mut other = wheel(version, Variant::Plain);
        other.instantiate("{wrong}");
        assert!(!other.exists());
        assert!(other.last_log().contains("got `{wrong}`"), "{}", other.last_log());
        // Null handles are refused, not followed.
        assert_eq!((other.exit(), other.try_set("F", 1.0)), (3, 3));
        fmu.environment.log.clear();
    }
}

#[test]
fn unknown_references_and_null_arrays_are_refused() {
    for version in Version::ALL {
        let mut fmu = wheel(version, Variant::Plain);
        fmu.start();
        fmu.add_name("nobody", 999);
        assert_eq!(fmu.try_get("nobody"), Err(3));
        assert!(
            fmu.last_log().ends_with("there is no variable with the value reference 999"),
            "{}",
            fmu.last_log()
        );
        assert_eq!(fmu.get_null(), 3);
        assert!(fmu.last_log().ends_with("an array is null"), "{}", fmu.last_log());
    }
}

/// Whatever the order, every call is answered, and a reset makes the instance as good as new.
#[test]
fn random_calls_never_break_an_instance() {
    for version in Version::ALL {
        for variant in Variant::ALL.into_iter().filter(|variant| variant.exists_in(version)) {
            let fmu = Fmu::plain("native:dual-mass/left-force", version, variant);
            let mut seed = 1u64;
            let mut states = [null_mut(); 3];
            let mut random = |below: u64| {
                seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                (seed >> 33) % below
            };
            let mut accepted = 0;
            for _ in 0..4000 {
                let state = random(3) as usize;
                let time = fmu.try_get("time").unwrap_or(0.0);
                let status = match random(16) {
                    0 => fmu.enter(0.0, None),
                    1 | 2 => fmu.exit(),
                    3 if random(8) == 0 => fmu.terminate(),
                    4 if random(8) == 0 => fmu.reset(),
                    5 => fmu.try_set("m1", 50.0 + random(100) as f64),
                    6 => fmu.try_set("v_far", random(100) as f64 - 50.0),
                    7 => fmu.set_count("micro_steps", random(20) as i32),
                    8 => fmu.get_state(&mut states[state]),
                    9 => fmu.set_state(states[state]),
                    10 if random(4) == 0 => fmu.free_state(&mut states[state]),
                    11 => fmu.derivative("f", "v_far").err().unwrap_or(0),
                    12 => fmu.output_derivative("f").err().unwrap_or(0),
                    13 => fmu.try_get("f").err().unwrap_or(0),
                    _ => fmu.try_step(time, 1e-3 * (1 + random(3)) as f64, random(9) == 0),
                };
                assert!(status == 0 || status == 3, "{status}: {}", fmu.last_log());
                accepted += u32::from(status == 0);
            }
            assert!(accepted > 400, "{accepted}");
            let fresh = Fmu::plain("native:dual-mass/left-force", version, variant);
            assert_eq!(fmu.reset(), 0);
            for fmu in [&fmu, &fresh] {
                fmu.start();
                fmu.set("v_far", 0.5);
                fmu.step(0.0, 0.01);
            }
            assert_eq!(fmu.get("f").to_bits(), fresh.get("f").to_bits());
        }
    }
}

/// All functions of the headers of FMI 2.0 and 3.0.
const NAMES: &str = "
    fmi2GetTypesPlatform fmi2GetVersion fmi2SetDebugLogging fmi2Instantiate fmi2FreeInstance
    fmi2SetupExperiment fmi2EnterInitializationMode fmi2ExitInitializationMode fmi2Terminate
    fmi2Reset fmi2GetReal fmi2GetInteger fmi2GetBoolean fmi2GetString fmi2SetReal fmi2SetInteger
    fmi2SetBoolean fmi2SetString fmi2GetFMUstate fmi2SetFMUstate fmi2FreeFMUstate
    fmi2SerializedFMUstateSize fmi2SerializeFMUstate fmi2DeSerializeFMUstate
    fmi2GetDirectionalDerivative fmi2EnterEventMode fmi2NewDiscreteStates
    fmi2EnterContinuousTimeMode fmi2CompletedIntegratorStep fmi2SetTime fmi2SetContinuousStates
    fmi2GetDerivatives fmi2GetEventIndicators fmi2GetContinuousStates
    fmi2GetNominalsOfContinuousStates fmi2SetRealInputDerivatives fmi2GetRealOutputDerivatives
    fmi2DoStep fmi2CancelStep fmi2GetStatus fmi2GetRealStatus fmi2GetIntegerStatus
    fmi2GetBooleanStatus fmi2GetStringStatus

    fmi3GetVersion fmi3SetDebugLogging fmi3InstantiateModelExchange fmi3InstantiateCoSimulation
    fmi3InstantiateScheduledExecution fmi3FreeInstance fmi3EnterInitializationMode
    fmi3ExitInitializationMode fmi3EnterEventMode fmi3Terminate fmi3Reset fmi3GetFloat32
    fmi3GetFloat64 fmi3GetInt8 fmi3GetUInt8 fmi3GetInt16 fmi3GetUInt16 fmi3GetInt32 fmi3GetUInt32
    fmi3GetInt64 fmi3GetUInt64 fmi3GetBoolean fmi3GetString fmi3GetBinary fmi3GetClock
    fmi3SetFloat32 fmi3SetFloat64 fmi3SetInt8 fmi3SetUInt8 fmi3SetInt16 fmi3SetUInt16 fmi3SetInt32
    fmi3SetUInt32 fmi3SetInt64 fmi3SetUInt64 fmi3SetBoolean fmi3SetString fmi3SetBinary fmi3SetClock
    fmi3GetNumberOfVariableDependencies fmi3GetVariableDependencies fmi3GetFMUState fmi3SetFMUState
    fmi3FreeFMUState fmi3SerializedFMUStateSize fmi3SerializeFMUState fmi3DeserializeFMUState
    fmi3GetDirectionalDerivative fmi3GetAdjointDerivative fmi3EnterConfigurationMode
    fmi3ExitConfigurationMode fmi3GetIntervalDecimal fmi3GetIntervalFraction fmi3GetShiftDecimal
    fmi3GetShiftFraction fmi3SetIntervalDecimal fmi3SetIntervalFraction fmi3SetShiftDecimal
    fmi3SetShiftFraction fmi3EvaluateDiscreteStates fmi3UpdateDiscreteStates
    fmi3EnterContinuousTimeMode fmi3CompletedIntegratorStep fmi3SetTime fmi3SetContinuousStates
    fmi3GetContinuousStateDerivatives fmi3GetEventIndicators fmi3GetContinuousStates
    fmi3GetNominalsOfContinuousStates fmi3GetNumberOfEventIndicators fmi3GetNumberOfContinuousStates
    fmi3EnterStepMode fmi3GetOutputDerivatives fmi3DoStep fmi3ActivateModelPartition
";

#[test]
fn every_function_of_both_headers_is_there() {
    let fmu = wheel(Version::Three, Variant::Plain);
    for name in NAMES.split_whitespace() {
        assert!(fmu.has(name), "{name}");
    }
}
