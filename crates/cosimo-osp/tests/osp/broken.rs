//! Broken structures: each mistake with its place and what to do, all of a file at once.

use cosimo::system::ReadOptions;
use cosimo_osp::OSP;
use insta::assert_snapshot;

use crate::{folder, read};

const GOOD: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<OspSystemStructure xmlns="http://opensimulationplatform.com/MSMI/OSPSystemStructure" version="0.1">
    <StartTime>0</StartTime>
    <EndTime>1</EndTime>
    <BaseStepSize>0.01</BaseStepSize>
    <Algorithm>ecco</Algorithm>
    <Simulators>
        <Simulator name="chassis" source="native:quarter-car/chassis-strut">
            <InitialValues>
                <InitialValue variable="mc"><Real value="400"/></InitialValue>
            </InitialValues>
        </Simulator>
        <Simulator name="wheel" source="native:quarter-car/wheel"/>
        <Simulator name="table" source="drive.csv" stepSize="0.01"/>
        <Simulator name="probe" source="native:faulty/nan"/>
    </Simulators>
    <Functions>
        <LinearTransformation name="scaling" factor="2"/>
    </Functions>
    <Connections>
        <VariableConnection powerBond="strut">
            <Variable simulator="chassis" name="F"/>
            <Variable simulator="wheel" name="F"/>
        </VariableConnection>
        <VariableConnection powerBond="strut">
            <Variable simulator="wheel" name="v"/>
            <Variable simulator="chassis" name="v"/>
        </VariableConnection>
        <SignalConnection>
            <Variable simulator="table" name="a"/>
            <Signal function="scaling" name="in"/>
        </SignalConnection>
        <SignalConnection>
            <Variable simulator="probe" name="u"/>
            <Signal function="scaling" name="out"/>
        </SignalConnection>
    </Connections>
    <EccoConfiguration>
        <SafetyFactor>0.8</SafetyFactor>
        <StepSize>0.0001</StepSize>
        <MinimumStepSize>0.00001</MinimumStepSize>
        <MaximumStepSize>0.01</MaximumStepSize>
        <MinimumChangeRate>0.2</MinimumChangeRate>
        <MaximumChangeRate>1.5</MaximumChangeRate>
        <ProportionalGain>0.2</ProportionalGain>
        <IntegralGain>0.15</IntegralGain>
        <RelativeTolerance>1e-6</RelativeTolerance>
        <AbsoluteTolerance>1e-3</AbsoluteTolerance>
    </EccoConfiguration>
</OspSystemStructure>
"#;

/// A name, texts and what stands in their place, and the codes that must be found besides the warnings of a good file.
type Case = (&'static str, &'static [(&'static str, &'static str)], &'static [&'static str]);

