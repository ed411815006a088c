//! Habits of FMUs that other tools made: results are right in spite of them, or the run says what is wrong.

use std::path::{Path, PathBuf};

use cosimo::engine::{Plan, Run, plan};
use cosimo::record::{MemoryRecorder, Table};
use cosimo_test_fmus::{Design, InterfaceType, Quirk, SABOTEUR, Variant, Version, built_library, write};

use crate::common::folder;

const FIXED: &str = "step = { size = 0.1 }";
const REJECTING: &str =
    "step = { controller = \"i\", size = 0.1, min = 1e-3, max = 0.1, reject = \"above-one\" }";

/// A folder with `fmu.fmu` in it.
fn export_fmu(name: &str, design: &Design) -> PathBuf {
    let folder = folder(&format!("quirk-{name}-{}", design.file_name()));
    write(design, &built_library().unwrap(), &folder.join("fmu.fmu")).unwrap();
    folder
}

fn planned(folder: &Path, text: &str) -> Plan {
    let registry = cosimo::registry();
    let (system, problems) = cosimo::system::toml::read(text, folder, &registry);
    assert!(problems.is_empty(), "{problems:?}");
    plan(&system, &registry).unwrap_or_else(|problems| panic!("{problems:#?}"))
}

/// One component for a second.
fn alone(folder: &Path, parameters: &str, method: &str) -> Plan {
    let component =
        format!("[component.fmu]\nsource = \"fmu.fmu\"\nparameters = {{ {parameters} }}\n[method]\n{method}");
    planned(folder, &format!("[experiment]\nstop = 1.0\n{component}"))
}

fn finished(plan: Plan) -> Run {
    let mut run = Run::new(plan, 1).unwrap();
    while !run.finished() {
        run.step().unwrap();
    }
    run
}

/// The integral of 1 over a second, or nothing where the FMU was told that the run may return.
#[test]
fn an_fmu_that_waits_for_final_steps_advances_unless_the_run_rewinds() {
    for version in Version::ALL {
        let folder = export_fmu("steps", &Design::new(SABOTEUR, version).quirk(Quirk::Hesitates));
        let near = |run: &Run, expected: f64| {
            let got = run.output("fmu.y").unwrap();
            assert!((got - expected).abs() < 1e-12, "{got} instead of {expected}");
        };
        near(&finished(alone(&folder, "", FIXED)), 1.0);
        near(&finished(alone(&folder, "\"cosimo.rollback\" = \"none\"", FIXED)), 1.0);
        // noSetFMUStatePriorToCurrentPoint is true unless steps may be rewound.
        near(&finished(alone(&folder, "", FIXED).rewinding()), 0.0);
        near(&finished(alone(&folder, "\"cosimo.rollback\" = \"none\"", FIXED).rewinding()), 1.0);
        near(&finished(alone(&folder, "\"cosimo.rollback\" = \"trusted\"", REJECTING)), 0.0);
    }
}

/// What an FMU hands back to a callback is compared, never followed.
#[test]
fn a_small_integer_for_an_environment_is_survived_and_inputs_arrive() {
    for version in Version::ALL {
        let design = Design::new(SABOTEUR, version);
        let folder = export_fmu("environment", &design.clone().quirk(Quirk::SmallEnvironment));
        let run = finished(alone(&folder, "", FIXED));
        assert!((run.output("fmu.y").unwrap() - 1.0).abs() < 1e-12);
        // FMI 2.0 has the name of the instance beside it, by which messages are found.
        let text = "[experiment]\nstop = 1.0\n[component.talkative]\nsource = \"fmu.fmu\"\n\
                    parameters = { fault = \"error\", at_step = 3 }\n[method]\nstep = { size = 0.1 }";
        let mut run = Run::new(planned(&folder, text), 1).unwrap();
        let error = (0..3).find_map(|_| run.step().err()).unwrap().to_string();
        let heard = error.contains("one message per step");
        assert_eq!(heard, version == Version::Two, "{error}");
    }
    // Inputs are asked for inside a step, with the same wrong environment.
    let design = |quirk: Option<Quirk>| {
        let source = "native:dual-mass/left";
        let design = Design::new(source, Version::Three).variant(Variant::Intermediate);
        Design { quirk: quirk.map(String::from), ..design }
    };
    let text = |force: f64| {
        format!(
            "[experiment]\nstop = 1.0\n[component.fmu]\nsource = \"fmu.fmu\"\nstart = {{ f = {force} }}\n\
             [method]\nstep = {{ size = 0.1 }}"
        )
    };
    let result = |quirk: Option<Quirk>, force: f64| {
        let folder = export_fmu("fed", &design(quirk));
        finished(planned(&folder, &text(force))).outputs().to_vec()
    };
    assert_eq!(result(Some(Quirk::SmallEnvironment), 2.0), result(None, 2.0));
    assert_ne!(result(None, 2.0), result(None, 1.0));
}

