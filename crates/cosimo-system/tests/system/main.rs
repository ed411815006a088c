//! Tests of the reader of `system.toml`, its schema, writer and overrides.
#![allow(clippy::unwrap_used)] // helpers of tests are tests

mod former_keys;
mod fuzz;
mod method_problems;
mod overrides;
mod problems;
mod read;
mod registry;
mod schema;
mod write;

use std::path::Path;

use cosimo_system::{Choice, PerInput, Problem, System};

/// Valid, with every key.
const FULL: &str = r#"
[experiment]
start = 1
stop = 4.0
end = "after"
record = "before-exchange"
accuracy = 2e-3
history = "history.csv"

[component.wheel]
source = "native:quarter-car/wheel"
parameters = { zw = 1, name = "left", rigid = true, list = [1, "two"], inner = { b = 1.5, a = 2 } }

[component.chassis]
source = "chassis.fmu"
start = { F = 0.5, u = 2 }
tolerance = 1e-3
weight = 0
step = 5e-3

[[connection]]
from = "wheel.out.y"
to = "chassis.u"
gain = -2.5

[[bond]]
name = "strut"
a = { effort = "chassis.F", flow = "chassis.v" }
b = { effort = "wheel.F", flow = "wheel.v" }
opposite = "effort"
direction = "b-to-a"
tolerance = 1e-6
energy_scale = 750

[[junction]]
name = "node"
common = "flow"
sides = [ { effort = "chassis.p", flow = "chassis.q" }, { effort = "wheel.p", flow = "wheel.q", power = "leaves" } ]
tolerance = 1e-5
energy_scale = 10.0

[method]
partition = { gauss-seidel = { order = ["wheel", "chassis"] } }
iteration = "once"
input = { "wheel.F" = "hold", default = { linear = { limit = 0.5 } } }
correction = { nepce = { gain = 0.85, form = "paper" } }
exchange = { "wheel.F" = "fresh" }
step = { estimate = { power-residual = { window = 3 } }, controller = "pi", tolerance = 1e-6, size = 1e-3, min = 1e-4, max = 1e-2, shrink = 0.5, grow = 2, reject = "above-one" }

[results]
variables = ["wheel.*", "!wheel.q[1,2]"]
every = 0.01

[reference]
model = "quarter-car"
ports = { "chassis.v" = "vc" }
"#;

/// The smallest system.
const LEAST: &str = "[experiment]\nstop = 4\n[component.a]\nsource = \"native:quarter-car/chassis\"\n";

fn read(text: &str) -> (System, Vec<Problem>) {
    cosimo_system::toml::read(text, Path::new("folder"), &registry::registry())
}

fn good(text: &str) -> System {
    let (system, problems) = read(text);
    assert_eq!(problems, [], "{text}");
    system
}

/// Without spans and origins.
fn bare(mut system: System) -> System {
    system.experiment.span = 0..0;
    if let Some((_, span)) = &mut system.experiment.history {
        *span = 0..0;
    }
    for component in &mut system.components {
        component.span = 0..0;
        component.source_span = 0..0;
        component.parameters.iter_mut().for_each(|(_, _, span)| *span = 0..0);
        component.starts.iter_mut().for_each(|(_, _, span)| *span = 0..0);
        component.units.iter_mut().for_each(|(_, _, span)| *span = 0..0);
        component.step.iter_mut().for_each(|(_, span)| *span = 0..0);
    }
    for connection in &mut system.connections {
        connection.from.iter_mut().for_each(|summand| summand.port.1 = 0..0);
        connection.to.1 = 0..0;
    }
    for bond in &mut system.bonds {
        bond.span = 0..0;
        for port in [&mut bond.a, &mut bond.b] {
            port.effort.1 = 0..0;
            port.flow.1 = 0..0;
        }
    }
    for junction in &mut system.junctions {
        junction.span = 0..0;
        for side in &mut junction.sides {
            side.port.effort.1 = 0..0;
            side.port.flow.1 = 0..0;
        }
    }
    for group in &mut system.monolithic {
        group.span = 0..0;
        group.components.iter_mut().for_each(|(_, span)| *span = 0..0);
        group.options.iter_mut().for_each(|(_, _, span)| *span = 0..0);
    }
    for island in &mut system.islands {
        island.span = 0..0;
        island.components.iter_mut().for_each(|(_, span)| *span = 0..0);
    }
    for methods in system.method_configs_mut() {
        for choice in
            [&mut methods.partition, &mut methods.iteration, &mut methods.estimate, &mut methods.controller]
        {
            bare_choice(choice);
        }
        bare_inputs(&mut methods.input, bare_choice);
        bare_inputs(&mut methods.correction, bare_choice);
        bare_inputs(&mut methods.exchange, |_| {});
        methods.step.span = 0..0;
        methods.step.size_origin = Default::default();
    }
    system.results.variables.iter_mut().for_each(|(_, span)| *span = 0..0);
    if let Some(reference) = &mut system.reference {
        reference.model.1 = 0..0;
        reference.ports.iter_mut().for_each(|(_, _, span)| *span = 0..0);
    }
    system
}

fn bare_choice(choice: &mut Choice) {
    choice.span = 0..0;
    choice.origin = Default::default();
    choice.options.iter_mut().for_each(|(_, _, span)| *span = 0..0);
}

fn bare_inputs<T>(per_input: &mut PerInput<T>, bare: impl Fn(&mut T)) {
    bare(&mut per_input.default);
    for (_, choice, span) in &mut per_input.inputs {
        bare(choice);
        *span = 0..0;
    }
}
