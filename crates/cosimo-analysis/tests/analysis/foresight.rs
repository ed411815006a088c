//! What is predicted happens: remedies make runs stable, exchanged roles have the radius that was foretold, orders and
//! correlations are those of the models.
#![allow(clippy::unwrap_used)] // helpers of tests are tests

use std::path::Path;

use crate::common::{DUAL_MASS, DualMass, Made, start, system};
use cosimo::analysis::causality::{Advice, advise};
use cosimo::analysis::forecast::{NoForecast, forecast};
use cosimo::analysis::linearise::linearise;
use cosimo::analysis::stability::{Limit, ProbeMethod, radius};
use cosimo::analysis::{correlation, order};
use cosimo::engine::{Run, plan};
use cosimo::export::Version;
use cosimo::system::{Overrides, System, overrides, toml};

/// A cut of the steering with steps of the given size.
fn steering(case: usize, size: f64, sets: &[&str]) -> System {
    let registry = cosimo::registry();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../examples/epas/case-{case}.toml"));
    let (mut system, problems) =
        toml::read(&std::fs::read_to_string(file).unwrap(), Path::new("."), &registry);
    assert!(problems.is_empty());
    let mut sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
    sets.push(format!("micro_steps={}", (size / 1e-4).round()));
    let asked = Overrides { sets, step: Some(size), ..Overrides::default() };
    assert!(overrides::apply(&mut system, &asked, &registry).is_empty());
    system
}

const LINEAR: [&str; 3] = ["friction=false", "saturation=false", "amplitude=0"];

fn run(system: &System) -> Run {
    Run::new(plan(system, &cosimo::registry()).unwrap(), 1).unwrap()
}

fn advice(system: &System, size: f64) -> Advice {
    let registry = cosimo::registry();
    let mut run = run(system);
    let linear = linearise(system, &registry, &mut run, size).unwrap();
    let mut all = advise(&linear, run.layout(), size);
    assert_eq!(all.len(), 1);
    all.remove(0)
}

/// Wu 2018, Sec. 8: the tie rod told by the rack and the belt told by the motor are too stiff for what receives them.
#[test]
fn exchanged_roles_have_the_radius_of_the_other_cut() {
    let size = 5e-3;
    let held = |case: usize| {
        let mut system = steering(case, size, &LINEAR);
        system.methods.input.inputs.clear();
        radius(&mut run(&system), size).unwrap().radius
    };
    for (case, other, swap, [teller, receiver]) in [
        (1, 2, false, ["vehicle", "steering"]),
        (2, 1, true, ["steering", "vehicle"]),
        (3, 4, false, ["mechanics", "motor"]),
        (4, 3, true, ["motor", "mechanics"]),
    ] {
        let found = advice(&steering(case, size, &LINEAR), size);
        assert_eq!([found.tells_effort.as_str(), found.receives_effort.as_str()], [teller, receiver]);
        assert!(
            (found.radius_held - held(case)).abs() < 1e-5,
            "{case}: {} {}",
            found.radius_held,
            held(case)
        );
        let foretold = found.radius_exchanged.unwrap();
        assert!((foretold - held(other)).abs() < 1e-5, "{case}: {foretold} {}", held(other));
        assert_eq!((found.stiff, found.exchange), (swap, swap), "{case}: {found:?}");
        let there = advice(&steering(other, size, &LINEAR), size);
        let gain = found.gain_exchanged.unwrap();
        assert!((gain - there.gain).abs() < 1e-3 * there.gain.abs(), "{case}: {gain} {}", there.gain);
    }
}

/// Wu 2018, Sec. 5: a stiff interface wants the force to go to the heavier body.
#[test]
fn the_heavier_body_should_receive_the_force() {
    for (m1, m2, swap) in [(400.0, 100.0, true), (100.0, 400.0, false), (450.0, 50.0, true)] {
        let text = DualMass { method: "step = { size = 0.1 }", ..DUAL_MASS }.text();
        let text = text
            .replace("x10 = 1.0,", &format!("x10 = 1.0, kc = 3000, dc = 3000, m1 = {m1:?},"))
            .replace("x20 = 0.0,", &format!("x20 = 0.0, m2 = {m2:?},"));
        let registry = cosimo::registry();
        let found = advice(&system(&text, &registry), 0.1);
        assert_eq!(found.exchange, swap, "{m1}, {m2}: {found:?}");
        let mirrored = DualMass { mirrored: true, method: "step = { size = 0.1 }", ..DUAL_MASS }.text();
        let mirrored = mirrored
            .replace("x10 = 1.0,", &format!("x10 = 1.0, m1 = {m1:?},"))
            .replace("x20 = 0.0,", &format!("x20 = 0.0, kc = 3000, dc = 3000, m2 = {m2:?},"));
        let there = radius(&mut start(&mirrored, 1), 0.1).unwrap().radius;
        assert!((found.radius_exchanged.unwrap() - there).abs() < 1e-6 * there, "{found:?} {there}");
    }
    // A soft one at a small step does not care.
    let text = DualMass { method: "step = { size = 0.01 }", ..DUAL_MASS }.text();
    let found = advice(&system(&text, &cosimo::registry()), 0.01);
    assert!(!found.stiff && !found.exchange && found.radius_held < 1.0, "{found:?}");
}

