//! Components, connections, bonds and the experiment. Pure data: nothing is opened or checked here.

use std::path::PathBuf;

use cosimo_core::line::StampInterpolation;
use cosimo_core::{Unit, Value};

use crate::method_config::{Choice, MethodConfig};
use crate::problem::{Problem, Span};
use crate::scenario::Scenario;

/// The description of a co-simulation, as read from a system file.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct System {
    /// Relative paths in the system start from here.
    pub folder: PathBuf,
    /// Start, stop and recording.
    pub experiment: Experiment,
    /// FMUs and other simulators, in the order of the file.
    pub components: Vec<Component>,
    /// Signals from outputs to inputs.
    pub connections: Vec<ConnectionDecl>,
    /// Pairs of connections whose product is a power.
    pub bonds: Vec<BondDecl>,
    /// Bonds of more than two sides.
    pub junctions: Vec<JunctionDecl>,
    /// Groups of components integrated as one system of equations.
    pub monolithic: Vec<MonolithicDecl>,
    /// The co-simulation methods.
    pub methods: MethodConfig,
    /// Islands with methods of their own.
    pub islands: Vec<IslandDecl>,
    /// Which rows and columns are recorded.
    pub results: Results,
    /// The monolithic reference to compare with.
    pub reference: Option<ReferenceDecl>,
    /// Timed and conditional actions during the run; from a separate file.
    pub scenario: Option<Scenario>,
}

impl System {
    /// The methods of the system, then those of the islands.
    pub fn method_configs_mut(&mut self) -> impl Iterator<Item = &mut MethodConfig> {
        let own = self.islands.iter_mut().map(|island| &mut island.methods);
        std::iter::once(&mut self.methods).chain(own)
    }
}

/// The `[experiment]` section.
#[derive(Debug, Clone, PartialEq)]
pub struct Experiment {
    /// In seconds.
    pub start: f64,
    /// In seconds.
    pub stop: f64,
    /// How the run ends.
    pub end: EndRule,
    /// Which values a row holds.
    pub record: RecordPoint,
    /// The wanted error of signals, relative to their scale; `None` takes [`Experiment::DEFAULT_ACCURACY`]. It judges results
    /// and changes no number of them.
    pub accuracy: Option<f64>,
    /// A table of outputs before the start, for delays and extrapolations that need past values.
    pub history: Option<(PathBuf, Span)>,
    /// The section.
    pub span: Span,
}

impl Default for Experiment {
    fn default() -> Experiment {
        Experiment {
            start: 0.0,
            stop: 1.0,
            end: EndRule::Exact,
            record: RecordPoint::AfterExchange,
            accuracy: None,
            history: None,
            span: 0..0,
        }
    }
}

impl Experiment {
    /// The wanted error of signals where the file has none: 1 % of their scale.
    pub const DEFAULT_ACCURACY: f64 = 0.01;

    /// The wanted error of signals, relative to their scale.
    pub fn wanted_accuracy(&self) -> f64 {
        self.accuracy.unwrap_or(Experiment::DEFAULT_ACCURACY)
    }
}

/// How the run ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EndRule {
    /// The last step is shortened to end at the stop time.
    #[default]
    Exact,
    /// The run goes to the first communication point at or past the stop time.
    After,
}

/// Which values a row at a communication point holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RecordPoint {
    /// Inputs as applied up to this point, outputs at the end of the step.
    BeforeExchange,
    /// Outputs as exchanged, and the inputs that follow from them.
    #[default]
    AfterExchange,
}

/// A `[component.name]` section: one FMU or other simulator.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Component {
    /// Unique in the system.
    pub name: String,
    /// A file or a `kind:name`, resolved by the registry.
    pub source: String,
    /// The place of `source`.
    pub source_span: Span,
    /// Name, value and place of each given parameter.
    pub parameters: Vec<(String, Value, Span)>,
    /// Start values of unconnected inputs, or initial guesses in an algebraic loop.
    pub starts: Vec<(String, f64, Span)>,
    /// Physical units of ports that replace those of the simulator.
    pub units: Vec<(String, Unit, Span)>,
    /// For estimates weighted by component.
    pub tolerance: Option<f64>,
    /// For estimates weighted by component.
    pub weight: Option<f64>,
    /// Own step size in seconds (multi-rate); `None` takes the macro step.
    pub step: Option<(f64, Span)>,
    /// The name in the section head.
    pub span: Span,
}

