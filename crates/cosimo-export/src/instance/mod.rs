//! One instance of an FMU, the same for both versions: the model, the modes of the standard and the calls allowed
//! in each. Safe Rust throughout; `ffi` turns pointers into slices and outcomes into status codes.
//!
//! A refused call changes nothing, so that the importer can continue. Only a failure of the model leaves the instance
//! in `Failed`, from which restoring a state or a reset recovers it.

mod clocked;
mod model_exchange;
mod passing;
mod rules;
mod step;
mod tangent;
mod values;

use std::ffi::CString;
use std::fmt;
use std::path::Path;

use cosimo_core::{Inputs, Segment, Setup, Simulator, SimulatorError, Time};

use crate::datum::{self, Datum};
use crate::describe::Capabilities;
use crate::design::{Design, InterfaceType, Version};
use crate::equipment::{self, Clocks, Equipment};
use crate::line::Lines;
use crate::model::{ExportedModel, OpenModel};
use crate::state::{HeldStates, InstanceState};
use crate::variables::Variables;
use model_exchange::EquationsState;
use step::Pending;

pub use model_exchange::DiscreteStatesUpdate;
pub(crate) use rules::Call;
pub(crate) use step::{SAMPLES, SolverStep, StepEnd};

/// A mode of the standard's state machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Instantiated,
    Initializing,
    /// Model exchange: discrete states may change.
    Event,
    /// Model exchange: time and states move.
    Continuous,
    /// Co-simulation, between steps.
    Stepping,
    /// Inside a step, while the importer is called back.
    Intermediate,
    Terminated,
    Failed,
    /// After a fatal error nothing is left to call.
    Dead,
    /// After a discarded step: a state can be restored, the instance terminated or freed.
    Discarded,
    /// Kept to record calls after it was freed.
    Freed,
}

impl Mode {
    pub(crate) fn from_number(number: u64) -> Option<Mode> {
        use Mode::{
            Continuous, Dead, Discarded, Event, Failed, Initializing, Instantiated, Intermediate, Stepping,
            Terminated,
        };
        let stepped = [Stepping, Intermediate, Discarded];
        let all = [Instantiated, Initializing, Event, Continuous, Terminated, Failed, Dead];
        all.into_iter().chain(stepped).find(|mode| *mode as u64 == number)
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Mode::Instantiated => "before initialisation",
            Mode::Initializing => "in initialisation mode",
            Mode::Event => "in event mode",
            Mode::Continuous => "in continuous-time mode",
            Mode::Stepping => "in step mode",
            Mode::Intermediate => "in intermediate update mode",
            Mode::Terminated => "after termination",
            Mode::Failed => "after an error",
            Mode::Dead => "after a fatal error",
            Mode::Discarded => "after a discarded step",
            Mode::Freed => "after the instance was freed",
        })
    }
}

/// As both versions number it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    Ok,
    Warning,
    Discard,
    Error,
    Fatal,
}

impl Status {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Status::Ok => "ok",
            Status::Warning => "warning",
            Status::Discard => "discard",
            Status::Error => "error",
            Status::Fatal => "fatal",
        }
    }
}

/// A status with a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    pub status: Status,
    pub message: String,
}

pub(crate) type CallResult = Result<(), Refusal>;

impl Refusal {
    pub fn new(status: Status, message: impl Into<String>) -> Refusal {
        Refusal { status, message: message.into() }
    }
}

impl From<String> for Refusal {
    fn from(message: String) -> Refusal {
        Refusal::new(Status::Error, message)
    }
}

impl From<&str> for Refusal {
    fn from(message: &str) -> Refusal {
        Refusal::new(Status::Error, message)
    }
}

impl From<SimulatorError> for Refusal {
    fn from(error: SimulatorError) -> Refusal {
        Refusal::new(Status::Error, error.to_string())
    }
}

