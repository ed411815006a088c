//! The traits of co-simulation methods, one per axis, and the data that each of them may read.
//!
//! Every method is `&self`: its settings are its fields, its memory is a slice owned by the engine. A rollback of a
//! method is therefore one `copy_from_slice`, a checkpoint needs no code per method, and one macro step is a map on a
//! flat vector whose stability can be measured.

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

/// Extrapolates an input over a macro step from past samples of an output. A pure function.
///
/// ```
/// use cosimo_core::method::Extrapolation;
/// use cosimo_core::{Segment, Trace, Window};
///
/// /// Half of the newest value.
/// struct Half;
///
/// impl Extrapolation for Half {
///     fn degree(&self) -> u32 {
///         0
///     }
///     fn extrapolate(&self, known: Trace<'_>, _: Window) -> Segment {
///         Segment::constant(known.newest() / 2.0)
///     }
///     fn companion(&self) -> Box<dyn Extrapolation> {
///         Box::new(Half)
///     }
/// }
/// # assert_eq!(Half.history(), 1);
/// ```
pub trait Extrapolation: Send + Sync {
    /// The degree of polynomials that it extrapolates exactly; the order of errors follows from it.
    fn degree(&self) -> u32;

    /// How many samples it reads. Provided: as many as determine a polynomial of its degree.
    fn history(&self) -> usize {
        self.degree() as usize + 1
    }

    /// The input over the window, from the samples of one output.
    fn extrapolate(&self, known: Trace<'_>, window: Window) -> Segment;

    /// Whether it chooses between formulas by the samples, so that it is no linear function of them. Provided: it does not.
    fn switches(&self) -> bool {
        false
    }

    /// An extrapolation of a neighbouring degree, for estimates that compare the two: one below, or one above a
    /// zero-order hold.
    fn companion(&self) -> Box<dyn Extrapolation>;

    /// All given inputs at once, in ranges of neighbours. An input is a sum of outputs, its segment the sum of
    /// theirs. One virtual call serves many inputs; the only reason to override it is speed.
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

/// Zero-order hold of discrete values, whatever the method.
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

/// Chooses an extrapolation per input when the plan is made.
pub trait ExtrapolationChoice: Send + Sync {
    /// With `feedthrough`, the receiving simulator has an output that depends on this input at the same instant. Nothing
    /// else may matter: inputs with the same `feedthrough` share an extrapolation.
    fn choose(&self, feedthrough: bool) -> Box<dyn Extrapolation>;
}

/// The same extrapolation for every input.
impl<F: Extrapolation + Clone + 'static> ExtrapolationChoice for F {
    fn choose(&self, _feedthrough: bool) -> Box<dyn Extrapolation> {
        Box::new(self.clone())
    }
}

/// Adds a small segment to inputs, from its memory and what is known at the start of the window.
///
/// ```
/// use cosimo_core::method::{Correction, CorrectionContext, Sizes, StepRecord};
/// use cosimo_core::{Segment, Window};
///
/// /// Adds the mean error of the last window to each input.
/// struct MeanError;
///
/// impl Correction for MeanError {
///     fn memory(&self, shape: &Sizes) -> usize {
///         shape.inputs
///     }
///     fn offsets(
///         &self,
///         known: &CorrectionContext<'_>,
///         memory: &[f64],
///         _: Window,
///         add: &mut [Segment],
///         _: &mut [bool],
///         _: &mut [f64],
///     ) {
///         for input in (0..add.len()).filter(|input| known.corrected[*input]) {
///             add[input] = Segment::constant(memory[input]);
///         }
///     }
///     fn learn(&self, _: &CorrectionContext<'_>, record: &StepRecord<'_>, memory: &mut [f64], _: &mut [f64]) {
///         for (input, error) in memory.iter_mut().enumerate() {
///             let right = record.couplings.value(input, record.outputs);
///             *error = right - record.applied[input].mean(record.window.size);
///         }
///     }
/// }
/// # assert_eq!(MeanError.memory(&Sizes { inputs: 2, ..Sizes::default() }), 2);
/// ```
pub trait Correction: Send + Sync {
    /// How many numbers it remembers from one window to the next.
    fn memory(&self, shape: &Sizes) -> usize;

