//! Every choice of a plan: which method for which input, in which stage, and whether the simulators can do
//! what it needs. Problems are collected, never thrown: the caller wants all of them.

use cosimo_core::entry::{Entry, Options, Registry, Value, find, format_of, suggest};
use cosimo_core::interface::Needs;
use cosimo_core::linearised::Place;
use cosimo_core::link::Block;
use cosimo_core::method::{CouplingGraph, Discrete, Fit, Law, Shape};
use cosimo_core::recorder::TableError;
use cosimo_core::{Carries, Couplings, End, Local, Time};
use cosimo_system::{Choice, Exchange, Problem, Reject, System};

use super::corrections::PlannedCorrections;
use super::order::{self, Order};
use super::ports::Ports;
use super::resolve::Links;
use super::{FitRun, Layout, Methods, RunLimits, Stage, Topology, runs};
use crate::control::Control;
use crate::crew::Sources;
use crate::history::{self, History};
use crate::rates::Rate;
use crate::rows::Rows;

pub(crate) struct Planner<'a> {
    pub(crate) system: &'a System,
    pub(crate) registry: &'a Registry,
    pub(crate) ports: &'a Ports<'a>,
    pub(crate) links: &'a Links,
    /// Per component, where results may hold some.
    pub(crate) locals: &'a [Vec<Local>],
}

pub(crate) type Planned = (Layout, Sources);

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
            let (entry, options) = self.entry(&self.registry.inputs, "input", choice, problems)?;
            if self.links.rows[input].is_empty() {
                continue;
            }
            fit_names[input] = entry.name;
            let needs = (entry.needs)(&options);
            wants_slopes |= needs.slopes;
            self.sources_meet(entry, &needs, input, &owners, problems);
            let known = chosen.iter().find(|(other, _, through)| {
                other.name == choice.name && other.options == choice.options && *through == passes[input]
            });
            fit_of_input[input] = match known {
                Some((_, place, _)) => *place,
                None => {
                    fits.push((entry.build)(&options).choose(passes[input]));
                    chosen.push((choice, fits.len() - 1, passes[input]));
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
            simulators: blocks.len(),
            squares: blocks.iter().fold([0; 3], |[inputs, both, outputs], block| {
                let (m, p) = (block.inputs.len(), block.outputs.len());
                [inputs + m * m, both + m * p, outputs + p * p]
            }),
        };
        let PlannedCorrections { corrections, correction_names, sources, models, mut relies_on_rollback } =
            self.corrections(&paths, &discrete, &shape, problems)?;
        self.check_answers(&fresh, sources.interface.as_deref(), problems);
        let graph =
            CouplingGraph { simulators: names.clone(), edges: order::edges(&couplings, &blocks, &owners) };
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
            self.locals,
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
            topology: Topology {
                states: 0,
                state_counts: Vec::new(),
                hidden: Vec::new(),
                jacobian_starts,
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
                order,
                renewal,
                eventful: interfaces.iter().any(|interface| interface.abilities.events),
                names,
                interfaces,
                blocks,
                owners,
                couplings,
                bonds: self.links.bonds.clone(),
                parcels: self.links.parcels.clone(),
                shape,
            },
            limits: RunLimits {
                start: Time::new(experiment.start)?,
                stop: Time::new(experiment.stop)?,
                end: experiment.end,
                record: experiment.record,
                control,
                first_size: recipe.step.size,
                cuts: (0..self.ports.interfaces.len()).all(|index| self.takes_any(index)),
                meets: early,
                rewinds,
                relies_on_rollback,
                probed: false,
                rehearsed: None,
            },
            methods: Methods {
                companions: fits.iter().map(|fit| fit.companion()).collect(),
                fits,
                fit_names,
                correction_names,
                corrections,
                has_jacobian: sources.interface.is_some(),
                models,
                fresh,
                stages,
                parcel_stages: self.links.parcels.iter().map(|wire| stage_of(wire.from.0)).collect(),
                rates,
                iteration,
                estimate,
                law,
                history,
            },
            rows,
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
    pub(super) fn takes_any(&self, index: usize) -> bool {
        let step = &self.system.recipe.step;
        let longest = step.size.filter(|_| !self.varies()).unwrap_or(step.max);
        let own = self.system.components[index].step.as_ref();
        self.ports.interfaces[index].abilities.variable_step || own.is_some_and(|(every, _)| *every > longest)
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

    /// Looks a chosen method up and checks its options.
    pub(super) fn entry<T: ?Sized>(
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

    /// Whether the law may take steps of several sizes.
    pub(super) fn varies(&self) -> bool {
        let law = self.entry(&self.registry.laws, "law", &self.system.recipe.law, &mut Vec::new());
        law.is_none_or(|(entry, options)| (entry.build)(&options).adaptive())
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
        // A line that could not be made out would have given its islands steps of their own.
        let lines = self.system.bonds.iter().any(|bond| bond.line.is_some());
        if !law.adaptive() && step.size.is_none() && !lines {
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
