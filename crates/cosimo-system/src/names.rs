//! Names of components, and which of them a path such as `Sub.Comp.port` begins with.
//!
//! Components of nested systems have dots in their names, and so may ports: the longest matching component is taken.

use std::collections::BTreeMap;

use cosimo_core::registry::suggest;

/// Indices of components by name.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Names<'a>(BTreeMap<&'a str, usize>);

/// A path that leads to no component.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathProblem<'p> {
    /// Not of the form `component.port`.
    NoPath,
    /// The part that probably names the component.
    Unknown(&'p str),
}

impl<'a> Names<'a> {
    /// The first of several components with the same name is used.
    pub fn new(names: impl IntoIterator<Item = &'a str>) -> Names<'a> {
        let mut places = BTreeMap::new();
        for (place, name) in names.into_iter().enumerate() {
            places.entry(name).or_insert(place);
        }
        Names(places)
    }

    /// The index of a component.
    pub fn get(&self, name: &str) -> Option<usize> {
        self.0.get(name).copied()
    }

    /// Index and name of the component that a path begins with, and the port.
    pub fn split<'p>(&self, path: &'p str) -> Result<(usize, &'p str, &'p str), PathProblem<'p>> {
        let parts = || {
            let dots = path.rmatch_indices('.').map(|(at, _)| (&path[..at], &path[at + 1..]));
            dots.filter(|(component, port)| !component.is_empty() && !port.is_empty())
        };
        let known = parts().find_map(|(component, port)| Some((self.get(component)?, component, port)));
        // The component is probably the text before the first dot, unless that is a nested system.
        known.ok_or_else(|| match (parts().next_back(), parts().next()) {
            (Some((first, _)), Some((whole, _))) => {
                PathProblem::Unknown(if self.has_system(first) { whole } else { first })
            }
            _ => PathProblem::NoPath,
        })
    }

    fn has_system(&self, name: &str) -> bool {
        let inside = format!("{name}.");
        self.0.range(inside.as_str()..).next().is_some_and(|(known, _)| known.starts_with(&inside))
    }

    /// A hint with similar or known component names.
    pub fn suggest(&self, component: &str) -> String {
        let mut known: Vec<(&str, usize)> = self.0.iter().map(|(name, place)| (*name, *place)).collect();
        known.sort_by_key(|(_, place)| *place);
        suggest(component, known.into_iter().map(|(name, _)| name))
    }
}

/// Words of letters, digits, `_` and `-`, with single spaces or dots between: components are written before the dot of a
/// port, in file names and in column heads.
pub fn is_component(name: &str) -> bool {
    let word = |word: &str| {
        !word.is_empty() && word.chars().all(|letter| letter.is_alphanumeric() || "_-".contains(letter))
    };
    name.split([' ', '.']).all(word)
}

/// The rule of [`is_component`] for messages.
pub const COMPONENT_RULE: &str =
    "the name of a component is made of letters, digits, `_` and `-`, with single dots or spaces between";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_component_wins() {
        let names = Names::new(["a", "a.b", "c d", "ä.b.c"]);
        assert_eq!(names.split("a.x"), Ok((0, "a", "x")));
        assert_eq!(names.split("a.b.x"), Ok((1, "a.b", "x")));
        assert_eq!(names.split("a.b.x.y"), Ok((1, "a.b", "x.y")));
        assert_eq!(names.split("a.b"), Ok((0, "a", "b")));
        assert_eq!(names.split("c d.x"), Ok((2, "c d", "x")));
        assert_eq!(names.split("ä.b.c.q[1,2]"), Ok((3, "ä.b.c", "q[1,2]")));
    }

    #[test]
    fn lost_paths_name_what_was_probably_meant() {
        let names = Names::new(["a", "a.b"]);
        assert_eq!(names.split("b.c.x"), Err(PathProblem::Unknown("b")));
        assert_eq!(Names::new(["a.b"]).split("a.c.x"), Err(PathProblem::Unknown("a.c")));
        assert_eq!(names.split("a"), Err(PathProblem::NoPath));
        assert_eq!(names.split("a."), Err(PathProblem::NoPath));
        assert_eq!(names.split(".a"), Err(PathProblem::NoPath));
        assert_eq!(names.split(""), Err(PathProblem::NoPath));
    }

    #[test]
    fn names_are_words_with_single_dots_and_spaces_between() {
        for good in ["a", "a.b", "Größe 1.x-y_z", "1"] {
            assert!(is_component(good), "{good}");
        }
        for bad in ["", ".", "a.", ".a", "a..b", "a  b", " a", "a=b", "a\tb", "a/b"] {
            assert!(!is_component(bad), "{bad}");
        }
    }
}
