//! The needs of methods against the abilities of simulators, and warnings before a run: names that match nothing,
//! combinations of methods without effect, outputs that may not respond between steps.

use std::collections::BTreeSet;
use std::ops::Range;

use cosimo_core::interface::Needs;
use cosimo_core::linear_model::ModelPlace;
use cosimo_core::method::{Estimate, Extrapolation};
use cosimo_core::registry::{MethodEntry, Options, find, number_text, suggest};
use cosimo_core::{Clock, PowerVariable, Time, clock};
use cosimo_system::{Choice, EndRule, Problem};

use super::choose::{ExtrapolationCache, Planner};
use super::corrections::Corrections;
use super::order::{Loop, Order};
use crate::history::History;

/// The largest number of steps of a component in one macro step: more would not end.
const MOST_OWN_STEPS: f64 = 1e9;

/// The first method with a property, without options; for hints.
pub(super) fn example<T: ?Sized>(
    entries: &[&'static MethodEntry<T>],
    has: impl Fn(&T) -> bool,
) -> &'static str {
    let has = |entry: &&&MethodEntry<T>| {
        Options::resolve("", entry.options, &[]).is_ok_and(|options| has((entry.build)(&options).as_ref()))
    };
    entries.iter().find(has).map_or("-", |entry| entry.name)
}

