//! What the engine adds to the calls it makes of real units: a ring of the smallest FMU there is, stepped by Cosimo and
//! by a bare loop in C over the same library, with the same calls in the same order and the same bits as result.
//!
//! `cargo bench -p cosimo --bench fmu`; with `-- --count` instructions per step under valgrind in place of
//! times. Every side is a process of its own that speaks the same few lines: a number takes so many steps and is
//! answered with their seconds, `values` with the bits of all outputs. The sides take turns in short slices, and the
//! least time of each is what counts: on a shared machine everything else is other processes' work.
//! Without `--bench` only results and calls are compared. Other coordinators are measured beside it where they are
//! installed, see `peers.py`.
//!
//! On two shared cores of an AMD EPYC, in ns per unit and step, the least of all rounds:
//!
//! | N    | by hand | cosimo | ratio | to csv | FMPy container | libcosim | Ecos |
//! |------|---------|--------|-------|--------|----------------|----------|------|
//! | 2    | 16.9    | 63.4   | 3.74  | 579    | 688            | 5662     | 1713 |
//! | 10   | 13.9    | 28.7   | 2.06  | 437    | 157            | 2428     | 1177 |
//! | 100  | 13.7    | 22.8   | 1.66  | 487    | 39.1           | 1758     | 737  |
//! | 1000 | 13.7    | 27.9   | 2.03  | 466    | 32.1           | 1443     | 734  |
//!
//! The container is called from Python once per step, which is about all of its time at N = 2. libcosim and Ecos spread
//! units over threads, and the machine was busy: their figures are upper bounds. To load and initialise 1000 units takes
//! 0.07 s of CPU, 0.08 s with unpacking.

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use cosimo::engine::Run;
use cosimo::record::{FORMATS, Files};

/// Other coordinators, as `peers.py` knows them.
const PEERS: &[&str] = &["fmpy-container", "libcosimpy", "ecospy"];

const SIZE: f64 = 1e-3;
/// Steps after which results are compared.
const CHECKED: u64 = 100;

const DESCRIPTION: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<fmiModelDescription fmiVersion="2.0" modelName="rotor" guid="{rotor}" variableNamingConvention="flat">
  <CoSimulation modelIdentifier="rotor" canHandleVariableCommunicationStepSize="true"/>
  <ModelVariables>
    <ScalarVariable name="u" valueReference="0" causality="input"><Real start="0"/></ScalarVariable>
    <ScalarVariable name="v" valueReference="1" causality="input"><Real start="0"/></ScalarVariable>
    <ScalarVariable name="a" valueReference="2" causality="output" initial="calculated"><Real/></ScalarVariable>
    <ScalarVariable name="b" valueReference="3" causality="output" initial="calculated"><Real/></ScalarVariable>
    <ScalarVariable name="a0" valueReference="4" causality="parameter" variability="fixed"><Real start="1"/></ScalarVariable>
    <ScalarVariable name="b0" valueReference="5" causality="parameter" variability="fixed"><Real start="0"/></ScalarVariable>
  </ModelVariables>
  <ModelStructure>
    <Outputs><Unknown index="3" dependencies=""/><Unknown index="4" dependencies=""/></Outputs>
    <InitialUnknowns>
      <Unknown index="3" dependencies="5"/><Unknown index="4" dependencies="6"/>
    </InitialUnknowns>
  </ModelStructure>
</fmiModelDescription>
"#;

/// What the benchmark built for itself.
struct Built {
    folder: PathBuf,
    rotor: Unit,
    /// The same unit with a tally of its calls.
    counting: Unit,
    bare: PathBuf,
    cpu: PathBuf,
    /// Of the other coordinators, if they are installed.
    python: PathBuf,
}

struct Unit {
    library: PathBuf,
    fmu: PathBuf,
}

impl Built {
    fn new() -> Built {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fmu-bench");
        fs::create_dir_all(&folder).expect("the target folder can be written");
        let unit = |name: &str, flags: &[&str]| {
            let library = folder.join(format!("{name}.so"));
            compile("rotor.c", &[flags, &["-shared", "-fPIC"]].concat(), &library);
            let fmu = folder.join(format!("{name}.fmu"));
            pack(&library, &fmu);
            Unit { library, fmu }
        };
        let program = |name: &str| {
            let file = folder.join(name);
            compile(&format!("{name}.c"), &["-ldl"], &file);
            file
        };
        Built {
            rotor: unit("rotor", &[]),
            counting: unit("counting", &["-DCOUNT"]),
            bare: program("bare"),
            cpu: program("cpu"),
            python: Path::new(env!("CARGO_TARGET_TMPDIR")).join("../peers/bin/python"),
            folder,
        }
    }

