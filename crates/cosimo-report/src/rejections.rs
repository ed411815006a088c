//! When steps were rejected, in bounded memory: no row tells, only a counter that grows between two of them.

/// Marks that a picture can hold; beyond, neighbours become one.
const MARKS: usize = 2048;

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Rejections {
    marks: Vec<(f64, u64)>,
    seen: u64,
    /// How many neighbours were merged into each mark; new ones fill the last.
    share: usize,
    in_last: usize,
}

impl Rejections {
    /// To be called after every step with the end of it and the count so far.
    pub fn look(&mut self, time: f64, count: u64) {
        let new = count.saturating_sub(self.seen);
        self.seen = count;
        if new == 0 {
            return;
        }
        match self.marks.last_mut() {
            Some(last) if self.in_last < self.share => {
                last.1 += new;
                self.in_last += 1;
            }
            _ => {
                if self.marks.len() == MARKS {
                    self.halve();
                }
                self.marks.reserve_exact(MARKS - self.marks.len());
                self.marks.push((time, new));
                self.in_last = 1;
            }
        }
    }

    fn halve(&mut self) {
        for k in 0..MARKS / 2 {
            self.marks[k] = (self.marks[2 * k].0, self.marks[2 * k].1 + self.marks[2 * k + 1].1);
        }
        self.marks.truncate(MARKS / 2);
        self.share = 2 * self.share.max(1);
    }

    /// Instants, and how many attempts were rejected on the way there.
    pub fn marks(&self) -> &[(f64, u64)] {
        &self.marks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_steps_with_rejections_are_marked() {
        let mut rejections = Rejections::default();
        for (time, count) in [(0.1, 0), (0.2, 2), (0.3, 2), (0.4, 3)] {
            rejections.look(time, count);
        }
        assert_eq!(rejections.marks(), [(0.2, 2), (0.4, 1)]);
    }

    #[test]
    fn none_is_lost_when_there_are_many() {
        let mut rejections = Rejections::default();
        for step in 1..=1_000_000_u64 {
            rejections.look(step as f64, 3 * step);
        }
        assert!(rejections.marks().len() <= MARKS && rejections.marks().len() >= MARKS / 2);
        assert_eq!(rejections.marks().iter().map(|mark| mark.1).sum::<u64>(), 3_000_000);
        assert!(rejections.marks().windows(2).all(|pair| pair[0].0 < pair[1].0));
    }
}
