//! Residual energy of the bonds and extrapolation error of the outputs; the larger counts. The energy shows what a
//! tolerance on outputs cannot, and outputs cover connections without a bond.

use cosimo_core::interface::Needs;
use cosimo_core::method::{Estimate, Sizes, StepRecord};
use cosimo_core::registry::{MethodEntry, Range, Spec};

use super::Scale;
use super::power_residual::{self, PowerResidual};
use super::predictor_corrector::{self, PredictorCorrector};

pub(crate) struct PowerAndOutputs {
    pub power: PowerResidual,
    pub outputs: PredictorCorrector,
}

impl Estimate for PowerAndOutputs {
    /// The higher of the two: the one that changes the step size less.
    fn order(&self, shape: &Sizes) -> u32 {
        self.power.order(shape).max(self.outputs.order(shape))
    }

    fn measure(&self, record: &StepRecord<'_>) -> f64 {
        let (power, outputs) = (self.power.measure(record), self.outputs.measure(record));
        if power.is_nan() || outputs.is_nan() { f64::NAN } else { power.max(outputs) }
    }

    fn bond_measure(&self, record: &StepRecord<'_>, bond: usize) -> f64 {
        self.power.bond_measure(record, bond)
    }
}

pub(crate) const ENTRY: MethodEntry<dyn Estimate> = MethodEntry {
    name: "power-and-outputs",
    summary: "power-residual and predictor-corrector together; the larger counts",
    source: "Sadjina et al. 2017 (ECCO), Eqs. (14) and (17)",
    order: "degree + 1",
    options: &[
        power_residual::TOLERANCE,
        power_residual::ENERGY_SCALE,
        Spec::number("output_tolerance", 1e-3, Range::Positive, "", "TOL: of simulators without their own"),
        predictor_corrector::WEIGHT,
    ],
    needs: |_| Needs { bonds: true, ..Needs::NOTHING },
    build: |options| {
        Box::new(PowerAndOutputs {
            power: PowerResidual::new(options),
            outputs: PredictorCorrector(Scale {
                tolerance: options.number("output_tolerance"),
                weight: options.number("weight"),
            }),
        })
    },
};