/// The model behind the interface.
enum InstanceBody {
    Stepped(Box<dyn Simulator>),
    /// Solved by the importer, or without anything to solve.
    Exchanged(EquationsState),
}

/// Capabilities of an FMI 3.0 importer in co-simulation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct ImporterAbilities {
    pub(crate) event_mode: bool,
    pub(crate) early_return: bool,
}

pub(crate) struct ExportedInstance {
    version: Version,
    /// Co-simulation or model exchange.
    kind: InterfaceType,
    importer: ImporterAbilities,
    /// Token and kind, which a serialized state must match.
    identity: String,
    model: ExportedModel,
    variables: Variables,
    pub(crate) can: Capabilities,
    pub(crate) mode: Mode,
    body: InstanceBody,
    time: f64,
    /// FMI 2.0 requires `fmi2SetupExperiment` before initialisation.
    set_up: bool,
    start: f64,
    stop: Option<f64>,
    step: Option<f64>,
    steps: u64,
    parameters: Vec<f64>,
    texts: Vec<CString>,
    /// Inputs that are copied to outputs.
    echo_inputs: Vec<Datum>,
    clocks: Option<Box<dyn Clocks>>,
    /// Extrapolation of each input from now on; a constant unless derivatives were set.
    inputs: Vec<Segment>,
    /// Where the last inputs belong to lines.
    lines: Option<Lines>,
    outputs: Vec<f64>,
    slopes: Vec<f64>,
    jacobian: Vec<f64>,
    /// The parameters changed since the model was opened.
    stale: bool,
    /// The inputs changed since they were set in the simulator.
    inputs_changed: bool,
    /// `outputs` are up to date.
    current: bool,
    /// `noSetFMUStatePriorToCurrentPoint`: no state before this time is restored.
    promised: f64,
    pending: Pending,
    pub(crate) states: HeldStates,
    pub(crate) equipment: Box<dyn Equipment>,
}

impl ExportedInstance {
    /// From the FMU's resources. The token is the one that the importer read in the description.
    pub(crate) fn new(
        resources: &Path,
        (version, kind, manners): (Version, InterfaceType, ImporterAbilities),
        name: &str,
        token: &str,
    ) -> Result<ExportedInstance, String> {
        let path = resources.join("model.toml");
        let text = std::fs::read_to_string(&path)
            .map_err(|error| format!("{} cannot be read: {error}", path.display()))?;
        let (design, own) =
            Design::from_text(&text).map_err(|error| format!("{}: {error}", path.display()))?;
        if token != own {
            return Err(format!("expected the token `{own}`, got `{token}`"));
        }
        if version != design.version {
            return Err(format!("this FMU is for FMI {}", design.version.text()));
        }
        if !design.kind.offers(kind) {
            return Err(format!("this FMU is for {} only", kind_name(design.kind)));
        }
        let model = ExportedModel::of(&design)?;
        let parameters = model.defaults();
        let OpenModel { interface, simulator, equations } = model.open(design.kind, &parameters)?;
        let variables = Variables::of(&model, &interface, equations.as_deref(), version);
        let (inputs, outputs) = (interface.inputs.len(), interface.outputs.len());
        let can = Capabilities::of(&design, &model, &interface);
        let own = simulator.as_ref().map(|simulator| simulator.interface());
        let mut lines = own.filter(|_| design.line).map(|own| Lines::new(own, version));
        if let (Some(lines), Some(values)) = (&mut lines, model.steadiness(&parameters)) {
            lines.take_control(values)?;
        }
        if manners.event_mode && !can.event_mode {
            return Err("this FMU has no event mode".into());
        }
        if model.clocks.is_some() && !manners.event_mode {
            return Err("this FMU has clocks and needs an importer with event mode".into());
        }
        let body = match (kind, simulator, equations) {
            (InterfaceType::CoSimulation | InterfaceType::Both, Some(simulator), _) => {
                InstanceBody::Stepped(simulator)
            }
            (_, _, Some(equations)) => InstanceBody::Exchanged(EquationsState::new(equations, 0.0)),
            _ => return Err("the model cannot be solved here".into()),
        };
        let mut instance = ExportedInstance {
            version,
            kind,
            importer: manners,
            identity: format!("{token} for {}", kind_name(kind)),
            variables,
            can,
            mode: Mode::Instantiated,
            time: 0.0,
            set_up: false,
            start: 0.0,
            stop: None,
            step: None,
            steps: 0,
            parameters,
            texts: Vec::new(),
            echo_inputs: Vec::new(),
            clocks: None,
            inputs: vec![Segment::ZERO; inputs],
            lines,
            outputs: vec![0.0; outputs],
            slopes: if can.output_order > 0 { vec![0.0; outputs] } else { Vec::new() },
            jacobian: vec![0.0; inputs * outputs],
            stale: false,
            inputs_changed: true,
            current: false,
            promised: f64::NEG_INFINITY,
            pending: Pending::new(inputs),
            states: HeldStates::default(),
            equipment: equipment::equip(&design, name)?,
            body,
            model,
        };
        instance.begin();
        Ok(instance)
    }

