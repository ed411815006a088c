//! Text from files and command lines as HTML, so that none of it can be taken for markup.

use std::fmt;

/// Shows a text escaped, for element content and quoted attributes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Text<'a>(pub(crate) &'a str);

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0;
        while let Some(at) = rest.find(['&', '<', '>', '"', '\'']) {
            f.write_str(&rest[..at])?;
            f.write_str(match rest.as_bytes()[at] {
                b'&' => "&amp;",
                b'<' => "&lt;",
                b'>' => "&gt;",
                b'"' => "&quot;",
                _ => "&#39;",
            })?;
            rest = &rest[at + 1..];
        }
        f.write_str(rest)
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
    fn markup_becomes_text() {
        let evil = r#"<img src=x onerror="a('b')"> & ü"#;
        assert_eq!(Text(evil).to_string(), "&lt;img src=x onerror=&quot;a(&#39;b&#39;)&quot;&gt; &amp; ü");
    }

    #[test]
    fn json_cannot_end_its_element_and_reads_back() {
        let value = serde_json::json!({ "</script><script>alert(1)</script>": ["<!--", "\u{2028}", 1.5] });
        let text = json(&value);
        assert!(!text.contains('<'));
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
    }
}
