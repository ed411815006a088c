//! Parameter bindings applied to components: parameters, and start values of unconnected inputs.
//!
//! Precedence is defined in SystemStructureDescription.xsd, `ParameterBinding`: at one level later bindings take
//! priority over earlier ones, and "bindings at a higher hierarchy level take precedence over lower levels". So they are
//! applied from the inside out, and the last value stays.

use std::collections::BTreeMap;

use cosimo_core::registry::number_text;
use cosimo_core::unit::describe;
use cosimo_core::{Unit, Value};
use cosimo_system::Span;

use crate::document::ProblemLog;
use crate::flatten::{Flat, Role, unknown_item};
use crate::tree::{Binding, Connector, ConnectorKind, ConnectorType, Mapping, Parameter, Transformation};

/// A value for a variable, with its unit and mapping.
#[derive(Debug, Clone)]
struct BoundValue<'m> {
    value: Value,
    unit: Option<Unit>,
    span: Span,
    mapping: Option<&'m Mapping>,
}

/// What a name refers to.
enum Target {
    /// A variable of a component.
    Variable(usize, String),
    /// A connector of a system.
    Connector(usize, String),
}

pub(crate) fn apply(flat: &mut Flat<'_>, log: &mut ProblemLog) {
    for (owner, bindings) in std::mem::take(&mut flat.levels) {
        for binding in bindings {
            Binder { flat, log }.bind(owner, binding);
        }
    }
}

struct Binder<'b, 't> {
    flat: &'b mut Flat<'t>,
    log: &'b mut ProblemLog,
}

impl Binder<'_, '_> {
    fn bind(&mut self, owner: usize, binding: &Binding) {
        let mut unmapped = Vec::new();
        let mut mapped: BTreeMap<&str, Vec<&Mapping>> = BTreeMap::new();
        for entry in binding.mapping.iter().flatten() {
            mapped.entry(&entry.source).or_default().push(entry);
        }
        for parameter in &binding.values {
            let name = format!("{}{}", binding.prefix, parameter.name);
            let Parameter { value, unit, span, .. } = parameter.clone();
            let given = BoundValue { value, unit, span, mapping: None };
            if binding.mapping.is_none() {
                self.set(owner, &name, given);
                continue;
            }
            // "If no mapping is supplied, the parameter names .. are used as is": with one, only mapped values are set.
            match mapped.remove(name.as_str()) {
                Some(entries) => {
                    for entry in entries {
                        self.set(owner, &entry.target, BoundValue { mapping: Some(entry), ..given.clone() });
                    }
                }
                None => unmapped.push((name, &parameter.span)),
            }
        }
        if let Some((first, span)) = unmapped.first() {
            let more = unmapped.len() - 1;
            let more = if more == 0 { String::new() } else { format!(" and {more} more") };
            let message =
                format!("the mapping has no entry for `{first}`{more}; unmapped parameters are not set");
            self.log.warning("ssp/unmapped", message, span);
        }
        for entry in mapped.into_values().flatten() {
            let message = format!("the mapping refers to an unknown parameter `{}`", entry.source);
            self.log.warning("ssp/unmapped", message, &entry.span);
        }
    }

    fn set(&mut self, owner: usize, name: &str, given: BoundValue<'_>) {
        match target(self.flat, owner, name) {
            Some(Target::Variable(part, variable)) => self.variable(part, &variable, given),
            Some(Target::Connector(owner, connector)) => self.connector(owner, &connector, given),
            None => {
                let message = format!("`{name}` does not exist here; its value is ignored");
                self.log.warning("ssp/unknown-parameter", message, &given.span);
            }
        }
    }

