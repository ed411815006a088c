//! Algebraic loops of ramps, whose values and slopes are known at every instant; and what else of an instant is seen from
//! outside: parameters that follow outputs, sizes after a cut, columns of rows.
#![allow(clippy::unwrap_used)] // helpers of tests are tests

use std::path::Path;

use cosimo::core::interface::{Abilities, Interface, Port};
use cosimo::core::registry::{OpenRequest, OpenResult};
use cosimo::core::simulator::{Jacobian, Memory, Rollback, TunableParameters};
use cosimo::core::{
    Inputs, Outputs, Registry, Setup, Simulator, SimulatorError, SourceEntry, StepResult, Time, Window,
};
use cosimo::engine::{Plan, Run, plan};
use cosimo::record::MemoryRecorder as Recorded;
use cosimo::system::{Problem, toml};

/// `ramp:loop` has outputs y = p (u + v) / 4 + 1 + t and z = p (u + v) / 4 + 2 (1 + t) with slopes; `ramp:loop-declared` has
/// derivatives instead. `ramp:sum` shows the integral of u; p is a parameter that may change, and q one without effect.
struct Ramp {
    interface: Interface,
    /// Time, both inputs and their slopes, the integral of the first.
    state: Memory<[f64; 6]>,
    factor: f64,
}

impl Simulator for Ramp {
    fn interface(&self) -> &Interface {
        &self.interface
    }
    fn initialize(&mut self, _: &Setup) -> Result<(), SimulatorError> {
        Ok(())
    }
    fn set_inputs(&mut self, at: Time, inputs: &Inputs<'_>) -> Result<(), SimulatorError> {
        self.see(at.seconds(), inputs, 0.0);
        Ok(())
    }
    fn do_step(&mut self, window: Window, inputs: &Inputs<'_>) -> Result<StepResult, SimulatorError> {
        self.state.now[5] += inputs.segments[0].integral(window.size);
        self.see(window.to.seconds(), inputs, window.size);
        Ok(StepResult::end_of(window, 1))
    }
    fn get_outputs(&mut self, out: &mut Outputs<'_>) -> Result<(), SimulatorError> {
        let [t, u, v, du, dv, integral] = self.state.now;
        if self.interface.outputs.len() == 1 {
            out.values[0] = integral;
        } else {
            for place in 0..2 {
                let ramp = (place + 1) as f64;
                out.values[place] = 0.25 * self.factor * (u + v) + ramp * (1.0 + t);
                if let Some(slope) = out.slopes.get_mut(place) {
                    *slope = 0.25 * self.factor * (du + dv) + ramp;
                }
            }
        }
        Ok(())
    }
    fn rollback(&mut self) -> Option<&mut dyn Rollback> {
        Some(&mut self.state)
    }
    fn jacobian(&mut self) -> Option<&mut dyn Jacobian> {
        self.interface.abilities.jacobian.then_some(self)
    }
    fn parameters(&mut self) -> Option<&mut dyn TunableParameters> {
        Some(self)
    }
}

impl Ramp {
    fn see(&mut self, t: f64, inputs: &Inputs<'_>, at: f64) {
        self.state.now[0] = t;
        for (place, segment) in inputs.segments.iter().enumerate() {
            (self.state.now[1 + place], self.state.now[3 + place]) = (segment.at(at), segment.slope(at));
        }
    }
}

impl Jacobian for Ramp {
    fn fill(&mut self, into: &mut [f64]) -> Result<(), SimulatorError> {
        into.fill(0.25 * self.factor);
        Ok(())
    }
}

impl TunableParameters for Ramp {
    fn set_parameter(&mut self, parameter: usize, value: f64) -> Result<(), SimulatorError> {
        if parameter == 1 {
            self.factor = value;
        }
        Ok(())
    }
}

fn open(request: &OpenRequest<'_>) -> OpenResult {
    let port = |name: &str| Port::new(name, "1", "").starting_at(0.0);
    let (slopes, jacobian) = (request.source == "ramp:loop", request.source == "ramp:loop-declared");
    let abilities =
        Abilities { states: false, serialize_state: false, slopes, jacobian, ..Abilities::NATIVE };
    let passes = slopes || jacobian;
    let interface = Interface {
        inputs: if passes { vec![port("u"), port("v")] } else { vec![port("u")] },
        outputs: if passes { vec![port("y"), port("z")] } else { vec![port("x")] },
        feedthrough: if passes { vec![(0, 0), (0, 1), (1, 0), (1, 1)] } else { Vec::new() },
        tunable: vec!["q".into(), "p".into()],
        abilities,
        ..Interface::default()
    };
    Ok(Box::new(Ramp { interface, state: Memory::new([0.0; 6]), factor: 1.0 }))
}

