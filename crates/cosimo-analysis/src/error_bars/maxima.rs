//! Running maxima of one signal over a run and its companions. All communication points count, none is stored.

/// Signs of a difference that is smaller than this part of the largest so far are not counted: it passes through zero.
const CROSSING: f64 = 0.1;

/// What is known of one signal by comparing the run `a` with two companions: `b` with steps next to its own, and `c`
/// with steps farther away. Absolute values, in the unit of the signal.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Maxima {
    /// The largest modulus of the run and of `b`.
    pub(crate) peak: f64,
    pub(crate) peak_b: f64,
    pub(crate) peak_c: f64,
    /// The range of values of the run.
    pub(crate) lowest: f64,
    pub(crate) highest: f64,
    /// |a - b| at all instants they share, and when it was largest.
    pub(crate) difference: f64,
    pub(crate) at: f64,
    /// Its square, integrated over time, and that time.
    square: f64,
    time: f64,
    /// |a - b|, |b - c| and |a - c| where all three meet.
    pub(crate) near: f64,
    pub(crate) far: f64,
    pub(crate) both: f64,
    /// How far the run is from the line through its neighbouring points.
    pub(crate) bend: f64,
    /// How far a companion inside a step of the run is from the line between the run's points.
    pub(crate) gap: f64,
    /// |a - s|: s resolves the first step.
    pub(crate) start: f64,
    /// How often a - b changed its sign.
    pub(crate) flips: u32,
    sign: f64,
}

impl Maxima {
    pub(crate) const NONE: Maxima = Maxima {
        peak: 0.0,
        peak_b: 0.0,
        peak_c: 0.0,
        lowest: f64::INFINITY,
        highest: f64::NEG_INFINITY,
        difference: 0.0,
        at: f64::NAN,
        square: 0.0,
        time: 0.0,
        near: 0.0,
        far: 0.0,
        both: 0.0,
        bend: 0.0,
        gap: 0.0,
        start: 0.0,
        flips: 0,
        sign: 0.0,
    };

    /// The run and `b` at an instant, `since` seconds after the last one they shared.
    #[inline]
    pub(crate) fn add_pair(&mut self, time: f64, since: f64, a: f64, b: f64) {
        let difference = a - b;
        let size = difference.abs();
        self.peak_b = self.peak_b.max(b.abs());
        self.square += size * size * since;
        self.time += since;
        if size > CROSSING * self.difference {
            self.flips += u32::from(difference * self.sign < 0.0);
            self.sign = difference.signum();
        }
        // A NaN is kept: what is no number is never accurate.
        if !(size <= self.difference || self.difference.is_nan()) {
            (self.difference, self.at) = (size, time);
        }
    }

    /// All three at an instant.
    #[inline]
    pub(crate) fn add_triple(&mut self, a: f64, b: f64, c: f64) {
        self.peak_c = self.peak_c.max(c.abs());
        self.near = worse(self.near, (a - b).abs());
        self.far = worse(self.far, (b - c).abs());
        self.both = worse(self.both, (a - c).abs());
    }

    /// The distance of `b` from all values of the run around an instant: one of the two has jumped there, and the other
    /// is about to.
    pub(crate) fn add_distance(&mut self, time: f64, distance: f64) {
        if !(distance <= self.difference || self.difference.is_nan()) {
            (self.difference, self.at) = (distance, time);
        }
    }

    pub(crate) fn add_gap(&mut self, gap: f64) {
        self.gap = worse(self.gap, gap);
    }

    pub(crate) fn add_start(&mut self, a: f64, resolved: f64) {
        self.start = worse(self.start, (a - resolved).abs());
    }

    /// The root of the mean square of a - b over time.
    pub(crate) fn mean_difference(&self) -> f64 {
        if self.time > 0.0 { (self.square / self.time).sqrt() } else { 0.0 }
    }

    /// The difference of the largest and the smallest value.
    pub(crate) fn range(&self) -> f64 {
        (self.highest - self.lowest).max(0.0)
    }
}

/// What is known of all signals of the run by themselves. Every point counts, so they stand in rows of their own, where the
/// compiler takes several signals at once.
#[derive(Debug, Clone)]
pub(crate) struct Bounds {
    lowest: Vec<f64>,
    highest: Vec<f64>,
    bends: Vec<f64>,
}

