//! What an end publishes, stores and allows, by closed forms.
#![allow(clippy::unwrap_used)] // helpers of tests are tests
#![allow(clippy::disallowed_methods, reason = "what tests expect may come from the C library")]

use super::*;

/// Still while the flow is zero; looks back on one second.
#[derive(Debug)]
struct Zero;

impl Steadiness for Zero {
    fn memory(&self) -> usize {
        1
    }
    fn start(&self, _: &Stamp, memory: &mut [f64]) {
        memory.fill(0.0);
    }
    fn steady(&self, _: &[Stamp], new: &Stamp, memory: &mut [f64]) -> bool {
        memory[0] += 1.0;
        new.flow == 0.0
    }
    fn window(&self) -> f64 {
        1.0
    }
}

const SIDE: LineSide = LineSide { effort: 0, flow: 0, sign: -2.0, scale: 0.5 };

fn end_of(decl: &LineDecl, law: bool, owner: Option<usize>) -> EndState {
    let steady = law.then(|| Box::new(Zero) as Box<dyn Steadiness>);
    let mut end = EndState::new((0, 0), (0, 0, 0), &SIDE, decl, 3.0, steady, owner);
    end.begin(0.0, 0.0);
    end
}

fn stamp(t: f64, effort: f64, flow: f64) -> Stamp {
    Stamp { t, effort, flow, ..Stamp::default() }
}

#[test]
fn energy_is_what_enters_by_trapezoids() {
    let mut end = end_of(&LineDecl::of(0.5, 4.0), false, None);
    end.publish(stamp(1.0, 2.0, 5.0)); // from 3 * 0 to 2 * 5
    end.publish(stamp(3.0, 2.0, -8.0)); // from 10 to -16, over two seconds
    assert_eq!((end.stats.energy, end.stats.exchanged), (5.0 - 6.0, 5.0 + 6.0));
    assert_eq!((end.stats.stamps, end.stats.factor_time), (2, 3.0));
    let totals = end.totals(3.0);
    assert_eq!((totals.delay, totals.still, totals.owned, totals.first_flow), (0.5, 0.0, false, 0.0));
    assert_eq!(end.newest_effort(), 1.0);
    let (stamps, notice) = end.send();
    assert_eq!(stamps.iter().map(|stamp| stamp.t).collect::<Vec<_>>(), [0.0, 1.0, 3.0]);
    assert_eq!((notice.factor, notice.shrunk), (1.0, false));
}

#[test]
fn what_is_on_its_way_is_the_square_of_its_wave() {
    // e = 3 + t and f = 2 t: w = 3 + 9 t for Z = 4. Sent within the last half second: from 1.5 to 2.
    let mut end = end_of(&LineDecl::of(0.5, 4.0), false, None);
    for t in [0.75, 1.0, 1.6, 2.0] {
        end.publish(stamp(t, 3.0 + t, 2.0 * t));
    }
    let cube = |t: f64| (3.0 + 9.0 * t).powi(3) / 27.0;
    let wanted = (cube(2.0) - cube(1.5)) / 16.0;
    // At the start it was at rest: 3^2 / 4 Z for half a second.
    let first = 0.5 * 9.0 / 16.0;
    assert!((end.stored(2.0) - (wanted - first)).abs() < 1e-12, "{} {wanted} {first}", end.stored(2.0));
    // The other end reads with a delay of twice that, and an impedance of its own or the mean of both.
    for (impedances, z) in [(Impedances::Own, 8.0), (Impedances::Common, 6.0)] {
        let mut end =
            end_of(&LineDecl { factor: [1.0, 2.0], impedances, ..LineDecl::of(0.5, 4.0) }, false, None);
        for t in [0.75, 1.6, 2.0] {
            end.publish(stamp(t, 3.0 + t, 2.0 * t));
        }
        let slope = 1.0 + 2.0 * z;
        let cube = |t: f64| (3.0 + slope * t).powi(3) / (3.0 * slope);
        let wanted = (cube(2.0) - cube(1.0) - 9.0) / (4.0 * z);
        assert!((end.stored(2.0) - wanted).abs() < 1e-12, "{} {wanted}", end.stored(2.0));
    }
}

