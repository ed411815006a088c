//! What a simulator offers, and what a method requires. The plan compares the two.

use crate::registry::number_text;
use crate::unit::Unit;

/// An input or output that carries numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct Port {
    /// Unique among the inputs, or among the outputs.
    pub name: String,
    /// `None` where it is not known.
    pub unit: Option<Unit>,
    /// The value of an input that is not connected, and the initial guess in an algebraic loop.
    pub start: Option<f64>,
    /// What its numbers stand for.
    pub value_type: ValueType,
    /// FMI's variability `discrete`: its value changes by jumps only; always true unless it carries a real number.
    pub discrete: bool,
    /// FMI's `min` and `max`.
    pub limits: ValueRange,
    /// Names of values, where it carries items of an enumeration.
    pub items: Vec<(String, f64)>,
    /// For users; may be empty.
    pub description: String,
}

/// Type of a port. All values are exchanged as doubles, but only real ones can be interpolated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ValueType {
    /// A real number.
    #[default]
    Real,
    /// A whole number.
    Integer,
    /// 0 or 1.
    Boolean,
    /// The number of an item.
    Enumeration,
}

impl ValueType {
    /// For messages, in the plural.
    pub fn name(self) -> &'static str {
        match self {
            ValueType::Real => "real numbers",
            ValueType::Integer => "integers",
            ValueType::Boolean => "booleans",
            ValueType::Enumeration => "items of an enumeration",
        }
    }
}

impl Port {
    /// A real port without a start value; a unit that cannot be parsed counts as unknown.
    pub fn new(name: &str, unit: &str, description: &str) -> Port {
        Port {
            name: name.into(),
            unit: Unit::parse(unit).ok(),
            start: None,
            value_type: ValueType::Real,
            discrete: false,
            limits: ValueRange::NONE,
            items: Vec::new(),
            description: description.into(),
        }
    }

    /// With a start value.
    pub fn starting_at(mut self, value: f64) -> Port {
        self.start = Some(value);
        self
    }
}

/// Both ends included; infinite where there is no limit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ValueRange {
    /// The smallest allowed value.
    pub least: f64,
    /// The largest allowed value.
    pub largest: f64,
}

impl ValueRange {
    /// Any number.
    pub const NONE: ValueRange = ValueRange { least: f64::NEG_INFINITY, largest: f64::INFINITY };

    /// Whether a value is allowed.
    pub fn contains(&self, value: f64) -> bool {
        (self.least..=self.largest).contains(&value)
    }
}

impl std::fmt::Display for ValueRange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (least, largest) = (number_text(self.least), number_text(self.largest));
        match (self.least.is_finite(), self.largest.is_finite()) {
            (true, false) => write!(f, "at least {least}"),
            (false, true) => write!(f, "at most {largest}"),
            _ => write!(f, "from {least} to {largest}"),
        }
    }
}

/// Everything that is known about a simulator before it runs.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Interface {
    /// In the order of `Inputs::segments`.
    pub inputs: Vec<Port>,
    /// In the order of `Outputs::values`.
    pub outputs: Vec<Port>,
    /// Ports whose contents are passed on unchanged: FMI's strings and binaries.
    pub byte_inputs: Vec<BytePort>,
    /// The counterpart for outputs.
    pub byte_outputs: Vec<BytePort>,
    /// Pairs (output, input): the output depends on the input at the same instant.
    pub feedthrough: Vec<(usize, usize)>,
    /// Pairs (input, output): the effort of a line whose delay the simulator controls itself, and the output that holds the
    /// factor of the delay in the last step.
    pub stretches: Vec<(usize, usize)>,
    /// What it can do beside stepping.
    pub abilities: Abilities,
    /// Access to its equations; `None` where not even its states are exposed.
    pub state_space_access: Option<StateSpaceAccess>,
    /// Components that were joined into it; its port names then begin with theirs.
    pub members: Vec<String>,
    /// Parameters that may change while it runs, in the order of `TunableParameters::set_parameter`.
    pub tunable: Vec<String>,
    /// FMI's DefaultExperiment.
    pub default_experiment: DefaultExperiment,
    /// Its provenance as keys with values: versions, hashes, tools.
    pub facts: Vec<(String, String)>,
    /// Known before the run: variables left out, promised capabilities that are missing.
    pub warnings: Vec<String>,
    /// Warnings about the values of single parameters, each with the parameter's name.
    pub parameter_warnings: Vec<(String, String)>,
    /// Its steps are multiples of this, in seconds.
    pub internal_step: Option<f64>,
    /// Of recorded values: the first and the last instant, in seconds. Outside of them the nearest value is held.
    pub recorded: Option<(f64, f64)>,
}

