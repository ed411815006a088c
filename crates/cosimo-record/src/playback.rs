//! A table as a simulator: its columns are outputs over time. Measured inputs, or the result of an earlier run, drive
//! a system this way.

use std::path::Path;
use std::sync::Arc;

use cosimo_core::abilities;
use cosimo_core::registry::{
    FormatEntry, OpenProblem, OpenRequest, OpenResult, Parameter, Source, endings_text, format_of,
};
use cosimo_core::simulator::{Events, Memory, Rollback, SerializeState};
use cosimo_core::{
    Abilities, DefaultExperiment, Inputs, Interface, Options, Outputs, Port, Setup, Simulator,
    SimulatorError, Spec, StepResult, Time, Unit, Window,
};

use crate::Table;

/// A corner is a change of slope by this part of the steepest one; this many are always heeded.
const CORNER: f64 = 0.1;
const MOST_CORNERS: usize = 20;

/// Sources such as `drive.csv`, relative to the system file.
#[derive(Debug)]
pub struct Tables {
    formats: Vec<&'static FormatEntry>,
    summary: String,
}

impl Tables {
    pub fn new(formats: &[&'static FormatEntry]) -> Tables {
        let summary = format!("a table of numbers over time: {}", endings_text(formats, false));
        Tables { formats: formats.to_vec(), summary }
    }
}

impl Source for Tables {
    fn name(&self) -> &str {
        "table"
    }

    fn summary(&self) -> &str {
        &self.summary
    }

    fn claims(&self, source: &str) -> bool {
        format_of(&self.formats, Path::new(source)).is_ok()
    }

    fn open(&self, request: &OpenRequest<'_>) -> OpenResult {
        open(request, &self.formats)
    }

    fn parameters(&self, _source: &str, _folder: &Path) -> Vec<Parameter> {
        PARAMETERS.iter().map(Into::into).collect()
    }

