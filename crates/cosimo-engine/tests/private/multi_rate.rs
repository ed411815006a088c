//! Steps of its own around a simulator whose outputs are powers of time, so that all that is shown has a closed form.
#![allow(clippy::unwrap_used)] // helpers of tests are tests
#![allow(clippy::disallowed_methods, reason = "what tests expect may come from the C library")]

use std::sync::{Arc, Mutex};

use cosimo_core::interface::{Abilities, Port};
use cosimo_core::simulator::Memory;

use super::*;

/// What was asked of the simulator inside.
type Log = Arc<Mutex<Vec<String>>>;

/// y = t^power, and an output that carries integers; the integral of the first one, where it is offered.
struct Power {
    interface: Interface,
    power: i32,
    now: Memory<[f64; 1]>,
    /// An instant that no step crosses, and one that an event lies at.
    stops: Option<f64>,
    event: Option<f64>,
    /// An event that it tells of beforehand.
    announces: Option<f64>,
    log: Log,
}

impl Simulator for Power {
    fn interface(&self) -> &Interface {
        &self.interface
    }
    fn initialize(&mut self, _: &Setup) -> Result<(), SimulatorError> {
        Ok(())
    }
    fn set_inputs(&mut self, at: Time, _: &Inputs<'_>) -> Result<(), SimulatorError> {
        self.log.lock().unwrap().push(format!("set {}", at.seconds()));
        Ok(())
    }
    fn do_step(&mut self, window: Window, inputs: &Inputs<'_>) -> Result<StepResult, SimulatorError> {
        let (from, to, [a, b, ..]) = (window.from.seconds(), window.to.seconds(), inputs.segments[0].0);
        self.log.lock().unwrap().push(format!("{from} {to} {a} {b}"));
        let stop = self.stops.filter(|stop| (from..to).contains(stop) && *stop > from);
        self.now.now[0] = stop.unwrap_or(to);
        let event = self.event == Some(to);
        let next_event = self.announces.filter(|at| *at > to).and_then(Time::new);
        Ok(StepResult { to: Time::new(self.now.now[0]).unwrap(), next_event, event, evaluations: 3 })
    }
    fn get_outputs(&mut self, out: &mut Outputs<'_>) -> Result<(), SimulatorError> {
        let t = self.now.now[0];
        out.values.copy_from_slice(&[t.powi(self.power), t.floor()]);
        if !out.slopes.is_empty() {
            out.slopes.copy_from_slice(&[f64::from(self.power) * t.powi(self.power - 1), 0.0]);
        }
        Ok(())
    }
    fn rollback(&mut self) -> Option<&mut dyn Rollback> {
        Some(self)
    }
    fn events(&mut self) -> Option<&mut dyn Events> {
        Some(self)
    }
    fn integrals(&mut self) -> Option<&mut dyn StepIntegrals> {
        if self.interface.abilities.integrals { Some(self) } else { None }
    }
    fn serialize_state(&mut self) -> Option<&mut dyn SerializeState> {
        Some(&mut self.now)
    }
}

impl Rollback for Power {
    fn save(&mut self, slot: Slot) -> Result<(), SimulatorError> {
        self.log.lock().unwrap().push("save".into());
        self.now.save(slot)
    }
    fn restore(&mut self, slot: Slot) -> Result<(), SimulatorError> {
        self.log.lock().unwrap().push("restore".into());
        self.now.restore(slot)
    }
}

impl Events for Power {
    fn next_event(&mut self) -> Result<Option<Time>, SimulatorError> {
        Ok(Time::new(42.0))
    }
}

impl StepIntegrals for Power {
    fn do_step_with_integrals(
        &mut self,
        window: Window,
        inputs: &Inputs<'_>,
        integrals: &mut [f64],
    ) -> Result<StepResult, SimulatorError> {
        let reached = self.do_step(window, inputs)?;
        let (from, next) = (window.from.seconds(), self.power + 1);
        integrals[0] = (self.now.now[0].powi(next) - from.powi(next)) / f64::from(next);
        integrals[1] = 0.0;
        Ok(reached)
    }
}

