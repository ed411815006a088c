//! What a plan and a check say of a system, and what they do not say: each rule with a system on either side of it. The parts
//! are declared in their source: `part:u:N=1@0..2 >y:m/s through degree->0` has an input with a start value and limits, an output
//! that answers at once, and holds its inputs.
#![allow(clippy::unwrap_used)] // helpers of tests are tests

use std::path::Path;

use cosimo::core::interface::{Abilities, Interface, Port, ValueRange, ValueType};
use cosimo::core::registry::{InnerConnection, JoinRequest, JoinResult, OpenRequest, OpenResult};
use cosimo::core::simulator::{Events, Jacobian, Memory, Rollback};
use cosimo::core::{
    Inputs, Outputs, Registry, Setup, Simulator, SimulatorError, SourceEntry, StepResult, Time, Window,
};
use cosimo::engine::{Findings, Plan, Run, check, plan};
use cosimo::system::{Problem, Severity, System, toml};

/// What a part shows of its setup.
enum Tells {
    Nothing,
    Rewinds,
    Stop,
}

struct Part {
    interface: Interface,
    tells: Tells,
    state: Memory<f64>,
}

impl Simulator for Part {
    fn interface(&self) -> &Interface {
        &self.interface
    }
    fn initialize(&mut self, setup: &Setup) -> Result<(), SimulatorError> {
        match self.tells {
            Tells::Nothing => {}
            Tells::Rewinds => self.state.now = f64::from(u8::from(setup.rewinds)),
            Tells::Stop => self.state.now = setup.stop.map_or(0.0, Time::seconds),
        }
        Ok(())
    }
    fn set_inputs(&mut self, _: Time, _: &Inputs<'_>) -> Result<(), SimulatorError> {
        Ok(())
    }
    fn do_step(&mut self, window: Window, _: &Inputs<'_>) -> Result<StepResult, SimulatorError> {
        Ok(StepResult::end_of(window, 1))
    }
    fn get_outputs(&mut self, out: &mut Outputs<'_>) -> Result<(), SimulatorError> {
        out.values.fill(self.state.now);
        Ok(())
    }
    fn rollback(&mut self) -> Option<&mut dyn Rollback> {
        self.interface.abilities.rollback.then_some(&mut self.state)
    }
    fn jacobian(&mut self) -> Option<&mut dyn Jacobian> {
        self.interface.abilities.jacobian.then_some(self)
    }
    fn events(&mut self) -> Option<&mut dyn Events> {
        self.interface.abilities.events.then_some(self)
    }
}

impl Jacobian for Part {
    fn fill(&mut self, into: &mut [f64]) -> Result<(), SimulatorError> {
        into.fill(0.0);
        Ok(())
    }
}

impl Events for Part {
    fn next_event(&mut self) -> Result<Option<Time>, SimulatorError> {
        Ok(None)
    }
}

fn port(words: &str) -> Port {
    let (words, limits) = words.split_once('@').unwrap_or((words, "-inf..inf"));
    let (words, start) =
        words.split_once('=').map_or((words, None), |(words, start)| (words, start.parse().ok()));
    let (name, unit) = words.split_once(':').unwrap_or((words, "?"));
    let (least, largest) = limits.split_once("..").unwrap();
    let limits = ValueRange { least: least.parse().unwrap(), largest: largest.parse().unwrap() };
    let carries = if unit == "int" { ValueType::Integer } else { ValueType::Real };
    Port { start, limits, value_type: carries, ..Port::new(name, unit, "") }
}

fn open(request: &OpenRequest<'_>) -> OpenResult {
    let words = request.source.strip_prefix("part:").unwrap_or_default();
    let mut interface = Interface {
        abilities: Abilities { states: false, serialize_state: false, ..Abilities::NATIVE },
        ..Interface::default()
    };
    let mut tells = Tells::Nothing;
    for word in words.split_whitespace() {
        let can = &mut interface.abilities;
        match word {
            "stuck" => can.rollback = false,
            "one-size" => can.variable_step = false,
            "silent" => can.direct_response = false,
            "jacobian" => can.jacobian = true,
            "early" => can.early_return = true,
            "events" => can.events = true,
            "tells" => tells = Tells::Rewinds,
            "stops" => tells = Tells::Stop,
            "lines" => can.wave_boundary = true,
            "stepwise" => can.returns_each_internal_step = true,
            "through" => {
                let (inputs, outputs) = (interface.inputs.len(), interface.outputs.len());
                interface.feedthrough =
                    (0..outputs).flat_map(|output| (0..inputs).map(move |input| (output, input))).collect();
            }
            _ => match (word.strip_prefix('>'), word.split_once("->")) {
                (Some(output), _) => interface.outputs.push(port(output)),
                (_, Some(("degree", degree))) => can.input_degree = degree.parse().unwrap(),
                (_, Some(("rows", rows))) => {
                    let (first, last) = rows.split_once("..").unwrap();
                    interface.recorded = Some((first.parse().unwrap(), last.parse().unwrap()));
                }
                (_, Some(("says", count))) => {
                    interface.warnings = (0..count.parse().unwrap()).map(|k: usize| k.to_string()).collect();
                }
                (_, Some((_, inner))) => interface.internal_step = Some(inner.parse().unwrap()),
                _ => interface.inputs.push(port(word)),
            },
        }
    }
    Ok(Box::new(Part { interface, tells, state: Memory::new(0.0) }))
}

const PART: SourceEntry = SourceEntry {
    name: "part",
    summary: "ports and abilities as they are declared",
    claims: |source| source.starts_with("part:"),
    open,
    parameters: |_, _| Vec::new(),
    models: Vec::new,
    join: Some(join),
};

/// All ports of the members that are not driven from inside alone; what it was asked for is among its facts.
fn join(request: &JoinRequest<'_>) -> JoinResult {
    let mut interface = Interface {
        abilities: Abilities { states: false, serialize_state: false, ..Abilities::NATIVE },
        ..Interface::default()
    };
    for (place, member) in request.members.iter().enumerate() {
        assert!(member.joined);
        let part = open(member).map_err(|_| Vec::new())?;
        let named = |port: &Port| Port { name: format!("{}.{}", member.name, port.name), ..port.clone() };
        let inner =
            |port: usize| request.connections.iter().any(|wire| wire.to == (place, port) && !wire.outside);
        let inputs = part.interface().inputs.iter().enumerate();
        interface.inputs.extend(inputs.filter(|(port, _)| !inner(*port)).map(|(_, port)| named(port)));
        interface.outputs.extend(part.interface().outputs.iter().map(named));
        interface.members.push(member.name.into());
    }
    interface.facts = request
        .connections
        .iter()
        .map(|InnerConnection { to, terms, constant, outside, start }| {
            (format!("{to:?}"), format!("{terms:?} {constant:?} {outside} {start:?}"))
        })
        .collect();
    Ok(Box::new(Part { interface, tells: Tells::Nothing, state: Memory::new(0.0) }))
}

fn registry() -> Registry {
    let mut registry = cosimo::registry();
    registry.add_source(&PART);
    registry
}

/// A system out of parts, with more lines of its file.
fn system(parts: &[(&str, &str)], rest: &str) -> System {
    let mut text = String::from("experiment.stop = 1.0\n");
    let rest = if rest.contains("method.step") {
        rest.to_owned()
    } else {
        format!("method.step.size = 0.1\n{rest}")
    };
    for (name, words) in parts {
        let (words, more) = words.split_once(';').unwrap_or((words, ""));
        text += &format!("component.{name} = {{ source = 'part:{words}'{more} }}\n");
    }
    let (system, problems) = toml::read(&(text + &rest), Path::new("."), &registry());
    assert_eq!(problems, [], "{rest}");
    system
}

fn found(parts: &[(&str, &str)], rest: &str) -> Findings {
    check(&system(parts, rest), &registry(), Vec::new())
}

/// The codes and what each problem is about, as `code component.port`.
fn named(problems: &[Problem]) -> Vec<String> {
    let about = |problem: &Problem| match &problem.about {
        None => String::new(),
        Some(about) => match &about.port {
            None => format!(" {}", about.component),
            Some(port) => format!(" {}.{port}", about.component),
        },
    };
    problems.iter().map(|problem| format!("{}{}", problem.code, about(problem))).collect()
}

