//! FMUs for model exchange: Cosimo integrates their equations, through the real engine.

use std::path::Path;

use cosimo::core::{Segment, Setup, Simulator, Slot, Time, Value};
use cosimo::engine::{Checkpoint, Run, plan};
use cosimo::record::{MemoryRecorder, Table};
use cosimo_models::{BouncingBall, HYBRID};
use cosimo_test_fmus::{Design, InterfaceType, SABOTEUR, Variant, Version, built_library, write};

use crate::common::{advance, enter, folder, open, outputs, refusal};

fn export(folder: &Path, design: &Design) -> String {
    let name = design.file_name();
    write(design, &built_library().unwrap(), &folder.join(&name)).unwrap();
    name
}

fn start(folder: &Path, text: &str) -> Run {
    let registry = cosimo::registry();
    let (system, problems) = cosimo::system::toml::read(text, folder, &registry);
    assert!(problems.is_empty(), "{problems:#?} in\n{text}");
    let plan = plan(&system, &registry).unwrap_or_else(|problems| panic!("{problems:#?} in\n{text}"));
    Run::new(plan.rewinding(), 1).unwrap()
}

fn table(run: &mut Run) -> Table {
    let memory = MemoryRecorder::default();
    run.record(Box::new(memory.clone())).unwrap();
    while !run.finished() {
        run.step().unwrap();
    }
    run.finish().unwrap();
    memory.table()
}

/// One FMU alone.
fn alone(fmu: &str, parameters: &str, stop: f64, step: f64) -> String {
    format!(
        "[experiment]\nstop = {stop:?}\n[component.fmu]\nsource = \"{fmu}\"\nparameters = {{ {parameters} }}\n\
         [method]\nstep = {{ size = {step:?} }}\n"
    )
}

const SOLVERS: &[&str] = &[
    "dormand-prince",
    "bogacki-shampine",
    "bdf",
    #[cfg(feature = "cvode")]
    "cvode",
];
const STIFF: [&str; 2] = ["bdf", "cvode"];

/// Evaluations of the right-hand side, Jacobians included.
const COUNTS: &[(&str, &str, u64)] = &[
    ("van-der-pol", "bdf", 2159),
    ("robertson", "bdf", 529),
    ("bouncing-ball", "dormand-prince", 1508),
    ("bouncing-ball", "bogacki-shampine", 809),
    ("bouncing-ball", "bdf", 964),
    ("stair", "dormand-prince", 0),
    ("stair", "bogacki-shampine", 0),
    ("stair", "bdf", 0),
    ("thermostat", "dormand-prince", 2799),
    ("thermostat", "bogacki-shampine", 1473),
    ("thermostat", "bdf", 988),
    ("driven", "dormand-prince", 842),
    ("driven", "bogacki-shampine", 1181),
    ("driven", "bdf", 184),
];

#[test]
fn every_equation_with_a_reference_follows_it() {
    let folder = folder("exchange-references");
    for entry in HYBRID {
        // Of a stair all events are announced, one per second; its reference is for every 0.35 s.
        let reference = (entry.reference)();
        let interval = reference[1][0] - reference[0][0];
        for version in Version::ALL {
            let fmu = export(&folder, &Design::exchange(&format!("native:{}", entry.name), version));
            let stiff = ["van-der-pol", "robertson"].contains(&entry.name);
            for solver in SOLVERS.iter().copied().filter(|solver| !stiff || STIFF.contains(solver)) {
                let parameters = format!("\"cosimo.solver\" = \"{solver}\", \"cosimo.relative\" = 1e-8");
                let stop = reference.last().unwrap()[0];
                let mut run = start(&folder, &alone(&fmu, &parameters, stop, interval / 7.0));
                let found = table(&mut run);
                let evaluations = run.counters().evaluations;
                println!("{} {version:?} {solver}: {evaluations} evaluations", entry.name);
                // The work of another tool's solver is not promised here.
                if solver != "cvode" {
                    let known =
                        COUNTS.iter().find(|(model, with, _)| (*model, *with) == (entry.name, solver));
                    let (_, _, wanted) = known.unwrap();
                    assert!(
                        evaluations.abs_diff(*wanted) * 10 <= *wanted,
                        "{} {solver}: {evaluations}, not {wanted}",
                        entry.name
                    );
                }
                // Announced events are points of communication too; here they are multiples of the step.
                for wanted in &reference {
                    let near = |t: &f64| (t - wanted[0]).abs() < 1e-9 * stop;
                    let row = found.values[0].iter().position(near).unwrap();
                    for (column, wanted) in wanted.iter().enumerate().skip(1) {
                        let found = found.values[column][row];
                        let within = 3e-5 * wanted.abs().max(1e-3);
                        assert!(
                            (found - wanted).abs() < within,
                            "{} {solver}, row {row}: {found}, not {wanted}",
                            entry.name
                        );
                    }
                }
            }
        }
    }
}

