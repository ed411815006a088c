//! Files from outside: zip archives that are measured before they are believed, and XML whose elements know their
//! place. Shared by everything that reads standards made of both; `xml_writer` is for all that writes XML.

pub mod archive;
pub mod hash;
mod manifest;
pub mod problem;
pub mod store;
pub mod text;
pub mod xml;
pub mod xml_writer;

pub use archive::{ArchiveKind, Cache, use_cache};
pub use problem::{FilePosition, FileProblem};
pub use xml_writer::XmlWriter;