#[test]
fn an_impedance_grows_with_its_delay() {
    let decl = LineDecl { factor: [3.0, 2.0], ..LineDecl::of(0.5, 4.0) };
    let end = end_of(&LineDecl { impedances: Impedances::Own, ..decl.clone() }, false, None);
    assert_eq!((end.shortest(), end.delay(), end.impedance()), (0.5, 1.5, 12.0));
    let end = end_of(&LineDecl { impedances: Impedances::Common, ..decl }, false, None);
    assert_eq!((end.delay(), end.impedance()), (1.5, 10.0));
    let view = end.view(7.0);
    assert_eq!((view.delay, view.impedance, view.from, view.most), (1.5, 10.0, 7.0, 1.0));
    assert_eq!((view.sign, view.scale), (-2.0, 0.5));
}

#[test]
fn a_step_may_begin_once_all_is_there_that_it_reads() {
    let mut end = end_of(&LineDecl::of(0.5, 4.0), false, None);
    assert!(!end.ready(0.0, 0.1), "nothing has arrived");
    end.inbox.receive(&[stamp(1.0, 0.0, 0.0)]);
    assert!(end.ready(1.0, 1.5) && end.ready(1.2, 1.5) && !end.ready(1.2, 1.6));
    // Nothing later than its start is read anyway.
    assert!(end.ready(1.0, 9.0) && end.ready(0.5, 9.0));
    let mut owned = end_of(&LineDecl::of(0.5, 4.0), false, Some(1));
    owned.inbox.receive(&[stamp(1.0, 0.0, 0.0)]);
    assert!(owned.ready(1.0, 1.1) && !owned.ready(1.2, 1.3));
}

#[test]
fn a_delay_doubles_while_its_end_stands_still_and_is_taken_back_when_it_moves() {
    let mut end = end_of(&LineDecl::of(0.5, 4.0), true, None);
    assert!(end.may_repeat() && !end.is_still() && !end.is_stretched());
    for (t, factor) in [(0.5, 2.0), (1.5, 4.0), (3.5, 8.0), (7.5, 8.0)] {
        let still = stamp(t, 3.0, 0.0);
        assert!(!end.judge(&still) && end.is_still());
        end.publish(still);
        assert_eq!((end.factor, end.longest(t)), (factor, factor * 0.5));
    }
    assert_eq!((end.stats.grown, end.stats.largest, end.stats.still), (3, 8.0, 7.5));
    assert_eq!(end.stats.factor_time, 0.5 + 2.0 + 4.0 * 2.0 + 8.0 * 4.0);
    assert!(end.is_stretched());
    let moves = stamp(8.0, 3.0, 1.0);
    assert!(end.judge(&moves) && !end.is_still());
    end.shorten_after_rollback();
    assert_eq!((end.factor, end.stats.taken_back, end.stats.shrunk), (4.0, 1, 1));
    let (_, notice) = end.send();
    assert!(notice.shrunk && notice.factor == 4.0);
    assert!(!end.send().1.shrunk, "said once");
    let totals = end.totals(8.5);
    assert_eq!((totals.still, totals.delay), (7.5 / 8.5, 0.5 * (42.5 / 8.5)));
}

#[test]
fn an_announced_event_keeps_delays_short_for_a_while() {
    let mut end = end_of(&LineDecl::of(0.5, 4.0), true, None);
    let still = |end: &mut EndState, t: f64| {
        let stamp = stamp(t, 3.0, 0.0);
        assert!(!end.judge(&stamp));
        end.publish(stamp);
        end.factor
    };
    assert_eq!(still(&mut end, 0.5), 2.0);
    end.arrive(&mut vec![stamp(0.0, 3.0, 0.0)], Notice { factor: 1.0, shrunk: false, event: Some(1.5) });
    end.receive(0.5);
    assert_eq!((end.limit(0.5), end.limit(1.5)), (Some(1.5), None));
    assert_eq!(still(&mut end, 1.0), 4.0);
    assert_eq!(still(&mut end, 1.5), 1.0, "the event is there");
    assert_eq!(end.limit(0.5), None);
    assert_eq!((still(&mut end, 2.0), still(&mut end, 2.4)), (1.0, 1.0));
    assert_eq!(still(&mut end, 2.5), 2.0, "a window of the test later");
    // One that has passed is none.
    end.arrive(&mut Vec::new(), Notice { factor: 1.0, shrunk: false, event: Some(2.5) });
    end.receive(2.5);
    assert_eq!(end.limit(0.0), None);
}

