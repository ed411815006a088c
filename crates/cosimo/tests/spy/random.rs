//! Random systems of spying units, with random methods, faults, saves and loads: whatever becomes of them, no call
//! is one that the standard forbids, and the number of threads does not show.

use cosimo::core::Interface;
use cosimo::engine::{Checkpoint, Run};
use cosimo_test_fmus::{CLOCKS, Design, ECHO, InterfaceType, SABOTEUR, Variant, Version};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use crate::record::{Allowed, violations};
use crate::units::{FEEDTHROUGH, MASS, SPRING, new_record, planned, spy, take_record, unit};

const CASES: u32 = 250;

/// Passes its input on at once, so that chains of feed-through come about.
const PASSES: &str = "native:faulty/nan";
const ROTOR: &str = "native:ring/rotor";

const BALL: &str = "native:bouncing-ball";
const ROOM: &str = "native:thermostat";
const STAIR: &str = "native:stair";

/// For model exchange.
fn exchange(source: &str, version: Version, variant: Variant) -> Design {
    Design::exchange(source, version).variant(variant).spying()
}

fn designs() -> Vec<Design> {
    let mut all = Vec::new();
    for version in Version::ALL {
        let moving = if version == Version::Two { Variant::Interpolates } else { Variant::Intermediate };
        all.extend([
            spy(SPRING, version, Variant::Plain),
            spy(SPRING, version, moving),
            spy(MASS, version, Variant::Plain),
            spy(MASS, version, Variant::NoRollback),
            spy(MASS, version, Variant::FixedStep),
            spy(PASSES, version, Variant::Plain),
            spy(ROTOR, version, Variant::Plain),
            spy(SABOTEUR, version, Variant::Plain),
            spy(SABOTEUR, version, moving),
            exchange(SPRING, version, Variant::Plain),
            exchange(MASS, version, Variant::NoRollback),
            exchange(BALL, version, Variant::Iterates),
            exchange(ROOM, version, Variant::StepEvents),
            exchange(STAIR, version, Variant::Completed),
            // In FMI 3.0 with an event mode.
            spy(STAIR, version, Variant::Plain),
            spy(ECHO, version, Variant::Plain),
        ]);
    }
    all.push(spy(CLOCKS, Version::Three, Variant::Plain));
    all
}

const FAULTS: &[&str] = &["none", "discard", "warning", "error", "fatal", "nan"];

#[derive(Debug, Clone)]
struct Part {
    design: usize,
    fault: usize,
    at_step: u32,
    /// Substeps, where more than one.
    substeps: u32,
    /// Per input: which of the outputs that fit, or none.
    sources: Vec<usize>,
}

#[derive(Debug, Clone, Copy)]
enum Action {
    Step,
    Save,
    Load,
    /// Ends the run early and goes on in a new one, from the last checkpoint if there is one.
    Restart,
}

/// Numbers stand for a choice among as many as there are.
#[derive(Debug, Clone)]
struct Case {
    parts: Vec<Part>,
    bond: bool,
    methods: [usize; 6],
    inputs: Vec<usize>,
    fresh: Vec<bool>,
    reject: bool,
    size: usize,
    stop: usize,
    end_after: bool,
    threads: usize,
    actions: Vec<Action>,
}

/// Units that cannot rewind or vary their step make the plan refuse most methods, so they are rare.
fn design() -> impl Strategy<Value = usize> {
    let designs = designs();
    let weight = |design: &Design| match design.variant {
        Variant::NoRollback | Variant::FixedStep => 1,
        _ => 5,
    };
    prop::sample::select(
        (0..designs.len()).flat_map(|k| std::iter::repeat_n(k, weight(&designs[k]))).collect::<Vec<_>>(),
    )
}

fn part() -> impl Strategy<Value = Part> {
    (design(), 0..FAULTS.len(), 1..6u32, 1..3u32, vec(0..6usize, 2)).prop_map(
        |(design, fault, at_step, substeps, sources)| Part { design, fault, at_step, substeps, sources },
    )
}

