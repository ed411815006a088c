//! A monolithic group: FMUs for model exchange that are integrated as one system, without extrapolation between them. At
//! every evaluation of the integrator each input equals the connected outputs, and algebraic loops are solved.

use std::sync::Arc;

use cosimo_core::registry::{JoinRequest, OpenProblem};
use cosimo_core::{DefaultExperiment, Interface, SimulatorError, Slot, ValueType};
use cosimo_native::CompletedStep;
use cosimo_ode::{Newton, NewtonError};

use crate::description::{Description, Fmi, VariableType};
use crate::fmi2::Fmi2Instance;
use crate::fmi3::Fmi3Instance;
use crate::fmu::Fmu;
use crate::instance::{
    EventModeInstance, EventUpdate, Instance, InstanceState, ModelExchangeInstance, StartValue,
};
use crate::member_graph::{MemberGraph, MemberVariable, SolveStep};
use crate::model_exchange::{self, EquationsInfo, EquationsOrigin, FmuEquations, ModelExchangeFmu, Single};
use crate::parameters::{self, Parameters, Rollback};
use crate::ports::{PortGroup, Ports};

/// Rounds of a loop that has values without any between them.
const ROUNDS: usize = 100;

/// The FMUs and their connections.
pub(crate) struct MonolithicOrigin {
    members: Vec<MemberBlueprint>,
    net: MemberGraph,
    /// Names of all inputs, for messages.
    names: Vec<String>,
    starts: Vec<f64>,
}

struct MemberBlueprint {
    fmu: Arc<Fmu>,
    name: String,
    settings: Vec<StartValue>,
    known: EquationsInfo,
}

/// Where the whole is in the life of its FMUs; what may be set depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Initialisation,
    Event,
    Continuous,
}

struct MonolithicMember {
    instance: Box<dyn ModelExchangeInstance>,
    known: EquationsInfo,
}

pub(crate) struct MonolithicInstance {
    members: Vec<MonolithicMember>,
    net: MemberGraph,
    names: Vec<String>,
    phase: Phase,
    /// Something was set since outputs were read last.
    stale: bool,
    outside: Vec<f64>,
    inputs: Vec<f64>,
    outputs: Vec<f64>,
    /// Inputs per slot: loops are solved from where they were, so that a step repeated has the same bits.
    saved: Vec<Vec<f64>>,
    /// One per turn that is a loop, with its unknowns.
    loops: Vec<(Newton, Vec<usize>, Vec<f64>)>,
    buffer: Vec<f64>,
}

/// One simulator out of several components, or what is wrong with them.
pub(crate) fn join(
    request: &JoinRequest<'_>,
    members: Vec<(Arc<Fmu>, Parameters)>,
) -> Result<ModelExchangeFmu<MonolithicOrigin>, Vec<(Option<usize>, OpenProblem)>> {
    let ports: Vec<Ports> = members
        .iter()
        .map(|(fmu, parameters)| match fmu.description.fmi {
            Fmi::One | Fmi::Two => model_exchange::ports::<Fmi2Instance>(fmu, parameters),
            Fmi::Three => model_exchange::ports::<Fmi3Instance>(fmu, parameters),
        })
        .collect();
    let net = MemberGraph::new(&ports, request.connections);
    let parameters = settle(request, &members)?;
    let parts: Vec<MemberBlueprint> = members
        .into_iter()
        .zip(request.members)
        .map(|((fmu, parameters), asked)| MemberBlueprint {
            known: EquationsInfo::of(&fmu),
            fmu,
            name: asked.name.to_owned(),
            settings: parameters.settings,
        })
        .collect();
    let known = EquationsInfo {
        states: parts.iter().map(|part| part.known.states).sum(),
        names: if parts.iter().all(|part| part.known.names.len() == part.known.states) {
            let path = |part: &MemberBlueprint, name: &String| format!("{}.{name}", part.name);
            parts.iter().flat_map(|part| part.known.names.iter().map(move |name| path(part, name))).collect()
        } else {
            Vec::new()
        },
        indicators: parts.iter().map(|part| part.known.indicators).sum(),
        completed_steps: parts.iter().any(|part| part.known.completed_steps),
        // A member without events has nothing to be kept; if another has, that one must keep it.
        keeps_state: parts.iter().all(|part| part.known.can_go_back())
            && parts.iter().any(|part| part.known.keeps_state),
        serializes: parts.iter().all(|part| part.known.can_be_bytes()),
        once_per_process: parts.iter().any(|part| part.known.once_per_process),
        eventless: parts.iter().all(|part| part.known.eventless),
        columns: None,
        jacobian: false,
        tolerance: parts.iter().filter_map(|part| part.known.tolerance).reduce(f64::min),
    };
    let whole = group_ports(&ports, &parts, &net);
    let inputs = parts.iter().zip(&ports).flat_map(|(part, ports)| {
        ports.interface.inputs.iter().map(move |port| format!("{}.{}", part.name, port.name))
    });
    let names = inputs.collect();
    let start = |member: usize, input: usize| {
        let said =
            request.connections.iter().find(|wire| wire.to == (member, input)).and_then(|wire| wire.start);
        said.or(ports[member].interface.inputs[input].start).unwrap_or(0.0)
    };
    let starts = ports
        .iter()
        .enumerate()
        .flat_map(|(member, ports)| (0..ports.interface.inputs.len()).map(move |input| (member, input)))
        .map(|(member, input)| start(member, input))
        .collect();
    Ok(FmuEquations::new(MonolithicOrigin { members: parts, net, names, starts }, known, whole, parameters))
}

