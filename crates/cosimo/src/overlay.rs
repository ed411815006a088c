//! Result files as panels of a figure: signals of one file by their unit, those of several files upon each other, and
//! with two the difference below.

use cosimo_core::entry::suggest;
use cosimo_plot::{Axis, Panel, Series, Style};
use cosimo_record::Table;
use cosimo_record::compare::{Incomparable, apart};
use wildmatch::WildMatch;

/// Signals that are shown where nobody has chosen any.
const FIRST: usize = 8;

/// A table and what its file is called.
#[derive(Debug)]
pub struct Source {
    pub name: String,
    pub table: Table,
}

/// What is to be seen.
#[derive(Debug, Clone, Copy, Default)]
pub struct Wanted<'a> {
    /// As in `wheel.*`; none shows the first signals.
    pub patterns: &'a [String],
    /// In seconds.
    pub from: Option<f64>,
    pub to: Option<f64>,
    /// The second file minus the first, too.
    pub difference: bool,
}

#[derive(Debug, Default)]
pub struct Overlay {
    pub panels: Vec<Panel>,
    /// What a person should know about them.
    pub remarks: Vec<String>,
}

/// Why there is nothing to see.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum OverlayError {
    #[error("`{0}` has no column `time`")]
    NoTime(String),
    #[error("`{0}` has no rows")]
    Empty(String),
    #[error("`{0}` has no signals, only time")]
    Bare(String),
    #[error("no signal is called `{pattern}`")]
    Unknown { pattern: String, hint: String },
    #[error("nothing is left to draw: the files cover {first} to {last} s")]
    Outside { first: f64, last: f64 },
    #[error("a difference takes two files, found {0}")]
    NotTwo(usize),
    #[error("there is no difference of `{signal}`: {cause}")]
    Incomparable { signal: String, cause: Incomparable },
}

impl OverlayError {
    /// What to do about it.
    pub fn hint(&self) -> Option<&str> {
        match self {
            OverlayError::Unknown { hint, .. } => Some(hint),
            OverlayError::NoTime(_) => Some("the first column of a result file is the time in seconds"),
            _ => None,
        }
    }
}

pub fn overlay(sources: &[Source], wanted: &Wanted<'_>) -> Result<Overlay, OverlayError> {
    if wanted.difference && sources.len() != 2 {
        return Err(OverlayError::NotTwo(sources.len()));
    }
    let mut times = Vec::new();
    for Source { name, table } in sources {
        let time = table.column("time").ok_or_else(|| OverlayError::NoTime(name.clone()))?;
        if time.is_empty() {
            return Err(OverlayError::Empty(name.clone()));
        }
        times.push(time);
    }
    let ends = times.iter().flat_map(|time| time.iter()).filter(|time| time.is_finite());
    let (first, last) =
        ends.fold((f64::MAX, f64::MIN), |(low, high), time| (low.min(*time), high.max(*time)));
    let shown = (wanted.from.unwrap_or(first), wanted.to.unwrap_or(last));
    if shown.0 > last || shown.1 < first || shown.0 > shown.1 {
        return Err(OverlayError::Outside { first, last });
    }
    let mut axis = Axis::linear("time in s");
    if wanted.from.is_some() || wanted.to.is_some() {
        axis = axis.between(shown.0, shown.1);
    }
    let mut overlay = Overlay::default();
    let signals = chosen(sources, wanted.patterns, &mut overlay.remarks)?;
    let mut units: Vec<String> = Vec::new();
    for signal in &signals {
        let unit = unit(sources, signal);
        let label = if unit.is_empty() || unit == "1" { String::new() } else { format!("in {unit}") };
        if sources.len() == 1 {
            let at = units.iter().position(|known| *known == unit).unwrap_or_else(|| {
                units.push(unit);
                overlay.panels.push(Panel::new("", axis.clone(), Axis::linear(label)));
                units.len() - 1
            });
            let series = curve(&sources[0], times[0], signal, shown, &mut overlay.remarks);
            overlay.panels[at].series.extend(series.map(|points| Series::new(signal, points)));
            continue;
        }
        let mut panel = Panel::new(signal, axis.clone(), Axis::linear(label.clone()));
        for (place, (source, time)) in sources.iter().zip(&times).enumerate() {
            let Some(points) = curve(source, time, signal, shown, &mut overlay.remarks) else {
                overlay.remarks.push(format!("`{signal}` is not in `{}`", source.name));
                continue;
            };
            // Curves lie upon each other where runs agree: the one below must show through.
            let style = if place == 0 { Style::Line } else { Style::Dashed };
            panel = panel.with(Series::new(&source.name, points).styled(style));
        }
        let both = panel.series.len() == 2;
        overlay.panels.push(panel);
        if wanted.difference && both {
            let title = format!("{signal}: {} minus {}", sources[1].name, sources[0].name);
            let incomparable = |cause| OverlayError::Incomparable { signal: signal.clone(), cause };
            let points =
                apart(&sources[0].table, &sources[1].table, signal).map_err(incomparable)?.into_iter();
            let inside = points.filter(|(time, _)| *time >= shown.0 && *time <= shown.1).collect();
            let panel = Panel::new(title, axis.clone(), Axis::linear(label));
            overlay.panels.push(panel.with(Series::new("", inside)));
        }
    }
    Ok(overlay)
}

