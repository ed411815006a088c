//! A unit for model exchange as a simulator of Cosimo: the unit has the equations, Cosimo integrates them.
//!
//! The integrator sees the inputs as they are assumed to move, at its own stages, and goes on from window to window
//! as if there were no windows; it starts anew only where an input jumps or an event changes the equations. Events
//! happen inside a window, at their time: state events where an indicator changes its sign, time events that the unit
//! announces, and those that it asks for after a step. At the ends of lines efforts follow flows at every stage, too.

use std::borrow::Cow;
use std::marker::PhantomData;
use std::sync::Arc;

use cosimo_core::ends::{Tuning, exert};
use cosimo_core::linearised::{Matrices, Present};
use cosimo_core::{
    Abilities, Derivatives, Dynamics, Inputs, Insight, Interface, LineEnd, Local, Outputs, Reached,
    Rehearsal, Segment, Setup, Simulator, SimulatorError, Slot, States, Suggested, Time, Trail, Window,
};
use cosimo_ode::{Absolute, Failure, Fault, Integrator, Outcome, Roots, Settings, System};

use crate::description::{Description, Kind, Use, Variability};
use crate::feedthrough;
use crate::instance::{Evented, Exchanged, Instance, Life, Made, Setting, Update};
use crate::jacobian::{Column, Tangents, columns};
use crate::locals::{self, Chosen, notices};
use crate::parameters::{self, Feedthrough, Parameters, Rollback};
use crate::ports::{Group, Ports};
use crate::rehearsal::{self, Rehearsed};
use crate::unit::Unit;

/// Rounds of one event iteration. A unit that needs more goes round for ever.
pub(crate) const ROUNDS: usize = 1000;
/// Events so close to each other that time hardly goes on.
pub(crate) const CROWD: usize = 100;
/// An event this part of a step before its end counts as one at its end.
const NEAR: f64 = 1e-6;
const RELATIVE: f64 = 1e-6;
/// The absolute tolerance of a state, as a part of its nominal value times the relative tolerance.
const ABSOLUTE: f64 = 1e-2;
/// How far aside the slopes of outputs are taken, as a part of the integrator's step.
const ASIDE: f64 = 1e-3;
/// Points and weights of Gauss and Legendre on 0 to 1, exact up to degree 5.
const GAUSS: [(f64, f64); 3] =
    [(0.112_701_665_379_258_31, 5.0 / 18.0), (0.5, 8.0 / 18.0), (0.887_298_334_620_741_7, 5.0 / 18.0)];

pub(crate) struct Exchange<O: Origin> {
    origin: O,
    equations: Known,
    parameters: Parameters,
    ports: Ports,
    moving: Option<Moving<O::Instance>>,
    setup: Option<Setup>,
    /// Variables beside the ports that are recorded.
    locals: Chosen,
}

/// Where equations come from: one unit, or several that are integrated together.
pub(crate) trait Origin: Send {
    type Instance: Exchanged;

    /// Instantiated, and in initialisation mode with all parameters set.
    fn make(&self, start: f64, stop: Option<f64>) -> Result<Self::Instance, SimulatorError>;

    /// Parameters that an initialised instance does not have as they were set, in words.
    fn lost(&self, instance: &mut Self::Instance) -> Vec<String>;

    /// An instance failed for good, and with it all of them.
    fn is_corrupt(&self) -> bool;

    /// Descriptions of the FMUs, with the names of their components where there are several.
    fn members(&self) -> impl Iterator<Item = (&Description, Option<&str>)>;

    /// Any variables of a member, ports or not.
    fn get(
        instance: &mut Self::Instance,
        member: usize,
        kind: Kind,
        references: &[u32],
        values: &mut [f64],
    ) -> Result<(), SimulatorError>;

    /// An error of a member whose answer was not needed.
    fn forgive(instance: &mut Self::Instance, member: usize);
}

/// What is known of equations before they are asked anything.
#[derive(Debug, Clone, Default)]
pub(crate) struct Known {
    pub(crate) states: usize,
    /// Names of the states, as far as each is one number.
    pub(crate) names: Vec<String>,
    pub(crate) indicators: usize,
    /// They want to hear of every step.
    pub(crate) completed_steps: bool,
    /// What is in them beside the states can be saved and restored, and turned into bytes.
    pub(crate) keeps_state: bool,
    pub(crate) serializes: bool,
    /// They have nothing but their states, so that they need no event to take a jump. Nor should they have one: units
    /// refuse to go back behind an event unless their state is restored.
    pub(crate) eventless: bool,
    /// Value references of states and derivatives, if these are known to be differentiated by those.
    pub(crate) columns: Option<(Vec<u32>, Vec<u32>)>,
    /// Derivatives of outputs by inputs are known.
    pub(crate) jacobian: bool,
    pub(crate) tolerance: Option<f64>,
}

/// The equations of one unit.
pub(crate) struct Single<I> {
    unit: Arc<Unit>,
    name: String,
    settings: Vec<Setting>,
    version: PhantomData<fn() -> I>,
}

impl<I> Single<I> {
    pub(crate) fn new(unit: Arc<Unit>, name: &str, settings: &[Setting]) -> Single<I> {
        Single { unit, name: name.to_owned(), settings: settings.to_vec(), version: PhantomData }
    }
}

impl<I: Made + Exchanged> Origin for Single<I> {
    type Instance = I;

    fn make(&self, start: f64, stop: Option<f64>) -> Result<I, SimulatorError> {
        let mut instance: I = self.unit.instantiate(Use::ModelExchange, &self.name, &[])?;
        instance.set_up(start, stop)?;
        for setting in &self.settings {
            instance.configure(setting)?;
        }
        instance.initialise()?;
        Ok(instance)
    }

    fn lost(&self, instance: &mut I) -> Vec<String> {
        parameters::lost(&self.unit.description, &self.settings, instance)
    }

