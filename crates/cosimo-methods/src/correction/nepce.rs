//! Nearly energy-preserving coupling: repays, one step late, the integral error of extrapolation. It needs no bond and
//! works on any input.
//!
//! Source: Sadjina & Pedersen 2019 (NEPCE), Eq. (11), and Eq. (12) with direct feed-through. With
//! feed-through the outputs themselves were computed from wrong inputs; the error of the inputs is then
//! (1 - L J)^-1 times the error of the outputs. Without an algebraic loop L J is nilpotent, and the inverse is
//! the finite sum over the depth of the feed-through graph; with one it is computed.
//!
//! J comes from a Jacobian source or is identified from inputs and outputs during the run
//! ([`crate::identify::finder`]): D of the linear models in use, and 0 before there are any.

use cosimo_core::dense::{add_product, invert};
use cosimo_core::interface::Needs;
use cosimo_core::method::{
    Correction, CorrectionContext, IdentificationStatus, Jacobian, Quadrature, Sizes, StepRecord,
};
use cosimo_core::registry::{MethodEntry, Options, Range, Spec};
use cosimo_core::{Segment, Window};

use crate::identify::finder::{
    Finder, FinderMemory, Head, connected_inputs, connected_outputs, mark_connected,
};
use crate::identify::workspace::{parts, parts_mut, total};

/// Which errors are remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// The debt of all steps, divided by the upcoming step: under a changing step the memoryless form leaves a lasting
    /// error.
    Account,
    /// As the tables of the paper need it: the newest error only, times the ratio of the two completed steps.
    Paper,
}

/// Where J comes from.
pub(crate) enum Feedthrough {
    Off,
    /// A Jacobian source, by name.
    Source(&'static str),
    /// Inputs and outputs.
    Found(Finder),
}

/// Highest order of identified models, and their allowed relative error. Both as for `identified`.
const ORDER: usize = 4;
const QUALITY: f64 = 0.01;
const FORGETTING: f64 = 0.999;
/// Feed-through below this fraction of the usual change of an output is rounding.
const NOTHING: f64 = 1e-6;
/// Regular windows in a row before shares are uneven.
const LEARNING: f64 = 3.0;

pub(crate) struct Nepce {
    pub gain: f64,
    pub form: Form,
    pub quadrature: Quadrature,
    pub feedthrough: Feedthrough,
}

/// Memory of the identification of J.
struct JacobianSearch<T> {
    jacobian: T,
    /// (1 - L J) times the debt: the debt without feed-through.
    shown: T,
    found: FinderMemory<T>,
}

fn search_layout<T>(finder: &Finder, shape: &Sizes, mut next: impl FnMut(usize) -> T) -> JacobianSearch<T> {
    JacobianSearch {
        jacobian: next(shape.squares[1]),
        shown: next(shape.inputs),
        found: finder.memory(shape, next),
    }
}

/// Without feed-through J is zero.
fn has_feedthrough(shape: &Sizes) -> bool {
    shape.feedthrough_depth > 0 || shape.looped
}

/// Memory: `error` of the last window (an integral under the account, a value under the paper form), then
/// either the debt of all windows before it, or the last size and the ratio of the last two; then the search for J.
impl Nepce {
    /// How many numbers the errors have.
    fn books(&self, shape: &Sizes) -> usize {
        match self.form {
            Form::Account => 2 * shape.inputs,
            Form::Paper => shape.inputs + 2,
        }
    }

    /// The identification of J, if enabled.
    fn finder(&self, shape: &Sizes) -> Option<&Finder> {
        match &self.feedthrough {
            Feedthrough::Found(finder) if has_feedthrough(shape) => Some(finder),
            _ => None,
        }
    }

    /// Scratch memory of the identification.
    fn side(&self, shape: &Sizes) -> usize {
        self.finder(shape).map_or(0, |finder| shape.outputs + finder.work(shape))
    }

    /// With the identified Jacobian instead of that of a source.
    fn informed<'a>(&self, known: &CorrectionContext<'a>, searched: &'a [f64]) -> CorrectionContext<'a> {
        match self.finder(&known.shape) {
            Some(finder) => with(known, search_layout(finder, &known.shape, parts(searched)).jacobian),
            None => *known,
        }
    }

