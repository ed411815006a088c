//! `cosimo resume`: goes on with a run that was saved, as if it had never stopped.

use std::path::{Path, PathBuf};

use cosimo::saved::{Saved, SavedError};

use crate::command::run::{self, Manner, Resumed};
use crate::{exit, paths, report, saver};

/// Go on with a run from a checkpoint, in the folder and with the options it was started with
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What `cosimo run --checkpoint` wrote
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Another end of the run, in seconds
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    stop: Option<f64>,
    #[command(flatten)]
    manner: Manner,
}

pub(crate) fn run(args: &Args) -> Result<(), u8> {
    let saved = Saved::read(&args.file).map_err(|error| {
        report::error(&error.to_string(), Some(error.hint()));
        if matches!(error, SavedError::Unreadable { .. }) { exit::NO_FILE } else { exit::BAD_INPUT }
    })?;
    let given = args.manner.absolute();
    let file = std::path::absolute(&args.file).unwrap_or_else(|_| args.file.clone());
    let folder = paths::folder(&file).join(&saved.origin.folder);
    let here = std::env::current_dir().and_then(|here| here.canonicalize()).ok();
    if let Some(there) = folder.canonicalize().ok().filter(|there| Some(there) != here.as_ref()) {
        eprintln!("remark: the run goes on in `{}`, where it was started", there.display());
    }
    std::env::set_current_dir(&folder).map_err(|cause| {
        let message = format!("cannot go to `{}`, where the run was started: {cause}", folder.display());
        report::error(&message, Some("the checkpoint must lie as it did beside the files of the run"));
        exit::NO_FILE
    })?;
    saver::compare(&saved.origin.inputs)?;
    let mut begun = crate::run_args(&saved.origin.words).ok_or_else(|| {
        let message = format!("`{}` was made by a command line that is not understood", args.file.display());
        let hint = format!("it was: cosimo {}", saved.origin.words.join(" "));
        report::error(&message, Some(&hint));
        exit::BAD_INPUT
    })?;
    if let Some(stop) =
        args.stop.filter(|stop| stop.partial_cmp(&saved.time).is_none_or(|order| order.is_le()))
    {
        let message = format!("`--stop {stop}` is not later than the checkpoint, t = {} s", saved.time);
        report::error(&message, Some("give a later time, or none"));
        return Err(exit::BAD_INPUT);
    }
    begun.changes.stop = args.stop.or(saved.origin.stop).or(begun.changes.stop);
    let earlier = saved.origin.results.iter().map(PathBuf::from).collect();
    begun.manner = given.after(begun.manner, earlier);
    let words = saved.origin.words.clone();
    let file = shown(&file, &args.file);
    run::go(&begun, &words, Some(Resumed { file, saved, stop: begun.changes.stop }))
}

/// As it was given, where it can still be found so.
fn shown(file: &Path, given: &Path) -> String {
    if given.exists() { given } else { file }.display().to_string()
}
