//! Deviations of signals from the monolithic reference, compared with the energy defect.

use crate::summary::BondSummary;

/// A port and its largest error.
#[derive(Debug, Clone, PartialEq)]
pub struct ReferenceDeviation {
    /// As `component.port`.
    pub name: String,
    /// The physical unit; empty if unknown.
    pub unit: String,
    /// The largest absolute error, in that unit.
    pub error: f64,
    /// The error relative to the peak, of the run or of the monolithic reference, whichever is larger.
    pub share: f64,
    /// The time of the largest error, in seconds.
    pub at: f64,
}

/// All ports that were compared; none where there is no monolithic reference.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct MonolithicReference<'a> {
    /// Limitations of the comparison; may be empty.
    pub about: &'a str,
    /// Per compared port.
    pub ports: &'a [ReferenceDeviation],
}

impl MonolithicReference<'_> {
    /// A note for the case that a signal error is larger than the energy defect.
    pub fn beside(&self, bonds: &[BondSummary]) -> Option<String> {
        let defect = bonds.iter().map(|bond| bond.share).filter(|share| !share.is_nan()).reduce(f64::max)?;
        let worst = self.ports.iter().max_by(|a, b| a.share.total_cmp(&b.share))?;
        (worst.share > defect).then(|| {
            format!(
                "the largest error of `{}` is {:.3} %, more than the energy defect of {:.3} %: the defect is an integral over the \
                 run and does not bound the error of any signal",
                worst.name,
                100.0 * worst.share,
                100.0 * defect
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::BondTotals;

    #[test]
    fn only_a_signal_error_above_the_defect_gets_a_note() {
        let totals = BondTotals { transmitted: 1.0, exchanged: 1.0, residual: 0.0, residual_absolute: 0.01 };
        let bonds = [BondSummary { name: "strut".into(), totals, share: 0.01, scale: 1.0, power_error: 0.0 }];
        let words = |share: f64| {
            let port = |name: &str, share: f64| ReferenceDeviation {
                name: name.into(),
                unit: "N".into(),
                error: 1.0,
                share,
                at: 0.0,
            };
            let ports = [port("a.x", 1e-3), port("a.F", share)];
            MonolithicReference { about: "", ports: &ports }.beside(&bonds)
        };
        assert!(
            words(0.02).is_some_and(|words| words.starts_with("the largest error of `a.F` is 2.000 %, more"))
        );
        assert_eq!(words(0.009), None);
        assert_eq!(MonolithicReference::default().beside(&bonds), None);
    }
}
