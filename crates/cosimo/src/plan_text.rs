//! The plan of a system as text: stages, inputs, bonds, methods and their origin.

use std::fmt::{self, Write};

use cosimo_core::registry::{EntryListing, Options, Value, number_text};
use cosimo_core::{PowerVariable, Registry};
use cosimo_engine::Layout;
use cosimo_engine::rows::side_letter;
use cosimo_system::{
    Action, BondDecl, Choice, ChoiceOrigin, EndRule, MethodConfig, PowerPort, RecordPoint, Reject,
    StepConfig, System, Trigger,
};

/// The plan as text.
pub fn text(system: &System, layout: &Layout, registry: &Registry) -> String {
    let mut out = String::new();
    let lines = system.bonds.iter().any(|bond| bond.line.is_some());
    let written = simulators(&mut out, system, layout, lines)
        .and_then(|()| if lines { self::lines(&mut out, system) } else { inputs(&mut out, layout) })
        .and_then(|()| if lines { Ok(()) } else { bonds(&mut out, layout) })
        .and_then(|()| methods(&mut out, system, layout, &registry.axes()))
        .and_then(|()| actions(&mut out, system));
    debug_assert!(written.is_ok(), "a string takes everything");
    out
}

fn simulators(out: &mut String, system: &System, layout: &Layout, lines: bool) -> fmt::Result {
    writeln!(out, "simulators")?;
    for (index, (name, interface)) in
        layout.topology.names.iter().zip(&layout.topology.interfaces).enumerate()
    {
        let can = &interface.abilities;
        let abilities: Vec<&str> = [
            (can.rollback, "rollback"),
            (can.slopes, "slopes"),
            (can.jacobian, "derivatives"),
            (can.integrals, "integrals"),
            (can.states, "states"),
        ]
        .into_iter()
        .filter_map(|(able, word)| able.then_some(word))
        .collect();
        let component = system.components.iter().find(|component| component.name == *name);
        let source = match component {
            Some(component) => component.source.clone(),
            None if interface.members.is_empty() => continue, // a line, which is listed below
            None => format!("{}, integrated together", interface.members.join(" and ")),
        };
        let rate = layout.methods.rates.iter().find(|rate| rate.member == index);
        let own = rate.map_or(String::new(), |rate| own_step(rate.every, layout));
        let abilities = if lines { String::new() } else { format!(" ({})", abilities.join(", ")) };
        writeln!(out, "  {name:<12} {source}{abilities}{own}")?;
    }
    if lines {
        return Ok(()); // every island has its own
    }
    writeln!(out, "\nstages (members of a stage see the values of the previous point)")?;
    for (k, stage) in layout.methods.stages.iter().enumerate() {
        let members: Vec<&str> =
            stage.members.iter().map(|&member| layout.topology.names[member].as_str()).collect();
        writeln!(out, "  {}: {}", k + 1, members.join(", "))?;
    }
    Ok(())
}

/// Lines, and what else joins components: inside islands nothing is resolved here.
fn lines(out: &mut String, system: &System) -> fmt::Result {
    writeln!(
        out,
        "\nlines (a wave arrives at the other side after the delay; islands between lines step independently)"
    )?;
    let sides = |bond: &BondDecl| {
        let side = |port: &PowerPort| format!("{} x {}", port.effort.0, port.flow.0);
        format!("a: {}; b: {}", side(&bond.a), side(&bond.b))
    };
    for (bond, line) in system.bonds.iter().filter_map(|bond| Some((bond, bond.line.as_ref()?))) {
        let grows = if line.steady.is_some() {
            let most = line.most[0].max(line.most[1]);
            format!(", up to {} times that where a side is in steady state", number_text(most))
        } else {
            String::new()
        };
        writeln!(
            out,
            "  {:<12} {}; delay {} s{grows}; impedance {}",
            bond.name,
            sides(bond),
            number_text(line.delay),
            number_text(line.impedance)
        )?;
    }
    let inside: Vec<&BondDecl> = system.bonds.iter().filter(|bond| bond.line.is_none()).collect();
    if !inside.is_empty() {
        writeln!(out, "\nbonds inside islands")?;
    }
    for bond in inside {
        writeln!(out, "  {:<12} {}", bond.name, sides(bond))?;
    }
    if !system.connections.is_empty() {
        writeln!(out, "\nconnections inside islands")?;
    }
    for connection in &system.connections {
        let from: Vec<&str> = connection.from.iter().map(|summand| summand.port.0.as_str()).collect();
        writeln!(out, "  {:<20} = {}", connection.to.0, from.join(" + "))?;
    }
    Ok(())
}

