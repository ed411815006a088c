//! Clocks of every kind, on an FMU that refuses ticks at other instants than due, steps over a tick, and questions in the
//! wrong mode (`fixtures/clocks3.c`, which says what ticks when). Instants are computed by hand here.

use std::fs;
use std::path::{Path, PathBuf};

use cosimo::engine::{Run, plan};
use cosimo::record::{MemoryRecorder, Table};

use crate::common::{archive, folder, library, open};

const DESCRIPTION: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<fmiModelDescription fmiVersion="3.0" modelName="clocks" instantiationToken="{clocks}" generationTool="by hand">
  <CoSimulation modelIdentifier="clocks" canHandleVariableCommunicationStepSize="true" hasEventMode="true"
    canGetAndSetFMUState="true"/>
  <LogCategories><Category name="logStatusError"/></LogCategories>
  <ModelVariables>
    <Clock name="fixed" valueReference="0" causality="input" variability="discrete" intervalVariability="fixed"/>
    <Clock name="tuned" valueReference="1" causality="input" variability="discrete" intervalVariability="tunable"/>
    <Clock name="paced" valueReference="2" causality="input" variability="discrete" intervalVariability="changing"/>
    <Clock name="grid" valueReference="3" causality="input" variability="discrete" intervalVariability="constant"
      intervalDecimal="0.3333" intervalCounter="1" shiftDecimal="0.3333" shiftCounter="1" resolution="3"/>
    <Clock name="once" valueReference="4" causality="input" variability="discrete" intervalVariability="countdown"/>
    <Clock name="heard" valueReference="5" causality="input" variability="discrete" intervalVariability="triggered"/>
    <Clock name="rings" valueReference="6" causality="output" variability="discrete" intervalVariability="triggered"/>
    <Float64 name="every" valueReference="10" causality="parameter" variability="tunable" start="0.4"/>
    <Float64 name="shift" valueReference="11" causality="parameter" variability="fixed" start="0.1"/>
    <Float64 name="first" valueReference="12" causality="parameter" variability="fixed" start="0.2"/>
    <Float64 name="sample" valueReference="13" causality="input" variability="discrete" start="0" clocks="5"/>
    <Float64 name="sampled" valueReference="14" causality="output" variability="discrete" clocks="5"/>
    <Float64 name="n_fixed" valueReference="20" causality="output" variability="discrete" clocks="0"/>
    <Float64 name="n_tuned" valueReference="21" causality="output" variability="discrete" clocks="1"/>
    <Float64 name="n_paced" valueReference="22" causality="output" variability="discrete" clocks="2"/>
    <Float64 name="n_grid" valueReference="23" causality="output" variability="discrete" clocks="3"/>
    <Float64 name="n_once" valueReference="24" causality="output" variability="discrete" clocks="4"/>
    <Float64 name="n_heard" valueReference="25" causality="output" variability="discrete" clocks="5"/>
  </ModelVariables>
  <ModelStructure>
    <Output valueReference="6" dependencies=""/>
    <Output valueReference="14" dependencies="13"/>
    <Output valueReference="20" dependencies=""/>
    <Output valueReference="21" dependencies=""/>
    <Output valueReference="22" dependencies=""/>
    <Output valueReference="23" dependencies=""/>
    <Output valueReference="24" dependencies=""/>
    <Output valueReference="25" dependencies=""/>
  </ModelStructure>
</fmiModelDescription>
"#;

fn build_clocks_fmu(name: &str) -> PathBuf {
    described(name, DESCRIPTION)
}

fn described(name: &str, description: &str) -> PathBuf {
    let folder = folder(name);
    library("clocks3.c", &[], &folder.join("clocks.so"));
    let binary = fs::read(folder.join("clocks.so")).unwrap();
    let entries: [(&str, &[u8]); 2] =
        [("modelDescription.xml", description.as_bytes()), ("binaries/x86_64-linux/clocks.so", &binary)];
    archive(&folder.join("clocks.fmu"), &entries);
    folder
}