    /// The bare loop.
    fn bare(&self, unit: &Unit, units: usize) -> Command {
        let mut command = Command::new(&self.bare);
        command.arg(&unit.library).arg(units.to_string());
        command
    }

    /// This program as a side, see [`serve`].
    fn cosimo(&self, unit: &Unit, units: usize, recorder: &str) -> Command {
        let program = std::env::current_exe().expect("this program has a name");
        let mut command = Command::new(program);
        command.arg("--serve").arg(&unit.fmu).arg(units.to_string()).arg(recorder);
        command.env("XDG_CACHE_HOME", self.folder.join("cache"));
        command
    }

    /// Another coordinator; its other output is ignored.
    fn peer(&self, name: &str, units: usize) -> Command {
        let mut command = Command::new(&self.python);
        command.arg(source("../peers.py")).arg(name).arg(&self.rotor.fmu).arg(units.to_string());
        command.current_dir(&self.folder).stderr(Stdio::null());
        command
    }
}

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/fmu").join(name)
}

fn compile(name: &str, flags: &[&str], out: &Path) {
    let status = Command::new("cc").arg("-O2").arg(source(name)).args(flags).arg("-o").arg(out).status();
    assert!(status.is_ok_and(|status| status.success()), "`cc` could not build {name}");
}

fn pack(library: &Path, fmu: &Path) {
    let mut archive = zip::ZipWriter::new(fs::File::create(fmu).expect("a file can be created"));
    let binary = fs::read(library).expect("the library was built");
    for (name, bytes) in
        [("modelDescription.xml", DESCRIPTION.as_bytes()), ("binaries/linux64/rotor.so", &binary)]
    {
        archive.start_file(name, zip::write::SimpleFileOptions::default()).expect("a zip can be written");
        archive.write_all(bytes).expect("a zip can be written");
    }
    archive.finish().expect("a zip can be written");
}

/// A ring under another coordinator, in a process of its own.
struct Side {
    child: Child,
    to: Option<ChildStdin>,
    from: BufReader<ChildStdout>,
    /// Steps that fill a slice.
    steps: u64,
    /// Seconds per step, round by round.
    costs: Vec<f64>,
}

impl Side {
    fn start(mut command: Command) -> Side {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{command:?} cannot be started: {error}"));
        let (to, from) = (child.stdin.take(), child.stdout.take().expect("its output is piped"));
        Side { child, to, from: BufReader::new(from), steps: 1, costs: Vec::new() }
    }

    /// `None` where the other end has gone away.
    fn ask(&mut self, question: &str) -> Option<String> {
        writeln!(self.to.as_mut()?, "{question}").ok()?;
        let mut line = String::new();
        self.from.read_line(&mut line).ok().filter(|read| *read > 0)?;
        Some(line.trim_end().to_owned())
    }

    /// Seconds of so many steps.
    fn step(&mut self, steps: u64) -> Option<f64> {
        self.ask(&steps.to_string())?.parse().ok()
    }

    /// Finds how many steps fill a slice.
    fn warm_up(&mut self, slice: Duration) -> Option<()> {
        // The first step may still initialise, and any may be interrupted: too few steps measure a cold cache.
        self.step(1)?;
        loop {
            let mut spent = f64::INFINITY;
            for _ in 0..5 {
                spent = spent.min(self.step(self.steps)?);
            }
            if spent * 4.0 > slice.as_secs_f64() {
                self.steps = ((self.steps as f64 * slice.as_secs_f64() / spent) as u64).max(1);
                return Some(());
            }
            self.steps *= 2;
        }
    }

    fn round(&mut self) -> Option<()> {
        let seconds = self.step(self.steps)?;
        self.costs.push(seconds / self.steps as f64);
        Some(())
    }

    fn least(&self) -> f64 {
        self.costs.iter().copied().fold(f64::INFINITY, f64::min)
    }

    /// With everything that happens now and then, such as a chunk that is written.
    fn mean(&self) -> f64 {
        self.costs.iter().sum::<f64>() / self.costs.len() as f64
    }

    fn median(&self) -> f64 {
        let mut sorted = self.costs.clone();
        sorted.sort_by(f64::total_cmp);
        sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
    }

    /// No more questions; what it wrote to its standard error is whole afterwards.
    fn end(mut self) {
        drop(self.to.take());
        assert!(self.child.wait().is_ok_and(|status| status.success()), "a side did not end well");
    }
}

