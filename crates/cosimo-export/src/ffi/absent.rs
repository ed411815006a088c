//! Functions for things that no model here has: clocks, structural parameters, scheduled execution. Importers
//! look them up all the same, and FMI 3.0 wants every one of them. They refuse in words. Further arguments of
//! theirs are not looked at, which the C calling convention allows.

#![allow(non_snake_case, reason = "the names are the standard's")]

use std::ffi::{c_int, c_void};

use super::call;
use crate::design::Version;

macro_rules! typed {
    ($($name:ident)*) => {$(
        /// No values of this type are no mistake.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(c: *mut c_void, _references: *const u32, count: usize) -> c_int {
            // SAFETY: the importer's handle is one of this library; nothing else is looked at.
            unsafe {
                call(c, Version::Three, stringify!($name), |_| match count {
                    0 => Ok(()),
                    _ => Err("there is no variable of this type".into()),
                }, |_| format!("{count} references"))
            }
        }
    )*};
}

macro_rules! refused {
    ($($name:ident $why:literal)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(c: *mut c_void) -> c_int {
            // SAFETY: the importer's handle is one of this library; nothing else is looked at.
            unsafe { call(c, Version::Three, stringify!($name), |_| Err($why.into()), |_| String::new()) }
        }
    )*};
}

typed! {
    fmi3GetClock fmi3SetClock
    fmi3GetIntervalDecimal fmi3GetIntervalFraction fmi3GetShiftDecimal fmi3GetShiftFraction
    fmi3SetIntervalDecimal fmi3SetIntervalFraction fmi3SetShiftDecimal fmi3SetShiftFraction
}

refused! {
    fmi3GetNumberOfVariableDependencies "dependencies do not change; the description has them"
    fmi3GetVariableDependencies "dependencies do not change; the description has them"
    fmi3EnterConfigurationMode "there are no structural parameters"
    fmi3ExitConfigurationMode "there are no structural parameters"
    fmi3EvaluateDiscreteStates "discrete states are worked out by their update"
    fmi3ActivateModelPartition "this FMU is not for scheduled execution"
}

#[unsafe(no_mangle)]
extern "C" fn fmi3InstantiateScheduledExecution() -> *mut c_void {
    std::ptr::null_mut()
}
