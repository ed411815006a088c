//! Steps of components' own: against a recurrence that is made of matrix exponentials, in their orders, and together
//! with everything that cuts, rewinds, saves or corrects steps.
#![allow(clippy::unwrap_used)] // helpers of tests are tests

use crate::common::{
    DUAL_MASS, DualMass, INITIAL, Made, bits, column, combinations, history_of, observed_order, rows,
    run_to_the_end, sample, start, truth_from,
};
use cosimo::core::Time;
use cosimo::engine::{Checkpoint, Run};
use cosimo::export::{Variant, Version};
use nalgebra::{DMatrix, DVector};

type Matrix = DMatrix<f64>;
type Vector = DVector<f64>;

/// A system with a step of its own for some of its components.
fn paced(text: &str, steps: &[(&str, f64)]) -> String {
    let mut text = text.to_owned();
    for (name, every) in steps {
        let head = format!("[component.{name}]\n");
        assert!(text.contains(&head), "no {name} in {text}");
        text = text.replace(&head, &format!("{head}step = {every:?}\n"));
    }
    text
}

fn dual_mass(method: &str, steps: &[(&str, f64)]) -> String {
    paced(&DualMass { stop: 1000.0, method, ..DUAL_MASS }.text(), steps)
}

const JACOBI: &str = "\"jacobi\"";
const LEFT_FIRST: &str = "{ gauss-seidel = { order = [\"left\"] } }";
const RIGHT_FIRST: &str = "{ gauss-seidel = { order = [\"right\"] } }";

/// x' = A x + B u, y = C x + D u, with the outputs that its inputs are wired to.
struct Part {
    a: Matrix,
    b: Matrix,
    c: Matrix,
    d: Matrix,
    wires: &'static [usize],
    outputs: std::ops::Range<usize>,
    /// Windows in one of its own steps.
    ratio: usize,
    x: Vector,
    /// Of the step that it is in: the inputs, where outputs began and end, and where they began the time before.
    inputs: Vec<[f64; 4]>,
    began: Vec<f64>,
    ends: Vec<f64>,
    before: Option<Vec<f64>>,
}

/// The dual mass, left with the spring between: outputs are f, x and v of the left side, v and x of the right.
struct Recurrence {
    parts: [Part; 2],
    stages: &'static [&'static [usize]],
    degree: usize,
    fresh: bool,
    size: f64,
    /// Outputs as published, a row per communication point.
    samples: Vec<[f64; 5]>,
}

