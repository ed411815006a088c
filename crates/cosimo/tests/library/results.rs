//! Which rows a run gives away, and that a choice of columns changes none of their bits.
#![allow(clippy::unwrap_used)] // helpers of tests are tests

use crate::common::{DUAL_MASS, DualMass, column, rows, run_to_the_end, start};
use cosimo::core::Time;
use cosimo::record::MemoryRecorder;

fn text(experiment: &str, results: &str) -> String {
    let method = format!("step = {{ size = 0.1 }}\n[results]\n{results}");
    DualMass { stop: 1.0, experiment, method: &method, ..DUAL_MASS }.text()
}

fn until(t: f64) -> Time {
    Time::new(t).unwrap()
}

#[test]
fn rows_are_due_at_multiples_and_at_the_last_point() {
    let times = |results: &str| column(&rows(&text("", results)), "time").to_vec();
    let point = |n: i32| f64::from(n) * 0.1;
    assert_eq!(times("every = 0.25"), [0, 3, 5, 8, 10].map(point));
    assert_eq!(times("every = 0.4"), [0, 4, 8, 10].map(point));
    assert_eq!(times("every = 7"), [0, 10].map(point));
    assert_eq!(times("every = 0.001").len(), 11);
}

#[test]
fn a_run_that_is_left_early_ends_with_a_row_and_once_only() {
    let mut run = start(&text("", "every = 0.3"), 1);
    let memory = MemoryRecorder::default();
    run.record(Box::new(memory.clone())).unwrap();
    run.run_until(until(0.45)).unwrap();
    run.finish().unwrap();
    run.finish().unwrap();
    assert_eq!(column(&memory.table(), "time"), [0.0, 0.1 * 3.0, 0.5]);
    run_to_the_end(&mut run);
    run.finish().unwrap();
    assert_eq!(column(&memory.table(), "time")[3..], [0.1 * 6.0, 0.9, 1.0]);
}

#[test]
fn an_earlier_state_gives_its_rows_again() {
    let mut run = start(&text("", "every = 0.3"), 1);
    let saved = run.save().unwrap();
    let memory = MemoryRecorder::default();
    run.record(Box::new(memory.clone())).unwrap();
    run.run_until(until(0.6)).unwrap();
    run.load(&saved).unwrap();
    run_to_the_end(&mut run);
    let table = memory.table();
    let times = column(&table, "time");
    assert_eq!(times[..3], [0.0, 0.1 * 3.0, 0.1 * 6.0]);
    assert_eq!(times[3], 0.1, "the first point after the return is due");
    assert_eq!(times[4..], [0.1 * 3.0, 0.1 * 6.0, 0.9, 1.0]);
}

#[test]
fn chosen_columns_have_the_bits_of_all() {
    for experiment in ["record = \"after-exchange\"", "record = \"before-exchange\""] {
        let whole = rows(&text(experiment, ""));
        for results in
            ["variables = [\"left.*\"]", "variables = [\"!left.*\"]", "variables = [\"*.f\", \"bond.*\"]"]
        {
            let part = rows(&text(experiment, results));
            assert!(part.values.len() > 2 && part.values.len() < whole.values.len(), "{results}");
            for (name, values) in part.columns.names.iter().zip(&part.values) {
                let bits = |values: &[f64]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
                assert_eq!(bits(values), bits(column(&whole, name)), "{experiment}, {results}: {name}");
            }
        }
    }
}
