//! The curves of a run in bounded memory. Every row is kept until there are many; from then on equal groups of
//! rows are, each by its first, lowest, highest and last value. When memory is full, neighbouring groups become
//! one. No peak is ever lost, only the exact place of it inside its group.

use std::sync::{Arc, Mutex, PoisonError};

use cosimo_core::recorder::{Columns, RecordError, Recorder};

/// How much is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CurveBudget {
    /// Points per column.
    points: usize,
    /// Points of all columns together.
    all: usize,
}

impl CurveBudget {
    /// Some points for every pixel of a wide screen, so that there is something to zoom into. All together they are 11 MB
    /// as text, which a browser still opens at once.
    pub const SIGNALS: CurveBudget = CurveBudget { points: 16_384, all: 1 << 20 };
    /// The same for the books of the engine, of which there are many in a large system: those go into the page with half
    /// the digits, and are 11 MB again.
    pub const BOOKS: CurveBudget = CurveBudget { points: 16_384, all: 1 << 21 };
}

/// Fewer would show in the picture, however many columns there are.
const FEWEST: usize = 512;
/// First, lowest, highest, last.
const KEPT: usize = 4;
/// Two groups become one of the same number of points. Also the rows of the first groups.
const MERGED: usize = 2 * KEPT;

/// What was kept of a run, column by column, the time first.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Curves {
    pub columns: Columns,
    pub points: Vec<Vec<f64>>,
    /// How many rows there were.
    pub rows: u64,
    /// How many of them a group stands for; 1 if every row is there.
    pub group: u64,
}

/// Where the curves are found after the run; the recorder that makes them goes into it.
#[derive(Debug, Clone)]
pub struct Recording {
    room: CurveBudget,
    shared: Arc<Mutex<Curves>>,
}

impl Recording {
    pub fn new(room: CurveBudget) -> Recording {
        Recording { room, shared: Arc::default() }
    }

    pub fn recorder(&self) -> ThinningRecorder {
        ThinningRecorder {
            room: self.room,
            curves: Curves::default(),
            capacity: 0,
            open: Vec::new(),
            open_rows: 0,
            shared: self.shared.clone(),
        }
    }