    /// Sets everything to the state after instantiation; states that the importer holds stay valid.
    fn begin(&mut self) {
        self.mode = Mode::Instantiated;
        (self.time, self.start, self.stop, self.step, self.steps) = (0.0, 0.0, None, None, 0);
        (self.stale, self.inputs_changed, self.current) = (true, true, false);
        (self.set_up, self.promised) = (false, f64::NEG_INFINITY);
        self.parameters = self.model.defaults();
        for port in 0..self.inputs.len() {
            let start = self.variables.list[self.variables.inputs[port]].start.unwrap_or(0.0);
            self.inputs[port] = Segment::constant(start);
        }
        let text = |text: &crate::variables::TextParameter| CString::new(text.start).unwrap_or_default();
        self.texts = self.variables.texts.iter().map(text).collect();
        self.clocks = self.model.clocks.map(|clocks| (clocks.start)(0.0));
        self.echo_inputs = self.model.echoes.iter().map(|kind| Datum::start(*kind)).collect();
        self.equipment.begin();
    }

    pub(crate) fn version(&self) -> Version {
        self.version
    }

    pub(crate) fn identity(&self) -> &str {
        &self.identity
    }

    pub(crate) fn allow(&self, call: Call) -> CallResult {
        let modes = rules::modes(self.kind, self.version, call);
        if modes.contains(&self.mode) {
            return Ok(());
        }
        if modes.is_empty() {
            return Err(format!("this instance is for {}", kind_name(self.kind)).into());
        }
        let clause = rules::clause(self.kind, self.version);
        Err(format!("it must not be called {} ({clause})", self.mode).into())
    }

    /// `fmi2SetupExperiment`, or the part of it that FMI 3.0 has in `fmi3EnterInitializationMode`.
    pub(crate) fn set_up(&mut self, start: f64, stop: Option<f64>) -> CallResult {
        self.allow(Call::SetUp)?;
        if !start.is_finite() || stop.is_some_and(|stop| stop.is_nan() || stop < start) {
            return Err(format!("invalid experiment: start {start}, stop {stop:?}").into());
        }
        (self.time, self.start, self.stop, self.set_up, self.stale) = (start, start, stop, true, true);
        self.clocks = self.model.clocks.map(|clocks| (clocks.start)(start));
        if self.equipment.resets_parameters() {
            self.parameters = self.model.defaults();
        }
        Ok(())
    }

    pub(crate) fn enter_initialization(&mut self) -> CallResult {
        self.allow(Call::EnterInitialization)?;
        if !self.set_up {
            return Err("`fmi2SetupExperiment` must be called first".into());
        }
        self.mode = Mode::Initializing;
        Ok(())
    }

