//! Random systems and scenarios: valid files, changed at random with their structure in mind, read, planned and
//! written again. Nothing may panic, hang, take memory without end or point outside the text.
#![allow(clippy::unwrap_used, reason = "a test that cannot set itself up should fail loudly")]

#[path = "../../cosimo-pack/tests/common/fuzz.rs"]
#[allow(dead_code, reason = "shared with fuzzers of XML")]
mod fuzz;

use std::path::Path;

use cosimo::core::Registry;
use cosimo::engine::{check, plan};
use cosimo::system::write::to_toml;
use cosimo::system::{Problem, Severity, scenario, toml};
use fuzz::{Random, hunt};

const SYSTEMS: [&str; 5] = [
    include_str!("../../../examples/dual-mass/system.toml"),
    include_str!("../../../examples/quarter-car/system.toml"),
    include_str!("../../../examples/quarter-car/reticulation-2-nonlinear.toml"),
    include_str!("../../../examples/rc-rl/system.toml"),
    EVERYTHING,
];

/// What the examples do without: junctions, sums, inputs and components with methods of their own, recordings.
const EVERYTHING: &str = r#"
[experiment]
start = -1.0
stop = 2.0
end = "after"
record = "before-exchange"

[component.a]
source = "native:gain-loop/first"
start = { w = 1.0 }

[component."b c"]
source = "native:gain-loop/lag"
parameters = { T = 0.5 }

[[connection]]
from = "a.y"
to = "b c.u"
gain = 2.0
offset = -1.0

[[connection]]
from = [{ port = "b c.x", gain = 0.5 }]
to = "a.u"

[method]
partition = "gauss-seidel"
input = { hermite = { } }
correction = { nepce = { gain = 0.5, form = "account" } }
iteration = { waveform = { relative = 1e-6, relaxation = "aitken" } }
step = { estimate = "richardson", controller = { pi = { proportional = 0.1 } }, tolerance = 1e-4, min = 1e-6, max = 0.1 }
"#;

const SCENARIOS: [&str; 2] = [
    "[[action]]\nname = \"on\"\nat = 0.35\nset = \"a.w\"\nto = 2.0\n\n[[action]]\nwhen = \"rc.v > 1 and not (rl.i <= 2e-3)\"\n\
     once = true\noverride = \"rl.v\"\nto = -1\n\n[[action]]\nat = 1.5\nstop = true\n",
    "[[action]]\nwhen = \"time >= 1 or left.x * 2 - 1 < right.x / 3\"\nscale = \"left.v_far\"\nby = 0.5\n\n[[action]]\nat = 2.0\n\
     release = \"left.v_far\"\n\n[[action]]\nat = 2.5\nstuck = \"right.f\"\n\n[[action]]\nat = 3\nparameter = \"right.m2\"\nto = 50.0\n",
];

const EXTREMES: [&str; 24] = [
    "0",
    "-1",
    "1e308",
    "-1e308",
    "1e-320",
    "nan",
    "inf",
    "-inf",
    "9223372036854775807",
    "0xffff",
    "true",
    "\"\"",
    "\"é\"",
    "\"*\"",
    "\"a.y\"",
    "[]",
    "{}",
    "[[[]]]",
    "1979-05-27T07:32:00Z",
    "'''\n'''",
    "\"native:\"",
    "\"..\"",
    "\"hold\"",
    "{ x = 1 }",
];

/// Bytes that a block is repeated to at most: a file that takes long only because it is long is no find.
const LARGEST: usize = 100_000;

