//! What comparing a run with its companions came to.

use super::SignalAccuracy;
use super::follow::Signals;
use super::judge::{Companions, Evidence};
use super::maxima::{Bounds, Maxima};
use super::switches::Switches;

/// Maxima and switching instants of all signals.
#[derive(Debug)]
pub(crate) struct Observed {
    companions: Companions,
    pub(crate) maxima: Vec<Maxima>,
    /// Of the run alone, at every point.
    pub(crate) bounds: Bounds,
    pub(crate) switches: Vec<[Switches; 3]>,
    /// Signals that may still turn out to switch between few values.
    watched: Vec<usize>,
    /// All communication points of the run.
    pub(crate) instants: Vec<f64>,
    shared: usize,
    pub(crate) largest_step: f64,
    /// Why companions did not come to the end.
    pub(crate) failure: Option<String>,
    pub(crate) steps_of_companions: u64,
}

/// An instant that the run and companions share.
pub(crate) struct Point<'a> {
    pub(crate) time: f64,
    /// Seconds since the last one.
    pub(crate) since: f64,
    pub(crate) a: &'a [f64],
    pub(crate) b: &'a [f64],
    pub(crate) c: Option<&'a [f64]>,
    /// Whether just one of `a` and `b` jumped since the last point; none where nothing can.
    pub(crate) jumped: Option<&'a dyn Fn(usize) -> bool>,
    /// The distance of a value of a signal from those of the run around the instant.
    pub(crate) around: &'a dyn Fn(usize, f64) -> f64,
}

impl Observed {
    pub(crate) fn new(companions: Companions, signals: &Signals) -> Observed {
        let switches = |port: &Option<cosimo_core::Port>| [(); 3].map(|()| Switches::new(port.as_ref()));
        Observed {
            companions,
            maxima: vec![Maxima::NONE; signals.width()],
            bounds: Bounds::new(signals.width()),
            switches: signals.ports.iter().map(switches).collect(),
            watched: (0..signals.width()).collect(),
            instants: Vec::new(),
            shared: 0,
            largest_step: 0.0,
            failure: None,
            steps_of_companions: 0,
        }
    }

    pub(crate) fn fail(&mut self, reason: String) {
        self.failure.get_or_insert(reason);
    }

    /// What the first steps leave, as others found it.
    pub(crate) fn take_start(&mut self, from: &Observed) {
        for (found, known) in self.maxima.iter_mut().zip(&from.maxima) {
            found.start = known.start;
        }
    }

    /// What companions begin with.
    pub(crate) fn begin(&mut self, time: f64, b: &[f64], c: &[f64]) {
        for ([_, two, four], (b, c)) in self.switches.iter_mut().zip(b.iter().zip(c)) {
            two.add(time, *b);
            four.add(time, *c);
        }
    }

    /// A communication point of the run.
    pub(crate) fn add_row(&mut self, time: f64, values: &[f64]) {
        if let Some(before) = self.instants.last() {
            self.largest_step = self.largest_step.max(time - before);
        }
        self.instants.push(time);
        self.bounds.add(values);
        let switches = &mut self.switches;
        self.watched.retain(|&signal| {
            let all = &mut switches[signal];
            all[0].add(time, values[signal]);
            if !all[0].is_watched() {
                all.iter_mut().for_each(Switches::give_up);
            }
            all[0].is_watched()
        });
    }

    pub(crate) fn add(&mut self, point: &Point<'_>) {
        self.shared += usize::from(point.c.is_some());
        for &signal in &self.watched {
            let [_, two, four] = &mut self.switches[signal];
            two.add(point.time, point.b[signal]);
            point.c.iter().for_each(|c| four.add(point.time, c[signal]));
        }
        for (signal, found) in self.maxima.iter_mut().enumerate() {
            let (a, b) = (point.a[signal], point.b[signal]);
            if point.jumped.is_some_and(|jumped| jumped(signal)) {
                found.add_distance(point.time, (point.around)(signal, b));
                continue;
            }
            found.add_pair(point.time, point.since, a, b);
            if let Some(c) = point.c {
                found.add_triple(a, b, c[signal]);
            }
        }
    }

    /// An error bar and a verdict per signal.
    pub(crate) fn judge(&self, signals: &Signals, wanted: f64) -> Vec<SignalAccuracy> {
        self.judge_after(None, signals, wanted)
    }

    /// The same, with what companions with larger steps said before.
    pub(crate) fn judge_after(
        &self,
        before: Option<&[SignalAccuracy]>,
        signals: &Signals,
        wanted: f64,
    ) -> Vec<SignalAccuracy> {
        let (first, last) = (self.instants.first(), self.instants.last());
        let maxima: Vec<Maxima> = self
            .maxima
            .iter()
            .enumerate()
            .map(|(signal, found)| self.bounds.complete(signal, found))
            .collect();
        let evidence = Evidence {
            companions: self.companions,
            order: signals.order,
            signals: &signals.infos,
            maxima: &maxima,
            switches: &self.switches,
            before,
            drives: &signals.drives,
            shared: if self.failure.is_some() { 0 } else { self.shared },
            largest_step: self.largest_step,
            end: last.copied().unwrap_or(f64::INFINITY),
            duration: last.zip(first).map_or(0.0, |(last, first)| last - first),
        };
        let mut judged = evidence.judge(wanted);
        if let Some(reason) = &self.failure {
            for signal in &mut judged {
                signal.verdict = super::AccuracyVerdict::Unknown;
                signal.reason = Some(reason.clone());
            }
        }
        judged
    }
}
