//! The library as a program uses it: one Simulation, observers, changes between steps, models out of closures.
#![allow(clippy::unwrap_used)] // helpers of tests are tests

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use cosimo::core::{Source, Time};
use cosimo::export::{Design, Version, built_library, write};
use cosimo::{Error, ErrorKind, Moment, Observer, RunEnd, RunStart, Simulation, native};

use crate::common;

#[path = "../../../../examples/rust/control_loop.rs"]
#[allow(dead_code)] // `main` is for people
mod control_loop;
#[path = "../../../../examples/rust/open_and_report.rs"]
#[allow(dead_code)]
mod open_and_report;
#[path = "../../../../examples/rust/own_model.rs"]
#[allow(dead_code)]
mod own_model;
#[path = "../../../../examples/rust/own_observer.rs"]
#[allow(dead_code)]
mod own_observer;

fn folder() -> PathBuf {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let folder = common::folder().join(format!("simulation-{number}"));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn quarter_car() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/quarter-car/system.toml")
}

fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|value| value.to_bits()).collect()
}

fn oscillator() -> impl native::Blueprint {
    native::ode(["F"], [("x", 0.0), ("v", 2.0)], |_t, x, u, dx| {
        dx[0] = x[1];
        dx[1] = u[0] - 4.0 * x[0];
    })
}

#[test]
fn observers_change_no_number() {
    let folder = folder();
    let registry = cosimo::registry();
    let what = [quarter_car().to_string_lossy().into_owned()];
    let loaded = cosimo::open::load(&what, &Default::default(), &registry).unwrap();
    let mut engine = cosimo::engine::Run::new(loaded.plan, 1).unwrap();
    engine.run_until(Time::new(4.0).unwrap()).unwrap();

    let (mut points, mut last) = (0, Vec::new());
    let outcome = Simulation::open(quarter_car())
        .unwrap()
        .report(folder.join("run.html"))
        .certificate(folder.join("run.json"))
        .record(folder.join("run.csv"))
        .record_in_memory()
        .on_step(|at| {
            points += 1;
            last = at.run().outputs().to_vec();
        })
        .run()
        .unwrap();
    assert_eq!(bits(&last), bits(engine.outputs()));
    assert_eq!(outcome.summary.counters, engine.counters());
    assert_eq!(points, outcome.summary.counters.steps + 1, "the start is the first point");
    let table = outcome.table.unwrap();
    assert_eq!(outcome.results, [(folder.join("run.csv"), table.rows() as u64)]);
    assert!(std::fs::read_to_string(folder.join("run.html")).unwrap().contains("strut"));
    assert!(std::fs::read_to_string(folder.join("run.json")).unwrap().contains("\"finished\""));
    assert!(!outcome.reference.is_empty(), "the system declares a reference");
}

#[test]
fn all_problems_come_at_once_with_code_place_and_remedy() {
    let missing = Simulation::open("no-such.toml").unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::File);
    let wrong = Simulation::open(quarter_car())
        .unwrap()
        .set("chassis.no_such", 1.0)
        .method("controller", "no-such")
        .connect("chassis.v", "nothing.u")
        .run()
        .unwrap_err();
    assert_eq!(wrong.kind(), ErrorKind::Input);
    assert!(wrong.problems().len() >= 3, "{wrong:#}");
    assert!(wrong.code().is_some());
    assert!(format!("{wrong:#}").lines().count() > 3, "remedies have lines of their own: {wrong:#}");
    assert!(!wrong.to_string().contains('\n'));
    let empty = Simulation::new().run().unwrap_err();
    assert!(empty.to_string().contains("no components"), "{empty}");
    let text = "[component.a]\nsource = \"native:dual-mass/right\"\n[method]\nlaw = 1\n";
    let file = folder().join("wrong.toml");
    std::fs::write(&file, text).unwrap();
    let placed = Simulation::open(&file).unwrap_err();
    let place = placed.place(&placed.problems()[1]);
    let place = place.unwrap_or_else(|| panic!("{placed:#}"));
    assert_eq!(place, (file.to_str().unwrap(), 4));
}

