//! What the page's script reads: curves as little-endian numbers in base64, and what belongs to what.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::accuracy;
use crate::curves::Curves;
use crate::page::Report;
use crate::reasons::StepGroup;

/// As many numbers as are written with all their digits; where there are more, half of them will do for a picture.
const EXACT: usize = 1 << 19;

pub(crate) fn data(report: &Report<'_>) -> Value {
    // Signals first, then the books; each with its own instants at its head.
    let (curves, books) = (report.curves, report.books);
    let signals = curves.columns.names.len();
    let mut columns: Vec<Value> = curves
        .columns
        .names
        .iter()
        .enumerate()
        .map(|(k, name)| {
            let (group, label) = place(report, name);
            let mut column = packed(curves, k, 0, false);
            column["group"] = group.into();
            column["label"] = label.into();
            column["bar"] = accuracy::bar(report.accuracy, name).into();
            column
        })
        .collect();
    let narrow = books.points.iter().map(Vec::len).sum::<usize>() > EXACT;
    columns.extend((0..books.columns.names.len()).map(|k| packed(books, k, signals, narrow && k > 0)));
    let column = |wanted: &str| {
        let at = books.columns.names.iter().position(|name| name == wanted);
        at.map(|at| signals + at)
    };
    let bonds: Vec<Value> = report
        .summary
        .bonds
        .iter()
        .map(|bond| {
            json!({
                "name": bond.name,
                "share": bond.share,
                "transmitted": column(&format!("bond.{}.transmitted_energy", bond.name)),
                "residual": column(&format!("bond.{}.residual_energy", bond.name)),
            })
        })
        .collect();
    let sides = report.summary.net.iter().flat_map(|net| &net.lines).flat_map(|line| {
        ["a", "b"].map(|side| {
            json!({
                "name": format!("{} {side}", line.name),
                "kappa": column(&format!("line.{}.kappa_{side}", line.name)),
                "still": column(&format!("line.{}.still_{side}", line.name)),
            })
        })
    });
    json!({
        "columns": columns,
        "signals": signals,
        "bonds": bonds,
        "sides": sides.collect::<Vec<_>>(),
        "size": column("step.size"),
        "indicator": column("step.indicator"),
        "rejected": report.rejections.marks(),
        "reasons": reasons(report),
    })
}

/// Those that there were, with the groups of steps in which they were.
fn reasons(report: &Report<'_>) -> Value {
    let all = report.summary.counters.reasons();
    let there: Vec<usize> =
        (0..all.len()).filter(|k| report.why.groups().iter().any(|group| group.counts[*k] > 0)).collect();
    let names: Vec<&str> = there.iter().map(|k| all[*k].0).collect();
    let group = |group: &StepGroup| {
        let counts: Vec<u64> = there.iter().map(|k| group.counts[*k]).collect();
        json!([group.from, group.to, group.steps, counts])
    };
    let groups: Vec<Value> =
        if names.is_empty() { Vec::new() } else { report.why.groups().iter().map(group).collect() };
    json!({ "names": names, "groups": groups })
}

/// A column of the page; `instants` is the place of the one that has its times.
fn packed(curves: &Curves, column: usize, instants: usize, narrow: bool) -> Value {
    let points = curves.points.get(column).map_or(&[][..], Vec::as_slice);
    // Only where nothing but digits is lost.
    let fits = |value: &f64| {
        !value.is_finite() || *value == 0.0 || (f64::from(f32::MIN_POSITIVE)..1e38).contains(&value.abs())
    };
    let narrow = narrow && points.iter().all(fits);
    let bytes: Vec<u8> = if narrow {
        points.iter().flat_map(|value| (*value as f32).to_le_bytes()).collect()
    } else {
        points.iter().flat_map(|value| value.to_le_bytes()).collect()
    };
    json!({
        "name": curves.columns.names[column],
        "unit": curves.columns.units.get(column).map_or("", String::as_str),
        "instants": instants,
        "bits": if narrow { 32 } else { 64 },
        "points": STANDARD.encode(bytes),
    })
}

/// The heading under which a column is offered, and its name there.
fn place<'a>(report: &Report<'_>, name: &'a str) -> (String, &'a str) {
    // `a` and `a.b` may both be components; the longer one is meant.
    fn longest<'a, 'n>(
        path: Option<&'a str>,
        names: impl Iterator<Item = &'n str>,
    ) -> Option<(&'n str, &'a str)> {
        let path = path?;
        names.filter_map(|name| Some((name, inside(path, name)?))).max_by_key(|(name, _)| name.len())
    }
    let summary = report.summary;
    let components = report.components.iter().map(|component| component.name);
    let lines = summary.net.iter().flat_map(|net| &net.lines).map(|line| line.name.as_str());
    let bonds = summary.bonds.iter().map(|bond| bond.name.as_str());
    if let Some((component, port)) = longest(Some(name), components) {
        (component.to_owned(), port)
    } else if let Some((line, quantity)) = longest(inside(name, "line"), lines) {
        (format!("line {line}"), quantity)
    } else if let Some((bond, quantity)) = longest(inside(name, "bond"), bonds) {
        (format!("bond {bond}"), quantity)
    } else {
        inside(name, "step").map_or((String::new(), name), |quantity| ("step".into(), quantity))
    }
}

/// What follows the first name and its point.
fn inside<'a>(path: &'a str, first: &str) -> Option<&'a str> {
    path.strip_prefix(first)?.strip_prefix('.')
}
