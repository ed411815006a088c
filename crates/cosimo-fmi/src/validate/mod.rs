//! A unit against the standard, clause by clause: all that is wrong with it, not only what keeps it from running.
//!
//! `package` reads the archive, `model` the description as it is written, `schema` holds the schemas as tables; the other
//! files are rules, one function each. A new rule is a function and a line in `RULES`. Nothing here runs code of the unit
//! or writes to disk.

mod archive;
mod binaries;
mod definitions;
mod kinds;
mod model;
mod model_structure;
mod package;
mod report;
mod schema;
mod structure;
mod terminals;
mod variables;

use std::fmt;
use std::io;
use std::path::Path;

use self::Check::{Model, Package};
use self::Severity::{Error, Warning};
pub use self::report::{Finding, Profile, Severity, Spot};
use self::report::{Report, Source};
use crate::archive::Limits;
use crate::description::Fmi;
use crate::xml;

pub struct Rule {
    /// Never changes, so that others can refer to it.
    pub id: &'static str,
    /// Where FMI 2.0.5 says so; empty where it does not.
    pub fmi2: &'static str,
    /// Where FMI 3.0.2 says so; empty where it does not.
    pub fmi3: &'static str,
    /// What the lenient profile makes of a violation.
    pub lenient: Severity,
    /// What the rule wants.
    pub summary: &'static str,
    /// What to do where it is violated.
    pub remedy: &'static str,
    check: Check,
}

