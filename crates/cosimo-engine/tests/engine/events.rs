//! Events and discontinuities (T8): no input is extrapolated through a jump, all simulators stop at an event, and
//! where that is not possible it is said.

use crate::common::{Made, bits, column, folder, rows, run_to_the_end, start};
use cosimo::engine::Run;
use cosimo::record::Table;
use cosimo_test_fmus::{CLOCKS, Design, Variant, Version, built_library, write};

const EQUATIONS: [Made; 2] = [Made::Equations(Version::Two), Made::Equations(Version::Three)];

/// A lag of 0.8 s that begins at 0.5 and follows levels from given instants on.
fn lag(levels: &[(f64, f64)], t: f64) -> f64 {
    let mut x = 0.5;
    for (place, (from, level)) in levels.iter().enumerate() {
        let until = levels.get(place + 1).map_or(t, |next| next.0.min(t));
        if until <= *from {
            break;
        }
        x = level + (x - level) * (-(until - from) / 0.8f64).exp();
    }
    x
}

fn check(table: &Table, name: &str, allowed: f64, exact: impl Fn(f64) -> f64) {
    for (value, t) in column(table, name).iter().zip(column(table, "time")) {
        let apart = (value - exact(*t)).abs();
        assert!(apart < allowed, "{name} at {t}: {value} is {apart:e} away");
    }
}

/// A signal that is drawn with a jump and two corners, played to a lag. Steps of 0.1 s do not meet the corners.
#[test]
fn steps_and_ramps_are_never_overshot() {
    let file = folder().join("drawn.csv");
    std::fs::write(&file, "time,u\n0,0\n0.43,0\n0.43,1\n1.07,1\n1.59,3\n3,3\n").unwrap();
    for input in ["hold", "linear", "quadratic", "hermite", "causal", "online"] {
        if input == "hermite" {
            continue; // a table offers no slopes
        }
        for partition in ["jacobi", "gauss-seidel"] {
            let table = rows(&format!(
                "[experiment]\nstop = 3\nrecord = \"before-exchange\"\n[component.drawn]\nsource = \"drawn.csv\"\n\
                 [component.lag]\nsource = \"native:gain-loop/lag\"\n\
                 [[connection]]\nfrom = \"drawn.u\"\nto = \"lag.u\"\n\
                 [method]\ninput = \"{input}\"\npartition = \"{partition}\"\nstep = {{ size = 0.1 }}\n"
            ));
            let times = column(&table, "time");
            for corner in [0.43, 1.07, 1.59] {
                assert!(times.contains(&corner), "{input}, {partition}: {corner} is no communication point");
            }
            for (u, t) in column(&table, "lag.u").iter().zip(times) {
                assert!((-1e-12..=3.0 + 1e-12).contains(u), "{input}, {partition}: {u} at {t}");
                let flat = (0.44..=1.07).contains(t);
                assert!(!flat || (u - 1.0).abs() < 1e-12, "{input}, {partition}: {u} at {t}");
            }
        }
    }
}

/// Levels that change at announced instants: windows end there, and what is held is then exact.
#[test]
fn announced_events_are_met_and_heard_at_once() {
    for made in EQUATIONS {
        let table = rows(&format!(
            "[experiment]\nstop = 3.2\n[component.stair]\nsource = \"{}\"\nparameters = {{ period = 0.7 }}\n\
             [component.driven]\nsource = \"{}\"\nparameters = {{ \"cosimo.relative\" = 1e-11 }}\n\
             [[connection]]\nfrom = \"stair.level\"\nto = \"driven.u\"\n[method]\ninput = \"quadratic\"\nstep = {{ size = 0.25 }}\n",
            made.source("stair"),
            made.source("driven")
        ));
        let levels: Vec<(f64, f64)> = (0..5).map(|k| (0.7 * f64::from(k), f64::from(k))).collect();
        check(&table, "driven.x", 1e-9, |t| lag(&levels, t));
        // Two rows where it jumps: before and after.
        let times = column(&table, "time");
        let twice = times.windows(2).filter(|pair| pair[0] == pair[1]).count();
        assert_eq!(twice, 4, "{times:?}");
        for (row, pair) in times.windows(2).enumerate().filter(|(_, pair)| pair[0] == pair[1]) {
            let level = column(&table, "stair.level");
            assert_eq!(level[row] + 1.0, level[row + 1], "at {}", pair[0]);
        }
    }
}

