//! Identification of linear models of all simulators during the run.
//!
//! It needs windows of one size and held inputs. Per simulator:
//!
//! * least squares with forgetting ([`super::arx`]), of all orders at once; the lowest order with a residual close to the
//!   best one is used. A window that is predicted and contains nothing new is not counted, so that nothing is forgotten
//!   at rest;
//! * the relative uncertainty of its response to an input is the quality. A model comes into use after some windows of
//!   good quality and good predictions, and goes out of use when its predictions fail;
//! * a linear model in continuous time ([`super::realization`]).

use std::ops::Range;

use cosimo_core::math;
use cosimo_core::method::{CorrectionContext, IdentificationStatus, Sizes, StepRecord};

use super::arx::Arx;
use super::realization::Realization;

/// Predictions with a smaller error relative to the usual changes are exact, and a row shorter than this fraction of all
/// earlier rows in its direction is not new: with both, a window is not informative.
const EXACT: f64 = 1e-9;
const NEW: f64 = 1e-2;
/// Nothing is forgotten while predictions are better than the quality by this factor.
const STEADY: f64 = 1e-3;
/// Rows that an order must have beyond its columns before it is considered.
const SPARE: f64 = 3.0;
/// Good windows in a row before a model comes into use; three times as many after each model that had to be dropped.
const STREAK: f64 = 3.0;
/// A model goes out of use when its prediction error exceeds the allowed one by this factor.
const PATIENCE: f64 = 10.0;
/// No order is higher: differences of more samples are rounding.
const HIGHEST: usize = 8;
/// Limit of the order times all inputs and outputs: matrices are dense. Larger systems are not identified.
const PORTS: usize = 256;
/// Step sizes with a smaller relative difference are equal.
const SAME: f64 = 1e-9;
/// Changes below this fraction of the values are rounding.
const REST: f64 = 1e-13;
/// Repaid shares of debts without models are larger by this fraction in every other window, and smaller in the others.
/// With constant shares, inputs would be a fixed function of outputs, and the response to an input could not be
/// identified.
const UNEVEN: f64 = 0.2;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Finder {
    pub order: usize,
    pub forgetting: f64,
    pub quality: f64,
    /// Windows whose samples are kept, more than the highest order.
    pub keep: usize,
}

/// Numbers of the whole identification: what the samples are of, and the status for reports.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Head {
    /// The size of the windows of all samples, and that of the last window.
    Size,
    Before,
    Samples,
    /// Windows since the start, for every other one.
    Windows,
    /// When models came into use first and last, and for how many windows they were in use.
    First,
    Since,
    Used,
    /// How often they were renewed or came into use, and how many windows ago.
    Renewed,
    Age,
    /// How often they went out of use.
    Closed,
    /// Predictions of windows that models had not seen, and their largest relative error.
    Predictions,
    PredictionError,
    /// Models in use now.
    Now,
    /// Simulators that can have a model.
    Wanted,
    /// Simulators with good predictions but without a model in continuous time.
    Odd,
    /// For how many windows inputs have been held.
    Held,
}

const HEAD: usize = 16;

/// Numbers of one simulator.
#[derive(Debug, Clone, Copy)]
enum Mark {
    Streak,
    /// The relative error of its response.
    Quality,
    /// Good, but without a logarithm.
    Odd,
    /// The currently best order.
    Order,
    /// Since its model came into use: predictions of windows that the model had not seen, and their largest relative error.
    Predictions,
    PredictionError,
}

const MARKS: usize = 6;

/// What a window did to the model of a simulator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ModelChange {
    None,
    /// Updated, with the same states.
    Renewed,
    /// Replaced by a model with other states, or dropped.
    Other,
}

/// In front of a model: whether it is in use, and its order.
const TITLE: usize = 2;

/// Memory of the identification.
pub(crate) struct FinderMemory<T> {
    pub head: T,
    pub samples: T,
    pub models: T,
    /// Marks and least squares.
    pub fits: T,
}

/// One simulator, and where its numbers are in `models` and `fits`.
pub(crate) struct IdentifiedSimulator {
    pub simulator: usize,
    pub arx: Arx,
    model: Range<usize>,
    marks: Range<usize>,
    squares: Range<usize>,
    /// Coefficients of the model in use, and the usual change of outputs when it came into use: a model that destabilises
    /// the outputs must not be judged by their later changes.
    theta: Range<usize>,
    usual: Range<usize>,
}

