//! The shared library adds its equipment as soon as it is loaded, since importers call functions of the standard only.

#![allow(unsafe_code, reason = "a function is put where the loader looks for those to call")]

extern "C" fn install() {
    crate::install();
}

// SAFETY: functions in this section are called once, without arguments that are looked at, when the library is loaded
// and before anything of it is used; this one stores a reference and needs nothing that is set up later.
#[used]
#[cfg_attr(target_os = "macos", unsafe(link_section = "__DATA,__mod_init_func"))]
#[cfg_attr(windows, unsafe(link_section = ".CRT$XCU"))]
#[cfg_attr(not(any(target_os = "macos", windows)), unsafe(link_section = ".init_array"))]
static INSTALL: extern "C" fn() = install;
