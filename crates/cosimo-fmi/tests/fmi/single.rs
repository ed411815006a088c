//! One FMU alone: against closed forms, its parameters, its states, and its misbehaviour.

use cosimo::core::{Inputs, Segment, Slot, Value};

use crate::common::{advance, archive, build_fmu, enter, folder, library, open, outputs, refusal};

fn near(found: &[f64], wanted: &[f64]) {
    assert_eq!(found.len(), wanted.len());
    for (a, b) in found.iter().zip(wanted) {
        assert!((a - b).abs() < 1e-12, "{found:?} {wanted:?}");
    }
}

/// The closed form of the mass under a cubic force.
fn fly(x: f64, v: f64, m: f64, h: f64, f: [f64; 4]) -> [f64; 2] {
    let [a, b, c, d] = f;
    let once = h * (a + h * (b / 2.0 + h * (c / 3.0 + h * d / 4.0)));
    let twice = h * h * (a / 2.0 + h * (b / 6.0 + h * (c / 12.0 + h * d / 20.0)));
    [v + once / m, x + v * h + twice / m]
}

#[test]
fn a_mass_follows_a_cubic_force_in_both_versions() {
    for version in [2, 3] {
        let folder = folder(&format!("cubic{version}"));
        build_fmu(&folder, version, "mass", &[], &[]);
        let mut mass =
            open(&folder, "mass.fmu", &[("m", Value::Number(2.0)), ("v0", Value::Number(0.5))]).unwrap();
        let abilities = mass.interface().abilities;
        assert!(
            abilities.rollback && abilities.serialize_state && abilities.jacobian && abilities.variable_step
        );
        assert_eq!(abilities.input_degree, 3);
        enter(&mut *mass);
        near(&outputs(&mut *mass), &[0.5, 1.0]);
        let (mut x, mut v, mut t) = (1.0, 0.5, 0.0);
        for step in 0..20 {
            let (h, force) =
                (if step % 2 == 0 { 0.1 } else { 0.03 }, [1.0, -2.0, 3.0, 0.5 * f64::from(step)]);
            assert_eq!(advance(&mut *mass, t, h, &[Segment(force)]), Ok(t + h));
            [v, x] = fly(x, v, 2.0, h, force);
            near(&outputs(&mut *mass), &[v, x]);
            t += h;
        }
    }
}

/// An FMU that can only hold its inputs gets the value at the start of the step; split steps get means.
#[test]
fn substeps_bring_a_moving_input_to_an_fmu_that_holds() {
    for (version, change) in
        [(2, ("canInterpolateInputs=\"true\"", "")), (3, (" intermediateUpdate=\"true\"", ""))]
    {
        let folder = folder(&format!("substep{version}"));
        build_fmu(&folder, version, "spring", &[change], &[]);
        let velocity = Segment([1.0, 2.0, 0.0, 0.0]);
        let mut held = open(&folder, "spring.fmu", &[]).unwrap();
        assert_eq!(held.interface().abilities.input_degree, 0);
        enter(&mut *held);
        advance(&mut *held, 0.0, 0.1, &[velocity]).unwrap();
        near(&outputs(&mut *held)[1..], &[1.1]);
        let mut split = open(&folder, "spring.fmu", &[("cosimo.substep", Value::Number(4.0))]).unwrap();
        assert_eq!(split.interface().abilities.input_degree, 3);
        enter(&mut *split);
        assert_eq!(advance(&mut *split, 0.0, 0.1, &[velocity]), Ok(0.1));
        near(&outputs(&mut *split)[1..], &[1.0 + 0.1 + 0.01]);
    }
}

