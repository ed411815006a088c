//! `cosimo new`: writes a starter system of native models or around FMUs.

use std::fs::OpenOptions;
use std::io;
use std::path::PathBuf;

use cosimo::starter::Starter;

use crate::report;

/// Write a commented starter system file
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Folder for `system.toml`; created if it does not exist
    #[arg(value_name = "DIR", default_value = ".")]
    folder: PathBuf,
    /// Simulators to couple, e.g. `a.fmu` or `left=a.fmu`: their ports are listed as comments, with suggested connections
    #[arg(long, value_name = "FILE", num_args = 1..)]
    from: Vec<String>,
}

pub(crate) fn run(args: &Args) -> Result<(), u8> {
    let file = args.folder.join("system.toml");
    let unwritable = |cause: io::Error| {
        let (message, hint) = if cause.kind() == io::ErrorKind::AlreadyExists {
            let message = format!("`{}` exists already and is not changed", file.display());
            (message, "choose another folder, or remove the file")
        } else {
            (
                format!("cannot write `{}`: {cause}", file.display()),
                "choose another folder, or check permissions and disk space",
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
    println!("run it: `cosimo run {}`; show the plan: `cosimo explain {}`", file.display(), file.display());
    Ok(())
}
