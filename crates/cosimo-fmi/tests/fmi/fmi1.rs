//! FMI 1.0 slaves: every type, aliases, the order of calls at the start, steps that are pending or discarded, and messages.

use std::fs;
use std::path::Path;

use cosimo::core::{Inputs, Segment, Time, Value, ValueType};
use cosimo_fmi::Description;
use cosimo_fmi::description::{Causality, Fmi, Initial, Variability, VariableType};

use crate::common::{advance, archive, changed, enter, folder, library, open, outputs, refusal};

const SLAVE1: &str = include_str!("../fixtures/slave1.xml");

/// The slave in a folder, with its description changed and its binary compiled with flags.
fn slave(folder: &Path, changes: &[(&str, &str)], flags: &[&str]) {
    for (from, _) in changes {
        assert!(SLAVE1.contains(from), "the description has no `{from}`");
    }
    let binary = folder.join("slave.so");
    library("fmi1.c", flags, &binary);
    archive(
        &folder.join("slave.fmu"),
        &[
            ("modelDescription.xml", changed(SLAVE1, changes).as_bytes()),
            ("binaries/linux64/slave.so", &fs::read(binary).unwrap()),
        ],
    );
}

const OUTPUTS: [&str; 8] = ["x", "minus_x", "same_x", "twice", "n_out", "minus_n", "b_out", "not_b"];

/// All inputs but the text: u, n, b.
fn inputs(u: [f64; 4], n: f64, b: f64) -> [Segment; 3] {
    [Segment(u), Segment::constant(n), Segment::constant(b)]
}

#[test]
fn a_description_is_read_in_the_words_of_later_versions() {
    let about = Description::parse(SLAVE1).unwrap();
    assert_eq!((about.fmi, about.fmi_version.as_str(), about.token.as_str()), (Fmi::One, "1.0", "{slave}"));
    let offer = about.cosimulation.as_ref().unwrap();
    assert_eq!(offer.identifier, "slave");
    let can = offer.capabilities;
    assert!(can.variable_step && !can.get_set_state && !can.directional_derivatives);
    assert_eq!(can.input_derivative_order, 3);
    assert!(about.exchange.is_none() && about.warnings.is_empty(), "{:?}", about.warnings);
    let facts = |name: &str| {
        let variable = about.find(name).unwrap();
        (variable.kind, variable.causality, variable.variability, variable.initial)
    };
    use Initial::{Approx, Calculated, Exact};
    assert_eq!(facts("u"), (VariableType::Float64, Causality::Input, Variability::Continuous, None));
    assert_eq!(facts("k"), (VariableType::Float64, Causality::Parameter, Variability::Fixed, Some(Exact)));
    assert_eq!(facts("x0"), (VariableType::Float64, Causality::Local, Variability::Continuous, Some(Approx)));
    assert_eq!(
        facts("x"),
        (VariableType::Float64, Causality::Output, Variability::Continuous, Some(Calculated))
    );
    assert_eq!(facts("pi").2, Variability::Constant);
    assert_eq!(facts("s_out").0, VariableType::String);
    let mode = about.find("mode").unwrap();
    assert_eq!(mode.items, [("slow".to_owned(), 1), ("fast".to_owned(), 2)]);
    // A declared type gives its unit and its range.
    let u = about.find("u").unwrap();
    assert_eq!((u.unit_name.as_deref(), u.limits.largest), (Some("m/s"), 100.0));
    assert_eq!(u.unit.as_ref().unwrap().dimension, cosimo::core::Unit::parse("m/s").unwrap().dimension);
    // Negatives keep their value reference for people.
    let minus = about.find("minus_x").unwrap();
    assert_eq!((minus.negated, minus.written_reference()), (Some(1), 1));
    assert!(
        about.variables.iter().all(|other| other.name == "minus_x" || other.reference != minus.reference)
    );
    let depends = |name: &str| {
        let of = about.outputs.iter().find(|output| about.variables[output.variable].name == name).unwrap();
        of.dependencies
            .as_ref()
            .map(|list| list.iter().map(|at| about.variables[*at].name.as_str()).collect::<Vec<_>>())
    };
    assert_eq!((depends("x"), depends("twice"), depends("s_out")), (Some(vec![]), Some(vec!["u"]), None));
}

