//! The models that can be exported: the native ones, and those that a library adds. A model is reopened whenever
//! a parameter changes; numbers and counts may change until initialisation ends, the rest is fixed.

use std::path::Path;

use cosimo_core::registry::{OpenProblem, OpenRequest, OptionKind as ParameterKind};
use cosimo_core::{Interface, Simulator, Spec, Value};
use cosimo_models::{HYBRID, LINEAR, NATIVE, SOLVER_PARAMETERS};
use cosimo_native::Hybrid;

use crate::design::{Design, InterfaceType, Version};
use crate::equipment::{self, AddedModel, ClockModel};
use crate::variables::{TextParameter, VariableType};
use crate::{delay_control, line};

/// All native models except `faulty/`, which only tests export.
pub fn sources() -> Vec<String> {
    let models = (NATIVE.models)().into_iter().filter(|model| !model.name.starts_with("faulty/"));
    models.map(|model| format!("native:{}", model.name)).collect()
}

/// All models with equations, available for model exchange: native ones, and those with events.
pub fn exchange_sources() -> Vec<String> {
    let has_equations = |source: &String| {
        let request =
            OpenRequest { name: "model", source, folder: Path::new(""), parameters: &[], joined: false };
        matches!(cosimo_models::equations(&request), Ok(Some(_)))
    };
    let mut all: Vec<String> = sources().into_iter().filter(has_equations).collect();
    all.extend(HYBRID.iter().map(|entry| format!("native:{}", entry.name)));
    all
}

/// A model with its parameters.
#[derive(Debug)]
pub(crate) struct ExportedModel {
    source: String,
    pub(crate) summary: &'static str,
    /// Default stop time in seconds.
    pub(crate) stop: f64,
    /// Without a solver here: between steps there are only its time events.
    pub(crate) hybrid: bool,
    /// Parameters that become variables, with defaults.
    pub(crate) parameters: Vec<(&'static Spec, f64)>,
    pub(crate) texts: Vec<TextParameter>,
    /// Types of the inputs that are copied to outputs.
    pub(crate) echoes: &'static [VariableType],
    pub(crate) clocks: Option<&'static ClockModel>,
    /// The FMI version of its inputs for line waves, if it has any.
    pub(crate) line: Option<Version>,
    /// Whether it controls the delay of those lines itself.
    pub(crate) kappa: bool,
    fixed: Vec<(String, Value)>,
    added: Option<&'static AddedModel>,
}

/// A choice as the model reads it: names are separated by commas, numbers by spaces, rows of numbers by semicolons.
fn choice(specs: &[Spec], name: &str, word: &str) -> Value {
    let texts = |separator: char| word.split(separator).map(str::trim).filter(|text| !text.is_empty());
    let number = |text: &str| text.parse().map_or_else(|_| Value::Text(text.into()), Value::Number);
    match specs.iter().find(|spec| spec.name == name).map(|spec| spec.kind) {
        Some(ParameterKind::Names) => Value::List(texts(',').map(Value::from).collect()),
        Some(ParameterKind::Matrix) => {
            let row = |row: &str| Value::List(row.split_whitespace().map(number).collect());
            Value::List(texts(';').map(row).collect())
        }
        Some(ParameterKind::Flag { .. }) => match word {
            "true" => Value::Flag(true),
            "false" => Value::Flag(false),
            _ => Value::Text(word.into()),
        },
        _ => Value::Text(word.into()),
    }
}

/// A model with the values of its parameters.
pub(crate) struct OpenModel {
    pub(crate) interface: Interface,
    /// Where the FMU solves the equations.
    pub(crate) simulator: Option<Box<dyn Simulator>>,
    /// Where the importer solves them, or there is nothing to solve.
    pub(crate) equations: Option<Box<dyn Hybrid>>,
}

impl ExportedModel {
    pub(crate) fn of(design: &Design) -> Result<ExportedModel, String> {
        let name = design.source.strip_prefix("native:");
        let known = [&NATIVE, &LINEAR].into_iter().flat_map(|source| (source.models)());
        let native = known.into_iter().find(|info| name == Some(&info.name));
        let hybrid = HYBRID.iter().find(|entry| name == Some(entry.name));
        let added = equipment::model(&design.source);
        let (summary, specs, stop): (_, &'static [Spec], _) = match (added, native, hybrid) {
            (Some(added), _, _) => (added.summary, added.parameters, added.stop),
            (None, Some(info), _) => (info.summary, info.parameters, 1.0),
            (None, None, Some(entry)) => (entry.summary, entry.parameters, entry.stop),
            (None, None, None) => return Err(format!("there is no model `{}`", design.source)),
        };
        let clocks = added.and_then(|added| added.clocks);
        if clocks.is_some()
            && (design.version != Version::Three || design.kind != InterfaceType::CoSimulation)
        {
            return Err(format!("`{}` is available for co-simulation in FMI 3.0 only", design.source));
        }
        // Without our solver its parameters have no use.
        let solved_here = |spec: &&Spec| {
            design.kind != InterfaceType::ModelExchange || !SOLVER_PARAMETERS.contains(&spec.name)
        };
        let own: &'static [Spec] = if design.kappa { &delay_control::PARAMETERS } else { &[] };
        let parameters = specs
            .iter()
            .filter(solved_here)
            .chain(own)
            .filter_map(|spec| match spec.kind {
                ParameterKind::Number { default, .. } => Some((spec, default?)),
                ParameterKind::Count { default, .. } => Some((spec, f64::from(default))),
                _ => None,
            })
            .collect();
        let fixed =
            design.choices.iter().map(|(name, word)| (name.clone(), choice(specs, name, word))).collect();
        let texts = equipment::texts(design);
        let echoes = added.map_or(&[][..], |added| (added.echoes)(design.version));
        let source = design.source.clone();
        let hybrid = hybrid.is_some() || added.is_some_and(|added| added.simulator.is_none());
        let line = design.line.then_some(design.version);
        if design.line && (design.kind != InterfaceType::CoSimulation || hybrid) {
            return Err(format!("`{}` at lines is available for co-simulation only", design.source));
        }
        if design.line && design.version == Version::One {
            return Err(format!("`{}` at lines is available in FMI 2.0 and 3.0 only", design.source));
        }
        if design.kappa && design.version == Version::Two {
            return Err(format!("`{}` can control line delays in FMI 3.0 only", design.source));
        }
        let kappa = design.kappa;
        let model = ExportedModel {
            source,
            summary,
            stop,
            hybrid,
            parameters,
            texts,
            echoes,
            clocks,
            line,
            kappa,
            fixed,
            added,
        };
        // No solver here handles events, but a model without states needs none.
        if hybrid && design.kind != InterfaceType::ModelExchange {
            let equations = model.equations(&model.defaults())?;
            if !equations.states().is_empty() {
                return Err(format!("`{}` is available for model exchange only", design.source));
            }
        }
        Ok(model)
    }

