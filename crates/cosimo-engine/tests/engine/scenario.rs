//! Scenarios against what can be computed by hand: lags that are told something else than their sources say.
#![allow(clippy::unwrap_used)] // helpers of tests are tests

use crate::common::{Made, bits, column, run_to_the_end, system};
use cosimo::core::Time;
use cosimo::core::recorder::Table;
use cosimo::engine::{Checkpoint, Plan, Run, plan};
use cosimo::export::{Variant, Version};
use cosimo::record::MemoryRecorder;
use cosimo::system::{Problem, Severity, scenario};

/// `a` is not connected, `b` is driven by `a`; both are lags, T x' = u - x, and start at 1.
fn lags(method: &str, made: Made) -> String {
    let lag = made.source("gain-loop/lag");
    format!(
        "[experiment]\nstop = 1.0\n[component.a]\nsource = \"{lag}\"\nstart = {{ u = 0.0 }}\n\
         [component.b]\nsource = \"{lag}\"\n[[connection]]\nfrom = \"a.x\"\nto = \"b.u\"\n[method]\n{method}\n"
    )
}

fn planned(text: &str, actions: &str) -> Result<Plan, Vec<Problem>> {
    let registry = cosimo::registry();
    let mut system = system(text, &registry);
    let (scenario, problems) = scenario::read(actions);
    assert!(problems.is_empty(), "{problems:#?} in\n{actions}");
    system.scenario = Some(scenario);
    plan(&system, &registry)
}

fn start(text: &str, actions: &str, threads: usize) -> Run {
    let plan = planned(text, actions).unwrap_or_else(|problems| panic!("{problems:#?} in\n{text}{actions}"));
    Run::new(plan, threads).unwrap()
}

fn rows(text: &str, actions: &str) -> (Table, Run) {
    let mut run = start(text, actions, 1);
    let memory = MemoryRecorder::default();
    run.record(Box::new(memory.clone())).unwrap();
    run_to_the_end(&mut run);
    run.finish().unwrap();
    (memory.table(), run)
}

fn events(run: &Run) -> Vec<(f64, String)> {
    run.summary().events
}

/// Where a lag is `t` seconds after it was at `x`, told `u` all the time.
fn lag(x: f64, u: f64, t: f64) -> f64 {
    u + (x - u) * (-t).exp()
}

fn close(found: f64, wanted: f64, words: &str) {
    assert!((found - wanted).abs() < 1e-12, "{words}: {found} instead of {wanted}");
}

const FIXED: &str = "step = { size = 0.1 }";

/// Schedules, iterations, inputs, estimates that repeat steps, and corrections.
fn methods() -> Vec<String> {
    let mut methods = Vec::new();
    for schedule in ["jacobi", "gauss-seidel"] {
        for input in ["hold", "linear", "quadratic"] {
            for (iteration, estimate, correction, exchange) in [
                ("\"once\"", "\"none\", controller = \"fixed\"", "\"none\"", "stale"),
                (
                    "{ waveform = { relative = 1e-9 } }",
                    "\"none\", controller = \"fixed\"",
                    "\"none\"",
                    "fresh",
                ),
                (
                    "\"once\"",
                    "{ richardson = { tolerance = 1e-3 } }, controller = \"pi\"",
                    "\"none\"",
                    "stale",
                ),
                ("\"once\"", "\"none\", controller = \"fixed\"", "{ nepce = { gain = 0.5 } }", "stale"),
                (
                    "\"once\"",
                    "{ predictor-corrector = { tolerance = 1e-2 } }, controller = \"i\", reject = \"above-one\"",
                    "{ nepce = { gain = 0.5 } }",
                    "fresh",
                ),
            ] {
                methods.push(format!(
                    "partition = \"{schedule}\"\ninput = \"{input}\"\niteration = {iteration}\n\
                     correction = {correction}\nexchange = \"{exchange}\"\n\
                     step = {{ estimate = {estimate}, size = 0.04, min = 1e-3, max = 0.07 }}"
                ));
            }
        }
    }
    methods
}

