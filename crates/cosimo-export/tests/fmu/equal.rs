//! Every model as an FMU gives the numbers of the native simulator, bit for bit where the standard allows it.

use std::path::Path;

use cosimo_core::registry::OpenRequest;
use cosimo_core::{Inputs, Outputs, Segment, Setup, Simulator, Time, Value, Window};
use cosimo_export::{Design, Variant, Version, sources};
use cosimo_models::NATIVE;

use crate::load::Fmu;

fn native(source: &str, parameters: &[(String, Value)]) -> Box<dyn Simulator> {
    let request = OpenRequest { name: "unit", source, folder: Path::new(""), parameters, joined: false };
    let mut simulator = (NATIVE.open)(&request).unwrap();
    simulator
        .initialize(&Setup { start: Time::ZERO, stop: None, stop_at_events: false, rewinds: true })
        .unwrap();
    simulator
}

fn advance(simulator: &mut dyn Simulator, from: f64, size: f64, segments: &[Segment]) {
    let instant = |seconds| Time::new(seconds).unwrap();
    let window = Window { from: instant(from), to: instant(from + size), size };
    simulator.do_step(window, &Inputs::of(segments)).unwrap();
}

fn outputs(simulator: &mut dyn Simulator) -> (Vec<f64>, Vec<f64>) {
    let count = simulator.interface().outputs.len();
    let (mut values, mut slopes) = (vec![0.0; count], vec![0.0; count]);
    simulator.get_outputs(&mut Outputs { values: &mut values, slopes: &mut slopes }).unwrap();
    (values, slopes)
}

/// Names as the FMU has them: a model may use one name twice.
fn names(simulator: &dyn Simulator) -> (Vec<String>, Vec<String>) {
    let interface = simulator.interface();
    let (inputs, outputs) = (&interface.inputs, &interface.outputs);
    let twice = |name: &str| inputs.iter().any(|p| p.name == name) && outputs.iter().any(|p| p.name == name);
    let name = |name: &str, end: &str| if twice(name) { format!("{name}{end}") } else { name.to_owned() };
    let inputs_named = inputs.iter().map(|port| name(&port.name, "_in")).collect();
    (inputs_named, outputs.iter().map(|port| name(&port.name, "_out")).collect())
}

/// An input over time that is neither smooth nor small.
fn signal(step: usize, port: usize) -> f64 {
    let phase = (step * (port + 3)) as f64 * 0.37;
    phase.sin() * 3.0 + if step.is_multiple_of(7) { 1.0 } else { 0.0 }
}

fn all() -> Vec<(String, Vec<(String, String)>)> {
    let mut all: Vec<_> = sources().into_iter().map(|source| (source, vec![])).collect();
    for part in ["wheel-strut", "chassis-strut"] {
        let choice = ("displacement".into(), "communicated".into());
        all.push((format!("native:quarter-car/{part}"), vec![choice]));
    }
    all
}

#[test]
fn held_inputs_give_the_native_bits_in_every_model_and_version() {
    for (source, choices) in all() {
        for version in Version::ALL {
            for variant in [Variant::Plain, Variant::NoRollback, Variant::Intermediate] {
                if !variant.exists_in(version) {
                    continue;
                }
                let design =
                    Design { choices: choices.clone(), ..Design::new(&source, version).variant(variant) };
                let fmu = Fmu::of(&design);
                let given: Vec<_> =
                    choices.iter().map(|(name, word)| (name.clone(), Value::Text(word.clone()))).collect();
                let mut simulator = native(&source, &given);
                let (inputs, shown) = names(&*simulator);
                fmu.start();
                let mut time = 0.0;
                for step in 0..100 {
                    let size = if step % 3 == 0 { 1e-3 } else { 7.3e-4 };
                    let values: Vec<f64> = (0..inputs.len()).map(|port| signal(step, port)).collect();
                    for (name, value) in inputs.iter().zip(&values) {
                        fmu.set(name, *value);
                    }
                    let segments: Vec<Segment> =
                        values.iter().map(|value| Segment::constant(*value)).collect();
                    advance(&mut *simulator, time, size, &segments);
                    fmu.step(time, size);
                    time += size;
                    for (name, wanted) in shown.iter().zip(outputs(&mut *simulator).0) {
                        let found = fmu.get(name);
                        assert_eq!(found.to_bits(), wanted.to_bits(), "{} {name} {step}", design.file_name());
                    }
                }
                assert_eq!(fmu.get("time"), time);
                assert!(fmu.environment.log.is_empty(), "{:?}", fmu.environment.log);
            }
        }
    }
}