/// Multi-rate: the step of one component, and its ratio to the common step.
fn own_step(every: f64, layout: &Layout) -> String {
    let size = layout.limits.first_size.filter(|_| !layout.limits.control.adaptive);
    let ratio = match size {
        Some(size) if every > size => format!(": {} steps of the others", (every / size).round()),
        Some(size) if every < size => format!(": {} in each step of the others", (size / every).round()),
        _ => String::new(),
    };
    format!(", own step {} s{ratio}", number_text(every))
}

fn inputs(out: &mut String, layout: &Layout) -> fmt::Result {
    writeln!(out, "\ninputs")?;
    let ports = layout.ports();
    for input in 0..layout.topology.shape.inputs {
        let terms: Vec<String> = layout
            .topology
            .couplings
            .terms(input)
            .iter()
            .map(|term| {
                let path = ports.path(PowerVariable::Output(term.output));
                if term.gain == 1.0 { path } else { format!("{} * {path}", term.gain) }
            })
            .collect();
        let path = ports.path(PowerVariable::Input(input));
        if terms.is_empty() {
            writeln!(out, "  {path:<20} = {} (constant)", layout.topology.couplings.constant(input))?;
            continue;
        }
        let exchange = if layout.methods.fresh[input] { "current" } else { "previous" };
        writeln!(
            out,
            "  {path:<20} = {}; {}, correction {}, uses values of the {exchange} point",
            sum(terms, layout.topology.couplings.constant(input)),
            layout.methods.fit_names[input],
            layout.methods.correction_names[input]
        )?;
    }
    Ok(())
}

fn sum(mut terms: Vec<String>, constant: f64) -> String {
    if constant != 0.0 {
        terms.push(number_text(constant));
    }
    terms.join(" + ")
}

fn bonds(out: &mut String, layout: &Layout) -> fmt::Result {
    writeln!(out, "\nbonds (power counted from the first side)")?;
    if layout.topology.bonds.is_empty() {
        writeln!(out, "  none: the energy of the coupling is not accounted for")?;
    }
    let ports = layout.ports();
    for bond in &layout.topology.bonds {
        let sides: Vec<String> = bond
            .sides
            .iter()
            .enumerate()
            .map(|(k, side)| {
                let way = if side.sign > 0.0 { "enters" } else { "leaves" };
                format!("{}: {} x {} {way}", side_letter(k), ports.path(side.effort), ports.path(side.flow))
            })
            .collect();
        let own = |name: &str, value: Option<f64>, unit: &str| {
            value.map_or(String::new(), |value| format!("; {name} {}{unit}", number_text(value)))
        };
        let tolerance = own("tolerance", bond.tolerance, "");
        let scale = own("energy scale", bond.energy_scale, " J");
        writeln!(out, "  {:<12} {}{tolerance}{scale}", bond.name, sides.join("; "))?;
    }
    Ok(())
}

fn methods(
    out: &mut String,
    system: &System,
    layout: &Layout,
    axes: &[(&str, Vec<EntryListing>)],
) -> fmt::Result {
    writeln!(out, "\nmethods")?;
    let lines = system.bonds.iter().any(|bond| bond.line.is_some());
    let sizes = (layout.limits.control.adaptive, layout.limits.control.first(system.methods.step.size));
    choices(out, &system.methods, (!lines).then_some(sizes), axes)?;
    for island in &system.islands {
        let names: Vec<&str> = island.components.iter().map(|(name, _)| name.as_str()).collect();
        writeln!(out, "\nmethods of island {}, which has {}", island.name, names.join(", "))?;
        let StepConfig { size, min, max, .. } = island.methods.step;
        let adaptive = island.methods.controller.name != MethodConfig::default().controller.name;
        let sizes = size.map(|size| (adaptive, if adaptive { size.clamp(min, max) } else { size }));
        choices(out, &island.methods, sizes, axes)?;
    }
    if !system.islands.is_empty() {
        writeln!(out)?;
    }
    let end = if system.experiment.end == EndRule::Exact { "exact" } else { "first point at or after" };
    writeln!(
        out,
        "  {:<12} {} to {} s, end {end}",
        "experiment", system.experiment.start, system.experiment.stop
    )?;
    let record = match system.experiment.record {
        RecordPoint::AfterExchange => "after exchange: outputs as published, inputs as they follow from them",
        RecordPoint::BeforeExchange => "before exchange: inputs as applied, outputs as the step left them",
    };
    writeln!(out, "  {:<12} {record}\n", "record")?;
    Ok(())
}

