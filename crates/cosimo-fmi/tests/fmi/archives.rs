//! Archives from somewhere: hostile, broken, or simply not FMUs. Nothing may be written outside the cache.

use std::fs;
use std::io::Write;
use std::path::Path;

use cosimo_fmi::archive::ArchiveLimits;
use cosimo_fmi::{Cache, FileProblem, Fmu};
use zip::write::SimpleFileOptions;

use crate::common::{MASS2, archive, folder};

/// A cache of its own in the test's folder, and what it says to a file.
fn refused(folder: &Path, file: &str, limits: ArchiveLimits) -> String {
    let cache = Cache { limits, ..Cache::at(&cosimo_fmi::FMU_ARCHIVE, &folder.join("cache")) };
    let problem: FileProblem = cache.unpack(&folder.join(file)).unwrap_err();
    // Nothing is left behind, not even a draft.
    let left: Vec<_> =
        fs::read_dir(&cache.folder).into_iter().flatten().flatten().map(|e| e.path()).collect();
    assert!(left.is_empty(), "{left:?}");
    problem.to_string().replace(&format!("{}/", folder.display()), "")
}

fn refused_by_default(folder: &Path, file: &str) -> String {
    refused(folder, file, ArchiveLimits::default())
}

#[test]
fn entries_that_lead_out_of_the_fmu() {
    let folder = folder("escape");
    for (name, shown) in [
        ("../escaped.txt", "../escaped.txt"),
        ("binaries/../../escaped.txt", "binaries/../../escaped.txt"),
        ("/escaped.txt", "/escaped.txt"),
        ("..\\escaped.txt", "..\\escaped.txt"),
        ("C:\\escaped.txt", "C:\\escaped.txt"),
    ] {
        archive(&folder.join("bad.fmu"), &[("modelDescription.xml", b"<a/>"), (name, b"boo")]);
        assert_eq!(
            refused_by_default(&folder, "bad.fmu"),
            format!(
                "bad.fmu has an entry `{shown}`, which is outside the FMU (nothing was unpacked; do not trust this file)"
            )
        );
        assert!(!folder.join("escaped.txt").exists() && !folder.join("cache/escaped.txt").exists());
    }
}

#[test]
fn links() {
    let folder = folder("link");
    let mut writer = zip::ZipWriter::new(fs::File::create(folder.join("link.fmu")).unwrap());
    writer.add_symlink("resources", "/etc", SimpleFileOptions::default()).unwrap();
    writer.start_file("resources/passwd", SimpleFileOptions::default()).unwrap();
    writer.write_all(b"boo").unwrap();
    writer.finish().unwrap();
    assert_eq!(
        refused_by_default(&folder, "link.fmu"),
        "link.fmu has an entry `resources`, which is a link or a device; expected files and folders (zip the FMU again \
         with the files themselves instead of links)"
    );
}

#[test]
fn bombs() {
    let folder = folder("bomb");
    let zeros = vec![0; 12_000_000];
    archive(&folder.join("ratio.fmu"), &[("modelDescription.xml", b"<a/>"), ("resources/zeros", &zeros)]);
    assert_eq!(
        refused_by_default(&folder, "ratio.fmu"),
        "`resources/zeros` of ratio.fmu unpacks to more than 1000 times its size, at most 1000 is allowed beyond 10000000 \
         bytes (no FMU needs that; do not trust this file)"
    );
    let small = ArchiveLimits { entries: 3, total: 1000, ..ArchiveLimits::default() };
    archive(&folder.join("total.fmu"), &[("a", &[1; 600]), ("b", &[2; 600])]);
    assert_eq!(
        refused(&folder, "total.fmu", small),
        "total.fmu unpacks to more than 1000 bytes, which is the limit (no FMU needs that; do not trust this file)"
    );
    // The list is looked at before anything is unpacked: the first file, which is broken, is not reached.
    let mut bytes = fs::read(folder.join("total.fmu")).unwrap();
    bytes[31..36].fill(0xff);
    fs::write(folder.join("total.fmu"), bytes).unwrap();
    assert!(refused(&folder, "total.fmu", small).starts_with("total.fmu unpacks to more than 1000 bytes"));
    archive(&folder.join("many.fmu"), &[("a", b""), ("b", b""), ("c", b""), ("d", b"")]);
    assert_eq!(
        refused(&folder, "many.fmu", small),
        "many.fmu has 4 entries, at most 3 are allowed (no FMU needs that; do not trust this file)"
    );
}

