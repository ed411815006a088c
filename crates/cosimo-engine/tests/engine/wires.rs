//! What wires make of outputs before they are inputs: units with an offset, sums, maps. Every expected number is
//! computed by hand, at the start and after steps.
#![allow(clippy::unwrap_used)] // helpers of tests are tests

use std::path::Path;

use crate::common::tap::TAP;
use cosimo::core::{Registry, Time};
use cosimo::engine::{Run, plan};
use cosimo::system::{Problem, Severity, toml};

fn registry() -> Registry {
    let mut registry = cosimo::registry();
    registry.add_source(&TAP);
    registry
}

fn planned(sources: &[(&str, &str)], more: &str) -> Result<cosimo::engine::Plan, Vec<Problem>> {
    let components: String = sources
        .iter()
        .map(|(name, source)| format!("[component.\"{name}\"]\nsource = '{source}'\n"))
        .collect();
    let step = if more.contains("[method]") { "" } else { "[method]\n" };
    let text = format!("[experiment]\nstop = 1\n{components}{more}\n{step}step = {{ size = 0.25 }}\n");
    let (system, problems) = toml::read(&text, Path::new("."), &registry());
    assert_eq!(problems, [], "{text}");
    plan(&system, &registry())
}

fn run(sources: &[(&str, &str)], more: &str) -> Run {
    Run::new(planned(sources, more).unwrap_or_else(|problems| panic!("{problems:#?}")), 1).unwrap()
}

fn close(run: &Run, path: &str, wanted: f64) {
    let found = run.output(path).unwrap();
    assert!((found - wanted).abs() < 1e-9, "{path} is {found}, expected {wanted}");
}

fn to(run: &mut Run, seconds: f64) {
    run.run_until(Time::new(seconds).unwrap()).unwrap();
}

#[test]
fn levels_of_temperature_are_converted_with_their_zero() {
    // 20 degC = 293.15 K = 68 degF, and one degree more per second; inputs are held, so one step late.
    let mut run = run(
        &[("a", "tap:T[degC]=20+1 v[km/h]=36|"), ("b", "tap:|T[K] F[degF] v[m/s]")],
        "[[connection]]\nfrom = 'a.T'\nto = 'b.T'\n[[connection]]\nfrom = 'a.T'\nto = 'b.F'\n[[connection]]\nfrom = 'a.v'\nto = 'b.v'\n",
    );
    close(&run, "b.T.seen", 293.15);
    close(&run, "b.F.seen", 68.0);
    close(&run, "b.v.seen", 10.0);
    to(&mut run, 1.0);
    close(&run, "b.T.seen", 293.15 + 0.75);
    close(&run, "b.F.seen", 68.0 + 0.75 * 1.8);
    let warnings: Vec<&str> = run.warnings().iter().map(|warning| warning.message.as_str()).collect();
    assert_eq!(warnings[0], "`a.T` [degC] is converted to `b.T` [K]: times 1 plus 273.15");
}

#[test]
fn inputs_that_move_are_converted_too() {
    let mut run = run(
        &[("a", "tap:T[degC]=20+1|"), ("b", "tap:|T[K]")],
        "[[connection]]\nfrom = 'a.T'\nto = 'b.T'\n[method]\ninput = 'linear'",
    );
    to(&mut run, 1.0);
    close(&run, "b.T.seen", 294.15);
}

#[test]
fn a_first_guess_is_in_the_unit_of_the_input_and_not_added_to_the_offset() {
    // Each passes the other's temperature on at once: b begins with its guess, 300 K, and a sees that in degC.
    let mut run = run(
        &[("a", "tap:|T[degC]"), ("b", "tap:|T[K]")],
        "[[connection]]\nfrom = 'a.T.seen'\nto = 'b.T'\n[[connection]]\nfrom = 'b.T.seen'\nto = 'a.T'\n[component.b.start]\nT = 300",
    );
    close(&run, "b.T.seen", 300.0);
    close(&run, "a.T.seen", 26.85);
    to(&mut run, 1.0);
    close(&run, "b.T.seen", 300.0);
}

#[test]
fn no_power_is_made_of_a_level() {
    let bond = "[[bond]]\na = { effort = 'a.T', flow = 'a.S' }\nb = { effort = 'b.T', flow = 'b.S' }\n";
    let sides = [("a", "tap:T[degC]=20|S[W/K]"), ("b", "tap:S[W/K]=1|T[K]")];
    let problems = planned(&sides, bond).unwrap_err();
    let errors: Vec<&Problem> =
        problems.iter().filter(|problem| problem.severity == Severity::Error).collect();
    assert_eq!(errors[0].code, "plan/no-power");
    assert_eq!(errors[0].message, "`a.T` [degC] has a unit with an offset and cannot be a factor of power");
}

