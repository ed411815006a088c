//! A run in a file, to be resumed by another process: the engine's checkpoint, where the result files end, the command
//! line, and hashes of everything that went in.
//!
//! The file is a magic line, a version, three pieces behind their lengths (a description in JSON, the checkpoint, the
//! bookmark of the results) and a SHA-256 of all of that. It is written beside its place and then put there, so that a
//! crash leaves the one before it.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use cosimo_engine::{Checkpoint, CheckpointError};
use cosimo_report::sha256;
use serde_json::{Value, json};

const MAGIC: &[u8] = b"Cosimo checkpoint\n";
const VERSION: u32 = 2;
/// Hexadecimal digits of a SHA-256.
const HASH: usize = 64;

/// What a checkpoint knows about its run.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Origin {
    /// The command line, without the program.
    pub words: Vec<String>,
    /// Where the run was started, seen from the folder of the checkpoint.
    pub folder: String,
    /// Where the run ends, where a later command line said so.
    pub stop: Option<f64>,
    /// Files that went in; paths start from the folder.
    pub inputs: Vec<Input>,
    /// Result files in the order of the bookmark; paths start from the folder.
    pub results: Vec<String>,
}

/// A file that went into a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Input {
    pub file: String,
    pub sha256: String,
    /// What stood in it, where people wrote it: the system and the scenario.
    pub text: Option<String>,
}

/// A run in a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Saved {
    pub origin: Origin,
    /// Simulated time, in seconds.
    pub time: f64,
    /// Seconds of computing so far.
    pub computing: f64,
    pub checkpoint: Checkpoint,
    /// Where the result files end.
    pub bookmark: Vec<u8>,
}

#[derive(Debug, thiserror::Error)]
pub enum SavedError {
    #[error("cannot read `{}`: {cause}", file.display())]
    Unreadable { file: PathBuf, cause: io::Error },
    #[error("`{}` is no checkpoint of Cosimo", file.display())]
    Foreign { file: PathBuf },
    #[error("`{}` is a checkpoint of format {found}, this version of Cosimo reads format {VERSION}", file.display())]
    OtherVersion { file: PathBuf, found: u32 },
    #[error("`{}` is damaged: {what}", file.display())]
    Damaged { file: PathBuf, what: String },
}

impl SavedError {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            SavedError::Unreadable { .. } => "check the path and the rights",
            SavedError::Foreign { .. } => {
                "wanted is a file that `cosimo run --checkpoint` wrote; they end in `.checkpoint`"
            }
            SavedError::OtherVersion { .. } => "resume it with the version of Cosimo that wrote it",
            SavedError::Damaged { .. } => "take an earlier copy, or run from the start",
        }
    }
}

/// Replaces a file in one go: whatever happens, there is the old one or the new one.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let draft = draft(path);
    let written = File::create(&draft).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()
    });
    let placed = written.and_then(|()| std::fs::rename(&draft, path));
    if placed.is_err() {
        // Half a file is of no use; the cause is told all the same.
        let _ = std::fs::remove_file(&draft);
    }
    placed
}

impl Saved {
    /// Replaces the file in one go.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        replace(path, &self.bytes())
    }

    pub fn read(path: &Path) -> Result<Saved, SavedError> {
        let file = || path.to_owned();
        let read = cosimo_system::regular(path).and_then(|()| std::fs::read(path));
        let bytes = read.map_err(|cause| SavedError::Unreadable { file: file(), cause })?;
        let Some(rest) = bytes.strip_prefix(MAGIC) else { return Err(SavedError::Foreign { file: file() }) };
        let damaged = |what: &str| SavedError::Damaged { file: file(), what: what.into() };
        let short = || damaged("it ends too early");
        let (version, rest) = rest.split_first_chunk().ok_or_else(short)?;
        let found = u32::from_le_bytes(*version);
        if found != VERSION {
            return Err(SavedError::OtherVersion { file: file(), found });
        }
        let hash = bytes.len().checked_sub(HASH).filter(|at| *at >= bytes.len() - rest.len());
        let (content, hash) = bytes.split_at(hash.ok_or_else(short)?);
        if sha256(content).as_bytes() != hash {
            return Err(damaged("its checksum does not fit its content"));
        }
        let mut pieces = &rest[..rest.len() - HASH];
        let mut piece = || piece(&mut pieces).ok_or_else(short);
        let (about, checkpoint, bookmark) = (piece()?, piece()?, piece()?);
        let about: Value = serde_json::from_slice(about).map_err(|error| damaged(&error.to_string()))?;
        let checkpoint = Checkpoint::from_bytes(checkpoint.to_vec())
            .map_err(|error: CheckpointError| damaged(&error.to_string()))?;
        described(&about, checkpoint, bookmark.to_vec())
            .ok_or_else(|| damaged("its description is incomplete"))
    }

    fn bytes(&self) -> Vec<u8> {
        let Origin { words, folder, stop, inputs, results } = &self.origin;
        let inputs: Vec<Value> = inputs
            .iter()
            .map(|input| json!({ "file": input.file, "sha256": input.sha256, "text": input.text }))
            .collect();
        // Numbers as texts: they must come back to the last bit.
        let about = json!({
            "version": env!("CARGO_PKG_VERSION"),
            "words": words,
            "folder": folder,
            "stop": stop.map(|stop| stop.to_string()),
            "inputs": inputs,
            "results": results,
            "time": self.time.to_string(),
            "computing": self.computing.to_string(),
        });
        let mut bytes = MAGIC.to_vec();
        bytes.extend(VERSION.to_le_bytes());
        for piece in [about.to_string().as_bytes(), self.checkpoint.bytes(), &self.bookmark] {
            bytes.extend((piece.len() as u64).to_le_bytes());
            bytes.extend(piece);
        }
        let hash = sha256(&bytes);
        bytes.extend(hash.as_bytes());
        bytes
    }
}

/// Where a checkpoint is written before it is put into its place.
pub fn draft(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.part"))
}

fn piece<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, behind) = rest.split_first_chunk()?;
    let (piece, behind) = behind.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
    *rest = behind;
    Some(piece)
}

fn described(about: &Value, checkpoint: Checkpoint, bookmark: Vec<u8>) -> Option<Saved> {
    let number = |key: &str| about.get(key)?.as_str()?.parse().ok();
    let texts = |value: &Value| -> Option<Vec<String>> {
        value.as_array()?.iter().map(|text| Some(text.as_str()?.to_owned())).collect()
    };
    let input = |value: &Value| {
        let text = |key: &str| Some(value.get(key)?.as_str()?.to_owned());
        Some(Input { file: text("file")?, sha256: text("sha256")?, text: text("text") })
    };
    let origin = Origin {
        words: texts(about.get("words")?)?,
        folder: about.get("folder")?.as_str()?.to_owned(),
        stop: number("stop"),
        inputs: about.get("inputs")?.as_array()?.iter().map(input).collect::<Option<_>>()?,
        results: texts(about.get("results")?)?,
    };
    let (time, computing) = (number("time")?, number("computing")?);
    Some(Saved { origin, time, computing, checkpoint, bookmark })
}
