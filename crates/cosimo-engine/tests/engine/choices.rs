//! Choices for single inputs and simulators, and simulators that stop before the end of a window. The simulator
//! kind is one of this test's own: kinds from outside the tree come in by the same list.

#![allow(clippy::unwrap_used, reason = "a test that cannot set itself up should fail loudly")]

use std::path::Path;

use cosimo::core::interface::{Abilities, Interface, Port};
use cosimo::core::registry::{OpenRequest, OpenResult};
use cosimo::core::simulator::{Memory, Rollback};
use cosimo::core::{
    Inputs, Outputs, Registry, Setup, Simulator, SimulatorError, SourceEntry, StepResult, Time, Window,
};
use cosimo::engine::{Run, RunError, plan};

/// Counts time. Stops at 0.25 s without having said so (`clock:stops`), or announces that instant beforehand
/// (`clock:announces`); `clock:stuck` stops too but cannot be rewound.
struct Clock {
    interface: Interface,
    announces: bool,
    clock: Memory<f64>,
}

const EVENT: f64 = 0.25;

impl Simulator for Clock {
    fn interface(&self) -> &Interface {
        &self.interface
    }
    fn initialize(&mut self, setup: &Setup) -> Result<(), SimulatorError> {
        self.clock.now = setup.start.seconds();
        Ok(())
    }
    fn set_inputs(&mut self, _: Time, _: &Inputs<'_>) -> Result<(), SimulatorError> {
        Ok(())
    }
    fn do_step(&mut self, window: Window, _: &Inputs<'_>) -> Result<StepResult, SimulatorError> {
        assert_eq!(
            window.from.seconds(),
            self.clock.now,
            "a rewound simulator starts where the window starts"
        );
        let crosses = self.clock.now < EVENT && window.to.seconds() > EVENT;
        assert!(!(crosses && self.announces), "an announced event was stepped over");
        self.clock.now = if crosses { EVENT } else { window.to.seconds() };
        let next_event = (self.announces && self.clock.now < EVENT).then(|| Time::new(EVENT).unwrap());
        Ok(StepResult { to: Time::new(self.clock.now).unwrap(), next_event, event: false, evaluations: 1 })
    }
    fn get_outputs(&mut self, out: &mut Outputs<'_>) -> Result<(), SimulatorError> {
        out.values[0] = self.clock.now;
        Ok(())
    }
    fn rollback(&mut self) -> Option<&mut dyn Rollback> {
        self.interface.abilities.rollback.then_some(&mut self.clock)
    }
}

fn open(request: &OpenRequest<'_>) -> OpenResult {
    let (announces, stuck) = (request.source == "clock:announces", request.source == "clock:stuck");
    let abilities = Abilities {
        early_return: !announces,
        rollback: !stuck,
        states: false,
        serialize_state: false,
        ..Abilities::NATIVE
    };
    let outputs = vec![Port::new("t", "s", "time")];
    let interface = Interface { outputs, abilities, ..Interface::default() };
    Ok(Box::new(Clock { interface, announces, clock: Memory::new(0.0) }))
}

const CLOCK: SourceEntry = SourceEntry {
    name: "clock",
    summary: "counts time",
    claims: |source| source.starts_with("clock:"),
    open,
    parameters: |_, _| Vec::new(),
    models: Vec::new,
    join: None,
};

fn registry() -> Registry {
    let mut registry = cosimo::registry();
    registry.add_source(&CLOCK);
    registry
}

fn start(text: &str) -> Run {
    let registry = registry();
    let (system, problems) = cosimo::system::toml::read(text, Path::new("."), &registry);
    assert!(problems.is_empty(), "{problems:#?}");
    Run::new(plan(&system, &registry).unwrap_or_else(|found| panic!("{found:#?}")), 1).unwrap()
}

fn clock(source: &str) -> Run {
    start(&format!(
        "[experiment]\nstop = 0.5\n[component.c]\nsource = \"{source}\"\n[component.d]\nsource = \"clock:announces\"\n\
         [method]\nstep = {{ size = 0.1 }}\n"
    ))
}

fn times(run: &mut Run) -> Result<Vec<f64>, RunError> {
    let mut times = Vec::new();
    while !run.finished() {
        run.step()?;
        times.push(run.time().seconds());
    }
    Ok(times)
}

