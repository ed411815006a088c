//! The plan of an island of several simulators: its part of the system, with its own method.

use cosimo_core::interface::Interface;
use cosimo_core::registry::{Options, Registry, find};
use cosimo_core::{PowerVariable as PortEnd, Simulator};
use cosimo_system::{MethodConfig, Problem, System, values};

use super::form::IslandMembers;
use crate::plan::{Draft, Links, Moves, Plan, Ports, blocks};

/// The plan of an island of several simulators.
#[allow(clippy::too_many_arguments)] // the system, and the part of the island
pub(super) fn group(
    piece: &IslandMembers,
    simulators: Vec<Box<dyn Simulator>>,
    step: f64,
    whole: &System,
    links: &Links,
    ports: &Ports<'_>,
    registry: &Registry,
    problems: &mut Vec<Problem>,
) -> Option<Plan> {
    let interfaces: Vec<Interface> =
        simulators.iter().map(|simulator| simulator.interface().clone()).collect();
    let blocks = blocks(&interfaces);
    let names: Vec<String> = piece.members.iter().map(|member| ports.names[*member].clone()).collect();
    let inside = Ports::new(&names, &interfaces, &blocks);
    let new_output = |output: usize| {
        let (owner, port) = ports.place(PortEnd::Output(output));
        let member = piece.members.iter().position(|member| *member == owner)?;
        Some(blocks[member].outputs.start + port)
    };
    let new_input = |input: usize| {
        let (owner, port) = ports.place(PortEnd::Input(input));
        let member = piece.members.iter().position(|member| *member == owner)?;
        inside.input_of(member, &ports.interfaces[owner].inputs[port].name)
    };
    let inputs = blocks.last().map_or(0, |block| block.inputs.end);
    let (own, _) = links.moved(&Moves {
        inputs,
        input: &new_input,
        output: &new_output,
        kept: &|_, _| true,
        simulator: &|component| piece.members.iter().position(|member| *member == component),
    });
    let mut recipe = piece.recipe(whole).clone();
    let known = |path: &str| (0..inputs).any(|input| inside.path(PortEnd::Input(input)) == path);
    recipe.input.inputs.retain(|(path, ..)| known(path));
    recipe.correction.inputs.retain(|(path, ..)| known(path));
    recipe.exchange.inputs.retain(|(path, ..)| known(path));
    recipe.step.size = Some(step);
    let measures = find(&registry.estimates, &recipe.estimate.name);
    let needs_bonds = measures.is_some_and(|entry| {
        let given = values(&recipe.estimate.options);
        Options::resolve("", entry.options, &given).is_ok_and(|options| (entry.needs)(&options).bonds)
    });
    if own.bonds.is_empty() && needs_bonds {
        problems.push(Problem::warning(
            "plan/island-method",
            format!(
                "the island {} has no bond for the estimate `{}`: it uses fixed steps of {step:e} s",
                names.join(", "),
                recipe.estimate.name
            ),
            recipe.estimate.span.clone(),
        ));
        (recipe.estimate, recipe.controller) =
            (MethodConfig::default().estimate, MethodConfig::default().controller);
    }
    let inside_bond = |name: &String| own.bonds.iter().any(|bond| bond.name == *name);
    let shown = |component: &usize| {
        let mut component = whole.components[*component].clone();
        let hidden = |name: &str| {
            let place = names.iter().position(|known| *known == component.name);
            place.is_none_or(|place| inside.input_of(place, name).is_none())
        };
        let starts = std::mem::take(&mut component.starts);
        component.starts = starts.into_iter().filter(|(name, ..)| !hidden(name)).collect();
        component
    };
    let system = System {
        folder: whole.folder.clone(),
        experiment: whole.experiment.clone(),
        components: piece.members.iter().map(shown).collect(),
        bonds: whole.bonds.iter().filter(|bond| inside_bond(&bond.name)).cloned().collect(),
        junctions: whole.junctions.iter().filter(|bond| inside_bond(&bond.name)).cloned().collect(),
        methods: recipe,
        ..System::default()
    };
    Draft::of(system, simulators, own).plan(registry, problems)
}
