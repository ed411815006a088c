//! Rules about variables: names, references, combinations of attributes, start values, and references between variables.

use std::collections::{BTreeMap, BTreeSet};

use cosimo_fmi::description::{Causality, Fmi, Initial, Variability, VariableType};
use cosimo_pack::xml::children_of;
use roxmltree::Node;

use crate::model::{ModelDescription, VariableNode, initials};
use crate::report::Findings;
use crate::schema::{number, whole};
use crate::structure::repeated;

/// The attribute `name` of a variable's element.
fn at<'a>(model: &ModelDescription<'a>, variable: &VariableNode<'a>, name: &str) -> crate::report::Spot {
    // In FMI 2.0 some attributes are in the child element.
    let node = if variable.node.has_attribute(name) { variable.node } else { variable.typed };
    let node = if node.has_attribute(name) { node } else { variable.node };
    model.source.attribute(node, name)
}

/// A finding at an attribute of a variable.
fn find_at(
    model: &ModelDescription<'_>,
    report: &mut Findings,
    (variable, name): (&VariableNode<'_>, &str),
    what: &str,
    found: impl Into<String>,
    wanted: impl Into<String>,
) {
    report.find(at(model, variable, name), format!("`{}` {what}", variable.name), found, wanted);
}

/// All elements that define a variable name: the variables and, in FMI 3.0, their aliases.
fn names<'a>(model: &ModelDescription<'a>) -> Vec<(Node<'a, 'a>, &'a str)> {
    let mut found = Vec::new();
    for variable in &model.variables {
        let aliases = variable.node.children().filter(|node| node.tag_name().name() == "Alias");
        for node in std::iter::once(variable.node).chain(aliases) {
            found.extend(node.attribute("name").map(|name| (node, name)));
        }
    }
    found
}

pub(crate) fn duplicate_name(model: &ModelDescription<'_>, report: &mut Findings) {
    for (node, name, line) in repeated(model.source, names(model).into_iter()) {
        report.find(
            model.source.attribute(node, "name"),
            format!("two variables have the name `{name}`"),
            format!("first used in line {line}"),
            "a unique name",
        );
    }
}

pub(crate) fn name(model: &ModelDescription<'_>, report: &mut Findings) {
    for (node, name) in names(model) {
        let found = if name.is_empty() {
            "an empty name".to_owned()
        } else if let Some(letter) = name.chars().find(|letter| matches!(letter, '\r' | '\n' | '\t')) {
            format!("U+{:04X}", u32::from(letter))
        } else {
            continue;
        };
        let message = "the name of a variable is invalid";
        let wanted = "at least one character, and no carriage return, line feed or tab";
        report.find(model.source.attribute(node, "name"), message, found, wanted);
    }
}

pub(crate) fn structured_name(model: &ModelDescription<'_>, report: &mut Findings) {
    if model.root.attribute("variableNamingConvention") != Some("structured") {
        return;
    }
    for (node, name) in names(model).into_iter().filter(|(_, name)| !name.is_empty() && !is_structured(name))
    {
        let message = format!("the name `{name}` does not follow variableNamingConvention=\"structured\"");
        let wanted = "a structured name, such as a.b[1].'c d' or der(x)";
        report.find(model.source.attribute(node, "name"), message, format!("`{name}`"), wanted);
    }
}

