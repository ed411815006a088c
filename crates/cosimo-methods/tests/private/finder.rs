//! Models identified from two simulators with known equations, and the reported status, window by window.
#![allow(clippy::unwrap_used)] // helpers of tests are tests
#![allow(clippy::disallowed_methods, reason = "what tests expect may come from the C library")]

use cosimo_core::linear_model::LinearModels;
use cosimo_core::link::PortRanges;
use cosimo_core::method::{Jacobian, OwnStep};
use cosimo_core::{Couplings, Segment, Term, Time, Traces, Window};

use super::*;

const SIZE: f64 = 0.1;
/// Of the first simulator: y = x + D u. Both are x' = -rate x + u + push.
const D: f64 = 0.3;
const RATES: [f64; 2] = [1.0, 2.0];
const PUSH: f64 = 0.5;

fn shape() -> Sizes {
    Sizes { inputs: 2, outputs: 2, simulators: 2, squares: [2, 2, 2], ..Sizes::default() }
}

/// What a window is like.
#[derive(Clone, Copy)]
struct WindowData {
    size: f64,
    slope: f64,
    /// The first simulator's rate; it may change while the run goes on.
    rate: f64,
    own: bool,
    still: bool,
}

const USUAL: WindowData = WindowData { size: SIZE, slope: 0.0, rate: RATES[0], own: false, still: false };

struct FinderBench {
    finder: Finder,
    couplings: Couplings,
    blocks: [PortRanges; 2],
    head: Vec<f64>,
    samples: Vec<f64>,
    models: Vec<f64>,
    fits: Vec<f64>,
    x: [f64; 2],
    now: f64,
    windows: usize,
    traces: Traces,
}

impl FinderBench {
    fn new(order: usize) -> FinderBench {
        let finder = Finder { order, forgetting: 0.999, quality: 0.01, keep: 8 };
        let rows = [vec![Term { output: 1, gain: 1.0 }], vec![Term { output: 0, gain: -1.0 }]];
        let FinderMemory { head, samples, models, fits } = finder.memory(&shape(), |size| vec![0.0; size]);
        let mut traces = Traces::new(2);
        traces.open(Time::ZERO);
        traces.put(0, &[0.0; 2], &[]);
        traces.commit();
        FinderBench {
            finder,
            couplings: Couplings::new(&rows, vec![0.0; 2]),
            blocks: [0, 1].map(|at| PortRanges { inputs: at..at + 1, outputs: at..at + 1 }),
            head,
            samples,
            models,
            fits,
            x: [1.0, 0.5],
            now: 0.0,
            windows: 0,
            traces,
        }
    }

    fn with<T>(
        &mut self,
        own: bool,
        does: impl FnOnce(&Finder, &CorrectionContext<'_>, &mut FinderMemory<&mut [f64]>, &[f64]) -> T,
    ) -> T {
        let (step, none) = ([Some(OwnStep { size: 1.0, begins: false }), None], []);
        let known = CorrectionContext {
            traces: &self.traces,
            couplings: &self.couplings,
            blocks: &self.blocks,
            bonds: &[],
            corrected: &[true; 2],
            jacobian: Jacobian { values: &[0.0; 2], starts: &[0, 1], owners: &[0, 1] },
            models: LinearModels { present: &[], matrices: &[], places: &[] },
            own: if own { &step } else { &none },
            shape: shape(),
        };
        let mut found = FinderMemory {
            head: &mut self.head[..],
            samples: &mut self.samples[..],
            models: &mut self.models[..],
            fits: &mut self.fits[..],
        };
        let mut connected = [f64::NAN; 2];
        mark_connected(&known, &mut connected);
        assert_eq!(connected, [1.0; 2]);
        does(&self.finder, &known, &mut found, &connected)
    }

    /// One window; what it did to the models, and whether any is in use.
    fn window(&mut self, data: WindowData) -> (Option<ModelChange>, bool) {
        let WindowData { size, slope, rate, own, still } = data;
        let k = self.windows as f64;
        self.windows += 1;
        // Inputs that are no function of outputs.
        let u = if still { [0.25, -0.25] } else { [(k * k).sin(), (k * k + 3.0 * k).cos()] };
        let applied = u.map(|u| Segment::line(u, slope));
        for (x, (u, rate)) in self.x.iter_mut().zip(u.into_iter().zip([rate, RATES[1]])) {
            let decay = (-rate * size).exp();
            *x = decay * *x + (1.0 - decay) / rate * (u + PUSH);
        }
        let left = [self.x[0] + D * u[0], self.x[1]];
        let from = self.now;
        self.now += size;
        let window = Window { from: Time::new(from).unwrap(), to: Time::new(self.now).unwrap(), size };
        let (traces, couplings) = (self.traces.clone(), self.couplings.clone());
        let now = self.now;
        self.with(own, |finder, known, found, connected| {
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
                shape: shape(),
            };
            let mut work = vec![f64::NAN; finder.work(&shape())];
            let change = finder.observe(known, &record, found, (connected, &mut work));
            let used =
                change.is_some_and(|change| finder.update_status(known, change, now, found, connected));
            (change, used)
        })
    }

