//! What the classes have in common: components, methods, forms.

use std::fmt::Write as _;

use cosimo_export::{Variant, Version};

use super::Draft;
use crate::matrix::Matrix;
use crate::network::{Block, Form, Network, Wire};
use crate::random::Random;

/// A coupling method and a step, as a file has them.
pub(crate) struct Method {
    pub(crate) text: String,
}

impl Method {
    /// Steps of one size, with a method that is drawn.
    pub(crate) fn fixed(random: &mut Random, step: f64) -> Method {
        let keys = match random.whole(0, 7) {
            0 => "schedule = \"jacobi\"\ninput = \"hold\"",
            1 | 2 => "schedule = \"jacobi\"\ninput = \"linear\"",
            3 => "schedule = \"gauss-seidel\"\ninput = \"hold\"",
            4 => "schedule = \"gauss-seidel\"\ninput = \"linear\"",
            5 => "schedule = \"jacobi\"\ninput = \"hold\"\ncorrection = \"nepce\"",
            6 => "schedule = \"jacobi\"\ninput = \"quadratic\"",
            _ => "schedule = \"gauss-seidel\"\ninput = \"quadratic\"",
        };
        Method { text: format!("{keys}\nstep = {{ size = {step:?} }}\n") }
    }

    /// Steps of one size, inputs held or linear.
    pub(crate) fn plain(random: &mut Random, step: f64) -> Method {
        let schedule = random.one(&["jacobi", "gauss-seidel"]);
        let input = random.one(&["hold", "linear"]);
        Method {
            text: format!("schedule = \"{schedule}\"\ninput = \"{input}\"\nstep = {{ size = {step:?} }}\n"),
        }
    }

    /// Steps that an estimate controls.
    pub(crate) fn controlled(random: &mut Random, step: f64) -> Method {
        let tolerance = random.log_between(1e-5, 1e-3);
        let law = random.one(&["i", "pi"]);
        let input = random.one(&["hold", "linear"]);
        Method {
            text: format!(
                "schedule = \"jacobi\"\ninput = \"{input}\"\nstep = {{ estimate = \"predictor-corrector\", controller = \"{law}\", tolerance = {tolerance:?}, size = {step:?}, min = {:?}, max = {:?} }}\n",
                step / 30.0,
                step * 4.0
            ),
        }
    }
}

/// Relative tolerances of solvers inside components, which begin anew in each step, so that each step adds to the error; and
/// those for signals that turn often.
pub(crate) const USUAL: [f64; 2] = [1e-9, 1e-7];
pub(crate) const TIGHT: [f64; 2] = [1e-10, 1e-8];

/// A form for each component; all alike, or mixed.
pub(crate) fn forms(random: &mut Random, network: &mut Network, tolerances: [f64; 2]) {
    let mixed = random.chance(0.4);
    let one = form(random, tolerances);
    for block in network.blocks.iter_mut().filter(|block| block.model.is_none()) {
        let stateless = block.x0.is_empty() || block.step.is_some();
        block.form = if mixed { form(random, tolerances) } else { one };
        if stateless && !matches!(block.form, Form::Fmu(..)) {
            block.form = Form::Native;
        }
    }
}

fn form(random: &mut Random, tolerances: [f64; 2]) -> Form {
    let version = *random.one(&[Version::Two, Version::Three]);
    let tolerance = random.log_between(tolerances[0], tolerances[1]);
    match random.whole(0, 11) {
        0..=3 => Form::Native,
        4 => Form::Tolerant(tolerance),
        5 | 6 => Form::Fmu(version, Variant::Plain),
        7 if version == Version::Two => Form::Fmu(version, Variant::Interpolates),
        7 => Form::Fmu(version, Variant::Intermediate),
        8 | 9 => Form::TolerantFmu(version, tolerance),
        _ => Form::Exchange(version, tolerance),
    }
}

/// A system file of a network.
pub(crate) fn draft(network: Network, stop: f64, method: &Method) -> Draft {
    let mut text = format!("[experiment]\nstop = {stop:?}\n\n");
    let (of_network, designs) = network.text();
    text += &of_network;
    let _ = write!(text, "[method]\n{}", method.text);
    let mut forms: Vec<String> = network.blocks.iter().map(|block| block.form.name()).collect();
    forms.dedup();
    let tolerance = network.blocks.iter().map(|block| block.form.tolerance()).fold(0.0, f64::max);
    Draft { text, designs, truth: Box::new(network), forms: forms.join("+"), tolerance }
}

/// A stable component with modes whose rates are between two limits.
pub(crate) fn modes(
    random: &mut Random,
    name: &str,
    [inputs, outputs]: [usize; 2],
    rates: [f64; 2],
    damping: [f64; 2],
) -> Block {
    let states = random.whole(1, 3);
    let mut a = Matrix::zero(states, states);
    let mut scale = vec![0.0; states];
    let mut row = 0;
    while row < states {
        let rate = random.log_between(rates[0], rates[1]);
        if row + 1 < states && random.chance(0.5) {
            let ratio = random.log_between(damping[0], damping[1]).min(1.0);
            *a.at(row, row + 1) = rate;
            *a.at(row + 1, row) = -rate;
            *a.at(row + 1, row + 1) = -2.0 * ratio * rate;
            scale[row + 1] = rate;
            row += 2;
        } else {
            *a.at(row, row) = -rate;
            scale[row] = rate;
            row += 1;
        }
    }
    let mut b = Matrix::zero(states, inputs);
    for row in 0..states {
        (0..inputs)
            .for_each(|input| *b.at(row, input) = scale[row] * random.sign() * random.between(0.3, 1.0));
    }
    let mut c = Matrix::zero(outputs, states);
    c.values.iter_mut().for_each(|value| *value = random.sign() * random.between(0.2, 1.0));
    let still = random.chance(0.4);
    let x0 = (0..states).map(|_| if still { 0.0 } else { random.between(-1.0, 1.0) }).collect();
    let drift = scale.iter().map(|rate| if still { rate * random.between(-1.0, 1.0) } else { 0.0 }).collect();
    let letters: [&str; 6] = ["N", "m/s", "V", "A", "1", "K"];
    let port = |letter: &str, place: usize, unit: &str| format!("{letter}{} [{unit}]", place + 1);
    Block {
        inputs: (0..inputs).map(|place| port("u", place, "1")).collect(),
        outputs: (0..outputs).map(|place| port("y", place, letters[random.whole(0, 5)])).collect(),
        a,
        b,
        c,
        d: Matrix::zero(outputs, inputs),
        x0,
        drift,
        ..Block::new(name)
    }
}

/// Connects components in a ring with further wires, with gains for which the whole is stable.
pub(crate) fn connect(random: &mut Random, network: &mut Network, slowest: f64) {
    let count = network.blocks.len();
    for to in 0..count {
        for input in 0..network.blocks[to].inputs.len() {
            let from = if input == 0 { (to + count - 1) % count } else { random.whole(0, count - 1) };
            let from = if from == to { (to + 1) % count } else { from };
            if network.blocks[from].outputs.is_empty() {
                continue;
            }
            let output = random.whole(0, network.blocks[from].outputs.len() - 1);
            let gain = random.sign() * random.between(0.3, 1.5);
            network.wires.push(Wire { from: (from, output), to: (to, input), gain });
        }
    }
    calm(network, slowest);
}

/// Lowers the gains until the whole is stable.
pub(crate) fn calm(network: &mut Network, slowest: f64) {
    while network.growth(30.0 / slowest) > 0.5 {
        network.wires.iter_mut().for_each(|wire| wire.gain *= 0.8);
    }
}