    pub(crate) fn exit_initialization(&mut self) -> CallResult {
        self.allow(Call::ExitInitialization)?;
        self.refresh()?;
        if self.kind == InterfaceType::ModelExchange || self.importer.event_mode {
            self.mode = Mode::Event;
        } else {
            self.handle_event();
            self.mode = Mode::Stepping;
        }
        self.equipment.initialized();
        Ok(())
    }

    pub(crate) fn terminate(&mut self) -> CallResult {
        self.allow(Call::Terminate)?;
        self.mode = Mode::Terminated;
        Ok(())
    }

    pub(crate) fn reset(&mut self) -> CallResult {
        self.allow(Call::Reset)?;
        self.begin();
        Ok(())
    }

    /// Sets current parameters and inputs in the simulator, and updates `outputs`.
    fn refresh(&mut self) -> CallResult {
        self.reopen()?;
        let simulator = match &mut self.body {
            InstanceBody::Stepped(simulator) => simulator,
            InstanceBody::Exchanged(exchange) => {
                let (equations, point) = exchange.at(self.time, &self.inputs);
                equations.outputs(&point, &mut self.outputs);
                self.inputs_changed = false;
                return Ok(());
            }
        };
        if self.inputs_changed {
            let at = Time::new(self.time).ok_or("the time is not a number")?;
            let own_inputs = self.lines.as_ref().map_or(self.inputs.len(), |lines| lines.own_inputs);
            simulator.set_inputs(at, &Inputs::of(&self.inputs[..own_inputs]))?;
            (self.inputs_changed, self.current) = (false, false);
        }
        if !self.current {
            self.read_outputs()?;
        }
        Ok(())
    }

    /// Updates `outputs` without setting new inputs.
    fn read_outputs(&mut self) -> CallResult {
        let InstanceBody::Stepped(simulator) = &mut self.body else { return Ok(()) };
        let shown = self.lines.as_ref().map_or(self.outputs.len(), |lines| lines.shown);
        let (own, rest) = self.outputs.split_at_mut(shown);
        let slopes = self.slopes.len().min(shown);
        simulator
            .get_outputs(&mut cosimo_core::Outputs { values: own, slopes: &mut self.slopes[..slopes] })?;
        if let Some(control) = self.lines.as_ref().and_then(|lines| lines.control.as_ref()) {
            rest.iter_mut().zip(control.shown()).for_each(|(output, value)| *output = value);
        }
        self.current = true;
        Ok(())
    }

    /// Reopens the model if parameters have changed.
    fn reopen(&mut self) -> CallResult {
        if self.stale {
            self.body = match self.body {
                InstanceBody::Exchanged(_) => InstanceBody::Exchanged(EquationsState::new(
                    self.model.equations(&self.parameters)?,
                    self.start,
                )),
                InstanceBody::Stepped(_) => {
                    let mut simulator = self.model.simulator(&self.parameters)?;
                    let start = Time::new(self.start).ok_or("the start is not a number")?;
                    simulator.initialize(&Setup {
                        start,
                        stop: self.stop.and_then(Time::new),
                        stop_at_events: false,
                        rewinds: true,
                    })?;
                    if let (Some(lines), Some(values)) =
                        (&mut self.lines, self.model.steadiness(&self.parameters))
                    {
                        lines.take_control(values)?;
                    }
                    InstanceBody::Stepped(simulator)
                }
            };
            (self.stale, self.inputs_changed) = (false, true);
        }
        Ok(())
    }

    fn need_states(&self) -> CallResult {
        if !self.can.rollback {
            return Err("this FMU does not support saving its state".into());
        }
        self.allow(Call::States)
    }

