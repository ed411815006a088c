//! Systems on which error bars could be fooled: exchange that does not move, signals between communication points,
//! controllers with steps of their own, noise.

use cosimo_export::Version;

use super::Draft;
use super::building::{Method, TIGHT, USUAL, connect, draft, forms, modes};
use crate::network::{Block, Form, Network, Wire};
use crate::random::Random;

fn first_order(name: &str, rate: f64, start: f64) -> Block {
    Block::linear(name, &["u [1]"], &["y [1]"], [vec![-rate], vec![rate], vec![1.0]], vec![start])
}

/// Two components so stiff that each takes on what the other had: with steps that are too large nothing ever moves. They
/// drive a smooth loop in half of the cases.
pub(super) fn frozen(random: &mut Random) -> Draft {
    let step = random.log_between(2e-2, 0.2);
    let stiffness = random.log_between(20.0 / step, 1e6 / step);
    let leak = random.log_between(0.2, 2.0);
    let pair = |random: &mut Random, name: &str, start: f64| {
        // x' = k (u - x) - leak x
        let a = vec![-stiffness - leak * random.between(0.5, 1.5)];
        Block::linear(name, &["u [1]"], &["y [1]"], [a, vec![stiffness], vec![1.0]], vec![start])
    };
    let start = random.between(0.5, 2.0);
    let mut network = Network {
        blocks: vec![pair(random, "left", start), pair(random, "right", start)],
        ..Network::default()
    };
    network.wires.push(Wire { from: (0, 0), to: (1, 0), gain: 1.0 });
    network.wires.push(Wire { from: (1, 0), to: (0, 0), gain: 1.0 });
    if random.chance(0.5) {
        for name in ["c1", "c2"] {
            network.blocks.push(modes(random, name, [2, 1], [0.5, 2.0], [0.3, 2.0]));
        }
        for (from, to, gain) in [(2, (3, 0), 0.4), (3, (2, 0), -0.4), (0, (2, 1), 1.0), (1, (3, 1), 0.5)] {
            network.wires.push(Wire { from: (from, 0), to, gain });
        }
    }
    forms(random, &mut network, USUAL);
    let stop = random.between(0.5, 2.0) / leak;
    draft(network, stop.max(60.0 * step), &Method::plain(random, step))
}

/// A source that turns once or a few times between two communication points, and drives a loop.
pub(super) fn aliased(random: &mut Random) -> Draft {
    let step = random.log_between(1e-2, 0.1);
    let turns = random.whole(1, 4) as f64 / *random.one(&[1.0, 1.0, 2.0]);
    let near = if random.chance(0.5) { 0.0 } else { random.between(-1e-3, 1e-3) };
    let rate = std::f64::consts::TAU * turns * (1.0 + near) / step;
    let source = Block::linear(
        "source",
        &[],
        &["y [1]"],
        [vec![0.0, rate, -rate, 0.0], vec![], vec![1.0, 0.0]],
        vec![random.between(0.0, 1.0), random.between(0.5, 1.0)],
    );
    let mut network = Network { blocks: vec![source], ..Network::default() };
    let count = random.whole(1, 2);
    for place in 0..count {
        let (rates, inputs) = ([0.1 / step, 10.0 / step], if place + 1 < count { 2 } else { 1 });
        network.blocks.push(modes(random, &format!("c{}", place + 1), [inputs, 1], rates, [0.3, 2.0]));
    }
    network.wires.push(Wire { from: (0, 0), to: (1, 0), gain: 1.0 });
    if count == 2 {
        network.wires.push(Wire { from: (1, 0), to: (2, 0), gain: 0.4 });
        network.wires.push(Wire { from: (2, 0), to: (1, 1), gain: -0.4 });
    }
    forms(random, &mut network, TIGHT);
    draft(network, step * random.between(60.0, 400.0).ceil(), &Method::plain(random, step))
}

/// A sampled controller that holds a plant, natively or as an FMU.
pub(super) fn sampled(random: &mut Random) -> Draft {
    let sampling = random.log_between(1e-2, 0.1);
    let parts = random.whole(1, 4) as f64;
    let step = sampling / parts;
    let mut network = Network::default();
    let count = random.whole(1, 2);
    for place in 0..count {
        let sizes = [random.whole(1, 2), 1];
        let rates = [0.02 / sampling, 0.2 / sampling];
        network.blocks.push(modes(random, &format!("plant{}", place + 1), sizes, rates, [0.3, 2.0]));
    }
    // x(k+1) = share x(k) + (1 - share) gain u(k): a filtered proportional law.
    let share = random.between(0.0, 0.8);
    let controller = Block::linear(
        "controller",
        &["u [1]"],
        &["y [1]"],
        [vec![share], vec![1.0 - share], vec![-random.between(0.2, 0.8)]],
        vec![0.0],
    )
    .sampled(sampling);
    network.blocks.push(controller);
    connect(random, &mut network, 0.02 / sampling);
    // Sampled feedback is no part of what `connect` looks at.
    network.wires.iter_mut().for_each(|wire| wire.gain *= 0.7);
    forms(random, &mut network, USUAL);
    if parts == 1.0 && random.chance(0.5) {
        network.blocks[count].step = None;
    }
    let stop = sampling * random.between(50.0, 300.0).ceil();
    draft(network, stop, &Method::plain(random, step))
}

/// A source that jumps at each communication point, as noise does, and drives filters.
pub(super) fn noisy(random: &mut Random) -> Draft {
    let step = random.log_between(5e-3, 5e-2);
    let angles: Vec<f64> = (0..3).map(|_| random.between(0.5, 3.0)).collect();
    let mut a = vec![0.0; 36];
    for (place, angle) in angles.iter().enumerate() {
        // A rotation from two products, so that it keeps its length whatever the mathematics of the machine.
        let tangent = angle / 2.0;
        let (sine, cosine) = (
            2.0 * tangent / (1.0 + tangent * tangent),
            (1.0 - tangent * tangent) / (1.0 + tangent * tangent),
        );
        let at = |row: usize, column: usize| 6 * (2 * place + row) + 2 * place + column;
        (a[at(0, 0)], a[at(0, 1)], a[at(1, 0)], a[at(1, 1)]) = (cosine, sine, -sine, cosine);
    }
    let c = vec![0.6, 0.0, 0.8, 0.0, 1.0, 0.0];
    let source = Block::linear("noise", &[], &["y [1]"], [a, vec![], c], vec![1.0, 0.2, -0.3, 0.8, 0.1, 0.9])
        .sampled(step);
    let mut network = Network { blocks: vec![source], ..Network::default() };
    for place in 0..random.whole(1, 3) {
        let rate = random.log_between(0.02, 1.0) / step;
        network.blocks.push(first_order(&format!("filter{}", place + 1), rate, 0.0));
        network.wires.push(Wire { from: (place, 0), to: (place + 1, 0), gain: 1.0 });
    }
    forms(random, &mut network, USUAL);
    if random.chance(0.5) {
        let version = *random.one(&[Version::Two, Version::Three]);
        network.blocks[0].form = Form::Fmu(version, cosimo_export::Variant::Plain);
    }
    draft(network, step * random.between(80.0, 500.0).ceil(), &Method::plain(random, step))
}