    fn is_corrupt(&self) -> bool {
        self.unit.is_corrupt()
    }

    fn members(&self) -> impl Iterator<Item = (&Description, Option<&str>)> {
        std::iter::once((&self.unit.description, None))
    }

    fn get(
        instance: &mut I,
        _member: usize,
        kind: Kind,
        references: &[u32],
        values: &mut [f64],
    ) -> Result<(), SimulatorError> {
        instance.get(kind, references, values)
    }

    fn forgive(instance: &mut I, _member: usize) {
        instance.forgive(Life::Stepping);
    }
}

/// What there is once the unit has been instantiated.
struct Moving<I> {
    instance: I,
    initialising: bool,
    wires: Wires,
    course: Course,
    /// One per slot, made when initialisation ends: no step allocates.
    saved: Vec<Course>,
    outputs: Vec<Group>,
    /// Of the outputs by the inputs.
    jacobian: Vec<Column>,
    /// Of everything by everything.
    tangents: Option<Tangents>,
    keeps_state: bool,
    eventless: bool,
    /// It wants to hear of every step, and whether that step may be taken back.
    completed_steps: Option<bool>,
    relative: f64,
    /// The largest step that its user allows.
    largest: f64,
    work: Work,
    /// The event at which the last step stopped; everybody is brought there. Not rewound: it tells where to go again.
    met: f64,
    /// The function by which the equations ask to end the simulation. They may be looked at, but not moved any more.
    ending: Option<&'static str>,
}

/// How inputs reach the unit.
#[derive(Debug, Clone)]
struct Wires {
    groups: Vec<Group>,
    /// How flows are read, and where these and the efforts are put.
    flows: Vec<Group>,
    y: Vec<f64>,
    u: Vec<f64>,
    /// Names of the states, as far as each is one number.
    states: Vec<String>,
    /// Value references of states and derivatives, if the unit tells derivatives of these by those.
    columns: Option<(Vec<u32>, Vec<u32>)>,
}

/// Everything that rewinding brings back, but for what is inside the unit.
#[derive(Clone)]
struct Course {
    integrator: Integrator,
    roots: Roots,
    /// Infinite where none is announced.
    next_event: f64,
    /// An event is to be handled where the integrator stands.
    due: bool,
    /// The inputs, from this time on.
    anchor: f64,
    held: Vec<Segment>,
    tuning: Tuning,
}

/// Room to work in.
struct Work {
    x: Vec<f64>,
    dx: Vec<f64>,
    y: Vec<f64>,
}

impl Course {
    fn copy_from(&mut self, other: &Course) {
        self.integrator.copy_from(&other.integrator);
        self.roots.copy_from(&other.roots);
        (self.next_event, self.due, self.anchor) = (other.next_event, other.due, other.anchor);
        self.held.copy_from_slice(&other.held);
        self.tuning.copy_from(&other.tuning);
    }

    /// Efforts stay as the unit was told last.
    fn hold(&mut self, ends: &[LineEnd<'_>], wires: &Wires) {
        for end in ends {
            self.held[end.effort] = Segment::constant(wires.u[end.effort]);
        }
    }
}

/// Only doubles may change between events.
fn smooth(group: &Group) -> bool {
    group.kind == Kind::Float64 && !group.discrete
}

/// The unit as a system of differential equations, with inputs as they are assumed to move.
struct Equations<'a, I> {
    instance: &'a mut I,
    wires: &'a mut Wires,
    held: &'a [Segment],
    anchor: f64,
    ends: &'a [LineEnd<'a>],
    /// What made the integrator give up, in the unit's words.
    fault: Option<SimulatorError>,
}

impl<'a, I: Exchanged> Equations<'a, I> {
    fn new(instance: &'a mut I, wires: &'a mut Wires, held: &'a [Segment], anchor: f64) -> Equations<'a, I> {
        Equations { instance, wires, held, anchor, ends: &[], fault: None }
    }

    fn stand(&mut self, t: f64, x: &[f64]) -> Result<(), SimulatorError> {
        self.instance.set_time(t)?;
        self.instance.set_states(x)?;
        for group in self.wires.groups.iter_mut().filter(|group| smooth(group)) {
            for (value, port) in group.values.iter_mut().zip(&group.ports) {
                *value = self.held[*port].at(t - self.anchor);
            }
            self.instance.set(group.kind, &group.references, &group.values)?;
        }
        if self.ends.is_empty() { Ok(()) } else { self.exert(t) }
    }

    /// Efforts of lines, from the flows that the unit shows where it stands.
    fn exert(&mut self, t: f64) -> Result<(), SimulatorError> {
        let Wires { groups, flows, y, u, .. } = &mut *self.wires;
        let ends = self.ends;
        let shows =
            |group: &&mut Group| group.ports.iter().any(|port| ends.iter().any(|end| end.flow == *port));
        let takes =
            |group: &&mut Group| group.ports.iter().any(|port| ends.iter().any(|end| end.effort == *port));
        for group in flows.iter_mut().filter(shows) {
            read_group(self.instance, group, y)?;
        }
        exert(ends, t, y, u);
        for group in groups.iter_mut().filter(takes) {
            for (value, port) in group.values.iter_mut().zip(&group.ports) {
                if ends.iter().any(|end| end.effort == *port) {
                    *value = u[*port];
                }
            }
            self.instance.set(group.kind, &group.references, &group.values)?;
        }
        Ok(())
    }

    fn fault(&mut self, error: SimulatorError) -> Fault {
        if error.discarded() {
            return Fault::Retry(Cow::Owned(error.to_string()));
        }
        self.fault = Some(error);
        Fault::Fatal(Cow::Borrowed("the unit failed"))
    }

    /// What the unit said, if it was the unit.
    fn failed(self, failure: &Failure) -> SimulatorError {
        let names = &self.wires.states;
        self.fault.unwrap_or_else(|| SimulatorError::new("integrate", failure.naming(names)))
    }
}

impl<I: Exchanged> System for Equations<'_, I> {
    fn derivatives(&mut self, t: f64, x: &[f64], dx: &mut [f64]) -> Result<(), Fault> {
        self.stand(t, x).and_then(|()| self.instance.slopes(dx)).map_err(|error| self.fault(error))
    }

