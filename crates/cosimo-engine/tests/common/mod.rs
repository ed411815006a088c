//! What the numerical tests share: systems as text, how to start them, and the monolithic dual mass with its
//! history before the start. Masses are 100, springs and dampers 100 and 60, the left mass starts at 1.
#![allow(dead_code, clippy::unwrap_used)] // each file takes its share; helpers of tests are tests
#![allow(clippy::disallowed_methods, reason = "what tests expect may come from the C library")]

pub(crate) mod formula;
pub(crate) mod tap;

#[path = "../../../cosimo-pack/tests/common/scratch.rs"]
mod scratch;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Mutex;

use cosimo::core::registry::OpenRequest;
use cosimo::core::{Options, Registry, Time, Value};
use cosimo::engine::{Run, RunError, plan};
use cosimo::export::{Design, Variant, Version, built_library, write};
use cosimo::record::{MemoryRecorder, Table};
use cosimo::system::{System, toml};
use scratch::scratch;

/// The dual mass as a system file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DualMass<'a> {
    pub(crate) stop: f64,
    /// More lines of `[experiment]`.
    pub(crate) experiment: &'a str,
    /// The force comes out of the right component instead of the left one.
    pub(crate) mirrored: bool,
    /// x1, v1, x2 and v2 at the start.
    pub(crate) initial: [f64; 4],
    /// More parameters of both components.
    pub(crate) parameters: &'a str,
    /// More lines of `[[bond]]`; `None` makes the bond two wires.
    pub(crate) bond: Option<&'a str>,
    /// The lines of `[method]`.
    pub(crate) method: &'a str,
    /// What the sides are made of.
    pub(crate) made: Made,
}

/// Where a simulator comes from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Made {
    Native,
    /// An FMU of the native model.
    Unit(Version, Variant),
    /// The same for model exchange.
    Equations(Version),
    /// An FMU that is told the waves of its lines.
    Waves(Version),
    /// An FMU of FMI 3.0 that controls the delays of its lines.
    Stretching,
}

impl Made {
    /// Units of both versions: that follow inputs that move, that hold them, and that Cosimo integrates.
    pub(crate) const UNITS: [Made; 5] = [
        Made::Unit(Version::Two, Variant::Interpolates),
        Made::Unit(Version::Three, Variant::Intermediate),
        Made::Unit(Version::Two, Variant::Plain),
        Made::Equations(Version::Two),
        Made::Equations(Version::Three),
    ];

    /// Whether it can do what the method asks for: units for co-simulation offer no slopes.
    pub(crate) fn fits(self, method: &str) -> bool {
        let slopes = method.contains("input = \"taylor\"") || method.contains("input = \"hermite\"");
        !(slopes && matches!(self, Made::Unit(..)))
    }

    /// The model as a source. Units are written once, and kept open so that no run has to read them again.
    pub(crate) fn source(self, model: &str) -> String {
        static WRITTEN: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
        let native = format!("native:{model}");
        let design = match self {
            Made::Native => return native,
            Made::Unit(version, variant) => Design::new(&native, version).variant(variant),
            Made::Equations(version) => Design::exchange(&native, version),
            Made::Waves(version) => Design::new(&native, version).at_lines(),
            Made::Stretching => Design::new(&native, Version::Three).stretching_lines(),
        };
        let name = design.file_name();
        let mut written = WRITTEN.lock().unwrap();
        if written.insert(name.clone()) {
            let folder = folder();
            write(&design, &built_library().unwrap(), &folder.join(&name)).unwrap();
            cosimo::fmi::use_cache(&folder.join("cache"));
            let request =
                OpenRequest { name: "unit", source: &name, folder: &folder, parameters: &[], joined: false };
            Box::leak((cosimo::fmi::FMU.open)(&request).unwrap_or_else(|problems| panic!("{problems:#?}")));
        }
        name
    }
}

/// The initial state of the models' defaults.
pub(crate) const INITIAL: [f64; 4] = [1.0, 0.0, 0.0, 0.0];

pub(crate) const DUAL_MASS: DualMass<'static> = DualMass {
    stop: 10.0,
    experiment: "",
    mirrored: false,
    initial: INITIAL,
    parameters: "",
    bond: Some(""),
    method: "",
    made: Made::Native,
};

