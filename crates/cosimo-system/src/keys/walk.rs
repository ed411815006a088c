//! A walk over the keys of a table: reader, writer and schema visit the same rows.

use ::toml::Spanned;
use ::toml::de::{DeTable, DeValue};
use cosimo_core::Registry;
use serde_json::{Map, Value as Json, json};

use crate::method_config::ChoiceOrigin;
use crate::names::Names;
use crate::problem::{Problem, Span};
use crate::schema;
use crate::toml::section::{Item, Section};
use crate::write::table;

type Read<V> = dyn Fn(&Item<'_>, Option<&V>, &mut TableReader<'_, '_>) -> Option<V>;
type Write<V> = dyn Fn(&V) -> Option<KeyText>;
type Describe = dyn Fn(&str, Option<Json>, &Registry) -> Json;

/// How one value is read, written and described in the schema.
pub(crate) struct Codec<V> {
    /// Gets the present value; `None` leaves it unchanged.
    pub read: Box<Read<V>>,
    pub write: Box<Write<V>>,
    pub schema: Box<Describe>,
}

pub(crate) fn codec<V>(
    read: impl Fn(&Item<'_>, Option<&V>, &mut TableReader<'_, '_>) -> Option<V> + 'static,
    write: impl Fn(&V) -> Option<KeyText> + 'static,
    schema: impl Fn(&str, Option<Json>, &Registry) -> Json + 'static,
) -> Codec<V> {
    Codec { read: Box::new(read), write: Box::new(write), schema: Box::new(schema) }
}

pub(crate) enum KeyWalk<'w, 't> {
    Read(TableReader<'w, 't>),
    Write(TableEntries),
    Schema(Properties<'w>),
}

/// A table that is being read.
pub(crate) struct TableReader<'w, 't> {
    pub section: Section<'t>,
    pub item: Item<'t>,
    /// Index among the tables of a list.
    pub index: usize,
    /// The keys visited so far, and whether the command line may set them; the last one is being read.
    pub keys: Vec<(&'static str, bool)>,
    /// Its title before it has a name.
    title: String,
    /// Title of the enclosing table.
    parent: &'w str,
    pub context: &'w Context<'w>,
    pub out: &'w mut Vec<Problem>,
}

/// What names are checked against: methods and components.
#[derive(Debug)]
pub(crate) struct Context<'a> {
    pub registry: &'a Registry,
    /// All components, including those with problems.
    pub components: Names<'a>,
    /// `File` or `CommandLine`.
    pub origin: ChoiceOrigin,
}

impl Context<'_> {
    /// Spans in the text of a flag are not spans in the file.
    pub(crate) fn place(&self, span: Span) -> Span {
        if self.origin == ChoiceOrigin::CommandLine { 0..0 } else { span }
    }
}

impl<'w, 't> TableReader<'w, 't> {
    fn new(
        table: &'t DeTable<'t>,
        item: Item<'t>,
        around: &'w str,
        context: &'w Context<'w>,
        out: &'w mut Vec<Problem>,
    ) -> Self {
        let (title, asked) = (String::new(), Vec::new());
        let section = Section { title: String::new(), span: item.span(), table, hidden: Vec::new() };
        TableReader { section, item, index: 0, keys: asked, title, parent: around, context, out }
    }

    /// Adds a problem: message, label of the place, and hint, which may be empty.
    pub(crate) fn report(&mut self, code: &'static str, [message, label, hint]: [&str; 3], span: &Span) {
        let hint = Some(hint.to_owned()).filter(|hint| !hint.is_empty());
        self.out.push(Problem { hint, ..Problem::error(code, message, span.clone()).label(label) });
    }
}

/// The keys of a table that have a value, defaults included.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct TableEntries {
    /// The name of a table that is a named entry.
    pub name: Option<String>,
    pub entries: Vec<KeyEntry>,
}

#[derive(Debug, PartialEq)]
pub(crate) struct KeyEntry {
    pub key: &'static str,
    /// Written even where it equals its default.
    always: bool,
    pub written: KeyText,
}

#[derive(Debug, PartialEq)]
pub(crate) enum KeyText {
    Plain(String),
    /// Written even if it equals the default.
    Explicit(String),
    /// With the defaults, which are not written.
    Table(TableEntries, TableEntries),
    Tables(Vec<TableEntries>, TableEntries),
}

impl KeyText {
    pub(crate) fn text(&self) -> String {
        match self {
            KeyText::Plain(text) | KeyText::Explicit(text) => text.clone(),
            KeyText::Table(entries, defaults) => table(&entries.differences(defaults)),
            KeyText::Tables(tables, defaults) => {
                let line = |entries: &TableEntries| format!("  {},\n", table(&entries.differences(defaults)));
                format!("[\n{}]", tables.iter().map(line).collect::<String>())
            }
        }
    }
}

impl TableEntries {
    /// The keys that differ from the defaults.
    pub(crate) fn differences(&self, defaults: &TableEntries) -> Vec<(String, String)> {
        let line = |entry: &KeyEntry| {
            let default = defaults.entries.iter().find(|default| default.key == entry.key && !default.always);
            let text = match (&entry.written, default.map(|default| &default.written)) {
                (KeyText::Table(entries, _), Some(KeyText::Table(defaults, _))) => {
                    Some(entries.differences(defaults))
                        .filter(|lines| !lines.is_empty())
                        .map(|lines| table(&lines))?
                }
                (KeyText::Plain(text), Some(KeyText::Plain(default))) if text == default => return None,
                (written, _) => written.text(),
            };
            Some((entry.key.to_owned(), text))
        };
        self.entries.iter().filter_map(line).collect()
    }
}

/// The schema of a table.
pub(crate) struct Properties<'w> {
    registry: &'w Registry,
    doc: Option<&'static str>,
    pub keys: Map<String, Json>,
    pub required: Vec<&'static str>,
    /// Rules between keys.
    pub rules: Vec<(&'static str, Json)>,
}

/// A key, and what is special about it.
pub(crate) enum Key {
    Optional(&'static str),
    /// The command line may set this key.
    Overridable(&'static str),
    /// The same, and an alternative to another key, under which it is written.
    Shorthand(&'static str),
    /// Written even where it equals its default.
    Always(&'static str),
    /// With an example for the message.
    Required(&'static str, &'static str),
}

impl From<&'static str> for Key {
    fn from(key: &'static str) -> Key {
        Key::Optional(key)
    }
}

impl KeyWalk<'_, '_> {
    /// One row of the table; returns whether it has no problem.
    pub(crate) fn key<V>(
        &mut self,
        row: impl Into<Key>,
        codec: impl Into<Codec<V>>,
        place: &mut V,
        doc: &str,
    ) -> bool {
        let (row, codec) = (row.into(), codec.into());
        let (Key::Optional(key)
        | Key::Overridable(key)
        | Key::Shorthand(key)
        | Key::Always(key)
        | Key::Required(key, _)) = row;
        match self {
            KeyWalk::Read(at) => {
                let before = at.out.len();
                let item = match row {
                    // The command line changes single keys of a complete table.
                    Key::Required(_, example) if at.context.origin == ChoiceOrigin::File => {
                        at.section.required(key, example, at.out)
                    }
                    _ => at.section.get(key),
                };
                at.keys.push((key, matches!(row, Key::Overridable(_) | Key::Shorthand(_))));
                if let Some(value) = item.and_then(|item| (codec.read)(&item, Some(place), at)) {
                    *place = value;
                }
                return at.out.len() == before;
            }
            KeyWalk::Write(entries) => {
                let written = (codec.write)(place).filter(|_| !matches!(row, Key::Shorthand(_)));
                let always = matches!(row, Key::Always(_) | Key::Required(..));
                entries.entries.extend(written.map(|written| KeyEntry { key, always, written }));
            }
            KeyWalk::Schema(table) => {
                let default = match (codec.write)(place) {
                    _ if matches!(row, Key::Required(..)) => {
                        table.required.push(key);
                        None
                    }
                    // JSON has no infinite numbers: no default is shown.
                    Some(KeyText::Plain(text)) => serde_json::from_str(&text).ok(),
                    _ => None,
                };
                table.keys.insert(key.into(), (codec.schema)(doc, default, table.registry));
            }
        }
        true
    }

    /// Documentation of the table, and its title in messages from its key and the title of its parent.
    pub(crate) fn about(&mut self, doc: &'static str, title: fn(&str, &str) -> String) {
        match self {
            KeyWalk::Read(at) if at.title.is_empty() => {
                at.title = title(at.item.key, at.parent);
                at.section.title.clone_from(&at.title);
            }
            KeyWalk::Schema(schema) => schema.doc = schema.doc.or(Some(doc)),
            _ => {}
        }
    }

    /// The item that is being read.
    pub(crate) fn item(&self, key: &str) -> Option<Item<'_>> {
        if let KeyWalk::Read(at) = self { at.section.get(key) } else { None }
    }

    /// The origin of choices that a given key implies: default in a file, command line in a flag.
    pub(crate) fn origin(&self) -> ChoiceOrigin {
        match self {
            KeyWalk::Read(at) if at.context.origin == ChoiceOrigin::CommandLine => ChoiceOrigin::CommandLine,
            _ => ChoiceOrigin::Default,
        }
    }

    /// Sets the name of a table that is a named entry.
    pub(crate) fn name_of_table(&mut self, name: &str) {
        if let KeyWalk::Write(entries) = self {
            entries.name = Some(name.into());
        }
    }
}

/// A kind of table: a row for each of its keys.
pub(crate) struct TableKeys<T>(pub fn(&mut T, &mut KeyWalk<'_, '_>));

impl<T> Copy for TableKeys<T> {}

impl<T> Clone for TableKeys<T> {
    fn clone(&self) -> TableKeys<T> {
        *self
    }
}

impl<T: Default + Clone + 'static> TableKeys<T> {
    /// Its title in messages, and its keys.
    fn probe(&self, key: &str, around: &str) -> (String, Vec<(&'static str, bool)>) {
        let (registry, empty, value) =
            (Registry::default(), DeTable::new(), Spanned::new(0..0, DeValue::Boolean(true)));
        let context =
            Context { registry: &registry, components: Names::default(), origin: ChoiceOrigin::CommandLine };
        let (item, mut out) = (Item { key, key_span: 0..0, value: &value }, Vec::new());
        let mut walk = KeyWalk::Read(TableReader::new(&empty, item, around, &context, &mut out));
        (self.0)(&mut T::default(), &mut walk);
        if let KeyWalk::Read(TableReader { title, keys: asked, .. }) = walk {
            (title, asked)
        } else {
            Default::default()
        }
    }

    /// The keys that the command line may set.
    pub(crate) fn overridable(&self) -> Vec<&'static str> {
        self.probe("", "").1.into_iter().filter(|(_, alone)| *alone).map(|(key, _)| key).collect()
    }

    /// Reads a table, with its index in a list, onto the defaults; `None` if it is not a table.
    pub(crate) fn read_one(
        &self,
        item: &Item<'_>,
        index: usize,
        defaults: &T,
        at: &mut TableReader<'_, '_>,
    ) -> Option<T> {
        let Some(table) = item.table() else {
            let (title, _) = self.probe(item.key, &at.section.title);
            Section::open(title, item.value, &[], at.out)?;
            return None;
        };
        let (mut new, before) = (defaults.clone(), at.out.len());
        let mut inner = TableReader::new(table, item.clone(), &at.section.title, at.context, at.out);
        inner.index = index;
        let mut walk = KeyWalk::Read(inner);
        (self.0)(&mut new, &mut walk);
        if let KeyWalk::Read(TableReader { title, keys: asked, out, .. }) = walk {
            let first_unknown = out.len();
            let keys: Vec<&str> = asked.into_iter().map(|(key, _)| key).collect();
            Section::over(title, table, 0..0, &keys, out);
            // Unknown keys come first.
            let unknown = out.len() - first_unknown;
            out[before..].rotate_right(unknown);
        }
        Some(new)
    }

    /// Reads a whole table onto the present values.
    pub(crate) fn read_all(&self, table: DeTable<'_>, place: &mut T, context: &Context<'_>) -> Vec<Problem> {
        let (value, mut out) = (Spanned::new(0..0, DeValue::Table(table)), Vec::new());
        let (item, empty) = (Item { key: "", key_span: 0..0, value: &value }, DeTable::new());
        let mut at = TableReader::new(&empty, item.clone(), "", context, &mut out);
        if let Some(new) = self.read_one(&item, 0, place, &mut at) {
            *place = new;
        }
        out
    }

    /// Reads one key onto the present values.
    pub(crate) fn read_key(
        &self,
        key: &str,
        value: Spanned<DeValue<'_>>,
        place: &mut T,
        context: &Context<'_>,
    ) -> Vec<Problem> {
        let table = [(Spanned::new(0..0, key.into()), value)].into_iter().collect();
        self.read_all(table, place, context)
    }

    pub(crate) fn entries(&self, value: &T) -> TableEntries {
        let mut walk = KeyWalk::Write(TableEntries::default());
        (self.0)(&mut value.clone(), &mut walk);
        if let KeyWalk::Write(entries) = walk { entries } else { TableEntries::default() }
    }

    /// Keys and values that differ from the default.
    pub(crate) fn lines(&self, value: &T) -> Vec<(String, String)> {
        self.entries(value).differences(&self.entries(&T::default()))
    }

    fn tables(&self, list: &[T], defaults: &T) -> KeyText {
        KeyText::Tables(list.iter().map(|value| self.entries(value)).collect(), self.entries(defaults))
    }

    /// Unknown keys are errors.
    pub(crate) fn object(&self, registry: &Registry) -> Json {
        let (keys, required, rules) = (Map::new(), Vec::new(), Vec::new());
        let mut walk = KeyWalk::Schema(Properties { registry, doc: None, keys, required, rules });
        (self.0)(&mut T::default(), &mut walk);
        let KeyWalk::Schema(table) = walk else { return Json::Null };
        let mut schema =
            schema::object(Json::Object(table.keys), &table.required, table.doc.unwrap_or_default());
        table.rules.into_iter().for_each(|(key, rule)| schema[key] = rule);
        schema
    }
}

impl<T: Default + Clone + 'static> From<TableKeys<T>> for Codec<T> {
    fn from(shape: TableKeys<T>) -> Codec<T> {
        codec(
            move |item, old, at| shape.read_one(item, 0, old.unwrap_or(&T::default()), at),
            move |value| Some(KeyText::Table(shape.entries(value), shape.entries(&T::default()))),
            move |_, _, registry| shape.object(registry),
        )
    }
}

/// A list of at least `least` tables, appended to the present ones.
pub(crate) fn list<T: Default + Clone + 'static>(
    least: usize,
    keys: fn(&mut T, &mut KeyWalk<'_, '_>),
) -> Codec<Vec<T>> {
    let shape = TableKeys(keys);
    let read = move |item: &Item<'_>, old: Option<&Vec<T>>, at: &mut TableReader<'_, '_>| {
        let tables = item.tables(at.out)?;
        if tables.len() < least {
            let (title, found) = (&at.section.title, tables.len());
            let message = format!("{title} needs at least {least} {}, got {found}", item.key);
            at.report("system/value", [&message, "too few", ""], &item.span());
        }
        let one = |(index, item)| shape.read_one(item, index, &T::default(), at);
        Some(old.into_iter().flatten().cloned().chain(tables.iter().enumerate().filter_map(one)).collect())
    };
    codec(
        read,
        move |list| Some(shape.tables(list, &T::default())),
        move |doc, _, registry| match least {
            0 => json!({ "type": "array", "description": doc, "items": shape.object(registry) }),
            _ => json!({ "type": "array", "minItems": least, "items": shape.object(registry) }),
        },
    )
}

