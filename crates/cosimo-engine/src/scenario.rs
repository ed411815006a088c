//! Scenarios: timed and conditional actions during a run, at communication points only.
//!
//! Actions on signals change rows of the coupling matrix. So they act between output and input, the output itself keeps its
//! value, and every method sees the changed system: no correction compensates an injected fault.
//! Windows end at timed actions. After an action the outputs are read again and put into the traces as second samples of
//! the same instant, which marks a jump that extrapolations must not look across.

use cosimo_core::error::StepError;
use cosimo_core::registry::{OpenRequest, Registry, Value, suggest};
use cosimo_core::{Bond, Couplings, PowerVariable, Time};
use cosimo_system::expression::Expression;
use cosimo_system::{ConnectionDecl, Effect, Problem, Span, System, Trigger};

use crate::instant::Instant;
use crate::island::Island;
use crate::plan::{Layout, Links, Ports};
use crate::simulator_pool::Task;
use crate::state_walk::StateWalk;

/// The number of logged events; beyond it they are only counted, since a condition may toggle without end.
const MAX_LOGGED: usize = 1000;

/// The actions of a run and their progress.
#[derive(Debug)]
pub struct Scenario {
    actions: Vec<PlannedAction>,
    /// The coupling matrix without actions.
    untouched: Couplings,
    /// Per input: the signal is `factor` times the coupled value, plus `offset`.
    changes: Vec<SignalChange>,
    /// Per input: an action has changed its signal at some time.
    tampered: Vec<bool>,
    /// Per tunable parameter that is named: simulator, index, and its value if it was changed.
    tuned: Vec<(usize, usize, Option<f64>)>,
    /// Parameters that are connected to outputs.
    followed: Vec<FollowedParameter>,
    events: Vec<(Time, usize)>,
    more_events: u64,
    stopped: bool,
    /// Scratch: actions that are due at the present point.
    due: Vec<usize>,
}

#[derive(Debug)]
struct PlannedAction {
    name: String,
    when: ActionTrigger,
    what: ActionEffect,
    done: bool,
}

#[derive(Debug)]
enum ActionTrigger {
    At(Time),
    /// Fires on a rising edge; `held`: it was true at the last point.
    True {
        condition: Expression,
        /// The indices of its ports.
        ends: Vec<PowerVariable>,
        once: bool,
        held: bool,
    },
}

#[derive(Debug)]
enum ActionEffect {
    Set {
        input: usize,
        value: f64,
    },
    /// Inputs with the gain of the named output, or 1.
    Signal {
        inputs: Vec<(usize, f64)>,
        deed: Effect,
    },
    /// An index into `tuned`.
    Tune {
        place: usize,
        value: f64,
    },
    Stop,
}

/// A parameter that is set to a sum of outputs at every communication point, such as the column of a table.
#[derive(Debug)]
struct FollowedParameter {
    /// An index into `tuned`.
    place: usize,
    /// Outputs and their gains.
    terms: Vec<(usize, f64)>,
    offset: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct SignalChange {
    factor: f64,
    offset: f64,
}

const NO_CHANGE: SignalChange = SignalChange { factor: 1.0, offset: 0.0 };

impl Scenario {
    /// A scenario without actions yet.
    fn idle(inputs: usize, actions: usize) -> Scenario {
        Scenario {
            actions: Vec::new(),
            untouched: Couplings::default(),
            changes: vec![NO_CHANGE; inputs],
            tampered: vec![false; inputs],
            tuned: Vec::new(),
            followed: Vec::new(),
            events: Vec::with_capacity(MAX_LOGGED),
            more_events: 0,
            stopped: false,
            due: Vec::with_capacity(actions),
        }
    }

    /// Also accepts changes by the caller between two steps, of each input and each tunable parameter.
    pub(crate) fn open_to_changes(scenario: Option<Scenario>, layout: &Layout) -> Scenario {
        let mut scenario = scenario.unwrap_or_else(|| Scenario::idle(layout.topology.shape.inputs, 0));
        for (member, interface) in layout.topology.interfaces.iter().enumerate() {
            for place in 0..interface.tunable.len() {
                if scenario.place_of(member, place).is_none() {
                    scenario.tuned.push((member, place, None));
                }
            }
        }
        scenario
    }

