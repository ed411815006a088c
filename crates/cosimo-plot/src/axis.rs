//! From values to places on an axis, and where the ticks go.
//!
//! A log axis is a linear axis of exponents, so both share one map. All arithmetic is on halves of the ends:
//! a diverged run may span more than the largest number.

use cosimo_core::math;

use crate::text;
use crate::{Axis, Scale};

/// Ends closer than this, relative to their size, are round-off and count as equal.
const SAME: f64 = 1e-12;

/// Values this small are 0 on a linear axis: their tenths would leave the range of numbers.
const TINY: f64 = 1e-290;

/// The shown part of an axis: values, or exponents of ten on a log axis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Span {
    lo: f64,
    hi: f64,
    scale: Scale,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tick {
    /// 0 at the lower end, 1 at the upper.
    pub(crate) place: f64,
    pub(crate) label: Label,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Label {
    /// A minor line.
    None,
    Text(String),
    /// Ten to this power.
    Power(i32),
}

impl Label {
    pub(crate) fn width(&self, size: f64) -> f64 {
        match self {
            Label::None => 0.0,
            Label::Text(text) => text::width(text, size),
            Label::Power(power) => {
                text::width(&format!("10{}", text::number(f64::from(*power))), size) - 0.2 * size
            }
        }
    }
}

impl Span {
    /// The span that shows all values, with `margin` of its length free at both ends.
    pub(crate) fn new(axis: &Axis, values: impl Iterator<Item = f64>, margin: f64) -> Span {
        let scale = axis.scale;
        if let Some((from, to)) = axis.limits
            && let (Some(from), Some(to)) = (coordinate(scale, from), coordinate(scale, to))
            && distinct(from, to)
        {
            return Span { lo: from.min(to), hi: from.max(to), scale };
        }
        let mut ends: Option<(f64, f64)> = None;
        for value in values.filter_map(|value| coordinate(scale, value)) {
            let (lo, hi) = ends.unwrap_or((value, value));
            ends = Some((lo.min(value), hi.max(value)));
        }
        let (lo, hi) = ends.unwrap_or((0.0, 1.0));
        let size = lo.abs().max(hi.abs());
        let room = if distinct(lo, hi) {
            (hi / 2.0 - lo / 2.0) * 2.0 * margin
        } else {
            // A constant is shown in the middle of something of its own size; on a log axis, of a decade each way.
            match scale {
                Scale::Linear if size > 0.0 => size / 10.0,
                _ => 1.0,
            }
        };
        // An infinite room comes only from a span above the largest number, where nothing is left to add.
        let room = if room.is_finite() { room } else { 0.0 };
        Span { lo: (lo - room).max(f64::MIN), hi: (hi + room).min(f64::MAX), scale }
    }

    /// Where a value is, 0 at the lower end and 1 at the upper; `None` if it has no place on this axis.
    pub(crate) fn place(&self, value: f64) -> Option<f64> {
        coordinate(self.scale, value).map(|at| self.share(at))
    }

    fn share(&self, at: f64) -> f64 {
        (at / 2.0 - self.lo / 2.0) / (self.hi / 2.0 - self.lo / 2.0)
    }

    /// About `wanted` labelled ticks, minor ones between them on a log axis. `minor` decades at most are
    /// divided.
    pub(crate) fn ticks(&self, wanted: usize, minor: usize) -> Vec<Tick> {
        let wanted = wanted.max(2);
        match self.scale {
            Scale::Linear => {
                let (values, step) = even(self.lo, self.hi, wanted);
                let labels = text::tick_labels(&values, step);
                let tick = |(value, label)| Tick { place: self.share(value), label: Label::Text(label) };
                values.into_iter().zip(labels).map(tick).collect()
            }
            Scale::Log => self.log_ticks(wanted, minor),
        }
    }

    /// As many as there is room for: of neighbours with labels, each pair has to fit.
    pub(crate) fn fitting(
        &self,
        mut wanted: usize,
        minor: usize,
        fits: impl Fn(&Tick, &Tick) -> bool,
    ) -> Vec<Tick> {
        loop {
            let ticks = self.ticks(wanted, minor);
            let labelled: Vec<&Tick> = ticks.iter().filter(|tick| tick.label != Label::None).collect();
            if wanted <= 2 || labelled.windows(2).all(|pair| fits(pair[0], pair[1])) {
                return ticks;
            }
            wanted -= 1;
        }
    }

    fn log_ticks(&self, wanted: usize, minor: usize) -> Vec<Tick> {
        let decades = self.hi - self.lo;
        if decades < 0.9 {
            // Too short for powers of ten: even values, unevenly placed.
            let (values, step) = even(math::powf(10.0, self.lo), math::powf(10.0, self.hi), wanted);
            let labels = text::tick_labels(&values, step);
            let tick = |(value, label)| Some(Tick { place: self.place(value)?, label: Label::Text(label) });
            return values.into_iter().zip(labels).filter_map(tick).collect();
        }
        let every = [1, 2, 3, 5, 10, 20, 30, 50, 100, 200]
            .into_iter()
            .find(|every| decades / f64::from(*every) <= wanted as f64)
            .unwrap_or(300);
        let mut ticks = Vec::new();
        let slack = decades * 1e-9;
        for power in (self.lo.floor() as i32)..=(self.hi.ceil() as i32) {
            for digit in 1..=9 {
                let at = f64::from(power) + math::log10(f64::from(digit));
                let label = match digit {
                    // Powers and plain numbers side by side are hard to compare: one or the other.
                    1 | 2 | 5 if decades < 2.0 => {
                        Label::Text(text::number(multiple(f64::from(digit), power)))
                    }
                    1 if power % every == 0 => Label::Power(power),
                    1 => Label::None,
                    _ if decades <= minor as f64 => Label::None,
                    _ => continue,
                };
                if at >= self.lo - slack && at <= self.hi + slack {
                    ticks.push(Tick { place: self.share(at), label });
                }
            }
        }
        ticks
    }
}

fn coordinate(scale: Scale, value: f64) -> Option<f64> {
    match scale {
        _ if !value.is_finite() => None,
        Scale::Linear if value.abs() < TINY => Some(0.0),
        Scale::Linear => Some(value),
        Scale::Log => (value > 0.0).then(|| math::log10(value)),
    }
}

fn distinct(a: f64, b: f64) -> bool {
    (a / 2.0 - b / 2.0).abs() > a.abs().max(b.abs()) / 2.0 * SAME
}

/// Multiples of 1, 2 or 5 times a power of ten between the ends, at most about `wanted`, and their distance.
fn even(lo: f64, hi: f64, wanted: usize) -> (Vec<f64>, f64) {
    let least = (hi / 2.0 - lo / 2.0) / (wanted as f64 / 2.0);
    let power = math::log10(least).floor();
    let step = [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|factor| multiple(factor, power as i32))
        .find(|step| *step >= least * (1.0 - 1e-9))
        .unwrap_or(least);
    // The slack keeps a tick that round-off has pushed just past the end.
    let (first, last) = ((lo / step - 1e-6).ceil(), (hi / step + 1e-6).floor());
    let mut values = Vec::new();
    let mut index = first;
    // The bound on the count holds where consecutive indices are the same number.
    while index <= last && values.len() <= 2 * wanted {
        values.push(index * step);
        index += 1.0;
    }
    (values, step)
}

/// factor * 10^power; a negative power divides, since 10^-1 is not a number but 10 is.
fn multiple(factor: f64, power: i32) -> f64 {
    if (-300..0).contains(&power) {
        factor / math::powi(10.0, -power)
    } else {
        factor * math::powi(10.0, power)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(span: &Span, wanted: usize) -> Vec<String> {
        let text = |tick: &Tick| match &tick.label {
            Label::None => None,
            Label::Text(text) => Some(text.clone()),
            Label::Power(power) => Some(format!("10^{power}")),
        };
        span.ticks(wanted, 8).iter().filter_map(text).collect()
    }

    fn linear(values: &[f64]) -> Span {
        Span::new(&Axis::linear(""), values.iter().copied(), 0.0)
    }

    fn log(values: &[f64]) -> Span {
        Span::new(&Axis::log(""), values.iter().copied(), 0.0)
    }

    #[test]
    fn steps_are_1_2_or_5() {
        assert_eq!(labels(&linear(&[0.0, 10.0]), 6), ["0", "2", "4", "6", "8", "10"]);
        assert_eq!(labels(&linear(&[0.0, 1.0]), 10).len(), 11);
        assert_eq!(labels(&linear(&[-0.13, 0.41]), 6), ["−0.1", "0.0", "0.1", "0.2", "0.3", "0.4"]);
        assert_eq!(labels(&linear(&[3.0, 4.7e4]), 5), ["10000", "20000", "30000", "40000"]);
    }

    #[test]
    fn ticks_lie_inside_and_ascend() {
        for (lo, hi) in [(0.0, 1.0), (-3e-9, 7e-9), (1e15, 1.1e15), (-1e308, 1e308), (99.0, 99.01)] {
            for wanted in 2..12 {
                let ticks = linear(&[lo, hi]).ticks(wanted, 8);
                assert!((1..=wanted + 1).contains(&ticks.len()), "{lo} {hi} {wanted}: {}", ticks.len());
                assert!(ticks.windows(2).all(|pair| pair[0].place < pair[1].place));
                assert!(ticks.iter().all(|tick| (-1e-6..=1.0 + 1e-6).contains(&tick.place)));
                assert!(ticks.windows(2).all(|pair| pair[0].label != pair[1].label));
            }
        }
    }

    #[test]
    fn a_constant_is_shown_in_the_middle() {
        for value in [0.0, 5.0, -5.0, 1e300, 1e-300, 5e-324, f64::MAX] {
            let place = linear(&[value, value]).place(value).unwrap();
            assert!((0.0..=1.0).contains(&place), "{value}: {place}");
        }
        assert_eq!(linear(&[5.0]).place(5.0), Some(0.5));
        assert_eq!(log(&[5.0]).place(5.0), Some(0.5));
    }

    #[test]
    fn log_axes_label_decades_and_divide_them() {
        let span = log(&[1e-3, 1e2]);
        assert_eq!(labels(&span, 8), ["10^-3", "10^-2", "10^-1", "10^0", "10^1", "10^2"]);
        assert_eq!(span.ticks(8, 8).len(), 5 * 9 + 1);
        assert_eq!(span.ticks(8, 4).len(), 6);
    }

    #[test]
    fn long_log_axes_skip_labels_and_short_ones_use_numbers() {
        assert_eq!(labels(&log(&[1e-16, 1.0]), 6), ["10^-15", "10^-12", "10^-9", "10^-6", "10^-3", "10^0"]);
        assert_eq!(labels(&log(&[1.0, 30.0]), 6), ["1", "2", "5", "10", "20"]);
        assert_eq!(labels(&log(&[2.0, 4.0]), 4), ["2.0", "2.5", "3.0", "3.5", "4.0"]);
    }

    #[test]
    fn what_has_no_place_gets_none() {
        let span = log(&[0.0, -1.0, f64::NAN, 1.0, 100.0]);
        assert_eq!((span.place(0.0), span.place(-1.0), span.place(10.0)), (None, None, Some(0.5)));
        assert_eq!(linear(&[0.0, 1.0]).place(f64::INFINITY), None);
    }

    #[test]
    fn useless_limits_are_ignored() {
        let data = || [1.0, 10.0].into_iter();
        let shown = Span::new(&Axis::log("").between(0.0, 5.0), data(), 0.0);
        assert_eq!(shown, Span::new(&Axis::log(""), data(), 0.0));
        let turned = Span::new(&Axis::linear("").between(5.0, -5.0), data(), 0.0);
        assert_eq!(turned.place(0.0), Some(0.5));
    }
}
