//! What the error bars of all systems come to, per class, and whether that is good enough.

use std::fmt::Write as _;

use cosimo_analysis::error_bars::AccuracyVerdict::{self, Accurate, NotAccurate, Unknown};

use crate::classes::{Demand, TestSystem};
use crate::measure::{Judgement, SignalFinding};

/// True errors below this are rounding: no bar must meet them.
const NOTHING: f64 = 1e-9;
/// A bar is right if it is this close to the true error, either way.
const FACTOR: f64 = 2.0;
/// A verdict *accurate* is false beyond this multiple of the wanted error.
const FALSE: f64 = 3.0;
/// So many signals are named where a share is not as it should be; all with `--list`.
const NAMED: usize = 5;
/// Shares that are asked for.
const BARS: f64 = 0.95;
const RIGHT: f64 = 0.97;
const UNKNOWN: f64 = 0.03;

/// Of one class.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    pub systems: usize,
    pub signals: usize,
    /// Signals with an error to speak of and bars about it.
    pub bars: [usize; 2],
    pub near: [usize; 2],
    /// Verdicts other than unknown, and right ones: coarse, auto, fine.
    pub judged: [usize; 3],
    pub right: [usize; 3],
    pub unknown: [usize; 3],
    pub false_accurate: [usize; 3],
    pub contradictions: usize,
    pub unexplained: usize,
    /// One line about each signal at which something is wrong.
    pub offences: Vec<Offence>,
    /// Systems that could not be run at all.
    pub failures: Vec<String>,
}

/// Something wrong with one signal.
#[derive(Debug, Clone)]
pub struct Offence {
    pub kind: &'static str,
    pub text: String,
}

impl Tally {
    pub fn add(&mut self, system: &TestSystem, findings: &[SignalFinding]) {
        self.systems += 1;
        for finding in findings {
            self.signals += 1;
            self.add_signal(system, finding);
        }
    }

