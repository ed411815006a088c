//! Simulators at the ends of lines: against closed forms where the other end is quiet, and against the monolithic reference
//! where there is a model at either end.

use cosimo_core::line::{LineEnd, Repay, Stamp, StampInterpolation, StampTable};
use cosimo_core::{Inputs, Segment, Setup, Simulator, Slot, StepResult, Time, Value, Window};
use cosimo_models::HYBRID;
use cosimo_native::NativeHybrid;

use crate::common::{equations, open, outputs, reference, time};

fn initialised(model: &str, given: &[(&str, Value)]) -> Box<dyn Simulator> {
    let mut simulator = open(model, given);
    simulator
        .initialize(&Setup { start: Time::ZERO, stop: None, stop_at_events: true, rewinds: true })
        .unwrap();
    let starts = |port: &cosimo_core::Port| Segment::constant(port.start.unwrap());
    let inputs: Vec<Segment> = simulator.interface().inputs.iter().map(starts).collect();
    simulator.set_inputs(Time::ZERO, &Inputs::of(&inputs)).unwrap();
    simulator
}

fn number(name: &str, value: f64) -> (&str, Value) {
    (name, Value::Number(value))
}

/// A far end that has always sent the same effort.
fn quiet(effort: f64) -> StampTable {
    StampTable::new(Stamp { effort, ..Stamp::default() }, StampInterpolation::Linear)
}

fn end<'a>(table: &'a StampTable, from: f64, delay: f64, impedance: f64) -> LineEnd<'a> {
    let repay = Repay::default();
    LineEnd {
        effort: 0,
        flow: 0,
        sign: 1.0,
        scale: 1.0,
        table,
        own: table,
        delay,
        impedance,
        from,
        repay,
        most: 1.0,
    }
}

/// One step of a simulator with one input, an effort; it may end early, at most after `size`.
fn step(simulator: &mut dyn Simulator, end: LineEnd<'_>, size: f64) -> StepResult {
    let window = Window { from: time(end.from), to: time(end.from + size), size };
    let segments = [Segment::constant(f64::NAN)];
    let inputs = Inputs { segments: &segments, ends: &[end], return_each_internal_step: true };
    let reached = simulator.do_step(window, &inputs).unwrap();
    assert!(reached.to > window.from && reached.to <= window.to, "{} in {window}", reached.to);
    reached
}

/// M v' = -c - (Z + B) v, with every solver.
#[test]
fn a_mass_at_a_quiet_line_decays_exponentially() {
    for solver in ["bdf", "dormand-prince", "bogacki-shampine", "rk4"] {
        for (wave, impedance) in [(0.0, 0.1), (3.0, 0.1), (-2.0, 40.0)] {
            let mut given = vec![("solver", Value::Text(solver.into())), number("micro_steps", 100.0)];
            given.extend(
                [("B", 0.0), ("F", 0.0), ("v0", 1.0), ("relative", 1e-8), ("absolute", 1e-8)]
                    .map(|(name, value)| number(name, value)),
            );
            let mut mass = initialised("spring-mass/left", &given);
            let table = quiet(wave);
            let (mut t, mut steps) = (0.0, 0);
            while t < 0.02 {
                t = step(&mut *mass, end(&table, t, 1e-3, impedance), 1e-3).to.seconds();
                steps += 1;
                let rest = -wave / impedance;
                let expected = rest + (1.0 - rest) * (-impedance / 5e-3 * t).exp();
                let y = outputs(&mut *mass);
                assert!((y[0] - expected).abs() < 1e-5, "{solver} at {t}: {}, expected {expected}", y[0]);
                assert_eq!(y[0], y[2]);
            }
            assert!(steps >= 20, "{solver} took {steps} steps, none of them longer than 1 ms");
        }
    }
}

#[test]
fn one_step_is_as_good_as_many() {
    let given = [number("F", 0.0), number("v0", 1.0), number("relative", 1e-9), number("absolute", 1e-9)];
    let (mut far, table) = (initialised("spring-mass/left", &given), quiet(0.0));
    let window = Window { from: time(0.0), to: time(0.02), size: 0.02 };
    let (segments, ends) = ([Segment::ZERO], [end(&table, 0.0, 0.02, 0.3)]);
    let inputs = Inputs { segments: &segments, ends: &ends, return_each_internal_step: false };
    let reached = far.do_step(window, &inputs).unwrap();
    assert_eq!(reached.to, window.to);
    let expected = (-(0.3 + 0.2) / 5e-3 * 0.02f64).exp();
    assert!((outputs(&mut *far)[0] - expected).abs() < 1e-7);
}

