//! `cosimo run --certificate` and `cosimo gate`, with real files.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::{complaint, cosimo, folder, root, system};
use cosimo::export::{Design, Version, built_library, write};
use insta::assert_snapshot;
use serde_json::{Value, json};

/// Two gains that hear each other at once, and a lag behind them.
fn gain_loop(b: f64) -> String {
    format!(
        "[experiment]\nstop = 2\n[component.first]\nsource = \"native:gain-loop/first\"\nparameters = {{ a = 3.0 }}\n\
         [component.second]\nsource = \"native:gain-loop/second\"\nparameters = {{ b = {b:?} }}\n\
         [component.lag]\nsource = \"native:gain-loop/lag\"\n\
         [[connection]]\nfrom = \"second.y\"\nto = \"first.u\"\n[[connection]]\nfrom = \"lag.x\"\nto = \"first.w\"\n\
         [[connection]]\nfrom = \"first.y\"\nto = \"second.u\"\n[[connection]]\nfrom = \"second.y\"\nto = \"lag.u\"\n\
         [method]\nexchange = \"fresh\"\nstep = {{ size = 0.25 }}\n"
    )
}

const FAULTY: &str = "[experiment]\nstop = 1.0\n[component.a]\nsource = \"native:faulty/nan\"\nstart = { u = 1.0 }\n\
                      [method]\nstep = { size = 0.01 }\n";

fn certificate(folder: &Path, name: &str) -> Value {
    serde_json::from_str(&std::fs::read_to_string(folder.join(name)).unwrap()).unwrap()
}

/// Runs to the end, or fails with the given code.
fn run(folder: &Path, name: &str, args: &[&str], code: i32) -> Value {
    let output = cosimo(folder, &[&["run", "system.toml", "--certificate", name], args].concat());
    assert_eq!(output.status.code(), Some(code), "{}", complaint(&output));
    certificate(folder, name)
}

/// What a gate says, with its exit code.
fn gate(folder: &Path, args: &[&str]) -> String {
    let output = cosimo(folder, &[&["gate"], args].concat());
    format!("{}{}", String::from_utf8_lossy(&output.stdout), complaint(&output))
}

fn without_machine(mut certificate: Value) -> Value {
    assert!(certificate["machine"]["written"].is_string());
    certificate.as_object_mut().unwrap().remove("machine");
    certificate
}

/// Whether Python's jsonschema takes them all, where it is at hand.
fn validate(folder: &Path, names: &[&str]) {
    let Some(python) = std::env::var_os("COSIMO_PYTHON") else {
        println!("skipped: COSIMO_PYTHON is not set");
        return;
    };
    let script = "import json, sys, jsonschema\n\
                  schema = json.load(open(sys.argv[1]))\n\
                  jsonschema.Draft202012Validator.check_schema(schema)\n\
                  for name in sys.argv[2:]:\n    \
                      jsonschema.Draft202012Validator(schema).validate(json.load(open(name)))\n\
                  def refused(change):\n    \
                      broken = json.load(open(sys.argv[2]))\n    \
                      change(broken)\n    \
                      assert not jsonschema.Draft202012Validator(schema).is_valid(broken)\n\
                  for key in list(json.load(open(sys.argv[2]))):\n    \
                      refused(lambda broken: broken.pop(key))\n\
                  refused(lambda broken: broken.update(more=1))\n\
                  refused(lambda broken: broken.update(version=2))\n\
                  refused(lambda broken: broken['outcome'].update(word='else'))\n\
                  refused(lambda broken: broken['verdict'].update(word='small'))\n\
                  refused(lambda broken: broken['energy'].update(word='accurate'))\n\
                  refused(lambda broken: broken['accuracy'].pop('wanted'))\n\
                  refused(lambda broken: broken['accuracy'].update(signals=[{}]))\n\
                  refused(lambda broken: broken['outcome'].pop('reason'))\n\
                  refused(lambda broken: broken['steps'].update(rejected=-1))\n\
                  refused(lambda broken: broken['steps']['history'].update(until=[None]))\n\
                  refused(lambda broken: broken['components'][0]['facts'].update(FMI=2))\n\
                  refused(lambda broken: broken['machine'].update(checksum='0'))\n";
    let mut command = Command::new(python);
    command.arg("-c").arg(script).arg(root().canonicalize().unwrap().join("certificate.schema.json"));
    let output = command.args(names).current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{}", complaint(&output));
}

