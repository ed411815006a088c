//! Stability of systems with transmission lines, by the loop of their waves. With the answers G(s) of the components from
//! efforts e to flows f into the lines, and at each end e_i(t) = e_j(t - D_i) + Z_i (f_i(t) + f_j(t - D_i)),
//!
//! ```text
//! (I - P(s) - Z (I + P(s)) G(s)) e = 0,    P(s) e = e^(-s D_i) e_j
//! ```
//!
//! A line with one impedance at both ends is passive. With an impedance per end the loop amplifies where the side with the
//! greater inertia has the longer delay: for two ports this is
//! (Zp1 + Z1)(Zp2 + Z2) = e^(-s (D1 + D2)) (Zp2 - Z1)(Zp1 - Z2). Roots to the right of a line in the complex plane are
//! counted by the argument principle, and the growth is where the count changes.

use cosimo_core::Registry;
use cosimo_core::math;
use cosimo_core::registry::quoted;
use cosimo_engine::{LineEnds, Run, line_ends, plan};
use cosimo_system::{ChoiceOrigin, ConnectionDecl, Impedances, Problem, Summand, System};
use schemars::JsonSchema;
use serde::Serialize;

use crate::forecast::three_digits;
use crate::linalg::{Complex, Eigen, Matrix};
use crate::linear_models::{NoModels, modelled};
use crate::variant::VariantError;

/// Roots this near to the imaginary axis are on it, relative to one per round trip of the fastest line.
const NEUTRAL: f64 = 1e-4;
/// Frequencies up to this many round trips, and up to this multiple of the fastest mode of a component.
const ROUND_TRIPS: f64 = 8.0;
const BEYOND: f64 = 3.0;
/// The phase turns by less between two points of the contour, in radians; and how often a piece is halved for it.
const TURN: f64 = 0.6;
const HALVINGS: u32 = 24;
/// Pieces of each side of the contour to begin with.
const PIECES: usize = 64;

/// Whether waves in lines grow.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct LineLoops {
    pub stable: bool,
    /// How fast a disturbance grows, per second; null where it does not.
    pub growth: Option<f64>,
    /// Lines with different impedances at their ends.
    pub asymmetric: Vec<String>,
}

impl std::fmt::Display for LineLoops {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let common = "lines divide the system into islands with steps of their own, so that there is no common largest step";
        match self.growth {
            None => write!(f, "{common}; waves in the lines are stable at these delays"),
            Some(rate) => write!(
                f,
                "{common}; waves in the lines are unstable at these delays: a disturbance grows by the factor e in {} s",
                three_digits(1.0 / rate)
            ),
        }
    }
}

impl LineLoops {
    /// The warning of `check`.
    pub fn problem(&self, system: &System) -> Option<Problem> {
        let rate = self.growth?;
        let message = format!(
            "waves in the lines are unstable: a disturbance grows by the factor e in {} s",
            three_digits(1.0 / rate)
        );
        let problem = Problem::warning("check/unstable-step", message, system.methods.step.span.clone());
        Some(match &self.asymmetric[..] {
            [] => problem.hint("try a shorter delay, or another impedance"),
            lines => problem.hint(format!(
                "the ends of {} have different impedances; try `impedances = \"common\"` there",
                quoted(lines)
            )),
        })
    }
}

/// The loop of waves in the lines of a system at their first delays.
pub fn line_loops(system: &System, registry: &Registry) -> Result<LineLoops, NoModels> {
    let lines = line_ends(system, registry).map_err(VariantError::Plan)?;
    let waves = Waves::new(system, registry, &lines)?;
    let trip = lines.iter().map(|line| line.delays().iter().sum::<f64>()).fold(f64::INFINITY, f64::min);
    let fastest = Eigen::of(&waves.a)
        .map_or(0.0, |eigen| eigen.values.iter().map(|mode| mode.norm()).fold(0.0, f64::max));
    let top = (ROUND_TRIPS * std::f64::consts::TAU / trip).max(BEYOND * fastest);
    let edge = NEUTRAL * std::f64::consts::TAU / trip;
    let asymmetric: Vec<String> = lines
        .iter()
        .filter(|line| line.impedances()[0] != line.impedances()[1])
        .map(|line| line.name.clone())
        .collect();
    if waves.roots_right_of(edge, top) == 0 {
        return Ok(LineLoops { stable: true, growth: None, asymmetric });
    }
    let (mut low, mut high) = (edge, top);
    while high - low > 1e-4 * low {
        let middle = if high > 4.0 * low { (low * high).sqrt() } else { 0.5 * (low + high) };
        if waves.roots_right_of(middle, top) > 0 { low = middle } else { high = middle }
    }
    Ok(LineLoops { stable: false, growth: Some(low), asymmetric })
}

