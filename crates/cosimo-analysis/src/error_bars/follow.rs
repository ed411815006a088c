//! Companions: the same system with other steps, taken along the communication points of a run.

use cosimo_core::{PowerVariable, Registry, RollbackCheck};
use cosimo_engine::{Layout, Plan, Run, plan};
use cosimo_system::{Choice, Reject, Results, System, in_one_line};
use wildmatch::WildMatch;

use super::judge::SignalInfo;

/// Two instants are the same if they are closer than this part of a step: times are rounded.
pub(crate) const MEETS: f64 = 1e-6;
/// A size is repeated where another one would differ from it by rounding only, as simulators prepare for a size.
const SAME: f64 = 1e-9;

/// Where a number of a run comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SignalSource {
    Output(usize),
    Input(usize),
}

impl SignalSource {
    pub(crate) fn read(self, run: &Run) -> f64 {
        match self {
            SignalSource::Output(output) => run.outputs()[output],
            SignalSource::Input(input) => run.layout().topology.couplings.value(input, run.outputs()),
        }
    }
}

/// What companions must respect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Restrictions {
    /// Some component takes steps of one size only.
    pub(crate) rigid: bool,
    /// Windows may end anywhere.
    pub(crate) anywhere: bool,
    /// Transmission lines: their delays are changed instead of windows.
    pub(crate) lines: bool,
}

/// All signals of a run, and what is known about them before it.
#[derive(Debug, Clone)]
pub(crate) struct Signals {
    pub(crate) infos: Vec<SignalInfo>,
    pub(crate) sources: Vec<SignalSource>,
    /// Per component: those that it drives.
    pub(crate) drives: Vec<Vec<usize>>,
    /// The order of the coupling method.
    pub(crate) order: u32,
    pub(crate) restrictions: Restrictions,
    /// Outputs may jump at events.
    pub(crate) jumps: bool,
    /// Signals of whole numbers and truth values.
    pub(crate) ports: Vec<Option<cosimo_core::Port>>,
    /// Steps vary.
    pub(crate) controlled: bool,
    /// Sampled components, by name: their steps are never changed.
    sampled: Vec<(String, Option<f64>)>,
    /// What the run found out about rollback, which its companions need not test again.
    pub(crate) rollback_checks: Vec<RollbackCheck>,
}

impl Signals {
    pub(crate) fn of(run: &Run, system: &System) -> Signals {
        let layout = run.layout();
        let topology = &layout.topology;
        let ports = layout.ports();
        let named = Patterns::new(&system.results);
        let (mut infos, mut sources, mut declared) = (Vec::new(), Vec::new(), Vec::new());
        // Delays are what companions change, and whether an end stands still follows from them: neither is a result.
        let of_lines = |name: &str| {
            system
                .bonds
                .iter()
                .any(|bond| bond.line.is_some() && name.starts_with(&format!("line.{}", bond.name)))
        };
        let lines = system.bonds.iter().any(|bond| bond.line.is_some());
        let mut add = |end: PowerVariable, source: SignalSource, recorded: bool, drives: bool| {
            let name = ports.path(end);
            if of_lines(&name) {
                return;
            }
            let unit = ports.port(end).unit.as_ref().map_or(String::new(), |unit| unit.text.clone());
            infos.push(SignalInfo { recorded, name, unit, owner: topology.owner(end), drives });
            sources.push(source);
            declared.push(Some(ports.port(end).clone()));
        };
        for output in 0..topology.shape.outputs {
            let end = PowerVariable::Output(output);
            let recorded = named.record(&ports.path(end));
            let drives = lines || topology.driving.contains(&output);
            add(end, SignalSource::Output(output), recorded, drives);
        }
        for input in 0..topology.shape.inputs {
            let end = PowerVariable::Input(input);
            if !topology.couplings.terms(input).is_empty() && named.name(&ports.path(end)) {
                add(end, SignalSource::Input(input), true, false);
            }
        }
        let sampled = (0..topology.names.len()).filter(|&member| is_sampled(layout, member));
        let corrected = layout.methods.correction_names.iter().any(|name| *name != "none");
        let shape = &topology.shape;
        let abilities = topology.interfaces.iter().map(|interface| interface.abilities);
        let fixed_inside = topology.interfaces.iter().any(|interface| interface.internal_step.is_some());
        let rigid = abilities.clone().any(|can| !can.variable_step);
        Signals {
            drives: influences(layout, system),
            order: shape.degree + 1 + u32::from(corrected && shape.feedthrough_depth == 0),
            restrictions: Restrictions { rigid, anywhere: !rigid && !fixed_inside && !lines, lines },
            jumps: topology.eventful || system.scenario.is_some(),
            ports: declared,
            controlled: layout.limits.control.adaptive,
            sampled: sampled
                .map(|member| (topology.names[member].clone(), own_step(layout, member)))
                .collect(),
            rollback_checks: run.rollback_checks().map(|(_, check)| check.clone()).collect(),
            infos,
            sources,
        }
    }

