//! `cosimo verify` against monolithic reference: error bars are right within a factor of two, and where the energy defect
//! says something else than the error, that is said.

use std::path::Path;

use crate::common::{DUAL_MASS, DualMass, Made, folder, history_of, rows, truth_from};
use cosimo::analysis::error_bars::{AccuracyVerdict, CompanionSet, Repetition, StepCallback};
use cosimo::analysis::order::Truth;
use cosimo::analysis::verify::{
    Agreement, MonolithicSource, SignalError, Verification, VerifyError, VerifyOptions, verify,
};
use cosimo::export::{Variant, Version};
use cosimo::reference;
use cosimo::system::{Overrides, System, overrides, toml};

/// No callback.
fn unseen<'a>(_: Repetition) -> StepCallback<'a> {
    Box::new(|_| true)
}

fn read(text: &str, folder: &Path) -> System {
    let (system, problems) = toml::read(text, folder, &cosimo::registry());
    assert!(problems.is_empty(), "{problems:#?} in\n{text}");
    system
}

/// An example with changes.
fn example(name: &str, methods: &[&str], sets: &[&str], step: Option<f64>) -> System {
    let (folder, name) = name.split_once('/').unwrap_or(("", name));
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(folder);
    let text = std::fs::read_to_string(folder.join(name)).unwrap_or_else(|cause| panic!("{name}: {cause}"));
    let mut system = read(&text, &folder);
    let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    let changes = Overrides { methods: owned(methods), sets: owned(sets), step, ..Overrides::default() };
    let problems = overrides::apply(&mut system, &changes, &cosimo::registry());
    assert!(problems.is_empty(), "{problems:#?}");
    system
}

fn try_verify(system: &System, signals: &[&str]) -> Result<Verification, VerifyError> {
    let registry = cosimo::registry();
    let solve =
        |times: &[f64]| reference::solve(system, times, &registry).map(|found| (found.names, found.rows));
    let solve: Truth<'_> = &solve;
    let truth = if system.reference.is_some() { Ok(solve) } else { Err("no reference".to_owned()) };
    let signals: Vec<String> = signals.iter().map(|signal| (*signal).to_owned()).collect();
    let wish = VerifyOptions { accuracy: 0.01, absolute: 1e-9, signals: &signals, watch: &unseen };
    verify(system, &registry, truth, &wish)
}

fn verified(system: &System) -> Verification {
    try_verify(system, &[]).unwrap_or_else(|error| panic!("{error}"))
}

fn signal<'a>(found: &'a Verification, name: &str) -> &'a SignalError {
    found.signals.iter().find(|signal| signal.estimated.name == name).unwrap_or_else(|| panic!("no `{name}`"))
}

/// Every signal that the monolithic reference has: how the error bar relates to the error.
fn ratios(found: &Verification) -> Vec<(String, f64)> {
    let known = found.signals.iter().filter_map(|signal| Some((signal, signal.from_monolithic?)));
    known.map(|(signal, error)| (signal.estimated.name.clone(), signal.estimated.error_bar / error)).collect()
}

fn assert_bars(found: &Verification, about: &str) {
    assert_eq!(found.monolithic, Some(MonolithicSource::Reference), "{about}");
    let ratios = ratios(found);
    assert!(!ratios.is_empty(), "{about}");
    for (name, ratio) in ratios {
        assert!((0.5..=2.5).contains(&ratio), "{about}: the error bar of {name} is {ratio} times the error");
    }
}

const PENDULUM: &str = r#"
[experiment]
stop = 1.0
[component.bob]
source = "native:pendulum/bob"
parameters = { micro_steps = 20 }
[component.oscillator]
source = "native:pendulum/oscillator"
parameters = { micro_steps = 20 }
[[connection]]
from = "bob.x"
to = "oscillator.x_far"
[[connection]]
from = "bob.v"
to = "oscillator.v_far"
[[connection]]
from = "oscillator.x"
to = "bob.x_far"
[[connection]]
from = "oscillator.v"
to = "bob.v_far"
[method]
schedule = "SCHEDULE"
input = "INPUT"
step = { size = 1e-3 }
[reference]
model = "pendulum"
ports = { "bob.x" = "X", "bob.v" = "V", "oscillator.x" = "x", "oscillator.v" = "v" }
"#;