fn codes(parts: &[(&str, &str)], rest: &str) -> Vec<String> {
    named(&found(parts, rest).problems)
}

fn planned(parts: &[(&str, &str)], rest: &str) -> Plan {
    plan(&system(parts, rest), &registry()).unwrap_or_else(|problems| panic!("{problems:#?}"))
}

const NOTHING: [&str; 0] = [];

/// A giver and a taker, and a wire between them.
fn pair(giver: &str, taker: &str, rest: &str) -> Vec<String> {
    codes(&[("a", giver), ("b", taker)], &format!("connection = [{{ from = 'a.y', to = 'b.u' }}]\n{rest}"))
}

#[test]
fn an_input_without_a_driver_needs_a_start_value() {
    assert_eq!(codes(&[("a", "u:N=1.5 >y:N")], ""), ["check/constant-input a.u"]);
    assert_eq!(codes(&[("a", "u:N=1.5 >y:N;, start = { u = 2.0 }")], ""), NOTHING);
    assert_eq!(codes(&[("a", "u:N >y:N;, start = { u = 2.0 }")], ""), NOTHING);
    assert_eq!(codes(&[("a", "u:N >y:N")], ""), ["plan/unconnected-input a.u"]);
    assert_eq!(codes(&[("a", "u:N >y:N;, start = { v = 2.0 }")], "").len(), 2);
    assert_eq!(pair(">y:N", "u:N=1.5", ""), NOTHING);
}

#[test]
fn constants_are_those_of_the_file_then_of_the_simulator_then_offsets() {
    let parts = [("a", ">y:N"), ("b", "u:N=1.5 v:N=2.5 w:N;, start = { v = 3.5 }")];
    let plan = planned(&parts, "connection = [{ from = 'a.y', to = 'b.w', gain = -2.0, offset = 7.0 }]");
    let couplings = &plan.layout.topology.couplings;
    assert_eq!([0, 1, 2].map(|input| couplings.constant(input)), [1.5, 3.5, 7.0]);
    assert_eq!([0, 1, 2].map(|input| couplings.value(input, &[10.0])), [1.5, 3.5, -13.0]);
}

#[test]
fn units_are_converted_with_factor_and_offset() {
    let wired = |from: &str, to: &str, rest: &str| {
        let wire = format!("connection = [{{ from = 'a.y', to = 'b.u'{rest} }}]");
        let plan = planned(&[("a", &format!(">y:{from}")), ("b", &format!("u:{to}"))], &wire);
        let value = plan.layout.topology.couplings.value(0, &[100.0]);
        (value, named(&plan.warnings))
    };
    assert_eq!(wired("kN", "N", ""), (1e5, vec!["plan/unit-converted b.u".to_owned()]));
    assert_eq!(wired("N", "N", ""), (100.0, Vec::new()));
    assert_eq!(wired("kN", "N", ", convert = false"), (100.0, Vec::new()));
    let (kelvin, _) = wired("degC", "K", "");
    assert!((kelvin - 373.15).abs() < 1e-10, "{kelvin}");
    let (celsius, _) = wired("K", "degC", ", offset = 1.0");
    assert!((celsius - (100.0 - 273.15 + 1.0)).abs() < 1e-10, "{celsius}");
    // A gain applies to what is converted, so to its offset, too.
    let plan = planned(
        &[("a", ">y:degC"), ("b", "u:K")],
        "connection = [{ from = 'a.y', to = 'b.u', gain = 2.0, offset = 1.0 }]",
    );
    let doubled = plan.layout.topology.couplings.value(0, &[10.0]);
    assert!((doubled - (2.0 * 283.15 + 1.0)).abs() < 1e-10, "{doubled}");
    assert_eq!(pair(">y:N", "u:m", ""), ["plan/unit-mismatch b.u"]);
    // The words say whether something is added or taken away.
    let said = |from: &str, to: &str| {
        let parts = [("a", format!(">y:{from}")), ("b", format!("u:{to}"))];
        let parts: Vec<(&str, &str)> = parts.iter().map(|(name, part)| (*name, part.as_str())).collect();
        let found = found(&parts, "connection = [{ from = 'a.y', to = 'b.u' }]");
        found.problems[0].message.clone()
    };
    assert!(said("degC", "K").ends_with("times 1 plus 273.15"), "{}", said("degC", "K"));
    assert!(said("K", "degC").ends_with("times 1 minus 273.15"), "{}", said("K", "degC"));
    assert!(said("kN", "N").ends_with("times 1000"), "{}", said("kN", "N"));
}

#[test]
fn a_unit_on_one_side_only_is_a_question() {
    assert_eq!(pair(">y:N", "u:?", ""), ["check/unit-missing b.u"]);
    assert_eq!(pair(">y:?", "u:N", ""), ["check/unit-missing a.y"]);
    assert_eq!(pair(">y:?", "u:?", ""), NOTHING);
    let ends = [("a", ">y:N"), ("b", "u:?")];
    assert_eq!(codes(&ends, "connection = [{ from = 'a.y', to = 'b.u', convert = false }]"), NOTHING);
    assert_eq!(codes(&ends, "connection = [{ from = 'a.y', to = 'b.u', map = { 1 = 2 } }]"), NOTHING);
}

#[test]
fn integers_are_rounded_to_and_reals_take_everything() {
    assert!(pair(">y:1", "u:int", "").contains(&"plan/type-rounded".to_owned()));
    assert_eq!(pair(">y:int", "u:int", ""), NOTHING);
    assert!(!pair(">y:int", "u:1", "").contains(&"plan/type-rounded".to_owned()));
}

#[test]
fn limits_hold_for_start_values_and_for_inputs_that_stay() {
    let outside = ["check/outside-limits a.u"];
    assert_eq!(codes(&[("a", "u:N=1@0..2;, start = { u = 3.0 }")], ""), outside);
    assert_eq!(codes(&[("a", "u:N=1@0..2;, start = { u = 2.0 }")], ""), NOTHING);
    assert_eq!(codes(&[("a", "u:N=3@0..2")], ""), ["check/constant-input a.u", "check/outside-limits a.u"]);
    assert_eq!(codes(&[("a", "u:N=1@0..2")], ""), ["check/constant-input a.u"]);
    // An input that is driven may begin wherever its maker likes.
    assert_eq!(pair(">y:N", "u:N=3@0..2", ""), NOTHING);
}

#[test]
fn inputs_have_one_driver() {
    let parts = [("a", ">y:N"), ("b", "u:N")];
    let twice = "connection = [{ from = 'a.y', to = 'b.u' }, { from = 'a.y', to = 'b.u' }]";
    assert_eq!(codes(&parts, twice), ["plan/driven-twice b.u"]);
    assert_eq!(codes(&parts, "connection = [{ from = ['a.y', 'a.y'], to = 'b.u' }]"), NOTHING);
    let wrong = |wire: &str| codes(&parts, &format!("connection = [{{ {wire} }}]"));
    assert_eq!(wrong("from = 'a.x', to = 'b.u'"), ["plan/unknown-port a.x"]);
    assert!(wrong("from = 'b.u', to = 'b.u'").contains(&"plan/wrong-causality b.u".to_owned()));
    assert!(wrong("from = 'a.y', to = 'a.y'").contains(&"plan/wrong-causality a.y".to_owned()));
}

#[test]
fn counts_are_those_of_the_parts() {
    let parts = [("a", "u:N=1 v:N=1 >y:N >z:N"), ("b", "u:N >y:N;, step = 0.2"), ("c", ">y:N")];
    let found = found(&parts, "connection = [{ from = 'a.y', to = 'b.u' }]");
    assert_eq!((found.components, found.inputs, found.outputs, found.bonds, found.lines), (3, 3, 4, 0, 0));
    assert_eq!(found.unread_outputs, ["a.z", "b.y", "c.y"]);
    let own: Vec<_> = found.own_steps.iter().map(|own| (own.component.as_str(), own.size)).collect();
    assert_eq!(own, [("b", 0.2)]);
    let expected = ["check/constant-input a.u", "check/constant-input a.v", "check/lonely-component c"];
    assert_eq!(named(&found.problems), expected);
    assert_eq!((found.count(Severity::Warning), found.count(Severity::Error)), (3, 0));
    // A single component has nothing to be connected to.
    assert_eq!(codes(&[("c", ">y:N")], ""), NOTHING);
}

