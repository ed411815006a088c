//! One simulator for any equations, with an integrator of its own: stiff ones, those with events, and those at the
//! ends of lines.
//!
//! The integrator sees inputs as they are assumed to move and goes on from window to window as if there were none; it
//! starts anew only where an input jumps or an event changes the equations. At the end of a line the effort follows
//! from the flow at every stage, so that the line's impedance is part of what is integrated. The classical method of
//! order four with fixed steps is there too: papers on coupling state numbers of steps.

use std::fmt;

use cosimo_core::ends::{Tuning, exert};
use cosimo_core::entry::Range;
use cosimo_core::linearised::{Matrices, Present};
use cosimo_core::{
    Abilities, Derivatives, Dynamics, Inputs, Insight, Interface, LineEnd, Options, Outputs, Reached,
    Segment, Setup, Simulator, SimulatorError, Slot, Spec, States, Time, Trail, Window,
};
use cosimo_ode::{Absolute, Failure, Fault, Integrator, Outcome, Roots, Settings, System};

use crate::model::{Direction, Hybrid, Point};
use crate::ode::ABILITIES;
use crate::recipe::Recipe;

/// The option `solver` of models that are integrated.
pub const SOLVER: Spec = Spec::choice(
    "solver",
    "bdf",
    &["bdf", "dormand-prince", "bogacki-shampine", RK4],
    "the inner solver; `rk4` takes fixed steps, the others keep tolerances",
);
/// The option `relative`.
pub const RELATIVE: Spec =
    Spec::number("relative", 1e-4, Range::Positive, "1", "relative tolerance of the inner solver");
/// The option `absolute`.
pub const ABSOLUTE: Spec = Spec::number(
    "absolute",
    1e-4,
    Range::Positive,
    "1",
    "absolute tolerance of the inner solver, as a part of what is usual for each state",
);
const RK4: &str = "rk4";

/// Tolerances that an integrator takes, whatever is asked for.
const TINY: f64 = f64::MIN_POSITIVE;
const HUGE: f64 = f64::MAX;
/// An event this part of a window before its end counts as one at its end.
const NEAR: f64 = 1e-6;
/// Events so close to each other that time hardly goes on.
const CROWD: usize = 100;

/// Equations with events, and the integrator that solves them.
pub struct Integrated {
    model: Box<dyn Hybrid>,
    interface: Interface,
    /// Steps of fixed size per window, where the integrator has none of its own.
    micro_steps: Option<usize>,
    names: Vec<String>,
    course: Course,
    /// As it was made: a second run is the same as the first.
    blank: Course,
    saved: Vec<Course>,
    filled: [bool; Slot::COUNT],
    work: Work,
    setup: Setup,
    /// The event at which the last window stopped; everybody is brought there. Not rewound: it tells where to go again.
    met: f64,
    recipe: Option<Recipe<Box<dyn Hybrid>>>,
}

impl fmt::Debug for Integrated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Integrated({:?})", self.interface)
    }
}

/// Everything that rewinding brings back.
#[derive(Clone)]
struct Course {
    integrator: Integrator,
    roots: Roots,
    /// What changes at events only.
    memory: Vec<f64>,
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
#[derive(Debug)]
struct Work {
    x: Vec<f64>,
    u: Vec<f64>,
    y: Vec<f64>,
    /// Slopes of the four stages of `rk4`, and a direction.
    slopes: [Vec<f64>; 4],
    along: Vec<f64>,
    change: Vec<f64>,
}

impl Course {
    fn copy_from(&mut self, other: &Course) {
        self.integrator.copy_from(&other.integrator);
        self.roots.copy_from(&other.roots);
        self.memory.copy_from_slice(&other.memory);
        (self.next_event, self.due) = (other.next_event, other.due);
        (self.now, self.anchor) = (other.now, other.anchor);
        self.held.copy_from_slice(&other.held);
        self.tuning.copy_from(&other.tuning);
    }

    /// All numbers beside those of integrator and indicators.
    fn numbers(&mut self) -> impl Iterator<Item = &mut f64> {
        let Course { memory, next_event, now, anchor, held, tuning, .. } = self;
        let inputs = held.iter_mut().flat_map(|segment| &mut segment.0);
        [next_event, now, anchor].into_iter().chain(memory).chain(inputs).chain(tuning.numbers_mut())
    }
}

/// The model as a system of differential equations, with inputs as they are assumed to move.
struct Equations<'a> {
    model: &'a dyn Hybrid,
    memory: &'a [f64],
    held: &'a [Segment],
    anchor: f64,
    ends: &'a [LineEnd<'a>],
    u: &'a mut [f64],
    y: &'a mut [f64],
}