#[test]
fn states_are_saved_restored_and_carried_as_bytes() {
    for version in [2, 3] {
        let folder = folder(&format!("states{version}"));
        build_fmu(&folder, version, "mass", &[], &[]);
        let mut mass = open(&folder, "mass.fmu", &[]).unwrap();
        enter(&mut *mass);
        let error = mass.rollback().unwrap().restore(Slot::Probe).unwrap_err();
        assert_eq!(error.to_string(), "`restore` failed: no state was saved");
        advance(&mut *mass, 0.0, 0.1, &[Segment::constant(3.0)]).unwrap();
        mass.rollback().unwrap().save(Slot::Attempt).unwrap();
        let (mut bytes, there) = (Vec::new(), outputs(&mut *mass));
        mass.serialize_state().unwrap().serialize(&mut bytes).unwrap();
        advance(&mut *mass, 0.1, 0.2, &[Segment::constant(-1.0)]).unwrap();
        mass.rollback().unwrap().save(Slot::Window).unwrap();
        let later = outputs(&mut *mass);
        mass.rollback().unwrap().restore(Slot::Attempt).unwrap();
        assert_eq!(outputs(&mut *mass), there);
        mass.rollback().unwrap().restore(Slot::Window).unwrap();
        assert_eq!(outputs(&mut *mass), later);
        let mut other = open(&folder, "mass.fmu", &[]).unwrap();
        enter(&mut *other);
        other.serialize_state().unwrap().deserialize(&bytes).unwrap();
        assert_eq!(outputs(&mut *other), there);
        let error =
            other.serialize_state().unwrap().deserialize(&bytes[..bytes.len() - 1]).unwrap_err().to_string();
        assert!(
            error.ends_with(&format!("these bytes are no state at t = {} ()", bytes.len() - 2)),
            "{error}"
        );
    }
}

#[test]
fn the_force_answers_at_once_and_its_derivative_is_known() {
    for version in [2, 3] {
        let folder = folder(&format!("jacobian{version}"));
        build_fmu(&folder, version, "spring", &[], &[]);
        let mut spring = open(&folder, "spring.fmu", &[("c", Value::Number(7.0))]).unwrap();
        assert_eq!(spring.interface().feedthrough, [(0, 0)]);
        assert_eq!(spring.interface().outputs[0].unit.as_ref().unwrap().dimension, [1, 1, -2, 0, 0, 0, 0]);
        enter(&mut *spring);
        let at = cosimo::core::Time::ZERO;
        spring.set_inputs(at, &Inputs::of(&[Segment::constant(0.5)])).unwrap();
        near(&outputs(&mut *spring), &[-1.0 - 3.5, 1.0]);
        let mut derivatives = [f64::NAN; 2];
        spring.jacobian().unwrap().fill(&mut derivatives).unwrap();
        assert_eq!(derivatives, [-7.0, 0.0]);
    }
}

/// T12: what a description says about it may be missing or wrong.
#[test]
fn trap_t12_which_output_answers_at_once_is_found_by_trying() {
    let probed = [("cosimo.feedthrough", Value::Text("probed".into()))];
    for version in [2, 3] {
        let folder = folder(&format!("probed{version}"));
        let (force, position) = if version == 2 {
            ("index=\"2\" dependencies=\"1\"", "index=\"3\" dependencies=\"\"")
        } else {
            ("valueReference=\"1\" dependencies=\"0\"", "valueReference=\"2\" dependencies=\"\"")
        };
        let silent = |text: &str| text.split_once(" dependencies").unwrap().0.to_owned();
        let says = |text: &str, list: &str| format!("{} dependencies=\"{list}\"", silent(text));
        let input = if version == 2 { "1" } else { "0" };
        // The force answers the velocity, the position does not.
        for (changes, declared, warnings) in [
            (vec![], vec![(0, 0)], vec![]),
            (vec![(force, silent(force)), (position, silent(position))], vec![(0, 0), (1, 0)], vec![]),
            (
                vec![(force, says(force, ""))],
                vec![],
                vec!["direct feed-through that the description does not declare: F from v"],
            ),
            (
                vec![(position, says(position, input))],
                vec![(0, 0), (1, 0)],
                vec!["direct feed-through that the description declares but no trial showed: x from v"],
            ),
        ] {
            let changes: Vec<(&str, &str)> = changes.iter().map(|(from, to)| (*from, to.as_str())).collect();
            build_fmu(&folder, version, "spring", &changes, &[]);
            let believed = open(&folder, "spring.fmu", &[]).unwrap();
            assert_eq!(believed.interface().feedthrough, declared, "{changes:?}");
            let tried = open(&folder, "spring.fmu", &probed).unwrap();
            assert_eq!(tried.interface().feedthrough, [(0, 0)], "{changes:?}");
            let more = &tried.interface().warnings[believed.interface().warnings.len()..];
            assert_eq!(more, warnings, "{changes:?}");
        }
        // An FMU that does not start cannot be tried; the run will say why in its own place.
        build_fmu(&folder, version, "spring", &[], &[]);
        let impossible = [probed[0].clone(), ("c", Value::Number(-1.0))];
        let believed = open(&folder, "spring.fmu", &impossible).unwrap();
        assert_eq!(believed.interface().feedthrough, [(0, 0)]);
        let warning = believed.interface().warnings.last().unwrap();
        assert!(warning.contains("could not be probed") && warning.contains("must be positive"), "{warning}");
    }
}

