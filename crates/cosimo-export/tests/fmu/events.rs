//! Events of model exchange as an importer lives through them, and faults in them.

use std::ptr::null_mut;

use cosimo_models::{BouncingBall, Thermostat, lagging};
use cosimo_test_fmus::{Design, SABOTEUR, Variant, Version};

use crate::load::{Fmu, folder};

const BALL: BouncingBall =
    BouncingBall { height: 1.0, velocity: 0.0, restitution: 0.7, gravity: 9.81, rest: 0.01 };

/// A ball flies along a parabola, which an importer can follow without error from what the FMU tells it.
fn fly(fmu: &Fmu, from: f64, to: f64) {
    let (x, dx) = (fmu.states(2).unwrap(), fmu.derivatives(2).unwrap());
    let h = to - from;
    assert_eq!(fmu.set_time(to), 0, "{}", fmu.last_log());
    let x = [x[0] + h * dx[0] + h * h / 2.0 * dx[1], x[1] + h * dx[1]];
    assert_eq!(fmu.set_states(&x), 0);
}

#[test]
fn the_ball_bounces_at_the_roots_of_its_indicator_and_comes_to_rest() {
    for version in Version::ALL {
        for (variant, rounds) in [(Variant::Plain, 1), (Variant::Iterates, 3)] {
            let fmu = Fmu::of(&Design::exchange("native:bouncing-ball", version).variant(variant));
            fmu.start();
            assert!(!fmu.settle().states_changed);
            let (mut t, bounces) = (0.0, BALL.bounces());
            for (place, wanted) in bounces.iter().enumerate() {
                // Where the parabola from here meets the ground.
                let (x, g) = (fmu.states(2).unwrap(), 9.81);
                let instant = t + (x[1] + (x[1] * x[1] + 2.0 * g * x[0]).sqrt()) / g;
                assert!((instant - wanted).abs() < 1e-10, "{instant} {wanted}");
                // Just before the root nothing happens.
                fly(&fmu, t, instant - 1e-6);
                assert!(fmu.indicators(1).unwrap()[0] > 0.0 && fmu.get("height") > 0.0);
                assert_eq!(fmu.enter_event(), 0);
                assert!(!fmu.settle().states_changed);
                fly(&fmu, instant - 1e-6, instant + 1e-12);
                assert!(fmu.indicators(1).unwrap()[0] < 0.0, "{place}");
                assert_eq!(fmu.enter_event(), 0);
                let falling = fmu.get("velocity");
                let update = fmu.settle();
                assert_eq!((update.states_changed, update.rounds, update.next), (true, rounds, None));
                assert!(fmu.indicators(1).unwrap()[0] > 0.0);
                assert_eq!(fmu.get_count("bounces"), place as i32 + 1);
                let last = place + 1 == bounces.len();
                assert_eq!(fmu.get_enumeration("phase"), if last { 2 } else { 1 });
                let wanted = if last { 0.0 } else { -0.7 * falling };
                assert!((fmu.get("velocity") - wanted).abs() < 1e-12);
                t = instant + 1e-12;
            }
            fly(&fmu, t, t + 5.0);
            assert_eq!((fmu.get("height"), fmu.get("velocity")), (0.0, 0.0));
            assert_eq!(fmu.derivatives(2), Ok(vec![0.0, 0.0]));
        }
    }
}

/// A jump of an input is an event of the importer, and what follows begins anew.
#[test]
fn an_input_that_jumps_is_felt_at_once() {
    for version in Version::ALL {
        let fmu = Fmu::of(&Design::exchange("native:driven", version));
        fmu.start_continuous();
        let (lag, x) = (0.8, lagging(1.5, 0.5, 2.0, 0.8));
        assert_eq!((fmu.set_time(1.5), fmu.set_states(&[x])), (0, 0));
        assert_eq!((fmu.get("e"), fmu.derivatives(1)), (2.0 - x, Ok(vec![(2.0 - x) / lag])));
        assert_eq!(fmu.enter_event(), 0);
        fmu.set("u", -3.0);
        assert_eq!(fmu.get("e"), -3.0 - x);
        assert!(!fmu.settle().states_changed);
        assert_eq!((fmu.states(1), fmu.derivatives(1)), (Ok(vec![x]), Ok(vec![(-3.0 - x) / lag])));
    }
}

