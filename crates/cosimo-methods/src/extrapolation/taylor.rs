//! Value and slope of the newest sample, as the simulator gives them. Degree 1 without a history; zero-order hold where
//! there is no slope. Slopes are not checked, so a wrong one goes unnoticed.

use cosimo_core::interface::Needs;
use cosimo_core::method::{Extrapolation, ExtrapolationChoice};
use cosimo_core::registry::MethodEntry;
use cosimo_core::{Segment, Trace, Window};

#[derive(Debug, Clone, Copy)]
pub(crate) struct Taylor;

impl Extrapolation for Taylor {
    fn degree(&self) -> u32 {
        1
    }

    fn history(&self) -> usize {
        1
    }

    #[inline]
    fn extrapolate(&self, known: Trace<'_>, window: Window) -> Segment {
        let new = known.back(0);
        if !new.slope.is_finite() {
            return Segment::constant(new.y);
        }
        Segment::line(new.y + new.slope * (window.from.seconds() - new.t), new.slope)
    }

    fn companion(&self) -> Box<dyn Extrapolation> {
        Box::new(super::hold::Hold)
    }
}

pub(crate) const ENTRY: MethodEntry<dyn ExtrapolationChoice> = MethodEntry {
    name: "taylor",
    summary: "value and offered slope of the newest sample; no history",
    source: "first-order Taylor polynomial at the communication point",
    order: "2",
    options: &[],
    needs: |_| Needs { slopes: true, ..Needs::NOTHING },
    build: |_| Box::new(Taylor),
};

#[cfg(test)]
mod tests {
    use super::*;
    use cosimo_core::{Time, Traces};

    #[test]
    fn follows_the_offered_slope_and_holds_without_one() {
        let mut traces = Traces::new(2);
        traces.open(Time::ZERO);
        traces.put(0, &[2.0, 5.0], &[3.0, f64::NAN]);
        traces.commit();
        let window = Window { from: Time::ZERO, to: Time::new(0.5).unwrap(), size: 0.5 };
        assert_eq!(Taylor.extrapolate(traces.trace(0), window), Segment::line(2.0, 3.0));
        assert_eq!(Taylor.extrapolate(traces.trace(1), window), Segment::constant(5.0));
    }
}