#[test]
fn a_thread_may_log_after_its_instance_was_freed() {
    for version in Version::ALL {
        let folder = export_fmu("thread", &Design::new(SABOTEUR, version).quirk(Quirk::LateLog));
        for _ in 0..20 {
            drop(finished(alone(&folder, "", FIXED)));
            // Freed memory is given to others soon.
            std::hint::black_box(vec![0xABu8; 4096]);
        }
        std::thread::sleep(std::time::Duration::from_millis(200));
    }
}

/// All rows of a run, the one of its start included.
fn rows(plan: Plan) -> Table {
    let mut run = Run::new(plan, 1).unwrap();
    let memory = MemoryRecorder::default();
    run.record(Box::new(memory.clone())).unwrap();
    while !run.finished() {
        run.step().unwrap();
    }
    memory.table()
}

fn kinds() -> impl Iterator<Item = (Version, InterfaceType)> {
    let kinds = [InterfaceType::CoSimulation, InterfaceType::ModelExchange];
    Version::ALL.into_iter().flat_map(move |version| kinds.map(|kind| (version, kind)))
}

#[test]
fn parameters_survive_an_fmu_that_resets_them_in_its_set_up() {
    let parameters = "m1 = 7.0, x10 = 0.25";
    for kind in [InterfaceType::CoSimulation, InterfaceType::ModelExchange] {
        let design = Design::new("native:dual-mass/left", Version::Two).kind(kind);
        let plain = rows(alone(&export_fmu("plain", &design), parameters, FIXED));
        let resets = export_fmu("resets", &design.quirk(Quirk::Resets));
        let run = Run::new(alone(&resets, parameters, FIXED), 1).unwrap();
        assert!(run.warnings().iter().all(|warning| warning.code != "run/parameter"), "{:?}", run.warnings());
        drop(run);
        assert_eq!(rows(alone(&resets, parameters, FIXED)).values, plain.values, "{kind:?}");
        assert_ne!(rows(alone(&resets, "", FIXED)).values, plain.values, "{kind:?}");
    }
}

#[test]
fn a_parameter_that_did_not_arrive_is_named() {
    for (version, kind) in kinds() {
        let design = Design::new("native:dual-mass/left", version).kind(kind);
        let folder = export_fmu("deaf", &design.quirk(Quirk::Deaf));
        let run = Run::new(alone(&folder, "m1 = 7.0, x10 = 0.25", FIXED), 1).unwrap();
        let words: Vec<&str> = run
            .warnings()
            .iter()
            .filter(|warning| warning.code == "run/parameter")
            .map(|warning| warning.message.as_str())
            .collect();
        let expected = "component `fmu`: parameter `m1` was set to 7, but after initialisation it is 100";
        assert_eq!(words, [expected], "{version:?} {kind:?}");
        // What it has anyway may be set, too.
        let run = Run::new(alone(&folder, "m1 = 100.0", FIXED), 1).unwrap();
        assert!(run.warnings().iter().all(|warning| warning.code != "run/parameter"));
    }
}

/// Also what follows from them at the start: a force that depends directly on the motion of the other mass.
#[test]
fn outputs_that_are_right_only_after_initialisation_are_in_the_first_row() {
    for (version, kind) in kinds() {
        let table = |quirk: Option<Quirk>| {
            let design = |source: &str| Design::new(source, version).kind(kind);
            let folder = folder(&format!("late-{}-{}-{quirk:?}", version.text(), kind.text()));
            let library = built_library().unwrap();
            let left = Design { quirk: quirk.map(String::from), ..design("native:dual-mass/left") };
            write(&left, &library, &folder.join("left.fmu")).unwrap();
            write(&design("native:dual-mass/right-force"), &library, &folder.join("right.fmu")).unwrap();
            rows(planned(
                &folder,
                "[experiment]\nstop = 0.5\n\
                 [component.left]\nsource = \"left.fmu\"\nparameters = { x10 = 0.25, v10 = -2.0 }\n\
                 [component.right]\nsource = \"right.fmu\"\n\
                 [[connection]]\nfrom = \"left.x\"\nto = \"right.x_far\"\n\
                 [[connection]]\nfrom = \"left.v\"\nto = \"right.v_far\"\n\
                 [[connection]]\nfrom = \"right.f\"\nto = \"left.f\"\n\
                 [method]\nstep = { size = 0.1 }",
            ))
        };
        let (right, late) = (table(None), table(Some(Quirk::LateOutputs)));
        let column = right.columns.names.iter().position(|name| name == "right.f").unwrap();
        assert_ne!(right.values[column][0], 0.0);
        assert_eq!(late.values, right.values, "{version:?} {kind:?}");
    }
}

#[test]
fn an_fmu_may_be_a_rounding_error_ahead_of_the_communication_point() {
    let folder = export_fmu("ahead", &Design::new(SABOTEUR, Version::Three).quirk(Quirk::Ahead));
    let run = finished(alone(&folder, "", FIXED));
    assert!((run.output("fmu.y").unwrap() - 1.0).abs() < 1e-12);
}