#[test]
fn error_bars_of_the_quarter_car_are_right_within_a_factor_of_two() {
    for name in ["quarter-car/system.toml", "quarter-car/reticulation-1.toml"] {
        // With controlled steps, and with steps of one size, corrected and not.
        assert_bars(&verified(&example(name, &[], &[], None)), name);
        let fixed = example(name, &["controller=fixed"], &[], Some(5e-4));
        assert_bars(&verified(&fixed), name);
        let held = ["partition=jacobi", "input=hold", "correction=none"];
        let plain = example(name, &[&["controller=fixed"][..], &held].concat(), &[], Some(5e-4));
        let found = verified(&plain);
        assert_bars(&found, name);
        let ratios = found.signals.iter().filter_map(|signal| signal.estimated.ratio);
        assert!(ratios.into_iter().all(|ratio| (1.5..2.5).contains(&ratio)), "{:#?}", found.signals);
    }
}

#[test]
fn error_bars_of_the_dual_mass_are_right_within_a_factor_of_two() {
    for (input, order) in [("hold", 1.0), ("linear", 2.0)] {
        for schedule in ["jacobi", "gauss-seidel"] {
            let methods = [format!("input={input}"), format!("partition={schedule}")];
            let system = example("dual-mass/system.toml", &methods.each_ref().map(String::as_str), &[], None);
            let found = verified(&system);
            assert_bars(&found, &format!("{input} {schedule}"));
            let other = if schedule == "jacobi" { "gauss-seidel" } else { "jacobi" };
            assert_eq!(found.other_sequence, Some(other));
            for signal in &found.signals {
                let observed = signal.estimated.ratio.unwrap().log2();
                assert!((observed - order).abs() < 0.3, "{input} {schedule}: {observed}, {signal:?}");
                assert!(signal.from_other_sequence.unwrap() <= 3.0 * signal.error(), "{signal:?}");
            }
        }
    }
}

/// A reference may be costly; of very long runs it is asked for at some of the instants only, while companions are compared
/// at all of them.
#[test]
fn long_runs_are_compared_with_the_reference_at_some_of_their_instants() {
    let long = example("dual-mass/system.toml", &["input=hold"], &[], Some(1e-4));
    let found = verified(&long);
    assert_eq!((found.steps, found.to), (100_000, 10.0));
    assert_bars(&found, "long");
}

/// The distance from the monolithic reference that is shown is that of the rows of the run.
#[test]
fn what_is_shown_as_error_is_the_error_of_the_run() {
    let text = DualMass { method: "input = \"linear\"\nstep = { size = 0.02 }", ..DUAL_MASS }.text();
    let ports = "ports = { \"left.x\" = \"x1\", \"right.v\" = \"v2\" }\n";
    let found = verified(&read(&format!("{text}[reference]\nmodel = \"dual-mass\"\n{ports}"), &folder()));
    let table = rows(&text);
    let exact = truth_from(DUAL_MASS.initial, table.column("time").unwrap());
    for (name, place) in [("left.x", 0), ("right.v", 3)] {
        let errors =
            table.column(name).unwrap().iter().zip(&exact).map(|(value, row)| (value - row[place]).abs());
        assert_eq!(signal(&found, name).from_monolithic, errors.reduce(f64::max), "{name}");
    }
    assert_eq!((found.steps, found.from, found.to), (500, 0.0, 10.0));
    assert!(signal(&found, "left.f").from_monolithic.is_none());
}

#[test]
fn error_bars_of_the_circuit_are_right_within_a_factor_of_two() {
    assert_bars(&verified(&example("rc-rl/system.toml", &[], &[], None)), "rc-rl");
    let methods = ["controller=fixed", "estimate=none", "partition=jacobi", "input=hold"];
    assert_bars(&verified(&example("rc-rl/system.toml", &methods, &[], Some(1e-3))), "rc-rl jacobi");
}

