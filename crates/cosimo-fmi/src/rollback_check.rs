//! Whether an FMU keeps its promise to save and restore its state: step, restore, step, compare.
//!
//! Many FMUs promise it and forget half of their state. A run that then rejects a step goes on from a wrong
//! place without anybody noticing, which is why it is tried before it is relied on.

use cosimo_core::{Inputs, Outputs, RollbackCheck, Setup, Simulator, SimulatorError, Slot, Window};

/// A repeated step may differ by this part of what the outputs moved in it, as solvers that start anew do.
const NEAR: f64 = 0.1;
/// Differences below this part of the value are rounding.
const ROUNDING: f64 = 1e-12;

/// An FMU, for whatever use.
pub(crate) trait RollbackTrial: Simulator {
    /// If an instance of the FMU failed for good, whether it was the one of this simulator, which is given up.
    fn corrupt(&mut self) -> Option<bool>;
}

pub(crate) fn check_rollback(
    fmu: &mut impl RollbackTrial,
    setup: &Setup,
    window: Window,
    inputs: &Inputs<'_>,
) -> Result<RollbackCheck, SimulatorError> {
    let verdict = compare_repeated_step(fmu, window, inputs);
    if let Some(failed) = fmu.corrupt() {
        // The run cannot begin, and the instance that failed says so: not this one, if it was another.
        return match verdict? {
            RollbackCheck::Doubtful(words) if failed => Err(SimulatorError::new("rehearse", words)),
            other => Ok(other),
        };
    }
    // Whatever the trial did to the instance, the run begins with another one. One after the other, never
    // two at once: many FMUs keep variables that all their instances share.
    fmu.initialize(setup)?;
    fmu.set_inputs(window.from, inputs)?;
    verdict
}

fn compare_repeated_step(
    fmu: &mut dyn Simulator,
    window: Window,
    inputs: &Inputs<'_>,
) -> Result<RollbackCheck, SimulatorError> {
    let first = match first(fmu, window, inputs) {
        Ok(first) => first,
        // If the step itself fails, the run will say so in its own words.
        Err(error) => return Ok(RollbackCheck::Doubtful(format!("rollback could not be tried: {error}"))),
    };
    let again = again(fmu, window, inputs)
        .map_err(|error| broken(format!("the step that it took before cannot be repeated: {error}")))?;
    let mut worst = 0.0f64;
    for (index, port) in fmu.interface().outputs.iter().enumerate() {
        let moved = (first.after[index] - first.before[index]).abs();
        for (kept, found, when) in [
            (first.before[index], again.before[index], "at once"),
            (first.after[index], again.after[index], "after the same step"),
        ] {
            let apart = (found - kept).abs();
            if kept.to_bits() == found.to_bits() || apart <= ROUNDING * kept.abs() {
                continue;
            }
            if apart.is_nan() || apart > NEAR * moved {
                return Err(broken(format!("`{}` was {kept} and is {found} {when}", port.name)));
            }
            worst = worst.max(apart / moved);
        }
    }
    if worst > 0.0 {
        return Ok(RollbackCheck::Doubtful(format!(
            "a restored state differs slightly from the saved one: the repeated step differs by {worst:.1e} of \
             the change of the outputs"
        )));
    }
    Ok(RollbackCheck::Exact)
}

fn broken(how: String) -> SimulatorError {
    SimulatorError::new(
        "restore",
        format!(
            "the FMU declares that it can save and restore its state, but it cannot: {how}. Every rejected step would \
             continue from a wrong state. Choose a method without rollback; with `cosimo.rollback = \"none\"` among the \
             component's parameters Cosimo rejects all others"
        ),
    )
}

/// Outputs before and after the step.
struct OutputPair {
    before: Vec<f64>,
    after: Vec<f64>,
}

fn first(fmu: &mut dyn Simulator, window: Window, inputs: &Inputs<'_>) -> Result<OutputPair, SimulatorError> {
    fmu.need_rollback()?.save(Slot::Probe)?;
    step(fmu, window, inputs)
}

fn again(fmu: &mut dyn Simulator, window: Window, inputs: &Inputs<'_>) -> Result<OutputPair, SimulatorError> {
    fmu.need_rollback()?.restore(Slot::Probe)?;
    step(fmu, window, inputs)
}

fn step(fmu: &mut dyn Simulator, window: Window, inputs: &Inputs<'_>) -> Result<OutputPair, SimulatorError> {
    let before = outputs(fmu)?;
    fmu.do_step(window, inputs)?;
    Ok(OutputPair { before, after: outputs(fmu)? })
}

fn outputs(fmu: &mut dyn Simulator) -> Result<Vec<f64>, SimulatorError> {
    let mut values = vec![0.0; fmu.interface().outputs.len()];
    fmu.get_outputs(&mut Outputs { values: &mut values, slopes: &mut [] })?;
    Ok(values)
}
