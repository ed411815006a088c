//! The file itself: found, measured, and read in whichever encoding it is.

use std::path::{Path, PathBuf};

use cosimo_core::Registry;
use cosimo_pack::text::decode;
use cosimo_system::{Document, Files, Problem, ReadError, ReadOptions, SystemFormat};

use crate::structure;

/// Bytes of a file; a thousand simulators need less than one MB.
const LARGEST: u64 = 64 << 20;

/// `OspSystemStructure.xml`, under any name.
pub const OSP: SystemFormat = SystemFormat {
    name: "osp",
    summary: "a system structure of the Open Simulation Platform",
    endings: &["xml"],
    read,
    write: None,
};

fn read(file: &Path, asked: &ReadOptions, registry: &Registry) -> Result<Document, ReadError> {
    let path = file.display().to_string();
    let unreadable =
        |message: String, hint: Option<String>, malformed| ReadError { message, hint, malformed };
    let failed = |cause| unreadable(format!("cannot read `{path}`: {cause}"), None, false);
    cosimo_system::check_regular_file(file).map_err(failed)?;
    let size = std::fs::metadata(file).map_err(failed)?.len();
    if size > LARGEST {
        let hint = Some("is it the right file?".into());
        return Err(unreadable(format!("`{path}` is larger than {} MB", LARGEST >> 20), hint, true));
    }
    let bytes = std::fs::read(file).map_err(failed)?;
    let (text, odd) =
        decode(bytes, &path).map_err(|problem| unreadable(problem.sentence(), problem.hint, true))?;
    let folder = file.parent().map_or_else(PathBuf::new, Path::to_owned);
    let (system, mut problems) = structure::read(&text, &path, &folder, registry);
    problems.extend(odd.map(|odd| Problem::warning("osp/encoding", odd.message, 0..0)));
    if let Some(variant) = &asked.variant {
        let message =
            format!("there is no variant `{variant}` in a system structure; only packages have variants");
        problems.push(Problem::error("osp/variant", message, 0..0));
    }
    Ok(Document { system, problems, files: Files::one(path, text), rest: None })
}
