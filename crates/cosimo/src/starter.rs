//! A commented system file to begin with, of native models or around FMUs.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use cosimo_core::interface::Port;
use cosimo_core::registry::{OpenRequest, number_text};
use cosimo_core::{Interface, Registry};
use cosimo_system::write::text as quoted;
use cosimo_system::{Files, Problem, System, sources};

use crate::error::Error;
use crate::open::exist;
use crate::paths;

/// Simulators that a system begins with; an example where there are none.
#[derive(Debug)]
pub struct Starter(Option<(System, Vec<Interface>)>);

impl Starter {
    /// Simulators as in `a.fmu` or `left=a.fmu`.
    pub fn open(from: &[String], registry: &Registry) -> Result<Starter, Error> {
        let parts = (!from.is_empty()).then(|| open(from, registry));
        Ok(Starter(parts.transpose()?))
    }

    /// The file for a folder that is there.
    pub fn text(&self, folder: &Path) -> String {
        match &self.0 {
            Some((system, interfaces)) => around(system, interfaces, folder),
            None => STARTER.to_owned(),
        }
    }
}

/// The simulators as components, and what they show of themselves.
fn open(from: &[String], registry: &Registry) -> Result<(System, Vec<Interface>), Error> {
    exist(from, registry)?;
    let (system, mut problems) = sources::system(from, registry);
    let mut interfaces = Vec::new();
    for component in &system.components {
        let request = OpenRequest {
            name: &component.name,
            source: &component.source,
            folder: &system.folder,
            parameters: &[],
            joined: false,
        };
        let kind = registry.source(&component.source);
        match kind.map(|kind| kind.open(&request)) {
            Some(Ok(simulator)) => interfaces.push(simulator.interface().clone()),
            Some(Err(found)) => problems.extend(found.into_iter().map(|found| {
                let message = format!("component `{}`: {}", component.name, found.message);
                Problem { hint: found.hint, ..Problem::error("plan/cannot-open", message, 0..0) }
            })),
            None => {}
        }
    }
    if problems.is_empty() {
        return Ok((system, interfaces));
    }
    Err(Error::input(problems, Files::default()))
}

/// A system of the given parts, not connected yet.
fn around(system: &System, interfaces: &[Interface], folder: &Path) -> String {
    let mut text = String::new();
    let written = parts(&mut text, system, interfaces, folder)
        .and_then(|()| connections(&mut text, system, interfaces))
        .and_then(|()| {
            let step = system.methods.step.size.unwrap_or(1e-3);
            writeln!(text, "{METHOD}step = {{ size = {} }} # s", number_text(step))
        });
    debug_assert!(written.is_ok(), "a string takes everything");
    text
}

fn parts(text: &mut String, system: &System, interfaces: &[Interface], folder: &Path) -> std::fmt::Result {
    let experiment = &system.experiment;
    writeln!(
        text,
        "# A starter system. Run it: `cosimo run system.toml`. Show the plan: `cosimo explain system.toml`.\n"
    )?;
    writeln!(text, "[experiment]")?;
    if experiment.start != 0.0 {
        writeln!(text, "start = {} # s", number_text(experiment.start))?;
    }
    writeln!(text, "stop = {} # s", number_text(experiment.stop))?;
    for (component, interface) in system.components.iter().zip(interfaces) {
        writeln!(text, "\n[component.{}]", component.name)?;
        let source = match sources::file(&component.source) {
            Some(file) => paths::relative(folder, Path::new(file)).unwrap_or_else(|_| file.into()),
            None => PathBuf::from(&component.source),
        };
        writeln!(text, "source = {}", quoted(&source.to_string_lossy()))?;
        let without: Vec<String> = interface
            .inputs
            .iter()
            .filter(|port| port.start.is_none())
            .map(|port| format!("{} = 0.0", quoted(&port.name)))
            .collect();
        if !without.is_empty() {
            writeln!(text, "start = {{ {} }} # until they are connected", without.join(", "))?;
        }
        ports(text, "inputs", &interface.inputs)?;
        ports(text, "outputs", &interface.outputs)?;
    }
    Ok(())
}

fn ports(text: &mut String, what: &str, ports: &[Port]) -> std::fmt::Result {
    if !ports.is_empty() {
        writeln!(text, "# {what}:")?;
    }
    for port in ports {
        let unit = port.unit.as_ref().map_or("", |unit| unit.text.as_str());
        let start = port.start.map_or(String::new(), |start| format!(", starts at {}", number_text(start)));
        let about = if start.is_empty() { " " } else { ": " };
        let line = format!("#   {:<20} [{unit}]{start}{about}{}", port.name, port.description);
        // A comment is one line, even if a description is not.
        let line = line.replace(['\n', '\r'], " ");
        writeln!(text, "{}", line.trim_end_matches([' ', ':']))?;
    }
    Ok(())
}

/// An output and an input of one name may belong together.
fn connections(text: &mut String, system: &System, interfaces: &[Interface]) -> std::fmt::Result {
    let mut found = String::new();
    for (from, source) in system.components.iter().zip(interfaces) {
        for (to, sink) in system.components.iter().zip(interfaces).filter(|(to, _)| to.name != from.name) {
            for output in &source.outputs {
                if sink.inputs.iter().any(|input| input.name == output.name) {
                    let [from, to] = [from, to].map(|end| quoted(&format!("{}.{}", end.name, output.name)));
                    write!(found, "\n# [[connection]]\n# from = {from}\n# to = {to}\n")?;
                }
            }
        }
    }
    writeln!(
        text,
        "\n# A connection carries a signal; a bond of an effort and a flow also accounts for the energy:"
    )?;
    writeln!(
        text,
        "# [[bond]]\n# name = \"joint\"\n# a = {{ effort = \"one.F\", flow = \"one.v\" }}\n# b = {{ effort = \"other.F\", flow = \"other.v\" }}"
    )?;
    if !found.is_empty() {
        writeln!(text, "#\n# Outputs and inputs of the same name; keep those that apply:")?;
        text.push_str(found.strip_prefix('\n').unwrap_or(&found));
    }
    writeln!(text)
}

const METHOD: &str = "# Coupling methods. `cosimo methods` lists all options.
[method]
schedule = \"jacobi\" # or \"gauss-seidel\"
input = \"hold\" # extrapolation between communication points: \"linear\", \"quadratic\", ...
";

const STARTER: &str = include_str!("starter.toml");
