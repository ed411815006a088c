//! The picture of a system: where units lie, and what lines say.

#![allow(clippy::unwrap_used, reason = "a test that cannot set itself up should fail loudly")]

use cosimo_engine::{BondSummary, BondTotals, MonolithicReference, Summary};
use cosimo_report::{
    BondEdge, Curves, Diagram, DiagramBox, LineEdge, Reasons, Rejections, Report, RunEnd, SignalEdge, write,
};

/// A column and a row of the grid, the box in it, and columns of the page.
const CELL: (f64, f64) = (244.0, 84.0);
const BOX: (f64, f64) = (138.0, 46.0);
const COLUMNS: usize = 5;

/// Units that are joined by bonds of two sides, as pairs.
fn diagram(units: usize, pairs: &[(usize, usize)]) -> Diagram {
    let unit = |k: usize| DiagramBox { name: format!("u{k}"), ..DiagramBox::default() };
    let tie = |(k, (a, b)): (usize, &(usize, usize))| BondEdge { name: format!("b{k}"), ends: vec![*a, *b] };
    Diagram {
        units: (0..units).map(unit).collect(),
        signals: Vec::new(),
        bonds: pairs.iter().enumerate().map(tie).collect(),
        lines: Vec::new(),
    }
}

/// The picture as it stands in a page; `None` where there is none.
fn drawn(diagram: &Diagram, ledger: &[BondSummary]) -> Option<String> {
    let (summary, curves) = (Summary { bonds: ledger.to_vec(), ..Summary::default() }, Curves::default());
    let report = Report {
        name: "",
        file: "",
        outcome: RunEnd::Finished,
        summary: &summary,
        accuracy: None,
        energy: "",
        span: (0.0, 1.0),
        reasons: "",
        computing: None,
        threads: 1,
        monolithic: MonolithicReference::default(),
        warnings: &[],
        diagram: Some(diagram),
        plan: "",
        components: &[],
        inputs: &[],
        origin: &[],
        curves: &curves,
        books: &curves,
        why: &Reasons::default(),
        rejections: &Rejections::default(),
    };
    let mut page = Vec::new();
    write(&report, &mut page).unwrap();
    let page = String::from_utf8(page).unwrap();
    let (_, picture) = page.split_once("<svg class=diagram")?;
    picture.split_once("</svg>").map(|(picture, _)| picture.to_owned())
}

fn numbers(text: &str) -> Vec<f64> {
    text.split([' ', '=', '"']).filter_map(|word| word.parse().ok()).collect()
}

/// The middles of all units, and the size of the picture.
fn layout(diagram: &Diagram) -> (Vec<(f64, f64)>, (f64, f64)) {
    let svg = drawn(diagram, &[]).unwrap();
    let corner = |unit: &str| numbers(unit.split_once("<rect ").unwrap().1.split_once(" width").unwrap().0);
    let middle = |corner: Vec<f64>| (corner[0] + BOX.0 / 2.0, corner[1] + BOX.1 / 2.0);
    let size = numbers(svg.split_once("viewBox=\"0 0 ").unwrap().1.split_once(" style").unwrap().0);
    (svg.split("<g class=unit>").skip(1).map(corner).map(middle).collect(), (size[0], size[1]))
}

fn places(diagram: &Diagram) -> Vec<(f64, f64)> {
    layout(diagram).0
}

#[test]
fn no_two_units_lie_in_one_place_and_all_lie_inside() {
    let ring: Vec<(usize, usize)> = (0..100).map(|k| (k, (k + 1) % 100)).collect();
    let star: Vec<(usize, usize)> = (1..30).map(|k| (0, k)).collect();
    let pairs: Vec<(usize, usize)> = (0..25).map(|k| (2 * k, 2 * k + 1)).collect();
    let complete: Vec<(usize, usize)> = (0..7).flat_map(|a| (a + 1..7).map(move |b| (a, b))).collect();
    for (units, joined) in [(100, ring), (30, star), (50, pairs), (7, complete), (3, vec![])] {
        let diagram = diagram(units, &joined);
        let (places, (width, height)) = layout(&diagram);
        assert!(width <= COLUMNS as f64 * CELL.0, "{width}");
        for (k, a) in places.iter().enumerate() {
            assert!(a.0 > BOX.0 / 2.0 && a.0 + BOX.0 / 2.0 < width, "{units}: {a:?}");
            assert!(a.1 > BOX.1 / 2.0 && a.1 + BOX.1 / 2.0 < height, "{units}: {a:?}");
            for b in &places[..k] {
                let apart = (a.0 - b.0).abs() >= CELL.0 - 1.0 || (a.1 - b.1).abs() >= BOX.1 + 20.0;
                assert!(apart, "{units}: {a:?} {b:?}");
            }
        }
    }
}

