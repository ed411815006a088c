//! What the engine adds to the calls it makes: a ring of simulators that do next to nothing, stepped by the
//! engine and by a hand-written loop over the same calls.
//!
//! `cargo bench -p cosimo --bench engine`. The two sides take turns and the ratio of their medians is what
//! counts: on a shared machine times drift together. Without `--bench` everything runs once, as a test.

#![allow(clippy::disallowed_methods, reason = "no number of a run follows from it")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use cosimo::core::registry::OpenRequest;
use cosimo::core::{Inputs, Outputs, Segment, Setup, Simulator, Time, Window};
use cosimo::engine::Run;
use cosimo::record::Files;

const SIZE: f64 = 1e-3;
const ANGLE: f64 = 1e-3;
const ROTOR: &str = "native:ring/rotor";

/// Something that can be stepped, and how many simulators step with it.
struct Side {
    step: Box<dyn FnMut(u64)>,
    simulators: usize,
}

/// What a side costs, in ns per simulator and step, round by round.
type Costs = Vec<f64>;

struct Effort {
    rounds: usize,
    /// Time of one side in one round; `None` takes one step.
    slice: Option<Duration>,
}

impl Effort {
    /// Both sides by turns, after a warm-up that also finds how many steps fill a slice.
    fn compare(&self, a: &mut Side, b: &mut Side) -> (Costs, Costs) {
        let counts = [self.steps(a), self.steps(b)];
        let mut costs = (Costs::new(), Costs::new());
        for _ in 0..self.rounds {
            costs.0.push(measure(a, counts[0]));
            costs.1.push(measure(b, counts[1]));
        }
        costs
    }

    fn steps(&self, side: &mut Side) -> u64 {
        let Some(slice) = self.slice else { return 1 };
        let mut steps = 1;
        loop {
            let start = Instant::now();
            (side.step)(steps);
            let spent = start.elapsed();
            if spent * 8 > slice {
                return ((steps as f64 * slice.as_secs_f64() / spent.as_secs_f64()) as u64).max(1);
            }
            steps *= 2;
        }
    }
}

fn measure(side: &mut Side, steps: u64) -> f64 {
    let start = Instant::now();
    (side.step)(steps);
    start.elapsed().as_secs_f64() * 1e9 / (steps as f64 * side.simulators as f64)
}

