//! Codecs that only one section uses, and the rules between its keys.

use cosimo_core::Value;
use cosimo_core::registry::{Range, ReferenceEntry, Registry, suggest};
use serde_json::{Value as Json, json};

use super::SUMMAND;
use super::codec::{checked, known_port, plain, port};
use super::walk::{Codec, Key, KeyWalk, TableReader, codec};
use crate::problem::Span;
use crate::schema::{PORT, number, one_of, reference_to};
use crate::system::{LineDecl, Summand, System};
use crate::toml::section::{Item, value};
use crate::write;

impl KeyWalk<'_, '_> {
    /// The key of a table is its name.
    pub(crate) fn name_from_key(&mut self, kind: &str, name: &mut String, span: &mut Span) {
        if let KeyWalk::Read(at) = self {
            (*name, *span) = (at.item.key.into(), at.item.key_span.clone());
            check_name(kind, name, span, at);
        }
        self.name_of_table(name);
    }

    /// The name, given or numbered, becomes the title in later messages.
    pub(crate) fn optional_name(&mut self, kind: &'static str, name: &mut String, span: &mut Span) {
        let mut given = (std::mem::take(name), span.clone());
        if let KeyWalk::Read(at) = self {
            given = (format!("{kind}{}", at.index + 1), at.section.span.clone());
        }
        let check = |item: &Item<'_>, name: &str, at: &mut TableReader<'_, '_>| {
            check_name(kind, name, &item.span(), at);
            true
        };
        self.key(Key::Always("name"), checked(check, |_, _| reference_to("name")), &mut given, "");
        (*name, *span) = given;
        if let KeyWalk::Read(at) = self {
            at.section.title = format!("{kind} `{name}`");
        }
    }
}

/// Names of bonds and junctions are used before a dot, in file names and in column names.
pub(crate) fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|letter| letter.is_ascii_alphanumeric() || "_-".contains(letter))
}

fn check_name(kind: &str, name: &str, span: &Span, at: &mut TableReader<'_, '_>) {
    if !is_name(name) {
        let message = format!("the name of a {kind} is made of letters, digits, `_` and `-`, got {name:?}");
        at.report("system/name", [&message, "not a name", ""], span);
    }
}

pub(super) fn check_unique(system: &System, at: &mut TableReader<'_, '_>) {
    let bonds = system.bonds.iter().map(|bond| (&bond.name, &bond.span));
    let junctions = system.junctions.iter().map(|junction| (&junction.name, &junction.span));
    let named: Vec<(&String, &Span)> = bonds.chain(junctions).collect();
    for (index, (name, span)) in named.iter().enumerate() {
        if named[..index].iter().any(|(earlier, _)| earlier == name) {
            let message = format!("two bonds or junctions are named `{name}`");
            at.report("system/duplicate-name", [&message, "the second one", "give it another `name`"], span);
        }
    }
}

/// The source of a component.
pub(super) fn source() -> Codec<(String, Span)> {
    let check = |item: &Item<'_>, source: &str, at: &mut TableReader<'_, '_>| {
        if at.context.registry.source(source).is_none() {
            let message = format!("no kind of component accepts the source `{source}`");
            let hint = suggest_source(source, at.context.registry);
            at.report("system/unknown-source", [&message, "unknown source", &hint], &item.span());
        }
        true
    };
    checked(check, |_, registry| {
        let known = known_sources(registry);
        let named = known.iter().map(|(source, summary)| json!({ "const": source, "description": summary }));
        let kinds: Vec<String> =
            registry.kinds().map(|kind| format!("{} ({})", kind.name(), kind.summary())).collect();
        json!({
            "description": format!("source of the component; kinds are {}", kinds.join(", ")),
            "anyOf": named.chain([json!({ "type": "string" })]).collect::<Vec<_>>(),
            "examples": known.iter().map(|(source, _)| source).collect::<Vec<_>>(),
        })
    })
}

/// Every named model as a source, `kind:model`.
fn known_sources(registry: &Registry) -> Vec<(String, &'static str)> {
    let of_kind = |kind: &std::sync::Arc<dyn cosimo_core::Source>| {
        let name = kind.name().to_owned();
        kind.models().into_iter().map(move |model| (format!("{name}:{}", model.name), model.summary))
    };
    registry.sources.iter().flat_map(of_kind).collect()
}

