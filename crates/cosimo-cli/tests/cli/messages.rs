//! The whole text a person sees when something is wrong. Review changed snapshots one by one.

use crate::common::{complaint, cosimo, folder, system};
use insta::assert_snapshot;

/// Runs the quarter car with some text replaced.
fn run_with(name: &str, changes: &[(&str, &str)], args: &[&str]) -> String {
    let folder = folder(name);
    system(&folder, changes);
    complaint(&cosimo(&folder, &[&["run", "system.toml"], args].concat()))
}

/// Runs a system given in full.
fn run_text(name: &str, text: &str, args: &[&str]) -> String {
    let folder = folder(name);
    std::fs::write(folder.join("system.toml"), text).unwrap();
    complaint(&cosimo(&folder, &[&["run", "system.toml"], args].concat()))
}

#[test]
fn unknown_component() {
    assert_snapshot!(run_with("component", &[("\"chassis.F\"", "\"chasis.F\"")], &[]));
}

#[test]
fn unknown_port() {
    assert_snapshot!(run_with("port", &[("\"wheel.v\"", "\"wheel.velocity\"")], &[]));
}

#[test]
fn unknown_method() {
    assert_snapshot!(run_with("method", &[("controller = \"i\"", "controller = \"pdi\"")], &[]));
}

#[test]
fn unknown_option() {
    assert_snapshot!(run_with("option", &[("gain = 0.5", "gian = 0.5")], &[]));
}

#[test]
fn unknown_parameter_and_source() {
    let changes = [("mc = 400.0", "mass = 400.0"), ("native:quarter-car/wheel", "native:quarter-car/weel")];
    assert_snapshot!(run_with("parameter", &changes, &[]));
}

#[test]
fn units_that_are_no_power() {
    assert_snapshot!(run_with("units", &[("\"wheel.v\"", "\"wheel.z\"")], &[]));
}

#[test]
fn dimensions_that_differ_on_a_wire() {
    let wire = "[[connection]]\nfrom = \"wheel.z\"\nto = \"chassis.v\"\n\n[method]";
    assert_snapshot!(run_with("dimension", &[("[method]", wire)], &[]));
}

#[test]
fn unconnected_input() {
    let text = "[experiment]\nstop = 1.0\n\n[component.wheel]\nsource = \"native:quarter-car/wheel\"\n\n\
                [method]\nstep = { size = 0.01 }\n";
    assert_snapshot!(run_text("unconnected", text, &[]));
}

/// y1 = 2 y2 + x, y2 = y1 / 2 has no solution.
#[test]
fn algebraic_loop() {
    let text = "[experiment]\nstop = 1.0\n\n[component.a]\nsource = \"native:gain-loop/first\"\n\
                parameters = { a = 2.0 }\n\n[component.b]\nsource = \"native:gain-loop/second\"\n\n\
                [component.lag]\nsource = \"native:gain-loop/lag\"\n\n[[connection]]\nfrom = \"a.y\"\nto = \"b.u\"\n\n\
                [[connection]]\nfrom = \"b.y\"\nto = \"a.u\"\n\n[[connection]]\nfrom = \"lag.x\"\nto = \"a.w\"\n\n\
                [[connection]]\nfrom = \"b.y\"\nto = \"lag.u\"\n\n[method]\nstep = { size = 0.1 }\n";
    assert_snapshot!(run_text("loop", text, &[]));
}

#[test]
fn step_and_tolerance_of_nothing() {
    for (name, args) in [
        ("zero-step", ["--step", "0"]),
        ("negative-step", ["--step", "-1e-3"]),
        ("NaN-step", ["--step", "nan"]),
        ("zero-tolerance", ["--tolerance", "0"]),
        ("negative-tolerance", ["--tolerance", "-1"]),
        ("NaN-tolerance", ["--tolerance", "nan"]),
    ] {
        assert_snapshot!(name, run_with(name, &[], &args));
    }
}

