//! One list of rooms, for their sizes and for what they hold: whoever lays out memory or scratch names every room once,
//! and asks for the next so many numbers.

/// Parts of what is lent for reading, one after the other.
pub(crate) fn parts<'a>(mut lent: &'a [f64]) -> impl FnMut(usize) -> &'a [f64] {
    move |size| {
        let (part, behind) = lent.split_at(size);
        lent = behind;
        part
    }
}

/// Parts of what is lent for writing.
pub(crate) fn parts_mut<'a>(mut lent: &'a mut [f64]) -> impl FnMut(usize) -> &'a mut [f64] {
    move |size| {
        let (part, behind) = std::mem::take(&mut lent).split_at_mut(size);
        lent = behind;
        part
    }
}

/// How many numbers a list of rooms asks for.
pub(crate) fn total<T>(list: impl FnOnce(&mut dyn FnMut(usize)) -> T) -> usize {
    let mut sum = 0;
    list(&mut |size| sum += size);
    sum
}
