//! A registry of entries with names and options, but no implementation.

use cosimo_core::method::{
    Correction, Estimate, ExtrapolationChoice, Iteration, Partition, Steadiness, StepController,
};
use cosimo_core::registry::{ModelInfo, Range, ReferenceEntry, Spec};
use cosimo_core::{MethodEntry, Needs, Registry, SourceEntry};

const fn entry<T: ?Sized>(name: &'static str, options: &'static [Spec]) -> MethodEntry<T> {
    MethodEntry {
        name,
        summary: "a method",
        source: "a paper, Eq. (1)",
        order: "",
        options,
        needs: |_| Needs::NOTHING,
        build: |_| unreachable!("only its name is used"),
    }
}

static JACOBI: MethodEntry<dyn Partition> = entry("jacobi", &[]);
static GAUSS_SEIDEL: MethodEntry<dyn Partition> =
    entry("gauss-seidel", &[Spec::names("order", "order of components")]);
static ONCE: MethodEntry<dyn Iteration> = entry("once", &[]);
static TWICE: MethodEntry<dyn Iteration> = entry("fixed-point", &[Spec::count("sweeps", 2, 1, "how often")]);
static HOLD: MethodEntry<dyn ExtrapolationChoice> = entry("hold", &[]);
static LINEAR: MethodEntry<dyn ExtrapolationChoice> = entry(
    "linear",
    &[
        Spec::optional("limit", Range::Positive, "1/s", "the largest slope"),
        Spec::flag("clip", false, "whether to clip"),
    ],
);
static NONE: MethodEntry<dyn Correction> = entry("none", &[]);
static NEPCE: MethodEntry<dyn Correction> = entry(
    "nepce",
    &[
        Spec::number("gain", 1.0, Range::Unit, "", "how much is repaid at once"),
        Spec::choice("form", "account", &["account", "paper"], "which account is kept"),
    ],
);
static NO_ESTIMATE: MethodEntry<dyn Estimate> = entry("none", &[]);
static POWER_RESIDUAL: MethodEntry<dyn Estimate> = entry(
    "power-residual",
    &[
        Spec::number("tolerance", 1e-4, Range::Unit, "", "just good enough"),
        Spec::count("window", 1, 1, "how many steps"),
    ],
);
static FIXED: MethodEntry<dyn StepController> = entry("fixed", &[]);
static PI: MethodEntry<dyn StepController> =
    entry("pi", &[Spec::number("safety", 0.9, Range::NotNegative, "", "below 1")]);
static WINDOW: MethodEntry<dyn Steadiness> =
    entry("sliding-window", &[Spec::number("window", 0.01, Range::Positive, "s", "how long")]);

const CHASSIS: &[Spec] = &[
    Spec::number("mc", 400.0, Range::Positive, "kg", "its mass"),
    Spec::number("k", 15e3, Range::Positive, "N/m", "its spring"),
];
const WHEEL: &[Spec] = &[
    Spec::number("mw", 40.0, Range::Positive, "kg", "its mass"),
    Spec::number("k", 150e3, Range::Positive, "N/m", "its spring"),
];

static NATIVE: SourceEntry = SourceEntry {
    name: "native",
    summary: "models written in Rust",
    claims: |source| source.starts_with("native:"),
    open: |_| Err(Vec::new()),
    parameters: |source, _| {
        let specs = if source.ends_with("chassis") { CHASSIS } else { WHEEL };
        specs.iter().map(Into::into).collect()
    },
    models: || {
        vec![
            ModelInfo { name: "quarter-car/chassis".into(), summary: "the upper mass", parameters: CHASSIS },
            ModelInfo { name: "quarter-car/wheel".into(), summary: "the lower mass", parameters: WHEEL },
        ]
    },
    join: None,
};
static FMU: SourceEntry = SourceEntry {
    name: "fmu",
    summary: "files that end in .fmu",
    claims: |source| source.ends_with(".fmu"),
    open: |_| Err(Vec::new()),
    parameters: |_, _| Vec::new(),
    models: Vec::new,
    join: None,
};
static QUARTER_CAR: ReferenceEntry = ReferenceEntry {
    name: "quarter-car",
    summary: "both masses",
    parameters: &[],
    columns: &["vc", "vw", "F"],
    solve: |_, _, _| Vec::new(),
    history: false,
};

pub(crate) fn registry() -> Registry {
    Registry {
        partitions: vec![&JACOBI, &GAUSS_SEIDEL],
        iterations: vec![&ONCE, &TWICE],
        inputs: vec![&HOLD, &LINEAR],
        corrections: vec![&NONE, &NEPCE],
        jacobians: vec![],
        estimates: vec![&NO_ESTIMATE, &POWER_RESIDUAL],
        controllers: vec![&FIXED, &PI],
        steadiness: vec![&WINDOW],
        sources: vec![std::sync::Arc::new(&NATIVE), std::sync::Arc::new(&FMU)],
        references: vec![&QUARTER_CAR],
        formats: vec![],
    }
}
