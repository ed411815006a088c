//! Messages of slaves. The logger of FMI 1.0 is given no environment but the instance, so that messages find their log by
//! a list of living instances. What an FMU hands over is compared, never looked through: some hand over something else.

use std::cell::RefCell;
use std::ffi::{c_char, c_int, c_void};
use std::sync::{Arc, Mutex, PoisonError};

use crate::log::{MessageLog, lossy};

/// Instances that may speak, by the address that their FMU knows them by.
static LIVING: Mutex<Vec<(usize, String, Arc<MessageLog>)>> = Mutex::new(Vec::new());

thread_local! {
    /// The log of an instance that is being made and has no address yet.
    static BEGINNING: RefCell<Option<Arc<MessageLog>>> = const { RefCell::new(None) };
}

/// Messages of an instance go to its log as long as this lives.
#[derive(Debug)]
pub(crate) struct LogRegistration(usize);

impl LogRegistration {
    pub(crate) fn to(component: *mut c_void, name: &str, log: &Arc<MessageLog>) -> LogRegistration {
        let mut living = LIVING.lock().unwrap_or_else(PoisonError::into_inner);
        living.push((component as usize, name.to_owned(), log.clone()));
        LogRegistration(component as usize)
    }
}

impl Drop for LogRegistration {
    fn drop(&mut self) {
        let mut living = LIVING.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = living.iter().position(|(component, ..)| *component == self.0) {
            living.swap_remove(place);
        }
    }
}

/// Runs the call that makes an instance; what is said meanwhile on this thread goes to its log.
pub(crate) fn while_beginning<T>(log: &Arc<MessageLog>, make: impl FnOnce() -> T) -> T {
    BEGINNING.set(Some(log.clone()));
    let made = make();
    BEGINNING.set(None);
    made
}

/// Which log a message is for: that of the instance, else of the one that is being made, else of the only one of that
/// name.
fn find(component: usize, name: impl FnOnce() -> String) -> Option<Arc<MessageLog>> {
    let living = LIVING.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((.., log)) = living.iter().find(|(known, ..)| *known == component && component != 0) {
        return Some(log.clone());
    }
    if let Some(log) = BEGINNING.with_borrow(Clone::clone) {
        return Some(log);
    }
    let name = name();
    let mut named = living.iter().filter(|(_, known, _)| *known == name);
    match (named.next(), named.next()) {
        (Some((.., log)), None) => Some(log.clone()),
        _ => None,
    }
}

/// Called by the shim, with the message formatted. Texts are zero-terminated or null.
#[unsafe(no_mangle)]
unsafe extern "C" fn cosimo_fmi1_say(
    component: *mut c_void,
    instance: *const c_char,
    status: c_int,
    category: *const c_char,
    text: *const c_char,
) {
    // SAFETY: C strings or null, as the standard demands; the component is compared only.
    unsafe {
        if let Some(log) = find(component as usize, || lossy(instance)) {
            log.push(status, &lossy(category), &lossy(text));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_find_their_log_by_address_then_by_name() {
        let [a, b] = ["logger test a", "logger test b"].map(|name| Arc::new(MessageLog::new(name)));
        let address = |number: usize| number as *mut c_void;
        let is = |found: Option<Arc<MessageLog>>, wanted: &Arc<MessageLog>| {
            found.is_some_and(|found| Arc::ptr_eq(&found, wanted))
        };
        let unasked = || panic!("the name is not needed");
        let first = LogRegistration::to(address(0x10), "logger test a", &a);
        let second = LogRegistration::to(address(0x20), "logger test b", &b);
        assert!(is(find(0x10, unasked), &a) && is(find(0x20, unasked), &b));
        // Something else is handed over, such as a small number or null.
        assert!(is(find(7, || "logger test b".into()), &b));
        assert!(is(find(0, || "logger test a".into()), &a));
        assert!(find(7, || "another".into()).is_none());
        assert!(is(while_beginning(&b, || find(0, || "logger test a".into())), &b));
        let twin = LogRegistration::to(address(0x30), "logger test b", &b);
        assert!(find(7, || "logger test b".into()).is_none());
        drop((first, second, twin));
        assert!(find(0x10, || "logger test a".into()).is_none());
    }
}
