//! modelDescription.xml: what is read, and what is said about broken ones. Whole messages.

use cosimo_fmi::Description;
use cosimo_fmi::description::{Causality, Fmi, FmuUse, InterfaceInfo, Variability, VariableType};

use crate::common::{MASS2, MASS3, changed};

fn problems(text: &str) -> Vec<String> {
    Description::parse(text).unwrap_err().iter().map(ToString::to_string).collect()
}

fn cs(description: &Description) -> &InterfaceInfo {
    description.offer(FmuUse::CoSimulation).unwrap()
}

#[test]
fn both_versions_give_the_same_view() {
    let (two, three) = (Description::parse(MASS2).unwrap(), Description::parse(MASS3).unwrap());
    assert_eq!((two.fmi, three.fmi), (Fmi::Two, Fmi::Three));
    assert_eq!(cs(&two).identifier, cs(&three).identifier);
    assert_eq!(two.outputs, three.outputs);
    assert_eq!(
        two.units.iter().map(|u| &u.unit).collect::<Vec<_>>(),
        three.units.iter().map(|u| &u.unit).collect::<Vec<_>>()
    );
    for (a, b) in two.variables.iter().zip(&three.variables) {
        let view = |v: &cosimo_fmi::description::Variable| {
            (v.name.clone(), v.reference, v.kind, v.causality, v.variability, v.initial, v.unit.clone())
        };
        assert_eq!(view(a), view(b));
    }
    let mass = two.find("m").unwrap();
    assert_eq!(
        (mass.kind, mass.causality, mass.variability),
        (VariableType::Float64, Causality::Parameter, Variability::Fixed)
    );
    assert_eq!((mass.start_number(0), mass.place.line, mass.place.column), (Some(1.0), 15, 5));
    assert_eq!(two.experiment.stop, Some(10.0));
    assert!(cs(&two).capabilities.get_set_state && cs(&two).capabilities.input_derivative_order == 3);
    assert!(cs(&three).capabilities.intermediate_update && !cs(&three).capabilities.event_mode);
}

#[test]
fn units_are_taken_from_definitions_types_and_names() {
    let text = changed(
        MASS2,
        &[
            (
                "<Unit name=\"N\">",
                "<Unit name=\"degC\"><BaseUnit K=\"1\" offset=\"273.15\"/></Unit><Unit name=\"odd\"><BaseUnit m=\"1\" factor=\"0.5\"/></Unit><Unit name=\"N\">",
            ),
            ("<Real start=\"1\" unit=\"kg\"/>", "<Real start=\"1\" declaredType=\"T\"/>"),
            (
                "<LogCategories>",
                "<TypeDefinitions><SimpleType name=\"T\"><Real unit=\"odd\"/></SimpleType></TypeDefinitions><LogCategories>",
            ),
            (
                "name=\"x0\" valueReference=\"4\" causality=\"parameter\" variability=\"fixed\"><Real start=\"1\"",
                "name=\"x0\" valueReference=\"4\" causality=\"parameter\" variability=\"fixed\"><Real unit=\"degC\"",
            ),
        ],
    );
    let description = Description::parse(&text).unwrap();
    let unit = |name: &str| description.find(name).unwrap().unit.clone();
    assert_eq!(unit("m").map(|u| (u.dimension, u.factor)), Some(([0, 1, 0, 0, 0, 0, 0], 0.5)));
    assert_eq!(unit("x").map(|u| u.text), Some("m".into())); // not declared, but well known
    assert_eq!(
        unit("x0").map(|u| (u.dimension, u.factor, u.offset)),
        Some(([0, 0, 0, 0, 1, 0, 0], 1.0, 273.15))
    );
}

#[test]
fn other_kinds_of_fmus_are_refused() {
    let hint =
        "expected `<CoSimulation>` or `<ModelExchange>` (re-export it for co-simulation or model exchange)";
    assert_eq!(
        problems(&changed(MASS2, &[("fmiVersion=\"2.0\"", "fmiVersion=\"1.0\"")])),
        [
            "modelDescription.xml:2:1: `<fmiModelDescription>` has no attribute `modelIdentifier`",
            "modelDescription.xml:2:1: this FMU is for model exchange in FMI 1.0; Cosimo runs FMI 1.0 for co-simulation \
             only (export it for co-simulation, or as FMI 2.0 or 3.0)",
        ]
    );
    assert_eq!(
        problems(&changed(MASS2, &[("<CoSimulation", "<Nothing")])),
        [format!("modelDescription.xml:2:1: the FMU supports no interface type; {hint}")]
    );
    assert_eq!(
        problems(&changed(MASS3, &[("<CoSimulation", "<ScheduledExecution")])),
        [format!("modelDescription.xml:2:1: the FMU supports scheduled execution only; {hint}")]
    );
}