impl Planner<'_> {
    /// Checks the needs of a method against the abilities of each simulator.
    pub(super) fn check_needs(&self, name: &str, axis: &str, needs: &Needs) {
        for (index, interface) in self.ports.interfaces.iter().enumerate() {
            let can = &interface.abilities;
            let component = &self.system.components[index];
            for (needed, able, code, what) in [
                (needs.rollback, can.rollback, "plan/needs-rollback", "support rollback"),
                (
                    needs.jacobian,
                    can.jacobian || interface.feedthrough.is_empty(),
                    "plan/needs-jacobian",
                    "provide directional derivatives",
                ),
                (
                    needs.variable_step,
                    can.variable_step || self.takes_any_window(index),
                    "plan/needs-variable-step",
                    "support variable steps",
                ),
            ] {
                if needed && !able {
                    let who = &component.name;
                    let message =
                        format!("{axis} `{name}` needs all components to {what}, but `{who}` does not");
                    let hint = format!("choose another {axis}; `cosimo methods` lists the requirements");
                    let problem = component.error(code, message).label(format!("`{}`", component.source));
                    self.report(problem.hint(hint));
                }
            }
        }
        if needs.bonds && self.system.bonds.is_empty() && self.system.junctions.is_empty() {
            let message = format!("{axis} `{name}` needs a power bond, but the system has none");
            let hint = format!(
                "declare a `[[bond]]` where an effort and a flow are exchanged (`cosimo bonds` finds them), or choose \
                 another {axis}"
            );
            self.refuse("plan/needs-bond", &self.system.methods.estimate.span, [&message, &hint]);
        }
    }

    /// An extrapolation needs abilities of the simulators that drive its input only.
    pub(super) fn check_sources<T: ?Sized>(&self, entry: &MethodEntry<T>, needs: &Needs, input: usize) {
        for term in &self.links.rows[input] {
            let owner = self.owners[term.output];
            if needs.slopes && !self.ports.interfaces[owner].abilities.slopes {
                let line = self.registry.inputs.iter().find(|entry| {
                    let line = |options: Options| {
                        !(entry.needs)(&options).slopes && (entry.build)(&options).choose(false).degree() == 1
                    };
                    Options::resolve("", entry.options, &[]).is_ok_and(line)
                });
                let line = line.map_or("-", |entry| entry.name);
                self.report(
                    Problem::error(
                        "plan/needs-slopes",
                        format!(
                            "extrapolation `{}` of `{}` needs the derivative of `{}`, but `{}` does not provide output derivatives",
                            entry.name,
                            self.ports.path(PowerVariable::Input(input)),
                            self.ports.path(PowerVariable::Output(term.output)),
                            self.ports.names[owner]
                        ),
                        self.system
                            .methods
                            .input
                            .of(&self.ports.path(PowerVariable::Input(input)))
                            .span
                            .clone(),
                    )
                    .hint(format!("use `{line}`, which extrapolates from past values"))
                    .about(&self.ports.names[owner]),
                );
            }
        }
    }

    /// Whether all simulators are rolled back and stepped to an event of one of them inside a window. A simulator that
    /// handles its events alone stops only if its outputs are connected.
    pub(super) fn stops_at_events(&self, heard: impl Fn(usize) -> bool) -> bool {
        let can = |index: &usize| self.ports.interfaces[*index].abilities;
        // A simulator with early return and a fixed step size cannot be stepped there, not even by its own steps.
        let any = |index: &usize| {
            self.takes_any_window(*index) && (can(index).variable_step || !can(index).early_return)
        };
        let stops = |index: &usize| can(index).early_return && (!can(index).events || heard(*index));
        let Some(stopping) = (0..self.ports.interfaces.len()).find(stops) else { return false };
        let stuck = (0..self.ports.interfaces.len()).find(|index| !can(index).rollback || !any(index));
        if let (Some(stuck), true) = (stuck, can(&stopping).events) {
            let names = self.ports.names;
            let why = if can(&stuck).rollback { "variable steps" } else { "rollback" };
            self.report(Problem::warning(
                "plan/events-inside",
                format!(
                    "events of `{}` take effect at the next communication point: `{}` does not support {why}",
                    names[stopping], names[stuck]
                ),
                self.system.components[stopping].span.clone(),
            ));
        }
        stuck.is_none()
    }

    /// With a fixed macro step, own steps of components must be fractions or multiples of it.
    pub(super) fn check_own_steps(&self, size: f64) {
        for component in &self.system.components {
            let Some((every, span)) = &component.step else { continue };
            let count = size / every;
            if count > MOST_OWN_STEPS {
                let message = format!(
                    "the step of `{}`, {} s, means {count:.1e} steps in each macro step of {} s; expected at most {:e}",
                    component.name,
                    number_text(*every),
                    number_text(size),
                    MOST_OWN_STEPS
                );
                let problem = Problem::error("plan/own-step", message, span.clone()).label("too small");
                self.report(problem.about(&component.name).hint("choose a larger step for the component"));
                continue;
            }
            if clock::fits(*every, size) {
                continue;
            }
            let nearest = if *every > size {
                [(every / size).floor() * size, (every / size).ceil() * size]
            } else {
                [size / (size / every).ceil(), size / (size / every).floor()]
            };
            let [below, above] = nearest.map(number_text);
            let message = format!(
                "the step of `{}`, {} s, is neither a multiple nor a fraction of the macro step of {} s",
                component.name,
                number_text(*every),
                number_text(size)
            );
            let problem = Problem::error("plan/own-step", message, span.clone()).label("does not fit");
            let hint = format!("the nearest valid steps are {below} s and {above} s");
            self.report(problem.about(&component.name).hint(hint));
        }
    }

    pub(super) fn check_input_names(&self) {
        let recipe = &self.system.methods;
        let named = recipe.input.places().chain(recipe.correction.places()).chain(recipe.exchange.places());
        let known: BTreeSet<&String> = self.paths.iter().collect();
        for (name, span) in named {
            let unknown = !known.contains(name) && self.ports.find(name, span) != Err(None);
            if unknown {
                let hint = suggest(name, self.paths.iter().map(String::as_str));
                self.refuse("plan/unknown-port", span, [&format!("`{name}` is not an input"), &hint]);
            }
        }
    }

    /// Inputs without input derivatives get a held value, with a warning.
    pub(super) fn check_input_degrees(&self, fits: &ExtrapolationCache) {
        for (input, &receiver) in self.receivers.iter().enumerate() {
            if self.links.rows[input].is_empty() {
                continue;
            }
            let degree = fits.degree(input);
            let follows = self.ports.interfaces[receiver].abilities.input_degree;
            if degree > u32::from(follows) {
                let message = format!(
                    "`{}` supports input derivatives up to order {follows} only, less than the degree {degree} of its extrapolation",
                    self.ports.path(PowerVariable::Input(input))
                );
                let span = self.system.components[receiver].span.clone();
                let problem = Problem::warning("plan/input-degree", message, span);
                self.report(self.ports.about(problem, PowerVariable::Input(input)));
            }
        }
    }

    /// An extrapolation chosen by feed-through is pointless where all inputs are alike in that.
    pub(super) fn check_feedthrough_choice(&self, chosen: &[(&Choice, usize, bool)]) {
        for (choice, _, feedthrough) in chosen {
            let same = |other: &Choice| other.name == choice.name && other.options == choice.options;
            let alike = chosen.iter().all(|(other, _, through)| !same(other) || through == feedthrough);
            let Some((entry, options)) = self.entry(&self.registry.inputs, "input", choice) else {
                continue;
            };
            let degree = |feedthrough| (entry.build)(&options).choose(feedthrough).degree();
            if !alike || degree(true) == degree(false) {
                continue;
            }
            let (which, hint) = if *feedthrough {
                (
                    "all inputs have direct feed-through",
                    "FMUs that do not declare dependencies count as if all outputs depended on all inputs; the parameter \
                     `\"cosimo.feedthrough\" = \"probed\"` measures them",
                )
            } else {
                ("no input has direct feed-through", "choose that degree directly")
            };
            let degree = degree(*feedthrough);
            let name = entry.name;
            let message = format!(
                "extrapolation `{name}` has no effect of its own: {which}, so all have degree {degree}"
            );
            self.warning("plan/nothing-to-choose", &choice.span, [&message, hint]);
        }
    }

    /// Outputs of some simulators respond to new inputs only after a step.
    pub(super) fn check_answers(&self, corrections: &Corrections) {
        let asking = corrections.sources.interface.as_ref().filter(|source| source.asks_between_steps());
        for (index, interface) in self.ports.interfaces.iter().enumerate() {
            let first = self.ports.blocks[index].inputs.start;
            let renewed = interface
                .feedthrough
                .iter()
                .any(|(_, input)| self.fresh[first + input] && !self.links.rows[first + input].is_empty());
            if interface.abilities.direct_response
                || interface.feedthrough.is_empty()
                || !(asking.is_some() || renewed)
            {
                continue;
            }
            let (who, hint) = if renewed {
                let hint = "compare with `exchange = \"stale\"`, which does not need it".to_owned();
                ("`exchange = \"fresh\"`".to_owned(), hint)
            } else {
                let other = example(&self.registry.jacobians, |source| !source.asks_between_steps());
                let source = corrections.source_names[0].unwrap_or("-");
                let hint = format!("compare with `{other}`, if the FMU provides directional derivatives");
                (format!("the Jacobian `{source}`"), hint)
            };
            let component = &self.system.components[index];
            let message = format!(
                "{who} reads outputs of `{}` after setting inputs without a step, and this type of simulator need not update \
                 them",
                component.name
            );
            self.report(component.warning("plan/answers-between-steps", message).hint(hint));
        }
    }

    /// With a short history the first extrapolations have a lower degree.
    pub(super) fn check_history(&self, history: &History, fits: &[Box<dyn Extrapolation>]) {
        let Some((file, span)) = &self.system.experiment.history else { return };
        let wanted = fits.iter().map(|fit| fit.history()).max().unwrap_or(1) - 1;
        let found = history.times.len();
        if found > 0 && found < wanted {
            let message = format!(
                "expected {wanted} samples before the start, got {found} in `{}`; the first extrapolations have a lower degree",
                file.display()
            );
            self.warning("plan/short-history", span, [&message, "add earlier rows to the file"]);
        }
    }

    /// Loops are solved at initialisation. Later that depends on the exchange, and on the simulators in them.
    pub(super) fn check_loops(&self, order: &Order, renewal: &Order, repeats: bool) {
        let about =
            |found: &Loop, severity: fn(&'static str, String, Range<usize>) -> Problem, code, words: &str| {
                let input = PowerVariable::Input(found.path.get(1).copied().unwrap_or(0));
                let component = &self.system.components[self.ports.place(input).0];
                let message = format!("{words}: {}", self.ports.loop_text(&found.path));
                severity(code, message, component.span.clone())
                    .about_port(&component.name, &self.ports.port(input).name)
            };
        for found in &renewal.loops {
            let owner = |output: &usize| self.ports.place(PowerVariable::Output(*output)).0;
            let mut owners = found.outputs.iter().map(owner);
            let Some(eventful) = owners.find(|owner| self.ports.interfaces[*owner].abilities.events) else {
                continue;
            };
            let words = format!(
                "algebraic loop cannot be solved at communication points: `{}` would handle an event in each iteration",
                self.ports.names[eventful]
            );
            self.report(about(found, Problem::error, "plan/algebraic-loop", &words).hint(
                "use `exchange = \"stale\"` for an input of the loop, which then lags by one step, or a `[monolithic.name]` \
                 group",
            ));
        }
        if repeats {
            return;
        }
        let solved: BTreeSet<usize> = renewal.loops.iter().flat_map(|found| &found.inputs).copied().collect();
        let delayed: Vec<&Loop> = order
            .loops
            .iter()
            .filter(|found| !found.inputs.iter().any(|input| solved.contains(input)))
            .collect();
        if let Some(first) = delayed.first() {
            let words = match delayed.len() {
                1 => "algebraic loop: solved at initialisation only; afterwards one signal lags by one step"
                    .to_owned(),
                count => format!(
                    "{count} algebraic loops: solved at initialisation only; afterwards one signal of each lags by one step; \
                     the first"
                ),
            };
            self.report(
                about(first, Problem::warning, "plan/delayed-loop", &words)
                    .hint("`exchange = \"fresh\"` for its inputs solves it at every communication point"),
            );
        }
    }

    /// A missing linear model does not prevent a run, but deserves a warning.
    pub(super) fn check_models(
        &self,
        places: &[Option<ModelPlace>],
        modelled: &[Option<&'static str>],
        source: &str,
    ) {
        for (index, place) in places.iter().enumerate() {
            let (Some(correction), None) = (modelled[index], place) else { continue };
            let component = &self.system.components[index];
            let hint = if self.steps_ahead(index) {
                "its step is longer than the macro step, which leaves no point for a linearisation"
            } else if self.ports.interfaces[index].state_space_access.is_some() {
                "choose another `jacobian` of the correction"
            } else {
                let other = example(&self.registry.corrections, |correction| {
                    correction.learns() && correction.models().is_none()
                });
                &format!(
                    "native models and model-exchange FMUs have one, co-simulation FMUs only if they list their states and \
                     provide directional derivatives; the correction `{other}` needs none"
                )
            };
            let message = format!(
                "correction `{correction}` has no linear model of `{}` from the Jacobian source `{source}`: its inputs, and \
                 those it drives, are not corrected",
                component.name
            );
            self.report(component.warning("plan/no-linear-model", message).hint(hint));
        }
    }

    /// The stop time may shorten the last step, which simulators with a fixed step cannot take.
    pub(super) fn check_last_step(&self, size: Option<f64>) {
        let experiment = &self.system.experiment;
        let (Some(start), Some(stop)) = (Time::new(experiment.start), Time::new(experiment.stop)) else {
            return;
        };
        if experiment.end != EndRule::Exact {
            return;
        }
        for (component, interface) in self.system.components.iter().zip(self.ports.interfaces) {
            let own = component.step.as_ref().map(|(every, _)| *every);
            let Some(size) = own.or(size) else { continue };
            if !interface.abilities.variable_step && !Clock::divides(size, start, stop) {
                let message = format!(
                    "`{}` has a fixed step size, but the last step would be shorter: from {start} to {stop} is not a multiple \
                     of {size} s",
                    component.name
                );
                let problem = component.error("plan/needs-variable-step", message);
                let hint = "choose a size that divides the run, or `end = \"after\"` in `[experiment]`";
                self.report(problem.label(format!("`{}`", component.source)).hint(hint));
            }
        }
    }

    pub(super) fn warnings(&self, name: &str, estimate: &dyn Estimate, adaptive: bool) {
        let recipe = &self.system.methods;
        if adaptive && estimate.idle() {
            let law = example(&self.registry.controllers, |law| !law.adaptive());
            let message = format!(
                "controller `{}` has no error estimate (`{name}`), so the step grows to its maximum",
                recipe.controller.name
            );
            let hint = format!("choose an estimate, or the controller `{law}`");
            self.warning("plan/nothing-to-control", &recipe.controller.span, [&message, &hint]);
        }
        if adaptive && recipe.step.max.is_infinite() {
            let words = ["the step size has no upper limit", "write `max` in `[method] step`"];
            self.warning("plan/no-maximum", &recipe.step.span, words);
        }
        let scale_given = recipe.estimate.options.iter().any(|(name, ..)| name == "energy_scale");
        let scaled = find(&self.registry.estimates, &recipe.estimate.name)
            .is_some_and(|entry| entry.options.iter().any(|option| option.name == "energy_scale"));
        for bond in &self.links.bonds {
            if scaled && !scale_given && bond.energy_scale.is_none() {
                let message = format!("bond `{}` has no `energy_scale`; 1 J is used", bond.name);
                let hint = "set it to a typical energy of the bond; residuals well below it count little";
                self.warning("plan/no-energy-scale", &recipe.estimate.span, [&message, hint]);
            }
        }
    }
}
