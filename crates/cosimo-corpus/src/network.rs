//! Linear components that are connected, as files that Cosimo reads and as one system with an exact solution.
//!
//! Between events x' = A x + B u + E h + drift and y = C x + D u + F h, where h are values that are held: outputs of
//! sampled controllers, the state of a relay, a level that rises.

use std::fmt::Write as _;

use cosimo_export::{Design, InterfaceType, Variant, Version};

use crate::matrix::Matrix;
use crate::truth::{Event, Rows, Truth};

/// How a component comes to Cosimo.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Form {
    /// With the exact flow.
    Native,
    /// With an integrator that keeps a tolerance.
    Tolerant(f64),
    /// An FMU for co-simulation with the exact flow.
    Fmu(Version, Variant),
    /// The same with an integrator that keeps a tolerance.
    TolerantFmu(Version, f64),
    /// An FMU for model exchange, integrated by Cosimo to a tolerance.
    Exchange(Version, f64),
}

impl Form {
    /// The tolerance of its solver; 0 is exact.
    pub fn tolerance(self) -> f64 {
        match self {
            Form::Native | Form::Fmu(..) => 0.0,
            Form::Tolerant(tolerance) | Form::TolerantFmu(_, tolerance) | Form::Exchange(_, tolerance) => {
                tolerance
            }
        }
    }

    /// For listings.
    pub fn name(self) -> String {
        let version = |version: Version| version.text().trim_end_matches(".0").to_owned();
        match self {
            Form::Native => "native".into(),
            Form::Tolerant(_) => "native-tol".into(),
            Form::Fmu(of, Variant::Plain) => format!("cs{}", version(of)),
            Form::Fmu(of, variant) => format!("cs{}-{}", version(of), variant.text()),
            Form::TolerantFmu(of, _) => format!("cs{}-tol", version(of)),
            Form::Exchange(of, _) => format!("me{}", version(of)),
        }
    }
}

/// Values that are held between events.
#[derive(Debug, Clone, PartialEq)]
pub enum Held {
    None,
    /// x(k+1) = A x(k) + B u(k) + drift, shown from the next instant on.
    Sampled {
        step: f64,
    },
    /// 1 below `low`, 0 above `high`, of the first state; while it is 1 the state rises by `rise` per second.
    Relay {
        low: f64,
        high: f64,
        rise: f64,
    },
    /// Counts periods; the second output is the count times `rise`.
    Stair {
        period: f64,
        rise: f64,
    },
}

/// One component.
#[derive(Debug, Clone)]
pub struct Block {
    pub name: String,
    /// Names with units in brackets.
    pub inputs: Vec<String>,
    pub outputs: Vec<String>,
    pub a: Matrix,
    pub b: Matrix,
    pub c: Matrix,
    pub d: Matrix,
    pub x0: Vec<f64>,
    pub drift: Vec<f64>,
    pub held: Held,
    /// Own step.
    pub step: Option<f64>,
    pub form: Form,
    /// A native model other than `native:linear`, with parameters.
    pub model: Option<(&'static str, Vec<(&'static str, f64)>)>,
}

impl Block {
    /// Without inputs, outputs and states.
    pub fn new(name: &str) -> Block {
        Block {
            name: name.into(),
            inputs: vec![],
            outputs: vec![],
            a: Matrix::zero(0, 0),
            b: Matrix::zero(0, 0),
            c: Matrix::zero(0, 0),
            d: Matrix::zero(0, 0),
            x0: vec![],
            drift: vec![],
            held: Held::None,
            step: None,
            form: Form::Native,
            model: None,
        }
    }

    /// From ports and matrices, row by row; D and drift are zero.
    pub fn linear(
        name: &str,
        inputs: &[&str],
        outputs: &[&str],
        [a, b, c]: [Vec<f64>; 3],
        x0: Vec<f64>,
    ) -> Block {
        let (n, m, p) = (x0.len(), inputs.len(), outputs.len());
        Block {
            inputs: inputs.iter().map(|name| (*name).to_owned()).collect(),
            outputs: outputs.iter().map(|name| (*name).to_owned()).collect(),
            a: Matrix::of(n, n, a),
            b: Matrix::of(n, m, b),
            c: Matrix::of(p, n, c),
            d: Matrix::zero(p, m),
            drift: vec![0.0; n],
            x0,
            ..Block::new(name)
        }
    }

    pub fn with_d(mut self, d: Vec<f64>) -> Block {
        self.d = Matrix::of(self.outputs.len(), self.inputs.len(), d);
        self
    }

