//! The model description as the rules read it: unchecked, with missing and wrong values kept as such, and with the
//! defaults of the standard.

use std::collections::{BTreeMap, BTreeSet};

use cosimo_fmi::description::{
    CAUSALITIES, Causality, Fmi, INITIALS, Initial, KINDS, VARIABILITIES, Variability, VariableType, typed,
};
use cosimo_pack::xml::{child, children_of};
use roxmltree::Node;

use crate::package::Package;
use crate::report::XmlSource;
use crate::schema;
use crate::structure::{Defect, defects};

#[derive(Debug)]
pub(crate) struct ModelDescription<'a> {
    pub(crate) fmi: Fmi,
    pub(crate) package: &'a Package,
    pub(crate) source: &'a XmlSource<'a>,
    pub(crate) root: Node<'a, 'a>,
    pub(crate) terminals: Option<(&'a XmlSource<'a>, Node<'a, 'a>)>,
    pub(crate) build: Option<(&'a XmlSource<'a>, Node<'a, 'a>)>,
    /// `<ModelExchange>`, `<CoSimulation>`, `<ScheduledExecution>`; in FMI 1.0 the root, which has one.
    pub(crate) kinds: Vec<Node<'a, 'a>>,
    pub(crate) variables: Vec<VariableNode<'a>>,
    pub(crate) types: BTreeMap<&'a str, Node<'a, 'a>>,
    pub(crate) unknowns: Vec<Unknown<'a>>,
    pub(crate) defects: Vec<Defect>,
    /// By value reference; the first of each.
    references: BTreeMap<u32, usize>,
}

#[derive(Debug)]
pub(crate) struct VariableNode<'a> {
    pub(crate) node: Node<'a, 'a>,
    /// The element with start, unit and the like: a child in FMI 2.0, `node` itself in FMI 3.0.
    pub(crate) typed: Node<'a, 'a>,
    pub(crate) name: &'a str,
    pub(crate) reference: Option<u32>,
    pub(crate) kind: Option<VariableType>,
    /// `None` if the value is invalid, which another rule reports.
    pub(crate) causality: Option<Causality>,
    pub(crate) variability: Option<Variability>,
    /// As written.
    pub(crate) given_initial: Option<Initial>,
    /// With the default of the standard applied; `None` if there is none.
    pub(crate) initial: Option<Initial>,
    /// Values as written; `None` without start.
    pub(crate) start: Option<Vec<&'a str>>,
}

/// The lists of `<ModelStructure>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum List {
    Outputs,
    Derivatives,
    ClockedStates,
    InitialUnknowns,
    EventIndicators,
}

impl List {
    /// The element name of an entry (FMI 3.0) or of its list (FMI 2.0).
    pub(crate) fn name(self, fmi: Fmi) -> &'static str {
        match (self, fmi) {
            // FMI 1.0 has no model structure.
            (_, Fmi::One) => "",
            (List::Outputs, Fmi::Two) => "Outputs",
            (List::Outputs, Fmi::Three) => "Output",
            (List::Derivatives, Fmi::Two) => "Derivatives",
            (List::Derivatives, Fmi::Three) => "ContinuousStateDerivative",
            (List::InitialUnknowns, Fmi::Two) => "InitialUnknowns",
            (List::InitialUnknowns, Fmi::Three) => "InitialUnknown",
            (List::ClockedStates, _) => "ClockedState",
            (List::EventIndicators, _) => "EventIndicator",
        }
    }
}

#[derive(Debug)]
pub(crate) struct Unknown<'a> {
    pub(crate) node: Node<'a, 'a>,
    pub(crate) list: List,
    /// Index or value reference as written.
    pub(crate) written: Option<u32>,
    /// The variable, if it exists.
    pub(crate) variable: Option<usize>,
    /// As written; `None` if absent or not readable.
    pub(crate) dependencies: Option<Vec<u32>>,
    pub(crate) kinds: Option<Vec<&'a str>>,
}

/// The version, if it is supported.
pub(crate) fn version(root: Node<'_, '_>) -> Option<Fmi> {
    match root.attribute("fmiVersion")?.trim().split('.').next() {
        Some("1") => Some(Fmi::One),
        Some("2") => Some(Fmi::Two),
        Some("3") => Some(Fmi::Three),
        _ => None,
    }
}