#[test]
fn an_end_follows_the_other_one_that_shrinks() {
    let grown = |decl: LineDecl| {
        let mut end = end_of(&decl, true, None);
        for t in [0.5, 1.5, 3.5] {
            let still = stamp(t, 3.0, 0.0);
            end.judge(&still);
            end.publish(still);
        }
        assert_eq!(end.factor, 8.0);
        end
    };
    let shrinks = Notice { factor: 2.0, shrunk: true, event: None };
    let mut end = grown(LineDecl::of(0.5, 4.0));
    end.arrive(&mut Vec::new(), shrinks);
    end.receive(4.0);
    assert_eq!((end.factor, end.other), (2.0, 2.0));
    assert!(!end.send().1.shrunk, "what was heard is not said back");
    let mut apart = grown(LineDecl { linked: false, ..LineDecl::of(0.5, 4.0) });
    apart.arrive(&mut Vec::new(), shrinks);
    apart.receive(4.0);
    assert_eq!((apart.factor, apart.other), (8.0, 2.0));
    let mut told = grown(LineDecl::of(0.5, 4.0));
    told.arrive(&mut Vec::new(), Notice { shrunk: false, ..shrinks });
    told.receive(4.0);
    assert_eq!(told.factor, 8.0);
}

#[test]
fn a_simulator_that_owns_its_delay_keeps_to_what_is_allowed() {
    let mut end = end_of(&LineDecl::of(0.5, 4.0), true, Some(3));
    assert!(!end.may_repeat() && !end.judge(&stamp(0.5, 3.0, 1.0)) && !end.is_stretched());
    assert_eq!((end.view(0.0).most, end.longest(0.0)), (8.0, 4.0));
    assert_eq!((end.view(0.0).delay, end.view(0.0).impedance), (0.5, 4.0));
    assert!(end.follow(0.0, 0.5).is_err() && end.follow(0.0, 8.5).is_err());
    end.follow(0.0, 8.0).unwrap();
    assert!(!end.is_stretched(), "not by the engine");
    assert_eq!((end.stats.grown, end.stats.shrunk, end.stats.largest), (1, 0, 8.0));
    end.follow(0.0, 8.0).unwrap();
    assert_eq!((end.stats.grown, end.stats.shrunk), (1, 0));
    assert!(!end.send().1.shrunk);
    end.publish(stamp(0.5, 3.0, 0.0));
    assert!(end.is_still() && end.stats.still == 0.5);
    // It hears that the other one shrank, and need not say it back.
    end.arrive(&mut Vec::new(), Notice { factor: 4.0, shrunk: true, event: None });
    end.receive(0.5);
    assert_eq!(end.view(0.5).most, 4.0);
    end.follow(0.5, 4.0).unwrap();
    assert!(!end.send().1.shrunk && end.stats.shrunk == 1);
    end.follow(0.5, 2.0).unwrap();
    assert!(end.send().1.shrunk);
    end.follow(0.5, 1.0).unwrap();
    end.publish(stamp(1.0, 3.0, 0.0));
    assert!(!end.is_still() && end.stats.still == 0.5);
    assert_eq!(end.view(1.0).most, 8.0, "what was heard holds for a step");
    assert!(end.totals(1.0).owned);
}

#[test]
fn a_sample_is_the_effort_and_the_flow_in_si_units() {
    let mut end = end_of(&LineDecl::of(0.5, 4.0), false, None);
    end.inbox.receive(&[stamp(0.0, 6.0, 0.5)]);
    // c = 6 + 4 * 0.5, f = -2 * 0.25: e = 8 - 4 * 0.5.
    let sample = end.sample(0.0, 0.5, 0.25);
    assert_eq!((sample.t, sample.effort, sample.flow), (0.5, 6.0, -0.5));
}
