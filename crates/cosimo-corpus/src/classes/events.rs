//! Relays and levels that rise: components with events, as FMUs for model exchange.

use cosimo_export::Version;

use super::Draft;
use super::building::{Method, USUAL, calm, draft, forms, modes};
use crate::matrix::Matrix;
use crate::network::{Block, Form, Held, Network, Wire};
use crate::random::Random;

pub(super) fn events(random: &mut Random) -> Draft {
    if random.chance(0.6) { rooms(random) } else { stair(random) }
}

fn exchange(random: &mut Random) -> Form {
    Form::Exchange(*random.one(&[Version::Two, Version::Three]), random.log_between(1e-8, 1e-6))
}

/// Rooms with heaters that relays switch, and a wall between them.
fn rooms(random: &mut Random) -> Draft {
    let mut network = Network::default();
    let count = random.whole(1, 2);
    let lag = random.log_between(50.0, 200.0);
    for place in 0..count {
        let conductance = random.log_between(5.0, 20.0);
        let (capacity, power) = (lag * conductance, conductance * random.between(25.0, 35.0));
        let low = random.between(292.0, 294.0);
        let high = low + random.between(1.0, 3.0);
        let start = random.between(286.0, 291.0);
        let about = vec![
            ("C", capacity),
            ("G", conductance),
            ("P", power),
            ("low", low),
            ("high", high),
            ("T0", start),
        ];
        network.blocks.push(Block {
            inputs: vec!["ambient [K]".into()],
            outputs: ["T [K]", "q [W]", "heating [1]"].map(str::to_owned).to_vec(),
            a: Matrix::of(1, 1, vec![-conductance / capacity]),
            b: Matrix::of(1, 1, vec![conductance / capacity]),
            c: Matrix::of(3, 1, vec![1.0, conductance, 0.0]),
            d: Matrix::of(3, 1, vec![0.0, -conductance, 0.0]),
            x0: vec![start],
            drift: vec![0.0],
            held: Held::Relay { low, high, rise: power / capacity },
            form: exchange(random),
            model: Some(("native:thermostat", about)),
            ..Block::new(&format!("room{}", place + 1))
        });
    }
    // C T' = sum of heat flows - G (T - T outside)
    let capacity = random.log_between(200.0, 4000.0);
    let outside = random.log_between(5.0, 30.0);
    let inputs: Vec<String> = (0..count).map(|place| format!("q{} [W]", place + 1)).collect();
    let inputs: Vec<&str> = inputs.iter().map(String::as_str).collect();
    let parts = [vec![-outside / capacity], vec![1.0 / capacity; count], vec![1.0]];
    let mut wall = Block::linear("wall", &inputs, &["T [K]"], parts, vec![283.15]);
    wall.drift = vec![outside / capacity * random.between(270.0, 280.0)];
    network.blocks.push(wall);
    for place in 0..count {
        network.wires.push(Wire { from: (place, 1), to: (count, place), gain: 1.0 });
        network.wires.push(Wire { from: (count, 0), to: (place, 0), gain: 1.0 });
    }
    forms(random, &mut network, USUAL);
    let step = lag * random.log_between(2e-3, 5e-2);
    draft(network, lag * random.between(1.5, 4.0), &Method::plain(random, step))
}

/// A level that rises at known instants and drives a loop.
fn stair(random: &mut Random) -> Draft {
    let period = random.log_between(0.2, 2.0);
    let rise = random.between(0.1, 0.5);
    let stair = Block {
        outputs: ["level [1]", "height [m]"].map(str::to_owned).to_vec(),
        a: Matrix::zero(0, 0),
        b: Matrix::zero(0, 0),
        c: Matrix::zero(2, 0),
        d: Matrix::zero(2, 0),
        held: Held::Stair { period, rise },
        form: exchange(random),
        model: Some(("native:stair", vec![("period", period), ("rise", rise)])),
        ..Block::new("stair")
    };
    let mut network = Network { blocks: vec![stair], ..Network::default() };
    for (name, inputs) in [("c1", 2), ("c2", 1)] {
        network.blocks.push(modes(random, name, [inputs, 1], [0.5 / period, 5.0 / period], [0.3, 2.0]));
    }
    for (from, to, gain) in [((0, 1), (1, 0), 1.0), ((1, 0), (2, 0), 0.5), ((2, 0), (1, 1), -0.5)] {
        network.wires.push(Wire { from, to, gain });
    }
    calm(&mut network, 0.5 / period);
    forms(random, &mut network, USUAL);
    let step = period * random.log_between(2e-3, 0.1);
    draft(network, period * random.between(5.3, 9.7), &Method::plain(random, step))
}
