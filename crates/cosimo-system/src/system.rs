//! Components, wires, bonds and the experiment. Pure data: nothing here is opened or checked.

use std::path::PathBuf;

use cosimo_core::line::StampInterpolation;
use cosimo_core::{Unit, Value};

use crate::method_config::{Choice, MethodConfig};
use crate::problem::{Problem, Span};
use crate::scenario::Scenario;

#[derive(Debug, Clone, PartialEq, Default)]
pub struct System {
    /// Relative paths in the system start from here.
    pub folder: PathBuf,
    pub experiment: Experiment,
    pub components: Vec<Component>,
    pub connections: Vec<ConnectionDecl>,
    pub bonds: Vec<BondDecl>,
    pub junctions: Vec<JunctionDecl>,
    pub monolithic: Vec<MonolithicDecl>,
    pub methods: MethodConfig,
    pub islands: Vec<IslandDecl>,
    pub results: Results,
    pub reference: Option<ReferenceDecl>,
    /// What happens to it while it runs; from a file of its own.
    pub scenario: Option<Scenario>,
}

impl System {
    /// Of everybody, and of islands that have one of their own.
    pub fn method_configs_mut(&mut self) -> impl Iterator<Item = &mut MethodConfig> {
        let own = self.islands.iter_mut().map(|island| &mut island.methods);
        std::iter::once(&mut self.methods).chain(own)
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Experiment {
    pub start: f64,
    pub stop: f64,
    pub end: EndRule,
    pub record: RecordPoint,
    /// A table of outputs before the start, for inputs that look back.
    pub history: Option<(PathBuf, Span)>,
    pub span: Span,
}

impl Default for Experiment {
    fn default() -> Experiment {
        Experiment {
            start: 0.0,
            stop: 1.0,
            end: EndRule::Exact,
            record: RecordPoint::AfterExchange,
            history: None,
            span: 0..0,
        }
    }
}

/// How the run ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EndRule {
    /// The last step is cut to hit the stop time.
    #[default]
    Exact,
    /// The run goes to the first communication point at or past the stop time.
    After,
}

/// Which values a row at a communication point holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RecordPoint {
    /// Inputs as they were applied up to this point, outputs as the step left them.
    BeforeExchange,
    /// Outputs as published to the others, inputs as they follow from them.
    #[default]
    AfterExchange,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Component {
    pub name: String,
    pub source: String,
    pub source_span: Span,
    pub parameters: Vec<(String, Value, Span)>,
    /// Values of inputs that nobody drives, or first guesses in an algebraic loop.
    pub starts: Vec<(String, f64, Span)>,
    /// Units of ports, where they are others than the simulator says, or it says none.
    pub units: Vec<(String, Unit, Span)>,
    /// For estimates that weigh outputs by simulator.
    pub tolerance: Option<f64>,
    pub weight: Option<f64>,
    /// The size of its own steps in seconds, where they are not everybody's.
    pub step: Option<(f64, Span)>,
    pub span: Span,
}

impl Component {
    /// The value that the file gives to an input at the start.
    pub fn start(&self, port: &str) -> Option<f64> {
        self.starts.iter().find(|(name, ..)| name == port).map(|(_, value, _)| *value)
    }

    /// What is wrong with it, at its place.
    pub fn error(&self, code: &'static str, message: impl Into<String>) -> Problem {
        Problem::error(code, message, self.span.clone()).about(&self.name)
    }

    /// What is odd about it, at its place.
    pub fn warning(&self, code: &'static str, message: impl Into<String>) -> Problem {
        Problem::warning(code, message, self.span.clone()).about(&self.name)
    }
}

/// A signal: the input is the sum of what comes in, plus an offset.
#[derive(Debug, Clone, PartialEq)]
pub struct ConnectionDecl {
    pub from: Vec<Summand>,
    pub to: (String, Span),
    /// In the unit of the input.
    pub offset: f64,
    /// Outputs are converted to the unit of the input, before anything else happens to them.
    pub convert: bool,
}

/// One of the outputs that make an input: gain * output, in the unit of the input.
#[derive(Debug, Clone, PartialEq)]
pub struct Summand {
    pub port: (String, Span),
    pub gain: f64,
    /// What to take instead of each value that the output may have; empty takes the value itself.
    pub map: Vec<(f64, f64)>,
}

impl ConnectionDecl {
    /// From one output to one input, with nothing on the way.
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
    pub fn plain(port: (String, Span)) -> Summand {
        Summand { port, gain: 1.0, map: Vec::new() }
    }
}

/// The two variables of a power port, as `component.port`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PowerPort {
    pub effort: (String, Span),
    pub flow: (String, Span),
}

