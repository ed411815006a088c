//! Error estimates from three step sizes.

use cosimo_engine::{BondSummary, Verdict};

use super::rerun::{Base, BondEnds, RerunValues, SignalSource, larger};
use super::{Agreement, Basis, BondError, SignalError, VerifyOptions, percent};

/// Below this part of a signal's size, differences are rounding.
const ROUNDING: f64 = 1e-13;
/// Differences that fall more slowly than this do not converge.
const LEAST_ORDER: f64 = 0.5;
/// Where no order is seen, the largest difference is multiplied by Roache's factor for two grids.
const DOUBT: f64 = 3.0;
/// Exchanged energy goes to zero with the step where its limit is no more than this part of the last.
const VANISHES: f64 = 0.1;
/// Energy defect and error agree within this factor.
const APART: f64 = 10.0;

/// The run with three steps.
pub(super) struct Three<'a> {
    pub(super) base: &'a Base,
    pub(super) half: &'a RerunValues,
    pub(super) quarter: &'a RerunValues,
}

impl Three<'_> {
    /// Rows that all three have.
    pub(super) fn common(&self) -> impl Iterator<Item = usize> {
        let there =
            |values: &[f64], row: usize| self.base.row(values, row).first().is_none_or(|v| !v.is_nan());
        (0..self.base.kept.len())
            .filter(move |row| there(&self.half.values, *row) && there(&self.quarter.values, *row))
    }

    pub(super) fn span(&self) -> (f64, f64) {
        let at = |row: Option<usize>| row.map_or(f64::NAN, |row| self.base.instant(row));
        (at(self.common().next()), at(self.common().last()))
    }

    fn values(&self, row: usize, column: usize) -> [f64; 3] {
        [&self.base.values, &self.half.values, &self.quarter.values]
            .map(|values| self.base.row(values, row)[column])
    }

    /// How large the error of a signal is, with what is known of it beside smaller steps.
    pub(super) fn signal(
        &self,
        column: usize,
        monolithic: Option<&[f64]>,
        sequence: Option<&[f64]>,
        wish: &VerifyOptions<'_>,
    ) -> SignalError {
        let (mut largest, mut differences) = (0.0f64, [0.0f64; 2]);
        let mut apart = (0.0, f64::NAN);
        for row in self.common() {
            let [one, half, quarter] = self.values(row, column);
            largest = largest.max(one.abs()).max(quarter.abs());
            differences[0] = differences[0].max((one - half).abs());
            differences[1] = differences[1].max((half - quarter).abs());
            apart = larger(apart, ((one - half).abs().max((half - quarter).abs()), self.base.instant(row)));
        }
        let (basis, order, error_bar, at) = self.error_bar(column, largest, differences, apart.1);
        let distance = |from: Option<&[f64]>| from.and_then(|from| self.base.distance(column, from));
        let known = distance(monolithic);
        let mut judged = SignalError {
            name: self.base.signals[column].0.clone(),
            unit: self.base.units[column].clone(),
            at: known.filter(|(known, _)| *known > error_bar).map_or(at, |(_, at)| at),
            believed: false,
            largest,
            differences,
            order,
            error_bar,
            basis,
            from_monolithic: known.map(|(distance, _)| distance),
            from_other_sequence: distance(sequence).map(|(distance, _)| distance),
            allowed: wish.absolute + wish.tolerance * largest,
        };
        judged.believed = judged.error() <= judged.allowed;
        judged
    }

    /// With y(h) = y + C h^p the differences of y(h), y(h/2) and y(h/4) have the ratio 2^p, and what is left of the last
    /// is (y(h/2) - y(h/4)) / (2^p - 1). The order is that of the largest differences, the error that at each instant.
    fn error_bar(
        &self,
        column: usize,
        largest: f64,
        [first, second]: [f64; 2],
        at: f64,
    ) -> (Basis, Option<f64>, f64, f64) {
        if first <= ROUNDING * largest && second <= ROUNDING * largest {
            return (Basis::Exact, None, first, at);
        }
        let order = (first / second).log2();
        if order.is_nan() || order < LEAST_ORDER {
            return (Basis::NoOrder, Some(order), DOUBT * first.max(second), at);
        }
        let rest = 1.0 / (order.exp2() - 1.0);
        let left = |row: usize| {
            let [one, half, quarter] = self.values(row, column);
            ((one - quarter + rest * (half - quarter)).abs(), self.base.instant(row))
        };
        let (bar, at) = self.common().map(left).fold((0.0, at), larger);
        // Nothing but rounding is left with half the step: the order is beyond measure.
        (Basis::Richardson, order.is_finite().then_some(order), bar, at)
    }

    pub(super) fn bond(
        &self,
        k: usize,
        bond: &BondEnds,
        judged: &[SignalError],
        chosen: &[bool],
        wish: &VerifyOptions<'_>,
    ) -> BondError {
        let totals = [&self.base.totals, &self.half.totals, &self.quarter.totals].map(|totals| totals[k]);
        let summaries = totals.map(|totals| BondSummary::of(&bond.name, &totals, 0.0));
        let energy_defects = [0, 1, 2].map(|run| summaries[run].share);
        let exchanged_energy = totals.map(|totals| totals.exchanged);
        let relative = |column: &usize| (judged[*column].relative(wish.absolute), *column);
        let columns = bond.columns.iter().filter(|column| chosen[**column]);
        let worst = columns.map(relative).max_by(|a, b| a.0.total_cmp(&b.0));
        let (worst_error, worst_signal) =
            worst.map_or((0.0, None), |(error, column)| (error, Some(judged[column].name.clone())));
        let agreement = if vanishes(exchanged_energy) || summaries[0].verdict() == Verdict::Unmeasured {
            Agreement::Nothing
        } else if worst_signal.is_none() {
            Agreement::Agree
        } else if worst_error > wish.tolerance && worst_error > APART * energy_defects[0] {
            Agreement::DefectSmall
        } else if summaries[0].verdict() == Verdict::Large && energy_defects[0] > APART * worst_error {
            Agreement::DefectLarge
        } else {
            Agreement::Agree
        };
        let order = (energy_defects[0] / energy_defects[2]).log2() / 2.0;
        let energy = self.base.signals.iter().position(|(_, signal)| *signal == SignalSource::Transmitted(k));
        let mut found = BondError {
            name: bond.name.clone(),
            energy_defects,
            order: order.is_finite().then_some(order),
            exchanged_energy,
            transmitted_energy: totals[0].transmitted,
            transmitted_energy_error_bar: energy.map_or(f64::NAN, |column| judged[column].error_bar),
            worst_error,
            worst_signal,
            agreement,
            words: String::new(),
        };
        found.words = words(&found);
        found
    }
}

/// The energy defect beside the error.
fn words(bond: &BondError) -> String {
    let name = &bond.name;
    let falls = bond.order.map_or(String::new(), |order| format!(" (falls with order {order:.2})"));
    let error = bond.worst_signal.as_ref().map_or("no error known".to_owned(), |signal| {
        format!("worst error {} of the largest value (`{signal}`)", percent(bond.worst_error))
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
                "{both}: NOT consistent, the energy defect does not show this error; rely on the error bar"
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
    let order = (first / second).log2();
    let limit = quarter - second / (order.exp2() - 1.0);
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