    fn with_formats(&self, formats: &[&'static FormatEntry]) -> Option<Arc<dyn Source>> {
        Some(Arc::new(Tables::new(formats)))
    }
}

const PARAMETERS: &[Spec] = &[Spec::choice(
    "interpolation",
    "linear",
    &["linear", "hold"],
    "between two rows: along the line, or the earlier one",
)];

const TIME: &str = "time";

#[derive(Debug)]
struct Playback {
    interface: Interface,
    times: Vec<f64>,
    /// Column by column, in the order of the outputs.
    columns: Vec<Vec<f64>>,
    /// Column by column: the earlier row holds until the next one.
    held: Vec<bool>,
    /// Instants of discontinuities, ascending.
    jumps: Vec<f64>,
    place: Memory<PlaybackPlace>,
}

#[derive(Debug, Clone, Copy)]
struct PlaybackPlace {
    now: f64,
    /// Of a jump at this instant, the later side is shown.
    behind: bool,
}

fn open(request: &OpenRequest<'_>, formats: &[&'static FormatEntry]) -> OpenResult {
    let whole = |message: String, hint: Option<String>| OpenProblem { parameter: None, message, hint };
    let mut problems = Vec::new();
    let options = Options::resolve("a table", PARAMETERS, request.parameters).unwrap_or_else(|wrong| {
        problems.extend(wrong.into_iter().map(|problem| OpenProblem {
            parameter: Some(problem.key),
            message: problem.message,
            hint: problem.hint,
        }));
        Options::default()
    });
    let table = match crate::read(&request.folder.join(request.source), formats) {
        Ok(table) => table,
        Err(error) => {
            problems.push(whole(error.to_string(), Some(error.hint())));
            return Err(problems);
        }
    };
    problems.extend(
        wrong_rows(&table)
            .into_iter()
            .map(|(message, hint)| whole(format!("{}: {message}", request.source), Some(hint.to_owned()))),
    );
    if !problems.is_empty() {
        return Err(problems);
    }
    Ok(Box::new(Playback::new(table, options.text("interpolation") == "hold")))
}

/// All that keeps a table from being played.
fn wrong_rows(table: &Table) -> Vec<(String, &'static str)> {
    let mut wrong = Vec::new();
    let names = &table.columns.names;
    if !names.first().is_some_and(|name| name.eq_ignore_ascii_case(TIME)) {
        let found = names.first().map_or("nothing".into(), |name| format!("`{name}`"));
        wrong.push((format!("the first column must be `{TIME}`, got {found}"), "in seconds, ascending"));
        return wrong;
    }
    if names.len() < 2 || table.rows() == 0 {
        let message = format!("found {} columns and {} rows", names.len(), table.rows());
        wrong.push((message, "expected: the time, at least one more column, and at least one row"));
        return wrong;
    }
    for (name, column) in names.iter().zip(&table.values) {
        if let Some(row) = column.iter().position(|value| !value.is_finite()) {
            let message = format!("row {} of column `{name}` is {}", row + 1, column[row]);
            wrong.push((message, "every cell must be a finite number"));
        }
    }
    if let Some(row) = table.values[0].windows(2).position(|pair| pair[1] < pair[0]) {
        let (before, after) = (table.values[0][row], table.values[0][row + 1]);
        wrong.push((
            format!("time goes back from {before} s to {after} s in row {}", row + 2),
            "rows must ascend in time; two at one instant are a jump",
        ));
    }
    wrong
}

impl Playback {
    fn new(table: Table, hold: bool) -> Playback {
        let Table { columns, mut values } = table;
        let times = values.remove(0);
        let port = |(name, unit): (&String, &String)| Port {
            unit: Some(unit).filter(|unit| !unit.is_empty()).and_then(|unit| Unit::parse(unit).ok()),
            ..Port::new(name, "", "")
        };
        let suggested =
            DefaultExperiment { start: times.first().copied(), stop: times.last().copied(), step: None };
        let interface = Interface {
            outputs: columns.names.iter().zip(&columns.units).skip(1).map(port).collect(),
            abilities: Abilities { states: false, ..Abilities::NATIVE },
            default_experiment: suggested,
            facts: vec![("rows".into(), times.len().to_string())],
            recorded: times.first().copied().zip(times.last().copied()),
            ..Interface::default()
        };
        let held = vec![hold; values.len()];
        let mut playback = Playback {
            interface,
            times,
            columns: values,
            held,
            jumps: Vec::new(),
            place: Memory::new(PlaybackPlace { now: 0.0, behind: true }),
        };
        playback.find_jumps();
        playback
    }

    /// After every change of what is held.
    fn find_jumps(&mut self) {
        self.jumps = jumps(&self.times, &self.columns, &self.held);
        self.interface.abilities.events = !self.jumps.is_empty();
        for (port, held) in self.interface.outputs.iter_mut().zip(&self.held) {
            port.discrete = *held;
        }
    }

    /// The next jump behind an instant.
    fn next_jump(&self) -> Option<Time> {
        let next = self.jumps.partition_point(|jump| *jump <= self.place.now.now);
        self.jumps.get(next).copied().and_then(Time::new)
    }