    fn variable(&mut self, part: usize, name: &str, given: BoundValue<'_>) {
        let flat = &mut *self.flat;
        let connector = flat.parts[part].connectors.get(name).copied();
        let path = format!("{}.{name}", flat.parts[part].component.name);
        let kind = match connector.map(|connector| connector.kind) {
            Some(kind) => kind,
            None if name.starts_with("cosimo.") || flat.parameter(part, name).is_some() => {
                ConnectorKind::Parameter
            }
            None => {
                let is_input = flat
                    .interface(part)
                    .is_some_and(|known| known.inputs.iter().any(|port| port.name == name));
                if is_input { ConnectorKind::Input } else { ConnectorKind::Either }
            }
        };
        match kind {
            ConnectorKind::Parameter => {
                let unit = connector.and_then(|connector| connector.unit.clone()).or_else(|| {
                    given.unit.as_ref()?; // looked up only if there is something to convert
                    flat.parameter(part, name).cloned().flatten()
                });
                let Some(value) = converted(&given, unit, connector, &path, self.log) else { return };
                replace_entry(&mut flat.parts[part].component.parameters, name, value, &given.span);
            }
            ConnectorKind::Input => self.start(part, name, &given, connector),
            ConnectorKind::Output | ConnectorKind::Calculated => {
                let message = format!("`{path}` is an output; its value is ignored");
                self.log.warning("ssp/not-set", message, &given.span);
            }
            ConnectorKind::Either => {
                let message = format!("`{path}` is neither a parameter nor an input; its value is ignored");
                self.log.warning("ssp/unknown-parameter", message, &given.span);
            }
        }
    }

    /// The start value of an unconnected input. Connected ones get the value of their source.
    fn start(&mut self, part: usize, name: &str, given: &BoundValue<'_>, connector: Option<&Connector>) {
        let flat = &mut *self.flat;
        let path = format!("{}.{name}", flat.parts[part].component.name);
        let unit = connector.and_then(|connector| connector.unit.clone()).or_else(|| {
            given.unit.as_ref()?; // opened only if there is something to convert
            let ports = &flat.interface(part)?.inputs;
            ports.iter().find(|port| port.name == name)?.unit.clone()
        });
        let Some(value) = converted(given, unit, connector, &path, self.log) else { return };
        let values = match value {
            Value::List(values) => {
                let sizes = connector.and_then(|connector| connector.sizes.clone()).unwrap_or_default();
                let names = (0..values.len() as u64).map(|at| element(name, at, &sizes));
                names.zip(values).collect()
            }
            value => vec![(name.to_owned(), value)],
        };
        for (port, value) in values {
            let number = match (&value, connector.map(|connector| &connector.of)) {
                (Value::Number(number), _) => Some(*number),
                (Value::Flag(flag), _) => Some(f64::from(u8::from(*flag))),
                (Value::Text(item), Some(ConnectorType::Enumeration(items))) => {
                    if !items.contains_key(item) {
                        unknown_item(name, item, items, &given.span, self.log);
                    }
                    items.get(item).copied()
                }
                _ => {
                    let message = format!(
                        "the start value of input `{path}` must be a number, got {}",
                        value.describe()
                    );
                    self.log.error("ssp/value", message, &given.span);
                    None
                }
            };
            let Some(number) = number else { continue };
            if flat.is_driven(part, &port) {
                let message = format!("`{path}` is connected; its start value has no effect");
                self.log.warning("ssp/not-set", message, &given.span);
                continue;
            }
            replace_entry(&mut flat.parts[part].component.starts, &port, number, &given.span);
        }
    }

