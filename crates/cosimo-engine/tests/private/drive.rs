//! A mass at the end of a line, whose step is a closed form for each boundary.
#![allow(clippy::unwrap_used)] // helpers of tests are tests

use cosimo_core::interface::{Abilities, Interface, Port};
use cosimo_core::line::Stamp;
use cosimo_core::simulator::{Memory, Rollback};
use cosimo_core::{Setup, Time};
use cosimo_system::LineDecl;

use super::*;
use crate::plan::LineSide;

const MASS: f64 = 3.0;
const IMPEDANCE: f64 = 5.0;
const DELAY: f64 = 0.5;
const FROM: f64 = 2.0;
const SIZE: f64 = 0.4;
/// The flow into the line that it begins with, and its rate without the effort.
const FLOW: f64 = 0.7;
const RATE: f64 = 1.3;

/// Outputs a number beside its flow; M f' = M g - e, with f into the line and units of its own.
struct Mass {
    interface: Interface,
    flow: Memory<f64>,
    sign: f64,
    scale: f64,
}

impl Simulator for Mass {
    fn interface(&self) -> &Interface {
        &self.interface
    }
    fn initialize(&mut self, _: &Setup) -> Result<(), SimulatorError> {
        Ok(())
    }
    fn set_inputs(&mut self, _: Time, _: &Inputs<'_>) -> Result<(), SimulatorError> {
        Ok(())
    }
    fn do_step(&mut self, window: Window, inputs: &Inputs<'_>) -> Result<StepResult, SimulatorError> {
        assert_eq!(inputs.segments[0], Segment::constant(9.0), "the other input is as it was given");
        let effort = inputs.segments[1].integral(window.size) / self.scale;
        self.flow.now += RATE * window.size - effort / MASS;
        Ok(StepResult::end_of(window, 7))
    }
    fn get_outputs(&mut self, out: &mut Outputs<'_>) -> Result<(), SimulatorError> {
        out.values.copy_from_slice(&[-1.0, self.flow.now / self.sign]);
        Ok(())
    }
    fn rollback(&mut self) -> Option<&mut dyn Rollback> {
        Some(&mut self.flow)
    }
}

/// What the other end was: a wave that bends, read through stamps.
fn wave(t: f64) -> f64 {
    let nodes = |t: f64| (2.0 + t * t) + IMPEDANCE * (1.0 - 0.5 * t);
    // Lines between stamps a quarter of a second apart.
    let place = (t / 0.25).floor() * 0.25;
    nodes(place) + (t - place) / 0.25 * (nodes(place + 0.25) - nodes(place))
}

fn end(sign: f64, scale: f64) -> EndState {
    let side = LineSide { effort: 1, flow: 1, sign, scale };
    let mut end = EndState::new((0, 0), (0, 1, 1), &side, &LineDecl::of(DELAY, IMPEDANCE), 4.0, None, None);
    end.begin(0.0, FLOW / sign);
    let stamps = (0..=8).map(|k| f64::from(k) * 0.25);
    let stamp = |t: f64| Stamp { t, effort: 2.0 + t * t, flow: 1.0 - 0.5 * t, ..Stamp::default() };
    end.inbox.receive(&stamps.map(stamp).collect::<Vec<_>>());
    end
}

fn window() -> Window {
    Window { from: Time::new(FROM).unwrap(), to: Time::new(FROM + SIZE).unwrap(), size: SIZE }
}

/// c over the window, by Simpson's rule.
fn arriving() -> f64 {
    let at = |part: f64| wave(FROM + part * SIZE - DELAY);
    (at(0.0) + 4.0 * at(0.5) + at(1.0)) / 6.0
}

struct Stepped {
    drive: Drive,
    flow: f64,
    evaluations: u64,
}

fn stepped(way: Boundary, (sign, scale): (f64, f64), degree: u8, rate: f64) -> Stepped {
    let (mut simulator, ends) = (mass(sign, scale, degree), [end(sign, scale)]);
    let mut drive = Drive::new(way, vec![MASS], &simulator);
    drive.rates[0] = rate;
    let segments = [Segment::constant(9.0), Segment::ZERO];
    let reached = drive.advance(&mut simulator, &ends, window(), &segments, false, &mut []).unwrap();
    assert_eq!(reached.to, window().to);
    Stepped { drive, flow: simulator.flow.now, evaluations: reached.evaluations }
}