    fn indicators(&mut self, t: f64, x: &[f64], z: &mut [f64]) -> Result<(), Fault> {
        self.stand(t, x).and_then(|()| self.instance.indicators(z)).map_err(|error| self.fault(error))
    }

    fn jacobian(&mut self, t: f64, x: &[f64], out: &mut [f64]) -> Result<bool, Fault> {
        // What the unit knows is how it answers a state while an effort stays, not while that follows the flow.
        if self.wires.columns.is_none() || !self.ends.is_empty() {
            return Ok(false);
        }
        self.stand(t, x).map_err(|error| self.fault(error))?;
        let Some((states, derivatives)) = &self.wires.columns else { return Ok(false) };
        // A column after the other, written where rows will be; turned round in the end.
        let n = states.len();
        for (column, state) in states.iter().enumerate() {
            let into = &mut out[column * n..(column + 1) * n];
            if let Err(error) = self.instance.derivatives(derivatives, *state, into) {
                return Err(self.fault(error));
            }
        }
        for row in 0..n {
            for column in 0..row {
                out.swap(row * n + column, column * n + row);
            }
        }
        Ok(true)
    }
}

impl<I: Exchanged> Moving<I> {
    /// The integrator and the equations that it integrates.
    fn parts(&mut self) -> (&mut Integrator, &mut Roots, Equations<'_, I>) {
        let Course { integrator, roots, anchor, held, .. } = &mut self.course;
        (integrator, roots, Equations::new(&mut self.instance, &mut self.wires, held, *anchor))
    }

    /// Ends initialisation: the first events are over, and the integrator stands at the start.
    fn begin(&mut self, at: f64, parameters: &Parameters) -> Result<(), SimulatorError> {
        self.instance.ready()?;
        self.initialising = false;
        // A unit leaves initialisation in event mode.
        let settled = settle_events(&mut self.instance, at)?;
        (self.course.next_event, self.ending) = (settled.next_event, settled.ended);
        if self.ending.is_some() {
            self.saved = vec![self.course.clone(); Slot::COUNT];
            return Ok(());
        }
        self.instance.enter_continuous_time()?;
        let Work { x, .. } = &mut self.work;
        x.fill(1.0);
        self.instance.nominals(x)?;
        let tolerance =
            |nominal: &f64| parameters.absolute.unwrap_or_else(|| allowed(self.relative, *nominal));
        let absolute = Absolute::Each(x.iter().map(tolerance).collect());
        let largest = self.largest;
        let settings = Settings { relative: self.relative, absolute, largest, ..Settings::default() };
        self.course.integrator = integrator(parameters, x.len(), &settings)?;
        self.instance.states(x)?;
        self.course.integrator.restart(at, x);
        self.look_again()?;
        self.saved = vec![self.course.clone(); Slot::COUNT];
        Ok(())
    }

    /// The signs of the indicators from here on.
    fn look_again(&mut self) -> Result<(), SimulatorError> {
        let (integrator, roots, mut equations) = self.parts();
        match roots.start(integrator, &mut equations) {
            Ok(()) => Ok(()),
            Err(failure) => Err(equations.failed(&failure)),
        }
    }

    /// Puts the unit somewhere else at the same time. Inputs that change at events only stay as they are.
    fn stand_at(&mut self, x: &[f64], u: &[f64]) -> Result<(), SimulatorError> {
        self.instance.set_time(self.course.integrator.time())?;
        self.instance.set_states(x)?;
        for group in self.wires.groups.iter_mut().filter(|group| smooth(group)) {
            for (value, port) in group.values.iter_mut().zip(&group.ports) {
                *value = u[*port];
            }
            self.instance.set(group.kind, &group.references, &group.values)?;
        }
        Ok(())
    }

    /// Puts the unit where the integrator is.
    fn stand(&mut self) -> Result<(), SimulatorError> {
        let (integrator, _, mut equations) = self.parts();
        equations.stand(integrator.time(), integrator.state())
    }

    /// Takes new inputs at an instant, and returns how often it asked the equations. A jump that the integrator
    /// would notice is an event. Efforts of lines do not jump, and those that follow a flow are not taken.
    fn take(&mut self, at: f64, inputs: &Inputs<'_>) -> Result<u64, SimulatorError> {
        let (mut event, mut jumps, mut moves) = (self.course.due, false, false);
        for group in &self.wires.groups {
            for port in &group.ports {
                let (old, new) = (&self.course.held[*port], &inputs.segments[*port]);
                let (before, after) = (old.at(at - self.course.anchor), new.start());
                if self.course.tuning.holds(*port) {
                    continue;
                }
                if smooth(group) {
                    jumps |= before != after;
                    moves |= before != after || old.0[1..] != [0.0; 3] || new.0[1..] != [0.0; 3];
                } else {
                    event |= before.round() != after.round();
                }
            }
        }
        let Course { held, anchor, .. } = &mut self.course;
        for (port, (held, new)) in held.iter_mut().zip(inputs.segments).enumerate() {
            let follows = inputs.ends.iter().any(|end| end.effort == port);
            *held = if follows { Segment::constant(held.at(at - *anchor)) } else { *new };
        }
        *anchor = at;
        let mut asked = 0;
        if jumps && !event {
            asked = 1;
            event = self.notices(at)?;
        }
        if event && self.eventless {
            self.work.x.copy_from_slice(self.course.integrator.state());
            self.course.integrator.restart(at, &self.work.x);
        } else if event {
            self.event(at)?;
        } else if moves {
            self.course.integrator.renew();
        }
        Ok(asked)
    }