fn start(folder: &Path, text: &str) -> Run {
    acted(folder, text, "")
}

/// With a scenario.
fn acted(folder: &Path, text: &str, actions: &str) -> Run {
    let registry = cosimo::registry();
    let (mut system, problems) = cosimo::system::toml::read(text, folder, &registry);
    assert!(problems.is_empty(), "{problems:#?} in\n{text}");
    if !actions.is_empty() {
        let (scenario, problems) = cosimo::system::scenario::read(actions);
        assert!(problems.is_empty(), "{problems:#?} in\n{actions}");
        system.scenario = Some(scenario);
    }
    Run::new(plan(&system, &registry).unwrap_or_else(|problems| panic!("{problems:#?}")), 1).unwrap()
}

fn table(mut run: Run) -> Table {
    let memory = MemoryRecorder::default();
    run.record(Box::new(memory.clone())).unwrap();
    while !run.finished() {
        run.step().unwrap();
    }
    run.finish().unwrap();
    memory.table()
}

/// When a count rises, and by how much: its clock ticked there.
fn rises(table: &Table, name: &str) -> Vec<(f64, f64)> {
    let (times, counts) = (table.column("time").unwrap(), table.column(name).unwrap());
    let mut before = 0.0;
    let rows = times.iter().zip(counts);
    rows.filter_map(|(t, count)| {
        let by = count - std::mem::replace(&mut before, *count);
        (by != 0.0).then_some((*t, by))
    })
    .collect()
}

#[track_caller]
fn ticks(table: &Table, name: &str, wanted: &[(f64, f64)]) {
    let found = rises(table, name);
    let near = |((a, by), (b, wanted)): (&(f64, f64), &(f64, f64))| (a - b).abs() < 1e-9 && by == wanted;
    assert!(
        found.len() == wanted.len() && found.iter().zip(wanted).all(near),
        "{name}: {found:?}, not {wanted:?}"
    );
}

fn each(instants: &[f64]) -> Vec<(f64, f64)> {
    instants.iter().map(|t| (*t, 1.0)).collect()
}

const ALONE: &str = "[component.fmu]\nsource = \"clocks.fmu\"\n";

/// Whatever the steps are: 0.25 s are no multiple of anything, 2 s longer than everything.
#[test]
fn every_kind_of_clock_ticks_when_the_fmu_says() {
    let folder = build_clocks_fmu("clocks-kinds");
    for step in [0.05, 0.25, 2.0] {
        let text = format!("[experiment]\nstop = 2\n{ALONE}[method]\nstep = {{ size = {step:?} }}\n");
        let table = table(start(&folder, &text));
        ticks(&table, "fmu.n_fixed", &each(&[0.1, 0.5, 0.9, 1.3, 1.7]));
        ticks(&table, "fmu.n_tuned", &each(&[0.0, 0.4, 0.8, 1.2, 1.6, 2.0]));
        // After 0.2, 0.3, 0, 0.5, 0.3, 0 and 0.5 s: an interval of 0 is a second tick at the same instant.
        ticks(&table, "fmu.n_paced", &[(0.2, 1.0), (0.5, 2.0), (1.0, 1.0), (1.3, 2.0), (1.8, 1.0)]);
        // Thirds of a second are counts of a resolution, and not what their decimals round to.
        let thirds: Vec<f64> = (1..=6).map(|k| f64::from(k) / 3.0).collect();
        ticks(&table, "fmu.n_grid", &each(&thirds));
        ticks(&table, "fmu.n_once", &each(&[0.15]));
        ticks(&table, "fmu.n_heard", &[]);
    }
}

