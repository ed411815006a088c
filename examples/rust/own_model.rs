//! A model of one's own, coupled with an FMU by a power bond. The FMU is the right mass of the dual-mass oscillator.

use std::path::Path;

use cosimo::{Error, Outcome, Simulation, native};

fn main() -> Result<(), Error> {
    let fmu = std::env::args().nth(1).unwrap_or_else(|| "right.fmu".into());
    println!("{}", example(Path::new(&fmu))?.summary.text());
    Ok(())
}

pub(crate) fn example(fmu: &Path) -> Result<Outcome, Error> {
    let (k, d) = (10.0, 0.5);
    // The left mass hangs on a spring; the force of the coupling spring is its third state.
    let left = native::ode(["v_far"], [("x", 1.0), ("v", 0.0), ("f", 0.0)], move |_t, x, u, dx| {
        dx[0] = x[1];
        dx[1] = -k * x[0] - d * x[1] - x[2];
        dx[2] = k * (x[1] - u[0]);
    });
    Simulation::new()
        .add("left", left)
        .add_source("right", &fmu.to_string_lossy())
        .bond("joint", ("left.f", "left.v_far"), ("right.f", "right.v"))
        .step_size(1e-3)
        .stop_time(1.0)
        .run()
}
