//! What a shared library for Linux tells of itself, as far as it says why it cannot load: for which machine it is made,
//! what it needs, which functions of FMI it has, and whether it leaves Python to others.

use object::Endianness;
use object::elf::{
    DT_NEEDED, DT_NULL, DT_RPATH, DT_RUNPATH, DT_STRSZ, DT_STRTAB, DynamicTag, FileHeader32, FileHeader64,
    PT_LOAD, SHT_DYNSYM,
};
use object::read::elf::{Dyn, FileHeader, ProgramHeader, Sym};
use object::read::{Result, StringTable};

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Elf {
    pub bits: u32,
    pub machine: u16,
    /// How long the file must be for the loader; `None` where even that cannot be read.
    pub length: Option<u64>,
    /// Names of the libraries it needs.
    pub(crate) needed: Vec<String>,
    /// Where it wants them to be looked for.
    pub(crate) search: Vec<String>,
    /// Functions of FMI that others can find in it; `None` where that cannot be read, as in a library without section
    /// headers, which no linker writes.
    pub functions: Option<Vec<String>>,
    /// It calls functions of CPython without bringing them.
    pub(crate) calls_python: bool,
}

/// What every library that talks to CPython calls one of: starting it, its lock, its objects, its modules.
const PYTHON: [&[u8]; 5] = [b"Py_", b"PyGILState_", b"PyObject_", b"PyImport_", b"PyErr_"];

/// `None` if it is no ELF file at all. A broken inside gives empty lists.
pub fn read(bytes: &[u8]) -> Option<Elf> {
    match bytes.get(..5)? {
        b"\x7fELF\x01" => Elf::of::<FileHeader32<Endianness>>(bytes).ok(),
        b"\x7fELF\x02" => Elf::of::<FileHeader64<Endianness>>(bytes).ok(),
        _ => None,
    }
}

impl Elf {
    fn of<H: FileHeader<Endian = Endianness>>(bytes: &[u8]) -> Result<Elf> {
        let header = H::parse(bytes)?;
        let endian = header.endian()?;
        let bits = if header.is_type_64() { 64 } else { 32 };
        let mut elf = Elf { bits, machine: header.e_machine(endian).0, ..Elf::default() };
        if let Ok(programs) = header.program_headers(endian, bytes) {
            elf.length = length(programs, endian);
            elf.read_needs(programs, endian, bytes);
        }
        let sections = header.sections(endian, bytes);
        let symbols = sections.and_then(|sections| sections.symbols(endian, bytes, SHT_DYNSYM));
        let Some(symbols) = symbols.ok().filter(|symbols| !symbols.is_empty()) else { return Ok(elf) };
        let mut functions = Vec::new();
        for symbol in symbols.iter() {
            let Ok(name) = symbols.symbol_name(endian, symbol) else { continue };
            if symbol.is_undefined(endian) {
                elf.calls_python |= PYTHON.iter().any(|start| name.starts_with(start));
            } else if let Ok(name) = str::from_utf8(name)
                && (name.starts_with("fmi") || name.contains("_fmi"))
            {
                functions.push(name.to_owned());
            }
        }
        elf.functions = Some(functions);
        Ok(elf)
    }

    fn read_needs<P: ProgramHeader<Endian = Endianness>>(
        &mut self,
        programs: &[P],
        endian: Endianness,
        bytes: &[u8],
    ) -> Option<()> {
        let entries = programs.iter().find_map(|program| program.dynamic(endian, bytes).ok()?)?;
        let entries = entries.iter().take_while(|entry| entry.tag(endian) != DT_NULL);
        let value = |tag: DynamicTag| {
            let entry = entries.clone().find(|entry| entry.tag(endian) == tag)?;
            Some(entry.val(endian))
        };
        let (address, size) = (value(DT_STRTAB)?, value(DT_STRSZ)?);
        let loaded = programs.iter().filter(|program| program.p_type(endian) == PT_LOAD);
        let strings =
            loaded.filter_map(|program| program.data_range(endian, bytes, address, size).ok()?).next()?;
        let strings = StringTable::new(strings, 0, size);
        for entry in entries {
            let tag = entry.tag(endian);
            if !matches!(tag, DT_NEEDED | DT_RPATH | DT_RUNPATH) {
                continue;
            }
            let Ok(text) = entry.string(endian, strings).map(String::from_utf8_lossy) else { continue };
            if tag == DT_NEEDED {
                self.needed.push(text.into_owned());
            } else {
                self.search.extend(text.split(':').filter(|part| !part.is_empty()).map(str::to_owned));
            }
        }
        Some(())
    }
}

/// To the end of the last part that is loaded. A loader that is given less does not complain, it crashes.
fn length<P: ProgramHeader<Endian = Endianness>>(programs: &[P], endian: Endianness) -> Option<u64> {
    let loaded = programs.iter().filter(|program| program.p_type(endian) == PT_LOAD);
    loaded
        .map(|program| program.file_range(endian))
        .try_fold(0, |most, (start, size)| Some(start.checked_add(size)?.max(most)))
}

/// Machines of FMI: as Rust spells them, the number in the file, the bits, as people call them.
const MACHINES: [(&str, u16, u32, &str); 5] = [
    ("x86_64", 62, 64, "x86_64"),
    ("x86", 3, 32, "x86"),
    ("aarch64", 183, 64, "aarch64"),
    ("arm", 40, 32, "ARM"),
    ("riscv64", 243, 64, "RISC-V"),
];

/// Number and bits of an architecture, as Rust spells it.
pub fn machine(arch: &str) -> Option<(u16, u32)> {
    let known = MACHINES.iter().find(|known| known.0 == arch)?;
    Some((known.1, known.2))
}

/// A machine as people call it.
pub fn machine_name(machine: u16) -> String {
    match MACHINES.iter().find(|known| known.1 == machine) {
        Some(known) => known.3.into(),
        None => format!("machine number {machine}"),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn this_program_needs_the_c_library() {
        let bytes = std::fs::read("/proc/self/exe").unwrap();
        let elf = super::read(&bytes).unwrap();
        assert_eq!(elf.bits, usize::BITS);
        assert!(!elf.calls_python);
        assert!(elf.needed.iter().any(|name| name.starts_with("libc.so")), "{elf:?}");
    }
}
