//! The same FMUs in FMPy and in Cosimo, alone, under inputs that are held over each step: the same numbers.

use std::path::{Path, PathBuf};
use std::process::Command;

use cosimo::core::registry::Value;
use cosimo::core::{Inputs, Segment, Setup, Simulator, Time};
use cosimo_test_fmus::{Design, Quirk, Variant, Version, built_library, sources, write};
use serde_json::json;

use crate::common::{advance, folder, open, outputs};
use crate::{build, fixture, python, run};

const STEP: f64 = 0.01;
const STEPS: usize = 100;

/// An input is a straight line over the whole run, a different one for each.
fn line(input: usize) -> (f64, f64) {
    (1.0 + 0.5 * input as f64, 2.0 - input as f64)
}

/// FMPy takes the input at the start of a step, between the two ends of its table.
fn held(input: usize, time: f64) -> f64 {
    let (at_start, slope) = line(input);
    let stop = STEP * STEPS as f64;
    let share = time / stop;
    (1.0 - share) * at_start + share * (at_start + slope * stop)
}

/// One row per communication point: the time, and all outputs.
fn in_cosimo(simulator: &mut dyn Simulator) -> Vec<Vec<f64>> {
    let count = simulator.interface().inputs.len();
    let at = |time: f64| (0..count).map(|input| Segment::constant(held(input, time))).collect::<Vec<_>>();
    let row = |time: f64, values: Vec<f64>| std::iter::once(time).chain(values).collect::<Vec<_>>();
    let start = Time::new(0.0).unwrap();
    simulator
        .initialize(&Setup { start, stop: Time::new(10.0), stop_at_events: false, rewinds: false })
        .unwrap();
    simulator.set_inputs(start, &Inputs::of(&at(0.0))).unwrap();
    simulator.lifecycle().unwrap().exit_initialization().unwrap();
    let mut rows = vec![row(0.0, outputs(simulator))];
    for step in 0..STEPS {
        let from = STEP * step as f64;
        advance(simulator, from, STEP, &at(from)).unwrap();
        rows.push(row(STEP * (step + 1) as f64, outputs(simulator)));
    }
    rows
}

/// An FMU of any maker, and how closely two masters must agree on it, as a part of the largest value.
struct Specimen {
    file: PathBuf,
    parameters: Vec<(&'static str, f64)>,
    close: f64,
}

/// FMPy's steps are differences of rounded instants; nothing else differs.
const ROUNDING: f64 = 1e-10;

fn fmus(python: &Path, folder: &Path) -> Vec<Specimen> {
    let mut fmus = Vec::new();
    // A solver that keeps tolerances decides by thresholds: a rounding of an instant may cost it another step.
    let models = (cosimo_models::NATIVE.models)();
    let (keeps_tolerances, takes_steps): (Vec<_>, Vec<_>) =
        models.iter().partition(|model| model.parameters.iter().any(|spec| spec.name == "relative"));
    assert!(!keeps_tolerances.is_empty() && !takes_steps.is_empty());
    for version in Version::EVERY {
        for source in sources() {
            let tight = keeps_tolerances.iter().any(|model| source == format!("native:{}", model.name));
            let (parameters, close) = match tight {
                true => (vec![("relative", 1e-10), ("absolute", 1e-10)], 1e-7),
                false => (vec![], ROUNDING),
            };
            for variant in [Variant::Plain, Variant::NoRollback, Variant::Interpolates, Variant::Intermediate]
            {
                if variant.exists_in(version) {
                    let design = Design::new(&source, version).variant(variant);
                    let file = folder.join(design.file_name());
                    write(&design, &built_library().unwrap(), &file).unwrap();
                    fmus.push(Specimen { file, parameters: parameters.clone(), close });
                }
            }
        }
    }
    // Habits of other tools' FMUs. Logging after the end is left out: FMPy has let go of its logger by then.
    for quirk in Quirk::ALL.into_iter().filter(|quirk| *quirk != Quirk::LateLog) {
        for version in Version::ALL {
            let design = Design::new("native:dual-mass/left", version).quirk(quirk);
            let file = folder.join(design.file_name());
            write(&design, &built_library().unwrap(), &file).unwrap();
            // FMPy sets parameters before the set-up in which this one forgets them.
            let parameters = if quirk == Quirk::Resets { vec![] } else { vec![("m1", 7.0), ("x10", 0.25)] };
            fmus.push(Specimen { file, parameters, close: ROUNDING });
        }
    }
    for (script, name) in [("mass2.py", "Mass2.fmu"), ("spring3.py", "Spring3.fmu")] {
        build(python, &fixture(script), folder, &["--handle-state"]);
        fmus.push(Specimen { file: folder.join(name), parameters: vec![("x0", 0.3)], close: ROUNDING });
    }
    fmus
}

#[test]
fn fmus_give_the_numbers_that_fmpy_gets() {
    let Some(python) = python() else { return };
    let folder = folder("fmpy");
    let fmus = fmus(&python, &folder);
    let mut simulators: Vec<Box<dyn Simulator>> = Vec::new();
    let mut jobs = Vec::new();
    for Specimen { file, parameters, .. } in &fmus {
        let given: Vec<(&str, Value)> =
            parameters.iter().map(|(name, value)| (*name, Value::Number(*value))).collect();
        let simulator = open(&folder, file.to_str().unwrap(), &given).unwrap();
        let interface = simulator.interface();
        let inputs: serde_json::Map<_, _> = interface
            .inputs
            .iter()
            .enumerate()
            .map(|(input, port)| (port.name.clone(), json!([line(input).0, line(input).1])))
            .collect();
        let names: Vec<&str> = interface.outputs.iter().map(|port| port.name.as_str()).collect();
        let parameters: serde_json::Map<_, _> =
            parameters.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
        jobs.push(json!({
            "file": file, "parameters": parameters, "inputs": inputs, "outputs": names,
            "step": STEP, "stop": STEP * STEPS as f64,
        }));
        simulators.push(simulator);
    }
    let (asked, answered) = (folder.join("jobs.json"), folder.join("results.json"));
    std::fs::write(&asked, serde_json::to_string(&jobs).unwrap()).unwrap();
    run(Command::new(&python).arg(fixture("fmpy_run.py")).arg(&asked).arg(&answered));
    let results: Vec<Vec<Vec<f64>>> =
        serde_json::from_str(&std::fs::read_to_string(&answered).unwrap()).unwrap();
    assert_eq!(results.len(), fmus.len());
    let mut equal = 0;
    for ((fmu, simulator), theirs) in fmus.iter().zip(&mut simulators).zip(&results) {
        let ours = in_cosimo(simulator.as_mut());
        let name = fmu.file.display();
        assert_eq!(ours.len(), theirs.len(), "{name}");
        for column in 0..ours[0].len() {
            let largest = theirs.iter().map(|row| row[column].abs()).fold(0.0, f64::max);
            for (ours, theirs) in ours.iter().zip(theirs) {
                let (a, b) = (ours[column], theirs[column]);
                let apart = (a - b).abs();
                assert!(apart <= fmu.close * largest, "{name}: column {column} at {}: {a} {b}", ours[0]);
            }
        }
        equal += 1;
    }
    println!("{equal} FMUs give the numbers of FMPy");
}
