//! What is wrong with a structure, all at once and with file and line. The messages are snapshots: read them.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use cosimo::ssp::SSP;
use cosimo::system::{ReadOptions, Severity};

use super::{
    EXPERIMENT, UNITS, component, connection, connectors_of, folder, registry, ssd, written, zipped,
};

/// Every problem as people find it: file, line, what, and what to do.
fn told(path: &Path) -> String {
    let near = path.parent().unwrap().to_string_lossy().into_owned() + "/";
    let document = match (SSP.read)(path, &ReadOptions::default(), &registry()) {
        Ok(document) => document,
        Err(unreadable) => {
            let kind = if unreadable.malformed { "malformed" } else { "unreadable" };
            return format!("{kind}: {} ({})\n", unreadable.message, unreadable.hint.unwrap_or_default())
                .replace(&near, "");
        }
    };
    let mut text = String::new();
    for problem in &document.problems {
        let place = document.files.find(&problem.span).map_or("nowhere".to_owned(), |(file, span)| {
            let line = file.text[..span.start].matches('\n').count() + 1;
            let shown: String = file.text[span].chars().take(40).collect();
            format!("{}:{line} `{shown}`", file.name.replace(&near, ""))
        });
        let level = if problem.severity == Severity::Error { "error" } else { "warning" };
        let message = problem.message.replace(&near, "");
        let _ = write!(text, "{level}[{}] at {place}\n    {message}\n", problem.code);
        if let Some(hint) = &problem.hint {
            let _ = writeln!(text, "    help: {hint}");
        }
    }
    text
}

fn description(name: &str, text: &str) -> String {
    told(&written(name, &[("a.ssd", text)]))
}

#[test]
fn files_that_are_no_structure() {
    let mut text = String::new();
    let mut case = |name: &str, content: &str| {
        let _ = write!(text, "--- {name}\n{}", description(&format!("none-{name}"), content));
    };
    case("empty", "");
    case("not-xml", "hello");
    case("cut", &ssd("<ssd:Elements>", "").replace("</ssd:SystemStructureDescription>", ""));
    case("root", "<ssd:System xmlns:ssd=\"http://ssp-standard.org/SSP1/SystemStructureDescription\"/>");
    case(
        "bare",
        "<SystemStructureDescription version=\"1.0\" name=\"a\"><System name=\"b\"/></SystemStructureDescription>",
    );
    case(
        "draft",
        "<ssd:SystemStructureDescription xmlns:ssd=\"http://www.pmsf.net/xsd/SystemStructureDescriptionDraft\"/>",
    );
    case("entities", "<!DOCTYPE a [<!ENTITY b \"c\">]>\n<a>&b;</a>");
    case("deep", &"<a>".repeat(600));
    case("nothing", &ssd("", EXPERIMENT));
    insta::assert_snapshot!(text);
}

#[test]
fn archives_that_are_no_package() {
    let folder = folder("archives");
    fs::write(folder.join("text.ssp"), "hello").unwrap();
    zipped(&folder.join("other.ssp"), &[("readme.txt", b"hello")]);
    zipped(&folder.join("out.ssp"), &[("../x", b"hello")]);
    let names = ["missing.ssp", "text.ssp", "other.ssp", "out.ssp"];
    let text: String = names.iter().map(|name| told(&folder.join(name))).collect();
    insta::assert_snapshot!(text);
}

#[test]
fn all_problems_of_a_description_at_once() {
    let a =
        component("a", "tap:y=1 s=1|u w", &["y output m/s", "s output K", "u input m/s", "w sideways"], "")
            + "<ssd:Component name=\"a\" source=\"resources/missing.fmu\"/>\n"
            + "<ssd:Component name=\"far\" source=\"http://example.com/a.fmu\"/>\n"
            + "<ssd:Component name=\"strange\" type=\"application/x-fmu\" source=\"a.fmu\"/>\n"
            + "<ssd:Component name=\"none\"/>\n"
            + "<ssd:Component source=\"x.fmu\" implementation=\"Both\"/>\n"
            + "<Component name=\"nowhere\"/>\n"
            + "<ssd:Compnent name=\"typo\"/>\n"
            + "<ssd:SignalDictionaryReference name=\"r\" dictionary=\"bus\"/>\n";
    let connections = connection("a.y", "a.u", "")
        + &connection("a.s", "a.u", "")
        + &connection("a.y", "b.u", "")
        + &connection("a.yy", "a.u", "")
        + &connection("a.y", "out", "")
        + &connection("a.y", "a.s", "<ssc:LinearTransformation factor=\"two\"/>")
        + &connection("in", "par", "")
        + "<ssd:Connection startConnector=\"in\"/>\n";
    let inside = format!(
        "{}\n<ssd:ParameterBindings>\n<ssd:ParameterBinding/>\n<ssd:ParameterBinding source=\"p.ssv\"/>\n\
         <ssd:ParameterBinding type=\"text/plain\" source=\"p.txt\"/>\n</ssd:ParameterBindings>\n\
         <ssd:Elements>\n{a}</ssd:Elements>\n<ssd:Connections>\n{connections}</ssd:Connections>",
        connectors_of(&["in input", "par parameter", "in output"]),
    );
    let units = UNITS.replace("m=\"1\" s=\"-1\"/>", "m=\"1.5\" factor=\"-1\"/>");
    let experiment =
        EXPERIMENT.replace("stopTime=\"1\"", "stopTime=\"-1\"").replace("size = 0.25", "sise = 0.25");
    let text = ssd(&inside, &format!("{units}{experiment}"));
    insta::assert_snapshot!(description("all", &text));
}