const RAMP: SourceEntry = SourceEntry {
    name: "ramp",
    summary: "ramps that hear each other",
    claims: |source| source.starts_with("ramp:"),
    open,
    parameters: |_, _| Vec::new(),
    models: Vec::new,
    join: None,
};

fn registry() -> Registry {
    let mut registry = cosimo::registry();
    registry.add_source(&RAMP);
    registry
}

fn planned(text: &str) -> Result<Plan, Vec<Problem>> {
    let (system, problems) = toml::read(text, Path::new("."), &registry());
    assert_eq!(problems, [], "{text}");
    plan(&system, &registry())
}

fn start(text: &str) -> Run {
    Run::new(planned(text).unwrap_or_else(|problems| panic!("{problems:#?}")), 1).unwrap()
}

/// Both hear both outputs of the other, and `c` hears `a.y`.
fn ring(kind: &str, method: &str) -> String {
    format!(
        "experiment.stop = 1.0\nmethod.step.size = 0.25\n{method}\n\
         component.a.source = 'ramp:{kind}'\ncomponent.b.source = 'ramp:{kind}'\ncomponent.c.source = 'ramp:sum'\n\
         connection = [{{ from = 'b.y', to = 'a.u' }}, {{ from = 'b.z', to = 'a.v' }}, {{ from = 'a.y', to = 'b.u' }}, \
         {{ from = 'a.z', to = 'b.v' }}, {{ from = 'a.y', to = 'c.u' }}]\n"
    )
}

fn near(found: f64, wanted: f64, words: &str) {
    assert!((found - wanted).abs() < 1e-9, "{words}: {found} instead of {wanted}");
}

/// With s = y + z: s = s / 2 + 3 (1 + t), so that y = 2.5 (1 + t) and z = 3.5 (1 + t).
#[test]
fn a_loop_of_two_unknowns_is_solved_in_values_and_slopes() {
    for (kind, input) in
        [("loop", "taylor"), ("loop", "hermite"), ("loop", "hold"), ("loop-declared", "hold")]
    {
        let method = format!(
            "method.exchange = 'fresh'\nmethod.input = {{ default = 'hold', 'a.u' = '{input}', 'a.v' = '{input}', \
             'b.u' = '{input}', 'b.v' = '{input}', 'c.u' = '{input}' }}"
        );
        let mut run = start(&ring(kind, &method));
        let (mut held, mut before) = (0.0, 0.0);
        loop {
            let t = run.time().seconds();
            for (path, factor) in [("a.y", 2.5), ("a.z", 3.5), ("b.y", 2.5), ("b.z", 3.5)] {
                near(run.output(path).unwrap(), factor * (1.0 + t), &format!("{kind} {input} {path} at {t}"));
            }
            // What others hear of it goes on as the slopes of the solution say.
            held += 2.5 * (1.0 + before) * (t - before);
            let integral = if input == "hold" { held } else { 2.5 * (t + 0.5 * t * t) };
            near(run.output("c.x").unwrap(), integral, &format!("{kind} {input} at {t}"));
            before = t;
            if run.finished() {
                break;
            }
            run.step().unwrap();
        }
        let residuals = run.loop_residuals();
        assert!(!residuals.is_empty(), "{kind}");
        for residual in residuals {
            assert!(residual.start.unwrap() < 1e-9 && residual.later.unwrap() < 1e-9, "{residual:?}");
            assert!(residual.relative() < 1e-9);
            let last = [5.0, 7.0].into_iter().any(|last| (residual.largest - last).abs() < 1e-9);
            assert!(last, "{residual:?}");
        }
    }
}

#[test]
fn a_residual_is_a_part_of_the_largest_value() {
    let residual = |start, later| cosimo::engine::LoopResidual {
        path: String::new(),
        input: String::new(),
        start,
        later,
        largest: 8.0,
    };
    assert_eq!(residual(Some(2.0), Some(1.0)).relative(), 0.25);
    assert_eq!(residual(None, Some(4.0)).relative(), 0.5);
    assert_eq!(residual(Some(0.0), None).relative(), 0.0);
}