impl DualMass<'_> {
    pub(crate) fn text(&self) -> String {
        let DualMass { stop, experiment, initial: [x1, v1, x2, v2], parameters, method, .. } = self;
        let (left, right) = if self.mirrored { ("left", "right-force") } else { ("left-force", "right") };
        let (telling, told) = if self.mirrored { ("right", "left") } else { ("left", "right") };
        // An iteration settles no closer than the integrators inside do.
        let tight = if matches!(self.made, Made::Equations(_)) { "\"cosimo.relative\" = 1e-10" } else { "" };
        let [left, right] = [left, right].map(|side| self.made.source(&format!("dual-mass/{side}")));
        let power = match self.bond {
            Some(more) => format!(
                "[[bond]]\nname = \"joint\"\n\
                 a = {{ effort = \"{telling}.f\", flow = \"{telling}.v_far\" }}\n\
                 b = {{ effort = \"{told}.f\", flow = \"{told}.v\" }}\n{more}"
            ),
            None => format!(
                "[[connection]]\nfrom = \"{telling}.f\"\nto = \"{told}.f\"\n\
                 [[connection]]\nfrom = \"{told}.v\"\nto = \"{telling}.v_far\"\n"
            ),
        };
        format!(
            "[experiment]\nstop = {stop:?}\n{experiment}\n\
             [component.left]\nsource = \"{left}\"\n\
             parameters = {{ x10 = {x1:?}, v10 = {v1:?}, {parameters} {tight} }}\n\
             [component.right]\nsource = \"{right}\"\n\
             parameters = {{ x20 = {x2:?}, v20 = {v2:?}, {parameters} {tight} }}\n\
             [[connection]]\nfrom = \"{told}.x\"\nto = \"{telling}.x_far\"\n{power}\n[method]\n{method}\n"
        )
    }

    pub(crate) fn start(&self) -> Run {
        start(&self.text(), 1)
    }
}

/// Reads a system that must be without fault. Files it names lie in [`folder`].
pub(crate) fn system(text: &str, registry: &Registry) -> System {
    let (system, problems) = toml::read(text, &folder(), registry);
    assert!(problems.is_empty(), "{problems:#?} in\n{text}");
    system
}

/// A run of a system that must be without fault, at its start.
pub(crate) fn start(text: &str, threads: usize) -> Run {
    start_with(text, threads, &cosimo::registry())
}

/// The same with methods of the test's own.
pub(crate) fn start_with(text: &str, threads: usize, registry: &Registry) -> Run {
    let plan =
        plan(&system(text, registry), registry).unwrap_or_else(|problems| panic!("{problems:#?} in\n{text}"));
    // Tests go back as they like, by checkpoints and by probing.
    Run::new(plan.rewinding(), threads).unwrap()
}

pub(crate) fn run_to_the_end(run: &mut Run) {
    run.run_until(Time::new(f64::INFINITY).unwrap()).unwrap();
    assert!(run.finished());
}

/// Every row of a run from start to end.
pub(crate) fn rows(text: &str) -> Table {
    try_rows(text).unwrap()
}

/// The same for a run that may fail.
pub(crate) fn try_rows(text: &str) -> Result<Table, RunError> {
    let mut run = start(text, 1);
    let memory = MemoryRecorder::default();
    run.record(Box::new(memory.clone()))?;
    run.run_until(Time::new(f64::INFINITY).unwrap())?;
    assert!(run.finished());
    run.finish()?;
    Ok(memory.table())
}

pub(crate) fn column<'a>(table: &'a Table, name: &str) -> &'a [f64] {
    table.column(name).unwrap_or_else(|| panic!("no column `{name}` in {:?}", table.columns.names))
}

/// Where tests keep files.
pub(crate) fn folder() -> PathBuf {
    scratch().to_path_buf()
}

/// x1, v1, x2, v2 and f of the monolithic dual mass.
pub(crate) fn truth(instants: &[f64]) -> Vec<Vec<f64>> {
    truth_from(INITIAL, instants)
}