#[test]
fn an_input_that_nobody_drives_is_set_at_its_instant() {
    let actions = "[[action]]\nname = \"switch on\"\nat = 0.35\nset = \"a.u\"\nto = 2.0\n";
    let (table, run) = rows(&lags(FIXED, Made::Native), actions);
    let at = column(&table, "time").iter().position(|time| *time == 0.35).unwrap();
    assert_eq!(table.rows(), 12, "one window was cut");
    close(column(&table, "a.x")[at], lag(1.0, 0.0, 0.35), "before");
    close(*column(&table, "a.x").last().unwrap(), lag(lag(1.0, 0.0, 0.35), 2.0, 0.65), "after");
    assert_eq!(column(&table, "a.u")[at - 1..=at], [0.0, 2.0]);
    assert_eq!(events(&run), [(0.35, "switch on".into())]);
    assert!(column(&table, "scenario.active").iter().all(|active| *active == 0.0), "no signal was changed");
}

/// From 0.3 to 0.6 the input of `b` is 2, for any output of `a` and any coupling.
#[test]
fn a_signal_is_overridden_and_released_under_every_method() {
    let actions =
        "[[action]]\nat = 0.3\noverride = \"b.u\"\nto = 2.0\n[[action]]\nat = 0.6\nrelease = \"b.u\"\n";
    for method in methods() {
        let (table, run) = rows(&lags(&method, Made::Native), actions);
        let (time, a, b) = (column(&table, "time"), column(&table, "a.x"), column(&table, "b.x"));
        let at = |instant: f64| time.iter().position(|time| *time == instant).unwrap();
        for row in at(0.3) + 1..=at(0.6) {
            let wanted = lag(b[row - 1], 2.0, time[row] - time[row - 1]);
            close(b[row], wanted, &format!("row {row} under\n{method}"));
        }
        for (row, instant) in time.iter().enumerate() {
            close(a[row], lag(1.0, 0.0, *instant), "the source stays what it is");
            let inside = (0.3..0.6).contains(instant);
            assert_eq!(column(&table, "b.u")[row], if inside { 2.0 } else { a[row] }, "under\n{method}");
            assert_eq!(column(&table, "scenario.active")[row], f64::from(u8::from(inside)));
        }
        assert_eq!(events(&run).len(), 2);
    }
}

#[test]
fn units_are_told_the_same_as_native_models() {
    let actions = "[[action]]\nat = 0.25\noverride = \"b.u\"\nto = 2.0\n[[action]]\nat = 0.5\nset = \"a.u\"\nto = 1.0\n\
                   [[action]]\nat = 0.75\nscale = \"b.u\"\nby = 0.5\n";
    let wanted = rows(&lags(FIXED, Made::Native), actions).0;
    let units = [Version::Two, Version::Three].map(|version| (Made::Unit(version, Variant::Plain), 1e-12));
    // Those that Cosimo integrates follow as closely as its integrator does.
    let equations = [Version::Two, Version::Three].map(|version| (Made::Equations(version), 1e-4));
    for (made, within) in units.into_iter().chain(equations) {
        let found = rows(&lags(FIXED, made), actions).0;
        assert_eq!(found.columns.names, wanted.columns.names);
        for (name, (found, wanted)) in found.columns.names.iter().zip(found.values.iter().zip(&wanted.values))
        {
            for (found, wanted) in found.iter().zip(wanted) {
                assert!((found - wanted).abs() < within, "{name} of {made:?}: {found} instead of {wanted}");
            }
        }
    }
}