#[test]
fn problems_of_other_files_name_their_own() {
    let ssv = "<ssv:ParameterSet xmlns:ssv=\"http://ssp-standard.org/SSP1/SystemStructureParameterValues\" version=\"1.0\" \
               name=\"p\">\n<ssv:Parameters>\n<ssv:Parameter name=\"y.start\">\n<ssv:Real value=\"much\"/>\n</ssv:Parameter>\n\
               <ssv:Parameter name=\"x\"/>\n<ssv:Parameter name=\"y\"><ssv:Real value=\"1\"/></ssv:Parameter>\n\
               </ssv:Parameters>\n</ssv:ParameterSet>";
    let ssm = "<ssm:ParameterMapping xmlns:ssm=\"http://ssp-standard.org/SSP1/SystemStructureParameterMapping\" \
               version=\"1.0\">\n<ssm:MappingEntry source=\"a\"/>\n</ssm:ParameterMapping>";
    let broken = "<ssv:ParameterSet>\n";
    let binding = "<ssd:ParameterBindings>\n<ssd:ParameterBinding source=\"p.ssv\"/>\n\
                   <ssd:ParameterBinding source=\"q.ssv\"/>\n<ssd:ParameterBinding source=\"p.ssv\">\
                   <ssd:ParameterMapping source=\"p.ssm\"/></ssd:ParameterBinding>\n</ssd:ParameterBindings>";
    let a = component("a", "tap:y=1|", &["y output"], binding);
    let text = ssd(&format!("<ssd:Elements>\n{a}</ssd:Elements>"), EXPERIMENT);
    let path = written("others", &[("a.ssd", &text), ("p.ssv", ssv), ("p.ssm", ssm), ("q.ssv", broken)]);
    insta::assert_snapshot!(told(&path));
}

#[test]
fn structures_that_are_inside_themselves() {
    let nested = |name: &str, source: &str| {
        format!(
            "<ssd:Component name=\"{name}\" type=\"application/x-ssp-definition\" source=\"{source}\"/>\n"
        )
    };
    let a = ssd(&format!("<ssd:Elements>\n{}</ssd:Elements>", nested("b", "b.ssd")), EXPERIMENT);
    let b = ssd(&format!("<ssd:Elements>\n{}</ssd:Elements>", nested("a", "a.ssd")), "");
    let mut text = told(&written("circle", &[("a.ssd", &a), ("b.ssd", &b)]));
    let own = format!(
        "<ssd:Elements>\n<ssd:System name=\"S\" id=\"s\"><ssd:Elements>\n{}</ssd:Elements></ssd:System>\n{}</ssd:Elements>",
        nested("again", "#s"),
        nested("unknown", "#t")
    );
    text += &description("own-circle", &ssd(&own, EXPERIMENT));
    // Connectors of systems that only know each other.
    let pass = |name: &str| {
        format!(
            "<ssd:System name=\"{name}\">{}<ssd:Connections>{}</ssd:Connections></ssd:System>\n",
            connectors_of(&["in input", "out output"]),
            connection("in", "out", "")
        )
    };
    let c = component("c", "tap:|u", &["u input"], "");
    let round = format!(
        "<ssd:Elements>\n{}{}{c}</ssd:Elements>\n<ssd:Connections>\n{}{}{}</ssd:Connections>",
        pass("P"),
        pass("Q"),
        connection("P.out", "Q.in", ""),
        connection("Q.out", "P.in", ""),
        connection("P.out", "c.u", "")
    );
    text += &description("round", &ssd(&round, EXPERIMENT));
    insta::assert_snapshot!(text);
}

/// Each of 40 systems uses the next one twice: a small file, and 2^40 components.
#[test]
fn files_that_grow_without_end_meet_a_limit() {
    let twice = |number: usize| {
        let again = |name: &str| {
            format!(
                "<ssd:Component name=\"{name}\" type=\"application/x-ssp-definition\" source=\"#s{}\"/>",
                number + 1
            )
        };
        format!(
            "<ssd:System name=\"s{number}\" id=\"s{number}\"><ssd:Elements>{}{}</ssd:Elements></ssd:System>\n",
            again("a"),
            again("b")
        )
    };
    let systems: String = (0..40).map(twice).collect();
    let last = format!(
        "<ssd:System name=\"s40\" id=\"s40\"><ssd:Elements>{}</ssd:Elements></ssd:System>\n",
        component("c", "tap:y=1|", &[], "")
    );
    let text =
        description("growing", &ssd(&format!("<ssd:Elements>{systems}{last}</ssd:Elements>"), EXPERIMENT));
    assert!(text.contains("the system has more than 100000 components, the limit"), "{text}");
}

/// Each wrong name is compared with a thousand right ones: that many comparisons would take a minute.
#[test]
fn a_hundred_thousand_problems_are_counted() {
    let names: Vec<String> = (0..1000).map(|number| format!("output-{number} output")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let a = component("a", "tap:y=1|", &names, "");
    let wrong = connection("a.outptu", "a.inptu", "").repeat(50_000);
    let inside = format!("<ssd:Elements>{a}</ssd:Elements><ssd:Connections>{wrong}</ssd:Connections>");
    let text = description("many", &ssd(&inside, EXPERIMENT));
    assert!(text.matches("error[ssp/unknown-connector]").count() <= 1000);
    assert!(
        text.contains("99000 more problems were found and are not shown"),
        "{}",
        &text[text.len() - 300..]
    );
}