fn case() -> impl Strategy<Value = Case> {
    let action = prop_oneof![
        8 => Just(Action::Step),
        1 => Just(Action::Save),
        1 => Just(Action::Load),
        1 => Just(Action::Restart),
    ];
    let choices = (any::<[u8; 6]>(), vec(0..30usize, 10), vec(prop::bool::weighted(0.2), 10));
    let rest = (any::<[bool; 3]>(), 0..4usize, 0..4usize, 2..4usize, vec(action, 1..12));
    (vec(part(), 2..6), choices, rest).prop_map(|(parts, (methods, inputs, fresh), rest)| {
        let ([bond, reject, end_after], size, stop, threads, actions) = rest;
        let methods = methods.map(usize::from);
        Case { parts, bond, methods, inputs, fresh, reject, size, stop, end_after, threads, actions }
    })
}

impl Case {
    fn units(&self) -> Vec<(String, Interface)> {
        let designs = designs();
        self.parts.iter().map(|part| unit(&designs[part.design], "random")).collect()
    }

    /// Whether a method reads outputs after new inputs without a step between.
    fn get_after_set(&self) -> bool {
        let differences = FEEDTHROUGH[self.methods[3] % FEEDTHROUGH.len()] == "difference";
        self.fresh.contains(&true) || differences
    }

    fn text(&self) -> String {
        let (units, designs) = (self.units(), designs());
        let (size, stop) = ([0.1, 0.05, 0.03, 0.0125][self.size], [0.1, 0.25, 0.3, 0.5][self.stop]);
        let mut text = format!("[experiment]\nstop = {stop:?}\n");
        if self.end_after {
            text += "end = \"after\"\n";
        }
        let mut wires = String::new();
        let mut paths = Vec::new();
        let mut discards = false;
        let joint = self.joint(&units);
        for (k, (part, (file, interface))) in self.parts.iter().zip(&units).enumerate() {
            let mut parameters = String::from("spy_file = \"RECORD\"");
            if designs[part.design].source == SABOTEUR {
                // A saboteur counts calls, rewound or not. Where one discards, others on its thread are not called and
                // those on another are; so only one in a system may, or threads would show.
                let fault = match FAULTS[part.fault] {
                    "discard" if std::mem::replace(&mut discards, true) => "none",
                    fault => fault,
                };
                parameters += &format!(", fault = \"{fault}\", at_step = {}", part.at_step);
            }
            if designs[part.design].source == PASSES {
                parameters += ", at = 1e9";
            }
            match designs[part.design].source.as_str() {
                BALL => parameters += ", height = 0.05, velocity = 0.0",
                STAIR => parameters += ", period = 0.07",
                _ => {}
            }
            if part.substeps > 1 && designs[part.design].kind == InterfaceType::CoSimulation {
                parameters += &format!(", \"cosimo.substep\" = {}", part.substeps);
            }
            let mut starts = Vec::new();
            for (port, source) in interface.inputs.iter().zip(&part.sources) {
                paths.push(format!("u{k}.{}", port.name));
                if joint.is_some_and(|(a, b)| a == k || b == k) {
                    continue;
                }
                let fitting: Vec<String> = units
                    .iter()
                    .enumerate()
                    .flat_map(|(other, (_, interface))| {
                        let same = interface.outputs.iter().filter(|output| {
                            output.unit.as_ref().map(|unit| &unit.text)
                                == port.unit.as_ref().map(|unit| &unit.text)
                        });
                        same.map(move |output| format!("u{other}.{}", output.name))
                    })
                    .collect();
                match fitting.get(*source) {
                    Some(from) => {
                        wires += &format!("[[connection]]\nfrom = \"{from}\"\nto = \"u{k}.{}\"\n", port.name);
                    }
                    None => starts.push(format!("{} = 0.5", port.name)),
                }
            }
            text += &format!("[component.u{k}]\nsource = \"{file}\"\nparameters = {{ {parameters} }}\n");
            if !starts.is_empty() {
                text += &format!("start = {{ {} }}\n", starts.join(", "));
            }
        }
        text += &wires;
        if let Some((spring, mass)) = joint {
            text += &format!(
                "[[bond]]\nname = \"joint\"\nenergy_scale = 1.0\n\
                 a = {{ effort = \"u{spring}.F\", flow = \"u{spring}.v\" }}\n\
                 b = {{ effort = \"u{mass}.F\", flow = \"u{mass}.v\" }}\n"
            );
        }
        text + &self.method(&paths, size, joint.is_some())
    }

