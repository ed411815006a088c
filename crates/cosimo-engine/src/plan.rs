//! System + registry -> plan: every name resolved, every method chosen, every need compared with what the
//! simulators can do. *All* problems are reported at once; remarks say what a user should know before a run.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use cosimo_core::entry::{OpenRequest, Registry, Value, number_text, suggest};
use cosimo_core::interface::{Abilities, Interface};
use cosimo_core::linearised::Place;
use cosimo_core::link::Block;
use cosimo_core::method::{Correction, CouplingGraph, Estimate, Fit, Iteration, JacobianWork, Law, Shape};
use cosimo_core::{Bond, Carries, Couplings, Local, Rehearsal, Segment, Simulator, Time, Unit};
use cosimo_system::{Component, EndRule, Names, Problem, RecordPoint, Severity, System};

use crate::control::Control;
use crate::crew::{Crew, Member, Seldom, Sources};
use crate::fuse::{Parts, blocks, cannot_open, fuse, kind_of};
use crate::graph::{Loop, Order};
use crate::history::History;
use crate::lines::{Net, form};
use crate::mapped;
use crate::paced;
use crate::planner::{Planned, Planner};
use crate::rates::Rate;
use crate::resolve::{Links, ParcelWire, Ports, links};
use crate::rows::Rows;
use crate::scenario::Scenario;

/// Everything about a run that does not change while it runs, but for rows of the couplings that a scenario acts on.
pub struct Layout {
    pub names: Vec<String>,
    pub interfaces: Vec<Interface>,
    pub blocks: Vec<Block>,
    /// The simulator of each output.
    pub owners: Vec<usize>,
    pub couplings: Couplings,
    pub bonds: Vec<Bond>,
    pub parcels: Vec<ParcelWire>,
    /// Per parcel: the stage in which its sender steps.
    pub parcel_stages: Vec<usize>,
    pub shape: Shape,
    pub fits: Vec<Box<dyn Fit>>,
    /// A neighbouring degree for each of the fits.
    pub companions: Vec<Box<dyn Fit>>,
    /// Per input, for listings.
    pub fit_names: Vec<&'static str>,
    pub correction_names: Vec<&'static str>,
    pub stages: Vec<Stage>,
    pub corrections: Vec<PlannedCorrection>,
    pub iteration: Box<dyn Iteration>,
    pub estimate: Box<dyn Estimate>,
    pub law: Box<dyn Law>,
    pub control: Control,
    pub first_size: Option<f64>,
    pub has_jacobian: bool,
    pub jacobian_starts: Vec<usize>,
    /// Linear models, if a correction reads them.
    pub models: Option<PlannedModels>,
    /// States of all simulators that show them.
    pub states: usize,
    /// The same, simulator by simulator.
    pub state_counts: Vec<usize>,
    /// Simulators whose states cannot be seen.
    pub hidden: Vec<usize>,
    /// Per input: exchanged fresh.
    pub fresh: Vec<bool>,
    pub any_fresh: bool,
    /// Who is to be heard after whom, where everybody hears everything.
    pub order: Order,
    /// The same where only fresh inputs are renewed. Its passes are counted from behind those of `order`.
    pub renewal: Order,
    /// Every simulator takes steps of any size, so that an announced event can end one.
    pub cuts: bool,
    /// Whoever stops at an event inside a window is met there by everybody else.
    pub meets: bool,
    /// Somebody has events.
    pub eventful: bool,
    /// Some input wants slopes, and some simulator offers them.
    pub slopes: bool,
    /// Per output.
    pub tolerances: Vec<Option<f64>>,
    pub weights: Vec<Option<f64>>,
    pub connected: Vec<bool>,
    /// The connected outputs, and those of them with slopes.
    pub driving: Vec<usize>,
    pub sloped: Vec<usize>,
    /// Per input: its value before anybody has said anything.
    pub first: Vec<f64>,
    pub history: History,
    pub start: Time,
    pub stop: Time,
    pub end: EndRule,
    pub record: RecordPoint,
    pub rows: Rows,
    /// Components with steps of their own, in the order of their indices.
    pub rates: Vec<Rate>,
    /// Something may rewind a step, so bookmarks are taken.
    pub rewinds: bool,
    /// Something rewinds simulators, steps or not, so their promise to be able to is tried out first.
    pub relies_on_rollback: bool,
    /// The caller goes back to earlier instants, whatever the method does.
    pub probed: bool,
    /// What that showed, where it was tried in another process.
    pub(crate) rehearsed: Option<Vec<Rehearsal>>,
    pub graph: CouplingGraph,
}

