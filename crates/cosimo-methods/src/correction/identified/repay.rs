//! Repayment of the errors of the start, and its cost in energy.

use std::ops::Range;

use cosimo_core::dense::{add_product, multiply, pseudo_invert};
use cosimo_core::math;
use cosimo_core::method::{CorrectionContext, StepRecord};
use cosimo_core::{Bond, BondSide, PowerVariable};

use super::coupled::{Workspace, drive, mean_over};
use super::{IdentifiedPreStep, KEEP};
use crate::identify::finder::{connected_inputs, connected_outputs};

/// Windows in which an error is repaid, beyond one per state: few are fast, many need less energy. The first with little
/// enough energy is used.
const REPAY: [usize; 5] = [2, 6, 14, 28, 36];
/// Fraction of the usual power of a payment that is added to each, so that none is free.
pub(super) const CHEAPEST: f64 = 0.1;

impl IdentifiedPreStep {
    /// The payments that remove the errors `e`, window by window; in how many windows.
    pub(super) fn plan(
        &self,
        known: &CorrectionContext<'_>,
        (n, size, lost): (usize, f64, f64),
        (head, samples, e): (&[f64], &[f64], &[f64]),
        payments: &mut [f64],
        space: &mut Workspace<'_>,
    ) -> usize {
        let m = known.shape.inputs;
        self.ahead(known, (n, size), (head, samples, e), space);
        let Workspace { models, table, closed, b, alone, connected, work, .. } = space;
        let (prices, rest) = work.split_at_mut(KEEP * m);
        let (saved, rest) = rest.split_at_mut(KEEP);
        let mut longest = 0;
        for more in REPAY {
            let mut energy = 0.0;
            payments.fill(0.0);
            self.finder.members(known, connected, |member| {
                if let Some((model, _)) = member.model(models) {
                    let (first, states) = (table[member.simulator] as usize, *model.states as usize);
                    let own = first..first + states;
                    let inputs =
                        connected_inputs(known, member.simulator).filter(|input| closed[*input] == 1.0);
                    let windows = (states + more).min(KEEP);
                    longest = longest.max(windows);
                    let sizes = (n, m, size, windows);
                    energy += repay(own, inputs, sizes, (alone, b, prices), (e, payments), rest);
                }
            });
            if energy <= lost.max(saved[..longest].iter().sum::<f64>()) {
                break;
            }
        }
        if payments.iter().any(|payment| !payment.is_finite()) {
            payments.fill(0.0);
        }
        longest
    }

