//! Layout of memory and scratch: one function lists every part once, by asking for the next so many numbers, and serves
//! both for sizes and for slices.

/// Successive parts of a slice, for reading.
pub(crate) fn parts<'a>(mut lent: &'a [f64]) -> impl FnMut(usize) -> &'a [f64] {
    move |size| {
        let (part, behind) = lent.split_at(size);
        lent = behind;
        part
    }
}

/// Successive parts of a slice, for writing.
pub(crate) fn parts_mut<'a>(mut lent: &'a mut [f64]) -> impl FnMut(usize) -> &'a mut [f64] {
    move |size| {
        let (part, behind) = std::mem::take(&mut lent).split_at_mut(size);
        lent = behind;
        part
    }
}

/// The total size of a layout.
pub(crate) fn total<T>(list: impl FnOnce(&mut dyn FnMut(usize)) -> T) -> usize {
    let mut sum = 0;
    list(&mut |size| sum += size);
    sum
}
