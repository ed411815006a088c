//! What error bars cost beside a run: steps of components, and wall time where a second core is free.
//!
//! `cargo bench -p cosimo --bench companions`. Runs with and without companions take turns, and the ratio of their medians
//! counts. Without `--bench` everything runs once, as a test.

#![allow(clippy::unwrap_used)] // a benchmark is a test
#![allow(clippy::disallowed_methods, reason = "no number of a run follows from it")]

use std::path::Path;
use std::time::{Duration, Instant};

use cosimo::analysis::error_bars::ErrorBars;
use cosimo::export::{Design, Version, built_library};
use cosimo::{Outcome, Simulation, native};

/// Rotors that hand their angle round.
fn ring(count: usize, steps: u32) -> Simulation<'static> {
    let mut simulation = Simulation::new();
    for k in 0..count {
        let before = (k + count - 1) % count;
        simulation = simulation
            .add_source(&format!("r{k}"), "native:ring/rotor")
            .connect(&format!("r{before}.a"), &format!("r{k}.a"))
            .connect(&format!("r{before}.b"), &format!("r{k}.b"));
    }
    simulation.step_size(1e-3).stop_time(f64::from(steps) * 1e-3)
}

/// Two FMUs for co-simulation.
fn quarter_car(folder: &Path, stop: f64) -> Simulation<'static> {
    let fmu = |model: &str| {
        let design = Design::new(&format!("native:quarter-car/{model}"), Version::Two);
        let file = folder.join(design.file_name());
        cosimo::export::write(&design, &built_library().unwrap(), &file).unwrap();
        file.display().to_string()
    };
    Simulation::new()
        .add_source("chassis", &fmu("chassis-strut"))
        .add_source("wheel", &fmu("wheel"))
        .bond("strut", ("chassis.F", "chassis.v"), ("wheel.F", "wheel.v"))
        .step_size(1e-3)
        .stop_time(stop)
}

/// Oscillators, one of which takes a millisecond for each step.
fn slow(steps: u32) -> Simulation<'static> {
    let slow = native::ode(["F"], [("x", 1.0), ("v", 0.0)], |_t, x, u, dx| {
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_micros(150) {
            std::hint::spin_loop();
        }
        dx[0] = x[1];
        dx[1] = u[0] - x[0];
    });
    let spring = native::ode(["v"], [("F", 0.0)], |_t, _x, u, dx| dx[0] = -u[0]);
    Simulation::new()
        .add("mass", slow)
        .add("spring", spring)
        .connect("mass.v", "spring.v")
        .connect("spring.F", "mass.F")
        .step_size(1e-2)
        .stop_time(f64::from(steps) * 1e-2)
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn measure(name: &str, turns: usize, simulation: &dyn Fn() -> Simulation<'static>) {
    let total = |outcome: &Outcome| (outcome.wall_time + outcome.wall_time_of_error_bars).as_secs_f64();
    let (mut alone, mut beside, mut steps) = (Vec::new(), Vec::new(), 0.0);
    for _ in 0..turns {
        alone.push(total(&simulation().error_bars(ErrorBars::Off).run().unwrap()));
        let outcome = simulation().error_bars(ErrorBars::Coarse).run().unwrap();
        steps = 1.0 + outcome.accuracy.companion_steps as f64 / outcome.summary.counters.steps as f64;
        beside.push(total(&outcome));
    }
    let (alone, beside) = (median(alone), median(beside));
    println!("{name:<36} component-steps {steps:.3}, wall time {:.3} ({alone:.4} s alone)", beside / alone);
}

fn main() {
    let full = std::env::args().any(|argument| argument == "--bench");
    let (turns, long) = if full { (5, 1) } else { (1, 1000) };
    let folder = std::env::temp_dir().join(format!("cosimo-bench-companions-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    measure("ring of 10 native components", turns, &|| ring(10, 2_000_000 / long));
    measure("ring of 100 native components", turns, &|| ring(100, 200_000 / long));
    measure("quarter car, two FMUs", turns, &|| quarter_car(&folder, 400.0 / f64::from(long)));
    measure("a component of about 1 ms per step", turns, &|| slow((1000 / long).max(8)));
    std::fs::remove_dir_all(&folder).unwrap();
}
