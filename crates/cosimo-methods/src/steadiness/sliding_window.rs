//! The rectangular sliding window: all samples of the last seconds lie close together.

use cosimo_core::interface::Needs;
use cosimo_core::line::Stamp;
use cosimo_core::method::Steadiness;
use cosimo_core::registry::{MethodEntry, Range, Spec};

use super::{RELATIVE, TOLERANCE, WINDOW};

/// The registry entry, also used by exported FMUs.
pub const ENTRY: MethodEntry<dyn Steadiness> = MethodEntry {
    name: "sliding-window",
    summary: "maximum minus minimum in a window within a tolerance, of the flow and optionally of the effort",
    source: "Braun, Hällqvist & Fritzson 2023 (TLM), Eqs. (1) and (2)",
    order: "",
    options: &[
        WINDOW,
        TOLERANCE,
        RELATIVE,
        Spec::optional(
            "effort_tolerance",
            Range::Positive,
            "",
            "allowed change of the effort in the window, in SI units",
        ),
    ],
    needs: |_| Needs::NOTHING,
    build: |options| {
        Box::new(SlidingWindow {
            window: options.number(WINDOW.name),
            tolerance: options.optional(TOLERANCE.name),
            relative: options.number(RELATIVE.name),
            effort_tolerance: options.optional("effort_tolerance"),
        })
    },
};

struct SlidingWindow {
    window: f64,
    tolerance: Option<f64>,
    relative: f64,
    effort_tolerance: Option<f64>,
}

/// When it began, and the largest flow so far.
const MEMORY: usize = 2;

impl Steadiness for SlidingWindow {
    fn memory(&self) -> usize {
        MEMORY
    }

    fn start(&self, first: &Stamp, memory: &mut [f64]) {
        memory[0] = first.t;
        memory[1] = first.flow.abs();
    }

    fn window(&self) -> f64 {
        self.window
    }

    fn steady(&self, past: &[Stamp], new: &Stamp, memory: &mut [f64]) -> bool {
        memory[1] = memory[1].max(new.flow.abs());
        // Not before the window is full.
        if new.t - memory[0] < self.window {
            return false;
        }
        let (mut flow, mut effort) = ([new.flow; 2], [new.effort; 2]);
        let widen = |range: &mut [f64; 2], value: f64| *range = [range[0].min(value), range[1].max(value)];
        for stamp in past.iter().rev().take_while(|stamp| stamp.t >= new.t - self.window) {
            widen(&mut flow, stamp.flow);
            widen(&mut effort, stamp.effort);
        }
        let still = match self.tolerance {
            Some(tolerance) => flow[1] - flow[0] < tolerance,
            // A flow that never moved is steady, too.
            None => flow[1] - flow[0] <= self.relative * memory[1],
        };
        still && self.effort_tolerance.is_none_or(|tolerance| effort[1] - effort[0] < tolerance)
    }
}