    /// A value for the connector of a system is passed on to all targets of the connector.
    fn connector(&mut self, owner: usize, name: &str, given: BoundValue<'_>) {
        let flat = &*self.flat;
        let Some(&connector) = flat.owners[owner].connectors.get(name) else { return };
        if matches!(connector.kind, ConnectorKind::Output | ConnectorKind::Calculated) {
            let message = format!("the connector `{name}` is an output of the system; its value is ignored");
            self.log.warning("ssp/not-set", message, &given.span);
            return;
        }
        let span = given.span.clone();
        let unit = connector.unit.clone();
        let known = unit.clone().or(given.unit.clone());
        let Some(value) = converted(&given, unit, Some(connector), name, self.log) else { return };
        let Some(&first) = flat.owners[owner].nodes.get(name) else {
            let message =
                format!("the connector `{name}` is not connected to any element; its value is ignored");
            self.log.warning("ssp/not-set", message, &span);
            return;
        };
        if flat.edge_into(first).is_some() {
            self.log.warning("ssp/not-set", format!("`{name}` is connected; its value has no effect"), &span);
            return;
        }
        let mut waiting = vec![(first, value, known)];
        let mut seen = 0;
        while let Some((node, value, unit)) = waiting.pop() {
            seen += 1;
            if seen > self.flat.nodes.len() {
                return; // circular; reported when the source of the input is searched
            }
            for next in self.flat.nodes[node].outgoing.clone() {
                let Some(edge) = self.flat.edge_into(next).cloned() else { continue };
                let to = self.flat.nodes[next].connector;
                let transformation = match edge.map {
                    Some(map) => Transformation::Map(map),
                    None => Transformation::Linear { factor: edge.factor, offset: edge.offset },
                };
                let (source, target, suppress) = (String::new(), String::new(), edge.suppress);
                let hop = Mapping { source, target, transformation, suppress, span: span.clone() };
                let (value, unit) = (value.clone(), unit.clone());
                let given = BoundValue { value, unit, span: span.clone(), mapping: Some(&hop) };
                if let Role::Component(part) = self.flat.nodes[next].role {
                    let port = self.flat.nodes[next].port.clone();
                    self.variable(part, &port, given);
                } else if let Some(value) = converted(&given, to.unit.clone(), Some(to), &to.name, self.log) {
                    waiting.push((next, value, to.unit.clone().or(given.unit)));
                }
            }
        }
    }
}

/// "The hierarchical names .. are formed by prepending the element name and a dot": the longest matching element.
fn target(flat: &Flat<'_>, owner: usize, name: &str) -> Option<Target> {
    let here = &flat.owners[owner];
    match here.role {
        Role::Component(part) => Some(Target::Variable(part, name.to_owned())),
        Role::System => {
            if here.connectors.contains_key(name) {
                return Some(Target::Connector(owner, name.to_owned()));
            }
            name.rmatch_indices('.').find_map(|(at, _)| {
                let &inner = here.elements.get(&name[..at])?;
                target(flat, inner, &name[at + 1..])
            })
        }
        Role::Dictionary | Role::Reference(_) => None,
    }
}

/// Elements of arrays are listed row by row and counted from 1.
pub(crate) fn element(name: &str, at: u64, sizes: &[u64]) -> String {
    let mut rest = at;
    let mut indices = Vec::new();
    for size in sizes.iter().skip(1).rev() {
        indices.push((rest % size.max(&1) + 1).to_string());
        rest /= size.max(&1);
    }
    indices.push((rest + 1).to_string());
    indices.reverse();
    format!("{name}[{}]", indices.join(","))
}

/// Replaces the entry of this name, keeping its position.
fn replace_entry<T>(list: &mut Vec<(String, T, Span)>, name: &str, value: T, span: &Span) {
    match list.iter_mut().find(|(known, ..)| known == name) {
        Some((_, old, place)) => (*old, *place) = (value, span.clone()),
        None => list.push((name.to_owned(), value, span.clone())),
    }
}