#[test]
fn broken_files() {
    let folder = folder("broken");
    archive(&folder.join("whole.fmu"), &[("modelDescription.xml", MASS2.as_bytes())]);
    let whole = fs::read(folder.join("whole.fmu")).unwrap();
    fs::write(folder.join("cut.fmu"), &whole[..whole.len() / 2]).unwrap();
    let cut = refused_by_default(&folder, "cut.fmu");
    assert!(cut.starts_with("cut.fmu is not a complete zip archive: "), "{cut}");
    assert!(cut.ends_with("(the file is truncated or damaged; download or export it again)"), "{cut}");
    let mut flipped = whole.clone();
    flipped[200] ^= 0x55;
    fs::write(folder.join("flipped.fmu"), flipped).unwrap();
    let flipped = refused_by_default(&folder, "flipped.fmu");
    assert!(flipped.starts_with("flipped.fmu is not a complete zip archive: "), "{flipped}");
    fs::write(folder.join("empty.fmu"), b"").unwrap();
    let empty = refused_by_default(&folder, "empty.fmu");
    assert!(empty.starts_with("empty.fmu is empty, expected a zip archive ("), "{empty}");
    assert_eq!(
        refused_by_default(&folder, "absent.fmu"),
        "absent.fmu cannot be read: No such file or directory (os error 2) (the path is relative to the folder of the \
         system file)"
    );
    fs::create_dir(folder.join("folder.fmu")).unwrap();
    assert_eq!(
        refused_by_default(&folder, "folder.fmu"),
        "folder.fmu is a folder, expected a zip archive (zip the contents of the folder, so that modelDescription.xml is \
         at the top)"
    );
    archive(&folder.join("nested.fmu"), &[("mass/modelDescription.xml", MASS2.as_bytes())]);
    assert_eq!(
        refused_by_default(&folder, "nested.fmu"),
        "nested.fmu has no modelDescription.xml at its top, so it is not an FMU (zip the contents of the FMU's folder, \
         not the folder itself)"
    );
}

#[test]
fn every_cut_of_an_archive_is_an_error_and_no_panic() {
    let folder = folder("cuts");
    archive(&folder.join("a.fmu"), &[("modelDescription.xml", b"<fmiModelDescription/>")]);
    let whole = fs::read(folder.join("a.fmu")).unwrap();
    let cache = Cache::at(&cosimo_fmi::FMU_ARCHIVE, &folder.join("cache"));
    for end in 0..whole.len() {
        fs::write(folder.join("b.fmu"), &whole[..end]).unwrap();
        assert!(cache.unpack(&folder.join("b.fmu")).is_err(), "{end}");
    }
}

#[test]
fn an_fmu_is_unpacked_once_and_seen_whole() {
    use std::os::unix::fs::PermissionsExt;
    let folder = folder("once-unpacked");
    let entries: &[(&str, &[u8])] =
        &[("modelDescription.xml", MASS2.as_bytes()), ("resources/a/b.txt", b"b")];
    archive(&folder.join("a.fmu"), entries);
    fs::copy(folder.join("a.fmu"), folder.join("same.fmu")).unwrap();
    let cache = Cache::at(&cosimo_fmi::FMU_ARCHIVE, &folder.join("cache"));
    let all: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = ["a.fmu", "same.fmu", "a.fmu", "same.fmu"]
            .map(|name| {
                let (cache, file) = (&cache, folder.join(name));
                scope.spawn(move || Fmu::open(&file, cache).unwrap())
            })
            .into();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(all.iter().all(|fmu| fmu.folder == all[0].folder && fmu.hash == all[0].hash));
    assert_eq!(fs::read(all[0].folder.join("resources/a/b.txt")).unwrap(), b"b");
    assert_eq!(fs::read_dir(&cache.folder).unwrap().count(), 1);
    assert_eq!(fs::metadata(&cache.folder).unwrap().permissions().mode() & 0o777, 0o700);
}

