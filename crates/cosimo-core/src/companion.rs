//! Companions: the same system, run beside a run to compare with it. Each lives on one thread, which is marked here, so that
//! components keep apart what belongs to the run itself: counted messages, logs of calls, variables of loaded libraries.

use std::cell::Cell;

thread_local! {
    static COMPANION: Cell<bool> = const { Cell::new(false) };
}

/// Components that are called on this thread from now on belong to companions.
pub fn mark_thread() {
    COMPANION.set(true);
}

/// Whether components on this thread belong to companions.
pub fn is_companion() -> bool {
    COMPANION.get()
}

#[cfg(test)]
mod tests {
    #[test]
    fn only_the_marked_thread_has_companions() {
        let marked = std::thread::spawn(|| {
            super::mark_thread();
            super::is_companion()
        });
        assert!(marked.join().is_ok_and(|companion| companion));
        assert!(!super::is_companion());
    }
}