#[derive(Clone, Copy)]
struct Kind {
    power: i32,
    slopes: bool,
    integrals: bool,
    input_degree: u8,
    stops: Option<f64>,
    event: Option<f64>,
    announces: Option<f64>,
    meets: bool,
}

const PLAIN: Kind = Kind {
    power: 2,
    slopes: false,
    integrals: false,
    input_degree: 3,
    stops: None,
    event: None,
    announces: None,
    meets: false,
};

struct MultiRateBench {
    paced: MultiRateSimulator,
    log: Log,
    slopes: bool,
}

/// Values, integrals and what was reached.
type Shown = ([f64; 2], [f64; 2], StepResult);

fn time(t: f64) -> Time {
    Time::new(t).unwrap()
}

fn window(from: f64, to: f64) -> Window {
    Window { from: time(from), to: time(to), size: to - from }
}

fn near(found: f64, wanted: f64) {
    assert!((found - wanted).abs() < 1e-12, "{found} instead of {wanted}");
}

impl MultiRateBench {
    fn new(kind: Kind, every: f64, divides: bool) -> MultiRateBench {
        let Kind { power, slopes, integrals, input_degree, stops, event, announces, meets } = kind;
        let abilities = Abilities { slopes, integrals, input_degree, events: true, ..Abilities::NATIVE };
        let port = |name: &str| Port::new(name, "1", "");
        let interface = Interface {
            inputs: vec![port("u")],
            outputs: vec![port("y"), Port { value_type: ValueType::Integer, ..port("n") }],
            abilities,
            ..Interface::default()
        };
        let log = Log::default();
        let inner =
            Power { interface, power, now: Memory::new([0.0]), stops, event, announces, log: log.clone() };
        let mut paced = MultiRateSimulator::new(Box::new(inner), every, divides);
        let setup = Setup { start: Time::ZERO, stop: None, stop_at_events: meets, rewinds: true };
        paced.initialize(&setup).unwrap();
        let mut bench = MultiRateBench { paced, log, slopes };
        bench.outputs();
        bench
    }

    fn outputs(&mut self) -> [f64; 2] {
        let (mut values, mut slopes) = ([f64::NAN; 2], [f64::NAN; 2]);
        let slopes = if self.slopes { &mut slopes[..] } else { &mut [] };
        self.paced.get_outputs(&mut Outputs { values: &mut values, slopes }).unwrap();
        values
    }

    fn step(&mut self, from: f64, to: f64) -> Shown {
        let (mut values, mut slopes, mut integrals) = ([f64::NAN; 2], [f64::NAN; 2], [f64::NAN; 2]);
        let slopes = if self.slopes { &mut slopes[..] } else { &mut [] };
        let segments = [Segment::line(1.0 + 2.0 * from, 2.0)];
        let mut out = Outputs { values: &mut values, slopes };
        let reached = self
            .paced
            .do_step_and_get_all(window(from, to), &Inputs::of(&segments), &mut integrals, &mut out)
            .unwrap();
        (values, integrals, reached)
    }

    fn lead(&mut self, from: f64, to: f64, degree: u32) {
        self.paced.begin_long_step(LongStep { own: window(from, to), degree });
    }

    fn log(&self) -> Vec<String> {
        std::mem::take(&mut *self.log.lock().unwrap())
    }
}

#[test]
fn a_window_is_divided_and_its_integrals_are_trapezoids_of_what_was_shown() {
    let mut bench = MultiRateBench::new(PLAIN, 0.25, true);
    let (values, integrals, reached) = bench.step(0.0, 1.0);
    assert_eq!(values, [1.0, 1.0]);
    // Of t^2 at quarters: a third, and 1 / 6 of the square of the step more.
    near(integrals[0], 1.0 / 3.0 + 0.0625 / 6.0);
    assert_eq!((reached.to, reached.evaluations, reached.event), (time(1.0), 12, false));
    assert_eq!(bench.log(), ["0 0.25 1 2", "0.25 0.5 1.5 2", "0.5 0.75 2 2", "0.75 1 2.5 2"]);
    let (_, integrals, _) = bench.step(1.0, 2.0);
    near(integrals[0], 7.0 / 3.0 + 0.0625 / 6.0);
    // A window that is no longer than its step says no more than its ends.
    bench.log();
    let (values, integrals, _) = bench.step(2.0, 2.25);
    assert!(values[0] == 2.25 * 2.25 && integrals[0].is_nan());
    assert_eq!(bench.log(), ["2 2.25 5 2"]);
}