#[test]
fn what_is_no_description_at_all() {
    assert_eq!(
        problems("<a>\n  <b>\n</a>"),
        ["modelDescription.xml:3:1: not well-formed XML: expected 'b' tag, not 'a'"]
    );
    assert_eq!(
        problems("<html/>"),
        ["modelDescription.xml:1:1: expected `<fmiModelDescription>`, got `<html>`"]
    );
    assert_eq!(
        problems("<fmiModelDescription/>"),
        ["modelDescription.xml:1:1: `<fmiModelDescription>` has no attribute `fmiVersion`"]
    );
    let bomb = "<?xml version=\"1.0\"?>\n<!DOCTYPE a [<!ENTITY a \"aaaa\"><!ENTITY b \"&a;&a;&a;\">]>\n<fmiModelDescription/>";
    assert_eq!(
        problems(bomb),
        [
            "modelDescription.xml: has a document type (entities can be bombs, so none are read; remove the `<!DOCTYPE ..>`)"
        ]
    );
}

#[test]
fn all_problems_of_a_file_come_at_once() {
    let text = changed(
        MASS2,
        &[
            (" modelIdentifier=\"mass\"", ""),
            ("name=\"x\" valueReference=\"2\"", "name=\"x\" valueReference=\"-2\""),
            ("name=\"m\" valueReference=\"3\"", "name=\"m\""),
            ("<Integer start=\"0\"/>", ""),
        ],
    );
    assert_eq!(
        problems(&text),
        [
            "modelDescription.xml:3:3: `<CoSimulation>` has no attribute `modelIdentifier`",
            "modelDescription.xml:14:5: `valueReference` is \"-2\", expected a whole number below 2^32",
            "modelDescription.xml:15:5: `<ScalarVariable>` `m` has no attribute `valueReference`",
            "modelDescription.xml:18:5: `fault` has no type, expected Real, Integer, Boolean, String or Enumeration",
        ]
    );
}

/// What real tools get wrong and a run can go on without.
#[test]
fn oddities_are_warnings() {
    let text = changed(
        MASS2,
        &[
            ("fmiVersion=\"2.0\"", "fmiVersion=\"2.0.4\""),
            (" guid=\"{mass}\"", ""),
            ("canInterpolateInputs=\"true\"", "canInterpolateInputs=\"True\""),
            ("canGetAndSetFMUstate=\"true\"", "canGetAndSetFMUstate=\"yes\""),
            ("stopTime=\"10\"", "stopTime=\"0,5\""),
            ("<BaseUnit kg=\"1\" m=\"1\"", "<BaseUnit kg=\"1.5\" m=\"1\""),
            (
                "name=\"label\" valueReference=\"7\" causality=\"parameter\"",
                "name=\"label\" valueReference=\"7\" causality=\"none\"",
            ),
            (
                "<Real start=\"1\" unit=\"kg\"/>",
                "<Real start=\" -0 \" unit=\"kg\"/><Annotations><Tool name=\"a\"/></Annotations>",
            ),
            (
                "<Unknown index=\"3\" dependencies=\"\"/>",
                "<Unknown index=\"3\" dependencies=\"a b\"/><Unknown index=\"99\"/>",
            ),
        ],
    );
    let description = Description::parse(&text).unwrap();
    let warnings: Vec<String> = description.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(
        warnings,
        [
            "modelDescription.xml:2:1: there is no `guid`; the FMU is started with an empty one",
            "modelDescription.xml:3:3: `canGetAndSetFMUstate` is \"yes\", expected true or false; it is ignored",
            "modelDescription.xml:6:20: `kg` is \"1.5\", expected a whole number; it is ignored",
            "modelDescription.xml:10:3: `stopTime` is \"0,5\", expected a number; it is ignored",
            "modelDescription.xml:19:5: `causality` is \"none\", expected one of structuralParameter, parameter, calculatedParameter, input, output, local, independent; it is ignored",
            "modelDescription.xml:25:5: `dependencies` is \"a b\", expected whole numbers with spaces between; it is ignored",
            "modelDescription.xml:25:44: output 99 does not exist; there are 10 variables",
        ]
    );
    assert!(
        cs(&description).capabilities.input_derivative_order > 0
            && !cs(&description).capabilities.get_set_state
    );
    assert_eq!(description.find("m").unwrap().start_number(0), Some(0.0));
    assert_eq!(description.find("label").unwrap().causality, Causality::Local);
    assert_eq!(description.outputs[1].dependencies, None, "what is not understood may be everything");
    assert_eq!(description.experiment.stop, None);
    assert_eq!(description.find("F").unwrap().unit, None, "a unit with a wrong part is worse than none");
}

