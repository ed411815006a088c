//! One end of a line: published and received stamps, the present delay, and its controller.
//! Source: Braun, Hällqvist & Fritzson 2023, Eq. (8) and Fig. 2.

use cosimo_core::line::{Repay, Stamp, StampInterpolation, StampTable};
use cosimo_core::method::Steadiness;
use cosimo_core::{LineEnd, Stretch};
use cosimo_system::{Impedances, LineDecl};

use crate::plan::LineSide;
use crate::state_walk::StateWalk;

pub(crate) struct EndState {
    /// Indices of the line and of the side.
    pub(crate) line: usize,
    pub(crate) side: usize,
    /// The simulator of the island, its input and its output; `place`: that output among all of the island.
    pub(crate) member: usize,
    pub(crate) place: usize,
    pub(crate) effort: usize,
    pub(crate) flow: usize,
    sign: f64,
    scale: f64,
    delay: f64,
    impedance: f64,
    common: bool,
    repay: Repay,
    /// The output with the delay factor, if the simulator controls the delay itself.
    pub(crate) owner: Option<usize>,
    /// The present delay relative to the shortest; with an `owner`, that of the last step.
    pub(crate) factor: f64,
    /// The factor of the other end at the last delivery.
    pub(crate) other: f64,
    pub(crate) own: StampTable,
    pub(crate) inbox: StampTable,
    law: Option<DelayController>,
    pub(crate) stats: EndStatistics,
    /// Published and not yet delivered, with the notice for the other end.
    pub(crate) outbox: Vec<Stamp>,
    notice: Notice,
    /// Delivered and not yet processed.
    incoming: Vec<Stamp>,
    heard: Notice,
    /// The interpolation of stamps, and the seconds for which they are kept.
    between: StampInterpolation,
    memory: f64,
    /// The effort at the start, in SI units.
    pub(crate) first_effort: f64,
    /// Energy inside of the line at the start.
    first_energy: f64,
    first_flow: f64,
}

/// Data for the other end beside stamps.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Notice {
    factor: f64,
    /// The delay was reduced.
    shrunk: bool,
    /// The time of an announced event.
    event: Option<f64>,
}

impl Notice {
    fn walk(&mut self, walk: &mut StateWalk<'_>) {
        walk.number(&mut self.factor);
        walk.flag(&mut self.shrunk);
        walk.maybe(&mut self.event);
    }
}

/// Doubles the delay while its end is steady, halves it otherwise.
struct DelayController {
    steady: Box<dyn Steadiness>,
    memory: Vec<f64>,
    trial: Vec<f64>,
    stretch: Stretch,
    linked: bool,
    announced: bool,
    rollback: bool,
    /// The last result of the steadiness criterion.
    still: bool,
    /// The delay stays short until this time, after an announced event.
    short_until: f64,
    /// An event of the other end, which no step crosses.
    expected: Option<f64>,
    /// The smallest factor announced by the other end since the last step.
    heard: f64,
}

/// Statistics of a line end.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct EndStatistics {
    /// Number of published stamps.
    pub stamps: u64,
    /// Seconds for which the end was steady.
    pub still: f64,
    /// Time integral of the delay factor.
    pub factor_time: f64,
    /// The largest delay factor.
    pub largest: f64,
    /// How often the delay was increased.
    pub grown: u64,
    /// How often the delay was reduced.
    pub shrunk: u64,
    /// Steps rolled back because the end was not steady.
    pub taken_back: u64,
    /// Energy into the line, in joules.
    pub energy: f64,
    /// Sum of its absolute values.
    pub exchanged: f64,
    /// Control of the delay was disabled: steps stayed shorter than the shortest delay.
    pub useless: bool,
}

/// Totals of a line end, for reports.
#[derive(Debug, Clone, PartialEq)]
pub struct EndTotals {
    /// Counts and energies.
    pub stats: EndStatistics,
    /// Flow into the line at the start.
    pub first_flow: f64,
    /// Mean of the delay over the run, in seconds.
    pub delay: f64,
    /// Share of the time for which the end was steady.
    pub still: f64,
    /// The simulator controls the delay itself.
    pub owned: bool,
    /// Reads beyond the newest stamp; always 0.
    pub beyond: u64,
}

