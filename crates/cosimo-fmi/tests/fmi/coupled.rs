//! Two FMUs coupled by a power bond through the real engine, beside the same system of native models.

use std::path::Path;

use cosimo::core::{RollbackCheck, Time};
use cosimo::engine::{Run, plan};
use cosimo::record::{MemoryRecorder, Table};

use crate::common::{build_fmu, folder};

fn system(spring: &str, mass: &str, method: &str) -> String {
    format!(
        r#"
        [experiment]
        stop = 5.0
        [component.spring]
        source = "{spring}"
        parameters = {{ c = 0.5, k = 4.0, x0 = 1.0 }}
        [component.mass]
        source = "{mass}"
        parameters = {{ m = 2.0, x0 = 1.0, v0 = 0.0 }}
        [[bond]]
        name = "joint"
        a = {{ effort = "spring.F", flow = "spring.v" }}
        b = {{ effort = "mass.F", flow = "mass.v" }}
        energy_scale = 1.0
        [method]
        {method}
        "#
    )
}

fn start(folder: &Path, text: &str, threads: usize) -> (Run, MemoryRecorder) {
    let registry = cosimo::registry();
    let (system, problems) = cosimo::system::toml::read(text, folder, &registry);
    assert!(problems.is_empty(), "{problems:?}");
    let plan = plan(&system, &registry).unwrap_or_else(|problems| panic!("{problems:#?}"));
    let mut run = Run::new(plan, threads).unwrap();
    let memory = MemoryRecorder::default();
    run.record(Box::new(memory.clone())).unwrap();
    (run, memory)
}

fn table(folder: &Path, text: &str, threads: usize) -> Table {
    let (mut run, memory) = start(folder, text, threads);
    run.run_until(Time::new(5.0).unwrap()).unwrap();
    assert!(run.finished());
    memory.table()
}

const COLUMNS: [&str; 5] = ["time", "spring.F", "spring.x", "mass.v", "mass.x"];

fn compare(found: &Table, wanted: &Table, within: f64) {
    assert_eq!(found.rows(), wanted.rows());
    for name in COLUMNS {
        let (a, b) = (found.column(name).unwrap(), wanted.column(name).unwrap());
        for (row, (a, b)) in a.iter().zip(b).enumerate() {
            assert!((a - b).abs() <= within, "{name}, row {row}: {a} {b}");
        }
    }
}

/// Constant and adaptive steps, held and moving inputs, with corrections and rewinding.
const METHODS: [&str; 6] = [
    "step = { size = 0.01 }",
    "schedule = \"jacobi\"\ninput = \"linear\"\nstep = { size = 0.01 }",
    "schedule = \"jacobi\"\ninput = \"hold\"\ncorrection = { nepce = { gain = 0.5, quadrature = \"trapezoid\" } }\n\
     step = { estimate = \"power-residual\", controller = \"i\", tolerance = 1e-4, min = 1e-4, max = 0.1 }",
    "schedule = \"jacobi\"\ninput = \"hold\"\nexchange = \"fresh\"\n\
     correction = { nepce = { gain = 0.5, quadrature = \"trapezoid\", feedthrough = \"declared\" } }\n\
     step = { size = 0.01 }",
    "schedule = \"jacobi\"\ninput = \"linear\"\n\
     step = { estimate = \"power-residual\", controller = \"i\", tolerance = 1e-5, size = 0.1, min = 1e-5, max = 0.1, reject = \"above-one\" }",
    "schedule = \"gauss-seidel\"\ninput = \"linear\"\nexchange = \"fresh\"\nstep = { size = 0.02 }",
];

#[test]
fn coupled_fmus_equal_coupled_native_models() {
    let here = Path::new(".");
    for (index, method) in METHODS.iter().enumerate() {
        let native =
            table(here, &system("native:oscillator/spring-damper", "native:oscillator/mass", method), 1);
        for version in [2, 3] {
            let folder = folder(&format!("coupled{index}-{version}"));
            build_fmu(&folder, version, "spring", &[], &[]);
            build_fmu(&folder, version, "mass", &[], &[]);
            let text = system("spring.fmu", "mass.fmu", method);
            let alone = table(&folder, &text, 1);
            // A step law that rewinds hands every rounding on to the next size.
            let within = if method.contains("above-one") { 1e-10 } else { 1e-12 };
            compare(&alone, &native, within);
            let together = table(&folder, &text, 2);
            let bits = |table: &Table| {
                table.values.iter().flatten().map(|value| value.to_bits()).collect::<Vec<_>>()
            };
            assert_eq!(bits(&alone), bits(&together), "method {index}, version {version}");
        }
    }
}