/// The grammar of structured names, 2.2.9 of FMI 2.0 and 2.4.7.5.1 of FMI 3.0.
fn is_structured(name: &str) -> bool {
    if let Some(inside) = name.strip_prefix("der(").and_then(|rest| rest.strip_suffix(')')) {
        // The order comes after the last comma that is in no brackets or apostrophes.
        let order = inside.rsplit_once(',').filter(|(_, order)| is_number(order));
        return is_identifier(inside) || order.is_some_and(|(identifier, _)| is_identifier(identifier));
    }
    is_identifier(name)
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_identifier(text: &str) -> bool {
    let mut rest = text;
    loop {
        let Some(after) = after_name(rest) else { return false };
        rest = after;
        if let Some(inside) = rest.strip_prefix('[') {
            let Some((indices, after)) = inside.split_once(']') else { return false };
            if !indices.split(',').all(is_number) {
                return false;
            }
            rest = after;
        }
        match rest.strip_prefix('.') {
            Some(next) => rest = next,
            None => return rest.is_empty(),
        }
    }
}

/// The rest of the text after a B-name or Q-name.
fn after_name(text: &str) -> Option<&str> {
    if let Some(quoted) = text.strip_prefix('\'') {
        let mut letters = quoted.char_indices();
        while let Some((at, letter)) = letters.next() {
            match letter {
                '\'' => return (at > 0).then(|| &quoted[at + 1..]),
                '\\' => {
                    let (_, escaped) = letters.next()?;
                    if !"'\"?\\abfnrtv".contains(escaped) {
                        return None;
                    }
                }
                plain if plain.is_ascii_alphanumeric() || "_!#$%&()*+,-./:;<>=?@[]^{}|~ ".contains(plain) => {
                }
                _ => return None,
            }
        }
        return None;
    }
    let nondigit = |letter: char| letter == '_' || letter.is_ascii_alphabetic();
    let first = text.chars().next().filter(|letter| nondigit(*letter))?;
    let rest = &text[first.len_utf8()..];
    Some(rest.trim_start_matches(|letter: char| nondigit(letter) || letter.is_ascii_digit()))
}

/// FMI 3.0: one variable for each value reference.
pub(crate) fn duplicate_reference(model: &ModelDescription<'_>, report: &mut Findings) {
    let mut seen: BTreeMap<u32, &VariableNode<'_>> = BTreeMap::new();
    for variable in &model.variables {
        let Some(reference) = variable.reference else { continue };
        match seen.get(&reference) {
            Some(first) => report.find(
                at(model, variable, "valueReference"),
                format!("`{}` and `{}` have the same value reference", first.name, variable.name),
                reference.to_string(),
                "a unique value reference",
            ),
            None => {
                seen.insert(reference, variable);
            }
        }
    }
}

/// FMI 2.0: variables with the same base type and value reference are aliases.
pub(crate) fn alias(model: &ModelDescription<'_>, report: &mut Findings) {
    let mut sets: BTreeMap<(VariableType, u32), Vec<&VariableNode<'_>>> = BTreeMap::new();
    for variable in &model.variables {
        if let (Some(kind), Some(reference)) = (variable.kind, variable.reference) {
            // Enumerations are accessed as integers.
            let base = if kind == VariableType::Enumeration { VariableType::Int32 } else { kind };
            sets.entry((base, reference)).or_default().push(variable);
        }
    }
    for ((_, reference), set) in sets.into_iter().filter(|(_, set)| set.len() > 1) {
        let settable = |variable: &VariableNode<'_>| {
            matches!(variable.causality, Some(Causality::Input | Causality::Parameter))
        };
        let mut first_settable: Option<&VariableNode<'_>> = None;
        for variable in set.iter().copied().filter(|variable| settable(variable)) {
            match first_settable {
                Some(first) => report.find(
                    at(model, variable, "valueReference"),
                    format!("the aliases `{}` and `{}` can both be set", first.name, variable.name),
                    format!("value reference {reference} for both"),
                    "at most one input or parameter per value reference",
                ),
                None => first_settable = Some(variable),
            }
        }
        let first = set[0];
        for other in &set[1..] {
            for (what, differs) in [
                ("unit", model.inherited(first, "unit") != model.inherited(other, "unit")),
                ("start", both_differ(&first.start, &other.start)),
                ("variability", is_constant(first) != is_constant(other)),
            ] {
                if differs {
                    report.find(
                        at(model, other, what),
                        format!("`{}` is an alias of `{}` with different attributes", other.name, first.name),
                        format!("a different `{what}`"),
                        format!("the same `{what}` in all aliases, which share value reference {reference}"),
                    );
                }
            }
        }
    }
}

