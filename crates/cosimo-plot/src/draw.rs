//! The picture: layout of panels, frame, grid, legend and curves.
//!
//! Colours live in CSS classes, so that one file suits light and dark pages. Curves are clipped by a nested
//! `svg` instead of a `clipPath`, which would need an id.

use std::fmt::Write;

use crate::axis::{Label, Span, Tick};
use crate::text::{escape, pixel, shorten, width};
use crate::thin::{self, Dot};
use crate::{Figure, Panel, Series, Style};

/// Font sizes of tick labels and legend, axis labels and panel titles, and the figure's title.
const SMALL: f64 = 11.0;
const MIDDLE: f64 = 12.0;
const LARGE: f64 = 15.0;

const LEGEND_ROW: f64 = 18.0;
/// Line sample in the legend, and the space after it and after each name.
const SAMPLE: f64 = 24.0;
const GAP: f64 = 6.0;

/// Least size of the axes of one panel; a figure too small for its panels grows.
const LEAST: (f64, f64) = (120.0, 60.0);

/// Beyond this, in pixels, a curve is drawn as if it ended here; renderers use single precision.
const FAR: f64 = 1e6;

const COLOURS: usize = 7;

/// The palette is Okabe and Ito's, "Color universal design" (2008), which people with any colour vision can tell
/// apart. Yellow cannot be read on white, nor dark blue on black: each background leaves one of them out.
const CSS: &str = "\
.cosimo-plot{font-family:system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif}\
.cosimo-plot text{fill:#24292f}\
.cosimo-plot .back{fill:#ffffff}\
.cosimo-plot .muted{fill:#57606a}\
.cosimo-plot .frame{fill:none;stroke:#8c959f;stroke-width:1}\
.cosimo-plot .grid{fill:none;stroke:#dde1e6;stroke-width:1}\
.cosimo-plot .minor{fill:none;stroke:#eff1f3;stroke-width:1}\
.cosimo-plot .curve{fill:none;stroke-width:1.6;stroke-linejoin:round;stroke-linecap:round}\
.cosimo-plot .dashed{stroke-dasharray:6 4;stroke-linecap:butt}\
.cosimo-plot .dotted{stroke-dasharray:1.5 3.5}\
.cosimo-plot .dots{stroke-width:4.4}\
.cosimo-plot .c0{stroke:#0072b2}\
.cosimo-plot .c1{stroke:#d55e00}\
.cosimo-plot .c2{stroke:#009e73}\
.cosimo-plot .c3{stroke:#cc79a7}\
.cosimo-plot .c4{stroke:#e69f00}\
.cosimo-plot .c5{stroke:#56b4e9}\
.cosimo-plot .c6{stroke:#000000}\
@media (prefers-color-scheme:dark){\
.cosimo-plot text{fill:#e6edf3}\
.cosimo-plot .back{fill:#0d1117}\
.cosimo-plot .muted{fill:#9ea7b3}\
.cosimo-plot .frame{stroke:#6e7681}\
.cosimo-plot .grid{stroke:#2b3139}\
.cosimo-plot .minor{stroke:#1b2027}\
.cosimo-plot .c0{stroke:#56b4e9}\
.cosimo-plot .c5{stroke:#f0e442}\
.cosimo-plot .c6{stroke:#ffffff}\
}";

