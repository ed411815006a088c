//! FMUs for co-simulation that solve for the effort of a line themselves: the incoming wave is an input.
//!
//! Such an FMU has, beside an input X that is an effort, an input `X.Z` for the impedance and the wave c, so that the effort is
//! c(t) + Z f(t) with its own flow: by points `X.t[1]`, `X.t[2]`, ... and `X.c[1]`, `X.c[2]`, ..., or, in FMI 3.0, by an
//! `X.c` that it asks for inside a step. That is told by these names alone. With Z = 0 it is an FMU as all others.
//!
//! One that can return after a step of its solver may stretch the line itself: an `X.kappa` that can be read inside a step says
//! how often as long as at its shortest the line is. `X.Z` and an input `X.D` are then impedance and delay at its shortest, and
//! an input `X.most` the largest kappa that is allowed. It lets kappa be read before it asks for `X.c`, since what arrives
//! depends on it.

use std::borrow::Cow;
use std::collections::BTreeMap;

use cosimo_core::{Inputs, Interface, Segment, SimulatorError, Window};

use crate::description::{Capabilities, Causality, Description, Variable, VariableType};
use crate::instance::{Instance, IntermediateInput};
use crate::ports::Ports;

/// One effort.
#[derive(Debug)]
struct Wave {
    /// What it is called, and its port.
    name: String,
    port: usize,
    /// Instants of points; none where it is asked for.
    times: Vec<u32>,
    /// The wave at those instants.
    points: Vec<u32>,
    /// Whether shortest delay and largest factor are told, behind the impedance.
    bounds: bool,
    /// By how much the FMU stretches the line.
    kappa: Option<u32>,
    /// All references behind each other, with what they are set to.
    references: Vec<u32>,
    values: Vec<f64>,
}

/// All of an FMU.
#[derive(Debug, Default)]
pub(crate) struct Waves {
    list: Vec<Wave>,
    /// Inputs, and behind them the waves that are asked for inside a step.
    segments: Vec<Segment>,
}

impl Waves {
    /// What the FMU declares, and its description without the inputs that are for waves: they are no ports.
    pub(crate) fn find(description: &Description, can: Capabilities) -> (Cow<'_, Description>, Waves) {
        let scalar =
            |variable: &&Variable| variable.kind == VariableType::Float64 && variable.dimensions.is_empty();
        // Of several variables with one name, the first.
        let inputs: BTreeMap<&str, &Variable> = (description.variables.iter().rev())
            .filter(|variable| variable.causality == Causality::Input)
            .filter(scalar)
            .map(|variable| (variable.name.as_str(), variable))
            .collect();
        let input = |name: &str| inputs.get(name).copied();
        // It need be no output; here it becomes one.
        let shown = |name: &str| {
            let fits = |variable: &&Variable| {
                variable.name == name
                    && matches!(variable.causality, Causality::Output | Causality::Local)
                    && scalar(variable)
                    && variable.intermediate_update
            };
            description.variables.iter().find(fits)
        };
        let mut list = Vec::new();
        for name in description.variables.iter().map(|variable| &variable.name) {
            if !inputs.contains_key(name.as_str()) {
                continue;
            }
            let Some(impedance) = input(&format!("{name}.Z")) else { continue };
            let points = |what: &str| -> Vec<u32> {
                let point = |place: usize| Some(input(&format!("{name}.{what}[{place}]"))?.reference);
                (1..).map_while(point).collect()
            };
            let asks = |variable: &&Variable| variable.intermediate_update && can.intermediate_update;
            let asked = input(&format!("{name}.c")).filter(asks);
            let (times, points) = match asked {
                Some(asked) => (Vec::new(), vec![asked.reference]),
                None => (points("t"), points("c")),
            };
            if asked.is_none() && (times.len() < 2 || times.len() != points.len()) {
                continue;
            }
            let bounds = input(&format!("{name}.D")).zip(input(&format!("{name}.most")));
            let kappa = asked.and(bounds).and_then(|_| shown(&format!("{name}.kappa")));
            let kappa = kappa.filter(|_| can.early_on_request).map(|kappa| kappa.reference);
            let references: Vec<u32> = (times.iter().chain(&points).copied())
                .chain([impedance.reference])
                .chain(bounds.into_iter().flat_map(|(delay, most)| [delay.reference, most.reference]))
                .collect();
            let values = vec![0.0; references.len()];
            let (name, port, bounds) = (name.clone(), 0, bounds.is_some());
            list.push(Wave { name, port, times, points, bounds, kappa, references, values });
        }
        if list.is_empty() {
            return (Cow::Borrowed(description), Waves::default());
        }
        let mut rest = description.clone();
        for variable in &mut rest.variables {
            if variable.causality == Causality::Input
                && list.iter().any(|wave| wave.references.contains(&variable.reference))
            {
                variable.causality = Causality::Local;
            }
            let kappa = |wave: &Wave| wave.kappa == Some(variable.reference);
            if variable.causality == Causality::Local && list.iter().any(kappa) {
                variable.causality = Causality::Output;
            }
        }
        (Cow::Owned(rest), Waves { list, segments: Vec::new() })
    }

