//! `cosimo analyse stability`: the spectral radius of the engine's own step over its size, the largest stable step, and
//! the connection that limits it.

use std::path::PathBuf;

use cosimo::analysis::forecast::three_digits;
use cosimo::analysis::stability::{Limit, ProbeMethod, StabilityError};
use cosimo::analysis::survey::{OpenedConnection, Survey, SurveyPoint, survey};
use cosimo::analysis::variant::{VariantError, describe, with_methods};
use cosimo::core::Registry;
use cosimo::core::math;
use cosimo::plot::{Axis, Figure, Panel, Series, Style};
use cosimo::system::System;
use serde::Serialize;

use super::{Subject, coded, constant_step, isolated};
use crate::{picture, report};

/// Spectral radius of a macro step over its size; the largest stable step, and the connection that limits it
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    subject: Subject,
    /// A step size, or a range from:to:count in equal ratios [default: around the step of the file]
    #[arg(long, value_name = "H|A:B:N", allow_hyphen_values = true)]
    step: Option<String>,
    /// Methods to compare, e.g. hold,linear,gauss-seidel+causal [default: those of the file]
    #[arg(long = "methods", value_name = "NAMES", value_delimiter = ',')]
    compared: Vec<String>,
    /// Instants, in seconds, at which a nonlinear system is linearised [default: after a few steps]
    #[arg(long, value_name = "T", value_delimiter = ',', allow_hyphen_values = true)]
    at: Vec<f64>,
    /// Draw the radius over the step: .svg or .png
    #[arg(short, long = "out", value_name = "FILE")]
    out: Option<PathBuf>,
}

#[derive(Serialize)]
struct Stability {
    methods: Vec<StabilityCurve>,
}

/// One curve: a method at an instant.
#[derive(Serialize)]
struct StabilityCurve {
    method: String,
    #[serde(flatten)]
    survey: Survey,
}

pub(crate) fn run(args: &Args) -> Result<(), u8> {
    let registry = cosimo::registry();
    let (single, range) = steps(args.step.as_deref())?;
    if let Some(out) = &args.out {
        picture::drawable(out)?;
    }
    if let Some(wrong) = args.at.iter().find(|at| !at.is_finite()) {
        return Err(report::refused(format!("`--at {wrong}`: must be a finite number"), None));
    }
    let system = args.subject.system(single.or(range.as_ref().map(|range| range[0])), &registry)?;
    let own = constant_step(&system)?;
    let sizes = range.unwrap_or_else(|| around(own));
    isolated(|| analyse(args, &system, &registry, &sizes))
}

fn analyse(args: &Args, system: &System, registry: &Registry, sizes: &[f64]) -> Result<(), u8> {
    let instants: Vec<Option<f64>> =
        if args.at.is_empty() { vec![None] } else { args.at.iter().copied().map(Some).collect() };
    let mut methods = Vec::new();
    for (title, system) in variants(args, system, registry)? {
        for at in &instants {
            methods.push(measure(&title, &system, registry, *at, sizes)?);
        }
    }
    let found = Stability { methods };
    args.subject.print(&found, |name, found| print(name, &found.methods, args.at.len() > 1));
    match &args.out {
        Some(out) => picture::write(&figure(&args.subject.name(), &found.methods), out),
        None => Ok(()),
    }
}

type Steps = (Option<f64>, Option<Vec<f64>>);

/// One size, or sizes in equal ratios.
fn steps(text: Option<&str>) -> Result<Steps, u8> {
    let Some(text) = text else { return Ok((None, None)) };
    let wrong = || {
        let message =
            format!("`--step {text}`: must be a finite number above 0, or a range such as 1e-3:1e-1:20");
        report::refused(
            message,
            Some("from and to are finite numbers above 0 in rising order, count is from 2 to 1000"),
        )
    };
    let parts: Vec<&str> = text.split(':').collect();
    let number = |part: &str| part.parse::<f64>().ok().filter(|size| size.is_finite() && *size > 0.0);
    match parts[..] {
        [one] => Ok((Some(number(one).ok_or_else(wrong)?), None)),
        [from, to, count] => {
            let (from, to) = number(from).zip(number(to)).filter(|(from, to)| from < to).ok_or_else(wrong)?;
            let count: i32 =
                count.parse().ok().filter(|count| (2..=1000).contains(count)).ok_or_else(wrong)?;
            let ratio = math::powf(to / from, 1.0 / f64::from(count - 1));
            let sizes = (0..count).map(|k| if k + 1 == count { to } else { from * math::powi(ratio, k) });
            Ok((None, Some(sizes.collect())))
        }
        _ => Err(wrong()),
    }
}

/// Four halvings and four doublings.
fn around(size: f64) -> Vec<f64> {
    (-4..=4).map(|k| size * math::powi(2.0, k)).collect()
}

