//! Simulation settings in annotations of other tools, and what else their files do otherwise.

use cosimo::core::Value;
use cosimo::export::{Design, Version, built_library, write};

use super::{
    UNITS, close, component, connection, connectors_of, folder, read, run, ssd, system, to, warnings, written,
};

const TAP: &str = "<ssd:Elements><ssd:Component name=\"a\" type=\"application/x-cosimo-native\" source=\"tap:y=1|\"/></ssd:Elements>";

fn annotation(tool: &str, inside: &str) -> String {
    format!(
        "<ssd:Annotations><ssc:Annotation type=\"{tool}\" xmlns:osp=\"urn:osp\" xmlns:oms=\"urn:oms\">{inside}\
         </ssc:Annotation></ssd:Annotations>"
    )
}

fn experiment(inside: &str) -> String {
    format!("<ssd:DefaultExperiment startTime=\"0\" stopTime=\"1\">{inside}</ssd:DefaultExperiment>")
}

#[test]
fn the_step_of_osp_is_taken() {
    for around in [
        ["", ""],
        ["<osp:Algorithm>", "</osp:Algorithm>"],
        ["<osp:SimulationInformation>", "</osp:SimulationInformation>"],
    ] {
        let [before, after] = around;
        let step = format!("{before}<osp:FixedStepAlgorithm baseStepSize=\"1e-4\"/>{after}");
        let after = experiment(&annotation("com.opensimulationplatform", &step));
        let path = written("osp-step", &[("SystemStructure.ssd", &ssd(TAP, &after))]);
        assert_eq!(warnings(&path), [""; 0]);
        assert_eq!(system(&path).methods.step.size, Some(1e-4), "{before}");
    }
}

#[test]
fn the_step_and_the_rows_of_openmodelica_are_taken() {
    let master = "<oms:Annotations><oms:SimulationInformation><oms:FixedStepMaster description=\"oms-ma\" \
                  stepSize=\"0.100000\" absoluteTolerance=\"0.000100\" relativeTolerance=\"0.000100\"/>\
                  </oms:SimulationInformation></oms:Annotations>";
    let inside = format!("{TAP}{}", annotation("org.openmodelica", master));
    let results = "<oms:Annotations><oms:SimulationInformation resultFile=\"a.mat\" loggingInterval=\"0.5\" \
                   bufferSize=\"10\" signalFilter=\".*\"/></oms:Annotations>";
    let after = experiment(&annotation("org.openmodelica", results));
    let path = written("oms-step", &[("SystemStructure.ssd", &ssd(&inside, &after))]);
    assert_eq!(warnings(&path), [""; 0]);
    let system = system(&path);
    assert_eq!((system.methods.step.size, system.results.every), (Some(0.1), Some(0.5)));
}

/// Tolerances go to FMUs that Cosimo integrates, and to no others.
#[test]
fn tolerances_of_openmodelica_reach_integrators() {
    let folder = folder("oms-tolerances");
    let library = built_library().unwrap();
    write(&Design::new("native:oscillator/mass", Version::Two), &library, &folder.join("mass.fmu")).unwrap();
    write(&Design::exchange("native:bouncing-ball", Version::Two), &library, &folder.join("ball.fmu"))
        .unwrap();
    let master = "<oms:SimulationInformation><oms:VariableStepSolver description=\"cvode\" absoluteTolerance=\"1e-7\" \
                  relativeTolerance=\"1e-5\" minimumStepSize=\"1e-12\" maximumStepSize=\"0.01\" initialStepSize=\"1e-6\"/>\
                  </oms:SimulationInformation>";
    let fmu = |name: &str| {
        format!(
            "<ssd:Component name=\"{name}\" type=\"application/x-fmu-sharedlibrary\" source=\"{name}.fmu\"/>"
        )
    };
    let inside = format!(
        "<ssd:Elements>{}{}</ssd:Elements>{}",
        fmu("mass"),
        fmu("ball"),
        annotation("org.openmodelica", master)
    );
    let path = folder.join("SystemStructure.ssd");
    std::fs::write(&path, ssd(&inside, &experiment(""))).unwrap();
    assert_eq!(
        warnings(&path),
        [
            "OpenModelica integrates the FMUs of this system as one, with variable steps; here they are coupled with fixed macro steps"
        ]
    );
    let system = system(&path);
    assert_eq!(system.methods.step.size, Some(0.01));
    let parameters = |index: usize| {
        let of = |(name, value, _): &(String, Value, _)| (name.clone(), value.clone());
        system.components[index].parameters.iter().map(of).collect::<Vec<(String, Value)>>()
    };
    assert_eq!(parameters(0), []);
    let wanted = [("cosimo.relative", 1e-5), ("cosimo.absolute", 1e-7), ("cosimo.largest_step", 0.01)];
    assert_eq!(parameters(1), wanted.map(|(name, value)| (name.to_owned(), Value::Number(value))));
}