/// The file as it is handed over.
#[test]
fn a_whole_file_runs_alone() {
    for version in Version::ALL {
        let fmu = Fmu::whole(&Design::new("native:oscillator/mass", version));
        fmu.start();
        fmu.step(0.0, 1.0);
        assert_eq!((fmu.get("x"), fmu.get("time")), (1.0, 1.0));
    }
}

#[test]
fn parameters_reach_the_model_until_initialisation_ends() {
    for version in Version::ALL {
        let source = "native:quarter-car/wheel-strut";
        let fmu = Fmu::plain(source, version, Variant::Plain);
        fmu.set("p", 0.5);
        assert_eq!(fmu.set_count("micro_steps", 256), 0);
        assert_eq!(fmu.enter(0.0, Some(1.0)), 0);
        fmu.set("zw0", 0.02);
        assert_eq!(fmu.get_count("micro_steps"), 256);
        fmu.set("v", 0.25);
        let given = [("p", 0.5), ("micro_steps", 256.0), ("zw0", 0.02)];
        let given: Vec<_> =
            given.iter().map(|(name, value)| ((*name).into(), Value::Number(*value))).collect();
        let mut simulator = native(source, &given);
        let held = [Segment::constant(0.25)];
        simulator.set_inputs(Time::ZERO, &Inputs::of(&held)).unwrap();
        assert_eq!(fmu.get("F").to_bits(), outputs(&mut *simulator).0[0].to_bits());
        assert_eq!(fmu.exit(), 0);
        for step in 0..20 {
            advance(&mut *simulator, f64::from(step) * 1e-3, 1e-3, &held);
            fmu.step(f64::from(step) * 1e-3, 1e-3);
        }
        assert_eq!(fmu.get("F").to_bits(), outputs(&mut *simulator).0[0].to_bits());
        assert_eq!((fmu.try_set("p", 1.0), fmu.set_count("micro_steps", 1)), (3, 3));
        assert!(fmu.last_log().contains("the parameter `micro_steps` is fixed"), "{}", fmu.last_log());
        assert_eq!(fmu.get("F").to_bits(), outputs(&mut *simulator).0[0].to_bits());
    }
}

#[test]
fn wrong_parameters_are_refused_at_once() {
    for version in Version::ALL {
        let fmu = Fmu::plain("native:quarter-car/wheel", version, Variant::Plain);
        assert_eq!(fmu.try_set("mw", -1.0), 3);
        assert!(
            fmu.last_log().ends_with("`mw` must be a finite number above 0, got -1"),
            "{}",
            fmu.last_log()
        );
        assert_eq!(fmu.set_count("micro_steps", 0), 3);
        assert!(fmu.last_log().ends_with("`micro_steps` must be at least 1, got 0"), "{}", fmu.last_log());
        assert_eq!(fmu.set_count("mw", 3), 3);
        assert_eq!(fmu.try_set("v", 1.0), 3);
        assert!(fmu.last_log().ends_with("`v` cannot be set"), "{}", fmu.last_log());
        fmu.start();
    }
}

#[test]
fn derivatives_of_inputs_make_the_native_segment() {
    for source in sources() {
        let fmu = Fmu::plain(&source, Version::Two, Variant::Interpolates);
        let mut simulator = native(&source, &[]);
        let (inputs, shown) = names(&*simulator);
        fmu.start();
        let size = 1e-3;
        for step in 0..40 {
            let time = f64::from(step) * size;
            let segments: Vec<Segment> = (0..inputs.len())
                .map(|port| Segment([signal(step as usize, port), 3.0, -40.0, 0.0]))
                .collect();
            for (name, Segment([value, slope, bend, _])) in inputs.iter().zip(&segments) {
                // In either order: the standard asks for none.
                if step % 2 == 0 {
                    fmu.set(name, *value);
                }
                assert_eq!(fmu.set_derivative(name, 1, *slope), 0);
                assert_eq!(fmu.set_derivative(name, 2, 2.0 * bend), 0);
                if step % 2 == 1 {
                    fmu.set(name, *value);
                }
            }
            advance(&mut *simulator, time, size, &segments);
            fmu.step(time, size);
            let (values, slopes) = outputs(&mut *simulator);
            for (port, name) in shown.iter().enumerate() {
                assert_eq!(fmu.get(name).to_bits(), values[port].to_bits(), "{source} {name} {step}");
                if simulator.interface().abilities.slopes {
                    assert_eq!(fmu.output_derivative(name), Ok(slopes[port]), "{source} {name} {step}");
                } else {
                    assert_eq!(fmu.output_derivative(name), Err(3));
                }
            }
        }
        assert_eq!(fmu.set_derivative(&inputs[0], 4, 1.0), 3);
    }
    let fmu = Fmu::plain("native:quarter-car/wheel", Version::Two, Variant::Plain);
    fmu.start();
    assert_eq!(fmu.set_derivative("F", 1, 1.0), 3);
}

