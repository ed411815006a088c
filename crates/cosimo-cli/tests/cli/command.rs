//! The command end to end: what it prints, writes and ends with.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::{complaint, cosimo, folder, root, system};
use insta::assert_snapshot;

fn stdout(folder: &std::path::Path, args: &[&str]) -> String {
    let output = cosimo(folder, args);
    assert!(output.status.success(), "{}", complaint(&output));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_plan_as_people_read_it() {
    let folder = folder("explain");
    system(&folder, &[]);
    assert_snapshot!(stdout(&folder, &["explain", "system.toml"]));
    assert_snapshot!(
        "command-line-wins",
        stdout(
            &folder,
            &[
                "explain",
                "system.toml",
                "--step",
                "1e-3",
                "--method",
                "controller=fixed",
                "--method",
                "correction=none"
            ]
        )
    );
}

/// Lines with their delays, and the methods of islands that have their own.
#[test]
fn the_plan_of_islands() {
    let folder = folder("explain-lines");
    let text = std::fs::read_to_string(root().join("examples/spring-mass/system.toml")).unwrap();
    let island = "\n[island.tail]\ncomponents = [\"right\"]\nstep = { size = 5e-5 }\n";
    std::fs::write(folder.join("system.toml"), text + island).unwrap();
    assert_snapshot!(stdout(&folder, &["explain", "system.toml"]));
}

/// A step of its own: in the plan, in the summary, and written out again.
#[test]
fn own_steps_are_told() {
    let folder = folder("own-steps");
    system(&folder, &[]);
    let changed =
        ["--step", "1e-3", "--method", "controller=fixed", "--stop", "0.1", "--own-step", "wheel=5e-3"];
    let more = [&changed[..], &["--own-step", "chassis=2.5e-4"]].concat();
    assert_snapshot!(
        "own-steps-explained",
        stdout(&folder, &[&["explain", "system.toml"], &more[..]].concat())
    );
    let text = stdout(&folder, &[&["run", "system.toml", "--summary-json", "s.json"], &more[..]].concat());
    assert!(text.contains("\nmulti-rate: chassis 400 steps of 2.5e-4 s\n"), "{text}");
    assert!(text.contains("\nmulti-rate: wheel 20 steps of 0.005 s\n"), "{text}");
    let summary: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(folder.join("s.json")).unwrap()).unwrap();
    assert_eq!(
        summary["own_steps"][1],
        serde_json::json!({ "component": "wheel", "size": 5e-3, "steps": 20 })
    );
    let again = stdout(&folder, &[&["explain", "system.toml", "--toml"], &changed[..]].concat());
    assert!(again.contains("\nstep = 0.005\n"), "{again}");
}

#[test]
fn the_registry_as_people_read_it() {
    let folder = folder("methods");
    assert_snapshot!("methods", stdout(&folder, &["methods"]));
    assert_snapshot!("nepce", stdout(&folder, &["methods", "nepce"]));
    assert_snapshot!("none-stands-for-two", stdout(&folder, &["methods", "none"]));
    assert_snapshot!("models", stdout(&folder, &["models"]));
    assert_snapshot!("wheel", stdout(&folder, &["models", "native:quarter-car/wheel"]));
    let json: serde_json::Value = serde_json::from_str(&stdout(&folder, &["methods", "--json"])).unwrap();
    assert!(json.as_array().unwrap().len() >= 15);
}

#[test]
fn an_explained_system_is_a_system_file_again() {
    let folder = folder("again");
    system(&folder, &[]);
    let changed = ["--set", "mc=500", "--method", "correction={ nepce = { gain = 0.25 } }", "--stop", "0.5"];
    let again = stdout(&folder, &[&["explain", "system.toml", "--toml"], &changed[..]].concat());
    std::fs::write(folder.join("again.toml"), again).unwrap();
    stdout(&folder, &[&["run", "system.toml", "--out", "a.csv"], &changed[..]].concat());
    stdout(&folder, &["run", "again.toml", "--out", "b.csv"]);
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    assert_eq!(read("a.csv"), read("b.csv"));
}

