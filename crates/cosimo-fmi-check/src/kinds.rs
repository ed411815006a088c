//! Rules about `<ModelExchange>`, `<CoSimulation>` and `<ScheduledExecution>`: interface types and their
//! capability flags.

use cosimo_fmi::description::{Causality, Fmi, VariableType};

use crate::model::ModelDescription;
use crate::report::Findings;
use crate::schema;
use crate::schema::number;

pub(crate) fn none(model: &ModelDescription<'_>, report: &mut Findings) {
    if model.kinds.is_empty() {
        let wanted = if model.fmi == Fmi::Two {
            "`<ModelExchange>` or `<CoSimulation>`"
        } else {
            "`<ModelExchange>`, `<CoSimulation>` or `<ScheduledExecution>`"
        };
        report.find(model.source.element(model.root), "the FMU has no interface type", "none", wanted);
    }
}

pub(crate) fn identifier(model: &ModelDescription<'_>, report: &mut Findings) {
    for kind in &model.kinds {
        let Some(name) = kind.attribute("modelIdentifier") else { continue };
        let letter = |c: char| c == '_' || c.is_ascii_alphanumeric();
        if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) || !name.chars().all(letter) {
            report.find(
                model.source.attribute(*kind, "modelIdentifier"),
                "modelIdentifier is not a valid C identifier",
                format!("\"{name}\""),
                "letters, digits and underscores, not starting with a digit",
            );
        }
    }
}

/// A flag that is set although the flag it requires is not.
fn needs(model: &ModelDescription<'_>, report: &mut Findings, flag: &str, needed: &str) {
    let is_true = |text: Option<&str>| matches!(text.map(str::trim), Some("true" | "1"));
    for kind in &model.kinds {
        if is_true(kind.attribute(flag)) && !is_true(kind.attribute(needed)) {
            report.find(
                model.source.attribute(*kind, flag),
                format!("`{flag}` is true without `{needed}`"),
                format!(
                    "{flag} true, {needed} {}",
                    kind.attribute(needed).unwrap_or("absent (default false)")
                ),
                format!("{needed} true as well"),
            );
        }
    }
}

pub(crate) fn serialize(model: &ModelDescription<'_>, report: &mut Findings) {
    match model.fmi {
        Fmi::One => {}
        Fmi::Two => needs(model, report, "canSerializeFMUstate", "canGetAndSetFMUstate"),
        Fmi::Three => needs(model, report, "canSerializeFMUState", "canGetAndSetFMUState"),
    }
}

pub(crate) fn early_return(model: &ModelDescription<'_>, report: &mut Findings) {
    needs(model, report, "canReturnEarlyAfterIntermediateUpdate", "providesIntermediateUpdate");
}

pub(crate) fn clocks_and_events(model: &ModelDescription<'_>, report: &mut Findings) {
    let Some(kind) = model.kind("CoSimulation") else { return };
    let Some(clock) = model.variables.iter().find(|variable| variable.kind == Some(VariableType::Clock))
    else {
        return;
    };
    if !matches!(kind.attribute("hasEventMode").map(str::trim), Some("true" | "1")) {
        report.find(
            model.source.attribute(kind, "hasEventMode"),
            "the FMU has clocks but no event mode",
            format!(
                "clock `{}`, hasEventMode {}",
                clock.name,
                kind.attribute("hasEventMode").unwrap_or("absent")
            ),
            "hasEventMode true",
        );
    }
}

pub(crate) fn fixed_step(model: &ModelDescription<'_>, report: &mut Findings) {
    let Some(kind) = model.kind("CoSimulation") else { return };
    let Some(step) = kind.attribute("fixedInternalStepSize").and_then(number) else { return };
    if !(step.is_finite() && step > 0.0) {
        report.find(
            model.source.attribute(kind, "fixedInternalStepSize"),
            "fixedInternalStepSize is invalid",
            step.to_string(),
            "a number greater than 0",
        );
    }
}

/// `priority` belongs to the model partition that an input clock activates in scheduled execution.
pub(crate) fn priority(model: &ModelDescription<'_>, report: &mut Findings) {
    let scheduled = model.kind("ScheduledExecution").is_some();
    for clock in model.variables.iter().filter(|variable| variable.kind == Some(VariableType::Clock)) {
        let input = clock.causality == Some(Causality::Input);
        let given = model.inherited(clock, "priority");
        match given {
            None if scheduled && input => report.find(
                model.source.element(clock.node),
                format!("the clock `{}` has no priority", clock.name),
                "none",
                "`priority` on every input clock of an FMU for scheduled execution",
            ),
            Some(priority) if !scheduled || !input => {
                let node = if clock.node.has_attribute("priority") { clock.node } else { clock.typed };
                let why =
                    if input { "an FMU without scheduled execution" } else { "a clock that is not an input" };
                report.find(
                    model.source.attribute(node, "priority"),
                    format!("the priority of clock `{}` has no effect", clock.name),
                    format!("priority {priority} on {why}"),
                    "`priority` on input clocks for scheduled execution only",
                );
            }
            _ => {}
        }
    }
}

/// The schema of FMI 3.0 allows other attributes here, which hides flags in the spelling of FMI 2.0.
pub(crate) fn misspelt_flag(model: &ModelDescription<'_>, report: &mut Findings) {
    for kind in &model.kinds {
        let Some(element) = schema::FMI3.element(kind.tag_name().name()) else { continue };
        for attribute in kind.attributes().filter(|attribute| attribute.namespace().is_none()) {
            let name = attribute.name();
            let near = |known: &str| {
                let (a, b) = (known.to_ascii_lowercase(), name.to_ascii_lowercase());
                known != name && a.trim_end_matches('s') == b.trim_end_matches('s')
            };
            let known = element.attributes.iter().map(|known| known.name);
            if element.attribute(name).is_none()
                && let Some(meant) = known.into_iter().find(|known| near(known))
            {
                report.find(
                    model.source.attribute(*kind, name),
                    format!("`{name}` is not a flag of FMI 3.0 and is ignored"),
                    format!("`{name}`"),
                    format!("`{meant}`"),
                );
            }
        }
    }
}
