//! The pre-step correction: against its own recurrence by other means, where it has nothing to do, as FMUs, with old
//! derivatives, and with a simulator without a linear model or with a bad one.
#![allow(clippy::unwrap_used)] // helpers of tests are tests

use std::ops::AddAssign;

use crate::common::{
    DUAL_MASS, DualMass, bits, folder, observed_order, run_to_the_end, start, system, truth,
};
use cosimo::analysis::stability::radius;
use cosimo::core::linear_model::{OperatingPoint, StateSpaceMatrices};
use cosimo::core::registry::{OpenRequest, OpenResult};
use cosimo::core::simulator::StateSpace;
use cosimo::core::{
    Abilities, Derivatives, Inputs, Interface, Outputs, Port, Setup, Simulator, SimulatorError, SourceEntry,
    StateSpaceAccess, StepResult, Time, Window,
};
use cosimo::engine::{Run, plan};
use cosimo::export::{Design, InterfaceType, Version, built_library, write};
use nalgebra::{DMatrix, DVector};

const STIFF: f64 = 2.25e-5;
const MILD: f64 = 0.1;

/// Bob and oscillator as sources, with more parameters of either.
fn pendulum([bob, mass]: [&str; 2], [of_bob, of_mass]: [&str; 2], method: &str) -> String {
    format!(
        "[experiment]\nstop = 1.0\n[component.bob]\nsource = \"{bob}\"\nparameters = {{ {of_bob} }}\n\
         [component.mass]\nsource = \"{mass}\"\nparameters = {{ {of_mass} }}\n\
         [[connection]]\nfrom = \"bob.x\"\nto = \"mass.x_far\"\n[[connection]]\nfrom = \"bob.v\"\nto = \"mass.v_far\"\n\
         [[connection]]\nfrom = \"mass.x\"\nto = \"bob.x_far\"\n[[connection]]\nfrom = \"mass.v\"\nto = \"bob.v_far\"\n\
         [reference]\nmodel = \"{model}\"\nports = {{ \"bob.x\" = \"X\", \"mass.x\" = \"x\" }}\n[method]\n{method}\n",
        model = if bob.ends_with("linear") { "pendulum-linear" } else { "pendulum" }
    )
}

const LINEAR: [&str; 2] = ["native:pendulum/bob-linear", "native:pendulum/oscillator"];

fn linear(m2: f64, size: f64, correction: &str) -> String {
    let method = format!("correction = {correction}\nstep = {{ size = {size:?} }}");
    pendulum(LINEAR, ["", &format!("m2 = {m2:?}")], &method)
}

/// The method as Eqs. (2) to (4) of the paper have it, for two simulators: the error equation is integrated beside the
/// simulators, with the error of the inputs inside a step from the linear models. Matrices and exponentials by others.
struct Oracle {
    a: DMatrix<f64>,
    b: DMatrix<f64>,
    c: DMatrix<f64>,
    d: DMatrix<f64>,
    l: DMatrix<f64>,
    drift: DVector<f64>,
    /// Inputs and states of the first simulator.
    first: (usize, usize),
    x: DVector<f64>,
    e: DVector<f64>,
    u: DVector<f64>,
}

fn exponential(a: &DMatrix<f64>, extra: &DMatrix<f64>, h: f64) -> (DMatrix<f64>, DMatrix<f64>) {
    let (n, m) = extra.shape();
    let mut big = DMatrix::zeros(n + m, n + m);
    big.view_mut((0, 0), (n, n)).copy_from(&(a * h));
    big.view_mut((0, n), (n, m)).copy_from(&(extra * h));
    let big = big.exp();
    (big.view((0, 0), (n, n)).into_owned(), big.view((0, n), (n, m)).into_owned())
}