#[test]
fn the_same_inputs_have_the_same_certificate_on_any_number_of_threads() {
    let folder = folder("certificate-same");
    system(&folder, &[]);
    let first = run(&folder, "first.json", &["--set", "mc=410"], 0);
    let second = run(&folder, "second.json", &["--set", "mc=410"], 0);
    let threads = run(&folder, "threads.json", &["--set", "mc=410", "--threads", "2"], 0);
    assert_eq!(threads["machine"]["threads"], 2);
    validate(&folder, &["first.json", "second.json", "threads.json"]);
    // What went in is told apart, be it on the command line only.
    let other = run(&folder, "other.json", &["--set", "mc=420"], 0);
    assert_ne!(other["system_sha256"], first["system_sha256"]);
    let first = without_machine(first);
    assert_eq!(first, without_machine(second));
    assert_eq!(first, without_machine(threads));
    let bytes = std::fs::read(folder.join("system.toml")).unwrap();
    assert_eq!(first["inputs"][0]["file"], "system.toml");
    assert_eq!(first["inputs"][0]["sha256"], cosimo::hash::sha256(&bytes));
    let bond = &first["bonds"][0];
    assert_eq!((&bond["name"], &bond["word"]), (&"strut".into(), &first["energy"]["word"]));
    assert!(bond["words"].as_str().unwrap().starts_with("energy defect of bond `strut`"));
    let share =
        bond["residual_energy_absolute"].as_f64().unwrap() / bond["exchanged_energy"].as_f64().unwrap();
    assert!((bond["energy_defect"].as_f64().unwrap() / share - 1.0).abs() < 1e-14);
    let fits: Vec<&Value> =
        first["connections"].as_array().unwrap().iter().map(|c| &c["fit"]["name"]).collect();
    assert_eq!(fits, ["hold", "hold"]);
    assert_eq!(first["connections"][0]["correction"]["options"]["gain"], 0.5);
    let steps = &first["steps"];
    let rows = steps["history"]["until"].as_array().unwrap();
    assert!(rows.len() <= 256 && rows.last().unwrap() == 4.0, "{steps}");
    let [smallest, mean, largest] =
        ["smallest", "mean", "largest"].map(|word| steps["size"][word].as_f64().unwrap());
    assert!(smallest < mean && mean < largest, "{steps}");
}

