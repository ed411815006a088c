//! The curves of a run in bounded memory. Every row is kept until there are many; from then on equal groups of
//! rows are, each by its first, lowest, highest and last value. When memory is full, neighbouring groups become
//! one. No peak is ever lost, only the exact place of it inside its group.

use std::sync::{Arc, Mutex, PoisonError};

use cosimo_core::recorder::{Columns, RecordError, Recorder};

/// How much is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// Points per column.
    points: usize,
    /// Points of all columns together.
    all: usize,
}

impl Room {
    /// Some points for every pixel of a wide screen, so that there is something to zoom into. All together they are 11 MB
    /// as text, which a browser still opens at once.
    pub const SIGNALS: Room = Room { points: 16_384, all: 1 << 20 };
    /// The same for the books of the engine, of which there are many in a large system: those go into the page with half
    /// the digits, and are 11 MB again.
    pub const BOOKS: Room = Room { points: 16_384, all: 1 << 21 };
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
    room: Room,
    shared: Arc<Mutex<Curves>>,
}

impl Recording {
    pub fn new(room: Room) -> Recording {
        Recording { room, shared: Arc::default() }
    }

    pub fn recorder(&self) -> Thinning {
        Thinning {
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
pub struct Thinning {
    room: Room,
    curves: Curves,
    /// Points per column, a multiple of `MERGED`.
    capacity: usize,
    /// Per column, the group that is not full yet.
    open: Vec<Group>,
    open_rows: u64,
    shared: Arc<Mutex<Curves>>,
}

impl Recorder for Thinning {
    fn begin(&mut self, columns: &Columns) -> Result<(), RecordError> {
        let count = columns.names.len();
        self.capacity = (self.room.all / count.max(1)).clamp(FEWEST, self.room.points) / MERGED * MERGED;
        // All of it now: rows must not allocate.
        let points = (0..count).map(|_| Vec::with_capacity(self.capacity)).collect();
        self.curves = Curves { columns: columns.clone(), points, rows: 0, group: 1 };
        self.open = vec![Group::of(0.0); count];
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
                    *group = Group::of(*value);
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
    fn close(&mut self, groups: &[Group], rows: u64) {
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
                let mut group = Group::of(points[MERGED * k]);
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
struct Group {
    first: f64,
    low: f64,
    high: f64,
    last: f64,
    /// The low came before the high.
    falls_first: bool,
}

impl Group {
    fn of(value: f64) -> Group {
        Group { first: value, low: value, high: value, last: value, falls_first: true }
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

    const POINTS: usize = Room::SIGNALS.points;

    /// Rows at k ms with the given values.
    fn recorded(rows: u64, value: impl Fn(u64) -> f64) -> (Thinning, Curves) {
        let recording = Recording::new(Room::SIGNALS);
        let mut recorder = recording.recorder();
        let columns =
            Columns { names: vec!["time".into(), "y".into()], units: vec!["s".into(), String::new()] };
        recorder.begin(&columns).unwrap();
        for k in 0..rows {
            recorder.row(&[k as f64 * 1e-3, value(k)]).unwrap();
        }
        recorder.finish().unwrap();
        let curves = recording.curves();
        (recorder, curves)
    }

    #[test]
    fn short_runs_are_kept_whole() {
        let (_, curves) = recorded(POINTS as u64 - 1, |k| k as f64);
        assert_eq!(curves.group, 1);
        assert!(curves.points[1].iter().enumerate().all(|(k, y)| *y == k as f64));
        assert_eq!(curves.points[1].len(), POINTS - 1);
    }

    #[test]
    fn a_single_spike_survives_a_million_rows() {
        for spike in [1, 16_383, 16_384, 77_777, 123_456, 999_998] {
            for height in [-40.0, 40.0] {
                let (_, curves) = recorded(1_000_000, |k| if k == spike { height } else { 3.0 });
                let place: Vec<usize> =
                    (0..curves.points[1].len()).filter(|&k| curves.points[1][k] == height).collect();
                // Twice where it is the last row of its group as well.
                assert!(place.len() == 1 || place.len() == 2, "{spike} {height}: {place:?}");
                for k in place {
                    let off = curves.points[0][k] - spike as f64 * 1e-3;
                    assert!(off.abs() <= curves.group as f64 * 1e-3, "{spike}: {off}");
                }
            }
        }
    }

    #[test]
    fn ends_survive_and_time_ascends() {
        for rows in [1, 2, 16_384, 16_385, 16_386, 99_999, 131_072, 500_001] {
            let (_, curves) = recorded(rows, |k| (k as f64).sin());
            let (time, y) = (&curves.points[0], &curves.points[1]);
            let last = rows - 1;
            assert_eq!((time[0], y[0]), (0.0, 0.0));
            assert_eq!((time.last(), y.last()), (Some(&(last as f64 * 1e-3)), Some(&(last as f64).sin())));
            assert!(time.windows(2).all(|pair| pair[0] < pair[1]), "{rows}");
            assert_eq!((time.len(), curves.rows), (y.len(), rows));
        }
    }

    #[test]
    fn the_envelope_is_that_of_all_rows() {
        let (_, curves) = recorded(300_000, |k| (k as f64 * 0.7).sin() * k as f64);
        let extreme = |pick: fn(f64, f64) -> f64| {
            (0..300_000).map(|k| (f64::from(k) * 0.7).sin() * f64::from(k)).fold(0.0, pick)
        };
        let kept = |pick: fn(f64, f64) -> f64| curves.points[1].iter().copied().fold(0.0, pick);
        assert_eq!((kept(f64::min), kept(f64::max)), (extreme(f64::min), extreme(f64::max)));
    }

    #[test]
    fn memory_does_not_grow_with_the_run() {
        for rows in [100_000, 2_000_000] {
            let (recorder, curves) = recorded(rows, |k| k as f64);
            for points in &recorder.curves.points {
                assert_eq!(points.capacity(), POINTS, "{rows}");
            }
            assert!(curves.points[0].len() > POINTS / 2 - 8 && curves.points[0].len() <= POINTS);
        }
    }

    #[test]
    fn many_columns_share_what_there_is() {
        let recording = Recording::new(Room::SIGNALS);
        let mut recorder = recording.recorder();
        let names: Vec<String> = (0..1000).map(|k| format!("c{k}")).collect();
        recorder.begin(&Columns { units: vec![String::new(); names.len()], names }).unwrap();
        let room: usize = recorder.curves.points.iter().map(Vec::capacity).sum();
        assert!(room <= Room::SIGNALS.all, "{room}");
    }

    #[test]
    fn what_is_not_a_number_hides_no_peak() {
        let (_, curves) = recorded(100_000, |k| match k {
            50_001 => f64::NAN,
            50_002 => 7.0,
            _ => 0.0,
        });
        assert_eq!(curves.points[1].iter().copied().fold(0.0, f64::max), 7.0);
        let (_, nothing) = recorded(100_000, |_| f64::NAN);
        assert!(nothing.points[1].iter().all(|y| y.is_nan()));
    }
}
