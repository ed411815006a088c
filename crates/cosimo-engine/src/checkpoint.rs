//! Serialization of a run. The memory of every method is a slice of numbers, so no method needs code for it.

use crate::instant::Residual;
use crate::island::Island;
use crate::lines::Islands;
use crate::scenario::Scenario;
use crate::simulator_pool::Task;
use crate::state_walk::StateWalk;
use cosimo_core::Time;
use cosimo_core::error::StepError;
use cosimo_core::registry::number_text;

/// Version of the layout below; other versions are refused.
const MAGIC: &[u8; 8] = b"COSIMO\x005";

/// The complete state of a run, as bytes.
#[derive(Debug, Clone, PartialEq)]
pub struct Checkpoint(Vec<u8>);

/// Why a run could not be saved or loaded.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum CheckpointError {
    /// Another file, or another version of the format.
    #[error("not a checkpoint of this version of Cosimo")]
    NotACheckpoint,
    /// Components, methods or sizes differ.
    #[error("the checkpoint belongs to another system: {0}")]
    OtherSystem(String),
    /// The checksum or the content is wrong.
    #[error("the checkpoint is damaged")]
    Damaged,
    /// The named simulator does not support serialization.
    #[error("component `{0}` does not support saving its state")]
    CannotFreeze(String),
    /// A simulator failed to save or to load its state.
    #[error(transparent)]
    Simulator(#[from] StepError),
}

impl Checkpoint {
    /// The content of a checkpoint file.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Checks format and checksum.
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
        scenario: Option<&mut Scenario>,
        progress: &mut Progress,
    ) -> Result<Checkpoint, CheckpointError> {
        let mut bytes = MAGIC.to_vec();
        walk(island, islands, scenario, progress, &mut StateWalk::Write(&mut bytes))?;
        bytes.extend(checksum(&bytes).to_le_bytes());
        Ok(Checkpoint(bytes))
    }

    pub(crate) fn put(
        &self,
        island: &mut Island,
        islands: Option<&mut Islands>,
        scenario: Option<&mut Scenario>,
    ) -> Result<Progress, CheckpointError> {
        let content = self.0.split_last_chunk::<8>().ok_or(CheckpointError::Damaged)?.0;
        let rest = content.strip_prefix(MAGIC).ok_or(CheckpointError::NotACheckpoint)?;
        let (mut read, mut progress) = (StateWalk::Read(Some(rest)), Progress::default());
        walk(island, islands, scenario, &mut progress, &mut read)?;
        if read.is_whole() { Ok(progress) } else { Err(CheckpointError::Damaged) }
    }
}

/// Writes or reads the state of an island and its surroundings. Simulators are restored only if all of it is valid.
pub(crate) fn walk(
    island: &mut Island,
    islands: Option<&mut Islands>,
    mut scenario: Option<&mut Scenario>,
    progress: &mut Progress,
    walk: &mut StateWalk<'_>,
) -> Result<(), CheckpointError> {
    let ours = fingerprint(island, scenario.as_deref());
    let mut theirs = ours.clone().into_bytes();
    if !walk.reads() {
        let topology = &island.layout.topology;
        let mut named = topology.names.iter().zip(&topology.interfaces);
        if let Some((name, _)) = named.find(|(_, interface)| !interface.abilities.serialize_state) {
            return Err(CheckpointError::CannotFreeze(name.clone()));
        }
        match islands {
            Some(islands) => islands.serialize_states(island)?,
            None => island.run_at_rest(Task::Freeze)?,
        }
        walk.bytes(&mut theirs);
        walk_state(island, scenario, progress, walk);
        return Ok(());
    }
    walk.bytes(&mut theirs);
    if theirs != ours.as_bytes() && !walk.is_broken() {
        let theirs = String::from_utf8_lossy(&theirs);
        return Err(CheckpointError::OtherSystem(format!("expected `{ours}`, got `{theirs}`")));
    }
    walk_state(island, scenario.as_deref_mut(), progress, walk);
    if walk.is_broken() {
        return Err(CheckpointError::Damaged);
    }
    if let Some(scenario) = scenario {
        scenario.redo(island)?;
    }
    match islands {
        Some(islands) => islands.deserialize_states(island)?,
        None => island.run_at_rest(Task::Thaw)?,
    }
    Ok(())
}

fn walk_state(
    island: &mut Island,
    scenario: Option<&mut Scenario>,
    progress: &mut Progress,
    walk: &mut StateWalk<'_>,
) {
    let Island { board, clock, size, error, window, growth, .. } = island;
    let buffers = &mut board.buffers;
    buffers.serialized_states.iter_mut().chain(&mut buffers.bytes_in).for_each(|bytes| walk.bytes(bytes));
    board.counters.all().into_iter().for_each(|count| walk.count(count));
    growth.walk(walk);
    for Residual { start, later, largest } in &mut board.residuals {
        walk.maybe(start);
        walk.maybe(later);
        walk.number(largest);
    }
    let mut beat = progress.rows_due.unwrap_or(NO_BEAT);
    walk.count(&mut beat);
    progress.rows_due = Some(beat).filter(|beat| *beat != NO_BEAT);
    walk.flag(&mut progress.unwritten);
    walk.clock(clock);
    walk.numbers([size, error, &mut progress.worst]);
    let mut peaks = !progress.peaks.is_empty();
    walk.flag(&mut peaks);
    progress.peaks.resize(if peaks { board.traces.outputs() } else { 0 }, 0.0);
    walk.numbers(&mut progress.peaks);
    walk.window(window);
    let mut next_event = board.next_event.map(Time::seconds);
    walk.maybe(&mut next_event);
    board.next_event = next_event.and_then(Time::new);
    walk.traces(&mut board.traces);
    board.ledger.walk(walk);
    walk.numbers(board.memory.iter_mut().chain(&mut board.controller).chain(&mut board.held));
    let mut age = board.model_age.map(|age| age as f64);
    walk.maybe(&mut age);
    board.model_age = age.map(|age| age as u64);
    walk.numbers(buffers.matrices.iter_mut().chain(&mut buffers.outputs));
    walk.segments(&mut buffers.segments);
    board.rates.walk(walk);
    if let Some(scenario) = scenario {
        scenario.walk(walk);
    }
}

/// The state of a run beside its island.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Progress {
    /// The worst indicator so far.
    pub(crate) worst: f64,
    /// How many rows were due on the output grid, if there is one.
    pub(crate) rows_due: Option<u64>,
    /// The present point has no row yet.
    pub(crate) unwritten: bool,
    /// Per output: its largest modulus, if it is followed.
    pub(crate) peaks: Vec<f64>,
}

const NO_BEAT: u64 = u64::MAX;

/// FNV-1a. Each byte is mixed in reversibly, so that a change of a single byte is always detected.
fn checksum(bytes: &[u8]) -> u64 {
    let mix = |sum: u64, byte: &u8| (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, mix)
}

/// Detects a checkpoint of another system or method.
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
        island.board.controller.len(),
        layout.methods.estimate_name,
        scenario.map_or(0, Scenario::len),
    )
}