pub(crate) fn truth_from(initial: [f64; 4], instants: &[f64]) -> Vec<Vec<f64>> {
    let registry = cosimo::registry();
    let entry = registry.references.iter().find(|entry| entry.name == "dual-mass").unwrap();
    assert_eq!(entry.columns, ["x1", "v1", "x2", "v2", "f"]);
    let names = ["x10", "v10", "x20", "v20"].map(str::to_owned);
    let given: Vec<_> = names.into_iter().zip(initial.map(Value::Number)).collect();
    let options = Options::resolve(entry.name, entry.parameters, &given).unwrap();
    (entry.solve)(&options, 0.0, instants)
}

/// Writes what the dual mass did before the start, `size` apart, and returns the line of `[experiment]` that
/// reads it. `name` keeps tests that run at the same time apart.
pub(crate) fn history(name: &str, size: f64, samples: i32) -> String {
    history_of(name, INITIAL, size, samples)
}

pub(crate) fn history_of(name: &str, initial: [f64; 4], size: f64, samples: i32) -> String {
    let instants: Vec<f64> = (1..=samples).rev().map(|k| f64::from(-k) * size).collect();
    let mut text = String::from("time,left.x,left.v,right.x,right.v,left.f,right.f\n");
    for (t, row) in instants.iter().zip(truth_from(initial, &instants)) {
        let cells = [*t, row[0], row[1], row[2], row[3], row[4], row[4]];
        text += &cells.map(|cell| format!("{cell:?}")).join(",");
        text.push('\n');
    }
    let file = format!("{name}-{size:e}.csv");
    std::fs::write(folder().join(&file), text).unwrap();
    format!("history = \"{file}\"")
}

/// The slope of log(error) over log(size), by least squares.
pub(crate) fn observed_order(sizes: &[f64], errors: &[f64]) -> f64 {
    assert!(errors.iter().all(|error| *error > 0.0), "no error to speak of: {errors:?}");
    let logs = |values: &[f64]| values.iter().map(|value| value.ln()).collect::<Vec<_>>();
    let (x, y) = (logs(sizes), logs(errors));
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let (mx, my) = (mean(&x), mean(&y));
    let over: f64 = x.iter().zip(&y).map(|(x, y)| (x - mx) * (y - my)).sum();
    over / x.iter().map(|x| (x - mx) * (x - mx)).sum::<f64>()
}

/// Everything a run shows of itself, as bits.
pub(crate) fn bits(run: &Run) -> Vec<u64> {
    let ledger = run.ledger();
    let mut numbers = vec![run.time().seconds(), run.sizes().0, run.sizes().1, run.indicator()];
    numbers.extend(run.outputs());
    numbers.extend(&ledger.sides);
    numbers.extend(&ledger.indicators);
    for (power, totals) in ledger.powers.iter().zip(&ledger.totals) {
        numbers.extend([power.transmitted, power.residual]);
        numbers.extend([totals.transmitted, totals.exchanged, totals.residual, totals.residual_absolute]);
    }
    numbers.into_iter().map(f64::to_bits).collect()
}