/// The whole story of an FMU: opened, entered, stepped, read.
fn entered(folder: &Path, fmu: &str, parameters: &[(&str, Value)]) -> Box<dyn Simulator> {
    let mut simulator = open(folder, fmu, parameters).unwrap();
    enter(&mut *simulator);
    simulator
}

/// Every bounce is between a microsecond before it and a microsecond after, also where they crowd together.
#[test]
fn a_ball_bounces_when_it_should() {
    let folder = folder("exchange-bounces");
    let ball = BouncingBall { height: 1.0, velocity: 0.0, restitution: 0.7, gravity: 9.81, rest: 0.1 };
    let bounces = ball.bounces();
    assert!(bounces.len() > 8);
    for version in Version::ALL {
        for variant in [Variant::Plain, Variant::Completed, Variant::StepEvents, Variant::Iterates] {
            let fmu = export(&folder, &Design::exchange("native:bouncing-ball", version).variant(variant));
            // Starting anew after every fifth step keeps BDF at its first orders; errors of 170 000 steps add up.
            let patient = |solver: &&str| !STIFF.contains(solver) || variant != Variant::StepEvents;
            for solver in SOLVERS.iter().copied().filter(patient) {
                let text = Value::Text(solver.into());
                let given = [("height", 1.0), ("velocity", 0.0), ("restitution", 0.7), ("rest", 0.1)];
                let mut parameters: Vec<(&str, Value)> =
                    given.iter().map(|(name, value)| (*name, Value::Number(*value))).collect();
                parameters.extend([("cosimo.solver", text), ("cosimo.relative", Value::Number(1e-9))]);
                let mut simulator = entered(&folder, &fmu, &parameters);
                let mut now = 0.0;
                for (count, bounce) in bounces.iter().enumerate() {
                    for (aside, wanted) in [(-1e-6, count), (1e-6, count + 1)] {
                        advance(&mut *simulator, now, bounce + aside - now, &[]).unwrap();
                        now = bounce + aside;
                        let found = outputs(&mut *simulator)[2];
                        assert_eq!(found, wanted as f64, "{version:?}, {variant:?}, {solver}, {now} s");
                    }
                }
                advance(&mut *simulator, now, 10.0 - now, &[]).unwrap();
                assert_eq!(outputs(&mut *simulator)[..2], [0.0, 0.0]);
            }
        }
    }
}

/// An input that jumps is followed from the jump on, one that moves as it moves; both cost little.
#[test]
fn inputs_are_seen_at_the_stages_of_the_integrator() {
    let folder = folder("exchange-inputs");
    for version in Version::ALL {
        let fmu = export(&folder, &Design::exchange("native:driven", version));
        for solver in SOLVERS {
            let given =
                [("cosimo.solver", Value::Text((*solver).into())), ("cosimo.relative", Value::Number(1e-10))];
            let mut simulator = entered(&folder, &fmu, &given);
            let (mut x, mut now) = (0.5, 0.0);
            for (window, u) in [2.0, 2.0, -1.0, 5.0, 5.0].into_iter().enumerate() {
                advance(&mut *simulator, now, 0.3, &[Segment::constant(u)]).unwrap();
                x = cosimo_models::lagging(0.3, x, u, 0.8);
                now += 0.3;
                let found = outputs(&mut *simulator);
                assert!(
                    (found[0] - x).abs() < 1e-7 && (found[1] - (u - x)).abs() < 1e-7,
                    "{solver}, {window}: {found:?} {x}"
                );
            }
            // T x' = u - x with u = 1 + s + s^2 + s^3 has this solution.
            let cubic = Segment([1.0, 1.0, 1.0, 1.0]);
            let (lag, s) = (0.8, 0.3);
            let particular = |s: f64| {
                let (t, u) = (lag, |s: f64| 1.0 + s + s * s + s * s * s);
                u(s) - t * (1.0 + 2.0 * s + 3.0 * s * s) + t * t * (2.0 + 6.0 * s) - 6.0 * t * t * t
            };
            advance(&mut *simulator, now, s, &[cubic]).unwrap();
            let wanted = particular(s) + (x - particular(0.0)) * (-s / lag).exp();
            let found = outputs(&mut *simulator)[0];
            assert!((found - wanted).abs() < 1e-7, "{solver}: {found} {wanted}");
            let (mut values, mut slopes) = ([0.0; 2], [0.0; 2]);
            let mut out = cosimo::core::Outputs { values: &mut values, slopes: &mut slopes };
            simulator.get_outputs(&mut out).unwrap();
            let (rise, follows) = (cubic.slope(s), (cubic.at(s) - found) / lag);
            assert!(
                (slopes[0] - follows).abs() < 1e-5 && (slopes[1] - (rise - follows)).abs() < 1e-5,
                "{solver}: {slopes:?}"
            );
        }
    }
}

