//! The page as text: what it says, and that nothing from outside becomes markup.

#![allow(clippy::unwrap_used, reason = "a test that cannot set itself up should fail loudly")]

use std::time::Duration;

use cosimo_analysis::error_bars::{
    Accuracy, AccuracyVerdict, CompanionSet, CouplingDefect, SignalAccuracy, SwitchingInstants,
};
use cosimo_core::recorder::{Columns, Recorder};
use cosimo_engine::{
    BondSummary, BondTotals, Counters, MonolithicReference, ReferenceDeviation, Summary, Verdict,
};
use cosimo_report::{
    BondEdge, ComponentFacts, CurveBudget, Curves, Diagram, DiagramBox, Reasons, Recording, Rejections,
    Report, RunEnd, SignalEdge, Warning, write,
};
use insta::assert_snapshot;

fn summary(bonds: &[&str]) -> Summary {
    let totals =
        BondTotals { transmitted: -750.0, exchanged: 767.0, residual: 0.32, residual_absolute: 0.998 };
    let bond = |name: &&str| BondSummary {
        name: (*name).into(),
        totals,
        share: 0.0013,
        scale: totals.exchanged,
        power_error: 0.125,
    };
    Summary {
        net: None,
        coupled: true,
        time: 1.5,
        finished: true,
        ended: None,
        counters: Counters { steps: 3, rejected: 2, ..Counters::default() },
        mean_step: 0.5,
        worst_indicator: 1.25,
        bonds: bonds.iter().map(bond).collect(),
        verdict: if bonds.is_empty() { Verdict::Unmeasured } else { Verdict::Noticeable },
        events: Vec::new(),
        more_events: 0,
        tampered: Vec::new(),
        learned: Vec::new(),
        own_steps: Vec::new(),
    }
}

/// One signal of each verdict, and one that switches.
fn accuracy(words: &str) -> Accuracy {
    let signal = |verdict, relative: f64, reason: Option<&str>| SignalAccuracy {
        name: words.into(),
        unit: words.into(),
        verdict,
        error_bar: 2.0 * relative,
        relative,
        scale: 2.0,
        mean_error_bar: relative,
        start_error: 0.1 * relative,
        ratio: Some(2.0),
        at: 0.25,
        switching: None,
        reason: reason.map(str::to_owned),
    };
    let switching = Some(SwitchingInstants { count: 7, error_bar: 0.0125 });
    let defect = |largest: f64| CouplingDefect {
        connection: format!("{words}.y -> wheel.u"),
        unit: words.into(),
        largest,
        relative: 0.5 * largest,
        at: 0.5,
        mean: 0.1 * largest,
    };
    Accuracy {
        verdict: AccuracyVerdict::NotAccurate,
        words: format!("not accurate to 1 %: `{words}` with 5 %."),
        wanted: 0.01,
        companions: CompanionSet::Coarse,
        companion_steps: 30,
        reason: None,
        signals: vec![
            signal(AccuracyVerdict::NotAccurate, 0.05, None),
            signal(AccuracyVerdict::Unknown, f64::NAN, Some(words)),
            SignalAccuracy { switching, ..signal(AccuracyVerdict::Accurate, 0.004, None) },
            signal(AccuracyVerdict::Accurate, 0.001234, None),
        ],
        connections: vec![defect(0.25), defect(0.0)],
    }
}

