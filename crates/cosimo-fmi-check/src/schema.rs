//! The XML schemas of FMI 1.0, 2.0.5 and 3.0.2: order and number of elements, and their attributes with types. They
//! are text files in the folder `schema`, after the `.xsd` files of the standard, whose names are used:
//!
//! ```text
//! # a comment; an indented line continues the previous one
//! type Name value value               an enumerated attribute type
//! group Name attribute @Group         attributes that several elements share
//! Element attribute @Group = content  an element; without `=` it is empty
//! ```
//!
//! An attribute is `name:type`, a required one `name!:type`; `type[]` is a list with spaces between, `version-3` the pattern
//! of a version, and `anyAttribute` allows others beside those named. Content is written as in a DTD: elements in their
//! order with `?`, `*`, `+` or `{0,2}` behind, and `(A | B)` for either; `any*` and `any?` are arbitrary elements,
//! `text` is text only. Two elements of the same name differ by a suffix after a dot: `Real.type` is written `<Real>`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

pub(crate) static FMI1: LazyLock<Schema> = LazyLock::new(|| shipped(include_str!("../schema/fmi1.txt")));
pub(crate) static FMI2: LazyLock<Schema> = LazyLock::new(|| shipped(include_str!("../schema/fmi2.txt")));
pub(crate) static FMI3: LazyLock<Schema> = LazyLock::new(|| shipped(include_str!("../schema/fmi3.txt")));

/// Root elements.
pub(crate) const DESCRIPTION: &str = "fmiModelDescription";
pub(crate) const TERMINALS_AND_ICONS: &str = "fmiTerminalsAndIcons";
pub(crate) const BUILD: &str = "fmiBuildDescription";

/// Types of attributes, as the schemas name them.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum AttributeType {
    Text,
    Boolean,
    Double,
    /// A whole number from .. to.
    Whole(i128, i128),
    DateTime,
    Hex,
    One(Vec<&'static str>),
    List(Box<AttributeType>),
    /// `2.0`, or `3.` and more: the pattern of the schema.
    Version(&'static str),
}

#[derive(Debug, Clone)]
pub(crate) struct Attribute {
    pub(crate) name: &'static str,
    pub(crate) of: AttributeType,
    pub(crate) required: bool,
}

#[derive(Debug)]
pub(crate) struct Element {
    pub(crate) name: &'static str,
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) content: ElementContent,
    /// Other attributes are allowed.
    pub(crate) open: bool,
}

#[derive(Debug)]
pub(crate) enum ElementContent {
    /// In this order.
    Sequence(Vec<Particle>),
    /// Up to so many arbitrary elements.
    Any(usize),
    /// Text only.
    Text,
}

/// One of some elements, which are indices into those of the schema, so many times.
#[derive(Debug)]
pub(crate) struct Particle {
    of: Vec<usize>,
    pub(crate) least: usize,
    pub(crate) most: usize,
}

#[derive(Debug)]
pub(crate) struct Schema {
    elements: Vec<Element>,
}

impl Schema {
    pub(crate) fn element(&self, name: &str) -> Option<&Element> {
        self.elements.iter().find(|element| element.name == name)
    }

    pub(crate) fn one_of<'s>(&'s self, particle: &'s Particle) -> impl Iterator<Item = &'s Element> {
        particle.of.iter().map(|index| &self.elements[*index])
    }
}

impl Element {
    pub(crate) fn attribute(&self, name: &str) -> Option<&Attribute> {
        self.attributes.iter().find(|attribute| attribute.name == name)
    }
}

const MANY: usize = usize::MAX;

fn shipped(text: &'static str) -> Schema {
    parse(text).unwrap_or_else(|problem| unreachable!("a schema that the tests have read: {problem}"))
}

