//! Progress of a run: a bar for people, or JSON lines for programs. Both go to stderr.

use std::time::{Duration, Instant};

use clap::ValueEnum;
use cosimo::analysis::error_bars::{Repetition, StepCallback};
use cosimo::engine::Run;
use cosimo::ticker::Ticker;
use cosimo::{Error, Moment, Observer, RunEnd, When};
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use serde::Serialize;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mode {
    /// A bar, where stderr is a terminal
    Bar,
    /// One JSON object per line on stderr, at most ten per second, and a last one with the outcome
    Json,
    None,
}

/// The progress of one run as an observer.
pub(crate) struct ProgressObserver {
    mode: Mode,
    progress: Option<Progress>,
}

impl ProgressObserver {
    pub(crate) fn new(mode: Mode) -> ProgressObserver {
        ProgressObserver { mode, progress: None }
    }
}

impl Observer for ProgressObserver {
    fn when(&self) -> When {
        When::WallClock(if self.mode == Mode::Json { LINE } else { BAR })
    }

    fn step(&mut self, at: &mut Moment<'_>) -> Result<(), Error> {
        let experiment = &at.inputs().system.experiment;
        let new = || Progress::new(self.mode, experiment.start, at.time(), experiment.stop);
        let progress = self.progress.get_or_insert_with(new);
        if !at.is_start() {
            progress.show(at.run());
        }
        Ok(())
    }

    fn end(&mut self, end: &mut RunEnd<'_>) -> Result<(), Error> {
        if let Some(((run, outcome), progress)) = end.started.as_ref().zip(self.progress.as_ref()) {
            progress.finish(
                run,
                match end.error {
                    Some(_) => "failed",
                    None if outcome.summary.finished => "finished",
                    None => "interrupted",
                },
            );
        }
        Ok(())
    }
}

/// Progress of repetitions with smaller steps, all at once.
pub(crate) fn watch_repetitions<'o>(
    mode: Mode,
) -> impl Fn(Repetition) -> StepCallback<'o> + Send + Sync + 'o {
    let bars = MultiProgress::new();
    move |which| {
        let label = which.text();
        let (bars, mut ticker, mut progress) = (bars.clone(), Ticker::default(), None);
        Box::new(move |run: &Run| {
            let shown = progress.get_or_insert_with(|| Progress::among(&bars, label, mode, run.span()));
            if let Some(now) = ticker.look() {
                shown.observe(run, now);
            }
            if run.finished() {
                shown.bar.finish_and_clear();
            }
            true
        })
    }
}

/// Update intervals of the bar and of JSON lines.
const BAR: Duration = Duration::from_millis(50);
const LINE: Duration = Duration::from_millis(100);

pub(crate) struct Progress {
    mode: Mode,
    /// Which of several runs it is.
    label: Option<&'static str>,
    bar: ProgressBar,
    begun: Instant,
    shown: Instant,
    /// Start of the run, point at which this process began or resumed it, and end; in simulated seconds.
    start: f64,
    from: f64,
    stop: f64,
}

impl Progress {
    pub(crate) fn new(mode: Mode, start: f64, from: f64, stop: f64) -> Progress {
        let bar = if mode == Mode::Bar { ProgressBar::new(1000) } else { ProgressBar::hidden() };
        let style = "{bar:30} {percent:>3} %  {msg}  {eta} left";
        bar.set_style(ProgressStyle::with_template(style).unwrap_or_else(|_| ProgressStyle::default_bar()));
        let begun = Instant::now();
        Progress { mode, label: None, bar, begun, shown: begun, start, from, stop }
    }

    /// One of several concurrent runs.
    pub(crate) fn among(
        all: &MultiProgress,
        label: &'static str,
        mode: Mode,
        (start, stop): (f64, f64),
    ) -> Progress {
        let mut progress = Progress::new(mode, start, start, stop);
        if mode == Mode::Bar {
            progress.bar = all.add(progress.bar);
        }
        progress.label = Some(label);
        progress
    }

    /// To be called whenever the wall clock was read.
    pub(crate) fn observe(&mut self, run: &Run, now: Instant) {
        let pause = if self.mode == Mode::Json { LINE } else { BAR };
        if now - self.shown < pause {
            return;
        }
        self.shown = now;
        self.show(run);
    }

    fn show(&self, run: &Run) {
        match self.mode {
            Mode::Bar => {
                let time = run.time().seconds();
                self.bar.set_position((self.share(time) * 1000.0) as u64);
                let label = self.label.map_or(String::new(), |label| format!("{label}: "));
                self.bar.set_message(format!("{label}t = {time:.4} s, step {:.2e} s", run.sizes().0));
            }
            Mode::Json => self.line(run, None),
            Mode::None => {}
        }
    }

    /// `outcome` is one word.
    pub(crate) fn finish(&self, run: &Run, outcome: &str) {
        self.bar.finish_and_clear();
        if self.mode == Mode::Json {
            self.line(run, Some(outcome));
        }
    }

    fn share(&self, time: f64) -> f64 {
        ((time - self.start) / (self.stop - self.start)).clamp(0.0, 1.0)
    }

    fn line(&self, run: &Run, outcome: Option<&str>) {
        let (time, counters) = (run.time().seconds(), run.counters());
        // At the mean speed of this process so far.
        let eta = (self.stop - time) / (time - self.from) * self.begun.elapsed().as_secs_f64();
        let line = ProgressLine {
            time,
            share: self.share(time),
            steps: counters.steps,
            rejected: counters.rejected,
            step: run.sizes().0,
            eta: if eta.is_finite() { eta.max(0.0) } else { eta },
            run: self.label,
            outcome,
        };
        eprintln!("{}", serde_json::to_string(&line).unwrap_or_default());
    }
}

/// One line of `--progress json`; no number is null.
#[derive(Serialize)]
struct ProgressLine<'a> {
    time: f64,
    share: f64,
    steps: u64,
    rejected: u64,
    step: f64,
    eta: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<&'a str>,
}
