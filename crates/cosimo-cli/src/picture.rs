//! Figures as files: SVG or PNG, by the ending of the name.

use std::path::Path;

use cosimo::Error;
use cosimo::plot::{Figure, PngError};

use crate::{exit, report};

/// Checks the ending of the file name before any work is done.
pub(crate) fn drawable(out: &Path) -> Result<(), u8> {
    if ending(out, "png") && !Figure::DRAWS_PNG {
        return Err(png_failure(&PngError::NoFeature));
    }
    if ending(out, "svg") || ending(out, "png") {
        return Ok(());
    }
    let message =
        format!("`--out {}`: figures are SVG or PNG, the name must end in .svg or .png", out.display());
    Err(report::refused(message, None))
}

pub(crate) fn write(figure: &Figure, out: &Path) -> Result<(), u8> {
    let bytes = if ending(out, "png") {
        figure.png().map_err(|error| png_failure(&error))?
    } else {
        figure.svg().into_bytes()
    };
    cosimo::draft_file::replace(out, &bytes)
        .map_err(|cause| report::failure(&Error::cannot_write(out, &cause)))
}

fn png_failure(error: &PngError) -> u8 {
    let (hint, code) = match error {
        PngError::NoFeature => ("write .svg instead, or build Cosimo with `--features png`", exit::BAD_INPUT),
        PngError::Undrawable(_) => ("SVG has no such limits", exit::FAILED),
    };
    report::error(&error.to_string(), Some(hint));
    code
}

fn ending(out: &Path, expected: &str) -> bool {
    out.extension().is_some_and(|ending| ending.eq_ignore_ascii_case(expected))
}
