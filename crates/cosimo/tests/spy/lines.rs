//! Units at the ends of lines: whatever they are told and asked inside of their steps, the standard allows it.

use cosimo::engine::Run;
use cosimo_test_fmus::{Design, Version};

use crate::record::{Allowed, violations};
use crate::units::{new_record, planned, take_record, unit};

#[test]
fn units_at_lines_hear_nothing_that_the_standard_forbids() {
    for (version, stretches) in [(Version::Two, false), (Version::Three, false), (Version::Three, true)] {
        let record = new_record();
        let [left, right] = ["left", "right"].map(|side| {
            let design = Design::new(&format!("native:spring-mass/{side}"), version);
            let design = if stretches { design.stretching_lines() } else { design.at_lines() };
            unit(&design.spying(), "lines").0
        });
        let steady = if stretches { "\"line.window\" = 0.005, \"line.tolerance\" = 0.1," } else { "" };
        let component = |name: &str, file: &str, more: &str| {
            format!(
                "component.{name} = {{ source = {file:?}, parameters = {{ {more} {steady} spy_file = {:?} }} }}\n",
                record.display().to_string()
            )
        };
        let text = format!(
            "experiment.stop = 0.03\n{}{}[[bond]]\nname = \"spring\"\na = {{ effort = \"left.e\", flow = \"left.f\" }}\n\
             b = {{ effort = \"right.e\", flow = \"right.f\" }}\nopposite = \"flow\"\n\
             line = {{ delay = 1e-4, stiffness = 1e3, control = \"steady-state\", \
             steady = {{ sliding-window = {{ window = 0.005, tolerance = 0.1 }} }} }}\n",
            component("left", &left, "t0 = 0.015,"),
            component("right", &right, ""),
        );
        let mut run = Run::new(planned(&text).unwrap(), 1).unwrap();
        while !run.finished() {
            run.step().unwrap();
        }
        let ends = run.net().unwrap().lines[0].ends.clone();
        assert!(ends.iter().all(|end| end.stats.grown > 0 && end.stats.shrunk > 0 && end.owned == stretches));
        drop(run);
        let calls = take_record(&record);
        let allowed = Allowed { get_after_set: true, overlap: false };
        let wrong = violations(&calls, allowed, |instance| instance.to_owned());
        assert!(wrong.is_empty(), "{version:?}, {stretches}:\n{}", wrong.join("\n"));
        // It said how long its line is before it tried a step.
        assert_eq!(calls.contains("fmi3DoStep, next step"), stretches);
    }
}
