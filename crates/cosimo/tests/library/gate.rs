//! Limits against certificates: what passes, what fails, and what is none.
#![allow(clippy::unwrap_used)] // helpers of tests are tests

use cosimo::certificate::{GateCriteria, KIND, VERSION, gate};
use serde_json::{Value as Json, json};

fn certificate() -> Json {
    json!({
        "certificate": KIND,
        "version": VERSION,
        "outcome": { "complete": true, "word": "finished", "reason": null },
        "bonds": [
            { "name": "strut", "energy_defect": 2e-3, "verdict": "noticeable" },
            { "name": "idle", "energy_defect": null, "verdict": "unmeasured" },
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
    let limits = GateCriteria { defect: Some(1.0), indicator: Some(9.0), ..GateCriteria::default() };
    let checks = gate(&nothing, &limits).unwrap();
    assert_eq!(checks.len(), 3);
    assert!(checks.iter().all(|check| !check.pass));
    assert_eq!(checks[0].found, "failed: it broke");
    let limits = GateCriteria { incomplete: true, ..GateCriteria::default() };
    assert!(gate(&nothing, &limits).unwrap().is_empty());
    // Energy out of nothing has no share.
    let mut created = certificate();
    created["bonds"][0]["energy_defect"] = Json::Null;
    created["bonds"][0]["verdict"] = "large".into();
    let bonds = vec![("strut".to_owned(), 1e9)];
    let checks = gate(&created, &GateCriteria { bonds, ..GateCriteria::default() }).unwrap();
    assert!(!checks[1].pass && checks[1].found.starts_with("infinitely"));
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
    assert_eq!(refused(&other, &none), ["this is a certificate of version 1; this Cosimo reads version 2"]);
    let mut broken = certificate();
    broken["steps"]["rejected"] = "NaN".into();
    broken["bonds"][0]["energy_defect"] = json!(-1.0);
    broken["loops"] = Json::Null;
    assert_eq!(
        refused(&broken, &GateCriteria { bonds: vec![("strot".into(), 1.0)], ..none }),
        [
            "`bonds.0.energy_defect` should be a number not below 0, or null, got -1.0",
            "the certificate has no bond `strot`",
            "`steps.rejected` should be a whole number not below 0, got \"NaN\"",
            "`loops` should be a list, got nothing",
        ]
    );
}