impl EndState {
    pub(crate) fn new(
        (line, side): (usize, usize),
        (member, effort, flow): (usize, usize, usize),
        at: &LineSide,
        decl: &LineDecl,
        first_effort: f64,
        steady: Option<Box<dyn Steadiness>>,
        owner: Option<usize>,
    ) -> EndState {
        let law = steady.map(|steady| DelayController {
            memory: vec![0.0; steady.memory()],
            trial: vec![0.0; steady.memory()],
            steady,
            stretch: Stretch::new(decl.most[side], decl.hold),
            linked: decl.linked,
            announced: decl.announced,
            rollback: decl.rollback,
            still: false,
            short_until: f64::NEG_INFINITY,
            expected: None,
            heard: f64::INFINITY,
        });
        let longest = decl.delay * decl.most[0].max(decl.most[1]);
        let window = law.as_ref().map_or(0.0, |law| law.steady.window());
        EndState {
            line,
            side,
            member,
            place: flow,
            effort,
            flow,
            sign: at.sign,
            scale: at.scale,
            delay: decl.delay,
            impedance: decl.impedance,
            common: decl.impedances == Impedances::Common,
            repay: Repay { within: decl.repay, capacity: decl.delay / decl.impedance },
            owner,
            factor: decl.factor[side],
            other: decl.factor[1 - side],
            own: StampTable::default(),
            inbox: StampTable::default(),
            law,
            stats: EndStatistics { largest: decl.factor[side], ..EndStatistics::default() },
            outbox: Vec::new(),
            notice: Notice::default(),
            incoming: Vec::new(),
            heard: Notice::default(),
            between: decl.between,
            memory: 2.0 * longest.max(window),
            first_effort,
            first_energy: 0.0,
            first_flow: 0.0,
        }
    }

    /// The first stamp, with the flow as the output has it.
    pub(crate) fn begin(&mut self, t: f64, flow: f64) {
        let first = Stamp { t, effort: self.first_effort, flow: self.sign * flow, ..Stamp::default() };
        self.own = StampTable::new(first, self.between);
        self.inbox = StampTable::empty(self.between);
        if let Some(law) = &mut self.law {
            law.steady.start(&first, &mut law.memory);
        }
        self.first_energy = self.energy_in_transit(t);
        self.first_flow = first.flow;
        self.outbox.clear();
        self.outbox.push(first);
        self.notice.factor = self.factor;
    }

    /// The shortest delay.
    pub(crate) fn shortest(&self) -> f64 {
        self.delay
    }

    pub(crate) fn delay(&self) -> f64 {
        self.factor * self.delay
    }

    pub(crate) fn impedance(&self) -> f64 {
        // Delay and impedance grow together, so that the capacity of the line stays constant; with a common impedance no
        // energy is created where delays differ.
        let factor = if self.common { 0.5 * (self.factor + self.other) } else { self.factor };
        factor * self.impedance
    }

