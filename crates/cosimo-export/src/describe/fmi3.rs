//! The description of an FMI 3.0 FMU. The model structure speaks of value references.

use super::{
    Facts, Told, Xml, at_start, common, default_experiment, derivatives, enumeration, enumerations,
    indicators, joined, log_categories, outputs, reinitialised, start_text, tool, units, words,
};
use crate::design::Kind;
use crate::variables::{Role, Type};

pub(super) fn description(facts: &Facts<'_>) -> String {
    let Facts { design, model, variables, can, token, .. } = facts;
    let mut xml = Xml::new();
    xml.begin(
        "fmiModelDescription",
        &[
            ("fmiVersion", "3.0".into()),
            ("modelName", design.name()),
            ("instantiationToken", (*token).into()),
            ("description", model.summary.into()),
            ("generationTool", tool()),
            ("variableNamingConvention", "flat".into()),
        ],
    );
    if design.kind.offers(Kind::ModelExchange) {
        xml.element(
            "ModelExchange",
            &[
                ("modelIdentifier", design.identifier()),
                ("canGetAndSetFMUState", words(can.rollback)),
                ("canSerializeFMUState", words(can.rollback)),
                ("providesDirectionalDerivatives", words(can.tangents)),
                ("providesAdjointDerivatives", words(can.tangents)),
                ("needsCompletedIntegratorStep", words(can.completed)),
                ("providesEvaluateDiscreteStates", "false".into()),
            ],
        );
    }
    if design.kind.offers(Kind::CoSimulation) {
        xml.element(
            "CoSimulation",
            &[
                ("modelIdentifier", design.identifier()),
                ("canGetAndSetFMUState", words(can.rollback)),
                ("canSerializeFMUState", words(can.rollback)),
                ("providesDirectionalDerivatives", words(can.jacobian)),
                ("providesAdjointDerivatives", words(can.jacobian)),
                ("canHandleVariableCommunicationStepSize", words(!can.fixed_step)),
                ("maxOutputDerivativeOrder", can.output_order.to_string()),
                ("providesIntermediateUpdate", words(can.intermediate)),
                ("mightReturnEarlyFromDoStep", words(can.event_mode)),
                ("canReturnEarlyAfterIntermediateUpdate", words(can.walks)),
                ("hasEventMode", words(can.event_mode)),
            ],
        );
    }
    units(&mut xml, variables);
    types(&mut xml, facts);
    log_categories(&mut xml);
    default_experiment(&mut xml, model);
    xml.begin("ModelVariables", &[]);
    for (reference, variable) in variables.list.iter().enumerate() {
        let mut attributes = common(variable, reference);
        if can.intermediate && matches!(variable.role, Role::Input(_) | Role::Output(_)) {
            attributes.push(("intermediateUpdate", "true".into()));
        }
        if let Some(unit) = &variable.unit {
            attributes.push(("unit", unit.text.clone()));
        }
        // That of a parameter follows from its causality.
        if let (Some(initial), "output" | "local") = (variable.nature.initial, variable.nature.causality) {
            attributes.push(("initial", initial.into()));
        }
        match variable.role {
            Role::Count(_) => attributes.push(("min", variable.least.to_string())),
            Role::Derivative(state) => attributes.push(("derivative", variables.states[state].to_string())),
            Role::State(state) => attributes.extend(reinitialised(facts, state)),
            Role::Clock(clock) => attributes.extend(clock.attributes()),
            _ => {}
        }
        if let Some(clock) = variable.clocked_by() {
            let place = variables.list.iter().position(|variable| variable.role == Role::Clock(clock));
            attributes.extend(place.map(|place| ("clocks", place.to_string())));
        }
        attributes.extend(variable.start.map(|start| ("start", start_text(variable.kind, start))));
        if let Type::Enumeration(names) = variable.kind {
            attributes.push(("declaredType", enumeration(names)));
        }
        // Texts and bytes have an element for their start.
        let start = match variable.role {
            Role::Text(at) => Some(variables.texts[at].start),
            Role::Heard(_) if matches!(variable.kind, Type::Text | Type::Binary) => Some(""),
            _ => None,
        };
        match start {
            None => xml.element(variable.kind.name(), &attributes),
            Some(start) => {
                xml.begin(variable.kind.name(), &attributes);
                xml.element("Start", &[("value", start.into())]);
                xml.end();
            }
        }
    }
    xml.end();
    xml.begin("ModelStructure", &[]);
    unknowns(&mut xml, "Output", outputs(facts));
    unknowns(&mut xml, "ContinuousStateDerivative", derivatives(facts));
    unknowns(&mut xml, "InitialUnknown", at_start(facts));
    unknowns(&mut xml, "EventIndicator", indicators(facts));
    xml.finish()
}

fn types(xml: &mut Xml, facts: &Facts<'_>) {
    let enumerations = enumerations(facts.variables);
    if enumerations.is_empty() {
        return;
    }
    xml.begin("TypeDefinitions", &[]);
    for (name, items) in enumerations {
        xml.begin("EnumerationType", &[("name", name)]);
        for (value, item) in items.iter().enumerate() {
            xml.element("Item", &[("name", (*item).into()), ("value", (value + 1).to_string())]);
        }
        xml.end();
    }
    xml.end();
}

fn unknowns(xml: &mut Xml, element: &str, told: Vec<Told>) {
    for Told { reference, dependencies } in told {
        let (reference, dependencies) = (reference.to_string(), joined(&dependencies, 0));
        xml.element(element, &[("valueReference", reference), ("dependencies", dependencies)]);
    }
}
