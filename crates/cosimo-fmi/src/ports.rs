//! Variables as ports: which there are, how they are grouped for calls, and which output hears which input.

use std::collections::{BTreeMap, BTreeSet};

use cosimo_core::{Interface, Port};

use crate::description::{Causality, Description, Kind, Variable};

/// Ports of one type, set or read by one call.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Group {
    pub(crate) kind: Kind,
    pub(crate) references: Vec<u32>,
    /// The port of each value.
    pub(crate) ports: Vec<usize>,
    pub(crate) values: Vec<f64>,
}

impl Group {
    /// The first port, if the ports follow each other: then values need not be copied.
    pub(crate) fn run(&self) -> Option<usize> {
        let first = *self.ports.first()?;
        self.ports.iter().enumerate().all(|(place, port)| *port == first + place).then_some(first)
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Ports {
    pub(crate) interface: Interface,
    pub(crate) inputs: Vec<Group>,
    pub(crate) outputs: Vec<Group>,
    /// Value references of inputs that may be set inside a step, with their ports.
    pub(crate) fed: Vec<(u32, usize)>,
    /// Outputs of which the unit does not say on which inputs they depend at once.
    pub(crate) undeclared: BTreeSet<usize>,
}

/// `name`, or `name[2]` and `name[1,2]` for elements of arrays.
fn names(variable: &Variable) -> Vec<String> {
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
    /// `ignore_structure` leaves out all feedthrough, for units that declare too much.
    pub(crate) fn new(description: &Description, ignore_structure: bool) -> Ports {
        let mut ports = Ports {
            interface: Interface::default(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            fed: Vec::new(),
            undeclared: BTreeSet::new(),
        };
        // Ports of each variable.
        let mut input_ports = BTreeMap::new();
        let mut output_ports = BTreeMap::new();
        for (index, variable) in description.variables.iter().enumerate() {
            let (list, groups, places) = match variable.causality {
                Causality::Input => (&mut ports.interface.inputs, &mut ports.inputs, &mut input_ports),
                Causality::Output => (&mut ports.interface.outputs, &mut ports.outputs, &mut output_ports),
                _ => continue,
            };
            if !variable.kind.is_number() {
                continue;
            }
            let first = list.len();
            list.extend(names(variable).into_iter().enumerate().map(|(element, name)| Port {
                name,
                unit: variable.unit.clone(),
                start: variable.start_number(element),
                limits: variable.limits,
                description: variable.description.clone(),
            }));
            let range = first..list.len();
            let scalar = variable.dimensions.is_empty();
            if variable.causality == Causality::Input
                && variable.intermediate_update
                && variable.kind == Kind::Float64
                && scalar
            {
                ports.fed.push((variable.reference, first));
            }
            places.insert(index, range.clone());
            let place = groups.iter().position(|group| group.kind == variable.kind).unwrap_or_else(|| {
                groups.push(Group { kind: variable.kind, references: vec![], ports: vec![], values: vec![] });
                groups.len() - 1
            });
            let group = &mut groups[place];
            group.references.push(variable.reference);
            group.ports.extend(range);
            group.values.resize(group.ports.len(), 0.0);
        }
        if ignore_structure {
            return ports;
        }
        let declared: BTreeMap<usize, &Option<Vec<usize>>> =
            description.outputs.iter().map(|output| (output.variable, &output.dependencies)).collect();
        let all: BTreeSet<usize> = input_ports.keys().copied().collect();
        for (index, range) in &output_ports {
            // What is not said is assumed: it may depend on everything.
            let heard = match declared.get(index) {
                Some(Some(list)) => list.iter().copied().collect(),
                _ => {
                    ports.undeclared.extend(range.clone());
                    all.clone()
                }
            };
            for output in range.clone() {
                for inputs in heard.iter().filter_map(|input| input_ports.get(input)) {
                    ports.interface.feedthrough.extend(inputs.clone().map(|input| (output, input)));
                }
            }
        }
        ports
    }
}