    /// Per future window and input, the power on bonds per change of the input, at the beginning of `work`: along the
    /// solution of the coupled system from x + e, with direct feed-through. Behind that, how much less energy inputs
    /// without payments create or lose per window than held ones would.
    pub(super) fn ahead(
        &self,
        known: &CorrectionContext<'_>,
        (n, size): (usize, f64),
        (head, samples, e): (&[f64], &[f64], &[f64]),
        space: &mut Workspace<'_>,
    ) {
        let (m, square) = (known.shape.inputs, n * n);
        self.states(known, (head, samples), 0, space);
        self.newest_inputs(known, space);
        drive(m, n, space);
        let Workspace { models, table, coupled, glc, connected, work, x, xe, mean, push, u, .. } = space;
        for (xe, (x, e)) in xe[..n].iter_mut().zip(x.iter().zip(e)) {
            *xe = x + e;
        }
        let (prices, rest) = work.split_at_mut(KEEP * m);
        let (saved, rest) = rest.split_at_mut(KEEP);
        let (inputs, rest) = rest.split_at_mut(m);
        let (held, rest) = rest.split_at_mut(m);
        let (next, outputs) = rest.split_at_mut(n);
        let outputs = &mut outputs[..known.shape.outputs];
        outputs.copy_from_slice(known.traces.newest());
        prices.fill(0.0);
        for (prices, saved) in prices.chunks_exact_mut(m.max(1)).zip(saved) {
            let mean = &mut mean[..n];
            mean_over(n, size, coupled, &xe[..n], &push[..n], mean);
            inputs.copy_from_slice(u);
            add_product(&glc[..m * n], mean, inputs);
            held.copy_from_slice(u);
            add_product(&glc[..m * n], &xe[..n], held);
            next.fill(0.0);
            add_product(&coupled[square..2 * square], &push[..n], next);
            next.iter_mut().for_each(|next| *next *= size);
            add_product(&coupled[..square], &xe[..n], next);
            xe[..n].copy_from_slice(next);
            self.finder.members(known, connected, |member| {
                let Some((model, _)) = member.model(models) else { return };
                let first = table[member.simulator] as usize;
                let (r, width) = (*model.states as usize, model.inputs);
                for (place, output) in connected_outputs(known, connected, member.simulator).enumerate() {
                    let shown = (0..r).map(|j| model.c[place * r + j] * xe[first + j]).sum::<f64>();
                    let row = &model.d[place * width..(place + 1) * width];
                    let at_once = connected_inputs(known, member.simulator)
                        .zip(row)
                        .map(|(input, d)| d * inputs[input]);
                    outputs[output] = model.level[place] + shown + at_once.sum::<f64>();
                }
                let mut price = |input: usize, end: PowerVariable, sign: f64| {
                    prices[input] += sign
                        * match end {
                            PowerVariable::Input(other) => inputs[other],
                            PowerVariable::Output(output) => {
                                let place = connected_outputs(known, connected, member.simulator)
                                    .position(|of| of == output);
                                let column =
                                    connected_inputs(known, member.simulator).position(|of| of == input);
                                let d = place.zip(column).map_or(0.0, |(i, j)| model.d[i * width + j]);
                                outputs[output] + d * inputs[input]
                            }
                        };
                };
                let own = &known.blocks[member.simulator].inputs;
                for side in known.bonds.iter().flat_map(|bond| &bond.sides) {
                    for (end, other) in [(side.effort, side.flow), (side.flow, side.effort)] {
                        if let PowerVariable::Input(input) = end
                            && own.contains(&input)
                        {
                            price(input, other, side.sign);
                        }
                    }
                }
            });
            let [with, without] = [&*inputs, held].map(|inputs| residual(known.bonds, inputs, outputs));
            *saved = size * (without - with);
        }
    }

    /// Trapezoids use outputs that were computed from inputs as applied. This adds the feed-through of the error of these
    /// inputs: Eq. (12) of Sadjina & Pedersen 2019, one sample at a time.
    pub(super) fn amend(
        &self,
        known: &CorrectionContext<'_>,
        record: &StepRecord<'_>,
        debt: &mut [f64],
        space: &mut Workspace<'_>,
    ) {
        self.newest_inputs(known, space);
        let size = record.window.size;
        let Workspace { models, closed, connected, given, .. } = space;
        self.finder.members(known, connected, |member| {
            let Some((model, _)) = member.model(models) else { return };
            for (place, output) in connected_outputs(known, connected, member.simulator).enumerate() {
                // Read again after exchange, or integrated by the simulator: nothing to amend.
                let as_left = record.traces.newest()[output] == record.outputs[output];
                if !as_left || record.integrals[output].is_finite() {
                    continue;
                }
                let row = &model.d[place * model.inputs..(place + 1) * model.inputs];
                let missed = connected_inputs(known, member.simulator)
                    .zip(row)
                    .map(|(input, d)| d * (given[input] - record.applied[input].mean(size)));
                let missed = size * missed.sum::<f64>();
                for (input, debt) in debt.iter_mut().enumerate().filter(|(input, _)| closed[*input] == 1.0) {
                    let terms = known.couplings.terms(input).iter().filter(|term| term.output == output);
                    *debt += terms.map(|term| term.gain).sum::<f64>() * missed;
                }
            }
        });
    }
}

