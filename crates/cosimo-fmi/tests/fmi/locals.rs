//! Variables inside FMUs in results: only where a pattern asks for them, and without a call where none does.

use std::path::Path;

use cosimo::engine::{Plan, Run, plan};
use cosimo::export::{Design, InterfaceType, Version, built_library, write};
use cosimo::record::{MemoryRecorder, Table};

use crate::common::{build_fmu, folder};

fn planned(folder: &Path, text: &str) -> Result<Plan, Vec<String>> {
    let registry = cosimo::registry();
    let (system, problems) = cosimo::system::toml::read(text, folder, &registry);
    assert!(problems.is_empty(), "{problems:?}");
    plan(&system, &registry).map_err(|problems| problems.into_iter().map(|problem| problem.message).collect())
}

fn rows(plan: Plan, threads: usize) -> Table {
    let mut run = Run::new(plan, threads).unwrap();
    let memory = MemoryRecorder::default();
    run.record(Box::new(memory.clone())).unwrap();
    while !run.finished() {
        run.step().unwrap();
    }
    run.finish().unwrap();
    memory.table()
}

fn column<'t>(table: &'t Table, name: &str) -> &'t [f64] {
    let place = table.columns.names.iter().position(|known| known == name);
    &table.values[place.unwrap_or_else(|| panic!("{name} of {:?}", table.columns.names))]
}

/// Two masses, of which one is heavier.
fn masses(patterns: &str, every: &str) -> String {
    format!(
        "[experiment]\nstop = 0.5\n[results]\nvariables = [{patterns}]\n{every}\n\
         [component.a]\nsource = \"mass.fmu\"\n[component.b]\nsource = \"mass.fmu\"\nparameters = {{ m = 2.0 }}\n\
         [method]\nstep = {{ size = 0.1 }}"
    )
}

#[test]
fn locals_and_parameters_of_fmus_for_co_simulation_are_recorded() {
    for version in [2, 3] {
        let folder = folder(&format!("locals{version}"));
        build_fmu(&folder, version, "mass", &[], &[]);
        for threads in [1, 2] {
            let table =
                rows(planned(&folder, &masses("\"?.x\", \"b.count\", \"*.m\"", "")).unwrap(), threads);
            assert_eq!(table.columns.names, ["time", "a.x", "b.x", "a.m", "b.m", "b.count"]);
            assert_eq!(column(&table, "b.count"), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
            assert_eq!(column(&table, "a.m"), [1.0; 6]);
            assert_eq!(column(&table, "b.m"), [2.0; 6]);
            assert_eq!(table.columns.units[3], "kg");
        }
        // Read where a row is written, the last one included.
        let table = rows(planned(&folder, &masses("\"b.count\"", "every = 0.2")).unwrap(), 1);
        assert_eq!(column(&table, "b.count"), [0.0, 2.0, 4.0, 5.0]);
        // What only leaves out asks for nothing inside, and neither does nothing.
        for patterns in ["\"!a.*\"", ""] {
            let table = rows(planned(&folder, &masses(patterns, "")).unwrap(), 1);
            assert!(!table.columns.names.iter().any(|name| name.ends_with(".count")), "{:?}", table.columns);
        }
        // Integers but for the count cannot be read of these FMUs.
        let all = masses("\"*\", \"!a.*\", \"!b.x0\"", "");
        let run = Run::new(planned(&folder, &all).unwrap(), 1).unwrap();
        let words: Vec<&str> = run.warnings().iter().map(|warning| warning.message.as_str()).collect();
        let words: Vec<&str> = words.into_iter().filter(|words| words.contains("recorded")).collect();
        let expected = "component `b`: these variables cannot be read from the FMU and are recorded as NaN: ";
        assert_eq!(words, [format!("{expected}`fault`, `sign`")]);
        let table = rows(planned(&folder, &all).unwrap(), 1);
        assert!(column(&table, "b.fault").iter().all(|value| value.is_nan()));
        assert_eq!(column(&table, "b.count"), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
        let inside: Vec<&str> = table.columns.names.iter().map(String::as_str).collect();
        assert_eq!(inside[inside.len() - 5..], ["b.m", "b.v0", "b.fault", "b.sign", "b.count"], "{inside:?}");
        let message = planned(&folder, &masses("\"b.cont\"", "")).unwrap_err();
        assert_eq!(message, ["no variable matches `b.cont`"]);
    }
}

#[test]
fn equations_show_their_derivatives_alone_and_joined() {
    for version in Version::ALL {
        let folder = folder(&format!("locals-exchange{}", version.text()));
        let library = built_library().unwrap();
        for name in ["left", "right-force"] {
            let design =
                Design::new(&format!("native:dual-mass/{name}"), version).kind(InterfaceType::ModelExchange);
            write(&design, &library, &folder.join(format!("{name}.fmu"))).unwrap();
        }
        let text = |strong: &str| {
            format!(
                "[experiment]\nstop = 0.5\n[results]\nvariables = [\"left.*\"]\n\
                 [component.left]\nsource = \"left.fmu\"\nparameters = {{ v10 = 2.0 }}\n\
                 [component.right]\nsource = \"right-force.fmu\"\n\
                 [[connection]]\nfrom = \"left.x\"\nto = \"right.x_far\"\n[[connection]]\nfrom = \"left.v\"\nto = \"right.v_far\"\n\
                 [[connection]]\nfrom = \"right.f\"\nto = \"left.f\"\n{strong}[method]\nstep = {{ size = 0.01 }}"
            )
        };
        for strong in ["", "[monolithic.whole]\ncomponents = [\"left\", \"right\"]\n"] {
            let table = rows(planned(&folder, &text(strong)).unwrap(), 1);
            let derivative = table.columns.names.iter().find(|name| name.contains("der(")).unwrap().clone();
            // The derivative of the displacement is the velocity.
            assert_eq!(column(&table, &derivative), column(&table, "left.v"), "{derivative}");
        }
    }
}
