//! Former names of keys are read as the names of today, with a warning for each.

use cosimo_system::overrides::apply;
use cosimo_system::{Overrides, Severity};

use super::registry::registry;
use super::{bare, good, read};

const TODAY: &str = r#"
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
        TODAY.replace("connection", "wire").replace("monolithic", "strong").replace("controller", "law");
    let (system, problems) = read(&former);
    assert_eq!(bare(system), bare(good(TODAY)));
    assert!(problems.iter().all(|found| found.severity != Severity::Error), "{problems:#?}");
    let told: Vec<_> = problems.iter().map(|found| found.hint.as_deref().unwrap_or_default()).collect();
    assert_eq!(
        told,
        ["write `connection`", "write `monolithic`", "write `controller`", "write `controller`"]
    );
    let places: Vec<_> = problems.iter().map(|found| &former[found.span.clone()]).collect();
    assert_eq!(places, ["wire", "strong", "law", "law"]);
}

#[test]
fn both_names_in_one_table_are_a_mistake() {
    let (_, problems) = read(&TODAY.replace("size = 0.1", "law = \"pi\""));
    let codes: Vec<_> = problems.iter().map(|found| (found.severity, found.code)).collect();
    assert_eq!(codes, [(Severity::Error, "system/unknown-key")]);
}

#[test]
fn a_former_axis_on_the_command_line_is_the_axis_of_today() {
    let [mut former, mut today] = [good(TODAY), good(TODAY)];
    for (system, axis) in [(&mut former, "law"), (&mut today, "controller")] {
        let overrides = Overrides { methods: vec![format!("{axis}=fixed")], ..Overrides::default() };
        assert_eq!(apply(system, &overrides, &registry()), []);
    }
    assert_eq!(former, today);
}
