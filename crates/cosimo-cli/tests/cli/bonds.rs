//! `cosimo bonds`: what it finds among plain wires is what people declared, and a file with its findings runs the same.

use std::fs;
use std::path::Path;

use insta::assert_snapshot;

use crate::common::{complaint, cosimo, folder, root};

/// An example, with its bond as it is, and with two wires in its place. What a bond alone can have is left out of both.
fn example(folder: &Path, file: &str, name: &str, wires: &str) {
    let text = fs::read_to_string(root().join("examples").join(file)).unwrap();
    let begin = text.find("[[bond]]").unwrap();
    let end = begin + text[begin..].find("\n\n").unwrap();
    let section = &text[begin..end];
    let kept: Vec<&str> = section.lines().filter(|line| !line.starts_with("energy_scale")).collect();
    let old = kept[1];
    assert!(old.starts_with("name"), "{section}");
    let bonded = kept.join("\n").replace(old, &format!("name = \"{name}\""));
    fs::write(folder.join("bonded.toml"), text.replace(section, &bonded)).unwrap();
    fs::write(folder.join("plain.toml"), text.replace(section, wires)).unwrap();
}

fn wires(forth: (&str, &str), back: (&str, &str)) -> String {
    let wire = |(from, to): (&str, &str)| format!("[[connection]]\nfrom = \"{from}\"\nto = \"{to}\"");
    format!("{}\n\n{}", wire(forth), wire(back))
}

#[test]
fn examples_as_plain_wires_become_what_they_were() {
    for (example_file, name, forth, back, stop) in [
        (
            "quarter-car/system.toml",
            "chassis-wheel",
            ("chassis.F", "wheel.F"),
            ("wheel.v", "chassis.v"),
            "0.2",
        ),
        (
            "quarter-car/reticulation-1.toml",
            "wheel-chassis",
            ("wheel.F", "chassis.F"),
            ("chassis.v", "wheel.v"),
            "0.2",
        ),
        ("dual-mass/system.toml", "left-right", ("left.f", "right.f"), ("right.v", "left.v_far"), "1"),
        ("rc-rl/system.toml", "rc-rl", ("rc.v", "rl.v"), ("rl.i", "rc.i"), "0.05"),
    ] {
        let folder = folder(&format!("bonds-{}", example_file.replace(['/', '.'], "-")));
        // The flow first, so that finding the effort is no accident.
        example(&folder, example_file, name, &wires(back, forth));
        let history = root().join("examples/dual-mass/history.csv");
        fs::copy(history, folder.join("history.csv")).unwrap();
        let applied = cosimo(&folder, &["bonds", "plain.toml", "--apply"]);
        assert_eq!(applied.status.code(), Some(0), "{}", complaint(&applied));
        for file in ["bonded", "plain"] {
            let run = cosimo(
                &folder,
                &["run", &format!("{file}.toml"), "--stop", stop, "--out", &format!("{file}.csv")],
            );
            assert_eq!(run.status.code(), Some(0), "{}", complaint(&run));
        }
        let [bonded, found] = ["bonded.csv", "plain.csv"].map(|file| fs::read(folder.join(file)).unwrap());
        // Power of reticulation 1 is counted from the other side, since there the wheel gives the force.
        if example_file.contains("reticulation-1") {
            assert_eq!(columns(&bonded, "chassis."), columns(&found, "chassis."), "{example_file}");
            assert_eq!(columns(&bonded, "step."), columns(&found, "step."), "{example_file}");
        } else {
            assert!(bonded == found, "{example_file}");
        }
        // Nothing is left to be found.
        let again = cosimo(&folder, &["bonds", "plain.toml"]);
        assert!(again.stdout.is_empty(), "{}", String::from_utf8_lossy(&again.stdout));
    }
}

fn columns(file: &[u8], prefix: &str) -> Vec<String> {
    let text = String::from_utf8(file.to_vec()).unwrap();
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    let kept: Vec<usize> = (0..names.len()).filter(|&at| names[at].starts_with(prefix)).collect();
    assert!(!kept.is_empty());
    lines
        .map(|line| {
            let cells: Vec<&str> = line.split(',').collect();
            kept.iter().map(|&at| cells[at]).collect::<Vec<_>>().join(",")
        })
        .collect()
}

