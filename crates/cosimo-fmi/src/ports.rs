//! Variables as ports: their grouping for calls, and direct feed-through.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use cosimo_core::{ByteContent, BytePort, Interface, Port, SimulatorError, ValueType};

use crate::description::{Causality, Description, Interval, Variability, Variable, VariableType};
use crate::instance::{Instance, IntermediateInput};

/// Ports of one type, set or read by one call.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PortGroup {
    pub(crate) kind: VariableType,
    /// Inputs that change only at events.
    pub(crate) discrete: bool,
    /// Clocks with which alone its values are there.
    pub(crate) clocks: Vec<u32>,
    pub(crate) references: Vec<u32>,
    /// How many values each has.
    pub(crate) sizes: Vec<usize>,
    /// The port of each value.
    pub(crate) ports: Vec<usize>,
    pub(crate) values: Vec<f64>,
}

impl PortGroup {
    /// Adds a variable with its ports to the group that it fits into, or to a new one.
    pub(crate) fn add(
        groups: &mut Vec<PortGroup>,
        (kind, discrete, clocks): (VariableType, bool, &[u32]),
        reference: u32,
        ports: Range<usize>,
    ) {
        let fits =
            |group: &PortGroup| (group.kind, group.discrete) == (kind, discrete) && group.clocks == clocks;
        let place = groups.iter().position(fits).unwrap_or_else(|| {
            let clocks = clocks.to_vec();
            let (references, sizes, ports, values) = Default::default();
            groups.push(PortGroup { kind, discrete, clocks, references, sizes, ports, values });
            groups.len() - 1
        });
        let group = &mut groups[place];
        group.references.push(reference);
        group.sizes.push(ports.len());
        group.ports.extend(ports);
        group.values.resize(group.ports.len(), 0.0);
    }

    /// Sets these inputs of the FMU.
    #[inline]
    pub(crate) fn set(
        &mut self,
        instance: &mut impl Instance,
        value: impl Fn(usize) -> f64,
    ) -> Result<(), SimulatorError> {
        for (place, port) in self.values.iter_mut().zip(&self.ports) {
            *place = value(*port);
        }
        instance.set(self.kind, &self.references, &self.values)
    }

    /// Reads these of the outputs.
    #[inline]
    pub(crate) fn get(
        &mut self,
        instance: &mut impl Instance,
        outputs: &mut [f64],
    ) -> Result<(), SimulatorError> {
        instance.get(self.kind, &self.references, &mut self.values)?;
        for (port, value) in self.ports.iter().zip(&self.values) {
            outputs[*port] = *value;
        }
        Ok(())
    }

    /// The first port, if the ports follow each other: then values need not be copied.
    pub(crate) fn run(&self) -> Option<usize> {
        let first = *self.ports.first()?;
        self.ports.iter().enumerate().all(|(place, port)| *port == first + place).then_some(first)
    }
}

#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Ports {
    pub(crate) interface: Interface,
    pub(crate) inputs: Vec<PortGroup>,
    pub(crate) outputs: Vec<PortGroup>,
    /// Inputs that may be set inside a step.
    pub(crate) fed: Vec<IntermediateInput>,
    /// Type and value reference of every port for texts or bytes.
    pub(crate) byte_inputs: Vec<(VariableType, u32)>,
    pub(crate) byte_outputs: Vec<(VariableType, u32)>,
    /// Value references of clocks that others are to give, or hear, with their ports.
    pub(crate) clocks_in: Vec<(u32, usize)>,
    pub(crate) clocks_out: Vec<(u32, usize)>,
    /// Outputs without declared dependencies.
    pub(crate) undeclared: BTreeSet<usize>,
}

/// Whether it is a port for a text or bytes.
pub(crate) fn carries_parcels(variable: &Variable) -> bool {
    matches!(variable.kind, VariableType::String | VariableType::Binary)
        && matches!(variable.causality, Causality::Input | Causality::Output)
        && variable.dimensions.is_empty()
}

fn carries(kind: VariableType) -> ValueType {
    match kind {
        VariableType::Float64 | VariableType::Float32 => ValueType::Real,
        VariableType::Boolean => ValueType::Boolean,
        VariableType::Enumeration => ValueType::Enumeration,
        _ => ValueType::Integer,
    }
}

/// `name`, or `name[2]` and `name[1,2]` for elements of arrays.
pub(crate) fn names(variable: &Variable) -> Vec<String> {
    if variable.dimensions.is_empty() {
        return vec![variable.name.clone()];
    }
    (0..variable.elements())
        .map(|element| {
            let mut rest = element as u64;
            let mut parts: Vec<String> = variable
                .dimensions
                .iter()
                .rev()
                .map(|size| {
                    let index = rest % size + 1;
                    rest /= size;
                    index.to_string()
                })
                .collect();
            parts.reverse();
            format!("{}[{}]", variable.name, parts.join(","))
        })
        .collect()
}