/// The change comes in the second of three rounds, and only that round tells of it.
#[test]
fn rounds_of_an_event_each_say_what_they_did() {
    for version in Version::ALL {
        let fmu = Fmu::of(&Design::exchange("native:bouncing-ball", version).variant(Variant::Iterates));
        fmu.start_continuous();
        fly(&fmu, 0.0, BALL.bounces()[0] + 1e-12);
        assert_eq!(fmu.enter_event(), 0);
        let rounds: Vec<_> = (0..3).map(|_| fmu.update().unwrap()).collect();
        let told: Vec<_> = rounds.iter().map(|update| (update.needed, update.states_changed)).collect();
        assert_eq!(told, [(true, false), (true, true), (false, false)]);
    }
}

/// The state is the variable to set the start of.
#[test]
fn a_state_that_is_its_own_start_value_is_set_before_the_start_only() {
    for version in Version::ALL {
        let fmu = Fmu::of(&Design::exchange("native:bouncing-ball", version));
        fmu.set("height", 5.0);
        assert_eq!(fmu.try_set("height", -1.0), 3);
        assert_eq!(fmu.enter(0.0, None), 0);
        fmu.set("velocity", -2.0);
        assert_eq!((fmu.get("height"), fmu.get("velocity"), fmu.get("der(height)")), (5.0, -2.0, -2.0));
        assert_eq!(fmu.states(2), Ok(vec![5.0, -2.0]));
        assert_eq!(fmu.exit(), 0);
        assert_eq!(fmu.try_set("height", 1.0), 3);
        assert!(
            fmu.last_log().ends_with("the start of `height` is fixed and cannot be set in event mode"),
            "{}",
            fmu.last_log()
        );
        fmu.settle();
        fmu.set("height", 3.0);
        assert_eq!(fmu.states(2), Ok(vec![3.0, -2.0]), "in continuous-time mode it is the state");
        // States that follow from parameters are never set by name.
        let other = Fmu::of(&Design::exchange("native:van-der-pol", version));
        assert_eq!(other.try_set("x", 1.0), 3);
        assert!(
            other.last_log().ends_with("`x` cannot be set before initialisation"),
            "{}",
            other.last_log()
        );
        other.set("x0", 0.5);
        other.start();
        assert_eq!(other.get("x"), 0.5);
    }
}

#[test]
fn the_thermostat_switches_where_its_closed_form_does() {
    let room = Thermostat {
        capacity: 1000.0,
        conductance: 10.0,
        power: 300.0,
        low: 293.15,
        high: 295.15,
        start: 288.15,
    };
    for version in Version::ALL {
        let fmu = Fmu::of(&Design::exchange("native:thermostat", version));
        fmu.start_continuous();
        let mut switches = 0;
        for step in 1..3000 {
            let t = 0.1 * f64::from(step);
            let (temperature, on) = room.at(t, 283.15);
            assert_eq!((fmu.set_time(t), fmu.set_states(&[temperature])), (0, 0));
            if on != fmu.get_flag("heating") {
                // The true path has turned back inside this step; at the turn it was at the limit.
                let limit = if on { room.low } else { room.high };
                assert_eq!(fmu.set_states(&[limit]), 0);
                assert!(fmu.indicators(1).unwrap()[0] <= 0.0);
                assert_eq!(fmu.enter_event(), 0);
                assert!(!fmu.settle().states_changed);
                assert_eq!(fmu.get_flag("heating"), on);
                switches += 1;
            }
            assert!(fmu.indicators(1).unwrap()[0] > 0.0);
        }
        assert!(switches > 8);
        assert_eq!(fmu.try_get("heating"), Err(3), "a boolean is no real number");
        fmu.set("ambient", 300.0);
        assert!(fmu.get("q") < 0.0);
    }
}

