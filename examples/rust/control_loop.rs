//! A controller in the program itself: reads an output and sets an input between the steps of a run.

use cosimo::{Error, Simulation, native};

fn main() -> Result<(), Error> {
    println!("distance from the target after 10 s: {:.2e} m", example()?);
    Ok(())
}

pub(crate) fn example() -> Result<f64, Error> {
    let cart = native::ode(["force"], [("x", 0.0), ("v", 0.0)], |_t, x, u, dx| {
        dx[0] = x[1];
        dx[1] = u[0] - 0.1 * x[1];
    });
    let mut run = Simulation::new().add("cart", cart).step_size(0.05).stop_time(10.0).start()?;
    let target = 1.0;
    while !run.finished() {
        let (x, v) = (run.get_output("cart.x")?, run.get_output("cart.v")?);
        run.set_input("cart.force", 4.0 * (target - x) - 3.0 * v)?;
        run.step()?;
    }
    Ok((run.get_output("cart.x")? - target).abs())
}
