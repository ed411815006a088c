//! Systems with known solutions, and short ways to run them.
#![allow(dead_code)] // every test file takes its part
#![allow(clippy::unwrap_used)] // helpers of tests are tests
#![allow(clippy::disallowed_methods, reason = "what tests expect may come from the C library")]

use cosimo_ode::{Absolute, EvaluationFault, Integrator, OdeSystem, Roots, Settings, StepOutcome, entry};

// Radau of scipy 1.16 at a relative tolerance of 1e-12 (1e-11 agrees to 5e-11):
//
//     from scipy.integrate import solve_ivp
//     f = lambda t, x: [x[1], 1000 * (1 - x[0]**2) * x[1] - x[0]]
//     J = lambda t, x: [[0, 1], [-2000 * x[0] * x[1] - 1, 1000 * (1 - x[0]**2)]]
//     s = solve_ivp(f, (0, 2000), [2, 0], "Radau", jac=J, rtol=1e-12, atol=1e-15, events=lambda t, x: x[0])
//     print(s.t_events, s.y[0, -1])
pub(crate) const VAN_DER_POL_ZEROS: [f64; 2] = [807.084_740_815_875_9, 1_614.285_303_720_041_2];
pub(crate) const VAN_DER_POL_END: f64 = 1.706_167_732_170_476;

// In the same way, with rtol=1e-12 and atol=[1e-16, 1e-22, 1e-16]:
//
//     f = lambda t, x: [-.04*x[0] + 1e4*x[1]*x[2], .04*x[0] - 1e4*x[1]*x[2] - 3e7*x[1]**2, 3e7*x[1]**2]
//     J = lambda t, x: [[-.04, 1e4*x[2], 1e4*x[1]], [.04, -1e4*x[2] - 6e7*x[1], -1e4*x[1]], [0, 6e7*x[1], 0]]
//     solve_ivp(f, (0, 4e11), [1, 0, 0], "Radau", jac=J, rtol=1e-12, atol=..., t_eval=[0.4 * 10**i for i in range(13)])
pub(crate) const ROBERTSON: [[f64; 2]; 13] = [
    [0.985_172_113_860_992, 3.386_395_378_974_936e-5],
    [0.905_518_678_584_26, 2.240_475_687_560_213_4e-5],
    [0.715_827_068_719_388_6, 9.185_534_764_557_058e-6],
    [0.450_518_668_471_102_56, 3.222_901_441_674_743e-6],
    [0.183_202_257_776_709_34, 8.942_371_252_776_091e-7],
    [0.038_983_377_085_485_84, 1.621_768_315_909_809_5e-7],
    [0.004_938_274_520_979_923, 1.984_994_087_954_42e-8],
    [0.000_516_809_601_492_947_2, 2.068_294_491_226_498e-9],
    [5.203_071_844_120_827_4e-5, 2.081_335_731_892_645e-10],
    [5.207_702_103_569_107e-6, 2.083_091_559_413_738e-11],
    [5.208_276_611_399_965e-7, 2.083_311_716_590_182_5e-12],
    [5.208_345_176_674_245e-8, 2.083_338_177_875_491e-13],
    [5.208_353_143_380_428e-9, 2.083_341_268_072_783_4e-14],
];

/// A right-hand side as a closure.
pub(crate) struct Of<F>(pub(crate) F);

impl<F: FnMut(f64, &[f64], &mut [f64])> OdeSystem for Of<F> {
    fn derivatives(&mut self, t: f64, x: &[f64], dx: &mut [f64]) -> Result<(), EvaluationFault> {
        (self.0)(t, x, dx);
        Ok(())
    }
}

/// x'' = -x: from (1, 0) it is (cos t, -sin t).
pub(crate) fn oscillator() -> impl OdeSystem {
    Of(|_, x: &[f64], dx: &mut [f64]| {
        dx[0] = x[1];
        dx[1] = -x[0];
    })
}

/// Van der Pol's, with its zero as the indicator.
pub(crate) struct VanDerPol(pub(crate) f64);

impl OdeSystem for VanDerPol {
    fn derivatives(&mut self, _t: f64, x: &[f64], dx: &mut [f64]) -> Result<(), EvaluationFault> {
        dx[0] = x[1];
        dx[1] = self.0 * (1.0 - x[0] * x[0]) * x[1] - x[0];
        Ok(())
    }

    fn indicators(&mut self, _t: f64, x: &[f64], z: &mut [f64]) -> Result<(), EvaluationFault> {
        z[0] = x[0];
        Ok(())
    }
}

/// Robertson 1966: three reactions with rates from 0.04 to 3e7.
pub(crate) struct Robertson;

impl OdeSystem for Robertson {
    fn derivatives(&mut self, _t: f64, x: &[f64], dx: &mut [f64]) -> Result<(), EvaluationFault> {
        dx[0] = -0.04 * x[0] + 1e4 * x[1] * x[2];
        dx[2] = 3e7 * x[1] * x[1];
        dx[1] = -dx[0] - dx[2];
        Ok(())
    }
}

/// Prothero & Robinson 1974: x follows sin t at the rate `stiffness`.
pub(crate) fn prothero_robinson(stiffness: f64) -> impl OdeSystem {
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

pub(crate) fn run(integrator: &mut Integrator, system: &mut dyn OdeSystem, limit: f64) {
    while integrator.step(system, limit).unwrap() != StepOutcome::Reached {}
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

/// Van der Pol's oscillator with mu = 1000 up to 2000: its zeros and its end within what is given, and what that costs.
pub(crate) fn relaxes(method: &str, tolerance: f64, zeros: f64, end: f64, evaluations: u64) {
    let mut system = VanDerPol(1000.0);
    let mut integrator = started(method, &settings(tolerance, 1e-2 * tolerance), 0.0, &[2.0, 0.0]);
    let mut roots = Roots::new(1, 2);
    roots.start(&mut integrator, &mut system).unwrap();
    let mut found = Vec::new();
    loop {
        let outcome = integrator.step(&mut system, 2000.0).unwrap();
        match roots.search(&mut integrator, &mut system).unwrap() {
            Some(t) => found.push(t),
            None if outcome == StepOutcome::Reached => break,
            None => {}
        }
    }
    println!("{tolerance:e}: zeros at {found:?}, {:?}", integrator.counters());
    assert_eq!(found.len(), 2);
    near(found[0], VAN_DER_POL_ZEROS[0], zeros);
    near(found[1], VAN_DER_POL_ZEROS[1], 2.0 * zeros);
    near(integrator.state()[0], VAN_DER_POL_END, end);
    about(integrator.counters().evaluations, evaluations);
}