    /// Fills the memory before the first window.
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

    /// It identifies simulators while it runs: a step depends on all steps before, and is no linear map even where all
    /// simulators are linear.
    fn learns(&self) -> bool {
        false
    }

    /// It identifies the derivatives of outputs by inputs that it reads; the name of that source in files.
    fn finds_jacobian(&self) -> Option<&'static str> {
        None
    }

    /// The state of its identification, for reports.
    fn learned(&self, _shape: &Sizes, _memory: &[f64]) -> Option<IdentificationStatus> {
        None
    }

    /// Size of its scratch memory: neither rolled back nor saved; no result may depend on its old contents.
    fn scratch(&self, _shape: &Sizes) -> usize {
        0
    }

    /// Writes only the inputs marked in `known.corrected`. Where it sets `whole`, the segment in `add` is the input
    /// itself and replaces its extrapolation. The window is the time for which inputs will be used: for simulators with
    /// a longer step of their own, that step when it begins.
    fn offsets(
        &self,
        known: &CorrectionContext<'_>,
        memory: &[f64],
        window: Window,
        add: &mut [Segment],
        whole: &mut [bool],
        scratch: &mut [f64],
    );

    /// Updates the memory after a window was accepted.
    fn learn(
        &self,
        known: &CorrectionContext<'_>,
        record: &StepRecord<'_>,
        memory: &mut [f64],
        scratch: &mut [f64],
    );
}

/// Linear models that a correction identifies.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct IdentificationStatus {
    /// How many simulators can have a model.
    pub wanted: u64,
    /// How many simulators have a model in use.
    pub now: u64,
    /// When the first model came into use, in seconds.
    pub first: Option<f64>,
    /// Since when models have been in use without a break, in seconds.
    pub since: Option<f64>,
    /// In how many windows models were in use.
    pub windows: u64,
    /// How often models changed.
    pub renewed: u64,
    /// How many windows ago a model changed last.
    pub age: u64,
    /// How often a model had to be dropped.
    pub closed: u64,
    /// How many simulators are predicted well, but by a model without a continuous-time form.
    pub odd: u64,
    /// How many outputs of a window were predicted by a model that had not seen that window.
    pub predictions: u64,
    /// The largest error of these predictions, relative to the usual change of the output in a window; 0 where all are
    /// within rounding. Without predictions it means nothing.
    pub prediction_error: f64,
}

/// What a correction asks of linear models.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModelRequest {
    /// The Jacobian source, by name.
    pub source: &'static str,
    /// The matrices are updated after so many windows; never where `None`. Operating points are updated in every window.
    pub every: Option<u64>,
}

/// Where derivatives of outputs by inputs come from, and the matrices of linear models.
///
/// ```
/// use cosimo_core::StateSpaceAccess;
/// use cosimo_core::interface::Derivatives;
/// use cosimo_core::method::JacobianSource;
///
/// /// What the model itself declares.
/// struct Declared;
///
/// impl JacobianSource for Declared {
///     fn sees(&self, access: &StateSpaceAccess) -> bool {
///         access.derivatives == Derivatives::Declared
///     }
/// }
/// # let _: Box<dyn JacobianSource> = Box::new(Declared);
/// ```
pub trait JacobianSource: Send + Sync {
    /// Fills `into`, one row per output, at the simulator's current state. `held` are the inputs last set; afterwards the
    /// simulator must be in the same state as before. Provided: the derivatives of the simulator itself.
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

    /// Whether it can give the matrices of simulators with this access.
    fn sees(&self, access: &StateSpaceAccess) -> bool;