impl<'a> ModelDescription<'a> {
    pub(crate) fn new(
        package: &'a Package,
        source: &'a XmlSource<'a>,
        root: Node<'a, 'a>,
        terminals: Option<(&'a XmlSource<'a>, Node<'a, 'a>)>,
        build: Option<(&'a XmlSource<'a>, Node<'a, 'a>)>,
    ) -> Option<ModelDescription<'a>> {
        let fmi = version(root).filter(|_| root.tag_name().name() == schema::DESCRIPTION)?;
        // Older versions have neither of these files.
        let (terminals, build) = if fmi == Fmi::Three { (terminals, build) } else { (None, None) };
        let mut found = Vec::new();
        let schema = match fmi {
            Fmi::One => &schema::FMI1,
            Fmi::Two => &schema::FMI2,
            Fmi::Three => &schema::FMI3,
        };
        defects(source, root, (schema, schema::DESCRIPTION), &mut found);
        for (file, name) in [(terminals, schema::TERMINALS_AND_ICONS), (build, schema::BUILD)] {
            if let Some((source, root)) = file {
                defects(source, root, (schema, name), &mut found);
            }
        }
        let variables: Vec<VariableNode<'_>> = children_of(root, "ModelVariables")
            .map(|node| match fmi {
                Fmi::One => VariableNode::one(node),
                Fmi::Two => VariableNode::two(node),
                Fmi::Three => VariableNode::three(node),
            })
            .collect();
        let mut references = BTreeMap::new();
        for (index, variable) in variables.iter().enumerate() {
            if let Some(reference) = variable.reference {
                references.entry(reference).or_insert(index);
            }
        }
        let types =
            children_of(root, "TypeDefinitions").filter_map(|node| Some((node.attribute("name")?, node)));
        let mut model = ModelDescription {
            fmi,
            package,
            source,
            root,
            terminals,
            build,
            kinds: match fmi {
                Fmi::One => vec![root],
                _ => ["ModelExchange", "CoSimulation", "ScheduledExecution"]
                    .into_iter()
                    .filter_map(|name| child(root, name))
                    .collect(),
            },
            variables,
            types: types.collect(),
            unknowns: Vec::new(),
            defects: found,
            references,
        };
        model.unknowns = model.read_unknowns();
        Some(model)
    }

    fn read_unknowns(&self) -> Vec<Unknown<'a>> {
        const LISTS: [List; 5] = [
            List::Outputs,
            List::Derivatives,
            List::ClockedStates,
            List::InitialUnknowns,
            List::EventIndicators,
        ];
        let mut found = Vec::new();
        let list_of =
            |node: Node<'_, '_>| LISTS.into_iter().find(|list| list.name(self.fmi) == node.tag_name().name());
        let key = if self.fmi == Fmi::Two { "index" } else { "valueReference" };
        let mut add = |node: Node<'a, 'a>, list: List| {
            let written = node.attribute(key).and_then(|text| text.trim().parse().ok());
            let dependencies = node
                .attribute("dependencies")
                .and_then(|text| text.split_ascii_whitespace().map(|part| part.parse().ok()).collect());
            found.push(Unknown {
                node,
                list,
                written,
                variable: written.and_then(|number| self.find(number)),
                dependencies,
                kinds: node.attribute("dependenciesKind").map(|text| text.split_ascii_whitespace().collect()),
            });
        };
        for node in children_of(self.root, "ModelStructure") {
            let Some(list) = list_of(node) else { continue };
            if self.fmi == Fmi::Three {
                add(node, list);
            } else {
                node.children().filter(Node::is_element).for_each(|unknown| add(unknown, list));
            }
        }
        found
    }

    /// A variable by 1-based index (FMI 1.0, 2.0) or by value reference (FMI 3.0).
    pub(crate) fn find(&self, number: u32) -> Option<usize> {
        match self.fmi {
            Fmi::One | Fmi::Two => {
                (number as usize).checked_sub(1).filter(|index| *index < self.variables.len())
            }
            Fmi::Three => self.references.get(&number).copied(),
        }
    }

    /// The term for that number in messages.
    pub(crate) fn number_name(&self) -> &'static str {
        if self.fmi == Fmi::Two { "index" } else { "value reference" }
    }

    pub(crate) fn kind(&self, name: &str) -> Option<Node<'a, 'a>> {
        self.kinds.iter().copied().find(|kind| kind.tag_name().name() == name)
    }

    /// The element with the attributes of the declared type.
    pub(crate) fn declared(&self, variable: &VariableNode<'a>) -> Option<Node<'a, 'a>> {
        let declared = *self.types.get(variable.typed.attribute("declaredType")?)?;
        match self.fmi {
            Fmi::One | Fmi::Two => declared.children().find(Node::is_element),
            Fmi::Three => Some(declared),
        }
    }

    /// An attribute of the variable, or else of its declared type.
    pub(crate) fn inherited(&self, variable: &VariableNode<'a>, name: &str) -> Option<&'a str> {
        variable.typed.attribute(name).or_else(|| self.declared(variable)?.attribute(name))
    }

    /// Continuous states: variables of which a derivative is listed.
    pub(crate) fn states(&self) -> BTreeSet<usize> {
        let listed = self.unknowns.iter().filter(|unknown| unknown.list == List::Derivatives);
        listed.filter_map(|unknown| self.derivative_of(unknown.variable?)).collect()
    }

    /// The variable to which the attribute `derivative` refers.
    pub(crate) fn derivative_of(&self, variable: usize) -> Option<usize> {
        self.find(self.variables[variable].typed.attribute("derivative")?.trim().parse().ok()?)
    }

    /// Dimensions of an array; `None` where the number cannot be determined.
    pub(crate) fn dimensions(&self, variable: &VariableNode<'a>) -> Vec<Option<u64>> {
        variable
            .node
            .children()
            .filter(|node| node.tag_name().name() == "Dimension")
            .map(|node| self.size(node))
            .collect()
    }

    fn size(&self, dimension: Node<'a, 'a>) -> Option<u64> {
        if let Some(fixed) = dimension.attribute("start") {
            return fixed.trim().parse().ok();
        }
        let by = self.find(dimension.attribute("valueReference")?.trim().parse().ok()?)?;
        self.variables[by].start.as_ref()?.first()?.trim().parse().ok()
    }
}

