//! Opens a system file, changes a parameter and a method, runs it, and leaves a report and a Parquet file.

use std::path::Path;

use cosimo::{Error, Simulation};

fn main() -> Result<(), Error> {
    example(Path::new("examples/quarter-car/system.toml"), Path::new("."))
}

pub(crate) fn example(system: &Path, folder: &Path) -> Result<(), Error> {
    let simulation = Simulation::open(system)?.set("chassis.mc", 500.0).method("controller", "pi");
    let outcome = simulation.report(folder.join("run.html")).record(folder.join("run.parquet")).run()?;
    println!("{}", outcome.summary.text());
    Ok(())
}
