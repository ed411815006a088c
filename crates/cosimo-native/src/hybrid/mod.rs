//! The loop that integrates equations with events: those of native models and of FMUs for model exchange.
//!
//! The integrator evaluates the extrapolated inputs at its own stages and continues across windows; it restarts only
//! where an input jumps or an event changes the equations. Events are handled inside a window, at their time: state
//! events where an indicator changes its sign, announced time events, and step events. At the end of a line the effort
//! follows from the flow at every stage, so that the line's impedance is part of the integrated equations. The classical
//! method of order four with fixed steps is available, too, because papers on coupling state numbers of steps.

mod equations;
mod integration;
mod solver_state;

use std::fmt;

use cosimo_core::abilities;
use cosimo_core::ends::Tuning;
use cosimo_core::linear_model::{OperatingPoint, StateSpaceMatrices};
use cosimo_core::simulator::{
    Events, Jacobian, Lifecycle, Locals, StateSpace, States, StepIntegrals, TunableParameters,
};
use cosimo_core::{
    Inputs, Interface, Outputs, Segment, Setup, Simulator, SimulatorError, Slot, StepResult, Time, Window,
};
use cosimo_ode::{Roots, Settings};

pub use equations::{CompletedStep, Equations, EventResult, InitialState, IntegrationMethod};
use integration::integrator;
pub use integration::{MAX_EVENTS_AT_INSTANT, too_many_events};
use solver_state::SolverState;

/// Equations and their integrator, as one simulator.
pub struct HybridSimulator<E> {
    pub equations: E,
    pub interface: Interface,
    method: IntegrationMethod,
    setup: Setup,
    initialising: bool,
    state: SolverState,
    /// One per slot, allocated when initialisation ends: no step allocates.
    slots: Vec<SolverState>,
    u: Vec<f64>,
    flows: Vec<f64>,
    work: HybridWorkspace,
    /// Evaluations in steps of fixed size.
    evaluations: u64,
    /// The event at which the last step stopped; all components are stepped to it. Not rolled back: the repeated step ends there.
    stopped_at_event: f64,
    /// The function by which the equations requested the end. Outputs may still be read, but no step taken.
    ended: Option<&'static str>,
}

impl<E> fmt::Debug for HybridSimulator<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HybridSimulator({:?})", self.interface)
    }
}

/// Workspace.
struct HybridWorkspace {
    x: Vec<f64>,
    y: Vec<f64>,
    stage: Vec<f64>,
    /// Derivatives; those of all stages in steps of fixed size.
    slopes: [Vec<f64>; 4],
}

impl<E: Equations> HybridSimulator<E> {
    pub fn new(equations: E, interface: Interface, method: IntegrationMethod) -> HybridSimulator<E> {
        let (inputs, outputs) = (interface.inputs.len(), interface.outputs.len());
        let room = || vec![0.0; method.states];
        // Replaced when tolerances are known; default ones suit every method.
        let placeholder = integrator(method.solver, method.states, &Settings::default());
        let course = SolverState {
            integrator: placeholder.unwrap_or_else(|refusal| unreachable!("{refusal}")),
            roots: Roots::new(method.indicators, method.states),
            next_event: f64::INFINITY,
            due: false,
            now: 0.0,
            anchor: 0.0,
            held: vec![Segment::ZERO; inputs],
            tuning: Tuning::new(inputs),
        };
        HybridSimulator {
            setup: Setup { start: Time::ZERO, stop: None, stop_at_events: false, rewinds: true },
            initialising: false,
            slots: vec![course.clone(); Slot::COUNT],
            state: course,
            u: vec![0.0; inputs],
            flows: vec![0.0; outputs],
            work: HybridWorkspace {
                x: room(),
                y: vec![0.0; outputs],
                stage: room(),
                slopes: std::array::from_fn(|_| room()),
            },
            evaluations: 0,
            stopped_at_event: f64::NAN,
            ended: None,
            equations,
            interface,
            method,
        }
    }

    /// Of the last initialisation.
    pub fn setup(&self) -> Setup {
        self.setup
    }
}

impl<E: Equations> Simulator for HybridSimulator<E> {
    fn interface(&self) -> &Interface {
        &self.interface
    }

    fn initialize(&mut self, setup: &Setup) -> Result<(), SimulatorError> {
        let HybridSimulator { equations, interface, method, state: course, .. } = self;
        let waits = equations.enter_initialization(setup)?;
        let at = setup.start.seconds();
        (course.next_event, course.due, course.now, course.anchor) = (f64::INFINITY, false, at, at);
        course.roots = Roots::new(method.indicators, method.states);
        course.tuning = Tuning::new(interface.inputs.len());
        for (held, port) in course.held.iter_mut().zip(&interface.inputs) {
            *held = Segment::constant(port.start.unwrap_or(0.0));
        }
        (self.setup, self.initialising, self.stopped_at_event, self.ended) = (*setup, true, f64::NAN, None);
        if waits { Ok(()) } else { self.finish_initialization() }
    }

    fn set_inputs(&mut self, at: Time, inputs: &Inputs<'_>) -> Result<(), SimulatorError> {
        if self.ended.is_some() {
            return Ok(());
        }
        if self.initialising {
            self.state.held.copy_from_slice(inputs.segments);
            self.u.iter_mut().zip(inputs.segments).for_each(|(u, segment)| *u = segment.start());
            return self.equations.set_initial_inputs(&self.u);
        }
        self.apply_inputs(at.seconds(), inputs)?;
        if self.ended.is_some() { Ok(()) } else { self.place_equations() }
    }