/// Since when models that were found on the way were in use and how good they are; or why there were none.
#[test]
fn what_was_found_out_is_told() {
    let folder = folder("identified");
    system(&folder, &[]);
    let found = |more: &[&str]| {
        let args = ["run", "system.toml", "--stop", "0.5", "--summary-json", "s.json"];
        let args = [&args[..], &["--method", "correction=identified"], more].concat();
        let text = stdout(&folder, &args);
        let json = std::fs::read_to_string(folder.join("s.json")).unwrap();
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        let line = text.lines().find(|line| line.starts_with("identified: ")).unwrap().to_owned();
        (line, json["identified"].clone())
    };
    let (line, json) = found(&["--step", "1e-3", "--method", "controller=fixed"]);
    assert!(line.starts_with("identified: models in use from t = 0.0"), "{line}");
    assert!(line.contains("largest error of predictions not used for the fit: "), "{line}");
    assert!(json["wanted"] == 2 && json["steps"].as_u64().unwrap() > 100, "{json}");
    assert!(json["first_at"].as_f64().unwrap() < 0.05 && json["prediction_error"].is_f64(), "{json}");
    assert!(json["predictions"].as_u64().unwrap() > 100, "{json}");
    let (line, json) = found(&[]);
    assert!(
        line.contains("none of the 2 simulators could be modelled well enough; identification needs"),
        "{line}"
    );
    assert!(json["first_at"].is_null() && json["steps"] == 0, "{json}");
    let args = ["check", "system.toml", "--step", "1e-3", "--method", "controller=fixed"];
    let text = stdout(&folder, &[&args[..], &["--method", "correction=identified"]].concat());
    assert!(text.contains("`identified` identifies the simulators during the run"), "{text}");
}

#[test]
fn results_summary_and_threads() {
    let folder = folder("results");
    system(&folder, &[]);
    for (threads, rows, summary) in [("1", "one.csv", "one.json"), ("2", "two.csv", "two.json")] {
        let args = ["run", "system.toml", "--out", rows, "--summary-json", summary, "--threads", threads];
        let text = stdout(&folder, &args);
        assert!(text.contains("energy balance: energy defect of bond `strut`"), "{text}");
        assert!(text.contains("against the monolithic reference"), "{text}");
    }
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    assert_eq!(read("one.csv"), read("two.csv"), "results must not depend on the number of threads");
    let json: serde_json::Value = serde_json::from_str(&read("one.json")).unwrap();
    assert_eq!(json["steps"].as_u64().unwrap() as usize + 2, read("one.csv").lines().count());
    assert_eq!(json["finished"], true);
    // The ledger of the summary is that of the last row.
    let csv = read("one.csv");
    let names: Vec<&str> = csv.lines().next().unwrap().split(',').collect();
    let last: Vec<f64> = csv.lines().last().unwrap().split(',').map(|cell| cell.parse().unwrap()).collect();
    let at = names.iter().position(|name| *name == "bond.strut.residual_energy").unwrap();
    assert_eq!(json["bonds"][0]["residual_energy"].as_f64().unwrap(), last[at]);
    assert_eq!(last[0], 4.0, "the run ends at its stop time");
}

#[test]
fn end_after_runs_past_the_stop_time() {
    let folder = folder("after");
    system(&folder, &[]);
    stdout(&folder, &["run", "system.toml", "--end", "after", "--summary-json", "s.json"]);
    let json: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(folder.join("s.json")).unwrap()).unwrap();
    let time = json["time"].as_f64().unwrap();
    assert!(time > 4.0 && time < 4.01, "{time}");
}

