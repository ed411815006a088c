//! Valid files give the expected system.

use std::path::Path;

use cosimo_core::Value;
use cosimo_system::*;

use super::{FULL, LEAST, bare, good};

fn under(text: &'static str, span: &Span) -> &'static str {
    &text[span.clone()]
}

#[test]
fn every_key_is_read() {
    let system = good(FULL);
    let experiment = &system.experiment;
    assert_eq!((experiment.start, experiment.stop), (1.0, 4.0));
    assert_eq!((experiment.end, experiment.record), (EndRule::After, RecordPoint::BeforeExchange));
    assert_eq!(experiment.history.as_ref().unwrap().0, Path::new("history.csv"));
    assert_eq!((experiment.accuracy, experiment.wanted_accuracy()), (Some(2e-3), 2e-3));
    assert_eq!(system.folder, Path::new("folder"));

    let [wheel, chassis] = &system.components[..] else { panic!() };
    assert_eq!((wheel.name.as_str(), wheel.source.as_str()), ("wheel", "native:quarter-car/wheel"));
    let text = |text: &str| Value::Text(text.into());
    let values: Vec<(&str, Value)> =
        wheel.parameters.iter().map(|(name, value, _)| (name.as_str(), value.clone())).collect();
    assert_eq!(
        values,
        [
            ("zw", Value::Number(1.0)),
            ("name", text("left")),
            ("rigid", Value::Flag(true)),
            ("list", Value::List(vec![Value::Number(1.0), text("two")])),
            ("inner", Value::Table(vec![("b".into(), Value::Number(1.5)), ("a".into(), Value::Number(2.0))])),
        ]
    );
    assert_eq!(chassis.name, "chassis");
    let starts: Vec<(&str, f64)> = chassis.starts.iter().map(|(name, at, _)| (name.as_str(), *at)).collect();
    assert_eq!(starts, [("F", 0.5), ("u", 2.0)]);
    assert_eq!((chassis.tolerance, chassis.weight), (Some(1e-3), Some(0.0)));
    assert_eq!(chassis.step.as_ref().map(|(every, _)| *every), Some(5e-3));

    let connection = &system.connections[0];
    let [from] = &connection.from[..] else { panic!("{connection:?}") };
    assert_eq!(
        (from.port.0.as_str(), connection.to.0.as_str(), from.gain),
        ("wheel.out.y", "chassis.u", -2.5)
    );

    let bond = &system.bonds[0];
    assert_eq!(
        (bond.name.as_str(), bond.opposite, bond.direction),
        ("strut", Opposite::Effort, PowerDirection::BToA)
    );
    assert_eq!((bond.a.effort.0.as_str(), bond.a.flow.0.as_str()), ("chassis.F", "chassis.v"));
    assert_eq!((bond.b.effort.0.as_str(), bond.b.flow.0.as_str()), ("wheel.F", "wheel.v"));
    assert_eq!((bond.tolerance, bond.energy_scale), (Some(1e-6), Some(750.0)));

    let junction = &system.junctions[0];
    assert_eq!((junction.name.as_str(), junction.common), ("node", Common::Flow));
    assert_eq!(junction.sides.iter().map(|side| side.leaves).collect::<Vec<_>>(), [false, true]);
    assert_eq!(junction.sides[1].port.effort.0, "wheel.p");
    assert_eq!((junction.tolerance, junction.energy_scale), (Some(1e-5), Some(10.0)));

    let kept: Vec<&str> = system.results.variables.iter().map(|(pattern, _)| pattern.as_str()).collect();
    assert_eq!((kept, system.results.every), (vec!["wheel.*", "!wheel.q[1,2]"], Some(0.01)));

    let reference = system.reference.unwrap();
    assert_eq!(reference.model.0, "quarter-car");
    assert_eq!((reference.ports[0].0.as_str(), reference.ports[0].1.as_str()), ("chassis.v", "vc"));
}

#[test]
fn methods_are_read_with_their_options() {
    let system = bare(good(FULL));
    let methods = &system.methods;
    let order = Value::List(vec![Value::Text("wheel".into()), Value::Text("chassis".into())]);
    assert_eq!(methods.partition, Choice::named("gauss-seidel").with("order", order));
    assert_eq!(methods.iteration, Choice::named("once"));
    assert_eq!(methods.input.default, Choice::named("linear").with("limit", Value::Number(0.5)));
    assert_eq!(methods.input.of("wheel.F"), &Choice::named("hold"));
    let nepce = Choice::named("nepce").with("gain", Value::Number(0.85));
    assert_eq!(methods.correction, PerInput::all(nepce.with("form", Value::Text("paper".into()))));
    assert_eq!(
        (methods.exchange.default, methods.exchange.of("wheel.F")),
        (Exchange::Stale, &Exchange::Fresh)
    );
    let estimate = Choice::named("power-residual").with("window", Value::Number(3.0));
    assert_eq!(methods.estimate, estimate.with("tolerance", Value::Number(1e-6)));
    assert_eq!(methods.controller, Choice::named("pi"));
    let step = StepConfig {
        size: Some(1e-3),
        min: 1e-4,
        max: 1e-2,
        shrink: 0.5,
        grow: 2.0,
        ..StepConfig::default()
    };
    assert_eq!(methods.step, StepConfig { reject: Reject::AboveOne, ..step });
}

#[test]
fn what_is_left_out_has_its_default() {
    let system = good(LEAST);
    let mut plain = bare(system.clone());
    let component = plain.components.pop().unwrap();
    assert_eq!(component.source, "native:quarter-car/chassis");
    assert_eq!((component.parameters.len(), component.starts.len()), (0, 0));
    assert_eq!((component.tolerance, component.weight), (None, None));
    assert_eq!(plain.experiment.wanted_accuracy(), 0.01);
    let experiment = Experiment { stop: 4.0, ..Experiment::default() };
    assert_eq!(plain, System { folder: "folder".into(), experiment, ..System::default() });

    let more = format!(
        "{LEAST}\n[component.b]\nsource = 'b.fmu'\n[[connection]]\nfrom = 'a.y'\nto = 'b.u'\n\
         [[bond]]\na = {{ effort = 'a.F', flow = 'a.v' }}\nb = {{ effort = 'b.F', flow = 'b.v' }}\n\
         [[bond]]\na = {{ effort = 'a.G', flow = 'a.w' }}\nb = {{ effort = 'b.G', flow = 'b.w' }}\n\
         [[junction]]\ncommon = 'effort'\n\
         sides = [{{ effort = 'a.p', flow = 'a.q' }}, {{ effort = 'b.p', flow = 'b.q', power = 'enters' }}]\n\
         [method]\n[reference]\nmodel = 'quarter-car'\n"
    );
    let system = good(&more);
    assert_eq!(system.connections[0].from[0].gain, 1.0);
    assert_eq!((system.connections[0].offset, system.connections[0].convert), (0.0, true));
    let names: Vec<&str> = system.bonds.iter().map(|bond| bond.name.as_str()).collect();
    assert_eq!(names, ["bond1", "bond2"]);
    assert_eq!(system.junctions[0].name, "junction1");
    let bond = &system.bonds[0];
    assert_eq!((bond.opposite, bond.direction), (Opposite::Neither, PowerDirection::AToB));
    assert_eq!((bond.tolerance, bond.energy_scale), (None, None));
    assert!(system.junctions[0].sides.iter().all(|side| !side.leaves));
    assert_eq!(bare(system.clone()).methods, MethodConfig::default());
    assert_eq!(system.reference.unwrap().ports, []);
}

#[test]
fn every_word_is_read() {
    let with =
        |line: &str| good(&format!("[experiment]\nstop = 4\n{line}\n[component.a]\nsource = 'a.fmu'\n"));
    assert_eq!(with("end = 'exact'").experiment.end, EndRule::Exact);
    assert_eq!(with("record = 'after-exchange'").experiment.record, RecordPoint::AfterExchange);
    let bond = |line: &str| {
        let side = "{ effort = 'a.F', flow = 'a.v' }";
        good(&format!("{LEAST}[[bond]]\na = {side}\nb = {side}\n{line}\n")).bonds.remove(0)
    };
    assert_eq!(bond("opposite = 'none'").opposite, Opposite::Neither);
    assert_eq!(bond("opposite = 'flow'").opposite, Opposite::Flow);
    assert_eq!(bond("direction = 'a-to-b'").direction, PowerDirection::AToB);
    let method = |line: &str| good(&format!("{LEAST}[method]\n{line}\n")).methods;
    assert_eq!(method("exchange = 'fresh'").exchange, PerInput::all(Exchange::Fresh));
    assert_eq!(method("exchange = 'stale'").exchange, PerInput::all(Exchange::Stale));
    assert_eq!(method("step = { reject = 'never' }").step.reject, Reject::Never);
}

#[test]
fn a_schedule_is_a_partition_swept_once() {
    let methods = good(&format!("{LEAST}[method]\nschedule = 'gauss-seidel'\n")).methods;
    assert_eq!((methods.partition.name.as_str(), methods.iteration.name.as_str()), ("gauss-seidel", "once"));
    assert_eq!(
        (methods.partition.origin, methods.iteration.origin),
        (ChoiceOrigin::File, ChoiceOrigin::Default)
    );
}

#[test]
fn inputs_can_be_named_without_a_default_or_under_headers() {
    let text = "[method.input]\n'a.x.y' = 'linear'\n[method.correction.'a.F'.nepce]\ngain = 0.5\n";
    let methods = good(&format!("{LEAST}{text}")).methods;
    assert_eq!(methods.input.default, Choice::named("hold"));
    assert_eq!(methods.input.of("a.x.y").name, "linear");
    assert_eq!(methods.correction.of("a.F").name, "nepce");
    assert_eq!(methods.correction.of("a.G").name, "none");
}

#[test]
fn sizes_outside_the_limits_are_no_problem() {
    good(&format!("{LEAST}[method]\nstep = {{ controller = 'pi', size = 1.0, min = 1e-3, max = 1e-2 }}\n"));
}

#[test]
fn numbers_may_be_spelled_in_every_way_of_toml() {
    for (spelled, number) in [("0x10", 16.0), ("1_000", 1000.0), ("+2.5e-1", 0.25), ("0b101", 5.0)] {
        let text = LEAST.replace("stop = 4", &format!("stop = {spelled}"));
        assert_eq!(good(&text).experiment.stop, number);
    }
}

#[test]
fn spans_are_right() {
    let system = good(FULL);
    let methods = &system.methods;
    for (span, text) in [
        (&system.experiment.span, "[experiment]"),
        (&system.experiment.history.as_ref().unwrap().1, "\"history.csv\""),
        (&system.components[0].span, "wheel"),
        (&system.components[1].source_span, "\"chassis.fmu\""),
        (&system.components[0].parameters[0].2, "zw = 1"),
        (&system.components[1].starts[1].2, "u = 2"),
        (&system.connections[0].to.1, "\"chassis.u\""),
        (&system.bonds[0].span, "\"strut\""),
        (&system.bonds[0].b.flow.1, "\"wheel.v\""),
        (&system.junctions[0].sides[1].port.flow.1, "\"wheel.q\""),
        (&methods.partition.span, "gauss-seidel"),
        (&methods.controller.span, "\"pi\""),
        (&methods.input.inputs[0].2, "\"wheel.F\""),
        (&methods.input.default.span, "linear"),
        (&methods.correction.default.options[0].2, "gain = 0.85"),
        (&methods.estimate.options[1].2, "tolerance = 1e-6"),
        (&system.results.variables[1].1, "\"!wheel.q[1,2]\""),
        (&system.reference.as_ref().unwrap().model.1, "\"quarter-car\""),
        (&system.reference.as_ref().unwrap().ports[0].2, "\"chassis.v\" = \"vc\""),
    ] {
        assert_eq!(under(FULL, span), text);
    }
    assert!(under(FULL, &methods.step.span).starts_with("step = {"));
    assert_eq!(
        (methods.controller.origin, methods.step.size_origin),
        (ChoiceOrigin::File, ChoiceOrigin::File)
    );
}

#[test]
fn components_of_nested_systems_have_dots_in_their_names() {
    let system = good(
        "[experiment]\nstop = 1\n[component.Sub]\nsource = 'a.fmu'\n[component.'Sub.Comp']\nsource = 'b.fmu'\n\
         [[connection]]\nfrom = 'Sub.Comp.y'\nto = 'Sub.x.u'\n[[bond]]\n\
         a = { effort = 'Sub.Comp.F', flow = 'Sub.Comp.v' }\nb = { effort = 'Sub.F', flow = 'Sub.v' }\n\
         [method]\ninput = { 'Sub.Comp.F' = 'linear' }\n",
    );
    assert_eq!(system.components[1].name, "Sub.Comp");
    // `Sub.Comp` ends at the longest name, so that effort and flow of the two sides belong to one component each.
    assert_eq!(system.bonds.len(), 1);
    let (_, problems) = crate::read(
        "[experiment]\nstop = 1\n[component.'Sub.Comp']\nsource = 'b.fmu'\n[[connection]]\nfrom = 'Sub.Camp.y'\nto = 'Sub.Comp.u'\n",
    );
    assert_eq!(problems[0].message, "no component is called `Sub.Camp`");
    assert_eq!(problems[0].hint.as_deref(), Some("did you mean `Sub.Comp`?"));
}

#[test]
fn connections_add_scale_shift_and_map() {
    let system = good(
        "[experiment]\nstop = 1\n[component.a]\nsource = 'a.fmu'\nunits = { T = 'degC', v = { name = 'kn', m = 1, s = -1, factor = 0.5 } }\n\
         [[connection]]\nfrom = ['a.x', { port = 'a.y', gain = -1, map = { 0 = 1, true = false } }]\nto = 'a.u'\noffset = 2\n\
         [[connection]]\nfrom = 'a.x'\nto = 'a.w'\ngain = 3\nmap = { -1 = 0.5 }\nconvert = false\n",
    );
    let [sum, one] = &system.connections[..] else { panic!("{:?}", system.connections) };
    assert_eq!((sum.offset, sum.convert, sum.from[0].gain), (2.0, true, 1.0));
    assert_eq!((sum.from[1].gain, &sum.from[1].map[..]), (-1.0, &[(0.0, 1.0), (1.0, 0.0)][..]));
    assert_eq!((one.convert, one.from[0].gain, &one.from[0].map[..]), (false, 3.0, &[(-1.0, 0.5)][..]));
    let [celsius, knot] = &system.components[0].units[..] else { panic!() };
    assert_eq!((celsius.0.as_str(), celsius.1.offset), ("T", 273.15));
    assert_eq!((knot.1.text.as_str(), knot.1.dimension, knot.1.factor), ("kn", [0, 1, -1, 0, 0, 0, 0], 0.5));
}