#[test]
fn two_inputs_of_one_value_are_one_port_and_what_is_odd_is_said() {
    let text = changed(
        SLAVE1,
        &[
            (
                "name=\"minus_u\" valueReference=\"0\" causality=\"internal\"",
                "name=\"minus_u\" valueReference=\"0\" causality=\"input\"",
            ),
            ("<Name>n</Name>", "<Name>nobody</Name>"),
            (
                "name=\"s_out\" valueReference=\"1\" causality=\"output\"",
                "name=\"s_out\" valueReference=\"4294967295\" causality=\"output\"",
            ),
        ],
    );
    let about = Description::parse(&text).unwrap();
    let warnings: Vec<String> = about.warnings.iter().map(|warning| warning.message.clone()).collect();
    assert_eq!(
        warnings,
        [
            "input `minus_u` is an alias of input `u` and is not a port: connect `u`",
            "`nobody` in a list of dependencies does not exist",
            "`s_out` has no value reference and is not a port",
        ]
    );
    assert_eq!(about.find("minus_u").unwrap().causality, Causality::Local);
}

#[test]
fn kinds_that_do_not_run_are_explained_and_described_all_the_same() {
    let implementation =
        &SLAVE1[SLAVE1.find("<Implementation>").unwrap()..SLAVE1.find("</fmiModel").unwrap()];
    let exchange = SLAVE1.replace(implementation, "").replace("States=\"0\"", "States=\"2\"");
    let tool = SLAVE1
        .replace("CoSimulation_StandAlone>", "CoSimulation_Tool>")
        .replace(
            "</CoSimulation_Tool>",
            "<Model entryPoint=\"fmu://resources/a.mdl\" type=\"application/x-a\" manualStart=\"true\"/></CoSimulation_Tool>",
        );
    for (text, kind, words, shown) in [
        (
            &exchange,
            "model exchange",
            "this FMU is for model exchange in FMI 1.0; Cosimo runs FMI 1.0 for co-simulation only",
            ("states", "2"),
        ),
        (
            &tool,
            "co-simulation coupled to a tool",
            "this FMI 1.0 FMU is a tool coupling, which requires the exporting tool (by hand)",
            ("tool model", "fmu://resources/a.mdl, application/x-a, to be started manually"),
        ),
    ] {
        let problems = Description::parse(text).unwrap_err();
        assert_eq!(problems.iter().map(|problem| problem.message.as_str()).collect::<Vec<_>>(), [words]);
        let about = Description::inspect(text).unwrap();
        assert_eq!((about.unsupported.as_slice(), about.variables.len()), ([kind].as_slice(), 19));
        assert_eq!(about.obstacles, problems);
        let details: Vec<(&str, &str)> = about.details.iter().map(|(a, b)| (*a, b.as_str())).collect();
        assert!(details.contains(&shown) && details.contains(&("author", "A. Maker")), "{details:?}");
    }
}

