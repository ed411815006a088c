//! A linear component in the place of one that hides its states: the same ports and abilities, exact steps, and states that
//! can be read and written. So every method of the engine can be measured on it as on native components.

use std::collections::BTreeMap;

use cosimo_core::linear_model::{OperatingPoint, StateSpaceMatrices};
use cosimo_core::registry::{OpenProblem, OpenRequest, OpenResult};
use cosimo_core::simulator::{Jacobian, Memory, Rollback, StateSpace, States, StepIntegrals};
use cosimo_core::{
    Derivatives, Inputs, Interface, Outputs, Segment, Setup, Simulator, SimulatorError, Source,
    StateSpaceAccess, StepResult, Time, Window, abilities, dense,
};

/// Degree of inputs, and how many phi functions states and their integrals need for it.
const DEGREES: usize = 4;
const PHIS: usize = DEGREES + 1;

/// x' = A x + B (u - u0) + drift, y = y0 + C x + D (u - u0), with x = 0 at the operating point; matrices row by row.
#[derive(Debug, Clone, PartialEq)]
pub struct LinearComponent {
    pub a: Vec<f64>,
    pub b: Vec<f64>,
    pub c: Vec<f64>,
    pub d: Vec<f64>,
    pub drift: Vec<f64>,
    pub inputs: Vec<f64>,
    pub outputs: Vec<f64>,
}

impl LinearComponent {
    pub fn states(&self) -> usize {
        self.drift.len()
    }

    /// The same without what moves it by itself: its answer to disturbances.
    #[must_use]
    pub fn at_rest(&self) -> LinearComponent {
        let none = |values: &[f64]| vec![0.0; values.len()];
        LinearComponent {
            drift: none(&self.drift),
            inputs: none(&self.inputs),
            outputs: none(&self.outputs),
            ..self.clone()
        }
    }
}

/// Opens `linear-model:NAME` as the component of that name, with the interface of what it replaces.
pub(crate) struct LinearModels {
    pub models: BTreeMap<String, (LinearComponent, Interface)>,
}

/// The kind of their sources.
pub(crate) const KIND: &str = "linear-model:";

impl Source for LinearModels {
    fn name(&self) -> &str {
        "linear-model"
    }

    fn summary(&self) -> &str {
        "a component as its linear model at an operating point, for analyses"
    }

    fn claims(&self, source: &str) -> bool {
        source.starts_with(KIND)
    }

    fn open(&self, request: &OpenRequest<'_>) -> OpenResult {
        let found = request.source.strip_prefix(KIND).and_then(|name| self.models.get(name));
        let Some((model, interface)) = found else {
            let message = format!("there is no linear model of `{}`", request.name);
            return Err(vec![OpenProblem { parameter: None, message, hint: None }]);
        };
        Ok(Box::new(Surrogate::new(model.clone(), interface)))
    }
}

struct Surrogate {
    model: LinearComponent,
    interface: Interface,
    /// States, then the last inputs, then their slopes.
    memory: Memory<Box<[f64]>>,
    /// phi_0 to phi_5 of the last step size.
    size: f64,
    table: Vec<f64>,
    work: Vec<f64>,
    next: Vec<f64>,
    push: Vec<f64>,
    sums: Vec<f64>,
}

impl Surrogate {
    fn new(model: LinearComponent, replaced: &Interface) -> Surrogate {
        let (n, m) = (model.states(), model.inputs.len());
        let mut interface = replaced.clone();
        interface.byte_inputs.clear();
        interface.byte_outputs.clear();
        interface.stretches.clear();
        interface.members.clear();
        interface.tunable.clear();
        interface.warnings.clear();
        interface.parameter_warnings.clear();
        interface.recorded = None;
        interface.internal_step = None;
        let feeds = |&(output, input): &(usize, usize)| model.d[output * m + input] != 0.0;
        interface.feedthrough.retain(feeds);
        let access = |_| StateSpaceAccess { states: n, derivatives: Derivatives::Declared, anywhere: true };
        interface.state_space_access = interface.state_space_access.map(access);
        let abilities = &mut interface.abilities;
        (abilities.rollback, abilities.states) = (true, true);
        abilities.variable_step = true;
        abilities.serialize_state = false;
        abilities.early_return = false;
        abilities.events = false;
        abilities.wave_boundary = false;
        abilities.returns_each_internal_step = false;
        let now = start(&model);
        Surrogate {
            interface,
            memory: Memory::new(now),
            size: f64::NAN,
            table: vec![0.0; (PHIS + 1) * n * n],
            work: vec![0.0; dense::phi_work(n)],
            next: vec![0.0; n],
            push: vec![0.0; n],
            sums: vec![0.0; n],
            model,
        }
    }

