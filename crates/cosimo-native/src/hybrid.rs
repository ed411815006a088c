//! The one loop that integrates equations with events: those of native models and those of FMUs for model exchange.
//!
//! The integrator sees inputs as they are assumed to move, at its own stages, and goes on from window to window as if
//! there were none; it starts anew only where an input jumps or an event changes the equations. Events happen inside a
//! window, at their time: state events where an indicator changes its sign, time events that were announced, and those
//! that are asked for after a step. At the end of a line the effort follows from the flow at every stage, so that the
//! line's impedance is part of what is integrated. The classical method of order four with fixed steps is there, too:
//! papers on coupling state numbers of steps.

use std::borrow::Cow;
use std::fmt;

use cosimo_core::abilities;
use cosimo_core::ends::{Tuning, exert};
use cosimo_core::linearised::{Matrices, Present};
use cosimo_core::simulator::{
    Events, Jacobian, Lifecycle, Locals, Rollback, SerializeState, StateSpace, States, StepIntegrals,
    TunableParameters,
};
use cosimo_core::{
    Inputs, Interface, LineEnd, Outputs, Reached, Rehearsal, Segment, Setup, Simulator, SimulatorError, Slot,
    Time, Window,
};
use cosimo_ode::{Failure, Fault, Integrator, IntegratorEntry, Outcome, Roots, Settings, System};

/// Events so close to each other that time hardly goes on.
pub const CROWD: usize = 100;
/// An event this part of a window before its end counts as one at its end.
const NEAR: f64 = 1e-6;
/// How far aside the slopes of outputs are taken, as a part of the integrator's step.
const ASIDE: f64 = 1e-3;
/// Points and weights of Gauss and Legendre on 0 to 1, exact up to degree 5.
const GAUSS: [(f64, f64); 3] =
    [(0.112_701_665_379_258_31, 5.0 / 18.0), (0.5, 8.0 / 18.0), (0.887_298_334_620_741_7, 5.0 / 18.0)];

/// Equations with events that stand somewhere: at a time, with states and inputs. Whatever is asked of them is answered
/// for where they stand.
pub trait Equations: Send + Sized {
    /// Makes them ready for a run. Whether they are now in initialisation mode, which `begin` ends; without such a mode
    /// `begin` follows at once.
    fn enter(&mut self, setup: &Setup) -> Result<bool, SimulatorError>;

    /// Takes inputs in initialisation mode.
    fn initialise(&mut self, _u: &[f64]) -> Result<(), SimulatorError> {
        Ok(())
    }

    /// Ends initialisation and writes the states into `x`.
    fn begin(&mut self, at: f64, x: &mut [f64]) -> Result<Beginning, SimulatorError>;

    /// Goes to a point. Inputs that change at events only stay as they are.
    fn stand(&mut self, t: f64, x: &[f64], u: &[f64]) -> Result<(), SimulatorError>;

