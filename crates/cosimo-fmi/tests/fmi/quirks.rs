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
