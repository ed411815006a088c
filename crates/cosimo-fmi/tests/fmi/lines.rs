//! FMUs for model exchange at the ends of lines, against the native models that they were made of.

use std::path::Path;

use cosimo::core::line::{LineEnd, Repay, Stamp, StampInterpolation, StampTable};
use cosimo::core::registry::OpenRequest;
use cosimo::core::{Inputs, Segment, Setup, Simulator, SimulatorError, Slot, StepResult, Time, Value};
use cosimo_export::{Design, InterfaceType, Variant, Version, built_library, write};

use crate::common::{folder, open, outputs, window};

/// What is at a line: with the places of its effort and its flow.
struct Party {
    simulator: Box<dyn Simulator>,
    effort: usize,
    flow: usize,
    /// From the effort in SI FMUs to its own.
    scale: f64,
}

const TOLERANCES: [(&str, f64); 2] = [("relative", 1e-4), ("absolute", 1e-4)];

impl Party {
    fn new(mut simulator: Box<dyn Simulator>, effort: &str, flow: &str) -> Party {
        simulator
            .initialize(&Setup {
                start: Time::ZERO,
                stop: Time::new(10.0),
                stop_at_events: true,
                rewinds: true,
            })
            .unwrap();
        let starts = |port: &cosimo::core::Port| Segment::constant(port.start.unwrap_or(0.0));
        let held: Vec<Segment> = simulator.interface().inputs.iter().map(starts).collect();
        simulator.set_inputs(Time::ZERO, &Inputs::of(&held)).unwrap();
        let place = |ports: &[cosimo::core::Port], name: &str| {
            ports.iter().position(|port| port.name == name).unwrap()
        };
        let interface = simulator.interface();
        assert!(interface.abilities.wave_boundary);
        let (effort, flow) = (place(&interface.inputs, effort), place(&interface.outputs, flow));
        Party { simulator, effort, flow, scale: 1.0 }
    }

    fn native(model: &str) -> Party {
        let source = format!("native:{model}");
        let request = OpenRequest {
            name: "it",
            source: &source,
            folder: Path::new(""),
            parameters: &[],
            joined: false,
        };
        Party::new((cosimo_models::NATIVE.open)(&request).unwrap(), "e", "f")
    }

    fn fmu(folder: &Path, model: &str, version: Version, variant: Variant) -> Party {
        let design = Design::exchange(&format!("native:{model}"), version).variant(variant);
        let file = design.file_name();
        write(&design, &built_library().unwrap(), &folder.join(&file)).unwrap();
        let given = TOLERANCES.map(|(name, value)| (format!("cosimo.{name}"), Value::Number(value)));
        let given: Vec<(&str, Value)> =
            given.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
        Party::new(open(folder, &file, &given).unwrap(), "e", "f")
    }

    fn step(
        &mut self,
        table: &StampTable,
        from: f64,
        line: (f64, f64),
    ) -> Result<StepResult, SimulatorError> {
        self.advance(table, from, line, true)
    }

    /// All the way over one delay.
    fn window(
        &mut self,
        table: &StampTable,
        from: f64,
        line: (f64, f64),
    ) -> Result<StepResult, SimulatorError> {
        self.advance(table, from, line, false)
    }

    fn advance(
        &mut self,
        table: &StampTable,
        from: f64,
        (delay, impedance): (f64, f64),
        stepwise: bool,
    ) -> Result<StepResult, SimulatorError> {
        let Party { simulator, effort, flow, scale } = self;
        let repay = Repay::default();
        let ends = [LineEnd {
            effort: *effort,
            flow: *flow,
            sign: 1.0,
            scale: *scale,
            table,
            own: table,
            delay,
            impedance,
            from,
            repay,
            most: 1.0,
        }];
        let segments = vec![Segment::constant(f64::NAN); simulator.interface().inputs.len()];
        let inputs = Inputs { segments: &segments, ends: &ends, return_each_internal_step: stepwise };
        simulator.do_step(window(from, delay), &inputs)
    }

