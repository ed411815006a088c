//! The chosen methods: names and options only. What they mean is the registry's business.

use cosimo_core::Value;

use crate::problem::Span;

/// Who chose: the command line beats the file, the file beats the default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ChoiceOrigin {
    #[default]
    Default,
    File,
    CommandLine,
}

/// A method by name, with its options.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Choice {
    pub name: String,
    pub options: Vec<(String, Value, Span)>,
    pub span: Span,
    pub origin: ChoiceOrigin,
}

impl Choice {
    pub fn named(name: &str) -> Choice {
        Choice { name: name.into(), ..Choice::default() }
    }

    #[must_use]
    pub fn with(mut self, option: &str, value: Value) -> Choice {
        self.options.retain(|(name, ..)| name != option);
        self.options.push((option.into(), value, 0..0));
        self
    }
}

/// Options or parameters as they were given, without their places.
pub fn values(given: &[(String, Value, Span)]) -> Vec<(String, Value)> {
    given.iter().map(|(name, value, _)| (name.clone(), value.clone())).collect()
}

/// One choice for all inputs, and others for some.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PerInput<T> {
    pub default: T,
    /// `component.port`, its own choice, and where it is named.
    pub inputs: Vec<(String, T, Span)>,
}

impl<T> PerInput<T> {
    pub fn all(default: T) -> PerInput<T> {
        PerInput { default, inputs: Vec::new() }
    }

    /// The inputs with a choice of their own, and where they are named.
    pub fn places(&self) -> impl Iterator<Item = (&String, &Span)> {
        self.inputs.iter().map(|(name, _, span)| (name, span))
    }

    pub fn of(&self, input: &str) -> &T {
        self.inputs.iter().find(|(name, ..)| name == input).map_or(&self.default, |(_, choice, _)| choice)
    }
}

/// Which outputs others get to see at a communication point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Exchange {
    /// As the step left them, with the inputs that were assumed.
    #[default]
    Stale,
    /// After the new inputs were set and the outputs read again.
    Fresh,
}

/// What happens to a step whose error is too large.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reject {
    /// It is accepted; the next one is smaller. Needs no rollback.
    #[default]
    Never,
    /// It is rewound and tried again with a smaller size.
    AboveOne,
}

/// Limits on the step size, in seconds.
#[derive(Debug, Clone, PartialEq)]
pub struct StepConfig {
    /// The size under `fixed`, the first size otherwise; `None` starts at `min`.
    pub size: Option<f64>,
    pub size_origin: ChoiceOrigin,
    pub min: f64,
    pub max: f64,
    /// The least and largest ratio of neighbouring sizes.
    pub shrink: f64,
    pub grow: f64,
    pub reject: Reject,
    pub span: Span,
}

impl Default for StepConfig {
    fn default() -> StepConfig {
        StepConfig {
            size: None,
            size_origin: ChoiceOrigin::Default,
            min: 1e-6,
            max: f64::INFINITY,
            shrink: 0.2,
            grow: 1.5,
            reject: Reject::Never,
            span: 0..0,
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct MethodConfig {
    pub partition: Choice,
    pub iteration: Choice,
    pub input: PerInput<Choice>,
    pub correction: PerInput<Choice>,
    pub exchange: PerInput<Exchange>,
    pub estimate: Choice,
    pub controller: Choice,
    pub step: StepConfig,
}

impl Default for MethodConfig {
    fn default() -> MethodConfig {
        MethodConfig {
            partition: Choice::named("jacobi"),
            iteration: Choice::named("once"),
            input: PerInput::all(Choice::named("hold")),
            correction: PerInput::all(Choice::named("none")),
            exchange: PerInput::all(Exchange::Stale),
            estimate: Choice::named("none"),
            controller: Choice::named("fixed"),
            step: StepConfig::default(),
        }
    }
}
