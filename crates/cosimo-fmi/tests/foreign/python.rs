//! FMUs made by pythonfmu (FMI 2.0) and pythonfmu3 (FMI 3.0): all run in one Python inside this process.

use std::path::Path;

use cosimo::core::Time;
use cosimo::core::registry::Value;
use cosimo::engine::{Run, plan};
use cosimo::record::{MemoryRecorder, Table};
use cosimo_export::{Design, Version, built_library, write};

use crate::common::{build_fmu, enter, folder, library, open, outputs, refusal};
use crate::{build, fixture, python};

fn system(spring: &str, mass: &str, method: &str) -> String {
    // Neither tool can say which output hears which input at once; the native spring can.
    let none = |source: &str| {
        if source.starts_with("native:") { "" } else { ", \"cosimo.feedthrough\" = \"none\"" }
    };
    format!(
        r#"
        [experiment]
        stop = 5.0
        [component.spring]
        source = "{spring}"
        parameters = {{ c = 0.5, k = 4.0, x0 = 1.0{} }}
        [component.mass]
        source = "{mass}"
        parameters = {{ m = 2.0, x0 = 1.0, v0 = 0.0{} }}
        [[bond]]
        name = "joint"
        a = {{ effort = "spring.F", flow = "spring.v" }}
        b = {{ effort = "mass.F", flow = "mass.v" }}
        energy_scale = 1.0
        [method]
        schedule = "jacobi"
        input = "hold"
        {method}
        "#,
        none(spring),
        none(mass)
    )
}

fn table(folder: &Path, text: &str, threads: usize) -> (Table, u64) {
    let registry = cosimo::registry();
    let (system, problems) = cosimo::system::toml::read(text, folder, &registry);
    assert!(problems.is_empty(), "{problems:?}");
    let plan = plan(&system, &registry).unwrap_or_else(|problems| panic!("{problems:#?}"));
    let mut run = Run::new(plan, threads).unwrap();
    let memory = MemoryRecorder::default();
    run.record(Box::new(memory.clone())).unwrap();
    run.run_until(Time::new(5.0).unwrap()).unwrap();
    (memory.table(), run.counters().rejected)
}

fn compare(found: &Table, wanted: &Table, within: f64, what: &str) {
    assert_eq!(found.rows(), wanted.rows(), "{what}");
    for name in ["time", "spring.F", "spring.x", "mass.v", "mass.x"] {
        let (a, b) = (found.column(name).unwrap(), wanted.column(name).unwrap());
        for (row, (a, b)) in a.iter().zip(b).enumerate() {
            assert!((a - b).abs() <= within, "{what}: {name}, row {row}: {a} {b}");
        }
    }
}

const ADAPTIVE: &str = "correction = { nepce = { gain = 0.5, quadrature = \"trapezoid\" } }\n\
    step = { estimate = \"power-residual\", controller = \"i\", tolerance = 1e-4, min = 1e-4, max = 0.1 }";
const REWINDING: &str = "step = { estimate = \"power-residual\", controller = \"i\", tolerance = 1e-5, size = 0.1, \
    min = 1e-5, max = 0.1, reject = \"above-one\" }";

/// A mass out of an exported FMU.
fn exported(folder: &Path, version: Version) -> &'static str {
    let name = if version == Version::Two { "exported2.fmu" } else { "exported3.fmu" };
    write(&Design::new("native:oscillator/mass", version), &built_library().unwrap(), &folder.join(name))
        .unwrap();
    name
}

#[test]
fn coupled_by_a_power_bond_they_equal_the_native_models() {
    let Some(python) = python() else { return };
    let folder = folder("pythonfmu");
    for script in ["mass2.py", "spring2.py", "mass3.py", "spring3.py"] {
        build(&python, &fixture(script), &folder, &["--handle-state", "--serialize-state"]);
    }
    let ours = [exported(&folder, Version::Two), exported(&folder, Version::Three)];
    let pairs = [
        ("Spring2.fmu", "Mass2.fmu"),
        ("Spring3.fmu", "Mass3.fmu"),
        ("Spring2.fmu", "Mass3.fmu"),
        ("Spring2.fmu", "native:oscillator/mass"),
        ("Spring2.fmu", ours[0]),
        ("Spring3.fmu", ours[1]),
    ];
    for method in [ADAPTIVE, REWINDING] {
        let text = system("native:oscillator/spring-damper", "native:oscillator/mass", method);
        let (native, rejected) = table(&folder, &text, 1);
        assert_eq!(rejected > 0, method == REWINDING);
        // The same formulas in another order of operations. A law that rewinds hands every rounding on to the next
        // size of step.
        let within = if method == REWINDING { 1e-10 } else { 1e-12 };
        for (spring, mass) in pairs {
            let text = system(spring, mass, method);
            let (alone, _) = table(&folder, &text, 1);
            compare(&alone, &native, within, &format!("{spring} and {mass}"));
            // Each FMU has a thread of its own, and Python one lock for both.
            let (together, _) = table(&folder, &text, 2);
            assert_eq!(alone.values, together.values, "{spring} and {mass}");
        }
    }
}

