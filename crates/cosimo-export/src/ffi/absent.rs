//! Functions for things that no model here has: clocks with other intervals, structural parameters, scheduled
//! execution. Importers look them up all the same, and FMI 3.0 wants every one of them. They refuse with a message.
//! Their further arguments are ignored, which the C calling convention allows.

#![allow(non_snake_case, reason = "the names are the standard's")]

use std::ffi::{c_int, c_void};

use super::call;
use crate::design::Version;

macro_rules! refused {
    ($($name:ident $why:literal)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(c: *mut c_void) -> c_int {
            // SAFETY: the importer's handle is one of this library; nothing else is looked at.
            unsafe { call(c, Version::Three, stringify!($name), |_| Err($why.into()), |_| String::new()) }
        }
    )*};
}

refused! {
    fmi3GetIntervalFraction "no clock has intervals in fractions"
    fmi3GetShiftFraction "no clock has intervals in fractions"
    fmi3SetIntervalDecimal "no clock has an interval that the importer sets"
    fmi3SetIntervalFraction "no clock has an interval that the importer sets"
    fmi3SetShiftDecimal "no clock has an interval that the importer sets"
    fmi3SetShiftFraction "no clock has an interval that the importer sets"
    fmi3GetNumberOfVariableDependencies "dependencies do not change; the description has them"
    fmi3GetVariableDependencies "dependencies do not change; the description has them"
    fmi3EnterConfigurationMode "there are no structural parameters"
    fmi3ExitConfigurationMode "there are no structural parameters"
    fmi3EvaluateDiscreteStates "discrete states are computed by fmi3UpdateDiscreteStates"
    fmi3ActivateModelPartition "this FMU is not for scheduled execution"
}

#[unsafe(no_mangle)]
extern "C" fn fmi3InstantiateScheduledExecution() -> *mut c_void {
    std::ptr::null_mut()
}