    /// Fills the matrices at the simulator's current states `x` and the inputs `u`. Called only where it `sees`.
    /// Provided: the matrices of the simulator itself.
    fn linearise(
        &self,
        _access: &StateSpaceAccess,
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
    /// Inputs that are held, one moved.
    pub segments: Vec<Segment>,
    /// Outputs with the input moved up.
    pub above: Vec<f64>,
    /// Outputs with the input moved down.
    pub below: Vec<f64>,
    /// Slopes of outputs, where they are offered.
    pub slopes: Vec<f64>,
    /// States and inputs, moved.
    pub point: Vec<f64>,
    /// Two times f and g.
    pub motions: Vec<f64>,
}

/// Divides simulators into stages that are stepped in order, when the plan is made.
///
/// ```
/// use cosimo_core::method::{CouplingGraph, Partition};
///
/// /// Gauss-Seidel in the order of the file.
/// struct InOrder;
///
/// impl Partition for InOrder {
///     fn stages(&self, graph: &CouplingGraph) -> Result<Vec<Vec<usize>>, String> {
///         Ok((0..graph.simulators.len()).map(|simulator| vec![simulator]).collect())
///     }
/// }
/// let graph = CouplingGraph { simulators: vec!["a".into(), "b".into()], edges: vec![(0, 1)] };
/// assert_eq!(InOrder.stages(&graph), Ok(vec![vec![0], vec![1]]));
/// ```
pub trait Partition: Send + Sync {
    /// Members of a stage use the values of the previous communication point, later stages the new ones.
    fn stages(&self, graph: &CouplingGraph) -> Result<Vec<Vec<usize>>, String>;
}

/// Which simulators drive which.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CouplingGraph {
    /// Names, for messages.
    pub simulators: Vec<String>,
    /// (from, to), sorted, without repetition.
    pub edges: Vec<(usize, usize)>,
}

/// How often the stages are stepped over one window.
///
/// ```
/// use cosimo_core::method::{Iteration, Passes};
/// use cosimo_core::{StepError, Window};
///
/// /// Non-iterative.
/// struct Once;
///
/// impl Iteration for Once {
///     fn run(&self, passes: &mut dyn Passes, window: Window, _: &mut [f64]) -> Result<(), StepError> {
///         passes.sweep(window)
///     }
/// }
/// # let _: Box<dyn Iteration> = Box::new(Once);
/// ```
pub trait Iteration: Send + Sync {
    /// Size of its scratch memory: neither rolled back nor saved; no result may depend on its old contents.
    fn scratch(&self, _shape: &Sizes) -> usize {
        0
    }

    /// Sweeps until it converges, or fails.
    fn run(&self, passes: &mut dyn Passes, window: Window, scratch: &mut [f64]) -> Result<(), StepError>;
}

/// What an iteration can do with a window.
pub trait Passes {
    /// Steps every stage once over the window.
    fn sweep(&mut self, window: Window) -> Result<(), StepError>;

    /// Saves the window's start for repeated sweeps.
    fn mark(&mut self, window: Window) -> Result<(), StepError>;

    /// Repeats the sweep from the saved start. `ends` are the assumed outputs at the window's end until their simulators
    /// have stepped: values, then slopes where simulators offer them.
    fn again(&mut self, window: Window, ends: &[f64]) -> Result<(), StepError>;

    /// The outputs at the window's end after the last sweep, in the form of [`Passes::again`].
    fn ends(&self, into: &mut [f64]);

    /// Per output: it drives an input.
    fn connected(&self) -> &[bool];

    /// Numbers of inputs, outputs and so on.
    fn shape(&self) -> Sizes;

    /// The error of an iteration that does not converge: the changes of all sweeps, and the output that changes most.
    fn unsettled(&self, window: Window, changes: &[f64], worst: usize) -> StepError;
}

/// Estimates the error of a macro step from assumed inputs and the outputs that followed; 1 is the tolerance.
///
/// ```
/// use cosimo_core::method::{Estimate, Sizes, StepRecord};
///
/// /// The largest change of an output in one step.
/// struct Change;
///
/// impl Estimate for Change {
///     fn order(&self, _: &Sizes) -> u32 {
///         1
///     }
///     fn measure(&self, record: &StepRecord<'_>) -> f64 {
///         let old = record.traces.level(1);
///         record.outputs.iter().zip(old).map(|(new, old)| (new - old).abs()).fold(0.0, f64::max)
///     }
/// }
/// # assert_eq!(Change.order(&Sizes::default()), 1);
/// ```
pub trait Estimate: Send + Sync {
    /// It estimates nothing, so that no step controller can use it.
    fn idle(&self) -> bool {
        false
    }

