//! The JSON schema of certificates: what is promised to whoever reads them.

use serde_json::{Map, Value, json};

use super::{KIND, VERSION};

/// JSON schema, draft 2020-12. Nothing else than what it names is in a certificate.
pub fn schema() -> Value {
    let sized = || number("seconds");
    let history = object(
        "step sizes over time, in rows of equally many steps",
        &[
            ("steps_per_row", count("steps in each row but the last")),
            ("until", list("the end of each row, in seconds", &json!({ "type": "number" }))),
            ("smallest_size", list("seconds", &json!({ "type": "number" }))),
            ("largest_size", list("seconds", &json!({ "type": "number" }))),
            ("worst_indicator", list("1 is just within tolerance", &json!({ "type": "number" }))),
            ("rejected", list("rejected attempts", &json!({ "type": "integer", "minimum": 0 }))),
        ],
    );
    let reasons = [
        ("above_tolerance", "accepted with an indicator above 1"),
        ("at_minimum", "at the smallest size allowed"),
        ("at_maximum", "at the largest size allowed"),
        ("growth_limited", "held back in growing"),
        ("shrink_limited", "held back in shrinking"),
        ("events", "cut back to an event"),
    ]
    .map(|(name, doc)| (name, count(doc)));
    let steps = object(
        "the steps in brief; of a resumed run the sizes, the history and the loops are those since then",
        &[
            ("count", count("accepted steps")),
            ("rejected", count("rejected attempts")),
            (
                "size",
                object(
                    "seconds; null before the first step",
                    &[("smallest", maybe(sized())), ("mean", maybe(sized())), ("largest", maybe(sized()))],
                ),
            ),
            (
                "worst_indicator",
                maybe(number("the largest indicator of an accepted step; 1 is just within tolerance")),
            ),
            ("evaluations", count("right-hand sides evaluated inside simulators")),
            ("reasons", object("why steps had their size: how many", &reasons)),
            (
                "own",
                list(
                    "components with steps of their own",
                    &object("", &[("component", text("")), ("size", sized()), ("count", count(""))]),
                ),
            ),
            ("history", history),
        ],
    );
    let bond = object(
        "a power bond and its energy defect, which is no bound on any error",
        &[
            ("name", text("")),
            ("transmitted_energy", maybe(number("J, counted from the first side"))),
            ("exchanged_energy", maybe(number("J, the integral of the power's modulus"))),
            ("residual_energy", maybe(number("J that the coupling created, or destroyed where negative"))),
            ("residual_energy_absolute", maybe(number("J, the sum over all steps of its modulus"))),
            (
                "energy_defect",
                maybe(number(
                    "the absolute residual as a share of the energy exchanged; null where nothing was transmitted, or \
                     energy came out of nothing",
                )),
            ),
            ("mean_power_error", maybe(number("W, half the mean absolute residual power"))),
            ("verdict", verdict()),
            ("words", text("the verdict for people")),
            ("changed_by_scenario", flag("a scenario changed its signals, which is in the defect, too")),
        ],
    );
    let method = || {
        object(
            "",
            &[
                ("name", text("")),
                ("options", json!({ "type": "object", "description": "with the defaults" })),
            ],
        )
    };
    let connection = object(
        "an input that somebody drives, and how it is made",
        &[
            ("input", text("component.port")),
            (
                "from",
                list("summands", &object("", &[("output", text("component.port")), ("gain", number(""))])),
            ),
            ("offset", number("")),
            ("fit", method()),
            ("correction", method()),
            ("exchange", json!({ "enum": ["stale", "fresh"] })),
        ],
    );
    let side = object(
        "",
        &[
            ("side", text("")),
            ("effort", text("")),
            ("flow", text("")),
            ("enters", flag("effort times flow enters")),
        ],
    );
    let planned_bond = object(
        "",
        &[
            ("name", text("")),
            ("sides", list("", &side)),
            ("tolerance", maybe(number(""))),
            ("energy_scale", maybe(number("J"))),
        ],
    );
    let step = object(
        "",
        &[
            ("controlled", flag("steps vary")),
            ("first", maybe(sized())),
            ("min", maybe(sized())),
            ("max", maybe(number("seconds; null where there is no limit"))),
            ("shrink", number("")),
            ("grow", number("")),
            ("rejects", flag("")),
        ],
    );
    let island = object(
        "methods of one island between lines, where they are not those of the whole run",
        &[
            ("name", text("")),
            ("components", list("that name it; it may have more", &text(""))),
            ("partition", method()),
            ("iteration", method()),
            ("fit", method()),
            ("correction", method()),
            ("estimate", method()),
            ("law", method()),
        ],
    );
    let methods = object(
        "methods of the whole run",
        &[
            ("partition", method()),
            ("iteration", method()),
            ("estimate", method()),
            ("law", method()),
            ("step", step),
            ("islands", list("", &island)),
            ("end", json!({ "enum": ["exact", "after"] })),
            ("stages", list("who steps together, one stage after the other", &list("", &text("")))),
            ("bonds", list("", &planned_bond)),
        ],
    );
    let component = object(
        "",
        &[
            ("name", text("")),
            ("source", text("")),
            ("integrated_in", maybe(text("the group it is integrated in"))),
            ("own_step", maybe(sized())),
            ("facts", json!({ "type": "object", "additionalProperties": { "type": "string" } })),
        ],
    );
    let looped = object(
        "the unknown of an algebraic loop: how far it was left from what drives it, in its own unit",
        &[
            ("loop", text("the way round")),
            ("input", text("component.port")),
            ("at_start", maybe(number("null where it is no loop then"))),
            (
                "worst_later",
                maybe(number("after jumps, and in every step where exchange is fresh; null where never")),
            ),
            ("relative", maybe(number("the worst of both over the largest value of the unknown"))),
        ],
    );
    let outcome = object(
        "how the run ended",
        &[
            ("complete", flag("it came to its end")),
            ("word", json!({ "enum": ["finished", "failed", "interrupted", "unfinished"] })),
            ("reason", maybe(text("null where it is complete"))),
        ],
    );
    let message = object(
        "messages of one kind, of this process",
        &[
            ("component", text("")),
            ("status", text("as FMI spells it: ok, warning, discard, error, fatal, pending")),
            ("category", maybe(text("of a message that was logged"))),
            ("function", maybe(text("that returned the status"))),
            ("count", count("")),
            ("first", maybe(text("the first message that was logged"))),
        ],
    );
    let event = object("", &[("time", number("seconds")), ("action", text(""))]);
    let all = object(
        "what a run of Cosimo came to",
        &[
            ("certificate", json!({ "const": KIND })),
            ("version", json!({ "const": VERSION })),
            ("outcome", outcome),
            (
                "experiment",
                object(
                    "in seconds",
                    &[
                        ("start", number("")),
                        ("stop", number("")),
                        ("reached", number("")),
                        ("resumed_at", maybe(number("where it went on from a checkpoint"))),
                    ],
                ),
            ),
            ("verdict", object("of the worst bond", &[("word", verdict()), ("words", text(""))])),
            ("bonds", list("", &bond)),
            ("steps", steps),
            ("loops", list("", &looped)),
            (
                "remarks",
                list(
                    "",
                    &object("", &[("code", text("")), ("message", text("")), ("hint", maybe(text("")))]),
                ),
            ),
            ("messages", list("what FMUs logged and returned, by kind", &message)),
            (
                "scenario",
                object(
                    "what it did",
                    &[("events", list("the first of them", &event)), ("more_events", count(""))],
                ),
            ),
            ("components", list("", &component)),
            ("methods", methods),
            ("connections", list("", &connection)),
            (
                "inputs",
                list(
                    "all files that went in",
                    &object(
                        "",
                        &[
                            ("file", text("")),
                            ("sha256", json!({ "type": "string", "pattern": "^[0-9a-f]{64}$" })),
                        ],
                    ),
                ),
            ),
            (
                "system_sha256",
                json!({
                    "type": "string", "pattern": "^[0-9a-f]{64}$",
                    "description": "of the system as it was run, with what the command line changed, as `cosimo explain --toml` prints it",
                }),
            ),
            ("versions", object("", &[("cosimo", text(""))])),
            (
                "machine",
                object(
                    "everything that may differ between two runs of the same inputs",
                    &[
                        ("written", text("RFC 3339")),
                        ("computing_seconds", number("")),
                        ("threads", count("")),
                        ("cores", count("0 where unknown")),
                        ("target", text("")),
                        ("command", text("")),
                        (
                            "results",
                            list(
                                "result files, with the rows that the run wrote; paths start from the folder of the certificate",
                                &object(
                                    "",
                                    &[
                                        ("file", text("")),
                                        ("rows", count("")),
                                        ("sha256", json!({ "type": "string", "pattern": "^[0-9a-f]{64}$" })),
                                    ],
                                ),
                            ),
                        ),
                        (
                            "checksum",
                            json!({
                                "type": "string",
                                "pattern": "^[0-9a-f]{64}$",
                                "description": "SHA-256 of the file with zeros in the place of these digits",
                            }),
                        ),
                    ],
                ),
            ),
        ],
    );
    let mut named = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": format!("urn:cosimo:certificate:{VERSION}"),
    });
    if let (Some(named), Value::Object(all)) = (named.as_object_mut(), all) {
        named.extend(all);
    }
    named
}

