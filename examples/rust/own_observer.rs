//! An observer of one's own: the largest value of a signal, and when it was reached.

use std::path::Path;

use cosimo::{Error, Moment, Observer, Simulation};

#[derive(Debug, Default)]
pub(crate) struct Largest {
    pub(crate) value: f64,
    pub(crate) time: f64,
}

impl Observer for Largest {
    fn step(&mut self, at: &mut Moment<'_>) -> Result<(), Error> {
        if let Some(value) = at.value("chassis.v").filter(|value| value.abs() > self.value) {
            (self.value, self.time) = (value.abs(), at.time());
        }
        Ok(())
    }
}

fn main() -> Result<(), Error> {
    let largest = example(Path::new("examples/quarter-car/system.toml"))?;
    println!("the chassis moves fastest at t = {:.3} s: {:.3} m/s", largest.time, largest.value);
    Ok(())
}

pub(crate) fn example(system: &Path) -> Result<Largest, Error> {
    let mut largest = Largest::default();
    Simulation::open(system)?.observe(&mut largest).run()?;
    Ok(largest)
}