    /// Until all models are in use.
    fn warm(&mut self) {
        for _ in 0..40 {
            self.window(USUAL);
            if self.learned().now == 2 {
                return;
            }
        }
        panic!("no models: {:?}", self.learned());
    }

    fn learned(&mut self) -> IdentificationStatus {
        let found = FinderMemory {
            head: &self.head[..],
            samples: &self.samples,
            models: &self.models,
            fits: &self.fits,
        };
        self.finder.status(&found)
    }

    /// A, B C, D and level of each model in use.
    fn models(&mut self) -> Vec<Option<[f64; 4]>> {
        self.with(false, |finder, known, found, connected| {
            let mut all = Vec::new();
            finder.members(known, connected, |member| {
                all.push(member.model(found.models).map(|(model, _)| {
                    assert_eq!(*model.states, 1.0);
                    // At rest: y = level + d u - c (b u + drift) / a, which is PUSH / rate without an input.
                    let rest = model.level[0] - model.c[0] * model.drift[0] / model.a[0];
                    [model.a[0], model.b[0] * model.c[0], model.d[0], rest]
                }));
            });
            all
        })
    }

    fn assert_models(&mut self, rate: f64) {
        let wanted = [[-rate, 1.0, D, PUSH / rate], [-RATES[1], 1.0, 0.0, PUSH / RATES[1]]];
        for (found, wanted) in self.models().into_iter().zip(wanted) {
            let found = found.unwrap();
            let near = |(a, b): (f64, f64)| (a - b).abs() < 1e-6;
            assert!(found.into_iter().zip(wanted).all(near), "{found:?} {wanted:?}");
        }
    }
}

#[test]
fn models_are_those_of_the_equations_whatever_the_size_of_windows() {
    for size in [0.02, 0.1, 0.4] {
        let mut bench = FinderBench::new(2);
        for _ in 0..30 {
            bench.window(WindowData { size, ..USUAL });
        }
        bench.assert_models(RATES[0]);
        let learned = bench.learned();
        assert_eq!((learned.wanted, learned.now, learned.closed, learned.odd), (2, 2, 0, 0));
        // 30 windows of both simulators, without those before models came into use; the models are exact.
        assert!((20..60).contains(&learned.predictions), "{learned:?}");
        assert!(learned.prediction_error < 1e-6, "{learned:?}");
    }
}

