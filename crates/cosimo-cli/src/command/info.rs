//! `cosimo info`: the model description of an FMU, in one form for all FMI versions. Executes no code of the FMU.

use std::path::{Path, PathBuf};

use cosimo::fmi::description::{Description, FmuUse, InterfaceInfo, Variable};
use cosimo::fmi::{Cache, Fmu};
use cosimo::info::{CapabilityInfo, FmuInfo, warnings};

use crate::{exit, output, report};

/// Show an FMU: variables, capabilities, platforms, and whether it can be loaded here
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The FMU, e.g. `engine.fmu`
    file: PathBuf,
    /// As JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<(), u8> {
    if !args.file.exists() {
        return Err(report::no_file(
            format!("cannot read `{}`: it does not exist", args.file.display()),
            Some("check the path; it is relative to the current folder"),
        ));
    }
    let fmu = Fmu::inspect(&args.file, &Cache::standard(&cosimo::fmi::FMU_ARCHIVE)).map_err(|problems| {
        for problem in &problems {
            report::error(&problem.sentence(), problem.hint.as_deref());
        }
        exit::BAD_INPUT
    })?;
    if args.json {
        output::json(&FmuInfo::from(&fmu));
    } else {
        print!("{}", as_text(&fmu, &args.file));
    }
    Ok(())
}

/// The interface types it offers.
fn offers(description: &Description) -> impl Iterator<Item = (FmuUse, &InterfaceInfo)> {
    FmuUse::ALL.into_iter().filter_map(|usage| Some((usage, description.offer(usage)?)))
}

fn as_text(fmu: &Fmu, file: &Path) -> String {
    let about = &fmu.description;
    let mut text = format!("{}: {}", file.display(), about.model_name);
    if !about.description.is_empty() {
        text += &format!(", {}", about.description);
    }
    let mut line = |name: &str, value: &str| text += &format!("\n{name:<13} {value}");
    let uses: Vec<&str> =
        offers(about).map(|(usage, _)| usage.name()).chain(about.unsupported.iter().copied()).collect();
    let uses_shown = if uses.is_empty() { "no interface type".into() } else { uses.join(" and ") };
    line("FMI", &format!("{}, {uses_shown}", about.fmi_version));
    if !about.generation_tool.is_empty() {
        line("exported by", &about.generation_tool);
    }
    line("platforms", &if fmu.platforms.is_empty() { "none".into() } else { fmu.platforms.join(", ") });
    match fmu.obstacle() {
        None => line("loadable here", "yes (not executed)"),
        Some(problem) => line("loadable here", &format!("no: {problem}")),
    }
    for problem in about.obstacles.iter().skip(1) {
        line("", &format!("no: {problem}"));
    }
    for (usage, offer) in offers(about) {
        let can = CapabilityInfo::of(&offer.capabilities);
        let nothing = match usage {
            FmuUse::CoSimulation => "fixed steps only",
            FmuUse::ModelExchange => "equations only",
        };
        let can = if can.is_empty() { nothing.into() } else { can.join(", ") };
        line("capabilities", &if uses.len() > 1 { format!("for {}: {can}", usage.name()) } else { can });
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
        line("units", &format!("not recognised: {}", undefined.join(", ")));
    }
    for terminal in &about.terminals {
        let members: Vec<&str> = terminal.members.iter().map(|(_, variable)| variable.as_str()).collect();
        line("terminal", &format!("{} ({}): {}", terminal.name, terminal.matching_rule, members.join(", ")));
    }
    text += "\n\n";
    text += &table(about);
    for warning in warnings(about) {
        text += &format!("warning: {warning}\n");
    }
    text
}

/// Longer cells do not widen their column.
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
    // The formatter's widths end at 65 535.
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