/// The dual mass of FMUs for model exchange is that of native models, by whatever method.
#[test]
fn fmus_for_either_use_agree_with_native_models() {
    let folder = folder("exchange-dual-mass");
    let methods = [
        "input = \"hold\"",
        "input = \"linear\"\nexchange = \"fresh\"",
        "input = \"quadratic\"\npartition = \"gauss-seidel\"",
        "input = \"linear\"\ncorrection = { nepce = { form = \"account\", feedthrough = \"difference\" } }",
        "input = \"linear\"\niteration = { waveform = { relative = 1e-10, absolute = 1e-10 } }",
    ];
    for version in Version::ALL {
        let sides = ["left-force", "right"]
            .map(|side| export(&folder, &Design::exchange(&format!("native:dual-mass/{side}"), version)));
        for method in methods {
            let text = |sources: [&str; 2], parameters: &str| {
                let [left, right] = sources;
                format!(
                    "[experiment]\nstop = 2.0\n[component.left]\nsource = \"{left}\"\nparameters = {{ {parameters} }}\n\
                     [component.right]\nsource = \"{right}\"\nparameters = {{ {parameters} }}\n\
                     [[connection]]\nfrom = \"right.x\"\nto = \"left.x_far\"\n\
                     [[bond]]\nname = \"joint\"\na = {{ effort = \"left.f\", flow = \"left.v_far\" }}\n\
                     b = {{ effort = \"right.f\", flow = \"right.v\" }}\n\
                     [method]\n{method}\nstep = {{ size = 0.02 }}\n"
                )
            };
            let wanted = table(&mut start(
                &folder,
                &text(["native:dual-mass/left-force", "native:dual-mass/right"], ""),
            ));
            for solver in SOLVERS {
                let parameters = format!("\"cosimo.solver\" = \"{solver}\", \"cosimo.relative\" = 1e-10");
                let found = table(&mut start(&folder, &text([&sides[0], &sides[1]], &parameters)));
                for name in ["left.x", "left.v", "left.f", "right.x", "right.v", "bond.joint.residual_energy"]
                {
                    let Some(wanted) = wanted.column(name) else {
                        panic!("{name}: {:?}", wanted.columns.names)
                    };
                    for (row, (found, wanted)) in found.column(name).unwrap().iter().zip(wanted).enumerate() {
                        assert!(
                            (found - wanted).abs() < 1e-5,
                            "{solver}, {method}, {name}, row {row}: {found} {wanted}"
                        );
                    }
                }
            }
        }
    }
}