    /// Whether the derivatives changed so much that the step which the integrator has in mind would go wrong by more
    /// than it allows itself.
    fn notices(&mut self, at: f64) -> Result<bool, SimulatorError> {
        let Moving { instance, wires, course, work: Work { x, dx, .. }, .. } = self;
        x.copy_from_slice(course.integrator.state());
        let mut equations = Equations::new(instance, wires, &course.held, course.anchor);
        if let Err(fault) = equations.derivatives(at, x, dx) {
            // Refused here, it may be accepted a little later: the integrator will see.
            return equations.fault.take().map_or_else(|| Ok(matches!(fault, Fault::Retry(_))), Err);
        }
        Ok(course.integrator.notices(dx))
    }

    /// Event mode at an instant, with the inputs as they are there, until nothing changes any more.
    fn event(&mut self, at: f64) -> Result<(), SimulatorError> {
        let Moving { instance, wires, course, work, .. } = self;
        instance.set_time(at)?;
        instance.set_states(course.integrator.state())?;
        instance.enter_event_mode()?;
        for group in &mut wires.groups {
            for (value, port) in group.values.iter_mut().zip(&group.ports) {
                *value = course.held[*port].at(at - course.anchor);
            }
            instance.set(group.kind, &group.references, &group.values)?;
        }
        let settled = settle_events(instance, at)?;
        (course.next_event, course.due, self.ending) = (settled.next_event, false, settled.ended);
        work.x.copy_from_slice(course.integrator.state());
        if settled.states_changed {
            instance.states(&mut work.x)?;
        }
        course.integrator.restart(at, &work.x);
        if self.ending.is_some() {
            return Ok(());
        }
        instance.enter_continuous_time()?;
        self.look_again()
    }