#[test]
fn integrals_that_are_offered_add_up() {
    let mut bench = MultiRateBench::new(Kind { integrals: true, ..PLAIN }, 0.25, true);
    near(bench.step(0.0, 1.0).1[0], 1.0 / 3.0);
    near(bench.step(1.0, 1.25).1[0], (1.25f64.powi(3) - 1.0) / 3.0);
    // Without a wish for them none is taken.
    let (segments, mut values) = ([Segment::ZERO], [0.0; 2]);
    let mut out = Outputs { values: &mut values, slopes: &mut [] };
    bench.paced.do_step_and_get_outputs(window(1.25, 2.25), &Inputs::of(&segments), &mut out).unwrap();
    assert_eq!(values, [2.25 * 2.25, 2.0]);
    bench.paced.do_step(window(2.25, 3.25), &Inputs::of(&segments)).unwrap();
    assert_eq!(bench.outputs(), [3.25 * 3.25, 3.0]);
}

#[test]
fn inputs_that_are_held_get_their_mean_over_each_part() {
    let mut bench = MultiRateBench::new(Kind { input_degree: 0, ..PLAIN }, 0.5, true);
    bench.step(0.0, 1.0);
    assert_eq!(bench.log(), ["0 0.5 1.5 0", "0.5 1 2.5 0"]);
    assert_eq!(bench.paced.interface().abilities.input_degree, 3);
    assert!(bench.paced.interface().abilities.integrals && !bench.paced.interface().abilities.wave_boundary);
    let plain = MultiRateBench::new(Kind { input_degree: 0, ..PLAIN }, 0.5, false);
    assert_eq!(plain.paced.interface().abilities.input_degree, 0);
    assert!(!plain.paced.interface().abilities.integrals);
}

#[test]
fn between_the_ends_of_a_longer_step_lies_a_line_then_a_parabola() {
    let mut bench = MultiRateBench::new(PLAIN, 1.0, false);
    bench.lead(0.0, 1.0, 2);
    let (values, integrals, reached) = bench.step(0.0, 0.25);
    // A line from 0 to 1; integers wait.
    assert_eq!(values, [0.25, 0.0]);
    assert!(integrals[0].is_nan() && reached.evaluations == 3 && reached.to == time(0.25));
    assert_eq!(bench.log(), ["0 1 1 2"]);
    assert_eq!((bench.step(0.25, 0.5).0, bench.outputs()), ([0.5, 0.0], [0.5, 0.0]));
    assert_eq!(bench.step(0.5, 1.0).0, [1.0, 1.0]);
    assert!(bench.log().is_empty(), "nothing is stepped on the way");
    // From now on there is a step before, of another size: t^2 itself.
    bench.lead(1.0, 3.0, 2);
    near(bench.step(1.0, 1.5).0[0], 2.25);
    near(bench.step(1.5, 2.5).0[0], 6.25);
    assert_eq!(bench.step(2.5, 3.0).0, [9.0, 3.0]);
    bench.lead(3.0, 4.0, 1);
    near(bench.step(3.0, 3.5).0[0], 12.5);
}

