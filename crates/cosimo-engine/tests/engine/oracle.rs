//! The engine against a recurrence. For the linear dual mass one macro step is a matrix product; here it is
//! built from matrix exponentials of a library that the engine does not use, for every schedule, input,
//! exchange and correction, and stepped beside the engine: from the engine's own values and on its own.
#![allow(clippy::unwrap_used)] // helpers of tests are tests

use std::ops::Range;

use crate::common::{DUAL_MASS, DualMass, history, truth};
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

/// What one part came to in a window.
struct Moved {
    x: Vector,
    y: Vector,
    slope: Vector,
    area: Vector,
    /// Integral and end of its inputs.
    given: Vector,
    end: Vector,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Input {
    Hold,
    Linear,
    Quadratic,
    Taylor,
    Hermite,
    /// Linear where the input passes through, held elsewhere.
    Causal,
    Online,
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

/// The recurrence. Its state is that of the parts, the newest samples of the outputs with their slopes, the
/// samples before them, and what the correction owes.
struct Oracle {
    parts: Vec<Part>,
    /// u = L y.
    l: Matrix,
    stages: Vec<Vec<usize>>,
    input: Input,
    fresh: bool,
    /// The coupling is settled at the end of every step.
    implicit: bool,
    nepce: Option<Nepce>,
    x: Vec<Vector>,
    y: Vector,
    slope: Vector,
    /// Samples before the newest, latest first: how long ago, values and slopes.
    before: Vec<(f64, Vector, Vector)>,
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

/// The polynomial, as powers of t, with given values (0) or slopes (1) at given instants.
fn through_samples(wanted: &[(f64, usize, f64)]) -> Vector {
    let count = wanted.len();
    let rows = Matrix::from_fn(count, count, |row, power| {
        let (t, derivative, _) = wanted[row];
        match (derivative, power) {
            (0, _) => t.powi(power as i32),
            (_, 0) => 0.0,
            _ => power as f64 * t.powi(power as i32 - 1),
        }
    });
    let solved = rows.lu().solve(&Vector::from_iterator(count, wanted.iter().map(|(.., y)| *y))).unwrap();
    solved.resize_vertically(4, 0.0)
}

fn at(powers: &Vector, t: f64) -> f64 {
    (0..4).map(|power| powers[power] * t.powi(power as i32)).sum()
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
            implicit: false,
            nepce,
            x,
            y: Vector::zeros(5),
            slope: Vector::zeros(5),
            before: Vec::new(),
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

    /// What is assumed of an output, as powers of the time since the window's start. `through`: the input that
    /// hears it passes through.
    fn assumed(&self, output: usize, new: Option<(f64, f64)>, size: f64, through: bool) -> Vector {
        // Samples, latest first: instant, value, slope.
        let mut known: Vec<[f64; 3]> = new.map(|(y, slope)| [size, y, slope]).into_iter().collect();
        known.push([0.0, self.y[output], self.slope[output]]);
        known.extend(self.before.iter().map(|(ago, y, slope)| [-ago, y[output], slope[output]]));
        let values = |degree: usize| -> Vector {
            let samples = &known[..known.len().min(degree + 1)];
            through_samples(&samples.iter().map(|&[t, y, _]| (t, 0, y)).collect::<Vec<_>>())
        };
        let newest = known[0];
        match self.input {
            Input::Hold => values(0),
            Input::Linear => values(1),
            Input::Quadratic => values(2),
            Input::Causal => values(usize::from(through)),
            Input::Taylor => through_samples(&[(newest[0], 0, newest[1]), (newest[0], 1, newest[2])]),
            Input::Hermite if known.len() == 1 => {
                through_samples(&[(newest[0], 0, newest[1]), (newest[0], 1, newest[2])])
            }
            Input::Hermite => {
                let ([t, y, slope], [old_t, old_y, old_slope]) = (known[0], known[1]);
                let mean = (y - old_y) / (t - old_t);
                let rounding = 1e-12 * (y.abs() + old_y.abs()) / (t - old_t);
                if (mean - (slope + old_slope) / 2.0).abs() <= (slope - old_slope).abs() + rounding {
                    through_samples(&[(t, 0, y), (t, 1, slope), (old_t, 0, old_y), (old_t, 1, old_slope)])
                } else {
                    values(2)
                }
            }
            Input::Online => {
                let guessed = usize::from(known.len() > 1 && newest[0] > 0.0);
                let past = &known[guessed..];
                let error = |degree: usize| {
                    let predicted = |test: usize| {
                        let samples = past.get(test + 1..test + degree + 2)?;
                        let line: Vec<_> = samples.iter().map(|&[t, y, _]| (t, 0, y)).collect();
                        Some((past[test][1] - at(&through_samples(&line), past[test][0])).abs())
                    };
                    match (predicted(0), predicted(1)) {
                        (Some(newest), Some(older)) => (2.0 * newest + older) / 3.0,
                        (newest, _) => newest.unwrap_or(f64::INFINITY),
                    }
                };
                let line = past.len() == 2 || guessed == 1;
                let (mut best, mut least) = if line { (1, error(1)) } else { (0, error(0)) };
                for degree in best + 1..=2 {
                    if error(degree) < 0.5 * least {
                        (best, least) = (degree, error(degree));
                    }
                }
                values(best)
            }
        }
    }

    /// (1 - L J)^-1, or 1 where feed-through is left out.
    fn amplifier(&self, nepce: Nepce) -> Matrix {
        let through = &self.l * self.whole(5, 3, |part| &part.d);
        let one = Matrix::identity(3, 3);
        if nepce.feedthrough { (one - through).try_inverse().unwrap() } else { one }
    }

    /// One part over the window, on what is known of the ends of all outputs.
    fn advance(&self, index: usize, known: &[Option<(f64, f64)>; 5], offsets: &Vector, size: f64) -> Moved {
        let part = &self.parts[index];
        let (n, m) = (part.a.nrows(), part.b.ncols());
        // Each input with its first three derivatives at the start of the window.
        let mut u = Matrix::zeros(m, 4);
        let through = part.d.iter().any(|d| *d != 0.0);
        for (local, input) in part.inputs.clone().enumerate() {
            for output in (0..5).filter(|&output| self.l[(input, output)] != 0.0) {
                let powers = self.assumed(output, known[output], size, through);
                for (power, factorial) in [1.0, 1.0, 2.0, 6.0].into_iter().enumerate() {
                    u[(local, power)] += self.l[(input, output)] * powers[power] * factorial;
                }
            }
            u[(local, 0)] += offsets[input];
        }
        // One exponential for the state, the inputs with their derivatives, and both integrals.
        let total = 2 * n + 5 * m;
        let mut big = Matrix::zeros(total, total);
        big.view_mut((0, 0), (n, n)).copy_from(&part.a);
        big.view_mut((0, n), (n, m)).copy_from(&part.b);
        big.view_mut((n, n + m), (3 * m, 3 * m)).fill_with_identity();
        big.view_mut((n + 4 * m, 0), (n, n)).fill_with_identity();
        big.view_mut((2 * n + 4 * m, n), (m, m)).fill_with_identity();
        let mut z = Vector::zeros(total);
        z.rows_mut(0, n).copy_from(&self.x[index]);
        z.rows_mut(n, 4 * m).copy_from_slice(u.as_slice());
        let z = (big * size).exp() * z;
        let (x, area) = (z.rows(0, n).into_owned(), z.rows(n + 4 * m, n).into_owned());
        let (end, rate) = (z.rows(n, m).into_owned(), z.rows(n + m, m).into_owned());
        let given = z.rows(2 * n + 4 * m, m).into_owned();
        let y = &part.c * &x + &part.d * &end;
        let slope = &part.c * (&part.a * &x + &part.b * &end) + &part.d * &rate;
        Moved { x, y, slope, area, given, end }
    }

    /// The ends of all outputs, values then slopes, that one sweep over all parts makes of assumed ones.
    fn swept(&self, ends: &Vector, offsets: &Vector, size: f64) -> Vector {
        let known: [Option<(f64, f64)>; 5] = std::array::from_fn(|k| Some((ends[k], ends[5 + k])));
        let mut new = Vector::zeros(10);
        for (index, part) in self.parts.iter().enumerate() {
            let Moved { y, slope, .. } = self.advance(index, &known, offsets, size);
            new.rows_mut(part.outputs.start, y.len()).copy_from(&y);
            new.rows_mut(5 + part.outputs.start, y.len()).copy_from(&slope);
        }
        new
    }

    /// Ends that a sweep leaves as they are. The sweep is affine, so eleven of them tell all about it.
    fn settled(&self, offsets: &Vector, size: f64) -> [Option<(f64, f64)>; 5] {
        let still = self.swept(&Vector::zeros(10), offsets, size);
        let mut map = Matrix::zeros(10, 10);
        for k in 0..10 {
            let mut unit = Vector::zeros(10);
            unit[k] = 1.0;
            map.set_column(k, &(self.swept(&unit, offsets, size) - &still));
        }
        let ends = (Matrix::identity(10, 10) - map).lu().solve(&still).unwrap();
        std::array::from_fn(|k| Some((ends[k], ends[5 + k])))
    }

    fn step(&mut self, size: f64) {
        let offsets = match self.nepce {
            None => Vector::zeros(3),
            Some(Nepce { form: Form::Account, .. }) => &self.owed * (GAIN / size),
            Some(Nepce { form: Form::Paper, .. }) => &self.owed * GAIN,
        };
        let mut new: [Option<(f64, f64)>; 5] =
            if self.implicit { self.settled(&offsets, size) } else { [None; 5] };
        let mut y_integral = Vector::zeros(5);
        let (mut u_integral, mut u_end) = (Vector::zeros(3), Vector::zeros(3));
        for stage in self.stages.clone() {
            let known = new; // inside a stage all use values of the previous point
            for index in stage {
                let Moved { x, y, slope, area, given, end } = self.advance(index, &known, &offsets, size);
                let part = &self.parts[index];
                let m = part.b.ncols();
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
        let (old, old_slope) = (self.y.clone(), self.slope.clone());
        self.y = Vector::from_iterator(5, new.iter().map(|new| new.unwrap().0));
        self.slope = Vector::from_iterator(5, new.iter().map(|new| new.unwrap().1));
        if self.fresh {
            self.refresh();
        }
        self.before.iter_mut().for_each(|(ago, ..)| *ago += size);
        self.before.insert(0, (size, old, old_slope));
        self.before.truncate(4);
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
fn compare(system: DualMass<'_>, make: impl FnMut() -> Oracle, sizes: &dyn Fn(usize) -> f64) {
    compare_within(1e-12, STEPS, system, make, sizes);
}

fn compare_within(
    within: f64,
    steps: usize,
    system: DualMass<'_>,
    mut make: impl FnMut() -> Oracle,
    sizes: &dyn Fn(usize) -> f64,
) {
    for follows in [true, false] {
        let mut oracle = make();
        let mut run = system.start();
        for step in 0..steps {
            if follows {
                oracle.follow(&run, system.mirrored);
            }
            run.set_next_size(sizes(step));
            run.step().unwrap();
            oracle.step(sizes(step));
            // Extrapolated cubics hand rounding on from step to step.
            let within = if !follows && oracle.input == Input::Hermite { 1e-10 } else { within };
            for (output, (engine, oracle)) in run.outputs().iter().zip(oracle.y.iter()).enumerate() {
                let allowed = within * oracle.abs().max(1.0);
                assert!(
                    (engine - oracle).abs() <= allowed,
                    "step {step}, output {output}: engine {engine}, recurrence {oracle}, difference {:e}, {} in\n{}",
                    engine - oracle,
                    if follows { "one step" } else { "from the start" },
                    system.text()
                );
            }
        }
        assert_eq!(run.counters().steps, steps as u64);
    }
}

const SIZE: f64 = 0.02;

const SCHEDULES: [(&str, &[&[usize]]); 3] = [
    ("\"jacobi\"", &[&[0, 1]]),
    ("{ gauss-seidel = { order = [\"left\"] } }", &[&[0], &[1]]),
    ("{ gauss-seidel = { order = [\"right\"] } }", &[&[1], &[0]]),
];

const INPUTS: [(&str, Input); 7] = [
    ("hold", Input::Hold),
    ("linear", Input::Linear),
    ("quadratic", Input::Quadratic),
    ("causal", Input::Causal),
    ("online", Input::Online),
    ("taylor", Input::Taylor),
    ("hermite", Input::Hermite),
];

#[test]
fn every_input_has_its_recurrence_here() {
    let mut known = INPUTS.map(|(name, _)| name).to_vec();
    let mut registered: Vec<&str> = cosimo::registry().inputs.iter().map(|entry| entry.name).collect();
    known.sort_unstable();
    registered.sort_unstable();
    assert_eq!(known, registered);
}

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
    check(false, &INPUTS, &SCHEDULES[..1]);
}

#[test]
fn gauss_seidel_is_its_recurrence_in_both_orders() {
    check(false, &INPUTS, &SCHEDULES[1..]);
}

#[test]
fn the_mirrored_cut_is_its_recurrence() {
    check(true, &INPUTS[..5], &SCHEDULES[..1]);
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
                    oracle.before = vec![(SIZE, sample(-SIZE, mirrored), Vector::zeros(5))];
                    oracle
                };
                compare(system, make, &|_| SIZE);
            }
        }
    }
}

/// All outputs of the monolithic system.
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
fn polynomials_go_through_uneven_history_as_it_is() {
    let wild = |step: usize| {
        [0.02, 0.035, 0.005, 0.05, 0.0125][step % 5] * if step.is_multiple_of(7) { 1.5 } else { 1.0 }
    };
    // A cubic over a step fifteen times as long as the one before makes 1e-14 of rounding 1e-10.
    let mild = |step: usize| [0.02, 0.03, 0.015, 0.025, 0.0125][step % 5];
    for (name, input) in &INPUTS {
        let size: &dyn Fn(usize) -> f64 = if *input == Input::Hermite { &mild } else { &wild };
        for (exchange, fresh) in [("stale", false), ("fresh", true)] {
            let method = method("\"jacobi\"", name, exchange, "\"none\"");
            let system = DualMass { method: &method, ..DUAL_MASS };
            compare(system, || Oracle::new(false, &[&[0, 1]], *input, fresh, None), size);
        }
    }
}

/// Sweeps that settle are the implicit step, in any order of stages and with any relaxation.
#[test]
fn waveform_iteration_is_the_implicit_recurrence() {
    for (schedule, stages) in &SCHEDULES {
        for (name, input) in INPUTS.iter().filter(|(name, _)| *name != "hermite") {
            for relaxation in ["none", "constant", "aitken", "quasi-newton"] {
                let iteration = format!(
                    "iteration = {{ waveform = {{ relaxation = \"{relaxation}\", factor = 0.8, sweeps = 60, \
                     relative = 1e-13, absolute = 1e-13 }} }}"
                );
                // The word for both axes at once is `schedule`; here they are named apart.
                let partition = format!("partition = {schedule}");
                let method = method("", name, "stale", "\"none\"")
                    .replace("schedule = \n", &format!("{partition}\n{iteration}\n"));
                let system = DualMass { method: &method, ..DUAL_MASS };
                let make = || {
                    let mut oracle = Oracle::new(false, stages, *input, false, None);
                    oracle.implicit = true;
                    oracle
                };
                // Each step takes up to 60 sweeps; what later ones do the first ones have done.
                compare_within(1e-10, STEPS / 2, system, make, &|_| SIZE);
            }
        }
    }
}
