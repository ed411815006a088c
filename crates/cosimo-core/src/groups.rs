//! A history of steps in bounded memory: groups of equally many steps. When there are too many, neighbours are merged.

/// At most `MOST` groups. All memory is allocated at once: steps must not allocate.
#[derive(Debug, Clone, PartialEq)]
pub struct Groups<T, const MOST: usize> {
    groups: Vec<T>,
    share: u64,
    in_last: u64,
}

impl<T, const MOST: usize> Default for Groups<T, MOST> {
    fn default() -> Groups<T, MOST> {
        Groups { groups: Vec::with_capacity(MOST), share: 1, in_last: 0 }
    }
}

impl<T: Copy, const MOST: usize> Groups<T, MOST> {
    /// Adds an entry for so many steps; `merge` combines two successive entries.
    pub fn add(&mut self, new: T, steps: u64, merge: impl Fn(T, T) -> T) {
        match self.groups.last_mut() {
            Some(last) if self.in_last < self.share => {
                *last = merge(*last, new);
                self.in_last += steps;
            }
            _ => {
                if self.groups.len() == MOST {
                    for k in 0..MOST / 2 {
                        self.groups[k] = merge(self.groups[2 * k], self.groups[2 * k + 1]);
                    }
                    self.groups.truncate(MOST / 2);
                    self.share *= 2;
                }
                self.groups.push(new);
                self.in_last = steps;
            }
        }
    }

    /// All groups in order, without gaps.
    pub fn all(&self) -> &[T] {
        &self.groups
    }

    /// Steps in each group but the last.
    pub fn share(&self) -> u64 {
        self.share
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_does_not_grow_and_nothing_is_lost() {
        let mut groups = Groups::<u64, 256>::default();
        (0..1_000_000).for_each(|_| groups.add(1, 1, |one, later| one + later));
        assert!((128..=256).contains(&groups.all().len()) && groups.groups.capacity() == 256);
        assert_eq!(groups.all().iter().sum::<u64>(), 1_000_000);
        let (last, full) = groups.all().split_last().unwrap();
        assert!(full.iter().all(|steps| *steps == groups.share()) && *last <= groups.share());
    }
}