fn both_differ(a: &Option<Vec<&str>>, b: &Option<Vec<&str>>) -> bool {
    let same = |a: &str, b: &str| a == b || number(a).is_some_and(|value| Some(value) == number(b));
    matches!((a.as_deref(), b.as_deref()), (Some([a]), Some([b])) if !same(a, b))
}

fn is_constant(variable: &VariableNode<'_>) -> bool {
    variable.variability == Some(Variability::Constant)
}

pub(crate) fn causality_variability(model: &ModelDescription<'_>, report: &mut Findings) {
    for variable in &model.variables {
        let Some((causality, variability)) = variable.causality.zip(variable.variability) else { continue };
        if initials(model.fmi, causality, variability).is_some() {
            continue;
        }
        let possible: Vec<&str> = cosimo_fmi::description::VARIABILITIES
            .iter()
            .filter(|(_, other)| initials(model.fmi, causality, *other).is_some())
            .map(|(word, _)| *word)
            .collect();
        let given = variable.node.has_attribute("variability");
        let how = if given { "" } else { ", which is the default" };
        report.find(
            at(model, variable, if given { "variability" } else { "causality" }),
            format!("the combination of causality and variability of `{}` is not allowed", variable.name),
            format!("causality {}, variability {}{how}", causality.name(), variability.name()),
            match possible.as_slice() {
                [] => format!("another causality than {}", causality.name()),
                list => format!("variability {}", list.join(" or ")),
            },
        );
    }
}

/// Whether the combination of causality and variability is allowed.
fn combines(model: &ModelDescription<'_>, variable: &VariableNode<'_>) -> bool {
    let both = variable.causality.zip(variable.variability);
    both.is_some_and(|(causality, variability)| initials(model.fmi, causality, variability).is_some())
}

pub(crate) fn initial(model: &ModelDescription<'_>, report: &mut Findings) {
    for variable in &model.variables {
        let (Some(given), Some(causality), Some(variability)) =
            (variable.given_initial, variable.causality, variable.variability)
        else {
            continue;
        };
        let Some(allowed) = initials(model.fmi, causality, variability) else { continue };
        if allowed.contains(&given) {
            continue;
        }
        let words: Vec<&str> = allowed.iter().map(|initial| initial.name()).collect();
        report.find(
            at(model, variable, "initial"),
            format!("`initial` of `{}` is not allowed for its causality and variability", variable.name),
            format!("{} with {} and {}", given.name(), causality.name(), variability.name()),
            if words.is_empty() { "no `initial`".to_owned() } else { words.join(" or ") },
        );
    }
}

pub(crate) fn start_missing(model: &ModelDescription<'_>, report: &mut Findings) {
    for variable in model.variables.iter().filter(|variable| variable.start.is_none()) {
        let needed = match (variable.kind, variable.initial, variable.causality) {
            // Clocks have no start values.
            (None | Some(VariableType::Clock), ..) => continue,
            _ if !combines(model, variable) => continue,
            (_, Some(Initial::Exact), _) => "initial exact",
            (_, Some(Initial::Approx), _) => "initial approx",
            (_, _, Some(Causality::Input)) => "causality input",
            _ => continue,
        };
        report.find(
            model.source.element(variable.typed),
            format!("`{}` has no start value", variable.name),
            format!("{needed} without start"),
            "a start value",
        );
    }
}

pub(crate) fn start_forbidden(model: &ModelDescription<'_>, report: &mut Findings) {
    for variable in model.variables.iter().filter(|variable| variable.start.is_some()) {
        let because = match (variable.initial, variable.causality) {
            _ if !combines(model, variable) => continue,
            (_, Some(Causality::Independent)) => "causality independent",
            (Some(Initial::Calculated), _) => "initial calculated",
            _ => continue,
        };
        let found = format!("a start value with {because}");
        let what = "must not have a start value";
        find_at(model, report, (variable, "start"), what, found, "no start value");
    }
}

