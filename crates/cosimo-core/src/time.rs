//! Instants and windows. Arithmetic on time lives in `clock.rs` alone.

use std::cmp::Ordering;
use std::fmt;

/// Simulated time in seconds. Never NaN, hence totally ordered.
#[derive(Debug, Clone, Copy, Default)]
pub struct Time(f64);

impl Time {
    /// 0 s.
    pub const ZERO: Time = Time(0.0);

    /// `None` for NaN.
    pub fn new(seconds: f64) -> Option<Time> {
        (!seconds.is_nan()).then_some(Time(seconds))
    }

    /// As a plain number.
    #[inline]
    pub fn seconds(self) -> f64 {
        self.0
    }
}

impl PartialEq for Time {
    fn eq(&self, other: &Time) -> bool {
        self.0 == other.0
    }
}

impl Eq for Time {}

impl PartialOrd for Time {
    fn partial_cmp(&self, other: &Time) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Time {
    fn cmp(&self, other: &Time) -> Ordering {
        self.0.partial_cmp(&other.0).unwrap_or(Ordering::Equal)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} s", self.0)
    }
}

/// One macro step. `size` is the exact step size, `to - from` the same after rounding: methods use `size`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Window {
    /// The communication point at its start.
    pub from: Time,
    /// The next communication point.
    pub to: Time,
    /// In seconds.
    pub size: f64,
}

impl fmt::Display for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} to {} s", self.from.0, self.to.0)
    }
}
