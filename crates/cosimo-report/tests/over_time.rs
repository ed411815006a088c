//! Why steps had their size and when they were rejected, over time: nothing is lost where neighbours become one.

use cosimo_engine::Counters;
use cosimo_report::{Reasons, Rejections};

#[test]
fn every_step_and_reason_is_counted_once() {
    for steps in [1, 1023, 1024, 1025, 100_000] {
        let mut kept = Reasons::default();
        // A run that goes on has counted before.
        let mut counters = Counters { steps: 7, at_maximum: 3, ..Counters::default() };
        kept.begin(1.0, &counters);
        for step in 1..=steps {
            counters.steps += 1;
            counters.at_maximum += u64::from(step % 3 == 0);
            counters.events += u64::from(step == 900);
            kept.observe(1.0 + step as f64, &counters);
        }
        let groups = kept.groups();
        assert_eq!(groups.iter().map(|group| group.steps).sum::<u64>(), steps);
        assert_eq!(groups.iter().map(|group| group.counts[2]).sum::<u64>(), steps / 3);
        assert_eq!(groups.iter().map(|group| group.counts[5]).sum::<u64>(), u64::from(steps >= 900));
        assert!(groups.len() <= 1024, "{steps}");
        assert_eq!((groups[0].from, groups[groups.len() - 1].to), (1.0, 1.0 + steps as f64));
        assert!(groups.windows(2).all(|pair| pair[0].to == pair[1].from && pair[0].from < pair[0].to));
    }
}

#[test]
fn only_steps_with_rejections_are_marked() {
    let mut rejections = Rejections::default();
    for (time, count) in [(0.1, 0), (0.2, 2), (0.3, 2), (0.4, 3)] {
        rejections.observe(time, count);
    }
    assert_eq!(rejections.marks(), [(0.2, 2), (0.4, 1)]);
}

#[test]
fn none_is_lost_when_there_are_many() {
    let mut rejections = Rejections::default();
    for step in 1..=1_000_000_u64 {
        rejections.observe(step as f64, 3 * step);
    }
    assert!(rejections.marks().len() <= 2048 && rejections.marks().len() >= 1024);
    assert_eq!(rejections.marks().iter().map(|mark| mark.1).sum::<u64>(), 3_000_000);
    assert!(rejections.marks().windows(2).all(|pair| pair[0].0 < pair[1].0));
}
