//! What all simulators with ends of transmission lines need, whatever their equations.

use crate::line::LineEnd;

/// Efforts at an instant, from the flows among the outputs there. No such flow depends on an effort.
pub fn apply_line_efforts(ends: &[LineEnd<'_>], t: f64, outputs: &[f64], inputs: &mut [f64]) {
    for end in ends {
        inputs[end.effort] = end.effort(t, outputs[end.flow]);
    }
}

/// Delay and impedance of each end in the last step, by the input that is its effort. They are part of the equations
/// that are integrated, and rewound with the rest.
#[derive(Debug, Clone, PartialEq)]
pub struct Tuning(Vec<[f64; 2]>);

/// An input that is no effort.
const NONE: [f64; 2] = [0.0; 2];

impl Tuning {
    /// For a simulator with so many inputs, before its first step.
    pub fn new(inputs: usize) -> Tuning {
        Tuning(vec![NONE; inputs])
    }

    /// Whether the equations of the next step, with `ends`, differ from those of the last step.
    pub fn differs(&mut self, ends: &[LineEnd<'_>]) -> bool {
        let mut differs = false;
        for (input, last) in self.0.iter_mut().enumerate() {
            let end = ends.iter().find(|end| end.effort == input);
            let now = end.map_or(NONE, |end| [end.delay, end.impedance]);
            differs |= *last != now;
            *last = now;
        }
        differs
    }

    /// Whether this input was the effort of an end.
    pub fn holds(&self, input: usize) -> bool {
        self.0[input] != NONE
    }

    /// For save and restore.
    pub fn copy_from(&mut self, other: &Tuning) {
        self.0.copy_from_slice(&other.0);
    }

    /// As plain numbers, for saved states.
    pub fn numbers(&self) -> &[f64] {
        self.0.as_flattened()
    }

    /// To load what [`Tuning::numbers`] gave.
    pub fn numbers_mut(&mut self) -> &mut [f64] {
        self.0.as_flattened_mut()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line::{Repay, Stamp, StampInterpolation, StampTable};

    #[test]
    fn efforts_follow_flows_and_a_change_of_delay_or_impedance_is_noticed_once() {
        let first = Stamp { effort: 3.0, ..Stamp::default() };
        let table = StampTable::new(first, StampInterpolation::Linear);
        let end = |delay: f64, impedance: f64| LineEnd {
            effort: 1,
            flow: 0,
            sign: -1.0,
            scale: 1.0,
            table: &table,
            own: &table,
            delay,
            impedance,
            from: 0.0,
            repay: Repay::default(),
            most: 1.0,
        };
        let mut inputs = [7.0, f64::NAN];
        apply_line_efforts(&[end(0.1, 2.0)], 0.05, &[4.0], &mut inputs);
        assert_eq!(inputs, [7.0, 3.0 - 8.0]);

        let mut tuning = Tuning::new(2);
        let noticed: Vec<bool> = [(0.1, 2.0), (0.1, 2.0), (0.2, 2.0), (0.2, 4.0), (0.2, 4.0)]
            .map(|(delay, impedance)| tuning.differs(&[end(delay, impedance)]))
            .to_vec();
        assert_eq!(noticed, [true, false, true, true, false]);
        assert!(!tuning.holds(0) && tuning.holds(1));
        assert_eq!(tuning.numbers(), [0.0, 0.0, 0.2, 4.0]);
        assert!(tuning.differs(&[]) && !tuning.differs(&[]) && !tuning.holds(1));
    }
}
