//! `cosimo info`: what an FMU says about itself, the same for every version of the standard. Runs none of its code.

use std::path::{Path, PathBuf};

use cosimo::fmi::description::{Capabilities, Description, Fmi, Offer, Use, Variable};
use cosimo::fmi::{Cache, Unit};
use serde_json::{Value, json};

use crate::{exit, report};

/// Show what an FMU is: variables, capabilities, platforms, and what would keep it from running here
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The FMU, as in `engine.fmu`
    file: PathBuf,
    /// As JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<(), u8> {
    if !args.file.exists() {
        report::error(
            &format!("cannot read `{}`: it does not exist", args.file.display()),
            Some("check the path: it begins at the folder in which the command is given"),
        );
        return Err(exit::NO_FILE);
    }
    let unit = Unit::inspect(&args.file, &Cache::standard(&cosimo::fmi::UNIT)).map_err(|problems| {
        for problem in &problems {
            report::error(&problem.sentence(), problem.hint.as_deref());
        }
        exit::BAD_INPUT
    })?;
    if args.json {
        println!("{:#}", as_json(&unit));
    } else {
        print!("{}", as_text(&unit, &args.file));
    }
    Ok(())
}

/// Each capability with the word that people read.
fn capabilities(can: &Capabilities) -> Vec<(&'static str, Value)> {
    vec![
        ("variable step", can.variable_step.into()),
        ("rollback", can.get_set_state.into()),
        ("state as bytes", can.serialize_state.into()),
        ("directional derivatives", can.directional_derivatives.into()),
        ("input derivatives", can.input_derivative_order.into()),
        ("output derivatives", can.output_derivative_order.into()),
        ("intermediate update", can.intermediate_update.into()),
        ("event mode", can.event_mode.into()),
        ("early return", can.early_return.into()),
        ("needs its tool", can.needs_execution_tool.into()),
        ("once per process", can.once_per_process.into()),
        ("fixed step", can.fixed_step.into()),
    ]
}

/// The ways to use it.
fn offers(description: &Description) -> impl Iterator<Item = (Use, &Offer)> {
    Use::ALL.into_iter().filter_map(|usage| Some((usage, description.offer(usage)?)))
}

/// What is odd, what Cosimo leaves out, and what it assumes.
fn remarks(description: &Description) -> Vec<String> {
    let undeclared: Vec<&str> = description.undeclared().map(|variable| variable.name.as_str()).collect();
    let assumed = (!undeclared.is_empty()).then(|| {
        let (shown, more) = undeclared.split_at(undeclared.len().min(5));
        let more = if more.is_empty() { String::new() } else { format!(" and {} more", more.len()) };
        let remedy = match description.fmi {
            // There is no initialisation mode in which it could be probed.
            Fmi::One => "`parameters = { \"cosimo.feedthrough\" = \"none\" }` says that there are none",
            _ => {
                "`parameters = { \"cosimo.feedthrough\" = \"probed\" }` finds out, `\"none\"` says that there are none"
            }
        };
        format!(
            "the unit does not say on which inputs these outputs depend at once, so all are assumed: {}{more} ({remedy})",
            shown.join(", ")
        )
    });
    let usable = offers(description).next().is_some();
    // What is left out of which use, and what is assumed, matters only where there is one.
    let odd = description.remarks.iter().map(ToString::to_string);
    match usable {
        true => description.remarks(description.usual()).into_iter().chain(assumed).collect(),
        false => odd.collect(),
    }
}

fn as_text(unit: &Unit, file: &Path) -> String {
    let about = &unit.description;
    let mut text = format!("{}: {}", file.display(), about.model_name);
    if !about.description.is_empty() {
        text += &format!(", {}", about.description);
    }
    let mut line = |name: &str, value: &str| text += &format!("\n{name:<12} {value}");
    let uses: Vec<&str> =
        offers(about).map(|(usage, _)| usage.name()).chain(about.unsupported.iter().copied()).collect();
    let uses_shown = if uses.is_empty() { "for nothing".into() } else { uses.join(" and ") };
    line("FMI", &format!("{}, {uses_shown}", about.fmi_version));
    if !about.generation_tool.is_empty() {
        line("made by", &about.generation_tool);
    }
    line("platforms", &if unit.platforms.is_empty() { "none".into() } else { unit.platforms.join(", ") });
    match unit.obstacle() {
        None => line("runs here", "yes, as far as can be seen without running it"),
        Some(problem) => line("runs here", &format!("no: {problem}")),
    }
    for problem in about.obstacles.iter().skip(1) {
        line("", &format!("no: {problem}"));
    }
    for (usage, offer) in offers(about) {
        let can: Vec<String> = capabilities(&offer.capabilities)
            .into_iter()
            .filter_map(|(name, value)| match value {
                Value::Bool(true) => Some(name.to_owned()),
                Value::Number(number) if number.as_f64() != Some(0.0) => Some(format!("{name} {number}")),
                _ => None,
            })
            .collect();
        let nothing = match usage {
            Use::CoSimulation => "nothing beyond fixed steps",
            Use::ModelExchange => "nothing beyond its equations",
        };
        let can = if can.is_empty() { nothing.into() } else { can.join(", ") };
        line("can", &if uses.len() > 1 { format!("for {}: {can}", usage.name()) } else { can });
    }
    if let Some(exchange) = &about.exchange {
        let names: Vec<&str> =
            exchange.states.iter().map(|(state, _)| about.variables[*state].name.as_str()).collect();
        line("states", &if names.is_empty() { "none".into() } else { names.join(", ") });
        line("indicators", &exchange.indicators.to_string());
    }
    for (name, value) in &about.details {
        line(name, value);
    }
    let experiment = about.experiment;
    let times = [("start", experiment.start), ("stop", experiment.stop), ("step", experiment.step)];
    let times: Vec<String> =
        times.iter().filter_map(|(name, value)| Some(format!("{name} {} s", (*value)?))).collect();
    if !times.is_empty() {
        line("experiment", &times.join(", "));
    }
    let undefined: Vec<&str> =
        about.units.iter().filter(|unit| unit.unit.is_none()).map(|unit| unit.name.as_str()).collect();
    if !undefined.is_empty() {
        line("units", &format!("not understood: {}", undefined.join(", ")));
    }
    for terminal in &about.terminals {
        let members: Vec<&str> = terminal.members.iter().map(|(_, variable)| variable.as_str()).collect();
        line("terminal", &format!("{} ({}): {}", terminal.name, terminal.matching_rule, members.join(", ")));
    }
    text += "\n\n";
    text += &table(about);
    for remark in remarks(about) {
        text += &format!("remark: {remark}\n");
    }
    text
}

