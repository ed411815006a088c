//! The model description in one form for FMI 1.0, 2.0 and 3.0, with positions for diagnostics.
//!
//! A tolerant reader: whatever Cosimo does not need may be missing or unknown. Missing required data is a problem, and all
//! problems of a file are reported together.

use std::collections::BTreeSet;
use std::path::Path;

use cosimo_core::{Unit, ValueRange};

use crate::ports::carries_parcels;
use crate::problem::{FilePosition, FileProblem};
use crate::text::read_text;
use crate::xml::{self, XmlReader};
use crate::{fmi1, fmi2, fmi3, terminals};

pub use crate::schema::typed;

pub const FILE: &str = "modelDescription.xml";
pub const TERMINALS: &str = "terminalsAndIcons/terminalsAndIcons.xml";

/// `fmiUndefinedValueReference` of FMI 1.0: there is no value.
pub const UNDEFINED_REFERENCE: u32 = u32::MAX;

/// An enumeration of which each value is a word of the standard, and a table of these words.
macro_rules! words {
    ($(#[$about:meta])* $visible:vis enum $name:ident in $table:ident {
        $($(#[$doc:meta])* $variant:ident = $word:literal,)*
    }) => {
        $(#[$about])*
        $visible enum $name {
            $($(#[$doc])* $variant,)*
        }

        $visible const $table: &[(&str, $name)] = &[$(($word, $name::$variant)),*];

        impl $name {
            #[allow(dead_code, reason = "not every enumeration is shown")]
            $visible fn name(self) -> &'static str {
                match self {
                    $($name::$variant => $word,)*
                }
            }
        }
    };
}
pub(crate) use words;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fmi {
    One,
    Two,
    Three,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Description {
    pub fmi: Fmi,
    /// As the file spells it.
    pub fmi_version: String,
    pub model_name: String,
    /// `guid` of FMI 2.0, `instantiationToken` of FMI 3.0.
    pub token: String,
    pub description: String,
    pub generation_tool: String,
    /// At least one of the two is there, unless there are obstacles.
    pub cosimulation: Option<InterfaceInfo>,
    pub exchange: Option<ModelExchangeInfo>,
    /// Kinds of interface that it offers and Cosimo does not use.
    pub unsupported: Vec<&'static str>,
    /// Further information for display: label and text.
    pub details: Vec<(&'static str, String)>,
    /// Why it cannot run, in a description that [`Description::inspect`] read all the same.
    pub obstacles: Vec<FileProblem>,
    pub experiment: DefaultExperiment,
    pub log_categories: Vec<String>,
    pub units: Vec<UnitDefinition>,
    pub variables: Vec<Variable>,
    pub outputs: Vec<Output>,
    /// Continuous states that are listed, each with its derivative, whatever the FMU is for.
    pub states: Vec<(usize, usize)>,
    pub terminals: Vec<Terminal>,
    /// Oddities that do not prevent running.
    pub warnings: Vec<FileProblem>,
}

/// The interface types that Cosimo supports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FmuUse {
    /// The FMU brings its own solver.
    CoSimulation,
    /// Cosimo integrates the FMU's equations.
    ModelExchange,
}

impl FmuUse {
    pub const ALL: [FmuUse; 2] = [FmuUse::CoSimulation, FmuUse::ModelExchange];

    pub fn name(self) -> &'static str {
        match self {
            FmuUse::CoSimulation => "co-simulation",
            FmuUse::ModelExchange => "model exchange",
        }
    }
}

/// Properties of an FMU for one interface type.
#[derive(Debug, Clone, PartialEq)]
pub struct InterfaceInfo {
    /// Names the binary.
    pub identifier: String,
    pub capabilities: Capabilities,
}

/// Properties of an FMU for model exchange.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelExchangeInfo {
    pub offer: InterfaceInfo,
    /// It needs `CompletedIntegratorStep` after every step of the integrator.
    pub completed_steps: bool,
    /// Variables that are continuous states, in the order of the state vector, each with its derivative.
    pub states: Vec<(usize, usize)>,
    /// Event indicators, elements counted.
    pub indicators: usize,
}

impl ModelExchangeInfo {
    /// Continuous states, elements counted.
    pub fn state_count(&self, variables: &[Variable]) -> usize {
        self.states.iter().map(|(state, _)| variables[*state].elements()).sum()
    }
}

/// Names follow FMI 3.0.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Capabilities {
    pub variable_step: bool,
    pub get_set_state: bool,
    pub serialize_state: bool,
    pub directional_derivatives: bool,
    /// Order of `fmi2SetRealInputDerivatives`; 0 where inputs cannot be interpolated.
    pub input_derivative_order: u32,
    pub output_derivative_order: u32,
    pub intermediate_update: bool,
    pub event_mode: bool,
    pub early_return: bool,
    /// It can return inside of a step where its importer wants it to.
    pub early_on_request: bool,
    pub needs_execution_tool: bool,
    pub once_per_process: bool,
    pub fixed_step: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct DefaultExperiment {
    pub start: Option<f64>,
    pub stop: Option<f64>,
    pub tolerance: Option<f64>,
    pub step: Option<f64>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct UnitDefinition {
    pub name: String,
    /// `None` if the file has no base units.
    pub unit: Option<Unit>,
    pub place: FilePosition,
}

words! {
    /// The type of a variable, as FMI 3.0 calls it.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub enum VariableType in KINDS {
        Float64 = "Float64",
        Float32 = "Float32",
        Int8 = "Int8",
        UInt8 = "UInt8",
        Int16 = "Int16",
        UInt16 = "UInt16",
        Int32 = "Int32",
        UInt32 = "UInt32",
        Int64 = "Int64",
        UInt64 = "UInt64",
        Boolean = "Boolean",
        String = "String",
        Binary = "Binary",
        Enumeration = "Enumeration",
        Clock = "Clock",
    }
}

impl VariableType {
    pub fn is_float(self) -> bool {
        matches!(self, VariableType::Float64 | VariableType::Float32)
    }

    /// Values that a double can carry from port to port.
    pub fn is_number(self) -> bool {
        !matches!(self, VariableType::String | VariableType::Binary | VariableType::Clock)
    }
}

words! {
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Causality in CAUSALITIES {
        StructuralParameter = "structuralParameter",
        Parameter = "parameter",
        CalculatedParameter = "calculatedParameter",
        Input = "input",
        Output = "output",
        Local = "local",
        Independent = "independent",
    }
}

words! {
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Variability in VARIABILITIES {
        Constant = "constant",
        Fixed = "fixed",
        Tunable = "tunable",
        Discrete = "discrete",
        Continuous = "continuous",
    }
}

words! {
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Initial in INITIALS {
        Exact = "exact",
        Approx = "approx",
        Calculated = "calculated",
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Variable {
    pub name: String,
    pub reference: u32,
    /// FMI 1.0: it is the negative of what this value reference means, and `reference` a number of Cosimo's own.
    pub negated: Option<u32>,
    pub kind: VariableType,
    pub causality: Causality,
    pub variability: Variability,
    pub initial: Option<Initial>,
    /// As the file spells them, one per element; empty without a start value.
    pub start: Vec<String>,
    pub unit_name: Option<String>,
    pub unit: Option<Unit>,
    /// In its unit.
    pub limits: ValueRange,
    /// Empty for a scalar. Sizes that a structural parameter gives have its start value.
    pub dimensions: Vec<u64>,
    pub description: String,
    /// It may be set or read inside a step.
    pub intermediate_update: bool,
    /// If it is a clock.
    pub clock: Option<Clock>,
    /// Value references of its clocks.
    pub clocks: Vec<u32>,
    /// Names of an enumeration's values.
    pub items: Vec<(String, i64)>,
    pub place: FilePosition,
}

/// When a clock ticks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Clock {
    pub interval: Interval,
    /// Seconds from tick to tick, if the description says it.
    pub period: Option<f64>,
    /// Seconds from the start to the first tick.
    pub shift: f64,
}

words! {
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Interval in INTERVALS {
        Constant = "constant",
        Fixed = "fixed",
        Calculated = "calculated",
        Tunable = "tunable",
        Changing = "changing",
        Countdown = "countdown",
        Triggered = "triggered",
    }
}

impl Variable {
    /// The value reference as the description has it.
    pub fn written_reference(&self) -> u32 {
        self.negated.unwrap_or(self.reference)
    }

    /// How many numbers it holds.
    pub fn elements(&self) -> usize {
        self.dimensions.iter().product::<u64>() as usize
    }

    /// One element's start value as a number.
    pub fn start_number(&self, element: usize) -> Option<f64> {
        // One value may stand for all elements.
        let text = self.start.get(element).or_else(|| self.start.first())?;
        match text.trim() {
            "true" => Some(1.0),
            "false" => Some(0.0),
            other => other.parse().ok(),
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Output {
    /// Index into the variables.
    pub variable: usize,
    /// Variables it depends on; `None` means all.
    pub dependencies: Option<Vec<usize>>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Terminal {
    pub name: String,
    pub kind: String,
    pub matching_rule: String,
    /// Pairs (member, variable).
    pub members: Vec<(String, String)>,
}

impl Description {
    /// Reads the description of an unpacked FMU.
    pub fn of_folder(folder: &Path) -> Result<Description, Vec<FileProblem>> {
        Description::inspect_folder(folder)?.runnable()
    }

    /// As [`Description::of_folder`], also of an FMU that cannot run here.
    pub fn inspect_folder(folder: &Path) -> Result<Description, Vec<FileProblem>> {
        let (text, warning) = read_text(folder, FILE).map_err(|problem| vec![problem])?;
        let mut description = Description::inspect(&text)?;
        description.warnings.extend(warning);
        if description.fmi == Fmi::Three {
            terminals::read(folder, &mut description);
        }
        Ok(description)
    }

    pub fn parse(text: &str) -> Result<Description, Vec<FileProblem>> {
        Description::inspect(text)?.runnable()
    }

    /// Itself, if nothing keeps the FMU from running.
    fn runnable(self) -> Result<Description, Vec<FileProblem>> {
        if self.obstacles.is_empty() { Ok(self) } else { Err(self.obstacles) }
    }

    /// Reads what can be read. What would keep the FMU from running is in `obstacles`; `Err` where nothing is left to
    /// show.
    pub fn inspect(text: &str) -> Result<Description, Vec<FileProblem>> {
        let document = xml::parse(text, FILE).map_err(|problem| vec![problem])?;
        let mut reader = XmlReader::new(text, FILE);
        let root = document.root_element();
        if root.tag_name().name() != "fmiModelDescription" {
            let found = root.tag_name().name();
            reader.problem(root, format!("expected `<fmiModelDescription>`, got `<{found}>`"));
            return Err(reader.problems);
        }
        let Some(version) = reader.text(root, "fmiVersion") else { return Err(reader.problems) };
        let description = match version.split('.').next() {
            Some("1") => fmi1::schema::read(&mut reader, root, version),
            Some("2") => fmi2::schema::read(&mut reader, root, version),
            Some("3") => fmi3::schema::read(&mut reader, root, version),
            _ => {
                reader.problem_hint(
                    root,
                    format!("this is an FMI {version} FMU; Cosimo runs FMI 1.0, 2.0 and 3.0"),
                    "re-export it as FMI 2.0 or 3.0",
                );
                None
            }
        };
        match description {
            Some(mut description) => {
                description.warnings = reader.warnings;
                description.warnings.sort_by_key(|warning| warning.place);
                description.obstacles = reader.problems;
                description.obstacles.sort_by_key(|problem| problem.place);
                Ok(description)
            }
            None => {
                reader.problems.sort_by_key(|problem| problem.place);
                Err(reader.problems)
            }
        }
    }

    pub fn offer(&self, usage: FmuUse) -> Option<&InterfaceInfo> {
        match usage {
            FmuUse::CoSimulation => self.cosimulation.as_ref(),
            FmuUse::ModelExchange => self.exchange.as_ref().map(|exchange| &exchange.offer),
        }
    }

    /// The interface type used by default.
    pub fn default_use(&self) -> FmuUse {
        if self.cosimulation.is_some() { FmuUse::CoSimulation } else { FmuUse::ModelExchange }
    }

    /// Inputs and outputs that are no ports in the given use: arrays of texts, texts of FMUs that Cosimo integrates,
    /// and clocks of FMUs without an event mode. Clocks that tick by themselves need no port.
    pub fn left_out(&self, usage: FmuUse) -> impl Iterator<Item = &Variable> {
        let port = |variable: &&Variable| matches!(variable.causality, Causality::Input | Causality::Output);
        let events = self.offer(usage).is_some_and(|offer| offer.capabilities.event_mode);
        let steps = usage == FmuUse::CoSimulation;
        let heard = move |variable: &&Variable| match variable.kind {
            VariableType::Clock => steps && events && variable.dimensions.is_empty(),
            kind => kind.is_number() || (steps && carries_parcels(variable)),
        };
        self.variables.iter().filter(port).filter(move |variable| !heard(variable))
    }

    /// Oddities and omitted variables, as texts for users.
    pub fn warnings(&self, usage: FmuUse) -> Vec<String> {
        let left_out = self.left_out(usage).map(|variable| {
            let (name, kind, usage) = (&variable.name, variable.kind.name(), usage.name());
            if variable.kind == VariableType::Clock && variable.dimensions.is_empty() {
                return format!("`{name}` never ticks: clocks need co-simulation with an event mode");
            }
            let array = if variable.dimensions.is_empty() { "" } else { "arrays of " };
            format!("`{name}` is not a port: {array}type {kind} cannot be exchanged in {usage}")
        });
        self.warnings.iter().map(FileProblem::to_string).chain(left_out).collect()
    }

    /// Output ports without declared dependencies, if the FMU has inputs. By the standard such an output may depend on all
    /// inputs.
    pub fn undeclared(&self) -> impl Iterator<Item = &Variable> {
        let port =
            |variable: &Variable, causality| variable.causality == causality && variable.kind.is_number();
        let inputs = self.variables.iter().any(|variable| port(variable, Causality::Input));
        let told = self.outputs.iter().filter(|output| output.dependencies.is_some());
        let told: BTreeSet<usize> = told.map(|output| output.variable).collect();
        let silent = move |(index, variable): &(usize, &Variable)| {
            inputs && port(variable, Causality::Output) && !told.contains(index)
        };
        self.variables.iter().enumerate().filter(silent).map(|(_, variable)| variable)
    }

    pub fn find(&self, name: &str) -> Option<&Variable> {
        self.variables.iter().find(|variable| variable.name == name)
    }
}
