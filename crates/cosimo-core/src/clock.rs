//! The only arithmetic on time. Equal sizes in a row give `anchor + n * size`, never a running sum, so that
//! a million steps of 1 us end at 1 s and not beside it.

use crate::time::{Time, Window};

/// What may cut a window short.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Limit {
    /// Run to the first point at or past the end: nothing is cut.
    None,
    /// The window ends here at the latest.
    At(Time),
}

/// Two instants closer than this part of a step are the same instant: rounding must not leave a step of
/// 1e-17 s behind.
const SAME: f64 = 1e-9;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Clock {
    now: Time,
    anchor: Time,
    count: u64,
    size: f64,
}

impl Clock {
    pub fn starting_at(start: Time) -> Clock {
        Clock { now: start, anchor: start, count: 0, size: 0.0 }
    }

    #[inline]
    pub fn now(&self) -> Time {
        self.now
    }

    /// The next window of the given size, cut at the limit.
    #[inline]
    pub fn window(&self, size: f64, limit: Limit) -> Window {
        let (anchor, count) = if size == self.size { (self.anchor, self.count) } else { (self.now, 0) };
        let to = anchor.seconds() + (count + 1) as f64 * size;
        let mut window = Window { from: self.now, to: time(to), size };
        if let Limit::At(end) = limit {
            let beyond = to - end.seconds();
            if beyond.abs() <= SAME * size {
                window.to = end;
            } else if beyond > 0.0 {
                window.to = end;
                window.size = end.seconds() - self.now.seconds();
            }
        }
        window
    }

    /// Takes the window as done. It must be one that this clock made.
    #[inline]
    pub fn accept(&mut self, window: Window) {
        if window.size != self.size {
            *self = Clock { now: self.now, anchor: self.now, count: 0, size: window.size };
        }
        self.count += 1;
        self.now = window.to;
    }

    /// Whether equal steps from the start end at the stop, so that none is cut.
    pub fn divides(size: f64, start: Time, stop: Time) -> bool {
        let count = ((stop.seconds() - start.seconds()) / size).round();
        (start.seconds() + count * size - stop.seconds()).abs() <= SAME * size
    }

    /// Whether the end is reached, up to rounding.
    pub fn reached(&self, end: Time) -> bool {
        self.now.seconds() >= end.seconds() - SAME * self.size
    }

    /// The clock as numbers, for checkpoints.
    pub fn save(&self) -> [f64; 4] {
        [self.now.seconds(), self.anchor.seconds(), self.count as f64, self.size]
    }

    /// The inverse of [`Clock::save`]; counts are exact up to 2^53 steps.
    pub fn load(saved: [f64; 4]) -> Option<Clock> {
        Some(Clock {
            now: Time::new(saved[0])?,
            anchor: Time::new(saved[1])?,
            count: saved[2] as u64,
            size: saved[3],
        })
    }
}

/// Instants `start + n * every`, of which each strikes once: at the first communication point at or past it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Beat {
    start: Time,
    every: f64,
    next: u64,
}

impl Beat {
    /// `every` is above zero.
    pub fn new(start: Time, every: f64) -> Beat {
        Beat { start, every, next: 0 }
    }

    /// How many instants are behind, for checkpoints.
    pub fn count(&self) -> u64 {
        self.next
    }

    /// As after that many instants.
    #[must_use]
    pub fn after(self, count: u64) -> Beat {
        Beat { next: count, ..self }
    }

    fn reached(&self, clock: &Clock) -> bool {
        clock.reached(time(self.start.seconds() + self.next as f64 * self.every))
    }

    /// Whether an instant was reached since the last call; several count as one.
    #[inline]
    pub fn strikes(&mut self, clock: &Clock) -> bool {
        if !self.reached(clock) {
            return false;
        }
        let passed = (clock.now.seconds() - self.start.seconds()) / self.every;
        self.next = self.next.max(passed as u64);
        // Rounding may put the quotient beside a whole number; the comparison decides.
        while self.reached(clock) {
            self.next += 1;
        }
        true
    }
}