fn median(costs: &[f64]) -> f64 {
    let mut sorted = costs.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

/// The loop that anyone would write for this one system: no checks but `?`, no history, no methods.
struct Bare {
    simulators: Vec<Box<dyn Simulator>>,
    segments: Vec<[Segment; 2]>,
    outputs: Vec<[f64; 2]>,
    steps: u64,
}

impl Bare {
    fn new(simulators: usize) -> Bare {
        let registry = cosimo::registry();
        let kind = registry.source(ROTOR).expect("native models");
        let request = OpenRequest {
            name: "rotor",
            source: ROTOR,
            folder: Path::new("."),
            parameters: &[],
            joined: false,
        };
        let mut simulators: Vec<_> =
            (0..simulators).map(|_| kind.open(&request).expect("the rotor opens")).collect();
        let mut outputs = vec![[0.0; 2]; simulators.len()];
        for (simulator, values) in simulators.iter_mut().zip(&mut outputs) {
            simulator
                .initialize(&Setup { start: Time::ZERO, stop: None, stop_at_events: false, rewinds: true })
                .expect("the rotor enters");
            simulator.get_outputs(&mut Outputs { values, slopes: &mut [] }).expect("the rotor has outputs");
        }
        let mut bare =
            Bare { segments: vec![[Segment::ZERO; 2]; outputs.len()], simulators, outputs, steps: 0 };
        bare.exchange();
        bare
    }

    fn step(&mut self) -> Result<(), cosimo::core::SimulatorError> {
        let time = |n: u64| Time::new(n as f64 * SIZE).unwrap_or_default();
        let window = Window { from: time(self.steps), to: time(self.steps + 1), size: SIZE };
        for ((simulator, segments), values) in
            self.simulators.iter_mut().zip(&self.segments).zip(&mut self.outputs)
        {
            simulator.do_step(window, &Inputs::of(segments))?;
            simulator.get_outputs(&mut Outputs { values, slopes: &mut [] })?;
        }
        self.exchange();
        self.steps += 1;
        Ok(())
    }

    fn exchange(&mut self) {
        let last = self.outputs.len() - 1;
        self.segments[0] = self.outputs[last].map(Segment::constant);
        for (segments, outputs) in self.segments[1..].iter_mut().zip(&self.outputs) {
            *segments = outputs.map(Segment::constant);
        }
    }
}

fn bare_ring(simulators: usize) -> Side {
    let mut bare = Bare::new(simulators);
    let step = move |steps| {
        for _ in 0..steps {
            bare.step().expect("the bare loop steps");
        }
        check_ring(bare.outputs.as_flattened(), bare.steps);
    };
    Side { step: Box::new(step), simulators }
}

/// The closed form: all simulators turn the same pair, once per step.
fn check_ring(outputs: &[f64], steps: u64) {
    let turned = (steps as f64 * ANGLE).cos();
    for pair in outputs.as_chunks::<2>().0 {
        let error = (pair[0] - turned).abs();
        assert!(error < 1e-12 + 1e-15 * steps as f64, "after {steps} steps {} is not {turned}", pair[0]);
    }
}

fn ring_text(simulators: usize, angle: f64, method: &str) -> String {
    let mut text = format!("[experiment]\nstop = 1e9\n[method]\nstep = {{ size = {SIZE} }}\n{method}\n");
    for k in 0..simulators {
        let before = (k + simulators - 1) % simulators;
        let _ =
            writeln!(text, "[component.r{k}]\nsource = \"{ROTOR}\"\nparameters = {{ angle = {angle:?} }}");
        for port in ["a", "b"] {
            let _ = writeln!(text, "[[connection]]\nfrom = \"r{before}.{port}\"\nto = \"r{k}.{port}\"");
        }
    }
    text
}

fn planned(text: &str, threads: usize) -> Run {
    let registry = cosimo::registry();
    let (system, problems) = cosimo::system::toml::read(text, Path::new("."), &registry);
    assert!(problems.is_empty(), "{problems:?}");
    let plan = cosimo::engine::plan(&system, &registry).expect("the system can be planned");
    Run::new(plan, threads).expect("the system starts")
}

/// Held inputs, a fixed step, Jacobi: the plainest run there is.
fn held_ring(simulators: usize, threads: usize, results: Option<&Path>) -> Side {
    let mut run = planned(&ring_text(simulators, ANGLE, ""), threads);
    if let Some(path) = results {
        let files = Files::new(&[path.to_owned()], &cosimo::registry().formats).expect("the format is known");
        run.record(Box::new(files)).expect("a file can be written");
    }
    let step = move |steps| {
        advance(&mut run, steps);
        check_ring(run.outputs(), run.counters().steps);
    };
    Side { step: Box::new(step), simulators }
}

/// Any other method. Nothing turns, because most would make a turning ring grow beyond all bounds.
fn resting_ring(simulators: usize, method: &str) -> Side {
    let mut run = planned(&ring_text(simulators, 0.0, method), 1);
    let step = move |steps| {
        advance(&mut run, steps);
        check_ring(run.outputs(), 0);
    };
    Side { step: Box::new(step), simulators }
}

fn advance(run: &mut Run, steps: u64) {
    for _ in 0..steps {
        run.step().expect("the engine steps");
    }
}

fn dual_mass(method: &str) -> Side {
    let text = format!(
        r#"
        [experiment]
        stop = 1e9
        [component.left]
        source = "native:dual-mass/left-force"
        [component.right]
        source = "native:dual-mass/right"
        [[connection]]
        from = "right.x"
        to = "left.x_far"
        [[bond]]
        a = {{ effort = "left.f", flow = "left.v_far" }}
        b = {{ effort = "right.f", flow = "right.v" }}
        energy_scale = 1.0
        [method]
        {method}
        "#
    );
    let mut run = planned(&text, 1);
    Side { step: Box::new(move |steps| advance(&mut run, steps)), simulators: 2 }
}

/// Four states in two simulators, corrected by their linear models.
fn pendulum(bob: &str, parameters: &str) -> Side {
    let text = format!(
        r#"
        [experiment]
        stop = 1e9
        [component.bob]
        source = "native:pendulum/{bob}"
        parameters = {{ {parameters} }}
        [component.mass]
        source = "native:pendulum/oscillator"
        [[connection]]
        from = "bob.x"
        to = "mass.x_far"
        [[connection]]
        from = "bob.v"
        to = "mass.v_far"
        [[connection]]
        from = "mass.x"
        to = "bob.x_far"
        [[connection]]
        from = "mass.v"
        to = "bob.v_far"
        [method]
        correction = "pre-step"
        step = {{ size = 1e-3 }}
        "#
    );
    let mut run = planned(&text, 1);
    Side { step: Box::new(move |steps| advance(&mut run, steps)), simulators: 2 }
}

fn print_row(name: &str, simulators: usize, (base, costs): &(Costs, Costs)) {
    let ratios: Vec<f64> = costs.iter().zip(base).map(|(cost, base)| cost / base).collect();
    let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
    let most = ratios.iter().copied().fold(0.0, f64::max);
    let (base, cost) = (median(base), median(costs));
    println!(
        "{name:<34} {simulators:>5} {base:>9.1} {cost:>9.1} {:>8.2}   {least:.2} .. {most:.2}",
        cost / base
    );
}

/// A file that goes when the benchmark does.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn main() {
    // `cargo bench` says so; anything else, such as `cargo test --benches`, only wants to know that it runs.
    let effort = if std::env::args().any(|argument| argument == "--bench") {
        Effort { rounds: 15, slice: Some(Duration::from_millis(60)) }
    } else {
        Effort { rounds: 1, slice: None }
    };
    println!("ns per simulator and step; medians, and the range of the ratio over all rounds");
    println!("\n{:<34} {:>5} {:>9} {:>9} {:>8}   range", "ring", "N", "by hand", "engine", "ratio");
    for simulators in [2, 10, 100, 1000] {
        let costs = effort.compare(&mut bare_ring(simulators), &mut held_ring(simulators, 1, None));
        print_row("held inputs, fixed step", simulators, &costs);
    }

    println!("\n{:<34} {:>5} {:>9} {:>9} {:>8}   range", "what else costs", "N", "held", "with it", "ratio");
    for (name, simulators, method) in [
        ("linear inputs", 100, "input = \"linear\""),
        ("correction: nepce", 100, "correction = \"nepce\""),
        ("schedule: gauss-seidel", 10, "schedule = \"gauss-seidel\""),
        ("schedule: gauss-seidel", 1000, "schedule = \"gauss-seidel\""),
    ] {
        let costs =
            effort.compare(&mut held_ring(simulators, 1, None), &mut resting_ring(simulators, method));
        print_row(name, simulators, &costs);
    }
    for format in &cosimo::registry().formats {
        let name = format!("cosimo-bench-{}.{}", std::process::id(), format.endings[0]);
        let scratch = Scratch(std::env::temp_dir().join(name));
        let costs = effort.compare(&mut held_ring(100, 1, None), &mut held_ring(100, 1, Some(&scratch.0)));
        print_row(&format!("recording to {}", format.name), 100, &costs);
    }
    for simulators in [10, 100, 1000] {
        let costs = effort.compare(&mut held_ring(simulators, 1, None), &mut held_ring(simulators, 2, None));
        print_row("two threads", simulators, &costs);
    }
    let fixed = "step = { size = 1e-3 }";
    let ecco = "step = { estimate = \"power-residual\", controller = \"i\", tolerance = 1e-6, min = 1e-5, max = 1e-3 }";
    let costs = effort.compare(&mut dual_mass(fixed), &mut dual_mass(ecco));
    print_row("ecco on a bond (dual mass)", 2, &costs);
    let modelled = format!("correction = \"pre-step\"\n{fixed}");
    let costs = effort.compare(&mut dual_mass(fixed), &mut dual_mass(&modelled));
    print_row("pre-step, same matrices (dual mass)", 2, &costs);
    let identified = format!("correction = \"identified\"\n{fixed}");
    let costs = effort.compare(&mut dual_mass(fixed), &mut dual_mass(&identified));
    print_row("identified (dual mass)", 2, &costs);
    let found = format!("correction = {{ nepce = {{ feedthrough = \"identified\" }} }}\n{fixed}");
    let costs = effort.compare(&mut dual_mass(fixed), &mut dual_mass(&found));
    print_row("nepce, got Jacobian (dual mass)", 2, &costs);
    let moving = "solver = \"rk4\", micro_steps = 1";
    let costs = effort.compare(&mut pendulum("bob-linear", ""), &mut pendulum("bob", moving));
    print_row("pre-step, new matrices (pendulum)", 2, &costs);
}