pub(crate) fn continuous_type(model: &ModelDescription<'_>, report: &mut Findings) {
    for variable in model.variables.iter().filter(|variable| combines(model, variable)) {
        let Some(kind) = variable.kind.filter(|kind| !kind.is_float()) else { continue };
        if variable.variability == Some(Variability::Continuous) {
            let given = variable.node.has_attribute("variability");
            let kind = if model.fmi == Fmi::Two { variable.typed.tag_name().name() } else { kind.name() };
            let how = if given { "" } else { ", which is the default" };
            let found = format!("{kind} with variability continuous{how}");
            let (what, wanted) = ("cannot be continuous", "a variability such as discrete");
            find_at(model, report, (variable, "variability"), what, found, wanted);
        }
    }
}

/// `min`, `max` and start values as numbers, if they are.
fn range(model: &ModelDescription<'_>, variable: &VariableNode<'_>) -> (Option<f64>, Option<f64>) {
    let bound = |name: &str| model.inherited(variable, name).and_then(number);
    (bound("min"), bound("max"))
}

pub(crate) fn min_max(model: &ModelDescription<'_>, report: &mut Findings) {
    let mut check = |node: Node<'_, '_>, name: &str, min: Option<f64>, max: Option<f64>| {
        if let (Some(min), Some(max)) = (min, max)
            && min > max
        {
            report.find(
                model.source.attribute(node, if node.has_attribute("max") { "max" } else { "min" }),
                format!("`min` of `{name}` is greater than its `max`"),
                format!("min {min}, max {max}"),
                "min <= max",
            );
        }
    };
    for variable in &model.variables {
        if variable.typed.has_attribute("min") || variable.typed.has_attribute("max") {
            let (min, max) = range(model, variable);
            check(variable.typed, variable.name, min, max);
        }
    }
    for (name, declared) in &model.types {
        let node = if model.fmi != Fmi::Three {
            declared.children().find(Node::is_element).unwrap_or(*declared)
        } else {
            *declared
        };
        let bound = |key: &str| node.attribute(key).and_then(number);
        check(node, name, bound("min"), bound("max"));
    }
}

pub(crate) fn start_range(model: &ModelDescription<'_>, report: &mut Findings) {
    for variable in
        model.variables.iter().filter(|variable| variable.kind.is_some_and(VariableType::is_number))
    {
        let (min, max) = range(model, variable);
        if min.zip(max).is_some_and(|(min, max)| min > max) {
            continue;
        }
        let values = variable.start.iter().flatten().filter_map(|text| number(text));
        let outside =
            |value: &f64| min.is_some_and(|min| *value < min) || max.is_some_and(|max| *value > max);
        if let Some(value) = values.into_iter().find(outside) {
            let bound = |bound: Option<f64>| bound.map_or("any".to_owned(), |bound| bound.to_string());
            report.find(
                at(model, variable, "start"),
                format!("the start value of `{}` is out of range", variable.name),
                value.to_string(),
                format!("from {} to {}", bound(min), bound(max)),
            );
        }
    }
}

pub(crate) fn enumeration_start(model: &ModelDescription<'_>, report: &mut Findings) {
    let items = |declared: &Node<'_, '_>| -> BTreeSet<i128> {
        let items = declared.descendants().filter(|node| node.tag_name().name() == "Item");
        if model.fmi == Fmi::One {
            return items.zip(1..).map(|(_, value)| value).collect();
        }
        items.filter_map(|item| whole(item.attribute("value")?)).collect()
    };
    let types: BTreeMap<&str, BTreeSet<i128>> =
        model.types.iter().map(|(name, declared)| (*name, items(declared))).collect();
    for variable in model.variables.iter().filter(|variable| variable.kind == Some(VariableType::Enumeration))
    {
        let declared = variable.typed.attribute("declaredType").and_then(|name| types.get(name));
        let Some(values) = declared.filter(|values| !values.is_empty()) else { continue };
        let starts = variable.start.iter().flatten().filter_map(|text| whole(text));
        if let Some(value) = starts.into_iter().find(|value| !values.contains(value)) {
            let list: Vec<String> = values.iter().take(10).map(i128::to_string).collect();
            report.find(
                at(model, variable, "start"),
                format!("the start value of `{}` is not an item of its enumeration", variable.name),
                value.to_string(),
                format!("one of {}", list.join(", ")),
            );
        }
    }
}

