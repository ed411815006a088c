//! FMUs for model exchange in FMPy, which validates them and solves their equations with CVode. It needs the Python
//! of `cargo xtask python`.

use std::path::{Path, PathBuf};
use std::process::Command;

use cosimo_core::registry::OpenRequest;
use cosimo_core::{Inputs, Outputs, Segment, Setup, Simulator, Time, Value, Window};
use cosimo_models::{HYBRID, NATIVE};
use cosimo_test_fmus::{
    Design, ECHO, InterfaceType, Variant, Version, built_library, exchange_sources, sources, write,
};
use serde_json::json;

use crate::load::folder;

/// An FMU with what it should show: one row per interval, the time first.
struct Case {
    design: Design,
    start_values: Vec<(String, f64)>,
    outputs: Vec<String>,
    rows: Vec<Vec<f64>>,
    /// In co-simulation, whether FMPy handles events.
    event_mode: bool,
}

/// All cases in one Python, which takes a second to start.
fn run(cases: &[Case]) {
    let Some(python) = std::env::var_os("COSIMO_PYTHON").map(PathBuf::from) else {
        println!("skipped: COSIMO_PYTHON is not set");
        return;
    };
    let folder = folder("fmpy");
    let mut jobs = Vec::new();
    for case in cases {
        let file = folder.join(case.design.file_name());
        let unpacked = unpack(&case.design, &file);
        let start_values: serde_json::Map<_, _> =
            case.start_values.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
        let kind =
            if case.design.kind == InterfaceType::CoSimulation { "CoSimulation" } else { "ModelExchange" };
        let stop = case.rows[case.rows.len() - 1][0];
        let interval = stop / (case.rows.len() - 1) as f64;
        jobs.push(json!({
            "file": file, "unpacked": unpacked, "kind": kind, "event_mode": case.event_mode,
            "start_values": start_values, "outputs": case.outputs, "interval": interval,
            "stop": stop,
        }));
    }
    let (asked, answered) = (folder.join("jobs.json"), folder.join("results.json"));
    std::fs::write(&asked, serde_json::to_string(&jobs).unwrap()).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fmu/fmpy_run.py");
    let output = Command::new(python).arg(script).arg(&asked).arg(&answered).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let results: Vec<serde_json::Value> =
        serde_json::from_str(&std::fs::read_to_string(&answered).unwrap()).unwrap();
    assert_eq!(results.len(), cases.len());
    let mut worst: f64 = 0.0;
    for (case, result) in cases.iter().zip(&results) {
        let name = case.design.file_name();
        assert_eq!(result["problems"], json!([]), "{name}");
        let rows: Vec<Vec<f64>> = serde_json::from_value(result["rows"].clone()).unwrap();
        assert_eq!(rows.len(), case.rows.len(), "{name}");
        for (column, output) in case.outputs.iter().enumerate() {
            // CVode is given the tolerance of values of about 1: what stays far below has fewer digits.
            let largest = case.rows.iter().map(|row| row[column + 1].abs()).fold(1e-3, f64::max);
            for (found, wanted) in rows.iter().zip(&case.rows) {
                let (found, at, wanted) = (found[column + 1], wanted[0], wanted[column + 1]);
                worst = worst.max((found - wanted).abs() / largest);
                assert!(
                    (found - wanted).abs() <= 1e-4 * largest,
                    "{name}: {output} at {at}: {found} for {wanted}"
                );
            }
        }
    }
    std::fs::remove_dir_all(folder).unwrap();
    println!("{} FMUs follow their references in FMPy within {worst:.0e}", cases.len());
}

/// Around an empty file, which is quickly packed, with the library put in its place afterwards.
fn unpack(design: &Design, file: &Path) -> PathBuf {
    let folder = file.with_extension("");
    std::fs::create_dir_all(&folder).unwrap();
    let empty = folder.join("empty");
    std::fs::write(&empty, "").unwrap();
    write(design, &empty, file).unwrap();
    zip::ZipArchive::new(std::fs::File::open(file).unwrap()).unwrap().extract(&folder).unwrap();
    let binaries = std::fs::read_dir(folder.join("binaries")).unwrap().next().unwrap().unwrap().path();
    let binary = std::fs::read_dir(binaries).unwrap().next().unwrap().unwrap().path();
    std::fs::remove_file(&binary).unwrap();
    let library = built_library().unwrap();
    // A link where both lie on one disk.
    std::fs::hard_link(&library, &binary).or_else(|_| std::fs::copy(&library, &binary).map(drop)).unwrap();
    folder
}

/// The native simulator, solved without error or with many small steps.
fn native(source: &str) -> Box<dyn Simulator> {
    let open = |parameters: &[(String, Value)]| {
        (NATIVE.open)(&OpenRequest { name: "unit", source, folder: Path::new(""), parameters, joined: false })
    };
    let solver = |word: &str| ("solver".to_owned(), Value::Text(word.into()));
    let steps = ("micro_steps".to_owned(), Value::Number(1000.0));
    let mut simulator = open(&[solver("exact")])
        .or_else(|_| open(&["relative", "absolute"].map(|name| (name.to_owned(), Value::Number(1e-9)))))
        .or_else(|_| open(&[solver("rk4"), steps.clone()]))
        .or_else(|_| open(&[steps]))
        .or_else(|_| open(&[]))
        .unwrap_or_else(|problems| panic!("{problems:?}"));
    simulator
        .initialize(&Setup { start: Time::ZERO, stop: None, stop_at_events: false, rewinds: true })
        .unwrap();
    simulator
}

