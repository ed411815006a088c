//! Linear models that are found while the run goes on: how much of the coupling error they take away and from when on,
//! where there is nothing to find, on units that show nothing but inputs and outputs, and what is said of them.
#![allow(clippy::unwrap_used)] // helpers of tests are tests

use crate::common::{DUAL_MASS, DualMass, Made, bits, run_to_the_end, start, system, truth};
use cosimo::analysis::forecast::{NoForecast, forecast};
use cosimo::analysis::stability::{StabilityError, radius};
use cosimo::core::method::IdentificationStatus;
use cosimo::engine::{Checkpoint, Run, plan};
use cosimo::export::{Variant, Version};

const RETICULATION_1: &str = include_str!("../../../cosimo-papers/src/pre-step-reticulation-1.toml");
const RETICULATION_2: &str = include_str!("../../../cosimo-papers/src/pre-step-reticulation-2.toml");
const PENDULUM: &str = include_str!("../../../cosimo-papers/src/pre-step-pendulum-linear.toml");

/// The mean absolute error of what is compared: over the whole run, and after a time; and the run.
fn errors(text: &str, correction: &str, size: f64, after: f64) -> (f64, f64, Run) {
    let text = format!("{text}\n[method]\ncorrection = {correction}\nstep = {{ size = {size:?} }}\n");
    let registry = cosimo::registry();
    let expected = system(&text, &registry);
    let ports: Vec<String> =
        expected.reference.iter().flat_map(|of| of.ports.iter().map(|(port, ..)| port.clone())).collect();
    let mut run = start(&text, 1);
    let (mut times, mut values) = (Vec::new(), Vec::new());
    loop {
        times.push(run.time().seconds());
        values.push(ports.iter().map(|port| run.output(port).unwrap()).collect::<Vec<_>>());
        if run.finished() || run.step().is_err() {
            break;
        }
    }
    let exact = cosimo::reference::solve(&expected, &times, &registry).unwrap();
    let mean = |from: f64| {
        let rows = times.iter().zip(exact.rows.iter().zip(&values)).filter(|(time, _)| **time >= from);
        let (mut sum, mut count) = (0.0, 0.0);
        for (_, (exact, found)) in rows {
            for (exact, found) in exact.iter().zip(found) {
                sum += (exact - found).abs();
                count += 1.0;
            }
        }
        sum / count
    };
    (mean(0.0), mean(after), run)
}

fn mass(m2: f64) -> String {
    PENDULUM.replace(
        "source = \"native:pendulum/oscillator\"",
        &format!("source = \"native:pendulum/oscillator\"\nparameters = {{ m2 = {m2:?} }}"),
    )
}

const FOUND: &str = "\"identified\"";
const EXACT: &str = "{ pre-step = { input = \"mean\" } }";

fn learned(run: &Run) -> IdentificationStatus {
    run.learned().next().unwrap().1
}

/// The energy defect of the only bond, as a share of the energy exchanged.
fn defect(run: &Run) -> f64 {
    run.summary().bonds.first().map_or(0.0, |bond| bond.share)
}

/// Windows after which models are in use and what the start spoiled is repaid, in all cases below.
const WARM: f64 = 50.0;

fn table(name: &str, text: &str, size: f64) -> [(f64, f64); 3] {
    let after = WARM * size;
    ["\"none\"", EXACT, FOUND].map(|correction| {
        let (whole, late, run) = errors(text, correction, size, after);
        if correction == FOUND {
            let learned = learned(&run);
            assert!(learned.first.is_some_and(|first| first < 20.0 * size), "{name} {size}: {learned:?}");
            assert_eq!(learned.wanted, 2, "{name} {size}: {learned:?}");
        }
        println!(
            "{name} {size:e}: {correction} {whole:.2e} in all, {late:.2e} late, defect {:.2e}",
            defect(&run)
        );
        (whole, late)
    })
}

/// The strut belongs to the wheel: as good as with exact derivatives from the fiftieth step on, and in the whole run a
/// hundred times better than what least squares, an implicit trapezoid and a start that is not repaid came to (3.7e-4).
#[test]
fn a_quarter_car_rides_as_with_exact_derivatives() {
    for size in [1e-3, 5e-3, 2e-2] {
        let [plain, exact, found] = table("reticulation 1", RETICULATION_1, size);
        assert!(found.1 < 1.05 * exact.1, "{size}: {found:?} {exact:?}");
        assert!(found.0 < plain.0 / 10.0, "{size}: {found:?} {plain:?}");
        if size == 1e-3 {
            assert!(found.0 < 3e-6 && found.1 < 1e-8, "{found:?}");
        }
    }
}