#[test]
fn texts_of_all_encodings_are_read() {
    let folder = crate::common::folder("encodings");
    let text = changed(MASS2, &[("generationTool=\"by hand\"", "generationTool=\"Größe\"")]);
    let as_latin =
        |text: &str| text.chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect::<Vec<u8>>();
    let (latin, said) = (as_latin(&text), as_latin(&text.replace("UTF-8", "ISO-8859-1")));
    let wide = |bytes: fn(u16) -> [u8; 2]| -> Vec<u8> {
        std::iter::once(0xfeff).chain(text.encode_utf16()).flat_map(bytes).collect()
    };
    let bom = [&[0xef, 0xbb, 0xbf], text.as_bytes()].concat();
    let little = wide(u16::to_le_bytes);
    let big = wide(u16::to_be_bytes);
    for (name, bytes, warnings) in [
        ("utf8", text.as_bytes(), 0),
        ("bom", &bom, 0),
        ("latin", &latin, 1),
        ("said", &said, 0),
        ("little", &little, 0),
        ("big", &big, 0),
    ] {
        let file = folder.join(format!("{name}.fmu"));
        crate::common::archive(&file, &[("modelDescription.xml", bytes)]);
        let fmu =
            cosimo_fmi::Fmu::open(&file, &cosimo_fmi::Cache::standard(&cosimo_fmi::FMU_ARCHIVE)).unwrap();
        assert_eq!(fmu.description.generation_tool, "Größe", "{name}");
        assert_eq!(fmu.description.warnings.len(), warnings, "{name}: {:?}", fmu.description.warnings);
    }
}

#[test]
fn value_references_that_are_used_twice() {
    assert_eq!(
        problems(&changed(MASS3, &[("name=\"x\" valueReference=\"2\"", "name=\"x\" valueReference=\"1\"")])),
        ["modelDescription.xml:13:5: `v` (line 12) and `x` have the same value reference 1"]
    );
    // Aliases are fine in FMI 2.0, but two inputs would overwrite each other.
    let alias = changed(MASS2, &[("name=\"x\" valueReference=\"2\"", "name=\"x\" valueReference=\"1\"")]);
    assert!(Description::parse(&alias).is_ok());
    let inputs = changed(
        MASS2,
        &[(
            "name=\"x\" valueReference=\"2\" causality=\"output\" initial=\"calculated\"",
            "name=\"x\" valueReference=\"0\" causality=\"input\"",
        )],
    );
    assert_eq!(
        problems(&inputs),
        [
            "modelDescription.xml:14:5: inputs `F` (line 12) and `x` have the same value reference 0, so one would overwrite the other"
        ]
    );
}

#[test]
fn absurd_arrays() {
    let array = |dimensions: &str| {
        let from = "start=\"0\" unit=\"N\" intermediateUpdate=\"true\"/>";
        changed(MASS3, &[(from, &format!(">{dimensions}</Float64>"))])
    };
    assert_eq!(
        problems(&array("<Dimension start=\"4000000000\"/><Dimension start=\"18000000000000000000\"/>")),
        [
            "modelDescription.xml:11:5: `F` has 4000000000 x 18000000000000000000 elements, at most 1000000 are allowed"
        ]
    );
    assert_eq!(
        problems(&array("<Dimension valueReference=\"77\"/>")),
        [
            "modelDescription.xml:11:61: the size of `F` is neither a number nor a structural parameter with a start value"
        ]
    );
    assert_eq!(problems(&array("<Dimension start=\"-1\"/>")).len(), 2);
}

#[test]
fn terminals_are_listed() {
    let folder = crate::common::folder("terminals");
    let terminals = br#"<fmiTerminalsAndIcons fmiVersion="3.0"><Terminals>
<Terminal name="flange" terminalKind="mechanical" matchingRule="plug">
<TerminalMemberVariable variableName="F" memberName="force" variableKind="signal"/>
<TerminalMemberVariable variableName="nothing" variableKind="signal"/>
</Terminal></Terminals></fmiTerminalsAndIcons>"#;
    let entries: &[(&str, &[u8])] =
        &[("modelDescription.xml", MASS3.as_bytes()), ("terminalsAndIcons/terminalsAndIcons.xml", terminals)];
    crate::common::archive(&folder.join("a.fmu"), entries);
    let fmu =
        cosimo_fmi::Fmu::open(&folder.join("a.fmu"), &cosimo_fmi::Cache::standard(&cosimo_fmi::FMU_ARCHIVE))
            .unwrap();
    assert_eq!(fmu.description.terminals[0].members, [("force".to_owned(), "F".to_owned())]);
    assert_eq!(
        fmu.description.warnings[0].to_string(),
        "terminalsAndIcons/terminalsAndIcons.xml:4:1: terminal `flange` refers to `nothing`, which does not exist"
    );
}