#[test]
fn without_state_they_run_at_any_law_that_never_rewinds() {
    let Some(python) = python() else { return };
    let folder = folder("pythonfmu-stateless");
    for script in ["mass2.py", "spring2.py", "mass3.py", "spring3.py"] {
        build(&python, &fixture(script), &folder, &[]);
    }
    // Without options pythonfmu3 also declares that its steps are of one size.
    for (spring, mass, method) in
        [("Spring2.fmu", "Mass2.fmu", ADAPTIVE), ("Spring3.fmu", "Mass3.fmu", "step = { size = 0.01 }")]
    {
        let text = system("native:oscillator/spring-damper", "native:oscillator/mass", method);
        let (native, _) = table(&folder, &text, 1);
        compare(&table(&folder, &system(spring, mass, method), 2).0, &native, 1e-12, spring);
    }
}

#[test]
fn a_script_that_fails_is_quoted() {
    let Some(python) = python() else { return };
    let folder = folder("pythonfmu-fails");
    let text = std::fs::read_to_string(fixture("mass2.py")).unwrap();
    let script = folder.join("broken2.py");
    let text = text.replace("class Mass2", "class Broken2");
    std::fs::write(
        &script,
        text.replace("        return True", "        raise ValueError('the spring broke')"),
    )
    .unwrap();
    build(&python, &script, &folder, &[]);
    let mut fmu = open(&folder, "Broken2.fmu", &[("m", Value::Number(2.0))]).unwrap();
    enter(fmu.as_mut());
    assert_eq!(outputs(fmu.as_mut()), [0.0, 1.0]);
    let segments = [cosimo::core::Segment::constant(0.0)];
    let message = crate::common::advance(fmu.as_mut(), 0.0, 0.1, &segments).unwrap_err();
    assert!(message.contains("fmi2DoStep") && message.contains("the spring broke"), "{message}");
}

#[test]
fn two_modules_of_one_name_are_refused_rather_than_confused() {
    let Some(python) = python() else { return };
    let folder = folder("pythonfmu-names");
    let text = std::fs::read_to_string(fixture("mass2.py")).unwrap();
    for (place, mass) in [("one", "Light2"), ("other", "Heavy2")] {
        let place = folder.join(place);
        std::fs::create_dir(&place).unwrap();
        let script = place.join("same2.py");
        std::fs::write(&script, text.replace("Mass2", mass)).unwrap();
        build(&python, &script, &folder, &[]);
    }
    assert!(open(&folder, "Light2.fmu", &[]).is_ok());
    let message = refusal(&folder, "Heavy2.fmu", &[]);
    assert!(
        message.contains("Python module `same2`") && message.contains("rename one same2.py"),
        "{message}"
    );
    assert!(open(&folder, "Light2.fmu", &[]).is_ok(), "the same FMU may be there often");
}

/// Some FMUs name the library of Python that they were linked with.
#[test]
fn an_fmu_linked_with_python_gets_that_version_or_a_reason() {
    let (Some(_), Some(libpython)) = (python(), std::env::var_os("COSIMO_LIBPYTHON")) else { return };
    let folder = folder("linked-python");
    build_fmu(&folder, 2, "mass", &[], &["-Wl,--no-as-needed", libpython.to_str().unwrap()]);
    enter(open(&folder, "mass.fmu", &[]).unwrap().as_mut());
    let old = folder.join("libpython3.2.so.1.0");
    library("model.h", &["-xc", "-Wl,-soname,libpython3.2.so.1.0"], &old);
    build_fmu(&folder, 2, "spring", &[], &["-Wl,--no-as-needed", old.to_str().unwrap()]);
    let message = refusal(&folder, "spring.fmu", &[]);
    assert!(message.contains("the FMU requires Python 3.2, got Python 3."), "{message}");
    assert!(message.contains("COSIMO_LIBPYTHON=/path/to/libpython3.2.so.1.0"), "{message}");
}
