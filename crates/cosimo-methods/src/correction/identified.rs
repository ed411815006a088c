//! Pre-step stabilisation from nothing but inputs and outputs: linear models are found while the run goes on, and once
//! they can be relied upon, inputs are the mean of what the coupled system will say over the step.
//!
//! It works on every simulator and needs no derivatives, states or rollback, but steps of one size and held inputs. Per
//! simulator:
//!
//! * least squares with forgetting ([`crate::identify::arx`]), of all orders at once; the lowest that leaves hardly more
//!   over than the best is taken. A window that is predicted and shows nothing new is not counted, so that nothing is
//!   forgotten at rest;
//! * how far its answer to an input is known, as a part of that answer, is the quality. A model comes into use after
//!   some windows of good quality and good predictions, and goes out of use when its predictions fail. All go out of use
//!   when the coupled system would run away, or when inputs come to owe more than models explain;
//! * a linear model in continuous time ([`crate::identify::realise`]); the state of the simulator in it follows from the
//!   newest samples.
//!
//! All models together with the couplings are the coupled system xe' = Ac xe + ac, Eq. (3) of Genser & Benedikt 2018
//! (pre-step); e = xe - x, Eq. (2), is by how much the simulators are wrong. When models come into use, the windows
//! before are gone through again: what the start without models spoiled is in e, and is owed. An input is
//!
//!   u(j) = mean of the coupled inputs over step j + p(j),
//!
//! where the M payments p(j) together take e away with the least effort: p(j) = R(j)^-1 G' F'^(M-1-j) W^+ F^M e with
//! W = sum of F^(M-1-j) G R(j)^-1 G' F'^(M-1-j), the minimum-energy control of Kalman, Ho & Narendra (1963). Without
//! them an integrator would keep for ever what the start spoiled.
//!
//! A payment is no input that the other side knows of: on a bond, energy comes or goes by it. R(j) is the power that a
//! payment would move in window j, so that payments are made when they are cheap, and M is the least for which all of
//! them move no more energy than the start without models did, or than is saved meanwhile by not holding inputs.
//!
//! Before models are there, windows repay a share of what inputs owe, as an account of Sadjina & Pedersen 2019 (NEPCE),
//! Eq. (11); every other one a larger share. With a law that is always the same, inputs are a fixed function of outputs,
//! and nobody could tell from the data what an input does.

use std::ops::Range;

use cosimo_core::dense::{add_product, invert, multiply, phi, phi_work, pseudo_invert, pseudo_invert_work};
use cosimo_core::entry::{Entry, Options, Range as Within, Spec};
use cosimo_core::interface::Needs;
use cosimo_core::method::{Correction, Known, Learned, Quadrature, Record, Shape};
use cosimo_core::{Bond, End, Segment, Side, Window};

use crate::identify::arx::Arx;
use crate::identify::realise::Realised;

/// Windows that can be gone through again.
const KEEP: usize = 64;
/// Windows in which an error is repaid, beyond one per state: few are quick, many are gentle. The first that is gentle
/// enough is taken.
const REPAY: [usize; 5] = [2, 6, 14, 28, 36];
/// Part of the usual power of a payment that is added to each: none is for nothing.
const CHEAPEST: f64 = 0.1;
/// By this part shares that are repaid without models are larger in every other window, and smaller in the others.
const UNEVEN: f64 = 0.2;
/// Predictions that are wrong by less of the usual changes are exact, and a row that is shorter than this part of all
/// before in its direction is not new: with both, nothing is to be learned.
const EXACT: f64 = 1e-9;
const NEW: f64 = 1e-2;
/// Nothing is forgotten while predictions are better than the quality by this factor.
const STEADY: f64 = 1e-3;
/// Rows that an order must have beyond its columns before it is believed.
const SPARE: f64 = 3.0;
/// Good windows, one after the other, before a model comes into use; three times as many after each time that one had to
/// be given up.
const STREAK: f64 = 3.0;
/// Predictions may be worse than the quality asks for by this before a model goes out of use.
const PATIENCE: f64 = 10.0;
/// No order is higher: differences of more samples are rounding.
const HIGHEST: usize = 8;
/// An order times all inputs and outputs is not more: matrices are dense. Larger systems are left alone.
const PORTS: usize = 256;
/// Sizes of steps that differ by less are the same.
const SAME: f64 = 1e-9;
/// Changes that are this part of the values are rounding.
const REST: f64 = 1e-13;

#[derive(Debug, Clone, Copy)]
pub struct Identified {
    pub order: usize,
    pub forgetting: f64,
    pub quality: f64,
    /// The share of what is owed that a window repays before models are there.
    pub gain: f64,
}

/// Numbers of the whole: what the samples are of, and what people are told.
#[derive(Debug, Clone, Copy)]
enum Head {
    /// The size of the windows that everything is about, and that of the window before.
    Size,
    Before,
    Samples,
    /// Windows since the start, for every other one.
    Windows,
    /// When models came into use first, when they did last, and for how many windows they were.
    First,
    Since,
    Used,
    /// How often they were renewed or came into use, and how many windows ago.
    Renewed,
    Age,
    /// How often they went out of use.
    Closed,
    /// The largest part by which answers may be wrong.
    Quality,
    /// Models in use now.
    Now,
    /// Simulators that could have one.
    Wanted,
    /// Those with good predictions that have no model in continuous time.
    Odd,
    /// For how many windows inputs have been held.
    Held,
    /// For how many windows the same models have been in use, and in how many of them the start is repaid.
    Opened,
    Horizon,
    /// Energy that bonds made or lost since models are missing, in joules.
    Lost,
}

const HEAD: usize = 18;

/// As many, before anything is repaid: an input that is going to move has nothing to move by in the beginning.
const HELD: f64 = 3.0;
/// What inputs owe may drift, since models are in use, by this part of a window of the whole range of the input. Holding
/// would owe half a window of where the input goes. Integrals that no output shows would keep it.
const DRIFT: f64 = 0.05;
/// Trapezoids, which serve where no integrals are offered, are wrong by H^2 / 12 times the change of the slope: by a sixth
/// of a window of the largest change in one, at most; and a half more for changes that are not small.
const QUADRATURE: f64 = 0.25;
/// Windows after which outputs are right again once the start is repaid, with room to spare.
const SETTLED: f64 = 15.0;

