//! A transmission line between two power ports: what enters at one end arrives at the other after a delay.
//!
//! Each end publishes stamps (time, effort, flow) at its own steps; the other end reads them, delayed. Stamps, not waves: a
//! wave effort + Z flow contains the impedance of its sender, which is wrong as soon as the two ends have different ones.
//! Flows count what goes into the line, efforts what it exerts back.
//! Source: Braun, Hällqvist & Fritzson 2023, "Transmission line modeling co-simulation with distributed delay-size control
//! using steady-state identification", Eq. (8), with a delay and an impedance per end.

use std::cell::Cell;

/// Effort and flow of an end at one of its steps. Slopes are those of its last two steps, so that interpolation between
/// two stamps needs no third one and does not depend on how many have arrived already.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Stamp {
    /// Seconds.
    pub t: f64,
    /// What the line exerts, in SI units.
    pub effort: f64,
    /// What goes into the line, in SI units.
    pub flow: f64,
    /// Per second.
    pub effort_slope: f64,
    /// Per second.
    pub flow_slope: f64,
    /// The integral of the flow since the start.
    pub charge: f64,
}

/// Interpolation between two stamps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StampInterpolation {
    /// A straight line.
    #[default]
    Linear,
    /// Cubic, with the slopes of the stamps.
    Hermite,
}

/// The stamps of one end, oldest first. Before the first one it was at rest.
#[derive(Debug, Clone, Default)]
pub struct StampTable {
    stamps: Vec<Stamp>,
    between: StampInterpolation,
    /// Reads later than the newest stamp: must stay 0, because nothing is known there.
    beyond: Cell<u64>,
}

impl StampTable {
    /// With the stamp of the start of the run.
    pub fn new(first: Stamp, between: StampInterpolation) -> StampTable {
        StampTable { stamps: vec![first], between, beyond: Cell::new(0) }
    }

    /// For stamps that are received from another table.
    pub fn empty(between: StampInterpolation) -> StampTable {
        StampTable { between, ..StampTable::default() }
    }

    /// Whether nothing was published or received yet.
    pub fn is_empty(&self) -> bool {
        self.stamps.is_empty()
    }

    /// The latest stamp; all zero if there is none.
    pub fn newest(&self) -> Stamp {
        self.stamps.last().copied().unwrap_or_default()
    }

    /// All stamps that are kept, oldest first.
    pub fn stamps(&self) -> &[Stamp] {
        &self.stamps
    }

    /// Number of reads later than the newest stamp, which got its values.
    pub fn beyond(&self) -> u64 {
        self.beyond.get()
    }

    /// Adds a stamp, with slopes from the stamps before and the integral of the flow.
    pub fn publish(&mut self, t: f64, effort: f64, flow: f64) -> Stamp {
        let last = self.newest();
        let step = t - last.t;
        // A parabola through the last three, or a line through two; across a jump (two stamps of one instant) nothing.
        let slope = |value: fn(&Stamp) -> f64, new: f64| {
            if step <= 0.0 {
                return 0.0;
            }
            let slope = (new - value(&last)) / step;
            match self.stamps.len().checked_sub(2).map(|k| self.stamps[k]).filter(|before| before.t < last.t)
            {
                Some(before) => {
                    let earlier = (value(&last) - value(&before)) / (last.t - before.t);
                    slope + step * (slope - earlier) / (t - before.t)
                }
                None => slope,
            }
        };
        let stamp = Stamp {
            t,
            effort,
            flow,
            effort_slope: slope(|stamp| stamp.effort, effort),
            flow_slope: slope(|stamp| stamp.flow, flow),
            charge: last.charge + 0.5 * step * (last.flow + flow),
        };
        self.stamps.push(stamp);
        stamp
    }

    /// Adds what another table published.
    pub fn receive(&mut self, stamps: &[Stamp]) {
        self.stamps.extend_from_slice(stamps);
    }

    /// Drops stamps that reads from this instant on do not need. Memory is reused, not freed.
    pub fn forget_before(&mut self, t: f64) {
        let unused = self.place(t).saturating_sub(1);
        // Seldom, so that moving the rest pays off.
        if unused > 64 && unused > self.stamps.len() / 2 {
            self.stamps.drain(..unused);
        }
    }