    /// The parameters of its steadiness test, among the values of all parameters.
    pub(crate) fn steadiness<'a>(&self, values: &'a [f64]) -> Option<&'a [f64]> {
        self.kappa.then(|| &values[self.parameters.len() - delay_control::PARAMETERS.len()..])
    }

    pub(crate) fn defaults(&self) -> Vec<f64> {
        self.parameters.iter().map(|(_, default)| *default).collect()
    }

    /// Everything that an FMU of this kind needs, with one value per parameter.
    pub(crate) fn open(&self, kind: InterfaceType, values: &[f64]) -> Result<OpenModel, String> {
        let equations = match kind {
            InterfaceType::CoSimulation if !self.hybrid => None,
            _ => Some(self.equations(values)?),
        };
        let simulator = match kind {
            InterfaceType::CoSimulation | InterfaceType::Both if !self.hybrid => {
                Some(self.simulator(values)?)
            }
            _ => None,
        };
        let mut interface = match (&simulator, &equations) {
            (Some(simulator), _) => simulator.interface().clone(),
            (None, Some(equations)) => equations.interface(),
            (None, None) => Interface::default(),
        };
        if let Some(version) = self.line {
            let inputs = line::inputs(&interface, version, self.kappa)?;
            if self.kappa {
                interface.outputs.extend(line::outputs(&interface));
            }
            interface.inputs.extend(inputs);
        }
        Ok(OpenModel { interface, simulator, equations })
    }

    pub(crate) fn simulator(&self, values: &[f64]) -> Result<Box<dyn Simulator>, String> {
        match self.added.and_then(|added| added.simulator) {
            Some(make) => Ok(make()),
            None => self.request(values, NATIVE.open),
        }
    }

    /// The equations alone.
    pub(crate) fn equations(&self, values: &[f64]) -> Result<Box<dyn Hybrid>, String> {
        if let Some(added) = self.added {
            return Ok((added.equations)());
        }
        let equations = self.request(values, cosimo_models::equations)?;
        equations.ok_or_else(|| format!("`{}` has no equations", self.source))
    }

    fn request<T>(
        &self,
        values: &[f64],
        open: fn(&OpenRequest<'_>) -> Result<T, Vec<OpenProblem>>,
    ) -> Result<T, String> {
        let mut given = self.fixed.clone();
        let of_model = |((spec, _), _): &(&(&Spec, f64), &f64)| !delay_control::PARAMETERS.contains(spec);
        for ((spec, _), value) in self.parameters.iter().zip(values).filter(of_model) {
            given.push((spec.name.into(), Value::Number(*value)));
        }
        let request = OpenRequest {
            name: "model",
            source: &self.source,
            folder: Path::new(""),
            parameters: &given,
            joined: false,
        };
        open(&request).map_err(|problems| {
            let messages: Vec<String> = problems.into_iter().map(|problem| problem.message).collect();
            messages.join("; ")
        })
    }
}
