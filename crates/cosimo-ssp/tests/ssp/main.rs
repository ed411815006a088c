//! Structures through the reader and the engine, and systems through the writer. Components are simulators whose ports
//! and values are their source, native models, or units that are made for the test.
#![allow(clippy::unwrap_used)] // helpers of tests are tests

mod broken;
mod equal;
mod meaning;
mod packages;
#[path = "../../../cosimo-pack/tests/common/scratch.rs"]
mod scratch;
mod settings;
#[path = "../../../cosimo-engine/tests/common/tap.rs"]
mod tap;
mod written;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use cosimo::core::{Registry, Time};
use cosimo::engine::{Run, plan};
use cosimo::ssp::SSP;
use cosimo::system::{Document, Problem, ReadOptions, Severity, System};
use zip::write::SimpleFileOptions;

pub(crate) fn registry() -> Registry {
    let mut registry = cosimo::registry();
    registry.add_source(&tap::TAP);
    registry
}

/// A fresh folder under the build directory; the cache of archives is beside it.
pub(crate) fn folder(name: &str) -> PathBuf {
    cosimo::fmi::use_cache(&scratch::scratch().join("cache"));
    scratch::fresh(name)
}

/// Files beside each other; the first is the description.
pub(crate) fn written(name: &str, files: &[(&str, &str)]) -> PathBuf {
    let folder = folder(name);
    for (file, text) in files {
        let path = folder.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder.join(files[0].0)
}

pub(crate) fn zipped(path: &Path, files: &[(&str, &[u8])]) {
    let mut zip = zip::ZipWriter::new(fs::File::create(path).unwrap());
    for (name, bytes) in files {
        zip.start_file(*name, SimpleFileOptions::default()).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap();
}

/// A description around what is inside its outermost system, and what comes after it.
pub(crate) fn ssd(inside: &str, after: &str) -> String {
    format!(
        r#"<?xml version="1.0" encoding="UTF-8"?>
<ssd:SystemStructureDescription xmlns:ssd="http://ssp-standard.org/SSP1/SystemStructureDescription"
    xmlns:ssc="http://ssp-standard.org/SSP1/SystemStructureCommon"
    xmlns:ssv="http://ssp-standard.org/SSP1/SystemStructureParameterValues"
    xmlns:ssm="http://ssp-standard.org/SSP1/SystemStructureParameterMapping"
    xmlns:ssb="http://ssp-standard.org/SSP1/SystemStructureSignalDictionary" version="1.0" name="test">
<ssd:System name="top">
{inside}
</ssd:System>
{after}
</ssd:SystemStructureDescription>
"#
    )
}

/// Steps of a quarter of a second to the end of the first.
pub(crate) const EXPERIMENT: &str = r#"<ssd:DefaultExperiment startTime="0" stopTime="1"/>
<ssd:Annotations>
<ssc:Annotation type="com.example"><x:drawing xmlns:x="urn:x">kept</x:drawing></ssc:Annotation>
<ssc:Annotation type="org.cosimo"><c:system xmlns:c="urn:cosimo:ssp:1"><![CDATA[
[method]
step = { size = 0.25 }
]]></c:system></ssc:Annotation>
</ssd:Annotations>"#;

pub(crate) const UNITS: &str = r#"<ssd:Units>
<ssc:Unit name="km/h"><ssc:BaseUnit m="1" s="-1" factor="0.2777777777777778"/></ssc:Unit>
<ssc:Unit name="m/s"><ssc:BaseUnit m="1" s="-1"/></ssc:Unit>
<ssc:Unit name="deg"><ssc:BaseUnit rad="1" factor="0.017453292519943295"/></ssc:Unit>
<ssc:Unit name="rad"><ssc:BaseUnit rad="1"/></ssc:Unit>
<ssc:Unit name="degC"><ssc:BaseUnit K="1" offset="273.15"/></ssc:Unit>
<ssc:Unit name="K"><ssc:BaseUnit K="1"/></ssc:Unit>
</ssd:Units>"#;

/// A component with connectors, each as `name kind` or `name kind unit`.
pub(crate) fn component(name: &str, source: &str, connectors: &[&str], more: &str) -> String {
    format!(
        "<ssd:Component name=\"{name}\" type=\"application/x-cosimo-native\" source=\"{source}\">{}{more}</ssd:Component>\n",
        connectors_of(connectors)
    )
}

pub(crate) fn connectors_of(connectors: &[&str]) -> String {
    let one = |text: &&str| {
        let words: Vec<&str> = text.split(' ').collect();
        let unit = words.get(2).map_or(String::new(), |unit| format!("<ssc:Real unit=\"{unit}\"/>"));
        format!("<ssd:Connector name=\"{}\" kind=\"{}\">{unit}</ssd:Connector>", words[0], words[1])
    };
    let list: String = connectors.iter().map(one).collect();
    format!("<ssd:Connectors>{list}</ssd:Connectors>")
}

/// `a.y` to `b.u`; without a dot it is the system's own.
pub(crate) fn connection(from: &str, to: &str, more: &str) -> String {
    let end = |text: &str, word: &str| match text.split_once('.') {
        Some((element, connector)) => format!("{word}Element=\"{element}\" {word}Connector=\"{connector}\""),
        None => format!("{word}Connector=\"{text}\""),
    };
    format!("<ssd:Connection {} {}>{more}</ssd:Connection>\n", end(from, "start"), end(to, "end"))
}

pub(crate) fn read(path: &Path) -> Document {
    (SSP.read)(path, &ReadOptions::default(), &registry()).unwrap()
}

/// Without errors.
pub(crate) fn system(path: &Path) -> System {
    let document = read(path);
    let errors: Vec<&Problem> =
        document.problems.iter().filter(|problem| problem.severity == Severity::Error).collect();
    assert!(errors.is_empty(), "{errors:#?}");
    document.system
}

pub(crate) fn warnings(path: &Path) -> Vec<String> {
    read(path).problems.into_iter().map(|problem| problem.message).collect()
}

pub(crate) fn run(path: &Path) -> Run {
    let plan = plan(&system(path), &registry()).unwrap_or_else(|problems| panic!("{problems:#?}"));
    Run::new(plan, 1).unwrap()
}

#[track_caller]
pub(crate) fn close(run: &Run, path: &str, wanted: f64) {
    let found = run.output(path).unwrap_or_else(|| panic!("there is no {path}"));
    assert!((found - wanted).abs() < 1e-9, "{path} is {found}, expected {wanted}");
}

pub(crate) fn to(run: &mut Run, seconds: f64) {
    run.run_until(Time::new(seconds).unwrap()).unwrap();
}