#[test]
fn the_stair_announces_its_events_and_may_ask_for_the_end() {
    for version in Version::ALL {
        let fmu = Fmu::of(&Design::exchange("native:stair", version));
        assert_eq!(fmu.set_count("top", 3), 0);
        fmu.set("period", 0.1);
        fmu.start();
        assert_eq!(fmu.states(0), Ok(vec![]));
        for level in 0..3 {
            assert_eq!(fmu.settle().next, Some(f64::from(level + 1) * 0.1));
            assert_eq!(fmu.set_time(f64::from(level + 1) * 0.1), 0);
            assert_eq!((fmu.get_count("level"), fmu.enter_event()), (level, 0), "before and after");
        }
        let update = fmu.update().unwrap();
        assert_eq!((update.terminate, fmu.get_count("level")), (true, 3));
        assert_eq!(fmu.enter_continuous(), 3);
        assert!(
            fmu.last_log().ends_with("the model requested the end of the simulation"),
            "{}",
            fmu.last_log()
        );
        assert_eq!(fmu.terminate(), 0);
        assert!((fmu.get("height") - 0.6).abs() < 1e-15);
    }
}

#[test]
fn the_spy_remarks_steps_over_announced_events() {
    for version in Version::ALL {
        let folder = folder("late");
        let fmu = Fmu::of(&Design::exchange("native:stair", version).spying());
        assert_eq!(fmu.set_text("spy_file", folder.to_str().unwrap()), 0);
        fmu.start_continuous();
        // Looking beyond an event is no mistake, as solvers do that; accepting a step beyond it is.
        assert_eq!((fmu.set_time(1.2), fmu.set_time(1.0), fmu.completed(false)), (0, 0, Ok((false, false))));
        assert_eq!((fmu.set_time(1.2), fmu.completed(false)), (0, Ok((false, false))));
        drop(fmu);
        let found = std::fs::read_to_string(folder.join("unit.txt")).unwrap();
        let warnings: Vec<&str> = found.lines().filter(|line| line.contains("warning")).collect();
        assert_eq!(warnings, ["unit warning: t = 1.2 lies behind the time event at 1"]);
        std::fs::remove_dir_all(folder).unwrap();
    }
}

fn saboteur(version: Version, fault: &str, at: i32) -> Fmu {
    let fmu = Fmu::of(&Design::exchange(SABOTEUR, version));
    assert_eq!((fmu.set_text("fault", fault), fmu.set_count("at_step", at)), (0, 0));
    fmu
}

#[test]
fn the_saboteur_of_model_exchange_does_what_it_is_told() {
    for version in Version::ALL {
        let second = |fault: &str| {
            let fmu = saboteur(version, fault, 2);
            fmu.start_continuous();
            assert_eq!(fmu.derivatives(1), Ok(vec![1.0]));
            fmu
        };
        let fmu = second("nan");
        assert!(fmu.derivatives(1).unwrap()[0].is_nan() && fmu.get("y").is_nan());

        let fmu = second("discard");
        assert_eq!((fmu.derivatives(1), fmu.derivatives(1)), (Err(2), Ok(vec![1.0])), "try again");
        assert!(fmu.last_log().ends_with("told to discard these derivatives"), "{}", fmu.last_log());

        let fmu = second("warning");
        assert_eq!((fmu.derivatives(1), fmu.derivatives(1)), (Err(1), Ok(vec![1.0])));

        let fmu = second("error");
        let mut state = null_mut();
        assert_eq!(fmu.get_state(&mut state), 0);
        assert_eq!((fmu.derivatives(1), fmu.set_time(0.1)), (Err(3), 3));
        assert_eq!((fmu.set_state(state), fmu.set_time(0.1)), (0, 0), "an earlier state brings it back");

        let fmu = second("fatal");
        assert_eq!((fmu.derivatives(1), fmu.reset()), (Err(4), 3));
        let fmu = second("panic");
        assert_eq!(fmu.derivatives(1), Err(4));

        let fmu = second("forget");
        let mut state = null_mut();
        assert_eq!((fmu.get_state(&mut state), fmu.set_states(&[7.0])), (0, 0));
        assert!(fmu.derivatives(1).is_ok());
        assert_eq!((fmu.set_state(state), fmu.states(1)), (0, Ok(vec![7.0])), "it lies");

        let event = |fault: &str| {
            let fmu = saboteur(version, fault, 2);
            fmu.start();
            assert_eq!(fmu.settle().next, Some(1.0));
            assert_eq!((fmu.set_time(1.0), fmu.set_states(&[1.0]), fmu.enter_event()), (0, 0, 0));
            fmu
        };
        let fmu = event("none");
        assert_eq!(fmu.settle().next, Some(2.0));

        let fmu = event("unsettled");
        assert!((0..1000).all(|_| fmu.update().unwrap().needed));
        assert_eq!(fmu.enter_continuous(), 3);

        let fmu = event("past-event");
        assert_eq!(fmu.settle().next, Some(0.0));

        let fmu = event("silent-jump");
        assert!(!fmu.settle().states_changed);
        assert_eq!(fmu.states(1), Ok(vec![2.0]));

        let fmu = saboteur(version, "indicators", 1);
        if version == Version::Three {
            assert_eq!(fmu.counts(), Ok((1, 2)), "one was declared");
        }
        fmu.start_continuous();
        assert_eq!((fmu.indicators(1), fmu.indicators(2).is_ok()), (Err(3), true));
    }
}

