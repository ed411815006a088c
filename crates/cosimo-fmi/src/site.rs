//! Which FMI call each instance is in, for the case that it never comes back from it: a crash, an `exit`, a loop without
//! end. Noting a call costs two stores. What is noted is read by signal handlers, so there is no lock and no memory of
//! the heap in it.

use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Bytes of a name that are kept.
const NAME: usize = 80;

/// Addresses of an FMU's functions, with their names.
pub(crate) type CallNames = Vec<(usize, &'static str)>;

/// The notes of one instance. They are taken over by a later instance and never freed.
#[derive(Debug)]
pub(crate) struct Site {
    taken: AtomicBool,
    /// Of the function that is being executed, or 0.
    function: AtomicUsize,
    /// Where the last step began, as the bits of a double.
    time: AtomicU64,
    /// The thread that makes all calls of the instance.
    thread: AtomicUsize,
    name: [AtomicU8; NAME],
    length: AtomicUsize,
    /// Never freed.
    names: AtomicPtr<CallNames>,
    next: AtomicPtr<Site>,
}

static FIRST: AtomicPtr<Site> = AtomicPtr::new(std::ptr::null_mut());

fn sites() -> impl Iterator<Item = &'static Site> {
    // SAFETY: null, or a site, which is never freed.
    let site = |place: &AtomicPtr<Site>| unsafe { place.load(Ordering::Acquire).as_ref() };
    std::iter::successors(site(&FIRST), move |found| site(&found.next))
}

/// A place for names that is never freed. There is one per library: all its instances have the same.
fn leak_names(names: CallNames) -> *const CallNames {
    static KEPT: Mutex<Vec<&'static CallNames>> = Mutex::new(Vec::new());
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    let known = kept.iter().copied().find(|known| **known == names);
    known.unwrap_or_else(|| {
        let names: &'static CallNames = Box::leak(Box::new(names));
        kept.push(names);
        names
    })
}

impl Site {
    /// For an instance that this thread makes.
    pub(crate) fn take(instance: &str, names: CallNames) -> &'static Site {
        let free = |site: &&Site| !site.taken.swap(true, Ordering::AcqRel);
        let site = sites().find(free).unwrap_or_else(|| {
            let site = Box::leak(Box::new(Site {
                taken: AtomicBool::new(true),
                function: AtomicUsize::new(0),
                time: AtomicU64::new(f64::NAN.to_bits()),
                thread: AtomicUsize::new(0),
                name: [const { AtomicU8::new(0) }; NAME],
                length: AtomicUsize::new(0),
                names: AtomicPtr::default(),
                next: AtomicPtr::default(),
            }));
            let mut first = FIRST.load(Ordering::Acquire);
            loop {
                site.next.store(first, Ordering::Release);
                match FIRST.compare_exchange(first, site, Ordering::AcqRel, Ordering::Acquire) {
                    Ok(_) => break site,
                    Err(now) => first = now,
                }
            }
        });
        let mut shown = instance.len().min(NAME);
        while !instance.is_char_boundary(shown) {
            shown -= 1;
        }
        instance.as_bytes()[..shown].iter().zip(&site.name).for_each(|(byte, cell)| {
            cell.store(*byte, Ordering::Relaxed);
        });
        site.length.store(shown, Ordering::Relaxed);
        site.thread.store(this_thread(), Ordering::Relaxed);
        site.time.store(f64::NAN.to_bits(), Ordering::Relaxed);
        site.names.store(leak_names(names).cast_mut(), Ordering::Release);
        site
    }

    #[inline(always)]
    pub(crate) fn enter(&self, function: usize) {
        self.function.store(function, Ordering::Relaxed);
    }

    #[inline(always)]
    pub(crate) fn enter_step(&self, function: usize, from: f64) {
        self.at(from);
        self.enter(function);
    }

    #[inline(always)]
    pub(crate) fn leave(&self) {
        self.function.store(0, Ordering::Relaxed);
    }

    #[inline(always)]
    pub(crate) fn at(&self, time: f64) {
        self.time.store(time.to_bits(), Ordering::Relaxed);
    }

    /// The instance is gone.
    pub(crate) fn give_back(&self) {
        self.leave();
        self.taken.store(false, Ordering::Release);
    }
}

/// A call that is being executed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Call {
    name: [u8; NAME],
    length: usize,
    pub(crate) function: &'static str,
    /// Not before the first step.
    pub(crate) time: Option<f64>,
}

impl Call {
    pub(crate) fn instance(&self) -> &[u8] {
        self.name.get(..self.length).unwrap_or_default()
    }
}

/// The call that this thread is in; or, if it is in none, one that another thread is in. May be called from a signal
/// handler.
pub(crate) fn present(of_others: bool) -> Option<Call> {
    let thread = this_thread();
    let busy = |site: &&Site| site.function.load(Ordering::Acquire) != 0;
    let own = |site: &&Site| site.thread.load(Ordering::Relaxed) == thread;
    let site = sites().filter(busy).find(own);
    let site = site.or_else(|| sites().find(busy).filter(|_| of_others))?;
    let function = site.function.load(Ordering::Acquire);
    // SAFETY: null, or names that are never freed.
    let names = unsafe { site.names.load(Ordering::Acquire).as_ref() };
    let known = names.into_iter().flatten().find(|(address, _)| *address == function);
    let mut name = [0; NAME];
    name.iter_mut().zip(&site.name).for_each(|(byte, cell)| *byte = cell.load(Ordering::Relaxed));
    let time = f64::from_bits(site.time.load(Ordering::Relaxed));
    Some(Call {
        name,
        length: site.length.load(Ordering::Relaxed),
        function: known.map_or("a function", |(_, name)| name),
        time: Some(time).filter(|time| time.is_finite()),
    })
}

#[cfg(unix)]
fn this_thread() -> usize {
    // SAFETY: has no conditions.
    unsafe { libc::pthread_self() as usize }
}

#[cfg(not(unix))]
fn this_thread() -> usize {
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_known_while_it_lasts() {
        let (one, two) = (Site::take("one", vec![(7, "f")]), Site::take("two", vec![(8, "g")]));
        one.enter(7);
        let call = present(false).unwrap();
        assert_eq!((call.instance(), call.function, call.time), (b"one".as_slice(), "f", None));
        one.leave();
        two.at(1.5);
        two.enter(8);
        let call = present(false).unwrap();
        assert_eq!((call.instance(), call.function, call.time), (b"two".as_slice(), "g", Some(1.5)));
        let other =
            std::thread::spawn(|| (present(false).is_none(), present(true).map(|call| call.function)));
        assert_eq!(other.join().unwrap(), (true, Some("g")));
        two.give_back();
        assert!(present(true).is_none());
        // Sites are used again.
        let again = Site::take("a", Vec::new());
        assert!(std::ptr::eq(again, one) || std::ptr::eq(again, two));
        one.give_back();
        again.give_back();
    }
}
