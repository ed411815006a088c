//! The JSON schemas in the repository: they are the present ones, and take what the command writes.

use std::path::Path;
use std::process::Command;

use crate::common::{complaint, cosimo, folder, root, system};
use cosimo::export::{Design, Version, built_library, write};
use cosimo::json_schema::SCHEMAS;

/// Where the schema of a kind of file lies.
fn file(name: &str) -> String {
    match name {
        "system" => "cosimo.schema.json".into(),
        "certificate" => "certificate.schema.json".into(),
        other => format!("schemas/{other}.schema.json"),
    }
}

#[test]
fn the_schemas_in_the_repository_are_the_present_ones() {
    let folder = folder("schemas");
    for known in SCHEMAS {
        let committed = std::fs::read_to_string(root().join(file(known.name))).unwrap();
        let printed = cosimo(&folder, &["schema", known.name]);
        let printed = String::from_utf8(printed.stdout).unwrap();
        assert!(printed == committed, "{}: run `cargo xtask generate`", known.name);
    }
}

/// Runs the command and keeps what it printed.
fn printed(folder: &Path, to: &str, args: &[&str], code: i32) {
    let output = cosimo(folder, args);
    assert_eq!(output.status.code(), Some(code), "{args:?}: {}", complaint(&output));
    std::fs::write(folder.join(to), output.stdout).unwrap();
}

/// Whether Python's jsonschema takes them all, where it is at hand, and refuses them without a member and with one more.
fn validate(schema: &str, folder: &Path, names: &[&str]) {
    for name in names {
        let text = std::fs::read_to_string(folder.join(name)).unwrap();
        assert!(serde_json::from_str::<serde_json::Value>(&text).unwrap().is_object(), "{name}: {text}");
    }
    let Some(python) = std::env::var_os("COSIMO_PYTHON") else {
        println!("skipped: COSIMO_PYTHON is not set");
        return;
    };
    let script = "import json, sys, jsonschema\n\
                  schema = json.load(open(sys.argv[1]))\n\
                  jsonschema.Draft202012Validator.check_schema(schema)\n\
                  judge = jsonschema.Draft202012Validator(schema)\n\
                  for name in sys.argv[2:]:\n    \
                      judge.validate(json.load(open(name)))\n    \
                      for key in schema['required']:\n        \
                          broken = json.load(open(name))\n        \
                          broken.pop(key)\n        \
                          assert not judge.is_valid(broken), key\n    \
                      more = json.load(open(name))\n    \
                      more.update(more=1)\n    \
                      assert not judge.is_valid(more), 'one more'\n";
    let mut command = Command::new(python);
    command.arg("-c").arg(script).arg(root().canonicalize().unwrap().join(file(schema)));
    let output = command.args(names).current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{}", complaint(&output));
}

const FAULTY: &str = "[experiment]\nstop = 1.0\n[component.a]\nsource = \"native:faulty/nan\"\nstart = { u = 1.0 }\n\
                    [method]\nstep = { size = 0.01 }\n";

#[test]
fn summaries_of_runs_are_as_their_schema_says() {
    let folder = folder("schema-summary");
    let run = |to: &str, file: &str, args: &[&str], code: i32| {
        let output = cosimo(&folder, &[&["run", file, "--summary-json", to], args].concat());
        assert_eq!(output.status.code(), Some(code), "{args:?}: {}", complaint(&output));
    };
    system(&folder, &[]);
    run("plain.json", "system.toml", &[], 0);
    std::fs::write(folder.join("actions.toml"), "[[action]]\nat = 0.1\nstop = true\nname = \"enough\"\n")
        .unwrap();
    run("scenario.json", "system.toml", &["--scenario", "actions.toml", "--real-time=100"], 0);
    run(
        "learned.json",
        "system.toml",
        &["--method", "controller=fixed", "--method", "correction=identified", "--step", "1e-3"],
        0,
    );
    run(
        "own.json",
        "system.toml",
        &["--method", "controller=fixed", "--step", "1e-3", "--own-step", "wheel=5e-4"],
        0,
    );
    std::fs::write(folder.join("line.toml"), crate::check::LINE).unwrap();
    run("line.json", "line.toml", &[], 0);
    std::fs::write(folder.join("broken.toml"), FAULTY).unwrap();
    run("failed.json", "broken.toml", &[], 1);
    validate(
        "summary",
        &folder,
        &["line.json", "plain.json", "scenario.json", "learned.json", "own.json", "failed.json"],
    );
}

#[test]
fn checks_are_as_their_schema_says() {
    let folder = folder("schema-check");
    system(&folder, &[]);
    printed(&folder, "fine.json", &["check", "system.toml", "--json"], 0);
    printed(&folder, "short.json", &["check", "system.toml", "--json", "--no-forecast"], 0);
    let fixed = [
        "check",
        "system.toml",
        "--json",
        "--method",
        "controller=fixed",
        "--step",
        "1e-3",
        "--own-step",
        "wheel=5e-4",
    ];
    printed(&folder, "own.json", &fixed, 0);
    printed(
        &folder,
        "long.json",
        &["check", "system.toml", "--json", "--method", "controller=fixed", "--step", "0.5"],
        0,
    );
    std::fs::write(folder.join("broken.toml"), "[experiment]\nstop = \"soon\"\n").unwrap();
    printed(&folder, "broken.json", &["check", "broken.toml", "--json"], 2);
    validate("check", &folder, &["fine.json", "short.json", "own.json", "long.json", "broken.json"]);
}

#[test]
fn verifications_and_comparisons_are_as_their_schemas_say() {
    let folder = folder("schema-verify");
    system(&folder, &[]);
    let args = ["verify", "system.toml", "--json", "--stop", "0.2", "--accuracy", "1", "--progress", "none"];
    printed(&folder, "verify.json", &args, 0);
    validate("verify", &folder, &["verify.json"]);
    std::fs::write(folder.join("a.csv"), "time,x,y\n0,1,1\n1,2,1\n").unwrap();
    std::fs::write(folder.join("b.csv"), "time,x,z\n0,1,1\n1,NaN,1\n").unwrap();
    printed(&folder, "same.json", &["compare", "a.csv", "a.csv", "--json"], 0);
    printed(&folder, "other.json", &["compare", "a.csv", "b.csv", "--json"], 1);
    validate("compare", &folder, &["same.json", "other.json"]);
}

#[test]
fn what_fmus_are_is_as_its_schema_says() {
    let folder = folder("schema-info");
    let library = built_library().unwrap();
    let mut names = Vec::new();
    for version in Version::ALL {
        let name = format!("wheel{version:?}");
        write(
            &Design::new("native:quarter-car/wheel", version),
            &library,
            &folder.join(format!("{name}.fmu")),
        )
        .unwrap();
        printed(&folder, &format!("{name}.json"), &["info", &format!("{name}.fmu"), "--json"], 0);
        names.push(format!("{name}.json"));
    }
    validate("info", &folder, &names.iter().map(String::as_str).collect::<Vec<_>>());
}
