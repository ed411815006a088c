//! Reading and writing variables and derivatives: which variable may be touched in which mode.

use std::ffi::{CStr, CString};

use cosimo_core::Segment;
use cosimo_core::entry::{Kind, suggest};

use super::{Call, Instance, Mode, Outcome, Refusal};
use crate::design::Version;
use crate::sabotage;
use crate::spy;
use crate::variables::{Role, Variable};

const BEFORE_START: &[Mode] = &[Mode::Instantiated, Mode::Initializing];

impl Instance {
    fn variable(&self, reference: u32) -> Result<&Variable, Refusal> {
        let known = self.variables.list.get(reference as usize);
        known.ok_or_else(|| format!("there is no variable with the value reference {reference}").into())
    }

    fn wrong_type(&self, reference: u32) -> Refusal {
        let name = self.variable(reference).map_or("", |variable| variable.name.as_str());
        format!("`{name}` has another type").into()
    }

    /// FMI 2.0.1, 4.2.4: no get after a set without a step between. This FMU can, others need not.
    fn remark_get_after_set(&mut self) {
        if let Some(spy) = &mut self.spy
            && self.version == Version::Two
            && self.mode == Mode::Stepping
            && self.unsettled
        {
            spy.remark("outputs are read after inputs were set, without a step between");
        }
    }

    pub(crate) fn get_reals(&mut self, references: &[u32], into: &mut [f64]) -> Outcome {
        self.allow(Call::Get)?;
        for (reference, into) in references.iter().zip(into) {
            *into = match self.variable(*reference)?.role {
                Role::Time => self.time_inside(),
                Role::Input(port) => self.inputs[port].0[0],
                Role::Output(port) => {
                    if self.mode == Mode::Intermediate && !self.pending.finished {
                        return Err("outputs cannot be read while inputs are asked for".into());
                    }
                    if !matches!(self.mode, Mode::Failed | Mode::Intermediate) {
                        self.remark_get_after_set();
                        self.refresh()?;
                    }
                    if self.sabotage.as_ref().is_some_and(|sabotage| sabotage.poisoned) {
                        f64::NAN
                    } else {
                        self.outputs[port]
                    }
                }
                Role::Real(place) => self.parameters[place],
                Role::Count(_) | Role::Text(_) => return Err(self.wrong_type(*reference)),
            };
        }
        Ok(())
    }