fn ball(follower: &str, more: &str, size: f64) -> String {
    format!(
        "[experiment]\nstop = 1.5\n[component.ball]\nsource = \"{}\"\n\
         parameters = {{ height = 1.0, velocity = 0.0, restitution = 0.7, gravity = 9.81, \"cosimo.relative\" = 1e-9 }}\n\
         [component.follower]\nsource = \"{follower}\"\n{more}\
         [[connection]]\nfrom = \"ball.velocity\"\nto = \"follower.v_far\"\n\
         [[connection]]\nfrom = \"ball.height\"\nto = \"follower.x_far\"\n[method]\ninput = \"linear\"\nstep = {{ size = {size:?} }}\n",
        Made::Equations(Version::Three).source("bouncing-ball")
    )
}

/// By the closed form, before an instant: a fall from 1 m, of which every bounce leaves 0.7 of the speed.
fn bounces(until: f64) -> Vec<f64> {
    let (gravity, mut speed) = (9.81, f64::sqrt(2.0 * 9.81));
    let mut instants = vec![speed / gravity];
    while instants[instants.len() - 1] < until {
        speed *= 0.7;
        instants.push(instants[instants.len() - 1] + 2.0 * speed / gravity);
    }
    instants.pop();
    instants
}

/// Instants at which two rows stand.
fn jumps(table: &Table) -> Vec<f64> {
    column(table, "time").windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| pair[0]).collect()
}

/// A ball that pulls a mass by a spring and a damper: all are brought to the bounce, so that the other hears of it at once.
#[test]
fn all_are_brought_to_an_event_inside_a_window() {
    let text = ball("native:dual-mass/left-force", "", 0.05);
    let table = rows(&text);
    let bounces = bounces(1.5);
    assert!(bounces.len() >= 2, "{bounces:?}");
    let found = jumps(&table);
    assert_eq!(found.len(), bounces.len(), "{found:?} {bounces:?}");
    for (found, bounce) in found.iter().zip(&bounces) {
        assert!((found - bounce).abs() < 1e-6, "{found} for {bounce}");
    }
    // Speed is a line between bounces, so that a linear input is exact but for the first step after each.
    let text = |size: f64| ball("native:dual-mass/left-force", "", size);
    let (coarse, fine) = (rows(&text(0.02)), rows(&text(0.01)));
    let last = |table: &Table| *column(table, "follower.x").last().unwrap();
    let exact = rows(&text(2e-4));
    let (one, other) = ((last(&coarse) - last(&exact)).abs(), (last(&fine) - last(&exact)).abs());
    assert!(one < 2e-3 && other < 0.35 * one, "order two in spite of the jumps: {one:e} {other:e}");
}

#[test]
fn where_somebody_cannot_rewind_events_stay_inside_and_that_is_said() {
    let stuck = Made::Unit(Version::Two, Variant::NoRollback).source("dual-mass/left-force");
    let text = ball(&stuck, "", 0.05);
    let mut run = start(&text, 1);
    let said: Vec<String> = run.warnings().iter().map(|problem| problem.message.clone()).collect();
    let wanted =
        "events of `ball` take effect at the next communication point: `follower` does not support rollback";
    assert!(said.iter().any(|message| message == wanted), "{said:#?}");
    run_to_the_end(&mut run);
    assert!(jumps(&rows(&text)).is_empty());
}

/// A run that meets events has the same bits on any number of threads, and after a checkpoint between two of them.
#[test]
fn events_change_no_bits() {
    let text = ball("native:dual-mass/left-force", "", 0.05);
    let mut straight = start(&text, 1);
    run_to_the_end(&mut straight);
    assert!(straight.counters().events > 0);
    let mut threads = start(&text, 2);
    run_to_the_end(&mut threads);
    assert_eq!(bits(&straight), bits(&threads));
    let mut detour: Run = start(&text, 1);
    while detour.counters().events == 0 {
        detour.step().unwrap();
    }
    let kept = detour.save().unwrap();
    let mut fresh = start(&text, 1);
    fresh.load(&kept).unwrap();
    run_to_the_end(&mut detour);
    run_to_the_end(&mut fresh);
    assert_eq!(bits(&straight), bits(&detour));
    assert_eq!(bits(&straight), bits(&fresh));
}