    /// Now that ports are known. What is asked for inside a step is fed from behind the inputs.
    pub(crate) fn place(&mut self, ports: &mut Ports) {
        let Ports { interface: Interface { inputs, outputs, stretches, .. }, fed, .. } = ports;
        self.list.retain_mut(|wave| {
            let port = inputs.iter().position(|port| port.name == wave.name);
            wave.port = port.unwrap_or_default();
            port.is_some()
        });
        self.segments = vec![Segment::ZERO; inputs.len()];
        for wave in self.list.iter().filter(|wave| wave.times.is_empty()) {
            let said = format!("{}.kappa", wave.name);
            let shown = wave.kappa.and_then(|_| outputs.iter().position(|port| port.name == said));
            stretches.extend(shown.map(|output| (wave.port, output)));
            let stretched = shown.and(wave.kappa).map(|kappa| (wave.port, kappa));
            fed.push(IntermediateInput { reference: wave.points[0], port: self.segments.len(), stretched });
            self.segments.push(Segment::ZERO);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Whether the FMU asks for all of them inside of its steps.
    pub(crate) fn are_asked(&self) -> bool {
        self.list.iter().all(|wave| wave.times.is_empty())
    }

    /// Sets the incoming waves of a window, and returns the resulting inputs.
    pub(crate) fn set_waves<I: Instance>(
        &mut self,
        instance: &mut I,
        window: &Window,
        inputs: &Inputs<'_>,
    ) -> Result<&[Segment], SimulatorError> {
        let Waves { list, segments } = self;
        if let Some(end) = inputs.ends.iter().find(|end| list.iter().all(|wave| wave.port != end.effort)) {
            let words =
                format!("no line can end at input {}: the FMU has no wave variables for it", end.effort);
            return Err(SimulatorError::new("line", words));
        }
        let (count, from) = (inputs.segments.len(), window.from.seconds());
        segments[..count].copy_from_slice(inputs.segments);
        let mut asked = count;
        for wave in list.iter_mut() {
            let end = inputs.ends.iter().find(|end| end.effort == wave.port);
            let c = |t: f64| end.map_or(0.0, |end| end.scale * end.wave(t));
            let Wave { times, values, references, port, bounds, kappa, .. } = wave;
            let last = values.len() - if *bounds { 3 } else { 1 };
            if times.is_empty() {
                // Where the FMU stretches the line, what arrives is worked out when it asks.
                segments[asked] = if kappa.is_some() { Segment::ZERO } else { cubic(c, from, window.size) };
                values[0] = segments[asked].start();
                asked += 1;
            } else {
                let n = times.len();
                for i in 0..n {
                    values[i] = from + window.size * (i as f64 / (n - 1) as f64);
                    values[n + i] = c(values[i]);
                }
            }
            values[last] = end.map_or(0.0, |end| end.scale * end.sign * end.impedance);
            if *bounds {
                let [delay, most] = end.map_or([0.0, 1.0], |end| [end.delay, end.most]);
                values[last + 1..].copy_from_slice(&[delay, most]);
            }
            if end.is_some() {
                // At the end of a line, the effort has no other source.
                segments[*port] = Segment::ZERO;
            }
            instance.set(VariableType::Float64, references, values)?;
        }
        Ok(segments)
    }
}

/// The cubic through four equally spaced values, in Newton's form made plain.
fn cubic(value: impl Fn(f64) -> f64, from: f64, size: f64) -> Segment {
    let [a, b, c, d] = [0.0, 1.0, 2.0, 3.0].map(|third| value(from + size * (third / 3.0)));
    let (first, second, third) = (b - a, c - 2.0 * b + a, d - 3.0 * (c - b) - a);
    let per = 3.0 / size;
    Segment([
        a,
        (first - second / 2.0 + third / 3.0) * per,
        (second - third) / 2.0 * per * per,
        third / 6.0 * per * per * per,
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cubic_is_found_again_and_a_constant_stays_one() {
        let wanted = Segment([1.0, -2.0, 0.5, 3.0]);
        let found = cubic(|t| wanted.at(t - 0.2), 0.2, 0.7);
        for (found, wanted) in found.0.iter().zip(wanted.0) {
            assert!((found - wanted).abs() < 1e-12, "{found} for {wanted}");
        }
        assert_eq!(cubic(|_| 0.1, 0.0, 0.7), Segment::constant(0.1));
    }
}
