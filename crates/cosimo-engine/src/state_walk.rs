//! Serialization of state. One function per type serves for writing and reading, so that both have the same order.

use std::collections::VecDeque;

use cosimo_core::line::{Stamp, StampTable};
use cosimo_core::{Clock, Segment, SimulatorError, Time, Traces, Window};

pub(crate) enum StateWalk<'a> {
    Write(&'a mut Vec<u8>),
    /// The remaining bytes; `None`: invalid.
    Read(Option<&'a [u8]>),
}

impl StateWalk<'_> {
    /// Whether all bytes were read, and no more.
    pub(crate) fn is_whole(&self) -> bool {
        matches!(self, StateWalk::Write(_) | StateWalk::Read(Some([])))
    }

    /// Whether the bytes are invalid.
    pub(crate) fn is_broken(&self) -> bool {
        matches!(self, StateWalk::Read(None))
    }

    pub(crate) fn end(self) -> Result<(), SimulatorError> {
        let damaged = || SimulatorError::new("deserialize_state", "the saved state of its island is damaged");
        self.is_whole().then_some(()).ok_or_else(damaged)
    }

    pub(crate) fn reads(&self) -> bool {
        matches!(self, StateWalk::Read(_))
    }

    /// Marks the bytes as invalid.
    pub(crate) fn refuse(&mut self) {
        if let StateWalk::Read(rest) = self {
            *rest = None;
        }
    }

    /// Stores a value that was read, or refuses.
    fn put<T>(&mut self, into: &mut T, made: Option<T>) {
        match made {
            Some(made) => *into = made,
            None => self.refuse(),
        }
    }

    fn word(&mut self, word: &mut u64) {
        match self {
            StateWalk::Write(into) => into.extend(word.to_le_bytes()),
            StateWalk::Read(rest) => {
                let read = rest.and_then(|bytes| bytes.split_first_chunk::<8>());
                *rest = read.map(|(_, rest)| rest);
                if let Some((bytes, _)) = read {
                    *word = u64::from_le_bytes(*bytes);
                }
            }
        }
    }

    pub(crate) fn number(&mut self, number: &mut f64) {
        let mut bits = number.to_bits();
        self.word(&mut bits);
        *number = f64::from_bits(bits);
    }

    pub(crate) fn count(&mut self, count: &mut u64) {
        self.word(count);
    }

    pub(crate) fn flag(&mut self, flag: &mut bool) {
        let mut word = u64::from(*flag);
        self.word(&mut word);
        *flag = word != 0;
    }

    /// An optional number; NaN stands for none.
    pub(crate) fn maybe(&mut self, number: &mut Option<f64>) {
        let mut some = number.unwrap_or(f64::NAN);
        self.number(&mut some);
        *number = Some(some).filter(|number| !number.is_nan());
    }

    pub(crate) fn numbers<'n>(&mut self, numbers: impl IntoIterator<Item = &'n mut f64>) {
        numbers.into_iter().for_each(|number| self.number(number));
    }

    pub(crate) fn segments(&mut self, segments: &mut [Segment]) {
        self.numbers(segments.iter_mut().flat_map(|segment| &mut segment.0));
    }

    pub(crate) fn time(&mut self, time: &mut Time) {
        let mut seconds = time.seconds();
        self.number(&mut seconds);
        self.put(time, Time::new(seconds));
    }

    pub(crate) fn window(&mut self, window: &mut Window) {
        self.time(&mut window.from);
        self.time(&mut window.to);
        self.number(&mut window.size);
    }

    pub(crate) fn clock(&mut self, clock: &mut Clock) {
        let mut saved = clock.save();
        self.numbers(&mut saved);
        self.put(clock, Clock::load(saved));
    }

    pub(crate) fn traces(&mut self, traces: &mut Traces) {
        let mut numbers = Vec::new();
        traces.save(&mut numbers);
        self.numbers(&mut numbers);
        if self.reads() && traces.load(&mut numbers.into_iter()).is_none() {
            self.refuse();
        }
    }

    /// A length; never more than the remaining bytes allow, at `size` bytes each.
    fn length(&mut self, mut length: u64, size: u64) -> usize {
        self.word(&mut length);
        if let StateWalk::Read(rest) = self {
            *rest = rest.filter(|bytes| length.saturating_mul(size) <= bytes.len() as u64);
            if rest.is_none() {
                return 0;
            }
        }
        usize::try_from(length).unwrap_or(0)
    }

    /// As many as there are.
    pub(crate) fn list(&mut self, numbers: &mut Vec<f64>) {
        let length = self.length(numbers.len() as u64, 8);
        numbers.resize(length, 0.0);
        self.numbers(numbers);
    }

    pub(crate) fn queue(&mut self, numbers: &mut VecDeque<f64>) {
        let length = self.length(numbers.len() as u64, 8);
        numbers.resize(length, 0.0);
        self.numbers(numbers);
    }

    pub(crate) fn bytes(&mut self, bytes: &mut Vec<u8>) {
        let length = self.length(bytes.len() as u64, 1);
        match self {
            StateWalk::Write(into) => into.extend_from_slice(bytes),
            StateWalk::Read(rest) => {
                let read = rest.and_then(|left| left.split_at_checked(length));
                *bytes = read.map(|(read, _)| read.to_vec()).unwrap_or_default();
                *rest = read.map(|(_, rest)| rest);
            }
        }
    }

    pub(crate) fn stamps(&mut self, stamps: &mut Vec<Stamp>) {
        let length = self.length(stamps.len() as u64, 48);
        stamps.resize(length, Stamp::default());
        for Stamp { t, effort, flow, effort_slope, flow_slope, charge } in stamps {
            self.numbers([t, effort, flow, effort_slope, flow_slope, charge]);
        }
    }

    pub(crate) fn table(&mut self, table: &mut StampTable) {
        let (mut stamps, mut beyond) = (table.stamps().to_vec(), table.beyond());
        self.stamps(&mut stamps);
        self.count(&mut beyond);
        if self.reads() {
            table.restore(&stamps, beyond);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Everything that can be walked over.
    #[derive(Debug, Clone, PartialEq, Default)]
    struct All {
        number: f64,
        count: u64,
        flag: bool,
        times: [Option<f64>; 2],
        list: Vec<f64>,
        queue: VecDeque<f64>,
        bytes: Vec<u8>,
        stamps: Vec<Stamp>,
    }

    impl All {
        fn walk(&mut self, walk: &mut StateWalk<'_>) {
            walk.number(&mut self.number);
            walk.count(&mut self.count);
            walk.flag(&mut self.flag);
            self.times.iter_mut().for_each(|time| walk.maybe(time));
            walk.list(&mut self.list);
            walk.queue(&mut self.queue);
            walk.bytes(&mut self.bytes);
            walk.stamps(&mut self.stamps);
        }
    }

    fn all() -> (All, Vec<u8>) {
        let stamp =
            Stamp { t: 1.0, effort: 2.0, flow: -3.0, effort_slope: 4.0, flow_slope: 5.0, charge: 6.0 };
        let mut all = All {
            number: -0.0,
            count: u64::MAX,
            flag: true,
            times: [None, Some(f64::INFINITY)],
            list: vec![1.0, f64::MIN_POSITIVE],
            queue: VecDeque::from([3.0]),
            bytes: vec![7, 0, 9],
            stamps: vec![stamp, Stamp::default()],
        };
        let mut bytes = Vec::new();
        all.walk(&mut StateWalk::Write(&mut bytes));
        (all, bytes)
    }

    #[test]
    fn what_was_written_is_read() {
        let (written, bytes) = all();
        let mut read = All { list: vec![9.0; 5], ..All::default() };
        let mut walk = StateWalk::Read(Some(&bytes));
        read.walk(&mut walk);
        assert_eq!(walk.end(), Ok(()));
        assert_eq!(read, written);
    }

    /// Truncated or extended bytes are refused; wrong lengths cost no memory.
    #[test]
    fn what_is_damaged_is_refused() {
        let (_, bytes) = all();
        let refused = |bytes: &[u8]| {
            let mut walk = StateWalk::Read(Some(bytes));
            All::default().walk(&mut walk);
            walk.end().is_err()
        };
        assert!((0..bytes.len()).all(|length| refused(&bytes[..length])));
        assert!(refused(&[&bytes[..], &[0]].concat()));
        let lies = [&bytes[..40], &u64::MAX.to_le_bytes(), &bytes[48..]].concat();
        assert!(refused(&lies));
    }
}
