//! A run in a file, to be resumed by another process: the engine's checkpoint, where the result files end, the command
//! line, and hashes of everything that went in.
//!
//! The file is a magic line, a version, three pieces behind their lengths (a description in JSON, the checkpoint, the
//! bookmark of the results) and a SHA-256 of all of that. It is written beside its place and then put there, so that a
//! crash leaves the one before it.

use std::io;
use std::path::{Path, PathBuf};

use cosimo_engine::{Checkpoint, CheckpointError};
use cosimo_pack::hash::sha256;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::draft_file::replace;

const MAGIC: &[u8] = b"Cosimo checkpoint\n";
const VERSION: u32 = 2;
/// Hexadecimal digits of a SHA-256.
const HASH: usize = 64;

/// The run that a checkpoint belongs to.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CheckpointOrigin {
    /// The command line, without the program.
    pub words: Vec<String>,
    /// Where the run was started, seen from the folder of the checkpoint.
    pub folder: String,
    /// The stop time, where a later command line changed it.
    pub stop: Option<f64>,
    /// Files that went in; paths start from the folder.
    pub inputs: Vec<Input>,
    /// Result files in the order of the bookmark; paths start from the folder.
    pub results: Vec<String>,
}

/// A file that went into a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Input {
    /// Path from the folder of the run.
    pub file: String,
    /// Hash of the content.
    pub sha256: String,
    /// The text, for files written by hand: the system and the scenario.
    pub text: Option<String>,
}

/// A run in a file.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckpointFile {
    /// The run that was saved.
    pub origin: CheckpointOrigin,
    /// Simulated time, in seconds.
    pub time: f64,
    /// Seconds of computing so far.
    pub computing: f64,
    /// The state of the engine.
    pub checkpoint: Checkpoint,
    /// Where the result files end.
    pub bookmark: Vec<u8>,
}

/// The description in the file. Numbers are texts: they must come back to the last bit.
#[derive(Serialize, Deserialize)]
struct CheckpointHeader {
    version: String,
    words: Vec<String>,
    folder: String,
    stop: Option<String>,
    inputs: Vec<Input>,
    results: Vec<String>,
    time: String,
    computing: String,
}

/// Why a checkpoint cannot be read.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // the messages say it
pub enum CheckpointFileError {
    #[error("cannot read `{}`: {cause}", file.display())]
    Unreadable { file: PathBuf, cause: io::Error },
    #[error("`{}` is not a checkpoint of Cosimo", file.display())]
    Foreign { file: PathBuf },
    #[error("`{}` is a checkpoint of format {found}, this version of Cosimo reads format {VERSION}", file.display())]
    OtherVersion { file: PathBuf, found: u32 },
    #[error("`{}` is damaged: {what}", file.display())]
    Damaged { file: PathBuf, what: String },
}

impl CheckpointFileError {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            CheckpointFileError::Unreadable { .. } => "check the path and the permissions",
            CheckpointFileError::Foreign { .. } => {
                "expected a file written by `cosimo run --checkpoint`; their names end in `.checkpoint`"
            }
            CheckpointFileError::OtherVersion { .. } => "resume it with the version of Cosimo that wrote it",
            CheckpointFileError::Damaged { .. } => "take an earlier copy, or run from the start",
        }
    }
}

impl CheckpointFile {
    /// Replaces the file in one go.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        replace(path, &self.bytes())
    }

    /// Reads and checks a file.
    pub fn read(path: &Path) -> Result<CheckpointFile, CheckpointFileError> {
        let file = || path.to_owned();
        let read = cosimo_system::check_regular_file(path).and_then(|()| std::fs::read(path));
        let bytes = read.map_err(|cause| CheckpointFileError::Unreadable { file: file(), cause })?;
        let Some(rest) = bytes.strip_prefix(MAGIC) else {
            return Err(CheckpointFileError::Foreign { file: file() });
        };
        let damaged = |what: &str| CheckpointFileError::Damaged { file: file(), what: what.into() };
        let short = || damaged("it ends too early");
        let (version, rest) = rest.split_first_chunk().ok_or_else(short)?;
        let found = u32::from_le_bytes(*version);
        if found != VERSION {
            return Err(CheckpointFileError::OtherVersion { file: file(), found });
        }
        let hash = bytes.len().checked_sub(HASH).filter(|at| *at >= bytes.len() - rest.len());
        let (content, hash) = bytes.split_at(hash.ok_or_else(short)?);
        if sha256(content).as_bytes() != hash {
            return Err(damaged("its checksum does not fit its content"));
        }
        let mut pieces = &rest[..rest.len() - HASH];
        let mut piece = || piece(&mut pieces).ok_or_else(short);
        let (about, checkpoint, bookmark) = (piece()?, piece()?, piece()?);
        let about: CheckpointHeader =
            serde_json::from_slice(about).map_err(|error| match error.is_data() {
                true => damaged("its description is incomplete"),
                false => damaged(&error.to_string()),
            })?;
        let checkpoint = Checkpoint::from_bytes(checkpoint.to_vec())
            .map_err(|error: CheckpointError| damaged(&error.to_string()))?;
        described(about, checkpoint, bookmark.to_vec())
            .ok_or_else(|| damaged("its description is incomplete"))
    }

    fn bytes(&self) -> Vec<u8> {
        let CheckpointOrigin { words, folder, stop, inputs, results } = self.origin.clone();
        let about = CheckpointHeader {
            version: env!("CARGO_PKG_VERSION").into(),
            words,
            folder,
            stop: stop.map(|stop| stop.to_string()),
            inputs,
            results,
            time: self.time.to_string(),
            computing: self.computing.to_string(),
        };
        let mut bytes = MAGIC.to_vec();
        bytes.extend(VERSION.to_le_bytes());
        for piece in [json!(about).to_string().as_bytes(), self.checkpoint.bytes(), &self.bookmark] {
            bytes.extend((piece.len() as u64).to_le_bytes());
            bytes.extend(piece);
        }
        let hash = sha256(&bytes);
        bytes.extend(hash.as_bytes());
        bytes
    }
}

fn piece<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, behind) = rest.split_first_chunk()?;
    let (piece, behind) = behind.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
    *rest = behind;
    Some(piece)
}

fn described(about: CheckpointHeader, checkpoint: Checkpoint, bookmark: Vec<u8>) -> Option<CheckpointFile> {
    let CheckpointHeader { words, folder, stop, inputs, results, time, computing, .. } = about;
    let stop = stop.and_then(|stop| stop.parse().ok());
    let origin = CheckpointOrigin { words, folder, stop, inputs, results };
    Some(CheckpointFile {
        origin,
        time: time.parse().ok()?,
        computing: computing.parse().ok()?,
        checkpoint,
        bookmark,
    })
}
