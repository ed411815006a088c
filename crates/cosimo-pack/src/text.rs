//! Bytes of a file as text, in whichever encoding tools really write, up to a reasonable size.

use std::path::Path;

use crate::archive::regular;
use crate::problem::FileProblem;

/// Larger files are refused; 200 000 variables need 17 MB.
pub const LARGEST: u64 = 200_000_000;

/// The text of a file, and what is odd about it.
pub fn read_text(folder: &Path, file: &str) -> Result<(String, Option<FileProblem>), FileProblem> {
    let path = folder.join(file);
    let failed = |error: &dyn std::fmt::Display| unreadable(file, error);
    regular(&path).map_err(|error| failed(&error))?;
    let size = std::fs::metadata(&path).map_err(|error| failed(&error))?.len();
    if size > LARGEST {
        return Err(FileProblem {
            file: Some(file.to_owned()),
            ..FileProblem::new(format!("has {size} bytes, at most {LARGEST} are allowed"))
        });
    }
    let bytes = std::fs::read(&path).map_err(|error| failed(&error))?;
    decode(bytes, file)
}

/// As `read_text`, of bytes that are in memory.
pub fn decode(bytes: Vec<u8>, file: &str) -> Result<(String, Option<FileProblem>), FileProblem> {
    let failed = |error: &dyn std::fmt::Display| unreadable(file, error);
    let wide = |join: fn([u8; 2]) -> u16| -> Result<String, FileProblem> {
        let units: Vec<u16> = bytes[2..].chunks_exact(2).map(|pair| join([pair[0], pair[1]])).collect();
        String::from_utf16(&units).map_err(|error| failed(&error))
    };
    match bytes.as_slice() {
        [0xff, 0xfe, ..] => return Ok((wide(u16::from_le_bytes)?, None)),
        [0xfe, 0xff, ..] => return Ok((wide(u16::from_be_bytes)?, None)),
        _ => {}
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok((text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text), None)),
        // Old tools write Latin-1, and not all say so in the first line; its bytes are the first characters of Unicode.
        Err(error) => {
            let warning = (!declares_latin(error.as_bytes())).then(|| FileProblem {
                file: Some(file.to_owned()),
                ..FileProblem::new(
                    "is not the UTF-8 that it says; it is read as Latin-1, and some letters may be wrong",
                )
            });
            Ok((error.as_bytes().iter().map(|byte| char::from(*byte)).collect(), warning))
        }
    }
}

fn unreadable(file: &str, error: &dyn std::fmt::Display) -> FileProblem {
    FileProblem {
        file: Some(file.to_owned()),
        ..FileProblem::new(format!("cannot be read as text: {error}"))
    }
    .hint("expected UTF-8; export it again")
}

fn declares_latin(bytes: &[u8]) -> bool {
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(200)]).to_lowercase();
    head.split("?>").next().is_some_and(|line| line.contains("iso-8859-1") || line.contains("windows-1252"))
}

/// The text of a URI: `my%20unit.fmu` is `my unit.fmu`. `None` where an escape makes no sense.
pub fn unescaped(uri: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = uri.as_bytes();
    while let Some((&first, more)) = rest.split_first() {
        rest = more;
        if first != b'%' {
            bytes.push(first);
            continue;
        }
        let digits = rest.get(..2).and_then(|digits| std::str::from_utf8(digits).ok())?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = &rest[2..];
    }
    String::from_utf8(bytes).ok()
}