fn parse(text: &'static str) -> Result<Schema, String> {
    let mut names = TypeNames::default();
    // With the name by which content refers to the element, and its content.
    let mut found: Vec<(&str, Element, Vec<&str>)> = Vec::new();
    for words in declarations(text) {
        let (head, content) = match words.iter().position(|word| *word == "=") {
            Some(at) => (&words[..at], words[at + 1..].to_vec()),
            None => (&words[..], Vec::new()),
        };
        match head {
            ["type", name, values @ ..] => {
                names.types.insert(*name, AttributeType::One(values.to_vec()));
            }
            ["group", name, attributes @ ..] => {
                let group = names.attributes(attributes)?;
                names.groups.insert(*name, group);
            }
            [id, attributes @ ..] => {
                let name = id.split('.').next().unwrap_or(*id);
                let (attributes, open) = names.attributes(attributes)?;
                found.push((*id, Element { name, attributes, content: ElementContent::Text, open }, content));
            }
            [] => return Err("a line without a name".into()),
        }
    }
    let places: BTreeMap<&str, usize> = found.iter().enumerate().map(|(at, (id, ..))| (*id, at)).collect();
    let elements = found.into_iter().map(|(_, element, words)| {
        let content = content(&words, &places)?;
        Ok(Element { content, ..element })
    });
    Ok(Schema { elements: elements.collect::<Result<_, String>>()? })
}

/// The words of each declaration.
fn declarations(text: &'static str) -> Vec<Vec<&'static str>> {
    let mut found: Vec<Vec<&str>> = Vec::new();
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        match found.last_mut() {
            Some(last) if line.starts_with(' ') => last.extend(line.split_whitespace()),
            _ => found.push(line.split_whitespace().collect()),
        }
    }
    found
}

/// Types and groups that were declared.
#[derive(Default)]
struct TypeNames {
    types: BTreeMap<&'static str, AttributeType>,
    groups: BTreeMap<&'static str, (Vec<Attribute>, bool)>,
}

impl TypeNames {
    /// Attributes, and whether others are allowed.
    fn attributes(&self, words: &[&'static str]) -> Result<(Vec<Attribute>, bool), String> {
        let (mut attributes, mut open) = (Vec::new(), false);
        for word in words {
            if let Some(group) = word.strip_prefix('@') {
                let (of_group, others) =
                    self.groups.get(group).ok_or_else(|| format!("no group is called `{group}`"))?;
                attributes.extend_from_slice(of_group);
                open |= others;
            } else if *word == "anyAttribute" {
                open = true;
            } else {
                let (name, of) = word.split_once(':').ok_or_else(|| format!("`{word}` has no type"))?;
                let (name, required) = name.strip_suffix('!').map_or((name, false), |name| (name, true));
                attributes.push(Attribute { name, of: self.type_of(of)?, required });
            }
        }
        Ok((attributes, open))
    }

    fn type_of(&self, word: &'static str) -> Result<AttributeType, String> {
        if let Some(of) = word.strip_suffix("[]") {
            return Ok(AttributeType::List(Box::new(self.type_of(of)?)));
        }
        if let Some(version) = word.strip_prefix("version-") {
            return Ok(AttributeType::Version(version));
        }
        Ok(match word {
            "string" => AttributeType::Text,
            "boolean" => AttributeType::Boolean,
            "double" => AttributeType::Double,
            "byte" => AttributeType::Whole(i8::MIN.into(), i8::MAX.into()),
            "unsignedByte" => AttributeType::Whole(0, u8::MAX.into()),
            "short" => AttributeType::Whole(i16::MIN.into(), i16::MAX.into()),
            "unsignedShort" => AttributeType::Whole(0, u16::MAX.into()),
            "int" => AttributeType::Whole(i32::MIN.into(), i32::MAX.into()),
            "unsignedInt" => AttributeType::Whole(0, u32::MAX.into()),
            "long" => AttributeType::Whole(i64::MIN.into(), i64::MAX.into()),
            "unsignedLong" => AttributeType::Whole(0, u64::MAX.into()),
            "dateTime" => AttributeType::DateTime,
            "hexBinary" => AttributeType::Hex,
            declared => {
                let found = self.types.get(declared).cloned();
                found.ok_or_else(|| format!("no type is called `{declared}`"))?
            }
        })
    }
}

fn content(words: &[&str], places: &BTreeMap<&str, usize>) -> Result<ElementContent, String> {
    match words {
        ["text"] => return Ok(ElementContent::Text),
        ["any?"] => return Ok(ElementContent::Any(1)),
        ["any*"] => return Ok(ElementContent::Any(MANY)),
        _ => {}
    }
    let mut particles = Vec::new();
    let mut of = Vec::new();
    let mut inside = false;
    for word in words.iter().filter(|word| **word != "|") {
        let (name, behind) = word.split_at(word.find([')', '?', '*', '+', '{']).unwrap_or(word.len()));
        inside |= name.starts_with('(');
        let name = name.trim_start_matches('(');
        of.push(*places.get(name).ok_or_else(|| format!("no element is called `{name}`"))?);
        inside &= !behind.starts_with(')');
        if inside {
            continue;
        }
        let (least, most) = match behind.trim_start_matches(')') {
            "" => (1, 1),
            "?" => (0, 1),
            "*" => (0, MANY),
            "+" => (1, MANY),
            "{0,2}" => (0, 2),
            other => return Err(format!("`{other}` is no number of elements")),
        };
        particles.push(Particle { of: std::mem::take(&mut of), least, most });
    }
    if inside { Err("a choice without its end".into()) } else { Ok(ElementContent::Sequence(particles)) }
}

impl AttributeType {
    /// `None` if the text is of this type, else a description of what is expected.
    pub(crate) fn refuses(&self, text: &str) -> Option<String> {
        let trimmed = text.trim();
        match self {
            AttributeType::Text => None,
            AttributeType::Boolean => {
                let right = matches!(trimmed, "true" | "false" | "0" | "1");
                (!right).then(|| "true, false, 1 or 0".into())
            }
            AttributeType::Double => number(trimmed).is_none().then(|| "a number".into()),
            AttributeType::Whole(least, most) => {
                let right = whole(trimmed).is_some_and(|value| (*least..=*most).contains(&value));
                (!right).then(|| format!("a whole number from {least} to {most}"))
            }
            AttributeType::DateTime => {
                (!is_date_time(trimmed)).then(|| "a time such as 2009-12-08T14:33:22Z".into())
            }
            AttributeType::Hex => {
                let right =
                    trimmed.len().is_multiple_of(2) && trimmed.bytes().all(|byte| byte.is_ascii_hexdigit());
                (!right).then(|| "pairs of hexadecimal digits".into())
            }
            AttributeType::One(words) => {
                (!words.contains(&trimmed)).then(|| format!("one of {}", words.join(", ")))
            }
            AttributeType::List(of) => {
                let wrong = text.split_ascii_whitespace().find_map(|part| of.refuses(part));
                wrong.map(|wanted| format!("a list separated by spaces, each {wanted}"))
            }
            AttributeType::Version(beginning) => {
                let right = match *beginning {
                    "3" => is_version3(trimmed),
                    exact => trimmed == exact,
                };
                (!right).then(|| if *beginning == "3" { "3.0".into() } else { (*beginning).into() })
            }
        }
    }
}

/// `xs:double`, which allows fewer spellings than Rust.
pub(crate) fn number(text: &str) -> Option<f64> {
    match text.trim() {
        "INF" => Some(f64::INFINITY),
        "-INF" => Some(f64::NEG_INFINITY),
        "NaN" => Some(f64::NAN),
        plain if plain.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte)) => {
            plain.parse().ok()
        }
        _ => None,
    }
}