/// The smallest inputs of one simulator that remove an error in so many windows, weighted by their price in each, into
/// `payments`; the energy that they move, in joules.
pub(super) fn repay(
    own: Range<usize>,
    inputs: impl Iterator<Item = usize> + Clone,
    (n, m, size, windows): (usize, usize, f64, usize),
    (alone, b, prices): (&[f64], &[f64], &[f64]),
    (error, payments): (&[f64], &mut [f64]),
    work: &mut [f64],
) -> f64 {
    let (r, width) = (own.len(), inputs.clone().count());
    if r == 0 || width == 0 {
        return 0.0;
    }
    let (square, first) = (r * r, own.start);
    let (f, rest) = work.split_at_mut(square);
    let (g, rest) = rest.split_at_mut(r * width);
    let (units, rest) = rest.split_at_mut(width);
    let (answers, rest) = rest.split_at_mut(r * width);
    let (next, rest) = rest.split_at_mut(r * width);
    let (gramian, rest) = rest.split_at_mut(square);
    let (inverse, rest) = rest.split_at_mut(square);
    let (left, rest) = rest.split_at_mut(r);
    let (multiplier, rest) = rest.split_at_mut(r);
    for i in 0..r {
        f[i * r..(i + 1) * r].copy_from_slice(&alone[(first + i) * n + first..][..r]);
        for (j, input) in inputs.clone().enumerate() {
            let held =
                (0..r).map(|l| alone[n * n + (first + i) * n + first + l] * b[(first + l) * m + input]);
            g[i * width + j] = size * held.sum::<f64>();
        }
    }
    // Inputs are scaled by their effect, whatever their physical units.
    for (j, unit) in units.iter_mut().enumerate() {
        let length = (0..r).map(|i| math::powi(g[i * width + j], 2)).sum::<f64>().sqrt();
        *unit = if length > 0.0 { 1.0 / length } else { 0.0 };
        (0..r).for_each(|i| g[i * width + j] *= *unit);
    }
    let usual = |input: usize| -> f64 {
        (0..windows).map(|window| math::powi(prices[window * m + input], 2)).sum::<f64>() / windows as f64
    };
    // R^-1, in parts of what is usual.
    let ease = |window: usize, input: usize| -> f64 {
        let mean = usual(input);
        let part = if mean > 0.0 { math::powi(prices[window * m + input], 2) / mean } else { 1.0 };
        1.0 / (part + CHEAPEST)
    };
    // From the last window to the first: the response at the end to an input in it.
    answers.copy_from_slice(g);
    left.copy_from_slice(&error[own]);
    gramian.fill(0.0);
    for window in (0..windows).rev() {
        for (j, input) in inputs.clone().enumerate() {
            let ease = ease(window, input);
            for at in 0..square {
                gramian[at] += ease * answers[at / r * width + j] * answers[at % r * width + j];
            }
        }
        multiply(r, r, f, answers, next);
        answers.copy_from_slice(next);
        multiply(r, r, f, left, multiplier);
        left.copy_from_slice(multiplier);
    }
    pseudo_invert(r, r, gramian, 1e-12, inverse, rest);
    multiply(r, r, inverse, left, multiplier);
    answers.copy_from_slice(g);
    let mut energy = 0.0;
    for window in (0..windows).rev() {
        for (j, input) in inputs.clone().enumerate() {
            let answer: f64 = (0..r).map(|l| answers[l * width + j] * multiplier[l]).sum();
            let payment = units[j] * ease(window, input) * answer;
            payments[window * m + input] = payment;
            energy += size * (payment * prices[window * m + input]).abs();
        }
        multiply(r, r, f, answers, next);
        answers.copy_from_slice(next);
    }
    energy
}

/// The power that all bonds create or lose at an instant.
pub(super) fn residual(bonds: &[Bond], inputs: &[f64], outputs: &[f64]) -> f64 {
    let value = |end: PowerVariable| match end {
        PowerVariable::Input(input) => inputs[input],
        PowerVariable::Output(output) => outputs[output],
    };
    let power = |side: &BondSide| side.sign * value(side.effort) * value(side.flow);
    bonds.iter().map(|bond| bond.sides.iter().map(power).sum::<f64>().abs()).sum()
}