/// How the whole is integrated: as it was said of the whole, else as its members say.
fn settle(
    request: &JoinRequest<'_>,
    members: &[(Arc<Fmu>, Parameters)],
) -> Result<Parameters, Vec<(Option<usize>, OpenProblem)>> {
    let given = parameters::of_joined(request.options)
        .map_err(|wrong| wrong.into_iter().map(|problem| (None, problem)).collect::<Vec<_>>())?;
    let least = |of: fn(&Parameters) -> Option<f64>| {
        of(&given).or_else(|| members.iter().filter_map(|(_, parameters)| of(parameters)).reduce(f64::min))
    };
    let solvers: Vec<_> = members.iter().map(|(_, parameters)| parameters.solver).collect();
    let said = request.options.iter().any(|(name, _)| name == "cosimo.solver");
    if let Some(other) = solvers.iter().position(|solver| solver.name != solvers[0].name).filter(|_| !said) {
        let message = format!(
            "members of one monolithic group have different solvers: `{}` has `{}`, `{}` has `{}`",
            request.members[0].name, solvers[0].name, request.members[other].name, solvers[other].name
        );
        let hint = Some("set `solver` once, for the group".into());
        let parameter = Some("cosimo.solver".into());
        return Err(vec![(Some(other), OpenProblem { parameter, message, hint })]);
    }
    let rollback = [Rollback::None, Rollback::Tried]
        .into_iter()
        .find(|wish| members.iter().any(|(_, parameters)| parameters.rollback == *wish))
        .unwrap_or(Rollback::Trusted);
    Ok(Parameters {
        solver: if said { given.solver } else { solvers[0] },
        relative: least(|parameters| parameters.relative),
        absolute: least(|parameters| parameters.absolute),
        largest_step: least(|parameters| parameters.largest_step),
        rollback,
        ..Parameters::default()
    })
}

