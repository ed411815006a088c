//! The C interface of FMI 1.0 for co-simulation. Names and types follow the standard.

use std::ffi::{c_char, c_int, c_uint, c_void};

use libloading::Library;

use crate::library::function;
use crate::site::Names;

pub(crate) type Component = *mut c_void;
pub(crate) type Reference = c_uint;
pub(crate) type Status = c_int;
/// `fmiBoolean`: one byte, unlike FMI 2.0.
pub(crate) type Bool = c_char;

/// `fmiStatus`: the step is still under way.
pub(crate) const PENDING: Status = 5;
/// `fmiStatusKind`: the outcome of a step that was pending.
pub(crate) const DO_STEP_STATUS: c_int = 0;
/// `fmiStatusKind`: where a discarded step ended.
pub(crate) const LAST_SUCCESSFUL_TIME: c_int = 2;

/// For a slave that is its own simulator, in a shared library.
pub(crate) const MIME_TYPE: &std::ffi::CStr = c"application/x-fmu-sharedlibrary";

/// Typed as the shim declares it; the standard's `...` has no spelling for a definition in stable Rust.
pub(crate) type Logger =
    unsafe extern "C" fn(Component, *const c_char, Status, *const c_char, *const c_char, ...);

/// Handed over by value.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct Callbacks {
    pub(crate) logger: Logger,
    pub(crate) allocate: unsafe extern "C" fn(usize, usize) -> *mut c_void,
    pub(crate) free: unsafe extern "C" fn(*mut c_void),
    /// Null: the status of a pending step is asked for.
    pub(crate) step_finished: *const c_void,
}

// SAFETY: the shim defines it with this type.
unsafe extern "C" {
    pub(crate) fn cosimo_fmi1_logger(
        component: Component,
        instance: *const c_char,
        status: Status,
        category: *const c_char,
        message: *const c_char,
        ...
    );
}

macro_rules! functions {
    ($($field:ident = $symbol:literal: fn($($argument:ty),* $(,)?) $(-> $result:ty)?;)*; optional
     $($maybe:ident = $maybe_symbol:literal: fn($($maybe_argument:ty),* $(,)?) $(-> $maybe_result:ty)?;)*) => {
        /// Functions of one slave.
        #[derive(Debug, Clone, Copy)]
        pub(crate) struct Functions {
            $(pub(crate) $field: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
            $(pub(crate) $maybe: Option<unsafe extern "C" fn($($maybe_argument),*) $(-> $maybe_result)?>,)*
        }

        impl Functions {
            /// `needed` are those optional ones that the description promises. `Err` has the full names of all that
            /// are missing.
            pub(crate) fn load(
                library: &'static Library,
                identifier: &str,
                needed: &[&str],
            ) -> Result<Functions, Vec<String>> {
                let mut missing = Vec::new();
                $(let $field = look_up(library, identifier, concat!("fmi", $symbol));
                if $field.is_none() {
                    missing.push(full_name(identifier, concat!("fmi", $symbol)));
                })*
                $(let $maybe = look_up(library, identifier, concat!("fmi", $maybe_symbol));
                if $maybe.is_none() && needed.contains(&$maybe_symbol) {
                    missing.push(full_name(identifier, concat!("fmi", $maybe_symbol)));
                })*
                match ($($field,)*) {
                    ($(Some($field),)*) if missing.is_empty() => Ok(Functions { $($field,)* $($maybe,)* }),
                    _ => Err(missing),
                }
            }

            /// Addresses and names of those that there are.
            pub(crate) fn names(&self) -> Names {
                let mut names = vec![$((self.$field as usize, concat!("fmi", $symbol)),)*];
                $(names.extend(self.$maybe.map(|there| (there as usize, concat!("fmi", $maybe_symbol))));)*
                names
            }
        }
    };
}

/// A function as FMI 1.0 names it in a library.
pub(crate) fn full_name(identifier: &str, name: &str) -> String {
    format!("{identifier}_{name}")
}

/// Some libraries leave the prefix out, as FMI 2.0 does.
fn look_up<F: Copy>(library: &'static Library, identifier: &str, name: &str) -> Option<F> {
    function(library, &full_name(identifier, name)).or_else(|| function(library, name))
}

functions! {
    instantiate = "InstantiateSlave": fn(
        *const c_char, *const c_char, *const c_char, *const c_char, f64, Bool, Bool, Callbacks, Bool,
    ) -> Component;
    initialize = "InitializeSlave": fn(Component, f64, Bool, f64) -> Status;
    terminate = "TerminateSlave": fn(Component) -> Status;
    free_instance = "FreeSlaveInstance": fn(Component);
    do_step = "DoStep": fn(Component, f64, f64, Bool) -> Status;;
    optional
    get_real = "GetReal": fn(Component, *const Reference, usize, *mut f64) -> Status;
    set_real = "SetReal": fn(Component, *const Reference, usize, *const f64) -> Status;
    get_integer = "GetInteger": fn(Component, *const Reference, usize, *mut c_int) -> Status;
    set_integer = "SetInteger": fn(Component, *const Reference, usize, *const c_int) -> Status;
    get_boolean = "GetBoolean": fn(Component, *const Reference, usize, *mut Bool) -> Status;
    set_boolean = "SetBoolean": fn(Component, *const Reference, usize, *const Bool) -> Status;
    get_string = "GetString": fn(Component, *const Reference, usize, *mut *const c_char) -> Status;
    set_string = "SetString": fn(Component, *const Reference, usize, *const *const c_char) -> Status;
    set_real_input_derivatives = "SetRealInputDerivatives": fn(
        Component, *const Reference, usize, *const c_int, *const f64,
    ) -> Status;
    get_status = "GetStatus": fn(Component, c_int, *mut Status) -> Status;
    get_real_status = "GetRealStatus": fn(Component, c_int, *mut f64) -> Status;
}