#[test]
fn neighbours_of_a_chain_are_neighbours_in_the_picture() {
    let chain: Vec<(usize, usize)> = (0..11).map(|k| (k, k + 1)).collect();
    let places = places(&diagram(12, &chain));
    for pair in places.windows(2) {
        let (dx, dy) = ((pair[1].0 - pair[0].0).abs(), (pair[1].1 - pair[0].1).abs());
        assert!((dx, dy) == (CELL.0, 0.0) || (dx, dy) == (0.0, CELL.1), "{places:?}");
    }
}

#[test]
fn lines_of_a_ladder_do_not_cross() {
    // Two chains side by side, listed crosswise: sorting puts them straight.
    let pairs = [(0, 1), (0, 2), (1, 4), (2, 3), (4, 6), (3, 5)];
    let places = places(&diagram(7, &pairs));
    let above = |a: usize, b: usize| places[a].1 < places[b].1;
    assert_eq!(above(1, 2), above(4, 3));
    assert_eq!(above(4, 3), above(6, 5));
}

#[test]
fn a_source_stands_first_and_a_junction_gets_a_knot() {
    let mut wired = diagram(3, &[]);
    wired.signals = vec![
        SignalEdge { from: 2, to: 0, signals: vec!["u2.y → u0.u".into()] },
        SignalEdge { from: 0, to: 1, signals: vec!["u0.a → u1.a".into(), "u0.b → u1.b".into()] },
    ];
    let at = places(&wired);
    assert!(at[2].0 < at[0].0 && at[0].0 < at[1].0, "{at:?}");
    let svg = drawn(&wired, &[]).unwrap();
    assert!(svg.contains(">y</text>") && svg.contains(">2 signals</text>"), "{svg}");
    let mut joint = diagram(3, &[]);
    joint.bonds = vec![BondEdge { name: "node".into(), ends: vec![0, 1, 2] }];
    let svg = drawn(&joint, &[]).unwrap();
    assert_eq!((svg.matches("<circle").count(), svg.matches("class=\"line bond").count()), (1, 3));
    assert_eq!(svg.matches(">node</text>").count(), 1);
}

#[test]
fn the_arrow_goes_where_the_energy_went() {
    let ledger = |transmitted: f64| {
        let totals = BondTotals { transmitted, exchanged: 10.0, residual: 0.0, residual_absolute: 0.5 };
        [BondSummary { name: "b0".into(), totals, share: 0.05, scale: totals.exchanged, power_error: 0.0 }]
    };
    let pair = diagram(2, &[(0, 1)]);
    let tip = |transmitted: f64| {
        let svg = drawn(&pair, &ledger(transmitted)).unwrap();
        assert!(svg.contains("class=\"line bond large\"") && svg.contains("b0 8.000 J"), "{svg}");
        let (_, rest) = svg.split_once("<path class=head d=\"M").unwrap();
        rest.split_once(' ').unwrap().0.parse::<f64>().unwrap()
    };
    assert_eq!(tip(8.0), 1.5 * CELL.0 - BOX.0 / 2.0);
    assert_eq!(tip(-8.0), 0.5 * CELL.0 + BOX.0 / 2.0);
}

#[test]
fn a_line_is_hollow_and_has_its_delay() {
    let mut pair = diagram(2, &[]);
    pair.lines = vec![LineEdge { name: "shaft".into(), ends: (0, 1), delay: 1e-4, most: 8.0 }];
    let at = places(&pair);
    assert!((at[1].0 - at[0].0 - CELL.0).abs() < 1e-9, "{at:?}");
    let totals = BondTotals { transmitted: 8.0, exchanged: 10.0, residual: 0.0, residual_absolute: 0.0 };
    let ledger =
        [BondSummary { name: "shaft".into(), totals, share: 0.0, scale: totals.exchanged, power_error: 0.0 }];
    let svg = drawn(&pair, &ledger).unwrap();
    assert_eq!(svg.matches("class=\"line bond small delayed\"").count(), 1, "{svg}");
    assert_eq!(svg.matches("<path class=core").count(), 1);
    for words in [
        "line shaft\n",
        "delay 1e-4 s, up to 8.000 times that",
        ">shaft 8.000 J</text>",
        ">delay 1e-4 s</text>",
    ] {
        assert!(svg.contains(words), "{words} is missing: {svg}");
    }
    assert!(svg.contains("aria-label=\"2 simulators, 0 bonds, 0 connections, 1 line\""), "{svg}");
    // From one to itself there is nothing to draw.
    pair.lines[0].ends = (0, 0);
    assert!(!drawn(&pair, &ledger).unwrap().contains("delayed"));
}

#[test]
fn what_is_no_picture_is_not_drawn() {
    assert_eq!(drawn(&diagram(0, &[]), &[]), None);
    assert_eq!(drawn(&diagram(401, &[]), &[]), None);
    assert!(drawn(&diagram(400, &[]), &[]).is_some());
}