    /// The power of the step size with which the indicator falls.
    fn order(&self, shape: &Sizes) -> u32;

    /// Takes the step, once for most estimates, and returns its error indicator.
    fn attempt(&self, trial: &mut dyn Trial, window: Window) -> Result<f64, StepError> {
        trial.advance(window)?;
        Ok(self.measure(&trial.record()))
    }

    /// The error indicator of a step that was taken; above 1 is too large.
    fn measure(&self, record: &StepRecord<'_>) -> f64;

    /// The contribution of one bond, for the ledger.
    fn bond_measure(&self, _record: &StepRecord<'_>, _bond: usize) -> f64 {
        f64::NAN
    }
}

/// What an estimate can do with a window.
pub trait Trial {
    /// Takes the step, with all stages and iterations.
    fn advance(&mut self, window: Window) -> Result<(), StepError>;

    /// As [`Trial::advance`], every input with the companion of its extrapolation.
    fn advance_companion(&mut self, window: Window) -> Result<(), StepError>;

    /// Copies the newest outputs to [`StepRecord::stashed`].
    fn stash_outputs(&mut self);

    /// Rolls back to the start of the attempt, simulators and engine alike. For estimates that need rollback.
    fn rewind(&mut self) -> Result<(), StepError>;

    /// What the last step left behind.
    fn record(&self) -> StepRecord<'_>;
}

/// Turns the error indicator into a factor for the step size.
///
/// ```
/// use cosimo_core::math;
/// use cosimo_core::method::StepController;
///
/// /// The step size for which the error would have been 1.
/// struct Integral;
///
/// impl StepController for Integral {
///     fn factor(&self, _: &[f64], error: f64, order: u32) -> f64 {
///         math::powf(error, -1.0 / f64::from(order))
///     }
/// }
/// assert_eq!(Integral.factor(&[], 4.0, 2), 0.5);
/// ```
pub trait StepController: Send + Sync {
    /// How many numbers it remembers from one step to the next.
    fn memory(&self) -> usize {
        0
    }
    /// Fills the memory before the first step.
    fn start(&self, _memory: &mut [f64]) {}
    /// May be infinite; step limits clip it.
    fn factor(&self, memory: &[f64], error: f64, order: u32) -> f64;
    /// Updates the memory after a step was accepted.
    fn learn(&self, _error: f64, _memory: &mut [f64]) {}
    /// Whether the step size can change at all.
    fn adaptive(&self) -> bool {
        true
    }
}

/// Sizes of the system, fixed by the plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sizes {
    /// Inputs of all simulators.
    pub inputs: usize,
    /// Outputs of all simulators.
    pub outputs: usize,
    /// Power bonds.
    pub bonds: usize,
    /// The lowest extrapolation degree of all connected inputs.
    pub degree: u32,
    /// How many simulators a change can pass through at one instant.
    pub feedthrough_depth: usize,
    /// There are algebraic loops, which `feedthrough_depth` cuts.
    pub looped: bool,
    /// Some simulator offers slopes.
    pub slopes: bool,
    /// States of all simulators with linear models.
    pub states: usize,
    /// How many numbers the matrices of all linear models have.
    pub matrices: usize,
    /// Simulators.
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

/// What is known at the window's start: all that a correction may read.
#[derive(Debug, Clone, Copy)]
pub struct CorrectionContext<'a> {
    /// Samples of all outputs.
    pub traces: &'a Traces,
    /// What drives each input.
    pub couplings: &'a Couplings,
    /// Inputs and outputs per simulator.
    pub blocks: &'a [PortRanges],
    /// Power bonds.
    pub bonds: &'a [Bond],
    /// Per input: this correction applies to it.
    pub corrected: &'a [bool],
    /// Of the source that [`Correction::jacobian`] names.
    pub jacobian: Jacobian<'a>,
    /// Those that [`Correction::models`] asks for.
    pub models: LinearModels<'a>,
    /// Per input, the step of its own that its simulator is in; empty in a system without multi-rate simulators.
    pub own: &'a [Option<OwnStep>],
    /// Numbers of inputs, outputs and so on.
    pub shape: Sizes,
}

