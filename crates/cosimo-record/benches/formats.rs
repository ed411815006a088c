//! What it costs to write and read 80 MB of doubles in each format: `cargo bench -p cosimo-record --bench formats`.
//! The numbers are like those of a run: a time, oscillations that are damped, and a step size that rarely changes.
//! Without `--bench` a thousandth of it runs once, as a test.
#![allow(clippy::unwrap_used)] // a benchmark that cannot set itself up should fail loudly
#![allow(clippy::disallowed_methods, reason = "no number of a run follows from it")]

use std::time::Instant;

use cosimo_core::recorder::{Columns, Recorder};
use cosimo_record::{FORMATS, Files, read};

const COLUMNS: usize = 20;

fn row(n: usize) -> [f64; COLUMNS] {
    let t = n as f64 * 1e-4;
    std::array::from_fn(|k| match k {
        0 => t,
        1 => {
            if n % 5000 < 100 {
                5e-5
            } else {
                1e-4
            }
        }
        _ => (-0.01 * t).exp() * (t * k as f64).sin() * 10f64.powi(k as i32 - 10),
    })
}

fn main() {
    let bench = std::env::args().any(|argument| argument == "--bench");
    let (rows, rounds) = if bench { (500_000, 5) } else { (500, 1) };
    let names: Vec<String> = (0..COLUMNS).map(|k| format!("column.{k}")).collect();
    let columns = Columns { units: vec!["m".into(); COLUMNS], names };
    let values: Vec<[f64; COLUMNS]> = (0..rows).map(row).collect();
    let megabytes = (rows * COLUMNS * 8) as f64 / 1e6;
    println!("{megabytes} MB of doubles in {COLUMNS} columns; the best of {rounds}");
    println!("{:<10} {:>9} {:>9} {:>9}", "", "write s", "read s", "MB");
    for format in FORMATS {
        let name = format!("cosimo-formats-{}.{}", std::process::id(), format.endings[0]);
        let path = std::env::temp_dir().join(name);
        let (mut writing, mut reading) = (f64::INFINITY, f64::INFINITY);
        for _ in 0..rounds {
            let begun = Instant::now();
            let mut files = Files::new(std::slice::from_ref(&path), FORMATS).unwrap();
            files.begin(&columns).unwrap();
            for row in &values {
                files.row(row).unwrap();
            }
            files.finish().unwrap();
            writing = writing.min(begun.elapsed().as_secs_f64());
            let begun = Instant::now();
            let table = read(&path, FORMATS).unwrap();
            reading = reading.min(begun.elapsed().as_secs_f64());
            assert_eq!(table.row(rows - 1), values[rows - 1]);
        }
        let size = std::fs::metadata(&path).unwrap().len() as f64 / 1e6;
        println!("{:<10} {writing:>9.3} {reading:>9.3} {size:>9.1}", format.name);
        let _ = std::fs::remove_file(&path);
    }
}
