//! A unit with clocks, and an importer that activates them on time.

use std::path::PathBuf;
use std::process::Command;
use std::ptr::null_mut;

use cosimo_test_fmus::{CLOCKS, Design, InterfaceType, Version, built_library, write};

use crate::load::{Fmu, folder};

/// In event mode after initialisation.
fn clocks() -> Fmu {
    let fmu = Fmu::with(&Design::new(CLOCKS, Version::Three), InterfaceType::CoSimulation, (true, true));
    assert!(fmu.exists(), "{}", fmu.last_log());
    fmu.start();
    fmu
}

const NOTHING: [bool; 3] = [false; 3];

/// Steps to an instant and enters event mode.
fn step_to_event(fmu: &Fmu, to: f64) {
    let from = fmu.get("time");
    assert_eq!(fmu.step_until(from, to - from), (0, NOTHING, to), "{}", fmu.last_log());
    assert_eq!(fmu.enter_event(), 0);
}

fn leave_event(fmu: &Fmu) {
    assert_eq!((fmu.update().unwrap().needed, fmu.enter_step()), (false, 0));
}

#[test]
fn ticks_are_counted_start_countdowns_and_activate_the_output_clock() {
    let fmu = clocks();
    leave_event(&fmu);
    let (mut ticks, mut alarms, mut full) = (0, 0, 0);
    let mut alarm_at = f64::INFINITY;
    while ticks < 13 {
        let tick_at = 0.25 + 0.5 * f64::from(ticks);
        step_to_event(&fmu, tick_at.min(alarm_at));
        let ticking = tick_at < alarm_at;
        if ticking {
            assert_eq!((fmu.get_count("ticks"), fmu.get_clock("tick")), (ticks, Ok(false)));
            assert_eq!(fmu.set_clock("tick", true), 0, "{}", fmu.last_log());
            ticks += 1;
            // What the clock clocks is there at once.
            assert_eq!((fmu.get_count("ticks"), fmu.get_clock("tick")), (ticks, Ok(true)));
            assert_eq!(fmu.get_clock("full"), Ok(ticks % 4 == 0));
            full += u32::from(ticks % 4 == 0);
        } else {
            assert_eq!(fmu.set_clock("alarm", true), 0, "{}", fmu.last_log());
            alarms += 1;
        }
        assert!(!fmu.update().unwrap().needed);
        // The update puts all clocks to rest.
        let active = ["tick", "alarm", "full"].map(|clock| fmu.get_clock(clock));
        assert_eq!(active, [Ok(false), Ok(false), Ok(false)]);
        assert_eq!((fmu.get_count("ticks"), fmu.get_count("alarms")), (ticks, alarms));
        let (interval, qualifier) = fmu.interval("alarm").unwrap();
        alarm_at = match qualifier {
            0 => f64::INFINITY,
            1 => alarm_at,
            _ => fmu.get("time") + interval,
        };
        assert_eq!(qualifier == 2, ticking && ticks % 3 == 0);
        assert_eq!(fmu.enter_step(), 0);
    }
    assert_eq!((alarms, full), (4, 3));
    assert!(fmu.environment.log.is_empty(), "{:?}", fmu.environment.log);
}

#[test]
fn ticks_at_other_instants_and_steps_over_ticks_are_refused() {
    let fmu = clocks();
    assert_eq!(fmu.set_clock("tick", true), 3);
    assert!(fmu.last_log().ends_with("the clock `tick` is due at t = 0.25, not at 0"), "{}", fmu.last_log());
    assert_eq!((fmu.set_clock("alarm", true), fmu.set_clock("full", true)), (3, 3));
    assert!(fmu.last_log().ends_with("the clock `full` is an output"), "{}", fmu.last_log());
    assert_eq!((fmu.set_clock("ticks", true), fmu.get_clock("time")), (3, Err(3)));
    leave_event(&fmu);
    assert_eq!(fmu.step_until(0.0, 0.5).0, 3);
    assert!(
        fmu.last_log().ends_with("a step to t = 0.5 passes the clock `tick`, due at t = 0.25"),
        "{}",
        fmu.last_log()
    );
    assert_eq!((fmu.set_clock("tick", true), fmu.get_clock("tick")), (3, Err(3)), "not in step mode");
    step_to_event(&fmu, 0.25);
    // A clock may be put to rest again before it has had an effect.
    assert_eq!((fmu.set_clock("tick", true), fmu.set_clock("tick", false)), (0, 0));
    assert_eq!(fmu.get_count("ticks"), 0);
    leave_event(&fmu);
    assert_eq!(fmu.step_until(0.25, 0.1).0, 3, "the tick is still due");
}

