//! What methods need, against what simulators can do, and what a plan can know before a run that its user should know, too:
//! names that match nothing, methods that mean little together, questions that simulators need not answer.

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

/// Steps of its own that a component takes in one common step: more would not end.
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
    /// What a method on the whole system needs, against what each simulator can do.
    pub(super) fn meet(&self, name: &str, axis: &str, needs: &Needs) {
        for (index, interface) in self.ports.interfaces.iter().enumerate() {
            let can = &interface.abilities;
            let component = &self.system.components[index];
            for (needed, able, code, what) in [
                (needs.rollback, can.rollback, "plan/needs-rollback", "be able to rewind"),
                (
                    needs.jacobian,
                    can.jacobian || interface.feedthrough.is_empty(),
                    "plan/needs-jacobian",
                    "declare derivatives of its outputs",
                ),
                (
                    needs.variable_step,
                    can.variable_step || self.takes_any(index),
                    "plan/needs-variable-step",
                    "take steps of any size",
                ),
            ] {
                if needed && !able {
                    let who = &component.name;
                    let message =
                        format!("{axis} `{name}` needs every simulator to {what}, but `{who}` cannot");
                    let hint = format!("choose another {axis}; `cosimo methods` lists what each one needs");
                    let problem = component.error(code, message).label(format!("`{}`", component.source));
                    self.say(problem.hint(hint));
                }
            }
        }
        if needs.bonds && self.system.bonds.is_empty() && self.system.junctions.is_empty() {
            let message = format!("{axis} `{name}` needs a power bond, but the system has none");
            let hint = format!(
                "declare a `[[bond]]` where an effort and a flow are exchanged (`cosimo bonds` finds such wires), or choose \
                 an {axis} that needs none"
            );
            self.refuse("plan/needs-bond", &self.system.methods.estimate.span, [&message, &hint]);
        }
    }

    /// A fit asks only the simulators that feed its input.
    pub(super) fn sources_meet<T: ?Sized>(&self, entry: &MethodEntry<T>, needs: &Needs, input: usize) {
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
                self.say(
                    Problem::error(
                        "plan/needs-slopes",
                        format!(
                            "input `{}` of `{}` needs the slope of `{}`, but `{}` offers none",
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
                    .hint(format!("use `{line}`, which takes the slope from the history"))
                    .about(&self.ports.names[owner]),
                );
            }
        }
    }

    /// Whether all simulators are brought to where one of them stops inside a window. For that all have to go back. One
    /// that can handle its events alone stops only if somebody hears of them.
    pub(super) fn meets(&self, heard: impl Fn(usize) -> bool) -> bool {
        let can = |index: &usize| self.ports.interfaces[*index].abilities;
        // Whoever stops and has steps of one size cannot be brought there, be they of its own.
        let any =
            |index: &usize| self.takes_any(*index) && (can(index).variable_step || !can(index).early_return);
        let stops = |index: &usize| can(index).early_return && (!can(index).events || heard(*index));
        let Some(stopping) = (0..self.ports.interfaces.len()).find(stops) else { return false };
        let stuck = (0..self.ports.interfaces.len()).find(|index| !can(index).rollback || !any(index));
        if let (Some(stuck), true) = (stuck, can(&stopping).events) {
            let names = self.ports.names;
            let why = if can(&stuck).rollback { "take steps of any size" } else { "rewind" };
            self.say(Problem::warning(
                "plan/events-inside",
                format!(
                    "others hear of events of `{}` at the next communication point only: `{}` cannot {why}",
                    names[stopping], names[stuck]
                ),
                self.system.components[stopping].span.clone(),
            ));
        }
        stuck.is_none()
    }

    /// With steps of one size, those of components' own fit in them, or they in those.
    pub(super) fn check_own_steps(&self, size: f64) {
        for component in &self.system.components {
            let Some((every, span)) = &component.step else { continue };
            let count = size / every;
            if count > MOST_OWN_STEPS {
                let message = format!(
                    "`{}` has steps of {} s of its own, {count:.1e} of them in each step of {} s; expected at most {:e}",
                    component.name,
                    number_text(*every),
                    number_text(size),
                    MOST_OWN_STEPS
                );
                let problem = Problem::error("plan/own-step", message, span.clone()).label("too small");
                self.say(problem.about(&component.name).hint("choose a larger step for the component"));
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
                "`{}` has steps of {} s of its own, which is neither a multiple nor a fraction of the step of {} s",
                component.name,
                number_text(*every),
                number_text(size)
            );
            let problem = Problem::error("plan/own-step", message, span.clone()).label("does not fit");
            let hint = format!("the nearest that fit are {below} s and {above} s");
            self.say(problem.about(&component.name).hint(hint));
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
                self.refuse("plan/unknown-port", span, [&format!("`{name}` is no input"), &hint]);
            }
        }
    }

    /// An input that cannot follow a polynomial gets a held value; that is said aloud.
    pub(super) fn check_input_degrees(&self, fits: &ExtrapolationCache) {
        for (input, &receiver) in self.receivers.iter().enumerate() {
            if self.links.rows[input].is_empty() {
                continue;
            }
            let degree = fits.degree(input);
            let follows = self.ports.interfaces[receiver].abilities.input_degree;
            if degree > u32::from(follows) {
                let message = format!(
                    "`{}` follows inputs of degree {follows} only; the assumed degree {degree} does not reach it",
                    self.ports.path(PowerVariable::Input(input))
                );
                let span = self.system.components[receiver].span.clone();
                let problem = Problem::warning("plan/input-degree", message, span);
                self.say(self.ports.about(problem, PowerVariable::Input(input)));
            }
        }
    }

    /// An approximation that goes by feedthrough has nothing to choose where all inputs are alike in that.
    pub(super) fn check_causes(&self, chosen: &[(&Choice, usize, bool)]) {
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
                    "every input passes through to an output",
                    "units that do not say which outputs answer at once count as if all did; \
                     `\"cosimo.feedthrough\" = \"probed\"` among their parameters finds out",
                )
            } else {
                ("no input passes through to an output", "the same comes from naming that degree")
            };
            let degree = degree(*feedthrough);
            let name = entry.name;
            let message =
                format!("input `{name}` has nothing to choose by: {which}, so all are of degree {degree}");
            self.warning("plan/nothing-to-choose", &choice.span, [&message, hint]);
        }
    }

    /// Some simulators answer new inputs only by a step.
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
                let hint = "compare with `exchange = \"stale\"`, which never asks that".to_owned();
                ("`exchange = \"fresh\"`".to_owned(), hint)
            } else {
                let other = example(&self.registry.jacobians, |source| !source.asks_between_steps());
                let source = corrections.source_names[0].unwrap_or("-");
                let hint = format!("compare with `{other}`, where the unit offers derivatives");
                (format!("the Jacobian `{source}`"), hint)
            };
            let component = &self.system.components[index];
            let message = format!(
                "{who} reads outputs of `{}` after new inputs without a step between, and this kind of simulator does not \
                 promise that they answer",
                component.name
            );
            self.say(component.warning("plan/answers-between-steps", message).hint(hint));
        }
    }

    /// Fits begin with fewer samples than they want, without a history as with a short one.
    pub(super) fn check_history(&self, history: &History, fits: &[Box<dyn Extrapolation>]) {
        let Some((file, span)) = &self.system.experiment.history else { return };
        let wanted = fits.iter().map(|fit| fit.history()).max().unwrap_or(1) - 1;
        let found = history.times.len();
        if found > 0 && found < wanted {
            let message = format!(
                "the inputs look back on {wanted} samples before the start, but `{}` has {found}; the first steps are of a \
                 lower degree",
                file.display()
            );
            self.warning("plan/short-history", span, [&message, "let the file begin earlier"]);
        }
    }

    /// Loops are solved at the start. Later that depends on the exchange, and on who is in them.
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
                "an algebraic loop cannot be solved at communication points, as `{}` would take every try for an event",
                self.ports.names[eventful]
            );
            self.say(about(found, Problem::error, "plan/algebraic-loop", &words).hint(
                "use `exchange = \"stale\"` for an input of the loop, which passes it on a step later, or integrate \
                 the components together by `[monolithic.name]`",
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
                1 => "an algebraic loop is solved at the start, but goes round only once per step after that"
                    .to_owned(),
                count => format!(
                    "{count} algebraic loops are solved at the start, but go round only once per step after that; the first"
                ),
            };
            self.say(
                about(first, Problem::warning, "plan/delayed-loop", &words)
                    .hint("`exchange = \"fresh\"` for its inputs solves it at every communication point"),
            );
        }
    }

    /// A simulator without a linear model is no reason not to run, but its user should know.
    pub(super) fn check_models(
        &self,
        places: &[Option<ModelPlace>],
        modelled: &[Option<&'static str>],
        source: &str,
    ) {
        for (index, place) in places.iter().enumerate() {
            let (Some(correction), None) = (modelled[index], place) else { continue };
            let component = &self.system.components[index];
            let hint = if self.goes_ahead(index) {
                "a step of its own that is longer than those of the others leaves no instant for one"
            } else if self.ports.interfaces[index].state_space_access.is_some() {
                "choose another `jacobian` of the correction"
            } else {
                let other = example(&self.registry.corrections, |correction| {
                    correction.learns() && correction.models().is_none()
                });
                &format!(
                    "native models and units for model exchange have one; units for co-simulation, if they list their \
                     states and give directional derivatives; the correction `{other}` needs none"
                )
            };
            let message = format!(
                "correction `{correction}` finds no linear model of `{}` by the Jacobian source `{source}`: inputs that it \
                 takes or drives are applied as fitted",
                component.name
            );
            self.say(component.warning("plan/no-linear-model", message).hint(hint));
        }
    }

    /// The end cuts the last step, which some simulators cannot take. Steps of one size have one, if not of their own.
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
                    "`{}` takes steps of one size only, but the last step is cut short: from {start} to {stop} is no \
                     multiple of {size} s",
                    component.name
                );
                let problem = component.error("plan/needs-variable-step", message);
                let hint = "choose a size that divides the run, or `end = \"after\"` in `[experiment]`";
                self.say(problem.label(format!("`{}`", component.source)).hint(hint));
            }
        }
    }

    pub(super) fn warnings(&self, name: &str, estimate: &dyn Estimate, adaptive: bool) {
        let recipe = &self.system.methods;
        if adaptive && estimate.idle() {
            let law = example(&self.registry.controllers, |law| !law.adaptive());
            let message = format!(
                "law `{}` has nothing to go by: the estimate is `{name}`, so the step grows to its maximum",
                recipe.controller.name
            );
            let hint = format!("choose an estimate, or the law `{law}`");
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
                let hint =
                    "set it to an energy that is typical of the bond; below it, residuals do not count much";
                self.warning("plan/no-energy-scale", &recipe.estimate.span, [&message, hint]);
            }
        }
    }
}
