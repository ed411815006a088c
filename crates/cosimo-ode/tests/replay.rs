//! Rollback is exact: after `copy_from`, `clone` or `deserialize` all repeated steps are bit-identical.
#![allow(clippy::unwrap_used)] // helpers of tests are tests
#![allow(clippy::disallowed_methods, reason = "what tests expect may come from the C library")]

mod common;

use common::{Of, Random, VanDerPol, oscillator, prothero_robinson, settings, started};
use cosimo_ode::{EvaluationFault, INTEGRATORS, Integrator, OdeSystem, Roots, Settings};

/// What a simulator may do to its integrator between two saves.
#[derive(Debug, Clone, Copy)]
enum Move {
    Step { limit: f64 },
    Search,
    Renew,
    Refresh,
    Largest(f64),
    Restart { nudge: f64 },
}

fn random_move(random: &mut Random) -> Move {
    match random.below(40) {
        0 => Move::Renew,
        1 => Move::Refresh,
        2 => Move::Largest(if random.next() < 0.5 { 0.05 } else { f64::INFINITY }),
        3 => Move::Restart { nudge: random.next() * 1e-3 },
        4..12 => Move::Search,
        // Some limits are very near, most are not.
        _ => Move::Step { limit: 10f64.powf(4.0 * random.next() - 4.0) },
    }
}

fn make(integrator: &mut Integrator, roots: &mut Roots, system: &mut dyn OdeSystem, what: Move) {
    match what {
        Move::Step { limit } => {
            integrator.step(system, integrator.time() + limit).unwrap();
        }
        Move::Search => {
            roots.search(integrator, system).unwrap();
        }
        Move::Renew => integrator.renew(),
        Move::Refresh => integrator.invalidate_jacobian(),
        Move::Largest(largest) => integrator.set_largest(largest),
        Move::Restart { nudge } => {
            let state: Vec<f64> = integrator.state().iter().map(|x| x + nudge).collect();
            integrator.restart(integrator.time(), &state);
            roots.start(integrator, system).unwrap();
        }
    }
}

/// Everything that can be seen of them, as bits.
fn bits(integrator: &Integrator, roots: &Roots) -> Vec<u64> {
    let (start, end) = integrator.span();
    let mut numbers = vec![start, end, integrator.planned(), integrator.order() as f64];
    numbers.extend(integrator.state());
    let mut x = vec![0.0; integrator.state().len()];
    for t in [start, start + 0.3 * (end - start), end] {
        integrator.at(t, &mut x);
        numbers.extend(&x);
        integrator.slope_at(t, &mut x);
        numbers.extend(&x);
    }
    let crossed = roots.crossed().map(|(indicator, direction)| 10 * indicator as u64 + direction as u64);
    numbers.into_iter().map(f64::to_bits).chain(crossed).collect()
}

/// Saves and goes back at random, thousands of times. A second pair takes no part in any rewinding.
fn rewinds(name: &str, settings: &Settings, system: &mut dyn OdeSystem, x: &[f64], rounds: usize) {
    let mut random = Random(7);
    let mut integrator = started(name, settings, 0.0, x);
    let mut roots = Roots::new(1, x.len()).with_samples(1);
    roots.start(&mut integrator, system).unwrap();
    let (mut straight, mut straight_roots) = (integrator.clone(), roots.clone());
    let (mut saved, mut saved_roots) = (integrator.clone(), roots.clone());
    let mut bytes = Vec::new();
    for round in 0..rounds {
        let moves: Vec<Move> = (0..1 + random.below(12)).map(|_| random_move(&mut random)).collect();
        let astray: Vec<Move> = (0..1 + random.below(12)).map(|_| random_move(&mut random)).collect();
        let deserialized = random.next() < 0.3;
        if deserialized {
            bytes.clear();
            integrator.serialize(&mut bytes);
        } else {
            saved.copy_from(&integrator);
        }
        saved_roots.copy_from(&roots);
        for what in astray {
            make(&mut integrator, &mut roots, system, what);
        }
        if deserialized {
            integrator.deserialize(&bytes).unwrap();
        } else {
            integrator.copy_from(&saved);
        }
        roots.copy_from(&saved_roots);
        for what in moves {
            make(&mut integrator, &mut roots, system, what);
            make(&mut straight, &mut straight_roots, system, what);
            let found = bits(&integrator, &roots);
            assert_eq!(found, bits(&straight, &straight_roots), "{name}: {what:?} in round {round}");
        }
    }
    assert!(integrator.counters().evaluations > straight.counters().evaluations);
    println!("{name}: t = {}, {:?}", integrator.time(), straight.counters());
}

