//! Rules about `<ModelStructure>`: which variables must be in which list, and their dependencies.

use std::collections::BTreeSet;

use cosimo_fmi::description::{Causality, Fmi, Initial, Variability, VariableType};
use cosimo_pack::xml::child;

use crate::model::{List, ModelDescription, Unknown};
use crate::report::Findings;

/// The variables of a list.
fn listed(model: &ModelDescription<'_>, list: List) -> BTreeSet<usize> {
    of(model, list).map(|(_, variable)| variable).collect()
}

fn of<'m, 'a>(model: &'m ModelDescription<'a>, list: List) -> impl Iterator<Item = (&'m Unknown<'a>, usize)> {
    model
        .unknowns
        .iter()
        .filter(move |unknown| unknown.list == list)
        .filter_map(|it| Some((it, it.variable?)))
}

/// The attribute that refers to the variable.
fn key(model: &ModelDescription<'_>) -> &'static str {
    if model.fmi == Fmi::Two { "index" } else { "valueReference" }
}

fn missing(model: &ModelDescription<'_>, report: &mut Findings, variable: usize, list: List, because: &str) {
    let variable = &model.variables[variable];
    let list = list.name(model.fmi);
    report.find(
        model.source.element(variable.node),
        format!("`{}` is not in the model structure", variable.name),
        format!("{because} without an entry"),
        format!("an entry in `<ModelStructure>` as `<{list}>`"),
    );
}

/// An entry that must not be in its list.
fn misplaced(
    model: &ModelDescription<'_>,
    report: &mut Findings,
    (unknown, variable): (&Unknown<'_>, usize),
    what: &str,
    found: impl Into<String>,
    wanted: &str,
) {
    let spot = model.source.attribute(unknown.node, key(model));
    report.find(spot, format!("`{}` {what}", model.variables[variable].name), found, wanted);
}

pub(crate) fn reference(model: &ModelDescription<'_>, report: &mut Findings) {
    for unknown in model.unknowns.iter().filter(|unknown| unknown.variable.is_none()) {
        let Some(number) = unknown.written else { continue };
        report.find(
            model.source.attribute(unknown.node, key(model)),
            "an entry of the model structure refers to no variable",
            format!("{} {number}", model.number_name()),
            format!("the {} of a variable", model.number_name()),
        );
    }
}

pub(crate) fn repeated(model: &ModelDescription<'_>, report: &mut Findings) {
    let mut seen = BTreeSet::new();
    for unknown in &model.unknowns {
        let Some(variable) = unknown.variable else { continue };
        if !seen.insert((unknown.list as usize, variable)) {
            let found = format!("a second `<{}>`", unknown.list.name(model.fmi));
            let what = "occurs twice in a list of the model structure";
            misplaced(model, report, (unknown, variable), what, found, "each variable once");
        }
    }
}

pub(crate) fn outputs_missing(model: &ModelDescription<'_>, report: &mut Findings) {
    if child(model.root, "ModelStructure").is_none() {
        return;
    }
    let there = listed(model, List::Outputs);
    for (index, variable) in model.variables.iter().enumerate() {
        if variable.causality == Some(Causality::Output) && !there.contains(&index) {
            missing(model, report, index, List::Outputs, "an output");
        }
    }
}

pub(crate) fn outputs_extra(model: &ModelDescription<'_>, report: &mut Findings) {
    for entry in of(model, List::Outputs) {
        let causality = model.variables[entry.1].causality;
        if let Some(causality) = causality.filter(|causality| *causality != Causality::Output) {
            let found = format!("causality {}", causality.name());
            let what = "is listed as an output but is not an output";
            misplaced(model, report, entry, what, found, "causality output");
        }
    }
}

pub(crate) fn derivatives_missing(model: &ModelDescription<'_>, report: &mut Findings) {
    if model.kind("ModelExchange").is_none() || child(model.root, "ModelStructure").is_none() {
        return;
    }
    let there = listed(model, List::Derivatives);
    for (index, variable) in model.variables.iter().enumerate() {
        // The derivative of an input or of an output may be declared without being that of a state.
        let Some(state) = model.derivative_of(index).map(|state| &model.variables[state]) else { continue };
        let own = variable.causality == Some(Causality::Local) && state.causality == Some(Causality::Local);
        if own && state.is_float() && !there.contains(&index) {
            missing(model, report, index, List::Derivatives, "the derivative of a state");
        }
    }
}

pub(crate) fn derivatives_extra(model: &ModelDescription<'_>, report: &mut Findings) {
    for entry in of(model, List::Derivatives) {
        let variable = &model.variables[entry.1];
        let found = if !variable.typed.has_attribute("derivative") {
            "no attribute `derivative`"
        } else if !variable.is_float() || variable.variability.is_some_and(|it| it != Variability::Continuous)
        {
            "a variable that is not continuous"
        } else {
            continue;
        };
        let wanted = "a continuous floating-point variable with the attribute `derivative`";
        misplaced(
            model,
            report,
            entry,
            "is listed as the derivative of a state but is not one",
            found,
            wanted,
        );
    }
}

/// `Ok` with the reason if the variable must be an initial unknown; else `Err`, true if it may be one.
fn initial_unknown(
    model: &ModelDescription<'_>,
    index: usize,
    exchanged: &BTreeSet<usize>,
) -> Result<&'static str, bool> {
    let variable = &model.variables[index];
    let open = matches!(variable.initial, Some(Initial::Approx | Initial::Calculated));
    // Clocked variables and clocks are listed only if the FMU initialises them.
    let free = variable.is_clocked() || variable.kind == Some(VariableType::Clock);
    match variable.causality {
        Some(Causality::Output) if open && !free => Ok("an output without initial exact"),
        Some(Causality::CalculatedParameter) => Ok("a calculated parameter"),
        _ if exchanged.contains(&index) && open => Ok("a state or derivative without initial exact"),
        None => Err(true),
        _ => Err(free),
    }
}

/// States and derivatives listed in the model structure.
fn exchanged(model: &ModelDescription<'_>) -> BTreeSet<usize> {
    let mut all = model.states();
    all.extend(listed(model, List::Derivatives));
    all
}

pub(crate) fn initial_unknowns_missing(model: &ModelDescription<'_>, report: &mut Findings) {
    if child(model.root, "ModelStructure").is_none() {
        return;
    }
    let (there, exchanged) = (listed(model, List::InitialUnknowns), exchanged(model));
    for index in (0..model.variables.len()).filter(|index| !there.contains(index)) {
        if let Ok(because) = initial_unknown(model, index, &exchanged) {
            missing(model, report, index, List::InitialUnknowns, because);
        }
    }
}

pub(crate) fn initial_unknowns_extra(model: &ModelDescription<'_>, report: &mut Findings) {
    let exchanged = exchanged(model);
    for (unknown, index) in of(model, List::InitialUnknowns) {
        if initial_unknown(model, index, &exchanged) == Err(false) {
            let variable = &model.variables[index];
            let causality = variable.causality.map_or("", Causality::name);
            let initial =
                variable.initial.map_or(String::new(), |initial| format!(", initial {}", initial.name()));
            let (found, what) =
                (format!("causality {causality}{initial}"), "is listed as an initial unknown but is not one");
            let wanted =
                "an output, state or derivative with initial approx or calculated, or a calculated parameter";
            misplaced(model, report, (unknown, index), what, found, wanted);
        }
    }
}

/// FMI 2.0 requires the order of the variables.
pub(crate) fn initial_unknowns_order(model: &ModelDescription<'_>, report: &mut Findings) {
    let mut highest = 0;
    for (unknown, index) in of(model, List::InitialUnknowns) {
        if index < highest {
            let found = format!("index {} after {}", index + 1, highest + 1);
            let what = "is not in ascending order among the initial unknowns";
            misplaced(model, report, (unknown, index), what, found, "ascending indices");
        }
        highest = highest.max(index);
    }
}

pub(crate) fn dependencies(model: &ModelDescription<'_>, report: &mut Findings) {
    let states = model.states();
    for unknown in &model.unknowns {
        let Some(list) = &unknown.dependencies else { continue };
        for number in list {
            let found = match model.find(*number) {
                None => format!("{} {number}, which does not exist", model.number_name()),
                Some(known) => match wrong_known(model, unknown.list, known, &states) {
                    Some(why) => format!("`{}`, which is {why}", model.variables[known].name),
                    None => continue,
                },
            };
            let name = unknown.variable.map_or("an entry", |index| model.variables[index].name);
            let wanted = if unknown.list == List::InitialUnknowns {
                "inputs, variables with initial exact, and the independent variable"
            } else {
                "inputs, states, parameters and the independent variable"
            };
            let message = format!("`{name}` has a dependency that is not a known");
            report.find(model.source.attribute(unknown.node, "dependencies"), message, found, wanted);
        }
    }
}

/// Why a variable cannot be a known; `None` if it can.
fn wrong_known(
    model: &ModelDescription<'_>,
    list: List,
    known: usize,
    states: &BTreeSet<usize>,
) -> Option<&'static str> {
    let variable = &model.variables[known];
    let causality = variable.causality?;
    if matches!(causality, Causality::Input | Causality::Independent) {
        return None;
    }
    if list == List::InitialUnknowns {
        // A missing `initial` is reported by another rule.
        return variable.initial.filter(|initial| *initial != Initial::Exact).map(|_| "not initial exact");
    }
    match causality {
        Causality::Parameter => None,
        Causality::CalculatedParameter => Some("a calculated parameter"),
        Causality::StructuralParameter => Some("a structural parameter"),
        _ if variable.variability == Some(Variability::Constant) => Some("constant"),
        // Discrete states cannot be identified in the description.
        _ if variable.variability != Some(Variability::Continuous) => None,
        _ => (!states.contains(&known)).then_some("not a state"),
    }
}

