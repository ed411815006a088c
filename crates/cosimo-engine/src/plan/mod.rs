//! From a system to a plan, all problems at once: components are opened (`open`), names become indices (`resolve`), components
//! that are integrated together become one (`monolithic`), methods are chosen (`choose`, `corrections`) and what they need is
//! compared with what simulators can do (`needs`). `order` says in which order outputs are known at one instant.

pub mod bonds;
mod check;
mod choose;
mod corrections;
mod layout;
mod members;
mod monolithic;
mod needs;
mod open;
mod order;
mod ports;
pub(crate) mod rehearsal;
mod resolve;

use cosimo_core::entry::Registry;
use cosimo_core::error::StepError;
use cosimo_core::interface::Interface;
use cosimo_core::link::Block;
use cosimo_core::{Local, Simulator};
use cosimo_system::{Problem, Severity, System, WireDecl};

pub use self::check::{Findings, check};
pub(crate) use self::choose::{Planned, Planner};
pub(crate) use self::layout::runs;
pub use self::layout::{
    FitRun, Layout, Methods, PlannedCorrection, PlannedModels, RunLimits, Stage, Topology,
};
use self::members::members;
pub(crate) use self::monolithic::Parts;
use self::monolithic::fuse;
pub(crate) use self::open::blocks;
use self::open::{Opened, interfaces, locals, open, remark, tables};
pub(crate) use self::order::{Loop, Order, Step};
pub use self::ports::Ports;
use self::resolve::links;
pub use self::resolve::{Line, LineSide, Links, ParcelWire};
use crate::crew::{Crew, Member, Sources};
use crate::island::Island;
use crate::lines::{Formed, form};
use crate::mapped;
use crate::paced;
use crate::scenario::Scenario;

/// A system that is ready to run.
pub struct Plan {
    pub layout: Layout,
    pub remarks: Vec<Problem>,
    members: Vec<Member>,
    sources: Sources,
    scenario: Option<Scenario>,
    /// The islands, where there are lines. Their simulators are members of nothing else.
    formed: Option<Formed>,
}

/// What a plan leaves to a run.
pub(crate) struct Ready {
    pub(crate) layout: Layout,
    pub(crate) crew: Crew,
    pub(crate) remarks: Vec<Problem>,
    pub(crate) scenario: Option<Scenario>,
    pub(crate) formed: Option<Formed>,
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
        self.layout.limits.probed = true;
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
        let Plan { layout, remarks, members, sources, scenario, formed } = self;
        Ready { layout, crew: Crew::new(members, threads, sources), remarks, scenario, formed }
    }

    /// The island of a plan for one thread, initialised.
    pub(crate) fn into_island(self) -> Result<Island, StepError> {
        let mut island = Island::new(self.layout, Crew::new(self.members, 1, self.sources));
        island.enter()?;
        island.exit_initialisation()?;
        Ok(island)
    }
}

/// Plans a system, or says everything that is wrong with it.
pub fn plan(system: &System, registry: &Registry) -> Result<Plan, Vec<Problem>> {
    let Survey { simulators, layout, scenario, formed, problems, .. } = survey(system, registry);
    match layout {
        Some(planned) if !has_errors(&problems) => {
            let plan = assemble(planned, simulators.into_iter().flatten().collect(), problems, scenario);
            Ok(Plan { formed, ..plan })
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
    for index in 0..layout.topology.blocks.len() {
        // What only shows islands has no simulators.
        let states = simulators.get_mut(index).and_then(|simulator| simulator.states());
        let count = states.map(|states| states.count());
        if count.is_none() {
            layout.topology.hidden.push(index);
        }
        layout.topology.states += count.unwrap_or(0);
        layout.topology.state_counts.push(count.unwrap_or(0));
    }
    let members = members(simulators, &layout);
    Plan { layout, remarks, members, sources, scenario, formed: None }
}

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
    formed: Option<Formed>,
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
    let (simulators, (layout, scenario), formed) = if plain || !closed.is_empty() {
        let locals = locals(system, simulators.iter().map(Option::as_deref));
        let planner = Planner { system, registry, ports: &ports, links: &links, locals: &locals };
        let chosen = chosen(&planner, &links.tuned, &mut problems);
        (simulators, chosen, None)
    } else {
        reshaped(system, simulators, &links, registry, &mut problems)
    };
    Survey { simulators, names, interfaces, blocks, closed, links, layout, scenario, formed, problems }
}

type Chosen = (Option<Planned>, Option<Scenario>);

/// Methods, and what a scenario does; `tuned` are wires to parameters.
fn chosen(planner: &Planner<'_>, tuned: &[WireDecl], problems: &mut Vec<Problem>) -> Chosen {
    let layout = planner.layout(problems);
    let Planner { system, registry, ports, links, .. } = planner;
    (layout, Scenario::plan(system, tuned, ports, links, registry, problems))
}

/// The plan of a system with components that become one, or with islands. What others survey stays as the file has it.
fn reshaped(
    system: &System,
    simulators: Opened,
    links: &Links,
    registry: &Registry,
    problems: &mut Vec<Problem>,
) -> (Opened, Chosen, Option<Formed>) {
    let parts = Parts {
        system: system.clone(),
        simulators: simulators.into_iter().flatten().collect(),
        links: links.clone(),
    };
    let Some(parts) = fuse(parts, registry, problems) else { return (Vec::new(), (None, None), None) };
    let chosen = |system: &System,
                  interfaces: &[Interface],
                  own: &Links,
                  locals: &[Vec<Local>],
                  problems: &mut Vec<Problem>| {
        let names: Vec<String> = system.components.iter().map(|component| component.name.clone()).collect();
        let blocks = blocks(interfaces);
        let ports = Ports::new(&names, interfaces, &blocks);
        chosen(&Planner { system, registry, ports: &ports, links: own, locals }, &links.tuned, problems)
    };
    if parts.links.lines.is_empty() {
        let inside = parts.simulators.iter().map(|simulator| Some(simulator.as_ref()));
        let locals = locals(&parts.system, inside);
        let chosen = chosen(&parts.system, &parts.interfaces(), &parts.links, &locals, problems);
        return (parts.simulators.into_iter().map(Some).collect(), chosen, None);
    }
    let Some((whole, formed)) = form(parts, registry, problems) else {
        return (Vec::new(), (None, None), None);
    };
    let chosen = chosen(&whole.system, &whole.interfaces, &whole.links, &[], problems);
    (Vec::new(), chosen, Some(formed))
}

fn has_errors(problems: &[Problem]) -> bool {
    problems.iter().any(|problem| problem.severity == Severity::Error)
}