impl Recurrence {
    fn new(
        ratios: [usize; 2],
        stages: &'static [&'static [usize]],
        degree: usize,
        fresh: bool,
        size: f64,
    ) -> Recurrence {
        let part = |a: &[f64], b: Matrix, c: Matrix, d: Matrix, wires, outputs, ratio, x: [f64; 2]| Part {
            a: Matrix::from_row_slice(2, 2, a),
            b,
            c,
            d,
            wires,
            outputs,
            ratio,
            x: Vector::from_row_slice(&x),
            inputs: Vec::new(),
            began: Vec::new(),
            ends: Vec::new(),
            before: None,
        };
        let left = part(
            &[0.0, 1.0, -1.6, -1.6],
            Matrix::from_row_slice(2, 2, &[0.0, 0.0, 0.6, 0.6]),
            Matrix::from_row_slice(3, 2, &[60.0, 60.0, 1.0, 0.0, 0.0, 1.0]),
            Matrix::from_row_slice(3, 2, &[-60.0, -60.0, 0.0, 0.0, 0.0, 0.0]),
            &[4, 3],
            0..3,
            ratios[0],
            [1.0, 0.0],
        );
        let right = part(
            &[0.0, 1.0, -1.0, -1.0],
            Matrix::from_row_slice(2, 1, &[0.0, 0.01]),
            Matrix::from_row_slice(2, 2, &[0.0, 1.0, 1.0, 0.0]),
            Matrix::zeros(2, 1),
            &[0],
            3..5,
            ratios[1],
            [0.0, 0.0],
        );
        let samples = vec![[60.0, 1.0, 0.0, 0.0, 0.0]];
        Recurrence { parts: [left, right], stages, degree, fresh, size, samples }
    }

    /// The polynomial through the newest samples of an output, from the window's start on.
    fn assumed(&self, output: usize, ahead: Option<f64>) -> [f64; 4] {
        let count = self.samples.len();
        let known = ahead.map(|y| (1.0, y)).into_iter();
        let known = known.chain((0..count).map(|k| (-(k as f64), self.samples[count - 1 - k][output])));
        let known: Vec<(f64, f64)> = known.take(self.degree + 1).collect();
        let powers = Matrix::from_fn(known.len(), known.len(), |row, power| known[row].0.powi(power as i32));
        let values = Vector::from_iterator(known.len(), known.iter().map(|(_, y)| *y));
        let solved = powers.lu().solve(&values).unwrap();
        std::array::from_fn(|power| solved.get(power).map_or(0.0, |c| c / self.size.powi(power as i32)))
    }

    fn step(&mut self) {
        let window = self.samples.len() - 1;
        let last = self.samples[window];
        let mut ends: [Option<f64>; 5] = [None; 5];
        for stage in self.stages {
            let seen = ends;
            for &member in *stage {
                let (ratio, place) = (self.parts[member].ratio, window % self.parts[member].ratio);
                if place == 0 {
                    let wires = self.parts[member].wires;
                    let inputs = wires.iter().map(|&output| self.assumed(output, seen[output])).collect();
                    let began: Vec<f64> =
                        self.parts[member].outputs.clone().map(|output| last[output]).collect();
                    self.parts[member].go(inputs, began, ratio as f64 * self.size);
                }
                let part = &self.parts[member];
                for (k, output) in part.outputs.clone().enumerate() {
                    ends[output] = Some(part.shown(k, place + 1, self.degree));
                }
            }
        }
        let mut now = ends.map(Option::unwrap);
        // Only the force answers at once, and only where its simulator is.
        if self.fresh && (window + 1).is_multiple_of(self.parts[0].ratio) {
            let x = &self.parts[0].x;
            now[0] = 60.0 * (x[0] - now[4]) + 60.0 * (x[1] - now[3]);
        }
        self.samples.push(now);
    }
}

impl Part {
    fn go(&mut self, inputs: Vec<[f64; 4]>, began: Vec<f64>, size: f64) {
        // Each input is a chain of integrators behind the states: its value, its slope, ...
        let (states, all) = (2, 2 + 4 * inputs.len());
        let mut generator = Matrix::zeros(all, all);
        generator.view_mut((0, 0), (states, states)).copy_from(&self.a);
        let mut z = Vector::zeros(all);
        z.rows_mut(0, states).copy_from(&self.x);
        for (k, input) in inputs.iter().enumerate() {
            let first = states + 4 * k;
            generator.view_mut((0, first), (states, 1)).copy_from(&self.b.column(k));
            for (power, factorial) in [1.0, 1.0, 2.0, 6.0].into_iter().enumerate() {
                z[first + power] = factorial * input[power];
                if power < 3 {
                    generator[(first + power, first + power + 1)] = 1.0;
                }
            }
        }
        let moved = (generator * size).exp() * z;
        self.x = moved.rows(0, states).into();
        let u = Vector::from_iterator(inputs.len(), (0..inputs.len()).map(|k| moved[states + 4 * k]));
        let y = &self.c * &self.x + &self.d * u;
        self.before = (!self.began.is_empty()).then(|| self.began.clone());
        (self.began, self.ends, self.inputs) = (began, y.iter().copied().collect(), inputs);
    }

    /// An output after some of the windows: on the line between the ends, or on the parabola through the start of the
    /// step before where those who hear of it look that far.
    fn shown(&self, output: usize, windows: usize, degree: usize) -> f64 {
        let (start, end) = (self.began[output], self.ends[output]);
        if windows == self.ratio {
            return end;
        }
        let share = windows as f64 / self.ratio as f64;
        let bend = match &self.before {
            Some(before) if degree >= 2 => (end - 2.0 * start + before[output]) / 2.0,
            _ => 0.0,
        };
        start + (end - start) * share + bend * share * (share - 1.0)
    }
}

