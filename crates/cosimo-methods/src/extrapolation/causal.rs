//! The degree by causality: inputs with direct feed-through are extrapolated with a higher degree than those that are
//! integrated first.
//!
//! Source: Wu 2018, Definition 7.2.1: an error of an input with feed-through reaches the other side within the
//! same step, one of an integrated input is smoothed; linear for the first and constant for the second is more stable
//! than all linear and more accurate than all constant. The global order is that of the lower degree.

use cosimo_core::interface::Needs;
use cosimo_core::method::{Extrapolation, ExtrapolationChoice};
use cosimo_core::registry::{MethodEntry, Spec};

use super::hold::Hold;
use super::linear::Linear;
use super::quadratic::Quadratic;

pub(crate) struct Causal {
    /// The degree of inputs with direct feed-through.
    pub through: usize,
    /// The degree of all others.
    pub integrated: usize,
}

impl ExtrapolationChoice for Causal {
    fn choose(&self, feedthrough: bool) -> Box<dyn Extrapolation> {
        match if feedthrough { self.through } else { self.integrated } {
            0 => Box::new(Hold),
            1 => Box::new(Linear),
            _ => Box::new(Quadratic),
        }
    }
}

pub(crate) const ENTRY: MethodEntry<dyn ExtrapolationChoice> = MethodEntry {
    name: "causal",
    summary: "linear for inputs with direct feed-through, zero-order hold for all others",
    source: "Wu 2018, Definition 7.2.1",
    order: "1",
    options: &[
        Spec::choice("through", "1", &["0", "1", "2"], "degree of inputs with direct feed-through"),
        Spec::choice("integrated", "0", &["0", "1", "2"], "degree of all other inputs"),
    ],
    needs: |_| Needs::NOTHING,
    build: |options| {
        let degree = |name| options.text(name).parse().unwrap_or(0);
        Box::new(Causal { through: degree("through"), integrated: degree("integrated") })
    },
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn feedthrough_decides() {
        let causal = Causal { through: 1, integrated: 0 };
        let degree = |feedthrough| causal.choose(feedthrough).degree();
        assert_eq!((degree(true), degree(false)), (1, 0));
    }
}