#[test]
fn closures_are_integrated_to_their_tolerance() {
    let mut run = Simulation::new().add("mass", oscillator()).step_size(0.1).stop_time(5.0).start().unwrap();
    let mut worst = 0.0f64;
    while !run.finished() {
        run.step().unwrap();
        // x'' = -4 x from x = 0, v = 2.
        let exact = (2.0 * run.time()).sin();
        worst = worst.max((run.get_output("mass.x").unwrap() - exact).abs());
    }
    assert!(worst < 1e-6, "{worst:e}");
}

#[test]
fn a_restored_run_repeats_every_bit() {
    let counter = || {
        native::discrete(["x"], [("F", 0.0)], 0u32, |count, _t, u, y| {
            *count += 1;
            y[0] = -0.1 * u[0] + f64::from(*count) * 1e-3;
        })
    };
    let simulation = Simulation::new().add("mass", oscillator()).add("controller", counter());
    let simulation = simulation.connect("mass.x", "controller.x").connect("controller.F", "mass.F");
    let mut run =
        simulation.method("schedule", "gauss-seidel").step_size(0.1).stop_time(4.0).start().unwrap();
    // Closures cannot be written to a file, so this run cannot be saved; the message says so.
    let refused = run.save().unwrap_err();
    assert!(refused.to_string().contains("cannot be saved"), "{refused}");
    run.run_until(1.0).unwrap();
    assert_eq!(run.engine().counters().steps, 10);

    let alone = Simulation::new().add("mass", oscillator()).step_size(0.1).stop_time(4.0);
    let mut run = alone.start().unwrap();
    run.run_until(1.0).unwrap();
    let saved = run.save().unwrap();
    run.run_until(3.0).unwrap();
    let first = bits(run.engine().outputs());
    run.restore(&saved).unwrap();
    assert_eq!(run.time(), 1.0);
    run.run_until(3.0).unwrap();
    assert_eq!(bits(run.engine().outputs()), first);
}

#[test]
fn a_discrete_closure_runs_once_per_step() {
    let counter = native::discrete(["u"], [("n", 0.0)], 0u32, |count, t, u, y| {
        *count += 1;
        y[0] = f64::from(*count) + t + u[0];
    });
    let mut run = Simulation::new().add("counter", counter).step_size(0.25).stop_time(1.0).start().unwrap();
    assert_eq!(run.get_output("counter.n").unwrap(), 0.0);
    run.set_input("counter.u", 100.0).unwrap();
    run.step().unwrap();
    assert_eq!(run.get_output("counter.n").unwrap(), 101.25);
    run.run_until(1.0).unwrap();
    assert_eq!(run.get_output("counter.n").unwrap(), 105.0);
    let outcome = run.finish();
    assert!(outcome.summary.finished && outcome.failure.is_none());
}

/// What is set from outside is what a scenario sets at the same instants.
#[test]
fn setting_inputs_and_parameters_is_what_a_scenario_does() {
    let folder = folder();
    let scenario = folder.join("scenario.toml");
    let text = "[[action]]\nat = 0.5\nset = \"left.x_far\"\nto = 0.3\n\
                [[action]]\nat = 0.75\nparameter = \"right.m2\"\nto = 3.0\n";
    std::fs::write(&scenario, text).unwrap();
    let system = || {
        Simulation::new()
            .add_source("left", "native:dual-mass/left-force")
            .add_source("right", "native:dual-mass/right")
            .bond("joint", ("left.f", "left.v_far"), ("right.f", "right.v"))
            .set("left.x_far", 0.0)
            .method("input", "linear")
            .step_size(1.0 / 64.0)
            .stop_time(1.0)
            .record_in_memory()
    };
    let planned = system().scenario(&scenario).run();
    let tunable = planned.as_ref().err().map(ToString::to_string);
    assert_eq!(tunable, None);
    let planned = planned.unwrap().table.unwrap();
    let mut run = system().start().unwrap();
    run.run_until(0.5).unwrap();
    run.set_input("left.x_far", 0.3).unwrap();
    assert_eq!(run.get_input("left.x_far").unwrap(), 0.3);
    run.set_input("left.x_far", 0.3).unwrap(); // changes nothing
    run.run_until(0.75).unwrap();
    run.set_parameter("right.m2", 3.0).unwrap();
    run.run_until(1.0).unwrap();
    let table = run.finish().table.unwrap();
    let time = table.column("time").unwrap();
    for name in table.columns.names.iter().filter(|name| !name.starts_with("scenario")) {
        // A scenario acts before the row is written; a change from outside comes after it and adds a second one.
        let (column, theirs) = (table.column(name).unwrap(), planned.column(name).unwrap());
        let last = |row: &usize| time.get(row + 1) != Some(&time[*row]);
        let ours: Vec<f64> = (0..time.len()).filter(last).map(|row| column[row]).collect();
        assert_eq!(time.len(), ours.len() + 2, "two changes");
        assert_eq!(bits(&ours), bits(theirs), "{name}");
    }
}

