//! Writing and reading again changes nothing.

use cosimo_core::{Unit, Value};
use cosimo_system::write::to_toml;
use cosimo_system::*;
use proptest::prelude::*;

use super::{FULL, LEAST, bare, good};

#[test]
fn files_survive() {
    let per_input = format!(
        "{LEAST}[method]\nexchange = {{ 'a.x' = 'fresh', default = 'fresh' }}\nstep = {{ size = 0.1 }}\n\
         correction = {{ 'a.\"q\"' = {{ nepce = {{ form = 'paper' }} }} }}\n"
    );
    for text in [FULL, LEAST, &per_input] {
        let system = good(text);
        let written = to_toml(&system);
        assert_eq!(bare(good(&written)), bare(system), "{written}");
        assert_eq!(to_toml(&good(&written)), written);
    }
}

#[test]
fn only_what_differs_from_defaults_is_written() {
    assert_eq!(
        to_toml(&good(LEAST)),
        "[experiment]\nstop = 4.0\n\n[component.a]\nsource = \"native:quarter-car/chassis\"\n"
    );
}

const NAME: &str = "[a-zA-Z0-9_-]{1,6}([ .][a-z]{1,3})?";

fn number() -> impl Strategy<Value = f64> {
    prop_oneof![any::<f64>().prop_filter("comparable", |number| !number.is_nan()), Just(1e-6), Just(400.0)]
}

fn positive() -> impl Strategy<Value = f64> {
    prop_oneof![1e-12..1e12, Just(f64::MIN_POSITIVE), Just(f64::MAX)]
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        number().prop_map(Value::Number),
        any::<bool>().prop_map(Value::Flag),
        any::<String>().prop_map(Value::Text),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::List),
            prop::collection::btree_map(any::<String>(), inner, 0..4)
                .prop_map(|table| Value::Table(table.into_iter().collect())),
        ]
    })
}

fn component() -> impl Strategy<Value = Component> {
    (
        prop::collection::btree_map(any::<String>(), value(), 0..4),
        prop::collection::btree_map(any::<String>(), -1e9..1e9, 0..3),
        prop::collection::btree_map(any::<String>(), unit(), 0..3),
        prop::option::of(positive()),
        prop::option::of(0.0..1e9),
        prop::option::of(positive()),
    )
        .prop_map(|(parameters, starts, units, tolerance, weight, step)| Component {
            source: "a \"quoted\" \\ file.fmu".into(),
            parameters: parameters.into_iter().map(|(name, value)| (name, value, 0..0)).collect(),
            starts: starts.into_iter().map(|(name, value)| (name, value, 0..0)).collect(),
            units: units.into_iter().map(|(name, value)| (name, value, 0..0)).collect(),
            tolerance,
            weight,
            step: step.map(|every| (every, 0..0)),
            ..Component::default()
        })
}

fn unit() -> impl Strategy<Value = Unit> {
    let known = prop::sample::select(vec!["m/s", "degC", "kN.m"]).prop_map(|text| Unit::parse(text).unwrap());
    let own = (any::<String>(), prop::array::uniform7(-9i8..9), positive(), -1e3..1e3)
        .prop_map(|(text, dimension, factor, offset)| Unit { text, dimension, factor, offset });
    prop_oneof![known, own]
}

fn components() -> impl Strategy<Value = Vec<Component>> {
    prop::collection::btree_map(NAME, component(), 1..4).prop_map(|components| {
        components.into_iter().map(|(name, component)| Component { name, ..component }).collect()
    })
}

prop_compose! {
    fn bond()(
        opposite in prop::sample::select(vec![Opposite::Neither, Opposite::Effort, Opposite::Flow]),
        direction in prop::sample::select(vec![PowerDirection::AToB, PowerDirection::BToA]),
        tolerance in prop::option::of(positive()),
        energy_scale in prop::option::of(positive()),
    ) -> BondDecl {
        BondDecl { opposite, direction, tolerance, energy_scale, ..BondDecl::default() }
    }
}

