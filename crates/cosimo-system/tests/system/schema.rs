//! The schema accepts what the reader accepts.

use cosimo_system::schema::json_schema;
use serde_json::{Value, json};

use super::{FULL, LEAST, read, registry};

#[test]
fn good_files_pass() {
    let linear =
        format!("{LEAST}[method]\nschedule = 'jacobi'\ninput = 'linear'\ncorrection = {{ nepce = {{}} }}\n");
    for text in [FULL, LEAST, &linear] {
        assert_eq!(read(text).1, []);
        validate(text).unwrap();
    }
}

#[test]
fn bad_files_fail_where_the_reader_does() {
    let side = "{ effort = 'a.F', flow = 'a.v' }";
    for (lines, place) in [
        ("[metod]", "metod"),
        ("wieght = 1", "component.a"),
        ("weight = -1", "component.a.weight"),
        ("tolerance = 0", "component.a.tolerance"),
        ("start = { F = 'x' }", "component.a.start.F"),
        ("[component.b]", "component.b"),
        ("[component.'a/b']\nsource = 'x.fmu'", "component"),
        ("[[connection]]\nfrom = 'a.y'", "connection.0"),
        ("[[connection]]\nfrom = 'ay'\nto = 'a.u'", "connection.0.from"),
        (&format!("[[bond]]\na = {side}"), "bond.0"),
        (&format!("[[bond]]\na = {side}\nb = {side}\nopposite = 'x'"), "bond.0.opposite"),
        (&format!("[[junction]]\ncommon = 'flow'\nsides = [{side}]"), "junction.0.sides"),
        ("[method]\nschedule = 'jacobi'\npartition = 'jacobi'", "method"),
        ("[method]\ninput = 'liner'", "method.input"),
        ("[method]\ninput = {}", "method.input"),
        ("[method]\ninput = { default = 'hold', 'wheel' = 'hold' }", "method.input"),
        ("[method]\ncorrection = { nepce = { gain = 2 } }", "method.correction"),
        ("[method]\ncorrection = { nepce = { gian = 1 } }", "method.correction"),
        ("[method]\niteration = { fixed-point = { sweeps = 0 } }", "method.iteration"),
        ("[method]\nstep = { grow = 0.5 }", "method.step.grow"),
        ("[method]\nstep = { reject = 'no' }", "method.step.reject"),
        ("[results]\nevery = 0", "results.every"),
        ("[results]\nvariables = ['!']", "results.variables.0"),
        ("[results]\nvariables = 'a'", "results.variables"),
        ("[reference]\nmodel = 'half-car'", "reference.model"),
    ] {
        let text = format!("{LEAST}{lines}\n");
        assert!(!read(&text).1.is_empty(), "the reader takes {lines}");
        let found = validate(&text).expect_err(lines);
        assert!(found.starts_with(place), "{lines}: {found}");
    }
    assert!(validate("[experiment]\nstop = 1").is_err());
    assert!(validate(&LEAST.replace("stop = 4", "end = 'exact'")).is_err());
}

#[test]
fn options_carry_their_documentation() {
    let schema = json_schema(&registry::registry());
    let nepce = schema["$defs"]["correction"]["oneOf"].as_array().unwrap();
    let nepce = nepce.iter().find_map(|one| one["properties"].get("nepce")).unwrap();
    assert_eq!(
        nepce["properties"]["gain"],
        json!({
            "type": "number", "description": "how much is repaid at once",
            "minimum": 0.0, "maximum": 1.0, "default": 1.0,
        })
    );
    assert_eq!(nepce["properties"]["form"]["enum"], json!(["account", "paper"]));
    assert_eq!(nepce["additionalProperties"], json!(false));
    let component = &schema["properties"]["component"]["patternProperties"]["^[\\p{L}\\p{N}_-]+([ .][\\p{L}\\p{N}_-]+)*$"];
    assert_eq!(component["properties"]["source"]["examples"][1], json!("native:quarter-car/wheel"));
}

fn validate(text: &str) -> Result<(), String> {
    let table: toml::Table = text.parse().unwrap();
    let schema = json_schema(&registry::registry());
    check(&schema, &schema, &serde_json::to_value(table).unwrap(), "")
}