/// Units, tables, histories and scenarios, be they files or members of a package, wherever that is unpacked to.
#[test]
fn everything_that_went_in_is_hashed() {
    let folder = folder("certificate-inputs");
    for (source, version, file) in [
        ("native:oscillator/mass", Version::Two, "mass.fmu"),
        ("native:oscillator/spring-damper", Version::Three, "spring.fmu"),
    ] {
        write(&Design::new(source, version), &built_library().unwrap(), &folder.join(file)).unwrap();
    }
    let text = "[experiment]\nstop = 0.5\nhistory = \"before.csv\"\n[component.mass]\nsource = \"mass.fmu\"\n\
                [component.spring]\nsource = \"spring.fmu\"\n[component.table]\nsource = \"drive.csv\"\n\
                [[bond]]\nname = \"joint\"\na = { effort = \"spring.F\", flow = \"spring.v\" }\n\
                b = { effort = \"mass.F\", flow = \"mass.v\" }\n[method]\nstep = { size = 0.01 }\n";
    std::fs::write(folder.join("system.toml"), text).unwrap();
    std::fs::write(folder.join("drive.csv"), "time,u\n0,1\n1,2\n").unwrap();
    std::fs::write(folder.join("before.csv"), "time,mass.v,spring.F\n-0.01,0,0\n").unwrap();
    std::fs::write(folder.join("s.toml"), "[[action]]\nat = 0.1\nstuck = \"mass.F\"\n").unwrap();
    let found = run(&folder, "cert.json", &["--scenario", "s.toml"], 0);
    let files: Vec<&str> =
        found["inputs"].as_array().unwrap().iter().map(|input| input["file"].as_str().unwrap()).collect();
    assert_eq!(files, ["system.toml", "s.toml", "before.csv", "drive.csv", "mass.fmu", "spring.fmu"]);
    for input in found["inputs"].as_array().unwrap() {
        let bytes = std::fs::read(folder.join(input["file"].as_str().unwrap())).unwrap();
        assert_eq!(input["sha256"], cosimo::hash::sha256(&bytes), "{input}");
    }
    assert_eq!(found["bonds"][0]["changed_by_scenario"], true);
    assert_eq!(found["components"][0]["facts"]["FMI"], "2.0");
    validate(&folder, &["cert.json"]);
    // From another folder it is the same system.
    let path = folder.join("system.toml").display().to_string();
    let scenario = folder.join("s.toml").display().to_string();
    let args = ["run", &path, "--scenario", &scenario, "--certificate", "far.json"];
    let output = cosimo(folder.parent().unwrap(), &args);
    assert!(output.status.success(), "{}", complaint(&output));
    let far = certificate(folder.parent().unwrap(), "far.json");
    std::fs::remove_file(folder.parent().unwrap().join("far.json")).unwrap();
    assert_eq!(without_machine(far), without_machine(found));
    let plain = text.replace("history = \"before.csv\"\n", "");
    std::fs::write(folder.join("system.toml"), plain).unwrap();
    let converted = cosimo(&folder, &["convert", "system.toml", "package.ssp"]);
    assert!(converted.status.success(), "{}", complaint(&converted));
    let packed = ["one", "two"].map(|cache| {
        let output = Command::new(env!("CARGO_BIN_EXE_cosimo"))
            .args(["run", "package.ssp", "--certificate", "packed.json"])
            .current_dir(&folder)
            .env("XDG_CACHE_HOME", folder.join(cache))
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", complaint(&output));
        without_machine(certificate(&folder, "packed.json"))
    });
    assert_eq!(packed[0], packed[1]);
    let text = packed[0]["inputs"].to_string();
    for name in ["package.ssp", "package.ssp: resources/mass.fmu", "package.ssp: SystemStructure.ssd"] {
        assert!(text.contains(&format!("\"{name}\"")), "{text}");
    }
}

#[test]
fn loops_are_told_with_their_residuals_at_the_start_and_later() {
    let folder = folder("certificate-loop");
    std::fs::write(folder.join("system.toml"), gain_loop(-2.0)).unwrap();
    let found = run(&folder, "cert.json", &[], 0);
    let loops = found["loops"].as_array().unwrap();
    assert_eq!(loops.len(), 1, "{loops:?}");
    let [start, later, relative] =
        ["at_start", "worst_later", "relative"].map(|word| loops[0][word].as_f64().unwrap());
    assert!(start <= 1e-12 && later <= 1e-12 && relative <= 1e-12, "{loops:?}");
    assert!(loops[0]["loop"].as_str().unwrap().contains("first.y -> second.u -> second.y"), "{loops:?}");
    validate(&folder, &["cert.json"]);
    let any = ["cert.json", "--any-accuracy"];
    assert!(gate(&folder, &[&any[..], &["--max-loop-residual", "1e-9"]].concat()).contains("exit 0"));
    let told = gate(&folder, &[&any[..], &["--max-defect", "1"]].concat());
    assert!(
        told.contains("FAIL  energy-defect: expected a power bond to measure") && told.contains("exit 1")
    );
    // Where outputs are not renewed, it is not solved again.
    let stale = gain_loop(-0.2).replace("fresh", "stale");
    std::fs::write(folder.join("system.toml"), stale).unwrap();
    let found = run(&folder, "stale.json", &[], 0);
    assert!(found["loops"][0]["at_start"].is_number() && found["loops"][0]["worst_later"].is_null());
}