    /// Updates the models with one more window, and J from those in use. When a model comes into use, the debt is
    /// converted to it.
    fn find(
        &self,
        finder: &Finder,
        (known, record): (&CorrectionContext<'_>, &StepRecord<'_>),
        (memory, searched): (&mut [f64], &mut [f64]),
        scratch: &mut [f64],
    ) {
        let (shape, inputs) = (&known.shape, known.shape.inputs);
        let debt = if self.form == Form::Account { &mut memory[inputs..] } else { &mut [] };
        let mut search = search_layout(finder, shape, parts_mut(searched));
        let before = *search.found.head(Head::Now);
        for (input, (shown, owed)) in search.shown.iter_mut().zip(&*debt).enumerate() {
            *shown = owed - through(&with(known, search.jacobian), input, debt);
        }
        renew(finder, known, record, &mut search, scratch);
        if *search.found.head(Head::Now) > before && !debt.is_empty() {
            debt.copy_from_slice(self.errors(&with(known, search.jacobian), search.shown, scratch));
        }
    }

    fn errors<'a>(
        &self,
        known: &CorrectionContext<'_>,
        memory: &'a [f64],
        scratch: &'a mut [f64],
    ) -> &'a [f64] {
        let inputs = known.shape.inputs;
        let error = &memory[..inputs];
        if matches!(self.feedthrough, Feedthrough::Off) {
            return error;
        }
        let (now, rest) = scratch.split_at_mut(inputs);
        let (next, matrices) = rest.split_at_mut(inputs);
        now.copy_from_slice(error);
        if known.shape.looped {
            let (matrix, inverse) = matrices.split_at_mut(inputs * inputs);
            for column in 0..inputs {
                next.fill(0.0);
                next[column] = 1.0;
                for row in 0..inputs {
                    matrix[row * inputs + column] = next[row] - through(known, row, next);
                }
            }
            // A singular loop gives no errors either.
            if invert(inputs, matrix, inverse) {
                now.fill(0.0);
                add_product(inverse, error, now);
            }
            return now;
        }
        for _ in 0..known.shape.feedthrough_depth {
            for input in 0..inputs {
                next[input] = error[input] + through(known, input, now);
            }
            now.copy_from_slice(next);
        }
        now
    }
}

fn with<'a>(known: &CorrectionContext<'a>, jacobian: &'a [f64]) -> CorrectionContext<'a> {
    CorrectionContext { jacobian: Jacobian { values: jacobian, ..known.jacobian }, ..*known }
}

/// One row of L J e.
fn through(known: &CorrectionContext<'_>, input: usize, error: &[f64]) -> f64 {
    let mut sum = 0.0;
    for term in known.couplings.terms(input) {
        let (first, row) = known.jacobian_row(term.output);
        for (j, derivative) in row.iter().enumerate() {
            sum += term.gain * derivative * error[first + j];
        }
    }
    sum
}

impl Correction for Nepce {
    fn memory(&self, shape: &Sizes) -> usize {
        let searched =
            self.finder(shape).map_or(0, |finder| total(|next| search_layout(finder, shape, next)));
        self.books(shape) + searched
    }

    fn start(&self, shape: &Sizes, memory: &mut [f64]) {
        memory.fill(0.0);
        if self.form == Form::Paper {
            memory[shape.inputs + 1] = 1.0;
        }
    }