trait AtStart {
    fn delays(&self) -> [f64; 2];
    fn impedances(&self) -> [f64; 2];
}

impl AtStart for LineEnds {
    fn delays(&self) -> [f64; 2] {
        self.decl.factor.map(|factor| factor * self.decl.delay)
    }

    fn impedances(&self) -> [f64; 2] {
        let own = self.decl.factor.map(|factor| factor * self.decl.impedance);
        match self.decl.impedances {
            Impedances::Own => own,
            Impedances::Common => [0.5 * (own[0] + own[1]); 2],
        }
    }
}

/// x' = A x + B e, f = C x + D e, with the lines at e and f.
struct Waves {
    a: Matrix,
    b: Matrix,
    c: Matrix,
    d: Matrix,
    /// Per end.
    delays: Vec<f64>,
    impedances: Vec<f64>,
}

impl Waves {
    fn new(system: &System, registry: &Registry, lines: &[LineEnds]) -> Result<Waves, NoModels> {
        // Efforts follow from flows at once, so that the models have these ports.
        let mut direct = system.clone();
        direct.bonds.retain(|bond| bond.line.is_none());
        direct.islands.clear();
        let shortest = lines.iter().flat_map(AtStart::delays).fold(f64::INFINITY, f64::min);
        if direct.methods.step.size.is_none() {
            (direct.methods.step.size, direct.methods.step.size_origin) =
                (Some(shortest), ChoiceOrigin::default());
        }
        for (line, side) in lines.iter().flat_map(|line| [(line, 0), (line, 1)]) {
            let [effort, flow] = &line.ports[side];
            let gain = line.scale[side] * line.impedances()[side] * line.sign[side];
            let from = Summand { gain, ..Summand::plain((flow.clone(), 0..0)) };
            direct.connections.push(ConnectionDecl {
                from: vec![from],
                to: (effort.clone(), 0..0),
                offset: 0.0,
                convert: false,
            });
        }
        let models = modelled(&direct, registry, shortest, None)?;
        let run = Run::new(plan(&models.system, &models.registry).map_err(VariantError::Plan)?, 1)?;
        let (topology, ports) = (&run.layout().topology, run.layout().ports());
        let place = |path: &str, outputs: bool| {
            let count = if outputs { topology.shape.outputs } else { topology.shape.inputs };
            let named = |k: &usize| {
                let port = if outputs {
                    cosimo_core::PowerVariable::Output(*k)
                } else {
                    cosimo_core::PowerVariable::Input(*k)
                };
                ports.path(port) == path
            };
            (0..count).find(named)
        };
        let ends: Vec<(&LineEnds, usize)> = lines.iter().flat_map(|line| [(line, 0), (line, 1)]).collect();
        let missing = || VariantError::Line(lines.first().map_or(String::new(), |line| line.name.clone()));
        let mut places = Vec::new();
        for (line, side) in &ends {
            let [effort, flow] = &line.ports[*side];
            let (effort, flow) = (place(effort, false), place(flow, true));
            places.push((effort.ok_or_else(missing)?, flow.ok_or_else(missing)?));
        }
        let [a, b, c, d] = models.matrices(topology);
        let (inputs, outputs) = (topology.shape.inputs, topology.shape.outputs);
        let mut wires = Matrix::zeros(inputs, outputs);
        for input in (0..inputs).filter(|input| places.iter().all(|(effort, _)| effort != input)) {
            for term in topology.couplings.terms(input) {
                wires[(input, term.output)] += term.gain;
            }
        }
        let count = ends.len();
        let into = Matrix::from_fn(inputs, count, |input, end| {
            if places[end].0 == input { ends[end].0.scale[ends[end].1] } else { 0.0 }
        });
        let out = Matrix::from_fn(count, outputs, |end, output| {
            if places[end].1 == output { ends[end].0.sign[ends[end].1] } else { 0.0 }
        });
        // y = C x + D u and u = K y + E e.
        let loops = &Matrix::identity(outputs) - &(&d * &wires);
        let (shown, through) = (loops.solve(&c), loops.solve(&(&d * &into)));
        let bk = &b * &wires;
        let found = Waves {
            a: &a + &(&bk * &shown),
            b: &(&b * &into) + &(&bk * &through),
            c: &out * &shown,
            d: &out * &through,
            delays: ends.iter().map(|(line, side)| line.delays()[*side]).collect(),
            impedances: ends.iter().map(|(line, side)| line.impedances()[*side]).collect(),
        };
        if found.a.is_finite() && found.d.is_finite() {
            Ok(found)
        } else {
            Err(VariantError::Line(lines.first().map_or(String::new(), |line| line.name.clone())).into())
        }
    }

