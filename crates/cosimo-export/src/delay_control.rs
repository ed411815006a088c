//! Control of a line's delay by the FMU itself, FMI 3.0: it detects first whether its end is steady, and can roll back a
//! step of its solver that its importer never saw.
//!
//! Beside an effort `e` there are then `e.D` and `e.Z`, delay and impedance of the shortest line, `e.most`, the largest
//! factor of the delay, and the output `e.kappa`, its current factor: in a callback before a trial step that of the trial
//! step, otherwise that of the last step. While `e.most` is 1 the delay stays constant.
//! Source: Braun, Hällqvist & Fritzson 2023, Fig. 2.

use cosimo_core::line::{Stamp, StampInterpolation, StampTable};
use cosimo_core::method::Steadiness;
use cosimo_core::registry::{Options, Range, Spec, Value};
use cosimo_core::{Segment, Stretch};
use cosimo_methods::steadiness::sliding_window;

/// Inputs of one end between its wave and its impedance: shortest delay, largest factor.
pub(crate) const INPUTS_PER_END: usize = 2;

/// Parameters of the steadiness test, for all ends.
pub(crate) const PARAMETERS: [Spec; 3] = [
    Spec::number(
        "line.window",
        0.01,
        Range::Positive,
        "s",
        "how long a flow into a line must be steady before the delay may grow",
    ),
    Spec::number(
        "line.tolerance",
        0.0,
        Range::NotNegative,
        "",
        "largest change of a steady flow, in its own unit; 0: only line.relative counts",
    ),
    Spec::number(
        "line.relative",
        0.01,
        Range::Positive,
        "",
        "largest change of a steady flow, relative to the largest flow so far",
    ),
];

pub(crate) struct DelayControl {
    test: Box<dyn Steadiness>,
    ends: Vec<ControlledEnd>,
    /// Evaluations of the equations so far, including steps that were rolled back.
    evaluations: f64,
}

/// State of one end.
#[derive(Debug)]
struct ControlledEnd {
    factor: f64,
    stretch: Stretch,
    /// Its values at its steps; empty before the first.
    own: StampTable,
    memory: Vec<f64>,
    /// The same after a step that may be rolled back.
    trial: Vec<f64>,
    still: bool,
    /// The factor of the last step, for the output.
    shown: f64,
}

impl DelayControl {
    /// With values of [`PARAMETERS`].
    pub(crate) fn new(ends: usize, values: &[f64]) -> Result<DelayControl, String> {
        let mut given = vec![("window".to_owned(), Value::Number(values[0]))];
        if values[1] > 0.0 {
            given.push(("tolerance".to_owned(), Value::Number(values[1])));
        }
        given.push(("relative".to_owned(), Value::Number(values[2])));
        let options = Options::resolve("it", sliding_window::ENTRY.options, &given)
            .map_err(|wrong| wrong.into_iter().map(|one| one.message).collect::<Vec<_>>().join("; "))?;
        let test = (sliding_window::ENTRY.build)(&options);
        let memory = vec![0.0; test.memory()];
        let end = || ControlledEnd {
            factor: 1.0,
            stretch: Stretch::new(1.0, 0.0),
            own: StampTable::empty(StampInterpolation::Linear),
            memory: memory.clone(),
            trial: memory.clone(),
            still: false,
            shown: 1.0,
        };
        Ok(DelayControl { ends: (0..ends).map(|_| end()).collect(), test, evaluations: 0.0 })
    }

