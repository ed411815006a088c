//! Every buffer of an island. Sized by the plan, allocated once; everyone else borrows.

use cosimo_core::method::{Jacobian, Known, OwnStep, Record};
use cosimo_core::{Rehearsal, Segment, Time, Traces, Window};

use crate::crew::Buffers;
use crate::ledger::Ledger;
use crate::plan::Layout;
use crate::rates::Paces;

#[derive(Debug)]
pub struct Board {
    pub traces: Traces,
    /// Values that cross to simulators and back.
    pub buffers: Buffers,
    /// One small segment per input, from the corrections.
    pub offsets: Vec<Segment>,
    /// The inputs that simulators saw last, at the end of their step.
    pub held: Vec<f64>,
    /// All memory of corrections, one slice after the other.
    pub memory: Vec<f64>,
    pub scratch: Vec<f64>,
    /// Scratch of the iteration.
    pub sweeps: Vec<f64>,
    /// Outputs that the estimate put aside.
    pub kept: Vec<f64>,
    /// Outputs as the step left them, while simulators settle on new inputs.
    pub scratch_left: Vec<f64>,
    /// Inputs whose signal is not their sources', so that no correction of it makes sense.
    pub overridden: Vec<usize>,
    /// How many signals are not what their sources say.
    pub changed: usize,
    pub ledger: Ledger,
    pub paces: Paces,
    pub law: Vec<f64>,
    pub next_event: Option<Time>,
    /// Somebody stands at an event at the end of the window.
    pub event: bool,
    /// As of the mark that sweeps go back to.
    pub marked_event: Option<Time>,
    /// Evaluations of right-hand sides; never rewound.
    pub evaluations: u64,
    bookmark: Bookmark,
}

#[derive(Debug)]
struct Bookmark {
    held: Vec<f64>,
    memory: Vec<f64>,
    ledger: Ledger,
    next_event: Option<Time>,
    parcels: Vec<Vec<u8>>,
}

impl Board {
    pub fn new(layout: &Layout) -> Board {
        let (inputs, outputs) = (layout.shape.inputs, layout.shape.outputs);
        let mut memory = vec![0.0; layout.corrections.iter().map(|c| c.memory.len()).sum()];
        for planned in &layout.corrections {
            planned.correction.start(&layout.shape, &mut memory[planned.memory.clone()]);
        }
        let mut law = vec![0.0; layout.law.memory()];
        layout.law.start(&mut law);
        let ledger = Ledger::new(&layout.bonds);
        Board {
            traces: Traces::new(outputs),
            buffers: Buffers {
                segments: vec![Segment::ZERO; inputs],
                left: vec![0.0; outputs],
                slopes: vec![f64::NAN; outputs],
                integrals: vec![f64::NAN; outputs],
                jacobian: vec![0.0; layout.jacobian_size()],
                states: vec![0.0; layout.states],
                frozen: vec![Vec::new(); layout.blocks.len()],
                rehearsals: vec![Rehearsal::default(); layout.blocks.len()],
                leads: vec![None; layout.blocks.len()],
                due: vec![false; layout.blocks.len()],
                parcels: vec![Vec::new(); layout.parcels.len()],
                given: vec![Vec::new(); layout.parcels.len()],
            },
            offsets: vec![Segment::ZERO; inputs],
            held: vec![0.0; inputs],
            scratch: vec![
                0.0;
                layout
                    .corrections
                    .iter()
                    .map(|c| c.correction.scratch(&layout.shape))
                    .max()
                    .unwrap_or(0)
            ],
            bookmark: Bookmark {
                held: vec![0.0; inputs],
                memory: memory.clone(),
                ledger: ledger.clone(),
                next_event: None,
                parcels: vec![Vec::new(); layout.parcels.len()],
            },
            sweeps: vec![0.0; layout.iteration.scratch(&layout.shape)],
            kept: vec![0.0; outputs],
            scratch_left: vec![0.0; outputs],
            overridden: Vec::with_capacity(inputs),
            changed: 0,
            memory,
            ledger,
            paces: Paces::new(layout),
            law,
            next_event: None,
            event: false,
            marked_event: None,
            evaluations: 0,
        }
    }

    pub fn set_bookmark(&mut self) {
        self.bookmark.held.copy_from_slice(&self.held);
        self.bookmark.memory.copy_from_slice(&self.memory);
        self.bookmark.ledger.copy_from(&self.ledger);
        self.paces.set_bookmark();
        self.bookmark.next_event = self.next_event;
        self.bookmark.parcels.clone_from_slice(&self.buffers.parcels);
    }

    pub fn rewind(&mut self) {
        self.traces.discard();
        self.held.copy_from_slice(&self.bookmark.held);
        self.memory.copy_from_slice(&self.bookmark.memory);
        self.ledger.copy_from(&self.bookmark.ledger);
        self.paces.rewind();
        self.next_event = self.bookmark.next_event;
        self.buffers.parcels.clone_from_slice(&self.bookmark.parcels);
    }

    /// Puts what was shown on its way; whether any of it is new.
    pub fn send(&mut self, sent: impl Fn(usize) -> bool) -> bool {
        let mut new = false;
        for wire in (0..self.buffers.parcels.len()).filter(|wire| sent(*wire)) {
            if self.buffers.parcels[wire] != self.buffers.given[wire] {
                self.buffers.parcels[wire].clone_from(&self.buffers.given[wire]);
                new = true;
            }
        }
        new
    }

    /// What an input would be if outputs were exchanged now. Slopes go along where they are offered: the
    /// slope of an output that depends on an input at once depends on that input's slope.
    pub fn coupled(&self, layout: &Layout, input: usize) -> Segment {
        let value = layout.couplings.value(input, self.traces.newest());
        let mut slope = 0.0;
        if layout.slopes {
            for term in layout.couplings.terms(input) {
                slope += term.gain * self.traces.slopes(0)[term.output];
            }
        }
        if slope.is_finite() { Segment::line(value, slope) } else { Segment::constant(value) }
    }

    pub fn record<'a>(&'a self, layout: &'a Layout, window: Window) -> Record<'a> {
        Record {
            window,
            applied: &self.buffers.segments,
            left: &self.buffers.left,
            integrals: &self.buffers.integrals,
            kept: &self.kept,
            traces: &self.traces,
            couplings: &layout.couplings,
            bonds: &layout.bonds,
            powers: &self.ledger.powers,
            tolerances: &layout.tolerances,
            weights: &layout.weights,
            connected: &layout.connected,
            shape: layout.shape,
        }
    }
}

/// What a correction may look at. Apart from `Board`, because its memory is lent at the same time.
pub fn known<'a>(
    layout: &'a Layout,
    traces: &'a Traces,
    jacobian: &'a [f64],
    corrected: &'a [bool],
    own: &'a [Option<OwnStep>],
) -> Known<'a> {
    Known {
        traces,
        couplings: &layout.couplings,
        blocks: &layout.blocks,
        bonds: &layout.bonds,
        corrected,
        jacobian: Jacobian { values: jacobian, starts: &layout.jacobian_starts, owners: &layout.owners },
        own,
        shape: layout.shape,
    }
}
