//! What a unit with an event mode (FMI 3.0) has to do when: events that it announced or asked for, clocks that tick, and
//! inputs that change only at events. What is due goes back and forth with the unit's state.

use cosimo_core::{SimulatorError, Slot};

use crate::description::{Causality, Clock, Description, Interval, Kind};
use crate::exchange::settle_events;
use crate::instance::Stepping;
use crate::ports::{Group, Ports};

/// A clock that the importer lets tick.
#[derive(Debug, Clone)]
struct Timer {
    reference: u32,
    clock: Clock,
}

/// What changes in the course of a run.
#[derive(Debug, Clone, Default)]
struct Course {
    /// An event is to be handled at the present instant.
    due: bool,
    /// Infinite where none is announced.
    announced: f64,
    /// Per timer: when it ticks next (infinite if it does not), its interval, and how many ticks were counted since when.
    next: Vec<f64>,
    period: Vec<f64>,
    since: Vec<f64>,
    count: Vec<f64>,
    /// Inputs that change only at events, as the unit knows them.
    told: Vec<f64>,
    /// Clocks that the unit gives, and values that are there only while a clock ticks.
    rung: Vec<f64>,
    clocked: Vec<f64>,
    /// Texts and bytes that have arrived, and whether the unit has yet to be told.
    parcels: Vec<(Vec<u8>, bool)>,
}

impl Course {
    fn numbers(&mut self) -> impl Iterator<Item = &mut f64> {
        let Course { announced, next, period, since, count, told, rung, clocked, .. } = self;
        std::iter::once(announced)
            .chain(next)
            .chain(period)
            .chain(since)
            .chain(count)
            .chain(told)
            .chain(rung)
            .chain(clocked)
    }

    fn copy_from(&mut self, other: &mut Course) {
        self.due = other.due;
        self.parcels.clone_from_slice(&other.parcels);
        self.numbers().zip(other.numbers()).for_each(|(to, from)| *to = *from);
    }
}

#[derive(Debug)]
pub(crate) struct Agenda {
    timers: Vec<Timer>,
    /// Ports of inputs that change only at events.
    discrete: Vec<usize>,
    /// Ports of clocks that others give to the unit, with their places in `discrete`.
    clocks_in: Vec<(u32, usize)>,
    clocks_out: Vec<(u32, usize)>,
    /// Ports of values that are there only while a clock ticks.
    clocked_ports: Vec<usize>,
    now: Course,
    saved: Vec<Course>,
    /// Room for references of clocks and whether they tick.
    active: Vec<u32>,
    flags: Vec<u8>,
    intervals: (Vec<f64>, Vec<i32>),
    /// The event at which the last step stopped; everybody is brought there. Not rewound.
    pub(crate) met: f64,
}

