//! Linear systems: smooth ones, oscillators, stiff ones.

use super::Draft;
use super::building::{Method, TIGHT, USUAL, calm, connect, draft, forms, modes};
use crate::matrix::Matrix;
use crate::network::{Block, Bond, Network, Wire};
use crate::random::Random;

fn ring(random: &mut Random, count: usize, rates: [f64; 2], damping: [f64; 2]) -> Network {
    let mut network = Network::default();
    for place in 0..count {
        let sizes = [random.whole(1, 2), random.whole(1, 2)];
        network.blocks.push(modes(random, &format!("c{}", place + 1), sizes, rates, damping));
    }
    if random.chance(0.25) {
        // Direct feed-through in one component only, so that there is no algebraic loop.
        let block = random.whole(0, count - 1);
        let size = network.blocks[block].d.values.len();
        let d = (0..size).map(|_| random.between(-0.5, 0.5)).collect();
        network.blocks[block] = network.blocks[block].clone().with_d(d);
    }
    connect(random, &mut network, rates[0]);
    forms(random, &mut network, USUAL);
    network
}

pub(super) fn smooth(random: &mut Random) -> Draft {
    let count = random.whole(2, 6);
    let network = ring(random, count, [0.5, 5.0], [0.2, 2.0]);
    let step = random.log_between(2e-3, 0.1);
    let stop = (random.between(5.0, 15.0)).min(3000.0 * step).max(60.0 * step);
    let method =
        if random.chance(0.2) { Method::controlled(random, step) } else { Method::fixed(random, step) };
    draft(network, stop, &method)
}

/// Masses on springs to a wall, with springs and dampers between them as components of their own.
fn chain(random: &mut Random, damping: [f64; 2]) -> Network {
    let mut network = Network::default();
    let masses = random.whole(2, 3);
    let rate = random.log_between(0.5, 2.0);
    for place in 0..masses {
        let (mass, frequency) = (random.log_between(0.2, 5.0), rate * random.log_between(0.5, 2.0));
        let share = random.log_between(damping[0], damping[1]);
        let inputs =
            if place == 0 || place + 1 == masses { vec!["F1 [N]"] } else { vec!["F1 [N]", "F2 [N]"] };
        let mut b = vec![0.0; inputs.len()];
        b.extend(vec![1.0 / mass; inputs.len()]);
        let a = vec![0.0, 1.0, -frequency * frequency, -2.0 * share * frequency];
        let start = vec![random.between(-1.0, 1.0), random.between(-1.0, 1.0)];
        let parts = [a, b, vec![0.0, 1.0, 1.0, 0.0]];
        network.blocks.push(Block::linear(
            &format!("m{}", place + 1),
            &inputs,
            &["v [m/s]", "x [m]"],
            parts,
            start,
        ));
    }
    for place in 0..masses - 1 {
        // F = k d + c (v1 - v2), d' = v1 - v2; it pushes the second mass and pulls the first.
        let (stiffness, resistance) =
            (random.log_between(0.1, 2.0), random.log_between(damping[0], damping[1]));
        let parts = [vec![0.0], vec![1.0, -1.0], vec![stiffness]];
        let gap = network.blocks[place].x0[0] - network.blocks[place + 1].x0[0];
        let spring = Block::linear(
            &format!("s{}", place + 1),
            &["v1 [m/s]", "v2 [m/s]"],
            &["F [N]"],
            parts,
            vec![gap],
        );
        let spring = if random.chance(0.5) { spring.with_d(vec![resistance, -resistance]) } else { spring };
        let own = network.blocks.len();
        network.blocks.push(spring);
        network.bonds.push(Bond {
            name: format!("b{}", place + 1),
            effort: (own, 0, 1),
            flow: (place + 1, 0, 0),
        });
        let input = network.blocks[place].inputs.len() - 1;
        network.wires.push(Wire { from: (own, 0), to: (place, input), gain: -1.0 });
        network.wires.push(Wire { from: (place, 0), to: (own, 0), gain: 1.0 });
    }
    network
}

pub(super) fn oscillators(random: &mut Random) -> Draft {
    let mut network = chain(random, [0.01, 0.3]);
    forms(random, &mut network, USUAL);
    let step = random.log_between(2e-3, 0.1);
    let stop = random.between(10.0, 30.0).min(3000.0 * step).max(80.0 * step);
    let method =
        if random.chance(0.2) { Method::controlled(random, step) } else { Method::fixed(random, step) };
    draft(network, stop, &method)
}

pub(super) fn long(random: &mut Random) -> Draft {
    let mut network = chain(random, [1e-3, 1e-2]);
    forms(random, &mut network, TIGHT);
    let step = random.log_between(5e-3, 4e-2);
    let stop = step * random.between(4000.0, 9000.0);
    draft(network, stop, &Method::fixed(random, step))
}