pub(crate) fn start_size(model: &ModelDescription<'_>, report: &mut Findings) {
    for variable in &model.variables {
        let Some(start) = &variable.start else { continue };
        let sizes = model.dimensions(variable);
        let Some(sizes) = sizes.into_iter().collect::<Option<Vec<u64>>>() else { continue };
        let Some(elements) = sizes.iter().try_fold(1u64, |product, size| product.checked_mul(*size)) else {
            continue;
        };
        if start.len() != 1 && start.len() as u64 != elements {
            let what = "has a wrong number of start values";
            let wanted = if elements == 1 { "1".into() } else { format!("1 or {elements}") };
            find_at(model, report, (variable, "start"), what, start.len().to_string(), wanted);
        }
    }
}

pub(crate) fn declared_type(model: &ModelDescription<'_>, report: &mut Findings) {
    for variable in &model.variables {
        let Some(name) = variable.typed.attribute("declaredType") else { continue };
        let found = match model.declared(variable) {
            None if model.types.contains_key(name) => continue,
            None => format!("`{name}`, which is not defined"),
            Some(declared) => {
                let tag = declared.tag_name().name();
                let wanted = variable.typed.tag_name().name();
                if tag.trim_end_matches("Type") == wanted || variable.kind.is_none() {
                    continue;
                }
                format!("`{name}`, which is a type for {}", tag.trim_end_matches("Type"))
            }
        };
        report.find(
            at(model, variable, "declaredType"),
            format!("the declared type of `{}` does not exist or does not match", variable.name),
            found,
            format!("a type for {} in `<TypeDefinitions>`", variable.typed.tag_name().name()),
        );
    }
}

/// Elements that name units: variables, their aliases, and types.
fn users_of_units<'a>(model: &ModelDescription<'a>) -> Vec<(Node<'a, 'a>, &'a str, Option<&'a str>)> {
    let mut found = Vec::new();
    for variable in &model.variables {
        let unit = model.inherited(variable, "unit");
        let aliases = variable.node.children().filter(|node| node.tag_name().name() == "Alias");
        for node in std::iter::once(variable.typed).chain(aliases) {
            found.push((node, node.attribute("name").unwrap_or(variable.name), unit));
        }
    }
    for (name, declared) in &model.types {
        let node = declared.children().find(|node| node.tag_name().name() == "Real").unwrap_or(*declared);
        found.push((node, name, node.attribute("unit")));
    }
    found
}

pub(crate) fn unit(model: &ModelDescription<'_>, report: &mut Findings) {
    let units: BTreeSet<&str> =
        children_of(model.root, "UnitDefinitions").filter_map(|unit| unit.attribute("name")).collect();
    for (node, name, _) in users_of_units(model) {
        if let Some(unit) = node.attribute("unit").filter(|unit| !units.contains(unit)) {
            report.find(
                model.source.attribute(node, "unit"),
                format!("the unit of `{name}` is not defined"),
                format!("`{unit}`"),
                "the name of a `<Unit>` in `<UnitDefinitions>`",
            );
        }
    }
}

