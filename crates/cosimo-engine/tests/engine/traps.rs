//! Mistakes that other tools made, each as a test: lost remainders under changing steps, norms that are none,
//! warnings that change results, drifting time, rows of unclear meaning, and steps below the least one.
#![allow(clippy::unwrap_used)] // helpers of tests are tests

use crate::common::{DUAL_MASS, DualMass, bits, column, rows, run_to_the_end, start};
use cosimo::core::link::{Bond, BondSide, Couplings, PowerVariable};
use cosimo::core::method::{BondPower, Estimate, Sizes, StepRecord};
use cosimo::core::registry::{Options, Value, find};
use cosimo::core::{Segment, Time, Traces, Window};
use cosimo::engine::Run;
use cosimo::record::{MemoryRecorder, Table};

fn oscillator(experiment: &str, method: &str) -> String {
    format!(
        "[experiment]\n{experiment}\n\
         [component.spring]\nsource = \"native:oscillator/spring-damper\"\n\
         [component.mass]\nsource = \"native:oscillator/mass\"\n\
         [[bond]]\nname = \"joint\"\n\
         a = {{ effort = \"spring.F\", flow = \"spring.v\" }}\nb = {{ effort = \"mass.F\", flow = \"mass.v\" }}\n\
         [method]\n{method}\n"
    )
}

/// How far the two positions of one mass are apart after 40 s under a step that follows the sign of v.
fn lasting_difference(correction: &str) -> f64 {
    let method = format!(
        "input = \"hold\"\nexchange = \"fresh\"\nstep = {{ size = 0.01 }}\n\
         correction = {{ \"spring.v\" = {correction}, default = \"none\" }}"
    );
    let mut run = start(&oscillator("stop = 40\nend = \"after\"", &method), 1);
    while run.time().seconds() < 40.0 {
        let v = run.output("mass.v").unwrap();
        run.set_next_size(if v < 0.0 { 0.1 } else { 0.01 });
        run.step().unwrap();
    }
    run.output("spring.x").unwrap() - run.output("mass.x").unwrap()
}

#[test]
fn trap_t3_an_account_leaves_no_lasting_error_under_changing_steps() {
    for gain in [0.4, 0.6, 1.0] {
        let left = lasting_difference(&format!("{{ nepce = {{ form = \"account\", gain = {gain:?} }} }}"));
        assert!(left.abs() < 1e-12, "gain {gain}: {left:e}");
    }
}

#[test]
fn trap_t3_without_an_account_the_error_stays() {
    let plain = lasting_difference("\"none\"");
    assert!((plain + 9.6e-4).abs() < 0.05 * 9.6e-4, "{plain:e}");
    for gain in [0.4, 0.6] {
        let correction =
            format!("{{ nepce = {{ form = \"paper\", quadrature = \"best\", gain = {gain:?} }} }}");
        let left = lasting_difference(&correction);
        assert!(left.abs() >= 1e-4, "gain {gain}: {left:e}");
    }
}

fn estimate(name: &str, options: &[(&str, f64)]) -> Box<dyn Estimate> {
    let entry = find(&cosimo::registry().estimates, name).unwrap();
    let given: Vec<(String, Value)> =
        options.iter().map(|(name, value)| ((*name).into(), Value::Number(*value))).collect();
    (entry.build)(&Options::resolve(name, entry.options, &given).unwrap())
}

fn window(from: f64, to: f64) -> Window {
    Window { from: Time::new(from).unwrap(), to: Time::new(to).unwrap(), size: to - from }
}

