//! `cosimo bonds`: finds the power bonds in a system of plain wires, and writes them into its file if asked.

use std::path::Path;

use cosimo::draft_file::replace;
use cosimo::engine::bonds::{Candidate, Suggestion, bonds};
use cosimo::system::toml::TOML;
use cosimo::system::{Document, Files, Opposite, System, SystemFormat, edit, format, write};

use crate::load::Subject;
use crate::{exit, report};

/// Find power bonds among plain wires: pairs that go opposite ways and whose units multiply to a power
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    subject: Subject,
    /// Write those that are certain into the system file, in place of their wires
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
            1 => " beside the bond that it has".to_owned(),
            bonds => format!(" beside the {bonds} bonds that it has"),
        };
        eprintln!(
            "nothing found{known}: no two wires go opposite ways between the same components with units that multiply to \
             a power"
        );
    }
    Ok(())
}

fn apply(files: &Files, args: &Args, found: &[&Candidate]) -> Result<(), u8> {
    let given = args.subject.changes.parts.connects.is_empty() && args.subject.changes.input.is_none();
    let Some(file) = files.main().filter(|_| given) else {
        let hint =
            "leave `--apply` out, and take the lines that are printed; `cosimo explain --toml` makes a file";
        return Err(report::refused(
            "`--apply` replaces wires of a system file, not those of the command line",
            Some(hint),
        ));
    };
    let (path, text) = (&file.name, &file.text);
    let toml = |format: &&SystemFormat| format.name == TOML.name;
    if format::of_file(cosimo::SYSTEM_FORMATS, Path::new(path)).is_some_and(|format| !toml(&format)) {
        let hint = "leave it out, and change the file by hand";
        return Err(report::refused("`--apply` changes files of TOML only", Some(hint)));
    }
    if found.is_empty() {
        eprintln!("{path}: nothing that is certain; the file is as it was");
        return Ok(());
    }
    let replacements: Vec<edit::Replacement<'_>> =
        found.iter().map(|candidate| (&candidate.bond, candidate.wires)).collect();
    let changed = edit::replace_connections(text, &replacements).map_err(|message| {
        report::refused(
            format!("cannot change `{path}`: {message}"),
            Some("leave `--apply` out, and paste by hand"),
        )
    })?;
    replace(Path::new(path), changed.as_bytes())
        .map_err(|cause| report::no_file(format!("cannot write `{path}`: {cause}"), None))?;
    let (bonds, wires) = (found.len(), 2 * found.len());
    eprintln!("{path}: {bonds} bond{} in place of {wires} wires", if bonds == 1 { "" } else { "s" });
    Ok(())
}

/// A pairing without an alternative, as it can be pasted into a file.
fn choice(suggestion: &Suggestion, system: &System) -> String {
    suggestion.candidates.iter().map(|candidate| section(candidate, system)).collect()
}

/// All pairings, and those that names speak for as sections.
fn choices(suggestion: &Suggestion, system: &System) -> String {
    let count = suggestion.candidates.len();
    let mut text = match suggestion.probable.is_empty() {
        true => format!("# {count} ways to pair these wires, and the names speak for none; choose:\n"),
        false => format!("# {count} ways to pair these wires; the names speak for what follows\n"),
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
    let wire = |at: usize| {
        let wire = &system.connections[at];
        let from: Vec<&str> = wire.from.iter().map(|summand| summand.port.0.as_str()).collect();
        format!("{} to {}", from.join(" + "), wire.to.0)
    };
    let signs = match bond.opposite {
        Opposite::Neither => "both have the same sign on both sides",
        Opposite::Effort => "the effort changes its sign, as its wire does",
        Opposite::Flow => "the flow changes its sign, as its wire does",
    };
    format!(
        "# {domain}: {} [{effort}] one way, {} [{flow}] back; {signs}\n\
         # in place of the wires {} and {}; power counts from the first side to the second\n\
         {}\
         # or {}\n\n",
        bond.a.effort.0,
        bond.b.flow.0,
        wire(wires[0]),
        wire(wires[1]),
        write::bond(bond),
        argument(candidate)
    )
}

fn argument(candidate: &Candidate) -> String {
    format!("--bond '{}'", write::bond_argument(&candidate.bond))
}
