//! `cosimo explain`: the plan before it runs.

use cosimo::plan_text;

use crate::load::{LoadedSystem, Subject};
use crate::report;

/// Show the plan of a system: stages, exchanged values, methods; without running it
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    subject: Subject,
    /// Print the system as a TOML file, including the options of the command line
    #[arg(long)]
    toml: bool,
}

pub(crate) fn run(args: &Args) -> Result<(), u8> {
    let registry = cosimo::registry();
    let LoadedSystem { system, plan, .. } = args.subject.load(&registry)?;
    if args.toml {
        print!("{}", cosimo::system::write::to_toml(&system));
        return Ok(());
    }
    print!("{}", plan_text::text(&system, &plan.layout, &registry));
    report::warnings(&plan.warnings);
    Ok(())
}
