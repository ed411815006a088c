//! The summary of a run: numbers and a verdict.
//!
//! The verdict is about the energy defect. It never claims a bound on the state error: residual energy does not bound it.

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

/// Up to `SMALL` of the exchanged energy a defect is called small, above `LARGE` large. A rule of thumb, printed with the
/// verdict.
const SMALL: f64 = 1e-3;
const LARGE: f64 = 1e-2;
/// A bond that exchanges less than this part of what another bond of its components exchanges is held against that part:
/// a bond that should carry nothing exchanges only its own errors.
const NEIGHBOURS: f64 = 0.1;
/// Above this part of its energy scale, what a bond exchanges may be mostly error.
const MOSTLY_ERROR: f64 = 0.2;

/// The totals of a run and its verdict.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Summary {
    /// Some input is driven by a simulator.
    pub coupled: bool,
    /// The time reached, in seconds.
    pub time: f64,
    /// Whether the run is complete.
    pub finished: bool,
    /// The component that ended the run before its stop time, if one did.
    pub ended: Option<EndRequest>,
    /// Steps, rejections and evaluations; with lines, summed over islands.
    pub counters: Counters,
    /// The mean size of steps in seconds.
    pub mean_step: f64,
    /// The largest error indicator.
    pub worst_indicator: f64,
    /// Energy totals of bonds and lines.
    pub bonds: Vec<BondSummary>,
    /// The worst verdict of all bonds.
    pub verdict: Verdict,
    /// Multi-rate components.
    pub own_steps: Vec<OwnSteps>,
    /// Islands and lines, for systems with lines.
    pub net: Option<LineNetworkTotals>,
    /// Corrections that identify simulator responses, by name, and their status.
    pub learned: Vec<(&'static str, IdentificationStatus)>,
    /// Actions of the scenario with their times in seconds; the first ones, if there are very many.
    pub events: Vec<(f64, String)>,
    /// How many more actions there were.
    pub more_events: u64,
    /// Bonds whose signals the scenario changed.
    pub tampered: Vec<String>,
}

/// The steps of a multi-rate component.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct OwnSteps {
    /// The name of the component.
    #[serde(rename = "component")]
    pub name: String,
    /// The requested size, in seconds.
    pub size: f64,
    /// How many steps it made.
    pub steps: u64,
}

/// The energy balance of a bond over a run.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct BondSummary {
    /// The name of the bond.
    pub name: String,
    /// Energies in joules.
    #[serde(flatten)]
    pub totals: BondTotals,
    /// The energy defect as a share of the exchanged energy; infinite after an overflow.
    #[serde(rename = "defect_share")]
    pub share: f64,
    /// Joules that the defect is held against by the verdict: the exchanged energy, or if that is smaller the `energy_scale`
    /// of the bond or, without one, a tenth of what another bond of its components exchanged.
    #[serde(rename = "energy_scale")]
    pub scale: f64,
    /// ECCO Eq. (13a) over the run: half the mean absolute residual power, in watts. The mean local error of
    /// the transmitted power, not of any state.
    #[serde(rename = "mean_power_error")]
    pub power_error: f64,
}

/// How large the energy defect is; better verdicts order before worse ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Verdict {
    /// No bond, or none that transmitted anything: nothing was measured.
    #[default]
    Unmeasured,
    /// Up to 0.1 % of the exchanged energy.
    Small,
    /// Between the two limits.
    Noticeable,
    /// Above 1 % of the exchanged energy.
    Large,
}

impl Verdict {
    /// By the energy defect as a share of the exchanged energy; NaN is `Large`.
    pub fn of(share: f64) -> Verdict {
        if share <= SMALL {
            Verdict::Small
        } else if share <= LARGE {
            Verdict::Noticeable
        } else {
            Verdict::Large
        }
    }

    /// The stable name, for scripts.
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
    /// From the totals over `elapsed` seconds.
    pub fn of(name: &str, totals: &BondTotals, elapsed: f64) -> BondSummary {
        BondSummary {
            name: name.into(),
            totals: *totals,
            share: share(totals, totals.exchanged),
            scale: totals.exchanged,
            power_error: if elapsed > 0.0 { 0.5 * totals.residual_absolute / elapsed } else { 0.0 },
        }
    }

    /// Summaries of all bonds of an island, so far.
    pub(crate) fn all(island: &Island) -> Vec<BondSummary> {
        let elapsed = island.clock.now().seconds() - island.layout.limits.start.seconds();
        let (topology, totals) = (&island.layout.topology, &island.board.ledger.totals);
        let components: Vec<Vec<usize>> =
            topology.bonds.iter().map(|bond| topology.components_of(bond)).collect();
        let exchanged_beside = |k: usize| {
            let beside =
                |other: &usize| *other != k && components[*other].iter().any(|c| components[k].contains(c));
            (0..totals.len()).filter(beside).map(|other| totals[other].exchanged).fold(0.0, f64::max)
        };
        let bonds = topology.bonds.iter().zip(totals).enumerate();
        bonds
            .map(|(k, (bond, totals))| {
                let scale = bond.energy_scale.unwrap_or_else(|| NEIGHBOURS * exchanged_beside(k));
                BondSummary::of(&bond.name, totals, elapsed).held_against(scale)
            })
            .collect()
    }