#[test]
fn what_was_not_used_for_the_longest_time_goes_first_and_what_is_in_use_stays() {
    let folder = folder("cleaning");
    let cache = Cache { most: 250, ..Cache::at(&cosimo_fmi::FMU_ARCHIVE, &folder.join("cache")) };
    let unpack = |name: &str, hours: u64| {
        let file = folder.join(format!("{name}.fmu"));
        archive(&file, &[("modelDescription.xml", &[b'a'; 80]), ("name", name.as_bytes())]);
        let unpacked = cache.unpack(&file).unwrap();
        let used = std::time::SystemTime::now() - std::time::Duration::from_secs(hours * 3600);
        let marker = unpacked.folder.join(".cosimo-last-use");
        fs::File::options().write(true).open(marker).unwrap().set_modified(used).unwrap();
        unpacked
    };
    let names = || cache.kept().into_iter().map(|kept| (kept.name, kept.in_use)).collect::<Vec<_>>();
    let shown = |list: &[(&str, bool)]| list.iter().map(|(n, u)| ((*n).to_owned(), *u)).collect::<Vec<_>>();
    let oldest = unpack("oldest", 3);
    unpack("old", 2);
    unpack("recent", 1);
    assert_eq!(names(), shown(&[("recent.fmu", false), ("oldest.fmu", true)]));
    drop(oldest);
    unpack("new", 0);
    assert_eq!(names(), shown(&[("new.fmu", false), ("recent.fmu", false)]));
    assert_eq!(cache.shrink(0).len(), 2);
    assert_eq!(names(), []);
}

#[test]
fn a_copy_that_changed_is_unpacked_again() {
    use std::os::unix::fs::PermissionsExt;
    let folder = folder("tampered");
    let entries: &[(&str, &[u8])] =
        &[("modelDescription.xml", MASS2.as_bytes()), ("resources/a/b.txt", b"b")];
    archive(&folder.join("a.fmu"), entries);
    let cache = Cache::at(&cosimo_fmi::FMU_ARCHIVE, &folder.join("cache"));
    let open = || {
        let unpacked = cache.unpack(&folder.join("a.fmu")).unwrap();
        assert_eq!(fs::read(unpacked.folder.join("resources/a/b.txt")).unwrap(), b"b");
        assert!(!unpacked.folder.join("binaries").exists());
        (unpacked.folder.clone(), unpacked.warnings().map(|warning| warning.to_string()).collect::<Vec<_>>())
    };
    let (inside, said) = open();
    assert_eq!(said, [""; 0]);
    let file = inside.join("resources/a/b.txt");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o222, 0, "read-only");
    let words = |file: &str| {
        format!(
            "its unpacked copy in the cache had changed (`{file}`) and was unpacked again (earlier runs may have used \
             other content than this file)"
        )
    };
    let writable = || fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    writable();
    fs::write(&file, "c").unwrap();
    assert_eq!(open().1, [words("resources/a/b.txt")]);
    assert_eq!(open().1, [words("resources/a/b.txt")], "known for the rest of the process");
    fs::remove_file(&file).unwrap();
    assert_eq!(open().1, [words("resources/a/b.txt")]);
    fs::create_dir_all(inside.join("binaries/linux64")).unwrap();
    fs::write(inside.join("binaries/linux64/other.so"), "x").unwrap();
    assert_eq!(open().1, [words("binaries/linux64/other.so")]);
    std::os::unix::fs::symlink("/etc", inside.join("binaries")).unwrap();
    assert_eq!(open().1, [words("binaries")]);
    // As an earlier version left it: without a list.
    fs::remove_file(inside.join(".cosimo-manifest")).unwrap();
    assert_eq!(open().1, [words("binaries")], "which is no change");
    assert!(inside.join(".cosimo-manifest").exists());
    assert_eq!(fs::read_dir(&cache.folder).unwrap().count(), 1);
}

#[test]
fn a_cache_that_others_can_write_to_is_not_used() {
    use std::os::unix::fs::PermissionsExt;
    let folder = folder("open-cache");
    archive(&folder.join("a.fmu"), &[("modelDescription.xml", b"<a/>")]);
    let cache = Cache::at(&cosimo_fmi::FMU_ARCHIVE, &folder.join("cache"));
    fs::create_dir(&cache.folder).unwrap();
    fs::set_permissions(&cache.folder, fs::Permissions::from_mode(0o777)).unwrap();
    let problem = cache.unpack(&folder.join("a.fmu")).unwrap_err().to_string();
    assert_eq!(
        problem.replace(&format!("{}/", folder.display()), ""),
        "cache cannot be used to unpack a.fmu: other users can write to it (set XDG_CACHE_HOME to a folder that only \
         you can write to, with room for the FMU)"
    );
}