#[test]
fn parameters_of_every_type_reach_the_fmu() {
    for version in [2, 3] {
        let folder = folder(&format!("types{version}"));
        let count = if version == 2 {
            (
                "name=\"count\" valueReference=\"9\" causality=\"local\"",
                "name=\"count\" valueReference=\"9\" causality=\"output\"",
            )
        } else {
            ("causality=\"local\"", "causality=\"output\"")
        };
        build_fmu(&folder, version, "mass", &[count], &[]);
        let given = [
            ("sign", Value::Flag(false)),
            ("fault", Value::Number(3.0)),
            ("label", Value::Text("left 100%s".into())),
            ("v0", Value::Number(2.0)),
        ];
        let mut mass = open(&folder, "mass.fmu", &given).unwrap();
        enter(&mut *mass);
        near(&outputs(&mut *mass), &[-2.0, 1.0, 0.0]);
        advance(&mut *mass, 0.0, 0.05, &[Segment::ZERO]).unwrap();
        near(&outputs(&mut *mass), &[-2.0, 1.1, 1.0]);
        let error = advance(&mut *mass, 0.05, 0.05, &[Segment::ZERO]).unwrap_err();
        let step = if version == 2 { "fmi2DoStep" } else { "fmi3DoStep" };
        assert_eq!(
            error,
            format!(
                "`{step}` failed: the FMU returned `error`; last log messages:\n  error (logStatusError): an error at t = 0.05 (left 100%s)"
            )
        );
    }
}

#[test]
fn wrong_parameters_are_all_named_at_once() {
    let folder = folder("parameters");
    build_fmu(&folder, 2, "mass", &[], &[]);
    let given = [
        ("mm", Value::Number(1.0)),
        ("m", Value::Flag(true)),
        ("fault", Value::Number(1.5)),
        ("sign", Value::Number(2.0)),
        ("label", Value::Number(1.0)),
        ("x", Value::Number(1.0)),
        ("F", Value::Number(1.0)),
        ("cosimo.substeps", Value::Number(2.0)),
        ("cosimo.substep", Value::Number(0.0)),
    ];
    assert_eq!(
        refusal(&folder, "mass.fmu", &given),
        "\
FMU `mass` has no variable `mm` (did you mean `m`?)
`m` of FMU `mass` must be a finite number, got true
`fault` of FMU `mass` must be a whole number from -2147483648 to 2147483647, got 1.5
`sign` of FMU `mass` must be true or false, got 2
`label` of FMU `mass` must be a text, got 1
`x` of FMU `mass` cannot be set: the FMU computes this output
`F` of FMU `mass` is an input, not a parameter (connect it, or give it a value as an input)
there is no option `cosimo.substeps` (did you mean `cosimo.substep`?)
`cosimo.substep` must be a whole number from 1 to 1e6, got 0 (it splits each macro step, so that extrapolated inputs reach an FMU that holds its inputs)"
    );
}