#[test]
fn a_step_ends_at_the_event_and_set_inputs_handles_it() {
    let (mut mass, table) = (initialised("spring-mass/left", &[number("t0", 0.0123)]), quiet(0.0));
    assert_eq!(mass.events().unwrap().next_event().unwrap(), Some(time(0.0123)));
    let (mut t, mut reached) = (0.0, None);
    while t < 0.0123 {
        assert_eq!(outputs(&mut *mass), [0.0; 4]);
        let last = step(&mut *mass, end(&table, t, 1e-3, 0.1), 1e-3);
        t = last.to.seconds();
        reached = Some(last);
    }
    let reached = reached.unwrap();
    assert!(reached.event && t == 0.0123, "{reached:?}");
    assert_eq!(outputs(&mut *mass)[3], 0.0, "outputs are those before the event");
    mass.set_inputs(time(t), &Inputs::of(&[Segment::ZERO])).unwrap();
    assert_eq!((outputs(&mut *mass)[3], mass.events().unwrap().next_event().unwrap()), (100.0, None));
    while t < 0.02 {
        let reached = step(&mut *mass, end(&table, t, 1e-3, 0.1), 1e-3);
        assert!(!reached.event);
        t = reached.to.seconds();
        // M v' = F - (B + Z) v.
        let expected = 100.0 / 0.3 * (1.0 - (-0.3 / 5e-3 * (t - 0.0123)).exp());
        assert!((outputs(&mut *mass)[0] / expected - 1.0).abs() < 5e-3, "{t}");
    }
}

/// Z is part of the Jacobian: a change of Z needs a new one, which costs an evaluation per state.
#[test]
fn a_change_of_impedance_costs_evaluations_and_a_rollback_undoes_it() {
    for solver in ["bdf", "dormand-prince", "rk4"] {
        let given = [("solver", Value::Text(solver.into())), number("F", 0.0), number("v0", 1.0)];
        let (mut mass, mut twin) =
            (initialised("spring-mass/left", &given), initialised("spring-mass/left", &given));
        let table = quiet(0.5);
        let mut t = 0.0;
        for _ in 0..30 {
            t = step(&mut *mass, end(&table, t, 1e-4, 0.1), 1e-4).to.seconds();
        }
        mass.rollback().unwrap().save(Slot::Attempt).unwrap();
        let mut bytes = Vec::new();
        mass.serialize_state().unwrap().serialize(&mut bytes).unwrap();
        let onwards = |mass: &mut dyn Simulator, impedance: f64| {
            let (mut t, mut history) = (t, Vec::new());
            for _ in 0..5 {
                let reached = step(mass, end(&table, t, 1e-4, impedance), 1e-4);
                t = reached.to.seconds();
                history.push((reached.evaluations, t.to_bits(), outputs(mass)[0].to_bits()));
            }
            history
        };
        let same = onwards(&mut *mass, 0.1);
        mass.rollback().unwrap().restore(Slot::Attempt).unwrap();
        let other = onwards(&mut *mass, 0.2);
        assert_ne!(same, other);
        if solver == "bdf" {
            assert!(other[0].0 >= same[0].0 + 2, "{same:?} {other:?}");
            assert!(other[4].0 <= same[4].0 + 1);
        }
        mass.rollback().unwrap().restore(Slot::Attempt).unwrap();
        assert_eq!(same, onwards(&mut *mass, 0.1), "{solver}");
        twin.serialize_state().unwrap().deserialize(&bytes).unwrap();
        assert_eq!(same, onwards(&mut *twin, 0.1), "{solver}, deserialized");
    }
}

/// Nothing left from the first run, such as its Jacobian, affects the second.
#[test]
fn a_second_run_is_the_first_again() {
    let (mut mass, table) = (initialised("spring-mass/left", &[number("t0", 0.003)]), quiet(0.5));
    let mut run = || {
        mass.initialize(&Setup { start: Time::ZERO, stop: None, stop_at_events: true, rewinds: true })
            .unwrap();
        mass.set_inputs(Time::ZERO, &Inputs::of(&[Segment::ZERO])).unwrap();
        let (mut t, mut history) = (0.0, Vec::new());
        while t < 0.01 {
            let reached = step(&mut *mass, end(&table, t, 1e-4, 0.1), 1e-4);
            t = reached.to.seconds();
            history.push((reached.evaluations, t.to_bits(), outputs(&mut *mass)[0].to_bits()));
        }
        history
    };
    let first = run();
    assert_eq!(first, run());
}