    /// The line for a step of the simulator from `from`: with the present delay, or with the shortest one and the largest
    /// factor for a simulator that controls it.
    pub(crate) fn view(&self, from: f64) -> LineEnd<'_> {
        match self.owner {
            None => self.stretched(from),
            Some(_) => LineEnd {
                delay: self.delay,
                impedance: self.impedance,
                most: self.allowed(from),
                ..self.stretched(from)
            },
        }
    }

    /// The largest factor for a simulator that controls the delay.
    fn allowed(&self, from: f64) -> f64 {
        self.law
            .as_ref()
            .filter(|law| from >= law.short_until)
            .map_or(1.0, |law| law.stretch.most.min(law.heard))
    }

    /// The longest step that may begin at an instant.
    pub(crate) fn longest(&self, from: f64) -> f64 {
        if self.owner.is_some() { self.allowed(from) * self.delay } else { self.delay() }
    }

    /// Whether a step may be rolled back because the delay was too long.
    pub(crate) fn may_repeat(&self) -> bool {
        self.owner.is_none() && self.law.as_ref().is_some_and(|law| law.rollback)
    }

    /// Takes over the factor of the last step from a simulator that controls it.
    pub(crate) fn follow(&mut self, from: f64, factor: f64) -> Result<(), String> {
        let most = self.allowed(from);
        if !(1.0..=most).contains(&factor) {
            return Err(format!("the delay factor is {factor}, expected 1 to {most}"));
        }
        if factor > self.factor {
            self.stats.grown += 1;
            self.stats.largest = self.stats.largest.max(factor);
        }
        if factor < self.factor {
            self.stats.shrunk += 1;
            // A factor announced by the other end is not announced back.
            let heard = self.law.as_ref().map_or(f64::INFINITY, |law| law.heard);
            self.notice.shrunk |= factor < heard;
        }
        self.factor = factor;
        Ok(())
    }

    fn stretched(&self, from: f64) -> LineEnd<'_> {
        LineEnd {
            effort: self.effort,
            flow: self.flow,
            sign: self.sign,
            scale: self.scale,
            table: &self.inbox,
            own: &self.own,
            delay: self.delay(),
            impedance: self.impedance(),
            from,
            repay: self.repay,
            most: 1.0,
        }
    }

    /// Whether all stamps for a step have arrived. A simulator that controls the delay may shorten it to the step.
    pub(crate) fn ready(&self, from: f64, to: f64) -> bool {
        let last = if self.owner.is_some() { from } else { (to - self.delay()).min(from) };
        !self.inbox.is_empty() && last <= self.inbox.newest().t
    }

    /// No step crosses this instant.
    pub(crate) fn limit(&self, from: f64) -> Option<f64> {
        self.law.as_ref().and_then(|law| law.expected).filter(|event| *event > from)
    }

    /// The effort in SI units and the flow into the line, at the end of a step that began at `from`.
    pub(crate) fn sample(&self, from: f64, t: f64, flow: f64) -> Stamp {
        let effort = self.stretched(from).effort(t, flow) / self.scale;
        Stamp { t, effort, flow: self.sign * flow, ..Stamp::default() }
    }

    /// Applies the steadiness criterion to a sample. Returns whether the step must be rolled back.
    pub(crate) fn judge(&mut self, new: &Stamp) -> bool {
        // A simulator that controls the delay has rolled back itself.
        let Some(law) = self.law.as_mut().filter(|_| self.owner.is_none()) else { return false };
        law.trial.copy_from_slice(&law.memory);
        law.still = law.steady.steady(self.own.stamps(), new, &mut law.trial);
        !law.still && self.factor > 1.0 && law.rollback
    }

    /// The step is rolled back because of this end.
    pub(crate) fn shorten_after_rollback(&mut self) {
        self.stats.taken_back += 1;
        self.shrink(Stretch::shorter(self.factor));
    }

    fn shrink(&mut self, factor: f64) {
        let factor = factor.max(1.0);
        if factor < self.factor {
            self.factor = factor;
            self.stats.shrunk += 1;
            self.notice.shrunk = true;
        }
    }

    /// Publishes the sample after `judge`; the delay changes from the next step on.
    pub(crate) fn publish(&mut self, new: Stamp) {
        let last = self.own.newest();
        let step = new.t - last.t;
        let energy = 0.5 * step * (last.effort * last.flow + new.effort * new.flow);
        self.stats.energy += energy;
        self.stats.exchanged += energy.abs();
        self.stats.factor_time += step * self.factor;
        self.stats.stamps += 1;
        let stamp = self.own.publish(new.t, new.effort, new.flow);
        self.outbox.push(stamp);
        self.own.forget_before(new.t - self.memory);
        self.inbox.forget_before(new.t - self.memory);
        let Some(law) = &mut self.law else { return };
        law.heard = f64::INFINITY;
        if self.owner.is_some() {
            // Its delay is longer only while it is steady.
            law.still = self.factor > 1.0;
        } else {
            std::mem::swap(&mut law.memory, &mut law.trial);
        }
        if law.expected.is_some_and(|event| new.t >= event) {
            law.expected = None;
            law.short_until = new.t + law.steady.window();
            if self.owner.is_none() {
                self.shrink(1.0);
            }
            return;
        }
        if law.still {
            self.stats.still += step;
        }
        if self.owner.is_some() {
            return;
        }
        let free = new.t >= law.short_until;
        let factor = law.stretch.after(self.factor, law.still, (new.t, step), self.delay, free);
        self.stats.useless = law.stretch.is_useless();
        if factor > self.factor {
            self.factor = factor;
            self.stats.grown += 1;
            self.stats.largest = self.stats.largest.max(self.factor);
        }
        self.shrink(factor);
    }

    /// Writes or reads the state.
    pub(crate) fn walk(&mut self, walk: &mut StateWalk<'_>) {
        walk.numbers([&mut self.factor, &mut self.other, &mut self.first_energy, &mut self.first_flow]);
        walk.table(&mut self.own);
        walk.table(&mut self.inbox);
        walk.stamps(&mut self.outbox);
        walk.stamps(&mut self.incoming);
        self.notice.walk(walk);
        self.heard.walk(walk);
        let EndStatistics {
            stamps,
            still,
            factor_time,
            largest,
            grown,
            shrunk,
            taken_back,
            energy,
            exchanged,
            useless,
        } = &mut self.stats;
        for count in [stamps, grown, shrunk, taken_back] {
            walk.count(count);
        }
        walk.numbers([still, factor_time, largest, energy, exchanged]);
        walk.flag(useless);
        if let Some(law) = &mut self.law {
            walk.numbers(&mut law.memory);
            let mut stretch = law.stretch.numbers();
            walk.numbers(&mut stretch);
            law.stretch.set_numbers(stretch);
            walk.flag(&mut law.still);
            walk.number(&mut law.short_until);
            walk.maybe(&mut law.expected);
            walk.number(&mut law.heard);
        }
    }

    /// In the physical unit of the input.
    pub(crate) fn newest_effort(&self) -> f64 {
        self.scale * self.own.newest().effort
    }

    /// The delay is longer than the shortest, controlled by the engine.
    pub(crate) fn is_stretched(&self) -> bool {
        self.factor > 1.0 && self.owner.is_none()
    }

    pub(crate) fn is_still(&self) -> bool {
        self.law.as_ref().is_some_and(|law| law.still)
    }

    /// Announces an event of the island to the other end.
    pub(crate) fn announce(&mut self, event: Option<f64>) {
        if self.law.as_ref().is_some_and(|law| law.announced) {
            self.notice.event = event;
        }
    }

    /// Stamps and notice for the other end, after a round.
    pub(crate) fn send(&mut self) -> (Vec<Stamp>, Notice) {
        let notice = Notice { factor: self.factor, ..self.notice };
        self.notice = Notice { shrunk: false, ..notice };
        (std::mem::take(&mut self.outbox), notice)
    }

    /// Stamps and notice of the other end; the stamps are moved out.
    pub(crate) fn arrive(&mut self, stamps: &mut Vec<Stamp>, notice: Notice) {
        self.incoming.append(stamps);
        self.heard = notice;
    }

    /// Processes what has arrived, before the steps of a round.
    pub(crate) fn receive(&mut self, now: f64) {
        self.inbox.receive(&self.incoming);
        self.incoming.clear();
        let notice = self.heard;
        self.other = notice.factor;
        let Some(law) = &mut self.law else { return };
        if let Some(event) = notice.event.filter(|event| *event > now) {
            law.expected = Some(event);
        }
        if notice.shrunk && law.linked && self.owner.is_some() {
            law.heard = law.heard.min(notice.factor.max(1.0));
        } else if notice.shrunk && law.linked {
            self.shrink(notice.factor);
            // Not announced back, to avoid an endless exchange.
            self.notice.shrunk = false;
        }
    }

    /// Energy sent and not yet read by the other end, relative to the start.
    pub(crate) fn stored(&self, now: f64) -> f64 {
        self.energy_in_transit(now) - self.first_energy
    }

    pub(crate) fn totals(&self, elapsed: f64) -> EndTotals {
        let mean = |sum: f64, none: f64| if elapsed > 0.0 { sum / elapsed } else { none };
        EndTotals {
            stats: self.stats,
            first_flow: self.first_flow,
            delay: self.delay * mean(self.stats.factor_time, self.factor),
            still: mean(self.stats.still, 0.0),
            owned: self.owner.is_some(),
            beyond: self.inbox.beyond() + self.own.beyond(),
        }
    }

    /// Energy sent and not yet read by the other end, with the other's delay and impedance: the wave
    /// w = e + Z f carries w^2 / 4 Z.
    fn energy_in_transit(&self, now: f64) -> f64 {
        let (factor, common) = (self.other, 0.5 * (self.factor + self.other));
        let impedance = self.impedance * if self.common { common } else { factor };
        let from = now - self.delay * factor;
        let wave = |t: f64| {
            let (effort, flow, _) = self.own.at(t.min(self.own.newest().t));
            effort + impedance * flow
        };
        let inside = self.own.stamps().iter().map(|stamp| stamp.t).filter(|t| *t > from && *t < now);
        let (mut sum, mut last) = (0.0, from);
        for t in inside.chain([now]) {
            let (a, b) = (wave(last), wave(t));
            // The integral of the square of a linear function.
            sum += (t - last) * (a * a + a * b + b * b) / 3.0;
            last = t;
        }
        sum / (4.0 * impedance)
    }
}

#[cfg(test)]
#[path = "../../tests/private/end.rs"]
mod tests;