#[test]
fn what_is_told_is_what_happened() {
    let mut bench = FinderBench::new(2);
    let (mut used, mut renewed, mut age, mut first, mut predictions) = (0, 0, 0, None, 0);
    for _ in 0..30 {
        // Each model in use predicts the window before it learns from it.
        predictions += bench.models().iter().flatten().count() as u64;
        let (change, in_use) = bench.window(USUAL);
        let count = bench.models().iter().flatten().count() as u64;
        assert_eq!(in_use, count > 0);
        if in_use {
            used += 1;
            first = first.or(Some(bench.now));
            age += 1;
            if change != Some(ModelChange::None) {
                (renewed, age) = (renewed + 1, 0);
            }
        }
        let learned = bench.learned();
        let expected = IdentificationStatus {
            wanted: 2,
            now: count,
            first,
            since: first,
            windows: used,
            renewed,
            age,
            closed: 0,
            odd: 0,
            predictions,
            prediction_error: learned.prediction_error,
        };
        assert_eq!(learned, expected);
    }
    // Two samples more than the order, as many rows as order one needs and three to spare, three good ones.
    let first = first.unwrap();
    assert!((first - 11.0 * SIZE).abs() < 4.5 * SIZE, "{first}");
}

#[test]
fn a_window_of_another_size_takes_models_out_of_use_for_a_while() {
    let mut bench = FinderBench::new(2);
    bench.warm();
    let first = bench.learned().first;
    assert_eq!(bench.window(WindowData { size: 0.5 * SIZE, ..USUAL }), (None, false));
    assert_eq!(bench.learned().now, 0);
    assert_eq!(bench.models(), [None, None]);
    // What was learned is kept: three samples, then three good windows.
    let windows = (1..).find(|_| bench.window(USUAL).1).unwrap();
    assert_eq!(windows, 5);
    bench.warm();
    bench.assert_models(RATES[0]);
    let learned = bench.learned();
    assert_eq!((learned.first, learned.closed), (first, 0));
    assert!(learned.since > first);
}

#[test]
fn a_size_that_lasts_is_learned_anew() {
    let mut bench = FinderBench::new(2);
    bench.warm();
    let other = WindowData { size: 3.0 * SIZE, ..USUAL };
    assert_eq!(bench.window(other).0, None);
    assert_eq!(bench.head[Head::Size as usize], SIZE);
    assert_eq!(bench.window(other).0, None);
    assert_eq!(bench.head[Head::Size as usize], 3.0 * SIZE);
    let windows = (1..).find(|_| bench.window(other).1).unwrap();
    assert!((8..20).contains(&windows), "{windows}");
    for _ in 0..10 {
        bench.window(other);
    }
    bench.assert_models(RATES[0]);
}

#[test]
fn inputs_that_move_are_nothing_to_learn_from() {
    let mut bench = FinderBench::new(2);
    bench.warm();
    let held = bench.head[Head::Held as usize];
    assert_eq!(held, bench.windows as f64);
    assert_eq!(bench.window(WindowData { slope: 1e-3, ..USUAL }), (None, false));
    assert_eq!((bench.head[Head::Held as usize], bench.learned().now), (0.0, 0));
    bench.window(USUAL);
    assert_eq!(bench.head[Head::Held as usize], 1.0);
}

#[test]
fn at_rest_nothing_is_learned_and_nothing_forgotten() {
    let mut bench = FinderBench::new(2);
    bench.warm();
    // Until nothing moves any more.
    for _ in 0..400 {
        bench.window(WindowData { still: true, ..USUAL });
    }
    let (models, fits) = (bench.models.clone(), bench.fits.clone());
    for _ in 0..50 {
        assert_eq!(bench.window(WindowData { still: true, ..USUAL }), (Some(ModelChange::None), true));
    }
    let bits = |numbers: &[f64]| numbers.iter().map(|number| number.to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(&bench.models), bits(&models));
    assert_eq!(bits(&bench.fits), bits(&fits));
    bench.assert_models(RATES[0]);
}

