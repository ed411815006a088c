//! `cosimo methods`: the registry, as a list or one entry in full.

use cosimo::core::registry::{EntryListing, OptionKind, Options, Spec, suggest};
use serde::Serialize;

use crate::{output, report};

/// List the methods of every axis, or show one with its options
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Show this method in full
    name: Option<String>,
    /// As JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<(), u8> {
    let axes = cosimo::registry().axes();
    let all = axes.iter().flat_map(|(axis, entries)| entries.iter().map(|entry| (*axis, *entry)));
    let Some(name) = &args.name else {
        if args.json {
            json(&all.collect::<Vec<_>>());
            return Ok(());
        }
        for (axis, entries) in &axes {
            println!("{axis}");
            for entry in entries {
                println!("  {:<20} {}", entry.name, entry.summary);
                println!("{:23}{}", "", about(entry));
            }
        }
        println!("\nOptions and defaults: `cosimo methods NAME`");
        return Ok(());
    };
    let found: Vec<(&'static str, EntryListing)> = all.filter(|(_, entry)| entry.name == name).collect();
    if found.is_empty() {
        let known = axes.iter().flat_map(|(_, entries)| entries.iter().map(|entry| entry.name));
        return Err(report::refused(format!("unknown method `{name}`"), Some(&suggest(name, known))));
    }
    if args.json {
        json(&found);
        return Ok(());
    }
    for (k, (axis, entry)) in found.iter().enumerate() {
        if k > 0 {
            println!();
        }
        println!("{} ({axis}): {}", entry.name, entry.summary);
        println!("source: {}", entry.source);
        if !entry.order.is_empty() {
            println!("order: {}", entry.order);
        }
        println!("needs: {}", needs(entry));
        options(entry.options);
    }
    Ok(())
}

fn about(entry: &EntryListing) -> String {
    let mut parts = vec![format!("needs {}", needs(entry))];
    if !entry.order.is_empty() {
        parts.insert(0, format!("order {}", entry.order));
    }
    if entry.source != "-" {
        parts.push(entry.source.into());
    }
    parts.join("; ")
}

/// Requirements with default options; some options require more.
fn needs(entry: &EntryListing) -> String {
    let defaults = Options::resolve(entry.name, entry.options, &[]).unwrap_or_default();
    let needs = (entry.needs)(&defaults).text();
    if needs.is_empty() { "nothing".into() } else { needs.join(", ") }
}

/// A table of declared options; models use it for their parameters.
pub(crate) fn options(specs: &[Spec]) {
    if specs.is_empty() {
        println!("options: none");
        return;
    }
    println!("options:");
    for spec in specs {
        let unit = match spec.kind {
            OptionKind::Number { unit, .. } if !unit.is_empty() && unit != "1" => format!(" {unit}"),
            _ => String::new(),
        };
        println!(
            "  {:<14} {:<14} {} ({})",
            spec.name,
            spec.default_text() + &unit,
            spec.doc,
            spec.expected()
        );
    }
}

#[derive(Serialize)]
struct MethodInfo<'a> {
    axis: &'a str,
    name: &'a str,
    summary: &'a str,
    source: &'a str,
    order: &'a str,
    needs: String,
    options: Vec<OptionInfo>,
}

#[derive(Serialize)]
struct OptionInfo {
    name: &'static str,
    doc: &'static str,
    default: String,
    wanted: String,
}

fn json(found: &[(&'static str, EntryListing)]) {
    let option = |spec: &Spec| OptionInfo {
        name: spec.name,
        doc: spec.doc,
        default: spec.default_text(),
        wanted: spec.expected(),
    };
    let method = |(axis, entry): &(&'static str, EntryListing)| MethodInfo {
        axis,
        name: entry.name,
        summary: entry.summary,
        source: entry.source,
        order: entry.order,
        needs: needs(entry),
        options: entry.options.iter().map(option).collect(),
    };
    output::json(&found.iter().map(method).collect::<Vec<_>>());
}