#[test]
fn every_combination_is_the_recurrence() {
    const SIZE: f64 = 0.01;
    let schedules: [(&str, &'static [&'static [usize]]); 3] =
        [(JACOBI, &[&[0, 1]]), (LEFT_FIRST, &[&[0], &[1]]), (RIGHT_FIRST, &[&[1], &[0]])];
    // Whose own steps, in windows; a fraction is followed exactly by an exact solver.
    let cases: [([f64; 2], [usize; 2]); 5] = [
        ([5.0, 1.0], [5, 1]),
        ([1.0, 5.0], [1, 5]),
        ([5.0, 0.2], [5, 1]),
        ([0.2, 0.2], [1, 1]),
        ([2.0, 3.0], [2, 3]),
    ];
    for (schedule, stages) in schedules {
        for (degree, input) in ["hold", "linear", "quadratic"].into_iter().enumerate() {
            for fresh in [false, true] {
                for (own, ratios) in cases {
                    let exchange = if fresh { "fresh" } else { "stale" };
                    let method = format!(
                        "schedule = {schedule}\ninput = \"{input}\"\nexchange = \"{exchange}\"\n\
                         step = {{ size = {SIZE:?} }}"
                    );
                    let steps = [("left", own[0] * SIZE), ("right", own[1] * SIZE)];
                    let mut run = start(&dual_mass(&method, &steps), 1);
                    let mut recurrence = Recurrence::new(ratios, stages, degree, fresh, SIZE);
                    for step in 0..120 {
                        run.step().unwrap();
                        recurrence.step();
                        let wanted = recurrence.samples.last().unwrap();
                        for (found, wanted) in run.outputs().iter().zip(wanted) {
                            assert!(
                                (found - wanted).abs() <= 1e-12 * (1.0 + wanted.abs()),
                                "{method}, {own:?}, step {step}: {:?}, not {wanted:?}",
                                run.outputs()
                            );
                        }
                    }
                }
            }
        }
    }
}

/// A fifth of the window by one Euler step each is the window by five, whatever the inputs.
#[test]
fn a_fraction_is_a_finer_solver() {
    for (input, solver) in [("hold", "euler"), ("linear", "euler"), ("quadratic", "euler-end")] {
        let text = |micro: u32, steps: &[(&str, f64)]| {
            let method = format!("input = \"{input}\"\nstep = {{ size = 0.02 }}");
            let parameters = format!("solver = \"{solver}\", micro_steps = {micro}");
            let system = DualMass { stop: 1000.0, parameters: &parameters, method: &method, ..DUAL_MASS };
            paced(&system.text(), steps)
        };
        let mut split = start(&text(1, &[("left", 0.004), ("right", 0.004)]), 1);
        let mut whole = start(&text(5, &[]), 1);
        for _ in 0..200 {
            split.step().unwrap();
            whole.step().unwrap();
            for (a, b) in split.outputs().iter().zip(whole.outputs()) {
                assert!((a - b).abs() <= 1e-12 * (1.0 + b.abs()), "{input}: {a} {b}");
            }
        }
        let counted: Vec<(&str, f64, u64)> = split.own_steps().collect();
        assert_eq!(counted, [("left", 0.004, 1000), ("right", 0.004, 1000)]);
    }
}

/// An own step that equals the common step changes nothing.
#[test]
fn a_ratio_of_one_changes_no_bit() {
    let fixed = combinations().into_iter().filter(|method| method.contains("controller = \"fixed\""));
    let mut count = 0;
    for method in fixed.step_by(13) {
        let mut plain = start(&dual_mass(&method, &[]), 1);
        let mut own = start(&dual_mass(&method, &[("left", 0.02), ("right", 0.02)]), 1);
        for _ in 0..30 {
            plain.step().unwrap();
            own.step().unwrap();
            assert_eq!(bits(&plain), bits(&own), "{method}");
        }
        count += 1;
    }
    assert!(count > 50, "{count}");
}

const ORDER_STOP: f64 = 10.0;