impl std::fmt::Debug for Layout {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Layout({:?}, {:?})", self.names, self.shape)
    }
}

impl Layout {
    pub fn jacobian_size(&self) -> usize {
        self.blocks.iter().map(|block| block.inputs.len() * block.outputs.len()).sum()
    }

    /// Whether all simulators of a loop have an ability, or lack it.
    pub fn throughout(&self, found: &Loop, ability: impl Fn(&Abilities) -> bool) -> bool {
        found.outputs.iter().all(|output| ability(&self.interfaces[self.owners[*output]].abilities))
    }

    /// How many samples back any input looks.
    pub fn history_depth(&self) -> usize {
        self.fits.iter().map(|fit| fit.history()).max().unwrap_or(1)
    }

    /// Simulators whose state does not outlive the process, so that the run cannot be saved.
    pub fn unsaved(&self) -> impl Iterator<Item = &str> {
        let cannot = self.interfaces.iter().map(|interface| !interface.abilities.freeze);
        self.names.iter().zip(cannot).filter_map(|(name, cannot)| cannot.then_some(name.as_str()))
    }

    pub fn ports(&self) -> Ports<'_> {
        Ports::new(&self.names, &self.interfaces, &self.blocks)
    }
}

/// Members that step together, with their inputs grouped by fit so that one virtual call serves many. Ports
/// are listed in runs of neighbours: loops over them are as fast as loops over an array.
#[derive(Debug)]
pub struct Stage {
    pub members: Vec<usize>,
    pub fits: Vec<FitRun>,
    /// Inputs that may be corrected.
    pub inputs: Vec<Range<usize>>,
    pub outputs: Vec<Range<usize>>,
}

#[derive(Debug)]
pub struct FitRun {
    pub fit: usize,
    pub inputs: Vec<Range<usize>>,
}

/// Who has a linear model, and how old its matrices may grow.
#[derive(Debug, Default)]
pub struct PlannedModels {
    /// Per simulator.
    pub places: Vec<Option<Place>>,
    /// Matrices are renewed after so many windows.
    pub every: Option<u64>,
}

impl PlannedModels {
    /// How long the two buffers are.
    pub fn sizes(&self) -> (usize, usize) {
        let last = self.places.iter().flatten().next_back();
        last.map_or((0, 0), |place| (place.present.end, place.matrices.end))
    }
}

pub struct PlannedCorrection {
    pub correction: Box<dyn Correction>,
    pub memory: Range<usize>,
    pub scratch: Range<usize>,
    /// Per input: this correction is in charge.
    pub inputs: Vec<bool>,
}

impl std::fmt::Debug for PlannedCorrection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PlannedCorrection({:?})", self.inputs)
    }
}

/// A system that is ready to run.
pub struct Plan {
    pub layout: Layout,
    pub remarks: Vec<Problem>,
    members: Vec<Member>,
    sources: Sources,
    scenario: Option<Scenario>,
    /// The islands that the members show, where there are lines.
    net: Option<Arc<Net>>,
}

/// What a plan leaves to a run.
pub(crate) struct Ready {
    pub(crate) layout: Layout,
    pub(crate) crew: Crew,
    pub(crate) remarks: Vec<Problem>,
    pub(crate) scenario: Option<Scenario>,
    pub(crate) net: Option<Arc<Net>>,
}

impl std::fmt::Debug for Plan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Plan({:?})", self.layout)
    }
}

impl Plan {
    /// For callers that return to earlier instants themselves: by [`Island::respond`](crate::Island::respond), or by
    /// loading a checkpoint that their run has already passed. FMUs are told whether that may happen.
    #[must_use]
    pub fn rewinding(mut self) -> Plan {
        self.layout.probed = true;
        self
    }

    /// A plan whose run takes changes between two steps: [`Run::set_inputs`](crate::Run::set_inputs) and
    /// [`Run::set_parameter`](crate::Run::set_parameter).
    #[must_use]
    pub fn open_to_changes(mut self) -> Plan {
        self.scenario = Some(Scenario::open_to_changes(self.scenario, &self.layout));
        self
    }