/// Every combination of the methods in the registry, as lines of `[method]` for the dual mass: tolerances are
/// such that steps vary, and the options of corrections are spread out where they change the arithmetic.
pub(crate) fn combinations() -> Vec<String> {
    let registry = cosimo::registry();
    let mut corrections = Vec::new();
    for entry in &registry.corrections {
        if entry.name != "nepce" {
            corrections.push(format!("\"{}\"", entry.name));
        }
        if entry.name == "pre-step" {
            let options = "input = \"mean\", jacobian = \"difference\", refresh = 3";
            corrections.push(format!("{{ pre-step = {{ {options} }} }}"));
        }
        if entry.name != "nepce" {
            continue;
        }
        for form in ["account", "paper"] {
            for source in ["off", "declared", "difference"] {
                let options = format!("form = \"{form}\", feedthrough = \"{source}\"");
                corrections.push(format!("{{ nepce = {{ {options} }} }}"));
            }
        }
    }
    let estimate = |name: &str| match name {
        "power-residual" => "{ power-residual = { tolerance = 2e-3, energy_scale = 1.0 } }".to_owned(),
        "predictor-corrector" => "{ predictor-corrector = { tolerance = 0.1 } }".to_owned(),
        "power-and-outputs" => {
            "{ power-and-outputs = { tolerance = 2e-3, output_tolerance = 0.1 } }".to_owned()
        }
        "milne" => "{ milne = { tolerance = 0.05 } }".to_owned(),
        "embedded" => "{ embedded = { tolerance = 0.02 } }".to_owned(),
        "richardson" => "{ richardson = { tolerance = 2e-3 } }".to_owned(),
        other => format!("\"{other}\""),
    };
    let iteration = |name: &str| match name {
        "waveform" => "{ waveform = { relative = 1e-7, absolute = 1e-7 } }".to_owned(),
        other => format!("\"{other}\""),
    };
    let mut all = Vec::new();
    for partition in &registry.partitions {
        for iteration in registry.iterations.iter().map(|entry| iteration(entry.name)) {
            for input in &registry.inputs {
                for correction in &corrections {
                    for estimate in registry.estimates.iter().map(|entry| estimate(entry.name)) {
                        for law in &registry.controllers {
                            for reject in ["never", "above-one"] {
                                for exchange in ["stale", "fresh"] {
                                    all.push(format!(
                                        "partition = \"{}\"\niteration = {iteration}\ninput = \"{}\"\n\
                                         correction = {correction}\nexchange = \"{exchange}\"\n\
                                         step = {{ estimate = {estimate}, controller = \"{}\", reject = \"{reject}\", \
                                         size = 0.02, min = 2e-3, max = 0.15 }}",
                                        partition.name, input.name, law.name
                                    ));
                                }
                            }
                        }
                    }
                }
            }
        }
    }
    all
}

/// A part of all combinations. No axis has a multiple of eleven entries, so every pair of neighbours on two axes
/// comes up.
pub(crate) fn sample() -> Vec<String> {
    combinations().into_iter().step_by(11).collect()
}

/// Independent copies of the dual mass in one system.
pub(crate) fn side_by_side(copies: usize, method: &str) -> String {
    let mut text = String::from("[experiment]\nstop = 1000\n");
    for copy in 0..copies {
        // Unlike each other, so that mixing them up shows.
        let (kc, m2) = (60.0 + 10.0 * copy as f64, 100.0 + 20.0 * copy as f64);
        text += &format!(
            "[component.left{copy}]\nsource = \"native:dual-mass/left-force\"\nparameters = {{ kc = {kc:?} }}\n\
             [component.right{copy}]\nsource = \"native:dual-mass/right\"\nparameters = {{ m2 = {m2:?} }}\n"
        );
    }
    for copy in 0..copies {
        text += &format!(
            "[[connection]]\nfrom = \"right{copy}.x\"\nto = \"left{copy}.x_far\"\n\
             [[bond]]\na = {{ effort = \"left{copy}.f\", flow = \"left{copy}.v_far\" }}\n\
             b = {{ effort = \"right{copy}.f\", flow = \"right{copy}.v\" }}\n"
        );
    }
    format!("{text}[method]\n{method}\n")
}

/// The gain loop out of three units that are integrated together.
pub(crate) fn gain_loop([first, second, lag]: &[String; 3], a: f64, b: f64) -> String {
    format!(
        "[experiment]\nstop = 100\n[component.first]\nsource = \"{first}\"\nparameters = {{ a = {a:?} }}\n\
         [component.second]\nsource = \"{second}\"\nparameters = {{ b = {b:?} }}\n\
         [component.lag]\nsource = \"{lag}\"\n\
         [[connection]]\nfrom = \"second.y\"\nto = \"first.u\"\n[[connection]]\nfrom = \"lag.x\"\nto = \"first.w\"\n\
         [[connection]]\nfrom = \"first.y\"\nto = \"second.u\"\n[[connection]]\nfrom = \"second.y\"\nto = \"lag.u\"\n\
         [monolithic.whole]\ncomponents = [\"first\", \"second\", \"lag\"]\nrelative = 1e-11\nabsolute = 1e-12\n\
         [method]\nstep = {{ size = 0.25 }}\n"
    )
}
