//! What an evaluation costs beside itself: the time of a whole run over its calls of the right-hand side.
//!
//!     cargo run --release -p cosimo-ode --example overhead

use std::time::Instant;

use cosimo_ode::{Absolute, EvaluationFault, INTEGRATORS, Integrator, OdeSystem, Settings, StepOutcome};

/// A chain of masses and springs, the first held, and so cheap that what is left is the integrator.
struct Chain;

impl OdeSystem for Chain {
    fn derivatives(&mut self, _t: f64, x: &[f64], dx: &mut [f64]) -> Result<(), EvaluationFault> {
        let masses = x.len() / 2;
        for i in 0..masses {
            let left = if i == 0 { 0.0 } else { x[2 * i - 2] };
            let right = if i + 1 == masses { x[2 * i] } else { x[2 * i + 2] };
            dx[2 * i] = x[2 * i + 1];
            dx[2 * i + 1] = left - 2.0 * x[2 * i] + right;
        }
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!(
        "{:18} {:>6} {:>12} {:>14} {:>10}",
        "method", "states", "evaluations", "ns/evaluation", "ns/step"
    );
    for entry in INTEGRATORS {
        for states in [2, 10, 50] {
            let settings = Settings { relative: 1e-6, absolute: Absolute::Same(1e-6), ..Settings::default() };
            let mut integrator = Integrator::new(entry, states, &settings)?;
            let mut fastest = f64::INFINITY;
            for _ in 0..10 {
                integrator.restart(0.0, &vec![1.0; states]);
                let before = integrator.counters();
                let clock = Instant::now();
                while integrator.step(&mut Chain, 1e3)? != StepOutcome::Reached {}
                let nanoseconds = clock.elapsed().as_nanos() as f64;
                let after = integrator.counters();
                let evaluations = (after.evaluations - before.evaluations) as f64;
                if nanoseconds / evaluations < fastest {
                    fastest = nanoseconds / evaluations;
                }
            }
            let counters = integrator.counters();
            let per_step = fastest * counters.evaluations as f64 / counters.accepted as f64;
            println!(
                "{:18} {states:6} {:12} {fastest:14.1} {per_step:10.0}",
                entry.name,
                counters.evaluations / 10
            );
        }
    }
    Ok(())
}
