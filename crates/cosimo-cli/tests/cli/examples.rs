//! Every example runs and gives what its `expected.json` says, within the tolerance that stands there.

use crate::common::{complaint, cosimo, folder, root};
use serde_json::Value;

#[test]
fn every_example_gives_what_it_promises() {
    let mut seen = 0;
    for entry in std::fs::read_dir(root().join("examples")).unwrap() {
        let example = entry.unwrap().path();
        assert!(example.join("README.md").exists(), "{} has no README", example.display());
        if example.ends_with("rust") {
            continue; // programs, which the tests of the library run
        }
        let expected: Value =
            serde_json::from_str(&std::fs::read_to_string(example.join("expected.json")).unwrap()).unwrap();
        for file in std::fs::read_dir(&example).unwrap() {
            let file = file.unwrap().path();
            if file.extension().is_some_and(|ending| ending == "toml") {
                let name = file.file_name().unwrap().to_str().unwrap();
                check(&file, &expected[name]);
                seen += 1;
            }
        }
    }
    assert!(seen >= 6, "only {seen} examples were found");
}

fn check(file: &std::path::Path, expected: &Value) {
    let expected =
        expected.as_object().unwrap_or_else(|| panic!("{} has no expected results", file.display()));
    let folder = folder("examples");
    let summary = folder.join("summary.json");
    let args = ["run", file.to_str().unwrap(), "--summary-json", summary.to_str().unwrap()];
    let output = cosimo(&folder, &args);
    assert!(output.status.success(), "{}: {}", file.display(), complaint(&output));
    let got: Value = serde_json::from_str(&std::fs::read_to_string(&summary).unwrap()).unwrap();
    for (quantity, wanted) in expected {
        let got = match quantity.as_str() {
            "verdict" => &got["verdict"],
            "energy" => &got["energy"]["word"],
            _ => find(&got, quantity),
        };
        match wanted.as_array().map(Vec::as_slice) {
            Some([value, tolerance]) => {
                let (value, tolerance) = (value.as_f64().unwrap(), tolerance.as_f64().unwrap());
                let got = got.as_f64().unwrap_or(f64::NAN);
                assert!(
                    (got - value).abs() <= tolerance * value.abs(),
                    "{}: {quantity} is {got}, expected {value} within {tolerance}",
                    file.display()
                );
            }
            _ => assert_eq!(got, wanted, "{}: {quantity}", file.display()),
        }
    }
}

/// A quantity of the run, or of its first bond.
fn find<'a>(summary: &'a Value, quantity: &str) -> &'a Value {
    if summary[quantity].is_null() { &summary["bonds"][0][quantity] } else { &summary[quantity] }
}