/// Numbers of one simulator.
#[derive(Debug, Clone, Copy)]
enum Mark {
    Streak,
    /// The part by which its answers may be wrong.
    Quality,
    /// Good, but without a logarithm.
    Odd,
    /// The order that is best at present.
    Order,
}

const MARKS: usize = 4;

/// What a window did to the model of a simulator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Change {
    None,
    /// Other numbers for the same states.
    Renewed,
    /// Another model, or none any more.
    Other,
}

/// In front of a model: whether it is in use, and its order.
const TITLE: usize = 2;

/// The sum over all simulators of something that is quadratic in the numbers of inputs and outputs.
fn total(shape: &Shape, of: impl Fn(usize, usize) -> usize) -> usize {
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

/// Where everything is in the memory.
struct Places {
    head: Range<usize>,
    debt: Range<usize>,
    range: Range<usize>,
    samples: Range<usize>,
    e: Range<usize>,
    payments: Range<usize>,
    models: Range<usize>,
    /// Marks and least squares.
    fits: Range<usize>,
}

/// One simulator, and where its numbers are in `models` and `fits`.
#[derive(Clone)]
struct Member {
    simulator: usize,
    arx: Arx,
    model: Range<usize>,
    marks: Range<usize>,
    squares: Range<usize>,
    /// Coefficients of the model in use, and how much outputs usually changed when it came into use: a model that drives
    /// them away must not be measured by that.
    theta: Range<usize>,
    usual: Range<usize>,
}

impl Identified {
    /// The highest order that a system of this size can have; 0 where it is too large.
    fn order(&self, shape: &Shape) -> usize {
        self.order.min(HIGHEST).min(PORTS / (shape.inputs + shape.outputs).max(1))
    }

    fn arx(&self, shape: &Shape, inputs: usize, outputs: usize) -> Arx {
        Arx { inputs, outputs, order: self.order(shape) }
    }

    fn places(&self, shape: &Shape) -> Places {
        let mut end = 0;
        let mut next = |size: usize| {
            end += size;
            end - size..end
        };
        let order = self.order(shape);
        let models = total(shape, |m, p| TITLE + Realised::memory(&self.arx(shape, m, p)));
        let fits = total(shape, |m, p| {
            let arx = self.arx(shape, m, p);
            MARKS + arx.memory() + arx.width(order) * p + p
        });
        Places {
            head: next(HEAD),
            debt: next(shape.inputs),
            range: next(4 * shape.inputs),
            samples: next(KEEP * (shape.inputs + shape.outputs)),
            e: next(order * shape.outputs),
            payments: next(KEEP * shape.inputs),
            models: next(models),
            fits: next(fits),
        }
    }

    /// All simulators that are to be identified: they hear somebody, and somebody hears them.
    fn members(&self, known: &Known<'_>, heard: &[f64], mut visit: impl FnMut(&Member)) {
        let (mut model, mut fit) = (0, 0);
        let order = self.order(&known.shape);
        for simulator in 0..known.blocks.len() {
            let (m, p) = (hears(known, simulator).count(), heard_of(known, heard, simulator).count());
            if m == 0 || p == 0 || order == 0 {
                continue;
            }
            let arx = self.arx(&known.shape, m, p);
            let sizes = [MARKS, arx.memory(), arx.width(order) * p, p];
            let [marks, squares, theta, usual] = sizes.map(|size| {
                fit += size;
                fit - size..fit
            });
            let size = TITLE + Realised::memory(&arx);
            visit(&Member { simulator, arx, model: model..model + size, marks, squares, theta, usual });
            model += size;
        }
    }
}

/// The inputs of a simulator that outputs drive.
fn hears<'a>(known: &Known<'a>, simulator: usize) -> impl Iterator<Item = usize> + Clone + use<'a> {
    let known = *known;
    known.blocks[simulator].inputs.clone().filter(move |input| !known.couplings.terms(*input).is_empty())
}

/// The outputs of a simulator that drive inputs.
fn heard_of<'a, 'b>(
    known: &Known<'a>,
    heard: &'b [f64],
    simulator: usize,
) -> impl Iterator<Item = usize> + use<'a, 'b> {
    known.blocks[simulator].outputs.clone().filter(|output| heard[*output] == 1.0)
}

/// Scratch in its parts. Above the line is what follows from the models, the couplings and who is corrected.
struct Rooms<'a> {
    state: &'a mut [f64],
    models: &'a mut [f64],
    gains: &'a mut [f64],
    corrected: &'a mut [f64],
    /// Per simulator, the first state and where its model begins, or -1.
    table: &'a mut [f64],
    /// Per input: models say what it should be.
    closed: &'a mut [f64],
    /// L C, (1 - L D)^-1, that times L C, L times the levels and constants; B and the drift of all.
    lc: &'a mut [f64],
    g: &'a mut [f64],
    glc: &'a mut [f64],
    told: &'a mut [f64],
    b: &'a mut [f64],
    drift: &'a mut [f64],
    /// phi_0 to phi_2 of the coupled system, phi_0 and phi_1 of the simulators alone.
    coupled: &'a mut [f64],
    alone: &'a mut [f64],
    // ----
    heard: &'a mut [f64],
    work: &'a mut [f64],
    x: &'a mut [f64],
    xe: &'a mut [f64],
    mean: &'a mut [f64],
    push: &'a mut [f64],
    given: &'a mut [f64],
    u: &'a mut [f64],
}

const ROOMS: usize = 22;