/// The ports that the whole shows.
fn group_ports(members: &[Ports], parts: &[MemberBlueprint], net: &MemberGraph) -> Ports {
    let mut interface = Interface { feedthrough: net.feedthrough.clone(), ..Interface::default() };
    let (mut inputs, mut outputs) = (Vec::new(), Vec::new());
    let kinds = |variables: &[MemberVariable], count: usize| {
        let mut kinds = vec![VariableType::Float64; count];
        for variable in variables {
            kinds[variable.places.clone()].fill(variable.kind);
        }
        kinds
    };
    let (input_kinds, output_kinds) = (kinds(&net.inputs, net.sources.len()), kinds(&net.outputs, net.shown));
    let add = |groups: &mut Vec<PortGroup>, kind: VariableType, discrete: bool, port: usize| {
        PortGroup::add(groups, (kind, discrete, &[]), port as u32, port..port + 1);
    };
    let mut place = 0;
    for (ports, part) in members.iter().zip(parts) {
        let renamed = |port: &cosimo_core::Port| cosimo_core::Port {
            name: format!("{}.{}", part.name, port.name),
            ..port.clone()
        };
        for port in &ports.interface.inputs {
            if let Some(outside) = net.sources[place].outside {
                let discrete = port.discrete || port.value_type != ValueType::Real;
                add(&mut inputs, input_kinds[place], discrete, outside);
                interface.inputs.push(renamed(port));
            }
            place += 1;
        }
        for port in &ports.interface.outputs {
            add(&mut outputs, output_kinds[interface.outputs.len()], false, interface.outputs.len());
            interface.outputs.push(renamed(port));
        }
        let DefaultExperiment { start, stop, step } = ports.interface.default_experiment;
        let suggested = &mut interface.default_experiment;
        suggested.start = suggested.start.or(start);
        suggested.stop = suggested.stop.or(stop);
        suggested.step = suggested.step.or(step);
        let of = |word: &String| format!("{} of {}", word, part.name);
        interface.facts.extend(ports.interface.facts.iter().map(|(word, value)| (of(word), value.clone())));
        let said = ports.interface.warnings.iter().map(|words| format!("{}: {words}", part.name));
        interface.warnings.extend(said);
        interface.members.push(part.name.clone());
    }
    Ports { interface, inputs, outputs, ..Ports::default() }
}

impl EquationsOrigin for MonolithicOrigin {
    type Instance = MonolithicInstance;

    fn make(&self, start: f64, stop: Option<f64>) -> Result<MonolithicInstance, SimulatorError> {
        let mut members = Vec::new();
        for MemberBlueprint { fmu, name, settings, known } in &self.members {
            let instance: Box<dyn ModelExchangeInstance> = match fmu.description.fmi {
                Fmi::One | Fmi::Two => {
                    Box::new(Single::<Fmi2Instance>::new(fmu.clone(), name, settings).make(start, stop)?)
                }
                Fmi::Three => {
                    Box::new(Single::<Fmi3Instance>::new(fmu.clone(), name, settings).make(start, stop)?)
                }
            };
            members.push(MonolithicMember { instance, known: known.clone() });
        }
        let loops = self.net.turns.iter().filter_map(|turn| match turn {
            SolveStep::Plain { .. } => None,
            SolveStep::Loop { sets, .. } => {
                let places = sets.iter().map(|set| &self.net.inputs[*set]).filter(|it| smooth(it));
                let unknowns: Vec<usize> = places.flat_map(|variable| variable.places.clone()).collect();
                Some((Newton::new(unknowns.len()), unknowns.clone(), vec![0.0; unknowns.len()]))
            }
        });
        let widest =
            self.net.inputs.iter().chain(&self.net.outputs).map(|variable| variable.places.len()).max();
        Ok(MonolithicInstance {
            members,
            phase: Phase::Initialisation,
            stale: true,
            outside: vec![0.0; self.net.heard],
            inputs: self.starts.clone(),
            outputs: vec![0.0; self.net.shown],
            saved: vec![self.starts.clone(); Slot::COUNT],
            loops: loops.collect(),
            buffer: vec![0.0; widest.unwrap_or(0)],
            net: self.net.clone(),
            names: self.names.clone(),
        })
    }

    fn lost(&self, instance: &mut MonolithicInstance) -> Vec<String> {
        let parts = self.members.iter().zip(&mut instance.members);
        let words = |(part, member): (&MemberBlueprint, &mut MonolithicMember)| {
            let lost = parameters::lost(&part.fmu.description, &part.settings, member.instance.as_mut());
            lost.into_iter().map(|words| format!("{}: {words}", part.name)).collect::<Vec<_>>()
        };
        parts.flat_map(words).collect()
    }

    fn is_corrupt(&self) -> bool {
        self.members.iter().any(|part| part.fmu.is_corrupt())
    }

