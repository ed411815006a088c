//! A run that keeps pace with the wall clock. It only waits: no number depends on it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// Longest sleep in one piece, so that Ctrl-C is heard.
const PIECE: Duration = Duration::from_millis(50);

/// Lateness is counted in classes, each this much wider than the one before, from a nanosecond on: 2.3 % is closer than
/// any two runs come.
const CLASSES_PER_DECADE: f64 = 100.0;
const DECADES: usize = 14;
const SMALLEST: f64 = 1e-9;

pub(crate) struct Pace {
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

impl Pace {
    /// `from` is the simulated time at which the wall clock starts.
    pub(crate) fn new(factor: f64, from: f64) -> Pace {
        let classes = vec![0; DECADES * CLASSES_PER_DECADE as usize + 1];
        Pace { factor, begun: Instant::now(), from, points: 0, late: 0, latest: 0.0, classes, warned: false }
    }

    /// Waits until the wall clock has come to the simulated time, or somebody wants to stop.
    pub(crate) fn wait(&mut self, time: f64, stop: &AtomicBool) {
        let due = (time - self.from) / self.factor;
        let behind = |now: f64| now - due;
        let reached = behind(self.begun.elapsed().as_secs_f64());
        if reached > 0.0 {
            self.late += 1;
            if !self.warned {
                self.warned = true;
                eprintln!(
                    "remark: the step to t = {time} s came {} too late: it takes longer than {} leaves it",
                    seconds(reached),
                    self.words()
                );
            }
        }
        while !stop.load(Ordering::Relaxed) {
            let rest = -behind(self.begun.elapsed().as_secs_f64());
            if rest <= 0.0 {
                break;
            }
            std::thread::sleep(PIECE.min(Duration::from_secs_f64(rest.min(1.0))));
        }
        let lateness = behind(self.begun.elapsed().as_secs_f64()).max(0.0);
        self.points += 1;
        self.latest = self.latest.max(lateness);
        let class = ((lateness / SMALLEST).max(1.0).log10() * CLASSES_PER_DECADE) as usize;
        let last = self.classes.len() - 1;
        self.classes[class.min(last)] += 1;
    }

    /// The lateness that a share of all points does not exceed.
    fn quantile(&self, share: f64) -> f64 {
        let wanted = (share * self.points as f64).ceil() as u64;
        let mut seen = 0;
        for (class, count) in self.classes.iter().enumerate() {
            seen += count;
            if seen >= wanted {
                let upper = SMALLEST * 10f64.powf((class + 1) as f64 / CLASSES_PER_DECADE);
                return upper.min(self.latest);
            }
        }
        self.latest
    }

    fn late_share(&self) -> f64 {
        if self.points == 0 { 0.0 } else { self.late as f64 / self.points as f64 }
    }

    fn words(&self) -> String {
        if self.factor == 1.0 { "real time".into() } else { format!("{} times real time", self.factor) }
    }

    pub(crate) fn line(&self) -> String {
        format!(
            "kept to {}: lateness p50 {}, p99 {}, max {}; {:.2} % of the steps came too late",
            self.words(),
            seconds(self.quantile(0.5)),
            seconds(self.quantile(0.99)),
            seconds(self.latest),
            100.0 * self.late_share()
        )
    }

    pub(crate) fn json(&self) -> Value {
        json!({
            "factor": self.factor,
            "lateness_p50": self.quantile(0.5),
            "lateness_p99": self.quantile(0.99),
            "lateness_max": self.latest,
            "late_steps": self.late,
            "late_share": self.late_share(),
        })
    }
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
        let stop = AtomicBool::new(false);
        let mut pace = Pace::new(10.0, 5.0);
        let begun = Instant::now();
        pace.wait(7.0, &stop);
        assert!(begun.elapsed() >= Duration::from_millis(200));
        pace.wait(5.1, &stop); // its time is over
        assert_eq!((pace.points, pace.late), (2, 1));
        assert!(pace.latest >= 0.01 && pace.quantile(1.0) <= pace.latest);
        assert!(pace.quantile(0.5) <= pace.quantile(0.99));
    }

    #[test]
    fn nobody_waits_who_wants_to_stop() {
        let begun = Instant::now();
        Pace::new(1.0, 0.0).wait(60.0, &AtomicBool::new(true));
        assert!(begun.elapsed() < Duration::from_secs(30));
    }

    #[test]
    fn quantiles_are_as_close_as_their_classes() {
        let mut pace = Pace::new(1.0, 0.0);
        for micros in 1..=1000u32 {
            let lateness = f64::from(micros) * 1e-6;
            pace.points += 1;
            pace.latest = pace.latest.max(lateness);
            pace.classes[((lateness / SMALLEST).log10() * CLASSES_PER_DECADE) as usize] += 1;
        }
        assert!((pace.quantile(0.5) / 500e-6 - 1.0).abs() < 0.03);
        assert!((pace.quantile(0.99) / 990e-6 - 1.0).abs() < 0.03);
    }
}