fn suggest_source(source: &str, registry: &Registry) -> String {
    let known = known_sources(registry);
    if let Some((full, _)) =
        known.iter().find(|(full, _)| full.split_once(':').is_some_and(|f| f.1 == source))
    {
        return format!("did you mean `{full}`?");
    }
    let near = suggest(source, known.iter().map(|(full, _)| full.as_str()));
    if near.starts_with("did you mean") {
        return near;
    }
    registry.known_kinds()
}

/// An output, or a list to sum: ports, or tables with a port.
pub(super) fn sum() -> Codec<Vec<Summand>> {
    let read = |item: &Item<'_>, _: Option<&Vec<Summand>>, at: &mut TableReader<'_, '_>| {
        let Some(items) = item.list() else {
            return Some(vec![Summand::plain((port().read)(item, None, at).unwrap_or_default())]);
        };
        if items.is_empty() {
            at.out.push(item.wrong("at least one output"));
        }
        let one = |item: &Item<'_>| match item.table() {
            Some(_) => SUMMAND.read_one(item, 0, &Summand::default(), at),
            None => (port().read)(item, None, at).map(Summand::plain),
        };
        Some(items.iter().filter_map(one).collect())
    };
    let write = |sum: &Vec<Summand>| {
        let one = |one: &Summand| match &SUMMAND.lines(one)[..] {
            [(_, port)] => port.clone(),
            several => write::table(several),
        };
        match &sum[..] {
            [one] => plain(write::text(&one.port.0)),
            several => plain(format!("[{}]", several.iter().map(one).collect::<Vec<_>>().join(", "))),
        }
    };
    codec(read, write, |doc, _, registry| {
        let one = json!({ "anyOf": [reference_to("port"), SUMMAND.object(registry)] });
        let several = json!({ "type": "array", "minItems": 1, "items": one });
        json!({ "description": doc, "anyOf": [reference_to("port"), several] })
    })
}

/// Gain and map are allowed beside a `from` with one output only.
pub(super) fn check_sum(at: &mut TableReader<'_, '_>) {
    let from = at.section.get("from");
    if from.as_ref().is_some_and(|from| from.list().is_none()) {
        return;
    }
    let given = ["gain", "map"].map(|key| at.section.get(key));
    at.section.hidden.extend(["gain", "map"]);
    for item in given.into_iter().flatten().filter(|_| from.is_some()) {
        let message = format!("`{}` must be given for each output of the list", item.key);
        let hint = format!("write `from = [{{ port = \"a.y\", {} = .. }}, \"b.y\"]`", item.key);
        at.report("system/value", [&message, "ambiguous", &hint], &item.whole());
    }
}

/// Moves the description of a key behind its default.
pub(super) fn default_first(key: &mut Json) {
    if let Some(members) = key.as_object_mut() {
        let doc = members.remove("description");
        members.extend(doc.map(|doc| ("description".to_owned(), doc)));
    }
}

pub(super) const IMPEDANCE_KEYS: [&str; 3] = ["impedance", "stiffness", "capacitance"];

/// Exactly one of three keys gives the impedance.
pub(super) fn check_impedance(at: &mut TableReader<'_, '_>) {
    let title = &at.section.title;
    let (message, label) = match IMPEDANCE_KEYS.iter().filter_map(|key| at.section.get(key)).count() {
        0 => (format!("{title} needs `impedance`"), "`impedance` is missing"),
        1 => return,
        given => (format!("{title} gives its impedance by {given} keys"), "ambiguous"),
    };
    at.section.hidden.extend(IMPEDANCE_KEYS);
    let hint = "one of `impedance` (effort per flow), `stiffness` (impedance / delay), `capacitance` (delay / impedance)";
    at.report("system/missing", [&message, label, hint], &at.item.whole());
}

pub(super) fn check_line(line: &LineDecl, control: bool, at: &mut TableReader<'_, '_>) {
    let title = at.section.title.clone();
    if let Some(item) = at.section.get("steady").filter(|_| !control) {
        let message = format!("`steady` of {title} has no effect without `control = \"steady-state\"`");
        let hint = "add `control = \"steady-state\"`";
        at.report("system/conflict", [&message, "the test for steady state", hint], &item.key_span);
    }
    if (0..2).any(|side| line.most[side] < line.factor[side])
        && let Some(item) = at.section.get("most").or(at.section.get("factor"))
    {
        let message = format!("`factor` of {title} is above `most`: {:?} and {:?}", line.factor, line.most);
        at.report("system/value", [&message, "`factor` is above `most`", ""], &item.span());
    }
}