/// The observed order of x1 with steps of 20 ms to 2.5 ms, of which components have multiples.
fn order(method: &str, steps: [f64; 2], test: &str) -> (f64, [f64; 3]) {
    let counts = [500, 1000, 2000];
    let sizes = counts.map(|count| ORDER_STOP / f64::from(count));
    let errors = sizes.map(|size| {
        let experiment = history_of(&format!("rates-{test}"), INITIAL, size, 5);
        let method = format!("{method}\nstep = {{ size = {size:?} }}");
        let system = DualMass { stop: ORDER_STOP, experiment: &experiment, method: &method, ..DUAL_MASS };
        let own = [("left", steps[0] * size), ("right", steps[1] * size)];
        let mut run = start(&paced(&system.text(), &own), 1);
        let mut worst = 0.0f64;
        while !run.finished() {
            // At common points. In between a first step is shown as a line, which is off by two orders of its size;
            // what that does to the others is one order less.
            (0..5).for_each(|_| run.step().unwrap());
            let truth = &truth_from(INITIAL, &[run.time().seconds()])[0];
            worst = worst.max((run.output("left.x").unwrap() - truth[0]).abs());
        }
        worst
    });
    (observed_order(&sizes, &errors), errors)
}

#[test]
fn errors_fall_with_the_degree_plus_one_at_a_fixed_ratio() {
    let schedules = [(JACOBI, "stale"), (JACOBI, "fresh"), (LEFT_FIRST, "stale"), (RIGHT_FIRST, "stale")];
    for (schedule, exchange) in schedules {
        for (input, wanted) in [("hold", 1.0), ("linear", 2.0), ("quadratic", 3.0)] {
            for steps in [[5.0, 1.0], [1.0, 5.0], [5.0, 0.5]] {
                let method = format!("schedule = {schedule}\ninput = \"{input}\"\nexchange = \"{exchange}\"");
                let (order, errors) = order(&method, steps, "plain");
                println!("{schedule} {input} {steps:?}: {order:.3} {errors:?}");
                assert!((order - wanted).abs() < 0.15, "{schedule}, {input}, {steps:?}: {order}, {errors:?}");
            }
        }
    }
}

/// Slopes of both ends make the cubic between them, which is worth the order that inputs get from it.
#[test]
fn offered_slopes_make_a_cubic_of_what_lies_between() {
    for steps in [[5.0, 1.0], [1.0, 5.0]] {
        let method = "input = \"hermite\"\nexchange = \"stale\"";
        let (order, errors) = order(method, steps, "hermite");
        assert!((3.6..4.6).contains(&order), "{steps:?}: {order}, {errors:?}");
    }
}

#[test]
fn nepce_raises_the_order_of_held_inputs_at_any_ratio() {
    for schedule in [JACOBI, LEFT_FIRST, RIGHT_FIRST] {
        for steps in [[5.0, 1.0], [1.0, 5.0], [5.0, 0.5]] {
            let method = format!("schedule = {schedule}\ninput = \"hold\"\nexchange = \"stale\"");
            let corrected = format!("{method}\ncorrection = {{ nepce = {{ gain = 0.5 }} }}");
            let (raised, errors) = order(&corrected, steps, "nepce");
            let (_, plain) = order(&method, steps, "nepce");
            println!("{schedule} {steps:?}: {raised:.3} {errors:?} {plain:?}");
            assert!((raised - 2.0).abs() < 0.15, "{schedule}, {steps:?}: {raised}, {errors:?}");
            assert!(errors[2] < 0.2 * plain[2], "{schedule}, {steps:?}: {errors:?} {plain:?}");
        }
    }
}

