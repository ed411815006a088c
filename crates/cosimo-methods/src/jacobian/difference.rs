//! Central differences of the outputs by the held inputs, through a saved state: works on any simulator that
//! can rewind. Where the output is not smooth in the input the result is a secant over the perturbation.

use cosimo_core::entry::{Entry, Range, Spec};
use cosimo_core::interface::Needs;
use cosimo_core::method::{JacobianSource, JacobianWork};
use cosimo_core::{Inputs, Outputs, Segment, Simulator, SimulatorError, Slot, Time};

#[derive(Debug, Clone, Copy)]
pub struct Difference {
    pub relative: f64,
    pub least: f64,
}

impl JacobianSource for Difference {
    fn refresh(
        &self,
        simulator: &mut dyn Simulator,
        at: Time,
        held: &Inputs<'_>,
        work: &mut JacobianWork,
        into: &mut [f64],
    ) -> Result<(), SimulatorError> {
        let width = held.segments.len();
        simulator.save(Slot::Jacobian)?;
        work.segments.copy_from_slice(held.segments);
        for input in 0..width {
            let value = held.at(input, 0.0);
            let perturbation = self.relative * value.abs().max(self.least);
            let (above, below) = (value + perturbation, value - perturbation);
            work.segments[input] = Segment::constant(above);
            simulator.settle(at, &Inputs { segments: &work.segments })?;
            simulator.outputs(&mut Outputs { values: &mut work.above, slopes: &mut work.slopes })?;
            work.segments[input] = Segment::constant(below);
            simulator.settle(at, &Inputs { segments: &work.segments })?;
            simulator.outputs(&mut Outputs { values: &mut work.below, slopes: &mut work.slopes })?;
            work.segments[input] = Segment::constant(value);
            for (output, (high, low)) in work.above.iter().zip(&work.below).enumerate() {
                into[output * width + input] = (high - low) / (above - below);
            }
        }
        simulator.restore(Slot::Jacobian)
    }

    fn asks_between_steps(&self) -> bool {
        true
    }
}

pub const ENTRY: Entry<dyn JacobianSource> = Entry {
    name: "difference",
    summary: "central differences of outputs by inputs through a saved state",
    source: "-",
    order: "2 in the increment",
    options: &[
        Spec::number("relative", 1e-6, Range::Positive, "", "perturbation as a part of the input"),
        Spec::number(
            "least",
            1.0,
            Range::Positive,
            "",
            "inputs smaller than this are perturbed as if this large",
        ),
    ],
    needs: |_| Needs { rollback: true, ..Needs::NOTHING },
    build: |options| {
        Box::new(Difference { relative: options.number("relative"), least: options.number("least") })
    },
};
