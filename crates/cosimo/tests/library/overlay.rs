//! Result files as panels of a figure.

use cosimo::core::recorder::Columns;
use cosimo::plot_results::{OverlayError, PlotSelection, PlotSource, overlay};
use cosimo::record::Table;

fn source(name: &str, columns: &[(&str, &str, &[f64])]) -> PlotSource {
    let names = columns.iter().map(|column| column.0.to_owned()).collect();
    let units = columns.iter().map(|column| column.1.to_owned()).collect();
    let values = columns.iter().map(|column| column.2.to_vec()).collect();
    PlotSource { name: name.into(), table: Table { columns: Columns { names, units }, values } }
}

fn one() -> PlotSource {
    source(
        "a.csv",
        &[
            ("time", "s", &[0.0, 1.0, 2.0, 3.0]),
            ("m.x", "m", &[0.0, 1.0, 2.0, 3.0]),
            ("m.F", "N", &[5.0, f64::NAN, 5.0, 5.0]),
            ("m.y", "m", &[0.0, 0.0, 0.0, 0.0]),
            ("step.size", "s", &[0.0, 1.0, 1.0, 1.0]),
        ],
    )
}

#[test]
fn signals_of_one_file_are_grouped_by_unit() {
    let seen = overlay(&[one()], &PlotSelection::default()).unwrap();
    let names: Vec<Vec<&str>> = seen
        .panels
        .iter()
        .map(|panel| panel.series.iter().map(|series| series.name.as_str()).collect())
        .collect();
    assert_eq!(names, [vec!["m.x", "m.y"], vec!["m.F"]]);
    assert_eq!(seen.panels[0].y.label, "in m");
    assert_eq!(
        seen.warnings,
        [
            "the first 3 of 4 signals are shown; `--vars` chooses others",
            "`m.F` of `a.csv` is no number in 1 of 4 rows, the curve has gaps there"
        ]
    );
}

#[test]
fn a_range_keeps_the_rows_around_it() {
    let patterns = ["m.x".to_owned()];
    let wanted =
        PlotSelection { patterns: &patterns, from: Some(1.5), to: Some(2.5), ..PlotSelection::default() };
    let seen = overlay(&[one()], &wanted).unwrap();
    assert_eq!(seen.panels[0].series[0].points, [(1.0, 1.0), (2.0, 2.0), (3.0, 3.0)]);
    assert_eq!(seen.panels[0].x.limits, Some((1.5, 2.5)));
    let late = PlotSelection { from: Some(4.0), ..PlotSelection::default() };
    assert!(matches!(overlay(&[one()], &late), Err(OverlayError::Outside { .. })));
}

#[test]
fn the_difference_is_taken_where_either_file_has_a_row() {
    let other = source("b.csv", &[("time", "s", &[0.5, 2.5]), ("m.x", "m", &[1.5, 3.5])]);
    let patterns = ["m.x".to_owned()];
    let wanted = PlotSelection { patterns: &patterns, difference: true, ..PlotSelection::default() };
    let seen = overlay(&[one(), other], &wanted).unwrap();
    assert_eq!(seen.panels[1].title, "m.x: b.csv minus a.csv");
    let points = &seen.panels[1].series[0].points;
    assert_eq!(points, &[(0.5, 1.0), (1.0, 1.0), (2.0, 1.0), (2.5, 1.0)]);
    assert_eq!(overlay(&[one()], &wanted).unwrap_err(), OverlayError::NotTwo(1));
}

#[test]
fn what_is_not_there_is_said() {
    let patterns = ["m.f".to_owned()];
    let wanted = PlotSelection { patterns: &patterns, ..PlotSelection::default() };
    let error = overlay(&[one()], &wanted).unwrap_err();
    assert_eq!(
        (error.to_string(), error.hint()),
        ("no signal matches `m.f`".into(), Some("did you mean `m.F`?"))
    );
    let bare = source("c.csv", &[("time", "s", &[0.0])]);
    assert_eq!(overlay(&[bare], &PlotSelection::default()).unwrap_err(), OverlayError::Bare("c.csv".into()));
    let empty = source("c.csv", &[("time", "s", &[]), ("x", "", &[])]);
    assert_eq!(
        overlay(&[empty], &PlotSelection::default()).unwrap_err(),
        OverlayError::Empty("c.csv".into())
    );
    let timeless = source("c.csv", &[("x", "", &[1.0])]);
    assert_eq!(
        overlay(&[timeless], &PlotSelection::default()).unwrap_err(),
        OverlayError::NoTime("c.csv".into())
    );
    let other = source("b.csv", &[("time", "s", &[0.0, 3.0]), ("m.F", "N", &[5.0, 5.0])]);
    let patterns = ["m.x".to_owned()];
    let seen =
        overlay(&[one(), other], &PlotSelection { patterns: &patterns, ..PlotSelection::default() }).unwrap();
    assert_eq!(seen.warnings, ["`m.x` is not in `b.csv`"]);
}