    /// Values of its outputs: the factor of each end, and the evaluations.
    pub(crate) fn shown(&self) -> impl Iterator<Item = f64> + '_ {
        self.ends.iter().map(|end| end.shown).chain([self.evaluations])
    }

    pub(crate) fn factor(&self, end: usize) -> f64 {
        self.ends[end].factor
    }

    /// Before a step: limits all factors, and returns the smallest delay. `line_inputs` are the inputs of each end.
    pub(crate) fn longest<'a>(&mut self, line_inputs: impl Iterator<Item = &'a [Segment]>) -> f64 {
        let mut longest = f64::INFINITY;
        for (end, line_inputs) in self.ends.iter_mut().zip(line_inputs) {
            let [_, delay, most, impedance] = line_inputs else { continue };
            end.stretch.most = most.start().max(1.0);
            end.factor = end.factor.min(end.stretch.most);
            end.shown = end.factor;
            if impedance.start() != 0.0 && delay.start() > 0.0 {
                longest = longest.min(end.factor * delay.start());
            }
        }
        longest
    }

    /// An end where its first step begins.
    pub(crate) fn begin(&mut self, end: usize, first: Stamp) {
        let ControlledEnd { own, memory, .. } = &mut self.ends[end];
        if own.is_empty() {
            *own = StampTable::new(first, StampInterpolation::Linear);
            self.test.start(&first, memory);
        }
    }

    /// After a step: whether a stretched end is not steady with this sample, so that the step must be rolled back.
    pub(crate) fn judge(&mut self, end: usize, new: &Stamp) -> bool {
        let ControlledEnd { factor, own, memory, trial, still, .. } = &mut self.ends[end];
        trial.copy_from_slice(memory);
        *still = self.test.steady(own.stamps(), new, trial);
        !*still && *factor > 1.0
    }

    /// The step was rolled back; ends that were not steady get shorter.
    pub(crate) fn give_up(&mut self) {
        for end in self.ends.iter_mut().filter(|end| !end.still) {
            end.factor = Stretch::shorter(end.factor);
        }
    }

    /// The step is accepted.
    pub(crate) fn keep(&mut self, end: usize, new: &Stamp, delay: f64) {
        let ControlledEnd { factor, stretch, own, memory, trial, still, shown } = &mut self.ends[end];
        let step = new.t - own.newest().t;
        own.publish(new.t, new.effort, new.flow);
        own.forget_before(new.t - 2.0 * self.test.window());
        std::mem::swap(memory, trial);
        *shown = *factor;
        *factor = stretch.after(*factor, *still, (new.t, step), delay, true);
    }

    pub(crate) fn count(&mut self, evaluations: u64) {
        self.evaluations += evaluations as f64;
    }

    pub(crate) fn serialize(&self, into: &mut Vec<u8>) {
        let mut put = |number: f64| into.extend(number.to_le_bytes());
        put(self.evaluations);
        for ControlledEnd { factor, stretch, own, memory, still, shown, .. } in &self.ends {
            let numbers = [*factor, f64::from(u8::from(*still)), *shown, own.stamps().len() as f64];
            numbers.into_iter().chain(stretch.numbers()).chain(memory.iter().copied()).for_each(&mut put);
            for stamp in own.stamps() {
                let Stamp { t, effort, flow, effort_slope, flow_slope, charge } = *stamp;
                [t, effort, flow, effort_slope, flow_slope, charge].into_iter().for_each(&mut put);
            }
        }
    }

    /// Reads what `serialize` wrote, to be applied once all else is valid, and returns the remaining bytes.
    pub(crate) fn deserialize<'a>(&self, from: &'a [u8]) -> Option<(RestoredControl, &'a [u8])> {
        let mut rest = from;
        let mut take = || -> Option<f64> {
            let (bytes, behind) = rest.split_first_chunk()?;
            rest = behind;
            Some(f64::from_le_bytes(*bytes))
        };
        let evaluations = take()?;
        let mut ends = Vec::new();
        for end in &self.ends {
            let (factor, still, shown, count) = (take()?, take()? != 0.0, take()?, take()?);
            let mut stretch = end.stretch;
            stretch.set_numbers([take()?, take()?, take()?]);
            let memory = (0..end.memory.len()).map(|_| take()).collect::<Option<Vec<f64>>>()?;
            let mut stamps = Vec::new();
            // At most as many as there are bytes for.
            while (stamps.len() as f64) < count {
                let (t, effort, flow) = (take()?, take()?, take()?);
                let (effort_slope, flow_slope, charge) = (take()?, take()?, take()?);
                stamps.push(Stamp { t, effort, flow, effort_slope, flow_slope, charge });
            }
            let mut own = StampTable::empty(StampInterpolation::Linear);
            own.restore(&stamps, own.beyond());
            ends.push(ControlledEnd { factor, stretch, own, trial: memory.clone(), memory, still, shown });
        }
        Some((RestoredControl { ends, evaluations }, rest))
    }

    pub(crate) fn take(&mut self, RestoredControl { ends, evaluations }: RestoredControl) {
        (self.ends, self.evaluations) = (ends, evaluations);
    }

    /// Whether a step may have to be rolled back.
    pub(crate) fn is_long(&self) -> bool {
        self.ends.iter().any(|end| end.factor > 1.0)
    }
}

