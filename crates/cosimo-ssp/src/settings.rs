//! Simulation settings in annotations of other tools: the step of OSP's and OpenModelica's master algorithms, the
//! tolerances of integrators, and the output interval. Unsupported settings cause a warning, since a run with
//! other settings than in the exporting tool gives other results.

use cosimo_core::Value;
use cosimo_core::registry::{Registry, number_text};
use cosimo_system::{ChoiceOrigin, Component, Problem, Span, System, sources};
use roxmltree::Node;

use crate::document::SspDocument;

/// Types of annotations that hold settings.
const TOOLS: &[&str] = &["com.opensimulationplatform", "org.openmodelica"];
/// Elements that only contain others.
const AROUND: &[&str] = &["Annotations", "Algorithm"];
/// Attributes of `SimulationInformation` about result files, which do not change results.
const FILES: &[&str] = &["resultFile", "bufferSize", "signalFilter", "loggingInterval"];

/// The settings of a description.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Settings {
    /// The communication step in seconds.
    pub(crate) step: Option<(f64, Span)>,
    /// Of integrators of FMUs for model exchange.
    relative: Option<f64>,
    absolute: Option<f64>,
    largest_step: Option<f64>,
    /// Seconds between rows of results.
    every: Option<f64>,
}

impl Settings {
    /// All settings of a description. Of nested systems the outermost counts.
    pub(crate) fn read(page: &mut SspDocument<'_>, root: Node<'_, '_>) -> Settings {
        let mut settings = Settings::default();
        let mut found: Vec<Node<'_, '_>> = root.descendants().filter(|node| is_setting(*node)).collect();
        let depth = |node: &Node<'_, '_>| {
            node.ancestors().filter(|above| above.tag_name().name() == "System").count()
        };
        found.sort_by_key(depth);
        for node in found {
            settings.add(page, node);
        }
        settings
    }

    fn add(&mut self, page: &mut SspDocument<'_>, node: Node<'_, '_>) {
        let name = node.tag_name().name();
        if name == "SimulationInformation" {
            self.every =
                self.every.or_else(|| page.number(node, "loggingInterval").filter(|every| *every > 0.0));
            let rest = unread(node, FILES);
            if !rest.is_empty() {
                let message = format!("unsupported simulation settings are ignored: {}", rest.join(", "));
                page.log.warning("ssp/settings", message, &page.span(node));
            }
            return;
        }
        let (size, known): (&str, &[&str]) = match name {
            "FixedStepAlgorithm" => ("baseStepSize", &["baseStepSize"]),
            "FixedStepMaster" | "FixedStepSolver" => {
                ("stepSize", &["description", "stepSize", "absoluteTolerance", "relativeTolerance"])
            }
            "VariableStepSolver" => (
                "maximumStepSize",
                &[
                    "description",
                    "absoluteTolerance",
                    "relativeTolerance",
                    "minimumStepSize",
                    "maximumStepSize",
                    "initialStepSize",
                ],
            ),
            "VariableStepMaster" => ("initialStepSize", &["description", "initialStepSize"]),
            "EccoAlgorithm" => ("stepSize", &["stepSize"]),
            _ => {
                let message = format!("the simulation settings in `<{name}>` are not supported and ignored");
                page.log.warning("ssp/settings", message, &page.span(node));
                return;
            }
        };
        let step = page.number(node, size).filter(|step| *step > 0.0);
        let span = page.span_of(node, size);
        match (&self.step, step) {
            (None, Some(step)) => self.step = Some((step, span)),
            (Some((outer, _)), Some(inner)) if *outer != inner => {
                let message = format!(
                    "`<{name}>` has a step of {} s inside a system with a step of {} s; {} s is used for all",
                    number_text(inner),
                    number_text(*outer),
                    number_text(*outer)
                );
                page.log.warning("ssp/settings", message, &span);
            }
            _ => {}
        }
        if name == "VariableStepSolver" {
            self.largest_step = self.largest_step.or(step);
            let message = "OpenModelica integrates the FMUs of this system as one, with variable steps; here they are \
                           coupled with fixed macro steps";
            let problem = Problem::warning("ssp/settings", message, page.span(node));
            page.log
                .push(problem.hint("`--monolithic '*'` integrates FMUs for model exchange as one system"));
        }
        if known.contains(&"relativeTolerance") {
            let positive = |number: &f64| *number > 0.0;
            self.relative = self.relative.or_else(|| page.number(node, "relativeTolerance").filter(positive));
            self.absolute = self.absolute.or_else(|| page.number(node, "absoluteTolerance").filter(positive));
        }
        let rest = unread(node, known);
        if !rest.is_empty() {
            let steps = step
                .map_or("a fixed step".to_owned(), |step| format!("a fixed step of {} s", number_text(step)));
            let message = format!(
                "`<{name}>` is only partly supported: {steps} is used, ignored are {}",
                rest.join(", ")
            );
            page.log.warning("ssp/settings", message, &page.span(node));
        }
    }

    /// Applies the settings to a system without an annotation of Cosimo.
    pub(crate) fn apply(&self, system: &mut System, registry: &Registry) {
        if let Some((step, span)) = &self.step {
            system.methods.step.size = Some(*step);
            system.methods.step.size_origin = ChoiceOrigin::File;
            system.methods.step.span = span.clone();
        }
        if self.every.is_some() {
            system.results.every = self.every;
        }
        let integrators: Vec<(&str, f64)> = [
            ("cosimo.relative", self.relative),
            ("cosimo.absolute", self.absolute),
            ("cosimo.largest_step", self.largest_step),
        ]
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)))
        .collect();
        let folder = system.folder.clone();
        for component in system.components.iter_mut().filter(|_| !integrators.is_empty()) {
            let kind = registry.source(&component.source);
            let known = kind.map(|kind| kind.parameters(&component.source, &folder)).unwrap_or_default();
            let mut tried: Component = component.clone();
            for (name, value) in &integrators {
                let given = component.parameters.iter().any(|(parameter, ..)| parameter == name);
                if !given && known.iter().any(|parameter| parameter.name == *name) {
                    tried.parameters.push(((*name).to_owned(), Value::Number(*value), 0..0));
                }
            }
            // FMUs with their own solver reject these settings.
            if tried != *component && sources::interface(&tried, &folder, registry).is_some() {
                *component = tried;
            }
        }
    }
}

/// Whether an element has settings of a run: inside a tool's annotation, or where OpenModelica wrote them
/// before it used annotations.
fn is_setting(node: Node<'_, '_>) -> bool {
    if !node.is_element() {
        return false;
    }
    let annotated = || {
        node.ancestors().skip(1).any(|above| {
            let tool = above.attribute("type").is_some_and(|tool| TOOLS.contains(&tool.trim()));
            above.tag_name().name() == "Annotation" && tool
        })
    };
    let above = node.parent_element().map_or("", |above| above.tag_name().name());
    match node.tag_name().name() {
        "SimulationInformation" | "FixedStepAlgorithm" | "EccoAlgorithm" | "StepSizeHint" => annotated(),
        name if AROUND.contains(&name) => false,
        _ => above == "SimulationInformation" || (above == "Algorithm" && annotated()),
    }
}

/// Attributes that are not read, in XML syntax.
fn unread(node: Node<'_, '_>, known: &[&str]) -> Vec<String> {
    let rest = node.attributes().filter(|attribute| !known.contains(&attribute.name()));
    rest.map(|attribute| format!("`{}=\"{}\"`", attribute.name(), attribute.value())).collect()
}