/// An option of a group: a number, or a text.
pub(super) fn option(key: &'static str, range: Option<Range>) -> Codec<Vec<(String, Value, Span)>> {
    codec(
        move |item, old: Option<&Vec<(String, Value, Span)>>, _| {
            let new = (key.to_owned(), value(item.value.get_ref()), item.whole());
            Some(old.into_iter().flatten().cloned().chain([new]).collect())
        },
        move |all| {
            all.iter().find(|(name, ..)| name == key).and_then(|(_, value, _)| plain(write::value(value)))
        },
        move |doc, _, _| match range {
            Some(range) => number(range, doc, None),
            None => json!({ "type": "string", "description": doc }),
        },
    )
}

pub(super) fn check_schedule(schedule: &Item<'_>, at: &mut TableReader<'_, '_>) {
    for other in ["partition", "iteration"].map(|key| at.section.get(key)).into_iter().flatten() {
        let message = format!("`schedule` and `{}` exclude each other", other.key);
        let hint = "`schedule` is short for `partition` with `iteration = \"once\"`; remove one of them";
        let label = format!("conflicts with `{}`", other.key);
        at.report("system/conflict", [&message, &label, hint], &schedule.key_span);
    }
}

/// Not empty, with or without the `!`.
pub(crate) fn is_pattern(pattern: &str) -> bool {
    !pattern.strip_prefix('!').unwrap_or(pattern).is_empty()
}

pub(super) fn check_pattern(pattern: &str, span: &Span, at: &mut TableReader<'_, '_>) {
    if !is_pattern(pattern) {
        let message = format!("a pattern must not be empty, got {pattern:?}");
        at.report("system/value", [&message, "empty pattern", ""], span);
    }
}

/// The monolithic reference.
pub(super) fn model() -> Codec<(String, Span)> {
    let check = |item: &Item<'_>, name: &str, at: &mut TableReader<'_, '_>| {
        if reference(name, at.context.registry).is_none() {
            let message = format!("no reference model is called `{name}`");
            let hint = suggest(name, at.context.registry.references.iter().map(|entry| entry.name));
            at.report("system/unknown-reference", [&message, "unknown model", &hint], &item.span());
        }
        true
    };
    checked(check, |doc, registry| {
        let models = registry.references.iter().map(|entry| {
            let columns = entry.columns.join(", ");
            json!({ "const": entry.name, "description": format!("{}; columns {columns}", entry.summary) })
        });
        let mut model = one_of(models.collect());
        model["description"] = json!(doc);
        model
    })
}

fn reference(name: &str, registry: &Registry) -> Option<&'static ReferenceEntry> {
    registry.references.iter().find(|entry| entry.name == name).copied()
}

/// Ports and their columns of the reference.
pub(super) fn columns(model: String) -> Codec<Vec<(String, String, Span)>> {
    let read =
        move |item: &Item<'_>, _: Option<&Vec<(String, String, Span)>>, at: &mut TableReader<'_, '_>| {
            let entry = reference(&model, at.context.registry);
            let mut ports = Vec::new();
            for item in item.free_entries(at.out) {
                let known = known_port("ports", item.key, &item.key_span, at);
                let Some((column, span)) = item.text(at.out) else { continue };
                if let Some(entry) = entry.filter(|entry| !entry.columns.contains(&column.as_str())) {
                    let message = format!("the reference `{}` has no column `{column}`", entry.name);
                    let hint = suggest(&column, entry.columns.iter().copied());
                    at.report("system/unknown-column", [&message, "unknown column", &hint], &span);
                } else if known {
                    ports.push((item.key.into(), column, item.whole()));
                }
            }
            Some(ports)
        };
    let write = |ports: &Vec<(String, String, Span)>| {
        let ports = ports.iter().map(|(port, column, _)| (port.clone(), write::text(column)));
        plain(write::table(&ports.collect::<Vec<_>>()))
    };
    codec(read, write, |doc, _, _| {
        let columns = json!({ PORT: { "type": "string" } });
        json!({ "type": "object", "description": doc, "patternProperties": columns, "additionalProperties": false })
    })
}