    pub(crate) fn set_reals(&mut self, references: &[u32], values: &[f64]) -> Outcome {
        self.allow(Call::Set)?;
        // All or nothing: what can be refused is looked at before anything is written.
        for (reference, value) in references.iter().zip(values) {
            let variable = self.variable(*reference)?;
            match variable.role {
                Role::Input(_) if self.mode == Mode::Intermediate && self.pending.finished => {
                    return Err("inputs cannot be set while outputs are shown".into());
                }
                Role::Input(_) => {}
                Role::Real(place) => {
                    self.need_before_start(variable)?;
                    let spec = self.model.parameters[place].0;
                    if let Kind::Number { range, .. } = spec.kind
                        && !range.holds(*value)
                    {
                        let (name, wanted) = (&variable.name, spec.wanted());
                        return Err(format!("`{name}` must be {wanted}, found {value}").into());
                    }
                }
                Role::Time | Role::Output(_) => {
                    return Err(format!("`{}` cannot be set", variable.name).into());
                }
                Role::Count(_) | Role::Text(_) => return Err(self.wrong_type(*reference)),
            }
        }
        for (reference, value) in references.iter().zip(values) {
            match self.variable(*reference)?.role {
                Role::Input(port) => {
                    self.inputs[port].0[0] = *value;
                    self.unsettled = true;
                }
                Role::Real(place) => {
                    self.parameters[place] = *value;
                    self.stale = true;
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn need_before_start(&self, variable: &Variable) -> Outcome {
        if BEFORE_START.contains(&self.mode) {
            return Ok(());
        }
        Err(format!("the parameter `{}` is fixed and cannot be set {}", variable.name, self.mode).into())
    }

    pub(crate) fn get_integers(&self, references: &[u32], into: &mut [i32]) -> Outcome {
        self.allow(Call::Get)?;
        for (reference, into) in references.iter().zip(into) {
            match self.variable(*reference)?.role {
                Role::Count(place) => *into = self.parameters[place] as i32,
                _ => return Err(self.wrong_type(*reference)),
            }
        }
        Ok(())
    }

    pub(crate) fn set_integers(&mut self, references: &[u32], values: &[i32]) -> Outcome {
        self.allow(Call::Set)?;
        for (reference, value) in references.iter().zip(values) {
            let variable = self.variable(*reference)?;
            if !matches!(variable.role, Role::Count(_)) {
                return Err(self.wrong_type(*reference));
            }
            self.need_before_start(variable)?;
            if i64::from(*value) < i64::from(variable.least) {
                let (name, least) = (&variable.name, variable.least);
                return Err(format!("`{name}` must be at least {least}, found {value}").into());
            }
        }
        for (reference, value) in references.iter().zip(values) {
            if let Role::Count(place) = self.variable(*reference)?.role {
                self.parameters[place] = f64::from(*value);
                self.stale = true;
            }
        }
        Ok(())
    }

    /// A text by name; empty where there is none of that name.
    pub(super) fn text(&self, name: &str) -> &str {
        let place = self.variables.texts.iter().position(|text| text.name == name);
        place.and_then(|place| self.texts[place].to_str().ok()).unwrap_or("")
    }

    pub(crate) fn get_text(&self, reference: u32) -> Result<&CStr, Refusal> {
        self.allow(Call::Get)?;
        match self.variable(reference)?.role {
            Role::Text(place) => Ok(&self.texts[place]),
            _ => Err(self.wrong_type(reference)),
        }
    }

    pub(crate) fn set_texts(&mut self, references: &[u32], values: Vec<CString>) -> Outcome {
        self.allow(Call::Set)?;
        for (reference, value) in references.iter().zip(&values) {
            let variable = self.variable(*reference)?;
            let Role::Text(place) = variable.role else { return Err(self.wrong_type(*reference)) };
            self.need_before_start(variable)?;
            let text = value.to_str().map_err(|_| "the text is not UTF-8")?;
            let faulty = self.variables.texts[place].name == sabotage::FAULT.name;
            if faulty && !sabotage::FAULTS.contains(&text) {
                let hint = suggest(text, sabotage::FAULTS.iter().copied());
                return Err(format!("there is no fault `{text}`; {hint}").into());
            }
        }
        for (reference, value) in references.iter().zip(values) {
            let Role::Text(place) = self.variable(*reference)?.role else { continue };
            if let (Some(spy), Ok(text)) = (&mut self.spy, value.to_str())
                && self.variables.texts[place].name == spy::FILE.name
            {
                spy.aim(text);
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
    ) -> Outcome {
        self.allow(Call::InputDerivatives)?;
        if !self.can.interpolates {
            return Err("this FMU holds its inputs and takes no derivatives".into());
        }
        for (reference, order) in references.iter().zip(orders) {
            let variable = self.variable(*reference)?;
            if !matches!(variable.role, Role::Input(_)) {
                return Err(format!("`{}` is not an input", variable.name).into());
            }
            if !(1..=3).contains(order) {
                return Err(format!("derivatives of order {order} are not taken, only 1 to 3").into());
            }
        }
        for ((reference, order), value) in references.iter().zip(orders).zip(values) {
            if let Role::Input(port) = self.variable(*reference)?.role {
                let factorial = if *order == 3 { 6.0 } else { f64::from(*order) };
                self.inputs[port].0[*order as usize] = value / factorial;
                self.unsettled = true;
            }
        }
        Ok(())
    }

    pub(crate) fn output_derivatives(
        &mut self,
        references: &[u32],
        orders: &[i32],
        into: &mut [f64],
    ) -> Outcome {
        self.allow(Call::OutputDerivatives)?;
        if self.can.output_order == 0 {
            return Err("this FMU offers no derivatives of its outputs".into());
        }
        self.refresh()?;
        for ((reference, order), into) in references.iter().zip(orders).zip(into) {
            match (self.variable(*reference)?.role, order) {
                (Role::Output(port), 1) => *into = self.slopes[port],
                (Role::Output(_), _) => {
                    return Err(format!("derivatives of order {order} are not offered, only 1").into());
                }
                _ => return Err(format!("{reference} is not an output").into()),
            }
        }
        Ok(())
    }

    /// `sensitivity` = J seed, or the transpose of J if `adjoint`.
    pub(crate) fn derivative(
        &mut self,
        unknowns: &[u32],
        knowns: &[u32],
        seed: &[f64],
        sensitivity: &mut [f64],
        adjoint: bool,
    ) -> Outcome {
        self.allow(Call::Tangent)?;
        if !self.can.jacobian {
            return Err("this FMU offers no derivatives of outputs by inputs".into());
        }
        self.refresh()?;
        let width = self.inputs.len();
        self.simulator.jacobian(&mut self.jacobian)?;
        sensitivity.fill(0.0);
        for (row, unknown) in unknowns.iter().enumerate() {
            let Role::Output(output) = self.variable(*unknown)?.role else {
                return Err(format!("the unknown {unknown} is not an output").into());
            };
            for (column, known) in knowns.iter().enumerate() {
                let Role::Input(input) = self.variable(*known)?.role else {
                    return Err(format!("the known {known} is not an input").into());
                };
                let entry = self.jacobian[output * width + input];
                if adjoint {
                    sensitivity[column] += entry * seed[row];
                } else {
                    sensitivity[row] += entry * seed[column];
                }
            }
        }
        Ok(())
    }

    /// The last instant that was reached, as far as this FMU tells the truth.
    pub(crate) fn last_time(&self) -> f64 {
        match &self.sabotage {
            Some(sabotage) => self.time - sabotage.behind,
            None => self.time,
        }
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
