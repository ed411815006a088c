//! An FMI 3.0 FMU with clocks of three kinds. `tick` is periodic, and the importer activates it on time. Every third
//! tick starts a countdown, after which the importer is to activate `alarm`. Every fourth tick activates `full`, which
//! the importer is to read. `ticks` and `alarms` are clocked by the first two.
//!
//! It refuses what an importer of clocks must not do: ticks at other instants, and steps over a tick.

use cosimo_export::equipment::{AddedModel, ClockEntry, ClockModel, Clocks, Qualifier};

use crate::echo::Nothing;

pub(crate) const MODEL: AddedModel = AddedModel {
    source: crate::CLOCKS,
    summary: "counts the ticks of a periodic clock, with a countdown and an output clock; for tests",
    parameters: &[],
    stop: 5.0,
    simulator: None,
    equations: || Box::new(Nothing),
    echoes: |_| &[],
    clocks: Some(&ClockModel {
        clocks: &[
            ClockEntry {
                name: "tick",
                about: "periodic, activated by the importer",
                is_input: true,
                clocked_by: None,
                attributes: &[
                    ("intervalVariability", "constant"),
                    ("intervalDecimal", "0.5"),
                    ("shiftDecimal", "0.25"),
                ],
            },
            ClockEntry {
                name: "alarm",
                about: "activated by the importer some time after every third tick",
                is_input: true,
                clocked_by: None,
                attributes: &[("intervalVariability", "countdown")],
            },
            ClockEntry {
                name: "full",
                about: "activated with every fourth tick",
                is_input: false,
                clocked_by: Some(TICK),
                attributes: &[("intervalVariability", "triggered")],
            },
        ],
        counts: &[(TICK, "ticks", "ticks so far"), (ALARM, "alarms", "alarms so far")],
        start: |start| Box::new(ClockState::new(start)),
    }),
};

// Indices in that list.
const TICK: usize = 0;
const ALARM: usize = 1;

const INTERVAL: f64 = 0.5;
const SHIFT: f64 = 0.25;
const COUNTDOWN: f64 = 0.1;

/// The clocks of one instance.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct ClockState {
    start: f64,
    ticks: i32,
    alarms: i32,
    tick_active: bool,
    alarm_active: bool,
    /// When the countdown ends.
    countdown: Option<f64>,
    /// The importer has not read it yet.
    countdown_unread: bool,
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1.0)
}

fn name(clock: usize) -> &'static str {
    MODEL.clocks.map_or("", |model| model.clocks[clock].name)
}

impl ClockState {
    fn new(start: f64) -> ClockState {
        ClockState { start, ..ClockState::default() }
    }

    fn next_tick(&self) -> f64 {
        self.start + SHIFT + f64::from(self.ticks) * INTERVAL
    }
}

impl Clocks for ClockState {
    fn count(&self, clock: usize) -> i32 {
        match clock {
            TICK => self.ticks + i32::from(self.tick_active),
            _ => self.alarms + i32::from(self.alarm_active),
        }
    }

    fn is_active(&self, clock: usize) -> bool {
        match clock {
            TICK => self.tick_active,
            ALARM => self.alarm_active,
            _ => self.tick_active && self.count(TICK) % 4 == 0,
        }
    }

    fn set(&mut self, clock: usize, active: bool, time: f64) -> Result<(), String> {
        let name = name(clock);
        let due = match clock {
            TICK => Some(self.next_tick()),
            ALARM => self.countdown,
            _ => return Err(format!("the clock `{name}` is an output")),
        };
        match due {
            _ if !active => {}
            Some(due) if near(due, time) => {}
            Some(due) => return Err(format!("the clock `{name}` is due at t = {due}, not at {time}")),
            None => return Err(format!("the clock `{name}` has no countdown under way")),
        }
        match clock {
            TICK => self.tick_active = active,
            _ => self.alarm_active = active,
        }
        Ok(())
    }