    /// Until an instant: all that was seen, and the evaluations. At 0.05 s the line becomes longer, at 0.1 s shorter.
    fn run(&mut self, table: &StampTable, mut t: f64, stop: f64) -> (Vec<(f64, f64)>, u64) {
        let (mut seen, mut evaluations) = (Vec::new(), 0);
        while t < stop {
            let kappa = if (0.05..0.1).contains(&t) { 4.0 } else { 1.0 };
            let reached = self.step(table, t, (kappa * 1e-4, kappa * 0.1)).unwrap();
            t = reached.to.seconds();
            evaluations += reached.evaluations;
            let flow = outputs(&mut *self.simulator)[self.flow];
            if reached.event {
                let (wave, flows, _) = table.at(t - kappa * 1e-4);
                let effort = wave + kappa * 0.1 * (flows + flow);
                let mut held = vec![Segment::ZERO; self.simulator.interface().inputs.len()];
                held[self.effort] = Segment::constant(effort);
                self.simulator.set_inputs(reached.to, &Inputs::of(&held)).unwrap();
            }
            seen.push((t, flow));
        }
        (seen, evaluations)
    }
}

/// Another end that swings.
fn swinging() -> StampTable {
    let mut table = StampTable::new(Stamp::default(), StampInterpolation::Linear);
    for i in 1..3000 {
        let t = 1e-4 * f64::from(i);
        table.publish(t, 20.0 * (80.0 * t).sin(), 3.0 * (50.0 * t).sin());
    }
    table
}

#[test]
fn fmus_at_a_line_move_as_native_models_do_and_as_cheaply() {
    let (folder, table) = (folder("lines"), swinging());
    for model in ["spring-mass/left", "spring-mass/right"] {
        let (wanted, native) = Party::native(model).run(&table, 0.0, 0.2);
        for version in Version::ALL {
            for variant in [Variant::Plain, Variant::NoRollback, Variant::NoDerivatives, Variant::Completed] {
                let (found, evaluations) = Party::fmu(&folder, model, version, variant).run(&table, 0.0, 0.2);
                let flow = |seen: &[(f64, f64)], t: f64| {
                    let after = seen.partition_point(|(instant, _)| *instant < t).min(seen.len() - 1);
                    seen[after].1
                };
                let largest = wanted.iter().fold(0.0f64, |largest, (_, flow)| largest.max(flow.abs()));
                for (t, flow_found) in &found {
                    let off = (flow_found - flow(&wanted, *t)).abs() / largest;
                    assert!(off < 1e-3, "{model}, {version:?}, {variant:?} at {t}: {off}");
                }
                println!("{model}, {version:?}, {variant:?}: {evaluations} evaluations, native {native}");
                assert!(evaluations.abs_diff(native) <= 5, "{model}: {evaluations}, native {native}");
            }
        }
    }
}

#[test]
fn a_step_at_a_line_can_be_taken_back_and_kept_as_bytes() {
    let (folder, table) = (folder("lines-back"), swinging());
    for version in Version::ALL {
        let mut fmu = Party::fmu(&folder, "spring-mass/left", version, Variant::Plain);
        let (seen, _) = fmu.run(&table, 0.0, 0.049);
        let t = seen.last().unwrap().0;
        fmu.simulator.rollback().unwrap().save(Slot::Attempt).unwrap();
        let mut frozen = Vec::new();
        fmu.simulator.serialize_state().unwrap().serialize(&mut frozen).unwrap();
        let onwards = fmu.run(&table, t, 0.06);
        fmu.simulator.rollback().unwrap().restore(Slot::Attempt).unwrap();
        assert_eq!(onwards, fmu.run(&table, t, 0.06));
        let mut twin = Party::fmu(&folder, "spring-mass/left", version, Variant::Plain);
        twin.simulator.rollback().unwrap().save(Slot::Attempt).unwrap();
        twin.simulator.serialize_state().unwrap().deserialize(&frozen).unwrap();
        assert_eq!(onwards, twin.run(&table, t, 0.06));
    }
}

