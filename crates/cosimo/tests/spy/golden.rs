//! The whole trace of calls for every method of the registry and both versions of FMI, each in a file of its own.
//!
//! New or changed traces: `INSTA_UPDATE=always cargo test -p cosimo --test spy`, then read every line of the
//! difference against the standard. A trace that begins with an instance that is freed at once is one whose
//! rollback was tried out before the run.

use std::collections::BTreeSet;
use std::path::Path;

use cosimo::engine::{Checkpoint, Run};
use cosimo_test_fmus::{CLOCKS, Design, SABOTEUR, Variant, Version};

use crate::record::{Allowed, rounded, violations};
use crate::units::{FEEDTHROUGH, MASS, SPRING, new_record, planned, spy, take_record, unit};

const STEPS: usize = 3;

/// What a golden run does between its start and its end.
type Script = fn(&mut Run) -> Result<(), String>;

struct Golden {
    name: String,
    components: String,
    method: String,
    script: Script,
}

fn steps(run: &mut Run) -> Result<(), String> {
    for _ in 0..STEPS {
        if !run.finished() {
            run.step().map_err(|error| error.to_string())?;
        }
    }
    Ok(())
}

/// As [`steps`], where some step must have been rewound.
fn rejected(run: &mut Run) -> Result<(), String> {
    steps(run)?;
    assert!(run.counters().rejected > 0, "no step was rejected");
    Ok(())
}

fn nothing(_: &mut Run) -> Result<(), String> {
    Ok(())
}

fn one_step(run: &mut Run) -> Result<(), String> {
    run.step().map_err(|error| error.to_string())
}

fn checkpoint(run: &mut Run) -> Result<(), String> {
    one_step(run)?;
    let bytes = run.save().unwrap().bytes().to_vec();
    one_step(run)?;
    run.load(&Checkpoint::from_bytes(bytes).unwrap()).unwrap();
    one_step(run)
}

/// The damped oscillator out of two units; `more` are further parameters of both.
fn oscillator(version: Version, variant: Variant, more: &str) -> String {
    let file = |source: &str| unit(&spy(source, version, variant), "golden").0;
    let (spring, mass) = (file(SPRING), file(MASS));
    format!(
        "[component.spring]\nsource = \"{spring}\"\nparameters = {{ spy_file = \"RECORD\"{more} }}\n\
         [component.mass]\nsource = \"{mass}\"\nparameters = {{ spy_file = \"RECORD\"{more} }}\n\
         [[bond]]\nname = \"joint\"\na = {{ effort = \"spring.F\", flow = \"spring.v\" }}\n\
         b = {{ effort = \"mass.F\", flow = \"mass.v\" }}\nenergy_scale = 1.0\n"
    )
}

/// Two instances of one unit, of which the first does something wrong in the given call of doStep.
fn saboteurs(version: Version, fault: &str, at_step: u32) -> String {
    let (file, _) = unit(&spy(SABOTEUR, version, Variant::Plain), "golden");
    let component = |name: &str, fault: &str| {
        format!(
            "[component.{name}]\nsource = \"{file}\"\n\
             parameters = {{ spy_file = \"RECORD\", fault = \"{fault}\", at_step = {at_step} }}\n"
        )
    };
    component("bad", fault) + &component("good", "none")
}

/// One unit for model exchange, integrated coarsely so that its trace can be read.
fn equations(model: &str, version: Version, variant: Variant, more: &str) -> String {
    let design = Design::exchange(&format!("native:{model}"), version).variant(variant).spying();
    let (file, _) = unit(&design, "golden");
    format!(
        "[component.unit]\nsource = \"{file}\"\nparameters = {{ spy_file = \"RECORD\", \"cosimo.relative\" = 1e-2, \
         \"cosimo.solver\" = \"bogacki-shampine\"{more} }}\n"
    )
}

const FIXED: &str = "step = { size = 0.1 }";
/// Tolerances are such that the first step is rejected.
const REJECTS: &str = "reject = \"above-one\", size = 0.1, min = 1e-3, max = 0.2 }";
const RESIDUAL: &str = "estimate = { power-residual = { tolerance = 1e-3, energy_scale = 1.0 } }";