    fn add_signal(&mut self, system: &TestSystem, finding: &SignalFinding) {
        let mut offence = |kind: &'static str, judgement: &Judgement, by: &str| {
            let reason = judgement.reason.as_deref().map_or(String::new(), |reason| format!(": {reason}"));
            self.offences.push(Offence {
                kind,
                text: format!(
                    "{kind:<16} {}: `{}` wanted {:.0e}, true {:.3e}, bar {:.3e}, {by} {}{reason}",
                    system.about(),
                    finding.name,
                    finding.wanted,
                    finding.true_error,
                    judgement.bar,
                    judgement.verdict.word(),
                ),
            });
        };
        let judgements = [(&finding.coarse, "coarse"), (&finding.auto, "auto"), (&finding.fine, "fine")];
        for (place, (judgement, by)) in judgements.into_iter().enumerate() {
            match judgement.verdict {
                Unknown => {
                    self.unknown[place] += 1;
                    self.unexplained += usize::from(judgement.reason.as_deref().is_none_or(str::is_empty));
                    if place > 0 {
                        offence("unknown", judgement, by);
                    }
                }
                verdict => {
                    self.judged[place] += 1;
                    let right = (verdict == Accurate) == (finding.true_error <= finding.wanted);
                    self.right[place] += usize::from(right);
                    if !right {
                        offence("wrong", judgement, by);
                    }
                    if verdict == Accurate
                        && (finding.true_error.is_nan() || finding.true_error > FALSE * finding.wanted)
                    {
                        self.false_accurate[place] += 1;
                        offence("false accurate", judgement, by);
                    }
                }
            }
        }
        let speaks = !finding.switches && finding.true_error > NOTHING.max(finding.of_solvers);
        for (place, (judgement, by)) in [judgements[1], judgements[2]].into_iter().enumerate() {
            if speaks && judgement.verdict != Unknown {
                self.bars[place] += 1;
                let ratio = judgement.bar / finding.true_error;
                let near = (1.0 / FACTOR..=FACTOR).contains(&ratio);
                self.near[place] += usize::from(near);
                if !near {
                    offence("bar", judgement, by);
                }
            }
        }
        let decided = |judgement: &Judgement| (judgement.verdict != Unknown).then_some(judgement.verdict);
        let against = |a: Option<AccuracyVerdict>, b: Option<AccuracyVerdict>| {
            matches!((a, b), (Some(Accurate), Some(NotAccurate)) | (Some(NotAccurate), Some(Accurate)))
        };
        if against(decided(&finding.coarse), decided(&finding.fine))
            || against(decided(&finding.auto), decided(&finding.fine))
        {
            self.contradictions += 1;
            offence("contradiction", &finding.fine, "fine");
        }
    }

    /// What is not good enough about systems of several classes: never wrong, and bars near the error or hardly anything
    /// unknown where that is demanded.
    pub fn complaints(&self, demand: Demand) -> Vec<String> {
        let mut all: Vec<String> =
            self.failures.iter().map(|failure| format!("cannot be run: {failure}")).collect();
        let mut expect = |holds: bool, kind: &str, what: String| {
            if !holds {
                all.push(what);
                let named = self.offences.iter().filter(|offence| offence.kind == kind).take(NAMED);
                all.extend(named.map(|offence| format!("    {}", offence.text)));
            }
        };
        for (place, by) in ["coarse", "auto", "fine"].into_iter().enumerate() {
            let count = self.false_accurate[place];
            expect(count == 0, "false accurate", format!("{count} falsely accurate ({by})"));
            let right = share(self.right[place], self.judged[place]);
            let text = format!("verdicts right {} ({by}), expected {}", percent(right), percent(RIGHT));
            expect(right >= RIGHT, "wrong", text);
        }
        let count = self.contradictions;
        expect(count == 0, "contradiction", format!("{count} contradictions of `run` and `verify`"));
        expect(self.unexplained == 0, "unknown", format!("{} unknown without a reason", self.unexplained));
        for (place, by) in ["auto", "fine"].into_iter().enumerate() {
            if demand == Demand::Smooth {
                let near = share(self.near[place], self.bars[place]);
                let text =
                    format!("bars near the error {} ({by}), expected {}", percent(near), percent(BARS));
                expect(near >= BARS, "bar", text);
            }
            if demand != Demand::Honest {
                let unknown = self.unknown[place + 1] as f64 / self.signals.max(1) as f64;
                let (got, most) = (percent(unknown), percent(UNKNOWN));
                expect(
                    unknown <= UNKNOWN,
                    "unknown",
                    format!("unknown {got} ({by}), expected at most {most}"),
                );
            }
        }
        all
    }

    /// A line of the table.
    pub fn line(&self, name: &str) -> String {
        let near = |place: usize| percent(share(self.near[place], self.bars[place]));
        let right = |place: usize| percent(share(self.right[place], self.judged[place]));
        let unknown = |place: usize| percent(self.unknown[place] as f64 / self.signals.max(1) as f64);
        let [a, b, c] = self.false_accurate;
        format!(
            "{:<12} {:>7} {:>7} {:>7} {:>7} {:>8} {:>7} {:>7} {:>8} {:>7} {:>7} {:>9} {:>6}",
            name,
            self.systems,
            self.signals,
            near(0),
            near(1),
            unknown(0),
            unknown(1),
            unknown(2),
            right(0),
            right(1),
            right(2),
            format!("{a}/{b}/{c}"),
            self.contradictions,
        )
    }

    /// Adds those of another part.
    pub fn join(&mut self, other: Tally) {
        let add =
            |to: &mut [usize], from: &[usize]| to.iter_mut().zip(from).for_each(|(to, from)| *to += from);
        self.systems += other.systems;
        self.signals += other.signals;
        add(&mut self.bars, &other.bars);
        add(&mut self.near, &other.near);
        add(&mut self.judged, &other.judged);
        add(&mut self.right, &other.right);
        add(&mut self.unknown, &other.unknown);
        add(&mut self.false_accurate, &other.false_accurate);
        self.contradictions += other.contradictions;
        self.unexplained += other.unexplained;
        self.offences.extend(other.offences);
        self.failures.extend(other.failures);
    }
}

/// The head of the table.
pub fn head() -> String {
    let mut text = String::new();
    let _ = writeln!(
        text,
        "{:<12} {:>7} {:>7} {:>15} {:>24} {:>24} {:>9} {:>6}",
        "", "", "", "bar within 2x", "unknown", "verdict right", "false", "contra"
    );
    let _ = write!(
        text,
        "{:<12} {:>7} {:>7} {:>7} {:>7} {:>8} {:>7} {:>7} {:>8} {:>7} {:>7} {:>9} {:>6}",
        "class",
        "systems",
        "signals",
        "auto",
        "fine",
        "coarse",
        "auto",
        "fine",
        "coarse",
        "auto",
        "fine",
        "accurate",
        "dict"
    );
    text
}

/// All of none is enough.
fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 { 1.0 } else { part as f64 / whole as f64 }
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}