/// A file with all that should survive a change.
const COMMENTED: &str = r#"# The car.

[experiment]
stop = 1.0   # short

[component.chassis]
source = "native:quarter-car/chassis-strut"

# The force goes down ...
[[connection]]
from = "chassis.F" # the strut's
to   = "wheel.F"
gain = -1

[component.wheel]
source = "native:quarter-car/wheel"

# ... and the velocity comes back.
[[connection]]
from = "wheel.v"
to = "chassis.v"

# Kept as it is.
[method]
step = { size = 1e-3 }
"#;

#[test]
fn comments_and_layout_stay() {
    let folder = folder("bonds-comments");
    fs::write(folder.join("system.toml"), COMMENTED).unwrap();
    let shown = cosimo(&folder, &["bonds", "system.toml"]);
    assert_snapshot!("bonds-shown", String::from_utf8(shown.stdout).unwrap());
    let applied = cosimo(&folder, &["bonds", "system.toml", "--apply"]);
    assert_snapshot!(
        "bonds-applied",
        format!("{}{}", complaint(&applied), fs::read_to_string(folder.join("system.toml")).unwrap())
    );
    // A strut with the wrong sign throws the car off the road, which a forecast would say.
    let checked = cosimo(&folder, &["check", "system.toml", "--strict", "--no-forecast"]);
    assert_eq!(checked.status.code(), Some(0));
}

#[test]
fn wires_of_the_command_line() {
    let folder = folder("bonds-command-line");
    let line = [
        "bonds",
        "spring=native:oscillator/spring-damper",
        "mass=native:oscillator/mass",
        "--connect",
        "spring.F=mass.F",
        "--connect",
        "mass.v=spring.v",
    ];
    let shown = cosimo(&folder, &line);
    assert_snapshot!("bonds-command-line", String::from_utf8(shown.stdout).unwrap());
    assert_snapshot!(
        "bonds-nothing-to-apply",
        complaint(&cosimo(&folder, &[&line[..], &["--apply"]].concat()))
    );
}

/// The displacement is said to be a velocity, too, so that there is a choice.
const TWO_WAYS: &str = r#"[experiment]
stop = 1.0

[component.left]
source = "native:dual-mass/left-force"
units = { x_far = "m/s" }

[component.right]
source = "native:dual-mass/right"
units = { x = "mm/s" }

[[connection]]
from = "right.x"
to = "left.x_far"

[[connection]]
from = "right.v"
to = "left.v_far"

[[connection]]
from = "left.f"
to = "right.f"

[method]
step = { size = 1e-3 }
"#;

#[test]
fn several_ways_to_pair_wires() {
    let folder = folder("bonds-ambiguous");
    fs::write(folder.join("named.toml"), TWO_WAYS).unwrap();
    let shown = cosimo(&folder, &["bonds", "named.toml"]);
    assert_snapshot!("bonds-named", String::from_utf8(shown.stdout).unwrap());
    // One velocity that goes to two inputs of the same kind.
    let twice = TWO_WAYS
        .replace("from = \"right.x\"", "from = \"right.v\"")
        .replace("units = { x = \"mm/s\" }\n", "");
    fs::write(folder.join("twice.toml"), &twice).unwrap();
    let shown = cosimo(&folder, &["bonds", "twice.toml", "--apply"]);
    assert_snapshot!(
        "bonds-left-open",
        format!("{}{}", complaint(&shown), String::from_utf8_lossy(&shown.stdout))
    );
    assert_eq!(fs::read_to_string(folder.join("twice.toml")).unwrap(), twice);
}

#[test]
fn nothing_to_find_and_nothing_to_look_at() {
    let folder = folder("bonds-nothing");
    let alone = TWO_WAYS
        .replace("from = \"left.f\"\nto = \"right.f\"", "from = \"left.x\"\nto = \"right.f\"\ngain = 2");
    fs::write(folder.join("alone.toml"), alone).unwrap();
    assert_snapshot!("bonds-nothing", complaint(&cosimo(&folder, &["bonds", "alone.toml"])));
    fs::write(folder.join("closed.toml"), TWO_WAYS.replace("dual-mass/right", "dual-mass/write")).unwrap();
    assert_snapshot!("bonds-closed", complaint(&cosimo(&folder, &["bonds", "closed.toml"])));
}