/// Tables by name, which replace the present ones.
pub(crate) struct NamedTables<T> {
    pub shape: TableKeys<T>,
    /// The default of each table.
    pub default: T,
    /// If given, tables only supplement existing components: what is retained of a component that is named.
    pub retained: Option<fn(T) -> T>,
    pub least: usize,
    /// Pattern of names in the schema.
    pub pattern: &'static str,
    /// For messages: what is expected, and how to write it.
    pub expected_and_hint: [&'static str; 2],
}

impl<T: Default + Clone + 'static> From<NamedTables<T>> for Codec<Vec<T>> {
    fn from(
        NamedTables { shape, default: defaults, retained: kept, least, pattern, expected_and_hint: words }: NamedTables<T>,
    ) -> Codec<Vec<T>> {
        let start = defaults.clone();
        let read = move |item: &Item<'_>, old: Option<&Vec<T>>, at: &mut TableReader<'_, '_>| {
            let Some(entries) = item.entries() else {
                at.out.push(item.wrong(words[0]).hint(words[1]));
                return None;
            };
            let Some(kept) = kept else {
                return Some(entries.iter().filter_map(|item| shape.read_one(item, 0, &start, at)).collect());
            };
            let mut all = old?.clone();
            for item in entries {
                let Some(place) = at.context.components.get(item.key) else {
                    super::codec::unknown_component(item.key, &item.key_span, at);
                    continue;
                };
                if let Some(more) = shape.read_one(&item, 0, &kept(all[place].clone()), at) {
                    all[place] = more;
                }
            }
            Some(all)
        };
        let schema = move |doc: &str, _: Option<Json>, registry: &Registry| {
            let mut schema = json!({ "type": "object", "description": doc });
            if least > 0 {
                schema["minProperties"] = json!(least);
            }
            schema["patternProperties"] = json!({ pattern: shape.object(registry) });
            schema["additionalProperties"] = json!(false);
            schema
        };
        codec(read, move |list| Some(shape.tables(list, &defaults)), schema)
    }
}
