//! Which function may be called in which mode: the tables of the standard, in one place.

use super::Mode::{
    self, Continuous, Discarded, Event, Failed, Initializing, Instantiated, Intermediate, Stepping,
    Terminated,
};
use crate::design::{InterfaceType, Version};

/// Functions that the standard treats alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Call {
    SetUp,
    EnterInitialization,
    ExitInitialization,
    Terminate,
    Reset,
    Free,
    Get,
    SetReal,
    /// Values of all other types.
    SetDiscrete,
    /// Saving, bringing back and freeing states, and turning them into bytes.
    States,
    Tangent,
    Step,
    InputDerivatives,
    OutputDerivatives,
    EnterEvent,
    UpdateDiscrete,
    EnterContinuous,
    /// Back to steps of co-simulation.
    EnterStep,
    CompletedStep,
    SetTime,
    SetContinuousStates,
    GetContinuousStates,
    GetDerivatives,
    GetIndicators,
    GetNominals,
    /// How many states and indicators there are.
    GetCounts,
    /// Reading and setting clocks.
    Clocks,
    GetInterval,
    GetShift,
}

/// Where the standard says so.
pub(super) fn clause(kind: InterfaceType, version: Version) -> &'static str {
    match (kind, version) {
        (_, Version::One) => "FMI 1.0 for co-simulation, state machine",
        (InterfaceType::ModelExchange, Version::Two) => "FMI 2.0, 3.2.3",
        (InterfaceType::ModelExchange, Version::Three) => "FMI 3.0, 2.3 and 3.2",
        (_, Version::Two) => "FMI 2.0, 4.2.4",
        (_, Version::Three) => "FMI 3.0, 2.3 and 4.2",
    }
}

/// Empty for calls that an instance of this kind has not.
pub(super) fn modes(kind: InterfaceType, version: Version, call: Call) -> &'static [Mode] {
    match kind {
        InterfaceType::ModelExchange => model_exchange_modes(version, call),
        InterfaceType::CoSimulation | InterfaceType::Both => co_simulation_modes(version, call),
    }
}

fn co_simulation_modes(version: Version, call: Call) -> &'static [Mode] {
    // FMI 1.0 goes from instantiated to stepping in one call.
    let two = version != Version::Three;
    match call {
        Call::SetUp | Call::EnterInitialization => &[Instantiated],
        Call::ExitInitialization => &[Initializing],
        Call::Terminate => &[Event, Stepping, Discarded],
        Call::States if version == Version::One => &[],
        Call::Reset | Call::Free | Call::States => {
            &[Instantiated, Initializing, Event, Stepping, Discarded, Terminated, Failed]
        }
        Call::Get if two => &[Initializing, Stepping, Intermediate, Discarded, Terminated, Failed],
        // Before initialisation only what has a start value, which the call itself looks at.
        Call::Get => {
            &[Instantiated, Initializing, Event, Stepping, Intermediate, Discarded, Terminated, Failed]
        }
        Call::SetReal | Call::SetDiscrete => &[Instantiated, Initializing, Event, Stepping, Intermediate],
        Call::Tangent => &[Initializing, Event, Stepping, Terminated],
        Call::EnterEvent if !two => &[Stepping],
        Call::UpdateDiscrete | Call::EnterStep | Call::Clocks if !two => &[Event],
        Call::GetInterval if !two => &[Initializing, Event],
        Call::GetShift if !two => &[Initializing],
        Call::Step => &[Stepping],
        Call::InputDerivatives => &[Initializing, Stepping],
        Call::OutputDerivatives => &[Stepping, Terminated],
        _ => &[],
    }
}

fn model_exchange_modes(version: Version, call: Call) -> &'static [Mode] {
    let two = version == Version::Two;
    match call {
        Call::SetUp | Call::EnterInitialization => &[Instantiated],
        Call::ExitInitialization => &[Initializing],
        Call::Terminate => &[Event, Continuous],
        Call::Reset | Call::Free | Call::States => {
            &[Instantiated, Initializing, Event, Continuous, Terminated, Failed]
        }
        Call::SetReal => &[Instantiated, Initializing, Event, Continuous],
        Call::SetDiscrete => &[Instantiated, Initializing, Event],
        Call::EnterEvent if two => &[Event, Continuous],
        Call::EnterEvent | Call::CompletedStep | Call::SetContinuousStates => &[Continuous],
        Call::UpdateDiscrete | Call::EnterContinuous => &[Event],
        // In event mode for FMUs without continuous states only, which the call itself looks at.
        Call::SetTime if two => &[Event, Continuous],
        Call::SetTime => &[Continuous],
        Call::GetNominals if two => &[Instantiated, Initializing, Event, Continuous, Terminated, Failed],
        Call::Get if !two => &[Instantiated, Initializing, Event, Continuous, Terminated, Failed],
        Call::Get
        | Call::Tangent
        | Call::GetContinuousStates
        | Call::GetDerivatives
        | Call::GetIndicators
        | Call::GetNominals => &[Initializing, Event, Continuous, Terminated, Failed],
        Call::GetCounts if two => &[],
        Call::GetCounts => &[Instantiated, Initializing, Event],
        // Nothing for model exchange has clocks.
        Call::Clocks | Call::GetInterval | Call::GetShift => &[],
        Call::Step | Call::EnterStep | Call::InputDerivatives | Call::OutputDerivatives => &[],
    }
}
