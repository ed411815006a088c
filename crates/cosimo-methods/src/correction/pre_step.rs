//! Pre-step stabilisation: from linear models of all simulators, held inputs are computed before the step that bring each
//! simulator to the state of the coupled system at its end.
//!
//! Source: Genser & Benedikt 2018 (pre-step), Eqs. (2) to (4), for any number of simulators, with feed-through and
//! affine terms. All is written as deviation from the point of linearisation (x0, u0) of the window's start, where
//! x' = f + A (x - x0) + B (u - u0) and y = g + C (x - x0) + D (u - u0); the models of all simulators together, u = L y.
//! With r = L g - u0, the error of the inputs at the point, and G = (1 - L D)^-1:
//!
//! * coupled: v = u - u0 = G (r + L C xi), so that xi' = Ac xi + q, Ac = A + B G L C, q = f + B G r;
//! * (2) e = x - x0 is the error of the simulated states: after a window it is the state of the coupled system, started
//!   at e, minus that of the simulators, started at 0 with the held inputs v. Written as a differential equation that is
//!   e' = Ac e + B G eps, eps = L y - u. It starts with the run and is never reset;
//! * (3) the coupled system goes from e to xi(H) = e^(Ac H) e + H phi_1(Ac H) q;
//! * (4) v = v0 + (W Phi)^+ W (xi(H) - S (f + B v0)), S = H phi_1(A H), Phi = S B, per simulator; v0 = v at xi = e.
//!   The pseudo-inverse moves v only where that moves the states.
//!
//! In equilibrium f, r and e are zero, and so is v, to the bit. An input computed so replaces its extrapolation, so that
//! the extrapolation and the order of the stages have no effect on it.

use cosimo_core::dense::{add_product, invert, multiply, phi, phi_work, pseudo_invert, pseudo_invert_work};
use cosimo_core::interface::Needs;
use cosimo_core::linear_model::LinearModel;
use cosimo_core::math;
use cosimo_core::method::{Correction, CorrectionContext, ModelRequest, Sizes, StepRecord};
use cosimo_core::registry::{MethodEntry, Options, Spec};
use cosimo_core::{Segment, Window};

use crate::identify::workspace::parts_mut;

/// Singular values below this fraction of the largest count as zero.
const CUT: f64 = 1e-9;

/// Which held input is taken for the step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HeldInput {
    /// The one that brings the states to those of the coupled system at the end, Eq. (4).
    End,
    /// The mean of the coupled outputs over the step.
    Mean,
}

/// Weights of states where not all of them can be reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Weight {
    /// An integral of another state counts 1/H as much: with equal weights the only input of a mass would be spent on
    /// its velocity, and its position would drift.
    Balanced,
    Identity,
}

pub(crate) struct PreStep {
    pub held: HeldInput,
    pub weight: Weight,
    pub models: ModelRequest,
}

/// Scratch memory in its parts. Those above the line depend on the step size, the matrices and the couplings only, and
/// are reused as long as these do not change.
struct Workspace<'a> {
    /// The step size that the rest is for, and 1 if it can be used.
    state: &'a mut [f64],
    /// Matrices and gains that it is for.
    matrices: &'a mut [f64],
    gains: &'a mut [f64],
    /// (1 - L D)^-1, and that times L C.
    g: &'a mut [f64],
    glc: &'a mut [f64],
    /// phi_0 to phi_2 of Ac H.
    coupled: &'a mut [f64],
    /// Per simulator: S, and (W Phi)^+ W.
    s: &'a mut [f64],
    back: &'a mut [f64],
    // ----
    work: &'a mut [f64],
    /// One number per input.
    missed: &'a mut [f64],
    v: &'a mut [f64],
    /// One number per state.
    q: &'a mut [f64],
    end: &'a mut [f64],
    states: &'a mut [f64],
}

fn sizes(shape: &Sizes) -> [usize; 14] {
    let (n, m) = (shape.states, shape.inputs);
    let most =
        [m * m, m * n, n * n + phi_work(n), 2 * n * n + phi_work(n), 2 * m * n + pseudo_invert_work(m) + n];
    let work = most.into_iter().max().unwrap_or(0);
    [2, shape.matrices, m * shape.outputs, m * m, m * n, 3 * n * n, n * n, m * n, work, m, m, n, n, n]
}

