//! Every choice of a plan: which method for which input, in which stage, and whether the simulators can do
//! what it needs. Problems are collected, never thrown: the caller wants all of them.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use cosimo_core::entry::{Entry, Options, Registry, Value, find, format_of, number_text, suggest};
use cosimo_core::interface::{Insight, Interface, Needs};
use cosimo_core::linearised::Place;
use cosimo_core::link::Block;
use cosimo_core::method::{CouplingGraph, Discrete, Fit, JacobianSource, Law, Shape, WireFacts};
use cosimo_core::recorder::TableError;
use cosimo_core::{Carries, Clock, Couplings, End, Time, clock};
use cosimo_system::{Choice, EndRule, Exchange, Problem, Reject, System};

use crate::control::Control;
use crate::crew::Sources;
use crate::graph::{self, Loop, Order};
use crate::history::{self, History};
use crate::plan::{FitRun, Layout, PlannedCorrection, PlannedModels, Stage, runs};
use crate::rates::Rate;
use crate::resolve::{Links, Ports};
use crate::rows::Rows;

pub(crate) struct Planner<'a> {
    pub(crate) system: &'a System,
    pub(crate) registry: &'a Registry,
    pub(crate) ports: &'a Ports<'a>,
    pub(crate) links: &'a Links,
}

pub(crate) type Planned = (Layout, Sources);

struct PlannedCorrections {
    corrections: Vec<PlannedCorrection>,
    /// Per input, for listings.
    correction_names: Vec<&'static str>,
    sources: Sources,
    models: Option<PlannedModels>,
    relies_on_rollback: bool,
}

