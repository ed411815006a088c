//! `cosimo methods`: the registry, as a list or one entry in full.

use cosimo::core::entry::{Kind, Listed, Options, Spec, suggest};

use crate::{exit, report};

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
    let Some(name) = &args.name else {
        if args.json {
            let all: Vec<_> =
                axes.iter().flat_map(|(axis, list)| list.iter().map(|e| json(axis, e))).collect();
            println!("{:#}", serde_json::Value::from(all));
            return Ok(());
        }
        for (axis, entries) in &axes {
            println!("{axis}");
            for entry in entries {
                println!("  {:<20} {}", entry.name, entry.summary);
                println!("{:23}{}", "", about(entry));
            }
        }
        println!("\n`cosimo methods NAME` shows options and their defaults.");
        return Ok(());
    };
    let found: Vec<(&str, Listed)> = axes
        .iter()
        .flat_map(|(axis, entries)| entries.iter().map(|entry| (*axis, *entry)))
        .filter(|(_, entry)| entry.name == name)
        .collect();
    if found.is_empty() {
        let known = axes.iter().flat_map(|(_, entries)| entries.iter().map(|entry| entry.name));
        report::error(&format!("no method is called `{name}`"), Some(&suggest(name, known)));
        return Err(exit::BAD_INPUT);
    }
    if args.json {
        let all: Vec<_> = found.iter().map(|(axis, entry)| json(axis, entry)).collect();
        println!("{:#}", serde_json::Value::from(all));
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

fn about(entry: &Listed) -> String {
    let mut parts = vec![format!("needs {}", needs(entry))];
    if !entry.order.is_empty() {
        parts.insert(0, format!("order {}", entry.order));
    }
    if entry.source != "-" {
        parts.push(entry.source.into());
    }
    parts.join("; ")
}

/// With default options; some options ask for more.
fn needs(entry: &Listed) -> String {
    let defaults = Options::resolve(entry.name, entry.options, &[]).unwrap_or_default();
    let words = (entry.needs)(&defaults).words();
    if words.is_empty() { "nothing".into() } else { words.join(", ") }
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
            Kind::Number { unit, .. } if !unit.is_empty() && unit != "1" => format!(" {unit}"),
            _ => String::new(),
        };
        println!("  {:<14} {:<14} {} ({})", spec.name, spec.default_text() + &unit, spec.doc, spec.wanted());
    }
}

fn json(axis: &str, entry: &Listed) -> serde_json::Value {
    let options: Vec<serde_json::Value> = entry
        .options
        .iter()
        .map(|spec| {
            serde_json::json!({
                "name": spec.name, "doc": spec.doc, "default": spec.default_text(), "wanted": spec.wanted(),
            })
        })
        .collect();
    serde_json::json!({
        "axis": axis, "name": entry.name, "summary": entry.summary, "source": entry.source,
        "order": entry.order, "needs": needs(entry), "options": options,
    })
}
