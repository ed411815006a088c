//! What a run came to, in numbers and in words.
//!
//! The words are about the energy defect. They never claim a bound on the state error: residual energy does
//! not bound it.

use cosimo_core::Bond;
use cosimo_core::method::IdentificationStatus;
use cosimo_core::registry::quoted;
use schemars::JsonSchema;
use serde::Serialize;

use crate::island::Island;
use crate::ledger::BondTotals;
use crate::lines::{LineNetworkTotals, LineTotals};
use crate::run::{EndRequest, Run};
use crate::step_limits::Counters;

/// Below this share of the exchanged energy a defect is called small, above the second one large. A rule of
/// thumb, printed with the verdict so that nobody has to guess it.
const SMALL: f64 = 1e-3;
const LARGE: f64 = 1e-2;

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Summary {
    /// Some input is driven by a simulator.
    pub coupled: bool,
    pub time: f64,
    pub finished: bool,
    /// Who ended the run before its stop time, if a component did.
    pub ended: Option<EndRequest>,
    pub counters: Counters,
    pub mean_step: f64,
    pub worst_indicator: f64,
    pub bonds: Vec<BondSummary>,
    pub verdict: Verdict,
    /// Components with steps of their own.
    pub own_steps: Vec<OwnSteps>,
    /// Islands and lines, where there are lines.
    pub net: Option<LineNetworkTotals>,
    /// Corrections that find out how simulators answer, by name, and what they have found out.
    pub learned: Vec<(&'static str, IdentificationStatus)>,
    /// What a scenario did, with the time in seconds; of endless ones the first.
    pub events: Vec<(f64, String)>,
    /// How many more there were.
    pub more_events: u64,
    /// Bonds whose signals the scenario changed.
    pub tampered: Vec<String>,
}

/// How many steps of its own a component made.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct OwnSteps {
    #[serde(rename = "component")]
    pub name: String,
    /// The size that was asked for, in seconds.
    pub size: f64,
    pub steps: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct BondSummary {
    pub name: String,
    #[serde(flatten)]
    pub totals: BondTotals,
    /// The energy defect as a share of the exchanged energy.
    #[serde(rename = "defect_share")]
    pub share: f64,
    /// ECCO Eq. (13a) over the run: half the mean absolute residual power, in watts. The mean local error of
    /// the transmitted power, not of any state.
    #[serde(rename = "mean_power_error")]
    pub power_error: f64,
}

/// The better before the worse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Verdict {
    /// No bond, or none that transmitted anything: nothing was measured.
    #[default]
    Unmeasured,
    Small,
    Noticeable,
    Large,
}

impl Verdict {
    /// By the energy defect as a share of the exchanged energy. One that is no number has grown beyond all.
    pub fn of(share: f64) -> Verdict {
        if share <= SMALL {
            Verdict::Small
        } else if share <= LARGE {
            Verdict::Noticeable
        } else {
            Verdict::Large
        }
    }

    /// Stable, for scripts.
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Unmeasured => "unmeasured",
            Verdict::Small => "small",
            Verdict::Noticeable => "noticeable",
            Verdict::Large => "large",
        }
    }
}

impl BondSummary {
    /// What it came to in so many seconds.
    pub fn of(name: &str, totals: &BondTotals, elapsed: f64) -> BondSummary {
        BondSummary {
            name: name.into(),
            totals: *totals,
            share: share(totals),
            power_error: if elapsed > 0.0 { 0.5 * totals.residual_absolute / elapsed } else { 0.0 },
        }
    }

    /// Of all bonds of an island, so far.
    pub(crate) fn all(island: &Island) -> Vec<BondSummary> {
        let elapsed = island.clock.now().seconds() - island.layout.limits.start.seconds();
        let bonds = island.layout.topology.bonds.iter().zip(&island.board.ledger.totals);
        bonds.map(|(bond, totals)| BondSummary::of(&bond.name, totals, elapsed)).collect()
    }

    /// A line keeps its energy while its delay stays; what it made or lost is its defect.
    fn of_line(line: &LineTotals, elapsed: f64) -> BondSummary {
        let [a, b] = &line.ends;
        let totals = BondTotals {
            transmitted: 0.5 * (a.stats.energy - b.stats.energy),
            exchanged: line.exchanged(),
            residual: line.defect(),
            residual_absolute: line.defect().abs(),
        };
        BondSummary::of(&line.name, &totals, elapsed)
    }

    /// Where nothing was transmitted nothing could be lost: that is no praise.
    pub fn verdict(&self) -> Verdict {
        if self.totals.exchanged == 0.0 && self.totals.residual_absolute == 0.0 {
            Verdict::Unmeasured
        } else {
            Verdict::of(self.share)
        }
    }

    /// The verdict for a person.
    pub fn words(&self) -> String {
        match self.verdict() {
            Verdict::Unmeasured => "nothing is transmitted, the energy defect says nothing".into(),
            verdict => format!("{}: {} {}", self.defect(), verdict.word(), limits()),
        }
    }