/// The books of NEPCE, kept again from the rows of a run: a simulator with longer steps is paid back when one begins, and what
/// he is paid is the gain times all that is owed, over the whole step; by the paper's form, what the last step lost.
#[test]
fn a_longer_step_is_paid_back_when_the_next_one_begins() {
    const SIZE: f64 = 0.01;
    for (form, ratio) in [("account", 5usize), ("paper", 5), ("account", 1), ("paper", 1)] {
        for schedule in [JACOBI, LEFT_FIRST, RIGHT_FIRST] {
            let method = format!(
                "schedule = {schedule}\ninput = \"hold\"\nexchange = \"stale\"\nstep = {{ size = {SIZE:?} }}\n\
                 correction = {{ nepce = {{ form = \"{form}\", quadrature = \"end\", gain = 0.5 }} }}"
            );
            let system = DualMass {
                stop: 2.0,
                method: &method,
                experiment: "record = \"before-exchange\"",
                ..DUAL_MASS
            };
            let table = rows(&paced(&system.text(), &[("right", ratio as f64 * SIZE)]));
            let (force, applied) = (column(&table, "left.f"), column(&table, "right.f"));
            let (mut owed, mut lost) = (0.0, 0.0);
            for window in 0..force.len() - 1 {
                if window % ratio == 0 {
                    // The second stage sees the end of the first window already.
                    let known = if schedule == LEFT_FIRST { window + 1 } else { window };
                    let paid = match form {
                        "account" => 0.5 * owed / (ratio as f64 * SIZE),
                        _ => 0.5 * lost / (ratio as f64 * SIZE),
                    };
                    let wanted = force[known] + paid;
                    let found = applied[window + 1];
                    assert!(
                        (found - wanted).abs() < 1e-11,
                        "{method}, window {window}: {found}, not {wanted}"
                    );
                    lost = 0.0;
                } else {
                    assert_eq!(applied[window + 1], applied[window], "{method}, window {window}");
                }
                let missed = (force[window + 1] - applied[window + 1]) * SIZE;
                (owed, lost) = (owed + missed, lost + missed);
            }
            // Everything but what the last steps lost is paid: a force of 60 N at the start, falling by 70 N/s.
            if form == "account" {
                assert!(owed.abs() < 0.25 * ratio as f64 * ratio as f64 * SIZE, "{method}: {owed}");
            }
        }
    }
}

/// The dual mass in three parts.
const THREE: &str = r#"
    [experiment]
    stop = 0.5
    [component.left]
    source = "native:dual-mass/left"
    [component.middle]
    source = "native:dual-mass/coupling"
    [component.right]
    source = "native:dual-mass/right"
    [[connection]]
    from = "left.x"
    to = "middle.x1"
    [[connection]]
    from = "right.x"
    to = "middle.x2"
    [[bond]]
    name = "one"
    a = { effort = "middle.f1", flow = "middle.v1" }
    b = { effort = "left.f", flow = "left.v" }
    [[bond]]
    name = "two"
    a = { effort = "middle.f2", flow = "middle.v2" }
    b = { effort = "right.f", flow = "right.v" }
    [method]
    input = "linear"
    step = { size = 1e-3 }
"#;

#[test]
fn three_components_at_three_rates_meet_where_they_should() {
    let text: String = THREE.lines().map(|line| line.trim_start().to_owned() + "\n").collect();
    let steps = [("left", 5e-3), ("middle", 1e-3), ("right", 1e-2)];
    let mut paced_run = start(&paced(&text, &steps), 1);
    let mut plain = start(&text, 1);
    run_to_the_end(&mut paced_run);
    run_to_the_end(&mut plain);
    assert_eq!(paced_run.counters().steps, 500);
    let counted: Vec<(&str, f64, u64)> = paced_run.own_steps().collect();
    assert_eq!(counted, [("left", 5e-3, 100), ("middle", 1e-3, 500), ("right", 1e-2, 50)]);
    let truth = &truth_from(INITIAL, &[0.5])[0];
    for (port, column) in [("left.x", 0), ("left.v", 1), ("right.x", 2), ("right.v", 3)] {
        let (one, other) = (paced_run.output(port).unwrap(), plain.output(port).unwrap());
        assert!((one - truth[column]).abs() < 1e-4, "{port}: {one}, not {}", truth[column]);
        assert!((other - truth[column]).abs() < 1e-4, "{port}: {other}, not {}", truth[column]);
    }
    // Steps that have no common beat end where each of them does: 2, 3, 4, 6, 8, 9, 10, ... ms.
    let mut uneven = start(&paced(&text, &[("left", 2e-3), ("right", 3e-3)]), 1);
    run_to_the_end(&mut uneven);
    let counted: Vec<u64> = uneven.own_steps().map(|(.., steps)| steps).collect();
    assert_eq!(counted, [250, 167]); // the last one cut by the end
}