/// One output with the given samples a second apart, and bonds that carried the given powers.
fn measure(estimate: &dyn Estimate, samples: &[f64], powers: &[BondPower], degree: u32) -> f64 {
    let mut traces = Traces::new(1);
    for (t, y) in samples.iter().enumerate() {
        traces.open(Time::new(t as f64).unwrap());
        traces.put(0, &[*y], &[]);
        traces.commit();
    }
    let last = samples.len() as f64 - 1.0;
    let side = BondSide { effort: PowerVariable::Output(0), flow: PowerVariable::Input(0), sign: 1.0 };
    let bond = Bond { name: "b".into(), sides: vec![side, side], tolerance: None, energy_scale: None };
    let bonds = vec![bond; powers.len()];
    let shape =
        Sizes { inputs: 1, outputs: 1, bonds: bonds.len(), degree, feedthrough_depth: 0, ..Sizes::default() };
    estimate.measure(&StepRecord {
        window: window(last - 1.0, last),
        applied: &[Segment::ZERO],
        outputs: &samples[samples.len() - 1..],
        integrals: &[f64::NAN],
        stashed: &[0.0],
        traces: &traces,
        couplings: &Couplings::new(&[vec![]], vec![0.0]),
        bonds: &bonds,
        powers,
        tolerances: &[None],
        weights: &[None],
        connected: &[true],
        shape,
    })
}

const FACTORS: [f64; 5] = [1e-6, 0.1, 3.0, 100.0, 1e8];

fn near(found: f64, wanted: f64) -> bool {
    (found - wanted).abs() <= 1e-14 * wanted.abs()
}

#[test]
fn trap_t4_the_power_residual_is_a_norm() {
    let powers = |factor: f64| {
        [(5.0, 0.02), (-80.0, -0.7)]
            .map(|(transmitted, residual)| BondPower { transmitted, residual: factor * residual })
    };
    let plain = estimate("power-residual", &[("tolerance", 1e-3), ("energy_scale", 20.0)]);
    let one = measure(&*plain, &[0.0, 0.0], &powers(1.0), 0);
    assert!(one > 0.0);
    for factor in FACTORS {
        let scaled = measure(&*plain, &[0.0, 0.0], &powers(factor), 0);
        assert!(near(scaled, factor * one), "{factor} times the error is {} times the measure", scaled / one);

        // Joules or calories: all energies change together, nothing else does.
        let units = powers(1.0).map(|power| BondPower {
            transmitted: factor * power.transmitted,
            residual: factor * power.residual,
        });
        let other = estimate("power-residual", &[("tolerance", 1e-3), ("energy_scale", factor * 20.0)]);
        assert!(near(measure(&*other, &[0.0, 0.0], &units, 0), one), "in other units, {factor}");
    }
    // The same news twice is no news.
    let twice: Vec<BondPower> = powers(1.0).into_iter().chain(powers(1.0)).collect();
    assert!(near(measure(&*plain, &[0.0, 0.0], &twice, 0), one));
    // A tolerance ten times as large makes the error ten times as small.
    let loose = estimate("power-residual", &[("tolerance", 1e-2), ("energy_scale", 20.0)]);
    assert!(near(measure(&*loose, &[0.0, 0.0], &powers(1.0), 0), one / 10.0));
}

#[test]
fn trap_t4_predictor_corrector_is_a_norm() {
    // The line through 0, 0, 0 predicts 0, so the newest value is the error.
    for degree in [0, 1] {
        let samples = |error: f64| [0.0, 0.0, 0.0, 0.0, error];
        let bare = estimate("predictor-corrector", &[("tolerance", 1e-2), ("weight", 0.0)]);
        let one = measure(&*bare, &samples(0.25), &[], degree);
        assert!(near(one, 25.0), "{one}");
        for factor in FACTORS {
            let scaled = measure(&*bare, &samples(0.25 * factor), &[], degree);
            assert!(near(scaled, factor * one), "{factor}: {scaled}");
        }
        // A small weight bends it by as little as the weight says.
        let weight = 1e-4;
        let weighted = estimate("predictor-corrector", &[("tolerance", 1e-2), ("weight", weight)]);
        for factor in [0.1, 2.0, 40.0] {
            let error = 0.25 * factor;
            let scaled = measure(&*weighted, &samples(error), &[], degree);
            let wanted = factor * one;
            assert!(scaled < wanted && scaled >= wanted * (1.0 - weight * error), "{factor}: {scaled}");
        }
    }
}

