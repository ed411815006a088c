//! Structures with power bonds run as the same systems in TOML do, to the bit.

use cosimo::export::{Design, Version, built_library, write};
use cosimo::system::toml;

use crate::{folder, good, start};

const CAR: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<OspSystemStructure xmlns="http://opensimulationplatform.com/MSMI/OSPSystemStructure" version="0.1">
    <StartTime>0.0</StartTime>
    <EndTime>0.2</EndTime>
    <BaseStepSize>1e-3</BaseStepSize>
    <Algorithm>fixedStep</Algorithm>
    <Simulators>
        <Simulator name="chassis" source="units/the%20chassis.fmu" stepSize="1e-3">
            <InitialValues>
                <InitialValue variable="mc"><Real value="380"/></InitialValue>
                <InitialValue variable="micro_steps"><Integer value="64"/></InitialValue>
            </InitialValues>
        </Simulator>
        <Simulator name="wheel" source="file:units/wheel.fmu"/>
    </Simulators>
    <Connections>
        <VariableConnection powerBond="strut">
            <Variable simulator="wheel" name="v" causality="input"/>
            <Variable simulator="chassis" name="v" causality="output"/>
        </VariableConnection>
        <VariableConnection powerBond="strut">
            <Variable simulator="wheel" name="F"/>
            <Variable simulator="chassis" name="F"/>
        </VariableConnection>
    </Connections>
</OspSystemStructure>
"#;

const CAR_TOML: &str = r#"
[experiment]
stop = 0.2
[component.chassis]
source = "units/the chassis.fmu"
parameters = { mc = 380.0, micro_steps = 64 }
[component.wheel]
source = "units/wheel.fmu"
[[bond]]
name = "strut"
a = { effort = "chassis.F", flow = "chassis.v" }
b = { effort = "wheel.F", flow = "wheel.v" }
[method]
step = { size = 1e-3 }
"#;

const MASSES: &str = r#"<OspSystemStructure xmlns="http://opensimulationplatform.com/MSMI/OSPSystemStructure" version="0.1">
    <EndTime>2</EndTime>
    <BaseStepSize>0.01</BaseStepSize>
    <Simulators>
        <Simulator name="left" source="left.fmu"/>
        <Simulator name="right" source="right.fmu"/>
    </Simulators>
    <Connections>
        <VariableConnection>
            <Variable simulator="left" name="x_far"/>
            <Variable simulator="right" name="x"/>
        </VariableConnection>
        <VariableGroupConnection powerBond="spring">
            <VariableGroup simulator="left" name="flange"/>
            <VariableGroup simulator="right" name="flange"/>
        </VariableGroupConnection>
    </Connections>
</OspSystemStructure>
"#;

const MASSES_TOML: &str = r#"
[experiment]
stop = 2.0
[component.left]
source = "left.fmu"
[component.right]
source = "right.fmu"
[[connection]]
from = "right.x"
to = "left.x_far"
[[bond]]
name = "spring"
a = { effort = "left.f", flow = "left.v_far" }
b = { effort = "right.f", flow = "right.v" }
[method]
step = { size = 0.01 }
"#;

/// Groups inside a group, as version 1.0 has them.
fn flange(force: &str, velocity: &str) -> String {
    format!(
        "<OspModelDescription xmlns=\"https://open-simulation-platform.com/OspModelDescription/1.0.0\" version=\"1.0\">\
         <VariableGroups><LinearMechanicalPort name=\"flange\">\
         <Force name=\"force\"><Variable ref=\"{force}\"/></Force>\
         <LinearVelocity name=\"velocity\"><Variable ref=\"{velocity}\"/></LinearVelocity>\
         </LinearMechanicalPort></VariableGroups></OspModelDescription>"
    )
}

fn export(folder: &std::path::Path, units: &[(&str, &str)]) {
    for (file, source) in units {
        let to = folder.join(file);
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        write(&Design::new(source, Version::Two), &built_library().unwrap(), &to).unwrap();
    }
}

