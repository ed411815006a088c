//! The rules of the standard: silent on what is right, and exact on what is wrong.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use cosimo_export::{Design, Variant, Version, built_library, model_description, sources, write};
use cosimo_fmi_check::{Profile, RULES, Severity, Validation, validate, validate_description};

use crate::common::{archive, changed, folder, library};
use crate::corpus::{Base, DEFECTS, FULL2, FULL3, SLAVE1};

const TERMINALS: &str = include_str!("../fixtures/terminals3.xml");
const BUILD: &str = include_str!("../fixtures/build3.xml");

fn rules(validation: &Validation) -> BTreeSet<&'static str> {
    validation.findings.iter().map(|finding| finding.rule.id).collect()
}

fn said(validation: &Validation) -> Vec<String> {
    let line = |finding: &cosimo_fmi_check::Finding| {
        format!(
            "{}: {}: found {}, expected {}",
            finding.rule.id, finding.message, finding.found, finding.wanted
        )
    };
    validation.findings.iter().map(line).collect()
}

#[test]
fn exported_fmus_violate_nothing() {
    let folder = folder("validate-exported");
    let library = built_library().unwrap();
    let file = folder.join("model.fmu");
    let (mut described, mut packed) = (0, 0);
    for source in sources() {
        for version in Version::EVERY {
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
    println!("{described} descriptions, {packed} whole FMUs");
    assert!(described > 100 && packed == 11, "{described} {packed}");
}

#[test]
fn valid_descriptions_violate_nothing() {
    for base in [Base::Slave1, Base::Full2, Base::Full3, Base::Wheel1, Base::Wheel2, Base::Wheel3] {
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
            wrong.push(format!("{}: expected {:?}, got {:#?}", defect.name, defect.rules, said(&validation)));
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
    "archive/file-and-folder",
    "archive/long-name",
    "archive/letter-case",
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
        let file = self.folder.join("model.fmu");
        archive(&file, entries);
        self.check_file(&file, expected);
    }

    /// An FMU of FMI 3.0 with sources, and some files more.
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

    /// An FMU of FMI 2.0 with its library under some name.
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
    tests.check(&[("model/modelDescription.xml", FULL3.as_bytes())], &["archive/description"]);
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
    let file = tests.folder.join("model.fmu");
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
    let renamed = tests.folder.join("model.zip");
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
    // Of the same content it is harmless.
    assert_eq!(lenient(&file), [("archive/duplicate", Severity::Warning)]);
    let different = write(&|writer| {
        for name in ["resources/a.txt", "resources/b.txt"] {
            writer.start_file(name, SimpleFileOptions::default()).unwrap();
            writer.write_all(name.as_bytes()).unwrap();
        }
    });
    let mut same = different.clone();
    for at in (0..same.len() - name.len()).filter(|at| different[*at..].starts_with(b"resources/b.txt")) {
        same[at..at + name.len()].copy_from_slice(name);
    }
    changed_file(&same);
    assert_eq!(lenient(&file), [("archive/duplicate", Severity::Error)]);

    // Names that cannot be unpacked side by side, or at all.
    let plain = SimpleFileOptions::default;
    write(&|writer| {
        writer.start_file("resources/a", plain()).unwrap();
        writer.start_file("resources/a/b", plain()).unwrap();
    });
    tests.check_file(&file, &["archive/file-and-folder"]);
    assert_eq!(lenient(&file), [("archive/file-and-folder", Severity::Error)]);
    assert!(cosimo_fmi::Fmu::open(&file, &cosimo_fmi::Cache::standard(&cosimo_fmi::FMU_ARCHIVE)).is_err());
    write(&|writer| writer.start_file(format!("resources/{}", "a".repeat(256)), plain()).unwrap());
    tests.check_file(&file, &["archive/long-name"]);
    assert!(cosimo_fmi::Fmu::open(&file, &cosimo_fmi::Cache::standard(&cosimo_fmi::FMU_ARCHIVE)).is_err());
    write(&|writer| writer.start_file(format!("resources/{}", "a".repeat(255)), plain()).unwrap());
    tests.check_file(&file, &[]);
    write(&|writer| writer.start_file("ModelDescription.xml", plain()).unwrap());
    tests.check_file(&file, &["archive/letter-case"]);
    assert_eq!(lenient(&file), [("archive/letter-case", Severity::Warning)]);
}

/// What the lenient profile finds in a file.
fn lenient(file: &Path) -> Vec<(&'static str, Severity)> {
    let validation = validate(file, Profile::Lenient).unwrap();
    validation.findings.iter().map(|finding| (finding.rule.id, finding.severity)).collect()
}

/// An error is what keeps an FMU from running here or gives wrong numbers; all else that importers tolerate is a warning.
#[test]
fn what_does_not_keep_an_fmu_from_running_here_is_a_warning() {
    let folder = folder("validate-lenient");
    let file = folder.join("model.fmu");
    let functions: String =
        FUNCTIONS2.iter().map(|name| format!("int fmi2{name}(void) {{ return 0; }}\n")).collect();
    fs::write(folder.join("whole.c"), functions).unwrap();
    library(folder.join("whole.c").to_str().unwrap(), &[], &folder.join("whole.so"));
    let whole = fs::read(folder.join("whole.so")).unwrap();
    let here = ("binaries/linux64/full.so", whole.as_slice());
    let check = |entries: &[(&str, &[u8])], expected: &[(&str, Severity)]| {
        archive(&file, entries);
        assert_eq!(
            lenient(&file),
            expected,
            "{:?}",
            entries.iter().map(|(name, _)| name).collect::<Vec<_>>()
        );
    };
    use Severity::{Error, Warning};
    let description = ("modelDescription.xml", FULL2.as_bytes());
    // Sources that are listed and not packed.
    check(&[description, here], &[("source/missing", Warning)]);
    let text = FULL2.replace("<SourceFiles><File name=\"full.c\"/></SourceFiles>", "");
    let description = ("modelDescription.xml", text.as_bytes());
    check(&[description, here], &[]);
    // Binaries of other platforms.
    check(&[description, here, ("binaries/win64/other.dll", b"MZ")], &[("binary/missing", Warning)]);
    check(&[description, here, ("binaries/win64/full.dll", b"no")], &[("binary/format", Warning)]);
    check(&[description, here, ("binaries/linux32/full.so", &whole)], &[("binary/machine", Warning)]);
    // And of this one.
    check(&[description, ("binaries/linux64/other.so", &whole)], &[("binary/missing", Error)]);
    check(&[description, ("binaries/linux64/full.so", b"no")], &[("binary/format", Error)]);
    // What the schema wants and Cosimo can do without, and what it cannot.
    for (from, to, rule, severity) in [
        ("<LogCategories>", "<LogCategories/><LogCategories>", "xml/repeated-element", Warning),
        ("fmiVersion=\"2.0\"", "fmiVersion=\"2.0.4\"", "xml/attribute-value", Warning),
        ("tolerance=\"1e-6\"", "tolerance=\"small\"", "xml/attribute-value", Warning),
        ("name=\"x\" valueReference=", "name=\"x\" reference=", "xml/missing-attribute", Error),
    ] {
        assert!(text.contains(from), "{from}");
        let changed = text.replacen(from, to, 1);
        archive(&file, &[("modelDescription.xml", changed.as_bytes()), here]);
        let found = lenient(&file);
        assert!(found.contains(&(rule, severity)), "{from}: {found:?}");
        assert_eq!(
            severity == Error,
            found.iter().any(|(_, severity)| *severity == Error),
            "{from}: {found:?}"
        );
    }
}

/// A priority belongs to input clocks of scheduled execution: there it must be, elsewhere it must not.
#[test]
fn output_clocks_have_no_priority() {
    let clock = |more: &str| {
        let clock = format!(
            "<Clock name=\"tock\" valueReference=\"99\" causality=\"output\" intervalVariability=\"triggered\"{more}/>"
        );
        let listed = "<ModelStructure>\n    <Output valueReference=\"99\"/>";
        changed(
            FULL3,
            &[
                ("<Clock name=\"tick\"", &format!("{clock}<Clock name=\"tick\"")),
                ("<ModelStructure>", listed),
            ],
        )
    };
    let found = |text: &str| rules(&validate_description(text, Profile::Strict)).contains("kind/priority");
    assert!(!found(FULL3) && !found(&clock("")) && found(&clock(" priority=\"2\"")));
}

/// Functions of FMI 1.0 carry the model identifier.
#[test]
fn functions_of_fmi_1_are_looked_for_under_their_full_names() {
    let folder = folder("validate-fmi1");
    let file = folder.join("slave.fmu");
    let pack = |flags: &[&str], text: &str| {
        library("fmi1.c", flags, &folder.join("slave.so"));
        let binary = fs::read(folder.join("slave.so")).unwrap();
        archive(&file, &[("modelDescription.xml", text.as_bytes()), ("binaries/linux64/slave.so", &binary)]);
    };
    // The fixture has what a run needs, and no more.
    pack(&[], SLAVE1);
    assert_eq!(lenient(&file), [("binary/function", Severity::Warning)]);
    pack(&["-DID=other"], SLAVE1);
    let found = validate(&file, Profile::Lenient).unwrap();
    let needed = found.findings.iter().find(|finding| finding.rule.id == "binary/needed-function").unwrap();
    assert_eq!(needed.severity, Severity::Error);
    assert!(needed.found.contains("slave_fmiInstantiateSlave"), "{}", needed.found);
    assert_eq!(needed.clause, "FMI 1.0, naming conventions of functions");
    // For model exchange others are needed.
    let at = SLAVE1.find("<Implementation>").unwrap();
    let end = SLAVE1.find("</fmiModelDescription>").unwrap();
    let exchange = SLAVE1.replace(&SLAVE1[at..end], "");
    pack(&[], &exchange);
    let found = validate(&file, Profile::Lenient).unwrap();
    let needed = found.findings.iter().find(|finding| finding.rule.id == "binary/needed-function").unwrap();
    assert!(needed.found.contains("slave_fmiInstantiateModel"), "{}", needed.found);
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