#[derive(Clone, Copy)]
enum Check {
    /// Needs no more than a file.
    Package(fn(&package::Package, &mut Report)),
    /// Needs a description of a known version.
    Model(fn(&model::Model<'_>, &mut Report)),
}

/// All rules, in the order in which they speak.
pub const RULES: &[Rule] = &[
    Rule {
        id: "archive/zip",
        fmi2: "2.3",
        fmi3: "2.5",
        lenient: Error,
        summary: "a unit is a complete zip archive",
        remedy: "fetch or export the unit again",
        check: Package(archive::zip),
    },
    Rule {
        id: "archive/size",
        fmi2: "",
        fmi3: "",
        lenient: Error,
        summary: "an archive stays within the limits of Cosimo; the standard has none",
        remedy: "no unit needs that; do not trust this file",
        check: Package(archive::size),
    },
    Rule {
        id: "archive/ending",
        fmi2: "2.3",
        fmi3: "2.5",
        lenient: Warning,
        summary: "the file of a unit ends in .fmu",
        remedy: "rename the file",
        check: Package(archive::ending),
    },
    Rule {
        id: "archive/path",
        fmi2: "2.3",
        fmi3: "2.5",
        lenient: Error,
        summary: "entries stay inside the unit",
        remedy: "zip the unit again, with relative paths; do not trust this file",
        check: Package(archive::path),
    },
    Rule {
        id: "archive/backslash",
        fmi2: "2.3",
        fmi3: "2.5",
        lenient: Warning,
        summary: "paths in the archive have forward slashes",
        remedy: "zip the unit again with a tool that writes forward slashes",
        check: Package(archive::backslash),
    },
    Rule {
        id: "archive/link",
        fmi2: "2.3",
        fmi3: "2.5",
        lenient: Error,
        summary: "entries are files and folders",
        remedy: "zip the files themselves instead of links",
        check: Package(archive::link),
    },
    Rule {
        id: "archive/method",
        fmi2: "2.3",
        fmi3: "2.5",
        lenient: Error,
        summary: "entries are deflated or stored",
        remedy: "zip the unit again by the usual method, which is called deflate",
        check: Package(archive::method),
    },
    Rule {
        id: "archive/encryption",
        fmi2: "2.3",
        fmi3: "2.5",
        lenient: Error,
        summary: "entries are not encrypted",
        remedy: "zip the unit again without a password",
        check: Package(archive::encryption),
    },
    Rule {
        id: "archive/damage",
        fmi2: "2.3",
        fmi3: "2.5",
        lenient: Error,
        summary: "entries can be unpacked",
        remedy: "fetch or export the unit again",
        check: Package(archive::damage),
    },
    Rule {
        id: "archive/duplicate",
        fmi2: "2.3",
        fmi3: "2.5",
        lenient: Error,
        summary: "each name is in the archive once",
        remedy: "nobody can tell which of them is meant; zip the unit again",
        check: Package(archive::duplicate),
    },
    Rule {
        id: "archive/description",
        fmi2: "2.3",
        fmi3: "2.5.1",
        lenient: Error,
        summary: "modelDescription.xml is at the top of the archive",
        remedy: "zip the contents of the folder, not the folder itself",
        check: Package(archive::description),
    },
    Rule {
        id: "archive/implementation",
        fmi2: "2.3",
        fmi3: "2.5",
        lenient: Error,
        summary: "a unit has binaries or sources",
        remedy: "export the unit again with binaries",
        check: Model(archive::implementation),
    },
    Rule {
        id: "archive/companion",
        fmi2: "",
        fmi3: "2.5.1",
        lenient: Warning,
        summary: "a picture as SVG has one as PNG beside it, and licences have an entry point",
        remedy: "add the file",
        check: Model(archive::companions),
    },
    Rule {
        id: "archive/documentation",
        fmi2: "2.3",
        fmi3: "2.5.1.1",
        lenient: Warning,
        summary: "documentation has index.html as its entry point",
        remedy: "add documentation/index.html",
        check: Model(archive::documentation),
    },
    Rule {
        id: "xml/well-formed",
        fmi2: "2.2",
        fmi3: "2.4",
        lenient: Error,
        summary: "descriptions are well-formed XML",
        remedy: "correct the file, or export the unit again",
        check: Package(structure::well_formed),
    },
    Rule {
        id: "xml/encoding",
        fmi2: "2.2",
        fmi3: "2.4",
        lenient: Warning,
        summary: "descriptions are in UTF-8 and say so in their first line",
        remedy: "write <?xml version=\"1.0\" encoding=\"UTF-8\"?> and save as UTF-8",
        check: Package(structure::encoding),
    },
    Rule {
        id: "xml/root",
        fmi2: "2.2.1",
        fmi3: "2.4.1",
        lenient: Error,
        summary: "the root is <fmiModelDescription> of a known version",
        remedy: "check FMI 2.0 and 3.0 units; other versions have other rules",
        check: Package(structure::root),
    },
    Rule {
        id: "xml/unknown-element",
        fmi2: "2.2, schema",
        fmi3: "2.4, schema",
        lenient: Warning,
        summary: "elements are those of the schema",
        remedy: "remove the element, or put what is your own into annotations",
        check: Model(structure::unknown_element),
    },
    Rule {
        id: "xml/missing-element",
        fmi2: "2.2, schema",
        fmi3: "2.4, schema",
        lenient: Error,
        summary: "elements that the schema requires are there",
        remedy: "add the element",
        check: Model(structure::missing_element),
    },
    Rule {
        id: "xml/misplaced-element",
        fmi2: "2.2, schema",
        fmi3: "2.4, schema",
        lenient: Warning,
        summary: "elements come in the order of the schema",
        remedy: "move the element",
        check: Model(structure::misplaced_element),
    },
    Rule {
        id: "xml/repeated-element",
        fmi2: "2.2, schema",
        fmi3: "2.4, schema",
        lenient: Error,
        summary: "elements come as often as the schema allows",
        remedy: "remove all but one",
        check: Model(structure::repeated_element),
    },
    Rule {
        id: "xml/unknown-attribute",
        fmi2: "2.2, schema",
        fmi3: "2.4, schema",
        lenient: Warning,
        summary: "attributes are those of the schema",
        remedy: "remove the attribute, or correct its name",
        check: Model(structure::unknown_attribute),
    },
    Rule {
        id: "xml/missing-attribute",
        fmi2: "2.2, schema",
        fmi3: "2.4, schema",
        lenient: Error,
        summary: "attributes that the schema requires are there",
        remedy: "add the attribute",
        check: Model(structure::missing_attribute),
    },
    Rule {
        id: "xml/attribute-value",
        fmi2: "2.2, schema",
        fmi3: "2.4, schema",
        lenient: Error,
        summary: "values of attributes are of the type of the schema",
        remedy: "correct the value",
        check: Model(structure::attribute_value),
    },
    Rule {
        id: "xml/stray-text",
        fmi2: "2.2, schema",
        fmi3: "2.4, schema",
        lenient: Warning,
        summary: "elements hold no text",
        remedy: "remove the text",
        check: Model(structure::stray_text),
    },
    Rule {
        id: "kind/none",
        fmi2: "2.2.1",
        fmi3: "2.4.1",
        lenient: Error,
        summary: "a unit offers at least one kind of interface",
        remedy: "add the element of the kind that the unit implements",
        check: Model(kinds::none),
    },
    Rule {
        id: "kind/identifier",
        fmi2: "3.3.1, 4.3.1",
        fmi3: "2.4.2",
        lenient: Error,
        summary: "a model identifier is a name in C",
        remedy: "use letters, digits and underscores only, and rename the library alike",
        check: Model(kinds::identifier),
    },
    Rule {
        id: "kind/serialize",
        fmi2: "3.3.1, 4.3.1",
        fmi3: "2.4.2",
        lenient: Warning,
        summary: "a state that can be serialized can be got and set",
        remedy: "set both flags, or none",
        check: Model(kinds::serialize),
    },
    Rule {
        id: "kind/early-return",
        fmi2: "",
        fmi3: "4.4",
        lenient: Warning,
        summary: "early return after intermediate update needs intermediate update",
        remedy: "set both flags, or none",
        check: Model(kinds::early_return),
    },
    Rule {
        id: "kind/clocks",
        fmi2: "",
        fmi3: "4.4",
        lenient: Warning,
        summary: "a unit with clocks has an event mode",
        remedy: "set hasEventMode, or leave the clocks out",
        check: Model(kinds::clocks_and_events),
    },
    Rule {
        id: "kind/fixed-step",
        fmi2: "",
        fmi3: "4.4",
        lenient: Warning,
        summary: "a fixed internal step size is above 0",
        remedy: "correct the number, or leave it out",
        check: Model(kinds::fixed_step),
    },
    Rule {
        id: "kind/priority",
        fmi2: "",
        fmi3: "2.4.4",
        lenient: Warning,
        summary: "clocks for scheduled execution have a priority",
        remedy: "add priority to the clock",
        check: Model(kinds::priority),
    },
    Rule {
        id: "kind/misspelt-flag",
        fmi2: "",
        fmi3: "2.4.2",
        lenient: Warning,
        summary: "flags are spelled as in FMI 3.0",
        remedy: "use the spelling of FMI 3.0",
        check: Model(kinds::misspelt_flag),
    },
    Rule {
        id: "unit/duplicate",
        fmi2: "2.2.2",
        fmi3: "2.4.3",
        lenient: Warning,
        summary: "names of units are unique",
        remedy: "rename or remove one of them",
        check: Model(definitions::duplicate_unit),
    },
    Rule {
        id: "unit/conversion",
        fmi2: "2.2.2",
        fmi3: "2.4.3",
        lenient: Warning,
        summary: "units can be converted",
        remedy: "correct factor, offset or inverse",
        check: Model(definitions::unit_conversion),
    },
    Rule {
        id: "type/duplicate",
        fmi2: "2.2.3",
        fmi3: "2.4.4",
        lenient: Warning,
        summary: "names of types are unique",
        remedy: "rename or remove one of them",
        check: Model(definitions::duplicate_type),
    },
    Rule {
        id: "type/variable-name",
        fmi2: "2.2.3",
        fmi3: "2.4.4",
        lenient: Warning,
        summary: "no variable has the name of a type",
        remedy: "rename the type",
        check: Model(definitions::type_and_variable),
    },
    Rule {
        id: "type/enumeration",
        fmi2: "2.2.3",
        fmi3: "2.4.4",
        lenient: Warning,
        summary: "names and values of an enumeration are unique",
        remedy: "rename or renumber one of the items",
        check: Model(definitions::enumeration_items),
    },
    Rule {
        id: "log/duplicate",
        fmi2: "2.2.4",
        fmi3: "2.4.5",
        lenient: Warning,
        summary: "names of log categories are unique",
        remedy: "remove one of them",
        check: Model(definitions::duplicate_category),
    },
    Rule {
        id: "experiment/values",
        fmi2: "2.2.5",
        fmi3: "2.4.6",
        lenient: Warning,
        summary: "the default experiment can be run",
        remedy: "correct the number",
        check: Model(definitions::experiment),
    },
    Rule {
        id: "annotation/duplicate-tool",
        fmi2: "2.2.6",
        fmi3: "",
        lenient: Warning,
        summary: "each tool has one annotation in a list",
        remedy: "put both into one",
        check: Model(definitions::duplicate_tool),
    },
    Rule {
        id: "annotation/type",
        fmi2: "",
        fmi3: "2.4",
        lenient: Warning,
        summary: "types of annotations are in reverse domain notation",
        remedy: "begin the type with a domain of your own",
        check: Model(definitions::annotation_type),
    },
    Rule {
        id: "variable/duplicate-name",
        fmi2: "2.2.7",
        fmi3: "2.4.7.4",
        lenient: Error,
        summary: "names of variables and aliases are unique",
        remedy: "rename one of them",
        check: Model(variables::duplicate_name),
    },
    Rule {
        id: "variable/name",
        fmi2: "2.2.9",
        fmi3: "2.4.7.5.1",
        lenient: Warning,
        summary: "names of variables are not empty and have no line ends or tabs",
        remedy: "rename the variable",
        check: Model(variables::name),
    },
    Rule {
        id: "variable/structured-name",
        fmi2: "2.2.9",
        fmi3: "2.4.7.5.1",
        lenient: Warning,
        summary: "names follow the convention that is declared",
        remedy: "rename the variable, or declare variableNamingConvention=\"flat\"",
        check: Model(variables::structured_name),
    },
    Rule {
        id: "variable/duplicate-reference",
        fmi2: "",
        fmi3: "2.4.7.4",
        lenient: Error,
        summary: "value references are unique",
        remedy: "renumber one of them, in the code as well",
        check: Model(variables::duplicate_reference),
    },
    Rule {
        id: "variable/alias",
        fmi2: "2.2.7",
        fmi3: "",
        lenient: Warning,
        summary: "aliases agree with each other, and one of them at most can be set",
        remedy: "give one of them a value reference of its own, in the code as well",
        check: Model(variables::alias),
    },
    Rule {
        id: "variable/causality-variability",
        fmi2: "2.2.7, table of causality and variability",
        fmi3: "2.4.7.4, table of variability and causality",
        lenient: Warning,
        summary: "causality and variability go together",
        remedy: "correct one of the two attributes",
        check: Model(variables::causality_variability),
    },
    Rule {
        id: "variable/initial",
        fmi2: "2.2.7, table of initial",
        fmi3: "2.4.7.5, table \"Definition of initial\"",
        lenient: Warning,
        summary: "initial goes with causality and variability",
        remedy: "correct initial, or leave it out",
        check: Model(variables::initial),
    },
    Rule {
        id: "variable/start-missing",
        fmi2: "2.2.7",
        fmi3: "2.4.7.5",
        lenient: Warning,
        summary: "inputs and what is exact or approximate have start values",
        remedy: "add the start value that the code has",
        check: Model(variables::start_missing),
    },
    Rule {
        id: "variable/start-forbidden",
        fmi2: "2.2.7",
        fmi3: "2.4.7.5",
        lenient: Warning,
        summary: "what is calculated and the independent variable have no start values",
        remedy: "remove start, or declare initial=\"approx\" or \"exact\" if it counts",
        check: Model(variables::start_forbidden),
    },
    Rule {
        id: "variable/continuous-type",
        fmi2: "2.2.7",
        fmi3: "2.4.7.4",
        lenient: Warning,
        summary: "only real variables are continuous",
        remedy: "declare variability=\"discrete\"",
        check: Model(variables::continuous_type),
    },
    Rule {
        id: "variable/min-max",
        fmi2: "2.2.3",
        fmi3: "2.4.4",
        lenient: Warning,
        summary: "min is not above max",
        remedy: "exchange or correct the two",
        check: Model(variables::min_max),
    },
    Rule {
        id: "variable/start-range",
        fmi2: "2.2.7",
        fmi3: "2.4.4",
        lenient: Warning,
        summary: "start values are between min and max",
        remedy: "correct start or the range",
        check: Model(variables::start_range),
    },
    Rule {
        id: "variable/enumeration-start",
        fmi2: "2.2.3",
        fmi3: "2.4.4",
        lenient: Warning,
        summary: "start values of enumerations are among their items",
        remedy: "start with one of the items",
        check: Model(variables::enumeration_start),
    },
    Rule {
        id: "variable/start-size",
        fmi2: "",
        fmi3: "2.4.7.5",
        lenient: Error,
        summary: "an array has one start value, or one for each element",
        remedy: "give one value, or all of them",
        check: Model(variables::start_size),
    },
    Rule {
        id: "variable/declared-type",
        fmi2: "2.2.7",
        fmi3: "2.4.7.5",
        lenient: Warning,
        summary: "declared types exist and fit",
        remedy: "name a type that is defined and fits",
        check: Model(variables::declared_type),
    },
    Rule {
        id: "variable/unit",
        fmi2: "2.2.2",
        fmi3: "2.4.7.5",
        lenient: Warning,
        summary: "units are defined",
        remedy: "define the unit, or remove the attribute",
        check: Model(variables::unit),
    },
    Rule {
        id: "variable/display-unit",
        fmi2: "2.2.2",
        fmi3: "2.4.7.5",
        lenient: Warning,
        summary: "display units are defined for the unit",
        remedy: "define the display unit, or remove the attribute",
        check: Model(variables::display_unit),
    },
    Rule {
        id: "variable/derivative",
        fmi2: "2.2.7",
        fmi3: "2.4.7.5",
        lenient: Warning,
        summary: "derivatives are those of continuous real variables",
        remedy: "correct the number; FMI 2.0 counts variables from 1, FMI 3.0 uses value references",
        check: Model(variables::derivative),
    },
    Rule {
        id: "variable/reinit",
        fmi2: "2.2.7",
        fmi3: "2.4.7.5",
        lenient: Warning,
        summary: "only continuous states have reinit",
        remedy: "remove reinit",
        check: Model(variables::reinit),
    },
    Rule {
        id: "variable/multiple-set",
        fmi2: "2.2.7",
        fmi3: "2.4.7.4",
        lenient: Warning,
        summary: "only inputs have canHandleMultipleSetPerTimeInstant",
        remedy: "remove the attribute",
        check: Model(variables::multiple_set),
    },
    Rule {
        id: "variable/independent-count",
        fmi2: "2.2.7",
        fmi3: "2.4.7.4",
        lenient: Warning,
        summary: "one variable is the independent one; FMI 2.0 can do without",
        remedy: "declare one variable, usually time, with causality=\"independent\"",
        check: Model(variables::independent_count),
    },
    Rule {
        id: "variable/independent-type",
        fmi2: "2.2.7",
        fmi3: "2.4.7.4",
        lenient: Warning,
        summary: "the independent variable is real",
        remedy: "make it a floating point variable",
        check: Model(variables::independent_type),
    },
    Rule {
        id: "variable/dimension",
        fmi2: "",
        fmi3: "2.4.7.2",
        lenient: Error,
        summary: "sizes of arrays are numbers or structural parameters",
        remedy: "correct the <Dimension>",
        check: Model(variables::dimension),
    },
    Rule {
        id: "variable/structural-parameter",
        fmi2: "",
        fmi3: "2.4.7.4",
        lenient: Warning,
        summary: "structural parameters are scalars",
        remedy: "make a structural parameter for each element",
        check: Model(variables::structural_parameter),
    },
    Rule {
        id: "variable/intermediate-update",
        fmi2: "",
        fmi3: "2.4.7.4",
        lenient: Warning,
        summary: "parameters have no intermediateUpdate",
        remedy: "remove intermediateUpdate",
        check: Model(variables::intermediate_update),
    },
    Rule {
        id: "variable/previous",
        fmi2: "",
        fmi3: "2.4.7.4",
        lenient: Warning,
        summary: "previous values are discrete variables of the same type",
        remedy: "correct the value reference, or add clocks",
        check: Model(variables::previous),
    },
    Rule {
        id: "variable/clocks",
        fmi2: "",
        fmi3: "2.4.7.4",
        lenient: Warning,
        summary: "clocked variables name clocks and are discrete or tunable",
        remedy: "correct the value references",
        check: Model(variables::clocks),
    },
    Rule {
        id: "variable/clock",
        fmi2: "",
        fmi3: "2.4.4",
        lenient: Warning,
        summary: "clocks have attributes that fit each other",
        remedy: "correct the attribute",
        check: Model(variables::clock),
    },
    Rule {
        id: "structure/reference",
        fmi2: "2.2.8",
        fmi3: "2.4.8",
        lenient: Error,
        summary: "entries of the model structure are variables",
        remedy: "correct the number; FMI 2.0 counts variables from 1, FMI 3.0 uses value references",
        check: Model(model_structure::reference),
    },
    Rule {
        id: "structure/repeated",
        fmi2: "2.2.8",
        fmi3: "2.4.8",
        lenient: Warning,
        summary: "each variable is in a list once",
        remedy: "remove one of the entries",
        check: Model(model_structure::repeated),
    },
    Rule {
        id: "structure/outputs-missing",
        fmi2: "2.2.8",
        fmi3: "2.4.8",
        lenient: Warning,
        summary: "all outputs are listed",
        remedy: "add the entry, with its dependencies",
        check: Model(model_structure::outputs_missing),
    },
    Rule {
        id: "structure/outputs-extra",
        fmi2: "2.2.8",
        fmi3: "2.4.8",
        lenient: Warning,
        summary: "only outputs are listed as outputs",
        remedy: "remove the entry, or make the variable an output",
        check: Model(model_structure::outputs_extra),
    },
    Rule {
        id: "structure/derivatives-missing",
        fmi2: "2.2.8",
        fmi3: "2.4.8",
        lenient: Warning,
        summary: "model exchange lists the derivatives of all states",
        remedy: "add the entry",
        check: Model(model_structure::derivatives_missing),
    },
    Rule {
        id: "structure/derivatives-extra",
        fmi2: "2.2.8",
        fmi3: "2.4.8",
        lenient: Warning,
        summary: "only derivatives of states are listed as such",
        remedy: "add the attribute derivative to the variable, or remove the entry",
        check: Model(model_structure::derivatives_extra),
    },
    Rule {
        id: "structure/initial-unknowns-missing",
        fmi2: "2.2.8",
        fmi3: "2.4.8",
        lenient: Warning,
        summary: "all initial unknowns are listed",
        remedy: "add the entry, with its dependencies",
        check: Model(model_structure::initial_unknowns_missing),
    },
    Rule {
        id: "structure/initial-unknowns-extra",
        fmi2: "2.2.8",
        fmi3: "2.4.8",
        lenient: Warning,
        summary: "only initial unknowns are listed as such",
        remedy: "remove the entry",
        check: Model(model_structure::initial_unknowns_extra),
    },
    Rule {
        id: "structure/initial-unknowns-order",
        fmi2: "2.2.8",
        fmi3: "",
        lenient: Warning,
        summary: "initial unknowns come in the order of the variables",
        remedy: "sort the entries by index",
        check: Model(model_structure::initial_unknowns_order),
    },
    Rule {
        id: "structure/dependencies",
        fmi2: "2.2.8",
        fmi3: "2.4.8",
        lenient: Warning,
        summary: "dependencies are knowns",
        remedy: "remove it from the list",
        check: Model(model_structure::dependencies),
    },
    Rule {
        id: "structure/dependencies-order",
        fmi2: "2.2.8",
        fmi3: "",
        lenient: Warning,
        summary: "dependencies come in ascending order",
        remedy: "sort the list",
        check: Model(model_structure::dependencies_order),
    },
    Rule {
        id: "structure/dependencies-kind",
        fmi2: "2.2.8",
        fmi3: "2.4.8",
        lenient: Warning,
        summary: "kinds of dependency fit the dependencies",
        remedy: "correct dependenciesKind, or leave it out",
        check: Model(model_structure::dependencies_kind),
    },
    Rule {
        id: "structure/event-indicators",
        fmi2: "",
        fmi3: "2.4.8",
        lenient: Warning,
        summary: "event indicators are continuous",
        remedy: "remove the entry, or make the variable continuous",
        check: Model(model_structure::event_indicators),
    },
    Rule {
        id: "structure/clocked-states",
        fmi2: "",
        fmi3: "2.4.8",
        lenient: Warning,
        summary: "clocked states are listed, and only they",
        remedy: "add previous and clocks to the variable, or the entry",
        check: Model(model_structure::clocked_states),
    },
    Rule {
        id: "terminal/version",
        fmi2: "",
        fmi3: "2.4.9",
        lenient: Warning,
        summary: "terminals are of the version of the unit",
        remedy: "write the same fmiVersion into both files",
        check: Model(terminals::version),
    },
    Rule {
        id: "terminal/duplicate",
        fmi2: "",
        fmi3: "2.4.9.2",
        lenient: Warning,
        summary: "names of terminals are unique on each level",
        remedy: "rename one of them",
        check: Model(terminals::duplicate_name),
    },
    Rule {
        id: "terminal/variable",
        fmi2: "",
        fmi3: "2.4.9.2",
        lenient: Warning,
        summary: "members of terminals are variables that can be connected",
        remedy: "correct the name",
        check: Model(terminals::variable),
    },
    Rule {
        id: "terminal/member-name",
        fmi2: "",
        fmi3: "2.4.9.2",
        lenient: Warning,
        summary: "members of plugs and buses have names of their own",
        remedy: "add or change memberName",
        check: Model(terminals::member_name),
    },
    Rule {
        id: "terminal/word",
        fmi2: "",
        fmi3: "2.4.9.2",
        lenient: Warning,
        summary: "matching rules and kinds are those of the standard or in reverse domain notation",
        remedy: "use a word of the standard",
        check: Model(terminals::word),
    },
    Rule {
        id: "terminal/streams",
        fmi2: "",
        fmi3: "2.4.9.2",
        lenient: Warning,
        summary: "a terminal with a stream has one flow",
        remedy: "put the flows into terminals of their own",
        check: Model(terminals::streams),
    },
    Rule {
        id: "binary/platform",
        fmi2: "2.3",
        fmi3: "2.5.1.4",
        lenient: Warning,
        summary: "folders of binaries are called after platforms",
        remedy: "rename the folder",
        check: Model(binaries::platform_name),
    },
    Rule {
        id: "binary/missing",
        fmi2: "2.3",
        fmi3: "2.5.1.4",
        lenient: Error,
        summary: "each platform has a library with the name of the model identifier",
        remedy: "rename the library, or correct modelIdentifier",
        check: Model(binaries::library_missing),
    },
    Rule {
        id: "binary/format",
        fmi2: "2.3",
        fmi3: "2.5.1.4",
        lenient: Error,
        summary: "libraries are libraries of their platform",
        remedy: "export the unit again",
        check: Model(binaries::library_format),
    },
    Rule {
        id: "binary/machine",
        fmi2: "2.3",
        fmi3: "2.5.1.4",
        lenient: Error,
        summary: "libraries are made for the machine that their folder names",
        remedy: "move the library to the folder of its machine",
        check: Model(binaries::library_machine),
    },
    Rule {
        id: "binary/needed-function",
        fmi2: "2.3",
        fmi3: "2.5",
        lenient: Error,
        summary: "libraries have the functions that every importer calls",
        remedy: "export them from the library; names have no prefix in a shared library",
        check: Model(binaries::needed_function),
    },
    Rule {
        id: "binary/function",
        fmi2: "2.3",
        fmi3: "2.5",
        lenient: Warning,
        summary: "libraries have all functions of their interface",
        remedy: "export them, even if they only return an error",
        check: Model(binaries::other_function),
    },
    Rule {
        id: "source/missing",
        fmi2: "2.3",
        fmi3: "2.5.1.3",
        lenient: Error,
        summary: "source files that are to be compiled are there",
        remedy: "add the file, or remove it from the list",
        check: Model(binaries::source_missing),
    },
    Rule {
        id: "source/unlisted",
        fmi2: "2.3",
        fmi3: "2.5.1.3",
        lenient: Warning,
        summary: "it is said how to compile sources",
        remedy: "list the files to compile",
        check: Model(binaries::sources_listed),
    },
    Rule {
        id: "source/configuration",
        fmi2: "",
        fmi3: "2.5.1.3",
        lenient: Warning,
        summary: "build configurations are for the interfaces of the unit, one for each platform",
        remedy: "correct modelIdentifier or platform",
        check: Model(binaries::build_configuration),
    },
];

impl Rule {
    /// Where the standard says so; in both versions as long as none is known.
    pub(crate) fn clause(&self, fmi: Option<Fmi>) -> String {
        let two =
            (fmi != Some(Fmi::Three) && !self.fmi2.is_empty()).then(|| format!("FMI 2.0.5, {}", self.fmi2));
        let three =
            (fmi != Some(Fmi::Two) && !self.fmi3.is_empty()).then(|| format!("FMI 3.0.2, {}", self.fmi3));
        let clauses: Vec<String> = two.into_iter().chain(three).collect();
        if clauses.is_empty() { "a limit of Cosimo".into() } else { clauses.join("; ") }
    }

    /// A rule that is in neither version is one of Cosimo's, for both.
    fn holds_in(&self, fmi: Fmi) -> bool {
        let (own, other) = if fmi == Fmi::Two { (self.fmi2, self.fmi3) } else { (self.fmi3, self.fmi2) };
        !own.is_empty() || other.is_empty()
    }
}

impl PartialEq for Rule {
    fn eq(&self, other: &Rule) -> bool {
        self.id == other.id
    }
}

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id)
    }
}

