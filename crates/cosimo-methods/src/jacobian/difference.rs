//! Central differences. Of outputs by held inputs, through a saved state: works with any simulator that supports
//! rollback. Of the right-hand side, for linear models: works where it can be evaluated anywhere. Where a function is
//! not smooth the result is a secant over the perturbation.

use cosimo_core::interface::{Needs, StateSpaceAccess};
use cosimo_core::linear_model::StateSpaceMatrices;
use cosimo_core::method::{JacobianSource, JacobianWork};
use cosimo_core::registry::{MethodEntry, Options, Range, Spec};
use cosimo_core::simulator::StateSpace;
use cosimo_core::{Inputs, Outputs, Segment, Simulator, SimulatorError, Slot, Time};

pub(crate) struct Difference {
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
        simulator.need_rollback()?.save(Slot::Jacobian)?;
        work.segments.copy_from_slice(held.segments);
        for input in 0..width {
            let value = held.at(input, 0.0);
            let (above, below) = self.around(value);
            work.segments[input] = Segment::constant(above);
            simulator.set_inputs(at, &Inputs::of(&work.segments))?;
            simulator.get_outputs(&mut Outputs { values: &mut work.above, slopes: &mut work.slopes })?;
            work.segments[input] = Segment::constant(below);
            simulator.set_inputs(at, &Inputs::of(&work.segments))?;
            simulator.get_outputs(&mut Outputs { values: &mut work.below, slopes: &mut work.slopes })?;
            work.segments[input] = Segment::constant(value);
            for (output, (high, low)) in work.above.iter().zip(&work.below).enumerate() {
                into[output * width + input] = (high - low) / (above - below);
            }
        }
        simulator.need_rollback()?.restore(Slot::Jacobian)
    }

    fn asks_between_steps(&self) -> bool {
        true
    }

    fn sees(&self, access: &StateSpaceAccess) -> bool {
        access.anywhere
    }

    fn linearise(
        &self,
        _access: &StateSpaceAccess,
        dynamics: &mut dyn StateSpace,
        x: &[f64],
        u: &[f64],
        work: &mut JacobianWork,
        into: &mut StateSpaceMatrices<'_>,
    ) -> Result<(), SimulatorError> {
        let states = x.len();
        let half = work.motions.len() / 2;
        let (high, low) = work.motions.split_at_mut(half);
        work.point[..states].copy_from_slice(x);
        work.point[states..].copy_from_slice(u);
        for column in 0..work.point.len() {
            let value = work.point[column];
            let (above, below) = self.around(value);
            for (moved, motion) in [(above, &mut *high), (below, &mut *low)] {
                work.point[column] = moved;
                let (x, u) = work.point.split_at(states);
                let (f, g) = motion.split_at_mut(states);
                dynamics.derivatives_and_outputs(x, u, f, g)?;
            }
            work.point[column] = value;
            let change = high.iter().zip(&*low).map(|(high, low)| (high - low) / (above - below));
            into.set_column(column, change.clone().take(states), change.skip(states));
        }
        Ok(())
    }
}

impl Difference {
    /// A value perturbed upwards and downwards.
    fn around(&self, value: f64) -> (f64, f64) {
        let perturbation = self.relative * value.abs().max(self.least);
        (value + perturbation, value - perturbation)
    }
}

pub(crate) fn of(options: &Options) -> Difference {
    Difference { relative: options.number("relative"), least: options.number("least") }
}

pub(crate) const ENTRY: MethodEntry<dyn JacobianSource> = MethodEntry {
    name: "difference",
    summary: "central differences of outputs by inputs through a saved state",
    source: "-",
    order: "2 in the increment",
    options: &[
        Spec::number("relative", 1e-6, Range::Positive, "", "perturbation relative to the input"),
        Spec::number(
            "least",
            1.0,
            Range::Positive,
            "",
            "inputs smaller than this are perturbed as if this large",
        ),
    ],
    needs: |_| Needs { rollback: true, ..Needs::NOTHING },
    build: |options| Box::new(of(options)),
};
