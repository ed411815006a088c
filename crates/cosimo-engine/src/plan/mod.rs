//! From a system to a plan, reporting all problems at once: components are opened (`open`), names become indices (`resolve`),
//! components of a monolithic group become one (`monolithic`), methods are chosen (`choose`, `corrections`) and their needs are
//! compared with the abilities of simulators (`needs`). `order` is the order of outputs at one instant.

pub mod bonds;
mod check;
mod choose;
mod corrections;
mod layout;
mod monolithic;
mod needs;
mod open;
mod order;
mod ports;
mod resolve;
pub(crate) mod rollback_check;
mod simulator_slots;

use std::borrow::Cow;

use cosimo_core::error::StepError;
use cosimo_core::interface::Interface;
use cosimo_core::link::PortRanges;
use cosimo_core::registry::{Registry, Value};
use cosimo_core::{PowerVariable, RollbackCheck, Simulator};
use cosimo_system::{LineDecl, Problem, Severity, Span, System};

pub use self::check::{Findings, check};
use self::choose::Planner;
pub(crate) use self::layout::{ExtrapolationRun, PlannedCorrection, PlannedModels, runs};
pub use self::layout::{Layout, Methods, RunLimits, Stage, Topology};
use self::monolithic::fuse;
pub(crate) use self::open::blocks;
use self::open::{interfaces, locals, open};
pub(crate) use self::order::{Loop, Order, OrderStep};
pub use self::ports::Ports;
pub use self::resolve::ByteConnection;
use self::resolve::links;
pub(crate) use self::resolve::{Line, LineSide, Links, Moves};
pub(crate) use self::simulator_slots::island;
use crate::island::Island;
use crate::lines::{IslandPlan, form};
use crate::scenario::Scenario;

/// A system that is ready to run.
pub struct Plan {
    /// Topology, methods and limits.
    pub layout: Layout,
    /// Problems that do not prevent a run.
    pub warnings: Vec<Problem>,
    pub(crate) simulators: Vec<Box<dyn Simulator>>,
    pub(crate) scenario: Option<Scenario>,
    /// The islands of a system with lines; they own the simulators.
    pub(crate) formed: Option<IslandPlan>,
}

impl std::fmt::Debug for Plan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Plan({:?})", self.layout)
    }
}

impl Plan {
    /// For callers that roll back themselves: by [`Island::step_response`](crate::island::Island::step_response), or by loading a
    /// checkpoint of an earlier time. FMUs are set up accordingly.
    #[must_use]
    pub fn rewinding(mut self) -> Plan {
        self.layout.limits.caller_rewinds = true;
        self
    }

    /// A plan whose run does not test rollback again: a run of the same components has, with these results, one per
    /// component.
    #[must_use]
    pub fn with_rollback_checks(mut self, checks: Vec<RollbackCheck>) -> Plan {
        self.layout.limits.rollback_checks = Some(checks);
        self
    }

    /// A plan whose run takes changes between two steps: [`Run::set_inputs`](crate::Run::set_inputs) and
    /// [`Run::set_parameter`](crate::Run::set_parameter).
    #[must_use]
    pub fn open_to_changes(mut self) -> Plan {
        self.scenario = Some(Scenario::open_to_changes(self.scenario, &self.layout));
        self
    }

    /// The island of a plan for one thread, initialised.
    pub(crate) fn into_island(self) -> Result<Island, StepError> {
        let mut island = island(self.layout, self.simulators, 1);
        island.initialize()?;
        island.exit_initialisation()?;
        Ok(island)
    }
}

/// Plans a system, or returns all problems.
pub fn plan(system: &System, registry: &Registry) -> Result<Plan, Vec<Problem>> {
    let mut problems = Vec::new();
    let plan = Draft::open(system, registry, &mut problems).plan(registry, &mut problems);
    match plan {
        Some(plan) if problems.iter().all(|problem| problem.severity != Severity::Error) => {
            Ok(Plan { warnings: problems, ..plan })
        }
        _ => Err(problems),
    }
}

/// A line of a system, with the ports of its ends.
#[derive(Debug, Clone, PartialEq)]
pub struct LineEnds {
    /// Of the bond.
    pub name: String,
    /// As `component.port`, per side: the input that is the effort, and the output that is the flow.
    pub ports: [[String; 2]; 2],
    /// Per side: from the output to the flow into the line in SI units.
    pub sign: [f64; 2],
    /// Per side: from the effort in SI units to the input.
    pub scale: [f64; 2],
    /// Delay, impedance and their factors.
    pub decl: LineDecl,
}

