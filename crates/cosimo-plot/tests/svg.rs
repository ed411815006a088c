//! What a reader of the file may rely on: well-formed XML, nothing lost that could be seen, same bytes each time.

#![allow(clippy::disallowed_methods, reason = "what tests expect may come from the C library")]

use cosimo_plot::{Axis, Figure, Panel, PngError, Series, Style};
use roxmltree::{Document, Node};

fn panel(series: Vec<Series>) -> Panel {
    Panel { series, ..Panel::new("panel", Axis::linear("x"), Axis::linear("y")) }
}

fn one(points: Vec<(f64, f64)>, style: Style) -> Figure {
    Figure::new("", vec![panel(vec![Series::new("", points).styled(style)])])
}

/// The curves, without their samples in the legend.
fn curves<'a>(document: &'a Document<'_>) -> Vec<&'a str> {
    let class = |node: &Node<'_, '_>| node.attribute("class").unwrap_or("").to_string();
    let is_curve = |node: &Node<'_, '_>| class(node).contains("curve") && !class(node).contains("sample");
    document.descendants().filter(is_curve).filter_map(|node| node.attribute("d")).collect()
}

/// Corner points of a path made of M, L, H, V and h0.
fn corners(path: &str) -> Vec<(f64, f64)> {
    let mut at = (0.0, 0.0);
    let mut all = Vec::new();
    let commands = path.replace("h0", "");
    let starts: Vec<usize> = commands.match_indices(|c: char| c.is_ascii_uppercase()).map(|m| m.0).collect();
    for (index, &start) in starts.iter().enumerate() {
        let end = starts.get(index + 1).copied().unwrap_or(commands.len());
        let numbers: Vec<f64> = commands[start + 1..end].split(' ').flat_map(str::parse).collect();
        match (&commands[start..=start], &numbers[..]) {
            ("M" | "L", [x, y]) => at = (*x, *y),
            ("H", [x]) => at.0 = *x,
            ("V", [y]) => at.1 = *y,
            other => panic!("{other:?}"),
        }
        all.push(at);
    }
    all
}

fn texts(document: &Document<'_>) -> Vec<String> {
    let whole = |node: Node<'_, '_>| {
        node.descendants().filter_map(|part| part.text()).next().unwrap_or("").to_string()
    };
    document.descendants().filter(|node| node.has_tag_name("text")).map(whole).collect()
}

#[test]
fn every_series_is_one_path_and_every_name_is_in_the_legend() {
    let series = |name: &str| Series::new(name, vec![(0.0, 1.0), (1.0, 2.0)]);
    let figure = Figure::new("title", vec![panel(vec![series("a"), series("b")]), panel(vec![series("c")])]);
    let svg = figure.svg();
    let document = Document::parse(&svg).unwrap();
    assert_eq!(document.root_element().tag_name().name(), "svg");
    assert_eq!(curves(&document).len(), 3);
    let texts = texts(&document);
    for wanted in ["title", "panel", "x", "y", "a", "b", "c"] {
        assert!(texts.iter().any(|text| text == wanted), "{wanted} is missing in {texts:?}");
    }
}

#[test]
fn hostile_text_stays_text() {
    let evil = "</svg><script>&\"'\u{0}\u{1b}\n]]>";
    let axis = || Axis::linear(evil);
    let panel = Panel::new(evil, axis(), axis()).with(Series::new(evil, vec![(0.0, 0.0), (1.0, 1.0)]));
    let svg = Figure::new(evil, vec![panel]).svg();
    let document = Document::parse(&svg).unwrap();
    assert!(!document.descendants().any(|node| node.has_tag_name("script")));
    assert!(texts(&document).iter().any(|text| text.contains("<script>&\"'")));
}

#[test]
fn a_million_points_stay_small_and_keep_their_extremes() {
    for style in [Style::Line, Style::Dashed, Style::Steps, Style::Dots] {
        let noisy = |i: u32| (f64::from(i) * 0.7).sin() + f64::from(i % 13) / 13.0;
        let points = (0..1_000_000).map(|i| {
            let y = match i {
                123_457 => 50.0,
                876_543 => -50.0,
                _ => noisy(i),
            };
            (f64::from(i), y)
        });
        let svg = one(points.collect(), style).svg();
        assert!(svg.len() < 500_000, "{style:?}: {} bytes", svg.len());
        let document = Document::parse(&svg).unwrap();
        let corners = corners(curves(&document)[0]);
        let frame = document.descendants().find(|node| node.attribute("class") == Some("frame")).unwrap();
        let height: f64 = frame.attribute("height").unwrap().parse().unwrap();
        // 5 % of the data's span is free at both ends.
        let (top, bottom) = (height * 0.05 / 1.1, height * 1.05 / 1.1);
        let ys = || corners.iter().map(|corner| corner.1);
        assert!((ys().fold(f64::MAX, f64::min) - top).abs() < 0.01, "{style:?}");
        assert!((ys().fold(f64::MIN, f64::max) - bottom).abs() < 0.01, "{style:?}");
    }
}

#[test]
fn worst_cases_stay_small() {
    let spiral = (0..1_000_000).map(|i| (f64::from(i) * 1.7).sin_cos()).collect();
    let torn = (0..1_000_000)
        .map(|i| (f64::from(i), if i % 2 == 0 { f64::NAN } else { f64::from(i % 97) }))
        .collect();
    for points in [spiral, torn] {
        for style in [Style::Line, Style::Steps, Style::Dots] {
            let svg = one(Clone::clone(&points), style).svg();
            assert!(svg.len() < 500_000, "{style:?}: {} bytes", svg.len());
            Document::parse(&svg).unwrap();
        }
    }
}