impl Ports {
    /// Ports for texts and bytes, as far as they are no arrays.
    pub(crate) fn add_parcels(&mut self, description: &Description) {
        for variable in description.variables.iter().filter(|variable| carries_parcels(variable)) {
            let content =
                if variable.kind == VariableType::Binary { ByteContent::Bytes } else { ByteContent::Text };
            let (name, about) = (variable.name.clone(), variable.description.clone());
            let port = BytePort { name, content, description: about };
            let end = (variable.kind, variable.reference);
            if variable.causality == Causality::Input {
                self.interface.byte_inputs.push(port);
                self.byte_inputs.push(end);
            } else {
                self.interface.byte_outputs.push(port);
                self.byte_outputs.push(end);
            }
        }
    }

    /// `ignore_structure` leaves out all feedthrough, for FMUs that declare too much; `clocks` takes clocks in.
    pub(crate) fn new(description: &Description, ignore_structure: bool, clocks: bool) -> Ports {
        let mut ports = Ports::default();
        // Ports of each variable.
        let mut input_ports = BTreeMap::new();
        let mut output_ports = BTreeMap::new();
        for (index, variable) in description.variables.iter().enumerate() {
            let (list, groups, places) = match variable.causality {
                Causality::Input => (&mut ports.interface.inputs, &mut ports.inputs, &mut input_ports),
                Causality::Output => (&mut ports.interface.outputs, &mut ports.outputs, &mut output_ports),
                _ => continue,
            };
            let rings = variable.causality == Causality::Output
                || variable.clock.is_some_and(|clock| clock.interval == Interval::Triggered);
            if variable.kind == VariableType::Clock && clocks && rings && variable.dimensions.is_empty() {
                let port = Port {
                    value_type: ValueType::Boolean,
                    discrete: true,
                    unit: None,
                    ..Port::new(&variable.name, "", &variable.description)
                };
                let at = (variable.reference, list.len());
                list.push(port.starting_at(0.0));
                match variable.causality {
                    Causality::Input => ports.clocks_in.push(at),
                    _ => ports.clocks_out.push(at),
                }
                continue;
            }
            if !variable.kind.is_number() {
                continue;
            }
            let first = list.len();
            list.extend(names(variable).into_iter().enumerate().map(|(element, name)| Port {
                name,
                unit: variable.unit.clone(),
                start: variable.start_number(element),
                value_type: carries(variable.kind),
                discrete: variable.variability != Variability::Continuous,
                limits: variable.limits,
                items: variable.items.iter().map(|(name, value)| (name.clone(), *value as f64)).collect(),
                description: variable.description.clone(),
            }));
            let range = first..list.len();
            let scalar = variable.dimensions.is_empty();
            if variable.causality == Causality::Input
                && variable.intermediate_update
                && variable.kind == VariableType::Float64
                && scalar
            {
                ports.fed.push(IntermediateInput {
                    reference: variable.reference,
                    port: first,
                    stretched: None,
                });
            }
            places.insert(index, range.clone());
            let discrete = variable.causality == Causality::Input
                && (variable.variability != Variability::Continuous || !variable.kind.is_float());
            let clocked: &[u32] = if clocks { &variable.clocks } else { &[] };
            PortGroup::add(groups, (variable.kind, discrete, clocked), variable.reference, range);
        }
        if !ignore_structure {
            ports.depend(description, &input_ports, &output_ports);
        }
        ports
    }

    /// Which outputs depend on which inputs at the same instant; both by the place of their variable.
    fn depend(
        &mut self,
        description: &Description,
        input_ports: &BTreeMap<usize, Range<usize>>,
        output_ports: &BTreeMap<usize, Range<usize>>,
    ) {
        let declared: BTreeMap<usize, &Option<Vec<usize>>> =
            description.outputs.iter().map(|output| (output.variable, &output.dependencies)).collect();
        let all: BTreeSet<usize> = input_ports.keys().copied().collect();
        for (index, range) in output_ports {
            // What is not said is assumed: it may depend on everything.
            let heard = match declared.get(index) {
                Some(Some(list)) => list.iter().copied().collect(),
                _ => {
                    self.undeclared.extend(range.clone());
                    all.clone()
                }
            };
            for output in range.clone() {
                for inputs in heard.iter().filter_map(|input| input_ports.get(input)) {
                    self.interface.feedthrough.extend(inputs.clone().map(|input| (output, input)));
                }
            }
        }
    }
}