#[test]
fn arrays_that_are_absurd_together() {
    let one = |index: u32| {
        format!(
            "<Float64 name=\"a{index}\" valueReference=\"{}\"><Dimension start=\"1000000\"/></Float64>\n",
            100 + index
        )
    };
    let many: String = (0..1000).map(one).collect();
    let text = changed(MASS3, &[("</ModelVariables>", &format!("{many}</ModelVariables>"))]);
    assert_eq!(
        problems(&text),
        [
            "modelDescription.xml:30:1: with `a9` there are more than 10000000 elements in all arrays, which is the limit"
        ]
    );
}

/// Whatever is in the file, the answer is a description or problems, never a panic.
#[test]
fn no_cut_and_no_changed_character_makes_it_panic() {
    for text in [MASS2, MASS3] {
        for at in 0..text.len() {
            let _ = Description::parse(&text[..at]);
            for new in ["0", "-", "\"", "<", " ", "é"] {
                let _ = Description::parse(&format!("{}{new}{}", &text[..at], &text[at + 1..]));
            }
        }
    }
}

/// What no FMU needs is refused by a limit, before memory or time are spent on it.
#[test]
fn xml_beyond_all_measure() {
    let deep = |depth: usize| {
        let inner = format!("{}{}", "<a>".repeat(depth), "</a>".repeat(depth));
        changed(MASS2, &[("<Integer start=\"0\"/>", &format!("<Integer start=\"0\"/>{inner}"))])
    };
    assert!(Description::parse(&deep(100)).is_ok());
    let hint = "no valid file needs that; do not trust this file";
    assert_eq!(
        problems(&deep(100_000)),
        [format!(
            "modelDescription.xml:18:1606: has more than 500 elements inside each other, which is the limit ({hint})"
        )]
    );
    // Never closed, so that only the beginnings count.
    assert!(problems(&"<a>".repeat(1_000_000))[0].contains("500 elements inside each other"));
    let many: String = (0..10_000_000).map(|index| format!(" a{index}=''")).collect();
    assert_eq!(
        problems(&format!("<fmiModelDescription{many}/>")),
        [format!(
            "modelDescription.xml:1:1: has more than 1000 attributes in one element, which is the limit ({hint})"
        )]
    );
    assert_eq!(
        problems(&format!("<fmiModelDescription>{}</fmiModelDescription>", "<a/>".repeat(10_000_001))),
        [format!(
            "modelDescription.xml: has more than 10000000 elements and texts, which is the limit ({hint})"
        )]
    );
    // Brackets in comments, texts and values are none.
    let brackets = format!("<!-- {0} --><![CDATA[{0}]]>", "<b>".repeat(1000));
    let text = changed(MASS2, &[("<LogCategories>", &format!("{brackets}<LogCategories>"))]);
    assert!(Description::parse(&text).is_ok());
}

/// Some tools write no line ends: a place must not cost the whole line each time.
#[test]
fn many_variables_in_one_line() {
    let one = |index: u32| {
        format!(
            "<ScalarVariable name=\"é{index}\" valueReference=\"7\" causality=\"input\"><Real/></ScalarVariable>"
        )
    };
    let many: String = (0..50_000).map(one).collect();
    let text = changed(MASS2, &[("</ModelVariables>", &format!("{many}</ModelVariables>"))]);
    let begun = std::time::Instant::now();
    let found = problems(&text);
    println!("{} problems in {:?}", found.len(), begun.elapsed());
    assert_eq!(found.len(), 49_999, "one for each that would overwrite another");
    assert!(
        found[0].starts_with("modelDescription.xml:22:90: inputs `é0` (line 22) and `é1`"),
        "{}",
        found[0]
    );
}

#[test]
fn limits_are_taken_from_variables_and_types() {
    let two = changed(
        MASS2,
        &[
            (
                "<Real start=\"1\" unit=\"kg\"/>",
                "<Real start=\"1\" unit=\"kg\" declaredType=\"T\" min=\"0.5\"/>",
            ),
            (
                "<LogCategories>",
                "<TypeDefinitions><SimpleType name=\"T\"><Real min=\"0\" max=\"9\"/></SimpleType></TypeDefinitions><LogCategories>",
            ),
        ],
    );
    let description = Description::parse(&two).unwrap();
    let limits = description.find("m").unwrap().limits;
    assert_eq!((limits.least, limits.largest), (0.5, 9.0));
    assert!(limits.contains(9.0) && !limits.contains(0.4) && !limits.contains(f64::NAN));
    assert_eq!(limits.to_string(), "from 0.5 to 9");
    let none = description.find("x").unwrap().limits;
    assert!(none.contains(f64::MAX) && none.contains(-f64::MAX));
    let three = changed(MASS3, &[("name=\"m\"", "name=\"m\" max=\"1e9\"")]);
    let limits = Description::parse(&three).unwrap().find("m").unwrap().limits;
    assert_eq!(
        (limits.least, limits.largest, limits.to_string()),
        (f64::NEG_INFINITY, 1e9, "at most 1e9".into())
    );
}