    fn members(&self) -> impl Iterator<Item = (&Description, Option<&str>)> {
        self.members.iter().map(|part| (&part.fmu.description, Some(part.name.as_str())))
    }

    fn get(
        instance: &mut MonolithicInstance,
        member: usize,
        kind: VariableType,
        references: &[u32],
        values: &mut [f64],
    ) -> Result<(), SimulatorError> {
        instance.resolve()?;
        instance.members[member].instance.get(kind, references, values)
    }

    fn forgive(instance: &mut MonolithicInstance, member: usize) {
        instance.members[member].instance.forgive(InstanceState::Stepping);
    }
}

/// Only doubles may change between events.
fn smooth(variable: &MemberVariable) -> bool {
    variable.kind == VariableType::Float64 && !variable.discrete
}

/// The parts of a whole that setting and reading touch.
struct MemberAccess<'a> {
    members: &'a mut [MonolithicMember],
    net: &'a MemberGraph,
    outside: &'a [f64],
    inputs: &'a mut [f64],
    outputs: &'a mut [f64],
    buffer: &'a mut [f64],
    phase: Phase,
}

impl MemberAccess<'_> {
    fn source(&self, place: usize) -> f64 {
        let source = &self.net.sources[place];
        let outside = source.outside.map_or(0.0, |outside| self.outside[outside]);
        source
            .terms
            .iter()
            .fold(source.constant + outside, |sum, (output, gain)| sum + gain * self.outputs[*output])
    }

    /// Sets the inputs of an FMU.
    fn set_inputs_of(&mut self, set: usize) -> Result<(), SimulatorError> {
        let MemberVariable { member, kind, reference, places, .. } = &self.net.inputs[set];
        let values = &self.inputs[places.clone()];
        self.members[*member].instance.set(*kind, &[*reference], values)
    }

    fn set(&mut self, set: usize) -> Result<(), SimulatorError> {
        let variable = &self.net.inputs[set];
        if self.phase == Phase::Continuous && !smooth(variable) {
            return Ok(());
        }
        for place in variable.places.clone() {
            self.inputs[place] = self.source(place);
        }
        self.set_inputs_of(set)
    }

    fn get(&mut self, get: usize) -> Result<(), SimulatorError> {
        let MemberVariable { member, kind, reference, places, .. } = &self.net.outputs[get];
        let into = &mut self.buffer[..places.len()];
        self.members[*member].instance.get(*kind, &[*reference], into)?;
        self.outputs[places.clone()].copy_from_slice(into);
        Ok(())
    }

    /// Newton for what is real; values without any between them are substituted until they stay.
    fn solve(
        &mut self,
        sets: &[usize],
        gets: &[usize],
        (newton, unknowns, u): &mut (Newton, Vec<usize>, Vec<f64>),
    ) -> Result<(), MemberFailure> {
        for _ in 0..ROUNDS {
            for (u, place) in u.iter_mut().zip(unknowns.iter()) {
                *u = self.inputs[*place];
            }
            newton
                .solve(u, |u, value| {
                    for (u, place) in u.iter().zip(unknowns.iter()) {
                        self.inputs[*place] = *u;
                    }
                    let net = self.net;
                    let mut real = sets.iter().filter(|set| smooth(&net.inputs[**set]));
                    real.try_for_each(|set| self.set_inputs_of(*set))?;
                    gets.iter().try_for_each(|get| self.get(*get))?;
                    for (value, place) in value.iter_mut().zip(unknowns.iter()) {
                        *value = self.source(*place);
                    }
                    Ok(())
                })
                .map_err(|unsolved| match unsolved {
                    NewtonError::Refused(error) => MemberFailure::Fmu(error),
                    NewtonError::Stuck { unknown, residual, iterations } => {
                        MemberFailure::Stuck { place: unknowns[unknown], residual, iterations }
                    }
                })?;
            let mut changed = None;
            for set in sets.iter().filter(|set| !smooth(&self.net.inputs[**set])) {
                if self.phase == Phase::Continuous {
                    continue;
                }
                let places = self.net.inputs[*set].places.clone();
                let moved = |place: &usize| self.inputs[*place] != self.source(*place);
                changed = changed.or(places.clone().find(moved));
                self.set(*set).map_err(MemberFailure::Fmu)?;
            }
            let Some(place) = changed else { return Ok(()) };
            if unknowns.is_empty() && gets.is_empty() {
                return Err(MemberFailure::Restless(place));
            }
        }
        let place = sets.first().map_or(0, |set| self.net.inputs[*set].places.start);
        Err(MemberFailure::Restless(place))
    }
}