#[test]
fn a_simulator_that_changes_gets_another_model() {
    let mut bench = FinderBench::new(2);
    bench.warm();
    let changed = WindowData { rate: 4.0, ..USUAL };
    let out = (1..10)
        .find(|_| bench.learned().closed > 0 || bench.window(changed) == (Some(ModelChange::Other), true));
    assert!(out.is_some());
    assert!(bench.models()[0].is_none() && bench.models()[1].is_some(), "only what changed goes out of use");
    assert_eq!(bench.learned().closed, 1);
    assert_eq!(bench.learned().now, 1);
    // The window that the old model failed to predict counts, although the model is not in use any more.
    assert!(bench.learned().prediction_error > 0.1, "{:?}", bench.learned());
    let again = (0..20_000).find(|_| bench.window(changed).1 && bench.learned().now == 2);
    assert!(again.is_some(), "{:?}", bench.learned());
    bench.window(changed);
    assert!(bench.learned().prediction_error < 0.1, "of the new model: {:?}", bench.learned());
}

/// An output with a disturbance that no input explains: models are as wrong as that, and fits over many windows hide it.
#[test]
fn errors_of_predictions_are_those_of_windows_that_models_have_not_seen() {
    let mut bench = FinderBench::new(1);
    assert_eq!(bench.learned().predictions, 0, "nothing is known before any model is in use");
    bench.warm();
    let before = bench.learned();
    bench.x[0] += 1e-4;
    bench.window(USUAL);
    let after = bench.learned();
    assert!(after.predictions > before.predictions && before.prediction_error < 1e-9, "{before:?} {after:?}");
    // The usual change of an output is between 1e-2 and 1.
    assert!((1e-4..1e-2).contains(&after.prediction_error), "{after:?}");
}

#[test]
fn after_giving_up_three_times_as_many_good_windows_are_asked_for() {
    let mut bench = FinderBench::new(2);
    bench.warm();
    for (closed, wanted) in [(1, 9), (2, 27)] {
        bench.with(false, |finder, known, found, connected| finder.give_up(known, found, connected));
        let learned = bench.learned();
        assert_eq!((learned.now, learned.closed, learned.since), (0, closed, None));
        let windows = (1..).find(|_| bench.window(USUAL).1).unwrap();
        assert_eq!(windows, wanted);
        bench.warm();
    }
}

#[test]
fn a_simulator_in_a_longer_step_of_its_own_has_no_model() {
    let mut bench = FinderBench::new(2);
    bench.warm();
    assert_eq!(bench.window(WindowData { own: true, ..USUAL }), (Some(ModelChange::Other), true));
    assert!(bench.models()[0].is_none() && bench.models()[1].is_some());
    assert_eq!(bench.window(WindowData { own: true, ..USUAL }).0, Some(ModelChange::None));
}

#[test]
fn shares_of_debts_are_larger_in_every_other_window() {
    let bench = FinderBench::new(2);
    let mut head = bench.head.clone();
    let shares = [0.0, 1.0, 2.0, 3.0].map(|window| {
        head[Head::Windows as usize] = window;
        bench.finder.unevenness(&head)
    });
    assert_eq!(shares, [0.8, 1.2, 0.8, 1.2]);
}

