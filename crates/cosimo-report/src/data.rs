//! What the page's script reads: curves as little-endian doubles in base64, and what belongs to what.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::page::Report;

pub(crate) fn data(report: &Report<'_>) -> Value {
    let curves = report.curves;
    let names = &curves.columns.names;
    let columns: Vec<Value> = names
        .iter()
        .enumerate()
        .map(|(k, name)| {
            let (group, label) = place(report, name);
            json!({
                "name": name,
                "group": group,
                "label": label,
                "unit": curves.columns.units.get(k).map_or("", String::as_str),
                "points": curves.points.get(k).map_or(String::new(), |points| packed(points)),
            })
        })
        .collect();
    // The engine's own columns come last: a component may be called `step` or `bond`.
    let column = |wanted: &str| names.iter().rposition(|name| name == wanted);
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
    json!({
        "columns": columns,
        "bonds": bonds,
        "size": column("step.size"),
        "indicator": column("step.indicator"),
        "rejected": report.rejections.marks(),
    })
}

fn packed(points: &[f64]) -> String {
    let bytes: Vec<u8> = points.iter().flat_map(|value| value.to_le_bytes()).collect();
    STANDARD.encode(bytes)
}

/// The heading under which a column is offered, and its name there.
fn place<'a>(report: &Report<'_>, name: &'a str) -> (String, &'a str) {
    // `a` and `a.b` may both be components; the longer one is meant.
    let of_component = report
        .components
        .iter()
        .filter_map(|component| Some((component.name, inside(name, component.name)?)))
        .max_by_key(|(component, _)| component.len());
    if let Some((component, port)) = of_component {
        return (component.to_owned(), port);
    }
    let of_bond = report
        .summary
        .bonds
        .iter()
        .filter_map(|bond| Some((&bond.name, inside(inside(name, "bond")?, &bond.name)?)))
        .max_by_key(|(bond, _)| bond.len());
    match (of_bond, inside(name, "step")) {
        (Some((bond, quantity)), _) => (format!("bond {bond}"), quantity),
        (None, Some(quantity)) => ("step".into(), quantity),
        (None, None) => (String::new(), name),
    }
}

/// What follows the first name and its point.
fn inside<'a>(path: &'a str, first: &str) -> Option<&'a str> {
    path.strip_prefix(first)?.strip_prefix('.')
}