/// Why a loop has no solution.
enum MemberFailure {
    Fmu(SimulatorError),
    /// An input, and by how much it is not what drives it.
    Stuck {
        place: usize,
        residual: f64,
        iterations: u32,
    },
    /// An input that changes in every round.
    Restless(usize),
}

impl MonolithicInstance {
    /// Brings every input in line with what drives it.
    fn resolve(&mut self) -> Result<(), SimulatorError> {
        if !self.stale {
            return Ok(());
        }
        let MonolithicInstance { members, net, outside, inputs, outputs, buffer, phase, loops, .. } = self;
        let mut hands = MemberAccess { members, net, outside, inputs, outputs, buffer, phase: *phase };
        let mut loops = loops.iter_mut();
        for turn in &net.turns {
            match turn {
                SolveStep::Plain { sets, gets } => {
                    sets.iter().try_for_each(|set| hands.set(*set))?;
                    gets.iter().try_for_each(|get| hands.get(*get))?;
                }
                SolveStep::Loop { sets, gets } => {
                    let Some(room) = loops.next() else { continue };
                    if let Err(trouble) = hands.solve(sets, gets, room) {
                        return Err(self.describe(trouble));
                    }
                }
            }
        }
        self.stale = false;
        Ok(())
    }

    #[cold]
    fn describe(&self, trouble: MemberFailure) -> SimulatorError {
        let (place, words) = match trouble {
            MemberFailure::Fmu(error) => return error,
            MemberFailure::Stuck { place, residual, iterations } => {
                (place, format!("after {iterations} iterations the residual is {residual:e}"))
            }
            MemberFailure::Restless(place) => (place, format!("it still changes after {ROUNDS} iterations")),
        };
        let path: Vec<&str> = self
            .net
            .turns
            .iter()
            .filter_map(|turn| match turn {
                SolveStep::Loop { sets, .. } => Some(sets),
                SolveStep::Plain { .. } => None,
            })
            .map(|sets| sets.iter().flat_map(|set| self.net.inputs[*set].places.clone()).collect::<Vec<_>>())
            .filter(|places| places.contains(&place))
            .flatten()
            .map(|place| self.names[place].as_str())
            .collect();
        let message = format!(
            "the algebraic loop through {} has no solution: `{}` is {}, and {words}",
            path.join(", "),
            self.names[place],
            self.inputs[place]
        );
        // Elsewhere it may have one: a smaller step can help.
        match self.phase {
            Phase::Continuous => SimulatorError::discard("loop", message),
            _ => SimulatorError::new("loop", message),
        }
    }

    fn each(
        &mut self,
        mut call: impl FnMut(&mut dyn ModelExchangeInstance) -> Result<(), SimulatorError>,
    ) -> Result<(), SimulatorError> {
        self.members.iter_mut().try_for_each(|member| call(member.instance.as_mut()))
    }

    /// Lets every member fill its part of a vector.
    fn split(
        &mut self,
        mut all: &mut [f64],
        size: fn(&MonolithicMember) -> usize,
        fill: fn(&mut dyn ModelExchangeInstance, &mut [f64]) -> Result<(), SimulatorError>,
    ) -> Result<(), SimulatorError> {
        for member in &mut self.members {
            let (own, rest) = all.split_at_mut(size(member));
            fill(member.instance.as_mut(), own)?;
            all = rest;
        }
        Ok(())
    }
}

