//! What a run is made of and does not change: which simulators are connected how, by which methods inputs are made and steps
//! are chosen, and from when to when.

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

/// Everything about a run that does not change while it runs, but for rows of the couplings that a scenario acts on.
pub struct Layout {
    pub topology: Topology,
    pub methods: Methods,
    pub limits: RunLimits,
    pub(crate) rows: RowLayout,
}

/// Simulators, their ports, and what connects them.
#[derive(Debug)]
pub struct Topology {
    pub names: Vec<String>,
    pub interfaces: Vec<Interface>,
    pub blocks: Vec<PortRanges>,
    /// The simulator of each output.
    pub owners: Vec<usize>,
    pub couplings: Couplings,
    pub bonds: Vec<Bond>,
    pub byte_connections: Vec<ByteConnection>,
    pub shape: Sizes,
    /// States of all simulators that show them.
    pub(crate) states: usize,
    /// The same, simulator by simulator.
    pub state_counts: Vec<usize>,
    /// Simulators whose states cannot be seen.
    pub hidden: Vec<usize>,
    /// Where the derivatives of each simulator begin among those of all.
    pub(crate) jacobian_starts: Vec<usize>,
    /// Per output.
    pub(crate) tolerances: Vec<Option<f64>>,
    pub(crate) weights: Vec<Option<f64>>,
    pub(crate) connected: Vec<bool>,
    /// The connected outputs, and those of them with slopes.
    pub driving: Vec<usize>,
    pub(crate) sloped: Vec<usize>,
    /// Per input: its value before anybody has said anything.
    pub(crate) first: Vec<f64>,
    /// Who is to be heard after whom, where everybody hears everything.
    pub(crate) order: Order,
    /// The same where only fresh inputs are renewed. Its passes are counted from behind those of `order`.
    pub(crate) renewal: Order,
    /// Somebody has events.
    pub eventful: bool,
}

/// How inputs are made and steps are taken.
pub struct Methods {
    pub(crate) fits: Vec<Box<dyn Extrapolation>>,
    /// A neighbouring degree for each of the fits.
    pub(crate) companions: Vec<Box<dyn Extrapolation>>,
    /// Per input, for listings.
    pub fit_names: Vec<&'static str>,
    pub correction_names: Vec<&'static str>,
    pub(crate) corrections: Vec<PlannedCorrection>,
    /// Where derivatives come from that corrections read.
    pub(crate) sources: Sources,
    /// Linear models, if a correction reads them.
    pub(crate) models: Option<PlannedModels>,
    /// Per input: exchanged fresh.
    pub fresh: Vec<bool>,
    pub stages: Vec<Stage>,
    /// Per simulator: the stage in which it steps.
    pub(crate) stage_of: Vec<usize>,
    /// Components with steps of their own, in the order of their indices.
    pub rates: Vec<OwnRate>,
    pub(crate) iteration: Box<dyn Iteration>,
    pub(crate) estimate: Box<dyn Estimate>,
    pub(crate) estimate_name: &'static str,
    pub(crate) controller: Box<dyn StepController>,
}

/// From when to when, in steps of which sizes, and what ends one or takes it back.
#[derive(Debug)]
pub struct RunLimits {
    pub(crate) start: Time,
    pub(crate) stop: Time,
    pub end: EndRule,
    pub(crate) record: RecordPoint,
    /// Samples from before the start.
    pub history: History,
    pub control: StepLimits,
    pub first_size: Option<f64>,
    /// Every simulator takes steps of any size, so that an announced event can end one.
    pub(crate) cuts: bool,
    /// Whoever stops at an event inside a window is met there by everybody else.
    pub(crate) meets: bool,
    /// Something may rewind a step, so bookmarks are taken.
    pub(crate) rewinds: bool,
    /// Something rewinds simulators, steps or not, so their promise to be able to is tried out first.
    pub(crate) relies_on_rollback: bool,
    /// The caller goes back to earlier instants, whatever the method does.
    pub(crate) probed: bool,
    /// What that showed, where it was tried in another process.
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
    pub fn ports(&self) -> Ports<'_> {
        self.topology.ports()
    }
}

impl Methods {
    /// How many samples back any input looks.
    pub(crate) fn history_depth(&self) -> usize {
        self.fits.iter().map(|fit| fit.history()).max().unwrap_or(1)
    }

    /// The correction whose steps depend on all steps before, if there is one.
    pub fn identifying_correction(&self) -> Option<&'static str> {
        self.corrections.iter().find(|planned| planned.correction.learns()).map(|planned| planned.name)
    }
}

impl Topology {
    pub fn ports(&self) -> Ports<'_> {
        Ports::new(&self.names, &self.interfaces, &self.blocks)
    }

    /// Once simulators are in their places. What only shows islands has none.
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

    /// Simulators whose state does not outlive the process, so that the run cannot be saved.
    pub fn components_without_saved_state(&self) -> impl Iterator<Item = &str> {
        let cannot = self.interfaces.iter().map(|interface| !interface.abilities.serialize_state);
        self.names.iter().zip(cannot).filter_map(|(name, cannot)| cannot.then_some(name.as_str()))
    }
}

/// Members that step together, with their inputs grouped by fit so that one virtual call serves many. Ports
/// are listed in runs of neighbours: loops over them are as fast as loops over an array.
#[derive(Debug)]
pub struct Stage {
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

/// Who has a linear model, and how old its matrices may grow.
#[derive(Debug, Default)]
pub(crate) struct PlannedModels {
    /// Per simulator.
    pub(crate) places: Vec<Option<ModelPlace>>,
    /// Matrices are renewed after so many windows.
    pub(crate) every: Option<u64>,
}

impl PlannedModels {
    /// How long the two buffers are.
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
    /// Per input: this correction is in charge.
    pub(crate) inputs: Vec<bool>,
}

/// Runs of neighbours.
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
