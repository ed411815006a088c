//! A simulator for tests whose ports and values are its source.
#![allow(dead_code)] // each test takes its share

use cosimo::core::entry::{OpenRequest, Opened, Parameter};
use cosimo::core::interface::{Abilities, Interface, Port};
use cosimo::core::{
    Inputs, Outputs, Reached, Setup, Simulator, SimulatorError, Slot, SourceEntry, Time, Trail, Unit, Value,
    Window,
};

/// A simulator by its source: `tap:y[degC]=20+1 z=5|u[K] w`. Outputs begin at a value, which the parameter `y.start` sets,
/// and grow with a slope; each input `u` shows as the output `u.seen`.
struct Tap {
    interface: Interface,
    lines: Vec<(f64, f64)>,
    seen: Vec<f64>,
    now: f64,
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
            Parameter { name: format!("{}.start", port.name), unit: port.unit }
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

fn open(request: &OpenRequest<'_>) -> Opened {
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
    let seen = vec![0.0; inputs.len()];
    let abilities = Abilities { states: false, ..Abilities::NATIVE };
    let interface = Interface { inputs, outputs: ports, feedthrough, abilities, ..Interface::default() };
    Ok(Box::new(Tap { interface, lines, seen, now: 0.0 }))
}

impl Simulator for Tap {
    fn interface(&self) -> &Interface {
        &self.interface
    }

    fn enter(&mut self, setup: &Setup) -> Result<(), SimulatorError> {
        self.now = setup.start.seconds();
        Ok(())
    }

    fn settle(&mut self, _: Time, inputs: &Inputs<'_>) -> Result<(), SimulatorError> {
        self.seen.iter_mut().enumerate().for_each(|(k, seen)| *seen = inputs.at(k, 0.0));
        Ok(())
    }

    fn advance(
        &mut self,
        window: Window,
        inputs: &Inputs<'_>,
        _: &mut Trail<'_>,
    ) -> Result<Reached, SimulatorError> {
        self.now = window.to.seconds();
        self.seen.iter_mut().enumerate().for_each(|(k, seen)| *seen = inputs.at(k, window.size));
        Ok(Reached::end_of(window, 1))
    }

    fn outputs(&mut self, out: &mut Outputs<'_>) -> Result<(), SimulatorError> {
        let lines = self.lines.iter().map(|(start, slope)| start + slope * self.now);
        out.values
            .iter_mut()
            .zip(lines.chain(self.seen.iter().copied()))
            .for_each(|(out, value)| *out = value);
        Ok(())
    }

    fn save(&mut self, _: Slot) -> Result<(), SimulatorError> {
        Ok(())
    }

    fn restore(&mut self, _: Slot) -> Result<(), SimulatorError> {
        Ok(())
    }

    fn freeze(&mut self, _: &mut Vec<u8>) -> Result<(), SimulatorError> {
        Ok(())
    }

    fn thaw(&mut self, _: &[u8]) -> Result<(), SimulatorError> {
        Ok(())
    }
}
