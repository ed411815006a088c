//! `cosimo verify` as a person meets it. Its numbers are tested against monolithic reference beside the engine.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::check::altered;
use crate::common::{complaint, cosimo, folder, root, system};
use cosimo::export::{Design, Version};
use insta::assert_snapshot;
use serde_json::Value;

fn told(folder: &Path, args: &[&str]) -> String {
    let output = cosimo(folder, &[&["verify"], args].concat());
    format!("{}{}", String::from_utf8_lossy(&output.stdout), complaint(&output))
}

/// The dual mass, without what it did before the start.
fn dual_mass(folder: &Path, changes: &[(&str, &str)]) {
    let mut text = std::fs::read_to_string(root().join("examples/dual-mass/system.toml")).unwrap();
    for (from, to) in [&[("history = \"history.csv\"\n", "")], changes].concat() {
        assert!(text.contains(from), "the example no longer has `{from}`");
        text = text.replacen(from, to, 1);
    }
    std::fs::write(folder.join("system.toml"), text).unwrap();
}

#[test]
fn a_run_to_be_believed() {
    let folder = root().join("examples/dual-mass");
    assert_snapshot!("verify-believed", told(&folder, &["system.toml"]));
    // The same at a tolerance that it does not meet.
    let strict = told(&folder, &["system.toml", "--accuracy", "1e-4"]);
    assert!(
        strict.contains("verdict: not accurate to 0.01 %: the estimated error is above it in 3 of 5 signals"),
        "{strict}"
    );
    assert!(strict.ends_with("exit 4\n"), "{strict}");
    let states =
        told(&folder, &["system.toml", "--accuracy", "1e-4", "--vars", "left.x", "--vars", "left.v"]);
    assert!(states.ends_with("exit 0\n") && !states.contains("\nright.x [m]"), "{states}");
}

#[test]
fn a_bond_that_transmits_nothing_and_a_defect_that_shows_no_error() {
    let folder = folder("verify-disagree");
    dual_mass(&folder, &[("stop = 10.0", "stop = 3.0")]);
    let ones =
        ["--set", "x10=1", "--set", "v10=1", "--set", "x20=1", "--set", "v20=1", "--method", "input=hold"];
    assert_snapshot!("verify-nothing", told(&folder, &[&["system.toml"], &ones[..]].concat()));
    let heavy = [&["system.toml", "--set", "m2=450", "--vars", "*.x", "--vars", "*.v"], &ones[..]].concat();
    assert_snapshot!("verify-disagree", told(&folder, &heavy));
}

#[test]
fn controlled_steps_as_json() {
    let folder = folder("verify-json");
    system(&folder, &[]);
    let output = cosimo(&folder, &["verify", "system.toml", "--json"]);
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(if found["verdict"] == "accurate" { 0 } else { 4 }));
    assert_eq!((&found["controlled"], &found["monolithic"]), (&true.into(), &"reference".into()));
    assert!(found["smallest_step"].as_f64().unwrap() < found["largest_step"].as_f64().unwrap());
    let signals = found["signals"].as_array().unwrap();
    let wheel = signals.iter().find(|signal| signal["name"] == "wheel.z").unwrap();
    let [bar, error] = ["error_bar", "from_monolithic"].map(|word| wheel[word].as_f64().unwrap());
    assert!((0.5..=2.0).contains(&(bar / error)), "{wheel}");
    assert_eq!(found["bonds"][0]["name"], "strut");
    let words = found["bonds"][0]["words"].as_str().unwrap();
    assert!(words.starts_with("bond `strut`: energy defect 0.131 %"), "{words}");
    // Inputs are judged where they are asked for.
    let with = cosimo(&folder, &["verify", "system.toml", "--json", "--record", "wheel.F"]);
    let found: Value = serde_json::from_slice(&with.stdout).unwrap();
    assert!(found["signals"].as_array().unwrap().iter().any(|signal| signal["name"] == "wheel.F"));
}

#[test]
fn what_cannot_be_verified_is_said() {
    let folder = folder("verify-refuses");
    let mut all = String::new();
    dual_mass(&folder, &[]);
    for args in [
        &["system.toml", "--accuracy", "nan"][..],
        &["system.toml", "--absolute", "-1"],
        &["system.toml", "--stop", "0.02"],
        &["system.toml", "--vars", "wheel.*"],
        &["missing.toml"],
    ] {
        all += &told(&folder, args);
    }
    let faulty = "[experiment]\nstop = 1.0\n[component.a]\nsource = \"native:faulty/nan\"\nstart = { u = 1.0 }\n\
                  [method]\nstep = { size = 0.01 }\n";
    std::fs::write(folder.join("faulty.toml"), faulty).unwrap();
    all += &told(&folder, &["faulty.toml"]);
    let mass = Design::new("native:oscillator/mass", Version::Three);
    let inside = [("<CoSimulation ", "<CoSimulation fixedInternalStepSize=\"0.03\" ")];
    altered(&mass, &inside, &folder.join("inside.fmu"));
    let unit = ["inside.fmu", "--set", "F=1", "--stop", "1.2", "--step"];
    all += &told(&folder, &[&unit[..], &["0.06"]].concat());
    let fits = told(&folder, &[&unit[..], &["0.12"]].concat());
    assert!(
        fits.contains("no other sequence: there is only one simulator") && fits.ends_with("exit 0\n"),
        "{fits}"
    );
    assert_snapshot!("verify-refuses", all);
}

/// Nothing to compare with: that is said, and the error bars stand alone.
#[test]
fn without_an_undivided_form_it_is_said_why() {
    let folder = folder("verify-alone");
    dual_mass(&folder, &[]);
    let text = std::fs::read_to_string(folder.join("system.toml")).unwrap();
    std::fs::write(folder.join("system.toml"), &text[..text.find("[reference]").unwrap()]).unwrap();
    let said = told(&folder, &["system.toml"]);
    assert!(said.contains("no monolithic reference: the system has no `[reference]`; "), "{said}");
    dual_mass(&folder, &[]);
    std::fs::write(folder.join("s.toml"), "[[action]]\nat = 1.0\nstuck = \"left.x_far\"\n").unwrap();
    let said = told(&folder, &["system.toml", "--scenario", "s.toml"]);
    assert!(
        said.contains("no monolithic reference: the `[reference]` does not include the scenario"),
        "{said}"
    );
}

#[test]
fn ctrl_c_ends_all_runs() {
    let folder = folder("verify-interrupted");
    system(&folder, &[]);
    let args =
        ["verify", "system.toml", "--method", "controller=fixed", "--step", "1e-7", "--progress", "json"];
    let mut child = Command::new(env!("CARGO_BIN_EXE_cosimo"))
        .args(args)
        .current_dir(&folder)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The first line says that it is under way.
    let mut stderr = std::io::BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    std::io::BufRead::read_line(&mut stderr, &mut line).unwrap();
    let progress: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(progress["run"], "as it is", "{line}");
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    std::thread::spawn(move || std::io::copy(&mut stderr, &mut std::io::sink()));
    let mut waited = Duration::ZERO;
    let code = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status.code();
        }
        assert!(waited < Duration::from_secs(60), "it does not end");
        std::thread::sleep(Duration::from_millis(20));
        waited += Duration::from_millis(20);
    };
    assert_eq!(code, Some(130));
}
