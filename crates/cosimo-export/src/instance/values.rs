//! Reading and writing variables: which of them are accessible in which mode.

use std::ffi::{CStr, CString};

use cosimo_core::Segment;
use cosimo_core::registry::OptionKind;

use super::model_exchange::{equations_at, equations_of};
use super::{Call, CallResult, ExportedInstance, InstanceBody, Mode, Refusal};
use crate::datum::{Datum, Plain};
use crate::design::Version;
use crate::variables::{ExportedVariable, Role, VariableType};

const BEFORE_START: &[Mode] = &[Mode::Instantiated, Mode::Initializing];

impl ExportedInstance {
    pub(super) fn variable(&self, reference: u32) -> Result<&ExportedVariable, Refusal> {
        let known = self.variables.list.get(reference as usize);
        known.ok_or_else(|| format!("there is no variable with the value reference {reference}").into())
    }

    /// Before initialisation, where FMI 3.0 lets variables be read, that is only what has a start value.
    pub(super) fn readable(&self, reference: u32) -> Result<&ExportedVariable, Refusal> {
        let variable = self.variable(reference)?;
        let starts = variable.start.is_some()
            || matches!(variable.kind, VariableType::Text | VariableType::Binary)
                && !matches!(variable.role, Role::EchoOutput(_));
        if self.mode == Mode::Instantiated && !starts {
            return Err(format!("`{}` has no value before initialisation", variable.name).into());
        }
        Ok(variable)
    }

    pub(super) fn wrong_type(&self, reference: u32) -> Refusal {
        let name = self.variable(reference).map_or("", |variable| variable.name.as_str());
        format!("`{name}` has another type").into()
    }

    /// FMI 2.0.1, 4.2.4: no get after a set without a step between. This FMU can, others need not.
    fn warn_get_after_set(&mut self) {
        if self.version == Version::Two && self.mode == Mode::Stepping && self.inputs_changed {
            self.equipment.warning("outputs are read after inputs were set, without a step between");
        }
    }

    pub(crate) fn get_reals(&mut self, references: &[u32], into: &mut [f64]) -> CallResult {
        self.allow(Call::Get)?;
        for (reference, into) in references.iter().zip(into) {
            let variable = self.readable(*reference)?;
            if variable.kind != VariableType::Real {
                return Err(self.wrong_type(*reference));
            }
            *into = match variable.role {
                Role::Time => self.time_inside(),
                Role::Input(port) => self.inputs[port].0[0],
                role @ (Role::State(_) | Role::Derivative(_) | Role::Indicator(_)) => {
                    let value = self.inner(role)?;
                    self.equipment.shown(value, false)
                }
                Role::Output(port) => {
                    if self.mode == Mode::Intermediate && !self.pending.finished {
                        return Err("outputs cannot be read while inputs are requested".into());
                    }
                    if !matches!(self.mode, Mode::Failed | Mode::Intermediate) {
                        self.warn_get_after_set();
                        self.refresh()?;
                    }
                    self.equipment.shown(self.outputs[port], self.mode == Mode::Initializing)
                }
                Role::Real(place) => self.parameters[place],
                Role::EchoInput(place) | Role::EchoOutput(place) => {
                    f64::of(&self.echo_inputs[place]).ok_or_else(|| self.wrong_type(*reference))?
                }
                Role::Count(_) | Role::Text(_) | Role::Clock(_) | Role::Clocked(_) => {
                    return Err(self.wrong_type(*reference));
                }
            };
        }
        Ok(())
    }

    /// What a model is made of, below its outputs.
    fn inner(&mut self, role: Role) -> Result<f64, Refusal> {
        self.reopen()?;
        let mut opened;
        let exchange = match &mut self.body {
            InstanceBody::Exchanged(exchange) => exchange,
            // Only FMUs of both kinds show these to an importer that steps.
            InstanceBody::Stepped(simulator) => {
                opened = equations_at(
                    &self.model,
                    simulator.as_mut(),
                    &self.parameters,
                    (self.time, &self.inputs),
                )?;
                &mut opened
            }
        };
        let (states, indicators) = (exchange.now.x.len(), exchange.indicators);
        let (equations, point) = exchange.at(self.time, &self.inputs);
        Ok(match role {
            Role::Derivative(state) => {
                let mut dx = vec![0.0; states];
                equations.derivatives(&point, &mut dx);
                dx[state]
            }
            Role::Indicator(indicator) => {
                let mut z = vec![0.0; indicators];
                equations.indicators(&point, &mut z);
                z[indicator]
            }
            Role::State(state) => point.x[state],
            _ => return Err("it is not part of the equations".into()),
        })
    }

