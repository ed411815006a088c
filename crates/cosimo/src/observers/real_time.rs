//! A run that keeps pace with the wall clock. It only waits: no number depends on it.

use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::Serialize;

use cosimo_core::math;

use crate::error::Error;
use crate::observer::{Moment, Observer, RunEnd};

/// Longest sleep in one piece, so that Ctrl-C is heard.
const PIECE: Duration = Duration::from_millis(50);

/// Lateness is counted in classes, each this much wider than the one before, from a nanosecond on: 2.3 % is closer than
/// any two runs come.
const CLASSES_PER_DECADE: f64 = 100.0;
const DECADES: usize = 14;
const SMALLEST: f64 = 1e-9;

/// Waits at communication points until the wall clock has come to them.
#[derive(Debug)]
pub struct RealTime {
    /// Simulated seconds per second of the wall clock.
    factor: f64,
    begun: Instant,
    from: f64,
    points: u64,
    /// Points that the computation reached too late.
    late: u64,
    latest: f64,
    classes: Vec<u64>,
    warned: bool,
}

impl RealTime {
    /// `factor` times as fast as the wall clock.
    pub fn new(factor: f64) -> RealTime {
        let classes = vec![0; DECADES * CLASSES_PER_DECADE as usize + 1];
        let begun = Instant::now();
        RealTime { factor, begun, from: 0.0, points: 0, late: 0, latest: 0.0, classes, warned: false }
    }

    /// Waits until the wall clock has come to the simulated time, or a stop is requested. Says how late the first point was
    /// that came too late.
    fn wait(&mut self, time: f64, stop_requested: impl Fn() -> bool) -> Option<f64> {
        let due = (time - self.from) / self.factor;
        let behind = |now: f64| now - due;
        let reached = behind(self.begun.elapsed().as_secs_f64());
        let first = reached > 0.0 && !self.warned;
        if reached > 0.0 {
            self.late += 1;
            self.warned = true;
        }
        while !stop_requested() {
            let rest = -behind(self.begun.elapsed().as_secs_f64());
            if rest <= 0.0 {
                break;
            }
            std::thread::sleep(PIECE.min(Duration::from_secs_f64(rest.min(1.0))));
        }
        let lateness = behind(self.begun.elapsed().as_secs_f64()).max(0.0);
        self.points += 1;
        self.latest = self.latest.max(lateness);
        let class = (math::log10((lateness / SMALLEST).max(1.0)) * CLASSES_PER_DECADE) as usize;
        let last = self.classes.len() - 1;
        self.classes[class.min(last)] += 1;
        first.then_some(reached)
    }

    /// The lateness that a share of all points does not exceed.
    fn quantile(&self, share: f64) -> f64 {
        let wanted = (share * self.points as f64).ceil() as u64;
        let mut seen = 0;
        for (class, count) in self.classes.iter().enumerate() {
            seen += count;
            if seen >= wanted {
                let upper = SMALLEST * math::powf(10.0, (class + 1) as f64 / CLASSES_PER_DECADE);
                return upper.min(self.latest);
            }
        }
        self.latest
    }

    fn late_share(&self) -> f64 {
        if self.points == 0 { 0.0 } else { self.late as f64 / self.points as f64 }
    }

    fn statistics(&self) -> RealTimeStatistics {
        RealTimeStatistics {
            factor: self.factor,
            lateness_p50: self.quantile(0.5),
            lateness_p99: self.quantile(0.99),
            lateness_max: self.latest,
            late_steps: self.late,
            late_share: self.late_share(),
        }
    }
}

impl Observer for RealTime {
    fn step(&mut self, at: &mut Moment<'_>) -> Result<(), Error> {
        let time = at.time();
        if at.is_start() {
            (self.begun, self.from) = (Instant::now(), time);
        } else if let Some(late) = self.wait(time, || at.stop_requested()) {
            at.warn(format!(
                "the step to t = {time} s came {} too late: it takes longer than {} leaves it",
                seconds(late),
                pace(self.factor)
            ));
        }
        Ok(())
    }

    fn end(&mut self, end: &mut RunEnd<'_>) -> Result<(), Error> {
        if let Some((_, outcome)) = &mut end.started {
            outcome.real_time = Some(self.statistics());
        }
        Ok(())
    }
}

/// How late communication points were, in seconds of the wall clock.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[allow(missing_docs)] // doc comments of members become descriptions in the schema
pub struct RealTimeStatistics {
    /// Simulated seconds per second of the wall clock.
    pub factor: f64,
    pub lateness_p50: f64,
    pub lateness_p99: f64,
    pub lateness_max: f64,
    /// Points that the computation reached too late.
    pub late_steps: u64,
    pub late_share: f64,
}

impl std::fmt::Display for RealTimeStatistics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "kept to {}: lateness p50 {}, p99 {}, max {}; {:.2} % of the steps came too late",
            pace(self.factor),
            seconds(self.lateness_p50),
            seconds(self.lateness_p99),
            seconds(self.lateness_max),
            100.0 * self.late_share
        )
    }
}

fn pace(factor: f64) -> String {
    if factor == 1.0 { "real time".into() } else { format!("{factor} times real time") }
}

/// A short time for people.
fn seconds(seconds: f64) -> String {
    match seconds {
        small if small < 1e-3 => format!("{:.0} us", small * 1e6),
        middle if middle < 1.0 => format!("{:.1} ms", middle * 1e3),
        large => format!("{large:.2} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_for_the_wall_clock_and_counts_what_came_late() {
        let mut pace = RealTime { from: 5.0, ..RealTime::new(10.0) };
        let begun = Instant::now();
        pace.wait(7.0, || false);
        assert!(begun.elapsed() >= Duration::from_millis(200));
        pace.wait(5.1, || false); // its time is over
        assert_eq!((pace.points, pace.late), (2, 1));
        assert!(pace.latest >= 0.01 && pace.quantile(1.0) <= pace.latest);
        assert!(pace.quantile(0.5) <= pace.quantile(0.99));
    }

    #[test]
    fn a_requested_stop_ends_the_waiting() {
        let begun = Instant::now();
        RealTime::new(1.0).wait(60.0, || true);
        assert!(begun.elapsed() < Duration::from_secs(30));
    }

    #[test]
    fn quantiles_are_as_close_as_their_classes() {
        let mut pace = RealTime::new(1.0);
        for micros in 1..=1000u32 {
            let lateness = f64::from(micros) * 1e-6;
            pace.points += 1;
            pace.latest = pace.latest.max(lateness);
            pace.classes[(math::log10(lateness / SMALLEST) * CLASSES_PER_DECADE) as usize] += 1;
        }
        assert!((pace.quantile(0.5) / 500e-6 - 1.0).abs() < 0.03);
        assert!((pace.quantile(0.99) / 990e-6 - 1.0).abs() < 0.03);
    }
}
