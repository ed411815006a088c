//! `cosimo models`: the native models, as a list or one with its parameters and ports.

use std::path::Path;

use cosimo::core::interface::Port;
use cosimo::core::registry::{ModelInfo, OpenRequest, suggest};

use crate::command::methods::options;
use crate::report;

/// List the native models, or show one with its ports and parameters
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Show this model in full, e.g. `quarter-car/wheel`
    name: Option<String>,
}

pub(crate) fn run(args: &Args) -> Result<(), u8> {
    let registry = cosimo::registry();
    let all: Vec<(&str, ModelInfo)> = registry
        .sources
        .iter()
        .flat_map(|source| source.models().into_iter().map(|model| (source.name(), model)))
        .collect();
    let Some(name) = &args.name else {
        let paths = all.iter().map(|(source, model)| format!("{source}:{}", model.name));
        let paths: Vec<String> = paths.collect();
        let width = paths.iter().map(String::len).max().unwrap_or(0);
        for (path, (_, model)) in paths.iter().zip(&all) {
            println!("  {path:<width$} {}", model.summary);
        }
        println!("\nPorts and parameters: `cosimo models NAME`");
        return Ok(());
    };
    let bare = name.split_once(':').map_or(name.as_str(), |(_, bare)| bare);
    let Some((source, model)) = all.iter().find(|(_, model)| model.name == bare) else {
        let known = all.iter().map(|(_, model)| model.name.as_str());
        return Err(report::refused(format!("unknown model `{name}`"), Some(&suggest(bare, known))));
    };
    println!("{source}:{}: {}", model.name, model.summary);
    let opened = registry.sources.iter().find(|kind| kind.name() == *source).map(|kind| {
        let source = format!("{source}:{}", model.name);
        kind.open(&OpenRequest {
            name: "model",
            source: &source,
            folder: Path::new("."),
            parameters: &[],
            joined: false,
        })
    });
    if let Some(Ok(simulator)) = opened {
        let list = |what: &str, ports: &[Port]| {
            for port in ports {
                let unit = port.unit.as_ref().map_or("", |unit| &unit.text);
                println!("{what} {:<12} [{unit}] {}", port.name, port.description);
            }
        };
        list("input ", &simulator.interface().inputs);
        list("output", &simulator.interface().outputs);
    }
    options(model.parameters);
    Ok(())
}
