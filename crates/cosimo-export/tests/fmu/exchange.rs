//! Model exchange: the FMU answers as the equations do, in the order that the standard allows.

use std::path::Path;
use std::ptr::null_mut;

use cosimo_core::registry::OpenRequest;
use cosimo_models::equations;
use cosimo_native::{Hybrid, ModelPoint, Tangent};
use cosimo_test_fmus::{Design, InterfaceType, Variant, Version, exchange_sources, sources};

use crate::load::{Fmu, folder};

fn native(source: &str) -> Box<dyn Hybrid> {
    let request = OpenRequest { name: "unit", source, folder: Path::new(""), parameters: &[], joined: false };
    equations(&request).unwrap().unwrap()
}

/// Names as the FMU has them: a model may use one name twice.
fn names(model: &dyn Hybrid) -> (Vec<String>, Vec<String>) {
    let interface = model.interface();
    let (inputs, outputs) = (&interface.inputs, &interface.outputs);
    let twice = |name: &str| inputs.iter().any(|p| p.name == name) && outputs.iter().any(|p| p.name == name);
    let name = |name: &str, end: &str| if twice(name) { format!("{name}{end}") } else { name.to_owned() };
    let inputs_named = inputs.iter().map(|port| name(&port.name, "_in")).collect();
    (inputs_named, outputs.iter().map(|port| name(&port.name, "_out")).collect())
}

fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|value| value.to_bits()).collect()
}

#[test]
fn answers_are_those_of_the_equations_bit_for_bit() {
    for source in exchange_sources() {
        for version in Version::ALL {
            for kind in [InterfaceType::ModelExchange, InterfaceType::Both] {
                if kind == InterfaceType::Both && !sources().contains(&source) {
                    continue;
                }
                let fmu =
                    Fmu::as_kind(&Design::new(&source, version).kind(kind), InterfaceType::ModelExchange);
                let model = native(&source);
                let (inputs, outputs) = names(&*model);
                let (mut x, mut m) = model.initial();
                let mut u: Vec<f64> =
                    model.interface().inputs.iter().map(|port| port.start.unwrap_or(0.0)).collect();
                fmu.start();
                assert_eq!(bits(&fmu.states(x.len()).unwrap()), bits(&x), "{source}");
                model.event(0.0, &u, &mut x, &mut m);
                fmu.settle();
                let mut nominals = vec![f64::NAN; x.len()];
                model.nominals(&mut nominals);
                assert_eq!(bits(&fmu.nominals(x.len()).unwrap()), bits(&nominals));
                for round in 1..=5 {
                    let t = 1e-4 * f64::from(round);
                    x.iter_mut().enumerate().for_each(|(i, x)| *x += 0.01 * (i + 1) as f64);
                    u.iter_mut().enumerate().for_each(|(i, u)| *u += 0.1 * (i + 1) as f64);
                    assert_eq!((fmu.set_time(t), fmu.set_states(&x)), (0, 0), "{}", fmu.last_log());
                    inputs.iter().zip(&u).for_each(|(name, value)| fmu.set(name, *value));
                    let at = ModelPoint { t, x: &x, m: &m, u: &u };
                    let mut dx = vec![0.0; x.len()];
                    model.derivatives(&at, &mut dx);
                    assert_eq!(bits(&fmu.derivatives(x.len()).unwrap()), bits(&dx), "{source}");
                    let mut z = vec![0.0; model.indicator_count()];
                    model.indicators(&at, &mut z);
                    assert_eq!(bits(&fmu.indicators(z.len()).unwrap()), bits(&z), "{source}");
                    let mut y = vec![0.0; outputs.len()];
                    model.outputs(&at, &mut y);
                    let kinds = model.kinds();
                    for (port, (name, wanted)) in outputs.iter().zip(&y).enumerate() {
                        let found = match kinds.get(port) {
                            None
                            | Some(cosimo_native::OutputKind::Real | cosimo_native::OutputKind::Held) => {
                                fmu.get(name)
                            }
                            Some(cosimo_native::OutputKind::Integer) => f64::from(fmu.get_count(name)),
                            Some(cosimo_native::OutputKind::Boolean) => {
                                f64::from(u8::from(fmu.get_flag(name)))
                            }
                            Some(cosimo_native::OutputKind::Enumeration(_)) => {
                                fmu.get_enumeration(name) as f64
                            }
                        };
                        assert_eq!(found.to_bits(), wanted.to_bits(), "{source} {name}");
                    }
                    for (state, port) in model.states().iter().enumerate() {
                        assert_eq!(fmu.get(&port.name).to_bits(), x[state].to_bits(), "{source}");
                        let rate = fmu.get(&format!("der({})", port.name));
                        assert_eq!(rate.to_bits(), dx[state].to_bits(), "{source}");
                    }
                }
                assert!(fmu.environment.log.is_empty(), "{:?}", fmu.environment.log);
            }
        }
    }
}

