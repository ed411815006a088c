//! Values of every FMI type, for inputs that are copied to outputs.

use std::ffi::CString;

use crate::variables::VariableType;

/// Rust's types by what they hold.
pub(crate) trait Plain: Copy {
    /// Reals may be set in modes where other types may not.
    const REAL: bool;

    fn hold(self) -> Datum;
    fn of(held: &Datum) -> Option<Self>;
}

/// Implements [`Plain`] for the type of a value.
macro_rules! plain {
    ($name:ident, $type:ty, $real:literal) => {
        impl Plain for $type {
            const REAL: bool = $real;

            fn hold(self) -> Datum {
                Datum::$name(self)
            }

            fn of(held: &Datum) -> Option<$type> {
                match held {
                    Datum::$name(value) => Some(*value),
                    _ => None,
                }
            }
        }
    };
}

/// Makes [`Datum`] out of the types of numbers; with each, whether it is real.
macro_rules! numbers {
    ($($(#[$about:meta])* $name:ident($type:ty): $real:literal,)*) => {
        /// A value with its type.
        #[derive(Debug, Clone, PartialEq)]
        pub(crate) enum Datum {
            $($(#[$about])* $name($type),)*
            Boolean(bool),
            Text(CString),
            Binary(Vec<u8>),
        }

        $(plain!($name, $type, $real);)*
        plain!(Boolean, bool, false);

        impl Datum {
            fn bytes(&self) -> Vec<u8> {
                match self {
                    $(Datum::$name(value) => value.to_le_bytes().to_vec(),)*
                    Datum::Boolean(value) => vec![u8::from(*value)],
                    Datum::Text(text) => text.as_bytes().to_vec(),
                    Datum::Binary(bytes) => bytes.clone(),
                }
            }

            /// The same type with other bytes.
            fn with(&self, bytes: &[u8]) -> Option<Datum> {
                Some(match self {
                    $(Datum::$name(_) => Datum::$name(<$type>::from_le_bytes(bytes.try_into().ok()?)),)*
                    Datum::Boolean(_) => Datum::Boolean(bytes.first()? != &0),
                    Datum::Text(_) => Datum::Text(CString::new(bytes).ok()?),
                    Datum::Binary(_) => Datum::Binary(bytes.to_vec()),
                })
            }
        }
    };
}

numbers! {
    Single(f32): true,
    Real(f64): true,
    Int8(i8): false,
    UInt8(u8): false,
    Int16(i16): false,
    UInt16(u16): false,
    Int32(i32): false,
    UInt32(u32): false,
    /// Enumerations too.
    Int64(i64): false,
    UInt64(u64): false,
}

impl Datum {
    pub(crate) fn start(kind: VariableType) -> Datum {
        match kind {
            VariableType::Single => Datum::Single(0.0),
            VariableType::Real => Datum::Real(0.0),
            VariableType::Int8 => Datum::Int8(0),
            VariableType::UInt8 => Datum::UInt8(0),
            VariableType::Int16 => Datum::Int16(0),
            VariableType::UInt16 => Datum::UInt16(0),
            VariableType::Integer => Datum::Int32(0),
            VariableType::UInt32 => Datum::UInt32(0),
            VariableType::Int64 => Datum::Int64(0),
            VariableType::Enumeration(_) => Datum::Int64(1),
            VariableType::UInt64 => Datum::UInt64(0),
            VariableType::Boolean => Datum::Boolean(false),
            VariableType::Text => Datum::Text(CString::default()),
            // Clocks are not copied.
            VariableType::Binary | VariableType::Clock => Datum::Binary(Vec::new()),
        }
    }
}

/// All values, as bytes with their lengths before them.
pub(crate) fn serialize(values: &[Datum], into: &mut Vec<u8>) {
    for bytes in values.iter().map(Datum::bytes) {
        into.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
        into.extend_from_slice(&bytes);
    }
}

/// Reads them into values of the same types and returns what follows.
pub(crate) fn deserialize<'a>(values: &[Datum], mut from: &'a [u8]) -> Option<(Vec<Datum>, &'a [u8])> {
    let mut found = Vec::with_capacity(values.len());
    for value in values {
        let (length, rest) = from.split_first_chunk::<8>()?;
        let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
        let (bytes, rest) = rest.split_at_checked(length)?;
        found.push(value.with(bytes)?);
        from = rest;
    }
    Some((found, from))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_comes_back_from_its_bytes() {
        let types = [
            VariableType::Single,
            VariableType::Real,
            VariableType::Int8,
            VariableType::UInt8,
            VariableType::Int16,
            VariableType::UInt16,
            VariableType::Integer,
            VariableType::UInt32,
            VariableType::Int64,
            VariableType::UInt64,
            VariableType::Boolean,
            VariableType::Enumeration(&["red", "green"]),
            VariableType::Text,
            VariableType::Binary,
        ];
        let values = types.map(Datum::start).to_vec();
        let mut bytes = Vec::new();
        serialize(&values, &mut bytes);
        bytes.push(7);
        assert_eq!(deserialize(&values, &bytes), Some((values.clone(), &[7][..])));
        assert_eq!(deserialize(&values, &bytes[..bytes.len() - 2]), None);
        let other = [Datum::Binary(vec![1, 2]), Datum::UInt64(u64::MAX), Datum::Text(c"abc".into())];
        let mut bytes = Vec::new();
        serialize(&other, &mut bytes);
        let blank = [Datum::Binary(vec![]), Datum::UInt64(0), Datum::Text(c"".into())];
        assert_eq!(deserialize(&blank, &bytes), Some((other.to_vec(), &[][..])));
    }
}