/// `xs:integer`.
pub(crate) fn whole(text: &str) -> Option<i128> {
    text.trim().parse().ok()
}

/// `3[.](0|[1-9][0-9]*)([.](0|[1-9][0-9]*))?(-.+)?`
fn is_version3(text: &str) -> bool {
    let (numbers, suffix) = text.split_once('-').map_or((text, None), |(head, tail)| (head, Some(tail)));
    let plain = |part: &str| {
        part == "0" || !part.starts_with('0') && !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit())
    };
    let parts: Vec<&str> = numbers.split('.').collect();
    matches!(parts.len(), 2 | 3)
        && parts[0] == "3"
        && parts[1..].iter().all(|part| plain(part))
        && suffix != Some("")
}

/// `xs:dateTime`, as far as shape goes: digits where digits belong, months and hours that exist.
fn is_date_time(text: &str) -> bool {
    let Some((date, time)) = text.split_once('T') else { return false };
    let digits = |part: &str, length: usize, most: u32| {
        part.len() == length
            && part.bytes().all(|byte| byte.is_ascii_digit())
            && part.parse::<u32>().is_ok_and(|value| value <= most)
    };
    let mut days = date.trim_start_matches('-').splitn(3, '-');
    let (year, month, day) = (days.next(), days.next(), days.next());
    let date = year.is_some_and(|y| y.len() >= 4 && y.bytes().all(|byte| byte.is_ascii_digit()))
        && month.is_some_and(|month| digits(month, 2, 12))
        && day.is_some_and(|day| digits(day, 2, 31));
    let end = time.find(['Z', '+', '-']).unwrap_or(time.len());
    let (clock, zone) = time.split_at(end);
    let mut parts = clock.splitn(3, ':');
    let (hour, minute, second) = (parts.next(), parts.next(), parts.next());
    let second = second.is_some_and(|second| {
        let (whole, fraction) = second.split_once('.').unwrap_or((second, "0"));
        digits(whole, 2, 59) && !fraction.is_empty() && fraction.bytes().all(|byte| byte.is_ascii_digit())
    });
    let zone = match zone.get(1..) {
        None => true,
        Some("") => zone == "Z",
        Some(offset) => {
            !zone.starts_with('Z')
                && offset
                    .split_once(':')
                    .is_some_and(|(hour, minute)| digits(hour, 2, 14) && digits(minute, 2, 59))
        }
    };
    date && hour.is_some_and(|hour| digits(hour, 2, 24))
        && minute.is_some_and(|m| digits(m, 2, 59))
        && second
        && zone
}