impl Instance for MonolithicInstance {
    fn life(&self) -> InstanceState {
        let lives = self.members.iter().map(|member| member.instance.life());
        let rank = |life: &InstanceState| {
            [
                InstanceState::Instantiated,
                InstanceState::Stepping,
                InstanceState::Failed,
                InstanceState::Fatal,
            ]
            .iter()
            .position(|known| known == life)
        };
        lives.max_by_key(rank).unwrap_or(InstanceState::Instantiated)
    }

    /// Answers that are not needed are asked of the members, one by one.
    fn forgive(&mut self, _life: InstanceState) {}

    fn set_up(&mut self, start: f64, stop: Option<f64>) -> Result<(), SimulatorError> {
        self.each(|member| member.set_up(start, stop))
    }

    fn initialise(&mut self) -> Result<(), SimulatorError> {
        self.each(|member| member.initialise())
    }

    fn ready(&mut self) -> Result<(), SimulatorError> {
        self.resolve()?;
        (self.phase, self.stale) = (Phase::Event, true);
        self.each(|member| member.ready())
    }

    fn configure(&mut self, _setting: &StartValue) -> Result<(), SimulatorError> {
        Err(SimulatorError::new("configure", "members of a monolithic group are configured one by one"))
    }

    fn set(&mut self, _kind: VariableType, references: &[u32], values: &[f64]) -> Result<(), SimulatorError> {
        for (reference, value) in references.iter().zip(values) {
            self.outside[*reference as usize] = *value;
        }
        self.stale = true;
        Ok(())
    }

    fn get(
        &mut self,
        _kind: VariableType,
        references: &[u32],
        values: &mut [f64],
    ) -> Result<(), SimulatorError> {
        self.resolve()?;
        for (reference, value) in references.iter().zip(values) {
            *value = self.outputs[*reference as usize];
        }
        Ok(())
    }

    fn set_parcel(&mut self, _: VariableType, _: u32, _: &[u8]) -> Result<(), SimulatorError> {
        Err(SimulatorError::new(
            "set text",
            "members of a monolithic group do not exchange strings or binaries",
        ))
    }

    fn get_parcel(&mut self, _: VariableType, _: u32, _: &mut Vec<u8>) -> Result<(), SimulatorError> {
        Err(SimulatorError::new(
            "get text",
            "members of a monolithic group do not exchange strings or binaries",
        ))
    }

    fn save(&mut self, slot: Slot) -> Result<(), SimulatorError> {
        self.saved[slot.index()].copy_from_slice(&self.inputs);
        let keeping = self.members.iter_mut().filter(|member| member.known.keeps_state);
        keeping.into_iter().try_for_each(|member| member.instance.save(slot))
    }

    fn restore(&mut self, slot: Slot) -> Result<(), SimulatorError> {
        self.inputs.copy_from_slice(&self.saved[slot.index()]);
        self.stale = true;
        let keeping = self.members.iter_mut().filter(|member| member.known.keeps_state);
        keeping.into_iter().try_for_each(|member| member.instance.restore(slot))
    }

    /// Inputs, then the members' bytes with their lengths.
    fn freeze(&mut self, into: &mut Vec<u8>) -> Result<(), SimulatorError> {
        into.extend(self.inputs.iter().flat_map(|input| input.to_le_bytes()));
        for member in self.members.iter_mut().filter(|member| member.known.keeps_state) {
            let start = into.len();
            into.extend([0; 8]);
            member.instance.freeze(into)?;
            let length = (into.len() - start - 8) as u64;
            into[start..start + 8].copy_from_slice(&length.to_le_bytes());
        }
        Ok(())
    }

