//! Events: where indicators change between positive and not positive within the last step.
//!
//! The rule is that of FMI: an indicator is *above* while z > 0 and *below* while z <= 0, and each change is an event. An
//! indicator that is exactly 0 at a start (the event just handled made it so) is neither: the first value that is not 0
//! decides, without an event.
//!
//! Signs are compared at the ends of a step and at as many points between as `samples` says, on the dense output. An
//! even number of changes between two neighbouring points is not seen: such a graze is made rarer by more samples, and
//! impossible only by a largest step.

use crate::failure::IntegrationFailure;
use crate::frame::spacing;
use crate::integrator::Integrator;
use crate::snapshot::{Reader, SnapshotError, Writer};
use crate::system::{EvaluationFault, OdeSystem};

/// So many events in a row, each closer than the gap to the one before, are an accumulation.
const PATIENCE: u32 = 10;

/// Where an indicator that begins at 0 is looked at first, as shares of the step: one that leaves 0 and comes back, as the
/// height of a bouncing ball does, has to be seen between.
const EARLY: [f64; 2] = [1.0 / 1024.0, 1.0 / 32.0];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CrossingDirection {
    Rising,
    Falling,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RootSide {
    Undecided,
    Below,
    Above,
}

/// The memory of the indicators' signs, and the search for their changes.
#[derive(Debug, Clone)]
pub struct Roots {
    samples: usize,
    gap: f64,

    sides: Vec<RootSide>,
    /// The indicators where the search has come to.
    left: Vec<f64>,
    last_event: f64,
    close_events: u32,

    crossed: Vec<Option<CrossingDirection>>,
    /// Scratch: indicators at the right end of a bracket and within it, and a state.
    right: Vec<f64>,
    middle: Vec<f64>,
    x: Vec<f64>,
}

impl Roots {
    pub fn new(indicators: usize, states: usize) -> Self {
        Roots {
            samples: 0,
            gap: 0.0,
            sides: vec![RootSide::Undecided; indicators],
            left: vec![0.0; indicators],
            last_event: f64::NEG_INFINITY,
            close_events: 0,
            crossed: vec![None; indicators],
            right: vec![0.0; indicators],
            middle: vec![0.0; indicators],
            x: vec![0.0; states],
        }
    }

    /// Points within each step where signs are compared, besides its ends.
    pub fn with_samples(self, samples: usize) -> Self {
        Roots { samples, ..self }
    }

    /// Ten events in a row that are closer than this are `IntegrationFailure::Accumulation`. Without it only events are that are hardly
    /// apart in the digits of time; better give what is short for the model.
    pub fn with_gap(self, gap: f64) -> Self {
        Roots { gap, ..self }
    }

    /// Takes the signs from the place of the integrator: at the beginning, and after whatever an event has changed.
    pub fn start(
        &mut self,
        integrator: &mut Integrator,
        system: &mut dyn OdeSystem,
    ) -> Result<(), IntegrationFailure> {
        let time = integrator.time();
        self.x.copy_from_slice(integrator.state());
        look(integrator, system, time, &self.x, &mut self.left)?;
        for (side, z) in self.sides.iter_mut().zip(&self.left) {
            *side = side_of(*z, RootSide::Undecided);
        }
        Ok(())
    }

    /// Looks through the last step. The first event in it is its new end: the integrator is cut right after the change,
    /// so that there the indicators are on their new sides. `crossed` tells which.
    pub fn search(
        &mut self,
        integrator: &mut Integrator,
        system: &mut dyn OdeSystem,
    ) -> Result<Option<f64>, IntegrationFailure> {
        if self.sides.is_empty() {
            return Ok(None);
        }
        let (start, end) = integrator.span();
        let mut left = start;
        let early = if self.sides.contains(&RootSide::Undecided) { EARLY.as_slice() } else { &[] };
        let samples = self.samples;
        let even = (1..=samples).map(|sample| sample as f64 / (samples + 1) as f64);
        let shares = early.iter().copied().chain(even);
        for t in shares.map(|share| start + share * (end - start)).chain([end]) {
            if t <= left {
                continue;
            }
            integrator.at(t, &mut self.x);
            look(integrator, system, t, &self.x, &mut self.right)?;
            if changed(&self.sides, &self.right) {
                let t = self.close_in(integrator, system, left, t)?;
                self.settle();
                integrator.cut(t);
                self.note_event(t)?;
                return Ok(Some(t));
            }
            self.settle();
            left = t;
        }
        Ok(None)
    }

    /// The indicators that changed at the last event.
    pub fn crossed(&self) -> impl Iterator<Item = (usize, CrossingDirection)> + '_ {
        let crossed = self.crossed.iter().enumerate();
        crossed.filter_map(|(indicator, direction)| direction.map(|direction| (indicator, direction)))
    }

    /// Narrows a bracket, at whose right end some indicators are on other sides and at whose left end none is, until it
    /// is as small as wanted. Its right end is the event, or right after it where an indicator is exactly 0: models
    /// differ in which side that is. Regula falsi with the Illinois rule on the indicator that seems
    /// to change first, and a bisection where that does not halve the bracket in three.
    /// Source: Dowell & Jarratt 1971, A modified regula falsi method; for several functions, Hindmarsh & Serban 2021,
    /// User documentation for CVODE, section 2.4.
    fn close_in(
        &mut self,
        integrator: &mut Integrator,
        system: &mut dyn OdeSystem,
        mut left: f64,
        mut right: f64,
    ) -> Result<f64, IntegrationFailure> {
        let end = right;
        let smallest = 2.0 * spacing(left.abs().max(right.abs()));
        let (mut weight, mut stayed) = (1.0, None);
        let (mut tries, mut width) = (0, right - left);
        while right - left > smallest {
            tries += 1;
            let halve = tries % 3 == 0 && right - left > 0.5 * std::mem::replace(&mut width, right - left);
            let share = if halve { 0.5 } else { self.share_from_right(weight) };
            let secant = right - (right - left) * share;
            // Half of what is wanted from both ends: a guess at the root itself would move one end only.
            let t = secant.max(left + 0.5 * smallest).min(right - 0.5 * smallest);
            if t <= left || t >= right {
                break;
            }
            integrator.at(t, &mut self.x);
            look(integrator, system, t, &self.x, &mut self.middle)?;
            let moved_right = changed(&self.sides, &self.middle);
            if moved_right {
                right = t;
                self.right.copy_from_slice(&self.middle);
            } else {
                left = t;
                self.left.copy_from_slice(&self.middle);
            }
            // The end that stays twice in a row loses half of its weight.
            weight = match stayed {
                Some(before) if before == moved_right => {
                    if moved_right {
                        0.5 * weight
                    } else {
                        2.0 * weight
                    }
                }
                _ => 1.0,
            };
            stayed = Some(moved_right);
        }
        let after = (right + smallest).min(end);
        if after > right && self.right.contains(&0.0) {
            integrator.at(after, &mut self.x);
            look(integrator, system, after, &self.x, &mut self.middle)?;
            if changed(&self.sides, &self.middle) {
                right = after;
                self.right.copy_from_slice(&self.middle);
            }
        }
        Ok(right)
    }

    /// How far from the right end the first change seems to be, as a share of the bracket.
    fn share_from_right(&self, weight: f64) -> f64 {
        let mut largest = 0.0;
        for i in 0..self.sides.len() {
            if crosses(self.sides[i], self.right[i]).is_some() {
                let share = self.right[i] / (self.right[i] - weight * self.left[i]);
                if share > largest {
                    largest = share;
                }
            }
        }
        largest
    }

    /// Takes the right end as what is known from now on.
    fn settle(&mut self) {
        for i in 0..self.sides.len() {
            self.crossed[i] = crosses(self.sides[i], self.right[i]);
            self.sides[i] = side_of(self.right[i], self.sides[i]);
        }
        self.left.copy_from_slice(&self.right);
    }

    fn note_event(&mut self, t: f64) -> Result<(), IntegrationFailure> {
        let gap = self.gap.max(1024.0 * spacing(t));
        if t - self.last_event < gap {
            self.close_events += 1;
        } else {
            self.close_events = 0;
        }
        self.last_event = t;
        if self.close_events < PATIENCE {
            Ok(())
        } else {
            Err(IntegrationFailure::Accumulation { time: t, events: self.close_events, gap })
        }
    }

    /// As for the integrator: all that follows has the same bits.
    pub fn copy_from(&mut self, other: &Roots) {
        self.sides.copy_from_slice(&other.sides);
        self.left.copy_from_slice(&other.left);
        self.crossed.copy_from_slice(&other.crossed);
        self.last_event = other.last_event;
        self.close_events = other.close_events;
    }

    /// Appends the memory of the signs as bytes. Settings are not part of it.
    pub fn serialize(&self, bytes: &mut Vec<u8>) {
        let mut writer = Writer::begin(bytes, "roots", self.sides.len());
        for (side, crossed) in self.sides.iter().zip(&self.crossed) {
            writer.count(*side as usize);
            writer.count(match crossed {
                None => 0,
                Some(CrossingDirection::Rising) => 1,
                Some(CrossingDirection::Falling) => 2,
            });
        }
        writer.numbers(&self.left);
        writer.numbers(&[self.last_event]);
        writer.count(self.close_events as usize);
    }

    /// Restores serialized signs. Nothing changes if the bytes are not those of such indicators.
    pub fn deserialize(&mut self, bytes: &[u8]) -> Result<(), SnapshotError> {
        let mut copy = self.clone();
        let mut reader = Reader::begin(bytes, "roots", copy.sides.len())?;
        for (side, crossed) in copy.sides.iter_mut().zip(&mut copy.crossed) {
            *side = [RootSide::Undecided, RootSide::Below, RootSide::Above][reader.count(2)?];
            *crossed =
                [None, Some(CrossingDirection::Rising), Some(CrossingDirection::Falling)][reader.count(2)?];
        }
        reader.numbers(&mut copy.left)?;
        let mut last_event = [0.0];
        reader.numbers(&mut last_event)?;
        copy.last_event = last_event[0];
        copy.close_events = reader.small_count()? as u32;
        reader.end()?;
        *self = copy;
        Ok(())
    }
}