/// The choice on every axis; `sizes`: whether steps are controlled and the initial size, where there is one.
fn choices(
    out: &mut String,
    recipe: &MethodConfig,
    sizes: Option<(bool, f64)>,
    axes: &[(&str, Vec<EntryListing>)],
) -> fmt::Result {
    for (axis, choice) in [
        ("partition", &recipe.partition),
        ("iteration", &recipe.iteration),
        ("input", &recipe.input.default),
        ("correction", &recipe.correction.default),
        ("estimate", &recipe.estimate),
        ("controller", &recipe.controller),
    ] {
        writeln!(
            out,
            "  {axis:<12} {:<20} {}{}",
            choice.name,
            origin(choice.origin),
            options(axis, choice, axes)
        )?;
    }
    let step = &recipe.step;
    let Some((adaptive, first)) = sizes else {
        return writeln!(out, "  {:<12} separate in every island", "step");
    };
    if adaptive {
        let reject = if step.reject == Reject::AboveOne { "above 1" } else { "never" };
        writeln!(
            out,
            "  {:<12} {} s first, {} to {} s, ratio {} to {}, rejected: {reject}",
            "step",
            number_text(first),
            number_text(step.min),
            number_text(step.max),
            step.shrink,
            step.grow
        )?;
    } else {
        writeln!(out, "  {:<12} {} s, {}", "step", number_text(first), origin(step.size_origin))?;
    }
    Ok(())
}

fn actions(out: &mut String, system: &System) -> fmt::Result {
    let Some(scenario) = &system.scenario else { return Ok(()) };
    writeln!(out, "scenario (acts at communication points; steps end at the instants of actions)")?;
    for Action { name, trigger, .. } in &scenario.actions {
        match trigger {
            Trigger::At(time, _) => writeln!(out, "  at t = {time} s: {name}")?,
            Trigger::When { once: true, text, .. } => writeln!(out, "  when {text}: {name}")?,
            Trigger::When { once: false, text, .. } => writeln!(out, "  each time {text}: {name}")?,
        }
    }
    writeln!(out)
}

fn origin(origin: ChoiceOrigin) -> &'static str {
    match origin {
        ChoiceOrigin::Default => "default",
        ChoiceOrigin::File => "from the file",
        ChoiceOrigin::CommandLine => "from the command line",
    }
}

/// The options of a method as they are in force; `None` where there is no such method, or they do not fit it.
pub(crate) fn resolved(axis: &str, choice: &Choice, axes: &[(&str, Vec<EntryListing>)]) -> Option<Options> {
    let (_, entries) = axes.iter().find(|(known, _)| *known == axis)?;
    let entry = entries.iter().find(|entry| entry.name == choice.name)?;
    let given: Vec<(String, Value)> =
        choice.options.iter().map(|(name, value, _)| (name.clone(), value.clone())).collect();
    Options::resolve(entry.name, entry.options, &given).ok()
}

/// Every option of the choice, the defaults included.
fn options(axis: &str, choice: &Choice, axes: &[(&str, Vec<EntryListing>)]) -> String {
    let Some(resolved) = resolved(axis, choice, axes) else { return String::new() };
    let texts: Vec<String> =
        resolved.values().iter().map(|(name, value)| format!("{name} = {}", value.describe())).collect();
    if texts.is_empty() { String::new() } else { format!(": {}", texts.join(", ")) }
}