#[test]
fn a_signal_is_stuck_scaled_and_shifted() {
    for (action, wanted) in [
        ("stuck = \"b.u\"", (|_, stuck| stuck) as fn(f64, f64) -> f64),
        ("scale = \"b.u\"\nby = -0.5", |a, _| -0.5 * a),
        ("offset = \"b.u\"\nby = 3.0", |a, _| 3.0 + a),
        ("stuck = \"a.x\"", |_, stuck| stuck),
        ("scale = \"a.x\"\nby = 2.0", |a, _| 2.0 * a),
        ("override = \"a.x\"\nto = -1.0", |_, _| -1.0),
    ] {
        for input in ["hold", "linear"] {
            let method = format!("input = \"{input}\"\nschedule = \"gauss-seidel\"\n{FIXED}");
            let (table, _) = rows(&lags(&method, Made::Native), &format!("[[action]]\nat = 0.3\n{action}\n"));
            let (time, a, u) = (column(&table, "time"), column(&table, "a.x"), column(&table, "b.u"));
            let stuck = a[time.iter().position(|time| *time == 0.3).unwrap()];
            for row in 0..table.rows() {
                close(a[row], lag(1.0, 0.0, time[row]), action);
                assert_eq!(u[row], if time[row] < 0.3 { a[row] } else { wanted(a[row], stuck) }, "{action}");
            }
        }
    }
}

/// y = b u with u = 1, as a number that stands for another.
#[test]
fn a_parameter_changes_behind_a_map() {
    let text = "[experiment]\nstop = 1.0\n[component.a]\nsource = \"native:gain-loop/second\"\nparameters = { b = 2.0 }\n\
                start = { u = 1.0 }\n[component.b]\nsource = \"native:gain-loop/second\"\nparameters = { b = 1.0 }\n\
                [[connection]]\nfrom = \"a.y\"\nto = \"b.u\"\nmap = { 2 = 10, 3 = 50 }\n[method]\nstep = { size = 0.25 }\n";
    let (table, _) = rows(text, "[[action]]\nat = 0.5\nparameter = \"a.b\"\nto = 3.0\n");
    let y = column(&table, "b.y");
    assert_eq!((y[0], y[y.len() - 1]), (10.0, 50.0), "{y:?}");
}

#[test]
fn a_parameter_changes_at_its_instant() {
    let actions = "[[action]]\nat = 0.35\nparameter = \"a.T\"\nto = 0.5\n";
    let (table, _) = rows(&lags(FIXED, Made::Native), actions);
    let wanted = (-0.35f64).exp() * (-0.65f64 / 0.5).exp();
    close(*column(&table, "a.x").last().unwrap(), wanted, "twice as fast from then on");
}

/// A gain in front of a lag: its output jumps with its input, and no fit looks across the jump.
#[test]
fn a_jump_passes_through_at_once_and_is_not_extrapolated() {
    for input in ["hold", "linear", "quadratic", "hermite", "taylor", "online"] {
        for schedule in ["jacobi", "gauss-seidel"] {
            let text = format!(
                "[experiment]\nstop = 1.0\n[component.gain]\nsource = \"native:gain-loop/second\"\nstart = {{ u = 1.0 }}\n\
                 [component.lag]\nsource = \"native:gain-loop/lag\"\n[[connection]]\nfrom = \"gain.y\"\nto = \"lag.u\"\n\
                 [method]\ninput = \"{input}\"\nschedule = \"{schedule}\"\n{FIXED}\n"
            );
            let (table, _) = rows(&text, "[[action]]\nat = 0.35\nset = \"gain.u\"\nto = 3.0\n");
            let wanted = lag(lag(1.0, 0.5, 0.35), 1.5, 0.65);
            close(*column(&table, "lag.x").last().unwrap(), wanted, &format!("{input}, {schedule}"));
        }
    }
}

#[test]
fn conditions_act_when_they_become_true() {
    let actions = "[[action]]\nname = \"low\"\nwhen = \"a.x < 0.55 and t > 0.2\"\nset = \"a.u\"\nto = 2.0\n\
                   [[action]]\nname = \"each\"\nonce = false\nwhen = \"a.x > 0.7\"\nset = \"a.u\"\nto = 0.0\n\
                   [[action]]\nname = \"end\"\nwhen = \"t >= 0.9\"\nstop = true\n";
    let (table, run) = rows(&lags(FIXED, Made::Native), actions);
    let times: Vec<(f64, String)> = events(&run);
    let (time, a) = (column(&table, "time"), column(&table, "a.x"));
    let first_low = (0..table.rows()).find(|&row| a[row] < 0.55 && time[row] > 0.2).unwrap();
    let rises = (first_low..table.rows()).find(|&row| a[row] > 0.7).unwrap();
    assert_eq!(times[0], (0.0, "each".into()), "true at the start is a rise");
    assert_eq!(times[1], (time[first_low], "low".into()));
    assert_eq!(times[2], (time[rises], "each".into()));
    assert_eq!(times.last().unwrap(), &(*time.last().unwrap(), "end".into()));
    assert!((time.last().unwrap() - 0.9).abs() < 1e-9 && run.finished() && run.summary().finished);
}