const BOND: &str =
    "bond = [{ name = 'j', a = { effort = 'a.F', flow = 'a.v' }, b = { effort = 'b.F', flow = 'b.v' } }]\n";

fn bonded(a: &str, b: &str, rest: &str) -> Vec<String> {
    codes(&[("a", a), ("b", b)], &format!("{BOND}{rest}"))
}

#[test]
fn bonds_are_made_of_powers() {
    let (gives, takes) = (">F:N v:m/s", "F:N >v:m/s");
    assert_eq!(bonded(gives, takes, ""), NOTHING);
    assert_eq!(bonded(">F:N v:m", "F:N >v:m", "")[0], "plan/no-power a.v");
    assert_eq!(bonded(">F:? v:m/s", "F:N >v:m/s", ""), ["plan/no-unit a.F"]);
    assert_eq!(bonded(">F:N v:?", "F:N >v:m/s", ""), ["plan/no-unit a.F"]);
    assert_eq!(bonded(">F:degC v:m/s", "F:degC >v:m/s", "")[0], "plan/no-power");
    assert_eq!(bonded(gives, ">F:N v:m/s", "")[..2], ["plan/bond-causality", "plan/bond-causality"]);
    let signs = |a: &str, b: &str, more: &str| {
        let plan = planned(&[("a", a), ("b", b)], &BOND.replace("name = 'j'", &format!("name = 'j'{more}")));
        let signs: Vec<f64> = plan.layout.topology.bonds[0].sides.iter().map(|side| side.sign).collect();
        let gains = [0, 1].map(|input| plan.layout.topology.couplings.value(input, &[1.0, 1.0]));
        (signs, gains)
    };
    // The power that enters each side, in watts: from a to b unless said otherwise.
    assert_eq!(signs(gives, takes, ""), (vec![-1.0, 1.0], [1.0, 1.0]));
    assert_eq!(signs(gives, takes, ", direction = 'b-to-a'"), (vec![1.0, -1.0], [1.0, 1.0]));
    assert_eq!(signs(gives, takes, ", opposite = 'flow'"), (vec![-1.0, -1.0], [-1.0, 1.0]));
    assert_eq!(signs(gives, takes, ", opposite = 'effort'"), (vec![-1.0, -1.0], [1.0, -1.0]));
    assert_eq!(signs(">F:kN v:m/s", "F:N >v:km/s", ""), (vec![-1e3, 1e3], [1e3, 1e3]));
    // Its outputs may be read elsewhere, which is worth a word.
    let parts = [("a", gives), ("b", takes), ("c", "u:N=0")];
    let read = codes(&parts, &format!("{BOND}connection = [{{ from = 'a.F', to = 'c.u' }}]"));
    assert_eq!(read, ["check/bond-also-wired a.F"]);
}

#[test]
fn a_junction_sums_what_the_others_give() {
    let parts = [("a", ">F:N v:m/s"), ("b", "F:N >v:m/s"), ("c", "F:N >v:km/s")];
    let junction = |common: &str, sides: &str| {
        format!("junction = [{{ name = 'j', common = '{common}', sides = [{sides}] }}]")
    };
    let side = |part: &str, more: &str| format!("{{ effort = '{part}.F', flow = '{part}.v'{more} }}");
    let three = |more: [&str; 3]| {
        let sides = [side("a", more[0]), side("b", more[1]), side("c", more[2])].join(", ");
        let plan = planned(&parts, &junction("effort", &sides));
        let couplings = &plan.layout.topology.couplings;
        let signs: Vec<f64> = plan.layout.topology.bonds[0].sides.iter().map(|side| side.sign).collect();
        // Outputs are a.F, b.v and c.v; inputs a.v, b.F and c.F.
        ([0, 1, 2].map(|input| couplings.value(input, &[5.0, 2.0, 3.0])), signs)
    };
    // Powers that enter sum to zero: 5 v_a + 5 * 2 + 5 * 3000 = 0.
    assert_eq!(three(["", "", ""]), ([-3002.0, 5.0, 5.0], vec![1.0, 1.0, 1e3]));
    let leaves = ", power = 'leaves'";
    assert_eq!(three([leaves, "", ""]), ([3002.0, 5.0, 5.0], vec![-1.0, 1.0, 1e3]));
    assert_eq!(three([leaves, leaves, ""]), ([2998.0, 5.0, 5.0], vec![-1.0, -1.0, 1e3]));
    let none = codes(&parts, &junction("flow", &[side("a", ""), side("b", ""), side("c", "")].join(", ")));
    assert_eq!(none[0], "plan/junction-causality", "two sides give the flow");
}

#[test]
fn steps_longer_than_the_run_are_named() {
    let sized = |size: f64, own: &str| {
        codes(&[("a", &format!(">y:N{own}"))], &format!("method.step.size = {size:?}"))
    };
    assert_eq!(sized(1.0, ""), NOTHING);
    assert_eq!(sized(1.5, ""), ["check/long-step"]);
    assert_eq!(sized(0.5, ";, step = 1.0"), NOTHING);
    assert_eq!(sized(0.5, ";, step = 1.5"), ["check/long-step a"]);
    assert_eq!(sized(1.0, ";, step = 0.5"), NOTHING);
}

#[test]
fn steps_are_multiples_of_those_inside() {
    let inside = |inner: f64, size: f64, more: &str| {
        let part = format!(">y:N inner->{inner:?}{more}");
        let found = found(&[("a", &part)], &format!("method.step.size = {size:?}"));
        let hint = found.problems.first().and_then(|problem| problem.hint.clone());
        (named(&found.problems), hint.unwrap_or_default())
    };
    assert_eq!(inside(0.05, 0.1, "").0, NOTHING);
    assert_eq!(inside(0.1, 0.1, "").0, NOTHING);
    let (codes, hint) = inside(0.04, 0.1, "");
    assert_eq!(codes, ["check/step-size a"]);
    assert!(hint.contains("0.08 s") || hint.contains("0.12 s"), "{hint}");
    let (codes, hint) = inside(0.25, 0.1, "");
    assert_eq!(codes, ["check/step-size a"]);
    assert!(hint.contains("0.25 s"), "{hint}");
    // A shorter step of its own is what counts.
    assert_eq!(inside(0.05, 0.25, ";, step = 0.05").0, NOTHING);
    assert_eq!(inside(0.1, 0.2, ";, step = 0.05").0, ["check/step-size a"]);
    // Where sizes change, the first one says nothing.
    let adaptive = "method.step = { size = 0.1, max = 0.2, controller = 'pi', estimate = 'milne' }";
    assert!(!codes_of(&found(&[("a", ">y:N inner->0.04")], adaptive)).contains(&"check/step-size"));
}

fn codes_of(found: &Findings) -> Vec<&'static str> {
    found.problems.iter().map(|problem| problem.code).collect()
}

#[test]
fn own_steps_fit_into_common_ones_or_the_other_way_round() {
    let own = |size: f64, every: f64| {
        let part = format!(">y:N;, step = {every:?}");
        let found = found(&[("a", &part)], &format!("method.step.size = {size:?}"));
        let hint = found.problems.first().and_then(|problem| problem.hint.clone());
        (named(&found.problems), hint.unwrap_or_default())
    };
    for every in [0.1, 0.05, 0.02, 0.2, 0.5] {
        assert_eq!(own(0.1, every).0, NOTHING, "{every}");
    }
    for (every, below, above) in [(0.25, "0.2 s", "0.3"), (0.04, "0.03333", "0.05 s")] {
        let (codes, hint) = own(0.1, every);
        assert_eq!(codes, ["plan/own-step a"], "{every}");
        let places = [hint.find(below), hint.find(above)];
        assert!(places[0].is_some() && places[0] < places[1], "{every}: {hint}");
    }
    assert_eq!(own(0.1, 1e-11).0, ["plan/own-step a"], "ten billion steps in one");
    assert_eq!(own(0.1, 1e-9).0, NOTHING);
    assert_eq!(own(0.1, 1e-10).0, NOTHING, "a billion is allowed");
}

