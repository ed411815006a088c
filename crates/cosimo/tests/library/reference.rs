//! The monolithic reference: it starts with the run, and has the parameters of all components.
#![allow(clippy::unwrap_used)] // helpers of tests are tests

use cosimo::core::registry::Options;
use cosimo::export::{Design, Version, built_library, write};
use cosimo::reference::{self, Reference};

use crate::common::{self, column, rows, system};

const PENDULUM: &str = r#"
[component.bob]
source = "native:pendulum/bob"
[component.oscillator]
source = "native:pendulum/oscillator"
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
step = { size = 5e-5 }
[reference]
model = "pendulum"
ports = { "bob.x" = "X", "oscillator.x" = "x" }
"#;

const EPAS: &str = include_str!("../../../../examples/epas/case-2.toml");
const QUARTER_CAR: &str = include_str!("../../../../examples/quarter-car/system.toml");

/// The largest error of any port relative to its peak, with the run from `start` on for `length` seconds.
fn error(text: &str, start: f64, length: f64) -> f64 {
    let registry = cosimo::registry();
    let stop = text.lines().find(|line| line.starts_with("stop = ")).unwrap();
    let text = text.replacen(stop, &format!("start = {start:?}\nstop = {:?}", start + length), 1);
    let described = system(&text, &registry);
    let table = rows(&text);
    let exact = reference::solve(&described, column(&table, "time"), &registry).unwrap();
    let mut worst = 0.0f64;
    for (place, name) in exact.names.iter().enumerate() {
        let peak = exact.rows.iter().fold(0.0f64, |peak, row| peak.max(row[place].abs()));
        assert!(peak > 0.0, "{name} does not move");
        for (found, row) in column(&table, name).iter().zip(&exact.rows) {
            worst = worst.max((found - row[place]).abs() / peak);
        }
    }
    worst
}

/// Also a steering wheel that is turned by the time of the clock.
#[test]
fn it_starts_when_the_run_starts() {
    let pendulum = format!("[experiment]\nstop = 1.0\n{PENDULUM}");
    for (name, text, length) in
        [("pendulum", &pendulum[..], 1.0), ("car", QUARTER_CAR, 1.0), ("epas", EPAS, 0.5)]
    {
        let first = error(text, 0.0, length);
        assert!(first < 0.03, "{name}: {first}");
        for start in [5.0, 1.25, -2.0] {
            let later = error(text, start, length);
            assert!(later < 0.03, "{name} from {start} s: {later}, from 0 s {first}");
            if name == "pendulum" {
                // No force depends on the time.
                assert!((later / first - 1.0).abs() < 1e-6, "{name} from {start} s: {later} {first}");
            }
        }
    }
}

#[test]
fn a_force_that_begins_before_the_run_lasts_from_its_start() {
    let registry = cosimo::registry();
    let entry = registry.references.iter().find(|entry| entry.name == "spring-mass").unwrap();
    let at = |begins: f64, start: f64| {
        let given = [("t0".to_owned(), begins.into())];
        let options = Options::resolve(entry.name, entry.parameters, &given).unwrap();
        (entry.solve)(&options, start, &[0.0, 0.5, 1.0, 2.0])
    };
    assert_eq!(at(0.5, 3.0), at(0.0, 0.0));
    assert_eq!(at(3.5, 3.0), at(0.5, 0.0));
    assert_ne!(at(0.5, 0.0), at(0.0, 0.0));
}

#[test]
fn it_cannot_be_asked_for_what_was_before_the_start() {
    let registry = cosimo::registry();
    let system = system(&format!("[experiment]\nstart = 5.0\nstop = 6.0\n{PENDULUM}"), &registry);
    let refused = reference::solve(&system, &[4.5, 5.0], &registry).unwrap_err();
    assert_eq!(refused, "the reference `pendulum` cannot be continued to before the start, 5 s");
    assert!(reference::solve(&system, &[5.0, 5.5], &registry).is_ok());
}

/// The pendulum with parameters of both components, and the reference or why there is none.
fn with(bob: &str, oscillator: &str, source: &str) -> Result<Reference, String> {
    let text = PENDULUM
        .replace("\"native:pendulum/bob\"", &format!("\"native:pendulum/bob\"\nparameters = {{ {bob} }}"))
        .replace("\"native:pendulum/oscillator\"", &format!("\"{source}\"\nparameters = {{ {oscillator} }}"));
    let registry = cosimo::registry();
    Reference::of(&system(&format!("[experiment]\nstop = 1.0\n{text}"), &registry), &registry)
}

#[test]
fn defaults_of_components_count_as_values() {
    let native = "native:pendulum/oscillator";
    let fmu = common::folder().join("reference-oscillator.fmu");
    let design = Design::new(native, Version::Two);
    write(&design, &built_library().unwrap(), &fmu).unwrap();
    for source in [native, &fmu.to_string_lossy()] {
        let both = with("k = 500.0, d = 3.0", "k = 500.0, d = 3.0", source).unwrap();
        assert_eq!((both.options.number("k"), both.options.number("d")), (500.0, 3.0));
        // The default is 1000 N/m: to give it on one side only changes nothing.
        assert_eq!(with("k = 1000.0", "", source).unwrap().options.number("k"), 1000.0);
        assert_eq!(with("", "m2 = 0.2", source).unwrap().options.number("m2"), 0.2);
        let one = with("k = 500.0, d = 3.0", "k = 500.0", source).unwrap_err();
        assert_eq!(
            one,
            "components disagree about a parameter of the monolithic reference `pendulum`, which has one value: `d` is 3 \
             in `bob` and 10 in `oscillator` (its default); give the same value to all, e.g. `--set NAME=VALUE`"
        );
        let all = with("k = 500.0", "k = 600.0, d = 3.0", source).unwrap_err();
        for part in
            ["`k` is 500 in `bob` and 600 in `oscillator`;", "`d` is 10 in `bob` (its default) and 3 in"]
        {
            assert!(all.contains(part), "{all}");
        }
    }
}

/// Otherwise systems without any parameter would disagree.
#[test]
fn models_of_a_reference_have_its_defaults() {
    let registry = cosimo::registry();
    let mut compared = 0;
    for entry in &registry.references {
        for model in registry.kinds().flat_map(|kind| kind.models()) {
            let family =
                model.name.trim_start_matches("native:").split('/').next().unwrap_or_default().to_owned();
            if family != entry.name {
                continue;
            }
            for spec in model.parameters {
                for own in entry.parameters.iter().filter(|own| own.name == spec.name) {
                    assert_eq!(own.default_text(), spec.default_text(), "{} {}", model.name, spec.name);
                    compared += 1;
                }
            }
        }
    }
    assert!(compared > 50, "{compared}");
}