    pub(crate) fn width(&self) -> usize {
        self.sources.len()
    }

    /// Why no four steps of the run can be one: a component samples within.
    pub(crate) fn samples_within(&self, first: f64) -> Option<String> {
        let within = |every: &Option<f64>| {
            let share = every.unwrap_or(first) / (4.0 * first);
            share < 0.5 || (share - share.round()).abs() > MEETS
        };
        let (name, _) = self.sampled.iter().find(|(_, every)| within(every))?;
        Some(format!("`{name}` samples more often than larger steps end"))
    }

    /// The system with its steps multiplied, or parts of them. Steps at which a component samples are part of its
    /// design, and stay. `first` is the first step of the run.
    pub(crate) fn variant(&self, system: &System, first: f64, factor: f64) -> System {
        let mut changed = system.clone();
        changed.results = Results::default();
        for component in &mut changed.components {
            let sampled = self.sampled.iter().any(|(name, _)| *name == component.name);
            match &mut component.step {
                Some(_) if sampled => {}
                Some((size, _)) => *size *= factor,
                None if sampled && !self.controlled => component.step = Some((first, 0..0)),
                None => {}
            }
        }
        if self.restrictions.lines {
            for bond in &mut changed.bonds {
                if let Some(line) = &mut bond.line {
                    // A shorter or longer line of the same capacity.
                    (line.delay, line.impedance) = (line.delay * factor, line.impedance * factor);
                }
            }
            for methods in changed.method_configs_mut() {
                methods.step.size = methods.step.size.map(|size| size * factor);
            }
            return changed;
        }
        let step = &mut changed.methods.step;
        step.size = Some(first * factor);
        step.reject = Reject::Never;
        changed.methods.controller = Choice::named("fixed");
        changed
    }

    /// A companion at the start, with other steps; the reason where there is none.
    pub(crate) fn companion(
        &self,
        system: &System,
        registry: &Registry,
        (first, factor): (f64, f64),
    ) -> Result<Companion, String> {
        let changed = self.variant(system, first, factor);
        let planned = plan(&changed, registry).or_else(|problems| {
            // Sampling steps that are not multiplied may not fit the others.
            if self.restrictions.rigid || self.restrictions.lines {
                return Err(problems);
            }
            let mut same = changed;
            same.methods.step.size = Some(first);
            plan(&same, registry).map_err(|_| problems)
        });
        let planned = planned.map_err(|problems| in_one_line(&problems))?;
        self.follow(planned.with_rollback_checks(self.rollback_checks.clone()), self.restrictions.rigid)
    }

    /// A companion that executes a plan.
    pub(crate) fn follow(&self, plan: Plan, steady: bool) -> Result<Companion, String> {
        let run = Run::new(plan, 1).map_err(|error| error.text_with_code())?;
        let ports = run.layout().ports();
        let place = |info: &SignalInfo, source: &SignalSource| match source {
            SignalSource::Output(_) => ports.output(&info.name, &(0..0)).ok().map(SignalSource::Output),
            SignalSource::Input(_) => ports.input(&info.name, &(0..0)).ok().map(SignalSource::Input),
        };
        let sources: Vec<Option<SignalSource>> =
            self.infos.iter().zip(&self.sources).map(|(info, source)| place(info, source)).collect();
        let width = sources.len();
        let outputs = (0..run.outputs().len()).map(|output| Some(SignalSource::Output(output)));
        let mut companion = Companion {
            plain: sources.iter().copied().eq(outputs),
            jumps: self.jumps,
            sources,
            values: vec![0.0; width],
            jumped: vec![false; if self.jumps { width } else { 0 }],
            size: 0.0,
            steady,
            steps: 0,
            run,
        };
        companion.read();
        Ok(companion)
    }
}

/// Whether the step of a component is that of a sampled controller: all its outputs change at the ends of its steps only.
fn is_sampled(layout: &Layout, member: usize) -> bool {
    let interface = &layout.topology.interfaces[member];
    let own = layout.methods.rates.iter().any(|rate| rate.member == member);
    let discrete = !interface.outputs.is_empty() && interface.outputs.iter().all(|port| port.discrete);
    discrete && (own || !interface.abilities.events)
}

