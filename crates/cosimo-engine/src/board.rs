//! All buffers of an island, allocated once with the sizes of the plan.

use cosimo_core::linear_model::LinearModels;
use cosimo_core::method::{CorrectionContext, Jacobian, OwnStep, StepRecord};
use cosimo_core::{Segment, Time, Traces, Window};

use crate::instant::{LoopDerivatives, LoopWorkspace, Residual};
use crate::ledger::Ledger;
use crate::plan::{Layout, Order, PlannedModels};
use crate::rate_schedule::RateSchedule;
use crate::simulator_pool::Buffers;
use crate::step_limits::Counters;

/// The buffers of an island: traces, inputs, outputs, memories of methods.
pub struct Board {
    pub(crate) traces: Traces,
    /// Inputs and outputs of simulators.
    pub(crate) buffers: Buffers,
    /// Per input: the offset computed by corrections.
    pub offsets: Vec<Segment>,
    /// Per input: the correction replaces the extrapolation.
    pub replaced: Vec<bool>,
    /// The inputs at the end of the last step.
    pub(crate) held: Vec<f64>,
    /// Unknowns of algebraic loops, one segment per input.
    pub(crate) unknowns: Vec<Segment>,
    /// Per output: its value is consistent. False for some only during initialisation.
    pub(crate) known: Vec<bool>,
    /// Buffers for loops: of the whole system, and of those solved at communication points.
    pub(crate) loop_workspaces: Vec<LoopWorkspace>,
    pub(crate) renewal_workspaces: Vec<LoopWorkspace>,
    pub(crate) loop_derivatives: LoopDerivatives,
    /// Per input, used for loop unknowns only; not rolled back.
    pub(crate) residuals: Vec<Residual>,
    /// The memories of all corrections, consecutively.
    pub memory: Vec<f64>,
    pub(crate) scratch: Vec<f64>,
    /// The age of the matrices of linear models in windows; `None` before the first.
    pub(crate) model_age: Option<u64>,
    /// Scratch of the iteration.
    pub(crate) sweeps: Vec<f64>,
    /// Outputs stashed by the estimate.
    pub(crate) stashed: Vec<f64>,
    /// Outputs after the step, while new inputs are exchanged.
    pub(crate) step_outputs: Vec<f64>,
    /// Inputs overridden by a scenario, which must not be corrected.
    pub(crate) overridden: Vec<usize>,
    /// The number of signals changed by a scenario.
    pub(crate) changed: usize,
    pub(crate) ledger: Ledger,
    pub(crate) rates: RateSchedule,
    pub(crate) controller: Vec<f64>,
    pub(crate) next_event: Option<Time>,
    /// An event is due at the end of the window.
    pub(crate) event: bool,
    /// The simulator that asks to end the simulation at the end of the window, and the function of the request.
    pub(crate) ended: Option<(usize, &'static str)>,
    /// The next event at the mark that sweeps return to.
    pub(crate) marked_event: Option<Time>,
    /// Not rolled back.
    pub(crate) counters: Counters,
    bookmark: Bookmark,
}

struct Bookmark {
    held: Vec<f64>,
    matrices: Vec<f64>,
    model_age: Option<u64>,
    memory: Vec<f64>,
    ledger: Ledger,
    next_event: Option<Time>,
    parcels: Vec<Vec<u8>>,
}

impl std::fmt::Debug for Board {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Board({:?})", self.counters)
    }
}

impl Board {
    pub(crate) fn new(layout: &Layout) -> Board {
        let Layout { topology, methods, rows, .. } = layout;
        let (inputs, outputs) = (topology.shape.inputs, topology.shape.outputs);
        let parcels = topology.byte_connections.len();
        let derivatives = |asked: bool| vec![0.0; if asked { topology.jacobian_size() } else { 0 }];
        let rooms =
            |order: &Order| order.loops.iter().map(|found| LoopWorkspace::of(layout, found)).collect();
        let mut memory = vec![0.0; methods.corrections.iter().map(|c| c.memory.len()).sum()];
        for planned in &methods.corrections {
            planned.correction.start(&topology.shape, &mut memory[planned.memory.clone()]);
        }
        let (present, matrices) = methods.models.as_ref().map_or((0, 0), PlannedModels::sizes);
        let mut law = vec![0.0; methods.controller.memory()];
        methods.controller.start(&mut law);
        let ledger = Ledger::new(&topology.bonds);
        Board {
            traces: Traces::new(outputs),
            buffers: Buffers {
                jacobian: derivatives(methods.sources.interface.is_some()),
                feedthrough: derivatives(!topology.order.loops.is_empty()),
                operating_points: vec![0.0; present],
                matrices: vec![0.0; matrices],
                states: vec![0.0; topology.states],
                locals: vec![0.0; rows.locals.iter().map(Vec::len).sum()],
                ..Buffers::new(inputs, outputs, topology.blocks.len(), parcels)
            },
            offsets: vec![Segment::ZERO; inputs],
            held: vec![0.0; inputs],
            unknowns: vec![Segment::ZERO; inputs],
            known: vec![true; outputs],
            loop_workspaces: rooms(&topology.order),
            renewal_workspaces: rooms(&topology.renewal),
            loop_derivatives: LoopDerivatives { outputs: vec![0.0; outputs], inputs: vec![0.0; inputs] },
            residuals: vec![Residual::default(); inputs],
            replaced: vec![false; inputs],
            scratch: vec![0.0; methods.corrections.last().map_or(0, |last| last.scratch.end)],
            model_age: None,
            bookmark: Bookmark {
                held: vec![0.0; inputs],
                matrices: vec![0.0; matrices],
                model_age: None,
                memory: memory.clone(),
                ledger: ledger.clone(),
                next_event: None,
                parcels: vec![Vec::new(); parcels],
            },
            sweeps: vec![0.0; methods.iteration.scratch(&topology.shape)],
            stashed: vec![0.0; outputs],
            step_outputs: vec![0.0; outputs],
            overridden: Vec::with_capacity(inputs),
            changed: 0,
            memory,
            ledger,
            rates: RateSchedule::new(layout),
            controller: law,
            next_event: None,
            event: false,
            ended: None,
            marked_event: None,
            counters: Counters::default(),
        }
    }