/// A component with its ports at lines: line, effort, flow.
struct LineComponent {
    simulator: Box<dyn Simulator>,
    ends: Vec<(usize, usize, usize)>,
    t: f64,
    evaluations: u64,
}

/// A line between two components; the first table is what the first of them published.
struct Line {
    tables: [StampTable; 2],
    delay: f64,
    impedance: f64,
}

fn component(model: &str, ends: &[(usize, usize, usize)]) -> LineComponent {
    LineComponent { simulator: initialised(model, &[]), ends: ends.to_vec(), t: 0.0, evaluations: 0 }
}

fn line(delay: f64, stiffness: f64, effort: f64) -> Line {
    Line { tables: [quiet(effort), quiet(effort)], delay, impedance: stiffness * delay }
}

/// The component that is behind takes the next step: the simplest schedule. The last component is at the second ends of
/// its lines, all others at the first ends.
fn run_all(components: &mut [LineComponent], lines: &mut [Line], stop: f64) {
    let last = components.len() - 1;
    loop {
        let Some(behind) = (0..=last).min_by(|a, b| components[*a].t.total_cmp(&components[*b].t)) else {
            return;
        };
        let LineComponent { simulator, ends, t, evaluations } = &mut components[behind];
        if *t >= stop {
            return;
        }
        let own = usize::from(behind == last);
        let line_ends: Vec<LineEnd<'_>> = ends
            .iter()
            .map(|(line, effort, flow)| {
                let Line { tables, delay, impedance } = &lines[*line];
                LineEnd {
                    effort: *effort,
                    flow: *flow,
                    own: &tables[own],
                    ..end(&tables[1 - own], *t, *delay, *impedance)
                }
            })
            .collect();
        let size = line_ends.iter().map(|end| end.delay).fold(f64::INFINITY, f64::min);
        let window = Window { from: time(*t), to: time(*t + size), size };
        let segments = vec![Segment::ZERO; simulator.interface().inputs.len()];
        let inputs = Inputs { segments: &segments, ends: &line_ends, return_each_internal_step: true };
        let reached = simulator.do_step(window, &inputs).unwrap();
        *t = reached.to.seconds();
        *evaluations += reached.evaluations;
        let y = outputs(&mut **simulator);
        let stamps: Vec<(usize, f64, f64)> = line_ends
            .iter()
            .zip(&*ends)
            .map(|(end, (line, ..))| (*line, end.effort(*t, y[end.flow]), y[end.flow]))
            .collect();
        if reached.event {
            let held: Vec<Segment> = stamps.iter().map(|(_, effort, _)| Segment::constant(*effort)).collect();
            simulator.set_inputs(reached.to, &Inputs::of(&held)).unwrap();
        }
        for (line, effort, flow) in stamps {
            lines[line].tables[own].publish(*t, effort, flow);
        }
    }
}

fn beyond(lines: &[Line]) -> u64 {
    lines.iter().flat_map(|line| &line.tables).map(StampTable::beyond).sum()
}

/// Bounds of the published runs: evaluations of each side, and the error of a line of 0.1 ms against a spring.
#[test]
fn spring_and_masses_at_a_line_move_as_with_a_spring() {
    let mut components =
        [component("spring-mass/left", &[(0, 0, 0)]), component("spring-mass/right", &[(0, 0, 0)])];
    let mut lines = [line(1e-4, 1e3, 0.0)];
    run_all(&mut components, &mut lines, 0.65);
    let counts = [&components[0], &components[1]].map(|component| component.evaluations);
    let instants: Vec<f64> = (0..=10_000).map(|i| 0.65e-4 * f64::from(i)).collect();
    let truth = reference("spring-mass", &[], &instants);
    let (mut most, mut sum, mut low, mut high) = (0.0f64, 0.0, 0.0f64, 0.0f64);
    for (t, row) in instants.iter().zip(&truth) {
        let error = lines[0].tables[0].at(*t).1 - row[1];
        (most, sum) = (most.max(error.abs()), sum + error * error);
        (low, high) = (low.min(row[1]), high.max(row[1]));
    }
    let (most, rms) = (most / (high - low), (sum / instants.len() as f64).sqrt() / (high - low));
    println!("evaluations {counts:?}, velocity off by {:.3} %, rms {:.3} %", 1e2 * most, 1e2 * rms);
    assert!(counts.iter().all(|count| (6300..8500).contains(count)), "{counts:?}");
    assert!(most < 0.006 && rms < 0.0015, "{most} {rms}");
    assert_eq!(beyond(&lines), 0);
}

