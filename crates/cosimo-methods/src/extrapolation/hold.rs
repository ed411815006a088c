//! Zero-order hold: the newest value over the whole window. Degree 0.

use std::ops::Range;

use cosimo_core::interface::Needs;
use cosimo_core::method::{Extrapolation, ExtrapolationChoice};
use cosimo_core::registry::MethodEntry;
use cosimo_core::{Couplings, Segment, Term, Trace, Traces, Window};

#[derive(Debug, Clone, Copy)]
pub(crate) struct Hold;

impl Extrapolation for Hold {
    fn degree(&self) -> u32 {
        0
    }

    #[inline]
    fn extrapolate(&self, known: Trace<'_>, _window: Window) -> Segment {
        Segment::constant(known.newest())
    }

    /// The same bits as the provided method, from one coefficient instead of four: most systems hold all their
    /// inputs, and with fast simulators this is the engine's largest cost.
    fn extrapolate_all(
        &self,
        traces: &Traces,
        couplings: &Couplings,
        inputs: &[Range<usize>],
        _window: Window,
        into: &mut [Segment],
    ) {
        for run in inputs.iter().cloned() {
            let start = |constant| constant;
            if let Some(values) = traces.common() {
                let value = |term: &Term| values[term.output] * term.gain;
                couplings.set_rows(run, into, start, value, Segment::constant);
            } else {
                let value = |term: &Term| traces.trace(term.output).newest() * term.gain;
                couplings.set_rows(run, into, start, value, Segment::constant);
            }
        }
    }

    fn companion(&self) -> Box<dyn Extrapolation> {
        Box::new(super::linear::Linear)
    }
}

pub(crate) const ENTRY: MethodEntry<dyn ExtrapolationChoice> = MethodEntry {
    name: "hold",
    summary: "zero-order hold of the newest value",
    source: "Sadjina et al. 2017 (ECCO), Sec. II B",
    order: "1",
    options: &[],
    needs: |_| Needs::NOTHING,
    build: |_| Box::new(Hold),
};

#[cfg(test)]
mod tests {
    use super::*;
    use cosimo_core::Time;

    /// Hold with the provided `extrapolate_all`.
    struct ProvidedHold;

    impl Extrapolation for ProvidedHold {
        fn degree(&self) -> u32 {
            Hold.degree()
        }
        fn history(&self) -> usize {
            Hold.history()
        }
        fn extrapolate(&self, known: Trace<'_>, window: Window) -> Segment {
            Hold.extrapolate(known, window)
        }
        fn companion(&self) -> Box<dyn Extrapolation> {
            Hold.companion()
        }
    }

    #[test]
    fn the_short_cut_gives_the_bits_of_the_long_way() {
        let term = |output, gain| Term { output, gain };
        let rows = [vec![term(1, 0.1)], vec![], vec![term(0, 0.3), term(1, -0.7)], vec![term(0, -1.0)]];
        let couplings = Couplings::new(&rows, vec![0.0, 4.2, 0.0, 0.0]);
        let window = Window { from: Time::ZERO, to: Time::ZERO, size: 0.1 };
        let check = |traces: &Traces| {
            let (mut short, mut long) = ([Segment::line(7.0, 7.0); 4], [Segment::ZERO; 4]);
            Hold.extrapolate_all(traces, &couplings, &[0..1, 1..4], window, &mut short);
            ProvidedHold.extrapolate_all(traces, &couplings, &[0..1, 1..4], window, &mut long);
            assert_eq!(short.map(|s| s.0.map(f64::to_bits)), long.map(|s| s.0.map(f64::to_bits)));
            short[0].at(0.0)
        };
        let mut traces = Traces::new(2);
        traces.open(Time::ZERO);
        traces.put(0, &[0.0, 1.0], &[]);
        traces.commit();
        assert_eq!(check(&traces), 0.1);
        traces.open(Time::ZERO);
        assert_eq!(check(&traces), 0.1); // no simulator has stepped
        traces.put(1, &[2.0], &[]);
        assert_eq!(check(&traces), 0.2); // one has
        traces.put(0, &[-3.0], &[]);
        assert_eq!(check(&traces), 0.2);
        traces.discard();
        assert_eq!(check(&traces), 0.1);
    }
}