    /// Where less was exchanged, the verdict holds the defect against this energy.
    #[must_use]
    pub fn held_against(mut self, scale: f64) -> BondSummary {
        self.scale = self.scale.max(scale);
        self
    }

    /// The energy defect as a share of the energy that it is held against.
    pub fn scaled_share(&self) -> f64 {
        if self.share.is_nan() { f64::NAN } else { share(&self.totals, self.scale) }
    }

    /// Sums of energies are no numbers any more: outputs diverged.
    pub fn overflowed(&self) -> bool {
        let BondTotals { exchanged, residual_absolute, .. } = self.totals;
        self.share.is_infinite() && !(exchanged.is_finite() && residual_absolute.is_finite())
    }

    /// The share of the exchanged energy in percent, for tables; a dash where it is not known.
    pub fn percent_text(&self) -> String {
        match self.share {
            share if share.is_nan() => "–".into(),
            _ if self.overflowed() => "overflow".into(),
            share => format!("{:.4}", share * 100.0),
        }
    }

    /// A line conserves energy while its delay stays; what it creates or loses is its defect.
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

    /// Without transmitted energy there is no defect either, which proves nothing.
    pub fn verdict(&self) -> Verdict {
        if self.totals.exchanged == 0.0 && self.totals.residual_absolute == 0.0 {
            Verdict::Unmeasured
        } else {
            Verdict::of(self.scaled_share())
        }
    }

    /// The verdict as a sentence.
    pub fn words(&self) -> String {
        match self.verdict() {
            Verdict::Unmeasured => "no power is transmitted; the energy defect shows nothing".into(),
            verdict => format!("{}: {} {}", self.defect(), verdict.word(), limits()),
        }
    }

    fn defect(&self) -> String {
        if self.overflowed() {
            return format!(
                "energy defect of bond `{}`: the energies overflowed, since outputs diverged",
                self.name
            );
        }
        let mut text = format!(
            "energy defect of bond `{}`: {:.3e} J created or destroyed, {} of the energy exchanged",
            self.name,
            self.totals.residual_absolute,
            percent(self.share)
        );
        if self.scale > self.totals.exchanged {
            text +=
                &format!(" and {} of its energy scale of {:.3e} J", percent(self.scaled_share()), self.scale);
        }
        text
    }
}

fn limits() -> String {
    format!("(small up to {}, large above {})", percent(SMALL), percent(LARGE))
}

impl Summary {
    /// The summary of a run so far.
    pub fn of(run: &Run) -> Summary {
        let mut counters = run.counters();
        let elapsed = run.time().seconds() - run.layout().limits.start.seconds();
        let mut bonds = run.bonds();
        let net = run.net();
        let mut clocks = 1.0;
        if let Some(net) = &net {
            // Steps are those of the islands; the run itself takes none.
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

    /// The energy balance as a text; empty where nothing is coupled.
    pub fn text(&self) -> String {
        let worst = self.bonds.iter().max_by(|a, b| a.scaled_share().total_cmp(&b.scaled_share()));
        let mostly_error =
            worst.is_some_and(|worst| worst.scaled_share() > MOSTLY_ERROR && !worst.overflowed());
        let advice = if mostly_error {
            " If the bond should carry next to nothing, give the energy to compare with as its `energy_scale`."
        } else {
            ""
        };
        let silent = self.bonds.iter().filter(|bond| bond.verdict() == Verdict::Unmeasured);
        let silent = quoted(silent.map(|bond| &bond.name));
        let words = match (self.verdict, worst) {
            (Verdict::Unmeasured, _) if !self.coupled => String::new(),
            (Verdict::Unmeasured, None) => {
                "not measured: the system has no power bond. Declare a `[[bond]]` where an \
                                            effort and a flow are exchanged."
                    .into()
            }
            (Verdict::Unmeasured, Some(_)) => {
                format!("no power is transmitted by {silent}; the energy defect shows nothing there.")
            }
            (verdict, Some(worst)) => format!("{}: {} {}.{advice}", worst.defect(), verdict.word(), limits()),
            (verdict, None) => verdict.word().into(),
        };
        let silence = if silent.is_empty() || self.verdict == Verdict::Unmeasured {
            String::new()
        } else {
            format!(" No power is transmitted by {silent}; the energy defect shows nothing there.")
        };
        let tampered = if self.tampered.is_empty() {
            String::new()
        } else {
            format!(
                " The scenario changed signals of {}: the energy defect includes that change and does not measure the \
                 coupling while it lasts.",
                quoted(&self.tampered)
            )
        };
        words + &silence + &tampered
    }
}

/// Infinite after an overflow, where the quotient would be no number.
fn share(totals: &BondTotals, scale: f64) -> f64 {
    let BondTotals { exchanged, residual_absolute, .. } = *totals;
    if residual_absolute == 0.0 {
        0.0
    } else if exchanged.is_finite() && residual_absolute.is_finite() {
        residual_absolute / scale
    } else {
        f64::INFINITY
    }
}

fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent == 0.0 || (0.01..1e4).contains(&percent) {
        format!("{percent:.3} %")
    } else {
        format!("{percent:.2e} %")
    }
}