impl IdentifiedSimulator {
    /// The model, if it is in use, and its order.
    pub(crate) fn model<'a>(&self, models: &'a mut [f64]) -> Option<(Realization<'a>, usize)> {
        let (title, numbers) = models[self.model.clone()].split_at_mut(TITLE);
        let order = title[1] as usize;
        (title[0] == 1.0).then(|| (Realization::of(&self.arx, order, numbers), order))
    }

    /// The usual change of an input and an output in a window.
    pub(crate) fn usual(&self, fits: &[f64], input: usize, output: usize) -> (f64, f64) {
        let squares = &fits[self.squares.clone()];
        (self.arx.usual(squares, self.arx.of_input(1) + input), self.arx.change(squares, output).sqrt())
    }

    /// The relative error of its response.
    pub(crate) fn quality(&self, fits: &[f64]) -> f64 {
        fits[self.mark(Mark::Quality)]
    }

    fn mark(&self, mark: Mark) -> usize {
        self.marks.start + mark as usize
    }
}

/// The lowest order with a residual close to the best one; 0 as long as there are too few rows for any.
fn best_order(arx: &Arx, squares: &[f64], noise: f64) -> usize {
    let left = |order: usize| -> f64 {
        let parts = (0..arx.outputs).map(|output| {
            let usual = arx.change(squares, output).sqrt();
            let over = arx.residual(order, squares, output).sqrt();
            if over <= noise { 0.0 } else { (over - noise) / usual }
        });
        parts.fold(0.0, f64::max)
    };
    let judged = |order: &usize| arx.rows(squares) >= arx.width(*order) as f64 + SPARE;
    let best = (1..=arx.order).filter(judged).map(left).fold(f64::INFINITY, f64::min);
    (1..=arx.order).filter(judged).find(|order| left(*order) <= 10.0 * best).unwrap_or(0)
}

/// Takes the model that follows from `theta` into use; none where it has no form in continuous time.
fn adopt(
    member: &IdentifiedSimulator,
    order: usize,
    size: f64,
    theta: &[f64],
    (model, fits): (&mut [f64], &mut [f64]),
    work: &mut [f64],
) -> ModelChange {
    let arx = &member.arx;
    let (in_use, before) = (model[0] == 1.0, (model[1], model[TITLE]));
    let found = Realization::of(arx, order, &mut model[TITLE..]).fill(arx, order, theta, size, work);
    fits[member.mark(Mark::Odd)] = if found { 0.0 } else { 1.0 };
    if !found {
        model[0] = 0.0;
        return if in_use { ModelChange::Other } else { ModelChange::None };
    }
    let same = before == (order as f64, model[TITLE]);
    (model[0], model[1]) = (1.0, order as f64);
    for output in 0..arx.outputs {
        let usual = arx.change(&fits[member.squares.clone()], output).sqrt();
        let frozen = &mut fits[member.usual.start + output];
        *frozen = if in_use { frozen.min(usual) } else { usual };
    }
    let count = arx.width(order) * arx.outputs;
    fits[member.theta.clone()][..count].copy_from_slice(&theta[..count]);
    if in_use && same { ModelChange::Renewed } else { ModelChange::Other }
}

/// The sum over all simulators of something that is quadratic in the numbers of inputs and outputs.
fn over_all(shape: &Sizes, of: impl Fn(usize, usize) -> usize) -> usize {
    let (none, input, output) = (of(0, 0), of(1, 0), of(0, 1));
    let (inputs, outputs, both) = (of(2, 0), of(0, 2), of(1, 1));
    // f = none + i m + o p + ii m^2 + io m p + oo p^2, in whole numbers of either sign.
    let whole = |value: usize| value as i64;
    let ii = (whole(inputs) - 2 * whole(input) + whole(none)) / 2;
    let oo = (whole(outputs) - 2 * whole(output) + whole(none)) / 2;
    let i = whole(input) - whole(none) - ii;
    let o = whole(output) - whole(none) - oo;
    let io = whole(both) - whole(none) - i - ii - o - oo;
    let [m2, mp, p2] = shape.squares.map(whole);
    let sum = whole(none) * whole(shape.simulators)
        + i * whole(shape.inputs)
        + o * whole(shape.outputs)
        + ii * m2
        + io * mp
        + oo * p2;
    sum.max(0) as usize
}

