//! Result files as panels of a figure: signals of one file by their unit, those of several files upon each other, and
//! with two the difference below.

use cosimo_core::registry::suggest;
use cosimo_plot::{Axis, Panel, Series, Style};
use cosimo_record::Table;
use cosimo_record::compare::{CompareError, apart};
use wildmatch::WildMatch;

/// Signals shown by default.
const FIRST: usize = 8;

/// A table and its name.
#[derive(Debug)]
pub struct PlotSource {
    /// Shown in the legend.
    pub name: String,
    /// Time and signals.
    pub table: Table,
}

/// What to plot.
#[derive(Debug, Clone, Copy, Default)]
pub struct PlotSelection<'a> {
    /// As in `wheel.*`; none shows the first signals.
    pub patterns: &'a [String],
    /// In seconds.
    pub from: Option<f64>,
    /// In seconds.
    pub to: Option<f64>,
    /// The second file minus the first, too.
    pub difference: bool,
}

/// The signals of all files, one panel per signal or unit.
#[derive(Debug, Default)]
pub struct Overlay {
    /// In the order of the signals.
    pub panels: Vec<Panel>,
    /// Patterns and signals that could not be plotted.
    pub warnings: Vec<String>,
}

/// Why nothing can be plotted.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[allow(missing_docs)] // the messages say it
pub enum OverlayError {
    #[error("`{0}` has no column `time`")]
    NoTime(String),
    #[error("`{0}` has no rows")]
    Empty(String),
    #[error("`{0}` has no signals, only time")]
    Bare(String),
    #[error("no signal matches `{pattern}`")]
    Unknown { pattern: String, hint: String },
    #[error("nothing to plot: the files cover {first} to {last} s")]
    Outside { first: f64, last: f64 },
    #[error("a difference needs two files, got {0}")]
    NotTwo(usize),
    #[error("cannot subtract `{signal}`: {cause}")]
    Incomparable { signal: String, cause: CompareError },
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

/// Plots the selected signals of all sources over each other.
pub fn overlay(sources: &[PlotSource], selection: &PlotSelection<'_>) -> Result<Overlay, OverlayError> {
    if selection.difference && sources.len() != 2 {
        return Err(OverlayError::NotTwo(sources.len()));
    }
    let mut times = Vec::new();
    for PlotSource { name, table } in sources {
        let time = table.column("time").ok_or_else(|| OverlayError::NoTime(name.clone()))?;
        if time.is_empty() {
            return Err(OverlayError::Empty(name.clone()));
        }
        times.push(time);
    }
    let ends = times.iter().flat_map(|time| time.iter()).filter(|time| time.is_finite());
    let (first, last) =
        ends.fold((f64::MAX, f64::MIN), |(low, high), time| (low.min(*time), high.max(*time)));
    let shown = (selection.from.unwrap_or(first), selection.to.unwrap_or(last));
    if shown.0 > last || shown.1 < first || shown.0 > shown.1 {
        return Err(OverlayError::Outside { first, last });
    }
    let mut axis = Axis::linear("time in s");
    if selection.from.is_some() || selection.to.is_some() {
        axis = axis.between(shown.0, shown.1);
    }
    let mut overlay = Overlay::default();
    let signals = chosen(sources, selection.patterns, &mut overlay.warnings)?;
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
            let series = curve(&sources[0], times[0], signal, shown, &mut overlay.warnings);
            overlay.panels[at].series.extend(series.map(|points| Series::new(signal, points)));
            continue;
        }
        let mut panel = Panel::new(signal, axis.clone(), Axis::linear(label.clone()));
        for (place, (source, time)) in sources.iter().zip(&times).enumerate() {
            let Some(points) = curve(source, time, signal, shown, &mut overlay.warnings) else {
                overlay.warnings.push(format!("`{signal}` is not in `{}`", source.name));
                continue;
            };
            // Curves lie upon each other where runs agree: the one below must show through.
            let style = if place == 0 { Style::Line } else { Style::Dashed };
            panel = panel.with(Series::new(&source.name, points).styled(style));
        }
        let both = panel.series.len() == 2;
        overlay.panels.push(panel);
        if selection.difference && both {
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
    sources: &[PlotSource],
    patterns: &[String],
    warnings: &mut Vec<String>,
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
        warnings
            .push(format!("the first {} of {count} signals are shown; `--vars` chooses others", first.len()));
    }
    Ok(first)
}

fn unit(sources: &[PlotSource], signal: &str) -> String {
    let of = |source: &PlotSource| {
        let columns = &source.table.columns;
        let at = columns.names.iter().position(|name| name == signal)?;
        columns.units.get(at).filter(|unit| !unit.is_empty()).cloned()
    };
    sources.iter().find_map(of).unwrap_or_default()
}

/// The shown part of a signal, with a row before it and one after, so that lines reach the edge. Gaps are noted on.
fn curve(
    source: &PlotSource,
    time: &[f64],
    signal: &str,
    (from, to): (f64, f64),
    warnings: &mut Vec<String>,
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
        warnings
            .push(format!("`{signal}` of `{}` is no number in {broken} of {count} rows, {all}", source.name));
    }
    Some(rows.map(|row| (time[row], values[row])).collect())
}
