//! `cosimo schema`: the JSON schemas of system files, for editors, and of the JSON output of commands.

use clap::builder::{PossibleValue, PossibleValuesParser};
use cosimo::json_schema::SCHEMAS;

/// Print the JSON schema of system files, for editors and checkers; or that of the JSON output of a command
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[arg(value_parser = known(), default_value = SCHEMAS[0].name)]
    of: String,
}

fn known() -> PossibleValuesParser {
    SCHEMAS.iter().map(|known| PossibleValue::new(known.name).help(known.summary)).into()
}

pub(crate) fn run(args: &Args) -> Result<(), u8> {
    for known in SCHEMAS.iter().filter(|known| known.name == args.of) {
        println!("{:#}", (known.schema)());
    }
    Ok(())
}
