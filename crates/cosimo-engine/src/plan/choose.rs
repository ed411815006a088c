//! The choices of a plan: the method of each input, the stages, and the step limits. Problems are collected, so that the
//! caller gets all of them.

use std::cell::RefCell;

use cosimo_core::interface::{Interface, Needs};
use cosimo_core::linear_model::ModelPlace;
use cosimo_core::link::PortRanges;
use cosimo_core::method::{
    CouplingGraph, DiscreteHold, Estimate, Extrapolation, Iteration, Sizes, StepController,
};
use cosimo_core::recorder::TableError;
use cosimo_core::registry::{MethodEntry, Options, Registry, find, format_of, suggest};
use cosimo_core::{Couplings, Local, PowerVariable, Time, ValueType};
use cosimo_system::{Choice, Component, Exchange, Problem, Reject, Span, System, values};

use super::corrections::Corrections;
use super::order::{Order, edges};
use super::ports::Ports;
use super::resolve::Links;
use super::{Draft, ExtrapolationRun, Layout, Methods, RunLimits, Stage, Topology, runs, span_of};
use crate::history::{self, History};
use crate::rate_schedule::OwnRate;
use crate::rows::RowLayout;
use crate::step_limits::StepLimits;

/// The draft, and what follows from it for each port.
pub(super) struct Planner<'a> {
    pub(super) system: &'a System,
    pub(super) registry: &'a Registry,
    pub(super) ports: &'a Ports<'a>,
    pub(super) links: &'a Links,
    /// Per component, where local variables may be recorded.
    locals: Vec<Vec<Local>>,
    /// Per input: its path, its simulator, whether it is discrete, and whether it is exchanged fresh.
    pub(super) paths: Vec<String>,
    pub(super) receivers: Vec<usize>,
    pub(super) discrete: Vec<bool>,
    pub(super) fresh: Vec<bool>,
    /// The simulator of each output.
    pub(super) owners: Vec<usize>,
    /// Direct feed-through, as (output, input) pairs.
    feedthrough: Vec<(usize, usize)>,
    /// The controller may change the step size.
    pub(super) varies: bool,
    problems: RefCell<Vec<Problem>>,
}

/// The extrapolations, and which of them each input has.
pub(super) struct ExtrapolationCache {
    pub(super) all: Vec<Box<dyn Extrapolation>>,
    pub(super) of_input: Vec<usize>,
    names: Vec<&'static str>,
    /// One of them needs output derivatives.
    slopes: bool,
}

impl ExtrapolationCache {
    fn add(&mut self, fit: Box<dyn Extrapolation>) -> usize {
        self.all.push(fit);
        self.all.len() - 1
    }

    pub(super) fn degree(&self, input: usize) -> u32 {
        self.all[self.of_input[input]].degree()
    }
}

/// A chosen method, and what it needs.
struct MethodWithNeeds<T: ?Sized> {
    name: &'static str,
    method: Box<T>,
    needs: Needs,
}

/// The methods that control steps.
struct StepMethods {
    iteration: MethodWithNeeds<dyn Iteration>,
    estimate: MethodWithNeeds<dyn Estimate>,
    law: MethodWithNeeds<dyn StepController>,
}

