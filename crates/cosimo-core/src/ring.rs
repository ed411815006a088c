//! A ring buffer of rows between two threads, column by column. In this crate rather than with the result formats because
//! it is executed for every row.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// The words of a ring buffer. Rows are numbered from the start of the run; row n is at n modulo the stride.
#[derive(Debug, Clone, Copy)]
pub struct Ring<'a> {
    /// Bits of doubles; at least columns times stride.
    pub words: &'a [AtomicU64],
    /// Numbers per row.
    pub columns: usize,
    /// From one column to the next, in rows: the capacity.
    pub stride: usize,
}

impl Ring<'_> {
    /// Writes one row; the caller has to synchronise with the reader afterwards.
    pub fn put(self, number: u64, row: &[f64]) {
        let mut at = (number % self.stride as u64) as usize;
        for value in row {
            self.words[at].store(value.to_bits(), Ordering::Relaxed);
            at += self.stride;
        }
    }

    /// Writes rows of one column.
    pub fn put_column(self, column: usize, first: u64, values: &[f64]) {
        let words = &self.words[column * self.stride..][..self.stride];
        let mut at = (first % self.stride as u64) as usize;
        for value in values {
            words[at].store(value.to_bits(), Ordering::Relaxed);
            at = if at + 1 == self.stride { 0 } else { at + 1 };
        }
    }

    /// Reads rows of one column; `into` is overwritten.
    pub fn copy_column(self, column: usize, rows: Range<u64>, into: &mut Vec<f64>) {
        let words = &self.words[column * self.stride..][..self.stride];
        let (first, count) = ((rows.start % self.stride as u64) as usize, (rows.end - rows.start) as usize);
        let before = count.min(self.stride - first);
        let value = |word: &AtomicU64| f64::from_bits(word.load(Ordering::Relaxed));
        into.clear();
        into.extend(words[first..first + before].iter().map(value));
        into.extend(words[..count - before].iter().map(value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_out_as_they_went_in_over_the_end_of_the_ring() {
        let words: Vec<AtomicU64> = (0..14).map(|_| AtomicU64::new(0)).collect();
        let ring = Ring { words: &words, columns: 2, stride: 7 };
        let mut out = Vec::new();
        for number in 0..40 {
            ring.put(number, &[number as f64, -(number as f64)]);
            let first = (number + 1).saturating_sub(7);
            for (column, sign) in [(0, 1.0), (1, -1.0)] {
                ring.copy_column(column, first..number + 1, &mut out);
                let expected: Vec<f64> = (first..=number).map(|number| sign * number as f64).collect();
                assert_eq!(out, expected);
            }
        }
        ring.put_column(1, 40, &[0.5; 7]);
        ring.copy_column(1, 40..47, &mut out);
        assert_eq!(out, [0.5; 7]);
    }
}
