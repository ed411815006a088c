//! Curves in bounded memory: no peak and no end is lost.

#![allow(clippy::unwrap_used, reason = "a test that cannot set itself up should fail loudly")]
#![allow(clippy::disallowed_methods, reason = "what tests expect may come from the C library")]

use cosimo_core::recorder::{Columns, Recorder};
use cosimo_report::{CurveBudget, Curves, Recording};

/// Points that a column of signals may have.
const POINTS: usize = 16_384;

/// Rows at k ms with the given values.
fn recorded(rows: u64, value: impl Fn(u64) -> f64) -> Curves {
    let recording = Recording::new(CurveBudget::SIGNALS);
    let mut recorder = recording.recorder();
    let columns = Columns { names: vec!["time".into(), "y".into()], units: vec!["s".into(), String::new()] };
    recorder.begin(&columns).unwrap();
    for k in 0..rows {
        recorder.row(&[k as f64 * 1e-3, value(k)]).unwrap();
    }
    recorder.finish().unwrap();
    recording.curves()
}

#[test]
fn short_runs_are_kept_whole() {
    let curves = recorded(POINTS as u64 - 1, |k| k as f64);
    assert_eq!(curves.group, 1);
    assert!(curves.points[1].iter().enumerate().all(|(k, y)| *y == k as f64));
    assert_eq!(curves.points[1].len(), POINTS - 1);
}

#[test]
fn a_single_spike_survives_a_million_rows() {
    for spike in [1, 16_383, 16_384, 77_777, 123_456, 999_998] {
        for height in [-40.0, 40.0] {
            let curves = recorded(1_000_000, |k| if k == spike { height } else { 3.0 });
            let place: Vec<usize> =
                (0..curves.points[1].len()).filter(|&k| curves.points[1][k] == height).collect();
            // Twice where it is the last row of its group as well.
            assert!(place.len() == 1 || place.len() == 2, "{spike} {height}: {place:?}");
            for k in place {
                let off = curves.points[0][k] - spike as f64 * 1e-3;
                assert!(off.abs() <= curves.group as f64 * 1e-3, "{spike}: {off}");
            }
        }
    }
}

#[test]
fn ends_survive_and_time_ascends() {
    for rows in [1, 2, 16_384, 16_385, 16_386, 99_999, 131_072, 500_001] {
        let curves = recorded(rows, |k| (k as f64).sin());
        let (time, y) = (&curves.points[0], &curves.points[1]);
        let last = rows - 1;
        assert_eq!((time[0], y[0]), (0.0, 0.0));
        assert_eq!((time.last(), y.last()), (Some(&(last as f64 * 1e-3)), Some(&(last as f64).sin())));
        assert!(time.windows(2).all(|pair| pair[0] < pair[1]), "{rows}");
        assert_eq!((time.len(), curves.rows), (y.len(), rows));
    }
}

#[test]
fn the_envelope_is_that_of_all_rows() {
    let curves = recorded(300_000, |k| (k as f64 * 0.7).sin() * k as f64);
    let extreme = |pick: fn(f64, f64) -> f64| {
        (0..300_000).map(|k| (f64::from(k) * 0.7).sin() * f64::from(k)).fold(0.0, pick)
    };
    let kept = |pick: fn(f64, f64) -> f64| curves.points[1].iter().copied().fold(0.0, pick);
    assert_eq!((kept(f64::min), kept(f64::max)), (extreme(f64::min), extreme(f64::max)));
}

#[test]
fn what_is_not_a_number_hides_no_peak() {
    let curves = recorded(100_000, |k| match k {
        50_001 => f64::NAN,
        50_002 => 7.0,
        _ => 0.0,
    });
    assert_eq!(curves.points[1].iter().copied().fold(0.0, f64::max), 7.0);
    let nothing = recorded(100_000, |_| f64::NAN);
    assert!(nothing.points[1].iter().all(|y| y.is_nan()));
}
