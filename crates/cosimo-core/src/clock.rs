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

impl Limit {
    /// The earlier of this limit and `at`.
    #[must_use]
    pub fn and(self, at: Time) -> Limit {
        match self {
            Limit::None => Limit::At(at),
            Limit::At(known) => Limit::At(known.min(at)),
        }
    }
}

/// Two instants closer than this part of a step are the same instant: rounding must not leave a step of
/// 1e-17 s behind.
const SAME: f64 = 1e-9;

/// Simulated time of one run or island, and the grid of equal steps that it is on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Clock {
    now: Time,
    anchor: Time,
    count: u64,
    size: f64,
}

impl Clock {
    /// A clock at the start of a run.
    pub fn starting_at(start: Time) -> Clock {
        Clock { now: start, anchor: start, count: 0, size: 0.0 }
    }

    /// The current communication point.
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

    /// The step of a multi-rate simulator with the step size `every` at this communication point: the window, if the macro
    /// step `whole` that it is part of is no shorter than `every`, else its own step, cut at the limit.
    pub fn own(&self, every: f64, window: Window, whole: f64, limit: Limit) -> Window {
        if whole >= every * (1.0 - SAME) { window } else { self.window(every, limit) }
    }

    /// Moves to the end of a window, which must come from this clock.
    #[inline]
    pub fn accept(&mut self, window: Window) {
        if window.size != self.size {
            *self = Clock { now: self.now, anchor: self.now, count: 0, size: window.size };
        }
        self.count += 1;
        self.now = window.to;
    }

    /// Whether equal steps from the start end at the stop, so that no step is cut.
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

/// Detects a run that makes no progress, such as one where an event is announced again and again just ahead.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StallDetector {
    shortest: f64,
    count: u32,
}

impl StallDetector {
    /// Allowed number of too short steps in a row: more than steep transients need, and few enough for slow FMUs.
    pub const MOST: u32 = 100_000;
    /// Steps below this fraction of the run would be more than any run can take.
    const PART: f64 = 1e-12;

    /// For a run between two instants, in seconds; a run without an end never stalls.
    pub fn between(start: f64, stop: f64) -> StallDetector {
        let span = stop - start;
        StallDetector { shortest: if span.is_finite() { StallDetector::PART * span } else { 0.0 }, count: 0 }
    }

    /// Steps below this are counted, in seconds.
    pub fn shortest(&self) -> f64 {
        self.shortest
    }

    /// Counts a step; true after too many short steps in a row.
    #[inline]
    pub fn is_stalled(&mut self, size: f64) -> bool {
        if size >= self.shortest {
            self.count = 0;
            return false;
        }
        self.count += 1;
        self.count >= StallDetector::MOST
    }
}

/// Whether an instant is at the end of a step, up to rounding: grids of different step sizes do not meet exactly.
pub fn has_reached_end(at: Time, step: Window) -> bool {
    at.seconds() >= step.to.seconds() - SAME * step.size
}

/// How many equal steps of at most `size` make up the window, and the size of each: `size` itself where it divides it.
pub fn parts(window: Window, size: f64) -> (u64, f64) {
    let count = (window.size / size * (1.0 - SAME)).ceil().max(1.0);
    let each = window.size / count;
    (count as u64, if (each - size).abs() <= SAME * size { size } else { each })
}

/// One of the steps that [`parts`] found; the window itself where there is only one.
pub fn part(window: Window, (count, size): (u64, f64), index: u64) -> Window {
    if count == 1 {
        return window;
    }
    let place = |index: u64| match index {
        0 => window.from,
        _ if index == count => window.to,
        _ => time(window.from.seconds() + index as f64 * size),
    };
    Window { from: place(index), to: place(index + 1), size }
}

/// Whether one of two sizes is a whole multiple of the other, up to rounding.
pub fn fits(one: f64, other: f64) -> bool {
    let ratio = one.max(other) / one.min(other);
    (ratio - ratio.round()).abs() <= SAME * ratio
}

/// Instants `start + n * every`; each is due once, at the first communication point at or past it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OutputGrid {
    start: Time,
    every: f64,
    next: u64,
}

impl OutputGrid {
    /// `every` is above zero.
    pub fn new(start: Time, every: f64) -> OutputGrid {
        OutputGrid { start, every, next: 0 }
    }

    /// How many instants have passed, for checkpoints.
    pub fn count(&self) -> u64 {
        self.next
    }

    /// The same grid after that many instants.
    #[must_use]
    pub fn after(self, count: u64) -> OutputGrid {
        OutputGrid { next: count, ..self }
    }

    fn reached(&self, clock: &Clock) -> bool {
        clock.reached(time(self.start.seconds() + self.next as f64 * self.every))
    }

    /// Whether an instant was reached since the last call; several count as one.
    #[inline]
    pub fn is_due(&mut self, clock: &Clock) -> bool {
        if !self.reached(clock) {
            return false;
        }
        let passed = (clock.now.seconds() - self.start.seconds()) / self.every;
        self.next = self.next.max(passed as u64);
        // Rounding may put the quotient beside a whole number; the comparison decides. Of instants that cannot be counted
        // one is due at every communication point.
        while self.next < u64::MAX && self.reached(clock) {
            self.next += 1;
        }
        true
    }
}

