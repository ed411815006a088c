//! A file that grows at its end and is complete after every change. What stands behind the data, such as the
//! list of chunks that Arrow and Parquet readers look for, is replaced together with the data that it lists.

use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use cosimo_core::recorder::RecordError;

use crate::bookmark;

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
    pub(crate) fn bookmark(&mut self) -> Result<Vec<u8>, RecordError> {
        let marked = bookmark::take(&mut self.file, 0, self.end, &self.footer);
        marked.map_err(|cause| RecordError { file: self.path.clone(), cause })
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

    pub(crate) fn end(&self) -> u64 {
        self.end
    }

    /// Puts bytes over the old footer, of which the last ones are the new footer. It is a single write:
    /// whoever kills the process between two of them finds a whole file. If it fails the old file is restored.
    pub(crate) fn put(&mut self, bytes: &[u8], footer: usize) -> Result<(), RecordError> {
        if let Err(cause) = self.write(bytes) {
            let old = std::mem::take(&mut self.footer);
            // The place of the old footer still belongs to the file, so this needs no space. If it fails all the
            // same, the first cause is the one to tell.
            let _ = self.write(&old).and_then(|()| self.file.set_len(self.end + old.len() as u64));
            return Err(self.failed(cause));
        }
        let data = bytes.len() - footer;
        self.end += data as u64;
        self.footer.clear();
        self.footer.extend_from_slice(&bytes[data..]);
        Ok(())
    }

    /// An encoder's failure, as one of this file.
    pub(crate) fn failed(&self, cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> RecordError {
        let cause = cause.into();
        let cause = match cause.downcast::<std::io::Error>() {
            Ok(cause) => *cause,
            Err(cause) => std::io::Error::other(cause),
        };
        RecordError { file: self.path.clone(), cause }
    }

    fn write(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.file.seek(SeekFrom::Start(self.end))?;
        self.file.write_all(bytes)
    }
}