    /// The phase of det(s I - A) det(I - P - Z (I + P) G), which has no poles.
    fn phase(&self, s: Complex) -> f64 {
        let (n, ends) = (self.a.nrows(), self.delays.len());
        let mut resolvent: Vec<Vec<Complex>> = (0..n)
            .map(|row| {
                let own = |k: usize| {
                    let diagonal = if row == k { s } else { Complex::real(0.0) };
                    diagonal - Complex::real(self.a[(row, k)])
                };
                let right = |end: usize| Complex::real(self.b[(row, end)]);
                (0..n).map(own).chain((0..ends).map(right)).collect()
            })
            .collect();
        let mut phase = eliminate(&mut resolvent);
        let answer = |flow: usize, end: usize| {
            let parts = (0..n).map(|k| resolvent[k][n + end] * self.c[(flow, k)]);
            parts.fold(Complex::real(self.d[(flow, end)]), add)
        };
        let answers: Vec<Vec<Complex>> =
            (0..ends).map(|flow| (0..ends).map(|end| answer(flow, end)).collect()).collect();
        let mut whole: Vec<Vec<Complex>> = (0..ends)
            .map(|end| {
                let other = end ^ 1;
                let size = math::exp(-s.re * self.delays[end]);
                let (sin, cos) = math::sin_cos(-s.im * self.delays[end]);
                let delayed = Complex { re: size * cos, im: size * sin };
                let entry = |column: usize| {
                    let own = Complex::real(f64::from(column == end));
                    let passed = if column == other { delayed } else { Complex::real(0.0) };
                    let flows = add(answers[end][column], delayed * answers[other][column]);
                    own - passed - flows * self.impedances[end]
                };
                (0..ends).map(entry).collect()
            })
            .collect();
        phase += eliminate(&mut whole);
        phase
    }

    /// Roots in the rectangle from `edge` to far right, up to a frequency.
    fn roots_right_of(&self, edge: f64, top: f64) -> i64 {
        let far = edge + 2.0 * top;
        let corner = |re: f64, im: f64| Complex { re, im };
        let corners =
            [corner(edge, -top), corner(far, -top), corner(far, top), corner(edge, top), corner(edge, -top)];
        let mut turned = 0.0;
        for pair in corners.windows(2) {
            let (from, to) = (pair[0], pair[1]);
            let at = |share: f64| add(from, (to - from) * share);
            for piece in 0..PIECES {
                let share = |k: usize| {
                    // Denser in the middle, where slow modes are.
                    let x = 2.0 * k as f64 / PIECES as f64 - 1.0;
                    0.5 * (1.0 + x * x * x)
                };
                let (a, b) = (at(share(piece)), at(share(piece + 1)));
                turned += self.turn(a, self.phase(a), b, self.phase(b), HALVINGS);
            }
        }
        (turned / std::f64::consts::TAU).round() as i64
    }

    /// How far the phase turns between two points, halved until it turns little.
    fn turn(&self, a: Complex, first: f64, b: Complex, last: f64, left: u32) -> f64 {
        let middle = add(a, b) * 0.5;
        let between = self.phase(middle);
        let (one, two) = (wrapped(between - first), wrapped(last - between));
        if left == 0 || (one.abs() < TURN && two.abs() < TURN) {
            return one + two;
        }
        self.turn(a, first, middle, between, left - 1) + self.turn(middle, between, b, last, left - 1)
    }
}

fn add(a: Complex, b: Complex) -> Complex {
    Complex { re: a.re + b.re, im: a.im + b.im }
}

fn wrapped(angle: f64) -> f64 {
    angle - std::f64::consts::TAU * (angle / std::f64::consts::TAU).round()
}

/// Solves for the columns beyond a square of rows, in place. Returns the phase of the determinant of the square.
fn eliminate(rows: &mut [Vec<Complex>]) -> f64 {
    let n = rows.len();
    let mut phase = 0.0;
    for pivot in 0..n {
        let size = |row: &usize| rows[*row][pivot].norm();
        let largest = (pivot..n).max_by(|a, b| size(a).total_cmp(&size(b))).unwrap_or(pivot);
        if largest != pivot {
            rows.swap(pivot, largest);
            phase += std::f64::consts::PI;
        }
        let head = rows[pivot][pivot];
        phase += math::atan2(head.im, head.re);
        let scaled: Vec<Complex> = rows[pivot].iter().map(|value| *value / head).collect();
        for (row, values) in rows.iter_mut().enumerate() {
            if row == pivot {
                values.copy_from_slice(&scaled);
                continue;
            }
            let factor = values[pivot];
            for (value, scaled) in values.iter_mut().zip(&scaled) {
                *value = *value - *scaled * factor;
            }
        }
    }
    phase
}
