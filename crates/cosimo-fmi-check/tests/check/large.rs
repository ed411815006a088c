//! Descriptions of very many variables: what is done with each of them costs the same, however many there are.

use std::fmt::Write as _;
use std::fs;

use cosimo::core::Segment;
use cosimo_fmi_check::{Profile, validate};

use crate::common::{MASS2, MASS3, advance, archive, enter, folder, library, open};

/// The mass with so many more variables: outputs, parameters and locals.
fn description(version: u32, count: usize) -> String {
    let mut more = String::new();
    for number in 0..count {
        let (causality, start) = match number % 10 {
            0 => ("causality=\"output\"", ""),
            1 => ("causality=\"parameter\" variability=\"fixed\"", " start=\"1\""),
            _ => ("causality=\"local\"", ""),
        };
        let name = format!("name=\"plant.part[{number}].value\"");
        let about = "description=\"one of very many variables of a large plant model, each with its words\"";
        let _ = match version {
            2 => writeln!(
                more,
                "<ScalarVariable {name} valueReference=\"2\" {causality} {about}><Real{start}/></ScalarVariable>"
            ),
            _ => writeln!(
                more,
                "<Float64 {name} valueReference=\"{}\" {causality} {about}{start}/>",
                100 + number
            ),
        };
    }
    let text = if version == 2 { MASS2 } else { MASS3 };
    text.replace("</ModelVariables>", &format!("{more}</ModelVariables>"))
}

/// Time of the processor that this thread has used, in seconds.
fn used() -> f64 {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    text.split(' ').next().unwrap().parse::<f64>().unwrap() / 1e9
}

/// Opening, one step, and comparing with the standard.
fn cost(version: u32, count: usize) -> f64 {
    let folder = folder(&format!("large{version}-{count}"));
    let binary = folder.join("mass.so");
    library(&format!("fmi{version}.c"), &["-DTOKEN=\"{mass}\"", "-DMASS"], &binary);
    let place = if version == 2 { "linux64" } else { "x86_64-linux" };
    let inside = format!("binaries/{place}/mass.so");
    let text = description(version, count);
    let file = folder.join("mass.fmu");
    archive(&file, &[("modelDescription.xml", text.as_bytes()), (&inside, &fs::read(binary).unwrap())]);
    let begun = used();
    let mut mass = open(&folder, "mass.fmu", &[]).unwrap();
    assert_eq!(mass.interface().outputs.len(), 2 + count.div_ceil(10));
    assert_eq!(mass.locals().unwrap().list().len(), 9 * count / 10 + 6);
    enter(&mut *mass);
    advance(&mut *mass, 0.0, 0.1, &[Segment::ZERO]).unwrap();
    validate(&file, Profile::Lenient).unwrap();
    used() - begun
}

/// Four times as many may cost four times as much, and a little more for larger maps; by search it would be sixteen times.
#[test]
fn opening_and_validating_grows_with_the_number_of_variables_and_not_with_its_square() {
    for version in [2, 3] {
        let (small, large) = (cost(version, 10_000), cost(version, 40_000));
        assert!(large < 9.0 * small, "FMI {version}: {small} s for 10 000 variables, {large} s for 40 000");
    }
}