impl Oracle {
    fn step(&mut self, h: f64, input: &str, weights: &[f64]) {
        let (n, m) = self.b.shape();
        let one = DMatrix::identity(m, m);
        let gain = (&one - &self.l * &self.d).try_inverse().unwrap();
        let ac = &self.a + &self.b * &gain * &self.l * &self.c;
        let drive = &self.b; // a enters through B and through the outputs only by way of the drift of the states
        let xe = &self.x + &self.e;
        // (3), with the mean over the step: the integral of xe is the state of another chain.
        let mut chain = DMatrix::zeros(2 * n, 2 * n);
        chain.view_mut((0, 0), (n, n)).copy_from(&ac);
        chain.view_mut((n, 0), (n, n)).copy_from(&DMatrix::identity(n, n));
        let mut push = DMatrix::zeros(2 * n, 1);
        push.view_mut((0, 0), (n, 1)).copy_from(&self.drift);
        let (flow, forced) = exponential(&chain, &push, h);
        let mut begin = DVector::zeros(2 * n);
        begin.rows_mut(0, n).copy_from(&xe);
        let end = flow * begin + forced.column(0);
        let inputs = |x: &DVector<f64>| &gain * &self.l * &self.c * x;
        self.u = if input == "mean" {
            inputs(&(end.rows(n, n) / h).into_owned())
        } else {
            let mut u = inputs(&xe);
            for (ports, states) in [(0..self.first.0, 0..self.first.1), (self.first.0..m, self.first.1..n)] {
                let (ports, states) = ((ports.start, ports.len()), (states.start, states.len()));
                let a = self.a.view((states.0, states.0), (states.1, states.1)).into_owned();
                let mut b = DMatrix::zeros(states.1, ports.1 + 1);
                b.view_mut((0, 0), (states.1, ports.1))
                    .copy_from(&self.b.view((states.0, ports.0), (states.1, ports.1)));
                b.column_mut(ports.1).copy_from(&self.drift.rows(states.0, states.1));
                let (phi_a, phi_b) = exponential(&a, &b, h);
                let w = DMatrix::from_diagonal(&DVector::from_column_slice(&weights[states.0..][..states.1]));
                let mine = phi_b.columns(0, ports.1).into_owned();
                let left = end.rows(states.0, states.1)
                    - phi_a * self.x.rows(states.0, states.1)
                    - &mine * u.rows(ports.0, ports.1)
                    - phi_b.column(ports.1);
                let svd = (&w * mine).svd(true, true);
                let cut = 1e-9 * svd.singular_values.max();
                let more = svd.pseudo_inverse(cut).unwrap() * w * left;
                u.rows_mut(ports.0, ports.1).add_assign(&more);
            }
            u
        };
        // (2) beside the simulators: x' = A x + B u + a, e' = Ac e + B (1 - L D)^-1 (L (C x + D u) - u).
        let mut both = DMatrix::zeros(2 * n, 2 * n);
        both.view_mut((0, 0), (n, n)).copy_from(&self.a);
        both.view_mut((n, n), (n, n)).copy_from(&ac);
        both.view_mut((n, 0), (n, n)).copy_from(&(drive * &gain * &self.l * &self.c));
        let mut push = DMatrix::zeros(2 * n, 1);
        push.view_mut((0, 0), (n, 1)).copy_from(&(drive * &self.u + &self.drift));
        push.view_mut((n, 0), (n, 1)).copy_from(&(drive * &gain * (&self.l * &self.d * &self.u - &self.u)));
        let (flow, forced) = exponential(&both, &push, h);
        let mut begin = DVector::zeros(2 * n);
        begin.rows_mut(0, n).copy_from(&self.x);
        begin.rows_mut(n, n).copy_from(&self.e);
        let end = flow * begin + forced.column(0);
        (self.x, self.e) = (end.rows(0, n).into_owned(), end.rows(n, n).into_owned());
    }

    fn outputs(&self) -> DVector<f64> {
        &self.c * &self.x + &self.d * &self.u
    }
}

fn swings(m2: f64) -> Oracle {
    let (m1, g, c, k, d, x): (f64, f64, f64, f64, f64, f64) = (1.0, 9.81, 10.0, 1e3, 10.0, 0.5f64.sin());
    #[rustfmt::skip]
    let a = DMatrix::from_row_slice(4, 4, &[
        0.0, 1.0, 0.0, 0.0,
        -(k + g) / m1, -d / m1, 0.0, 0.0,
        0.0, 0.0, 0.0, 1.0,
        0.0, 0.0, -(k + c) / m2, -d / m2,
    ]);
    let mut b = DMatrix::zeros(4, 4);
    (b[(1, 0)], b[(1, 1)], b[(3, 2)], b[(3, 3)]) = (k / m1, d / m1, k / m2, d / m2);
    let l = DMatrix::from_fn(4, 4, |row, column| f64::from(u8::from((row + 2) % 4 == column)));
    let x = DVector::from_vec(vec![x, 0.0, x * k / (k + c), 0.0]);
    let (c, d) = (DMatrix::identity(4, 4), DMatrix::zeros(4, 4));
    let u = &l * &x;
    Oracle { a, b, c, d, l, drift: DVector::zeros(4), first: (2, 2), e: DVector::zeros(4), x, u }
}

