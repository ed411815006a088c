//! `cosimo run`: the main job. Runs a system, shows progress, and closes with what it came to.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use cosimo::core::Registry;
use cosimo::engine::{BondSummary, Run, RunError, Summary};
use cosimo::record::{Files, Tee};
use cosimo::reference;
use cosimo::system::System;
use indicatif::{ProgressBar, ProgressStyle};

use crate::load::{Changes, Loaded, load};
use crate::page::{Page, Told};
use crate::{exit, report};

/// Run a system and show what its coupling did to the energy
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A system file; or simulators, as in `a.fmu`, `left=a.fmu` or `native:ring/rotor`
    #[arg(required = true, value_name = "FILE")]
    what: Vec<String>,
    #[command(flatten)]
    changes: Changes,
    /// Result file, by its ending: .csv, .arrow (fastest) or .parquet (smallest); may be given several times
    #[arg(long, value_name = "FILE")]
    out: Vec<PathBuf>,
    /// The closing summary as JSON
    #[arg(long, value_name = "FILE")]
    summary_json: Option<PathBuf>,
    /// Every call into FMUs, with arguments, results and times
    #[arg(long, value_name = "FILE")]
    log_fmi_calls: Option<PathBuf>,
    /// A report to look at in a browser: one HTML file with verdict, ledger, plan and curves of what is recorded
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Threads that simulators are spread over; the results do not depend on it
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024))]
    threads: u32,
}

pub(crate) fn run(args: &Args) -> Result<(), u8> {
    let registry = cosimo::registry();
    let files = result_files(&args.out, &registry)?;
    let Loaded { files: texts, system, plan } = load(&args.what, &args.changes, &registry)?;
    report::remarks(&plan.remarks);
    let planned = plan.remarks.len();
    if let Some(file) = &args.log_fmi_calls {
        cosimo::fmi::record_calls(file)
            .map_err(|cause| unwritable(&format!("cannot write `{}`: {cause}", file.display()), file))?;
    }
    let stop = interrupted();
    let begun = Instant::now();
    let mut run = Run::new(plan, args.threads as usize).map_err(|error| failed(&error))?;
    report::remarks(&run.remarks()[planned..]);
    let mut recorders = Tee::default();
    if let Some(files) = files {
        recorders.0.push(Box::new(files));
    }
    let mut page = None;
    if let Some(file) = &args.report {
        let named = args.what.iter().map(Path::new);
        let written = args.out.iter().chain(&args.summary_json).chain(&args.log_fmi_calls);
        let taken: Vec<&Path> = named.chain(written.map(PathBuf::as_path)).collect();
        let created = Page::create(file, &taken, &mut recorders);
        page = Some(created.map_err(|message| unwritable(&message, file))?);
    }
    if !recorders.0.is_empty() {
        run.record(Box::new(recorders)).map_err(|error| failed(&error))?;
    }
    let mut watch = Watch::new(&system, &run);
    let outcome = drive(&mut run, &system, &stop, |run| {
        watch.look(run);
        page.iter_mut().for_each(|page| page.look(run));
    });
    // Whatever happened, the rows so far must be readable.
    let closed = run.finish();
    let elapsed = begun.elapsed();
    let summary = run.summary();
    if let Err(error) = &outcome {
        failed(error);
    }
    let error = outcome.as_ref().err();
    let told = Told {
        what: &args.what,
        files: &texts,
        system: &system,
        registry: &registry,
        run: &run,
        summary: &summary,
        error,
        reasons: &reasons(&summary),
        elapsed,
    };
    let reported = page.map_or(Ok(()), |page| page.write(&told));
    let results = args.out.iter().map(|file| ("results", file.as_path()));
    let report = args.report.iter().map(|file| ("report", file.as_path()));
    print(&summary, elapsed, &system, results.chain(report));
    if summary.finished {
        watch.print(&system, &registry);
    }
    if let Some(file) = &args.summary_json {
        let json = json(&summary, elapsed, &args.what, error);
        std::fs::write(file, format!("{json:#}\n"))
            .map_err(|cause| unwritable(&format!("cannot write `{}`: {cause}", file.display()), file))?;
    }
    closed.map_err(|error| unwritable(&error.to_string(), &error.file))?;
    reported.map_err(|message| unwritable(&message, args.report.as_deref().unwrap_or(Path::new("."))))?;
    match outcome {
        Err(RunError::Record(_)) => Err(exit::NO_FILE),
        Err(_) => Err(exit::FAILED),
        Ok(()) if !summary.finished => {
            eprintln!("interrupted at t = {} s; the rows so far are complete", summary.time);
            Err(exit::INTERRUPTED)
        }
        Ok(()) => Ok(()),
    }
}

