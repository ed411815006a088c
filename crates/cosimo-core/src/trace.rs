//! The last few samples of outputs: committed ones first, then tentative ones.
//!
//! All outputs of an island share its communication points, so the instants are kept once and the values
//! level by level: reading the newest values of neighbouring outputs touches neighbouring memory. An output
//! may be one level *ahead* inside a window: its simulator has stepped, others have not.

use crate::time::Time;

/// Samples kept per output. The longest extrapolation needs three, tentative samples two more.
pub const DEPTH: usize = 8;

/// An output at a communication point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    /// Seconds.
    pub t: f64,
    /// Value.
    pub y: f64,
    /// NaN where the simulator offers none.
    pub slope: f64,
}

/// The traces of all outputs of an island.
#[derive(Debug, Clone, PartialEq)]
pub struct Traces {
    outputs: usize,
    times: [f64; DEPTH],
    values: Vec<f64>,
    slopes: Vec<f64>,
    /// How many levels were ever opened, tentative ones included; the newest is `opened - 1` modulo DEPTH.
    opened: usize,
    committed: usize,
    ahead: NewestLevel,
    /// Per output, where some are ahead and some are not.
    marks: Vec<bool>,
    /// Per output: levels before this one precede a jump and must not be used for extrapolation.
    since: Vec<usize>,
    /// Some slope was ever put; without any, all of them stay NaN.
    sloped: bool,
}

/// Which outputs have a sample of the newest level: usually all or none, which needs no mark per output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NewestLevel {
    Empty,
    Marked,
    Full,
}

/// One output's view: newest sample first.
#[derive(Debug, Clone, Copy)]
pub struct Trace<'a> {
    traces: &'a Traces,
    output: usize,
    newest: usize,
    len: usize,
}

impl Traces {
    /// Empty, for so many outputs.
    pub fn new(outputs: usize) -> Traces {
        Traces {
            outputs,
            times: [0.0; DEPTH],
            values: vec![0.0; outputs * DEPTH],
            slopes: vec![f64::NAN; outputs * DEPTH],
            opened: 0,
            committed: 0,
            ahead: NewestLevel::Empty,
            marks: vec![false; outputs],
            since: vec![0; outputs],
            sloped: false,
        }
    }

    /// How many outputs there are.
    pub fn outputs(&self) -> usize {
        self.outputs
    }

    /// Begins a tentative level at `t`; until its sample is put, an output still ends at the level before.
    pub fn open(&mut self, t: Time) {
        self.times[self.opened % DEPTH] = t.seconds();
        self.opened += 1;
        self.ahead = NewestLevel::Empty;
    }

    /// Puts the tentative samples of neighbouring outputs `first..first + values.len()`.
    #[inline]
    pub fn put(&mut self, first: usize, values: &[f64], slopes: &[f64]) {
        let at = (self.opened - 1) % DEPTH * self.outputs + first;
        self.values[at..at + values.len()].copy_from_slice(values);
        if !slopes.is_empty() {
            self.slopes[at..at + slopes.len()].copy_from_slice(slopes);
            self.sloped = true;
        } else if self.sloped {
            // Levels are reused, and a slope of eight steps ago must not remain.
            self.slopes[at..at + values.len()].fill(f64::NAN);
        }
        if values.len() == self.outputs {
            self.ahead = NewestLevel::Full;
        } else if self.ahead != NewestLevel::Full {
            if self.ahead == NewestLevel::Empty {
                self.marks.fill(false);
                self.ahead = NewestLevel::Marked;
            }
            self.marks[first..first + values.len()].fill(true);
        }
    }

    /// Commits tentative samples.
    pub fn commit(&mut self) {
        self.committed = self.opened;
    }

    /// Drops all tentative samples.
    pub fn discard(&mut self) {
        self.opened = self.committed;
        self.ahead = NewestLevel::Full;
    }

    /// Replaces committed samples of the newest level after an event; those before the jump are never used again.
    pub fn jump(&mut self, values: &[f64], slopes: &[f64], jumps: impl Fn(usize) -> bool) {
        let at = (self.opened - 1) % DEPTH * self.outputs;
        for (output, value) in values.iter().enumerate() {
            if jumps(output) || self.values[at + output].to_bits() != value.to_bits() {
                self.since[output] = self.opened - 1;
            }
            self.values[at + output] = *value;
        }
        if !slopes.is_empty() {
            self.slopes[at..at + self.outputs].copy_from_slice(slopes);
            self.sloped = true;
        }
    }

    /// The newest level: its values in output order.
    #[inline]
    pub fn newest(&self) -> &[f64] {
        self.level(0)
    }

    /// The values `k` levels back, also of outputs that have no sample of the newest level yet.
    #[inline]
    pub fn level(&self, k: usize) -> &[f64] {
        let at = (self.opened + DEPTH - 1 - k) % DEPTH * self.outputs;
        &self.values[at..at + self.outputs]
    }

    /// As [`Traces::level`], to be overwritten: for probing and for given start histories.
    pub fn level_mut(&mut self, k: usize) -> &mut [f64] {
        let at = (self.opened + DEPTH - 1 - k) % DEPTH * self.outputs;
        &mut self.values[at..at + self.outputs]
    }

    /// The newest value of every output, where all of them end at the same level.
    #[inline]
    pub fn common(&self) -> Option<&[f64]> {
        match self.ahead {
            NewestLevel::Empty => Some(self.level(1)),
            NewestLevel::Marked => None,
            NewestLevel::Full => Some(self.level(0)),
        }
    }