/// A deserialized control.
pub(crate) struct RestoredControl {
    ends: Vec<ControlledEnd>,
    evaluations: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line_inputs(most: f64) -> [Segment; 4] {
        [0.0, 0.1, most, 2.0].map(Segment::constant)
    }

    /// A step that ends with this flow; whether it was kept at once.
    fn step(control: &mut DelayControl, t: f64, flow: f64) -> bool {
        let new = Stamp { t, flow, ..Stamp::default() };
        let again = control.judge(0, &new);
        if again {
            control.give_up();
            while control.judge(0, &new) {
                control.give_up();
            }
        }
        control.keep(0, &new, 0.1);
        !again
    }

    #[test]
    fn an_end_is_longer_while_it_stands_still_and_shorter_before_a_step_in_which_it_moves() {
        let mut control = DelayControl::new(1, &[0.3, 0.01, 1.0]).unwrap();
        control.begin(0, Stamp::default());
        let mut seen = Vec::new();
        for k in 1..=8 {
            assert!(step(&mut control, 0.1 * f64::from(k), 0.0));
            control.longest([&line_inputs(5.0)[..]].into_iter());
            seen.push(control.factor(0));
        }
        // The window is full at the third step.
        assert_eq!(seen, [1.0, 1.0, 2.0, 4.0, 5.0, 5.0, 5.0, 5.0]);
        let mut bytes = Vec::new();
        control.serialize(&mut bytes);
        assert!(!step(&mut control, 0.9, 1.0), "not steady: the delay is too long");
        assert_eq!(control.shown().collect::<Vec<_>>(), [1.0, 0.0]);
        let mut twin = DelayControl::new(1, &[0.3, 0.01, 1.0]).unwrap();
        let behind = [&bytes[..], &[7]].concat();
        let (thawed, rest) = twin.deserialize(&behind).unwrap();
        assert_eq!(rest, [7]);
        twin.take(thawed);
        assert_eq!(twin.factor(0), 5.0);
        assert!(!step(&mut twin, 0.9, 1.0));
        let mut both = [const { Vec::new() }; 2];
        [&control, &twin].into_iter().zip(&mut both).for_each(|(one, bytes)| one.serialize(bytes));
        assert_eq!(both[0], both[1]);
        assert!(twin.deserialize(&bytes[..bytes.len() - 1]).is_none());
    }

    #[test]
    fn no_end_is_longer_than_the_importer_allows() {
        let mut control = DelayControl::new(1, &[0.1, 0.01, 1.0]).unwrap();
        control.begin(0, Stamp::default());
        let mut at = |k: u32, most: f64| {
            let longest = control.longest([&line_inputs(most)[..]].into_iter());
            step(&mut control, 0.1 * f64::from(k), 0.0);
            longest
        };
        let longest: Vec<f64> = (1..=5).map(|k| at(k, 8.0)).collect();
        assert_eq!(longest[4], 0.8);
        assert_eq!((at(6, 2.0), at(7, 1.0), at(8, 1.0), at(9, 8.0), at(10, 8.0)), (0.2, 0.1, 0.1, 0.1, 0.2));
    }
}