/// Reticulation 1, with feed-through and a drift.
fn rides() -> Oracle {
    let (mc, mw, kc, kw, dc, road) = (400.0, 40.0, 15000.0, 150000.0, 1000.0, 0.1);
    #[rustfmt::skip]
    let a = DMatrix::from_row_slice(4, 4, &[
        0.0, 0.0, 0.0, 0.0,
        0.0, 0.0, 1.0, 0.0,
        0.0, -(kw + kc) / mw, -dc / mw, kc / mw,
        0.0, 0.0, 0.0, 0.0,
    ]);
    let b = DMatrix::from_row_slice(4, 2, &[-1.0 / mc, 0.0, 0.0, 0.0, 0.0, dc / mw, 0.0, 1.0]);
    let c = DMatrix::from_row_slice(2, 4, &[1.0, 0.0, 0.0, 0.0, 0.0, -kc, -dc, kc]);
    let d = DMatrix::from_row_slice(2, 2, &[0.0, 0.0, 0.0, dc]);
    let l = DMatrix::from_row_slice(2, 2, &[0.0, 1.0, 1.0, 0.0]);
    let drift = DVector::from_vec(vec![0.0, 0.0, kw * road / mw, 0.0]);
    let zeros = || DVector::zeros(4);
    Oracle { a, b, c, d, l, drift, first: (1, 1), x: zeros(), e: zeros(), u: DVector::zeros(2) }
}

const CAR: &str = "[experiment]\nstop = 4.0\n[component.chassis]\nsource = \"native:quarter-car/linear-chassis\"\n\
    [component.wheel]\nsource = \"native:quarter-car/linear-wheel-strut\"\n[[bond]]\n\
    a = { effort = \"chassis.F\", flow = \"chassis.v\" }\nb = { effort = \"wheel.F\", flow = \"wheel.v\" }\n[method]\n";

/// The largest difference between a run and the oracle in the given outputs, as a part of the largest value.
fn distance(
    mut run: Run,
    mut oracle: Oracle,
    names: &[&str],
    (h, input): (f64, &str),
    weights: &[f64],
) -> f64 {
    let (mut worst, mut largest) = (0.0f64, 0.0f64);
    for _ in 0..100 {
        run.step().unwrap();
        oracle.step(h, input, weights);
        for (name, expected) in names.iter().zip(oracle.outputs().iter()) {
            worst = worst.max((run.output(name).unwrap() - expected).abs());
            largest = largest.max(expected.abs());
        }
    }
    worst / largest
}

const CHOICES: [(&str, &str); 3] = [("end", "balanced"), ("end", "identity"), ("mean", "balanced")];

fn pre_step(input: &str, weight: &str) -> String {
    format!("{{ pre-step = {{ input = \"{input}\", weight = \"{weight}\" }} }}")
}