#[test]
fn rooms_are_those_of_all_members() {
    for (order, blocks) in [(1, vec![(1, 1)]), (3, vec![(2, 1), (1, 3)]), (4, vec![(0, 2), (3, 0), (2, 2)])] {
        let finder = Finder { order, forgetting: 0.999, quality: 0.01, keep: 8 };
        let sum = |of: fn(&(usize, usize)) -> usize| blocks.iter().map(of).sum::<usize>();
        let shape = Sizes {
            inputs: sum(|(m, _)| *m),
            outputs: sum(|(_, p)| *p),
            simulators: blocks.len(),
            squares: [sum(|(m, _)| m * m), sum(|(m, p)| m * p), sum(|(_, p)| p * p)],
            ..Sizes::default()
        };
        let found = finder.memory(&shape, |size| size);
        let each = blocks.iter().map(|&(inputs, outputs)| Arx { inputs, outputs, order });
        let models: usize = each.clone().map(|arx| TITLE + Realization::memory(&arx)).sum();
        let fits: usize = each.map(|arx| MARKS + arx.memory() + (arx.width(order) + 1) * arx.outputs).sum();
        assert_eq!((found.models, found.fits), (models, fits), "{blocks:?}");
        assert_eq!((found.head, found.samples), (HEAD, 8 * (shape.inputs + shape.outputs)));
    }
    let order = |order, inputs| {
        let finder = Finder { order, forgetting: 0.999, quality: 0.01, keep: 8 };
        finder.order(&Sizes { inputs, outputs: 1, ..Sizes::default() })
    };
    assert_eq!((order(4, 1), order(20, 1), order(8, 63), order(8, 127), order(1, 300)), (4, 8, 4, 2, 0));
}

#[test]
fn sizes_are_the_same_but_for_rounding() {
    assert!(same_size(0.1, 0.1 * (1.0 + 5e-10)) && same_size(0.3, 0.1 + 0.2));
    assert!(!same_size(0.1, 0.1 * (1.0 + 2e-9)) && !same_size(0.1, -0.1) && !same_size(0.1, 0.0));
}

/// By normal equations of another library: the standard deviation of what an output answers within a window, by that answer.
#[test]
fn quality_is_what_is_not_known_of_an_answer() {
    use nalgebra::{DMatrix, DVector};
    let arx = Arx { inputs: 2, outputs: 2, order: 2 };
    let (width, count) = (arx.width(2), 60);
    let mut squares = vec![0.0; arx.memory()];
    let some = |seed: usize, k: usize| ((seed * seed * 31 + k * k * 7 + 13 * k * seed + 1) as f64).sin();
    let x = DMatrix::from_fn(count, width, |k, j| if j == 0 { 1.0 } else { (1.0 + j as f64) * some(j, k) });
    let y = DMatrix::from_fn(count, 2, |k, output| {
        (0..width).map(|j| some(90 + output, j) * x[(k, j)]).sum::<f64>() + 0.1 * some(70 + output, k)
    });
    for k in 0..count {
        let mut row: Vec<f64> = x.row(k).iter().chain(y.row(k).iter()).copied().collect();
        arx.add(&mut squares, 1.0, &mut row);
    }
    let finder = Finder { order: 2, forgetting: 0.999, quality: 0.01, keep: 8 };
    for order in [1, 2] {
        let columns = arx.width(order);
        let part = x.columns(0, columns).into_owned();
        let inverse = (part.transpose() * &part).try_inverse().unwrap();
        let solved = &inverse * part.transpose() * &y;
        let mut theta = vec![0.0; columns * 2];
        arx.solve(order, &squares, &mut theta);
        let mut worst = 0.0f64;
        for output in 0..2 {
            let over = (&y - &part * &solved).column(output).norm_squared() / (count - columns) as f64;
            let (mut doubt, mut answer) = (0.0, 0.0);
            for input in 0..2 {
                let usual = (x.column(arx.of_input(1) + input).norm_squared() / count as f64).sqrt();
                let mut all = DVector::zeros(columns);
                (0..=order).for_each(|level| all[arx.of_input(level) + input] = 1.0);
                doubt += (all.transpose() * &inverse * &all)[0] * over * usual * usual;
                answer += (all.dot(&solved.column(output)) * usual).powi(2);
            }
            worst = worst.max((doubt / answer).sqrt());
        }
        let found = finder.quality_of(&arx, order, &squares, &theta, 0.0, &mut vec![0.0; width]);
        assert!((found / worst - 1.0).abs() < 1e-9, "order {order}: {found} {worst}");
        assert_eq!(finder.quality_of(&arx, order, &squares, &theta, 1e9, &mut vec![0.0; width]), 0.0);
    }
}
