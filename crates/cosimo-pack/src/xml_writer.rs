//! XML as text, with indents: the one way in which Cosimo writes it.

use std::fmt::{Display, Write};

use cosimo_core::markup::EscapedText;

/// Elements with their ends and indents.
#[derive(Debug)]
pub struct XmlWriter {
    text: String,
    open: Vec<&'static str>,
}

/// A start tag that takes attributes, and is complete as soon as it is dropped.
#[derive(Debug)]
pub struct Tag<'a> {
    text: &'a mut String,
    end: &'static str,
}

impl Default for XmlWriter {
    fn default() -> XmlWriter {
        XmlWriter::new()
    }
}

impl XmlWriter {
    pub fn new() -> XmlWriter {
        XmlWriter { text: "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n".into(), open: vec![] }
    }

    /// Begins an element that holds what is written up to the matching [`XmlWriter::close`].
    pub fn open(&mut self, name: &'static str) -> Tag<'_> {
        self.start(name);
        self.open.push(name);
        Tag { text: &mut self.text, end: ">\n" }
    }

    pub fn close(&mut self) {
        if let Some(name) = self.open.pop() {
            self.indent();
            let _ = writeln!(self.text, "</{name}>");
        }
    }

    /// An element without content.
    pub fn leaf(&mut self, name: &str) -> Tag<'_> {
        self.start(name);
        Tag { text: &mut self.text, end: "/>\n" }
    }

    /// An element with nothing but a text in it.
    pub fn text(&mut self, name: &str, text: &str) {
        self.start(name);
        let _ = writeln!(self.text, ">{}</{name}>", EscapedText(text, space));
    }

    /// Text as it is, without an indent.
    pub fn raw(&mut self, text: &str) {
        self.text += text;
    }

    /// The whole text; closes what is open.
    pub fn finish(mut self) -> String {
        while !self.open.is_empty() {
            self.close();
        }
        self.text
    }

    fn start(&mut self, name: &str) {
        self.indent();
        let _ = write!(self.text, "<{name}");
    }

    fn indent(&mut self) {
        self.open.iter().for_each(|_| self.text += "  ");
    }
}

impl Tag<'_> {
    pub fn set(&mut self, key: &str, value: impl Display) -> &mut Self {
        let _ = write!(self.text, " {key}=\"{}\"", EscapedText(value, space));
        self
    }

    /// An attribute that is left out where there is no value.
    pub fn set_some(&mut self, key: &str, value: Option<impl Display>) -> &mut Self {
        if let Some(value) = value {
            self.set(key, value);
        }
        self
    }
}

impl Drop for Tag<'_> {
    fn drop(&mut self) {
        self.text.push_str(self.end);
    }
}

/// What a parser would make spaces of in an attribute.
fn space(letter: char) -> Option<&'static str> {
    match letter {
        '\t' => Some("&#9;"),
        '\n' => Some("&#10;"),
        '\r' => Some("&#13;"),
        _ => None,
    }
}