    fn jacobian(&self) -> Option<&'static str> {
        match self.feedthrough {
            Feedthrough::Source(name) => Some(name),
            _ => None,
        }
    }

    fn learns(&self) -> bool {
        matches!(self.feedthrough, Feedthrough::Found(_))
    }

    fn finds_jacobian(&self) -> Option<&'static str> {
        self.learns().then_some("identified")
    }

    fn learned(&self, shape: &Sizes, memory: &[f64]) -> Option<IdentificationStatus> {
        let finder = self.finder(shape)?;
        Some(finder.status(&search_layout(finder, shape, parts(&memory[self.books(shape)..])).found))
    }

    fn scratch(&self, shape: &Sizes) -> usize {
        let through = !matches!(self.feedthrough, Feedthrough::Off);
        let matrices = if shape.looped && through { 2 * shape.inputs.pow(2) } else { 0 };
        (2 * shape.inputs + matrices).max(self.side(shape))
    }

    fn offsets(
        &self,
        known: &CorrectionContext<'_>,
        memory: &[f64],
        window: Window,
        add: &mut [Segment],
        _whole: &mut [bool],
        scratch: &mut [f64],
    ) {
        let inputs = known.shape.inputs;
        let (memory, searched) = memory.split_at(self.books(&known.shape));
        let known = &self.informed(known, searched);
        let mut gain = self.gain;
        if let Some(finder) = self.finder(&known.shape) {
            let head = search_layout(finder, &known.shape, parts(searched)).found.head;
            let missing = head[Head::Now as usize] < head[Head::Wanted as usize];
            if missing && head[Head::Samples as usize] >= LEARNING {
                gain *= finder.unevenness(head);
            }
        }
        let error = self.errors(known, memory, scratch);
        for input in (0..inputs).filter(|&input| known.corrected[input]) {
            let offset = match self.form {
                Form::Account => gain * (memory[inputs + input] + error[input]) / window.size,
                Form::Paper if known.own(input).is_some() => gain * error[input], // its steps are equal
                Form::Paper => gain * memory[inputs + 1] * error[input],
            };
            add[input] += Segment::constant(offset);
        }
    }

    fn learn(
        &self,
        known: &CorrectionContext<'_>,
        record: &StepRecord<'_>,
        memory: &mut [f64],
        scratch: &mut [f64],
    ) {
        let inputs = known.shape.inputs;
        let size = record.window.size;
        let (memory, searched) = memory.split_at_mut(self.books(&known.shape));
        match self.form {
            Form::Account => {
                // The last window's error is added to the debt with the J at its end, which is this window's start.
                let known = &self.informed(known, searched);
                let (error, debt) = memory.split_at_mut(inputs);
                for (debt, error) in debt.iter_mut().zip(self.errors(known, error, scratch)) {
                    *debt += error;
                }
            }
            Form::Paper => {
                let last = memory[inputs];
                memory[inputs + 1] = if last == 0.0 { 1.0 } else { last / size };
                memory[inputs] = size;
            }
        }
        for input in 0..inputs {
            // Repayments are part of "applied". Other inputs are written too, or their memory would look like a state
            // that never decays.
            memory[input] = if known.corrected[input] {
                let owed = record.true_integral(input, self.quadrature)
                    - record.applied_integral(input, self.quadrature);
                match (self.form, known.own(input)) {
                    (Form::Account, _) => owed,
                    (Form::Paper, None) => owed / size,
                    // A simulator with a longer step can be corrected only when it begins one: with the error of its
                    // last one, summed up window by window. The account sums up anyway.
                    (Form::Paper, Some(own)) => {
                        let before = if own.begins { 0.0 } else { memory[input] };
                        before + owed / own.size
                    }
                }
            } else {
                0.0
            };
        }
        if let Some(finder) = self.finder(&known.shape) {
            self.find(finder, (known, record), (memory, searched), scratch);
        }
    }
}

/// Updates the models with one more window, and J from those in use.
fn renew(
    finder: &Finder,
    known: &CorrectionContext<'_>,
    record: &StepRecord<'_>,
    search: &mut JacobianSearch<&mut [f64]>,
    scratch: &mut [f64],
) {
    let (connected, work) = scratch.split_at_mut(known.shape.outputs);
    mark_connected(known, connected);
    let JacobianSearch { jacobian, found, .. } = search;
    if let Some(change) = finder.observe(known, record, found, (connected, work)) {
        finder.update_status(known, change, record.window.to.seconds(), found, connected);
    }
    jacobian.fill(0.0);
    let FinderMemory { models, fits, .. } = found;
    finder.members(known, connected, |member| {
        let Some((model, _)) = member.model(models) else { return };
        let least = NOTHING.max(member.quality(fits));
        let block = &known.blocks[member.simulator];
        let first = known.jacobian.starts[member.simulator];
        for (i, output) in connected_outputs(known, connected, member.simulator).enumerate() {
            let row = first + (output - block.outputs.start) * block.inputs.len();
            for (j, input) in connected_inputs(known, member.simulator).enumerate() {
                let d = model.d[i * model.inputs + j];
                let (of_input, of_output) = member.usual(fits, j, i);
                if (d * of_input).abs() > least * of_output {
                    jacobian[row + input - block.inputs.start] = d;
                }
            }
        }
    });
}