#[test]
fn partial_derivatives_are_those_of_the_equations() {
    for source in exchange_sources() {
        for version in Version::ALL {
            let fmu = Fmu::of(&Design::exchange(&source, version));
            let model = native(&source);
            let (inputs, outputs) = names(&*model);
            fmu.start_continuous();
            let x = fmu.states(model.states().len()).unwrap();
            let u: Vec<f64> = (0..inputs.len()).map(|input| 0.3 + input as f64).collect();
            inputs.iter().zip(&u).for_each(|(name, value)| fmu.set(name, *value));
            let (_, m) = model.initial();
            let states: Vec<String> = model.states().into_iter().map(|port| port.name).collect();
            let rates: Vec<String> = states.iter().map(|name| format!("der({name})")).collect();
            let real = |output: &usize| {
                matches!(model.kinds().get(*output), None | Some(cosimo_native::OutputKind::Real))
            };
            for (place, known) in states.iter().chain(&inputs).enumerate() {
                let mut direction = vec![0.0; x.len() + u.len()];
                direction[place] = 1.0;
                let along = Tangent { x: &direction[..x.len()], u: &direction[x.len()..] };
                let (mut dx, mut y) = (vec![0.0; x.len()], vec![0.0; outputs.len()]);
                model.tangent(&ModelPoint { t: 0.0, x: &x, m: &m, u: &u }, &along, &mut dx, &mut y);
                let shown = (0..outputs.len()).filter(real).map(|output| (&outputs[output], y[output]));
                for (name, wanted) in rates.iter().zip(dx).chain(shown) {
                    assert_eq!(fmu.derivative(name, known), Ok(wanted), "{source}: {name} by {known}");
                    if version == Version::Three {
                        assert_eq!(fmu.adjoint(name, known), wanted);
                    }
                }
            }
            let without = Fmu::of(&Design::exchange(&source, version).variant(Variant::NoDerivatives));
            without.start_continuous();
            if let (Some(rate), Some(state)) = (rates.first(), states.first()) {
                assert_eq!(without.derivative(rate, state), Err(3));
                assert!(
                    without.last_log().ends_with("provides no partial derivatives"),
                    "{}",
                    without.last_log()
                );
                let early = Fmu::of(&Design::exchange(&source, version));
                assert_eq!(early.enter(0.0, None), 0);
                assert_eq!(early.derivative(rate, state), Err(3));
                if let Some(input) = inputs.first() {
                    assert!(early.derivative(rate, input).is_ok());
                }
            }
        }
    }
}