/// One run for every method of every axis.
fn methods() -> Vec<(String, String, Script)> {
    let registry = cosimo::registry();
    let mut all: Vec<(String, String, Script)> = Vec::new();
    let mut plain = |axis: &str, key: &str, names: Vec<&str>| {
        for name in names {
            let text = format!("{key} = \"{name}\"\n{FIXED}");
            all.push((format!("{axis}-{name}"), text, steps));
        }
    };
    plain("partition", "partition", registry.partitions.iter().map(|entry| entry.name).collect());
    plain("iteration", "iteration", registry.iterations.iter().map(|entry| entry.name).collect());
    plain("input", "input", registry.inputs.iter().map(|entry| entry.name).collect());
    plain("correction", "correction", registry.corrections.iter().map(|entry| entry.name).collect());
    plain("exchange", "exchange", vec!["stale", "fresh"]);
    for source in FEEDTHROUGH {
        let text = format!("correction = {{ nepce = {{ feedthrough = \"{source}\" }} }}\n{FIXED}");
        all.push((format!("jacobian-{source}"), text, steps));
    }
    for entry in &registry.estimates {
        let (estimate, script): (String, Script) = match entry.name {
            "power-residual" => (RESIDUAL.into(), rejected),
            "predictor-corrector" => {
                ("estimate = { predictor-corrector = { tolerance = 0.05 } }".into(), rejected)
            }
            other => (format!("estimate = \"{other}\""), steps),
        };
        all.push((
            format!("estimate-{}", entry.name),
            format!("step = {{ {estimate}, controller = \"i\", {REJECTS}"),
            script,
        ));
    }
    for entry in &registry.controllers {
        let script = if entry.name == "fixed" { steps } else { rejected };
        let text = format!("step = {{ {RESIDUAL}, controller = \"{}\", {REJECTS}", entry.name);
        all.push((format!("law-{}", entry.name), text, script));
    }
    all
}

fn all() -> Vec<Golden> {
    let mut all = Vec::new();
    for version in Version::ALL {
        let suffix = if version == Version::Two { "fmi2" } else { "fmi3" };
        let mut add = |name: &str, components: String, method: &str, script: Script| {
            all.push(Golden { name: format!("{name}-{suffix}"), components, method: method.into(), script });
        };
        for (name, method, script) in methods() {
            add(&name, oscillator(version, Variant::Plain, ""), &method, script);
        }
        for variant in Variant::ALL.into_iter().filter(|variant| variant.exists_in(version)) {
            let name = format!("variant-{}", variant.text());
            let method = format!("input = \"linear\"\n{FIXED}");
            add(&name, oscillator(version, variant, ""), &method, steps);
        }
        let substeps = oscillator(version, Variant::Plain, ", \"cosimo.substep\" = 2");
        add("substeps", substeps, &format!("input = \"linear\"\n{FIXED}"), one_step);
        // A lag under a jump at 0.1 s, a ball that falls to the ground, a stair and a relay.
        let ball = |variant| equations("bouncing-ball", version, variant, ", height = 0.05, velocity = 0.0");
        for variant in
            [Variant::Plain, Variant::NoRollback, Variant::Completed, Variant::StepEvents, Variant::Iterates]
        {
            add(&format!("exchange-ball-{}", variant.text()), ball(variant), FIXED, steps);
        }
        add("exchange-ball-checkpoint", ball(Variant::Plain), FIXED, checkpoint);
        let stair = equations("stair", version, Variant::Plain, ", period = 0.12");
        add("exchange-stair", stair, FIXED, steps);
        let driven = equations("driven", version, Variant::Plain, "");
        std::fs::write(
            crate::units::folder().join("jump.csv"),
            "time,u\n0.0,1.0\n0.1,1.0\n0.1,3.0\n1.0,3.0\n",
        )
        .unwrap();
        let jump =
            "[component.table]\nsource = \"jump.csv\"\n[[connection]]\nfrom = \"table.u\"\nto = \"unit.u\"\n";
        add("exchange-jump", format!("{driven}{jump}"), FIXED, steps);
        let stiff = equations("driven", version, Variant::Plain, "").replace("bogacki-shampine", "bdf");
        add("exchange-bdf", stiff, FIXED, one_step);
        if version == Version::Three {
            // Events of units for co-simulation: announced ones, inside a step and at its end; and clocks.
            let alone = |design: Design, more: &str| {
                let (file, _) = unit(&design.spying(), "golden");
                format!(
                    "[component.unit]\nsource = \"{file}\"\nparameters = {{ spy_file = \"RECORD\"{more} }}\n"
                )
            };
            let stair = || alone(Design::new("native:stair", version), ", period = 0.12");
            add("events-stair", stair(), FIXED, steps);
            add("events-stair-checkpoint", stair(), FIXED, checkpoint);
            add("events-clocks", alone(Design::new(CLOCKS, version), ""), "step = { size = 0.2 }", steps);
        }
        let plain = || oscillator(version, Variant::Plain, "");
        let fixed = oscillator(version, Variant::FixedStep, "");
        add("fixedstep-cut", fixed, "step = { size = 0.2 }", steps);
        add("no-step", plain(), FIXED, nothing);
        add("early-end", plain(), FIXED, one_step);
        add("checkpoint", plain(), FIXED, checkpoint);
        let adaptive = format!("step = {{ controller = \"i\", {REJECTS}");
        // The trial makes two calls of doStep, so the third comes in the run.
        add("discard-rewound", saboteurs(version, "discard", 3), &adaptive, rejected);
        add("fatal-in-the-trial", saboteurs(version, "fatal", 1), &adaptive, steps);
        for fault in ["discard", "warning", "error", "fatal", "nan"] {
            add(fault, saboteurs(version, fault, 2), FIXED, steps);
        }
    }
    all.extend(first_version());
    all
}