/// The strut belongs to the chassis, which integrates the velocity of the wheel and would keep for ever what the start
/// spoiled. Where holding inputs is stable, and where it is not.
#[test]
fn what_the_start_spoiled_is_repaid() {
    for (size, factor) in [(1e-3, 20.0), (2e-3, 10.0), (5e-3, 3.0), (1e-2, 1.5), (2e-2, 1e6), (3e-2, 1e6)] {
        let [plain, _, found] = table("reticulation 2", RETICULATION_2, size);
        assert!(found.0 < plain.0 / factor && found.1 < plain.1 / factor, "{size}: {found:?} {plain:?}");
    }
}

/// The same with solvers that are not exact. The models are those of the solvers, and the height of the chassis is an
/// integral that no output shows: what a model is wrong adds up in it, unless the debts of inputs are watched.
#[test]
fn an_integral_that_nobody_shows_does_not_drift() {
    let text = RETICULATION_2
        .replace("linear-chassis-strut", "chassis-strut")
        .replace("linear-wheel", "wheel")
        .replace("\"chassis.v_chassis\" = \"vc\", ", "");
    for size in [2e-3, 1e-2] {
        let [plain, _, found] = table("reticulation 2 by Euler", &text, size);
        assert!(found.0 < plain.0 && found.1 < plain.1, "{size}: {found:?} {plain:?}");
    }
}

/// What takes the start's errors away is known to one side of a bond only, and energy comes or goes by it. Repaid at once
/// it was 14 % of the energy exchanged with the strut at the chassis, and 7 % with the strut at the wheel.
#[test]
fn what_is_repaid_costs_less_energy_than_no_correction() {
    for (name, text) in [
        ("reticulation 1", include_str!("../../../../examples/quarter-car/reticulation-1.toml")),
        (
            "reticulation 1, nonlinear",
            include_str!("../../../../examples/quarter-car/reticulation-1-nonlinear.toml"),
        ),
        ("reticulation 2", include_str!("../../../../examples/quarter-car/system.toml")),
        (
            "reticulation 2, nonlinear",
            include_str!("../../../../examples/quarter-car/reticulation-2-nonlinear.toml"),
        ),
    ] {
        // Everything but the method; `errors` brings another.
        let (head, rest) = text.split_once("[method]").unwrap();
        let (_, reference) = rest.split_once("[reference]").unwrap();
        let text = format!("{head}[reference]{reference}");
        let size = 1e-3;
        let [plain, found] =
            ["\"none\"", FOUND].map(|correction| errors(&text, correction, size, WARM * size));
        let defects = [&plain, &found].map(|(.., run)| defect(run));
        println!("{name}: none {:.2e} {:.2e}, got {:.2e} {:.2e}", plain.0, defects[0], found.0, defects[1]);
        assert!(defects[1] < 0.85 * defects[0], "{name}: {defects:?}");
        assert!(found.0 < plain.0 / 2.0, "{name}: {:e} {:e}", found.0, plain.0);
    }
}

/// A pendulum whose answers are not linear: models come and go, and it is never worse than without them.
#[test]
fn what_is_not_linear_is_no_worse_than_without() {
    let nonlinear = mass(0.1).replace("bob-linear", "bob").replace("pendulum-linear", "pendulum");
    for size in [2e-3, 1e-2] {
        let after = WARM * size;
        let (plain, found) =
            (errors(&nonlinear, "\"none\"", size, after), errors(&nonlinear, FOUND, size, after));
        println!("nonlinear {size:e}: none {:.2e} found {:.2e} {:?}", plain.0, found.0, learned(&found.2));
        assert!(found.0 < plain.0 && found.1 < plain.1, "{size}: {:e} {:e}", found.0, plain.0);
    }
}

#[test]
fn a_mild_pendulum_swings_as_with_exact_derivatives() {
    for size in [1e-3, 2e-3, 5e-3, 1e-2] {
        let [plain, exact, found] = table("mild", &mass(0.1), size);
        assert!(found.1 < 1.05 * exact.1, "{size}: {found:?} {exact:?}");
        assert!(found.0 < plain.0 / 100.0, "{size}: {found:?} {plain:?}");
    }
}

/// A mode that a step forgets cannot be seen from outside, and is taken to answer at once: that is what 2e-4 remain of.
#[test]
fn a_stiff_pendulum_is_better_by_what_can_be_seen_of_it() {
    for (size, factor) in [(1e-4, 500.0), (1e-3, 400.0), (1e-2, 20.0)] {
        let [plain, _, found] = table("stiff", &mass(2.25e-5), size);
        assert!(found.0 < plain.0 / factor, "{size}: {found:?} {plain:?}");
    }
}

