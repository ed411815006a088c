//! Two tables beside each other: how far apart they are, and what cannot be compared.

use cosimo_core::recorder::{Columns, Table};
use cosimo_record::compare::{CompareError, Difference, Tube, apart, compare};

const TUBE: Tube = Tube { relative: 0.0, absolute: 0.1, time: 0.0 };

fn table(columns: &[(&str, &[f64])]) -> Table {
    let names = columns.iter().map(|(name, _)| (*name).to_owned()).collect();
    let units = vec![String::new(); columns.len()];
    Table {
        columns: Columns { names, units },
        values: columns.iter().map(|(_, values)| values.to_vec()).collect(),
    }
}

fn one(a: &Table, b: &Table, tube: Tube) -> Difference {
    compare(a, b, tube, &[]).unwrap().signals.remove(0)
}

#[test]
fn the_difference_has_both_sides_of_a_jump_and_only_what_both_cover() {
    let a = table(&[("time", &[0.0, 1.0, 1.0, 2.0]), ("x", &[0.0, 1.0, 5.0, 5.0])]);
    let b = table(&[("time", &[0.5, 3.0]), ("x", &[2.0, 2.0])]);
    let points = apart(&a, &b, "x").unwrap();
    assert_eq!(points, [(0.5, 1.5), (1.0, 1.0), (1.0, -3.0), (2.0, -3.0)]);
    assert_eq!(apart(&a, &b, "y").unwrap(), []);
    let late = table(&[("time", &[7.0]), ("x", &[0.0])]);
    assert!(matches!(apart(&a, &late, "x"), Err(CompareError::Apart(..))));
}

#[test]
fn the_same_agrees_without_any_tolerance_and_other_rows_are_interpolated() {
    let a = table(&[("time", &[0.0, 1.0, 2.0]), ("x", &[0.0, 1.0, 4.0])]);
    let none = Tube { relative: 0.0, absolute: 0.0, time: 0.0 };
    assert_eq!(one(&a, &a, none).excess, 0.0);
    let b = table(&[("time", &[0.5, 1.5]), ("x", &[0.5, 2.5])]);
    assert_eq!((one(&a, &b, none).excess, one(&a, &b, none).largest), (0.0, 0.0));
    let c = table(&[("time", &[0.5, 1.5]), ("x", &[0.5, 2.75])]);
    let found = one(&a, &c, TUBE);
    assert_eq!((found.excess, found.time, found.reference, found.found), (2.5, 1.5, 2.5, 2.75));
    assert_eq!((found.outside, found.agrees), (1, false));
    assert_eq!(one(&a, &c, none).excess, f64::INFINITY);
}

#[test]
fn the_relative_part_goes_by_the_largest_value() {
    let a = table(&[("time", &[0.0, 1.0]), ("x", &[-50.0, 0.0])]);
    let b = table(&[("time", &[0.0, 1.0]), ("x", &[-50.0, 0.4])]);
    let tube = Tube { relative: 0.01, absolute: 0.1, time: 0.0 };
    assert!((one(&a, &b, tube).excess - 0.4 / 0.6).abs() < 1e-12);
}

/// A jump at 1 that comes at 1.05 differs by all of its height, but by little in time.
#[test]
fn a_late_jump_is_inside_a_tube_that_is_wide_in_time() {
    let a = table(&[("time", &[0.0, 1.0, 1.0, 2.0]), ("x", &[0.0, 0.0, 7.0, 7.0])]);
    let b = table(&[("time", &[0.0, 1.02, 1.05, 1.05, 2.0]), ("x", &[0.0, 0.0, 0.0, 7.0, 7.0])]);
    let early = one(&a, &b, TUBE);
    assert_eq!((early.outside, early.largest), (2, 7.0));
    assert!(one(&a, &b, Tube { time: 0.06, ..TUBE }).agrees);
    assert!(!one(&a, &b, Tube { time: 0.04, ..TUBE }).agrees);
    // Both sides of a jump are right at its instant.
    assert_eq!(one(&a, &a, TUBE).largest, 0.0);
}

#[test]
fn not_a_number_agrees_with_itself_alone() {
    let a = table(&[("time", &[0.0, 1.0]), ("x", &[f64::NAN, 1.0])]);
    let b = table(&[("time", &[0.0, 1.0]), ("x", &[2.0, 1.0])]);
    assert_eq!(one(&a, &a, TUBE).excess, 0.0);
    assert_eq!((one(&a, &b, TUBE).excess, one(&b, &a, TUBE).excess), (f64::INFINITY, f64::INFINITY));
}

#[test]
fn what_cannot_be_compared_is_said() {
    let a = table(&[("time", &[0.0, 1.0]), ("x", &[0.0, 1.0])]);
    let refused = |b: &Table| compare(&a, b, TUBE, &[]).unwrap_err().to_string();
    assert!(refused(&table(&[("x", &[0.0])])).contains("no column `time`"));
    assert!(refused(&table(&[("time", &[]), ("x", &[])])).contains("no rows"));
    assert!(refused(&table(&[("time", &[1.0, 0.5]), ("x", &[0.0, 0.0])])).contains("not in order"));
    assert!(refused(&table(&[("time", &[2.0, 3.0]), ("x", &[0.0, 0.0])])).contains("no instant"));
    assert!(refused(&table(&[("time", &[0.0, 1.0]), ("y", &[0.0, 0.0])])).contains("no signal"));
    let strange = compare(&a, &a, TUBE, &["y*".into()]).unwrap_err().to_string();
    assert_eq!(strange, "they have no signal in common that is called `y*`");
    let b = table(&[("time", &[0.5, 3.0]), ("x", &[0.5, 9.0]), ("y", &[0.0, 0.0])]);
    let found = compare(&a, &b, TUBE, &[]).unwrap();
    assert_eq!((found.from, found.to, found.rows), (0.5, 1.0, 1));
    assert_eq!((found.only_in_reference.len(), found.only_in_found), (0, vec!["y".to_owned()]));
}