pub(crate) fn display_unit(model: &ModelDescription<'_>, report: &mut Findings) {
    let mut known: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for unit in children_of(model.root, "UnitDefinitions") {
        let Some(name) = unit.attribute("name") else { continue };
        let shown = unit.children().filter(|node| node.tag_name().name() == "DisplayUnit");
        known.entry(name).or_default().extend(shown.filter_map(|node| node.attribute("name")));
    }
    for (node, name, unit) in users_of_units(model) {
        let Some(shown) = node.attribute("displayUnit") else { continue };
        let found = match unit {
            None => format!("`{shown}` without a unit"),
            Some(unit) => match known.get(unit) {
                // An undefined unit is reported by `unit`.
                None => continue,
                Some(list) if list.contains(shown) => continue,
                Some(_) => format!("`{shown}`, which is not a display unit of `{unit}`"),
            },
        };
        report.find(
            model.source.attribute(node, "displayUnit"),
            format!("the display unit of `{name}` is not defined"),
            found,
            "the name of a `<DisplayUnit>` of its unit",
        );
    }
}

pub(crate) fn derivative(model: &ModelDescription<'_>, report: &mut Findings) {
    for (index, variable) in model.variables.iter().enumerate() {
        let Some(text) = variable.typed.attribute("derivative") else { continue };
        let Ok(number) = text.trim().parse::<u32>() else { continue };
        let found = match model.find(number) {
            None => format!("{} {number}, which does not exist", model.number_name()),
            Some(target) if target == index => "itself".to_owned(),
            Some(target) => {
                let state = &model.variables[target];
                if state.is_float() && state.variability == Some(Variability::Continuous) {
                    continue;
                }
                format!("`{}`, which is not a continuous floating-point variable", state.name)
            }
        };
        let (what, wanted) = (
            "is the derivative of a variable that has none",
            "a continuous floating-point variable other than itself",
        );
        find_at(model, report, (variable, "derivative"), what, found, wanted);
    }
}

pub(crate) fn reinit(model: &ModelDescription<'_>, report: &mut Findings) {
    let states: BTreeSet<usize> =
        (0..model.variables.len()).filter_map(|index| model.derivative_of(index)).collect();
    for (index, variable) in model.variables.iter().enumerate() {
        if variable.typed.has_attribute("reinit") && !states.contains(&index) {
            let what = "has `reinit` but is not a continuous state";
            let found = "`reinit` on a variable without derivative";
            let wanted = "`reinit` on continuous states only";
            find_at(model, report, (variable, "reinit"), what, found, wanted);
        }
    }
}

pub(crate) fn multiple_set(model: &ModelDescription<'_>, report: &mut Findings) {
    for variable in &model.variables {
        let name = "canHandleMultipleSetPerTimeInstant";
        if variable.node.has_attribute(name) && variable.causality.is_some_and(|it| it != Causality::Input) {
            let what = format!("has `{name}` but is not an input");
            let found = variable.causality.map_or("", Causality::name);
            find_at(model, report, (variable, name), &what, found, "causality input");
        }
    }
}

fn independents<'m, 'a>(model: &'m ModelDescription<'a>) -> impl Iterator<Item = &'m VariableNode<'a>> {
    model.variables.iter().filter(|variable| variable.causality == Some(Causality::Independent))
}

pub(crate) fn independent_count(model: &ModelDescription<'_>, report: &mut Findings) {
    let wanted = if model.fmi == Fmi::Two { "at most one" } else { "exactly one" };
    let mut all = independents(model);
    match all.next() {
        None if model.fmi == Fmi::Three && !model.variables.is_empty() => {
            let list = cosimo_pack::xml::child(model.root, "ModelVariables").unwrap_or(model.root);
            report.find(model.source.element(list), "there is no independent variable", "none", wanted);
        }
        _ => {
            for variable in all {
                let message = format!("`{}` is a second independent variable", variable.name);
                report.find(at(model, variable, "causality"), message, "another", wanted);
            }
        }
    }
}

pub(crate) fn independent_type(model: &ModelDescription<'_>, report: &mut Findings) {
    for variable in independents(model).filter(|variable| variable.kind.is_some() && !variable.is_float()) {
        let found = variable.typed.tag_name().name();
        let message = format!("the independent variable `{}` is not floating-point", variable.name);
        report.find(at(model, variable, "causality"), message, found, "a floating-point type");
    }
}