#[test]
fn the_engine_repeats_the_recurrence() {
    let names = ["bob.x", "bob.v", "mass.x", "mass.v"];
    // An exponential keeps the slow mode to a rounding error times the norm of its matrix over the slow eigenvalue, here
    // as there: a few 1e-13 of the mild pair; of the stiff one 1e-9, unless steps are so short that they follow the fast
    // mode. There a weight of 1/H makes a rounding error of a position count 1e7 times: that one stays at 1e-8.
    for (m2, h, within) in [
        (MILD, 1e-3, 3e-12),
        (MILD, 1e-2, 1e-12),
        (STIFF, 1e-7, 1e-12),
        (STIFF, 1e-3, 1e-8),
        (STIFF, 1e-2, 1e-8),
    ] {
        for (input, weight) in CHOICES {
            let integral = if weight == "balanced" { 1.0 / h } else { 1.0 };
            let within = if (h, input, weight) == (1e-7, "end", "balanced") { 1e-8 } else { within };
            let run = start(&linear(m2, h, &pre_step(input, weight)), 1);
            let found = distance(run, swings(m2), &names, (h, input), &[integral, 1.0, integral, 1.0]);
            println!("{m2} {h} {input} {weight}: {found:e}");
            assert!(found < within, "{m2} {h} {input} {weight}: {found:e}");
        }
    }
    for h in [2e-3, 2e-2] {
        for (input, weight) in CHOICES {
            let integral = if weight == "balanced" { 1.0 / h } else { 1.0 };
            let method = format!("correction = {}\nstep = {{ size = {h:?} }}", pre_step(input, weight));
            let run = start(&format!("{CAR}{method}\n"), 1);
            let weights = [1.0, integral, 1.0, integral];
            let found = distance(run, rides(), &["chassis.v", "wheel.F"], (h, input), &weights);
            println!("car {h} {input} {weight}: {found:e}");
            assert!(found < 1e-13, "{h} {input} {weight}: {found:e}");
        }
    }
}

/// A circuit at rest in numbers that a double holds exactly: what is held is what was held, to the bit.
#[test]
fn where_nothing_moves_nothing_is_added() {
    let at_rest = |correction: &str, input: &str| {
        format!(
            "[experiment]\nstop = 1\n\
             [component.rc]\nsource = \"native:rc-rl/rc\"\n\
             parameters = {{ R1 = 1.0, C = 0.5, V0 = 3.0, v0 = 2.0, solver = \"euler\", micro_steps = 4 }}\n\
             [component.rl]\nsource = \"native:rc-rl/rl\"\n\
             parameters = {{ R2 = 2.0, L = 0.5, i0 = 1.0, solver = \"euler\", micro_steps = 4 }}\n\
             [[bond]]\na = {{ effort = \"rc.v\", flow = \"rc.i\" }}\nb = {{ effort = \"rl.v\", flow = \"rl.i\" }}\n\
             [method]\ninput = \"{input}\"\ncorrection = {correction}\nstep = {{ size = 0.03125 }}\n"
        )
    };
    for entry in cosimo::registry().inputs {
        let mut plain = start(&at_rest("\"none\"", entry.name), 1);
        run_to_the_end(&mut plain);
        for (input, weight) in CHOICES {
            let mut corrected = start(&at_rest(&pre_step(input, weight), entry.name), 1);
            while !corrected.finished() {
                corrected.step().unwrap();
                let board = &corrected.island().board;
                assert!(board.replaced.iter().all(|replaced| *replaced), "it was in charge");
                assert!(board.memory.iter().all(|error| *error == 0.0));
            }
            assert_eq!(bits(&corrected), bits(&plain), "{}, {input}, {weight}", entry.name);
        }
    }
}

/// A simulator without inputs runs as without a correction.
#[test]
fn simulators_without_inputs_are_not_corrected() {
    let text = |correction: &str| {
        format!(
            "[experiment]\nstop = 1\n[component.one]\nsource = \"native:pendulum/bob-linear\"\n\
             start = {{ x_far = 0.1, v_far = 0.0 }}\n\
             [component.two]\nsource = \"native:pendulum/oscillator\"\n\
             [[connection]]\nfrom = \"one.x\"\nto = \"two.x_far\"\n[[connection]]\nfrom = \"one.v\"\nto = \"two.v_far\"\n\
             [method]\ncorrection = {correction}\nstep = {{ size = 0.01 }}\n"
        )
    };
    let (mut plain, mut corrected) = (start(&text("\"none\""), 1), start(&text("\"pre-step\""), 1));
    run_to_the_end(&mut plain);
    run_to_the_end(&mut corrected);
    let seen = |run: &Run, name: &str| run.output(name).unwrap();
    assert_eq!(seen(&plain, "one.x").to_bits(), seen(&corrected, "one.x").to_bits());
    assert_ne!(seen(&plain, "two.x"), seen(&corrected, "two.x"));
}