/// With an indicator: its first state.
struct Watched<S>(S);

impl<S: OdeSystem> OdeSystem for Watched<S> {
    fn derivatives(&mut self, t: f64, x: &[f64], dx: &mut [f64]) -> Result<(), EvaluationFault> {
        self.0.derivatives(t, x, dx)
    }

    fn indicators(&mut self, _t: f64, x: &[f64], z: &mut [f64]) -> Result<(), EvaluationFault> {
        z[0] = x[0];
        Ok(())
    }
}

#[test]
fn smooth_and_stiff_systems_replay_bit_by_bit() {
    for entry in INTEGRATORS {
        // What starts anew instead has tests of its own.
        if !started(entry.name, &Settings::default(), 0.0, &[1.0]).rewinds_exactly() {
            continue;
        }
        let settings = settings(1e-5, 1e-7);
        rewinds(entry.name, &settings, &mut Watched(oscillator()), &[1.0, 0.0], 2000);
        rewinds(entry.name, &settings, &mut VanDerPol(100.0), &[2.0, 0.0], 1000);
        rewinds(entry.name, &settings, &mut Watched(prothero_robinson(1e3)), &[0.0], 1000);
        // Derivatives that fail at places: failed attempts leave no trace either.
        let mut patchy = Of(|_, x: &[f64], dx: &mut [f64]| {
            dx[0] = x[1];
            dx[1] = if (x[0] * 40.0).sin() > 0.999 { f64::NAN } else { -x[0] };
        });
        let mut integrator = started(entry.name, &settings, 0.0, &[1.0, 0.0]);
        let mut replay = integrator.clone();
        for _ in 0..300 {
            if integrator.step(&mut patchy, 1e3).is_err() {
                break;
            }
            replay.step(&mut patchy, 1e3).unwrap();
            assert_eq!(integrator.state(), replay.state());
        }
    }
}

#[test]
fn foreign_bytes_are_refused() {
    for entry in INTEGRATORS {
        let mut integrator = started(entry.name, &Settings::default(), 0.0, &[1.0, 0.0]);
        common::run(&mut integrator, &mut oscillator(), 1.0);
        let mut bytes = Vec::new();
        integrator.serialize(&mut bytes);
        let before = bytes.clone();
        let mut deserialize = |bytes: &[u8]| integrator.deserialize(bytes).map_err(|error| error.to_string());
        assert_eq!(deserialize(&bytes), Ok(()));
        assert!(deserialize(&bytes[..bytes.len() - 1]).unwrap_err().ends_with("they end too early"));
        assert!(deserialize(&[&bytes[..], &[0]].concat()).unwrap_err().ends_with("1 bytes are left over"));
        let text = deserialize(b"something else\n").unwrap_err();
        assert!(text.contains(entry.name) && text.ends_with("not `something else`"), "{text}");
        // No byte anywhere leads to a panic, now or in the next step.
        for place in 0..bytes.len() {
            bytes[place] ^= 0xff;
            let mut other = integrator.clone();
            if other.deserialize(&bytes).is_ok() {
                let _ = other.step(&mut oscillator(), 2.0);
            }
            bytes[place] ^= 0xff;
        }
        let mut after = Vec::new();
        integrator.serialize(&mut after);
        assert_eq!(before, after);

        let mut larger = started(entry.name, &Settings::default(), 0.0, &[1.0; 3]);
        assert!(
            larger.deserialize(&bytes).unwrap_err().to_string().ends_with("they are for a size of 2, not 3")
        );
    }
}

#[test]
fn the_memory_of_signs_freezes_too() {
    let mut integrator = started("dormand-prince", &Settings::default(), 0.0, &[2.0, 0.0]);
    let mut system = VanDerPol(1.0);
    let mut roots = Roots::new(1, 2);
    roots.start(&mut integrator, &mut system).unwrap();
    while roots.search(&mut integrator, &mut system).unwrap().is_none() {
        integrator.step(&mut system, 10.0).unwrap();
    }
    let mut bytes = Vec::new();
    roots.serialize(&mut bytes);
    let mut other = Roots::new(1, 2);
    other.deserialize(&bytes).unwrap();
    assert_eq!(format!("{:?}", other.crossed().collect::<Vec<_>>()), "[(0, Falling)]");
    let mut again = Vec::new();
    other.serialize(&mut again);
    assert_eq!(bytes, again);
    assert!(Roots::new(2, 2).deserialize(&bytes).is_err());
}
