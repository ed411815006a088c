//! The report of a result file alone: its curves, and the ledger of bonds if it has rows of every step.

use cosimo_core::recorder::{Columns, Recorder, Table};
use cosimo_engine::{BondSummary, BondTotals, Summary, Verdict};

use crate::curves::{CurveBudget, Curves, Recording, in_memory};

/// Sums of rows that differ by more than this from the span, or from the energy that was recorded, are not those of all
/// steps.
const SAME: f64 = 1e-6;

#[derive(Debug)]
pub struct Results {
    pub summary: Summary,
    /// The energy balance as text.
    pub energy: String,
    pub start: f64,
    pub curves: Curves,
    pub books: Curves,
    /// Columns that are no numbers somewhere, and in how many rows.
    pub broken: Vec<(String, usize)>,
}

/// Why there is nothing to report.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum NoResults {
    #[error("it has no column `time`")]
    NoTime,
    #[error("it has no rows")]
    Empty,
    #[error("its times are not in order: {0} s comes after {1} s")]
    Unordered(f64, f64),
}

impl Results {
    pub fn of(table: &Table) -> Result<Results, NoResults> {
        let times = table.column("time").ok_or(NoResults::NoTime)?;
        let (Some(&start), Some(&end)) = (times.first(), times.last()) else { return Err(NoResults::Empty) };
        let wrong = |pair: &&[f64]| pair[0].is_nan() || pair[1].is_nan() || pair[1] < pair[0];
        if let Some(pair) = times.windows(2).find(wrong) {
            return Err(NoResults::Unordered(pair[1], pair[0]));
        }
        let (bonds, measured) = ledger(table, times);
        let worst = bonds.iter().map(|bond| bond.share).reduce(f64::max).filter(|_| measured);
        let sizes = table.column("step.size");
        let taken = sizes.map_or(&[][..], |sizes| &sizes[1..]).iter().filter(|size| **size > 0.0);
        let indicators = table.column("step.indicator").unwrap_or(&[]);
        let summary = Summary {
            coupled: true,
            time: end,
            finished: true,
            mean_step: taken.clone().sum::<f64>() / taken.count().max(1) as f64,
            worst_indicator: indicators.iter().copied().fold(0.0, f64::max),
            bonds,
            verdict: worst.map_or(Verdict::Unmeasured, Verdict::of),
            ..Summary::default()
        };
        let energy = if summary.bonds.is_empty() {
            "the file has no energies of bonds, so the coupling cannot be judged.".into()
        } else if measured {
            summary.text()
        } else {
            "the file does not have every step of all bonds, so the energy defect is not known. Record \
             `step.size` and all of `bond.*` at every communication point, or ask the run itself for a report."
                .into()
        };
        let ours = |name: &String| {
            let energy = name.ends_with(".transmitted_energy") || name.ends_with(".residual_energy");
            name.starts_with("step.") || (name.starts_with("bond.") && energy)
        };
        let broken = table.columns.names.iter().zip(&table.values).filter_map(|(name, values)| {
            let count = values.iter().filter(|value| !value.is_finite()).count();
            (count > 0).then(|| (name.clone(), count))
        });
        Ok(Results {
            summary,
            energy,
            start,
            curves: thinned(table, CurveBudget::SIGNALS, |_| true),
            books: thinned(table, CurveBudget::BOOKS, ours),
            broken: broken.collect(),
        })
    }
}

/// The time and all selected columns.
fn thinned(table: &Table, room: CurveBudget, selected: impl Fn(&String) -> bool) -> Curves {
    let time = table.columns.names.iter().position(|name| name == "time");
    let rest =
        (0..table.columns.names.len()).filter(|k| Some(*k) != time && selected(&table.columns.names[*k]));
    let chosen: Vec<usize> = time.into_iter().chain(rest).collect();
    let unit = |k: &usize| table.columns.units.get(*k).cloned().unwrap_or_default();
    let columns = Columns {
        names: chosen.iter().map(|k| table.columns.names[*k].clone()).collect(),
        units: chosen.iter().map(unit).collect(),
    };
    let recording = Recording::new(room);
    let mut recorder = recording.recorder();
    let mut row = vec![0.0; chosen.len()];
    in_memory(recorder.begin(&columns));
    for at in 0..table.rows() {
        row.iter_mut().zip(&chosen).for_each(|(value, k)| *value = table.values[*k][at]);
        in_memory(recorder.row(&row));
    }
    in_memory(recorder.finish());
    recording.curves()
}

/// Energies of bonds, and whether they are those of every step.
fn ledger(table: &Table, times: &[f64]) -> (Vec<BondSummary>, bool) {
    let names = table.columns.names.iter().filter_map(|name| {
        name.strip_prefix("bond.")?.strip_suffix(".transmitted_energy").map(str::to_owned)
    });
    let span = times[times.len() - 1] - times[0];
    // A second row of the same instant shows a jump, no other step.
    let stepped: Vec<usize> = (1..times.len()).filter(|&row| times[row] > times[row - 1]).collect();
    let sizes = table.column("step.size");
    let covered: f64 = sizes.map_or(0.0, |sizes| stepped.iter().map(|&row| sizes[row]).sum());
    let mut complete = span > 0.0 && (covered - span).abs() <= SAME * span;
    let mut bonds = Vec::new();
    for name in names {
        let column = |what: &str| table.column(&format!("bond.{name}.{what}"));
        let last = |what: &str| column(what).and_then(<[f64]>::last).copied().unwrap_or(f64::NAN);
        let mut totals = BondTotals {
            transmitted: last("transmitted_energy"),
            residual: last("residual_energy"),
            exchanged: f64::NAN,
            residual_absolute: f64::NAN,
        };
        let (mut share, mut power_error) = (f64::NAN, f64::NAN);
        let powers =
            (column("transmitted_power"), column("residual_power"), column("transmitted_energy"), sizes);
        if let (Some(transmitted), Some(residual), Some(energy), Some(sizes)) = powers {
            let sum = |of: &dyn Fn(usize) -> f64| stepped.iter().map(|&row| of(row)).sum::<f64>();
            let exchanged = sum(&|row| (transmitted[row] * sizes[row]).abs());
            let absolute = sum(&|row| (residual[row] * sizes[row]).abs());
            let went = sum(&|row| transmitted[row] * sizes[row]);
            complete &= (went - (totals.transmitted - energy[0])).abs() <= SAME * exchanged;
            (totals.exchanged, totals.residual_absolute) = (exchanged, absolute);
            share = if absolute == 0.0 { 0.0 } else { absolute / exchanged };
            power_error = 0.5 * absolute / span;
        } else {
            complete = false;
        }
        bonds.push(BondSummary { name, totals, share, scale: totals.exchanged, power_error });
    }
    complete &= !bonds.is_empty();
    if !complete {
        for bond in &mut bonds {
            (bond.totals.exchanged, bond.totals.residual_absolute) = (f64::NAN, f64::NAN);
            (bond.share, bond.power_error) = (f64::NAN, f64::NAN);
        }
    }
    (bonds, complete)
}
