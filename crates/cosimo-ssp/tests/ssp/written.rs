//! Systems out: what is written is valid by the schemas of the standard, and read again it means the same.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use cosimo::core::line::StampInterpolation;
use cosimo::core::{Unit, Value};
use cosimo::ssp::SSP;
use cosimo::system::{
    BondDecl, Boundary, Choice, Component, ConnectionDecl, Document, EndRule, Experiment, Files, Impedances,
    LineDecl, MethodConfig, Opposite, PowerDirection, PowerPort, Results, StepConfig, Summand, System, toml,
};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use super::{folder, read, registry, system};

/// Of all files, by the schemas of SSP 1.0; through lxml, so that what libxml2 calls invalid is invalid.
fn validate(files: &[PathBuf]) {
    let Some(python) = std::env::var_os("COSIMO_PYTHON").map(PathBuf::from) else {
        println!("skipped: COSIMO_PYTHON is not set");
        return;
    };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ssp/validate.py");
    let output = Command::new(python).arg(script).args(files).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(said.lines().count(), files.len(), "{said}");
}

fn document(system: &System) -> Document {
    Document { system: system.clone(), problems: Vec::new(), files: Files::default(), rest: None }
}

/// Without places, in an order that does not depend on where things were said.
fn meaning(mut system: System) -> System {
    system.folder = PathBuf::new();
    system.experiment.span = 0..0;
    for component in &mut system.components {
        (component.span, component.source_span) = (0..0, 0..0);
        component.parameters.iter_mut().for_each(|(_, _, span)| *span = 0..0);
        component.parameters.sort_by(|a, b| a.0.cmp(&b.0));
        component.starts.iter_mut().for_each(|(_, _, span)| *span = 0..0);
        component.starts.sort_by(|a, b| a.0.cmp(&b.0));
        component.units.iter_mut().for_each(|(_, _, span)| *span = 0..0);
        component.step.iter_mut().for_each(|(_, span)| *span = 0..0);
        component.units.sort_by(|a, b| a.0.cmp(&b.0));
    }
    for wire in &mut system.connections {
        wire.to.1 = 0..0;
        wire.from.iter_mut().for_each(|summand| summand.port.1 = 0..0);
    }
    system.connections.sort_by(|a, b| a.to.0.cmp(&b.to.0));
    for bond in &mut system.bonds {
        bond.span = 0..0;
        for port in [&mut bond.a, &mut bond.b] {
            (port.effort.1, port.flow.1) = (0..0, 0..0);
        }
        if let Some(line) = &mut bond.line {
            line.span = 0..0;
            // As the plan looks at it: a name and its options.
            line.steady = line.steady.take().map(|steady| Choice {
                name: steady.name,
                options: steady.options.into_iter().map(|(name, value, _)| (name, value, 0..0)).collect(),
                ..Choice::default()
            });
        }
    }
    // What is written is read with places and with who chose.
    system.methods = MethodConfig { ..system.methods.clone() };
    let text = cosimo::system::write::to_toml(&system);
    let (plain, problems) = toml::read(&text, Path::new(""), &registry());
    assert_eq!(problems, [], "{text}");
    system.methods = plain.methods;
    system.results = plain.results;
    for span in system.results.variables.iter_mut().map(|(_, span)| span) {
        *span = 0..0;
    }
    let none = |choice: &mut Choice| choice.span = 0..0;
    let recipe = &mut system.methods;
    [&mut recipe.partition, &mut recipe.iteration, &mut recipe.estimate, &mut recipe.controller]
        .into_iter()
        .for_each(none);
    none(&mut recipe.input.default);
    none(&mut recipe.correction.default);
    recipe.step.span = 0..0;
    system
}

fn unit() -> impl Strategy<Value = Unit> {
    let known = prop::sample::select(vec!["m/s", "degC", "km/h"]).prop_map(|text| Unit::parse(text).unwrap());
    let own =
        (prop::array::uniform7(-9i8..9), 1e-6..1e6, -1e3..1e3).prop_map(|(dimension, factor, offset)| Unit {
            text: "own & <odd>".into(),
            dimension,
            factor,
            offset,
        });
    prop_oneof![known, own]
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        (-1e9..1e9).prop_map(Value::Number),
        any::<bool>().prop_map(Value::Flag),
        any::<String>().prop_map(Value::Text),
        Just(Value::List(vec![Value::Number(1.0), Value::Number(2.0)])),
    ]
}