    /// Sets unconnected inputs at the present communication point. Returns whether a value changed.
    pub(crate) fn set_inputs(
        &mut self,
        island: &mut Island,
        values: &[(usize, f64)],
    ) -> Result<bool, StepError> {
        let mut jumps = false;
        for &(input, value) in values {
            let now = island.layout.topology.couplings.value(input, island.board.traces.newest());
            if now.to_bits() != value.to_bits() {
                self.set(input, SignalChange { factor: 0.0, offset: value }, island);
                jumps = true;
            }
        }
        if jumps {
            jump(island)?;
        }
        Ok(jumps)
    }

    /// Sets a tunable parameter at the present communication point. `None`: there is no such parameter.
    pub(crate) fn set_parameter(
        &mut self,
        island: &mut Island,
        (member, parameter): (usize, usize),
        value: f64,
    ) -> Option<Result<(), StepError>> {
        let place = self.place_of(member, parameter)?;
        Some(self.change(place, value, island).and_then(|()| jump(island)))
    }

    /// The index of a parameter in `tuned`.
    fn place_of(&self, member: usize, parameter: usize) -> Option<usize> {
        self.tuned.iter().position(|tuned| (tuned.0, tuned.1) == (member, parameter))
    }

    fn set(&mut self, input: usize, change: SignalChange, island: &mut Island) {
        self.changes[input] = change;
        apply(input, change, &self.untouched, island);
    }

    fn change(&mut self, place: usize, value: f64, island: &mut Island) -> Result<(), StepError> {
        let (member, parameter, now) = &mut self.tuned[place];
        *now = Some(value);
        island.run_at_rest(Task::Tune { member: *member, parameter: *parameter, value })
    }

    /// Resolves all names and reports all problems.
    pub(crate) fn plan(
        system: &System,
        ports: &Ports<'_>,
        links: &Links,
        registry: &Registry,
        problems: &mut Vec<Problem>,
    ) -> Option<Scenario> {
        let declared = system.scenario.as_ref().map_or(&[][..], |declared| &declared.actions);
        if system.scenario.is_none() && links.tuned.is_empty() {
            return None;
        }
        let mut scenario = Scenario::idle(links.rows.len(), declared.len());
        for wire in &links.tuned {
            match scenario.follow(wire, system, ports) {
                Ok(followed) => scenario.followed.push(followed),
                Err(found) => problems.extend(found),
            }
        }
        for action in declared {
            let target = (action.target.0.as_str(), &action.target.1);
            let what = match action.effect {
                Effect::Stop => Ok(ActionEffect::Stop),
                Effect::Parameter(value) => scenario.tune(target, value, system, ports, registry),
                Effect::Set(value) => set_effect(target, value, ports, links),
                deed => signal_effect(target, deed, ports, links),
            };
            let when = match &action.trigger {
                Trigger::At(time, span) => instant(*time, span, system, problems),
                Trigger::When { condition, once, .. } => {
                    let ends = places(condition, ports, problems);
                    Some(ActionTrigger::True { condition: condition.clone(), ends, once: *once, held: false })
                }
            };
            match (what, when) {
                (Ok(what), Some(when)) => {
                    scenario.actions.push(PlannedAction {
                        name: action.name.clone(),
                        when,
                        what,
                        done: false,
                    });
                }
                (Ok(_), None) => {}
                (Err(problem), _) => problems.push(problem),
            }
        }
        let timed = |action: &&PlannedAction| matches!(action.when, ActionTrigger::At(_));
        let rigid = ports.interfaces.iter().position(|interface| !interface.abilities.variable_step);
        if let (Some(rigid), Some(action)) = (rigid, scenario.actions.iter().find(timed)) {
            let message = format!(
                "component `{}` has a fixed step size: action `{}` happens at the first communication point at or after its \
                 time",
                ports.names[rigid], action.name
            );
            problems.push(Problem::warning("scenario/instant", message, 0..0));
        }
        Some(scenario)
    }

