//! The description of an FMI 2.0 FMU. Variables are counted from 1 in the model structure.

use cosimo_models::Hybrid;

use super::{
    Facts, Told, Xml, at_start, common, default_experiment, derivatives, enumeration, enumerations, joined,
    log_categories, outputs, reinitialised, start_text, tool, units, words,
};
use crate::design::Kind;
use crate::variables::{Role, Type};

pub(super) fn description(facts: &Facts<'_>) -> String {
    let Facts { design, model, equations, variables, can, token, .. } = facts;
    let indicators = equations.map_or(0, Hybrid::indicator_count);
    let mut xml = Xml::new();
    xml.begin(
        "fmiModelDescription",
        &[
            ("fmiVersion", "2.0".into()),
            ("modelName", design.name()),
            ("guid", (*token).into()),
            ("description", model.summary.into()),
            ("generationTool", tool()),
            ("variableNamingConvention", "flat".into()),
            ("numberOfEventIndicators", indicators.to_string()),
        ],
    );
    if design.kind.offers(Kind::ModelExchange) {
        xml.element(
            "ModelExchange",
            &[
                ("modelIdentifier", design.identifier()),
                ("completedIntegratorStepNotNeeded", words(!can.completed)),
                ("canNotUseMemoryManagementFunctions", "true".into()),
                ("canGetAndSetFMUstate", words(can.rollback)),
                ("canSerializeFMUstate", words(can.rollback)),
                ("providesDirectionalDerivative", words(can.tangents)),
            ],
        );
    }
    if design.kind.offers(Kind::CoSimulation) {
        xml.element(
            "CoSimulation",
            &[
                ("modelIdentifier", design.identifier()),
                ("canHandleVariableCommunicationStepSize", words(!can.fixed_step)),
                ("canInterpolateInputs", words(can.interpolates)),
                ("maxOutputDerivativeOrder", can.output_order.to_string()),
                ("canNotUseMemoryManagementFunctions", "true".into()),
                ("canGetAndSetFMUstate", words(can.rollback)),
                ("canSerializeFMUstate", words(can.rollback)),
                ("providesDirectionalDerivative", words(can.jacobian)),
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
        attributes.extend(variable.nature.initial.map(|initial| ("initial", initial.into())));
        xml.begin("ScalarVariable", &attributes);
        let mut typed = Vec::new();
        if let Some(unit) = &variable.unit {
            typed.push(("unit", unit.text.clone()));
        }
        match variable.role {
            Role::Count(_) => typed.push(("min", variable.least.to_string())),
            Role::Text(at) => typed.push(("start", variables.texts[at].start.into())),
            Role::Heard(_) if variable.kind == Type::Text => typed.push(("start", String::new())),
            Role::Derivative(state) => {
                typed.push(("derivative", (variables.states[state] + 1).to_string()));
            }
            Role::State(state) => typed.extend(reinitialised(facts, state)),
            _ => {}
        }
        typed.extend(variable.start.map(|start| ("start", start_text(variable.kind, start))));
        if let Type::Enumeration(names) = variable.kind {
            typed.push(("declaredType", enumeration(names)));
        }
        xml.element(variable.kind.old_name(), &typed);
        xml.end();
    }
    xml.end();
    xml.begin("ModelStructure", &[]);
    unknowns(&mut xml, "Outputs", outputs(facts));
    unknowns(&mut xml, "Derivatives", derivatives(facts));
    unknowns(&mut xml, "InitialUnknowns", at_start(facts));
    xml.finish()
}

fn types(xml: &mut Xml, facts: &Facts<'_>) {
    let enumerations = enumerations(facts.variables);
    if enumerations.is_empty() {
        return;
    }
    xml.begin("TypeDefinitions", &[]);
    for (name, items) in enumerations {
        xml.begin("SimpleType", &[("name", name)]);
        xml.begin("Enumeration", &[]);
        for (value, item) in items.iter().enumerate() {
            xml.element("Item", &[("name", (*item).into()), ("value", (value + 1).to_string())]);
        }
        xml.end();
        xml.end();
    }
    xml.end();
}

fn unknowns(xml: &mut Xml, list: &'static str, told: Vec<Told>) {
    if told.is_empty() {
        return;
    }
    xml.begin(list, &[]);
    for Told { reference, dependencies } in told {
        let (index, dependencies) = ((reference + 1).to_string(), joined(&dependencies, 1));
        xml.element("Unknown", &[("index", index), ("dependencies", dependencies)]);
    }
    xml.end();
}
