//! What an FMU with an event mode (FMI 3.0) has to do when: events that it announced or asked for, clocks that tick, and
//! inputs that change only at events. What is due goes back and forth with the FMU's state.

use cosimo_core::{SimulatorError, Slot};

use crate::description::{Causality, Clock, Description, Interval, VariableType};
use crate::instance::{CoSimulationInstance, IntervalQualifier};
use crate::model_exchange::{ROUNDS, announced, settle_events, unsettled};
use crate::ports::{PortGroup, Ports};

/// A clock that the importer lets tick.
#[derive(Debug, Clone)]
struct Timer {
    reference: u32,
    clock: Clock,
}

impl Timer {
    /// Its interval is read from the FMU.
    fn is_asked(&self) -> bool {
        self.clock.period.is_none() || !self.clock.interval.is_periodic()
    }
}

/// What changes in the course of a run.
#[derive(Debug, Clone, Default)]
struct EventModeState {
    /// An event is to be handled at the present instant.
    due: bool,
    /// The present instant.
    time: f64,
    /// Infinite where none is announced.
    announced: f64,
    /// Per timer: when it ticks next (infinite if it does not), its interval, and how many ticks were counted since when.
    next: Vec<f64>,
    period: Vec<f64>,
    since: Vec<f64>,
    count: Vec<f64>,
    /// Inputs that change only at events, as last set.
    told: Vec<f64>,
    /// Clocks that the FMU gives, and values that are there only while a clock ticks.
    rung: Vec<f64>,
    clocked: Vec<f64>,
    /// Strings and binaries that have arrived, and whether they have yet to be set.
    parcels: Vec<(Vec<u8>, bool)>,
}

impl EventModeState {
    fn numbers(&mut self) -> impl Iterator<Item = &mut f64> {
        let EventModeState { time, announced, next, period, since, count, told, rung, clocked, .. } = self;
        [time, announced]
            .into_iter()
            .chain(next)
            .chain(period)
            .chain(since)
            .chain(count)
            .chain(told)
            .chain(rung)
            .chain(clocked)
    }

    fn copy_from(&mut self, other: &mut EventModeState) {
        self.due = other.due;
        self.parcels.clone_from_slice(&other.parcels);
        self.numbers().zip(other.numbers()).for_each(|(to, from)| *to = *from);
    }
}

#[derive(Debug)]
pub(crate) struct EventMode {
    timers: Vec<Timer>,
    /// Ports of inputs that change only at events.
    discrete: Vec<usize>,
    /// Ports of clocks that others give to the FMU, with their places in `discrete`.
    clocks_in: Vec<(u32, usize)>,
    clocks_out: Vec<(u32, usize)>,
    /// Ports of values that are there only while a clock ticks.
    clocked_ports: Vec<usize>,
    now: EventModeState,
    saved: Vec<EventModeState>,
    /// Room for references of clocks and whether they tick.
    active: Vec<u32>,
    flags: Vec<u8>,
    /// The event at which the last step stopped; all simulators are brought there. Not rolled back.
    pub(crate) met: f64,
}

impl EventMode {
    pub(crate) fn new(description: &Description, ports: &Ports) -> EventMode {
        let timed = |clock: &Clock| clock.interval != Interval::Triggered;
        let timers: Vec<Timer> = description
            .variables
            .iter()
            .filter(|variable| variable.causality == Causality::Input)
            .filter_map(|variable| {
                let clock = variable.clock.filter(timed)?;
                Some(Timer { reference: variable.reference, clock })
            })
            .collect();
        let mut discrete: Vec<usize> = ports
            .inputs
            .iter()
            .filter(|group| group.discrete)
            .flat_map(|group| group.ports.clone())
            .collect();
        let clocks_in: Vec<(u32, usize)> = ports
            .clocks_in
            .iter()
            .map(|(reference, port)| {
                discrete.push(*port);
                (*reference, discrete.len() - 1)
            })
            .collect();
        let clocked_ports: Vec<usize> = ports
            .outputs
            .iter()
            .filter(|group| !group.clocks.is_empty())
            .flat_map(|group| group.ports.clone())
            .collect();
        let clocks = timers.len() + clocks_in.len() + ports.clocks_out.len();
        let many = |value: f64, count: usize| vec![value; count];
        let starts = |port: &usize| ports.interface.inputs[*port].start.unwrap_or(0.0);
        let now = EventModeState {
            due: false,
            time: 0.0,
            announced: f64::INFINITY,
            next: many(f64::INFINITY, timers.len()),
            period: many(f64::NAN, timers.len()),
            since: many(0.0, timers.len()),
            count: many(0.0, timers.len()),
            told: discrete.iter().map(starts).collect(),
            rung: many(0.0, ports.clocks_out.len()),
            clocked: many(0.0, clocked_ports.len()),
            parcels: vec![(Vec::new(), false); ports.byte_inputs.len()],
        };
        EventMode {
            discrete,
            clocks_in,
            clocks_out: ports.clocks_out.clone(),
            clocked_ports,
            saved: vec![now.clone(); Slot::COUNT],
            now,
            active: Vec::with_capacity(clocks),
            flags: vec![0; clocks],
            timers,
            met: f64::NAN,
        }
    }