#[test]
fn all_problems_of_a_file_at_once() {
    let changes = [
        ("stop = 4.0", "stop = -4.0"),
        ("gain = 0.5", "gain = 5"),
        ("tolerance = 1.4e-6", "tolerance = nan"),
        ("min = 1e-5", "min = 0"),
        ("energy_scale = 750.0", "energy_scal = 750.0"),
    ];
    assert_snapshot!(run_with("many", &changes, &[]));
}

#[test]
fn overrides_that_fit_nothing() {
    let args = [
        "--set",
        "chasis.mc=1",
        "--set",
        "mass=1",
        "--method",
        "controller=foo",
        "--method",
        "laws=pi",
        "--set",
        "nothing",
    ];
    assert_snapshot!(run_with("overrides", &[], &args));
}

#[test]
fn a_fixed_step_without_a_size() {
    assert_snapshot!(run_with("fixed", &[("controller = \"i\"", "controller = \"fixed\"")], &[]));
}

/// One faulty simulator that is fed a constant.
fn faulty(kind: &str) -> String {
    format!(
        "[experiment]\nstop = 1.0\n\n[component.unit]\nsource = \"native:faulty/{kind}\"\nstart = {{ u = 2.0 }}\n\n\
         [method]\nstep = {{ size = 0.1 }}\n"
    )
}

#[test]
fn a_model_that_returns_nan_leaves_its_rows_behind() {
    assert_snapshot!(run_text("nan", &faulty("nan"), &["--out", "rows.csv"]));
    let rows = std::fs::read_to_string(crate::scratch::scratch().join("nan/rows.csv"));
    assert_snapshot!("rows-before-the-NaN", rows.unwrap());
}

#[test]
fn a_model_that_panics() {
    assert_snapshot!(run_text("panic", &faulty("panic"), &[]));
    assert_snapshot!("panic-on-a-worker", {
        let two = faulty("panic").replace(
            "[component.unit]",
            "[component.first]\nsource = \"native:faulty/nan\"\nparameters = { at = 9.0 }\nstart = { u = 1.0 }\n\n\
             [component.unit]",
        );
        run_text("panic-worker", &two, &["--threads", "2"])
    });
}

#[test]
fn output_that_cannot_be_written() {
    assert_snapshot!(run_with("unwritable", &[], &["--out", "no/such/folder/rows.csv"]));
}

#[test]
fn files_that_cannot_be_read() {
    let folder = folder("unreadable");
    system(&folder, &[]);
    assert_snapshot!("missing-file", complaint(&cosimo(&folder, &["run", "sytem.toml"])));
    assert_snapshot!("a-folder", complaint(&cosimo(&folder, &["run", "."])));
    std::fs::write(folder.join("binary.toml"), [0xff, 0xfe, 0x00]).unwrap();
    assert_snapshot!("binary-file", complaint(&cosimo(&folder, &["run", "binary.toml"])));
    std::fs::write(folder.join("broken.toml"), "[experiment\nstop = 1").unwrap();
    assert_snapshot!("broken-file", complaint(&cosimo(&folder, &["run", "broken.toml"])));
}

#[test]
fn unknown_names_elsewhere() {
    let folder = folder("elsewhere");
    assert_snapshot!("method-to-show", complaint(&cosimo(&folder, &["methods", "nepc"])));
    assert_snapshot!("model-to-show", complaint(&cosimo(&folder, &["models", "quarter-car/weel"])));
    assert_snapshot!(
        "row-to-reproduce",
        complaint(&cosimo(&folder, &["reproduce", "ecco-nepce", "--row", "003/II"]))
    );
    assert_snapshot!(
        "option-of-other-tables",
        complaint(&cosimo(&folder, &["reproduce", "pre-step", "--tolerance", "1e-3"]))
    );
}

/// A file with holes takes no room on the disk; reading it whole would take four gigabytes of memory.
#[test]
fn a_system_file_without_end() {
    let folder = folder("messages-endless");
    std::fs::File::create(folder.join("system.toml")).unwrap().set_len(4 << 30).unwrap();
    assert_snapshot!("endless", complaint(&cosimo(&folder, &["run", "system.toml"])));
}