    /// Of the outputs at least the flows of these ends.
    fn flows(&mut self, _ends: &[LineEnd<'_>], y: &mut [f64]) -> Result<(), SimulatorError> {
        self.outputs(y)
    }

    /// Takes the efforts of these ends, without going anywhere.
    fn take_efforts(&mut self, ends: &[LineEnd<'_>], u: &[f64]) -> Result<(), SimulatorError>;

    fn derivatives(&mut self, dx: &mut [f64]) -> Result<(), SimulatorError>;

    fn outputs(&mut self, y: &mut [f64]) -> Result<(), SimulatorError>;

    /// Values whose change of sign is an event.
    fn indicators(&mut self, z: &mut [f64]) -> Result<(), SimulatorError>;

    /// Derivatives of derivatives by states, row by row. Asked only where the method says so.
    fn state_jacobian(&mut self, _into: &mut [f64]) -> Result<(), SimulatorError> {
        Ok(())
    }

    /// Derivatives of outputs by inputs, row by row.
    fn jacobian(&mut self, interface: &Interface, into: &mut [f64]) -> Result<(), SimulatorError>;

    /// Derivatives of everything by everything.
    fn matrices(&mut self, into: &mut Matrices<'_>) -> Result<(), SimulatorError>;

    /// An event at an instant, with inputs, until nothing changes any more. `x` are the states before and after it.
    fn event(&mut self, at: f64, x: &mut [f64], u: &[f64]) -> Result<Settled, SimulatorError>;

    /// Whether an event is needed where inputs jump or, if `due`, where one is due; otherwise the integrator starts anew.
    fn needs_event(&self, due: bool) -> bool;

    /// Hears of a step of the integrator, and asks for what it wants then.
    fn completed_step(&mut self) -> Result<Completed, SimulatorError> {
        Ok(Completed::default())
    }

    /// Refuses ends of lines where flows depend directly on efforts.
    fn check_ends(&self, _interface: &Interface, _ends: &[LineEnd<'_>]) -> Result<(), SimulatorError> {
        Ok(())
    }

    /// Keeps what is in them beside states and inputs; so do the next three.
    fn save(&mut self, slot: Slot) -> Result<(), SimulatorError>;

    fn restore(&mut self, slot: Slot) -> Result<(), SimulatorError>;

    fn freeze(&mut self, into: &mut Vec<u8>) -> Result<(), SimulatorError>;

    fn thaw(&mut self, from: &[u8]) -> Result<(), SimulatorError>;

    /// What to say of bytes that are no state of theirs.
    fn foreign(bytes: usize) -> String;

    /// Changes a tunable parameter; an event follows.
    fn tune(&mut self, _interface: &Interface, _parameter: usize, _value: f64) -> Result<(), SimulatorError> {
        Err(SimulatorError::new("tune", "this simulator has no tunable parameters"))
    }

    /// The rest is as in [`Simulator`].
    fn notices(&mut self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    fn locals(&mut self) -> Option<&mut dyn Locals> {
        None
    }

    fn rehearse(
        _simulator: &mut HybridSimulator<Self>,
        _window: Window,
        _inputs: &Inputs<'_>,
    ) -> Result<Rehearsal, SimulatorError> {
        Ok(Rehearsal::Untried)
    }
}

/// How equations leave initialisation.
#[derive(Debug)]
pub struct Beginning {
    pub settled: Settled,
    /// The first event is yet to be handled, with the first inputs.
    pub due: bool,
    /// Tolerances for the integrator.
    pub settings: Settings,
}

/// What an event came to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settled {
    /// Infinite where none is announced.
    pub next_event: f64,
    /// The function that asks to end the simulation.
    pub ended: Option<&'static str>,
}

/// What equations ask for after a step of the integrator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Completed {
    pub event: bool,
    /// The function that asks to end the simulation.
    pub ended: Option<&'static str>,
}

/// How equations are integrated.
#[derive(Debug)]
pub struct Method {
    pub states: usize,
    /// Names of the states, as far as each is one number.
    pub names: Vec<String>,
    pub indicators: usize,
    /// Of each input, whether it changes at events only; a change of it is one.
    pub discrete: Vec<bool>,
    /// They tell their `state_jacobian`.
    pub state_jacobian: bool,
    pub solver: &'static IntegratorEntry,
    /// Steps of fixed size per window instead. The integrator then keeps the place only.
    pub micro_steps: Option<usize>,
    pub largest_step: f64,
}

/// Equations and what integrates them, as one simulator.
pub struct HybridSimulator<E> {
    pub equations: E,
    pub interface: Interface,
    method: Method,
    setup: Setup,
    initialising: bool,
    course: Course,
    /// One per slot, made when initialisation ends: no step allocates.
    saved: Vec<Course>,
    u: Vec<f64>,
    flows: Vec<f64>,
    work: Work,
    /// Evaluations in steps of fixed size.
    evaluations: u64,
    /// The event at which the last step stopped; all components are brought there. Not rewound: it tells where to go again.
    met: f64,
    /// The function by which the equations ask to end the simulation. They may be looked at, but not moved any more.
    ending: Option<&'static str>,
}

impl<E> fmt::Debug for HybridSimulator<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HybridSimulator({:?})", self.interface)
    }
}

/// Everything that rewinding brings back, but for what is inside the equations.
#[derive(Clone)]
struct Course {
    integrator: Integrator,
    roots: Roots,
    /// Infinite where none is known.
    next_event: f64,
    /// An event is to be handled where the integrator stands.
    due: bool,
    /// Where outputs are shown: the integrator may be a rounding away.
    now: f64,
    /// The inputs, from this time on.
    anchor: f64,
    held: Vec<Segment>,
    tuning: Tuning,
}

/// Room to work in.
struct Work {
    x: Vec<f64>,
    y: Vec<f64>,
    stage: Vec<f64>,
    /// Derivatives; those of all stages in steps of fixed size.
    slopes: [Vec<f64>; 4],
}

impl Course {
    fn copy_from(&mut self, other: &Course) {
        self.integrator.copy_from(&other.integrator);
        self.roots.copy_from(&other.roots);
        (self.next_event, self.due) = (other.next_event, other.due);
        (self.now, self.anchor) = (other.now, other.anchor);
        self.held.copy_from_slice(&other.held);
        self.tuning.copy_from(&other.tuning);
    }

    /// All numbers beside those of integrator and indicators.
    fn numbers(&mut self) -> impl Iterator<Item = &mut f64> {
        let Course { next_event, now, anchor, held, tuning, .. } = self;
        let inputs = held.iter_mut().flat_map(|segment| &mut segment.0);
        [next_event, now, anchor].into_iter().chain(inputs).chain(tuning.numbers_mut())
    }
}

fn look(held: &[Segment], s: f64, u: &mut [f64]) {
    for (u, segment) in u.iter_mut().zip(held) {
        *u = segment.at(s);
    }
}

/// Equations as a system of differential equations, with inputs as they are assumed to move.
struct Driven<'a, E> {
    equations: &'a mut E,
    held: &'a [Segment],
    anchor: f64,
    ends: &'a [LineEnd<'a>],
    u: &'a mut [f64],
    flows: &'a mut [f64],
    method: &'a Method,
    /// What made the integrator give up, in the words of the equations.
    fault: Option<SimulatorError>,
}

