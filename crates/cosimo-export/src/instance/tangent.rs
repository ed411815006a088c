//! Partial derivatives: of outputs by inputs; of derivatives and by states, too, where these are variables.

use cosimo_native::Tangent;

use super::model_exchange::equations_at;
use super::{Call, CallResult, ExportedInstance, InstanceBody, Mode, Refusal};
use crate::variables::Role;

impl ExportedInstance {
    /// `sensitivity` = J seed, or the transpose of J if `adjoint`.
    pub(crate) fn tangent(
        &mut self,
        unknowns: &[u32],
        knowns: &[u32],
        seed: &[f64],
        sensitivity: &mut [f64],
        adjoint: bool,
    ) -> CallResult {
        self.allow(Call::Tangent)?;
        let offered = match self.body {
            InstanceBody::Stepped(_) => self.can.jacobian,
            InstanceBody::Exchanged(_) => self.can.tangents,
        };
        if !offered {
            return Err("this FMU provides no partial derivatives".into());
        }
        self.refresh()?;
        let rows: Vec<usize> = unknowns.iter().map(|unknown| self.row(*unknown)).collect::<Result<_, _>>()?;
        sensitivity.fill(0.0);
        for (at, known) in knowns.iter().enumerate() {
            let column = self.column(*known)?;
            for (place, row) in rows.iter().enumerate() {
                if adjoint {
                    sensitivity[at] += column[*row] * seed[place];
                } else {
                    sensitivity[place] += column[*row] * seed[at];
                }
            }
        }
        Ok(())
    }

    /// Where a value stands in a column: derivatives first, then outputs.
    fn row(&self, unknown: u32) -> Result<usize, Refusal> {
        let role = self.variable(unknown)?.role;
        let states = self.variables.states.len();
        let output = self.variables.outputs.iter().position(|output| *output == unknown as usize);
        match (role, output) {
            (Role::Derivative(state), _) if state < states => Ok(state),
            (_, Some(output)) => Ok(states + output),
            _ => Err(format!("the unknown {unknown} is not an output or a derivative").into()),
        }
    }

    /// Derivatives of all values by one input or state.
    fn column(&mut self, known: u32) -> Result<Vec<f64>, Refusal> {
        let (role, shown) = (self.variable(known)?.role, self.outputs.len());
        let listed = !self.variables.states.is_empty();
        let mut opened;
        match (&mut self.body, role) {
            (InstanceBody::Stepped(simulator), Role::Input(input)) if !listed => {
                simulator.need_jacobian()?.fill(&mut self.jacobian)?;
                let width = self.inputs.len();
                Ok((0..shown).map(|output| self.jacobian[output * width + input]).collect())
            }
            (InstanceBody::Exchanged(_), Role::State(_)) if self.mode == Mode::Initializing => {
                Err(format!("the known {known} is a state, which is computed in initialisation mode").into())
            }
            (body, Role::Input(_) | Role::State(_))
                if listed || matches!(body, InstanceBody::Exchanged(_)) =>
            {
                let exchange = match body {
                    InstanceBody::Exchanged(exchange) => exchange,
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
                let states = exchange.now.x.len();
                let mut direction = vec![0.0; states + self.inputs.len()];
                match role {
                    Role::Input(input) => direction[states + input] = 1.0,
                    Role::State(state) => direction[state] = 1.0,
                    _ => {}
                }
                let (x, u) = direction.split_at(states);
                let mut column = vec![0.0; states + shown];
                let (dx, y) = column.split_at_mut(states);
                let (equations, point) = exchange.at(self.time, &self.inputs);
                equations.tangent(&point, &Tangent { x, u }, dx, y);
                Ok(column)
            }
            _ => Err(format!("the known {known} is not an input or a state").into()),
        }
    }
}
