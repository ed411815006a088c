//! `<Algorithm>` and `<EccoConfiguration>` as methods. libcosim calls its step control ECCO; where it is not what the
//! paper (Sadjina et al. 2017) describes, a warning says what is done here instead.

use cosimo_core::Value;
use cosimo_core::registry::{Range, number_text, suggest};
use cosimo_system::{Choice, ChoiceOrigin, MethodConfig};
use roxmltree::Node;

use crate::problem_list::{ProblemList, child, content, head};

const ALGORITHMS: &[&str] = &["fixedStep", "ecco"];
const SETTINGS: &[&str] = &[
    "SafetyFactor",
    "StepSize",
    "MinimumStepSize",
    "MaximumStepSize",
    "MinimumChangeRate",
    "MaximumChangeRate",
    "ProportionalGain",
    "IntegralGain",
    "RelativeTolerance",
    "AbsoluteTolerance",
];
/// The paper divides gains by the order of the error, which is 2 for held inputs; libcosim takes them as they are.
const ORDER: f64 = 2.0;

/// Methods of the file; `base` is the step size where it is fixed.
pub(crate) fn methods(root: Node<'_, '_>, base: f64, page: &mut ProblemList) -> MethodConfig {
    let mut methods = MethodConfig::default();
    methods.step.size = Some(base);
    methods.step.size_origin = ChoiceOrigin::File;
    let settings = child(root, "EccoConfiguration");
    if let Some(node) = settings {
        page.only(node, &[], SETTINGS);
    }
    let Some(node) = child(root, "Algorithm") else { return methods };
    let (algorithm, span) = content(node);
    if !ALGORITHMS.contains(&algorithm.as_str()) {
        let message = format!("no algorithm is called {algorithm:?}");
        page.error("osp/algorithm", message, span).hint =
            Some(suggest(&algorithm, ALGORITHMS.iter().copied()));
        return methods;
    }
    if algorithm == "fixedStep" {
        return methods;
    }
    methods.estimate = Choice { origin: ChoiceOrigin::File, ..Choice::named("power-residual") };
    methods.controller = Choice { origin: ChoiceOrigin::File, ..Choice::named("pi") };
    match settings {
        Some(node) => configure(node, &mut methods, page),
        None => {
            let message = "`ecco` without an `<EccoConfiguration>`: the paper's settings are taken";
            page.warning("osp/ecco", message, span);
        }
    }
    methods
}

fn configure(node: Node<'_, '_>, methods: &mut MethodConfig, page: &mut ProblemList) {
    for name in SETTINGS {
        if child(node, name).is_none() {
            page.error("osp/missing", format!("`<EccoConfiguration>` needs `<{name}>`"), head(node));
        }
    }
    let mut set_controller = |option: &str, value: f64| {
        methods.controller.options.push((option.into(), Value::Number(value), 0..0));
    };
    if let Some((safety, _)) = page.child_number(node, "SafetyFactor", Range::Unit) {
        set_controller("safety", safety);
    }
    if let Some((gain, span)) = page.child_number(node, "IntegralGain", Range::NotNegative) {
        set_controller("integral", gain * ORDER);
        let message = "gains are exponents of the error to libcosim; the paper divides them by its order, 2 with held \
                       inputs, so they are doubled here to mean the same";
        page.warning("osp/ecco", message, span);
    }
    if let Some((gain, _)) = page.child_number(node, "ProportionalGain", Range::NotNegative) {
        set_controller("proportional", gain * ORDER);
    }
    let step = &mut methods.step;
    step.span = head(node);
    if let Some((size, span)) = page.child_number(node, "StepSize", Range::Positive) {
        step.size = Some(size);
        let message = "libcosim leaves the step as it is after the first one and where the residual is 0; here the controller \
                       counts errors before the start as 1, and a residual of 0 lets the step grow as far as it may";
        page.warning("osp/ecco", message, span);
    }
    let least = page.child_number(node, "MinimumStepSize", Range::Positive);
    let largest = page.child_number(node, "MaximumStepSize", Range::Positive);
    if let (Some((least, _)), Some((largest, span))) = (least, largest) {
        if least > largest {
            let message =
                format!("`MaximumStepSize` must be at least `MinimumStepSize`, {} s", number_text(least));
            page.error("osp/value", message, span);
        } else {
            (step.min, step.max) = (least, largest);
        }
    }
    if let Some((rate, span)) = page.child_number(node, "MinimumChangeRate", Range::Positive) {
        if rate > 1.0 {
            let message =
                "`MinimumChangeRate` above 1 makes every step larger than the one before; 1 is taken";
            page.warning("osp/ecco", message, span);
        }
        step.shrink = rate.min(1.0);
    }
    if let Some((rate, span)) = page.child_number(node, "MaximumChangeRate", Range::Positive) {
        if rate < 1.0 {
            let rate = number_text(rate);
            let message = format!(
                "`MaximumChangeRate` {rate} makes every step smaller than the one before, down to the smallest; 1 is taken"
            );
            page.warning("osp/ecco", message, span).hint = Some("1.5 is the paper's choice".into());
        }
        step.grow = rate.max(1.0);
    }
    tolerances(node, methods, page);
}

/// abs + rel L of libcosim against r (E0 + |E|) of the paper, Eq. (14): r = rel and E0 = abs / rel.
fn tolerances(node: Node<'_, '_>, methods: &mut MethodConfig, page: &mut ProblemList) {
    let relative = page.child_number(node, "RelativeTolerance", Range::Positive);
    let absolute = page.child_number(node, "AbsoluteTolerance", Range::Positive);
    let (Some((relative, span)), Some((absolute, _))) = (relative, absolute) else { return };
    let scale = absolute / relative;
    let shown = (scale * 1e6).round() / 1e6;
    for (option, value) in [("tolerance", relative), ("energy_scale", scale)] {
        methods.estimate.options.push((option.into(), Value::Number(value), 0..0));
    }
    let message = format!(
        "libcosim takes this relative to the largest residual, the paper to the energy that a step transmits; here it is \
         the paper's r, with E0 = AbsoluteTolerance / RelativeTolerance = {} J",
        number_text(if shown == 0.0 { scale } else { shown })
    );
    page.warning("osp/ecco", message, span).hint = Some(
        "steps will not be those of libcosim; check the energy defect and choose a tolerance again".into(),
    );
}
