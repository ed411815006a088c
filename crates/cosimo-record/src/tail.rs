//! A file that grows at its end and is complete after every change. What stands behind the data, such as the
//! list of chunks that Arrow and Parquet readers look for, is replaced together with the data that it lists.

use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use cosimo_core::recorder::{Columns, RecordError, TableWriter};
use cosimo_core::registry::CreateResult;

use crate::bookmark;

/// Why rows could not be encoded.
pub(crate) type EncodeError = Box<dyn std::error::Error + Send + Sync>;

/// What makes bytes of rows, in a format with a list of chunks behind them.
pub(crate) trait Encoder: Send + Sized + 'static {
    /// For a new file.
    fn new(columns: &Columns) -> Result<Self, EncodeError>;

    /// For a file whose chunks so far are listed in its footer, and end where the footer begins.
    fn resume(columns: &Columns, footer: &[u8], end: u64) -> Result<Self, EncodeError>;

    /// A chunk, or without columns what stands before the first one; and the footer for all of the file, with its length.
    fn encode(&mut self, columns: &[&[f64]]) -> Result<(Vec<u8>, usize), EncodeError>;

    /// The buffer goes back: the next chunk is about as large.
    fn give_back(&mut self, _buffer: Vec<u8>) {}
}

/// A file of an encoder. Each chunk leaves an entry in its list for ever.
struct ChunkedFile<E> {
    tail: Tail,
    encoder: E,
}

pub(crate) fn create<E: Encoder>(path: &Path, columns: &Columns) -> CreateResult {
    let tail = Tail::create(path)?;
    let encoder = E::new(columns).map_err(|cause| tail.failed(cause))?;
    let mut file = ChunkedFile { tail, encoder };
    file.append(&[])?;
    Ok(Box::new(file))
}

pub(crate) fn resume<E: Encoder>(path: &Path, columns: &Columns, bookmark: &[u8]) -> CreateResult {
    let (tail, footer) = Tail::resume(path, bookmark)?;
    let encoder = E::resume(columns, &footer, tail.end).map_err(|cause| tail.failed(cause))?;
    Ok(Box::new(ChunkedFile { tail, encoder }))
}

impl<E: Encoder> TableWriter for ChunkedFile<E> {
    fn append(&mut self, columns: &[&[f64]]) -> Result<(), RecordError> {
        let (bytes, footer) = self.encoder.encode(columns).map_err(|cause| self.tail.failed(cause))?;
        self.tail.put(&bytes, footer)?;
        self.encoder.give_back(bytes);
        Ok(())
    }

    fn place(&mut self) -> Result<Vec<u8>, RecordError> {
        self.tail.place()
    }

    fn sync(&mut self) -> Result<(), RecordError> {
        self.tail.sync()
    }

    fn wants_large_chunks(&self) -> bool {
        true
    }
}

#[derive(Debug)]
pub(crate) struct Tail {
    path: PathBuf,
    file: File,
    /// Where the data ends and the footer begins.
    end: u64,
    footer: Vec<u8>,
}

impl Tail {
    pub(crate) fn create(path: &Path) -> Result<Tail, RecordError> {
        // Also for reading: a bookmark looks at the last bytes.
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(path);
        let file = file.map_err(|cause| RecordError { file: path.into(), cause })?;
        Ok(Tail { path: path.into(), file, end: 0, footer: Vec::new() })
    }

    /// Where the data ends, with the footer as it is now.
    pub(crate) fn place(&mut self) -> Result<Vec<u8>, RecordError> {
        let place = self.check().and_then(|()| bookmark::take(&mut self.file, 0, self.end, &self.footer));
        place.map_err(|cause| RecordError { file: self.path.clone(), cause })
    }

    pub(crate) fn sync(&mut self) -> Result<(), RecordError> {
        self.file.sync_data().map_err(|cause| RecordError { file: self.path.clone(), cause })
    }

    fn check(&self) -> std::io::Result<()> {
        bookmark::check(&self.file, &self.path, self.end + self.footer.len() as u64)
    }

    /// The file as it was at the bookmark, and its footer.
    pub(crate) fn resume(path: &Path, marked: &[u8]) -> Result<(Tail, Vec<u8>), RecordError> {
        let resumed = bookmark::resume(path, marked).and_then(|(mut file, end, footer)| {
            file.seek(SeekFrom::Start(end))?;
            file.write_all(&footer)?;
            Ok((Tail { path: path.into(), file, end, footer: footer.clone() }, footer))
        });
        resumed.map_err(|cause| RecordError { file: path.into(), cause })
    }

    /// Puts bytes over the old footer, of which the last ones are the new footer. If it fails the old file is restored.
    ///
    /// The old footer is first repeated where the new one will be, so that the file has one at its end while the data is
    /// written. What is left for a kill to hit is the moment of writing a footer; the journal knows it then.
    pub(crate) fn put(&mut self, bytes: &[u8], footer: usize) -> Result<(), RecordError> {
        self.check().map_err(|cause| self.failed(cause))?;
        let (data, new) = bytes.split_at(bytes.len() - footer);
        let behind = self.end + data.len() as u64;
        let old = std::mem::take(&mut self.footer);
        let written = self
            .write(behind, &old)
            .and_then(|()| self.write(self.end, data))
            .and_then(|()| self.write(behind, new))
            // Lists grow, but nothing says that they must.
            .and_then(|()| {
                if new.len() < old.len() { self.file.set_len(behind + new.len() as u64) } else { Ok(()) }
            });
        if let Err(cause) = written {
            // The place of the old footer still belongs to the file, so this needs no space. If it fails all the
            // same, the first cause is the one to tell.
            let _ = self.write(self.end, &old).and_then(|()| self.file.set_len(self.end + old.len() as u64));
            self.footer = old;
            return Err(self.failed(cause));
        }
        let data = data.len();
        self.end += data as u64;
        self.footer.clear();
        self.footer.extend_from_slice(&bytes[data..]);
        Ok(())
    }

    /// An encoder's failure, as one of this file.
    pub(crate) fn failed(&self, cause: impl Into<EncodeError>) -> RecordError {
        let cause = cause.into();
        let cause = match cause.downcast::<std::io::Error>() {
            Ok(cause) => *cause,
            Err(cause) => std::io::Error::other(cause),
        };
        RecordError { file: self.path.clone(), cause }
    }

    fn write(&mut self, at: u64, bytes: &[u8]) -> std::io::Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.file.seek(SeekFrom::Start(at))?;
        self.file.write_all(bytes)
    }
}
