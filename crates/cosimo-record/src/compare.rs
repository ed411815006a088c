//! Two result files against each other: is every signal of one inside a tube around that of the other?
//!
//! The tube is wide in value and in time: around an instant it reaches from the lowest to the highest value that the
//! reference has no more than `time` away, and as far beyond as the tolerances allow. A jump that comes a little late is
//! then no difference, however high it is. Between rows signals are straight, at two rows of one instant they jump.

use std::collections::VecDeque;

use cosimo_core::recorder::Table;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use wildmatch::WildMatch;

/// How far from the reference is near enough.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, JsonSchema)]
pub struct Tube {
    /// A part of the largest modulus that the reference has in the whole run.
    pub relative: f64,
    /// On top of that, in the unit of the signal.
    pub absolute: f64,
    /// Seconds before and after.
    pub time: f64,
}

/// One signal that both files have; a number that is infinite or none at all is its word.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Difference {
    pub name: String,
    /// Inside the tube.
    pub agrees: bool,
    /// How far it goes at most beyond all that the reference has in reach, in units of what is allowed: above 1 is outside.
    /// Infinite where one is not a number and the other is.
    #[serde(rename = "of_allowed", serialize_with = "number")]
    #[schemars(with = "NumberOrWord")]
    pub excess: f64,
    /// Where that is, in seconds.
    pub time: f64,
    /// The value there.
    #[serde(serialize_with = "number")]
    #[schemars(with = "NumberOrWord")]
    pub reference: f64,
    /// The other one.
    #[serde(serialize_with = "number")]
    #[schemars(with = "NumberOrWord")]
    pub found: f64,
    /// The largest difference at one instant, whatever the tube.
    #[serde(rename = "largest_difference", serialize_with = "number")]
    #[schemars(with = "NumberOrWord")]
    pub largest: f64,
    /// How many rows lie outside.
    #[serde(rename = "rows_outside")]
    pub outside: usize,
}

/// JSON has no infinity.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
enum NumberOrWord {
    Number(f64),
    Word(String),
}

fn number<S: Serializer>(value: &f64, to: S) -> Result<S::Ok, S::Error> {
    let finite = value.is_finite();
    if finite { NumberOrWord::Number(*value) } else { NumberOrWord::Word(value.to_string()) }.serialize(to)
}

/// How two result files differ; the shape is a promise to scripts.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Comparison {
    /// All signals do.
    pub agrees: bool,
    #[serde(flatten)]
    pub tube: Tube,
    /// The part of time that both cover, in which they were compared.
    pub from: f64,
    pub to: f64,
    pub rows: usize,
    /// The worst first.
    pub signals: Vec<Difference>,
    /// Signals that only one of the files has.
    pub only_in_reference: Vec<String>,
    pub only_in_found: Vec<String>,
}