    /// The exact flow: x(h) = phi_0 x + sum over q of h^(q+1) q! phi_(q+1) b_q, where b_q t^q are the terms of B u + drift;
    /// its integral has the phi functions of one index more and h^(q+2).
    fn step(&mut self, window: Window, inputs: &Inputs<'_>, integrals: &mut [f64]) -> StepResult {
        let Surrogate { model, memory, table, work, next, push, sums, interface, .. } = self;
        let (n, m, h) = (model.states(), model.inputs.len(), window.size);
        if self.size.to_bits() != h.to_bits() {
            dense::phi(n, PHIS, &model.a, h, table, work);
            self.size = h;
        }
        let phi = |k: usize| &table[k * n * n..(k + 1) * n * n];
        let holds = interface.abilities.input_degree == 0;
        let applied = |port: usize| {
            if holds { Segment::constant(inputs.segments[port].start()) } else { inputs.segments[port] }
        };
        let (x, rest) = memory.now.split_at_mut(n);
        let (u, slope) = rest.split_at_mut(m);
        next.fill(0.0);
        sums.fill(0.0);
        dense::add_product(phi(0), x, next);
        scaled_product(phi(1), x, h, sums);
        let mut factor = h;
        for q in 0..DEGREES {
            push.fill(0.0);
            if q == 0 {
                push.copy_from_slice(&model.drift);
            }
            for port in 0..m {
                let term = applied(port).0[q] - if q == 0 { model.inputs[port] } else { 0.0 };
                for (row, push) in push.iter_mut().enumerate() {
                    *push += model.b[row * m + port] * term;
                }
            }
            scaled_product(phi(q + 1), push, factor, next);
            scaled_product(phi(q + 2), push, factor * h, sums);
            factor *= h * (q + 1) as f64;
        }
        x.copy_from_slice(next);
        for (row, integral) in integrals.iter_mut().enumerate() {
            let of_states: f64 = (0..n).map(|k| model.c[row * n + k] * sums[k]).sum();
            let direct = |k: usize| model.d[row * m + k] * (applied(k).integral(h) - h * model.inputs[k]);
            *integral = h * model.outputs[row] + of_states + (0..m).map(direct).sum::<f64>();
        }
        for port in 0..m {
            (u[port], slope[port]) = (applied(port).at(h), applied(port).slope(h));
        }
        StepResult::end_of(window, 1)
    }
}

fn start(model: &LinearComponent) -> Box<[f64]> {
    let (n, m) = (model.states(), model.inputs.len());
    let mut now = vec![0.0; n + 2 * m];
    now[n..n + m].copy_from_slice(&model.inputs);
    now.into()
}

/// `into` += factor P x.
fn scaled_product(p: &[f64], x: &[f64], factor: f64, into: &mut [f64]) {
    for (row, into) in into.iter_mut().enumerate() {
        *into += factor * p[row * x.len()..].iter().zip(x).map(|(p, x)| p * x).sum::<f64>();
    }
}

impl LinearComponent {
    fn derivatives(&self, x: &[f64], u: &[f64], f: &mut [f64]) {
        let (n, m) = (self.states(), self.inputs.len());
        for (row, f) in f.iter_mut().enumerate() {
            let of_states: f64 = (0..n).map(|k| self.a[row * n + k] * x[k]).sum();
            let of_inputs: f64 = (0..m).map(|k| self.b[row * m + k] * (u[k] - self.inputs[k])).sum();
            *f = of_states + of_inputs + self.drift[row];
        }
    }

