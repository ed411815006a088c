//! A unit of FMI 3.0 with clocks of three kinds. `tick` is periodic, and the importer activates it on time. Every third
//! tick starts a countdown, after which the importer is to activate `alarm`. Every fourth tick activates `full`, which
//! the importer is to read. `ticks` and `alarms` are clocked by the first two.
//!
//! It refuses what an importer of clocks must not do: ticks at other instants, and steps over a tick.

pub(crate) const SUMMARY: &str =
    "counts the ticks of a periodic clock, with a countdown and an output clock; for tests";

const INTERVAL: f64 = 0.5;
const SHIFT: f64 = 0.25;
const COUNTDOWN: f64 = 0.1;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Clock {
    Tick,
    Alarm,
    Full,
}

impl Clock {
    pub(crate) const ALL: [Clock; 3] = [Clock::Tick, Clock::Alarm, Clock::Full];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Clock::Tick => "tick",
            Clock::Alarm => "alarm",
            Clock::Full => "full",
        }
    }

    pub(crate) fn about(self) -> &'static str {
        match self {
            Clock::Tick => "periodic, activated by the importer",
            Clock::Alarm => "activated by the importer some time after every third tick",
            Clock::Full => "activated with every fourth tick",
        }
    }

    pub(crate) fn is_input(self) -> bool {
        self != Clock::Full
    }

    /// As the description has it.
    pub(crate) fn attributes(self) -> Vec<(&'static str, String)> {
        match self {
            Clock::Tick => vec![
                ("intervalVariability", "constant".into()),
                ("intervalDecimal", INTERVAL.to_string()),
                ("shiftDecimal", SHIFT.to_string()),
            ],
            Clock::Alarm => vec![("intervalVariability", "countdown".into())],
            Clock::Full => vec![("intervalVariability", "triggered".into())],
        }
    }
}

/// What an importer is told of an interval, as FMI 3.0 numbers it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Qualifier {
    NotYetKnown,
    Unchanged,
    Changed,
}

/// The clocks of one instance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Clocks {
    start: f64,
    ticks: i32,
    alarms: i32,
    tick_active: bool,
    alarm_active: bool,
    /// When the countdown ends.
    countdown: Option<f64>,
    /// The importer has not asked for it yet.
    untold: bool,
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1.0)
}

impl Clocks {
    pub(crate) fn new(start: f64) -> Clocks {
        Clocks {
            start,
            ticks: 0,
            alarms: 0,
            tick_active: false,
            alarm_active: false,
            countdown: None,
            untold: false,
        }
    }

    /// The values that `tick` and `alarm` clock; new ones as soon as the clock is active.
    pub(crate) fn ticks(&self) -> i32 {
        self.ticks + i32::from(self.tick_active)
    }

    pub(crate) fn alarms(&self) -> i32 {
        self.alarms + i32::from(self.alarm_active)
    }

    fn next_tick(&self) -> f64 {
        self.start + SHIFT + f64::from(self.ticks) * INTERVAL
    }

    pub(crate) fn is_active(&self, clock: Clock) -> bool {
        match clock {
            Clock::Tick => self.tick_active,
            Clock::Alarm => self.alarm_active,
            Clock::Full => self.tick_active && self.ticks() % 4 == 0,
        }
    }

    pub(crate) fn set(&mut self, clock: Clock, active: bool, time: f64) -> Result<(), String> {
        let name = clock.name();
        let due = match clock {
            Clock::Tick => Some(self.next_tick()),
            Clock::Alarm => self.countdown,
            Clock::Full => return Err(format!("the clock `{name}` is an output")),
        };
        match due {
            _ if !active => {}
            Some(due) if near(due, time) => {}
            Some(due) => return Err(format!("the clock `{name}` is due at t = {due}, not at {time}")),
            None => return Err(format!("the clock `{name}` has no countdown under way")),
        }
        match clock {
            Clock::Tick => self.tick_active = active,
            _ => self.alarm_active = active,
        }
        Ok(())
    }

