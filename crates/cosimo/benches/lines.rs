//! What islands and lines cost beside their simulators: a chain of masses, each an island, with a line to either side.
//!
//! `cargo bench -p cosimo --bench lines`. Time per step of an island and per look-up of a table, for chains of growing length:
//! the first must not grow with the chain. Without `--bench` everything runs once, as a test.

#![allow(clippy::unwrap_used)] // a benchmark is a test

use std::fmt::Write as _;
use std::path::Path;
use std::time::Instant;

use cosimo::core::line::{Stamp, StampInterpolation, StampTable};
use cosimo::engine::{Run, plan};
use cosimo::system::toml;

fn chain(count: usize, stop: f64) -> String {
    let mut text = format!("experiment.stop = {stop}\nresults.every = {stop}\n");
    text += "component.c0 = { source = \"native:spring-mass/left\", parameters = { t0 = 1e-3 } }\n";
    for k in 1..count {
        let side = if k + 1 == count { "right" } else { "middle" };
        writeln!(text, "component.c{k}.source = \"native:spring-mass/{side}\"").unwrap();
    }
    for k in 1..count {
        let from = if k == 1 { ["e", "f"] } else { ["e2", "f2"] };
        writeln!(
            text,
            "[[bond]]\na = {{ effort = \"c{}.{}\", flow = \"c{}.{}\" }}\nb = {{ effort = \"c{k}.e\", flow = \"c{k}.f\" }}\n\
             opposite = \"flow\"\nline = {{ delay = 1e-4, stiffness = 1e3 }}",
            k - 1,
            from[0],
            k - 1,
            from[1]
        )
        .unwrap();
    }
    text
}

fn main() {
    let full = std::env::args().any(|argument| argument == "--bench");
    let registry = cosimo::registry();
    let counts: &[usize] = if full { &[2, 10, 100, 1000] } else { &[2, 10] };
    for &count in counts {
        let stop = if full { 0.1 } else { 0.002 };
        let (system, problems) = toml::read(&chain(count, stop), Path::new("."), &registry);
        assert!(
            problems.iter().all(|problem| problem.severity != cosimo::system::Severity::Error),
            "{problems:?}"
        );
        for threads in [1, 2] {
            let plan = plan(&system, &registry).unwrap_or_else(|problems| panic!("{problems:?}"));
            let mut run = Run::new(plan, threads).unwrap();
            let began = Instant::now();
            while !run.finished() {
                run.step().unwrap();
            }
            let spent = began.elapsed().as_nanos() as f64;
            let steps: u64 = run.net().unwrap().islands.iter().map(|island| island.steps).sum();
            println!(
                "{count:>5} islands on {threads} threads: {:>7.0} ns per step of an island, {steps} steps",
                spent / steps as f64
            );
        }
    }
    let mut table = StampTable::new(Stamp::default(), StampInterpolation::Linear);
    (1..200).for_each(|k| {
        table.publish(f64::from(k) * 1e-4, 1.0, f64::from(k));
    });
    let reads = if full { 5_000_000 } else { 1000 };
    let began = Instant::now();
    let sum: f64 = (0..reads).map(|k| table.at(0.019 + 1e-4 * f64::from(k % 9) / 9.0).1).sum();
    println!("{:.1} ns per look-up ({sum:.1e})", began.elapsed().as_nanos() as f64 / f64::from(reads));
}
