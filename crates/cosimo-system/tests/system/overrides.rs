//! Overrides by the command line, and their errors.

use cosimo_core::Value;
use cosimo_system::overrides::apply;
use cosimo_system::*;

use super::registry::registry;
use super::{FULL, LEAST, bare, good};

const TWO: &str = "[experiment]\nstop = 4\n[component.chassis]\nsource = 'native:quarter-car/chassis'\n\
                   [component.wheel]\nsource = 'native:quarter-car/wheel'\nparameters = { zw = 1 }\n";

fn changed(text: &str, overrides: Overrides) -> System {
    let mut system = good(text);
    assert_eq!(apply(&mut system, &overrides, &registry()), []);
    system
}

/// The problem, after which the system must be what it was.
#[track_caller]
fn refused(text: &str, overrides: Overrides, code: &str, message: &str, hint: Option<&str>) {
    let mut system = good(text);
    let problems = apply(&mut system, &overrides, &registry());
    let [problem] = &problems[..] else { panic!("expected one problem, got {problems:#?}") };
    assert_eq!((problem.code, problem.message.as_str()), (code, message));
    assert_eq!(problem.hint.as_deref(), hint);
    assert_eq!((problem.span.clone(), problem.label.as_str()), (0..0, ""));
    assert_eq!(system, good(text));
}

fn set(text: &str) -> Overrides {
    Overrides { sets: vec![text.into()], ..Overrides::default() }
}

fn method(text: &str) -> Overrides {
    Overrides { methods: vec![text.into()], ..Overrides::default() }
}

fn parameters(component: &Component) -> Vec<(&str, Value)> {
    component.parameters.iter().map(|(name, value, _)| (name.as_str(), value.clone())).collect()
}

#[test]
fn nothing_changes_nothing() {
    assert_eq!(changed(FULL, Overrides::default()), good(FULL));
}

#[test]
fn the_experiment_and_the_step() {
    let system = changed(
        FULL,
        Overrides { stop: Some(9.0), end: Some(EndRule::Exact), step: Some(0.5), ..Overrides::default() },
    );
    assert_eq!((system.experiment.stop, system.experiment.end), (9.0, EndRule::Exact));
    let step = &system.methods.step;
    assert_eq!((step.size, step.size_origin), (Some(0.5), ChoiceOrigin::CommandLine));

    let code = "override/value";
    let stop = |stop| Overrides { stop: Some(stop), ..Overrides::default() };
    refused(FULL, stop(1.0), code, "`--stop 1`: must be later than the start, 1 s, got 1", None);
    refused(FULL, stop(f64::NAN), code, "`--stop nan`: must be a finite number, got nan", None);
    for (bad, spelled) in [(0.0, "0"), (-1.0, "-1"), (f64::NAN, "nan"), (f64::INFINITY, "inf")] {
        let message = format!("`--step {spelled}`: must be a finite number above 0, got {spelled}");
        refused(FULL, Overrides { step: Some(bad), ..Overrides::default() }, code, &message, None);
    }
}

#[test]
fn own_steps_of_the_command_line_override_the_file() {
    let own = |text: &str| Overrides { own_steps: vec![text.into()], ..Overrides::default() };
    let system = changed(FULL, own("chassis=2e-3"));
    let steps: Vec<Option<f64>> =
        system.components.iter().map(|component| component.step.as_ref().map(|(every, _)| *every)).collect();
    assert_eq!(steps, [None, Some(2e-3)]);
    let code = "override/value";
    for bad in ["0", "-1", "nan", "inf", "soon"] {
        let message = format!("`--own-step wheel={bad}`: must be a finite number above 0, got {bad}");
        refused(FULL, own(&format!("wheel={bad}")), code, &message, None);
    }
    let message = "`--own-step whel=1`: no component is called `whel`";
    refused(FULL, own("whel=1"), "override/unknown-component", message, Some("did you mean `wheel`?"));
    let message = "`--own-step 1e-3`: must be `component=seconds`";
    refused(FULL, own("1e-3"), "override/syntax", message, Some("as in `wheel=5e-3`"));
}

