//! Ends of lines: arriving waves, repaid charge, and growing delays.

use cosimo_core::line::{LineEnd, Repay, Stamp, StampInterpolation, StampTable};
use cosimo_core::stretch::Stretch;

fn table(between: StampInterpolation, values: impl Fn(f64) -> (f64, f64), times: &[f64]) -> StampTable {
    let (effort, flow) = values(times[0]);
    let mut table = StampTable::new(Stamp { t: times[0], effort, flow, ..Stamp::default() }, between);
    for t in &times[1..] {
        let (effort, flow) = values(*t);
        table.publish(*t, effort, flow);
    }
    table
}

fn end<'a>(table: &'a StampTable, own: &'a StampTable) -> LineEnd<'a> {
    LineEnd {
        effort: 0,
        flow: 0,
        sign: -1.0,
        scale: 10.0,
        table,
        own,
        delay: 0.5,
        impedance: 2.0,
        from: 3.0,
        repay: Repay::default(),
        most: 1.0,
    }
}

#[test]
fn slopes_are_those_of_a_parabola_through_three_stamps() {
    let mut table = table(StampInterpolation::Hermite, |t| (t * t, 3.0 * t), &[0.0, 0.5]);
    let stamp = table.publish(2.0, 4.0, 6.0);
    assert_eq!((stamp.effort_slope, stamp.flow_slope), (4.0, 3.0));
    // The flow summed up by the trapezoidal rule: the integral of 3 t.
    assert_eq!(stamp.charge, 6.0);
    // Two stamps of one instant are a jump, across which there is no slope.
    let jump = table.publish(2.0, 9.0, 6.0);
    assert_eq!((jump.effort_slope, jump.flow_slope, jump.charge), (0.0, 0.0, 6.0));
    let after = table.publish(3.0, 10.0, 6.0);
    assert_eq!((after.effort_slope, after.flow_slope), (1.0, 0.0));
}

#[test]
fn cubics_between_stamps_have_their_values_and_slopes() {
    let mut table = StampTable::empty(StampInterpolation::Hermite);
    assert!(table.is_empty());
    // 1 + t + t^2 - t^3 and its derivative at 0 and 2.
    let cubic = |t: f64| 1.0 + t * (1.0 + t * (1.0 - t));
    let stamp = |t: f64| Stamp {
        t,
        effort: cubic(t),
        effort_slope: 1.0 + t * (2.0 - 3.0 * t),
        flow: -cubic(t),
        flow_slope: -(1.0 + t * (2.0 - 3.0 * t)),
        charge: 0.0,
    };
    table.receive(&[stamp(0.0), stamp(2.0)]);
    for t in [0.25, 1.0, 1.5] {
        let (effort, flow, _) = table.at(t);
        assert!((effort - cubic(t)).abs() < 1e-14 && (flow + cubic(t)).abs() < 1e-14);
    }
    let mut again = StampTable::empty(StampInterpolation::Hermite);
    again.restore(table.stamps(), 3);
    assert_eq!((again.at(1.5), again.beyond()), (table.at(1.5), 3));
}

#[test]
fn charge_that_was_lost_is_given_back_over_time() {
    let other = table(StampInterpolation::Linear, |_| (4.0, 1.0), &[0.0, 1.0, 2.0, 3.0]);
    let own = table(StampInterpolation::Linear, |_| (2.0, 0.5), &[0.0, 1.0, 2.0, 3.0]);
    let plain = end(&other, &own);
    assert_eq!(plain.wave(2.5), 4.0 + 2.0 * 1.0);
    let repaying = LineEnd { repay: Repay { within: 5.0, capacity: 0.25 }, ..plain };
    // At 2: both flows have stored 2 + 1, of which the line holds 0.25 * 3.
    let lost = 3.0 - 0.75;
    assert_eq!(repaying.wave(2.5), 6.0 + 0.5 / 5.0 * lost / 0.25);
    assert_eq!(plain.effort(2.5, 3.0), 10.0 * (6.0 - 2.0 * 3.0));
    let stretched = plain.stretched(3.0);
    assert_eq!((stretched.delay, stretched.impedance), (1.5, 6.0));
}

#[test]
fn stamps_are_forgotten_where_that_is_worth_moving_the_rest() {
    let filled = |count: u32| {
        table(StampInterpolation::Linear, |t| (t, t), &(0..count).map(f64::from).collect::<Vec<_>>())
    };
    // More than half of them, but too few; many, but less than half of them; both.
    for (count, before, left) in [(66, 64.0, 66), (400, 150.0, 400), (400, 250.0, 150)] {
        let mut table = filled(count);
        table.forget_before(before);
        assert_eq!(table.stamps().len(), left);
        assert_eq!(table.at(before).0, before);
    }
}

#[test]
fn delays_are_given_up_where_steps_stay_shorter_than_the_shortest() {
    let mut stretch = Stretch::new(8.0, 0.0);
    // Without a factor above one, short steps mean nothing.
    for _ in 0..300 {
        assert_eq!(stretch.after(1.0, true, (0.0, 0.1), 1.0, false), 1.0);
    }
    // A step of the shortest delay is no short one.
    for _ in 0..300 {
        assert_eq!(stretch.after(4.0, true, (0.0, 1.0), 1.0, false), 4.0);
    }
    for _ in 0..200 {
        assert_eq!(stretch.after(4.0, true, (0.0, 0.5), 1.0, false), 4.0);
    }
    assert!(!stretch.is_useless());
    let mut copy = Stretch::new(8.0, 0.0);
    copy.set_numbers(stretch.numbers());
    assert_eq!(copy, stretch);
    assert_eq!(stretch.after(4.0, true, (0.0, 0.5), 1.0, false), 1.0);
    assert!(stretch.is_useless() && stretch.after(1.0, true, (9.0, 1.0), 1.0, true) == 1.0);
    // A movement starts the count again.
    for _ in 0..200 {
        copy.after(4.0, false, (0.0, 0.5), 1.0, false);
        copy.after(4.0, true, (0.0, 0.5), 1.0, false);
    }
    assert!(!copy.is_useless());
}

#[test]
fn delays_grow_after_a_rest_and_shrink_at_once() {
    let mut stretch = Stretch::new(6.0, 0.5);
    assert_eq!(stretch.after(4.0, false, (1.0, 1.0), 1.0, true), 2.0);
    assert_eq!(stretch.after(2.0, true, (1.25, 1.0), 1.0, true), 2.0);
    assert_eq!(stretch.after(2.0, true, (1.5, 1.0), 1.0, true), 4.0);
    assert_eq!(stretch.after(4.0, true, (1.5, 1.0), 1.0, false), 4.0);
    assert_eq!(stretch.after(4.0, true, (1.5, 1.0), 1.0, true), 6.0);
    assert_eq!((Stretch::shorter(1.5), Stretch::shorter(1.0), Stretch::shorter(0.5)), (1.0, 1.0, 0.5));
}
