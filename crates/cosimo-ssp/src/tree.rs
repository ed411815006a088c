//! A system structure as its file says it: nested, with names as they are and connections as they stand there. Nothing
//! is resolved beyond the file; places are those of [`cosimo_system::Files`].

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
    /// The text of our own annotation, and where it begins.
    pub(crate) own: Option<(String, usize)>,
    /// Those of other tools, where there is no annotation of ours.
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
    /// What `cosimo.use` should be.
    pub(crate) usage: Option<&'static str>,
}

/// What is inside a component.
#[derive(Debug, Default)]
pub(crate) enum ComponentContent {
    /// Something is wrong with it, and that has been said.
    #[default]
    Unknown,
    /// What Cosimo opens as a simulator.
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
    /// Empty for one value; `None` for an array of a size that the file does not say.
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
    Unsaid,
    Number,
    Enumeration(Rc<Items>),
    /// What Cosimo does not exchange, and what it is called.
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

/// Values for the variables of an element and all below it.
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

/// What a written file keeps of the one that was read.
#[derive(Debug)]
pub(crate) struct Rest {
    /// Where its members lie, unpacked.
    pub(crate) folder: PathBuf,
    /// Files that the description names, below that folder.
    pub(crate) members: BTreeSet<PathBuf>,
    /// It came as an archive, so that everything in the folder belongs to it.
    pub(crate) archive: bool,
    /// The description that was read.
    pub(crate) member: String,
    /// The system as it was read: unless it changed, the text can be kept.
    pub(crate) system: cosimo_system::System,
}
