//! The state of a simulator: the current values, and one copy per save slot.
//!
//! Everything that `restore` must bring back is in one place, so nothing can be forgotten.

use super::{Rollback, SerializeState, Slot};
use crate::error::SimulatorError;

/// The current state and the saved ones.
#[derive(Debug)]
pub struct Memory<T> {
    /// The current state.
    pub now: T,
    saved: [T; Slot::COUNT],
    filled: [bool; Slot::COUNT],
}

impl<T: Clone> Memory<T> {
    /// Nothing is saved yet.
    pub fn new(now: T) -> Memory<T> {
        let saved = std::array::from_fn(|_| now.clone());
        Memory { now, saved, filled: [false; Slot::COUNT] }
    }
}

impl<T: Clone> Rollback for Memory<T> {
    #[inline]
    fn save(&mut self, slot: Slot) -> Result<(), SimulatorError> {
        self.saved[slot.index()].clone_from(&self.now);
        self.filled[slot.index()] = true;
        Ok(())
    }

    #[inline]
    fn restore(&mut self, slot: Slot) -> Result<(), SimulatorError> {
        if !self.filled[slot.index()] {
            return Err(SimulatorError::new("restore", format!("nothing was saved as {slot:?}")));
        }
        self.now.clone_from(&self.saved[slot.index()]);
        Ok(())
    }
}

/// Numbers, as little-endian bytes.
impl<T: AsRef<[f64]> + AsMut<[f64]>> SerializeState for Memory<T> {
    fn serialize(&mut self, into: &mut Vec<u8>) -> Result<(), SimulatorError> {
        for value in self.now.as_ref() {
            into.extend_from_slice(&value.to_le_bytes());
        }
        Ok(())
    }

    fn deserialize(&mut self, from: &[u8]) -> Result<(), SimulatorError> {
        let now = self.now.as_mut();
        let (chunks, rest) = from.as_chunks::<8>();
        if chunks.len() != now.len() || !rest.is_empty() {
            return Err(SimulatorError::new(
                "deserialize_state",
                format!(
                    "the state has {} bytes, expected {} for this model and its parameters",
                    from.len(),
                    8 * now.len()
                ),
            ));
        }
        for (value, bytes) in now.iter_mut().zip(chunks) {
            *value = f64::from_le_bytes(*bytes);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_apart_and_an_empty_one_is_refused() {
        let mut memory = Memory::new([1.0]);
        memory.save(Slot::Attempt).unwrap();
        memory.now = [2.0];
        memory.save(Slot::Window).unwrap();
        memory.restore(Slot::Attempt).unwrap();
        assert_eq!(memory.now, [1.0]);
        memory.restore(Slot::Window).unwrap();
        assert_eq!(memory.now, [2.0]);
        let error = memory.restore(Slot::Probe).unwrap_err();
        assert_eq!(error.to_string(), "`restore` failed: nothing was saved as Probe");
    }

    #[test]
    fn bytes_of_the_wrong_length_are_refused_and_change_nothing() {
        let mut memory = Memory::new([1.0, 2.0]);
        for wrong in [0, 15, 17, 24] {
            let error = memory.deserialize(&vec![0; wrong]).unwrap_err().to_string();
            let expected = format!(
                "`deserialize_state` failed: the state has {wrong} bytes, expected 16 for this model and its parameters"
            );
            assert_eq!(error, expected);
        }
        assert_eq!(memory.now, [1.0, 2.0]);
    }
}