prop_compose! {
    fn methods()(
        corrected in any::<bool>(),
        gain in prop::option::of(0.0..1.0),
        fresh in any::<bool>(),
        size in prop::option::of(positive()),
        min in 1e-9..1e-3,
        max in prop_oneof![Just(f64::INFINITY), 1e-3..1e3],
        shrink in prop_oneof![Just(0.2), 0.01..1.0],
        grow in prop_oneof![Just(1.5), 1.0..10.0],
        reject in prop::sample::select(vec![Reject::Never, Reject::AboveOne]),
    ) -> MethodConfig {
        let mut methods = MethodConfig::default();
        if corrected {
            methods.correction.default = Choice::named("nepce");
            if let Some(gain) = gain {
                methods.correction.default = methods.correction.default.with("gain", Value::Number(gain));
                methods.estimate = Choice::named("power-residual").with("tolerance", Value::Number(gain));
            }
        }
        if fresh {
            methods.exchange.default = Exchange::Fresh;
        }
        methods.step = StepConfig { size, min, max, shrink, grow, reject, ..StepConfig::default() };
        methods
    }
}

prop_compose! {
    fn system()(
        components in components(),
        bonds in prop::collection::vec(bond(), 0..3),
        (mut methods, mut own) in (methods(), methods()),
        start in -1e3..1e3,
        length in 1e-3..1e3,
        extra in prop::collection::btree_map(-5i32..5, -1e3..1e3, 0..3),
        (port, gain, special) in ("[^.\\p{C}][^\\p{C}]{0,5}", -1e9..1e9, any::<bool>()),
    ) -> System {
        let extra: Vec<(f64, f64)> = extra.into_iter().map(|(from, to)| (f64::from(from) / 2.0, to)).collect();
        let owner = components[0].name.clone();
        let port = format!("{owner}.{port}");
        let named = || (port.clone(), 0..0);
        let power = PowerPort { effort: named(), flow: named() };
        let name = |(index, bond)| BondDecl {
            name: format!("link-{index}"), a: power.clone(), b: power.clone(), ..bond
        };
        let bonds: Vec<BondDecl> = bonds.into_iter().enumerate().map(name).collect();
        if special {
            methods.input.inputs.push((port.clone(), Choice::named("linear"), 0..0));
            methods.exchange.inputs.push((port.clone(), Exchange::Stale, 0..0));
        }
        // Keys of `[method]` cannot be unset by an island, only replaced.
        own.step.size.get_or_insert(length);
        own.step.max = methods.step.max;
        let side = |leaves| JunctionSide { port: power.clone(), leaves };
        System {
            folder: "folder".into(),
            experiment: Experiment { start, stop: start + length, ..Experiment::default() },
            components,
            connections: vec![
                ConnectionDecl {
                    from: (0..1 + extra.len() % 3).map(|_| Summand { port: named(), gain, map: extra.clone() }).collect(),
                    to: named(), offset: length, convert: special,
                },
                ConnectionDecl::plain(named(), named()),
            ],
            bonds,
            junctions: vec![JunctionDecl {
                name: "node".into(), common: Common::Flow, sides: vec![side(special), side(false)],
                tolerance: None, energy_scale: Some(length), span: 0..0,
            }],
            monolithic: vec![MonolithicDecl {
                name: "whole".into(),
                components: vec![(owner.clone(), 0..0)],
                options: vec![("relative".into(), Value::Number(length), 0..0)],
                span: 0..0,
            }],
            methods,
            islands: vec![IslandDecl {
                name: "isle".into(), components: vec![(owner.clone(), 0..0)], methods: own, span: 0..0,
            }],
            results: Results {
                variables: vec![(port.clone(), 0..0), (format!("!{owner}.*"), 0..0)],
                every: special.then_some(length),
            },
            reference: special.then(|| ReferenceDecl {
                model: ("quarter-car".into(), 0..0), ports: vec![(port.clone(), "vw".into(), 0..0)],
            }),
            scenario: None,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn systems_survive(system in system()) {
        let written = to_toml(&system);
        prop_assert_eq!(bare(good(&written)), system, "{}", written);
    }
}