    fn do_step(&mut self, window: Window, inputs: &Inputs<'_>) -> Result<StepResult, SimulatorError> {
        self.do_step_with_integrals(window, inputs, &mut [])
    }

    fn get_outputs(&mut self, out: &mut Outputs<'_>) -> Result<(), SimulatorError> {
        self.equations.outputs(out.values)?;
        if out.slopes.is_empty() || !self.interface.abilities.slopes {
            return Ok(());
        }
        if self.initialising || self.ended.is_some() {
            out.slopes.fill(0.0); // no derivatives during initialisation or after the end
            return Ok(());
        }
        self.output_slopes(out.slopes)
    }

    fn locals(&mut self) -> Option<&mut dyn Locals> {
        self.equations.locals()
    }

    abilities! {
        self:
        lifecycle, parameters, states, state_space,
        rollback if self.interface.abilities.rollback,
        serialize_state if self.interface.abilities.serialize_state,
        events if self.interface.abilities.events,
        jacobian if self.interface.abilities.jacobian,
        integrals if self.interface.abilities.integrals,
    }
}

impl<E: Equations> StepIntegrals for HybridSimulator<E> {
    fn do_step_with_integrals(
        &mut self,
        window: Window,
        inputs: &Inputs<'_>,
        integrals: &mut [f64],
    ) -> Result<StepResult, SimulatorError> {
        integrals.fill(0.0);
        self.equations.check_ends(&self.interface, inputs.ends)?;
        self.finish_initialization()?;
        let ended =
            |function: Option<&'static str>| function.map_or(Ok(()), |name| Err(SimulatorError::end(name)));
        ended(self.ended)?;
        let before = self.evaluations();
        if self.state.tuning.differs(inputs.ends) {
            self.state.integrator.invalidate_jacobian();
            self.state.integrator.renew();
        }
        let asked = self.apply_inputs(window.from.seconds(), inputs)?;
        ended(self.ended)?;
        if inputs.return_each_internal_step {
            self.one_step(&window, inputs.ends, integrals)?;
        } else {
            self.integrate_window(&window, inputs.ends, integrals)?;
        }
        let SolverState { now, next_event, due, .. } = &self.state;
        Ok(StepResult {
            to: Time::new(*now).unwrap_or(window.to),
            next_event: Time::new(*next_event).filter(|_| next_event.is_finite()),
            event: *due || self.ended.is_some(),
            evaluations: self.evaluations() - before + asked,
        })
    }
}

impl<E: Equations> Lifecycle for HybridSimulator<E> {
    fn exit_initialization(&mut self) -> Result<bool, SimulatorError> {
        let initialising = self.initialising;
        self.finish_initialization()?;
        Ok(initialising)
    }

    fn notices(&mut self) -> Vec<(&'static str, String)> {
        self.equations.notices()
    }

    fn ending(&mut self) -> Option<&'static str> {
        self.ended
    }
}

impl<E: Equations> Events for HybridSimulator<E> {
    fn next_event(&mut self) -> Result<Option<Time>, SimulatorError> {
        self.finish_initialization()?;
        let next = self.state.next_event;
        Ok(Time::new(next).filter(|_| next.is_finite()))
    }
}

impl<E: Equations> TunableParameters for HybridSimulator<E> {
    /// The equations change, the solver state stays; they may announce another event.
    fn set_parameter(&mut self, parameter: usize, value: f64) -> Result<(), SimulatorError> {
        self.equations.set_parameter(&self.interface, parameter, value)?;
        self.event(self.state.now)?;
        self.place_equations()
    }
}

impl<E: Equations> Jacobian for HybridSimulator<E> {
    fn fill(&mut self, into: &mut [f64]) -> Result<(), SimulatorError> {
        self.finish_initialization()?;
        self.equations.jacobian(&self.interface, into)
    }
}

/// Equations can be evaluated at any states and inputs; afterwards their current point is restored.
impl<E: Equations> StateSpace for HybridSimulator<E> {
    fn operating_point(&mut self, into: &mut OperatingPoint<'_>) -> Result<(), SimulatorError> {
        self.finish_initialization()?;
        into.x.copy_from_slice(self.state.integrator.state());
        self.derivatives_and_outputs(into.x, into.u, into.f, into.g)
    }

    fn derivatives_and_outputs(
        &mut self,
        x: &[f64],
        u: &[f64],
        f: &mut [f64],
        g: &mut [f64],
    ) -> Result<(), SimulatorError> {
        self.finish_initialization()?;
        self.equations.set_point(self.state.now, x, u)?;
        self.equations.derivatives(f)?;
        self.equations.outputs(g)?;
        self.place_equations()
    }

    fn matrices(&mut self, u: &[f64], into: &mut StateSpaceMatrices<'_>) -> Result<(), SimulatorError> {
        self.finish_initialization()?;
        self.equations.set_point(self.state.now, self.state.integrator.state(), u)?;
        self.equations.matrices(into)?;
        self.place_equations()
    }
}

impl<E: Equations> States for HybridSimulator<E> {
    fn count(&mut self) -> usize {
        self.method.states
    }

    fn get(&mut self, x: &mut [f64]) {
        x.copy_from_slice(self.state.integrator.state());
    }

    fn set(&mut self, x: &[f64]) {
        self.state.integrator.restart(self.state.now, x);
        // If the equations refuse this point, the next step reports it.
        let _ = self.place_equations();
    }
}