pub(crate) fn figure(figure: &Figure) -> String {
    let count = figure.panels.len();
    let columns = figure.columns.clamp(1, count.max(1));
    let rows = count.div_ceil(columns);
    let head = if figure.title.is_empty() { 6.0 } else { 34.0 };
    // `max` also replaces a size that is not a number.
    let across = (figure.width.min(1e5) / columns as f64).max(LEAST.0 + 100.0);
    let total = across * columns as f64;
    let spans: Vec<(Span, Span)> = figure.panels.iter().map(spans).collect();
    let heads: Vec<f64> = figure.panels.iter().map(|panel| panel_head(panel, across)).collect();

    // Axes of one row share their top, so that they are comparable; the row with the most legend decides.
    let tops: Vec<f64> =
        heads.chunks(columns).map(|row| row.iter().fold(0.0, |a: f64, b| a.max(*b))).collect();
    let foot = 44.0;
    let least = tops.iter().map(|top| top + LEAST.1 + foot).sum::<f64>() + head;
    let height = figure.height.min(1e5).max(least).max(head + 40.0);
    let axes_height = ((height - least) / rows.max(1) as f64 + LEAST.1).floor();

    let mut out = String::new();
    let _ = write!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"cosimo-plot\" role=\"img\" width=\"{w}\" \
         height=\"{h}\" viewBox=\"0 0 {w} {h}\"><title>{title}</title><style>{CSS}</style>\
         <rect class=\"back\" width=\"{w}\" height=\"{h}\"/>",
        w = pixel(total),
        h = pixel(height),
        title = escape(&figure.title),
    );
    if !figure.title.is_empty() {
        words(
            &mut out,
            &figure.title,
            LARGE,
            (total / 2.0, 22.0),
            total - 20.0,
            "text-anchor=\"middle\" font-weight=\"600\"",
        );
    }
    if count == 0 {
        words(
            &mut out,
            "nothing to draw",
            MIDDLE,
            (total / 2.0, height - 14.0),
            total,
            "class=\"muted\" text-anchor=\"middle\"",
        );
    }

    // Panels of one column share their left edge: stacked time axes then line up.
    let y_ticks: Vec<Vec<Tick>> = spans
        .iter()
        .map(|(_, y)| y.ticks((axes_height / 32.0) as usize, (axes_height / 22.0) as usize))
        .collect();
    let lefts: Vec<f64> = (0..columns)
        .map(|column| {
            let widest = |index: usize| {
                let labels = y_ticks[index].iter().map(|tick| tick.label.width(SMALL)).fold(0.0, f64::max);
                labels + if figure.panels[index].y.label.is_empty() { 14.0 } else { 36.0 }
            };
            (column..count).step_by(columns).map(widest).fold(0.0, f64::max).min(across - LEAST.0)
        })
        .collect();
    let mut top = head;
    for (index, panel) in figure.panels.iter().enumerate() {
        let (row, column) = (index / columns, index % columns);
        let left = column as f64 * across;
        let place = PanelPlace {
            left: (left + lefts[column]).round() + 0.5,
            top: (top + tops[row]).round() + 0.5,
            width: (across - lefts[column] - 18.0).floor(),
            height: axes_height,
            edge: left,
            head: top + tops[row] - heads[index],
        };
        self::panel(&mut out, panel, &spans[index], &y_ticks[index], &place);
        if column + 1 == columns {
            top += tops[row] + axes_height + foot;
        }
    }
    out.push_str("</svg>\n");
    out
}

/// Where the axes of a panel are, and where its cell begins.
struct PanelPlace {
    left: f64,
    top: f64,
    width: f64,
    height: f64,
    edge: f64,
    head: f64,
}

pub(crate) fn spans(panel: &Panel) -> (Span, Span) {
    // Only points that can be drawn count: a value at a time that is not finite must not stretch the other axis.
    let drawable = || {
        panel.series.iter().flat_map(|series| &series.points).filter(|(x, y)| {
            let fits =
                |scale, value: f64| value.is_finite() && (scale == crate::Scale::Linear || value > 0.0);
            fits(panel.x.scale, *x) && fits(panel.y.scale, *y)
        })
    };
    let dots = panel.series.iter().any(|series| series.style == Style::Dots);
    let x = Span::new(&panel.x, drawable().map(|point| point.0), if dots { 0.02 } else { 0.0 });
    let y = Span::new(&panel.y, drawable().map(|point| point.1), 0.05);
    (x, y)
}

/// Height of what stands above the axes.
fn panel_head(panel: &Panel, across: f64) -> f64 {
    let title = if panel.title.is_empty() { 0.0 } else { 20.0 };
    title + legend(panel, across).1 as f64 * LEGEND_ROW + 8.0
}

/// Series with a name, each with its place (x, row) and the name as it fits; and the number of rows.
fn legend(panel: &Panel, across: f64) -> (Vec<(usize, f64, usize, String)>, usize) {
    // The axes are not known yet: their left edge depends on the tick labels, those on the height, that on the legend.
    let room = across - 36.0;
    let (mut at, mut row) = (0.0, 0);
    let mut entries = Vec::new();
    for (index, series) in panel.series.iter().enumerate().filter(|(_, series)| !series.name.is_empty()) {
        let name = shorten(&series.name, SMALL, room - SAMPLE - GAP);
        let needs = SAMPLE + GAP + width(&name, SMALL);
        if at > 0.0 && at + needs > room {
            (at, row) = (0.0, row + 1);
        }
        entries.push((index, at, row, name));
        at += needs + 3.0 * GAP;
    }
    let rows = if entries.is_empty() { 0 } else { row + 1 };
    (entries, rows)
}