/// FMI 1.0 has slaves without states: what never goes back. The oscillator's start is that of a slave which is read before
/// its inputs are known.
fn first_version() -> Vec<Golden> {
    let version = Version::One;
    let plain = || oscillator(version, Variant::Plain, "");
    let mut all = Vec::new();
    let mut add = |name: &str, components: String, method: &str, script: Script| {
        all.push(Golden { name: format!("{name}-fmi1"), components, method: method.into(), script });
    };
    for variant in Variant::ALL.into_iter().filter(|variant| variant.exists_in(version)) {
        let name = format!("variant-{}", variant.text());
        add(&name, oscillator(version, variant, ""), &format!("input = \"linear\"\n{FIXED}"), steps);
    }
    add("partition-gauss-seidel", plain(), &format!("partition = \"gauss-seidel\"\n{FIXED}"), steps);
    add("correction-nepce", plain(), &format!("correction = \"nepce\"\n{FIXED}"), steps);
    let substeps = oscillator(version, Variant::Plain, ", \"cosimo.substep\" = 2");
    add("substeps", substeps, &format!("input = \"linear\"\n{FIXED}"), one_step);
    add("no-step", plain(), FIXED, nothing);
    add("needs-rollback", plain(), &format!("step = {{ {RESIDUAL}, controller = \"i\", {REJECTS}"), steps);
    for fault in ["discard", "warning", "error", "fatal", "nan"] {
        add(fault, saboteurs(version, fault, 2), FIXED, steps);
    }
    all
}

/// The trace, and how it ended where it did not end well.
fn trace(golden: &Golden) -> (String, String) {
    let file = new_record();
    let text = format!("[experiment]\nstop = 0.3\n{}[method]\n{}\n", golden.components, golden.method)
        .replace("RECORD", file.to_str().unwrap());
    let outcome =
        planned(&text).map_err(|problems| format!("the plan is refused: {problems}")).and_then(|plan| {
            let mut run = Run::new(plan, 1).map_err(|error| error.to_string())?;
            (golden.script)(&mut run)
        });
    let end = outcome.err().map_or(String::new(), |words| format!("{}\n", words.trim_end()));
    (take_record(&file), end)
}

#[test]
fn every_method_makes_the_calls_that_it_should() {
    let snapshots = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/spy/snapshots");
    let making = std::env::var("INSTA_UPDATE").is_ok_and(|update| update != "no");
    let mut wanted = BTreeSet::new();
    for golden in all() {
        let name = &golden.name;
        let (record, end) = trace(&golden);
        let get_after_set = ["exchange-fresh-fmi2", "jacobian-difference-fmi2"].contains(&name.as_str());
        let allowed = Allowed { get_after_set, overlap: false };
        let one_file = golden.components.contains("saboteur");
        let wrong = violations(&record, allowed, |instance| if one_file { "" } else { instance }.to_owned());
        assert!(wrong.is_empty(), "{name}: {wrong:#?} in\n{record}");
        let file = format!("spy__golden__{name}.snap");
        assert!(
            making || snapshots.join(&file).exists(),
            "there is no golden trace `{name}`. `INSTA_UPDATE=always cargo test -p cosimo --test spy` writes it to \
             tests/spy/snapshots; read it against the standard before it is committed"
        );
        insta::with_settings!({ omit_expression => true }, {
            insta::assert_snapshot!(name.as_str(), format!("{}{}", rounded(&record), rounded(&end)));
        });
        wanted.insert(file);
    }
    let found: BTreeSet<String> = std::fs::read_dir(snapshots)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let left: Vec<&String> = found.difference(&wanted).collect();
    assert!(left.is_empty(), "golden traces of no method: delete {left:?}");
}
