//! The same system as a structure with units and as a system file: the same bits.

use std::fs;
use std::path::Path;

use cosimo::core::Time;
use cosimo::engine::{Run, plan};
use cosimo::export::{Design, Variant, Version, built_library, write};
use cosimo::ssp::SSP;
use cosimo::system::{ReadOptions, System, toml};

use super::{folder, read, registry, system};

const QUARTER_CAR: &str = r#"
[experiment]
stop = 0.5
[component.chassis]
source = "chassis.fmu"
parameters = { mc = 350.0 }
[component.wheel]
source = "wheel.fmu"
[[bond]]
name = "strut"
a = { effort = "chassis.F", flow = "chassis.v" }
b = { effort = "wheel.F", flow = "wheel.v" }
energy_scale = 750.0
[method]
correction = { nepce = { gain = 0.5 } }
step = { estimate = "power-residual", controller = "pi", tolerance = 1e-6, min = 1e-5, max = 1e-2 }
"#;

const DUAL_MASS: &str = r#"
[experiment]
stop = 1.0
[component."Left.mass"]
source = "left.fmu"
[component.right]
source = "right.fmu"
parameters = { "cosimo.substep" = 2 }
[[connection]]
from = "right.x"
to = "Left.mass.x_far"
[[bond]]
name = "joint"
a = { effort = "Left.mass.f", flow = "Left.mass.v_far" }
b = { effort = "right.f", flow = "right.v" }
[method]
schedule = "gauss-seidel"
step = { size = 0.01 }
"#;

fn units(folder: &Path, version: Version, files: &[(&str, &str)]) {
    for (file, model) in files {
        let design = Design::new(&format!("native:{model}"), version).variant(Variant::Plain);
        write(&design, &built_library().unwrap(), &folder.join(file)).unwrap();
    }
}

/// All outputs after every step.
fn outputs(system: &System) -> Vec<u64> {
    let plan = plan(system, &registry()).unwrap_or_else(|problems| panic!("{problems:#?}"));
    let mut run = Run::new(plan, 1).unwrap();
    let mut bits = Vec::new();
    for point in 0..=10 {
        let time = system.experiment.stop * f64::from(point) / 10.0;
        run.run_until(Time::new(time).unwrap()).unwrap();
        bits.extend(run.outputs().iter().map(|output| output.to_bits()));
    }
    assert!(bits.len() > 20);
    bits
}

fn check(name: &str, text: &str, files: &[(&str, &str)]) {
    for (version, number) in [(Version::Two, 2), (Version::Three, 3)] {
        let folder = folder(&format!("{name}-{number}"));
        units(&folder, version, files);
        let file = folder.join("system.toml");
        fs::write(&file, text).unwrap();
        let document = (toml::TOML.read)(&file, &ReadOptions::default(), &registry()).unwrap();
        assert_eq!(document.problems, []);
        let package = folder.join("system.ssp");
        (SSP.write.unwrap())(&document, &package, &registry()).unwrap();
        let bare = folder.join("bare").join("system.ssd");
        fs::create_dir_all(bare.parent().unwrap()).unwrap();
        (SSP.write.unwrap())(&document, &bare, &registry()).unwrap();
        let wanted = outputs(&document.system);
        for path in [&package, &bare] {
            assert_eq!(read(path).problems, []);
            assert_eq!(outputs(&system(path)), wanted, "{}", path.display());
        }
    }
}

#[test]
fn the_quarter_car_is_the_same_as_a_structure() {
    check(
        "quarter-car",
        QUARTER_CAR,
        &[("chassis.fmu", "quarter-car/chassis-strut"), ("wheel.fmu", "quarter-car/wheel")],
    );
}

#[test]
fn the_dual_mass_is_the_same_as_a_structure() {
    check("dual-mass", DUAL_MASS, &[("left.fmu", "dual-mass/left-force"), ("right.fmu", "dual-mass/right")]);
}

/// A structure of another tool without a connection between two masses, and an annotation that puts a line between them.
#[test]
fn an_annotation_puts_a_line_into_a_structure_of_another_tool() {
    let folder = folder("line");
    let component = |name: &str| {
        format!(
            "<ssd:Component name=\"{name}\" source=\"resources/{name}.fmu\"><ssd:Connectors>\
             <ssd:Connector name=\"e\" kind=\"input\"><ssc:Real unit=\"N\"/></ssd:Connector>\
             <ssd:Connector name=\"f\" kind=\"output\"><ssc:Real unit=\"m/s\"/></ssd:Connector>\
             </ssd:Connectors></ssd:Component>\n"
        )
    };
    let inside = format!("<ssd:Elements>{}{}</ssd:Elements>", component("left"), component("right"));
    let bond = "[[bond]]\nname = \"spring\"\na = { effort = \"left.e\", flow = \"left.f\" }\n\
                b = { effort = \"right.e\", flow = \"right.f\" }\nopposite = \"flow\"\n\
                line = { delay = 1e-4, stiffness = 1e3, control = \"steady-state\", most = [8.0, 4.0], hold = 1e-3, \
                steady = { sliding-window = { window = 0.01, tolerance = 0.1 } } }\n";
    let after = format!(
        "<ssd:DefaultExperiment startTime=\"0\" stopTime=\"0.12\"/><ssd:Annotations>\
         <ssc:Annotation type=\"org.cosimo\"><c:system xmlns:c=\"urn:cosimo:ssp:1\"><![CDATA[\n{bond}]]></c:system>\
         </ssc:Annotation></ssd:Annotations>"
    );
    fs::create_dir_all(folder.join("resources")).unwrap();
    for name in ["left", "right"] {
        let design = Design::exchange(&format!("native:spring-mass/{name}"), Version::Two);
        let path = folder.join("resources").join(name).with_extension("fmu");
        write(&design, &built_library().unwrap(), &path).unwrap();
    }
    let path = folder.join("foreign.ssd");
    fs::write(&path, super::ssd(&inside, &after)).unwrap();
    let structure = system(&path);
    assert!(structure.connections.is_empty());
    let text = format!(
        "[experiment]\nstop = 0.12\n[component.left]\nsource = \"resources/left.fmu\"\n\
         [component.right]\nsource = \"resources/right.fmu\"\n{bond}"
    );
    let (plain, problems) = toml::read(&text, &folder, &registry());
    assert_eq!(problems, []);
    let totals = [&structure, &plain].map(|system| {
        let mut run = Run::new(plan(system, &registry()).unwrap(), 2).unwrap();
        while !run.finished() {
            run.step().unwrap();
        }
        run.net().unwrap()
    });
    assert_eq!(totals[0], totals[1]);
    assert!(totals[0].lines[0].ends[0].stats.grown > 0 && totals[0].lines[0].ends[1].stats.largest == 4.0);
    // From structure to system file and back: nothing of the line is lost.
    let again = cosimo::system::write::to_toml(&structure);
    let (again, problems) = toml::read(&again, &folder, &registry());
    assert_eq!(problems, []);
    let told = |system: &System| {
        let line = system.bonds[0].line.clone().unwrap();
        let options: Vec<_> = line.steady.iter().flat_map(|steady| &steady.options).cloned().collect();
        let options: Vec<_> = options.into_iter().map(|(name, value, _)| (name, value)).collect();
        (line.delay, line.impedance, line.most, line.hold, options)
    };
    assert_eq!(told(&again), told(&structure));
    assert_eq!(told(&again).2, [8.0, 4.0]);
}
