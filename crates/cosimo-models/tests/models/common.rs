//! Helpers of all tests of models: opening, stepping, and the reference of a family.

use std::path::Path;

use cosimo_core::registry::{OpenProblem, OpenRequest};
use cosimo_core::{Inputs, Options, Outputs, Segment, Simulator, Spec, StepResult, Time, Value, Window};
use cosimo_models::{NATIVE, REFERENCES};
use cosimo_native::Hybrid;

/// Calls `open` with the request for a model of the registry and its parameters.
pub(crate) fn request<T>(name: &str, given: &[(&str, Value)], open: impl FnOnce(&OpenRequest<'_>) -> T) -> T {
    let parameters: Vec<_> = given.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
    let (source, folder) = (format!("native:{name}"), Path::new("."));
    open(&OpenRequest { name: "model", source: &source, folder, parameters: &parameters, joined: false })
}

pub(crate) fn try_open(name: &str, given: &[(&str, Value)]) -> Result<Box<dyn Simulator>, Vec<OpenProblem>> {
    request(name, given, NATIVE.open)
}

pub(crate) fn open(name: &str, given: &[(&str, Value)]) -> Box<dyn Simulator> {
    try_open(name, given).unwrap()
}

/// The equations of a model; `None` where it has none.
pub(crate) fn equations(name: &str, given: &[(&str, Value)]) -> Option<Box<dyn Hybrid>> {
    request(name, given, cosimo_models::equations).unwrap()
}

pub(crate) fn parameters(name: &str) -> &'static [Spec] {
    (NATIVE.models)().iter().find(|model| model.name == name).unwrap().parameters
}

/// The monolithic reference of a family at some instants.
pub(crate) fn reference(name: &str, given: &[(&str, f64)], instants: &[f64]) -> Vec<Vec<f64>> {
    let reference = REFERENCES.iter().find(|reference| reference.name == name).unwrap();
    let given: Vec<_> = given.iter().map(|(key, value)| ((*key).into(), Value::Number(*value))).collect();
    (reference.solve)(&Options::resolve(name, reference.parameters, &given).unwrap(), 0.0, instants)
}

pub(crate) fn time(seconds: f64) -> Time {
    Time::new(seconds).unwrap()
}

pub(crate) fn advance_from(
    simulator: &mut dyn Simulator,
    from: f64,
    size: f64,
    segments: &[Segment],
) -> StepResult {
    let window = Window { from: time(from), to: time(from + size), size };
    simulator.do_step(window, &Inputs::of(segments)).unwrap()
}

pub(crate) fn advance(simulator: &mut dyn Simulator, size: f64, segments: &[Segment]) -> StepResult {
    advance_from(simulator, 0.0, size, segments)
}

/// Advances, and returns the integrals on offer, if there are any.
pub(crate) fn integrals(simulator: &mut dyn Simulator, size: f64, segments: &[Segment]) -> Vec<f64> {
    let mut integrals = vec![f64::NAN; simulator.interface().outputs.len()];
    let window = Window { from: time(0.0), to: time(size), size };
    if let Some(simulator) = simulator.integrals() {
        simulator.do_step_with_integrals(window, &Inputs::of(segments), &mut integrals).unwrap();
    }
    integrals
}

pub(crate) fn set_inputs(simulator: &mut dyn Simulator, segments: &[Segment]) {
    simulator.set_inputs(time(0.0), &Inputs::of(segments)).unwrap();
}

pub(crate) fn outputs(simulator: &mut dyn Simulator) -> Vec<f64> {
    let mut values = vec![f64::NAN; simulator.interface().outputs.len()];
    simulator.get_outputs(&mut Outputs { values: &mut values, slopes: &mut [] }).unwrap();
    values
}

/// Steps models whose inputs are lines between true values, and compares their outputs with the reference. A case is a
/// model, the columns of its inputs and the columns of its outputs.
pub(crate) fn follows(family: &str, step: f64, within: f64, cases: &[(&str, &[usize], &[usize])]) {
    follows_within(family, step, 1000, |_| within, cases);
}

/// The same for a number of steps, with a tolerance that depends on the largest value of a column.
pub(crate) fn follows_within(
    family: &str,
    step: f64,
    steps: u32,
    within: impl Fn(f64) -> f64,
    cases: &[(&str, &[usize], &[usize])],
) {
    let instants: Vec<f64> = (0..=steps).map(|i| f64::from(i) * step).collect();
    let truth = reference(family, &[], &instants);
    let largest = |column: usize| truth.iter().map(|row| row[column].abs()).fold(0.0, f64::max);
    let within: Vec<f64> = (0..truth[0].len()).map(|column| within(largest(column))).collect();
    for (model, input_columns, output_columns) in cases {
        let mut simulator = open(model, &[]);
        for i in 1..truth.len() {
            let line = |column: &usize| {
                let (old, new) = (truth[i - 1][*column], truth[i][*column]);
                Segment::line(old, (new - old) / step)
            };
            let inputs: Vec<Segment> = input_columns.iter().map(line).collect();
            advance_from(&mut *simulator, instants[i - 1], step, &inputs);
            let values = outputs(&mut *simulator);
            assert_eq!(values.len(), output_columns.len(), "{model}");
            for (got, column) in values.iter().zip(*output_columns) {
                let expected = truth[i][*column];
                assert!(
                    (got - expected).abs() < within[*column],
                    "{model} step {i}, column {column}: {got} {expected}"
                );
            }
        }
    }
}