#[test]
fn intervals_are_told_where_the_standard_says() {
    let design = Design::new(CLOCKS, Version::Three);
    let fmu = Fmu::with(&design, InterfaceType::CoSimulation, (true, false));
    assert_eq!((fmu.interval("tick"), fmu.shift("tick")), (Err(3), Err(3)));
    assert_eq!(fmu.enter(10.0, None), 0);
    assert_eq!((fmu.interval("tick"), fmu.shift("tick")), (Ok((0.5, 1)), Ok(0.25)));
    assert_eq!((fmu.interval("full"), fmu.shift("alarm")), (Err(3), Err(3)));
    assert_eq!((fmu.interval("alarm"), fmu.exit()), (Ok((0.0, 0)), 0));
    assert_eq!((fmu.interval("tick"), fmu.shift("tick")), (Ok((0.5, 1)), Err(3)));
    leave_event(&fmu);
    assert_eq!(fmu.interval("tick"), Err(3));
    // Periods count from the start of the run.
    step_to_event(&fmu, 10.25);
    assert_eq!(fmu.set_clock("tick", true), 0, "{}", fmu.last_log());
    let none = Fmu::of(&design);
    assert!(!none.exists());
    assert!(
        none.last_log().ends_with("this FMU has clocks and needs an importer with event mode"),
        "{}",
        none.last_log()
    );
}

#[test]
fn states_carry_the_clocks() {
    let fmu = clocks();
    leave_event(&fmu);
    step_to_event(&fmu, 0.25);
    assert_eq!(fmu.set_clock("tick", true), 0);
    let mut state = null_mut();
    assert_eq!(fmu.get_state(&mut state), 0);
    leave_event(&fmu);
    step_to_event(&fmu, 0.75);
    assert_eq!(fmu.get_count("ticks"), 1);
    assert_eq!((fmu.set_state(state), fmu.get_clock("tick"), fmu.get("time")), (0, Ok(true), 0.25));
    leave_event(&fmu);
    step_to_event(&fmu, 0.75);
    assert_eq!((fmu.get_count("ticks"), fmu.set_clock("tick", true)), (1, 0));
}

/// FMPy knows clocks, but its own simulation does not activate them.
#[test]
fn fmpy_validates_it_and_ticks_it() {
    let Some(python) = std::env::var_os("COSIMO_PYTHON").map(PathBuf::from) else {
        println!("skipped: COSIMO_PYTHON is not set");
        return;
    };
    let folder = folder("clocks");
    let file = folder.join("clocks.fmu");
    write(&Design::new(CLOCKS, Version::Three), &built_library().unwrap(), &file).unwrap();
    let script = "
import sys
from fmpy import extract, instantiate_fmu, read_model_description
from fmpy.validation import validate_fmu
assert validate_fmu(sys.argv[1]) == []
description = read_model_description(sys.argv[1], validate_variable_names=True, validate_model_structure=True)
references = {variable.name: variable.valueReference for variable in description.modelVariables}
tick, full, ticks = references['tick'], references['full'], references['ticks']
fmu = instantiate_fmu(extract(sys.argv[1]), description, 'CoSimulation', event_mode_used=True)
fmu.enterInitializationMode()
fmu.exitInitializationMode()
# The third tick starts a countdown, which this importer does not serve any more.
for count in range(3):
    fmu.updateDiscreteStates()
    fmu.enterStepMode()
    start = 0.0 if count == 0 else 0.25 + 0.5 * (count - 1)
    fmu.doStep(start, 0.25 + 0.5 * count - start)
    fmu.enterEventMode()
    fmu.setClock([tick], [True])
    assert fmu.getInt32([ticks])[0] == count + 1
    assert not fmu.getClock([full])[0]
fmu.terminate()
fmu.freeInstance()
print('3 ticks')
";
    let output = Command::new(python).args(["-c", script]).arg(&file).output().unwrap();
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "3 ticks\n",
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    std::fs::remove_dir_all(folder).unwrap();
}