fn border(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// Whole lines: sections and keys come, go and repeat.
fn change_lines(random: &mut Random, text: &mut String) {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    if lines.is_empty() {
        return;
    }
    let (at, other) = (random.below(lines.len()), random.below(lines.len()));
    match random.below(4) {
        0 => drop(lines.remove(at)),
        1 => {
            let line = lines[at].clone();
            lines.insert(other, line);
        }
        2 => {
            // A block up to the next empty line, many times.
            let end = (at..lines.len()).find(|line| lines[*line].is_empty()).unwrap_or(lines.len());
            let block = lines[at..end].to_vec();
            let bytes: usize = block.iter().map(String::len).sum();
            let times = (1 << random.below(8)).min(LARGEST / bytes.max(1));
            (0..times).for_each(|_| lines.extend(block.iter().cloned()));
        }
        _ => lines.swap(at, other),
    }
    *text = lines.join("\n");
}

/// What stands behind an equals sign.
fn change_value(random: &mut Random, text: &mut String) {
    let places: Vec<usize> = text.match_indices("= ").map(|(at, _)| at + 2).collect();
    let ends: Vec<usize> = places
        .iter()
        .map(|place| text[*place..].find([',', '\n', '}', ']']).map_or(text.len(), |found| place + found))
        .collect();
    if places.is_empty() {
        return;
    }
    let (one, two) = (random.below(places.len()), random.below(places.len()));
    let value = match random.below(4) {
        0 => text[places[two]..ends[two]].to_owned(),
        1 => {
            let deep = 1 << random.below(10);
            let (open, close) = random.pick(&[("[", "]"), ("{ a = ", " }"), ("\"(", ")\""), ("\"-", "1\"")]);
            format!("{}1{}", open.repeat(deep), close.repeat(deep))
        }
        2 => {
            format!("\"{}\"", random.pick(&["a", "(", "not ", "a.", "é", "*"]).repeat(1 << random.below(14)))
        }
        _ => random.pick(&EXTREMES).to_owned(),
    };
    text.replace_range(places[one]..ends[one], &value);
}

fn change(random: &mut Random, text: &mut String) {
    match random.below(8) {
        0..3 => change_lines(random, text),
        3..6 => change_value(random, text),
        6 => {
            let end = border(text, random.below(text.len()));
            text.truncate(end);
        }
        _ if text.is_empty() => {}
        _ => {
            let at = border(text, random.below(text.len()));
            text.remove(at);
            text.insert(at, random.pick(&['[', ']', '"', '=', '{', '.', '\0', 'é', '0', '-', '\n', '#']));
        }
    }
}

struct Input {
    system: String,
    scenario: String,
}

impl fuzz::Input for Input {
    fn file(&self) -> (&'static str, &[u8]) {
        (
            "toml",
            if SCENARIOS.contains(&self.scenario.as_str()) {
                self.system.as_bytes()
            } else {
                self.scenario.as_bytes()
            },
        )
    }
}

/// Follows from the seed and the number alone. One of the two files is changed.
fn make(seed: u64, number: u64) -> Input {
    let mut random = Random::new(seed, number);
    let mut input =
        Input { system: random.pick(&SYSTEMS).to_owned(), scenario: random.pick(&SCENARIOS).to_owned() };
    let scenario = random.below(4) == 0;
    for _ in 0..=random.below(5) {
        change(&mut random, if scenario { &mut input.scenario } else { &mut input.system });
    }
    input
}

fn inside(problems: &[Problem], text: &str) {
    for problem in problems {
        assert!(text.get(problem.span.clone()).is_some(), "{problem:?} points outside or inside of a letter");
    }
}

fn run(input: &Input, folder: &Path, registry: &Registry) {
    let (mut system, problems) = toml::read(&input.system, folder, registry);
    inside(&problems, &input.system);
    let (acted, wrong) = scenario::read(&input.scenario);
    inside(&wrong, &input.scenario);
    let sound = problems.iter().all(|problem| problem.severity != Severity::Error);
    inside(&check(&system, registry, problems).problems, &input.system);
    if !sound {
        return;
    }
    // What was read can be written, and is then read as the same.
    let written = to_toml(&system);
    let (again, _) = toml::read(&written, folder, registry);
    assert_eq!(to_toml(&again), written, "written again it is another");
    if wrong.is_empty() {
        system.scenario = Some(acted);
    }
    if let Err(problems) = plan(&system, registry) {
        assert!(!problems.is_empty(), "no plan and no reason");
    }
}

#[test]
fn systems_that_nobody_wrote() {
    let registry = cosimo::registry();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/dual-mass");
    // What is not changed is right, or the hunt would only see its first line.
    for system in SYSTEMS {
        let (_, problems) = toml::read(system, &folder, &registry);
        assert_eq!(problems, [], "{system}");
    }
    for text in SCENARIOS {
        assert_eq!(scenario::read(text).1, []);
    }
    hunt(make, move |input| run(input, &folder, &registry));
}
