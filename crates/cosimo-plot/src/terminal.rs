//! The same figure as text: braille letters, each two dots wide and four high, between axes of lines and labels.
//!
//! Spans, ticks and thinning are those of the picture. Colour tells curves apart; where there is none, letters on the
//! curves do.

use std::fmt::Write;

use cosimo_core::math;

use crate::axis::{Label, Span, Tick};
use crate::draw;
use crate::thin::{self, Dot};
use crate::{Figure, Panel, Series, Style};

/// What a figure is printed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Paper {
    /// Letters in a line.
    pub columns: usize,
    /// Lines for the curves of one panel.
    pub rows: usize,
    /// Colours of the terminal, so that they suit its background.
    pub colour: bool,
}

/// Cyan, yellow, green, magenta, red, blue: what a terminal's theme makes of them can be read.
const COLOURS: [u8; 6] = [36, 33, 32, 35, 31, 34];
/// Dots of one letter.
const ACROSS: usize = 2;
const DOWN: usize = 4;
/// The bit of each dot, column by column.
const BITS: [[u8; DOWN]; ACROSS] = [[0x01, 0x02, 0x04, 0x40], [0x08, 0x10, 0x20, 0x80]];
/// Less would show nothing.
const LEAST: (usize, usize) = (20, 3);
/// Columns between marks of the same curve.
const MARKS: usize = 24;

pub(crate) fn figure(figure: &Figure, paper: Paper) -> String {
    let mut out = String::new();
    if !figure.title.is_empty() {
        let _ = writeln!(out, "{}", clean(&figure.title));
    }
    for (index, panel) in figure.panels.iter().enumerate() {
        if index > 0 {
            out.push('\n');
        }
        self::panel(&mut out, panel, paper);
    }
    if figure.panels.is_empty() {
        out.push_str("nothing to draw\n");
    }
    out
}

fn panel(out: &mut String, panel: &Panel, paper: Paper) {
    let (x, y) = draw::spans(panel);
    let rows = paper.rows.max(LEAST.1);
    let y_ticks = y.ticks(rows.div_ceil(3), 0);
    let margin = y_ticks.iter().map(|tick| text(&tick.label).chars().count()).max().unwrap_or(0);
    let columns = paper.columns.saturating_sub(margin + 2).max(LEAST.0);
    if !panel.title.is_empty() {
        let _ = writeln!(out, "{}", clean(&panel.title));
    }
    legend(out, panel, margin + columns + 2, paper.colour);
    if !panel.y.label.is_empty() {
        let _ = writeln!(out, "{}", clean(&panel.y.label));
    }
    let mut canvas = Canvas::new(columns, rows);
    for (index, series) in panel.series.iter().enumerate() {
        canvas.curve(series, index, &x, &y);
    }
    if !paper.colour && panel.series.len() > 1 {
        canvas.mark(panel.series.len());
    }
    let mut labels = vec![None; rows];
    for tick in &y_ticks {
        if tick.label != Label::None {
            labels[place(1.0 - tick.place, rows)] = Some(text(&tick.label));
        }
    }
    for (row, label) in labels.iter().enumerate() {
        let edge = if label.is_some() { '┤' } else { '│' };
        let _ = write!(out, "{:>margin$} {edge}", label.as_deref().unwrap_or(""));
        canvas.line(out, row, paper.colour);
    }
    below(out, panel, &x, margin, columns);
    if canvas.letters.iter().all(|letter| letter.bits == 0) {
        let _ = writeln!(out, "{:>margin$}  nothing to draw", "");
    }
}

/// The lower axis, its labels, and what it is.
fn below(out: &mut String, panel: &Panel, x: &Span, margin: usize, columns: usize) {
    let wide = |tick: &Tick| text(&tick.label).chars().count();
    let ticks = x.fitting(columns / 8, 0, |one, next| {
        (next.place - one.place) * columns as f64 >= (wide(one) + wide(next)) as f64 / 2.0 + 2.0
    });
    let mut axis = vec!['─'; columns];
    let mut labels = vec![' '; columns + margin + 2];
    for tick in ticks.iter().filter(|tick| tick.label != Label::None) {
        let at = place(tick.place, columns);
        axis[at] = '┬';
        let label = text(&tick.label);
        let width = label.chars().count();
        let from = (at + margin + 2).saturating_sub(width / 2).min(labels.len().saturating_sub(width));
        for (to, letter) in labels[from..].iter_mut().zip(label.chars()) {
            *to = letter;
        }
    }
    let _ = writeln!(out, "{:>margin$} └{}", "", axis.iter().collect::<String>());
    let _ = writeln!(out, "{}", labels.iter().collect::<String>().trim_end());
    if !panel.x.label.is_empty() {
        let label = clean(&panel.x.label);
        let room = (columns + margin + 2 + label.chars().count()) / 2;
        let _ = writeln!(out, "{label:>room$}");
    }
}

fn legend(out: &mut String, panel: &Panel, columns: usize, colour: bool) {
    let mut used = 0;
    for (index, series) in panel.series.iter().enumerate().filter(|(_, series)| !series.name.is_empty()) {
        let name = clean(&series.name);
        let needs = name.chars().count() + 5;
        if used > 0 && used + needs > columns {
            out.push('\n');
            used = 0;
        }
        let _ = match (colour, panel.series.len()) {
            (true, _) => write!(out, "\x1b[{}m━━\x1b[0m {name}  ", COLOURS[index % COLOURS.len()]),
            (false, 1) => write!(out, "{name}  "),
            (false, _) => write!(out, "{}: {name}  ", letter(index)),
        };
        used += needs;
    }
    if used > 0 {
        out.truncate(out.trim_end_matches(' ').len());
        out.push('\n');
    }
}

