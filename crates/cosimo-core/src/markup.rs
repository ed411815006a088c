//! Untrusted text inside of markup: XML, HTML and SVG.

use std::fmt::{self, Display, Write};

/// Displays a value escaped for content and quoted attributes. The function gives further replacements.
#[derive(Debug, Clone, Copy)]
pub struct EscapedText<T>(pub T, pub fn(char) -> Option<&'static str>);

impl<T: Display> Display for EscapedText<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(EscapeWriter(f, self.1), "{}", self.0)
    }
}

struct EscapeWriter<'a, 'f>(&'a mut fmt::Formatter<'f>, fn(char) -> Option<&'static str>);

impl Write for EscapeWriter<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut plain = 0;
        for (at, letter) in text.char_indices() {
            let replaced = match letter {
                '&' => Some("&amp;"),
                '<' => Some("&lt;"),
                '>' => Some("&gt;"),
                '"' => Some("&quot;"),
                other => self.1(other),
            };
            if let Some(replaced) = replaced {
                self.0.write_str(&text[plain..at])?;
                self.0.write_str(replaced)?;
                plain = at + letter.len_utf8();
            }
        }
        self.0.write_str(&text[plain..])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_becomes_text() {
        let evil = r#"<img src=x onerror="a('b')"> & ü"#;
        let apostrophe = |letter: char| (letter == '\'').then_some("&#39;");
        let shown = "&lt;img src=x onerror=&quot;a(&#39;b&#39;)&quot;&gt; &amp; ü";
        assert_eq!(EscapedText(evil, apostrophe).to_string(), shown);
        assert_eq!(EscapedText(0.5, |_| None).to_string(), "0.5");
    }
}