/// A component, an instant and a function.
type By = (String, f64, &'static str);

/// The instants of all rows, the last value of `fmu.y`, and who ended the run when.
fn ended(plan: Plan) -> (Vec<f64>, f64, Option<By>) {
    let mut run = Run::new(plan, 1).unwrap();
    let memory = MemoryRecorder::default();
    run.record(Box::new(memory.clone())).unwrap();
    while !run.finished() {
        run.step().unwrap();
    }
    run.finish().unwrap();
    let table = memory.table();
    let place = table.columns.names.iter().position(|name| name == "fmu.y").unwrap();
    let by = run.ended().map(|ended| (ended.component.clone(), ended.at.seconds(), ended.function));
    (table.values[0].clone(), *table.values[place].last().unwrap(), by)
}

fn near(found: &[f64], expected: &[f64]) {
    let close = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-9;
    assert!(found.len() == expected.len() && found.iter().zip(expected).all(close), "{found:?}");
}

/// In the middle of a step or at its end, alone or beside a component that cannot be brought to that instant.
#[test]
fn an_fmu_for_co_simulation_may_end_the_run() {
    for version in Version::ALL {
        let folder = export_fmu("ends", &Design::new(SABOTEUR, version));
        let function = if version == Version::Two { "fmi2DoStep" } else { "fmi3DoStep" };
        let parameters = |fault: &str| format!("fault = \"{fault}\", at_step = 3");
        for (fault, last) in [("terminate", 0.25), ("terminate-whole", 0.3)] {
            let (times, y, by) = ended(alone(&folder, &parameters(fault), FIXED));
            near(&times, &[0.0, 0.1, 0.2, last]);
            near(&[y], &[last]);
            let (component, at, by) = by.unwrap();
            assert_eq!((component.as_str(), by), ("fmu", function));
            near(&[at], &[last]);
        }
        for (fault, last) in [("terminate", &[0.0, 0.1, 0.2][..]), ("terminate-whole", &[0.0, 0.1, 0.2, 0.3])]
        {
            for every in ["", "[results]\nevery = 0.15\n"] {
                let text = format!(
                    "[experiment]\nstop = 1.0\n{every}[component.other]\nsource = \"fmu.fmu\"\n\
                     [component.fmu]\nsource = \"fmu.fmu\"\nparameters = {{ {} }}\n[method]\n{FIXED}",
                    parameters(fault)
                );
                let (times, y, by) = ended(planned(&folder, &text));
                if every.is_empty() {
                    near(&times, last);
                }
                // The last point has a row, whatever the beat.
                near(&times[times.len() - 1..], &last[last.len() - 1..]);
                near(&[y], &last[last.len() - 1..]);
                assert_eq!(by.unwrap().0, "fmu");
            }
        }
        let (times, y, by) = ended(alone(&folder, &parameters("none"), FIXED));
        assert_eq!((times.len(), by), (11, None));
        near(&[y], &[1.0]);
    }
}

#[test]
fn an_fmu_for_model_exchange_may_end_the_run() {
    for version in Version::ALL {
        let prefix = if version == Version::Two { "fmi2" } else { "fmi3" };
        let update = if version == Version::Two { "NewDiscreteStates" } else { "UpdateDiscreteStates" };
        let design = Design::exchange(SABOTEUR, version);
        let folder = export_fmu("ends", &design);
        let plan = |parameters: &str| {
            planned(
                &folder,
                &format!(
                    "[experiment]\nstop = 3.0\n[component.fmu]\nsource = \"fmu.fmu\"\n\
                     parameters = {{ {parameters} }}\n[method]\nstep = {{ size = 0.4 }}"
                ),
            )
        };
        // At initialisation, at a time event, and where the state passes 1.5.
        for (at_step, at) in [(1, 0.0), (2, 1.0), (3, 1.5)] {
            let (times, y, by) = ended(plan(&format!("fault = \"terminate\", at_step = {at_step}")));
            near(&[y, *times.last().unwrap()], &[at, at]);
            let (component, when, function) = by.unwrap();
            assert_eq!((component.as_str(), function), ("fmu", format!("{prefix}{update}").as_str()));
            near(&[when], &[at]);
        }
        let completed = design.variant(Variant::Completed);
        let folder = export_fmu("ends", &completed);
        let (times, y, by) = ended(alone(&folder, "fault = \"terminate-completed\", at_step = 4", FIXED));
        let (_, at, function) = by.unwrap();
        assert_eq!(function, format!("{prefix}CompletedIntegratorStep"));
        near(&[y, *times.last().unwrap()], &[at, at]);
        assert!(at > 0.0 && at < 1.0, "{at}");
    }
}

/// The stair asks for the end at its tenth step, in every mode of event handling.
#[test]
fn a_model_that_ends_by_itself_ends_the_run_in_every_kind_of_fmu() {
    for (version, kind) in kinds() {
        let folder = export_fmu("stair", &Design::new("native:stair", version).kind(kind));
        let text = "[experiment]\nstop = 12.0\n[component.fmu]\nsource = \"fmu.fmu\"\n\
                    parameters = { top = 10 }\n[method]\nstep = { size = 0.3 }";
        let run = finished(planned(&folder, text));
        let at = run.ended().unwrap().at.seconds();
        near(&[at, run.time().seconds()], &[10.0, 10.0]);
        assert_eq!(run.outputs(), [10.0, 2.0], "{version:?} {kind:?}");
    }
}
