//! The verbs: what a method may be, what it sees, and what it may not see.
//!
//! Every method is `&self`: its settings are its fields, its memory is a slice that the engine lends it.
//! Rewinding a method is therefore one `copy_from_slice`, a checkpoint needs no code per method, and one
//! macro step is a map on a flat vector whose stability can be measured.

use std::ops::Range;

use crate::error::{SimulatorError, StepError};
use crate::interface::StateSpaceAccess;
use crate::line::Stamp;
use crate::linear_model::{LinearModels, StateSpaceMatrices};
use crate::link::{Bond, Couplings, PortRanges, Term};
use crate::segment::Segment;
use crate::simulator::{Inputs, Simulator, StateSpace};
use crate::time::{Time, Window};
use crate::trace::{Trace, Traces};

/// From what is known to what is assumed. A pure function.
pub trait Extrapolation: Send + Sync {
    /// The degree of polynomial it gets right; the order of errors follows from it.
    fn degree(&self) -> u32;

    /// How many samples it looks at: as many as a polynomial of its degree goes through, unless it says otherwise.
    fn history(&self) -> usize {
        self.degree() as usize + 1
    }

    fn extrapolate(&self, known: Trace<'_>, window: Window) -> Segment;

    /// A fit of a neighbouring degree, for estimates that compare the two: one below, or one above hold.
    fn companion(&self) -> Box<dyn Extrapolation>;

    /// All given inputs at once, in runs of neighbours. An input is a sum of outputs, its segment the sum of
    /// theirs. One virtual call serves many inputs; there is no reason to override it but speed.
    fn extrapolate_all(
        &self,
        traces: &Traces,
        couplings: &Couplings,
        inputs: &[Range<usize>],
        window: Window,
        into: &mut [Segment],
    ) {
        for run in inputs {
            let value = |term: &Term| self.extrapolate(traces.trace(term.output), window) * term.gain;
            couplings.set_rows(run.clone(), into, Segment::constant, value, |sum| sum);
        }
    }
}

/// What is assumed of values that have none between them, whatever the method: the newest one.
#[derive(Debug, Clone, Copy)]
pub struct DiscreteHold;

impl Extrapolation for DiscreteHold {
    fn degree(&self) -> u32 {
        0
    }

    fn extrapolate(&self, known: Trace<'_>, _window: Window) -> Segment {
        Segment::constant(known.newest())
    }

    fn companion(&self) -> Box<dyn Extrapolation> {
        Box::new(DiscreteHold)
    }
}

/// Chooses a fit per input when the plan is made.
pub trait ExtrapolationChoice: Send + Sync {
    /// With `feedthrough`, the receiving simulator has an output that depends on this input at the same instant. Nothing
    /// else may decide: inputs that are alike in this share a fit.
    fn choose(&self, feedthrough: bool) -> Box<dyn Extrapolation>;
}

/// A fit that is the same for every input.
impl<F: Extrapolation + Clone + 'static> ExtrapolationChoice for F {
    fn choose(&self, _feedthrough: bool) -> Box<dyn Extrapolation> {
        Box::new(self.clone())
    }
}

/// Adds a small segment to inputs, from method memory and what was known when the window began.
pub trait Correction: Send + Sync {
    fn memory(&self, shape: &Sizes) -> usize;

    fn start(&self, _shape: &Sizes, memory: &mut [f64]) {
        memory.fill(0.0);
    }

    /// It does nothing at all and can be left out of the plan.
    fn idle(&self) -> bool {
        false
    }

    /// The Jacobian source it reads, by name.
    fn jacobian(&self) -> Option<&'static str> {
        None
    }

    /// The linear models it reads.
    fn models(&self) -> Option<ModelRequest> {
        None
    }

    /// It finds out while it runs how simulators answer: what a step does depends on all steps before, and is no linear
    /// map even where all simulators are.
    fn learns(&self) -> bool {
        false
    }

    /// It finds the derivatives of outputs by inputs that it reads; what files call that source.
    fn finds_jacobian(&self) -> Option<&'static str> {
        None
    }

    /// What it has found out by now, for people.
    fn learned(&self, _shape: &Sizes, _memory: &[f64]) -> Option<IdentificationStatus> {
        None
    }

    /// How much scratch of its own it is lent: kept, never rewound or saved; no result may depend on what was in it.
    fn scratch(&self, _shape: &Sizes) -> usize {
        0
    }

    /// Writes only the inputs marked in `known.corrected`. Where it sets `whole`, what it wrote is the input, and no
    /// fit is added: an offset on top of a fit that it cannot see would make no sense for it. The window is how long
    /// inputs will last: for simulators with a longer step of their own that step, when one begins.
    fn offsets(
        &self,
        known: &CorrectionContext<'_>,
        memory: &[f64],
        window: Window,
        add: &mut [Segment],
        whole: &mut [bool],
        scratch: &mut [f64],
    );

    fn learn(
        &self,
        known: &CorrectionContext<'_>,
        record: &StepRecord<'_>,
        memory: &mut [f64],
        scratch: &mut [f64],
    );
}

