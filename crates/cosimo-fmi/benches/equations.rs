//! What Cosimo adds to one right-hand side of an FMU that it integrates: SetTime, SetContinuousStates and GetDerivatives of a
//! FMU with two states and no inputs, against a bare loop in C over the same calls of the same library, and against the
//! integrator alone on the same equations in Rust.
//!
//! `cargo bench -p cosimo-fmi --bench equations`. The sides take turns, and the least of all rounds counts: on a shared
//! machine everything else is other processes' work. The aim is that at most 100 ns are ours.
//! On two shared cores of an AMD EPYC, four runs: 53 ns for the three calls by hand, 32 for the integrator alone, 99 to 102
//! for the FMU integrated; so 13 to 17 are ours. Sides that do not take turns once gave anything from -21 to 101.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use cosimo_core::registry::OpenRequest;
use cosimo_core::{Inputs, Setup, Simulator, Time, Value, Window};
use cosimo_export::{Design, Version, built_library, write};
use cosimo_ode::{Absolute, EvaluationFault, Integrator, OdeSystem, Settings, StepOutcome};

const MU: f64 = 5.0;
const STOP: f64 = 200.0;
const RELATIVE: f64 = 1e-9;

struct VanDerPol;

impl OdeSystem for VanDerPol {
    fn derivatives(&mut self, _t: f64, x: &[f64], dx: &mut [f64]) -> Result<(), EvaluationFault> {
        dx[0] = x[1];
        dx[1] = MU * (1.0 - x[0] * x[0]) * x[1] - x[0];
        Ok(())
    }
}

const ROUNDS: usize = 40;

/// Nanoseconds per right-hand side in one round, and how many there were.
fn timed(round: impl FnOnce() -> u64) -> (f64, u64) {
    let begun = Instant::now();
    let evaluations = round();
    (begun.elapsed().as_secs_f64() * 1e9 / evaluations as f64, evaluations)
}

fn integrator() -> (f64, u64) {
    let settings =
        Settings { relative: RELATIVE, absolute: Absolute::Same(RELATIVE * 1e-2), ..Settings::default() };
    let entry = cosimo_ode::entry("dormand-prince").expect("it exists");
    timed(|| {
        let mut integrator = Integrator::new(entry, 2, &settings).expect("settings are right");
        integrator.restart(0.0, &[2.0, 0.0]);
        while integrator.step(&mut VanDerPol, STOP).expect("it is smooth") != StepOutcome::Reached {}
        integrator.counters().evaluations
    })
}

fn open(folder: &Path, file: &str) -> Box<dyn Simulator> {
    let number = |name: &str, value: f64| (name.to_owned(), Value::Number(value));
    let parameters = [
        number("mu", MU),
        number("cosimo.relative", RELATIVE),
        ("cosimo.solver".to_owned(), Value::Text("dormand-prince".into())),
    ];
    let request = OpenRequest { name: "fmu", source: file, folder, parameters: &parameters, joined: false };
    (cosimo_fmi::FMU.open)(&request).unwrap_or_else(|found| panic!("{found:#?}"))
}

fn time_of_fmu(simulator: &mut dyn Simulator) -> (f64, u64) {
    let at = |seconds: f64| Time::new(seconds).expect("a number");
    let window = Window { from: at(0.0), to: at(STOP), size: STOP };
    timed(|| {
        simulator
            .initialize(&Setup { start: at(0.0), stop: None, stop_at_events: false, rewinds: true })
            .expect("it enters");
        let inputs = Inputs::of(&[]);
        simulator.do_step(window, &inputs).expect("it steps").evaluations
    })
}

/// The bare loop, with its arguments.
fn bare(folder: &Path, file: &str) -> Command {
    let program = folder.join("equations");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/equations.c");
    let compiled = Command::new("cc").args(["-O2", "-o"]).arg(&program).arg(source).arg("-ldl").status();
    assert!(compiled.is_ok_and(|status| status.success()), "a C compiler is needed");
    let unpacked = folder.join("unpacked");
    let archive = std::fs::File::open(folder.join(file)).expect("the FMU was written");
    zip::ZipArchive::new(archive).expect("an FMU is an archive").extract(&unpacked).expect("there is room");
    let text = std::fs::read_to_string(unpacked.join("modelDescription.xml")).expect("it was unpacked");
    let guid = text.split("guid=\"").nth(1).and_then(|rest| rest.split('"').next()).expect("it has a guid");
    let mut binary = PathBuf::new();
    let mut folders = vec![unpacked.join("binaries")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("it was unpacked").flatten() {
            if entry.path().is_dir() { folders.push(entry.path()) } else { binary = entry.path() }
        }
    }
    let resources = format!("file://{}", unpacked.join("resources").display());
    let mut command = Command::new(program);
    command.arg(binary).arg(resources).arg(guid).arg("50000");
    command
}

fn by_hand(command: &mut Command) -> f64 {
    let output = command.output().expect("it was compiled");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().parse().expect("a number")
}

fn main() {
    if !std::env::args().any(|word| word == "--bench") {
        return; // a test run: nothing is measured
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("equations-bench");
    std::fs::create_dir_all(&folder).expect("the target folder can be written");
    cosimo_fmi::use_cache(&folder.join("cache"));
    let design = Design::exchange("native:van-der-pol", Version::Two);
    let library = built_library().expect("the library of FMUs is built");
    write(&design, &library, &folder.join("van-der-pol.fmu")).expect("there is room");
    let mut command = bare(&folder, "van-der-pol.fmu");
    let mut simulator = open(&folder, "van-der-pol.fmu");
    let (mut calls, mut alone, mut whole) = (f64::INFINITY, f64::INFINITY, f64::INFINITY);
    let (mut evaluations, mut asked) = (0, 0);
    for _ in 0..ROUNDS {
        let least = |known: &mut f64, found: f64| *known = known.min(found);
        least(&mut calls, by_hand(&mut command));
        let (found, count) = integrator();
        least(&mut alone, found);
        evaluations = count;
        let (found, count) = time_of_fmu(simulator.as_mut());
        least(&mut whole, found);
        asked = count;
    }
    println!("ns per right-hand side");
    println!("  three calls by hand      {calls:8.1}");
    println!("  integrator alone         {alone:8.1}   ({evaluations} right-hand sides)");
    println!("  FMU integrated          {whole:8.1}   ({asked} right-hand sides)");
    println!("  ours beside both         {:8.1}", whole - calls - alone);
}
