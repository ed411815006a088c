//! No step allocates, on whatever thread and by whatever method: counted, not believed.
//!
//! One test only. Threads that ran before it (the one of the test harness) are not counted; all others are.
#![allow(clippy::unwrap_used)] // helpers of tests are tests
#![allow(unsafe_code)] // an allocator cannot be written without

#[path = "common/mod.rs"]
mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use common::{DUAL_MASS, DualMass, Made, folder, sample, side_by_side, start};
use cosimo::core::Time;
use cosimo::engine::Run;
use cosimo::export::{Variant, Version};
use cosimo::record::{FORMATS, Files};
use cosimo::report::{CurveBudget, Reasons, Recording, Rejections, StepCurves};

struct Counting;

static TEST_RUNS: AtomicBool = AtomicBool::new(false);
static COUNTING: AtomicBool = AtomicBool::new(false);
static COUNT: AtomicU64 = AtomicU64::new(0);

#[derive(Clone, Copy, PartialEq)]
enum Thread {
    New,
    Counted,
    Harness,
}

thread_local! {
    static THREAD: Cell<Thread> = const { Cell::new(Thread::New) };
}

fn note() {
    let thread = THREAD.get();
    if thread == Thread::New {
        let test = TEST_RUNS.load(Ordering::Relaxed);
        THREAD.set(if test { Thread::Counted } else { Thread::Harness });
    }
    if COUNTING.load(Ordering::Relaxed) && THREAD.get() == Thread::Counted {
        COUNT.fetch_add(1, Ordering::Relaxed);
    }
}

// SAFETY: every call goes to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note();
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        note();
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note();
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// How often memory was taken or given back in the given number of steps after the first.
fn allocations(text: &str, threads: usize, steps: usize) -> u64 {
    counted(start(text, threads), steps)
}

fn counted(run: Run, steps: usize) -> u64 {
    watched(run, steps, |_| {})
}

/// The same with a callback after every step.
fn watched(mut run: Run, steps: usize, mut look: impl FnMut(&Run)) -> u64 {
    run.step().unwrap();
    look(&run);
    COUNT.store(0, Ordering::SeqCst);
    COUNTING.store(true, Ordering::SeqCst);
    for _ in 0..steps {
        run.step().unwrap();
        look(&run);
    }
    COUNTING.store(false, Ordering::SeqCst);
    COUNT.load(Ordering::SeqCst)
}

