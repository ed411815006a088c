//! Limits against certificates: what passes, what fails, and what is none.
#![allow(clippy::unwrap_used)] // helpers of tests are tests

use cosimo::certificate::{AccuracyCriterion, GateCheck, GateCriteria, KIND, VERSION, gate};
use serde_json::{Value as Json, json};

fn certificate() -> Json {
    json!({
        "certificate": KIND,
        "version": VERSION,
        "outcome": { "complete": true, "word": "finished", "reason": null },
        "verdict": { "word": "accurate", "words": "accurate to 1 %: all estimated errors are smaller." },
        "accuracy": {
            "wanted": 0.01,
            "signals": [
                { "name": "a.x", "verdict": "accurate", "relative": 8e-3, "reason": null },
                { "name": "a.v", "verdict": "accurate", "relative": 5e-3, "reason": null },
                { "name": "b.x", "verdict": "accurate", "relative": 1e-3, "reason": null },
            ],
        },
        "bonds": [
            { "name": "strut", "energy_defect": 2e-3, "word": "noticeable" },
            { "name": "idle", "energy_defect": null, "word": "unmeasured" },
        ],
        "steps": { "worst_indicator": 1.25, "rejected": 3 },
        "methods": { "estimate": { "name": "power-residual" } },
        "loops": [{ "input": "a.u", "relative": 1e-12 }],
        "warnings": [{ "message": "look here" }],
    })
}

fn failing(limits: &GateCriteria) -> Vec<String> {
    let checks = gate(&certificate(), limits).unwrap();
    checks.into_iter().filter(|check| !check.pass).map(|check| check.criterion.to_owned()).collect()
}

#[test]
fn limits_are_met_at_their_value_and_broken_just_below() {
    let none = GateCriteria::default();
    assert!(failing(&none).is_empty());
    let waived = vec![("idle".to_owned(), f64::INFINITY)];
    let defect = |defect: f64| GateCriteria { defect: Some(defect), bonds: waived.clone(), ..none.clone() };
    assert!(failing(&defect(2e-3)).is_empty());
    assert_eq!(failing(&defect(1.999e-3)), ["energy-defect"]);
    assert!(failing(&GateCriteria { indicator: Some(1.25), ..none.clone() }).is_empty());
    assert_eq!(failing(&GateCriteria { indicator: Some(1.0), ..none.clone() }), ["indicator"]);
    assert!(failing(&GateCriteria { rejected: Some(3), ..none.clone() }).is_empty());
    assert_eq!(failing(&GateCriteria { rejected: Some(2), ..none.clone() }), ["rejected"]);
    assert!(failing(&GateCriteria { loop_residual: Some(1e-12), ..none.clone() }).is_empty());
    assert_eq!(failing(&GateCriteria { loop_residual: Some(1e-13), ..none.clone() }), ["loop-residual"]);
    assert_eq!(failing(&GateCriteria { no_warnings: true, ..none }), ["warnings"]);
}

#[test]
fn the_bound_of_a_bond_beats_that_of_all_and_an_idle_bond_is_not_praised() {
    let limits = GateCriteria { defect: Some(1.0), ..GateCriteria::default() };
    assert_eq!(failing(&limits), ["energy-defect"]);
    let own = vec![("idle".to_owned(), f64::INFINITY), ("strut".to_owned(), 1e-3)];
    let checks = gate(&certificate(), &GateCriteria { bonds: own, ..limits }).unwrap();
    let strut = checks.iter().find(|check| check.about == "bond `strut`").unwrap();
    assert!(!strut.pass && strut.wanted.contains("1e-3") && strut.found == "2e-3", "{strut:?}");
}