fn dimension_nodes<'a>(variable: &VariableNode<'a>) -> impl Iterator<Item = Node<'a, 'a>> {
    variable.node.children().filter(|node| node.tag_name().name() == "Dimension")
}

pub(crate) fn dimension(model: &ModelDescription<'_>, report: &mut Findings) {
    for variable in &model.variables {
        for node in dimension_nodes(variable) {
            let (fixed, by) = (node.attribute("start"), node.attribute("valueReference"));
            let found = match (fixed, by) {
                (Some(_), Some(_)) => "`start` and `valueReference`".to_owned(),
                (None, None) => "neither".to_owned(),
                (Some(fixed), None) if fixed.trim() == "0" => "start 0".to_owned(),
                (Some(_), None) => continue,
                (None, Some(by)) => {
                    let Ok(reference) = by.trim().parse() else { continue };
                    match model.find(reference).map(|index| &model.variables[index]) {
                        None => format!("value reference {reference}, which does not exist"),
                        Some(size) if size.kind != Some(VariableType::UInt64) => {
                            format!("`{}`, which is not of type UInt64", size.name)
                        }
                        Some(size)
                            if size.causality != Some(Causality::StructuralParameter)
                                && !is_constant(size) =>
                        {
                            format!("`{}`, which is neither a structural parameter nor constant", size.name)
                        }
                        Some(size) if size.start.as_deref() == Some(&["0"]) => {
                            format!("`{}`, whose start value is 0", size.name)
                        }
                        Some(_) => continue,
                    }
                }
            };
            report.find(
                model.source.element(node),
                format!("a dimension of `{}` is invalid", variable.name),
                found,
                "either `start` greater than 0, or the value reference of a structural parameter or constant of type UInt64 \
                 with a start value greater than 0",
            );
        }
    }
}

pub(crate) fn structural_parameter(model: &ModelDescription<'_>, report: &mut Findings) {
    for variable in &model.variables {
        if variable.causality == Some(Causality::StructuralParameter)
            && let Some(node) = dimension_nodes(variable).next()
        {
            let message = format!("the structural parameter `{}` is an array", variable.name);
            report.find(model.source.element(node), message, "`<Dimension>`", "a scalar");
        }
    }
}

pub(crate) fn intermediate_update(model: &ModelDescription<'_>, report: &mut Findings) {
    for variable in &model.variables {
        let set = matches!(variable.node.attribute("intermediateUpdate"), Some("true" | "1"));
        if set && variable.causality == Some(Causality::Parameter) {
            report.find(
                at(model, variable, "intermediateUpdate"),
                format!("the parameter `{}` has `intermediateUpdate`", variable.name),
                "true",
                "no `intermediateUpdate` on parameters",
            );
        }
    }
}

pub(crate) fn previous(model: &ModelDescription<'_>, report: &mut Findings) {
    let mut seen: BTreeMap<usize, &str> = BTreeMap::new();
    for (index, variable) in model.variables.iter().enumerate() {
        let Some(reference) = variable.node.attribute("previous").and_then(|text| text.trim().parse().ok())
        else {
            continue;
        };
        let target = model.find(reference);
        let first = target.and_then(|target| seen.insert(target, variable.name));
        let found = match target.map(|target| (target, &model.variables[target])) {
            _ if !variable.is_clocked() => "`previous` without `clocks`".to_owned(),
            _ if variable.variability.is_some_and(|it| it != Variability::Discrete) => {
                "`previous` on a variable that is not discrete".into()
            }
            None => format!("value reference {reference}, which does not exist"),
            Some((target, _)) if target == index => "itself".into(),
            Some((_, before)) if before.kind != variable.kind => {
                format!("`{}`, which is of another type", before.name)
            }
            Some((_, before)) if before.causality == Some(Causality::Input) => {
                format!("`{}`, which is an input", before.name)
            }
            Some((_, before)) if before.variability != Some(Variability::Discrete) => {
                format!("`{}`, which is not discrete", before.name)
            }
            Some((_, before)) => match first {
                Some(first) => format!("`{}`, which is also the previous value of `{first}`", before.name),
                None => continue,
            },
        };
        let wanted = "on a discrete clocked variable, a discrete variable of the same type that is not an input and used once";
        find_at(model, report, (variable, "previous"), "has an invalid attribute `previous`", found, wanted);
    }
}

