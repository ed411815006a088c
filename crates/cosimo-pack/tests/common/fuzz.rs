//! What fuzzers share: XML and archives changed at random with their structure in mind, and a hunt for inputs that
//! panic, hang or take memory without end.
//!
//! The inputs follow from the seed alone. `COSIMO_FUZZ_SECONDS` says how long, `COSIMO_FUZZ_SEED` where to begin;
//! `cargo xtask fuzz` sets the first. What fails is left in `target/fuzz`, with the seed in its name.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::{Duration, Instant};

const SEED: u64 = 0x5eed;
/// Of processor time, as others may need the machine, too.
const LONGEST: Duration = Duration::from_secs(2);
/// And by the clock on the wall.
const LONGEST_WAIT: Duration = Duration::from_secs(60);
/// What one input may add to the memory of the process.
const MOST_MEMORY: u64 = 256 << 20;

/// SplitMix64: small, and the same everywhere.
pub(crate) struct Random(u64);

impl Random {
    /// For one input; follows from the seed and the number alone.
    pub(crate) fn new(seed: u64, number: u64) -> Random {
        Random(seed ^ number.wrapping_mul(0xd134_2543_de82_ef95))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }

    pub(crate) fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }
}

/// Values at the ends of types, and of other types.
const EXTREMES: &[&str] = &[
    "",
    "0",
    "-1",
    "1",
    "2147483648",
    "4294967295",
    "4294967296",
    "18446744073709551615",
    "99999999999999999999999999",
    "1e308",
    "1e999",
    "-0",
    "NaN",
    "INF",
    "true",
    "é",
    "&#10;",
    "&#x10FFFF;",
    "../../a",
    "input",
    "output",
    "independent",
    "structuralParameter",
    "constant",
    "exact",
];

/// Ranges of all tags, without their brackets.
fn tags(text: &str) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(open) = text[at..].find('<').map(|found| at + found) {
        let Some(close) = text[open..].find('>').map(|found| open + found) else { break };
        found.push((open, close + 1));
        at = close + 1;
    }
    found
}

/// Ranges of the values of all attributes, without their quotes.
fn values(text: &str) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(begin) = text[at..].find("=\"").map(|found| at + found + 2) {
        let Some(end) = text[begin..].find('"').map(|found| begin + found) else { break };
        found.push((begin, end));
        at = end + 1;
    }
    found
}

/// An element from its tag to its end, as far as a search can tell.
fn element(text: &str, (open, close): (usize, usize)) -> (usize, usize) {
    let tag = &text[open..close];
    if tag.ends_with("/>") || tag.starts_with("</") {
        return (open, close);
    }
    let name = tag[1..].split([' ', '>', '\n']).next().unwrap_or_default();
    let end = format!("</{name}>");
    (open, text[close..].find(&end).map_or(close, |found| close + found + end.len()))
}

