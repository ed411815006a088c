//! The chosen methods: names and options only. The registry resolves them.

use cosimo_core::Value;

use crate::problem::Span;

/// Where a choice comes from: the command line overrides the file, the file overrides the default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ChoiceOrigin {
    /// Not given.
    #[default]
    Default,
    /// Given in the system file.
    File,
    /// Given by a flag.
    CommandLine,
}

/// A method by name, with its options.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Choice {
    /// As the registry lists it.
    pub name: String,
    /// Name, value and place of each option.
    pub options: Vec<(String, Value, Span)>,
    /// The place of the name in the file.
    pub span: Span,
    /// Default, file or command line.
    pub origin: ChoiceOrigin,
}

impl Choice {
    /// A method with default options.
    pub fn named(name: &str) -> Choice {
        Choice { name: name.into(), ..Choice::default() }
    }

    /// Sets one option, replacing an earlier value.
    #[must_use]
    pub fn with(mut self, option: &str, value: Value) -> Choice {
        self.options.retain(|(name, ..)| name != option);
        self.options.push((option.into(), value, 0..0));
        self
    }
}

/// Options or parameters without their spans.
pub fn values(given: &[(String, Value, Span)]) -> Vec<(String, Value)> {
    given.iter().map(|(name, value, _)| (name.clone(), value.clone())).collect()
}

/// A choice for all inputs with exceptions for single inputs.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PerInput<T> {
    /// For all inputs without a choice of their own.
    pub default: T,
    /// `component.port`, its own choice, and where it is named.
    pub inputs: Vec<(String, T, Span)>,
}

impl<T> PerInput<T> {
    /// The same for all inputs.
    pub fn all(default: T) -> PerInput<T> {
        PerInput { default, inputs: Vec::new() }
    }

    /// The inputs with a choice of their own, and where they are named.
    pub fn places(&self) -> impl Iterator<Item = (&String, &Span)> {
        self.inputs.iter().map(|(name, _, span)| (name, span))
    }

    /// The choice for an input, `component.port`.
    pub fn of(&self, input: &str) -> &T {
        self.inputs.iter().find(|(name, ..)| name == input).map_or(&self.default, |(_, choice, _)| choice)
    }
}

/// Which outputs are exchanged at a communication point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Exchange {
    /// The outputs at the end of the step, computed with extrapolated inputs.
    #[default]
    Stale,
    /// The outputs read again after the new inputs were set.
    Fresh,
}

/// What happens to a step whose error is too large.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reject {
    /// It is accepted and the next one is smaller. Needs no rollback.
    #[default]
    Never,
    /// It is rolled back and repeated with a smaller size.
    AboveOne,
}

/// Limits on the step size, in seconds.
#[derive(Debug, Clone, PartialEq)]
pub struct StepConfig {
    /// The size under the controller `fixed`, the first size otherwise; `None` starts at `min`.
    pub size: Option<f64>,
    /// Where `size` comes from.
    pub size_origin: ChoiceOrigin,
    /// The smallest size.
    pub min: f64,
    /// The largest size.
    pub max: f64,
    /// The smallest ratio of successive sizes.
    pub shrink: f64,
    /// The largest ratio of successive sizes.
    pub grow: f64,
    /// Whether too large errors cause a rollback.
    pub reject: Reject,
    /// The place of the `step` table.
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

/// The `[method]` section: one choice per axis of the co-simulation method.
#[derive(Debug, Clone, PartialEq)]
pub struct MethodConfig {
    /// Which components step concurrently and in which order.
    pub partition: Choice,
    /// How often a macro step is repeated.
    pub iteration: Choice,
    /// Extrapolation of inputs during a macro step.
    pub input: PerInput<Choice>,
    /// Corrections added to inputs.
    pub correction: PerInput<Choice>,
    /// Which outputs are exchanged at a communication point.
    pub exchange: PerInput<Exchange>,
    /// The error estimate of a macro step.
    pub estimate: Choice,
    /// The step-size controller.
    pub controller: Choice,
    /// Limits on the step size.
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
