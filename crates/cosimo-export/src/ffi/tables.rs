//! What versions of the standard share, under the names that each has for it.

/// Functions with a handle as first argument: what each does, and how the call log shows its arguments.
macro_rules! exported {
    ($version:ident: $(fn $name:ident($($argument:ident: $type:ty),*) |$instance:ident| $body:expr, $shown:expr;)*) => {$(
        #[allow(unused_variables, reason = "not every call shows something of the instance")]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(c: *mut c_void $(, $argument: $type)*) -> c_int {
            let name = super::standard_name(stringify!($name));
            // SAFETY: the importer keeps to the header of the standard: handles come from this library, arrays
            // have the length that comes with them, and calls on one handle do not overlap.
            unsafe { super::call(c, Version::$version, name, |$instance| $body, |$instance| $shown) }
        }
    )*};
}

/// Functions without further arguments.
macro_rules! modes {
    ($version:ident: $($name:ident $method:ident)*) => {
        exported! { $version: $(fn $name() |instance| instance.$method(), String::new();)* }
    };
}

/// Functions that read and write values of one type.
macro_rules! values {
    ($version:ident: $($get:ident $read:ident $set:ident $write:ident $type:ty;)*) => { exported! { $version: $(
        fn $get(references: *const u32, count: usize, values: *mut $type)
            |instance| instance.$read(list(references, count)?, list_mut(values, count)?),
            format!("{}, {}", show(references, count), show(values, count));
        fn $set(references: *const u32, count: usize, values: *const $type)
            |instance| instance.$write(list(references, count)?, list(values, count)?),
            format!("{}, {}", show(references, count), show(values, count));
    )*}};
}

/// The same for texts.
macro_rules! texts {
    ($version:ident: $get:ident $set:ident) => {
        exported! { $version:
            fn $get(references: *const u32, count: usize, values: *mut *const c_char)
                |instance| super::get_texts(instance, list(references, count)?, list_mut(values, count)?),
                show(references, count);
            fn $set(references: *const u32, count: usize, values: *const *const c_char)
                |instance| instance.set_texts(list(references, count)?, super::texts(list(values, count)?)?),
                show(references, count);
        }
    };
}

/// The same in FMI 3.0, which says how many values there are beside how many variables.
macro_rules! sized_values {
    ($($get:ident $read:ident $set:ident $write:ident $type:ty;)*) => { exported! { Three: $(
        fn $get(references: *const u32, count: usize, values: *mut $type, room: usize)
            |instance| {
                as_many(count, room)?;
                instance.$read(list(references, count)?, list_mut(values, room)?)
            },
            format!("{}, {}", show(references, count), show(values, room));
        fn $set(references: *const u32, count: usize, values: *const $type, room: usize)
            |instance| {
                as_many(count, room)?;
                instance.$write(list(references, count)?, list(values, room)?)
            },
            format!("{}, {}", show(references, count), show(values, room));
    )*}};
}

/// FMU states of FMI 2.0 and 3.0.
macro_rules! states {
    ($version:ident: $get:ident $set:ident $free:ident $size:ident $serialize:ident $deserialize:ident) => {
        exported! { $version:
            fn $get(state: *mut *mut c_void)
                |instance| super::get_state(instance, state), format!("state {}", instance.states.last);
            fn $set(state: *mut c_void)
                |instance| {
                    let state = super::known(instance, state)?;
                    instance.restore(state)
                },
                format!("state {}", instance.states.last);
            fn $free(state: *mut *mut c_void)
                |instance| super::free_state(instance, state), format!("state {}", instance.states.last);
            fn $size(state: *mut c_void, size: *mut usize)
                |instance| {
                    *place(size)? = super::known(instance, state)?.size();
                    Ok(())
                },
                format!("state {}", instance.states.last);
            fn $serialize(state: *mut c_void, bytes: *mut u8, size: usize)
                |instance| super::serialize(instance, state, bytes, size),
                format!("state {}, {size} bytes", instance.states.last);
            fn $deserialize(bytes: *const u8, size: usize, state: *mut *mut c_void)
                |instance| super::deserialize(instance, bytes, size, state),
                format!("{size} bytes, state {}", instance.states.last);
        }
    };
}

/// Model exchange of FMI 2.0 and 3.0, as far as it is the same: the time, and arrays of numbers that are read.
macro_rules! equations {
    ($version:ident: $set_time:ident $set_states:ident $($get:ident $method:ident)*) => { exported! { $version:
        fn $set_time(time: f64) |instance| instance.set_time(time), format!("{time:?}");
        fn $set_states(values: *const f64, count: usize)
            |instance| instance.set_continuous_states(list(values, count)?),
            show(values, count);
        $(fn $get(values: *mut f64, count: usize)
            |instance| instance.$method(list_mut(values, count)?),
            show(values, count);)*
    }};
}

/// Derivatives by time of FMI 1.0 and 2.0, and the status of a step that is still pending, which none ever is.
macro_rules! slopes_and_status {
    ($version:ident: $set:ident $get:ident $cancel:ident $last_time:ident $($status:ident $type:ty;)*) => { exported! { $version:
        fn $set(references: *const u32, count: usize, orders: *const c_int, values: *const f64)
            |instance| {
                instance.set_input_derivatives(list(references, count)?, list(orders, count)?, list(values, count)?)
            },
            format!("{}, {}, {}", show(references, count), show(orders, count), show(values, count));
        fn $get(references: *const u32, count: usize, orders: *const c_int, values: *mut f64)
            |instance| {
                instance.output_derivatives(list(references, count)?, list(orders, count)?, list_mut(values, count)?)
            },
            format!("{}, {}, {}", show(references, count), show(orders, count), show(values, count));
        fn $cancel() |_instance| Err("no step is ever pending".into()), String::new();
        fn $last_time(kind: c_int, value: *mut f64)
            |instance| {
                if kind != super::LAST_SUCCESSFUL_TIME {
                    return super::no_status(kind);
                }
                *place(value)? = instance.last_time();
                Ok(())
            },
            format!("{kind}");
        $(fn $status(kind: c_int, _value: *mut $type) |_instance| super::no_status(kind), format!("{kind}");)*
    }};
}
