//! What a certificate holds: the JSON, and by the doc comments its schema, which is what readers may rely on.

use std::collections::BTreeMap;

use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema};
use serde::Serialize;
use serde_json::{Map, Value as Json};

use super::{KIND, VERSION};

/// JSON schema, draft 2020-12. Nothing else than what it names is in a certificate.
pub fn schema() -> Json {
    let mut settings = SchemaSettings::draft2020_12().for_serialize();
    settings.inline_subschemas = true;
    // `double` and `uint64` are formats of OpenAPI, and titles would be names of Rust types.
    let plain = |schema: &mut Schema| ["format", "title"].iter().for_each(|key| drop(schema.remove(*key)));
    let generator = settings.with_transform(RecursiveTransform(plain)).into_generator();
    generator.into_root_schema_for::<CertificateData>().into()
}

/// Structs that are written, with every member required and no other allowed.
macro_rules! objects {
    ($($(#[$attribute:meta])* pub struct $name:ident { $($members:tt)* })*) => {$(
        #[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
        #[schemars(deny_unknown_fields)]
        $(#[$attribute])*
        pub struct $name { $($members)* }
    )*};
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
        pub bonds: Vec<Bond>,
        pub steps: StepSummary,
        pub loops: Vec<Loop>,
        pub remarks: Vec<Remark>,
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

    /// of the worst bond
    pub struct RunVerdict {
        /// of the energy defect: small up to 0.1 %, large above 1 %
        #[schemars(extend("enum" = ["unmeasured", "small", "noticeable", "large"]))]
        pub word: &'static str,
        pub words: String,
    }

    /// a power bond and its energy defect, which is no bound on any error
    pub struct Bond {
        pub name: String,
        /// J, counted from the first side
        pub transmitted_energy: Option<f64>,
        /// J, the integral of the power's modulus
        pub exchanged_energy: Option<f64>,
        /// J that the coupling created, or destroyed where negative
        pub residual_energy: Option<f64>,
        /// J, the sum over all steps of its modulus
        pub residual_energy_absolute: Option<f64>,
        #[doc = "the absolute residual as a share of the energy exchanged; null where nothing was transmitted, or energy \
                 came out of nothing"]
        pub energy_defect: Option<f64>,
        /// W, half the mean absolute residual power
        pub mean_power_error: Option<f64>,
        /// of the energy defect: small up to 0.1 %, large above 1 %
        #[schemars(extend("enum" = ["unmeasured", "small", "noticeable", "large"]))]
        pub verdict: &'static str,
        /// the verdict for people
        pub words: String,
        /// a scenario changed its signals, which is in the defect, too
        pub changed_by_scenario: bool,
    }

    /// the steps in brief; of a resumed run the sizes, the history and the loops are those since then
    pub struct StepSummary {
        /// accepted steps
        pub count: u64,
        /// rejected attempts
        pub rejected: u64,
        pub size: StepSizes,
        /// the largest indicator of an accepted step; 1 is just within tolerance
        pub worst_indicator: Option<f64>,
        /// right-hand sides evaluated inside simulators
        pub evaluations: u64,
        pub reasons: SizeReasons,
        /// components with steps of their own
        pub own: Vec<OwnStep>,
        pub history: StepHistory,
    }

    /// seconds; null before the first step
    pub struct StepSizes {
        /// seconds
        pub smallest: Option<f64>,
        /// seconds
        pub mean: Option<f64>,
        /// seconds
        pub largest: Option<f64>,
    }

    /// why steps had their size: how many
    pub struct SizeReasons {
        /// accepted with an indicator above 1
        pub above_tolerance: u64,
        /// at the smallest size allowed
        pub at_minimum: u64,
        /// at the largest size allowed
        pub at_maximum: u64,
        /// held back in growing
        pub growth_limited: u64,
        /// held back in shrinking
        pub shrink_limited: u64,
        /// cut back to an event
        pub events: u64,
    }

    pub struct OwnStep {
        pub component: String,
        /// seconds
        pub size: f64,
        pub count: u64,
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
    pub struct Loop {
        /// the way round
        pub r#loop: String,
        /// component.port
        pub input: String,
        /// null where it is no loop then
        pub at_start: Option<f64>,
        /// after jumps, and in every step where exchange is fresh; null where never
        pub worst_later: Option<f64>,
        /// the worst of both over the largest value of the unknown
        pub relative: Option<f64>,
    }

    pub struct Remark {
        pub code: &'static str,
        pub message: String,
        pub hint: Option<String>,
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
    pub struct Scenario {
        /// the first of them
        pub events: Vec<ScenarioEvent>,
        pub more_events: u64,
    }

    pub struct ScenarioEvent {
        /// seconds
        pub time: f64,
        pub action: String,
    }

    pub struct Component {
        pub name: String,
        pub source: String,
        /// the group it is integrated in
        pub integrated_in: Option<String>,
        /// seconds
        pub own_step: Option<f64>,
        #[schemars(with = "BTreeMap<String, String>")]
        pub facts: Map<String, Json>,
    }

    /// methods of the whole run
    pub struct Methods {
        pub partition: Method,
        pub iteration: Method,
        pub estimate: Method,
        pub law: Method,
        pub step: StepControl,
        pub islands: Vec<IslandMethods>,
        #[schemars(extend("enum" = ["exact", "after"]))]
        pub end: &'static str,
        /// who steps together, one stage after the other
        pub stages: Vec<Vec<String>>,
        pub bonds: Vec<PlannedBond>,
    }

    pub struct Method {
        pub name: String,
        /// with the defaults
        pub options: Map<String, Json>,
    }

    pub struct StepControl {
        /// steps vary
        pub controlled: bool,
        /// seconds
        pub first: Option<f64>,
        /// seconds
        pub min: Option<f64>,
        /// seconds; null where there is no limit
        pub max: Option<f64>,
        pub shrink: f64,
        pub grow: f64,
        pub rejects: bool,
    }

    /// methods of one island between lines, where they are not those of the whole run
    pub struct IslandMethods {
        pub name: String,
        /// that name it; it may have more
        pub components: Vec<String>,
        pub partition: Method,
        pub iteration: Method,
        pub fit: Method,
        pub correction: Method,
        pub estimate: Method,
        pub law: Method,
    }

    pub struct PlannedBond {
        pub name: String,
        pub sides: Vec<Side>,
        pub tolerance: Option<f64>,
        /// J
        pub energy_scale: Option<f64>,
    }

    pub struct Side {
        pub side: String,
        pub effort: String,
        pub flow: String,
        /// effort times flow enters
        pub enters: bool,
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

    pub struct Summand {
        /// component.port
        pub output: String,
        pub gain: f64,
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
