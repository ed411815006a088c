//! `cosimo resume`: resumes a saved run; the results are those of an uninterrupted run.

use std::path::{Path, PathBuf};

use cosimo::checkpoint_file::{CheckpointFile, CheckpointFileError, CheckpointOrigin};
use cosimo::fmi::{Cache, FMU_ARCHIVE};

use cosimo::simulation::quoted;
use cosimo::{input_files, paths};

use crate::command::run::{self, RunOptions};
use crate::signals::Interruption;
use crate::{exit, report};

/// Resume a run from a checkpoint, in the folder and with the options it was started with
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Checkpoint written by `cosimo run --checkpoint`
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// New stop time, in seconds
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    stop: Option<f64>,
    /// Allow the checkpoint to name files outside of this folder and of its own
    #[arg(long)]
    trust: bool,
    #[command(flatten)]
    options: RunOptions,
}

pub(crate) fn run(args: &Args) -> Result<(), u8> {
    let saved = CheckpointFile::read(&args.file).map_err(|error| {
        report::error(&error.to_string(), Some(error.hint()));
        if matches!(error, CheckpointFileError::Unreadable { .. }) { exit::NO_FILE } else { exit::BAD_INPUT }
    })?;
    let given = args.options.absolute();
    let file = std::path::absolute(&args.file).unwrap_or_else(|_| args.file.clone());
    let folder = paths::folder(&file).join(&saved.origin.folder);
    let here = std::env::current_dir().and_then(|here| here.canonicalize()).ok();
    let arguments = saved.origin.words.iter().map(|argument| quoted(argument));
    eprintln!("resuming: cosimo {}", arguments.collect::<Vec<_>>().join(" "));
    let inside: Vec<PathBuf> = here.iter().cloned().chain(paths::folder(&file).canonicalize().ok()).collect();
    if let Some(there) = folder.canonicalize().ok().filter(|there| Some(there) != here.as_ref()) {
        eprintln!("warning: the run resumes in `{}`, where it was started", there.display());
    }
    std::env::set_current_dir(&folder).map_err(|cause| {
        let message = format!("cannot change to `{}`, where the run was started: {cause}", folder.display());
        report::no_file(message, Some("keep the checkpoint at its place relative to the files of the run"))
    })?;
    let mut first = crate::run_args(&saved.origin.words).ok_or_else(|| {
        let message =
            format!("`{}` was written by a command line that this version cannot parse", args.file.display());
        let hint = format!("it was: cosimo {}", saved.origin.words.join(" "));
        report::refused(message, Some(&hint))
    })?;
    if let Some(stop) =
        args.stop.filter(|stop| stop.partial_cmp(&saved.time).is_none_or(|order| order.is_le()))
    {
        let message = format!("`--stop {stop}` is not later than the checkpoint, t = {} s", saved.time);
        return Err(report::refused(message, Some("give a later time, or leave it out")));
    }
    if !args.trust {
        confine(&saved.origin, &first.options, &inside)?;
    }
    input_files::compare(&saved.origin.inputs).map_err(|error| report::failure(&error))?;
    let stop = &mut first.subject.changes.span.stop;
    *stop = args.stop.or(saved.origin.stop).or(*stop);
    let earlier = saved.origin.results.iter().map(PathBuf::from).collect();
    first.options = given.after(first.options, earlier);
    let arguments = saved.origin.words.clone();
    let file = shown(&file, &args.file);
    let interruption = Interruption::watch();
    let simulation = run::configure(&first, &arguments)?.resume(&file, saved);
    let simulation = simulation.map_err(|error| report::failure(&error))?;
    run::execute(&first, simulation, interruption)
}

/// A checkpoint names files to read and to write, and may come from another person: those outside of the folders are refused.
/// The present folder is that of the run. What was unpacked from packages lies in the cache.
fn confine(origin: &CheckpointOrigin, options: &RunOptions, inside: &[PathBuf]) -> Result<(), u8> {
    let cache = Cache::standard(&FMU_ARCHIVE).folder.parent().and_then(|cache| cache.canonicalize().ok());
    let allowed = |path: &Path| inside.iter().chain(&cache).any(|folder| path.starts_with(folder));
    let inputs = origin.inputs.iter().map(|input| PathBuf::from(&input.file));
    let written =
        options.output_files(&[]).into_iter().filter(|(option, _)| *option != "--out").map(|(_, file)| file);
    let written = origin.results.iter().map(PathBuf::from).chain(written);
    let outside: Vec<String> = inputs
        .chain(written)
        .filter(|path| !paths::real(path).is_some_and(|path| allowed(&path)))
        .map(|path| format!("`{}`", path.display()))
        .collect();
    if outside.is_empty() {
        return Ok(());
    }
    let message =
        format!("the checkpoint names files outside of this folder and of its own: {}", outside.join(", "));
    Err(report::refused(message, Some("check the command above; `--trust` resumes it anyway")))
}

/// The path as given, if it is still valid in the folder of the run.
fn shown(file: &Path, given: &Path) -> String {
    if given.exists() { given } else { file }.display().to_string()
}
