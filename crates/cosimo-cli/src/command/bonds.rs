//! `cosimo bonds`: finds the power bonds among plain connections, and optionally writes them into the system file.

use std::path::Path;

use cosimo::draft_file::replace;
use cosimo::engine::bonds::{Candidate, Suggestion, bonds};
use cosimo::system::toml::TOML;
use cosimo::system::{Document, Files, Opposite, System, SystemFormat, edit, format, write};

use crate::load::Subject;
use crate::{exit, report};

/// Find power bonds: pairs of opposite connections whose physical units multiply to a power
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    subject: Subject,
    /// Write the unambiguous ones into the system file, in place of their connections
    #[arg(long)]
    apply: bool,
}

pub(crate) fn run(args: &Args) -> Result<(), u8> {
    let registry = cosimo::registry();
    let document = args.subject.draft(&registry)?;
    let Document { files, system, problems, .. } = &document;
    let refuse = |problems: &[_]| {
        report::problems(problems, files);
        exit::BAD_INPUT
    };
    if document.has_errors() {
        return Err(refuse(problems));
    }
    let suggestions = bonds(system, &registry).map_err(|problems| refuse(&problems))?;
    let (certain, open): (Vec<&Suggestion>, Vec<&Suggestion>) =
        suggestions.iter().partition(|suggestion| suggestion.is_certain());
    if args.apply {
        let candidates: Vec<&Candidate> = certain.iter().flat_map(|found| &found.candidates).collect();
        apply(files, args, &candidates)?;
    } else {
        certain.iter().for_each(|found| print!("{}", choice(found, system)));
    }
    open.iter().for_each(|found| print!("{}", choices(found, system)));
    if suggestions.is_empty() {
        let known = match system.bonds.len() + system.junctions.len() {
            0 => String::new(),
            1 => " beyond the existing bond".to_owned(),
            bonds => format!(" beyond the {bonds} existing bonds"),
        };
        eprintln!(
            "no bonds found{known}: no two connections go opposite ways between the same components with physical units \
             that multiply to a power"
        );
    }
    Ok(())
}

fn apply(files: &Files, args: &Args, found: &[&Candidate]) -> Result<(), u8> {
    let given = args.subject.changes.parts.connects.is_empty() && args.subject.changes.input.is_none();
    let Some(file) = files.main().filter(|_| given) else {
        let hint = "leave `--apply` out and copy the printed lines; `cosimo explain --toml` writes a file";
        return Err(report::refused(
            "`--apply` replaces connections of a system file, not those of the command line",
            Some(hint),
        ));
    };
    let (path, text) = (&file.name, &file.text);
    let toml = |format: &&SystemFormat| format.name == TOML.name;
    if format::of_file(cosimo::SYSTEM_FORMATS, Path::new(path)).is_some_and(|format| !toml(&format)) {
        let hint = "leave it out and edit the file";
        return Err(report::refused("`--apply` supports TOML files only", Some(hint)));
    }
    if found.is_empty() {
        eprintln!("{path}: no unambiguous bond; the file is unchanged");
        return Ok(());
    }
    let replacements: Vec<edit::Replacement<'_>> =
        found.iter().map(|candidate| (&candidate.bond, candidate.wires)).collect();
    let changed = edit::replace_connections(text, &replacements).map_err(|message| {
        report::refused(
            format!("cannot change `{path}`: {message}"),
            Some("leave `--apply` out and copy the printed lines"),
        )
    })?;
    replace(Path::new(path), changed.as_bytes())
        .map_err(|cause| report::no_file(format!("cannot write `{path}`: {cause}"), None))?;
    let (bonds, connections) = (found.len(), 2 * found.len());
    eprintln!(
        "{path}: {bonds} bond{} in place of {connections} connections",
        if bonds == 1 { "" } else { "s" }
    );
    Ok(())
}

/// A pairing without alternatives, as TOML.
fn choice(suggestion: &Suggestion, system: &System) -> String {
    suggestion.candidates.iter().map(|candidate| section(candidate, system)).collect()
}

/// All pairings; those that the port names suggest as TOML.
fn choices(suggestion: &Suggestion, system: &System) -> String {
    let count = suggestion.candidates.len();
    let mut text = match suggestion.probable.is_empty() {
        true => format!("# {count} ways to pair these connections, none suggested by port names; choose:\n"),
        false => format!("# {count} ways to pair these connections; the port names suggest:\n"),
    };
    for &at in &suggestion.probable {
        text += &section(&suggestion.candidates[at], system);
    }
    for (at, candidate) in suggestion.candidates.iter().enumerate() {
        if !suggestion.probable.contains(&at) {
            let a = &candidate.bond.a;
            text += &format!("# possible: {} with {}\n#   {}\n", a.effort.0, a.flow.0, argument(candidate));
        }
    }
    text + "\n"
}

fn section(candidate: &Candidate, system: &System) -> String {
    let Candidate { bond, wires, domain, units: [effort, flow], .. } = candidate;
    let connection = |at: usize| {
        let connection = &system.connections[at];
        let from: Vec<&str> = connection.from.iter().map(|summand| summand.port.0.as_str()).collect();
        format!("{} to {}", from.join(" + "), connection.to.0)
    };
    let signs = match bond.opposite {
        Opposite::Neither => "both have the same sign on both sides",
        Opposite::Effort => "the effort changes its sign, as its connection does",
        Opposite::Flow => "the flow changes its sign, as its connection does",
    };
    format!(
        "# {domain}: {} [{effort}] one way, {} [{flow}] back; {signs}\n\
         # in place of the connections {} and {}; power is positive from the first side to the second\n\
         {}\
         # or {}\n\n",
        bond.a.effort.0,
        bond.b.flow.0,
        connection(wires[0]),
        connection(wires[1]),
        write::bond(bond),
        argument(candidate)
    )
}

fn argument(candidate: &Candidate) -> String {
    format!("--bond '{}'", write::bond_argument(&candidate.bond))
}