/// As much of JSON Schema as the schema uses; an unknown keyword is an error, so that all are checked.
fn check(root: &Value, schema: &Value, value: &Value, place: &str) -> Result<(), String> {
    let fail = |what: &str| Err(format!("{}: {what}", place.trim_start_matches('.')));
    let holds = |schema: &Value| check(root, schema, value, place).is_ok();
    let Some(schema) = schema.as_object() else { return fail("is forbidden") };
    let number = |limit: &Value, ok: fn(f64, f64) -> bool| match (value.as_f64(), limit.as_f64()) {
        (Some(value), Some(limit)) => ok(value, limit),
        _ => true,
    };
    for (word, rule) in schema {
        let rules = || rule.as_array().into_iter().flatten();
        let ok = match word.as_str() {
            "$schema" | "$defs" | "title" | "description" | "default" | "examples" => true,
            "$ref" => {
                let target = rule.as_str().unwrap().trim_start_matches('#');
                check(root, root.pointer(target).unwrap(), value, place)?;
                true
            }
            "type" => match rule.as_str().unwrap() {
                "object" => value.is_object(),
                "array" => value.is_array(),
                "string" => value.is_string(),
                "boolean" => value.is_boolean(),
                "number" => value.is_number(),
                "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
                other => panic!("type {other}"),
            },
            "const" => rule == value,
            "enum" => rules().any(|one| one == value),
            "oneOf" => rules().filter(|one| holds(one)).count() == 1,
            "anyOf" => rules().any(holds),
            "not" => !holds(rule),
            "required" => rules().all(|key| value.get(key.as_str().unwrap()).is_some()),
            "minProperties" => value.as_object().is_none_or(|o| o.len() as u64 >= rule.as_u64().unwrap()),
            "minItems" => value.as_array().is_none_or(|items| items.len() as u64 >= rule.as_u64().unwrap()),
            "minimum" => number(rule, |value, limit| value >= limit),
            "maximum" => number(rule, |value, limit| value <= limit),
            "exclusiveMinimum" => number(rule, |value, limit| value > limit),
            "pattern" => value.as_str().is_none_or(|text| matches(rule.as_str().unwrap(), text)),
            "items" => {
                for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                    check(root, rule, item, &format!("{place}.{index}"))?;
                }
                true
            }
            "properties" | "patternProperties" | "additionalProperties" => true,
            other => panic!("the schema has `{other}`, which this test does not support"),
        };
        if !ok {
            return fail(&format!("`{word}` does not hold"));
        }
    }
    for (key, inner) in value.as_object().into_iter().flatten() {
        let place = format!("{place}.{key}");
        let named = schema.get("properties").and_then(|named| named.get(key));
        let patterns = schema.get("patternProperties").and_then(Value::as_object).into_iter().flatten();
        let mut rules: Vec<&Value> =
            patterns.filter(|(pattern, _)| matches(pattern, key)).map(|(_, rule)| rule).collect();
        rules.extend(named);
        match (rules.is_empty(), schema.get("additionalProperties")) {
            (true, Some(Value::Bool(false))) => {
                return Err(format!("{}: unknown key", place.trim_start_matches('.')));
            }
            (true, Some(rule)) => check(root, rule, inner, &place)?,
            _ => rules.into_iter().try_for_each(|rule| check(root, rule, inner, &place))?,
        }
    }
    Ok(())
}

/// The four patterns of the schema, by hand.
fn matches(pattern: &str, text: &str) -> bool {
    match pattern {
        "^[A-Za-z0-9_-]+$" => {
            !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c))
        }
        "^[\\p{L}\\p{N}_-]+([ .][\\p{L}\\p{N}_-]+)*$" => text
            .split([' ', '.'])
            .all(|word| !word.is_empty() && word.chars().all(|c| c.is_alphanumeric() || "_-".contains(c))),
        "^[^.]+\\..+$" => {
            text.split_once('.').is_some_and(|(left, right)| !left.is_empty() && !right.is_empty())
        }
        "^(!.|[^!])" => !text.strip_prefix('!').unwrap_or(text).is_empty(),
        other => panic!("pattern {other}"),
    }
}
