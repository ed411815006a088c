//! All result formats from outside: what goes in comes out, for us and for others, whatever the file went through.
#![allow(clippy::unwrap_used)] // helpers of tests are tests
#![allow(clippy::disallowed_methods, reason = "what tests expect may come from the C library")]

mod broken;
mod chunks;
#[cfg(feature = "parquet")]
mod codecs;
mod compare;
mod playback;
mod python;
mod round_trip;
#[path = "../../../cosimo-pack/tests/common/scratch.rs"]
mod scratch;
mod tee;

use cosimo_core::recorder::{Columns, Table};

use scratch::fresh as folder;

/// Columns of these names, with a unit for every other one.
fn columns(names: &[&str]) -> Columns {
    Columns {
        names: names.iter().map(|name| (*name).to_owned()).collect(),
        units: (0..names.len()).map(|k| if k % 2 == 0 { "m/s".into() } else { String::new() }).collect(),
    }
}

/// Equal bits, except that a text has only one NaN.
fn assert_same(found: &Table, wanted: &Table, text: bool) {
    assert_eq!(found.columns.names, wanted.columns.names);
    if !text {
        assert_eq!(found.columns.units, wanted.columns.units);
    }
    for (name, (found, wanted)) in wanted.columns.names.iter().zip(found.values.iter().zip(&wanted.values)) {
        let bits = |values: &[f64]| -> Vec<u64> {
            let plain = |value: &f64| if text && value.is_nan() { f64::NAN } else { *value };
            values.iter().map(plain).map(f64::to_bits).collect()
        };
        assert_eq!(bits(found), bits(wanted), "{name}");
    }
}