/// A value converted to the unit of its target, then transformed.
fn converted(
    given: &BoundValue<'_>,
    wanted: Option<Unit>,
    connector: Option<&Connector>,
    path: &str,
    log: &mut ProblemLog,
) -> Option<Value> {
    let BoundValue { mut value, unit, span, mapping } = given.clone();
    let suppress = mapping.is_some_and(|mapping| mapping.suppress);
    match (&unit, &wanted) {
        // Units of the same name are taken as equal, whatever their definitions.
        (Some(unit), Some(wanted)) if !suppress && unit.text == wanted.text && differ(unit, wanted) => {
            let message = format!(
                "the unit `{}` is {} where the value of `{path}` is given, and {} in the description; the value is set as it \
                 is",
                unit.text,
                defined(unit),
                defined(wanted)
            );
            log.warning("ssp/unit-differs", message, &span);
        }
        (Some(unit), Some(wanted)) if !suppress => {
            if unit.dimension != wanted.dimension {
                let message =
                    format!("the value [{unit}] cannot be set to `{path}` [{wanted}]: the dimensions differ");
                log.error("ssp/unit-mismatch", message, &span);
                return None;
            }
            let (gain, offset) = unit.conversion(wanted);
            if (gain, offset) != (1.0, 0.0) {
                value = numbers(value, &|number| gain * number + offset);
            }
        }
        (Some(unit), None) if !suppress && !si(unit) => {
            let message = format!("the unit of `{path}` is unknown; the value in [{unit}] is not converted");
            log.warning("ssp/no-unit", message, &span);
        }
        _ => {}
    }
    let Some(mapping) = mapping else { return Some(value) };
    match &mapping.transformation {
        Transformation::None => Some(value),
        Transformation::Linear { factor, offset } => {
            if (*factor, *offset) == (1.0, 0.0) {
                return Some(value);
            }
            Some(numbers(value, &|number| factor * number + offset))
        }
        Transformation::Map(map) => looked_up(&value, map, path, &mapping.span, log),
        Transformation::Names(names) => {
            let Value::Text(item) = &value else {
                let message =
                    format!("`{path}` is mapped by item names, but its value is {}", value.describe());
                log.error("ssp/transformation", message, &mapping.span);
                return None;
            };
            let found = names.iter().find(|(from, _)| from == item).map(|(_, to)| Value::Text(to.clone()));
            if found.is_none() {
                let message = format!("the map to `{path}` has no entry for `{item}`");
                log.error("ssp/transformation", message, &mapping.span);
            }
            let known = |item: &str| match connector.map(|connector| &connector.of) {
                Some(ConnectorType::Enumeration(items)) => items.contains_key(item),
                _ => true,
            };
            found.filter(|value| matches!(value, Value::Text(item) if known(item)))
        }
    }
}

fn differ(one: &Unit, other: &Unit) -> bool {
    let definition = |unit: &Unit| (unit.dimension, unit.factor, unit.offset);
    definition(one) != definition(other)
}

/// The definition of a unit in a file, as in `0.5 [rad/s] + 3`.
fn defined(unit: &Unit) -> String {
    let base = describe(unit.dimension);
    let offset = if unit.offset == 0.0 { String::new() } else { format!(" + {}", number_text(unit.offset)) };
    format!("{} [{base}]{offset}", number_text(unit.factor))
}

/// Whether a value in this unit is one in SI units.
fn si(unit: &Unit) -> bool {
    (unit.factor, unit.offset) == (1.0, 0.0)
}

fn numbers(value: Value, change: &impl Fn(f64) -> f64) -> Value {
    match value {
        Value::Number(number) => Value::Number(change(number)),
        Value::List(values) => Value::List(values.into_iter().map(|value| numbers(value, change)).collect()),
        other => other,
    }
}

fn looked_up(
    value: &Value,
    map: &[(f64, f64)],
    path: &str,
    span: &Span,
    log: &mut ProblemLog,
) -> Option<Value> {
    let of = |number: f64| map.iter().find(|(from, _)| *from == number).map(|(_, to)| *to);
    let found = match value {
        Value::Number(number) => of(*number).map(Value::Number),
        Value::Flag(flag) => of(f64::from(u8::from(*flag))).map(|to| Value::Flag(to != 0.0)),
        _ => None,
    };
    if found.is_none() {
        let message = format!("the map to `{path}` has no entry for {}", value.describe());
        log.error("ssp/transformation", message, span);
    }
    found
}