    fn follow(
        &mut self,
        wire: &ConnectionDecl,
        system: &System,
        ports: &Ports<'_>,
    ) -> Result<FollowedParameter, Vec<Problem>> {
        let (path, span) = &wire.to;
        let (member, place) = tunable((path, span), ports).map_err(|problem| vec![problem])?;
        if self.place_of(member, place).is_some() {
            let message = format!("parameter `{path}` is driven by two connections");
            return Err(vec![Problem::error("plan/driven-twice", message, span.clone())]);
        }
        let (terms, unfound) = ports.summands(wire);
        if !unfound.is_empty() {
            return Err(unfound.into_iter().flatten().map(|problem| *problem).collect());
        }
        // With the right value from the start nothing has to be set there.
        let name = &ports.interfaces[member].tunable[place];
        let given = system.components[member].parameters.iter().rev().find(|(known, ..)| known == name);
        self.tuned.push((member, place, given.and_then(|(_, value, _)| value.number())));
        Ok(FollowedParameter { place: self.tuned.len() - 1, terms, offset: wire.offset })
    }

    fn tune(
        &mut self,
        target: (&str, &Span),
        value: f64,
        system: &System,
        ports: &Ports<'_>,
        registry: &Registry,
    ) -> Result<ActionEffect, Problem> {
        let (member, place) = tunable(target, ports)?;
        let (name, parameter) = (&ports.names[member], &ports.interfaces[member].tunable[place]);
        let wrong = |message: String| Problem::error("scenario/parameter", message, target.1.clone());
        // Opening the simulator with the value is the only way to check that it is valid.
        let component = &system.components[member];
        let given = component.parameters.iter().filter(|(known, ..)| known != parameter);
        let mut parameters: Vec<(String, Value)> =
            given.map(|(known, value, _)| (known.clone(), value.clone())).collect();
        parameters.push((parameter.clone(), Value::Number(value)));
        let request = OpenRequest {
            name,
            source: &component.source,
            folder: &system.folder,
            parameters: &parameters,
            joined: false,
        };
        let kind = registry.source(&component.source);
        if let Some(Err(found)) = kind.map(|kind| kind.open(&request)) {
            let messages: Vec<String> = found.into_iter().map(|problem| problem.message).collect();
            return Err(wrong(format!("component `{name}`: {}", messages.join("; "))));
        }
        let place = self.place_of(member, place).unwrap_or_else(|| {
            self.tuned.push((member, place, None));
            self.tuned.len() - 1
        });
        Ok(ActionEffect::Tune { place, value })
    }

    /// At the start of the run, before the first step.
    pub(crate) fn begin(&mut self, island: &mut Island) -> Result<(), StepError> {
        self.untouched = island.layout.topology.couplings.clone();
        self.act(island)
    }

    /// Performs what is due at the present point and limits the next window.
    pub(crate) fn act(&mut self, island: &mut Island) -> Result<(), StepError> {
        self.due.clear();
        for (index, action) in self.actions.iter_mut().enumerate() {
            let due = match &mut action.when {
                ActionTrigger::At(time) => {
                    !action.done && (island.clock.now() >= *time || island.clock.reached(*time))
                }
                ActionTrigger::True { condition, ends, once, held } => {
                    let holds = holds(condition, ends, island);
                    let rises = holds && !*held;
                    *held = holds;
                    rises && !(*once && action.done)
                }
            };
            if due {
                action.done = true;
                self.due.push(index);
            }
        }
        let due = std::mem::take(&mut self.due);
        let mut jumps = false;
        for &index in &due {
            jumps |= self.perform(index, island)?;
            if self.events.len() < MAX_LOGGED {
                self.events.push((island.clock.now(), index));
            } else {
                self.more_events += 1;
            }
        }
        self.due = due;
        jumps |= self.update_followed(island)?;
        if jumps {
            jump(island)?;
        }
        self.update_island(island);
        Ok(())
    }

    /// Sets parameters whose connected value changed. Returns whether there were any.
    fn update_followed(&mut self, island: &mut Island) -> Result<bool, StepError> {
        let mut changed = false;
        for index in 0..self.followed.len() {
            let FollowedParameter { place, terms, offset } = &self.followed[index];
            let outputs = island.board.traces.newest();
            let value = terms.iter().fold(*offset, |sum, (output, gain)| sum + gain * outputs[*output]);
            if self.tuned[*place].2 != Some(value) {
                self.change(*place, value, island)?;
                changed = true;
            }
        }
        Ok(changed)
    }

