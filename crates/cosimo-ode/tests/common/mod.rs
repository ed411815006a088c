//! Systems with known solutions, and short ways to run them.
#![allow(dead_code)] // every test file takes its part
#![allow(clippy::unwrap_used)] // helpers of tests are tests

use cosimo_ode::{Absolute, Fault, Integrator, Outcome, Settings, System, entry};

/// A right-hand side as a closure.
pub(crate) struct Of<F>(pub(crate) F);

impl<F: FnMut(f64, &[f64], &mut [f64])> System for Of<F> {
    fn derivatives(&mut self, t: f64, x: &[f64], dx: &mut [f64]) -> Result<(), Fault> {
        (self.0)(t, x, dx);
        Ok(())
    }
}

/// x'' = -x: from (1, 0) it is (cos t, -sin t).
pub(crate) fn oscillator() -> impl System {
    Of(|_, x: &[f64], dx: &mut [f64]| {
        dx[0] = x[1];
        dx[1] = -x[0];
    })
}

/// Van der Pol's, with its zero as the indicator.
pub(crate) struct VanDerPol(pub(crate) f64);

impl System for VanDerPol {
    fn derivatives(&mut self, _t: f64, x: &[f64], dx: &mut [f64]) -> Result<(), Fault> {
        dx[0] = x[1];
        dx[1] = self.0 * (1.0 - x[0] * x[0]) * x[1] - x[0];
        Ok(())
    }

    fn indicators(&mut self, _t: f64, x: &[f64], z: &mut [f64]) -> Result<(), Fault> {
        z[0] = x[0];
        Ok(())
    }
}

/// Robertson 1966: three reactions with rates from 0.04 to 3e7.
pub(crate) struct Robertson;

impl System for Robertson {
    fn derivatives(&mut self, _t: f64, x: &[f64], dx: &mut [f64]) -> Result<(), Fault> {
        dx[0] = -0.04 * x[0] + 1e4 * x[1] * x[2];
        dx[2] = 3e7 * x[1] * x[1];
        dx[1] = -dx[0] - dx[2];
        Ok(())
    }
}

/// Prothero & Robinson 1974: x follows sin t at the rate `stiffness`.
pub(crate) fn prothero_robinson(stiffness: f64) -> impl System {
    Of(move |t: f64, x: &[f64], dx: &mut [f64]| dx[0] = -stiffness * (x[0] - t.sin()) + t.cos())
}

pub(crate) fn settings(relative: f64, absolute: f64) -> Settings {
    Settings { relative, absolute: Absolute::Same(absolute), ..Settings::default() }
}

/// Steps of one size, whatever the error.
pub(crate) fn fixed(step: f64) -> Settings {
    Settings { first: Some(step), largest: step, ..settings(0.0, 1e30) }
}

pub(crate) fn started(name: &str, settings: &Settings, t: f64, x: &[f64]) -> Integrator {
    let mut integrator = Integrator::new(entry(name).unwrap(), x.len(), settings).unwrap();
    integrator.restart(t, x);
    integrator
}

pub(crate) fn run(integrator: &mut Integrator, system: &mut dyn System, limit: f64) {
    while integrator.step(system, limit).unwrap() != Outcome::Reached {}
}

/// The order that errors at two step sizes show.
pub(crate) fn order(coarse: f64, fine: f64, ratio: f64) -> f64 {
    (coarse / fine).ln() / ratio.ln()
}

/// A fixed sequence of numbers from 0 to 1.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub(crate) fn below(&mut self, count: usize) -> usize {
        (self.next() * count as f64) as usize
    }
}

#[track_caller]
pub(crate) fn near(found: f64, wanted: f64, tolerance: f64) {
    assert!((found - wanted).abs() <= tolerance, "{found} is not {wanted} within {tolerance:e}");
}

/// Counts are expectations too: a method that works harder has changed.
#[track_caller]
pub(crate) fn about(found: u64, expected: u64) {
    assert!(found * 10 <= expected * 11 && found * 10 >= expected * 9, "{found} is not about {expected}");
}