#[test]
fn what_was_not_measured_does_not_pass() {
    let mut nothing = certificate();
    nothing["bonds"] = json!([]);
    nothing["methods"]["estimate"]["name"] = "none".into();
    nothing["outcome"] = json!({ "complete": false, "word": "failed", "reason": "it broke" });
    nothing["verdict"] = json!({ "word": "unknown", "words": "unknown: the run failed." });
    nothing["accuracy"]["signals"] = json!([]);
    let limits = GateCriteria { defect: Some(1.0), indicator: Some(9.0), ..GateCriteria::default() };
    let checks = gate(&nothing, &limits).unwrap();
    assert_eq!(checks.len(), 4);
    assert!(checks.iter().all(|check| !check.pass));
    assert_eq!(checks[0].found, "failed: it broke");
    assert_eq!(checks[1].found, "unknown: the run failed.");
    let limits = GateCriteria { incomplete: true, ..GateCriteria::default() };
    assert_eq!(gate(&nothing, &limits).unwrap().len(), 1);
    let accuracy = AccuracyCriterion::Any;
    assert!(gate(&nothing, &GateCriteria { accuracy, ..limits.clone() }).unwrap().is_empty());
    // Neither are there signals within a limit, whatever it is.
    let accuracy = AccuracyCriterion::MaxError(1e9);
    let signals = vec![("a.*".to_owned(), f64::INFINITY)];
    let checks = gate(&nothing, &GateCriteria { accuracy, signals, ..limits }).unwrap();
    assert!(checks.len() == 1 && !checks[0].pass, "{checks:?}");
    // Energy out of nothing has no share.
    let mut created = certificate();
    created["bonds"][0]["energy_defect"] = Json::Null;
    created["bonds"][0]["word"] = "large".into();
    let bonds = vec![("strut".to_owned(), 1e9)];
    let checks = gate(&created, &GateCriteria { bonds, ..GateCriteria::default() }).unwrap();
    assert!(!checks[2].pass && checks[2].found.starts_with("infinitely"));
}

#[test]
fn everything_that_is_wrong_is_said_at_once() {
    let refused = |certificate: &Json, limits: &GateCriteria| -> Vec<String> {
        gate(certificate, limits).unwrap_err().iter().map(ToString::to_string).collect()
    };
    let none = GateCriteria::default();
    assert!(refused(&json!([1, 2]), &none)[0].contains("not a certificate of Cosimo"));
    assert!(refused(&json!({ "certificate": "else" }), &none)[0].ends_with("got \"else\""));
    let other = json!({ "certificate": KIND, "version": 1 });
    assert_eq!(refused(&other, &none), ["this is a certificate of version 1; this Cosimo reads version 3"]);
    let mut broken = certificate();
    broken["steps"]["rejected"] = "NaN".into();
    broken["bonds"][0]["energy_defect"] = json!(-1.0);
    broken["loops"] = Json::Null;
    broken["verdict"]["word"] = "fine".into();
    broken["accuracy"]["signals"][1]["relative"] = json!("0.005");
    let bonds = vec![("strot".into(), 1.0)];
    let signals = vec![("a.y".into(), 1.0), ("a.*".into(), 1.0), ("c.*".into(), 1.0)];
    assert_eq!(
        refused(&broken, &GateCriteria { signals, bonds, ..none }),
        [
            "`verdict.word` should be \"accurate\", \"not-accurate\" or \"unknown\", got \"fine\"",
            "`accuracy.signals.1.relative` should be a number not below 0, or null, got \"0.005\"",
            "the certificate has no signal that matches `a.y`",
            "the certificate has no signal that matches `c.*`",
            "`bonds.0.energy_defect` should be a number not below 0, or null, got -1.0",
            "the certificate has no bond `strot`",
            "`steps.rejected` should be a whole number not below 0, got \"NaN\"",
            "`loops` should be a list, got nothing",
        ]
    );
}

/// The checks of accuracy alone.
fn of_accuracy(certificate: &Json, accuracy: AccuracyCriterion, signals: &[(&str, f64)]) -> Vec<GateCheck> {
    let signals = signals.iter().map(|(pattern, limit)| ((*pattern).to_owned(), *limit)).collect();
    let limits = GateCriteria { accuracy, signals, ..GateCriteria::default() };
    let checks = gate(certificate, &limits).unwrap();
    checks.into_iter().filter(|check| check.criterion == "accuracy").collect()
}

