//! The same system as a structure with units and as a system file: the same bits.

use std::fs;
use std::path::Path;

use cosimo::core::Time;
use cosimo::engine::{Run, plan};
use cosimo::export::{Design, Variant, Version, built_library, write};
use cosimo::ssp::SSP;
use cosimo::system::{Asked, System, toml};

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
step = { estimate = "power-residual", law = "pi", tolerance = 1e-6, min = 1e-5, max = 1e-2 }
"#;

const DUAL_MASS: &str = r#"
[experiment]
stop = 1.0
[component."Left.mass"]
source = "left.fmu"
[component.right]
source = "right.fmu"
parameters = { "cosimo.substep" = 2 }
[[wire]]
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
        let document = (toml::TOML.read)(&file, &Asked::default(), &registry()).unwrap();
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