impl Finder {
    /// The highest order that a system of this size can have; 0 where it is too large.
    pub(crate) fn order(&self, shape: &Sizes) -> usize {
        self.order.min(HIGHEST).min(PORTS / (shape.inputs + shape.outputs).max(1))
    }

    fn arx(&self, shape: &Sizes, inputs: usize, outputs: usize) -> Arx {
        Arx { inputs, outputs, order: self.order(shape) }
    }

    /// Layout of the memory.
    pub(crate) fn memory<T>(&self, shape: &Sizes, mut next: impl FnMut(usize) -> T) -> FinderMemory<T> {
        let order = self.order(shape);
        let models = over_all(shape, |m, p| TITLE + Realization::memory(&self.arx(shape, m, p)));
        let fits = over_all(shape, |m, p| {
            let arx = self.arx(shape, m, p);
            MARKS + arx.memory() + arx.width(order) * p + p
        });
        FinderMemory {
            head: next(HEAD),
            samples: next(self.keep * (shape.inputs + shape.outputs)),
            models: next(models),
            fits: next(fits),
        }
    }

    /// Scratch memory of [`Finder::observe`].
    pub(crate) fn work(&self, shape: &Sizes) -> usize {
        let (m, p, order) = (shape.inputs, shape.outputs, self.order(shape));
        let width = 1 + m + order * (m + p);
        let largest = Arx { inputs: m, outputs: p, order };
        (order + 1) * (m + p) + 2 * width + p * (2 + width) + Realization::work(&largest)
    }

    /// All simulators that can be identified: they have connected inputs and connected outputs.
    pub(crate) fn members(
        &self,
        known: &CorrectionContext<'_>,
        connected: &[f64],
        mut visit: impl FnMut(&IdentifiedSimulator),
    ) {
        let (mut model, mut fit) = (0, 0);
        let order = self.order(&known.shape);
        for simulator in 0..known.blocks.len() {
            let (m, p) = (
                connected_inputs(known, simulator).count(),
                connected_outputs(known, connected, simulator).count(),
            );
            if m == 0 || p == 0 || order == 0 {
                continue;
            }
            let arx = self.arx(&known.shape, m, p);
            let sizes = [MARKS, arx.memory(), arx.width(order) * p, p];
            let [marks, squares, theta, usual] = sizes.map(|size| {
                fit += size;
                fit - size..fit
            });
            let size = TITLE + Realization::memory(&arx);
            visit(&IdentifiedSimulator {
                simulator,
                arx,
                model: model..model + size,
                marks,
                squares,
                theta,
                usual,
            });
            model += size;
        }
    }

    /// Adds one window; how models changed. `None` if it cannot be used: another step size, or inputs that are not held.
    pub(crate) fn observe(
        &self,
        known: &CorrectionContext<'_>,
        record: &StepRecord<'_>,
        found: &mut FinderMemory<&mut [f64]>,
        (connected, work): (&[f64], &mut [f64]),
    ) -> Option<ModelChange> {
        let (m, size) = (known.shape.inputs, record.window.size);
        let stride = m + known.shape.outputs;
        *found.head(Head::Windows) += 1.0;
        if *found.head(Head::Size) == 0.0 {
            *found.head(Head::Size) = size;
        }
        let is_held = |input: usize| record.applied[input].0[1..].iter().all(|slope| *slope == 0.0);
        let held = (0..m).filter(|input| !known.couplings.terms(*input).is_empty()).all(is_held);
        *found.head(Head::Held) = if held { *found.head(Head::Held) + 1.0 } else { 0.0 };
        let regular = held && same_size(size, *found.head(Head::Size));
        if !regular {
            self.other_size(known, size, found, connected);
        }
        *found.head(Head::Before) = size;
        if !regular {
            return None;
        }
        found.samples.copy_within(..(self.keep - 1) * stride, stride);
        for (input, place) in found.samples[..m].iter_mut().enumerate() {
            *place = record.applied[input].mean(size);
        }
        found.samples[m..stride].copy_from_slice(record.outputs);
        let count = (*found.head(Head::Samples) + 1.0).min(self.keep as f64);
        *found.head(Head::Samples) = count;

        let mut change = ModelChange::None;
        let FinderMemory { head, samples, models, fits } = found;
        self.members(known, connected, |member| {
            let model = &mut models[member.model.clone()];
            change = change.max(self.study(known, member, (head, samples), (model, fits), (connected, work)));
        });
        Some(change)
    }