    fn thaw(&mut self, from: &[u8]) -> Result<(), SimulatorError> {
        let damaged =
            || SimulatorError::new("deserialize state", "the bytes are not a serialized state of these FMUs");
        let (inputs, mut rest) = from.split_at_checked(8 * self.inputs.len()).ok_or_else(damaged)?;
        for (input, bytes) in self.inputs.iter_mut().zip(inputs.as_chunks().0) {
            *input = f64::from_le_bytes(*bytes);
        }
        self.stale = true;
        for member in self.members.iter_mut().filter(|member| member.known.keeps_state) {
            let (length, behind) = rest.split_first_chunk().ok_or_else(damaged)?;
            let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| damaged())?;
            let (own, behind) = behind.split_at_checked(length).ok_or_else(damaged)?;
            member.instance.thaw(own)?;
            rest = behind;
        }
        if rest.is_empty() { Ok(()) } else { Err(damaged()) }
    }

    fn derivatives(&mut self, _of: &[u32], _by: u32, _into: &mut [f64]) -> Result<(), SimulatorError> {
        Err(SimulatorError::new("derivatives", "a monolithic group does not provide directional derivatives"))
    }
}

impl EventModeInstance for MonolithicInstance {
    fn enter_event_mode(&mut self) -> Result<(), SimulatorError> {
        self.resolve()?;
        (self.phase, self.stale) = (Phase::Event, true);
        self.each(|member| member.enter_event_mode())
    }

    /// One round of all members; another is needed if one of them requests it, or if connected inputs changed.
    fn update(&mut self) -> Result<EventUpdate, SimulatorError> {
        self.stale = true;
        self.resolve()?;
        let mut all = EventUpdate::default();
        for member in &mut self.members {
            let update = member.instance.update()?;
            all.again |= update.again;
            all.ended = all.ended.or(update.ended);
            all.states_changed |= update.states_changed;
            all.nominals_changed |= update.nominals_changed;
            all.next_event = match (all.next_event, update.next_event) {
                (Some(one), Some(other)) => Some(one.min(other)),
                (one, other) => one.or(other),
            };
        }
        // Any change by an update may be an event for connected members.
        for MemberVariable { member, kind, reference, places, .. } in &self.net.outputs {
            let now = &mut self.buffer[..places.len()];
            self.members[*member].instance.get(*kind, &[*reference], now)?;
            let before = &mut self.outputs[places.clone()];
            let moved = now.iter().zip(before.iter()).any(|(now, before)| now.to_bits() != before.to_bits());
            all.again |= moved && places.clone().any(|place| self.net.drives[place]);
            before.copy_from_slice(now);
        }
        self.stale = true;
        all.again &= all.ended.is_none();
        Ok(all)
    }
}

impl ModelExchangeInstance for MonolithicInstance {
    fn set_time(&mut self, t: f64) -> Result<(), SimulatorError> {
        self.stale = true;
        self.each(|member| member.set_time(t))
    }

    fn set_states(&mut self, mut x: &[f64]) -> Result<(), SimulatorError> {
        self.stale = true;
        for member in &mut self.members {
            let (own, rest) = x.split_at(member.known.states);
            member.instance.set_states(own)?;
            x = rest;
        }
        Ok(())
    }

    fn states(&mut self, x: &mut [f64]) -> Result<(), SimulatorError> {
        self.split(x, |member| member.known.states, |member, x| member.states(x))
    }

    fn nominals(&mut self, x: &mut [f64]) -> Result<(), SimulatorError> {
        self.split(x, |member| member.known.states, |member, x| member.nominals(x))
    }

    fn slopes(&mut self, dx: &mut [f64]) -> Result<(), SimulatorError> {
        self.resolve()?;
        self.split(dx, |member| member.known.states, |member, dx| member.slopes(dx))
    }

    fn indicators(&mut self, z: &mut [f64]) -> Result<(), SimulatorError> {
        self.resolve()?;
        self.split(z, |member| member.known.indicators, |member, z| member.indicators(z))
    }

    fn completed_step(&mut self, never_back: bool) -> Result<CompletedStep, SimulatorError> {
        self.resolve()?;
        let mut all = CompletedStep::default();
        for member in self.members.iter_mut().filter(|member| member.known.completed_steps) {
            let completed = member.instance.completed_step(never_back)?;
            all.event |= completed.event;
            all.ended = all.ended.or(completed.ended);
        }
        Ok(all)
    }

    fn enter_continuous_time(&mut self) -> Result<(), SimulatorError> {
        (self.phase, self.stale) = (Phase::Continuous, true);
        self.each(|member| member.enter_continuous_time())
    }
}