prop_compose! {
    fn component()(
        parameters in prop::collection::btree_map("(cosimo\\.)?[a-zA-Zé&<\"' .]{1,6}", value(), 0..4),
        starts in prop::collection::btree_map("[uvw]", -1e9..1e9, 0..3),
        units in prop::collection::btree_map("[uvwxyF]", unit(), 0..3),
        tolerance in prop::option::of(1e-9..1.0),
        step in prop::option::of(1e-9..1.0),
    ) -> Component {
        Component {
            source: "tap:x=1 y=2 F=3|u v w".into(),
            parameters: parameters.into_iter().map(|(name, value)| (name, value, 0..0)).collect(),
            starts: starts.into_iter().map(|(name, value)| (name, value, 0..0)).collect(),
            units: units.into_iter().map(|(name, value)| (name, value, 0..0)).collect(),
            tolerance,
            step: step.map(|every| (every, 0..0)),
            ..Component::default()
        }
    }
}

prop_compose! {
    fn summand()(
        owner in 0usize..3,
        port in prop::sample::select(vec!["x", "y", "F"]),
        gain in prop_oneof![Just(1.0), -1e3..1e3],
        map in prop::collection::btree_map(-5i32..5, prop_oneof![Just(2.0), -1e3..1e3], 0..3),
    ) -> (usize, &'static str, f64, Vec<(f64, f64)>) {
        (owner, port, gain, map.into_iter().map(|(from, to)| (f64::from(from), to)).collect())
    }
}

prop_compose! {
    /// Every field that a line has.
    fn line()(
        (delay, impedance) in (1e-9..1.0, 1e-6..1e6),
        between in prop::sample::select(vec![StampInterpolation::Linear, StampInterpolation::Hermite]),
        steady in prop::option::of((
            prop::sample::select(vec!["sliding-window", "f-test", "r-test"]),
            prop::option::of(1e-3..1.0),
            prop::option::of(1e-3..1.0),
        )),
        (factor, more) in ([1.0..4.0, 1.0..4.0], prop::option::of([0.0..16.0, 0.0..16.0])),
        (hold, repay) in (prop_oneof![Just(0.0), 0.0..1.0], prop_oneof![Just(0.0), 0.0..1.0]),
        (linked, announced, rollback) in (any::<bool>(), any::<bool>(), any::<bool>()),
        impedances in prop::sample::select(vec![Impedances::Own, Impedances::Common]),
        boundary in prop::sample::select(vec![
            Boundary::Best,
            Boundary::Inside,
            Boundary::Corrected,
            Boundary::SemiImplicit,
            Boundary::MidStep,
            Boundary::Held,
        ]),
        mass in [prop::option::of(1e-3..1e3), prop::option::of(1e-3..1e3)],
    ) -> LineDecl {
        let steady = steady.map(|(name, window, tolerance)| {
            let given = [("window", window), ("tolerance", tolerance)];
            given.into_iter().fold(Choice::named(name), |choice, (name, value)| match value {
                Some(value) => choice.with(name, Value::Number(value)),
                None => choice,
            })
        });
        let most = more.map_or(factor, |more| [factor[0] + more[0], factor[1] + more[1]]);
        LineDecl {
            between,
            steady,
            factor,
            most,
            hold,
            linked,
            announced,
            rollback,
            repay,
            impedances,
            boundary,
            mass,
            ..LineDecl::of(delay, impedance)
        }
    }
}

