//! The rules of the standard: silent on what is right, and exact on what is wrong.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use cosimo_export::{Design, Variant, Version, built_library, model_description, sources, write};
use cosimo_fmi::validate::{Profile, RULES, Severity, Validation, validate, validate_description};

use crate::common::{archive, changed, folder, library};
use crate::corpus::{Base, DEFECTS, FULL2, FULL3};

const TERMINALS: &str = include_str!("../fixtures/terminals3.xml");
const BUILD: &str = include_str!("../fixtures/build3.xml");

fn rules(validation: &Validation) -> BTreeSet<&'static str> {
    validation.findings.iter().map(|finding| finding.rule.id).collect()
}

fn said(validation: &Validation) -> Vec<String> {
    let line = |finding: &cosimo_fmi::validate::Finding| {
        format!(
            "{}: {}: found {}, wanted {}",
            finding.rule.id, finding.message, finding.found, finding.wanted
        )
    };
    validation.findings.iter().map(line).collect()
}

#[test]
fn exported_units_violate_nothing() {
    let folder = folder("validate-exported");
    let library = built_library().unwrap();
    let file = folder.join("unit.fmu");
    let (mut described, mut packed) = (0, 0);
    for source in sources() {
        for version in Version::ALL {
            for variant in Variant::ALL.into_iter().filter(|variant| variant.exists_in(version)) {
                let design = Design::new(&source, version).variant(variant);
                let text = model_description(&design).unwrap();
                assert_eq!(
                    said(&validate_description(&text, Profile::Strict)),
                    [""; 0],
                    "{}",
                    design.file_name()
                );
                described += 1;
                // All have the same library, which takes a while to pack.
                if source == "native:quarter-car/wheel" {
                    write(&design, &library, &file).unwrap();
                    let validation = validate(&file, Profile::Strict).unwrap();
                    assert_eq!(said(&validation), [""; 0], "{}", design.file_name());
                    packed += 1;
                }
            }
        }
    }
    println!("{described} descriptions, {packed} whole units");
    assert!(described > 100 && packed == 8, "{described} {packed}");
}

#[test]
fn valid_descriptions_violate_nothing() {
    for base in [Base::Full2, Base::Full3, Base::Wheel2, Base::Wheel3] {
        assert_eq!(said(&validate_description(&base.text(), Profile::Strict)), [""; 0], "{base:?}");
    }
}