#[test]
fn between_ends_with_slopes_lies_a_cubic() {
    let mut bench = MultiRateBench::new(Kind { power: 3, slopes: true, ..PLAIN }, 2.0, false);
    bench.lead(0.0, 2.0, 1);
    for (from, to) in [(0.0, 0.5), (0.5, 1.25), (1.25, 2.0)] {
        near(bench.step(from, to).0[0], to * to * to);
    }
    let between = |first: f64, last: f64| {
        let mut state = MultiRateState::new(1, 0);
        (state.own, state.start[0], state.end[0]) = (window(0.0, 2.0), 1.0, 5.0);
        (state.start_slopes[0], state.end_slopes[0]) = (first, last);
        state.between(0)
    };
    // A mean slope of 2 lies between 0 and 4, and as near to 3 and 4 as they are to each other; 4 and 5 are not believed.
    assert_eq!(between(0.0, 4.0), Segment([1.0, 0.0, 1.0, 0.0]));
    assert_eq!(between(2.0, 2.0), Segment([1.0, 2.0, 0.0, 0.0]));
    near(between(3.0, 5.0).at(2.0), 5.0);
    near(between(3.0, 5.0).slope(0.0), 3.0);
    near(between(3.0, 5.0).slope(2.0), 5.0);
    assert_eq!(between(4.0, 5.0), Segment::line(1.0, 2.0));
    assert_eq!(between(-5.0, -4.0), Segment::line(1.0, 2.0));
    assert_eq!(between(f64::NAN, f64::NAN), Segment::line(1.0, 2.0));
}

#[test]
fn integrals_of_a_longer_step_are_shared_out_over_its_windows() {
    let mut bench = MultiRateBench::new(Kind { integrals: true, ..PLAIN }, 1.0, false);
    bench.lead(0.0, 1.0, 1);
    // Shown is the line t, whose integral is too large by 1 / 6: a bump takes that away.
    let mut sum = 0.0;
    for (from, to) in [(0.0f64, 0.25f64), (0.25, 0.75), (0.75, 1.0)] {
        let (_, integrals, _) = bench.step(from, to);
        let bumped = |s: f64| 3.0 * s * s - 2.0 * s * s * s;
        near(integrals[0], (to * to - from * from) / 2.0 - (bumped(to) - bumped(from)) / 6.0);
        sum += integrals[0];
    }
    near(sum, 1.0 / 3.0);
}

#[test]
fn events_of_a_longer_step_are_heard_at_its_end() {
    let mut bench = MultiRateBench::new(Kind { event: Some(1.0), ..PLAIN }, 1.0, false);
    bench.lead(0.0, 1.0, 1);
    assert!(!bench.step(0.0, 0.5).2.event);
    // Inside it answers nothing.
    assert_eq!(bench.paced.events().unwrap().next_event().unwrap(), None);
    bench.log();
    bench.paced.set_inputs(time(0.5), &Inputs::of(&[Segment::ZERO])).unwrap();
    assert!(bench.log().is_empty());
    assert!(bench.step(0.5, 1.0).2.event);
    assert_eq!(bench.paced.events().unwrap().next_event().unwrap(), Time::new(42.0));
    bench.paced.set_inputs(time(1.0), &Inputs::of(&[Segment::ZERO])).unwrap();
    assert_eq!(bench.log(), ["set 1"]);
}

#[test]
fn what_stops_inside_a_longer_step_says_where() {
    let mut bench = MultiRateBench::new(Kind { stops: Some(0.625), ..PLAIN }, 1.0, false);
    bench.lead(0.0, 1.0, 1);
    let (.., reached) = bench.step(0.0, 0.25);
    assert!(reached.event && reached.to == time(0.25));
    assert_eq!(bench.paced.event_inside_step(), Some(time(0.625)));
    let mut free = MultiRateBench::new(PLAIN, 1.0, false);
    free.lead(0.0, 1.0, 1);
    free.step(0.0, 0.25);
    assert_eq!(free.paced.event_inside_step(), None);
}

#[test]
fn what_stops_in_a_part_of_a_window_ends_it() {
    for every in [0.25, 1.0] {
        let mut bench = MultiRateBench::new(Kind { stops: Some(0.625), ..PLAIN }, every, true);
        let (.., reached) = bench.step(0.0, 1.0);
        assert_eq!((reached.to, bench.paced.state.own.size), (time(0.625), 0.0), "it was no step");
    }
}