#[test]
fn points_that_are_not_finite_interrupt_the_line() {
    let nan = f64::NAN;
    let points =
        vec![(0.0, 0.0), (1.0, 1.0), (2.0, nan), (3.0, 1.0), (f64::INFINITY, 1.0), (5.0, 0.0), (6.0, 1.0)];
    let svg = one(points, Style::Line).svg();
    let document = Document::parse(&svg).unwrap();
    let path = curves(&document)[0];
    assert_eq!(path.matches('M').count(), 3);
    assert_eq!(path.matches("h0").count(), 1, "the lonely point is drawn as a dot: {path}");
    assert!(!svg.contains("NaN") && !svg.contains("inf"));
}

#[test]
fn log_axes_skip_what_is_not_positive() {
    let points = vec![(0.0, 1.0), (1.0, 10.0), (2.0, 0.0), (3.0, -1.0), (4.0, 1e-300), (5.0, 1.0)];
    let panel = Panel::new("", Axis::linear("x"), Axis::log("y")).with(Series::new("", points));
    let svg = Figure::new("", vec![panel]).svg();
    let document = Document::parse(&svg).unwrap();
    let path = curves(&document)[0];
    assert_eq!((path.matches('M').count(), corners(path).len()), (2, 4));
    assert!(!svg.contains("NaN") && !svg.contains("inf"));
}

#[test]
fn steps_hold_until_the_next_point() {
    let svg = one(vec![(0.0, 0.0), (1.0, 1.0), (2.0, 1.0), (3.0, 0.0)], Style::Steps).svg();
    let document = Document::parse(&svg).unwrap();
    let letters: String = curves(&document)[0].chars().filter(char::is_ascii_alphabetic).collect();
    assert_eq!(letters, "MHVHHV");
}

#[test]
fn odd_figures_are_still_pictures() {
    let odd_points: [Vec<(f64, f64)>; 8] = [
        vec![],
        vec![(1.0, 1.0)],
        vec![(0.0, 5.0), (0.0, 5.0)],
        vec![(f64::NAN, f64::NAN)],
        vec![(0.0, -1e308), (1.0, 1e308)],
        vec![(-f64::MAX, f64::MAX), (f64::MAX, -f64::MAX)],
        vec![(0.0, 5e-324), (5e-324, 0.0)],
        vec![(1e15, 1.0), (1e15 + 1.0, 1.0 + 1e-15)],
    ];
    let axes = [
        Axis::linear("linear"),
        Axis::log("log"),
        Axis::linear("").between(f64::NAN, 1.0),
        Axis::log("").between(1.0, 1.0),
        Axis::linear("").between(-1e-300, 1e-300),
        Axis::linear("").between(1.0, 1.0 + f64::EPSILON),
    ];
    for points in &odd_points {
        for style in [Style::Line, Style::Dashed, Style::Steps, Style::Dots] {
            for x in &axes {
                for y in &axes {
                    let series = Series::new("odd", points.clone()).styled(style);
                    let panel = Panel::new("", x.clone(), y.clone()).with(series);
                    let svg = Figure::new("", vec![panel]).svg();
                    Document::parse(&svg).unwrap();
                    assert!(!svg.contains("NaN") && !svg.contains("inf"), "{points:?} {x:?} {y:?}");
                }
            }
        }
    }
    for (width, height) in [(0.0, 0.0), (-5.0, f64::NAN), (f64::INFINITY, 10.0), (f64::NAN, f64::INFINITY)] {
        for panels in [vec![], vec![panel(vec![]); 5]] {
            let svg = Figure { columns: 0, ..Figure::new("t", panels).sized(width, height) }.svg();
            Document::parse(&svg).unwrap();
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{width} {height}");
        }
    }
}

#[test]
fn curves_outside_given_limits_are_clipped() {
    let series = || Series::new("", vec![(0.0, 0.0), (1.0, 1e12)]);
    let overflow = |panel: Panel| {
        let svg = Figure::new("", vec![panel]).svg();
        let document = Document::parse(&svg).unwrap();
        let inner = document.descendants().find_map(|node| node.attribute("overflow").map(String::from));
        inner.unwrap()
    };
    let y = Axis::linear("y");
    assert_eq!(overflow(Panel::new("", Axis::linear("x"), y.clone()).with(series())), "visible");
    assert_eq!(overflow(Panel::new("", Axis::linear("x"), y.between(0.0, 1.0)).with(series())), "hidden");
}

#[test]
fn panels_of_a_column_line_up() {
    let wide = panel(vec![Series::new("a", vec![(0.0, 0.0), (1.0, 99_999.5)])]);
    let narrow = panel(vec![Series::new("a", vec![(0.0, 0.0), (1.0, 1.0)])]);
    let svg = Figure::new("", vec![wide, narrow]).svg();
    let document = Document::parse(&svg).unwrap();
    let frames = document.descendants().filter(|node| node.attribute("class") == Some("frame"));
    let lefts: Vec<&str> = frames.map(|frame| frame.attribute("x").unwrap()).collect();
    assert_eq!(lefts.len(), 2);
    assert_eq!(lefts[0], lefts[1]);
}

#[test]
fn both_backgrounds_are_served_and_the_bytes_repeat() {
    let figure = one((0..500).map(|i| (f64::from(i), f64::from(i).sin())).collect(), Style::Line);
    assert!(figure.svg().contains("prefers-color-scheme:dark"));
    assert_eq!(figure.svg(), figure.svg());
}

#[test]
fn a_build_without_png_says_so() {
    let drawn = Figure::new("", Vec::new()).png();
    assert_eq!(drawn == Err(PngError::NoFeature), !Figure::DRAWS_PNG);
    assert_eq!(PngError::NoFeature.to_string(), "this build of Cosimo draws no PNG files");
}