fn variants(args: &Args, system: &System, registry: &Registry) -> Result<Vec<(String, System)>, u8> {
    if args.compared.is_empty() {
        return Ok(vec![(describe(system), system.clone())]);
    }
    let named = |names: &String| match with_methods(system, names, registry) {
        Ok(changed) => Ok((names.clone(), changed)),
        Err(VariantError::Unknown(name, hint)) => {
            Err(report::refused(format!("`--methods`: no method is called `{name}`"), Some(&hint)))
        }
        Err(error) => Err(report::refused(error, None)),
    };
    args.compared.iter().map(named).collect()
}

fn measure(
    title: &str,
    system: &System,
    registry: &Registry,
    at: Option<f64>,
    sizes: &[f64],
) -> Result<StabilityCurve, u8> {
    let survey = survey(system, registry, at, sizes).map_err(|error| {
        if let StabilityError::Variant(error) = &error {
            return coded(error.code(), &format!("{title}: {error}"), None);
        }
        let hint = match error {
            StabilityError::NothingExchanged => Some("connect components by `[[connection]]` or `[[bond]]`"),
            _ => None,
        };
        coded(error.code(), &error, hint)
    })?;
    Ok(StabilityCurve { method: title.into(), survey })
}

fn print(name: &str, all: &[StabilityCurve], several: bool) {
    println!("{name}: spectral radius of one step; below 1 a disturbance decays, above 1 it grows");
    let heading = |measured: &StabilityCurve| {
        if several {
            format!("{} at {} s", measured.method, measured.survey.at)
        } else {
            measured.method.clone()
        }
    };
    let width = all.iter().map(|measured| heading(measured).chars().count()).max().unwrap_or(0).max(12);
    print!("\n{:<12}", "step s");
    all.iter().for_each(|measured| print!("  {:>width$}", heading(measured)));
    println!();
    for (k, SurveyPoint { step, .. }) in all[0].survey.points.iter().enumerate() {
        print!("{:<12}", format!("{step:.4e}"));
        for measured in all {
            let radius = measured.survey.points[k].radius;
            let mark = if radius > 1.0 + 1e-7 { "*" } else { " " };
            print!("  {:>width$}", format!("{radius:.6}{mark}"));
        }
        println!();
    }
    println!("\n* unstable");
    for measured in all {
        println!("\n{}:", heading(measured));
        for line in lines(measured) {
            println!("  {line}");
        }
    }
}

fn lines(measured: &StabilityCurve) -> Vec<String> {
    let survey = &measured.survey;
    let mut lines = Vec::new();
    if let Some(rate) = survey.growth_of_system {
        lines.push(format!(
            "the system itself is unstable: it grows by e in {} s, so a radius above 1 is right",
            three_digits(1.0 / rate)
        ));
    }
    lines.push(limit_text(survey.limit));
    if let Some(limiting) = &survey.limiting {
        let at = format!("at {} s the radius is {:.4}", three_digits(limiting.step), limiting.radius);
        lines.push(match limiting.culprit() {
            Some(OpenedConnection { connection, radius }) => {
                format!("limited by `{connection}`: {at}, and {radius:.4} with it held constant")
            }
            None => format!("not limited by a single connection: {at}, whichever is held constant"),
        });
    }
    let counted =
        format!("{} states, {} samples and cells of memory", survey.states, survey.cells - survey.states);
    lines.push(match survey.how {
        ProbeMethod::States => format!(
            "measured at t = {} s by perturbing one of {counted} at a time",
            three_digits(survey.at)
        ),
        ProbeMethod::Models => format!(
            "measured at t = {} s on linear models of the components, since one exposes no states, by perturbing one of \
             {counted} at a time: modes that no exchanged value excites or shows are not included",
            three_digits(survey.at)
        ),
        ProbeMethod::Growth => format!(
            "measured at t = {} s by the growth of disturbances over many steps of linear models of the components, since one \
             step is no linear map of {counted}",
            three_digits(survey.at)
        ),
    });
    if survey.unseen > 0 {
        lines.push(format!(
            "{} modes are left out, as they are not observable in exchanged outputs",
            survey.unseen
        ));
    }
    lines
}

fn limit_text(limit: Limit) -> String {
    match limit {
        Limit::At(size) => format!("largest stable step {size:.6e} s"),
        Limit::Beyond(size) => format!("stable up to {} s; larger steps were not tested", three_digits(size)),
        Limit::System(_) => "no step is stable".into(),
        Limit::Never => {
            "unstable at every step size: the gain of the loop of direct feed-throughs is too large".into()
        }
    }
}

fn figure(name: &str, all: &[StabilityCurve]) -> Figure {
    let mut panel =
        Panel::new("Above 1 is unstable", Axis::log("step in s"), Axis::linear("spectral radius"));
    for StabilityCurve { method, survey } in all {
        let title = format!("{method}, t = {} s", three_digits(survey.at));
        let points = survey.points.iter().map(|point| (point.step, point.radius));
        panel = panel.with(Series::new(title, points.collect()));
    }
    let points = &all[0].survey.points;
    let ends = vec![(points[0].step, 1.0), (points[points.len() - 1].step, 1.0)];
    Figure::new(format!("{name}: stability"), vec![panel.with(Series::new("", ends).styled(Style::Dashed))])
}
