//! Worker threads, each with a share of the simulators of an island, or of the islands of a system.
//!
//! The data of a worker is behind a mutex that is never contended: the coordinator accesses it while the worker rests, sets a
//! task, increments a counter and waits. Workers spin briefly, then park: spinning alone collapses on a loaded machine.
//! No call allocates.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle, Thread};

/// Iterations of the spinning wait before a thread parks.
const SPINS: u32 = 200;

/// The data and work of a thread.
pub(crate) trait WorkerGroup: Send + 'static {
    /// Performs the task set by the coordinator. Panics of simulators are caught inside.
    fn work(&mut self);

    /// Frees what must be freed on its own thread.
    fn end(&mut self);
}

/// A thread and its group.
pub(crate) struct Worker<G> {
    shared: Arc<WorkerState<G>>,
    thread: Option<JoinHandle<()>>,
}

struct WorkerState<G> {
    desk: Mutex<Mailbox<G>>,
    /// Counts tasks started and done.
    given: AtomicU32,
    done: AtomicU32,
    over: AtomicBool,
}

struct Mailbox<G> {
    group: G,
    coordinator: Option<Thread>,
}

/// One contiguous share per thread; the first is the coordinator's.
pub(crate) fn shares<T>(all: Vec<T>, threads: usize) -> Vec<Vec<T>> {
    let share = all.len().div_ceil(threads.clamp(1, all.len().max(1))).max(1);
    let mut rest = all.into_iter();
    let mut shares = vec![rest.by_ref().take(share).collect()];
    while rest.len() > 0 {
        shares.push(rest.by_ref().take(share).collect());
    }
    shares
}

impl<G: WorkerGroup> Worker<G> {
    pub(crate) fn start(group: G) -> Worker<G> {
        let shared = Arc::new(WorkerState {
            desk: Mutex::new(Mailbox { group, coordinator: None }),
            given: AtomicU32::new(0),
            done: AtomicU32::new(0),
            over: AtomicBool::new(false),
        });
        let seen = Arc::clone(&shared);
        let thread = thread::spawn(move || seen.serve());
        Worker { shared, thread: Some(thread) }
    }

    /// Accesses the group while it rests.
    pub(crate) fn at_rest<R>(&self, look: impl FnOnce(&mut G) -> R) -> R {
        look(&mut self.shared.lock().group)
    }

    /// Starts the task that `ask` sets.
    pub(crate) fn give(&self, ask: impl FnOnce(&mut G)) {
        let mut desk = self.shared.lock();
        ask(&mut desk.group);
        desk.coordinator = Some(thread::current());
        drop(desk);
        self.shared.given.fetch_add(1, Ordering::Release);
        if let Some(thread) = &self.thread {
            thread.thread().unpark();
        }
    }

    /// Waits for the last task and accesses the group.
    pub(crate) fn take<R>(&self, look: impl FnOnce(&mut G) -> R) -> R {
        let given = self.shared.given.load(Ordering::Relaxed);
        wait_until(|| self.shared.done.load(Ordering::Acquire) == given);
        self.at_rest(look)
    }
}

impl<G> Drop for Worker<G> {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // A panic of the worker was reported when it happened.
            let _ = thread.join();
        }
    }
}

impl<G> WorkerState<G> {
    /// Panics of simulators are caught inside, so the lock is never poisoned by them.
    fn lock(&self) -> MutexGuard<'_, Mailbox<G>> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<G: WorkerGroup> WorkerState<G> {
    /// The loop of the worker thread.
    fn serve(&self) {
        let mut served = 0;
        loop {
            wait_until(|| self.over.load(Ordering::Acquire) || self.given.load(Ordering::Acquire) != served);
            if self.over.load(Ordering::Acquire) {
                break;
            }
            served = self.given.load(Ordering::Acquire);
            let mut desk = self.lock();
            desk.group.work();
            let coordinator = desk.coordinator.take();
            drop(desk);
            self.done.store(served, Ordering::Release);
            if let Some(thread) = coordinator {
                thread.unpark();
            }
        }
        self.lock().group.end();
    }
}

fn wait_until(condition: impl Fn() -> bool) {
    for _ in 0..SPINS {
        if condition() {
            return;
        }
        std::hint::spin_loop();
    }
    while !condition() {
        thread::park();
    }
}

#[cfg(test)]
mod tests {
    use super::shares;

    #[test]
    fn neighbours_share_a_thread_and_the_coordinator_has_the_first() {
        assert_eq!(shares(vec![1, 2, 3, 4, 5], 2), [vec![1, 2, 3], vec![4, 5]]);
        assert_eq!(shares(vec![1, 2], 8), [[1], [2]]);
        assert_eq!(shares(vec![1, 2, 3], 0), [[1, 2, 3]]);
        assert_eq!(shares(Vec::<u8>::new(), 4), [Vec::<u8>::new()]);
    }
}
