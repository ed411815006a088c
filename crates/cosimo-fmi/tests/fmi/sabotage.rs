//! FMUs that break their promises, through the real engine: what they do must be noticed, named, and where
//! possible survived.

use std::path::Path;

use cosimo::core::RollbackCheck;
use cosimo::engine::{Plan, Run, RunError, plan};
use cosimo_test_fmus::{Design, SABOTEUR, Version, built_library, write};

use crate::common::folder;

/// Steps that are repeated smaller where they are refused.
const ADAPTIVE: &str =
    "step = { controller = \"i\", size = 0.1, min = 1e-3, max = 0.1, reject = \"above-one\" }";
const FIXED: &str = "step = { size = 0.1 }";

fn planned(folder: &Path, parameters: &str, method: &str) -> Result<Plan, String> {
    let text = format!(
        "[experiment]\nstop = 1.0\n[component.fmu]\nsource = \"saboteur.fmu\"\nparameters = {{ {parameters} }}\n\
         [method]\n{method}"
    );
    let registry = cosimo::registry();
    let (system, problems) = cosimo::system::toml::read(&text, folder, &registry);
    assert!(problems.is_empty(), "{problems:?}");
    plan(&system, &registry).map_err(|problems| {
        let messages: Vec<&str> = problems.iter().map(|problem| problem.message.as_str()).collect();
        messages.join("\n")
    })
}

fn saboteur(name: &str, version: Version) -> std::path::PathBuf {
    let folder = folder(&format!("{name}{}", version.text()));
    write(&Design::new(SABOTEUR, version), &built_library().unwrap(), &folder.join("saboteur.fmu")).unwrap();
    folder
}

fn finish(run: &mut Run) -> Result<(), RunError> {
    while !run.finished() {
        run.step()?;
    }
    Ok(())
}

#[test]
fn trap_t10_an_fmu_that_lies_about_rollback_is_found_out_before_the_run() {
    for version in Version::ALL {
        let folder = saboteur("forget", version);
        let lie = "fault = \"forget\", at_step = 1";
        let error = Run::new(planned(&folder, lie, ADAPTIVE).unwrap(), 1).unwrap_err().to_string();
        assert!(
            error.starts_with(
                "simulator `fmu` failed at t = 0 s: `restore` failed: the FMU declares that it can save and \
                 restore its state, but it cannot: the step that it took before cannot be repeated: "
            ),
            "{error}"
        );
        // A run without rollback is not affected.
        let mut run = Run::new(planned(&folder, lie, FIXED).unwrap(), 1).unwrap();
        assert!(run.rollback_checks().all(|(_, rehearsal)| *rehearsal == RollbackCheck::Untried));
        finish(&mut run).unwrap();
        // With `none` the declared capability is not used, and planning reports it.
        let unused = format!("{lie}, \"cosimo.rollback\" = \"none\"");
        let error = planned(&folder, &unused, ADAPTIVE).unwrap_err();
        assert!(error.contains("needs all components to support rollback, but `fmu` does not"), "{error}");
        let trusted = format!("{lie}, \"cosimo.rollback\" = \"trusted\"");
        assert!(Run::new(planned(&folder, &trusted, ADAPTIVE).unwrap(), 1).is_ok());
        let wrong = planned(&folder, "\"cosimo.rollback\" = \"maybe\"", FIXED).unwrap_err();
        assert!(wrong.contains("must be \"tried\", \"trusted\" or \"none\", got \"maybe\""), "{wrong}");
    }
}

#[test]
fn a_kept_promise_leaves_no_trace() {
    for version in Version::ALL {
        let folder = saboteur("kept", version);
        for threads in [1, 2] {
            let mut tried = Run::new(planned(&folder, "", ADAPTIVE).unwrap(), threads).unwrap();
            assert!(tried.rollback_checks().all(|(_, rehearsal)| *rehearsal == RollbackCheck::Exact));
            let trusted = planned(&folder, "\"cosimo.rollback\" = \"trusted\"", ADAPTIVE).unwrap();
            let mut trusted = Run::new(trusted, threads).unwrap();
            finish(&mut tried).unwrap();
            finish(&mut trusted).unwrap();
            assert_eq!(tried.outputs(), trusted.outputs());
            assert_eq!(tried.counters(), trusted.counters());
        }
    }
}

#[test]
fn a_refused_step_is_tried_smaller() {
    for version in Version::ALL {
        let folder = saboteur("discard", version);
        let refuses = "fault = \"discard\", at_step = 3";
        let mut run = Run::new(planned(&folder, refuses, ADAPTIVE).unwrap(), 1).unwrap();
        finish(&mut run).unwrap();
        assert_eq!(run.counters().rejected, 1);
        assert!((run.output("fmu.y").unwrap() - 1.0).abs() < 1e-12);
        let mut run = Run::new(planned(&folder, refuses, FIXED).unwrap(), 1).unwrap();
        let Err(RunError::Step(error)) = finish(&mut run) else { panic!("it goes on") };
        assert!(error.to_string().contains("the FMU returned `discard`"), "{error}");
        assert!(error.hint().contains("a smaller step"), "{}", error.hint());
    }
}

#[test]
fn an_fmu_that_stops_short_without_saying_so_is_stopped() {
    let folder = saboteur("wrong-time", Version::Three);
    let mut run =
        Run::new(planned(&folder, "fault = \"wrong-time\", at_step = 3", FIXED).unwrap(), 1).unwrap();
    let error = finish(&mut run).unwrap_err().to_string();
    assert!(error.contains("the FMU stopped at t = 0.25000000000000006 s instead of 0.3"), "{error}");
}