    pub fn sampled(mut self, step: f64) -> Block {
        self.held = Held::Sampled { step };
        self.step = Some(step);
        self
    }

    fn states(&self) -> usize {
        if matches!(self.held, Held::Sampled { .. }) { 0 } else { self.x0.len() }
    }

    /// How many values it holds.
    fn held(&self) -> usize {
        match self.held {
            Held::None => 0,
            Held::Sampled { .. } => self.outputs.len(),
            Held::Relay { .. } | Held::Stair { .. } => 1,
        }
    }

    fn port(&self, side: &[String], place: usize) -> String {
        format!("{}.{}", self.name, plain(&side[place]))
    }
}

/// A name without its unit.
fn plain(name: &str) -> &str {
    name.split('[').next().unwrap_or(name).trim()
}

/// From an output to an input, each by component and place.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Wire {
    pub from: (usize, usize),
    pub to: (usize, usize),
    pub gain: f64,
}

/// A power bond: an effort goes from `effort` to its input, a flow the other way. Carried by two wires that are in no list.
#[derive(Debug, Clone, PartialEq)]
pub struct Bond {
    pub name: String,
    /// The component whose effort is an output, with that output and its input for the flow.
    pub effort: (usize, usize, usize),
    /// The component whose flow is an output, with that output and its input for the effort.
    pub flow: (usize, usize, usize),
}

/// Connected components.
#[derive(Debug, Clone, Default)]
pub struct Network {
    pub blocks: Vec<Block>,
    pub wires: Vec<Wire>,
    pub bonds: Vec<Bond>,
}

/// The whole system between events: z' = M z with z = (x, h, 1), y = Y z, u = U z.
struct Assembled {
    m: Matrix,
    y: Matrix,
    u: Matrix,
    start: Vec<f64>,
    /// Per block: where its states and held values are in z, and its outputs and inputs in y and u.
    states: Vec<usize>,
    held: Vec<usize>,
    outputs: Vec<usize>,
    inputs: Vec<usize>,
}

fn places(sizes: impl Iterator<Item = usize>, from: usize) -> Vec<usize> {
    let mut all = vec![from];
    sizes.for_each(|size| all.push(all[all.len() - 1] + size));
    all
}

impl Network {
    /// All signals: wires and those of bonds.
    fn all_wires(&self) -> Vec<Wire> {
        let of_bond = |bond: &Bond| {
            let ((a, effort, flow_in), (b, flow, effort_in)) = (bond.effort, bond.flow);
            [
                Wire { from: (a, effort), to: (b, effort_in), gain: 1.0 },
                Wire { from: (b, flow), to: (a, flow_in), gain: 1.0 },
            ]
        };
        self.wires.iter().copied().chain(self.bonds.iter().flat_map(of_bond)).collect()
    }

    fn assembled(&self) -> Result<Assembled, String> {
        let states = places(self.blocks.iter().map(Block::states), 0);
        let held = places(self.blocks.iter().map(Block::held), states[self.blocks.len()]);
        let outputs = places(self.blocks.iter().map(|block| block.outputs.len()), 0);
        let inputs = places(self.blocks.iter().map(|block| block.inputs.len()), 0);
        let end = self.blocks.len();
        let (size, p, m) = (held[end] + 1, outputs[end], inputs[end]);
        let mut parts = [(size, size), (size, m), (p, size), (p, m), (m, p)].map(|(r, c)| Matrix::zero(r, c));
        let [a, b, c, d, k] = &mut parts;
        let mut start = vec![0.0; size];
        start[size - 1] = 1.0;
        for (place, block) in self.blocks.iter().enumerate() {
            let (x, h, y, u) = (states[place], held[place], outputs[place], inputs[place]);
            if let Held::Sampled { .. } = block.held {
                let first = block.c.apply(&block.x0);
                for output in 0..block.outputs.len() {
                    *c.at(y + output, h + output) = 1.0;
                    start[h + output] = first[output];
                }
                continue;
            }
            for row in 0..block.x0.len() {
                start[x + row] = block.x0[row];
                *a.at(x + row, size - 1) = block.drift[row];
                (0..block.x0.len()).for_each(|column| *a.at(x + row, x + column) = block.a.get(row, column));
                (0..block.inputs.len()).for_each(|input| *b.at(x + row, u + input) = block.b.get(row, input));
            }
            for output in 0..block.outputs.len() {
                (0..block.x0.len()).for_each(|row| *c.at(y + output, x + row) = block.c.get(output, row));
                (0..block.inputs.len())
                    .for_each(|input| *d.at(y + output, u + input) = block.d.get(output, input));
            }
            match block.held {
                Held::Relay { low, rise, .. } => {
                    *a.at(x, h) = rise;
                    *c.at(y + block.outputs.len() - 1, h) = 1.0;
                    start[h] = f64::from(u8::from(block.x0[0] <= low));
                }
                Held::Stair { rise, .. } => {
                    *c.at(y, h) = 1.0;
                    *c.at(y + 1, h) = rise;
                }
                Held::None | Held::Sampled { .. } => {}
            }
        }
        for wire in self.all_wires() {
            *k.at(inputs[wire.to.0] + wire.to.1, outputs[wire.from.0] + wire.from.1) += wire.gain;
        }
        let loops = Matrix::identity(p).plus(-1.0, &d.times(k));
        let y = loops.solve(c).ok_or("the outputs depend on themselves in a way that has no solution")?;
        let u = k.times(&y);
        Ok(Assembled { m: a.plus(1.0, &b.times(&u)), y, u, start, states, held, outputs, inputs })
    }