/// One FMU of both kinds, used as either.
#[test]
fn an_fmu_of_both_kinds_shows_its_states_to_those_who_step_it() {
    for version in Version::ALL {
        let design = Design::new("native:oscillator/mass", version).kind(InterfaceType::Both);
        let stepped = Fmu::as_kind(&design, InterfaceType::CoSimulation);
        stepped.set("F", 2.0);
        stepped.start();
        stepped.step(0.0, 0.5);
        let seen = ["state_1", "state_2", "der(state_1)", "der(state_2)"].map(|name| stepped.get(name));
        assert_eq!(seen, [1.25, 1.0, 1.0, 2.0]);
        assert_eq!((stepped.set_time(0.5), stepped.derivatives(2)), (3, Err(3)));
        assert!(stepped.last_log().ends_with("this instance is for co-simulation"), "{}", stepped.last_log());
        let exchanged = Fmu::as_kind(&design, InterfaceType::ModelExchange);
        exchanged.start_continuous();
        assert_eq!(exchanged.try_step(0.0, 0.1, false), 3);
        assert!(
            exchanged.last_log().ends_with("this instance is for model exchange"),
            "{}",
            exchanged.last_log()
        );

        // A state belongs to the kind it was taken from.
        let (mut state, mut read) = (null_mut(), null_mut());
        assert_eq!(stepped.get_state(&mut state), 0);
        assert_eq!(exchanged.deserialize(&stepped.serialize(state), &mut read), 3);
        assert!(
            exchanged.last_log().ends_with("the state belongs to another FMU"),
            "{}",
            exchanged.last_log()
        );
    }
}

#[test]
fn an_fmu_is_instantiated_for_what_it_offers_only() {
    for version in Version::ALL {
        for (kind, other, word) in [
            (InterfaceType::CoSimulation, InterfaceType::ModelExchange, "co-simulation"),
            (InterfaceType::ModelExchange, InterfaceType::CoSimulation, "model exchange"),
        ] {
            let fmu = Fmu::as_kind(&Design::new("native:rc-rl/rc", version).kind(kind), other);
            assert!(!fmu.exists());
            assert!(fmu.last_log().ends_with(&format!("this FMU is for {word} only")), "{}", fmu.last_log());
        }
    }
}

fn tank(version: Version, variant: Variant) -> Fmu {
    Fmu::of(&Design::exchange("native:tanks/second-pipe", version).variant(variant))
}

#[test]
fn time_does_not_go_back_over_events_nor_past_the_end() {
    for version in Version::ALL {
        let fmu = tank(version, Variant::Plain);
        assert_eq!((fmu.enter(1.0, Some(2.0)), fmu.exit()), (0, 0));
        fmu.settle();
        for (time, status) in [(1.25, 0), (1.0, 0), (0.9, 3), (f64::NAN, 3), (2.0, 0), (2.1, 3)] {
            assert_eq!(fmu.set_time(time), status, "{time}");
        }
        assert!(fmu.last_log().ends_with("t = 2.1 lies past the end at 2"), "{}", fmu.last_log());
        for time in [1.25, 1.5] {
            assert_eq!((fmu.set_time(time), fmu.completed(false)), (0, Ok((false, false))));
        }
        // Values between the last two steps may still be asked for.
        assert_eq!((fmu.set_time(1.3), fmu.set_time(1.25), fmu.set_time(1.2)), (0, 0, 3));
        assert_eq!((fmu.set_time(1.5), fmu.enter_event()), (0, 0));
        fmu.settle();
        assert_eq!((fmu.set_time(1.4), fmu.set_time(1.6)), (3, 0));
        let wanted = "t = 1.4 lies before t = 1.5, the last event or the step before the last";
        let log = &fmu.environment.log;
        assert!(log[log.len() - 1].ends_with(wanted), "{log:?}");
    }
}

#[test]
fn a_promise_not_to_go_back_binds() {
    for version in Version::ALL {
        let fmu = tank(version, Variant::Plain);
        fmu.start_continuous();
        let mut state = null_mut();
        assert_eq!(fmu.get_state(&mut state), 0);
        assert_eq!(
            (fmu.set_time(0.1), fmu.completed(false), fmu.set_state(state)),
            (0, Ok((false, false)), 0)
        );
        assert_eq!(
            (fmu.set_time(0.1), fmu.completed(true), fmu.set_state(state)),
            (0, Ok((false, false)), 3)
        );
        assert!(fmu.last_log().contains("noSetFMUStatePriorToCurrentPoint"), "{}", fmu.last_log());
    }
}