/// With feed-through on one side.
#[test]
fn a_dual_mass_gets_better_with_every_schedule_and_exchange() {
    let error = |method: &str| {
        let mut run = DualMass { stop: 4.0, method, ..DUAL_MASS }.start();
        let (mut late, mut count) = (0.0, 0.0);
        while !run.finished() {
            run.step().unwrap();
            if run.time().seconds() > 1.0 {
                late += (run.output("left.x").unwrap() - truth(&[run.time().seconds()])[0][0]).abs();
                count += 1.0;
            }
        }
        (late / count, run)
    };
    for (method, factor) in [
        ("input = \"hold\"", 100.0),
        ("input = \"hold\"\npartition = \"gauss-seidel\"", 100.0),
        ("input = \"hold\"\nexchange = \"fresh\"", 100.0),
    ] {
        let text =
            |correction: &str| format!("{method}\ncorrection = {correction}\nstep = {{ size = 0.02 }}");
        let ((plain, _), (found, run)) = (error(&text("\"none\"")), error(&text(FOUND)));
        println!("{method}: {plain:.2e} {found:.2e} {:?}", learned(&run));
        assert!(found < plain / factor, "{method}: {plain:e} {found:e} {:?}", learned(&run));
    }
}

/// A circuit at rest in numbers that a double holds exactly.
#[test]
fn at_rest_nothing_is_added_and_nothing_is_learned() {
    let at_rest = |correction: &str| {
        format!(
            "[experiment]\nstop = 4\n\
             [component.rc]\nsource = \"native:rc-rl/rc\"\n\
             parameters = {{ R1 = 1.0, C = 0.5, V0 = 3.0, v0 = 2.0, solver = \"euler\", micro_steps = 4 }}\n\
             [component.rl]\nsource = \"native:rc-rl/rl\"\n\
             parameters = {{ R2 = 2.0, L = 0.5, i0 = 1.0, solver = \"euler\", micro_steps = 4 }}\n\
             [[bond]]\na = {{ effort = \"rc.v\", flow = \"rc.i\" }}\nb = {{ effort = \"rl.v\", flow = \"rl.i\" }}\n\
             [method]\ncorrection = {correction}\nstep = {{ size = 0.03125 }}\n"
        )
    };
    let (mut plain, mut found) = (start(&at_rest("\"none\""), 1), start(&at_rest(FOUND), 1));
    run_to_the_end(&mut plain);
    run_to_the_end(&mut found);
    assert_eq!(bits(&found), bits(&plain));
    assert_eq!((learned(&found).first, learned(&found).wanted), (None, 2));
}

/// Units for co-simulation that can neither be rewound nor show states, derivatives or integrals. Debts of inputs are then
/// known by trapezoids only, and models of quick oscillations are given up now and then because of that.
#[test]
fn units_that_show_nothing_are_found_out() {
    let pendulum = ["pendulum/bob-linear", "pendulum/oscillator"];
    let car = ["quarter-car/linear-chassis", "quarter-car/linear-wheel-strut"];
    for version in Version::ALL {
        for (text, models, size, factor) in
            [(mass(0.1), pendulum, 1e-2, 20.0), (RETICULATION_1.to_owned(), car, 5e-3, 20.0)]
        {
            let mut units = text.clone();
            for model in models {
                let name = Made::Unit(version, Variant::NoRollback).source(model);
                units = units.replace(&format!("\"native:{model}\""), &format!("\"{name}\""));
            }
            assert!(!units.contains("native:"));
            let after = WARM * size;
            let (plain, found) = (errors(&text, "\"none\"", size, after), errors(&units, FOUND, size, after));
            println!("{version:?} {models:?}: {:.2e} {:.2e} {:?}", found.0, found.1, learned(&found.2));
            assert!(learned(&found.2).first.is_some());
            assert!(found.0 < plain.0 / factor, "{version:?} {models:?}: {:e} {:e}", found.0, plain.0);
        }
    }
}

fn nepce(source: &str) -> String {
    format!("{{ nepce = {{ feedthrough = \"{source}\" }} }}")
}

/// Declared and found alike from the fiftieth step on, in parts of the error.
fn alike(what: &str, declared: &(f64, f64, Run), found: &(f64, f64, Run), size: f64) {
    for (how, run) in [("declared", declared), ("found", found)] {
        println!("{what}: {how} {:.3e} in all, {:.3e} late, defect {:.3e}", run.0, run.1, defect(&run.2));
    }
    let learned = learned(&found.2);
    assert_eq!((learned.wanted, learned.now), (2, 2), "{what}: {learned:?}");
    assert!(learned.first.is_some_and(|first| first < 20.0 * size), "{what}: {learned:?}");
    assert!((found.1 / declared.1 - 1.0).abs() < 0.05, "{what}: {:e} {:e}", found.1, declared.1);
    assert!((found.0 / declared.0 - 1.0).abs() < 0.15, "{what}: {:e} {:e}", found.0, declared.0);
}

