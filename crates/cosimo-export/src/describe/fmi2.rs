//! The description of an FMI 2.0 FMU. Variables are counted from 1 in the model structure.

use cosimo_native::Hybrid;
use cosimo_pack::XmlWriter;
use cosimo_pack::xml_writer::Tag;

use super::{
    Facts, ModelStructureEntry, at_start, categories_and_experiment, common, derivatives, document, joined,
    outputs, types, units,
};
use crate::design::InterfaceType;

pub(super) fn describe(xml: &mut XmlWriter, facts: &Facts<'_>) {
    let indicators = facts.equations.map_or(0, Hybrid::indicator_count);
    document(xml, facts, "guid").set("numberOfEventIndicators", indicators);
    kinds(xml, facts);
    units(xml, facts.variables);
    types(xml, facts.variables, &["SimpleType", "Enumeration"], true);
    categories_and_experiment(xml, facts.model);
    variables(xml, facts);
    xml.open("ModelStructure");
    unknowns(xml, "Outputs", outputs(facts));
    unknowns(xml, "Derivatives", derivatives(facts));
    unknowns(xml, "InitialUnknowns", at_start(facts));
}

fn kinds(xml: &mut XmlWriter, facts: &Facts<'_>) {
    let (can, identifier) = (facts.capabilities, facts.design.identifier());
    let abilities = |tag: &mut Tag<'_>, derivative: bool| {
        tag.set("canNotUseMemoryManagementFunctions", true)
            .set("canGetAndSetFMUstate", can.rollback)
            .set("canSerializeFMUstate", can.rollback)
            .set("providesDirectionalDerivative", derivative);
    };
    if facts.design.kind.offers(InterfaceType::ModelExchange) {
        let mut tag = xml.leaf("ModelExchange");
        tag.set("modelIdentifier", &identifier).set("completedIntegratorStepNotNeeded", !can.completed);
        abilities(&mut tag, can.tangents);
    }
    if facts.design.kind.offers(InterfaceType::CoSimulation) {
        let mut tag = xml.leaf("CoSimulation");
        tag.set("modelIdentifier", &identifier)
            .set("canHandleVariableCommunicationStepSize", !can.fixed_step)
            .set("canInterpolateInputs", can.interpolates)
            .set("maxOutputDerivativeOrder", can.output_order);
        abilities(&mut tag, can.jacobian);
    }
}

fn variables(xml: &mut XmlWriter, facts: &Facts<'_>) {
    xml.open("ModelVariables");
    for (reference, variable) in facts.variables.list.iter().enumerate() {
        let mut tag = xml.open("ScalarVariable");
        common(&mut tag, variable, reference);
        tag.set_some("initial", variable.nature.initial);
        drop(tag);
        xml.leaf(variable.kind.old_name())
            .set_some("unit", variable.unit.as_ref().map(|unit| &unit.text))
            .set_some("min", facts.least(variable))
            .set_some("start", facts.start_text(variable))
            .set_some("derivative", facts.state_of(variable).map(|state| state + 1))
            .set_some("reinit", facts.jumps(variable))
            .set_some("start", facts.start(variable))
            .set_some("declaredType", facts.declared_type(variable));
        xml.close();
    }
    xml.close();
}

fn unknowns(xml: &mut XmlWriter, list: &'static str, entries: Vec<ModelStructureEntry>) {
    if entries.is_empty() {
        return;
    }
    xml.open(list);
    for ModelStructureEntry { reference, dependencies } in entries {
        xml.leaf("Unknown").set("index", reference + 1).set("dependencies", joined(&dependencies, 1));
    }
    xml.close();
}
