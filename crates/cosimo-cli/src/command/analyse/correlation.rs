//! `cosimo analyse correlation`: the residual power of bonds against the error of outputs.

use cosimo::analysis::correlation::{CorrelationError, Correlations, measure};
use cosimo::core::Registry;
use cosimo::system::System;

use super::{Subject, coded};

/// Residual power of bonds against the error of outputs (Pearson), for a system with a `[reference]`
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    subject: Subject,
    /// Step size in seconds
    #[arg(long, value_name = "H", allow_hyphen_values = true)]
    step: Option<String>,
}

const EXPLANATION: &str = "1: both rise and fall together; 0: uncorrelated; -1: one falls when the other \
rises.\nResidual energy does not bound the error: a coupling can conserve energy and still be inaccurate.";

pub(crate) fn run(args: &Args) -> Result<(), u8> {
    args.subject.show(args.step.as_deref(), analyse, print)
}

fn analyse(system: &System, registry: &Registry) -> Result<Correlations, u8> {
    let solve = |times: &[f64]| {
        cosimo::reference::solve(system, times, registry).map(|solution| (solution.names, solution.rows))
    };
    measure(system, registry, &solve).map_err(|error| {
        let hint = match &error {
            CorrelationError::NoBond => {
                Some("declare a `[[bond]]`; `cosimo bonds` finds pairs that could be one")
            }
            CorrelationError::Truth(_) => {
                Some("errors need a monolithic reference: add `[reference]` with `model` and `ports`")
            }
            CorrelationError::Variant(_) => None,
        };
        coded(error.code(), &error, hint)
    })
}

fn print(name: &str, found: &Correlations) {
    println!("{name}: |residual power| against |error|, Pearson's coefficient over {} steps\n", found.steps);
    let ports = found.bonds.first().map_or(&[][..], |bond| &bond.ports);
    let width = ports.iter().map(|port| port.port.len()).max().unwrap_or(0).max("all together".len());
    print!("{:<width$}", "");
    found.bonds.iter().for_each(|bond| print!("  {:>12}", bond.bond));
    println!();
    let row = |label: &str, value: &dyn Fn(usize) -> f64| {
        print!("{label:<width$}");
        (0..found.bonds.len()).for_each(|bond| print!("  {:>12}", shown(value(bond))));
        println!();
    };
    for (place, port) in ports.iter().enumerate() {
        row(&port.port, &|bond| found.bonds[bond].ports[place].pearson);
    }
    row("all together", &|bond| found.bonds[bond].together);
    println!("\n{EXPLANATION}");
}

fn shown(value: f64) -> String {
    if value.is_nan() { "no change".into() } else { format!("{value:.4}") }
}