fn mass(sign: f64, scale: f64, input_degree: u8) -> Mass {
    let interface = Interface {
        inputs: ["u", "e"].map(|name| Port::new(name, "N", "")).to_vec(),
        outputs: ["x", "f"].map(|name| Port::new(name, "m/s", "")).to_vec(),
        abilities: Abilities { input_degree, ..Abilities::NATIVE },
        ..Interface::default()
    };
    Mass { interface, flow: Memory::new(FLOW), sign, scale }
}

const UNITS: [(f64, f64); 3] = [(1.0, 1.0), (-1.0, 1.0), (-1e-3, 0.25)];

/// Of e = c + Z f with a flow that moves evenly, f1 = f0 + H (g - (c + Z (f0 + f1) / 2) / M).
fn implicit() -> f64 {
    let known = FLOW + SIZE * (RATE - (arriving() + 0.5 * IMPEDANCE * FLOW) / MASS);
    known / (1.0 + SIZE * IMPEDANCE / (2.0 * MASS))
}

#[test]
fn mid_step_is_the_wave_of_the_middle_and_the_flow_of_the_start() {
    for units in UNITS {
        let effort = wave(FROM + 0.5 * SIZE - DELAY) + IMPEDANCE * FLOW;
        let wanted = FLOW + SIZE * (RATE - effort / MASS);
        let found = stepped(Boundary::MidStep, units, 0, 0.0);
        assert!((found.flow - wanted).abs() < 1e-12, "{units:?}: {} {wanted}", found.flow);
        assert_eq!(found.evaluations, 7);
    }
}

#[test]
fn corrected_is_the_implicit_trapezoid_by_two_trials() {
    for units in UNITS {
        for degree in [0, 3] {
            let found = stepped(Boundary::Corrected, units, degree, 0.0);
            assert!((found.flow - implicit()).abs() < 1e-12, "{units:?}: {} {}", found.flow, implicit());
            assert_eq!(found.evaluations, 21);
        }
    }
}

#[test]
fn semi_implicit_is_the_same_by_the_mass_and_learns_what_else_pulls() {
    for units in UNITS {
        for degree in [0, 3] {
            let found = stepped(Boundary::SemiImplicit, units, degree, RATE);
            assert!((found.flow - implicit()).abs() < 1e-12, "{units:?}: {} {}", found.flow, implicit());
            assert!((found.drive.rates[0] - RATE).abs() < 1e-12 && found.evaluations == 7);
            // Whatever was thought of it before, the step has shown it.
            let found = stepped(Boundary::SemiImplicit, units, degree, 0.0);
            assert!((found.drive.rates[0] - RATE).abs() < 1e-12, "{}", found.drive.rates[0]);
            assert!((found.flow - implicit()).abs() > 1e-3);
        }
    }
}

#[test]
fn a_push_weighs_the_mass() {
    for (sign, scale) in UNITS {
        for base in [0.0, 400.0] {
            let (mut simulator, ends) = (mass(sign, scale, 0), [end(sign, scale)]);
            let mut drive = Drive::new(Boundary::MidStep, vec![f64::NAN], &simulator);
            let segments = [Segment::constant(9.0), Segment::constant(base)];
            drive.weigh(&mut simulator, &ends, window(), &segments).unwrap();
            assert!((drive.masses[0] - MASS).abs() < 1e-6, "{}", drive.masses[0]);
            assert_eq!(simulator.flow.now, FLOW, "the trials are taken back");
        }
    }
}

#[test]
fn at_rest_the_effort_is_held() {
    let mut drive = Drive::new(Boundary::SemiImplicit, vec![MASS, f64::NAN], &mass(1.0, 1.0, 0));
    drive.rest([6.0, 6.0].into_iter());
    assert_eq!(drive.rates, [2.0, 0.0]);
}
