//! The description of an FMI 3.0 FMU. The model structure speaks of value references.

use super::{
    Facts, Xml, at_once, at_start, common, default_experiment, joined, log_categories, tool, units, words,
};
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
            ("mightReturnEarlyFromDoStep", "false".into()),
            ("canReturnEarlyAfterIntermediateUpdate", "false".into()),
            ("hasEventMode", "false".into()),
        ],
    );
    units(&mut xml, variables);
    log_categories(&mut xml);
    default_experiment(&mut xml);
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
        if let (Some(initial), "output") = (variable.nature.initial, variable.nature.causality) {
            attributes.push(("initial", initial.into()));
        }
        if matches!(variable.role, Role::Count(_)) {
            attributes.push(("min", variable.least.to_string()));
        }
        attributes.extend(variable.start.map(|start| ("start", start.to_string())));
        match (variable.kind, variable.role) {
            (Type::Real, _) => xml.element("Float64", &attributes),
            (Type::Integer, _) => xml.element("Int32", &attributes),
            (Type::Text, role) => {
                xml.begin("String", &attributes);
                if let Role::Text(at) = role {
                    xml.element("Start", &[("value", variables.texts[at].start.into())]);
                }
                xml.end();
            }
        }
    }
    xml.end();
    xml.begin("ModelStructure", &[]);
    for (element, dependencies) in
        [("Output", at_once as fn(&Facts<'_>, usize) -> _), ("InitialUnknown", at_start)]
    {
        for (output, reference) in variables.outputs.iter().enumerate() {
            let reference = reference.to_string();
            let dependencies = joined(&dependencies(facts, output), 0);
            xml.element(element, &[("valueReference", reference), ("dependencies", dependencies)]);
        }
    }
    xml.finish()
}