#[test]
fn the_last_step_is_cut_only_for_those_that_take_it() {
    let last = |part: &str, size: f64, more: &str| {
        codes(&[("a", part)], &format!("method.step.size = {size:?}\n{more}"))
    };
    assert_eq!(last(">y:N one-size", 0.1, ""), NOTHING);
    assert_eq!(last(">y:N one-size", 0.3, "")[..1], ["plan/needs-variable-step a"]);
    assert_eq!(last(">y:N", 0.3, ""), NOTHING);
    assert_eq!(last(">y:N one-size", 0.3, "experiment.end = 'after'"), NOTHING);
    assert_eq!(last(">y:N one-size;, step = 0.25", 0.125, ""), NOTHING, "its own step counts");
    assert_eq!(last(">y:N one-size;, step = 0.3", 0.1, "")[..1], ["plan/needs-variable-step a"]);
}

#[test]
fn methods_ask_each_simulator_for_what_they_need() {
    let waveform = "method.iteration = 'waveform'";
    assert_eq!(pair(">y:N", "u:N >y:N stuck", waveform), ["plan/needs-rollback b"]);
    assert_eq!(pair(">y:N", "u:N >y:N", waveform), NOTHING);
    let adaptive = "method.step = { size = 0.1, max = 0.2, controller = 'pi', estimate = 'milne' }";
    assert_eq!(pair(">y:N one-size", "u:N", adaptive), ["plan/needs-variable-step a"]);
    assert_eq!(pair(">y:N", "u:N", adaptive), NOTHING);
    // A step of its own that is longer than any other never is a window.
    assert_eq!(pair(">y:N one-size;, step = 0.25", "u:N", adaptive), NOTHING);
    assert_eq!(pair(">y:N one-size;, step = 0.2", "u:N", adaptive), ["plan/needs-variable-step a"]);
    let declared = "method.correction.nepce.feedthrough = 'declared'";
    assert_eq!(pair("v:N=0 >y:N through", "u:N", declared)[0], "plan/needs-jacobian a");
    assert_eq!(pair("v:N=0 >y:N through jacobian", "u:N", declared), ["check/constant-input a.v"]);
    assert_eq!(pair("v:N=0 >y:N", "u:N", declared), ["check/constant-input a.v"]);
    let residual = "method.step = { size = 0.1, estimate = { power-residual = { energy_scale = 1.0 } } }";
    assert_eq!(pair(">y:N", "u:N", residual), ["plan/needs-bond"]);
    assert_eq!(bonded(">F:N v:m/s", "F:N >v:m/s", residual), NOTHING);
    let taylor = "method.input = 'taylor'";
    assert_eq!(pair(">y:N", "u:N", taylor), ["plan/needs-slopes a"]);
    let rest = format!("connection = [{{ from = 'a.y', to = 'b.u' }}]\n{taylor}");
    let hint = found(&[("a", ">y:N"), ("b", "u:N")], &rest).problems[0].hint.clone().unwrap();
    assert!(hint.contains("`linear`"), "the first line without slopes: {hint}");
}

#[test]
fn degrees_that_an_input_does_not_follow_are_named() {
    let degree = |input: &str, follows: u8| {
        pair(">y:N", &format!("u:N degree->{follows}"), &format!("method.input = '{input}'"))
    };
    assert_eq!(degree("linear", 0), ["plan/input-degree b.u"]);
    assert_eq!(degree("linear", 1), NOTHING);
    assert_eq!(degree("quadratic", 1), ["plan/input-degree b.u"]);
    assert_eq!(degree("quadratic", 2), NOTHING);
    assert_eq!(degree("hold", 0), NOTHING);
    // An input that stays follows nothing.
    assert_eq!(codes(&[("a", "u:N=1 degree->0")], "method.input = 'linear'"), ["check/constant-input a.u"]);
}

#[test]
fn an_approximation_by_feedthrough_needs_both_kinds_of_inputs() {
    let causal =
        "method.input = 'causal'\nconnection = [{ from = 'a.y', to = 'b.u' }, { from = 'b.y', to = 'a.u' }]";
    let both = |a: &str, b: &str| codes(&[("a", a), ("b", b)], causal);
    let (passes, keeps) = ("u:N >y:N through", "u:N >y:N");
    assert_eq!(both(passes, keeps), NOTHING);
    assert_eq!(both(keeps, keeps), ["plan/nothing-to-choose"]);
    let loud = both(passes, passes);
    assert!(loud.contains(&"plan/nothing-to-choose".to_owned()), "{loud:?}");
    let plain = causal.replace("causal", "linear");
    assert_eq!(codes(&[("a", keeps), ("b", keeps)], &plain), NOTHING);
}

#[test]
fn silent_simulators_are_named_where_they_are_asked_between_steps() {
    let silent = "u:N >y:N through silent";
    let wires = "connection = [{ from = 'a.y', to = 'b.u' }]\n";
    let asked = |b: &str, rest: &str| codes(&[("a", ">y:N"), ("b", b)], &format!("{wires}{rest}"));
    let fresh = "method.exchange = 'fresh'";
    assert_eq!(asked(silent, fresh), ["plan/answers-between-steps b"]);
    assert_eq!(asked(silent, ""), NOTHING);
    assert_eq!(asked("u:N >y:N silent", fresh), NOTHING);
    assert_eq!(asked("u:N >y:N through", fresh), NOTHING);
    // Fresh values of an input that passes to no output ask nothing.
    let parts = [("a", ">y:N"), ("b", "u:N=0 >y:N through w:N silent")];
    let other = codes(&parts, "connection = [{ from = 'a.y', to = 'b.w' }]\nmethod.exchange = 'fresh'");
    assert_eq!(other, ["check/constant-input b.u"]);
    let difference = "method.correction.nepce.feedthrough = 'difference'";
    assert_eq!(asked(silent, difference), ["plan/answers-between-steps b"]);
    assert_eq!(asked("u:N >y:N silent", difference), NOTHING);
}

#[test]
fn events_inside_a_step_are_heard_of_where_all_can_go_back() {
    let heard = |giver: &str, taker: &str| pair(giver, taker, "");
    let eventful = ">y:N events early";
    assert_eq!(heard(eventful, "u:N"), NOTHING);
    assert_eq!(heard(eventful, "u:N stuck"), ["plan/events-inside"]);
    assert_eq!(heard(eventful, "u:N one-size"), ["plan/events-inside"]);
    assert_eq!(heard(&format!("{eventful} stuck"), "u:N"), ["plan/events-inside"]);
    assert_eq!(heard(">y:N events", "u:N stuck"), NOTHING, "it does not stop");
    // Events that no other component hears of need no common instant.
    assert_eq!(
        codes(&[("a", eventful), ("b", ">y:N stuck")], "")[..],
        ["check/lonely-component a", "check/lonely-component b"]
    );
}

#[test]
fn controls_without_anything_to_control_are_named() {
    let step = |words: &str| codes(&[("a", ">y:N")], &format!("method.step = {{ {words} }}"));
    assert_eq!(step("size = 0.1, max = 0.2, controller = 'pi'"), ["plan/nothing-to-control"]);
    assert_eq!(step("size = 0.1, controller = 'pi', estimate = 'milne'"), ["plan/no-maximum"]);
    assert_eq!(step("size = 0.1, max = 0.2, controller = 'pi', estimate = 'milne'"), NOTHING);
    assert_eq!(step("size = 0.1, reject = 'above-one'"), ["plan/nothing-to-reject"]);
    assert_eq!(step("max = 0.1"), ["plan/no-step-size"]);
    let scaled = |estimate: &str, bond: &str| {
        let rest = format!(
            "{}method.step = {{ size = 0.1, estimate = {estimate} }}",
            BOND.replace("name = 'j'", &format!("name = 'j'{bond}"))
        );
        codes(&[("a", ">F:N v:m/s"), ("b", "F:N >v:m/s")], &rest)
    };
    assert_eq!(scaled("'power-residual'", ""), ["plan/no-energy-scale"]);
    assert_eq!(scaled("'power-residual'", ", energy_scale = 2.0"), NOTHING);
    assert_eq!(scaled("{ power-residual = { energy_scale = 1.0 } }", ""), NOTHING);
    assert_eq!(scaled("'milne'", ""), NOTHING);
}