/// Whatever the order, every call is answered, and a reset makes the instance as good as new.
#[test]
fn random_calls_never_break_an_instance() {
    for version in Version::ALL {
        for variant in [Variant::Plain, Variant::Iterates, Variant::StepEvents, Variant::NoRollback] {
            let design = Design::exchange("native:bouncing-ball", version).variant(variant);
            let fmu = Fmu::of(&design);
            let mut seed = 1u64;
            let mut states = [null_mut(); 3];
            let mut random = |below: u64| {
                seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                (seed >> 33) % below
            };
            let status = |answer: Result<(), i32>| answer.err().unwrap_or(0);
            let mut accepted = 0;
            for _ in 0..6000 {
                let state = random(3) as usize;
                let time = fmu.try_get("time").unwrap_or(0.0);
                let status = match random(20) {
                    0 => fmu.enter(0.0, None),
                    1 => fmu.exit(),
                    2 if random(8) == 0 => fmu.terminate(),
                    3 if random(8) == 0 => fmu.reset(),
                    4 => fmu.try_set("gravity", 1.0 + random(20) as f64),
                    5 => fmu.try_set("height", random(3) as f64),
                    6 => fmu.get_state(&mut states[state]),
                    7 => fmu.set_state(states[state]),
                    8 if random(4) == 0 => fmu.free_state(&mut states[state]),
                    9 => status(fmu.derivative("der(height)", "velocity").map(drop)),
                    10 => status(fmu.try_get("height").map(drop)),
                    11 => fmu.enter_event(),
                    12 | 13 => status(fmu.update().map(drop)),
                    14 => fmu.enter_continuous(),
                    15 => status(fmu.completed(random(9) == 0).map(drop)),
                    16 => fmu.set_time(time + 0.1 * random(3) as f64 - 0.05),
                    17 => fmu.set_states(&[random(5) as f64 - 2.0, random(5) as f64 - 2.0]),
                    18 => status(fmu.derivatives(2).and(fmu.indicators(1)).map(drop)),
                    _ => status(fmu.states(2).and(fmu.nominals(2)).map(drop)),
                };
                assert!(status == 0 || status == 3, "{status}: {}", fmu.last_log());
                accepted += u32::from(status == 0);
            }
            assert!(accepted > 600, "{accepted}");
            let fresh = Fmu::of(&design);
            assert_eq!(fmu.reset(), 0);
            for fmu in [&fmu, &fresh] {
                fmu.start_continuous();
                fly(fmu, 0.0, 1.0);
            }
            assert_eq!(fmu.states(2), fresh.states(2));
        }
    }
}