#[test]
fn error_bars_of_the_pendulum_are_right_within_a_factor_of_two() {
    for schedule in ["jacobi", "gauss-seidel"] {
        for input in ["hold", "linear"] {
            let text = PENDULUM.replace("SCHEDULE", schedule).replace("INPUT", input);
            let found = verified(&read(&text, &folder()));
            assert_bars(&found, &format!("{schedule} {input}"));
            assert!(found.bonds.is_empty());
        }
    }
}

/// Both masses move alike, so that the spring between them never feels anything: Wu 2018, the symmetric start of ch. 6.
#[test]
fn a_bond_that_should_transmit_nothing_is_flagged_and_not_praised() {
    for (method, sample) in [("hold", 1), ("linear", 2)] {
        let initial = [1.0; 4];
        let experiment = history_of("verify-symmetric", initial, 0.01, sample);
        let method = format!("input = \"{method}\"\nstep = {{ size = 0.01 }}");
        let dual = DualMass { stop: 3.0, initial, experiment: &experiment, method: &method, ..DUAL_MASS };
        let found = verified(&read(&dual.text(), &folder()));
        let bond = &found.bonds[0];
        assert_eq!(bond.agreement, Agreement::Nothing, "{bond:?}");
        assert!(
            bond.exchanged_energy[0] > 0.0 && bond.exchanged_energy[2] < 0.3 * bond.exchanged_energy[0],
            "{bond:?}"
        );
        // What the force shows is nothing but error.
        let force = signal(&found, "left.f");
        assert_ne!(force.estimated.verdict, AccuracyVerdict::Accurate, "{force:?}");
        assert_eq!(signal(&found, "left.x").estimated.verdict, AccuracyVerdict::Accurate);
    }
    // At rest for ever: exactly nothing.
    let rest = DualMass { initial: [0.0; 4], method: "step = { size = 0.1 }", ..DUAL_MASS };
    let found = verified(&read(&rest.text(), &folder()));
    assert_eq!((found.bonds[0].agreement, found.bonds[0].exchanged_energy), (Agreement::Nothing, [0.0; 3]));
    assert_eq!(found.verdict, AccuracyVerdict::Accurate);
    assert!(found.signals.iter().all(|signal| signal.estimated.error_bar == 0.0));
    // Any other start, and there is something to say.
    let usual = DualMass { method: "step = { size = 0.01 }", ..DUAL_MASS };
    assert_ne!(verified(&read(&usual.text(), &folder())).bonds[0].agreement, Agreement::Nothing);
}

/// Wu 2018, ch. 6: residual power has no consistent relation to the errors of the states. With a heavy right mass (table
/// 6.1) the defect is twenty times their error, with a light one and a stiff coupling (table 6.2) six times.
#[test]
fn the_energy_defect_and_the_error_of_states_are_said_to_disagree() {
    let ones = ["x10=1.0", "v10=1.0", "x20=1.0", "v20=1.0"];
    let states = ["left.x", "left.v", "right.x", "right.v"];
    let judged = |set: &[&str]| {
        let mut system =
            example("dual-mass/system.toml", &["input=hold"], &[&ones, set].concat(), Some(0.01));
        system.experiment.history = None;
        system.experiment.stop = 3.0;
        try_verify(&system, &states).unwrap().bonds.remove(0)
    };
    let proper = judged(&["m2=450.0"]);
    assert_eq!(proper.agreement, Agreement::DefectLarge, "{proper:?}");
    assert!((15.0..25.0).contains(&(proper.energy_defects[0] / proper.worst_error)), "{proper:?}");
    let improper = judged(&["m2=50.0", "kc=130.0", "dc=130.0"]);
    assert_eq!(improper.agreement, Agreement::Agree, "{improper:?}");
    assert!((4.0..8.0).contains(&(improper.energy_defects[0] / improper.worst_error)), "{improper:?}");
    // Without samples from before the start the first force is far off, which the defect of the whole run hardly shows.
    let mut system = example(
        "dual-mass/system.toml",
        &[],
        &[&ones[..], &["m2=50.0", "kc=130.0", "dc=130.0"]].concat(),
        None,
    );
    system.experiment.history = None;
    system.experiment.stop = 3.0;
    let found = verified(&system);
    assert_eq!(found.bonds[0].agreement, Agreement::DefectSmall, "{:?}", found.bonds[0]);
    assert_eq!(found.bonds[0].worst_signal.as_deref(), Some("left.f"));
    assert_eq!(found.verdict, AccuracyVerdict::NotAccurate);
    assert_bars(&found, "without history");
}