fn panel(out: &mut String, panel: &Panel, (x, y): &(Span, Span), y_ticks: &[Tick], place: &PanelPlace) {
    let (left, top, across, down) = (place.left, place.top, place.width, place.height);
    let middle = left + across / 2.0;
    let mut head = place.head;
    let _ = write!(out, "<g class=\"panel\">");
    if !panel.title.is_empty() {
        head += 20.0;
        words(
            out,
            &panel.title,
            MIDDLE,
            (middle, head - 6.0),
            across + 40.0,
            "text-anchor=\"middle\" font-weight=\"600\"",
        );
    }

    let x_ticks = x.fitting((across / 60.0) as usize, (across / 40.0) as usize, |one, next| {
        let needs = (one.label.width(SMALL) + next.label.width(SMALL)) / 2.0 + SMALL;
        (next.place - one.place) * across >= needs
    });
    grid(out, &x_ticks, y_ticks, place);
    for tick in x_ticks.iter().filter(|tick| tick.label != Label::None) {
        label(out, &tick.label, (left + tick.place * across, top + down + 16.0), "middle");
    }
    for tick in y_ticks.iter().filter(|tick| tick.label != Label::None) {
        label(out, &tick.label, (left - 7.0, top + (1.0 - tick.place) * down + 0.35 * SMALL), "end");
    }
    words(out, &panel.x.label, MIDDLE, (middle, top + down + 33.0), across + 40.0, "text-anchor=\"middle\"");
    if !panel.y.label.is_empty() {
        let at = (place.edge + 16.0, top + down / 2.0);
        let turned =
            format!("text-anchor=\"middle\" transform=\"rotate(-90 {} {})\"", pixel(at.0), pixel(at.1));
        words(out, &panel.y.label, MIDDLE, at, down + 40.0, &turned);
    }

    let (entries, _) = legend(panel, left - place.edge + across + 18.0);
    // Flush with the axes where it fits there, else from the edge of the cell, as the rows were counted.
    let reach =
        entries.iter().map(|(_, at, _, name)| at + SAMPLE + GAP + width(name, SMALL)).fold(0.0, f64::max);
    let legend_left = if reach <= across { left } else { place.edge + 18.0 };
    for (index, at, row, name) in entries {
        let from = (legend_left + at, head + row as f64 * LEGEND_ROW + 9.0);
        let series = &panel.series[index];
        sample(out, series.style, index, from);
        let _ = write!(
            out,
            "<text x=\"{}\" y=\"{}\" font-size=\"{SMALL}\">{}",
            pixel(from.0 + SAMPLE + GAP),
            pixel(from.1 + 4.0),
            escape(&name)
        );
        if name != series.name {
            let _ = write!(out, "<title>{}</title>", escape(&series.name));
        }
        out.push_str("</text>");
    }

    let clipped = panel.x.limits.is_some() || panel.y.limits.is_some();
    let _ = write!(
        out,
        "<svg x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" overflow=\"{}\">",
        pixel(left),
        pixel(top),
        pixel(across),
        pixel(down),
        if clipped { "hidden" } else { "visible" }
    );
    let mut drawn = false;
    for (index, series) in panel.series.iter().enumerate() {
        drawn |= curve(out, series, index, (x, y), (across, down));
    }
    out.push_str("</svg>");
    if !drawn {
        words(
            out,
            "nothing to draw",
            MIDDLE,
            (middle, top + down / 2.0),
            across,
            "class=\"muted\" text-anchor=\"middle\"",
        );
    }
    out.push_str("</g>");
}

/// Grid lines as one path per kind, and the frame on top of them.
fn grid(out: &mut String, x_ticks: &[Tick], y_ticks: &[Tick], place: &PanelPlace) {
    for (class, minor) in [("minor", true), ("grid", false)] {
        let mut path = String::new();
        // Half pixels, as the frame: a one-pixel line is then one pixel wide.
        for tick in x_ticks.iter().filter(|tick| (tick.label == Label::None) == minor) {
            let at = (place.left + tick.place * place.width).floor() + 0.5;
            let _ = write!(path, "M{} {}v{}", pixel(at), pixel(place.top), pixel(place.height));
        }
        for tick in y_ticks.iter().filter(|tick| (tick.label == Label::None) == minor) {
            let at = (place.top + (1.0 - tick.place) * place.height).floor() + 0.5;
            let _ = write!(path, "M{} {}h{}", pixel(place.left), pixel(at), pixel(place.width));
        }
        if !path.is_empty() {
            let _ = write!(out, "<path class=\"{class}\" d=\"{path}\"/>");
        }
    }
    let _ = write!(
        out,
        "<rect class=\"frame\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>",
        pixel(place.left),
        pixel(place.top),
        pixel(place.width),
        pixel(place.height)
    );
}

