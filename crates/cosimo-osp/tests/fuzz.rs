//! Random structures: a valid one, changed at random with its structure in mind, through the reader. Nothing
//! may panic, hang, take memory without end or point outside the text.

#![allow(clippy::unwrap_used, reason = "a test that cannot set itself up should fail loudly")]

#[path = "../../cosimo-pack/tests/common/fuzz.rs"]
#[allow(dead_code, reason = "shared with other fuzzers")]
mod fuzz;

use std::fs;
use std::path::Path;

use fuzz::{Random, change_text, hunt};

const GOOD: &str = r#"<?xml version="1.0"?>
<OspSystemStructure xmlns="http://opensimulationplatform.com/MSMI/OSPSystemStructure" version="0.1">
    <EndTime>1</EndTime><BaseStepSize>0.01</BaseStepSize><Algorithm>ecco</Algorithm>
    <Simulators>
        <Simulator name="a" source="native:faulty/nan" stepSize="0.1">
            <InitialValues><InitialValue variable="at"><Real value="9"/></InitialValue></InitialValues>
        </Simulator>
        <Simulator name="b" source="native:gain-loop/first"/>
    </Simulators>
    <Functions>
        <LinearTransformation name="l" factor="2" offset="1"/><Sum name="s" inputCount="2"/>
        <VectorSum name="v" inputCount="2" dimension="3"/>
    </Functions>
    <Connections>
        <VariableConnection powerBond="p"><Variable simulator="a" name="y"/><Variable simulator="b" name="u"/></VariableConnection>
        <VariableConnection powerBond="p"><Variable simulator="b" name="y"/><Variable simulator="a" name="u"/></VariableConnection>
        <SignalConnection><Variable simulator="a" name="y"/><Signal function="s" name="in[0]"/></SignalConnection>
        <SignalConnection><Variable simulator="b" name="y"/><Signal function="s" name="in[1]"/></SignalConnection>
        <SignalConnection><Signal function="s" name="out"/><Variable simulator="b" name="w"/></SignalConnection>
        <VariableGroupConnection><VariableGroup simulator="a" name="g"/><VariableGroup simulator="b" name="g"/></VariableGroupConnection>
        <SignalGroupConnection><VariableGroup simulator="a" name="g"/><SignalGroup function="v" name="in[1]"/></SignalGroupConnection>
    </Connections>
    <EccoConfiguration>
        <SafetyFactor>0.8</SafetyFactor><StepSize>1e-4</StepSize><MinimumStepSize>1e-5</MinimumStepSize>
        <MaximumStepSize>0.01</MaximumStepSize><MinimumChangeRate>0.2</MinimumChangeRate>
        <MaximumChangeRate>1.5</MaximumChangeRate><ProportionalGain>0.2</ProportionalGain>
        <IntegralGain>0.15</IntegralGain><RelativeTolerance>1e-6</RelativeTolerance>
        <AbsoluteTolerance>1e-6</AbsoluteTolerance>
    </EccoConfiguration>
</OspSystemStructure>
"#;

const GROUPS: &str = r#"<OspModelDescription><VariableGroups>
    <A name="g"><B name="h"><Variable ref="y"/></B><Variable ref="u"/></A><A name="i"><Variable name="y"/></A>
</VariableGroups></OspModelDescription>
"#;

struct Input {
    structure: String,
    groups: String,
}

impl fuzz::Input for Input {
    fn file(&self) -> (&'static str, &[u8]) {
        ("xml", self.structure.as_bytes())
    }
}

/// Follows from the seed and the number alone.
fn make(seed: u64, number: u64) -> Input {
    let mut random = Random::new(seed, number);
    let mut input = Input { structure: GOOD.into(), groups: GROUPS.into() };
    for _ in 0..=random.below(4) {
        let text = if random.below(8) == 0 { &mut input.groups } else { &mut input.structure };
        change_text(&mut random, text);
    }
    input
}

#[test]
fn structures_that_nobody_wrote() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("osp-fuzz");
    fs::create_dir_all(&folder).unwrap();
    let registry = cosimo::registry();
    hunt(make, move |input| {
        for model in ["nan", "first"] {
            fs::write(folder.join(format!("{model}_OspModelDescription.xml")), &input.groups).unwrap();
        }
        let text = &input.structure;
        let (system, problems) = cosimo_osp::read(text, "fuzz.xml", &folder, &registry);
        for problem in &problems {
            assert!(text.get(problem.span.clone()).is_some(), "{problem:?} points outside");
        }
        let wrong = problems.iter().any(|problem| problem.severity == cosimo::system::Severity::Error);
        assert!(wrong || !system.components.is_empty(), "nothing is wrong and nothing is there");
    });
}
