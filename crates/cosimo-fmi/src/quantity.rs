//! Unit definitions, the same in FMI 2.0 and 3.0: exponents of base units, a factor, and maybe an offset.

use std::collections::BTreeMap;

use cosimo_core::Unit;
use cosimo_core::unit::BASE_UNITS;
use roxmltree::Node;

use crate::description::UnitDefinition;
use crate::xml::{XmlReader, child, children_of};

pub(crate) fn definitions(reader: &mut XmlReader<'_>, root: Node<'_, '_>) -> Vec<UnitDefinition> {
    let mut found = Vec::new();
    for node in children_of(root, "UnitDefinitions").filter(|node| node.tag_name().name() == "Unit") {
        let Some(name) = reader.text(node, "name") else { continue };
        let unit = match child(node, "BaseUnit") {
            None => Unit::parse(name).ok(),
            Some(base) => {
                let before = reader.warnings.len();
                let exponent = |reader: &mut XmlReader<'_>, key: &str| {
                    reader.parse::<i8>(base, key, "a whole number").unwrap_or(0)
                };
                let dimension = BASE_UNITS.map(|key| exponent(reader, key));
                let factor = reader.number(base, "factor").unwrap_or(1.0);
                let offset = reader.number(base, "offset").unwrap_or(0.0);
                if !(factor.is_finite() && factor > 0.0) {
                    reader.warning(base, format!("unit `{name}` has the factor {factor} and is not used"));
                }
                if !offset.is_finite() {
                    reader.warning(base, format!("unit `{name}` has the offset {offset} and is not used"));
                }
                // A unit with a wrong part is worse than none.
                let understood = reader.warnings.len() == before;
                understood.then(|| Unit { text: name.to_owned(), dimension, factor, offset })
            }
        };
        found.push(UnitDefinition { name: name.to_owned(), unit, place: reader.place(node) });
    }
    found
}

/// What a unit's name means: as declared, else as Cosimo reads it, else nothing.
#[derive(Debug)]
pub(crate) struct Units<'a>(BTreeMap<&'a str, &'a Option<Unit>>);

impl<'a> Units<'a> {
    pub(crate) fn new(definitions: &'a [UnitDefinition]) -> Units<'a> {
        Units(definitions.iter().map(|unit| (unit.name.as_str(), &unit.unit)).collect())
    }

    /// The unit of a variable; `relative` says that it is a difference, for which zero is zero in every unit.
    pub(crate) fn of_variable(&self, name: &str, relative: bool) -> Option<Unit> {
        let unit = self.find(name)?;
        Some(if relative { Unit { offset: 0.0, ..unit } } else { unit })
    }

    pub(crate) fn find(&self, name: &str) -> Option<Unit> {
        match self.0.get(name) {
            Some(declared) => (*declared).clone(),
            None => Unit::parse(name).ok(),
        }
    }
}