#[test]
fn ctrl_c_closes_the_results_properly() {
    let folder = folder("interrupt");
    system(&folder, &[]);
    let child = Command::new(env!("CARGO_BIN_EXE_cosimo"))
        .args(["run", "system.toml", "--method", "controller=fixed", "--step", "1e-7", "--out", "rows.csv"])
        .current_dir(&folder)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let rows = folder.join("rows.csv");
    let begun = Instant::now();
    while std::fs::metadata(&rows).map_or(0, |file| file.len()) == 0 {
        assert!(begun.elapsed() < Duration::from_secs(60), "no rows appeared");
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(Duration::from_millis(500)); // the head of the file comes before the first step
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    let told = complaint(&output);
    let (before, after) = told.split_once("t = ").unwrap();
    let after = after.split_once(" s;").unwrap().1;
    assert_snapshot!(format!("{before}t = (some) s;{after}"));
    let text = std::fs::read_to_string(&rows).unwrap();
    let width = text.lines().next().unwrap().split(',').count();
    assert!(text.ends_with('\n') && text.lines().all(|line| line.split(',').count() == width));
    assert!(text.lines().count() > 2);
}

#[test]
fn a_reader_that_stops_reading_is_no_failure_of_ours() {
    let folder = folder("pipe");
    system(&folder, &[]);
    for args in [&["schema"][..], &["explain", "system.toml"], &["run", "system.toml"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = Command::new(env!("CARGO_BIN_EXE_cosimo"))
            .args(args)
            .current_dir(&folder)
            .stdout(writer)
            .output()
            .unwrap();
        assert_eq!(complaint(&output), "exit 141\n", "{args:?}");
    }
}

#[test]
fn reproduced_rows_as_json() {
    let folder = folder("reproduce");
    let json: serde_json::Value =
        serde_json::from_str(&stdout(&folder, &["reproduce", "ecco-nepce", "--row", "003/III", "--json"]))
            .unwrap();
    let cells = json.as_array().unwrap();
    assert_eq!(cells.len(), 11);
    assert_eq!(cells[0]["id"], "003/III/constant/P12");
    assert_eq!(cells[0]["printed"], "0.4");
    assert!((cells[0]["value"].as_f64().unwrap() - 0.39207904314303027).abs() < 1e-9);
    // Other parameters give other numbers, and a finer step a smaller defect.
    let changed = |step: &str| -> f64 {
        let args = [
            "reproduce",
            "ecco-nepce",
            "--row",
            "003/III/constant/E",
            "--json",
            "--set",
            "chassis.mc=300",
            "--step",
            step,
        ];
        let json: serde_json::Value = serde_json::from_str(&stdout(&folder, &args)).unwrap();
        json[0]["value"].as_f64().unwrap()
    };
    let (coarse, fine) = (changed("2e-3"), changed("1e-3"));
    assert!(
        (coarse / fine - 2.0).abs() < 0.1,
        "the residual energy of a run falls with the step: {coarse} {fine}"
    );
}

/// A paper without tables prints nothing that could stand beside a cell.
#[test]
fn rows_of_the_pre_step_paper_as_json() {
    let folder = folder("reproduce-pre-step");
    let args = ["reproduce", "pre-step", "--row", "B4/ret2", "--json"];
    let json: serde_json::Value = serde_json::from_str(&stdout(&folder, &args)).unwrap();
    let cells = json.as_array().unwrap();
    assert_eq!(cells.len(), 21);
    assert_eq!(cells[20]["id"], "B4/ret2/mean/H=3e-2");
    assert_eq!(cells[20].as_object().unwrap().len(), 2);
    // The same step for all cells of a row, and twice the road: everything is linear.
    let args = ["--row", "B4/ret2/mean", "--json", "--step", "1e-3", "--set", "road=0.2"];
    let changed = stdout(&folder, &[&["reproduce", "pre-step"][..], &args].concat());
    let changed: serde_json::Value = serde_json::from_str(&changed).unwrap();
    let value = |at: usize| changed[at]["value"].as_f64().unwrap();
    assert_eq!(value(0), value(5));
    assert!((value(0) / 2.0 - cells[15]["value"].as_f64().unwrap()).abs() < 1e-12);
}

#[test]
fn rows_of_constant_steps_are_the_same_bits_out_of_fmus() {
    let folder = folder("fmus");
    for row in ["003/V/constant", "000/5"] {
        let native = stdout(&folder, &["reproduce", "ecco-nepce", "--row", row, "--json"]);
        for version in ["1", "2", "3"] {
            let args = ["reproduce", "ecco-nepce", "--row", row, "--json", "--fmu", version];
            if (row, version) == ("000/5", "1") {
                // Some of its rows read derivatives; the others are the same.
                let output = cosimo(&folder, &args);
                assert_snapshot!("reproduce-fmi1", String::from_utf8_lossy(&output.stderr));
                let cells = |text: &str| serde_json::from_str::<Vec<serde_json::Value>>(text).unwrap();
                let (all, found) = (cells(&native), cells(std::str::from_utf8(&output.stdout).unwrap()));
                assert!(!found.is_empty() && found.len() < all.len());
                assert!(found.iter().all(|cell| all.contains(cell)), "{found:?}");
                continue;
            }
            assert_eq!(stdout(&folder, &args), native, "{row}, FMI {version}");
        }
    }
}

#[test]
fn the_papers_figures_are_drawn() {
    let folder = folder("figures");
    let args = ["reproduce", "ecco-nepce", "--row", "003/III/constant", "--plots", "figures"];
    stdout(&folder, &args);
    let mut drawn: Vec<String> = std::fs::read_dir(folder.join("figures"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    drawn.sort();
    assert_eq!(drawn.len(), 5, "{drawn:?}");
    for name in drawn {
        let svg = std::fs::read_to_string(folder.join("figures").join(&name)).unwrap();
        assert!(svg.starts_with("<svg") && svg.contains("<path") && !svg.contains("NaN"), "{name}");
    }
}

#[test]
fn the_reference_writes_a_history_that_a_run_accepts() {
    let folder = folder("history");
    let example = root().join("examples/dual-mass");
    std::fs::copy(example.join("system.toml"), folder.join("system.toml")).unwrap();
    let args = [
        "reference",
        "system.toml",
        "--from",
        "-0.02",
        "--stop",
        "0",
        "--step",
        "0.01",
        "--out",
        "history.csv",
    ];
    stdout(&folder, &args);
    let written = std::fs::read_to_string(folder.join("history.csv")).unwrap();
    assert_eq!(written, std::fs::read_to_string(example.join("history.csv")).unwrap());
    assert!(stdout(&folder, &["run", "system.toml"]).contains("verdict"));
}

#[test]
fn numbers_of_the_thesis_and_what_it_has_not() {
    let folder = folder("thesis");
    let output = cosimo(&folder, &["reproduce", "thesis", "--row", "A4/literal/proper", "--json"]);
    assert!(output.status.success(), "{}", complaint(&output));
    let cells: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let cells = cells.as_array().unwrap();
    assert_eq!(cells.len(), 9);
    for cell in cells {
        let printed: f64 = cell["printed"].as_str().unwrap().parse().unwrap();
        assert!((cell["value"].as_f64().unwrap() - printed).abs() < 6e-5, "{cell}");
    }
    let softer = ["reproduce", "thesis", "--row", "A5/GEN/m2=100", "--set", "kc=30", "--json"];
    let softer: serde_json::Value = serde_json::from_slice(&cosimo(&folder, &softer).stdout).unwrap();
    assert!(softer[0]["value"].as_f64().unwrap() < 2.4e-3, "{softer}");
    assert_snapshot!("thesis-row", complaint(&cosimo(&folder, &["reproduce", "thesis", "--row", "A1"])));
    let tolerance = ["reproduce", "thesis", "--tolerance", "1e-3"];
    assert_snapshot!("thesis-tolerance", complaint(&cosimo(&folder, &tolerance)));
    assert_snapshot!("thesis-fmu", complaint(&cosimo(&folder, &["reproduce", "thesis", "--fmu", "2"])));
}
