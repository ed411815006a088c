//! The same picture as pixels: the SVG text, drawn by resvg with the fonts that lie beside this crate.
//!
//! Fonts of the machine are not asked for, so a figure is the same everywhere, and has its letters where there are no
//! fonts at all.

/// Why there is no picture.
#[derive(Debug, Clone, PartialEq)]
pub enum PngError {
    /// This build cannot draw pixels: the feature `png` is off.
    NoFeature,
    Undrawable(String),
}

impl std::fmt::Display for PngError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            PngError::NoFeature => write!(f, "this build of Cosimo draws no PNG files"),
            PngError::Undrawable(message) => write!(f, "cannot draw the figure as PNG: {message}"),
        }
    }
}

impl std::error::Error for PngError {}

#[cfg(not(feature = "png"))]
pub(crate) fn png(_svg: &str) -> Result<Vec<u8>, PngError> {
    Err(PngError::NoFeature)
}

#[cfg(feature = "png")]
pub(crate) use drawn::png;

#[cfg(feature = "png")]
mod drawn {
    use std::sync::Arc;

    use resvg::tiny_skia::{Pixmap, Transform};
    use resvg::usvg::{Options, Tree, fontdb};

    use super::PngError;

    /// Latin, Greek, Cyrillic and the signs of units and formulas. As narrow as widths are estimated.
    const REGULAR: &[u8] = include_bytes!("../assets/DejaVuSansCondensed.ttf");
    const BOLD: &[u8] = include_bytes!("../assets/DejaVuSansCondensed-Bold.ttf");

    /// Pixels per pixel of the SVG, for screens with small ones.
    const SCALE: f32 = 2.0;
    /// No side is longer, however many panels there are: memory grows with the square.
    const LONGEST: f32 = 16_000.0;

    pub(crate) fn png(svg: &str) -> Result<Vec<u8>, PngError> {
        let failed = |error: &dyn std::fmt::Display| PngError::Undrawable(error.to_string());
        let mut fonts = fontdb::Database::new();
        for font in [REGULAR, BOLD] {
            fonts.load_font_data(font.to_vec());
        }
        let family = fonts.faces().next().and_then(|face| Some(face.families.first()?.0.clone()));
        let family = family.ok_or_else(|| failed(&"its font does not open"))?;
        fonts.set_sans_serif_family(&family);
        let options = Options { fontdb: Arc::new(fonts), font_family: family, ..Options::default() };
        let tree = Tree::from_str(svg, &options).map_err(|error| failed(&error))?;
        let (width, height) = (tree.size().width(), tree.size().height());
        let scale = SCALE.min(LONGEST / width.max(height));
        let pixels = |size: f32| (size * scale).round().max(1.0) as u32;
        let mut picture = Pixmap::new(pixels(width), pixels(height))
            .ok_or_else(|| failed(&format!("{width} by {height} pixels are too many")))?;
        resvg::render(&tree, Transform::from_scale(scale, scale), &mut picture.as_mut());
        picture.encode_png().map_err(|error| failed(&error))
    }
}
