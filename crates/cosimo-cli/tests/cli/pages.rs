//! The examples on pages about structures (SSP, OSP) and scenarios: each is made out of a good file and gives the code of its
//! page. Commands on other pages are run by `catalogue`.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::catalogue::pages;
use crate::common::{cosimo, folder, system};
use crate::osp::STRUCTURE;
use crate::structures::fixture;

/// Said by examples that need units with descriptions of their own, and tested beside their readers.
const ELSEWHERE: [&str; 7] = [
    "osp/group-size",
    "osp/unit",
    "osp/proxy",
    "ssp/proxy",
    "ssp/archive",
    "ssp/settings",
    "ssp/unit-differs",
];

/// A file, what stands there, and what the example has instead; nothing stands for all of the file.
type Change<'a> = (&'a str, &'a str, &'a str);

struct Example<'a> {
    code: &'a str,
    /// Words of the page that this is about.
    page: &'a str,
    changes: &'a [Change<'a>],
    args: &'a [&'a str],
}

const fn example<'a>(code: &'a str, page: &'a str, changes: &'a [Change<'a>]) -> Example<'a> {
    Example { code, page, changes, args: &[] }
}

const SSD: &str = "SystemStructure.ssd";
const VALUES: &str = "resources/values.ssv";
const XML: &str = "OspSystemStructure.xml";
const ACTS: &str = "scenario.toml";
/// The wheel of the structure, and the input of its chassis.
const WHEEL: &str = "type=\"application/x-cosimo-native\" source=\"native:quarter-car/wheel\"";
const FORCE: &str = "<ssd:Connector name=\"F\" kind=\"output\"><ssc:Real unit=\"N\"/></ssd:Connector>";
const TO_WHEEL: &str = "<ssd:Connection startElement=\"chassis\" startConnector=\"F\" endElement=\"Axle\" endConnector=\"force\"/>";
const MASS: &str = "<ssd:Connector name=\"mass\" kind=\"parameter\"><ssc:Real unit=\"g\"/>";
const TO_CHASSIS: &str = "<ssd:Connection startConnector=\"mass\" endElement=\"chassis\"";
const INSIDE_AXLE: &str = "<ssd:Connection startConnector=\"force\" endElement=\"wheel\" endConnector=\"F\">\n            \
    <ssc:LinearTransformation factor=\"1\" offset=\"0\"/>\n            \
    <ssd:ConnectionGeometry pointsX=\"1 2\" pointsY=\"3 4\"/>\n          </ssd:Connection>";
const OF_WHEEL: &str = "<ssd:Connector name=\"F\" kind=\"input\"/>";
const SPACES: &str =
    "xmlns:ssd=\"http://ssp-standard.org/SSP1/SystemStructureDescription\" version=\"1.0\" name=\"a\"";

#[rustfmt::skip]
const SSP: &[Example<'static>] = &[
    example("ssp/xml", "never closed", &[(SSD, "</ssd:System>\n  <ssd:Enumerations>", "<ssd:Enumerations>")]),
    example("ssp/encoding", "a file in Latin-1", &[(SSD, "a note", "une pièce")]),
    example("ssp/unreadable", "not a zip archive", &[(SSD, WHEEL, "type=\"application/x-ssp-package\" source=\"resources/values.ssv\"")]),
    example("ssp/root", "a parameter set", &[(SSD, "", include_str!("../../../cosimo-ssp/tests/fixtures/resources/values.ssv"))]),
    example("ssp/namespace", "`<System>` without the prefix", &[
        (SSD, "<ssd:System name=\"top\"", "<System name=\"top\""),
        (SSD, "</ssd:System>\n  <ssd:Enum", "</System>\n  <ssd:Enum"),
    ]),
    example("ssp/version", "`version=\"3.0\"`", &[(SSD, "version=\"1.0\" name=\"everything\"", "version=\"3.0\" name=\"everything\"")]),
    Example { code: "ssp/variant", page: "`--variant winter`", changes: &[], args: &["--variant", "winter"] },
    example("ssp/missing-file", "`source=\"resources/pum.fmu\"`", &[(SSD, WHEEL, "source=\"resources/pum.fmu\"")]),
    example("ssp/uri", "`source=\"http://...\"`", &[(SSD, WHEEL, "source=\"http://example.com/part.fmu\"")]),
    example("ssp/missing-element", "`<Unit>` without `<BaseUnit>`", &[(SSD, "<ssc:BaseUnit kg=\"1\"/>", "")]),
    example("ssp/missing-attribute", "a component without `source`", &[(SSD, " source=\"native:quarter-car/wheel\"", "")]),
    example("ssp/unknown-element", "`<ssd:Conections>`", &[
        (SSD, "<ssd:Connections>\n      <ssd:Connection startElement=\"chassis\"", "<ssd:Conections>\n      <ssd:Connection startElement=\"chassis\""),
        (SSD, "endConnector=\"mc\"/>\n    </ssd:Connections>", "endConnector=\"mc\"/>\n    </ssd:Conections>"),
    ]),
    example("ssp/value", "`factor=\"0\"`", &[(SSD, "factor=\"1000\"", "factor=\"0\"")]),
    example("ssp/type", "a connector for strings", &[(SSD, "kind=\"output\"><ssc:Real unit=\"N\"/>", "kind=\"output\"><ssc:String/>")]),
    example("ssp/binary", "`<ssv:Binary value=\"00ff\"/>`", &[(VALUES, "<ssv:String value=\"rk4\"/>", "<ssv:Binary value=\"00ff\"/>")]),
    example("ssp/name", "`name=\"pump/1\"`", &[
        (SSD, "<ssd:Component name=\"wheel\"", "<ssd:Component name=\"pump/1\""),
        (SSD, "endElement=\"wheel\"", "endElement=\"pump/1\""),
        (SSD, "startElement=\"wheel\"", "startElement=\"pump/1\""),
    ]),
    example("ssp/duplicate", "two components with `name=\"pump\"`", &[(SSD, "<ssd:System name=\"Axle\" id=\"axle\">",
        "<ssd:Component name=\"pump\" type=\"application/x-cosimo-native\" source=\"native:quarter-car/wheel\"/>
         <ssd:Component name=\"pump\" type=\"application/x-cosimo-native\" source=\"native:quarter-car/wheel\"/>
         <ssd:System name=\"Axle\" id=\"axle\">")]),
    example("ssp/empty", "without `<Elements>`", &[(SSD, "",
        "<ssd:SystemStructureDescription xmlns:ssd=\"http://ssp-standard.org/SSP1/SystemStructureDescription\" version=\"1.0\" \
         name=\"a\"><ssd:System name=\"b\"/></ssd:SystemStructureDescription>")]),
    example("ssp/circular", "names itself", &[(SSD, WHEEL, "type=\"application/x-ssp-definition\" source=\"SystemStructure.ssd\"")]),
    example("ssp/unknown-id", "`source=\"#pmp\"`", &[(SSD, WHEEL, "type=\"application/x-ssp-definition\" source=\"#pmp\"")]),
    example("ssp/unknown-element-name", "`startElement=\"pum\"`", &[(SSD, "startElement=\"chassis\"", "startElement=\"pum\"")]),
    example("ssp/unknown-connector", "`startConnector=\"flw\"`", &[(SSD, "startConnector=\"F\"", "startConnector=\"flw\"")]),
    example("ssp/unknown-dictionary", "`dictionary=\"bus\"`", &[(SSD, "dictionary=\"signals\"", "dictionary=\"bus\"")]),
    example("ssp/unknown-entry", "only has `velocity`", &[("resources/bus.ssb", "name=\"speed\"", "name=\"velocity\"")]),
    example("ssp/unknown-enumeration", "`<ssc:Enumeration name=\"Gear\"/>`", &[(SSD, OF_WHEEL,
        "<ssd:Connector name=\"F\" kind=\"input\"><ssc:Enumeration name=\"Gear\"/></ssd:Connector>")]),
    example("ssp/unknown-item", "the item `third` of an enumeration of `park` and `drive`", &[
        (SSD, OF_WHEEL, "<ssd:Connector name=\"F\" kind=\"input\"><ssc:Enumeration name=\"gear\"/></ssd:Connector>"),
        (SSD, INSIDE_AXLE, ""),
        (SSD, "name=\"Axle.wheel.mw\"><ssv:Integer value=\"40\"/>", "name=\"Axle.wheel.F\"><ssv:Enumeration value=\"third\"/>"),
    ]),
    example("ssp/unknown-unit", "`<ssc:Real unit=\"bar\"/>`", &[(SSD, "kind=\"input\"><ssc:Real unit=\"N\"/>", "kind=\"input\"><ssc:Real unit=\"bar\"/>")]),
    example("ssp/unit-mismatch", "a value in kg for a parameter in m", &[
        (SSD, MASS, "<ssd:Connector name=\"mass\" kind=\"parameter\"><ssc:Real unit=\"m\"/>"),
        (SSD, "<ssv:Real value=\"400000\" unit=\"g\"/>", "<ssv:Real value=\"400\" unit=\"kg\"/>"),
        (SSD, "<ssv:Units>", "<ssv:Units><ssc:Unit name=\"kg\"><ssc:BaseUnit kg=\"1\"/></ssc:Unit>"),
        (SSD, "<ssd:Units>", "<ssd:Units><ssc:Unit name=\"m\"><ssc:BaseUnit m=\"1\"/></ssc:Unit>"),
    ]),
    example("ssp/no-unit", "whose connector has no unit", &[(SSD, MASS, "<ssd:Connector name=\"mass\" kind=\"parameter\"><ssc:Real/>")]),
    example("ssp/kind", "from an output to an output", &[
        (SSD, FORCE, "<ssd:Connector name=\"F\" kind=\"output\"/><ssd:Connector name=\"z\" kind=\"output\"/>"),
        (SSD, TO_WHEEL, "<ssd:Connection startElement=\"chassis\" startConnector=\"F\" endElement=\"chassis\" endConnector=\"z\"/>"),
    ]),
    example("ssp/connected-twice", "connected to the same input", &[(SSD, TO_CHASSIS,
        "<ssd:Connection startElement=\"chassis\" startConnector=\"F\" endElement=\"Axle\" endConnector=\"force\"/>
         <ssd:Connection startConnector=\"mass\" endElement=\"chassis\"")]),
    example("ssp/calculated", "kind `calculatedParameter`", &[
        (SSD, FORCE, "<ssd:Connector name=\"F\" kind=\"output\"/><ssd:Connector name=\"m\" kind=\"calculatedParameter\"/>"),
        (SSD, TO_CHASSIS, "<ssd:Connection startElement=\"chassis\" startConnector=\"m\" endElement=\"chassis\""),
    ]),
    example("ssp/array", "three elements that is connected to a single number", &[
        (SSD, "version=\"1.0\" name=\"everything\"", "version=\"2.0\" name=\"everything\""),
        (SSD, FORCE, "<ssd:Connector name=\"F\" kind=\"output\"><ssc:Real/><ssc:Dimension size=\"3\"/></ssd:Connector>"),
    ]),
    example("ssp/transformation", "a map of enumerations without an entry", &[("resources/mapping.ssm",
        "<ssc:LinearTransformation factor=\"1000\" offset=\"0\"/>",
        "<ssc:EnumerationMappingTransformation><ssc:MapEntry source=\"a\" target=\"b\"/></ssc:EnumerationMappingTransformation>")]),
    example("ssp/unknown-parameter", "`pump.sped`", &[(SSD, "name=\"Axle.wheel.mw\"", "name=\"Axle.wheel.sped\"")]),
    example("ssp/unmapped", "`speed` and `mass`", &[(VALUES, "<ssv:Parameter name=\"solver\">",
        "<ssv:Parameter name=\"mass\"><ssv:Real value=\"1\"/></ssv:Parameter><ssv:Parameter name=\"solver\">")]),
    example("ssp/not-set", "a connector that is connected", &[(SSD, "name=\"Axle.wheel.mw\"><ssv:Integer value=\"40\"/>",
        "name=\"chassis.v\"><ssv:Real value=\"40\"/>")]),
];

const SUM: &str = "<Functions><Sum name=\"sum\" inputCount=\"2\"/></Functions><Connections>";

#[rustfmt::skip]
const OSP: &[Example<'static>] = &[
    example("osp/xml", "never closed", &[(XML, "</Connections>\n", "")]),
    example("osp/encoding", "a file in Latin-1", &[(XML, "<Simulators>", "<!-- pièce --><Simulators>")]),
    example("osp/root", "MODEL_OspModelDescription.xml given", &[(XML, "OspSystemStructure", "OspModelDescription")]),
    example("osp/namespace", "without `xmlns`", &[(XML, " xmlns=\"http://opensimulationplatform.com/MSMI/OSPSystemStructure\"", "")]),
    example("osp/version", "`version=\"1.0\"`", &[(XML, "version=\"0.1\"", "version=\"1.0\"")]),
    Example { code: "osp/variant", page: "`cosimo run OspSystemStructure.xml --variant winter`", changes: &[], args: &["--variant", "winter"] },
    example("osp/missing", "a `<Simulator>` without `name`", &[(XML, "name=\"wheel\" source", "source")]),
    example("osp/unknown-element", "`<Simulater>` inside `<Simulators>`", &[(XML, "<Simulator name=\"wheel\"", "<Simulater name=\"wheel\"")]),
    example("osp/unknown-attribute", "`stepsize`", &[(XML, "stepSize=", "stepsize=")]),
    example("osp/value", "an `EndTime` that is not after the start", &[(XML, "<EndTime>0.1<", "<EndTime>-1<")]),
    example("osp/name", "`name=\"mass/left\"`", &[(XML, "name=\"wheel\" source", "name=\"mass/left\" source")]),
    example("osp/duplicate", "two `<Simulator name=\"mass\">`", &[(XML, "<Simulators>",
        "<Simulators><Simulator name=\"mass\" source=\"native:quarter-car/wheel\"/>\
         <Simulator name=\"mass\" source=\"native:quarter-car/wheel\"/>")]),
    example("osp/source", "a network address", &[(XML, "native:quarter-car/wheel", "http://example.com/wheel.fmu")]),
    example("osp/step", "`stepSize=\"0.025\"` where `<BaseStepSize>` is 0.01", &[
        (XML, "stepSize=\"2e-3\"", "stepSize=\"0.025\""), (XML, "<BaseStepSize>1e-3", "<BaseStepSize>0.01")]),
    example("osp/end", "with `<StartTime>` only", &[(XML, "<EndTime>0.1</EndTime>", "<StartTime>0</StartTime>")]),
    example("osp/algorithm", "`<Algorithm>fixedSteps</Algorithm>`", &[(XML, "<Simulators>", "<Algorithm>fixedSteps</Algorithm><Simulators>")]),
    example("osp/ecco", "`MaximumChangeRate` below 1", &[(XML, "<Simulators>",
        "<Algorithm>ecco</Algorithm><EccoConfiguration><SafetyFactor>0.8</SafetyFactor><StepSize>1e-3</StepSize>\
         <MinimumStepSize>1e-4</MinimumStepSize><MaximumStepSize>1e-2</MaximumStepSize>\
         <MinimumChangeRate>0.2</MinimumChangeRate><MaximumChangeRate>0.9</MaximumChangeRate>\
         <ProportionalGain>0.2</ProportionalGain><IntegralGain>0.15</IntegralGain>\
         <RelativeTolerance>1e-6</RelativeTolerance><AbsoluteTolerance>1e-6</AbsoluteTolerance></EccoConfiguration><Simulators>")]),
    example("osp/unknown-simulator", "`<Variable simulator=\"mas\" name=\"v\"/>`", &[(XML,
        "<Variable simulator=\"wheel\" name=\"v\"/>", "<Variable simulator=\"mas\" name=\"v\"/>")]),
    example("osp/unknown-function", "`<Signal function=\"summ\" name=\"out\"/>`", &[(XML, "<Connections>", SUM), (XML, "<Connections>",
        "<Connections><SignalConnection><Signal function=\"summ\" name=\"out\"/><Variable simulator=\"wheel\" name=\"F\"/></SignalConnection>")]),
    example("osp/unknown-signal", "`name=\"output\"`", &[(XML, "<Connections>", SUM), (XML, "<Connections>",
        "<Connections><SignalConnection><Signal function=\"sum\" name=\"output\"/><Variable simulator=\"wheel\" name=\"F\"/></SignalConnection>")]),
    example("osp/group", "`<VariableGroup simulator=\"mass\" name=\"port\"/>`", &[(XML, "<Connections>",
        "<Connections><VariableGroupConnection><VariableGroup simulator=\"chassis\" name=\"port\"/>\
         <VariableGroup simulator=\"wheel\" name=\"port\"/></VariableGroupConnection>")]),
    example("osp/ends", "with three `<Variable>`", &[(XML, "<Variable simulator=\"chassis\" name=\"v\"/>",
        "<Variable simulator=\"chassis\" name=\"v\"/><Variable simulator=\"wheel\" name=\"F\"/>")]),
    example("osp/driven-twice", "end at the same input of a sum", &[(XML, "<Connections>", SUM), (XML, "<Connections>",
        "<Connections><SignalConnection><Variable simulator=\"wheel\" name=\"v\"/><Signal function=\"sum\" name=\"in[0]\"/></SignalConnection>\
         <SignalConnection><Variable simulator=\"chassis\" name=\"F\"/><Signal function=\"sum\" name=\"in[0]\"/></SignalConnection>")]),
    example("osp/driven-start", "an `<InitialValue>` for", &[(XML, "chassis-strut\"/>",
        "chassis-strut\"><InitialValues><InitialValue variable=\"v\"><Real value=\"1\"/></InitialValue></InitialValues></Simulator>")]),
    example("osp/open-function", "a sum with `inputCount=\"3\"`", &[(XML, "<Connections>", SUM), (XML, "inputCount=\"2\"", "inputCount=\"3\""),
        (XML, "<Connections>",
        "<Connections><SignalConnection><Variable simulator=\"wheel\" name=\"v\"/><Signal function=\"sum\" name=\"in[0]\"/></SignalConnection>\
         <SignalConnection><Variable simulator=\"wheel\" name=\"z\"/><Signal function=\"sum\" name=\"in[1]\"/></SignalConnection>")]),
    example("osp/unread-function", "whose `out` no connection names", &[(XML, "<Connections>", SUM), (XML, "<Connections>",
        "<Connections><SignalConnection><Variable simulator=\"wheel\" name=\"v\"/><Signal function=\"sum\" name=\"in[0]\"/></SignalConnection>\
         <SignalConnection><Variable simulator=\"wheel\" name=\"z\"/><Signal function=\"sum\" name=\"in[1]\"/></SignalConnection>")]),
    example("osp/power-bond", "three connections with", &[(XML, "<Connections>",
        "<Connections><VariableConnection powerBond=\"strut\"><Variable simulator=\"wheel\" name=\"z\"/>\
         <Variable simulator=\"chassis\" name=\"v\"/></VariableConnection>")]),
    example("osp/bond-name", "`powerBond=\"left joint\"`", &[(XML, "powerBond=\"strut\"", "powerBond=\"left joint\"")]),
];

#[rustfmt::skip]
const SCENARIO: &[Example<'static>] = &[
    example("scenario/action", "both `at` and `when`", &[(ACTS, "", "[[action]]\nat = 1.0\nwhen = \"wheel.v > 1\"\nstop = true\n")]),
    example("scenario/condition", "`when = \"wheel.v\"`", &[(ACTS, "", "[[action]]\nwhen = \"wheel.v\"\nstop = true\n")]),
    example("scenario/instant", "`at = 20.0` in a run that ends at", &[(ACTS, "", "[[action]]\nat = 20.0\nstop = true\n")]),
    example("scenario/parameter", "does not exist", &[(ACTS, "", "[[action]]\nat = 1.0\nparameter = \"chassis.mass\"\nto = 2.0\n")]),
    example("scenario/port", "`set` for a connected input", &[(ACTS, "", "[[action]]\nat = 1.0\nset = \"wheel.F\"\nto = 0.0\n")]),
];

/// Examples that no change of a line makes.
fn made() -> Vec<(&'static str, &'static str, PathBuf, Vec<&'static str>)> {
    let mut made = Vec::new();
    let wrong = TO_WHEEL.replace("\"F\"", "\"flw\"") + "\n";
    let many = fixture("page-more", &[(TO_WHEEL, wrong.repeat(1100).as_str())]);
    made.push(("ssp/more", "in a thousand connections", many, vec!["check", "--no-forecast", SSD]));
    let nested: String = (0..40)
        .map(|k| {
            let next = |name: &str| {
                format!(
                    "<ssd:Component name=\"{name}\" type=\"application/x-ssp-definition\" source=\"#s{}\"/>",
                    k + 1
                )
            };
            format!(
                "<ssd:System name=\"s{k}\" id=\"s{k}\"><ssd:Elements>{}{}</ssd:Elements></ssd:System>",
                next("a"),
                next("b")
            )
        })
        .collect();
    let last = "<ssd:System name=\"s40\" id=\"s40\"><ssd:Elements><ssd:Component name=\"c\" \
                type=\"application/x-cosimo-native\" source=\"native:quarter-car/wheel\"/></ssd:Elements></ssd:System>";
    let growing = folder("page-growing");
    let text = format!(
        "<ssd:SystemStructureDescription {SPACES}><ssd:System name=\"b\"><ssd:Elements>{nested}{last}</ssd:Elements>\
         </ssd:System></ssd:SystemStructureDescription>"
    );
    fs::write(growing.join(SSD), text).unwrap();
    made.push((
        "ssp/too-many",
        "contain the next one many times",
        growing,
        vec!["check", "--no-forecast", SSD],
    ));
    let written = folder("page-written");
    system(&written, &[("native:quarter-car/wheel", "wheel.fmu")]);
    made.push(("ssp/cannot-open", "whose FMU is missing", written, vec!["convert", "system.toml", "a.ssp"]));
    let line = folder("page-line");
    let example = crate::common::root().join("examples/spring-mass/system.toml");
    fs::copy(example, line.join("system.toml")).unwrap();
    made.push(("ssp/annotated", "a transmission line", line, vec!["convert", "system.toml", "a.ssp"]));
    made
}

fn says(folder: &Path, args: &[&str], code: &str) -> (bool, String) {
    let output = cosimo(folder, args);
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    (
        said.contains(&format!("error[{code}]")) || said.contains(&format!("warning[{code}]")),
        said.into_owned(),
    )
}

/// The good files of a family, and how they are looked at.
fn good(family: &str, code: &str) -> (PathBuf, Vec<&'static str>) {
    let name = format!("page-{}", code.replace('/', "-"));
    match family {
        "ssp" => (fixture(&name, &[]), vec!["check", "--no-forecast", SSD]),
        "osp" => {
            let folder = folder(&name);
            fs::write(folder.join(XML), STRUCTURE).unwrap();
            (folder, vec!["check", "--no-forecast", XML])
        }
        _ => {
            let folder = folder(&name);
            system(&folder, &[]);
            fs::write(folder.join(ACTS), "[[action]]\nat = 0.01\nstop = true\n").unwrap();
            (folder, vec!["run", "system.toml", "--stop", "0.1", "--scenario", ACTS])
        }
    }
}

#[test]
fn examples_of_structures_and_scenarios_give_the_code_of_their_page() {
    let pages = pages();
    let on_page = |code: &str, words: &str| {
        assert!(pages[code].contains(words), "the page of {code} has no `{words}`:\n{}", pages[code]);
    };
    let mut seen = BTreeSet::from(ELSEWHERE.map(str::to_owned));
    for Example { code, page, changes, args } in SSP.iter().chain(OSP).chain(SCENARIO) {
        on_page(code, page);
        let (folder, look) = good(code.split('/').next().unwrap(), code);
        let args = [look, args.to_vec()].concat();
        if !changes.is_empty() {
            let (already, said) = says(&folder, &args, code);
            assert!(!already, "{code} is said of the good files:\n{said}");
        }
        for (file, from, to) in *changes {
            let text = fs::read_to_string(folder.join(file)).unwrap();
            assert!(text.contains(from), "{code}: {file} has no `{from}`");
            let text = if from.is_empty() { (*to).to_owned() } else { text.replace(from, to) };
            // All letters of the examples are Latin ones.
            let latin = || text.chars().map(|letter| u8::try_from(u32::from(letter)).unwrap()).collect();
            let bytes = if code.ends_with("/encoding") { latin() } else { text.clone().into_bytes() };
            fs::write(folder.join(file), bytes).unwrap();
        }
        let (right, said) = says(&folder, &args, code);
        assert!(right, "{code} is not said:\n{said}");
        seen.insert((*code).to_owned());
    }
    for (code, page, folder, args) in made() {
        on_page(code, page);
        let (right, said) = says(&folder, &args, code);
        assert!(right, "{code} is not said:\n{said}");
        seen.insert(code.to_owned());
    }
    let missing =
        pages.keys().filter(|code| ["ssp", "osp", "scenario"].contains(&code.split('/').next().unwrap()));
    let missing: Vec<&String> = missing.filter(|code| !seen.contains(*code)).collect();
    assert!(missing.is_empty(), "no example of {missing:?}");
}
