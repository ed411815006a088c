//! Every cell of the papers' tables, measured and compared with its reference.

#![allow(clippy::unwrap_used)] // helpers of tests are tests

use cosimo_papers::ecco_nepce::Changes;
use cosimo_papers::{ECCO_NEPCE, PRE_STEP, Row, Study, THESIS, TLM};

fn comes_out(study: &Study, count: usize) {
    tables_come_out(study, &[""], count);
}

fn tables_come_out(study: &Study, tables: &[&str], count: usize) {
    let registry = cosimo::registry();
    let rows: Vec<Row> = tables.iter().flat_map(|table| study.rows(table).unwrap()).collect();
    assert_eq!(rows.iter().map(|(_, cells)| cells.len()).sum::<usize>(), count);
    let mut wrong = Vec::new();
    for (row, cells) in rows {
        let measured = (study.measure)(&row, &cells, &Changes::default(), &registry).unwrap();
        for (cell, measured) in cells.iter().zip(measured) {
            if !cell.agrees(measured) {
                wrong.push(format!("{}: measured {measured:e}, reference {:e}", cell.id, cell.reference));
            }
        }
    }
    assert!(wrong.is_empty(), "{} cells: {wrong:#?}", wrong.len());
}

#[test]
fn every_cell_of_ecco_and_nepce_comes_out() {
    comes_out(&ECCO_NEPCE, 163);
}

#[test]
fn every_cell_of_the_pre_step_paper_comes_out() {
    comes_out(&PRE_STEP, 162);
}

#[test]
fn every_cell_of_the_thesis_comes_out() {
    comes_out(&THESIS, 153);
}

/// The 72 cells of lines take the longest: five tests run beside each other.
const LINES: [(&[&str], usize); 5] = [
    (&["spring", "passivity", "fmi"], 50),
    (&["drive"], 3),
    (&["robot"], 3),
    (&["ssi"], 15),
    (&["extrapolations"], 1),
];

#[test]
fn every_cell_of_lines_belongs_to_a_test() {
    let mut named: Vec<&str> = LINES.iter().flat_map(|(tables, _)| *tables).copied().collect();
    let mut all = (TLM.tables)();
    named.sort_unstable();
    all.sort_unstable();
    assert_eq!(named, all);
    assert_eq!(LINES.iter().map(|(_, count)| count).sum::<usize>(), 72);
}

#[test]
fn every_cell_of_the_spring_with_lines_comes_out() {
    tables_come_out(&TLM, LINES[0].0, LINES[0].1);
}

#[test]
fn every_cell_of_the_drive_with_lines_comes_out() {
    tables_come_out(&TLM, LINES[1].0, LINES[1].1);
}

#[test]
fn every_cell_of_the_robot_with_lines_comes_out() {
    tables_come_out(&TLM, LINES[2].0, LINES[2].1);
}

#[test]
fn every_cell_of_steadiness_comes_out() {
    tables_come_out(&TLM, LINES[3].0, LINES[3].1);
}

#[test]
fn no_line_is_extrapolated() {
    tables_come_out(&TLM, LINES[4].0, LINES[4].1);
}

#[test]
fn rows_are_found_at_boundaries_only() {
    assert_eq!(ECCO_NEPCE.cells().len(), 163);
    assert!(ECCO_NEPCE.rows("003/V").unwrap().iter().all(|(row, _)| row.starts_with("003/V/")));
    assert_eq!(ECCO_NEPCE.rows("003/III/constant/E").unwrap()[0].1.len(), 1);
    assert!(ECCO_NEPCE.rows("003/II").is_err());
}

/// The mean absolute error of a row of the pre-step paper at a step size; what a cell says of it does not count.
fn error(row: &str, size: f64) -> f64 {
    let changes = Changes { step: Some(size), ..Changes::default() };
    (PRE_STEP.measure)(row, &PRE_STEP.cells()[..1], &changes, &cosimo::registry()).unwrap()[0]
}

/// The paper's claim, about a hundred times longer steps, holds for the balanced weight and small steps.
#[test]
fn steps_can_be_a_hundred_times_longer_than_those_of_hold() {
    assert!(error("B2/STIFF/pre-step W", 1e-2) < error("B2/STIFF/ZOH", 1e-4));
    assert!(1000.0 * error("B2/STIFF/pre-step W", 1e-3) < error("B2/STIFF/ZOH", 1e-3));
}

/// Weighted by integrations, states of the quarter car are met better; not in the tables, computed in the same way.
#[test]
fn the_balanced_weight_helps_the_quarter_car() {
    for (size, wanted) in [(1e-3, 6.23e-9), (1e-2, 7.09e-7), (3e-2, 1.02e-5)] {
        let found = error("B4/ret1/pre-step W", size);
        assert!((found - wanted).abs() < 0.03 * wanted, "{size}: {found:e}");
    }
}
