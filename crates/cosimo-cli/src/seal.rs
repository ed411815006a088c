//! `--certificate`: the file exists from the first moment, and says of itself that the run has not ended. So whatever
//! becomes of the process, no certificate of an earlier run is taken for that of this one.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use cosimo::certificate::{Certificate, Ending, Source};
use cosimo::core::Registry;
use cosimo::engine::{Layout, Run};
use cosimo::report::sha256;
use cosimo::system::{Files, Problem, System};
use serde_json::{Value, json};

use crate::load::Changes;
use crate::{paths, saver};

pub(crate) struct Seal {
    path: PathBuf,
    /// As it was given.
    shown: PathBuf,
    certificate: Certificate,
    threads: usize,
    command: String,
}

/// What the run is made of.
pub(crate) struct Made<'a> {
    pub what: &'a [String],
    pub changes: &'a Changes,
    /// The texts that the system was read from.
    pub files: &'a Files,
    pub system: &'a System,
    pub layout: &'a Layout,
    pub registry: &'a Registry,
    pub remarks: &'a [Problem],
    pub threads: usize,
}

impl Seal {
    pub(crate) fn create(path: &Path, made: &Made<'_>) -> Result<Seal, String> {
        let sources = sources(made)?;
        let seal = Seal {
            path: std::path::absolute(path).unwrap_or_else(|_| path.into()),
            shown: path.into(),
            certificate: Certificate::new(made.system, made.layout, made.registry, &sources),
            threads: made.threads,
            command: std::env::args_os()
                .skip(1)
                .map(|word| crate::page::quoted(word.to_string_lossy().into_owned()))
                .fold("cosimo".into(), |command, word| format!("{command} {word}")),
        };
        let reason = "the run has not ended, or the process was ended before it could write more";
        seal.write(&seal.certificate.unfinished(reason, made.remarks, seal.machine(Duration::ZERO)))?;
        Ok(seal)
    }

    pub(crate) fn resume(&mut self, from: f64) {
        self.certificate.resume(from);
    }

    /// To be called after every step.
    pub(crate) fn look(&mut self, run: &Run) {
        self.certificate.look(run);
    }

    /// The run could not even begin.
    pub(crate) fn never(&self, reason: &str, remarks: &[Problem]) -> Result<(), String> {
        let reason = format!("the run did not begin: {reason}");
        self.write(&self.certificate.unfinished(&reason, remarks, self.machine(Duration::ZERO)))
    }

    /// `results` are files with their rows.
    pub(crate) fn close(
        &self,
        run: &Run,
        ending: &Ending<'_>,
        elapsed: Duration,
        results: &[(PathBuf, u64)],
    ) -> Result<(), String> {
        let mut certificate = self.certificate.finished(run, ending, self.machine(elapsed));
        let mut listed = Vec::new();
        for (file, rows) in results {
            let sha256 = match cosimo::report::sha256_of_file(file) {
                Ok(sha256) => sha256,
                // A run that failed may have failed because of it.
                Err(_) if !matches!(ending, Ending::Finished) => continue,
                Err(cause) => {
                    return Err(format!("cannot read `{}` for its certificate: {cause}", file.display()));
                }
            };
            // As seen from the certificate: both may be moved together.
            let near = paths::relative(paths::folder(&self.path), file).unwrap_or_else(|_| file.clone());
            listed.push(json!({ "file": near.to_string_lossy(), "rows": rows, "sha256": sha256 }));
        }
        certificate["machine"]["results"] = listed.into();
        self.write(&certificate)
    }

    fn write(&self, certificate: &Value) -> Result<(), String> {
        cosimo::saved::replace(&self.path, cosimo::certificate::sealed(certificate).as_bytes())
            .map_err(|cause| format!("cannot write `{}`: {cause}", self.shown.display()))
    }

    /// All that may differ between two runs of the same inputs.
    fn machine(&self, elapsed: Duration) -> Value {
        json!({
            "written": humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
            "computing_seconds": elapsed.as_secs_f64(),
            "threads": self.threads,
            "cores": std::thread::available_parallelism().map_or(0, usize::from),
            "target": format!("{} {}", std::env::consts::ARCH, std::env::consts::OS),
            "command": self.command,
            "results": [],
        })
    }
}

/// Every file that went in: those on the disk, and members of packages that they were unpacked from. They are called as
/// seen from the system: where that lies, or is unpacked to, is a matter of the machine.
fn sources(made: &Made<'_>) -> Result<Vec<Source>, String> {
    let Made { what, changes, files, system, registry, .. } = made;
    let inputs = saver::hashed(what, changes, system, registry)
        .map_err(|(file, cause)| format!("cannot read `{}`: {cause}", file.display()))?;
    let main = what.first().map(Path::new).filter(|file| what.len() == 1 && file.is_file());
    let beside = |file: &Path| paths::same(paths::folder(file), paths::folder(&system.folder.join("part")));
    let package = main.filter(|file| !beside(file));
    let short = |file: &Path| file.file_name().unwrap_or_default().display().to_string();
    let shown = |file: &Path| {
        if main == Some(file) {
            return short(file);
        }
        match (file.strip_prefix(&system.folder), package) {
            (Ok(member), Some(package)) => format!("{}: {}", short(package), member.display()),
            (Ok(part), None) => part.display().to_string(),
            (Err(_), _) if file.is_absolute() => short(file),
            (Err(_), _) => file.display().to_string(),
        }
    };
    let mut sources: Vec<Source> =
        inputs.into_iter().map(|(file, sha256)| Source { file: shown(&file), sha256 }).collect();
    for file in files.iter().filter(|file| !file.name.is_empty()) {
        let member = package.and_then(|package| file.name.strip_prefix(&format!("{}: ", package.display())));
        let name = match member.zip(package) {
            Some((member, package)) => format!("{}: {member}", short(package)),
            None => shown(Path::new(&file.name)),
        };
        if !sources.iter().any(|known| known.file == name) {
            sources.push(Source { file: name, sha256: sha256(file.text.as_bytes()) });
        }
    }
    Ok(sources)
}