#[test]
fn each_defect_is_found_by_its_rule_and_no_other() {
    let mut wrong = Vec::new();
    for defect in DEFECTS {
        let validation = validate_description(&defect.text(), Profile::Strict);
        let expected: BTreeSet<&str> = defect.rules.iter().copied().collect();
        if rules(&validation) != expected {
            wrong.push(format!("{}: wanted {:?}, found {:#?}", defect.name, defect.rules, said(&validation)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(DEFECTS.len() >= 60);
}

#[test]
fn places_are_those_of_the_defect() {
    let text = changed(FULL2, &[("name=\"k\"", "name=\"x\"")]);
    let validation = validate_description(&text, Profile::Lenient);
    let [finding] = validation.findings.as_slice() else { panic!("{:?}", said(&validation)) };
    let place = finding.spot.place.unwrap();
    let line = text.lines().nth(place.line as usize - 1).unwrap();
    assert_eq!(&line[place.column as usize - 1..][..8], "name=\"x\"");
    let (shown, span) = finding.spot.source.clone().unwrap();
    assert_eq!((shown.as_str(), &shown[span]), (line, "name=\"x\""));
    assert_eq!(finding.clause, "FMI 2.0.5, 2.2.7");
    assert_eq!(finding.severity, Severity::Error);
}

#[test]
fn the_lenient_profile_warns_about_what_importers_tolerate() {
    let text = changed(FULL3, &[("name=\"z\"", "name=\"z\" reinit=\"true\"")]);
    let (lenient, strict) =
        (validate_description(&text, Profile::Lenient), validate_description(&text, Profile::Strict));
    assert_eq!((lenient.count(Severity::Error), lenient.count(Severity::Warning)), (0, 1));
    assert_eq!((strict.count(Severity::Error), strict.count(Severity::Warning)), (1, 0));
}

#[test]
fn rules_have_names_of_their_own_and_every_one_is_tested() {
    let ids: BTreeSet<&str> = RULES.iter().map(|rule| rule.id).collect();
    assert_eq!(ids.len(), RULES.len());
    let in_text = DEFECTS.iter().flat_map(|defect| defect.rules.iter().copied());
    let planted: BTreeSet<&str> = in_text.chain(IN_ARCHIVES.iter().copied()).collect();
    let untested: Vec<&&str> = ids.difference(&planted).collect();
    assert!(untested.is_empty(), "{untested:?}");
}

/// A place is made of whole letters, or the source line could not be shown.
#[test]
fn places_in_texts_of_other_letters() {
    for stray in ["é", "&#233;é", "&#x10FFFF;&amp;日本", "\u{10ffff}"] {
        let text = changed(FULL3, &[("<LogCategories>", &format!("<LogCategories>{stray}"))]);
        let validation = validate_description(&text, Profile::Strict);
        let [finding] = validation.findings.as_slice() else { panic!("{:?}", said(&validation)) };
        let (line, span) = finding.spot.source.clone().unwrap();
        assert!(line.get(span.clone()).is_some_and(|shown| !shown.is_empty()), "{line} {span:?}");
    }
}

/// Many findings of one rule are counted, not collected.
#[test]
fn findings_without_end_are_counted() {
    let one = |index: usize| format!("<Unknown index=\"{}\"/>\n", 100 + index);
    let many: String = (0..5000).map(one).collect();
    let text = changed(FULL2, &[("<Derivatives>", &format!("<Derivatives>{many}"))]);
    let validation = validate_description(&text, Profile::Strict);
    assert_eq!(validation.findings.len(), 1000);
    assert_eq!(validation.left_out, [(validation.findings[0].rule, 4000)]);
    assert_eq!(validation.count(Severity::Error), 5000);
}

/// Rules that need an archive; each is planted below.
const IN_ARCHIVES: &[&str] = &[
    "archive/zip",
    "archive/size",
    "archive/ending",
    "archive/path",
    "archive/backslash",
    "archive/link",
    "archive/method",
    "archive/encryption",
    "archive/damage",
    "archive/duplicate",
    "archive/description",
    "archive/implementation",
    "archive/companion",
    "archive/documentation",
    "terminal/version",
    "terminal/duplicate",
    "terminal/variable",
    "terminal/member-name",
    "terminal/word",
    "terminal/streams",
    "binary/platform",
    "binary/missing",
    "binary/format",
    "binary/machine",
    "binary/needed-function",
    "binary/function",
    "source/missing",
    "source/unlisted",
    "source/configuration",
];

struct Archives {
    folder: std::path::PathBuf,
    library2: Vec<u8>,
    tried: BTreeSet<&'static str>,
}

impl Archives {
    fn check_file(&mut self, file: &Path, expected: &[&'static str]) {
        let validation = validate(file, Profile::Strict).unwrap();
        let wanted: BTreeSet<&str> = expected.iter().copied().collect();
        assert_eq!(rules(&validation), wanted, "{}: {:#?}", file.display(), said(&validation));
        self.tried.extend(expected.first());
    }

    fn check(&mut self, entries: &[(&str, &[u8])], expected: &[&'static str]) {
        let file = self.folder.join("unit.fmu");
        archive(&file, entries);
        self.check_file(&file, expected);
    }

    /// A unit of FMI 3.0 with sources, and some files more.
    fn with_sources(&mut self, more: &[(&str, &str)], expected: &[&'static str]) {
        let mut entries: Vec<(&str, &[u8])> = vec![
            ("modelDescription.xml", FULL3.as_bytes()),
            ("sources/full.c", b"int a;"),
            ("sources/buildDescription.xml", BUILD.as_bytes()),
        ];
        entries.retain(|(name, _)| more.iter().all(|(other, _)| other != name));
        entries.extend(
            more.iter().filter(|(_, text)| *text != "-").map(|(name, text)| (*name, text.as_bytes())),
        );
        self.check(&entries, expected);
    }

    /// A unit of FMI 2.0 with its library under some name.
    fn with_library(&mut self, name: &str, bytes: &[u8], expected: &[&'static str]) {
        let text = changed(FULL2, &[("<SourceFiles><File name=\"full.c\"/></SourceFiles>", "")]);
        self.check(&[("modelDescription.xml", text.as_bytes()), (name, bytes)], expected);
    }
}

#[test]
fn each_defect_of_an_archive_is_found_by_its_rule_and_no_other() {
    let folder = folder("validate-archives");
    // All functions of both interfaces, none of which does anything.
    let functions: String =
        FUNCTIONS2.iter().map(|name| format!("int fmi2{name}(void) {{ return 0; }}\n")).collect();
    let compile = |name: &str, text: &str| {
        let source = folder.join(format!("{name}.c"));
        fs::write(&source, text).unwrap();
        library(source.to_str().unwrap(), &[], &folder.join(format!("{name}.so")));
        fs::read(folder.join(format!("{name}.so"))).unwrap()
    };
    let library2 = compile("whole", &functions);
    let lacking = compile("lacking", &functions.replace("fmi2CancelStep", "other"));
    let useless = compile("useless", &functions.replace("fmi2DoStep", "other"));
    let mut tests = Archives { folder: folder.clone(), library2: library2.clone(), tried: BTreeSet::new() };

    // What is right says nothing.
    tests.with_library("binaries/linux64/full.so", &library2, &[]);
    tests.with_sources(&[("terminalsAndIcons/terminalsAndIcons.xml", TERMINALS)], &[]);
    tests.with_sources(&[("documentation/index.html", ""), ("resources/a/b", "c"), ("extra/", "-")], &[]);

    // Binaries.
    tests.with_library("binaries/x86_64-linux/full.so", &library2, &["binary/platform"]);
    tests.with_library("binaries/linux64/other.so", &library2, &["binary/missing"]);
    tests.with_library("binaries/linux64/full.so", b"MZ", &["binary/format"]);
    tests.with_library("binaries/linux64/full.so", &library2[..3000], &["binary/format"]);
    let mut narrow = library2.clone();
    narrow[4] = 1;
    tests.with_library("binaries/linux64/full.so", &narrow, &["binary/machine"]);
    tests.with_library("binaries/linux64/full.so", &lacking, &["binary/function"]);
    tests.with_library("binaries/linux64/full.so", &useless, &["binary/needed-function"]);
    let arm = {
        let mut arm = library2.clone();
        arm[18..20].copy_from_slice(&183u16.to_le_bytes());
        arm
    };
    let wheel3 = Base::Wheel3.text();
    tests.check(
        &[("modelDescription.xml", wheel3.as_bytes()), ("binaries/x86_64-linux/quarter_car_wheel.so", &arm)],
        &["binary/machine", "binary/function", "binary/needed-function"],
    );

    // Sources.
    tests.with_sources(&[("sources/full.c", "-"), ("sources/other.c", "")], &["source/missing"]);
    tests.with_sources(&[("sources/buildDescription.xml", "-")], &["source/unlisted"]);
    let build = |from: &str, to: &str| changed(BUILD, &[(from, to)]);
    tests.with_sources(
        &[("sources/buildDescription.xml", &build("modelIdentifier=\"full\"", "modelIdentifier=\"half\""))],
        &["source/configuration"],
    );
    tests.with_sources(
        &[("sources/buildDescription.xml", &build(" platform=\"x86_64-linux\"", ""))],
        &["source/configuration"],
    );
    tests.with_sources(
        &[("sources/buildDescription.xml", &build("fmiVersion=\"3.0\"", ""))],
        &["xml/missing-attribute"],
    );

    // Terminals.
    for (from, to, rule) in [
        ("fmiVersion=\"3.0\"", "fmiVersion=\"3.1\"", "terminal/version"),
        ("name=\"pipe\"", "name=\"flange\"", "terminal/duplicate"),
        ("variableName=\"y\"", "variableName=\"nothing\"", "terminal/variable"),
        ("variableName=\"y\"", "variableName=\"x\"", "terminal/variable"),
        (" memberName=\"place\"", "", "terminal/member-name"),
        ("memberName=\"place\"", "memberName=\"force\"", "terminal/member-name"),
        ("matchingRule=\"sequence\"", "matchingRule=\"guess\"", "terminal/word"),
        ("variableKind=\"signal\"", "variableKind=\"flow\"", "terminal/word"),
        (
            "variableKind=\"outflow\"/>",
            "variableKind=\"outflow\"/><TerminalMemberVariable variableName=\"y\" memberName=\"f\" variableKind=\"inflow\"/>",
            "terminal/streams",
        ),
        ("x2=\"10\"", "x2=\"wide\"", "xml/attribute-value"),
    ] {
        assert!(TERMINALS.contains(from), "{from}");
        tests.with_sources(
            &[("terminalsAndIcons/terminalsAndIcons.xml", &changed(TERMINALS, &[(from, to)]))],
            &[rule],
        );
    }

    // The archive itself.
    tests.with_sources(
        &[("documentation/diagram.svg", ""), ("documentation/index.html", "")],
        &["archive/companion"],
    );
    tests.with_sources(&[("documentation/licenses/mit.txt", "")], &["archive/companion"]);
    tests.with_sources(&[("documentation/manual.pdf", "")], &["archive/documentation"]);
    tests.with_sources(&[("resources\\a", "")], &["archive/backslash"]);
    tests.with_sources(&[("../a", "")], &["archive/path"]);
    tests.check(&[("unit/modelDescription.xml", FULL3.as_bytes())], &["archive/description"]);
    let bare = changed(FULL2, &[("<SourceFiles><File name=\"full.c\"/></SourceFiles>", "")]);
    tests.check(&[("modelDescription.xml", bare.as_bytes())], &["archive/implementation"]);
    hostile(&mut tests);
    let expected: BTreeSet<&str> = IN_ARCHIVES.iter().copied().collect();
    assert_eq!(tests.tried.intersection(&expected).copied().collect::<BTreeSet<_>>(), expected);
}

/// Archives that no ordinary tool writes.
fn hostile(tests: &mut Archives) {
    use std::io::Write;
    use zip::write::SimpleFileOptions;
    let text = changed(FULL2, &[("<SourceFiles><File name=\"full.c\"/></SourceFiles>", "")]);
    let entries: &[(&str, &[u8])] =
        &[("modelDescription.xml", text.as_bytes()), ("binaries/linux64/full.so", &tests.library2.clone())];
    let file = tests.folder.join("unit.fmu");
    let write = |more: &dyn Fn(&mut zip::ZipWriter<fs::File>)| {
        let mut writer = zip::ZipWriter::new(fs::File::create(&file).unwrap());
        for (name, bytes) in entries {
            writer.start_file(*name, SimpleFileOptions::default()).unwrap();
            writer.write_all(bytes).unwrap();
        }
        more(&mut writer);
        writer.finish().unwrap();
        fs::read(&file).unwrap()
    };
    let whole = write(&|_| {});
    let changed_file = |bytes: &[u8]| fs::write(&file, bytes).unwrap();

    changed_file(&whole[..whole.len() / 2]);
    tests.check_file(&file, &["archive/zip"]);
    changed_file(b"hello");
    tests.check_file(&file, &["archive/zip"]);
    changed_file(&whole);
    let renamed = tests.folder.join("unit.zip");
    fs::copy(&file, &renamed).unwrap();
    tests.check_file(&renamed, &["archive/ending"]);
    write(&|writer| writer.add_symlink("resources/link", "/etc", SimpleFileOptions::default()).unwrap());
    tests.check_file(&file, &["archive/link"]);
    write(&|writer| {
        writer.start_file("resources/zeros", SimpleFileOptions::default()).unwrap();
        (0..200).for_each(|_| writer.write_all(&[0; 100_000]).unwrap());
    });
    tests.check_file(&file, &["archive/size"]);

    // Bytes of the central directory and of the local headers; offsets are those of the format.
    let entry = write(&|writer| {
        writer.start_file("resources/a.txt", SimpleFileOptions::default()).unwrap();
        writer.write_all(&[b'a'; 300]).unwrap();
    });
    let place = |signature: &[u8]| {
        let at = entry.windows(15).rposition(|window| window == b"resources/a.txt").unwrap();
        let first = entry.windows(15).position(|window| window == b"resources/a.txt").unwrap();
        let from = if signature == b"PK\x01\x02" { at - 46 } else { first - 30 };
        assert_eq!(&entry[from..from + 4], signature);
        from
    };
    let (central, local) = (place(b"PK\x01\x02"), place(b"PK\x03\x04"));
    let patched = |changes: &[(usize, u8)]| {
        let mut bytes = entry.clone();
        changes.iter().for_each(|(at, value)| bytes[*at] = *value);
        changed_file(&bytes);
    };
    patched(&[(central + 10, 12), (local + 8, 12)]);
    tests.check_file(&file, &["archive/method"]);
    patched(&[(central + 8, entry[central + 8] | 1), (local + 6, entry[local + 6] | 1)]);
    tests.check_file(&file, &["archive/encryption"]);
    patched(&[(central + 16, entry[central + 16] ^ 1), (local + 14, entry[local + 14] ^ 1)]);
    tests.check_file(&file, &["archive/damage"]);
    let name = b"resources/a.txt";
    let twice = write(&|writer| {
        for name in ["resources/a.txt", "resources/b.txt"] {
            writer.start_file(name, SimpleFileOptions::default()).unwrap();
        }
    });
    let mut same = twice.clone();
    for at in (0..same.len() - name.len()).filter(|at| twice[*at..].starts_with(b"resources/b.txt")) {
        same[at..at + name.len()].copy_from_slice(name);
    }
    changed_file(&same);
    tests.check_file(&file, &["archive/duplicate"]);
}

const FUNCTIONS2: &[&str] = &[
    "GetTypesPlatform",
    "GetVersion",
    "SetDebugLogging",
    "Instantiate",
    "FreeInstance",
    "SetupExperiment",
    "EnterInitializationMode",
    "ExitInitializationMode",
    "Terminate",
    "Reset",
    "GetReal",
    "GetInteger",
    "GetBoolean",
    "GetString",
    "SetReal",
    "SetInteger",
    "SetBoolean",
    "SetString",
    "GetFMUstate",
    "SetFMUstate",
    "FreeFMUstate",
    "SerializedFMUstateSize",
    "SerializeFMUstate",
    "DeSerializeFMUstate",
    "GetDirectionalDerivative",
    "EnterEventMode",
    "NewDiscreteStates",
    "EnterContinuousTimeMode",
    "CompletedIntegratorStep",
    "SetTime",
    "SetContinuousStates",
    "GetDerivatives",
    "GetEventIndicators",
    "GetContinuousStates",
    "GetNominalsOfContinuousStates",
    "SetRealInputDerivatives",
    "GetRealOutputDerivatives",
    "DoStep",
    "CancelStep",
    "GetStatus",
    "GetRealStatus",
    "GetIntegerStatus",
    "GetBooleanStatus",
    "GetStringStatus",
];