#[test]
fn the_verdict_is_the_usual_criterion() {
    let mut certificate = certificate();
    let checks = of_accuracy(&certificate, AccuracyCriterion::Verdict, &[]);
    assert!(checks.len() == 1 && checks[0].pass, "{checks:?}");
    assert_eq!(checks[0].wanted, "accurate to 1 %");
    assert_eq!(checks[0].found, "accurate to 1 %: all estimated errors are smaller.");
    for word in ["not-accurate", "unknown"] {
        certificate["verdict"]["word"] = word.into();
        assert!(!of_accuracy(&certificate, AccuracyCriterion::Verdict, &[])[0].pass, "{word}");
        assert!(of_accuracy(&certificate, AccuracyCriterion::Any, &[]).is_empty(), "{word}");
    }
}

#[test]
fn error_bars_are_within_limits_at_their_value_and_not_below() {
    use AccuracyCriterion::{Any, MaxError, Verdict};
    let mut found = certificate();
    let checks = of_accuracy(&found, MaxError(8e-3), &[]);
    assert!(checks.len() == 1 && checks[0].pass && checks[0].found == "8e-3", "{checks:?}");
    assert_eq!(checks[0].about, "3 signals, the worst `a.x`");
    let checks = of_accuracy(&found, MaxError(7.999e-3), &[]);
    let texts: Vec<(&str, &str, bool)> =
        checks.iter().map(|it| (it.about.as_str(), it.found.as_str(), it.pass)).collect();
    assert_eq!(texts, [("`a.x`", "8e-3", false), ("2 signals, the worst `a.v`", "5e-3", true)]);
    // Unknown is within no limit; what is far off but within a generous limit passes, if its error is known.
    found["verdict"]["word"] = "not-accurate".into();
    found["accuracy"]["signals"][0] =
        json!({ "name": "a.x", "verdict": "not-accurate", "relative": 0.04, "reason": null });
    found["accuracy"]["signals"][2] =
        json!({ "name": "b.x", "verdict": "unknown", "relative": 1e-6, "reason": "too short" });
    let checks = of_accuracy(&found, MaxError(0.05), &[]);
    assert!(!checks[0].pass && checks[0].found == "unknown: too short" && checks[1].pass, "{checks:?}");
    let failing = |accuracy, signals: &[(&str, f64)]| -> Vec<String> {
        let checks = of_accuracy(&found, accuracy, signals);
        checks.into_iter().filter(|check| !check.pass).map(|check| check.about).collect()
    };
    assert_eq!(failing(MaxError(0.05), &[("b.x", f64::INFINITY)]), [""; 0]);
    assert_eq!(failing(MaxError(0.05), &[("a.*", 0.02), ("b.x", f64::INFINITY)]), ["`a.x`"]);
    // The last pattern decides.
    assert_eq!(failing(MaxError(1e-9), &[("*", 0.0), ("*.x", f64::INFINITY), ("a.v", 5e-3)]), [""; 0]);
    // Beside the verdict, limits are for the signals that they name.
    assert_eq!(failing(Verdict, &[("b.*", 1.0)]), ["`b.x`", "`a.x`"]);
    assert_eq!(failing(Verdict, &[("b.*", f64::INFINITY), ("a.x", 0.04)]), [""; 0]);
    assert_eq!(failing(Any, &[("a.v", 1e-3)]), ["`a.v`"]);
    assert_eq!(of_accuracy(&found, Verdict, &[("b.*", f64::INFINITY)])[1].found, "not accurate (4 %)");
    // A signal that switches otherwise has no error bar.
    found["accuracy"]["signals"][0]["relative"] = Json::Null;
    let checks = of_accuracy(&found, MaxError(1e9), &[("b.x", f64::INFINITY)]);
    let broken = checks.iter().find(|check| check.about == "`a.x`").unwrap();
    assert!(!broken.pass && broken.found == "no finite number", "{broken:?}");
}
