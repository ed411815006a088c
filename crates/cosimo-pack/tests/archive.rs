//! Names of entries, as they may be unpacked.

use std::path::PathBuf;

use cosimo_pack::archive::inside;

#[test]
fn only_names_inside_the_archive_are_taken() {
    for (name, wanted) in [
        ("modelDescription.xml", Some("modelDescription.xml")),
        ("./binaries/linux64/a.so", Some("binaries/linux64/a.so")),
        ("binaries\\win64\\a.dll", Some("binaries/win64/a.dll")),
        ("../a", None),
        ("a/../../b", None),
        ("a/../b", None),
        ("..\\a", None),
        ("/etc/passwd", None),
        ("C:\\a", None),
        ("documentation/a: b.html", (!cfg!(windows)).then_some("documentation/a: b.html")),
        ("", None),
        ("a\0b", None),
    ] {
        assert_eq!(inside(name), wanted.map(PathBuf::from), "{name}");
    }
}
