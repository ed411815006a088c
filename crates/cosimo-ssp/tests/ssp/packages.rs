//! Archives: variants, packages inside packages, files that are not there, and what is kept when one is written again.

use std::fs;

use cosimo::ssp::SSP;
use cosimo::system::{ReadOptions, toml};

use super::{
    EXPERIMENT, close, component, connection, connectors_of, folder, read, registry, run, ssd, zipped,
};

fn one(value: &str) -> String {
    let a = component("a", &format!("tap:y={value}|"), &["y output"], "");
    ssd(&format!("<ssd:Elements>{a}</ssd:Elements>"), EXPERIMENT)
}

#[test]
fn variants_are_chosen_by_name() {
    let folder = folder("variants");
    let path = folder.join("a.ssp");
    let (usual, other) = (one("1"), one("2"));
    zipped(&path, &[("SystemStructure.ssd", usual.as_bytes()), ("Other.ssd", other.as_bytes())]);
    let source = |variant: Option<&str>| {
        let asked = ReadOptions { variant: variant.map(str::to_owned) };
        let document = (SSP.read)(&path, &asked, &registry()).unwrap();
        let first = document.problems.first().map(|problem| (problem.message.clone(), problem.hint.clone()));
        (document.system.components.first().map(|component| component.source.clone()), first)
    };
    assert_eq!(source(None), (Some("tap:y=1|".into()), None));
    assert_eq!(source(Some("Other")).0, Some("tap:y=2|".into()));
    assert_eq!(source(Some("Other.ssd")).0, Some("tap:y=2|".into()));
    let (none, problem) = source(Some("Third"));
    assert_eq!(none, None);
    let (message, hint) = problem.unwrap();
    assert!(message.ends_with("has no variant `Third`"), "{message}");
    assert_eq!(hint.as_deref(), Some("variants are `Other.ssd`, `SystemStructure.ssd`"));
}

/// A package in a package, with a variant of its own and a binding that reaches into it.
#[test]
fn packages_are_components_of_packages() {
    let folder = folder("packages");
    let c = component("c", "tap:y=1|u", &["y output", "u input"], "");
    let inner = ssd(
        &format!(
            "{}<ssd:Elements>{c}</ssd:Elements><ssd:Connections>{}{}</ssd:Connections>",
            connectors_of(&["in input", "out output"]),
            connection("in", "c.u", ""),
            connection("c.y", "out", "")
        ),
        "",
    );
    let path = folder.join("inner.ssp");
    zipped(&path, &[("SystemStructure.ssd", b"<nothing/>"), ("Real.ssd", inner.as_bytes())]);
    let inner = fs::read(&path).unwrap();
    let sub = |name: &str, values: &str| {
        format!(
            "<ssd:Component name=\"{name}\" type=\"application/x-ssp-package\" source=\"resources/in%20ner.ssp#Real.ssd\">\
             {}{values}</ssd:Component>",
            connectors_of(&["in input", "out output"])
        )
    };
    let values = "<ssd:ParameterBindings><ssd:ParameterBinding><ssd:ParameterValues><ssv:ParameterSet version=\"1.0\" \
         name=\"p\"><ssv:Parameters><ssv:Parameter name=\"c.y.start\"><ssv:Real value=\"9\"/></ssv:Parameter>\
         </ssv:Parameters></ssv:ParameterSet></ssd:ParameterValues></ssd:ParameterBinding></ssd:ParameterBindings>";
    let outer = ssd(
        &format!(
            "<ssd:Elements>{}{}</ssd:Elements><ssd:Connections>{}{}</ssd:Connections>",
            sub("one", values),
            sub("two", ""),
            connection("one.out", "two.in", ""),
            connection("two.out", "one.in", "")
        ),
        EXPERIMENT,
    );
    let path = folder.join("outer.ssp");
    zipped(&path, &[("SystemStructure.ssd", outer.as_bytes()), ("resources/in ner.ssp", &inner)]);
    let run = run(&path);
    close(&run, "two.c.u.seen", 9.0);
    close(&run, "one.c.u.seen", 1.0);
}

#[test]
fn what_did_not_change_is_written_as_it_was() {
    let folder = folder("kept");
    let text = one("1").replace("<ssd:Elements>", "<!-- a comment --><ssd:Elements>").replace(
        "</ssd:System>",
        "<ssd:SystemGeometry x1=\"0\" y1=\"0\" x2=\"1\" y2=\"1\"/><ssd:Annotations><ssc:Annotation \
         type=\"com.example\"><y:z xmlns:y=\"urn:y\"/></ssc:Annotation></ssd:Annotations></ssd:System>",
    );
    let (from, to) = (folder.join("a.ssp"), folder.join("b.ssp"));
    let files: [(&str, &[u8]); 3] = [
        ("SystemStructure.ssd", text.as_bytes()),
        ("documentation/a.txt", b"words"),
        ("resources/x.bin", b"\x00\xff"),
    ];
    zipped(&from, &files);
    let document = read(&from);
    assert_eq!(document.problems, []);
    let written = (SSP.write.unwrap())(&document, &to, &registry()).unwrap();
    assert_eq!((written.warnings, written.files), (vec![], vec![to.clone()]));
    let mut archive = zip::ZipArchive::new(fs::File::open(&to).unwrap()).unwrap();
    assert_eq!(archive.len(), files.len());
    for (name, bytes) in files {
        let mut found = Vec::new();
        std::io::Read::read_to_end(&mut archive.by_name(name).unwrap(), &mut found).unwrap();
        assert_eq!(found, bytes, "{name}");
    }
    // Beside each other, too.
    let bare = folder.join("out").join("c.ssd");
    fs::create_dir_all(bare.parent().unwrap()).unwrap();
    (SSP.write.unwrap())(&document, &bare, &registry()).unwrap();
    assert_eq!(fs::read_to_string(&bare).unwrap(), text);
    assert!(bare.with_file_name("documentation").join("a.txt").is_file());
}

