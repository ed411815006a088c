use crate::{time, window};
use cosimo_core::clock::{Clock, Limit, OutputGrid, StallDetector, fits, has_reached_end, part, parts};

#[test]
fn windows_of_one_size_are_multiples_of_it_from_where_the_size_began() {
    let mut clock = Clock::starting_at(time(1.0));
    for n in 1..=10 {
        let next = clock.window(0.1, Limit::None);
        assert_eq!((next.size, next.to), (0.1, time(1.0 + f64::from(n) * 0.1)));
        clock.accept(next);
    }
    let anchor = clock.now().seconds();
    for n in 1..=3 {
        clock.accept(clock.window(0.3, Limit::None));
        assert_eq!(clock.now(), time(anchor + f64::from(n) * 0.3));
    }
    let loaded = Clock::load(clock.save()).unwrap();
    assert_eq!(loaded.window(0.3, Limit::None), clock.window(0.3, Limit::None));
}

#[test]
fn a_limit_cuts_what_is_beyond_it_and_takes_up_what_is_beside_it() {
    let clock = Clock::starting_at(time(1.0));
    let cut = clock.window(0.5, Limit::At(time(1.25)));
    assert_eq!((cut.to, cut.size), (time(1.25), 0.25));
    let beside = clock.window(0.5, Limit::At(time(1.5 + 1e-10)));
    assert_eq!((beside.to, beside.size), (time(1.5 + 1e-10), 0.5));
    let before = clock.window(0.5, Limit::At(time(1.5 - 1e-10)));
    assert_eq!((before.to, before.size), (time(1.5 - 1e-10), 0.5));
    let free = clock.window(0.5, Limit::At(time(1.6)));
    assert_eq!((free.to, free.size), (time(1.5), 0.5));
    assert_eq!(Limit::None.and(time(2.0)).and(time(1.0)).and(time(3.0)), Limit::At(time(1.0)));
}

#[test]
fn multi_rate_steps_replace_windows_that_are_shorter() {
    let clock = Clock::starting_at(time(1.0));
    let macro_step = window(1.0, 0.25);
    assert_eq!(clock.own(0.5, macro_step, 0.25, Limit::None), clock.window(0.5, Limit::None));
    assert_eq!(clock.own(0.5, macro_step, 0.5, Limit::None), macro_step);
    assert_eq!(clock.own(0.5, macro_step, 0.5 - 1e-12, Limit::None), macro_step);
    assert_eq!(clock.own(0.5, macro_step, 0.25, Limit::At(time(1.3))).to, time(1.3));
}

#[test]
fn equal_steps_end_at_the_stop_or_do_not() {
    assert!(Clock::divides(0.1, time(0.5), time(1.5)));
    assert!(!Clock::divides(0.3, time(0.5), time(1.5)));
    assert!(Clock::divides(0.1 + 1e-12, time(0.0), time(1.0)));
    assert!(!Clock::divides(0.1 + 1e-9, time(0.0), time(1.0)));
}

#[test]
fn an_end_is_reached_up_to_rounding() {
    let mut clock = Clock::starting_at(time(0.0));
    clock.accept(clock.window(0.5, Limit::None));
    assert!(clock.reached(time(0.5)) && clock.reached(time(0.5 + 1e-10)) && clock.reached(time(0.4)));
    assert!(!clock.reached(time(0.5 + 1e-8)));
    let step = window(1.0, 0.5);
    assert!(
        has_reached_end(time(1.5), step)
            && has_reached_end(time(1.5 - 1e-10), step)
            && !has_reached_end(time(1.5 - 1e-8), step)
    );
}