#[test]
fn arrays_and_other_types_are_ports() {
    let folder = folder("arrays");
    library("arrays3.c", &[], &folder.join("a.so"));
    let text = r#"<fmiModelDescription fmiVersion="3.0" modelName="arrays" instantiationToken="a">
<CoSimulation modelIdentifier="arrays"/>
<TypeDefinitions><EnumerationType name="Gear"><Item name="low" value="1"/><Item name="high" value="2"/></EnumerationType></TypeDefinitions>
<ModelVariables>
<UInt64 name="n" valueReference="20" causality="structuralParameter" variability="fixed" start="2"/>
<Float64 name="u" valueReference="1" causality="input" start="1 2 3 4"><Dimension start="2"/><Dimension valueReference="20"/></Float64>
<Float64 name="y" valueReference="2" causality="output"><Dimension start="2"/><Dimension valueReference="20"/></Float64>
<Float64 name="gain" valueReference="3" causality="parameter" variability="fixed" start="1 1 1 1"><Dimension start="4"/></Float64>
<Float32 name="s" valueReference="4" causality="output"/>
<UInt16 name="i" valueReference="5" causality="input" start="3"/>
<UInt16 name="o" valueReference="6" causality="output"/>
<Boolean name="a" valueReference="7" causality="input" start="true"/>
<Boolean name="b" valueReference="8" causality="output"/>
<Enumeration name="e" valueReference="9" causality="input" declaredType="Gear" start="1"/>
<Enumeration name="f" valueReference="10" causality="output" declaredType="Gear"/>
<Binary name="blob" valueReference="11" causality="output"/>
</ModelVariables>
<ModelStructure><Output valueReference="2"/><Output valueReference="4" dependencies="1"/><Output valueReference="6" dependencies="5"/>
<Output valueReference="8" dependencies="7"/><Output valueReference="10" dependencies="9"/></ModelStructure>
</fmiModelDescription>"#;
    let binary = std::fs::read(folder.join("a.so")).unwrap();
    let entries: &[(&str, &[u8])] =
        &[("modelDescription.xml", text.as_bytes()), ("binaries/x86_64-linux/arrays.so", &binary)];
    archive(&folder.join("arrays.fmu"), entries);
    let gains = Value::List([1.0, 2.0, 3.0, 4.0].map(Value::Number).into());
    let mut fmu = open(&folder, "arrays.fmu", &[("gain", gains)]).unwrap();
    let names = |ports: &[cosimo::core::Port]| ports.iter().map(|port| port.name.clone()).collect::<Vec<_>>();
    let interface = fmu.interface().clone();
    assert_eq!(names(&interface.inputs), ["u[1,1]", "u[1,2]", "u[2,1]", "u[2,2]", "i", "a", "e"]);
    assert_eq!(names(&interface.outputs), ["y[1,1]", "y[1,2]", "y[2,1]", "y[2,2]", "s", "o", "b", "f"]);
    assert_eq!(interface.inputs[2].start, Some(3.0));
    assert_eq!(interface.inputs[5].start, Some(1.0));
    // y says nothing of its dependencies, so it may hear everything.
    assert_eq!(interface.feedthrough.iter().filter(|pair| pair.0 == 0).count(), 7);
    assert_eq!(interface.feedthrough.iter().filter(|pair| pair.0 == 5).collect::<Vec<_>>(), [&(5, 4)]);
    assert!(
        !interface.abilities.rollback && !interface.abilities.jacobian && !interface.abilities.variable_step
    );
    // Elements answer elements; how items of an enumeration answer is not tried.
    let probed = [("cosimo.feedthrough", Value::Text("probed".into()))];
    let tried = open(&folder, "arrays.fmu", &probed).unwrap().interface().clone();
    let own = |output: usize| tried.feedthrough.iter().filter(move |pair| pair.0 == output);
    assert_eq!(own(1).collect::<Vec<_>>(), [&(1, 1), &(1, 6)]);
    assert_eq!(own(4).count(), 4, "{:?}", tried.feedthrough);
    assert_eq!(own(5).chain(own(6)).chain(own(7)).collect::<Vec<_>>(), [&(5, 4), &(6, 5), &(7, 6)]);
    enter(&mut *fmu);
    let inputs = [0.5, 1.0, 1.5, 2.0, 6.9, 1.0, 2.0].map(Segment::constant);
    advance(&mut *fmu, 0.0, 0.1, &inputs).unwrap();
    assert_eq!(outputs(&mut *fmu), [0.5, 2.0, 4.5, 8.0, 5.0, 8.0, 0.0, 2.0]);
    let given = [("gain", Value::Number(1.0)), ("n", Value::Number(3.0))];
    assert_eq!(
        refusal(&folder, "arrays.fmu", &given),
        "`gain` of FMU `arrays` must be a list of 4 Float64 values, got 1\n\
         `n` of FMU `arrays` is a structural parameter; Cosimo cannot change these yet"
    );
}

