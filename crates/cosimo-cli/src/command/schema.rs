//! `cosimo schema`: the JSON schema of system files, for editors.

/// Print the JSON schema of system files, for editors and checkers
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_args: &Args) -> Result<(), u8> {
    println!("{:#}", cosimo::system::schema::json_schema(&cosimo::registry()));
    Ok(())
}
