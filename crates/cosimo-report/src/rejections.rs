//! When steps were rejected, in bounded memory: rows do not contain them, only a counter that grows between two rows.

use cosimo_core::groups::Groups;

/// Marks that a picture can hold; beyond, neighbours become one.
const MARKS: usize = 2048;

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Rejections {
    marks: Groups<(f64, u64), MARKS>,
    seen: u64,
}

impl Rejections {
    /// To be called after every step with the end of it and the count so far.
    pub fn observe(&mut self, time: f64, count: u64) {
        let new = count.saturating_sub(self.seen);
        self.seen = count;
        if new > 0 {
            self.marks.add((time, new), 1, |one, later| (one.0, one.1 + later.1));
        }
    }

    /// Instants, and how many attempts were rejected on the way there.
    pub fn marks(&self) -> &[(f64, u64)] {
        self.marks.all()
    }
}
