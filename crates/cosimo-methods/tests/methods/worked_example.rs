//! A leaky correction: compensate a share of the integral that the last step lost, and forget the rest.
//! For the last step, e = integral of the true input - integral of the applied one; offset = share e / size.
//! Source: a truncation of Sadjina & Pedersen 2019 (NEPCE), Eq. (11).

use cosimo_core::interface::Needs;
use cosimo_core::method::{Correction, CorrectionContext, Quadrature, Sizes, StepRecord};
use cosimo_core::registry::{MethodEntry, Range, Spec};
use cosimo_core::{Segment, Window};

#[derive(Debug, Clone, Copy)]
pub(crate) struct Leaky {
    pub share: f64,
}

impl Correction for Leaky {
    fn memory(&self, shape: &Sizes) -> usize {
        shape.inputs
    }

    fn offsets(
        &self,
        known: &CorrectionContext<'_>,
        lost: &[f64],
        window: Window,
        add: &mut [Segment],
        _whole: &mut [bool],
        _scratch: &mut [f64],
    ) {
        for input in (0..known.shape.inputs).filter(|&input| known.corrected[input]) {
            add[input] += Segment::constant(self.share * lost[input] / window.size);
        }
    }

    fn learn(&self, known: &CorrectionContext<'_>, record: &StepRecord<'_>, lost: &mut [f64], _: &mut [f64]) {
        let rule = Quadrature::Best;
        for input in 0..known.shape.inputs {
            let error = record.true_integral(input, rule) - record.applied_integral(input, rule);
            // Written for every input: a cell that is never written looks like a state that never decays.
            lost[input] = if known.corrected[input] { error } else { 0.0 };
        }
    }
}

pub(crate) const ENTRY: MethodEntry<dyn Correction> = MethodEntry {
    name: "leaky",
    summary: "compensate a share of the last integral error, forget the rest",
    source: "truncation of Sadjina & Pedersen 2019 (NEPCE), Eq. (11)",
    order: "of the input",
    options: &[Spec::number("share", 0.5, Range::Unit, "", "share of the last error that is compensated")],
    needs: |_| Needs::NOTHING,
    build: |options| Box::new(Leaky { share: options.number("share") }),
};

// The code above is the worked example of CONTRIBUTING.md; `cargo xtask docs` compares the two.

mod tests {
    use super::ENTRY;
    use crate::common::{DUAL_MASS, DualMass, run_to_the_end, start_with};

    /// The energy that the coupling created or lost.
    fn defect(correction: &str, initial: [f64; 4]) -> f64 {
        let mut registry = cosimo::registry();
        registry.corrections.push(&ENTRY);
        let method = format!("correction = {correction}\nstep = {{ size = 0.02 }}");
        let text = DualMass { stop: 2.0, method: &method, initial, ..DUAL_MASS }.text();
        let mut run = start_with(&text, 1, &registry);
        run_to_the_end(&mut run);
        run.ledger().totals[0].residual_absolute
    }

    #[test]
    fn it_loses_less_energy_than_no_correction() {
        let (without, with) = (defect("\"none\"", DUAL_MASS.initial), defect("\"leaky\"", DUAL_MASS.initial));
        assert!(with < 0.9 * without, "{with} J with it, {without} J without");
    }

    #[test]
    fn its_option_is_read() {
        let half = defect("{ leaky = { share = 0.5 } }", DUAL_MASS.initial);
        assert_eq!(half, defect("\"leaky\"", DUAL_MASS.initial));
        assert_ne!(half, defect("{ leaky = { share = 1.0 } }", DUAL_MASS.initial));
    }

    #[test]
    fn it_adds_nothing_to_a_system_at_rest() {
        assert_eq!(defect("\"leaky\"", [0.0; 4]), 0.0);
    }
}