    /// Stands before a jump of this very instant.
    fn is_before_jump(&self) -> bool {
        !self.place.now.behind
            && self.jumps.binary_search_by(|jump| jump.total_cmp(&self.place.now.now)).is_ok()
    }
}

/// Instants that must not be extrapolated across: two rows at one instant, every new value that is held, and corners of what
/// was drawn rather than measured. Of measured data almost every row is a corner, and none means anything.
fn jumps(times: &[f64], columns: &[Vec<f64>], held: &[bool]) -> Vec<f64> {
    let differs = |a: usize, b: usize| {
        let together = times[a] == times[b];
        columns.iter().zip(held).any(|(column, held)| (together || *held) && column[a] != column[b])
    };
    let mut found: Vec<f64> =
        (1..times.len()).filter(|&row| differs(row - 1, row)).map(|row| times[row]).collect();
    for (column, _) in columns.iter().zip(held).filter(|(_, held)| !**held) {
        let slope = |row: usize| (column[row] - column[row - 1]) / (times[row] - times[row - 1]);
        let slopes: Vec<f64> = (1..times.len()).map(slope).collect();
        let steepest = slopes
            .iter()
            .filter(|slope| slope.is_finite())
            .fold(0.0, |most, slope| f64::max(most, slope.abs()));
        let turns = |row: &usize| {
            let turn = (slopes[*row] - slopes[*row - 1]).abs();
            turn.is_finite() && turn > CORNER * steepest
        };
        let own: Vec<f64> = (1..slopes.len()).filter(turns).map(|row| times[row]).collect();
        if own.len() <= MOST_CORNERS || own.len() * 10 <= times.len() {
            found.extend(own);
        }
    }
    found.sort_unstable_by(f64::total_cmp);
    found.dedup();
    found
}

impl Simulator for Playback {
    fn interface(&self) -> &Interface {
        &self.interface
    }

    fn hold_outputs(&mut self, outputs: &[usize]) {
        outputs.iter().for_each(|output| self.held[*output] = true);
        self.find_jumps();
    }

    fn initialize(&mut self, setup: &Setup) -> Result<(), SimulatorError> {
        self.place.now = PlaybackPlace { now: setup.start.seconds(), behind: true };
        Ok(())
    }

    fn set_inputs(&mut self, _at: Time, _inputs: &Inputs<'_>) -> Result<(), SimulatorError> {
        self.place.now.behind = true;
        Ok(())
    }

    fn do_step(&mut self, window: Window, _inputs: &Inputs<'_>) -> Result<StepResult, SimulatorError> {
        self.place.now = PlaybackPlace { now: window.to.seconds(), behind: false };
        let event = self.is_before_jump();
        Ok(StepResult { next_event: self.next_jump(), event, ..StepResult::end_of(window, 0) })
    }

    /// Before the first row and after the last one their values hold. Of two rows at one instant the earlier counts until
    /// the jump is settled, then the later one.
    fn get_outputs(&mut self, out: &mut Outputs<'_>) -> Result<(), SimulatorError> {
        let columns = out.values.iter_mut().zip(&self.columns).zip(&self.held);
        if self.is_before_jump() {
            let at = self.times.partition_point(|time| *time < self.place.now.now);
            for ((value, column), held) in columns {
                *value = column[if *held { at.saturating_sub(1) } else { at }];
            }
            return Ok(());
        }
        let next = self.times.partition_point(|time| *time <= self.place.now.now);
        let before = next.saturating_sub(1);
        let part = match self.times.get(next) {
            Some(after) if next > 0 => {
                (self.place.now.now - self.times[before]) / (after - self.times[before])
            }
            _ => 0.0,
        };
        for ((value, column), held) in columns {
            *value = column[before];
            if part > 0.0 && !held {
                *value += part * (column[next] - column[before]);
            }
        }
        Ok(())
    }

    fn rollback(&mut self) -> Option<&mut dyn Rollback> {
        Some(&mut self.place)
    }

    abilities! { self: serialize_state, events if self.interface.abilities.events }
}

impl Events for Playback {
    fn next_event(&mut self) -> Result<Option<Time>, SimulatorError> {
        Ok(self.next_jump())
    }
}

impl SerializeState for Playback {
    fn serialize(&mut self, into: &mut Vec<u8>) -> Result<(), SimulatorError> {
        into.extend_from_slice(&self.place.now.now.to_le_bytes());
        into.push(u8::from(self.place.now.behind));
        Ok(())
    }

    fn deserialize(&mut self, from: &[u8]) -> Result<(), SimulatorError> {
        let (Some((bytes, [behind])), ..) = (from.split_first_chunk(),) else {
            return Err(SimulatorError::new("thaw", "9 bytes are needed"));
        };
        self.place.now = PlaybackPlace { now: f64::from_le_bytes(*bytes), behind: *behind != 0 };
        Ok(())
    }
}