impl<E: Equations> Driven<'_, E> {
    /// First the flows, then the efforts that answer them.
    fn stand(&mut self, t: f64, x: &[f64]) -> Result<(), SimulatorError> {
        look(self.held, t - self.anchor, self.u);
        self.equations.stand(t, x, self.u)?;
        if self.ends.is_empty() {
            return Ok(());
        }
        self.equations.flows(self.ends, self.flows)?;
        exert(self.ends, t, self.flows, self.u);
        self.equations.take_efforts(self.ends, self.u)
    }

    #[cold]
    fn fault(&mut self, error: SimulatorError) -> Fault {
        if error.discarded() {
            return Fault::Retry(Cow::Owned(error.to_string()));
        }
        self.fault = Some(error);
        Fault::Fatal(Cow::Borrowed("the equations failed"))
    }

    /// What the equations said, if it was them.
    fn failed(self, failure: &Failure) -> SimulatorError {
        self.fault.unwrap_or_else(|| SimulatorError::new("integrate", failure.naming(&self.method.names)))
    }
}

impl<E: Equations> System for Driven<'_, E> {
    fn derivatives(&mut self, t: f64, x: &[f64], dx: &mut [f64]) -> Result<(), Fault> {
        self.stand(t, x).and_then(|()| self.equations.derivatives(dx)).map_err(|error| self.fault(error))
    }

    fn indicators(&mut self, t: f64, x: &[f64], z: &mut [f64]) -> Result<(), Fault> {
        self.stand(t, x).and_then(|()| self.equations.indicators(z)).map_err(|error| self.fault(error))
    }

    fn jacobian(&mut self, t: f64, x: &[f64], out: &mut [f64]) -> Result<bool, Fault> {
        // What is known is how they answer a state while an effort stays, not while that follows the flow.
        if !self.method.state_jacobian || !self.ends.is_empty() {
            return Ok(false);
        }
        let filled = self.stand(t, x).and_then(|()| self.equations.state_jacobian(out));
        filled.map(|()| true).map_err(|error| self.fault(error))
    }
}

fn integrator(
    solver: &IntegratorEntry,
    states: usize,
    settings: &Settings,
) -> Result<Integrator, SimulatorError> {
    Integrator::new(solver, states, settings)
        .map_err(|refusal| SimulatorError::new("integrate", refusal.to_string()))
}

impl<E: Equations> HybridSimulator<E> {
    pub fn new(equations: E, interface: Interface, method: Method) -> HybridSimulator<E> {
        let (inputs, outputs) = (interface.inputs.len(), interface.outputs.len());
        let room = || vec![0.0; method.states];
        // Another takes its place when tolerances are known; default ones suit every method.
        let placeholder = integrator(method.solver, method.states, &Settings::default());
        let course = Course {
            integrator: placeholder.unwrap_or_else(|refusal| unreachable!("{refusal}")),
            roots: Roots::new(method.indicators, method.states),
            next_event: f64::INFINITY,
            due: false,
            now: 0.0,
            anchor: 0.0,
            held: vec![Segment::ZERO; inputs],
            tuning: Tuning::new(inputs),
        };
        HybridSimulator {
            setup: Setup { start: Time::ZERO, stop: None, meets: false, rewinds: true },
            initialising: false,
            saved: vec![course.clone(); Slot::COUNT],
            course,
            u: vec![0.0; inputs],
            flows: vec![0.0; outputs],
            work: Work {
                x: room(),
                y: vec![0.0; outputs],
                stage: room(),
                slopes: std::array::from_fn(|_| room()),
            },
            evaluations: 0,
            met: f64::NAN,
            ending: None,
            equations,
            interface,
            method,
        }
    }

