//! `cosimo analyse` as people and as programs read it, and every message it refuses with.

use std::path::Path;
use std::sync::OnceLock;

use cosimo::export::{Design, Variant, Version, built_library, write};
use insta::assert_snapshot;
use serde_json::Value;

use crate::common::{complaint, cosimo, folder, root};

/// Examples and units beside each other, so that messages have short paths.
fn workshop() -> &'static Path {
    static FOLDER: OnceLock<std::path::PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = folder("analyse");
        for (from, to) in [
            ("dual-mass/system.toml", "dual-mass.toml"),
            ("dual-mass/history.csv", "history.csv"),
            ("epas/case-2.toml", "steering.toml"),
        ] {
            std::fs::copy(root().join("examples").join(from), folder.join(to)).unwrap();
        }
        let text = std::fs::read_to_string(folder.join("dual-mass.toml")).unwrap();
        let changed = |name: &str, changes: &[(&str, &str)]| {
            let mut text = text.clone();
            for (from, to) in changes {
                assert!(text.contains(from), "the example no longer has `{from}`");
                text = text.replace(from, to);
            }
            std::fs::write(folder.join(name), text).unwrap();
        };
        let wires = "[[connection]]\nfrom = \"left.f\"\nto = \"right.f\"\n[[connection]]\nfrom = \"right.v\"\nto = \"left.v_far\"\n";
        let bond = &text[text.find("[[bond]]").unwrap()..text.find("[[connection]]").unwrap()];
        changed("wires.toml", &[(bond, wires)]);
        changed("stepless.toml", &[("step = { size = 1e-2 }", "")]);
        let reference = &text[text.find("[reference]").unwrap()..];
        changed("plain.toml", &[(reference, "")]);
        let units = [("native:dual-mass/left-force", "left.fmu"), ("native:dual-mass/right", "right.fmu")];
        for (source, file) in units {
            let design = Design::new(source, Version::Two).variant(Variant::Interpolates);
            write(&design, &built_library().unwrap(), &folder.join(file)).unwrap();
            let design = Design::new(source, Version::Two).variant(Variant::NoRollback);
            write(&design, &built_library().unwrap(), &folder.join(format!("blind-{file}"))).unwrap();
        }
        let solver = "parameters = { m1 = 100.0, k1 = 100.0, d1 = 100.0, kc = 60.0, dc = 60.0, x10 = 1.0 }";
        changed("units.toml", &[units[0], units[1], (solver, "")]);
        let blind = [("native:dual-mass/left-force", "blind-left.fmu"), ("native:dual-mass/right", "blind-right.fmu")];
        changed("blind.toml", &[blind[0], blind[1], (solver, "")]);
        folder
    })
}