    /// The next instant at which there is something to do for certain.
    pub(crate) fn next(&self) -> f64 {
        self.now.next.iter().copied().fold(self.now.announced, f64::min)
    }

    pub(crate) fn is_due(&self) -> bool {
        self.now.due
    }

    pub(crate) fn set_due(&mut self) {
        self.now.due = true;
    }

    /// Whether a clock ticks at an instant, or so close to it that a step between would be nothing but rounding.
    pub(crate) fn ticks_at(&self, at: f64) -> bool {
        self.now.next.iter().any(|next| is_due(*next, at))
    }

    /// Clocks are active for an instant only.
    pub(crate) fn move_on(&mut self) {
        self.now.rung.fill(0.0);
    }

    /// The FMU has come to an instant.
    pub(crate) fn stand(&mut self, at: f64) {
        self.now.time = at;
    }

    /// Whether an input changed that the FMU takes at events only. A clock counts where it begins to tick.
    pub(crate) fn has_new_inputs(&self, value: impl Fn(usize) -> f64) -> bool {
        let clocks = self.clocks_in.len();
        let plain = self.discrete.len() - clocks;
        self.now.parcels.iter().any(|(_, new)| *new)
            || (0..plain).any(|place| value(self.discrete[place]) != self.now.told[place])
            || (plain..plain + clocks).any(|place| self.rises(place, &value))
    }

    fn rises(&self, place: usize, value: impl Fn(usize) -> f64) -> bool {
        value(self.discrete[place]) > 0.5 && self.now.told[place] <= 0.5
    }

    /// A clock that no longer ticks at its source is to tick again the next time it does.
    pub(crate) fn listen(&mut self, value: impl Fn(usize) -> f64) {
        for (_, place) in &self.clocks_in {
            self.now.told[*place] = value(self.discrete[*place]);
        }
    }

    /// A text or bytes, for the next event.
    pub(crate) fn take_parcel(&mut self, port: usize, content: &[u8]) {
        let (known, new) = &mut self.now.parcels[port];
        if known != content {
            known.clear();
            known.extend_from_slice(content);
            *new = true;
        }
    }

    /// A string or binary that has been set.
    pub(crate) fn mark_bytes_set(&mut self, port: usize, content: &[u8]) {
        self.take_parcel(port, content);
        self.now.parcels[port].1 = false;
    }

    /// While the FMU is still initialised: clocks get their first ticks. What the description does not say is asked for
    /// here (FMI 3.0.2, section 2.2.9.2, "Clock Types"); shifts may be asked for nowhere else.
    pub(crate) fn prepare<I: CoSimulationInstance>(
        &mut self,
        instance: &mut I,
        at: f64,
    ) -> Result<(), SimulatorError> {
        self.now.time = at;
        for (place, timer) in self.timers.iter().enumerate() {
            let Timer { reference, clock } = timer;
            let periodic = clock.interval.is_periodic();
            let (interval, shift) = if !timer.is_asked() {
                (clock.period, clock.shift)
            } else {
                let (interval, told) = instance.interval(*reference)?;
                let shift = if periodic { instance.shift(*reference)? } else { None };
                (
                    Some(interval).filter(|_| told != IntervalQualifier::NotYetKnown),
                    shift.unwrap_or(clock.shift),
                )
            };
            let Some(interval) = interval else { continue };
            check(interval, periodic)?;
            if !shift.is_finite() || shift < 0.0 {
                let words = format!("invalid shift of a clock: {shift} s");
                return Err(SimulatorError::new("fmi3GetShiftDecimal", words));
            }
            if periodic {
                self.now.period[place] = interval;
                self.now.since[place] = at + shift;
                self.now.next[place] = at + shift;
            } else {
                self.now.next[place] = at + interval;
            }
        }
        Ok(())
    }

