//! Physical units of ports: parsed from text, compared by dimension, converted by factor and offset.
//!
//! The radian counts as dimensionless, so that torque times angular velocity is a power. A unit with an offset (degC)
//! may mean a level of temperature or a difference. Connections join *levels*, so they convert with the offset; bonds
//! refuse such units; and inside a product (`W/degC`), where it could only be a difference, it is not known.

use std::fmt;

use crate::math;

/// Exponents of kg, m, s, A, K, mol, cd.
pub type Dimension = [i8; 7];

/// The names of those exponents.
pub const BASE_UNITS: [&str; 7] = ["kg", "m", "s", "A", "K", "mol", "cd"];

/// kg m^2 s^-3.
pub const POWER: Dimension = [1, 2, -3, 0, 0, 0, 0];

/// A physical unit.
#[derive(Debug, Clone, PartialEq)]
pub struct Unit {
    /// As it was spelled.
    pub text: String,
    /// In SI base units.
    pub dimension: Dimension,
    /// How many SI units one of this is.
    pub factor: f64,
    /// Where its zero lies, in SI units: 273.15 for degC.
    pub offset: f64,
}

impl Default for Unit {
    fn default() -> Unit {
        Unit { text: String::new(), dimension: [0; 7], factor: 1.0, offset: 0.0 }
    }
}

/// Units that stand alone, with factor and offset.
const LEVELS: &[(&[&str], Dimension, f64, f64)] = &[
    (&["degC", "°C", "Celsius"], [0, 0, 0, 0, 1, 0, 0], 1.0, 273.15),
    (&["degF", "°F", "Fahrenheit"], [0, 0, 0, 0, 1, 0, 0], 5.0 / 9.0, 459.67 * 5.0 / 9.0),
];

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

/// A kind of power: dimensions of effort and flow, and usual names of such ports.
#[derive(Debug)]
pub struct Domain {
    /// Effort and flow, for messages.
    pub words: &'static str,
    /// Dimension of the effort.
    pub effort: Dimension,
    /// Dimension of the flow.
    pub flow: Dimension,
    /// Usual names of efforts, in lower case.
    pub efforts: &'static [&'static str],
    /// Usual names of flows, in lower case.
    pub flows: &'static [&'static str],
}

/// Kinds of power that bonds are recognised by.
pub const DOMAINS: &[Domain] = &[
    Domain {
        words: "force and velocity",
        effort: [1, 1, -2, 0, 0, 0, 0],
        flow: [0, 1, -1, 0, 0, 0, 0],
        efforts: &["f", "force"],
        flows: &["v", "vel", "velocity", "speed"],
    },
    Domain {
        words: "torque and angular velocity",
        effort: [1, 2, -2, 0, 0, 0, 0],
        flow: [0, 0, -1, 0, 0, 0, 0],
        efforts: &["tau", "t", "m", "torque", "moment"],
        flows: &["omega", "w", "om", "speed", "rpm"],
    },
    Domain {
        words: "pressure and volume flow",
        effort: [1, -1, -2, 0, 0, 0, 0],
        flow: [0, 3, -1, 0, 0, 0, 0],
        efforts: &["p", "pressure"],
        flows: &["q", "flow"],
    },
    Domain {
        words: "voltage and current",
        effort: [1, 2, -3, -1, 0, 0, 0],
        flow: [0, 0, 0, 1, 0, 0, 0],
        efforts: &["u", "v", "voltage"],
        flows: &["i", "current"],
    },
    Domain {
        words: "temperature and entropy flow",
        effort: [0, 0, 0, 0, 1, 0, 0],
        flow: [1, 2, -3, 0, -1, 0, 0],
        efforts: &["t", "temp", "temperature"],
        flows: &["s", "entropy"],
    },
    Domain {
        words: "specific energy and mass flow",
        effort: [0, 2, -2, 0, 0, 0, 0],
        flow: [1, 0, -1, 0, 0, 0, 0],
        efforts: &["h", "e", "enthalpy"],
        flows: &["m", "mdot", "flow"],
    },
];

impl Unit {
    /// Reads `N`, `m/s`, `N.m`, `N*m`, `kg.m2/s2`, `m3/s`, `W/(m2.K)`, `m.s^-1`, `km/h`, `degC`, `1`.
    pub fn parse(text: &str) -> Result<Unit, String> {
        let alone = LEVELS.iter().find(|(names, ..)| names.contains(&text.trim()));
        if let Some(&(_, dimension, factor, offset)) = alone {
            return Ok(Unit { text: text.trim().to_owned(), dimension, factor, offset });
        }
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
                    factor *= math::powi(f, i32::from(exponent * sign));
                    rest = &rest[end..];
                }
            }
        }
        Ok(Unit { text: text.trim().to_owned(), dimension, factor, offset: 0.0 })
    }

    /// Gain and offset that convert a level in this unit to the other one. Both are of one dimension.
    pub fn conversion(&self, to: &Unit) -> (f64, f64) {
        // Equal numbers divide to 1 and subtract to 0 exactly, so that equal units change nothing.
        (self.factor / to.factor, (self.offset - to.offset) / to.factor)
    }

    /// Dimension of a product of two quantities.
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
    let parts: Vec<String> = BASE_UNITS
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
    fn levels_are_converted_with_their_zero() {
        let convert = |from: &str, to: &str, level: f64| {
            let (gain, offset) = unit(from).conversion(&unit(to));
            gain * level + offset
        };
        for (from, to, level, expected) in [
            ("degC", "K", 20.0, 293.15),
            ("K", "degC", 0.0, -273.15),
            ("degF", "degC", 212.0, 100.0),
            ("degC", "degF", -40.0, -40.0),
            ("degC", "mK", 1.0, 274_150.0),
            ("km/h", "m/s", 36.0, 10.0),
        ] {
            assert!((convert(from, to, level) - expected).abs() < 1e-9, "{level} {from} in {to}");
        }
        assert_eq!(unit("degF").conversion(&unit("°F")), (1.0, 0.0));
    }

    #[test]
    fn nonsense_is_refused() {
        for bad in ["", "furlong", "W/degC", "mdegC", "m^x", "k1"] {
            assert!(Unit::parse(bad).is_err(), "{bad}");
        }
    }
}
