//! Combinations of methods and simulators that cannot work, do not converge or mean nothing: the whole text.

use std::path::Path;

use cosimo_test_fmus::{Design, SABOTEUR, Variant, Version, built_library, write};
use insta::assert_snapshot;

use crate::common::{complaint, cosimo, folder};

/// Two gains in a loop whose product is above one, and a lag.
const GAIN_LOOP: &str = r#"[experiment]
stop = 1.0

[component.first]
source = "native:gain-loop/first"
parameters = { a = 3.0 }
start = { u = 0.8 }

[component.second]
source = "native:gain-loop/second"

[component.lag]
source = "native:gain-loop/lag"

[[connection]]
from = "second.y"
to = "first.u"

[[connection]]
from = "lag.x"
to = "first.w"

[[connection]]
from = "first.y"
to = "second.u"

[[connection]]
from = "second.y"
to = "lag.u"

[method]
step = { size = 0.1 }
"#;

/// An oscillator of two units.
const UNITS: &str = r#"[experiment]
stop = 1.0

[component.spring]
source = "spring.fmu"

[component.mass]
source = "mass.fmu"

[[bond]]
name = "joint"
a = { effort = "spring.F", flow = "spring.v" }
b = { effort = "mass.F", flow = "mass.v" }

[method]
step = { size = 0.1 }
"#;

fn export(source: &str, variant: Variant, into: &Path) {
    let design = Design::new(source, Version::Two).variant(variant);
    write(&design, &built_library().unwrap(), into).unwrap();
}

fn units(name: &str, variant: Variant) -> std::path::PathBuf {
    let folder = folder(&format!("combinations-{name}"));
    export("native:oscillator/spring-damper", Variant::Plain, &folder.join("spring.fmu"));
    export("native:oscillator/mass", variant, &folder.join("mass.fmu"));
    folder
}

/// What the command says on both streams.
fn said(folder: &Path, command: &str, text: &str) -> String {
    std::fs::write(folder.join("system.toml"), text).unwrap();
    complaint(&cosimo(folder, &[command, "system.toml"]))
}

#[test]
fn an_iteration_that_cannot_converge() {
    let folder = folder("combinations-diverges");
    let text = GAIN_LOOP
        .replace("[method]", "[method]\niteration = { waveform = { relaxation = \"none\", sweeps = 8 } }");
    assert_snapshot!(said(&folder, "run", &text));
    // What makes it converge is what the message says, and the default.
    for relaxation in ["relaxation = \"quasi-newton\", ", ""] {
        let helped = text.replace("relaxation = \"none\", ", relaxation);
        assert!(said(&folder, "run", &helped).starts_with("exit 0\n"), "{relaxation}");
    }
}

#[test]
fn iterations_and_estimates_that_rewind_a_unit_that_cannot() {
    let folder = units("no-rollback", Variant::NoRollback);
    let text = UNITS.replace(
        "step = { size = 0.1 }",
        "iteration = \"waveform\"\nstep = { size = 0.1, estimate = \"richardson\" }",
    );
    assert_snapshot!(said(&folder, "explain", &text));
}

#[test]
fn an_iteration_that_relies_on_a_unit_that_lies_about_its_state() {
    let folder = folder("combinations-liar");
    export(SABOTEUR, Variant::Plain, &folder.join("unit.fmu"));
    let text = "[experiment]\nstop = 1.0\n\n[component.unit]\nsource = \"unit.fmu\"\nparameters = { fault = \"forget\" }\n\n\
                [method]\niteration = \"waveform\"\nstep = { size = 0.1 }\n";
    assert_snapshot!(said(&folder, "run", text));
}

#[test]
fn slopes_that_nobody_offers() {
    let folder = units("slopes", Variant::Plain);
    assert_snapshot!(said(&folder, "explain", &UNITS.replace("[method]", "[method]\ninput = \"hermite\"")));
}

#[test]
fn a_history_that_is_shorter_than_the_inputs_look_back() {
    let folder = folder("combinations-history");
    std::fs::write(folder.join("before.csv"), "time,first.y,second.y,lag.x\n-0.1,4.0,2.0,1.0\n").unwrap();
    let text = GAIN_LOOP
        .replace("a = 3.0", "a = 0.5")
        .replace("stop = 1.0", "stop = 1.0\nhistory = \"before.csv\"")
        .replace("[method]", "[method]\ninput = \"quadratic\"");
    assert_snapshot!(said(&folder, "explain", &text));
}

/// Allowed, and pointless or doubtful: said before the run.
#[test]
fn combinations_that_mean_nothing() {
    let folder = units("meaningless", Variant::Plain);
    let text = UNITS
        .replace("[method]", "[method]\ninput = \"causal\"\nexchange = \"fresh\"")
        .replace("size = 0.1", "size = 0.1, controller = \"pi\", reject = \"above-one\"");
    assert_snapshot!(said(&folder, "explain", &text));
    let dahlquist = "[experiment]\nstop = 1.0\n\n[component.a]\nsource = \"native:dahlquist/first\"\n\n[component.b]\n\
                     source = \"native:dahlquist/second\"\n\n[[connection]]\nfrom = \"a.y\"\nto = \"b.u\"\n\n[[connection]]\n\
                     from = \"b.y\"\nto = \"a.u\"\n\n[method]\ninput = \"causal\"\n\
                     step = { size = 0.1, reject = \"above-one\" }\n";
    assert_snapshot!("nothing-passes-through", said(&folder, "explain", dahlquist));
}