impl Component {
    /// The start value of an input in the file.
    pub fn start(&self, port: &str) -> Option<f64> {
        self.starts.iter().find(|(name, ..)| name == port).map(|(_, value, _)| *value)
    }

    /// An error about this component, at its place.
    pub fn error(&self, code: &'static str, message: impl Into<String>) -> Problem {
        Problem::error(code, message, self.span.clone()).about(&self.name)
    }

    /// A warning about this component, at its place.
    pub fn warning(&self, code: &'static str, message: impl Into<String>) -> Problem {
        Problem::warning(code, message, self.span.clone()).about(&self.name)
    }
}

/// A connection: input = sum of gain * output + offset.
#[derive(Debug, Clone, PartialEq)]
pub struct ConnectionDecl {
    /// The outputs to sum.
    pub from: Vec<Summand>,
    /// The input, `component.port`.
    pub to: (String, Span),
    /// In the unit of the input.
    pub offset: f64,
    /// Outputs are first converted to the unit of the input.
    pub convert: bool,
}

/// One term of a connection: gain * output, in the unit of the input.
#[derive(Debug, Clone, PartialEq)]
pub struct Summand {
    /// The output, `component.port`.
    pub port: (String, Span),
    /// Factor of the output.
    pub gain: f64,
    /// Replacement for each value of the output; empty takes the value itself.
    pub map: Vec<(f64, f64)>,
}

impl ConnectionDecl {
    /// From one output to one input, without gain, map and offset.
    pub fn plain(from: (String, Span), to: (String, Span)) -> ConnectionDecl {
        ConnectionDecl { from: vec![Summand::plain(from)], to, offset: 0.0, convert: true }
    }
}

impl Default for ConnectionDecl {
    fn default() -> ConnectionDecl {
        ConnectionDecl::plain(Default::default(), Default::default())
    }
}

impl Default for Summand {
    fn default() -> Summand {
        Summand::plain(Default::default())
    }
}

impl Summand {
    /// Without gain and map.
    pub fn plain(port: (String, Span)) -> Summand {
        Summand { port, gain: 1.0, map: Vec::new() }
    }
}

/// The two variables of a power port, as `component.port`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PowerPort {
    /// Force, torque, voltage, pressure and the like.
    pub effort: (String, Span),
    /// Velocity, angular velocity, current, volume flow and the like.
    pub flow: (String, Span),
}

/// Two connections, effort in one direction and flow in the other, whose product is a power.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct BondDecl {
    /// Unique among bonds and junctions.
    pub name: String,
    /// The first side.
    pub a: PowerPort,
    /// The second side.
    pub b: PowerPort,
    /// Which variable has opposite signs on the two sides.
    pub opposite: Opposite,
    /// The direction of positive power at side a.
    pub direction: PowerDirection,
    /// Overrides the tolerance of the estimate.
    pub tolerance: Option<f64>,
    /// A typical energy, in J.
    pub energy_scale: Option<f64>,
    /// A transmission line between the sides: flow is then an output and effort an input on both.
    pub line: Option<LineDecl>,
    /// The name, or the section where there is none.
    pub span: Span,
}

/// A transmission line (TLM) in place of two connections.
#[derive(Debug, Clone, PartialEq)]
pub struct LineDecl {
    /// In seconds.
    pub delay: f64,
    /// Effort per flow, in SI units.
    pub impedance: f64,
    /// Interpolation between received values.
    pub between: StampInterpolation,
    /// The test for steady state in which delays grow; `None` keeps delays fixed.
    pub steady: Option<Choice>,
    /// Factor of the delay at the start, for side a and side b.
    pub factor: [f64; 2],
    /// Largest factor of the delay, for side a and side b.
    pub most: [f64; 2],
    /// Seconds in steady state before a delay grows.
    pub hold: f64,
    /// The delays of both ends shrink together.
    pub linked: bool,
    /// Known events are announced to the other end in advance.
    pub announced: bool,
    /// A step that ends the steady state is rolled back.
    pub rollback: bool,
    /// Seconds within which charge lost by a changed delay is restored; 0 never restores it.
    pub repay: f64,
    /// Impedance of an end while delays differ.
    pub impedances: Impedances,
    /// How the effort is applied to the components.
    pub boundary: Boundary,
    /// Effort per time derivative of the flow, for side a and side b, for boundaries that need it.
    pub mass: [Option<f64>; 2],
    /// The whole key.
    pub span: Span,
}

