//! Builds FMUs: C sources from `tests/fixtures`, a description from a template, a zip archive around both.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

use cosimo::core::registry::{OpenProblem, OpenRequest};
use cosimo::core::{Inputs, Outputs, Segment, Setup, Simulator, Time, Value, Window};
use zip::write::SimpleFileOptions;

use crate::scratch::{fresh, scratch};

/// A fresh folder under the build directory; the cache of unpacked FMUs is beside it.
pub(crate) fn folder(name: &str) -> PathBuf {
    cosimo_fmi::use_cache(&scratch().join("cache"));
    fresh(name)
}

/// Compiles a fixture. Two tests may want the same one at once, hence the detour.
pub(crate) fn library(source: &str, flags: &[&str], into: &Path) {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let draft = into.with_extension(format!("draft{}", COUNT.fetch_add(1, Ordering::Relaxed)));
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cosimo-fmi/tests/fixtures").join(source);
    let output = Command::new("gcc")
        .args(["-shared", "-fPIC", "-O1", "-ffp-contract=off"])
        .args(flags)
        .arg(sources)
        .arg("-o")
        .arg(&draft)
        .arg("-lm")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    fs::rename(draft, into).unwrap();
}

pub(crate) const MASS2: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<fmiModelDescription fmiVersion="2.0" modelName="mass" guid="{mass}" generationTool="by hand">
  <CoSimulation modelIdentifier="mass" canHandleVariableCommunicationStepSize="true" canInterpolateInputs="true"
    canGetAndSetFMUstate="true" canSerializeFMUstate="true" providesDirectionalDerivative="true"/>
  <UnitDefinitions>
    <Unit name="N"><BaseUnit kg="1" m="1" s="-2"/></Unit>
    <Unit name="m/s"><BaseUnit m="1" s="-1"/></Unit>
  </UnitDefinitions>
  <LogCategories><Category name="logStatusError"/></LogCategories>
  <DefaultExperiment startTime="0" stopTime="10" stepSize="0.01"/>
  <ModelVariables>
    <ScalarVariable name="F" valueReference="0" causality="input"><Real start="0" unit="N"/></ScalarVariable>
    <ScalarVariable name="v" valueReference="1" causality="output" initial="calculated"><Real unit="m/s"/></ScalarVariable>
    <ScalarVariable name="x" valueReference="2" causality="output" initial="calculated"><Real unit="m"/></ScalarVariable>
    <ScalarVariable name="m" valueReference="3" causality="parameter" variability="fixed"><Real start="1" unit="kg"/></ScalarVariable>
    <ScalarVariable name="x0" valueReference="4" causality="parameter" variability="fixed"><Real start="1"/></ScalarVariable>
    <ScalarVariable name="v0" valueReference="5" causality="parameter" variability="fixed"><Real start="0"/></ScalarVariable>
    <ScalarVariable name="fault" valueReference="6" causality="parameter" variability="fixed"><Integer start="0"/></ScalarVariable>
    <ScalarVariable name="label" valueReference="7" causality="parameter" variability="fixed"><String start=""/></ScalarVariable>
    <ScalarVariable name="sign" valueReference="8" causality="parameter" variability="fixed"><Boolean start="true"/></ScalarVariable>
    <ScalarVariable name="count" valueReference="9" causality="local" variability="discrete"><Integer/></ScalarVariable>
  </ModelVariables>
  <ModelStructure><Outputs>
    <Unknown index="2" dependencies=""/>
    <Unknown index="3" dependencies=""/>
  </Outputs></ModelStructure>
</fmiModelDescription>
"#;

pub(crate) const MASS3: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<fmiModelDescription fmiVersion="3.0" modelName="mass" instantiationToken="{mass}" generationTool="by hand">
  <CoSimulation modelIdentifier="mass" canHandleVariableCommunicationStepSize="true" providesIntermediateUpdate="true"
    canGetAndSetFMUState="true" canSerializeFMUState="true" providesDirectionalDerivatives="true"/>
  <UnitDefinitions>
    <Unit name="N"><BaseUnit kg="1" m="1" s="-2"/></Unit>
    <Unit name="m/s"><BaseUnit m="1" s="-1"/></Unit>
  </UnitDefinitions>
  <LogCategories><Category name="logStatusError"/></LogCategories>
  <ModelVariables>
    <Float64 name="F" valueReference="0" causality="input" start="0" unit="N" intermediateUpdate="true"/>
    <Float64 name="v" valueReference="1" causality="output" initial="calculated" unit="m/s"/>
    <Float64 name="x" valueReference="2" causality="output" initial="calculated" unit="m"/>
    <Float64 name="m" valueReference="3" causality="parameter" variability="fixed" start="1" unit="kg"/>
    <Float64 name="x0" valueReference="4" causality="parameter" variability="fixed" start="1"/>
    <Float64 name="v0" valueReference="5" causality="parameter" variability="fixed" start="0"/>
    <Int32 name="fault" valueReference="6" causality="parameter" variability="fixed" start="0"/>
    <String name="label" valueReference="7" causality="parameter" variability="fixed"><Start value=""/></String>
    <Boolean name="sign" valueReference="8" causality="parameter" variability="fixed" start="true"/>
    <Int32 name="count" valueReference="9" causality="local"/>
  </ModelVariables>
  <ModelStructure>
    <Output valueReference="1" dependencies=""/>
    <Output valueReference="2" dependencies=""/>
  </ModelStructure>
</fmiModelDescription>
"#;

