//! Reads the wall clock only every few steps: reading it costs more than a small step.

use std::time::{Duration, Instant};

/// Steps between two looks, as long as they are faster than this.
const STEPS: u32 = 64;
const FAST: Duration = Duration::from_millis(10);

/// Reads the wall clock every few steps.
#[derive(Debug)]
pub struct Ticker {
    looked: Instant,
    /// Steps until the next look.
    rest: u32,
}

impl Default for Ticker {
    fn default() -> Ticker {
        Ticker { looked: Instant::now(), rest: 1 }
    }
}

impl Ticker {
    /// The time, if it was looked at. To be called after every step.
    pub fn look(&mut self) -> Option<Instant> {
        self.rest -= 1;
        if self.rest > 0 {
            return None;
        }
        let now = Instant::now();
        self.rest = if now - self.looked < FAST { STEPS } else { 1 };
        self.looked = now;
        Some(now)
    }
}
