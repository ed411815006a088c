//! Former names of keys are read as the present ones, with a warning for each.

use cosimo_system::overrides::apply;
use cosimo_system::{Overrides, Severity};

use super::registry::registry;
use super::{bare, good, read};

const PRESENT: &str = r#"
[experiment]
stop = 1.0
[component.a]
source = "native:a"
[component.b]
source = "native:b"
[[connection]]
from = "a.y"
to = "b.u"
[monolithic.both]
components = ["a", "b"]
[method]
step = { size = 0.1, controller = "pi" }
[island.one]
components = ["a"]
step = { controller = "pi" }
"#;

#[test]
fn former_names_are_the_same_system_with_a_warning_each() {
    let former =
        PRESENT.replace("connection", "wire").replace("monolithic", "strong").replace("controller", "law");
    let (system, problems) = read(&former);
    assert_eq!(bare(system), bare(good(PRESENT)));
    assert!(problems.iter().all(|found| found.severity != Severity::Error), "{problems:#?}");
    let hints: Vec<_> = problems.iter().map(|found| found.hint.as_deref().unwrap_or_default()).collect();
    assert_eq!(
        hints,
        ["write `connection`", "write `monolithic`", "write `controller`", "write `controller`"]
    );
    let places: Vec<_> = problems.iter().map(|found| &former[found.span.clone()]).collect();
    assert_eq!(places, ["wire", "strong", "law", "law"]);
}

#[test]
fn both_names_in_one_table_are_an_error() {
    let (_, problems) = read(&PRESENT.replace("size = 0.1", "law = \"pi\""));
    let codes: Vec<_> = problems.iter().map(|found| (found.severity, found.code)).collect();
    assert_eq!(codes, [(Severity::Error, "system/unknown-key")]);
}

#[test]
fn a_former_axis_on_the_command_line_is_renamed() {
    let [mut former, mut present] = [good(PRESENT), good(PRESENT)];
    for (system, axis) in [(&mut former, "law"), (&mut present, "controller")] {
        let overrides = Overrides { methods: vec![format!("{axis}=fixed")], ..Overrides::default() };
        assert_eq!(apply(system, &overrides, &registry()), []);
    }
    assert_eq!(former, present);
}
