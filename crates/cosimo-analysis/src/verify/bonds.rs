//! The energy defect of bonds beside the errors of the signals on both sides.

use cosimo_core::math;
use cosimo_engine::{BondSummary, BondTotals, Layout, Summary, Verdict};
use cosimo_system::System;
use schemars::JsonSchema;
use serde::Serialize;

use super::{Judgement, SignalError, percent};

/// Exchanged energy goes to zero with the step where its limit is no more than this part of the last.
const VANISHES: f64 = 0.1;
/// Differences that fall more slowly than this do not converge.
const LEAST_ORDER: f64 = 0.5;
/// Energy defect and error agree within this factor.
const APART: f64 = 10.0;

/// The energy defect of a bond beside the error; numbers that are not known are null.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct BondError {
    pub name: String,
    /// The energy defect as a share of the energy exchanged: of the run, with half and with a quarter of the step.
    #[schemars(with = "[Option<f64>; 3]")]
    pub energy_defects: [f64; 3],
    /// How it falls.
    pub order: Option<f64>,
    /// Joules, likewise.
    #[schemars(with = "[Option<f64>; 3]")]
    pub exchanged_energy: [f64; 3],
    /// Joules.
    pub transmitted_energy: f64,
    /// The worst relative error among the outputs of the components that it joins, as far as they are judged.
    #[schemars(with = "Option<f64>")]
    pub worst_error: f64,
    /// The signal with this error.
    pub worst_signal: Option<String>,
    pub agreement: Agreement,
    /// Summary as text.
    pub words: String,
}

/// Whether energy defect and error are consistent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub enum Agreement {
    /// No energy is transmitted, or it goes to zero with the step: the defect is not meaningful.
    #[serde(rename = "nothing-transmitted")]
    Nothing,
    #[serde(rename = "agree")]
    Agree,
    /// The defect does not show the error.
    #[serde(rename = "defect-small-error-large")]
    DefectSmall,
    /// Energy is not conserved, but signals are hardly affected.
    #[serde(rename = "defect-large-error-small")]
    DefectLarge,
}

/// All bonds of a run, also those inside islands, and the lines between them.
pub(super) fn all(
    summary: &Summary,
    judged: &Judgement,
    system: &System,
    layout: &Layout,
    (signals, chosen): (&[SignalError], &[bool]),
    wanted: f64,
) -> Vec<BondError> {
    let bond = |(place, bond): (usize, &BondSummary)| {
        let joined = joined(&bond.name, system, layout);
        let judged_here = signals.iter().enumerate().filter(|(index, signal)| {
            chosen[*index]
                && joined.contains(&judged.owners[*index])
                && signal.estimated.switching.is_none()
                && signal.estimated.relative.is_finite()
        });
        let errors = judged_here.map(|(_, signal)| (signal.relative_error(), &signal.estimated.name));
        let worst = errors.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(error, name)| (error, name.clone()));
        let totals =
            |companion: &Option<Vec<BondTotals>>| companion.as_ref().and_then(|all| all.get(place)).copied();
        one(bond, [Some(bond.totals), totals(&judged.totals[0]), totals(&judged.totals[1])], worst, wanted)
    };
    summary.bonds.iter().enumerate().map(bond).collect()
}

fn one(
    bond: &BondSummary,
    totals: [Option<BondTotals>; 3],
    worst: Option<(f64, String)>,
    wanted: f64,
) -> BondError {
    let summaries = totals.map(|totals| totals.map(|totals| BondSummary::of(&bond.name, &totals, 0.0)));
    let energy_defects = summaries.map(|summary| summary.map_or(f64::NAN, |summary| summary.share));
    let exchanged_energy = totals.map(|totals| totals.map_or(f64::NAN, |totals| totals.exchanged));
    let (worst_error, worst_signal) = worst.map_or((0.0, None), |(error, name)| (error, Some(name)));
    let verdict = bond.verdict();
    let agreement = if vanishes(exchanged_energy) || verdict == Verdict::Unmeasured {
        Agreement::Nothing
    } else if worst_signal.is_none() {
        Agreement::Agree
    } else if worst_error > wanted && worst_error > APART * energy_defects[0] {
        Agreement::DefectSmall
    } else if verdict == Verdict::Large && energy_defects[0] > APART * worst_error {
        Agreement::DefectLarge
    } else {
        Agreement::Agree
    };
    let order = math::log2(energy_defects[0] / energy_defects[2]) / 2.0;
    let mut found = BondError {
        name: bond.name.clone(),
        energy_defects,
        order: order.is_finite().then_some(order),
        exchanged_energy,
        transmitted_energy: bond.totals.transmitted,
        worst_error,
        worst_signal,
        agreement,
        words: String::new(),
    };
    found.words = words(&found);
    found
}