    /// Adds one row to the least squares of a simulator, and judges its model.
    fn study(
        &self,
        known: &CorrectionContext<'_>,
        member: &IdentifiedSimulator,
        (head, samples): (&[f64], &[f64]),
        (model, fits): (&mut [f64], &mut [f64]),
        (connected, work): (&[f64], &mut [f64]),
    ) -> ModelChange {
        let arx = member.arx;
        let (m, p) = (arx.inputs, arx.outputs);
        let stride = known.shape.inputs + known.shape.outputs;
        if connected_inputs(known, member.simulator).any(|input| known.own(input).is_some()) {
            // In a multi-rate step its outputs are interpolated and cannot be used.
            let in_use = std::mem::replace(&mut model[0], 0.0) == 1.0;
            return if in_use { ModelChange::Other } else { ModelChange::None };
        }
        let (width, needed) = (arx.width(arx.order), arx.order + 1);
        if (head[Head::Samples as usize] as usize) < needed {
            return ModelChange::None;
        }
        let (y, rest) = work.split_at_mut(needed * p);
        let (v, rest) = rest.split_at_mut(needed * m);
        for sample in 0..needed {
            let at = &samples[sample * stride..][..stride];
            gather(known, connected, member, at, &mut y[sample * p..], &mut v[sample * m..]);
        }
        let (row, rest) = rest.split_at_mut(width + p);
        let (theta, rest) = rest.split_at_mut(width * p);
        arx.row(|back| &y[back * p..(back + 1) * p], |back| &v[back * m..(back + 1) * m], row);
        let size_of = |values: &[f64]| values.iter().fold(0.0f64, |most, value| most.max(value.abs()));
        let moved = (0..m).any(|i| (v[i] - v[m + i]).abs() > REST * size_of(v))
            || (0..p).any(|i| row[width + i].abs() > REST * size_of(y));
        if !moved {
            return ModelChange::None;
        }
        let noise = REST * size_of(y);
        let squares = member.squares.clone();
        let in_use = model[0] == 1.0;
        // The error of a prediction relative to the usual change of outputs.
        let prediction_error = |order: usize, theta: &[f64], usual: &dyn Fn(usize) -> f64| -> f64 {
            let mut most = 0.0f64;
            for output in 0..p {
                let predicted: f64 = (0..arx.width(order)).map(|i| row[i] * theta[i * p + output]).sum();
                let error = ((row[width + output] - predicted).abs() - noise).max(0.0);
                most = most.max(if error == 0.0 { 0.0 } else { error / usual(output) });
            }
            if most.is_nan() { f64::INFINITY } else { most }
        };
        let order = fits[member.mark(Mark::Order)] as usize;
        let (mut error, mut novel) = (f64::INFINITY, f64::INFINITY);
        if order > 0 {
            arx.solve(order, &fits[squares.clone()], theta);
            error =
                prediction_error(order, theta, &|output| arx.change(&fits[squares.clone()], output).sqrt());
            novel = arx.novelty(order, &fits[squares.clone()], row, rest);
        }
        let frozen = |output: usize| fits[member.usual.start + output];
        let of_used = if in_use {
            prediction_error(model[1] as usize, &fits[member.theta.clone()], &frozen)
        } else {
            0.0
        };
        if in_use {
            // The window is added to the least squares below, so that no model in use has seen it.
            fits[member.mark(Mark::Predictions)] += p as f64;
            let worst = &mut fits[member.mark(Mark::PredictionError)];
            *worst = worst.max(of_used);
        }
        if error > EXACT || novel > NEW {
            let full = arx.rows(&fits[squares.clone()]) * (1.0 - self.forgetting) > 1.0;
            let keep =
                if order > 0 && (full || error > STEADY * self.quality) { self.forgetting } else { 1.0 };
            arx.add(&mut fits[squares.clone()], keep, row);
        }

        let order = best_order(&arx, &fits[squares.clone()], noise);
        if order != fits[member.mark(Mark::Order)] as usize {
            fits[member.mark(Mark::Order)] = order as f64;
            fits[member.mark(Mark::Streak)] = 0.0;
        }
        if order == 0 {
            return ModelChange::None;
        }
        arx.solve(order, &fits[squares.clone()], theta);
        let quality = self.quality_of(&arx, order, &fits[squares.clone()], theta, noise, rest);
        fits[member.mark(Mark::Quality)] = quality;
        let good = quality <= self.quality && error <= self.quality;
        let streak = &mut fits[member.mark(Mark::Streak)];
        *streak = if good { *streak + 1.0 } else { 0.0 };

        let fails = in_use && of_used > PATIENCE * self.quality;
        let better = in_use && of_used > EXACT && of_used > 3.0 * error && good;
        let doubts = head[Head::Closed as usize].min(6.0);
        let opens = !in_use && *streak >= STREAK * math::powf(3.0, doubts);
        if fails && !good {
            model[0] = 0.0;
            return ModelChange::Other;
        }
        if !(opens || better || fails) {
            return ModelChange::None;
        }
        if opens {
            fits[member.mark(Mark::Predictions)] = 0.0;
            fits[member.mark(Mark::PredictionError)] = 0.0;
        }
        adopt(member, order, head[Head::Size as usize], theta, (model, fits), rest)
    }

