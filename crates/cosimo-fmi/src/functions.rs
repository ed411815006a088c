//! The C functions of one version of FMI, as one list: what a library is asked for, how an instance is called, and what
//! the call log shows of a call.

/// Makes `Functions` out of a list, with a method of `Handle<Functions>` for each. An entry names its arguments after the
/// instance; in brackets is what the call log shows of them, and after `=>` what it shows of the results that the call has
/// left behind pointers. `last` is the call that frees the instance.
macro_rules! functions {
    ($prefix:literal;
     make { $($make:ident = $make_symbol:literal: fn($($make_type:ty),* $(,)?);)* }
     needed {
        $($needed:ident = $needed_symbol:literal ($($argument:ident: $type:ty),* $(,)?)
            $([$($shown:expr),*])? $(=> [$($left:expr),*])? $($last:ident)?;)*
     }
     make optional { $($may_make:ident = $may_make_symbol:literal: fn($($may_make_type:ty),* $(,)?);)* }
     optional {
        $($maybe:ident = $maybe_symbol:literal ($($maybe_argument:ident: $maybe_type:ty),* $(,)?)
            $([$($maybe_shown:expr),*])? $(=> [$($maybe_left:expr),*])?;)*
     }) => {
        /// Functions of one FMU.
        #[derive(Debug, Clone, Copy)]
        pub(crate) struct Functions {
            $(pub(crate) $make: unsafe extern "C" fn($($make_type),*) -> *mut c_void,)*
            $(pub(crate) $needed:
                unsafe extern "C" fn(*mut c_void, $($type),*) -> functions!(@result $($last)?),)*
            $(pub(crate) $may_make: Option<unsafe extern "C" fn($($may_make_type),*) -> *mut c_void>,)*
            $(pub(crate) $maybe: Option<unsafe extern "C" fn(*mut c_void, $($maybe_type),*) -> c_int>,)*
        }

        impl Functions {
            /// `identifier` is what FMI 1.0 puts before each name, `promised` are those optional functions that the
            /// description promises. `Err` has the full names of all that are missing.
            pub(crate) fn load(
                library: &'static libloading::Library,
                identifier: &str,
                promised: &[&str],
            ) -> Result<Functions, Vec<String>> {
                let mut search = $crate::library::FunctionSearch { library, identifier, missing: Vec::new() };
                $(let $make = search.function(concat!($prefix, $make_symbol), true);)*
                $(let $needed = search.function(concat!($prefix, $needed_symbol), true);)*
                $(let $may_make = search
                    .function(concat!($prefix, $may_make_symbol), promised.contains(&$may_make_symbol));)*
                $(let $maybe =
                    search.function(concat!($prefix, $maybe_symbol), promised.contains(&$maybe_symbol));)*
                match ($($make,)* $($needed,)*) {
                    ($(Some($make),)* $(Some($needed),)*) if search.missing.is_empty() => {
                        Ok(Functions { $($make,)* $($needed,)* $($may_make,)* $($maybe,)* })
                    }
                    _ => Err(search.missing),
                }
            }

            /// Addresses and names of those that there are.
            pub(crate) fn names(&self) -> $crate::site::CallNames {
                let mut names = vec![$((self.$needed as usize, concat!($prefix, $needed_symbol)),)*];
                $(names.extend(self.$maybe.map(|there| (there as usize, concat!($prefix, $maybe_symbol))));)*
                names
            }

            /// Puts the call log, if there is one, between us and a new instance.
            pub(crate) fn logged(self, pointer: *mut c_void, name: &str) -> (Functions, *mut c_void) {
                let Some(record) = $crate::call_log::record() else { return (self, pointer) };
                $(functions! { @logged $($last)? Some, $needed, concat!($prefix, $needed_symbol),
                    ($($argument: $type),*), [$($($shown),*)?], [$($($left),*)?] })*
                $(functions! { @logged std::convert::identity, $maybe, concat!($prefix, $maybe_symbol),
                    ($($maybe_argument: $maybe_type),*), [$($($maybe_shown),*)?], [$($($maybe_left),*)?] })*
                let table = Functions {
                    $($make: self.$make,)*
                    $($needed,)*
                    $($may_make: self.$may_make,)*
                    $($maybe: self.$maybe.map(|_| $maybe as _),)*
                };
                (table, $crate::call_log::Proxy::address(self, pointer, name, record))
            }
        }

        /// A call that is noted, made and checked. Some functions are called in ways of their own.
        #[allow(clippy::too_many_arguments, dead_code, reason = "as many as the standard has")]
        impl $crate::instance::InstanceHandle<Functions> {
            $(functions! { @method $($last)? Some, $needed, concat!($prefix, $needed_symbol),
                ($($argument: $type),*) })*
            $(functions! { @method std::convert::identity, $maybe, concat!($prefix, $maybe_symbol),
                ($($maybe_argument: $maybe_type),*) })*
        }
    };
    (@result) => { c_int };
    (@result last) => { () };
    // `$some` makes an option of a table's field, whether it is one or not.
    (@logged last $some:expr, $field:ident, $name:expr, (), [], []) => {
        unsafe extern "C" fn $field(instance: *mut c_void) {
            // SAFETY: the instance is one of the log's; this is the last call with its address.
            unsafe {
                let p = $crate::call_log::Proxy::<Functions>::at(instance);
                let call = || (p.functions.$field)(p.pointer);
                p.record.call(&p.name, $name, "", call, |()| "done".into());
                $crate::call_log::Proxy::<Functions>::free(instance);
            }
        }
    };
    (@logged $some:expr, $field:ident, $name:expr, ($($argument:ident: $type:ty),*),
     [$($shown:expr),*], [$($left:expr),*]) => {
        unsafe extern "C" fn $field(instance: *mut c_void, $($argument: $type),*) -> c_int {
            // SAFETY: the instance is one of the log's; the arguments are as the standard demands.
            unsafe {
                let p = $crate::call_log::Proxy::<Functions>::at(instance);
                // 3 is the error of a function that is not there, which the table rules out.
                let call = || $some(p.functions.$field).map_or(3, |f| f(p.pointer, $($argument),*));
                let arguments = $crate::call_log::joined(&[$(&$shown),*]);
                p.answer($name, &arguments, call, || $crate::call_log::joined(&[$(&$left),*]))
            }
        }
    };
    (@method last $($rest:tt)*) => {};
    (@method $some:expr, $field:ident, $name:expr, ($($argument:ident: $type:ty),*)) => {
        /// # Safety
        /// The arguments are as the standard demands.
        #[inline(always)]
        pub(crate) unsafe fn $field(&mut self, $($argument: $type),*) -> Result<(), SimulatorError> {
            let function = $some(self.functions.$field).ok_or_else(|| $crate::instance::absent($name))?;
            self.site.enter(function as usize);
            // SAFETY: the instance is alive; the arguments are as promised.
            let status = unsafe { function(self.pointer, $($argument),*) };
            self.check($name, status)
        }
    };
}
pub(crate) use functions;
