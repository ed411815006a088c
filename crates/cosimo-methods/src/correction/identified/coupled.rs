//! The coupled system of the models in use: its solution, the error of the simulators, and its inputs.

use cosimo_core::dense::{add_product, invert, multiply, phi, phi_work, pseudo_invert_work};
use cosimo_core::method::{CorrectionContext, Sizes};

use super::{IdentifiedPreStep, KEEP};
use crate::identify::finder::{Head, connected_inputs, connected_outputs, gather, mark_connected};
use crate::identify::workspace::parts_mut;

/// Scratch memory in its parts. Those above the line depend on the models, the couplings and which inputs are corrected.
pub(super) struct WorkspaceOf<T> {
    state: T,
    pub(super) models: T,
    gains: T,
    corrected: T,
    /// Per simulator the first state, or -1.
    pub(super) table: T,
    /// Per input: it is computed from models.
    pub(super) closed: T,
    /// L C, (1 - L D)^-1, that times L C, L times the levels and constants; B and the drift of all.
    lc: T,
    g: T,
    pub(super) glc: T,
    constants: T,
    pub(super) b: T,
    drift: T,
    /// phi_0 to phi_2 of the coupled system, phi_0 and phi_1 of the simulators alone.
    pub(super) coupled: T,
    pub(super) alone: T,
    // ----
    pub(super) connected: T,
    pub(super) work: T,
    pub(super) x: T,
    pub(super) xe: T,
    pub(super) mean: T,
    pub(super) push: T,
    pub(super) given: T,
    pub(super) u: T,
}

pub(super) type Workspace<'a> = WorkspaceOf<&'a mut [f64]>;

impl IdentifiedPreStep {
    /// Layout of the scratch memory.
    pub(super) fn workspace_sizes<T>(
        &self,
        shape: &Sizes,
        mut next: impl FnMut(usize) -> T,
    ) -> WorkspaceOf<T> {
        let (m, p) = (shape.inputs, shape.outputs);
        let order = self.finder.order(shape);
        let n = order * p;
        let history = (order + 1) * (m + p);
        let work = [
            m * m,
            3 * n * n + phi_work(n),
            KEEP * (m + 1) + (2 * m + n + p).max(3 * n * n + m * (3 * n + 1) + 2 * n + pseudo_invert_work(n)),
            self.finder.work(shape),
            history + 8 * n + p + 3 * n * n + phi_work(n),
        ];
        let models = self.finder.memory(shape, |size| size).models;
        WorkspaceOf {
            state: next(3),
            models: next(models),
            gains: next(m * p),
            corrected: next(m),
            table: next(shape.simulators),
            closed: next(m),
            lc: next(m * n),
            g: next(m * m),
            glc: next(m * n),
            constants: next(m),
            b: next(n * m),
            drift: next(n),
            coupled: next(3 * n * n),
            alone: next(2 * n * n),
            connected: next(p),
            work: next(work.into_iter().max().unwrap_or(0)),
            x: next(n),
            xe: next(n),
            mean: next(n),
            push: next(n),
            given: next(m),
            u: next(m),
        }
    }