/// Without a reference, FMUs for model exchange are integrated together, which is as good.
#[test]
fn units_for_model_exchange_are_their_own_undivided_form() {
    let method = "input = \"hold\"\nstep = { size = 0.02 }";
    let dual = DualMass { stop: 4.0, method, made: Made::Equations(Version::Two), ..DUAL_MASS };
    let found = verified(&read(&dual.text(), &folder()));
    assert_eq!(found.monolithic, Some(MonolithicSource::Strong));
    let exact = |name: &str, place: usize| {
        let table = rows(&dual.text());
        let truth = truth_from(DUAL_MASS.initial, table.column("time").unwrap());
        let errors =
            table.column(name).unwrap().iter().zip(truth).map(|(value, row)| (value - row[place]).abs());
        errors.fold(0.0, f64::max)
    };
    for (name, place) in [("left.x", 0), ("left.v", 1), ("right.x", 2), ("right.v", 3)] {
        let judged = signal(&found, name);
        let (known, error) = (judged.from_monolithic.unwrap(), exact(name, place));
        assert!((known / error - 1.0).abs() < 1e-3, "{name}: {known} and {error}");
        assert!((0.5..=2.0).contains(&(judged.estimated.error_bar / error)), "{name}: {judged:?}");
    }
    // Native models have no such form, which is said.
    let native = DualMass { made: Made::Native, ..dual };
    let reason = verified(&read(&native.text(), &folder())).no_monolithic.unwrap();
    assert!(reason.starts_with("no reference; "), "{reason}");
}

#[test]
fn repetitions_on_other_threads_change_nothing() {
    let system = example("rc-rl/system.toml", &[], &[], None);
    let [one, other] = [(); 2].map(|()| verified(&system));
    assert_eq!((one.signals, one.bonds), (other.signals, other.bonds));
}

/// Own steps are refined with the common step, and steps that end at events are followed.
#[test]
fn own_steps_and_events_are_followed() {
    let text = DualMass { method: "step = { size = 0.01 }", stop: 2.0, ..DUAL_MASS }.text();
    let own = text.replacen("[component.right]\n", "[component.right]\nstep = 0.02\n", 1);
    let found = verified(&read(&own, &folder()));
    assert!(found.signals.iter().all(|signal| signal.estimated.ratio.is_some()), "{:#?}", found.signals);
    let [stair, driven] = ["stair", "driven"].map(|model| Made::Equations(Version::Three).source(model));
    let text = format!(
        "[experiment]\nstop = 3.2\n[component.stair]\nsource = \"{stair}\"\n\
         parameters = {{ period = 0.7, rise = 2.0 }}\n[component.driven]\nsource = \"{driven}\"\n\
         [[connection]]\nfrom = \"stair.level\"\nto = \"driven.u\"\n[method]\nstep = {{ size = 0.3 }}\n"
    );
    let found = verified(&read(&text, &folder()));
    // Windows end at the steps of the stair, so that holding its level is exact. Its instants are known to a step only.
    for name in ["driven.x", "driven.e"] {
        assert_eq!(signal(&found, name).estimated.verdict, AccuracyVerdict::Accurate, "{found:#?}");
    }
    assert!(found.verdict != AccuracyVerdict::NotAccurate && found.steps > 11, "{found:#?}");
}

