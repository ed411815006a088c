//! A file that is written beside its place and put there when it is whole: a process that is killed meanwhile leaves what
//! was there before.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// A file in the making.
#[derive(Debug)]
pub struct DraftFile {
    path: PathBuf,
    draft: PathBuf,
    file: BufWriter<File>,
    placed: bool,
}

/// Replaces a file in one go: whatever happens, there is the old one or the new one.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = DraftFile::beside(path)?;
    file.write_all(bytes)?;
    file.place()
}

/// Where a file is written before it is put into its place.
pub fn draft(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.part"))
}

impl DraftFile {
    /// Creates the draft beside its final path.
    pub fn create(path: &Path) -> io::Result<DraftFile> {
        if path.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        DraftFile::beside(path)
    }

    fn beside(path: &Path) -> io::Result<DraftFile> {
        // An FMU may change the working folder before it is placed.
        let path = std::path::absolute(path)?;
        let draft = draft(&path);
        let file = BufWriter::new(File::create(&draft)?);
        Ok(DraftFile { path, draft, file, placed: false })
    }

    /// Renames the complete file to its final path.
    pub fn place(mut self) -> io::Result<()> {
        self.file.flush()?;
        self.file.get_ref().sync_all()?;
        std::fs::rename(&self.draft, &self.path)?;
        self.placed = true;
        Ok(())
    }
}

impl Write for DraftFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for DraftFile {
    fn drop(&mut self) {
        if !self.placed {
            let _ = std::fs::remove_file(&self.draft); // half of it is of no use
        }
    }
}