/// The own step of a component.
fn own_step(layout: &Layout, member: usize) -> Option<f64> {
    layout.methods.rates.iter().find(|rate| rate.member == member).map(|rate| rate.every)
}

/// Per component: those whose inputs it drives, lines included.
fn influences(layout: &Layout, system: &System) -> Vec<Vec<usize>> {
    let topology = &layout.topology;
    let mut drives: Vec<Vec<usize>> = vec![Vec::new(); topology.names.len()];
    let mut add = |from: usize, to: usize| {
        if from != to && !drives[from].contains(&to) {
            drives[from].push(to);
        }
    };
    for (to, block) in topology.blocks.iter().enumerate() {
        for input in block.inputs.clone() {
            topology.couplings.terms(input).iter().for_each(|term| add(topology.owners[term.output], to));
        }
    }
    for wire in &topology.byte_connections {
        add(wire.from.0, wire.to.0);
    }
    let owner = |path: &str| {
        let inside =
            |name: &String| path.strip_prefix(name.as_str()).is_some_and(|rest| rest.starts_with('.'));
        let owners = (0..topology.names.len()).filter(|&member| inside(&topology.names[member]));
        owners.max_by_key(|&member| topology.names[member].len())
    };
    for bond in system.bonds.iter().filter(|bond| bond.line.is_some()) {
        if let (Some(a), Some(b)) = (owner(&bond.a.effort.0), owner(&bond.b.effort.0)) {
            add(a, b);
            add(b, a);
        }
    }
    drives
}

/// Which signals are results.
struct Patterns(Vec<(bool, WildMatch)>);

impl Patterns {
    fn new(results: &Results) -> Patterns {
        let pattern = |text: &String| {
            let rest = text.strip_prefix('!');
            (rest.is_some(), WildMatch::new(rest.unwrap_or(text)))
        };
        Patterns(results.variables.iter().map(|(text, _)| pattern(text)).collect())
    }

    /// It is recorded: the last pattern that matches decides.
    fn record(&self, name: &str) -> bool {
        match self.0.iter().rev().find(|(_, pattern)| pattern.matches(name)) {
            Some((excludes, _)) => !excludes,
            None => self.0.first().is_none_or(|(excludes, _)| *excludes),
        }
    }

    /// A pattern asks for it, and it is recorded.
    fn name(&self, name: &str) -> bool {
        self.0.iter().any(|(excludes, pattern)| !excludes && pattern.matches(name)) && self.record(name)
    }
}

/// A run that follows another one.
pub(crate) struct Companion {
    run: Run,
    /// In the order of the signals; none where it does not have one.
    sources: Vec<Option<SignalSource>>,
    /// The signals are all outputs and nothing else.
    plain: bool,
    /// At the present communication point.
    pub(crate) values: Vec<f64>,
    /// Signals that jumped since the last call of `advance`; empty where none can.
    pub(crate) jumped: Vec<bool>,
    jumps: bool,
    size: f64,
    /// It takes steps of its own size.
    steady: bool,
    pub(crate) steps: u64,
}

impl Companion {
    pub(crate) fn run(&self) -> &Run {
        &self.run
    }

    fn read(&mut self) {
        if self.plain {
            self.values.copy_from_slice(self.run.outputs());
            return;
        }
        for (value, source) in self.values.iter_mut().zip(&self.sources) {
            *value = source.map_or(f64::NAN, |source| source.read(&self.run));
        }
    }

    /// Steps to an instant of the run it follows; in one step unless something ends it before.
    pub(crate) fn advance(&mut self, aim: f64) -> Result<(), String> {
        self.jumped.fill(false);
        loop {
            let now = self.run.time().seconds();
            let left = aim - now;
            let size = if self.steady { self.run.sizes().1 } else { left };
            if left <= MEETS * size.max(self.size) {
                break;
            }
            if self.run.finished() {
                return Err(format!("it ended at t = {now} s"));
            }
            if !self.steady {
                if (left - self.size).abs() > SAME * self.size {
                    self.size = left;
                }
                self.run.set_next_size(self.size);
            }
            self.run.step().map_err(|error| error.text_with_code())?;
            self.steps += 1;
            if self.jumps {
                for (jumped, source) in self.jumped.iter_mut().zip(&self.sources) {
                    *jumped |=
                        matches!(source, Some(SignalSource::Output(output)) if self.run.jumped(*output));
                }
            }
        }
        self.read();
        Ok(())
    }
}