    pub(crate) fn ready(self, threads: usize) -> Ready {
        // Islands have threads of their own; those who show them have nothing to do.
        let own = if let Some(net) = &self.net {
            net.use_threads(threads);
            1
        } else {
            threads
        };
        let Plan { layout, remarks, members, sources, scenario, net } = self;
        Ready { layout, crew: Crew::new(members, own, sources), remarks, scenario, net }
    }
}

/// Plans a system, or says everything that is wrong with it.
pub fn plan(system: &System, registry: &Registry) -> Result<Plan, Vec<Problem>> {
    let Survey { simulators, layout, scenario, net, problems, .. } = survey(system, registry);
    match layout {
        Some(planned) if !has_errors(&problems) => {
            let plan = assemble(planned, simulators.into_iter().flatten().collect(), problems, scenario);
            Ok(Plan { net, ..plan })
        }
        _ => Err(problems),
    }
}

/// Simulators in the places that were planned for them.
pub(crate) fn assemble(
    (mut layout, sources): Planned,
    mut simulators: Vec<Box<dyn Simulator>>,
    remarks: Vec<Problem>,
    scenario: Option<Scenario>,
) -> Plan {
    for (index, simulator) in simulators.iter_mut().enumerate() {
        let count = simulator.states().map(|states| states.count());
        if count.is_none() {
            layout.hidden.push(index);
        }
        layout.states += count.unwrap_or(0);
        layout.state_counts.push(count.unwrap_or(0));
    }
    let members = members(simulators, &layout);
    Plan { layout, remarks, members, sources, scenario, net: None }
}

/// In the order of the components; `None` where one did not open.
type Opened = Vec<Option<Box<dyn Simulator>>>;

/// What can be known of a system, however much is wrong with it.
pub(crate) struct Survey {
    simulators: Opened,
    pub(crate) names: Vec<String>,
    pub(crate) interfaces: Vec<Interface>,
    pub(crate) blocks: Vec<Block>,
    pub(crate) closed: Vec<usize>,
    pub(crate) links: Links,
    pub(crate) layout: Option<Planned>,
    scenario: Option<Scenario>,
    net: Option<Arc<Net>>,
    pub(crate) problems: Vec<Problem>,
}

impl Survey {
    pub(crate) fn ports(&self) -> Ports<'_> {
        Ports::new(&self.names, &self.interfaces, &self.blocks).with_closed(&self.closed)
    }
}

pub(crate) fn survey(system: &System, registry: &Registry) -> Survey {
    let mut problems = Vec::new();
    let mut opened = open(system, registry, &mut problems);
    tables(system, &mut opened, &mut problems);
    let simulators = mapped::around(paced::around(opened, system, &mut problems), system);
    for (component, simulator) in system.components.iter().zip(&simulators) {
        if let Some(simulator) = simulator {
            remark(component, simulator.interface(), &mut problems);
        }
    }
    let interfaces = interfaces(system, &simulators, &mut problems);
    let names: Vec<String> = system.components.iter().map(|component| component.name.clone()).collect();
    let blocks = blocks(&interfaces);
    let closed: Vec<usize> = (0..simulators.len()).filter(|&index| simulators[index].is_none()).collect();
    let ports = Ports::new(&names, &interfaces, &blocks).with_closed(&closed);
    let links = links(system, &ports, &mut problems);
    if let Some(island) = system.islands.first()
        && system.bonds.iter().all(|bond| bond.line.is_none())
    {
        let message =
            format!("`[island.{}]` has a method of its own, but no line parts this system", island.name);
        problems.push(
            Problem::error("plan/island", message, island.span.clone())
                .hint("write its method under `[method]`, or make a bond a line: `line = { delay = 1e-4, impedance = 0.1 }`"),
        );
    }
    let plain = system.strong.is_empty() && links.lines.is_empty();
    let (simulators, layout, scenario, net) = if plain || !closed.is_empty() {
        let locals = locals(system, simulators.iter().map(Option::as_deref));
        let planner = Planner { system, registry, ports: &ports, links: &links, locals: &locals };
        let layout = planner.layout(&mut problems);
        let scenario = Scenario::plan(system, &links.tuned, &ports, &links, registry, &mut problems);
        (simulators, layout, scenario, None)
    } else {
        reshaped(system, simulators, &links, registry, &mut problems)
    };
    Survey { simulators, names, interfaces, blocks, closed, links, layout, scenario, net, problems }
}

