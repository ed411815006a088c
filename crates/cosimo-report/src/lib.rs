//! One HTML file that tells an engineer whether to believe a coupled run. It needs no network and no other file.
//!
//! While the run goes on, one [`Recording`] keeps the curves of its signals and another those of its books,
//! [`Rejections`] its rejected steps and [`Reasons`] why steps had their size, all in memory that does not grow with the
//! run. Afterwards a [`Report`] gathers them with everything else that is to be told, as plain data, and [`write`] makes
//! the page.

mod books;
mod curves;
mod data;
mod diagram;
mod escape;
mod lines;
mod page;
mod reasons;
mod rejections;
mod results;
mod undivided;

pub use books::Books;
pub use curves::{Curves, Recording, Room, Thinning};
pub use diagram::{Delayed, Diagram, Tie, Unit, Wire};
pub use page::{Component, Outcome, Remark, Report, write};
pub use reasons::{Reasons, reasons};
pub use rejections::Rejections;
pub use results::{NoResults, Results};
pub use undivided::{Apart, Undivided};

use std::fs::File;
use std::io::Read;
use std::path::Path;

use sha2::{Digest, Sha256};

/// SHA-256 in hexadecimal digits, as `sha256sum` prints it.
pub fn sha256(bytes: &[u8]) -> String {
    digits(&Sha256::digest(bytes))
}

/// The same of a file, however long it is.
pub fn sha256_of_file(path: &Path) -> std::io::Result<String> {
    let mut file = File::open(path)?;
    let (mut hash, mut piece) = (Sha256::new(), vec![0; 1 << 16]);
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(digits(&hash.finalize())),
            count => hash.update(&piece[..count]),
        }
    }
}

fn digits(hash: &[u8]) -> String {
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}