#[test]
fn arrays_of_the_wrong_length_are_refused() {
    for version in Version::ALL {
        let fmu = tank(version, Variant::Plain);
        fmu.start_continuous();
        assert_eq!((fmu.derivatives(2), fmu.states(0), fmu.nominals(2)), (Err(3), Err(3), Err(3)));
        assert_eq!((fmu.indicators(1), fmu.set_states(&[1.0, 2.0])), (Err(3), 3));
        assert!(
            fmu.last_log().ends_with("expected an array for 1 continuous states, got 2 values"),
            "{}",
            fmu.last_log()
        );
    }
}

#[test]
fn event_mode_is_left_when_all_is_settled() {
    for version in Version::ALL {
        let fmu = tank(version, Variant::Iterates);
        fmu.start();
        for needed in [true, true, false] {
            assert_eq!(fmu.enter_continuous(), 3);
            assert_eq!(fmu.update().unwrap().needed, needed);
        }
        assert_eq!(fmu.enter_continuous(), 0);
        assert!(
            fmu.last_log().ends_with("DiscreteStates` must be called until it needs no further update"),
            "{}",
            fmu.last_log()
        );
        assert_eq!(fmu.enter_event(), 0);
        assert_eq!(fmu.settle().rounds, 3);
        let plain = tank(version, Variant::Plain);
        plain.start();
        assert_eq!(plain.settle().rounds, 1);
    }
}

#[test]
fn every_fifth_completed_step_may_be_an_event() {
    for version in Version::ALL {
        for (variant, events) in [(Variant::Completed, 0), (Variant::StepEvents, 4)] {
            let fmu = tank(version, variant);
            fmu.start_continuous();
            let mut found = 0;
            for step in 1..=20 {
                assert_eq!(fmu.set_time(0.1 * f64::from(step)), 0);
                if fmu.completed(true).unwrap().0 {
                    found += 1;
                    assert_eq!((step % 5, fmu.enter_event()), (0, 0));
                    fmu.settle();
                }
            }
            assert_eq!(found, events);
        }
    }
}

#[test]
fn states_bring_back_every_bit_and_travel_as_bytes() {
    for source in exchange_sources() {
        for version in Version::ALL {
            let design = Design::exchange(&source, version).variant(Variant::StepEvents);
            let (fmu, other) = (Fmu::of(&design), Fmu::of(&design));
            let count = native(&source).states().len();
            // One crude step of Euler after the other, with events where they are asked for.
            let run = |fmu: &Fmu, from: u32, to: u32| {
                let mut seen = Vec::new();
                for step in from..to {
                    let (x, dx) = (fmu.states(count).unwrap(), fmu.derivatives(count).unwrap());
                    let x: Vec<f64> = x.iter().zip(&dx).map(|(x, dx)| x + 1e-4 * dx).collect();
                    assert_eq!((fmu.set_time(1e-4 * f64::from(step)), fmu.set_states(&x)), (0, 0));
                    seen.extend(bits(&x));
                    if fmu.completed(false).unwrap().0 {
                        assert_eq!(fmu.enter_event(), 0);
                        fmu.settle();
                        seen.push(u64::from(step));
                    }
                }
                seen
            };
            fmu.start_continuous();
            run(&fmu, 1, 8);
            let mut state = null_mut();
            assert_eq!(fmu.get_state(&mut state), 0);
            let wanted = run(&fmu, 8, 20);
            assert_eq!(fmu.set_state(state), 0);
            assert_eq!(run(&fmu, 8, 20), wanted, "{source}");
            let bytes = fmu.serialize(state);
            let mut read = null_mut();
            assert_eq!(other.deserialize(&bytes, &mut read), 0, "{}", other.last_log());
            assert_eq!(other.set_state(read), 0, "{}", other.last_log());
            assert_eq!(run(&other, 8, 20), wanted, "{source}");
            assert_eq!(other.deserialize(&bytes[..bytes.len() - 8], &mut read), 0);
            assert_eq!(other.set_state(read), 3, "a truncated state");
            let none = Fmu::of(&Design::exchange(&source, version).variant(Variant::NoRollback));
            none.start_continuous();
            assert_eq!(none.get_state(&mut { null_mut() }), 3);
        }
    }
}

