//! Puts simulators into their slots of the pool.

use cosimo_core::method::JacobianWork;
use cosimo_core::{Segment, Simulator};

use super::{ByteConnection, Layout};
use crate::island::Island;
use crate::simulator_pool::{ColdSlot, SimulatorPool, SimulatorSlot};

/// The island of a layout, with its simulators on their threads.
pub(crate) fn island(layout: Layout, simulators: Vec<Box<dyn Simulator>>, threads: usize) -> Island {
    let crew = SimulatorPool::new(members(simulators, &layout), threads, layout.methods.sources.clone());
    Island::new(layout, crew)
}

/// One slot per simulator.
fn members(simulators: Vec<Box<dyn Simulator>>, layout: &Layout) -> Vec<SimulatorSlot> {
    let count = layout.topology.blocks.len();
    let passes = layout.topology.order.passes.iter().chain(&layout.topology.renewal.passes);
    let mut speaks = vec![vec![false; passes.clone().count()]; count];
    for (pass, outputs) in passes.enumerate() {
        outputs.iter().for_each(|output| speaks[layout.topology.owners[*output]][pass] = true);
    }
    let (mut states, mut locals) = (0, 0);
    simulators
        .into_iter()
        .enumerate()
        .map(|(index, mut simulator)| {
            check_abilities(simulator.as_mut());
            let block = &layout.topology.blocks[index];
            let count = layout.topology.state_counts[index];
            states += count;
            let chosen = layout.rows.locals.get(index).map_or(&[][..], Vec::as_slice);
            if let Some(locals) = simulator.locals().filter(|_| !chosen.is_empty()) {
                locals.choose(chosen);
            }
            locals += chosen.len();
            // Outputs times inputs: not allocated unless needed.
            let asked = layout.methods.sources.interface.is_some() || !layout.topology.order.loops.is_empty();
            let size = if asked { block.inputs.len() * block.outputs.len() } else { 0 };
            let outputs = block.outputs.len();
            let abilities = &layout.topology.interfaces[index].abilities;
            let model =
                layout.methods.models.as_ref().and_then(|models| models.places[index].as_ref()).cloned();
            let seen = model.as_ref().map_or(0, |place| place.states);
            let parcels = |end: fn(&ByteConnection) -> (usize, usize)| {
                let wires = layout.topology.byte_connections.iter().map(end).enumerate();
                wires.filter(|(_, end)| end.0 == index).map(|(wire, end)| (wire, end.1)).collect()
            };
            SimulatorSlot {
                index,
                inputs: block.inputs.clone(),
                outputs: block.outputs.clone(),
                // Requested only if used: for some simulators they cost as much as a step.
                offers_slopes: layout.topology.shape.slopes && abilities.slopes,
                offers_integrals: !layout.methods.corrections.is_empty() && abilities.integrals,
                cold: Box::new(ColdSlot {
                    stage: layout.methods.stage_of[index],
                    states: states - count..states,
                    locals: locals - chosen.len()..locals,
                    jacobian: layout.topology.jacobian_starts[index]
                        ..layout.topology.jacobian_starts[index] + size,
                    model: model.clone(),
                    passes: std::mem::take(&mut speaks[index]),
                    has_jacobian: abilities.jacobian,
                    byte_inputs: parcels(|wire| wire.to),
                    byte_outputs: parcels(|wire| wire.from),
                    events_or_direct: abilities.direct_response || abilities.events,
                    work: JacobianWork {
                        segments: vec![Segment::ZERO; block.inputs.len()],
                        above: vec![0.0; outputs],
                        below: vec![0.0; outputs],
                        slopes: vec![0.0; if abilities.slopes { outputs } else { 0 }],
                        point: vec![0.0; seen + block.inputs.len()],
                        motions: vec![0.0; 2 * (seen + outputs)],
                    },
                }),
                simulator,
            }
        })
        .collect()
}

/// The declared abilities, on which the plan is based, must agree with the getters.
fn check_abilities(simulator: &mut dyn Simulator) {
    let can = simulator.interface().abilities;
    debug_assert_eq!(
        [can.rollback, can.serialize_state, can.jacobian, can.integrals, can.states, can.events],
        [
            simulator.rollback().is_some(),
            simulator.serialize_state().is_some(),
            simulator.jacobian().is_some(),
            simulator.integrals().is_some(),
            simulator.states().is_some(),
            simulator.events().is_some(),
        ],
        "rollback, serialize_state, jacobian, integrals, states, events: abilities of the interface, and getters"
    );
}
