//! Inputs that are copied to outputs: 64-bit integers, binaries and the other types that only these have.

use super::{Call, CallResult, ExportedInstance, Refusal};
use crate::datum::{Datum, Plain};
use crate::variables::{Role, VariableType};

impl ExportedInstance {
    /// With 64 bits: enumerations of FMI 3.0, and copied numbers.
    pub(crate) fn get_wide(&mut self, references: &[u32], into: &mut [i64]) -> CallResult {
        for (reference, into) in references.iter().zip(into.iter_mut()) {
            let (one, into) = (std::slice::from_ref(reference), std::slice::from_mut(into));
            if self.variable(*reference)?.kind == VariableType::Int64 {
                self.get_plain(one, into)?;
            } else {
                let has_type = |kind| matches!(kind, VariableType::Enumeration(_));
                self.get_numbers(one, into, has_type, |number| number as i64)?;
            }
        }
        self.allow(Call::Get)
    }

    /// Values of types that are only copied.
    pub(crate) fn get_plain<T: Plain>(&self, references: &[u32], into: &mut [T]) -> CallResult {
        self.allow(Call::Get)?;
        for (reference, into) in references.iter().zip(into) {
            let (Role::EchoInput(place) | Role::EchoOutput(place)) = self.readable(*reference)?.role else {
                return Err(self.wrong_type(*reference));
            };
            *into = T::of(&self.echo_inputs[place]).ok_or_else(|| self.wrong_type(*reference))?;
        }
        Ok(())
    }

    pub(crate) fn set_plain<T: Plain>(&mut self, references: &[u32], values: &[T]) -> CallResult {
        self.allow(if T::REAL { Call::SetReal } else { Call::SetDiscrete })?;
        for (reference, value) in references.iter().zip(values) {
            let place = self.echo_index(*reference)?;
            if T::of(&self.echo_inputs[place]).is_none() {
                return Err(self.wrong_type(*reference));
            }
            self.need_item(*reference, &value.hold())?;
        }
        for (reference, value) in references.iter().zip(values) {
            let place = self.echo_index(*reference)?;
            self.echo_inputs[place] = value.hold();
        }
        Ok(())
    }

    fn echo_index(&self, reference: u32) -> Result<usize, Refusal> {
        let variable = self.variable(reference)?;
        match variable.role {
            Role::EchoInput(place) => Ok(place),
            Role::EchoOutput(_) => Err(format!("`{}` cannot be set", variable.name).into()),
            _ => Err(self.wrong_type(reference)),
        }
    }

    /// An enumeration has the values that it names.
    pub(super) fn need_item(&self, reference: u32, value: &Datum) -> CallResult {
        let variable = self.variable(reference)?;
        if let (VariableType::Enumeration(names), Datum::Int64(value)) = (variable.kind, value)
            && !(1..=names.len() as i64).contains(value)
        {
            let (name, count) = (&variable.name, names.len());
            return Err(format!("`{name}` must be from 1 to {count}, got {value}").into());
        }
        Ok(())
    }

    pub(crate) fn get_binary(&self, reference: u32) -> Result<&[u8], Refusal> {
        self.allow(Call::Get)?;
        let (Role::EchoInput(place) | Role::EchoOutput(place)) = self.readable(reference)?.role else {
            return Err(self.wrong_type(reference));
        };
        match &self.echo_inputs[place] {
            Datum::Binary(bytes) => Ok(bytes),
            _ => Err(self.wrong_type(reference)),
        }
    }

    pub(crate) fn set_binaries(&mut self, references: &[u32], values: &[&[u8]]) -> CallResult {
        self.allow(Call::SetDiscrete)?;
        for reference in references {
            let place = self.echo_index(*reference)?;
            if !matches!(self.echo_inputs[place], Datum::Binary(_)) {
                return Err(self.wrong_type(*reference));
            }
        }
        for (reference, value) in references.iter().zip(values) {
            let place = self.echo_index(*reference)?;
            self.echo_inputs[place] = Datum::Binary(value.to_vec());
        }
        Ok(())
    }
}
