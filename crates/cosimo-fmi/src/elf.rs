//! Just enough of ELF to say why a shared library cannot load: for which machine it is made, what it needs, and
//! whether it leaves Python to others.
//! Every access is checked: the file comes from outside. Little-endian only, as all platforms of FMI are.

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Elf {
    pub(crate) bits: u32,
    pub(crate) machine: u16,
    /// How long the file must be for the loader; `None` where even that cannot be read.
    pub(crate) length: Option<u64>,
    /// Names of the libraries it needs.
    pub(crate) needed: Vec<String>,
    /// Where it wants them to be looked for.
    pub(crate) search: Vec<String>,
    /// It calls functions of CPython without bringing them.
    pub(crate) calls_python: bool,
}

const PT_LOAD: u64 = 1;
const PT_DYNAMIC: u64 = 2;
const DT_NEEDED: u64 = 1;
const DT_STRTAB: u64 = 5;
const DT_RPATH: u64 = 15;
const DT_RUNPATH: u64 = 29;
const SHT_DYNSYM: u64 = 11;
/// Far above what any library has; ends the search in a broken file.
const MOST: usize = 10_000;
/// As many names as one library may import or export.
const MOST_SYMBOLS: u64 = 10_000_000;
/// What every library that talks to CPython calls one of: starting it, its lock, its objects, its modules.
const PYTHON: [&[u8]; 5] = [b"Py_", b"PyGILState_", b"PyObject_", b"PyImport_", b"PyErr_"];

fn word(bytes: &[u8], at: u64, width: usize) -> Option<u64> {
    let at = usize::try_from(at).ok()?;
    let found = bytes.get(at..at.checked_add(width)?)?;
    Some(found.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte)))
}

/// `None` if it is no ELF file at all. A broken inside gives empty lists.
pub(crate) fn read(bytes: &[u8]) -> Option<Elf> {
    if bytes.get(..4)? != b"\x7fELF" {
        return None;
    }
    let bits = match bytes.get(4)? {
        1 => 32,
        2 => 64,
        _ => return None,
    };
    let machine = word(bytes, 18, 2)? as u16;
    let length = length(bytes, bits == 64);
    let mut elf = Elf { bits, machine, length, needed: Vec::new(), search: Vec::new(), calls_python: false };
    dynamic(bytes, &mut elf);
    elf.calls_python = calls_python(bytes, bits == 64).unwrap_or(false);
    Some(elf)
}

struct Program {
    kind: u64,
    offset: u64,
    address: u64,
    size: u64,
}

fn programs(bytes: &[u8], wide: bool) -> Option<Vec<Program>> {
    let (start, size, count) = if wide {
        (word(bytes, 32, 8)?, word(bytes, 54, 2)?, word(bytes, 56, 2)?)
    } else {
        (word(bytes, 28, 4)?, word(bytes, 42, 2)?, word(bytes, 44, 2)?)
    };
    (0..count)
        .map(|index| {
            let at = start.checked_add(index.checked_mul(size)?)?;
            let field = |wide_at: u64, narrow_at: u64| {
                let (offset, width) = if wide { (wide_at, 8) } else { (narrow_at, 4) };
                word(bytes, at.checked_add(offset)?, width)
            };
            let kind = word(bytes, at, 4)?;
            Some(Program { kind, offset: field(8, 4)?, address: field(16, 8)?, size: field(32, 16)? })
        })
        .collect()
}

/// To the end of the last part that is loaded. A loader that is given less does not complain, it crashes.
fn length(bytes: &[u8], wide: bool) -> Option<u64> {
    let loaded = programs(bytes, wide)?.into_iter().filter(|program| program.kind == PT_LOAD);
    loaded
        .map(|program| program.offset.checked_add(program.size))
        .try_fold(0, |most, end| Some(end?.max(most)))
}

