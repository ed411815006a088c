//! The same unit in FMPy and in Cosimo, for both uses and both versions, with and without events. It needs the Python of
//! `cargo xtask python`.

use std::path::PathBuf;
use std::process::Command;

use crate::common::{column, folder, rows};
use cosimo::export::{Design, InterfaceType, Version, built_library, write};
use serde_json::json;

struct Case {
    design: Design,
    outputs: &'static [&'static str],
    stop: f64,
    interval: f64,
    /// Relative to the largest value: what the solvers are good for, and where a solver of the unit's own is used, bits.
    allowed: f64,
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for version in Version::ALL {
        let mut add = |kind, model: &str, outputs, stop, interval, allowed| {
            let design = Design::new(&format!("native:{model}"), version).kind(kind);
            cases.push(Case { design, outputs, stop, interval, allowed });
        };
        add(
            InterfaceType::ModelExchange,
            "bouncing-ball",
            &["height", "velocity", "bounces"],
            1.9,
            0.1,
            1e-6,
        );
        add(InterfaceType::ModelExchange, "thermostat", &["T", "q", "heating"], 2000.0, 70.0, 1e-5);
        add(InterfaceType::ModelExchange, "stair", &["level", "height"], 3.15, 0.35, 1e-12);
        add(InterfaceType::ModelExchange, "driven", &["x", "e"], 2.0, 0.1, 1e-7);
        add(InterfaceType::ModelExchange, "van-der-pol", &["x", "v"], 5.0, 0.25, 1e-4);
        add(InterfaceType::ModelExchange, "dual-mass/left", &["x", "v"], 4.0, 0.2, 1e-7);
        add(InterfaceType::CoSimulation, "dual-mass/left", &["x", "v"], 4.0, 0.2, 1e-12);
        add(InterfaceType::CoSimulation, "stair", &["level", "height"], 3.15, 0.35, 1e-12);
    }
    for (model, outputs, stop, interval) in [
        ("dual-mass/left", &["x", "v"] as &[_], 4.0, 0.2),
        ("dual-mass/right", &["x", "v"], 4.0, 0.2),
        ("quarter-car/chassis", &["v", "z"], 1.0, 0.05),
        ("stair", &["level", "height"], 3.15, 0.35),
    ] {
        let design = Design::new(&format!("native:{model}"), Version::One);
        cases.push(Case { design, outputs, stop, interval, allowed: 1e-12 });
    }
    cases
}

#[test]
fn units_do_the_same_in_fmpy() {
    let Some(python) = std::env::var_os("COSIMO_PYTHON").map(PathBuf::from) else {
        println!("skipped: COSIMO_PYTHON is not set");
        return;
    };
    let (cases, library) = (cases(), built_library().unwrap());
    let mut jobs = Vec::new();
    for Case { design, outputs, stop, interval, .. } in &cases {
        let file = folder().join(format!("fmpy-{}", design.file_name()));
        write(design, &library, &file).unwrap();
        let kind = if design.kind == InterfaceType::CoSimulation { "CoSimulation" } else { "ModelExchange" };
        let events = design.version == Version::Three && design.source == "native:stair";
        jobs.push(json!({
            "file": file, "kind": kind, "outputs": outputs, "stop": stop, "interval": interval, "events": events,
        }));
    }
    let (asked, answered) = (folder().join("fmpy-jobs.json"), folder().join("fmpy-rows.json"));
    std::fs::write(&asked, serde_json::to_string(&jobs).unwrap()).unwrap();
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/library/fmpy_run.py");
    let output = Command::new(python).arg(script).arg(&asked).arg(&answered).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let theirs: Vec<Vec<Vec<f64>>> =
        serde_json::from_str(&std::fs::read_to_string(&answered).unwrap()).unwrap();
    for (Case { design, outputs, stop, interval, allowed }, theirs) in cases.iter().zip(theirs) {
        let name = design.file_name();
        let tight =
            if design.kind == InterfaceType::CoSimulation { "" } else { "\"cosimo.relative\" = 1e-10" };
        let ours = rows(&format!(
            "[experiment]\nstop = {stop:?}\n[component.unit]\nsource = \"fmpy-{name}\"\n\
             parameters = {{ {tight} }}\n[method]\nstep = {{ size = {interval:?} }}\n"
        ));
        let times = column(&ours, "time");
        let mut compared = 0;
        for theirs in theirs {
            // FMPy keeps a row of each step that ended early, from before the event. Of our two the later counts.
            let off = theirs[0] / interval - (theirs[0] / interval).round();
            let Some(row) = times.iter().rposition(|t| (t - theirs[0]).abs() < 1e-9) else { continue };
            if off.abs() > 1e-6 {
                continue;
            }
            compared += 1;
            for (place, output) in outputs.iter().enumerate() {
                let column = column(&ours, &format!("unit.{output}"));
                let largest = column.iter().fold(1e-9f64, |largest, value| largest.max(value.abs()));
                let apart = (column[row] - theirs[place + 1]).abs() / largest;
                assert!(
                    apart <= *allowed,
                    "{name}: {output} at {}: {} for {}, {apart:e} apart",
                    theirs[0],
                    column[row],
                    theirs[place + 1]
                );
            }
        }
        assert!(f64::from(compared) >= stop / interval * 0.3, "{name}: {compared} rows compared");
    }
}