/// A pipe lets through what the pressure at its end says, at once.
#[test]
fn a_flow_that_answers_its_effort_at_once_is_refused() {
    let (folder, table) = (folder("lines-refused"), swinging());
    for version in Version::ALL {
        let design = Design::exchange("native:tanks/second-pipe", version);
        let file = design.file_name();
        write(&design, &built_library().unwrap(), &folder.join(&file)).unwrap();
        let mut pipe = Party::new(open(&folder, &file, &[]).unwrap(), "p", "q");
        let error = pipe.step(&table, 0.0, (1e-4, 0.1)).unwrap_err().to_string();
        assert!(
            error.contains("the flow `q` has (or may have) direct feed-through from the effort `p`"),
            "{error}"
        );
    }
}

/// M v' = F - B v from the push on, in the middle of a step.
#[test]
fn events_and_the_stiff_integrator_are_inside_fmus_for_co_simulation() {
    let folder = folder("lines-inside");
    let source = "native:spring-mass/left";
    let request = OpenRequest { name: "it", source, folder: Path::new(""), parameters: &[], joined: false };
    for version in Version::ALL {
        for kind in [InterfaceType::CoSimulation, InterfaceType::Both] {
            let design = Design::new(source, version).kind(kind);
            let file = design.file_name();
            write(&design, &built_library().unwrap(), &folder.join(&file)).unwrap();
            let given = [("cosimo.use", Value::Text("co-simulation".into()))];
            let mut fmu = open(&folder, &file, &given).unwrap();
            let mut native = (cosimo_models::NATIVE.open)(&request).unwrap();
            for simulator in [&mut fmu, &mut native] {
                simulator
                    .initialize(&Setup {
                        start: Time::ZERO,
                        stop: Time::new(1.0),
                        stop_at_events: false,
                        rewinds: true,
                    })
                    .unwrap();
            }
            let places = ["v1", "force"]
                .map(|name| fmu.interface().outputs.iter().position(|port| port.name == name).unwrap());
            for step in 0..200 {
                let from = 0.7e-3 * f64::from(step);
                for simulator in [&mut fmu, &mut native] {
                    let (window, held) = (window(from, 0.7e-3), [Segment::ZERO]);
                    let reached = simulator.do_step(window, &Inputs::of(&held)).unwrap();
                    assert_eq!(reached.to, window.to);
                }
                let (found, t) = (outputs(&mut *fmu), from + 0.7e-3);
                let wanted = if t < 0.1 { 0.0 } else { 500.0 * (1.0 - (-40.0 * (t - 0.1)).exp()) };
                assert!((found[places[0]] - wanted).abs() < 1e-2 * (1.0 + wanted), "{t}: {found:?} {wanted}");
                assert_eq!(found[places[1]], if t < 0.1 { 0.0 } else { 100.0 });
                assert_eq!(found[places[0]].to_bits(), outputs(&mut *native)[2].to_bits(), "{t}");
            }
        }
    }
}