fn verdict() -> Value {
    json!({
        "enum": ["unmeasured", "small", "noticeable", "large"],
        "description": "of the energy defect: small up to 0.1 %, large above 1 %",
    })
}

/// All of its members are always there.
fn object(doc: &str, members: &[(&str, Value)]) -> Value {
    let properties: Map<String, Value> =
        members.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    let required: Vec<&str> = members.iter().map(|(name, _)| *name).collect();
    documented(
        json!({
            "type": "object", "properties": properties, "required": required, "additionalProperties": false,
        }),
        doc,
    )
}

fn list(doc: &str, items: &Value) -> Value {
    documented(json!({ "type": "array", "items": items }), doc)
}

fn number(doc: &str) -> Value {
    documented(json!({ "type": "number" }), doc)
}

fn count(doc: &str) -> Value {
    documented(json!({ "type": "integer", "minimum": 0 }), doc)
}

fn text(doc: &str) -> Value {
    documented(json!({ "type": "string" }), doc)
}

fn flag(doc: &str) -> Value {
    documented(json!({ "type": "boolean" }), doc)
}

/// Null in its place says that there is none.
fn maybe(mut value: Value) -> Value {
    let only = value["type"].take();
    value["type"] = json!([only, "null"]);
    value
}

fn documented(mut value: Value, doc: &str) -> Value {
    if !doc.is_empty() {
        value["description"] = doc.into();
    }
    value
}