/// The first town of the cycle: the motor follows it, and so does the car behind it.
#[test]
fn the_car_follows_the_cycle() {
    let mut components =
        [component("drive-cycle/motor", &[(0, 0, 0)]), component("drive-cycle/car", &[(0, 0, 0)])];
    let mut lines = [line(1e-3, 1e3, 0.0)];
    for (stop, speed) in [(20.0, 15.0), (40.0, 0.0), (75.0, 32.0)] {
        run_all(&mut components, &mut lines, stop);
        let [motor, car] = [0, 1].map(|place| outputs(&mut *components[place].simulator));
        println!("{stop} s: motor {motor:?}, car {car:?}, {} evaluations", components[0].evaluations);
        assert!((car[2] - speed / 3.6).abs() < 0.1, "{stop}: {car:?}");
        assert!((motor[0] + car[0]).abs() < 0.5, "{motor:?} {car:?}");
    }
    assert_eq!(beyond(&lines), 0);
}

/// The arm reaches the setpoints of the actuators.
#[test]
fn the_robot_lifts_and_swings_its_arm() {
    let mut components = [
        component("robot/lift", &[(0, 0, 0)]),
        component("robot/swing", &[(1, 0, 0)]),
        component("robot/arm", &[(0, 0, 0), (1, 1, 1)]),
    ];
    let effort = components[0].simulator.interface().inputs[0].start.unwrap();
    let mut lines = [line(1e-4, 1e7, effort), line(1e-4, 2e6, 0.0)];
    run_all(&mut components, &mut lines, 0.9);
    let still = outputs(&mut *components[2].simulator);
    assert!(still[2..].iter().all(|y| y.abs() < 1e-6), "{still:?}");
    run_all(&mut components, &mut lines, 5.0);
    let arm = outputs(&mut *components[2].simulator);
    println!("at 5 s {arm:?}, evaluations {:?}", [0, 1, 2].map(|place: usize| components[place].evaluations));
    assert!((arm[4].to_degrees() - 25.0).abs() < 0.3, "{arm:?}");
    assert_eq!(beyond(&lines), 0);
}

/// The integrator also runs the equations of `HYBRID`, with state events and stiff ones.
#[test]
fn every_model_without_a_solver_can_be_integrated_here() {
    for entry in HYBRID {
        let model = equations(entry.name, &[]).unwrap();
        let mut simulator = NativeHybrid::solved(model, "bdf", None, 1e-8, 1e-10);
        simulator
            .initialize(&Setup { start: Time::ZERO, stop: None, stop_at_events: false, rewinds: true })
            .unwrap();
        let held: Vec<Segment> =
            simulator.interface().inputs.iter().map(|port| Segment::constant(port.start.unwrap())).collect();
        let rows = (entry.reference)();
        for pair in rows.windows(2) {
            let (from, to) = (pair[0][0], pair[1][0]);
            let window = Window { from: time(from), to: time(to), size: to - from };
            let reached = simulator.do_step(window, &Inputs::of(&held)).unwrap();
            assert_eq!(reached.to, window.to);
            for (found, expected) in outputs(&mut simulator).iter().zip(&pair[1][1..]) {
                let off = (found - expected).abs() / (1.0 + expected.abs());
                assert!(off < 1e-4, "{} at {to}: {found}, expected {expected}", entry.name);
            }
        }
    }
}

/// The monolithic reference stands still until the push, and in the end the springs hold the force.
#[test]
fn the_monolithic_masses_come_to_rest_where_the_springs_hold_the_force() {
    let rows = reference("spring-mass", &[], &[0.05, 0.1, 0.1 + 1e-6, 10.0]);
    assert!(rows[..2].iter().all(|row| row.iter().all(|value| *value == 0.0)));
    assert!((rows[2][1] - 100.0 / 5e-3 * 1e-6).abs() < 1e-5);
    let expected =
        [100.0 / 140.0 + 100.0 / 90.0 + 0.1, 0.0, 100.0 / 140.0 + 100.0 / 90.0, 0.0, 100.0 / 140.0];
    for (found, expected) in rows[3].iter().zip(expected) {
        assert!((found - expected).abs() < 1e-9, "{:?}", rows[3]);
    }
}