    /// Event mode at an instant, until nothing changes any more; then back to step mode. Returns the function by which the
    /// FMU asks to end the simulation; it stays in event mode then.
    pub(crate) fn handle<I: CoSimulationInstance>(
        &mut self,
        instance: &mut I,
        ports: &mut Ports,
        at: f64,
        value: impl Fn(usize) -> f64,
        inside: bool,
    ) -> Result<Option<&'static str>, SimulatorError> {
        if !inside {
            instance.enter_event_mode()?;
        }
        self.now.time = at;
        self.active.clear();
        self.gather(at);
        for (reference, place) in &self.clocks_in {
            if self.rises(*place, &value) {
                self.active.push(*reference);
            }
        }
        self.activate(instance)?;
        for group in &mut ports.inputs {
            if !group.clocks.is_empty() && !group.clocks.iter().any(|clock| self.active.contains(clock)) {
                continue;
            }
            group.set(instance, &value)?;
        }
        for (told, port) in self.now.told.iter_mut().zip(&self.discrete) {
            *told = value(*port);
        }
        for ((content, new), (kind, reference)) in self.now.parcels.iter_mut().zip(&ports.byte_inputs) {
            if std::mem::take(new) {
                instance.set_parcel(*kind, *reference, content)?;
            }
        }
        for _ in 0..ROUNDS {
            for ((reference, _), rung) in self.clocks_out.iter().zip(&mut self.now.rung) {
                let flag = &mut self.flags[..1];
                instance.get_clocks(&[*reference], flag)?;
                if flag[0] != 0 {
                    *rung = 1.0;
                    self.active.push(*reference);
                }
            }
            self.read_clocked(instance, ports)?;
            let update = instance.update()?;
            self.active.clear();
            if update.ended.is_some() {
                self.now.due = false;
                return Ok(update.ended);
            }
            if update.again {
                continue;
            }
            self.now.announced = announced(&update, at)?;
            self.count_on(instance, at)?;
            // An interval of 0 is another tick at the same instant.
            self.gather(at);
            if self.active.is_empty() {
                instance.enter_step_mode()?;
                self.now.due = false;
                return Ok(None);
            }
            self.activate(instance)?;
        }
        Err(unsettled(at))
    }

    /// Adds the timers that are due.
    fn gather(&mut self, at: f64) {
        for (timer, next) in self.timers.iter().zip(&self.now.next) {
            if is_due(*next, at) {
                self.active.push(timer.reference);
            }
        }
    }

    fn activate<I: CoSimulationInstance>(&mut self, instance: &mut I) -> Result<(), SimulatorError> {
        if self.active.is_empty() {
            return Ok(());
        }
        let flags = &mut self.flags[..self.active.len()];
        flags.fill(1);
        instance.set_clocks(&self.active, flags)
    }

    /// A parameter changes, which is an event of its own. No clock ticks in it: what was due here has been handled.
    pub(crate) fn tune<I: CoSimulationInstance>(
        &mut self,
        instance: &mut I,
        kind: VariableType,
        reference: u32,
        value: f64,
    ) -> Result<(), SimulatorError> {
        let at = self.now.time;
        instance.enter_event_mode()?;
        instance.set(kind, &[reference], &[value])?;
        let (settled, _) = settle_events(instance, at)?;
        if let Some(function) = settled.ended {
            return Err(SimulatorError::end(function));
        }
        self.now.announced = settled.next_event;
        for place in 0..self.timers.len() {
            if self.timers[place].clock.interval != Interval::Changing {
                self.ask_again(instance, place, at)?;
            }
        }
        instance.enter_step_mode()
    }

    /// Values that are there because their clock ticks.
    fn read_clocked<I: CoSimulationInstance>(
        &mut self,
        instance: &mut I,
        ports: &mut Ports,
    ) -> Result<(), SimulatorError> {
        let mut first = 0;
        for PortGroup { kind, references, values, clocks, .. } in &mut ports.outputs {
            if clocks.is_empty() {
                continue;
            }
            let into = &mut self.now.clocked[first..first + values.len()];
            first += values.len();
            if clocks.iter().any(|clock| self.active.contains(clock)) {
                instance.get(*kind, references, into)?;
            }
        }
        Ok(())
    }

    /// When clocks that ticked tick again, and those that the FMU has just set.
    fn count_on<I: CoSimulationInstance>(&mut self, instance: &mut I, at: f64) -> Result<(), SimulatorError> {
        for place in 0..self.timers.len() {
            let EventModeState { next, period, since, count, .. } = &mut self.now;
            let Timer { reference, clock } = &self.timers[place];
            let ticked = is_due(next[place], at);
            if ticked && clock.interval.is_periodic() {
                count[place] += 1.0;
                next[place] = since[place] + count[place] * period[place];
            } else if ticked {
                next[place] = f64::INFINITY;
            }
            if clock.interval == Interval::Changing {
                // Known as soon as it ticked, and unchangeable until it ticks again.
                if next[place] == f64::INFINITY {
                    let (interval, told) = instance.interval(*reference)?;
                    if told != IntervalQualifier::NotYetKnown {
                        check(interval, false)?;
                        next[place] = at + interval;
                    }
                }
                continue;
            }
            self.ask_again(instance, place, at)?;
        }
        Ok(())
    }

    /// Intervals that may be new at any event: the new one counts from there.
    fn ask_again<I: CoSimulationInstance>(
        &mut self,
        instance: &mut I,
        place: usize,
        at: f64,
    ) -> Result<(), SimulatorError> {
        let timer = &self.timers[place];
        let EventModeState { next, period, since, count, .. } = &mut self.now;
        let periodic = timer.clock.interval.is_periodic();
        let unknown = periodic && period[place].is_nan();
        let asked = match timer.clock.interval {
            Interval::Countdown => true,
            Interval::Tunable => timer.is_asked(),
            _ => unknown,
        };
        if !asked {
            return Ok(());
        }
        let (interval, told) = instance.interval(timer.reference)?;
        if told == IntervalQualifier::NotYetKnown || (told == IntervalQualifier::Unchanged && !unknown) {
            return Ok(());
        }
        check(interval, periodic)?;
        if !periodic {
            next[place] = at + interval;
            return Ok(());
        }
        (period[place], since[place], count[place]) = (interval, at, 1.0);
        next[place] = at + interval;
        Ok(())
    }

    /// Clocks that ring, and values that were there when they did.
    pub(crate) fn show(&self, values: &mut [f64]) {
        for ((_, port), rung) in self.clocks_out.iter().zip(&self.now.rung) {
            values[*port] = *rung;
        }
        for (port, value) in self.clocked_ports.iter().zip(&self.now.clocked) {
            values[*port] = *value;
        }
    }

    pub(crate) fn save(&mut self, slot: Slot) {
        self.saved[slot.index()].copy_from(&mut self.now);
    }

    pub(crate) fn restore(&mut self, slot: Slot) {
        self.now.copy_from(&mut self.saved[slot.index()]);
    }

    pub(crate) fn serialize(&mut self, into: &mut Vec<u8>) {
        into.push(u8::from(self.now.due));
        let numbers: Vec<f64> = self.now.numbers().map(|number| *number).collect();
        into.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
        for (content, new) in &self.now.parcels {
            into.push(u8::from(*new));
            into.extend((content.len() as u64).to_le_bytes());
            into.extend(content);
        }
    }

    /// Returns what follows.
    pub(crate) fn deserialize<'a>(&mut self, from: &'a [u8]) -> Option<&'a [u8]> {
        let (due, mut rest) = from.split_first()?;
        for number in self.now.numbers() {
            let (bytes, behind) = rest.split_first_chunk()?;
            *number = f64::from_le_bytes(*bytes);
            rest = behind;
        }
        self.now.due = *due != 0;
        for (content, new) in &mut self.now.parcels {
            let (flag, behind) = rest.split_first()?;
            let (length, behind) = behind.split_first_chunk()?;
            let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
            let (bytes, behind) = behind.split_at_checked(length)?;
            (*new, rest) = (*flag != 0, behind);
            content.clear();
            content.extend_from_slice(bytes);
        }
        Some(rest)
    }
}

/// Whether a tick belongs to an instant, as far as sums of intervals can tell.
fn is_due(next: f64, at: f64) -> bool {
    next <= at + 1e-9 * at.abs().max(1e-3)
}

/// Periodic clocks would tick for ever at one instant.
fn check(interval: f64, periodic: bool) -> Result<(), SimulatorError> {
    if interval.is_finite() && interval >= 0.0 && !(periodic && interval == 0.0) {
        return Ok(());
    }
    let words = format!(
        "invalid interval of a {} clock: {interval} s",
        if periodic { "periodic" } else { "countdown" }
    );
    Err(SimulatorError::new("fmi3GetIntervalDecimal", words))
}

impl Interval {
    fn is_periodic(self) -> bool {
        matches!(self, Interval::Constant | Interval::Fixed | Interval::Calculated | Interval::Tunable)
    }
}