#[test]
fn runs_that_did_not_end_have_a_certificate_that_says_so() {
    let folder = folder("certificate-failed");
    std::fs::write(folder.join("system.toml"), FAULTY).unwrap();
    let failed = run(&folder, "failed.json", &[], 1);
    assert_eq!(
        (&failed["outcome"]["complete"], &failed["outcome"]["word"]),
        (&false.into(), &"failed".into())
    );
    assert!(failed["outcome"]["reason"].as_str().unwrap().contains("returned NaN"), "{failed}");
    assert!(failed["steps"]["count"].as_u64().unwrap() > 0);
    // 3 b = 1: the loop has no solution, so the run cannot even begin.
    std::fs::write(folder.join("system.toml"), gain_loop(1.0 / 3.0)).unwrap();
    let never = run(&folder, "never.json", &[], 1);
    let reason = never["outcome"]["reason"].as_str().unwrap();
    assert!(reason.starts_with("the run did not begin: ") && reason.contains("is not solved"), "{reason}");
    assert_eq!(failed["verdict"], json!({ "word": "unknown", "words": "unknown: the run failed." }));
    assert_eq!(never["verdict"]["word"], "unknown");
    assert!(
        never["verdict"]["words"].as_str().unwrap().starts_with(&format!("unknown: {reason}")),
        "{never}"
    );
    validate(&folder, &["failed.json", "never.json"]);
    assert_snapshot!("gate-incomplete", gate(&folder, &["failed.json"]));
    assert!(gate(&folder, &["never.json", "--allow-incomplete"]).contains("exit 1"));
    assert!(gate(&folder, &["never.json", "--allow-incomplete", "--any-accuracy"]).contains("exit 0"));
}

#[test]
fn ctrl_c_leaves_a_certificate_of_the_part_before_it() {
    let folder = folder("certificate-interrupted");
    system(&folder, &[]);
    let args = ["run", "system.toml", "--method", "controller=fixed", "--step", "1e-7", "--out", "rows.csv"];
    let child = Command::new(env!("CARGO_BIN_EXE_cosimo"))
        .args([&args[..], &["--certificate", "cert.json"]].concat())
        .current_dir(&folder)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let begun = Instant::now();
    while std::fs::metadata(folder.join("rows.csv")).map_or(0, |file| file.len()) == 0 {
        assert!(begun.elapsed() < Duration::from_secs(60), "no rows appeared");
        std::thread::sleep(Duration::from_millis(20));
    }
    // From the first moment on no earlier certificate can be taken for this one.
    assert_eq!(certificate(&folder, "cert.json")["outcome"]["word"], "unfinished");
    validate(&folder, &["cert.json"]);
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(130));
    let found = certificate(&folder, "cert.json");
    assert_eq!(
        (&found["outcome"]["word"], &found["outcome"]["complete"]),
        (&"interrupted".into(), &false.into())
    );
    validate(&folder, &["cert.json"]);
    assert!(gate(&folder, &["cert.json"]).contains("exit 1"));
}

#[test]
fn a_gate_passes_and_fails_where_it_should() {
    let folder = folder("certificate-gate");
    system(&folder, &[]);
    let found = run(&folder, "cert.json", &[], 0);
    let defect = found["bonds"][0]["energy_defect"].as_f64().unwrap();
    let at = format!("{defect:e}");
    let just_below = format!("{:e}", defect * (1.0 - 1e-12));
    let judged = |args: &[&str]| gate(&folder, &[&["cert.json", "--any-accuracy"], args].concat());
    assert!(judged(&[]).contains("exit 0"));
    assert!(judged(&["--max-defect", &at]).contains("exit 0"));
    assert!(judged(&["--max-defect", &just_below]).contains("exit 1"));
    let own = format!("strut={at}");
    assert!(judged(&["--max-defect", "1e-9", "--bond", &own]).contains("exit 0"));
    let all = [
        "cert.json",
        "--any-accuracy",
        "--max-defect",
        "1e-9",
        "--max-indicator",
        "0.1",
        "--max-rejected",
        "0",
        "--no-warnings",
    ];
    let told = gate(&folder, &all);
    for line in [
        "pass  complete: expected a run to its end, got finished",
        "FAIL  energy-defect of bond `strut`: expected at most 1e-9 of the energy exchanged, got ",
        "FAIL  indicator: expected at most 1e-1 in every step, got ",
        "pass  rejected: expected at most 0 steps rejected, got 0",
        "pass  warnings: expected no warning, got none",
        "cert.json: failed 2 of 6 criteria\nexit 1\n",
    ] {
        assert!(told.contains(line), "`{line}` is not in\n{told}");
    }
    let output = cosimo(&folder, &[&["gate"], &all[..], &["--json"]].concat());
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    let failed = json["criteria"].as_array().unwrap().iter().filter(|check| check["pass"] == false).count();
    assert_eq!((&json["pass"], failed), (&false.into(), 2));
}