#[test]
fn no_step_after_the_first_allocates() {
    TEST_RUNS.store(true, Ordering::SeqCst);
    THREAD.set(Thread::Counted);

    // The counter counts, here and on other threads.
    COUNTING.store(true, Ordering::SeqCst);
    std::thread::spawn(|| drop(std::hint::black_box(vec![1.0; 100]))).join().unwrap();
    COUNTING.store(false, Ordering::SeqCst);
    assert!(COUNT.load(Ordering::SeqCst) > 4);

    let combinations = sample();
    for (place, method) in combinations.iter().enumerate() {
        let text = DualMass { stop: 1000.0, method, ..DUAL_MASS }.text();
        assert_eq!(allocations(&text, 1, 40), 0, "{method}");
        // Methods do not see threads, and handing over takes its time.
        if place % 7 == 0 {
            assert_eq!(allocations(&text, 2, 40), 0, "2 threads, {method}");
        }
    }
    // Nor where the time of every call is taken.
    for threads in [1, 2] {
        let method = "step = { size = 1e-3 }";
        let mut run = start(&DualMass { stop: 1000.0, method, ..DUAL_MASS }.text(), threads);
        run.take_times();
        assert_eq!(counted(run, 40), 0, "times, {threads} threads");
    }
    // Nor where feed-through is found.
    let method = "correction = { nepce = { feedthrough = \"identified\" } }\nstep = { size = 0.02 }";
    assert_eq!(allocations(&DualMass { stop: 1000.0, method, ..DUAL_MASS }.text(), 1, 60), 0, "{method}");
    // Units take their memory in their own library; what is ours takes none. Each kind with a part of the rest.
    for (method, made) in combinations.iter().zip(Made::UNITS.iter().cycle()).step_by(4) {
        if made.fits(method) {
            let text = DualMass { stop: 1000.0, method, made: *made, ..DUAL_MASS }.text();
            assert_eq!(allocations(&text, 1, 20), 0, "{made:?}, {method}");
        }
    }
    // Nor do steps of components' own, several in a window or one over several.
    for (place, method) in combinations.iter().enumerate().step_by(5) {
        let made = if place % 3 == 0 { Made::UNITS[place % Made::UNITS.len()] } else { Made::Native };
        if made.fits(method) {
            let text = DualMass { stop: 1000.0, method, made, ..DUAL_MASS }.text();
            let text = text.replace("[component.left]\n", "[component.left]\nstep = 0.1\n");
            let text = text.replace("[component.right]\n", "[component.right]\nstep = 0.01\n");
            let threads = if place % 7 == 0 { 2 } else { 1 };
            assert_eq!(
                allocations(&text, threads, 40),
                0,
                "own steps, {threads} threads, {made:?}, {method}"
            );
        }
    }
    // Nor do slaves of FMI 1.0, which keep what they are told only until the first step.
    for variant in [Variant::Plain, Variant::Interpolates] {
        let (made, method) = (Made::Unit(Version::One, variant), "input = \"linear\"\nstep = { size = 0.1 }");
        let text = DualMass { stop: 1000.0, method, made, ..DUAL_MASS }.text();
        assert_eq!(allocations(&text, 1, 40), 0, "{made:?}");
    }
    // Nor do units that are integrated together.
    for made in [Made::UNITS[3], Made::UNITS[4]] {
        let text = DualMass { stop: 1000.0, method: "step = { size = 0.1 }", made, ..DUAL_MASS }.text();
        let text = format!("{text}[monolithic.whole]\ncomponents = [\"left\", \"right\"]\n");
        assert_eq!(allocations(&text, 1, 20), 0, "{made:?}, integrated together");
    }
    let loops = ["first", "second", "lag"].map(|part| Made::UNITS[4].source(&format!("gain-loop/{part}")));
    assert_eq!(allocations(&common::gain_loop(&loops, 3.0, -2.0), 1, 20), 0, "a loop inside");
    // Nor do events: those of a unit for co-simulation with an event mode, and those that its listener hears of.
    let (stair, driven) =
        (Made::Unit(Version::Three, Variant::Plain).source("stair"), Made::UNITS[4].source("driven"));
    let text = format!(
        "[experiment]\nstop = 1000\n[component.stair]\nsource = \"{stair}\"\nparameters = {{ period = 0.07 }}\n\
         [component.driven]\nsource = \"{driven}\"\n[[connection]]\nfrom = \"stair.level\"\nto = \"driven.u\"\n\
         [method]\nstep = {{ size = 0.1 }}\n"
    );
    assert_eq!(allocations(&text, 1, 40), 0, "events");
    // Nor does a row, between one chunk and the next: as many of them as fill none. The thread that writes looks at the
    // clock, and on a busy machine its time may come in between; hardly three times in a row.
    for format in FORMATS {
        let path = folder().join(format!("allocation.{}", format.endings[0]));
        let count = || {
            let text = DualMass { stop: 1000.0, method: "step = { size = 1e-3 }", ..DUAL_MASS }.text();
            let mut run = start(&text, 1);
            run.record(Box::new(Files::new(std::slice::from_ref(&path), FORMATS).unwrap())).unwrap();
            counted(run, 300)
        };
        assert_eq!((0..3).map(|_| count()).min(), Some(0), "{}", format.name);
    }
    for method in combinations.iter().step_by(41) {
        assert_eq!(allocations(&side_by_side(4, method), 8, 20), 0, "{method}");
    }

    // Nor do islands at the ends of a line, once their tables hold what they look back to: alone, and with a method inside.
    let line = "[experiment]\nstop = 1000\n[results]\nevery = 1e-3\n\
                [component.left]\nsource = \"native:spring-mass/left\"\n\
                [component.right]\nsource = \"native:spring-mass/right\"\n\
                [[bond]]\nname = \"spring\"\na = { effort = \"left.e\", flow = \"left.f\" }\n\
                b = { effort = \"right.e\", flow = \"right.f\" }\nopposite = \"flow\"\n";
    let control =
        "control = \"steady-state\", steady = { sliding-window = { window = 0.01, tolerance = 0.1 } }";
    for way in ["boundary = \"corrected\"", control] {
        for threads in [1, 2] {
            let text = format!("{line}line = {{ delay = 1e-4, stiffness = 1e3, {way} }}\n");
            let mut run = start(&text, threads);
            run.run_until(Time::new(0.7).unwrap()).unwrap();
            assert_eq!(counted(run, 200), 0, "lines, {threads} threads, {way}");
        }
    }
    // Nor do conditions, nor what they do to signals.
    let method = "correction = { nepce = { gain = 0.5 } }\nstep = { size = 1e-3 }";
    let registry = cosimo::registry();
    let mut acted = common::system(&DualMass { stop: 1000.0, method, ..DUAL_MASS }.text(), &registry);
    let actions = "[[action]]\nonce = false\nwhen = \"left.x > right.x and t > 0\"\nstuck = \"right.f\"\n\
                   [[action]]\nonce = false\nwhen = \"not (left.x > right.x) or -right.v * 2 > 9\"\nrelease = \"right.f\"\n\
                   [[action]]\nat = 0.5\nscale = \"left.v_far\"\nby = 0.5\n";
    acted.scenario = Some(cosimo::system::scenario::read(actions).0);
    let run = Run::new(cosimo::engine::plan(&acted, &registry).unwrap(), 1).unwrap();
    assert_eq!(counted(run, 9_000), 0, "with a scenario");

    // Nor does keeping curves for a report, over several times what it keeps.
    let method = "step = { size = 1e-3 }";
    let mut run = start(&DualMass { stop: 1000.0, method, ..DUAL_MASS }.text(), 1);
    run.record(Box::new(Recording::new(CurveBudget::SIGNALS).recorder())).unwrap();
    run.take_times();
    let (mut books, mut why, mut rejections) =
        (StepCurves::default(), Reasons::default(), Rejections::default());
    books.begin(&run, &[]);
    why.begin(0.0, &run.counters());
    let look = |run: &Run| {
        books.observe(run);
        why.observe(run.time().seconds(), &run.counters());
        rejections.observe(run.time().seconds(), run.counters().rejected);
    };
    assert_eq!(watched(run, 60_000, look), 0, "with a report");
}
