//! `cosimo run`: the main job. Runs a system, shows progress, and closes with what it came to.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use cosimo::analysis::forecast::three;
use cosimo::certificate::Ending;
use cosimo::core::Registry;
use cosimo::core::entry::number_text;
use cosimo::core::method::Learned;
use cosimo::engine::lines::{EndTotals, IsleTotals, LineTotals, NetTotals};
use cosimo::engine::{BondSummary, Ended, OwnSteps, Run, RunError, Summary};
use cosimo::record::{Files, RowCount, Tee};
use cosimo::reference;
use cosimo::report::{Apart, Undivided};
use cosimo::saved::{Origin, Saved};
use cosimo::system::System;

use crate::load::{Changes, Loaded, load};
use crate::pace::Pace;
use crate::page::{Page, Told};
use crate::progress::{Mode, Progress};
use crate::saver::{self, Saver, Schedule};
use crate::seal::{Made, Seal};
use crate::signals::Interruption;
use crate::ticker::Ticker;
use crate::{exit, messages, report, written};

/// Run a system and show what its coupling did to the energy
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A system (.toml, .ssp, .ssd, OspSystemStructure.xml); or simulators, as in `a.fmu`, `left=a.fmu`, `native:ring/rotor`
    #[arg(required = true, value_name = "FILE")]
    what: Vec<String>,
    #[command(flatten)]
    pub(crate) changes: Changes,
    #[command(flatten)]
    pub(crate) manner: Manner,
}

/// Everything around a run that changes none of its numbers.
#[derive(Debug, clap::Args)]
pub(crate) struct Manner {
    /// Result file, by its ending: .csv, .arrow (fastest), .parquet (smallest) or .mat; may be given several times
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
    /// What the run came to, for `cosimo gate` and archives: energy defects, methods, steps, loops, remarks, hashes
    #[arg(long, value_name = "FILE")]
    certificate: Option<PathBuf>,
    /// Threads that simulators are spread over; the results do not depend on it [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    threads: Option<u32>,
    /// Save the run for `cosimo resume`, on Ctrl-C and, with commas between: every=10s (of computing), simulated=0.5 (seconds
    /// of the run), end, or interrupt (on Ctrl-C only); file=NAME says where
    #[arg(long, value_name = "WHEN")]
    checkpoint: Option<Schedule>,
    /// Keep pace with the wall clock, or with FACTOR times it; the results do not depend on it
    #[arg(long, value_name = "FACTOR", num_args = 0..=1, require_equals = true, default_missing_value = "1",
          value_parser = factor)]
    real_time: Option<f64>,
    /// What is shown while it runs [default: bar]
    #[arg(long, value_enum)]
    progress: Option<Mode>,
}

fn factor(text: &str) -> Result<f64, String> {
    let factor = text.parse().ok().filter(|factor: &f64| factor.is_finite() && *factor > 0.0);
    factor.ok_or_else(|| "a number above 0 is wanted".into())
}

impl Manner {
    /// With paths that hold in any folder.
    pub(crate) fn absolute(&self) -> Manner {
        Manner {
            out: self.out.iter().map(absolute).collect(),
            summary_json: self.summary_json.as_ref().map(absolute),
            log_fmi_calls: self.log_fmi_calls.as_ref().map(absolute),
            report: self.report.as_ref().map(absolute),
            certificate: self.certificate.as_ref().map(absolute),
            checkpoint: self.checkpoint.clone().map(|schedule| schedule.at(absolute)),
            ..*self
        }
    }

    /// All files that are written, with their options.
    pub(crate) fn written(&self, what: &[String]) -> Vec<(&'static str, PathBuf)> {
        let mut written: Vec<(&str, PathBuf)> = self.out.iter().map(|file| ("--out", file.clone())).collect();
        let others = [
            ("--summary-json", &self.summary_json),
            ("--log-fmi-calls", &self.log_fmi_calls),
            ("--report", &self.report),
            ("--certificate", &self.certificate),
        ];
        written.extend(others.into_iter().filter_map(|(option, file)| Some((option, file.clone()?))));
        written.extend(self.checkpoint.iter().map(|schedule| ("--checkpoint", schedule.path(what))));
        written
    }