#[test]
fn every_estimate_is_homogeneous_or_silent() {
    // For a new estimate: ten times the residual and ten times the surprise are ten times the measure.
    for entry in cosimo::registry().estimates {
        let options: Vec<(&str, f64)> =
            entry.options.iter().filter(|spec| spec.name == "weight").map(|_| ("weight", 0.0)).collect();
        let estimate = estimate(entry.name, &options);
        let of = |factor: f64| {
            let power = BondPower { transmitted: 3.0, residual: 0.01 * factor };
            measure(&*estimate, &[0.0, 0.0, 0.0, 0.0, 0.01 * factor], &[power], 0)
        };
        assert!(near(of(10.0), 10.0 * of(1.0)), "{}: {} and {}", entry.name, of(10.0), of(1.0));
    }
}

/// A warning and the value it names: the same bits as without the warning.
#[test]
fn trap_t5_a_remark_changes_no_bit() {
    let step = "step = { estimate = \"power-residual\", controller = \"pi\", tolerance = 1e-3, min = 1e-4, max = 0.1 }";
    let run = |bond: &str| {
        let mut run = DualMass { stop: 3.0, bond: Some(bond), method: step, ..DUAL_MASS }.start();
        let mut all = vec![bits(&run)];
        while !run.finished() {
            run.step().unwrap();
            all.push(bits(&run));
        }
        (run.warnings().iter().map(|warning| warning.code).collect::<Vec<_>>(), all)
    };
    let (warnings, with) = run("");
    let (silence, without) = run("energy_scale = 1.0\n");
    assert_eq!((warnings, silence), (vec!["plan/no-energy-scale"], vec![]));
    assert!(with.len() > 50, "{} steps", with.len());
    assert_eq!(with, without);
    assert_ne!(with, run("energy_scale = 2.0\n").1, "the energy scale had no effect at all");
}

#[test]
fn trap_t6_equal_steps_are_multiples_and_end_at_the_end() {
    let text = DualMass { stop: 1.0, method: "step = { size = 1e-5 }", ..DUAL_MASS }.text();
    let table = rows(&text);
    let times = column(&table, "time");
    assert_eq!(times.len(), 100_001);
    for (n, time) in times.iter().enumerate() {
        assert_eq!(time.to_bits(), (n as f64 * 1e-5).to_bits(), "row {n}: {time:?}");
    }
    assert_eq!(times.last(), Some(&1.0));
}

#[test]
fn trap_t6_a_run_in_pieces_has_the_bits_of_a_run_in_one() {
    for method in [
        "step = { size = 1e-3 }",
        "input = \"linear\"\nstep = { estimate = \"power-residual\", controller = \"pi\", tolerance = 1e-4, max = 0.1 }",
    ] {
        let text = DualMass { stop: 1.0, method, ..DUAL_MASS }.text();
        let whole = rows(&text);
        let mut run = start(&text, 1);
        let memory = MemoryRecorder::default();
        run.record(Box::new(memory.clone())).unwrap();
        let mut t = 0.0;
        while !run.finished() {
            t += 0.0037; // never a communication point
            run.run_until(Time::new(t).unwrap()).unwrap();
            run.run_until(Time::new(t - 0.002).unwrap()).unwrap(); // the past is no order to step
        }
        let bits =
            |table: &Table| -> Vec<u64> { table.values.iter().flatten().map(|x| x.to_bits()).collect() };
        assert_eq!(bits(&memory.table()), bits(&whole), "{method}");
    }
}