/// Draws one series; `false` if it has no point to draw.
fn curve(
    out: &mut String,
    series: &Series,
    index: usize,
    (x, y): (&Span, &Span),
    (across, down): (f64, f64),
) -> bool {
    let dots = dots(series, (x, y), (across, down));
    if dots.is_empty() {
        return false;
    }
    let path = match series.style {
        Style::Dots => {
            let dots = thin::cloud(dots, across, down);
            dots.iter().fold(String::new(), |mut path, dot| {
                let _ = write!(path, "M{} {}h0", pixel(dot.x), pixel(dot.y));
                path
            })
        }
        style => polyline(&thin::line(dots, across), style == Style::Steps),
    };
    let _ = write!(out, "<path class=\"{}\" d=\"{path}\"/>", classes(series.style, index));
    true
}

/// The points of a series on a panel of the given size, those that have a place.
pub(crate) fn dots(series: &Series, (x, y): (&Span, &Span), (across, down): (f64, f64)) -> Vec<Dot> {
    let mut apart = true;
    let mut dots = Vec::with_capacity(series.points.len());
    for &(px, py) in &series.points {
        let (Some(px), Some(py)) = (x.place(px), y.place(py)) else {
            apart = true;
            continue;
        };
        let (px, py) = (px * across, (1.0 - py) * down);
        dots.push(Dot { x: px.clamp(-FAR, FAR), y: py.clamp(-FAR, FAR), apart });
        apart = false;
    }
    dots
}

fn polyline(dots: &[Dot], steps: bool) -> String {
    let mut path = String::new();
    // Written coordinates are compared, not exact ones: points that print alike need no second mention.
    let (mut last_x, mut last_y) = (String::new(), String::new());
    for (index, dot) in dots.iter().enumerate() {
        let (x, y) = (pixel(dot.x), pixel(dot.y));
        if dot.apart {
            let _ = write!(path, "M{x} {y}");
            if dots.get(index + 1).is_none_or(|next| next.apart) {
                path.push_str("h0"); // alone between gaps: the round cap makes it a dot
            }
        } else if (&x, &y) == (&last_x, &last_y) {
            continue;
        } else if steps {
            if x != last_x {
                let _ = write!(path, "H{x}");
            }
            if y != last_y {
                let _ = write!(path, "V{y}");
            }
        } else {
            let _ = write!(path, "L{x} {y}");
        }
        (last_x, last_y) = (x, y);
    }
    path
}

fn classes(style: Style, index: usize) -> String {
    let look = match style {
        Style::Dashed => " dashed",
        Style::Dots => " dots",
        // Colours begin anew: another look keeps the eighth curve from being taken for the first.
        _ if index >= COLOURS => " dotted",
        _ => "",
    };
    format!("curve c{}{look}", index % COLOURS)
}

/// What a curve looks like, for the legend.
fn sample(out: &mut String, style: Style, index: usize, (x, y): (f64, f64)) {
    let d = match style {
        Style::Line | Style::Dashed => format!("M{} {}h{SAMPLE}", pixel(x), pixel(y)),
        Style::Steps => format!("M{} {}h8v-6h8v3h8", pixel(x), pixel(y + 2.5)),
        Style::Dots => format!("M{} {}h0m9 0h0m9 0h0", pixel(x + 3.0), pixel(y)),
    };
    let _ = write!(out, "<path class=\"{} sample\" d=\"{d}\"/>", classes(style, index));
}

/// A text cut to the room it has; the whole of it is in its tooltip.
fn words(out: &mut String, text: &str, size: f64, (x, y): (f64, f64), room: f64, attributes: &str) {
    if text.is_empty() {
        return;
    }
    let short = shorten(text, size, room);
    let _ = write!(
        out,
        "<text x=\"{}\" y=\"{}\" font-size=\"{size}\" {attributes}>{}",
        pixel(x),
        pixel(y),
        escape(&short)
    );
    if short != text {
        let _ = write!(out, "<title>{}</title>", escape(text));
    }
    out.push_str("</text>");
}

fn label(out: &mut String, label: &Label, (x, y): (f64, f64), anchor: &str) {
    let _ = write!(
        out,
        "<text class=\"muted\" x=\"{}\" y=\"{}\" font-size=\"{SMALL}\" text-anchor=\"{anchor}\">",
        pixel(x),
        pixel(y)
    );
    match label {
        Label::None => {}
        Label::Text(text) => drop(write!(out, "{}", escape(text))),
        Label::Power(power) => {
            let power = crate::text::number(f64::from(*power));
            let _ = write!(out, "10<tspan dy=\"-4\" font-size=\"8.5\">{power}</tspan>");
        }
    }
    out.push_str("</text>");
}
