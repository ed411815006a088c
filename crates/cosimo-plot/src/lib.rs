//! Line plots: as SVG text, as PNG, and as letters for a terminal.
//!
//! A [`Figure`] is plain data; [`Figure::svg`] draws it. The same figure gives the same bytes, long series are
//! thinned without losing their extremes, and the picture follows the reader's light or dark background. [`Figure::png`]
//! is that picture in light colours, [`Figure::text`] what braille can show of it.
//! It deliberately has no interaction, no bars, no second axis and no text layout beyond estimated widths.

mod axis;
mod draw;
mod png;
mod terminal;
mod text;
mod thin;

pub use png::PngError;
pub use terminal::Paper;

/// Panels in rows of `columns`, under one title.
///
/// ```
/// use cosimo_plot::{Axis, Figure, Panel, Series, Style};
///
/// let points = (0..100).map(|i| f64::from(i) / 10.0).map(|t| (t, t.sin())).collect();
/// let panel = Panel::new("Spring", Axis::linear("time in s"), Axis::linear("force in N"))
///     .with(Series::new("coupled", points))
///     .with(Series::new("reference", vec![(0.0, 0.0), (10.0, 0.0)]).styled(Style::Dashed));
/// assert!(Figure::new("Two masses", vec![panel]).svg().starts_with("<svg"));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    pub title: String,
    pub panels: Vec<Panel>,
    /// In pixels, as are all sizes. What is too small to hold the panels is enlarged.
    pub width: f64,
    pub height: f64,
    /// How many panels stand side by side; 1 stacks them.
    pub columns: usize,
}

/// One pair of axes.
#[derive(Debug, Clone, PartialEq)]
pub struct Panel {
    pub title: String,
    pub x: Axis,
    pub y: Axis,
    pub series: Vec<Series>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    pub label: String,
    pub scale: Scale,
    /// From and to; `None` shows all data. Useless limits (not finite, equal, not positive on a log axis)
    /// count as `None`.
    pub limits: Option<(f64, f64)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Scale {
    #[default]
    Linear,
    /// Values that are not positive have no place on it and interrupt the line.
    Log,
}

/// One curve. A point that is not finite interrupts the line.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// For the legend; a series without a name does not appear there.
    pub name: String,
    pub points: Vec<(f64, f64)>,
    pub style: Style,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Style {
    #[default]
    Line,
    Dashed,
    /// Each value is held until the next point.
    Steps,
    Dots,
}

impl Figure {
    /// A stack of panels at a size that reads well in a page.
    pub fn new(title: impl Into<String>, panels: Vec<Panel>) -> Figure {
        let height = 40.0 + 280.0 * panels.len().max(1) as f64;
        Figure { title: title.into(), panels, width: 800.0, height, columns: 1 }
    }

    /// Side by side instead of stacked; the size is chosen anew.
    pub fn in_columns(mut self, columns: usize) -> Figure {
        self.columns = columns.max(1);
        let shown = self.columns.min(self.panels.len().max(1));
        self.width = if shown == 1 { 800.0 } else { 480.0 * shown as f64 };
        self.height = 40.0 + 280.0 * self.panels.len().max(1).div_ceil(self.columns) as f64;
        self
    }

    pub fn sized(mut self, width: f64, height: f64) -> Figure {
        (self.width, self.height) = (width, height);
        self
    }

    /// Whether this build can draw pixels: the feature `png`.
    pub const DRAWS_PNG: bool = cfg!(feature = "png");

    /// The figure as one self-contained SVG element. It has no ids, so several may stand in one HTML page.
    pub fn svg(&self) -> String {
        draw::figure(self)
    }

    /// The same picture as pixels, two for each of the SVG, on white. Needs no fonts of the machine.
    /// [`PngError::NoFeature`] unless the feature `png` is on; [`Figure::DRAWS_PNG`] tells before.
    pub fn png(&self) -> Result<Vec<u8>, PngError> {
        png::png(&self.svg())
    }

    /// The panels below each other, for a terminal.
    pub fn text(&self, paper: Paper) -> String {
        terminal::figure(self, paper)
    }
}

impl Panel {
    pub fn new(title: impl Into<String>, x: Axis, y: Axis) -> Panel {
        Panel { title: title.into(), x, y, series: Vec::new() }
    }

    pub fn with(mut self, series: Series) -> Panel {
        self.series.push(series);
        self
    }
}

impl Axis {
    pub fn linear(label: impl Into<String>) -> Axis {
        Axis { label: label.into(), scale: Scale::Linear, limits: None }
    }

    pub fn log(label: impl Into<String>) -> Axis {
        Axis { label: label.into(), scale: Scale::Log, limits: None }
    }

    pub fn between(mut self, from: f64, to: f64) -> Axis {
        self.limits = Some((from, to));
        self
    }
}

impl Series {
    pub fn new(name: impl Into<String>, points: Vec<(f64, f64)>) -> Series {
        Series { name: name.into(), points, style: Style::Line }
    }

    pub fn styled(mut self, style: Style) -> Series {
        self.style = style;
        self
    }
}