/// The lines of a system, or all problems of its components and connections.
pub fn line_ends(system: &System, registry: &Registry) -> Result<Vec<LineEnds>, Vec<Problem>> {
    let mut problems = Vec::new();
    let draft = Draft::open(system, registry, &mut problems);
    if problems.iter().any(|problem| problem.severity == Severity::Error) {
        return Err(problems);
    }
    let ports = draft.ports();
    let name = |side: &LineSide| {
        [ports.path(PowerVariable::Input(side.effort)), ports.path(PowerVariable::Output(side.flow))]
    };
    let ends = |line: &Line| LineEnds {
        name: line.name.clone(),
        ports: line.sides.each_ref().map(name),
        sign: line.sides.map(|side| side.sign),
        scale: line.sides.map(|side| side.scale),
        decl: line.decl.clone(),
    };
    Ok(draft.links.lines.iter().map(ends).collect())
}

/// An intermediate stage of planning: open simulators, indexed ports, resolved declarations. It exists for faulty systems,
/// too, so that they can be checked.
pub(crate) struct Draft<'s> {
    pub(crate) system: Cow<'s, System>,
    /// Per component; `None`: it could not be opened.
    pub(crate) simulators: Vec<Option<Box<dyn Simulator>>>,
    pub(crate) names: Vec<String>,
    pub(crate) interfaces: Vec<Interface>,
    pub(crate) blocks: Vec<PortRanges>,
    /// Components that could not be opened.
    pub(crate) closed: Vec<usize>,
    pub(crate) links: Links,
    /// The islands of a system with lines. They own the simulators then.
    pub(crate) formed: Option<IslandPlan>,
}

impl<'s> Draft<'s> {
    pub(crate) fn open(system: &'s System, registry: &Registry, problems: &mut Vec<Problem>) -> Draft<'s> {
        let simulators = open(system, registry, problems);
        let interfaces = interfaces(system, &simulators, problems);
        let mut draft = Draft::new(Cow::Borrowed(system), simulators, interfaces, Links::default());
        draft.links = links(system, &draft.ports(), problems);
        if let Some(island) = system.islands.first()
            && system.bonds.iter().all(|bond| bond.line.is_none())
        {
            let message = format!("`[island.{}]` needs a line, but the system has none", island.name);
            problems.push(
                Problem::error("plan/island", message, island.span.clone())
                    .hint("move its method to `[method]`, or make a bond a line: `line = { delay = 1e-4, impedance = 0.1 }`"),
            );
        }
        draft
    }

    /// From open simulators and the declarations resolved for them.
    pub(crate) fn of(system: System, simulators: Vec<Box<dyn Simulator>>, links: Links) -> Draft<'static> {
        let interfaces = simulators.iter().map(|simulator| simulator.interface().clone()).collect();
        Draft::new(Cow::Owned(system), simulators.into_iter().map(Some).collect(), interfaces, links)
    }

    /// The same with separate interfaces, or without simulators.
    pub(crate) fn new(
        system: Cow<'s, System>,
        simulators: Vec<Option<Box<dyn Simulator>>>,
        interfaces: Vec<Interface>,
        links: Links,
    ) -> Draft<'s> {
        Draft {
            names: system.components.iter().map(|component| component.name.clone()).collect(),
            blocks: blocks(&interfaces),
            closed: (0..simulators.len()).filter(|&index| simulators[index].is_none()).collect(),
            formed: None,
            system,
            simulators,
            interfaces,
            links,
        }
    }

    pub(crate) fn ports(&self) -> Ports<'_> {
        Ports::new(&self.names, &self.interfaces, &self.blocks).with_closed(&self.closed)
    }

    /// Takes the simulators and keeps the rest. `None`: too many problems for a layout.
    pub(crate) fn plan(&mut self, registry: &Registry, problems: &mut Vec<Problem>) -> Option<Plan> {
        let whole = self.system.monolithic.is_empty() && self.links.lines.is_empty();
        if !whole && self.closed.is_empty() {
            return self.reshaped(registry, problems)?.plan(registry, problems);
        }
        let locals = locals(&self.system, &mut self.simulators);
        let ports = self.ports();
        let layout = Planner::new(self, locals, &ports, registry).layout(problems);
        let scenario = Scenario::plan(&self.system, &ports, &self.links, registry, problems);
        let (mut layout, mut simulators) = (layout?, std::mem::take(&mut self.simulators));
        layout.topology.count_states(&mut simulators);
        let simulators = simulators.into_iter().flatten().collect();
        Some(Plan { layout, warnings: Vec::new(), simulators, scenario, formed: self.formed.take() })
    }

    /// The draft with monolithic groups merged and islands formed. `self` stays as the file has it.
    fn reshaped(&mut self, registry: &Registry, problems: &mut Vec<Problem>) -> Option<Draft<'static>> {
        let simulators = std::mem::take(&mut self.simulators).into_iter().flatten().collect();
        let draft = Draft::of(self.system.clone().into_owned(), simulators, self.links.clone());
        let draft = fuse(draft, registry, problems)?;
        if draft.links.lines.is_empty() { Some(draft) } else { form(draft, registry, problems) }
    }
}

/// The span of an option or a parameter, or that of the whole declaration.
fn span_of(given: &[(String, Value, Span)], name: &str, whole: &Span) -> Span {
    given.iter().find(|(known, ..)| known == name).map_or(whole, |(_, _, span)| span).clone()
}