/// Linear models that a correction finds out by itself.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct IdentificationStatus {
    /// How many simulators could have one, and how many have one in use at present.
    pub wanted: u64,
    pub now: u64,
    /// When the first came into use, and since when they are without a break, in seconds.
    pub first: Option<f64>,
    pub since: Option<f64>,
    /// For how many windows there were any.
    pub windows: u64,
    /// How often they changed, and how many windows ago they did so last.
    pub renewed: u64,
    pub age: u64,
    /// How often one had to be given up.
    pub closed: u64,
    /// How many simulators are predicted well, but by nothing that would move continuously.
    pub odd: u64,
    /// The largest part by which an answer of the models may be wrong.
    pub quality: f64,
}

/// What a correction asks of linear models.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModelRequest {
    /// The Jacobian source, by name.
    pub source: &'static str,
    /// The matrices are renewed after so many windows; never where `None`. All else is renewed in every window.
    pub every: Option<u64>,
}

/// Where derivatives of outputs by inputs come from, and those of whole linear models.
pub trait JacobianSource: Send + Sync {
    /// Fills `into`, one row per output, at the simulator's present state. `held` are the inputs it last
    /// saw; afterwards the simulator must be as it was. Provided: what the simulator itself gives.
    fn refresh(
        &self,
        simulator: &mut dyn Simulator,
        _at: Time,
        _held: &Inputs<'_>,
        _work: &mut JacobianWork,
        into: &mut [f64],
    ) -> Result<(), SimulatorError> {
        if simulator.jacobian().is_none() && simulator.interface().feedthrough.is_empty() {
            into.fill(0.0); // no output depends on an input at the same instant
            return Ok(());
        }
        simulator.need_jacobian()?.fill(into)
    }

    /// Whether it reads outputs after new inputs without a step between.
    fn asks_between_steps(&self) -> bool {
        false
    }

    /// Whether it can find the matrices of simulators that show so much of themselves.
    fn sees(&self, insight: &StateSpaceAccess) -> bool;

    /// Fills the matrices at the simulator's present states `x` and the inputs `u`. Called only where it `sees`.
    /// Provided: what the simulator itself gives.
    fn linearise(
        &self,
        _insight: &StateSpaceAccess,
        dynamics: &mut dyn StateSpace,
        _x: &[f64],
        u: &[f64],
        _work: &mut JacobianWork,
        into: &mut StateSpaceMatrices<'_>,
    ) -> Result<(), SimulatorError> {
        dynamics.matrices(u, into)
    }
}

/// Buffers of a Jacobian source, sized by the plan.
#[derive(Debug, Clone, Default)]
pub struct JacobianWork {
    pub segments: Vec<Segment>,
    pub above: Vec<f64>,
    pub below: Vec<f64>,
    pub slopes: Vec<f64>,
    /// States and inputs, moved.
    pub point: Vec<f64>,
    /// Two times f and g.
    pub motions: Vec<f64>,
}

/// Plan time only: who steps with whom, in which order.
pub trait Partition: Send + Sync {
    /// Inside a stage nobody sees new values, between stages everybody does.
    fn stages(&self, graph: &CouplingGraph) -> Result<Vec<Vec<usize>>, String>;
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CouplingGraph {
    pub simulators: Vec<String>,
    /// (from, to), sorted, without repetition.
    pub edges: Vec<(usize, usize)>,
}

/// How often the stages are swept.
pub trait Iteration: Send + Sync {
    /// How much scratch it is lent: kept, never rewound or saved; no result may depend on what was in it.
    fn scratch(&self, _shape: &Sizes) -> usize {
        0
    }

    fn run(&self, passes: &mut dyn Passes, window: Window, scratch: &mut [f64]) -> Result<(), StepError>;
}

pub trait Passes {
    /// Steps every stage once over the window.
    fn sweep(&mut self, window: Window) -> Result<(), StepError>;

    /// Marks the window's start as where sweeps begin again.
    fn mark(&mut self, window: Window) -> Result<(), StepError>;

