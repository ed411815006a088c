//! Units of ports: read from text, compared by dimension, converted by factor.
//!
//! The radian counts as dimensionless, so that torque times angular velocity is a power. Units with an
//! offset (degC) are refused: a difference and a level of temperature cannot be told apart by their name.

use std::fmt;

/// Exponents of kg, m, s, A, K, mol, cd.
pub type Dimension = [i8; 7];

/// kg m^2 s^-3.
pub const POWER: Dimension = [1, 2, -3, 0, 0, 0, 0];

#[derive(Debug, Clone, PartialEq)]
pub struct Unit {
    pub text: String,
    pub dimension: Dimension,
    /// How many SI units one of this is.
    pub factor: f64,
}

const BASE: &[(&str, Dimension, f64)] = &[
    ("kg", [1, 0, 0, 0, 0, 0, 0], 1.0),
    ("g", [1, 0, 0, 0, 0, 0, 0], 1e-3),
    ("m", [0, 1, 0, 0, 0, 0, 0], 1.0),
    ("s", [0, 0, 1, 0, 0, 0, 0], 1.0),
    ("A", [0, 0, 0, 1, 0, 0, 0], 1.0),
    ("K", [0, 0, 0, 0, 1, 0, 0], 1.0),
    ("mol", [0, 0, 0, 0, 0, 1, 0], 1.0),
    ("cd", [0, 0, 0, 0, 0, 0, 1], 1.0),
    ("rad", [0; 7], 1.0),
    ("deg", [0; 7], std::f64::consts::PI / 180.0),
    ("rev", [0; 7], 2.0 * std::f64::consts::PI),
    ("1", [0; 7], 1.0),
    ("%", [0; 7], 1e-2),
    ("N", [1, 1, -2, 0, 0, 0, 0], 1.0),
    ("Pa", [1, -1, -2, 0, 0, 0, 0], 1.0),
    ("bar", [1, -1, -2, 0, 0, 0, 0], 1e5),
    ("J", [1, 2, -2, 0, 0, 0, 0], 1.0),
    ("W", POWER, 1.0),
    ("V", [1, 2, -3, -1, 0, 0, 0], 1.0),
    ("C", [0, 0, 1, 1, 0, 0, 0], 1.0),
    ("F", [-1, -2, 4, 2, 0, 0, 0], 1.0),
    ("H", [1, 2, -2, -2, 0, 0, 0], 1.0),
    ("Ohm", [1, 2, -3, -2, 0, 0, 0], 1.0),
    ("ohm", [1, 2, -3, -2, 0, 0, 0], 1.0),
    ("S", [-1, -2, 3, 2, 0, 0, 0], 1.0),
    ("Wb", [1, 2, -2, -1, 0, 0, 0], 1.0),
    ("T", [1, 0, -2, -1, 0, 0, 0], 1.0),
    ("Hz", [0, 0, -1, 0, 0, 0, 0], 1.0),
    ("l", [0, 3, 0, 0, 0, 0, 0], 1e-3),
    ("L", [0, 3, 0, 0, 0, 0, 0], 1e-3),
    ("min", [0, 0, 1, 0, 0, 0, 0], 60.0),
    ("h", [0, 0, 1, 0, 0, 0, 0], 3600.0),
    ("rpm", [0, 0, -1, 0, 0, 0, 0], 2.0 * std::f64::consts::PI / 60.0),
];

const PREFIXES: &[(&str, f64)] = &[
    ("p", 1e-12),
    ("n", 1e-9),
    ("u", 1e-6),
    ("µ", 1e-6),
    ("m", 1e-3),
    ("c", 1e-2),
    ("d", 1e-1),
    ("h", 1e2),
    ("k", 1e3),
    ("M", 1e6),
    ("G", 1e9),
];