    pub(crate) fn set_reals(&mut self, references: &[u32], values: &[f64]) -> CallResult {
        self.allow(Call::SetReal)?;
        // All or nothing: all values are checked before any is written.
        for (reference, value) in references.iter().zip(values) {
            let variable = self.variable(*reference)?;
            match variable.role {
                Role::Input(_) if self.mode == Mode::Intermediate && self.pending.finished => {
                    return Err("inputs cannot be set while outputs are provided".into());
                }
                Role::Input(_) => self.equipment.before_input(),
                Role::EchoInput(place) if f64::of(&self.echo_inputs[place]).is_some() => {}
                Role::State(_) if self.mode == Mode::Continuous => {}
                Role::State(_) | Role::Real(_) => {
                    let Some(place) = variable.parameter_place() else {
                        return Err(format!("`{}` cannot be set {}", variable.name, self.mode).into());
                    };
                    self.need_before_start(variable)?;
                    let spec = self.model.parameters[place].0;
                    if let OptionKind::Number { range, .. } = spec.kind
                        && !range.holds(*value)
                    {
                        let (name, wanted) = (&variable.name, spec.expected());
                        return Err(format!("`{name}` must be {wanted}, got {value}").into());
                    }
                }
                Role::Time
                | Role::Output(_)
                | Role::Derivative(_)
                | Role::Indicator(_)
                | Role::EchoOutput(_)
                | Role::Clocked(_) => {
                    return Err(format!("`{}` cannot be set", variable.name).into());
                }
                Role::Count(_) | Role::Text(_) | Role::EchoInput(_) | Role::Clock(_) => {
                    return Err(self.wrong_type(*reference));
                }
            }
        }
        for (reference, value) in references.iter().zip(values) {
            let variable = self.variable(*reference)?;
            match (variable.role, variable.parameter_place()) {
                (Role::Input(port), _) => {
                    self.inputs[port].0[0] = *value;
                    self.inputs_changed = true;
                }
                (Role::EchoInput(place), _) => self.echo_inputs[place] = value.hold(),
                (Role::State(state), _) if self.mode == Mode::Continuous => {
                    equations_of(&mut self.body)?.now.x[state] = *value;
                }
                (_, Some(place)) if self.equipment.ignores(&self.model.parameters, place) => {}
                (_, Some(place)) => {
                    self.parameters[place] = *value;
                    self.stale = true;
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn need_before_start(&self, variable: &ExportedVariable) -> CallResult {
        if BEFORE_START.contains(&self.mode) {
            return Ok(());
        }
        let what = if matches!(variable.role, Role::State(_)) { "start of" } else { "parameter" };
        Err(format!("the {what} `{}` is fixed and cannot be set {}", variable.name, self.mode).into())
    }

    /// Values of some type, which are numbers inside.
    pub(super) fn get_numbers<T>(
        &mut self,
        references: &[u32],
        into: &mut [T],
        has_type: fn(VariableType) -> bool,
        convert: fn(f64) -> T,
    ) -> CallResult {
        self.allow(Call::Get)?;
        for (reference, into) in references.iter().zip(into) {
            let variable = self.readable(*reference)?;
            if !has_type(variable.kind) {
                return Err(self.wrong_type(*reference));
            }
            *into = match variable.role {
                Role::Count(place) => convert(self.parameters[place]),
                Role::Output(port) => {
                    if self.mode != Mode::Failed {
                        self.refresh()?;
                    }
                    convert(self.outputs[port])
                }
                Role::EchoInput(place) | Role::EchoOutput(place) => match &self.echo_inputs[place] {
                    Datum::Int32(value) => convert(f64::from(*value)),
                    Datum::Boolean(value) => convert(f64::from(u8::from(*value))),
                    // Enumerations: few, so that nothing is lost.
                    Datum::Int64(value) => convert(*value as f64),
                    _ => return Err(self.wrong_type(*reference)),
                },
                Role::Clocked(clock) => convert(self.clocked(clock)?),
                _ => return Err(self.wrong_type(*reference)),
            };
        }
        Ok(())
    }

    pub(crate) fn get_integers(&mut self, references: &[u32], into: &mut [i32]) -> CallResult {
        // FMI 1.0 and 2.0 read enumerations as integers, FMI 3.0 with more bits.
        let has_type: fn(VariableType) -> bool = match self.version {
            Version::One | Version::Two => {
                |kind| matches!(kind, VariableType::Integer | VariableType::Enumeration(_))
            }
            Version::Three => |kind| kind == VariableType::Integer,
        };
        self.get_numbers(references, into, has_type, |number| number as i32)
    }

    /// In the type that a version has for them.
    pub(crate) fn get_booleans<T: From<bool>>(&mut self, references: &[u32], into: &mut [T]) -> CallResult {
        self.get_numbers(
            references,
            into,
            |kind| kind == VariableType::Boolean,
            |value| T::from(value != 0.0),
        )
    }

    pub(crate) fn set_booleans<T: Default + PartialEq>(
        &mut self,
        references: &[u32],
        values: &[T],
    ) -> CallResult {
        let values: Vec<bool> = values.iter().map(|value| *value != T::default()).collect();
        self.set_plain(references, &values)
    }

    pub(crate) fn set_integers(&mut self, references: &[u32], values: &[i32]) -> CallResult {
        self.allow(Call::SetDiscrete)?;
        for (reference, value) in references.iter().zip(values) {
            let variable = self.variable(*reference)?;
            if let Role::EchoInput(place) = variable.role {
                match self.echo_inputs[place] {
                    Datum::Int32(_) => continue,
                    Datum::Int64(_) if self.version != Version::Three => {
                        self.need_item(*reference, &Datum::Int64(i64::from(*value)))?;
                        continue;
                    }
                    _ => {}
                }
            }
            if !matches!(variable.role, Role::Count(_)) {
                return Err(self.wrong_type(*reference));
            }
            self.need_before_start(variable)?;
            if i64::from(*value) < i64::from(variable.least) {
                let (name, least) = (&variable.name, variable.least);
                return Err(format!("`{name}` must be at least {least}, got {value}").into());
            }
        }
        for (reference, value) in references.iter().zip(values) {
            match self.variable(*reference)?.role {
                Role::Count(place) => {
                    self.parameters[place] = f64::from(*value);
                    self.stale = true;
                }
                Role::EchoInput(place) => {
                    let wide = matches!(self.echo_inputs[place], Datum::Int64(_));
                    self.echo_inputs[place] = if wide { i64::from(*value).hold() } else { value.hold() };
                }
                _ => {}
            }
        }
        Ok(())
    }

    pub(crate) fn get_text(&self, reference: u32) -> Result<&CStr, Refusal> {
        self.allow(Call::Get)?;
        match self.readable(reference)?.role {
            Role::Text(place) => Ok(&self.texts[place]),
            Role::EchoInput(place) | Role::EchoOutput(place) => match &self.echo_inputs[place] {
                Datum::Text(text) => Ok(text),
                _ => Err(self.wrong_type(reference)),
            },
            _ => Err(self.wrong_type(reference)),
        }
    }

    pub(crate) fn set_texts(&mut self, references: &[u32], values: Vec<CString>) -> CallResult {
        self.allow(Call::SetDiscrete)?;
        for (reference, value) in references.iter().zip(&values) {
            let variable = self.variable(*reference)?;
            if let Role::EchoInput(place) = variable.role
                && matches!(self.echo_inputs[place], Datum::Text(_))
            {
                continue;
            }
            let Role::Text(place) = variable.role else { return Err(self.wrong_type(*reference)) };
            self.need_before_start(variable)?;
            let text = value.to_str().map_err(|_| "the text is not UTF-8")?;
            self.equipment.check_text(self.variables.texts[place].name, text)?;
        }
        for (reference, value) in references.iter().zip(values) {
            let place = match self.variable(*reference)?.role {
                Role::Text(place) => place,
                Role::EchoInput(place) => {
                    self.echo_inputs[place] = Datum::Text(value);
                    continue;
                }
                _ => continue,
            };
            if let Ok(text) = value.to_str() {
                self.equipment.take_text(self.variables.texts[place].name, text);
            }
            self.texts[place] = value;
        }
        Ok(())
    }

    pub(crate) fn set_input_derivatives(
        &mut self,
        references: &[u32],
        orders: &[i32],
        values: &[f64],
    ) -> CallResult {
        self.allow(Call::InputDerivatives)?;
        if !self.can.interpolates {
            return Err("this FMU holds its inputs and does not support input derivatives".into());
        }
        for (reference, order) in references.iter().zip(orders) {
            let variable = self.variable(*reference)?;
            if !matches!(variable.role, Role::Input(_)) {
                return Err(format!("`{}` is not an input", variable.name).into());
            }
            if !(1..=3).contains(order) {
                return Err(format!("derivatives of order {order} are not supported, only 1 to 3").into());
            }
        }
        for ((reference, order), value) in references.iter().zip(orders).zip(values) {
            if let Role::Input(port) = self.variable(*reference)?.role {
                let factorial = if *order == 3 { 6.0 } else { f64::from(*order) };
                self.inputs[port].0[*order as usize] = value / factorial;
                self.inputs_changed = true;
            }
        }
        Ok(())
    }

    pub(crate) fn output_derivatives(
        &mut self,
        references: &[u32],
        orders: &[i32],
        into: &mut [f64],
    ) -> CallResult {
        self.allow(Call::OutputDerivatives)?;
        if self.can.output_order == 0 {
            return Err("this FMU provides no derivatives of its outputs".into());
        }
        self.refresh()?;
        for ((reference, order), into) in references.iter().zip(orders).zip(into) {
            match (self.variable(*reference)?.role, order) {
                (Role::Output(port), 1) => *into = self.slopes[port],
                (Role::Output(_), _) => {
                    return Err(format!("derivatives of order {order} are not provided, only order 1").into());
                }
                _ => return Err(format!("{reference} is not an output").into()),
            }
        }
        Ok(())
    }

    /// The last time reached, which a fault may falsify.
    pub(crate) fn last_time(&self) -> f64 {
        self.equipment.last_time(self.time, self.pending.start(), self.end().early)
    }

    fn time_inside(&self) -> f64 {
        if self.mode == Mode::Intermediate { self.pending.at } else { self.time }
    }

    /// The inputs as one step has them at its end, for the time after it.
    pub(super) fn hold_inputs(&mut self, size: f64) {
        for input in &mut self.inputs {
            if input.0[1..] != [0.0; 3] {
                *input = Segment::constant(input.at(size));
            }
        }
    }
}