/// A multi-rate step, longer than the window. Its inputs are fixed from its start to its end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OwnStep {
    /// In seconds.
    pub size: f64,
    /// It begins with this window.
    pub begins: bool,
}

/// Derivatives of outputs by inputs, a dense block per simulator, as of the window's start.
#[derive(Debug, Clone, Copy)]
pub struct Jacobian<'a> {
    /// All blocks, each row by row.
    pub values: &'a [f64],
    /// Where the block of each simulator begins.
    pub starts: &'a [usize],
    /// The simulator of each output.
    pub owners: &'a [usize],
}

impl CorrectionContext<'_> {
    /// The step that the simulator of an input is in, where it is longer than the window.
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
    /// Power that the coupling created (ECCO Eq. (7)): the sum of the powers that enter the sides.
    pub residual: f64,
}

/// Steady-state identification of the end of a line, from its stamps. In steady state a line may be longer.
///
/// ```
/// use cosimo_core::line::Stamp;
/// use cosimo_core::method::Steadiness;
///
/// /// The effort hardly changes.
/// struct Flat;
///
/// impl Steadiness for Flat {
///     fn window(&self) -> f64 {
///         0.0
///     }
///     fn steady(&self, _: &[Stamp], new: &Stamp, _: &mut [f64]) -> bool {
///         new.effort_slope.abs() < 1e-3
///     }
/// }
/// assert!(Flat.steady(&[], &Stamp::default(), &mut []));
/// ```
pub trait Steadiness: Send + Sync {
    /// How many numbers it remembers from one sample to the next.
    fn memory(&self) -> usize {
        0
    }

    /// Fills the memory before the first sample.
    fn start(&self, _first: &Stamp, _memory: &mut [f64]) {}

    /// How many seconds of past stamps it needs.
    fn window(&self) -> f64;

    /// Whether the end is in steady state with one more sample. If the sample is rolled back, so is the memory.
    fn steady(&self, past: &[Stamp], new: &Stamp, memory: &mut [f64]) -> bool;
}

/// How to integrate an output over a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quadrature {
    /// Value at the end times size, as in the papers.
    End,
    /// Mean of both ends times size.
    Trapezoid,
    /// The simulator's own integral, else the slope-corrected trapezoid, else the trapezoid.
    Best,
}

/// Inputs, outputs and powers of a completed window.
#[derive(Debug, Clone, Copy)]
pub struct StepRecord<'a> {
    /// The macro step.
    pub window: Window,
    /// Per input: the segment that was used, corrections included.
    pub applied: &'a [Segment],
    /// Outputs at the end, with the applied inputs.
    pub outputs: &'a [f64],
    /// Integrals that simulators offered; NaN elsewhere.
    pub integrals: &'a [f64],
    /// Outputs that the estimate saved by [`Trial::stash_outputs`].
    pub stashed: &'a [f64],
    /// The newest samples are those of the window's end, after exchange.
    pub traces: &'a Traces,
    /// What drives each input.
    pub couplings: &'a Couplings,
    /// Power bonds.
    pub bonds: &'a [Bond],
    /// Per bond.
    pub powers: &'a [BondPower],
    /// Per output: the tolerance of its simulator; `None` leaves it to the estimate.
    pub tolerances: &'a [Option<f64>],
    /// Per output: the weight of its simulator; `None` leaves it to the estimate.
    pub weights: &'a [Option<f64>],
    /// Per output: it drives an input.
    pub connected: &'a [bool],
    /// Numbers of inputs, outputs and so on.
    pub shape: Sizes,
}

impl StepRecord<'_> {
    /// The integral of an input over the window from the computed outputs: one row of L times the integral of y.
    pub fn true_integral(&self, input: usize, rule: Quadrature) -> f64 {
        let size = self.window.size;
        let mut sum = self.couplings.constant(input) * size;
        for term in self.couplings.terms(input) {
            sum += term.gain * self.output_integral(term.output, rule);
        }
        sum
    }

    /// The integral of the input that was applied. Under `End` it uses the same rule as `true_integral`, so that an exact
    /// extrapolation gives no difference.
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
