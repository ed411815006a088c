//! Habits of FMUs that other tools made: results are right in spite of them, or the run says what is wrong.

use std::path::{Path, PathBuf};

use cosimo::engine::{Plan, Run, plan};
use cosimo::export::{Design, Quirk, SABOTEUR, Version, built_library, write};

use crate::common::folder;

const FIXED: &str = "step = { size = 0.1 }";
const REJECTING: &str = "step = { law = \"i\", size = 0.1, min = 1e-3, max = 0.1, reject = \"above-one\" }";

/// A folder with `fmu.fmu` in it.
fn fmu(name: &str, design: &Design) -> PathBuf {
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
        format!("[component.unit]\nsource = \"fmu.fmu\"\nparameters = {{ {parameters} }}\n[method]\n{method}");
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
        let folder = fmu("steps", &Design::new(SABOTEUR, version).quirk(Quirk::Hesitates));
        let near = |run: &Run, expected: f64| {
            let got = run.output("unit.y").unwrap();
            assert!((got - expected).abs() < 1e-12, "{got} instead of {expected}");
        };
        near(&finished(alone(&folder, "", FIXED)), 1.0);
        near(&finished(alone(&folder, "\"cosimo.rollback\" = \"none\"", FIXED)), 1.0);
        // Whoever goes back says so, and an FMU that is never taken back is told nothing else.
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
        let folder = fmu("environment", &design.clone().quirk(Quirk::SmallEnvironment));
        let run = finished(alone(&folder, "", FIXED));
        assert!((run.output("unit.y").unwrap() - 1.0).abs() < 1e-12);
        // FMI 2.0 has the name of the instance beside it, by which messages are found.
        let text = "[experiment]\nstop = 1.0\n[component.talkative]\nsource = \"fmu.fmu\"\n\
                    parameters = { fault = \"error\", at_step = 3 }\n[method]\nstep = { size = 0.1 }";
        let mut run = Run::new(planned(&folder, text), 1).unwrap();
        let error = (0..3).find_map(|_| run.step().err()).unwrap().to_string();
        let heard = error.contains("one word for every step");
        assert_eq!(heard, version == Version::Two, "{error}");
    }
    // Inputs are asked for inside a step, with the same wrong environment.
    let design = |quirk: Option<Quirk>| {
        let source = "native:dual-mass/left";
        let design = Design::new(source, Version::Three).variant(cosimo::export::Variant::Intermediate);
        Design { quirk, ..design }
    };
    let text = |force: f64| {
        format!(
            "[experiment]\nstop = 1.0\n[component.unit]\nsource = \"fmu.fmu\"\nstart = {{ F = {force} }}\n\
             [method]\nstep = {{ size = 0.1 }}"
        )
    };
    let result = |quirk: Option<Quirk>, force: f64| {
        let folder = fmu("fed", &design(quirk));
        finished(planned(&folder, &text(force))).outputs().to_vec()
    };
    assert_eq!(result(Some(Quirk::SmallEnvironment), 2.0), result(None, 2.0));
    assert_ne!(result(None, 2.0), result(None, 1.0));
}

#[test]
fn a_thread_may_log_after_its_instance_was_freed() {
    for version in Version::ALL {
        let folder = fmu("thread", &Design::new(SABOTEUR, version).quirk(Quirk::LateLog));
        for _ in 0..20 {
            drop(finished(alone(&folder, "", FIXED)));
            // Freed memory is given to others soon.
            std::hint::black_box(vec![0xABu8; 4096]);
        }
        std::thread::sleep(std::time::Duration::from_millis(200));
    }
}