/// Cells that are longer stand out of their column.
const WIDEST: usize = 60;

fn table(about: &Description) -> String {
    let cells = |variable: &Variable| {
        let size: Vec<String> = variable.dimensions.iter().map(u64::to_string).collect();
        let size = if size.is_empty() { String::new() } else { format!("[{}]", size.join(",")) };
        [
            format!("{}{size}", variable.name),
            variable.causality.name().to_owned(),
            variable.variability.name().to_owned(),
            variable.kind.name().to_owned(),
            variable.start.join(" "),
            variable.unit_name.clone().unwrap_or_default(),
            variable.description.clone(),
        ]
    };
    let head =
        ["variable", "causality", "variability", "type", "start", "unit", "description"].map(str::to_owned);
    let rows: Vec<[String; 7]> = std::iter::once(head).chain(about.variables.iter().map(cells)).collect();
    // One long cell makes no wide column, and the formatter's widths end at 65 535.
    let width = |column: usize| {
        rows.iter().map(|row| row[column].chars().count()).filter(|width| *width <= WIDEST).max().unwrap_or(0)
    };
    let widths: [usize; 7] = std::array::from_fn(width);
    let line = |row: &[String; 7]| {
        let cells: Vec<String> =
            row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        format!("{}\n", cells.join("  ").trim_end())
    };
    rows.iter().map(line).collect()
}

fn as_json(unit: &Unit) -> Value {
    let about = &unit.description;
    let variables: Vec<Value> = about
        .variables
        .iter()
        .map(|variable| {
            json!({
                "name": variable.name,
                "value_reference": variable.written_reference(),
                "negated": variable.negated.is_some(),
                "type": variable.kind.name(),
                "causality": variable.causality.name(),
                "variability": variable.variability.name(),
                "initial": variable.initial.map(|initial| initial.name()),
                "start": variable.start,
                "unit": variable.unit_name,
                "dimensions": variable.dimensions,
                "description": variable.description,
                "line": variable.place.line,
            })
        })
        .collect();
    let name = |index: &usize| about.variables[*index].name.clone();
    let outputs: Vec<Value> = about
        .outputs
        .iter()
        .map(|output| {
            let dependencies =
                output.dependencies.as_ref().map(|list| list.iter().map(name).collect::<Vec<_>>());
            json!({ "name": name(&output.variable), "dependencies": dependencies })
        })
        .collect();
    let units: Vec<Value> = about
        .units
        .iter()
        .map(|unit| {
            let known = unit.unit.as_ref();
            json!({ "name": unit.name, "dimension": known.map(|u| u.dimension), "factor": known.map(|u| u.factor) })
        })
        .collect();
    let terminals: Vec<Value> = about
        .terminals
        .iter()
        .map(|t| json!({ "name": t.name, "kind": t.kind, "matching_rule": t.matching_rule, "members": t.members }))
        .collect();
    let uses: serde_json::Map<String, Value> = offers(about)
        .map(|(usage, offer)| {
            let can: serde_json::Map<String, Value> = capabilities(&offer.capabilities)
                .into_iter()
                .map(|(name, value)| (name.replace(' ', "_"), value))
                .collect();
            let about = json!({ "model_identifier": offer.identifier, "capabilities": can });
            (usage.name().replace([' ', '-'], "_"), about)
        })
        .collect();
    let exchange = about.exchange.as_ref().map(|exchange| {
        let name = |index: &usize| about.variables[*index].name.clone();
        let states: Vec<Value> = exchange
            .states
            .iter()
            .map(|(state, derivative)| json!({ "state": name(state), "derivative": name(derivative) }))
            .collect();
        json!({ "states": states, "indicators": exchange.indicators, "completed_steps": exchange.completed_steps })
    });
    let experiment = about.experiment;
    json!({
        "fmi_version": about.fmi_version,
        "model_name": about.model_name,
        "token": about.token,
        "description": about.description,
        "generation_tool": about.generation_tool,
        "sha256": unit.hash,
        "platforms": unit.platforms,
        "obstacle": unit.obstacle().map(|problem| problem.to_string()),
        "obstacles": about.obstacles.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "uses": uses,
        "unsupported": about.unsupported,
        "details": about.details.iter().map(|(name, value)| (name.replace(' ', "_"), json!(value)))
            .collect::<serde_json::Map<_, _>>(),
        "equations": exchange,
        "experiment": {
            "start": experiment.start,
            "stop": experiment.stop,
            "tolerance": experiment.tolerance,
            "step": experiment.step,
        },
        "units": units,
        "variables": variables,
        "outputs": outputs,
        "terminals": terminals,
        "remarks": remarks(about),
    })
}
