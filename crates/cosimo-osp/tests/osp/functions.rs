//! Functions as sums of outputs, against numbers computed by hand.

use crate::{folder, good, input, start};

const STRUCTURE: &str = r#"<OspSystemStructure xmlns="http://opensimulationplatform.com/MSMI/OSPSystemStructure" version="0.1">
    <EndTime>1</EndTime>
    <BaseStepSize>0.5</BaseStepSize>
    <Simulators>
        <Simulator name="one" source="drive.csv"/>
        <Simulator name="two" source="drive.csv"/>
        <Simulator name="scaled" source="native:faulty/nan">
            <InitialValues><InitialValue variable="at"><Real value="9"/></InitialValue></InitialValues>
        </Simulator>
        <Simulator name="added" source="native:faulty/nan">
            <InitialValues><InitialValue variable="at"><Real value="9"/></InitialValue></InitialValues>
        </Simulator>
        <Simulator name="vector" source="native:gain-loop/first"/>
    </Simulators>
    <Functions>
        <LinearTransformation name="scaling" factor="0.25" offset="-3"/>
        <Sum name="sum" inputCount="3"/>
        <VectorSum name="both" inputCount="2" dimension="2"/>
    </Functions>
    <Connections>
        <SignalConnection>
            <Variable simulator="one" name="a"/>
            <Signal function="scaling" name="in"/>
        </SignalConnection>
        <SignalConnection>
            <Signal function="scaling" name="out"/>
            <Variable simulator="scaled" name="u"/>
        </SignalConnection>
        <SignalConnection>
            <Variable simulator="one" name="a"/>
            <Signal function="sum" name="in[0]"/>
        </SignalConnection>
        <SignalConnection>
            <Variable simulator="two" name="b"/>
            <Signal function="sum" name="in[1]"/>
        </SignalConnection>
        <SignalConnection>
            <Variable simulator="one" name="a"/>
            <Signal function="sum" name="in[2]"/>
        </SignalConnection>
        <SignalConnection>
            <Signal function="sum" name="out"/>
            <Variable simulator="added" name="u"/>
        </SignalConnection>
        <SignalGroupConnection>
            <VariableGroup simulator="one" name="pair"/>
            <SignalGroup function="both" name="in[0]"/>
        </SignalGroupConnection>
        <SignalGroupConnection>
            <VariableGroup simulator="two" name="pair"/>
            <SignalGroup function="both" name="in[1]"/>
        </SignalGroupConnection>
        <SignalGroupConnection>
            <SignalGroup function="both" name="out"/>
            <VariableGroup simulator="vector" name="inputs"/>
        </SignalGroupConnection>
    </Connections>
</OspSystemStructure>
"#;

/// A draft of groups, from before version 1.0.
fn group(name: &str, variables: [&str; 2]) -> String {
    format!(
        "<OspModelDescription xmlns=\"http://opensimulationplatform.com/MSMI/OSPModelDescription\"><VariableGroups>\
         <VariableGroup type=\"generic\" name=\"{name}\"><Variable name=\"{}\"/><Variable name=\"{}\"/></VariableGroup>\
         </VariableGroups></OspModelDescription>",
        variables[0], variables[1]
    )
}

#[test]
fn functions_are_sums_of_outputs() {
    let folder = folder("functions");
    std::fs::write(folder.join("drive.csv"), "time,a,b\n0,16,5\n1,20,7\n").unwrap();
    std::fs::write(folder.join("drive_OspModelDescription.xml"), group("pair", ["a", "b"])).unwrap();
    std::fs::write(folder.join("first_OspModelDescription.xml"), group("inputs", ["w", "u"])).unwrap();
    let registry = cosimo::registry();
    let (system, warnings) = good(STRUCTURE, &folder, &registry);
    assert!(warnings.is_empty(), "{warnings:?}");
    let mut run = start(&system, &registry);
    // a = 16, b = 5 at the start: 16/4 - 3, 16 + 5 + 16, and per element 16 + 16 and 5 + 5.
    let inputs = |run: &_| ["scaled.u", "added.u", "vector.w", "vector.u"].map(|path| input(run, path));
    assert_eq!(inputs(&run), [1.0, 37.0, 32.0, 10.0]);
    run.step().unwrap();
    // a = 18, b = 6 in the middle.
    assert_eq!(inputs(&run), [1.5, 42.0, 36.0, 12.0]);
    let gains: Vec<Vec<f64>> = system
        .connections
        .iter()
        .map(|wire| wire.from.iter().map(|summand| summand.gain).collect())
        .collect();
    assert_eq!(gains, [vec![0.25], vec![1.0; 3], vec![1.0; 2], vec![1.0; 2]]);
    assert_eq!(system.connections[0].offset, -3.0);
}