impl Identified {
    fn sizes(&self, shape: &Shape) -> [usize; ROOMS] {
        let places = self.places(shape);
        let (n, m, p) = (places.e.len(), shape.inputs, shape.outputs);
        let order = self.order(shape);
        let history = (order + 1) * (m + p);
        let width = 1 + m + order * (m + p);
        let largest = Arx { inputs: m, outputs: p, order };
        let work = [
            m * m,
            3 * n * n + phi_work(n),
            KEEP * (m + 1) + (2 * m + n + p).max(3 * n * n + m * (3 * n + 1) + 2 * n + pseudo_invert_work(n)),
            history + 2 * width + p * (2 + width) + Realised::work(&largest),
            history + 8 * n + p + 3 * n * n + phi_work(n),
        ];
        let work = work.into_iter().max().unwrap_or(0);
        [
            3,
            places.models.len(),
            m * p,
            m,
            2 * shape.simulators,
            m,
            m * n,
            m * m,
            m * n,
            m,
            n * m,
            n,
            3 * n * n,
            2 * n * n,
            p,
            work,
            n,
            n,
            n,
            n,
            m,
            m,
        ]
    }

    fn rooms<'a>(&self, known: &Known<'_>, scratch: &'a mut [f64]) -> Rooms<'a> {
        let mut rest = scratch;
        let parts = self.sizes(&known.shape).map(|size| {
            let (part, behind) = std::mem::take(&mut rest).split_at_mut(size);
            rest = behind;
            part
        });
        let [
            state,
            models,
            gains,
            corrected,
            table,
            closed,
            lc,
            g,
            glc,
            told,
            b,
            drift,
            coupled,
            alone,
            heard,
            work,
            x,
            xe,
            mean,
            push,
            given,
            u,
        ] = parts;
        heard.fill(0.0);
        for term in (0..known.shape.inputs).flat_map(|input| known.couplings.terms(input)) {
            heard[term.output] = 1.0;
        }
        Rooms {
            state,
            models,
            gains,
            corrected,
            table,
            closed,
            lc,
            g,
            glc,
            told,
            b,
            drift,
            coupled,
            alone,
            heard,
            work,
            x,
            xe,
            mean,
            push,
            given,
            u,
        }
    }

