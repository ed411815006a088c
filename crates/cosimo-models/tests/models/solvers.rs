//! The solvers of native models, without a model of the registry.

use cosimo_core::{Interface, Port, Segment, Simulator};
use cosimo_native::{ABILITIES, Linear, Model, Ode, Solver, Tangent};
use nalgebra::{DMatrix, DVector};

use crate::all_models::bits;
use crate::common::{advance, outputs};

fn port(name: &str) -> Port {
    Port::new(name, "1", "")
}

/// The exact solver against the exponential of one large matrix, computed by nalgebra.
#[test]
fn the_exact_solver_is_the_exponential_of_the_augmented_matrix() {
    let (n, m) = (3, 2);
    let a = [-1.0, 4.0, 0.3, -7.0, -2.0, 1.0, 0.5, -3.0, -20.0];
    let b = [1.0, -2.0, 0.0, 3.0, 5.0, 0.7];
    let drift = [0.4, -3.0, 2.0];
    let model = Linear {
        inputs: vec![port("p"), port("q")],
        outputs: vec![port("y")],
        initial: vec![1.0, -0.5, 2.0],
        a: a.to_vec(),
        b: b.to_vec(),
        c: vec![1.0, 2.0, 3.0],
        d: vec![0.5, 0.0],
        drift: drift.to_vec(),
    };
    let mut simulator = Ode::exact(model);
    for h in [1e-6, 1e-3, 0.01, 0.1, 0.5, 0.1, 2.0] {
        let segments = [Segment([1.0, -3.0, 2.0, 5.0]), Segment([-0.3, 0.2, 4.0, -1.0])];
        // States, then per power of s both inputs' derivatives, then one.
        let size = n + 4 * m + 1;
        let mut whole = DMatrix::<f64>::zeros(size, size);
        let mut start = DVector::zeros(size);
        for i in 0..n {
            for j in 0..n {
                whole[(i, j)] = a[i * n + j] * h;
            }
            for port in 0..m {
                whole[(i, n + port)] = b[i * m + port] * h;
            }
            whole[(i, size - 1)] = drift[i] * h;
        }
        for q in 0..4 {
            for port in 0..m {
                if q < 3 {
                    whole[(n + q * m + port, n + (q + 1) * m + port)] = 1.0;
                }
                start[n + q * m + port] = segments[port].0[q] * [1.0, 1.0, 2.0, 6.0][q] * h.powi(q as i32);
            }
        }
        start[size - 1] = 1.0;
        let states = simulator.states().unwrap();
        states.set(&[1.0, -0.5, 2.0]);
        start.rows_mut(0, n).copy_from_slice(&[1.0, -0.5, 2.0]);
        let expected = whole.exp() * start;
        assert_eq!(advance(&mut simulator, h, &segments).evaluations, 1);
        let mut x = [0.0; 3];
        simulator.states().unwrap().get(&mut x);
        for i in 0..n {
            assert!(
                (x[i] - expected[i]).abs() < 1e-13 * (1.0 + expected[i].abs()),
                "h = {h}: {} {}",
                x[i],
                expected[i]
            );
        }
    }
}

/// x' = -x |x| + u: nonlinear, so that no exact solver applies.
struct Curved;

impl Model for Curved {
    fn interface(&self) -> Interface {
        Interface {
            inputs: vec![port("u")],
            outputs: vec![port("y")],
            feedthrough: vec![],
            abilities: ABILITIES,
            ..Interface::default()
        }
    }

    fn initial(&self) -> Vec<f64> {
        vec![1.0]
    }

    fn derivatives(&self, x: &[f64], u: &[f64], dx: &mut [f64]) {
        dx[0] = -x[0] * x[0] + u[0];
    }

    fn outputs(&self, x: &[f64], _u: &[f64], y: &mut [f64]) {
        y[0] = x[0];
    }

    fn tangent(&self, x: &[f64], _u: &[f64], along: &Tangent<'_>, dx: &mut [f64], y: &mut [f64]) {
        dx[0] = -2.0 * x[0] * along.x[0] + along.u[0];
        y[0] = along.x[0];
    }
}

#[test]
fn explicit_solvers_keep_their_order_with_inputs_that_move() {
    let inputs = [Segment([0.5, 1.0, -2.0, 1.5])];
    let end = |solver: Solver| {
        let mut simulator = Ode::new(Curved, solver);
        advance(&mut simulator, 1.0, &inputs);
        outputs(&mut simulator)[0]
    };
    let truth = end(Solver::Rk4 { micro_steps: 20000 });
    let order = |coarse: Solver, fine: Solver| ((end(coarse) - truth) / (end(fine) - truth)).abs().log2();
    let rk4 = order(Solver::Rk4 { micro_steps: 20 }, Solver::Rk4 { micro_steps: 40 });
    let euler = order(Solver::Euler { micro_steps: 400 }, Solver::Euler { micro_steps: 800 });
    let euler_end = order(Solver::EulerEnd { micro_steps: 400 }, Solver::EulerEnd { micro_steps: 800 });
    assert!((rk4 - 4.0).abs() < 0.15 && (euler - 1.0).abs() < 0.05, "rk4 {rk4}, euler {euler}");
    assert!((euler_end - 1.0).abs() < 0.05, "euler-end {euler_end}");
}

#[test]
fn euler_takes_the_input_at_the_start_of_each_micro_step_and_euler_end_at_its_end() {
    let segment = Segment([0.5, 1.0, -2.0, 1.5]);
    for (solver, ahead) in [(Solver::Euler { micro_steps: 7 }, 0), (Solver::EulerEnd { micro_steps: 7 }, 1)] {
        let mut simulator = Ode::new(Curved, solver);
        assert_eq!(advance(&mut simulator, 0.3, &[segment]).evaluations, 7);
        let (mut x, h) = (1.0f64, 0.3 / 7.0);
        for i in 0..7 {
            x += h * (-x * x + segment.at(f64::from(i + ahead) * h));
        }
        assert_eq!(bits(&outputs(&mut simulator)), bits(&[x]), "{solver:?}");
    }
}
