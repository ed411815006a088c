//! SHA-256 in hexadecimal digits, as `sha256sum` prints it.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use sha2::{Digest, Sha256};

pub fn sha256(bytes: &[u8]) -> String {
    digits(&Sha256::digest(bytes))
}

/// Of a file, however long it is.
pub fn sha256_of_file(path: &Path) -> io::Result<String> {
    sha256_of(&mut File::open(path)?)
}

pub(crate) fn sha256_of(source: &mut impl Read) -> io::Result<String> {
    let (mut hash, mut piece) = (Sha256::new(), vec![0; 1 << 16]);
    loop {
        match source.read(&mut piece)? {
            0 => return Ok(digits(&hash.finalize())),
            count => hash.update(&piece[..count]),
        }
    }
}

fn digits(hash: &[u8]) -> String {
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}
