//! Pixels of the same picture: as large as the SVG asks for twice over, with curves and letters in it, whatever fonts
//! the machine has.

#![cfg(feature = "png")]
#![allow(clippy::unwrap_used, reason = "a test that cannot set itself up should fail loudly")]

use cosimo_plot::{Axis, Figure, Panel, Series, Style};
use resvg::tiny_skia::Pixmap;

fn drawn(title: &str, series: Vec<Series>) -> Pixmap {
    let panel = Panel { series, ..Panel::new("", Axis::linear(""), Axis::linear("")) };
    Pixmap::decode_png(&Figure::new(title, vec![panel]).sized(400.0, 300.0).png().unwrap()).unwrap()
}

/// Pixels of a part of the picture that are close to a colour.
fn count(picture: &Pixmap, rows: std::ops::Range<u32>, colour: [u8; 3]) -> usize {
    let width = picture.width();
    let near = |pixel: u32| {
        let found = picture.pixels()[pixel as usize];
        let parts = [found.red(), found.green(), found.blue()];
        parts.iter().zip(colour).all(|(found, wanted)| found.abs_diff(wanted) < 24)
    };
    (rows.start * width..rows.end * width).filter(|pixel| near(*pixel)).count()
}

const INK: [u8; 3] = [0x24, 0x29, 0x2f];

#[test]
fn curves_have_their_colours_on_white() {
    let line = |y: f64| vec![(0.0, y), (1.0, 1.0 - y)];
    let two = vec![Series::new("a", line(0.0)), Series::new("b", line(1.0)).styled(Style::Dashed)];
    let picture = drawn("", two);
    assert_eq!((picture.width(), picture.height()), (800, 600));
    let all = 0..600;
    assert!(count(&picture, all.clone(), [0x00, 0x72, 0xb2]) > 1000);
    let dashed = count(&picture, all.clone(), [0xd5, 0x5e, 0x00]);
    assert!((300..1900).contains(&dashed), "{dashed}");
    assert!(count(&picture, all, [255, 255, 255]) > 300_000);
}

#[test]
fn letters_are_there_without_fonts_of_the_machine() {
    let titled = |title: &str| count(&drawn(title, Vec::new()), 0..64, INK);
    // Each letter has ink, and another one than its neighbour.
    for letters in ["x", "Δω", "Ж", "µ²", "₁→", "−≤"] {
        assert!(titled(letters) > 40, "{letters}: {}", titled(letters));
    }
    assert_ne!(titled("Δ"), titled("ω"));
    assert!(titled("a long title") > 3 * titled("a"));
}

#[test]
fn very_many_panels_have_their_limit() {
    let panels = (0..200).map(|_| Panel::new("", Axis::linear(""), Axis::linear(""))).collect();
    let picture = Pixmap::decode_png(&Figure::new("", panels).png().unwrap()).unwrap();
    assert!(picture.height() <= 16_000 && picture.width() > 100, "{}", picture.height());
}