/// Rejected steps, steps taken back and checkpoints leave no trace, with events in between.
#[test]
fn rewinding_is_exact_through_events() {
    let folder = folder("exchange-rewind");
    for version in Version::ALL {
        for model in ["thermostat", "bouncing-ball", "van-der-pol", "stair"] {
            let fmu = export(&folder, &Design::exchange(&format!("native:{model}"), version));
            for solver in SOLVERS {
                let parameters = format!("\"cosimo.solver\" = \"{solver}\"");
                let text = alone(&fmu, &parameters, 1e6, 0.17);
                let (mut straight, mut winding) = (start(&folder, &text), start(&folder, &text));
                for step in 0..30 {
                    if *solver == "cvode" {
                        // It starts anew where it is saved, and so where it is brought back to.
                        straight.save().unwrap();
                    }
                    straight.step().unwrap();
                    let saved = winding.save().unwrap();
                    for _ in 0..step % 4 {
                        winding.step().unwrap();
                    }
                    if step % 7 == 3 {
                        let bytes = saved.bytes().to_vec();
                        winding = start(&folder, &text);
                        winding.load(&Checkpoint::from_bytes(bytes).unwrap()).unwrap();
                    } else {
                        winding.load(&saved).unwrap();
                    }
                    winding.step().unwrap();
                    let bits = |run: &Run| run.outputs().iter().map(|y| y.to_bits()).collect::<Vec<_>>();
                    assert_eq!(bits(&straight), bits(&winding), "{version:?} {model} {solver}, step {step}");
                }
            }
        }
    }
}

/// One FMU, both uses: what it does by itself and what Cosimo integrates agree.
#[test]
fn an_fmu_for_both_uses_is_used_as_asked() {
    let folder = folder("exchange-both");
    for version in Version::ALL {
        let fmu = export(&folder, &Design::new("native:oscillator/mass", version).kind(InterfaceType::Both));
        let end = |usage: &str| {
            let usage = [("cosimo.use", Value::Text(usage.into()))];
            let mut simulator =
                entered(&folder, &fmu, if usage[0].1 == Value::Text("".into()) { &[] } else { &usage });
            let slopes = simulator.interface().abilities.slopes;
            advance(&mut *simulator, 0.0, 0.5, &[Segment::constant(2.0)]).unwrap();
            (slopes, outputs(&mut *simulator))
        };
        let (alone, exchange, usual) = (end("co-simulation"), end("model-exchange"), end(""));
        // Only equations tell how outputs move.
        assert_eq!((alone.0, exchange.0, usual.0), (false, true, false));
        assert_eq!(alone.1, usual.1);
        for (found, wanted) in exchange.1.iter().zip(&alone.1) {
            assert!((found - wanted).abs() < 1e-5, "{version:?}: {exchange:?} {alone:?}");
        }
    }
}

#[test]
fn what_cannot_be_asked_of_an_fmu_is_said() {
    let folder = folder("exchange-refusals");
    let exchange = export(&folder, &Design::exchange("native:driven", Version::Two));
    let cosimulation = export(&folder, &Design::new("native:oscillator/mass", Version::Two));
    let word = |text: &str| Value::Text(text.into());
    assert_eq!(
        refusal(
            &folder,
            &exchange,
            &[("cosimo.use", word("co-simulation")), ("cosimo.solver", word("euler"))]
        ),
        format!(
            "`cosimo.solver` must be \"dormand-prince\", \"bogacki-shampine\"{}, got \"euler\"\n\
             FMU `driven-exchange` does not support co-simulation, only model exchange",
            if cfg!(feature = "cvode") { ", \"bdf\" or \"cvode\"" } else { " or \"bdf\"" }
        )
    );
    assert_eq!(
        refusal(&folder, &cosimulation, &[("cosimo.relative", Value::Number(1e-6))]),
        "`cosimo.relative` is for model exchange, but FMU `oscillator-mass` is used for co-simulation"
    );
    assert_eq!(
        refusal(&folder, &exchange, &[("cosimo.relative", Value::Number(0.0))]),
        "`cosimo.relative` must be a finite number above 0, got 0"
    );
}

/// A solver that cannot be copied says what that means, unless nothing is ever taken back.
#[cfg(feature = "cvode")]
#[test]
fn a_solver_that_starts_anew_says_so() {
    let folder = folder("exchange-anew");
    let fmu = export(&folder, &Design::exchange("native:driven", Version::Three));
    let word = |text: &str| Value::Text(text.into());
    let warnings = |given: &[(&str, Value)]| open(&folder, &fmu, given).unwrap().interface().warnings.clone();
    let said = warnings(&[("cosimo.solver", word("cvode"))]);
    assert!(said.len() == 1 && said[0].contains("\"cvode\" restarts at every rollback"), "{said:?}");
    assert_eq!(warnings(&[("cosimo.solver", word("cvode")), ("cosimo.rollback", word("none"))]), [""; 0]);
    assert_eq!(warnings(&[]), [""; 0]);
}