    /// Empty before the recorder has finished: rows are not shared one by one, that would need a lock each.
    pub fn curves(&self) -> Curves {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The recorder.
#[derive(Debug)]
pub struct ThinningRecorder {
    room: CurveBudget,
    curves: Curves,
    /// Points per column, a multiple of `MERGED`.
    capacity: usize,
    /// Per column, the group that is not full yet.
    open: Vec<RowGroup>,
    open_rows: u64,
    shared: Arc<Mutex<Curves>>,
}

impl Recorder for ThinningRecorder {
    fn begin(&mut self, columns: &Columns) -> Result<(), RecordError> {
        let count = columns.names.len();
        self.capacity = (self.room.all / count.max(1)).clamp(FEWEST, self.room.points) / MERGED * MERGED;
        // All of it now: rows must not allocate.
        let points = (0..count).map(|_| Vec::with_capacity(self.capacity)).collect();
        self.curves = Curves { columns: columns.clone(), points, rows: 0, group: 1 };
        self.open = vec![RowGroup::of(0.0); count];
        self.open_rows = 0;
        Ok(())
    }

    fn row(&mut self, values: &[f64]) -> Result<(), RecordError> {
        self.curves.rows += 1;
        if self.curves.group == 1 {
            for (points, value) in self.curves.points.iter_mut().zip(values) {
                points.push(*value);
            }
        } else {
            for (group, value) in self.open.iter_mut().zip(values) {
                if self.open_rows == 0 {
                    *group = RowGroup::of(*value);
                } else {
                    group.add(*value);
                }
            }
            self.open_rows += 1;
            if self.open_rows == self.curves.group {
                self.curves.close(&self.open, self.open_rows);
                self.open_rows = 0;
            }
        }
        if self.curves.points.first().is_some_and(|time| time.len() == self.capacity) {
            self.curves.halve();
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<(), RecordError> {
        let mut all = self.curves.clone();
        all.close(&self.open, self.open_rows);
        *self.shared.lock().unwrap_or_else(PoisonError::into_inner) = all;
        Ok(())
    }
}

/// What is only kept in memory cannot fail to be written.
pub(crate) fn in_memory(result: Result<(), RecordError>) {
    debug_assert!(result.is_ok(), "{result:?}");
}

impl Curves {
    /// Adds what groups of so many rows keep.
    fn close(&mut self, groups: &[RowGroup], rows: u64) {
        for (column, (points, group)) in self.points.iter_mut().zip(groups).enumerate() {
            match rows {
                0 => {}
                1 => points.push(group.last),
                _ => points.extend(if column == 0 { group.instants() } else { group.values() }),
            }
        }
    }

    /// Half the points: of eight, four.
    fn halve(&mut self) {
        for (column, points) in self.points.iter_mut().enumerate() {
            let groups = points.len() / MERGED;
            for k in 0..groups {
                let mut group = RowGroup::of(points[MERGED * k]);
                for value in &points[MERGED * k + 1..MERGED * (k + 1)] {
                    group.add(*value);
                }
                let kept = if column == 0 { group.instants() } else { group.values() };
                points[KEPT * k..KEPT * (k + 1)].copy_from_slice(&kept);
            }
            points.truncate(KEPT * groups);
        }
        self.group = if self.group == 1 { MERGED as u64 } else { 2 * self.group };
    }
}

#[derive(Debug, Clone, Copy)]
struct RowGroup {
    first: f64,
    low: f64,
    high: f64,
    last: f64,
    /// The low came before the high.
    falls_first: bool,
}

impl RowGroup {
    fn of(value: f64) -> RowGroup {
        RowGroup { first: value, low: value, high: value, last: value, falls_first: true }
    }

    /// What is not a number is no extreme, but gives way to one.
    fn add(&mut self, value: f64) {
        if value < self.low || self.low.is_nan() {
            self.low = value;
            self.falls_first = false;
        }
        if value > self.high || self.high.is_nan() {
            self.high = value;
            self.falls_first = true;
        }
        self.last = value;
    }

    fn values(&self) -> [f64; KEPT] {
        let (one, other) = if self.falls_first { (self.low, self.high) } else { (self.high, self.low) };
        [self.first, one, other, self.last]
    }

    /// All columns share their instants, so the extremes lie at even distances between the ends.
    fn instants(&self) -> [f64; KEPT] {
        let third = (self.last - self.first) / 3.0;
        [self.first, self.first + third, self.last - third, self.last]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Columns of zeros in so many rows.
    fn recorded(columns: usize, rows: usize) -> (Recording, ThinningRecorder) {
        let recording = Recording::new(CurveBudget::SIGNALS);
        let mut recorder = recording.recorder();
        let columns = Columns { names: vec!["c".into(); columns], units: vec![String::new(); columns] };
        recorder.begin(&columns).unwrap();
        (0..rows).for_each(|_| recorder.row(&vec![0.0; columns.names.len()]).unwrap());
        recorder.finish().unwrap();
        (recording, recorder)
    }

    #[test]
    fn memory_does_not_grow_with_the_run() {
        let most = CurveBudget::SIGNALS.points;
        for rows in [100_000, 2_000_000] {
            let (recording, recorder) = recorded(2, rows);
            assert!(recorder.curves.points.iter().all(|points| points.capacity() == most), "{rows}");
            let kept = recording.curves().points[0].len();
            assert!(kept > most / 2 - 8 && kept <= most);
        }
    }

    #[test]
    fn many_columns_share_what_there_is() {
        let (_, recorder) = recorded(1000, 0);
        let room: usize = recorder.curves.points.iter().map(Vec::capacity).sum();
        assert!(room <= CurveBudget::SIGNALS.all, "{room}");
    }
}