/// All outputs and energies at all points, as bits.
fn same(folder: &std::path::Path, structure: &str, plain: &str) -> (u64, Vec<&'static str>) {
    let registry = cosimo::registry();
    let (system, warnings) = good(structure, folder, &registry);
    let (expected, problems) = toml::read(plain, folder, &registry);
    assert!(problems.is_empty(), "{problems:#?}");
    let (mut run, mut other) = (start(&system, &registry), start(&expected, &registry));
    let bits = |values: &[f64]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
    while !run.finished() {
        run.step().unwrap();
        other.step().unwrap();
        assert_eq!(run.time(), other.time());
        assert_eq!(bits(run.outputs()), bits(other.outputs()), "at {:?}", run.time());
    }
    assert!(other.finished());
    let (one, two) = (run.summary(), other.summary());
    assert_eq!(one.bonds.len(), 1);
    assert_eq!(one.bonds[0].name, two.bonds[0].name);
    assert!(one.bonds[0].totals.residual_absolute > 0.0);
    assert_eq!(one.bonds[0].totals.residual.to_bits(), two.bonds[0].totals.residual.to_bits());
    assert_eq!(one.bonds[0].totals.transmitted.to_bits(), two.bonds[0].totals.transmitted.to_bits());
    (run.counters().steps, warnings)
}

#[test]
fn the_quarter_car_by_fixed_steps() {
    let folder = folder("car");
    export(
        &folder,
        &[
            ("units/the chassis.fmu", "native:quarter-car/chassis-strut"),
            ("units/wheel.fmu", "native:quarter-car/wheel"),
        ],
    );
    let (steps, warnings) = same(&folder, CAR, CAR_TOML);
    assert_eq!((steps, warnings), (200, vec![]));
    // An address of the whole path is a path, too.
    let whole = format!("file://{}/units/wheel.fmu", folder.canonicalize().unwrap().display());
    same(&folder, &CAR.replace("file:units/wheel.fmu", &whole), CAR_TOML);
}

#[test]
fn the_quarter_car_by_ecco() {
    let folder = folder("ecco");
    export(
        &folder,
        &[
            ("units/the chassis.fmu", "native:quarter-car/chassis-strut"),
            ("units/wheel.fmu", "native:quarter-car/wheel"),
        ],
    );
    let settings = "<EccoConfiguration><SafetyFactor>0.8</SafetyFactor><StepSize>1e-4</StepSize>\
                    <MinimumStepSize>1e-5</MinimumStepSize><MaximumStepSize>0.01</MaximumStepSize>\
                    <MinimumChangeRate>0.2</MinimumChangeRate><MaximumChangeRate>1.5</MaximumChangeRate>\
                    <ProportionalGain>0.2</ProportionalGain><IntegralGain>0.15</IntegralGain>\
                    <RelativeTolerance>0.001</RelativeTolerance><AbsoluteTolerance>0.5</AbsoluteTolerance>\
                    </EccoConfiguration>\n</OspSystemStructure>";
    let structure = CAR.replace("fixedStep", "ecco").replace("</OspSystemStructure>", settings);
    let plain = CAR_TOML.replace(
        "step = { size = 1e-3 }",
        "step = { estimate = { power-residual = { tolerance = 0.001, energy_scale = 500.0 } }, \
         controller = { pi = { safety = 0.8, integral = 0.3, proportional = 0.4 } }, size = 1e-4, min = 1e-5, max = 0.01, \
         shrink = 0.2, grow = 1.5 }",
    );
    let (steps, warnings) = same(&folder, &structure, &plain);
    assert_eq!(warnings, ["osp/ecco"; 3]);
    assert!((20..2000).contains(&steps), "{steps}");
}

#[test]
fn two_masses_joined_by_groups() {
    let folder = folder("masses");
    export(&folder, &[("left.fmu", "native:dual-mass/left-force"), ("right.fmu", "native:dual-mass/right")]);
    std::fs::write(folder.join("left_OspModelDescription.xml"), flange("f", "v_far")).unwrap();
    // By the name of the model instead of the file.
    std::fs::write(folder.join("dual-mass-right_OspModelDescription.xml"), flange("f", "v")).unwrap();
    let (steps, warnings) = same(&folder, MASSES, MASSES_TOML);
    assert_eq!((steps, warnings), (200, vec![]));
}
