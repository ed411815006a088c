//! Curves as letters: what braille shows of them, and that nothing in a name commands a terminal.

#![allow(clippy::unwrap_used, reason = "a test that cannot set itself up should fail loudly")]

use cosimo_plot::{Axis, Figure, Panel, Paper, Series};

fn printed(series: Vec<Series>, columns: usize, rows: usize, colour: bool) -> String {
    let panel = Panel { series, ..Panel::new("", Axis::linear("time in s"), Axis::linear("")) };
    Figure::new("", vec![panel]).text(Paper { columns, rows, colour })
}

fn dots(text: &str) -> u32 {
    let braille = |letter: char| u32::from(letter).checked_sub(0x2800).filter(|bits| *bits < 0x100);
    text.chars().filter_map(braille).map(u32::count_ones).sum()
}

#[test]
fn a_straight_line_goes_from_corner_to_corner() {
    let text = printed(vec![Series::new("y", vec![(0.0, 0.0), (1.0, 1.0)])], 60, 8, false);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "y");
    let first = lines.iter().position(|line| line.contains(['│', '┤'])).unwrap();
    assert!(lines[first].trim_end().ends_with(|letter: char| u32::from(letter) > 0x2800), "{text}");
    assert!(lines[first + 7].contains(['│', '┤']) && lines[first + 8].contains('└'), "{text}");
    assert!(lines.iter().all(|line| line.chars().count() <= 60), "{text}");
    assert_eq!(lines.last().unwrap().trim(), "time in s");
}

#[test]
fn a_single_spike_of_a_million_points_is_there() {
    let spiky = |spike: u32| {
        let points = (0..1_000_000).map(|k| (f64::from(k), if k == spike { 40.0 } else { 0.0 }));
        printed(vec![Series::new("", points.collect())], 80, 10, false)
    };
    for spike in [1, 500_000, 999_998] {
        // Every row has a dot of it.
        let text = spiky(spike);
        let rows = text.lines().filter(|line| line.contains(['│', '┤']));
        assert!(rows.clone().skip(1).all(|row| dots(row) > 0), "{text}");
    }
}

#[test]
fn gaps_stay_open_and_nothing_is_said() {
    let nan = f64::NAN;
    let torn = vec![(0.0, 1.0), (1.0, 1.0), (2.0, nan), (9.0, 1.0), (10.0, 1.0)];
    let whole = vec![(0.0, 1.0), (10.0, 1.0)];
    let count = |points| dots(&printed(vec![Series::new("", points)], 60, 5, false));
    assert!(count(torn) * 3 < count(whole));
    let nothing = printed(vec![Series::new("", vec![(0.0, nan)])], 60, 5, false);
    assert!(nothing.contains("nothing to draw"), "{nothing}");
}

#[test]
fn curves_are_told_apart_by_colour_or_by_letters() {
    let two = || {
        vec![
            Series::new("up", vec![(0.0, 0.0), (1.0, 1.0)]),
            Series::new("down", vec![(0.0, 1.0), (1.0, 0.0)]),
        ]
    };
    let plain = printed(two(), 60, 8, false);
    assert!(plain.starts_with("a: up  b: down\n"), "{plain}");
    let drawn = plain.lines().skip(1).collect::<String>();
    assert!(drawn.contains('a') && drawn.contains('b') && !plain.contains('\x1b'), "{plain}");
    let coloured = printed(two(), 60, 8, true);
    assert!(coloured.contains("\x1b[36m━━\x1b[0m up") && coloured.contains("\x1b[33m"), "{coloured}");
}

#[test]
fn limits_cut_off_what_lies_outside() {
    let axis = Axis::linear("").between(4.0, 6.0);
    let series = Series::new("", vec![(-1e300, 0.0), (1e300, 0.0)]);
    let panel = Panel::new("", axis, Axis::linear("")).with(series);
    let text = Figure::new("", vec![panel]).text(Paper { columns: 40, rows: 4, colour: false });
    assert!(dots(&text) >= 60, "{text}");
}

#[test]
fn names_cannot_command_the_terminal() {
    let text = printed(vec![Series::new("a\x1b[2J\u{9b}b\r\n", vec![(0.0, 0.0)])], 5, 0, false);
    assert!(!text.contains(['\x1b', '\u{9b}', '\r']), "{text:?}");
}
