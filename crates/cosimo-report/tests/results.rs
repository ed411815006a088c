//! A result file without its run: what the ledger says, and where it says nothing.

#![allow(clippy::unwrap_used, reason = "a test that cannot set itself up should fail loudly")]

use cosimo_core::recorder::{Columns, Table};
use cosimo_engine::{BondSummary, Verdict};
use cosimo_report::{NoResults, Results};

/// Steps of half a second with 4 W through the bond, and 0.1 W lost or made in turn.
fn table(names: &[&str]) -> Table {
    let column = |name: &str| -> Vec<f64> {
        let row = |k: i32| match name {
            "time" => 0.5 * f64::from(k),
            "step.size" => {
                if k == 0 {
                    0.0
                } else {
                    0.5
                }
            }
            "bond.b.transmitted_power" => 4.0,
            "bond.b.residual_power" => {
                if k % 2 == 0 {
                    0.1
                } else {
                    -0.1
                }
            }
            "bond.b.transmitted_energy" => 2.0 * f64::from(k),
            "bond.b.residual_energy" => {
                if k % 2 == 0 {
                    0.0
                } else {
                    -0.05
                }
            }
            _ => f64::NAN,
        };
        (0..=4).map(row).collect()
    };
    Table {
        columns: Columns {
            names: names.iter().map(|name| (*name).to_owned()).collect(),
            units: vec![String::new(); names.len()],
        },
        values: names.iter().map(|name| column(name)).collect(),
    }
}

const ALL: [&str; 6] = [
    "step.size",
    "time",
    "bond.b.transmitted_power",
    "bond.b.residual_power",
    "bond.b.transmitted_energy",
    "bond.b.residual_energy",
];

#[test]
fn the_ledger_follows_from_rows_of_every_step() {
    let results = Results::of(&table(&ALL)).unwrap();
    let BondSummary { totals, share, .. } = &results.summary.bonds[0];
    assert_eq!((totals.transmitted, totals.exchanged), (8.0, 8.0));
    assert!((totals.residual_absolute - 0.2).abs() < 1e-12 && (share - 0.025).abs() < 1e-12);
    assert_eq!(results.summary.verdict, Verdict::Large);
    assert_eq!(results.books.columns.names[..2], ["time", "step.size"]);
    assert_eq!(results.curves.columns.names.len(), 6);
}

#[test]
fn nothing_is_claimed_where_steps_are_missing() {
    let mut thin = table(&ALL);
    for column in &mut thin.values {
        column.remove(2);
    }
    for less in [thin, table(&ALL[1..]), table(&[&ALL[..2], &ALL[4..]].concat())] {
        let results = Results::of(&less).unwrap();
        assert_eq!(results.summary.verdict, Verdict::Unmeasured);
        assert!(
            results.summary.bonds[0].share.is_nan() && results.energy.contains("energy defect is not known")
        );
        assert_eq!(results.summary.bonds[0].totals.transmitted, 8.0);
    }
    let plain = Results::of(&table(&["time", "x"])).unwrap();
    assert!(plain.energy.contains("no energies") && plain.broken == [("x".to_owned(), 5)]);
}

#[test]
fn what_is_no_result_is_refused() {
    assert_eq!(Results::of(&table(&["x"])).unwrap_err(), NoResults::NoTime);
    let mut empty = table(&["time"]);
    empty.values[0].clear();
    assert_eq!(Results::of(&empty).unwrap_err(), NoResults::Empty);
    let mut turned = table(&["time"]);
    turned.values[0].swap(1, 3);
    assert_eq!(Results::of(&turned).unwrap_err(), NoResults::Unordered(1.0, 1.5));
}
