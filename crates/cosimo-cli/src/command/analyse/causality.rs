//! `cosimo analyse causality`: soft or stiff interfaces, who should receive the effort, and which degrees suit which input.

use cosimo::analysis::causality::{Advice, InputRadius, advise, other_inputs};
use cosimo::analysis::forecast::three_digits;
use cosimo::analysis::linearise::linearise;
use cosimo::analysis::variant::started;
use cosimo::core::Registry;
use cosimo::system::System;
use serde::Serialize;

use super::{Subject, coded, constant_step};
use crate::report;

/// Soft or stiff interfaces, who should receive the effort, and degrees for the inputs
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
    args.subject.show(args.step.as_deref(), |system, registry| look(args, system, registry), print)
}

fn look(args: &Args, system: &System, registry: &Registry) -> Result<Causality, u8> {
    let size = constant_step(system)?;
    let mut run = started(system, registry, args.at).map_err(|error| coded(error.code(), &error, None))?;
    let linearised =
        linearise(system, registry, &mut run, size).map_err(|error| coded(error.code(), &error, None))?;
    let advice = advise(&linearised, run.layout(), size);
    if advice.is_empty() {
        let message =
            "the system has no bond between a component that tells the effort and one that receives it";
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
        words(bond, found.step).iter().for_each(|line| println!("  {line}"));
    }
    println!("\nradius with other inputs, everything else as in the file:");
    for InputRadius { input, radius } in &found.methods {
        println!("  {input:<10} {radius:.6}{}", if *radius > 1.0 { " unstable" } else { "" });
    }
}

fn words(advice: &Advice, size: f64) -> Vec<String> {
    let (teller, receiver) = (&advice.tells_effort, &advice.receives_effort);
    let step = three_digits(size);
    let kind = if advice.stiff { "stiff" } else { "soft" };
    let mut lines = vec![format!(
        "{kind}: `{teller}` tells the effort; held over {step} s it moves `{receiver}` so far that it changes by {:.3} times itself",
        advice.gain
    )];
    if let Some(gain) = advice.gain_exchanged {
        lines.push(format!("if `{teller}` received it instead, that would be {gain:.3} times"));
    }
    match advice.radius_exchanged {
        Some(other) => lines.push(format!(
            "radius with held inputs {:.4}; with the effort told by `{receiver}` {other:.4}",
            advice.radius_held
        )),
        None => lines.push(format!(
            "radius with held inputs {:.4}; the effort is no spring and damper that could be told by `{receiver}`",
            advice.radius_held
        )),
    }
    lines.push(if advice.exchange {
        format!(
            "`{receiver}` is too light a receiver for this step: move the spring to `{receiver}` and let `{teller}` receive the effort, \
             or take smaller steps"
        )
    } else if advice.radius_held > 1.0 {
        "take smaller steps, or another method: exchanging the roles does not help".into()
    } else {
        format!("`{receiver}` receiving the effort is right at this step")
    });
    if !advice.degree_1.is_empty() {
        lines.push(format!(
            "degrees for `input = \"causal\"`: 1 for {}, which passes through to the effort; 0 for {}, which is integrated",
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
