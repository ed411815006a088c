//! Files of a real run, read by what most people will read them with: pandas, pyarrow and scipy. The interpreter that has
//! them is named by `COSIMO_PYTHON`.

use std::path::Path;
use std::process::Command;

use cosimo::core::Time;
use cosimo::core::recorder::Table;
use cosimo::engine::{Run, plan};
use cosimo_record::{FORMATS, Files, read};

use crate::folder;

fn run_into(folder: &Path) -> Vec<std::path::PathBuf> {
    let registry = cosimo::registry();
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/quarter-car");
    let text = std::fs::read_to_string(example.join("system.toml")).unwrap();
    let (system, problems) = cosimo::system::toml::read(&text, &example, &registry);
    assert!(problems.is_empty(), "{problems:?}");
    let mut run = Run::new(plan(&system, &registry).unwrap(), 1).unwrap();
    let paths: Vec<_> =
        FORMATS.iter().map(|format| folder.join(format!("run.{}", format.endings[0]))).collect();
    run.record(Box::new(Files::new(&paths, FORMATS).unwrap())).unwrap();
    run.run_until(Time::new(f64::INFINITY).unwrap()).unwrap();
    run.finish().unwrap();
    paths
}

#[test]
fn pandas_and_pyarrow_read_what_we_write_and_we_read_what_they_write() {
    let folder = folder("python");
    let paths = run_into(&folder);
    let tables: Vec<Table> = paths.iter().map(|path| read(path, FORMATS).unwrap()).collect();
    assert!(tables[0].rows() > 1000);
    assert_eq!(tables[0].values, tables[1].values);
    assert_eq!(tables[1], tables[2]);
    assert_eq!(tables[1], tables[3]);
    let unit = |name: &str| {
        let at = tables[1].columns.names.iter().position(|known| known == name).unwrap();
        tables[1].columns.units[at].as_str()
    };
    assert_eq!((unit("time"), unit("bond.strut.residual_power")), ("s", "W"));

    let Some(python) = std::env::var_os("COSIMO_PYTHON") else {
        eprintln!("skipped: COSIMO_PYTHON does not name a Python with pandas and pyarrow");
        return;
    };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/read_back.py");
    let output =
        Command::new(python).arg(script).arg(&folder).arg(env!("CARGO_PKG_VERSION")).output().unwrap();
    assert!(
        output.status.success(),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    // The script has written the same table as pandas and pyarrow do by default.
    for name in ["pandas.csv", "pandas.feather", "pandas.parquet", "pyarrow.arrow"] {
        let theirs = read(&folder.join(name), FORMATS).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(theirs.columns.names, tables[0].columns.names, "{name}");
        assert_eq!(theirs.values, tables[0].values, "{name}");
    }
    let normal = read(&folder.join("normal.mat"), FORMATS).unwrap();
    assert_eq!(normal.columns.names, ["time", "x", "minus x", "k"]);
    assert_eq!(normal.columns.units, ["s", "rad", "", "N/m"]);
    let wanted = [[0.0, 0.5, 1.0], [1.0, 2.0, 4.0], [-1.0, -2.0, -4.0], [7.5; 3]];
    assert_eq!(normal.values, wanted.map(Vec::from));
    let error = read(&folder.join("five.mat"), FORMATS).unwrap_err().to_string();
    assert!(error.contains("later version of MATLAB"), "{error}");
    let mixed = read(&folder.join("mixed.parquet"), FORMATS).unwrap();
    assert_eq!(mixed.column("count").unwrap(), [1.0, 2.0, 3.0]);
    assert_eq!(mixed.column("single").unwrap(), [0.5, -0.5, 0.25]);
    let gaps = mixed.column("gaps").unwrap();
    assert!(gaps[0] == 1.0 && gaps[1].is_nan() && gaps[2] == 3.0, "{gaps:?}");
    let error = read(&folder.join("words.parquet"), FORMATS).unwrap_err().to_string();
    assert!(error.contains("column `name` is BYTE_ARRAY; numbers are expected"), "{error}");
}