/// FMI 2.0 requires ascending order.
pub(crate) fn dependencies_order(model: &ModelDescription<'_>, report: &mut Findings) {
    for unknown in &model.unknowns {
        let list = unknown.dependencies.as_deref().unwrap_or_default();
        if let Some(pair) = list.windows(2).find(|pair| pair[0] >= pair[1]) {
            let name = unknown.variable.map_or("an entry", |index| model.variables[index].name);
            report.find(
                model.source.attribute(unknown.node, "dependencies"),
                format!("the dependencies of `{name}` are not in ascending order"),
                format!("{} before {}", pair[0], pair[1]),
                "indices in ascending order, each once",
            );
        }
    }
}

pub(crate) fn dependencies_kind(model: &ModelDescription<'_>, report: &mut Findings) {
    for unknown in &model.unknowns {
        let Some(kinds) = &unknown.kinds else { continue };
        let name = unknown.variable.map_or("an entry", |index| model.variables[index].name);
        let special = kinds.iter().copied().find(|kind| *kind != "dependent");
        let float = unknown.variable.is_none_or(|index| model.variables[index].is_float());
        let (found, wanted) = match (unknown.node.has_attribute("dependencies"), &unknown.dependencies) {
            (false, _) => {
                ("`dependenciesKind` without `dependencies`".to_owned(), "both attributes".to_owned())
            }
            (true, Some(list)) if list.len() != kinds.len() => (
                format!("{} kinds for {} dependencies", kinds.len(), list.len()),
                "one kind per dependency".into(),
            ),
            _ => match special {
                Some(kind) if !float => {
                    (format!("{kind} for a variable that is not floating-point"), "dependent".into())
                }
                Some(kind) if unknown.list == List::InitialUnknowns && kind != "constant" => {
                    (format!("{kind} for an initial unknown"), "dependent or constant".into())
                }
                _ => continue,
            },
        };
        let message = format!("dependenciesKind of `{name}` is invalid");
        report.find(model.source.attribute(unknown.node, "dependenciesKind"), message, found, wanted);
    }
}

