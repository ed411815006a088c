//! `cosimo check`: every message it can give, each by a small system with one mistake, as people and as programs read
//! it. A code without such a system fails the last test.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use cosimo_test_fmus::{Design, ECHO, InterfaceType, Variant, Version, built_library, write};
use insta::assert_snapshot;
use serde_json::Value;
use zip::write::SimpleFileOptions;

use crate::common::{cosimo, folder, root};

/// The quarter car without a flaw.
const CAR: &str = r#"[experiment]
stop = 1.0

[component.chassis]
source = "native:quarter-car/chassis-strut"

[component.wheel]
source = "native:quarter-car/wheel"

[[bond]]
name = "strut"
a = { effort = "chassis.F", flow = "chassis.v" }
b = { effort = "wheel.F", flow = "wheel.v" }

[method]
step = { size = 1e-3 }
"#;

/// Two units without a flaw.
const UNITS: &str = r#"[experiment]
stop = 1.0

[component.spring]
source = "spring.fmu"

[component.mass]
source = "mass.fmu"

[[connection]]
from = "spring.F"
to = "mass.F"

[[connection]]
from = "mass.v"
to = "spring.v"

[method]
step = { size = 0.1 }
"#;

/// Two gains in a ring, which feel their inputs at once; a start value breaks it.
const GAINS: &str = r#"[experiment]
stop = 1.0

[component.a]
source = "native:faulty/nan"

[component.b]
source = "native:faulty/nan"
start = { u = 1.0 }

[[connection]]
from = "a.y"
to = "b.u"

[[connection]]
from = "b.y"
to = "a.u"

[method]
exchange = "fresh"
step = { size = 0.1 }
"#;

/// Two units for model exchange, joined by a bond.
const EQUATIONS: &str = r#"[experiment]
stop = 1.0

[component.spring]
source = "spring-exchange.fmu"

[component.mass]
source = "mass-exchange.fmu"

[[bond]]
name = "joint"
a = { effort = "spring.F", flow = "spring.v" }
b = { effort = "mass.F", flow = "mass.v" }

[method]
step = { size = 0.1 }
"#;

/// A ball that pulls at a mass which cannot go back.
const BALL: &str = r#"[experiment]
stop = 1.0

[component.ball]
source = "ball.fmu"

[component.pulled]
source = "pulled.fmu"

[[connection]]
from = "ball.height"
to = "pulled.x_far"

[[connection]]
from = "ball.velocity"
to = "pulled.v_far"

[method]
step = { size = 0.1 }
"#;

/// A line between two solvers.
pub(crate) const LINE: &str = r#"[experiment]
stop = 0.01

[component.left]
source = "native:spring-mass/left"

[component.right]
source = "native:spring-mass/right"

[[bond]]
name = "spring"
a = { effort = "left.e", flow = "left.f" }
b = { effort = "right.e", flow = "right.f" }
opposite = "flow"
line = { delay = 1e-4, impedance = 0.1 }

[method]
step = { size = 1e-4 }
"#;

struct Case {
    name: &'static str,
    base: &'static str,
    /// Texts and what stands in their place.
    changes: &'static [(&'static str, &'static str)],
    /// More of the command line.
    args: &'static [&'static str],
    /// What must be found, in order, and nothing else.
    codes: &'static [&'static str],
}

const fn car(
    name: &'static str,
    changes: &'static [(&'static str, &'static str)],
    codes: &'static [&'static str],
) -> Case {
    Case { name, base: CAR, changes, args: &[], codes }
}

const fn units(
    name: &'static str,
    changes: &'static [(&'static str, &'static str)],
    codes: &'static [&'static str],
) -> Case {
    Case { name, base: UNITS, changes, args: &[], codes }
}

const fn line(
    name: &'static str,
    changes: &'static [(&'static str, &'static str)],
    codes: &'static [&'static str],
) -> Case {
    Case { name, base: LINE, changes, args: &[], codes }
}

