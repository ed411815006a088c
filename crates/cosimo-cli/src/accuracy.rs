//! Error bars of signals and coupling defects as tables.

use cosimo::Outcome;
use cosimo::analysis::error_bars::{
    Accuracy, AccuracyVerdict, CompanionSet, CouplingDefect, SignalAccuracy, percent,
};
use cosimo::analysis::forecast::three_digits;

/// The worst signals and the connections with the largest defects, so many of each.
pub(crate) fn print(accuracy: &Accuracy, most: usize) {
    signals(accuracy.signals.iter(), most);
    connections(&accuracy.connections, most);
}

pub(crate) fn signals<'a>(all: impl ExactSizeIterator<Item = &'a SignalAccuracy>, most: usize) {
    let count = all.len();
    let shown: Vec<&SignalAccuracy> = all.take(most).collect();
    if shown.is_empty() {
        return;
    }
    let names: Vec<String> = shown.iter().map(|signal| named(&signal.name, &signal.unit)).collect();
    let width = width(&names, "signal");
    println!(
        "\n{:<width$}  {:>10}  {:>10}  {:>10}  {:>10}  {:>10}  {:>10}",
        "signal", "peak", "error bar", "of peak", "RMS", "start", "at t"
    );
    for (name, signal) in names.iter().zip(&shown) {
        match (&signal.switching, &signal.reason) {
            (_, Some(reason)) if signal.verdict == AccuracyVerdict::Unknown => {
                println!("{name:<width$}  unknown: {reason}");
            }
            (Some(_), _) => println!("{name:<width$}  {}", switching(signal)),
            _ => println!(
                "{name:<width$}  {:>10.3e}  {:>10.3e}  {:>10}  {:>10.3e}  {:>10.3e}  {:>10}",
                signal.scale,
                signal.error_bar,
                percent(signal.relative),
                signal.mean_error_bar,
                signal.start_error,
                if signal.at.is_finite() { format!("{} s", three_digits(signal.at)) } else { "-".into() }
            ),
        }
    }
    if shown.len() < count {
        println!("and {} more signals, none of them worse", count - shown.len());
    }
}

fn switching(signal: &SignalAccuracy) -> String {
    match signal.switching {
        Some(instants) if instants.error_bar.is_finite() => {
            format!("switches {} times, each within {} s", instants.count, three_digits(instants.error_bar))
        }
        _ => "switches otherwise with other steps".into(),
    }
}

pub(crate) fn connections(all: &[CouplingDefect], most: usize) {
    let some = all.iter().filter(|connection| connection.largest > 0.0);
    let shown: Vec<&CouplingDefect> = some.take(most).collect();
    if shown.is_empty() {
        return;
    }
    let names: Vec<String> = shown.iter().map(|it| named(&it.connection, &it.unit)).collect();
    let width = width(&names, "coupling defect: assumed against known");
    println!(
        "\n{:<width$}  {:>10}  {:>10}  {:>10}",
        "coupling defect: assumed against known", "mean", "largest", "at t"
    );
    for (name, connection) in names.iter().zip(&shown) {
        println!(
            "{name:<width$}  {:>10}  {:>10}  {:>10}",
            percent(connection.mean),
            percent(connection.relative),
            format!("{} s", three_digits(connection.at))
        );
    }
}

/// Which companions there were, and how long they took after the run.
pub(crate) fn effort(outcome: &Outcome) -> String {
    let seconds = outcome.wall_time_of_error_bars.as_secs_f64();
    format!("{}; {seconds:.3} s after the run", basis(outcome.accuracy.companions))
}

/// What error bars rest on.
pub(crate) fn basis(companions: CompanionSet) -> &'static str {
    match companions {
        CompanionSet::None => "none",
        CompanionSet::Coarse => "from steps merged by two and by four",
        CompanionSet::Fine => "from merged steps, and from half and a quarter of the steps",
    }
}

fn named(name: &str, unit: &str) -> String {
    match unit {
        "" | "1" => name.to_owned(),
        unit => format!("{name} [{unit}]"),
    }
}

fn width(names: &[String], head: &str) -> usize {
    names.iter().map(|name| name.chars().count()).max().unwrap_or(0).max(head.len())
}
