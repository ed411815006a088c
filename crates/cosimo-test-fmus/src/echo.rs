//! An FMU that copies each input to an output, one of every type of the FMI version: for importers that pass
//! strings, binaries and numbers of all widths on. Direct feed-through.

use cosimo_core::{Abilities, Interface, Port};
use cosimo_export::Version;
use cosimo_export::equipment::{AddedModel, VariableType};
use cosimo_native::{Hybrid, ModelPoint, Tangent};

pub(crate) const MODEL: AddedModel = AddedModel {
    source: crate::ECHO,
    summary: "copies each input to an output, one of every type; for tests",
    parameters: &[],
    stop: 1.0,
    simulator: None,
    equations: || Box::new(Nothing),
    echoes: types,
    clocks: None,
};

const COLOURS: &[&str] = &["red", "green", "blue"];

/// One input and one output of each.
fn types(version: Version) -> &'static [VariableType] {
    match version {
        Version::One | Version::Two => &[
            VariableType::Real,
            VariableType::Integer,
            VariableType::Boolean,
            VariableType::Enumeration(COLOURS),
            VariableType::Text,
        ],
        Version::Three => &[
            VariableType::Single,
            VariableType::Real,
            VariableType::Int8,
            VariableType::UInt8,
            VariableType::Int16,
            VariableType::UInt16,
            VariableType::Integer,
            VariableType::UInt32,
            VariableType::Int64,
            VariableType::UInt64,
            VariableType::Boolean,
            VariableType::Enumeration(COLOURS),
            VariableType::Text,
            VariableType::Binary,
        ],
    }
}

/// Equations of an FMU without any.
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

    fn derivatives(&self, _at: &ModelPoint<'_>, _dx: &mut [f64]) {}

    fn outputs(&self, _at: &ModelPoint<'_>, _y: &mut [f64]) {}

    fn tangent(&self, _at: &ModelPoint<'_>, _along: &Tangent<'_>, _dx: &mut [f64], _y: &mut [f64]) {}
}