    pub(super) fn workspace<'a>(
        &self,
        known: &CorrectionContext<'_>,
        scratch: &'a mut [f64],
    ) -> Workspace<'a> {
        let space = self.workspace_sizes(&known.shape, parts_mut(scratch));
        mark_connected(known, space.connected);
        space
    }

    /// Fills the parts that depend on the models, unless they are up to date; the number of states, if all is finite.
    pub(super) fn prepare(
        &self,
        known: &CorrectionContext<'_>,
        models: &[f64],
        size: f64,
        space: &mut Workspace<'_>,
    ) -> Option<usize> {
        let same_bits = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits());
        let gains = || (0..known.shape.inputs).flat_map(|input| known.couplings.terms(input)).map(|t| t.gain);
        let corrected = || known.corrected.iter().map(|corrected| f64::from(u8::from(*corrected)));
        let same = space.state[0].to_bits() == size.to_bits()
            && same_bits(space.models, models)
            && gains().zip(&*space.gains).all(|(a, b)| a.to_bits() == b.to_bits())
            && corrected().zip(&*space.corrected).all(|(a, b)| a == *b);
        if !same {
            space.models.copy_from_slice(models);
            space.gains.iter_mut().zip(gains()).for_each(|(place, gain)| *place = gain);
            space.corrected.iter_mut().zip(corrected()).for_each(|(place, corrected)| *place = corrected);
            let states = self.couple(known, size, space);
            let parts = [&*space.g, space.coupled, space.alone, space.constants, space.b];
            let finite = parts.into_iter().flatten().all(|value| value.is_finite());
            space.state[0] = size;
            space.state[1] = if finite { states.map_or(-1.0, |states| states as f64) } else { -1.0 };
        }
        (space.state[1] > 0.0 || (space.state[1] == 0.0 && space.closed.contains(&1.0)))
            .then_some(space.state[1] as usize)
    }

    /// The coupled system of the models in use.
    fn couple(&self, known: &CorrectionContext<'_>, size: f64, space: &mut Workspace<'_>) -> Option<usize> {
        let m = known.shape.inputs;
        let Workspace {
            models,
            table,
            closed,
            lc,
            g,
            glc,
            constants,
            b,
            drift,
            coupled,
            alone,
            connected,
            work,
            ..
        } = space;
        table.fill(-1.0);
        let mut n = 0;
        self.finder.members(known, connected, |member| {
            if let Some((model, _)) = member.model(models) {
                table[member.simulator] = n as f64;
                n += *model.states as usize;
            }
        });
        closed.fill(0.0);
        for input in (0..m).filter(|input| known.corrected[*input]) {
            let terms = known.couplings.terms(input);
            let modelled = |output: usize| table[known.jacobian.owners[output]] >= 0.0;
            if !terms.is_empty() && terms.iter().all(|term| modelled(term.output)) {
                closed[input] = 1.0;
            }
        }
        // Inputs of simulators without a model are not computed from models.
        for simulator in (0..known.blocks.len()).filter(|simulator| table[*simulator] < 0.0) {
            closed[known.blocks[simulator].inputs.clone()].fill(0.0);
        }

        for part in [&mut **lc, constants, b, drift, alone, coupled] {
            part.fill(0.0);
        }
        let one_less = &mut work[..m * m];
        one_less.fill(0.0);
        for input in 0..m {
            one_less[input * m + input] = 1.0;
            if closed[input] == 1.0 {
                constants[input] = known.couplings.constant(input);
            }
        }
        self.finder.members(known, connected, |member| {
            let Some((model, _)) = member.model(models) else { return };
            let first = table[member.simulator] as usize;
            let (r, width) = (*model.states as usize, model.inputs);
            for (place, output) in connected_outputs(known, connected, member.simulator).enumerate() {
                for input in (0..m).filter(|input| closed[*input] == 1.0) {
                    for term in known.couplings.terms(input).iter().filter(|term| term.output == output) {
                        constants[input] += term.gain * model.level[place];
                        for j in 0..r {
                            lc[input * n + first + j] += term.gain * model.c[place * r + j];
                        }
                        for (j, other) in connected_inputs(known, member.simulator).enumerate() {
                            one_less[input * m + other] -= term.gain * model.d[place * width + j];
                        }
                    }
                }
            }
            for i in 0..r {
                drift[first + i] = model.drift[i];
                for (j, input) in connected_inputs(known, member.simulator).enumerate() {
                    b[(first + i) * m + input] = model.b[i * width + j];
                }
                // The matrices of the simulators alone, until their exponentials are computed.
                let row = &mut coupled[(first + i) * n + first..][..r];
                row.copy_from_slice(&model.a[i * r..(i + 1) * r]);
            }
        });
        if !invert(m, one_less, g) {
            return None;
        }
        multiply(m, m, g, &lc[..m * n], &mut glc[..m * n]);
        let square = n * n;
        let (a, rest) = work.split_at_mut(square);
        a.copy_from_slice(&coupled[..square]);
        phi(n, 1, a, size, alone, rest);
        for i in 0..n {
            for j in 0..m {
                let factor = b[i * m + j];
                if factor != 0.0 {
                    let row = a[i * n..(i + 1) * n].iter_mut().zip(&glc[j * n..(j + 1) * n]);
                    row.for_each(|(sum, entry)| *sum += factor * entry);
                }
            }
        }
        phi(n, 2, a, size, coupled, rest);
        (!grows(n, &coupled[..square], work)).then_some(n)
    }

    /// States of all models at the start of the window so many back; 0 is the next one.
    pub(super) fn states(
        &self,
        known: &CorrectionContext<'_>,
        memory: (&[f64], &[f64]),
        back: usize,
        space: &mut Workspace<'_>,
    ) {
        let (head, samples) = memory;
        let Workspace { models, table, connected, work, x, .. } = space;
        let count = head[Head::Samples as usize] as usize;
        let size = head[Head::Size as usize];
        let stride = known.shape.inputs + known.shape.outputs;
        self.finder.members(known, connected, |member| {
            let Some((model, order)) = member.model(models) else { return };
            let first = table[member.simulator] as usize;
            let r = *model.states as usize;
            let z = &mut x[first..first + r];
            // For the first windows samples are missing: integrate backwards from the first state that they determine.
            let from = back.min(count.saturating_sub(order));
            let (y, rest) = work.split_at_mut(order * model.outputs);
            let (v, rest) = rest.split_at_mut(order * model.inputs);
            for sample in 0..order {
                let at = &samples[((from + sample).min(self.finder.keep - 1)) * stride..][..stride];
                gather(
                    known,
                    connected,
                    member,
                    at,
                    &mut y[sample * model.outputs..],
                    &mut v[sample * model.inputs..],
                );
            }
            let (outputs, inputs) = (model.outputs, model.inputs);
            model.state(
                order,
                |sample| &y[sample * outputs..(sample + 1) * outputs],
                |sample| &v[sample * inputs..(sample + 1) * inputs],
                z,
                rest,
            );
            if from < back {
                let (table, rest) = rest.split_at_mut(2 * r * r);
                phi(r, 1, &model.a[..r * r], -size, table, rest);
                for window in from..back {
                    let at = &samples[window.min(self.finder.keep - 1) * stride..][..stride];
                    let (rate, rest) = rest.split_at_mut(r);
                    rate.copy_from_slice(&model.drift[..r]);
                    add_product(&model.a[..r * r], z, rate);
                    for (j, input) in connected_inputs(known, member.simulator).enumerate() {
                        (0..r).for_each(|i| rate[i] += model.b[i * inputs + j] * at[input]);
                    }
                    let moved = &mut rest[..r];
                    moved.fill(0.0);
                    add_product(&table[r * r..], rate, moved);
                    z.iter_mut().zip(&*moved).for_each(|(z, moved)| *z -= size * moved);
                }
            }
        });
    }

    /// The end state of the coupled system from x + e minus that of the simulators from x with the applied inputs.
    pub(super) fn update_error(
        &self,
        m: usize,
        n: usize,
        size: f64,
        applied: &[f64],
        e: &mut [f64],
        space: &mut Workspace<'_>,
    ) {
        let square = n * n;
        drive(m, n, space);
        let Workspace { coupled, alone, b, drift, x, xe, mean, push, .. } = space;
        for (xe, (x, e)) in xe[..n].iter_mut().zip(x.iter().zip(&*e)) {
            *xe = x + e;
        }
        e[..n].fill(0.0);
        add_product(&coupled[square..2 * square], &push[..n], &mut e[..n]);
        e[..n].iter_mut().for_each(|e| *e *= size);
        add_product(&coupled[..square], &xe[..n], &mut e[..n]);
        push[..n].copy_from_slice(&drift[..n]);
        add_product(&b[..n * m], applied, &mut push[..n]);
        let end = &mut mean[..n];
        end.fill(0.0);
        add_product(&alone[square..2 * square], &push[..n], end);
        end.iter_mut().for_each(|end| *end *= size);
        add_product(&alone[..square], &x[..n], end);
        e[..n].iter_mut().zip(&*end).for_each(|(e, end)| *e -= end);
        if e.iter().any(|error| !error.is_finite()) {
            e.fill(0.0);
        }
    }

    /// Inputs from the newest outputs.
    pub(super) fn newest_inputs(&self, known: &CorrectionContext<'_>, space: &mut Workspace<'_>) {
        for (input, value) in space.given.iter_mut().enumerate() {
            *value = known.couplings.value(input, known.traces.newest());
        }
    }
}

