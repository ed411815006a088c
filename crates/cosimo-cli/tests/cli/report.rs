//! `cosimo run --report`: the page is there whatever became of the run; and `cosimo report` of results alone. How it looks
//! is tested in a browser.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::{complaint, cosimo, folder, system};
use insta::assert_snapshot;

fn read(folder: &std::path::Path, name: &str) -> String {
    std::fs::read_to_string(folder.join(name)).unwrap()
}

#[test]
fn a_report_holds_verdict_plan_and_origin() {
    let folder = folder("report");
    system(&folder, &[]);
    let args = ["run", "system.toml", "--out", "rows.csv", "--report", "page.html", "--set", "mc=500"];
    let output = cosimo(&folder, &args);
    assert!(output.status.success(), "{}", complaint(&output));
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("results: rows.csv\nreport: page.html\n"), "{said}");
    let page = read(&folder, "page.html");
    let explained = cosimo(&folder, &["explain", "system.toml", "--set", "mc=500"]);
    let plan = String::from_utf8(explained.stdout).unwrap().replace('"', "&quot;");
    for wanted in [
        "<h1>report</h1>",
        "<h2 id=accuracy>Accuracy of signals</h2>",
        "<th scope=row>chassis.F</th>",
        "<h2 id=defects>Coupling defects</h2>",
        "<th scope=row>chassis.F -&gt; wheel.F</th>",
        "Energy defect of bond <code>strut</code>",
        "aria-label=\"2 simulators, 1 bond, 0 connections\"",
        "<th scope=row>everything else</th>",
        plan.trim_end(),
        &cosimo::hash::sha256(read(&folder, "system.toml").as_bytes()),
        "<code>native:quarter-car/wheel</code>",
        "<code>cosimo run system.toml --out rows.csv --report page.html --set mc=500</code>",
        env!("CARGO_PKG_VERSION"),
    ] {
        assert!(page.contains(wanted), "`{wanted}` is not in the page");
    }
    // The table beside it has all rows.
    assert!(read(&folder, "rows.csv").lines().count() > 1000);
}

#[test]
fn a_failed_run_has_a_report_that_says_so() {
    let folder = folder("report-failed");
    let text = "[experiment]\nstop = 1.0\n\n[component.a]\nsource = \"native:faulty/nan\"\n\
                start = { u = 1.0 }\n\n[method]\nstep = { size = 0.01 }\n";
    std::fs::write(folder.join("system.toml"), text).unwrap();
    let output = cosimo(&folder, &["run", "system.toml", "--report", "page.html"]);
    assert_eq!(output.status.code(), Some(1), "{}", complaint(&output));
    let page = read(&folder, "page.html");
    assert!(page.contains("The run failed at t = 0.4"), "{}", &page[page.find("<main>").unwrap()..][..2000]);
    assert!(page.contains("Simulator <code>a</code> returned NaN"));
    assert!(page.contains("<h2>Accuracy unknown, so far</h2>\n<p id=verdict>Unknown: the run failed.</p>"));
}

#[test]
fn ctrl_c_leaves_a_report_of_the_part_before_it() {
    let folder = folder("report-interrupted");
    system(&folder, &[]);
    let args = ["run", "system.toml", "--method", "controller=fixed", "--step", "1e-7", "--out", "rows.csv"];
    let child = Command::new(env!("CARGO_BIN_EXE_cosimo"))
        .args([&args[..], &["--report", "page.html"]].concat())
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
    std::thread::sleep(Duration::from_millis(500)); // the head of the file comes before the first step
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(130));
    let page = read(&folder, "page.html");
    assert!(page.contains("<h2>Interrupted at t = ") && page.contains(", so far</h2>\n<p id=verdict>"));
    assert!(page.ends_with("</html>\n"));
}

#[test]
fn a_report_needs_a_file_of_its_own_before_the_run_starts() {
    let folder = folder("report-place");
    system(&folder, &[]);
    let before = read(&folder, "system.toml");
    let mut told = String::new();
    for args in [
        &["--report", "nowhere/page.html"][..],
        &["--report", "./system.toml"],
        &["--out", "rows.csv", "--report", "rows.csv"],
        &["--summary-json", "both", "--report", "both"],
    ] {
        told += &complaint(&cosimo(&folder, &[&["run", "system.toml"], args].concat()));
    }
    assert_snapshot!(told);
    assert_eq!(read(&folder, "system.toml"), before);
}

#[test]
fn results_alone_have_a_report() {
    let folder = folder("report-results");
    system(&folder, &[]);
    let short = ["run", "system.toml", "--method", "controller=fixed", "--step", "1e-3", "--stop", "0.1"];
    let run = |more: &[&str]| cosimo(&folder, &[&short[..], more].concat());
    let output = run(&["--out", "rows.parquet"]);
    assert!(output.status.success(), "{}", complaint(&output));
    let told = String::from_utf8(output.stdout).unwrap();
    let defect = told.split("created or destroyed, ").nth(1).unwrap().split(" of the energy").next().unwrap();
    let reported = cosimo(&folder, &["report", "rows.parquet"]);
    assert_eq!(String::from_utf8(reported.stdout).unwrap(), "report: rows.html\n");
    let page = read(&folder, "rows.html");
    let hash = cosimo::hash::sha256(&std::fs::read(folder.join("rows.parquet")).unwrap());
    for wanted in ["<h1>rows</h1>", "<h2>Accuracy unknown</h2>", defect, &hash, "0 to 0.1 s"] {
        assert!(page.contains(wanted), "`{wanted}` is not in the page");
    }
    // Rows that are not those of every step say nothing about the energy defect.
    assert!(run(&["--out", "seldom.csv", "--record-every", "0.01"]).status.success());
    assert!(cosimo(&folder, &["report", "seldom.csv", "-o", "seldom.html"]).status.success());
    assert!(read(&folder, "seldom.html").contains("energy defect is not known"));
}

#[test]
fn results_that_are_none_have_no_report() {
    let folder = folder("report-refused");
    system(&folder, &[]);
    let output = cosimo(&folder, &["run", "system.toml", "--stop", "0.01", "--out", "rows.parquet"]);
    assert!(output.status.success(), "{}", complaint(&output));
    let whole = std::fs::read(folder.join("rows.parquet")).unwrap();
    std::fs::write(folder.join("cut.parquet"), &whole[..whole.len() / 2]).unwrap();
    std::fs::write(folder.join("timeless.csv"), "x\n1\n").unwrap();
    std::fs::write(folder.join("empty.csv"), "time,x\n").unwrap();
    std::fs::write(folder.join("back.csv"), "time,x\n1,0\n0.5,0\n").unwrap();
    std::fs::write(folder.join("gaps.csv"), "time,x\n0,nan\n1,0\n").unwrap();
    let mut told = String::new();
    for args in [
        &["cut.parquet"][..],
        &["absent.csv"],
        &["system.toml"],
        &["timeless.csv"],
        &["empty.csv"],
        &["back.csv"],
        &["gaps.csv", "-o", "nowhere/page.html"],
        &["gaps.csv", "-o", "./gaps.csv"],
    ] {
        told += &format!("$ cosimo report {}\n", args.join(" "));
        told += &complaint(&cosimo(&folder, &[&["report"], args].concat()));
    }
    assert_snapshot!(told);
    assert!(cosimo(&folder, &["report", "gaps.csv"]).status.success());
    assert!(read(&folder, "gaps.html").contains("<code>x</code> is no number in 1 of 2 rows"));
}