/// What goes wrong inside the equations ends the run in words that say where.
#[test]
fn misbehaviour_of_equations_is_contained() {
    let folder = folder("exchange-sabotage");
    for version in Version::ALL {
        let fmu = export(&folder, &Design::exchange(SABOTEUR, version));
        let said = |fault: &str, at: f64| {
            let given = [("fault", Value::Text(fault.into())), ("at_step", Value::Number(at))];
            let mut simulator = open(&folder, &fmu, &given).unwrap();
            let setup =
                Setup { start: Time::ZERO, stop: Time::new(10.0), stop_at_events: false, rewinds: true };
            let entered = simulator.initialize(&setup).map_err(|error| error.to_string());
            entered.and_then(|()| advance(&mut *simulator, 0.0, 1.0, &[Segment::constant(1.0)]).map(|_| ()))
        };
        // A refusal or a number that is none is avoided by a smaller step; it comes once only.
        for fault in ["none", "discard", "warning", "nan"] {
            assert_eq!(said(fault, 20.0), Ok(()), "{version:?}, {fault}");
        }
        for (fault, at, words) in [
            ("error", 5.0, "the FMU returned `error`"),
            ("unsettled", 1.0, "does not converge within 1000 iterations"),
            ("past-event", 1.0, "announces its next event at t = "),
            ("fatal", 5.0, "the FMU returned `fatal`"),
        ] {
            let error = said(fault, at).unwrap_err();
            assert!(error.contains(words), "{version:?}, {fault}: {error}");
        }
    }
}

/// Stiff beyond what an explicit method can do. The first two zeros are those of scipy's Radau at 1e-12.
#[test]
fn a_very_stiff_fmu_takes_few_evaluations() {
    let folder = folder("exchange-stiff");
    for (version, variant) in [
        (Version::Two, Variant::Plain),
        (Version::Three, Variant::Plain),
        (Version::Two, Variant::NoDerivatives),
    ] {
        let fmu = export(&folder, &Design::exchange("native:van-der-pol", version).variant(variant));
        let parameters = "mu = 1000.0, x0 = 2.0, v0 = 0.0, \"cosimo.relative\" = 1e-6";
        let mut run = start(&folder, &alone(&fmu, parameters, 2000.0, 0.125));
        let found = table(&mut run);
        let x = &found.values[1];
        let changes = (1..x.len()).filter(|row| (x[*row] > 0.0) != (x[row - 1] > 0.0));
        let zeros: Vec<f64> = changes.map(|row| found.values[0][row]).collect();
        // Hardly more than one per window, of which there are 16 000: the integrator goes on as if there were none.
        let evaluations = run.counters().evaluations;
        assert!(evaluations.abs_diff(17_522) < 1_752, "{evaluations}");
        assert_eq!(zeros.len(), 2, "{zeros:?}");
        for (found, wanted) in zeros.iter().zip([807.084_740_8, 1_614.285_303_7]) {
            assert!((found - wanted).abs() < 0.2, "{version:?} {variant:?}: {found}, not {wanted}");
        }
    }
}

/// Events that were announced, located or handled after the bookmark happen again after going back to it.
#[test]
fn going_back_behind_an_event_brings_it_back() {
    let folder = folder("exchange-back");
    for version in Version::ALL {
        for (model, size) in [("stair", 1.3), ("bouncing-ball", 0.6), ("thermostat", 1.0)] {
            let fmu = export(&folder, &Design::exchange(&format!("native:{model}"), version));
            let mut simulator = entered(&folder, &fmu, &[]);
            let inputs: Vec<Segment> = simulator
                .interface()
                .inputs
                .iter()
                .map(|port| Segment::constant(port.start.unwrap()))
                .collect();
            let size = size * 0.4;
            advance(&mut *simulator, 0.0, size, &inputs).unwrap();
            simulator.rollback().unwrap().save(Slot::Attempt).unwrap();
            let story = |simulator: &mut dyn Simulator| {
                let mut seen = Vec::new();
                for step in 1..6 {
                    advance(simulator, f64::from(step) * size, size, &inputs).unwrap();
                    seen.extend(outputs(simulator).into_iter().map(f64::to_bits));
                }
                seen
            };
            let first = story(&mut *simulator);
            simulator.rollback().unwrap().restore(Slot::Attempt).unwrap();
            let again = story(&mut *simulator);
            assert_eq!(first, again, "{version:?} {model}");
        }
    }
}
