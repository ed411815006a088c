//! The description of an FMI 3.0 FMU. The model structure uses value references.

use cosimo_pack::XmlWriter;
use cosimo_pack::xml_writer::Tag;

use super::{
    Facts, ModelStructureEntry, at_start, categories_and_experiment, common, derivatives, document,
    indicators, joined, outputs, types, units,
};
use crate::design::InterfaceType;
use crate::variables::{ExportedVariable, Role};

pub(super) fn describe(xml: &mut XmlWriter, facts: &Facts<'_>) {
    drop(document(xml, facts, "instantiationToken"));
    kinds(xml, facts);
    units(xml, facts.variables);
    types(xml, facts.variables, &["EnumerationType"], true);
    categories_and_experiment(xml, facts.model);
    xml.open("ModelVariables");
    for (reference, variable) in facts.variables.list.iter().enumerate() {
        describe_variable(xml, facts, variable, reference);
    }
    xml.close();
    xml.open("ModelStructure");
    unknowns(xml, "Output", outputs(facts));
    unknowns(xml, "ContinuousStateDerivative", derivatives(facts));
    unknowns(xml, "InitialUnknown", at_start(facts));
    unknowns(xml, "EventIndicator", indicators(facts));
}

fn kinds(xml: &mut XmlWriter, facts: &Facts<'_>) {
    let (can, identifier) = (facts.capabilities, facts.design.identifier());
    let abilities = |tag: &mut Tag<'_>, derivatives: bool| {
        tag.set("modelIdentifier", &identifier)
            .set("canGetAndSetFMUState", can.rollback)
            .set("canSerializeFMUState", can.rollback)
            .set("providesDirectionalDerivatives", derivatives)
            .set("providesAdjointDerivatives", derivatives);
    };
    if facts.design.kind.offers(InterfaceType::ModelExchange) {
        let mut tag = xml.leaf("ModelExchange");
        abilities(&mut tag, can.tangents);
        tag.set("needsCompletedIntegratorStep", can.completed).set("providesEvaluateDiscreteStates", false);
    }
    if facts.design.kind.offers(InterfaceType::CoSimulation) {
        let mut tag = xml.leaf("CoSimulation");
        abilities(&mut tag, can.jacobian);
        tag.set("canHandleVariableCommunicationStepSize", !can.fixed_step)
            .set("maxOutputDerivativeOrder", can.output_order)
            .set("providesIntermediateUpdate", can.intermediate)
            .set("mightReturnEarlyFromDoStep", can.event_mode)
            .set("canReturnEarlyAfterIntermediateUpdate", can.shows_solver_steps)
            .set("hasEventMode", can.event_mode);
    }
}

fn describe_variable(xml: &mut XmlWriter, facts: &Facts<'_>, variable: &ExportedVariable, reference: usize) {
    let (element, nature, list) = (variable.kind.name(), variable.nature, &facts.variables.list);
    let between =
        facts.capabilities.intermediate && matches!(variable.role, Role::Input(_) | Role::Output(_));
    let clock = variable.clocked_by.map(Role::Clock);
    // Strings and binaries have an element for their start.
    let start = facts.start_text(variable);
    let mut tag = if start.is_some() { xml.open(element) } else { xml.leaf(element) };
    common(&mut tag, variable, reference);
    tag.set_some("intermediateUpdate", between.then_some(true))
        .set_some("unit", variable.unit.as_ref().map(|unit| &unit.text))
        // That of a parameter follows from its causality.
        .set_some("initial", nature.initial.filter(|_| ["output", "local"].contains(&nature.causality)))
        .set_some("min", facts.least(variable))
        .set_some("derivative", facts.state_of(variable))
        .set_some("reinit", facts.jumps(variable));
    if let (Role::Clock(clock), Some(model)) = (variable.role, facts.model.clocks) {
        for (key, value) in model.clocks[clock].attributes {
            tag.set(key, value);
        }
    }
    tag.set_some("clocks", clock.and_then(|clock| list.iter().position(|variable| variable.role == clock)))
        .set_some("start", facts.start(variable))
        .set_some("declaredType", facts.declared_type(variable));
    drop(tag);
    if let Some(start) = start {
        xml.leaf("Start").set("value", start);
        xml.close();
    }
}

fn unknowns(xml: &mut XmlWriter, element: &str, entries: Vec<ModelStructureEntry>) {
    for ModelStructureEntry { reference, dependencies } in entries {
        xml.leaf(element).set("valueReference", reference).set("dependencies", joined(&dependencies, 0));
    }
}