#[test]
fn settings_that_are_not_understood_are_named() {
    let ecco = "<osp:Algorithm><osp:EccoAlgorithm stepSize=\"1e-3\" safetyFactor=\"0.9\"/></osp:Algorithm>";
    let inner = "<oms:SimulationInformation><oms:FixedStepMaster stepSize=\"0.5\" colour=\"red\"/></oms:SimulationInformation>";
    let other =
        "<oms:SimulationInformation threads=\"4\"><oms:Wizard power=\"9\"/></oms:SimulationInformation>";
    let nested = format!("<ssd:System name=\"inner\">{}</ssd:System>", annotation("org.openmodelica", inner));
    let inside = TAP.replace("</ssd:Elements>", &format!("{nested}</ssd:Elements>"));
    let inside = format!("{inside}{}", annotation("org.openmodelica", other));
    let after = experiment(&annotation("com.opensimulationplatform", ecco));
    let path = written("not-understood", &[("SystemStructure.ssd", &ssd(&inside, &after))]);
    let document = read(&path);
    let found: Vec<&str> = document.problems.iter().map(|problem| problem.message.as_str()).collect();
    assert_eq!(
        found,
        [
            "`<FixedStepMaster>` is only partly supported: a fixed step of 0.5 s is used, ignored are `colour=\"red\"`",
            "`<FixedStepMaster>` has a step of 0.5 s inside a system with a step of 0.001 s; 0.001 s is used for all",
            "unsupported simulation settings are ignored: `threads=\"4\"`",
            "the simulation settings in `<Wizard>` are not supported and ignored",
            "`<EccoAlgorithm>` is only partly supported: a fixed step of 0.001 s is used, ignored are \
             `safetyFactor=\"0.9\"`",
        ]
    );
    assert!(document.problems.iter().all(|problem| problem.code == "ssp/settings"));
    assert_eq!(document.system.methods.step.size, Some(1e-3));
}

#[test]
fn steps_of_nested_structures_and_hints_of_components_are_named() {
    let master =
        "<oms:SimulationInformation><oms:FixedStepMaster stepSize=\"0.5\"/></oms:SimulationInformation>";
    let inner = ssd(TAP, &experiment(&annotation("org.openmodelica", master)));
    let nested = "<ssd:Component name=\"n\" type=\"application/x-ssp-definition\" source=\"inner.ssd\"/>";
    let hint = annotation("com.opensimulationplatform", "<osp:StepSizeHint value=\"0.25\"/>");
    let hinted = format!(
        "<ssd:Component name=\"b\" type=\"application/x-cosimo-native\" source=\"tap:y=1|\">{hint}</ssd:Component>"
    );
    let inside = TAP.replace("</ssd:Elements>", &format!("{hinted}{nested}</ssd:Elements>"));
    let path = written(
        "nested-settings",
        &[("SystemStructure.ssd", &ssd(&inside, &experiment(""))), ("inner.ssd", &inner)],
    );
    assert_eq!(
        warnings(&path),
        [
            "the simulation settings in `<StepSizeHint>` are not supported and ignored",
            "`inner.ssd` asks for steps of 0.5 s; nested structures take those of the outermost one",
        ]
    );
}

/// An annotation of ours says all that a run needs; drawings of other tools say nothing of it.
#[test]
fn our_own_annotation_counts_and_drawings_do_not() {
    let step = "<osp:Algorithm><osp:FixedStepAlgorithm baseStepSize=\"1e-4\"/></osp:Algorithm>";
    let buses = "<oms:Annotations><oms:Buses><oms:Bus name=\"b\"/></oms:Buses></oms:Annotations>";
    let inside = format!("{TAP}{}", annotation("org.openmodelica", buses));
    let after = format!(
        "{}{}",
        experiment(&annotation("com.opensimulationplatform", step)),
        "<ssd:Annotations><ssc:Annotation type=\"org.cosimo\"><c:system xmlns:c=\"urn:cosimo:ssp:1\"><![CDATA[\n[method]\n\
         step = { size = 0.25 }\n]]></c:system></ssc:Annotation></ssd:Annotations>"
    );
    let path = written("own-counts", &[("SystemStructure.ssd", &ssd(&inside, &after))]);
    assert_eq!(warnings(&path), [""; 0]);
    assert_eq!(system(&path).methods.step.size, Some(0.25));
}