#[test]
fn every_type_goes_in_and_out_and_negatives_are_negative() {
    let folder = folder("fmi1-types");
    slave(&folder, &[], &[]);
    let parameters =
        [("k", Value::Number(2.0)), ("x0", Value::Number(0.5)), ("mode", Value::Text("fast".into()))];
    let mut slave = open(&folder, "slave.fmu", &parameters).unwrap();
    let interface = slave.interface().clone();
    assert_eq!(interface.outputs.iter().map(|port| port.name.as_str()).collect::<Vec<_>>(), OUTPUTS);
    assert_eq!(interface.inputs[2].value_type, ValueType::Boolean);
    let can = interface.abilities;
    assert!(
        !can.rollback && !can.serialize_state && !can.jacobian && can.variable_step && can.input_degree == 3
    );
    enter(&mut *slave);
    slave.bytes().unwrap().set_bytes(0, b"ab").unwrap();
    slave.set_inputs(Time::new(0.0).unwrap(), &Inputs::of(&inputs([3.0, 0.0, 0.0, 0.0], 5.0, 1.0))).unwrap();
    // Initialised with these inputs: x = x0 + u.
    assert_eq!(outputs(&mut *slave), [3.5, -3.5, 3.5, 6.0, 7.0, -7.0, 0.0, 1.0]);
    let mut text = Vec::new();
    slave.bytes().unwrap().get_bytes(0, &mut text).unwrap();
    assert_eq!(text, b"<ab>");
    // The input moves by its derivatives: u = 1 - 2 t + 3 t^2, k = 2.
    let moving = inputs([1.0, -2.0, 3.0, 0.0], -1.0, 0.0);
    assert_eq!(advance(&mut *slave, 0.0, 0.5, &moving), Ok(0.5));
    let (x, u) = (3.5 + 2.0 * (0.5 - 0.25 + 0.125), 1.0 - 1.0 + 0.75);
    assert_eq!(outputs(&mut *slave), [x, -x, x, 2.0 * u, 1.0, -1.0, 1.0, 0.0]);
    slave.bytes().unwrap().set_bytes(0, b"").unwrap();
    slave.bytes().unwrap().get_bytes(0, &mut text).unwrap();
    assert_eq!(text, b"<>");
    assert!(slave.rollback().is_none() && slave.serialize_state().is_none());
}

/// A slave that is first read with other inputs starts with the right ones all the same.
#[test]
fn inputs_that_become_known_late_count_at_initialisation() {
    let folder = folder("fmi1-late");
    slave(&folder, &[], &[]);
    let mut slave = open(&folder, "slave.fmu", &[("minus_k", Value::Number(-4.0))]).unwrap();
    enter(&mut *slave);
    let at = Time::new(0.0).unwrap();
    for (u, n) in [(0.0, 0.0), (7.0, 1.0), (7.0, 1.0), (2.0, 1.0)] {
        slave.set_inputs(at, &Inputs::of(&inputs([u, 0.0, 0.0, 0.0], n, 0.0))).unwrap();
        // Still the instance that was initialised with the first ones; what follows directly from inputs follows.
        assert_eq!(outputs(&mut *slave)[..3], [0.0, 0.0, 0.0]);
        assert_eq!(outputs(&mut *slave)[4], n + 1.0);
    }
    assert!(slave.lifecycle().unwrap().exit_initialization().unwrap());
    assert_eq!(outputs(&mut *slave)[..5], [2.0, -2.0, 2.0, 4.0, 2.0]);
    // The negative of a parameter sets it: k = 4. Inputs of a step do not change its start.
    advance(&mut *slave, 0.0, 0.5, &inputs([1.0, 0.0, 0.0, 0.0], 0.0, 0.0)).unwrap();
    assert_eq!(outputs(&mut *slave)[0], 2.0 + 4.0 * 0.5);
}

#[test]
fn an_fmu_for_one_instance_per_process_is_not_made_anew() {
    let folder = folder("fmi1-once");
    let once = ("canHandleEvents=\"true\"", "canBeInstantiatedOnlyOncePerProcess=\"true\"");
    slave(&folder, &[once], &[]);
    let mut slave = open(&folder, "slave.fmu", &[]).unwrap();
    enter(&mut *slave);
    let at = Time::new(0.0).unwrap();
    for (u, x) in [(1.0, 1.0), (7.0, 1.0)] {
        slave.set_inputs(at, &Inputs::of(&inputs([u, 0.0, 0.0, 0.0], 0.0, 0.0))).unwrap();
        assert_eq!(outputs(&mut *slave)[0], x);
    }
    slave.lifecycle().unwrap().exit_initialization().unwrap();
    assert_eq!(outputs(&mut *slave)[0], 1.0);
}