impl<'a> Workspace<'a> {
    fn of(shape: &Sizes, scratch: &'a mut [f64]) -> Workspace<'a> {
        let [state, matrices, gains, g, glc, coupled, s, back, work, missed, v, q, end, states] =
            sizes(shape).map(parts_mut(scratch));
        Workspace { state, matrices, gains, g, glc, coupled, s, back, work, missed, v, q, end, states }
    }

    /// Whether the parts above the line are those of this step.
    fn is_for(&self, known: &CorrectionContext<'_>, size: f64) -> bool {
        let models = known.models.matrices;
        let mut gains = 0;
        let same = (0..known.shape.inputs).flat_map(|input| known.couplings.terms(input)).all(|term| {
            gains += 1;
            self.gains.get(gains - 1).is_some_and(|gain| gain.to_bits() == term.gain.to_bits())
        });
        same && self.state[0].to_bits() == size.to_bits()
            && models.iter().zip(&*self.matrices).all(|(new, old)| new.to_bits() == old.to_bits())
    }

    fn remember(&mut self, known: &CorrectionContext<'_>, size: f64) {
        self.matrices[..known.models.matrices.len()].copy_from_slice(known.models.matrices);
        let terms = (0..known.shape.inputs).flat_map(|input| known.couplings.terms(input));
        for (place, term) in self.gains.iter_mut().zip(terms) {
            *place = term.gain;
        }
        self.state[0] = size;
    }
}

/// Whether all simulators that drive an input have models.
fn modelled(known: &CorrectionContext<'_>, input: usize) -> bool {
    let terms = known.couplings.terms(input);
    let has_model = |output: usize| known.models.of(known.jacobian.owners[output]).is_some();
    !terms.is_empty() && terms.iter().all(|term| has_model(term.output))
}

/// All simulators with models: their number and their model.
fn models<'a>(known: &CorrectionContext<'a>) -> impl Iterator<Item = (usize, LinearModel<'a>)> + use<'a> {
    let known = *known;
    (0..known.blocks.len()).filter_map(move |simulator| Some((simulator, known.models.of(simulator)?)))
}

/// Row `input` of L times a matrix of outputs: C or D of the simulators that drive it.
fn add_row(
    known: &CorrectionContext<'_>,
    input: usize,
    mut add: impl FnMut(usize, &LinearModel<'_>, usize, f64),
) {
    for term in known.couplings.terms(input) {
        let owner = known.jacobian.owners[term.output];
        if let Some(model) = known.models.of(owner) {
            add(owner, &model, term.output - known.blocks[owner].outputs.start, term.gain);
        }
    }
}

/// How many times a state is the integral of something else: its derivative is one other state, or one input.
fn integrations(model: &LinearModel<'_>, levels: &mut [f64]) {
    let (states, inputs) = (model.x.len(), model.u.len());
    levels.fill(0.0);
    for _ in 0..states {
        for i in 0..states {
            let (row, driven) =
                (&model.a[i * states..(i + 1) * states], &model.b[i * inputs..(i + 1) * inputs]);
            let mut moved_by = row.iter().enumerate().filter(|(_, factor)| **factor != 0.0).map(|(j, _)| j);
            let pushed = driven.iter().filter(|factor| **factor != 0.0).count();
            levels[i] = match (moved_by.next(), moved_by.next(), pushed) {
                (Some(j), None, 0) if j != i => levels[j] + 1.0,
                (None, None, 1) => 1.0,
                _ => 0.0,
            };
        }
    }
}

impl PreStep {
    /// Fills the parts that depend on the step size, the matrices and the couplings only, unless they are up to date.
    fn prepare(&self, known: &CorrectionContext<'_>, size: f64, space: &mut Workspace<'_>) -> bool {
        if !space.is_for(known, size) {
            let solved = self.solve(known, size, space);
            space.remember(known, size);
            let parts = [&*space.g, &*space.glc, &*space.coupled, &*space.s, &*space.back];
            let finite = parts.into_iter().flatten().all(|value| value.is_finite());
            space.state[1] = if solved && finite { 1.0 } else { 0.0 };
        }
        space.state[1] == 1.0
    }

    fn solve(&self, known: &CorrectionContext<'_>, size: f64, space: &mut Workspace<'_>) -> bool {
        let (n, m) = (known.shape.states, known.shape.inputs);
        let Workspace { g, glc, coupled, s, back, work, .. } = space;

        // G = (1 - L D)^-1.
        let matrix = &mut work[..m * m];
        matrix.fill(0.0);
        for input in 0..m {
            matrix[input * m + input] = 1.0;
            if modelled(known, input) {
                add_row(known, input, |owner, model, output, gain| {
                    let (first, width) = (known.blocks[owner].inputs.start, model.u.len());
                    for (j, d) in model.d[output * width..(output + 1) * width].iter().enumerate() {
                        matrix[input * m + first + j] -= gain * d;
                    }
                });
            }
        }
        if !invert(m, matrix, g) {
            return false;
        }

        // G L C.
        let lc = &mut work[..m * n];
        lc.fill(0.0);
        for input in (0..m).filter(|input| modelled(known, *input)) {
            add_row(known, input, |_, model, output, gain| {
                let width = model.x.len();
                for (j, c) in model.c[output * width..(output + 1) * width].iter().enumerate() {
                    lc[input * n + model.first_state + j] += gain * c;
                }
            });
        }
        multiply(m, m, g, lc, glc);

        // Ac = A + B G L C and its exponentials.
        let (ac, rest) = work.split_at_mut(n * n);
        ac.fill(0.0);
        for (simulator, model) in models(known) {
            let (states, inputs, first) =
                (model.x.len(), model.u.len(), known.blocks[simulator].inputs.start);
            for i in 0..states {
                let row = &mut ac[(model.first_state + i) * n..(model.first_state + i + 1) * n];
                row[model.first_state..][..states].copy_from_slice(&model.a[i * states..(i + 1) * states]);
                for j in 0..inputs {
                    let b = model.b[i * inputs + j];
                    for (sum, entry) in row.iter_mut().zip(&glc[(first + j) * n..(first + j + 1) * n]) {
                        *sum += b * entry;
                    }
                }
            }
        }
        phi(n, 2, ac, size, coupled, rest);

        // S and (W Phi)^+ W of each simulator.
        let (mut s, mut back) = (&mut **s, &mut **back);
        for (simulator, model) in models(known) {
            let (states, inputs) = (model.x.len(), model.u.len());
            let square = states * states;
            let (mine, behind) = std::mem::take(&mut s).split_at_mut(square);
            s = behind;
            let (table, rest) = work.split_at_mut(2 * square);
            phi(states, 1, model.a, size, table, rest);
            for (s, entry) in mine.iter_mut().zip(&table[square..]) {
                *s = size * entry;
            }
            let (mine_back, behind) = std::mem::take(&mut back).split_at_mut(inputs * states);
            back = behind;
            let (answer, rest) = work.split_at_mut(states * inputs);
            let (levels, rest) = rest.split_at_mut(states);
            match self.weight {
                Weight::Balanced => integrations(&model, levels),
                Weight::Identity => levels.fill(0.0),
            }
            levels.iter_mut().for_each(|level| *level = math::powf(size, -*level));
            multiply(states, states, mine, model.b, answer);
            let first = known.blocks[simulator].inputs.start;
            for (at, entry) in answer.iter_mut().enumerate() {
                let (row, input) = (at / inputs, first + at % inputs);
                let mine = known.corrected[input] && modelled(known, input);
                *entry = if mine { levels[row] * *entry } else { 0.0 };
            }
            pseudo_invert(states, inputs, answer, CUT, mine_back, rest);
            for (at, entry) in mine_back.iter_mut().enumerate() {
                *entry *= levels[at % states];
            }
        }
        true
    }
}

/// r = L g - u0, and the deviation of inputs without models.
fn misses(known: &CorrectionContext<'_>, missed: &mut [f64], others: impl Fn(usize, f64) -> f64) {
    missed.fill(0.0);
    for (simulator, model) in models(known) {
        for (input, at) in known.blocks[simulator].inputs.clone().zip(model.u) {
            missed[input] = if modelled(known, input) {
                let mut sum = known.couplings.constant(input);
                add_row(known, input, |_, model, output, gain| sum += gain * model.g[output]);
                sum - at
            } else {
                others(input, *at)
            };
        }
    }
}

/// G r into `v`, q = f + B G r, and the end state of the coupled system from the errors `e`, Eq. (3).
fn couple(known: &CorrectionContext<'_>, size: f64, e: &[f64], space: &mut Workspace<'_>) {
    let square = e.len() * e.len();
    space.v.fill(0.0);
    add_product(space.g, space.missed, space.v);
    push(known, space.v, space.q);
    space.states.fill(0.0);
    add_product(&space.coupled[square..2 * square], space.q, space.states);
    space.end.fill(0.0);
    add_product(&space.coupled[..square], e, space.end);
    for (end, moved) in space.end.iter_mut().zip(&*space.states) {
        *end += size * moved;
    }
}

/// `into` = f + B v.
fn push(known: &CorrectionContext<'_>, v: &[f64], into: &mut [f64]) {
    for (simulator, model) in models(known) {
        let into = &mut into[model.first_state..][..model.f.len()];
        into.copy_from_slice(model.f);
        add_product(model.b, &v[known.blocks[simulator].inputs.clone()], into);
    }
}

impl Correction for PreStep {
    /// The errors of all states, Eq. (2).
    fn memory(&self, shape: &Sizes) -> usize {
        shape.states
    }

    fn models(&self) -> Option<ModelRequest> {
        Some(self.models)
    }

    fn scratch(&self, shape: &Sizes) -> usize {
        sizes(shape).iter().sum()
    }

    fn offsets(
        &self,
        known: &CorrectionContext<'_>,
        e: &[f64],
        window: Window,
        add: &mut [Segment],
        whole: &mut [bool],
        scratch: &mut [f64],
    ) {
        let mut space = Workspace::of(&known.shape, scratch);
        if !self.prepare(known, window.size, &mut space) {
            return; // inputs are applied as extrapolated
        }
        misses(known, space.missed, |_, _| 0.0);
        couple(known, window.size, e, &mut space);
        let square = e.len() * e.len();
        match self.held {
            HeldInput::Mean => {
                // The mean of xi over the step is phi_1(Ac H) e + H phi_2(Ac H) q.
                space.states.fill(0.0);
                add_product(&space.coupled[2 * square..], space.q, space.states);
                space.states.iter_mut().for_each(|state| *state *= window.size);
                add_product(&space.coupled[square..2 * square], e, space.states);
                add_product(space.glc, space.states, space.v);
            }
            HeldInput::End => {
                add_product(space.glc, e, space.v);
                push(known, space.v, space.q);
                let (mut s, mut back) = (&*space.s, &*space.back);
                for (simulator, model) in models(known) {
                    let mine = model.first_state..model.first_state + model.x.len();
                    let left = &mut space.states[mine.clone()];
                    left.fill(0.0);
                    add_product(s, &space.q[mine.clone()], left);
                    for (left, end) in left.iter_mut().zip(&space.end[mine.clone()]) {
                        *left = end - *left;
                    }
                    add_product(back, left, &mut space.v[known.blocks[simulator].inputs.clone()]);
                    s = &s[mine.len() * mine.len()..];
                    back = &back[mine.len() * model.u.len()..];
                }
            }
        }
        if space.v.iter().any(|v| !v.is_finite()) {
            return;
        }
        for (simulator, model) in models(known) {
            for (input, at) in known.blocks[simulator].inputs.clone().zip(model.u) {
                if known.corrected[input] && modelled(known, input) {
                    add[input] += Segment::constant(at + space.v[input]);
                    whole[input] = true;
                }
            }
        }
    }

    /// The end state of the coupled system minus that of the simulators with the applied inputs, by the same models.
    fn learn(
        &self,
        known: &CorrectionContext<'_>,
        record: &StepRecord<'_>,
        e: &mut [f64],
        scratch: &mut [f64],
    ) {
        let size = record.window.size;
        let mut space = Workspace::of(&known.shape, scratch);
        if !self.prepare(known, size, &mut space) {
            return;
        }
        let applied = |input: usize, at: f64| record.applied[input].mean(size) - at;
        misses(known, space.missed, applied);
        couple(known, size, e, &mut space);
        for (simulator, model) in models(known) {
            for (input, at) in known.blocks[simulator].inputs.clone().zip(model.u) {
                space.v[input] = applied(input, *at);
            }
        }
        push(known, space.v, space.q);
        let mut s = &*space.s;
        for (_, model) in models(known) {
            let mine = model.first_state..model.first_state + model.x.len();
            let moved = &mut space.states[mine.clone()];
            moved.fill(0.0);
            add_product(s, &space.q[mine.clone()], moved);
            s = &s[mine.len() * mine.len()..];
        }
        for ((e, end), moved) in e.iter_mut().zip(&*space.end).zip(&*space.states) {
            *e = end - moved;
        }
        if e.iter().any(|error| !error.is_finite()) {
            e.fill(0.0); // overflow: start again without errors
        }
    }
}

fn build(options: &Options) -> Box<dyn Correction> {
    let held = if options.text("input") == "mean" { HeldInput::Mean } else { HeldInput::End };
    let weight = if options.text("weight") == "identity" { Weight::Identity } else { Weight::Balanced };
    let source = match options.text("jacobian") {
        "declared" => "declared",
        "directional" => "directional",
        "difference" => "difference",
        _ => "auto",
    };
    let every = Some(options.count("refresh") as u64).filter(|every| *every > 0);
    Box::new(PreStep { held, weight, models: ModelRequest { source, every } })
}

pub(crate) const ENTRY: MethodEntry<dyn Correction> = MethodEntry {
    name: "pre-step",
    summary: "held inputs that bring linear models to the state of the coupled system",
    source: "Genser & Benedikt 2018 (pre-step), Eqs. (2) to (4)",
    order: "2 of states that integrate others, else 1",
    options: &[
        Spec::choice(
            "input",
            "end",
            &["end", "mean"],
            "end: closest to the coupled states at the end of the step; mean: mean of the coupled outputs over the step",
        ),
        Spec::choice(
            "weight",
            "balanced",
            &["balanced", "identity"],
            "balanced: a state that is the integral of another counts 1/H as much; identity: all equal",
        ),
        Spec::choice(
            "jacobian",
            "auto",
            &["auto", "declared", "directional", "difference"],
            "source of the linear models; inputs of simulators without one are extrapolated",
        ),
        Spec::count("refresh", 1, 0, "windows after which derivatives are updated; 0: only once"),
    ],
    needs: |_| Needs::NOTHING,
    build,
};
