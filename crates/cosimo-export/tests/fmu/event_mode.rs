//! Events in co-simulation: handled by the importer in the event mode of FMI 3.0, or inside a step.

use std::ptr::null_mut;

use cosimo_test_fmus::{Design, InterfaceType, Variant, Version};

use crate::load::{Fmu, folder};

/// Rises by one at every whole second.
fn stair(version: Version) -> Fmu {
    Fmu::of(&Design::new("native:stair", version))
}

/// By an importer with event mode.
fn events(early_return: bool) -> Fmu {
    Fmu::with(&Design::new("native:stair", Version::Three), InterfaceType::CoSimulation, (true, early_return))
}

const NOTHING: [bool; 3] = [false; 3];
const EVENT: [bool; 3] = [true, false, false];
const EARLY_EVENT: [bool; 3] = [true, false, true];

#[test]
fn steps_end_early_at_events_and_the_importer_handles_them() {
    let fmu = events(true);
    fmu.start();
    assert_eq!(fmu.try_step(0.0, 0.1, false), 3, "initialisation ends in event mode");
    assert_eq!(fmu.enter_step(), 3);
    assert_eq!(fmu.update().unwrap().next, Some(1.0));
    assert_eq!(fmu.enter_step(), 0, "{}", fmu.last_log());
    assert_eq!(fmu.step_until(0.0, 0.5), (0, NOTHING, 0.5));
    assert_eq!(fmu.step_until(0.5, 2.0), (0, EARLY_EVENT, 1.0));
    // Until it is handled, the event has not happened, and nothing goes on.
    assert_eq!((fmu.get_count("level"), fmu.get("time")), (0, 1.0));
    assert_eq!(fmu.step_until(1.0, 0.5).0, 3);
    assert!(
        fmu.last_log().ends_with("the event at the end of the last step must be handled in event mode first"),
        "{}",
        fmu.last_log()
    );
    assert_eq!(fmu.enter_event(), 0);
    assert_eq!(fmu.update().unwrap().next, Some(2.0));
    assert_eq!((fmu.get_count("level"), fmu.enter_step()), (1, 0));
    // A step that ends at the event is not early.
    assert_eq!(fmu.step_until(1.0, 1.0), (0, EVENT, 2.0));
    assert_eq!(fmu.enter_event(), 0);
    assert_eq!((fmu.update().unwrap().next, fmu.enter_step()), (Some(3.0), 0));
    // An event that is the importer's own changes nothing here.
    assert_eq!(fmu.step_until(2.0, 0.25), (0, NOTHING, 2.25));
    assert_eq!(fmu.enter_event(), 0);
    assert_eq!((fmu.update().unwrap().next, fmu.enter_step()), (Some(3.0), 0));
    assert_eq!(fmu.get_count("level"), 2);
    assert_eq!((fmu.terminate(), fmu.environment.log.len()), (0, 3));
}

#[test]
fn without_early_return_events_inside_a_step_are_handled_there() {
    let fmu = events(false);
    fmu.start();
    assert_eq!((fmu.update().unwrap().needed, fmu.enter_step()), (false, 0));
    assert_eq!(fmu.step_until(0.0, 2.5), (0, NOTHING, 2.5));
    assert_eq!(fmu.get_count("level"), 2);
    assert_eq!(fmu.step_until(2.5, 0.5), (0, EVENT, 3.0));
    assert_eq!((fmu.get_count("level"), fmu.enter_event()), (2, 0));
    assert_eq!((fmu.update().unwrap().next, fmu.get_count("level")), (Some(4.0), 3));
}

#[test]
fn without_event_mode_all_events_are_handled_inside() {
    for version in Version::ALL {
        let fmu = stair(version);
        fmu.set("period", 0.1);
        fmu.start();
        for step in 0..10 {
            fmu.step(0.25 * f64::from(step), 0.25);
            assert_eq!(fmu.get_count("level"), (2.5 * f64::from(step + 1) + 1e-9).floor() as i32);
        }
    }
    let fmu = stair(Version::Three);
    fmu.start();
    assert_eq!(fmu.enter_event(), 3);
    assert!(fmu.last_log().ends_with("it was instantiated without event mode"), "{}", fmu.last_log());
    let design = Design::new("native:rc-rl/rc", Version::Three);
    let plain = Fmu::with(&design, InterfaceType::CoSimulation, (true, true));
    assert!(!plain.exists());
    assert!(plain.last_log().ends_with("this FMU has no event mode"), "{}", plain.last_log());
}

