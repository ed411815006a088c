//! The newest value, held over the window. Degree 0.

use cosimo_core::entry::Entry;
use cosimo_core::interface::Needs;
use cosimo_core::method::{Approximation, Fit, WireFacts};
use cosimo_core::{Segment, Trace, Window};

#[derive(Debug, Clone, Copy)]
pub struct Hold;

impl Fit for Hold {
    fn degree(&self) -> u32 {
        0
    }

    fn history(&self) -> usize {
        1
    }

    #[inline]
    fn fit(&self, known: Trace<'_>, _window: Window) -> Segment {
        Segment::constant(known.newest())
    }
}

impl Approximation for Hold {
    fn choose(&self, _wire: &WireFacts) -> Box<dyn Fit> {
        Box::new(Hold)
    }
}

pub const ENTRY: Entry<dyn Approximation> = Entry {
    name: "hold",
    summary: "the newest value, held over the step; order 1",
    source: "Sadjina et al. 2017 (ECCO), Sec. II B",
    options: &[],
    needs: |_| Needs::NOTHING,
    build: |_| Box::new(Hold),
};
