//! Values of every type that FMI has, for variables that are passed on as they are.

use std::ffi::CString;

use crate::variables::Type;

/// A value with its type.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Datum {
    Single(f32),
    Real(f64),
    Int8(i8),
    UInt8(u8),
    Int16(i16),
    UInt16(u16),
    Int32(i32),
    UInt32(u32),
    /// Enumerations too.
    Int64(i64),
    UInt64(u64),
    Boolean(bool),
    Text(CString),
    Binary(Vec<u8>),
}

impl Datum {
    pub(crate) fn start(kind: Type) -> Datum {
        match kind {
            Type::Single => Datum::Single(0.0),
            Type::Real => Datum::Real(0.0),
            Type::Int8 => Datum::Int8(0),
            Type::UInt8 => Datum::UInt8(0),
            Type::Int16 => Datum::Int16(0),
            Type::UInt16 => Datum::UInt16(0),
            Type::Integer => Datum::Int32(0),
            Type::UInt32 => Datum::UInt32(0),
            Type::Int64 => Datum::Int64(0),
            Type::Enumeration(_) => Datum::Int64(1),
            Type::UInt64 => Datum::UInt64(0),
            Type::Boolean => Datum::Boolean(false),
            Type::Text => Datum::Text(CString::default()),
            // Clocks are not passed on.
            Type::Binary | Type::Clock => Datum::Binary(Vec::new()),
        }
    }

    fn bytes(&self) -> Vec<u8> {
        match self {
            Datum::Single(value) => value.to_le_bytes().to_vec(),
            Datum::Real(value) => value.to_le_bytes().to_vec(),
            Datum::Int8(value) => value.to_le_bytes().to_vec(),
            Datum::UInt8(value) => vec![*value],
            Datum::Int16(value) => value.to_le_bytes().to_vec(),
            Datum::UInt16(value) => value.to_le_bytes().to_vec(),
            Datum::Int32(value) => value.to_le_bytes().to_vec(),
            Datum::UInt32(value) => value.to_le_bytes().to_vec(),
            Datum::Int64(value) => value.to_le_bytes().to_vec(),
            Datum::UInt64(value) => value.to_le_bytes().to_vec(),
            Datum::Boolean(value) => vec![u8::from(*value)],
            Datum::Text(text) => text.as_bytes().to_vec(),
            Datum::Binary(bytes) => bytes.clone(),
        }
    }

    /// The same type with other bytes.
    fn with(&self, bytes: &[u8]) -> Option<Datum> {
        Some(match self {
            Datum::Single(_) => Datum::Single(f32::from_le_bytes(bytes.try_into().ok()?)),
            Datum::Real(_) => Datum::Real(f64::from_le_bytes(bytes.try_into().ok()?)),
            Datum::Int8(_) => Datum::Int8(i8::from_le_bytes(bytes.try_into().ok()?)),
            Datum::UInt8(_) => Datum::UInt8(u8::from_le_bytes(bytes.try_into().ok()?)),
            Datum::Int16(_) => Datum::Int16(i16::from_le_bytes(bytes.try_into().ok()?)),
            Datum::UInt16(_) => Datum::UInt16(u16::from_le_bytes(bytes.try_into().ok()?)),
            Datum::Int32(_) => Datum::Int32(i32::from_le_bytes(bytes.try_into().ok()?)),
            Datum::UInt32(_) => Datum::UInt32(u32::from_le_bytes(bytes.try_into().ok()?)),
            Datum::Int64(_) => Datum::Int64(i64::from_le_bytes(bytes.try_into().ok()?)),
            Datum::UInt64(_) => Datum::UInt64(u64::from_le_bytes(bytes.try_into().ok()?)),
            Datum::Boolean(_) => Datum::Boolean(bytes.first()? != &0),
            Datum::Text(_) => Datum::Text(CString::new(bytes).ok()?),
            Datum::Binary(_) => Datum::Binary(bytes.to_vec()),
        })
    }
}

/// All values, as bytes with their lengths before them.
pub(crate) fn freeze(values: &[Datum], into: &mut Vec<u8>) {
    for bytes in values.iter().map(Datum::bytes) {
        into.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
        into.extend_from_slice(&bytes);
    }
}

/// Reads them into values of the same types and returns what follows.
pub(crate) fn thaw<'a>(values: &[Datum], mut from: &'a [u8]) -> Option<(Vec<Datum>, &'a [u8])> {
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

/// Rust's types by what they hold.
pub(crate) trait Plain: Copy {
    /// Reals may be set where nothing else may.
    const REAL: bool;

    fn hold(self) -> Datum;
    fn of(held: &Datum) -> Option<Self>;
}

macro_rules! plain {
    ($real:literal: $($name:ident $type:ty)*) => {$(
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
    )*};
}

plain! { true: Single f32 Real f64 }
plain! { false:
    Int8 i8 UInt8 u8 Int16 i16 UInt16 u16 Int32 i32 UInt32 u32 Int64 i64 UInt64 u64 Boolean bool
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_comes_back_from_its_bytes() {
        let types = [
            Type::Single,
            Type::Real,
            Type::Int8,
            Type::UInt8,
            Type::Int16,
            Type::UInt16,
            Type::Integer,
            Type::UInt32,
            Type::Int64,
            Type::UInt64,
            Type::Boolean,
            Type::Enumeration(&["red", "green"]),
            Type::Text,
            Type::Binary,
        ];
        let values = types.map(Datum::start).to_vec();
        let mut bytes = Vec::new();
        freeze(&values, &mut bytes);
        bytes.push(7);
        assert_eq!(thaw(&values, &bytes), Some((values.clone(), &[7][..])));
        assert_eq!(thaw(&values, &bytes[..bytes.len() - 2]), None);
        let other = [Datum::Binary(vec![1, 2]), Datum::UInt64(u64::MAX), Datum::Text(c"abc".into())];
        let mut bytes = Vec::new();
        freeze(&other, &mut bytes);
        let blank = [Datum::Binary(vec![]), Datum::UInt64(0), Datum::Text(c"".into())];
        assert_eq!(thaw(&blank, &bytes), Some((other.to_vec(), &[][..])));
    }
}