impl Equations<'_> {
    /// The inputs at a place: first the flows, then the efforts that answer them.
    fn look(&mut self, t: f64, x: &[f64]) {
        for (u, segment) in self.u.iter_mut().zip(self.held) {
            *u = segment.at(t - self.anchor);
        }
        if !self.ends.is_empty() {
            self.model.outputs(&Point { t, x, m: self.memory, u: self.u }, self.y);
            exert(self.ends, t, self.y, self.u);
        }
    }

    fn slopes(&mut self, t: f64, x: &[f64], dx: &mut [f64]) {
        self.look(t, x);
        self.model.derivatives(&Point { t, x, m: self.memory, u: self.u }, dx);
    }
}

impl System for Equations<'_> {
    fn derivatives(&mut self, t: f64, x: &[f64], dx: &mut [f64]) -> Result<(), Fault> {
        self.slopes(t, x, dx);
        Ok(())
    }

    fn indicators(&mut self, t: f64, x: &[f64], z: &mut [f64]) -> Result<(), Fault> {
        self.look(t, x);
        self.model.indicators(&Point { t, x, m: self.memory, u: self.u }, z);
        Ok(())
    }
}

impl Integrated {
    /// With the solver that the options name.
    pub fn of(model: impl Hybrid + 'static, options: &Options) -> Integrated {
        let fixed = (options.text("solver") == RK4).then(|| options.count("micro_steps"));
        // Of a method with fixed steps the integrator keeps the place only.
        let name = if fixed.is_some() { "bogacki-shampine" } else { options.text("solver") };
        let (relative, absolute) = (options.number("relative"), options.number("absolute"));
        Integrated::new(Box::new(model), name, fixed, relative, absolute)
    }

    /// With an integrator by its name, or steps of fixed size.
    pub fn new(
        model: Box<dyn Hybrid>,
        solver: &str,
        micro_steps: Option<usize>,
        relative: f64,
        absolute: f64,
    ) -> Integrated {
        let mut interface = model.interface();
        let (initial, memory) = model.initial();
        let (states, inputs) = (initial.len(), interface.inputs.len());
        interface.abilities = Abilities {
            early_return: model.indicator_count() > 0,
            events: model.indicator_count() > 0 || !memory.is_empty(),
            lines: true,
            stepwise: micro_steps.is_none(),
            ..ABILITIES
        };
        interface.insight = Some(Insight { states, derivatives: Derivatives::Declared, anywhere: true });
        let mut tolerances = vec![1.0; states];
        model.nominals(&mut tolerances);
        tolerances.iter_mut().for_each(|nominal| *nominal = (*nominal * absolute).clamp(TINY, HUGE));
        let settings = Settings { relative, absolute: Absolute::Each(tolerances), ..Settings::default() };
        let integrator =
            cosimo_ode::entry(solver).and_then(|entry| Integrator::new(entry, states, &settings));
        // Names are those of the list above, and tolerances were checked when the options were resolved.
        let integrator = integrator.unwrap_or_else(|refusal| unreachable!("{refusal}"));
        let course = Course {
            integrator,
            roots: Roots::new(model.indicator_count(), states),
            memory,
            next_event: f64::INFINITY,
            due: true,
            now: 0.0,
            anchor: 0.0,
            held: vec![Segment::ZERO; inputs],
            tuning: Tuning::new(inputs),
        };
        let room = || vec![0.0; states];
        let mut integrated = Integrated {
            names: model.states().into_iter().map(|port| port.name).collect(),
            micro_steps,
            blank: course.clone(),
            saved: vec![course.clone(); Slot::COUNT],
            filled: [false; Slot::COUNT],
            work: Work {
                x: room(),
                u: vec![0.0; inputs],
                y: vec![0.0; interface.outputs.len()],
                slopes: std::array::from_fn(|_| room()),
                along: vec![0.0; states + inputs],
                change: vec![0.0; states + interface.outputs.len()],
            },
            setup: Setup { start: Time::ZERO, stop: None, meets: false, rewinds: true },
            met: f64::NAN,
            recipe: None,
            model,
            interface,
            course,
        };
        integrated.begin(0.0);
        integrated
    }