const CASES: &[Case] = &[
    ("xml", &[("</Simulators>", "")], &["osp/xml"]),
    (
        "document-type",
        &[("<OspSystemStructure", "<!DOCTYPE a [<!ENTITY b \"c\">]><OspSystemStructure")],
        &["osp/xml"],
    ),
    (
        "root",
        &[("<OspSystemStructure xmlns", "<Other xmlns"), ("</OspSystemStructure>", "</Other>")],
        &["osp/root"],
    ),
    ("namespace", &[("MSMI/OSPSystemStructure", "MSMI")], &["osp/namespace"]),
    ("version", &[("version=\"0.1\"", "version=\"7\"")], &["osp/version"]),
    ("no-version", &[(" version=\"0.1\">", ">")], &["osp/version"]),
    (
        "unknown-element",
        &[("<StartTime>0</StartTime>", "<StartTimes>0</StartTimes>")],
        &["osp/unknown-element"],
    ),
    ("unknown-attribute", &[("stepSize=", "stepsize=")], &["osp/unknown-attribute"]),
    ("start", &[("<StartTime>0<", "<StartTime>soon<")], &["osp/value"]),
    ("end-before-start", &[("<EndTime>1<", "<EndTime>-1<")], &["osp/value"]),
    ("no-end", &[("<EndTime>1</EndTime>", "")], &["osp/end"]),
    ("base-step", &[("<BaseStepSize>0.01<", "<BaseStepSize>0<")], &["osp/value"]),
    ("no-base-step", &[("<BaseStepSize>0.01</BaseStepSize>", "")], &["osp/step"]),
    ("algorithm", &[(">ecco<", ">eco<")], &["osp/algorithm"]),
    (
        "no-simulators",
        &[("Simulators>", "Simulator>"), ("Simulators>", "Simulator>")],
        &[
            "osp/missing",
            "osp/unknown-element",
            "osp/unknown-simulator",
            "osp/unknown-simulator",
            "osp/unknown-simulator",
            "osp/unknown-simulator",
            "osp/unknown-simulator",
            "osp/unknown-simulator",
        ],
    ),
    (
        "simulator-name",
        &[("name=\"wheel\" source", "name=\"\" source")],
        &["osp/missing", "osp/unknown-simulator", "osp/unknown-simulator"],
    ),
    (
        "odd-name",
        &[("name=\"probe\" source", "name=\"a/b\" source"), ("simulator=\"probe\"", "simulator=\"a/b\"")],
        &["osp/name"],
    ),
    (
        "two-of-one-name",
        &[
            ("name=\"probe\" source", "name=\"table\" source"),
            ("simulator=\"probe\" name=\"u\"", "simulator=\"table\" name=\"a\""),
        ],
        &["osp/duplicate"],
    ),
    ("source-proxy", &[("drive.csv", "proxyfmu://localhost?file=drive.fmu")], &["osp/proxy"]),
    ("source-scheme", &[("drive.csv", "proxyfmu://ship:9090?file=drive.fmu")], &["osp/source"]),
    ("source-escape", &[("drive.csv", "drive%2.csv")], &["osp/source"]),
    ("source-kind", &[("drive.csv", "drive.txt")], &["osp/source"]),
    ("step-size", &[("stepSize=\"0.01\"", "stepSize=\"0.025\"")], &["osp/step"]),
    ("step-size-below", &[("stepSize=\"0.01\"", "stepSize=\"0.007\"")], &["osp/step"]),
    ("initial-value-type", &[("<Real value=\"400\"/>", "<Float value=\"400\"/>")], &["osp/unknown-element"]),
    ("initial-value", &[("<Real value=\"400\"/>", "<Real value=\"much\"/>")], &["osp/value"]),
    ("initial-flag", &[("<Real value=\"400\"/>", "<Boolean value=\"yes\"/>")], &["osp/value"]),
    ("initial-nothing", &[("<Real value=\"400\"/>", "")], &["osp/value"]),
    (
        "initial-twice",
        &[(
            "</InitialValues>",
            "<InitialValue variable=\"mc\"><Real value=\"1\"/></InitialValue></InitialValues>",
        )],
        &["osp/duplicate"],
    ),
    (
        "driven-start",
        &[("variable=\"mc\"><Real value=\"400\"/>", "variable=\"v\"><Real value=\"0.5\"/>")],
        &["osp/driven-start"],
    ),
    (
        "initial-input",
        &[("variable=\"mc\"><Real value=\"400\"/>", "variable=\"v\"><String value=\"fast\"/>")],
        &["osp/value"],
    ),
    (
        "function-twice",
        &[("</Functions>", "<Sum name=\"scaling\" inputCount=\"1\"/></Functions>")],
        &["osp/duplicate"],
    ),
    (
        "function-count",
        &[("</Functions>", "<Sum name=\"sum\" inputCount=\"99999999\"/></Functions>")],
        &["osp/value"],
    ),
    (
        "function-kind",
        &[("<LinearTransformation name=\"scaling\" factor=\"2\"/>", "<Product name=\"scaling\"/>")],
        &["osp/unknown-element", "osp/unknown-function", "osp/unknown-function"],
    ),
    (
        "vector-size",
        &[("</Functions>", "<VectorSum name=\"sum\" inputCount=\"9999\" dimension=\"9999\"/></Functions>")],
        &["osp/value"],
    ),
    ("unknown-simulator", &[("simulator=\"table\"", "simulator=\"tabel\"")], &["osp/unknown-simulator"]),
    (
        "unknown-function",
        &[("function=\"scaling\" name=\"in\"", "function=\"scalign\" name=\"in\"")],
        &["osp/open-function", "osp/unknown-function"],
    ),
    ("unknown-signal", &[("name=\"in\"", "name=\"inn\"")], &["osp/unknown-signal"]),
    (
        "unread-function",
        &[("</Functions>", "<LinearTransformation name=\"idle\"/></Functions>")],
        &["osp/open-function", "osp/unread-function"],
    ),
    (
        "driven-twice",
        &[(
            "<Variable simulator=\"probe\" name=\"u\"/>\n            <Signal function=\"scaling\" name=\"out\"/>",
            "<Variable simulator=\"table\" name=\"a\"/>\n            <Signal function=\"scaling\" name=\"in\"/>",
        )],
        &["osp/unread-function", "osp/driven-twice"],
    ),
    (
        "three-ends",
        &[(
            "<Variable simulator=\"wheel\" name=\"F\"/>",
            "<Variable simulator=\"wheel\" name=\"F\"/><Variable simulator=\"wheel\" name=\"F\"/>",
        )],
        &["osp/ends"],
    ),
    ("one-end", &[("<Signal function=\"scaling\" name=\"in\"/>", "")], &["osp/open-function", "osp/ends"]),
    ("half-a-bond", &[("powerBond=\"strut\"", "powerBond=\"other\"")], &["osp/power-bond", "osp/power-bond"]),
    (
        "bond-name",
        &[
            ("powerBond=\"strut\"", "powerBond=\"the strut\""),
            ("powerBond=\"strut\"", "powerBond=\"the strut\""),
        ],
        &["osp/bond-name"],
    ),
    (
        "no-groups",
        &[(
            "</Connections>",
            "<VariableGroupConnection><VariableGroup simulator=\"chassis\" name=\"g\"/><VariableGroup simulator=\"wheel\" name=\"g\"/></VariableGroupConnection></Connections>",
        )],
        &["osp/group", "osp/group"],
    ),
    (
        "unknown-group",
        &[(
            "</Connections>",
            "<VariableGroupConnection><VariableGroup simulator=\"table\" name=\"pears\"/><VariableGroup simulator=\"probe\" name=\"pair\"/></VariableGroupConnection></Connections>",
        )],
        &["osp/group", "osp/group"],
    ),
    (
        "group-size",
        &[(
            "</Connections>",
            "<VariableGroupConnection><VariableGroup simulator=\"table\" name=\"pair\"/><VariableGroup simulator=\"table\" name=\"single\"/></VariableGroupConnection></Connections>",
        )],
        &["osp/group-size"],
    ),
    (
        "units",
        &[(
            "</Connections>",
            "<VariableConnection><Variable simulator=\"wheel\" name=\"z\"/><Variable simulator=\"probe\" name=\"u\"/></VariableConnection></Connections>",
        )],
        &["osp/unit"],
    ),
    ("ecco-missing", &[("<SafetyFactor>0.8</SafetyFactor>", "")], &["osp/missing"]),
    (
        "ecco-none",
        &[("EccoConfiguration>", "Simulators>"), ("EccoConfiguration>", "Simulators>")],
        &["osp/ecco"],
    ),
    ("ecco-limits", &[("<MinimumStepSize>0.00001<", "<MinimumStepSize>1<")], &["osp/value"]),
    (
        "ecco-rates",
        &[
            ("<MinimumChangeRate>0.2<", "<MinimumChangeRate>2<"),
            ("<MaximumChangeRate>1.5<", "<MaximumChangeRate>0.2<"),
        ],
        &["osp/ecco", "osp/ecco"],
    ),
    ("ecco-tolerance", &[("<RelativeTolerance>1e-6<", "<RelativeTolerance>0<")], &["osp/value"]),
    (
        "all-at-once",
        &[
            ("<EndTime>1<", "<EndTime>x<"),
            ("drive.csv", "http://a/b.fmu"),
            ("name=\"scaling\"", "name=\"scale\""),
            ("<SafetyFactor>0.8<", "<SafetyFactor>8<"),
        ],
        &[
            "osp/value",
            "osp/source",
            "osp/open-function",
            "osp/unread-function",
            "osp/unknown-function",
            "osp/unknown-function",
            "osp/value",
        ],
    ),
];