#[test]
fn files_of_an_archive_are_put_beside_a_system_file() {
    let folder = folder("to-toml");
    let table = "time,y\n0,1\n1,2\n";
    let drive = "<ssd:Component name=\"drive\" type=\"text/csv\" source=\"resources/drive.csv\">\
                 <ssd:Connectors><ssd:Connector name=\"y\" kind=\"output\"/></ssd:Connectors></ssd:Component>";
    let b = component("b", "tap:|u", &["u input"], "");
    let text = ssd(
        &format!(
            "<ssd:Elements>{drive}{b}</ssd:Elements><ssd:Connections>{}</ssd:Connections>",
            connection("drive.y", "b.u", "")
        ),
        EXPERIMENT,
    );
    let from = folder.join("a.ssp");
    zipped(&from, &[("SystemStructure.ssd", text.as_bytes()), ("resources/drive.csv", table.as_bytes())]);
    let to = folder.join("out").join("system.toml");
    fs::create_dir_all(to.parent().unwrap()).unwrap();
    (toml::TOML.write.unwrap())(&read(&from), &to, &registry()).unwrap();
    assert_eq!(fs::read_to_string(to.with_file_name("resources").join("drive.csv")).unwrap(), table);
    let back = (toml::TOML.read)(&to, &ReadOptions::default(), &registry()).unwrap();
    assert_eq!(back.problems, []);
    assert_eq!(back.system.components[0].source, "resources/drive.csv");
    assert_eq!((back.system.experiment.stop, back.system.methods.step.size), (1.0, Some(0.25)));
}

#[test]
fn parameters_may_lie_inside_of_a_component() {
    let folder = folder("inside");
    let values = "<ssv:ParameterSet xmlns:ssv=\"http://ssp-standard.org/SSP1/SystemStructureParameterValues\" \
                  version=\"1.0\" name=\"p\"><ssv:Parameters><ssv:Parameter name=\"m\"><ssv:Real value=\"7\"/>\
                  </ssv:Parameter></ssv:Parameters></ssv:ParameterSet>";
    zipped(
        &folder.join("unit.fmu"),
        &[("modelDescription.xml", b"<a/>"), ("extra/p.ssv", values.as_bytes())],
    );
    let unit = |source: &str| {
        format!(
            "<ssd:Component name=\"u\" source=\"unit.fmu\" implementation=\"CoSimulation\">{}<ssd:ParameterBindings>\
             <ssd:ParameterBinding source=\"{source}\" sourceBase=\"component\"/></ssd:ParameterBindings></ssd:Component>",
            connectors_of(&["m parameter"])
        )
    };
    let read = |source: &str| {
        let path = folder.join("a.ssd");
        fs::write(&path, ssd(&format!("<ssd:Elements>{}</ssd:Elements>", unit(source)), EXPERIMENT)).unwrap();
        read(&path)
    };
    let document = read("extra/p.ssv");
    assert_eq!(document.problems, []);
    let found: Vec<(String, String)> = document.system.components[0]
        .parameters
        .iter()
        .map(|(name, value, _)| (name.clone(), value.describe()))
        .collect();
    let wanted = [("cosimo.use", "\"co-simulation\""), ("m", "7")];
    assert_eq!(found, wanted.map(|(name, value)| (name.to_owned(), value.to_owned())));
    let missing = read("extra/q.ssv").problems;
    assert!(missing[0].message.ends_with("unit.fmu: extra/q.ssv`"), "{missing:#?}");
    assert_eq!(missing[0].hint.as_deref(), Some("did you mean `extra/p.ssv`?"));
}

#[test]
fn a_history_goes_along() {
    let folder = folder("history");
    fs::create_dir_all(folder.join("data")).unwrap();
    fs::write(folder.join("data/before.csv"), "time,a.y\n-1,0\n").unwrap();
    let text = "[experiment]\nstop = 1\nhistory = 'data/before.csv'\n[component.a]\nsource = 'tap:y=1|u'\n\
                [component.b]\nsource = 'tap:y=1|u'\n[[connection]]\nfrom = 'a.y'\nto = 'b.u'\n[component.a.start]\nu = 3\n\
                [method]\nstep = { size = 0.1 }\n";
    fs::write(folder.join("system.toml"), text).unwrap();
    let document =
        (toml::TOML.read)(&folder.join("system.toml"), &ReadOptions::default(), &registry()).unwrap();
    assert_eq!(document.problems, []);
    (SSP.write.unwrap())(&document, &folder.join("a.ssp"), &registry()).unwrap();
    let again = read(&folder.join("a.ssp"));
    assert_eq!(again.problems, []);
    let (history, _) = again.system.experiment.history.unwrap();
    assert_eq!(history.to_str(), Some("resources/before.csv"));
    assert!(again.system.folder.join(history).is_file());
    assert_eq!(again.system.components[0].starts[0].1, 3.0);
}