/// The mean absolute error of both positions.
fn mean_error(text: &str) -> (f64, Run) {
    let registry = cosimo::registry();
    let mut run = start(text, 1);
    let (mut times, mut values) =
        (vec![0.0], vec![run.output("bob.x").unwrap(), run.output("mass.x").unwrap()]);
    while !run.finished() {
        run.step().unwrap();
        times.push(run.time().seconds());
        values.extend(["bob.x", "mass.x"].map(|name| run.output(name).unwrap()));
    }
    let exact = cosimo::reference::solve(&system(text, &registry), &times, &registry).unwrap();
    let sum: f64 = exact.rows.iter().flatten().zip(&values).map(|(exact, value)| (value - exact).abs()).sum();
    (sum / values.len() as f64, run)
}

/// Errors of the nonlinear stiff pendulum with derivatives of the start, by scipy; and their age is counted.
#[test]
fn old_derivatives_cost_what_they_should() {
    for (size, expected) in [(1e-3, 3.83e-3), (1e-2, 3.70e-2)] {
        let micro_steps = (size / 1e-3f64).round();
        let method = |refresh: u64| {
            format!("correction = {{ pre-step = {{ refresh = {refresh} }} }}\nstep = {{ size = {size:?} }}")
        };
        let of_bob = format!("solver = \"rk4\", micro_steps = {micro_steps}");
        let of_mass = format!("m2 = {STIFF:?}");
        let text = |refresh| {
            let sources = ["native:pendulum/bob", "native:pendulum/oscillator"];
            pendulum(sources, [&of_bob, &of_mass], &method(refresh))
        };
        let (error, run) = mean_error(&text(0));
        assert!((error - expected).abs() < 0.06 * expected, "{error:e}");
        let counters = run.counters();
        assert_eq!((counters.linearised, counters.oldest_model), (1, counters.steps - 1));
        let (fresh, run) = mean_error(&text(1));
        assert!(fresh < error / 10.0, "{fresh:e}");
        assert_eq!((run.counters().linearised, run.counters().oldest_model), (run.counters().steps, 0));
        let (_, run) = mean_error(&text(7));
        assert_eq!(run.counters().linearised, run.counters().steps.div_ceil(7));
        assert_eq!(run.counters().oldest_model, 6);
    }
}

/// Writes an FMU of a native model and returns its name.
fn unit(model: &str, version: Version, kind: InterfaceType) -> String {
    let design = Design::new(&format!("native:{model}"), version).kind(kind);
    let name = format!("pre-step-{}", design.file_name());
    let draft = folder().join(format!("draft-{name}"));
    write(&design, &built_library().unwrap(), &draft).unwrap();
    std::fs::rename(draft, folder().join(&name)).unwrap();
    name
}

/// Units for co-simulation that list their states, by directional derivatives; equations, by those and by differences.
#[test]
fn units_come_to_what_native_models_come_to() {
    let method = |jacobian: &str, size: f64| {
        format!("correction = {{ pre-step = {{ jacobian = \"{jacobian}\" }} }}\nstep = {{ size = {size:?} }}")
    };
    let stepped = "\"cosimo.use\" = \"co-simulation\"";
    let solved = "\"cosimo.relative\" = 1e-11, \"cosimo.absolute\" = 1e-13";
    for (m2, size) in [(STIFF, 1e-3), (MILD, 1e-2)] {
        let m2 = format!("m2 = {m2:?}");
        let mut native = start(&pendulum(LINEAR, ["", &m2], &method("declared", size)), 1);
        run_to_the_end(&mut native);
        for version in Version::ALL {
            for (kind, jacobian, more) in [
                (InterfaceType::Both, "directional", stepped),
                (InterfaceType::Both, "auto", stepped),
                (InterfaceType::ModelExchange, "directional", solved),
                (InterfaceType::ModelExchange, "difference", solved),
            ] {
                let sources =
                    ["pendulum/bob-linear", "pendulum/oscillator"].map(|model| unit(model, version, kind));
                let of_mass = format!("{m2}, {more}");
                let [bob, mass] = &sources;
                let text = pendulum([bob, mass], [more, &of_mass], &method(jacobian, size));
                let text = text.replace("model = \"pendulum\"", "model = \"pendulum-linear\"");
                let registry = cosimo::registry();
                let plan = plan(&system(&text, &registry), &registry).unwrap();
                let missing = plan.warnings.iter().filter(|warning| warning.code == "plan/no-linear-model");
                assert_eq!(missing.count(), 0, "{version:?} {kind:?}");
                let mut run = Run::new(plan, 1).unwrap();
                run_to_the_end(&mut run);
                for (found, expected) in run.outputs().iter().zip(native.outputs()) {
                    assert!(
                        (found - expected).abs() < 1e-6 * expected.abs().max(0.1),
                        "{version:?} {kind:?} {jacobian}: {found} {expected}"
                    );
                }
            }
        }
    }
}