    /// As it was entered last.
    pub fn setup(&self) -> Setup {
        self.setup
    }

    /// Ends initialisation, if it did not end yet.
    fn run(&mut self) -> Result<(), SimulatorError> {
        if !std::mem::take(&mut self.initialising) {
            return Ok(());
        }
        let at = self.setup.start.seconds();
        let Beginning { settled, due, settings } = self.equations.begin(at, &mut self.work.x)?;
        (self.course.next_event, self.course.due) = (settled.next_event, due);
        self.ending = settled.ended;
        if self.ending.is_none() {
            let settings = Settings { largest: self.method.largest_step, ..settings };
            self.course.integrator = integrator(self.method.solver, self.method.states, &settings)?;
            self.course.integrator.restart(at, &self.work.x);
            if due { self.stand()? } else { self.look_again()? }
        }
        self.saved = vec![self.course.clone(); Slot::COUNT];
        Ok(())
    }

    /// The integrator, the equations that it integrates, and room.
    fn parts<'a>(
        &'a mut self,
        ends: &'a [LineEnd<'a>],
    ) -> (&'a mut Integrator, &'a mut Roots, Driven<'a, E>, &'a mut Work) {
        let Course { integrator, roots, anchor, held, .. } = &mut self.course;
        let driven = Driven {
            equations: &mut self.equations,
            held,
            anchor: *anchor,
            ends,
            u: &mut self.u,
            flows: &mut self.flows,
            method: &self.method,
            fault: None,
        };
        (integrator, roots, driven, &mut self.work)
    }

    /// The signs of the indicators from here on.
    fn look_again(&mut self) -> Result<(), SimulatorError> {
        let (integrator, roots, mut driven, _) = self.parts(&[]);
        roots.start(integrator, &mut driven).map_err(|failure| driven.failed(&failure))
    }

    /// Puts the equations where the integrator is.
    fn stand(&mut self) -> Result<(), SimulatorError> {
        let now = self.course.now;
        let (integrator, _, mut driven, _) = self.parts(&[]);
        driven.stand(now, integrator.state())
    }

    /// The integrator forgets the past.
    fn restart(&mut self, at: f64) {
        self.work.x.copy_from_slice(self.course.integrator.state());
        self.course.integrator.restart(at, &self.work.x);
    }

    /// Takes new inputs at an instant, and returns how often it asked the equations. A jump that the integrator would
    /// notice is an event, or makes it start anew. Efforts of lines do not jump but at events of their own, and those
    /// that follow a flow are not taken.
    fn take(&mut self, at: f64, inputs: &Inputs<'_>) -> Result<u64, SimulatorError> {
        let Course { integrator, held, anchor, now, tuning, due, .. } = &mut self.course;
        let (mut event, mut jumps, mut moves) = (*due, false, false);
        for (port, (held, new)) in held.iter_mut().zip(inputs.segments).enumerate() {
            let (old, before) = (*held, held.at(at - *anchor));
            let (jumped, bends) = (before != new.start(), old.0[1..] != [0.0; 3] || new.0[1..] != [0.0; 3]);
            match (tuning.holds(port), self.method.discrete[port]) {
                (true, _) => {}
                (false, true) => event |= before.round() != new.start().round(),
                (false, false) => (jumps, moves) = (jumps || jumped, moves || jumped || bends),
            }
            let follows = inputs.ends.iter().any(|end| end.effort == port);
            *held = if follows { Segment::constant(before) } else { *new };
        }
        (*now, *anchor) = (at, at);
        let due = event;
        event |= (integrator.time() - at).abs() > NEAR * integrator.planned().abs();
        let mut asked = 0;
        if jumps && !event && self.method.micro_steps.is_none() {
            asked = 1;
            event = self.notices(at)?;
        }
        if event && self.equations.needs_event(due) {
            self.event(at)?;
        } else if event {
            self.restart(at);
            if self.method.indicators > 0 {
                self.look_again()?;
            }
        } else if moves {
            self.course.integrator.renew();
        }
        Ok(asked)
    }

    /// Whether the derivatives changed so much that the step which the integrator has in mind would go wrong by more
    /// than it allows itself.
    fn notices(&mut self, at: f64) -> Result<bool, SimulatorError> {
        let (integrator, _, mut driven, Work { slopes: [dx, ..], .. }) = self.parts(&[]);
        if let Err(fault) = driven.derivatives(at, integrator.state(), dx) {
            // Refused here, it may be accepted a little later: the integrator will see.
            return driven.fault.take().map_or_else(|| Ok(matches!(fault, Fault::Retry(_))), Err);
        }
        Ok(integrator.notices(dx))
    }

    /// What happens at an instant, with the inputs as they are there.
    fn event(&mut self, at: f64) -> Result<(), SimulatorError> {
        let HybridSimulator { equations, course, work: Work { x, .. }, u, .. } = self;
        x.copy_from_slice(course.integrator.state());
        look(&course.held, at - course.anchor, u);
        let settled = equations.event(at, x, u)?;
        (course.next_event, course.due, self.ending) = (settled.next_event, false, settled.ended);
        course.integrator.restart(at, x);
        if self.ending.is_some() { Ok(()) } else { self.look_again() }
    }

    /// One step, cut at the first event. Whether there is one at its end.
    fn inner_step(
        &mut self,
        limit: f64,
        size: f64,
        ends: &[LineEnd<'_>],
        integrals: &mut [f64],
    ) -> Result<bool, SimulatorError> {
        let (next_event, micro_steps) = (self.course.next_event, self.method.micro_steps);
        let (integrator, roots, mut driven, work) = self.parts(ends);
        let mut evaluations = 0;
        let mut go = || {
            if let Some(micro_steps) = micro_steps {
                evaluations = fixed_steps(integrator, &mut driven, work, limit, size, micro_steps)?;
                return Ok(limit == next_event);
            }
            let outcome = integrator.step(&mut driven, limit)?;
            let crossed = roots.search(integrator, &mut driven)?.is_some();
            Ok(crossed || (outcome == Outcome::Reached && limit == next_event))
        };
        let mut event = match go() {
            Ok(event) => event,
            Err(failure) => return Err(driven.failed(&failure)),
        };
        let (start, end) = integrator.span();
        let points = if integrals.is_empty() { &[][..] } else { &GAUSS };
        for (share, weight) in points {
            let t = start + share * (end - start);
            integrator.at(t, &mut work.x);
            driven.stand(t, &work.x)?;
            driven.equations.outputs(&mut work.y)?;
            for (integral, y) in integrals.iter_mut().zip(&work.y) {
                *integral += weight * (end - start) * y;
            }
        }
        driven.stand(end, integrator.state())?;
        let completed = driven.equations.completed_step()?;
        event |= completed.event;
        self.ending = completed.ended;
        self.evaluations += evaluations;
        self.course.now = end;
        // Efforts stay as the step left them, for outputs and events.
        for end in ends {
            self.course.held[end.effort] = Segment::constant(self.u[end.effort]);
        }
        Ok(event)
    }

    /// One step of the integrator, no longer than `size` and not beyond an event or the end of the run: an end nearer
    /// than that would make it shorter.
    fn one_step(
        &mut self,
        window: &Window,
        ends: &[LineEnd<'_>],
        integrals: &mut [f64],
    ) -> Result<(), SimulatorError> {
        self.course.integrator.set_largest(window.size.min(self.method.largest_step));
        let stop = self.setup.stop.map_or(f64::MAX, Time::seconds);
        let limit = if self.method.micro_steps.is_some() { window.to.seconds() } else { stop };
        self.course.due = self.inner_step(limit.min(self.course.next_event), window.size, ends, integrals)?;
        Ok(())
    }

    /// From event to event up to the end of the window. An event that others are to hear of at once is not passed; one at
    /// the end is left for later, so that a step which is taken back never holds it.
    fn go(
        &mut self,
        window: &Window,
        ends: &[LineEnd<'_>],
        integrals: &mut [f64],
    ) -> Result<(), SimulatorError> {
        let (to, size) = (window.to.seconds(), window.size);
        self.course.integrator.set_largest(self.method.largest_step);
        let from = self.course.integrator.time();
        let (mut last, mut crowd) = (f64::NEG_INFINITY, 0);
        while self.course.integrator.time() < to {
            let found = self.inner_step(to.min(self.course.next_event), size, ends, integrals)?;
            let time = self.course.integrator.time();
            if self.ending.is_some() {
                return Ok(());
            }
            // The second time round rounding may put the event a little behind the end, where nothing finds it.
            let met = time == to && to == self.met;
            if !found && !met {
                continue;
            }
            if to - time <= NEAR * size {
                if time < to {
                    self.restart(to);
                    self.course.now = to;
                    self.stand()?;
                }
                self.course.due = true;
                return Ok(());
            }
            if self.setup.meets && time - from > NEAR * size {
                self.met = time;
                return Ok(());
            }
            self.event(time)?;
            if self.ending.is_some() {
                return Ok(());
            }
            crowd = if time - last <= 1e-12 * time.abs().max(size) { crowd + 1 } else { 0 };
            last = time;
            if crowd > CROWD {
                return Err(crowded(time));
            }
        }
        Ok(())
    }

    /// How the outputs move: a little after against a little before, along the derivatives and the inputs. No equations
    /// may be asked for anything past the end, nor before their last step.
    fn output_slopes(&mut self, slopes: &mut [f64]) -> Result<(), SimulatorError> {
        let stop = self.setup.stop.map_or(f64::INFINITY, Time::seconds);
        let (integrator, _, mut driven, Work { x, y, slopes: [dx, ..], .. }) = self.parts(&[]);
        let (at, planned) = (integrator.time(), integrator.planned());
        driven.equations.derivatives(dx)?;
        let aside = ASIDE * if planned.is_finite() && planned > 0.0 { planned } else { 1e-3 };
        let after = if at + aside > stop { 0.0 } else { aside };
        let before = if at - aside < integrator.span().0 { 0.0 } else { aside };
        slopes.fill(0.0);
        for (shift, sign) in [(after, 1.0), (-before, -1.0)].into_iter().filter(|_| after + before > 0.0) {
            for ((x, state), dx) in x.iter_mut().zip(integrator.state()).zip(&*dx) {
                *x = state + shift * dx;
            }
            driven.stand(at + shift, x)?;
            driven.equations.outputs(y)?;
            for (slope, y) in slopes.iter_mut().zip(&*y) {
                *slope += sign * y / (after + before);
            }
        }
        driven.stand(at, integrator.state())
    }

    /// All evaluations of derivatives inside steps so far.
    fn evaluations(&self) -> u64 {
        self.evaluations + self.course.integrator.counters().evaluations
    }
}

/// Steps of equal size to a limit, as many as belong to that part of the window, by the classical method. Returns the
/// evaluations.
fn fixed_steps(
    integrator: &mut Integrator,
    system: &mut impl System,
    Work { x, stage, slopes, .. }: &mut Work,
    limit: f64,
    size: f64,
    micro_steps: usize,
) -> Result<u64, Failure> {
    let from = integrator.time();
    let share = ((limit - from) / size).min(1.0) * micro_steps as f64;
    let (steps, rest) = ((share - NEAR).ceil().max(1.0) as u64, limit - from);
    let h = rest / steps as f64;
    let [k1, k2, k3, k4] = slopes;
    let mut ask = |time: f64, x: &[f64], dx: &mut [f64]| {
        let failed = |(Fault::Retry(message) | Fault::Fatal(message))| Failure::Fatal { time, message };
        system.derivatives(time, x, dx).map_err(failed)
    };
    x.copy_from_slice(integrator.state());
    let n = x.len();
    for step in 0..steps {
        let t = from + step as f64 * h;
        ask(t, x, k1)?;
        (0..n).for_each(|i| stage[i] = x[i] + h / 2.0 * k1[i]);
        ask(t + h / 2.0, stage, k2)?;
        (0..n).for_each(|i| stage[i] = x[i] + h / 2.0 * k2[i]);
        ask(t + h / 2.0, stage, k3)?;
        (0..n).for_each(|i| stage[i] = x[i] + h * k3[i]);
        let end = if step + 1 == steps { limit } else { from + (step + 1) as f64 * h };
        ask(end, stage, k4)?;
        (0..n).for_each(|i| x[i] += h / 6.0 * (k1[i] + 2.0 * k2[i] + 2.0 * k3[i] + k4[i]));
    }
    integrator.restart(limit, x);
    Ok(4 * steps)
}

/// Events so near to each other that time does not go on.
pub fn crowded(time: f64) -> SimulatorError {
    let words = format!("events accumulate at t = {time} s: {CROWD} of them, and time does not go on");
    SimulatorError::new("event", words)
}

impl<E: Equations> Simulator for HybridSimulator<E> {
    fn interface(&self) -> &Interface {
        &self.interface
    }

    fn initialize(&mut self, setup: &Setup) -> Result<(), SimulatorError> {
        let HybridSimulator { equations, interface, method, course, .. } = self;
        let waits = equations.enter(setup)?;
        let at = setup.start.seconds();
        (course.next_event, course.due, course.now, course.anchor) = (f64::INFINITY, false, at, at);
        course.roots = Roots::new(method.indicators, method.states);
        course.tuning = Tuning::new(interface.inputs.len());
        for (held, port) in course.held.iter_mut().zip(&interface.inputs) {
            *held = Segment::constant(port.start.unwrap_or(0.0));
        }
        (self.setup, self.initialising, self.met, self.ending) = (*setup, true, f64::NAN, None);
        if waits { Ok(()) } else { self.run() }
    }

    fn set_inputs(&mut self, at: Time, inputs: &Inputs<'_>) -> Result<(), SimulatorError> {
        if self.ending.is_some() {
            return Ok(());
        }
        if self.initialising {
            self.course.held.copy_from_slice(inputs.segments);
            self.u.iter_mut().zip(inputs.segments).for_each(|(u, segment)| *u = segment.start());
            return self.equations.initialise(&self.u);
        }
        self.take(at.seconds(), inputs)?;
        if self.ending.is_some() { Ok(()) } else { self.stand() }
    }

    fn do_step(&mut self, window: Window, inputs: &Inputs<'_>) -> Result<Reached, SimulatorError> {
        self.do_step_with_integrals(window, inputs, &mut [])
    }

    fn get_outputs(&mut self, out: &mut Outputs<'_>) -> Result<(), SimulatorError> {
        self.equations.outputs(out.values)?;
        if out.slopes.is_empty() || !self.interface.abilities.slopes {
            return Ok(());
        }
        if self.initialising || self.ending.is_some() {
            out.slopes.fill(0.0); // equations that initialise or have ended cannot be asked how they move
            return Ok(());
        }
        self.output_slopes(out.slopes)
    }

    fn locals(&mut self) -> Option<&mut dyn Locals> {
        self.equations.locals()
    }

    abilities! {
        self:
        lifecycle, parameters, states, state_space,
        rollback if self.interface.abilities.rollback,
        serialize_state if self.interface.abilities.freeze,
        events if self.interface.abilities.events,
        jacobian if self.interface.abilities.jacobian,
        integrals if self.interface.abilities.integrals,
    }
}

impl<E: Equations> StepIntegrals for HybridSimulator<E> {
    fn do_step_with_integrals(
        &mut self,
        window: Window,
        inputs: &Inputs<'_>,
        integrals: &mut [f64],
    ) -> Result<Reached, SimulatorError> {
        integrals.fill(0.0);
        self.equations.check_ends(&self.interface, inputs.ends)?;
        self.run()?;
        let ended =
            |function: Option<&'static str>| function.map_or(Ok(()), |name| Err(SimulatorError::end(name)));
        ended(self.ending)?;
        let before = self.evaluations();
        if self.course.tuning.differs(inputs.ends) {
            self.course.integrator.refresh_jacobian();
            self.course.integrator.renew();
        }
        let asked = self.take(window.from.seconds(), inputs)?;
        ended(self.ending)?;
        if inputs.stepwise {
            self.one_step(&window, inputs.ends, integrals)?;
        } else {
            self.go(&window, inputs.ends, integrals)?;
        }
        let Course { now, next_event, due, .. } = &self.course;
        Ok(Reached {
            to: Time::new(*now).unwrap_or(window.to),
            next_event: Time::new(*next_event).filter(|_| next_event.is_finite()),
            event: *due || self.ending.is_some(),
            evaluations: self.evaluations() - before + asked,
        })
    }
}

impl<E: Equations> Lifecycle for HybridSimulator<E> {
    fn exit_initialization(&mut self) -> Result<bool, SimulatorError> {
        let initialising = self.initialising;
        self.run()?;
        Ok(initialising)
    }

    fn notices(&mut self) -> Vec<(&'static str, String)> {
        self.equations.notices()
    }

    fn ending(&mut self) -> Option<&'static str> {
        self.ending
    }
}

impl<E: Equations> Events for HybridSimulator<E> {
    fn next_event(&mut self) -> Result<Option<Time>, SimulatorError> {
        self.run()?;
        let next = self.course.next_event;
        Ok(Time::new(next).filter(|_| next.is_finite()))
    }
}

impl<E: Equations> Rollback for HybridSimulator<E> {
    fn save(&mut self, slot: Slot) -> Result<(), SimulatorError> {
        self.run()?;
        self.saved[slot.index()].copy_from(&self.course);
        self.equations.save(slot)
    }

    fn restore(&mut self, slot: Slot) -> Result<(), SimulatorError> {
        self.run()?;
        self.equations.restore(slot)?;
        self.course.copy_from(&self.saved[slot.index()]);
        self.ending = None;
        self.stand()
    }

    fn check(&mut self, window: Window, inputs: &Inputs<'_>) -> Result<Rehearsal, SimulatorError> {
        E::rehearse(self, window, inputs)
    }
}

impl<E: Equations> SerializeState for HybridSimulator<E> {
    /// Pieces with their lengths: inputs and events, integrator, indicators, and what is inside the equations.
    fn serialize(&mut self, into: &mut Vec<u8>) -> Result<(), SimulatorError> {
        self.run()?;
        let mut pieces = [const { Vec::new() }; 4];
        pieces[0].push(u8::from(self.course.due));
        for number in self.course.numbers() {
            pieces[0].extend(number.to_le_bytes());
        }
        self.course.integrator.freeze(&mut pieces[1]);
        if !self.course.integrator.rewinds_exactly() {
            // What goes on from these bytes starts anew, and so must this run, to be the same.
            self.course.integrator.begin_anew();
        }
        self.course.roots.freeze(&mut pieces[2]);
        self.equations.freeze(&mut pieces[3])?;
        for piece in &pieces {
            into.extend((piece.len() as u64).to_le_bytes());
            into.extend(piece);
        }
        Ok(())
    }

    fn deserialize(&mut self, from: &[u8]) -> Result<(), SimulatorError> {
        let foreign = || SimulatorError::new("thaw", E::foreign(from.len()));
        let (mut rest, mut pieces) = (from, [&[][..]; 4]);
        for piece in &mut pieces {
            let (length, behind) = rest.split_first_chunk().ok_or_else(foreign)?;
            let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| foreign())?;
            (*piece, rest) = behind.split_at_checked(length).ok_or_else(foreign)?;
        }
        self.run()?;
        let mut course = self.course.clone();
        let (due, mut numbers) = pieces[0].split_first().ok_or_else(foreign)?;
        for number in course.numbers() {
            let (bytes, behind) = numbers.split_first_chunk().ok_or_else(foreign)?;
            (*number, numbers) = (f64::from_le_bytes(*bytes), behind);
        }
        if *due > 1 || !numbers.is_empty() || !rest.is_empty() {
            return Err(foreign());
        }
        course.due = *due == 1;
        course.integrator.thaw(pieces[1]).map_err(|_| foreign())?;
        course.roots.thaw(pieces[2]).map_err(|_| foreign())?;
        self.equations.thaw(pieces[3])?;
        self.course.copy_from(&course);
        self.stand()
    }
}

