//! Parameters of models: constructors for the usual ranges, concatenation of lists, and structs filled from them.

use cosimo_core::registry::Range;
use cosimo_core::{Options, Spec};
use cosimo_native::native_hybrid::{ABSOLUTE, RELATIVE, SOLVER};
use cosimo_native::solver::MICRO_STEPS;

/// Parameters of every model with its own integrator.
pub(crate) const INTEGRATED: [Spec; 4] = [SOLVER, RELATIVE, ABSOLUTE, MICRO_STEPS];

pub(crate) const fn positive(name: &'static str, value: f64, unit: &'static str, doc: &'static str) -> Spec {
    Spec::number(name, value, Range::Positive, unit, doc)
}

pub(crate) const fn not_negative(
    name: &'static str,
    value: f64,
    unit: &'static str,
    doc: &'static str,
) -> Spec {
    Spec::number(name, value, Range::NotNegative, unit, doc)
}

/// Any number.
pub(crate) const fn finite(name: &'static str, value: f64, unit: &'static str, doc: &'static str) -> Spec {
    Spec::number(name, value, Range::Finite, unit, doc)
}

/// An initial value.
pub(crate) const fn initial(name: &'static str, value: f64, unit: &'static str, doc: &'static str) -> Spec {
    Spec::initial(name, value, Range::Finite, unit, doc)
}

/// Two lists, concatenated; N must be the sum of their lengths.
pub(crate) const fn concatenated<const N: usize>(first: &[Spec], second: &[Spec]) -> [Spec; N] {
    assert!(first.len() + second.len() == N);
    let mut all = [if first.is_empty() { second[0] } else { first[0] }; N];
    let mut at = 0;
    while at < N {
        all[at] = if at < first.len() { first[at] } else { second[at - first.len()] };
        at += 1;
    }
    all
}

/// Several numbers at once.
pub(crate) fn numbers<const N: usize>(options: &Options, names: [&str; N]) -> [f64; N] {
    names.map(|name| options.number(name))
}

/// A type that a parameter can have.
pub(crate) trait Read {
    fn read(options: &Options, name: &str) -> Self;
}

impl Read for f64 {
    fn read(options: &Options, name: &str) -> f64 {
        options.number(name)
    }
}

impl Read for bool {
    fn read(options: &Options, name: &str) -> bool {
        options.flag(name)
    }
}

/// A struct whose fields are parameters: `field: type = range("name", default, "unit", "what it is")`.
macro_rules! parameters {
    (
        $(#[$meta:meta])*
        $visible:vis struct $model:ident {
            $($(#[$about:meta])* $shown:vis $field:ident: $type:ty =
                $range:path[$name:literal, $default:expr, $($more:expr),+];)+
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy)]
        $visible struct $model {
            $($(#[$about])* $shown $field: $type,)+
        }

        impl $model {
            const PARAMETERS: &'static [cosimo_core::Spec] = &[$($range($name, $default, $($more),+)),+];

            /// Every parameter at its default.
            #[allow(dead_code, reason = "not every model uses it")]
            $visible const DEFAULT: $model = $model { $($field: $default),+ };

            fn of(options: &cosimo_core::Options) -> $model {
                $model { $($field: $crate::parameters::Read::read(options, $name)),+ }
            }
        }
    };
}

/// Two lists, concatenated.
macro_rules! all {
    ($first:expr, $second:expr) => {{
        const ALL: [cosimo_core::Spec; $first.len() + $second.len()] =
            $crate::parameters::concatenated($first, $second);
        &ALL
    }};
}

pub(crate) use {all, parameters};
