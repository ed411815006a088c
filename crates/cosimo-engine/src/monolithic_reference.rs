//! How far signals are from the monolithic reference, where the system has one, and what that has to do with the energy defect.

use crate::summary::BondSummary;

/// A port and its largest error.
#[derive(Debug, Clone, PartialEq)]
pub struct ReferenceDeviation {
    pub name: String,
    /// Empty where nobody says.
    pub unit: String,
    pub error: f64,
    /// The error as a part of the largest value of the monolithic reference.
    pub share: f64,
    /// Its instant, in seconds.
    pub at: f64,
}

/// All ports that were compared; none where there is no monolithic reference.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct MonolithicReference<'a> {
    /// What the comparison leaves out; may be empty.
    pub about: &'a str,
    pub ports: &'a [ReferenceDeviation],
}

impl MonolithicReference<'_> {
    /// Why a signal is worse than the energy defect lets one hope, where it is.
    pub fn beside(&self, bonds: &[BondSummary]) -> Option<String> {
        let defect = bonds.iter().map(|bond| bond.share).filter(|share| !share.is_nan()).reduce(f64::max)?;
        let worst = self.ports.iter().max_by(|a, b| a.share.total_cmp(&b.share))?;
        (worst.share > defect).then(|| {
            format!(
                "`{}` is off by {:.3} % at its worst instant, more than the energy defect of {:.3} %: the defect counts energy over \
                 the whole run, and bounds the error of no signal",
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
    fn only_a_signal_that_is_worse_than_the_defect_needs_words() {
        let totals = BondTotals { transmitted: 1.0, exchanged: 1.0, residual: 0.0, residual_absolute: 0.01 };
        let bonds = [BondSummary { name: "strut".into(), totals, share: 0.01, power_error: 0.0 }];
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
        assert!(words(0.02).is_some_and(|words| words.starts_with("`a.F` is off by 2.000 % at its worst")));
        assert_eq!(words(0.009), None);
        assert_eq!(MonolithicReference::default().beside(&bonds), None);
    }
}