/// A warning changes nothing; a discarded step says how far it came; rounding and folder are put back.
#[test]
fn misbehaviour_is_contained() {
    for version in [2, 3] {
        let folder = folder(&format!("faults{version}"));
        let early = if version == 3 {
            ("canGetAndSetFMUState", "mightReturnEarlyFromDoStep=\"true\" canGetAndSetFMUState")
        } else {
            ("{mass}", "{mass}")
        };
        let flags: &[&str] = if version == 2 { &["-DCHDIR", "-DMASS"] } else { &[] };
        build_fmu(&folder, version, "mass", &[early], flags);
        let start = |fault: f64| {
            let mut mass = open(&folder, "mass.fmu", &[("fault", Value::Number(fault))]).unwrap();
            let before = std::env::current_dir().unwrap();
            enter(&mut *mass);
            assert_eq!(std::env::current_dir().unwrap(), before);
            advance(&mut *mass, 0.0, 0.1, &[Segment::constant(1.0)]).unwrap();
            mass
        };
        let step = |fault: f64| {
            let mut mass = start(fault);
            let reached = advance(&mut *mass, 0.1, 0.1, &[Segment::constant(1.0)]);
            (reached, outputs(&mut *mass))
        };
        let fine = step(0.0);
        assert_eq!(step(1.0), fine);
        assert_eq!(step(2.0).0, Ok(0.1 + 0.05));
        let third = std::hint::black_box(1.0f64) / std::hint::black_box(3.0);
        assert_eq!(step(6.0).0, fine.0);
        assert_eq!(std::hint::black_box(1.0f64) / std::hint::black_box(3.0), third);
        let fatal = step(4.0).0.unwrap_err();
        assert!(fatal.contains("the FMU returned `fatal`"), "{fatal}");
        assert!(step(5.0).1[1].is_nan());
    }
}

/// Many FMUs know only first derivatives of inputs, and the standard has no place to say so.
#[test]
fn derivatives_are_told_up_to_the_order_that_is_in_use() {
    let folder = folder("first-order");
    build_fmu(&folder, 2, "mass", &[], &["-DFIRST_ORDER"]);
    let mut mass = open(&folder, "mass.fmu", &[]).unwrap();
    enter(&mut *mass);
    assert_eq!(advance(&mut *mass, 0.0, 0.1, &[Segment::constant(1.0)]), Ok(0.1));
    assert_eq!(advance(&mut *mass, 0.1, 0.1, &[Segment([1.0, 2.0, 0.0, 0.0])]), Ok(0.2));
    let message = advance(&mut *mass, 0.2, 0.1, &[Segment([1.0, 2.0, 3.0, 0.0])]).unwrap_err();
    assert!(message.contains("only first derivatives at t = 2"), "{message}");
    // What was told once is told again when it is zero, also after the state went through bytes.
    build_fmu(&folder, 2, "mass", &[("{mass}\"", "{mass}\" version=\"2\"")], &[]);
    let mut mass = open(&folder, "mass.fmu", &[]).unwrap();
    enter(&mut *mass);
    advance(&mut *mass, 0.0, 0.1, &[Segment([1.0, 2.0, 3.0, 4.0])]).unwrap();
    let (mut bytes, before) = (Vec::new(), outputs(&mut *mass));
    mass.serialize_state().unwrap().serialize(&mut bytes).unwrap();
    let mut other = open(&folder, "mass.fmu", &[]).unwrap();
    enter(&mut *other);
    other.serialize_state().unwrap().deserialize(&bytes).unwrap();
    for mass in [&mut mass, &mut other] {
        advance(&mut **mass, 0.1, 0.1, &[Segment::constant(1.0)]).unwrap();
        near(&outputs(&mut **mass), &fly(before[1], before[0], 1.0, 0.1, [1.0, 0.0, 0.0, 0.0]));
    }
    assert!(other.serialize_state().unwrap().deserialize(&[9]).is_err());
}

#[test]
fn an_fmu_that_speaks_badly_is_heard_where_it_can_be() {
    let folder = folder("speaks");
    build_fmu(&folder, 2, "mass", &[], &["-DSPEAKS_BADLY"]);
    let mut mass = open(&folder, "mass.fmu", &[("fault", Value::Number(3.0))]).unwrap();
    enter(&mut *mass);
    let message = advance(&mut *mass, 0.1, 0.1, &[Segment::constant(1.0)]).unwrap_err();
    assert_eq!(
        message,
        "`fmi2DoStep` failed: the FMU returned `error`; last log messages:\n  error: an error"
    );
}