#[test]
fn a_bond_that_is_tampered_with_is_told_so() {
    let text = crate::common::DualMass { stop: 1.0, method: FIXED, ..crate::common::DUAL_MASS }.text();
    let untouched = rows(&text, "[[action]]\nwhen = \"t > 100\"\nstop = true\n").1;
    assert_eq!(untouched.summary().tampered, Vec::<String>::new());
    let (_, run) = rows(&text, "[[action]]\nat = 0.5\noverride = \"right.f\"\nto = 500.0\n");
    assert_eq!(run.summary().tampered, ["joint"]);
    assert!(run.summary().text().contains("changed signals of `joint`"), "{}", run.summary().text());
    assert!(run.summary().bonds[0].share > 2.0 * untouched.summary().bonds[0].share);
}

const EVERYTHING: &str = "[[action]]\nat = 0.23\nstuck = \"b.u\"\n[[action]]\nat = 0.4\nparameter = \"a.T\"\nto = 0.3\n\
     [[action]]\nonce = false\nwhen = \"a.x < 0.5\"\nset = \"a.u\"\nto = 2.0\n\
     [[action]]\nonce = false\nwhen = \"a.x > 0.8\"\nset = \"a.u\"\nto = 0.0\n\
     [[action]]\nat = 0.7\nrelease = \"b.u\"\n[[action]]\nat = 0.8\noffset = \"a.x\"\nby = 1.0\n";

#[test]
fn a_checkpoint_knows_what_was_done_and_what_is_to_come() {
    for method in methods().iter().step_by(3) {
        let text = lags(method, Made::Native);
        for until in [0.0, 0.1, 0.23, 0.3, 0.5, 0.75, 0.85] {
            let mut whole = start(&text, EVERYTHING, 1);
            whole.run_until(Time::new(until).unwrap()).unwrap();
            let saved = whole.save().unwrap();
            run_to_the_end(&mut whole);
            let checkpoint = Checkpoint::from_bytes(saved.bytes().to_vec()).unwrap();
            let mut other = start(&text, EVERYTHING, 2);
            other.load(&checkpoint).unwrap();
            run_to_the_end(&mut other);
            assert_eq!(bits(&whole), bits(&other), "from {until} under\n{method}");
            assert_eq!(whole.summary(), other.summary());
        }
    }
}

#[test]
fn everything_wrong_is_told_at_once() {
    let actions = "[[action]]\nat = -1.0\nset = \"b.u\"\nto = 1.0\n[[action]]\nat = 0.1\noverride = \"a.u\"\nto = 1.0\n\
                   [[action]]\nwhen = \"c.x > 1\"\nset = \"a.x\"\nto = 1.0\n[[action]]\nat = 0.1\nparameter = \"a.x0\"\nto = 1.0\n\
                   [[action]]\nat = 0.1\nparameter = \"a.T\"\nto = -1.0\n[[action]]\nat = 0.1\nstuck = \"b.x\"\n";
    let problems = planned(&lags(FIXED, Made::Native), actions).unwrap_err();
    let errors: Vec<&str> = problems
        .iter()
        .filter(|problem| problem.severity == Severity::Error)
        .map(|problem| problem.message.as_str())
        .collect();
    let wanted = [
        "`at` must",
        "`b.u` cannot be set: it is driven",
        "input `a.u` is not connected",
        "`c`",
        "expected an input, but `a.x` is an output",
        "`x0`",
        "`T`",
        "is not connected, so there is no signal",
    ];
    assert_eq!(errors.len(), wanted.len(), "{errors:#?}");
    for words in wanted {
        assert!(errors.iter().any(|message| message.contains(words)), "{words}: {errors:#?}");
    }
}