#[test]
fn broken_structures() {
    let folder = folder("broken");
    std::fs::write(folder.join("drive.csv"), "time,a,b\n0,16,5\n1,20,7\n").unwrap();
    let groups = "<OspModelDescription><VariableGroups><A name=\"pair\"><Variable ref=\"a\"/><Variable ref=\"b\"/></A>\
                  <A name=\"single\"><Variable ref=\"a\"/></A></VariableGroups></OspModelDescription>";
    std::fs::write(folder.join("drive_OspModelDescription.xml"), groups).unwrap();
    std::fs::write(folder.join("nan_OspModelDescription.xml"), "<OspModelDescription>").unwrap();
    let registry = cosimo::registry();
    let (_, usual) = read(GOOD, &folder, &registry);
    let usual: Vec<String> = usual.iter().map(|warning| warning.message.clone()).collect();
    assert_eq!(usual.len(), 3, "{usual:#?}");
    let mut wrong = Vec::new();
    let mut listing = String::new();
    for (name, changes, codes) in CASES {
        let mut text = GOOD.to_owned();
        for (from, to) in *changes {
            assert!(text.contains(from), "{name}: the structure has no `{from}`");
            text = text.replacen(from, to, 1);
        }
        let (_, problems) = read(&text, &folder, &registry);
        let new: Vec<_> = problems.iter().filter(|problem| !usual.contains(&problem.message)).collect();
        let found: Vec<&str> = new.iter().map(|problem| problem.code).collect();
        if found != *codes {
            wrong.push(format!("{name}: expected {codes:?}, got {found:?}"));
        }
        listing += &format!("## {name}\n");
        for problem in new {
            let before = &text[..problem.span.start];
            let line = before.matches('\n').count() + 1;
            let shown = text.get(problem.span.clone()).unwrap().trim();
            listing += &format!("{line}: {shown:?}: {}\n", problem.message);
            if let Some(hint) = &problem.hint {
                listing += &format!("    {hint}\n");
            }
        }
    }
    assert_snapshot!("broken", listing);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What libcosim's step control means to Cosimo, in words.
#[test]
fn warnings_on_ecco() {
    let registry = cosimo::registry();
    let (_, problems) = read(GOOD, &folder("warnings"), &registry);
    let listing: Vec<String> = problems
        .iter()
        .map(|problem| {
            format!(
                "{:?}: {} ({})",
                &GOOD[problem.span.clone()],
                problem.message,
                problem.hint.clone().unwrap_or_default()
            )
        })
        .collect();
    assert_snapshot!("ecco", listing.join("\n"));
}

/// What is wrong with files instead of texts.
const OF_FILES: &[&str] = &["osp/encoding", "osp/variant"];

#[test]
fn files_in_other_encodings_and_variants() {
    let folder = folder("files");
    let registry = cosimo::registry();
    let text = GOOD.replace("strut", "Federung-\u{e4}");
    let latin: Vec<u8> = text.chars().map(|letter| letter as u8).collect();
    std::fs::write(folder.join("latin.xml"), latin).unwrap();
    let asked = ReadOptions { variant: Some("other".into()) };
    let document = (OSP.read)(&folder.join("latin.xml"), &asked, &registry).unwrap();
    let codes: Vec<&str> = document.problems.iter().map(|problem| problem.code).collect();
    assert!(OF_FILES.iter().all(|code| codes.contains(code)), "{codes:?}");
    assert_eq!(document.system.bonds[0].name, "Federung-_");
    let missing = (OSP.read)(&folder.join("none.xml"), &ReadOptions::default(), &registry).unwrap_err();
    assert!(!missing.malformed && missing.message.contains("none.xml"), "{missing:?}");
    std::fs::File::create(folder.join("huge.xml")).unwrap().set_len(1 << 30).unwrap();
    assert!((OSP.read)(&folder.join("huge.xml"), &ReadOptions::default(), &registry).unwrap_err().malformed);
}

/// A message without a broken structure is an untested message.
#[test]
fn every_code_has_a_case() {
    let cases: Vec<&str> = CASES.iter().flat_map(|(_, _, codes)| codes.iter().copied()).collect();
    for file in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/src")).unwrap() {
        let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
        for code in text.split('"').filter(|part| part.starts_with("osp/")) {
            assert!(cases.contains(&code) || OF_FILES.contains(&code), "no case for {code}");
        }
    }
}