#[test]
fn steps_may_be_pending_or_end_early_or_be_refused() {
    for (flag, wanted) in [
        ("-DWAITS", Ok(0.4)),
        ("-DDISCARDS", Ok(0.25)),
        ("-DREFUSES", Err("the FMU returned `discard`; it logged no message")),
    ] {
        let folder = folder(&format!("fmi1{flag}"));
        slave(&folder, &[], &[flag]);
        let mut slave = open(&folder, "slave.fmu", &[]).unwrap();
        enter(&mut *slave);
        let u = inputs([1.0, 0.0, 0.0, 0.0], 0.0, 0.0);
        slave.set_inputs(Time::new(0.0).unwrap(), &Inputs::of(&u)).unwrap();
        assert_eq!(advance(&mut *slave, 0.0, 0.2, &u), Ok(0.2), "{flag}");
        let reached = advance(&mut *slave, 0.2, 0.2, &u);
        match wanted {
            Ok(to) => {
                assert!((reached.clone().unwrap() - to).abs() < 1e-15, "{flag}: {reached:?}");
                assert!((outputs(&mut *slave)[0] - 1.0 - to).abs() < 1e-15, "{flag}");
            }
            Err(words) => assert!(reached.clone().unwrap_err().contains(words), "{reached:?}"),
        }
    }
}

#[test]
fn functions_may_carry_another_identifier_or_none() {
    for (name, identifier, flags) in
        [("own", "A_B_C1", vec!["-DID=A_B_C1"]), ("none", "slave", vec!["-DNO_PREFIX"])]
    {
        let folder = folder(&format!("fmi1-prefix-{name}"));
        let binary = folder.join("slave.so");
        library("fmi1.c", &flags, &binary);
        let text = SLAVE1.replace("modelIdentifier=\"slave\"", &format!("modelIdentifier=\"{identifier}\""));
        let inside = format!("binaries/linux64/{identifier}.so");
        archive(
            &folder.join("slave.fmu"),
            &[("modelDescription.xml", text.as_bytes()), (&inside, &fs::read(binary).unwrap())],
        );
        let mut slave = open(&folder, "slave.fmu", &[]).unwrap();
        enter(&mut *slave);
        assert_eq!(outputs(&mut *slave)[0], 0.0, "{name}");
    }
    let folder = folder("fmi1-prefix-wrong");
    slave(&folder, &[], &["-DID=other"]);
    assert_eq!(
        refusal(&folder, "slave.fmu", &[]),
        "slave.fmu: slave.so does not export the functions `slave_fmiInstantiateSlave`, `slave_fmiInitializeSlave`, \
         `slave_fmiTerminateSlave`, `slave_fmiFreeSlaveInstance`, `slave_fmiDoStep`, \
         `slave_fmiSetRealInputDerivatives` (binary and description of the FMU do not match; report this \
         to its vendor)"
    );
}

/// The logger is given the instance, or something else, or nothing; messages are told where they can be placed.
#[test]
fn messages_arrive_whatever_the_slave_hands_over() {
    let wrong = ("guid=\"{slave}\"", "guid=\"{other}\"");
    for (flag, said) in [
        ("-DFINE", "error (slave): k must be positive: 0"),
        ("-DSPEAKS_BADLY", "error: k must be positive (1)"),
    ] {
        let folder = folder(&format!("fmi1-log{flag}"));
        slave(&folder, &[], &[flag]);
        let mut slave = open(&folder, "slave.fmu", &[("k", Value::Number(0.0))]).unwrap();
        enter(&mut *slave);
        let error = advance(&mut *slave, 0.0, 0.1, &inputs([0.0; 4], 0.0, 0.0)).unwrap_err();
        assert!(error.contains("fmiInitializeSlave") && error.contains(said), "{flag}: {error}");
    }
    // During instantiation there is no instance yet.
    let folder = folder("fmi1-log-guid");
    slave(&folder, &[wrong], &[]);
    let mut refused = open(&folder, "slave.fmu", &[]).unwrap();
    let start = Time::new(0.0).unwrap();
    let error = refused
        .initialize(&cosimo::core::Setup { start, stop: None, stop_at_events: false, rewinds: false })
        .unwrap_err()
        .to_string();
    assert!(error.contains("error (slave): the guid is {other}, expected {slave}"), "{error}");
}