#[test]
fn what_cannot_be_set_is_refused_and_changes_nothing() {
    let mut run = Simulation::new()
        .add("mass", oscillator())
        .add("other", oscillator())
        .connect("other.x", "mass.F")
        .step_size(0.1)
        .stop_time(1.0)
        .start()
        .unwrap();
    let code = |result: Result<(), Error>| result.unwrap_err().code().unwrap();
    assert_eq!(code(run.set_input("mass.F", 1.0)), "run/connected-input");
    assert_eq!(code(run.set_input("mass.G", 1.0)), "plan/unknown-port");
    assert_eq!(code(run.set_inputs(&[("other.F", 1.0), ("other.F", f64::NAN)])), "run/not-finite-input");
    assert_eq!(run.get_input("other.F").unwrap(), 0.0, "all or none");
    assert_eq!(code(run.set_parameter("mass.m", 1.0)), "run/not-tunable");
    assert!(run.get_output("mass.z").is_err());
    let parameter = Simulation::new().add("mass", oscillator()).set("mass.k", 2.0).run().unwrap_err();
    assert!(format!("{parameter:#}").contains("`k`"), "{parameter:#}");
}

#[test]
fn a_run_is_resumed_from_its_file_as_if_it_had_never_stopped() {
    let folder = folder();
    let checkpoint = folder.join("run.checkpoint");
    let system = |rows: &str| {
        let simulation = Simulation::open(quarter_car()).unwrap().stop_time(1.0);
        simulation.record(folder.join(rows))
    };
    let whole = system("whole.csv").run().unwrap();
    let schedule = format!("interrupt,file={}", checkpoint.display()).parse().unwrap();
    let halves = system("halves.csv").checkpoint(schedule).on_step(|at| {
        if at.time() >= 0.4 {
            at.request_stop();
        }
    });
    let first = halves.run().unwrap();
    assert!(!first.summary.finished);
    assert_eq!(first.checkpoint.as_ref(), Some(&checkpoint));
    let saved = cosimo::checkpoint_file::CheckpointFile::read(&checkpoint).unwrap();
    let second = system("halves.csv").resume("run.checkpoint", saved).unwrap().run().unwrap();
    assert_eq!(second.summary.counters, whole.summary.counters);
    assert_eq!(second.from, first.summary.time);
    let bytes = |file: &str| std::fs::read(folder.join(file)).unwrap();
    assert!(bytes("halves.csv") == bytes("whole.csv"));
}

#[test]
fn a_simulation_can_be_sent_to_another_thread() {
    let mut largest = 0.0f64;
    let simulation = Simulation::new().add("mass", oscillator()).step_size(0.1).stop_time(1.0);
    let simulation = simulation.on_step(|at| largest = largest.max(at.value("mass.x").unwrap()));
    std::thread::scope(|scope| scope.spawn(|| simulation.run().unwrap().summary.time).join().unwrap());
    assert!(largest > 0.9);
}

