//! Corrections of inputs, and the derivatives and linear models that they need.

use std::sync::Arc;

use cosimo_core::PowerVariable;
use cosimo_core::interface::{Interface, StateSpaceAccess};
use cosimo_core::linear_model::ModelPlace;
use cosimo_core::method::Sizes;
use cosimo_core::registry::quoted;
use cosimo_system::Choice;

use super::choose::Planner;
use super::needs::example;
use super::{PlannedCorrection, PlannedModels};
use crate::simulator_pool::Sources;

pub(super) struct Corrections {
    pub(super) all: Vec<PlannedCorrection>,
    /// Per input, for listings.
    pub(super) names: Vec<&'static str>,
    pub(super) sources: Sources,
    /// For interface Jacobians and for linear models.
    pub(super) source_names: [Option<&'static str>; 2],
    pub(super) models: Option<PlannedModels>,
    /// One of them needs rollback.
    pub(super) rollback: bool,
}

impl Planner<'_> {
    pub(super) fn corrections(&self, shape: &Sizes) -> Option<Corrections> {
        let mut planned: Vec<(&Choice, PlannedCorrection)> = Vec::new();
        let mut names = vec!["-"; self.paths.len()];
        let mut wanted = [None; 2]; // the sources of interface Jacobians and of linear models
        let mut every: Option<Option<u64>> = None;
        let mut modelled = vec![None; self.ports.interfaces.len()]; // by which correction
        let mut rewinds = false;
        let (mut at, mut scratch_at) = (0, 0);
        for (input, path) in self.paths.iter().enumerate() {
            let choice = self.system.methods.correction.of(path);
            let (entry, options) = self.entry(&self.registry.corrections, "correction", choice)?;
            if self.links.rows[input].is_empty() || self.discrete[input] {
                continue;
            }
            names[input] = entry.name;
            let correction = (entry.build)(&options);
            if correction.models().is_some() {
                modelled[self.ports.place(PowerVariable::Input(input)).0] = Some(entry.name);
                for term in &self.links.rows[input] {
                    modelled[self.ports.place(PowerVariable::Output(term.output)).0] = Some(entry.name);
                }
            }
            if let Some((_, known)) = planned
                .iter_mut()
                .find(|(other, _)| other.name == choice.name && other.options == choice.options)
            {
                known.inputs[input] = true;
                continue;
            }
            if correction.idle() {
                continue;
            }
            if let Some(source) = correction.finds_jacobian() {
                self.warn_identified(entry.name, source, choice);
            }
            let needs = (entry.needs)(&options);
            self.check_needs(entry.name, "correction", &needs);
            rewinds |= needs.rollback;
            let models = correction.models();
            for (known, asked) in wanted.iter_mut().zip([correction.jacobian(), models.map(|m| m.source)]) {
                let Some(source) = asked else { continue };
                if let Some(other) = known.replace(source).filter(|other| *other != source) {
                    let message = format!("corrections use two Jacobian sources, `{other}` and `{source}`");
                    let hint = "use one source for all inputs";
                    self.refuse("plan/two-jacobians", &choice.span, [&message, hint]);
                }
            }
            if let Some(models) = models {
                // The shortest interval counts for all corrections.
                every = Some(match every {
                    Some(Some(known)) => Some(models.every.map_or(known, |every| every.min(known))),
                    Some(None) | None => models.every,
                });
            }
            let (memory, scratch) = (correction.memory(shape), correction.scratch(shape));
            let mut inputs = vec![false; self.paths.len()];
            inputs[input] = true;
            let (memory, scratch) = (at..at + memory, scratch_at..scratch_at + scratch);
            (at, scratch_at) = (memory.end, scratch.end);
            planned
                .push((choice, PlannedCorrection { name: entry.name, correction, memory, scratch, inputs }));
        }
        let mut sources = [None, None];
        for (source, name) in sources.iter_mut().zip(wanted) {
            let Some(name) = name else { continue };
            let (entry, options) =
                self.entry(&self.registry.jacobians, "Jacobian source", &Choice::named(name))?;
            *source = Some(Arc::from((entry.build)(&options)));
        }
        let [interface, models] = sources;
        let sources = Sources { interface, models };
        let models = every.zip(sources.models.as_deref()).map(|(every, source)| {
            let places = self.places(|insight| source.sees(insight));
            self.check_models(&places, &modelled, wanted[1].unwrap_or(""));
            PlannedModels { places, every }
        });
        Some(Corrections {
            all: planned.into_iter().map(|(_, planned)| planned).collect(),
            names,
            sources,
            source_names: wanted,
            models,
            rollback: rewinds,
        })
    }

    /// Identified derivatives are missing at first, which deserves a warning.
    fn warn_identified(&self, correction: &str, source: &str, choice: &Choice) {
        let components = self.system.components.iter().zip(self.ports.interfaces);
        let through = components.filter(|(_, interface)| !interface.feedthrough.is_empty());
        let through = quoted(through.map(|(component, _)| &component.name));
        if through.is_empty() {
            return;
        }
        let given = example(&self.registry.jacobians, |source| !source.asks_between_steps());
        let taken = example(&self.registry.jacobians, |source| source.asks_between_steps());
        let message = format!(
            "correction `{correction}` identifies the Jacobian of {through} during the run (source `{source}`); until then \
             feed-through is neglected"
        );
        let hint = format!(
            "identification needs a fixed step, held inputs and about 20 steps; directional derivatives (`{given}`) and \
             finite differences by rollback (`{taken}`) are available at once"
        );
        self.warning("plan/identified-jacobian", &choice.span, [&message, &hint]);
    }

    /// Buffer places of the linear models, for simulators with sufficient state-space access.
    pub(super) fn places(&self, sees: impl Fn(&StateSpaceAccess) -> bool) -> Vec<Option<ModelPlace>> {
        let mut end = (0, 0, 0);
        let place = |(index, interface): (usize, &Interface)| {
            let insight =
                interface.state_space_access.filter(|insight| sees(insight) && !self.steps_ahead(index))?;
            let sizes = (insight.states, interface.inputs.len(), interface.outputs.len());
            let place = ModelPlace::following(end, sizes);
            end = (end.0 + place.states, place.present.end, place.matrices.end);
            Some(place)
        };
        self.ports.interfaces.iter().enumerate().map(place).collect()
    }

    /// Whether its own steps are, or may be, longer than the macro step.
    pub(super) fn steps_ahead(&self, index: usize) -> bool {
        let Some((every, _)) = self.system.components[index].step else { return false };
        self.varies || self.system.methods.step.size.is_none_or(|size| every > size)
    }
}