#[test]
fn the_end_that_a_model_asks_for_is_told() {
    let fmu = stair(Version::Three);
    assert_eq!(fmu.set_count("top", 2), 0);
    fmu.start();
    assert_eq!(fmu.step_until(0.0, 1.5), (0, NOTHING, 1.5));
    assert_eq!(fmu.step_until(1.5, 1.5), (0, [false, true, false], 2.0));
    assert_eq!((fmu.step_until(2.0, 1.0).0, fmu.get_count("level"), fmu.terminate()), (3, 2, 0));

    let fmu = events(true);
    assert_eq!(fmu.set_count("top", 1), 0);
    fmu.start();
    assert_eq!((fmu.update().unwrap().terminate, fmu.enter_step()), (false, 0));
    assert_eq!(fmu.step_until(0.0, 1.0), (0, EVENT, 1.0));
    assert_eq!((fmu.enter_event(), fmu.update().unwrap().terminate), (0, true));
    assert_eq!((fmu.enter_step(), fmu.terminate()), (3, 0));

    // FMI 2.0 discards the step and tells why when asked.
    let fmu = stair(Version::Two);
    assert_eq!(fmu.set_count("top", 2), 0);
    fmu.start();
    fmu.step(0.0, 1.5);
    assert!(!fmu.terminated());
    assert_eq!((fmu.try_step(1.5, 1.5, false), fmu.terminated(), fmu.last_time()), (2, true, 2.0));
    assert_eq!((fmu.get_count("level"), fmu.try_step(2.0, 1.0, false), fmu.terminate()), (2, 3, 0));
}

#[test]
fn an_event_that_waits_is_part_of_the_state() {
    let fmu = events(true);
    fmu.start();
    assert_eq!((fmu.update().unwrap().needed, fmu.enter_step()), (false, 0));
    let (mut before, mut waiting) = (null_mut(), null_mut());
    assert_eq!(fmu.get_state(&mut before), 0);
    assert_eq!(fmu.step_until(0.0, 1.5), (0, EARLY_EVENT, 1.0));
    assert_eq!((fmu.get_state(&mut waiting), fmu.set_state(before)), (0, 0));
    assert_eq!(fmu.step_until(0.0, 0.5), (0, NOTHING, 0.5));
    assert_eq!((fmu.set_state(waiting), fmu.step_until(1.0, 0.5).0, fmu.enter_event()), (0, 3, 0));
    let none = Fmu::of(&Design::new("native:stair", Version::Three).variant(Variant::NoRollback));
    none.start();
    assert_eq!(none.get_state(&mut { null_mut() }), 3);
}

#[test]
fn the_spy_tells_how_a_step_ended() {
    let folder = folder("spy-events");
    let design = Design::new("native:stair", Version::Three).spying();
    let fmu = Fmu::with(&design, InterfaceType::CoSimulation, (true, true));
    assert_eq!(fmu.set_text("spy_file", folder.to_str().unwrap()), 0);
    fmu.start();
    assert_eq!((fmu.update().unwrap().needed, fmu.enter_step()), (false, 0));
    assert_eq!(fmu.step_until(0.0, 1.5), (0, EARLY_EVENT, 1.0));
    assert_eq!((fmu.enter_event(), fmu.update().unwrap().needed, fmu.enter_step()), (0, false, 0));
    assert_eq!(fmu.step_until(1.0, 0.5), (0, NOTHING, 1.5));
    drop(fmu);
    let found = std::fs::read_to_string(folder.join("unit.txt")).unwrap();
    assert_eq!(
        found,
        "\
unit fmi3InstantiateCoSimulation(unit, false, false, true, true, []) ok
unit fmi3SetString([6]) ok
unit fmi3EnterInitializationMode(false, 0.0, 0.0, false, 0.0) ok
unit fmi3ExitInitializationMode() ok
unit fmi3UpdateDiscreteStates([0], [0], [0], [0], [1], [1.0]) ok
unit fmi3EnterStepMode() ok
unit fmi3DoStep(0.0, 1.5, false, event, early) ok
unit fmi3EnterEventMode() ok
unit fmi3UpdateDiscreteStates([0], [0], [0], [0], [1], [2.0]) ok
unit fmi3EnterStepMode() ok
unit fmi3DoStep(1.0, 0.5, false) ok
unit fmi3FreeInstance() ok
"
    );
    std::fs::remove_dir_all(folder).unwrap();
}