/// Why there is nothing to compare.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum CompareError {
    #[error("{0} has no column `time`")]
    NoTime(&'static str),
    #[error("{0} has no rows")]
    Empty(&'static str),
    #[error("the times of {0} are not in order: {1} s comes after {2} s")]
    Unordered(&'static str, f64, f64),
    #[error("they have no instant in common: one covers {0} to {1} s, the other {2} to {3} s")]
    Apart(f64, f64, f64, f64),
    #[error("they have no signal in common{0}")]
    Strangers(String),
}

/// Compares all signals that both tables have, or of those the ones that some pattern matches, as in `wheel.*`.
pub fn compare(
    reference: &Table,
    found: &Table,
    tube: Tube,
    patterns: &[String],
) -> Result<Comparison, CompareError> {
    let wild: Vec<WildMatch> = patterns.iter().map(|pattern| WildMatch::new(pattern)).collect();
    let wanted = |name: &str| wild.is_empty() || wild.iter().any(|pattern| pattern.matches(name));
    let (expected, given) = (times(reference, "the reference")?, times(found, "the other file")?);
    let (from, to) = common(expected, given)?;
    let names = |of: &Table, but: &Table| {
        let known = of.columns.names.iter().filter(|name| *name != "time" && wanted(name));
        known.filter(|name| but.column(name).is_none()).cloned().collect::<Vec<_>>()
    };
    let mut comparison = Comparison {
        tube,
        only_in_reference: names(reference, found),
        only_in_found: names(found, reference),
        from,
        to,
        rows: given.iter().filter(|t| **t >= from && **t <= to).count(),
        ..Comparison::default()
    };
    for (name, values) in reference.columns.names.iter().zip(&reference.values) {
        if name == "time" || !wanted(name) {
            continue;
        }
        if let Some(other) = found.column(name) {
            let signal = SignalSamples { times: expected, values };
            comparison.signals.push(difference(name, &signal, given, other, (from, to), tube));
        }
    }
    if comparison.signals.is_empty() {
        let named = patterns.iter().map(|pattern| format!("`{pattern}`")).collect::<Vec<_>>().join(" or ");
        let which = if patterns.is_empty() { String::new() } else { format!(" that is called {named}") };
        return Err(CompareError::Strangers(which));
    }
    let worse = |a: &Difference, b: &Difference| b.excess.total_cmp(&a.excess).then(a.name.cmp(&b.name));
    comparison.signals.sort_by(worse);
    comparison.agrees = comparison.signals.iter().all(|signal| signal.agrees);
    Ok(comparison)
}

/// The second minus the first, at every instant at which either has a row and both have a value; on both sides of jumps.
/// Empty where one of them does not have the signal.
pub fn apart(reference: &Table, found: &Table, signal: &str) -> Result<Vec<(f64, f64)>, CompareError> {
    let (expected, given) = (times(reference, "the reference")?, times(found, "the other file")?);
    let (Some(before), Some(after)) = (reference.column(signal), found.column(signal)) else {
        return Ok(Vec::new());
    };
    let (from, to) = common(expected, given)?;
    let mut instants: Vec<f64> =
        expected.iter().chain(given).copied().filter(|t| *t >= from && *t <= to).collect();
    instants.sort_by(f64::total_cmp);
    instants.dedup();
    let (one, other) =
        (SignalSamples { times: expected, values: before }, SignalSamples { times: given, values: after });
    let mut points = Vec::with_capacity(instants.len());
    for t in instants {
        let (sides, others) = (one.around(t), other.around(t));
        points.push((t, others.0 - sides.0));
        if sides.0 != sides.1 || others.0 != others.1 {
            points.push((t, others.1 - sides.1));
        }
    }
    Ok(points)
}

/// The part of time that both cover.
fn common(one: &[f64], other: &[f64]) -> Result<(f64, f64), CompareError> {
    let (ends, others) = ((one[0], one[one.len() - 1]), (other[0], other[other.len() - 1]));
    let (from, to) = (ends.0.max(others.0), ends.1.min(others.1));
    if from > to { Err(CompareError::Apart(ends.0, ends.1, others.0, others.1)) } else { Ok((from, to)) }
}

fn times<'a>(table: &'a Table, whose: &'static str) -> Result<&'a [f64], CompareError> {
    let times = table.column("time").ok_or(CompareError::NoTime(whose))?;
    if times.is_empty() {
        return Err(CompareError::Empty(whose));
    }
    match times.windows(2).find(|pair| pair[0].is_nan() || pair[1].is_nan() || pair[1] < pair[0]) {
        Some(pair) => Err(CompareError::Unordered(whose, pair[1], pair[0])),
        None => Ok(times),
    }
}

struct SignalSamples<'a> {
    times: &'a [f64],
    values: &'a [f64],
}

impl SignalSamples<'_> {
    /// Its value just before and just after an instant inside of what it covers: the same but for jumps.
    fn around(&self, t: f64) -> (f64, f64) {
        let after = self.times.partition_point(|time| *time <= t);
        let before = self.times.partition_point(|time| *time < t);
        if before < after {
            return (self.values[before], self.values[after - 1]);
        }
        let last = self.times.len() - 1;
        let (low, high) = (before.saturating_sub(1), before.min(last));
        let width = self.times[high] - self.times[low];
        if width == 0.0 {
            return (self.values[low], self.values[low]);
        }
        let share = (t - self.times[low]) / width;
        let value = self.values[low] + share * (self.values[high] - self.values[low]);
        (value, value)
    }
}

