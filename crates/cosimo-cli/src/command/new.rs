//! `cosimo new`: a system to begin with, of native models or around FMUs.

use std::fs::OpenOptions;
use std::io;
use std::path::PathBuf;

use cosimo::starter::Starter;

use crate::report;

/// Write a commented system file to begin with
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Where `system.toml` goes; made if it is not there
    #[arg(value_name = "DIR", default_value = ".")]
    folder: PathBuf,
    /// Simulators to couple, as in `a.fmu` or `left=a.fmu`: their ports come as comments, with connections that may be meant
    #[arg(long, value_name = "FILE", num_args = 1..)]
    from: Vec<String>,
}

pub(crate) fn run(args: &Args) -> Result<(), u8> {
    let file = args.folder.join("system.toml");
    let unwritable = |cause: io::Error| {
        let (message, hint) = if cause.kind() == io::ErrorKind::AlreadyExists {
            let message = format!("`{}` exists already and is left as it is", file.display());
            (message, "choose another folder, or remove the file")
        } else {
            (
                format!("cannot write `{}`: {cause}", file.display()),
                "choose another place, or check rights and space",
            )
        };
        report::no_file(message, Some(hint))
    };
    if file.exists() {
        return Err(unwritable(io::ErrorKind::AlreadyExists.into()));
    }
    let starter = Starter::open(&args.from, &cosimo::registry()).map_err(|error| report::failure(&error))?;
    std::fs::create_dir_all(&args.folder).map_err(unwritable)?;
    let text = starter.text(&args.folder);
    let mut opened = OpenOptions::new().write(true).create_new(true).open(&file).map_err(unwritable)?;
    io::Write::write_all(&mut opened, text.as_bytes()).map_err(unwritable)?;
    println!("wrote {}", file.display());
    println!("`cosimo run {}` runs it, `cosimo explain {}` shows the plan", file.display(), file.display());
    Ok(())
}