impl Planner<'_> {
    pub(crate) fn layout(&self, problems: &mut Vec<Problem>) -> Option<Planned> {
        let recipe = &self.system.recipe;
        let (names, interfaces, blocks) =
            (self.ports.names.to_vec(), self.ports.interfaces.to_vec(), self.ports.blocks.to_vec());
        let inputs = blocks.last().map_or(0, |block| block.inputs.end);
        let outputs = blocks.last().map_or(0, |block| block.outputs.end);
        let paths: Vec<String> = (0..inputs).map(|input| self.ports.path(End::Input(input))).collect();
        let owners: Vec<usize> =
            blocks.iter().enumerate().flat_map(|(k, block)| block.outputs.clone().map(move |_| k)).collect();
        let receivers: Vec<usize> =
            blocks.iter().enumerate().flat_map(|(k, block)| block.inputs.clone().map(move |_| k)).collect();

        let (constants, given) = self.constants(&receivers, problems);
        let couplings = Couplings::new(&self.links.rows, constants);
        let mut connected = vec![false; outputs];
        for term in self.links.rows.iter().flatten() {
            connected[term.output] = true;
        }
        self.check_input_names(&paths, problems);

        // Fits, corrections and exchange, per input.
        let feedthrough: Vec<(usize, usize)> = blocks
            .iter()
            .zip(&interfaces)
            .flat_map(|(block, interface)| {
                interface
                    .feedthrough
                    .iter()
                    .map(move |(output, input)| (block.outputs.start + output, block.inputs.start + input))
            })
            .collect();
        let mut passes = vec![false; inputs];
        feedthrough.iter().for_each(|&(_, input)| passes[input] = true);
        let mut chosen: Vec<(&Choice, usize, bool)> = Vec::new(); // choice, place in `fits`, feed-through
        let mut fits: Vec<Box<dyn Fit>> = Vec::new();
        let mut fit_of_input = vec![0; inputs];
        let mut fit_names = vec!["-"; inputs];
        let mut wants_slopes = false;
        let discrete: Vec<bool> = (0..inputs).map(|input| self.is_discrete(input)).collect();
        let mut held = None;
        for input in 0..inputs {
            if discrete[input] && !self.links.rows[input].is_empty() {
                fit_names[input] = "discrete";
                fit_of_input[input] = *held.get_or_insert_with(|| {
                    fits.push(Box::new(Discrete));
                    fits.len() - 1
                });
                continue;
            }
            let choice = recipe.input.of(&paths[input]);
            let facts = WireFacts {
                feedthrough: passes[input],
                slopes: self.links.rows[input]
                    .iter()
                    .all(|term| interfaces[owners[term.output]].abilities.slopes),
            };
            let (entry, options) = self.entry(&self.registry.inputs, "input", choice, problems)?;
            if self.links.rows[input].is_empty() {
                continue;
            }
            fit_names[input] = entry.name;
            let needs = (entry.needs)(&options);
            wants_slopes |= needs.slopes;
            self.sources_meet(entry, &needs, input, &owners, problems);
            let known = chosen.iter().find(|(other, _, through)| {
                other.name == choice.name && other.options == choice.options && *through == facts.feedthrough
            });
            fit_of_input[input] = match known {
                Some((_, place, _)) => *place,
                None => {
                    fits.push((entry.build)(&options).choose(&facts));
                    chosen.push((choice, fits.len() - 1, facts.feedthrough));
                    fits.len() - 1
                }
            };
        }
        let degree = (0..inputs)
            .filter(|&input| !self.links.rows[input].is_empty() && !discrete[input])
            .map(|input| fits[fit_of_input[input]].degree())
            .min()
            .unwrap_or(0);
        self.check_input_degrees(&fits, &fit_of_input, &receivers, problems);
        self.check_causes(&chosen, problems);
        let fresh: Vec<bool> =
            paths.iter().map(|path| *recipe.exchange.of(path) == Exchange::Fresh).collect();

        // Algebraic loops are cut where values are discrete or somebody has a guess.
        let wanted: Vec<bool> = given.iter().map(Option::is_some).collect();
        let jumps: Vec<bool> = (0..outputs).map(|output| self.jumps(End::Output(output))).collect();
        let order_of = |renewed: &[bool]| Order::new(&couplings, &jumps, &feedthrough, renewed, &wanted);
        let (order, renewal) = (order_of(&vec![true; inputs]), order_of(&fresh));
        let first = (0..inputs).map(|input| {
            let start = given[input].or(self.ports.port(End::Input(input)).start);
            start.filter(|_| !self.links.rows[input].is_empty()).unwrap_or(couplings.constant(input))
        });
        let first: Vec<f64> = first.collect();

        let seen: Vec<Place> = self.places(|_| true).into_iter().flatten().collect();
        let shape = Shape {
            inputs,
            outputs,
            bonds: self.links.bonds.len(),
            degree,
            feedthrough_depth: order.depth,
            looped: !order.loops.is_empty(),
            slopes: wants_slopes && interfaces.iter().any(|interface| interface.abilities.slopes),
            states: seen.iter().map(|place| place.states).sum(),
            matrices: seen.iter().map(|place| place.matrices.len()).sum(),
        };
        let PlannedCorrections { corrections, correction_names, sources, models, mut relies_on_rollback } =
            self.corrections(&paths, &discrete, &shape, problems)?;
        self.check_answers(&fresh, sources.interface.as_deref(), problems);
        let graph =
            CouplingGraph { simulators: names.clone(), edges: graph::edges(&couplings, &blocks, &owners) };
        let stages = self.stages(&graph, &fit_of_input, problems)?;
        let (iteration_entry, options) =
            self.entry(&self.registry.iterations, "iteration", &recipe.iteration, problems)?;
        let iteration = (iteration_entry.build)(&options);
        // Who goes back repeats a step until loops have settled, too.
        let repeats = (iteration_entry.needs)(&options).rollback;
        self.check_loops(&order, &renewal, repeats, problems);
        let mut needs = vec![(iteration_entry.name, "iteration", (iteration_entry.needs)(&options))];
        let (estimate_entry, options) =
            self.entry(&self.registry.estimates, "estimate", &recipe.estimate, problems)?;
        let estimate = (estimate_entry.build)(&options);
        // An estimate that needs rollback goes back to the start of the attempt.
        let repeated = (estimate_entry.needs)(&options).rollback;
        needs.push((estimate_entry.name, "estimate", (estimate_entry.needs)(&options)));
        let (law_entry, options) = self.entry(&self.registry.laws, "law", &recipe.law, problems)?;
        let law = (law_entry.build)(&options);
        needs.push((law_entry.name, "law", (law_entry.needs)(&options)));
        for (name, axis, needs) in needs {
            self.meet(name, axis, &needs, problems);
            relies_on_rollback |= needs.rollback;
        }
        let control = self.control(law.as_ref(), problems);
        let heard = |k: usize| blocks[k].outputs.clone().any(|output| connected[output]);
        let early = self.meets(heard, problems);
        let rewinds = early || repeated || (control.reject == Reject::AboveOne && law.adaptive());
        relies_on_rollback |= rewinds;
        self.remarks(estimate.name(), law.as_ref(), problems);

        let mut jacobian_starts = Vec::new();
        let mut at = 0;
        for block in &blocks {
            jacobian_starts.push(at);
            at += block.inputs.len() * block.outputs.len();
        }
        let per_output = |of: fn(&cosimo_system::Component) -> Option<f64>| -> Vec<Option<f64>> {
            owners.iter().map(|&owner| of(&self.system.components[owner])).collect()
        };
        let experiment = &self.system.experiment;
        let history = self.history(outputs, &connected, problems);
        self.check_history(&history, &fits, problems);
        let rows = Rows::new(
            &self.system.results,
            self.system.scenario.is_some(),
            self.ports,
            &self.links.bonds,
            problems,
        );
        let driving: Vec<usize> = (0..outputs).filter(|&output| connected[output]).collect();
        let placed: Vec<(usize, usize)> = stages
            .iter()
            .enumerate()
            .flat_map(|(place, stage)| stage.members.iter().map(move |member| (*member, place)))
            .collect();
        let stage_of =
            |index: usize| placed.iter().find(|(member, _)| *member == index).map_or(0, |(_, place)| *place);
        let assumed = |block: &Block| {
            let hears = |input: &usize| {
                let mut terms = self.links.rows[*input].iter();
                terms.any(|term| block.outputs.contains(&term.output))
            };
            let degrees = (0..inputs).filter(hears).map(|input| fits[fit_of_input[input]].degree());
            degrees.max().unwrap_or(1).clamp(1, 2)
        };
        let rates = self.own_steps().map(|(member, every)| Rate {
            member,
            every,
            rigid: !interfaces[member].abilities.variable_step,
            degree: assumed(&blocks[member]),
            inputs: blocks[member].inputs.clone(),
            stage: stage_of(member),
        });
        let rates: Vec<Rate> = rates.collect();
        let layout = Layout {
            rates,
            companions: fits.iter().map(|fit| fit.companion()).collect(),
            fits,
            fit_names,
            correction_names,
            stages,
            corrections,
            iteration,
            estimate,
            law,
            control,
            first_size: recipe.step.size,
            has_jacobian: sources.interface.is_some(),
            jacobian_starts,
            models,
            states: 0,
            state_counts: Vec::new(),
            hidden: Vec::new(),
            any_fresh: !renewal.steps.is_empty(),
            fresh,
            order,
            renewal,
            cuts: (0..interfaces.len()).all(|index| self.takes_any(index)),
            slopes: shape.slopes,
            tolerances: per_output(|component| component.tolerance),
            weights: per_output(|component| component.weight),
            connected,
            sloped: driving
                .iter()
                .copied()
                .filter(|&output| shape.slopes && interfaces[owners[output]].abilities.slopes)
                .collect(),
            driving,
            first,
            history,
            start: Time::new(experiment.start)?,
            stop: Time::new(experiment.stop)?,
            end: experiment.end,
            record: experiment.record,
            rows,
            meets: early,
            eventful: interfaces.iter().any(|interface| interface.abilities.events),
            rewinds,
            relies_on_rollback,
            graph,
            names,
            interfaces,
            blocks,
            owners,
            couplings,
            bonds: self.links.bonds.clone(),
            parcel_stages: self.links.parcels.iter().map(|wire| stage_of(wire.from.0)).collect(),
            parcels: self.links.parcels.clone(),
            shape,
        };
        Some((layout, sources))
    }

    /// Components with steps of their own, and how long those are.
    fn own_steps(&self) -> impl Iterator<Item = (usize, f64)> {
        let steps = self.system.components.iter().map(|component| component.step.as_ref());
        steps.enumerate().filter_map(|(index, step)| step.map(|(every, _)| (index, *every)))
    }

    /// Whether windows may be of any size for this simulator: it takes steps of any size, or never takes a window for
    /// its step, because its own are longer.
    fn takes_any(&self, index: usize) -> bool {
        let step = &self.system.recipe.step;
        let longest = step.size.filter(|_| !self.varies()).unwrap_or(step.max);
        let own = self.system.components[index].step.as_ref();
        self.ports.interfaces[index].abilities.variable_step || own.is_some_and(|(every, _)| *every > longest)
    }

    /// With steps of one size, those of components' own fit in them, or they in those.
    fn check_own_steps(&self, size: f64, problems: &mut Vec<Problem>) {
        for component in &self.system.components {
            let Some((every, span)) = &component.step else { continue };
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
            problems.push(problem.about(&component.name).hint(hint));
        }
    }

    /// Between the values of such an input there are none: it is never extrapolated and never corrected.
    fn is_discrete(&self, input: usize) -> bool {
        let taken = self.ports.port(End::Input(input));
        taken.carries != Carries::Real
            || self.links.rows[input].iter().any(|term| self.jumps(End::Output(term.output)))
    }

    /// Between the values of such a port there are none.
    fn jumps(&self, end: End) -> bool {
        let port = self.ports.port(end);
        port.discrete || port.carries != Carries::Real
    }

    /// Whether all simulators are brought to where one of them stops inside a window. For that all have to go back. One
    /// that can handle its events alone stops only if somebody hears of them.
    fn meets(&self, heard: impl Fn(usize) -> bool, problems: &mut Vec<Problem>) -> bool {
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
            problems.push(Problem::remark(
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

    /// Values of inputs that nobody drives, offsets of the others, and all start values that the file gives.
    fn constants(&self, receivers: &[usize], problems: &mut Vec<Problem>) -> (Vec<f64>, Vec<Option<f64>>) {
        let mut given = vec![None; receivers.len()];
        let opened = |index: &usize| !self.ports.closed.contains(index);
        for index in (0..self.system.components.len()).filter(opened) {
            let component = &self.system.components[index];
            for (port, value, span) in &component.starts {
                let ports = &self.ports.interfaces[index].inputs;
                match self.ports.input_of(index, port) {
                    Some(input) => given[input] = Some(*value),
                    None => problems.push(
                        Problem::error(
                            "plan/unknown-port",
                            format!("component `{}` has no input `{port}` to start", component.name),
                            span.clone(),
                        )
                        .hint(suggest(port, ports.iter().map(|known| known.name.as_str())))
                        .about_port(&component.name, port),
                    ),
                }
            }
        }
        let constants = (0..receivers.len())
            .map(|input| {
                if !self.links.drivers[input].is_empty() || self.links.excused[input] {
                    return self.links.offsets[input];
                }
                let port = self.ports.port(End::Input(input));
                given[input].or(port.start).unwrap_or_else(|| {
                    let component = &self.system.components[receivers[input]];
                    problems.push(
                        Problem::error(
                            "plan/unconnected-input",
                            format!("input `{}.{}` is driven by nobody and has no start value", component.name, port.name),
                            component.span.clone(),
                        )
                        .hint(format!(
                            "add a `[[wire]]` or `[[bond]]` to it, or `start = {{ {} = 0.0 }}` to the component",
                            port.name
                        ))
                        .about_port(&component.name, &port.name),
                    );
                    0.0
                })
            })
            .collect();
        (constants, given)
    }

    fn check_input_names(&self, paths: &[String], problems: &mut Vec<Problem>) {
        let recipe = &self.system.recipe;
        let named = (recipe.input.inputs.iter().map(|(name, _, span)| (name, span)))
            .chain(recipe.correction.inputs.iter().map(|(name, _, span)| (name, span)))
            .chain(recipe.exchange.inputs.iter().map(|(name, _, span)| (name, span)));
        let known: BTreeSet<&String> = paths.iter().collect();
        for (name, span) in named {
            let unknown = !known.contains(name) && self.ports.find(name, span) != Err(None);
            if unknown {
                problems.push(
                    Problem::error("plan/unknown-port", format!("`{name}` is no input"), span.clone())
                        .hint(suggest(name, paths.iter().map(String::as_str))),
                );
            }
        }
    }

    /// Looks a chosen method up and checks its options.
    fn entry<T: ?Sized>(
        &self,
        entries: &[&'static Entry<T>],
        axis: &str,
        choice: &Choice,
        problems: &mut Vec<Problem>,
    ) -> Option<(&'static Entry<T>, Options)> {
        let Some(entry) = find(entries, &choice.name) else {
            problems.push(
                Problem::error(
                    "plan/unknown-method",
                    format!("no {axis} is called `{}`", choice.name),
                    choice.span.clone(),
                )
                .hint(suggest(&choice.name, entries.iter().map(|entry| entry.name))),
            );
            return None;
        };
        let given: Vec<(String, Value)> =
            choice.options.iter().map(|(name, value, _)| (name.clone(), value.clone())).collect();
        match Options::resolve(&format!("`{}`", entry.name), entry.options, &given) {
            Ok(options) => Some((entry, options)),
            Err(found) => {
                problems.extend(found.into_iter().map(|found| {
                    let span = choice
                        .options
                        .iter()
                        .find(|(name, ..)| *name == found.key)
                        .map_or(choice.span.clone(), |(_, _, span)| span.clone());
                    let problem = Problem::error("plan/bad-option", found.message, span);
                    match found.hint {
                        Some(hint) => problem.hint(hint),
                        None => problem,
                    }
                }));
                None
            }
        }
    }

    /// What a method on the whole system needs, against what each simulator can do.
    fn meet(&self, name: &str, axis: &str, needs: &Needs, problems: &mut Vec<Problem>) {
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
                    problems.push(
                        Problem::error(
                            code,
                            format!(
                                "{axis} `{name}` needs every simulator to {what}, but `{}` cannot",
                                component.name
                            ),
                            component.span.clone(),
                        )
                        .label(format!("`{}`", component.source))
                        .about(&component.name)
                        .hint(format!("choose another {axis}; `cosimo methods` lists what each one needs")),
                    );
                }
            }
        }
        if needs.bonds && self.system.bonds.is_empty() && self.system.junctions.is_empty() {
            problems.push(
                Problem::error(
                    "plan/needs-bond",
                    format!("{axis} `{name}` needs a power bond, but the system has none"),
                    self.system.recipe.estimate.span.clone(),
                )
                .hint(format!(
                    "declare a `[[bond]]` where an effort and a flow are exchanged (`cosimo bonds` finds such wires), or \
                     choose an {axis} that needs none"
                )),
            );
        }
    }

    /// A fit asks only the simulators that feed its input.
    fn sources_meet<T: ?Sized>(
        &self,
        entry: &Entry<T>,
        needs: &Needs,
        input: usize,
        owners: &[usize],
        problems: &mut Vec<Problem>,
    ) {
        for term in &self.links.rows[input] {
            let owner = owners[term.output];
            if needs.slopes && !self.ports.interfaces[owner].abilities.slopes {
                problems.push(
                    Problem::error(
                        "plan/needs-slopes",
                        format!(
                            "input `{}` of `{}` needs the slope of `{}`, but `{}` offers none",
                            entry.name,
                            self.ports.path(End::Input(input)),
                            self.ports.path(End::Output(term.output)),
                            self.ports.names[owner]
                        ),
                        self.system.recipe.input.of(&self.ports.path(End::Input(input))).span.clone(),
                    )
                    .hint("use `linear`, which takes the slope from the history")
                    .about(&self.ports.names[owner]),
                );
            }
        }
    }

    /// An input that cannot follow a polynomial gets a held value; that is said aloud.
    fn check_input_degrees(
        &self,
        fits: &[Box<dyn Fit>],
        fit_of_input: &[usize],
        receivers: &[usize],
        problems: &mut Vec<Problem>,
    ) {
        for (input, &receiver) in receivers.iter().enumerate() {
            if self.links.rows[input].is_empty() {
                continue;
            }
            let degree = fits[fit_of_input[input]].degree();
            let follows = self.ports.interfaces[receiver].abilities.input_degree;
            if degree > u32::from(follows) {
                let message = format!(
                    "`{}` follows inputs of degree {follows} only; the assumed degree {degree} does not reach it",
                    self.ports.path(End::Input(input))
                );
                let span = self.system.components[receiver].span.clone();
                let problem = Problem::remark("plan/input-degree", message, span);
                problems.push(self.ports.about(problem, End::Input(input)));
            }
        }
    }

    /// An approximation that goes by feedthrough has nothing to choose where all inputs are alike in that.
    fn check_causes(&self, chosen: &[(&Choice, usize, bool)], problems: &mut Vec<Problem>) {
        for (choice, _, feedthrough) in chosen {
            let same = |other: &Choice| other.name == choice.name && other.options == choice.options;
            let alike = chosen.iter().all(|(other, _, through)| !same(other) || through == feedthrough);
            let Some((entry, options)) = self.entry(&self.registry.inputs, "input", choice, problems) else {
                continue;
            };
            let degree = |feedthrough| {
                (entry.build)(&options).choose(&WireFacts { feedthrough, slopes: false }).degree()
            };
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
            problems.push(
                Problem::remark(
                    "plan/nothing-to-choose",
                    format!(
                        "input `{}` has nothing to choose by: {which}, so all are of degree {degree}",
                        entry.name
                    ),
                    choice.span.clone(),
                )
                .hint(hint),
            );
        }
    }

    /// Some simulators answer new inputs only by a step.
    fn check_answers(
        &self,
        fresh: &[bool],
        source: Option<&dyn JacobianSource>,
        problems: &mut Vec<Problem>,
    ) {
        let asks = source.is_some_and(JacobianSource::asks_between_steps);
        for (index, interface) in self.ports.interfaces.iter().enumerate() {
            let first = self.ports.blocks[index].inputs.start;
            let renewed = interface
                .feedthrough
                .iter()
                .any(|(_, input)| fresh[first + input] && !self.links.rows[first + input].is_empty());
            if interface.abilities.answers || interface.feedthrough.is_empty() || !(asks || renewed) {
                continue;
            }
            let (who, hint) = if renewed {
                ("`exchange = \"fresh\"`", "compare with `exchange = \"stale\"`, which never asks that")
            } else {
                ("the Jacobian `difference`", "compare with `declared`, where the unit offers derivatives")
            };
            let component = &self.system.components[index];
            problems.push(
                Problem::remark(
                    "plan/answers-between-steps",
                    format!(
                        "{who} reads outputs of `{}` after new inputs without a step between, and this kind of \
                         simulator does not promise that they answer",
                        component.name
                    ),
                    component.span.clone(),
                )
                .hint(hint)
                .about(&component.name),
            );
        }
    }

    /// Fits begin with fewer samples than they want, without a history as with a short one.
    fn check_history(&self, history: &History, fits: &[Box<dyn Fit>], problems: &mut Vec<Problem>) {
        let Some((file, span)) = &self.system.experiment.history else { return };
        let wanted = fits.iter().map(|fit| fit.history()).max().unwrap_or(1) - 1;
        let found = history.times.len();
        if found > 0 && found < wanted {
            problems.push(
                Problem::remark(
                    "plan/short-history",
                    format!(
                        "the inputs look back on {wanted} samples before the start, but `{}` has {found}; the first \
                         steps are of a lower degree",
                        file.display()
                    ),
                    span.clone(),
                )
                .hint("let the file begin earlier"),
            );
        }
    }

    /// Loops are solved at the start. Later that depends on the exchange, and on who is in them.
    fn check_loops(&self, order: &Order, renewal: &Order, repeats: bool, problems: &mut Vec<Problem>) {
        let about =
            |found: &Loop, severity: fn(&'static str, String, Range<usize>) -> Problem, code, words: &str| {
                let input = End::Input(found.path.get(1).copied().unwrap_or(0));
                let component = &self.system.components[self.ports.place(input).0];
                let message = format!("{words}: {}", self.ports.way_round(&found.path));
                severity(code, message, component.span.clone())
                    .about_port(&component.name, &self.ports.port(input).name)
            };
        for found in &renewal.loops {
            let owner = |output: &usize| self.ports.place(End::Output(*output)).0;
            let mut owners = found.outputs.iter().map(owner);
            let Some(eventful) = owners.find(|owner| self.ports.interfaces[*owner].abilities.events) else {
                continue;
            };
            let words = format!(
                "an algebraic loop cannot be solved at communication points, as `{}` would take every try for an event",
                self.ports.names[eventful]
            );
            problems.push(about(found, Problem::error, "plan/algebraic-loop", &words).hint(
                "use `exchange = \"stale\"` for an input of the loop, which passes it on a step later, or integrate \
                 the components together by `[strong.name]`",
            ));
        }
        if repeats {
            return;
        }
        let solved: BTreeSet<usize> = renewal.loops.iter().flat_map(|found| &found.inputs).copied().collect();
        for found in
            order.loops.iter().filter(|found| !found.inputs.iter().any(|input| solved.contains(input)))
        {
            let words =
                "an algebraic loop is solved at the start, but goes round only once per step after that";
            problems.push(
                about(found, Problem::remark, "plan/delayed-loop", words)
                    .hint("`exchange = \"fresh\"` for its inputs solves it at every communication point"),
            );
        }
    }

    fn corrections(
        &self,
        paths: &[String],
        discrete: &[bool],
        shape: &Shape,
        problems: &mut Vec<Problem>,
    ) -> Option<PlannedCorrections> {
        let mut planned: Vec<(&Choice, PlannedCorrection)> = Vec::new();
        let mut names = vec!["-"; paths.len()];
        let mut wanted = [None; 2]; // the sources of interface Jacobians and of linear models
        let mut every: Option<Option<u64>> = None;
        let mut modelled = vec![None; self.ports.interfaces.len()]; // by which correction
        let mut rewinds = false;
        let (mut at, mut scratch_at) = (0, 0);
        for (input, path) in paths.iter().enumerate() {
            let choice = self.system.recipe.correction.of(path);
            let (entry, options) = self.entry(&self.registry.corrections, "correction", choice, problems)?;
            if self.links.rows[input].is_empty() || discrete[input] {
                continue;
            }
            names[input] = entry.name;
            let correction = (entry.build)(&options);
            if correction.models().is_some() {
                modelled[self.ports.place(End::Input(input)).0] = Some(entry.name);
                for term in &self.links.rows[input] {
                    modelled[self.ports.place(End::Output(term.output)).0] = Some(entry.name);
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
            let needs = (entry.needs)(&options);
            self.meet(entry.name, "correction", &needs, problems);
            rewinds |= needs.rollback;
            let models = correction.models();
            for (known, asked) in wanted.iter_mut().zip([correction.jacobian(), models.map(|m| m.source)]) {
                let Some(source) = asked else { continue };
                if let Some(other) = known.replace(source).filter(|other| *other != source) {
                    problems.push(
                        Problem::error(
                            "plan/two-jacobians",
                            format!("corrections ask for two Jacobian sources, `{other}` and `{source}`"),
                            choice.span.clone(),
                        )
                        .hint("use one source for all inputs"),
                    );
                }
            }
            if let Some(models) = models {
                // Whoever wants them young gets them young, and the others do not mind.
                every = Some(match every {
                    Some(Some(known)) => Some(models.every.map_or(known, |every| every.min(known))),
                    Some(None) | None => models.every,
                });
            }
            let (memory, scratch) = (correction.memory(shape), correction.scratch(shape));
            let mut inputs = vec![false; paths.len()];
            inputs[input] = true;
            let (memory, scratch) = (at..at + memory, scratch_at..scratch_at + scratch);
            (at, scratch_at) = (memory.end, scratch.end);
            planned.push((choice, PlannedCorrection { correction, memory, scratch, inputs }));
        }
        let mut sources = [None, None];
        for (source, name) in sources.iter_mut().zip(wanted) {
            let Some(name) = name else { continue };
            let (entry, options) =
                self.entry(&self.registry.jacobians, "Jacobian source", &Choice::named(name), problems)?;
            *source = Some(Arc::from((entry.build)(&options)));
        }
        let [interface, models] = sources;
        let sources = Sources { interface, models };
        let models = every.zip(sources.models.as_deref()).map(|(every, source)| {
            let places = self.places(|insight| source.sees(insight));
            self.check_models(&places, &modelled, wanted[1].unwrap_or(""), problems);
            PlannedModels { places, every }
        });
        Some(PlannedCorrections {
            corrections: planned.into_iter().map(|(_, planned)| planned).collect(),
            correction_names: names,
            sources,
            models,
            relies_on_rollback: rewinds,
        })
    }

    /// Where the linear models go of those simulators that show enough of themselves.
    fn places(&self, sees: impl Fn(&Insight) -> bool) -> Vec<Option<Place>> {
        let mut end = (0, 0, 0);
        let place = |(index, interface): (usize, &Interface)| {
            let insight = interface.insight.filter(|insight| sees(insight) && !self.goes_ahead(index))?;
            let sizes = (insight.states, interface.inputs.len(), interface.outputs.len());
            let place = Place::behind(end, sizes);
            end = (end.0 + place.states, place.present.end, place.matrices.end);
            Some(place)
        };
        self.ports.interfaces.iter().enumerate().map(place).collect()
    }

    /// Whether steps of its own are longer than those of the others, or may be.
    fn goes_ahead(&self, index: usize) -> bool {
        let Some((every, _)) = self.system.components[index].step else { return false };
        self.varies() || self.system.recipe.step.size.is_none_or(|size| every > size)
    }

    /// Whether the law may take steps of several sizes.
    fn varies(&self) -> bool {
        let law = self.entry(&self.registry.laws, "law", &self.system.recipe.law, &mut Vec::new());
        law.is_none_or(|(entry, options)| (entry.build)(&options).adaptive())
    }

    /// A simulator without a linear model is no reason not to run, but its user should know.
    fn check_models(
        &self,
        places: &[Option<Place>],
        modelled: &[Option<&'static str>],
        source: &str,
        problems: &mut Vec<Problem>,
    ) {
        for (index, place) in places.iter().enumerate() {
            let (Some(correction), None) = (modelled[index], place) else { continue };
            let component = &self.system.components[index];
            let hint = if self.goes_ahead(index) {
                "a step of its own that is longer than those of the others leaves no instant for one"
            } else if self.ports.interfaces[index].insight.is_some() {
                "choose another `jacobian` of the correction"
            } else {
                "native models and units for model exchange have one; units for co-simulation, if they list their \
                 states and give directional derivatives"
            };
            problems.push(
                Problem::remark(
                    "plan/no-linear-model",
                    format!(
                        "correction `{correction}` finds no linear model of `{}` by the Jacobian source `{source}`: \
                         inputs that it takes or drives are applied as fitted",
                        component.name
                    ),
                    component.span.clone(),
                )
                .hint(hint)
                .about(&component.name),
            );
        }
    }

    fn stages(
        &self,
        graph: &CouplingGraph,
        fit_of_input: &[usize],
        problems: &mut Vec<Problem>,
    ) -> Option<Vec<Stage>> {
        let choice = &self.system.recipe.partition;
        let (entry, options) = self.entry(&self.registry.partitions, "partition", choice, problems)?;
        let stages = match (entry.build)(&options).stages(graph) {
            Ok(stages) => stages,
            Err(message) => {
                problems.push(Problem::error("plan/partition", message, choice.span.clone()));
                return None;
            }
        };
        let stage = |members: Vec<usize>| {
            let mut fits: Vec<(usize, Vec<usize>)> = Vec::new();
            let (mut inputs, mut outputs, mut constant) = (Vec::new(), Vec::new(), Vec::new());
            for &member in &members {
                let block = &self.ports.blocks[member];
                outputs.extend(block.outputs.clone());
                for input in block.inputs.clone() {
                    if self.links.rows[input].is_empty() {
                        constant.push(input);
                        continue;
                    }
                    inputs.push(input);
                    let fit = fit_of_input[input];
                    match fits.iter_mut().find(|(known, _)| *known == fit) {
                        Some((_, inputs)) => inputs.push(input),
                        None => fits.push((fit, vec![input])),
                    }
                }
            }
            let mut fits: Vec<FitRun> =
                fits.into_iter().map(|(fit, inputs)| FitRun { fit, inputs: runs(inputs) }).collect();
            // Inputs that nobody drives are constants, which any fit passes through. In runs of their own:
            // runs of plain wires are faster.
            if let Some(run) = fits.first_mut() {
                run.inputs.extend(runs(constant));
            }
            Stage { members, fits, inputs: runs(inputs), outputs: runs(outputs) }
        };
        Some(stages.into_iter().map(stage).collect())
    }

    fn control(&self, law: &dyn Law, problems: &mut Vec<Problem>) -> Control {
        let step = &self.system.recipe.step;
        if !law.adaptive() && step.size.is_none() {
            problems.push(
                Problem::error(
                    "plan/no-step-size",
                    "the step size is fixed, but none is given",
                    step.span.clone(),
                )
                .hint("write `step = { size = 1e-3 }` in `[method]`, or `--step 1e-3`"),
            );
        }
        if step.reject == Reject::AboveOne {
            let needs = Needs { rollback: true, ..Needs::NOTHING };
            self.meet("above-one", "rejection", &needs, problems);
            if !law.adaptive() {
                problems.push(Problem::remark(
                    "plan/nothing-to-reject",
                    "`reject = \"above-one\"` has no effect while the step size is fixed",
                    step.span.clone(),
                ));
            }
        }
        self.check_last_step(step.size.filter(|_| !law.adaptive()), problems);
        if let Some(size) = step.size.filter(|_| !law.adaptive()) {
            self.check_own_steps(size, problems);
        }
        Control::new(step, law.adaptive())
    }

    /// The end cuts the last step, which some simulators cannot take. Steps of one size have one, if not of their own.
    fn check_last_step(&self, size: Option<f64>, problems: &mut Vec<Problem>) {
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
                problems.push(
                    Problem::error(
                        "plan/needs-variable-step",
                        format!(
                            "`{}` takes steps of one size only, but the last step is cut short: from {start} to {stop} \
                             is no multiple of {size} s",
                            component.name
                        ),
                        component.span.clone(),
                    )
                    .label(format!("`{}`", component.source))
                    .about(&component.name)
                    .hint("choose a size that divides the run, or `end = \"after\"` in `[experiment]`"),
                );
            }
        }
    }

    fn remarks(&self, estimate: &str, law: &dyn Law, problems: &mut Vec<Problem>) {
        let recipe = &self.system.recipe;
        if law.adaptive() && estimate == "none" {
            problems.push(
                Problem::remark(
                    "plan/nothing-to-control",
                    format!("law `{}` has nothing to go by: the estimate is `none`, so the step grows to its maximum", recipe.law.name),
                    recipe.law.span.clone(),
                )
                .hint("choose an estimate, or the law `fixed`"),
            );
        }
        if law.adaptive() && recipe.step.max.is_infinite() {
            problems.push(
                Problem::remark(
                    "plan/no-maximum",
                    "the step size has no upper limit",
                    recipe.step.span.clone(),
                )
                .hint("write `max` in `[method] step`"),
            );
        }
        let scale_given = recipe.estimate.options.iter().any(|(name, ..)| name == "energy_scale");
        let scaled = find(&self.registry.estimates, &recipe.estimate.name)
            .is_some_and(|entry| entry.options.iter().any(|option| option.name == "energy_scale"));
        for bond in &self.links.bonds {
            if scaled && !scale_given && bond.energy_scale.is_none() {
                problems.push(
                    Problem::remark(
                        "plan/no-energy-scale",
                        format!("bond `{}` has no `energy_scale`; 1 J is used", bond.name),
                        recipe.estimate.span.clone(),
                    )
                    .hint("set it to an energy that is typical of the bond; below it, residuals do not count much"),
                );
            }
        }
    }

    fn history(&self, outputs: usize, connected: &[bool], problems: &mut Vec<Problem>) -> History {
        let Some((file, span)) = &self.system.experiment.history else { return History::default() };
        let path = self.system.folder.join(file);
        let format = format_of(&self.registry.formats, &path);
        let table = match format.map_err(TableError::from).and_then(|format| (format.read)(&path)) {
            Ok(table) => table,
            Err(error) => {
                problems
                    .push(Problem::error("plan/history", error.to_string(), span.clone()).hint(error.hint()));
                return History::default();
            }
        };
        let start = self.system.experiment.start;
        match history::of_table(&table, &path, span, start, outputs, connected, self.ports) {
            Ok(history) => history,
            Err(found) => {
                problems.extend(found);
                History::default()
            }
        }
    }
}