fn difference(
    name: &str,
    reference: &SignalSamples<'_>,
    times: &[f64],
    values: &[f64],
    (from, to): (f64, f64),
    tube: Tube,
) -> Difference {
    let largest_value = reference.values.iter().filter(|v| v.is_finite()).fold(0.0f64, |m, v| m.max(v.abs()));
    let half = tube.absolute + tube.relative * largest_value;
    let mut worst = Difference {
        name: name.to_owned(),
        agrees: true,
        excess: 0.0,
        time: from,
        reference: reference.around(from).0,
        found: f64::NAN,
        largest: 0.0,
        outside: 0,
    };
    let mut range = Range::new(reference, tube.time);
    for (&t, &value) in times.iter().zip(values).filter(|(t, _)| **t >= from && **t <= to) {
        let (before, after) = reference.around(t);
        let near = if (value - before).abs() <= (value - after).abs() { before } else { after };
        let (low, high) = range.at(t);
        let excess = if value.is_nan() || near.is_nan() {
            if value.is_nan() && near.is_nan() { 0.0 } else { f64::INFINITY }
        } else {
            let beyond = (low - value).max(value - high).max(0.0);
            // Without any tolerance only the same will do.
            if beyond == 0.0 { 0.0 } else { beyond / half }
        };
        worst.outside += usize::from(excess > 1.0);
        worst.largest = worst.largest.max((value - near).abs());
        if excess > worst.excess || worst.found.is_nan() && worst.excess == 0.0 {
            (worst.excess, worst.time) = (excess, t);
            (worst.reference, worst.found) = (near, value);
        }
    }
    worst.agrees = worst.excess <= 1.0;
    worst
}

/// Lowest and highest value of a signal no more than some seconds from an instant; instants must come in order. A queue
/// of candidates for each makes that one pass over the rows, however wide the tube is.
struct Range<'a> {
    signal: &'a SignalSamples<'a>,
    reach: f64,
    next: usize,
    lowest: VecDeque<usize>,
    highest: VecDeque<usize>,
}

impl<'a> Range<'a> {
    fn new(signal: &'a SignalSamples<'a>, reach: f64) -> Range<'a> {
        Range { signal, reach, next: 0, lowest: VecDeque::new(), highest: VecDeque::new() }
    }

    fn at(&mut self, t: f64) -> (f64, f64) {
        let SignalSamples { times, values } = *self.signal;
        let (begin, end) = (t - self.reach, t + self.reach);
        while self.next < times.len() && times[self.next] <= end {
            let row = self.next;
            while self.lowest.back().is_some_and(|back| values[*back] >= values[row]) {
                self.lowest.pop_back();
            }
            self.lowest.push_back(row);
            while self.highest.back().is_some_and(|back| values[*back] <= values[row]) {
                self.highest.pop_back();
            }
            self.highest.push_back(row);
            self.next += 1;
        }
        for queue in [&mut self.lowest, &mut self.highest] {
            while queue.front().is_some_and(|front| times[*front] < begin) {
                queue.pop_front();
            }
        }
        // Rows, and the ends between them, as far as the signal goes.
        let inside = |t: f64| self.signal.around(t.clamp(times[0], times[times.len() - 1]));
        let ((a, b), (c, d)) = (inside(begin), inside(end));
        let row = |queue: &VecDeque<usize>| queue.front().map(|row| values[*row]);
        let low = row(&self.lowest).unwrap_or(a).min(a).min(b).min(c).min(d);
        let high = row(&self.highest).unwrap_or(a).max(a).max(b).max(c).max(d);
        (low, high)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against looking at all rows, for many widths.
    #[test]
    fn the_range_is_that_of_all_rows_in_reach() {
        let times: Vec<f64> = (0..200).map(|k| f64::from(k * k % 7 + 7 * k) / 70.0).collect();
        let values: Vec<f64> = (0..200).map(|k| f64::from(k * 37 % 101)).collect();
        let mut order: Vec<usize> = (0..200).collect();
        order.sort_by(|a, b| times[*a].total_cmp(&times[*b]));
        let (times, values): (Vec<f64>, Vec<f64>) = order.iter().map(|k| (times[*k], values[*k])).unzip();
        let signal = SignalSamples { times: &times, values: &values };
        for reach in [0.0, 0.05, 0.3, 2.0, 100.0] {
            let mut range = Range::new(&signal, reach);
            for k in 0..400 {
                let t = times[199] * f64::from(k) / 399.0;
                let (begin, end) = ((t - reach).max(times[0]), (t + reach).min(times[199]));
                let rows =
                    (0..200).filter(|row| times[*row] >= begin && times[*row] <= end).map(|row| values[row]);
                let (a, b) = signal.around(begin);
                let (c, d) = signal.around(end);
                let all: Vec<f64> = rows.chain([a, b, c, d]).collect();
                let low = all.iter().copied().fold(f64::INFINITY, f64::min);
                let high = all.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                assert_eq!(range.at(t), (low, high), "{reach} at {t}");
            }
        }
    }
}