#[test]
fn parameters_move_shifts_and_first_ticks_and_times_count_from_the_start() {
    let folder = build_clocks_fmu("clocks-parameters");
    let parameters = "parameters = { every = 0.5, shift = 0.0, first = 0.0 }\n";
    let text = format!(
        "[experiment]\nstart = 10\nstop = 11.2\n{ALONE}{parameters}[method]\nstep = {{ size = 0.2 }}\n"
    );
    let table = table(start(&folder, &text));
    ticks(&table, "fmu.n_fixed", &each(&[10.0, 10.5, 11.0]));
    ticks(&table, "fmu.n_tuned", &each(&[10.0, 10.5, 11.0]));
    ticks(&table, "fmu.n_paced", &[(10.0, 1.0), (10.3, 2.0), (10.8, 1.0), (11.1, 2.0)]);
    ticks(&table, "fmu.n_grid", &each(&[10.0 + 1.0 / 3.0, 10.0 + 2.0 / 3.0, 11.0]));
    ticks(&table, "fmu.n_once", &each(&[10.15]));
}

/// Tuned at an instant, the new interval counts from there; a tick that is due there is not lost.
#[test]
fn a_tuned_interval_counts_from_the_instant_of_the_change() {
    let folder = build_clocks_fmu("clocks-tuned");
    for (at, wanted) in
        [(1.0, &[0.0, 0.4, 0.8, 1.25, 1.5, 1.75, 2.0][..]), (1.2, &[0.0, 0.4, 0.8, 1.2, 1.45, 1.7, 1.95])]
    {
        let text = format!("[experiment]\nstop = 2\n{ALONE}[method]\nstep = {{ size = 0.1 }}\n");
        let action = format!("[[action]]\nat = {at:?}\nparameter = \"fmu.every\"\nto = 0.25\n");
        let table = table(acted(&folder, &text, &action));
        ticks(&table, "fmu.n_tuned", &each(wanted));
        // What was fixed at the start stays.
        ticks(&table, "fmu.n_fixed", &each(&[0.1, 0.5, 0.9, 1.3, 1.7]));
    }
}

/// The clock that one FMU gives is the clock of another, and what is sampled is what was there at that instant.
#[test]
fn a_clock_of_one_fmu_rings_in_another() {
    let folder = build_clocks_fmu("clocks-rung");
    for (step, partition) in [(0.1, "jacobi"), (0.25, "jacobi"), (0.5, "gauss-seidel"), (2.0, "jacobi")] {
        let text = format!(
            "[experiment]\nstop = 2\n[component.a]\nsource = \"clocks.fmu\"\n[component.b]\nsource = \"clocks.fmu\"\n\
             parameters = {{ shift = 0.05, first = 7.0, every = 0.7 }}\n\
             [[connection]]\nfrom = \"a.rings\"\nto = \"b.heard\"\n[[connection]]\nfrom = \"a.n_paced\"\nto = \"b.sample\"\n\
             [method]\npartition = \"{partition}\"\nstep = {{ size = {step:?} }}\n"
        );
        let table = table(start(&folder, &text));
        ticks(&table, "a.n_paced", &[(0.2, 1.0), (0.5, 2.0), (1.0, 1.0), (1.3, 2.0), (1.8, 1.0)]);
        // Two ticks at one instant are one to those who hear them.
        ticks(&table, "b.n_heard", &each(&[0.2, 0.5, 1.0, 1.3, 1.8]));
        ticks(&table, "b.sampled", &[(0.2, 1.0), (0.5, 2.0), (1.0, 1.0), (1.3, 2.0), (1.8, 1.0)]);
        ticks(&table, "b.n_fixed", &each(&[0.05, 0.75, 1.45]));
        ticks(&table, "b.n_paced", &[]);
    }
}

#[test]
fn clocks_that_never_tick_are_told() {
    let folder = described("clocks-silent", &DESCRIPTION.replace(" hasEventMode=\"true\"", ""));
    let warnings = open(&folder, "clocks.fmu", &[]).unwrap().interface().warnings.clone();
    let silent = |name: &str| format!("`{name}` never ticks: clocks need co-simulation with an event mode");
    let wanted = ["fixed", "tuned", "paced", "grid", "once", "heard", "rings"].map(silent);
    assert_eq!(warnings, wanted);
}