    /// A spring and a mass to be joined by a power bond.
    fn joint(&self, units: &[(String, Interface)]) -> Option<(usize, usize)> {
        let designs = designs();
        let of = |source: &str| (0..units.len()).find(|k| designs[self.parts[*k].design].source == source);
        Some((of(SPRING)?, of(MASS)?)).filter(|_| self.bond)
    }

    fn method(&self, paths: &[String], size: f64, bonded: bool) -> String {
        let registry = cosimo::registry();
        let [partition, iteration, correction, jacobian, estimate, law] = self.methods;
        let partition = registry.partitions[partition % registry.partitions.len()].name;
        let iteration = registry.iterations[iteration % registry.iterations.len()].name;
        let jacobian = FEEDTHROUGH[jacobian % FEEDTHROUGH.len()];
        let correction = match registry.corrections[correction % registry.corrections.len()].name {
            "nepce" => format!("{{ nepce = {{ feedthrough = \"{jacobian}\" }} }}"),
            other => format!("\"{other}\""),
        };
        let estimate = match registry.estimates[estimate % registry.estimates.len()].name {
            "power-residual" if !bonded && estimate < 200 => "\"none\"".to_owned(),
            "power-residual" => "{ power-residual = { tolerance = 1e-4 } }".to_owned(),
            "predictor-corrector" => "{ predictor-corrector = { tolerance = 0.01 } }".to_owned(),
            other => format!("\"{other}\""),
        };
        let law = registry.controllers[law % registry.controllers.len()].name;
        let each = |words: Vec<&str>| {
            let words = paths.iter().zip(words).map(|(path, word)| format!(", \"{path}\" = \"{word}\""));
            words.collect::<String>()
        };
        // No unit offers slopes, so a method that needs them is a refusal: seldom.
        let inputs = self
            .inputs
            .iter()
            .map(|input| registry.inputs.get(*input).unwrap_or(&registry.inputs[input % 2]));
        let inputs = inputs.map(|entry| entry.name);
        let inputs = each(inputs.collect());
        let fresh = each(self.fresh.iter().map(|fresh| if *fresh { "fresh" } else { "stale" }).collect());
        let reject = if self.reject { "above-one" } else { "never" };
        format!(
            "[method]\npartition = \"{partition}\"\niteration = \"{iteration}\"\n\
             input = {{ default = \"hold\"{inputs} }}\nexchange = {{ default = \"stale\"{fresh} }}\n\
             correction = {correction}\nstep = {{ estimate = {estimate}, controller = \"{law}\", reject = \"{reject}\", \
             size = {size:?}, min = 1e-3, max = 0.1 }}\n"
        )
    }

    /// Everything a run shows, until its end or its first failure, and the calls that were made.
    fn run(&self, text: &str, threads: usize) -> (Vec<String>, String) {
        let file = new_record();
        let text = text.replace("RECORD", file.to_str().unwrap());
        let mut shown = Vec::new();
        if let Err(words) = self.perform(&text, threads, &mut shown) {
            shown.push(words);
        }
        (shown, take_record(&file))
    }