#[test]
fn results_of_the_command_line_replace_those_of_the_file() {
    let record = |patterns: &[&str]| Overrides {
        record: patterns.iter().map(|pattern| (*pattern).into()).collect(),
        ..Overrides::default()
    };
    let system = changed(FULL, record(&["a.*", "!a.x"]));
    let kept: Vec<&str> = system.results.variables.iter().map(|(pattern, _)| pattern.as_str()).collect();
    assert_eq!((kept, system.results.every), (vec!["a.*", "!a.x"], Some(0.01)));
    let every = |every| Overrides { record_every: Some(every), ..Overrides::default() };
    let system = changed(FULL, every(0.5));
    assert_eq!((system.results.variables.len(), system.results.every), (2, Some(0.5)));

    let message = "`--record-every -1`: must be a finite number above 0, got -1";
    refused(FULL, every(-1.0), "override/value", message, None);
    for pattern in ["", "!"] {
        let message = format!("`--record {pattern:?}`: must be a pattern such as `a.*`");
        refused(FULL, record(&[pattern]), "override/syntax", &message, None);
    }
}

#[test]
fn a_tolerance_overrides_all_of_the_file() {
    let tolerance = |tolerance| Overrides { tolerance: Some(tolerance), ..Overrides::default() };
    let system = changed(FULL, tolerance(0.5));
    let given: Vec<_> =
        system.methods.estimate.options.iter().filter(|(name, ..)| name == "tolerance").collect();
    assert_eq!(given, [&("tolerance".to_owned(), Value::Number(0.5), 0..0)]);
    assert_eq!(system.methods.estimate.origin, ChoiceOrigin::CommandLine);
    assert!(system.bonds.iter().all(|bond| bond.tolerance.is_none()));
    assert!(system.junctions.iter().all(|junction| junction.tolerance.is_none()));
    assert!(system.components.iter().all(|component| component.tolerance.is_none()));
    assert_eq!(system.bonds[0].energy_scale, Some(750.0));

    let code = "override/value";
    let hint = Some("estimates with a tolerance are `power-residual`");
    refused(LEAST, tolerance(0.5), code, "`--tolerance 0.5`: the estimate `none` has no tolerance", hint);
    let message = "`--tolerance 0`: must be a finite number above 0, got 0";
    refused(FULL, tolerance(0.0), code, message, None);
    let message = "`--tolerance 2`: `tolerance` of `power-residual` must be a number from 0 to 1, got 2";
    refused(FULL, tolerance(2.0), code, message, None);

    let both = Overrides { tolerance: Some(0.5), ..method("estimate=power-residual") };
    assert_eq!(changed(LEAST, both).methods.estimate.options.len(), 1);
}

#[test]
fn parameters_of_one_or_of_all() {
    let system = changed(TWO, set("chassis.mc = 500"));
    assert_eq!(parameters(&system.components[0]), [("mc", Value::Number(500.0))]);
    assert_eq!(parameters(&system.components[1]), [("zw", Value::Number(1.0))]);

    let system = changed(TWO, set("k=1e3"));
    assert_eq!(parameters(&system.components[0]), [("k", Value::Number(1e3))]);
    assert_eq!(parameters(&system.components[1])[1], ("k", Value::Number(1e3)));

    // Declared nowhere, but in the file.
    let system = changed(TWO, set("zw=2"));
    assert_eq!(parameters(&system.components[0]), []);
    assert_eq!(parameters(&system.components[1]), [("zw", Value::Number(2.0))]);

    // A component may accept undeclared parameters.
    let system = changed(TWO, set("chassis.file.name=data/road.csv"));
    assert_eq!(parameters(&system.components[0]), [("file.name", Value::Text("data/road.csv".into()))]);
}

#[test]
fn parameter_values_are_toml_or_plain_words() {
    let value = |spelled: &str| {
        changed(TWO, set(&format!("wheel.x={spelled}"))).components[1].parameters[1].1.clone()
    };
    assert_eq!(value("true"), Value::Flag(true));
    assert_eq!(value("\"a=b\""), Value::Text("a=b".into()));
    assert_eq!(value("a=b"), Value::Text("a=b".into()));
    assert_eq!(value("1.2.3"), Value::Text("1.2.3".into()));
    assert_eq!(value("[1, 2]"), Value::List(vec![Value::Number(1.0), Value::Number(2.0)]));
    assert_eq!(value("{ a = 1 }"), Value::Table(vec![("a".into(), Value::Number(1.0))]));
}

#[test]
fn unknown_parameters() {
    refused(
        TWO,
        set("chasis.mc=1"),
        "override/unknown-component",
        "`--set chasis.mc=1`: no component is called `chasis`",
        Some("did you mean `chassis`?"),
    );
    refused(
        TWO,
        set("mass=1"),
        "override/unknown-parameter",
        "`--set mass=1`: no component has a parameter or an input `mass`",
        Some("known are `k`, `mc`, `mw`, `zw`"),
    );
    let hint =
        Some("`parameter=value` sets it in all components that have it; unconnected inputs can be set too");
    refused(TWO, set("mc"), "override/syntax", "`--set mc`: must be `component.parameter=value`", hint);
    refused(TWO, set("mc="), "override/syntax", "`--set mc=`: there is no value after `=`", None);
    let mut system = good(TWO);
    let problems = apply(&mut system, &set("mc=[1"), &registry());
    assert!(problems[0].message.starts_with("`--set mc=[1`: the value is not TOML: "), "{problems:?}");
}