#[test]
fn a_run_continues_from_bytes() {
    for version in [2, 3] {
        let folder = folder(&format!("bytes{version}"));
        build_fmu(&folder, version, "spring", &[], &[]);
        build_fmu(&folder, version, "mass", &[], &[]);
        let text = system("spring.fmu", "mass.fmu", METHODS[2]);
        let (mut first, _) = start(&folder, &text, 1);
        first.run_until(Time::new(2.0).unwrap()).unwrap();
        let saved = first.save().unwrap();
        let (mut second, memory) = start(&folder, &text, 2);
        second.load(&saved).unwrap();
        let whole = table(&folder, &text, 1);
        second.run_until(Time::new(5.0).unwrap()).unwrap();
        let found = memory.table();
        assert_eq!(found.row(found.rows() - 1), whole.row(whole.rows() - 1));
    }
}

/// A constant force, and a mass that is halved at 0.35: v = v0 + F t / m before and after.
#[test]
fn a_scenario_changes_a_tunable_parameter() {
    for version in [2, 3] {
        let folder = folder(&format!("tunable{version}"));
        let (from, to) = match version {
            2 => (
                "variability=\"fixed\"><Real start=\"1\" unit=\"kg\"/>",
                "variability=\"tunable\"><Real start=\"1\" unit=\"kg\"/>",
            ),
            _ => (
                "variability=\"fixed\" start=\"1\" unit=\"kg\"/>",
                "variability=\"tunable\" start=\"1\" unit=\"kg\"/>",
            ),
        };
        build_fmu(&folder, version, "mass", &[(from, to)], &[]);
        let text = "[experiment]\nstop = 1.0\n[component.mass]\nsource = \"mass.fmu\"\nstart = { F = 2.0 }\n\
                    [method]\nstep = { size = 0.1 }\n";
        let registry = cosimo::registry();
        let planned = |parameter: &str| {
            let (mut system, problems) = cosimo::system::toml::read(text, &folder, &registry);
            assert!(problems.is_empty(), "{problems:?}");
            let actions = format!("[[action]]\nat = 0.35\nparameter = \"mass.{parameter}\"\nto = 0.5\n");
            system.scenario = Some(cosimo::system::scenario::read(&actions).0);
            plan(&system, &registry)
        };
        let mut run = Run::new(planned("m").unwrap(), 1).unwrap();
        run.run_until(Time::new(0.5).unwrap()).unwrap();
        let saved = run.save().unwrap();
        run.run_until(Time::new(1.0).unwrap()).unwrap();
        let found = run.output("mass.v").unwrap();
        assert!((found - (2.0 * 0.35 + 4.0 * 0.65)).abs() < 1e-12, "version {version}: {found}");
        let mut again = Run::new(planned("m").unwrap(), 1).unwrap();
        again.load(&saved).unwrap();
        again.run_until(Time::new(1.0).unwrap()).unwrap();
        assert_eq!(again.output("mass.v"), Some(found));
        let refused = planned("x0").unwrap_err();
        assert!(refused.iter().any(|problem| problem.message.contains("no tunable parameter `x0`")));
    }
}

#[test]
fn rewinding_happens_and_leaves_no_trace_of_the_lost_steps() {
    let folder = folder("rewinds");
    build_fmu(&folder, 2, "spring", &[], &[]);
    build_fmu(&folder, 2, "mass", &[], &[]);
    let (mut run, memory) = start(&folder, &system("spring.fmu", "mass.fmu", METHODS[4]), 1);
    run.run_until(Time::new(5.0).unwrap()).unwrap();
    assert!(run.counters().rejected > 0, "{:?}", run.counters());
    let table = memory.table();
    let (spring, mass) = (table.column("spring.x").unwrap(), table.column("mass.x").unwrap());
    assert!(spring.iter().zip(mass).all(|(a, b)| (a - b).abs() < 1e-3));
}

#[test]
fn trap_t10_what_a_restored_state_lacks_is_measured() {
    let begin = |forgets: &str| {
        let folder = folder(&format!("forgets{forgets}"));
        build_fmu(&folder, 2, "spring", &[], &[]);
        build_fmu(&folder, 2, "mass", &[], &[&format!("-DFORGETS={forgets}")]);
        let registry = cosimo::registry();
        let text = system("spring.fmu", "mass.fmu", METHODS[4]);
        let (system, _) = cosimo::system::toml::read(&text, &folder, &registry);
        Run::new(plan(&system, &registry).unwrap(), 1)
    };
    let error = begin("0.0").unwrap_err().to_string();
    assert!(
        error.starts_with(
            "simulator `mass` failed at t = 0 s: `restore` failed: the FMU declares that it can save and restore \
             its state, but it cannot: `v` was 0 and is -0.2 at once."
        ),
        "{error}"
    );
    let almost = begin("0.9999").unwrap();
    let (_, rehearsal) = almost.rollback_checks().nth(1).unwrap();
    let RollbackCheck::Doubtful(words) = rehearsal else { panic!("{rehearsal:?}") };
    // A ten-thousandth of the velocity over the step is two of the way's, beside one of its own.
    assert!(words.contains("differs by 3.0e-4 of the change of the outputs"), "{words}");
    assert!(almost.warnings().iter().any(|warning| warning.code == "run/doubtful-rollback"));
    assert!(begin("1.0").unwrap().rollback_checks().all(|(_, rehearsal)| *rehearsal == RollbackCheck::Exact));
}