    /// Replaces everything by what was saved.
    pub fn restore(&mut self, stamps: &[Stamp], beyond: u64) {
        self.beyond.set(beyond);
        self.stamps.clear();
        self.stamps.extend_from_slice(stamps);
    }

    /// How many stamps lie at or before an instant.
    fn place(&self, t: f64) -> usize {
        // Reads are near the newest: step back by doubling, then halve.
        let mut far = 1;
        let n = self.stamps.len();
        while far < n && self.stamps[n - far].t > t {
            far *= 2;
        }
        let low = n.saturating_sub(far);
        low + self.stamps[low..].partition_point(|stamp| stamp.t <= t)
    }

    /// Effort, flow and charge at an instant.
    pub fn at(&self, t: f64) -> (f64, f64, f64) {
        let after = self.place(t);
        if after == 0 {
            let first = self.stamps[0];
            return (first.effort, first.flow, first.charge);
        }
        let a = self.stamps[after - 1];
        let Some(b) = self.stamps.get(after) else {
            if t > a.t {
                self.beyond.set(self.beyond.get() + 1);
            }
            return (a.effort, a.flow, a.charge);
        };
        let (h, s) = (b.t - a.t, t - a.t);
        let x = s / h;
        let line = |from: f64, to: f64| from + (to - from) * x;
        let charge = a.charge + s * (a.flow + 0.5 * x * (b.flow - a.flow));
        match self.between {
            StampInterpolation::Linear => (line(a.effort, b.effort), line(a.flow, b.flow), charge),
            StampInterpolation::Hermite => {
                let cubic = |from: f64, to: f64, slope: f64, end: f64| {
                    let rise = to - from;
                    let (p, q) = (3.0 * rise - h * (2.0 * slope + end), h * (slope + end) - 2.0 * rise);
                    from + x * (h * slope + x * (p + x * q))
                };
                let effort = cubic(a.effort, b.effort, a.effort_slope, b.effort_slope);
                let flow = cubic(a.flow, b.flow, a.flow_slope, b.flow_slope);
                (effort, flow, charge)
            }
        }
    }
}

/// One end of a line in one step of its simulator: e(t) = c(t) + Z f(t), where c comes from the other end and f is the
/// simulator's own flow at the same instant.
#[derive(Debug, Clone, Copy)]
pub struct LineEnd<'a> {
    /// The input that is the effort.
    pub effort: usize,
    /// The output that is the flow.
    pub flow: usize,
    /// From that output to the flow into the line in SI units: 1, or -1 where it counts what comes out of it.
    pub sign: f64,
    /// From the effort in SI units to that input.
    pub scale: f64,
    /// What the other end published.
    pub table: &'a StampTable,
    /// What this end published.
    pub own: &'a StampTable,
    /// In seconds.
    pub delay: f64,
    /// Effort per flow, in SI units.
    pub impedance: f64,
    /// The start of the step: nothing later is read.
    pub from: f64,
    /// How charge that was lost when delays changed is given back.
    pub repay: Repay,
    /// The largest factor of delay and impedance for a simulator that stretches the line itself; 1 where it must not.
    pub most: f64,
}

/// Charge that was lost with waves that a shorter delay skipped.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Repay {
    /// Time constant in seconds; 0 repays nothing.
    pub within: f64,
    /// Delay per impedance, which does not depend on the delay.
    pub capacity: f64,
}