#[test]
fn an_fmu_that_refuses_to_start_says_why() {
    for version in [2, 3] {
        let folder = folder(&format!("refuses{version}"));
        let tool = ("modelIdentifier=\"mass\"", "modelIdentifier=\"mass\" needsExecutionTool=\"true\"");
        build_fmu(&folder, version, "mass", &[("{mass}", "{other}"), tool], &[]);
        let setup = cosimo::core::Setup {
            start: cosimo::core::Time::ZERO,
            stop: None,
            stop_at_events: false,
            rewinds: true,
        };
        let error = open(&folder, "mass.fmu", &[]).unwrap().initialize(&setup).unwrap_err();
        let (function, word) =
            if version == 2 { ("fmi2Instantiate", "guid") } else { ("fmi3InstantiateCoSimulation", "token") };
        assert_eq!(
            error.to_string(),
            format!(
                "`{function}` failed: the FMU could not be instantiated (it requires the exporting tool: \
                 by hand); last log messages:\n  \
                 error (logStatusError): the {word} is {{other}}, expected {{mass}}"
            )
        );
        build_fmu(&folder, version, "spring", &[], &[]);
        let mut spring = open(&folder, "spring.fmu", &[("c", Value::Number(-1.0))]).unwrap();
        let error = spring.initialize(&setup).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!(
                "`fmi{version}EnterInitializationMode` failed: the FMU returned `error`; last log messages:\n  \
                 error (logStatusError): the first parameter must be positive at t = 0 ()"
            )
        );
    }
}

#[test]
fn an_fmu_may_end_the_simulation() {
    for version in [2, 3] {
        let folder = folder(&format!("terminates{version}"));
        build_fmu(&folder, version, "mass", &[], &[]);
        let mut mass = open(&folder, "mass.fmu", &[("fault", Value::Number(7.0))]).unwrap();
        enter(&mut *mass);
        assert_eq!(mass.lifecycle().unwrap().ending(), None);
        assert_eq!(advance(&mut *mass, 0.1, 0.1, &[Segment::ZERO]), Ok(0.1));
        assert_eq!(mass.lifecycle().unwrap().ending().unwrap(), format!("fmi{version}DoStep"));
        // What has ended is not stepped again.
        let error = advance(&mut *mass, 0.1, 0.1, &[Segment::ZERO]).unwrap_err();
        assert_eq!(
            error,
            format!("`fmi{version}DoStep` failed: the simulator requests the end of the simulation")
        );
    }
}

/// Asked to be quiet because it has a costly category, it refuses: that was only a wish.
#[test]
fn an_fmu_that_refuses_to_log_runs() {
    let folder = folder("debug-logging");
    let costly = ("<LogCategories>", "<LogCategories><Category name=\"logFmi2Call\"/>");
    build_fmu(&folder, 2, "mass", &[costly], &[]);
    let mut mass = open(&folder, "mass.fmu", &[("fault", Value::Number(3.0))]).unwrap();
    enter(&mut *mass);
    assert_eq!(advance(&mut *mass, 0.0, 0.01, &[Segment::ZERO]), Ok(0.01));
    // That it was asked is the first of its last words.
    let message = advance(&mut *mass, 0.1, 0.1, &[Segment::ZERO]).unwrap_err();
    assert!(
        message.contains("no logging here at t = 0 ()") && message.contains("an error at t = 0.1"),
        "{message}"
    );
}

/// FMUs with global variables say that there can be one only; each of ours then has its own library.
#[test]
fn an_fmu_for_one_instance_per_process_can_be_used_twice() {
    let folder = folder("once");
    let once = ("canGetAndSetFMUstate", "canBeInstantiatedOnlyOncePerProcess=\"true\" canGetAndSetFMUstate");
    build_fmu(&folder, 2, "mass", &[once], &[]);
    let mut fmus: Vec<_> = (0..3).map(|_| open(&folder, "mass.fmu", &[]).unwrap()).collect();
    for (index, fmu) in fmus.iter_mut().enumerate() {
        enter(&mut **fmu);
        advance(&mut **fmu, 0.0, 0.1, &[Segment::constant(index as f64)]).unwrap();
    }
    for (index, fmu) in fmus.iter_mut().enumerate() {
        near(&outputs(&mut **fmu)[..1], &[0.1 * index as f64]);
    }
}
