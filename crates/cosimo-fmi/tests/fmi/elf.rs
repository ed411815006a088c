//! What is read of ELF files, whatever is in them.

use cosimo_fmi::elf::read;

#[test]
fn a_cut_file_is_shorter_than_it_says() {
    let bytes = std::fs::read("/proc/self/exe").unwrap();
    let needed = read(&bytes).unwrap().length.unwrap();
    assert!(needed > 4096 && needed <= bytes.len() as u64, "{needed}");
    assert_eq!(read(&bytes[..4096]).unwrap().length, Some(needed));
    assert_eq!(read(&bytes[..100]).unwrap().length, None);
}

#[test]
fn no_cut_and_no_changed_byte_makes_it_panic() {
    let whole = std::fs::read("/proc/self/exe").unwrap();
    let head = &whole[..whole.len().min(4096)];
    for end in 0..head.len() {
        read(&head[..end]);
    }
    for at in 0..512 {
        for value in [0, 0x7f, 0xff] {
            let mut changed = head.to_vec();
            changed[at] = value;
            read(&changed);
        }
    }
    assert_eq!(read(b"MZ"), None);
}
