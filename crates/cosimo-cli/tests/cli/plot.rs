//! `cosimo plot`: what a person sees of result files, and what is said where there is nothing to see.

use std::path::Path;

use crate::common::{complaint, cosimo, folder, system};
use insta::assert_snapshot;

/// A short run of the quarter car in every format, and one with another step.
fn results(name: &str) -> std::path::PathBuf {
    let folder = folder(name);
    system(&folder, &[]);
    let short = ["run", "system.toml", "--method", "controller=fixed", "--stop", "0.4"];
    let all =
        ["--out", "a.csv", "--out", "a.parquet", "--out", "a.arrow", "--out", "a.mat", "--step", "1e-3"];
    let coarse = ["--out", "b.csv", "--step", "8e-3"];
    for args in [&all[..], &coarse[..]] {
        let output = cosimo(&folder, &[&short[..], args].concat());
        assert!(output.status.success(), "{}", complaint(&output));
    }
    folder
}

fn shown(folder: &Path, args: &[&str]) -> String {
    let output = cosimo(folder, &[&["plot"], args].concat());
    assert!(output.status.success(), "{}", complaint(&output));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn curves_in_the_terminal() {
    let folder = results("plot");
    let vars = ["--vars", "chassis.v_chassis", "--vars", "wheel.v"];
    let text = shown(&folder, &[&["a.csv"], &vars[..]].concat());
    assert_snapshot!("plot-terminal", text);
    // CSV has no units; the curves are the same in all formats.
    let curves = |text: &str| -> Vec<String> {
        text.lines().filter(|line| line.contains(['│', '┤'])).map(str::to_owned).collect()
    };
    for file in ["a.parquet", "a.arrow", "a.mat"] {
        let same = shown(&folder, &[&[file], &vars[..]].concat());
        assert_eq!(curves(&same), curves(&text), "{file}");
        assert!(same.contains("in m/s"), "{same}");
    }
    assert_snapshot!(
        "plot-difference",
        shown(&folder, &["a.csv", "b.csv", "--vars", "wheel.v", "--difference"])
    );
    assert!(!text.contains('\x1b'), "colour belongs on a terminal");
}

#[test]
fn pictures_in_files() {
    let folder = results("plot-files");
    let picture = |name: &str, more: &[&str]| {
        assert_eq!(shown(&folder, &[&["a.csv", "b.csv", "-o", name], more].concat()), "");
        std::fs::read(folder.join(name)).unwrap()
    };
    let svg =
        String::from_utf8(picture("x.svg", &["--vars", "*.v", "--from", "0.1", "--to", "0.2"])).unwrap();
    assert!(svg.starts_with("<svg") && svg.contains(">chassis.v<") && svg.contains(">b.csv<"));
    if cfg!(feature = "png") {
        let png = picture("x.PNG", &["--vars", "wheel.v", "--difference"]);
        assert!(png.starts_with(b"\x89PNG\r\n"));
        assert!(png.len() > 20_000, "{} bytes hold hardly a curve", png.len());
    }
}

#[test]
fn gaps_are_shown_and_told() {
    let folder = folder("plot-gaps");
    std::fs::write(folder.join("x.csv"), "time,y,z\n0,1,nan\n1,nan,nan\n2,2,nan\n3,1,nan\n").unwrap();
    let output = cosimo(&folder, &["plot", "x.csv"]);
    assert_snapshot!("plot-gaps", complaint(&output));
}

#[test]
fn what_cannot_be_drawn_is_said() {
    let folder = results("plot-refused");
    let whole = std::fs::read(folder.join("a.parquet")).unwrap();
    std::fs::write(folder.join("cut.parquet"), &whole[..whole.len() / 2]).unwrap();
    std::fs::write(folder.join("nothing.csv"), "").unwrap();
    std::fs::write(folder.join("no-rows.csv"), "time,y\n").unwrap();
    std::fs::write(folder.join("late.csv"), "time,wheel.v\n7,0\n8,0\n").unwrap();
    let mut told = String::new();
    for args in [
        &["a.csv", "--vars", "weel.v"][..],
        &["a.csv", "--vars", "engine.*"],
        &["cut.parquet"],
        &["nothing.csv"],
        &["no-rows.csv"],
        &["absent.csv"],
        &["system.toml"],
        &["a.csv", "-o", "x.pdf"],
        &["a.csv", "-o", "nowhere/x.svg"],
        &["a.csv", "-o", "./a.csv"],
        &["a.csv", "--from", "2", "--to", "1"],
        &["a.csv", "--from", "nan"],
        &["a.csv", "--from", "5"],
        &["a.csv", "--difference"],
        &["a.csv", "late.csv", "--vars", "wheel.v", "--difference"],
    ] {
        told += &format!("$ cosimo plot {}\n", args.join(" "));
        told += &complaint(&cosimo(&folder, &[&["plot"], args].concat()));
    }
    assert_snapshot!("plot-refused", told);
}
