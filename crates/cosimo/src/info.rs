//! The model description of an FMU, in one form for all FMI versions.

use std::collections::BTreeMap;

use cosimo_fmi::Fmu;
use cosimo_fmi::description::{
    Capabilities, DefaultExperiment, Description, Fmi, FmuUse, InterfaceInfo, ModelExchangeInfo, Output,
    Terminal, UnitDefinition, Variable,
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::json_schema::objects;

objects! {
    /// what an FMU is
    pub struct FmuInfo(unit: &Fmu, about: &Description) {
        /// as the file spells it
        fmi_version: String = about.fmi_version.clone(),
        model_name: String = about.model_name.clone(),
        /// `guid` of FMI 1.0 and 2.0, `instantiationToken` of FMI 3.0
        token: String = about.token.clone(),
        description: String = about.description.clone(),
        generation_tool: String = about.generation_tool.clone(),
        sha256: String = unit.hash.clone(),
        platforms: Vec<String> = unit.platforms.clone(),
        /// why it does not run here, as far as can be seen without running it
        obstacle: Option<String> = unit.obstacle().map(|problem| problem.to_string()),
        /// what the description says against running it anywhere
        obstacles: Vec<String> = about.obstacles.iter().map(ToString::to_string).collect(),
        uses: UsesInfo = UsesInfo::new(about),
        /// kinds of interface that Cosimo does not use
        unsupported: Vec<&'static str> = about.unsupported.clone(),
        #[schemars(with = "BTreeMap<String, String>")]
        details: Map<String, Value> = details(about),
        /// of an FMU for model exchange
        equations: Option<EquationsInfo> = about.exchange.as_ref().map(|it| EquationsInfo::new(it, about)),
        experiment: ExperimentInfo = ExperimentInfo::new(&about.experiment),
        units: Vec<UnitInfo> = about.units.iter().map(UnitInfo::new).collect(),
        variables: Vec<VariableInfo> = about.variables.iter().map(VariableInfo::new).collect(),
        outputs: Vec<OutputInfo> = about.outputs.iter().map(|output| OutputInfo::new(output, about)).collect(),
        terminals: Vec<TerminalInfo> = about.terminals.iter().map(TerminalInfo::new).collect(),
        /// what is odd, what Cosimo leaves out, and what it assumes
        warnings: Vec<String> = warnings(about),
    }

    pub struct UsesInfo(about: &Description) {
        #[serde(skip_serializing_if = "Option::is_none")]
        co_simulation: Option<UseInfo> = about.offer(FmuUse::CoSimulation).map(UseInfo::new),
        #[serde(skip_serializing_if = "Option::is_none")]
        model_exchange: Option<UseInfo> = about.offer(FmuUse::ModelExchange).map(UseInfo::new),
    }

    pub struct UseInfo(offer: &InterfaceInfo) {
        model_identifier: String = offer.identifier.clone(),
        capabilities: CapabilityInfo = CapabilityInfo::new(&offer.capabilities),
    }

    pub struct CapabilityInfo(can: &Capabilities) {
        variable_step: bool = can.variable_step,
        rollback: bool = can.get_set_state,
        state_as_bytes: bool = can.serialize_state,
        directional_derivatives: bool = can.directional_derivatives,
        /// their highest order
        input_derivatives: u32 = can.input_derivative_order,
        /// their highest order
        output_derivatives: u32 = can.output_derivative_order,
        intermediate_update: bool = can.intermediate_update,
        event_mode: bool = can.event_mode,
        early_return: bool = can.early_return,
        needs_its_tool: bool = can.needs_execution_tool,
        once_per_process: bool = can.once_per_process,
        /// seconds
        fixed_step: Option<f64> = can.fixed_step,
    }

    pub struct EquationsInfo(exchange: &ModelExchangeInfo, about: &Description) {
        states: Vec<StateInfo> = exchange.states.iter().map(|pair| StateInfo::new(pair, about)).collect(),
        /// event indicators, elements counted
        indicators: usize = exchange.indicators,
        /// it wants to hear of every step of the integrator
        completed_steps: bool = exchange.completed_steps,
    }

    pub struct StateInfo(pair: &(usize, usize), about: &Description) {
        state: String = about.variables[pair.0].name.clone(),
        derivative: String = about.variables[pair.1].name.clone(),
    }

    /// what the FMU suggests; times in seconds
    pub struct ExperimentInfo(experiment: &DefaultExperiment) {
        start: Option<f64> = experiment.start,
        stop: Option<f64> = experiment.stop,
        tolerance: Option<f64> = experiment.tolerance,
        step: Option<f64> = experiment.step,
    }

    pub struct UnitInfo(definition: &UnitDefinition) {
        name: String = definition.name.clone(),
        /// exponents of kg, m, s, A, K, mol, cd; null where the file gives no base units
        dimension: Option<[i8; 7]> = definition.unit.as_ref().map(|unit| unit.dimension),
        factor: Option<f64> = definition.unit.as_ref().map(|unit| unit.factor),
    }

    pub struct VariableInfo(variable: &Variable) {
        name: String = variable.name.clone(),
        value_reference: u32 = variable.written_reference(),
        /// the negative of what the value reference means, as FMI 1.0 allows
        negated: bool = variable.negated.is_some(),
        r#type: &'static str = variable.kind.name(),
        causality: &'static str = variable.causality.name(),
        variability: &'static str = variable.variability.name(),
        initial: Option<&'static str> = variable.initial.map(|initial| initial.name()),
        /// as the file spells them, one per element; empty without a start value
        start: Vec<String> = variable.start.clone(),
        unit: Option<String> = variable.unit_name.clone(),
        /// empty for a scalar
        dimensions: Vec<u64> = variable.dimensions.clone(),
        description: String = variable.description.clone(),
        /// in the description, from 1
        line: u32 = variable.place.line,
    }

    pub struct OutputInfo(output: &Output, about: &Description) {
        name: String = about.variables[output.variable].name.clone(),
        /// null where it may depend on everything
        dependencies: Option<Vec<String>> = output
            .dependencies
            .as_ref()
            .map(|all| all.iter().map(|index| about.variables[*index].name.clone()).collect()),
    }

    pub struct TerminalInfo(terminal: &Terminal) {
        name: String = terminal.name.clone(),
        kind: String = terminal.kind.clone(),
        matching_rule: String = terminal.matching_rule.clone(),
        /// each with its variable
        members: Vec<(String, String)> = terminal.members.clone(),
    }
}

impl From<&Fmu> for FmuInfo {
    fn from(unit: &Fmu) -> FmuInfo {
        FmuInfo::new(unit, &unit.description)
    }
}

impl CapabilityInfo {
    /// What it can, each in a word or two.
    pub fn of(can: &Capabilities) -> Vec<String> {
        let all = serde_json::to_value(CapabilityInfo::new(can)).unwrap_or_default();
        let said = |(name, value): (&String, &Value)| match value {
            Value::Bool(true) => Some(name.replace('_', " ")),
            Value::Number(number) if number.as_f64() != Some(0.0) => {
                Some(format!("{} {number}", name.replace('_', " ")))
            }
            _ => None,
        };
        all.as_object().into_iter().flatten().filter_map(said).collect()
    }
}

fn details(about: &Description) -> Map<String, Value> {
    about.details.iter().map(|(name, text)| (name.replace(' ', "_"), text.as_str().into())).collect()
}

/// What is odd, what Cosimo leaves out, and what it assumes.
pub fn warnings(description: &Description) -> Vec<String> {
    let undeclared: Vec<&str> = description.undeclared().map(|variable| variable.name.as_str()).collect();
    let assumed = (!undeclared.is_empty()).then(|| {
        let (shown, more) = undeclared.split_at(undeclared.len().min(5));
        let more = if more.is_empty() { String::new() } else { format!(" and {} more", more.len()) };
        let remedy = match description.fmi {
            // There is no initialisation mode in which it could be probed.
            Fmi::One => "`parameters = { \"cosimo.feedthrough\" = \"none\" }` declares that there are none",
            _ => {
                "`parameters = { \"cosimo.feedthrough\" = \"probed\" }` probes them, `\"none\"` declares that there are none"
            }
        };
        format!(
            "the FMU does not declare on which inputs these outputs depend directly, so all are assumed: {}{more} ({remedy})",
            shown.join(", ")
        )
    });
    let usable = FmuUse::ALL.into_iter().any(|usage| description.offer(usage).is_some());
    // What is left out of which use, and what is assumed, matters only where there is one.
    let odd = description.warnings.iter().map(ToString::to_string);
    match usable {
        true => description.warnings(description.default_use()).into_iter().chain(assumed).collect(),
        false => odd.collect(),
    }
}
