//! Pre-step stabilisation from inputs and outputs only: linear models are identified during the run, and once they are
//! good enough, inputs are the mean of the coupled outputs over the step.
//!
//! It works with every simulator and needs no derivatives, states or rollback, but a constant step size and held inputs.
//! [`crate::identify::finder`] identifies a linear model in continuous time of every simulator, judges its quality, and
//! takes it into use and out of use; its state follows from the newest samples. All models go out of use when the coupled
//! system would be unstable, or when the debt of inputs grows by more than models explain.
//!
//! All models together with the couplings are the coupled system xe' = Ac xe + ac, Eq. (3) of Genser & Benedikt 2018
//! (pre-step); e = xe - x, Eq. (2), is the error of the simulators. When models come into use, past windows are evaluated
//! again: the error of the start without models is in e, and is repaid. An input is
//!
//!   u(j) = mean of the coupled inputs over step j + p(j),
//!
//! where the M payments p(j) together remove e with the least effort: p(j) = R(j)^-1 G' F'^(M-1-j) W^+ F^M e with
//! W = sum of F^(M-1-j) G R(j)^-1 G' F'^(M-1-j), the minimum-energy control of Kalman, Ho & Narendra (1963). Without
//! them an integrator would keep the error of the start for ever.
//!
//! A payment has no counterpart on the other side of a bond, so it creates or removes energy. R(j) is the power that a
//! payment would move in window j, so that payments are made when they are cheap, and M is the smallest for which all of
//! them move no more energy than the start without models did, or than is saved meanwhile by not holding inputs.
//!
//! Before models are in use, each window repays a share of the debt of inputs, as the account of Sadjina & Pedersen 2019
//! (NEPCE), Eq. (11); every other window a larger share. With constant shares, inputs would be a fixed function of
//! outputs, and the response to an input could not be identified.

mod coupled;
mod gate;
mod repay;
#[cfg(test)]
#[path = "../../../tests/private/identified.rs"]
mod tests;

use cosimo_core::dense::add_product;
use cosimo_core::interface::Needs;
use cosimo_core::method::{Correction, CorrectionContext, IdentificationStatus, Sizes, StepRecord};
use cosimo_core::registry::{MethodEntry, Options, Range as Within, Spec};
use cosimo_core::{Segment, Window};

use self::coupled::{Workspace, drive, mean_over};
use self::gate::{drifts, watch};
use crate::identify::finder::{Finder, FinderMemory, Head, ModelChange, same_size};
use crate::identify::workspace::{parts, parts_mut, total};

/// Past windows that can be evaluated again, and the largest number in which an error is repaid.
const KEEP: usize = 64;
/// Windows with held inputs before anything is repaid: linear and higher extrapolation also begins with held inputs.
const HELD: f64 = 3.0;

pub(crate) struct IdentifiedPreStep {
    pub finder: Finder,
    /// The share of the debt that a window repays before models are in use.
    pub gain: f64,
}

/// All that is remembered.
struct CorrectionMemory<T> {
    own: T,
    debt: T,
    /// Per input: its debt when the start was repaid, its smallest and largest value, and the largest change in a window
    /// where integrals are not offered.
    range: T,
    e: T,
    payments: T,
    found: FinderMemory<T>,
}

/// Numbers beside those of the models.
#[derive(Debug, Clone, Copy)]
enum OwnNumber {
    /// For how many windows the same models have been in use, and in how many of them the start is repaid.
    Opened,
    Horizon,
    /// Energy that bonds made or lost since models are missing, in joules.
    Lost,
}

const OWN: usize = 3;

impl CorrectionMemory<&mut [f64]> {
    fn own(&mut self, which: OwnNumber) -> &mut f64 {
        &mut self.own[which as usize]
    }

    /// Without models there are no errors of theirs.
    fn forget(&mut self) {
        self.e.fill(0.0);
        self.payments.fill(0.0);
        *self.own(OwnNumber::Lost) = 0.0;
    }
}

impl IdentifiedPreStep {
    /// Layout of the memory.
    fn books<T>(&self, shape: &Sizes, mut next: impl FnMut(usize) -> T) -> CorrectionMemory<T> {
        CorrectionMemory {
            own: next(OWN),
            debt: next(shape.inputs),
            range: next(4 * shape.inputs),
            e: next(self.finder.order(shape) * shape.outputs),
            payments: next(KEEP * shape.inputs),
            found: self.finder.memory(shape, next),
        }
    }

    fn give_up(
        &self,
        known: &CorrectionContext<'_>,
        books: &mut CorrectionMemory<&mut [f64]>,
        connected: &[f64],
    ) {
        self.finder.give_up(known, &mut books.found, connected);
        books.forget();
    }
}

impl Correction for IdentifiedPreStep {
    fn memory(&self, shape: &Sizes) -> usize {
        total(|next| self.books(shape, next))
    }

    fn scratch(&self, shape: &Sizes) -> usize {
        total(|next| self.workspace_sizes(shape, next))
    }

    fn learns(&self) -> bool {
        true
    }

    fn learned(&self, shape: &Sizes, memory: &[f64]) -> Option<IdentificationStatus> {
        Some(self.finder.status(&self.books(shape, parts(memory)).found))
    }