/// What rows go into; nothing is created yet.
fn result_files(paths: &[PathBuf], registry: &Registry) -> Result<Option<Files>, u8> {
    if let Some(twice) = paths.iter().enumerate().find(|(k, path)| paths[..*k].contains(path)) {
        report::error(
            &format!("`--out {}` is given twice", twice.1.display()),
            Some("each file is written once"),
        );
        return Err(exit::BAD_INPUT);
    }
    let files = Files::new(paths, &registry.formats).map_err(|problems| {
        for problem in &problems {
            report::error(&format!("`--out`: {problem}"), Some(&problem.hint()));
        }
        exit::BAD_INPUT
    })?;
    Ok((!paths.is_empty()).then_some(files))
}

/// Steps to the end, the first failure, or Ctrl-C.
fn drive(
    run: &mut Run,
    system: &System,
    stop: &AtomicBool,
    mut look: impl FnMut(&Run),
) -> Result<(), RunError> {
    let (start, end) = (system.experiment.start, system.experiment.stop);
    let bar = ProgressBar::new(1000);
    let style = "{bar:30} {percent:>3} %  {msg}  {eta} left";
    bar.set_style(ProgressStyle::with_template(style).unwrap_or_else(|_| ProgressStyle::default_bar()));
    let mut shown = Instant::now();
    let mut result = Ok(());
    while !run.finished() && !stop.load(Ordering::Relaxed) {
        result = run.step();
        if result.is_err() {
            break;
        }
        look(run);
        // Reading the clock and drawing cost more than a small step.
        if run.counters().steps.is_multiple_of(64) && shown.elapsed() > Duration::from_millis(50) {
            shown = Instant::now();
            let time = run.time().seconds();
            bar.set_position(((time - start) / (end - start) * 1000.0) as u64);
            bar.set_message(format!("t = {time:.4} s, step {:.2e} s", run.sizes().0));
        }
    }
    bar.finish_and_clear();
    result
}

fn interrupted() -> Arc<AtomicBool> {
    let flag = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&flag);
    let set = ctrlc::set_handler(move || {
        if seen.swap(true, Ordering::Relaxed) {
            std::process::exit(i32::from(exit::INTERRUPTED)); // asked twice: a simulator may be stuck
        }
    });
    if let Err(cause) = set {
        eprintln!("remark: Ctrl-C will lose unwritten rows: {cause}");
    }
    flag
}

fn failed(error: &RunError) -> u8 {
    match error {
        RunError::Step(step) => {
            report::error(&step.to_string(), Some(&step.hint()));
            exit::FAILED
        }
        RunError::Record(record) => unwritable(&record.to_string(), &record.file),
    }
}

fn unwritable(message: &str, file: &Path) -> u8 {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    let hint = match folder {
        Some(folder) if !folder.exists() => format!("the folder `{}` does not exist", folder.display()),
        _ if file.is_dir() => "this is a folder; give the name of a file".into(),
        _ => "choose another place, or check rights and space".into(),
    };
    report::error(message, Some(&hint));
    exit::NO_FILE
}

/// Ports that have an undivided counterpart, followed through the run.
struct Watch {
    outputs: Vec<usize>,
    times: Vec<f64>,
    values: Vec<f64>,
}

impl Watch {
    fn new(system: &System, run: &Run) -> Watch {
        let ports = run.layout().ports();
        let declared = system.reference.iter().flat_map(|reference| &reference.ports);
        let outputs = declared.filter_map(|(port, _, span)| ports.output(port, span).ok()).collect();
        Watch { outputs, times: Vec::new(), values: Vec::new() }
    }

    fn look(&mut self, run: &Run) {
        if !self.outputs.is_empty() {
            self.times.push(run.time().seconds());
            self.values.extend(self.outputs.iter().map(|&output| run.outputs()[output]));
        }
    }

