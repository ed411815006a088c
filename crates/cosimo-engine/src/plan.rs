//! System + registry -> plan: every name resolved, every method chosen, every need compared with what the
//! simulators can do. *All* problems are reported at once; remarks say what a user should know before a run.

use std::ops::Range;
use std::sync::Arc;

use cosimo_core::entry::{OpenRequest, Registry, Value, suggest};
use cosimo_core::interface::Interface;
use cosimo_core::link::Block;
use cosimo_core::method::{
    Correction, CouplingGraph, Estimate, Fit, Iteration, JacobianSource, JacobianWork, Law, Shape,
};
use cosimo_core::{Bond, Couplings, Segment, Simulator, Time};
use cosimo_system::{Component, EndRule, Problem, RecordPoint, Severity, System};

use crate::control::Control;
use crate::crew::{Crew, Member, Seldom};
use crate::graph::Ranks;
use crate::history::History;
use crate::planner::Planner;
use crate::resolve::{Ports, links};
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
    /// States of all simulators that show them.
    pub states: usize,
    /// Simulators whose states cannot be seen.
    pub hidden: Vec<usize>,
    /// Per input: exchanged fresh.
    pub fresh: Vec<bool>,
    pub any_fresh: bool,
    pub ranks: Ranks,
    /// Every simulator takes steps of any size, so that an announced event can end one.
    pub cuts: bool,
    /// Some input wants slopes, and some simulator offers them.
    pub slopes: bool,
    /// Per output.
    pub tolerances: Vec<Option<f64>>,
    pub weights: Vec<Option<f64>>,
    pub connected: Vec<bool>,
    /// The connected outputs, and those of them with slopes.
    pub driving: Vec<usize>,
    pub sloped: Vec<usize>,
    /// Per input: a start value that breaks an algebraic loop at the start.
    pub guesses: Vec<Option<f64>>,
    pub history: History,
    pub start: Time,
    pub stop: Time,
    pub end: EndRule,
    pub record: RecordPoint,
    pub rows: Rows,
    /// Something may rewind a step, so bookmarks are taken.
    pub rewinds: bool,
    /// Something rewinds simulators, steps or not, so their promise to be able to is tried out first.
    pub relies_on_rollback: bool,
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
        Ports { names: &self.names, interfaces: &self.interfaces, blocks: &self.blocks }
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

pub struct PlannedCorrection {
    pub correction: Box<dyn Correction>,
    pub memory: Range<usize>,
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
    source: Option<Arc<dyn JacobianSource>>,
    scenario: Option<Scenario>,
}

impl std::fmt::Debug for Plan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Plan({:?})", self.layout)
    }
}

impl Plan {
    pub(crate) fn into_parts(self, threads: usize) -> (Layout, Crew, Vec<Problem>, Option<Scenario>) {
        let crew = Crew::new(self.members, threads, self.source);
        (self.layout, crew, self.remarks, self.scenario)
    }
}

/// Plans a system, or says everything that is wrong with it.
pub fn plan(system: &System, registry: &Registry) -> Result<Plan, Vec<Problem>> {
    let mut problems = Vec::new();
    let simulators = open(system, registry, &mut problems);
    if has_errors(&problems) {
        return Err(problems); // without interfaces every port would be unknown
    }
    for (component, simulator) in system.components.iter().zip(&simulators) {
        remark(component, &simulator.interface().remarks, &mut problems);
    }
    let interfaces: Vec<Interface> =
        simulators.iter().map(|simulator| simulator.interface().clone()).collect();
    let names: Vec<String> = system.components.iter().map(|component| component.name.clone()).collect();
    let blocks = blocks(&interfaces);
    let ports = Ports { names: &names, interfaces: &interfaces, blocks: &blocks };
    let links = links(system, &ports, &mut problems);
    let planner = Planner { system, registry, ports: &ports, links: &links };
    let layout = planner.layout(&mut problems);
    let scenario = Scenario::plan(system, &ports, &links, registry, &mut problems);
    match layout {
        Some((mut layout, source)) if !has_errors(&problems) => {
            let mut simulators = simulators;
            for (index, simulator) in simulators.iter_mut().enumerate() {
                match simulator.states() {
                    Some(states) => layout.states += states.count(),
                    None => layout.hidden.push(index),
                }
            }
            let members = members(simulators, &layout);
            Ok(Plan { layout, remarks: problems, members, source, scenario })
        }
        _ => Err(problems),
    }
}