    fn values(&self, x: &[f64], u: &[f64], y: &mut [f64]) {
        let (n, m) = (self.states(), self.inputs.len());
        for (row, y) in y.iter_mut().enumerate() {
            let of_states: f64 = (0..n).map(|k| self.c[row * n + k] * x[k]).sum();
            let direct: f64 = (0..m).map(|k| self.d[row * m + k] * (u[k] - self.inputs[k])).sum();
            *y = self.outputs[row] + of_states + direct;
        }
    }
}

impl Simulator for Surrogate {
    fn interface(&self) -> &Interface {
        &self.interface
    }

    fn initialize(&mut self, _: &Setup) -> Result<(), SimulatorError> {
        self.memory = Memory::new(start(&self.model));
        Ok(())
    }

    fn set_inputs(&mut self, _: Time, inputs: &Inputs<'_>) -> Result<(), SimulatorError> {
        let (n, m) = (self.model.states(), self.model.inputs.len());
        let (u, slope) = self.memory.now[n..].split_at_mut(m);
        for (port, segment) in inputs.segments.iter().enumerate() {
            (u[port], slope[port]) = (segment.start(), segment.slope(0.0));
        }
        Ok(())
    }

    fn do_step(&mut self, window: Window, inputs: &Inputs<'_>) -> Result<StepResult, SimulatorError> {
        Ok(self.step(window, inputs, &mut []))
    }

    fn get_outputs(&mut self, out: &mut Outputs<'_>) -> Result<(), SimulatorError> {
        let (n, m) = (self.model.states(), self.model.inputs.len());
        let (x, rest) = self.memory.now.split_at(n);
        let (u, slope) = rest.split_at(m);
        self.model.values(x, u, out.values);
        if !out.slopes.is_empty() {
            self.model.derivatives(x, u, &mut self.push);
            for (row, to) in out.slopes.iter_mut().enumerate() {
                let of_states: f64 = (0..n).map(|k| self.model.c[row * n + k] * self.push[k]).sum();
                *to = of_states + (0..m).map(|k| self.model.d[row * m + k] * slope[k]).sum::<f64>();
            }
        }
        Ok(())
    }

    fn rollback(&mut self) -> Option<&mut dyn Rollback> {
        Some(&mut self.memory)
    }

    abilities! {
        self:
        states,
        state_space if self.interface.state_space_access.is_some(),
        jacobian if self.interface.abilities.jacobian,
        integrals if self.interface.abilities.integrals,
    }
}

impl States for Surrogate {
    fn count(&mut self) -> usize {
        self.model.states()
    }

    fn get(&mut self, x: &mut [f64]) {
        x.copy_from_slice(&self.memory.now[..self.model.states()]);
    }

    fn set(&mut self, x: &[f64]) {
        self.memory.now[..self.model.states()].copy_from_slice(x);
    }
}

impl Jacobian for Surrogate {
    fn fill(&mut self, into: &mut [f64]) -> Result<(), SimulatorError> {
        into.copy_from_slice(&self.model.d);
        Ok(())
    }
}

impl StateSpace for Surrogate {
    fn operating_point(&mut self, into: &mut OperatingPoint<'_>) -> Result<(), SimulatorError> {
        into.x.copy_from_slice(&self.memory.now[..self.model.states()]);
        self.derivatives_and_outputs(into.x, into.u, into.f, into.g)
    }

    fn derivatives_and_outputs(
        &mut self,
        x: &[f64],
        u: &[f64],
        f: &mut [f64],
        g: &mut [f64],
    ) -> Result<(), SimulatorError> {
        self.model.derivatives(x, u, f);
        self.model.values(x, u, g);
        Ok(())
    }

    fn matrices(&mut self, _: &[f64], into: &mut StateSpaceMatrices<'_>) -> Result<(), SimulatorError> {
        into.a.copy_from_slice(&self.model.a);
        into.b.copy_from_slice(&self.model.b);
        into.c.copy_from_slice(&self.model.c);
        into.d.copy_from_slice(&self.model.d);
        Ok(())
    }
}

impl StepIntegrals for Surrogate {
    fn do_step_with_integrals(
        &mut self,
        window: Window,
        inputs: &Inputs<'_>,
        integrals: &mut [f64],
    ) -> Result<StepResult, SimulatorError> {
        Ok(self.step(window, inputs, integrals))
    }
}