/// A unit that hides its states is named, and everything goes as if there were no correction.
#[test]
fn without_models_inputs_are_as_fitted() {
    let sources =
        [unit("pendulum/bob-linear", Version::Two, InterfaceType::CoSimulation), LINEAR[1].to_owned()];
    let text = |correction: &str| {
        let method = format!("correction = {correction}\nstep = {{ size = 0.01 }}");
        pendulum([&sources[0], &sources[1]], ["", ""], &method)
    };
    let registry = cosimo::registry();
    let plan = plan(&system(&text("\"pre-step\""), &registry), &registry).unwrap();
    let warning = plan.warnings.iter().find(|warning| warning.code == "plan/no-linear-model").unwrap();
    assert!(warning.message.contains("no linear model of `bob`"), "{}", warning.message);
    let (mut corrected, mut plain) = (Run::new(plan, 1).unwrap(), start(&text("\"none\""), 1));
    run_to_the_end(&mut corrected);
    run_to_the_end(&mut plain);
    assert_eq!(bits(&corrected), bits(&plain));
}

/// Errors of the dual mass, which has feed-through, fall with the square of the step; and steps that hold cannot take
/// are taken.
#[test]
fn errors_fall_fast_and_large_steps_are_stable() {
    let sizes = [0.04, 0.02, 0.01, 0.005];
    for correction in ["\"pre-step\"", "{ pre-step = { input = \"mean\" } }"] {
        let error = |size: f64| {
            let method = format!("correction = {correction}\nstep = {{ size = {size:?} }}");
            let mut run = DualMass { stop: 4.0, method: &method, ..DUAL_MASS }.start();
            let mut worst = 0.0f64;
            while !run.finished() {
                run.step().unwrap();
                let row = &truth(&[run.time().seconds()])[0];
                worst = worst.max((run.output("left.x").unwrap() - row[0]).abs());
            }
            worst
        };
        let errors = sizes.map(error);
        let order = observed_order(&sizes, &errors);
        println!("{correction}: {errors:?}, order {order}");
        assert!(order > 1.9, "{correction}: {errors:?}");
    }
    let car = CAR
        .replace("linear-chassis\"", "linear-chassis-strut\"")
        .replace("linear-wheel-strut", "linear-wheel");
    let at = |correction: &str, size: f64| {
        let mut run = start(&format!("{car}correction = {correction}\nstep = {{ size = {size:?} }}\n"), 1);
        (0..3).for_each(|_| run.step().unwrap());
        radius(&mut run, size).unwrap().radius
    };
    assert!(at("\"none\"", 0.02) > 1.0 && at("\"pre-step\"", 0.02) < 1.0 && at("\"pre-step\"", 0.03) < 1.0);
}

/// Simulators without states have models, too.
#[test]
fn gains_have_models_without_states() {
    let text = |correction: &str| {
        format!(
            "[experiment]\nstop = 4\n\
             [component.first]\nsource = \"native:gain-loop/first\"\nparameters = {{ a = 0.75 }}\nstart = {{ u = 0.8 }}\n\
             [component.second]\nsource = \"native:gain-loop/second\"\n[component.lag]\nsource = \"native:gain-loop/lag\"\n\
             [[connection]]\nfrom = \"second.y\"\nto = \"first.u\"\n[[connection]]\nfrom = \"lag.x\"\nto = \"first.w\"\n\
             [[connection]]\nfrom = \"first.y\"\nto = \"second.u\"\n[[connection]]\nfrom = \"second.y\"\nto = \"lag.u\"\n\
             [reference]\nmodel = \"gain-loop\"\nports = {{ \"lag.x\" = \"x\" }}\n\
             [method]\ncorrection = {correction}\nstep = {{ size = 0.02 }}\n"
        )
    };
    let registry = cosimo::registry();
    let error = |correction: &str| {
        let mut run = start(&text(correction), 1);
        run_to_the_end(&mut run);
        let exact =
            cosimo::reference::solve(&system(&text(correction), &registry), &[4.0], &registry).unwrap();
        (run.output("lag.x").unwrap() - exact.rows[0][0]).abs()
    };
    let (plain, corrected) = (error("\"none\""), error("\"pre-step\""));
    println!("gain loop: {plain:e} {corrected:e}");
    assert!(corrected < plain / 100.0, "{plain:e} {corrected:e}");
}

