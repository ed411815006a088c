//! The residual energy of power bonds as error indicator: ECCO.
//!
//! Source: Sadjina et al. 2017 (ECCO), Eqs. (10) and (14). The energy is the power at the window's end times
//! its size, with the inputs that were applied. It is an energy defect, not a bound on the state error.

use cosimo_core::interface::Needs;
use cosimo_core::method::{Estimate, Sizes, StepRecord};
use cosimo_core::registry::{MethodEntry, Options, Range, Spec};

pub(crate) struct PowerResidual {
    /// r_k of Eq. (14) for bonds that have none of their own.
    pub tolerance: f64,
    /// E0_k of Eq. (14) for bonds that have none of their own, in joules.
    pub energy_scale: f64,
}

impl Estimate for PowerResidual {
    fn order(&self, shape: &Sizes) -> u32 {
        shape.degree + 2
    }

    fn measure(&self, record: &StepRecord<'_>) -> f64 {
        let mut sum = 0.0;
        for bond in 0..record.bonds.len() {
            let part = self.bond_measure(record, bond);
            sum += part * part;
        }
        (sum / record.bonds.len() as f64).sqrt()
    }

    fn bond_measure(&self, record: &StepRecord<'_>, bond: usize) -> f64 {
        let size = record.window.size;
        let (facts, power) = (&record.bonds[bond], &record.powers[bond]);
        let tolerance = facts.tolerance.unwrap_or(self.tolerance);
        let scale = facts.energy_scale.unwrap_or(self.energy_scale);
        (power.residual * size).abs() / (tolerance * (scale + (power.transmitted * size).abs()))
    }
}

pub(super) const TOLERANCE: Spec =
    Spec::number("tolerance", 1e-5, Range::Positive, "", "r: relative tolerance of bonds without their own");
pub(super) const ENERGY_SCALE: Spec =
    Spec::number("energy_scale", 1.0, Range::Positive, "J", "E0: typical energy of bonds without their own");

impl PowerResidual {
    pub(super) fn new(options: &Options) -> PowerResidual {
        PowerResidual {
            tolerance: options.number(TOLERANCE.name),
            energy_scale: options.number(ENERGY_SCALE.name),
        }
    }
}

pub(crate) const ENTRY: MethodEntry<dyn Estimate> = MethodEntry {
    name: "power-residual",
    summary: "residual energy of the power bonds (ECCO)",
    source: "Sadjina et al. 2017 (ECCO), Eqs. (10) and (14)",
    order: "degree + 2",
    options: &[TOLERANCE, ENERGY_SCALE],
    needs: |_| Needs { bonds: true, ..Needs::NOTHING },
    build: |options| Box::new(PowerResidual::new(options)),
};