/// Units that follow inputs, hold them or are integrated here, against the native models.
#[test]
fn units_with_own_steps_equal_native_models() {
    for (input, own) in [
        ("hold", [0.05, 0.01]),
        ("hold", [0.01, 0.05]),
        ("linear", [0.05, 0.01]),
        ("linear", [0.01, 0.05]),
        ("linear", [0.05, 0.002]),
        ("quadratic", [0.05, 0.01]),
    ] {
        let method = format!("input = \"{input}\"\nexchange = \"stale\"\nstep = {{ size = 0.01 }}");
        let text = |made| {
            let system = DualMass { stop: 1000.0, method: &method, made, ..DUAL_MASS };
            paced(&system.text(), &[("left", own[0]), ("right", own[1])])
        };
        for made in Made::UNITS {
            let holds = made == Made::Unit(Version::Two, Variant::Plain);
            if holds && input != "hold" {
                continue;
            }
            let mut native = start(&text(Made::Native), 1);
            let mut unit = start(&text(made), 1);
            let allowed = if matches!(made, Made::Equations(_)) { 1e-6 } else { 1e-12 }; // integrated to 1e-10
            for _ in 0..100 {
                native.step().unwrap();
                unit.step().unwrap();
                for (a, b) in unit.outputs().iter().zip(native.outputs()) {
                    assert!(
                        (a - b).abs() <= allowed * (1.0 + b.abs()),
                        "{made:?}, {method}, {own:?}: {a} {b}"
                    );
                }
            }
        }
    }
}

/// A unit that only holds its inputs follows what is assumed of them as a stair of means: in a hundred parts that is the
/// line within a hundredth of a hundredth of what holding misses.
#[test]
fn a_unit_that_holds_follows_as_a_stair() {
    let method = "input = \"linear\"\nexchange = \"stale\"\nstep = { size = 0.1 }";
    let end = |made: Made, steps: &[(&str, f64)]| {
        let system = DualMass { stop: 2.0, method, made, ..DUAL_MASS };
        let mut run = start(&paced(&system.text(), steps), 1);
        assert!(
            steps.is_empty() || !run.warnings().iter().any(|warning| warning.code == "plan/input-degree")
        );
        run_to_the_end(&mut run);
        run.output("left.x").unwrap()
    };
    let (native, held) = (end(Made::Native, &[]), end(Made::Unit(Version::Two, Variant::Plain), &[]));
    let stair = end(Made::Unit(Version::Two, Variant::Plain), &[("left", 1e-3), ("right", 1e-3)]);
    assert!((held - native).abs() > 1e-3, "{held} {native}");
    assert!((stair - native).abs() < 1e-3 * (held - native).abs(), "{stair} {native} {held}");
}

const ADAPTIVE: &str = "correction = { nepce = { gain = 0.5 } }\nstep = { estimate = { power-residual = { \
                        tolerance = 1e-3, energy_scale = 1.0 } }, controller = \"pi\", reject = \"above-one\", \
                        size = 0.01, min = 1e-3, max = 0.1 }";

/// Every communication point of a run.
fn points(run: &mut Run, until: f64) -> Vec<f64> {
    let mut points = Vec::new();
    while run.time().seconds() < until {
        run.step().unwrap();
        points.push(run.time().seconds());
    }
    points
}

/// Windows of any size meet the ends of all own steps; a window as long as such a step is divided.
#[test]
fn varying_steps_meet_the_ends_of_longer_ones() {
    let mut run = start(&dual_mass(ADAPTIVE, &[("left", 0.03), ("right", 0.05)]), 1);
    let points = points(&mut run, 8.0);
    assert!(run.counters().rejected > 0, "{:?}", run.counters());
    let truth = &truth_from(INITIAL, &[run.time().seconds()])[0];
    assert!((run.output("left.x").unwrap() - truth[0]).abs() < 5e-3);
    let counted: Vec<u64> = run.own_steps().map(|(.., steps)| steps).collect();
    assert!(counted[0] < points.len() as u64 && counted[1] < counted[0], "{counted:?} of {}", points.len());
    // As long as windows are shorter than the longer steps, those end at multiples.
    let early = |every: f64, count: i32| (1..=count).map(|k| f64::from(k) * every).collect::<Vec<_>>();
    for end in early(0.03, 5).iter().chain(&early(0.05, 3)) {
        assert!(points.iter().any(|point| (point - end).abs() < 1e-12), "{end} in {:?}", &points[..30]);
    }
}