/// The plan of a system with components that become one, or with islands. What others survey stays as the file has it.
fn reshaped(
    system: &System,
    simulators: Opened,
    links: &Links,
    registry: &Registry,
    problems: &mut Vec<Problem>,
) -> (Opened, Option<Planned>, Option<Scenario>, Option<Arc<Net>>) {
    let nothing = || (Vec::new(), None, None, None);
    let parts = Parts {
        system: system.clone(),
        simulators: simulators.into_iter().flatten().collect(),
        links: links.clone(),
    };
    let Some(mut parts) = fuse(parts, registry, problems) else { return nothing() };
    let mut net = None;
    if !parts.links.lines.is_empty() {
        let Some((shown, islands)) = form(parts, registry, problems) else { return nothing() };
        (parts, net) = (shown, Some(islands));
    }
    let (names, interfaces) = (parts.names(), parts.interfaces());
    let blocks = blocks(&interfaces);
    let ports = Ports::new(&names, &interfaces, &blocks);
    let locals = locals(&parts.system, parts.simulators.iter().map(|simulator| Some(simulator.as_ref())));
    let planner =
        Planner { system: &parts.system, registry, ports: &ports, links: &parts.links, locals: &locals };
    let layout = planner.layout(problems);
    let scenario = Scenario::plan(&parts.system, &links.tuned, &ports, &parts.links, registry, problems);
    (parts.simulators.into_iter().map(Some).collect(), layout, scenario, net)
}

/// What simulators have inside, if patterns choose what is recorded: without any, ports are.
fn locals<'s>(
    system: &System,
    simulators: impl Iterator<Item = Option<&'s dyn Simulator>>,
) -> Vec<Vec<Local>> {
    let asked = !system.results.variables.is_empty();
    let of = |simulator: Option<&dyn Simulator>| {
        simulator.filter(|_| asked).map_or(Vec::new(), |simulator| simulator.locals())
    };
    simulators.map(of).collect()
}

/// Of a simulator that did not open nobody can say what it cannot do.
fn unknown() -> Interface {
    let abilities = Abilities { slopes: true, jacobian: true, integrals: true, ..Abilities::NATIVE };
    Interface { abilities, ..Interface::default() }
}

/// What simulators show of themselves, with the units that the system knows better.
fn interfaces(
    system: &System,
    simulators: &[Option<Box<dyn Simulator>>],
    problems: &mut Vec<Problem>,
) -> Vec<Interface> {
    let shown = |simulator: &Option<Box<dyn Simulator>>| match simulator {
        Some(simulator) => simulator.interface().clone(),
        None => unknown(),
    };
    let mut interfaces: Vec<Interface> = simulators.iter().map(shown).collect();
    let opened = simulators.iter().zip(&mut interfaces).zip(&system.components);
    for ((_, interface), component) in opened.filter(|((simulator, _), _)| simulator.is_some()) {
        let units: BTreeMap<&str, &Unit> =
            component.units.iter().map(|(port, unit, _)| (port.as_str(), unit)).collect();
        let mut unknown: BTreeSet<&str> = units.keys().copied().collect();
        for port in interface.inputs.iter_mut().chain(&mut interface.outputs) {
            if let Some(unit) = units.get(port.name.as_str()) {
                unknown.remove(port.name.as_str());
                port.unit = Some((*unit).clone());
            }
        }
        for (port, _, span) in component.units.iter().filter(|(port, ..)| unknown.contains(port.as_str())) {
            let known = interface.inputs.iter().chain(&interface.outputs).map(|known| known.name.as_str());
            let message = format!("component `{}` has no port `{port}` to have a unit", component.name);
            let problem = Problem::error("plan/unknown-port", message, span.clone());
            problems.push(problem.hint(suggest(port, known)).about_port(&component.name, port));
        }
    }
    interfaces
}

fn has_errors(problems: &[Problem]) -> bool {
    problems.iter().any(|problem| problem.severity == Severity::Error)
}

