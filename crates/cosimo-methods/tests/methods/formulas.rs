//! Estimates, laws and corrections as the formulas of their papers, on numbers made by hand.
#![allow(clippy::unwrap_used)] // helpers of tests are tests

use cosimo::core::line::Stamp;
use cosimo::core::linear_model::LinearModels;
use cosimo::core::link::{Bond, BondSide, Couplings, PortRanges, PowerVariable, Term};
use cosimo::core::method::{
    BondPower, Correction, CorrectionContext, Estimate, Jacobian, OwnStep, Sizes, Steadiness, StepController,
    StepRecord, Trial,
};
use cosimo::core::registry::{MethodEntry, Options, Value, find};
use cosimo::core::{Segment, StepError, Time, Traces, Window};

fn built<T: ?Sized>(entries: &[&'static MethodEntry<T>], name: &str, given: &[(&str, Value)]) -> Box<T> {
    let entry = find(entries, name).unwrap();
    let given: Vec<_> = given.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
    (entry.build)(&Options::resolve(name, entry.options, &given).unwrap())
}

fn numbers(given: &[(&'static str, f64)]) -> Vec<(&'static str, Value)> {
    given.iter().map(|(key, value)| (*key, Value::Number(*value))).collect()
}

fn time(t: f64) -> Time {
    Time::new(t).unwrap()
}

fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() <= 1e-12 * expected.abs().max(1e-300), "{found} instead of {expected}");
}

const SIZE: f64 = 0.5;

/// Two outputs with samples at 0, 0.5 and 1; input 0 is 2 y0 - y1 + 3, input 1 is not driven.
struct Scene {
    traces: Traces,
    couplings: Couplings,
    bonds: Vec<Bond>,
    powers: Vec<BondPower>,
    applied: [Segment; 2],
    left: [f64; 2],
    kept: [f64; 2],
    integrals: [f64; 2],
    tolerances: [Option<f64>; 2],
    weights: [Option<f64>; 2],
    connected: [bool; 2],
    shape: Sizes,
}

impl Scene {
    fn new() -> Scene {
        let mut traces = Traces::new(2);
        for (t, values) in [(0.0, [1.0, -2.0]), (0.5, [2.0, -4.0]), (1.0, [5.0, -1.0])] {
            traces.open(time(t));
            traces.put(0, &values, &[]);
            traces.commit();
        }
        let side = BondSide { effort: PowerVariable::Input(0), flow: PowerVariable::Output(0), sign: 1.0 };
        let bond = Bond { name: String::new(), sides: vec![side; 2], tolerance: None, energy_scale: None };
        let row = vec![Term { output: 0, gain: 2.0 }, Term { output: 1, gain: -1.0 }];
        Scene {
            traces,
            couplings: Couplings::new(&[row, Vec::new()], vec![3.0, 7.0]),
            bonds: vec![bond.clone(), Bond { tolerance: Some(0.5), energy_scale: Some(4.0), ..bond }],
            powers: vec![
                BondPower { transmitted: -6.0, residual: -0.2 },
                BondPower { transmitted: 8.0, residual: 3.0 },
            ],
            applied: [Segment::line(10.0, 4.0), Segment::constant(-100.0)],
            left: [5.0, -1.0],
            kept: [4.5, -1.25],
            integrals: [f64::NAN; 2],
            tolerances: [None; 2],
            weights: [None; 2],
            connected: [true; 2],
            shape: Sizes { inputs: 2, outputs: 2, bonds: 2, simulators: 2, ..Sizes::default() },
        }
    }

    fn record(&self) -> StepRecord<'_> {
        StepRecord {
            window: Window { from: time(0.5), to: time(1.0), size: SIZE },
            applied: &self.applied,
            outputs: &self.left,
            integrals: &self.integrals,
            stashed: &self.kept,
            traces: &self.traces,
            couplings: &self.couplings,
            bonds: &self.bonds,
            powers: &self.powers,
            tolerances: &self.tolerances,
            weights: &self.weights,
            connected: &self.connected,
            shape: self.shape,
        }
    }
}

