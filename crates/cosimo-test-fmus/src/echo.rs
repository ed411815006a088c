//! A unit that shows each input again as an output, one of every type that the version has: for importers that pass
//! texts, bytes and numbers of all widths on. What is heard is shown at once.

use cosimo_core::{Abilities, Interface, Port};
use cosimo_export::Version;
use cosimo_export::equipment::{AddedModel, Type};
use cosimo_native::{Direction, Hybrid, Point};

pub(crate) const MODEL: AddedModel = AddedModel {
    source: crate::ECHO,
    summary: "shows each input again as an output, one of every type; for tests",
    parameters: &[],
    stop: 1.0,
    simulator: None,
    equations: || Box::new(Nothing),
    echoes: types,
    clocks: None,
};

const COLOURS: &[&str] = &["red", "green", "blue"];

/// One input and one output of each.
fn types(version: Version) -> &'static [Type] {
    match version {
        Version::One | Version::Two => {
            &[Type::Real, Type::Integer, Type::Boolean, Type::Enumeration(COLOURS), Type::Text]
        }
        Version::Three => &[
            Type::Single,
            Type::Real,
            Type::Int8,
            Type::UInt8,
            Type::Int16,
            Type::UInt16,
            Type::Integer,
            Type::UInt32,
            Type::Int64,
            Type::UInt64,
            Type::Boolean,
            Type::Enumeration(COLOURS),
            Type::Text,
            Type::Binary,
        ],
    }
}

/// Equations of a unit that has none.
#[derive(Debug)]
pub(crate) struct Nothing;

impl Hybrid for Nothing {
    fn interface(&self) -> Interface {
        Interface { abilities: Abilities::NATIVE, ..Interface::default() }
    }

    fn states(&self) -> Vec<Port> {
        Vec::new()
    }

    fn initial(&self) -> (Vec<f64>, Vec<f64>) {
        (Vec::new(), Vec::new())
    }

    fn derivatives(&self, _at: &Point<'_>, _dx: &mut [f64]) {}

    fn outputs(&self, _at: &Point<'_>, _y: &mut [f64]) {}

    fn tangent(&self, _at: &Point<'_>, _along: &Direction<'_>, _dx: &mut [f64], _y: &mut [f64]) {}
}