impl<'a> Planner<'a> {
    pub(super) fn new(
        draft: &'a Draft<'_>,
        locals: Vec<Vec<Local>>,
        ports: &'a Ports<'a>,
        registry: &'a Registry,
    ) -> Planner<'a> {
        let (system, blocks) = (&*draft.system, ports.blocks);
        let of_block = |ports: fn(&PortRanges) -> usize| {
            let each = blocks.iter().enumerate();
            each.flat_map(|(index, block)| std::iter::repeat_n(index, ports(block))).collect::<Vec<usize>>()
        };
        let through = |(block, interface): (&'a PortRanges, &'a Interface)| {
            let (first_output, first_input) = (block.outputs.start, block.inputs.start);
            let pairs = interface.feedthrough.iter();
            pairs.map(move |(output, input)| (first_output + output, first_input + input))
        };
        let mut planner = Planner {
            system,
            registry,
            ports,
            links: &draft.links,
            locals,
            paths: (0..draft.links.rows.len()).map(|input| ports.path(PowerVariable::Input(input))).collect(),
            receivers: of_block(|block| block.inputs.len()),
            discrete: Vec::new(),
            fresh: Vec::new(),
            owners: of_block(|block| block.outputs.len()),
            feedthrough: blocks.iter().zip(ports.interfaces).flat_map(through).collect(),
            varies: true,
            problems: RefCell::default(),
        };
        planner.discrete = (0..planner.paths.len()).map(|input| planner.is_discrete(input)).collect();
        let fresh = |path: &String| *system.methods.exchange.of(path) == Exchange::Fresh;
        planner.fresh = planner.paths.iter().map(fresh).collect();
        let law = planner.entry(&registry.controllers, "controller", &system.methods.controller);
        planner.problems.take(); // reported where the controller is chosen
        planner.varies = law.is_none_or(|(entry, options)| (entry.build)(&options).adaptive());
        planner
    }

    /// The layout, or at least all problems.
    pub(super) fn layout(&self, problems: &mut Vec<Problem>) -> Option<Layout> {
        let layout = self.chosen();
        problems.append(&mut self.problems.take());
        layout
    }

    pub(super) fn report(&self, problem: Problem) {
        self.problems.borrow_mut().push(problem);
    }

    /// An error at a position, with a hint.
    pub(super) fn refuse(&self, code: &'static str, span: &Span, [message, hint]: [&str; 2]) {
        self.report(Problem::error(code, message, span.clone()).hint(hint));
    }

    /// A warning at a position, with a hint.
    pub(super) fn warning(&self, code: &'static str, span: &Span, [message, hint]: [&str; 2]) {
        self.report(Problem::warning(code, message, span.clone()).hint(hint));
    }

    fn chosen(&self) -> Option<Layout> {
        let (constants, given) = self.constants();
        self.check_input_names();
        let fits = self.fits()?;
        let topology = self.topology(Couplings::new(&self.links.rows, constants), &given, &fits);
        let corrections = self.corrections(&topology.shape)?;
        self.check_answers(&corrections);
        let stages = self.stages(&topology, &fits)?;
        let stepping = self.stepping(&topology)?;
        let limits = self.limits(&topology, &fits, &corrections, &stepping);
        let rows = self.rows();
        let methods = self.methods(fits, corrections, stages, stepping);
        Some(Layout { topology, methods, limits: limits?, rows })
    }

    fn rows(&self) -> RowLayout {
        let (results, scenario) = (&self.system.results, self.system.scenario.is_some());
        let problems = &mut self.problems.borrow_mut();
        RowLayout::new(results, scenario, self.ports, &self.locals, &self.links.bonds, problems)
    }

    /// Values of unconnected inputs, offsets of the others, and the start values in the file.
    fn constants(&self) -> (Vec<f64>, Vec<Option<f64>>) {
        let mut given = vec![None; self.paths.len()];
        let opened = |index: &usize| !self.ports.closed.contains(index);
        for index in (0..self.system.components.len()).filter(opened) {
            let component = &self.system.components[index];
            for (port, value, span) in &component.starts {
                let ports = &self.ports.interfaces[index].inputs;
                match self.ports.input_of(index, port) {
                    Some(input) => given[input] = Some(*value),
                    None => self.report(
                        Problem::error(
                            "plan/unknown-port",
                            format!("component `{}` has no input `{port}`", component.name),
                            span.clone(),
                        )
                        .hint(suggest(port, ports.iter().map(|known| known.name.as_str())))
                        .about_port(&component.name, port),
                    ),
                }
            }
        }
        let constants = (0..self.paths.len())
            .map(|input| {
                if !self.links.drivers[input].is_empty() || self.links.excused[input] {
                    return self.links.offsets[input];
                }
                let port = self.ports.port(PowerVariable::Input(input));
                given[input].or(port.start).unwrap_or_else(|| {
                    let component = &self.system.components[self.receivers[input]];
                    let (owner, name) = (&component.name, &port.name);
                    let message = format!("input `{owner}.{name}` is not connected and has no start value");
                    let problem = component.error("plan/unconnected-input", message).hint(format!(
                        "add a `[[connection]]` or `[[bond]]` to it, or `start = {{ {name} = 0.0 }}` to the component"
                    ));
                    self.report(problem.about_port(owner, name));
                    0.0
                })
            })
            .collect();
        (constants, given)
    }

    /// The extrapolation of every input. Inputs that are alike share one.
    fn fits(&self) -> Option<ExtrapolationCache> {
        let inputs = self.paths.len();
        let mut passes = vec![false; inputs];
        self.feedthrough.iter().for_each(|&(_, input)| passes[input] = true);
        let mut fits = ExtrapolationCache {
            all: Vec::new(),
            of_input: vec![0; inputs],
            names: vec!["-"; inputs],
            slopes: false,
        };
        let mut chosen: Vec<(&Choice, usize, bool)> = Vec::new(); // choice, its extrapolation, feed-through
        let mut held = None;
        for input in 0..inputs {
            let driven = !self.links.rows[input].is_empty();
            if self.discrete[input] && driven {
                fits.names[input] = "discrete";
                fits.of_input[input] = *held.get_or_insert_with(|| fits.add(Box::new(DiscreteHold)));
                continue;
            }
            let choice = self.system.methods.input.of(&self.paths[input]);
            let (entry, options) = self.entry(&self.registry.inputs, "input", choice)?;
            if !driven {
                continue;
            }
            fits.names[input] = entry.name;
            let needs = (entry.needs)(&options);
            fits.slopes |= needs.slopes;
            self.check_sources(entry, &needs, input);
            let known = chosen.iter().find(|(other, _, through)| {
                other.name == choice.name && other.options == choice.options && *through == passes[input]
            });
            fits.of_input[input] = match known {
                Some((_, place, _)) => *place,
                None => {
                    let place = fits.add((entry.build)(&options).choose(passes[input]));
                    chosen.push((choice, place, passes[input]));
                    place
                }
            };
        }
        self.check_input_degrees(&fits);
        self.check_feedthrough_choice(&chosen);
        Some(fits)
    }

    fn topology(&self, couplings: Couplings, given: &[Option<f64>], fits: &ExtrapolationCache) -> Topology {
        let Ports { names, interfaces, blocks, .. } = self.ports;
        let (inputs, outputs) = (self.paths.len(), self.owners.len());
        let mut connected = vec![false; outputs];
        for term in self.links.rows.iter().flatten() {
            connected[term.output] = true;
        }
        // Algebraic loops are torn at discrete values and at inputs with a start value.
        let wanted: Vec<bool> = given.iter().map(Option::is_some).collect();
        let jumps: Vec<bool> =
            (0..outputs).map(|output| self.is_discrete_port(PowerVariable::Output(output))).collect();
        let order_of = |renewed: &[bool]| Order::new(&couplings, &jumps, &self.feedthrough, renewed, &wanted);
        let (order, renewal) = (order_of(&vec![true; inputs]), order_of(&self.fresh));
        let first = |input: usize| {
            let start = given[input].or(self.ports.port(PowerVariable::Input(input)).start);
            start.filter(|_| !self.links.rows[input].is_empty()).unwrap_or(couplings.constant(input))
        };
        let shape = self.shape(&order, fits);
        let mut jacobian_size = 0;
        let jacobian_start = |block: &PortRanges| {
            let start = jacobian_size;
            jacobian_size += block.inputs.len() * block.outputs.len();
            start
        };
        let per_output = |of: fn(&Component) -> Option<f64>| -> Vec<Option<f64>> {
            self.owners.iter().map(|&owner| of(&self.system.components[owner])).collect()
        };
        let driving: Vec<usize> = (0..outputs).filter(|&output| connected[output]).collect();
        let sloped = |output: &usize| shape.slopes && interfaces[self.owners[*output]].abilities.slopes;
        Topology {
            states: 0,
            state_counts: Vec::new(),
            hidden: Vec::new(),
            jacobian_starts: blocks.iter().map(jacobian_start).collect(),
            tolerances: per_output(|component| component.tolerance),
            weights: per_output(|component| component.weight),
            connected,
            sloped: driving.iter().copied().filter(sloped).collect(),
            driving,
            first_inputs: (0..inputs).map(first).collect(),
            order,
            renewal,
            eventful: interfaces.iter().any(|interface| interface.abilities.events),
            names: names.to_vec(),
            interfaces: interfaces.to_vec(),
            blocks: blocks.to_vec(),
            owners: self.owners.clone(),
            couplings,
            bonds: self.links.bonds.clone(),
            byte_connections: self.links.byte_connections.clone(),
            shape,
        }
    }

    fn shape(&self, order: &Order, fits: &ExtrapolationCache) -> Sizes {
        let extrapolated = |input: &usize| !self.links.rows[*input].is_empty() && !self.discrete[*input];
        let degrees = (0..self.paths.len()).filter(extrapolated).map(|input| fits.degree(input));
        let seen: Vec<ModelPlace> = self.places(|_| true).into_iter().flatten().collect();
        Sizes {
            inputs: self.paths.len(),
            outputs: self.owners.len(),
            bonds: self.links.bonds.len(),
            degree: degrees.min().unwrap_or(0),
            feedthrough_depth: order.depth,
            looped: !order.loops.is_empty(),
            slopes: fits.slopes && self.ports.interfaces.iter().any(|interface| interface.abilities.slopes),
            states: seen.iter().map(|place| place.states).sum(),
            matrices: seen.iter().map(|place| place.matrices.len()).sum(),
            simulators: self.ports.blocks.len(),
            squares: self.ports.blocks.iter().fold([0; 3], |[inputs, both, outputs], block| {
                let (m, p) = (block.inputs.len(), block.outputs.len());
                [inputs + m * m, both + m * p, outputs + p * p]
            }),
        }
    }

    fn stages(&self, topology: &Topology, fits: &ExtrapolationCache) -> Option<Vec<Stage>> {
        let edges = edges(&topology.couplings, &topology.blocks, &topology.owners);
        let graph = CouplingGraph { simulators: topology.names.clone(), edges };
        let choice = &self.system.methods.partition;
        let (entry, options) = self.entry(&self.registry.partitions, "partition", choice)?;
        match (entry.build)(&options).stages(&graph) {
            Ok(stages) => Some(stages.into_iter().map(|members| self.stage(members, fits)).collect()),
            Err(message) => {
                self.report(Problem::error("plan/partition", message, choice.span.clone()));
                None
            }
        }
    }

    fn stage(&self, members: Vec<usize>, fits: &ExtrapolationCache) -> Stage {
        let mut groups: Vec<(usize, Vec<usize>)> = Vec::new();
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
                let fit = fits.of_input[input];
                match groups.iter_mut().find(|(known, _)| *known == fit) {
                    Some((_, inputs)) => inputs.push(input),
                    None => groups.push((fit, vec![input])),
                }
            }
        }
        let mut fits: Vec<ExtrapolationRun> =
            groups.into_iter().map(|(fit, inputs)| ExtrapolationRun { fit, inputs: runs(inputs) }).collect();
        // Unconnected inputs are constants, for any extrapolation. In separate runs: runs of plain connections are faster.
        if let Some(run) = fits.first_mut() {
            run.inputs.extend(runs(constant));
        }
        Stage { members, fits, inputs: runs(inputs), outputs: runs(outputs) }
    }

    fn stepping(&self, topology: &Topology) -> Option<StepMethods> {
        let recipe = &self.system.methods;
        let iteration = self.built(&self.registry.iterations, "iteration", &recipe.iteration)?;
        // An iteration with rollback repeats the step until loops have converged, too.
        self.check_loops(&topology.order, &topology.renewal, iteration.needs.rollback);
        let estimate = self.built(&self.registry.estimates, "estimate", &recipe.estimate)?;
        let law = self.built(&self.registry.controllers, "controller", &recipe.controller)?;
        self.check_needs(iteration.name, "iteration", &iteration.needs);
        self.check_needs(estimate.name, "estimate", &estimate.needs);
        self.check_needs(law.name, "controller", &law.needs);
        Some(StepMethods { iteration, estimate, law })
    }

    fn limits(
        &self,
        topology: &Topology,
        fits: &ExtrapolationCache,
        corrections: &Corrections,
        stepping: &StepMethods,
    ) -> Option<RunLimits> {
        let StepMethods { iteration, estimate, law } = stepping;
        let control = self.control(law.method.adaptive());
        let heard =
            |index: usize| topology.blocks[index].outputs.clone().any(|output| topology.connected[output]);
        let meets = self.stops_at_events(heard);
        // An estimate that needs rollback returns to the start of the attempt.
        let rejects = control.reject == Reject::AboveOne && control.adaptive;
        let rewinds = meets || estimate.needs.rollback || rejects;
        self.warnings(estimate.name, estimate.method.as_ref(), control.adaptive);
        let history = self.history(&topology.connected);
        self.check_history(&history, &fits.all);
        let experiment = &self.system.experiment;
        Some(RunLimits {
            start: Time::new(experiment.start)?,
            stop: Time::new(experiment.stop)?,
            end: experiment.end,
            record: experiment.record,
            history,
            control,
            first_size: self.system.methods.step.size,
            variable_steps: (0..topology.blocks.len()).all(|index| self.takes_any_window(index)),
            stop_at_events: meets,
            rewinds,
            relies_on_rollback: rewinds
                || corrections.rollback
                || iteration.needs.rollback
                || law.needs.rollback,
            caller_rewinds: false,
            rollback_checks: None,
        })
    }

    fn methods(
        &self,
        fits: ExtrapolationCache,
        corrections: Corrections,
        stages: Vec<Stage>,
        stepping: StepMethods,
    ) -> Methods {
        let mut stage_of = vec![0; self.ports.blocks.len()];
        for (place, stage) in stages.iter().enumerate() {
            stage.members.iter().for_each(|&member| stage_of[member] = place);
        }
        let rates = self.rates(&fits, &stage_of);
        Methods {
            companions: fits.all.iter().map(|fit| fit.companion()).collect(),
            fits: fits.all,
            fit_names: fits.names,
            correction_names: corrections.names,
            corrections: corrections.all,
            sources: corrections.sources,
            models: corrections.models,
            fresh: self.fresh.clone(),
            stages,
            stage_of,
            rates,
            iteration: stepping.iteration.method,
            estimate: stepping.estimate.method,
            estimate_name: stepping.estimate.name,
            controller: stepping.law.method,
        }
    }

    /// Multi-rate components.
    fn rates(&self, fits: &ExtrapolationCache, stage_of: &[usize]) -> Vec<OwnRate> {
        let assumed = |block: &PortRanges| {
            let hears = |input: &usize| {
                self.links.rows[*input].iter().any(|term| block.outputs.contains(&term.output))
            };
            let degrees = (0..self.paths.len()).filter(hears).map(|input| fits.degree(input));
            degrees.max().unwrap_or(1).clamp(1, 2)
        };
        let rate = |(member, component): (usize, &Component)| {
            let block = &self.ports.blocks[member];
            Some(OwnRate {
                member,
                every: component.step.as_ref()?.0,
                rigid: !self.ports.interfaces[member].abilities.variable_step,
                degree: assumed(block),
                inputs: block.inputs.clone(),
                stage: stage_of[member],
            })
        };
        self.system.components.iter().enumerate().filter_map(rate).collect()
    }

    /// Whether windows may have any size for this simulator: its step is variable, or its own steps are longer than any
    /// window.
    pub(super) fn takes_any_window(&self, index: usize) -> bool {
        let step = &self.system.methods.step;
        let longest = step.size.filter(|_| !self.varies).unwrap_or(step.max);
        let own = self.system.components[index].step.as_ref();
        self.ports.interfaces[index].abilities.variable_step || own.is_some_and(|(every, _)| *every > longest)
    }

    /// A discrete input is neither extrapolated nor corrected.
    fn is_discrete(&self, input: usize) -> bool {
        let taken = self.ports.port(PowerVariable::Input(input));
        taken.value_type != ValueType::Real
            || self.links.rows[input]
                .iter()
                .any(|term| self.is_discrete_port(PowerVariable::Output(term.output)))
    }

    /// A port with discrete values.
    fn is_discrete_port(&self, end: PowerVariable) -> bool {
        let port = self.ports.port(end);
        port.discrete || port.value_type != ValueType::Real
    }

    fn built<T: ?Sized>(
        &self,
        entries: &[&'static MethodEntry<T>],
        axis: &str,
        choice: &Choice,
    ) -> Option<MethodWithNeeds<T>> {
        let (entry, options) = self.entry(entries, axis, choice)?;
        Some(MethodWithNeeds {
            name: entry.name,
            method: (entry.build)(&options),
            needs: (entry.needs)(&options),
        })
    }

    /// Looks a chosen method up and checks its options.
    pub(super) fn entry<T: ?Sized>(
        &self,
        entries: &[&'static MethodEntry<T>],
        axis: &str,
        choice: &Choice,
    ) -> Option<(&'static MethodEntry<T>, Options)> {
        let Some(entry) = find(entries, &choice.name) else {
            let message = format!("unknown {axis} `{}`", choice.name);
            let hint = suggest(&choice.name, entries.iter().map(|entry| entry.name));
            self.refuse("plan/unknown-method", &choice.span, [&message, &hint]);
            return None;
        };
        match Options::resolve(&format!("`{}`", entry.name), entry.options, &values(&choice.options)) {
            Ok(options) => Some((entry, options)),
            Err(found) => {
                self.problems.borrow_mut().extend(found.into_iter().map(|found| {
                    let span = span_of(&choice.options, &found.key, &choice.span);
                    Problem { hint: found.hint, ..Problem::error("plan/bad-option", found.message, span) }
                }));
                None
            }
        }
    }

    fn control(&self, adaptive: bool) -> StepLimits {
        let step = &self.system.methods.step;
        // A line that could not be resolved would have given its islands their own steps.
        let lines = self.system.bonds.iter().any(|bond| bond.line.is_some());
        if !adaptive && step.size.is_none() && !lines {
            let hint = "write `step = { size = 1e-3 }` in `[method]`, or `--step 1e-3`";
            let words = ["a fixed step size is chosen, but no size is given", hint];
            self.refuse("plan/no-step-size", &step.span, words);
        }
        if step.reject == Reject::AboveOne {
            let needs = Needs { rollback: true, ..Needs::NOTHING };
            self.check_needs("above-one", "rejection", &needs);
            if !adaptive {
                self.report(Problem::warning(
                    "plan/nothing-to-reject",
                    "`reject = \"above-one\"` has no effect while the step size is fixed",
                    step.span.clone(),
                ));
            }
        }
        self.check_last_step(step.size.filter(|_| !adaptive));
        if let Some(size) = step.size.filter(|_| !adaptive) {
            self.check_own_steps(size);
        }
        StepLimits::new(step, adaptive)
    }

    fn history(&self, connected: &[bool]) -> History {
        let Some((file, span)) = &self.system.experiment.history else { return History::default() };
        let path = self.system.folder.join(file);
        let format = format_of(&self.registry.formats, &path);
        let table = match format.map_err(TableError::from).and_then(|format| (format.read)(&path)) {
            Ok(table) => table,
            Err(error) => {
                self.report(
                    Problem::error("plan/history", error.to_string(), span.clone()).hint(error.hint()),
                );
                return History::default();
            }
        };
        let start = self.system.experiment.start;
        match history::of_table(&table, &path, span, start, connected, self.ports) {
            Ok(history) => history,
            Err(found) => {
                self.problems.borrow_mut().extend(found);
                History::default()
            }
        }
    }
}