fn estimate(name: &str, options: &[(&'static str, f64)]) -> Box<dyn Estimate> {
    built(&cosimo::registry().estimates, name, &numbers(options))
}

#[test]
fn ecco_is_the_root_mean_square_of_relative_residual_energies() {
    let scene = Scene::new();
    let ecco = estimate("power-residual", &[("tolerance", 0.1), ("energy_scale", 2.0)]);
    // |dP| H / (r (E0 + |P| H)), Eq. (14).
    let parts = [0.2 * SIZE / (0.1 * (2.0 + 6.0 * SIZE)), 3.0 * SIZE / (0.5 * (4.0 + 8.0 * SIZE))];
    close(ecco.bond_measure(&scene.record(), 0), parts[0]);
    close(ecco.bond_measure(&scene.record(), 1), parts[1]);
    let mean = ((parts[0] * parts[0] + parts[1] * parts[1]) / 2.0).sqrt();
    close(ecco.measure(&scene.record()), mean);
    // Together with outputs the larger counts.
    let outputs = [("tolerance", 0.1), ("energy_scale", 2.0), ("output_tolerance", 1e9)];
    close(estimate("power-and-outputs", &outputs).measure(&scene.record()), mean);
    let strict = [("tolerance", 1e9), ("energy_scale", 2.0), ("output_tolerance", 0.5), ("weight", 0.0)];
    let both = estimate("power-and-outputs", &strict);
    close(both.measure(&scene.record()), 10.0);
    close(both.bond_measure(&scene.record(), 0), parts[0] * 0.1 / 1e9);
}

#[test]
fn busch_compares_outputs_with_their_extrapolation() {
    let mut scene = Scene::new();
    let busch = |options: &[(&'static str, f64)], scene: &Scene| {
        estimate("predictor-corrector", options).measure(&scene.record())
    };
    // By lines: 3 and -6 instead of 5 and -1. The relative part has the larger of the old and the new value.
    close(busch(&[("tolerance", 0.5), ("weight", 0.0)], &scene), 5.0 / 0.5);
    close(busch(&[("tolerance", 0.5), ("weight", 2.0)], &scene), 5.0 / (1.0 + 2.0 * 4.0) / 0.5);
    scene.connected = [true, false];
    close(busch(&[("tolerance", 0.5), ("weight", 2.0)], &scene), 2.0 / (1.0 + 2.0 * 5.0) / 0.5);
    (scene.tolerances, scene.weights) = ([Some(0.1), None], [Some(1.0), None]);
    close(busch(&[("tolerance", 0.5), ("weight", 2.0)], &scene), 2.0 / 6.0 / 0.1);
}

#[test]
fn milne_compares_inputs_with_what_they_turned_out_to_be() {
    let mut scene = Scene::new();
    let milne =
        |options: &[(&'static str, f64)], scene: &Scene| estimate("milne", options).measure(&scene.record());
    // Assumed 10 + 4 * 0.5, found 2 * 5 + 1 + 3; the input that stays does not count.
    close(milne(&[("tolerance", 0.5), ("weight", 0.0)], &scene), 2.0 / 0.5);
    close(milne(&[("tolerance", 0.5), ("weight", 2.0)], &scene), 2.0 / 29.0 / 0.5);
    scene.tolerances = [Some(0.25), Some(0.125)];
    close(milne(&[("tolerance", 0.5), ("weight", 0.0)], &scene), 2.0 / 0.125);
}

#[test]
fn step_doubling_divides_by_what_two_halves_save() {
    let mut scene = Scene::new();
    let richardson = |scene: &Scene, weight: f64| {
        estimate("richardson", &[("tolerance", 0.5), ("weight", weight)]).measure(&scene.record())
    };
    // |5 - 4.5| and |-1 + 1.25|; without feed-through and with held inputs the order is two.
    close(richardson(&scene, 0.0), 0.5 / 0.5 / 0.5);
    close(richardson(&scene, 2.0), 0.25 / 3.0 / 0.5 / 0.5);
    scene.shape.degree = 1;
    close(richardson(&scene, 0.0), 0.5 / 0.5 / 0.75);
    scene.shape.feedthrough_depth = 1;
    close(richardson(&scene, 0.0), 0.5 / 0.5 / 0.5);
    scene.connected = [false, true];
    close(richardson(&scene, 0.0), 0.25 / 0.5 / 0.5);
}

#[test]
fn orders_follow_from_the_degree_of_inputs() {
    let order = |name: &str, shape: Sizes| estimate(name, &[]).order(&shape);
    for degree in 0..3 {
        let shape = Sizes { degree, ..Sizes::default() };
        let through = Sizes { feedthrough_depth: 2, ..shape };
        assert_eq!(order("power-residual", shape), degree + 2);
        assert_eq!(order("predictor-corrector", shape), degree + 1);
        assert_eq!(order("milne", shape), degree + 1);
        assert_eq!(order("power-and-outputs", shape), degree + 2);
        assert_eq!((order("richardson", shape), order("richardson", through)), (degree + 2, degree + 1));
    }
}

/// Writes down what is asked of it.
struct Tried<'a> {
    record: StepRecord<'a>,
    calls: Vec<String>,
}

impl Trial for Tried<'_> {
    fn advance(&mut self, window: Window) -> Result<(), StepError> {
        self.calls.push(format!("{} {} {}", window.from.seconds(), window.to.seconds(), window.size));
        Ok(())
    }
    fn rewind(&mut self) -> Result<(), StepError> {
        self.calls.push("rewind".into());
        Ok(())
    }
    fn stash_outputs(&mut self) {
        self.calls.push("keep".into());
    }
    fn record(&self) -> StepRecord<'_> {
        self.record
    }
    fn advance_companion(&mut self, _: Window) -> Result<(), StepError> {
        self.calls.push("companion".into());
        Ok(())
    }
}

#[test]
fn step_doubling_goes_once_whole_and_twice_half() {
    let scene = Scene::new();
    let mut tried = Tried { record: scene.record(), calls: Vec::new() };
    let window = scene.record().window;
    estimate("richardson", &[]).attempt(&mut tried, window).unwrap();
    assert_eq!(tried.calls, ["0.5 1 0.5", "keep", "rewind", "0.5 0.75 0.25", "0.75 1 0.25"]);
}

#[test]
fn laws_have_the_exponents_of_their_gains_by_the_order() {
    let law = |name: &str, options: &[(&'static str, f64)]| -> Box<dyn StepController> {
        built(&cosimo::registry().controllers, name, &numbers(options))
    };
    let (e, before, earlier) = (0.3f64, 0.7f64, 0.2f64);
    for order in [1, 2, 3] {
        let k = f64::from(order);
        let memory = [before, earlier];
        let i = law("i", &[("safety", 0.9), ("integral", 0.6)]);
        close(i.factor(&memory, e, order), 0.9 * e.powf(-0.6 / k));
        let pi = law("pi", &[("safety", 0.9), ("integral", 0.6), ("proportional", 0.3)]);
        close(pi.factor(&memory, e, order), 0.9 * e.powf(-0.9 / k) * before.powf(0.3 / k));
        let gains = [("safety", 0.9), ("integral", 0.6), ("proportional", 0.3), ("derivative", 0.1)];
        let expected = 0.9 * e.powf(-1.0 / k) * before.powf(0.5 / k) * earlier.powf(-0.1 / k);
        close(law("pid", &gains).factor(&memory, e, order), expected);
        let d = [("safety", 0.9), ("integral", 0.6), ("proportional", 0.0), ("derivative", 0.1)];
        let expected = 0.9 * e.powf(-0.7 / k) * before.powf(0.2 / k) * earlier.powf(-0.1 / k);
        close(law("pid", &d).factor(&memory, e, order), expected);
        // Errors that a law does not use may be zero.
        close(i.factor(&[0.0, 0.0], e, order), 0.9 * e.powf(-0.6 / k));
        close(pi.factor(&[before, 0.0], e, order), 0.9 * e.powf(-0.9 / k) * before.powf(0.3 / k));
    }
    let pid = law("pid", &[]);
    let mut memory = [f64::NAN; 2];
    pid.start(&mut memory);
    assert_eq!(memory, [1.0; 2]);
    pid.learn(0.5, &mut memory);
    pid.learn(0.25, &mut memory);
    assert_eq!(memory, [0.25, 0.5]);
}

/// Two simulators with one input and one output each, y0 = 0.5 u0 + ..., y1 = 0.25 u1 + ...; u0 = 2 y1, u1 = -y0.
struct Ring {
    scene: Scene,
    blocks: [PortRanges; 2],
    jacobian: [f64; 2],
    corrected: [bool; 2],
    own: Vec<Option<OwnStep>>,
}

impl Ring {
    fn new() -> Ring {
        let rows = [vec![Term { output: 1, gain: 2.0 }], vec![Term { output: 0, gain: -1.0 }]];
        let mut scene = Scene::new();
        scene.couplings = Couplings::new(&rows, vec![0.0; 2]);
        scene.applied = [Segment::line(-7.0, 2.0), Segment::constant(-3.0)];
        scene.shape.feedthrough_depth = 2;
        let blocks = [0, 1].map(|at| PortRanges { inputs: at..at + 1, outputs: at..at + 1 });
        Ring { scene, blocks, jacobian: [0.5, 0.25], corrected: [true; 2], own: Vec::new() }
    }

    fn known(&self) -> CorrectionContext<'_> {
        CorrectionContext {
            traces: &self.scene.traces,
            couplings: &self.scene.couplings,
            blocks: &self.blocks,
            bonds: &[],
            corrected: &self.corrected,
            jacobian: Jacobian { values: &self.jacobian, starts: &[0, 1], owners: &[0, 1] },
            models: LinearModels { present: &[], matrices: &[], places: &[] },
            own: &self.own,
            shape: self.scene.shape,
        }
    }

    /// Offsets for a window of another size, after so many windows like the one of the scene.
    fn offsets(&self, correction: &dyn Correction, windows: usize, size: f64) -> [f64; 2] {
        let shape = self.scene.shape;
        let mut memory = vec![f64::NAN; correction.memory(&shape)];
        let mut scratch = vec![f64::NAN; correction.scratch(&shape)];
        correction.start(&shape, &mut memory);
        for _ in 0..windows {
            correction.learn(&self.known(), &self.scene.record(), &mut memory, &mut scratch);
        }
        let mut add = [Segment::ZERO; 2];
        let window = Window { from: time(1.0), to: time(1.0 + size), size };
        correction.offsets(&self.known(), &memory, window, &mut add, &mut [false; 2], &mut scratch);
        add.map(|segment| {
            assert_eq!(segment, Segment::constant(segment.start()));
            segment.start()
        })
    }
}

fn nepce(form: &str, quadrature: &str, feedthrough: &str) -> Box<dyn Correction> {
    let text = |value: &str| Value::Text(value.into());
    let options = [
        ("gain", Value::Number(0.4)),
        ("form", text(form)),
        ("quadrature", text(quadrature)),
        ("feedthrough", text(feedthrough)),
    ];
    built(&cosimo::registry().corrections, "nepce", &options)
}

/// What inputs lost in the window: by trapezoids, 2 (-4 - 1) / 2 H + 6.5 H, and -(2 + 5) / 2 H + 3 H.
const LOST: [f64; 2] = [(-5.0 + 6.5) * SIZE, (-3.5 + 3.0) * SIZE];

#[test]
fn an_account_repays_a_share_of_all_that_was_lost() {
    let ring = Ring::new();
    for windows in 1..4 {
        let account = ring.offsets(&*nepce("account", "trapezoid", "off"), windows, 0.2);
        account.iter().zip(LOST).for_each(|(offset, lost)| close(*offset, 0.4 * windows as f64 * lost / 0.2));
    }
    assert_eq!(ring.offsets(&*nepce("account", "trapezoid", "off"), 0, 0.2), [0.0; 2]);
    let half = Ring { corrected: [false, true], ..Ring::new() };
    let [none, other] = half.offsets(&*nepce("account", "trapezoid", "off"), 2, 0.2);
    assert_eq!(none, 0.0);
    close(other, 0.8 * LOST[1] / 0.2);
}

#[test]
fn the_paper_repays_the_newest_error_by_the_ratio_of_steps() {
    let ring = Ring::new();
    let paper = |ring: &Ring, windows| ring.offsets(&*nepce("paper", "trapezoid", "off"), windows, 0.2);
    paper(&ring, 1).iter().zip(LOST).for_each(|(offset, lost)| close(*offset, 0.4 * lost / SIZE));
    paper(&ring, 3).iter().zip(LOST).for_each(|(offset, lost)| close(*offset, 0.4 * lost / SIZE));
    // By values at the end, as in the paper: 2 (-1) + 6 and -5 + 3.
    let end = ring.offsets(&*nepce("paper", "auto", "off"), 1, 0.2);
    end.iter().zip([4.0, -2.0]).for_each(|(offset, lost)| close(*offset, 0.4 * lost));
    // A longer step of its own sums up until it begins anew.
    let own = |begins| Ring { own: vec![Some(OwnStep { size: 2.0, begins }), None], ..Ring::new() };
    close(paper(&own(false), 3)[0], 0.4 * 3.0 * LOST[0] / 2.0);
    close(paper(&own(true), 3)[0], 0.4 * LOST[0] / 2.0);
    close(paper(&own(false), 3)[1], 0.4 * LOST[1] / SIZE);
}

#[test]
fn feedthrough_passes_errors_on_as_often_as_they_pass() {
    // e = lost + L J e, twice: u0 feels 2 * 0.25 of u1, u1 feels -0.5 of u0.
    let pass = |e: [f64; 2]| [LOST[0] + 0.5 * e[1], LOST[1] - 0.5 * e[0]];
    let expected = pass(pass(LOST));
    let ring = Ring::new();
    let found = ring.offsets(&*nepce("account", "trapezoid", "declared"), 1, 0.2);
    found.iter().zip(expected).for_each(|(offset, lost)| close(*offset, 0.4 * lost / 0.2));
    // In a loop it passes for ever: (1 - L J) e = lost.
    let mut looped = Ring::new();
    looped.scene.shape.looped = true;
    let determinant = 1.0 + 0.25;
    let expected = [(LOST[0] + 0.5 * LOST[1]) / determinant, (LOST[1] - 0.5 * LOST[0]) / determinant];
    let found = looped.offsets(&*nepce("account", "trapezoid", "declared"), 1, 0.2);
    found.iter().zip(expected).for_each(|(offset, lost)| close(*offset, 0.4 * lost / 0.2));
}

#[test]
fn integrals_are_taken_from_whoever_knows_them_best() {
    let mut ring = Ring::new();
    ring.scene.integrals = [7.0, f64::NAN];
    let best = ring.offsets(&*nepce("account", "best", "off"), 1, 0.2);
    close(best[0], 0.4 * LOST[0] / 0.2);
    close(best[1], 0.4 * (-7.0 + 3.0 * SIZE) / 0.2);
    let plain = ring.offsets(&*nepce("account", "trapezoid", "off"), 1, 0.2);
    close(plain[1], 0.4 * LOST[1] / 0.2);
}

fn steadiness(name: &str, options: &[(&'static str, f64)]) -> Box<dyn Steadiness> {
    built(&cosimo::registry().steadiness, name, &numbers(options))
}

fn stamp(t: f64, flow: f64) -> Stamp {
    Stamp { t, flow, ..Stamp::default() }
}

/// A tolerance so small that the noise is none.
const SILENT: (&str, f64) = ("tolerance", 1e-200);

#[test]
fn an_f_test_compares_variances_of_its_samples() {
    // The last four of them: 1, 3, 2, 4. About the mean 5, from sample to sample 4 + 1 + 4.
    let flows = [100.0, 1.0, 3.0, 2.0];
    let past: Vec<Stamp> = flows.iter().enumerate().map(|(k, flow)| stamp(k as f64, *flow)).collect();
    let steady = |critical: f64, past: &[Stamp]| {
        let test = steadiness("f-test", &[SILENT, ("samples", 4.0), ("critical", critical)]);
        test.steady(past, &stamp(4.0, 4.0), &mut vec![0.0; test.memory()])
    };
    let ratio = 5.0 / (0.5 * 9.0);
    assert!(steady(1.001 * ratio, &past) && !steady(0.999 * ratio, &past));
    assert!(steady(1.001 * ratio, &past[1..]), "as many as it needs");
    assert!(!steady(1e9, &past[2..]), "fewer say nothing");
}

#[test]
fn an_r_test_filters_what_the_f_test_sums() {
    let lambda = [("lambda1", 0.5), ("lambda2", 0.25), ("lambda3", 0.125)];
    let test = |critical: f64| {
        let options = [&[SILENT, ("samples", 10.0), ("critical", critical)], &lambda[..]].concat();
        steadiness("r-test", &options)
    };
    let filtered = |critical: f64| {
        let test = test(critical);
        let mut memory = [1.0, 8.0, 16.0, 2.0];
        let steady = test.steady(&[], &stamp(1.0, 5.0), &mut memory);
        (steady, memory)
    };
    // About the filtered value 4^2, from sample to sample 3^2.
    let (about, steps) = (0.25 * 16.0 + 0.75 * 8.0, 0.125 * 9.0 + 0.875 * 16.0);
    let ratio = 1.5 * about / steps;
    assert_eq!(filtered(1.001 * ratio), (true, [3.0, about, steps, 5.0]));
    assert!(!filtered(0.999 * ratio).0);
    // It begins as noise alone would have it, of 7.9 tolerances by the samples.
    let options = [&[("tolerance", 0.5), ("samples", 10.0)], &lambda[..]].concat();
    let mut memory = [f64::NAN; 4];
    steadiness("r-test", &options).start(&stamp(0.0, 3.0), &mut memory);
    let variance = (7.9f64 * 0.5 / 10.0).powi(2);
    for (found, expected) in memory.into_iter().zip([3.0, 2.0 * variance / 1.5, 2.0 * variance, 3.0]) {
        close(found, expected);
    }
}

#[test]
fn a_sliding_window_compares_the_range_of_its_samples() {
    // A run that does not begin at zero.
    let stamp = |t: f64, flow: f64| stamp(10.0 + t, flow);
    let past = [stamp(0.0, 90.0), stamp(1.0, 3.0), stamp(2.0, 5.0)];
    let steady = |options: &[(&'static str, f64)], new: Stamp| {
        let test = steadiness("sliding-window", options);
        let mut memory = vec![0.0; test.memory()];
        test.start(&past[0], &mut memory);
        (test.steady(&past, &new, &mut memory), test.window())
    };
    let width = |tolerance: f64| [("window", 2.0), ("tolerance", tolerance)];
    assert_eq!(steady(&width(2.5), stamp(3.0, 4.0)), (true, 2.0));
    assert!(!steady(&width(2.0), stamp(3.0, 4.0)).0, "just as far is too far");
    assert!(!steady(&width(2.5), stamp(3.0, 6.0)).0);
    assert!(!steady(&width(2.5), stamp(2.0, 4.0)).0, "the first sample is in the window");
    assert!(!steady(&width(1e9), stamp(1.9, 4.0)).0, "the window is not full");
    assert!(steady(&width(1e9), stamp(2.0, 4.0)).0);
    // As a part of the largest flow so far.
    let relative = |part: f64| [("window", 2.0), ("relative", part)];
    assert!(
        steady(&relative(2.01 / 90.0), stamp(3.0, 4.0)).0
            && !steady(&relative(1.99 / 90.0), stamp(3.0, 4.0)).0
    );
    let effort = |tolerance: f64| [("window", 2.0), ("tolerance", 9.0), ("effort_tolerance", tolerance)];
    let pulled = Stamp { effort: 1.0, ..stamp(3.0, 4.0) };
    assert!(steady(&effort(1.5), pulled).0 && !steady(&effort(1.0), pulled).0);
}

#[test]
fn slopes_of_large_values_are_believed_within_rounding() {
    let fit = |y: [f64; 3], slope: f64| {
        let approximation = find(&cosimo::registry().inputs, "hermite").unwrap();
        let options = Options::resolve("hermite", approximation.options, &[]).unwrap();
        let fit = (approximation.build)(&options).choose(false);
        let mut traces = Traces::new(1);
        for (k, y) in y.into_iter().enumerate() {
            traces.open(time(k as f64 * 1e-4));
            traces.put(0, &[y], &[slope]);
            traces.commit();
        }
        fit.extrapolate(traces.trace(0), Window { from: time(2e-4), to: time(3e-4), size: 1e-4 }).slope(0.0)
    };
    // A mean slope of 1.00000001 is rounding at 1e8, and not at 1.
    let at = |base: f64| fit([base, base + 1.0e-4, base + 2.0e-4], 1.0);
    assert_eq!(at(1e8), 1.0);
    assert_eq!(at(-1e8), 1.0);
    assert_ne!(fit([0.0, 1e-4, 2.0001e-4], 1.0), 1.0);
}

#[test]
fn one_sample_before_predicts_itself() {
    let mut scene = Scene::new();
    scene.traces = Traces::new(2);
    for (t, values) in [(0.5, [2.0, -4.0]), (1.0, [5.0, -1.0])] {
        scene.traces.open(time(t));
        scene.traces.put(0, &values, &[]);
        scene.traces.commit();
    }
    let busch = estimate("predictor-corrector", &[("tolerance", 0.5), ("weight", 0.0)]);
    close(busch.measure(&scene.record()), 3.0 / 0.5);
}

#[test]
fn what_is_no_number_is_no_small_error() {
    let mut scene = Scene::new();
    let names = ["power-residual", "power-and-outputs"];
    scene.powers[0].residual = f64::NAN;
    assert!(names.iter().all(|name| estimate(name, &[]).measure(&scene.record()).is_nan()));
    let mut scene = Scene::new();
    scene.traces.open(time(1.5));
    scene.traces.put(0, &[1.0, f64::NAN], &[]);
    for name in ["predictor-corrector", "power-and-outputs", "milne", "richardson"] {
        assert!(estimate(name, &[]).measure(&scene.record()).is_nan(), "{name}");
    }
}