pub(crate) fn event_indicators(model: &ModelDescription<'_>, report: &mut Findings) {
    for entry in of(model, List::EventIndicators) {
        let variable = &model.variables[entry.1];
        if !variable.is_float() || variable.variability != Some(Variability::Continuous) {
            let kind = variable.kind.map_or("no type", VariableType::name);
            let found = format!("{kind}, variability {}", variable.variability.map_or("", Variability::name));
            let wanted = "a continuous variable of type Float32 or Float64";
            misplaced(model, report, entry, "cannot be an event indicator", found, wanted);
        }
    }
}

pub(crate) fn clocked_states(model: &ModelDescription<'_>, report: &mut Findings) {
    let there = listed(model, List::ClockedStates);
    for entry in of(model, List::ClockedStates) {
        if !model.variables[entry.1].node.has_attribute("previous") {
            let (what, found) = ("is listed as a clocked state but is not one", "no attribute `previous`");
            let wanted = "a clocked variable with the attribute `previous`";
            misplaced(model, report, entry, what, found, wanted);
        }
    }
    for (index, variable) in model.variables.iter().enumerate() {
        if variable.node.has_attribute("previous") && variable.is_clocked() && !there.contains(&index) {
            missing(model, report, index, List::ClockedStates, "a clocked state");
        }
    }
}