/// The factor of `a` and `b` is the output of a ramp of its own, times -0.1 and plus 1: it is one at the start.
#[test]
fn parameters_follow_outputs() {
    let text = "experiment.stop = 1.0\nmethod.step.size = 0.25\ncomponent.a.source = 'ramp:loop'\n\
         component.c = { source = 'ramp:sum', start = { u = 4.0 } }\n";
    let follows = |wires: &str| format!("{text}connection = [{wires}]\n");
    let mut run = start(&follows("{ from = 'c.x', to = 'a.p', gain = -0.1, offset = 1.5 }"));
    loop {
        // The integral of 4; a hears nothing, so that only its ramp shows and its inputs of 0.
        let t = run.time().seconds();
        near(run.output("c.x").unwrap(), 4.0 * t, "the source");
        near(run.output("a.y").unwrap(), 1.0 + t, "no input, no factor");
        if run.finished() {
            break;
        }
        run.step().unwrap();
    }
    let heard = "component.b = { source = 'ramp:loop', start = { u = 8.0, v = 0.0 } }\n";
    let text = format!("{heard}{}", follows("{ from = 'c.x', to = 'b.p', gain = -0.25, offset = 1.5 }"));
    let mut run = start(&text);
    loop {
        let t = run.time().seconds();
        near(run.output("b.y").unwrap(), 2.0 * (1.5 - t) + 1.0 + t, "at once");
        if run.finished() {
            break;
        }
        run.step().unwrap();
    }
    let refused = |wires: &str| {
        let problems = planned(&follows(wires)).map(|_| ()).unwrap_err();
        problems.into_iter().map(|problem| problem.code).collect::<Vec<_>>()
    };
    let twice = "{ from = 'c.x', to = 'a.p' }, { from = 'c.x', to = 'a.p', gain = 2.0 }";
    assert_eq!(refused(twice), ["plan/driven-twice"]);
    assert_eq!(refused("{ from = 'c.q', to = 'a.p' }"), ["plan/unknown-port"]);
    // Two parameters of one name belong to two components.
    start(&follows("{ from = 'c.x', to = 'a.p' }, { from = 'a.y', to = 'c.p' }"));
}

#[test]
fn patterns_choose_columns_and_time_stays() {
    let columns = |variables: &str| {
        let text = format!("{}results.variables = [{variables}]\n", ring("loop-declared", ""));
        let mut run = start(&text);
        let memory = Recorded::default();
        run.record(Box::new(memory.clone())).unwrap();
        run.step().unwrap();
        memory.table().columns.names.clone()
    };
    assert_eq!(columns("'a.y'"), ["time", "a.y"]);
    assert_eq!(columns("'c.*', 'b.z'"), ["time", "b.z", "c.x", "c.u"]);
    assert_eq!(columns("'c.*', '!c.u'"), ["time", "c.x"]);
    let unknown = format!("{}results.variables = ['d.*']\n", ring("loop-declared", ""));
    let problems = planned(&unknown).map(|_| ()).unwrap_err();
    assert!(problems.iter().any(|problem| problem.code == "plan/results"));
}

#[test]
fn a_system_is_coupled_where_something_drives_an_input() {
    let alone = "experiment.stop = 1.0\nmethod.step.size = 0.25\ncomponent.c = { source = 'ramp:sum' }\n";
    assert!(!start(alone).summary().coupled);
    assert!(start(&ring("loop-declared", "")).summary().coupled);
    let mut run = start(alone);
    assert_eq!(run.summary().mean_step, 0.0);
    run.step().unwrap();
    run.step().unwrap();
    assert_eq!((run.summary().mean_step, run.summary().counters.steps, run.summary().time), (0.25, 2, 0.5));
}

#[test]
fn parameters_and_inputs_are_set_between_steps() {
    let text = "experiment.stop = 1.0\nmethod.step.size = 0.25\n\
         component.a = { source = 'ramp:loop', start = { u = 8.0, v = 0.0 } }\n\
         component.b = { source = 'ramp:loop', start = { u = 8.0, v = 0.0 } }\n";
    let mut run = Run::new(planned(text).unwrap().open_to_changes(), 1).unwrap();
    run.step().unwrap();
    let both = |run: &Run| ["a.y", "b.y"].map(|path| run.output(path).unwrap());
    assert_eq!(both(&run), [3.25, 3.25]);
    run.set_parameter("a.q", 9.0).unwrap();
    assert_eq!(both(&run), [3.25, 3.25]);
    run.set_parameter("b.p", 3.0).unwrap();
    assert_eq!(both(&run), [3.25, 7.25]);
    run.set_inputs(&[("b.v", 4.0)]).unwrap();
    assert_eq!((both(&run), run.input("b.v"), run.input("a.v")), ([3.25, 10.25], Some(4.0), Some(0.0)));
    run.step().unwrap();
    assert_eq!(both(&run), [3.5, 10.5]);
    assert!(run.set_parameter("a.r", 1.0).is_err() && run.set_parameter("c.p", 1.0).is_err());
    assert!(run.set_inputs(&[("b.v", f64::NAN)]).is_err() && run.set_inputs(&[("b.w", 1.0)]).is_err());
    let mut closed = start(text);
    assert!(closed.set_parameter("a.p", 1.0).is_err() && closed.set_inputs(&[("a.u", 1.0)]).is_err());
}