/// After the event the steps are as large as before it.
fn assert_hits_the_event(times: &[f64]) {
    let wanted = [0.1, 0.2, 0.25, 0.35, 0.45, 0.5];
    assert_eq!(times.len(), wanted.len(), "{times:?}");
    assert!(times.iter().zip(wanted).all(|(found, wanted)| (found - wanted).abs() < 1e-12), "{times:?}");
    assert_eq!(times[2], EVENT);
}

#[test]
fn an_announced_event_is_hit_exactly() {
    let mut run = clock("clock:announces");
    assert_hits_the_event(&times(&mut run).unwrap());
    assert_eq!(run.counters().events, 0, "nothing had to be rewound");
}

#[test]
fn a_step_that_stops_early_is_rewound_and_cut() {
    // Alone, so that the event is not announced.
    let mut run = start(
        "[experiment]\nstop = 0.5\n[component.c]\nsource = \"clock:stops\"\n[method]\nstep = { size = 0.1 }\n",
    );
    assert_hits_the_event(&times(&mut run).unwrap());
    assert_eq!(run.counters().events, 1);
}

#[test]
fn a_step_that_stops_early_fails_where_nobody_can_rewind() {
    let mut run = start(
        "[experiment]\nstop = 0.5\n[component.c]\nsource = \"clock:stuck\"\n[method]\nstep = { size = 0.1 }\n",
    );
    let error = times(&mut run).unwrap_err().to_string();
    assert_eq!(error, "simulator `c` stopped at t = 0.25 s while stepping 0.2 to 0.30000000000000004 s");
}

/// The dual mass with a method, and more lines on the left component.
fn dual_mass(left: &str, method: &str) -> (Vec<u64>, u64) {
    let mut run = start(&format!(
        "[experiment]\nstop = 2.0\n[component.left]\nsource = \"native:dual-mass/left-force\"\n{left}\n\
         [component.right]\nsource = \"native:dual-mass/right\"\n[[connection]]\nfrom = \"right.x\"\nto = \"left.x_far\"\n\
         [[connection]]\nfrom = \"right.v\"\nto = \"left.v_far\"\n[[connection]]\nfrom = \"left.f\"\nto = \"right.f\"\n\
         [method]\n{method}\n"
    ));
    times(&mut run).unwrap();
    (run.outputs().iter().map(|value| value.to_bits()).collect(), run.counters().steps)
}

#[test]
fn inputs_and_exchange_are_chosen_per_input() {
    let with = |line: &str| dual_mass("", &format!("{line}\nstep = {{ size = 0.02 }}")).0;
    for (axis, one, other) in [("input", "hold", "linear"), ("exchange", "stale", "fresh")] {
        let (all_one, all_other) =
            (with(&format!("{axis} = \"{one}\"")), with(&format!("{axis} = \"{other}\"")));
        let each = with(&format!(
            "{axis} = {{ default = \"{one}\", \"left.x_far\" = \"{other}\", \"left.v_far\" = \"{other}\", \"right.f\" = \"{other}\" }}"
        ));
        assert_eq!(each, all_other, "{axis}: naming every input is choosing for all");
        let some = with(&format!("{axis} = {{ default = \"{one}\", \"left.v_far\" = \"{other}\" }}"));
        assert!(some != all_one && some != all_other, "{axis}: one input alone makes a difference");
    }
}

#[test]
fn a_simulator_has_its_own_tolerance_and_weight() {
    let with = |left: &str, tolerance: &str, weight: &str| {
        let estimate =
            format!("{{ predictor-corrector = {{ tolerance = {tolerance}, weight = {weight} }} }}");
        dual_mass(
            left,
            &format!("step = {{ estimate = {estimate}, controller = \"i\", min = 1e-5, max = 0.1 }}"),
        )
    };
    // The force is by far the largest output, so the left component's settings decide.
    let own = with("tolerance = 1e-2\nweight = 1e-3", "1.0", "0.0");
    assert_eq!(own, with("", "1e-2", "1e-3"), "its own settings are used as if they were everybody's");
    assert!(own.1 > 2 * with("", "1.0", "0.0").1, "and they matter: {} steps", own.1);
}

/// A window that an event cut says nothing against larger ones: the step goes on as it was, and need not grow again.
#[test]
fn after_an_event_an_adaptive_step_is_as_large_as_before() {
    let mut run = start(
        "[experiment]\nstop = 0.5\n[component.c]\nsource = \"clock:announces\"\n\
         [method]\nstep = { size = 0.1, min = 0.01, max = 0.1, grow = 1.1, controller = \"pi\" }\n",
    );
    assert_hits_the_event(&times(&mut run).unwrap());
}
