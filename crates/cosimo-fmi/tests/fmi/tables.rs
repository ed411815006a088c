//! Tables that change tunable parameters while a run goes on.

use cosimo::core::Time;
use cosimo::engine::{Run, plan};
use cosimo::system::{Overrides, Severity, overrides};

use crate::common::{build_fmu, folder};

/// A constant force, and a mass that the table halves at 0.5: v = F t / m before and after.
#[test]
fn tunable_parameters_follow_their_columns() {
    for version in [2, 3] {
        let folder = folder(&format!("tuned-by-table{version}"));
        let (from, to) = match version {
            2 => (
                "variability=\"fixed\"><Real start=\"1\" unit=\"kg\"/>",
                "variability=\"tunable\"><Real start=\"1\" unit=\"kg\"/>",
            ),
            _ => (
                "variability=\"fixed\" start=\"1\" unit=\"kg\"/>",
                "variability=\"tunable\" start=\"1\" unit=\"kg\"/>",
            ),
        };
        build_fmu(&folder, version, "mass", &[(from, to)], &[]);
        std::fs::write(folder.join("in.csv"), "time,F,mass.m\n0,4,2\n0.5,4,1\n1,4,1\n").unwrap();
        let text = "[experiment]\nstop = 1.0\n[component.mass]\nsource = \"mass.fmu\"\n[method]\nstep = { size = 0.1 }\n";
        let registry = cosimo::registry();
        let begin = || {
            let (mut system, problems) = cosimo::system::toml::read(text, &folder, &registry);
            assert!(problems.is_empty(), "{problems:?}");
            let given = Overrides { input: Some("in.csv".into()), ..Overrides::default() };
            let problems = overrides::apply(&mut system, &given, &registry);
            assert!(problems.is_empty(), "{problems:?}");
            // It is what the table says when the FMU is initialised already.
            assert_eq!(system.components[1].parameters[0].0, "m");
            Run::new(plan(&system, &registry).unwrap_or_else(|problems| panic!("{problems:#?}")), 1).unwrap()
        };
        let mut run = begin();
        run.run_until(Time::new(0.7).unwrap()).unwrap();
        let saved = run.save().unwrap();
        run.run_until(Time::new(1.0).unwrap()).unwrap();
        let found = run.output("mass.v").unwrap();
        assert!((found - (2.0 * 0.5 + 4.0 * 0.5)).abs() < 1e-12, "version {version}: {found}");
        let mut again = begin();
        again.load(&saved).unwrap();
        again.run_until(Time::new(1.0).unwrap()).unwrap();
        assert_eq!(again.output("mass.v"), Some(found));
        // It is not a scenario of the user.
        assert!(run.scenario().is_none());
    }
}

#[test]
fn wires_to_parameters_that_may_not_change_are_refused_as_ever() {
    let folder = folder("tuned-fixed");
    build_fmu(&folder, 2, "mass", &[], &[]);
    std::fs::write(folder.join("in.csv"), "time,m\n0,2\n1,1\n").unwrap();
    let text = "[experiment]\nstop = 1.0\n[component.mass]\nsource = \"mass.fmu\"\n[component.in]\nsource = \"in.csv\"\n\
                [[connection]]\nfrom = \"in.m\"\nto = \"mass.m\"\n[method]\nstep = { size = 0.1 }\n";
    let registry = cosimo::registry();
    let (system, _) = cosimo::system::toml::read(text, &folder, &registry);
    let problems = plan(&system, &registry).unwrap_err();
    let errors = problems.iter().filter(|problem| problem.severity == Severity::Error);
    assert!(errors.into_iter().any(|problem| problem.code == "plan/unknown-port"), "{problems:?}");
}
