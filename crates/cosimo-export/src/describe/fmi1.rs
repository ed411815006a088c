//! The description of an FMI 1.0 slave. It has no initial, no independent variable, no model structure.

use cosimo_pack::XmlWriter;

use super::{Facts, document, outputs, types};
use crate::variables::ExportedVariable;

pub(super) fn describe(xml: &mut XmlWriter, facts: &Facts<'_>) {
    // Zero: only states and indicators that the importer integrates count.
    document(xml, facts, "guid").set("numberOfContinuousStates", 0).set("numberOfEventIndicators", 0);
    units(xml, facts);
    types(xml, facts.variables, &["Type", "EnumerationType"], false);
    xml.leaf("DefaultExperiment").set("startTime", 0).set("stopTime", facts.model.stop);
    variables(xml, facts);
    xml.open("Implementation");
    xml.open("CoSimulation_StandAlone");
    xml.leaf("Capabilities")
        .set("canHandleVariableCommunicationStepSize", !facts.capabilities.fixed_step)
        .set("canHandleEvents", true)
        .set("canInterpolateInputs", facts.capabilities.interpolates)
        .set("maxOutputDerivativeOrder", facts.capabilities.output_order)
        .set("canNotUseMemoryManagementFunctions", true);
}

fn variables(xml: &mut XmlWriter, facts: &Facts<'_>) {
    let (outputs, list) = (outputs(facts), &facts.variables.list);
    xml.open("ModelVariables");
    for (reference, variable) in list.iter().enumerate() {
        let (causality, variability) = nature(variable);
        xml.open("ScalarVariable")
            .set("name", &variable.name)
            .set("valueReference", reference)
            .set("description", &variable.about)
            .set("variability", variability)
            .set("causality", causality);
        xml.leaf(variable.kind.old_name())
            .set_some("declaredType", facts.declared_type(variable))
            .set_some("unit", variable.unit.as_ref().map(|unit| &unit.text))
            .set_some("min", facts.least(variable))
            .set_some("start", facts.start_text(variable))
            .set_some("start", facts.start(variable));
        if let Some(entry) = outputs.iter().find(|entry| entry.reference == reference) {
            xml.open("DirectDependency");
            let inputs = entry.dependencies.iter().map(|at| &list[*at]);
            for input in inputs.filter(|variable| variable.nature.causality == "input") {
                xml.text("Name", &input.name);
            }
            xml.close();
        }
        xml.close();
    }
    xml.close();
}

/// Causality and variability of FMI 1.0.
fn nature(variable: &ExportedVariable) -> (&'static str, &'static str) {
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
fn units(xml: &mut XmlWriter, facts: &Facts<'_>) {
    let list = facts.variables.list.iter();
    let mut names: Vec<&str> =
        list.filter_map(|variable| Some(variable.unit.as_ref()?.text.as_str())).collect();
    names.sort_unstable();
    names.dedup();
    if names.is_empty() {
        return;
    }
    xml.open("UnitDefinitions");
    for name in names {
        xml.leaf("BaseUnit").set("unit", name);
    }
    xml.close();
}