struct Effort {
    rounds: usize,
    slice: Duration,
}

impl Effort {
    /// One line of the table: a side against the bare loop by turns, after their results were compared.
    fn row(&self, name: &str, units: usize, built: &Built, ours: bool, command: impl Fn() -> Command) {
        let by_hand = || built.bare(&built.rotor, units);
        let (expected, found) = (result(by_hand()), result(command()));
        let same = expected == found;
        assert!(same || !ours, "{name}: after {CHECKED} steps {found:?} in place of {expected:?}");
        let (mut bare, mut side) = (Side::start(by_hand()), Side::start(command()));
        let mut measure = || {
            bare.warm_up(self.slice)?;
            side.warm_up(self.slice)?;
            for _ in 0..self.rounds {
                bare.round()?;
                side.round()?;
            }
            Some(())
        };
        if found.is_none() || measure().is_none() {
            println!("{name:<20} {units:>5}   did not run");
            return;
        }
        let nanos = |seconds: f64| seconds * 1e9 / units as f64;
        println!(
            "{name:<20} {units:>5} {:>9.1} {:>9.1} {:>8.2} {:>8.2} {:>8.2}   {}",
            nanos(bare.least()),
            nanos(side.least()),
            side.least() / bare.least(),
            side.median() / bare.median(),
            side.mean() / bare.mean(),
            if same { "the same bits" } else { "other values" }
        );
        bare.end();
        side.end();
    }
}

/// What a ring shows after a number of steps; not asked of the processes that are timed, because some must do more in
/// every step to have an answer.
fn result(command: Command) -> Option<String> {
    let mut side = Side::start(command);
    side.step(CHECKED)?;
    side.ask("values")
}

/// The same calls in the same order, told by the unit itself.
fn compare_calls(built: &Built, units: usize) {
    const STEPS: u64 = 25;
    let file = built.folder.join("calls");
    let tally = |mut command: Command| {
        command.env("COSIMO_ROTOR_CALLS", &file);
        let mut side = Side::start(command);
        side.step(STEPS).expect("a side steps");
        side.end();
        fs::read_to_string(&file).expect("the unit wrote its tally")
    };
    let bare = tally(built.bare(&built.counting, units));
    let cosimo = tally(built.cosimo(&built.counting, units, ""));
    assert_eq!(bare, cosimo, "the engine makes other calls than the bare loop");
    println!("{units} units, {STEPS} steps: {cosimo}; the same by hand");
}

/// CPU seconds of a process that reads the system, opens and initialises all units, and ends.
fn load(built: &Built, units: usize) -> f64 {
    let command = built.cosimo(&built.rotor, units, "");
    let output = Command::new(&built.cpu)
        .arg(command.get_program())
        .args(command.get_args())
        .envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .stdin(Stdio::null())
        .output()
        .expect("a process can be started");
    let text = String::from_utf8_lossy(&output.stderr);
    text.trim().parse().unwrap_or_else(|_| panic!("the units could not be loaded: {text}"))
}

/// Instructions per step, exactly: two runs that differ in nothing but the number of steps.
fn instructions(build: impl Fn() -> Command) -> Option<f64> {
    let count = |steps: u64| {
        let command = build();
        let mut valgrind = Command::new("valgrind");
        valgrind.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
        valgrind.arg(command.get_program()).args(command.get_args());
        valgrind.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let mut child =
            valgrind.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().ok()?;
        writeln!(child.stdin.take()?, "{steps}").ok()?;
        let output = child.wait_with_output().ok()?;
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        let line = text.lines().find_map(|line| line.split_once("Collected :"))?;
        line.1.trim().parse::<u64>().ok()
    };
    // Both numbers have as many digits, so that reading them takes as long.
    let (few, many) = (2000, 6000);
    Some((count(many)? - count(few)?) as f64 / (many - few) as f64)
}

fn ring_text(fmu: &Path, units: usize) -> String {
    let mut text = format!(
        "[experiment]\nstop = 1e9\n[results]\nvariables = [\"*.a\", \"*.b\"]\n[method]\nstep = {{ size = {SIZE} }}\n"
    );
    for k in 0..units {
        let (before, start) = ((k + units - 1) % units, 1.0 + k as f64 / 64.0);
        let _ = writeln!(text, "[component.r{k}]\nsource = {:?}", fmu.display().to_string());
        let _ = writeln!(text, "parameters = {{ a0 = {start:?}, b0 = 0.5 }}");
        for (from, to) in [("a", "u"), ("b", "v")] {
            let _ = writeln!(text, "[[connection]]\nfrom = \"r{before}.{from}\"\nto = \"r{k}.{to}\"");
        }
    }
    text
}