    /// What is given for a run that goes on, over what it was begun with. Its result files come first; those that are
    /// named again are no others.
    pub(crate) fn after(self, begun: Manner, results: Vec<PathBuf>) -> Manner {
        let known: Vec<PathBuf> = results.iter().map(absolute).collect();
        let others = self.out.into_iter().filter(|file| !known.contains(file));
        Manner {
            out: results.into_iter().chain(others).collect(),
            summary_json: self.summary_json.or(begun.summary_json),
            log_fmi_calls: self.log_fmi_calls, // another one would replace that of the first part
            report: self.report.or(begun.report),
            certificate: self.certificate.or(begun.certificate),
            threads: self.threads.or(begun.threads),
            checkpoint: self.checkpoint.or(begun.checkpoint),
            real_time: self.real_time.or(begun.real_time),
            progress: self.progress.or(begun.progress),
        }
    }
}

fn absolute(path: &PathBuf) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.clone())
}

/// Where a run goes on.
pub(crate) struct Resumed {
    /// The checkpoint, for people.
    pub(crate) file: String,
    pub(crate) saved: Saved,
    /// The end of the run, where it is not the first command line's.
    pub(crate) stop: Option<f64>,
}

pub(crate) fn run(args: &Args) -> Result<(), u8> {
    let words: Vec<String> =
        std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    go(args, &words, None)
}

