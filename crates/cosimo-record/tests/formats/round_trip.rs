//! Tables survive every format bit for bit.

use std::collections::BTreeSet;

use cosimo_core::recorder::Table;
use cosimo_record::{CSV, FORMATS, read, write};
use proptest::prelude::*;

use crate::{assert_same, columns, folder};

fn survive(name: &str, table: &Table) {
    let folder = folder(name);
    for format in FORMATS {
        for ending in format.endings {
            let path = folder.join(format!("table.{ending}"));
            write(&path, format, table).unwrap();
            assert_same(&read(&path, FORMATS).unwrap(), table, format.text);
        }
    }
}

#[test]
fn numbers_of_every_kind() {
    let numbers = vec![
        0.0,
        -0.0,
        0.1,
        1.0 / 3.0,
        4.0,
        1e15,
        123456789012345680.0,
        -2.5e17,
        1e-5,
        1e-7,
        f64::MIN_POSITIVE,
        f64::MIN_POSITIVE / 3.0,
        5e-324,
        f64::MAX,
        f64::MIN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
        -f64::NAN,
    ];
    let times: Vec<f64> = (0..numbers.len()).map(|n| n as f64 * 0.1).collect();
    survive("numbers", &Table { columns: columns(&["time", "a.x"]), values: vec![times, numbers] });
}

#[test]
fn names_of_every_kind() {
    let names = ["time", "a.q[1,2]", "say \"it\"", "größe.μ", "two\nlines", "a b", "", "x.y.z"];
    let values = (0..names.len()).map(|k| vec![k as f64, -1.0]).collect();
    survive("names", &Table { columns: columns(&names), values });
}

#[test]
fn no_rows_and_many_columns() {
    survive("empty", &Table { columns: columns(&["time", "a"]), values: vec![vec![], vec![]] });
    let names: Vec<String> = (0..3000).map(|k| format!("unit.q[{k},{k}]")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let values = (0..3000).map(|k| vec![f64::from(k), 0.5]).collect();
    survive("wide", &Table { columns: columns(&names), values });
}

#[test]
fn a_header_with_commas_is_quoted_as_rfc_4180_says() {
    let path = folder("quoted").join("table.csv");
    let table = Table {
        columns: columns(&["time", "a.q[1,2]", "\""]),
        values: vec![vec![0.5], vec![1.0], vec![1e-7]],
    };
    write(&path, &CSV, &table).unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "time,\"a.q[1,2]\",\"\"\"\"\n0.5,1,1e-7\n");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_table(
        rows in 0usize..60,
        names in proptest::collection::btree_set("[^\r\n\0]{1,12}", 1..8),
        seed in proptest::collection::vec(any::<u64>(), 480),
    ) {
        // Spaces around a cell are no part of it: others write them freely.
        let names: BTreeSet<&str> = names.iter().map(|name| name.trim()).filter(|name| *name != "time").collect();
        let names: Vec<&str> = ["time"].into_iter().chain(names).collect();
        let values = (0..names.len())
            .map(|k| (0..rows).map(|row| f64::from_bits(seed[k * 60 + row])).collect())
            .collect();
        survive("any", &Table { columns: columns(&names), values });
    }
}

#[test]
fn numbers_of_texts_are_short_and_exact() {
    let (numbers, wanted): (Vec<f64>, Vec<&str>) = [
        (0.0, "0"),
        (-0.0, "-0"),
        (4.0, "4"),
        (0.1, "0.1"),
        (-1.0 / 3.0, "-0.3333333333333333"),
        (1e-7, "1e-7"),
        (5e-324, "5e-324"),
        (1e300, "1e+300"),
        (f64::NAN, "NaN"),
        (f64::NEG_INFINITY, "-inf"),
    ]
    .into_iter()
    .unzip();
    let path = folder("numbers").join("numbers.csv");
    let table = Table { columns: columns(&["x"]), values: vec![numbers] };
    write(&path, &CSV, &table).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    assert_eq!(text.lines().skip(1).collect::<Vec<_>>(), wanted);
}