/// The verdict of the run is the criterion, or limits for error bars are; other criteria do not replace it.
#[test]
fn a_gate_is_about_the_accuracy_of_signals() {
    let folder = folder("certificate-accuracy");
    system(&folder, &[]);
    let good = run(&folder, "good.json", &["--accuracy", "1"], 0);
    let bad = run(&folder, "bad.json", &["--accuracy", "1e-9"], 0);
    let off = run(&folder, "off.json", &["--error-bars", "off"], 0);
    validate(&folder, &["good.json", "bad.json", "off.json"]);
    for (name, found, word, code) in [
        ("good.json", &good, "accurate", 0),
        ("bad.json", &bad, "not-accurate", 1),
        ("off.json", &off, "unknown", 1),
    ] {
        assert_eq!(found["verdict"]["word"], word, "{name}");
        let told = gate(&folder, &[name]);
        assert!(told.contains(found["verdict"]["words"].as_str().unwrap()), "{told}");
        assert!(told.contains(&format!("exit {code}")), "{told}");
        assert!(gate(&folder, &[name, "--max-defect", "0.5"]).contains(&format!("exit {code}")), "{name}");
        assert!(gate(&folder, &[name, "--any-accuracy"]).contains("exit 0"), "{name}");
    }
    // The error bars are those of the run, whatever was wanted of it.
    let worst = &good["accuracy"]["signals"][0];
    let (name, most) = (worst["name"].as_str().unwrap(), worst["relative"].as_f64().unwrap());
    let (at, below) = (format!("{most:e}"), format!("{:e}", most * (1.0 - 1e-12)));
    assert!(gate(&folder, &["good.json", "--max-error", &at]).contains("exit 0"));
    let told = gate(&folder, &["good.json", "--max-error", &below]);
    let line = format!("FAIL  accuracy of `{name}`: expected an error bar of at most {below}");
    assert!(told.contains(&line) && told.contains("exit 1"), "{told}");
    let own = format!("{name}={at}");
    assert!(gate(&folder, &["good.json", "--max-error", &below, "--signal", &own]).contains("exit 0"));
    assert!(gate(&folder, &["off.json", "--max-error", "1"]).contains("exit 1"));
    let told = gate(&folder, &["good.json", "--max-error", "1", "--signal", "chassi.*=1"]);
    assert!(told.contains("no signal that matches `chassi.*`") && told.contains("exit 2"), "{told}");
}

/// All at rest: the force is zero for ever, and nothing can be lost of nothing.
#[test]
fn a_bond_that_transmits_nothing_is_not_praised() {
    let folder = folder("certificate-nothing");
    for file in ["system.toml", "history.csv"] {
        std::fs::copy(root().join("examples/dual-mass").join(file), folder.join(file)).unwrap();
    }
    let text = std::fs::read_to_string(folder.join("system.toml")).unwrap();
    std::fs::write(folder.join("system.toml"), text.replace("history = \"history.csv\"\n", "")).unwrap();
    let args = ["run", "system.toml", "--set", "x10=0", "--certificate", "cert.json"];
    let told = String::from_utf8(cosimo(&folder, &args).stdout).unwrap();
    assert!(told.contains(
        "energy balance: no power is transmitted by `spring`; the energy defect shows nothing there"
    ));
    let found = certificate(&folder, "cert.json");
    assert!(found["bonds"][0]["energy_defect"].is_null());
    assert_eq!(found["bonds"][0]["word"], "unmeasured");
    validate(&folder, &["cert.json"]);
    assert_snapshot!("gate-nothing", gate(&folder, &["cert.json", "--max-defect", "1e-3"]));
    assert!(gate(&folder, &["cert.json", "--max-defect", "1e-3", "--bond", "spring=inf"]).contains("exit 0"));
}