    /// The largest modulus by which anything moves after a long time, relative to the start: above 1 it is unstable.
    pub fn growth(&self, time: f64) -> f64 {
        let Ok(assembled) = self.assembled() else { return f64::INFINITY };
        let states = assembled.states[self.blocks.len()];
        let flow = assembled.m.exponential(time);
        let row = |row: usize| (0..states).map(|column| flow.get(row, column).abs()).sum::<f64>();
        let largest = (0..states).map(row).fold(0.0, f64::max);
        if largest.is_nan() { f64::INFINITY } else { largest }
    }

    /// The sections of components and connections, and the FMUs that they need.
    pub fn text(&self) -> (String, Vec<(String, Design)>) {
        let (mut text, mut designs) = (String::new(), Vec::new());
        for block in &self.blocks {
            let (source, parameters) = block.source(&mut designs);
            let _ = writeln!(text, "[component.{}]\nsource = \"{source}\"", block.name);
            if let Some(step) = block.step {
                let _ = writeln!(text, "step = {step:?}");
            }
            if !parameters.is_empty() {
                let _ = writeln!(text, "parameters = {{ {} }}", parameters.join(", "));
            }
            text.push('\n');
        }
        let mut inputs: Vec<(usize, usize)> = self.wires.iter().map(|wire| wire.to).collect();
        inputs.sort_unstable();
        inputs.dedup();
        for to in inputs {
            let from = self.wires.iter().filter(|wire| wire.to == to).map(|wire| {
                let block = &self.blocks[wire.from.0];
                format!(
                    "{{ port = \"{}\", gain = {:?} }}",
                    block.port(&block.outputs, wire.from.1),
                    wire.gain
                )
            });
            let from: Vec<String> = from.collect();
            let block = &self.blocks[to.0];
            let _ = writeln!(
                text,
                "[[connection]]\nfrom = [{}]\nto = \"{}\"\nconvert = false\n",
                from.join(", "),
                block.port(&block.inputs, to.1)
            );
        }
        for bond in &self.bonds {
            let ((a, effort, flow_in), (b, flow, effort_in)) = (bond.effort, bond.flow);
            let (a, b) = (&self.blocks[a], &self.blocks[b]);
            let _ = writeln!(
                text,
                "[[bond]]\nname = \"{}\"\na = {{ effort = \"{}\", flow = \"{}\" }}\nb = {{ effort = \"{}\", flow = \"{}\" }}\n",
                bond.name,
                a.port(&a.outputs, effort),
                a.port(&a.inputs, flow_in),
                b.port(&b.inputs, effort_in),
                b.port(&b.outputs, flow),
            );
        }
        (text, designs)
    }
}

