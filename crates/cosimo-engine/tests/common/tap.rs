//! A simulator for tests whose ports and values are its source.
#![allow(dead_code)] // each test takes its share

use cosimo::core::interface::{Abilities, Interface, Port};
use cosimo::core::registry::{OpenRequest, OpenResult, Parameter};
use cosimo::core::simulator::{Memory, Rollback, SerializeState};
use cosimo::core::{
    Inputs, Outputs, Setup, Simulator, SimulatorError, SourceEntry, StepResult, Time, Unit, Value, Window,
};

/// A simulator by its source: `tap:y[degC]=20+1 z=5|u[K] w`. Outputs begin at a value, which the parameter `y.start` sets,
/// and grow with a slope; each input `u` shows as the output `u.seen`.
struct Tap {
    interface: Interface,
    lines: Vec<(f64, f64)>,
    /// The time, and inputs as they were seen last.
    memory: Memory<Vec<f64>>,
}

pub(crate) const TAP: SourceEntry = SourceEntry {
    name: "tap",
    summary: "outputs as lines, inputs as outputs",
    claims: |source| source.starts_with("tap:"),
    open,
    parameters: |source, _| {
        let outputs =
            source.strip_prefix("tap:").and_then(|ports| ports.split('|').next()).unwrap_or_default();
        let parameter = |output: &str| {
            let port = port(output.split('=').next().unwrap_or_default());
            Parameter { name: format!("{}.start", port.name), unit: port.unit, default: None }
        };
        outputs.split_whitespace().map(parameter).collect()
    },
    models: Vec::new,
    join: None,
};

/// `name[unit]`.
fn port(text: &str) -> Port {
    let (name, unit) =
        text.split_once('[').map_or((text, None), |(name, unit)| (name, unit.strip_suffix(']')));
    match unit.map(Unit::parse) {
        Some(Ok(unit)) => Port { unit: Some(unit), ..Port::new(name, "", "") },
        _ => Port::new(text, "", ""),
    }
}

fn open(request: &OpenRequest<'_>) -> OpenResult {
    let (outputs, inputs) = request.source.strip_prefix("tap:").unwrap().split_once('|').unwrap();
    let (mut ports, mut lines) = (Vec::new(), Vec::new());
    for output in outputs.split_whitespace() {
        let (name, line) = output.split_once('=').unwrap();
        let (start, slope) = line.split_once('+').unwrap_or((line, "0"));
        ports.push(port(name));
        let parameter = format!("{}.start", ports[ports.len() - 1].name);
        let given = request.parameters.iter().find(|(name, _)| *name == parameter);
        let start = match given {
            Some((_, Value::Number(number))) => *number,
            _ => start.parse().unwrap(),
        };
        lines.push((start, slope.parse().unwrap()));
    }
    let inputs: Vec<Port> = inputs.split_whitespace().map(port).collect();
    ports.extend(inputs.iter().map(|input| Port { name: format!("{}.seen", input.name), ..input.clone() }));
    let feedthrough = (0..inputs.len()).map(|input| (lines.len() + input, input)).collect();
    let memory = Memory::new(vec![0.0; 1 + inputs.len()]);
    let abilities = Abilities { states: false, ..Abilities::NATIVE };
    let interface = Interface { inputs, outputs: ports, feedthrough, abilities, ..Interface::default() };
    Ok(Box::new(Tap { interface, lines, memory }))
}

impl Simulator for Tap {
    fn interface(&self) -> &Interface {
        &self.interface
    }

    fn initialize(&mut self, setup: &Setup) -> Result<(), SimulatorError> {
        self.memory.now[0] = setup.start.seconds();
        Ok(())
    }

    fn set_inputs(&mut self, _: Time, inputs: &Inputs<'_>) -> Result<(), SimulatorError> {
        self.memory.now[1..].iter_mut().enumerate().for_each(|(k, seen)| *seen = inputs.at(k, 0.0));
        Ok(())
    }

    fn do_step(&mut self, window: Window, inputs: &Inputs<'_>) -> Result<StepResult, SimulatorError> {
        self.memory.now[0] = window.to.seconds();
        self.memory.now[1..].iter_mut().enumerate().for_each(|(k, seen)| *seen = inputs.at(k, window.size));
        Ok(StepResult::end_of(window, 1))
    }

    fn get_outputs(&mut self, out: &mut Outputs<'_>) -> Result<(), SimulatorError> {
        let (now, seen) = self.memory.now.split_first().unwrap();
        let lines = self.lines.iter().map(|(start, slope)| start + slope * now);
        out.values.iter_mut().zip(lines.chain(seen.iter().copied())).for_each(|(out, value)| *out = value);
        Ok(())
    }

    fn rollback(&mut self) -> Option<&mut dyn Rollback> {
        Some(&mut self.memory)
    }

    fn serialize_state(&mut self) -> Option<&mut dyn SerializeState> {
        Some(&mut self.memory)
    }
}