/// Threads, a save and a load at every point, and steps that are taken back.
#[test]
fn longer_steps_change_no_bits_on_any_way() {
    let hermite = "input = \"hermite\"\ncorrection = { nepce = { feedthrough = \"difference\" } }\n\
                   exchange = \"fresh\"\nstep = { size = 0.01 }";
    let richardson = "step = { estimate = { richardson = { tolerance = 2e-3 } }, controller = \"pid\", \
                      reject = \"above-one\", size = 0.01, min = 1e-3, max = 0.1 }";
    let waveform = "iteration = { waveform = { relative = 1e-7, absolute = 1e-7 } }\ninput = \"quadratic\"\n\
                    step = { size = 0.01 }";
    for method in [ADAPTIVE, hermite, richardson, waveform] {
        let text = dual_mass(method, &[("left", 0.05), ("right", 0.005)]);
        let mut plain = start(&text, 1);
        let mut threads = start(&text, 2);
        let mut detour = start(&text, 1);
        let mut other = start(&text, 1);
        for _ in 0..60 {
            for run in [&mut plain, &mut threads] {
                run.step().unwrap();
            }
            let before = detour.save().unwrap();
            detour.step().unwrap();
            detour.step().unwrap();
            detour.load(&before).unwrap();
            detour.step().unwrap();
            // And in another process, which knows only the bytes.
            other.load(&Checkpoint::from_bytes(before.bytes().to_vec()).unwrap()).unwrap();
            other.step().unwrap();
            assert_eq!(bits(&plain), bits(&threads), "{method}");
            assert_eq!(bits(&plain), bits(&detour), "{method}");
            assert_eq!(bits(&plain), bits(&other), "{method}");
        }
        let counted = |run: &Run| run.own_steps().map(|(.., steps)| steps).collect::<Vec<_>>();
        assert_eq!(counted(&plain), counted(&other), "{method}");
    }
}

#[test]
fn a_checkpoint_of_other_own_steps_is_refused() {
    let method = "step = { size = 0.01 }";
    let saved = start(&dual_mass(method, &[("left", 0.05)]), 1).save().unwrap();
    let error = start(&dual_mass(method, &[("left", 0.02)]), 1).load(&saved).unwrap_err();
    assert!(error.to_string().contains("left.step=0.05"), "{error}");
}

/// A unit that takes steps of one size only has them, whatever the others do.
#[test]
fn a_unit_with_steps_of_one_size_keeps_them_under_a_varying_step() {
    for version in [Version::Two, Version::Three] {
        let unit = Made::Unit(version, Variant::FixedStep).source("dual-mass/right");
        let text = dual_mass(
            &ADAPTIVE.replace("above-one", "never").replace("max = 0.1", "max = 0.04"),
            &[("right", 0.05)],
        );
        let text = text.replace("native:dual-mass/right", &unit).replace("stop = 1000.0", "stop = 8.0");
        let mut run = start(&text, 1);
        run_to_the_end(&mut run);
        let counted: Vec<(&str, f64, u64)> = run.own_steps().collect();
        assert_eq!(counted, [("right", 0.05, 160)]);
        assert!(run.counters().steps > 200, "{:?}", run.counters());
        let truth = &truth_from(INITIAL, &[8.0])[0];
        assert!((run.output("left.x").unwrap() - truth[0]).abs() < 5e-3);
        // At a fraction of a fixed step, too.
        let text =
            dual_mass("step = { size = 0.1 }", &[("right", 0.05)]).replace("native:dual-mass/right", &unit);
        let mut run = start(&text, 1);
        run.run_until(Time::new(1.0).unwrap()).unwrap();
        assert_eq!(run.own_steps().next(), Some(("right", 0.05, 20)));
    }
}

