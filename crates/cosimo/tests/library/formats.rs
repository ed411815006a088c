//! A format of result files from outside of Cosimo: written by a run, read back, and played back as a component.
#![allow(clippy::unwrap_used)] // the format is a test

use std::io::Write;
use std::path::{Path, PathBuf};

use crate::common::folder;
use cosimo::core::Registry;
use cosimo::core::recorder::{Columns, RecordError, Table, TableError, TableWriter};
use cosimo::core::registry::{CreateResult, FormatEntry, endings_text};
use cosimo::open::OpenOptions;
use cosimo::plot_results::{PlotSelection, PlotSource, overlay};
use cosimo::record::compare::{Tube, compare};
use cosimo::{Simulation, record};

/// Bits of numbers in hexadecimal, with blanks between them.
static HEX: FormatEntry = FormatEntry {
    name: "hex",
    summary: "bits in hexadecimal: plain",
    endings: &["hex"],
    text: true,
    create: |path, columns| {
        let header = columns.names.join(" ") + "\n";
        std::fs::write(path, &header).map_err(|cause| RecordError { file: path.into(), cause })?;
        Ok(Box::new(Hex { path: path.into(), end: header.len() as u64 }))
    },
    resume,
    read,
};

struct Hex {
    path: PathBuf,
    end: u64,
}

fn resume(path: &Path, _: &Columns, bookmark: &[u8]) -> CreateResult {
    let end = u64::from_le_bytes(bookmark.try_into().unwrap());
    std::fs::File::options().write(true).open(path).unwrap().set_len(end).unwrap();
    Ok(Box::new(Hex { path: path.into(), end }))
}

fn read(path: &Path) -> Result<Table, TableError> {
    let text =
        std::fs::read_to_string(path).map_err(|cause| TableError::Unreadable { file: path.into(), cause })?;
    let mut lines = text.lines();
    let names: Vec<String> = lines.next().unwrap_or_default().split(' ').map(String::from).collect();
    let mut values = vec![Vec::new(); names.len()];
    for cells in lines.map(|line| line.split(' ')) {
        for (cell, column) in cells.zip(&mut values) {
            column.push(f64::from_bits(u64::from_str_radix(cell, 16).unwrap()));
        }
    }
    let units = vec![String::new(); names.len()];
    Ok(Table { columns: Columns { names, units }, values })
}

impl TableWriter for Hex {
    fn append(&mut self, columns: &[&[f64]]) -> Result<(), RecordError> {
        let mut file = std::fs::File::options().append(true).open(&self.path).unwrap();
        for row in 0..columns[0].len() {
            let cells: Vec<String> =
                columns.iter().map(|column| format!("{:x}", column[row].to_bits())).collect();
            let line = cells.join(" ") + "\n";
            file.write_all(line.as_bytes()).unwrap();
            self.end += line.len() as u64;
        }
        Ok(())
    }

    fn place(&mut self) -> Result<Vec<u8>, RecordError> {
        Ok(self.end.to_le_bytes().to_vec())
    }

    fn sync(&mut self) -> Result<(), RecordError> {
        Ok(())
    }
}

fn registry() -> Registry {
    let mut registry = cosimo::registry();
    registry.formats.push(&HEX);
    registry
}

#[test]
fn a_format_from_outside_is_written_read_and_played_back() {
    let folder = folder().join("outside-format");
    std::fs::create_dir_all(&folder).unwrap();
    let (hex, csv) = (folder.join("rows.hex"), folder.join("rows.csv"));
    let what = [concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/quarter-car/system.toml").to_owned()];
    let simulation = Simulation::open_with(&what, OpenOptions::default(), registry()).unwrap();
    simulation.record(&hex).record(&csv).run().unwrap();

    let formats = registry().formats;
    let (table, other) = (record::read(&hex, &formats).unwrap(), record::read(&csv, &formats).unwrap());
    assert!(table.rows() > 5 && table.values == other.values);
    assert!(matches!(record::read(&hex, record::FORMATS), Err(TableError::Unknown(_))));
    assert!(compare(&other, &table, Tube::default(), &[]).unwrap().agrees);
    let seen =
        overlay(&[PlotSource { name: "rows.hex".into(), table: table.clone() }], &PlotSelection::default())
            .unwrap();
    assert!(!seen.panels.is_empty());

    // As a component that drives another, its columns are what they were.
    let signal = &table.columns.names[1];
    let what = [format!("played={}", hex.display())];
    let mut played =
        Simulation::open_with(&what, OpenOptions::default(), registry()).unwrap().start().unwrap();
    while !played.finished() {
        played.step().unwrap();
    }
    let last = played.get_output(&format!("played.{signal}")).unwrap();
    assert_eq!(last.to_bits(), table.values[1][table.rows() - 1].to_bits());
}

#[test]
fn what_is_said_of_formats_follows_from_the_registry() {
    let registry = registry();
    assert_eq!(endings_text(&registry.formats, false), ".csv, .arrow, .parquet, .mat or .hex");
    assert!(endings_text(&registry.formats, true).ends_with(" or .hex (plain)"));
    assert!(registry.known_kinds().contains(".mat or .hex)"), "{}", registry.known_kinds());
    assert!(registry.source("drive.hex").is_some() && cosimo::registry().source("drive.hex").is_none());
}
