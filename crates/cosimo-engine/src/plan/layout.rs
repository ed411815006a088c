//! The constant part of a run: the topology, the methods, and the limits.

use std::ops::Range;

use cosimo_core::interface::{Abilities, Interface};
use cosimo_core::linear_model::ModelPlace;
use cosimo_core::link::PortRanges;
use cosimo_core::method::{Correction, Estimate, Extrapolation, Iteration, Sizes, StepController};
use cosimo_core::{Bond, Couplings, PowerVariable, RollbackCheck, Simulator, Time};
use cosimo_system::{EndRule, RecordPoint};

use super::order::{Loop, Order};
use super::ports::Ports;
use super::resolve::ByteConnection;
use crate::history::History;
use crate::rate_schedule::OwnRate;
use crate::rows::RowLayout;
use crate::simulator_pool::Sources;
use crate::step_limits::StepLimits;

/// The constant part of a run, except for rows of the couplings that a scenario changes.
pub struct Layout {
    /// Simulators and their connections.
    pub topology: Topology,
    /// Extrapolations, corrections and step control.
    pub methods: Methods,
    /// Times and step limits.
    pub limits: RunLimits,
    pub(crate) rows: RowLayout,
}

/// Simulators, their ports, and their connections.
#[derive(Debug)]
pub struct Topology {
    /// Names of the simulators.
    pub names: Vec<String>,
    /// Per simulator.
    pub interfaces: Vec<Interface>,
    /// Per simulator: its inputs and outputs among those of all.
    pub blocks: Vec<PortRanges>,
    /// The simulator of each output.
    pub owners: Vec<usize>,
    /// Inputs as linear combinations of outputs.
    pub couplings: Couplings,
    /// Power bonds and junctions.
    pub bonds: Vec<Bond>,
    /// Connections of strings and binaries.
    pub byte_connections: Vec<ByteConnection>,
    /// Numbers of ports, states and bonds, for methods.
    pub shape: Sizes,
    /// The number of states of all simulators that expose them.
    pub(crate) states: usize,
    /// Per simulator.
    pub state_counts: Vec<usize>,
    /// Simulators that do not expose their states.
    pub hidden: Vec<usize>,
    /// The first Jacobian entry of each simulator among those of all.
    pub(crate) jacobian_starts: Vec<usize>,
    /// Per output.
    pub(crate) tolerances: Vec<Option<f64>>,
    pub(crate) weights: Vec<Option<f64>>,
    pub(crate) connected: Vec<bool>,
    /// The connected outputs, and those of them with derivatives.
    pub driving: Vec<usize>,
    pub(crate) sloped: Vec<usize>,
    /// Per input: its value before any output is known.
    pub(crate) first_inputs: Vec<f64>,
    /// The order of outputs at one instant, with all inputs renewed.
    pub(crate) order: Order,
    /// The same with only fresh inputs renewed. Its passes are numbered after those of `order`.
    pub(crate) renewal: Order,
    /// Some simulator has events.
    pub eventful: bool,
}

/// The methods: how inputs are computed and steps are taken.
pub struct Methods {
    pub(crate) fits: Vec<Box<dyn Extrapolation>>,
    /// An extrapolation of a neighbouring degree for each of `fits`.
    pub(crate) companions: Vec<Box<dyn Extrapolation>>,
    /// Per input, for listings.
    pub fit_names: Vec<&'static str>,
    /// Per input, for listings.
    pub correction_names: Vec<&'static str>,
    pub(crate) corrections: Vec<PlannedCorrection>,
    /// Sources of the derivatives that corrections read.
    pub(crate) sources: Sources,
    /// Linear models, if a correction reads them.
    pub(crate) models: Option<PlannedModels>,
    /// Per input: exchanged fresh.
    pub fresh: Vec<bool>,
    /// In the order in which they step.
    pub stages: Vec<Stage>,
    /// Per simulator: the stage in which it steps.
    pub(crate) stage_of: Vec<usize>,
    /// Multi-rate components, in the order of their indices.
    pub rates: Vec<OwnRate>,
    pub(crate) iteration: Box<dyn Iteration>,
    pub(crate) estimate: Box<dyn Estimate>,
    pub(crate) estimate_name: &'static str,
    pub(crate) controller: Box<dyn StepController>,
}

/// Start, stop, step limits, and what may shorten or roll back a step.
#[derive(Debug)]
pub struct RunLimits {
    pub(crate) start: Time,
    pub(crate) stop: Time,
    /// Whether the last step ends exactly at the stop time.
    pub end: EndRule,
    pub(crate) record: RecordPoint,
    /// Samples from before the start.
    pub history: History,
    /// Limits of the step size.
    pub control: StepLimits,
    /// The first step size in seconds, if given.
    pub first_size: Option<f64>,
    /// All simulators support variable steps, so that an announced event can end one.
    pub(crate) variable_steps: bool,
    /// After an event inside a window all simulators are rolled back and stepped to it.
    pub(crate) stop_at_events: bool,
    /// Steps may be rolled back, so bookmarks are taken.
    pub(crate) rewinds: bool,
    /// Some method rolls simulators back, so rollback is tested first.
    pub(crate) relies_on_rollback: bool,
    /// The caller rolls back to earlier instants.
    pub(crate) caller_rewinds: bool,
    /// Results of the rollback check, where it ran in another process.
    pub(crate) rollback_checks: Option<Vec<RollbackCheck>>,
}