    fn perform(&self, text: &str, threads: usize, shown: &mut Vec<String>) -> Result<(), String> {
        // Who loads a state into a run that has passed it says so.
        let start = |threads: usize| {
            let plan = planned(text)?;
            let back = self.actions.iter().any(|action| matches!(action, Action::Load));
            let plan = if back { plan.rewinding() } else { plan };
            Run::new(plan, threads).map_err(|error| error.to_string())
        };
        let mut run = start(threads)?;
        let mut saved: Option<Vec<u8>> = None;
        for action in &self.actions {
            match action {
                Action::Step if run.finished() => shown.push("finished".into()),
                Action::Step => run.step().map_err(|error| error.to_string())?,
                Action::Save => match run.save() {
                    Ok(checkpoint) => saved = Some(checkpoint.bytes().to_vec()),
                    Err(error) => shown.push(error.to_string()),
                },
                Action::Load => load(&mut run, saved.as_deref())?,
                Action::Restart => {
                    drop(run);
                    run = start(threads)?;
                    load(&mut run, saved.as_deref())?;
                }
            }
            let bits: Vec<u64> = run.outputs().iter().map(|output| output.to_bits()).collect();
            let (time, sizes) = (run.time().seconds().to_bits(), run.sizes());
            shown.push(format!("{action:?} {time} {sizes:?} {bits:?}"));
        }
        Ok(())
    }
}

fn load(run: &mut Run, saved: Option<&[u8]>) -> Result<(), String> {
    let Some(bytes) = saved else { return Ok(()) };
    let checkpoint = Checkpoint::from_bytes(bytes.to_vec()).unwrap();
    run.load(&checkpoint).map_err(|error| error.to_string())
}

/// What the cases were, so that a test that tests nothing is noticed.
#[derive(Debug, Default)]
struct Seen {
    refused: u32,
    failed: u32,
    done: u32,
    steps: usize,
    rewinds: usize,
    trials: usize,
    loads: usize,
    fatal: usize,
}

impl Seen {
    fn count(&mut self, shown: &[String], record: &str) {
        let ended = shown.last().map_or("", String::as_str);
        match (record.is_empty(), ended.starts_with("simulator `")) {
            (true, _) => self.refused += 1,
            (false, true) => self.failed += 1,
            (false, false) => self.done += 1,
        }
        let count = |words: &str| record.matches(words).count();
        self.steps += count("DoStep(");
        self.rewinds += count("fmi2SetFMUstate(") + count("fmi3SetFMUState(");
        self.trials += usize::from(count("Instantiate") > 5);
        self.loads += count("eserializeFMUState(") + count("DeSerializeFMUstate(");
        self.fatal += count("fatal: ");
    }
}

#[test]
fn no_system_and_no_method_makes_a_forbidden_call() {
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    let config =
        Config { cases: CASES, failure_persistence: None, max_shrink_iters: 300, ..Config::default() };
    let mut seen = Seen::default();
    let seen_in = std::cell::RefCell::new(&mut seen);
    let result = TestRunner::new_with_rng(config, rng).run(&case(), |case| {
        let text = case.text();
        let units = case.units();
        let file_of = |instance: &str| units[instance[1..].parse::<usize>().unwrap()].0.clone();
        let get_after_set = case.get_after_set();
        let (alone, record) = case.run(&text, 1);
        let wrong = violations(&record, Allowed { get_after_set, overlap: false }, file_of);
        prop_assert!(wrong.is_empty(), "{wrong:#?}\n{text}\n{record}");
        seen_in.borrow_mut().count(&alone, &record);
        let (together, record) = case.run(&text, case.threads);
        let wrong = violations(&record, Allowed { get_after_set, overlap: true }, file_of);
        prop_assert!(wrong.is_empty(), "{} threads: {wrong:#?}\n{text}\n{record}", case.threads);
        prop_assert_eq!(alone, together, "{} threads\n{}", case.threads, text);
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
    assert!(seen.refused > CASES / 20 && seen.failed > CASES / 20 && seen.done > CASES / 5, "{seen:?}");
    assert!(seen.steps > 2000 && seen.rewinds > 200 && seen.loads > 20 && seen.fatal > 5, "{seen:?}");
}
