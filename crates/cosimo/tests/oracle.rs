//! The engine against a recurrence. For the linear dual mass one macro step is a matrix product; here it is
//! built from matrix exponentials of a library that the engine does not use, for every schedule, input,
//! exchange and correction, and stepped beside the engine: from the engine's own values and on its own.
#![allow(clippy::unwrap_used)] // helpers of tests are tests

mod common;

use std::ops::Range;

use common::{DUAL_MASS, DualMass, history, truth};
use cosimo::engine::Run;
use nalgebra::{DMatrix, DVector};

type Matrix = DMatrix<f64>;
type Vector = DVector<f64>;

/// x' = A x + B u, y = C x + D u.
struct Part {
    a: Matrix,
    b: Matrix,
    c: Matrix,
    d: Matrix,
    inputs: Range<usize>,
    outputs: Range<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Input {
    Hold,
    Linear,
    Taylor,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Form {
    Account,
    Paper,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Nepce {
    form: Form,
    feedthrough: bool,
}

const GAIN: f64 = 0.5;

/// The recurrence. Its state is that of the parts, the newest samples of the outputs with their slopes, one
/// sample before them, and what the correction owes.
struct Oracle {
    parts: Vec<Part>,
    /// u = L y.
    l: Matrix,
    stages: Vec<Vec<usize>>,
    input: Input,
    fresh: bool,
    nepce: Option<Nepce>,
    x: Vec<Vector>,
    y: Vector,
    slope: Vector,
    /// How long ago, and what.
    before: Option<(f64, Vector)>,
    owed: Vector,
}

/// A mass on its own spring and damper; `felt` is the sign with which it feels the force.
fn told(felt: f64) -> [Matrix; 4] {
    [
        Matrix::from_row_slice(2, 2, &[0.0, 1.0, -1.0, -1.0]),
        Matrix::from_row_slice(2, 1, &[0.0, felt / 100.0]),
        Matrix::from_row_slice(2, 2, &[0.0, 1.0, 1.0, 0.0]),
        Matrix::zeros(2, 1),
    ]
}

/// A mass that also owns the spring and damper in the middle; its own motion counts with `sign` in the force.
fn telling(sign: f64) -> [Matrix; 4] {
    let (k, d) = (60.0 * sign, 60.0 * sign);
    [
        Matrix::from_row_slice(2, 2, &[0.0, 1.0, -1.6, -1.6]),
        Matrix::from_row_slice(2, 2, &[0.0, 0.0, 0.6, 0.6]),
        Matrix::from_row_slice(3, 2, &[k, d, 1.0, 0.0, 0.0, 1.0]),
        Matrix::from_row_slice(3, 2, &[-k, -d, 0.0, 0.0, 0.0, 0.0]),
    ]
}

impl Oracle {
    fn new(mirrored: bool, stages: &[&[usize]], input: Input, fresh: bool, nepce: Option<Nepce>) -> Oracle {
        let matrices = if mirrored { [told(-1.0), telling(-1.0)] } else { [telling(1.0), told(1.0)] };
        let mut parts: Vec<Part> = Vec::new();
        for [a, b, c, d] in matrices {
            let (input, output) = parts.last().map_or((0, 0), |part| (part.inputs.end, part.outputs.end));
            let (inputs, outputs) = (input..input + b.ncols(), output..output + c.nrows());
            parts.push(Part { a, b, c, d, inputs, outputs });
        }
        // Inputs and outputs in the order of the parts: (x_far, v_far | f) and (f, x, v | v, x), or mirrored.
        let wires = if mirrored { [(0, 2), (1, 1), (2, 0)] } else { [(0, 4), (1, 3), (2, 0)] };
        let mut l = Matrix::zeros(3, 5);
        for (input, output) in wires {
            l[(input, output)] = 1.0;
        }
        let x = vec![Vector::from_vec(vec![1.0, 0.0]), Vector::from_vec(vec![0.0, 0.0])];
        let mut oracle = Oracle {
            parts,
            l,
            stages: stages.iter().map(|stage| stage.to_vec()).collect(),
            input,
            fresh,
            nepce,
            x,
            y: Vector::zeros(5),
            slope: Vector::zeros(5),
            before: None,
            owed: Vector::zeros(3),
        };
        oracle.y = oracle.consistent_outputs();
        oracle.slope = oracle.consistent_slopes();
        oracle
    }

    fn whole(&self, rows: usize, columns: usize, block: impl Fn(&Part) -> &Matrix) -> Matrix {
        let mut whole = Matrix::zeros(rows, columns);
        let (mut row, mut column) = (0, 0);
        for part in &self.parts {
            let block = block(part);
            whole.view_mut((row, column), block.shape()).copy_from(block);
            (row, column) = (row + block.nrows(), column + block.ncols());
        }
        whole
    }

    fn states(&self) -> Vector {
        Vector::from_iterator(4, self.x.iter().flat_map(|x| x.iter().copied()))
    }

    /// 1 - D L: what the outputs show of themselves at once.
    fn closed(&self) -> Matrix {
        Matrix::identity(5, 5) - self.whole(5, 3, |part| &part.d) * &self.l
    }

    fn consistent_outputs(&self) -> Vector {
        self.closed().lu().solve(&(self.whole(5, 4, |part| &part.c) * self.states())).unwrap()
    }

    fn consistent_slopes(&self) -> Vector {
        let u = &self.l * self.consistent_outputs();
        let dx = self.whole(4, 4, |part| &part.a) * self.states() + self.whole(4, 3, |part| &part.b) * u;
        self.closed().lu().solve(&(self.whole(5, 4, |part| &part.c) * dx)).unwrap()
    }

    /// Value and slope at the window's start of what is assumed of an output.
    fn assumed(&self, output: usize, new: Option<(f64, f64)>, size: f64) -> (f64, f64) {
        let old = self.y[output];
        match (self.input, new) {
            (Input::Hold, Some((y, _))) => (y, 0.0),
            (Input::Hold, None) => (old, 0.0),
            (Input::Linear, Some((y, _))) => (old, (y - old) / size),
            (Input::Linear, None) => match &self.before {
                Some((ago, before)) => (old, (old - before[output]) / ago),
                None => (old, 0.0),
            },
            (Input::Taylor, Some((y, slope))) => (y - slope * size, slope),
            (Input::Taylor, None) => (old, self.slope[output]),
        }
    }

    /// (1 - L J)^-1, or 1 where feed-through is left out.
    fn amplifier(&self, nepce: Nepce) -> Matrix {
        let through = &self.l * self.whole(5, 3, |part| &part.d);
        let one = Matrix::identity(3, 3);
        if nepce.feedthrough { (one - through).try_inverse().unwrap() } else { one }
    }

    fn step(&mut self, size: f64) {
        let offsets = match self.nepce {
            None => Vector::zeros(3),
            Some(Nepce { form: Form::Account, .. }) => &self.owed * (GAIN / size),
            Some(Nepce { form: Form::Paper, .. }) => &self.owed * GAIN,
        };
        let mut new: [Option<(f64, f64)>; 5] = [None; 5];
        let mut y_integral = Vector::zeros(5);
        let (mut u_integral, mut u_end) = (Vector::zeros(3), Vector::zeros(3));
        for stage in self.stages.clone() {
            let known = new; // inside a stage nobody sees new values
            for index in stage {
                let part = &self.parts[index];
                let (n, m) = (part.a.nrows(), part.b.ncols());
                // u = p + q s.
                let (mut p, mut q) = (Vector::zeros(m), Vector::zeros(m));
                for (local, input) in part.inputs.clone().enumerate() {
                    for output in 0..5 {
                        let (value, slope) = self.assumed(output, known[output], size);
                        p[local] += self.l[(input, output)] * value;
                        q[local] += self.l[(input, output)] * slope;
                    }
                    p[local] += offsets[input];
                }
                // One exponential for (x, u, u', integral of x).
                let mut big = Matrix::zeros(2 * n + 2 * m, 2 * n + 2 * m);
                big.view_mut((0, 0), (n, n)).copy_from(&part.a);
                big.view_mut((0, n), (n, m)).copy_from(&part.b);
                big.view_mut((n, n + m), (m, m)).fill_with_identity();
                big.view_mut((n + 2 * m, 0), (n, n)).fill_with_identity();
                let mut z = Vector::zeros(2 * n + 2 * m);
                z.rows_mut(0, n).copy_from(&self.x[index]);
                z.rows_mut(n, m).copy_from(&p);
                z.rows_mut(n + m, m).copy_from(&q);
                let z = (big * size).exp() * z;
                let (x, area) = (z.rows(0, n).into_owned(), z.rows(n + 2 * m, n).into_owned());
                let end = &p + &q * size;
                let given = &p * size + &q * (size * size / 2.0);
                let y = &part.c * &x + &part.d * &end;
                let slope = &part.c * (&part.a * &x + &part.b * &end) + &part.d * &q;
                for (local, output) in part.outputs.clone().enumerate() {
                    new[output] = Some((y[local], slope[local]));
                }
                let areas = &part.c * &area + &part.d * &given;
                y_integral.rows_mut(part.outputs.start, areas.len()).copy_from(&areas);
                u_integral.rows_mut(part.inputs.start, m).copy_from(&given);
                u_end.rows_mut(part.inputs.start, m).copy_from(&end);
                self.x[index] = x;
            }
        }
        let old = self.y.clone();
        self.y = Vector::from_iterator(5, new.iter().map(|new| new.unwrap().0));
        self.slope = Vector::from_iterator(5, new.iter().map(|new| new.unwrap().1));
        if self.fresh {
            self.refresh();
        }
        self.before = Some((size, old));
        if let Some(nepce) = self.nepce {
            let amplifier = self.amplifier(nepce);
            match nepce.form {
                Form::Account => self.owed += amplifier * (&self.l * y_integral - u_integral),
                Form::Paper => self.owed = amplifier * (&self.l * &self.y - u_end),
            }
        }
    }

    /// Outputs that depend on inputs at once are read again with the new inputs; the others stay.
    fn refresh(&mut self) {
        self.y = self.consistent_outputs();
        let (u, du) = (&self.l * &self.y, &self.l * &self.slope);
        for (part, x) in self.parts.iter().zip(&self.x) {
            if part.d.iter().all(|d| *d == 0.0) {
                continue;
            }
            let (u, du) =
                (u.rows(part.inputs.start, part.b.ncols()), du.rows(part.inputs.start, part.b.ncols()));
            let slope = &part.c * (&part.a * x + &part.b * u) + &part.d * du;
            self.slope.rows_mut(part.outputs.start, slope.len()).copy_from(&slope);
        }
    }

    /// Takes over the engine's values; all states of the dual mass are outputs.
    fn follow(&mut self, run: &Run, mirrored: bool) {
        let outputs = run.outputs();
        self.y = Vector::from_column_slice(outputs);
        let [x1, v1, x2, v2] = if mirrored { [1, 0, 3, 4] } else { [1, 2, 4, 3] }.map(|k| outputs[k]);
        self.x = vec![Vector::from_vec(vec![x1, v1]), Vector::from_vec(vec![x2, v2])];
    }
}

const STEPS: usize = 250;

/// Steps both and compares all outputs after every step.
fn compare(system: DualMass<'_>, mut make: impl FnMut() -> Oracle, sizes: &dyn Fn(usize) -> f64) {
    for follows in [true, false] {
        let mut oracle = make();
        let mut run = system.start();
        for step in 0..STEPS {
            if follows {
                oracle.follow(&run, system.mirrored);
            }
            run.set_next_size(sizes(step));
            run.step().unwrap();
            oracle.step(sizes(step));
            for (output, (engine, oracle)) in run.outputs().iter().zip(oracle.y.iter()).enumerate() {
                let allowed = 1e-12 * oracle.abs().max(1.0);
                assert!(
                    (engine - oracle).abs() <= allowed,
                    "step {step}, output {output}: engine {engine}, recurrence {oracle}, difference {:e}, {} in\n{}",
                    engine - oracle,
                    if follows { "one step" } else { "from the start" },
                    system.text()
                );
            }
        }
        assert_eq!(run.counters().steps, STEPS as u64);
    }
}

const SIZE: f64 = 0.02;

const SCHEDULES: [(&str, &[&[usize]]); 3] = [
    ("\"jacobi\"", &[&[0, 1]]),
    ("{ gauss-seidel = { order = [\"left\"] } }", &[&[0], &[1]]),
    ("{ gauss-seidel = { order = [\"right\"] } }", &[&[1], &[0]]),
];

const INPUTS: [(&str, Input); 3] =
    [("hold", Input::Hold), ("linear", Input::Linear), ("taylor", Input::Taylor)];

fn method(schedule: &str, input: &str, exchange: &str, correction: &str) -> String {
    format!(
        "schedule = {schedule}\ninput = \"{input}\"\nexchange = \"{exchange}\"\ncorrection = {correction}\n\
         step = {{ size = {SIZE} }}"
    )
}

fn check(mirrored: bool, inputs: &[(&str, Input)], schedules: &[(&str, &[&[usize]])]) {
    for (schedule, stages) in schedules {
        for (name, input) in inputs {
            for exchange in ["stale", "fresh"] {
                let method = method(schedule, name, exchange, "\"none\"");
                let system = DualMass { mirrored, method: &method, ..DUAL_MASS };
                let make = || Oracle::new(mirrored, stages, *input, exchange == "fresh", None);
                compare(system, make, &|_| SIZE);
            }
        }
    }
}

#[test]
fn jacobi_is_its_recurrence() {
    check(false, &INPUTS[..2], &SCHEDULES[..1]);
}

#[test]
fn gauss_seidel_is_its_recurrence_in_both_orders() {
    check(false, &INPUTS[..2], &SCHEDULES[1..]);
}

#[test]
fn taylor_is_its_recurrence_under_every_schedule() {
    check(false, &INPUTS[2..], &SCHEDULES);
}

#[test]
fn the_mirrored_cut_is_its_recurrence() {
    check(true, &INPUTS[..2], &SCHEDULES[..1]);
}

/// As above, but the line has two samples to go through from the first step on.
#[test]
fn a_given_history_is_what_the_first_line_goes_through() {
    for mirrored in [false, true] {
        for (schedule, stages) in &SCHEDULES {
            for exchange in ["stale", "fresh"] {
                let name = format!("oracle-{mirrored}-{}-{exchange}", stages.concat()[0] + 2 * stages.len());
                let experiment = history(&name, SIZE, 3);
                let method = method(schedule, "linear", exchange, "\"none\"");
                let system = DualMass { mirrored, experiment: &experiment, method: &method, ..DUAL_MASS };
                let make = || {
                    let mut oracle = Oracle::new(mirrored, stages, Input::Linear, exchange == "fresh", None);
                    oracle.before = Some((SIZE, sample(-SIZE, mirrored)));
                    oracle
                };
                compare(system, make, &|_| SIZE);
            }
        }
    }
}

/// All outputs of the undivided system.
fn sample(t: f64, mirrored: bool) -> Vector {
    let row = &truth(&[t])[0];
    let (x1, v1, x2, v2, f) = (row[0], row[1], row[2], row[3], row[4]);
    Vector::from_row_slice(&if mirrored { [v1, x1, f, x2, v2] } else { [f, x1, v1, v2, x2] })
}

#[test]
fn nepce_is_its_recurrence() {
    for (form, name) in [(Form::Account, "account"), (Form::Paper, "paper")] {
        for (feedthrough, source) in [(false, "off"), (true, "declared")] {
            let correction =
                format!("{{ nepce = {{ gain = {GAIN}, form = \"{name}\", feedthrough = \"{source}\" }} }}");
            let method = method("\"jacobi\"", "hold", "stale", &correction);
            let system = DualMass { method: &method, ..DUAL_MASS };
            let nepce = Some(Nepce { form, feedthrough });
            compare(system, || Oracle::new(false, &[&[0, 1]], Input::Hold, false, nepce), &|_| SIZE);
        }
    }
}

/// A difference quotient over the last size would pass every test with equal sizes.
#[test]
fn lines_go_through_uneven_history_as_it_is() {
    let size = |step: usize| {
        [0.02, 0.035, 0.005, 0.05, 0.0125][step % 5] * if step.is_multiple_of(7) { 1.5 } else { 1.0 }
    };
    for (exchange, fresh) in [("stale", false), ("fresh", true)] {
        let experiment = history(&format!("oracle-uneven-{exchange}"), 0.01, 2);
        let method = method("\"jacobi\"", "linear", exchange, "\"none\"");
        let system = DualMass { experiment: &experiment, method: &method, ..DUAL_MASS };
        let make = || {
            let mut oracle = Oracle::new(false, &[&[0, 1]], Input::Linear, fresh, None);
            oracle.before = Some((0.01, sample(-0.01, false)));
            oracle
        };
        compare(system, make, &size);
    }
}