impl std::fmt::Debug for Layout {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Layout({:?}, {:?})", self.topology.names, self.topology.shape)
    }
}

impl std::fmt::Debug for Methods {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Methods({:?}, {:?})", self.fit_names, self.correction_names)
    }
}

impl Layout {
    /// All ports by name.
    pub fn ports(&self) -> Ports<'_> {
        self.topology.ports()
    }
}

impl Topology {
    /// The simulators that a bond joins.
    pub fn components_of(&self, bond: &Bond) -> Vec<usize> {
        let owner = |variable: PowerVariable| match variable {
            PowerVariable::Output(output) => self.owners.get(output).copied(),
            PowerVariable::Input(input) => self.blocks.iter().position(|block| block.inputs.contains(&input)),
        };
        let mut all: Vec<usize> = bond.sides.iter().filter_map(|side| owner(side.effort)).collect();
        all.dedup();
        all
    }
}

impl Methods {
    /// The number of past samples that any extrapolation needs.
    pub(crate) fn history_depth(&self) -> usize {
        self.fits.iter().map(|fit| fit.history()).max().unwrap_or(1)
    }

    /// Whether some extrapolation chooses between formulas by the samples, so that a step is no linear map.
    pub fn switching(&self) -> bool {
        self.fits.iter().any(|fit| fit.switches())
    }

    /// The correction that identifies models during the run, if there is one: results then depend on all previous steps.
    pub fn identifying_correction(&self) -> Option<&'static str> {
        self.corrections.iter().find(|planned| planned.correction.learns()).map(|planned| planned.name)
    }
}

impl Topology {
    /// All ports by name.
    pub fn ports(&self) -> Ports<'_> {
        Ports::new(&self.names, &self.interfaces, &self.blocks)
    }

    /// Counts the states of simulators; the merged view of islands has none.
    pub(super) fn count_states(&mut self, simulators: &mut [Option<Box<dyn Simulator>>]) {
        for index in 0..self.blocks.len() {
            let simulator = simulators.get_mut(index).and_then(Option::as_mut);
            let count = simulator.and_then(|simulator| simulator.states()).map(|states| states.count());
            if count.is_none() {
                self.hidden.push(index);
            }
            self.states += count.unwrap_or(0);
            self.state_counts.push(count.unwrap_or(0));
        }
    }

    /// The simulator of a port.
    pub fn owner(&self, end: PowerVariable) -> usize {
        match end {
            PowerVariable::Input(input) => self.blocks.partition_point(|block| block.inputs.end <= input),
            PowerVariable::Output(output) => self.owners[output],
        }
    }

    pub(crate) fn jacobian_size(&self) -> usize {
        self.blocks.iter().map(|block| block.inputs.len() * block.outputs.len()).sum()
    }

    /// Whether all simulators of a loop have an ability, or lack it.
    pub(crate) fn throughout(&self, found: &Loop, ability: impl Fn(&Abilities) -> bool) -> bool {
        found.outputs.iter().all(|output| ability(&self.interfaces[self.owners[*output]].abilities))
    }

    /// Simulators that cannot serialize their state, so that the run cannot be saved.
    pub fn components_without_saved_state(&self) -> impl Iterator<Item = &str> {
        let cannot = self.interfaces.iter().map(|interface| !interface.abilities.serialize_state);
        self.names.iter().zip(cannot).filter_map(|(name, cannot)| cannot.then_some(name.as_str()))
    }
}

/// Simulators that step together, with inputs grouped by extrapolation so that one virtual call serves many. Ports are
/// listed as ranges: loops over them are as fast as loops over an array.
#[derive(Debug)]
pub struct Stage {
    /// Indices of the simulators.
    pub members: Vec<usize>,
    pub(crate) fits: Vec<ExtrapolationRun>,
    /// Inputs that may be corrected.
    pub inputs: Vec<Range<usize>>,
    pub(crate) outputs: Vec<Range<usize>>,
}

#[derive(Debug)]
pub(crate) struct ExtrapolationRun {
    pub(crate) fit: usize,
    pub inputs: Vec<Range<usize>>,
}

/// Linear models of simulators, and when their matrices are renewed.
#[derive(Debug, Default)]
pub(crate) struct PlannedModels {
    /// Per simulator.
    pub(crate) places: Vec<Option<ModelPlace>>,
    /// The number of windows after which matrices are renewed.
    pub(crate) every: Option<u64>,
}

impl PlannedModels {
    /// The sizes of the buffers for operating points and matrices.
    pub(crate) fn sizes(&self) -> (usize, usize) {
        let last = self.places.iter().flatten().next_back();
        last.map_or((0, 0), |place| (place.present.end, place.matrices.end))
    }
}

pub(crate) struct PlannedCorrection {
    pub(crate) name: &'static str,
    pub(crate) correction: Box<dyn Correction>,
    pub(crate) memory: Range<usize>,
    pub(crate) scratch: Range<usize>,
    /// Per input: this correction applies.
    pub(crate) inputs: Vec<bool>,
}

/// Consecutive indices as ranges.
pub(crate) fn runs(mut indices: Vec<usize>) -> Vec<Range<usize>> {
    indices.sort_unstable();
    let mut runs: Vec<Range<usize>> = Vec::new();
    for index in indices {
        match runs.last_mut() {
            Some(run) if run.end == index => run.end += 1,
            _ => runs.push(index..index + 1),
        }
    }
    runs
}
