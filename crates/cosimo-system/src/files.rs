//! The texts that a system was read from. A system may be spread over several files, and a span must identify its
//! file: all texts are concatenated, so that one span gives both the file and the place in it.

use std::ops::Range;

use crate::problem::Span;

/// The files of a system, in the order in which they were read.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Files(Vec<File>);

/// One file of a system.
#[derive(Debug, Clone, PartialEq)]
pub struct File {
    /// A path, or a path and the member of the archive there; for messages.
    pub name: String,
    /// The whole content.
    pub text: String,
    /// Offset of its text in the concatenation.
    pub start: usize,
}

impl File {
    fn end(&self) -> usize {
        self.start + self.text.len()
    }
}

impl Files {
    /// One file only: spans are offsets in its text.
    pub fn one(name: impl Into<String>, text: impl Into<String>) -> Files {
        let mut files = Files::default();
        files.add(name, text);
        files
    }

    /// Appends a file and returns the offset of its spans.
    pub fn add(&mut self, name: impl Into<String>, text: impl Into<String>) -> usize {
        // One byte apart, so that the end of a file is not the start of the next.
        let start = self.0.last().map_or(0, |last| last.end() + 1);
        self.0.push(File { name: name.into(), text: text.into(), start });
        start
    }

    /// The system file itself; the others are its parts.
    pub fn main(&self) -> Option<&File> {
        self.0.first()
    }

    /// All files.
    pub fn iter(&self) -> impl Iterator<Item = &File> {
        self.0.iter()
    }

    /// The file of a span and the byte range in its text; `None` for the empty span, which means no place.
    pub fn find(&self, span: &Span) -> Option<(&File, Range<usize>)> {
        if *span == (0..0) {
            return None;
        }
        let at = self.0.partition_point(|file| file.start <= span.start).checked_sub(1)?;
        let file = &self.0[at];
        (span.end <= file.end()).then(|| (file, span.start - file.start..span.end - file.start))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_found_in_their_own_file() {
        let mut files = Files::one("a", "alpha");
        let start = files.add("b", "beta");
        let empty = files.add("c", "");
        let found = |span: Range<usize>| files.find(&span).map(|(file, span)| (file.name.as_str(), span));
        assert_eq!(found(1..5), Some(("a", 1..5)));
        assert_eq!(found(5..5), Some(("a", 5..5)));
        assert_eq!(found(start..start + 4), Some(("b", 0..4)));
        assert_eq!(found(empty..empty), Some(("c", 0..0)));
        assert_eq!(found(0..0), None);
        assert_eq!(found(3..7), None, "no place spans two files");
        assert_eq!(found(99..99), None);
    }
}