/// A unit that cannot take a shorter step is not asked to; the plan says so.
#[test]
fn a_unit_with_steps_of_one_size_hears_of_it_at_its_next_point() {
    let text = lags(FIXED, Made::Unit(Version::Two, Variant::FixedStep));
    let actions = "[[action]]\nat = 0.35\nset = \"a.u\"\nto = 2.0\n";
    let plan = planned(&text, actions).unwrap();
    assert!(
        plan.warnings.iter().any(|warning| warning.message.contains("first communication point at or after"))
    );
    let (table, run) = rows(&text, actions);
    assert_eq!(table.rows(), 11);
    assert_eq!(events(&run), [(0.4, "set a.u to 2".into())]);
    close(*column(&table, "a.x").last().unwrap(), lag(lag(1.0, 0.0, 0.4), 2.0, 0.6), "from 0.4 on");
}

/// Conditions on time, true once: at 0.5 where they hold from there on, at the start, or never.
#[test]
fn conditions_are_what_they_say() {
    for (condition, first) in [
        ("time >= 0.5", Some(0.5)),
        ("time > 0.5", Some(0.6)),
        ("time < 0.5", Some(0.0)),
        ("time <= 0.5 and time > 0.4", Some(0.5)),
        ("not (time < 0.5)", Some(0.5)),
        ("time == 0.5", Some(0.5)),
        ("time != 0", Some(0.1)),
        ("2 * time > 0.9", Some(0.5)),
        ("time / 2 > 0.2", Some(0.5)),
        ("time + 1 > 1.45", Some(0.5)),
        ("time - 1 > -0.55", Some(0.5)),
        ("-time < -0.45", Some(0.5)),
        ("time > 2 or time > 0.45", Some(0.5)),
        ("time > 0.45 or time > 2", Some(0.5)),
        ("time > 2 and time > 0.45", None),
        ("time > 0.45 and time > 2", None),
        ("time > 2 or time > 3", None),
    ] {
        let actions = format!("[[action]]\nwhen = \"{condition}\"\nset = \"a.u\"\nto = 2.0\n");
        let (_, run) = rows(&lags(FIXED, Made::Native), &actions);
        let found = events(&run).first().map(|(time, _)| *time);
        let same = found.zip(first).is_some_and(|(found, first)| (found - first).abs() < 1e-9);
        assert!(same || (found.is_none() && first.is_none()), "{condition}: {found:?}");
    }
}

#[test]
fn actions_lie_within_the_run() {
    let said = |at: f64| {
        let actions = format!("[[action]]\nat = {at:?}\nset = \"a.u\"\nto = 2.0\n");
        match planned(&lags(FIXED, Made::Native), &actions) {
            Ok(plan) => plan.warnings.iter().map(|warning| warning.code).collect::<Vec<_>>(),
            Err(problems) => vec![problems[0].code, "refused"],
        }
    };
    assert_eq!((said(0.0), said(0.5), said(1.0)), (vec![], vec![], vec![]));
    assert_eq!((said(1.5), said(-0.5)), (vec!["scenario/instant"], vec!["scenario/instant", "refused"]));
}

/// A condition that flutters at each of two thousand points: the first thousand events are kept, the others counted.
#[test]
fn endless_events_are_counted() {
    let actions = "[[action]]\nname = \"up\"\nonce = false\nwhen = \"a.u < 1\"\nset = \"a.u\"\nto = 2.0\n\
                   [[action]]\nname = \"down\"\nonce = false\nwhen = \"a.u > 1\"\nset = \"a.u\"\nto = 0.0\n";
    let mut run = start(&lags("step = { size = 5e-4 }", Made::Native), actions, 1);
    run_to_the_end(&mut run);
    let summary = run.summary();
    assert_eq!((summary.events.len(), summary.more_events), (1000, 1001), "one event at each of 2001 points");
}
