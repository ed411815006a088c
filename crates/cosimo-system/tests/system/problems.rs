//! Problems of wrong files: what was expected and found, the text at the place, and the hint.

use super::{LEAST, good, read};

/// Code, text under the span, message, hint.
type Report = (&'static str, String, String, Option<String>);

fn report(text: &str) -> Vec<Report> {
    let (_, problems) = read(text);
    problems
        .into_iter()
        .map(|problem| {
            assert!(problem.span.is_empty() || !problem.label.is_empty(), "{problem:?}");
            (problem.code, text[problem.span].to_owned(), problem.message, problem.hint)
        })
        .collect()
}

/// Exactly one problem.
#[track_caller]
fn one(text: &str, code: &str, under: &str, message: &str, hint: Option<&str>) {
    let report = report(text);
    let [(found_code, found_under, found_message, found_hint)] = &report[..] else {
        panic!("expected one problem, got {report:#?}")
    };
    assert_eq!((*found_code, found_under.as_str(), found_message.as_str()), (code, under, message));
    assert_eq!(found_hint.as_deref(), hint);
}

/// In a system with components `a` and `b` otherwise.
#[track_caller]
pub(crate) fn line(lines: &str, code: &str, under: &str, message: &str, hint: Option<&str>) {
    let least = format!("{LEAST}[component.b]\nsource = 'b.fmu'\n");
    good(&least);
    one(&format!("{least}{lines}\n"), code, under, message, hint);
}

#[track_caller]
fn in_component(lines: &str, code: &str, under: &str, message: &str, hint: Option<&str>) {
    one(&format!("{LEAST}{lines}\n"), code, under, message, hint);
}

#[track_caller]
fn in_experiment(lines: &str, code: &str, under: &str, message: &str, hint: Option<&str>) {
    let text = format!("[experiment]\n{lines}\n[component.a]\nsource = 'a.fmu'\n");
    one(&text, code, under, message, hint);
}

#[test]
fn unknown_keys_are_named_with_their_neighbours() {
    let code = "system/unknown-key";
    line("[metod]", code, "metod", "the file has no key `metod`", Some("did you mean `method`?"));
    in_experiment(
        "stop = 1\nstrat = 0",
        code,
        "strat",
        "`[experiment]` has no key `strat`",
        Some("did you mean `start`?"),
    );
    in_component(
        "wieght = 1",
        code,
        "wieght",
        "component `a` has no key `wieght`",
        Some("did you mean `weight`?"),
    );
    line(
        "[[connection]]\nfrom = 'a.y'\nto = 'b.u'\nfactor = 2",
        code,
        "factor",
        "`[[connection]]` has no key `factor`",
        Some("known are `from`, `to`, `gain`, `offset`, `map`, `convert`"),
    );
    let side = "{ effort = 'a.F', flow = 'a.v' }";
    line(
        &format!("[[bond]]\na = {side}\nb = {{ effort = 'b.F', flow = 'b.v', flwo = 1 }}"),
        code,
        "flwo",
        "`b` of bond `bond1` has no key `flwo`",
        Some("did you mean `flow`?"),
    );
    line(
        "[method]\ninptu = 'hold'",
        code,
        "inptu",
        "`[method]` has no key `inptu`",
        Some("did you mean `input`?"),
    );
    line(
        "[method]\nstep = { siez = 1 }",
        code,
        "siez",
        "`step` has no key `siez`",
        Some("did you mean `size`?"),
    );
    line(
        "[reference]\nmodel = 'quarter-car'\nprots = {}",
        code,
        "prots",
        "`[reference]` has no key `prots`",
        Some("did you mean `ports`?"),
    );
}

#[test]
fn what_is_required_is_missed() {
    let code = "system/missing";
    let two = report("");
    assert_eq!(two.len(), 2);
    assert_eq!(two[0].2, "the file needs `experiment`");
    assert_eq!(two[1].2, "the file needs `component`");
    assert_eq!(two[0].3.as_deref(), Some("write for example `[experiment]` with `stop = 4.0`"));
    in_experiment(
        "",
        code,
        "[experiment]",
        "`[experiment]` needs `stop`",
        Some("write for example `stop = 4.0`"),
    );
    one(
        "[experiment]\nstop = 1\n[component]",
        code,
        "[component]",
        "a system needs at least one component",
        Some("write for example `[component.name]` with `source = \"native:model\"`"),
    );
    line(
        "[component.c]",
        code,
        "[component.c]",
        "component `c` needs `source`",
        Some("write for example `source = \"native:model\"`"),
    );
    line(
        "[[connection]]\nfrom = 'a.y'",
        code,
        "[[connection]]",
        "`[[connection]]` needs `to`",
        Some("write for example `to = \"component.input\"`"),
    );
    line(
        "[[bond]]\nname = 's'\na = { effort = 'a.F', flow = 'a.v' }",
        code,
        "[[bond]]",
        "bond `s` needs `b`",
        Some("write for example `b = { effort = \"component.F\", flow = \"component.v\" }`"),
    );
    line(
        "[[bond]]\na = { effort = 'a.F', flow = 'a.v' }\nb = { flow = 'b.v' }",
        code,
        "{ flow = 'b.v' }",
        "`b` of bond `bond1` needs `effort`",
        Some("write for example `effort = \"component.port\"`"),
    );
    line(
        "[[junction]]\nsides = [{ effort = 'a.F', flow = 'a.v' }, { effort = 'a.F', flow = 'a.v' }]",
        code,
        "[[junction]]",
        "junction `junction1` needs `common`",
        Some("write for example `common = \"effort\"`"),
    );
    assert_eq!(
        report(&format!("{LEAST}[[junction]]\ncommon = 'flow'"))[0].2,
        "junction `junction1` needs `sides`"
    );
    line(
        "[reference]",
        code,
        "[reference]",
        "`[reference]` needs `model`",
        Some("write for example `model = \"name\"`"),
    );
}

#[test]
fn numbers_are_what_they_must_be() {
    let code = "system/value";
    for bad in ["nan", "inf", "-inf", "0", "-1e-3", "true", "\"1\"", "1e999", "2020-01-01"] {
        let found = if bad == "2020-01-01" { "a date" } else { bad };
        let message = format!("`tolerance` must be a finite number above 0, got {found}");
        in_component(&format!("tolerance = {bad}"), code, bad, &message, None);
    }
    for bad in ["nan", "inf", "0", "-5e-3", "\"5 ms\""] {
        let message = format!("`step` must be a finite number above 0, got {bad}");
        in_component(&format!("step = {bad}"), code, bad, &message, None);
    }
    in_component("weight = -1", code, "-1", "`weight` must be a finite number of at least 0, got -1", None);
    in_component("start = { F = nan }", code, "nan", "`F` must be a finite number, got nan", None);
    in_component(
        "start = 1",
        code,
        "1",
        "`start` must be a table, got 1",
        Some("write `start = { name = value }`"),
    );
    in_component(
        "parameters = []",
        code,
        "[]",
        "`parameters` must be a table, got a list",
        Some("write `parameters = { name = value }`"),
    );
    in_experiment("stop = \"4\"", code, "\"4\"", "`stop` must be a finite number, got \"4\"", None);
    in_experiment("stop = 0", code, "0", "`stop` must be later than `start`, 0 s, got 0", None);
    in_experiment(
        "start = 5\nstop = 4.0",
        code,
        "4.0",
        "`stop` must be later than `start`, 5 s, got 4.0",
        None,
    );
    in_experiment("start = nan\nstop = -4.0", code, "nan", "`start` must be a finite number, got nan", None);
    let connection = "[[connection]]\nfrom = 'a.y'\nto = 'b.u'";
    line(&format!("{connection}\ngain = inf"), code, "inf", "`gain` must be a finite number, got inf", None);
    let side = "{ effort = 'a.F', flow = 'a.v' }";
    for key in ["tolerance", "energy_scale"] {
        let message = format!("`{key}` must be a finite number above 0, got 0");
        line(&format!("[[bond]]\na = {side}\nb = {side}\n{key} = 0"), code, "0", &message, None);
        let junction = format!("[[junction]]\ncommon = 'flow'\nsides = [{side}, {side}]\n{key} = 0");
        line(&junction, code, "0", &message, None);
    }
    for key in ["size", "min", "max"] {
        let message = format!("`{key}` must be a finite number above 0, got -0.5");
        line(&format!("[method]\nstep = {{ {key} = -0.5 }}"), code, "-0.5", &message, None);
    }
    line(
        "[method]\nstep = { shrink = 2 }",
        code,
        "2",
        "`shrink` must be a number above 0 and at most 1, got 2",
        None,
    );
    line(
        "[method]\nstep = { grow = 0.5 }",
        code,
        "0.5",
        "`grow` must be a finite number of at least 1, got 0.5",
        None,
    );
    line(
        "[method]\nstep = { min = 2, max = 1 }",
        code,
        "1",
        "`min` must be at most `max`, got 2 and 1",
        None,
    );
    line(
        "[method]\nstep = { max = 1e-7 }",
        code,
        "1e-7",
        "`min` must be at most `max`, got 0.000001 and 0.0000001",
        Some("the default of `min` is 0.000001 s"),
    );
}

#[test]
fn words_are_from_their_list() {
    let code = "system/value";
    in_experiment(
        "stop = 1\nend = 'exat'",
        code,
        "'exat'",
        "`end` must be \"exact\" or \"after\", got \"exat\"",
        Some("did you mean `exact`?"),
    );
    in_experiment(
        "stop = 1\nrecord = 1",
        code,
        "1",
        "`record` must be \"after-exchange\" or \"before-exchange\", got 1",
        None,
    );
    in_experiment("stop = 1\nhistory = 1", code, "1", "`history` must be a text in quotes, got 1", None);
    let side = "{ effort = 'a.F', flow = 'a.v' }";
    line(
        &format!("[[bond]]\na = {side}\nb = {side}\nopposite = 'flwo'"),
        code,
        "'flwo'",
        "`opposite` must be \"none\" or \"effort\" or \"flow\", got \"flwo\"",
        Some("did you mean `flow`?"),
    );
    line(
        &format!("[[bond]]\na = {side}\nb = {side}\ndirection = 'a_to_b'"),
        code,
        "'a_to_b'",
        "`direction` must be \"a-to-b\" or \"b-to-a\", got \"a_to_b\"",
        Some("did you mean `a-to-b`?"),
    );
    line(
        &format!("[[junction]]\ncommon = 'force'\nsides = [{side}, {side}]"),
        code,
        "'force'",
        "`common` must be \"effort\" or \"flow\", got \"force\"",
        Some("known are `effort`, `flow`"),
    );
    line(
        &format!(
            "[[junction]]\ncommon = 'flow'\nsides = [{side}, {{ effort = 'a.F', flow = 'a.v', power = 'leave' }}]"
        ),
        code,
        "'leave'",
        "`power` must be \"enters\" or \"leaves\", got \"leave\"",
        Some("did you mean `leaves`?"),
    );
    line(
        "[method]\nexchange = 'frech'",
        code,
        "'frech'",
        "`exchange` must be \"stale\" or \"fresh\", got \"frech\"",
        Some("did you mean `fresh`?"),
    );
    line(
        "[method]\nstep = { reject = 'always' }",
        code,
        "'always'",
        "`reject` must be \"never\" or \"above-one\", got \"always\"",
        Some("known are `never`, `above-one`"),
    );
}

#[test]
fn shapes_are_what_they_must_be() {
    let code = "system/value";
    line(
        "[connection]\nfrom = 'a.y'",
        code,
        "[connection]",
        "`connection` must be a list of tables, got a table",
        Some("write `[[connection]]`, once for each"),
    );
    one(&format!("bond = [1]\n{LEAST}"), code, "1", "`[[bond]]` must be a table, got 1", None);
    one(
        &format!("method = 'jacobi'\n{LEAST}"),
        code,
        "'jacobi'",
        "`[method]` must be a table, got \"jacobi\"",
        None,
    );
    let hint = Some("write `[component.name]`, once for each");
    one(
        "[experiment]\nstop = 1\n[[component]]\nsource = 'a.fmu'",
        code,
        "[[component]]",
        "`component` must be a table of components, got a list",
        hint,
    );
    line(
        "[results]\nvariables = 'a.*'",
        code,
        "'a.*'",
        "`variables` must be a list of texts in quotes, got \"a.*\"",
        Some("write `variables = [\"...\"]`"),
    );
    line("[results]\nvariables = ['a.*', 1]", code, "1", "`variables` must be a text in quotes, got 1", None);
    line("[results]\nvariables = ['!']", code, "'!'", "a pattern must not be empty, got \"!\"", None);
    line("[results]\nevery = 0", code, "0", "`every` must be a finite number above 0, got 0", None);
    line("[method]\nstep = 1e-3", code, "1e-3", "`step` must be a table, got 1e-3", None);
    line(
        "[[bond]]\na = 1\nb = { effort = 'b.F', flow = 'b.v' }",
        code,
        "1",
        "`a` of bond `bond1` must be a table, got 1",
        None,
    );
}

#[test]
fn ports_belong_to_components() {
    let code = "system/unknown-component";
    line(
        "[[connection]]\nfrom = 'a.y'\nto = 'c.u'",
        code,
        "'c.u'",
        "no component is called `c`",
        Some("known are `a`, `b`"),
    );
    let chassis = "[component.chassis]\nsource = 'c.fmu'\n[[connection]]\nfrom = 'a.y'\nto = 'chasis.u'";
    line(chassis, code, "'chasis.u'", "no component is called `chasis`", Some("did you mean `chassis`?"));
    line(
        "[method]\ninput = { 'wheels.F' = 'hold' }",
        code,
        "'wheels.F'",
        "no component is called `wheels`",
        Some("known are `a`, `b`"),
    );
    line(
        "[reference]\nmodel = 'quarter-car'\nports = { 'wheels.v' = 'vw' }",
        code,
        "'wheels.v'",
        "no component is called `wheels`",
        Some("known are `a`, `b`"),
    );
    for bad in ["y", "a.", ".y", ""] {
        let message = format!("`from` must be `component.port`, got {bad:?}");
        line(
            &format!("[[connection]]\nfrom = '{bad}'\nto = 'b.u'"),
            "system/value",
            &format!("'{bad}'"),
            &message,
            None,
        );
    }
    line(
        "[[bond]]\na = { effort = 'a.F', flow = 'b.v' }\nb = { effort = 'b.F', flow = 'b.v' }",
        "system/two-components",
        "'b.v'",
        "`a` of bond `bond1` takes its effort from `a` but its flow from `b`",
        Some("effort and flow of one side must belong to the same component"),
    );
}

#[test]
fn names_are_plain_and_used_once() {
    let found = "the name of a component is made of letters, digits, `_` and `-`, with single dots or spaces between, \
                 got \"a/b\"";
    line("[component.'a/b']\nsource = 'x.fmu'", "system/name", "'a/b'", found, None);
    let side = "{ effort = 'a.F', flow = 'a.v' }";
    let bond = |name: &str| format!("[[bond]]\nname = '{name}'\na = {side}\nb = {side}\n");
    let found = "the name of a bond is made of letters, digits, `_` and `-`, got \"\"";
    line(&bond(""), "system/name", "''", found, None);
    let junction = format!("[[junction]]\nname = 's'\ncommon = 'flow'\nsides = [{side}, {side}]");
    for (second, under) in [(bond("s"), "'s'"), (junction, "'s'")] {
        line(
            &format!("{}{second}", bond("s")),
            "system/duplicate-name",
            under,
            "two bonds or junctions are named `s`",
            Some("give it another `name`"),
        );
    }
    line(
        &format!("[[junction]]\ncommon = 'flow'\nsides = [{side}]"),
        "system/value",
        &format!("[{side}]"),
        "junction `junction1` needs at least 2 sides, got 1",
        None,
    );
}

#[test]
fn sources_are_of_a_known_kind() {
    let code = "system/unknown-source";
    let source = |source: &str| format!("[component.c]\nsource = '{source}'");
    let message = |source: &str| format!("no kind of component accepts the source `{source}`");
    for near in ["quarter-car/wheel", "nativ:quarter-car/wheel"] {
        let hint = Some("did you mean `native:quarter-car/wheel`?");
        line(&source(near), code, &format!("'{near}'"), &message(near), hint);
    }
    let hint = Some("known kinds are `native` (models written in Rust), `fmu` (files that end in .fmu)");
    line(&source("engine.py"), code, "'engine.py'", &message("engine.py"), hint);
    line("[component.c]\nsource = 1", "system/value", "1", "`source` must be a text in quotes, got 1", None);
}

#[test]
fn broken_toml_points_at_the_break() {
    line("[component.a]\nweight = 1", "system/syntax", "a", "invalid TOML: duplicate key", None);
    for word in ["four", "zork"] {
        let (code, under, message, hint) = report(&format!("[experiment]\nstop = {word}\n")).remove(0);
        assert_eq!((code, under.as_str()), ("system/syntax", word), "{message}");
        assert_eq!(hint, Some(format!("texts need quotes: `\"{word}\"`")));
    }
}

/// A hundred are enough to find the cause; formatting tens of thousands took half a minute.
#[test]
fn of_very_many_syntax_errors_the_first_are_reported() {
    let text = format!("[experiment]\nstop = 1\n{}", "end = \"after\"\n".repeat(20_000));
    let report = report(&text);
    assert_eq!(report.len(), 101);
    assert!(report.iter().all(|problem| problem.0 == "system/syntax"));
    assert_eq!(report[100].2, "invalid TOML: 19899 more errors from here on");
}

#[test]
fn a_break_hides_no_wrong_value_and_invents_nothing() {
    let text =
        "[experiment\nstop = 4\n[component.a]\nsource = 'a.fmu'\ntolerance = 0\n[method]\ninput = 'liner'\n";
    let problems = report(text);
    let codes: Vec<&str> = problems.iter().map(|problem| problem.0).collect();
    assert_eq!(codes, ["system/syntax", "system/value", "system/unknown-method"], "{problems:#?}");
}

#[test]
fn all_problems_come_at_once_in_the_order_of_the_file() {
    let text = r#"
[experiment]
stop = nan
edn = "exact"
[component.chassis]
sorce = "native:quarter-car/chassis"
tolerance = -1
[component.wheel]
source = "wheel.mo"
[[connection]]
from = "chasis.v"
to = "wheel"
[method]
input = { linear = { limit = 0, clpi = true } }
correction = "npce"
step = { controller = "pi", min = 0, reject = "no" }
[reference]
model = "half-car"
"#;
    let problems = report(text);
    let seen: Vec<(&str, &str)> = problems.iter().map(|problem| (problem.0, problem.1.as_str())).collect();
    assert_eq!(
        seen,
        [
            ("system/value", "nan"),
            ("system/unknown-key", "edn"),
            ("system/missing", "[component.chassis]"),
            ("system/unknown-key", "sorce"),
            ("system/value", "-1"),
            ("system/unknown-source", "\"wheel.mo\""),
            ("system/unknown-component", "\"chasis.v\""),
            ("system/value", "\"wheel\""),
            ("system/option", "0"),
            ("system/option", "clpi"),
            ("system/unknown-method", "\"npce\""),
            ("system/value", "0"),
            ("system/value", "\"no\""),
            ("system/unknown-reference", "\"half-car\""),
        ]
    );
}

#[test]
fn problems_of_sums_maps_and_units() {
    let connection = |more: &str| format!("[[connection]]\nto = 'a.u'\n{more}");
    line(
        &connection("from = ['a.y', 'b.y']\ngain = 2"),
        "system/value",
        "gain = 2",
        "`gain` must be given for each output of the list",
        Some("write `from = [{ port = \"a.y\", gain = .. }, \"b.y\"]`"),
    );
    line(
        &connection("from = []"),
        "system/value",
        "[]",
        "`from` must be at least one output, got a list",
        None,
    );
    line(
        &connection("from = 'b.y'\nmap = { on = 1 }"),
        "system/value",
        "on",
        "a key of `map` must be a number, `true` or `false`, got \"on\"",
        None,
    );
    let twice = "`map` has two entries for 1";
    line(&connection("from = 'b.y'\nmap = { 1 = 2, true = 3 }"), "system/value", "true", twice, None);
    let flag = "`convert` must be true or false, got 1";
    line(&connection("from = 'b.y'\nconvert = 1"), "system/value", "1", flag, None);
    let hint =
        "use known units, as in `m/s`, or SI base units: `{ name = \"kn\", m = 1, s = -1, factor = 0.514 }`";
    in_component(
        "units = { x = 'furlong' }",
        "system/value",
        "'furlong'",
        "`furlong` in the unit `furlong` is not known",
        Some(hint),
    );
    let exponent = "`m` must be a whole number from -100 to 100, got 0.5";
    in_component("units = { x = { m = 0.5 } }", "system/value", "0.5", exponent, None);
}