    /// Into an old state if there is one, to reuse its memory.
    pub(crate) fn save(&mut self, old: Option<&mut InstanceState>) -> Result<Option<InstanceState>, Refusal> {
        self.need_states()?;
        self.reopen()?;
        let mut fresh = None;
        let state = match old {
            Some(state) => state,
            None => fresh.insert(InstanceState {
                mode: self.mode,
                time: 0.0,
                start: 0.0,
                stop: None,
                step: None,
                steps: 0,
                inputs_changed: true,
                parameters: self.parameters.clone(),
                inputs: self.inputs.clone(),
                simulator_state: Vec::new(),
            }),
        };
        (state.mode, state.time, state.start, state.stop) = (self.mode, self.time, self.start, self.stop);
        (state.step, state.steps, state.inputs_changed) = (self.step, self.steps, self.inputs_changed);
        state.parameters.clone_from(&self.parameters);
        state.inputs.clone_from(&self.inputs);
        state.simulator_state.clear();
        datum::serialize(&self.echo_inputs, &mut state.simulator_state);
        if let Some(clocks) = &self.clocks {
            clocks.serialize(&mut state.simulator_state);
        }
        if let Some(control) = self.lines.as_ref().and_then(|lines| lines.control.as_ref()) {
            control.serialize(&mut state.simulator_state);
        }
        match &mut self.body {
            InstanceBody::Stepped(simulator) => {
                simulator.need_serialize_state()?.serialize(&mut state.simulator_state)?
            }
            InstanceBody::Exchanged(exchange) => exchange.serialize(&mut state.simulator_state),
        }
        Ok(fresh)
    }

    pub(crate) fn restore(&mut self, state: &InstanceState) -> CallResult {
        self.need_states()?;
        if state.time < self.promised {
            return Err(format!(
                "the state is of t = {}, but the importer set noSetFMUStatePriorToCurrentPoint at {}",
                state.time, self.promised
            )
            .into());
        }
        if self.equipment.on_restore(&self.parameters) {
            return Ok(());
        }
        let same = |(old, new): (&f64, &f64)| old.to_bits() == new.to_bits();
        if self.stale || !self.parameters.iter().zip(&state.parameters).all(same) {
            self.parameters.clone_from(&state.parameters);
            self.stale = true;
            self.reopen()?;
        }
        let cut_off = "the state is truncated";
        let (heard, mut frozen) =
            datum::deserialize(&self.echo_inputs, &state.simulator_state).ok_or(cut_off)?;
        let mut clocks = self.model.clocks.map(|clocks| (clocks.start)(0.0));
        if let Some(clocks) = &mut clocks {
            frozen = clocks.deserialize(frozen).ok_or(cut_off)?;
        }
        let mut thawed = None;
        if let Some(control) = self.lines.as_ref().and_then(|lines| lines.control.as_ref()) {
            let (control, rest) = control.deserialize(frozen).ok_or(cut_off)?;
            (thawed, frozen) = (Some(control), rest);
        }
        match &mut self.body {
            InstanceBody::Stepped(simulator) => simulator.need_serialize_state()?.deserialize(frozen)?,
            InstanceBody::Exchanged(exchange) => exchange.deserialize(frozen)?,
        }
        (self.echo_inputs, self.clocks) = (heard, clocks);
        if let (Some(lines), Some(thawed)) = (&mut self.lines, thawed)
            && let Some(control) = &mut lines.control
        {
            control.take(thawed);
        }
        self.inputs.clone_from(&state.inputs);
        (self.mode, self.time, self.start, self.stop) = (state.mode, state.time, state.start, state.stop);
        (self.step, self.steps, self.inputs_changed) = (state.step, state.steps, state.inputs_changed);
        (self.set_up, self.current) = (true, false);
        Ok(())
    }

    pub(crate) fn deserialize(&self, bytes: &[u8]) -> Result<InstanceState, Refusal> {
        self.need_states()?;
        Ok(InstanceState::read(&self.identity, bytes, self.parameters.len(), self.inputs.len())?)
    }
}

fn kind_name(kind: InterfaceType) -> &'static str {
    match kind {
        InterfaceType::CoSimulation => "co-simulation",
        InterfaceType::ModelExchange => "model exchange",
        InterfaceType::Both => "co-simulation and model exchange",
    }
}