fn build(options: &Options) -> Box<dyn Correction> {
    let form = if options.text("form") == "paper" { Form::Paper } else { Form::Account };
    let quadrature = match (options.text("quadrature"), form) {
        ("end", _) | ("auto", Form::Paper) => Quadrature::End,
        ("trapezoid", _) => Quadrature::Trapezoid,
        _ => Quadrature::Best,
    };
    let feedthrough = feedthrough_of(options.text("feedthrough"));
    Box::new(Nepce { gain: options.number("gain"), form, quadrature, feedthrough })
}

fn feedthrough_of(source: &str) -> Feedthrough {
    match source {
        "declared" => Feedthrough::Source("declared"),
        "difference" => Feedthrough::Source("difference"),
        "identified" => Feedthrough::Found(Finder {
            order: ORDER,
            forgetting: FORGETTING,
            quality: QUALITY,
            keep: ORDER + 1,
        }),
        _ => Feedthrough::Off,
    }
}

pub(crate) const ENTRY: MethodEntry<dyn Correction> = MethodEntry {
    name: "nepce",
    summary: "repays, one step late, the integral error of extrapolation",
    source: "Sadjina & Pedersen 2019 (NEPCE), Eqs. (11) and (12)",
    order: "of the input, or one more",
    options: &[
        Spec::number(
            "gain",
            0.5,
            Range::Unit,
            "",
            "share of the debt that is repaid per step; near 1 oscillates",
        ),
        Spec::choice(
            "form",
            "account",
            &["account", "paper"],
            "account: carry what was not repaid, divide by the upcoming step; paper: newest error times the ratio of \
             the two completed steps",
        ),
        Spec::choice(
            "quadrature",
            "auto",
            &["auto", "end", "trapezoid", "best"],
            "how outputs are integrated over a step; auto is `end` for the paper form and `best` for the account",
        ),
        Spec::choice(
            "feedthrough",
            "off",
            &["off", "declared", "difference", "identified"],
            "source of the interface Jacobian for outputs with direct feed-through; identified: from inputs and outputs \
             during the run, with a constant step size and held inputs",
        ),
    ],
    needs: |options| match feedthrough_of(options.text("feedthrough")) {
        Feedthrough::Source("declared") => Needs { jacobian: true, ..Needs::NOTHING },
        Feedthrough::Source(_) => Needs { rollback: true, ..Needs::NOTHING },
        Feedthrough::Off | Feedthrough::Found(_) => Needs::NOTHING,
    },
    build,
};

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use cosimo_core::math;
    use std::f64::consts::E;

    use cosimo_core::linear_model::LinearModels;
    use cosimo_core::link::PortRanges;
    use cosimo_core::{Couplings, Term, Time, Traces};

    use super::*;

    const WINDOWS: usize = 60;
    const SIZE: f64 = 0.1;

    /// Two simulators in a ring, x' = -x + u with y = x + d u, and x' = -2 x + u with y = x: the Jacobian that is found
    /// by the end, and when it came into use.
    fn found(d: f64, size: impl Fn(usize) -> f64) -> (Vec<f64>, Option<f64>) {
        let Feedthrough::Found(finder) = feedthrough_of("identified") else { panic!("no search") };
        let nepce = Nepce {
            gain: 0.5,
            form: Form::Account,
            quadrature: Quadrature::Best,
            feedthrough: Feedthrough::Found(finder),
        };
        let rows = [vec![Term { output: 1, gain: 1.0 }], vec![Term { output: 0, gain: -1.0 }]];
        let couplings = Couplings::new(&rows, vec![0.0; 2]);
        let blocks = [0, 1].map(|at| PortRanges { inputs: at..at + 1, outputs: at..at + 1 });
        let shape = Sizes {
            inputs: 2,
            outputs: 2,
            feedthrough_depth: 1,
            simulators: 2,
            squares: [2, 2, 2],
            ..Sizes::default()
        };
        let mut memory = vec![0.0; nepce.memory(&shape)];
        let mut scratch = vec![0.0; nepce.scratch(&shape)];
        nepce.start(&shape, &mut memory);
        let mut traces = Traces::new(2);
        let mut x = [1.0, 0.5];
        traces.open(Time::new(0.0).unwrap());
        traces.put(0, &x, &[]);
        traces.commit();
        let mut now = 0.0;
        for window in 0..WINDOWS {
            let h = size(window);
            let window = Window { from: Time::new(now).unwrap(), to: Time::new(now + h).unwrap(), size: h };
            now += h;
            let given = [0.0; 2];
            let jacobian = Jacobian { values: &given, starts: &[0, 1], owners: &[0, 1] };
            let models = LinearModels { present: &[], matrices: &[], places: &[] };
            fn known<'a>(
                traces: &'a Traces,
                couplings: &'a Couplings,
                blocks: &'a [PortRanges],
                (jacobian, models): (Jacobian<'a>, LinearModels<'a>),
                shape: Sizes,
            ) -> CorrectionContext<'a> {
                let corrected = &[true; 2];
                CorrectionContext {
                    traces,
                    couplings,
                    blocks,
                    bonds: &[],
                    corrected,
                    jacobian,
                    models,
                    own: &[],
                    shape,
                }
            }
            let mut add = [Segment::ZERO; 2];
            let of = known(&traces, &couplings, &blocks, (jacobian, models), shape);
            nepce.offsets(&of, &memory, window, &mut add, &mut [false; 2], &mut scratch);
            let applied = [0, 1]
                .map(|input| Segment::constant(couplings.value(input, traces.newest()) + add[input].at(0.0)));
            let u = applied.map(|input| input.at(0.0));
            for (x, (u, rate)) in x.iter_mut().zip(u.into_iter().zip([1.0, 2.0])) {
                let decay = math::powf(E, -rate * h);
                *x = decay * *x + (1.0 - decay) / rate * u;
            }
            let left = [x[0] + d * u[0], x[1]];
            traces.open(window.to);
            traces.put(0, &left, &[]);
            let record = StepRecord {
                window,
                applied: &applied,
                outputs: &left,
                integrals: &[f64::NAN; 2],
                stashed: &left,
                traces: &traces,
                couplings: &couplings,
                bonds: &[],
                powers: &[],
                tolerances: &[None; 2],
                weights: &[None; 2],
                connected: &[true; 2],
                shape,
            };
            let of = known(&traces, &couplings, &blocks, (jacobian, models), shape);
            nepce.learn(&of, &record, &mut memory, &mut scratch);
            traces.commit();
        }
        let searched = &memory[nepce.books(&shape)..];
        let first = nepce.learned(&shape, &memory).unwrap().first;
        (search_layout(&finder, &shape, parts(searched)).jacobian.to_vec(), first)
    }

    #[test]
    fn what_is_found_is_what_passes_at_once() {
        for d in [-0.8, 0.3] {
            let (jacobian, first) = found(d, |_| SIZE);
            assert!(first.is_some_and(|first| first < 25.0 * SIZE), "{first:?}");
            assert!((jacobian[0] - d).abs() < 1e-9, "{jacobian:?}");
            assert_eq!(jacobian[1], 0.0);
        }
    }

    /// Also where feed-through is declared but zero.
    #[test]
    fn nothing_is_found_where_nothing_passes() {
        let (jacobian, first) = found(0.0, |_| SIZE);
        assert!(first.is_some());
        assert_eq!(jacobian, [0.0; 2]);
    }

    #[test]
    fn steps_of_many_sizes_leave_nothing_to_find() {
        let (jacobian, first) = found(0.3, |window| SIZE * (1.0 + 0.1 * (window % 3) as f64));
        assert_eq!((jacobian, first), (vec![0.0; 2], None));
    }
}