#[test]
fn methods_by_name_or_with_options() {
    for axis in ["partition", "schedule"] {
        let methods = changed(FULL, method(&format!("{axis}=jacobi"))).methods;
        assert_eq!(
            methods.partition,
            Choice { origin: ChoiceOrigin::CommandLine, ..Choice::named("jacobi") }
        );
    }
    let methods = changed(LEAST, method("iteration={ fixed-point = { sweeps = 3 } }")).methods;
    let methods_then = {
        let mut system = good(LEAST);
        system.methods = methods;
        assert_eq!(apply(&mut system, &method("schedule=gauss-seidel"), &registry()), []);
        system.methods
    };
    assert_eq!(methods_then.iteration, Choice { origin: ChoiceOrigin::CommandLine, ..Choice::named("once") });

    let methods = changed(FULL, method("correction={ nepce = { gain = 0.5 } }")).methods;
    let nepce = Choice::named("nepce").with("gain", Value::Number(0.5));
    assert_eq!(methods.correction, PerInput::all(Choice { origin: ChoiceOrigin::CommandLine, ..nepce }));

    let methods = changed(FULL, method("input=linear")).methods;
    assert_eq!(
        methods.input,
        PerInput::all(Choice { origin: ChoiceOrigin::CommandLine, ..Choice::named("linear") })
    );

    let per_input = method("input={ default = \"hold\", \"wheel.F\" = \"linear\" }");
    let methods = changed(TWO, per_input).methods;
    assert_eq!(
        (methods.input.default.name.as_str(), methods.input.of("wheel.F").name.as_str()),
        ("hold", "linear")
    );
    assert_eq!(
        (methods.input.inputs[0].1.origin, &methods.input.inputs[0].2),
        (ChoiceOrigin::CommandLine, &(0..0))
    );

    let several = Overrides {
        methods: ["exchange=fresh", "controller='pi'", "estimate=power-residual", "reject=above-one"]
            .map(String::from)
            .into(),
        ..Overrides::default()
    };
    let methods = bare(changed(LEAST, several)).methods;
    assert_eq!(methods.exchange, PerInput::all(Exchange::Fresh));
    assert_eq!(
        (methods.controller, methods.estimate),
        (Choice::named("pi"), Choice::named("power-residual"))
    );
    assert_eq!(methods.step.reject, Reject::AboveOne);
}

#[test]
fn unknown_methods() {
    refused(
        TWO,
        method("corection=nepce"),
        "override/unknown-axis",
        "`--method corection=nepce`: there is no axis `corection`",
        Some("did you mean `correction`?"),
    );
    refused(
        TWO,
        method("correction=nepc"),
        "system/unknown-method",
        "`--method correction=nepc`: `nepc` is not a method for `correction`",
        Some("did you mean `nepce`?"),
    );
    refused(
        TWO,
        method("correction={ nepce = { gian = 1 } }"),
        "system/option",
        "`--method correction={ nepce = { gian = 1 } }`: `nepce` has no `gian`",
        Some("did you mean `gain`?"),
    );
    refused(
        TWO,
        method("input={ \"weel.F\" = \"hold\" }"),
        "system/unknown-component",
        "`--method input={ \"weel.F\" = \"hold\" }`: no component is called `weel`",
        Some("did you mean `wheel`?"),
    );
    let axes = "axes are `schedule`, `partition`, `iteration`, `input`, `correction`, `exchange`, `estimate`, `controller`, `reject`";
    refused(TWO, method("jacobi"), "override/syntax", "`--method jacobi`: must be `axis=method`", Some(axes));
    refused(
        TWO,
        method("controller="),
        "override/syntax",
        "`--method controller=`: there is no value after `=`",
        None,
    );
    refused(
        TWO,
        method("reject=always"),
        "system/value",
        "`--method reject=always`: `reject` must be \"never\" or \"above-one\", got \"always\"",
        Some("known are `never`, `above-one`"),
    );
}