/// What stands for a curve where there is no colour.
fn letter(index: usize) -> char {
    let alphabet = ('a'..='z').chain('A'..='Z');
    alphabet.cycle().nth(index % 52).unwrap_or('*')
}

/// The row or column of a place from 0 to 1.
fn place(share: f64, count: usize) -> usize {
    ((share * count as f64) as usize).min(count - 1)
}

fn text(label: &Label) -> String {
    match label {
        Label::None => String::new(),
        Label::Text(text) => text.clone(),
        Label::Power(power) => crate::text::number(math::powi(10.0, *power)),
    }
}

/// Without anything that a terminal would act on: names come from files.
fn clean(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { '\u{fffd}' } else { letter }).collect()
}

#[derive(Debug, Clone, Copy, Default)]
struct Letter {
    bits: u8,
    /// The curve that was here last.
    curve: usize,
    mark: Option<char>,
}

struct Canvas {
    columns: usize,
    rows: usize,
    letters: Vec<Letter>,
    /// Per curve and column: a row that the curve goes through.
    ways: Vec<Vec<Option<usize>>>,
}

impl Canvas {
    fn new(columns: usize, rows: usize) -> Canvas {
        Canvas { columns, rows, letters: vec![Letter::default(); columns * rows], ways: Vec::new() }
    }

    fn curve(&mut self, series: &Series, index: usize, x: &Span, y: &Span) {
        self.ways.push(vec![None; self.columns]);
        // The middles of the outermost dots are the ends of the axes.
        let (across, down) = ((self.columns * ACROSS - 1) as f64, (self.rows * DOWN - 1) as f64);
        let dots = thin::line(draw::dots(series, (x, y), (across, down)), across);
        let mut last: Option<Dot> = None;
        for dot in dots {
            let from = last.filter(|_| !dot.apart && series.style != Style::Dots).unwrap_or(dot);
            if series.style == Style::Steps {
                self.stroke(index, from, Dot { x: dot.x, ..from });
                self.stroke(index, Dot { x: dot.x, ..from }, dot);
            } else {
                self.stroke(index, from, dot);
            }
            last = Some(dot);
        }
    }

    /// All dots of a straight line that lie on the canvas.
    fn stroke(&mut self, curve: usize, from: Dot, to: Dot) {
        let (across, down) = ((self.columns * ACROSS - 1) as f64, (self.rows * DOWN - 1) as f64);
        // The part of the line inside, as shares of its way (Liang and Barsky 1984).
        let (dx, dy) = (to.x - from.x, to.y - from.y);
        let (mut enter, mut leave) = (0.0_f64, 1.0_f64);
        for (step, room) in
            [(-dx, from.x + 0.5), (dx, across + 0.5 - from.x), (-dy, from.y + 0.5), (dy, down + 0.5 - from.y)]
        {
            if step == 0.0 && room < 0.0 {
                return;
            } else if step < 0.0 {
                enter = enter.max(room / step);
            } else if step > 0.0 {
                leave = leave.min(room / step);
            }
        }
        if enter > leave {
            return;
        }
        let steps = ((leave - enter) * dx.abs().max(dy.abs())).ceil().max(1.0) as usize;
        for k in 0..=steps {
            let share = enter + (leave - enter) * k as f64 / steps as f64;
            let at = |from: f64, by: f64, most: f64| (from + share * by).round().clamp(0.0, most) as usize;
            self.dot(curve, at(from.x, dx, across), at(from.y, dy, down));
        }
    }

    fn dot(&mut self, curve: usize, x: usize, y: usize) {
        let (column, row) = (x / ACROSS, y / DOWN);
        let letter = &mut self.letters[row * self.columns + column];
        letter.bits |= BITS[x % ACROSS][y % DOWN];
        letter.curve = curve;
        self.ways[curve][column] = Some(row);
    }

    /// Puts the letters of curves onto them, each at columns of its own.
    fn mark(&mut self, count: usize) {
        let every = MARKS.max(2 * count).min(self.columns);
        for (curve, way) in self.ways.iter().enumerate() {
            for column in (curve * every / count..self.columns).step_by(every) {
                // The curve may have a gap just there.
                let near = (column..self.columns.min(column + every / count)).find(|at| way[*at].is_some());
                if let Some((column, row)) = near.and_then(|at| Some((at, way[at]?))) {
                    self.letters[row * self.columns + column].mark = Some(letter(curve));
                }
            }
        }
    }

    fn line(&self, out: &mut String, row: usize, colour: bool) {
        let letters = &self.letters[row * self.columns..(row + 1) * self.columns];
        let mut line = String::new();
        let mut present = None;
        for letter in letters {
            let wanted = (colour && letter.bits != 0).then(|| COLOURS[letter.curve % COLOURS.len()]);
            if wanted != present {
                let _ = match wanted {
                    Some(code) => write!(line, "\x1b[{code}m"),
                    None => write!(line, "\x1b[0m"),
                };
                present = wanted;
            }
            line.push(match letter.mark {
                Some(mark) => mark,
                None if letter.bits == 0 => ' ',
                None => char::from_u32(0x2800 + u32::from(letter.bits)).unwrap_or(' '),
            });
        }
        if present.is_some() {
            line.push_str("\x1b[0m");
        }
        let _ = writeln!(out, "{}", line.trim_end());
    }
}