impl Default for LineDecl {
    fn default() -> LineDecl {
        LineDecl {
            delay: 1.0,
            impedance: 1.0,
            between: StampInterpolation::default(),
            steady: None,
            factor: [1.0; 2],
            // A larger one saves hardly more steps and has a several times larger error.
            most: [8.0; 2],
            hold: 0.0,
            linked: true,
            announced: true,
            rollback: true,
            repay: 0.0,
            impedances: Impedances::default(),
            boundary: Boundary::default(),
            mass: [None; 2],
            span: 0..0,
        }
    }
}

impl LineDecl {
    /// Delay in seconds and impedance in SI units; all else default.
    pub fn of(delay: f64, impedance: f64) -> LineDecl {
        LineDecl { delay, impedance, ..LineDecl::default() }
    }
}

/// The impedance of an end while delays differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Impedances {
    /// Its own, which grows with its delay.
    #[default]
    Own,
    /// The mean of both.
    Common,
}

/// How the effort of a line is applied to a component.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Boundary {
    /// The most accurate one that the component supports.
    #[default]
    Best,
    /// At every stage of the component's own solver, with the flow of the stage.
    Inside,
    /// Two trial steps that measure the response of the flow.
    Corrected,
    /// With the flow predicted from the mass at the port.
    SemiImplicit,
    /// One value per step, with the wave at mid-step and the flow at the start.
    MidStep,
    /// One value per step, from its start (zero-order hold). Rejected with an error: it destroys stability.
    Held,
}

/// Which of the two variables has opposite signs on the two sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Opposite {
    /// Same signs on both sides.
    #[default]
    Neither,
    /// The efforts sum to zero.
    Effort,
    /// The flows sum to zero.
    Flow,
}

/// The direction of power for which effort times flow of side `a` is positive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PowerDirection {
    /// Power from a to b is positive.
    #[default]
    AToB,
    /// Power from b to a is positive.
    BToA,
}

/// Several bonds that share one effort (flows sum to zero) or one flow (efforts sum to zero).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct JunctionDecl {
    /// Unique among bonds and junctions.
    pub name: String,
    /// The variable that is equal on all sides.
    pub common: Common,
    /// The side that determines the common variable is identified by its causality.
    pub sides: Vec<JunctionSide>,
    /// Overrides the tolerance of the estimate.
    pub tolerance: Option<f64>,
    /// A typical energy, in J.
    pub energy_scale: Option<f64>,
    /// The name, or the section where there is none.
    pub span: Span,
}

/// The variable that is equal on all sides of a junction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Common {
    /// Flows sum to zero.
    #[default]
    Effort,
    /// Efforts sum to zero.
    Flow,
}

/// One side of a junction.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct JunctionSide {
    /// Effort and flow.
    pub port: PowerPort,
    /// Effort times flow is power leaving this component instead of entering it.
    pub leaves: bool,
}

/// Methods of the island that these components belong to. Islands are what remains connected when lines are cut.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct IslandDecl {
    /// From the section head.
    pub name: String,
    /// At least one component of the island.
    pub components: Vec<(String, Span)>,
    /// Instead of those of the system.
    pub methods: MethodConfig,
    /// The name in the section head.
    pub span: Span,
}

/// Components that are integrated as one system of equations.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MonolithicDecl {
    /// From the section head.
    pub name: String,
    /// At least two.
    pub components: Vec<(String, Span)>,
    /// Options of the integrator: the `cosimo.*` parameters without their prefix.
    pub options: Vec<(String, Value, Span)>,
    /// The name in the section head.
    pub span: Span,
}

/// Which rows and columns of a run are recorded.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Results {
    /// Patterns with `*` and `?`, excluding after `!`; the last matching one decides. An empty list records all.
    pub variables: Vec<(String, Span)>,
    /// Seconds between rows; `None` records every communication point.
    pub every: Option<f64>,
}

/// The monolithic reference to compare with.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ReferenceDecl {
    /// Name in the registry.
    pub model: (String, Span),
    /// `component.port` and its column of the reference.
    pub ports: Vec<(String, String, Span)>,
}