impl Agenda {
    pub(crate) fn new(description: &Description, ports: &Ports) -> Agenda {
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
        let now = Course {
            due: false,
            announced: f64::INFINITY,
            next: many(f64::INFINITY, timers.len()),
            period: many(f64::NAN, timers.len()),
            since: many(0.0, timers.len()),
            count: many(0.0, timers.len()),
            told: discrete.iter().map(starts).collect(),
            rung: many(0.0, ports.clocks_out.len()),
            clocked: many(0.0, clocked_ports.len()),
            parcels: vec![(Vec::new(), false); ports.parcels_in.len()],
        };
        Agenda {
            discrete,
            clocks_in,
            clocks_out: ports.clocks_out.clone(),
            clocked_ports,
            saved: vec![now.clone(); Slot::COUNT],
            now,
            active: Vec::with_capacity(clocks),
            flags: vec![0; clocks],
            intervals: (many(0.0, timers.len()), vec![0; timers.len()]),
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

    /// Clocks are active for an instant only.
    pub(crate) fn move_on(&mut self) {
        self.now.rung.fill(0.0);
    }

    /// Whether an input changed that the unit takes at events only. A clock counts where it begins to tick.
    pub(crate) fn hears(&self, value: impl Fn(usize) -> f64) -> bool {
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

    /// A text or bytes that the unit knows.
    pub(crate) fn told_parcel(&mut self, port: usize, content: &[u8]) {
        self.take_parcel(port, content);
        self.now.parcels[port].1 = false;
    }

    /// The beginning: clocks get their first ticks.
    pub(crate) fn begin<I: Stepping>(
        &mut self,
        instance: &mut I,
        ports: &mut Ports,
        at: f64,
        value: impl Fn(usize) -> f64,
    ) -> Result<(), SimulatorError> {
        for (place, Timer { clock, .. }) in self.timers.iter().enumerate() {
            let Some(period) = clock.period.filter(|_| clock.interval.is_periodic()) else { continue };
            self.now.period[place] = period;
            self.now.since[place] = at + clock.shift;
            self.now.next[place] = at + clock.shift;
        }
        self.handle(instance, ports, at, value, true)
    }

    /// Event mode at an instant, until nothing changes any more; then back to step mode.
    pub(crate) fn handle<I: Stepping>(
        &mut self,
        instance: &mut I,
        ports: &mut Ports,
        at: f64,
        value: impl Fn(usize) -> f64,
        inside: bool,
    ) -> Result<(), SimulatorError> {
        if !inside {
            instance.enter_event_mode()?;
        }
        self.active.clear();
        let late = at + 1e-9 * at.abs().max(1e-3);
        for (timer, next) in self.timers.iter().zip(&self.now.next) {
            if *next <= late {
                self.active.push(timer.reference);
            }
        }
        for (reference, place) in &self.clocks_in {
            if self.rises(*place, &value) {
                self.active.push(*reference);
            }
        }
        if !self.active.is_empty() {
            let flags = &mut self.flags[..self.active.len()];
            flags.fill(1);
            instance.set_clocks(&self.active, flags)?;
        }
        for group in &mut ports.inputs {
            if !group.clocks.is_empty() && !group.clocks.iter().any(|clock| self.active.contains(clock)) {
                continue;
            }
            for (place, port) in group.values.iter_mut().zip(&group.ports) {
                *place = value(*port);
            }
            instance.set(group.kind, &group.references, &group.values)?;
        }
        for (told, port) in self.now.told.iter_mut().zip(&self.discrete) {
            *told = value(*port);
        }
        for ((content, new), (kind, reference)) in self.now.parcels.iter_mut().zip(&ports.parcels_in) {
            if std::mem::take(new) {
                instance.set_parcel(*kind, *reference, content)?;
            }
        }
        for ((reference, _), rung) in self.clocks_out.iter().zip(&mut self.now.rung) {
            let flag = &mut self.flags[..1];
            instance.get_clocks(&[*reference], flag)?;
            if flag[0] != 0 {
                *rung = 1.0;
                self.active.push(*reference);
            }
        }
        self.read_clocked(instance, ports)?;
        self.now.announced = settle_events(instance, at)?.1;
        self.count_on(instance, at, late)?;
        instance.enter_step_mode()?;
        self.now.due = false;
        Ok(())
    }

    /// A parameter changes, which is an event of its own.
    pub(crate) fn tune<I: Stepping>(
        &mut self,
        instance: &mut I,
        kind: Kind,
        reference: u32,
        value: f64,
    ) -> Result<(), SimulatorError> {
        instance.enter_event_mode()?;
        instance.set(kind, &[reference], &[value])?;
        // Whatever was announced before, the unit says it anew.
        self.now.announced = settle_events(instance, f64::NEG_INFINITY)?.1;
        instance.enter_step_mode()
    }

    /// Values that are there because their clock ticks.
    fn read_clocked<I: Stepping>(
        &mut self,
        instance: &mut I,
        ports: &mut Ports,
    ) -> Result<(), SimulatorError> {
        let mut first = 0;
        for Group { kind, references, values, clocks, .. } in &mut ports.outputs {
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

    /// When clocks that ticked tick again, and those that the unit has just set.
    fn count_on<I: Stepping>(&mut self, instance: &mut I, at: f64, late: f64) -> Result<(), SimulatorError> {
        for (place, Timer { reference, clock }) in self.timers.iter().enumerate() {
            let ticked = self.now.next[place] <= late;
            if clock.interval.is_periodic() && !self.now.period[place].is_nan() {
                if ticked {
                    self.now.count[place] += 1.0;
                    self.now.next[place] =
                        self.now.since[place] + self.now.count[place] * self.now.period[place];
                }
                continue;
            }
            if ticked {
                self.now.next[place] = f64::INFINITY;
            }
            let (intervals, told) = (&mut self.intervals.0[..1], &mut self.intervals.1[..1]);
            instance.intervals(&[*reference], intervals, told)?;
            // 0 is not yet known, 1 as before, 2 new.
            let (interval, new) = (intervals[0], told[0] == 2);
            if clock.interval.is_periodic() {
                if told[0] > 0 {
                    self.now.period[place] = interval;
                    self.now.since[place] = at + clock.shift;
                    self.now.next[place] = at + clock.shift;
                }
            } else if new || (ticked && clock.interval == Interval::Changing && told[0] > 0) {
                if !(interval >= 0.0 && interval.is_finite()) {
                    let words = format!("a clock is to tick in {interval} s");
                    return Err(SimulatorError::new("fmi3GetIntervalDecimal", words));
                }
                self.now.next[place] = at + interval;
            }
        }
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

    pub(crate) fn freeze(&mut self, into: &mut Vec<u8>) {
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
    pub(crate) fn thaw<'a>(&mut self, from: &'a [u8]) -> Option<&'a [u8]> {
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

impl Interval {
    fn is_periodic(self) -> bool {
        matches!(self, Interval::Constant | Interval::Fixed | Interval::Calculated | Interval::Tunable)
    }
}
