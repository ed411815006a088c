//! A system structure as in its file: nested, with original names and connections. Nothing
//! outside the file is resolved; spans are those of [`cosimo_system::Files`].

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::rc::Rc;

use cosimo_core::{Unit, Value};
use cosimo_system::Span;

use crate::settings::Settings;

/// A SystemStructureDescription.
#[derive(Debug, Default)]
pub(crate) struct Structure {
    pub(crate) system: Rc<SspSystem>,
    /// Systems that components of the same file may refer to.
    pub(crate) by_id: BTreeMap<String, Rc<SspSystem>>,
    pub(crate) start: Option<f64>,
    pub(crate) stop: Option<f64>,
    /// Of `<DefaultExperiment>`, or of the whole.
    pub(crate) experiment_span: Span,
    /// The text of the annotation of Cosimo, and its offset.
    pub(crate) own: Option<(String, usize)>,
    /// Settings of other tools, used without an annotation of Cosimo.
    pub(crate) settings: Settings,
}

#[derive(Debug, Default)]
pub(crate) struct SspSystem {
    pub(crate) name: String,
    pub(crate) id: Option<String>,
    pub(crate) span: Span,
    pub(crate) connectors: Vec<Connector>,
    pub(crate) bindings: Vec<Binding>,
    pub(crate) elements: Vec<Element>,
    pub(crate) connections: Vec<Connection>,
    pub(crate) dictionaries: Vec<Dictionary>,
}

#[derive(Debug)]
pub(crate) enum Element {
    Component(Component),
    System(Rc<SspSystem>),
    Reference(Reference),
}

#[derive(Debug, Default)]
pub(crate) struct Component {
    pub(crate) name: String,
    pub(crate) span: Span,
    pub(crate) connectors: Vec<Connector>,
    pub(crate) bindings: Vec<Binding>,
    pub(crate) content: ComponentContent,
    pub(crate) source_span: Span,
    /// Value for the parameter `cosimo.use`.
    pub(crate) usage: Option<&'static str>,
}

/// What is inside a component.
#[derive(Debug, Default)]
pub(crate) enum ComponentContent {
    /// Invalid; the error has been reported.
    #[default]
    Unknown,
    /// Opened as a simulator.
    Simulator(String),
    /// Another structure.
    Structure(Rc<Structure>),
    /// A system of the same file, by its id.
    Local(String),
}

#[derive(Debug)]
pub(crate) struct Reference {
    pub(crate) name: String,
    pub(crate) span: Span,
    pub(crate) dictionary: String,
    pub(crate) dictionary_span: Span,
    pub(crate) connectors: Vec<Connector>,
}

#[derive(Debug)]
pub(crate) struct Dictionary {
    pub(crate) name: String,
    pub(crate) entries: Vec<Connector>,
}

#[derive(Debug, Clone)]
pub(crate) struct Connector {
    pub(crate) name: String,
    pub(crate) kind: ConnectorKind,
    pub(crate) of: ConnectorType,
    pub(crate) unit: Option<Unit>,
    /// Empty for a scalar; `None` for an array of unknown size.
    pub(crate) sizes: Option<Vec<u64>>,
    pub(crate) span: Span,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConnectorKind {
    Input,
    Output,
    Parameter,
    Calculated,
    Either,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ConnectorType {
    Unspecified,
    Number,
    Enumeration(Rc<Items>),
    /// A type that is not exchanged, with its name for messages.
    Other(&'static str),
}

/// Values of an enumeration by name.
pub(crate) type Items = BTreeMap<String, f64>;

#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) start: ConnectionEnd,
    pub(crate) end: ConnectionEnd,
    pub(crate) transformation: Transformation,
    pub(crate) suppress: bool,
    pub(crate) span: Span,
}

#[derive(Debug)]
pub(crate) struct ConnectionEnd {
    /// `None` is the system itself.
    pub(crate) element: Option<String>,
    pub(crate) connector: String,
    /// Counted from 1.
    pub(crate) indices: Option<Vec<u64>>,
    pub(crate) span: Span,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) enum Transformation {
    #[default]
    None,
    Linear {
        factor: f64,
        offset: f64,
    },
    Map(Vec<(f64, f64)>),
    /// Of items of enumerations.
    Names(Vec<(String, String)>),
}

/// Values for the variables of an element and its descendants.
#[derive(Debug, Default)]
pub(crate) struct Binding {
    pub(crate) prefix: String,
    pub(crate) values: Vec<Parameter>,
    pub(crate) mapping: Option<Vec<Mapping>>,
}

#[derive(Debug, Clone)]
pub(crate) struct Parameter {
    pub(crate) name: String,
    pub(crate) value: Value,
    pub(crate) unit: Option<Unit>,
    pub(crate) span: Span,
}

#[derive(Debug, Clone)]
pub(crate) struct Mapping {
    pub(crate) source: String,
    pub(crate) target: String,
    pub(crate) transformation: Transformation,
    pub(crate) suppress: bool,
    pub(crate) span: Span,
}

/// What is needed to write the file again unchanged.
#[derive(Debug)]
pub(crate) struct Rest {
    /// Folder of its unpacked members.
    pub(crate) folder: PathBuf,
    /// Files that the description names, relative to that folder.
    pub(crate) members: BTreeSet<PathBuf>,
    /// Read from an archive, so that all files of the folder belong to it.
    pub(crate) archive: bool,
    /// The description that was read.
    pub(crate) member: String,
    /// The system as read: if it is unchanged, the text is kept.
    pub(crate) system: cosimo_system::System,
}
