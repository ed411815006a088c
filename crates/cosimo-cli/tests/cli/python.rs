//! Units that are written in Python, in the command: they need the Python of `cargo xtask python`.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::common::{complaint, folder, root};

const SYSTEM: &str = r#"
[experiment]
stop = 5.0
[component.spring]
source = "Spring2.fmu"
parameters = { c = 0.5, k = 4.0, "cosimo.feedthrough" = "none" }
[component.mass]
source = "Mass3.fmu"
parameters = { m = 2.0, "cosimo.feedthrough" = "none" }
[[bond]]
name = "joint"
a = { effort = "spring.F", flow = "spring.v" }
b = { effort = "mass.F", flow = "mass.v" }
energy_scale = 1.0
[method]
correction = { nepce = { gain = 0.5 } }
step = { estimate = "power-residual", controller = "pi", tolerance = 1e-4, min = 1e-4, max = 0.1 }
"#;

/// A folder with a system of two units, or nothing where they cannot be made.
fn coupled(name: &str) -> Option<PathBuf> {
    let Some(python) = std::env::var_os("COSIMO_PYTHON") else {
        println!("skipped: COSIMO_PYTHON is not set");
        return None;
    };
    let folder = folder(name);
    for (package, script) in [("pythonfmu", "spring2.py"), ("pythonfmu3", "mass3.py")] {
        let script = root().canonicalize().unwrap().join("crates/cosimo-fmi/tests/fixtures").join(script);
        let mut build = Command::new(&python);
        build.args(["-m", package, "build", "--handle-state", "--file"]).arg(script).current_dir(&folder);
        assert!(build.status().unwrap().success());
    }
    std::fs::write(folder.join("system.toml"), SYSTEM).unwrap();
    Some(folder)
}

fn command(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cosimo"));
    command.args(args).current_dir(folder).env("XDG_CACHE_HOME", folder.join("cache"));
    command
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), complaint(output))
}

#[test]
fn two_threads_share_one_python_and_end_cleanly() {
    let Some(folder) = coupled("python-threads") else { return };
    for threads in ["1", "2"] {
        let output = command(&folder, &["run", "system.toml", "--threads", threads]).output().unwrap();
        assert!(output.status.success() && text(&output).contains("verdict"), "{}", text(&output));
    }
    // The Python on the path does as well, if it is one that can be loaded.
    let output = command(&folder, &["info", "Mass3.fmu"]).env_remove("COSIMO_LIBPYTHON").output().unwrap();
    if text(&output).contains("loadable here yes") {
        let output =
            command(&folder, &["run", "system.toml"]).env_remove("COSIMO_LIBPYTHON").output().unwrap();
        assert!(output.status.success(), "{}", text(&output));
    }
}

#[test]
fn without_a_python_it_is_said_what_is_missing() {
    let Some(folder) = coupled("python-missing") else { return };
    let wanted = "the FMU requires Python, which cannot be loaded: `python3` cannot be started";
    for args in [["run", "system.toml"], ["info", "Mass3.fmu"]] {
        let output =
            command(&folder, &args).env_remove("COSIMO_LIBPYTHON").env("PATH", &folder).output().unwrap();
        let told = text(&output);
        assert_eq!(output.status.code(), Some(if args[0] == "run" { 2 } else { 0 }), "{told}");
        assert!(told.contains(wanted) && told.contains("set COSIMO_LIBPYTHON=/path/to/libpython3"), "{told}");
        let output =
            command(&folder, &args).env("COSIMO_LIBPYTHON", "/nowhere/libpython3.so").output().unwrap();
        let told = text(&output);
        assert!(
            told.contains("COSIMO_LIBPYTHON names /nowhere/libpython3.so, which is not a file"),
            "{told}"
        );
    }
}

#[test]
fn ctrl_c_stays_with_cosimo() {
    let Some(folder) = coupled("python-interrupt") else { return };
    let args = ["run", "system.toml", "--method", "controller=fixed", "--step", "1e-5", "--out", "rows.csv"];
    let child = command(&folder, &args).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let begun = Instant::now();
    while std::fs::metadata(folder.join("rows.csv")).map_or(0, |file| file.len()) == 0 {
        assert!(begun.elapsed() < Duration::from_secs(60), "no rows appeared");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", text(&output));
}