/// Sizes are checked before, so NaN can only be a bug in this crate; infinity keeps the order total.
fn time(seconds: f64) -> Time {
    debug_assert!(!seconds.is_nan(), "a window was asked for with a NaN size");
    Time::new(seconds).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_that_cannot_be_counted_are_due_at_every_point() {
        let mut grid = OutputGrid::new(Time::default(), 1e-300);
        let mut clock = Clock::starting_at(Time::default());
        for _ in 0..3 {
            clock.accept(clock.window(0.1, Limit::None));
            assert!(grid.is_due(&clock));
        }
    }

    #[test]
    fn only_many_short_steps_in_a_row_are_a_stall() {
        let mut detector = StallDetector::between(0.0, 2.0);
        for size in [1e-13, 2.1e-12].repeat(StallDetector::MOST as usize) {
            assert!(!detector.is_stalled(size));
        }
        assert!((1..StallDetector::MOST).all(|_| !detector.is_stalled(1e-300)) && detector.is_stalled(0.0));
        assert!(!StallDetector::between(0.0, f64::INFINITY).is_stalled(0.0));
    }

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
    fn rounding_at_the_end_neither_shortens_the_step_nor_leaves_a_tiny_one() {
        let end = Time::new(0.3).unwrap();
        let mut clock = Clock::starting_at(Time::ZERO);
        run(&mut clock, 0.1, Limit::At(end), 2);
        let last = clock.window(0.1, Limit::At(end)); // 3 * 0.1 = 0.30000000000000004
        assert_eq!((last.to, last.size), (end, 0.1));
        clock.accept(last);
        assert!(clock.reached(end));
    }

    /// The communication points of a run of equal steps at which a grid is due.
    fn due_points(start: f64, size: f64, every: f64, steps: usize) -> Vec<usize> {
        let start = Time::new(start).unwrap();
        let (mut clock, mut grid) = (Clock::starting_at(start), OutputGrid::new(start, every));
        let mut points = Vec::new();
        for point in 0..=steps {
            if grid.is_due(&clock) {
                points.push(point);
            }
            run(&mut clock, size, Limit::None, 1);
        }
        points
    }

    #[test]
    fn a_grid_is_due_at_the_first_point_at_or_past_each_multiple() {
        assert_eq!(due_points(0.0, 0.1, 0.3, 9), [0, 3, 6, 9]); // 3 * 0.1 is above 0.3, 0.1 * 7 is below 0.7
        assert_eq!(due_points(0.0, 0.1, 0.25, 9), [0, 3, 5, 8]);
        assert_eq!(due_points(5.0, 0.1, 0.25, 5), [0, 3, 5]);
        assert_eq!(due_points(0.0, 0.1, 0.01, 3), [0, 1, 2, 3]);
        let fine = due_points(0.0, 1e-6, 1e-3, 1_000_000);
        assert!(fine.len() == 1001 && fine.iter().enumerate().all(|(n, point)| n * 1000 == *point));
    }

    #[test]
    fn a_window_is_divided_into_equal_steps_or_is_part_of_one() {
        let mut clock = Clock::starting_at(Time::new(0.7).unwrap());
        let window = clock.window(0.1, Limit::None);
        assert_eq!(clock.own(0.1, window, 0.1, Limit::None), window);
        assert_eq!(clock.own(0.02, window, 0.1, Limit::None), window);
        let sizes = parts(window, 0.02);
        assert_eq!(sizes, (5, 0.02));
        let all: Vec<Window> = (0..5).map(|index| part(window, sizes, index)).collect();
        assert_eq!((all[0].from, all[4].to), (window.from, window.to));
        assert!(all.windows(2).all(|pair| pair[0].to == pair[1].from && pair[0].size == 0.02));
        // Those that do not fit are as long as they can be.
        assert_eq!(parts(window, 0.03), (4, 0.1 / 4.0));
        assert_eq!(part(window, parts(window, 0.3), 0), window);
        let own = clock.own(0.3, window, 0.1, Limit::None);
        assert_eq!((own.from, own.size), (window.from, 0.3));
        assert_eq!(clock.own(0.3, window, 0.3, Limit::None), window);
        let end = Time::new(0.85).unwrap();
        assert_eq!(clock.own(0.3, window, 0.1, Limit::At(end)).to, end);
        // Three windows later, whatever the rounding.
        clock.accept(window);
        assert!(!has_reached_end(clock.now(), own));
        run(&mut clock, 0.1, Limit::None, 2);
        assert!(has_reached_end(clock.now(), own));
    }

    #[test]
    fn sizes_fit_if_one_is_a_multiple_of_the_other() {
        for (one, other, fit) in
            [(0.1, 0.3, true), (1e-3, 1e-3, true), (5e-3, 1e-3, true), (2e-3, 3e-3, false)]
        {
            assert_eq!((fits(one, other), fits(other, one)), (fit, fit), "{one} {other}");
        }
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