/// Sizes are checked before they get here, so a NaN can only be our own bug; infinity keeps the order total.
fn time(seconds: f64) -> Time {
    debug_assert!(!seconds.is_nan(), "a window was asked for with a NaN size");
    Time::new(seconds).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(clock: &mut Clock, size: f64, limit: Limit, steps: usize) {
        for _ in 0..steps {
            let window = clock.window(size, limit);
            clock.accept(window);
        }
    }

    #[test]
    fn trap_t6_a_million_equal_steps_do_not_drift() {
        let mut clock = Clock::starting_at(Time::ZERO);
        run(&mut clock, 1e-6, Limit::None, 1_000_000);
        assert_eq!(clock.now().seconds(), 1.0);
    }

    #[test]
    fn the_end_of_one_window_is_the_start_of_the_next_bit_for_bit() {
        let mut clock = Clock::starting_at(Time::ZERO);
        for n in 0..1000 {
            let window = clock.window(if n % 3 == 0 { 0.1 } else { 0.07 }, Limit::None);
            assert_eq!(window.from.seconds().to_bits(), clock.now().seconds().to_bits());
            clock.accept(window);
            assert_eq!(window.to.seconds().to_bits(), clock.now().seconds().to_bits());
        }
    }

    #[test]
    fn a_size_divides_a_run_if_no_window_is_cut() {
        for (size, start, stop, whole) in
            [(0.1, 0.0, 0.3, true), (0.1, 0.0, 0.25, false), (1e-3, 5.0, 6.0, true), (0.2, 0.0, 0.1, false)]
        {
            let (start, stop) = (Time::new(start).unwrap(), Time::new(stop).unwrap());
            assert_eq!(Clock::divides(size, start, stop), whole, "{size}");
            let mut clock = Clock::starting_at(start);
            let mut cut = false;
            while !clock.reached(stop) {
                let window = clock.window(size, Limit::At(stop));
                cut |= window.size != size;
                clock.accept(window);
            }
            assert_eq!(cut, !whole, "{size}");
        }
    }

    #[test]
    fn rounding_at_the_end_neither_shortens_the_step_nor_leaves_a_crumb() {
        let end = Time::new(0.3).unwrap();
        let mut clock = Clock::starting_at(Time::ZERO);
        run(&mut clock, 0.1, Limit::At(end), 2);
        let last = clock.window(0.1, Limit::At(end)); // 3 * 0.1 = 0.30000000000000004
        assert_eq!((last.to, last.size), (end, 0.1));
        clock.accept(last);
        assert!(clock.reached(end));
    }

    /// The points of a run of equal steps at which a beat strikes.
    fn struck(start: f64, size: f64, every: f64, steps: usize) -> Vec<usize> {
        let start = Time::new(start).unwrap();
        let (mut clock, mut beat) = (Clock::starting_at(start), Beat::new(start, every));
        let mut points = Vec::new();
        for point in 0..=steps {
            if beat.strikes(&clock) {
                points.push(point);
            }
            run(&mut clock, size, Limit::None, 1);
        }
        points
    }

    #[test]
    fn a_beat_strikes_at_the_first_point_at_or_past_each_multiple() {
        assert_eq!(struck(0.0, 0.1, 0.3, 9), [0, 3, 6, 9]); // 3 * 0.1 is above 0.3, 0.1 * 7 is below 0.7
        assert_eq!(struck(0.0, 0.1, 0.25, 9), [0, 3, 5, 8]);
        assert_eq!(struck(5.0, 0.1, 0.25, 5), [0, 3, 5]);
        assert_eq!(struck(0.0, 0.1, 0.01, 3), [0, 1, 2, 3]);
        let fine = struck(0.0, 1e-6, 1e-3, 1_000_000);
        assert!(fine.len() == 1001 && fine.iter().enumerate().all(|(n, point)| n * 1000 == *point));
    }

    #[test]
    fn a_window_past_the_end_is_cut_to_it() {
        let end = Time::new(0.25).unwrap();
        let mut clock = Clock::starting_at(Time::ZERO);
        run(&mut clock, 0.1, Limit::At(end), 2);
        let last = clock.window(0.1, Limit::At(end));
        assert_eq!((last.from.seconds(), last.to, last.size), (0.2, end, 0.25 - 0.2));
    }
}
