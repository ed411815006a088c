//! A run as bytes. Every method's memory is a slice of numbers, so no method needs code for it.

use crate::control::Counters;
use crate::crew::Task;
use crate::island::Island;
use crate::lines::Islands;
use crate::scenario::Scenario;
use cosimo_core::entry::number_text;
use cosimo_core::error::StepError;
use cosimo_core::{Clock, Time, Window};

/// Version of the layout below; other versions are refused.
const MAGIC: &[u8; 8] = b"COSIMO\x004";

#[derive(Debug, Clone, PartialEq)]
pub struct Checkpoint(Vec<u8>);

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum CheckpointError {
    #[error("this is no checkpoint of this version of Cosimo")]
    NotACheckpoint,
    #[error("the checkpoint belongs to another system: {0}")]
    OtherSystem(String),
    #[error("the checkpoint is damaged")]
    Damaged,
    #[error("simulator `{0}` cannot be saved to bytes")]
    CannotFreeze(String),
    #[error(transparent)]
    Simulator(#[from] StepError),
}

impl Checkpoint {
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    pub fn from_bytes(bytes: Vec<u8>) -> Result<Checkpoint, CheckpointError> {
        if !bytes.starts_with(MAGIC) {
            return Err(CheckpointError::NotACheckpoint);
        }
        match bytes.split_last_chunk() {
            Some((content, check)) if checksum(content) == u64::from_le_bytes(*check) => {
                Ok(Checkpoint(bytes))
            }
            _ => Err(CheckpointError::Damaged),
        }
    }

    pub(crate) fn take(
        island: &mut Island,
        islands: Option<&mut Islands>,
        scenario: Option<&Scenario>,
        progress: &Progress,
    ) -> Result<Checkpoint, CheckpointError> {
        let layout = &island.layout;
        for (name, interface) in layout.topology.names.iter().zip(&layout.topology.interfaces) {
            if !interface.abilities.freeze {
                return Err(CheckpointError::CannotFreeze(name.clone()));
            }
        }
        match islands {
            Some(islands) => islands.freeze(island)?,
            None => island.rest(Task::Freeze)?,
        }
        let mut bytes = MAGIC.to_vec();
        put_bytes(&mut bytes, fingerprint(island, scenario).as_bytes());
        for frozen in &island.board.buffers.frozen {
            put_bytes(&mut bytes, frozen);
        }
        for parcel in &island.board.buffers.parcels {
            put_bytes(&mut bytes, parcel);
        }
        for count in island.counters.save() {
            bytes.extend(count.to_le_bytes());
        }
        bytes.extend(island.board.evaluations.to_le_bytes());
        bytes.extend(progress.beat.unwrap_or(NO_BEAT).to_le_bytes());
        bytes.extend(u64::from(progress.unwritten).to_le_bytes());
        let mut numbers = Vec::new();
        numbers.extend(island.clock.save());
        numbers.extend([island.size, island.error, progress.worst]);
        numbers.extend([
            island.window.from.seconds(),
            island.window.to.seconds(),
            island.window.size,
            island.board.next_event.map_or(f64::NAN, Time::seconds),
        ]);
        island.board.traces.save(&mut numbers);
        island.board.ledger.save(&mut numbers);
        numbers.extend(&island.board.memory);
        numbers.extend(&island.board.law);
        numbers.extend(&island.board.held);
        numbers.push(island.board.model_age.map_or(f64::NAN, |age| age as f64));
        numbers.extend(&island.board.buffers.matrices);
        numbers.extend(&island.board.buffers.left);
        numbers.extend(island.board.buffers.segments.iter().flat_map(|segment| segment.0));
        island.board.paces.save(&mut numbers);
        if let Some(scenario) = scenario {
            scenario.save(&mut numbers);
        }
        for number in numbers {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend(checksum(&bytes).to_le_bytes());
        Ok(Checkpoint(bytes))
    }

    pub(crate) fn put(
        &self,
        island: &mut Island,
        islands: Option<&mut Islands>,
        mut scenario: Option<&mut Scenario>,
    ) -> Result<Progress, CheckpointError> {
        let content = self.0.split_last_chunk::<8>().ok_or(CheckpointError::Damaged)?.0;
        let mut rest = content.strip_prefix(MAGIC).ok_or(CheckpointError::NotACheckpoint)?;
        let theirs = take_bytes(&mut rest).ok_or(CheckpointError::Damaged)?;
        let ours = fingerprint(island, scenario.as_deref());
        if theirs != ours.as_bytes() {
            let theirs = String::from_utf8_lossy(theirs);
            return Err(CheckpointError::OtherSystem(format!("it is of `{theirs}`, this is `{ours}`")));
        }
        for index in 0..island.layout.topology.blocks.len() {
            let frozen = take_bytes(&mut rest).ok_or(CheckpointError::Damaged)?;
            island.board.buffers.frozen[index] = frozen.to_vec();
        }
        for parcel in &mut island.board.buffers.parcels {
            *parcel = take_bytes(&mut rest).ok_or(CheckpointError::Damaged)?.to_vec();
        }
        let mut words = rest.chunks_exact(8).filter_map(|chunk| chunk.try_into().ok());
        let mut count = || words.next().map(u64::from_le_bytes);
        let mut saved = [0; 11];
        for slot in &mut saved {
            *slot = count().ok_or(CheckpointError::Damaged)?;
        }
        let evaluations = count().ok_or(CheckpointError::Damaged)?;
        let beat = count().ok_or(CheckpointError::Damaged)?;
        let unwritten = count().ok_or(CheckpointError::Damaged)? != 0;
        let mut numbers = words.map(f64::from_le_bytes);
        let worst = numbers_into(island, &mut numbers).ok_or(CheckpointError::Damaged)?;
        if let Some(scenario) = &mut scenario {
            scenario.load(island, &mut numbers).ok_or(CheckpointError::Damaged)??;
        }
        island.counters = Counters::load(saved);
        island.board.evaluations = evaluations;
        (island.board.linearised, island.board.oldest_model) =
            (island.counters.linearised, island.counters.oldest_model);
        match islands {
            Some(islands) => islands.thaw(island)?,
            None => island.rest(Task::Thaw)?,
        }
        Ok(Progress { worst, beat: (beat != NO_BEAT).then_some(beat), unwritten })
    }
}

/// What a run remembers beside its island.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Progress {
    /// The worst indicator so far.
    pub(crate) worst: f64,
    /// How many times a row was due, where rows are not due at every point.
    pub(crate) beat: Option<u64>,
    /// The present point has no row yet.
    pub(crate) unwritten: bool,
}

const NO_BEAT: u64 = u64::MAX;

/// FNV-1a. Each byte is mixed in reversibly, so that no change of a single one goes unnoticed.
fn checksum(bytes: &[u8]) -> u64 {
    let mix = |sum: u64, byte: &u8| (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, mix)
}

fn numbers_into(island: &mut Island, numbers: &mut impl Iterator<Item = f64>) -> Option<f64> {
    island.clock = Clock::load([numbers.next()?, numbers.next()?, numbers.next()?, numbers.next()?])?;
    island.size = numbers.next()?;
    island.error = numbers.next()?;
    let worst = numbers.next()?;
    island.window =
        Window { from: Time::new(numbers.next()?)?, to: Time::new(numbers.next()?)?, size: numbers.next()? };
    island.board.next_event = Time::new(numbers.next()?);
    island.board.traces.load(numbers)?;
    island.board.ledger.load(numbers)?;
    let board = &mut island.board;
    let mut age = f64::NAN;
    let all = board
        .memory
        .iter_mut()
        .chain(&mut board.law)
        .chain(&mut board.held)
        .chain(std::iter::once(&mut age))
        .chain(&mut board.buffers.matrices)
        .chain(&mut board.buffers.left)
        .chain(board.buffers.segments.iter_mut().flat_map(|segment| &mut segment.0));
    for slot in all {
        *slot = numbers.next()?;
    }
    board.model_age = if age.is_nan() { None } else { Some(age as u64) };
    board.paces.load(numbers)?;
    Some(worst)
}

/// Enough to notice that a checkpoint is loaded into another system or method.
fn fingerprint(island: &Island, scenario: Option<&Scenario>) -> String {
    let layout = &island.layout;
    let own: String = layout
        .methods
        .rates
        .iter()
        .map(|rate| format!(" {}.step={}", layout.topology.names[rate.member], number_text(rate.every)))
        .collect();
    format!(
        "{} inputs={} outputs={} bonds={} memory={} matrices={} law={} estimate={} actions={}{own}",
        layout.topology.names.join(","),
        layout.topology.shape.inputs,
        layout.topology.shape.outputs,
        layout.topology.shape.bonds,
        island.board.memory.len(),
        island.board.buffers.matrices.len(),
        island.board.law.len(),
        layout.methods.estimate_name,
        scenario.map_or(0, Scenario::len),
    )
}

fn put_bytes(into: &mut Vec<u8>, bytes: &[u8]) {
    into.extend((bytes.len() as u64).to_le_bytes());
    into.extend(bytes);
}

fn take_bytes<'a>(from: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, rest) = from.split_first_chunk::<8>()?;
    let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
    let (bytes, rest) = rest.split_at_checked(length)?;
    *from = rest;
    Some(bytes)
}