impl LineEnd<'_> {
    /// The same end with `factor` times the delay and the impedance: the charge per effort stays the same.
    pub fn stretched(&self, factor: f64) -> LineEnd<'_> {
        LineEnd { delay: factor * self.delay, impedance: factor * self.impedance, ..*self }
    }

    /// The arriving wave, with the impedance of this end: c(t) = e(t - D) + Z f(t - D), both of the other end.
    pub fn wave(&self, t: f64) -> f64 {
        let then = (t - self.delay).min(self.from);
        let (effort, flow, charge) = self.table.at(then);
        let mut wave = effort + self.impedance * flow;
        if self.repay.within > 0.0 {
            let (own_effort, _, own_charge) = self.own.at(then);
            // Both flows go in, so their sum is what the line has stored: its capacity times the mean effort.
            let lost = charge + own_charge - self.repay.capacity * 0.5 * (effort + own_effort);
            wave += self.delay / self.repay.within * lost / self.repay.capacity;
        }
        wave
    }

    /// The effort in the unit of the input, from the simulator's own flow in the unit of the output. Eq. (8).
    pub fn effort(&self, t: f64, flow: f64) -> f64 {
        self.scale * (self.wave(t) + self.impedance * self.sign * flow)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(between: StampInterpolation, values: impl Fn(f64) -> (f64, f64), times: &[f64]) -> StampTable {
        let (effort, flow) = values(times[0]);
        let mut table = StampTable::new(Stamp { t: times[0], effort, flow, ..Stamp::default() }, between);
        for t in &times[1..] {
            let (effort, flow) = values(*t);
            table.publish(*t, effort, flow);
        }
        table
    }

    #[test]
    fn lines_are_read_exactly_and_parabolas_by_hermite() {
        let times = [0.0, 0.3, 0.4, 0.9, 1.7, 2.0];
        let straight = |t: f64| (2.0 - 3.0 * t, 0.5 * t);
        for between in [StampInterpolation::Linear, StampInterpolation::Hermite] {
            let table = table(between, straight, &times);
            // The first stamp has the slope 0.
            for t in [0.0, 0.1, 0.3, 0.37, 1.2, 1.999, 2.0].into_iter().skip(2 * between as usize) {
                let (effort, flow, charge) = table.at(t);
                let (expected, own) = straight(t);
                assert!((effort - expected).abs() < 1e-14 && (flow - own).abs() < 1e-14);
                assert!((charge - 0.25 * t * t).abs() < 1e-14);
            }
            assert_eq!(table.at(-1.0).0, 2.0);
            assert_eq!(table.beyond(), 0);
        }
        let parabola = |t: f64| (t * t, 1.0 - t * t);
        let table = table(StampInterpolation::Hermite, parabola, &times);
        // From the third stamp on, slopes are those of the parabola.
        for t in [0.5, 1.1, 1.9] {
            assert!((table.at(t).0 - t * t).abs() < 1e-14 && (table.at(t).1 - 1.0 + t * t).abs() < 1e-14);
        }
    }

    #[test]
    fn nothing_is_known_beyond_the_newest_stamp() {
        let table = table(StampInterpolation::Linear, |t| (t, t), &[0.0, 1.0]);
        assert_eq!(table.at(1.0).0, 1.0);
        assert_eq!(table.beyond(), 0);
        assert_eq!(table.at(1.5).0, 1.0);
        assert_eq!(table.beyond(), 1);
    }

    #[test]
    fn what_is_forgotten_is_not_read() {
        let times: Vec<f64> = (0..1000).map(f64::from).collect();
        let mut table = table(StampInterpolation::Linear, |t| (t, -t), &times);
        let before: Vec<_> = (7400..9990).map(|t| table.at(f64::from(t) / 10.0)).collect();
        table.forget_before(740.0);
        assert!(table.stamps().len() < 300);
        let after: Vec<_> = (7400..9990).map(|t| table.at(f64::from(t) / 10.0)).collect();
        assert_eq!(before, after);
    }

    #[test]
    fn two_stamps_of_one_instant_are_a_jump() {
        let mut table = table(StampInterpolation::Hermite, |_| (1.0, 0.0), &[0.0, 1.0]);
        table.publish(1.0, 5.0, 0.0);
        table.publish(2.0, 5.0, 0.0);
        assert_eq!((table.at(0.99).0, table.at(1.0).0, table.at(1.5).0), (1.0, 5.0, 5.0));
    }

    #[test]
    fn an_end_never_reads_past_the_start_of_its_step() {
        let (other, own) = (
            table(StampInterpolation::Linear, |t| (10.0 * t, t), &[0.0, 1.0, 2.0]),
            table(StampInterpolation::Linear, |_| (0.0, 0.0), &[0.0, 1.0]),
        );
        let end = LineEnd {
            effort: 0,
            flow: 0,
            sign: -1.0,
            scale: 1.0,
            table: &other,
            own: &own,
            delay: 0.5,
            impedance: 2.0,
            from: 1.0,
            repay: Repay::default(),
            most: 1.0,
        };
        assert_eq!(end.wave(1.25), 7.5 + 2.0 * 0.75);
        assert_eq!(end.stretched(2.0).wave(1.25), 2.5 + 4.0 * 0.25);
        assert_eq!(end.wave(1.75), 10.0 + 2.0);
        assert_eq!(end.effort(1.25, 3.0), 9.0 - 6.0);
    }
}
