//! The description of an FMI 1.0 slave. It has fewer words: no initial, no independent variable, no model structure.

use super::{Facts, Xml, enumeration, enumerations, outputs, start_text, tool, words};
use crate::variables::{Role, Type, Variable};

pub(super) fn description(facts: &Facts<'_>) -> String {
    let Facts { design, model, variables, can, token, .. } = facts;
    let mut xml = Xml::new();
    xml.begin(
        "fmiModelDescription",
        &[
            ("fmiVersion", "1.0".into()),
            ("modelName", design.name()),
            ("modelIdentifier", design.identifier()),
            ("guid", (*token).into()),
            ("description", model.summary.into()),
            ("generationTool", tool()),
            ("variableNamingConvention", "flat".into()),
            // Those that the importer would integrate.
            ("numberOfContinuousStates", "0".into()),
            ("numberOfEventIndicators", "0".into()),
        ],
    );
    units(&mut xml, facts);
    types(&mut xml, facts);
    let stop = model.stop.to_string();
    xml.element("DefaultExperiment", &[("startTime", "0".into()), ("stopTime", stop)]);
    let outputs = outputs(facts);
    xml.begin("ModelVariables", &[]);
    for (reference, variable) in variables.list.iter().enumerate() {
        let (causality, variability) = nature(variable);
        xml.begin(
            "ScalarVariable",
            &[
                ("name", variable.name.clone()),
                ("valueReference", reference.to_string()),
                ("description", variable.about.clone()),
                ("variability", variability.into()),
                ("causality", causality.into()),
            ],
        );
        let mut typed = Vec::new();
        if let Type::Enumeration(names) = variable.kind {
            typed.push(("declaredType", enumeration(names)));
        }
        if let Some(unit) = &variable.unit {
            typed.push(("unit", unit.text.clone()));
        }
        match variable.role {
            Role::Count(_) => typed.push(("min", variable.least.to_string())),
            Role::Text(at) => typed.push(("start", variables.texts[at].start.into())),
            Role::Heard(_) if variable.kind == Type::Text => typed.push(("start", String::new())),
            _ => {}
        }
        typed.extend(variable.start.map(|start| ("start", start_text(variable.kind, start))));
        xml.element(variable.kind.old_name(), &typed);
        if let Some(told) = outputs.iter().find(|told| told.reference == reference) {
            xml.begin("DirectDependency", &[]);
            let inputs = told.dependencies.iter().map(|at| &variables.list[*at]);
            for input in inputs.filter(|variable| variable.nature.causality == "input") {
                xml.text("Name", &input.name);
            }
            xml.end();
        }
        xml.end();
    }
    xml.end();
    xml.begin("Implementation", &[]);
    xml.begin("CoSimulation_StandAlone", &[]);
    xml.element(
        "Capabilities",
        &[
            ("canHandleVariableCommunicationStepSize", words(!can.fixed_step)),
            ("canHandleEvents", "true".into()),
            ("canInterpolateInputs", words(can.interpolates)),
            ("maxOutputDerivativeOrder", can.output_order.to_string()),
            ("canNotUseMemoryManagementFunctions", "true".into()),
        ],
    );
    xml.finish()
}

/// Causality and variability in the words of FMI 1.0.
fn nature(variable: &Variable) -> (&'static str, &'static str) {
    let causality = match variable.nature.causality {
        "input" => "input",
        "output" => "output",
        _ => "internal",
    };
    let variability = match variable.nature.variability {
        "fixed" => "parameter",
        other => other,
    };
    (causality, variability)
}

/// Names only: FMI 1.0 has no exponents of base units.
fn units(xml: &mut Xml, facts: &Facts<'_>) {
    let mut names: Vec<&str> = facts
        .variables
        .list
        .iter()
        .filter_map(|variable| Some(variable.unit.as_ref()?.text.as_str()))
        .collect();
    names.sort_unstable();
    names.dedup();
    if names.is_empty() {
        return;
    }
    xml.begin("UnitDefinitions", &[]);
    for name in names {
        xml.element("BaseUnit", &[("unit", name.into())]);
    }
    xml.end();
}

/// Items have no values of their own: the first is 1.
fn types(xml: &mut Xml, facts: &Facts<'_>) {
    let enumerations = enumerations(facts.variables);
    if enumerations.is_empty() {
        return;
    }
    xml.begin("TypeDefinitions", &[]);
    for (name, items) in enumerations {
        xml.begin("Type", &[("name", name)]);
        xml.begin("EnumerationType", &[]);
        for item in items {
            xml.element("Item", &[("name", (*item).into())]);
        }
        xml.end();
        xml.end();
    }
    xml.end();
}