pub(crate) fn clocks(model: &ModelDescription<'_>, report: &mut Findings) {
    for variable in model.variables.iter().filter(|variable| variable.is_clocked()) {
        let list = variable.node.attribute("clocks").unwrap_or_default();
        let wrong =
            list.split_ascii_whitespace().filter_map(|part| part.parse::<u32>().ok()).find_map(|reference| {
                match model.find(reference).map(|index| &model.variables[index]) {
                    None => Some(format!("value reference {reference}, which does not exist")),
                    Some(clock) if clock.kind != Some(VariableType::Clock) => {
                        Some(format!("`{}`, which is not a clock", clock.name))
                    }
                    Some(_) => None,
                }
            });
        let slow = matches!(variable.variability, Some(Variability::Discrete | Variability::Tunable) | None);
        let found = match wrong {
            Some(wrong) => wrong,
            None if !slow => format!("variability {}", variable.variability.map_or("", Variability::name)),
            None => continue,
        };
        let wanted = "value references of clocks, on a discrete or tunable variable";
        find_at(model, report, (variable, "clocks"), "has an invalid attribute `clocks`", found, wanted);
    }
}

pub(crate) fn clock(model: &ModelDescription<'_>, report: &mut Findings) {
    for variable in model.variables.iter().filter(|variable| variable.kind == Some(VariableType::Clock)) {
        let node = variable.node;
        let value = |name: &str| model.inherited(variable, name);
        let periodic = matches!(value("intervalVariability"), Some("constant" | "fixed" | "tunable"));
        let is = |name: &str, test: fn(f64) -> bool| value(name).and_then(number).is_some_and(test);
        let problems = [
            (
                "causality",
                !matches!(
                    variable.causality,
                    Some(Causality::Input | Causality::Output | Causality::Local) | None
                ),
                "causality input, output or local",
            ),
            (
                "variability",
                !matches!(variable.variability, Some(Variability::Discrete | Variability::Tunable) | None),
                "variability discrete or tunable",
            ),
            (
                "intervalDecimal",
                is("intervalDecimal", |interval| interval <= 0.0),
                "an interval greater than 0",
            ),
            ("shiftDecimal", is("shiftDecimal", |shift| shift < 0.0), "a shift of 0 or more"),
            ("intervalCounter", is("intervalCounter", |count| count == 0.0), "a counter greater than 0"),
            (
                "intervalDecimal",
                value("intervalDecimal").is_some() && !periodic,
                "an interval for periodic clocks only",
            ),
            (
                "intervalCounter",
                value("intervalCounter").is_some() && value("resolution").is_none(),
                "`resolution` with `intervalCounter`",
            ),
        ];
        if let Some((name, _, wanted)) = problems.into_iter().find(|(_, wrong, _)| *wrong) {
            let found =
                value(name).or(node.attribute(name)).map_or("none".into(), |text| format!("\"{text}\""));
            let message = format!("the clock `{}` has an invalid attribute", variable.name);
            report.find(at(model, variable, name), message, format!("{name} {found}"), wanted);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::is_structured;

    #[test]
    fn structured_names_follow_the_grammar() {
        for name in [
            "a",
            "vehicle.engine.speed",
            "resistor12.u",
            "_v",
            "robot.axis.'motor #234'",
            "der(pipe[3,4].T[14],2)",
            "der(x)",
            "a[1].'it\\'s'",
        ] {
            assert!(is_structured(name), "{name}");
        }
        for name in
            ["", "1a", "a b", "a.", ".a", "a[", "a[x]", "der(x", "der()", "''", "ä", "a-b", "'a", "der(x,)"]
        {
            assert!(!is_structured(name), "{name}");
        }
    }
}