/// An FMU that is told waves, and the native model in the same windows.
#[test]
fn fmus_that_solve_for_the_effort_move_as_native_models_do() {
    let (folder, table) = (folder("lines-waves"), swinging());
    // The second one has efforts in units of its own.
    for (model, scale) in [("spring-mass/left", 1.0), ("spring-mass/right", 0.5)] {
        for version in Version::ALL {
            let design = Design::new(&format!("native:{model}"), version).at_lines();
            let file = design.file_name();
            write(&design, &built_library().unwrap(), &folder.join(&file)).unwrap();
            let tight = [("relative", Value::Number(1e-8)), ("absolute", Value::Number(1e-8))];
            let fmu = open(&folder, &file, &tight).unwrap();
            let names: Vec<&str> = fmu.interface().inputs.iter().map(|port| port.name.as_str()).collect();
            assert_eq!(names, ["e"], "waves are no ports");
            let given = tight.map(|(name, value)| (name.to_owned(), value));
            let source = format!("native:{model}");
            let request = OpenRequest {
                name: "it",
                source: &source,
                folder: Path::new(""),
                parameters: &given,
                joined: false,
            };
            let native = (cosimo_models::NATIVE.open)(&request).unwrap();
            let mut parties = [fmu, native].map(|it| Party { scale, ..Party::new(it, "e", "f") });
            assert_eq!([parties[0].effort, parties[0].flow], [0, 0]);
            let mut largest = 0.0f64;
            for step in 0..1500 {
                let (from, impedance) = (1e-4 * f64::from(step), if step < 700 { 0.1 } else { 5.0 });
                let flows = parties.each_mut().map(|party| {
                    party.window(&table, from, (1e-4, impedance)).unwrap();
                    outputs(&mut *party.simulator)[party.flow]
                });
                largest = largest.max(flows[1].abs());
                let off = (flows[0] - flows[1]).abs();
                assert!(off < 1e-4 * (1.0 + largest), "{model}, {version:?}, {from}: {flows:?}");
                if step == 900 {
                    let fmu = &mut parties[0];
                    fmu.simulator.rollback().unwrap().save(Slot::Attempt).unwrap();
                    let once = fmu
                        .window(&table, from + 1e-4, (1e-4, impedance))
                        .map(|_| outputs(&mut *fmu.simulator));
                    fmu.simulator.rollback().unwrap().restore(Slot::Attempt).unwrap();
                    let twice = fmu
                        .window(&table, from + 1e-4, (1e-4, impedance))
                        .map(|_| outputs(&mut *fmu.simulator));
                    assert_eq!(once, twice);
                    fmu.simulator.rollback().unwrap().restore(Slot::Attempt).unwrap();
                }
            }
            assert!(largest > 1.0);
            // Without a line the effort is what it is told.
            let [fmu, native] = &mut parties;
            let mut off = 0.0f64;
            for step in 1500..1520 {
                let flows = [&mut *fmu, &mut *native].map(|party| {
                    let window = window(1e-4 * f64::from(step), 1e-4);
                    let held = [Segment::constant(3.0)];
                    party.simulator.do_step(window, &Inputs::of(&held)).unwrap();
                    outputs(&mut *party.simulator)[party.flow]
                });
                off = off.max((flows[0] - flows[1]).abs());
            }
            assert!(off < 1e-4 * (1.0 + largest), "{model}, {version:?}: {off}");
        }
    }
}

/// In FMI 3.0 an FMU that is told waves shows every step of its solver and returns after it, as native models do.
#[test]
fn an_fmu_that_updates_in_between_is_followed_step_by_step() {
    let (folder, table) = (folder("lines-steps"), swinging());
    for model in ["spring-mass/left", "spring-mass/right"] {
        let design = Design::new(&format!("native:{model}"), Version::Three).at_lines();
        let file = design.file_name();
        write(&design, &built_library().unwrap(), &folder.join(&file)).unwrap();
        let mut fmu = Party::new(open(&folder, &file, &[]).unwrap(), "e", "f");
        let mut native = Party::native(model);
        // Long delays: the solver's own steps are shorter.
        let line = (5e-3, 5.0);
        let mut seen = [&mut fmu, &mut native].map(|party| {
            let (mut t, mut seen) = (0.0, Vec::new());
            while t < 0.2 {
                t = party.step(&table, t, line).unwrap().to.seconds();
                seen.push((t, outputs(&mut *party.simulator)[party.flow]));
            }
            seen
        });
        let [found, wanted] = &mut seen;
        println!("{model}: {} steps, native {}", found.len(), wanted.len());
        // A wave that arrives as a cubic anew with every step is a little rougher than the table itself.
        assert!((wanted.len()..2 * wanted.len()).contains(&found.len()), "{} {}", found.len(), wanted.len());
        let largest = wanted.iter().fold(0.0f64, |largest, (_, flow)| largest.max(flow.abs()));
        for (t, flow) in found.iter() {
            let after = wanted.partition_point(|(instant, _)| instant < t).clamp(1, wanted.len() - 1);
            let ((t0, f0), (t1, f1)) = (wanted[after - 1], wanted[after]);
            let between = f0 + (f1 - f0) * (t - t0) / (t1 - t0);
            assert!((flow - between).abs() < 0.02 * largest, "{model} at {t}: {flow} {between}");
        }
    }
}