    /// The relative error of the response of outputs to inputs within a window. Inputs are weighted by their usual change.
    fn quality_of(
        &self,
        arx: &Arx,
        order: usize,
        squares: &[f64],
        theta: &[f64],
        noise: f64,
        work: &mut [f64],
    ) -> f64 {
        let (mut worst, p) = (0.0f64, arx.outputs);
        for output in 0..p {
            let (mut doubt, mut answer) = (0.0, 0.0);
            for input in 0..arx.inputs {
                let usual = arx.usual(squares, arx.of_input(1) + input);
                let gain: f64 =
                    (0..=order).map(|level| theta[(arx.of_input(level) + input) * p + output]).sum();
                let unknown =
                    arx.doubt(order, squares, input, work) * arx.residual(order, squares, output).sqrt();
                doubt += math::powi(unknown * usual, 2);
                answer += math::powi(gain * usual, 2);
            }
            let (doubt, answer) = (doubt.sqrt(), answer.sqrt());
            if doubt > noise {
                worst = worst.max(doubt / answer);
            }
        }
        if worst.is_nan() { f64::INFINITY } else { worst }
    }

    /// A window of another size interrupts the samples; two in a row start the identification anew.
    fn other_size(
        &self,
        known: &CorrectionContext<'_>,
        size: f64,
        found: &mut FinderMemory<&mut [f64]>,
        connected: &[f64],
    ) {
        let lasts = same_size(size, *found.head(Head::Before));
        self.members(known, connected, |member| {
            found.models[member.model.start] = 0.0;
            found.fits[member.mark(Mark::Streak)] = 0.0;
            if lasts {
                found.fits[member.squares.clone()].fill(0.0);
                found.fits[member.mark(Mark::Order)] = 0.0;
            }
        });
        if lasts {
            *found.head(Head::Size) = size;
        }
        *found.head(Head::Samples) = 0.0;
        *found.head(Head::Now) = 0.0;
    }

    /// Takes all models out of use.
    pub(crate) fn give_up(
        &self,
        known: &CorrectionContext<'_>,
        found: &mut FinderMemory<&mut [f64]>,
        connected: &[f64],
    ) {
        self.members(known, connected, |member| {
            found.models[member.model.start] = 0.0;
            found.fits[member.mark(Mark::Streak)] = 0.0;
        });
        *found.head(Head::Closed) += 1.0;
        *found.head(Head::Now) = 0.0;
    }

