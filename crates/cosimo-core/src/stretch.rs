//! Control of the delay at an end of a line, used by the engine and by FMUs that control their end themselves. The caller
//! holds the factor.
//! Source: Braun, Hällqvist & Fritzson 2023, Fig. 2.

/// After so many steps in a row that are shorter than the shortest delay although a longer one is allowed, the simulator's
/// own accuracy limits its steps, and longer delays are of no use.
const USELESS: u32 = 200;

/// Doubles the factor of a delay while its end is steady, halves it when it moves.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stretch {
    /// The largest factor.
    pub most: f64,
    /// Seconds after the last movement before the factor grows.
    pub hold: f64,
    moved: f64,
    short_steps: u32,
    useless: bool,
}

impl Stretch {
    /// With the largest factor, and seconds to wait after a movement.
    pub fn new(most: f64, hold: f64) -> Stretch {
        Stretch { most, hold, moved: f64::NEG_INFINITY, short_steps: 0, useless: false }
    }

    /// The factor after a step in which the end moved.
    pub fn shorter(factor: f64) -> f64 {
        (0.5 * factor).max(1.0).min(factor)
    }

    /// The factor from the next step on, after an accepted step of `step` seconds to `t`. `delay` is the shortest one; the
    /// factor grows only where it is `free` to.
    pub fn after(&mut self, factor: f64, still: bool, (t, step): (f64, f64), delay: f64, free: bool) -> f64 {
        if !still {
            self.moved = t;
            self.short_steps = 0;
            // Only where the step could not be rolled back.
            return Stretch::shorter(factor);
        }
        if self.useless {
            return factor;
        }
        // Two steps make up a doubled delay: with shorter steps the delay is not what limits them.
        self.short_steps = if factor > 1.0 && step < delay { self.short_steps + 1 } else { 0 };
        if self.short_steps > USELESS {
            self.useless = true;
            return 1.0;
        }
        let grows = free && t - self.moved >= self.hold && factor < self.most;
        if grows { (2.0 * factor).min(self.most) } else { factor }
    }

    /// It gave up: steps stayed shorter than the shortest delay.
    pub fn is_useless(&self) -> bool {
        self.useless
    }

    /// Its memory as plain numbers, for saved states.
    pub fn numbers(&self) -> [f64; 3] {
        [self.moved, f64::from(self.short_steps), f64::from(u8::from(self.useless))]
    }

    /// To load what [`Stretch::numbers`] gave.
    pub fn set_numbers(&mut self, [moved, short_steps, useless]: [f64; 3]) {
        (self.moved, self.short_steps, self.useless) = (moved, short_steps as u32, useless != 0.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_factor_doubles_while_nothing_moves_waits_after_a_movement_and_never_passes_its_bounds() {
        let mut stretch = Stretch::new(20.0, 0.5);
        let (mut factor, mut seen) = (1.0, Vec::new());
        for step in 1..=14 {
            // It moves at 7 s.
            factor = stretch.after(factor, step != 7, (f64::from(step), 1.0), 1.0, step != 3);
            seen.push(factor);
        }
        assert_eq!(seen, [2.0, 4.0, 4.0, 8.0, 16.0, 20.0, 10.0, 20.0, 20.0, 20.0, 20.0, 20.0, 20.0, 20.0]);
        assert_eq!([20.0, 3.0, 1.5, 1.0, 0.3].map(Stretch::shorter), [10.0, 1.5, 1.0, 1.0, 0.3]);
        // It moved at 15 s, and must wait.
        factor = stretch.after(4.0, false, (15.0, 1.0), 1.0, true);
        assert_eq!((factor, stretch.after(factor, true, (15.4, 1.0), 1.0, true)), (2.0, 2.0));
        assert_eq!(stretch.after(factor, true, (15.6, 1.0), 1.0, true), 4.0);
    }

    #[test]
    fn a_delay_that_limits_nothing_is_not_stretched_for_long() {
        let mut stretch = Stretch::new(8.0, 0.0);
        let mut factor = 4.0;
        for step in 0..=USELESS {
            assert!(!stretch.is_useless());
            factor = stretch.after(factor, true, (f64::from(step), 0.1), 1.0, true);
        }
        assert_eq!((factor, stretch.is_useless()), (1.0, true));
        let mut copy = Stretch::new(8.0, 0.0);
        copy.set_numbers(stretch.numbers());
        assert_eq!(copy, stretch);
        assert_eq!(stretch.after(1.0, true, (500.0, 1.0), 1.0, true), 1.0);
    }
}