    fn defect(&self) -> String {
        format!(
            "energy defect of bond `{}`: {:.3e} J created or destroyed, {} of the energy exchanged",
            self.name,
            self.totals.residual_absolute,
            percent(self.share)
        )
    }
}

fn limits() -> String {
    format!("(small up to {}, large above {})", percent(SMALL), percent(LARGE))
}

impl Summary {
    pub fn of(run: &Run) -> Summary {
        let mut counters = run.counters();
        let elapsed = run.time().seconds() - run.layout().limits.start.seconds();
        let mut bonds = run.bonds();
        let net = run.net();
        let mut clocks = 1.0;
        if let Some(net) = &net {
            // Steps are those of the islands; the run itself only looks on.
            counters.steps = net.islands.iter().map(|island| island.steps).sum();
            counters.rejected = net.islands.iter().map(|island| island.taken_back).sum();
            counters.evaluations = net.islands.iter().map(|island| island.evaluations).sum();
            clocks = net.islands.len() as f64;
            bonds.extend(net.islands.iter().flat_map(|island| island.bonds.iter().cloned()));
            bonds.extend(net.lines.iter().map(|line| BondSummary::of_line(line, elapsed)));
        }
        let verdict = bonds.iter().map(BondSummary::verdict).max().unwrap_or(Verdict::Unmeasured);
        let scenario = run.scenario();
        let (events, more_events) = scenario.map_or((Vec::new(), 0), |scenario| {
            let (events, more) = scenario.events();
            (events.map(|(time, name)| (time.seconds(), name.to_owned())).collect(), more)
        });
        let touched = |bond: &&Bond| scenario.is_some_and(|scenario| scenario.touched(bond));
        let tampered =
            run.layout().topology.bonds.iter().filter(touched).map(|bond| bond.name.clone()).collect();
        let own_steps =
            run.own_steps().map(|(name, size, steps)| OwnSteps { name: name.into(), size, steps });
        Summary {
            own_steps: own_steps.collect(),
            learned: run.learned().collect(),
            coupled: net.is_some() || run.layout().topology.connected.contains(&true),
            net,
            events,
            more_events,
            tampered,
            time: run.time().seconds(),
            finished: run.finished(),
            ended: run.ended().cloned(),
            counters,
            mean_step: if counters.steps == 0 { 0.0 } else { clocks * elapsed / counters.steps as f64 },
            worst_indicator: run.worst_indicator(),
            bonds,
            verdict,
        }
    }

    /// The verdict for a person.
    pub fn text(&self) -> String {
        let worst = self.bonds.iter().max_by(|a, b| a.share.total_cmp(&b.share));
        let defect = worst.map_or(String::new(), BondSummary::defect);
        let silent = self.bonds.iter().filter(|bond| bond.verdict() == Verdict::Unmeasured);
        let silent = quoted(silent.map(|bond| &bond.name));
        let silence = if silent.is_empty() || self.verdict == Verdict::Unmeasured {
            String::new()
        } else {
            format!(" Nothing is transmitted by {silent}, whose defect says nothing.")
        };
        let tampered = if self.tampered.is_empty() {
            String::new()
        } else {
            format!(
                " The scenario changed signals of {}: what that did to the energy is in the defect, too, which says \
                 nothing about the coupling as long as it lasts.",
                quoted(&self.tampered)
            )
        };
        let limits = limits();
        let words = match self.verdict {
            Verdict::Unmeasured if !self.coupled => {
                String::from(
                    "nothing is coupled, so there is nothing to measure: the result is as good as the simulator itself.",
                )
            }
            Verdict::Unmeasured if !silent.is_empty() => format!(
                "nothing is transmitted by {silent}, so that the energy defect says nothing: where no power flows, errors of \
                 the coupling do not show in it."
            ),
            Verdict::Unmeasured => {
                "nothing was measured: the system has no power bond. Declare a `[[bond]]` where an effort and a flow \
                 are exchanged to learn what the coupling does to the energy."
                    .into()
            }
            Verdict::Small => format!(
                "{defect}: small {limits}. The coupling conserved energy well. That is no bound on the error of any signal, \
                 which `cosimo verify` estimates."
            ),
            Verdict::Noticeable => format!(
                "{defect}: noticeable {limits}. How far signals are off is another question, which `cosimo verify` answers \
                 by smaller steps."
            ),
            Verdict::Large => format!(
                "{defect}: large {limits}. Do not rely on this result; take smaller steps, a correction, or another cut."
            ),
        };
        words + &silence + &tampered
    }
}

fn share(totals: &BondTotals) -> f64 {
    if totals.residual_absolute == 0.0 { 0.0 } else { totals.residual_absolute / totals.exchanged }
}

fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent == 0.0 || (0.01..1e4).contains(&percent) {
        format!("{percent:.3} %")
    } else {
        format!("{percent:.2e} %")
    }
}