/// The oscillator by hand: hold, spring and damper on the velocity, mass on the force.
#[test]
fn trap_t7_a_row_says_what_its_record_point_says() {
    let h = 0.1;
    for exchange in ["stale", "fresh"] {
        for record in ["before-exchange", "after-exchange"] {
            let method = format!("exchange = \"{exchange}\"\nstep = {{ size = {h:?} }}");
            let table = rows(&oscillator(&format!("stop = 0.5\nrecord = \"{record}\""), &method));
            let columns = ["spring.F", "spring.v", "spring.x", "mass.v", "mass.F", "mass.x"];
            let found = columns.map(|name| column(&table, name));
            // What is exchanged at the start is consistent.
            let (mut x1, mut x2, mut v) = (1.0, 1.0, 0.0);
            let (mut told_v, mut told_f) = (0.0, -1.0);
            for (found, wanted) in found.iter().zip([-1.0, 0.0, 1.0, 0.0, -1.0, 1.0]) {
                assert_eq!(found[0], wanted, "{exchange}, {record}: the first row");
            }
            for row in 1..=5 {
                let (applied_v, applied_f) = (told_v, told_f);
                x1 += applied_v * h;
                x2 += v * h + applied_f * h * h / 2.0;
                v += applied_f * h;
                let left = -(x1 + applied_v); // the spring's force as the step left it
                (told_v, told_f) = (v, if exchange == "fresh" { -(x1 + v) } else { left });
                let wanted = match record {
                    "before-exchange" => [left, applied_v, x1, v, applied_f, x2],
                    _ => [told_f, told_v, x1, v, told_f, x2],
                };
                for ((name, found), wanted) in columns.iter().zip(&found).zip(wanted) {
                    let found = found[row];
                    assert!(
                        (found - wanted).abs() < 1e-14,
                        "{exchange}, {record}, row {row}: {name} is {found}, not {wanted}"
                    );
                }
            }
        }
    }
}

#[test]
fn trap_t11_less_than_the_minimum_is_the_minimum() {
    for law in ["i", "pi", "pid"] {
        for reject in ["never", "above-one"] {
            let method = format!(
                "step = {{ estimate = {{ power-residual = {{ energy_scale = 1.0 }} }}, controller = \"{law}\", \
                 tolerance = 1e-12, size = 1e-9, min = 0.01, max = 0.1, reject = \"{reject}\" }}"
            );
            let mut run: Run = DualMass { stop: 1.0, method: &method, ..DUAL_MASS }.start();
            // The very first step may be good: nothing moves yet, so what it asks for is not the subject.
            run.step().unwrap();
            assert_eq!(run.sizes().0, 0.01, "{law}: the first size");
            while run.sizes().1 != 0.01 {
                run.step().unwrap();
                assert!(run.time().seconds() < 0.5, "{law}: never asks for less than the minimum");
            }
            while !run.finished() {
                run.step().unwrap();
                if !run.finished() {
                    assert_eq!(run.sizes().0.to_bits(), 0.01f64.to_bits(), "{law}, {reject}");
                }
            }
            assert!(run.counters().at_minimum > 80 && run.counters().above_one > 80);
        }
    }
}

/// Only an event or the end may cut a step short without a word to the next one.
#[test]
fn a_rejected_size_is_not_tried_again_at_once() {
    let method = "step = { estimate = { power-residual = { energy_scale = 1.0 } }, controller = \"pi\", tolerance = 1e-4, \
                  size = 0.15, min = 1e-4, max = 0.15, grow = 1.5, reject = \"above-one\" }";
    let mut run = DualMass { stop: 5.0, method, ..DUAL_MASS }.start();
    while !run.finished() {
        run.step().unwrap();
        let (taken, next) = run.sizes();
        assert!(run.finished() || next <= 1.5 * taken, "{}: {next} after {taken}", run.time());
    }
    assert!(run.counters().rejected > 0);
}

/// The limits hold for whatever the law asks.
#[test]
fn no_step_is_outside_the_limits_but_the_last() {
    let method = "step = { estimate = \"power-residual\", controller = \"pi\", tolerance = 1e-3, size = 0.05, min = 2e-3, \
                  max = 0.04 }";
    let mut run = DualMass { stop: 5.0, method, ..DUAL_MASS }.start();
    while !run.finished() {
        run.step().unwrap();
        let size = run.sizes().0;
        assert!(run.finished() || (2e-3..=0.04).contains(&size), "{size}");
    }
    run_to_the_end(&mut run);
    assert_eq!(run.time().seconds(), 5.0);
}
