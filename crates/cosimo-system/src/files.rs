//! The texts that a system was read from. A system may be spread over several files, and a place in it must name its
//! own: all texts lie behind each other, so that one span says both which file and where in it.

use std::ops::Range;

use crate::problem::Span;

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Files(Vec<File>);

#[derive(Debug, Clone, PartialEq)]
pub struct File {
    /// As people know it: a path, or a path and the member of the archive there.
    pub name: String,
    pub text: String,
    /// Where its text begins among all.
    pub start: usize,
}

impl File {
    fn end(&self) -> usize {
        self.start + self.text.len()
    }
}

impl Files {
    /// A system in one file, whose spans are those of its text.
    pub fn one(name: impl Into<String>, text: impl Into<String>) -> Files {
        let mut files = Files::default();
        files.add(name, text);
        files
    }

    /// Where the spans of this text begin.
    pub fn add(&mut self, name: impl Into<String>, text: impl Into<String>) -> usize {
        // One byte apart, so that the end of one is not the beginning of the next.
        let start = self.0.last().map_or(0, |last| last.end() + 1);
        self.0.push(File { name: name.into(), text: text.into(), start });
        start
    }

    /// The one that was asked for; the others are its parts.
    pub fn main(&self) -> Option<&File> {
        self.0.first()
    }

    pub fn iter(&self) -> impl Iterator<Item = &File> {
        self.0.iter()
    }

    /// The file of a place, and the bytes of its text; `None` for the empty span that means no place.
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