    /// Updates the status for reports; whether any model is in use.
    pub(crate) fn update_status(
        &self,
        known: &CorrectionContext<'_>,
        change: ModelChange,
        time: f64,
        found: &mut FinderMemory<&mut [f64]>,
        connected: &[f64],
    ) -> bool {
        let (mut now, mut wanted, mut odd, mut predictions, mut error) = (0.0, 0.0, 0.0, 0.0, 0.0f64);
        self.members(known, connected, |member| {
            let of = |mark: Mark| found.fits[member.mark(mark)];
            wanted += 1.0;
            odd += of(Mark::Odd);
            now += if found.models[member.model.start] == 1.0 { 1.0 } else { 0.0 };
            predictions += of(Mark::Predictions);
            error = error.max(of(Mark::PredictionError));
        });
        let before = *found.head(Head::Now);
        (*found.head(Head::Now), *found.head(Head::Wanted), *found.head(Head::Odd)) = (now, wanted, odd);
        (*found.head(Head::Predictions), *found.head(Head::PredictionError)) = (predictions, error);
        if now < before {
            *found.head(Head::Closed) += 1.0;
        }
        if now == 0.0 {
            return false;
        }
        if before == 0.0 {
            *found.head(Head::Since) = time;
            if *found.head(Head::Used) == 0.0 {
                *found.head(Head::First) = time;
            }
        }
        *found.head(Head::Used) += 1.0;
        *found.head(Head::Age) += 1.0;
        if change != ModelChange::None {
            *found.head(Head::Renewed) += 1.0;
            *found.head(Head::Age) = 0.0;
        }
        true
    }

    /// The status for reports.
    pub(crate) fn status(&self, found: &FinderMemory<&[f64]>) -> IdentificationStatus {
        let head = |which: Head| found.head[which as usize];
        IdentificationStatus {
            wanted: head(Head::Wanted) as u64,
            now: head(Head::Now) as u64,
            first: (head(Head::Used) > 0.0).then_some(head(Head::First)),
            since: (head(Head::Now) > 0.0).then_some(head(Head::Since)),
            windows: head(Head::Used) as u64,
            renewed: head(Head::Renewed) as u64,
            age: head(Head::Age) as u64,
            closed: head(Head::Closed) as u64,
            odd: head(Head::Odd) as u64,
            predictions: head(Head::Predictions) as u64,
            prediction_error: head(Head::PredictionError),
        }
    }

    /// Factor of the share of debts that the next window repays.
    pub(crate) fn unevenness(&self, head: &[f64]) -> f64 {
        1.0 + if head[Head::Windows as usize] % 2.0 == 1.0 { UNEVEN } else { -UNEVEN }
    }
}

impl FinderMemory<&mut [f64]> {
    pub(crate) fn head(&mut self, which: Head) -> &mut f64 {
        &mut self.head[which as usize]
    }
}

/// Marks the outputs that drive inputs by 1.
pub(crate) fn mark_connected(known: &CorrectionContext<'_>, connected: &mut [f64]) {
    connected.fill(0.0);
    for term in (0..known.shape.inputs).flat_map(|input| known.couplings.terms(input)) {
        connected[term.output] = 1.0;
    }
}

/// The inputs of a simulator that outputs drive.
pub(crate) fn connected_inputs<'a>(
    known: &CorrectionContext<'a>,
    simulator: usize,
) -> impl Iterator<Item = usize> + Clone + use<'a> {
    let known = *known;
    known.blocks[simulator].inputs.clone().filter(move |input| !known.couplings.terms(*input).is_empty())
}

/// The outputs of a simulator that drive inputs.
pub(crate) fn connected_outputs<'a, 'b>(
    known: &CorrectionContext<'a>,
    connected: &'b [f64],
    simulator: usize,
) -> impl Iterator<Item = usize> + use<'a, 'b> {
    known.blocks[simulator].outputs.clone().filter(|output| connected[*output] == 1.0)
}

/// The samples of one simulator out of those of all.
pub(crate) fn gather(
    known: &CorrectionContext<'_>,
    connected: &[f64],
    member: &IdentifiedSimulator,
    all: &[f64],
    y: &mut [f64],
    v: &mut [f64],
) {
    let outputs =
        connected_outputs(known, connected, member.simulator).map(|output| all[known.shape.inputs + output]);
    y.iter_mut().zip(outputs).for_each(|(place, value)| *place = value);
    let inputs = connected_inputs(known, member.simulator).map(|input| all[input]);
    v.iter_mut().zip(inputs).for_each(|(place, value)| *place = value);
}

pub(crate) fn same_size(a: f64, b: f64) -> bool {
    (a - b).abs() <= SAME * b.abs()
}

#[cfg(test)]
#[path = "../../tests/private/finder.rs"]
mod tests;