fn analyse(args: &[&str]) -> String {
    let output = cosimo(workshop(), &[&["analyse"], args].concat());
    assert!(output.status.success(), "{args:?}: {}", complaint(&output));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn stability_of_methods_over_the_step() {
    let methods = "hold,causal,linear,quadratic,gauss-seidel+linear";
    assert_snapshot!(
        "analyse-stability",
        analyse(&["stability", "dual-mass.toml", "--methods", methods, "--step", "0.1:1.6:5"])
    );
    let json: Value = serde_json::from_str(&analyse(&["stability", "dual-mass.toml", "--json"])).unwrap();
    let method = &json["methods"][0];
    assert!((method["largest_stable_step"].as_f64().unwrap() - 0.686555545).abs() < 1e-5, "{json}");
    assert_eq!(method["limited_by"], "spring");
    assert_eq!(method["points"].as_array().unwrap().len(), 9);
}

#[test]
fn stability_of_a_nonlinear_system_along_its_way() {
    assert_snapshot!(
        "analyse-stability-at",
        analyse(&[
            "stability",
            "steering.toml",
            "--at",
            "0.5,2",
            "--step",
            "1e-3:8e-3:4",
            "--set",
            "micro_steps=80"
        ])
    );
}

#[test]
fn stability_of_units_that_hide_their_states() {
    assert_snapshot!("analyse-stability-units", analyse(&["stability", "units.toml", "--step", "0.1:1.6:5"]));
    // FMUs that cannot restore a state either.
    let blind = analyse(&["stability", "blind.toml", "--method", "input=hold", "--step", "0.1:1.6:5"]);
    assert!(blind.contains("on linear models of the components"), "{blind}");
}

#[test]
fn a_figure_beside_the_table() {
    analyse(&["stability", "dual-mass.toml", "-o", "radius.svg"]);
    let drawn = std::fs::read_to_string(workshop().join("radius.svg")).unwrap();
    assert!(drawn.starts_with("<svg") && drawn.contains("spectral radius"));
    if cfg!(feature = "png") {
        analyse(&["stability", "dual-mass.toml", "-o", "radius.png"]);
        assert!(std::fs::read(workshop().join("radius.png")).unwrap().starts_with(b"\x89PNG\r\n"));
    }
}

#[test]
fn causality_order_and_correlation() {
    let steering = ["causality", "steering.toml", "--step", "5e-3", "--set", "micro_steps=50"];
    assert_snapshot!("analyse-causality", analyse(&steering));
    let json: Value = serde_json::from_str(&analyse(&[&steering[..], &["--json"]].concat())).unwrap();
    assert_eq!(json["bonds"][0]["exchange"], true, "{json}");
    assert_snapshot!("analyse-order", analyse(&["order", "dual-mass.toml"]));
    assert_snapshot!("analyse-order-plain", analyse(&["order", "plain.toml", "--method", "input=hold"]));
    assert_snapshot!("analyse-correlation", analyse(&["correlation", "dual-mass.toml"]));
    for what in ["order", "correlation"] {
        let json: Value = serde_json::from_str(&analyse(&[what, "dual-mass.toml", "--json"])).unwrap();
        assert_eq!(json["file"], "dual-mass.toml");
    }
}

#[test]
fn every_refusal() {
    for (name, args) in [
        ("zero-step", &["stability", "dual-mass.toml", "--step", "0"][..]),
        ("nan-step", &["stability", "dual-mass.toml", "--step", "nan:1:3"]),
        ("falling-steps", &["stability", "dual-mass.toml", "--step", "1:0.1:3"]),
        ("unknown-method", &["stability", "dual-mass.toml", "--methods", "hold,linaer"]),
        ("at-nan", &["stability", "dual-mass.toml", "--at", "nan"]),
        ("pdf", &["stability", "dual-mass.toml", "-o", "x.pdf"]),
        (
            "alone",
            &["stability", "native:dual-mass/right", "--step", "0.1", "--stop", "1", "--set", "right.f=0"],
        ),
        ("no-step", &["stability", "stepless.toml"]),
        ("no-bond", &["causality", "wires.toml"]),
        ("hidden", &["causality", "units.toml"]),
        ("one-step", &["causality", "dual-mass.toml", "--step", "x"]),
        ("too-short", &["order", "dual-mass.toml", "--step", "4"]),
        ("no-reference", &["correlation", "plain.toml"]),
        ("no-power", &["correlation", "wires.toml"]),
        ("broken", &["order", "dual-mass.toml", "--set", "m3=1"]),
    ] {
        let output = cosimo(workshop(), &[&["analyse"], args].concat());
        assert_eq!(output.status.code(), Some(2), "{name}: {}", complaint(&output));
        assert!(output.stdout.is_empty(), "{name}");
        assert_snapshot!(format!("analyse-refuses-{name}"), complaint(&output));
    }
    let output = cosimo(workshop(), &["analyze", "stability", "dual-mass.toml", "-o", "nowhere/x.svg"]);
    assert_eq!(output.status.code(), Some(3), "{}", complaint(&output));
}

/// A run that fails inside another command keeps its code, and a plan that fails there, too.
#[test]
fn codes_of_what_fails_inside_are_told() {
    let folder = folder("analyse-codes");
    let loops =
        ["a=native:faulty/nan", "b=native:faulty/nan", "--connect", "a.y=b.u", "--connect", "b.y=a.u"];
    for (args, code, exit) in [
        (
            &["analyse", "order", "native:faulty/nan", "--set", "u=2", "--step", "0.1", "--stop", "1"][..],
            "step/not-finite",
            1,
        ),
        (
            &[&["analyse", "stability"], &loops[..], &["--step", "0.1", "--at", "0.9"]].concat(),
            "step/not-finite",
            1,
        ),
        (&["reproduce", "ecco-nepce", "--row", "003/III/constant", "--set", "mc=-1"], "plan/cannot-open", 2),
    ] {
        let output = cosimo(&folder, args);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(
            said.contains(&format!("[{code}]")) && output.status.code() == Some(exit),
            "{args:?}: {said}"
        );
    }
}
