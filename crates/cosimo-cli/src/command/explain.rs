//! `cosimo explain`: the plan before it runs.

use cosimo::plan_text;

use crate::load::{Changes, Loaded, load};
use crate::report;

/// Show the plan of a system without running it
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A system (.toml, .ssp, .ssd, OspSystemStructure.xml); or simulators, as in `a.fmu`, `left=a.fmu`, `native:ring/rotor`
    #[arg(required = true, value_name = "FILE")]
    what: Vec<String>,
    #[command(flatten)]
    changes: Changes,
    /// Print the system as a file, with everything from the command line in it
    #[arg(long)]
    toml: bool,
}

pub(crate) fn run(args: &Args) -> Result<(), u8> {
    let registry = cosimo::registry();
    let Loaded { system, plan, .. } = load(&args.what, &args.changes, &registry)?;
    if args.toml {
        print!("{}", cosimo::system::write::to_toml(&system));
        return Ok(());
    }
    print!("{}", plan_text::text(&system, &plan.layout, &registry));
    report::remarks(&plan.remarks);
    Ok(())
}