    fn offsets(
        &self,
        known: &CorrectionContext<'_>,
        memory: &[f64],
        window: Window,
        add: &mut [Segment],
        whole: &mut [bool],
        scratch: &mut [f64],
    ) {
        let books = self.books(&known.shape, parts(memory));
        let CorrectionMemory {
            own,
            debt,
            e,
            payments,
            found: FinderMemory { head, samples, models, .. },
            ..
        } = books;
        let mut space = self.workspace(known, scratch);
        let space = &mut space;
        let size = head[Head::Size as usize];
        let (m, in_use) = (known.shape.inputs, head[Head::Now as usize] > 0.0);
        let mut made = false;
        if in_use
            && same_size(window.size, size)
            && let Some(n) = self.prepare(known, models, size, space)
        {
            self.states(known, (head, samples), 0, space);
            self.newest_inputs(known, space);
            drive(m, n, space);
            let Workspace { coupled, glc, x, xe, mean, push, u, .. } = space;
            for (xe, (x, e)) in xe[..n].iter_mut().zip(x.iter().zip(e)) {
                *xe = x + e;
            }
            let mean = &mut mean[..n];
            mean_over(n, size, coupled, &xe[..n], &push[..n], mean);
            add_product(&glc[..m * n], mean, u);
            let window = own[OwnNumber::Opened as usize] as usize;
            if let Some(due) = payments.chunks_exact(m.max(1)).nth(window) {
                u.iter_mut().zip(due).for_each(|(u, due)| *u += due);
            }
            made = u.iter().all(|u| u.is_finite());
        }
        for input in (0..m).filter(|input| known.corrected[*input]) {
            if made && space.closed[input] == 1.0 {
                add[input] += Segment::constant(space.u[input]);
                whole[input] = true;
            } else if head[Head::Held as usize] >= HELD && known.own(input).is_none() {
                let share = self.finder.unevenness(head) * self.gain;
                add[input] += Segment::constant(share * debt[input] / window.size);
            }
        }
    }

    fn learn(
        &self,
        known: &CorrectionContext<'_>,
        record: &StepRecord<'_>,
        memory: &mut [f64],
        scratch: &mut [f64],
    ) {
        let m = known.shape.inputs;
        let mut space = self.workspace(known, scratch);
        let mut books = self.books(&known.shape, parts_mut(memory));
        watch(known, record, &mut books);
        let (connected, work) = (&*space.connected, &mut *space.work);
        let Some(change) = self.finder.observe(known, record, &mut books.found, (connected, work)) else {
            books.forget();
            return;
        };
        let now = record.window.to.seconds();
        if !self.finder.update_status(known, change, now, &mut books.found, space.connected) {
            books.e.fill(0.0);
            books.payments.fill(0.0);
            return;
        }
        let size = *books.found.head(Head::Size);
        let Some(n) = self.prepare(known, books.found.models, size, &mut space) else {
            self.give_up(known, &mut books, space.connected);
            return;
        };
        // New models have no errors yet: evaluate all past windows again.
        let count = *books.found.head(Head::Samples) as usize;
        let again = if change == ModelChange::Other { count } else { 1 };
        if again > 1 {
            books.e.fill(0.0);
        }
        for back in (1..=again).rev() {
            self.states(known, (books.found.head, books.found.samples), back, &mut space);
            let applied = &books.found.samples[(back - 1) * (m + known.shape.outputs)..][..m];
            space.given.copy_from_slice(applied);
            self.update_error(m, n, size, applied, books.e, &mut space);
        }
        if change == ModelChange::Other {
            let lost = *books.own(OwnNumber::Lost);
            let past = (&*books.found.head, &*books.found.samples, &*books.e);
            let horizon = self.plan(known, (n, size, lost), past, books.payments, &mut space);
            *books.own(OwnNumber::Horizon) = horizon as f64;
        }
        self.amend(known, record, books.debt, &mut space);
        let opened = if change == ModelChange::Other { 0.0 } else { *books.own(OwnNumber::Opened) + 1.0 };
        *books.own(OwnNumber::Opened) = opened;
        if drifts(size, &mut books, space.closed) {
            self.give_up(known, &mut books, space.connected);
        }
    }
}

fn build(options: &Options) -> Box<dyn Correction> {
    let finder = Finder {
        order: options.count("order"),
        forgetting: options.number("forgetting"),
        quality: options.number("quality"),
        keep: KEEP,
    };
    Box::new(IdentifiedPreStep { finder, gain: options.number("gain") })
}

pub(crate) const ENTRY: MethodEntry<dyn Correction> = MethodEntry {
    name: "identified",
    summary: "pre-step with linear models that are identified from inputs and outputs during the run",
    source: "Genser & Benedikt 2018 (pre-step), Eqs. (2) and (3); least squares: Ljung, System Identification, 2nd ed., 11.2",
    order: "2, once models are in use",
    options: &[
        Spec::count(
            "order",
            4,
            1,
            "highest order of the models, at most 8; the lowest sufficient order is used",
        ),
        Spec::number(
            "forgetting",
            0.999,
            Within::Unit,
            "",
            "forgetting factor of the least squares, per informative window",
        ),
        Spec::number(
            "quality",
            0.01,
            Within::Positive,
            "",
            "allowed relative error of a model before it is used",
        ),
        Spec::number(
            "gain",
            0.4,
            Within::Unit,
            "",
            "share of the debt that a window repays before models are used",
        ),
    ],
    needs: |_| Needs::NOTHING,
    build,
};
