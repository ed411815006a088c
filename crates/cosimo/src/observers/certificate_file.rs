//! The certificate of a run: the file exists from the first moment, and says of itself that the run has not ended. So
//! whatever becomes of the process, no certificate of an earlier run is taken for that of this one.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use cosimo_pack::hash::sha256;
use cosimo_system::Problem;

use crate::certificate::{Certificate, CertificateData, Machine, ResultFile, RunEnding, Source, with_seal};
use crate::error::Error;
use crate::observer::{Moment, Observer, RunEnd, RunStart};
use crate::outcome::Outcome;
use crate::simulation::{RunInputs, command_line};
use crate::{draft_file, input_files, paths};

/// Writes the certificate of a run.
#[derive(Debug)]
pub struct CertificateFile {
    /// As it was given, and where that is whatever becomes of the working folder.
    shown: PathBuf,
    path: PathBuf,
    certificate: Option<Certificate>,
    warnings: Vec<Problem>,
}

impl CertificateFile {
    /// Writes to this file.
    pub fn new(file: impl Into<PathBuf>) -> CertificateFile {
        let shown = file.into();
        let path = std::path::absolute(&shown).unwrap_or_else(|_| shown.clone());
        CertificateFile { shown, path, certificate: None, warnings: Vec::new() }
    }

    fn write(&self, certificate: CertificateData) -> Result<(), Error> {
        draft_file::replace(&self.path, with_seal(certificate).as_bytes())
            .map_err(|cause| Error::cannot_write(&self.shown, &cause))
    }

    /// The run has not begun, or how it ends is not known.
    fn write_unfinished(&self, inputs: &RunInputs, reason: &str) -> Result<(), Error> {
        let Some(certificate) = &self.certificate else { return Ok(()) };
        let machine = machine(inputs, Duration::ZERO, Duration::ZERO);
        self.write(certificate.unfinished(reason, &self.warnings, machine))
    }

    fn write_finished(
        &self,
        inputs: &RunInputs,
        ending: &RunEnding<'_>,
        (run, outcome): (&cosimo_engine::Run, &Outcome),
    ) -> Result<(), Error> {
        let Some(certificate) = &self.certificate else { return Ok(()) };
        let machine = machine(inputs, outcome.wall_time, outcome.wall_time_of_error_bars);
        let mut certificate = certificate.finished(run, &outcome.accuracy, ending, machine);
        let mut listed = Vec::new();
        for (file, rows) in &outcome.results {
            let file = std::path::absolute(file).unwrap_or_else(|_| file.clone());
            let sha256 = match cosimo_pack::hash::sha256_of_file(&file) {
                Ok(sha256) => sha256,
                // A run that failed may have failed because of it.
                Err(_) if !matches!(ending, RunEnding::Finished) => continue,
                Err(cause) => {
                    let message = format!("cannot read `{}` for its certificate: {cause}", file.display());
                    return Err(Error::unwritable(message, &self.shown));
                }
            };
            // As seen from the certificate: both may be moved together.
            let near = paths::relative(paths::folder(&self.path), &file).unwrap_or_else(|_| file.clone());
            listed.push(ResultFile { file: near.to_string_lossy().into_owned(), rows: *rows, sha256 });
        }
        certificate.machine.results = listed;
        self.write(certificate)
    }
}

impl Observer for CertificateFile {
    fn files(&self, _inputs: &RunInputs) -> Vec<(&'static str, PathBuf)> {
        vec![("--certificate", self.shown.clone())]
    }

    fn begin(&mut self, start: &RunStart<'_>) -> Result<(), Error> {
        let RunStart { inputs, layout, warnings, .. } = start;
        let sources = sources(inputs)?;
        self.certificate = Some(Certificate::new(&inputs.system, layout, &inputs.registry, &sources));
        self.warnings = warnings.to_vec();
        let reason = "the run has not ended, or the process was ended before it could write more";
        self.write_unfinished(inputs, reason)
    }

    fn step(&mut self, at: &mut Moment<'_>) -> Result<(), Error> {
        let Some(certificate) = &mut self.certificate else { return Ok(()) };
        match (at.is_start(), &at.inputs().resumed) {
            (true, Some(_)) => certificate.resume(at.time()),
            (true, None) => {}
            (false, _) => certificate.observe(at.run()),
        }
        Ok(())
    }

    fn end(&mut self, end: &mut RunEnd<'_>) -> Result<(), Error> {
        let Some((run, outcome)) = &end.started else {
            let reason = end.error.map_or(String::new(), ToString::to_string);
            let written = self.write_unfinished(end.inputs, &format!("the run did not begin: {reason}"));
            return written.map_err(|error| {
                Error::unwritable(format!("the certificate does not say why: {error}"), &self.shown)
            });
        };
        let ending = match end.error {
            Some(error) => RunEnding::Failed(error),
            None if outcome.summary.finished => RunEnding::Finished,
            None => RunEnding::Interrupted,
        };
        self.write_finished(end.inputs, &ending, (run, outcome))
    }
}

/// All that may differ between two runs of the same inputs.
fn machine(inputs: &RunInputs, elapsed: Duration, of_error_bars: Duration) -> Machine {
    Machine {
        written: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
        computing_seconds: elapsed.as_secs_f64(),
        error_bar_seconds: of_error_bars.as_secs_f64(),
        threads: inputs.threads,
        cores: std::thread::available_parallelism().map_or(0, usize::from),
        target: format!("{} {}", std::env::consts::ARCH, std::env::consts::OS),
        command: command_line(),
        results: Vec::new(),
        checksum: String::new(),
    }
}

/// Every file that went in: those on the disk, and members of packages that they were unpacked from. They are called as
/// seen from the system: where that lies, or is unpacked to, is a matter of the machine.
fn sources(inputs: &RunInputs) -> Result<Vec<Source>, Error> {
    let RunInputs { what, files, system, .. } = inputs;
    let hashed = input_files::hashed(inputs)?;
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
        hashed.into_iter().map(|it| Source { file: shown(Path::new(&it.file)), sha256: it.sha256 }).collect();
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
