use crate::time;
use cosimo_core::trace::{DEPTH, Traces};

/// Three outputs at t = 0, 1, .., count - 1; output k is k * 100 + t, with slopes 10 k + t.
fn counted(count: usize) -> Traces {
    let mut traces = Traces::new(3);
    for n in 0..count {
        let t = n as f64;
        traces.open(time(t));
        traces.put(0, &[t, 100.0 + t, 200.0 + t], &[t, 10.0 + t, 20.0 + t]);
        traces.commit();
    }
    traces
}

#[test]
fn samples_are_found_level_by_level_and_output_by_output() {
    let count = 2 * DEPTH + 3;
    let mut traces = counted(count);
    let last = (count - 1) as f64;
    for k in 0..DEPTH {
        let t = last - k as f64;
        assert_eq!(traces.level(k), [t, 100.0 + t, 200.0 + t]);
        assert_eq!(traces.slopes(k), [t, 10.0 + t, 20.0 + t]);
    }
    for output in 0..3 {
        let trace = traces.trace(output);
        assert_eq!((trace.len(), trace.is_empty()), (DEPTH - 1, false));
        for k in 0..trace.len() {
            let (t, sample) = (last - k as f64, trace.back(k));
            let first = output as f64;
            assert_eq!((sample.t, sample.y, sample.slope), (t, 100.0 * first + t, 10.0 * first + t));
        }
        assert_eq!(trace.newest(), trace.back(0).y);
    }
    assert_eq!((traces.outputs(), traces.levels(), counted(2).levels()), (3, DEPTH, 2));
    traces.level_mut(2)[1] = -1.0;
    traces.slopes_mut(3)[2] = -2.0;
    assert_eq!((traces.trace(1).back(2).y, traces.trace(2).back(3).slope), (-1.0, -2.0));
}

#[test]
fn the_common_level_is_that_of_all_outputs() {
    let mut traces = counted(3);
    assert_eq!(traces.common(), Some(&[2.0, 102.0, 202.0][..]));
    traces.open(time(3.0));
    assert_eq!(traces.common(), Some(&[2.0, 102.0, 202.0][..]));
    traces.put(1, &[7.0], &[]);
    assert_eq!(traces.common(), None);
    assert_eq!([0, 1, 2].map(|output| traces.trace(output).newest()), [2.0, 7.0, 202.0]);
    assert!(traces.trace(1).back(0).slope.is_nan());
    traces.put(0, &[6.0], &[]);
    traces.put(2, &[8.0], &[]);
    assert_eq!(traces.newest(), [6.0, 7.0, 8.0]);
    traces.put(0, &[1.0, 2.0, 3.0], &[]);
    assert_eq!(traces.common(), Some(&[1.0, 2.0, 3.0][..]));
    traces.discard();
    assert_eq!(traces.common(), Some(&[2.0, 102.0, 202.0][..]));
}

#[test]
fn a_jump_hides_what_lies_before_it_from_the_outputs_that_jumped() {
    let mut traces = counted(5);
    traces.jump(&[4.0, 50.0, 204.0], &[9.0, 9.0, 9.0], |output| output == 2);
    // The first output is what it was, the second has another value, the third jumped to the same one.
    assert_eq!([0, 1, 2].map(|output| traces.trace(output).len()), [5, 1, 1]);
    assert_eq!((traces.newest(), traces.slopes(0)), (&[4.0, 50.0, 204.0][..], &[9.0; 3][..]));
    traces.open(time(5.0));
    traces.put(0, &[5.0, 51.0, 205.0], &[]);
    traces.commit();
    assert_eq!([0, 1, 2].map(|output| traces.trace(output).len()), [6, 2, 2]);
    assert_eq!(traces.trace(1).back(1).y, 50.0);
}

#[test]
fn levels_are_laid_apart_for_a_probe() {
    let mut traces = counted(DEPTH + 2);
    let last = (DEPTH + 1) as f64;
    traces.space(0.25);
    for k in 0..DEPTH - 1 {
        assert_eq!(traces.trace(0).back(k).t, last - 0.25 * k as f64);
    }
}

#[test]
fn polynomials_through_samples_are_exact() {
    let mut traces = Traces::new(1);
    let cubic = |t: f64| 1.0 + t * (2.0 + t * (-1.0 + 0.5 * t));
    for t in [0.0, 0.5, 0.75, 2.0, 2.5] {
        traces.open(time(t));
        traces.put(0, &[cubic(t)], &[]);
        traces.commit();
    }
    let trace = traces.trace(0);
    for t in [1.0, 2.25, 4.0] {
        assert!((trace.polynomial_at(0, 4, t) - cubic(t)).abs() < 1e-13);
        assert!((trace.polynomial_at(1, 4, t) - cubic(t)).abs() < 1e-13);
    }
    assert_eq!(trace.polynomial_at(1, 1, 9.0), cubic(2.0));
    // A line through the two samples before the newest.
    let slope = (cubic(2.0) - cubic(0.75)) / 1.25;
    assert!((trace.polynomial_at(1, 2, 3.0) - (cubic(2.0) + slope)).abs() < 1e-13);
}

#[test]
fn what_is_saved_is_loaded() {
    let mut traces = counted(DEPTH + 1);
    traces.jump(&[8.0, 1.0, 208.0], &[], |_| false);
    let mut saved = Vec::new();
    traces.save(&mut saved);
    let mut loaded = Traces::new(3);
    loaded.load(&mut saved.iter().copied()).unwrap();
    for output in 0..3 {
        let (was, is) = (traces.trace(output), loaded.trace(output));
        assert_eq!(was.len(), is.len());
        assert!((0..was.len()).all(|k| was.back(k) == is.back(k)));
    }
    assert!(Traces::new(3).load(&mut saved[1..].iter().copied()).is_none());
    assert!(Traces::new(3).load(&mut [0.0].into_iter().chain(saved[1..].iter().copied())).is_none());
    assert!(Traces::new(3).load(&mut [1.0].into_iter().chain(saved[1..].iter().copied())).is_some());
}