    /// How far the coupled run is from the undivided model.
    fn print(&self, system: &System, registry: &Registry) {
        let declared = system.reference.as_ref().map_or(0, |reference| reference.ports.len());
        if self.outputs.is_empty() || declared != self.outputs.len() {
            return;
        }
        let solution = match reference::solve(system, &self.times, registry) {
            Ok(solution) => solution,
            Err(message) => {
                eprintln!("remark: no comparison with the undivided model: {message}");
                return;
            }
        };
        println!("\nagainst the undivided model          largest error   of largest value");
        for (k, name) in solution.names.iter().enumerate() {
            let (mut error, mut size) = (0.0f64, 0.0f64);
            for (row, values) in solution.rows.iter().zip(self.values.chunks(self.outputs.len())) {
                error = error.max((values[k] - row[k]).abs());
                size = size.max(row[k].abs());
            }
            println!("  {name:<34} {error:>14.3e}   {:>8.4} %", 100.0 * error / size);
        }
    }
}

fn print<'a>(
    summary: &Summary,
    elapsed: Duration,
    system: &System,
    written: impl Iterator<Item = (&'a str, &'a Path)>,
) {
    let counters = &summary.counters;
    let simulated = summary.time - system.experiment.start;
    println!(
        "{} steps to t = {} s, mean {:.3e} s; {} rejected",
        counters.steps, summary.time, summary.mean_step, counters.rejected
    );
    let reasons = reasons(summary);
    if !reasons.is_empty() {
        println!("of the steps: {reasons}");
    }
    let seconds = elapsed.as_secs_f64();
    println!(
        "{seconds:.3} s of computing, {:.1} times real time; {} evaluations inside simulators",
        simulated / seconds,
        counters.evaluations
    );
    for (what, file) in written {
        println!("{what} in {}", file.display());
    }
    if !summary.bonds.is_empty() {
        println!(
            "\nbond             transmitted J    exchanged J     residual J   |residual| J  of exchanged  local error W"
        );
        for BondSummary { name, totals, share, power_error } in &summary.bonds {
            println!(
                "{name:<14} {:>15.6e} {:>14.6e} {:>14.6e} {:>14.6e}   {:>9.4} % {power_error:>14.3e}",
                totals.transmitted,
                totals.exchanged,
                totals.residual,
                totals.residual_absolute,
                share * 100.0
            );
        }
    }
    println!("\nverdict: {}", summary.words());
}

/// Why steps had the size they had; empty where there is nothing to say.
fn reasons(summary: &Summary) -> String {
    let counters = &summary.counters;
    let reasons: Vec<String> = [
        (counters.above_one, "accepted above tolerance"),
        (counters.at_minimum, "at the smallest size"),
        (counters.at_maximum, "at the largest size"),
        (counters.growth_limited, "held back in growing"),
        (counters.shrink_limited, "held back in shrinking"),
        (counters.events, "cut at an event"),
    ]
    .into_iter()
    .filter(|(count, _)| *count > 0)
    .map(|(count, words)| format!("{count} {words}"))
    .collect();
    reasons.join(", ")
}

fn json(
    summary: &Summary,
    elapsed: Duration,
    what: &[String],
    error: Option<&RunError>,
) -> serde_json::Value {
    let c = &summary.counters;
    let bonds: Vec<serde_json::Value> = summary
        .bonds
        .iter()
        .map(|BondSummary { name, totals, share, power_error }| {
            serde_json::json!({
                "name": name,
                "transmitted_energy": totals.transmitted,
                "exchanged_energy": totals.exchanged,
                "residual_energy": totals.residual,
                "residual_energy_absolute": totals.residual_absolute,
                "defect_share": share,
                "mean_power_error": power_error,
            })
        })
        .collect();
    let error = error.map(|error| match error {
        RunError::Step(step) => {
            serde_json::json!({ "code": step.code(), "message": step.to_string(), "hint": step.hint() })
        }
        RunError::Record(record) => serde_json::json!({ "code": "record", "message": record.to_string() }),
    });
    serde_json::json!({
        "file": what.join(" "),
        "time": summary.time,
        "finished": summary.finished,
        "steps": c.steps,
        "rejected": c.rejected,
        "mean_step": summary.mean_step,
        "worst_indicator": summary.worst_indicator,
        "reasons": {
            "above_tolerance": c.above_one,
            "at_minimum": c.at_minimum,
            "at_maximum": c.at_maximum,
            "growth_limited": c.growth_limited,
            "shrink_limited": c.shrink_limited,
            "events": c.events,
        },
        "evaluations": c.evaluations,
        "bonds": bonds,
        "verdict": summary.verdict.word(),
        "words": summary.words(),
        "wall_seconds": elapsed.as_secs_f64(),
        "error": error,
    })
}