#[test]
fn plain_equations_are_solved_as_the_native_simulator_does() {
    let mut cases = Vec::new();
    for source in exchange_sources().into_iter().filter(|source| sources().contains(source)) {
        let mut simulator = native(&source);
        let interface = simulator.interface().clone();
        let held: Vec<f64> = (0..interface.inputs.len()).map(|input| 0.5 + input as f64).collect();
        let segments: Vec<Segment> = held.iter().map(|value| Segment::constant(*value)).collect();
        simulator.set_inputs(Time::ZERO, &Inputs::of(&segments)).unwrap();
        let size = 0.05;
        let mut rows = Vec::new();
        for step in 0..=20 {
            let at = f64::from(step) * size;
            let mut row = vec![at; 1 + interface.outputs.len()];
            simulator.get_outputs(&mut Outputs { values: &mut row[1..], slopes: &mut [] }).unwrap();
            rows.push(row);
            let instant = |seconds| Time::new(seconds).unwrap();
            let window = Window { from: instant(at), to: instant(at + size), size };
            let inputs = Inputs::of(&segments);
            let reached = simulator.do_step(window, &inputs).unwrap();
            if reached.event {
                // FMPy shows what is after an event.
                simulator.set_inputs(reached.to, &inputs).unwrap();
            }
        }
        let names =
            |ports: &[cosimo_core::Port]| ports.iter().map(|port| port.name.clone()).collect::<Vec<_>>();
        let start_values: Vec<_> = names(&interface.inputs).into_iter().zip(held).collect();
        for version in Version::ALL {
            // In turn: what differs between them has nothing to do with the model.
            let turn = [
                (InterfaceType::ModelExchange, Variant::Plain),
                (InterfaceType::ModelExchange, Variant::StepEvents),
                (InterfaceType::ModelExchange, Variant::Iterates),
                (InterfaceType::Both, Variant::NoRollback),
                (InterfaceType::ModelExchange, Variant::Completed),
            ];
            let (kind, variant) = turn[cases.len() % turn.len()];
            let design = Design::new(&source, version).kind(kind).variant(variant);
            let (start_values, outputs) = (start_values.clone(), names(&interface.outputs));
            cases.push(Case { design, start_values, outputs, rows: rows.clone(), event_mode: false });
        }
    }
    assert!(cases.len() > 40);
    run(&cases);
}

#[test]
fn equations_with_events_follow_their_references() {
    let mut cases = Vec::new();
    for (version, entry) in Version::ALL.into_iter().flat_map(|v| HYBRID.iter().map(move |entry| (v, entry)))
    {
        let source = format!("native:{}", entry.name);
        for variant in [Variant::Plain, Variant::Iterates, Variant::StepEvents] {
            let design = Design::exchange(&source, version).variant(variant);
            let request = OpenRequest {
                name: "unit",
                source: &source,
                folder: Path::new(""),
                parameters: &[],
                joined: false,
            };
            let interface = cosimo_models::equations(&request).unwrap().unwrap().interface();
            let outputs = interface.outputs.iter().map(|port| port.name.clone()).collect();
            let (rows, event_mode) = ((entry.reference)(), false);
            cases.push(Case { design, start_values: vec![], outputs, rows, event_mode });
        }
    }
    run(&cases);
}

#[test]
fn the_stair_steps_with_event_mode_and_without() {
    let entry = HYBRID.iter().find(|entry| entry.name == "stair").unwrap();
    let mut cases = Vec::new();
    for (version, event_mode) in
        [(Version::One, false), (Version::Two, false), (Version::Three, false), (Version::Three, true)]
    {
        let design = Design::new("native:stair", version);
        let outputs = ["level", "height"].map(String::from).to_vec();
        cases.push(Case { design, start_values: vec![], outputs, rows: (entry.reference)(), event_mode });
    }
    run(&cases);
}

#[test]
fn the_echo_passes_numbers_on() {
    let mut cases = Vec::new();
    for version in Version::EVERY {
        let types: &[(&str, f64)] = match version {
            Version::One | Version::Two => {
                &[("float64", -0.5), ("int32", -7.0), ("boolean", 1.0), ("enumeration", 3.0)]
            }
            Version::Three => &[
                ("float32", 0.25),
                ("float64", -0.5),
                ("int8", -128.0),
                ("uint8", 255.0),
                ("int16", -32768.0),
                ("uint16", 65535.0),
                ("int32", -7.0),
                ("uint32", 4294967295.0),
                ("int64", -9007199254740991.0),
                ("uint64", 9007199254740991.0),
                ("boolean", 1.0),
                ("enumeration", 3.0),
            ],
        };
        let start_values = types.iter().map(|(name, value)| (format!("{name}_in"), *value)).collect();
        let outputs = types.iter().map(|(name, _)| format!("{name}_out")).collect();
        let row = |time: f64| [time].into_iter().chain(types.iter().map(|(_, value)| *value)).collect();
        let (design, rows) = (Design::new(ECHO, version), vec![row(0.0), row(0.5), row(1.0)]);
        cases.push(Case { design, start_values, outputs, rows, event_mode: false });
    }
    run(&cases);
}
