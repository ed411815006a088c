//! `cosimo reproduce`: the tables of the papers; printed, reference and measured values side by side.

use std::path::PathBuf;
use std::sync::Arc;

use clap::ValueEnum;
use cosimo::core::Registry;
use cosimo_papers::ecco_nepce::{self, Changes};
use cosimo_papers::fmu::ExportedFmus;
use cosimo_papers::{Cell, ECCO_NEPCE, PRE_STEP, ReproduceError, Row, Study, THESIS, TLM, Tolerance};
use indicatif::ProgressBar;
use serde::Serialize;

use crate::{exit, output, report};

/// Reproduce tables of published papers and compare
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Which papers
    paper: Paper,
    /// Only rows whose id begins with this, e.g. `003/III`, `000/6/constant`, `A2/SET1/stale` or `B2/STIFF`
    #[arg(long, value_name = "ID", default_value = "")]
    row: String,
    /// As JSON: an array of { id, value, printed }
    #[arg(long)]
    json: bool,
    /// A parameter of the model: component.parameter=value, or parameter=value
    #[arg(long = "set", value_name = "NAME=VALUE")]
    sets: Vec<String>,
    /// Step size in seconds; the initial one for rows with controlled steps
    #[arg(long, value_name = "H", allow_hyphen_values = true)]
    step: Option<f64>,
    /// Tolerance of rows with controlled steps
    #[arg(long, value_name = "R", allow_hyphen_values = true)]
    tolerance: Option<f64>,
    /// Run FMUs of this FMI version, exported from the native models
    #[arg(long, value_name = "1|2|3", value_parser = clap::value_parser!(u32).range(1..=3))]
    fmu: Option<u32>,
    /// Draw the figures of the papers into this folder, as SVG
    #[arg(long, value_name = "DIR")]
    plots: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Paper {
    /// Sadjina et al. 2017 (rows 003/...) and Sadjina & Pedersen 2019 (rows 000/...)
    EccoNepce,
    /// Genser & Benedikt 2018
    PreStep,
    /// Braun, Hällqvist & Fritzson 2023: transmission lines with delays that grow in steady state
    Tlm,
    /// Wu 2018: stability, order, residual power and causality of the dual mass, and a power steering in four cuts
    Thesis,
}

impl Paper {
    fn study(self) -> &'static Study {
        match self {
            Paper::EccoNepce => &ECCO_NEPCE,
            Paper::PreStep => &PRE_STEP,
            Paper::Thesis => &THESIS,
            Paper::Tlm => &TLM,
        }
    }
}

pub(crate) fn run(args: &Args) -> Result<(), u8> {
    let study = args.paper.study();
    let registry = cosimo::registry();
    let bad = |error: &dyn std::fmt::Display| report::refused(error, None);
    for (given, takes, option) in [
        (args.fmu.is_some(), study.fmus, "--fmu"),
        (args.tolerance.is_some(), study.tolerances, "--tolerance"),
    ] {
        if given && !takes {
            let message = format!("`{option}` does not apply to these tables");
            return Err(report::refused(message, Some("leave it out")));
        }
    }
    let fmus = args.fmu.map(ExportedFmus::new).transpose().map_err(|message| bad(&message))?.map(Arc::new);
    let changes = Changes { sets: args.sets.clone(), step: args.step, tolerance: args.tolerance, fmus };
    let changed = !changes.sets.is_empty() || changes.step.is_some() || changes.tolerance.is_some();
    let rows = study.rows(&args.row).map_err(|error| {
        let hint = format!("tables are {}; rows as in `{}`", (study.tables)().join(", "), study.example);
        report::refused(error, Some(&hint))
    })?;
    let (rows, left_out): (Vec<_>, Vec<_>) =
        rows.into_iter().partition(|(row, _)| args.fmu.is_none() || !row.starts_with("003/instability"));
    if !left_out.is_empty() {
        eprintln!("warning: neutral steps are left out: FMUs for co-simulation do not expose their states");
    }
    let rows = if args.fmu == Some(1) {
        let count = rows.len();
        let rows = possible_rows(rows, &changes, &registry).map_err(|error| bad(&error))?;
        if rows.len() < count {
            let left_out = match count - rows.len() {
                1 => "1 row is".to_owned(),
                several => format!("{several} rows are"),
            };
            eprintln!(
                "note: {left_out} left out: the methods need FMU states or directional derivatives, which \
                 FMI 1.0 does not have"
            );
        }
        rows
    } else {
        rows
    };
    let bar = ProgressBar::new(rows.len() as u64);
    let mut json = Vec::new();
    let (mut agreeing, mut count) = (0, 0);
    if !args.json {
        println!("{:<46} {:>8} {:>14} {:>14}", "cell", "printed", "reference", "measured");
    }
    for (row, cells) in &rows {
        let measured = (study.measure)(row, cells, &changes, &registry).map_err(|error| bad(&error))?;
        for (cell, measured) in cells.iter().zip(measured) {
            count += 1;
            let agrees = cell.agrees(measured);
            agreeing += usize::from(agrees);
            if args.json {
                json.push(CellValue { id: &cell.id, value: measured, printed: &cell.printed });
                continue;
            }
            let mark = match (changed, agrees) {
                (true, _) => "",
                (false, true) => "agrees",
                (false, false) => "DIFFERS",
            };
            bar.suspend(|| {
                println!(
                    "{:<46} {:>8} {} {} {mark}",
                    cell.id,
                    cell.printed,
                    reference(cell),
                    number(measured)
                );
            });
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    if let Some(folder) = &args.plots {
        draw(study, folder, &changes, &registry)?;
    }
    if args.json {
        output::json(&json);
    } else if changed {
        println!("{count} cells with changed parameters; the reference is that of the papers' parameters");
    } else {
        println!("{agreeing} of {count} cells agree with the reference");
    }
    if changed || agreeing == count { Ok(()) } else { Err(exit::FAILED) }
}

#[derive(Serialize)]
struct CellValue<'a> {
    id: &'a str,
    value: f64,
    #[serde(skip_serializing_if = "str::is_empty")]
    printed: &'a str,
}

/// The rows whose methods work with FMUs without states and derivatives.
fn possible_rows(rows: Vec<Row>, changes: &Changes, registry: &Registry) -> Result<Vec<Row>, ReproduceError> {
    let mut possible = Vec::new();
    for (row, cells) in rows {
        if !ecco_nepce::out_of_reach(&row, changes, registry)? {
            possible.push((row, cells));
        }
    }
    Ok(possible)
}

/// A number, or the accepted range.
fn reference(cell: &Cell) -> String {
    match cell.accepted {
        Tolerance::Range(low, high) if cell.reference.is_nan() => {
            format!("{:>14}", format!("{low} to {high}"))
        }
        _ => number(cell.reference),
    }
}

/// Small values with an exponent.
fn number(value: f64) -> String {
    if value != 0.0 && value.abs() < 1e-4 { format!("{value:>14.7e}") } else { format!("{value:>14.8}") }
}

fn draw(study: &Study, folder: &std::path::Path, changes: &Changes, registry: &Registry) -> Result<(), u8> {
    let figures = (study.draw)(changes, registry).map_err(|message| report::refused(message, None))?;
    let write = || -> std::io::Result<()> {
        std::fs::create_dir_all(folder)?;
        for (name, figure) in &figures {
            std::fs::write(folder.join(name), figure.svg())?;
            eprintln!("wrote {}", folder.join(name).display());
        }
        Ok(())
    };
    write().map_err(|cause| report::no_file(format!("cannot write to `{}`: {cause}", folder.display()), None))
}