/// Four rows of the columns that a run of two components and the bonds would have.
fn curves(components: &[ComponentFacts<'_>], bonds: &[&str]) -> Curves {
    let mut names = vec!["time".to_string()];
    names.extend(components.iter().map(|component| format!("{}.x", component.name)));
    recorded(names.into_iter().chain(books(bonds)).collect())
}

/// Those of the engine itself.
fn books(bonds: &[&str]) -> Vec<String> {
    let mut names = vec!["step.size".to_string(), "step.indicator".into()];
    for bond in bonds {
        names.extend([format!("bond.{bond}.transmitted_energy"), format!("bond.{bond}.residual_energy")]);
    }
    names
}

fn recorded(names: Vec<String>) -> Curves {
    let recording = Recording::new(CurveBudget::SIGNALS);
    let mut recorder = recording.recorder();
    recorder.begin(&Columns { units: vec!["s".into(); names.len()], names: names.clone() }).unwrap();
    for row in 0..4 {
        let values: Vec<f64> = (0..names.len()).map(|k| f64::from(row) * 0.5 + k as f64).collect();
        recorder.row(&values).unwrap();
    }
    recorder.finish().unwrap();
    recording.curves()
}

fn page(words: &str, bonds: &[&str], outcome: RunEnd) -> String {
    page_of(words, bonds, outcome, Some(&accuracy(words)))
}

fn page_of(words: &str, bonds: &[&str], outcome: RunEnd, accuracy: Option<&Accuracy>) -> String {
    let summary = summary(bonds);
    let fact = |fact: &str| (format!("{fact} {words}"), words.to_string());
    let components = [
        ComponentFacts { name: words, facts: vec![fact("source")] },
        ComponentFacts { name: "wheel", facts: vec![fact("source"), fact("SHA-256")] },
    ];
    let mut rejections = Rejections::default();
    rejections.observe(1.0, 2);
    let counted = |steps| Counters { steps, at_maximum: steps, ..Counters::default() };
    let mut why = Reasons::default();
    why.begin(0.0, &counted(0));
    (1..=3).for_each(|step| why.observe(0.5 * step as f64, &counted(step)));
    let unit = |(name, seconds)| DiagramBox { name, about: words.into(), seconds: Some(seconds) };
    let diagram = Diagram {
        units: [(words.to_owned(), 0.25), ("wheel".into(), 0.75)].map(unit).into(),
        signals: vec![SignalEdge { from: 1, to: 0, signals: vec![format!("wheel.x → {words}.x")] }],
        bonds: bonds.iter().map(|name| BondEdge { name: (*name).into(), ends: vec![0, 1] }).collect(),
        lines: Vec::new(),
    };
    let apart =
        ReferenceDeviation { name: words.into(), unit: words.into(), error: 0.5, share: 0.013, at: 0.25 };
    let report = Report {
        name: words,
        file: words,
        outcome,
        summary: &summary,
        accuracy,
        energy: &summary.text(),
        span: (0.0, 1.5),
        reasons: words,
        computing: Some(Duration::from_millis(1234)),
        threads: 1,
        monolithic: MonolithicReference { about: words, ports: &[apart] },
        warnings: &[
            Warning { message: format!("`{words}` is held ({words})"), ..Warning::default() },
            Warning {
                code: "plan/no-unit",
                message: words.into(),
                meaning: format!("{words}\nTo do: {words}"),
            },
        ],
        diagram: Some(&diagram),
        plan: words,
        components: &components,
        inputs: &[(words.into(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855".into())],
        origin: &[("command", words.into()), ("date", "2017-08-25T10:00:00Z".into())],
        curves: &curves(&components, bonds),
        books: &recorded(std::iter::once("time".into()).chain(books(bonds)).collect()),
        why: &why,
        rejections: &rejections,
    };
    let mut html = Vec::new();
    write(&report, &mut html).unwrap();
    String::from_utf8(html).unwrap()
}

/// What a person reads: without style, script and data.
fn text_part(html: &str) -> &str {
    let from = html.find("<main>").unwrap();
    &html[from..html.find("</main>").unwrap()]
}

fn data(html: &str) -> serde_json::Value {
    let (_, rest) = html.split_once("<script type=\"application/json\" id=data>").unwrap();
    serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
}

#[test]
fn a_finished_run() {
    assert_snapshot!(text_part(&page("strut", &["strut"], RunEnd::Finished)));
}

/// Verdicts differ in a sign and in words, not in colour alone.
#[test]
fn the_banner_has_the_verdict() {
    let banner = |accuracy: Option<&Accuracy>| {
        let html = page_of("strut", &["strut"], RunEnd::Finished, accuracy);
        let text = text_part(&html);
        let from = text.find("<section class=\"verdict").unwrap();
        text[from..from + text[from..].find("</section>").unwrap()].to_owned()
    };
    let accuracy = accuracy("strut");
    for (verdict, class, sign, title) in [
        (AccuracyVerdict::Accurate, "accurate", '✓', "Accurate to 1 %"),
        (AccuracyVerdict::Unknown, "unknown", '?', "Accuracy unknown"),
        (AccuracyVerdict::NotAccurate, "not-accurate", '✕', "Not accurate to 1 %"),
    ] {
        let found = banner(Some(&Accuracy { verdict, ..accuracy.clone() }));
        for wanted in [
            &format!("<section class=\"verdict {class}\""),
            &format!("<span class=sign aria-hidden=true>{sign}</span>"),
            &format!("<h2>{title}</h2>"),
            "<p id=verdict>Not accurate to 1 %: <code>strut</code> with 5 %.</p>",
        ] {
            assert!(found.contains(wanted), "{wanted} is not in {found}");
        }
    }
    let alone = banner(None);
    assert!(alone.contains("verdict unknown") && alone.contains("<h2>Accuracy unknown</h2>"), "{alone}");
    assert!(alone.contains("results alone"), "{alone}");
}

#[test]
fn long_lists_of_signals_and_connections_are_folded() {
    let mut many = accuracy("strut");
    many.signals = vec![many.signals[3].clone(); 40];
    many.connections = vec![many.connections[0].clone(); 12];
    let html = page_of("strut", &[], RunEnd::Finished, Some(&many));
    let text = text_part(&html);
    let (open, folded) = text.split_once("<summary>28 more signals</summary>").unwrap();
    let row = "<td>2.468e-3</td>";
    assert_eq!((open.matches(row).count(), folded.matches(row).count()), (12, 28));
    assert!(!text.contains("more connections") && !text.contains("NaN"));
    many.connections = vec![many.connections[0].clone(); 13];
    many.connections[12].largest = 0.0;
    let html = page_of("strut", &[], RunEnd::Finished, Some(&many));
    assert!(text_part(&html).contains("One more connection has no defect."));
    many.connections = vec![many.connections[12].clone()];
    many.signals.clear();
    let html = page_of("strut", &[], RunEnd::Finished, Some(&many));
    assert!(text_part(&html).contains("All inputs were assumed as they became known."));
    assert!(!text_part(&html).contains("Accuracy of signals"));
}

#[test]
fn a_failed_run_says_so_first() {
    let error = Warning {
        code: "step/not-finite",
        message: "`wheel` returned NaN".into(),
        meaning: "no number".into(),
    };
    let failed = RunEnd::Failed { error, hint: "try a smaller step".into() };
    let html = page("strut", &[], failed);
    let text = text_part(&html);
    let at = |words: &str| text.find(words).unwrap_or_else(|| panic!("`{words}` is missing in {text}"));
    assert!(at("The run failed at t = 1.5 s of 1.5 s") < at("Not accurate to 1 %, so far"));
    assert!(at("<code>wheel</code> returned NaN") < at("Try a smaller step"));
    let interrupted = page("strut", &[], RunEnd::Interrupted);
    assert!(text_part(&interrupted).contains("Interrupted at t = 1.5 s"));
}

#[test]
fn nothing_from_outside_becomes_markup() {
    let evil = "</script><script>alert('\"1&')</script><!--<img src=x onerror=alert(1)>";
    let plain = page("strut", &["strut"], RunEnd::Finished);
    let error = Warning { code: "step/not-finite", message: evil.into(), meaning: evil.into() };
    let failed = RunEnd::Failed { error, hint: evil.into() };
    let html = page(evil, &[evil], failed.clone());
    let harmless = page("strut", &["strut"], failed);
    for mark in ["<script", "</script", "<img", "<!--"] {
        assert_eq!(html.matches(mark).count(), plain.matches(mark).count(), "{mark}");
    }
    // Not one tag more than with a harmless name, and the same ones.
    let tags = |html: &str| text_part(html).matches(['<', '>']).count();
    assert_eq!(tags(&html), tags(&harmless));
    // The script gets the names as they are.
    assert_eq!(data(&html)["bonds"][0]["name"], evil);
}

#[test]
fn the_script_finds_its_columns() {
    let html = page("step", &["strut"], RunEnd::Finished);
    let data = data(&html);
    let names: Vec<&str> =
        data["columns"].as_array().unwrap().iter().map(|column| column["name"].as_str().unwrap()).collect();
    assert_eq!(names[data["size"].as_u64().unwrap() as usize], "step.size");
    assert_eq!(names[data["bonds"][0]["residual"].as_u64().unwrap() as usize], "bond.strut.residual_energy");
    assert_eq!(data["reasons"]["names"], serde_json::json!(["at the largest size"]));
    assert_eq!(data["reasons"]["groups"][2], serde_json::json!([1.0, 1.5, 1, [1]]));
    assert_eq!(data["columns"][data["size"].as_u64().unwrap() as usize]["instants"], data["signals"]);
    assert_eq!(data["rejected"], serde_json::json!([[1.0, 2]]));
    assert_eq!(data["columns"][1]["group"], "step");
    assert_eq!(data["columns"][2]["group"], "wheel");
    assert_eq!(data["columns"][5]["group"], "bond strut");
}

#[test]
fn the_policy_lets_only_this_script_run() {
    let html = page("strut", &["strut"], RunEnd::Finished);
    let (_, script) = html.rsplit_once("<script>").unwrap();
    let script = script.split_once("</script>").unwrap().0;
    let (_, policy) = html.split_once("'sha256-").unwrap();
    let stated = policy.split_once('\'').unwrap().0;
    use base64::Engine;
    use sha2::Digest;
    let digest = sha2::Sha256::digest(script.as_bytes());
    assert_eq!(stated, base64::engine::general_purpose::STANDARD.encode(digest));
    assert!(script.contains("Permission is hereby granted"), "uPlot's licence goes along");
    for address in ["http://", "https://", "//cdn"] {
        let elsewhere = html.replace("https://github.com/leeoniya/uPlot", "");
        assert!(!elsewhere.contains(address), "{address}");
    }
}