#[test]
fn an_empty_element_is_the_enclosing_system() {
    let inner = format!(
        "<ssd:System name=\"inner\">{}<ssd:Elements>{}</ssd:Elements><ssd:Connections>\
         <ssd:Connection startElement=\"\" startConnector=\"v\" endElement=\"sensor\" endConnector=\"v\"/>\
         </ssd:Connections></ssd:System>",
        connectors_of(&["v input"]),
        component("sensor", "tap:|v", &["v input"], "")
    );
    let source = component("source", "tap:y=3|", &["y output"], "");
    let inside = format!(
        "<ssd:Elements>{source}{inner}</ssd:Elements><ssd:Connections>{}</ssd:Connections>",
        connection("source.y", "inner.v", "")
    );
    let path = written("empty-element", &[("SystemStructure.ssd", &ssd(&inside, super::EXPERIMENT))]);
    let mut run = run(&path);
    to(&mut run, 1.0);
    close(&run, "inner.sensor.v.seen", 3.0);
}

/// The same name for two definitions: meant is one unit.
#[test]
fn a_unit_of_two_definitions_is_shown_with_both() {
    let values = "<ssd:ParameterBindings><ssd:ParameterBinding><ssd:ParameterValues><ssv:ParameterSet version=\"1.0\" \
                  name=\"p\"><ssv:Parameters><ssv:Parameter name=\"v\"><ssv:Real value=\"36\" unit=\"km/h\"/></ssv:Parameter>\
                  </ssv:Parameters><ssv:Units><ssc:Unit name=\"km/h\"><ssc:BaseUnit m=\"1\" s=\"-1\" factor=\"3.6\"/>\
                  </ssc:Unit></ssv:Units></ssv:ParameterSet></ssd:ParameterValues></ssd:ParameterBinding></ssd:ParameterBindings>";
    let sensor = component("sensor", "tap:|v[km/h]", &["v input km/h"], values);
    let inside = format!("<ssd:Elements>{sensor}</ssd:Elements>");
    let path = written(
        "unit-differs",
        &[("SystemStructure.ssd", &ssd(&inside, &format!("{UNITS}{}", super::EXPERIMENT)))],
    );
    assert_eq!(
        warnings(&path),
        [
            "the unit `km/h` is 3.6 [m s^-1] where the value of `sensor.v` is given, and 0.2777777777777778 [m s^-1] in the \
          description; the value is set as it is"
        ]
    );
    assert_eq!(system(&path).components[0].starts[0].1, 36.0);
}

#[test]
fn an_enumeration_that_is_not_declared_is_warned_of_once() {
    let gear = |name: &str| {
        format!(
            "<ssd:Connector name=\"{name}\" kind=\"input\"><ssc:Enumeration name=\"Gear\"/></ssd:Connector>"
        )
    };
    let inside = format!(
        "<ssd:Elements><ssd:Component name=\"a\" type=\"application/x-cosimo-native\" source=\"tap:|n m\">\
         <ssd:Connectors>{}{}</ssd:Connectors></ssd:Component></ssd:Elements>",
        gear("n"),
        gear("m")
    );
    let path = written("undeclared", &[("SystemStructure.ssd", &ssd(&inside, super::EXPERIMENT))]);
    assert_eq!(warnings(&path), ["there is no enumeration `Gear`; its values are read as integers"]);
}

#[test]
fn a_proxy_on_this_computer_is_the_fmu_itself() {
    let folder = folder("proxy");
    let mass = Design::new("native:oscillator/mass", Version::Two);
    write(&mass, &built_library().unwrap(), &folder.join("mass.fmu")).unwrap();
    let path = folder.join("SystemStructure.ssd");
    let proxy = |host: &str| {
        let inside = format!(
            "<ssd:Elements><ssd:Component name=\"mass\" type=\"application/x-fmu-sharedlibrary\" \
             source=\"proxyfmu://{host}?file=mass.fmu\"/></ssd:Elements>"
        );
        std::fs::write(&path, ssd(&inside, super::EXPERIMENT)).unwrap();
        read(&path)
    };
    for host in ["localhost", "127.0.0.1:9090"] {
        let document = proxy(host);
        assert_eq!(document.system.components[0].source, "mass.fmu");
        let codes: Vec<&str> = document.problems.iter().map(|problem| problem.code).collect();
        assert_eq!(codes, ["ssp/proxy"]);
    }
    let document = proxy("ship.example:9090");
    assert!(document.has_errors());
    assert_eq!(
        document.problems[0].message,
        "the FMU is on the computer `ship.example:9090`; FMUs are run on this computer only"
    );
}