fn has_errors(problems: &[Problem]) -> bool {
    problems.iter().any(|problem| problem.severity == Severity::Error)
}

fn open(system: &System, registry: &Registry, problems: &mut Vec<Problem>) -> Vec<Box<dyn Simulator>> {
    let mut simulators = Vec::new();
    for component in &system.components {
        let Some(kind) = registry.sources.iter().find(|kind| (kind.claims)(&component.source)) else {
            let known = registry.sources.iter().map(|kind| kind.name);
            problems.push(
                Problem::error(
                    "plan/unknown-source",
                    format!("nothing can open `{}`", component.source),
                    component.source_span.clone(),
                )
                .hint(format!("{} as in `native:dual-mass/right`", suggest(&component.source, known))),
            );
            continue;
        };
        let parameters: Vec<(String, Value)> =
            component.parameters.iter().map(|(name, value, _)| (name.clone(), value.clone())).collect();
        let request = OpenRequest {
            name: &component.name,
            source: &component.source,
            folder: &system.folder,
            parameters: &parameters,
        };
        match (kind.open)(&request) {
            Ok(simulator) => simulators.push(simulator),
            Err(found) => problems.extend(found.into_iter().map(|found| {
                let span = match &found.parameter {
                    Some(parameter) => component
                        .parameters
                        .iter()
                        .find(|(name, ..)| name == parameter)
                        .map_or(component.span.clone(), |(_, _, span)| span.clone()),
                    None => component.source_span.clone(),
                };
                let problem = Problem::error(
                    "plan/cannot-open",
                    format!("component `{}`: {}", component.name, found.message),
                    span,
                );
                match found.hint {
                    Some(hint) => problem.hint(hint),
                    None => problem,
                }
            })),
        }
    }
    simulators
}

/// What a simulator has to say about itself; a talkative one is cut short.
fn remark(component: &Component, said: &[String], problems: &mut Vec<Problem>) {
    const MOST: usize = 3;
    let shown = if said.len() > MOST + 1 { MOST } else { said.len() };
    let mut add = |words: &str| {
        let message = format!("component `{}`: {words}", component.name);
        problems.push(Problem::remark("plan/component", message, component.source_span.clone()));
    };
    said[..shown].iter().for_each(|words| add(words));
    if shown < said.len() {
        add(&format!("{} more remarks; `cosimo info` shows them all", said.len() - shown));
    }
}

fn blocks(interfaces: &[Interface]) -> Vec<Block> {
    let (mut inputs, mut outputs) = (0, 0);
    interfaces
        .iter()
        .map(|interface| {
            let block = Block {
                inputs: inputs..inputs + interface.inputs.len(),
                outputs: outputs..outputs + interface.outputs.len(),
            };
            (inputs, outputs) = (block.inputs.end, block.outputs.end);
            block
        })
        .collect()
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
    let mut states = 0;
    simulators
        .into_iter()
        .enumerate()
        .map(|(index, mut simulator)| {
            let block = &layout.blocks[index];
            let count = simulator.states().map_or(0, |states| states.count());
            states += count;
            let size = block.inputs.len() * block.outputs.len();
            let outputs = block.outputs.len();
            let abilities = &layout.interfaces[index].abilities;
            Member {
                index,
                inputs: block.inputs.clone(),
                outputs: block.outputs.clone(),
                // Asked for only where somebody looks at them: to some simulators they cost as much as a step.
                offers_slopes: layout.slopes && abilities.slopes,
                offers_integrals: !layout.corrections.is_empty() && abilities.integrals,
                seldom: Box::new(Seldom {
                    stage: layout.stages.iter().position(|stage| stage.members.contains(&index)).unwrap_or(0),
                    states: states - count..states,
                    jacobian: layout.jacobian_starts[index]..layout.jacobian_starts[index] + size,
                    ranks: (0..=layout.ranks.depth)
                        .map(|rank| {
                            block.outputs.clone().any(|output| layout.ranks.of_output[output] == rank)
                        })
                        .collect(),
                    work: JacobianWork {
                        segments: vec![Segment::ZERO; block.inputs.len()],
                        above: vec![0.0; outputs],
                        below: vec![0.0; outputs],
                        slopes: vec![0.0; if abilities.slopes { outputs } else { 0 }],
                    },
                }),
                simulator,
            }
        })
        .collect()
}
