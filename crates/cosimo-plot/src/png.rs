//! The same picture as pixels: the SVG text, drawn by resvg with the fonts that lie beside this crate.
//!
//! Fonts of the machine are not asked for, so a figure is the same everywhere, and has its letters where there are no
//! fonts at all.

use std::sync::Arc;

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree, fontdb};

/// Latin, Greek, Cyrillic and the signs of units and formulas. As narrow as widths are estimated.
const REGULAR: &[u8] = include_bytes!("../assets/DejaVuSansCondensed.ttf");
const BOLD: &[u8] = include_bytes!("../assets/DejaVuSansCondensed-Bold.ttf");

/// Pixels per pixel of the SVG, for screens with small ones.
const SCALE: f32 = 2.0;
/// No side is longer, however many panels there are: memory grows with the square.
const LONGEST: f32 = 16_000.0;

/// Why there is no picture.
#[derive(Debug, Clone, PartialEq)]
pub struct PngError(String);

impl std::fmt::Display for PngError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "cannot draw the figure as PNG: {}", self.0)
    }
}

impl std::error::Error for PngError {}

pub(crate) fn png(svg: &str) -> Result<Vec<u8>, PngError> {
    let mut fonts = fontdb::Database::new();
    for font in [REGULAR, BOLD] {
        fonts.load_font_data(font.to_vec());
    }
    let family = fonts.faces().next().and_then(|face| Some(face.families.first()?.0.clone()));
    let family = family.ok_or_else(|| PngError("its font does not open".into()))?;
    fonts.set_sans_serif_family(&family);
    let options = Options { fontdb: Arc::new(fonts), font_family: family, ..Options::default() };
    let tree = Tree::from_str(svg, &options).map_err(|error| PngError(error.to_string()))?;
    let (width, height) = (tree.size().width(), tree.size().height());
    let scale = SCALE.min(LONGEST / width.max(height));
    let pixels = |size: f32| (size * scale).round().max(1.0) as u32;
    let mut picture = Pixmap::new(pixels(width), pixels(height))
        .ok_or_else(|| PngError(format!("{width} by {height} pixels are too many")))?;
    resvg::render(&tree, Transform::from_scale(scale, scale), &mut picture.as_mut());
    picture.encode_png().map_err(|error| PngError(error.to_string()))
}