/// The components that a bond joins. Those of islands and lines are not in the layout, only in the system.
fn joined(name: &str, system: &System, layout: &Layout) -> Vec<usize> {
    let (ports, topology) = (layout.ports(), &layout.topology);
    if let Some(bond) = topology.bonds.iter().find(|bond| bond.name == name) {
        return bond.sides.iter().map(|side| ports.place(side.effort).0).collect();
    }
    let owner = |path: &String| {
        let inside =
            |name: &String| path.strip_prefix(name.as_str()).is_some_and(|rest| rest.starts_with('.'));
        let owners = (0..topology.names.len()).filter(|&member| inside(&topology.names[member]));
        owners.max_by_key(|&member| topology.names[member].len())
    };
    let bonds = system.bonds.iter().filter(|bond| bond.name == name);
    let junctions = system.junctions.iter().filter(|junction| junction.name == name);
    let sides = bonds.flat_map(|bond| [&bond.a, &bond.b]);
    let sides = sides.chain(junctions.flat_map(|junction| junction.sides.iter().map(|side| &side.port)));
    sides.filter_map(|side| owner(&side.effort.0)).collect()
}

/// The energy defect beside the error.
fn words(bond: &BondError) -> String {
    let name = &bond.name;
    let falls = bond.order.map_or(String::new(), |order| format!(" (falls with order {order:.2})"));
    let error = bond.worst_signal.as_ref().map_or("no error known".to_owned(), |signal| {
        format!("worst error {} (`{signal}`)", percent(bond.worst_error))
    });
    let both = format!(
        "bond `{name}`: energy defect {} of the energy exchanged{falls}; {error}",
        percent(bond.energy_defects[0])
    );
    match (bond.agreement, bond.exchanged_energy) {
        (Agreement::Nothing, [0.0, ..]) => {
            format!(
                "bond `{name}`: no energy is transmitted, so the energy defect is not meaningful; {error}"
            )
        }
        (Agreement::Nothing, [one, half, quarter]) => format!(
            "bond `{name}`: no energy is transmitted, so the energy defect is not meaningful: the exchanged energy goes to \
             zero with the step ({one:.3e}, {half:.3e}, {quarter:.3e} J); {error}"
        ),
        (Agreement::Agree, _) => format!("{both}: consistent"),
        (Agreement::DefectSmall, _) => {
            format!(
                "{both}: NOT consistent, the energy defect does not show this error; rely on the error bars"
            )
        }
        (Agreement::DefectLarge, _) => format!(
            "{both}: NOT consistent, the coupling creates or destroys energy, but the signals are hardly affected"
        ),
    }
}

/// Whether three numbers, each with half the step of the one before, go to zero with it. An unstable run exchanges far too
/// much with the first, but has a limit.
fn vanishes([one, half, quarter]: [f64; 3]) -> bool {
    let (first, second) = (one - half, half - quarter);
    let order = math::log2(first / second);
    let limit = quarter - second / (math::exp2(order) - 1.0);
    first > 0.0 && second > 0.0 && order >= LEAST_ORDER && limit <= VANISHES * quarter
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_to_zero_with_the_step_is_told_from_what_blows_up_without_it() {
        assert!(
            vanishes([4.0, 2.0, 1.0]) && vanishes([16.0, 4.0, 1.0]) && vanishes([0.3594, 0.1801, 0.09016])
        );
        // To 1, from above and from below, and from an explosion.
        assert!(!vanishes([1.4, 1.2, 1.1]) && !vanishes([0.6, 0.8, 0.9]) && !vanishes([1e10, 1e3, 1.0]));
        assert!(!vanishes([0.0; 3]) && !vanishes([1.0; 3]) && !vanishes([1.0, 2.0, 4.0]));
    }
}
