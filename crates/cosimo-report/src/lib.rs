//! One HTML file that tells an engineer whether to believe a coupled run. It needs no network and no other file.
//!
//! While the run goes on, [`Recording`] keeps its curves and [`Rejections`] its rejected steps, both in memory
//! that does not grow with the run. Afterwards a [`Report`] gathers them with everything else that is to be
//! told, as plain data, and [`write`] makes the page.

mod curves;
mod data;
mod escape;
mod page;
mod rejections;

pub use curves::{Curves, Recording, Thinning};
pub use page::{Component, Outcome, Report, write};
pub use rejections::Rejections;

use sha2::{Digest, Sha256};

/// SHA-256 in hexadecimal digits, as `sha256sum` prints it.
pub fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