/// Names of signals, in the order of the files.
fn chosen(
    sources: &[Source],
    patterns: &[String],
    remarks: &mut Vec<String>,
) -> Result<Vec<String>, OverlayError> {
    let mut known: Vec<&String> = Vec::new();
    for source in sources {
        let names = source.table.columns.names.iter().filter(|name| *name != "time");
        let new: Vec<&String> = names.filter(|name| !known.contains(name)).collect();
        known.extend(new);
    }
    if known.is_empty() {
        return Err(OverlayError::Bare(sources[0].name.clone()));
    }
    for pattern in patterns {
        let wild = WildMatch::new(pattern);
        if !known.iter().any(|name| wild.matches(name)) {
            let hint = suggest(pattern, known.iter().map(|name| name.as_str()));
            return Err(OverlayError::Unknown { pattern: pattern.clone(), hint });
        }
    }
    if !patterns.is_empty() {
        let wild: Vec<WildMatch> = patterns.iter().map(|pattern| WildMatch::new(pattern)).collect();
        let fits = |name: &&&String| wild.iter().any(|pattern| pattern.matches(name));
        return Ok(known.iter().filter(fits).map(|name| (*name).clone()).collect());
    }
    // The books of the engine come after the signals of the system.
    let own = |name: &&&String| !["step.", "bond.", "scenario."].iter().any(|own| name.starts_with(own));
    let mut first: Vec<String> = known.iter().filter(own).map(|name| (*name).clone()).collect();
    if first.is_empty() {
        first = known.iter().map(|name| (*name).clone()).collect();
    }
    first.truncate(FIRST);
    if first.len() < known.len() {
        let count = known.len();
        remarks
            .push(format!("the first {} of {count} signals are shown; `--vars` chooses others", first.len()));
    }
    Ok(first)
}

fn unit(sources: &[Source], signal: &str) -> String {
    let of = |source: &Source| {
        let columns = &source.table.columns;
        let at = columns.names.iter().position(|name| name == signal)?;
        columns.units.get(at).filter(|unit| !unit.is_empty()).cloned()
    };
    sources.iter().find_map(of).unwrap_or_default()
}