    /// Sweeps once more from the mark. The outputs at the window's end are taken to be these until they are
    /// known better: values, then slopes where simulators offer them.
    fn again(&mut self, window: Window, ends: &[f64]) -> Result<(), StepError>;

    /// The outputs at the window's end as the last sweep left them, in the form of [`Passes::again`].
    fn ends(&self, into: &mut [f64]);

    /// Per output: it drives an input.
    fn connected(&self) -> &[bool];

    fn shape(&self) -> Sizes;

    /// The failure of an iteration that does not settle: the changes of all sweeps, and the output that still
    /// changes most.
    fn unsettled(&self, window: Window, changes: &[f64], worst: usize) -> StepError;
}

/// Compares what was assumed with what became known; 1 is just good enough.
pub trait Estimate: Send + Sync {
    /// It measures nothing, and no law can go by it.
    fn idle(&self) -> bool {
        false
    }

    /// The power of the step size that the measure falls with.
    fn order(&self, shape: &Sizes) -> u32;

    /// Runs the window, once for most estimates.
    fn attempt(&self, trial: &mut dyn Trial, window: Window) -> Result<f64, StepError> {
        trial.advance(window)?;
        Ok(self.measure(&trial.record()))
    }

    fn measure(&self, record: &StepRecord<'_>) -> f64;

    /// The part of one bond in the measure, for the ledger.
    fn bond_measure(&self, _record: &StepRecord<'_>, _bond: usize) -> f64 {
        f64::NAN
    }
}

pub trait Trial {
    fn advance(&mut self, window: Window) -> Result<(), StepError>;

    /// As [`Trial::advance`], every input with the companion of its fit.
    fn advance_companion(&mut self, window: Window) -> Result<(), StepError>;

    /// Puts the newest outputs aside, as `kept` of the record.
    fn stash_outputs(&mut self);

    /// Goes back to the start of the attempt, simulators and books alike. For estimates that need rollback.
    fn rewind(&mut self) -> Result<(), StepError>;

    fn record(&self) -> StepRecord<'_>;
}

/// Turns the error into a factor for the step size.
pub trait StepController: Send + Sync {
    fn memory(&self) -> usize {
        0
    }
    fn start(&self, _memory: &mut [f64]) {}
    /// May be infinite; the control clips it.
    fn factor(&self, memory: &[f64], error: f64, order: u32) -> f64;
    /// Runs after acceptance only.
    fn learn(&self, _error: f64, _memory: &mut [f64]) {}
    /// Whether the step size can change at all.
    fn adaptive(&self) -> bool {
        true
    }
}

/// The size of things, fixed by the plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sizes {
    pub inputs: usize,
    pub outputs: usize,
    pub bonds: usize,
    /// The least degree over all inputs that outputs drive.
    pub degree: u32,
    /// How many simulators a change can pass through at one instant.
    pub feedthrough_depth: usize,
    /// There are algebraic loops, which that number cuts.
    pub looped: bool,
    /// Some simulator offers slopes.
    pub slopes: bool,
    /// States of all simulators with linear models.
    pub states: usize,
    /// How many numbers the matrices of all linear models have.
    pub matrices: usize,
    pub simulators: usize,
    /// Over all simulators: the sums of inputs squared, of inputs times outputs, and of outputs squared.
    pub squares: [usize; 3],
}

impl Sizes {
    /// How many numbers describe the outputs at one instant: values, and slopes where they are offered.
    pub fn ends(&self) -> usize {
        self.outputs * if self.slopes { 2 } else { 1 }
    }
}

/// Facts up to the window's start: all that a correction may look at.
#[derive(Debug, Clone, Copy)]
pub struct CorrectionContext<'a> {
    pub traces: &'a Traces,
    pub couplings: &'a Couplings,
    pub blocks: &'a [PortRanges],
    pub bonds: &'a [Bond],
    /// Per input: this correction is in charge of it.
    pub corrected: &'a [bool],
    pub jacobian: Jacobian<'a>,
    pub models: LinearModels<'a>,
    /// Per input, where its simulator is in a step of its own; empty where nobody ever is.
    pub own: &'a [Option<OwnStep>],
    pub shape: Sizes,
}

/// A step that is longer than the window. Its inputs were made when it began and go on as they are until it ends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OwnStep {
    pub size: f64,
    /// It begins with this window.
    pub begins: bool,
}

/// Derivatives of outputs by inputs, a dense block per simulator, as of the window's start.
#[derive(Debug, Clone, Copy)]
pub struct Jacobian<'a> {
    pub values: &'a [f64],
    /// Where the block of each simulator begins.
    pub starts: &'a [usize],
    /// The simulator of each output.
    pub owners: &'a [usize],
}

