//! The state of `fmi2GetFMUstate` and `fmi3GetFMUState`: all that affects steps, parameters included, and its
//! serialized form. A serialised state names its FMU by token and kind, so that it cannot be read into another.

use cosimo_core::Segment;

use crate::instance::Mode;

const MAGIC: &[u8; 8] = b"COSIMO-2";

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct InstanceState {
    pub(crate) mode: Mode,
    pub(crate) time: f64,
    pub(crate) start: f64,
    pub(crate) stop: Option<f64>,
    /// The step size, where all steps must be equal.
    pub(crate) step: Option<f64>,
    pub(crate) steps: u64,
    /// The inputs changed and are not yet set in the simulator.
    pub(crate) inputs_changed: bool,
    pub(crate) parameters: Vec<f64>,
    pub(crate) inputs: Vec<Segment>,
    /// Serialized state of the simulator.
    pub(crate) simulator_state: Vec<u8>,
}

impl InstanceState {
    pub(crate) fn size(&self) -> usize {
        MAGIC.len() + 8 * (8 + 2 + self.parameters.len() + 4 * self.inputs.len()) + self.simulator_state.len()
    }

    pub(crate) fn write(&self, identity: &str, into: &mut Vec<u8>) {
        into.extend_from_slice(MAGIC);
        let number = |into: &mut Vec<u8>, bits: u64| into.extend_from_slice(&bits.to_le_bytes());
        let optional = |value: Option<f64>| value.unwrap_or(f64::NAN).to_bits();
        number(into, fingerprint(identity.as_bytes()) as u64);
        number(into, self.mode as u64);
        number(into, self.time.to_bits());
        number(into, self.start.to_bits());
        number(into, optional(self.stop));
        number(into, optional(self.step));
        number(into, self.steps);
        number(into, u64::from(self.inputs_changed));
        number(into, self.parameters.len() as u64);
        number(into, self.inputs.len() as u64);
        for value in self.parameters.iter().chain(self.inputs.iter().flat_map(|segment| &segment.0)) {
            number(into, value.to_bits());
        }
        into.extend_from_slice(&self.simulator_state);
    }

    /// `parameters` and `inputs` are the expected numbers of them.
    pub(crate) fn read(
        identity: &str,
        bytes: &[u8],
        parameters: usize,
        inputs: usize,
    ) -> Result<InstanceState, String> {
        let rest = bytes.strip_prefix(MAGIC).ok_or("these bytes are not a state of a Cosimo FMU")?;
        let (words, _) = rest.as_chunks::<8>();
        let (numbers, needed) = (parameters + 4 * inputs, 10 + parameters + 4 * inputs);
        if words.len() < needed {
            return Err(format!("the state is truncated after {} bytes", bytes.len()));
        }
        let word = |at: usize| u64::from_le_bytes(words[at]);
        let float = |at: usize| f64::from_bits(word(at));
        let optional = |at: usize| Some(float(at)).filter(|value| !value.is_nan());
        if word(0) != fingerprint(identity.as_bytes()) as u64 {
            return Err("the state belongs to another FMU".into());
        }
        if word(8) != parameters as u64 || word(9) != inputs as u64 {
            return Err("the state has another number of parameters or inputs".into());
        }
        let values: Vec<f64> = (10..10 + numbers).map(float).collect();
        let (parameters, inputs) = values.split_at(parameters);
        let (segments, _) = inputs.as_chunks::<4>();
        Ok(InstanceState {
            mode: Mode::from_number(word(1)).ok_or("the state has an unknown mode")?,
            time: float(2),
            start: float(3),
            stop: optional(4),
            step: optional(5),
            steps: word(6),
            inputs_changed: word(7) != 0,
            parameters: parameters.to_vec(),
            inputs: segments.iter().map(|coefficients| Segment(*coefficients)).collect(),
            simulator_state: rest[8 * needed..].to_vec(),
        })
    }
}

/// The states that an importer holds, by address, numbered in order of creation for the call log.
#[derive(Debug, Default)]
pub(crate) struct HeldStates {
    list: Vec<(usize, u64)>,
    count: u64,
    /// The number of the state that was used last.
    pub(crate) last: u64,
}

impl HeldStates {
    pub(crate) fn add(&mut self, address: usize) {
        self.count += 1;
        self.last = self.count;
        self.list.push((address, self.count));
    }

    /// The index of a state; refuses addresses that are not held.
    pub(crate) fn touch(&mut self, address: usize) -> Result<usize, String> {
        let place = self.list.iter().position(|(held, _)| *held == address);
        let place = place.ok_or("the state does not belong to this instance, or was freed")?;
        self.last = self.list[place].1;
        Ok(place)
    }

    pub(crate) fn remove(&mut self, address: usize) -> Result<(), String> {
        let place = self.touch(address)?;
        self.list.swap_remove(place);
        Ok(())
    }

    /// All that are left.
    pub(crate) fn take(&mut self) -> Vec<usize> {
        self.list.drain(..).map(|(address, _)| address).collect()
    }
}

/// FNV-1a of 128 bits: small, stable on every platform, and no secret depends on it.
pub(crate) fn fingerprint(bytes: &[u8]) -> u128 {
    const BASIS: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    bytes.iter().fold(BASIS, |hash, byte| (hash ^ u128::from(*byte)).wrapping_mul(PRIME))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_restore_every_field_and_foreign_bytes_are_refused() {
        let state = InstanceState {
            mode: Mode::Stepping,
            time: 0.5,
            start: -1.0,
            stop: None,
            step: Some(0.1),
            steps: 15,
            inputs_changed: true,
            parameters: vec![1.0, -0.0, f64::MAX],
            inputs: vec![Segment([1.0, 2.0, 3.0, 4.0])],
            simulator_state: vec![1, 2, 3],
        };
        let mut bytes = Vec::new();
        state.write("a", &mut bytes);
        assert_eq!(bytes.len(), state.size());
        assert_eq!(InstanceState::read("a", &bytes, 3, 1), Ok(state));
        assert!(InstanceState::read("b", &bytes, 3, 1).unwrap_err().contains("another FMU"));
        assert!(InstanceState::read("a", &bytes, 2, 1).unwrap_err().contains("another number"));
        assert!(InstanceState::read("a", &bytes[..50], 3, 1).unwrap_err().contains("truncated"));
        assert!(InstanceState::read("a", b"anything else", 3, 1).unwrap_err().contains("not a state"));
    }

    /// Published test vector of FNV-1a.
    #[test]
    fn the_fingerprint_is_the_published_one() {
        assert_eq!(fingerprint(b""), 0x6c62272e07bb014262b821756295c58d);
        assert_eq!(fingerprint(b"a"), 0xd228cb696f1a8caf78912b704e4a8964);
    }
}