/// The rack stays with the car, or it does not.
fn stays(system: &System) -> bool {
    let mut run = run(system);
    let path = if run.output("steering.vR").is_some() { "steering.vR" } else { "mechanics.vR" };
    while !run.finished() {
        if run.step().is_err() || run.output(path).unwrap().abs() > 0.1 {
            return false;
        }
    }
    true
}

#[test]
fn the_remedies_of_a_forecast_make_the_run_stable() {
    let registry = cosimo::registry();
    let bad = steering(2, 5e-3, &[]);
    let found = forecast(&bad, &registry).unwrap();
    assert!(!found.stable && !stays(&bad));
    assert!(!found.remedies.is_empty() && found.remedies.len() <= 3);
    assert_eq!((found.steps, found.most_steps), (1000, None));
    let words = found.problem(&bad).unwrap().hint.unwrap();
    let methods = found.remedies.iter().filter_map(|remedy| remedy.words.strip_prefix("--method "));
    assert!(methods.clone().any(|method| method == "iteration=waveform"), "{words}");
    for method in methods {
        assert!(words.contains(method), "{words}");
        let mut good = bad.clone();
        let asked = Overrides { methods: vec![method.into()], ..Overrides::default() };
        assert!(overrides::apply(&mut good, &asked, &registry).is_empty());
        assert!(stays(&good), "{method}");
    }
    let mut held = steering(1, 5e-3, &[]);
    held.methods.input.inputs.clear();
    assert!(stays(&held));
    let step = found.remedies.iter().find_map(|remedy| remedy.words.strip_prefix("--step ")).unwrap();
    assert!(stays(&steering(2, step.parse().unwrap(), &[])), "{step}");
    let Some(Limit::At(most)) = found.limit else { panic!("{:?}", found.limit) };
    assert!((1e-3..2.5e-3).contains(&most), "{most}");
}

/// A method that is offered is stable where it was said to be.
#[test]
fn offered_methods_are_stable_at_the_step() {
    let registry = cosimo::registry();
    let text =
        DualMass { stop: 1000.0, method: "input = \"quadratic\"\nstep = { size = 0.5 }", ..DUAL_MASS }.text();
    let bad = system(&text, &registry);
    let found = forecast(&bad, &registry).unwrap();
    let methods: Vec<&str> =
        found.remedies.iter().filter_map(|remedy| remedy.words.strip_prefix("--method ")).collect();
    assert_eq!(methods.len(), 2, "{:?}", found.remedies);
    for method in methods {
        let mut good = bad.clone();
        let asked = Overrides { methods: vec![method.into()], ..Overrides::default() };
        assert!(overrides::apply(&mut good, &asked, &registry).is_empty());
        let mut run = run(&good);
        while !run.finished() {
            run.step().unwrap();
        }
        assert!(run.output("left.x").unwrap().abs() < 1e-6, "{method}");
    }
    let mut run = run(&bad);
    let failed = std::iter::repeat_with(|| run.step().is_err()).take(2000).any(|failed| failed);
    assert!(failed || run.output("left.x").unwrap().abs() > 1e6);
}

#[test]
fn a_forecast_says_why_there_is_none() {
    let registry = cosimo::registry();
    let text = crate::common::side_by_side(30, "step = { size = 0.1 }");
    assert!(matches!(forecast(&system(&text, &registry), &registry), Err(NoForecast::TooMany(..))));
    let several =
        forecast(&system(&crate::common::side_by_side(3, "step = { size = 0.1 }"), &registry), &registry)
            .unwrap();
    assert_eq!(several.loops.len(), 3);
}