    /// Returns whether a value was changed.
    fn perform(&mut self, index: usize, island: &mut Island) -> Result<bool, StepError> {
        match &self.actions[index].what {
            &ActionEffect::Set { input, value } => {
                self.set(input, SignalChange { factor: 0.0, offset: value }, island)
            }
            ActionEffect::Signal { inputs, deed } => {
                for &(input, gain) in inputs {
                    let change = match deed {
                        Effect::Override(value) => SignalChange { factor: 0.0, offset: gain * value },
                        Effect::Stuck => {
                            let outputs = island.board.traces.newest();
                            SignalChange {
                                factor: 0.0,
                                offset: island.layout.topology.couplings.value(input, outputs),
                            }
                        }
                        Effect::Scale(factor) => SignalChange { factor: *factor, offset: 0.0 },
                        Effect::Offset(offset) => SignalChange { factor: 1.0, offset: gain * offset },
                        _ => NO_CHANGE,
                    };
                    self.changes[input] = change;
                    self.tampered[input] |= change != NO_CHANGE;
                    apply(input, change, &self.untouched, island);
                }
            }
            &ActionEffect::Tune { place, value } => self.change(place, value, island)?,
            ActionEffect::Stop => {
                self.stopped = true;
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Passes to the island: the next instant, signals that must not be corrected, and how many are changed.
    fn update_island(&self, island: &mut Island) {
        let pending = self.actions.iter().filter(|action| !action.done);
        let instants = pending.filter_map(|action| match action.when {
            ActionTrigger::At(time) => Some(time),
            ActionTrigger::True { .. } => None,
        });
        island.next_action = instants.min();
        island.board.overridden.clear();
        island.board.changed = 0;
        for (input, change) in self.changes.iter().enumerate() {
            let driven = !self.untouched.terms(input).is_empty();
            if driven && *change != NO_CHANGE {
                island.board.changed += 1;
                if change.factor == 0.0 {
                    island.board.overridden.push(input);
                }
            }
        }
    }

    pub(crate) fn stopped(&self) -> bool {
        self.stopped
    }

    /// The logged actions in order, by time and name; and how many more there were.
    pub fn events(&self) -> (impl Iterator<Item = (Time, &str)>, u64) {
        let event = |(time, index): &(Time, usize)| (*time, self.actions[*index].name.as_str());
        (self.events.iter().map(event), self.more_events)
    }

    /// Whether an action ever changed a signal of the bond.
    pub(crate) fn touched(&self, bond: &Bond) -> bool {
        let mut ends = bond.sides.iter().flat_map(|side| [side.effort, side.flow]);
        ends.any(|end| matches!(end, PowerVariable::Input(input) if self.tampered[input]))
    }

    pub(crate) fn len(&self) -> usize {
        self.actions.len() + self.followed.len()
    }

    /// Whether it has actions; there may be only parameters that are connected.
    pub(crate) fn acts(&self) -> bool {
        !self.actions.is_empty()
    }

    pub(crate) fn walk(&mut self, walk: &mut StateWalk<'_>) {
        for action in &mut self.actions {
            walk.flag(&mut action.done);
            if let ActionTrigger::True { held, .. } = &mut action.when {
                walk.flag(held);
            }
        }
        for (change, tampered) in self.changes.iter_mut().zip(&mut self.tampered) {
            walk.numbers([&mut change.factor, &mut change.offset]);
            walk.flag(tampered);
        }
        self.tuned.iter_mut().for_each(|(.., value)| walk.maybe(value));
        walk.flag(&mut self.stopped);
        walk.count(&mut self.more_events);
        let (mut times, mut places): (Vec<f64>, Vec<f64>) =
            self.events.iter().map(|(time, index)| (time.seconds(), *index as f64)).unzip();
        walk.list(&mut times);
        walk.list(&mut places);
        if !walk.reads() {
            return;
        }
        self.events.clear();
        for (time, place) in times.into_iter().zip(places).take(MAX_LOGGED) {
            let index = place as usize;
            match Time::new(time).filter(|_| index < self.actions.len()) {
                Some(time) => self.events.push((time, index)),
                None => walk.refuse(),
            }
        }
    }

    /// Repeats the changes made before a checkpoint, on an island at its start.
    pub(crate) fn redo(&self, island: &mut Island) -> Result<(), StepError> {
        for (input, change) in self.changes.iter().enumerate() {
            apply(input, *change, &self.untouched, island);
        }
        for &(member, parameter, value) in &self.tuned {
            if let Some(value) = value {
                island.run_at_rest(Task::Tune { member, parameter, value })?;
            }
        }
        self.update_island(island);
        Ok(())
    }
}

/// The simulator and the index of a tunable parameter.
fn tunable((path, span): (&str, &Span), ports: &Ports<'_>) -> Result<(usize, usize), Problem> {
    let wrong = |message: String| Problem::error("scenario/parameter", message, span.clone());
    // Names of components may have dots; the longest match counts.
    let owners = ports.names.iter().enumerate();
    let owner = owners
        .filter_map(|(member, name)| {
            Some((member, name, path.strip_prefix(name.as_str())?.strip_prefix('.')?))
        })
        .max_by_key(|(_, name, _)| name.len());
    let Some((member, name, parameter)) = owner else {
        return Err(match path.split_once('.') {
            None => wrong(format!("`{path}` is not a parameter"))
                .hint("parameters are written `component.parameter`, as in `chassis.mc`"),
            Some((name, _)) => wrong(format!("no component is called `{name}`"))
                .hint(suggest(name, ports.names.iter().map(String::as_str))),
        });
    };
    let tunable = &ports.interfaces[member].tunable;
    let place = tunable.iter().position(|known| known == parameter).ok_or_else(|| {
        let message = format!("component `{name}` has no tunable parameter `{parameter}`");
        wrong(message).hint(match tunable.is_empty() {
            true => {
                "it has no tunable parameters; co-simulation FMUs declare them by `variability=\"tunable\"`"
                    .into()
            }
            false => suggest(parameter, tunable.iter().map(String::as_str)),
        })
    })?;
    Ok((member, place))
}

fn instant(time: f64, span: &Span, system: &System, problems: &mut Vec<Problem>) -> Option<ActionTrigger> {
    let (start, stop) = (system.experiment.start, system.experiment.stop);
    if time < start {
        let message = format!("`at` must not be before the start of the run at {start} s, got {time}");
        problems.push(Problem::error("scenario/instant", message, span.clone()));
        return None;
    }
    if time > stop {
        let message = format!("the action at {time} s never happens: the run ends at {stop} s");
        problems.push(Problem::warning("scenario/instant", message, span.clone()));
    }
    Time::new(time).map(ActionTrigger::At)
}

/// As `Ports::find`, reported as a problem of the scenario.
fn find((path, span): (&str, &Span), ports: &Ports<'_>) -> Result<PowerVariable, Problem> {
    ports.find(path, span).map_err(|unfound| match unfound {
        Some(problem) => Problem { code: "scenario/port", ..*problem },
        None => {
            let message = format!("`{path}` cannot be resolved: its component cannot be opened");
            wrong_port(message, span)
        }
    })
}

fn wrong_port(message: String, span: &Span) -> Problem {
    Problem::error("scenario/port", message, span.clone())
}

fn set_effect(
    target: (&str, &Span),
    value: f64,
    ports: &Ports<'_>,
    links: &Links,
) -> Result<ActionEffect, Problem> {
    let (path, span) = target;
    let wrong = |message: String, hint: String| Err(wrong_port(message, span).hint(hint));
    match find(target, ports)? {
        PowerVariable::Input(input) if links.rows[input].is_empty() => Ok(ActionEffect::Set { input, value }),
        PowerVariable::Input(input) => wrong(
            format!("`{path}` cannot be set: it is driven by {}", links.drivers[input].join(" and ")),
            format!("write `override = \"{path}\"` to replace its signal"),
        ),
        PowerVariable::Output(_) => wrong(
            format!("expected an input, but `{path}` is an output"),
            format!("write `override = \"{path}\"` to replace its value in connected inputs"),
        ),
    }
}

fn signal_effect(
    target: (&str, &Span),
    deed: Effect,
    ports: &Ports<'_>,
    links: &Links,
) -> Result<ActionEffect, Problem> {
    let (path, span) = target;
    let wrong = |message: String, hint: String| Err(wrong_port(message, span).hint(hint));
    let inputs = match find(target, ports)? {
        PowerVariable::Input(input) if links.rows[input].is_empty() => {
            return wrong(
                format!("input `{path}` is not connected, so it has no signal to change"),
                format!("write `set = \"{path}\"` and `to = 1.0`"),
            );
        }
        PowerVariable::Input(input) => vec![(input, 1.0)],
        PowerVariable::Output(output) => {
            let mut inputs = Vec::new();
            for (input, row) in links.rows.iter().enumerate() {
                let Some(term) = row.iter().find(|term| term.output == output) else { continue };
                if row.len() > 1 {
                    let name = ports.path(PowerVariable::Input(input));
                    return wrong(
                        format!("`{path}` is only one term of the sum that drives `{name}`"),
                        format!("name the input instead: `{name}`"),
                    );
                }
                inputs.push((input, term.gain));
            }
            if inputs.is_empty() {
                return wrong(
                    format!("output `{path}` is not connected, so there is no signal to change"),
                    "name a connected output or input".into(),
                );
            }
            inputs
        }
    };
    Ok(ActionEffect::Signal { inputs, deed })
}

/// The indices of all ports in a condition, in the order of the text.
fn places(condition: &Expression, ports: &Ports<'_>, problems: &mut Vec<Problem>) -> Vec<PowerVariable> {
    let mut ends = Vec::new();
    for (path, span) in condition.ports() {
        // A name may be both; the output is the computed one.
        let end = ports.output(path, span).map(PowerVariable::Output);
        match end.or_else(|_| find((path, span), ports)) {
            Ok(end) => ends.push(end),
            Err(problem) => problems.push(problem),
        }
    }
    ends
}

/// Evaluates a condition on the newest outputs and the inputs that follow from them.
fn holds(condition: &Expression, ends: &[PowerVariable], island: &Island) -> bool {
    let (outputs, mut ends) = (island.board.traces.newest(), ends.iter());
    let mut value = |_: &str| match ends.next() {
        Some(PowerVariable::Output(output)) => outputs[*output],
        Some(PowerVariable::Input(input)) => island.layout.topology.couplings.value(*input, outputs),
        None => unreachable!("every port of a condition has an index"),
    };
    condition.value(island.clock.now().seconds(), &mut value) == 1.0
}

fn apply(input: usize, change: SignalChange, untouched: &Couplings, island: &mut Island) {
    island.layout.topology.couplings.set_row(input, untouched, change.factor, change.offset);
}

/// Sets the new inputs at the present instant; the resulting outputs become a second sample of it.
fn jump(island: &mut Island) -> Result<(), StepError> {
    let at = island.clock.now();
    let board = &mut island.board;
    board.rates.jump();
    // A row may show the outputs and applied inputs of the step, so both are saved and restored.
    board.offsets.copy_from_slice(&board.buffers.segments);
    board.step_outputs.copy_from_slice(&board.buffers.outputs);
    board.stashed.copy_from_slice(board.traces.newest());
    board.traces.open(at);
    board.traces.put(0, &board.stashed, &[]);
    let size = island.window.size;
    island.set_inputs_at(Instant::Jump, |settling| {
        settling.begin_from(size);
        settling.all(false)?;
        settling.in_order()?;
        // Once more, so that inputs and outputs of all simulators are consistent.
        if settling.order().steps.is_empty() { Ok(()) } else { settling.all(false) }
    })?;
    let Island { board, layout, .. } = island;
    board.traces.commit();
    for input in 0..layout.topology.shape.inputs {
        if !layout.topology.couplings.terms(input).is_empty() {
            board.buffers.segments[input] = board.offsets[input];
        }
    }
    board.buffers.outputs.copy_from_slice(&board.step_outputs);
    Ok(())
}