#[test]
fn loops_are_solved_at_the_start_and_go_round_once_per_step() {
    let gain = "u:N >y:N through";
    let ring = |a: &str, b: &str, rest: &str| {
        let wires = "connection = [{ from = 'a.y', to = 'b.u' }, { from = 'b.y', to = 'a.u' }]\n";
        codes(&[("a", a), ("b", b)], &format!("{wires}{rest}"))
    };
    let named = |found: Vec<String>| {
        found.into_iter().map(|code| code.split(' ').next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(named(ring(gain, gain, "")), ["plan/delayed-loop"]);
    assert_eq!(ring(gain, gain, "method.exchange = 'fresh'"), NOTHING);
    assert_eq!(ring(gain, gain, "method.iteration = 'waveform'"), NOTHING);
    assert_eq!(ring(gain, "u:N >y:N", ""), NOTHING);
    let eventful = named(ring(gain, "u:N >y:N through events", "method.exchange = 'fresh'"));
    assert_eq!(eventful, ["plan/algebraic-loop"]);
    let one_stale = "method.exchange = { default = 'fresh', 'a.u' = 'stale' }";
    assert_eq!(named(ring(gain, gain, one_stale)), ["plan/delayed-loop"]);
}

#[test]
fn names_of_inputs_in_choices_exist() {
    let choice = |axis: &str| pair(">y:N", "u:N", axis);
    for axis in [
        "input = { default = 'hold', 'b.u' = 'linear' }",
        "correction = { default = 'none', 'b.u' = 'nepce' }",
    ] {
        assert_eq!(choice(&format!("method.{axis}")), NOTHING);
        let wrong = choice(&format!("method.{}", axis.replace("b.u", "b.w")));
        assert_eq!(wrong, ["plan/unknown-port"], "{axis}");
    }
    assert_eq!(choice("method.exchange = { default = 'stale', 'b.w' = 'fresh' }"), ["plan/unknown-port"]);
}

/// What only follows from what the reader of a file has said is not said again.
#[test]
fn what_follows_from_the_file_is_left_out() {
    let parts = [("a", "u:N >y:N"), ("b", ">y:N")];
    let system = system(&parts, "");
    let after = |reading: Vec<Problem>| named(&check(&system, &registry(), reading).problems);
    let plain = check(&system, &registry(), Vec::new()).problems;
    assert_eq!(named(&plain)[0], "plan/unconnected-input a.u");
    let span = plain[0].span.clone();
    let error = Problem::error("system/value", "", span.clone());
    assert!(!after(vec![error.clone()]).contains(&"plan/unconnected-input a.u".to_owned()));
    let warning = Problem::warning("system/value", "", span.clone());
    assert!(after(vec![warning]).contains(&"plan/unconnected-input a.u".to_owned()));
    let elsewhere = Problem::error("system/value", "", span.end + 1..span.end + 2);
    assert!(after(vec![elsewhere]).contains(&"plan/unconnected-input a.u".to_owned()));
    let nowhere = Problem::error("system/value", "", 0..0);
    assert!(after(vec![nowhere]).contains(&"plan/unconnected-input a.u".to_owned()));
    assert!(after(vec![error.clone()]).contains(&"system/value".to_owned()));
    // In the choice of the step a default stands in for whatever could not be read.
    let long = super::findings::system(&[("a", ">y:N")], "method.step = { size = 2.0, reject = 'never' }");
    let step = long.methods.step.span.clone();
    let said = |reading: Vec<Problem>| named(&check(&long, &registry(), reading).problems);
    assert_eq!(said(Vec::new()), ["check/long-step"]);
    assert_eq!(
        said(vec![Problem::error("system/value", "", step.start + 1..step.start + 2)]),
        ["system/value"]
    );
    assert_eq!(said(vec![Problem::error("system/value", "", 0..1)]).len(), 2);
    assert_eq!(said(vec![Problem::error("system/value", "", step.end..step.end + 3)]).len(), 2);
}

#[test]
fn a_history_that_is_shorter_than_inputs_look_back_is_named() {
    let with = |samples: usize, input: &str| {
        let mut text = String::from("time,a.y\n");
        (1..=samples).rev().for_each(|k| text += &format!("{:?},1.0\n", -0.1 * k as f64));
        let file = crate::common::folder().join(format!("history-{samples}-{input}.csv"));
        std::fs::write(&file, text).unwrap();
        pair(
            ">y:N",
            "u:N",
            &format!("experiment.history = {:?}\nmethod.input = '{input}'", file.display().to_string()),
        )
    };
    assert_eq!(with(1, "quadratic"), ["plan/short-history"]);
    for (samples, input) in [(2, "quadratic"), (3, "quadratic"), (1, "linear"), (1, "hold")] {
        assert_eq!(with(samples, input), NOTHING, "{samples} {input}");
    }
}

/// A simulator hears of the stop time only where no step goes beyond it.
#[test]
fn the_stop_time_is_told_where_it_is_kept() {
    let told = |end: &str| {
        let rest = format!("experiment.end = '{end}'\nmethod.step.size = 0.3");
        Run::new(planned(&[("a", ">y:N stops")], &rest), 1).unwrap().output("a.y").unwrap()
    };
    assert_eq!((told("exact"), told("after")), (1.0, 0.0));
}

mod bonds {
    //! Undeclared bonds, found among connections.
    use super::*;
    use cosimo::engine::bonds::{Suggestion, bonds};
    use cosimo::system::Opposite;

    fn suggested(a: &str, b: &str, wires: &[&str]) -> Vec<Suggestion> {
        let wires: Vec<String> = wires
            .iter()
            .map(|wire| {
                let (from, to) = wire.split_once(' ').unwrap();
                let (to, more) = to.split_once(' ').unwrap_or((to, ""));
                match from.strip_prefix('-') {
                    Some(from) => format!("{{ from = '{from}', to = '{to}', gain = -1.0{more} }}"),
                    None => format!("{{ from = '{from}', to = '{to}'{more} }}"),
                }
            })
            .collect();
        let rest = format!("connection = [{}]", wires.join(", "));
        bonds(&system(&[("a", a), ("b", b)], &rest), &registry()).unwrap()
    }

    const GIVES: &str = ">F:N v:m/s";
    const TAKES: &str = "F:N >v:m/s";
    const PAIR: [&str; 2] = ["a.F b.F", "b.v a.v"];

    #[test]
    fn two_wires_that_go_opposite_ways_and_make_a_power() {
        let [found] = &suggested(GIVES, TAKES, &PAIR)[..] else { panic!() };
        assert!(found.is_certain());
        let candidate = &found.candidates[0];
        assert_eq!((candidate.bond.name.as_str(), candidate.bond.opposite), ("a-b", Opposite::Neither));
        assert_eq!((candidate.wires, &found.probable[..]), ([0, 1], &[0][..]));
        let paths =
            [&candidate.bond.a, &candidate.bond.b].map(|side| [side.effort.0.as_str(), side.flow.0.as_str()]);
        assert_eq!(paths, [["a.F", "a.v"], ["b.F", "b.v"]]);
        assert_eq!(candidate.units, ["N", "m/s"]);
        // Whichever wire comes first, the effort is the effort.
        let [found] = &suggested(GIVES, TAKES, &[PAIR[1], PAIR[0]])[..] else { panic!() };
        assert_eq!(found.candidates[0].wires, [1, 0]);
    }

    #[test]
    fn signs_are_opposites_of_one_of_them() {
        let opposite = |wires: [&str; 2]| {
            suggested(GIVES, TAKES, &wires).first().map(|found| found.candidates[0].bond.opposite)
        };
        assert_eq!(opposite(["-a.F b.F", "b.v a.v"]), Some(Opposite::Effort));
        assert_eq!(opposite(["a.F b.F", "-b.v a.v"]), Some(Opposite::Flow));
        assert_eq!(opposite(["-a.F b.F", "-b.v a.v"]), None);
    }

    #[test]
    fn wires_that_change_what_they_carry_are_no_half_of_a_bond() {
        for more in [", offset = 1.0", ", convert = false", ", map = { 1 = 2 }", ", gain = 2.0"] {
            let wire = format!("a.F b.F {more}");
            assert_eq!(suggested(GIVES, TAKES, &[&wire, PAIR[1]]), [], "{more}");
        }
        // The same way, or to itself.
        assert_eq!(suggested(">F:N >v:m/s", "F:N v:m/s", &["a.F b.F", "a.v b.v"]), []);
        assert_eq!(suggested(">F:N v:m/s F:N >w:m/s", "u:N=0", &["a.w a.v"]), []);
    }

    #[test]
    fn units_speak_for_or_against_it() {
        let count = |a: &str, b: &str| suggested(a, b, &PAIR).len();
        assert_eq!(count(GIVES, "F:? >v:?"), 1, "one side speaks for it");
        assert_eq!(count(">F:? v:?", TAKES), 1, "or the other");
        assert_eq!(count(">F:? v:?", "F:? >v:?"), 0);
        assert_eq!(count(">F:N v:m", "F:N >v:m"), 0);
        assert_eq!(count(">F:W v:1", "F:W >v:1"), 0, "watts times a number");
        assert_eq!(count(">F:1 v:W", "F:1 >v:W"), 0, "or the other way round");
        assert_eq!(count(">F:V v:A", "F:V >v:A"), 1);
        assert_eq!(count(">F:K v:W/K", "F:K >v:W/K"), 1);
        assert_eq!(count(">F:degC v:W/K", "F:degC >v:W/K"), 0, "a level above a zero of its own");
        // What a domain calls the flow is no effort.
        let [found] = &suggested(">F:A v:V", "F:A >v:V", &PAIR)[..] else { panic!() };
        assert_eq!(
            (found.candidates[0].wires, found.candidates[0].units.clone()),
            ([1, 0], ["V".into(), "A".into()])
        );
    }

    #[test]
    fn names_decide_between_wires_that_can_be_paired_in_several_ways() {
        let (a, b) = (">F_1:N >F_2:N v_1:m/s v_2:m/s", "F_1:N F_2:N >v_1:m/s >v_2:m/s");
        let wires = ["a.F_1 b.F_1", "a.F_2 b.F_2", "b.v_1 a.v_1", "b.v_2 a.v_2"];
        let [found] = &suggested(a, b, &wires)[..] else { panic!() };
        assert!(!found.is_certain());
        let pairs: Vec<_> = found.candidates.iter().map(|candidate| candidate.wires).collect();
        assert_eq!(pairs, [[0, 2], [0, 3], [1, 2], [1, 3]]);
        assert_eq!(found.probable, [0, 3]);
        let names: Vec<_> = found.candidates.iter().map(|candidate| candidate.bond.name.as_str()).collect();
        assert_eq!(names, ["a-b", "a-b-3", "a-b-4", "a-b-2"], "the probable ones have the first numbers");
    }

    #[test]
    fn where_names_do_not_decide_none_is_probable() {
        let (a, b) = (">F_1:N >F_2:N v:m/s", "F_1:N F_2:N >v:m/s");
        let [found] = &suggested(a, b, &["a.F_1 b.F_1", "a.F_2 b.F_2", "b.v a.v"])[..] else { panic!() };
        assert_eq!((found.candidates.len(), &found.probable[..]), (2, &[][..]));
        // Names that say nothing at all leave it open, too.
        let (a, b) = (">p:N >q:N r:m/s", "p:N q:N >r:m/s");
        let [found] = &suggested(a, b, &["a.p b.p", "a.q b.q", "b.r a.r"])[..] else { panic!() };
        assert!(found.probable.is_empty());
    }

    #[test]
    fn pairs_that_share_no_wire_are_apart() {
        let (a, b) = (">F:N v:m/s >U:V I:A", "F:N >v:m/s U:V >I:A");
        let found = suggested(a, b, &["a.F b.F", "a.U b.U", "b.I a.I", "b.v a.v"]);
        let pairs: Vec<_> =
            found.iter().map(|found| (found.is_certain(), found.candidates[0].wires)).collect();
        assert_eq!(pairs, [(true, [0, 3]), (true, [1, 2])]);
        let names: Vec<_> = found.iter().map(|found| found.candidates[0].bond.name.as_str()).collect();
        assert_eq!(names, ["a-b", "a-b-2"]);
    }

    #[test]
    fn a_simulator_that_does_not_open_is_said() {
        let (system, _) = toml::read(
            "experiment.stop = 1\nmethod.step.size = 0.1\ncomponent.a.source = 'native:there-is-none'\n",
            Path::new("."),
            &registry(),
        );
        assert!(!bonds(&system, &registry()).unwrap_err().is_empty());
    }
}

#[test]
fn runs_that_go_beyond_their_tables_are_named() {
    let table = |rows: &str, start: f64| {
        let rest = format!("experiment.start = {start:?}\nmethod.step.size = 0.1");
        let found = found(&[("a", &format!(">y:N rows->{rows}"))], &rest);
        let said = found.problems.first().map(|problem| problem.message.clone()).unwrap_or_default();
        let codes = codes_of(&found).into_iter().filter(|code| *code == "plan/table").collect();
        (codes, said.contains("before"), said.contains("after"))
    };
    let (nothing, table_found) = (Vec::<&str>::new(), vec!["plan/table"]);
    assert_eq!(table("0..1", 0.0), (nothing.clone(), false, false));
    assert_eq!(table("0.000000000001..0.999999999999", 0.0).0, nothing, "but for rounding");
    assert_eq!(table("0.00000001..1", 0.0), (table_found.clone(), true, false));
    assert_eq!(table("0..0.99999999", 0.0), (table_found.clone(), false, true));
    assert_eq!(table("0.5..0.75", 0.0), (table_found.clone(), true, true));
    assert_eq!(table("0.5..1", 0.5), (nothing.clone(), false, false));
    // A margin of the run's length, not of its instants.
    assert_eq!(table("0.9999..0.99999999999", 0.9999).0, table_found);
    assert_eq!(table("0.5..0.5", 0.0).0, nothing, "a single row is a constant");
}

#[test]
fn a_table_for_discrete_and_continuous_inputs_is_interpolated() {
    let wired = |b: &str, c: &str| {
        let parts = [("a", ">y:1 rows->0..1"), ("b", b), ("c", c)];
        let found =
            codes(&parts, "connection = [{ from = 'a.y', to = 'b.u' }, { from = 'a.y', to = 'c.u' }]");
        found.iter().filter(|code| code.starts_with("plan/table")).count()
    };
    assert_eq!((wired("u:int", "u:1"), wired("u:int", "u:int"), wired("u:1", "u:1")), (1, 0, 0));
}

#[test]
fn talkative_components_are_cut_short() {
    let said = |count: usize| codes(&[("a", &format!(">y:N says->{count}"))], "").len();
    assert_eq!([0, 1, 3, 4, 5, 9].map(said), [0, 1, 3, 4, 4, 4]);
}

#[test]
fn units_of_the_file_stand_for_those_of_the_simulator() {
    let unit = |units: &str| {
        let (a, b) = (format!(">y:?;, units = {{ {units} }}"), "u:N");
        codes(&[("a", &a), ("b", b)], "connection = [{ from = 'a.y', to = 'b.u' }]")
    };
    assert_eq!(unit("y = 'N'"), NOTHING);
    assert_eq!(unit("y = 'kN'"), ["plan/unit-converted b.u"]);
    assert!(unit("y = 'N', z = 'N'").contains(&"plan/unknown-port a.z".to_owned()));
}

mod lines {
    //! Lines: how the effort reaches a simulator, and how long its steps are.
    use super::*;

    const SOLVER: &str = "e:N >f:m/s lines stepwise";

    fn line(a: &str, b: &str, keys: &str, step: &str) -> Vec<Problem> {
        let rest = format!(
            "method.step = {{ {step} }}\n[[bond]]\nname = 'l'\na = {{ effort = 'a.e', flow = 'a.f' }}\n\
             b = {{ effort = 'b.e', flow = 'b.f' }}\nopposite = 'flow'\n\
             line = {{ delay = 0.1, impedance = 2.0{keys} }}\n"
        );
        found(&[("a", a), ("b", b)], &rest).problems
    }

    fn said(a: &str, b: &str, keys: &str, step: &str) -> Vec<String> {
        let problems = line(a, b, keys, step);
        let error = |problem: &Problem| if problem.severity == Severity::Error { "!" } else { "" };
        problems
            .iter()
            .zip(named(&problems))
            .map(|(problem, name)| error(problem).to_owned() + &name)
            .collect()
    }

    #[test]
    fn both_sides_take_the_effort_and_give_the_flow() {
        assert_eq!(said(SOLVER, SOLVER, "", ""), NOTHING);
        assert!(said(">e:N f:m/s", SOLVER, "", "").contains(&"!plan/line-causality a.e".to_owned()));
        assert!(said("e:N f:m/s=0", SOLVER, "", "").contains(&"!plan/line-causality a.f".to_owned()));
        let through = said("e:N >f:m/s through lines stepwise", SOLVER, "", "");
        assert_eq!(through, ["!plan/line-feedthrough"]);
        // Another output may answer at once.
        assert_eq!(said("e:N >g:N through >f:m/s lines stepwise", SOLVER, "", ""), NOTHING);
        let apart = said(SOLVER, "e:V >f:A lines stepwise", "", "");
        assert_eq!(apart, ["!plan/unit-mismatch", "!plan/unit-mismatch"]);
    }

    #[test]
    fn the_best_boundary_is_the_one_that_the_simulator_can_have() {
        let way = |part: &str, keys: &str| {
            let problems = line(part, SOLVER, keys, "size = 0.01");
            let about = problems.into_iter().filter(|problem| problem.code == "plan/line-boundary");
            let worst = about.max_by_key(|problem| problem.severity == Severity::Error);
            worst.map(|problem| (problem.severity, problem.message))
        };
        assert_eq!(way(SOLVER, ""), None);
        let (severity, words) = way("e:N >f:m/s", "").unwrap();
        assert!(severity == Severity::Warning && words.contains("two trial steps"), "{words}");
        let (severity, words) = way("e:N >f:m/s stuck", ", mass_a = 3.0").unwrap();
        assert!(severity == Severity::Warning && words.contains("mass"), "{words}");
        assert_eq!(way("e:N >f:m/s stuck", "").unwrap().0, Severity::Error);
        assert_eq!(way("e:N >f:m/s stuck", ", mass_b = 3.0").unwrap().0, Severity::Error);
        assert_eq!(way("e:N >f:m/s", ", boundary = 'inside'").unwrap().0, Severity::Error);
        assert_eq!(way("e:N >f:m/s stuck", ", boundary = 'corrected'").unwrap().0, Severity::Error);
        assert_eq!(way("e:N >f:m/s stuck", ", boundary = 'semi-implicit'").unwrap().0, Severity::Error);
        assert_eq!(way("e:N >f:m/s", ", boundary = 'semi-implicit'").unwrap().0, Severity::Warning);
        assert_eq!(way(SOLVER, ", boundary = 'held'").unwrap().0, Severity::Error);
        let held = said(SOLVER, SOLVER, ", boundary = 'held'", "");
        assert_eq!(held, ["!plan/line-boundary a"], "said once for both sides");
    }

    #[test]
    fn steps_are_no_longer_than_the_delay_and_half_of_it_where_the_inside_is_not_published() {
        let boundary = ["plan/line-boundary a"];
        let plain = "e:N >f:m/s";
        let inner = |part: &str, step: &str| {
            let said = said(part, SOLVER, "", step);
            said.iter().filter(|code| code.contains("plan/line-inner")).count()
        };
        assert_eq!(
            (inner(plain, "size = 0.05"), inner(plain, "size = 0.051"), inner(plain, "size = 0.2")),
            (0, 1, 1)
        );
        assert_eq!(inner(SOLVER, "size = 0.2"), 0);
        assert_eq!(inner("e:N >f:m/s lines", "size = 0.051"), 1, "it does not stop at its own steps");
        // Without a size it is a thousandth of the run.
        assert_eq!((inner(plain, ""), inner("e:N >f:m/s lines", "")), (0, 0));
        let rigid = |step: &str| said("e:N >f:m/s one-size", SOLVER, "", step);
        assert_eq!(rigid("size = 0.1").iter().filter(|code| code.contains("plan/line-step")).count(), 0);
        assert!(rigid("size = 0.125").contains(&"!plan/line-step".to_owned()));
        assert_eq!(said(plain, SOLVER, "", "size = 0.05"), boundary);
    }

    #[test]
    fn half_a_delay_is_allowed_up_to_rounding() {
        // A thousandth of the run is half of the delay.
        let text = |delay: f64| {
            format!(
                "[[bond]]\nname = 'l'\na = {{ effort = 'a.e', flow = 'a.f' }}\nb = {{ effort = 'b.e', flow = 'b.f' }}\n\
                 opposite = 'flow'\nline = {{ delay = {delay:?}, impedance = 2.0 }}\n"
            )
        };
        let inner = |delay: f64| {
            let rest = format!("method.step = {{}}\n{}", text(delay));
            codes_of(&found(&[("a", "e:N >f:m/s"), ("b", SOLVER)], &rest)).contains(&"plan/line-inner")
        };
        assert!(!inner(0.002) && !inner(0.003) && inner(0.0019));
    }

    /// Efforts and flows of ends come in their own units; the line has SI units.
    #[test]
    fn lines_have_si_units() {
        let efforts = |e: &str, start: f64| {
            let parts = [
                ("a", format!("e:{e} >f:m/s lines stepwise;, start = {{ e = {start:?} }}")),
                ("b", SOLVER.to_owned()),
            ];
            let parts: Vec<(&str, &str)> = parts.iter().map(|(name, part)| (*name, part.as_str())).collect();
            let rest = "[[bond]]\nname = 'l'\na = { effort = 'a.e', flow = 'a.f' }\nb = { effort = 'b.e', flow = 'b.f' }\n\
                 opposite = 'flow'\nline = { delay = 0.1, impedance = 2.0 }\n";
            let run = Run::new(planned(&parts, rest), 1).unwrap();
            ["a.e", "b.e"].map(|path| run.output(path).unwrap())
        };
        assert_eq!(efforts("N", 4.0), [4.0, 4.0]);
        assert_eq!(efforts("kN", 4.0), [4.0, 4000.0]);
    }

    /// A simulator whose steps are tried is told that it will be rewound.
    #[test]
    fn whoever_is_tried_is_told_so() {
        let told = |keys: &str| {
            let rest = format!(
                "method.step.size = 0.01\n[[bond]]\nname = 'l'\na = {{ effort = 'a.e', flow = 'a.f' }}\n\
                 b = {{ effort = 'b.e', flow = 'b.f' }}\nopposite = 'flow'\n\
                 line = {{ delay = 0.1, impedance = 2.0, mass_a = 3.0, mass_b = 3.0{keys} }}\n"
            );
            let parts = [("a", "e:N >f:m/s tells"), ("b", "e:N >f:m/s tells")];
            Run::new(planned(&parts, &rest), 1).unwrap().output("a.f").unwrap()
        };
        assert_eq!((told(", boundary = 'corrected'"), told(", boundary = 'mid-step'")), (1.0, 0.0));
    }

    /// The flow of a part stays what it is, whatever pushes it.
    #[test]
    fn a_mass_that_cannot_be_weighed_is_asked_for() {
        let rest = |keys: &str| {
            format!(
                "method.step.size = 0.01\n[[bond]]\nname = 'l'\na = {{ effort = 'a.e', flow = 'a.f' }}\n\
                 b = {{ effort = 'b.e', flow = 'b.f' }}\nopposite = 'flow'\n\
                 line = {{ delay = 0.1, impedance = 2.0, boundary = 'semi-implicit'{keys} }}\n"
            )
        };
        let parts = [("a", "e:N >f:m/s"), ("b", "e:N >f:m/s")];
        let run = |keys: &str| {
            Run::new(planned(&parts, &rest(keys)), 1).map(|_| ()).map_err(|error| error.to_string())
        };
        let words = run("").unwrap_err();
        assert!(words.contains("mass_a"), "{words}");
        assert!(run(", mass_a = 3.0").unwrap_err().contains("mass_b"));
        assert_eq!(run(", mass_a = 3.0, mass_b = 3.0"), Ok(()));
        // One value per step is stable below Z H / M = 2.
        let mid_step = |mass: f64| {
            let keys =
                rest(&format!(", mass_a = {mass:?}, mass_b = 3.0")).replace("semi-implicit", "mid-step");
            Run::new(planned(&parts, &keys), 1).map(|_| ()).map_err(|error| error.to_string())
        };
        assert_eq!(mid_step(0.0102), Ok(()));
        assert!(mid_step(0.01).unwrap_err().contains("too stiff"));
    }

    #[test]
    fn delays_that_may_differ_are_named_with_the_longer_side() {
        let longer = |keys: &str| {
            let problems = line(SOLVER, SOLVER, keys, "");
            let found = problems.into_iter().find(|problem| problem.code == "plan/line-asymmetric")?;
            Some(if found.message.contains("side a") { "a" } else { "b" })
        };
        assert_eq!(longer(""), None);
        let control = ", control = 'steady-state'";
        assert_eq!(longer(&format!("{control}, most = [4.0, 4.0]")), None);
        assert_eq!(longer(&format!("{control}, most = [4.0, 2.0]")), Some("a"));
        assert_eq!(longer(&format!("{control}, most = [2.0, 4.0]")), Some("b"));
        assert_eq!(longer(&format!("{control}, most = [2.0, 4.0], impedances = 'common'")), None);
        assert_eq!(longer(", factor = [1.0, 2.0]"), Some("b"));
        assert_eq!(longer(", factor = [2.0, 1.0]"), Some("a"));
    }

    #[test]
    fn a_line_begins_with_one_effort() {
        let begins = |a: &str, b: &str| {
            let part = |start: &str| format!("e:N >f:m/s lines stepwise{start}");
            said(&part(a), &part(b), "", "")
        };
        assert_eq!(begins("", ""), NOTHING);
        assert_eq!(begins(";, start = { e = 1.0 }", ""), NOTHING);
        assert_eq!(begins(";, start = { e = 1.0 }", ";, start = { e = 1.0 }"), NOTHING);
        assert_eq!(begins(";, start = { e = 1.0 }", ";, start = { e = 1.0000001 }"), ["!plan/line-start"]);
        assert_eq!(begins(";, start = { e = 1.0 }", ";, start = { e = 1.0000000001 }"), NOTHING);
        assert_eq!(begins(";, start = { e = -1.0 }", ";, start = { e = 1.0 }"), ["!plan/line-start"]);
    }
}

mod strong {
    //! Components that are integrated together: what they exchange among themselves, and what is left for the others.
    use super::*;

    const GROUP: &str = "monolithic.g.components = ['d', 'b']\n";

    /// Of a, b, c and d the second and the fourth become one, in the place of the second.
    #[test]
    fn wires_among_members_leave_the_coupling_matrix() {
        let parts = [
            ("a", "u:1 >y:1"),
            ("b", "u:1 v:1=0.5 w:1 >y:1 >z:1;, start = { u = 7.0, v = 8.0 }"),
            ("c", "u:1 >y:1"),
            ("d", "u:1 >y:1;, start = { u = 9.0 }"),
        ];
        let wires = "connection = [{ from = 'd.y', to = 'b.u', gain = 2.0, offset = 3.0 }, \
             { from = ['b.z', 'c.y'], to = 'd.u', offset = 4.0 }, { from = 'a.y', to = 'b.w', gain = 5.0 }, \
             { from = 'b.z', to = 'a.u', gain = -1.0 }, { from = 'd.y', to = 'c.u' }]\n";
        let plan = planned(&parts, &format!("{wires}{GROUP}"));
        let topology = &plan.layout.topology;
        assert_eq!(topology.names, ["a", "g", "c"]);
        let group = &topology.interfaces[1];
        // Members in their order: b.u is driven from inside alone, d.u from outside, too.
        let wanted =
            [("(0, 0)", "[(1, 0, 2.0)] 3.0 false Some(7.0)"), ("(1, 0)", "[(0, 1, 1.0)] 0.0 true Some(9.0)")];
        let wanted: Vec<_> = wanted.iter().map(|(to, what)| ((*to).to_owned(), (*what).to_owned())).collect();
        assert_eq!(group.facts, wanted);
        let names = |ports: &[Port]| ports.iter().map(|port| port.name.clone()).collect::<Vec<_>>();
        assert_eq!(names(&group.inputs), ["b.v", "b.w", "d.u"]);
        // Inputs are a.u, b.v, b.w, d.u and c.u; outputs a.y, b.y, b.z, d.y and c.y.
        let outputs = [10.0, 20.0, 30.0, 40.0, 50.0];
        let values = [0, 1, 2, 3, 4].map(|input| topology.couplings.value(input, &outputs));
        assert_eq!(values, [-30.0, 8.0, 50.0, 54.0, 40.0]);
    }

    #[test]
    fn bonds_of_a_group_with_others_stay_and_those_inside_go() {
        let parts =
            [("a", "F:N >v:m/s"), ("b", ">F:N v:m/s G:N >w:m/s"), ("c", "u:1=0 >y:1"), ("d", ">G:N w:m/s")];
        let bonds = "bond = [{ name = 'out', a = { effort = 'b.F', flow = 'b.v' }, b = { effort = 'a.F', flow = 'a.v' } }, \
             { name = 'in', a = { effort = 'd.G', flow = 'd.w' }, b = { effort = 'b.G', flow = 'b.w' } }]\n";
        let rest = format!("{bonds}{GROUP}");
        let plan = planned(&parts, &rest);
        let bonds: Vec<&str> = plan.layout.topology.bonds.iter().map(|bond| bond.name.as_str()).collect();
        assert_eq!(bonds, ["out"]);
        let said: Vec<&str> = plan.warnings.iter().map(|warning| warning.code).collect();
        assert_eq!(said, ["plan/bond-inside"]);
    }

    #[test]
    fn tolerances_and_weights_are_the_strictest() {
        let parts = [
            ("a", "u:1=0 >y:1;, tolerance = 0.5"),
            ("b", "u:1=0 >y:1;, tolerance = 0.25, weight = 2.0"),
            ("d", "u:1=0 >y:1;, tolerance = 0.125, weight = 1.0"),
        ];
        let plan = planned(&parts, GROUP);
        let topology = format!("{:?}", plan.layout.topology);
        assert!(topology.contains("tolerances: [Some(0.5), Some(0.125), Some(0.125)]"), "{topology}");
        assert!(topology.contains("weights: [None, Some(2.0), Some(2.0)]"), "{topology}");
    }

    #[test]
    fn what_cannot_be_a_group_is_said() {
        let parts = [("a", "u:1=0 >y:1"), ("b", "u:1=0 >y:1")];
        let said = |group: &str| {
            let found = codes(&parts, group);
            found.into_iter().filter(|code| code.starts_with("plan/")).collect::<Vec<_>>()
        };
        assert_eq!(said("monolithic.g.components = ['a', 'b']"), NOTHING);
        assert_eq!(said("monolithic.g.components = ['a']"), ["plan/nothing-to-join"]);
        assert_eq!(said("monolithic.g.components = ['a', 'b', 'a']"), ["plan/joined-twice"]);
        let twice = "monolithic.g.components = ['a', 'b']\nmonolithic.h.components = ['b', 'a']";
        assert_eq!(said(twice), ["plan/joined-twice"]);
        let own = [("a", "u:1=0 >y:1;, step = 0.1"), ("b", "u:1=0 >y:1")];
        assert!(
            codes(&own, "monolithic.g.components = ['a', 'b']")
                .contains(&"plan/own-step-joined a".to_owned())
        );
        let mapped = "monolithic.g.components = ['a', 'b']\nconnection = [{ from = 'a.y', to = 'b.u', map = { 1 = 2 } }]";
        assert!(said(mapped).contains(&"plan/cannot-join".to_owned()));
    }
}
