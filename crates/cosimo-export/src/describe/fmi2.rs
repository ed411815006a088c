//! The description of an FMI 2.0 FMU. Variables are counted from 1 in the model structure.

use super::{
    Facts, Xml, at_once, at_start, common, default_experiment, joined, log_categories, tool, units, words,
};
use crate::variables::{Role, Type};

pub(super) fn description(facts: &Facts<'_>) -> String {
    let Facts { design, model, interface, variables, can, token } = facts;
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
            ("numberOfEventIndicators", "0".into()),
        ],
    );
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
    units(&mut xml, variables);
    log_categories(&mut xml);
    default_experiment(&mut xml);
    xml.begin("ModelVariables", &[]);
    for (reference, variable) in variables.list.iter().enumerate() {
        let mut attributes = common(variable, reference);
        attributes.extend(variable.nature.initial.map(|initial| ("initial", initial.into())));
        xml.begin("ScalarVariable", &attributes);
        let mut typed = Vec::new();
        if let Some(unit) = &variable.unit {
            typed.push(("unit", unit.text.clone()));
        }
        if matches!(variable.role, Role::Count(_)) {
            typed.push(("min", variable.least.to_string()));
        }
        if let Role::Text(at) = variable.role {
            typed.push(("start", variables.texts[at].start.into()));
        }
        typed.extend(variable.start.map(|start| ("start", start.to_string())));
        let name = match variable.kind {
            Type::Real => "Real",
            Type::Integer => "Integer",
            Type::Text => "String",
        };
        xml.element(name, &typed);
        xml.end();
    }
    xml.end();
    xml.begin("ModelStructure", &[]);
    for (list, dependencies) in
        [("Outputs", at_once as fn(&Facts<'_>, usize) -> _), ("InitialUnknowns", at_start)]
    {
        if interface.outputs.is_empty() {
            continue;
        }
        xml.begin(list, &[]);
        for (output, reference) in variables.outputs.iter().enumerate() {
            let index = (reference + 1).to_string();
            let dependencies = joined(&dependencies(facts, output), 1);
            xml.element("Unknown", &[("index", index), ("dependencies", dependencies)]);
        }
        xml.end();
    }
    xml.finish()
}
