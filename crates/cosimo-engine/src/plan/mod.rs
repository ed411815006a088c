//! From a system to a plan, all problems at once: components are opened (`open`), names become indices (`resolve`), components
//! that are integrated together become one (`monolithic`), methods are chosen (`choose`, `corrections`) and what they need is
//! compared with what simulators can do (`needs`). `order` says in which order outputs are known at one instant.

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

use cosimo_core::Simulator;
use cosimo_core::error::StepError;
use cosimo_core::interface::Interface;
use cosimo_core::link::PortRanges;
use cosimo_core::registry::{Registry, Value};
use cosimo_system::{Problem, Severity, Span, System};

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
    pub layout: Layout,
    pub warnings: Vec<Problem>,
    pub(crate) simulators: Vec<Box<dyn Simulator>>,
    pub(crate) scenario: Option<Scenario>,
    /// The islands, where there are lines. Their simulators are in no other place.
    pub(crate) formed: Option<IslandPlan>,
}

impl std::fmt::Debug for Plan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Plan({:?})", self.layout)
    }
}

impl Plan {
    /// For callers that return to earlier instants themselves: by [`Island::respond`](crate::island::Island::respond), or
    /// by loading a checkpoint that their run has already passed. FMUs are told whether that may happen.
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

    /// The island of a plan for one thread, initialised.
    pub(crate) fn into_island(self) -> Result<Island, StepError> {
        let mut island = island(self.layout, self.simulators, 1);
        island.enter()?;
        island.exit_initialisation()?;
        Ok(island)
    }
}

/// Plans a system, or says everything that is wrong with it.
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

/// A system on its way to a plan: simulators that are open, ports that have places, declarations that are resolved. What
/// can be known of a system stands here, however much is wrong with it.
pub(crate) struct Draft<'s> {
    pub(crate) system: Cow<'s, System>,
    /// In the order of the components; `None` where one did not open.
    pub(crate) simulators: Vec<Option<Box<dyn Simulator>>>,
    pub(crate) names: Vec<String>,
    pub(crate) interfaces: Vec<Interface>,
    pub(crate) blocks: Vec<PortRanges>,
    /// Components that did not open.
    pub(crate) closed: Vec<usize>,
    pub(crate) links: Links,
    /// The islands that it shows. It has no simulators of its own then.
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
            let message =
                format!("`[island.{}]` has a method of its own, but no line parts this system", island.name);
            problems.push(
                Problem::error("plan/island", message, island.span.clone())
                    .hint("write its method under `[method]`, or make a bond a line: `line = { delay = 1e-4, impedance = 0.1 }`"),
            );
        }
        draft
    }

    /// Of simulators that are all open, and declarations that were resolved for them.
    pub(crate) fn of(system: System, simulators: Vec<Box<dyn Simulator>>, links: Links) -> Draft<'static> {
        let interfaces = simulators.iter().map(|simulator| simulator.interface().clone()).collect();
        Draft::new(Cow::Owned(system), simulators.into_iter().map(Some).collect(), interfaces, links)
    }

    /// The same with interfaces of their own, or of no simulators.
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

    /// Takes the simulators and leaves all else. `None` where too much is wrong to lay anything out.
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

    /// The draft of a system in which components become one, or islands are shown. This one stays as the file has it.
    fn reshaped(&mut self, registry: &Registry, problems: &mut Vec<Problem>) -> Option<Draft<'static>> {
        let simulators = std::mem::take(&mut self.simulators).into_iter().flatten().collect();
        let draft = Draft::of(self.system.clone().into_owned(), simulators, self.links.clone());
        let draft = fuse(draft, registry, problems)?;
        if draft.links.lines.is_empty() { Some(draft) } else { form(draft, registry, problems) }
    }
}

/// The place of an option or a parameter, or that of the whole.
fn span_of(given: &[(String, Value, Span)], name: &str, whole: &Span) -> Span {
    given.iter().find(|(known, ..)| known == name).map_or(whole, |(_, _, span)| span).clone()
}
