//! The parabola through the three newest samples. Degree 2; linear while there are two samples, held while there is one:
//! after such a start the global order is 2 unless exact samples before the start are given.

use cosimo_core::interface::Needs;
use cosimo_core::method::{Extrapolation, ExtrapolationChoice};
use cosimo_core::registry::MethodEntry;
use cosimo_core::{Segment, Trace, Window};

use super::polynomial::of_degree;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Quadratic;

impl Extrapolation for Quadratic {
    fn degree(&self) -> u32 {
        2
    }

    #[inline]
    fn extrapolate(&self, known: Trace<'_>, window: Window) -> Segment {
        of_degree(2, known, window)
    }

    fn companion(&self) -> Box<dyn Extrapolation> {
        Box::new(super::linear::Linear)
    }
}

pub(crate) const ENTRY: MethodEntry<dyn ExtrapolationChoice> = MethodEntry {
    name: "quadratic",
    summary: "the parabola through the three newest samples; the least stable",
    source: "Lagrange form on non-uniform history; Wu 2018, Eq. (3.12)",
    order: "3",
    options: &[],
    needs: |_| Needs::NOTHING,
    build: |_| Box::new(Quadratic),
};
