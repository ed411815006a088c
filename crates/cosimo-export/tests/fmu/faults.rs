//! Panics do not cross into C, the spy writes what it sees, and the saboteur does what it is told.

use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::ptr::null_mut;
use std::time::Duration;

use cosimo_test_fmus::{Design, SABOTEUR, Variant, Version};

use crate::load::{Fmu, folder};

#[test]
fn a_panic_is_a_fatal_error_in_words() {
    for version in Version::ALL {
        let fmu = Fmu::plain("native:faulty/panic", version, Variant::Plain);
        fmu.start();
        fmu.step(0.0, 0.4);
        assert_eq!(fmu.try_step(0.4, 0.2, false), 4);
        let log = fmu.last_log();
        assert!(log.contains(": panicked at ") && log.ends_with(": faulty model reached its time"), "{log}");
        assert_eq!((fmu.try_step(0.4, 0.2, false), fmu.reset()), (3, 3));
    }
}

/// What misbehaves on request, or writes calls down, is in the library for tests alone.
#[test]
fn the_library_for_users_has_neither_faults_nor_spies() {
    let [shipped, for_tests] = [cosimo_export::built_library(), cosimo_test_fmus::built_library()]
        .map(|library| std::fs::read(library.unwrap()).unwrap());
    for word in ["restore-crash", "COSIMO_SABOTAGE", "COSIMO_SPY"] {
        let has = |bytes: &[u8]| bytes.windows(word.len()).any(|part| part == word.as_bytes());
        assert_eq!((has(&shipped), has(&for_tests)), (false, true), "{word}");
    }
}

#[test]
fn the_spy_writes_every_call() {
    for version in Version::ALL {
        let folder = folder("spy");
        let mut fmu = Fmu::of(&Design::new("native:rc-rl/rc", version).spying());
        assert_eq!(fmu.set_text("spy_file", folder.to_str().unwrap()), 0);
        fmu.set("R1", 2.0);
        fmu.start();
        fmu.set("i", 0.5);
        fmu.get("v");
        fmu.step(0.0, 0.25);
        fmu.get("v");
        assert_eq!(fmu.exit(), 3);
        let mut state = null_mut();
        assert_eq!(fmu.get_state(&mut state), 0);
        assert_eq!(fmu.terminate(), 0);
        let v = fmu.get("v");
        fmu.environment.log.clear();
        drop(fmu);
        let found = std::fs::read_to_string(folder.join("unit.txt")).unwrap();
        let wanted = if version == Version::Two {
            format!(
                "\
unit fmi2Instantiate(unit, 1, 0, 0) ok
unit fmi2SetString([8]) ok
unit fmi2SetReal([3], [2.0]) ok
unit fmi2SetupExperiment(0, 0.0, 0.0, 0, 0.0) ok
unit fmi2EnterInitializationMode() ok
unit fmi2ExitInitializationMode() ok
unit fmi2SetReal([1], [0.5]) ok
unit warning: outputs are read after inputs were set, without a step between
unit fmi2GetReal([2], [0.0]) ok
unit fmi2DoStep(0.0, 0.25, 0) ok
unit fmi2GetReal([2], [{v:?}]) ok
unit fmi2ExitInitializationMode() error: it must not be called in step mode (FMI 2.0, 4.2.4)
unit fmi2GetFMUstate(state 1) ok
unit fmi2Terminate() ok
unit fmi2GetReal([2], [{v:?}]) ok
unit fmi2FreeInstance() ok
unit warning: 1 states were never freed
"
            )
        } else {
            format!(
                "\
unit fmi3InstantiateCoSimulation(unit, false, false, false, false, []) ok
unit fmi3SetString([8]) ok
unit fmi3SetFloat64([3], [2.0]) ok
unit fmi3EnterInitializationMode(false, 0.0, 0.0, false, 0.0) ok
unit fmi3ExitInitializationMode() ok
unit fmi3SetFloat64([1], [0.5]) ok
unit fmi3GetFloat64([2], [0.0]) ok
unit fmi3DoStep(0.0, 0.25, false) ok
unit fmi3GetFloat64([2], [{v:?}]) ok
unit fmi3ExitInitializationMode() error: it must not be called in step mode (FMI 3.0, 2.3 and 4.2)
unit fmi3GetFMUState(state 1) ok
unit fmi3Terminate() ok
unit fmi3GetFloat64([2], [{v:?}]) ok
unit fmi3FreeInstance() ok
unit warning: 1 states were never freed
"
            )
        };
        assert_eq!(found, wanted);
        std::fs::remove_dir_all(folder).unwrap();
    }
}

fn saboteur(version: Version, fault: &str) -> Fmu {
    let fmu = Fmu::plain(SABOTEUR, version, Variant::Plain);
    assert_eq!(fmu.set_text("fault", fault), 0, "{}", fmu.last_log());
    assert_eq!(fmu.set_count("at_step", 2), 0);
    fmu.start();
    fmu.step(0.0, 0.5);
    assert_eq!(fmu.get("y"), 0.5);
    fmu
}

