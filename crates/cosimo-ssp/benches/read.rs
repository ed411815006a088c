//! How long structures take to be read, planned and written, by their size. Times are what they are on this machine;
//! the last column shows whether they grow faster than the connections.
#![allow(clippy::unwrap_used)] // a benchmark that cannot set itself up should fail loudly

#[path = "../../cosimo-engine/tests/common/tap.rs"]
mod tap;

use std::fmt::Write;
use std::time::Instant;

use cosimo::core::Registry;
use cosimo::engine::plan;
use cosimo::ssp::SSP;
use cosimo::system::ReadOptions;

/// Components in a ring, each with so many outputs to the next; every tenth in a system of its own.
fn ring(components: usize, wires: usize) -> String {
    let mut text = String::from(
        "<ssd:SystemStructureDescription xmlns:ssd=\"http://ssp-standard.org/SSP1/SystemStructureDescription\" \
         xmlns:ssc=\"http://ssp-standard.org/SSP1/SystemStructureCommon\" version=\"1.0\" name=\"ring\">\n\
         <ssd:System name=\"ring\">\n<ssd:Elements>\n",
    );
    let outputs: Vec<String> = (0..wires).map(|wire| format!("y{wire}={wire}")).collect();
    let inputs: Vec<String> = (0..wires).map(|wire| format!("u{wire}")).collect();
    let source = format!("tap:{}|{}", outputs.join(" "), inputs.join(" "));
    let connectors: String = (0..wires)
        .map(|wire| {
            format!(
                "<ssd:Connector name=\"y{wire}\" kind=\"output\"/><ssd:Connector name=\"u{wire}\" kind=\"input\"/>\n"
            )
        })
        .collect();
    let connectors = format!("<ssd:Connectors>\n{connectors}</ssd:Connectors>");
    let component = |name: &str| {
        format!(
            "<ssd:Component name=\"{name}\" type=\"application/x-cosimo-native\" source=\"{source}\">{connectors}</ssd:Component>\n"
        )
    };
    let connection = |from: &str, y: &str, to: &str, u: &str| {
        let element = |word: &str, name: &str| match name {
            "" => String::new(),
            name => format!("{word}Element=\"{name}\" "),
        };
        format!(
            "<ssd:Connection {}startConnector=\"{y}\" {}endConnector=\"{u}\"/>\n",
            element("start", from),
            element("end", to)
        )
    };
    for index in 0..components {
        let name = format!("c{index}");
        if index % 10 > 0 {
            text.push_str(&component(&name));
            continue;
        }
        let _ = write!(
            text,
            "<ssd:System name=\"{name}\">{connectors}<ssd:Elements>{}</ssd:Elements>",
            component("in")
        );
        text.push_str("<ssd:Connections>\n");
        for wire in 0..wires {
            text.push_str(&connection("", &format!("u{wire}"), "in", &format!("u{wire}")));
            text.push_str(&connection("in", &format!("y{wire}"), "", &format!("y{wire}")));
        }
        text.push_str("</ssd:Connections></ssd:System>\n");
    }
    text.push_str("</ssd:Elements>\n<ssd:Connections>\n");
    for index in 0..components {
        let (from, to) = (format!("c{index}"), format!("c{}", (index + 1) % components));
        for wire in 0..wires {
            text.push_str(&connection(&from, &format!("y{wire}"), &to, &format!("u{wire}")));
        }
    }
    text.push_str(
        "</ssd:Connections>\n</ssd:System>\n<ssd:DefaultExperiment stopTime=\"1\"/>\n<ssd:Annotations>\
         <ssc:Annotation type=\"org.cosimo\"><c:system xmlns:c=\"urn:cosimo:ssp:1\">[method]\nstep = { size = 0.1 }\n\
         </c:system></ssc:Annotation></ssd:Annotations>\n</ssd:SystemStructureDescription>\n",
    );
    text
}

fn registry() -> Registry {
    let mut registry = cosimo::registry();
    registry.add_source(&tap::TAP);
    registry
}

fn main() {
    let registry = registry();
    let folder = std::env::temp_dir().join(format!("cosimo-ssp-bench-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    println!(
        "{:>10} {:>11} {:>8} {:>10} {:>10} {:>10} {:>14}",
        "components", "connections", "MB", "read s", "plan s", "write s", "read us/wire"
    );
    for (components, wires) in [(30, 10), (100, 10), (100, 100), (1000, 10), (1000, 100)] {
        let path = folder.join("ring.ssd");
        let text = ring(components, wires);
        std::fs::write(&path, &text).unwrap();
        let begun = Instant::now();
        let document = (SSP.read)(&path, &ReadOptions::default(), &registry).unwrap();
        let read = begun.elapsed().as_secs_f64();
        assert!(!document.has_errors(), "{:#?}", document.problems);
        assert_eq!(document.system.connections.len(), components * wires);
        let begun = Instant::now();
        let planned = plan(&document.system, &registry).map(|plan| plan.layout.topology.shape.inputs);
        let plan = begun.elapsed().as_secs_f64();
        assert_eq!(planned.unwrap(), components * wires);
        let begun = Instant::now();
        let again = cosimo::system::Document { rest: None, ..document };
        (SSP.write.unwrap())(&again, &folder.join("again.ssd"), &registry).unwrap();
        println!(
            "{components:>10} {:>11} {:>8.1} {read:>10.3} {plan:>10.3} {:>10.3} {:>14.2}",
            components * wires,
            text.len() as f64 / 1e6,
            begun.elapsed().as_secs_f64(),
            read / (components * wires) as f64 * 1e6
        );
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