#[derive(Default)]
struct Calls(Vec<&'static str>, bool);

impl Observer for Calls {
    fn begin(&mut self, _start: &RunStart<'_>) -> Result<(), Error> {
        self.0.push("begin");
        Ok(())
    }
    fn step(&mut self, at: &mut Moment<'_>) -> Result<(), Error> {
        self.0.push(if at.is_start() { "start" } else { "step" });
        if self.1 && at.time() > 0.15 {
            return Err(Error::new(ErrorKind::Run, "enough", None));
        }
        Ok(())
    }
    fn last(&mut self, _at: &mut Moment<'_>) -> Result<(), Error> {
        self.0.push("last");
        Ok(())
    }
    fn end(&mut self, end: &mut RunEnd<'_>) -> Result<(), Error> {
        self.0.push(match (end.started.is_some(), end.error.is_some()) {
            (true, false) => "end",
            (true, true) => "failed",
            (false, _) => "never",
        });
        Ok(())
    }
}

#[test]
fn observers_hear_how_each_run_ends() {
    let mass = || Simulation::new().add("mass", oscillator()).step_size(0.1).stop_time(0.2);
    let mut calls = Calls::default();
    mass().observe(&mut calls).run().unwrap();
    assert_eq!(calls.0, ["begin", "start", "step", "step", "last", "end"]);
    let mut failing = Calls(Vec::new(), true);
    let error = mass().observe(&mut failing).run().unwrap_err();
    assert_eq!((error.to_string().as_str(), error.kind()), ("enough", ErrorKind::Run));
    assert_eq!(failing.0, ["begin", "start", "step", "step", "failed"]);
    let mut never = Calls::default();
    let refused = mass().observe(&mut never).report("no/such/folder/run.html").run().unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::File);
    assert_eq!(never.0, ["begin", "never"]);
    let interrupted = AtomicBool::new(false);
    let stopped = mass().interrupted_by(&interrupted).on_step(|_| interrupted.store(true, Ordering::Relaxed));
    let outcome = stopped.run().unwrap();
    assert!(!outcome.summary.finished && outcome.summary.counters.steps == 0);
}

#[test]
fn files_are_written_over_nothing_that_is_read_or_written() {
    let file = quarter_car();
    let over = Simulation::open(&file).unwrap().report(&file).run().unwrap_err();
    assert!(over.to_string().contains("which the run reads"), "{over}");
    let both = folder().join("both.html");
    let twice = Simulation::open(&file).unwrap().report(&both).certificate(&both).run().unwrap_err();
    assert!(twice.to_string().contains("would both write"), "{twice}");
    assert!(!both.exists());
}

/// A kind of component that carries data, as a Python class or a trained model would.
struct Springs(Vec<f64>);

impl Source for Springs {
    fn name(&self) -> &str {
        "spring"
    }
    fn summary(&self) -> &str {
        "one of several springs"
    }
    fn claims(&self, source: &str) -> bool {
        source.starts_with("spring:")
    }
    fn open(&self, request: &cosimo::core::registry::OpenRequest<'_>) -> cosimo::core::registry::OpenResult {
        let place: usize = request.source["spring:".len()..].parse().unwrap();
        let stiffness = self.0[place];
        Ok(native::Blueprint::simulator(&native::ode(["v"], [("F", 0.0)], move |_t, _x, u, dx| {
            dx[0] = stiffness * u[0];
        })))
    }
}

#[test]
fn a_kind_of_component_may_carry_data() {
    let mut registry = cosimo::registry();
    registry.add_source(Springs(vec![1.0, 10.0]));
    let what = ["soft=spring:0".to_owned(), "stiff=spring:1".to_owned()];
    let simulation = Simulation::open_with(&what, Default::default(), registry).unwrap();
    let mut run = simulation.step_size(0.1).stop_time(1.0).start().unwrap();
    run.set_inputs(&[("soft.v", 1.0), ("stiff.v", 1.0)]).unwrap();
    run.run_until(1.0).unwrap();
    assert!((run.get_output("soft.F").unwrap() - 1.0).abs() < 1e-9);
    assert!((run.get_output("stiff.F").unwrap() - 10.0).abs() < 1e-8);
}

#[test]
fn the_programs_of_the_examples_run() {
    let folder = folder();
    open_and_report::example(&quarter_car(), &folder).unwrap();
    assert!(folder.join("run.html").exists() && folder.join("run.parquet").exists());
    let fmu = folder.join("right.fmu");
    write(&Design::new("native:dual-mass/right", Version::Three), &built_library().unwrap(), &fmu).unwrap();
    let outcome = own_model::example(&fmu).unwrap();
    assert!(outcome.summary.finished && outcome.summary.bonds.len() == 1);
    assert!(control_loop::example().unwrap() < 1e-3);
    let largest = own_observer::example(&quarter_car()).unwrap();
    assert!(largest.value > 0.0 && largest.time > 0.0);
}
