//! No step allocates, by whatever method; nor does rewinding or looking for events.
//!
//! Counted on the thread of the test alone: that of the harness allocates when it likes.
#![allow(unsafe_code)] // an allocator cannot be written without
#![allow(clippy::unwrap_used)] // helpers of tests are tests

mod common;

use std::alloc::{GlobalAlloc, Layout, System as Memory};
use std::cell::Cell;

use common::{VanDerPol, settings, started};
use cosimo_ode::{INTEGRATORS, Roots};

struct Counting;

thread_local! {
    static COUNTING: Cell<bool> = const { Cell::new(false) };
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

fn note() {
    if COUNTING.get() {
        COUNT.set(COUNT.get() + 1);
    }
}

// SAFETY: every call goes to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note();
        unsafe { Memory.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        note();
        unsafe { Memory.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note();
        unsafe { Memory.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn counted(work: impl FnOnce()) -> u64 {
    COUNT.set(0);
    COUNTING.set(true);
    work();
    COUNTING.set(false);
    COUNT.get()
}

#[test]
fn nothing_is_allocated_after_construction() {
    assert_eq!(counted(|| drop(std::hint::black_box(vec![1.0; 100]))), 2);
    for entry in INTEGRATORS {
        let mut integrator = started(entry.name, &settings(1e-6, 1e-8), 0.0, &[2.0, 0.0]);
        // CVODE is made for the first step.
        integrator.step(&mut VanDerPol(10.0), 1e3).unwrap();
        let mut saved = integrator.clone();
        // One that starts anew where it was rewound would not get far otherwise.
        let often = if integrator.rewinds_exactly() { 7 } else { 100 };
        let mut roots = Roots::new(1, 2);
        let mut bytes = Vec::with_capacity(10_000);
        let mut x = [0.0; 2];
        let work = || {
            let mut system = VanDerPol(10.0);
            roots.start(&mut integrator, &mut system).unwrap();
            let mut events = 0;
            for step in 0..2_000 {
                if step % often == 0 {
                    saved.copy_from(&integrator);
                }
                integrator.step(&mut system, 1e3).unwrap();
                if step % often == 3 {
                    integrator.copy_from(&saved);
                    integrator.step(&mut system, 1e3).unwrap();
                }
                if roots.search(&mut integrator, &mut system).unwrap().is_some() {
                    events += 1;
                    x.copy_from_slice(integrator.state());
                    integrator.restart(integrator.time(), &x);
                    roots.start(&mut integrator, &mut system).unwrap();
                }
                bytes.clear();
                integrator.serialize(&mut bytes);
            }
            assert!(events > 3);
        };
        assert_eq!(counted(work), 0, "{}", entry.name);
    }
}