/// All that was found in a unit.
#[derive(Debug, Clone, PartialEq)]
pub struct Validation {
    /// As the description spells it, where it could be read.
    pub fmi_version: Option<String>,
    /// Sorted by file and place.
    pub findings: Vec<Finding>,
    /// How many findings of a rule are left out after the first thousand.
    pub left_out: Vec<(&'static Rule, usize)>,
}

impl Validation {
    pub fn count(&self, severity: Severity) -> usize {
        let shown = self.findings.iter().filter(|finding| finding.severity == severity).count();
        let of =
            |rule: &Rule| self.findings.iter().find(|finding| finding.rule == rule).map(|it| it.severity);
        let hidden =
            self.left_out.iter().filter(|(rule, _)| of(rule) == Some(severity)).map(|(_, count)| count);
        shown + hidden.sum::<usize>()
    }
}

/// Checks an `.fmu` file, or a modelDescription.xml alone. `Err` where the file cannot be read at all.
pub fn validate(file: &Path, profile: Profile) -> io::Result<Validation> {
    Ok(examine(&package::Package::open(file, &Limits::default())?, profile))
}

/// Checks a description alone.
pub fn validate_description(text: &str, profile: Profile) -> Validation {
    examine(&package::Package::of_description(text), profile)
}

fn examine(package: &package::Package, profile: Profile) -> Validation {
    let parsed = [&package.description, &package.terminals, &package.build].map(|file| {
        let package::Text { entry, content: Ok(text), .. } = file.as_ref()? else { return None };
        Some((Source::new(entry, text), xml::parse(text, entry).ok()?))
    });
    let root =
        |index: usize| parsed[index].as_ref().map(|(source, document)| (source, document.root_element()));
    let model = root(0).and_then(|(source, node)| model::Model::new(package, source, node, root(1), root(2)));
    let fmi = model.as_ref().map(|model| model.fmi);
    let mut report = Report::new(profile, &RULES[0]);
    for rule in RULES.iter().filter(|rule| fmi.is_none_or(|fmi| rule.holds_in(fmi))) {
        report.begin(rule, fmi);
        match (rule.check, &model) {
            (Package(check), _) => check(package, &mut report),
            (Model(check), Some(model)) => check(model, &mut report),
            (Model(_), None) => {}
        }
        report.end();
    }
    let mut findings = report.findings;
    if package.bare {
        // There is one file, and no archive in which it has another name.
        findings.iter_mut().for_each(|finding| finding.spot.entry.clear());
    }
    findings.sort_by(|a, b| (&a.spot.entry, a.spot.place).cmp(&(&b.spot.entry, b.spot.place)));
    let version = root(0).and_then(|(_, node)| node.attribute("fmiVersion"));
    Validation { fmi_version: version.map(str::to_owned), findings, left_out: report.left_out }
}