fn border(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

pub(crate) fn change_text(random: &mut Random, text: &mut String) {
    let (tags, values) = (tags(text), values(text));
    if tags.is_empty() || values.is_empty() {
        *text = "<a b=\"c\"/>".into();
        return;
    }
    match random.below(12) {
        // A value that is extreme, or that of another attribute.
        0..=2 => {
            let (begin, end) = random.pick(&values);
            text.replace_range(begin..end, random.pick(EXTREMES));
        }
        3 => {
            let ((begin, end), (from, to)) = (random.pick(&values), random.pick(&values));
            let other = text[from..to].to_owned();
            text.replace_range(begin..end, &other);
        }
        // A very long one.
        4 => {
            let (begin, end) = random.pick(&values);
            let long = random.pick(&["a", "1 ", "[", "'", "é", "."]).repeat(1 << random.below(15));
            text.replace_range(begin..end, &long);
        }
        // An attribute less.
        5 => {
            let (begin, end) = random.pick(&values);
            let start = text[..begin].rfind(' ').unwrap_or(begin);
            text.replace_range(start..(end + 1).min(text.len()), "");
        }
        // Elements gone, often there, elsewhere, inside themselves.
        6 => {
            let (from, to) = element(text, random.pick(&tags));
            text.replace_range(from..to, "");
        }
        7 => {
            let (from, to) = element(text, random.pick(&tags));
            let many = text[from..to].repeat(1 + (1 << random.below(if to - from > 2000 { 3 } else { 10 })));
            text.replace_range(from..to, &many);
        }
        8 => {
            let (from, to) = element(text, random.pick(&tags));
            let moved = text[from..to].to_owned();
            text.insert_str(random.pick(&tags).0, &moved);
        }
        9 => {
            let (from, to) = random.pick(&tags);
            let depth = 1 << random.below(12);
            let tag = text[from..to].to_owned();
            let name =
                tag.trim_matches(['<', '>', '/']).split([' ', '\n']).next().unwrap_or_default().to_owned();
            let nested =
                format!("{}{}", format!("<{name}>").repeat(depth), format!("</{name}>").repeat(depth));
            text.insert_str(from, &nested);
        }
        // No respect for structure.
        10 => {
            let end = border(text, random.below(text.len()));
            text.truncate(end);
        }
        _ => {
            let at = border(text, random.below(text.len()));
            let letter = random.pick(&['<', '>', '"', '&', '\0', 'é', '0', '-', ' ', '/', '!', '=']);
            text.remove(at);
            text.insert(at, letter);
        }
    }
}

pub(crate) fn change_bytes(random: &mut Random, bytes: &mut Vec<u8>) {
    if bytes.is_empty() {
        return;
    }
    let at = random.below(bytes.len());
    // Most of a zip archive's structure is at its end.
    let at = if random.below(2) == 0 { bytes.len() - 1 - random.below(bytes.len().min(400)) } else { at };
    match random.below(5) {
        0 => bytes[at] ^= 1 << random.below(8),
        1 => bytes[at] = random.pick(&[0, 1, 0x7f, 0x80, 0xff]),
        2 => {
            let end = (at + 8).min(bytes.len());
            bytes[at..end].fill(random.pick(&[0, 0xff]));
        }
        3 => bytes.truncate(at),
        _ => {
            let end = (at + random.below(200)).min(bytes.len());
            let piece = bytes[at..end].to_vec();
            let place = random.below(bytes.len());
            bytes.splice(place..place, piece);
        }
    }
}

/// A line of /proc/self/status in bytes; 0 where there is none.
fn memory(line: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let found = status
        .lines()
        .find_map(|text| text.strip_prefix(line)?.trim().strip_suffix("kB")?.trim().parse().ok());
    found.map_or(0, |kilobytes: u64| kilobytes << 10)
}

/// Processor time of all threads, which is that of the one that works.
fn processor_time() -> Duration {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(") ").next().unwrap_or_default().split(' ').collect();
    let ticks: u64 = [11, 12].into_iter().filter_map(|at| fields.get(at)?.parse::<u64>().ok()).sum();
    // Linux counts in hundredths of a second whatever the machine.
    Duration::from_millis(ticks * 10)
}

/// Where an input that fails is left: the ending of its name, and its bytes.
pub(crate) trait Input: Send + 'static {
    fn file(&self) -> (&'static str, &[u8]);
}

fn keep(input: &impl Input, seed: u64, number: u64) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().join("fuzz");
    fs::create_dir_all(&folder).unwrap();
    let (ending, bytes) = input.file();
    let file = folder.join(format!("{seed:x}-{number}.{ending}"));
    fs::write(&file, bytes).unwrap();
    file
}

fn setting(name: &str, usual: u64) -> u64 {
    match std::env::var(name) {
        Err(_) => usual,
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{name} is `{text}`, expected a whole number")),
    }
}

/// Runs the real code on inputs until the time is over. Whatever it answers is right.
pub(crate) fn hunt<I: Input>(make: impl Fn(u64, u64) -> I, run: impl Fn(&I) + Send + 'static) {
    let (seed, seconds) = (setting("COSIMO_FUZZ_SEED", SEED), setting("COSIMO_FUZZ_SECONDS", 2));
    let (orders, work) = mpsc::channel::<I>();
    let (answers, results) = mpsc::channel::<(I, Result<(), String>)>();
    std::thread::spawn(move || {
        for input in work {
            let result = catch_unwind(AssertUnwindSafe(|| run(&input))).map_err(|cause| {
                let text = cause.downcast_ref::<String>().map(String::as_str);
                text.or(cause.downcast_ref::<&str>().copied()).unwrap_or("a panic without words").to_owned()
            });
            if answers.send((input, result)).is_err() {
                return;
            }
        }
    });
    let (begun, mut number) = (Instant::now(), 0u64);
    while begun.elapsed() < Duration::from_secs(seconds) {
        let input = make(seed, number);
        // Makes the highest memory begin anew, where the system can.
        let _ = fs::write("/proc/self/clear_refs", "5");
        let (before, worked, waited) = (memory("VmRSS:"), processor_time(), Instant::now());
        orders.send(input).unwrap();
        let (input, result) = loop {
            match results.recv_timeout(Duration::from_millis(500)) {
                Ok(answer) => break answer,
                Err(_) => {
                    let hangs =
                        processor_time().saturating_sub(worked) > LONGEST || waited.elapsed() > LONGEST_WAIT;
                    if hangs {
                        let file = keep(&make(seed, number), seed, number);
                        panic!("seed {seed}, input {number} hangs; it is in {}", file.display());
                    }
                }
            }
        };
        let grown = memory("VmHWM:").saturating_sub(before);
        let failure = match result {
            Err(panic) => Some(format!("panics: {panic}")),
            Ok(()) if processor_time().saturating_sub(worked) > LONGEST => Some("takes more than 2 s".into()),
            Ok(()) if grown > MOST_MEMORY => Some(format!("takes {grown} bytes of memory")),
            Ok(()) => None,
        };
        if let Some(failure) = failure {
            let file = keep(&input, seed, number);
            panic!("seed {seed}, input {number} {failure}; it is in {}", file.display());
        }
        number += 1;
    }
    println!("{number} inputs with seed {seed}");
    assert!(number > 0);
}