const fn command(name: &'static str, args: &'static [&'static str], codes: &'static [&'static str]) -> Case {
    Case { name, base: CAR, changes: &[], args, codes }
}

const CASES: &[Case] = &[
    // Delayed lines.
    line(
        "line-causality",
        &[(
            "b = { effort = \"right.e\", flow = \"right.f\" }",
            "b = { effort = \"left.force\", flow = \"left.v1\" }",
        )],
        &["check/constant-input", "check/lonely-component", "plan/line-causality"],
    ),
    line(
        "line-held",
        &[("impedance = 0.1", "impedance = 0.1, boundary = \"held\"")],
        &["plan/line-boundary"],
    ),
    line(
        "line-mid-step",
        &[("impedance = 0.1", "impedance = 0.1, boundary = \"mid-step\"")],
        &["plan/line-boundary", "plan/line-boundary", "plan/line-inner", "plan/line-inner"],
    ),
    line(
        "line-asymmetric",
        &[("impedance = 0.1", "impedance = 0.1, control = \"steady-state\", most = [1.0, 8.0]")],
        &["plan/line-asymmetric"],
    ),
    line(
        "line-owner",
        &[
            ("native:spring-mass/left", "stretching.fmu"),
            ("impedance = 0.1", "impedance = 0.1, control = \"steady-state\""),
        ],
        &["plan/line-owner"],
    ),
    line(
        "line-start",
        &[
            ("spring-mass/left\"", "spring-mass/left\"\nstart = { e = 1.0 }"),
            ("spring-mass/right\"", "spring-mass/right\"\nstart = { e = 2.0 }"),
        ],
        &["plan/line-start"],
    ),
    line(
        "island-of-two",
        &[("[[bond]]", "[island.x]\ncomponents = [\"left\", \"right\"]\n\n[[bond]]")],
        &["plan/island"],
    ),
    car(
        "island-without-lines",
        &[("[[bond]]", "[island.x]\ncomponents = [\"wheel\"]\n\n[[bond]]")],
        &["plan/island"],
    ),
    // The file itself.
    car("syntax", &[("stop = 1.0", "stop = ")], &["system/syntax"]),
    car(
        "same-table-twice",
        &[("[component.wheel]", "[component.chassis]")],
        &["system/syntax", "system/syntax"],
    ),
    car("missing", &[("stop = 1.0", "")], &["system/missing"]),
    car("former-key", &[("size = 1e-3", "size = 1e-3, law = \"fixed\"")], &["system/former-key"]),
    car("unknown-key", &[("name = \"strut\"", "nam = \"strut\"")], &["system/unknown-key"]),
    car("stop-before-start", &[("stop = 1.0", "start = 2.0\nstop = 1.0")], &["system/value"]),
    car("unstable-step", &[("size = 1e-3", "size = 0.05")], &["check/unstable-step"]),
    car("name", &[("\"strut\"", "\"the strut\"")], &["system/name"]),
    car("unknown-component", &[("\"chassis.F\"", "\"chasis.F\"")], &["system/unknown-component"]),
    car(
        "two-components",
        &[("flow = \"chassis.v\"", "flow = \"wheel.v\"")],
        &["plan/bond-causality", "system/two-components"],
    ),
    car(
        "duplicate-name",
        &[("[method]", "[[junction]]\nname = \"strut\"\ncommon = \"flow\"\nsides = []\n\n[method]")],
        &["system/duplicate-name", "system/value"],
    ),
    car(
        "unknown-source",
        &[("native:quarter-car/wheel", "native/quarter-car/wheel")],
        &["system/unknown-source"],
    ),
    car(
        "unknown-method",
        &[("size = 1e-3", "size = 1e-3, controller = \"pdi\"")],
        &["system/unknown-method"],
    ),
    car("option", &[("[method]", "[method]\ncorrection = { nepce = { gain = 7 } }")], &["system/option"]),
    car(
        "conflict",
        &[("[method]", "[method]\nschedule = \"jacobi\"\niteration = \"once\"")],
        &["system/conflict"],
    ),
    car(
        "unknown-reference",
        &[("[method]", "[reference]\nmodel = \"quarter-cat\"\n\n[method]")],
        &["system/unknown-reference"],
    ),
    car(
        "unknown-column",
        &[("[method]", "[reference]\nmodel = \"quarter-car\"\nports = { \"wheel.z\" = \"zz\" }\n\n[method]")],
        &["system/unknown-column"],
    ),
    // Simulators.
    units("cannot-open", &[("mass.fmu", "moss.fmu")], &["plan/cannot-open"]),
    units(
        "unknown-parameter",
        &[("\"mass.fmu\"", "\"mass.fmu\"\nparameters = { mas = 2.0 }")],
        &["plan/cannot-open"],
    ),
    units(
        "parameter-outside-limits",
        &[("\"mass.fmu\"", "\"limited.fmu\"\nparameters = { m = -1.0 }")],
        &["plan/parameter"],
    ),
    units("component-warning", &[("mass.fmu", "odd.fmu")], &["plan/component"]),
    // Ports and wires.
    units("unknown-port", &[("\"mass.F\"", "\"mass.force\"")], &["plan/unknown-port"]),
    units("unknown-start", &[("\"mass.fmu\"", "\"mass.fmu\"\nstart = { f = 1.0 }")], &["plan/unknown-port"]),
    units(
        "unknown-input",
        &[("[method]", "[method]\ninput = { \"mass.f\" = \"linear\" }")],
        &["plan/unknown-port"],
    ),
    units("wrong-causality", &[("from = \"spring.F\"", "from = \"spring.v\"")], &["plan/wrong-causality"]),
    units("unit-mismatch", &[("from = \"spring.F\"", "from = \"spring.x\"")], &["plan/unit-mismatch"]),
    units("unit-converted", &[("mass.fmu", "kilonewtons.fmu")], &["plan/unit-converted"]),
    units("unit-missing", &[("mass.fmu", "unitless.fmu")], &["check/unit-missing"]),
    units(
        "driven-twice",
        &[("[method]", "[[connection]]\nfrom = \"spring.F\"\nto = \"mass.F\"\n\n[method]")],
        &["plan/driven-twice"],
    ),
    car(
        "unconnected-input",
        &[("[method]", "[component.spare]\nsource = \"native:quarter-car/wheel\"\n\n[method]")],
        &["plan/unconnected-input", "check/lonely-component"],
    ),
    units(
        "constant-input",
        &[("[[connection]]\nfrom = \"spring.F\"\nto = \"mass.F\"\n", "")],
        &["check/constant-input"],
    ),
    units(
        "start-outside-limits",
        &[
            ("\"mass.fmu\"", "\"limited.fmu\"\nstart = { F = 500.0 }"),
            ("[[connection]]\nfrom = \"spring.F\"\nto = \"mass.F\"\n", ""),
        ],
        &["check/outside-limits"],
    ),
    units(
        "own-start-outside-limits",
        &[("mass.fmu", "misguided.fmu"), ("[[connection]]\nfrom = \"spring.F\"\nto = \"mass.F\"\n", "")],
        &["check/constant-input", "check/outside-limits"],
    ),
    Case {
        name: "algebraic-loops",
        base: GAINS,
        // Three rings, all named: two go round with a delay, one cannot be solved.
        changes: &[
            (
                "[component.b]",
                "[component.c]\nsource = \"native:faulty/nan\"\n\n[component.d]\nsource = \"native:faulty/nan\"\n\n\
                 [component.room]\nsource = \"room.fmu\"\n\n[component.b]",
            ),
            (
                "[method]",
                "[[connection]]\nfrom = \"c.y\"\nto = \"d.u\"\n\n[[connection]]\nfrom = \"d.y\"\nto = \"c.u\"\n\n\
                 [[connection]]\nfrom = \"room.q\"\nto = \"room.ambient\"\nconvert = false\n\n[method]",
            ),
            (
                "exchange = \"fresh\"",
                "exchange = { default = \"fresh\", \"b.u\" = \"stale\", \"d.u\" = \"stale\" }",
            ),
        ],
        args: &[],
        codes: &["plan/algebraic-loop", "plan/delayed-loop"],
    },
    // Bonds.
    car("no-power", &[("\"wheel.v\"", "\"wheel.z\"")], &["plan/no-power"]),
    units(
        "bond-no-unit",
        &[
            ("mass.fmu", "unitless.fmu"),
            (
                "[[connection]]\nfrom = \"spring.F\"\nto = \"mass.F\"\n\n[[connection]]\nfrom = \"mass.v\"\nto = \"spring.v\"\n",
                "[[bond]]\na = { effort = \"spring.F\", flow = \"spring.v\" }\nb = { effort = \"mass.F\", flow = \"mass.v\" }\n",
            ),
        ],
        &["plan/no-unit"],
    ),
    car(
        "bond-causality",
        &[("native:quarter-car/wheel\"", "native:quarter-car/wheel-strut\"")],
        &["plan/bond-causality", "plan/bond-causality"],
    ),
    car(
        "junction-causality",
        &[(
            "[[bond]]\nname = \"strut\"\na = { effort = \"chassis.F\", flow = \"chassis.v\" }\nb = { effort = \"wheel.F\", flow = \"wheel.v\" }",
            "[[junction]]\nname = \"strut\"\ncommon = \"effort\"\nsides = [\n  { effort = \"chassis.F\", flow = \"chassis.v\" },\n  { effort = \"chassis.F\", flow = \"chassis.v\" },\n  { effort = \"wheel.F\", flow = \"wheel.v\" },\n]",
        )],
        &["plan/junction-causality"],
    ),
    car(
        "bond-also-wired",
        &[(
            "[method]",
            "[component.spare]\nsource = \"native:quarter-car/wheel\"\n\n[[connection]]\nfrom = \"chassis.F\"\nto = \"spare.F\"\n\n[method]",
        )],
        &["check/bond-also-wired"],
    ),
    car(
        "bond-wired-otherwise",
        &[("[method]", "[[connection]]\nfrom = \"chassis.F\"\nto = \"wheel.F\"\n\n[method]")],
        &["plan/driven-twice"],
    ),
    // Methods, and what they need.
    units("needs-bond", &[("size = 0.1", "size = 0.1, estimate = \"power-residual\"")], &["plan/needs-bond"]),
    units(
        "needs-rollback",
        &[("mass.fmu", "norollback.fmu"), ("[method]", "[method]\niteration = \"waveform\"")],
        &["plan/needs-rollback"],
    ),
    units(
        "needs-slopes",
        &[("[method]", "[method]\ninput = { \"mass.F\" = \"hermite\" }")],
        &["plan/input-degree", "plan/needs-slopes"],
    ),
    units(
        "needs-jacobian",
        &[
            ("spring.fmu", "nojacobian.fmu"),
            ("[method]", "[method]\ncorrection = { nepce = { feedthrough = \"declared\" } }"),
        ],
        &["plan/needs-jacobian"],
    ),
    units(
        "needs-variable-step",
        &[
            ("mass.fmu", "fixedstep.fmu"),
            ("size = 0.1", "size = 0.1, max = 0.1, controller = \"pi\", estimate = \"milne\""),
        ],
        &["plan/needs-variable-step"],
    ),
    units(
        "last-step",
        &[("mass.fmu", "fixedstep.fmu"), ("stop = 1.0", "stop = 1.05")],
        &["plan/needs-variable-step"],
    ),
    units("step-size", &[("mass.fmu", "internal.fmu")], &["check/step-size"]),
    car("long-step", &[("size = 1e-3", "size = 2.0")], &["check/long-step", "check/unstable-step"]),
    car("own-step", &[("[component.wheel]", "[component.wheel]\nstep = 2.5e-3")], &["plan/own-step"]),
    car("own-fraction", &[("[component.wheel]", "[component.wheel]\nstep = 3e-4")], &["plan/own-step"]),
    car("own-step-tiny", &[("[component.wheel]", "[component.wheel]\nstep = 1e-300")], &["plan/own-step"]),
    car("own-step-long", &[("[component.wheel]", "[component.wheel]\nstep = 2.0")], &["check/long-step"]),
    car("own-step-zero", &[("[component.wheel]", "[component.wheel]\nstep = 0")], &["system/value"]),
    car("own-step-negative", &[("[component.wheel]", "[component.wheel]\nstep = -1e-3")], &["system/value"]),
    car("own-step-nan", &[("[component.wheel]", "[component.wheel]\nstep = nan")], &["system/value"]),
    units(
        "own-last-step",
        &[("source = \"mass.fmu\"", "source = \"fixedstep.fmu\"\nstep = 0.3")],
        &["plan/needs-variable-step"],
    ),
    car("no-step-size", &[("step = { size = 1e-3 }", "")], &["plan/no-step-size"]),
    units(
        "input-degree",
        &[("[method]", "[method]\ninput = \"linear\"")],
        &["plan/input-degree", "plan/input-degree"],
    ),
    Case {
        name: "nothing-to-choose",
        base: GAINS,
        changes: &[("[method]", "[method]\ninput = \"causal\"")],
        args: &[],
        codes: &["plan/nothing-to-choose"],
    },
    units(
        "answers-between-steps",
        &[("[method]", "[method]\nexchange = \"fresh\"")],
        &["plan/answers-between-steps"],
    ),
    units(
        "no-linear-model",
        &[("[method]", "[method]\ncorrection = \"pre-step\"")],
        &["plan/no-linear-model", "plan/no-linear-model"],
    ),
    car(
        "nothing-to-control",
        &[("size = 1e-3", "size = 1e-3, max = 1e-2, controller = \"pi\"")],
        &["plan/nothing-to-control"],
    ),
    car(
        "no-maximum",
        &[("size = 1e-3", "size = 1e-3, controller = \"pi\", estimate = \"power-residual\"")],
        &["plan/no-maximum", "plan/no-energy-scale"],
    ),
    car(
        "nothing-to-reject",
        &[("size = 1e-3", "size = 1e-3, reject = \"above-one\"")],
        &["plan/nothing-to-reject"],
    ),
    car(
        "two-jacobians",
        &[(
            "[method]",
            "[method]\ncorrection = { \"wheel.F\" = { nepce = { feedthrough = \"declared\" } }, \"chassis.v\" = { nepce = { feedthrough = \"difference\" } } }",
        )],
        &["plan/two-jacobians"],
    ),
    units(
        "identified-units",
        &[
            ("spring.fmu", "nojacobian.fmu"),
            ("mass.fmu", "norollback.fmu"),
            ("[method]", "[method]\ncorrection = { nepce = { feedthrough = \"identified\" } }"),
        ],
        &["plan/identified-jacobian"],
    ),
    car(
        "identified-jacobian",
        &[("[method]", "[method]\ncorrection = { nepce = { feedthrough = \"identified\" } }")],
        &["plan/identified-jacobian"],
    ),
    car(
        "partition",
        &[("[method]", "[method]\nschedule = { gauss-seidel = { order = [\"wheel\", \"wheel\"] } }")],
        &["plan/partition"],
    ),
    // Results, history, reference.
    car("results", &[("[method]", "[results]\nvariables = [\"weel.*\"]\n\n[method]")], &["plan/results"]),
    car("history", &[("stop = 1.0", "stop = 1.0\nhistory = \"before.csv\"")], &["plan/history"]),
    units(
        "short-history",
        &[
            ("stop = 1.0", "stop = 1.0\nhistory = \"short.csv\""),
            ("[method]", "[method]\ninput = \"quadratic\""),
        ],
        &["plan/short-history", "plan/input-degree", "plan/input-degree"],
    ),
    car(
        "reference-port",
        &[(
            "[method]",
            "[reference]\nmodel = \"quarter-car\"\nports = { \"wheel.zz\" = \"zw\" }\n\n[method]",
        )],
        &["check/reference-port"],
    ),
    // The command line.
    command("variant", &["--variant", "winter"], &["system/variant"]),
    command("override-value", &["--step", "0"], &["override/value"]),
    command("override-own-step", &["--own-step", "wheel=0"], &["override/value"]),
    command("override-own-name", &["--own-step", "whel=5e-3"], &["override/unknown-component"]),
    command("override-own-syntax", &["--own-step", "5e-3"], &["override/syntax"]),
    command("override-syntax", &["--connect", "chassis.F"], &["override/syntax"]),
    command("override-axis", &["--method", "laws=pi"], &["override/unknown-axis"]),
    command("override-component", &["--connect", "chasis.F=wheel.F"], &["override/unknown-component"]),
    command("override-parameter", &["--set", "mass=1"], &["override/unknown-parameter"]),
    command("override-input", &["--input", "drive.txt"], &["override/input"]),
    command("override-solver", &["--solver", "bdf"], &["override/solver"]),
    units(
        "short-table",
        &[("[method]", "[component.drive]\nsource = \"drive.csv\"\n\n[method]")],
        &["check/lonely-component", "plan/table"],
    ),
    // One mistake hides no other.
    Case {
        name: "all-at-once",
        base: UNITS,
        changes: &[
            ("stop = 1.0", "stop = 1.0\nhistry = \"x\""),
            ("\"mass.fmu\"", "\"moss.fmu\"\nstart = { nothing = 1.0 }"),
            ("from = \"spring.F\"", "from = \"spring.FF\""),
            (
                "[method]",
                "[component.spare]\nsource = \"limited.fmu\"\nparameters = { m = -1.0 }\n\n[[connection]]\nfrom = \"mass.w\"\nto = \"spare.f\"\n\n[results]\nvariables = [\"mass.*\", \"spring.y\"]\n\n[method]",
            ),
            ("size = 0.1", "size = -0.1"),
        ],
        args: &["--tolerance", "1"],
        codes: &[
            "override/value",
            "system/unknown-key",
            "plan/cannot-open",
            "plan/unknown-port",
            "plan/parameter",
            "plan/unknown-port",
            "plan/results",
            "system/value",
        ],
    },
];

const JOINED: &[Case] = &[
    car(
        "cannot-join",
        &[("[method]", "[monolithic.both]\ncomponents = [\"chassis\", \"wheel\"]\n\n[method]")],
        &["plan/cannot-join", "plan/cannot-join"],
    ),
    Case {
        name: "nothing-to-join",
        base: EQUATIONS,
        changes: &[("[method]", "[monolithic.both]\ncomponents = [\"mass\"]\n\n[method]")],
        args: &[],
        codes: &["plan/nothing-to-join"],
    },
    Case {
        name: "joined-twice",
        base: EQUATIONS,
        changes: &[(
            "[method]",
            "[monolithic.both]\ncomponents = [\"mass\", \"spring\"]\n\n[monolithic.more]\ncomponents = [\"spring\", \"mass\"]\n\n[method]",
        )],
        args: &[],
        codes: &["plan/bond-inside", "plan/joined-twice"],
    },
    Case {
        name: "bond-inside",
        base: EQUATIONS,
        changes: &[("[method]", "[monolithic.both]\ncomponents = [\"mass\", \"spring\"]\n\n[method]")],
        args: &[],
        codes: &["plan/bond-inside"],
    },
    Case {
        name: "own-step-joined",
        base: EQUATIONS,
        changes: &[
            ("[component.mass]", "[component.mass]\nstep = 0.1"),
            ("[method]", "[monolithic.both]\ncomponents = [\"mass\", \"spring\"]\n\n[method]"),
        ],
        args: &[],
        codes: &["plan/own-step-joined", "plan/bond-inside"],
    },
    Case { name: "events-inside", base: BALL, changes: &[], args: &[], codes: &["plan/events-inside"] },
    units(
        "type-mismatch",
        &[
            ("[method]", "[component.echo]\nsource = \"echo.fmu\"\n\n[method]"),
            ("from = \"spring.F\"", "from = \"echo.string_out\""),
        ],
        &[
            "check/constant-input",
            "plan/type-mismatch",
            "check/constant-input",
            "check/constant-input",
            "check/constant-input",
            "check/constant-input",
        ],
    ),
    units(
        "type-rounded",
        &[(
            "[method]",
            "[component.echo]\nsource = \"echo.fmu\"\n\n[[connection]]\nfrom = \"mass.v\"\nto = \"echo.int32_in\"\n\n[method]",
        )],
        &[
            "check/constant-input",
            "check/constant-input",
            "check/constant-input",
            "plan/type-rounded",
            "check/unit-missing",
        ],
    ),
];

/// Codes that no system file can have: names and options of methods and sources are checked on reading, and
/// a component of a name is the only key of that name.
const ELSEWHERE: &[&str] = &[
    "plan/unknown-method",
    "plan/bad-option",
    "plan/unknown-source",
    "plan/unknown-component",
    "system/duplicate",
    "plan/line-feedthrough",
    "plan/line-step",
    "plan/island-method",
];

/// A unit with some text of its description replaced.
pub(crate) fn altered(design: &Design, changes: &[(&str, &str)], into: &Path) {
    write(design, &built_library().unwrap(), into).unwrap();
    let mut archive = zip::ZipArchive::new(std::fs::File::open(into).unwrap()).unwrap();
    let entries: Vec<(String, Vec<u8>)> = (0..archive.len())
        .map(|index| {
            let mut entry = archive.by_index(index).unwrap();
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes).unwrap();
            (entry.name().unwrap().into_owned(), bytes)
        })
        .collect();
    let mut writer = zip::ZipWriter::new(std::fs::File::create(into).unwrap());
    for (name, mut bytes) in entries {
        if name == "modelDescription.xml" {
            let mut text = String::from_utf8(bytes).unwrap();
            for (from, to) in changes {
                assert!(text.contains(from), "the description has no `{from}`:\n{text}");
                text = text.replacen(from, to, 1);
            }
            bytes = text.into_bytes();
        }
        writer.start_file(name, SimpleFileOptions::default()).unwrap();
        writer.write_all(&bytes).unwrap();
    }
    writer.finish().unwrap();
}

/// A folder with all units that the cases name, made once.
fn workshop() -> &'static PathBuf {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = folder("check");
        let mass = |version| Design::new("native:oscillator/mass", version);
        let spring = Design::new("native:oscillator/spring-damper", Version::Two);
        let two = mass(Version::Two);
        let pulled = Design::new("native:dual-mass/left-force", Version::Two).variant(Variant::NoRollback);
        let limits =
            ("<Real unit=\"N\" start=\"0\"/>", "<Real unit=\"N\" start=\"0\" min=\"-100\" max=\"100\"/>");
        let least = ("<Real unit=\"kg\"", "<Real min=\"0.001\" unit=\"kg\"");
        for (file, design, changes) in [
            ("spring-exchange.fmu", spring.clone().kind(InterfaceType::ModelExchange), &[][..]),
            ("mass-exchange.fmu", two.clone().kind(InterfaceType::ModelExchange), &[]),
            ("ball.fmu", Design::exchange("native:bouncing-ball", Version::Two), &[]),
            ("pulled.fmu", pulled, &[]),
            (
                "stretching.fmu",
                Design::new("native:spring-mass/left", Version::Three).stretching_lines(),
                &[],
            ),
            ("echo.fmu", Design::new(ECHO, Version::Two), &[]),
            ("spring.fmu", spring.clone(), &[]),
            ("mass.fmu", two.clone(), &[]),
            ("limited.fmu", two.clone(), &[limits, least]),
            (
                "misguided.fmu",
                two.clone(),
                &[("<Real unit=\"N\" start=\"0\"/>", "<Real unit=\"N\" start=\"0\" min=\"1\"/>")],
            ),
            ("unitless.fmu", two.clone(), &[("<Real unit=\"N\" start=\"0\"/>", "<Real start=\"0\"/>")]),
            (
                "kilonewtons.fmu",
                two.clone(),
                &[("<Real unit=\"N\" start=\"0\"/>", "<Real unit=\"kN\" start=\"0\"/>")],
            ),
            ("odd.fmu", two.clone(), &[("<DefaultExperiment ", "<DefaultExperiment tolerance=\"high\" ")]),
            ("room.fmu", Design::exchange("native:thermostat", Version::Two), &[]),
            ("norollback.fmu", two.clone().variant(Variant::NoRollback), &[]),
            ("fixedstep.fmu", two.variant(Variant::FixedStep), &[]),
            ("nojacobian.fmu", spring, &[("providesDirectionalDerivative=\"true\"", "")]),
            (
                "internal.fmu",
                mass(Version::Three),
                &[("<CoSimulation ", "<CoSimulation fixedInternalStepSize=\"0.03\" ")],
            ),
        ] {
            altered(&design, changes, &folder.join(file));
        }
        std::fs::write(folder.join("drive.csv"), "time,F\n0,1\n0.5,2\n").unwrap();
        std::fs::write(folder.join("short.csv"), "time,spring.F,mass.v\n-0.1,0.0,0.0\n").unwrap();
        folder
    })
}

