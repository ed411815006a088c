//! What a simulator shows of itself, and what a method asks of a system. The plan compares the two.

use crate::unit::Unit;

#[derive(Debug, Clone, PartialEq)]
pub struct Port {
    pub name: String,
    /// `None` where the simulator does not say.
    pub unit: Option<Unit>,
    /// The value of an input that nobody drives, and the first guess in an algebraic loop.
    pub start: Option<f64>,
    pub description: String,
}

impl Port {
    pub fn new(name: &str, unit: &str, description: &str) -> Port {
        Port { name: name.into(), unit: Unit::parse(unit).ok(), start: None, description: description.into() }
    }

    pub fn starting_at(mut self, value: f64) -> Port {
        self.start = Some(value);
        self
    }
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Interface {
    pub inputs: Vec<Port>,
    pub outputs: Vec<Port>,
    /// Pairs (output, input): the output depends on the input at the same instant.
    pub feedthrough: Vec<(usize, usize)>,
    pub abilities: Abilities,
    /// Parameters that may change while it runs, in the order of `Simulator::tune`.
    pub tunable: Vec<String>,
    /// What its maker would run it with.
    pub suggested: Suggested,
    /// Where it comes from, as pairs of a word and its value: versions, hashes, tools.
    pub facts: Vec<(String, String)>,
    /// What its user should know before the run: variables left out, promises not kept.
    pub remarks: Vec<String>,
}

/// An experiment, as far as it is known; in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Suggested {
    pub start: Option<f64>,
    pub stop: Option<f64>,
    pub step: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Abilities {
    /// `save` and `restore` work.
    pub rollback: bool,
    /// `freeze` and `thaw` work.
    pub freeze: bool,
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
    pub answers: bool,
}

impl Abilities {
    /// A model written in Rust can usually do everything; the exceptions are spelled out.
    pub const NATIVE: Abilities = Abilities {
        rollback: true,
        freeze: true,
        input_degree: 3,
        slopes: false,
        jacobian: false,
        integrals: false,
        states: true,
        early_return: false,
        variable_step: true,
        answers: true,
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
    pub fn words(&self) -> Vec<&'static str> {
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