    /// The slopes `k` levels back; NaN where none was offered.
    pub fn slopes(&self, k: usize) -> &[f64] {
        let at = (self.opened + DEPTH - 1 - k) % DEPTH * self.outputs;
        &self.slopes[at..at + self.outputs]
    }

    /// The counterpart of [`Traces::level_mut`].
    pub fn slopes_mut(&mut self, k: usize) -> &mut [f64] {
        let at = (self.opened + DEPTH - 1 - k) % DEPTH * self.outputs;
        &mut self.slopes[at..at + self.outputs]
    }

    /// Lays the levels before the newest `size` apart, for probing a step of that size.
    pub fn space(&mut self, size: f64) {
        let newest = (self.opened + DEPTH - 1) % DEPTH;
        for k in 1..DEPTH {
            self.times[(newest + DEPTH - k) % DEPTH] = self.times[newest] - k as f64 * size;
        }
    }

    /// Whether an output jumped at the newest level.
    pub fn jumped(&self, output: usize) -> bool {
        self.opened > 1 && self.since[output] + 1 == self.opened
    }

    /// How many levels are available.
    pub fn levels(&self) -> usize {
        self.opened.min(DEPTH)
    }

    /// The samples of one output.
    #[inline]
    pub fn trace(&self, output: usize) -> Trace<'_> {
        let ahead = match self.ahead {
            NewestLevel::Empty => false,
            NewestLevel::Marked => self.marks[output],
            NewestLevel::Full => true,
        };
        let newest = self.opened - usize::from(!ahead);
        Trace { traces: self, output, newest, len: (newest - self.since[output]).min(DEPTH - 1) }
    }

    /// Everything as numbers, for checkpoints.
    pub fn save(&self, into: &mut Vec<f64>) {
        into.push(self.opened as f64);
        into.extend(self.since.iter().map(|level| *level as f64));
        into.extend(self.times);
        into.extend(&self.values);
        into.extend(&self.slopes);
    }

    /// The inverse of [`Traces::save`] for traces without tentative samples; `None` if the numbers run out or
    /// make no sense.
    pub fn load(&mut self, from: &mut impl Iterator<Item = f64>) -> Option<()> {
        self.opened = from.next().filter(|opened| *opened >= 1.0)? as usize;
        for since in &mut self.since {
            *since = from.next()? as usize;
        }
        self.committed = self.opened;
        self.ahead = NewestLevel::Full;
        self.sloped = true;
        for slot in self.times.iter_mut().chain(&mut self.values).chain(&mut self.slopes) {
            *slot = from.next()?;
        }
        Some(())
    }
}

impl Trace<'_> {
    /// How many samples are available.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no sample yet.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The sample `k` steps back, 0 the newest; `k < len()`.
    #[inline]
    pub fn back(&self, k: usize) -> Sample {
        debug_assert!(k < self.len, "only {} samples are known", self.len);
        let level = (self.newest - 1 - k) % DEPTH;
        let at = level * self.traces.outputs + self.output;
        Sample { t: self.traces.times[level], y: self.traces.values[at], slope: self.traces.slopes[at] }
    }

    /// The polynomial through `count` samples from the one `first` steps back on, at `t`: Lagrange's form.
    pub fn polynomial_at(&self, first: usize, count: usize, t: f64) -> f64 {
        let mut sum = 0.0;
        for j in first..first + count {
            let mut weight = 1.0;
            for k in (first..first + count).filter(|&k| k != j) {
                weight *= (t - self.back(k).t) / (self.back(j).t - self.back(k).t);
            }
            sum += weight * self.back(j).y;
        }
        sum
    }

    /// The newest value: all that a zero-order hold needs.
    #[inline]
    pub fn newest(&self) -> f64 {
        self.traces.values[(self.newest - 1) % DEPTH * self.traces.outputs + self.output]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_output_that_stepped_is_one_sample_ahead_of_one_that_did_not() {
        let mut traces = Traces::new(2);
        traces.open(Time::ZERO);
        traces.put(0, &[1.0, 2.0], &[]);
        traces.commit();
        traces.open(Time::new(0.1).unwrap());
        traces.put(1, &[5.0], &[]);
        assert_eq!(traces.trace(0).newest(), 1.0);
        assert_eq!(traces.trace(1).newest(), 5.0);
        assert_eq!(traces.trace(1).back(1).y, 2.0);
        traces.discard();
        assert_eq!(traces.trace(1).newest(), 2.0);
    }

    proptest! {
        /// Random steps and rewinds against a plain vector.
        #[test]
        fn equals_a_vector_that_forgets(steps in prop::collection::vec((any::<bool>(), -1e3f64..1e3), 1..60)) {
            let mut traces = Traces::new(1);
            let mut naive: Vec<(f64, f64)> = vec![(0.0, 0.5)];
            traces.open(Time::ZERO);
            traces.put(0, &[0.5], &[]);
            traces.commit();
            for (n, (keep, y)) in steps.into_iter().enumerate() {
                let t = (n + 1) as f64;
                traces.open(Time::new(t).unwrap());
                traces.put(0, &[y], &[]);
                prop_assert_eq!(traces.trace(0).newest(), y);
                if keep {
                    traces.commit();
                    naive.push((t, y));
                } else {
                    traces.discard();
                }
                let trace = traces.trace(0);
                // Rewinding costs the oldest sample its place, so one less than DEPTH can be relied on.
                for k in 0..trace.len().min(DEPTH - 1) {
                    let (t, y) = naive[naive.len() - 1 - k];
                    prop_assert_eq!((trace.back(k).t, trace.back(k).y), (t, y));
                }
            }
        }
    }
}
