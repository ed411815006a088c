//! Text for XML: escaping, numbers, and widths estimated without a font.

use cosimo_core::markup::EscapedText;
use cosimo_core::math;

/// Escapes markup. Characters that XML 1.0 forbids become U+FFFD, or a signal name could spoil the file.
pub(crate) fn escape(text: &str) -> EscapedText<&str> {
    EscapedText(text, |letter| match letter {
        '\'' => Some("&#39;"),
        '\t' | '\n' | '\r' => Some(" "),
        '\0'..='\x1f' | '\u{fffe}' | '\u{ffff}' => Some("\u{fffd}"),
        _ => None,
    })
}

/// The width in pixels of a text in a common sans-serif font; a little too wide rather than too narrow.
pub(crate) fn width(text: &str, size: f64) -> f64 {
    let ems: f64 = text
        .chars()
        .map(|c| match c {
            'i' | 'j' | 'l' | 't' | 'f' | 'r' | 'I' | ' ' | '.' | ',' | ':' | ';' | '|' | '\'' | '('
            | ')' => 0.36,
            'm' | 'w' | 'M' | 'W' | '%' | '@' => 0.9,
            'A'..='Z' => 0.7,
            // CJK and the like are square.
            c if c >= '\u{1100}' => 1.0,
            _ => 0.58,
        })
        .sum();
    ems * size
}

/// Shortens a text to the room there is, with an ellipsis.
pub(crate) fn shorten(text: &str, size: f64, room: f64) -> String {
    if width(text, size) <= room {
        return text.into();
    }
    let mut short = String::new();
    let mut used = width("…", size);
    for c in text.chars() {
        used += width(c.encode_utf8(&mut [0; 4]), size);
        if used > room {
            break;
        }
        short.push(c);
    }
    short.push('…');
    short
}

/// A pixel coordinate: two decimals, no trailing zeros, never `-0`.
pub(crate) fn pixel(value: f64) -> String {
    let text = trim(format!("{value:.2}"));
    if text == "-0" { "0".into() } else { text }
}

/// The labels of evenly spaced ticks: as many decimals as the step asks for, all alike.
pub(crate) fn tick_labels(values: &[f64], step: f64) -> Vec<String> {
    let largest = values.iter().fold(0.0_f64, |most, value| most.max(value.abs()));
    // Below 1e-4 and from 1e6 on, zeros are harder to count than an exponent is to read.
    let scientific = largest > 0.0 && !(1e-4..1e6).contains(&largest);
    let exponent = if scientific { decade(largest) } else { 0 };
    // The slack forgives steps such as 0.30000000000000004 / 3.
    let decimals = (f64::from(exponent) - (math::log10(step) + 1e-9).floor()).clamp(0.0, 15.0) as usize;
    values
        .iter()
        .map(|&value| {
            let text = if !scientific {
                format!("{value:.decimals$}")
            } else if value.abs() < step / 2.0 {
                "0".into()
            } else {
                format!("{}e{exponent}", trim(format!("{:.decimals$}", scaled(value, exponent))))
            };
            proper_minus(&text)
        })
        .collect()
}

/// A number on its own, as short as it can be said.
pub(crate) fn number(value: f64) -> String {
    let magnitude = value.abs();
    let text = if value == 0.0 {
        "0".into()
    } else if (1e-4..1e6).contains(&magnitude) {
        trim(format!("{value:.6}"))
    } else {
        let exponent = decade(magnitude);
        format!("{}e{exponent}", trim(format!("{:.6}", scaled(value, exponent))))
    };
    proper_minus(&text)
}

fn decade(magnitude: f64) -> i32 {
    // The slack keeps 999999.9999999999 and 1e6 in the same decade.
    (math::log10(magnitude) + 1e-12).floor() as i32
}

/// value / 10^exponent, in two halves because 10^-308 and below have no exact partner.
fn scaled(value: f64, exponent: i32) -> f64 {
    let half = exponent / 2;
    value / math::powi(10.0, half) / math::powi(10.0, exponent - half)
}

fn trim(mut text: String) -> String {
    if text.contains('.') {
        text.truncate(text.trim_end_matches('0').trim_end_matches('.').len());
    }
    text
}

/// U+2212 is as wide as a digit and does not break lines. A rounded zero has no sign.
fn proper_minus(text: &str) -> String {
    if text.strip_prefix('-').is_some_and(|rest| rest.chars().all(|c| c == '0' || c == '.')) {
        return text[1..].into();
    }
    text.replace('-', "−")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_have_the_decimals_of_the_step() {
        assert_eq!(tick_labels(&[-0.5, 0.0, 0.5], 0.5), ["−0.5", "0.0", "0.5"]);
        assert_eq!(tick_labels(&[-0.0, 20.0], 20.0), ["0", "20"]);
        assert_eq!(tick_labels(&[0.1 + 0.2], 0.1), ["0.3"]);
    }

    #[test]
    fn very_large_and_very_small_labels_use_an_exponent() {
        assert_eq!(tick_labels(&[0.0, 5e6, 1e7], 5e6), ["0", "0.5e7", "1e7"]);
        assert_eq!(tick_labels(&[-2e-6, 0.0, 2e-6], 2e-6), ["−2e−6", "0", "2e−6"]);
        assert_eq!(tick_labels(&[1.0000001e9, 1.0000002e9], 100.0), ["1.0000001e9", "1.0000002e9"]);
        assert_eq!(number(1e300), "1e300");
        assert_eq!(number(5e-305), "5e−305");
        assert_eq!(number(0.002), "0.002");
    }

    #[test]
    fn text_cannot_break_the_markup() {
        assert_eq!(escape("a<b & \"c\"\0\n").to_string(), "a&lt;b &amp; &quot;c&quot;\u{fffd} ");
    }

    #[test]
    fn shortened_text_fits() {
        let short = shorten("a very long name of a series", 12.0, 80.0);
        assert!(short.ends_with('…') && width(&short, 12.0) <= 80.0, "{short}");
        assert_eq!(shorten("short", 12.0, 80.0), "short");
    }

    #[test]
    fn pixels_are_short() {
        assert_eq!((pixel(-0.001), pixel(12.50), pixel(3.0)), ("0".into(), "12.5".into(), "3".into()));
    }
}