#[test]
fn all_problems_come_at_once() {
    let overrides = Overrides {
        stop: Some(-1.0),
        end: None,
        step: Some(0.0),
        own_steps: vec!["whel=1".into()],
        tolerance: Some(1.0),
        connects: vec!["chassis.v".into()],
        bonds: vec!["strut".into()],
        monolithic: vec!["chassis,whel".into()],
        input: Some("drive.txt".into()),
        solver: Some("euler".into()),
        sets: vec!["x".into(), "y.z=1".into()],
        methods: vec!["controller=none".into()],
        record: vec!["!".into()],
        record_every: Some(0.0),
    };
    assert_eq!(apply(&mut good(TWO), &overrides, &registry()).len(), 14);
}

#[test]
fn connections_and_bonds() {
    let connect = |text: &str| Overrides { connects: vec![text.into()], ..Overrides::default() };
    let bond = |text: &str| Overrides { bonds: vec![text.into()], ..Overrides::default() };
    let system = changed(TWO, connect("chassis.q[1,2]=wheel.in.v"));
    let [connection] = &system.connections[..] else { panic!("{:?}", system.connections) };
    let [from] = &connection.from[..] else { panic!("{connection:?}") };
    assert_eq!(
        (from.port.0.as_str(), connection.to.0.as_str(), from.gain),
        ("chassis.q[1,2]", "wheel.in.v", 1.0)
    );

    let text =
        "strut=chassis.F[1,2]:chassis.v~wheel.F:wheel.v,opposite=flow,direction=b-to-a,energy_scale=2.5";
    let system = changed(TWO, bond(text));
    let [found] = &system.bonds[..] else { panic!("{:?}", system.bonds) };
    assert_eq!(
        (found.name.as_str(), found.opposite, found.direction),
        ("strut", Opposite::Flow, PowerDirection::BToA)
    );
    assert_eq!((found.energy_scale, found.tolerance), (Some(2.5), None));
    assert_eq!((found.a.effort.0.as_str(), found.b.flow.0.as_str()), ("chassis.F[1,2]", "wheel.v"));

    refused(
        TWO,
        connect("chassis.v"),
        "override/syntax",
        "`--connect chassis.v`: must be `component.output=component.input`",
        Some("the output comes first, as in `a.y=b.u`"),
    );
    refused(
        TWO,
        connect("chasis.v=wheel.v"),
        "override/unknown-component",
        "`--connect chasis.v=wheel.v`: no component is called `chasis`",
        Some("did you mean `chassis`?"),
    );
    refused(
        TWO,
        bond("strut=chassis.F~wheel.F"),
        "override/syntax",
        "`--bond strut=chassis.F~wheel.F`: must be `name=effort:flow~effort:flow`",
        Some(
            "as in `joint=a.F:a.v~b.F:b.v`; options follow as `,opposite=flow,direction=b-to-a,energy_scale=10`",
        ),
    );
    refused(
        TWO,
        bond("s=chassis.F:v~wheel.F:wheel.v"),
        "override/syntax",
        "`--bond s=chassis.F:v~wheel.F:wheel.v`: expected `component.port`, got `v`",
        None,
    );
    let wrong = "s=chassis.F:chassis.v~wheel.F:wheel.v,opposite=both";
    let problems = apply(&mut good(TWO), &bond(wrong), &registry());
    assert!(problems[0].message.ends_with("`opposite` must be `none`, `effort` or `flow`, got `both`"));
}

#[test]
fn a_system_from_sources() {
    let sources = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    let (system, problems) = sources::system(
        &sources(&["parts/Modelica.Blocks.fmu", "b=x=1.fmu", "native:quarter-car/wheel"]),
        &registry(),
    );
    assert_eq!(problems, []);
    let found: Vec<_> = system.components.iter().map(|c| (c.name.as_str(), c.source.as_str())).collect();
    assert_eq!(
        found,
        [
            ("Modelica_Blocks", "parts/Modelica.Blocks.fmu"),
            ("b", "x=1.fmu"),
            ("wheel", "native:quarter-car/wheel")
        ]
    );
    assert_eq!((system.experiment.stop, system.methods.step.size), (1.0, Some(1e-3)));
    let (_, problems) = sources::system(&sources(&["a.fmu", "b/a.fmu", "é+=c.fmu"]), &registry());
    let messages: Vec<&str> = problems.iter().map(|problem| problem.message.as_str()).collect();
    assert_eq!(
        messages,
        [
            "two components are named `a`",
            "the name of a component is made of letters, digits, `_` and `-`, with single dots or spaces between, got \"é+\""
        ]
    );
    assert!(sources::is_source("left=a.fmu", &registry()) && !sources::is_source("system.toml", &registry()));
}