impl<E: Equations> TunableParameters for HybridSimulator<E> {
    /// Equations are others now, and what is in the course stays; they may announce another event.
    fn set_parameter(&mut self, parameter: usize, value: f64) -> Result<(), SimulatorError> {
        self.equations.tune(&self.interface, parameter, value)?;
        self.event(self.course.now)?;
        self.stand()
    }
}

impl<E: Equations> Jacobian for HybridSimulator<E> {
    fn fill(&mut self, into: &mut [f64]) -> Result<(), SimulatorError> {
        self.run()?;
        self.equations.jacobian(&self.interface, into)
    }
}

/// Equations are asked about any states and inputs all day; afterwards they are put back where they were.
impl<E: Equations> StateSpace for HybridSimulator<E> {
    fn present(&mut self, into: &mut Present<'_>) -> Result<(), SimulatorError> {
        self.run()?;
        into.x.copy_from_slice(self.course.integrator.state());
        self.motion(into.x, into.u, into.f, into.g)
    }

    fn motion(&mut self, x: &[f64], u: &[f64], f: &mut [f64], g: &mut [f64]) -> Result<(), SimulatorError> {
        self.run()?;
        self.equations.stand(self.course.now, x, u)?;
        self.equations.derivatives(f)?;
        self.equations.outputs(g)?;
        self.stand()
    }

    fn matrices(&mut self, u: &[f64], into: &mut Matrices<'_>) -> Result<(), SimulatorError> {
        self.run()?;
        self.equations.stand(self.course.now, self.course.integrator.state(), u)?;
        self.equations.matrices(into)?;
        self.stand()
    }
}

impl<E: Equations> States for HybridSimulator<E> {
    fn count(&mut self) -> usize {
        self.method.states
    }

    fn get(&mut self, x: &mut [f64]) {
        x.copy_from_slice(self.course.integrator.state());
    }

    fn set(&mut self, x: &[f64]) {
        self.course.integrator.restart(self.course.now, x);
        // If the equations refuse to stand there, the next step says so.
        let _ = self.stand();
    }
}
