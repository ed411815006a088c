//! A walk over the keys of a table. Reader, writer and schema are three kinds of walk over the same rows.

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

/// How one value stands in a file.
pub(crate) struct Codec<V> {
    /// Onto what is there, if anything; `None` leaves it as it is.
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
    /// Among the tables of a list.
    pub index: usize,
    /// The keys that there are so far, and whether the command line may set them alone; the last is being read.
    pub asked: Vec<(&'static str, bool)>,
    /// How it is called at first.
    title: String,
    /// What the table around it is called.
    around: &'w str,
    pub context: &'w Context<'w>,
    pub out: &'w mut Vec<Problem>,
}

/// What names are checked against.
#[derive(Debug)]
pub(crate) struct Context<'a> {
    pub registry: &'a Registry,
    /// Components, the ones with problems included.
    pub components: Names<'a>,
    /// `File` or `CommandLine`.
    pub origin: ChoiceOrigin,
}

impl Context<'_> {
    /// Places in the text of a flag are not places in the file.
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
        TableReader { section, item, index: 0, asked, title, around, context, out }
    }

    /// A problem: its message, what stands at the place, and what to do, if anything.
    pub(crate) fn report(&mut self, code: &'static str, [message, label, hint]: [&str; 3], span: &Span) {
        let hint = Some(hint.to_owned()).filter(|hint| !hint.is_empty());
        self.out.push(Problem { hint, ..Problem::error(code, message, span.clone()).label(label) });
    }
}

/// The keys of a table that have a value, defaults included.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct TableEntries {
    /// Of a table that stands under a name.
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
    /// Even if it equals what is usual.
    Again(String),
    /// With what is usual, of which nothing is written.
    Table(TableEntries, TableEntries),
    Tables(Vec<TableEntries>, TableEntries),
}

impl KeyText {
    pub(crate) fn text(&self) -> String {
        match self {
            KeyText::Plain(text) | KeyText::Again(text) => text.clone(),
            KeyText::Table(page, usual) => table(&page.beside(usual)),
            KeyText::Tables(pages, usual) => {
                let line = |page: &TableEntries| format!("  {},\n", table(&page.beside(usual)));
                format!("[\n{}]", pages.iter().map(line).collect::<String>())
            }
        }
    }
}

