//! Step sizes over time, as certificates have them.

use cosimo::certificate::Steps;

#[test]
fn short_runs_are_told_step_by_step() {
    let mut steps = Steps::default();
    steps.observe(0.1, 0.1, 0.5, 0);
    steps.observe(0.3, 0.2, 0.7, 2);
    let history = steps.history();
    assert_eq!(history.steps_per_row, 1);
    assert_eq!(history.until, [0.1, 0.3]);
    assert_eq!(history.rejected, [0, 2]);
    assert_eq!(steps.sizes(), (Some(0.1), Some(0.2)));
    assert_eq!(Steps::default().sizes(), (None, None));
}

#[test]
fn no_extreme_of_a_long_run_is_lost() {
    let mut steps = Steps::default();
    for n in 1..=1_000_000_u64 {
        let size = if n == 777_777 { 1e-9 } else { 1e-3 };
        let indicator = if n == 123_457 { 40.0 } else { 1.0 };
        steps.observe(n as f64, size, indicator, n / 10);
    }
    let history = steps.history();
    assert!(history.until.len() <= 256 && history.until.len() >= 128);
    assert_eq!(history.rejected.iter().sum::<u64>(), 100_000);
    assert_eq!(steps.sizes(), (Some(1e-9), Some(1e-3)));
    assert_eq!(history.worst_indicator.iter().filter(|indicator| **indicator == 40.0).count(), 1);
    assert_eq!(history.until.last(), Some(&1e6));
}
