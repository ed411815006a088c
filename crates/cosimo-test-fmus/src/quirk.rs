//! Habits of FMUs that other tools made, built into FMUs of our own: an importer has to give right results with each
//! of them, or say what is wrong.

/// One habit. Results are those of the same FMU without it, unless an importer walks into the trap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quirk {
    /// Co-simulation: does not advance in steps for which `noSetFMUStatePriorToCurrentPoint` is false.
    Hesitates,
    /// FMI 2.0: `fmi2SetupExperiment` sets all parameters back to their start values.
    Resets,
    /// Ignores new values of its first parameter that is a real number, without an error.
    Deaf,
    /// Its outputs are zero until initialisation mode is left.
    LateOutputs,
    /// Logs in every step, and hands a small integer to the callbacks instead of the importer's environment.
    SmallEnvironment,
    /// Logs from a thread of its own, long after it was freed.
    LateLog,
    /// FMI 3.0, co-simulation: `lastSuccessfulTime` is where the step began, one rounding error ahead of that.
    Ahead,
}

impl Quirk {
    pub const ALL: [Quirk; 7] = [
        Quirk::Hesitates,
        Quirk::Resets,
        Quirk::Deaf,
        Quirk::LateOutputs,
        Quirk::SmallEnvironment,
        Quirk::LateLog,
        Quirk::Ahead,
    ];

    pub fn text(self) -> &'static str {
        match self {
            Quirk::Hesitates => "hesitates",
            Quirk::Resets => "resets",
            Quirk::Deaf => "deaf",
            Quirk::LateOutputs => "lateoutputs",
            Quirk::SmallEnvironment => "smallenvironment",
            Quirk::LateLog => "latelog",
            Quirk::Ahead => "ahead",
        }
    }
}

impl From<Quirk> for String {
    fn from(quirk: Quirk) -> String {
        quirk.text().into()
    }
}
