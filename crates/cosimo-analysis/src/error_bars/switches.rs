//! Signals that switch between few values are compared by the instants at which they do, not by values: a relay that
//! switches a moment later is wrong by all of its range for that moment, and hardly wrong at all.

use cosimo_core::{Port, ValueType};

/// A real signal with at most so many different values switches.
const VALUES: usize = 8;
/// Beyond so many switches a signal is compared by its values.
const SWITCHES: usize = 100_000;

/// The values of one signal and the instants at which they changed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Switches {
    /// Any number of different values is allowed: integers and booleans.
    typed: bool,
    values: Vec<f64>,
    /// Each with the value afterwards.
    pub(crate) changes: Vec<(f64, f64)>,
    /// Too many values or changes.
    given_up: bool,
    now: f64,
}

/// How the switching instants of two runs differ.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum SwitchDifference {
    /// The same sequence of values, and the largest distance of two instants, in seconds.
    Shifted { most: f64, at: f64 },
    /// Different sequences, from this instant on.
    Others { at: f64 },
}

impl Switches {
    pub(crate) fn new(port: Option<&Port>) -> Switches {
        Switches {
            typed: port.is_some_and(|port| port.value_type != ValueType::Real),
            values: Vec::new(),
            changes: Vec::new(),
            given_up: false,
            now: f64::NAN,
        }
    }

    #[inline]
    pub(crate) fn add(&mut self, time: f64, value: f64) {
        if value.to_bits() != self.now.to_bits() && !self.given_up {
            self.change(time, value);
        }
    }

    #[cold]
    fn change(&mut self, time: f64, value: f64) {
        if !self.values.is_empty() {
            self.changes.push((time, value));
        }
        self.now = value;
        if self.values.is_empty() || !self.typed && !self.values.contains(&value) {
            self.values.push(value);
        }
        if self.values.len() > VALUES || self.changes.len() > SWITCHES {
            self.give_up();
        }
    }

    /// It has too many values or changes.
    pub(crate) fn give_up(&mut self) {
        *self = Switches { given_up: true, changes: Vec::new(), values: Vec::new(), ..*self };
    }

    /// Whether it may still be one that switches.
    pub(crate) fn is_watched(&self) -> bool {
        !self.given_up
    }

    /// Whether it is to be compared by instants.
    pub(crate) fn switch(&self) -> bool {
        !self.given_up && !self.changes.is_empty()
    }

    /// Of what follows after `end`, one of the two may have seen nothing yet.
    pub(crate) fn difference(&self, other: &Switches, end: f64) -> SwitchDifference {
        let (mut most, mut at) = (0.0, f64::NAN);
        let pairs = self.changes.iter().zip(&other.changes);
        for ((mine, value), (theirs, other)) in pairs {
            if value.to_bits() != other.to_bits() {
                return SwitchDifference::Others { at: *mine };
            }
            if (mine - theirs).abs() > most {
                (most, at) = ((mine - theirs).abs(), *mine);
            }
        }
        let (mine, theirs) = (self.changes.len(), other.changes.len());
        if mine != theirs || other.given_up {
            let longer = if mine > theirs { &self.changes } else { &other.changes };
            let at = longer.get(mine.min(theirs)).map_or(f64::NAN, |(at, _)| *at);
            if at.is_nan() || at < end - 2.0 * most {
                return SwitchDifference::Others { at };
            }
        }
        SwitchDifference::Shifted { most, at }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(port: Option<&Port>, values: &[(f64, f64)]) -> Switches {
        let mut switches = Switches::new(port);
        values.iter().for_each(|(time, value)| switches.add(*time, *value));
        switches
    }

    #[test]
    fn a_relay_is_compared_by_its_instants_and_a_ramp_is_not() {
        let relay = of(None, &[(0.0, 1.0), (1.0, 1.0), (2.0, -1.0), (3.0, 1.0)]);
        let late = of(None, &[(0.0, 1.0), (2.5, -1.0), (3.25, 1.0)]);
        assert!(relay.switch());
        assert_eq!(relay.difference(&late, 9.0), SwitchDifference::Shifted { most: 0.5, at: 2.0 });
        let fewer = of(None, &[(0.0, 1.0), (2.0, -1.0)]);
        assert_eq!(relay.difference(&fewer, 9.0), SwitchDifference::Others { at: 3.0 });
        // It may switch just after the end of the run.
        assert!(matches!(relay.difference(&fewer, 2.9), SwitchDifference::Shifted { most: 0.0, .. }));
        let other = of(None, &[(0.0, 1.0), (2.0, 2.0), (3.0, 1.0)]);
        assert_eq!(relay.difference(&other, 9.0), SwitchDifference::Others { at: 2.0 });
        let ramp: Vec<(f64, f64)> = (0..20).map(|k| (f64::from(k), f64::from(k))).collect();
        assert!(!of(None, &ramp).switch());
        assert!(!of(None, &[(0.0, 3.0), (1.0, 3.0)]).switch());
        let counter = Port { value_type: ValueType::Integer, ..Port::new("n", "", "") };
        assert_eq!(of(Some(&counter), &ramp).changes.len(), 19);
    }
}