#[test]
fn bad_certificates_and_bad_wishes_are_refused() {
    let folder = folder("certificate-bad");
    system(&folder, &[]);
    let good = run(&folder, "cert.json", &["--stop", "0.1"], 0);
    let text = std::fs::read_to_string(folder.join("cert.json")).unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
    write("cut.json", &text[..text.find("\"steps\"").unwrap()]);
    write("version.json", &text.replacen("\"version\": 3", "\"version\": 7", 1));
    write("other.json", "{ \"time\": 1.0 }\n");
    write("list.json", "[]");
    let mut damaged = good.clone();
    damaged["bonds"][0]["energy_defect"] = "NaN".into();
    damaged["steps"]["rejected"] = serde_json::json!(-3);
    damaged["warnings"] = Value::Null;
    damaged["verdict"]["word"] = "small".into();
    write("damaged.json", &damaged.to_string());
    let nan = good["bonds"][0]["energy_defect"].to_string();
    write("nan.json", &text.replacen(&format!("\"energy_defect\": {nan}"), "\"energy_defect\": NaN", 1));
    let mut told = String::new();
    for name in ["cut.json", "version.json", "other.json", "list.json", "damaged.json", "nan.json"] {
        told += &gate(&folder, &[name, "--max-defect", "1"]);
    }
    told += &gate(&folder, &["cert.json", "--bond", "strot=1", "--bond", "wheel=2"]);
    told += &gate(&folder, &["cert.json", "--max-defect", "nan", "--max-indicator", "-1", "--bond", "strut"]);
    told += &gate(&folder, &["cert.json", "--max-error", "-1", "--signal", "a.x", "--signal", "a.x=nan"]);
    told += &gate(&folder, &["missing.json"]);
    assert_snapshot!("gate-refuses", told);
    assert_eq!(told.matches("exit 2\n").count(), 9, "{told}");
}

#[test]
fn a_certificate_needs_a_file_of_its_own_before_the_run_starts() {
    let folder = folder("certificate-place");
    system(&folder, &[]);
    let before = std::fs::read_to_string(folder.join("system.toml")).unwrap();
    let output = cosimo(&folder, &["run", "system.toml", "--certificate", "./system.toml"]);
    let told = complaint(&output);
    assert!(told.contains("exit 2") && told.contains("which the run reads"), "{told}");
    assert_eq!(std::fs::read_to_string(folder.join("system.toml")).unwrap(), before);
    let output = cosimo(&folder, &["run", "system.toml", "--certificate", "nowhere/cert.json"]);
    assert!(complaint(&output).contains("the folder `nowhere` does not exist"));
}

/// Ledger and counts are those of the whole run.
#[test]
fn a_resumed_run_has_the_ledger_of_the_whole() {
    let folder = folder("certificate-resumed");
    system(&folder, &[]);
    let whole = run(&folder, "whole.json", &[], 0);
    let args =
        ["run", "system.toml", "--stop", "2", "--end", "after", "--checkpoint", "end,file=half.checkpoint"];
    let output = cosimo(&folder, &args);
    assert!(output.status.success(), "{}", complaint(&output));
    let output = cosimo(&folder, &["resume", "half.checkpoint", "--stop", "4", "--certificate", "rest.json"]);
    assert!(output.status.success(), "{}", complaint(&output));
    let rest = certificate(&folder, "rest.json");
    validate(&folder, &["rest.json"]);
    assert!(rest["experiment"]["resumed_at"].as_f64().unwrap() >= 2.0);
    assert!(whole["experiment"]["resumed_at"].is_null());
    assert!(rest["steps"]["count"].as_u64().unwrap() > 1000);
    assert_eq!(rest["outcome"], whole["outcome"]);
}