/// Two wires, effort one way and flow the other, and the fact that their product is a power.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct BondDecl {
    pub name: String,
    pub a: PowerPort,
    pub b: PowerPort,
    pub opposite: Opposite,
    pub direction: PowerDirection,
    pub tolerance: Option<f64>,
    pub energy_scale: Option<f64>,
    /// What enters on one side arrives on the other after a delay. Both sides then give their flow and take the effort.
    pub line: Option<LineDecl>,
    pub span: Span,
}

/// A transmission line in the place of two wires.
#[derive(Debug, Clone, PartialEq)]
pub struct LineDecl {
    /// In seconds.
    pub delay: f64,
    /// Effort per flow, in SI units.
    pub impedance: f64,
    pub between: StampInterpolation,
    /// Delays grow where an end stands still, by this test; held where there is none.
    pub steady: Option<Choice>,
    /// Side a, side b: by how much the delay is multiplied at the start, and at most.
    pub factor: [f64; 2],
    pub most: [f64; 2],
    /// Seconds after the last movement before a delay grows.
    pub hold: f64,
    /// An end whose delay shrinks makes that of the other shrink.
    pub linked: bool,
    /// The other end hears beforehand of events that are known.
    pub announced: bool,
    /// A step after which an end moves again is taken back.
    pub rollback: bool,
    /// Seconds within which charge that got lost with a delay is given back; 0 leaves it lost.
    pub repay: f64,
    pub impedances: Impedances,
    pub boundary: Boundary,
    /// Of side a and side b: effort per rate of the flow, for boundaries that need it.
    pub mass: [Option<f64>; 2],
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
            // A larger one saves hardly more and errs several times as much.
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
    /// With nothing else said.
    pub fn of(delay: f64, impedance: f64) -> LineDecl {
        LineDecl { delay, impedance, ..LineDecl::default() }
    }
}

/// Whose impedance an end has while delays differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Impedances {
    /// Its own, which grows with its delay.
    #[default]
    Own,
    /// The mean of both.
    Common,
}

/// How the effort reaches a simulator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Boundary {
    /// The best that the simulator can do.
    #[default]
    Best,
    /// At every stage of its own solver, with its flow there.
    Inside,
    /// Two steps on trial for one, which show how the flow answers.
    Corrected,
    /// With the flow that the port's mass lets expect.
    SemiImplicit,
    /// One value for a step, with the wave in the middle of it and the flow at its start.
    MidStep,
    /// One value for a step, as it was at its start. Here to be refused: it destroys stability.
    Held,
}

/// Which of the two variables changes its sign from one side to the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Opposite {
    #[default]
    Neither,
    Effort,
    Flow,
}

/// Which way effort times flow of side `a` counts power.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PowerDirection {
    #[default]
    AToB,
    BToA,
}

/// Several bonds that share one effort (flows sum to zero) or one flow (efforts sum to zero).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct JunctionDecl {
    pub name: String,
    pub common: Common,
    /// The side that determines the common variable is found by its causality.
    pub sides: Vec<JunctionSide>,
    pub tolerance: Option<f64>,
    pub energy_scale: Option<f64>,
    pub span: Span,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Common {
    #[default]
    Effort,
    Flow,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct JunctionSide {
    pub port: PowerPort,
    /// Effort times flow counts power that leaves this simulator instead of entering it.
    pub leaves: bool,
}

/// A method of its own for the island that these components belong to. Islands are what remains connected when lines are cut.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct IslandDecl {
    pub name: String,
    pub components: Vec<(String, Span)>,
    pub methods: MethodConfig,
    pub span: Span,
}

/// Components that are integrated together, as one system of equations.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MonolithicDecl {
    pub name: String,
    pub components: Vec<(String, Span)>,
    /// How: the parameters of components that say it, without their prefix.
    pub options: Vec<(String, Value, Span)>,
    pub span: Span,
}

/// Which rows and columns of a run are kept.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Results {
    /// Patterns with `*` and `?`, those after `!` leave out; the last one that fits a name decides. None keep all.
    pub variables: Vec<(String, Span)>,
    /// Seconds from row to row; every communication point where it is not given.
    pub every: Option<f64>,
}

/// The monolithic reference to compare with.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ReferenceDecl {
    pub model: (String, Span),
    /// `component.port` and the column of the reference it should equal.
    pub ports: Vec<(String, String, Span)>,
}
