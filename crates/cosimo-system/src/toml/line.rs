//! The `line` of a bond: a delay in the place of two wires.

use cosimo_core::entry::Range;
use cosimo_core::line::Between;

use super::Context;
use super::method::choice;
use super::section::{Item, Section};
use crate::problem::{Problem, Span};
use crate::recipe::Choice;
use crate::system::{Boundary, Impedances, LineDecl};

pub(crate) const LINE_KEYS: &[&str] = &[
    "delay",
    "impedance",
    "stiffness",
    "capacitance",
    "interpolation",
    "control",
    "steady",
    "factor",
    "most",
    "hold",
    "linked",
    "announced",
    "rollback",
    "repay",
    "impedances",
    "boundary",
    "mass_a",
    "mass_b",
];

pub(crate) const BETWEEN: &[(&str, Between)] = &[("linear", Between::Linear), ("hermite", Between::Hermite)];
/// Whether there is one.
pub(crate) const CONTROL: &[(&str, bool)] = &[("none", false), ("steady-state", true)];
pub(crate) const IMPEDANCES: &[(&str, Impedances)] =
    &[("own", Impedances::Own), ("common", Impedances::Common)];
pub(crate) const BOUNDARY: &[(&str, Boundary)] = &[
    ("best", Boundary::Best),
    ("inside", Boundary::Inside),
    ("corrected", Boundary::Corrected),
    ("semi-implicit", Boundary::SemiImplicit),
    ("mid-step", Boundary::MidStep),
    ("held", Boundary::Held),
];
/// The test where none is named.
pub(crate) const STEADY: &str = "sliding-window";

impl LineDecl {
    /// With nothing else said.
    pub fn of(delay: f64, impedance: f64) -> LineDecl {
        LineDecl {
            delay,
            impedance,
            between: Between::default(),
            steady: None,
            factor: [1.0; 2],
            // A larger one saves hardly more and errs several times as much.
            most: [8.0; 2],
            hold: 0.0,
            linked: true,
            announced: true,
            rollback: true,
            repay: 0.0,
            impedances: Impedances::default(),
            boundary: Boundary::default(),
            mass: [None; 2],
            span: 0..0,
        }
    }
}

pub(super) fn read(
    item: &Item<'_>,
    bond: &str,
    context: &Context<'_>,
    out: &mut Vec<Problem>,
) -> Option<LineDecl> {
    let section = Section::open(format!("`line` of {bond}"), item.value, LINE_KEYS, out)?;
    let delay = section.required("delay", "delay = 1e-4", out);
    let delay = delay.and_then(|item| item.number(Range::Positive, out));
    let impedance = impedance(&section, item.whole(), delay.unwrap_or(f64::NAN), out);
    let mut line =
        LineDecl { span: item.whole(), ..LineDecl::of(delay.unwrap_or(1.0), impedance.unwrap_or(1.0)) };
    set(&mut line.between, section.one_of("interpolation", BETWEEN, out));
    let named = section.get("steady").map(|item| (choice("steadiness", "steady", &item, context, out), item));
    // What control was meant where it could not be read is not known.
    let control = section.one_of("control", CONTROL, out).unwrap_or(section.get("control").is_some());
    line.steady = match named {
        Some((_, item)) if !control => {
            let message =
                format!("`steady` of {} has no effect where delays are not controlled", section.title);
            out.push(
                Problem::error("system/conflict", message, item.key_span.clone())
                    .label("the test for standing still")
                    .hint("write `control = \"steady-state\"` beside it"),
            );
            None
        }
        Some((chosen, _)) => chosen,
        None => control.then(|| Choice::named(STEADY)),
    };
    set(&mut line.factor, pair(&section, "factor", out));
    match pair(&section, "most", out) {
        Some(most) => line.most = most,
        None if line.steady.is_none() => line.most = line.factor,
        None => {}
    }
    if (0..2).any(|side| line.most[side] < line.factor[side])
        && let Some(item) = section.get("most").or(section.get("factor"))
    {
        let message =
            format!("`factor` of {} is above `most`: {:?} and {:?}", section.title, line.factor, line.most);
        out.push(Problem::error("system/value", message, item.span()).label("the limits cross"));
    }
    set(&mut line.hold, section.number("hold", Range::NotNegative, out));
    set(&mut line.linked, section.flag("linked", out));
    set(&mut line.announced, section.flag("announced", out));
    set(&mut line.rollback, section.flag("rollback", out));
    set(&mut line.repay, section.number("repay", Range::NotNegative, out));
    set(&mut line.impedances, section.one_of("impedances", IMPEDANCES, out));
    set(&mut line.boundary, section.one_of("boundary", BOUNDARY, out));
    line.mass = ["mass_a", "mass_b"].map(|key| section.number(key, Range::Positive, out));
    Some(line)
}

fn set<T>(place: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *place = value;
    }
}

/// Said in one of three ways: Z = k D = D / C.
fn impedance(section: &Section<'_>, span: Span, delay: f64, out: &mut Vec<Problem>) -> Option<f64> {
    const WAYS: [&str; 3] = ["impedance", "stiffness", "capacitance"];
    let given: Vec<Item<'_>> = WAYS.iter().filter_map(|key| section.get(key)).collect();
    let [item] = &given[..] else {
        let (message, label) = match given.len() {
            0 => (format!("{} needs `impedance`", section.title), "`impedance` is missing"),
            _ => (format!("{} says its impedance in {} ways", section.title, given.len()), "which of them?"),
        };
        out.push(
            Problem::error("system/missing", message, span).label(label).hint(
                "one of `impedance` (effort per flow), `stiffness` (impedance / delay), `capacitance` (delay / impedance)",
            ),
        );
        return None;
    };
    let number = item.number(Range::Positive, out)?;
    Some(match item.key {
        "stiffness" => number * delay,
        "capacitance" => delay / number,
        _ => number,
    })
}

/// One number for both sides, or one for each.
fn pair(section: &Section<'_>, key: &str, out: &mut Vec<Problem>) -> Option<[f64; 2]> {
    const WANTED: &str = "a number of at least 1, or one for each side";
    let item = section.get(key)?;
    let number =
        |item: &Item<'_>| item.number(Range::Finite, &mut Vec::new()).filter(|number| *number >= 1.0);
    let pair = match item.list().as_deref() {
        None => number(&item).map(|both| [both; 2]),
        Some([a, b]) => number(a).zip(number(b)).map(|(a, b)| [a, b]),
        Some(_) => None,
    };
    if pair.is_none() {
        out.push(item.wrong(WANTED));
    }
    pair
}