fn open(system: &System, registry: &Registry, problems: &mut Vec<Problem>) -> Opened {
    let mut simulators = Vec::new();
    for component in &system.components {
        if component.source.is_empty() {
            simulators.push(None); // the reader of the file has said what it wanted
            continue;
        }
        let Some(kind) = kind_of(&component.source, registry) else {
            let known = registry.sources.iter().map(|kind| kind.name());
            problems.push(
                Problem::error(
                    "plan/unknown-source",
                    format!("nothing can open `{}`", component.source),
                    component.source_span.clone(),
                )
                .about(&component.name)
                .hint(format!("{} as in `native:dual-mass/right`", suggest(&component.source, known))),
            );
            simulators.push(None);
            continue;
        };
        let parameters: Vec<(String, Value)> =
            component.parameters.iter().map(|(name, value, _)| (name.clone(), value.clone())).collect();
        let request = OpenRequest {
            name: &component.name,
            source: &component.source,
            folder: &system.folder,
            parameters: &parameters,
            joined: system
                .strong
                .iter()
                .flat_map(|group| &group.components)
                .any(|(name, _)| *name == component.name),
        };
        match kind.open(&request) {
            Ok(simulator) => simulators.push(Some(simulator)),
            Err(found) => {
                simulators.push(None);
                problems.extend(found.into_iter().map(|found| cannot_open(component, found)));
            }
        }
    }
    simulators
}

/// Recorded values: those for discrete inputs and for parameters are held from row to row, and a run that goes beyond
/// them is worth a warning.
fn tables(system: &System, simulators: &mut Opened, problems: &mut Vec<Problem>) {
    let (start, stop) = (system.experiment.start, system.experiment.stop);
    let names = Names::new(system.components.iter().map(|component| component.name.as_str()));
    for index in 0..simulators.len() {
        let Some(interface) = simulators[index].as_ref().map(|simulator| simulator.interface()) else {
            continue;
        };
        let Some((first, last)) = interface.recorded else { continue };
        let mut kinds = vec![(false, None); interface.outputs.len()];
        for wire in &system.wires {
            let Some(discrete) = is_discrete(&wire.to.0, &names, simulators) else { continue };
            for summand in &wire.from {
                let Ok((owner, _, port)) = names.split(&summand.port.0) else { continue };
                let place = interface.outputs.iter().position(|output| output.name == port);
                let Some(place) = place.filter(|_| owner == index) else { continue };
                let (held, line) = &mut kinds[place];
                *held |= discrete;
                *line = line.or((!discrete).then_some(wire));
            }
        }
        let component = &system.components[index];
        let outputs = interface.outputs.iter().zip(&kinds);
        for (output, (_, line)) in outputs.filter(|(_, (held, line))| *held && line.is_some()) {
            let continuous = line.map_or("", |wire| wire.to.0.as_str());
            let message = format!(
                "`{}.{}` drives discrete inputs and the continuous `{continuous}`: it is interpolated for all of them",
                component.name, output.name
            );
            let problem = Problem::remark("plan/table", message, component.source_span.clone());
            problems.push(problem.about_port(&component.name, &output.name).hint("write the column twice"));
        }
        // A single row is a constant, which covers every run.
        let little = 1e-9 * (stop - start).abs();
        let (early, late) = (start < first - little, stop > last + little);
        if first < last && (early || late) {
            let which = match (early, late) {
                (true, true) => "the first row holds before, the last one after that",
                (true, false) => "the first row holds before that",
                _ => "the last row holds after that",
            };
            let [first, last, start, stop] = [first, last, start, stop].map(number_text);
            let message = format!(
                "`{}` has rows from t = {first} s to {last} s, but the run goes from {start} s to {stop} s: {which}",
                component.source
            );
            let problem = Problem::remark("plan/table", message, component.source_span.clone());
            problems.push(problem.about(&component.name));
        }
        let held: Vec<usize> =
            (0..kinds.len()).filter(|&place| kinds[place].0 && kinds[place].1.is_none()).collect();
        if let Some(simulator) = simulators[index].as_mut().filter(|_| !held.is_empty()) {
            simulator.hold_outputs(&held);
        }
    }
}

/// Whether values between two others mean nothing at the end of a wire; `None` where nothing is known of it.
fn is_discrete(path: &str, names: &Names<'_>, simulators: &Opened) -> Option<bool> {
    let (index, _, name) = names.split(path).ok()?;
    let interface = simulators[index].as_ref()?.interface();
    match interface.inputs.iter().find(|port| port.name == name) {
        Some(port) => Some(port.discrete || port.carries != Carries::Real),
        None => interface.tunable.iter().any(|known| known == name).then_some(true),
    }
}

