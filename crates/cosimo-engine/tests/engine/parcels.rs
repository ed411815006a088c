//! Texts and bytes go from unit to unit as they are: at which step, through events, back and forth with everything else.
#![allow(clippy::unwrap_used)] // helpers of tests are tests

use std::collections::BTreeSet;
use std::sync::Mutex;

use crate::common::{bits, folder};
use cosimo::core::registry::{OpenRequest, OpenResult};
use cosimo::core::simulator::{Bytes, Events, Memory, Rollback, SerializeState};
use cosimo::core::{
    Abilities, ByteContent, BytePort, Inputs, Interface, Outputs, Port, Registry, Setup, Simulator,
    SimulatorError, SourceEntry, StepResult, Time, Window,
};
use cosimo::engine::{Run, plan};
use cosimo::system::toml;
use cosimo_test_fmus::{Design, ECHO, Version, built_library, write};

/// Says what time it is, in words and in bytes.
struct Speaker {
    interface: Interface,
    clock: Memory<[f64; 1]>,
}

impl Simulator for Speaker {
    fn interface(&self) -> &Interface {
        &self.interface
    }
    fn initialize(&mut self, setup: &Setup) -> Result<(), SimulatorError> {
        self.clock.now[0] = setup.start.seconds();
        Ok(())
    }
    fn set_inputs(&mut self, _: Time, _: &Inputs<'_>) -> Result<(), SimulatorError> {
        Ok(())
    }
    fn do_step(&mut self, window: Window, _: &Inputs<'_>) -> Result<StepResult, SimulatorError> {
        self.clock.now[0] = window.to.seconds();
        Ok(StepResult::end_of(window, 1))
    }
    fn get_outputs(&mut self, out: &mut Outputs<'_>) -> Result<(), SimulatorError> {
        out.values[0] = self.clock.now[0];
        Ok(())
    }
    fn bytes(&mut self) -> Option<&mut dyn Bytes> {
        Some(self)
    }
    fn rollback(&mut self) -> Option<&mut dyn Rollback> {
        Some(&mut self.clock)
    }
    fn serialize_state(&mut self) -> Option<&mut dyn SerializeState> {
        Some(&mut self.clock)
    }
}

impl Bytes for Speaker {
    fn set_bytes(&mut self, _: usize, _: &[u8]) -> Result<(), SimulatorError> {
        unreachable!("it has no input for bytes")
    }
    fn get_bytes(&mut self, port: usize, into: &mut Vec<u8>) -> Result<(), SimulatorError> {
        into.clear();
        match port {
            0 => into.extend(words(self.clock.now[0]).as_bytes()),
            _ => into.extend([0, 255, (self.clock.now[0] * 10.0).round() as u8, 0]),
        }
        Ok(())
    }
}

fn words(t: f64) -> String {
    format!("fünf vor {t:.1}")
}

fn open(_: &OpenRequest<'_>) -> OpenResult {
    let parcel = |name: &str, content| BytePort { name: name.into(), content, description: String::new() };
    let interface = Interface {
        outputs: vec![Port::new("t", "s", "time")],
        byte_outputs: vec![parcel("words", ByteContent::Text), parcel("bytes", ByteContent::Bytes)],
        abilities: Abilities { states: false, ..Abilities::NATIVE },
        ..Interface::default()
    };
    Ok(Box::new(Speaker { interface, clock: Memory::new([0.0]) }))
}

const SPEAKER: SourceEntry = SourceEntry {
    name: "speaker",
    summary: "says what time it is",
    claims: |source| source.starts_with("speaker:"),
    open,
    parameters: |_, _| Vec::new(),
    models: Vec::new,
    join: None,
};

fn registry() -> Registry {
    let mut registry = cosimo::registry();
    registry.add_source(&SPEAKER);
    registry
}

fn echo(version: Version) -> String {
    static WRITTEN: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let design = Design::new(ECHO, version);
    let name = format!("parcels-{}", design.file_name());
    let mut written = WRITTEN.lock().unwrap();
    if written.insert(name.clone()) {
        write(&design, &built_library().unwrap(), &folder().join(&name)).unwrap();
    }
    name
}

/// A speaker, and two units one behind the other that pass on what they hear.
fn chain(version: Version, method: &str) -> String {
    let echo = echo(version);
    let bytes = match version {
        Version::One | Version::Two => "",
        Version::Three => {
            "[[connection]]\nfrom = \"speaker.bytes\"\nto = \"one.binary_in\"\n\
             [[connection]]\nfrom = \"one.binary_out\"\nto = \"two.binary_in\"\n"
        }
    };
    format!(
        "[experiment]\nstop = 0.5\n[component.speaker]\nsource = \"speaker:\"\n\
         [component.one]\nsource = \"{echo}\"\n[component.two]\nsource = \"{echo}\"\n\
         [[connection]]\nfrom = \"speaker.words\"\nto = \"one.string_in\"\n\
         [[connection]]\nfrom = \"one.string_out\"\nto = \"two.string_in\"\n{bytes}[method]\n{method}\n"
    )
}