#[test]
fn a_window_is_made_of_equal_parts() {
    let whole = window(1.0, 1.0);
    assert_eq!(parts(whole, 0.25), (4, 0.25));
    assert_eq!(parts(whole, 0.3), (4, 0.25));
    assert_eq!(parts(whole, 2.0), (1, 1.0));
    // A size that fits up to rounding is taken as it was given.
    assert_eq!(parts(whole, 0.25 + 1e-12), (4, 0.25 + 1e-12));
    assert_eq!(parts(whole, 0.25 - 1e-12), (4, 0.25 - 1e-12));
    // Up to rounding is a part of the size.
    assert_eq!(parts(window(0.0, 400.0), 100.0 - 5e-8), (4, 100.0 - 5e-8));
    assert_eq!(parts(window(0.0, 10.0), 2.5 + 1e-8), (4, 2.5));
    let found = parts(whole, 0.25);
    for index in 0..4 {
        let part = part(whole, found, index);
        assert_eq!((part.from, part.size), (time(1.0 + 0.25 * index as f64), 0.25));
        assert_eq!(part.to, time(1.25 + 0.25 * index as f64));
    }
    // The last part ends where the window ends, whatever rounding made of the sizes.
    let odd = part(whole, (3, 0.333), 2);
    assert_eq!((odd.from, odd.to), (time(1.0 + 2.0 * 0.333), whole.to));
    assert_eq!(part(whole, (1, 0.5), 0), whole);
}

#[test]
fn sizes_fit_where_one_is_a_multiple_of_the_other() {
    assert!(fits(0.1, 0.3) && fits(0.3, 0.1) && fits(2.0, 2.0));
    assert!(fits(1.0, 1000.0 + 5e-7));
    assert!(!fits(0.1, 0.35) && !fits(0.2, 0.3) && !fits(1.0, 10.0 + 1e-7));
}

#[test]
fn a_stall_is_detected_after_many_short_steps_in_a_row() {
    let mut detector = StallDetector::between(1.0, 3.0);
    assert_eq!(detector.shortest(), 2e-12);
    for _ in 1..StallDetector::MOST {
        assert!(!detector.is_stalled(1e-12));
    }
    assert!(detector.is_stalled(1e-12));
    assert!(!detector.is_stalled(2e-12) && !detector.is_stalled(1e-12));
    assert_eq!(StallDetector::between(1.0, f64::INFINITY).shortest(), 0.0);
}

#[test]
fn a_grid_is_due_once_for_all_instants_that_passed() {
    let mut grid = OutputGrid::new(time(1.0), 0.5);
    let mut clock = Clock::starting_at(time(1.0));
    assert!(grid.is_due(&clock) && !grid.is_due(&clock));
    clock.accept(clock.window(0.25, Limit::None));
    assert!(!grid.is_due(&clock));
    clock.accept(clock.window(1.5, Limit::None));
    // 1.5, 2.0 and 2.5 have passed.
    assert!(grid.is_due(&clock) && !grid.is_due(&clock));
    assert_eq!((grid.count(), grid.after(9).count()), (4, 9));
}

/// Rounding is a part of the size of a step, whether it is a day or a microsecond.
#[test]
fn what_is_beside_an_instant_depends_on_the_size_of_steps() {
    for (size, beside, apart) in [(100.0, 5e-8, 5e-7), (1e-3, 5e-13, 5e-12)] {
        let clock = Clock::starting_at(time(0.0));
        for sign in [-1.0, 1.0] {
            let near = clock.window(size, Limit::At(time(size + sign * beside)));
            assert_eq!((near.to, near.size), (time(size + sign * beside), size));
        }
        let before = clock.window(size, Limit::At(time(size - apart)));
        assert_eq!((before.to, before.size), (time(size - apart), size - apart));
        let after = clock.window(size, Limit::At(time(size + apart)));
        assert_eq!((after.to, after.size), (time(size), size));
        let step = window(0.0, size);
        assert!(has_reached_end(time(size - beside), step) && !has_reached_end(time(size - apart), step));
        let told = window(0.0, 0.5 * size);
        assert_eq!(clock.own(size, told, size - beside, Limit::None), told);
        assert_eq!(clock.own(size, told, size - apart, Limit::None).size, size);
        let mut clock = clock;
        clock.accept(step);
        assert!(clock.reached(time(size + beside)) && !clock.reached(time(size + apart)));
    }
}