/// Access to the equations x' = f(x, u) and y = g(x, u) of a simulator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StateSpaceAccess {
    /// How many continuous states there are.
    pub states: usize,
    /// Where derivatives of f and g come from.
    pub derivatives: Derivatives,
    /// f and g can be evaluated at states and inputs other than the current ones.
    pub anywhere: bool,
}

/// Where derivatives of f and g come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Derivatives {
    /// Not available; finite differences are used.
    None,
    /// Coded in the model.
    Declared,
    /// Directional derivatives of an FMU.
    Directional,
}

/// A port that carries texts or bytes instead of numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BytePort {
    /// Unique among the ports of its direction.
    pub name: String,
    /// Whether its content is text.
    pub content: ByteContent,
    /// For users; may be empty.
    pub description: String,
}

/// What a port without numbers carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ByteContent {
    /// UTF-8.
    Text,
    /// Anything else.
    Bytes,
}

impl ByteContent {
    /// For messages, in the plural.
    pub fn name(self) -> &'static str {
        match self {
            ByteContent::Text => "texts",
            ByteContent::Bytes => "bytes",
        }
    }
}

/// An experiment, as far as it is known; in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct DefaultExperiment {
    /// Start of the run.
    pub start: Option<f64>,
    /// End of the run.
    pub stop: Option<f64>,
    /// Communication step size.
    pub step: Option<f64>,
}

/// What a simulator can do; FMI's capability flags and a few more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Abilities {
    /// Its state can be saved and restored.
    pub rollback: bool,
    /// Its state can be written to bytes.
    pub serialize_state: bool,
    /// The highest degree of input polynomial it follows inside a step: 0 is a zero-order hold, 3 a whole segment.
    pub input_degree: u8,
    /// It offers slopes of its outputs.
    pub slopes: bool,
    /// It offers derivatives of outputs by inputs.
    pub jacobian: bool,
    /// It offers exact integrals of its outputs over a step.
    pub integrals: bool,
    /// Its states can be read and written.
    pub states: bool,
    /// It may stop before the end of a window.
    pub early_return: bool,
    /// It accepts windows of any size.
    pub variable_step: bool,
    /// Its outputs respond to new inputs without a step in between.
    pub direct_response: bool,
    /// It has events, which `set_inputs` handles where they are due.
    pub events: bool,
    /// It supports ends of lines: the effort follows its flow inside of its steps.
    pub wave_boundary: bool,
    /// It can return after each step of its own solver, so that each one is published.
    pub returns_each_internal_step: bool,
    /// A process can have one instance only.
    pub once_per_process: bool,
}

impl Abilities {
    /// What most models in Rust can do.
    pub const NATIVE: Abilities = Abilities {
        rollback: true,
        serialize_state: true,
        input_degree: 3,
        slopes: false,
        jacobian: false,
        integrals: false,
        states: true,
        early_return: false,
        variable_step: true,
        direct_response: true,
        events: false,
        wave_boundary: false,
        returns_each_internal_step: false,
        once_per_process: false,
    };
}

/// What a method requires of every simulator it is applied to, and of the system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Needs {
    /// State can be saved and restored.
    pub rollback: bool,
    /// Outputs come with time derivatives.
    pub slopes: bool,
    /// Derivatives of outputs by inputs.
    pub jacobian: bool,
    /// Steps of any size.
    pub variable_step: bool,
    /// At least one power bond.
    pub bonds: bool,
}

impl Needs {
    /// A method that works with every simulator.
    pub const NOTHING: Needs =
        Needs { rollback: false, slopes: false, jacobian: false, variable_step: false, bonds: false };

    /// For messages, in a fixed order.
    pub fn text(&self) -> Vec<&'static str> {
        [
            (self.rollback, "rollback"),
            (self.slopes, "output slopes"),
            (self.jacobian, "output derivatives"),
            (self.variable_step, "variable step size"),
            (self.bonds, "a power bond"),
        ]
        .into_iter()
        .filter_map(|(needed, word)| needed.then_some(word))
        .collect()
    }
}
