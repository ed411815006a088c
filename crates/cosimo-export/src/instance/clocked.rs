//! Clocks: read and set in event mode, with their intervals.

use super::{Call, CallResult, ExportedInstance, Refusal};
use crate::equipment::Clocks;
use crate::variables::Role;

impl ExportedInstance {
    fn clock(&self, reference: u32) -> Result<usize, Refusal> {
        match self.variable(reference)?.role {
            Role::Clock(clock) => Ok(clock),
            _ => Err(self.wrong_type(reference)),
        }
    }

    fn clocks(&mut self) -> Result<&mut Box<dyn Clocks>, Refusal> {
        self.clocks.as_mut().ok_or_else(|| "this FMU has no clocks".into())
    }

    /// The value of the variable of a clock.
    pub(super) fn clocked(&mut self, clock: usize) -> Result<f64, Refusal> {
        Ok(f64::from(self.clocks()?.count(clock)))
    }

    /// As bytes, because the memory may be uninitialised before the call.
    pub(crate) fn get_clocks(&mut self, references: &[u32], into: &mut [u8]) -> CallResult {
        self.allow(Call::Clocks)?;
        for (reference, into) in references.iter().zip(into) {
            let clock = self.clock(*reference)?;
            *into = u8::from(self.clocks()?.is_active(clock));
        }
        Ok(())
    }

    pub(crate) fn set_clocks(&mut self, references: &[u32], values: &[u8]) -> CallResult {
        self.allow(Call::Clocks)?;
        let time = self.time;
        // All or nothing.
        let mut before = Vec::new();
        self.clocks()?.serialize(&mut before);
        for (reference, value) in references.iter().zip(values) {
            let clock = self.clock(*reference)?;
            if let Err(message) = self.clocks()?.set(clock, *value != 0, time) {
                self.clocks()?.deserialize(&before);
                return Err(message.into());
            }
        }
        Ok(())
    }

    /// Intervals with their qualifiers.
    pub(crate) fn intervals(
        &mut self,
        references: &[u32],
        into: &mut [f64],
        qualifiers: &mut [i32],
    ) -> CallResult {
        self.allow(Call::GetInterval)?;
        for ((reference, into), qualifier_out) in references.iter().zip(into).zip(qualifiers) {
            let clock = self.clock(*reference)?;
            let (interval, qualifier) = self.clocks()?.interval(clock)?;
            (*into, *qualifier_out) = (interval, qualifier as i32);
        }
        Ok(())
    }

    pub(crate) fn shifts(&mut self, references: &[u32], into: &mut [f64]) -> CallResult {
        self.allow(Call::GetShift)?;
        for (reference, into) in references.iter().zip(into) {
            let clock = self.clock(*reference)?;
            *into = self.clocks()?.shift(clock)?;
        }
        Ok(())
    }
}