    /// The equations without the solver.
    pub fn into_model(self) -> Box<dyn Hybrid> {
        self.model
    }

    /// Lets these parameters change while it runs.
    pub fn make_tunable(&mut self, parameters: Vec<String>, recipe: Recipe<Box<dyn Hybrid>>) {
        self.interface.tunable = parameters;
        self.recipe = Some(recipe);
    }

    /// At the start, where the first event is due: it says when the next one is.
    fn begin(&mut self, at: f64) {
        let Integrated { model, interface, course, blank, .. } = self;
        *course = blank.clone();
        course.integrator.restart(at, &model.initial().0);
        (course.now, course.anchor) = (at, at);
        for (held, port) in course.held.iter_mut().zip(&interface.inputs) {
            *held = Segment::constant(port.start.unwrap_or(0.0));
        }
        (self.filled, self.met) = ([false; Slot::COUNT], f64::NAN);
    }

    /// The integrator and the equations that it integrates.
    fn parts<'a>(
        &'a mut self,
        ends: &'a [LineEnd<'a>],
    ) -> (&'a mut Integrator, &'a mut Roots, Equations<'a>) {
        let Course { integrator, roots, memory, anchor, held, .. } = &mut self.course;
        let Work { u, y, .. } = &mut self.work;
        (integrator, roots, Equations { model: &*self.model, memory, held, anchor: *anchor, ends, u, y })
    }

    /// Takes new inputs at an instant, and returns how often it asked the equations. A jump that the integrator would
    /// notice makes it start anew. Efforts of lines do not jump but at events of their own.
    fn take(&mut self, at: f64, inputs: &Inputs<'_>) -> Result<u64, SimulatorError> {
        let course = &mut self.course;
        let (mut jumps, mut moves) = (false, false);
        for (port, new) in inputs.segments.iter().enumerate() {
            let ruled = inputs.ends.iter().any(|end| end.effort == port);
            let (before, old) = (course.held[port].at(at - course.anchor), course.held[port]);
            if !course.tuning.holds(port) {
                jumps |= before != new.start();
                moves |= before != new.start() || old.0[1..] != [0.0; 3] || new.0[1..] != [0.0; 3];
            }
            course.held[port] = if ruled { Segment::constant(before) } else { *new };
        }
        (course.now, course.anchor) = (at, at);
        let apart = (course.integrator.time() - at).abs() > NEAR * course.integrator.planned().abs();
        if course.due {
            self.event(at)?;
            return Ok(0);
        }
        let mut asked = 0;
        let mut restart = apart;
        if jumps && !restart && self.micro_steps.is_none() {
            asked = 1;
            restart = self.notices(at);
        }
        if restart {
            self.work.x.copy_from_slice(self.course.integrator.state());
            self.course.integrator.restart(at, &self.work.x);
            self.look_again()?;
        } else if moves {
            self.course.integrator.renew();
        }
        Ok(asked)
    }

    fn notices(&mut self, at: f64) -> bool {
        let mut dx = std::mem::take(&mut self.work.slopes[0]);
        let (integrator, _, mut equations) = self.parts(&[]);
        equations.slopes(at, integrator.state(), &mut dx);
        let noticed = integrator.notices(&dx);
        self.work.slopes[0] = dx;
        noticed
    }

    /// The signs of the indicators from here on.
    fn look_again(&mut self) -> Result<(), SimulatorError> {
        let (integrator, roots, mut equations) = self.parts(&[]);
        roots.start(integrator, &mut equations).map_err(|failure| self.failed(&failure))
    }

    fn failed(&self, failure: &Failure) -> SimulatorError {
        SimulatorError::new("integrate", failure.naming(&self.names))
    }

    /// What happens at an instant, with the inputs as they are there.
    fn event(&mut self, at: f64) -> Result<(), SimulatorError> {
        let Integrated { model, course, work: Work { x, u, .. }, .. } = self;
        x.copy_from_slice(course.integrator.state());
        for (u, segment) in u.iter_mut().zip(&course.held) {
            *u = segment.at(at - course.anchor);
        }
        let event = model.event(at, u, x, &mut course.memory);
        if event.terminate {
            return Err(SimulatorError::end("event"));
        }
        course.next_event = event.next.unwrap_or(f64::INFINITY);
        if course.next_event <= at || course.next_event.is_nan() {
            let words = format!("an event is announced for t = {} s when it is {at} s", course.next_event);
            return Err(SimulatorError::new("event", words));
        }
        course.due = false;
        course.integrator.restart(at, x);
        self.look_again()
    }

    /// One step, cut at the first event. Whether there is one at its end.
    fn inner_step(
        &mut self,
        limit: f64,
        size: f64,
        ends: &[LineEnd<'_>],
    ) -> Result<(bool, u64), SimulatorError> {
        if let Some(micro_steps) = self.micro_steps {
            let evaluations = self.fixed_steps(limit, size, micro_steps, ends);
            self.hold_efforts(ends);
            return Ok((limit == self.course.next_event, evaluations));
        }
        let next_event = self.course.next_event;
        let (integrator, roots, mut equations) = self.parts(ends);
        let before = integrator.counters().evaluations;
        let mut go = || {
            let outcome = integrator.step(&mut equations, limit)?;
            let crossed = roots.search(integrator, &mut equations)?.is_some();
            Ok(crossed || (outcome == Outcome::Reached && limit == next_event))
        };
        let event = go().map_err(|failure| self.failed(&failure))?;
        let evaluations = self.course.integrator.counters().evaluations - before;
        self.hold_efforts(ends);
        Ok((event, evaluations))
    }

    /// Efforts stay as the step left them, for outputs and events.
    fn hold_efforts(&mut self, ends: &[LineEnd<'_>]) {
        self.course.now = self.course.integrator.time();
        if ends.is_empty() {
            return;
        }
        let (integrator, _, mut equations) = self.parts(ends);
        equations.look(integrator.time(), integrator.state());
        for end in ends {
            self.course.held[end.effort] = Segment::constant(self.work.u[end.effort]);
        }
    }

    /// Steps of equal size to a limit, as many as belong to that part of the window, by the classical method.
    fn fixed_steps(&mut self, limit: f64, size: f64, micro_steps: usize, ends: &[LineEnd<'_>]) -> u64 {
        let from = self.course.integrator.time();
        let share = ((limit - from) / size).min(1.0) * micro_steps as f64;
        let (steps, rest) = ((share - NEAR).ceil().max(1.0) as u64, limit - from);
        let h = rest / steps as f64;
        let [mut x, mut stage] = [&mut self.work.x, &mut self.work.along].map(std::mem::take);
        let mut slopes = std::mem::take(&mut self.work.slopes);
        let (integrator, _, mut equations) = self.parts(ends);
        x.copy_from_slice(integrator.state());
        let n = x.len();
        for step in 0..steps {
            let t = from + step as f64 * h;
            let [k1, k2, k3, k4] = &mut slopes;
            equations.slopes(t, &x, k1);
            (0..n).for_each(|i| stage[i] = x[i] + h / 2.0 * k1[i]);
            equations.slopes(t + h / 2.0, &stage[..n], k2);
            (0..n).for_each(|i| stage[i] = x[i] + h / 2.0 * k2[i]);
            equations.slopes(t + h / 2.0, &stage[..n], k3);
            (0..n).for_each(|i| stage[i] = x[i] + h * k3[i]);
            let end = if step + 1 == steps { limit } else { from + (step + 1) as f64 * h };
            equations.slopes(end, &stage[..n], k4);
            (0..n).for_each(|i| x[i] += h / 6.0 * (k1[i] + 2.0 * k2[i] + 2.0 * k3[i] + k4[i]));
        }
        integrator.restart(limit, &x);
        (self.work.x, self.work.along, self.work.slopes) = (x, stage, slopes);
        4 * steps
    }

    /// From event to event up to the end of the window, or one step where that is enough. An event that others are to
    /// hear of at once is not passed; one at the end is left for later, so that a step which is taken back never holds it.
    fn go(&mut self, window: &Window, inputs: &Inputs<'_>) -> Result<u64, SimulatorError> {
        let (to, size) = (window.to.seconds(), window.size);
        let mut evaluations = 0;
        if inputs.stepwise {
            // What lies behind the window is the next step's: a limit there would make this one shorter.
            self.course.integrator.set_largest(size);
            let stop = self.setup.stop.map_or(f64::MAX, Time::seconds);
            let limit = if self.micro_steps.is_some() { to } else { stop };
            let (event, asked) = self.inner_step(limit.min(self.course.next_event), size, inputs.ends)?;
            self.course.due = event;
            return Ok(asked);
        }
        self.course.integrator.set_largest(f64::INFINITY);
        let from = self.course.integrator.time();
        let (mut last, mut crowd) = (f64::NEG_INFINITY, 0);
        while self.course.integrator.time() < to {
            let limit = to.min(self.course.next_event);
            let (found, asked) = self.inner_step(limit, size, inputs.ends)?;
            evaluations += asked;
            let time = self.course.integrator.time();
            // The second time round rounding may put the event a little behind the end, where nobody finds it.
            let met = time == to && to == self.met;
            if !found && !met {
                continue;
            }
            if to - time <= NEAR * size {
                if time < to {
                    self.work.x.copy_from_slice(self.course.integrator.state());
                    self.course.integrator.restart(to, &self.work.x);
                    self.course.now = to;
                }
                self.course.due = true;
                return Ok(evaluations);
            }
            if self.setup.meets && time - from > NEAR * size {
                self.met = time;
                return Ok(evaluations);
            }
            self.event(time)?;
            crowd = if time - last <= 1e-12 * time.abs().max(size) { crowd + 1 } else { 0 };
            last = time;
            if crowd > CROWD {
                let words =
                    format!("events accumulate at t = {time} s: {CROWD} of them, and time does not go on");
                return Err(SimulatorError::new("event", words));
            }
        }
        Ok(evaluations)
    }

    /// Where it is, with the inputs there.
    fn present(&mut self) -> (&dyn Hybrid, Point<'_>) {
        let Integrated { model, course, work: Work { u, .. }, .. } = self;
        for (u, segment) in u.iter_mut().zip(&course.held) {
            *u = segment.at(course.now - course.anchor);
        }
        (&**model, Point { t: course.now, x: course.integrator.state(), m: &course.memory, u })
    }

    /// How derivatives and outputs change along each of some states and inputs, at the inputs in `work.u`.
    fn tangents(&mut self, columns: std::ops::Range<usize>, mut each: impl FnMut(usize, &[f64], &[f64])) {
        let Integrated { model, course, work: Work { u, along, change, .. }, names, .. } = self;
        let point = Point { t: course.now, x: course.integrator.state(), m: &course.memory, u };
        for column in columns {
            along.fill(0.0);
            along[column] = 1.0;
            let (x, u) = along.split_at(names.len());
            let (dx, y) = change.split_at_mut(names.len());
            model.tangent(&point, &Direction { x, u }, dx, y);
            each(column, dx, y);
        }
    }
}

impl Simulator for Integrated {
    fn interface(&self) -> &Interface {
        &self.interface
    }

    fn enter(&mut self, setup: &Setup) -> Result<(), SimulatorError> {
        self.setup = *setup;
        self.begin(setup.start.seconds());
        Ok(())
    }

    fn settle(&mut self, at: Time, inputs: &Inputs<'_>) -> Result<(), SimulatorError> {
        self.take(at.seconds(), inputs).map(|_| ())
    }

    fn advance(
        &mut self,
        window: Window,
        inputs: &Inputs<'_>,
        _trail: &mut Trail<'_>,
    ) -> Result<Reached, SimulatorError> {
        if self.course.tuning.differs(inputs.ends) {
            self.course.integrator.refresh_jacobian();
            self.course.integrator.renew();
        }
        let asked = self.take(window.from.seconds(), inputs)?;
        let evaluations = asked + self.go(&window, inputs)?;
        let Course { now, next_event, due, .. } = &self.course;
        Ok(Reached {
            to: Time::new(*now).unwrap_or(window.to),
            next_event: Time::new(*next_event).filter(|_| next_event.is_finite()),
            event: *due,
            evaluations,
        })
    }

    fn outputs(&mut self, out: &mut Outputs<'_>) -> Result<(), SimulatorError> {
        let (model, point) = self.present();
        model.outputs(&point, out.values);
        Ok(())
    }

    fn next_event(&mut self) -> Result<Option<Time>, SimulatorError> {
        let next = self.course.next_event;
        Ok(Time::new(next).filter(|_| next.is_finite()))
    }

    fn save(&mut self, slot: Slot) -> Result<(), SimulatorError> {
        self.saved[slot.index()].copy_from(&self.course);
        self.filled[slot.index()] = true;
        Ok(())
    }

    fn restore(&mut self, slot: Slot) -> Result<(), SimulatorError> {
        if !self.filled[slot.index()] {
            return Err(SimulatorError::new("restore", format!("nothing was saved as {slot:?}")));
        }
        self.course.copy_from(&self.saved[slot.index()]);
        Ok(())
    }

    /// Numbers, whether an event is due, then the integrator and the indicators with their lengths.
    fn freeze(&mut self, into: &mut Vec<u8>) -> Result<(), SimulatorError> {
        for number in self.course.numbers() {
            into.extend(number.to_le_bytes());
        }
        into.push(u8::from(self.course.due));
        let mut pieces = [const { Vec::new() }; 2];
        self.course.integrator.freeze(&mut pieces[0]);
        self.course.roots.freeze(&mut pieces[1]);
        for piece in &pieces {
            into.extend((piece.len() as u64).to_le_bytes());
            into.extend(piece);
        }
        Ok(())
    }

    fn thaw(&mut self, from: &[u8]) -> Result<(), SimulatorError> {
        let foreign = || {
            let words = format!("{} bytes are no state of this model with these parameters", from.len());
            SimulatorError::new("thaw", words)
        };
        let mut course = self.course.clone();
        let mut rest = from;
        for number in course.numbers() {
            let (bytes, behind) = rest.split_first_chunk().ok_or_else(foreign)?;
            (*number, rest) = (f64::from_le_bytes(*bytes), behind);
        }
        let (due, mut rest) = rest.split_first().ok_or_else(foreign)?;
        let mut pieces = [&[][..]; 2];
        for piece in &mut pieces {
            let (length, behind) = rest.split_first_chunk().ok_or_else(foreign)?;
            let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| foreign())?;
            (*piece, rest) = behind.split_at_checked(length).ok_or_else(foreign)?;
        }
        course.integrator.thaw(pieces[0]).map_err(|_| foreign())?;
        course.roots.thaw(pieces[1]).map_err(|_| foreign())?;
        if *due > 1 || !rest.is_empty() {
            return Err(foreign());
        }
        course.due = *due == 1;
        self.course.copy_from(&course);
        Ok(())
    }

    /// Equations are built anew, and what is in the course stays; the integrator begins again with them.
    fn tune(&mut self, parameter: usize, value: f64) -> Result<(), SimulatorError> {
        self.model = Recipe::rebuilt(&mut self.recipe, &self.interface, parameter, value)?;
        // It may announce another event now.
        let at = self.course.now;
        self.event(at)
    }

    fn jacobian(&mut self, into: &mut [f64]) -> Result<(), SimulatorError> {
        let (states, inputs) = (self.names.len(), self.interface.inputs.len());
        self.present();
        self.tangents(states..states + inputs, |column, _, y| {
            for (output, y) in y.iter().enumerate() {
                into[output * inputs + column - states] = *y;
            }
        });
        Ok(())
    }

    fn states(&mut self) -> Option<&mut dyn States> {
        Some(self)
    }

    fn dynamics(&mut self) -> Option<&mut dyn Dynamics> {
        Some(self)
    }
}

impl Dynamics for Integrated {
    fn present(&mut self, into: &mut Present<'_>) -> Result<(), SimulatorError> {
        into.x.copy_from_slice(self.course.integrator.state());
        self.motion(into.x, into.u, into.f, into.g)
    }

    fn motion(&mut self, x: &[f64], u: &[f64], f: &mut [f64], g: &mut [f64]) -> Result<(), SimulatorError> {
        let point = Point { t: self.course.now, x, m: &self.course.memory, u };
        self.model.derivatives(&point, f);
        self.model.outputs(&point, g);
        Ok(())
    }

    fn matrices(&mut self, u: &[f64], into: &mut Matrices<'_>) -> Result<(), SimulatorError> {
        self.work.u.copy_from_slice(u);
        let columns = self.names.len() + u.len();
        self.tangents(0..columns, |column, dx, y| {
            into.set_column(column, dx.iter().copied(), y.iter().copied());
        });
        Ok(())
    }
}

impl States for Integrated {
    fn count(&self) -> usize {
        self.names.len()
    }

    fn get(&mut self, x: &mut [f64]) {
        x.copy_from_slice(self.course.integrator.state());
    }

    fn set(&mut self, x: &[f64]) {
        let at = self.course.now;
        self.course.integrator.restart(at, x);
    }
}
