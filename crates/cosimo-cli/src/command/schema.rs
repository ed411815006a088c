//! `cosimo schema`: the JSON schemas of system files, for editors, and of certificates, for whoever reads them.

use clap::ValueEnum;

/// Print the JSON schema of system files, for editors and checkers; or that of certificates
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[arg(value_enum, default_value_t = Of::System)]
    of: Of,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Of {
    /// System files
    System,
    /// What `cosimo run --certificate` writes
    Certificate,
}

pub(crate) fn run(args: &Args) -> Result<(), u8> {
    let schema = match args.of {
        Of::System => cosimo::system::schema::json_schema(&cosimo::registry()),
        Of::Certificate => cosimo::certificate::schema(),
    };
    println!("{schema:#}");
    Ok(())
}
