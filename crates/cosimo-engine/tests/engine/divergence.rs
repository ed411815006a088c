//! An unstable coupling ends with its name and early, an unstable plant does not.
#![allow(clippy::unwrap_used)] // helpers of tests are tests

use crate::common::{DUAL_MASS, DualMass, bits, start};
use cosimo::core::error::StepError;
use cosimo::engine::{Run, RunError};

/// A heavy mass, a light one of 100 kg and a stiff damper that belongs to the heavy one, without a bond and with held inputs: the
/// light mass feels its own motion one step late, so that the step has to be below about m / d = 0.1 s.
fn masses(size: f64, more: &str) -> String {
    format!(
        "experiment.stop = 5000.0\n\
         component.left = {{ source = 'native:dual-mass/left-force', parameters = {{ x10 = 1.0, m1 = 1e5, kc = 1000.0, dc = 1000.0 }} }}\n\
         component.right.source = 'native:dual-mass/right'\n\
         connection = [{{ from = 'right.x', to = 'left.x_far' }}, {{ from = 'right.v', to = 'left.v_far' }},\n\
         {{ from = 'left.f', to = 'right.f' }}]\n\
         [method]\nstep = {{ size = {size:?}{more} }}\n"
    )
}

/// Steps until the end, and why it ended.
fn end(run: &mut Run) -> (u64, Option<StepError>) {
    while !run.finished() {
        if let Err(error) = run.step() {
            let RunError::Step(error) = error else { panic!("{error}") };
            return (run.counters().steps, Some(error));
        }
    }
    (run.counters().steps, None)
}

#[test]
fn signals_alone_diverge_early() {
    for size in [0.5, 1.0, 2.0] {
        let mut run = start(&masses(size, ""), 1);
        let (steps, error) = end(&mut run);
        let error = error.unwrap_or_else(|| panic!("{size}: no error after {steps} steps"));
        assert_eq!(error.code(), "step/diverged", "{size}: {error}");
        let StepError::Diverged { growth, steps: counted, value, .. } = &error else { panic!("{error}") };
        assert!(*growth > 1e12 && *value < 1e150 && *counted <= steps, "{size}: {error}");
        assert!(error.to_string().starts_with("diverged: `"), "{error}");
        assert!(error.hint().contains("cosimo check"), "{}", error.hint());
    }
    let mut run = start(&masses(0.01, "").replace("5000.0", "50.0"), 1);
    assert!(end(&mut run).1.is_none());
}

/// With a bond the squares of the energies overflow first; what they overflow by is divergence all the same.
#[test]
fn an_overflow_of_energies_after_growth_is_divergence() {
    let method = "step = { size = 1.0, min = 1.0, max = 1.1, estimate = 'power-residual', controller = 'i' }";
    let text = DualMass { stop: 500.0, method, ..DUAL_MASS }.text();
    let text = text.replacen("x10 = 1.0,", "x10 = 1.0, m1 = 1e5, kc = 1e6, dc = 1e6,", 1);
    let (_, error) = end(&mut start(&text, 1));
    let error = error.unwrap();
    assert_eq!(error.code(), "step/diverged", "{error}");
}

/// x1' = x1 + c x2 and x2' = -x2 + c x1 grow with exp(t), over fifty time constants and for steps up to a half of one.
#[test]
fn an_unstable_plant_does_not_diverge() {
    for size in [0.01, 0.1, 0.5] {
        let text = format!(
            "experiment.stop = 50.0\n\
             component.first = {{ source = 'native:dahlquist/first', parameters = {{ lambda = 1.0, c = 0.1 }} }}\n\
             component.second = {{ source = 'native:dahlquist/second', parameters = {{ mu = -1.0 }} }}\n\
             connection = [{{ from = 'first.y', to = 'second.u' }}, {{ from = 'second.y', to = 'first.u' }}]\n\
             [method]\nstep = {{ size = {size:?} }}\n"
        );
        let mut run = start(&text, 1);
        let (_, error) = end(&mut run);
        assert!(error.is_none(), "{size}: {error:?}");
        assert!(run.output("first.y").unwrap() > 1e18, "{size}");
    }
}

/// A run that goes on from a checkpoint ends at the same step with the same words, and remembers its largest values.
#[test]
fn checkpoints_remember_growth_and_largest_values() {
    let text = masses(0.5, "");
    let mut whole = start(&text, 1);
    whole.keep_peaks();
    for _ in 0..37 {
        whole.step().unwrap();
    }
    let (saved, peaks) = (whole.save().unwrap(), whole.peaks().to_vec());
    let mut resumed = start(&text, 1);
    assert!(resumed.peaks().is_empty());
    resumed.load(&saved).unwrap();
    assert_eq!(resumed.peaks(), peaks);
    let ends = [&mut whole, &mut resumed].map(end);
    assert!(ends[0].1.is_some());
    assert_eq!(ends[0], ends[1]);
    assert_eq!((whole.peaks(), bits(&whole)), (resumed.peaks(), bits(&resumed)));
    // Without the request nothing is kept, and numbers are the same.
    let mut plain = start(&text, 1);
    assert_eq!(end(&mut plain), ends[0]);
    assert!(plain.peaks().is_empty());
    assert_eq!(bits(&plain), bits(&whole));
}

#[test]
fn largest_values_are_those_of_all_communication_points() {
    let mut run = start(&masses(0.01, "").replace("5000.0", "20.0"), 1);
    run.keep_peaks();
    let mut largest: Vec<f64> = run.outputs().iter().map(|value| value.abs()).collect();
    while !run.finished() {
        run.step().unwrap();
        largest.iter_mut().zip(run.outputs()).for_each(|(most, value)| *most = most.max(value.abs()));
    }
    assert!(largest.iter().any(|most| *most > 0.5));
    assert_eq!(run.peaks(), largest);
}