/// Co-simulation FMUs: FMI 3.0 with event mode, at whose events all simulators stop; FMI 2.0 without.
#[test]
fn event_mode_of_units_for_co_simulation() {
    let text = |version: Version, size: f64| {
        format!(
            "[experiment]\nstop = 3.2\n[component.stair]\nsource = \"{}\"\nparameters = {{ period = 0.7 }}\n\
             [component.lag]\nsource = \"{}\"\nparameters = {{ \"cosimo.relative\" = 1e-11 }}\n\
             [[connection]]\nfrom = \"stair.level\"\nto = \"lag.u\"\n[method]\nstep = {{ size = {size:?} }}\n",
            Made::Unit(version, Variant::Plain).source("stair"),
            Made::Equations(Version::Two).source("driven"),
        )
    };
    let levels: Vec<(f64, f64)> = (0..5).map(|k| (0.7 * f64::from(k), f64::from(k))).collect();
    let table = rows(&text(Version::Three, 0.25));
    assert_eq!(jumps(&table), [0.7, 0.7 * 2.0, 0.7 * 3.0, 0.7 * 4.0]);
    check(&table, "lag.x", 1e-9, |t| lag(&levels, t));
    // Without an event mode the FMU steps over its events, which are visible at the end of the step.
    let table = rows(&text(Version::Two, 0.25));
    assert!(jumps(&table).is_empty());
    check(&table, "lag.x", 0.5, |t| lag(&levels, t));
    let last = column(&table, "lag.x").last().unwrap() - lag(&levels, 3.2);
    assert!(last.abs() > 1e-3, "{last}");
}

/// A periodic clock, one that counts down, and one that the unit rings itself: all tick at their time, whatever the step.
#[test]
fn clocks_tick_on_time() {
    let clocks = {
        let design = Design::new(CLOCKS, Version::Three);
        let name = design.file_name();
        write(&design, &built_library().unwrap(), &folder().join(&name)).unwrap();
        name
    };
    for size in [0.1, 0.3, 5.0] {
        let table = rows(&format!(
            "[experiment]\nstop = 5\n[component.clocks]\nsource = \"{clocks}\"\n[method]\nstep = {{ size = {size:?} }}\n"
        ));
        let (times, ticks) = (column(&table, "time"), column(&table, "clocks.ticks"));
        let (alarms, full) = (column(&table, "clocks.alarms"), column(&table, "clocks.full"));
        for (row, t) in times.iter().enumerate() {
            let before = times.get(row + 1) == Some(t); // the first of two rows
            let ticked = |from: f64, period: f64| {
                let count = ((t - from) / period + 1e-9).floor() + 1.0;
                let exactly = ((t - from) / period - (count - 1.0)).abs() < 1e-9;
                f64::max(0.0, count - f64::from(u8::from(exactly && before)))
            };
            assert_eq!(ticks[row], ticked(0.25, 0.5), "ticks at {t}, steps of {size}");
            // Each third tick, at 1.25, 2.75, 4.25, starts a countdown of 0.1 s.
            assert_eq!(alarms[row], ticked(1.35, 1.5), "alarms at {t}, steps of {size}");
            let rings = !before && [1.75, 3.75].iter().any(|tick| (t - tick).abs() < 1e-9);
            assert_eq!(full[row], f64::from(u8::from(rings)), "full at {t}, steps of {size}");
        }
        let ringing = full.iter().filter(|full| **full == 1.0).count();
        assert_eq!(ringing, 2);
    }
}

/// A loop is solved at the start whether or not another simulator has events.
#[test]
fn events_of_others_leave_a_loop_as_it_is() {
    let text = |more: &str| {
        format!(
            "[experiment]\nstop = 0.2\n[component.first]\nsource = \"native:gain-loop/first\"\nstart = {{ u = 7.0 }}\n\
             [component.second]\nsource = \"native:gain-loop/second\"\n[component.lag]\nsource = \"native:gain-loop/lag\"\n\
             {more}[[connection]]\nfrom = \"second.y\"\nto = \"first.u\"\n[[connection]]\nfrom = \"lag.x\"\nto = \"first.w\"\n\
             [[connection]]\nfrom = \"first.y\"\nto = \"second.u\"\n[[connection]]\nfrom = \"second.y\"\nto = \"lag.u\"\n\
             [method]\nstep = {{ size = 0.1 }}\n"
        )
    };
    let alone = rows(&text(""));
    let stair = format!("[component.stair]\nsource = \"{}\"\n", EQUATIONS[0].source("stair"));
    let beside = rows(&text(&stair));
    for name in ["first.y", "second.y", "lag.x"] {
        assert_eq!(column(&alone, name), column(&beside, name), "{name}");
    }
    // By hand: y1 = a b y1 + w with a = b = 0.5, w = 1, wherever the search begins.
    assert!((column(&alone, "first.y")[0] - 4.0 / 3.0).abs() < 1e-15);
}
