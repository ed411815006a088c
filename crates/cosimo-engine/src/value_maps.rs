//! A wrapper that adds outputs with values from a map. Connections with a `map` start there, so that the step loop needs no
//! code for maps.

use cosimo_core::interface::{Interface, Port};
use cosimo_core::simulator::{Ability, Jacobian};
use cosimo_core::{Inputs, Outputs, Setup, Simulator, SimulatorError, StepResult, Time, Window};
use cosimo_system::{Names, System};

/// The name of the output of a map: `a.mode->b.u`.
pub(crate) fn output(from: &str, to: &str) -> String {
    format!("{from}->{to}")
}

/// Wraps every simulator with an output that some connection maps. Connections whose ports do not exist are reported
/// elsewhere.
pub(crate) fn around(
    simulators: Vec<Option<Box<dyn Simulator>>>,
    system: &System,
) -> Vec<Option<Box<dyn Simulator>>> {
    let names = Names::new(system.components.iter().map(|component| component.name.as_str()));
    let mut tables: Vec<Vec<MapTable>> = simulators.iter().map(|_| Vec::new()).collect();
    for wire in &system.connections {
        for summand in wire.from.iter().filter(|summand| !summand.map.is_empty()) {
            let Ok((owner, component, port)) = names.split(&summand.port.0) else { continue };
            let Some(interface) = simulators[owner].as_ref().map(|simulator| simulator.interface()) else {
                continue;
            };
            let Some(source) = interface.outputs.iter().position(|known| known.name == port) else {
                continue;
            };
            tables[owner].push(MapTable {
                source,
                name: output(port, &wire.to.0),
                path: format!("{component}.{port}"),
                to: wire.to.0.clone(),
                entries: summand.map.clone(),
                waits: interface.feedthrough.iter().any(|(output, _)| *output == source),
            });
        }
    }
    let wrap = |(inner, tables): (Box<dyn Simulator>, Vec<MapTable>)| -> Box<dyn Simulator> {
        if tables.is_empty() { inner } else { Box::new(MappedSimulator::new(inner, tables)) }
    };
    let each = simulators.into_iter().zip(tables);
    each.map(|(simulator, tables)| simulator.map(|inner| wrap((inner, tables)))).collect()
}

struct MapTable {
    /// The mapped output.
    source: usize,
    /// The added output.
    name: String,
    /// For messages.
    path: String,
    to: String,
    entries: Vec<(f64, f64)>,
    /// The output has direct feed-through, so before the first step it may be invalid.
    waits: bool,
}

struct MappedSimulator {
    inner: Box<dyn Simulator>,
    interface: Interface,
    tables: Vec<MapTable>,
    /// Outputs of the wrapped simulator.
    own: usize,
    stepped: bool,
    /// A map without an entry for the value that was read last, and that value.
    open: Option<(usize, f64)>,
}

impl MappedSimulator {
    fn new(inner: Box<dyn Simulator>, tables: Vec<MapTable>) -> MappedSimulator {
        let mut interface = inner.interface().clone();
        let own = interface.outputs.len();
        for (at, table) in tables.iter().enumerate() {
            let description = format!("`{}`, mapped for `{}`", table.path, table.to);
            interface.outputs.push(Port { unit: None, ..Port::new(&table.name, "", &description) });
            let through: Vec<(usize, usize)> = interface
                .feedthrough
                .iter()
                .filter(|(output, _)| *output == table.source)
                .map(|(_, input)| (own + at, *input))
                .collect();
            interface.feedthrough.extend(through);
        }
        interface.abilities.integrals = false;
        interface.state_space_access = None;
        MappedSimulator { inner, interface, tables, own, stepped: false, open: None }
    }

    /// From here on outputs are valid.
    fn begin(&mut self) -> Result<(), SimulatorError> {
        self.stepped = true;
        match self.open.take() {
            Some((table, value)) => Err(missing(&self.tables[table], value)),
            None => Ok(()),
        }
    }