    /// Fills what follows from the models, unless it is there; how many states there are, if all is finite.
    fn prepare(&self, known: &Known<'_>, models: &[f64], size: f64, rooms: &mut Rooms<'_>) -> Option<usize> {
        let same_bits = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits());
        let gains = || (0..known.shape.inputs).flat_map(|input| known.couplings.terms(input)).map(|t| t.gain);
        let corrected = || known.corrected.iter().map(|corrected| f64::from(u8::from(*corrected)));
        let same = rooms.state[0].to_bits() == size.to_bits()
            && same_bits(rooms.models, models)
            && gains().zip(&*rooms.gains).all(|(a, b)| a.to_bits() == b.to_bits())
            && corrected().zip(&*rooms.corrected).all(|(a, b)| a == *b);
        if !same {
            rooms.models.copy_from_slice(models);
            rooms.gains.iter_mut().zip(gains()).for_each(|(place, gain)| *place = gain);
            rooms.corrected.iter_mut().zip(corrected()).for_each(|(place, corrected)| *place = corrected);
            let states = self.couple(known, size, rooms);
            let parts = [&*rooms.g, rooms.coupled, rooms.alone, rooms.told, rooms.b];
            let finite = parts.into_iter().flatten().all(|value| value.is_finite());
            rooms.state[0] = size;
            rooms.state[1] = if finite { states.map_or(-1.0, |states| states as f64) } else { -1.0 };
        }
        (rooms.state[1] > 0.0 || (rooms.state[1] == 0.0 && rooms.closed.contains(&1.0)))
            .then_some(rooms.state[1] as usize)
    }

    /// The coupled system out of the models in use.
    fn couple(&self, known: &Known<'_>, size: f64, rooms: &mut Rooms<'_>) -> Option<usize> {
        let m = known.shape.inputs;
        let Rooms { models, table, closed, lc, g, glc, told, b, drift, coupled, alone, heard, work, .. } =
            rooms;
        table.fill(-1.0);
        let mut n = 0;
        self.members(known, heard, |member| {
            let model = &mut models[member.model.clone()];
            if model[0] == 1.0 {
                (table[2 * member.simulator], table[2 * member.simulator + 1]) =
                    (n as f64, member.model.start as f64);
                n += states_of(&member.arx, model);
            }
        });
        closed.fill(0.0);
        for input in (0..m).filter(|input| known.corrected[*input]) {
            let terms = known.couplings.terms(input);
            let modelled = |output: usize| table[2 * known.jacobian.owners[output]] >= 0.0;
            if !terms.is_empty() && terms.iter().all(|term| modelled(term.output)) {
                closed[input] = 1.0;
            }
        }
        // Inputs of simulators without a model are nobody's.
        for simulator in (0..known.blocks.len()).filter(|simulator| table[2 * simulator] < 0.0) {
            closed[known.blocks[simulator].inputs.clone()].fill(0.0);
        }

        for part in [&mut **lc, told, b, drift, alone, coupled] {
            part.fill(0.0);
        }
        let one_less = &mut work[..m * m];
        one_less.fill(0.0);
        for input in 0..m {
            one_less[input * m + input] = 1.0;
            if closed[input] == 1.0 {
                told[input] = known.couplings.constant(input);
            }
        }
        self.members(known, heard, |member| {
            if models[member.model.start] != 1.0 {
                return;
            }
            let first = table[2 * member.simulator] as usize;
            let order = models[member.model.start + 1] as usize;
            let model = Realised::of(&member.arx, order, &mut models[member.model.clone()][TITLE..]);
            let (r, width) = (*model.states as usize, model.inputs);
            for (place, output) in heard_of(known, heard, member.simulator).enumerate() {
                for input in (0..m).filter(|input| closed[*input] == 1.0) {
                    for term in known.couplings.terms(input).iter().filter(|term| term.output == output) {
                        told[input] += term.gain * model.level[place];
                        for j in 0..r {
                            lc[input * n + first + j] += term.gain * model.c[place * r + j];
                        }
                        for (j, other) in hears(known, member.simulator).enumerate() {
                            one_less[input * m + other] -= term.gain * model.d[place * width + j];
                        }
                    }
                }
            }
            for i in 0..r {
                drift[first + i] = model.drift[i];
                for (j, input) in hears(known, member.simulator).enumerate() {
                    b[(first + i) * m + input] = model.b[i * width + j];
                }
                // The matrices alone wait here for their exponentials.
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

    /// States of all models at the start of a window that is so many back; 0 is the one to come.
    fn states(&self, known: &Known<'_>, memory: (&[f64], &[f64]), back: usize, rooms: &mut Rooms<'_>) {
        let (head, samples) = memory;
        let Rooms { models, table, heard, work, x, .. } = rooms;
        let count = head[Head::Samples as usize] as usize;
        let size = head[Head::Size as usize];
        let stride = known.shape.inputs + known.shape.outputs;
        self.members(known, heard, |member| {
            if models[member.model.start] != 1.0 {
                return;
            }
            let first = table[2 * member.simulator] as usize;
            let order = models[member.model.start + 1] as usize;
            let model = Realised::of(&member.arx, order, &mut models[member.model.clone()][TITLE..]);
            let r = *model.states as usize;
            let z = &mut x[first..first + r];
            // Samples begin late for the first windows: from the first state that they tell, backwards.
            let from = back.min(count.saturating_sub(order));
            let (y, rest) = work.split_at_mut(order * model.outputs);
            let (v, rest) = rest.split_at_mut(order * model.inputs);
            for sample in 0..order {
                let at = &samples[((from + sample).min(KEEP - 1)) * stride..][..stride];
                gather(
                    known,
                    heard,
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
                    let at = &samples[window.min(KEEP - 1) * stride..][..stride];
                    let (rate, rest) = rest.split_at_mut(r);
                    rate.copy_from_slice(&model.drift[..r]);
                    add_product(&model.a[..r * r], z, rate);
                    for (j, input) in hears(known, member.simulator).enumerate() {
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

    /// Where the coupled system goes from x + e, less where the inputs as applied take the simulators from x.
    fn err(&self, m: usize, n: usize, size: f64, applied: &[f64], e: &mut [f64], rooms: &mut Rooms<'_>) {
        let square = n * n;
        drive(m, n, rooms);
        let Rooms { coupled, alone, b, drift, x, xe, mean, push, .. } = rooms;
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

    /// What takes the errors `e` away, window by window; in how many.
    fn plan(
        &self,
        known: &Known<'_>,
        (n, size, lost): (usize, f64, f64),
        (head, samples, e): (&[f64], &[f64], &[f64]),
        payments: &mut [f64],
        rooms: &mut Rooms<'_>,
    ) -> usize {
        let m = known.shape.inputs;
        self.ahead(known, (n, size), (head, samples, e), rooms);
        let Rooms { models, table, closed, b, alone, heard, work, .. } = rooms;
        let (prices, rest) = work.split_at_mut(KEEP * m);
        let (saved, rest) = rest.split_at_mut(KEEP);
        let mut longest = 0;
        for more in REPAY {
            let mut energy = 0.0;
            payments.fill(0.0);
            self.members(known, heard, |member| {
                let first = table[2 * member.simulator];
                if first >= 0.0 {
                    let states = states_of(&member.arx, &mut models[member.model.clone()]);
                    let own = first as usize..first as usize + states;
                    let inputs = hears(known, member.simulator).filter(|input| closed[*input] == 1.0);
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

    /// Per window to come and input, the power that one unit more of it would move on bonds, at the beginning of `work`:
    /// where the coupled system goes from x + e, and with what the input shows at once. Behind that, how much less energy
    /// inputs without payments make or lose per window than held ones would.
    fn ahead(
        &self,
        known: &Known<'_>,
        (n, size): (usize, f64),
        (head, samples, e): (&[f64], &[f64], &[f64]),
        rooms: &mut Rooms<'_>,
    ) {
        let (m, square) = (known.shape.inputs, n * n);
        self.states(known, (head, samples), 0, rooms);
        self.told(known, rooms);
        drive(m, n, rooms);
        let Rooms { models, table, coupled, glc, heard, work, x, xe, mean, push, u, .. } = rooms;
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
            self.members(known, heard, |member| {
                if models[member.model.start] != 1.0 {
                    return;
                }
                let first = table[2 * member.simulator] as usize;
                let order = models[member.model.start + 1] as usize;
                let model = Realised::of(&member.arx, order, &mut models[member.model.clone()][TITLE..]);
                let (r, width) = (*model.states as usize, model.inputs);
                for (place, output) in heard_of(known, heard, member.simulator).enumerate() {
                    let shown = (0..r).map(|j| model.c[place * r + j] * xe[first + j]).sum::<f64>();
                    let row = &model.d[place * width..(place + 1) * width];
                    let at_once = hears(known, member.simulator).zip(row).map(|(input, d)| d * inputs[input]);
                    outputs[output] = model.level[place] + shown + at_once.sum::<f64>();
                }
                let mut price = |input: usize, end: End, sign: f64| {
                    prices[input] += sign
                        * match end {
                            End::Input(other) => inputs[other],
                            End::Output(output) => {
                                let place =
                                    heard_of(known, heard, member.simulator).position(|of| of == output);
                                let column = hears(known, member.simulator).position(|of| of == input);
                                let d = place.zip(column).map_or(0.0, |(i, j)| model.d[i * width + j]);
                                outputs[output] + d * inputs[input]
                            }
                        };
                };
                let own = &known.blocks[member.simulator].inputs;
                for side in known.bonds.iter().flat_map(|bond| &bond.sides) {
                    for (end, other) in [(side.effort, side.flow), (side.flow, side.effort)] {
                        if let End::Input(input) = end
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

    /// Trapezoids go through outputs that were computed from inputs as applied. What an output would show at once with
    /// those that it should have had is known now: Eq. (12) of Sadjina & Pedersen 2019, one sample at a time.
    fn amend(&self, known: &Known<'_>, record: &Record<'_>, debt: &mut [f64], rooms: &mut Rooms<'_>) {
        self.told(known, rooms);
        let size = record.window.size;
        let Rooms { models, closed, heard, given, .. } = rooms;
        self.members(known, heard, |member| {
            if models[member.model.start] != 1.0 {
                return;
            }
            let order = models[member.model.start + 1] as usize;
            let model = Realised::of(&member.arx, order, &mut models[member.model.clone()][TITLE..]);
            for (place, output) in heard_of(known, heard, member.simulator).enumerate() {
                // Read again after exchange, or integrated inside: nothing to amend.
                let as_left = record.traces.newest()[output] == record.left[output];
                if !as_left || record.integrals[output].is_finite() {
                    continue;
                }
                let row = &model.d[place * model.inputs..(place + 1) * model.inputs];
                let missed = hears(known, member.simulator)
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

    /// What inputs are told by the newest outputs.
    fn told(&self, known: &Known<'_>, rooms: &mut Rooms<'_>) {
        for (input, value) in rooms.given.iter_mut().enumerate() {
            *value = known.couplings.value(input, known.traces.newest());
        }
    }

    /// One more row for the least squares of a simulator, and what its model is worth.
    fn study(
        &self,
        known: &Known<'_>,
        member: &Member,
        (head, samples): (&[f64], &[f64]),
        (model, fits): (&mut [f64], &mut [f64]),
        (heard, work): (&[f64], &mut [f64]),
    ) -> Change {
        let arx = member.arx;
        let (m, p) = (arx.inputs, arx.outputs);
        let stride = known.shape.inputs + known.shape.outputs;
        if hears(known, member.simulator).any(|input| known.own(input).is_some()) {
            // In a step of its own that is longer than the window, it shows nothing.
            let in_use = std::mem::replace(&mut model[0], 0.0) == 1.0;
            return if in_use { Change::Other } else { Change::None };
        }
        let (width, needed) = (arx.width(arx.order), arx.order + 1);
        if (head[Head::Samples as usize] as usize) < needed {
            return Change::None;
        }
        let (y, rest) = work.split_at_mut(needed * p);
        let (v, rest) = rest.split_at_mut(needed * m);
        for sample in 0..needed {
            let at = &samples[sample * stride..][..stride];
            gather(known, heard, member, at, &mut y[sample * p..], &mut v[sample * m..]);
        }
        let (row, rest) = rest.split_at_mut(width + p);
        let (theta, rest) = rest.split_at_mut(width * p);
        arx.row(|back| &y[back * p..(back + 1) * p], |back| &v[back * m..(back + 1) * m], row);
        let size_of = |values: &[f64]| values.iter().fold(0.0f64, |most, value| most.max(value.abs()));
        let moved = (0..m).any(|i| (v[i] - v[m + i]).abs() > REST * size_of(v))
            || (0..p).any(|i| row[width + i].abs() > REST * size_of(y));
        if !moved {
            return Change::None;
        }
        let noise = REST * size_of(y);
        let (squares, used) = (member.squares.clone(), member.theta.clone());
        let marks = member.marks.start;
        let in_use = model[0] == 1.0;
        // By how much a prediction was wrong, in parts of how much outputs usually change.
        let wrong = |order: usize, theta: &[f64], usual: &dyn Fn(usize) -> f64| -> f64 {
            let mut most = 0.0f64;
            for output in 0..p {
                let said: f64 = (0..arx.width(order)).map(|i| row[i] * theta[i * p + output]).sum();
                let apart = ((row[width + output] - said).abs() - noise).max(0.0);
                most = most.max(if apart == 0.0 { 0.0 } else { apart / usual(output) });
            }
            if most.is_nan() { f64::INFINITY } else { most }
        };
        let order = fits[marks + Mark::Order as usize] as usize;
        let (mut error, mut novel) = (f64::INFINITY, f64::INFINITY);
        if order > 0 {
            arx.solve(order, &fits[squares.clone()], theta);
            error = wrong(order, theta, &|output| arx.change(&fits[squares.clone()], output).sqrt());
            novel = arx.novelty(order, &fits[squares.clone()], row, rest);
        }
        let frozen = |output: usize| fits[member.usual.start + output];
        let of_used = if in_use { wrong(model[1] as usize, &fits[used.clone()], &frozen) } else { 0.0 };
        if error > EXACT || novel > NEW {
            let full = arx.rows(&fits[squares.clone()]) * (1.0 - self.forgetting) > 1.0;
            let keep =
                if order > 0 && (full || error > STEADY * self.quality) { self.forgetting } else { 1.0 };
            arx.add(&mut fits[squares.clone()], keep, row);
        }

        // The lowest order that leaves hardly more over than the best one.
        let r = &fits[squares.clone()];
        let left = |order: usize| -> f64 {
            let parts = (0..p).map(|output| {
                let usual = arx.change(r, output).sqrt();
                let over = arx.left(order, r, output).sqrt();
                if over <= noise { 0.0 } else { (over - noise) / usual }
            });
            parts.fold(0.0, f64::max)
        };
        let judged = |order: &usize| arx.rows(r) >= arx.width(*order) as f64 + SPARE;
        let best = (1..=arx.order).filter(judged).map(left).fold(f64::INFINITY, f64::min);
        let order = (1..=arx.order).filter(judged).find(|order| left(*order) <= 10.0 * best).unwrap_or(0);
        if order != fits[marks + Mark::Order as usize] as usize {
            fits[marks + Mark::Order as usize] = order as f64;
            fits[marks + Mark::Streak as usize] = 0.0;
        }
        if order == 0 {
            return Change::None;
        }
        arx.solve(order, &fits[squares.clone()], theta);
        let quality = self.quality_of(&arx, order, &fits[squares.clone()], theta, noise, rest);
        fits[marks + Mark::Quality as usize] = quality;
        let good = quality <= self.quality && error <= self.quality;
        let streak = &mut fits[marks + Mark::Streak as usize];
        *streak = if good { *streak + 1.0 } else { 0.0 };

        let fails = in_use && of_used > PATIENCE * self.quality;
        let better = in_use && of_used > EXACT && of_used > 3.0 * error && good;
        let doubts = head[Head::Closed as usize].min(6.0);
        let opens = !in_use && *streak >= STREAK * 3f64.powf(doubts);
        if fails && !good {
            model[0] = 0.0;
            return Change::Other;
        }
        if !(opens || better || fails) {
            return Change::None;
        }
        let size = head[Head::Size as usize];
        let before = (model[1], model[TITLE]);
        let found = {
            let mut realised = Realised::of(&arx, order, &mut model[TITLE..]);
            realised.fill(&arx, order, theta, size, rest)
        };
        fits[marks + Mark::Odd as usize] = if found { 0.0 } else { 1.0 };
        if !found {
            model[0] = 0.0;
            return if in_use { Change::Other } else { Change::None };
        }
        let same = before == (order as f64, model[TITLE]);
        (model[0], model[1]) = (1.0, order as f64);
        for output in 0..p {
            let usual = arx.change(&fits[squares.clone()], output).sqrt();
            let frozen = &mut fits[member.usual.start + output];
            *frozen = if in_use { frozen.min(usual) } else { usual };
        }
        fits[used][..arx.width(order) * p].copy_from_slice(&theta[..arx.width(order) * p]);
        if in_use && same { Change::Renewed } else { Change::Other }
    }

    /// By what part of them the answers of outputs to inputs within a window may be wrong. Inputs count by how much they
    /// usually change.
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
                    arx.doubt(order, squares, input, work) * arx.left(order, squares, output).sqrt();
                doubt += (unknown * usual).powi(2);
                answer += (gain * usual).powi(2);
            }
            let (doubt, answer) = (doubt.sqrt(), answer.sqrt());
            if doubt > noise {
                worst = worst.max(doubt / answer);
            }
        }
        if worst.is_nan() { f64::INFINITY } else { worst }
    }
}

/// Whether a map grows in 64 more windows by more than anything does that neither moves by itself nor is moved.
fn grows(n: usize, map: &[f64], work: &mut [f64]) -> bool {
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

/// The least inputs of one simulator that take an error away in so many windows, by their price in each, added to
/// `payments`; the energy that they move, in joules.
fn repay(
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
    // Inputs count alike, whatever their units: by what they do.
    for (j, unit) in units.iter_mut().enumerate() {
        let length = (0..r).map(|i| g[i * width + j].powi(2)).sum::<f64>().sqrt();
        *unit = if length > 0.0 { 1.0 / length } else { 0.0 };
        (0..r).for_each(|i| g[i * width + j] *= *unit);
    }
    let usual = |input: usize| -> f64 {
        (0..windows).map(|window| prices[window * m + input].powi(2)).sum::<f64>() / windows as f64
    };
    // R^-1, in parts of what is usual.
    let ease = |window: usize, input: usize| -> f64 {
        let mean = usual(input);
        let part = if mean > 0.0 { prices[window * m + input].powi(2) / mean } else { 1.0 };
        1.0 / (part + CHEAPEST)
    };
    // From the last window to the first: what an input in it does until the end.
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

/// What all bonds make or lose at an instant.
fn residual(bonds: &[Bond], inputs: &[f64], outputs: &[f64]) -> f64 {
    let value = |end: End| match end {
        End::Input(input) => inputs[input],
        End::Output(output) => outputs[output],
    };
    let power = |side: &Side| side.sign * value(side.effort) * value(side.flow);
    bonds.iter().map(|bond| bond.sides.iter().map(power).sum::<f64>().abs()).sum()
}

/// The mean of the coupled states over a window.
fn mean_over(n: usize, size: f64, coupled: &[f64], xe: &[f64], push: &[f64], mean: &mut [f64]) {
    let square = n * n;
    mean.fill(0.0);
    add_product(&coupled[2 * square..3 * square], push, mean);
    mean.iter_mut().for_each(|mean| *mean *= size);
    add_product(&coupled[square..2 * square], xe, mean);
}

/// The inputs of a coupled system without states into `u`, and what pushes its states; other inputs as given.
fn drive(m: usize, n: usize, rooms: &mut Rooms<'_>) {
    let Rooms { closed, told, g, b, drift, push, given, u, .. } = rooms;
    for input in (0..m).filter(|input| closed[*input] == 1.0) {
        given[input] = told[input];
    }
    u.fill(0.0);
    add_product(g, given, u);
    push[..n].copy_from_slice(&drift[..n]);
    add_product(&b[..n * m], u, &mut push[..n]);
}

fn states_of(arx: &Arx, model: &mut [f64]) -> usize {
    let order = model[1] as usize;
    *Realised::of(arx, order, &mut model[TITLE..]).states as usize
}

/// The samples of one simulator out of those of all.
fn gather(known: &Known<'_>, heard: &[f64], member: &Member, all: &[f64], y: &mut [f64], v: &mut [f64]) {
    let outputs = heard_of(known, heard, member.simulator).map(|output| all[known.shape.inputs + output]);
    y.iter_mut().zip(outputs).for_each(|(place, value)| *place = value);
    let inputs = hears(known, member.simulator).map(|input| all[input]);
    v.iter_mut().zip(inputs).for_each(|(place, value)| *place = value);
}

/// The memory in its parts.
struct Parts<'a> {
    head: &'a mut [f64],
    debt: &'a mut [f64],
    /// What inputs owed when the start was repaid; and the least and the most that they were told, and the largest
    /// change in a window where integrals are not offered.
    range: &'a mut [f64],
    samples: &'a mut [f64],
    e: &'a mut [f64],
    payments: &'a mut [f64],
    models: &'a mut [f64],
    fits: &'a mut [f64],
}

impl<'a> Parts<'a> {
    fn of(places: &Places, memory: &'a mut [f64]) -> Parts<'a> {
        let (head, rest) = memory.split_at_mut(places.head.len());
        let (debt, rest) = rest.split_at_mut(places.debt.len());
        let (range, rest) = rest.split_at_mut(places.range.len());
        let (samples, rest) = rest.split_at_mut(places.samples.len());
        let (e, rest) = rest.split_at_mut(places.e.len());
        let (payments, rest) = rest.split_at_mut(places.payments.len());
        let (models, fits) = rest.split_at_mut(places.models.len());
        Parts { head, debt, range, samples, e, payments, models, fits }
    }

    fn head(&mut self, which: Head) -> &mut f64 {
        &mut self.head[which as usize]
    }
}

impl Identified {
    /// Windows of another size: samples no longer follow each other, and of a lasting one nothing is known.
    fn other_size(&self, known: &Known<'_>, size: f64, parts: &mut Parts<'_>, heard: &[f64]) {
        let lasts = same_size(size, *parts.head(Head::Before));
        self.members(known, heard, |member| {
            parts.models[member.model.start] = 0.0;
            parts.fits[member.marks.start + Mark::Streak as usize] = 0.0;
            if lasts {
                parts.fits[member.squares.clone()].fill(0.0);
                parts.fits[member.marks.start + Mark::Order as usize] = 0.0;
            }
        });
        if lasts {
            *parts.head(Head::Size) = size;
        }
        parts.e.fill(0.0);
        parts.payments.fill(0.0);
        *parts.head(Head::Samples) = 0.0;
        *parts.head(Head::Now) = 0.0;
        *parts.head(Head::Lost) = 0.0;
    }

    /// All models out of use.
    fn give_up(&self, known: &Known<'_>, parts: &mut Parts<'_>, heard: &[f64]) {
        self.members(known, heard, |member| {
            parts.models[member.model.start] = 0.0;
            parts.fits[member.marks.start + Mark::Streak as usize] = 0.0;
        });
        parts.e.fill(0.0);
        parts.payments.fill(0.0);
        *parts.head(Head::Closed) += 1.0;
        *parts.head(Head::Now) = 0.0;
        *parts.head(Head::Lost) = 0.0;
    }

    /// What people are told.
    fn tell(
        &self,
        known: &Known<'_>,
        change: Change,
        time: f64,
        parts: &mut Parts<'_>,
        heard: &[f64],
    ) -> bool {
        let (mut now, mut wanted, mut odd, mut quality) = (0.0, 0.0, 0.0, 0.0f64);
        self.members(known, heard, |member| {
            let of = |mark: Mark| parts.fits[member.marks.start + mark as usize];
            wanted += 1.0;
            odd += of(Mark::Odd);
            if parts.models[member.model.start] == 1.0 {
                now += 1.0;
                quality = quality.max(of(Mark::Quality));
            }
        });
        let before = *parts.head(Head::Now);
        (*parts.head(Head::Now), *parts.head(Head::Wanted), *parts.head(Head::Odd)) = (now, wanted, odd);
        if now < before {
            *parts.head(Head::Closed) += 1.0;
        }
        if now == 0.0 {
            return false;
        }
        *parts.head(Head::Quality) = quality;
        if before == 0.0 {
            *parts.head(Head::Since) = time;
            if *parts.head(Head::Used) == 0.0 {
                *parts.head(Head::First) = time;
            }
        }
        *parts.head(Head::Used) += 1.0;
        *parts.head(Head::Age) += 1.0;
        if change != Change::None {
            *parts.head(Head::Renewed) += 1.0;
            *parts.head(Head::Age) = 0.0;
        }
        true
    }
}

fn same_size(a: f64, b: f64) -> bool {
    (a - b).abs() <= SAME * b.abs()
}

impl Correction for Identified {
    fn memory(&self, shape: &Shape) -> usize {
        self.places(shape).fits.end
    }

    fn scratch(&self, shape: &Shape) -> usize {
        self.sizes(shape).iter().sum()
    }

    fn learns(&self) -> bool {
        true
    }

    fn learned(&self, _shape: &Shape, memory: &[f64]) -> Option<Learned> {
        let head = |which: Head| memory[which as usize];
        Some(Learned {
            wanted: head(Head::Wanted) as u64,
            now: head(Head::Now) as u64,
            first: (head(Head::Used) > 0.0).then_some(head(Head::First)),
            since: (head(Head::Now) > 0.0).then_some(head(Head::Since)),
            windows: head(Head::Used) as u64,
            renewed: head(Head::Renewed) as u64,
            age: head(Head::Age) as u64,
            closed: head(Head::Closed) as u64,
            odd: head(Head::Odd) as u64,
            quality: head(Head::Quality),
        })
    }

    fn offsets(
        &self,
        known: &Known<'_>,
        memory: &[f64],
        window: Window,
        add: &mut [Segment],
        whole: &mut [bool],
        scratch: &mut [f64],
    ) {
        let places = self.places(&known.shape);
        let mut rooms = self.rooms(known, scratch);
        let rooms = &mut rooms;
        let (head, debt) = (&memory[places.head], &memory[places.debt]);
        let size = head[Head::Size as usize];
        let (m, in_use) = (known.shape.inputs, head[Head::Now as usize] > 0.0);
        let mut made = false;
        if in_use && same_size(window.size, size) {
            let (samples, e, payments) =
                (&memory[places.samples], &memory[places.e], &memory[places.payments]);
            if let Some(n) = self.prepare(known, &memory[places.models], size, rooms) {
                self.states(known, (head, samples), 0, rooms);
                self.told(known, rooms);
                drive(m, n, rooms);
                let Rooms { coupled, glc, x, xe, mean, push, u, .. } = rooms;
                for (xe, (x, e)) in xe[..n].iter_mut().zip(x.iter().zip(e)) {
                    *xe = x + e;
                }
                let mean = &mut mean[..n];
                mean_over(n, size, coupled, &xe[..n], &push[..n], mean);
                add_product(&glc[..m * n], mean, u);
                let window = head[Head::Opened as usize] as usize;
                if let Some(due) = payments.chunks_exact(m.max(1)).nth(window) {
                    u.iter_mut().zip(due).for_each(|(u, due)| *u += due);
                }
                made = u.iter().all(|u| u.is_finite());
            }
        }
        for input in (0..m).filter(|input| known.corrected[*input]) {
            if made && rooms.closed[input] == 1.0 {
                add[input] += Segment::constant(rooms.u[input]);
                whole[input] = true;
            } else if head[Head::Held as usize] >= HELD && known.own(input).is_none() {
                let uneven = if head[Head::Windows as usize] % 2.0 == 1.0 { UNEVEN } else { -UNEVEN };
                add[input] += Segment::constant((1.0 + uneven) * self.gain * debt[input] / window.size);
            }
        }
    }

    fn learn(&self, known: &Known<'_>, record: &Record<'_>, memory: &mut [f64], scratch: &mut [f64]) {
        let (m, size) = (known.shape.inputs, record.window.size);
        let stride = m + known.shape.outputs;
        let mut rooms = self.rooms(known, scratch);
        let mut parts = Parts::of(&self.places(&known.shape), memory);
        for input in (0..m).filter(|input| known.corrected[*input] && known.own(*input).is_none()) {
            let rule = Quadrature::Best;
            parts.debt[input] += record.true_integral(input, rule) - record.applied_integral(input, rule);
        }
        for input in 0..m {
            let told = known.couplings.value(input, record.traces.newest());
            let [low, high, swing] = [1, 2, 3].map(|part| part * m + input);
            let first = *parts.head(Head::Windows) == 0.0;
            parts.range[low] = if first { told } else { told.min(parts.range[low]) };
            parts.range[high] = if first { told } else { told.max(parts.range[high]) };
            let changes = known.couplings.terms(input).iter().map(|term| {
                let trace = record.traces.trace(term.output);
                let offered = record.integrals[term.output].is_finite() || trace.len() < 2;
                if offered { 0.0 } else { term.gain * (trace.back(0).y - trace.back(1).y) }
            });
            parts.range[swing] = parts.range[swing].max(changes.sum::<f64>().abs());
        }
        if *parts.head(Head::Now) < (*parts.head(Head::Wanted)).max(1.0) {
            let lost = record.powers.iter().map(|power| (power.residual * size).abs()).sum::<f64>();
            *parts.head(Head::Lost) += lost;
        }
        *parts.head(Head::Windows) += 1.0;
        if *parts.head(Head::Size) == 0.0 {
            *parts.head(Head::Size) = size;
        }
        let is_held = |input: usize| record.applied[input].0[1..].iter().all(|slope| *slope == 0.0);
        let held = (0..m).filter(|input| !known.couplings.terms(*input).is_empty()).all(is_held);
        *parts.head(Head::Held) = if held { *parts.head(Head::Held) + 1.0 } else { 0.0 };
        let regular = held && same_size(size, *parts.head(Head::Size));
        if !regular {
            self.other_size(known, size, &mut parts, rooms.heard);
        }
        *parts.head(Head::Before) = size;
        if !regular {
            return;
        }
        parts.samples.copy_within(..(KEEP - 1) * stride, stride);
        for (input, place) in parts.samples[..m].iter_mut().enumerate() {
            *place = record.applied[input].mean(size);
        }
        parts.samples[m..stride].copy_from_slice(record.left);
        let count = (*parts.head(Head::Samples) + 1.0).min(KEEP as f64);
        *parts.head(Head::Samples) = count;

        let mut change = Change::None;
        {
            let Parts { head, samples, models, fits, .. } = &mut parts;
            let Rooms { heard, work, .. } = &mut rooms;
            self.members(known, heard, |member| {
                let model = &mut models[member.model.clone()];
                change = change.max(self.study(known, member, (head, samples), (model, fits), (heard, work)));
            });
        }
        if !self.tell(known, change, record.window.to.seconds(), &mut parts, rooms.heard) {
            parts.e.fill(0.0);
            parts.payments.fill(0.0);
            return;
        }
        let size = *parts.head(Head::Size);
        let Some(n) = self.prepare(known, parts.models, size, &mut rooms) else {
            self.give_up(known, &mut parts, rooms.heard);
            return;
        };
        // Other models know of no errors yet: all windows again that are there.
        let again = if change == Change::Other { count as usize } else { 1 };
        if again > 1 {
            parts.e.fill(0.0);
        }
        for back in (1..=again).rev() {
            self.states(known, (parts.head, parts.samples), back, &mut rooms);
            let applied = &parts.samples[(back - 1) * stride..][..m];
            rooms.given.copy_from_slice(applied);
            self.err(m, n, size, applied, parts.e, &mut rooms);
        }
        if change == Change::Other {
            let lost = *parts.head(Head::Lost);
            let past = (&*parts.head, &*parts.samples, &*parts.e);
            let horizon = self.plan(known, (n, size, lost), past, parts.payments, &mut rooms);
            *parts.head(Head::Horizon) = horizon as f64;
        }
        self.amend(known, record, parts.debt, &mut rooms);
        let opened = if change == Change::Other { 0.0 } else { *parts.head(Head::Opened) + 1.0 };
        *parts.head(Head::Opened) = opened;
        let mut drifts = false;
        for input in (0..m).filter(|input| rooms.closed[*input] == 1.0) {
            let [base, low, high, swing] = [0, 1, 2, 3].map(|part| part * m + input);
            if opened < *parts.head(Head::Horizon) + SETTLED {
                parts.range[base] = parts.debt[input]; // while the start is repaid, outputs are not yet right
            }
            let most = DRIFT * (parts.range[high] - parts.range[low]) + QUADRATURE * parts.range[swing];
            drifts |= (parts.debt[input] - parts.range[base]).abs() > size * most;
        }
        if drifts {
            self.give_up(known, &mut parts, rooms.heard);
        }
    }
}

fn build(options: &Options) -> Box<dyn Correction> {
    Box::new(Identified {
        order: options.count("order"),
        forgetting: options.number("forgetting"),
        quality: options.number("quality"),
        gain: options.number("gain"),
    })
}

pub const ENTRY: Entry<dyn Correction> = Entry {
    name: "identified",
    summary: "pre-step from linear models that are found from inputs and outputs alone while the run goes on",
    source: "Genser & Benedikt 2018 (pre-step), Eqs. (2) and (3); least squares: Ljung, System Identification, 2nd ed., 11.2",
    order: "2, once models are in use",
    options: &[
        Spec::count(
            "order",
            4,
            1,
            "windows that a model may look back on, at most 8; the lowest order that serves is taken",
        ),
        Spec::number(
            "forgetting",
            0.999,
            Within::Unit,
            "",
            "weight of what was before, per window that shows something new",
        ),
        Spec::number(
            "quality",
            0.01,
            Within::Positive,
            "",
            "part by which the answer of a model may be wrong before it is used",
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