impl Block {
    /// Its source, and its parameters as in a file.
    fn source(&self, designs: &mut Vec<(String, Design)>) -> (String, Vec<String>) {
        let mut parameters = Vec::new();
        let (native, mut choices) = match &self.model {
            Some((model, values)) => {
                parameters.extend(values.iter().map(|(name, value)| format!("{name} = {value:?}")));
                ((*model).to_owned(), Vec::new())
            }
            None => ("native:linear".to_owned(), self.matrices()),
        };
        let tolerance = self.form.tolerance();
        let (version, kind, variant) = match self.form {
            Form::Native | Form::Tolerant(_) => {
                if tolerance > 0.0 {
                    parameters.extend([
                        "solver = \"bdf\"".into(),
                        format!("relative = {tolerance:?}"),
                        format!("absolute = {tolerance:?}"),
                    ]);
                }
                parameters
                    .extend(choices.iter().map(|(name, word)| format!("{name} = {}", in_file(name, word))));
                return (native, parameters);
            }
            Form::Fmu(version, variant) => (version, InterfaceType::CoSimulation, variant),
            Form::TolerantFmu(version, _) => {
                choices.push(("solver".into(), "bdf".into()));
                parameters.extend([format!("relative = {tolerance:?}"), format!("absolute = {tolerance:?}")]);
                (version, InterfaceType::CoSimulation, Variant::Plain)
            }
            Form::Exchange(version, _) => {
                parameters.push(format!("\"cosimo.relative\" = {tolerance:?}"));
                parameters.push(format!("\"cosimo.absolute\" = {tolerance:?}"));
                (version, InterfaceType::ModelExchange, Variant::Plain)
            }
        };
        let mut design = Design::new(&native, version).kind(kind).variant(variant);
        design.choices = choices;
        let file = design.file_name();
        designs.push((file.clone(), design));
        (file, parameters)
    }

    /// As choices of a design.
    fn matrices(&self) -> Vec<(String, String)> {
        let mut all = Vec::new();
        let mut add = |name: &str, text: String| {
            if !text.is_empty() {
                all.push((name.to_owned(), text));
            }
        };
        add("inputs", self.inputs.join(", "));
        add("outputs", self.outputs.join(", "));
        for (name, matrix) in [("A", &self.a), ("B", &self.b), ("C", &self.c), ("D", &self.d)] {
            if matrix.values.iter().any(|value| *value != 0.0) || name != "D" {
                add(name, spaced(matrix));
            }
        }
        for (name, column) in [("x0", &self.x0), ("drift", &self.drift)] {
            if column.iter().any(|value| *value != 0.0) {
                add(name, spaced(&Matrix::of(1, column.len(), column.clone())));
            }
        }
        if let Held::Sampled { .. } = self.held {
            add("sampled", "true".into());
        }
        all
    }
}

fn spaced(matrix: &Matrix) -> String {
    let row = |row: &[f64]| row.iter().map(|value| format!("{value:?}")).collect::<Vec<_>>().join(" ");
    if matrix.values.is_empty() {
        return String::new();
    }
    matrix.values.chunks(matrix.columns).map(row).collect::<Vec<_>>().join("; ")
}

/// The choice of a design as a system file has it.
fn in_file(name: &str, word: &str) -> String {
    match name {
        "inputs" | "outputs" => {
            let names: Vec<String> = word.split(", ").map(|name| format!("\"{name}\"")).collect();
            format!("[{}]", names.join(", "))
        }
        "sampled" => word.into(),
        _ => {
            let row = |row: &str| format!("[{}]", row.split_whitespace().collect::<Vec<_>>().join(", "));
            let rows: Vec<String> = word.split(';').map(row).collect();
            format!("[{}]", rows.join(", "))
        }
    }
}

/// A rounded instant is at an event if it is this close, relative to the period.
const MEETS: f64 = 1e-7;

impl Truth for Network {
    fn names(&self) -> Vec<String> {
        let names = |block: &Block| {
            (0..block.outputs.len()).map(|at| block.port(&block.outputs, at)).collect::<Vec<_>>()
        };
        self.blocks.iter().flat_map(names).collect()
    }

    fn rows(&self, instants: &[f64]) -> Result<Rows, String> {
        let system = self.assembled()?;
        let mut sweep = Sweep {
            now: instants.first().copied().unwrap_or(0.0),
            z: system.start.clone(),
            flows: Vec::new(),
            ticks: vec![0; self.blocks.len()],
            next: self.blocks.iter().map(|block| block.x0.clone()).collect(),
            origin: instants.first().copied().unwrap_or(0.0),
            events: Vec::new(),
            system: &system,
            network: self,
        };
        // Controllers see their inputs at the start, too.
        sweep.tick(true);
        let mut values = Vec::with_capacity(instants.len());
        for &instant in instants {
            sweep.to(instant);
            values.push(system.y.apply(&sweep.z));
        }
        Ok(Rows { values, events: sweep.events })
    }
}

/// The solution on its way.
struct Sweep<'a> {
    network: &'a Network,
    system: &'a Assembled,
    origin: f64,
    now: f64,
    z: Vec<f64>,
    /// Exponentials for spans of time.
    flows: Vec<(f64, Matrix)>,
    /// Per block: how many of its instants have passed.
    ticks: Vec<u64>,
    /// Of sampled controllers: their states, not yet shown.
    next: Vec<Vec<f64>>,
    events: Vec<Event>,
}