fn start(text: &str, threads: usize) -> Run {
    let registry = registry();
    let (system, problems) = toml::read(text, &folder(), &registry);
    assert!(problems.is_empty(), "{problems:#?}");
    let plan = plan(&system, &registry).unwrap_or_else(|problems| panic!("{problems:#?}"));
    Run::new(plan, threads).unwrap()
}

fn heard(run: &Run, path: &str) -> String {
    String::from_utf8(run.bytes(path).unwrap().to_vec()).unwrap()
}

#[test]
fn texts_and_bytes_pass_through_units_of_every_version() {
    for version in Version::EVERY {
        for (partition, late) in [("jacobi", 1.0), ("gauss-seidel", 0.0)] {
            let text = chain(version, &format!("partition = \"{partition}\"\nstep = {{ size = 0.1 }}"));
            let mut run = start(&text, 1);
            // At the start everything has passed through everything.
            assert_eq!(heard(&run, "one.string_in"), words(0.0));
            assert_eq!(heard(&run, "two.string_in"), words(0.0));
            for step in 1..=3 {
                run.step().unwrap();
                let t = 0.1 * f64::from(step);
                assert_eq!(heard(&run, "one.string_in"), words(t), "{version:?} {partition}");
                // Members of the same stage receive it a step later.
                assert_eq!(heard(&run, "two.string_in"), words(t - 0.1 * late), "{version:?} {partition}");
                if version == Version::Three {
                    let passed = run.bytes("two.binary_in").unwrap();
                    assert_eq!(passed, [0, 255, (f64::from(step) - late) as u8, 0]);
                }
            }
        }
    }
}

/// A simulator with longer steps is ahead of the others; its bytes arrive when they reach its instant.
#[test]
fn they_are_not_heard_before_a_longer_step_is_over() {
    for version in Version::EVERY {
        let text = chain(version, "partition = \"gauss-seidel\"\nstep = { size = 0.1 }");
        let text = text.replace("[component.speaker]\n", "[component.speaker]\nstep = 0.3\n");
        let mut run = start(&text.replace("stop = 0.5", "stop = 0.9"), 1);
        for step in 1..=9 {
            run.step().unwrap();
            let t = 0.3 * f64::from(step / 3);
            assert_eq!(heard(&run, "one.string_in"), words(t), "{version:?}, step {step}");
            assert_eq!(heard(&run, "two.string_in"), words(t), "{version:?}, step {step}");
            // The time itself is a line.
            assert!((run.output("speaker.t").unwrap() - 0.1 * f64::from(step)).abs() < 1e-12);
        }
    }
}

#[test]
fn they_go_back_with_everything_else() {
    for version in Version::ALL {
        let method = "step = { estimate = { richardson = { tolerance = 1e-3 } }, controller = \"i\", size = 0.1, max = 0.1 }";
        for method in [method, "step = { size = 0.1 }"] {
            let text = chain(version, method);
            let (mut straight, mut threads, mut detour) = (start(&text, 1), start(&text, 3), start(&text, 1));
            detour.step().unwrap();
            let kept = detour.save().unwrap();
            detour.step().unwrap();
            detour.load(&kept).unwrap();
            let mut fresh = start(&text, 2);
            fresh.load(&kept).unwrap();
            let all = [&mut straight, &mut threads, &mut detour, &mut fresh];
            let ends = all.map(|run| {
                while !run.finished() {
                    run.step().unwrap();
                }
                (bits(run), heard(run, "two.string_in"))
            });
            assert!(ends.iter().all(|end| *end == ends[0]), "{version:?} {method}: {ends:?}");
        }
    }
}

#[test]
fn what_does_not_fit_is_said() {
    let registry = registry();
    let (two, three) = (echo(Version::Two), echo(Version::Three));
    for (wire, message) in [
        (
            "from = \"speaker.words\"\nto = \"three.binary_in\"",
            "`speaker.words` provides texts, but `three.binary_in` expects bytes",
        ),
        (
            "from = \"speaker.t\"\nto = \"two.string_in\"",
            "`two.string_in` expects texts, which `speaker.t` does not provide",
        ),
        (
            "from = \"speaker.words\"\nto = \"two.integer_in\"",
            "`speaker.words` provides texts, which `two.integer_in` does not accept",
        ),
        (
            "from = \"speaker.words\"\nto = \"two.string_in\"\n[[connection]]\nfrom = \"three.string_out\"\nto = \"two.string_in\"",
            "input `two.string_in` is driven by `speaker.words` and by `three.string_out`",
        ),
        (
            "from = \"speaker.words\"\nto = \"two.string_in\"\ngain = 2.0",
            "`speaker.words` is not a number: gain, offset and map do not apply",
        ),
    ] {
        let text = format!(
            "[experiment]\nstop = 1\n[component.speaker]\nsource = \"speaker:\"\n[component.two]\nsource = \"{two}\"\n\
             [component.three]\nsource = \"{three}\"\n[[connection]]\n{wire}\n[method]\nstep = {{ size = 0.1 }}\n"
        );
        let (system, problems) = toml::read(&text, &folder(), &registry);
        assert!(problems.is_empty(), "{problems:#?}");
        let found = plan(&system, &registry).map(|_| ()).unwrap_err();
        let said: Vec<&String> = found.iter().map(|problem| &problem.message).collect();
        assert!(said.iter().any(|said| *said == message), "{message}: {said:#?}");
    }
}