impl Bounds {
    pub(crate) fn new(signals: usize) -> Bounds {
        Bounds {
            lowest: vec![f64::INFINITY; signals],
            highest: vec![f64::NEG_INFINITY; signals],
            bends: vec![0.0; signals],
        }
    }

    /// A point. A value that is no number changes nothing; differences show it.
    pub(crate) fn add(&mut self, values: &[f64]) {
        for ((lowest, highest), value) in self.lowest.iter_mut().zip(&mut self.highest).zip(values) {
            *lowest = if *value < *lowest { *value } else { *lowest };
            *highest = if *value > *highest { *value } else { *highest };
        }
    }

    /// Three neighbouring points, the middle one at a share of the time between the others. `jumped`: whether a signal did
    /// at the middle or the last one.
    pub(crate) fn add_bends(
        &mut self,
        [before, at, after]: [&[f64]; 3],
        share: f64,
        jumped: Option<&dyn Fn(usize) -> bool>,
    ) {
        for (signal, bend) in self.bends.iter_mut().enumerate() {
            let (before, after) = (before[signal], after[signal]);
            let apart = (at[signal] - (before + share * (after - before))).abs();
            if apart > *bend && jumped.is_none_or(|jumped| !jumped(signal)) {
                *bend = apart;
            }
        }
    }

    /// All that is known of a signal.
    pub(crate) fn complete(&self, signal: usize, found: &Maxima) -> Maxima {
        let (lowest, highest) = (self.lowest[signal], self.highest[signal]);
        Maxima { peak: lowest.abs().max(highest.abs()), lowest, highest, bend: self.bends[signal], ..*found }
    }
}

/// The larger of two; a NaN stays.
fn worse(known: f64, new: f64) -> f64 {
    if new <= known || known.is_nan() { known } else { new }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_difference_is_kept_with_its_instant_and_a_nan_for_ever() {
        let mut found = Maxima::NONE;
        let mut bounds = Bounds::new(1);
        for (time, a, b) in [(1.0, 2.0, 1.5), (2.0, -3.0, -1.0), (3.0, 0.0, 0.1)] {
            bounds.add(&[a]);
            bounds.add(&[f64::NAN]);
            found.add_pair(time, 1.0, a, b);
        }
        let mut found = bounds.complete(0, &found);
        assert_eq!((found.difference, found.at, found.peak, found.range()), (2.0, 2.0, 3.0, 5.0));
        assert!((found.mean_difference() - ((0.25 + 4.0 + 0.01) / 3.0f64).sqrt()).abs() < 1e-15);
        found.add_pair(4.0, 1.0, 0.0, f64::NAN);
        found.add_pair(5.0, 1.0, 0.0, 100.0);
        assert!(found.difference.is_nan() && found.at == 4.0);
        found.add_triple(0.0, f64::NAN, 0.0);
        found.add_triple(0.0, 1.0, 0.0);
        assert!(found.near.is_nan() && found.far.is_nan() && found.both == 0.0);
    }

    #[test]
    fn a_straight_line_has_no_bend_on_any_grid() {
        let bend = |points: [f64; 3], share, jumped: bool| {
            let mut bounds = Bounds::new(1);
            let [before, at, after] = points.each_ref().map(std::slice::from_ref);
            bounds.add_bends([before, at, after], share, Some(&|_| jumped));
            bounds.complete(0, &Maxima::NONE).bend
        };
        assert!(bend([1.0, 1.3, 4.0], 0.1, false) < 1e-15);
        assert_eq!(bend([0.0, 1.0, 0.0], 0.5, false), 1.0);
        assert_eq!(bend([0.0, 1.0, 0.0], 0.5, true), 0.0);
    }

    #[test]
    fn signs_of_small_differences_are_not_counted() {
        let mut found = Maxima::NONE;
        for difference in [1.0, -0.01, 0.02, -0.5, 0.5] {
            found.add_pair(0.0, 1.0, difference, 0.0);
        }
        assert_eq!(found.flips, 2);
    }
}