/// One call of the indicators, counted and checked.
fn look(
    integrator: &mut Integrator,
    system: &mut dyn OdeSystem,
    time: f64,
    x: &[f64],
    z: &mut [f64],
) -> Result<(), IntegrationFailure> {
    integrator.frame.counters.root_evaluations += 1;
    system.indicators(time, x, z).map_err(|fault| match fault {
        EvaluationFault::Fatal(message) => IntegrationFailure::Fatal { time, message },
        EvaluationFault::Retry(message) => IntegrationFailure::Refused { time, message },
    })?;
    match z.iter().position(|z| z.is_nan()) {
        None => Ok(()),
        Some(index) => Err(IntegrationFailure::Indicator { time, index }),
    }
}

fn side_of(z: f64, before: RootSide) -> RootSide {
    match before {
        RootSide::Undecided if z == 0.0 => RootSide::Undecided,
        _ if z > 0.0 => RootSide::Above,
        _ => RootSide::Below,
    }
}

fn crosses(side: RootSide, z: f64) -> Option<CrossingDirection> {
    match side {
        RootSide::Above if z <= 0.0 => Some(CrossingDirection::Falling),
        RootSide::Below if z > 0.0 => Some(CrossingDirection::Rising),
        _ => None,
    }
}

fn changed(sides: &[RootSide], z: &[f64]) -> bool {
    sides.iter().zip(z).any(|(side, z)| crosses(*side, *z).is_some())
}
