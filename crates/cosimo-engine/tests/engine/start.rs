//! What holds at one instant: the start of a run, where outputs are known one after the other, and loops that have to be
//! solved, then and later. Expected numbers are computed by hand or by bisection.
#![allow(clippy::unwrap_used)] // helpers of tests are tests

use std::path::Path;

use crate::common::formula::{FORMULA, IS, VT};
use crate::common::{Made, observed_order};
use cosimo::core::{Registry, StepError, Time};
use cosimo::engine::{Run, RunError, plan};
use cosimo::export::Version;
use cosimo::system::{Problem, toml};

fn registry() -> Registry {
    let mut registry = cosimo::registry();
    registry.add_source(&FORMULA);
    registry
}

fn try_start(text: &str, threads: usize) -> Result<Run, RunError> {
    let registry = registry();
    let (system, problems) = toml::read(text, &crate::common::folder(), &registry);
    assert_eq!(problems, [], "{text}");
    Run::new(plan(&system, &registry).unwrap_or_else(|problems| panic!("{problems:#?}")), threads)
}

fn start(text: &str) -> Run {
    try_start(text, 1).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Formulas by name, wires as `from to` pairs, start values of inputs.
fn system(parts: &[(&str, &str)], wires: &[(&str, &str)], starts: &[(&str, &str, f64)]) -> String {
    let mut text = String::from("[experiment]\nstop = 1.0\n");
    for (name, formula) in parts {
        text += &format!("[component.{name}]\nsource = \"formula:{formula}\"\n");
        let own = starts.iter().filter(|(owner, ..)| owner == name);
        let own: Vec<String> = own.map(|(_, port, value)| format!("{port} = {value:?}")).collect();
        text += &format!("start = {{ {} }}\n", own.join(", "));
    }
    for (from, to) in wires {
        text += &format!("[[connection]]\nfrom = \"{from}\"\nto = \"{to}\"\n");
    }
    text + "[method]\nstep = { size = 0.25 }\n"
}

fn shows(run: &Run, path: &str, wanted: f64, within: f64) {
    let found = run.output(path).unwrap();
    assert!((found - wanted).abs() <= within, "{path} is {found}, expected {wanted}");
}

#[test]
fn a_chain_is_known_from_its_beginning_whatever_the_order_in_the_file() {
    // 1/u twice, and sums: nothing may be read before it is known. At an input of 0, which is never meant, the inverses
    // refuse.
    let parts =
        [("e", "sum"), ("d", "strict-inverse"), ("c", "sum"), ("b", "strict-inverse"), ("a", "cosine")];
    let wires =
        [("a.y", "b.u"), ("b.y", "c.a"), ("a.y", "c.b"), ("c.y", "d.u"), ("d.y", "e.a"), ("b.y", "e.b")];
    let wanted = |u: f64| {
        let a = u.cos();
        [1.0 / (1.0 / a + a) + 1.0 / a, 1.0 / (1.0 / a + a), 1.0 / a + a, 1.0 / a, a]
    };
    for u in [0.0, 0.5] {
        for turned in [false, true] {
            let mut parts = parts.to_vec();
            if turned {
                parts.reverse();
            }
            let run = start(&system(&parts, &wires, &[("a", "u", u)]));
            for (name, wanted) in ["e.y", "d.y", "c.y", "b.y", "a.y"].iter().zip(wanted(u)) {
                shows(&run, name, wanted, 1e-15);
            }
        }
    }
}

/// The sum of cosines goes through zero, where the inverse has no value: an honest end, not a number.
#[test]
fn what_is_not_finite_in_the_end_is_named() {
    let text = system(&[("a", "half"), ("b", "inverse")], &[("a.y", "b.u")], &[("a", "u", 0.0)]);
    let error = try_start(&text, 1).unwrap_err().to_string();
    assert!(error.contains("`b`") && error.contains("inf"), "{error}");
}

/// y1 = a y2 + x, y2 = b y1: y1 = x / (1 - a b). Substitution grows six-fold, or two hundred-fold, per round.
fn gain_loop(made: Made, a: f64, b: f64, method: &str) -> String {
    let sources = ["first", "second", "lag"].map(|part| made.source(&format!("gain-loop/{part}")));
    let text = crate::common::gain_loop(&sources, a, b);
    let cut = text.find("[monolithic").unwrap();
    format!("{}[method]\n{method}\n", &text[..cut].replace("stop = 100", "stop = 2"))
}

#[test]
fn a_linear_loop_is_solved_where_substitution_diverges() {
    let all = [Made::Native].into_iter().chain(Made::UNITS);
    for made in all {
        for (a, b) in [(3.0, -2.0), (100.0, -2.0), (0.5, 0.5), (1e-3, 1e6)] {
            let run = start(&gain_loop(made, a, b, "step = { size = 0.25 }"));
            let y1 = 1.0 / (1.0 - a * b);
            shows(&run, "first.y", y1, 1e-12 * y1.abs());
            shows(&run, "second.y", b * y1, 1e-12 * (b * y1).abs());
            let warnings: Vec<&str> = run.warnings().iter().map(|warning| warning.code).collect();
            assert!(warnings.contains(&"plan/delayed-loop"), "{made:?}: {warnings:?}");
        }
    }
}

/// Held inputs, solved loop: x(n+1) = e^-H x(n) + (1 - e^-H) b x(n) / (1 - a b).
#[test]
fn a_loop_stays_solved_at_every_communication_point() {
    let all = [Made::Native].into_iter().chain(Made::UNITS);
    for made in all {
        let (a, b) = (3.0, -2.0);
        let exact = if matches!(made, Made::Equations(_)) { 1e-5 } else { 1e-12 };
        let mut run = start(&gain_loop(made, a, b, "exchange = \"fresh\"\nstep = { size = 0.25 }"));
        let (decay, mut x) = ((-0.25f64).exp(), 1.0);
        while !run.finished() {
            run.step().unwrap();
            x = decay * x + (1.0 - decay) * b * x / (1.0 - a * b);
            shows(&run, "lag.x", x, exact);
            let x = run.output("lag.x").unwrap();
            shows(&run, "first.y", x / (1.0 - a * b), 1e-12);
            shows(&run, "second.y", b * x / (1.0 - a * b), 1e-12);
        }
    }
}

/// Slopes go round the loop, too, and are solved with the values.
#[test]
fn slopes_of_a_loop_are_those_of_its_solution() {
    let (a, b) = (3.0, -2.0);
    let rate = b / (1.0 - a * b) - 1.0;
    let errors = [0.2, 0.1, 0.05].map(|size| {
        let method = format!("input = \"hermite\"\nexchange = \"fresh\"\nstep = {{ size = {size:?} }}");
        let mut run = start(&gain_loop(Made::Native, a, b, &method));
        run.run_until(Time::new(2.0).unwrap()).unwrap();
        (run.output("lag.x").unwrap() - (2.0 * rate).exp()).abs()
    });
    let order = observed_order(&[0.2, 0.1, 0.05], &errors);
    // In the first window there is one sample to look at, and from there on four orders.
    assert!(order > 2.9, "{order}: {errors:?}");
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    for method in ["exchange = \"fresh\"\nstep = { size = 0.25 }", "step = { size = 0.25 }"] {
        let bits = |threads| {
            let mut run = try_start(&gain_loop(Made::Native, 0.7, -0.6, method), threads).unwrap();
            run.run_until(Time::new(2.0).unwrap()).unwrap();
            run.outputs().iter().map(|output| output.to_bits()).collect::<Vec<_>>()
        };
        assert_eq!(bits(1), bits(2));
        assert_eq!(bits(1), bits(3));
    }
}

/// 5 V over 1 kOhm and a diode. By bisection of what is left over.
fn across_the_diode() -> f64 {
    let left = |v: f64| 5.0 - 1000.0 * IS * ((v / VT).exp() - 1.0) - v;
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..200 {
        let middle = (low + high) / 2.0;
        if left(middle) > 0.0 { low = middle } else { high = middle }
    }
    low
}

#[test]
fn a_nonlinear_loop_is_solved_from_far_away() {
    let parts = [("diode", "diode"), ("resistor", "resistor")];
    let wires = [("diode.y", "resistor.i"), ("resistor.y", "diode.v")];
    let v = across_the_diode();
    // Without a guess, with one that is far below, and with one on the other side of the loop.
    let guesses: [&[(&str, &str, f64)]; 4] =
        [&[], &[("diode", "v", -3.0)], &[("diode", "v", 0.8)], &[("resistor", "i", 0.1)]];
    for starts in guesses {
        let run = start(&system(&parts, &wires, starts));
        shows(&run, "resistor.y", v, 1e-9);
        shows(&run, "diode.y", (5.0 - v) / 1000.0, 1e-12);
    }
}

/// The cosine's fixed point feeds a second loop, y = y/2 + c.
#[test]
fn a_loop_waits_for_the_loop_before_it() {
    let parts = [("half", "half"), ("sum", "sum"), ("cosine", "cosine")];
    let wires = [("sum.y", "half.u"), ("half.y", "sum.a"), ("cosine.y", "sum.b"), ("cosine.y", "cosine.u")];
    let run = start(&system(&parts, &wires, &[]));
    let fixed = 0.739_085_133_215_160_6;
    shows(&run, "cosine.y", fixed, 1e-15);
    shows(&run, "sum.y", 2.0 * fixed, 1e-14);
}

fn unsolved(text: &str) -> StepError {
    match try_start(text, 1).map(|_| ()) {
        Err(RunError::Step(error @ (StepError::Unsolved { .. } | StepError::Undecided { .. }))) => error,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_loop_without_a_solution_is_named_with_its_values() {
    // u = u^2 + 1.
    let text = system(&[("square", "square")], &[("square.y", "square.u")], &[("square", "u", 0.25)]);
    let error = unsolved(&text);
    let StepError::Unsolved { path, input, driven, values, at, .. } = &error else { panic!() };
    assert_eq!((path.as_str(), input.as_str()), ("square.u -> square.y -> square.u", "square.u"));
    assert_eq!((values.len(), *at, error.code()), (1, Time::ZERO, "step/loop-not-solved"));
    // The least that is left over is 3/4, at 1/2.
    assert!((values[0].1 - 0.5).abs() < 0.05 && (driven - values[0].1 - 0.75).abs() < 1e-2, "{error}");
    // A linear one, 2 * 0.5 = 1.
    let error = unsolved(&gain_loop(Made::Native, 2.0, 0.5, "step = { size = 0.25 }"));
    assert!(error.to_string().contains("first.u -> first.y -> second.u -> second.y -> first.u"), "{error}");
    assert!(error.hint().contains("start value"), "{}", error.hint());
}

/// Two gates that hear each other keep what they were told; one that hears itself never comes to rest.
#[test]
fn discrete_loops_are_substituted_until_they_stay() {
    let parts = [("q", "nor"), ("p", "nor")];
    let wires = [("q.y", "p.a"), ("p.y", "q.a")];
    // What p and q hear of each other before, set and reset, and what they come to.
    let cases = [
        ([0.0, 0.0], [1.0, 0.0], [1.0, 0.0]),
        ([1.0, 0.0], [0.0, 1.0], [0.0, 1.0]),
        ([1.0, 0.0], [0.0, 0.0], [1.0, 0.0]),
        ([0.0, 1.0], [0.0, 0.0], [0.0, 1.0]),
    ];
    for (heard, [set, reset], wanted) in cases {
        let starts = [("p", "a", heard[0]), ("p", "b", set), ("q", "a", heard[1]), ("q", "b", reset)];
        let run = start(&system(&parts, &wires, &starts));
        assert_eq!(["q.y", "p.y"].map(|path| run.output(path).unwrap()), wanted, "{starts:?}");
    }
    let error = unsolved(&system(&[("n", "nor")], &[("n.y", "n.a")], &[]));
    assert!(error.to_string().contains("`n.y` still changes after 101 rounds"), "{error}");
}

/// x = 5 - x / 4, less 1 if x > 3: off it would be 4, on it is 3.2, so it is on. With x / 2 it would be 10/3 off and 8/3
/// on: it comes to no rest.
#[test]
fn a_loop_of_numbers_and_switches_is_solved_for_both() {
    let text = |gain: f64| {
        format!(
            "[experiment]\nstop = 1.0\n[component.x]\nsource = \"formula:sum\"\n[component.half]\nsource = \"formula:half\"\n\
             [component.switch]\nsource = \"formula:above\"\n\
             [[connection]]\nfrom = [{{ port = \"half.y\", gain = {gain:?} }}, {{ port = \"switch.y\", gain = -1.0 }}]\nto = \"x.a\"\n\
             offset = 5.0\n[[connection]]\nfrom = \"x.y\"\nto = \"half.u\"\n[[connection]]\nfrom = \"x.y\"\nto = \"switch.u\"\n\
             [method]\nstep = {{ size = 0.25 }}\n"
        )
    };
    let run = start(&text(-0.5));
    shows(&run, "x.y", 3.2, 1e-14);
    assert_eq!(run.output("switch.y"), Some(1.0));
    assert!(unsolved(&text(-1.0)).to_string().contains("`switch.y` still changes"));
}

/// A unit with events would take every try for one.
#[test]
fn loops_through_events_are_solved_at_the_start_and_refused_later() {
    let room = Made::Equations(Version::Two).source("thermostat");
    let text = |exchange: &str| {
        format!(
            "[experiment]\nstop = 10.0\n[component.room]\nsource = \"{room}\"\n\
             parameters = {{ G = 20.0, T0 = 295.15 }}\n\
             [[connection]]\nfrom = [{{ port = \"room.q\", gain = -0.01 }}]\nto = \"room.ambient\"\noffset = 283.15\nconvert = false\n\
             [method]\nexchange = \"{exchange}\"\nstep = {{ size = 1.0 }}\n"
        )
    };
    // q = G (T - ambient), ambient = 283.15 - 0.01 q.
    let run = start(&text("stale"));
    shows(&run, "room.q", 20.0 * 12.0 / (1.0 - 0.01 * 20.0), 1e-9);
    let registry = registry();
    let (system, _) = toml::read(&text("fresh"), &crate::common::folder(), &registry);
    let problems: Vec<Problem> = plan(&system, &registry).unwrap_err();
    assert!(problems.iter().any(|problem| problem.code == "plan/algebraic-loop"), "{problems:#?}");
}

/// What is done to a signal of a loop is felt all the way round it, at once.
#[test]
fn a_scenario_solves_the_loop_that_it_changes() {
    let text = gain_loop(Made::Native, 3.0, -2.0, "exchange = \"fresh\"\nstep = { size = 0.25 }");
    let registry = registry();
    let (mut system, problems) = toml::read(&text, Path::new("."), &registry);
    assert_eq!(problems, []);
    let scenario = "[[action]]\nat = 0.5\nscale = \"first.u\"\nby = 0.5\n";
    let (scenario, problems) = cosimo::system::scenario::read(scenario);
    assert_eq!(problems, []);
    system.scenario = Some(scenario);
    let mut run = Run::new(plan(&system, &registry).unwrap(), 1).unwrap();
    run.run_until(Time::new(0.5).unwrap()).unwrap();
    let x = run.output("lag.x").unwrap();
    // a b is half of what it was.
    shows(&run, "first.y", x / (1.0 + 3.0), 1e-12);
    shows(&run, "second.y", -2.0 * x / (1.0 + 3.0), 1e-12);
}
