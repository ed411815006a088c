//! `cosimo analyse order`: convergence order of outputs over the step size.

use cosimo::analysis::order::{ErrorBasis, Orders, measure};
use cosimo::core::Registry;
use cosimo::system::System;

use super::{Subject, coded, constant_step};

/// Convergence order per output, against the monolithic reference or the next smaller step
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    subject: Subject,
    /// The largest step, in seconds; it is halved three times [default: that of the file]
    #[arg(long, value_name = "H", allow_hyphen_values = true)]
    step: Option<String>,
}

/// Halvings of the first step.
const HALVINGS: u32 = 3;

pub(crate) fn run(args: &Args) -> Result<(), u8> {
    args.subject.show(args.step.as_deref(), analyse, print)
}

fn analyse(system: &System, registry: &Registry) -> Result<Orders, u8> {
    let solve = |times: &[f64]| {
        cosimo::reference::solve(system, times, registry).map(|solution| (solution.names, solution.rows))
    };
    let truth: Option<cosimo::analysis::order::Truth<'_>> =
        if system.reference.is_some() { Some(&solve) } else { None };
    measure(system, registry, constant_step(system)?, HALVINGS, truth)
        .map_err(|error| coded(error.code(), &error, None))
}

fn print(name: &str, orders: &Orders) {
    let against = match orders.against {
        ErrorBasis::Monolithic => "largest error against the monolithic reference",
        ErrorBasis::NextSize => {
            "largest difference from the run with half the step (no `[reference]` in the system)"
        }
    };
    println!("{name}: {against}\n");
    let width = orders.outputs.iter().map(|output| output.output.len()).max().unwrap_or(0).max(8);
    print!("{:<width$}", "step s");
    let columns = orders.outputs.first().map_or(0, |output| output.errors.len());
    orders.steps[..columns].iter().for_each(|size| print!("  {:>10}", format!("{size:.3e}")));
    println!("  {:>6}", "order");
    for output in &orders.outputs {
        print!("{:<width$}", output.output);
        output.errors.iter().for_each(|error| print!("  {:>10}", format!("{error:.3e}")));
        let order = if output.order.is_nan() { "exact".into() } else { format!("{:.3}", output.order) };
        println!("  {order:>6}");
    }
    println!(
        "\nAn order below that of the extrapolation is often due to the start: the first steps have no history (see `history`)."
    );
}