fn dynamic(bytes: &[u8], elf: &mut Elf) -> Option<()> {
    let wide = elf.bits == 64;
    let width = if wide { 8 } else { 4 };
    let programs = programs(bytes, wide)?;
    let table = programs.iter().find(|program| program.kind == PT_DYNAMIC)?;
    let mut entries = Vec::new();
    for index in 0..(table.size / (2 * width as u64)).min(MOST as u64) {
        let at = table.offset.checked_add(index * 2 * width as u64)?;
        let (tag, value) = (word(bytes, at, width)?, word(bytes, at.checked_add(width as u64)?, width)?);
        if tag == 0 {
            break;
        }
        entries.push((tag, value));
    }
    let address = entries.iter().find(|(tag, _)| *tag == DT_STRTAB)?.1;
    let home = programs.iter().find(|program| {
        program.kind == PT_LOAD
            && address.checked_sub(program.address).is_some_and(|inside| inside < program.size)
    })?;
    let strings = (address - home.address).checked_add(home.offset)?;
    let text = |offset: u64| -> Option<String> {
        let rest = bytes.get(usize::try_from(strings.checked_add(offset)?).ok()?..)?;
        let end = rest.iter().take(4096).position(|byte| *byte == 0)?;
        Some(String::from_utf8_lossy(&rest[..end]).into_owned())
    };
    for (tag, value) in entries {
        match tag {
            DT_NEEDED => elf.needed.extend(text(value)),
            DT_RPATH | DT_RUNPATH => {
                let list = text(value).unwrap_or_default();
                elf.search.extend(list.split(':').filter(|part| !part.is_empty()).map(str::to_owned));
            }
            _ => {}
        }
    }
    Some(())
}

/// Names that others can find in it, as far as they are asked for.
pub(crate) fn exports(bytes: &[u8], asked: impl Fn(&str) -> bool) -> Option<Vec<String>> {
    let wide = bytes.get(4)? == &2;
    let mut found = Vec::new();
    symbols(bytes, wide, |undefined, name| {
        if !undefined {
            let end = name.iter().take(256).position(|byte| *byte == 0).unwrap_or(0);
            let name = String::from_utf8_lossy(&name[..end]);
            if asked(&name) {
                found.push(name.into_owned());
            }
        }
        false
    })?;
    Some(found)
}

fn calls_python(bytes: &[u8], wide: bool) -> Option<bool> {
    symbols(bytes, wide, |undefined, name| undefined && PYTHON.iter().any(|start| name.starts_with(start)))
}

/// Shows the dynamic symbols, each with whether it is undefined, until one is what was looked for. A library without
/// section headers, which no linker writes, has none.
fn symbols(bytes: &[u8], wide: bool, mut is_it: impl FnMut(bool, &[u8]) -> bool) -> Option<bool> {
    let (table, entry, count) = if wide {
        (word(bytes, 40, 8)?, word(bytes, 58, 2)?, word(bytes, 60, 2)?)
    } else {
        (word(bytes, 32, 4)?, word(bytes, 46, 2)?, word(bytes, 48, 2)?)
    };
    let section = |index: u64| table.checked_add(index.checked_mul(entry)?);
    let field = |at: u64, wide_at: u64, narrow_at: u64| {
        let (offset, width) = if wide { (wide_at, 8) } else { (narrow_at, 4) };
        word(bytes, at.checked_add(offset)?, width)
    };
    let symbols = (0..count)
        .filter_map(section)
        .find(|at| at.checked_add(4).and_then(|kind| word(bytes, kind, 4)) == Some(SHT_DYNSYM))?;
    let link = word(bytes, symbols.checked_add(if wide { 40 } else { 24 })?, 4)?;
    let strings = field(section(link)?, 24, 16)?;
    let (start, size) = (field(symbols, 24, 16)?, field(symbols, 32, 20)?);
    let (length, home) = if wide { (24, 6) } else { (16, 14) };
    for index in 0..(size / length).min(MOST_SYMBOLS) {
        let at = start.checked_add(index * length)?;
        let undefined = word(bytes, at.checked_add(home)?, 2)? == 0;
        let name = usize::try_from(strings.checked_add(word(bytes, at, 4)?)?).ok()?;
        if is_it(undefined, bytes.get(name..).unwrap_or_default()) {
            return Some(true);
        }
    }
    Some(false)
}

/// A machine as people call it.
pub(crate) fn machine_name(machine: u16) -> String {
    match machine {
        3 => "x86".into(),
        40 => "ARM".into(),
        62 => "x86_64".into(),
        183 => "aarch64".into(),
        243 => "RISC-V".into(),
        other => format!("machine number {other}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_program_needs_the_c_library() {
        let bytes = std::fs::read("/proc/self/exe").unwrap();
        let elf = read(&bytes).unwrap();
        assert_eq!(elf.bits, usize::BITS);
        assert!(!elf.calls_python);
        assert!(elf.needed.iter().any(|name| name.starts_with("libc.so")), "{elf:?}");
    }

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
}
