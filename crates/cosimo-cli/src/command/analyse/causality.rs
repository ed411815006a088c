//! `cosimo analyse causality`: soft or stiff interfaces, who should receive the effort, and which degrees suit which input.

use cosimo::analysis::causality::{Advice, advise};
use cosimo::analysis::forecast::three;
use cosimo::analysis::linearise::linearise;
use cosimo::analysis::stability::radius;
use cosimo::analysis::variant::{started, with_methods};
use cosimo::core::{End, Registry};
use cosimo::engine::Layout;
use cosimo::system::System;
use serde_json::{Value, json};

use super::{Subject, coded, constant_step, isolated, one_step, refused};

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

/// Input approximations that are compared.
const COMPARED: [&str; 4] = ["hold", "causal", "linear", "quadratic"];

pub(crate) fn run(args: &Args) -> Result<(), u8> {
    let registry = cosimo::registry();
    let system = args.subject.system(one_step(args.step.as_deref())?, &registry)?;
    let size = constant_step(&system)?;
    isolated(|| look(args, &system, &registry, size))
}

fn look(args: &Args, system: &System, registry: &Registry, size: f64) -> Result<(), u8> {
    let mut run = started(system, registry, args.at).map_err(|error| coded(error.code(), &error, None))?;
    let linearised =
        linearise(system, registry, &mut run, size).map_err(|error| coded(error.code(), &error, None))?;
    let advice = advise(&linearised, run.layout(), size);
    if advice.is_empty() {
        let message =
            "the system has no bond between a component that tells the effort and one that receives it";
        return Err(refused(
            &message,
            Some("declare a `[[bond]]`; `cosimo bonds` finds pairs that could be one"),
        ));
    }
    let methods = methods(system, registry, args.at, size);
    if args.subject.json {
        println!("{:#}", as_json(&args.subject.name(), size, run.layout(), &advice, &methods));
    } else {
        print(&args.subject.name(), size, run.layout(), &advice, &methods);
    }
    Ok(())
}

/// What other input approximations would do to the radius; those that the system cannot have are left out.
fn methods(system: &System, registry: &Registry, at: Option<f64>, size: f64) -> Vec<(&'static str, f64)> {
    let measure = |name: &'static str| {
        let changed = with_methods(system, name, registry).ok()?;
        let found = radius(&mut started(&changed, registry, at).ok()?, size).ok()?;
        Some((name, found.radius))
    };
    COMPARED.into_iter().filter_map(measure).collect()
}

fn print(name: &str, size: f64, layout: &Layout, advice: &[Advice], methods: &[(&str, f64)]) {
    println!("{name}: interfaces at a step of {} s", three(size));
    for bond in advice {
        println!("\nbond `{}`:", bond.bond);
        words(bond, layout, size).iter().for_each(|line| println!("  {line}"));
    }
    println!("\nradius with other inputs, everything else as in the file:");
    for (name, radius) in methods {
        println!("  {name:<10} {radius:.6}{}", if *radius > 1.0 { " unstable" } else { "" });
    }
}

fn words(advice: &Advice, layout: &Layout, size: f64) -> Vec<String> {
    let (teller, receiver) = (&layout.topology.names[advice.teller], &layout.topology.names[advice.receiver]);
    let step = three(size);
    let kind = if advice.stiff() { "stiff" } else { "soft" };
    let mut lines = vec![format!(
        "{kind}: `{teller}` tells the effort; held over {step} s it moves `{receiver}` so far that it changes by {:.3} times itself",
        advice.gain
    )];
    if let Some(gain) = advice.other_gain {
        lines.push(format!("if `{teller}` received it instead, that would be {gain:.3} times"));
    }
    match advice.other_radius {
        Some(other) => lines.push(format!(
            "radius with held inputs {:.4}; with the effort told by `{receiver}` {other:.4}",
            advice.radius
        )),
        None => lines.push(format!(
            "radius with held inputs {:.4}; the effort is no spring and damper that could be told by `{receiver}`",
            advice.radius
        )),
    }
    lines.push(if advice.swap() {
        format!(
            "`{receiver}` is too light a receiver for this step: move the spring to `{receiver}` and let `{teller}` receive the effort, \
             or take smaller steps"
        )
    } else if advice.radius > 1.0 {
        "take smaller steps, or another method: exchanging the roles does not help".into()
    } else {
        format!("`{receiver}` receiving the effort is right at this step")
    });
    let paths = |inputs: &[usize]| {
        let paths: Vec<String> = inputs.iter().map(|&input| layout.ports().path(End::Input(input))).collect();
        paths.join(", ")
    };
    if !advice.through.is_empty() {
        lines.push(format!(
            "degrees for `input = \"causal\"`: 1 for {}, which passes through to the effort; 0 for {}, which is integrated",
            paths(&advice.through),
            paths(&advice.integrated)
        ));
    }
    lines
}

fn as_json(name: &str, size: f64, layout: &Layout, advice: &[Advice], methods: &[(&str, f64)]) -> Value {
    let paths = |inputs: &[usize]| -> Vec<String> {
        inputs.iter().map(|&input| layout.ports().path(End::Input(input))).collect()
    };
    let bonds: Vec<Value> = advice
        .iter()
        .map(|advice| {
            json!({
                "bond": advice.bond,
                "tells_effort": layout.topology.names[advice.teller],
                "receives_effort": layout.topology.names[advice.receiver],
                "stiff": advice.stiff(),
                "gain": advice.gain,
                "gain_exchanged": advice.other_gain,
                "radius_held": advice.radius,
                "radius_exchanged": advice.other_radius,
                "exchange": advice.swap(),
                "degree_1": paths(&advice.through),
                "degree_0": paths(&advice.integrated),
            })
        })
        .collect();
    let methods: Vec<Value> =
        methods.iter().map(|(name, radius)| json!({ "input": name, "radius": radius })).collect();
    json!({ "file": name, "step": size, "bonds": bonds, "methods": methods })
}