/// Adaptive solvers inside units for model exchange leave noise of their tolerance in what a disturbance does; radii and
/// limits are those of the native models all the same.
#[test]
fn units_for_model_exchange_are_analysed_whatever_solves_them() {
    let registry = cosimo::registry();
    let text = |made: Made, parameters: &str| {
        DualMass { method: "step = { size = 0.1 }", made, parameters, ..DUAL_MASS }.text()
    };
    let wanted = radius(&mut start(&text(Made::Native, ""), 1), 0.1).unwrap().radius;
    let foretold = forecast(&system(&text(Made::Native, ""), &registry), &registry).unwrap();
    for version in Version::ALL {
        for solver in ["bdf", "dormand-prince", "bogacki-shampine"] {
            let text = text(Made::Equations(version), &format!("\"cosimo.solver\" = \"{solver}\","));
            let found = radius(&mut start(&text, 1), 0.1).unwrap();
            println!("{version:?} {solver}: {} {:?}, native {wanted}", found.radius, found.how);
            assert!((found.radius - wanted).abs() < 1e-3, "{version:?} {solver}: {}", found.radius);
            let forecast = forecast(&system(&text, &registry), &registry).unwrap();
            assert!((forecast.radius - foretold.radius).abs() < 1e-3, "{version:?} {solver}");
            assert_eq!((forecast.steps, forecast.most_steps), (foretold.steps, foretold.most_steps));
        }
    }
}

/// Several steps inside a window are part of it; one over several windows is followed over many.
#[test]
fn steps_of_a_components_own_have_a_forecast() {
    let registry = cosimo::registry();
    let text = DualMass { method: "step = { size = 0.02 }", ..DUAL_MASS }.text();
    let own = |step: &str| text.replace("[component.left]\n", &format!("[component.left]\nstep = {step}\n"));
    let plain = forecast(&system(&text, &registry), &registry).unwrap();
    let shorter = forecast(&system(&own("0.005"), &registry), &registry).unwrap();
    assert!((shorter.radius - plain.radius).abs() < 1e-6, "{} {}", shorter.radius, plain.radius);
    let longer = forecast(&system(&own("0.1"), &registry), &registry).unwrap();
    assert_eq!((longer.how, longer.stable), (ProbeMethod::Growth, true));
    assert!(longer.radius > plain.radius && longer.radius < 1.0, "{} {}", longer.radius, plain.radius);
}

#[test]
fn orders_are_those_of_the_inputs() {
    let registry = cosimo::registry();
    for (input, wanted) in [("hold", 1.0), ("taylor", 2.0)] {
        let text = DualMass {
            stop: 4.0,
            method: &format!("input = \"{input}\"\nstep = {{ size = 0.02 }}"),
            ..DUAL_MASS
        }
        .text();
        let with = format!(
            "{text}\n[reference]\nmodel = \"dual-mass\"\nports = {{ \"left.x\" = \"x1\", \"right.v\" = \"v2\" }}\n"
        );
        let with = system(&with, &registry);
        let solve = |times: &[f64]| {
            cosimo::reference::solve(&with, times, &registry).map(|found| (found.names, found.rows))
        };
        let exact = order::measure(&with, &registry, 0.02, 3, Some(&solve)).unwrap();
        let without = order::measure(&system(&text, &registry), &registry, 0.02, 3, None).unwrap();
        assert_eq!(exact.outputs.len(), 2);
        for found in
            exact.outputs.iter().chain(without.outputs.iter().filter(|output| output.output == "left.x"))
        {
            assert!((found.order - wanted).abs() < 0.1, "{input}, {}: {}", found.output, found.order);
        }
    }
}

/// With held inputs the residual power is that of the thesis, and so is its correlation with the error of x1.
#[test]
fn correlations_are_those_of_the_thesis() {
    let registry = cosimo::registry();
    let text =
        DualMass { stop: 3.0, initial: [1.0; 4], method: "step = { size = 0.01 }", ..DUAL_MASS }.text();
    let text = text.replace("x20 = 1.0,", "x20 = 1.0, m2 = 450.0,");
    let text = format!(
        "{text}\n[reference]\nmodel = \"dual-mass\"\nports = {{ \"left.x\" = \"x1\", \"right.x\" = \"x2\" }}\n"
    );
    let system = system(&text, &registry);
    let solve = |times: &[f64]| {
        cosimo::reference::solve(&system, times, &registry).map(|found| (found.names, found.rows))
    };
    let found = correlation::measure(&system, &registry, &solve).unwrap();
    for (found, printed) in found.bonds[0].ports.iter().zip([-0.7012, -0.6646]) {
        let found = found.pearson;
        assert!((found - printed).abs() < 6e-5, "{found} {printed}");
    }
}