/// Cosimo as a side: `--serve FMU N RECORDER`.
fn serve(arguments: &[String]) {
    let [fmu, units, recorder] = arguments else { panic!("--serve FMU N RECORDER") };
    let text = ring_text(Path::new(fmu), units.parse().expect("a number of units"));
    let registry = cosimo::registry();
    let (system, problems) = cosimo::system::toml::read(&text, Path::new("."), &registry);
    assert!(problems.is_empty(), "{problems:?}");
    let plan = cosimo::engine::plan(&system, &registry).expect("the system can be planned");
    let mut run = Run::new(plan, 1).expect("the system starts");
    let scratch = std::env::temp_dir().join(format!("cosimo-bench-{}.{recorder}", std::process::id()));
    if FORMATS.iter().any(|format| format.name == recorder) {
        let files = Files::new(std::slice::from_ref(&scratch), FORMATS).expect("the format is known");
        run.record(Box::new(files)).expect("a file can be written");
    }
    for line in std::io::stdin().lines().map_while(Result::ok) {
        if line == "values" {
            let bits: Vec<String> =
                run.outputs().iter().map(|value| format!("{:016x}", value.to_bits())).collect();
            println!("{}", bits.join(" "));
            continue;
        }
        let steps: u64 = line.parse().expect("a number of steps");
        let begun = Instant::now();
        for _ in 0..steps {
            run.step().expect("the engine steps");
        }
        println!("{:e}", begun.elapsed().as_secs_f64());
    }
    run.finish().expect("a file can be written");
    drop(run);
    let _ = fs::remove_file(scratch);
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let Some(at) = arguments.iter().position(|argument| argument == "--serve") {
        return serve(&arguments[at + 1..]);
    }
    let has = |wanted: &str| arguments.iter().any(|argument| argument == wanted);
    let built = Built::new();
    for units in [2, 10] {
        compare_calls(&built, units);
    }
    if has("--count") {
        println!("\ninstructions per step\n{:>5} {:>9} {:>9} {:>8}", "N", "by hand", "cosimo", "ratio");
        for units in [2, 10, 100] {
            let bare = instructions(|| built.bare(&built.rotor, units));
            let cosimo = instructions(|| built.cosimo(&built.rotor, units, ""));
            let (Some(bare), Some(cosimo)) = (bare, cosimo) else {
                println!("`valgrind` is not installed, or does not run here");
                return;
            };
            println!("{units:>5} {bare:>9.0} {cosimo:>9.0} {:>8.2}", cosimo / bare);
        }
        return;
    }
    let whole = has("--bench");
    let effort = if whole {
        Effort { rounds: 150, slice: Duration::from_millis(2) }
    } else {
        Effort { rounds: 1, slice: Duration::ZERO }
    };
    let rings: &[usize] = if whole { &[2, 10, 100, 1000] } else { &[2, 10] };
    println!(
        "\nns per unit and step, the least of {} rounds; ratios of the least, the medians and the means (where files are written, the mean counts)",
        effort.rounds
    );
    let head = |name: &str| {
        println!(
            "\n{name:<20} {:>5} {:>9} {:>9} {:>8} {:>8} {:>8}",
            "N", "by hand", "side", "least", "medians", "means"
        );
    };
    head("cosimo");
    for &units in rings {
        effort.row("no recording", units, &built, true, || built.cosimo(&built.rotor, units, ""));
    }
    for format in FORMATS {
        for &units in rings {
            let command = || built.cosimo(&built.rotor, units, format.name);
            effort.row(&format!("to {}", format.name), units, &built, true, command);
        }
    }
    if !whole {
        return;
    }
    head("others");
    for &name in PEERS {
        for &units in rings {
            if built.python.exists() {
                effort.row(name, units, &built, false, || built.peer(name, units));
            } else {
                println!("{name:<20} {units:>5}   not installed");
            }
        }
    }
    println!(
        "\nCPU seconds of a process that loads and initialises\n{:>5} {:>9} {:>9}",
        "N", "unpacking", "again"
    );
    for units in [1, 1000] {
        let _ = fs::remove_dir_all(built.folder.join("cache"));
        let first = load(&built, units);
        let again = (0..5).map(|_| load(&built, units)).fold(f64::INFINITY, f64::min);
        println!("{units:>5} {first:>9.4} {again:>9.4}");
    }
}
