//! Outputs against their own extrapolation, one degree above that of the inputs (Busch).
//!
//! Source: Sadjina et al. 2017 (ECCO), Eqs. (16) and (17), after Busch & Schweizer. The denominator holds the
//! value at the window's start. Sensitive to the scale of outputs: give each simulator its own tolerance.

use cosimo_core::interface::Needs;
use cosimo_core::method::{Estimate, Sizes, StepRecord};
use cosimo_core::registry::{MethodEntry, Range, Spec};
use cosimo_core::{Trace, Window};

use super::Scale;

/// TOL and rho of Eq. (17).
pub(crate) struct PredictorCorrector(pub Scale);

impl Estimate for PredictorCorrector {
    fn order(&self, shape: &Sizes) -> u32 {
        shape.degree + 1
    }

    fn measure(&self, record: &StepRecord<'_>) -> f64 {
        self.0.worst(record, |output| {
            let trace = record.traces.trace(output);
            let (new, old) = (trace.back(0).y, trace.back(1).y);
            let predicted = predict(trace, record.shape.degree as usize + 1, record.window);
            [new, predicted, new.abs().max(old.abs())]
        })
    }
}

/// The polynomial of the given degree through the samples before the newest, at the window's end; of lower
/// degree while there are fewer samples since the start or the last jump.
fn predict(trace: Trace<'_>, degree: usize, window: Window) -> f64 {
    // Two samples of one instant are a jump; samples before it must not be used.
    let known = (1..trace.len()).take_while(|&k| k == 1 || trace.back(k).t < trace.back(k - 1).t).count();
    if degree == 1 && known > 1 {
        let (last, before) = (trace.back(1), trace.back(2));
        // In the same form as the linear input, with the exact step size.
        return last.y + (last.y - before.y) * window.size / (last.t - before.t);
    }
    trace.polynomial_at(1, degree.min(known - 1) + 1, window.to.seconds())
}

pub(super) const WEIGHT: Spec =
    Spec::number("weight", 1e-4, Range::NotNegative, "", "rho: weight of the relative part");

pub(crate) const ENTRY: MethodEntry<dyn Estimate> = MethodEntry {
    name: "predictor-corrector",
    summary: "outputs against their extrapolation (Busch)",
    source: "Sadjina et al. 2017 (ECCO), Eqs. (16) and (17), after Busch & Schweizer",
    order: "degree + 1",
    options: &[
        Spec::number("tolerance", 1e-3, Range::Positive, "", "TOL: of simulators without their own"),
        WEIGHT,
    ],
    needs: |_| Needs::NOTHING,
    build: |options| Box::new(PredictorCorrector(Scale::new(options))),
};

#[cfg(test)]
mod tests {
    use super::*;
    use cosimo_core::math;
    use cosimo_core::{Time, Traces};

    #[test]
    fn predicts_polynomials_of_its_degree_on_uneven_steps() {
        for degree in 1..=3usize {
            let curve =
                |t: f64| (0..=degree).map(|k| (k as f64 + 1.0) * math::powi(t, k as i32)).sum::<f64>();
            let mut traces = Traces::new(1);
            let times = [0.0, 0.2, 0.3, 0.7, 0.8, 1.1];
            for t in times {
                traces.open(Time::new(t).unwrap());
                traces.put(0, &[curve(t)], &[]);
                traces.commit();
            }
            let window =
                Window { from: Time::new(0.8).unwrap(), to: Time::new(1.1).unwrap(), size: 1.1 - 0.8 };
            let predicted = predict(traces.trace(0), degree, window);
            assert!((predicted - curve(1.1)).abs() < 1e-12, "degree {degree}: {predicted} {}", curve(1.1));
        }
    }

    #[test]
    fn the_degree_is_that_of_what_is_known_since_the_start_or_a_jump() {
        let mut traces = Traces::new(1);
        let mut put = |t: f64, y: f64| {
            traces.open(Time::new(t).unwrap());
            traces.put(0, &[y], &[]);
            traces.commit();
            let window = Window { from: Time::ZERO, to: Time::new(t).unwrap(), size: 0.5 };
            (t > 0.0).then(|| predict(traces.trace(0), 3, window))
        };
        put(0.0, 1.0);
        // One sample before: a constant. Two: a line. Three: a parabola.
        assert_eq!(put(0.5, 2.0), Some(1.0));
        assert_eq!(put(1.0, 4.0), Some(3.0));
        assert!((put(1.5, 0.0).unwrap() - 7.0).abs() < 1e-14);
        // Two samples of one instant are a jump: what lies before it predicts nothing.
        put(1.5, 9.0);
        assert_eq!(put(2.0, 11.0), Some(9.0));
        assert_eq!(put(2.5, 0.0), Some(13.0));
    }
}
