//! The exponential of a small matrix and its phi functions, in memory allocated once.

use cosimo_core::dense;

#[derive(Debug, Clone)]
pub(crate) struct Phi {
    size: usize,
    top: usize,
    /// phi_0 to phi_top, one matrix after the other, row by row.
    table: Vec<f64>,
    work: Vec<f64>,
}

impl Phi {
    /// Memory for phi_0 to phi_`top` of matrices with `size` rows.
    pub(crate) fn new(size: usize, top: usize) -> Phi {
        let (table, work) = (vec![0.0; (top + 1) * size * size], vec![0.0; dense::phi_work(size)]);
        Phi { size, top, table, work }
    }

    pub(crate) fn get(&self, k: usize) -> &[f64] {
        let square = self.size * self.size;
        &self.table[k * square..(k + 1) * square]
    }

    /// Fills the table for Z = `h` times `a`.
    pub(crate) fn compute(&mut self, a: &[f64], h: f64) {
        dense::phi(self.size, self.top, a, h, &mut self.table, &mut self.work);
    }
}
