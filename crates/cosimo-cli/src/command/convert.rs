//! `cosimo convert`: writes a system in another format, with the files it needs.

use std::path::PathBuf;

use cosimo::system::{ReadOptions, WriteError, format};

use crate::load::read;
use crate::{exit, report};

/// Write a system in another format: system.toml, .ssp or .ssd
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The system: system.toml, .ssp or .ssd
    from: PathBuf,
    /// The file to write; the ending selects the format
    to: PathBuf,
    /// Replace an existing file
    #[arg(long)]
    overwrite: bool,
    /// SSP with several .ssd files: which one, by the name of its description
    #[arg(long, value_name = "NAME")]
    variant: Option<String>,
}

pub(crate) fn run(args: &Args) -> Result<(), u8> {
    let registry = cosimo::registry();
    let writer = format::of_file(cosimo::SYSTEM_FORMATS, &args.to).and_then(|format| format.write);
    let Some(write) = writer else {
        let known: Vec<String> = cosimo::SYSTEM_FORMATS
            .iter()
            .filter(|format| format.write.is_some())
            .flat_map(|format| {
                format.endings.iter().map(|ending| format!("`.{ending}` ({})", format.summary))
            })
            .collect();
        let message = format!(
            "the ending of `{}` is not that of a system format that can be written",
            args.to.display()
        );
        return Err(report::refused(message, Some(&format!("known: {}", known.join(", ")))));
    };
    let same = args.from.canonicalize().ok().zip(args.to.canonicalize().ok()).is_some_and(|(a, b)| a == b);
    if same {
        return Err(report::refused(format!("`{}` would be written over itself", args.to.display()), None));
    }
    if args.to.exists() && !args.overwrite {
        let message = format!("`{}` exists already", args.to.display());
        return Err(report::refused(message, Some("choose another name, or replace it with `--overwrite`")));
    }
    let document = read(&args.from, &ReadOptions { variant: args.variant.clone() }, &registry)?;
    report::warnings(&document.problems);
    match write(&document, &args.to, &registry) {
        Ok(written) => {
            report::warnings(&written.warnings);
            written.files.iter().for_each(|file| println!("wrote {}", file.display()));
            Ok(())
        }
        Err(WriteError::Problems(problems)) => {
            report::problems(&problems, &document.files);
            Err(exit::BAD_INPUT)
        }
        Err(WriteError::Failed { file, cause }) => {
            let why =
                if file == args.to { String::new() } else { format!(" because of `{}`", file.display()) };
            Err(report::no_file(format!("cannot write `{}`{why}: {cause}", args.to.display()), None))
        }
    }
}
