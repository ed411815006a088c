//! Linear models as matrices, and the monolithic reference of a linear system.
//!
//! From the matrices follow feedthrough, derivatives of outputs by inputs and by time, and the exact solver.
//! Deliberately dense: these models have a handful of states.

use cosimo_core::{Abilities, Interface, Options, Port};

use crate::model::{Quantity, Tangent, Unknown};
use crate::ode::{ABILITIES, Model, Ode};
use crate::phi::Phi;
use crate::solver::Solver;

/// x' = A x + B u + drift, y = C x + D u; matrices row by row.
#[derive(Debug, Clone)]
pub struct Linear {
    pub inputs: Vec<Port>,
    pub outputs: Vec<Port>,
    pub initial: Vec<f64>,
    pub a: Vec<f64>,
    pub b: Vec<f64>,
    pub c: Vec<f64>,
    pub d: Vec<f64>,
    pub drift: Vec<f64>,
}

impl Linear {
    /// x' = rate x + gain u + drift, y = x.
    pub fn first_order(input: Port, output: Port, start: f64, [rate, gain, drift]: [f64; 3]) -> Linear {
        Linear {
            inputs: vec![input],
            outputs: vec![output],
            initial: vec![start],
            a: vec![rate],
            b: vec![gain],
            c: vec![1.0],
            d: vec![0.0],
            drift: vec![drift],
        }
    }

    /// x' = v, v' = stiffness x + damping v + gain u + drift; outputs are v and x. `[x, v]` are the initial values.
    pub fn second_order(
        input: Port,
        [velocity, place]: [Port; 2],
        [x, v]: [f64; 2],
        [stiffness, damping, gain, drift]: [f64; 4],
    ) -> Linear {
        Linear {
            inputs: vec![input],
            outputs: vec![velocity, place],
            initial: vec![x, v],
            a: vec![0.0, 1.0, stiffness, damping],
            b: vec![0.0, gain],
            c: vec![0.0, 1.0, 1.0, 0.0],
            d: vec![0.0; 2],
            drift: vec![0.0, drift],
        }
    }

    /// y = D u, without any state.
    pub fn gains(inputs: Vec<Port>, outputs: Vec<Port>, d: Vec<f64>) -> Linear {
        let [initial, a, b, c, drift] = std::array::from_fn(|_| Vec::new());
        Linear { inputs, outputs, initial, a, b, c, d, drift }
    }

    /// With the solver that the options select.
    pub fn simulator(self, options: &Options) -> Ode<Linear> {
        match options.text("solver") {
            "exact" => Ode::exact(self),
            _ => Ode::new(self, Solver::of(options)),
        }
    }
}

impl Model for Linear {
    fn interface(&self) -> Interface {
        let (n, m, p) = (self.initial.len(), self.inputs.len(), self.outputs.len());
        let sizes = [self.a.len(), self.b.len(), self.c.len(), self.d.len(), self.drift.len()];
        assert_eq!(sizes, [n * n, n * m, p * n, p * m, n], "sizes of A, B, C, D and drift");
        Interface {
            inputs: self.inputs.clone(),
            outputs: self.outputs.clone(),
            feedthrough: (0..p * m).filter(|at| self.d[*at] != 0.0).map(|at| (at / m, at % m)).collect(),
            abilities: Abilities { slopes: true, ..ABILITIES },
            ..Interface::default()
        }
    }

    fn initial(&self) -> Vec<f64> {
        self.initial.clone()
    }

    fn derivatives(&self, x: &[f64], u: &[f64], dx: &mut [f64]) {
        combine(&self.a, x, &self.b, u, dx);
        for (dx, drift) in dx.iter_mut().zip(&self.drift) {
            *dx += drift;
        }
    }

    fn outputs(&self, x: &[f64], u: &[f64], y: &mut [f64]) {
        combine(&self.c, x, &self.d, u, y);
    }

    fn tangent(&self, _x: &[f64], _u: &[f64], along: &Tangent<'_>, dx: &mut [f64], y: &mut [f64]) {
        combine(&self.a, along.x, &self.b, along.u, dx);
        combine(&self.c, along.x, &self.d, along.u, y);
    }

    fn depends(&self, value: Unknown, on: Quantity) -> bool {
        let (n, m) = (self.initial.len(), self.inputs.len());
        let factor = match (value, on) {
            (Unknown::Derivative(row), Quantity::State(column)) => self.a[row * n + column],
            (Unknown::Derivative(row), Quantity::Input(column)) => self.b[row * m + column],
            (Unknown::Output(row), Quantity::State(column)) => self.c[row * n + column],
            (Unknown::Output(row), Quantity::Input(column)) => self.d[row * m + column],
            (Unknown::Indicator(_), _) => 0.0,
        };
        factor != 0.0
    }
}

/// `into` = P x + Q u.
pub(crate) fn combine(p: &[f64], x: &[f64], q: &[f64], u: &[f64], into: &mut [f64]) {
    for (row, into) in into.iter_mut().enumerate() {
        let mut sum = 0.0;
        for (factor, x) in p[row * x.len()..].iter().zip(x) {
            sum += factor * x;
        }
        for (factor, u) in q[row * u.len()..].iter().zip(u) {
            sum += factor * u;
        }
        *into = sum;
    }
}

/// The solution of x' = A x from `initial` at 0, one row of columns per instant. Each instant is computed from
/// t = 0, so that errors do not accumulate; instants may be negative.
pub fn monolithic(
    a: &[f64],
    initial: &[f64],
    instants: &[f64],
    columns: impl Fn(&[f64]) -> Vec<f64>,
) -> Vec<Vec<f64>> {
    let mut phi = Phi::new(initial.len(), 0);
    let mut x = vec![0.0; initial.len()];
    let mut row = |t: &f64| {
        phi.compute(a, *t);
        combine(phi.get(0), initial, &[], &[], &mut x);
        columns(&x)
    };
    instants.iter().map(&mut row).collect()
}
