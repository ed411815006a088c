//! What a certificate holds: the JSON, and by the doc comments its schema, which is what readers may rely on.

use std::collections::BTreeMap;

use cosimo_analysis::error_bars::Accuracy;
use cosimo_core::{PowerVariable, link};
use cosimo_engine::rows::side_letter;
use cosimo_engine::{
    BondSummary, Counters, Layout, LoopResidual, OwnSteps, StepLimits, Summary, Topology, Verdict,
};
use cosimo_system::{EndRule, IslandDecl, MethodConfig, Problem, Reject, System};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value as Json};

use super::{Axes, KIND, Steps, VERSION, facts, finite, group, method, stages};
use crate::json_schema::{self, AccuracyObject, objects};

/// Words of the verdict about signals.
pub(crate) const VERDICTS: [&str; 3] = ["accurate", "not-accurate", "unknown"];
/// Words for energy defects.
const ENERGY_WORDS: [&str; 4] = ["unmeasured", "small", "noticeable", "large"];

/// JSON schema, draft 2020-12. Nothing else than what it names is in a certificate.
pub fn schema() -> Json {
    json_schema::schema::<CertificateData>(false)
}

objects! {
    /// what a run of Cosimo came to
    #[schemars(extend("$id" = format!("urn:cosimo:certificate:{VERSION}")))]
    pub struct CertificateData {
        #[schemars(extend("const" = KIND))]
        pub certificate: &'static str,
        #[schemars(extend("const" = VERSION))]
        pub version: u64,
        pub outcome: Outcome,
        pub experiment: Experiment,
        pub verdict: RunVerdict,
        /// what the verdict rests on
        pub accuracy: AccuracyObject,
        pub energy: EnergyBalance,
        pub bonds: Vec<Bond>,
        pub steps: StepSummary,
        pub loops: Vec<Loop>,
        pub warnings: Vec<Warning>,
        /// what FMUs logged and returned, by kind
        pub messages: Vec<FmuMessage>,
        pub scenario: Scenario,
        pub components: Vec<Component>,
        pub methods: Methods,
        pub connections: Vec<Connection>,
        /// all files that went in
        pub inputs: Vec<Source>,
        /// of the system as it was run, with what the command line changed, as `cosimo explain --toml` prints it
        #[schemars(regex(pattern = r"^[0-9a-f]{64}$"))]
        pub system_sha256: String,
        pub versions: Versions,
        pub machine: Machine,
    }

    /// how the run ended
    pub struct Outcome {
        /// it came to its end
        pub complete: bool,
        #[schemars(extend("enum" = ["finished", "failed", "interrupted", "unfinished"]))]
        pub word: &'static str,
        /// null where it is complete
        pub reason: Option<String>,
    }

    /// in seconds
    pub struct Experiment {
        pub start: f64,
        pub stop: f64,
        pub reached: f64,
        /// where it went on from a checkpoint
        pub resumed_at: Option<f64>,
    }

    /// whether the recorded signals are accurate
    pub struct RunVerdict(accuracy: &Accuracy) {
        #[schemars(extend("enum" = VERDICTS))]
        word: &'static str = accuracy.verdict.word(),
        /// for people
        words: String = accuracy.words.clone(),
    }

    /// the energy balance of the coupling, which is no bound on any error
    pub struct EnergyBalance(summary: &Summary) {
        /// of the worst bond, by its energy defect: small up to 0.1 %, large above 1 %
        #[schemars(extend("enum" = ENERGY_WORDS))]
        word: &'static str = summary.verdict.word(),
        /// for people; empty where nothing is coupled
        words: String = summary.text(),
    }

    /// a power bond and its energy defect, which is no bound on any error
    pub struct Bond(bond: &BondSummary, summary: &Summary) {
        name: String = bond.name.clone(),
        /// J, counted from the first side
        transmitted_energy: Option<f64> = finite(bond.totals.transmitted),
        /// J, the integral of the power's modulus
        exchanged_energy: Option<f64> = finite(bond.totals.exchanged),
        /// J that the coupling created, or destroyed where negative
        residual_energy: Option<f64> = finite(bond.totals.residual),
        /// J, the sum over all steps of its modulus
        residual_energy_absolute: Option<f64> = finite(bond.totals.residual_absolute),
        #[doc = "the absolute residual as a share of the energy exchanged; null where nothing was transmitted, or energy \
                 came out of nothing"]
        energy_defect: Option<f64> = Some(bond.share).filter(|_| bond.verdict() != Verdict::Unmeasured).and_then(finite),
        #[doc = "J that the verdict holds the defect against: the energy exchanged or, if that is smaller, the energy scale of the \
                 bond or a tenth of what another bond of its components exchanged"]
        energy_scale: Option<f64> = finite(bond.scale),
        /// the absolute residual as a share of that energy
        scaled_defect: Option<f64> =
            Some(bond.scaled_share()).filter(|_| bond.verdict() != Verdict::Unmeasured).and_then(finite),
        /// W, half the mean absolute residual power
        mean_power_error: Option<f64> = finite(bond.power_error),
        /// of the energy defect: small up to 0.1 %, large above 1 %
        #[schemars(extend("enum" = ENERGY_WORDS))]
        word: &'static str = bond.verdict().word(),
        /// for people
        words: String = bond.words(),
        /// a scenario changed its signals, which is in the defect, too
        changed_by_scenario: bool = summary.tampered.contains(&bond.name),
    }

    /// the steps in brief; of a resumed run the sizes, the history and the loops are those since then
    pub struct StepSummary(summary: &Summary, counters: &Counters, steps: &Steps) {
        /// accepted steps
        count: u64 = counters.steps,
        /// rejected attempts
        rejected: u64 = counters.rejected,
        size: StepSizes = StepSizes::new(steps.sizes(), summary),
        /// the largest indicator of an accepted step; 1 is just within tolerance
        worst_indicator: Option<f64> = finite(summary.worst_indicator),
        /// right-hand sides evaluated inside simulators
        evaluations: u64 = counters.evaluations,
        reasons: SizeReasons = SizeReasons::new(counters),
        /// components with steps of their own
        own: Vec<OwnStep> = summary.own_steps.iter().map(OwnStep::new).collect(),
        history: StepHistory = steps.history(),
    }

    /// seconds; null before the first step
    pub struct StepSizes(ends: (Option<f64>, Option<f64>), summary: &Summary) {
        /// seconds
        smallest: Option<f64> = ends.0,
        /// seconds
        mean: Option<f64> = finite(summary.mean_step),
        /// seconds
        largest: Option<f64> = ends.1,
    }

    /// why steps had their size: how many
    pub struct SizeReasons(counters: &Counters) {
        /// accepted with an indicator above 1
        above_tolerance: u64 = counters.above_one,
        /// at the smallest size allowed
        at_minimum: u64 = counters.at_minimum,
        /// at the largest size allowed
        at_maximum: u64 = counters.at_maximum,
        /// limited by the growth ratio
        growth_limited: u64 = counters.growth_limited,
        /// limited by the shrink ratio
        shrink_limited: u64 = counters.shrink_limited,
        /// cut back to an event
        events: u64 = counters.events,
    }

    pub struct OwnStep(own: &OwnSteps) {
        component: String = own.name.clone(),
        /// seconds
        size: f64 = own.size,
        count: u64 = own.steps,
    }

    /// step sizes over time, in rows of equally many steps
    pub struct StepHistory {
        /// steps in each row but the last
        pub steps_per_row: u64,
        /// the end of each row, in seconds
        pub until: Vec<f64>,
        /// seconds
        pub smallest_size: Vec<f64>,
        /// seconds
        pub largest_size: Vec<f64>,
        /// 1 is just within tolerance
        pub worst_indicator: Vec<f64>,
        /// rejected attempts
        pub rejected: Vec<u64>,
    }

    /// the unknown of an algebraic loop: how far it was left from what drives it, in its own unit
    pub struct Loop(found: &LoopResidual) {
        /// the way round
        r#loop: String = found.path.clone(),
        /// component.port
        input: String = found.input.clone(),
        /// null where it is no loop then
        at_start: Option<f64> = found.start.and_then(finite),
        /// after jumps, and in every step where exchange is fresh; null where never
        worst_later: Option<f64> = found.later.and_then(finite),
        /// the worst of both over the largest value of the unknown
        relative: Option<f64> = finite(found.relative()),
    }

    pub struct Warning(warning: &Problem) {
        code: &'static str = warning.code,
        message: String = warning.message.clone(),
        hint: Option<String> = warning.hint.clone(),
    }

    /// messages of one kind, of this process
    pub struct FmuMessage {
        pub component: String,
        /// as FMI spells it: ok, warning, discard, error, fatal, pending
        pub status: &'static str,
        /// of a message that was logged
        pub category: Option<String>,
        /// that returned the status
        pub function: Option<&'static str>,
        pub count: u64,
        /// the first message that was logged
        pub first: Option<String>,
    }

    /// what it did
    pub struct Scenario(summary: &Summary) {
        /// the first of them
        events: Vec<ScenarioEvent> = summary.events.iter().map(ScenarioEvent::new).collect(),
        more_events: u64 = summary.more_events,
    }

    pub struct ScenarioEvent(event: &(f64, String)) {
        /// seconds
        time: f64 = event.0,
        action: String = event.1.clone(),
    }

    pub struct Component(component: &cosimo_system::Component, topology: &Topology) {
        name: String = component.name.clone(),
        source: String = component.source.clone(),
        /// the group it is integrated in
        integrated_in: Option<String> = group(&component.name, topology),
        /// seconds
        own_step: Option<f64> = component.step.as_ref().map(|(size, _)| *size),
        #[schemars(with = "BTreeMap<String, String>")]
        facts: Map<String, Json> = facts(&component.name, topology),
    }

    /// methods of the whole run
    pub struct Methods(system: &System, layout: &Layout, axes: &Axes) {
        partition: Method = method("partition", &system.methods.partition, axes),
        iteration: Method = method("iteration", &system.methods.iteration, axes),
        estimate: Method = method("estimate", &system.methods.estimate, axes),
        controller: Method = method("controller", &system.methods.controller, axes),
        step: StepControl = StepControl::new(&layout.limits.control, layout.limits.first_size),
        islands: Vec<IslandMethods> = system.islands.iter().map(|island| IslandMethods::new(island, &island.methods, axes)).collect(),
        #[schemars(extend("enum" = ["exact", "after"]))]
        end: &'static str = if system.experiment.end == EndRule::Exact { "exact" } else { "after" },
        /// who steps together, one stage after the other
        stages: Vec<Vec<String>> = stages(layout),
        bonds: Vec<PlannedBond> = layout.topology.bonds.iter().map(|bond| PlannedBond::new(bond, layout)).collect(),
    }

    pub struct Method {
        pub name: String,
        /// with the defaults
        pub options: Map<String, Json>,
    }

    pub struct StepControl(control: &StepLimits, first: Option<f64>) {
        /// steps vary
        controlled: bool = control.adaptive,
        /// seconds
        first: Option<f64> = finite(control.first(first)),
        /// seconds
        min: Option<f64> = finite(control.min),
        /// seconds; null where there is no limit
        max: Option<f64> = finite(control.max),
        shrink: f64 = control.shrink,
        grow: f64 = control.grow,
        rejects: bool = control.reject == Reject::AboveOne,
    }

    /// methods of one island between lines, where they are not those of the whole run
    pub struct IslandMethods(island: &IslandDecl, recipe: &MethodConfig, axes: &Axes) {
        name: String = island.name.clone(),
        /// that name it; it may have more
        components: Vec<String> = island.components.iter().map(|(name, _)| name.clone()).collect(),
        partition: Method = method("partition", &recipe.partition, axes),
        iteration: Method = method("iteration", &recipe.iteration, axes),
        fit: Method = method("input", &recipe.input.default, axes),
        correction: Method = method("correction", &recipe.correction.default, axes),
        estimate: Method = method("estimate", &recipe.estimate, axes),
        controller: Method = method("controller", &recipe.controller, axes),
    }

    pub struct PlannedBond(bond: &link::Bond, layout: &Layout) {
        name: String = bond.name.clone(),
        sides: Vec<Side> = bond.sides.iter().enumerate().map(|(k, side)| Side::new(k, side, layout)).collect(),
        tolerance: Option<f64> = bond.tolerance,
        /// J
        energy_scale: Option<f64> = bond.energy_scale,
    }

    pub struct Side(place: usize, side: &link::BondSide, layout: &Layout) {
        side: String = side_letter(place).to_string(),
        effort: String = layout.ports().path(side.effort),
        flow: String = layout.ports().path(side.flow),
        /// effort times flow enters
        enters: bool = side.sign > 0.0,
    }

    /// an input that somebody drives, and how it is made
    pub struct Connection {
        /// component.port
        pub input: String,
        /// summands
        pub from: Vec<Summand>,
        pub offset: f64,
        pub fit: Method,
        pub correction: Method,
        #[schemars(extend("enum" = ["stale", "fresh"]))]
        pub exchange: &'static str,
    }

    pub struct Summand(term: &link::Term, layout: &Layout) {
        /// component.port
        output: String = layout.ports().path(PowerVariable::Output(term.output)),
        gain: f64 = term.gain,
    }

    #[derive(Eq, PartialOrd, Ord)]
    pub struct Source {
        pub file: String,
        #[schemars(regex(pattern = r"^[0-9a-f]{64}$"))]
        pub sha256: String,
    }

    pub struct Versions {
        pub cosimo: &'static str,
    }

    /// everything that may differ between two runs of the same inputs
    pub struct Machine {
        /// RFC 3339
        pub written: String,
        pub computing_seconds: f64,
        /// what error bars took after the run
        pub error_bar_seconds: f64,
        pub threads: usize,
        /// 0 where unknown
        pub cores: usize,
        pub target: String,
        pub command: String,
        /// result files, with the rows that the run wrote; paths start from the folder of the certificate
        pub results: Vec<ResultFile>,
        /// SHA-256 of the file with zeros in the place of these digits
        #[schemars(regex(pattern = r"^[0-9a-f]{64}$"))]
        pub checksum: String,
    }

    pub struct ResultFile {
        pub file: String,
        pub rows: u64,
        #[schemars(regex(pattern = r"^[0-9a-f]{64}$"))]
        pub sha256: String,
    }
}
