//! A file is complete after every chunk, and a recorder makes chunks.

use cosimo_core::recorder::{Recorder, Table};
use cosimo_record::{FORMATS, Files, read};

use crate::{assert_same, columns, folder};

#[test]
fn a_file_is_complete_after_every_chunk() {
    let folder = folder("growing");
    for format in FORMATS {
        let path = folder.join(format!("table.{}", format.endings[0]));
        let mut table = Table { columns: columns(&["time", "x"]), values: vec![vec![], vec![]] };
        let mut writer = (format.create)(&path, &table.columns).unwrap();
        assert_same(&read(&path, FORMATS).unwrap(), &table, format.text);
        for chunk in 0..20u32 {
            let times: Vec<f64> = (0..chunk * 7).map(|n| f64::from(chunk) + f64::from(n) / 1000.0).collect();
            let values: Vec<f64> = times.iter().map(|t| t.sin()).collect();
            writer.append(&[&times, &values]).unwrap();
            table.values[0].extend(times);
            table.values[1].extend(values);
            assert_same(&read(&path, FORMATS).unwrap(), &table, format.text);
        }
    }
}

fn row(n: usize) -> [f64; 3] {
    [n as f64 * 1e-3, (n as f64).sqrt(), -(n as f64)]
}

/// Enough rows for several chunks by size alone, in all formats at once.
#[test]
fn a_recorder_writes_chunks_as_they_fill() {
    let folder = folder("recorder");
    let paths: Vec<_> =
        FORMATS.iter().map(|format| folder.join(format!("rows.{}", format.endings[0]))).collect();
    let mut files = Files::new(&paths, FORMATS).unwrap();
    files.begin(&columns(&["time", "a", "b"])).unwrap();
    let rows = 1_000_000;
    for n in 0..rows {
        files.row(&row(n)).unwrap();
        if n == 700_000 {
            // Finished chunks are there although the file was not finished.
            for path in &paths {
                let found = read(path, FORMATS).unwrap();
                assert!(
                    found.rows() >= 300_000 && found.rows() <= n + 1,
                    "{}: {}",
                    path.display(),
                    found.rows()
                );
            }
        }
    }
    files.finish().unwrap();
    let check = |rows: usize| {
        for path in &paths {
            let found = read(path, FORMATS).unwrap();
            assert_eq!(found.rows(), rows, "{}", path.display());
            for n in (0..rows).step_by(997).chain([rows - 1]) {
                assert_eq!(found.row(n), row(n), "{}", path.display());
            }
        }
    };
    check(rows);
    // After an interruption that was none, it goes on; and without `finish` nothing is lost.
    files.row(&row(rows)).unwrap();
    drop(files);
    check(rows + 1);
}

#[test]
fn endings_decide_and_unknown_ones_are_told() {
    let paths = ["a.csv", "b.ARROW", "c.xlsx", "d"].map(std::path::PathBuf::from);
    let problems = Files::new(&paths, FORMATS).unwrap_err();
    let told: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        [
            "`c.xlsx` has the unknown ending `.xlsx`; a result file is expected",
            "`d` has no ending; a result file is expected"
        ]
    );
    assert!(problems[0].hint().contains("`.parquet`"), "{}", problems[0].hint());
}

#[test]
fn one_file_that_cannot_be_written_does_not_cost_the_other() {
    let folder = folder("full");
    #[cfg(unix)]
    std::os::unix::fs::symlink("/dev/full", folder.join("full.csv")).unwrap();
    let paths = [folder.join("good.arrow"), folder.join("full.csv")];
    let mut files = Files::new(&paths, FORMATS).unwrap();
    let error = files.begin(&columns(&["time"])).unwrap_err();
    assert!(error.to_string().contains("full.csv"), "{error}");
    // Known before the first step; what was created so far is a table without rows.
    assert_eq!(read(&paths[0], FORMATS).unwrap().rows(), 0);
}
