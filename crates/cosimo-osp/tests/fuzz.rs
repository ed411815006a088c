//! Structures that nobody wrote: a valid one, changed at random, through the reader. Nothing may panic, hang or point
//! outside the text. `COSIMO_FUZZ_SECONDS` says how long, `COSIMO_FUZZ_SEED` where to begin; `cargo xtask fuzz` sets the
//! first.

#![allow(clippy::unwrap_used, reason = "a test that cannot set itself up should fail loudly")]

use std::path::Path;
use std::time::{Duration, Instant};

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

const PIECES: &[&str] = &[
    "",
    " ",
    "\"",
    "<",
    ">",
    "/>",
    "</",
    "<!--",
    "-->",
    "<![CDATA[",
    "&amp;",
    "&#0;",
    "é",
    "\u{0}",
    "0",
    "-1",
    "1e999",
    "nan",
    "99999999999999999999",
    "in[0]",
    "in[1][2]",
    "out",
    "out[2]",
    "%41",
    "%",
    "file://",
    "a",
    "b",
    "l",
    "v",
    "powerBond=\"p\"",
    "<Simulator name=\"a\" source=\"native:faulty/nan\"/>",
    "<Sum name=\"l\" inputCount=\"10000\"/>",
    "inputCount=\"10000\"",
    "dimension=\"10000\"",
    "<Variable simulator=\"a\" name=\"y\"/>",
];

/// SplitMix64: small, and the same everywhere.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % end.max(1) as u64) as usize
    }
}

/// The end of a piece that begins here: of a word, a tag, or a line.
fn end_of(text: &str, start: usize, random: &mut Random) -> usize {
    let stop: &[char] = [&['"'][..], &['>'][..], &['\n'][..], &[' ', '=', '<'][..]][random.below(4)];
    text[start..].find(stop).map_or(text.len(), |found| start + found)
}

fn changed(random: &mut Random) -> String {
    let mut text = GOOD.to_owned();
    for _ in 0..=random.below(4) {
        let mut start = random.below(text.len() + 1);
        while !text.is_char_boundary(start) {
            start -= 1;
        }
        let end = end_of(&text, start, random);
        match random.below(4) {
            0 => text.replace_range(start..end, PIECES[random.below(PIECES.len())]),
            1 => text.insert_str(start, PIECES[random.below(PIECES.len())]),
            2 => text.replace_range(start..end, ""),
            _ => {
                let piece = text[start..end].to_owned();
                text.insert_str(start, &piece);
            }
        }
    }
    text
}

#[test]
fn structures_that_nobody_wrote() {
    let number =
        |name: &str, usual: u64| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual);
    let (seconds, seed) = (number("COSIMO_FUZZ_SECONDS", 2), number("COSIMO_FUZZ_SEED", 0x5eed));
    let registry = cosimo::registry();
    let until = Instant::now() + Duration::from_secs(seconds);
    let mut count = 0u64;
    while Instant::now() < until {
        let text = changed(&mut Random(seed.wrapping_add(count)));
        let begun = Instant::now();
        let (system, problems) = cosimo_osp::read(&text, "fuzz.xml", Path::new("/nowhere"), &registry);
        for problem in &problems {
            assert!(text.get(problem.span.clone()).is_some(), "seed {seed} + {count}: {problem:?} in {text}");
        }
        let wrong = problems.iter().any(|problem| problem.severity == cosimo::system::Severity::Error);
        assert!(
            wrong || !system.components.is_empty(),
            "seed {seed} + {count}: nothing wrong and nothing there"
        );
        // By far: the machine may be busy.
        assert!(
            begun.elapsed() < Duration::from_secs(60),
            "seed {seed} + {count} took {:?}: {text}",
            begun.elapsed()
        );
        count += 1;
    }
    println!("{count} structures");
}
