//! First-order hold: the line through the two newest samples. It extrapolates if the end of the window is not yet known
//! and interpolates if it is. Degree 1; zero-order hold while there is only one sample.

use cosimo_core::interface::Needs;
use cosimo_core::method::{Extrapolation, ExtrapolationChoice};
use cosimo_core::registry::MethodEntry;
use cosimo_core::{Segment, Trace, Window};

use super::polynomial::of_degree;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Linear;

impl Extrapolation for Linear {
    fn degree(&self) -> u32 {
        1
    }

    #[inline]
    fn extrapolate(&self, known: Trace<'_>, window: Window) -> Segment {
        of_degree(1, known, window)
    }

    fn companion(&self) -> Box<dyn Extrapolation> {
        Box::new(super::hold::Hold)
    }
}

pub(crate) const ENTRY: MethodEntry<dyn ExtrapolationChoice> = MethodEntry {
    name: "linear",
    summary: "the line through the two newest samples",
    source: "Lagrange form on non-uniform history; Busch 2016",
    order: "2",
    options: &[],
    needs: |_| Needs::NOTHING,
    build: |_| Box::new(Linear),
};

#[cfg(test)]
mod tests {
    use super::*;
    use cosimo_core::{Time, Traces};

    fn window(from: f64, to: f64) -> Window {
        Window { from: Time::new(from).unwrap(), to: Time::new(to).unwrap(), size: to - from }
    }

    fn traces(samples: &[(f64, f64)]) -> Traces {
        let mut traces = Traces::new(1);
        for &(t, y) in samples {
            traces.open(Time::new(t).unwrap());
            traces.put(0, &[y], &[]);
            traces.commit();
        }
        traces
    }

    #[test]
    fn is_exact_on_lines_over_uneven_steps() {
        let line = |t: f64| 3.0 - 2.0 * t;
        let traces = traces(&[(0.0, line(0.0)), (0.1, line(0.1)), (0.4, line(0.4))]);
        let segment = Linear.extrapolate(traces.trace(0), window(0.4, 0.9));
        for s in [0.0, 0.2, 0.5] {
            assert!((segment.at(s) - line(0.4 + s)).abs() < 1e-14);
        }
    }

    #[test]
    fn interpolates_when_the_end_is_known() {
        let traces = traces(&[(0.0, 1.0), (0.5, 2.0)]);
        let segment = Linear.extrapolate(traces.trace(0), window(0.0, 0.5));
        assert_eq!((segment.at(0.0), segment.at(0.5)), (1.0, 2.0));
    }

    #[test]
    fn holds_a_single_sample_and_a_jump() {
        assert_eq!(
            Linear.extrapolate(traces(&[(0.0, 7.0)]).trace(0), window(0.0, 0.1)),
            Segment::constant(7.0)
        );
        let jump = traces(&[(0.0, 7.0), (0.0, 9.0)]);
        assert_eq!(Linear.extrapolate(jump.trace(0), window(0.0, 0.1)), Segment::constant(9.0));
    }
}
