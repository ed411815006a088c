//! Whether a certificate, and the results that it speaks of, are as they were written.

use std::path::Path;

use serde_json::{Value, json};

use super::{CertificateData, gate::GateCheck};

const KEY: &str = "\"checksum\": \"";
const DIGITS: usize = 64;

/// The text of a certificate with its checksum: the SHA-256 of the text, with zeros in the place of its digits.
pub fn with_seal(mut certificate: CertificateData) -> String {
    certificate.machine.checksum = "0".repeat(DIGITS);
    let text = format!("{:#}\n", json!(certificate));
    let checksum = cosimo_pack::hash::sha256(text.as_bytes());
    match place(&text) {
        Some(at) => format!("{}{checksum}{}", &text[..at], &text[at + DIGITS..]),
        None => text,
    }
}

/// Where the digits begin. The checksum comes last, so that no text of others is taken for it.
fn place(text: &str) -> Option<usize> {
    let at = text.rfind(KEY)? + KEY.len();
    let digits = text.get(at..at + DIGITS)?;
    digits.bytes().all(|byte| byte.is_ascii_hexdigit()).then_some(at)
}

/// Whether the text of a certificate is unchanged.
pub fn unchanged(text: &str) -> GateCheck {
    let (found, pass) = match place(text) {
        None => ("a certificate without a checksum", false),
        Some(at) => {
            let blank = format!("{}{}{}", &text[..at], "0".repeat(DIGITS), &text[at + DIGITS..]);
            match cosimo_pack::hash::sha256(blank.as_bytes()) == text[at..at + DIGITS] {
                true => ("its checksum fits", true),
                false => ("its checksum does not fit: it was changed or damaged", false),
            }
        }
    };
    GateCheck::of_run("unchanged", "the certificate as the run wrote it", found, pass)
}

/// Whether the result files are those of the run. Paths start from the folder of the certificate.
pub fn results(certificate: &Value, folder: &Path) -> Vec<GateCheck> {
    let listed = certificate["machine"]["results"].as_array().into_iter().flatten();
    let check = |result: &Value| {
        let (file, wanted) = (result["file"].as_str().unwrap_or(""), result["sha256"].as_str().unwrap_or(""));
        let (found, pass) = match cosimo_pack::hash::sha256_of_file(&folder.join(file)) {
            Ok(found) if found == wanted => ("the same file".to_owned(), true),
            Ok(_) => ("another content".to_owned(), false),
            Err(cause) => (format!("none that can be read: {cause}"), false),
        };
        GateCheck {
            criterion: "results",
            about: format!("`{file}`"),
            wanted: format!("the file that the run wrote, with {} rows", json!(result["rows"])),
            found,
            pass,
        }
    };
    listed.map(check).collect()
}
