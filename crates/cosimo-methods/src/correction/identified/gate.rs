//! Debt of inputs and energy losses of bonds during the run: models must not make them grow.

use cosimo_core::method::{CorrectionContext, Quadrature, StepRecord};

use super::{CorrectionMemory, OwnNumber};
use crate::identify::finder::Head;

/// The debt of an input may drift, since models are in use, by this fraction of a window times the range of the input. With
/// a zero-order hold the debt is half a window of the input's change. States that no output shows would keep it.
const DRIFT: f64 = 0.05;
/// Trapezoids, which are used where no integrals are offered, have the error H^2 / 12 times the change of the slope: at most
/// a sixth of a window of the largest change in one; and a half more for changes that are not small.
const QUADRATURE: f64 = 0.25;
/// Windows after which outputs are right again once the start is repaid, with a margin.
const SETTLED: f64 = 15.0;

/// Debts, ranges and losses of one more window.
pub(super) fn watch(
    known: &CorrectionContext<'_>,
    record: &StepRecord<'_>,
    books: &mut CorrectionMemory<&mut [f64]>,
) {
    let (m, size) = (known.shape.inputs, record.window.size);
    for input in (0..m).filter(|input| known.corrected[*input] && known.own(*input).is_none()) {
        let rule = Quadrature::Best;
        books.debt[input] += record.true_integral(input, rule) - record.applied_integral(input, rule);
    }
    for input in 0..m {
        let value = known.couplings.value(input, record.traces.newest());
        let [low, high, swing] = [1, 2, 3].map(|part| part * m + input);
        let first = *books.found.head(Head::Windows) == 0.0;
        books.range[low] = if first { value } else { value.min(books.range[low]) };
        books.range[high] = if first { value } else { value.max(books.range[high]) };
        let changes = known.couplings.terms(input).iter().map(|term| {
            let trace = record.traces.trace(term.output);
            let offered = record.integrals[term.output].is_finite() || trace.len() < 2;
            if offered { 0.0 } else { term.gain * (trace.back(0).y - trace.back(1).y) }
        });
        books.range[swing] = books.range[swing].max(changes.sum::<f64>().abs());
    }
    if *books.found.head(Head::Now) < (*books.found.head(Head::Wanted)).max(1.0) {
        let lost = record.powers.iter().map(|power| (power.residual * size).abs()).sum::<f64>();
        *books.own(OwnNumber::Lost) += lost;
    }
}

/// Whether the debt of inputs from models has grown by more than models explain.
pub(super) fn drifts(size: f64, books: &mut CorrectionMemory<&mut [f64]>, closed: &[f64]) -> bool {
    let (m, opened) = (closed.len(), *books.own(OwnNumber::Opened));
    let mut drifts = false;
    for input in (0..m).filter(|input| closed[*input] == 1.0) {
        let [base, low, high, swing] = [0, 1, 2, 3].map(|part| part * m + input);
        if opened < *books.own(OwnNumber::Horizon) + SETTLED {
            books.range[base] = books.debt[input]; // while the start is repaid, outputs are not yet right
        }
        let most = DRIFT * (books.range[high] - books.range[low]) + QUADRATURE * books.range[swing];
        drifts |= (books.debt[input] - books.range[base]).abs() > size * most;
    }
    drifts
}