fn check(case: &Case, more: &[&str]) -> (i32, String) {
    let mut text = case.base.to_owned();
    for (from, to) in case.changes {
        assert!(text.contains(from), "{}: the system has no `{from}`", case.name);
        text = text.replacen(from, to, 1);
    }
    let file = format!("{}.toml", case.name);
    std::fs::write(workshop().join(&file), text).unwrap();
    let output = cosimo(workshop(), &[&["check", &file], case.args, more].concat());
    assert!(output.stderr.is_empty(), "{}: {}", case.name, String::from_utf8_lossy(&output.stderr));
    (output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap())
}

#[test]
fn every_message_as_people_and_programs_read_it() {
    let mut wrong = Vec::new();
    for case in CASES.iter().chain(JOINED) {
        let (code, text) = check(case, &[]);
        let (same, json) = check(case, &["--json"]);
        assert_eq!(code, same, "{}", case.name);
        let parsed: Value = serde_json::from_str(&json).unwrap();
        let problems = parsed["problems"].as_array().unwrap();
        let codes: Vec<&str> = problems.iter().map(|problem| problem["code"].as_str().unwrap()).collect();
        if codes != case.codes {
            wrong.push(format!("{}: expected {:?}, got {codes:?}", case.name, case.codes));
        }
        let errors = problems.iter().filter(|problem| problem["severity"] == "error").count();
        assert_eq!(code, if errors > 0 { 2 } else { 0 }, "{}", case.name);
        assert_eq!(check(case, &["--strict"]).0, 2, "{}", case.name);
        assert_snapshot!(format!("check-{}", case.name), format!("exit {code}\n{text}\n{json}"));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Steps of components' own are shown where there are some.
#[test]
fn own_steps_are_shown() {
    let case = Case { name: "own-steps", base: CAR, changes: &[], args: &[], codes: &[] };
    let (code, text) = check(&case, &["--own-step", "wheel=5e-3"]);
    assert!(code == 0 && text.contains("\nmulti-rate: wheel 0.005 s\n"), "{text}");
    let (_, json) = check(&case, &["--own-step", "wheel=5e-3", "--json"]);
    let parsed: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(parsed["summary"]["own_steps"], serde_json::json!([{ "component": "wheel", "size": 5e-3 }]));
}

#[test]
fn systems_without_a_flaw() {
    for (name, base, args) in [
        ("car", CAR, &[][..]),
        ("units", UNITS, &["--strict"]),
        ("gains", GAINS, &["--strict"]),
        ("given-start", UNITS, &["--set", "mass.m=2"]),
    ] {
        let case = Case { name, base, changes: &[], args: &[], codes: &[] };
        let (code, text) = check(&case, args);
        assert_eq!(code, 0, "{name}: {text}");
        assert!(text.contains("no problems found"), "{name}: {text}");
    }
}

#[test]
fn simulators_on_the_command_line() {
    let joined = ["check", "spring.fmu", "mass.fmu", "--connect", "spring.F=mass.F"];
    let output = cosimo(workshop(), &joined);
    assert_snapshot!("check-simulators", String::from_utf8(output.stdout).unwrap());
    assert_eq!(output.status.code(), Some(0));
    let output = cosimo(workshop(), &["check", "mass.fmu", "mass.fmu", "--json"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.code() == Some(2) && text.contains("system/duplicate"), "{text}");
    let output = cosimo(workshop(), &["check", "sprung.fmu"]);
    assert_eq!(output.status.code(), Some(3));
}

/// All codes in the sources, against those of the cases.
#[test]
fn every_code_has_a_case() {
    let known: BTreeSet<&str> =
        CASES.iter().chain(JOINED).flat_map(|case| case.codes).chain(ELSEWHERE).copied().collect();
    let mut folders = vec![
        root().join("crates/cosimo-engine/src"),
        root().join("crates/cosimo-system/src"),
        root().join("crates/cosimo-analysis/src"),
    ];
    let mut found = BTreeSet::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if entry.is_dir() {
                folders.push(entry);
                continue;
            }
            let text = std::fs::read_to_string(entry).unwrap();
            for part in text.split('"') {
                let of = |kind: &&str| {
                    part.strip_prefix(*kind).is_some_and(|rest| {
                        !rest.is_empty()
                            && rest.chars().all(|letter| letter.is_ascii_lowercase() || letter == '-')
                    })
                };
                if ["plan/", "check/", "system/", "override/"].iter().any(of) {
                    found.insert(part.to_owned());
                }
            }
        }
    }
    let untested: Vec<&String> = found.iter().filter(|code| !known.contains(code.as_str())).collect();
    assert!(untested.is_empty(), "no case for {untested:?}");
    let gone: Vec<&&str> = known.iter().filter(|code| !found.contains(**code)).collect();
    assert!(gone.is_empty(), "no source uses {gone:?}");
}
