//! One verdict, the same words everywhere: outcome, summary, certificate and report.
#![allow(clippy::unwrap_used)] // helpers of tests are tests

use std::path::PathBuf;

use cosimo::analysis::error_bars::ErrorBars;
use cosimo::{Error, ErrorKind, Moment, Observer, Outcome, RunEnd, Simulation};
use serde_json::{Value as Json, json};

use crate::common;

fn dual_mass() -> Simulation<'static> {
    Simulation::new()
        .add_source("left", "native:dual-mass/left-force")
        .add_source("right", "native:dual-mass/right")
        .connect("right.x", "left.x_far")
        .bond("joint", ("left.f", "left.v_far"), ("right.f", "right.v"))
        .step_size(1e-3)
        .stop_time(1.0)
}

/// What a run left behind.
struct Places {
    outcome: Outcome,
    summary: Json,
    certificate: Json,
    page: String,
}

/// Runs with a file of each kind, and holds them against each other.
fn run(name: &str, simulation: Simulation<'_>) -> Places {
    let folder = common::folder().join(format!("verdict-{name}"));
    std::fs::create_dir_all(&folder).unwrap();
    let file = |name: &str| -> PathBuf { folder.join(name) };
    let simulation = simulation
        .summary_json(file("summary.json"))
        .certificate(file("certificate.json"))
        .report(file("report.html"));
    let outcome = simulation.start_unattended().unwrap().complete();
    let text = |name: &str| std::fs::read_to_string(file(name)).unwrap();
    let json = |name: &str| -> Json { serde_json::from_str(&text(name)).unwrap() };
    let (summary, certificate, page) = (json("summary.json"), json("certificate.json"), text("report.html"));
    let (word, words) = (outcome.accuracy.verdict.word(), &outcome.accuracy.words);
    assert!(!words.is_empty(), "{name}");
    assert_eq!((summary["verdict"].as_str(), summary["words"].as_str()), (Some(word), Some(&words[..])));
    assert_eq!(certificate["verdict"], json!({ "word": word, "words": words }), "{name}");
    // Read back as the files are, which may round the last digit.
    let accuracy: Json = serde_json::from_str(&json!(outcome.accuracy).to_string()).unwrap();
    assert_eq!(certificate["accuracy"], accuracy, "{name}");
    assert_eq!(summary["accuracy"], certificate["accuracy"], "{name}");
    assert_eq!(summary["energy"], certificate["energy"], "{name}");
    assert_eq!(certificate["energy"]["words"], outcome.summary.text(), "{name}");
    assert!(page.contains(&format!("<section class=\"verdict {word}\"")), "{name}");
    let shown = page.split("<p id=verdict>").nth(1).unwrap().split("</p>").next().unwrap();
    let shown = shown.replace("<code>", "`").replace("</code>", "`").replace("&gt;", ">");
    assert_eq!(shown.to_lowercase(), words.to_lowercase(), "{name}");
    Places { outcome, summary, certificate, page }
}

#[test]
fn an_accurate_run_is_accurate_everywhere() {
    let places = run("accurate", dual_mass());
    assert_eq!(places.summary["verdict"], "accurate");
    assert!(places.page.contains("<h2>Accurate to 1 %</h2>"));
    let signals = places.certificate["accuracy"]["signals"].as_array().unwrap();
    assert!(!signals.is_empty());
    for signal in signals {
        let name = signal["name"].as_str().unwrap();
        assert!(signal["relative"].as_f64().unwrap() <= 0.01, "{signal}");
        assert!(places.page.contains(&format!("<tr><th scope=row>{name}</th>")), "{name}");
    }
    let defects = places.certificate["accuracy"]["connections"].as_array().unwrap();
    assert!(defects.iter().any(|it| it["connection"] == "right.x -> left.x_far"), "{defects:?}");
    assert!(places.page.contains("<th scope=row>right.x -&gt; left.x_far</th>"));
}

#[test]
fn a_run_that_is_not_accurate_enough_is_that_everywhere() {
    let places = run("not-accurate", dual_mass().accuracy(1e-9));
    assert_eq!(places.summary["verdict"], "not-accurate");
    assert_eq!(places.certificate["accuracy"]["wanted"], 1e-9);
    assert!(places.page.contains("<h2>Not accurate to 1e-7 %</h2>"));
    // The energy balance does not depend on the wanted accuracy, and is not the verdict.
    assert_eq!(places.summary["energy"], run("as-before", dual_mass()).summary["energy"]);
}

#[test]
fn what_is_not_known_is_unknown_everywhere_with_its_reason() {
    let places = run("off", dual_mass().error_bars(ErrorBars::Off));
    assert_eq!(places.summary["verdict"], "unknown");
    assert_eq!(places.outcome.accuracy.words, "unknown: no error bars were requested.");
    assert!(places.page.contains("<h2>Accuracy unknown</h2>"));
    let alone = Simulation::new()
        .add_source("mass", "native:oscillator/mass")
        .set("mass.F", 0.0)
        .step_size(1e-2)
        .stop_time(0.1);
    let words = run("alone", alone).outcome.accuracy.words;
    assert!(words.starts_with("unknown: ") && words.contains("solver inside the component"), "{words}");
}

struct Failing;

impl Observer for Failing {
    fn step(&mut self, at: &mut Moment<'_>) -> Result<(), Error> {
        if at.time() > 0.5 { Err(Error::new(ErrorKind::Run, "enough", None)) } else { Ok(()) }
    }
    fn end(&mut self, _end: &mut RunEnd<'_>) -> Result<(), Error> {
        Ok(())
    }
}

#[test]
fn a_failed_run_is_not_accurate_up_to_its_failure() {
    let places = run("failed", dual_mass().observe(Failing));
    assert_eq!(places.certificate["outcome"]["word"], "failed");
    assert_eq!(places.outcome.accuracy.words, "unknown: the run failed.");
    assert!(places.page.contains("<h2>Accuracy unknown, so far</h2>"));
}