/// Other ports, other parameters, and a force that answers the velocity at once.
const TO_SPRING: &[(&str, &str)] = &[
    ("modelName=\"mass\"", "modelName=\"spring\""),
    ("modelIdentifier=\"mass\"", "modelIdentifier=\"spring\""),
    ("{mass}", "{spring}"),
    ("name=\"x0\"", "name=\"k\""),
    ("name=\"v0\"", "name=\"x0\""),
    ("name=\"m\" valueReference", "name=\"c\" valueReference"),
    ("unit=\"kg\"", "unit=\"N.s/m\""),
    ("name=\"F\" valueReference", "name=\"vv\" valueReference"),
    ("name=\"v\" valueReference", "name=\"F\" valueReference"),
    ("name=\"vv\" valueReference", "name=\"v\" valueReference"),
    ("start=\"0\" unit=\"N\"", "start=\"0\" unit=\"m/s\""),
    ("initial=\"calculated\"><Real unit=\"m/s\"", "initial=\"calculated\"><Real unit=\"N\""),
    ("initial=\"calculated\" unit=\"m/s\"", "initial=\"calculated\" unit=\"N\""),
    ("<Unknown index=\"2\" dependencies=\"\"/>", "<Unknown index=\"2\" dependencies=\"1\"/>"),
    ("<Output valueReference=\"1\" dependencies=\"\"/>", "<Output valueReference=\"1\" dependencies=\"0\"/>"),
    ("variability=\"fixed\"><Real start=\"0\"/>", "variability=\"fixed\"><Real start=\"1\"/>"),
];

pub(crate) fn changed(text: &str, changes: &[(&str, &str)]) -> String {
    changes.iter().fold(text.to_owned(), |text, (from, to)| text.replacen(from, to, 1))
}

/// One of the four FMUs, with its description changed and its binary compiled with flags.
pub(crate) fn build_fmu(
    folder: &Path,
    version: u32,
    model: &str,
    changes: &[(&str, &str)],
    flags: &[&str],
) -> PathBuf {
    let mass = if version == 2 { MASS2 } else { MASS3 };
    let text = if model == "mass" { mass.to_owned() } else { changed(mass, TO_SPRING) };
    for (from, _) in changes {
        assert!(text.contains(from), "the description has no `{from}`");
    }
    let text = changed(&text, changes);
    let token = format!("-DTOKEN=\"{{{model}}}\"");
    let mut all = vec![token.as_str()];
    if model == "mass" {
        all.push("-DMASS");
    }
    all.extend(flags);
    let binary = folder.join(format!("{model}{version}.so"));
    library(&format!("fmi{version}.c"), &all, &binary);
    let place = if version == 2 { "linux64" } else { "x86_64-linux" };
    let file = folder.join(format!("{model}.fmu"));
    let inside = format!("binaries/{place}/{model}.so");
    archive(&file, &[("modelDescription.xml", text.as_bytes()), (&inside, &fs::read(binary).unwrap())]);
    file
}

pub(crate) fn archive(file: &Path, entries: &[(&str, &[u8])]) {
    let mut writer = zip::ZipWriter::new(fs::File::create(file).unwrap());
    for (name, bytes) in entries {
        if name.ends_with('/') {
            writer.add_directory(*name, SimpleFileOptions::default()).unwrap();
            continue;
        }
        writer.start_file(*name, SimpleFileOptions::default()).unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap();
}

pub(crate) fn open(
    folder: &Path,
    source: &str,
    parameters: &[(&str, Value)],
) -> Result<Box<dyn Simulator>, Vec<OpenProblem>> {
    let parameters: Vec<(String, Value)> =
        parameters.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    (cosimo_fmi::FMU.open)(&OpenRequest {
        name: "fmu",
        source,
        folder,
        parameters: &parameters,
        joined: false,
    })
}

/// Everything that kept an FMU from opening, as a person reads it. The folder's name is taken out.
pub(crate) fn refusal(folder: &Path, source: &str, parameters: &[(&str, Value)]) -> String {
    let problems = open(folder, source, parameters).err().expect("the FMU should be refused");
    let line = |problem: &OpenProblem| {
        let hint = problem.hint.as_ref().map_or(String::new(), |hint| format!(" ({hint})"));
        format!("{}{hint}", problem.message)
    };
    let text = problems.iter().map(line).collect::<Vec<_>>().join("\n");
    text.replace(&format!("{}/", folder.display()), "")
}

pub(crate) fn enter(simulator: &mut dyn Simulator) {
    let start = Time::new(0.0).unwrap();
    simulator
        .initialize(&Setup { start, stop: Time::new(10.0), stop_at_events: false, rewinds: true })
        .unwrap();
}

pub(crate) fn window(from: f64, size: f64) -> Window {
    Window { from: Time::new(from).unwrap(), to: Time::new(from + size).unwrap(), size }
}

pub(crate) fn advance(
    simulator: &mut dyn Simulator,
    from: f64,
    size: f64,
    segments: &[Segment],
) -> Result<f64, String> {
    simulator
        .do_step(window(from, size), &Inputs::of(segments))
        .map(|reached| reached.to.seconds())
        .map_err(|error| error.to_string())
}

pub(crate) fn outputs(simulator: &mut dyn Simulator) -> Vec<f64> {
    let mut values = vec![f64::NAN; simulator.interface().outputs.len()];
    simulator.get_outputs(&mut Outputs { values: &mut values, slopes: &mut [] }).unwrap();
    values
}
