//! `cosimo resume`: goes on with a run that was saved, as if it had never stopped.

use std::path::{Path, PathBuf};

use cosimo::checkpoint_file::{CheckpointFile, CheckpointFileError, CheckpointOrigin};
use cosimo::fmi::{Cache, UNIT};

use cosimo::simulation::quoted;
use cosimo::{input_files, paths};

use crate::command::run::{self, RunOptions};
use crate::signals::Interruption;
use crate::{exit, report};

/// Go on with a run from a checkpoint, in the folder and with the options it was started with
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What `cosimo run --checkpoint` wrote
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Another end of the run, in seconds
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    stop: Option<f64>,
    /// Also read and write files outside of this folder and of the checkpoint's, as the checkpoint says
    #[arg(long)]
    trust: bool,
    #[command(flatten)]
    manner: RunOptions,
}

pub(crate) fn run(args: &Args) -> Result<(), u8> {
    let saved = CheckpointFile::read(&args.file).map_err(|error| {
        report::error(&error.to_string(), Some(error.hint()));
        if matches!(error, CheckpointFileError::Unreadable { .. }) { exit::NO_FILE } else { exit::BAD_INPUT }
    })?;
    let given = args.manner.absolute();
    let file = std::path::absolute(&args.file).unwrap_or_else(|_| args.file.clone());
    let folder = paths::folder(&file).join(&saved.origin.folder);
    let here = std::env::current_dir().and_then(|here| here.canonicalize()).ok();
    let words = saved.origin.words.iter().map(|word| quoted(word));
    eprintln!("resuming: cosimo {}", words.collect::<Vec<_>>().join(" "));
    let inside: Vec<PathBuf> = here.iter().cloned().chain(paths::folder(&file).canonicalize().ok()).collect();
    if let Some(there) = folder.canonicalize().ok().filter(|there| Some(there) != here.as_ref()) {
        eprintln!("warning: the run goes on in `{}`, where it was started", there.display());
    }
    std::env::set_current_dir(&folder).map_err(|cause| {
        let message = format!("cannot go to `{}`, where the run was started: {cause}", folder.display());
        report::no_file(message, Some("the checkpoint must lie as it did beside the files of the run"))
    })?;
    let mut begun = crate::run_args(&saved.origin.words).ok_or_else(|| {
        let message = format!("`{}` was made by a command line that is not understood", args.file.display());
        let hint = format!("it was: cosimo {}", saved.origin.words.join(" "));
        report::refused(message, Some(&hint))
    })?;
    if let Some(stop) =
        args.stop.filter(|stop| stop.partial_cmp(&saved.time).is_none_or(|order| order.is_le()))
    {
        let message = format!("`--stop {stop}` is not later than the checkpoint, t = {} s", saved.time);
        return Err(report::refused(message, Some("give a later time, or none")));
    }
    if !args.trust {
        confine(&saved.origin, &begun.manner, &inside)?;
    }
    input_files::compare(&saved.origin.inputs).map_err(|error| report::failure(&error))?;
    let stop = &mut begun.subject.changes.span.stop;
    *stop = args.stop.or(saved.origin.stop).or(*stop);
    let earlier = saved.origin.results.iter().map(PathBuf::from).collect();
    begun.manner = given.after(begun.manner, earlier);
    let words = saved.origin.words.clone();
    let file = shown(&file, &args.file);
    let interruption = Interruption::watch();
    let simulation = run::configure(&begun, &words)?.resume(&file, saved);
    let simulation = simulation.map_err(|error| report::failure(&error))?;
    run::execute(&begun, simulation, interruption)
}

/// A checkpoint names files to read and to write, and may come from another person: those outside of the folders are refused.
/// The present folder is that of the run. What was unpacked from packages lies in the cache.
fn confine(origin: &CheckpointOrigin, manner: &RunOptions, inside: &[PathBuf]) -> Result<(), u8> {
    let cache = Cache::standard(&UNIT).folder.parent().and_then(|cache| cache.canonicalize().ok());
    let allowed = |path: &Path| inside.iter().chain(&cache).any(|folder| path.starts_with(folder));
    let inputs = origin.inputs.iter().map(|input| PathBuf::from(&input.file));
    let written =
        manner.written(&[]).into_iter().filter(|(option, _)| *option != "--out").map(|(_, file)| file);
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
    Err(report::refused(message, Some("look at the command above; `--trust` resumes it all the same")))
}

/// As it was given, where it can still be found so.
fn shown(file: &Path, given: &Path) -> String {
    if given.exists() { given } else { file }.display().to_string()
}