    pub(crate) fn interval(&mut self, clock: Clock) -> Result<(f64, Qualifier), String> {
        match (clock, self.countdown) {
            (Clock::Tick, _) => Ok((INTERVAL, Qualifier::Unchanged)),
            (Clock::Alarm, None) => Ok((0.0, Qualifier::NotYetKnown)),
            (Clock::Alarm, Some(_)) => {
                let untold = std::mem::take(&mut self.untold);
                Ok((COUNTDOWN, if untold { Qualifier::Changed } else { Qualifier::Unchanged }))
            }
            (Clock::Full, _) => Err("the clock `full` is triggered and has no interval".into()),
        }
    }

    pub(crate) fn shift(&self, clock: Clock) -> Result<f64, String> {
        match clock {
            Clock::Tick => Ok(SHIFT),
            _ => Err(format!("the clock `{}` is not periodic", clock.name())),
        }
    }

    /// What active clocks cause; afterwards none is.
    pub(crate) fn update(&mut self, time: f64) {
        (self.ticks, self.alarms) = (self.ticks(), self.alarms());
        if std::mem::take(&mut self.alarm_active) {
            self.countdown = None;
        }
        if std::mem::take(&mut self.tick_active) && self.ticks % 3 == 0 {
            (self.countdown, self.untold) = (Some(time + COUNTDOWN), true);
        }
    }

    /// Refuses a step over a tick.
    pub(crate) fn check_step(&self, to: f64) -> Result<(), String> {
        let due = [(Clock::Tick, Some(self.next_tick())), (Clock::Alarm, self.countdown)];
        for (clock, due) in due.into_iter().filter_map(|(clock, due)| Some((clock, due?))) {
            if to > due && !near(to, due) {
                let name = clock.name();
                return Err(format!("a step to t = {to} passes the clock `{name}`, due at t = {due}"));
            }
        }
        Ok(())
    }

    pub(crate) fn freeze(&self, into: &mut Vec<u8>) {
        let flags =
            u64::from(self.tick_active) | u64::from(self.alarm_active) << 1 | u64::from(self.untold) << 2;
        let words = [
            self.start.to_bits(),
            self.ticks as u64,
            self.alarms as u64,
            self.countdown.unwrap_or(f64::NAN).to_bits(),
            flags,
        ];
        words.iter().for_each(|word| into.extend_from_slice(&word.to_le_bytes()));
    }

    /// Returns what follows, too.
    pub(crate) fn thaw(from: &[u8]) -> Option<(Clocks, &[u8])> {
        let (bytes, rest) = from.split_at_checked(40)?;
        let (words, _) = bytes.as_chunks::<8>();
        let word = |at: usize| u64::from_le_bytes(words[at]);
        let flag = |bit: u32| word(4) >> bit & 1 == 1;
        let clocks = Clocks {
            start: f64::from_bits(word(0)),
            ticks: word(1) as i32,
            alarms: word(2) as i32,
            countdown: Some(f64::from_bits(word(3))).filter(|due| !due.is_nan()),
            tick_active: flag(0),
            alarm_active: flag(1),
            untold: flag(2),
        };
        Some((clocks, rest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_bring_back_every_field() {
        let mut clocks = Clocks::new(-1.0);
        for tick in 0..3 {
            clocks.set(Clock::Tick, true, -0.75 + 0.5 * f64::from(tick)).unwrap();
            clocks.update(-0.75 + 0.5 * f64::from(tick));
        }
        clocks.set(Clock::Tick, true, 0.75).unwrap();
        let mut bytes = Vec::new();
        clocks.freeze(&mut bytes);
        bytes.push(9);
        assert_eq!(Clocks::thaw(&bytes), Some((clocks, &[9][..])));
        assert_eq!(Clocks::thaw(&bytes[..30]), None);
        assert!(clocks.untold && clocks.is_active(Clock::Full));
    }
}