/// A lag whose derivatives are no numbers.
struct Bad {
    interface: Interface,
}

impl Simulator for Bad {
    fn interface(&self) -> &Interface {
        &self.interface
    }
    fn initialize(&mut self, _: &Setup) -> Result<(), SimulatorError> {
        Ok(())
    }
    fn set_inputs(&mut self, _: Time, _: &Inputs<'_>) -> Result<(), SimulatorError> {
        Ok(())
    }
    fn do_step(&mut self, window: Window, _: &Inputs<'_>) -> Result<StepResult, SimulatorError> {
        Ok(StepResult::end_of(window, 1))
    }
    fn get_outputs(&mut self, out: &mut Outputs<'_>) -> Result<(), SimulatorError> {
        out.values.fill(0.0);
        Ok(())
    }
    fn state_space(&mut self) -> Option<&mut dyn StateSpace> {
        Some(self)
    }
}

impl StateSpace for Bad {
    fn operating_point(&mut self, into: &mut OperatingPoint<'_>) -> Result<(), SimulatorError> {
        (into.x[0], into.f[0], into.g[0]) = (0.0, 0.0, 0.0);
        Ok(())
    }
    fn derivatives_and_outputs(
        &mut self,
        _: &[f64],
        _: &[f64],
        _: &mut [f64],
        _: &mut [f64],
    ) -> Result<(), SimulatorError> {
        Ok(())
    }
    fn matrices(&mut self, _: &[f64], into: &mut StateSpaceMatrices<'_>) -> Result<(), SimulatorError> {
        into.set_column(0, [-1.0].into_iter(), [1.0].into_iter());
        into.set_column(1, [f64::NAN].into_iter(), [0.0].into_iter());
        Ok(())
    }
}

const BAD: SourceEntry = SourceEntry {
    name: "bad",
    summary: "a lag whose derivatives are no numbers",
    claims: |source| source.starts_with("bad:"),
    open: |_: &OpenRequest<'_>| -> OpenResult {
        let insight =
            Some(StateSpaceAccess { states: 1, derivatives: Derivatives::Declared, anywhere: false });
        let (inputs, outputs) = (vec![Port::new("u", "1", "")], vec![Port::new("y", "1", "")]);
        let abilities =
            Abilities { rollback: false, serialize_state: false, states: false, ..Abilities::NATIVE };
        Ok(Box::new(Bad {
            interface: Interface {
                inputs,
                outputs,
                state_space_access: insight,
                abilities,
                ..Interface::default()
            },
        }))
    },
    parameters: |_, _| Vec::new(),
    models: Vec::new,
    join: None,
};

#[test]
fn a_derivative_that_is_no_number_ends_the_run_with_its_place() {
    let mut registry = cosimo::registry();
    registry.add_source(&BAD);
    let text = "[experiment]\nstop = 1\n[component.a]\nsource = \"bad:\"\n[component.b]\nsource = \"bad:\"\n\
                [[connection]]\nfrom = \"a.y\"\nto = \"b.u\"\n[[connection]]\nfrom = \"b.y\"\nto = \"a.u\"\n\
                [method]\ncorrection = \"pre-step\"\nstep = { size = 0.1 }\n";
    let (system, problems) = cosimo::system::toml::read(text, &folder(), &registry);
    assert!(problems.is_empty(), "{problems:#?}");
    let mut run = Run::new(plan(&system, &registry).unwrap(), 1).unwrap();
    let message = run.step().unwrap_err().to_string();
    assert!(message.contains("`a`") && message.contains("dx'/du[1] is NaN"), "{message}");
}