/// The shown part of a signal, with a row before it and one after, so that lines reach the edge. Gaps are remarked on.
fn curve(
    source: &Source,
    time: &[f64],
    signal: &str,
    (from, to): (f64, f64),
    remarks: &mut Vec<String>,
) -> Option<Vec<(f64, f64)>> {
    let values = source.table.column(signal)?;
    let inside = |t: &f64| *t >= from && *t <= to;
    let begin = time.iter().position(inside).unwrap_or(0);
    let end = time.iter().rposition(inside).map_or(0, |last| last + 1);
    let rows = begin.saturating_sub(1)..(end + 1).min(time.len());
    let broken = values[rows.clone()].iter().filter(|value| !value.is_finite()).count();
    if broken > 0 {
        let all = if broken == rows.len() { "so there is no curve" } else { "the curve has gaps there" };
        let count = rows.len();
        remarks
            .push(format!("`{signal}` of `{}` is no number in {broken} of {count} rows, {all}", source.name));
    }
    Some(rows.map(|row| (time[row], values[row])).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use cosimo_core::recorder::Columns;

    fn source(name: &str, columns: &[(&str, &str, &[f64])]) -> Source {
        let names = columns.iter().map(|column| column.0.to_owned()).collect();
        let units = columns.iter().map(|column| column.1.to_owned()).collect();
        let values = columns.iter().map(|column| column.2.to_vec()).collect();
        Source { name: name.into(), table: Table { columns: Columns { names, units }, values } }
    }

    fn one() -> Source {
        source(
            "a.csv",
            &[
                ("time", "s", &[0.0, 1.0, 2.0, 3.0]),
                ("m.x", "m", &[0.0, 1.0, 2.0, 3.0]),
                ("m.F", "N", &[5.0, f64::NAN, 5.0, 5.0]),
                ("m.y", "m", &[0.0, 0.0, 0.0, 0.0]),
                ("step.size", "s", &[0.0, 1.0, 1.0, 1.0]),
            ],
        )
    }

    #[test]
    fn signals_of_one_file_are_grouped_by_unit() {
        let seen = overlay(&[one()], &Wanted::default()).unwrap();
        let names: Vec<Vec<&str>> = seen
            .panels
            .iter()
            .map(|panel| panel.series.iter().map(|series| series.name.as_str()).collect())
            .collect();
        assert_eq!(names, [vec!["m.x", "m.y"], vec!["m.F"]]);
        assert_eq!(seen.panels[0].y.label, "in m");
        assert_eq!(
            seen.remarks,
            [
                "the first 3 of 4 signals are shown; `--vars` chooses others",
                "`m.F` of `a.csv` is no number in 1 of 4 rows, the curve has gaps there"
            ]
        );
    }

    #[test]
    fn a_range_keeps_the_rows_around_it() {
        let patterns = ["m.x".to_owned()];
        let wanted = Wanted { patterns: &patterns, from: Some(1.5), to: Some(2.5), ..Wanted::default() };
        let seen = overlay(&[one()], &wanted).unwrap();
        assert_eq!(seen.panels[0].series[0].points, [(1.0, 1.0), (2.0, 2.0), (3.0, 3.0)]);
        assert_eq!(seen.panels[0].x.limits, Some((1.5, 2.5)));
        let late = Wanted { from: Some(4.0), ..Wanted::default() };
        assert!(matches!(overlay(&[one()], &late), Err(OverlayError::Outside { .. })));
    }

    #[test]
    fn the_difference_is_taken_where_either_file_has_a_row() {
        let other = source("b.csv", &[("time", "s", &[0.5, 2.5]), ("m.x", "m", &[1.5, 3.5])]);
        let patterns = ["m.x".to_owned()];
        let wanted = Wanted { patterns: &patterns, difference: true, ..Wanted::default() };
        let seen = overlay(&[one(), other], &wanted).unwrap();
        assert_eq!(seen.panels[1].title, "m.x: b.csv minus a.csv");
        let points = &seen.panels[1].series[0].points;
        assert_eq!(points, &[(0.5, 1.0), (1.0, 1.0), (2.0, 1.0), (2.5, 1.0)]);
        assert_eq!(overlay(&[one()], &wanted).unwrap_err(), OverlayError::NotTwo(1));
    }

    #[test]
    fn what_is_not_there_is_said() {
        let patterns = ["m.f".to_owned()];
        let wanted = Wanted { patterns: &patterns, ..Wanted::default() };
        let error = overlay(&[one()], &wanted).unwrap_err();
        assert_eq!(
            (error.to_string(), error.hint()),
            ("no signal is called `m.f`".into(), Some("did you mean `m.F`?"))
        );
        let bare = source("c.csv", &[("time", "s", &[0.0])]);
        assert_eq!(overlay(&[bare], &Wanted::default()).unwrap_err(), OverlayError::Bare("c.csv".into()));
        let empty = source("c.csv", &[("time", "s", &[]), ("x", "", &[])]);
        assert_eq!(overlay(&[empty], &Wanted::default()).unwrap_err(), OverlayError::Empty("c.csv".into()));
        let timeless = source("c.csv", &[("x", "", &[1.0])]);
        assert_eq!(
            overlay(&[timeless], &Wanted::default()).unwrap_err(),
            OverlayError::NoTime("c.csv".into())
        );
        let other = source("b.csv", &[("time", "s", &[0.0, 3.0]), ("m.F", "N", &[5.0, 5.0])]);
        let patterns = ["m.x".to_owned()];
        let seen = overlay(&[one(), other], &Wanted { patterns: &patterns, ..Wanted::default() }).unwrap();
        assert_eq!(seen.remarks, ["`m.x` is not in `b.csv`"]);
    }
}