/// What a simulator has to say about itself; a talkative one is cut short.
fn remark(component: &Component, interface: &Interface, problems: &mut Vec<Problem>) {
    const MOST: usize = 3;
    let said = &interface.remarks;
    let shown = if said.len() > MOST + 1 { MOST } else { said.len() };
    let mut add = |words: &str| {
        let message = format!("component `{}`: {words}", component.name);
        let problem = Problem::remark("plan/component", message, component.source_span.clone());
        problems.push(problem.about(&component.name));
    };
    said[..shown].iter().for_each(|words| add(words));
    if shown < said.len() {
        add(&format!("{} more remarks; `cosimo info` shows them all", said.len() - shown));
    }
    for (parameter, words) in &interface.parameter_remarks {
        let given = component.parameters.iter().find(|(name, ..)| name == parameter);
        let span = given.map_or(component.span.clone(), |(_, _, span)| span.clone());
        let message = format!("component `{}`: {words}", component.name);
        problems.push(Problem::remark("plan/parameter", message, span).about(&component.name));
    }
}

/// Runs of neighbours.
pub(crate) fn runs(mut indices: Vec<usize>) -> Vec<Range<usize>> {
    indices.sort_unstable();
    let mut runs: Vec<Range<usize>> = Vec::new();
    for index in indices {
        match runs.last_mut() {
            Some(run) if run.end == index => run.end += 1,
            _ => runs.push(index..index + 1),
        }
    }
    runs
}

/// Puts every simulator in its place.
fn members(simulators: Vec<Box<dyn Simulator>>, layout: &Layout) -> Vec<Member> {
    let passes = layout.order.passes.iter().chain(&layout.renewal.passes);
    let mut speaks = vec![vec![false; passes.clone().count()]; simulators.len()];
    for (pass, outputs) in passes.enumerate() {
        outputs.iter().for_each(|output| speaks[layout.owners[*output]][pass] = true);
    }
    let (mut states, mut locals) = (0, 0);
    let mut stages = vec![0; simulators.len()];
    for (stage, members) in layout.stages.iter().enumerate() {
        members.members.iter().for_each(|&member| stages[member] = stage);
    }
    simulators
        .into_iter()
        .enumerate()
        .map(|(index, mut simulator)| {
            let block = &layout.blocks[index];
            let count = simulator.states().map_or(0, |states| states.count());
            states += count;
            let chosen = layout.rows.locals.get(index).map_or(&[][..], Vec::as_slice);
            if !chosen.is_empty() {
                simulator.choose_locals(chosen);
            }
            locals += chosen.len();
            // Every output by every input: too much to be set aside where nothing asks for it.
            let asked = layout.has_jacobian || !layout.order.loops.is_empty();
            let size = if asked { block.inputs.len() * block.outputs.len() } else { 0 };
            let outputs = block.outputs.len();
            let abilities = &layout.interfaces[index].abilities;
            let model = layout.models.as_ref().and_then(|models| models.places[index].as_ref()).cloned();
            let seen = model.as_ref().map_or(0, |place| place.states);
            let parcels = |end: fn(&ParcelWire) -> (usize, usize)| {
                let wires = layout.parcels.iter().map(end).enumerate();
                wires.filter(|(_, end)| end.0 == index).map(|(wire, end)| (wire, end.1)).collect()
            };
            Member {
                index,
                inputs: block.inputs.clone(),
                outputs: block.outputs.clone(),
                // Asked for only where somebody looks at them: to some simulators they cost as much as a step.
                offers_slopes: layout.slopes && abilities.slopes,
                offers_integrals: !layout.corrections.is_empty() && abilities.integrals,
                seldom: Box::new(Seldom {
                    stage: stages[index],
                    states: states - count..states,
                    locals: locals - chosen.len()..locals,
                    jacobian: layout.jacobian_starts[index]..layout.jacobian_starts[index] + size,
                    model: model.clone(),
                    passes: std::mem::take(&mut speaks[index]),
                    declares: abilities.jacobian,
                    takes: parcels(|wire| wire.to),
                    gives: parcels(|wire| wire.from),
                    lively: abilities.answers || abilities.events,
                    work: JacobianWork {
                        segments: vec![Segment::ZERO; block.inputs.len()],
                        above: vec![0.0; outputs],
                        below: vec![0.0; outputs],
                        slopes: vec![0.0; if abilities.slopes { outputs } else { 0 }],
                        point: vec![0.0; seen + block.inputs.len()],
                        motions: vec![0.0; 2 * (seen + outputs)],
                    },
                }),
                simulator,
            }
        })
        .collect()
}