#[cfg(test)]
mod tests {
    use super::*;

    fn type_of(word: &'static str) -> AttributeType {
        TypeNames::default().type_of(word).expect("a type")
    }

    #[test]
    fn the_schemas_can_be_read() {
        for (schema, roots) in [
            (&FMI1, &[DESCRIPTION][..]),
            (&FMI2, &[DESCRIPTION]),
            (&FMI3, &[DESCRIPTION, TERMINALS_AND_ICONS, BUILD]),
        ] {
            // All that is declared is used: it can be reached from a root.
            let mut reached = vec![false; schema.elements.len()];
            let place = |root: &&str| schema.elements.iter().position(|element| element.name == *root);
            let mut next: Vec<usize> = roots.iter().map(|root| place(root).expect("a root")).collect();
            while let Some(index) = next.pop() {
                if !std::mem::replace(&mut reached[index], true)
                    && let ElementContent::Sequence(particles) = &schema.elements[index].content
                {
                    next.extend(particles.iter().flat_map(|particle| &particle.of));
                }
            }
            let lost = schema.elements.iter().zip(reached).find(|(_, reached)| !reached);
            assert!(lost.is_none(), "{lost:?}");
        }
    }

    #[test]
    fn what_a_schema_cannot_say_is_refused() {
        for (text, problem) in [
            ("A b", "`b` has no type"),
            ("A b:c", "no type is called `c`"),
            ("A @b", "no group is called `b`"),
            ("A = B", "no element is called `B`"),
            ("A = (A | A", "a choice without its end"),
            ("A = A{1,2}", "`{1,2}` is no number of elements"),
        ] {
            assert_eq!(parse(text).expect_err(text), problem, "{text}");
        }
    }

    #[test]
    fn types_take_what_the_schema_takes() {
        for (of, right, wrong) in [
            (AttributeType::Boolean, &["true", "0", " 1 "][..], &["True", "yes", ""][..]),
            (AttributeType::Double, &["1", "-1e-3", "INF", "NaN", ".5"], &["inf", "1,5", "", "0x1", "1e"]),
            (type_of("unsignedByte"), &["0", "255", "+7"], &["256", "-1", "1.0"]),
            (type_of("unsignedInt[]"), &["", "1 2  3"], &["1,2", "-1"]),
            (
                AttributeType::Version("3"),
                &["3.0", "3.0.2", "3.1-beta.1"],
                &["3", "3.00", "2.0", "3.0-", "3.0.0.0"],
            ),
            (AttributeType::Version("2.0"), &["2.0"], &["2.0.4", "2"]),
            (
                AttributeType::DateTime,
                &["2009-12-08T14:33:22Z", "2009-12-08T14:33:22.5+01:00", "2009-12-08T14:33:22"],
                &[
                    "2009-12-08",
                    "08.12.2009",
                    "2009-13-08T14:33:22Z",
                    "2009-12-08T14:33Z",
                    "2009-12-08 14:33:22",
                ],
            ),
            (AttributeType::Hex, &["", "0aFF"], &["0", "gg"]),
        ] {
            for text in right {
                assert_eq!(of.refuses(text), None, "{of:?} {text:?}");
            }
            for text in wrong {
                assert!(of.refuses(text).is_some(), "{of:?} {text:?}");
            }
        }
    }
}