impl<'a> VariableNode<'a> {
    /// Causality and variability have another meaning in FMI 1.0; the rules in `fmi1` read them.
    fn one(node: Node<'a, 'a>) -> VariableNode<'a> {
        VariableNode { causality: None, variability: None, initial: None, ..VariableNode::two(node) }
    }

    fn two(node: Node<'a, 'a>) -> VariableNode<'a> {
        let (typed, kind) = typed(node).map_or((node, None), |(typed, kind)| (typed, Some(kind)));
        let start = typed.attribute("start").filter(|_| kind.is_some()).map(|start| vec![start]);
        // Not by type: the schema has one default for all.
        VariableNode::read(Fmi::Two, node, typed, kind, start, Variability::Continuous)
    }

    fn three(node: Node<'a, 'a>) -> VariableNode<'a> {
        let tag = node.tag_name().name();
        let kind = KINDS.iter().find(|(name, _)| *name == tag).map(|(_, kind)| *kind);
        let start = if matches!(kind, Some(VariableType::String | VariableType::Binary)) {
            let starts = node.children().filter(|child| child.tag_name().name() == "Start");
            let values: Vec<&str> = starts.filter_map(|start| start.attribute("value")).collect();
            (!values.is_empty()).then_some(values)
        } else {
            node.attribute("start").map(|text| text.split_ascii_whitespace().collect())
        };
        let float = kind.is_some_and(VariableType::is_float);
        let usual = if float { Variability::Continuous } else { Variability::Discrete };
        VariableNode::read(Fmi::Three, node, node, kind, start, usual)
    }

    fn read(
        fmi: Fmi,
        node: Node<'a, 'a>,
        typed: Node<'a, 'a>,
        kind: Option<VariableType>,
        start: Option<Vec<&'a str>>,
        usual: Variability,
    ) -> VariableNode<'a> {
        fn word<T: Copy>(node: Node<'_, '_>, name: &str, words: &[(&str, T)], otherwise: T) -> Option<T> {
            let Some(text) = node.attribute(name) else { return Some(otherwise) };
            words.iter().find(|(word, _)| *word == text.trim()).map(|(_, value)| *value)
        }
        let causality = word(node, "causality", CAUSALITIES, Causality::Local);
        let variability = word(node, "variability", VARIABILITIES, usual);
        let given = node.attribute("initial").and_then(|text| {
            INITIALS.iter().find(|(word, _)| *word == text.trim()).map(|(_, initial)| *initial)
        });
        let usual = causality.zip(variability).and_then(|(causality, variability)| {
            initials(fmi, causality, variability).and_then(|allowed| allowed.first().copied())
        });
        VariableNode {
            node,
            typed,
            name: node.attribute("name").unwrap_or_default(),
            reference: node.attribute("valueReference").and_then(|text| text.trim().parse().ok()),
            kind,
            causality,
            variability,
            given_initial: given,
            // Clocks have none.
            initial: given.or(usual).filter(|_| kind != Some(VariableType::Clock)),
            start,
        }
    }

    pub(crate) fn is_float(&self) -> bool {
        self.kind.is_some_and(VariableType::is_float)
    }

    pub(crate) fn is_clocked(&self) -> bool {
        self.node.has_attribute("clocks")
    }
}

/// The values of `initial` allowed for a causality and a variability, the default first; empty if it must not be given,
/// `None` if the combination is not allowed. Tables "Definition of initial" of both versions.
pub(crate) fn initials(
    fmi: Fmi,
    causality: Causality,
    variability: Variability,
) -> Option<&'static [Initial]> {
    use Causality as C;
    use Initial::{Approx, Calculated, Exact};
    use Variability as V;
    match (causality, variability) {
        (C::StructuralParameter, _) if fmi == Fmi::Two => None,
        (C::StructuralParameter | C::Parameter, V::Fixed | V::Tunable) => Some(&[Exact]),
        (C::CalculatedParameter | C::Local, V::Fixed | V::Tunable) => Some(&[Calculated, Approx]),
        (C::Input, V::Discrete | V::Continuous) => Some(if fmi == Fmi::Two { &[] } else { &[Exact] }),
        (C::Output | C::Local, V::Constant) => Some(&[Exact]),
        (C::Output | C::Local, V::Discrete | V::Continuous) => Some(&[Calculated, Exact, Approx]),
        (C::Independent, V::Continuous) => Some(&[]),
        _ => None,
    }
}