#[test]
fn outputs_add_up_with_gains_and_an_offset() {
    // 2 * (3 + t) - 0.5 * 4 + 100, one step late.
    let wire = "[[connection]]\nfrom = [{ port = 'a.y', gain = 2 }, { port = 'b.y', gain = -0.5 }]\nto = 'c.u'\noffset = 100\n";
    let mut run = run(&[("a", "tap:y=3+1|"), ("b", "tap:y=4|"), ("c", "tap:|u")], wire);
    close(&run, "c.u.seen", 104.0);
    to(&mut run, 1.0);
    close(&run, "c.u.seen", 104.0 + 2.0 * 0.75);
    let twice = "[[connection]]\nfrom = 'a.y'\nto = 'c.u'\n[[connection]]\nfrom = 'b.y'\nto = 'c.u'\n";
    let problems = planned(&[("a", "tap:y=3|"), ("b", "tap:y=4|"), ("c", "tap:|u")], twice).unwrap_err();
    assert_eq!(problems[0].message, "input `c.u` is driven by `a.y` and by `b.y`");
}

#[test]
fn each_output_of_a_sum_is_converted_before_its_gain() {
    // 0.5 * (20 degC in K) + 0.5 * 300 K + 1 K.
    let wire = "[[connection]]\nfrom = [{ port = 'a.T', gain = 0.5 }, { port = 'b.T', gain = 0.5 }]\nto = 'c.T'\noffset = 1\n";
    let sources = [("a", "tap:T[degC]=20|"), ("b", "tap:T[K]=300|"), ("c", "tap:|T[K]")];
    close(&run(&sources, wire), "c.T.seen", 0.5 * 293.15 + 150.0 + 1.0);
    let bare = format!("{wire}convert = false\n");
    close(&run(&sources, &bare), "c.T.seen", 10.0 + 150.0 + 1.0);
}

#[test]
fn the_system_knows_units_better_than_simulators() {
    let sources = [("a", "tap:v[m/s]=36|"), ("b", "tap:|v[m/s]")];
    let wire = "[[connection]]\nfrom = 'a.v'\nto = 'b.v'\n[component.a.units]\nv = 'km/h'\n";
    close(&run(&sources, wire), "b.v.seen", 10.0);
    let wrong = "[[connection]]\nfrom = 'a.v'\nto = 'b.v'\n[component.a.units]\nw = 'km/h'\n";
    let problems = planned(&sources, wrong).unwrap_err();
    assert_eq!(problems[0].message, "component `a` has no port `w`");
}

#[test]
fn maps_take_another_value_for_each() {
    // The mode is 1 + 4 t: 1, 2, 3, 4, 5 at the communication points.
    let sources = [("a.b", "tap:mode=1+4|"), ("c", "tap:|u w")];
    let wire = "[[connection]]\nfrom = 'a.b.mode'\nto = 'c.u'\nmap = { 1 = 10, 2 = -20, 3 = 30, 4 = 7 }\ngain = 2\noffset = 1\n\
                [[connection]]\nfrom = 'a.b.mode'\nto = 'c.w'\n";
    let mut run = run(&sources, wire);
    close(&run, "c.u.seen", 21.0);
    close(&run, "c.w.seen", 1.0);
    to(&mut run, 0.5);
    close(&run, "c.u.seen", -39.0);
    close(&run, "a.b.mode->c.u", 30.0);
    let failed = run.run_until(Time::new(1.0).unwrap()).unwrap_err().to_string();
    assert!(
        failed.contains("simulator `a.b` failed")
            && failed.contains("`a.b.mode` is 5, but the map to `c.u` has entries for 1, 2, 3, 4 only"),
        "{failed}"
    );
}

#[test]
fn a_map_waits_for_inputs_that_are_not_settled() {
    // Before b has seen the output of a, its own is 0, for which there is no entry.
    let sources = [("a", "tap:mode=2|"), ("b", "tap:|mode"), ("c", "tap:|u")];
    let wires = |entries: &str| {
        format!(
            "[[connection]]\nfrom = 'a.mode'\nto = 'b.mode'\n[[connection]]\nfrom = 'b.mode.seen'\nto = 'c.u'\nmap = {{ {entries} }}\n"
        )
    };
    let mut good = run(&sources, &wires("2 = 5"));
    close(&good, "c.u.seen", 5.0);
    to(&mut good, 1.0);
    close(&good, "c.u.seen", 5.0);
    let failed = run(&sources, &wires("3 = 5")).run_until(Time::new(1.0).unwrap()).unwrap_err().to_string();
    assert!(failed.contains("`b.mode.seen` is 2, but the map to `c.u` has entries for"), "{failed}");
}

#[test]
fn a_single_pair_of_effort_and_flow_is_the_probable_bond() {
    let text = "experiment.stop = 1\n\
        component.spring = { source = \"native:oscillator/spring-damper\" }\n\
        component.mass = { source = \"native:oscillator/mass\" }\n\
        connection = [{ from = \"spring.F\", to = \"mass.F\" }, { from = \"mass.v\", to = \"spring.v\" }]\n";
    let (system, problems) = toml::read(text, Path::new("."), &registry());
    assert_eq!(problems, []);
    let found = cosimo::engine::bonds::bonds(&system, &registry()).unwrap();
    assert_eq!(found.len(), 1);
    assert!(found[0].is_certain());
    assert_eq!((&found[0].probable[..], found[0].candidates[0].wires), (&[0][..], [0, 1]));
}
