//! Untrusted text, made safe for a terminal.
//!
//! Names and messages come out of files and FMUs. Printed as they are, a control character could move the cursor, recolour
//! or retitle a terminal, and a bidirectional override shows a path in another order than it has.

use std::borrow::Cow;

/// The text with every control character escaped, as in `\u001b`: JSON and TOML read that as the original character.
/// Line ends and tabs stay.
pub fn printable(text: &str) -> Cow<'_, str> {
    if !text.contains(controls) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    let mut rest = text.chars().peekable();
    while let Some(letter) = rest.next() {
        // \r\n is a line end.
        let line_end = letter == '\r' && rest.peek() == Some(&'\n');
        if controls(letter) && !line_end {
            escaped.push_str(&format!("\\u{:04x}", u32::from(letter)));
        } else {
            escaped.push(letter);
        }
    }
    Cow::Owned(escaped)
}

/// Whether a character controls a terminal instead of being shown: control characters, and those that change the direction
/// of text or end a line.
pub fn controls(letter: char) -> bool {
    match letter {
        '\n' | '\t' => false,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => true,
        _ => letter.is_control(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_controls_a_terminal_is_escaped() {
        let plain = "Kühlung\tT₁ = 5 °C\r\n日本\n";
        assert!(matches!(printable(plain), Cow::Owned(same) if same == plain));
        assert!(matches!(printable("plain"), Cow::Borrowed("plain")));
        for (text, shown) in [
            ("a\x1b[2Jb", "a\\u001b[2Jb"),
            ("a\u{9b}31mb", "a\\u009b31mb"),
            ("over\rwritten", "over\\u000dwritten"),
            ("fmu.\u{202e}txt", "fmu.\\u202etxt"),
            ("\u{7}\0\u{7f}\u{2066}\u{200f}\u{2028}", "\\u0007\\u0000\\u007f\\u2066\\u200f\\u2028"),
        ] {
            assert_eq!(printable(text), shown);
        }
    }
}
