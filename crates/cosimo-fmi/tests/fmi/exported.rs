//! The quarter car out of exported FMUs beside the native one: the same bits, whatever the version.

use cosimo::engine::{Run, plan};
use cosimo::record::{MemoryRecorder, Table};
use cosimo::system::System;
use cosimo_papers::ecco_nepce;
use cosimo_papers::fmu::ExportedFmus;

use crate::common::folder;

fn table(system: &System) -> Table {
    let plan = plan(system, &cosimo::registry()).unwrap_or_else(|problems| panic!("{problems:#?}"));
    let mut run = Run::new(plan, 1).unwrap();
    let memory = MemoryRecorder::default();
    run.record(Box::new(memory.clone())).unwrap();
    while !run.finished() {
        run.step().unwrap();
    }
    memory.table()
}

#[test]
fn exported_fmus_give_the_bits_of_the_native_models() {
    folder("exported"); // the tests' own cache of FMUs
    for version in [1, 2, 3] {
        let fmus = ExportedFmus::new(version).unwrap();
        // Constant steps in both reticulations, with and without corrections that read derivatives.
        for row in ["003/III/constant", "003/VII/constant", "000/4/NEPCE mod. a=0.95", "000/9/NEPCE a=0.4"] {
            if version == 1 && row.contains("mod.") {
                continue; // reads derivatives, which FMI 1.0 does not have
            }
            let system = ecco_nepce::system(row).unwrap();
            let mut exported = system.clone();
            fmus.replace(&mut exported).unwrap();
            let (native, foreign) = (table(&system), table(&exported));
            assert_eq!(native.columns, foreign.columns, "{row}");
            for (name, (native, foreign)) in
                native.columns.names.iter().zip(native.values.iter().zip(&foreign.values))
            {
                let bits = |column: &Vec<f64>| column.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
                assert_eq!(bits(native), bits(foreign), "{row}: {name}");
            }
        }
    }
}