#[test]
fn the_saboteur_returns_what_it_is_told() {
    for version in Version::ALL {
        let fmu = saboteur(version, "none");
        fmu.step(0.5, 0.5);
        assert_eq!(fmu.get("y"), 1.0);

        let fmu = saboteur(version, "discard");
        let mut state = null_mut();
        assert_eq!(fmu.get_state(&mut state), 0);
        assert_eq!(fmu.try_step(0.5, 0.5, false), 2);
        assert_eq!((fmu.get("y"), fmu.get("time")), (0.5, 0.5));
        // The standard allows only a return to an earlier state from here.
        assert_eq!((fmu.try_step(0.5, 0.25, false), fmu.try_set("u", 1.0)), (3, 3));
        assert_eq!(fmu.set_state(state), 0);
        fmu.step(0.5, 0.25);

        let fmu = saboteur(version, "warning");
        assert_eq!(fmu.try_step(0.5, 0.5, false), 1);
        assert_eq!(fmu.get("y"), 1.0);
        fmu.step(1.0, 0.5);

        let fmu = saboteur(version, "error");
        let mut state = null_mut();
        assert_eq!(fmu.get_state(&mut state), 0);
        assert_eq!((fmu.try_step(0.5, 0.5, false), fmu.try_step(0.5, 0.5, false)), (3, 3));
        assert_eq!(fmu.set_state(state), 0);
        fmu.step(0.5, 0.5);

        let fmu = saboteur(version, "fatal");
        assert_eq!((fmu.try_step(0.5, 0.5, false), fmu.reset()), (4, 3));

        let fmu = saboteur(version, "nan");
        fmu.step(0.5, 0.5);
        assert!(fmu.get("y").is_nan());

        let fmu = saboteur(version, "panic");
        assert_eq!(fmu.try_step(0.5, 0.5, false), 4);

        let fmu = saboteur(version, "forget");
        assert_eq!(fmu.get_state(&mut { null_mut() }), 0);
        let mut state = null_mut();
        assert_eq!(fmu.get_state(&mut state), 0);
        fmu.step(0.5, 0.5);
        assert_eq!((fmu.set_state(state), fmu.get("y")), (0, 1.0), "it lies");

        let fmu = Fmu::plain(SABOTEUR, version, Variant::Plain);
        assert_eq!(fmu.set_text("fault", "segfolt"), 3);
        assert!(
            fmu.last_log().ends_with("there is no fault `segfolt`; did you mean `segfault`?"),
            "{}",
            fmu.last_log()
        );
    }
    let fmu = saboteur(Version::Two, "wrong-time");
    fmu.step(0.5, 0.5);
    assert_eq!(fmu.last_time(), 0.75);
}

/// The step of a saboteur in a process of its own, which is this test program once more.
#[test]
fn victim() {
    let Ok(fault) = std::env::var("COSIMO_TEST_FAULT") else { return };
    for version in Version::ALL {
        let fmu = saboteur(version, &fault);
        fmu.step(0.5, 0.5);
        let third = std::hint::black_box(1.0) / std::hint::black_box(3.0);
        let folder = std::env::current_dir().unwrap();
        println!("lived on in {} with {third:?}", folder.display());
    }
}

/// What it leaves behind when it dies goes into `room`.
fn start_victim(fault: &str, room: &Path) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "faults::victim", "--nocapture", "--test-threads", "1"]);
    command.env("TMPDIR", room).env("COSIMO_TEST_FAULT", fault).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

fn end_of_victim(fault: &str) -> (ExitStatus, String) {
    let room = folder("victim");
    let output = start_victim(fault, &room).wait_with_output().unwrap();
    std::fs::remove_dir_all(room).unwrap();
    let said =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    (output.status, said)
}

#[test]
#[cfg(target_os = "linux")]
fn the_saboteur_harms_its_process_as_told() {
    use std::os::unix::process::ExitStatusExt;
    assert_eq!(end_of_victim("exit").0.code(), Some(3));
    assert_eq!(end_of_victim("abort").0.signal(), Some(6));
    assert_eq!(end_of_victim("segfault").0.signal(), Some(11));
    for (fault, sign) in [
        ("none", "with 0.3333333333333333\n"),
        ("rounding", "with 0.33333333333333337\n"),
        ("directory", "lived on in / with"),
        ("print", "a word on the standard output\n"),
        ("print", "a word on the standard error\n"),
        ("leak", "lived on"),
    ] {
        let (status, said) = end_of_victim(fault);
        assert!(status.success() && said.contains(sign), "{fault}: {said}");
    }
    let room = folder("victim");
    let mut hanging = start_victim("hang", &room);
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(hanging.try_wait().unwrap(), None);
    hanging.kill().unwrap();
    hanging.wait().unwrap();
    std::fs::remove_dir_all(room).unwrap();
}