#[test]
fn what_cannot_be_rerun_is_refused_with_a_reason() {
    let refused = |system: &System| try_verify(system, &[]).unwrap_err();
    let short = DualMass { stop: 0.03, method: "step = { size = 0.01 }", ..DUAL_MASS };
    assert!(matches!(refused(&read(&short.text(), &folder())), VerifyError::TooShort(3)));
    let usual = read(&DualMass { method: "step = { size = 0.1 }", ..DUAL_MASS }.text(), &folder());
    let error = try_verify(&usual, &["wheel.*"]).unwrap_err();
    assert_eq!(error.to_string(), "there is no signal `wheel.*`");
    // An FMU with a fixed step size follows halves and quarters of all of them.
    let rigid = DualMass {
        stop: 1.0,
        method: "step = { size = 0.02 }",
        made: Made::Unit(Version::Two, Variant::FixedStep),
        ..DUAL_MASS
    };
    let found = verified(&read(&rigid.text(), &folder()));
    assert!(found.signals.iter().all(|signal| signal.estimated.ratio.is_some()), "{found:#?}");
    assert_eq!((found.companions, found.reason), (CompanionSet::Fine, None));
    // An unstable run ends in large numbers, and no error bar is needed to see that.
    let wild = example("dual-mass/system.toml", &["input=hold"], &["kc=6e4", "dc=6e4"], Some(0.05));
    match try_verify(&wild, &[]) {
        Ok(found) => assert_ne!(found.verdict, AccuracyVerdict::Accurate),
        Err(error) => assert!(matches!(error, VerifyError::Failed(_)), "{error}"),
    }
}

/// Where lines part the simulators there is no common step to halve, but there are delays. The error of a line against a
/// spring falls with the square of its delay.
#[test]
fn lines_are_verified_by_their_delays() {
    let text = "experiment.stop = 0.2\n\
        component.left = { source = \"native:spring-mass/left\", parameters = { t0 = 0.01, relative = 1e-8, absolute = 1e-8 } }\n\
        component.right = { source = \"native:spring-mass/right\", parameters = { relative = 1e-8, absolute = 1e-8 } }\n\
        [[bond]]\nname = \"spring\"\na = { effort = \"left.e\", flow = \"left.f\" }\n\
        b = { effort = \"right.e\", flow = \"right.f\" }\nopposite = \"flow\"\n\
        line = { delay = 4e-4, stiffness = 1e3 }\n";
    let registry = cosimo::registry();
    let (system, problems) = toml::read(text, Path::new("."), &registry);
    assert!(problems.is_empty(), "{problems:?}");
    let wish = VerifyOptions {
        accuracy: 1e-2,
        absolute: 0.0,
        signals: &["left.v1".to_owned()],
        watch: &|_| Box::new(|_| true),
    };
    let found = verify(&system, &registry, Err("no reference".into()), &wish).unwrap();
    let judged = &found.signals[0].estimated;
    let order = judged.ratio.unwrap().log2();
    assert!((1.5..2.5).contains(&order), "{judged:?}");
    assert!(judged.error_bar > 1e-3 * judged.scale, "{judged:?}");
    assert!(found.other_sequence.is_none() && found.monolithic.is_none());
    assert_eq!((found.delays, judged.unit.as_str()), (Some((4e-4, 4e-4)), "m/s"));
    // The line is in the books, and what it shows of itself is no result: its delay is halved on purpose.
    let all = verify(&system, &registry, Err("no reference".into()), &VerifyOptions { signals: &[], ..wish })
        .unwrap();
    assert!(
        all.signals.len() > 5 && all.signals.iter().all(|signal| !signal.estimated.name.starts_with("line."))
    );
    let [spring] = &all.bonds[..] else { panic!("{:?}", all.bonds) };
    assert!(
        spring.name == "spring" && spring.exchanged_energy[0] > 0.0 && spring.worst_signal.is_some(),
        "{spring:?}"
    );
}