prop_compose! {
    fn systems()(
        components in prop::collection::btree_map("[a-zA-Z0-9_-]{1,5}([ .][a-z]{1,3})?", component(), 3..5),
        // To `u` of each component: `v` and `w` are for the bond, or unconnected.
        wires in prop::collection::btree_map(
            0usize..3,
            (prop::collection::vec(summand(), 1..3), prop_oneof![Just(0.0), -1e3..1e3], any::<bool>()),
            0..3,
        ),
        bond in prop::option::of((
            any::<bool>(),
            prop::sample::select(vec![Opposite::Neither, Opposite::Flow]),
            prop::option::of(line()),
        )),
        (start, length, end) in (-1e3..1e3, 1e-3..1e3, prop::sample::select(vec![EndRule::Exact, EndRule::After])),
        (size, corrected, every) in (prop::option::of(1e-6..1.0), any::<bool>(), prop::option::of(1e-3..1.0)),
    ) -> System {
        let components: Vec<Component> =
            components.into_iter().map(|(name, component)| Component { name, ..component }).collect();
        let port = |owner: usize, port: &str| (format!("{}.{port}", components[owner].name), 0..0);
        let wires = wires.into_iter().map(|(to, (from, offset, convert))| ConnectionDecl {
            from: from.into_iter().map(|(owner, name, gain, map)| Summand { port: port(owner, name), gain, map }).collect(),
            to: port(to, "u"),
            offset,
            convert,
        }).collect();
        let bonds = bond.into_iter().map(|(turned, opposite, line)| BondDecl {
            line,
            name: "joint".into(),
            a: PowerPort { effort: port(0, "F"), flow: port(0, "v") },
            b: PowerPort { effort: port(1, "v"), flow: port(1, "x") },
            opposite,
            direction: if turned { PowerDirection::BToA } else { PowerDirection::AToB },
            tolerance: None,
            energy_scale: size,
            span: 0..0,
        }).collect();
        let mut recipe = MethodConfig { step: StepConfig { size, ..StepConfig::default() }, ..MethodConfig::default() };
        if corrected {
            recipe.correction.default = Choice::named("nepce").with("gain", Value::Number(0.25));
        }
        let variables = vec![(format!("{}.*", components[0].name), 0..0)];
        System {
            folder: PathBuf::new(),
            experiment: Experiment { start, stop: start + length, end, ..Experiment::default() },
            components,
            connections: wires,
            bonds,
            methods: recipe,
            results: Results { variables, every },
            ..System::default()
        }
    }
}

#[test]
fn random_systems_survive_and_are_valid() {
    let folder = folder("random");
    let mut runner =
        TestRunner::new(ProptestConfig { cases: 200, failure_persistence: None, ..Default::default() });
    let count = std::cell::Cell::new(0);
    let files = std::cell::RefCell::new(Vec::new());
    runner
        .run(&systems(), |system| {
            count.set(count.get() + 1);
            let path = folder.join(format!("{}.ssd", count.get()));
            (SSP.write.unwrap())(&document(&system), &path, &registry()).unwrap();
            let again = read(&path);
            prop_assert!(
                !again.has_errors(),
                "{:#?}\n{}",
                again.problems,
                fs::read_to_string(&path).unwrap()
            );
            prop_assert_eq!(meaning(again.system), meaning(system), "{}", fs::read_to_string(&path).unwrap());
            files.borrow_mut().push(path);
            Ok(())
        })
        .unwrap();
    validate(&files.into_inner());
}

/// The examples that come with Cosimo.
#[test]
fn examples_survive_and_are_valid() {
    let folder = folder("examples");
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/SystemStructure.ssd");
    let mut files = vec![fixture];
    let mut names: Vec<PathBuf> =
        fs::read_dir(examples).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.sort();
    for example in names.iter().filter(|path| path.join("system.toml").is_file()) {
        let file = example.join("system.toml");
        let text = fs::read_to_string(&file).unwrap();
        let (plain, problems) = toml::read(&text, example, &registry());
        assert_eq!(problems, [], "{}", file.display());
        let path = folder.join(example.file_name().unwrap()).with_extension("ssd");
        (SSP.write.unwrap())(&document(&plain), &path, &registry())
            .unwrap_or_else(|error| panic!("{}: {error:?}", file.display()));
        let again = system(&path);
        let lines = |system: &System| {
            let plan = cosimo::engine::plan(system, &registry()).unwrap();
            format!("{:?} {:?}", plan.layout.topology.couplings, plan.layout.topology.bonds)
        };
        assert_eq!(lines(&again), lines(&plain), "{}", file.display());
        files.push(path);
    }
    assert!(files.len() > 3, "{files:?}");
    validate(&files);
}
