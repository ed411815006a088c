//! Direct feed-through, found by probing: descriptions often do not declare it, and sometimes wrongly.
//!
//! Tried in initialisation mode of an instance that is thrown away, because only there the standards let outputs
//! answer new inputs without a step. An FMU that computes its initial states from its inputs seems to pass them
//! through then; that errs on the safe side.

use std::collections::BTreeSet;

use cosimo_core::{Interface, SimulatorError, trial};

use crate::description::{FmuUse, VariableType};
use crate::fmu::Fmu;
use crate::instance::{Instance, NewInstance};
use crate::parameters::Parameters;
use crate::ports::{PortGroup, Ports};

/// Around which inputs are moved: a product of two inputs shows neither of them where the other is zero.
const POINTS: [f64; 3] = [0.0, 1.0, -1.0];
/// How far, as a part of the start value or of one.
const MOVE: f64 = 0.01;

pub(crate) type Pairs = BTreeSet<(usize, usize)>;

/// Pairs of output and input, and warnings on what the description says otherwise.
pub(crate) fn probe<I: NewInstance>(
    fmu: &Fmu,
    usage: FmuUse,
    parameters: &Parameters,
    ports: &Ports,
) -> (Pairs, Vec<String>) {
    let declared: Pairs = ports.interface.feedthrough.iter().copied().collect();
    let look = || found::<I>(fmu, usage, parameters, ports, &declared).map_err(|error| error.to_string());
    let answer = match trial::isolated(&mut || encoded(&look())) {
        Some(Ok(answer)) => decoded(&answer),
        Some(Err(crash)) => Err(format!("the FMU {}", crash.what)),
        None => look(),
    };
    match answer {
        Ok(found) => {
            let warnings = compare(ports, &declared, &found);
            (found, warnings)
        }
        Err(error) => {
            let words =
                "direct feed-through could not be probed; the dependencies of the description are used";
            (declared, vec![format!("{words}: {error}")])
        }
    }
}

/// The answer of a trial in another process: pairs of numbers, or why there are none.
fn encoded(answer: &Result<Pairs, String>) -> Vec<u8> {
    match answer {
        Ok(pairs) => {
            let pair = |(output, input): &(usize, usize)| format!("{output} {input}\n");
            pairs.iter().map(pair).collect::<String>().into_bytes()
        }
        Err(words) => format!("!{words}").into_bytes(),
    }
}

fn decoded(answer: &[u8]) -> Result<Pairs, String> {
    let text = String::from_utf8_lossy(answer);
    if let Some(words) = text.strip_prefix('!') {
        return Err(words.to_owned());
    }
    let pair = |line: &str| {
        let (output, input) = line.split_once(' ')?;
        Some((output.parse().ok()?, input.parse().ok()?))
    };
    text.lines().map(pair).collect::<Option<Pairs>>().ok_or_else(|| "the trial returned no result".to_owned())
}

fn found<I: NewInstance>(
    fmu: &Fmu,
    usage: FmuUse,
    parameters: &Parameters,
    ports: &Ports,
    declared: &Pairs,
) -> Result<Pairs, SimulatorError> {
    let mut instance: I = fmu.instantiate(usage, "feedthrough", &[])?;
    instance.enter(fmu.description.experiment.start.unwrap_or(0.0), None, &parameters.settings)?;
    let mut own = ports.clone();
    let mut answer = |inputs: &[f64]| answer(&mut instance, &mut own, inputs);
    let kinds = kinds(&ports.inputs, ports.interface.inputs.len());
    // An item of an enumeration that is not there could be anything to the FMU.
    let untried = |input: usize| kinds[input] == VariableType::Enumeration;
    let mut found: Pairs = declared.iter().copied().filter(|(_, input)| untried(*input)).collect();
    for point in POINTS {
        let at = |input: usize, moves| near(kinds[input], ports.interface.inputs[input].start, moves);
        let base: Vec<f64> = (0..kinds.len()).map(|input| at(input, point)).collect();
        let mut still = answer(&base)?;
        for input in (0..kinds.len()).filter(|input| !untried(*input)) {
            let mut moved = base.clone();
            moved[input] = at(input, point + 0.5);
            if !differs(moved[input], base[input]) {
                moved[input] = at(input, 0.0);
            }
            let (moved, again) = (answer(&moved)?, answer(&base)?);
            for output in 0..moved.len() {
                // What changes by itself cannot be told from what the input changes.
                let [still, moved, again] = [&still, &moved, &again].map(|values| values[output]);
                if differs(moved, again) || differs(still, again) {
                    found.insert((output, input));
                }
            }
            still = again;
        }
    }
    Ok(found)
}

/// Zeros of either sign are one number, and so is whatever is none.
fn differs(a: f64, b: f64) -> bool {
    a != b && !(a.is_nan() && b.is_nan())
}

/// A value of an input, so many moves away from its start.
fn near(kind: VariableType, start: Option<f64>, moves: f64) -> f64 {
    let start = start.unwrap_or(0.0);
    match kind {
        VariableType::Float64 | VariableType::Float32 => start + moves * MOVE * start.abs().max(1.0),
        VariableType::Boolean if moves > 0.0 => 1.0 - start,
        VariableType::Boolean | VariableType::Enumeration => start,
        // Up only, because some have no sign.
        _ => start + moves.max(0.0).ceil(),
    }
}

/// What an instance in initialisation mode answers to inputs.
fn answer(
    instance: &mut impl Instance,
    ports: &mut Ports,
    inputs: &[f64],
) -> Result<Vec<f64>, SimulatorError> {
    ports.inputs.iter_mut().try_for_each(|group| group.set(instance, |port| inputs[port]))?;
    let mut outputs = vec![0.0; ports.interface.outputs.len()];
    ports.outputs.iter_mut().try_for_each(|group| group.get(instance, &mut outputs))?;
    Ok(outputs)
}

/// The type of each port.
fn kinds(groups: &[PortGroup], count: usize) -> Vec<VariableType> {
    let mut kinds = vec![VariableType::Float64; count];
    for group in groups {
        for port in &group.ports {
            kinds[*port] = group.kind;
        }
    }
    kinds
}

/// Feed-through that the description denies is an error in it; declared but not observed, it may be one. Missing
/// declarations are not reported.
fn compare(ports: &Ports, declared: &Pairs, found: &Pairs) -> Vec<String> {
    let list = |pairs: Vec<&(usize, usize)>| {
        let name = |pair: &&(usize, usize)| {
            let Interface { inputs, outputs, .. } = &ports.interface;
            format!("{} from {}", outputs[pair.0].name, inputs[pair.1].name)
        };
        let (shown, more) = pairs.split_at(pairs.len().min(5));
        let more = if more.is_empty() { String::new() } else { format!(" and {} more", more.len()) };
        format!("{}{more}", shown.iter().map(name).collect::<Vec<_>>().join(", "))
    };
    let said = |pair: &&(usize, usize)| !ports.undeclared.contains(&pair.0);
    let denied: Vec<_> = found.difference(declared).collect();
    let unseen: Vec<_> = declared.difference(found).filter(said).collect();
    let mut warnings = Vec::new();
    if !denied.is_empty() {
        warnings.push(format!("direct feed-through that the description does not declare: {}", list(denied)));
    }
    if !unseen.is_empty() {
        warnings.push(format!(
            "direct feed-through that the description declares but no trial showed: {}",
            list(unseen)
        ));
    }
    warnings
}
