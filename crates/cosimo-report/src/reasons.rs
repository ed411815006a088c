//! Why steps had their size, over time and in bounded memory: counters that grow from step to step, gathered in groups
//! of equally many steps. When there are many groups, neighbours become one.

use cosimo_engine::Counters;

/// Groups that a picture can hold.
const GROUPS: usize = 1024;

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Reasons {
    groups: Vec<Group>,
    /// Steps in a full group.
    share: u64,
    seen: [u64; 6],
    steps: u64,
}

/// Steps between two instants, and how many of them had each of the reasons.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Group {
    pub from: f64,
    pub to: f64,
    pub steps: u64,
    pub counts: [u64; 6],
}

impl Reasons {
    /// Where the run stands before its first step here: all memory is taken now.
    pub fn begin(&mut self, time: f64, counters: &Counters) {
        *self = Reasons {
            groups: Vec::with_capacity(GROUPS),
            share: 1,
            seen: counters.reasons().map(|(_, count)| count),
            steps: counters.steps,
        };
        self.groups.push(Group { from: time, to: time, steps: 0, counts: [0; 6] });
    }

    /// To be called after every step with the end of it and the counts so far.
    pub fn look(&mut self, time: f64, counters: &Counters) {
        let now = counters.reasons().map(|(_, count)| count);
        let steps = counters.steps.saturating_sub(self.steps);
        if self.groups.last().is_some_and(|group| group.steps >= self.share) {
            if self.groups.len() == GROUPS {
                self.halve();
            }
            if let Some(from) =
                self.groups.last().filter(|group| group.steps >= self.share).map(|group| group.to)
            {
                self.groups.push(Group { from, to: from, steps: 0, counts: [0; 6] });
            }
        }
        if let Some(group) = self.groups.last_mut() {
            group.to = time;
            group.steps += steps;
            for (count, (now, seen)) in group.counts.iter_mut().zip(now.iter().zip(&self.seen)) {
                *count += now.saturating_sub(*seen);
            }
        }
        (self.seen, self.steps) = (now, counters.steps);
    }

    fn halve(&mut self) {
        for k in 0..GROUPS / 2 {
            let (one, other) = (self.groups[2 * k], self.groups[2 * k + 1]);
            let mut counts = one.counts;
            counts.iter_mut().zip(other.counts).for_each(|(count, more)| *count += more);
            self.groups[k] = Group { from: one.from, to: other.to, steps: one.steps + other.steps, counts };
        }
        self.groups.truncate(GROUPS / 2);
        self.share *= 2;
    }

    /// One after the other without gaps.
    pub fn groups(&self) -> &[Group] {
        &self.groups
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_and_reason_is_counted_once() {
        for steps in [1, 1023, 1024, 1025, 100_000] {
            let mut kept = Reasons::default();
            // A run that goes on has counted before.
            let mut counters = Counters { steps: 7, at_maximum: 3, ..Counters::default() };
            kept.begin(1.0, &counters);
            for step in 1..=steps {
                counters.steps += 1;
                counters.at_maximum += u64::from(step % 3 == 0);
                counters.events += u64::from(step == 900);
                kept.look(1.0 + step as f64, &counters);
            }
            let groups = kept.groups();
            let sum = |of: fn(&Group) -> u64| groups.iter().map(of).sum::<u64>();
            assert_eq!(sum(|group| group.steps), steps);
            assert_eq!(sum(|group| group.counts[2]), steps / 3);
            assert_eq!(sum(|group| group.counts[5]), u64::from(steps >= 900));
            assert!(groups.len() <= GROUPS && kept.groups.capacity() == GROUPS, "{steps}");
            assert_eq!((groups[0].from, groups[groups.len() - 1].to), (1.0, 1.0 + steps as f64));
            assert!(groups.windows(2).all(|pair| pair[0].to == pair[1].from && pair[0].from < pair[0].to));
        }
    }
}