#[test]
fn intermediate_update_asks_for_the_inputs_and_follows_their_cubic() {
    for source in sources() {
        let mut fmu = Fmu::plain(&source, Version::Three, Variant::Intermediate);
        let mut simulator = native(&source, &[]);
        // Solvers with tolerances choose their steps, and the rounding of a cubic may lead to others.
        let chooses = simulator.interface().abilities.wave_boundary;
        let within = if chooses { 1e-5 } else { 1e-10 };
        if chooses {
            let tight = ["relative", "absolute"].map(|name| (name.to_owned(), Value::Number(1e-9)));
            tight.iter().for_each(|(name, _)| fmu.set(name, 1e-9));
            simulator = native(&source, &tight);
        }
        let (inputs, shown) = names(&*simulator);
        fmu.environment.look_at = Some(fmu.reference(&shown[0]));
        fmu.start();
        let size = 1e-3;
        for step in 0..20 {
            let time = f64::from(step) * size;
            let segment = |port: usize| Segment([signal(step as usize, port), 50.0, -4e4, 1e7]);
            let segments: Vec<Segment> = (0..inputs.len()).map(segment).collect();
            let (told, references) =
                (segments.clone(), inputs.iter().map(|name| fmu.reference(name)).collect::<Vec<_>>());
            fmu.environment.updates.clear();
            fmu.environment.answers = Some(Box::new(move |at| {
                let value = |(reference, segment): (&u32, &Segment)| (*reference, segment.at(at - time));
                references.iter().zip(&told).map(value).collect()
            }));
            advance(&mut *simulator, time, size, &segments);
            fmu.step(time, size);
            let times: Vec<f64> = fmu.environment.updates.iter().map(|update| update.0 - time).collect();
            assert!(times.is_sorted() && times.len() == 5, "{times:?}");
            let kinds: Vec<_> =
                fmu.environment.updates.iter().map(|update| (update.1, update.2, update.3)).collect();
            let ask = (true, false, false);
            assert_eq!(kinds, [ask, ask, ask, ask, (false, true, true)]);
            for (name, wanted) in shown.iter().zip(outputs(&mut *simulator).0) {
                let found = fmu.get(name);
                assert!(
                    (found - wanted).abs() <= within * wanted.abs().max(1.0),
                    "{source} {name}: {found} {wanted}"
                );
            }
            assert_eq!(fmu.environment.seen.last(), Some(&fmu.get(&shown[0])));
        }
    }
}

#[test]
fn derivatives_of_outputs_by_inputs_are_the_native_ones() {
    for (source, choices) in all() {
        for version in Version::ALL {
            let design = Design { choices: choices.clone(), ..Design::new(&source, version) };
            let fmu = Fmu::of(&design);
            let given: Vec<_> =
                choices.iter().map(|(name, word)| (name.clone(), Value::Text(word.clone()))).collect();
            let mut simulator = native(&source, &given);
            let (inputs, shown) = names(&*simulator);
            fmu.start();
            let held: Vec<Segment> =
                (0..inputs.len()).map(|port| Segment::constant(signal(1, port))).collect();
            for (name, segment) in inputs.iter().zip(&held) {
                fmu.set(name, segment.0[0]);
            }
            advance(&mut *simulator, 0.0, 1e-3, &held);
            fmu.step(0.0, 1e-3);
            let mut jacobian = vec![0.0; inputs.len() * shown.len()];
            simulator.jacobian().unwrap().fill(&mut jacobian).unwrap();
            for (row, output) in shown.iter().enumerate() {
                for (column, input) in inputs.iter().enumerate() {
                    let wanted = jacobian[row * inputs.len() + column];
                    assert_eq!(fmu.derivative(output, input), Ok(wanted), "{source} {output} {input}");
                    if version == Version::Three {
                        assert_eq!(fmu.adjoint(output, input), wanted);
                    }
                }
            }
            assert_eq!(fmu.derivative(&inputs[0], &inputs[0]), Err(3));
        }
    }
}
