//! Observed orders of convergence on the dual mass, against the undivided system. The samples before the
//! start come from it too: a line that begins as a hold costs the first step an order.
#![allow(clippy::unwrap_used)] // helpers of tests are tests

mod common;

use common::{DUAL_MASS, DualMass, history, observed_order, truth};
use cosimo::engine::Run;

const STEPS: [u32; 4] = [500, 1000, 2000, 4000];
const STOP: f64 = 10.0;

/// More than the longest fit looks back on.
const SAMPLES: i32 = 5;

#[derive(Debug, Clone, Copy)]
struct Method<'a> {
    schedule: &'a str,
    input: &'a str,
    exchange: &'a str,
    correction: &'a str,
}

const PLAIN: Method<'static> =
    Method { schedule: "\"jacobi\"", input: "hold", exchange: "stale", correction: "\"none\"" };

const NEPCE: &str = "{ nepce = { form = \"account\", gain = 0.5 } }";

const GAUSS_SEIDEL: [&str; 2] =
    ["{ gauss-seidel = { order = [\"left\"] } }", "{ gauss-seidel = { order = [\"right\"] } }"];

/// What one run came to.
struct Outcome {
    /// The largest error of x1.
    error: f64,
    /// The largest residual energy of a step.
    residual: f64,
    degree: u32,
}

impl Method<'_> {
    fn start(&self, test: &str, steps: u32) -> Run {
        let Method { schedule, input, exchange, correction } = self;
        let size = STOP / f64::from(steps);
        let experiment = history(&format!("order-{test}"), size, SAMPLES);
        let method = format!(
            "schedule = {schedule}\ninput = \"{input}\"\nexchange = \"{exchange}\"\ncorrection = {correction}\n\
             step = {{ size = {size:?} }}"
        );
        DualMass { stop: STOP, experiment: &experiment, method: &method, ..DUAL_MASS }.start()
    }

    fn outcome(&self, test: &str, steps: u32) -> Outcome {
        let size = STOP / f64::from(steps);
        let instants: Vec<f64> = (1..=steps).map(|n| f64::from(n) * size).collect();
        let mut run = self.start(test, steps);
        let mut outcome = Outcome { error: 0.0, residual: 0.0, degree: run.layout().shape.degree };
        for row in truth(&instants) {
            run.step().unwrap();
            let error = (run.output("left.x").unwrap() - row[0]).abs();
            outcome.error = outcome.error.max(error);
            outcome.residual = outcome.residual.max((run.ledger().powers[0].residual * size).abs());
        }
        assert!(run.finished());
        outcome
    }

    /// The orders of the error and of the residual energy, and the degree of the inputs.
    fn orders(&self, test: &str) -> (f64, f64, f64) {
        let outcomes = STEPS.map(|steps| self.outcome(test, steps));
        let sizes = STEPS.map(|steps| STOP / f64::from(steps));
        let error = observed_order(&sizes, &outcomes.each_ref().map(|outcome| outcome.error));
        let residual = observed_order(&sizes, &outcomes.each_ref().map(|outcome| outcome.residual));
        println!("{self:?}: error {error:.4}, residual {residual:.4}");
        (error, residual, f64::from(outcomes[0].degree))
    }
}

/// Each input with its order and how near it must come; the cubic may be better than it promises.
const INPUTS: [(&str, f64, f64); 6] = [
    ("hold", 1.0, 0.05),
    ("linear", 2.0, 0.05),
    ("quadratic", 3.0, 0.05),
    ("taylor", 2.0, 0.05),
    ("hermite", 4.0, 0.4),
    ("causal", 1.0, 0.05),
];

#[test]
fn errors_fall_with_the_degree_plus_one() {
    for exchange in ["stale", "fresh"] {
        for (input, wanted, within) in INPUTS {
            let (order, ..) = Method { input, exchange, ..PLAIN }.orders("jacobi");
            assert!((order - wanted).abs() < within, "{input}, {exchange}: {order}");
        }
    }
}

#[test]
fn gauss_seidel_has_the_same_orders_whoever_is_first() {
    for schedule in GAUSS_SEIDEL {
        for (input, wanted, within) in INPUTS {
            let (order, ..) = Method { schedule, input, ..PLAIN }.orders("gauss-seidel");
            assert!((order - wanted).abs() < within, "{schedule}, {input}: {order}");
        }
    }
}

/// Computed without this engine, with exact sub-solvers and exact history.
#[test]
fn errors_are_those_of_an_independent_computation() {
    for (exchange, input, wanted) in [
        ("stale", "hold", 7.1385e-4),
        ("stale", "causal", 5.7212e-4),
        ("stale", "linear", 1.1498e-5),
        ("stale", "quadratic", 1.2989e-7),
        ("fresh", "hold", 7.0070e-4),
        ("fresh", "linear", 5.8703e-6),
        ("fresh", "quadratic", 6.3034e-8),
    ] {
        let found = Method { input, exchange, ..PLAIN }.outcome("independent", 1000).error;
        assert!((found - wanted).abs() <= 1e-3 * wanted, "{exchange}, {input}: {found:e}, not {wanted:e}");
    }
}

#[test]
fn residual_energy_falls_with_the_degree_plus_two() {
    for (input, wanted) in [("hold", 2.0), ("linear", 3.0)] {
        let (_, order, _) = Method { input, ..PLAIN }.orders("residual");
        assert!((order - wanted).abs() < 0.1, "{input}: {order}");
    }
}

/// Every entry of the registry, whoever adds it.
#[test]
fn every_input_keeps_the_order_its_degree_promises() {
    for entry in cosimo::registry().inputs {
        for schedule in [PLAIN.schedule, GAUSS_SEIDEL[0], GAUSS_SEIDEL[1]] {
            let (order, _, degree) = Method { schedule, input: entry.name, ..PLAIN }.orders("promised");
            assert!(order >= degree + 1.0 - 0.1, "{}, {schedule}: {order}, degree {degree}", entry.name);
        }
    }
}

#[test]
fn nepce_lowers_no_order() {
    for entry in cosimo::registry().inputs {
        let (order, _, degree) = Method { input: entry.name, correction: NEPCE, ..PLAIN }.orders("nepce");
        assert!(order >= degree + 1.0 - 0.1, "{}: {order}, degree {degree}", entry.name);
    }
}

/// With exact integrals and an account nothing is lost for good, which is worth an order.
#[test]
fn nepce_raises_the_order_of_held_inputs_and_lowers_their_error() {
    let (order, ..) = Method { correction: NEPCE, ..PLAIN }.orders("nepce-hold");
    assert!((order - 2.0).abs() < 0.05, "{order}");
    for steps in STEPS {
        let plain = PLAIN.outcome("nepce-hold", steps).error;
        let corrected = Method { correction: NEPCE, ..PLAIN }.outcome("nepce-hold", steps).error;
        assert!(corrected < 0.1 * plain, "{steps} steps: {corrected:e} against {plain:e}");
    }
}