/// Runs from the start, or goes on. `words` are the command line that began it.
pub(crate) fn go(args: &Args, words: &[String], resumed: Option<Resumed>) -> Result<(), u8> {
    let (manner, registry, interruption) = (&args.manner, cosimo::registry(), Interruption::watch());
    let files = result_files(&manner.out, &registry)?;
    let rows: Vec<RowCount> = files.iter().flat_map(Files::counts).collect();
    let Loaded { files: texts, system, plan } = load(&args.what, &args.changes, &registry)?;
    written::check(
        &manner.written(&args.what),
        &saver::read_files(&args.what, &args.changes, &system, &registry),
    )?;
    report::remarks(&plan.remarks);
    let planned = plan.remarks.len();
    let mut saver = None;
    if let Some(schedule) = &manner.checkpoint {
        let origin = Origin {
            words: words.to_vec(),
            folder: String::new(),
            stop: resumed.as_ref().and_then(|resumed| resumed.stop),
            inputs: saver::inputs(&args.what, &args.changes, &system, &registry)?,
            results: manner.out.iter().map(|file| file.to_string_lossy().into_owned()).collect(),
        };
        let before = resumed.as_ref().map_or(0.0, |resumed| resumed.saved.computing);
        saver = Some(Saver::new(schedule, &args.what, origin, &system, &plan.layout, before)?);
    }
    if let Some(file) = &manner.log_fmi_calls {
        cosimo::fmi::record_calls(file)
            .map_err(|cause| unwritable(&format!("cannot write `{}`: {cause}", file.display()), file))?;
    }
    let begun = Instant::now();
    let threads = manner.threads.unwrap_or(1) as usize;
    let mut seal = None;
    if let Some(file) = &manner.certificate {
        let made = Made {
            what: &args.what,
            changes: &args.changes,
            files: &texts,
            system: &system,
            layout: &plan.layout,
            registry: &registry,
            remarks: &plan.remarks,
            threads,
        };
        let created = Seal::create(file, &made);
        seal = Some(created.map_err(|message| unwritable(&message, file))?);
    }
    let remarks = plan.remarks.clone();
    let mut run = Run::new(plan, threads).map_err(|error| {
        if let Some(Err(message)) = seal.as_ref().map(|seal| seal.never(&error.to_string(), &remarks)) {
            eprintln!("remark: the certificate does not say why: {message}");
        }
        failed(&error)
    })?;
    report::remarks(&run.remarks()[planned..]);
    if let Some(resumed) = &resumed {
        run.load(&resumed.saved.checkpoint).map_err(|error| {
            report::error(&format!("cannot go on from `{}`: {error}", resumed.file), None);
            exit::FAILED
        })?;
    }
    let mut recorders = Tee::default();
    if let Some(files) = files {
        recorders.0.push(Box::new(files));
    }
    let mut page = None;
    if let Some(file) = &manner.report {
        let created = Page::create(file, &mut recorders);
        page = Some(created.map_err(|message| unwritable(&message, file))?);
    }
    if !recorders.0.is_empty() {
        let recorders = Box::new(recorders);
        match &resumed {
            Some(resumed) => run.resume(recorders, &resumed.saved.bookmark),
            None => run.record(recorders),
        }
        .map_err(|error| failed(&error))?;
    }
    if let Some(saver) = &mut saver {
        saver.begin(&mut run)?;
    }
    if let Some(page) = &mut page {
        page.begin(&mut run, &system);
    }
    let from = run.time().seconds();
    if let Some(seal) = seal.as_mut().filter(|_| resumed.is_some()) {
        seal.resume(from);
    }
    let mut watch = Watch::new(&system, &run);
    let progress = Progress::new(
        manner.progress.unwrap_or(Mode::Bar),
        system.experiment.start,
        from,
        system.experiment.stop,
    );
    let mut pace = manner.real_time.map(|factor| Pace::new(factor, from));
    let home = std::env::current_dir().ok();
    let outcome = drive(&mut run, interruption.asked, progress, &mut saver, &mut pace, |run| {
        watch.look(run);
        page.iter_mut().for_each(|page| page.look(run));
        seal.iter_mut().for_each(|seal| seal.look(run));
    });
    // An FMU may have changed the working folder in a step. If the old one is gone, there is nothing to go back to.
    home.iter().for_each(|home| drop(std::env::set_current_dir(home)));
    let saved = match &outcome {
        Ok(()) => saver.as_mut().and_then(|saver| saver.close(&mut run)),
        Err(_) => None, // a failed state leads nowhere
    };
    // Whatever happened, the rows so far must be readable. A run whose rows are lost has failed, however it ended.
    let outcome = outcome.and(run.finish().map_err(RunError::Record));
    let elapsed = begun.elapsed();
    let summary = run.summary();
    if let Err(error) = &outcome {
        failed(error);
    }
    let error = outcome.as_ref().err();
    let mut about = Vec::new();
    about.extend(resumed.is_some().then(|| format!("from t = {from} s on")));
    about.extend((!summary.events.is_empty()).then(|| "which knows nothing of the scenario".into()));
    let apart = if summary.finished { watch.apart(&system, &registry, &run) } else { Vec::new() };
    let undivided = Undivided { about: &about.join(", "), ports: &apart };
    let told = Told {
        what: &args.what,
        files: &texts,
        system: &system,
        registry: &registry,
        run: &run,
        summary: &summary,
        error,
        reasons: &reasons(&summary),
        undivided: &undivided,
        elapsed,
        resumed: resumed.as_ref().map(|resumed| (resumed.file.as_str(), from)),
    };
    let reported = page.map_or(Ok(()), |page| page.write(&told));
    let ending = match error {
        Some(error) => Ending::Failed(error),
        None if summary.finished => Ending::Finished,
        None => Ending::Interrupted,
    };
    let counted: Vec<(PathBuf, u64)> =
        manner.out.iter().map(absolute).zip(rows.iter().map(RowCount::rows)).collect();
    let sealed = seal.map_or(Ok(()), |seal| seal.close(&run, &ending, elapsed, &counted));
    let results = manner.out.iter().map(|file| ("results", file.as_path()));
    let report = manner.report.iter().map(|file| ("report", file.as_path()));
    let certificate = manner.certificate.iter().map(|file| ("certificate", file.as_path()));
    let checkpoint = saved.iter().map(|file| ("checkpoint", *file));
    if let Some(resumed) = &resumed {
        println!("resumed at t = {from} s from {}; what follows is about the whole run", resumed.file);
    }
    print(&summary, elapsed, (from, &system), results.chain(report).chain(certificate).chain(checkpoint));
    if let Some(pace) = &pace {
        println!("{}", pace.line());
    }
    verdict(&summary, system.experiment.stop);
    distances(&undivided, &summary);
    messages::print();
    if let Some(file) = &manner.summary_json {
        let mut json = json(&summary, elapsed, &args.what, error);
        if let Some(resumed) = &resumed {
            json["resumed_at"] = from.into();
            json["wall_seconds"] = (resumed.saved.computing + elapsed.as_secs_f64()).into();
        }
        if let Some(net) = &summary.net {
            json["net"] = islands_json(net);
        }
        if !summary.own_steps.is_empty() {
            json["own_steps"] = own_steps(&summary);
        }
        if let Some(ended) = &summary.ended {
            let (at, function) = (ended.at.seconds(), ended.function);
            json["ended_by"] =
                serde_json::json!({ "component": ended.component, "time": at, "function": function });
        }
        if run.scenario().is_some() {
            json["scenario"] = scenario(&summary);
        }
        let cosimo::engine::Counters { linearised, oldest_model, .. } = summary.counters;
        if linearised > 0 {
            json["linear_models"] = serde_json::json!({ "renewed": linearised, "oldest": oldest_model });
        }
        for (name, learned) in &summary.learned {
            json[*name] = serde_json::json!({
                "wanted": learned.wanted,
                "in_use": learned.now,
                "first_at": learned.first,
                "since": learned.since,
                "steps": learned.windows,
                "changed": learned.renewed,
                "age": learned.age,
                "given_up": learned.closed,
                "quality": learned.first.map(|_| learned.quality),
            });
        }
        if let Some(pace) = &pace {
            json["real_time"] = pace.json();
        }
        messages::add(&mut json);
        cosimo::saved::replace(file, format!("{json:#}\n").as_bytes())
            .map_err(|cause| unwritable(&format!("cannot write `{}`: {cause}", file.display()), file))?;
    }
    reported.map_err(|message| unwritable(&message, manner.report.as_deref().unwrap_or(Path::new("."))))?;
    sealed
        .map_err(|message| unwritable(&message, manner.certificate.as_deref().unwrap_or(Path::new("."))))?;
    match outcome {
        Err(RunError::Record(_)) => Err(exit::NO_FILE),
        Err(_) => Err(exit::FAILED),
        Ok(()) if !summary.finished => {
            eprintln!("interrupted at t = {} s; the rows so far are complete", summary.time);
            if let Some(file) = saved {
                eprintln!("`cosimo resume {}` goes on from here", file.display());
            }
            Err(interruption.exit_code())
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
    stop: &AtomicBool,
    mut progress: Progress,
    saver: &mut Option<Saver>,
    pace: &mut Option<Pace>,
    mut look: impl FnMut(&Run),
) -> Result<(), RunError> {
    let mut ticker = Ticker::new();
    let mut result = Ok(());
    while !run.finished() && !stop.load(Ordering::Relaxed) {
        result = run.step();
        if result.is_err() {
            break;
        }
        look(run);
        let now = ticker.look();
        if let Some(now) = now {
            progress.look(run, now);
        }
        if let Some(saver) = saver {
            saver.look(run, now);
        }
        if let Some(pace) = pace {
            pace.wait(run.time().seconds(), stop);
        }
    }
    let outcome = match &result {
        Err(_) => "failed",
        Ok(()) if run.finished() => "finished",
        Ok(()) => "interrupted",
    };
    progress.finish(run, outcome);
    result
}

pub(crate) fn failed(error: &RunError) -> u8 {
    match error {
        RunError::Step(step) => {
            report::coded(Some(step.code()), &step.to_string(), Some(&step.hint()));
            exit::FAILED
        }
        RunError::Record(record) => unwritable(&record.to_string(), &record.file),
    }
}

pub(crate) fn unwritable(message: &str, file: &Path) -> u8 {
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

    /// How far the coupled run is from the undivided model, port by port; nothing where there is none.
    fn apart(&self, system: &System, registry: &Registry, run: &Run) -> Vec<Apart> {
        let declared = system.reference.as_ref().map_or(0, |reference| reference.ports.len());
        if self.outputs.is_empty() || declared != self.outputs.len() {
            return Vec::new();
        }
        let solution = match reference::solve(system, &self.times, registry) {
            Ok(solution) => solution,
            Err(message) => {
                eprintln!("remark: no comparison with the undivided model: {message}");
                return Vec::new();
            }
        };
        let layout = run.layout();
        let unit = |output: usize| {
            let owner = layout.owners[output];
            let port = &layout.interfaces[owner].outputs[output - layout.blocks[owner].outputs.start];
            port.unit.as_ref().map_or(String::new(), ToString::to_string)
        };
        let port = |(k, name): (usize, &String)| {
            let (mut error, mut size, mut at) = (0.0f64, 0.0f64, 0.0);
            let rows = solution.rows.iter().zip(self.values.chunks(self.outputs.len()));
            for ((row, values), time) in rows.zip(&self.times) {
                let distance = (values[k] - row[k]).abs();
                (error, at) = if distance > error { (distance, *time) } else { (error, at) };
                size = size.max(row[k].abs());
            }
            Apart { name: name.clone(), unit: unit(self.outputs[k]), error, share: error / size, at }
        };
        solution.names.iter().enumerate().map(port).collect()
    }
}

/// How far signals are off, where that is known: another question than the energy defect.
fn distances(undivided: &Undivided<'_>, summary: &Summary) {
    if undivided.ports.is_empty() {
        return;
    }
    println!("\nagainst the undivided model          largest error   of largest value   at t");
    if !undivided.about.is_empty() {
        println!("  ({})", undivided.about);
    }
    for Apart { name, unit, error, share, at } in undivided.ports {
        let name = if unit.is_empty() || unit == "1" { name.clone() } else { format!("{name} [{unit}]") };
        println!("  {name:<34} {error:>14.3e}   {:>14.4} %   {} s", 100.0 * share, three(*at));
    }
    if let Some(words) = undivided.beside(&summary.bonds) {
        println!("{words}");
    }
}

/// What a correction found out about the simulators by itself.
fn found(learned: &Learned) -> String {
    let Learned { wanted, windows, renewed, age, closed, odd, quality, .. } = learned;
    let Some(first) = learned.first else {
        let why = if *odd > 0 {
            "outputs are predicted, but by nothing that moves continuously: try smaller steps"
        } else {
            "it takes steps of one size, held inputs that change, and answers that are nearly linear"
        };
        return format!("no model of the {wanted} simulators was good enough to be used; {why}");
    };
    let given_up = if *closed > 0 { format!(", {closed} times given up") } else { String::new() };
    let now = match (learned.now, learned.since) {
        (now, Some(since)) if since > first => {
            format!("now of {now} of {wanted} simulators, since t = {since} s")
        }
        (0, _) => "none at the end".into(),
        (now, _) => format!("of {now} of {wanted} simulators at the end"),
    };
    format!(
        "models in use from t = {first} s for {windows} steps, {now}; changed {renewed} times, last {age} steps ago\
         {given_up}; answers known to {quality:.1e} of their size"
    )
}

/// Actions of a scenario that are listed one by one.
const SHOWN_EVENTS: usize = 20;

fn print<'a>(
    summary: &Summary,
    elapsed: Duration,
    (from, system): (f64, &System),
    written: impl Iterator<Item = (&'a str, &'a Path)>,
) {
    let counters = &summary.counters;
    let simulated = summary.time - from.max(system.experiment.start);
    println!(
        "{} steps to t = {} s, mean {:.3e} s; {} rejected",
        counters.steps, summary.time, summary.mean_step, counters.rejected
    );
    if let Some(ended) = &summary.ended {
        println!("{}", early_end(ended, system.experiment.stop));
    }
    let reasons = reasons(summary);
    if !reasons.is_empty() {
        println!("of the steps: {reasons}");
    }
    if counters.linearised > 0 {
        let (times, age) = (counters.linearised, counters.oldest_model);
        println!("linear models: derivatives taken {times} times, at most {age} steps old");
    }
    for (name, learned) in &summary.learned {
        println!("{name}: {}", found(learned));
    }
    for OwnSteps { name, size, steps } in &summary.own_steps {
        println!("of its own: {name} {steps} steps of {} s", number_text(*size));
    }
    if let Some(net) = &summary.net {
        islands(net);
    }
    for (time, name) in summary.events.iter().take(SHOWN_EVENTS) {
        println!("scenario: at t = {time} s {name}");
    }
    let hidden = (summary.events.len().saturating_sub(SHOWN_EVENTS)) as u64 + summary.more_events;
    if hidden > 0 {
        println!("scenario: and {hidden} more times");
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
}

/// What islands and lines did.
fn islands(net: &NetTotals) {
    for IsleTotals { name, steps, taken_back, evaluations, .. } in &net.islands {
        println!("island {name}: {steps} steps, {taken_back} taken back, {evaluations} evaluations");
    }
    for line in &net.lines {
        if line.gap() > 1e-6 {
            println!(
                "line {}: the flows at the start do not meet ({} in, {} out): it begins with a jump that nobody caused",
                line.name, line.ends[0].first_flow, -line.ends[1].first_flow
            );
        }
        for (side, EndTotals { stats, delay, still, owned, .. }) in ["a", "b"].into_iter().zip(&line.ends) {
            println!(
                "line {}, side {side}: mean delay {delay:.3e} s, at most {} times the shortest; stood still for {:.1} % of \
                 the time; delay grew {} and shrank {} times{}{}",
                line.name,
                stats.largest,
                100.0 * still,
                stats.grown,
                stats.shrunk,
                if *owned { ", as the unit says that controls it" } else { "" },
                if stats.useless { "; control gave up, as steps stayed shorter than the delay" } else { "" }
            );
        }
    }
}

fn islands_json(net: &NetTotals) -> serde_json::Value {
    let island = |island: &IsleTotals| {
        serde_json::json!({
            "name": island.name, "steps": island.steps, "taken_back": island.taken_back,
            "evaluations": island.evaluations,
        })
    };
    let end = |end: &EndTotals| {
        serde_json::json!({
            "mean_delay": end.delay, "still_share": end.still, "largest_factor": end.stats.largest,
            "grown": end.stats.grown, "shrunk": end.stats.shrunk, "taken_back": end.stats.taken_back,
            "energy": end.stats.energy, "control_gave_up": end.stats.useless, "controlled_by_unit": end.owned,
        })
    };
    let line = |line: &LineTotals| {
        serde_json::json!({
            "name": line.name, "a": end(&line.ends[0]), "b": end(&line.ends[1]),
            "energy_entered": line.entered, "energy_stored": line.stored, "energy_defect": line.defect(),
        })
    };
    serde_json::json!({
        "islands": net.islands.iter().map(island).collect::<Vec<_>>(),
        "lines": net.lines.iter().map(line).collect::<Vec<_>>(),
        "extrapolations": net.beyond,
    })
}

/// The ledger and what to think of it.
fn verdict(summary: &Summary, stop: f64) {
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
    let part =
        if summary.finished { String::new() } else { format!(" up to t = {} of {stop} s", summary.time) };
    println!("\nverdict{part}: {}", summary.words());
}

/// A component ended the run: regular, but not what the experiment says.
fn early_end(ended: &Ended, stop: f64) -> String {
    let Ended { component, at, function } = ended;
    format!("note: component `{component}` ended the simulation at t = {at} of {stop} s (`{function}`)")
}

/// Why steps had the size they had; empty where there is nothing to say.
fn reasons(summary: &Summary) -> String {
    let reasons = cosimo::report::reasons(&summary.counters).into_iter().filter(|(_, count)| *count > 0);
    reasons.map(|(words, count)| format!("{count} {words}")).collect::<Vec<_>>().join(", ")
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

fn own_steps(summary: &Summary) -> serde_json::Value {
    let steps =
        |own: &OwnSteps| serde_json::json!({ "component": own.name, "size": own.size, "steps": own.steps });
    summary.own_steps.iter().map(steps).collect()
}

fn scenario(summary: &Summary) -> serde_json::Value {
    let event = |(time, name): &(f64, String)| serde_json::json!({ "time": time, "action": name });
    serde_json::json!({
        "events": summary.events.iter().map(event).collect::<Vec<_>>(),
        "more_events": summary.more_events,
        "tampered_bonds": summary.tampered,
    })
}
