//! Quirks of FMUs from other tools, built into our own FMUs: an importer has to give correct results with each
//! of them, or report the problem.

cosimo_export::named! {
    /// One quirk. A correct importer gets the results of the same FMU without it.
    pub enum Quirk {
        /// Co-simulation: does not advance in steps for which `noSetFMUStatePriorToCurrentPoint` is false.
        Hesitates = "hesitates",
        /// FMI 2.0: `fmi2SetupExperiment` sets all parameters back to their start values.
        Resets = "resets",
        /// Ignores new values of its first parameter that is a real number, without an error.
        Deaf = "deaf",
        /// Its outputs are zero until initialisation mode is left.
        LateOutputs = "lateoutputs",
        /// Logs in every step, and hands a small integer to the callbacks instead of the importer's environment.
        SmallEnvironment = "smallenvironment",
        /// Logs from a thread of its own, long after it was freed.
        LateLog = "latelog",
        /// FMI 3.0, co-simulation: `lastSuccessfulTime` is where the step began, one rounding error ahead of that.
        Ahead = "ahead",
    }
}

impl From<Quirk> for String {
    fn from(quirk: Quirk) -> String {
        quirk.text().into()
    }
}