/// A ball with long steps bounces inside of them: all simulators are rewound to where its step began, and it ends at the bounce.
#[test]
fn an_event_inside_a_longer_step_ends_it() {
    let text = |every: &str, size: f64| {
        format!(
            "[experiment]\nstop = 1.5\n[component.ball]\nsource = \"{}\"\n{every}\
             parameters = {{ height = 1.0, velocity = 0.0, restitution = 0.7, gravity = 9.81, \"cosimo.relative\" = 1e-9 }}\n\
             [component.follower]\nsource = \"native:dual-mass/left-force\"\n\
             [[connection]]\nfrom = \"ball.velocity\"\nto = \"follower.v_far\"\n\
             [[connection]]\nfrom = \"ball.height\"\nto = \"follower.x_far\"\n\
             [method]\ninput = \"linear\"\nstep = {{ size = {size:?} }}\n",
            Made::Equations(Version::Three).source("bouncing-ball")
        )
    };
    let jumps = |text: &str| {
        let table = rows(text);
        let times = column(&table, "time");
        let twice: Vec<f64> =
            times.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| pair[0]).collect();
        (twice, *column(&table, "follower.x").last().unwrap())
    };
    let (plain, x) = jumps(&text("", 0.01));
    let (own, y) = jumps(&text("step = 0.05\n", 0.01));
    assert!(plain.len() >= 2 && plain.len() == own.len(), "{plain:?} {own:?}");
    for (a, b) in plain.iter().zip(&own) {
        assert!((a - b).abs() < 1e-6, "{a} {b}");
    }
    assert!((x - y).abs() < 1e-3, "{x} {y}");
    let mut run = start(&text("step = 0.05\n", 0.01), 1);
    let mut same = start(&text("step = 0.05\n", 0.01), 2);
    while !run.finished() {
        let before = run.save().unwrap();
        run.step().unwrap();
        same.load(&before).unwrap();
        same.step().unwrap();
        assert_eq!(bits(&run), bits(&same));
    }
    assert!(run.counters().events >= 2);
}

/// Discrete values wait for the end of the step: a stair is never seen between two levels, nor before its time.
#[test]
fn discrete_outputs_are_never_interpolated() {
    for made in [Made::Equations(Version::Three), Made::Unit(Version::Three, Variant::Plain)] {
        let text = format!(
            "[experiment]\nstop = 3.2\n[component.stair]\nsource = \"{}\"\nstep = 0.4\nparameters = {{ period = 0.7 }}\n\
             [component.driven]\nsource = \"{}\"\n\
             [[connection]]\nfrom = \"stair.level\"\nto = \"driven.u\"\n[method]\ninput = \"quadratic\"\nstep = {{ size = 0.1 }}\n",
            made.source("stair"),
            Made::Equations(Version::Three).source("driven")
        );
        let table = rows(&text);
        let (times, levels) = (column(&table, "time"), column(&table, "stair.level"));
        for (t, level) in times.iter().zip(levels) {
            assert_eq!(*level, level.round(), "at {t}");
            let passed = (t / 0.7 + 1e-9).floor();
            assert!(*level == passed || *level == passed - 1.0, "{level} at {t}");
        }
        let twice = times.windows(2).filter(|pair| pair[0] == pair[1]).count();
        assert_eq!(twice, 4, "{made:?}: {times:?}");
    }
}

/// A part of all combinations of methods, on native models and on units, which refuse a step that does not begin where
/// they are: threads change nothing.
#[test]
fn every_method_goes_with_own_steps() {
    for (place, method) in sample().iter().enumerate().step_by(5) {
        let made = [Made::Native, Made::UNITS[0], Made::UNITS[1]][place % 3];
        if !made.fits(method) {
            continue;
        }
        let system = DualMass { stop: 1000.0, method, made, ..DUAL_MASS };
        let text = paced(&system.text(), &[("left", 0.1), ("right", 0.01)]);
        let (mut one, mut two) = (start(&text, 1), start(&text, 2));
        for _ in 0..40 {
            one.step().unwrap_or_else(|error| panic!("{made:?}, {method}: {error}"));
            two.step().unwrap();
            assert_eq!(bits(&one), bits(&two), "{made:?}, {method}");
        }
    }
}
