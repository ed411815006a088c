//! The JSON Schema of `system.toml`, for editors that complete and check while one types. It comes from the
//! registry, so that it knows every method and option, and from the reader's own lists of words.

use cosimo_core::Registry;
use cosimo_core::entry::{Kind, Listed, Range, Spec};
use cosimo_core::unit::BASE_UNITS;
use serde_json::{Map, Value, json};

use crate::recipe::{Recipe, Step};
use crate::system::LineDecl;
use crate::toml::line::{BETWEEN, BOUNDARY, CONTROL, IMPEDANCES, STEADY};
use crate::toml::links::{COMMON, DIRECTION, OPPOSITE, POWER};
use crate::toml::method::{EXCHANGE, REJECT, listed};
use crate::toml::{END, RECORD, known_sources};

/// Draft 2020-12. What the reader calls a problem of the text alone is an error here too; whether components
/// and ports exist is beyond a schema.
pub fn json_schema(registry: &Registry) -> Value {
    let mut definitions = Map::new();
    // Where derivatives come from is a correction's choice, not the user's.
    for (axis, entries) in registry.axes().iter().filter(|(axis, _)| *axis != "jacobian") {
        definitions.insert((*axis).into(), choice(axis, entries));
    }
    definitions.insert("exchange".into(), words(EXCHANGE, "which outputs others get to see", "stale"));
    definitions.insert(
        "port".into(),
        json!({
            "type": "string", "pattern": PORT, "description": "a port of a component, as `component.port`",
        }),
    );
    definitions.insert("name".into(), json!({ "type": "string", "pattern": NAME }));
    let mut schema = object(
        json!({
            "experiment": experiment(),
            "component": {
                "type": "object",
                "description": "the simulators, by name",
                "minProperties": 1,
                "patternProperties": { COMPONENT: component(registry) },
                "additionalProperties": false,
            },
            "wire": list("signals: input = sum of gain * output + offset", wire()),
            "bond": list("power bonds: effort one way, flow the other", bond()),
            "junction": list("bonds that share one effort or one flow", junction()),
            "strong": {
                "type": "object",
                "description": "components that are integrated together, by the name of the group",
                "patternProperties": { NAME: strong() },
                "additionalProperties": false,
            },
            "method": method(registry),
            "island": {
                "type": "object",
                "description": "methods of islands, by name; an island is what remains connected when lines are cut",
                "patternProperties": { NAME: island(registry) },
                "additionalProperties": false,
            },
            "results": results(),
            "reference": reference(registry),
        }),
        &["experiment", "component"],
        "a co-simulation",
    );
    schema["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    schema["title"] = json!("system.toml");
    schema["$defs"] = Value::Object(definitions);
    schema
}

const NAME: &str = "^[A-Za-z0-9_-]+$";
const COMPONENT: &str = "^[\\p{L}\\p{N}_-]+([ .][\\p{L}\\p{N}_-]+)*$";
const PORT: &str = "^[^.]+\\..+$";

fn experiment() -> Value {
    object(
        json!({
            "start": number(Range::Finite, "where it begins, in seconds", Some(0.0)),
            "stop": number(Range::Finite, "where it ends, in seconds; later than the start", None),
            "end": words(END, "whether the last step is cut to hit the stop time, or goes past it", "exact"),
            "record": words(RECORD, "which values a row at a communication point holds", "after-exchange"),
            "history": { "type": "string", "description": "a table of outputs before the start" },
        }),
        &["stop"],
        "what is to be run",
    )
}

fn component(registry: &Registry) -> Value {
    let known = known_sources(registry);
    let mut sources: Vec<Value> =
        known.iter().map(|(source, summary)| json!({ "const": source, "description": summary })).collect();
    sources.push(json!({ "type": "string" }));
    let kinds: Vec<String> =
        registry.sources.iter().map(|kind| format!("{} ({})", kind.name(), kind.summary())).collect();
    object(
        json!({
            "source": {
                "description": format!("where the simulator comes from; kinds are {}", kinds.join(", ")),
                "anyOf": sources,
                "examples": known.iter().map(|(source, _)| source).collect::<Vec<_>>(),
            },
            "parameters": { "type": "object", "description": "parameters of the model, by name" },
            "start": {
                "type": "object",
                "description": "inputs that nobody drives, and first guesses in algebraic loops, by port",
                "additionalProperties": { "type": "number" },
            },
            "units": {
                "type": "object",
                "description": "units of ports, where they are others than the simulator says, or it says none",
                "additionalProperties": unit(),
            },
            "tolerance": number(Range::Positive, "for estimates that weigh outputs by simulator", None),
            "weight": number(Range::NotNegative, "for estimates that weigh outputs by simulator", None),
            "step": number(
                Range::Positive,
                "its own step in seconds: a multiple or a fraction of everybody's, where that is fixed",
                None,
            ),
        }),
        &["source"],
        "a simulator",
    )
}

fn wire() -> Value {
    object(
        json!({
            "from": {
                "description": "the output, or several whose sum is wanted",
                "anyOf": [
                    reference_to("port"),
                    { "type": "array", "minItems": 1, "items": { "anyOf": [reference_to("port"), summand()] } },
                ],
            },
            "to": reference_to("port"),
            "gain": number(Range::Finite, "input = gain * output + offset", Some(1.0)),
            "offset": number(Range::Finite, "in the unit of the input", Some(0.0)),
            "map": map(),
            "convert": {
                "type": "boolean", "default": true,
                "description": "whether outputs are converted to the unit of the input, before anything else",
            },
        }),
        &["from", "to"],
        "a signal from outputs to an input",
    )
}

fn summand() -> Value {
    object(
        json!({
            "port": reference_to("port"),
            "gain": number(Range::Finite, "what it is multiplied by", Some(1.0)),
            "map": map(),
        }),
        &["port"],
        "one of several outputs",
    )
}

fn map() -> Value {
    json!({
        "type": "object",
        "description": "what to take instead of each value that the output may have, as `{ 0 = 1, 1 = 0 }`",
        "additionalProperties": { "anyOf": [{ "type": "number" }, { "type": "boolean" }] },
    })
}

fn unit() -> Value {
    let mut keys = json!({
        "name": { "type": "string", "description": "what it is called" },
        "factor": number(Range::Positive, "how many SI units one of it is", Some(1.0)),
        "offset": number(Range::Finite, "where its zero lies, in SI units", Some(0.0)),
    });
    for base in BASE_UNITS {
        keys[base] = json!({
            "type": "integer", "minimum": -100, "maximum": 100, "default": 0,
            "description": format!("exponent of {base}"),
        });
    }
    let spelled = json!({ "type": "string", "description": "as `km/h` or `degC`" });
    json!({ "anyOf": [spelled, object(keys, &[], "a unit by SI units")] })
}

fn bond() -> Value {
    let side = object(
        json!({ "effort": reference_to("port"), "flow": reference_to("port") }),
        &["effort", "flow"],
        "the two variables of a power port, both of one component",
    );
    object(
        json!({
            "name": reference_to("name"),
            "a": side.clone(),
            "b": side,
            "opposite": words(OPPOSITE, "which variable changes its sign from one side to the other", "none"),
            "direction": words(DIRECTION, "which way effort times flow of side a counts power", "a-to-b"),
            "tolerance": number(Range::Positive, "of this bond, before that of the estimate", None),
            "energy_scale": number(Range::Positive, "a typical energy, in J", None),
            "line": line(),
        }),
        &["a", "b"],
        "a power bond",
    )
}

fn line() -> Value {
    let usual = LineDecl::of(1.0, 1.0);
    let pair = |doc: &str, default: f64| {
        let one = json!({ "type": "number", "minimum": 1 });
        let both = json!({ "type": "array", "minItems": 2, "maxItems": 2, "items": one });
        json!({ "anyOf": [one, both], "description": doc, "default": default })
    };
    let flag =
        |doc: &str, default: bool| json!({ "type": "boolean", "description": doc, "default": default });
    let mut line = object(
        json!({
            "delay": number(Range::Positive, "from one side to the other, in s", None),
            "impedance": number(Range::Positive, "effort per flow, in SI units", None),
            "stiffness": number(Range::Positive, "instead: effort per integral of the flow, impedance / delay", None),
            "capacitance": number(Range::Positive, "instead: integral of the flow per effort, delay / impedance", None),
            "interpolation": words(BETWEEN, "how to read between two published values", "linear"),
            "control": words(CONTROL, "whether delays grow where nothing moves", "none"),
            "steady": with_default("steadiness", STEADY, "how to tell that nothing moves"),
            "factor": pair("by how much the delay is multiplied at the start; of side a and b", usual.factor[0]),
            "most": pair("by how much it is multiplied at most; of side a and b", usual.most[0]),
            "hold": number(Range::NotNegative, "seconds from the last movement until a delay grows", Some(usual.hold)),
            "linked": flag("an end whose delay shrinks makes that of the other shrink", usual.linked),
            "announced": flag("the other end hears beforehand of events that are known", usual.announced),
            "rollback": flag("a step after which an end moves again is taken back", usual.rollback),
            "repay": number(Range::NotNegative, "seconds within which lost charge is given back", Some(usual.repay)),
            "impedances": words(IMPEDANCES, "whose impedance an end has while delays differ", "own"),
            "boundary": words(BOUNDARY, "how the effort reaches the simulators", "best"),
            "mass_a": number(Range::Positive, "effort per rate of the flow of side a", None),
            "mass_b": number(Range::Positive, "effort per rate of the flow of side b", None),
        }),
        &["delay"],
        "a delay between the sides: both give their flow and take the effort",
    );
    let one = |key: &str| json!({ "required": [key] });
    line["oneOf"] = json!([one("impedance"), one("stiffness"), one("capacitance")]);
    line
}

fn strong() -> Value {
    object(
        json!({
            "components": { "type": "array", "minItems": 2, "items": reference_to("name") },
            "solver": { "type": "string", "description": "the integrator, as a unit's \"cosimo.solver\"" },
            "relative": number(Range::Positive, "relative tolerance", None),
            "absolute": number(Range::Positive, "absolute tolerance", None),
            "largest_step": number(Range::Positive, "of the integrator, in s", None),
        }),
        &["components"],
        "one system of equations out of several units",
    )
}

fn junction() -> Value {
    let side = object(
        json!({
            "effort": reference_to("port"),
            "flow": reference_to("port"),
            "power": words(POWER, "whether effort times flow counts power that enters or leaves", "enters"),
        }),
        &["effort", "flow"],
        "one side, its variables both of one component",
    );
    let mut common = words(COMMON, "the variable that all sides share; the others sum to zero", "effort");
    // It has no default: no choice would be harmless.
    if let Some(common) = common.as_object_mut() {
        common.remove("default");
    }
    object(
        json!({
            "name": reference_to("name"),
            "common": common,
            "sides": { "type": "array", "minItems": 2, "items": side },
            "tolerance": number(Range::Positive, "of this junction, before that of the estimate", None),
            "energy_scale": number(Range::Positive, "a typical energy, in J", None),
        }),
        &["common", "sides"],
        "several bonds in one point",
    )
}

fn method(registry: &Registry) -> Value {
    let usual = Recipe::default();
    let mut method = object(
        json!({
            "schedule": with_default("partition", &usual.partition.name, "short for `partition`, swept once"),
            "partition": with_default("partition", &usual.partition.name, "who steps with whom, and when"),
            "iteration": with_default("iteration", &usual.iteration.name, "how often the stages are swept"),
            "input": per_input("input", &usual.input.default.name, "what inputs are assumed to be in a step"),
            "correction": per_input("correction", &usual.correction.default.name, "what is added to inputs"),
            "exchange": per_input("exchange", "stale", "which outputs others get to see"),
            "step": step(registry, &usual),
        }),
        &[],
        "the chosen methods",
    );
    method["not"] = json!({
        "required": ["schedule"],
        "anyOf": [{ "required": ["partition"] }, { "required": ["iteration"] }],
    });
    method
}

fn island(registry: &Registry) -> Value {
    let mut island = method(registry);
    island["description"] = json!("the methods of one island, where they are not those of `method`");
    island["required"] = json!(["components"]);
    let components = json!({
        "type": "array", "minItems": 1, "items": reference_to("name"),
        "description": "components of the island: one is enough",
    });
    let methods = island["properties"].take();
    let rest = methods.as_object().into_iter().flatten().map(|(key, value)| (key.clone(), value.clone()));
    island["properties"] =
        Value::Object(std::iter::once(("components".to_owned(), components)).chain(rest).collect());
    island
}

fn step(registry: &Registry, usual: &Recipe) -> Value {
    let Step { min, shrink, grow, .. } = usual.step;
    let has_tolerance = |entry: &&Listed| entry.options.iter().any(|spec| spec.name == "tolerance");
    let names: Vec<&str> =
        listed(registry, "estimate").iter().filter(has_tolerance).map(|entry| entry.name).collect();
    object(
        json!({
            "estimate": with_default("estimate", &usual.estimate.name, "what measures the error of a step"),
            "law": with_default("law", &usual.law.name, "how the error changes the size"),
            "tolerance": number(
                Range::Positive,
                &format!("the error that is just good enough, for {}", names.join(", ")),
                None,
            ),
            "size": number(Range::Positive, "the size, or the first one where it changes, in seconds", None),
            "min": number(Range::Positive, "the least size, in seconds", Some(min)),
            "max": number(Range::Positive, "the largest size, in seconds", None),
            "shrink": {
                "type": "number", "exclusiveMinimum": 0.0, "maximum": 1.0, "default": shrink,
                "description": "the least ratio of neighbouring sizes",
            },
            "grow": {
                "type": "number", "minimum": 1.0, "default": grow,
                "description": "the largest ratio of neighbouring sizes",
            },
            "reject": words(REJECT, "what happens to a step whose error is too large", "never"),
        }),
        &[],
        "the size of steps",
    )
}

fn results() -> Value {
    object(
        json!({
            "variables": {
                "type": "array",
                "items": { "type": "string", "pattern": "^(!.|[^!])" },
                "description": "patterns of the variables to keep, with `*` and `?`; `!` before one leaves out",
            },
            "every": number(Range::Positive, "seconds from row to row; else every communication point", None),
        }),
        &[],
        "what goes into result files",
    )
}

fn reference(registry: &Registry) -> Value {
    let models = registry.references.iter().map(|entry| {
        let columns = entry.columns.join(", ");
        json!({ "const": entry.name, "description": format!("{}; columns {columns}", entry.summary) })
    });
    let mut model = one_of(models.collect());
    model["description"] = json!("the undivided model");
    object(
        json!({
            "model": model,
            "ports": {
                "type": "object",
                "description": "ports as `component.port`, and the column each should equal",
                "patternProperties": { PORT: { "type": "string" } },
                "additionalProperties": false,
            },
        }),
        &["model"],
        "what to compare with",
    )
}

/// A method by name, or by name with options.
fn choice(axis: &str, entries: &[Listed]) -> Value {
    let describe = |entry: &Listed| match entry.source {
        "" => entry.summary.to_owned(),
        source => format!("{} ({source})", entry.summary),
    };
    let named = entries.iter().map(|entry| json!({ "const": entry.name, "description": describe(entry) }));
    let with_options = entries.iter().map(|entry| {
        let options: Map<String, Value> =
            entry.options.iter().map(|spec| (spec.name.to_owned(), option(spec))).collect();
        let inner = object(Value::Object(options), &[], &describe(entry));
        object(json!({ entry.name: inner }), &[entry.name], &format!("`{}` with options", entry.name))
    });
    let mut schema = one_of(named.chain(with_options).collect());
    schema["title"] = json!(axis);
    schema
}

fn option(spec: &Spec) -> Value {
    match spec.kind {
        Kind::Number { default, range, unit } => {
            let unit = if unit.is_empty() { String::new() } else { format!(", in {unit}") };
            number(range, &format!("{}{unit}", spec.doc), default)
        }
        Kind::Count { default, least } => {
            json!({
                "type": "integer", "minimum": least, "maximum": u32::MAX, "default": default,
                "description": spec.doc,
            })
        }
        Kind::Choice { default, of } => {
            json!({ "enum": of, "default": default, "description": spec.doc })
        }
        Kind::Flag { default } => json!({ "type": "boolean", "default": default, "description": spec.doc }),
        Kind::Names => {
            json!({ "type": "array", "items": { "type": "string" }, "default": [], "description": spec.doc })
        }
    }
}

/// Of an empty list nothing can be chosen; the draft wants that said in another way.
fn one_of(list: Vec<Value>) -> Value {
    if list.is_empty() { json!({ "not": {} }) } else { json!({ "oneOf": list }) }
}

fn number(range: Range, description: &str, default: Option<f64>) -> Value {
    let mut schema = json!({ "type": "number", "description": description });
    match range {
        Range::Finite => {}
        Range::Positive => schema["exclusiveMinimum"] = json!(0.0),
        Range::NotNegative => schema["minimum"] = json!(0.0),
        Range::Unit => {
            schema["minimum"] = json!(0.0);
            schema["maximum"] = json!(1.0);
        }
    }
    if let Some(default) = default {
        schema["default"] = json!(default);
    }
    schema
}

fn words<T>(words: &[(&str, T)], description: &str, default: &str) -> Value {
    let words: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
    json!({ "enum": words, "description": description, "default": default })
}

/// Unknown keys are errors.
fn object(properties: Value, required: &[&str], description: &str) -> Value {
    let mut schema = json!({
        "type": "object",
        "description": description,
        "properties": properties,
        "additionalProperties": false,
    });
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}

fn list(description: &str, items: Value) -> Value {
    json!({ "type": "array", "description": description, "items": items })
}

fn reference_to(definition: &str) -> Value {
    json!({ "$ref": format!("#/$defs/{definition}") })
}

fn with_default(definition: &str, default: &str, description: &str) -> Value {
    json!({ "$ref": format!("#/$defs/{definition}"), "default": default, "description": description })
}

fn per_input(definition: &str, default: &str, description: &str) -> Value {
    json!({
        "description": description,
        "default": default,
        "anyOf": [
            reference_to(definition),
            {
                "type": "object",
                "description": "for each input, as `component.port`, and by `default` for the rest",
                "minProperties": 1,
                "properties": { "default": reference_to(definition) },
                "patternProperties": { PORT: reference_to(definition) },
                "additionalProperties": false,
            },
        ],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::toml::{
        COMPONENT_KEYS, EXPERIMENT_KEYS, REFERENCE_KEYS, RESULTS_KEYS, ROOT_KEYS, STRONG_KEYS, UNIT_KEYS,
        island, line, links, method,
    };

    fn keys(schema: &Value, place: &str) -> Vec<String> {
        schema.pointer(place).unwrap()["properties"].as_object().unwrap().keys().cloned().collect()
    }

    #[test]
    fn it_has_exactly_the_keys_of_the_reader() {
        let schema = json_schema(&Registry::default());
        for (place, reader) in [
            ("", ROOT_KEYS),
            ("/properties/experiment", EXPERIMENT_KEYS),
            (&format!("/properties/component/patternProperties/{COMPONENT}"), COMPONENT_KEYS),
            (
                &format!(
                    "/properties/component/patternProperties/{COMPONENT}/properties/units/additionalProperties/anyOf/1"
                ),
                UNIT_KEYS,
            ),
            ("/properties/wire/items", links::WIRE_KEYS),
            ("/properties/wire/items/properties/from/anyOf/1/items/anyOf/1", links::SUMMAND_KEYS),
            ("/properties/bond/items", links::BOND_KEYS),
            ("/properties/bond/items/properties/a", links::PORT_KEYS),
            ("/properties/bond/items/properties/line", line::LINE_KEYS),
            ("/properties/junction/items", links::JUNCTION_KEYS),
            ("/properties/junction/items/properties/sides/items", links::SIDE_KEYS),
            (&format!("/properties/strong/patternProperties/{NAME}"), STRONG_KEYS),
            ("/properties/method", method::METHOD_KEYS),
            ("/properties/method/properties/step", method::STEP_KEYS),
            (&format!("/properties/island/patternProperties/{NAME}"), island::ISLAND_KEYS),
            ("/properties/results", RESULTS_KEYS),
            ("/properties/reference", REFERENCE_KEYS),
        ] {
            assert_eq!(keys(&schema, place), reader, "{place}");
        }
    }
}