pub(super) fn fast_start(random: &mut Random) -> Draft {
    let count = random.whole(2, 4);
    let mut network = ring(random, count, [0.5, 4.0], [0.3, 2.0]);
    let step = random.log_between(5e-3, 5e-2);
    // A mode that is over within the first windows.
    for block in &mut network.blocks {
        block.x0.fill(0.0);
        let rate = random.log_between(0.2, 30.0) / step;
        let state = random.whole(0, block.x0.len() - 1);
        let old = block.a.get(state, state);
        if old != 0.0 {
            let factor = rate / old.abs();
            for column in 0..block.x0.len() {
                *block.a.at(state, column) *= factor;
            }
            for input in 0..block.inputs.len() {
                *block.b.at(state, input) *= factor;
            }
            block.drift[state] = rate * random.between(-1.0, 1.0);
        }
        for state in 0..block.x0.len() {
            if block.drift[state] == 0.0 && block.a.get(state, state) != 0.0 {
                block.drift[state] = block.a.get(state, state).abs() * random.between(-1.0, 1.0);
            }
        }
    }
    calm(&mut network, 0.5);
    let stop = random.between(4.0, 10.0).max(80.0 * step);
    draft(network, stop, &Method::plain(random, step))
}

pub(super) fn stiff(random: &mut Random) -> Draft {
    let count = random.whole(2, 4);
    let step = random.log_between(2e-3, 5e-2);
    let mut network = Network::default();
    for place in 0..count {
        let name = format!("c{}", place + 1);
        let sizes = [random.whole(1, 2), random.whole(1, 2)];
        let rates = if place % 2 == 0 { [0.5, 4.0] } else { [0.5, 1000.0 / step] };
        network.blocks.push(modes(random, &name, sizes, rates, [0.3, 2.0]));
    }
    connect(random, &mut network, 0.5);
    forms(random, &mut network, USUAL);
    let stop = random.between(4.0, 10.0).max(80.0 * step);
    let method =
        if random.chance(0.2) { Method::controlled(random, step) } else { Method::plain(random, step) };
    draft(network, stop, &method)
}

pub(super) fn multi_rate(random: &mut Random) -> Draft {
    let count = random.whole(2, 4);
    let mut network = ring(random, count, [0.5, 5.0], [0.2, 2.0]);
    let step = random.log_between(4e-3, 5e-2);
    let own = random.whole(0, count - 1);
    let parts = random.whole(2, 5) as f64;
    network.blocks[own].step = Some(if random.chance(0.5) { step / parts } else { step * parts });
    let stop = step * (random.between(60.0, 600.0) / 20.0).ceil() * 20.0;
    draft(network, stop, &Method::plain(random, step))
}

/// Two ways from a source to a mass that cancel each other: what arrives is nothing but the error.
pub(super) fn zero_power(random: &mut Random) -> Draft {
    let (slow, fast) = (random.log_between(0.5, 2.0), random.log_between(1.0, 4.0));
    let (frequency, mass) = (random.log_between(0.5, 2.0), random.log_between(0.2, 5.0));
    let source = Block::linear(
        "source",
        &[],
        &["F [N]", "v [m/s]"],
        [vec![0.0, frequency, -frequency, -0.1], vec![], vec![1.0, 0.0, 0.0, 1.0]],
        vec![random.between(0.5, 2.0), 0.0],
    );
    let whole = Block::linear(
        "whole",
        &["u [N]"],
        &["F [N]"],
        [vec![-slow, 0.0, fast, -fast], vec![slow, 0.0], vec![0.0, 1.0]],
        vec![0.0, 0.0],
    );
    let first = |name: &str, rate: f64| {
        Block::linear(name, &["u [N]"], &["F [N]"], [vec![-rate], vec![rate], vec![1.0]], vec![0.0])
    };
    // It adds both ways: the sum is a force on the mass, whose velocity it feels.
    let resistance = random.log_between(0.1, 1.0);
    let sum = Block {
        inputs: ["plus [N]", "minus [N]", "v [m/s]"].map(str::to_owned).to_vec(),
        outputs: vec!["F [N]".into()],
        d: Matrix::zero(1, 3),
        ..Block::linear("sum", &[], &[], [vec![], vec![], vec![]], vec![])
    };
    let mut sum = sum;
    sum.d = Matrix::of(1, 3, vec![1.0, -1.0, -resistance]);
    sum.c = Matrix::zero(1, 0);
    let body = Block::linear(
        "mass",
        &["F [N]"],
        &["v [m/s]", "x [m]"],
        [vec![-0.2 / mass, -1.0 / mass, 1.0, 0.0], vec![1.0 / mass, 0.0], vec![1.0, 0.0, 0.0, 1.0]],
        vec![0.0, 0.0],
    );
    let place =
        Block::linear("place", &["v [m/s]"], &["x [m]"], [vec![-0.3], vec![1.0], vec![1.0]], vec![1.0]);
    let mut network = Network {
        blocks: vec![source, whole, first("lag1", slow), first("lag2", fast), sum, body, place],
        wires: Vec::new(),
        bonds: vec![Bond { name: "nothing".into(), effort: (4, 0, 2), flow: (5, 0, 0) }],
    };
    for (from, to) in [
        ((0, 0), (1, 0)),
        ((0, 0), (2, 0)),
        ((2, 0), (3, 0)),
        ((1, 0), (4, 0)),
        ((3, 0), (4, 1)),
        ((0, 1), (6, 0)),
    ] {
        network.wires.push(Wire { from, to, gain: 1.0 });
    }
    forms(random, &mut network, USUAL);
    let step = random.log_between(2e-3, 5e-2);
    let stop = random.between(8.0, 20.0).min(3000.0 * step).max(80.0 * step);
    draft(network, stop, &Method::fixed(random, step))
}