    /// One step of the integrator, cut at the first event. Whether there is one at its end.
    fn inner_step(
        &mut self,
        limit: f64,
        ends: &[LineEnd<'_>],
        trail: &mut Trail<'_>,
    ) -> Result<bool, SimulatorError> {
        let Moving { instance, wires, course, work, outputs, completed_steps, ending, .. } = self;
        let Course { integrator, roots, next_event, anchor, held, .. } = course;
        let mut equations = Equations { ends, ..Equations::new(instance, wires, held, *anchor) };
        let mut go = || {
            let outcome = integrator.step(&mut equations, limit)?;
            let crossed = roots.search(integrator, &mut equations)?.is_some();
            Ok(crossed || (outcome == Outcome::Reached && limit == *next_event))
        };
        let mut event = match go() {
            Ok(event) => event,
            Err(failure) => return Err(equations.failed(&failure)),
        };
        let (start, end) = integrator.span();
        let points = if trail.integrals.is_empty() { &[][..] } else { &GAUSS };
        for (share, weight) in points {
            let t = start + share * (end - start);
            integrator.at(t, &mut work.x);
            equations.stand(t, &work.x)?;
            read(equations.instance, outputs, &mut work.y)?;
            for (integral, y) in trail.integrals.iter_mut().zip(&work.y) {
                *integral += weight * (end - start) * y;
            }
        }
        equations.stand(end, integrator.state())?;
        if let Some(never_back) = *completed_steps {
            let completed = equations.instance.completed_step(never_back)?;
            event |= completed.event;
            *ending = completed.ended;
        }
        self.course.hold(ends, &self.wires);
        Ok(event)
    }

    /// One step of the integrator, no longer than `size` and not beyond an event or the end of the run: an end nearer
    /// than that would make it shorter.
    fn one_step(
        &mut self,
        size: f64,
        stop: f64,
        ends: &[LineEnd<'_>],
        trail: &mut Trail<'_>,
    ) -> Result<f64, SimulatorError> {
        self.course.integrator.set_largest(size.min(self.largest));
        self.course.due = self.inner_step(stop.min(self.course.next_event), ends, trail)?;
        Ok(self.course.integrator.time())
    }

    /// From event to event up to `to`, and where it came to: an event that others are to hear of at once is not passed.
    /// One at the end is left for later, so that a step which is taken back never holds it.
    fn advance(
        &mut self,
        to: f64,
        size: f64,
        meets: bool,
        ends: &[LineEnd<'_>],
        trail: &mut Trail<'_>,
    ) -> Result<f64, SimulatorError> {
        self.course.integrator.set_largest(self.largest);
        let from = self.course.integrator.time();
        let (mut last, mut crowd) = (f64::NEG_INFINITY, 0);
        while self.course.integrator.time() < to {
            let found = self.inner_step(to.min(self.course.next_event), ends, trail)?;
            let time = self.course.integrator.time();
            if self.ending.is_some() {
                return Ok(time);
            }
            // The second time round rounding may put the event a little behind the end, where nobody finds it.
            let met = time == to && to == self.met;
            if !found && !met {
                continue;
            }
            if to - time <= NEAR * size {
                if time < to {
                    self.work.x.copy_from_slice(self.course.integrator.state());
                    self.course.integrator.restart(to, &self.work.x);
                    self.stand()?;
                }
                self.course.due = true;
                return Ok(to);
            }
            if meets && time - from > NEAR * size {
                self.met = time;
                return Ok(time);
            }
            self.event(time)?;
            if self.ending.is_some() {
                return Ok(time);
            }
            crowd = if time - last <= 1e-12 * time.abs().max(size) { crowd + 1 } else { 0 };
            last = time;
            if crowd > CROWD {
                return Err(crowded(time));
            }
        }
        Ok(to)
    }

    /// How the outputs move: a little after against a little before, along the derivatives and the inputs. No unit
    /// may be asked for anything past the end, nor before its last step.
    fn output_slopes(&mut self, slopes: &mut [f64], stop: f64) -> Result<(), SimulatorError> {
        let Moving { instance, wires, course, work: Work { x, dx, y, .. }, outputs, .. } = self;
        let (at, planned) = (course.integrator.time(), course.integrator.planned());
        let mut equations = Equations::new(instance, wires, &course.held, course.anchor);
        equations.instance.slopes(dx)?;
        let aside = ASIDE * if planned.is_finite() && planned > 0.0 { planned } else { 1e-3 };
        let after = if at + aside > stop { 0.0 } else { aside };
        let before = if at - aside < course.integrator.span().0 { 0.0 } else { aside };
        slopes.fill(0.0);
        for (shift, sign) in [(after, 1.0), (-before, -1.0)].into_iter().filter(|_| after + before > 0.0) {
            for ((x, state), dx) in x.iter_mut().zip(course.integrator.state()).zip(&*dx) {
                *x = state + shift * dx;
            }
            equations.stand(at + shift, x)?;
            read(equations.instance, outputs, y)?;
            for (slope, y) in slopes.iter_mut().zip(&*y) {
                *slope += sign * y / (after + before);
            }
        }
        equations.stand(at, course.integrator.state())
    }
}

/// Events so near to each other that time does not go on.
pub(crate) fn crowded(time: f64) -> SimulatorError {
    let words = format!("events accumulate at t = {time} s: {CROWD} of them, and time does not go on");
    SimulatorError::new("event", words)
}

fn integrator(
    parameters: &Parameters,
    states: usize,
    settings: &Settings,
) -> Result<Integrator, SimulatorError> {
    Integrator::new(parameters.solver, states, settings)
        .map_err(|refusal| SimulatorError::new("integrate", refusal.to_string()))
}

fn allowed(relative: f64, nominal: f64) -> f64 {
    let nominal = if nominal.is_finite() && nominal != 0.0 { nominal.abs() } else { 1.0 };
    (ABSOLUTE * relative * nominal).max(f64::MIN_POSITIVE)
}

/// What an event came to.
struct Settled {
    states_changed: bool,
    /// Infinite where none is announced.
    next_event: f64,
    ended: Option<&'static str>,
}

/// The event iteration.
fn settle_events<I: Evented>(instance: &mut I, at: f64) -> Result<Settled, SimulatorError> {
    let mut states_changed = false;
    for _ in 0..ROUNDS {
        let update = instance.update()?;
        states_changed |= update.states_changed;
        if update.ended.is_some() {
            return Ok(Settled { states_changed, next_event: f64::INFINITY, ended: update.ended });
        }
        if !update.again {
            return Ok(Settled { states_changed, next_event: announced(&update, at)?, ended: None });
        }
    }
    Err(unsettled(at))
}

/// When the next time event is; infinite where there is none.
pub(crate) fn announced(update: &Update, at: f64) -> Result<f64, SimulatorError> {
    let next = update.next_event.unwrap_or(f64::INFINITY);
    if next <= at || next.is_nan() {
        let words = format!("the unit announces an event at t = {next} s when it is {at} s already");
        return Err(SimulatorError::new("event", words));
    }
    Ok(next)
}

pub(crate) fn unsettled(at: f64) -> SimulatorError {
    let words =
        format!("the event at t = {at} s does not settle: after {ROUNDS} rounds the unit asks for another");
    SimulatorError::new("event", words)
}

fn read<I: Exchanged>(
    instance: &mut I,
    groups: &mut [Group],
    into: &mut [f64],
) -> Result<(), SimulatorError> {
    groups.iter_mut().try_for_each(|group| read_group(instance, group, into))
}

fn read_group<I: Exchanged>(
    instance: &mut I,
    Group { kind, references, ports, values, .. }: &mut Group,
    into: &mut [f64],
) -> Result<(), SimulatorError> {
    instance.get(*kind, references, values)?;
    for (port, value) in ports.iter().zip(values) {
        into[*port] = *value;
    }
    Ok(())
}

impl Known {
    /// Of one unit.
    pub(crate) fn of(unit: &Unit) -> Known {
        let (about, can) = (&unit.description, unit.capabilities(Use::ModelExchange));
        let Some(exchange) = &about.exchange else { return Known::default() };
        let states = exchange.state_count(&about.variables);
        let scalars = exchange.states.len() == states;
        let reference = |index: &usize| about.variables[*index].reference;
        let name = |index: &usize| about.variables[*index].name.clone();
        let pairs = || exchange.states.iter().map(|(x, dx)| (reference(x), reference(dx))).unzip();
        let named = exchange.states.iter().filter(|_| scalars);
        // That something else changes from step to step only the variables give away.
        let discrete = about.variables.iter().any(|variable| variable.variability == Variability::Discrete);
        Known {
            states,
            names: named.map(|(x, _)| name(x)).collect(),
            indicators: exchange.indicators,
            completed_steps: exchange.completed_steps,
            keeps_state: can.get_set_state,
            serializes: can.serialize_state,
            eventless: exchange.indicators == 0 && !exchange.completed_steps && !discrete,
            columns: (scalars && can.directional_derivatives).then(pairs),
            jacobian: can.directional_derivatives,
            tolerance: about.experiment.tolerance,
        }
    }

    /// What a linear model is asked by, if the units give derivatives.
    fn tangents(&self, ports: &Ports) -> Option<Tangents> {
        Tangents::new(self.columns.as_ref().filter(|_| self.jacobian)?, ports)
    }

    fn insight(&self, ports: &Ports) -> Insight {
        let derivatives = match self.tangents(ports) {
            Some(_) => Derivatives::Directional,
            None => Derivatives::None,
        };
        Insight { states: self.states, derivatives, anywhere: true }
    }

    /// Without the units' help only what Cosimo integrates comes back, which is all there is without events.
    pub(crate) fn can_go_back(&self) -> bool {
        self.keeps_state || self.eventless
    }

    pub(crate) fn can_be_bytes(&self) -> bool {
        self.can_go_back() && (self.serializes || !self.keeps_state)
    }
}

/// The ports of a unit that is to be integrated, with what its user should know of it.
pub(crate) fn ports<I: Made>(unit: &Unit, parameters: &Parameters) -> Ports {
    let mut ports = Ports::new(&unit.description, parameters.feedthrough == Feedthrough::None, false);
    let mut remarks = unit.description.remarks(Use::ModelExchange);
    if parameters.feedthrough == Feedthrough::Probed {
        let (pairs, doubts) = feedthrough::probe::<I>(unit, Use::ModelExchange, parameters, &ports);
        ports.interface.feedthrough = pairs.into_iter().collect();
        remarks.extend(doubts);
    }
    let experiment = unit.description.experiment;
    ports.interface.suggested =
        Suggested { start: experiment.start, stop: experiment.stop, step: experiment.step };
    ports.interface.facts = unit.facts();
    ports.interface.remarks = remarks;
    ports.interface.parameter_remarks = parameters.doubts.clone();
    ports
}

impl<I: Made + Exchanged> Exchange<Single<I>> {
    pub(crate) fn of_unit(unit: Arc<Unit>, parameters: Parameters, name: &str) -> Exchange<Single<I>> {
        let (ports, known) = (ports::<I>(&unit, &parameters), Known::of(&unit));
        Exchange::new(Single::new(unit, name, &parameters.settings), known, ports, parameters)
    }
}

impl<O: Origin> Exchange<O> {
    pub(crate) fn new(origin: O, equations: Known, mut ports: Ports, parameters: Parameters) -> Exchange<O> {
        let rollback = parameters.rollback != Rollback::None;
        if rollback && equations.can_go_back() && !parameters.solver.rewinds_exactly {
            ports.interface.remarks.push(format!(
                "the solver \"{}\" starts anew wherever it is rewound or saved; the same run gives the same bits, but \
                 a step that is repeated differs within the tolerances from one that was never taken back",
                parameters.solver.name
            ));
        }
        ports.interface.abilities = Abilities {
            rollback: rollback && equations.can_go_back(),
            freeze: rollback && equations.can_be_bytes(),
            input_degree: 3,
            slopes: true,
            jacobian: equations.jacobian && columns(&ports).is_some(),
            integrals: true,
            states: true,
            early_return: equations.indicators > 0 || equations.completed_steps,
            variable_step: true,
            answers: true,
            events: !equations.eventless,
            lines: true,
            stepwise: true,
        };
        ports.interface.insight = Some(equations.insight(&ports));
        let locals = Chosen::default();
        Exchange { origin, equations, parameters, ports, moving: None, setup: None, locals }
    }

    fn moving(&mut self) -> Result<&mut Moving<O::Instance>, SimulatorError> {
        self.moving.as_mut().ok_or_else(|| SimulatorError::new("enter", "the unit was not instantiated"))
    }

    /// The effort of a line answers a flow, so that no flow can answer it at once.
    fn check_ends(&self, ends: &[LineEnd<'_>]) -> Result<(), SimulatorError> {
        let Interface { feedthrough, inputs, outputs, .. } = &self.ports.interface;
        match ends.iter().find(|end| feedthrough.contains(&(end.flow, end.effort))) {
            None => Ok(()),
            Some(LineEnd { flow, effort, .. }) => Err(SimulatorError::new(
                "line",
                format!(
                    "the flow `{}` depends directly on the effort `{}`, or the unit does not deny it: a line cannot end \
                     there; where it is the description that says too little, \"cosimo.feedthrough\" = \"probed\" finds out",
                    outputs[*flow].name, inputs[*effort].name
                ),
            )),
        }
    }

    /// As before, past its initialisation.
    fn running(&mut self) -> Result<&mut Moving<O::Instance>, SimulatorError> {
        if let (Some(moving), Some(setup)) = (&mut self.moving, &self.setup)
            && moving.initialising
        {
            moving.begin(setup.start.seconds(), &self.parameters)?;
        }
        self.moving()
    }
}

impl<O: Origin> Rehearsed for Exchange<O> {
    fn corrupt(&mut self) -> Option<bool> {
        let fatal = |moving: Moving<O::Instance>| moving.instance.life() == Life::Fatal;
        self.origin.is_corrupt().then(|| self.moving.take().is_some_and(fatal))
    }
}

impl<O: Origin> Simulator for Exchange<O> {
    fn interface(&self) -> &Interface {
        &self.ports.interface
    }

    fn enter(&mut self, setup: &Setup) -> Result<(), SimulatorError> {
        self.moving = None;
        let instance = self.origin.make(setup.start.seconds(), setup.stop.map(Time::seconds))?;
        let Known { states, names, indicators, columns: pairs, .. } = &self.equations;
        let Interface { inputs, outputs, abilities, .. } = &self.ports.interface;
        let room = || vec![0.0; *states];
        self.moving = Some(Moving {
            instance,
            initialising: true,
            wires: Wires {
                groups: self.ports.inputs.clone(),
                flows: self.ports.outputs.clone(),
                y: vec![0.0; outputs.len()],
                u: vec![0.0; inputs.len()],
                states: names.clone(),
                columns: pairs.clone(),
            },
            course: Course {
                // Another takes its place when nominal values are known.
                integrator: integrator(&self.parameters, *states, &Settings::default())?,
                roots: Roots::new(*indicators, *states),
                next_event: f64::INFINITY,
                due: false,
                anchor: setup.start.seconds(),
                held: inputs.iter().map(|port| Segment::constant(port.start.unwrap_or(0.0))).collect(),
                tuning: Tuning::new(inputs.len()),
            },
            saved: Vec::new(),
            outputs: self.ports.outputs.clone(),
            jacobian: columns(&self.ports).filter(|_| self.equations.jacobian).unwrap_or_default(),
            tangents: self.equations.tangents(&self.ports),
            keeps_state: self.equations.keeps_state,
            eventless: self.equations.eventless,
            completed_steps: self.equations.completed_steps.then_some(!(setup.rewinds && abilities.rollback)),
            relative: self.parameters.relative.or(self.equations.tolerance).unwrap_or(RELATIVE),
            largest: self.parameters.largest_step.unwrap_or(f64::INFINITY),
            work: Work { x: room(), dx: room(), y: vec![0.0; outputs.len()] },
            met: f64::NAN,
            ending: None,
        });
        self.setup = Some(*setup);
        Ok(())
    }

    fn exit_initialisation(&mut self) -> Result<bool, SimulatorError> {
        let initialising = self.moving()?.initialising;
        self.running()?;
        Ok(initialising)
    }

    fn notices(&mut self) -> Vec<(&'static str, String)> {
        let Some(moving) = &mut self.moving else { return Vec::new() };
        let instance = &mut moving.instance;
        let lost = self.origin.lost(instance);
        let unreadable = self.locals.drop_unreadable(|member, kind, references, values| {
            O::get(instance, member, kind, references, values).inspect_err(|_| O::forgive(instance, member))
        });
        notices(lost, unreadable)
    }

    fn locals(&self) -> Vec<Local> {
        locals::all(self.origin.members())
    }

    fn choose_locals(&mut self, places: &[usize]) {
        self.locals = Chosen::new(self.origin.members().map(|(description, _)| description), places);
    }

    fn read_locals(&mut self, into: &mut [f64]) -> Result<(), SimulatorError> {
        let none = || SimulatorError::new("enter", "the unit was not instantiated");
        let instance = &mut self.moving.as_mut().ok_or_else(none)?.instance;
        self.locals
            .read(into, |member, kind, references, values| O::get(instance, member, kind, references, values))
    }

    fn ending(&self) -> Option<&'static str> {
        self.moving.as_ref().and_then(|moving| moving.ending)
    }

    fn settle(&mut self, at: Time, inputs: &Inputs<'_>) -> Result<(), SimulatorError> {
        let Moving { instance, wires, course, initialising, ending, .. } = self.moving()?;
        if ending.is_some() {
            return Ok(());
        }
        if !*initialising {
            let moving = self.moving()?;
            moving.take(at.seconds(), inputs)?;
            return if moving.ending.is_some() { Ok(()) } else { moving.stand() };
        }
        course.held.copy_from_slice(inputs.segments);
        for group in &mut wires.groups {
            for (value, port) in group.values.iter_mut().zip(&group.ports) {
                *value = inputs.segments[*port].start();
            }
            instance.set(group.kind, &group.references, &group.values)?;
        }
        Ok(())
    }

    fn advance(
        &mut self,
        window: Window,
        inputs: &Inputs<'_>,
        trail: &mut Trail<'_>,
    ) -> Result<Reached, SimulatorError> {
        trail.integrals.fill(0.0);
        let meets = self.setup.is_some_and(|setup| setup.meets);
        let stop = self.setup.and_then(|setup| setup.stop).map_or(f64::MAX, Time::seconds);
        self.check_ends(inputs.ends)?;
        let moving = self.running()?;
        if let Some(function) = moving.ending {
            return Err(SimulatorError::end(function));
        }
        let before = moving.course.integrator.counters().evaluations;
        if moving.course.tuning.differs(inputs.ends) {
            moving.course.integrator.refresh_jacobian();
            moving.course.integrator.renew();
        }
        let asked = moving.take(window.from.seconds(), inputs)?;
        if let Some(function) = moving.ending {
            return Err(SimulatorError::end(function));
        }
        let reached = if inputs.stepwise {
            moving.one_step(window.size, stop, inputs.ends, trail)?
        } else {
            moving.advance(window.to.seconds(), window.size, meets, inputs.ends, trail)?
        };
        let course = &moving.course;
        Ok(Reached {
            to: Time::new(reached).unwrap_or(window.to),
            next_event: Time::new(course.next_event).filter(|_| course.next_event.is_finite()),
            event: course.due || moving.ending.is_some(),
            evaluations: course.integrator.counters().evaluations - before + asked,
        })
    }

    fn next_event(&mut self) -> Result<Option<Time>, SimulatorError> {
        if self.equations.eventless {
            return Ok(None);
        }
        let next = self.running()?.course.next_event;
        Ok(Time::new(next).filter(|_| next.is_finite()))
    }

    fn outputs(&mut self, out: &mut Outputs<'_>) -> Result<(), SimulatorError> {
        let stop = self.setup.and_then(|setup| setup.stop);
        let moving = self.moving()?;
        read(&mut moving.instance, &mut moving.outputs, out.values)?;
        if out.slopes.is_empty() {
            return Ok(());
        }
        if moving.initialising || moving.ending.is_some() {
            out.slopes.fill(0.0); // a unit that initialises or has ended cannot be asked how it moves
            return Ok(());
        }
        let stop = stop.map_or(f64::INFINITY, Time::seconds);
        moving.output_slopes(out.slopes, stop)
    }

    fn save(&mut self, slot: Slot) -> Result<(), SimulatorError> {
        let moving = self.running()?;
        moving.saved[slot.index()].copy_from(&moving.course);
        if moving.keeps_state { moving.instance.save(slot) } else { Ok(()) }
    }

    fn restore(&mut self, slot: Slot) -> Result<(), SimulatorError> {
        let moving = self.running()?;
        moving.course.copy_from(&moving.saved[slot.index()]);
        moving.ending = None;
        if moving.keeps_state {
            moving.instance.restore(slot)?;
        }
        moving.stand()
    }

    fn rehearse(&mut self, window: Window, inputs: &Inputs<'_>) -> Result<Rehearsal, SimulatorError> {
        match self.setup {
            Some(setup) if self.parameters.rollback == Rollback::Tried => {
                rehearsal::rehearse(self, &setup, window, inputs)
            }
            _ => Ok(Rehearsal::Untried),
        }
    }

    /// Pieces with their lengths: inputs and events, integrator, indicators, and what is inside the unit.
    fn freeze(&mut self, into: &mut Vec<u8>) -> Result<(), SimulatorError> {
        let Moving { instance, course, keeps_state, .. } = self.running()?;
        let mut pieces = [const { Vec::new() }; 4];
        let numbers = course.held.iter().flat_map(|segment| segment.0);
        let numbers = numbers.chain(course.tuning.numbers().iter().copied());
        let due = f64::from(u8::from(course.due));
        for number in [course.next_event, due, course.anchor].into_iter().chain(numbers) {
            pieces[0].extend(number.to_le_bytes());
        }
        course.integrator.freeze(&mut pieces[1]);
        if !course.integrator.rewinds_exactly() {
            // Whoever goes on from these bytes starts anew, and so must this run, to be the same.
            course.integrator.begin_anew();
        }
        course.roots.freeze(&mut pieces[2]);
        if *keeps_state {
            instance.freeze(&mut pieces[3])?;
        }
        for piece in &pieces {
            into.extend((piece.len() as u64).to_le_bytes());
            into.extend(piece);
        }
        Ok(())
    }

    fn thaw(&mut self, from: &[u8]) -> Result<(), SimulatorError> {
        let damaged = || SimulatorError::new("thaw", "these bytes are no state of this unit");
        let (mut rest, mut pieces) = (from, [&[][..]; 4]);
        for piece in &mut pieces {
            let (length, behind) = rest.split_first_chunk().ok_or_else(damaged)?;
            let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| damaged())?;
            (*piece, rest) = behind.split_at_checked(length).ok_or_else(damaged)?;
        }
        let moving = self.running()?;
        let Course { integrator, roots, next_event, due, anchor, held, tuning } = &mut moving.course;
        let (numbers, over) = pieces[0].as_chunks();
        let mut numbers = numbers.iter().map(|bytes| f64::from_le_bytes(*bytes));
        if numbers.len() != 3 + 4 * held.len() + tuning.numbers().len()
            || !over.is_empty()
            || !rest.is_empty()
        {
            return Err(damaged());
        }
        let mut owed = 0.0;
        for place in [next_event, &mut owed, anchor]
            .into_iter()
            .chain(held.iter_mut().flat_map(|segment| &mut segment.0))
            .chain(tuning.numbers_mut())
        {
            *place = numbers.next().ok_or_else(damaged)?;
        }
        *due = owed != 0.0;
        integrator.thaw(pieces[1]).map_err(|_| damaged())?;
        roots.thaw(pieces[2]).map_err(|_| damaged())?;
        if moving.keeps_state {
            moving.instance.thaw(pieces[3])?;
        }
        moving.stand()
    }

    fn jacobian(&mut self, into: &mut [f64]) -> Result<(), SimulatorError> {
        let Interface { abilities, feedthrough, inputs, .. } = &self.ports.interface;
        if !abilities.jacobian && !feedthrough.is_empty() {
            return Err(SimulatorError::new("jacobian", "this unit declares no derivatives"));
        }
        into.fill(0.0);
        let width = inputs.len();
        let Moving { instance, jacobian, .. } = self.running()?;
        jacobian.iter_mut().try_for_each(|column| column.fill(instance, into, width))
    }

    fn states(&mut self) -> Option<&mut dyn States> {
        Some(self)
    }

    fn dynamics(&mut self) -> Option<&mut dyn Dynamics> {
        Some(self)
    }
}

/// A unit for model exchange is asked about any states and inputs all day; afterwards it is put back where it was.
impl<O: Origin> Dynamics for Exchange<O> {
    fn present(&mut self, into: &mut Present<'_>) -> Result<(), SimulatorError> {
        into.x.copy_from_slice(self.running()?.course.integrator.state());
        self.motion(into.x, into.u, into.f, into.g)
    }

    fn motion(&mut self, x: &[f64], u: &[f64], f: &mut [f64], g: &mut [f64]) -> Result<(), SimulatorError> {
        let moving = self.running()?;
        moving.stand_at(x, u)?;
        moving.instance.slopes(f)?;
        read(&mut moving.instance, &mut moving.outputs, g)?;
        moving.stand()
    }

    fn matrices(&mut self, u: &[f64], into: &mut Matrices<'_>) -> Result<(), SimulatorError> {
        let moving = self.running()?;
        moving.work.x.copy_from_slice(moving.course.integrator.state());
        let x = std::mem::take(&mut moving.work.x);
        let stood = moving.stand_at(&x, u);
        moving.work.x = x;
        stood?;
        let none = || SimulatorError::new("linearise", "this unit declares no derivatives");
        moving.tangents.as_mut().ok_or_else(none)?.fill(&mut moving.instance, into)?;
        moving.stand()
    }
}

impl<O: Origin> States for Exchange<O> {
    fn count(&self) -> usize {
        self.equations.states
    }

    fn get(&mut self, x: &mut [f64]) {
        if let Some(moving) = &self.moving {
            x.copy_from_slice(moving.course.integrator.state());
        }
    }

    fn set(&mut self, x: &[f64]) {
        if let Some(moving) = &mut self.moving {
            let at = moving.course.integrator.time();
            moving.course.integrator.restart(at, x);
            // If the unit refuses to stand there, the next step says so.
            let _ = moving.stand();
        }
    }
}
