//! What a simulator shows of itself, and what a method asks of a system. The plan compares the two.

use crate::registry::number_text;
use crate::unit::Unit;

#[derive(Debug, Clone, PartialEq)]
pub struct Port {
    pub name: String,
    /// `None` where the simulator does not say.
    pub unit: Option<Unit>,
    /// The value of an input that nobody drives, and the first guess in an algebraic loop.
    pub start: Option<f64>,
    pub value_type: ValueType,
    /// Its value changes only now and then, by jumps; always so unless it carries a real number.
    pub discrete: bool,
    /// The least and the largest value that its maker allows.
    pub limits: ValueRange,
    /// Names of values, where it carries items of an enumeration.
    pub items: Vec<(String, f64)>,
    pub description: String,
}

/// What the numbers of a port stand for. All of them travel as doubles, but only real ones have values in between.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ValueType {
    #[default]
    Real,
    Integer,
    Boolean,
    Enumeration,
}

impl ValueType {
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

    pub fn starting_at(mut self, value: f64) -> Port {
        self.start = Some(value);
        self
    }
}

/// Both ends included; infinite where nothing is said.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ValueRange {
    pub least: f64,
    pub largest: f64,
}

impl ValueRange {
    pub const NONE: ValueRange = ValueRange { least: f64::NEG_INFINITY, largest: f64::INFINITY };

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

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Interface {
    pub inputs: Vec<Port>,
    pub outputs: Vec<Port>,
    /// Ports whose contents are passed on as they are, whatever they mean.
    pub byte_inputs: Vec<BytePort>,
    pub byte_outputs: Vec<BytePort>,
    /// Pairs (output, input): the output depends on the input at the same instant.
    pub feedthrough: Vec<(usize, usize)>,
    /// Pairs (input, output): an effort at which it stretches a line itself, and the factor by which it does, as it was in
    /// the last step.
    pub stretches: Vec<(usize, usize)>,
    pub abilities: Abilities,
    /// What it shows of its equations; `None` where it does not even show its states.
    pub state_space_access: Option<StateSpaceAccess>,
    /// Components that it is made of, if several were joined; its ports then carry their names.
    pub members: Vec<String>,
    /// Parameters that may change while it runs, in the order of `TunableParameters::set_parameter`.
    pub tunable: Vec<String>,
    /// What its maker would run it with.
    pub default_experiment: DefaultExperiment,
    /// Where it comes from, as pairs of a word and its value: versions, hashes, tools.
    pub facts: Vec<(String, String)>,
    /// What its user should know before the run: variables left out, promises not kept.
    pub warnings: Vec<String>,
    /// The same about the values of single parameters, each with its name.
    pub parameter_warnings: Vec<(String, String)>,
    /// Its steps are multiples of this, in seconds.
    pub internal_step: Option<f64>,
    /// Of recorded values: the first and the last instant, in seconds. Outside of them the nearest values hold.
    pub recorded: Option<(f64, f64)>,
}

/// What a simulator shows of its equations x' = f(x, u) and y = g(x, u).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StateSpaceAccess {
    pub states: usize,
    pub derivatives: Derivatives,
    /// f and g can be asked for at states and inputs where it is not.
    pub anywhere: bool,
}

/// Where it has the derivatives of f and g from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Derivatives {
    None,
    /// The model knows them.
    Declared,
    /// A unit gives them along directions.
    Directional,
}

/// A port that carries texts or bytes instead of numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BytePort {
    pub name: String,
    pub content: ByteContent,
    pub description: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ByteContent {
    /// UTF-8.
    Text,
    Bytes,
}

impl ByteContent {
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
    pub start: Option<f64>,
    pub stop: Option<f64>,
    pub step: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Abilities {
    /// Its state can be saved and restored.
    pub rollback: bool,
    /// Its state can be written to bytes.
    pub serialize_state: bool,
    /// The highest degree of input polynomial it follows inside a step: 0 holds, 3 takes a whole segment.
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
    /// It takes windows of any size.
    pub variable_step: bool,
    /// Its outputs answer new inputs also where no step lies between.
    pub direct_response: bool,
    /// It has events that `set_inputs` handles where they are due.
    pub events: bool,
    /// It takes ends of lines: the effort follows its flow inside of its steps.
    pub wave_boundary: bool,
    /// It stops after each step of its own solver where that is wanted, so that others hear of every one.
    pub returns_each_internal_step: bool,
}

impl Abilities {
    /// A model written in Rust can usually do everything; the exceptions are spelled out.
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
    };
}

/// What a method requires of every simulator it touches, and of the system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Needs {
    pub rollback: bool,
    pub slopes: bool,
    pub jacobian: bool,
    pub variable_step: bool,
    /// At least one power bond.
    pub bonds: bool,
}

impl Needs {
    pub const NOTHING: Needs =
        Needs { rollback: false, slopes: false, jacobian: false, variable_step: false, bonds: false };

    /// The words a person reads, in a fixed order.
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