impl CorrectionContext<'_> {
    /// The step that the simulator of an input is in, where that is not the window.
    pub fn own(&self, input: usize) -> Option<OwnStep> {
        self.own.get(input).copied().flatten()
    }

    /// d output / d input of the simulator that owns the output, with the first of those inputs.
    pub fn jacobian_row(&self, output: usize) -> (usize, &[f64]) {
        let owner = self.jacobian.owners[output];
        let block = &self.blocks[owner];
        let width = block.inputs.len();
        let at = self.jacobian.starts[owner] + (output - block.outputs.start) * width;
        (block.inputs.start, &self.jacobian.values[at..at + width])
    }
}

/// What one bond carried in one window.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct BondPower {
    /// Power from the first side to the others, by the outputs alone (ECCO Eq. (6)).
    pub transmitted: f64,
    /// Power that the coupling created (ECCO Eq. (7)): the sum of what the sides believe to receive.
    pub residual: f64,
}

/// Whether the end of a line stands still, judged from what it published. A line may then be longer.
pub trait Steadiness: Send + Sync {
    /// Numbers that it remembers from one sample to the next.
    fn memory(&self) -> usize {
        0
    }

    fn start(&self, _first: &Stamp, _memory: &mut [f64]) {}

    /// How many seconds it looks back.
    fn window(&self) -> f64;

    /// Whether it stands still with one more sample. Whoever takes the sample back takes the memory back.
    fn steady(&self, past: &[Stamp], new: &Stamp, memory: &mut [f64]) -> bool;
}

/// How to integrate an output over a window from what is known of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quadrature {
    /// Value at the end times size, as in the papers.
    End,
    Trapezoid,
    /// The simulator's own integral, else the slope-corrected trapezoid, else the trapezoid.
    Best,
}

/// What one window left behind.
#[derive(Debug, Clone, Copy)]
pub struct StepRecord<'a> {
    pub window: Window,
    /// Per input, corrections included.
    pub applied: &'a [Segment],
    /// Outputs as the step left them, with the applied inputs.
    pub outputs: &'a [f64],
    /// Integrals that simulators offered; NaN elsewhere.
    pub integrals: &'a [f64],
    /// Outputs that the estimate put aside.
    pub stashed: &'a [f64],
    /// The window's samples are the newest, after exchange.
    pub traces: &'a Traces,
    pub couplings: &'a Couplings,
    pub bonds: &'a [Bond],
    pub powers: &'a [BondPower],
    /// Per output: the tolerance and weight its simulator was given; `None` leaves them to the estimate.
    pub tolerances: &'a [Option<f64>],
    pub weights: &'a [Option<f64>],
    /// Per output: it drives an input.
    pub connected: &'a [bool],
    pub shape: Sizes,
}

impl StepRecord<'_> {
    /// What the integral of an input over the window turned out to be: one row of L times the integral of y.
    pub fn true_integral(&self, input: usize, rule: Quadrature) -> f64 {
        let size = self.window.size;
        let mut sum = self.couplings.constant(input) * size;
        for term in self.couplings.terms(input) {
            sum += term.gain * self.output_integral(term.output, rule);
        }
        sum
    }

    /// The integral of the input that was applied. Under `End` it is taken by the same rule as the truth,
    /// so that a right guess owes nothing.
    pub fn applied_integral(&self, input: usize, rule: Quadrature) -> f64 {
        let size = self.window.size;
        match rule {
            Quadrature::End => self.applied[input].at(size) * size,
            Quadrature::Trapezoid | Quadrature::Best => self.applied[input].integral(size),
        }
    }

    fn output_integral(&self, output: usize, rule: Quadrature) -> f64 {
        let size = self.window.size;
        let trace = self.traces.trace(output);
        let new = trace.back(0);
        if rule == Quadrature::End || trace.len() < 2 {
            return new.y * size;
        }
        if rule == Quadrature::Best && self.integrals[output].is_finite() {
            return self.integrals[output];
        }
        let old = trace.back(1);
        let trapezoid = (old.y + new.y) / 2.0 * size;
        if rule == Quadrature::Best && old.slope.is_finite() && new.slope.is_finite() {
            // Euler-Maclaurin, exact for cubics: a plain trapezoid would cap the order of quadratic inputs.
            trapezoid + (old.slope - new.slope) * size * size / 12.0
        } else {
            trapezoid
        }
    }
}