impl Sweep<'_> {
    fn flow(&mut self, span: f64) -> &Matrix {
        let known = self.flows.iter().position(|(known, _)| (known - span).abs() <= 1e-12 * span);
        let place = known.unwrap_or_else(|| {
            if self.flows.len() > 64 {
                self.flows.remove(0);
            }
            self.flows.push((span, self.system.m.exponential(span)));
            self.flows.len() - 1
        });
        &self.flows[place].1
    }

    fn period(&self, block: usize) -> Option<f64> {
        match self.network.blocks[block].held {
            Held::Sampled { step } => Some(step),
            Held::Stair { period, .. } => Some(period),
            Held::None | Held::Relay { .. } => None,
        }
    }

    /// The next known instant, and the tolerance to meet it.
    fn known(&self) -> (f64, f64) {
        let of = |block: usize| {
            let period = self.period(block)?;
            Some((self.origin + (self.ticks[block] + 1) as f64 * period, MEETS * period))
        };
        let all = (0..self.network.blocks.len()).filter_map(of);
        all.min_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or((f64::INFINITY, 0.0))
    }

    fn to(&mut self, instant: f64) {
        loop {
            let (event, near) = self.known();
            if event > instant + near {
                break;
            }
            self.glide(event);
            self.tick(false);
        }
        self.glide(instant);
    }

    /// Without known events, but relays may switch.
    fn glide(&mut self, to: f64) {
        while to > self.now {
            let span = to - self.now;
            let flow = self.flow(span).clone();
            let end = flow.apply(&self.z);
            let Some(block) = (0..self.network.blocks.len()).find(|block| self.guard(*block, &end) < 0.0)
            else {
                (self.z, self.now) = (end, to);
                return;
            };
            let (mut low, mut high) = (0.0, span);
            for _ in 0..60 {
                let middle = 0.5 * (low + high);
                let state = self.system.m.exponential(middle).apply(&self.z);
                if self.guard(block, &state) < 0.0 { high = middle } else { low = middle }
            }
            self.z = self.system.m.exponential(high).apply(&self.z);
            self.now += high;
            let before = self.system.y.apply(&self.z);
            let held = self.system.held[block];
            self.z[held] = 1.0 - self.z[held];
            self.note(before, true);
        }
    }

    /// Negative where a relay has to switch.
    fn guard(&self, block: usize, z: &[f64]) -> f64 {
        let Held::Relay { low, high, .. } = self.network.blocks[block].held else { return f64::INFINITY };
        let (state, on) = (z[self.system.states[block]], self.z[self.system.held[block]]);
        if on == 0.0 { state - low } else { high - state }
    }

    /// All that happens at the present instant: first what was computed is shown, then inputs are seen.
    fn tick(&mut self, start: bool) {
        let before = self.system.y.apply(&self.z);
        let mut due = Vec::new();
        for block in 0..self.network.blocks.len() {
            let Some(period) = self.period(block) else { continue };
            let at = self.origin + (self.ticks[block] + 1) as f64 * period;
            if start || (at - self.now).abs() <= MEETS * period {
                due.push(block);
            }
        }
        if !start {
            for &block in &due {
                self.ticks[block] += 1;
                let held = self.system.held[block];
                match &self.network.blocks[block].held {
                    Held::Sampled { .. } => {
                        let shown = self.network.blocks[block].c.apply(&self.next[block]);
                        self.z[held..held + shown.len()].copy_from_slice(&shown);
                    }
                    _ => self.z[held] += 1.0,
                }
            }
            self.note(before, false);
        }
        let inputs = self.system.u.apply(&self.z);
        for &block in &due {
            let of = &self.network.blocks[block];
            if let Held::Sampled { .. } = of.held {
                let u = &inputs[self.system.inputs[block]..][..of.inputs.len()];
                let (own, driven) = (of.a.apply(&self.next[block]), of.b.apply(u));
                self.next[block] = own
                    .iter()
                    .zip(&driven)
                    .zip(&of.drift)
                    .map(|((own, driven), drift)| own + driven + drift)
                    .collect();
            }
        }
    }

    fn note(&mut self, before: Vec<f64>, found: bool) {
        let after = self.system.y.apply(&self.z);
        debug_assert_eq!(after.len(), self.system.outputs[self.network.blocks.len()]);
        if before != after {
            self.events.push(Event { time: self.now, found, before, after });
        }
    }
}