impl TableEntries {
    /// The keys that differ from what is usual.
    pub(crate) fn beside(&self, usual: &TableEntries) -> Vec<(String, String)> {
        let line = |entry: &KeyEntry| {
            let usual = usual.entries.iter().find(|usual| usual.key == entry.key && !usual.always);
            let text = match (&entry.written, usual.map(|usual| &usual.written)) {
                (KeyText::Table(page, _), Some(KeyText::Table(usual, _))) => {
                    Some(page.beside(usual)).filter(|lines| !lines.is_empty()).map(|lines| table(&lines))?
                }
                (KeyText::Plain(text), Some(KeyText::Plain(usual))) if text == usual => return None,
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
    /// The command line may set it alone.
    Alone(&'static str),
    /// So, and another spelling of what is written under its own key.
    Short(&'static str),
    /// Written wherever there is one.
    Said(&'static str),
    /// With what could be written.
    Required(&'static str, &'static str),
}

impl From<&'static str> for Key {
    fn from(key: &'static str) -> Key {
        Key::Optional(key)
    }
}

impl KeyWalk<'_, '_> {
    /// One row of the table: whether there is no problem with it.
    pub(crate) fn key<V>(
        &mut self,
        row: impl Into<Key>,
        codec: impl Into<Codec<V>>,
        place: &mut V,
        doc: &str,
    ) -> bool {
        let (row, codec) = (row.into(), codec.into());
        let (Key::Optional(key) | Key::Alone(key) | Key::Short(key) | Key::Said(key) | Key::Required(key, _)) =
            row;
        match self {
            KeyWalk::Read(at) => {
                let before = at.out.len();
                let item = match row {
                    // The command line sets single keys of what is complete.
                    Key::Required(_, example) if at.context.origin == ChoiceOrigin::File => {
                        at.section.required(key, example, at.out)
                    }
                    _ => at.section.get(key),
                };
                at.asked.push((key, matches!(row, Key::Alone(_) | Key::Short(_))));
                if let Some(value) = item.and_then(|item| (codec.read)(&item, Some(place), at)) {
                    *place = value;
                }
                return at.out.len() == before;
            }
            KeyWalk::Write(page) => {
                let written = (codec.write)(place).filter(|_| !matches!(row, Key::Short(_)));
                let always = matches!(row, Key::Said(_) | Key::Required(..));
                page.entries.extend(written.map(|written| KeyEntry { key, always, written }));
            }
            KeyWalk::Schema(table) => {
                let default = match (codec.write)(place) {
                    _ if matches!(row, Key::Required(..)) => {
                        table.required.push(key);
                        None
                    }
                    // What JSON has no words for, as an infinite number, is no default that it could show.
                    Some(KeyText::Plain(text)) => serde_json::from_str(&text).ok(),
                    _ => None,
                };
                table.keys.insert(key.into(), (codec.schema)(doc, default, table.registry));
            }
        }
        true
    }

    /// What the table is, and how messages call it, by its key and by the table around it.
    pub(crate) fn about(&mut self, doc: &'static str, title: fn(&str, &str) -> String) {
        match self {
            KeyWalk::Read(at) if at.title.is_empty() => {
                at.title = title(at.item.key, at.around);
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

    /// Of what a key that is there leaves open: a file takes the default, the command line chooses it.
    pub(crate) fn origin(&self) -> ChoiceOrigin {
        match self {
            KeyWalk::Read(at) if at.context.origin == ChoiceOrigin::CommandLine => ChoiceOrigin::CommandLine,
            _ => ChoiceOrigin::Default,
        }
    }

    /// The name that a table stands under in its section.
    pub(crate) fn head(&mut self, name: &str) {
        if let KeyWalk::Write(page) = self {
            page.name = Some(name.into());
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
    /// How messages call it, and its keys.
    fn probe(&self, key: &str, around: &str) -> (String, Vec<(&'static str, bool)>) {
        let (registry, empty, value) =
            (Registry::default(), DeTable::new(), Spanned::new(0..0, DeValue::Boolean(true)));
        let context =
            Context { registry: &registry, components: Names::default(), origin: ChoiceOrigin::CommandLine };
        let (item, mut out) = (Item { key, key_span: 0..0, value: &value }, Vec::new());
        let mut walk = KeyWalk::Read(TableReader::new(&empty, item, around, &context, &mut out));
        (self.0)(&mut T::default(), &mut walk);
        if let KeyWalk::Read(TableReader { title, asked, .. }) = walk {
            (title, asked)
        } else {
            Default::default()
        }
    }

    /// The keys that the command line may set alone.
    pub(crate) fn alone(&self) -> Vec<&'static str> {
        self.probe("", "").1.into_iter().filter(|(_, alone)| *alone).map(|(key, _)| key).collect()
    }

    /// Reads a table, by its number in a list, onto what is usual; `None` if it is no table.
    pub(crate) fn one(
        &self,
        item: &Item<'_>,
        index: usize,
        usual: &T,
        at: &mut TableReader<'_, '_>,
    ) -> Option<T> {
        let Some(table) = item.table() else {
            let (title, _) = self.probe(item.key, &at.section.title);
            Section::open(title, item.value, &[], at.out)?;
            return None;
        };
        let (mut new, before) = (usual.clone(), at.out.len());
        let mut inner = TableReader::new(table, item.clone(), &at.section.title, at.context, at.out);
        inner.index = index;
        let mut walk = KeyWalk::Read(inner);
        (self.0)(&mut new, &mut walk);
        if let KeyWalk::Read(TableReader { title, asked, out, .. }) = walk {
            let told = out.len();
            let keys: Vec<&str> = asked.into_iter().map(|(key, _)| key).collect();
            Section::over(title, table, 0..0, &keys, out);
            // Unknown keys come first.
            let unknown = out.len() - told;
            out[before..].rotate_right(unknown);
        }
        Some(new)
    }

    /// Reads a text onto what is there.
    pub(crate) fn root(&self, table: DeTable<'_>, place: &mut T, context: &Context<'_>) -> Vec<Problem> {
        let (value, mut out) = (Spanned::new(0..0, DeValue::Table(table)), Vec::new());
        let (item, empty) = (Item { key: "", key_span: 0..0, value: &value }, DeTable::new());
        let mut at = TableReader::new(&empty, item.clone(), "", context, &mut out);
        if let Some(new) = self.one(&item, 0, place, &mut at) {
            *place = new;
        }
        out
    }

    /// Reads one key onto what is there.
    pub(crate) fn set(
        &self,
        key: &str,
        value: Spanned<DeValue<'_>>,
        place: &mut T,
        context: &Context<'_>,
    ) -> Vec<Problem> {
        let table = [(Spanned::new(0..0, key.into()), value)].into_iter().collect();
        self.root(table, place, context)
    }

    pub(crate) fn page(&self, value: &T) -> TableEntries {
        let mut walk = KeyWalk::Write(TableEntries::default());
        (self.0)(&mut value.clone(), &mut walk);
        if let KeyWalk::Write(page) = walk { page } else { TableEntries::default() }
    }

    /// What differs from the default.
    pub(crate) fn lines(&self, value: &T) -> Vec<(String, String)> {
        self.page(value).beside(&self.page(&T::default()))
    }

    fn pages(&self, list: &[T], usual: &T) -> KeyText {
        KeyText::Tables(list.iter().map(|value| self.page(value)).collect(), self.page(usual))
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
            move |item, old, at| shape.one(item, 0, old.unwrap_or(&T::default()), at),
            move |value| Some(KeyText::Table(shape.page(value), shape.page(&T::default()))),
            move |_, _, registry| shape.object(registry),
        )
    }
}

/// At least so many tables one after the other, behind those that are there.
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
        let one = |(index, item)| shape.one(item, index, &T::default(), at);
        Some(old.into_iter().flatten().cloned().chain(tables.iter().enumerate().filter_map(one)).collect())
    };
    codec(
        read,
        move |list| Some(shape.pages(list, &T::default())),
        move |doc, _, registry| match least {
            0 => json!({ "type": "array", "description": doc, "items": shape.object(registry) }),
            _ => json!({ "type": "array", "minItems": least, "items": shape.object(registry) }),
        },
    )
}

/// Tables by name, instead of those that are there.
pub(crate) struct NamedTables<T> {
    pub shape: TableKeys<T>,
    /// What is usual.
    pub usual: T,
    /// Or no new ones, but more about components that are there: what stays of one that is named.
    pub kept: Option<fn(T) -> T>,
    pub least: usize,
    /// Of names, in the schema.
    pub pattern: &'static str,
    /// What is wanted, and how to write it.
    pub words: [&'static str; 2],
}

impl<T: Default + Clone + 'static> From<NamedTables<T>> for Codec<Vec<T>> {
    fn from(NamedTables { shape, usual, kept, least, pattern, words }: NamedTables<T>) -> Codec<Vec<T>> {
        let start = usual.clone();
        let read = move |item: &Item<'_>, old: Option<&Vec<T>>, at: &mut TableReader<'_, '_>| {
            let Some(entries) = item.entries() else {
                at.out.push(item.wrong(words[0]).hint(words[1]));
                return None;
            };
            let Some(kept) = kept else {
                return Some(entries.iter().filter_map(|item| shape.one(item, 0, &start, at)).collect());
            };
            let mut all = old?.clone();
            for item in entries {
                let Some(place) = at.context.components.get(item.key) else {
                    super::codec::unknown_component(item.key, &item.key_span, at);
                    continue;
                };
                if let Some(more) = shape.one(&item, 0, &kept(all[place].clone()), at) {
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
        codec(read, move |list| Some(shape.pages(list, &usual)), schema)
    }
}