impl Unit {
    /// Reads `N`, `m/s`, `N.m`, `N*m`, `kg.m2/s2`, `m3/s`, `W/(m2.K)`, `m.s^-1`, `km/h`, `1`.
    pub fn parse(text: &str) -> Result<Unit, String> {
        let mut dimension = [0i8; 7];
        let mut factor = 1.0;
        let mut sign = 1i8;
        let mut in_group: Option<i8> = None; // the sign that holds inside a bracket
        let tight =
            text.split_whitespace().collect::<Vec<_>>().join(" ").replace(" /", "/").replace("/ ", "/");
        let mut rest = tight.as_str();
        if rest.is_empty() {
            return Err("the unit is empty; write `1` for a dimensionless quantity".into());
        }
        while let Some(first) = rest.chars().next() {
            match first {
                '/' => {
                    sign = if in_group == Some(-1) { 1 } else { -1 };
                    rest = &rest[1..];
                }
                '.' | '*' | '·' | ' ' => {
                    sign = in_group.unwrap_or(1);
                    rest = &rest[first.len_utf8()..];
                }
                '(' => {
                    in_group = Some(sign);
                    rest = &rest[1..];
                }
                ')' => {
                    in_group = None;
                    rest = &rest[1..];
                }
                _ => {
                    let end = rest.find(['/', '.', '*', '·', ' ', '(', ')']).unwrap_or(rest.len());
                    let (d, f, exponent) = symbol(&rest[..end])
                        .ok_or_else(|| format!("`{}` in the unit `{text}` is not known", &rest[..end]))?;
                    for (sum, part) in dimension.iter_mut().zip(d) {
                        *sum += part * exponent * sign;
                    }
                    factor *= f64::powi(f, i32::from(exponent * sign));
                    rest = &rest[end..];
                }
            }
        }
        Ok(Unit { text: text.trim().to_owned(), dimension, factor })
    }

    pub fn product(&self, other: &Unit) -> Dimension {
        std::array::from_fn(|i| self.dimension[i] + other.dimension[i])
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// One symbol with its exponent: `m2`, `s^-1`, `kPa`.
fn symbol(text: &str) -> Option<(Dimension, f64, i8)> {
    let split = text.char_indices().skip(1).find(|(_, c)| matches!(c, '^' | '-' | '0'..='9')).map(|(i, _)| i);
    let (name, exponent) = match split {
        Some(at) => (&text[..at], text[at..].trim_start_matches('^').parse::<i8>().ok()?),
        None => (text, 1),
    };
    if let Some((_, dimension, factor)) = BASE.iter().find(|(base, ..)| *base == name) {
        return Some((*dimension, *factor, exponent));
    }
    PREFIXES.iter().find_map(|(prefix, scale)| {
        let base = name.strip_prefix(prefix)?;
        let (_, dimension, factor) = BASE
            .iter()
            .find(|(known, ..)| *known == base && !matches!(*known, "1" | "%" | "kg" | "min" | "h"))?;
        Some((*dimension, scale * factor, exponent))
    })
}

/// A dimension in base units, for messages.
pub fn describe(dimension: Dimension) -> String {
    let names = ["kg", "m", "s", "A", "K", "mol", "cd"];
    let parts: Vec<String> = names
        .iter()
        .zip(dimension)
        .filter(|(_, exponent)| *exponent != 0)
        .map(|(name, exponent)| if exponent == 1 { (*name).into() } else { format!("{name}^{exponent}") })
        .collect();
    if parts.is_empty() { "1".into() } else { parts.join(" ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(text: &str) -> Unit {
        Unit::parse(text).unwrap()
    }

    #[test]
    fn effort_times_flow_is_a_power_in_every_domain() {
        for (effort, flow) in [
            ("N", "m/s"),
            ("N.m", "rad/s"),
            ("Pa", "m3/s"),
            ("V", "A"),
            ("kN", "km/h"),
            ("bar", "l/min"),
            ("K", "W/K"),
        ] {
            assert_eq!(unit(effort).product(&unit(flow)), POWER, "{effort} x {flow}");
        }
        assert_ne!(unit("N").product(&unit("m")), POWER);
    }

    #[test]
    fn spellings_agree() {
        for same in ["kg.m2/s2", "kg*m^2*s^-2", "N.m", "J", "kg m2 / s2"] {
            assert_eq!(unit(same).dimension, unit("N.m").dimension, "{same}");
        }
        assert_eq!(unit("W/(m2.K)").dimension, [1, 0, -3, 0, -1, 0, 0]);
        assert!((unit("km/h").factor - 1.0 / 3.6).abs() < 1e-15);
        assert!((unit("l/min").factor - 1e-3 / 60.0).abs() < 1e-18);
        assert_eq!(unit("mm").factor, 1e-3);
    }

    #[test]
    fn nonsense_is_refused() {
        for bad in ["", "furlong", "degC", "m^x", "k1"] {
            assert!(Unit::parse(bad).is_err(), "{bad}");
        }
    }
}
