//! The verdict as text.

use cosimo_engine::Summary;

use super::{Accuracy, AccuracyVerdict, CouplingDefect, SignalAccuracy};
use crate::forecast::three_digits;

impl SignalAccuracy {
    /// One line about it.
    pub fn text(&self) -> String {
        let at = if self.at.is_finite() { format!(" at t = {}", seconds(self.at)) } else { String::new() };
        match (self.switching, self.verdict) {
            (Some(instants), _) if instants.error_bar.is_finite() => {
                let (count, bar) = (instants.count, seconds(instants.error_bar));
                format!("`{}`, which switches {count} times, each within {bar}", self.name)
            }
            (Some(_), _) => format!("`{}`, which switches otherwise{at}", self.name),
            (None, AccuracyVerdict::Unknown) => {
                format!("`{}`: {}", self.name, self.reason.as_deref().unwrap_or("not known"))
            }
            (None, _) => format!("`{}` with {}{at}", self.name, percent(self.relative)),
        }
    }
}

impl Accuracy {
    /// Writes the verdict, with what the ledger of the run says about its reason.
    pub fn explain(&mut self, summary: &Summary) {
        self.words = self.text(summary);
    }

    fn text(&self, summary: &Summary) -> String {
        let wanted = percent(self.wanted);
        let all = self.signals.len();
        let of = |verdict: AccuracyVerdict| {
            let count = self.signals.iter().filter(|it| it.verdict == verdict).count();
            if all == 1 { "the only signal".to_owned() } else { format!("{count} of {all} signals") }
        };
        let more = self.reason.as_ref().map_or(String::new(), |reason| format!(" {}.", sentence(reason)));
        let Some(worst) = self.signals.first() else {
            let reason = self.reason.as_deref().unwrap_or("no signal is recorded");
            return format!("unknown: {reason}.");
        };
        match self.verdict {
            AccuracyVerdict::Accurate if worst.relative == 0.0 && worst.switching.is_none() => {
                format!("accurate to {wanted}: no signal changes with the step size.")
            }
            AccuracyVerdict::Accurate => {
                format!(
                    "accurate to {wanted}: all estimated errors are smaller; the largest is that of {}.",
                    worst.text()
                )
            }
            AccuracyVerdict::NotAccurate => format!(
                "not accurate to {wanted}: the estimated error is above it in {}, the worst {}.{}{more}",
                of(AccuracyVerdict::NotAccurate),
                worst.text(),
                self.cause(summary)
            ),
            AccuracyVerdict::Unknown => {
                let judged =
                    self.signals.iter().filter(|it| it.verdict == AccuracyVerdict::NotAccurate).count();
                let others =
                    if judged > 0 { format!(" {judged} others are not accurate.") } else { String::new() };
                format!(
                    "unknown whether accurate to {wanted}: nothing can be claimed about {}; {}.{others}{more}",
                    of(AccuracyVerdict::Unknown),
                    worst.text()
                )
            }
        }
    }

    /// Which coupling stands out, and what to do.
    fn cause(&self, summary: &Summary) -> String {
        let bonds = summary.bonds.iter().filter(|bond| bond.share > 0.0 && bond.share.is_finite());
        let bond = bonds.max_by(|a, b| a.share.total_cmp(&b.share)).map_or(String::new(), |bond| {
            format!(
                " Bond `{}` created or destroyed {} of the energy it exchanged.",
                bond.name,
                percent(bond.share)
            )
        });
        let connection = self.connections.first().filter(|it| it.mean > 0.0).map_or(String::new(), |it| {
            let CouplingDefect { connection, mean, relative, at, .. } = it;
            format!(
                " The largest coupling defect is that of `{connection}`: {} on average, {} at t = {}.",
                percent(*mean),
                percent(*relative),
                seconds(*at)
            )
        });
        let remedy = " Reduce the step, enable a correction (`cosimo methods` lists them), or split the model elsewhere.";
        [&bond, &connection, remedy].concat()
    }
}

fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// Seconds with three digits.
pub(crate) fn seconds(value: f64) -> String {
    format!("{} s", three_digits(value))
}

/// A share in percent, with at most three digits.
pub fn percent(share: f64) -> String {
    if share.is_finite() { format!("{} %", three_digits(share * 100.0)) } else { "no finite share".into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_have_three_digits_and_no_more() {
        let shares = [0.0138123, 0.123456, 9.87654e-7, 0.0, 1.0, f64::NAN].map(percent);
        assert_eq!(shares, ["1.38 %", "12.3 %", "9.88e-5 %", "0 %", "100 %", "no finite share"]);
    }
}