/// The error of an input is that of what outputs show, and more where they were computed from wrong inputs. Once D is found,
/// that is known as well as from declared derivatives.
#[test]
fn feed_through_that_is_found_serves_like_a_declared_one() {
    for (name, text, size) in
        [("reticulation 1", RETICULATION_1, 2e-3), ("reticulation 2", RETICULATION_2, 2e-3)]
    {
        let [off, declared, found] =
            ["off", "declared", "identified"].map(|source| errors(text, &nepce(source), size, WARM * size));
        alike(name, &declared, &found, size);
        assert!(found.1 < off.1, "{name}: {:e} {:e}", found.1, off.1);
    }
}

/// Units for co-simulation that cannot be rewound and are asked for no derivatives, beside native models that declare them.
/// Units offer no integrals.
#[test]
fn feed_through_of_units_that_show_nothing_is_found() {
    let size = 2e-3;
    let trapezoids = nepce("declared\", quadrature = \"trapezoid");
    for version in Version::ALL {
        let mut units = RETICULATION_2.to_owned();
        for model in ["quarter-car/linear-chassis-strut", "quarter-car/linear-wheel"] {
            let name = Made::Unit(version, Variant::NoRollback).source(model);
            units = units.replace(&format!("\"native:{model}\""), &format!("\"{name}\""));
        }
        assert!(!units.contains("native:"));
        let declared = errors(RETICULATION_2, &trapezoids, size, WARM * size);
        let found = errors(&units, &nepce("identified"), size, WARM * size);
        alike(&format!("{version:?}"), &declared, &found, size);
    }
}

/// Where no output depends on an input at once, there is nothing to find and nothing to change.
#[test]
fn without_feed_through_nothing_is_searched() {
    let text = |source: &str| {
        format!("{}\n[method]\ncorrection = {}\nstep = {{ size = 5e-3 }}\n", mass(0.1), nepce(source))
    };
    let (mut off, mut found) = (start(&text("off"), 1), start(&text("identified"), 1));
    run_to_the_end(&mut off);
    run_to_the_end(&mut found);
    assert_eq!(bits(&found), bits(&off));
    assert!(found.learned().next().is_none());
}

/// Memory is all there is: a saved run goes on with the models it had.
#[test]
fn a_saved_run_goes_on_with_its_models() {
    let text = format!("{RETICULATION_1}\n[method]\ncorrection = {FOUND}\nstep = {{ size = 1e-2 }}\n");
    let mut run = start(&text, 1);
    for _ in 0..40 {
        run.step().unwrap();
    }
    assert_eq!(learned(&run).now, 2);
    let saved: Checkpoint = run.save().unwrap();
    let mut other = start(&text, 1);
    other.load(&saved).unwrap();
    for _ in 0..40 {
        run.step().unwrap();
        other.step().unwrap();
        assert_eq!(bits(&run), bits(&other));
    }
    assert_eq!(learned(&run), learned(&other));
}

/// Steps of many sizes: no model comes into use, and that is said.
#[test]
fn steps_that_change_leave_nothing_to_find() {
    let method = format!(
        "correction = {FOUND}\nstep = {{ estimate = {{ power-residual = {{ tolerance = 2e-3, energy_scale = 1.0 }} }}, \
         controller = \"pi\", size = 0.02, min = 2e-3, max = 0.15 }}"
    );
    let mut run = DualMass { stop: 6.0, method: &method, ..DUAL_MASS }.start();
    run_to_the_end(&mut run);
    assert_eq!(learned(&run).first, None);
    assert_eq!(run.summary().learned[0], ("identified", learned(&run)));
}

/// Models know what held inputs do. Others are left as they are, to the bit.
#[test]
fn inputs_that_move_are_left_alone() {
    let run = |correction: &str| {
        let method = format!("input = \"linear\"\ncorrection = {correction}\nstep = {{ size = 0.02 }}");
        let mut run = DualMass { stop: 4.0, method: &method, ..DUAL_MASS }.start();
        run_to_the_end(&mut run);
        run
    };
    assert_eq!(bits(&run(FOUND)), bits(&run("\"none\"")));
}

#[test]
fn what_learns_is_no_fixed_map_and_nobody_pretends() {
    let method = format!("correction = {FOUND}\nstep = {{ size = 0.02 }}");
    let text = DualMass { stop: 1.0, method: &method, ..DUAL_MASS }.text();
    let found = radius(&mut start(&text, 1), 0.02);
    assert!(matches!(found, Err(StabilityError::Learns("identified"))));
    let registry = cosimo::registry();
    let error = forecast(&system(&text, &registry), &registry).unwrap_err();
    assert!(matches!(error, NoForecast::Stability(StabilityError::Learns(_))), "{error}");
    assert!(plan(&system(&text, &registry), &registry).is_ok());
}