#[test]
fn the_spy_writes_the_calls_of_model_exchange() {
    for version in Version::ALL {
        let folder = folder("spy-exchange");
        let mut fmu = Fmu::of(&Design::exchange("native:tanks/second-pipe", version).spying());
        assert_eq!(fmu.set_text("spy_file", folder.to_str().unwrap()), 0);
        fmu.start_continuous();
        assert_eq!((fmu.set_time(0.5), fmu.set_states(&[1.0])), (0, 0));
        fmu.set("p", 9810.0);
        assert_eq!((fmu.derivatives(1), fmu.indicators(0)), (Ok(vec![0.0]), Ok(vec![])));
        assert_eq!((fmu.states(1), fmu.nominals(1)), (Ok(vec![1.0]), Ok(vec![1.0])));
        assert_eq!((fmu.completed(true), fmu.enter_event()), (Ok((false, false)), 0));
        assert_eq!(fmu.set_states(&[1.0]), 3);
        if version == Version::Three {
            assert_eq!(fmu.counts(), Ok((1, 0)));
        }
        assert_eq!(fmu.terminate(), 0);
        fmu.environment.log.clear();
        drop(fmu);
        let found = std::fs::read_to_string(folder.join("unit.txt")).unwrap();
        let wanted = match version {
            Version::One | Version::Two => {
                "\
unit fmi2Instantiate(unit, 0, 0, 0) ok
unit fmi2SetString([11]) ok
unit fmi2SetupExperiment(0, 0.0, 0.0, 0, 0.0) ok
unit fmi2EnterInitializationMode() ok
unit fmi2ExitInitializationMode() ok
unit fmi2NewDiscreteStates([0], [0], [0], [0], [0], [0.0]) ok
unit fmi2EnterContinuousTimeMode() ok
unit fmi2SetTime(0.5) ok
unit fmi2SetContinuousStates([1.0]) ok
unit fmi2SetReal([1], [9810.0]) ok
unit fmi2GetDerivatives([0.0]) ok
unit fmi2GetEventIndicators([]) ok
unit fmi2GetContinuousStates([1.0]) ok
unit fmi2GetNominalsOfContinuousStates([1.0]) ok
unit fmi2CompletedIntegratorStep(1, [0], [0]) ok
unit fmi2EnterEventMode() ok
unit fmi2SetContinuousStates([1.0]) error: it must not be called in event mode (FMI 2.0, 3.2.3)
unit fmi2Terminate() ok
unit fmi2FreeInstance() ok
"
            }
            Version::Three => {
                "\
unit fmi3InstantiateModelExchange(unit, false, false) ok
unit fmi3SetString([11]) ok
unit fmi3EnterInitializationMode(false, 0.0, 0.0, false, 0.0) ok
unit fmi3ExitInitializationMode() ok
unit fmi3UpdateDiscreteStates([0], [0], [0], [0], [0], [0.0]) ok
unit fmi3EnterContinuousTimeMode() ok
unit fmi3SetTime(0.5) ok
unit fmi3SetContinuousStates([1.0]) ok
unit fmi3SetFloat64([1], [9810.0]) ok
unit fmi3GetContinuousStateDerivatives([0.0]) ok
unit fmi3GetEventIndicators([]) ok
unit fmi3GetContinuousStates([1.0]) ok
unit fmi3GetNominalsOfContinuousStates([1.0]) ok
unit fmi3CompletedIntegratorStep(true, [0], [0]) ok
unit fmi3EnterEventMode() ok
unit fmi3SetContinuousStates([1.0]) error: it must not be called in event mode (FMI 3.0, 2.3 and 3.2)
unit fmi3GetNumberOfContinuousStates([1]) ok
unit fmi3GetNumberOfEventIndicators([0]) ok
unit fmi3Terminate() ok
unit fmi3FreeInstance() ok
"
            }
        };
        assert_eq!(found, wanted);
        std::fs::remove_dir_all(folder).unwrap();
    }
}
