//! Text from files and command lines as HTML, so that none of it can be taken for markup.

use std::fmt;

use cosimo_core::markup::EscapedText;

/// Shows a text escaped, for element content and quoted attributes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HtmlText<'a>(pub(crate) &'a str);

impl fmt::Display for HtmlText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        EscapedText(self.0, |letter| (letter == '\'').then_some("&#39;")).fmt(f)
    }
}

/// JSON for a `<script>` element: there, `</script>` ends it and `<!--` changes its meaning even inside a string.
/// JSON has `<` in strings only, and there it may be spelled as an escape.
pub(crate) fn json(value: &serde_json::Value) -> String {
    value.to_string().replace('<', "\\u003c")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_cannot_end_its_element_and_reads_back() {
        let value = serde_json::json!({ "</script><script>alert(1)</script>": ["<!--", "\u{2028}", 1.5] });
        let text = json(&value);
        assert!(!text.contains('<'));
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
    }
}
