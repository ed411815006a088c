//! Which function may be called in which mode: the tables of the standard, in one place.

use super::Mode::{self, Discarded, Failed, Initializing, Instantiated, Intermediate, Stepping, Terminated};

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
    Set,
    /// Saving, bringing back and freeing states, and turning them into bytes.
    States,
    Tangent,
    Step,
    InputDerivatives,
    OutputDerivatives,
}

pub(super) fn modes(call: Call) -> &'static [Mode] {
    match call {
        Call::SetUp | Call::EnterInitialization => &[Instantiated],
        Call::ExitInitialization => &[Initializing],
        Call::Terminate => &[Stepping, Discarded],
        Call::Reset | Call::Free | Call::States => {
            &[Instantiated, Initializing, Stepping, Discarded, Terminated, Failed]
        }
        Call::Get => &[Initializing, Stepping, Intermediate, Discarded, Terminated, Failed],
        Call::Set => &[Instantiated, Initializing, Stepping, Intermediate],
        Call::Tangent => &[Initializing, Stepping, Terminated],
        Call::Step => &[Stepping],
        Call::InputDerivatives => &[Initializing, Stepping],
        Call::OutputDerivatives => &[Stepping, Terminated],
    }
}