#[test]
fn an_event_between_parts_ends_the_window_where_all_are_to_meet_there() {
    let mut alone = MultiRateBench::new(Kind { event: Some(0.5), ..PLAIN }, 0.25, true);
    let (_, _, reached) = alone.step(0.0, 1.0);
    assert_eq!((reached.to, reached.evaluations), (time(1.0), 12));
    assert_eq!(alone.log().iter().filter(|call| *call == "set 0.5").count(), 1, "it is handled on the way");
    let mut met = MultiRateBench::new(Kind { event: Some(0.5), meets: true, ..PLAIN }, 0.25, true);
    let (_, _, reached) = met.step(0.0, 1.0);
    assert_eq!((reached.to, reached.event, reached.evaluations), (time(0.5), true, 6));
    let mut last = MultiRateBench::new(Kind { event: Some(1.0), meets: true, ..PLAIN }, 0.25, true);
    assert_eq!(last.step(0.0, 1.0).2.to, time(1.0));
    assert!(!last.log().iter().any(|call| call.starts_with("set")));
}

#[test]
fn the_simulator_inside_is_saved_and_restored_only_where_it_differs() {
    let mut bench = MultiRateBench::new(PLAIN, 1.0, false);
    bench.paced.save(Slot::Attempt).unwrap();
    assert_eq!(bench.log(), ["save"]);
    bench.paced.save(Slot::Attempt).unwrap();
    bench.paced.restore(Slot::Attempt).unwrap();
    assert!(bench.log().is_empty());
    bench.lead(0.0, 1.0, 1);
    bench.step(0.0, 0.5);
    bench.log();
    bench.paced.save(Slot::Probe).unwrap();
    assert_eq!(bench.log(), ["save"]);
    // On the way only what is shown moves, and that comes back without the simulator.
    bench.step(0.5, 0.75);
    assert_eq!(bench.outputs()[0], 0.75);
    bench.paced.restore(Slot::Probe).unwrap();
    assert_eq!((bench.outputs()[0], bench.log().len()), (0.5, 0));
    bench.paced.restore(Slot::Attempt).unwrap();
    assert_eq!((bench.log(), bench.outputs()), (vec!["restore".to_owned()], [0.0, 0.0]));
}

#[test]
fn a_saved_state_goes_on_inside_a_longer_step() {
    let mut bench = MultiRateBench::new(PLAIN, 1.0, false);
    bench.lead(0.0, 1.0, 2);
    bench.step(0.0, 0.25);
    let mut bytes = Vec::new();
    bench.paced.serialize(&mut bytes).unwrap();
    let mut other = MultiRateBench::new(PLAIN, 1.0, false);
    other.paced.deserialize(&bytes).unwrap();
    for (from, to) in [(0.25, 0.5), (0.5, 1.0)] {
        assert_eq!(bench.step(from, to).0, other.step(from, to).0);
    }
    assert!(other.paced.deserialize(&bytes[..bytes.len() - 1]).is_err());
}

#[test]
fn bumps_have_an_integral_of_one() {
    assert_eq!([0.0, 0.25, 0.5, 1.0].map(bump), [0.0, 0.15625, 0.5, 1.0]);
}

#[test]
fn an_announced_event_ends_the_window_before_the_part_that_it_lies_in() {
    let announced = |at: f64, meets: bool| {
        let mut bench = MultiRateBench::new(Kind { announces: Some(at), meets, ..PLAIN }, 0.25, true);
        let reached = bench.step(0.0, 1.0).2;
        (reached.to, bench.log().len())
    };
    assert_eq!(announced(0.625, true), (time(0.625), 2));
    assert_eq!(announced(0.625, false), (time(1.0), 4));
    assert_eq!(announced(1.5, true), (time(1.0), 4));
}

#[test]
fn held_inputs_that_do_not_move_are_passed_on_as_they_are() {
    let mut bench = MultiRateBench::new(Kind { input_degree: 0, ..PLAIN }, 0.5, true);
    let mut values = [0.0; 2];
    let mut out = Outputs { values: &mut values, slopes: &mut [] };
    let still = [Segment::constant(0.1)];
    bench.paced.do_step_and_get_outputs(window(0.0, 1.0), &Inputs::of(&still), &mut out).unwrap();
    assert_eq!(bench.log(), ["0 0.5 0.1 0", "0.5 1 0.1 0"]);
}
