//! `cosimo analyse causality`: soft or stiff interfaces, the causality of the effort, and extrapolation degrees of inputs.

use cosimo::analysis::causality::{Advice, InputRadius, advise, other_inputs};
use cosimo::analysis::forecast::three_digits;
use cosimo::analysis::linearise::linearise;
use cosimo::analysis::variant::started;
use cosimo::core::Registry;
use cosimo::system::System;
use serde::Serialize;

use super::{Subject, coded, constant_step};
use crate::report;

/// Soft or stiff interfaces, which side should receive the effort, and extrapolation degrees of inputs
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    subject: Subject,
    /// Step size in seconds [default: that of the file]
    #[arg(long, value_name = "H", allow_hyphen_values = true)]
    step: Option<String>,
    /// The instant at which a nonlinear system is linearised [default: after a few steps]
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    at: Option<f64>,
}

pub(crate) fn run(args: &Args) -> Result<(), u8> {
    args.subject.show(args.step.as_deref(), |system, registry| analyse(args, system, registry), print)
}

fn analyse(args: &Args, system: &System, registry: &Registry) -> Result<Causality, u8> {
    let size = constant_step(system)?;
    let mut run = started(system, registry, args.at).map_err(|error| coded(error.code(), &error, None))?;
    let linearised =
        linearise(system, registry, &mut run, size).map_err(|error| coded(error.code(), &error, None))?;
    let advice = advise(&linearised, run.layout(), size);
    if advice.is_empty() {
        let message =
            "the system has no bond between a component with the effort as output and one with it as input";
        return Err(report::refused(
            message,
            Some("declare a `[[bond]]`; `cosimo bonds` finds pairs that could be one"),
        ));
    }
    let methods = other_inputs(system, registry, args.at, size);
    Ok(Causality { step: size, bonds: advice, methods })
}

fn print(name: &str, found: &Causality) {
    println!("{name}: interfaces at a step of {} s", three_digits(found.step));
    for bond in &found.bonds {
        println!("\nbond `{}`:", bond.bond);
        text(bond, found.step).iter().for_each(|line| println!("  {line}"));
    }
    println!("\nspectral radius with other extrapolations of the inputs:");
    for InputRadius { input, radius } in &found.methods {
        println!("  {input:<10} {radius:.6}{}", if *radius > 1.0 { " unstable" } else { "" });
    }
}

fn text(advice: &Advice, size: f64) -> Vec<String> {
    let (source, receiver) = (&advice.tells_effort, &advice.receives_effort);
    let step = three_digits(size);
    let kind = if advice.stiff { "stiff" } else { "soft" };
    let mut lines = vec![format!(
        "{kind}: `{source}` outputs the effort; held over {step} s it moves `{receiver}` so that the effort changes by {:.3} times itself",
        advice.gain
    )];
    if let Some(gain) = advice.gain_exchanged {
        lines.push(format!("with `{source}` as the receiver: {gain:.3} times"));
    }
    match advice.radius_exchanged {
        Some(other) => lines.push(format!(
            "spectral radius with zero-order hold {:.4}; with the effort as output of `{receiver}` {other:.4}",
            advice.radius_held
        )),
        None => lines.push(format!(
            "spectral radius with zero-order hold {:.4}; the effort is not a spring and damper that `{receiver}` could contain",
            advice.radius_held
        )),
    }
    lines.push(if advice.exchange {
        format!(
            "`{receiver}` is too light for this step: move the spring to `{receiver}` and let `{source}` receive the effort, \
             or reduce the step"
        )
    } else if advice.radius_held > 1.0 {
        "reduce the step or choose another method: exchanging the causality does not help".into()
    } else {
        format!("`{receiver}` as the receiver of the effort is right at this step")
    });
    if !advice.degree_1.is_empty() {
        lines.push(format!(
            "degrees for `input = \"causal\"`: 1 for {} (direct feed-through to the effort); 0 for {} (integrated)",
            advice.degree_1.join(", "),
            advice.degree_0.join(", ")
        ));
    }
    lines
}

#[derive(Serialize)]
struct Causality {
    step: f64,
    bonds: Vec<Advice>,
    methods: Vec<InputRadius>,
}