    fn interval(&mut self, clock: usize) -> Result<(f64, Qualifier), String> {
        match (clock, self.countdown) {
            (TICK, _) => Ok((INTERVAL, Qualifier::Unchanged)),
            (ALARM, None) => Ok((0.0, Qualifier::NotYetKnown)),
            (ALARM, Some(_)) => {
                let countdown_unread = std::mem::take(&mut self.countdown_unread);
                Ok((COUNTDOWN, if countdown_unread { Qualifier::Changed } else { Qualifier::Unchanged }))
            }
            _ => Err("the clock `full` is triggered and has no interval".into()),
        }
    }

    fn shift(&self, clock: usize) -> Result<f64, String> {
        match clock {
            TICK => Ok(SHIFT),
            _ => Err(format!("the clock `{}` is not periodic", name(clock))),
        }
    }

    fn update(&mut self, time: f64) {
        (self.ticks, self.alarms) = (self.count(TICK), self.count(ALARM));
        if std::mem::take(&mut self.alarm_active) {
            self.countdown = None;
        }
        if std::mem::take(&mut self.tick_active) && self.ticks % 3 == 0 {
            (self.countdown, self.countdown_unread) = (Some(time + COUNTDOWN), true);
        }
    }

    fn check_step(&self, to: f64) -> Result<(), String> {
        let due = [(TICK, Some(self.next_tick())), (ALARM, self.countdown)];
        for (clock, due) in due.into_iter().filter_map(|(clock, due)| Some((clock, due?))) {
            if to > due && !near(to, due) {
                let name = name(clock);
                return Err(format!("a step to t = {to} passes the clock `{name}`, due at t = {due}"));
            }
        }
        Ok(())
    }

    fn serialize(&self, into: &mut Vec<u8>) {
        let flags = u64::from(self.tick_active)
            | u64::from(self.alarm_active) << 1
            | u64::from(self.countdown_unread) << 2;
        let words = [
            self.start.to_bits(),
            self.ticks as u64,
            self.alarms as u64,
            self.countdown.unwrap_or(f64::NAN).to_bits(),
            flags,
        ];
        words.iter().for_each(|word| into.extend_from_slice(&word.to_le_bytes()));
    }

    fn deserialize<'a>(&mut self, from: &'a [u8]) -> Option<&'a [u8]> {
        let (bytes, rest) = from.split_at_checked(40)?;
        let (words, _) = bytes.as_chunks::<8>();
        let word = |at: usize| u64::from_le_bytes(words[at]);
        let flag = |bit: u32| word(4) >> bit & 1 == 1;
        *self = ClockState {
            start: f64::from_bits(word(0)),
            ticks: word(1) as i32,
            alarms: word(2) as i32,
            countdown: Some(f64::from_bits(word(3))).filter(|due| !due.is_nan()),
            tick_active: flag(0),
            alarm_active: flag(1),
            countdown_unread: flag(2),
        };
        Some(rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_restore_every_field() {
        let mut clocks = ClockState::new(-1.0);
        for tick in 0..3 {
            clocks.set(TICK, true, -0.75 + 0.5 * f64::from(tick)).unwrap();
            clocks.update(-0.75 + 0.5 * f64::from(tick));
        }
        clocks.set(TICK, true, 0.75).unwrap();
        let mut bytes = Vec::new();
        clocks.serialize(&mut bytes);
        bytes.push(9);
        let mut other = ClockState::new(0.0);
        assert_eq!(other.deserialize(&bytes), Some(&[9][..]));
        assert_eq!((other, other.deserialize(&bytes[..30])), (clocks, None));
        assert!(clocks.countdown_unread && clocks.is_active(2));
    }

    #[test]
    fn the_description_matches_the_clocks() {
        let clocks = MODEL.clocks.unwrap().clocks;
        let attribute = |clock: usize, key: &str| {
            let found = clocks[clock].attributes.iter().find(|(name, _)| *name == key);
            found.map(|(_, value)| value.parse::<f64>().unwrap())
        };
        assert_eq!(
            (attribute(TICK, "intervalDecimal"), attribute(TICK, "shiftDecimal")),
            (Some(INTERVAL), Some(SHIFT))
        );
        assert_eq!([TICK, ALARM].map(|clock| clocks[clock].name), ["tick", "alarm"]);
    }
}
