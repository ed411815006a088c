//! XML as text, with indents: the one way in which Cosimo writes it.

use std::fmt::{self, Display, Write};

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
        let _ = writeln!(self.text, ">{}</{name}>", Escaped(text));
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
        let _ = write!(self.text, " {key}=\"{}\"", Escaped(value));
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

/// Shows a value such that none of it can be taken for markup, in content and in attributes.
#[derive(Debug, Clone, Copy)]
pub struct Escaped<T>(pub T);

impl<T: Display> Display for Escaped<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(Escaping(f), "{}", self.0)
    }
}

struct Escaping<'a, 'f>(&'a mut fmt::Formatter<'f>);

impl Write for Escaping<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut rest = text;
        while let Some(at) = rest.find(['&', '<', '>', '"', '\t', '\n', '\r']) {
            self.0.write_str(&rest[..at])?;
            self.0.write_str(match rest.as_bytes()[at] {
                b'&' => "&amp;",
                b'<' => "&lt;",
                b'>' => "&gt;",
                b'"' => "&quot;",
                // A parser would make spaces of these in an attribute.
                b'\t' => "&#9;",
                b'\n' => "&#10;",
                _ => "&#13;",
            })?;
            rest = &rest[at + 1..];
        }
        self.0.write_str(rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_reads_back() {
        let odd = "a<b> & \"c\"\t'd'\r\n]]>";
        let mut xml = XmlWriter::new();
        xml.open("list").set("name", odd).set_some("none", None::<u8>).set_some("count", Some(2));
        xml.text("item", odd);
        xml.leaf("item").set("number", 0.5);
        let text = xml.finish();
        let read = roxmltree::Document::parse(&text).unwrap();
        let list = read.root_element();
        let attributes: Vec<(&str, &str)> = list.attributes().map(|a| (a.name(), a.value())).collect();
        assert_eq!(attributes, [("name", odd), ("count", "2")]);
        let items: Vec<_> = list.children().filter(|child| child.is_element()).collect();
        assert_eq!((items[0].text(), items[1].attribute("number")), (Some(odd), Some("0.5")));
        assert!(text.ends_with("\n  <item number=\"0.5\"/>\n</list>\n"), "{text}");
    }
}