    pub(crate) fn set_bookmark(&mut self) {
        self.bookmark.held.copy_from_slice(&self.held);
        self.bookmark.matrices.copy_from_slice(&self.buffers.matrices);
        self.bookmark.model_age = self.model_age;
        self.bookmark.memory.copy_from_slice(&self.memory);
        self.bookmark.ledger.copy_from(&self.ledger);
        self.rates.set_bookmark();
        self.bookmark.next_event = self.next_event;
        self.bookmark.parcels.clone_from_slice(&self.buffers.bytes_in);
    }

    pub(crate) fn rewind(&mut self) {
        self.traces.discard();
        self.held.copy_from_slice(&self.bookmark.held);
        self.buffers.matrices.copy_from_slice(&self.bookmark.matrices);
        self.model_age = self.bookmark.model_age;
        self.memory.copy_from_slice(&self.bookmark.memory);
        self.ledger.copy_from(&self.bookmark.ledger);
        self.rates.rewind();
        self.next_event = self.bookmark.next_event;
        self.buffers.bytes_in.clone_from_slice(&self.bookmark.parcels);
    }

    /// The first byte connection with a new value.
    pub(crate) fn unpublished_output(&self) -> Option<usize> {
        self.buffers.bytes_in.iter().zip(&self.buffers.bytes_out).position(|(sent, given)| sent != given)
    }

    /// Transfers string and binary values. Returns whether any of them changed.
    pub(crate) fn send(&mut self, sent: impl Fn(usize) -> bool) -> bool {
        let mut new = false;
        for wire in (0..self.buffers.bytes_in.len()).filter(|wire| sent(*wire)) {
            if self.buffers.bytes_in[wire] != self.buffers.bytes_out[wire] {
                self.buffers.bytes_in[wire].clone_from(&self.buffers.bytes_out[wire]);
                new = true;
            }
        }
        new
    }

    /// The value of an input from the newest outputs, with its derivative where available: the derivative of an output
    /// with direct feed-through depends on that of the input.
    pub(crate) fn coupled(&self, layout: &Layout, input: usize) -> Segment {
        let value = layout.topology.couplings.value(input, self.traces.newest());
        let mut slope = 0.0;
        if layout.topology.shape.slopes {
            for term in layout.topology.couplings.terms(input) {
                slope += term.gain * self.traces.slopes(0)[term.output];
            }
        }
        if slope.is_finite() { Segment::line(value, slope) } else { Segment::constant(value) }
    }

    pub(crate) fn record<'a>(&'a self, layout: &'a Layout, window: Window) -> StepRecord<'a> {
        StepRecord {
            window,
            applied: &self.buffers.segments,
            outputs: &self.buffers.outputs,
            integrals: &self.buffers.integrals,
            stashed: &self.stashed,
            traces: &self.traces,
            couplings: &layout.topology.couplings,
            bonds: &layout.topology.bonds,
            powers: &self.ledger.powers,
            tolerances: &layout.topology.tolerances,
            weights: &layout.topology.weights,
            connected: &layout.topology.connected,
            shape: layout.topology.shape,
        }
    }
}

/// The context of a correction. Not a method of `Board`, whose memory is borrowed at the same time.
pub(crate) fn known<'a>(
    layout: &'a Layout,
    traces: &'a Traces,
    buffers: &'a Buffers,
    corrected: &'a [bool],
    own: &'a [Option<OwnStep>],
) -> CorrectionContext<'a> {
    CorrectionContext {
        traces,
        couplings: &layout.topology.couplings,
        blocks: &layout.topology.blocks,
        bonds: &layout.topology.bonds,
        corrected,
        models: LinearModels {
            present: &buffers.operating_points,
            matrices: &buffers.matrices,
            places: layout.methods.models.as_ref().map_or(&[], |models| &models.places),
        },
        jacobian: Jacobian {
            values: &buffers.jacobian,
            starts: &layout.topology.jacobian_starts,
            owners: &layout.topology.owners,
        },
        own,
        shape: layout.topology.shape,
    }
}