/// Answers every text that it hears with the next number, at once; as long as it likes.
struct Chatter {
    interface: Interface,
    heard: Memory<u64>,
    /// The number that it answers by itself.
    last: u64,
}

impl Simulator for Chatter {
    fn interface(&self) -> &Interface {
        &self.interface
    }
    fn initialize(&mut self, _: &Setup) -> Result<(), SimulatorError> {
        Ok(())
    }
    fn set_inputs(&mut self, _: Time, _: &Inputs<'_>) -> Result<(), SimulatorError> {
        Ok(())
    }
    fn do_step(&mut self, window: Window, _: &Inputs<'_>) -> Result<StepResult, SimulatorError> {
        Ok(StepResult { event: true, ..StepResult::end_of(window, 1) })
    }
    fn get_outputs(&mut self, _: &mut Outputs<'_>) -> Result<(), SimulatorError> {
        Ok(())
    }
    fn rollback(&mut self) -> Option<&mut dyn Rollback> {
        Some(&mut self.heard)
    }
    fn events(&mut self) -> Option<&mut dyn Events> {
        Some(self)
    }
    fn bytes(&mut self) -> Option<&mut dyn Bytes> {
        Some(self)
    }
}

impl Events for Chatter {
    fn next_event(&mut self) -> Result<Option<Time>, SimulatorError> {
        Ok(None)
    }
}

impl Bytes for Chatter {
    fn set_bytes(&mut self, _: usize, content: &[u8]) -> Result<(), SimulatorError> {
        self.heard.now = String::from_utf8_lossy(content).parse().unwrap_or(0);
        Ok(())
    }
    fn get_bytes(&mut self, _: usize, into: &mut Vec<u8>) -> Result<(), SimulatorError> {
        into.clear();
        into.extend((self.heard.now + 1).min(self.last).to_string().as_bytes());
        Ok(())
    }
}

const CHATTER: SourceEntry = SourceEntry {
    name: "chatter",
    summary: "answers what it hears with the next number",
    claims: |source| source.starts_with("chatter:"),
    open: |request| {
        let parcel = |name: &str| BytePort {
            name: name.into(),
            content: ByteContent::Text,
            description: String::new(),
        };
        let interface = Interface {
            byte_inputs: vec![parcel("hears")],
            byte_outputs: vec![parcel("says")],
            abilities: Abilities { states: false, serialize_state: false, events: true, ..Abilities::NATIVE },
            ..Interface::default()
        };
        let last = request.source.trim_start_matches("chatter:").parse().unwrap();
        Ok(Box::new(Chatter { interface, heard: Memory::new(0), last }))
    },
    parameters: |_, _| Vec::new(),
    models: Vec::new,
    join: None,
};

/// As with numbers: an event comes to an end, or the run does, and says who goes on.
#[test]
fn texts_that_answer_each_other_for_ever_are_told() {
    let mut registry = registry();
    registry.add_source(&CHATTER);
    let begin = |last: u64| {
        let text = format!(
            "[experiment]\nstop = 1\n[component.one]\nsource = \"chatter:{last}\"\n[component.two]\nsource = \"chatter:{last}\"\n\
             [[connection]]\nfrom = \"one.says\"\nto = \"two.hears\"\n[[connection]]\nfrom = \"two.says\"\nto = \"one.hears\"\n\
             [method]\nstep = {{ size = 0.5 }}\n"
        );
        let (system, problems) = toml::read(&text, &folder(), &registry);
        assert!(problems.is_empty(), "{problems:#?}");
        Run::new(plan(&system, &registry).unwrap(), 1)
    };
    let mut run = begin(90).unwrap();
    assert_eq!(heard(&run, "two.hears"), "90");
    run.step().unwrap();
    let error = begin(u64::MAX).map(|_| ()).unwrap_err().to_string();
    assert_eq!(
        error,
        "the event iteration at t = 0 s does not converge: `one.says` still changes after 100 rounds"
    );
}