    fn inner_outputs<'o>(&self, out: &'o mut Outputs<'_>) -> Outputs<'o> {
        let slopes = if out.slopes.is_empty() { &mut out.slopes[..] } else { &mut out.slopes[..self.own] };
        Outputs { values: &mut out.values[..self.own], slopes }
    }

    fn look_up(&mut self, out: &mut Outputs<'_>) -> Result<(), SimulatorError> {
        self.open = None;
        let (own, more) = out.values.split_at_mut(self.own);
        for (at, (table, into)) in self.tables.iter().zip(more).enumerate() {
            let value = own[table.source];
            *into = match table.entries.iter().find(|(from, _)| *from == value) {
                Some((_, to)) => *to,
                // Its inputs are not consistent yet; any entry will do until they are.
                None if table.waits && !self.stepped => {
                    self.open = Some((at, value));
                    table.entries.first().map_or(0.0, |(_, to)| *to)
                }
                None => return Err(missing(table, value)),
            };
        }
        if let Some(slopes) = out.slopes.get_mut(self.own..) {
            slopes.fill(0.0); // between its jumps
        }
        Ok(())
    }
}

fn missing(table: &MapTable, value: f64) -> SimulatorError {
    let known: Vec<String> = table.entries.iter().map(|(from, _)| from.to_string()).collect();
    let message = format!(
        "`{}` is {value}, but the map to `{}` has entries for {} only",
        table.path,
        table.to,
        known.join(", ")
    );
    SimulatorError::new("map", message)
}

impl Simulator for MappedSimulator {
    fn interface(&self) -> &Interface {
        &self.interface
    }

    fn initialize(&mut self, setup: &Setup) -> Result<(), SimulatorError> {
        self.inner.initialize(setup)
    }

    fn set_inputs(&mut self, at: Time, inputs: &Inputs<'_>) -> Result<(), SimulatorError> {
        self.inner.set_inputs(at, inputs)
    }

    fn do_step(&mut self, window: Window, inputs: &Inputs<'_>) -> Result<StepResult, SimulatorError> {
        self.begin()?;
        self.inner.do_step(window, inputs)
    }

    fn get_outputs(&mut self, out: &mut Outputs<'_>) -> Result<(), SimulatorError> {
        let mut inner = self.inner_outputs(out);
        self.inner.get_outputs(&mut inner)?;
        self.look_up(out)
    }

    fn do_step_and_get_outputs(
        &mut self,
        window: Window,
        inputs: &Inputs<'_>,
        out: &mut Outputs<'_>,
    ) -> Result<StepResult, SimulatorError> {
        self.begin()?;
        let mut inner = self.inner_outputs(out);
        let reached = self.inner.do_step_and_get_outputs(window, inputs, &mut inner)?;
        if reached.to >= window.to {
            self.look_up(out)?;
        }
        Ok(reached)
    }

    /// A map has no derivatives, and no integrals inside a step.
    fn inner(&mut self, asked: Ability) -> Option<&mut dyn Simulator> {
        match asked {
            Ability::Lifecycle
            | Ability::Rollback
            | Ability::SerializeState
            | Ability::Events
            | Ability::Bytes
            | Ability::TunableParameters
            | Ability::States
            | Ability::Locals
            | Ability::MultiRate => Some(self.inner.as_mut()),
            Ability::Jacobian | Ability::StepIntegrals | Ability::StateSpace => None,
        }
    }

    fn jacobian(&mut self) -> Option<&mut dyn Jacobian> {
        self.inner.jacobian().is_some().then_some(self as _)
    }
}

impl Jacobian for MappedSimulator {
    fn fill(&mut self, into: &mut [f64]) -> Result<(), SimulatorError> {
        let (own, more) = into.split_at_mut(self.own * self.interface.inputs.len());
        more.fill(0.0); // between its jumps
        self.inner.need_jacobian()?.fill(own)
    }
}