/// The inputs of the coupled system at zero state into `u`, and the derivatives of its states there into `push`; inputs
/// without models as given.
pub(super) fn drive(m: usize, n: usize, space: &mut Workspace<'_>) {
    let Workspace { closed, constants, g, b, drift, push, given, u, .. } = space;
    for input in (0..m).filter(|input| closed[*input] == 1.0) {
        given[input] = constants[input];
    }
    u.fill(0.0);
    add_product(g, given, u);
    push[..n].copy_from_slice(&drift[..n]);
    add_product(&b[..n * m], u, &mut push[..n]);
}

/// The mean of the coupled states over a window.
pub(super) fn mean_over(n: usize, size: f64, coupled: &[f64], xe: &[f64], push: &[f64], mean: &mut [f64]) {
    let square = n * n;
    mean.fill(0.0);
    add_product(&coupled[2 * square..3 * square], push, mean);
    mean.iter_mut().for_each(|mean| *mean *= size);
    add_product(&coupled[square..2 * square], xe, mean);
}

/// Whether a map is unstable: it grows in 64 more windows by more than a chain of integrators does.
pub(super) fn grows(n: usize, map: &[f64], work: &mut [f64]) -> bool {
    let square = n * n;
    let (power, rest) = work.split_at_mut(square);
    let twice = &mut rest[..square];
    let size = |matrix: &[f64]| matrix.iter().map(|entry| entry * entry).sum::<f64>().sqrt();
    power.copy_from_slice(map);
    let mut before = size(power);
    for _ in 0..7 {
        multiply(n, n, power, power, twice);
        before = size(power);
        power.copy_from_slice(twice);
    }
    let after = size(power);
    n > 0 && (!after.is_finite() || after > 8.0 * before.max(1e-9))
}
