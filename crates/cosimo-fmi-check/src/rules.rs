//! Every rule with its clauses, what it wants and what to do.

use crate::Check::{Model, Package, Structure};
use crate::LenientSeverity::{Depends, Error, Warning};
use crate::Rule;
use crate::{archive, binaries, definitions, fmi1, kinds, model_structure, structure, terminals, variables};

/// A table of rules. Each has its identifier, what the lenient profile makes of a violation, and what it looks at; the clauses
/// of FMI 1.0, 2.0.5 and 3.0.2; what it wants; and what to do where it is violated.
macro_rules! rules {
    ($($id:literal, $lenient:ident, $check:ident($at:path):
        [$fmi1:literal, $fmi2:literal, $fmi3:literal],
        $summary:literal,
        $remedy:literal;)*) => {
        &[$(Rule {
            id: $id,
            fmi1: $fmi1,
            fmi2: $fmi2,
            fmi3: $fmi3,
            lenient: $lenient,
            summary: $summary,
            remedy: $remedy,
            check: $check($at),
        },)*]
    };
}

/// All rules, in the order in which they speak.
pub const RULES: &[Rule] = rules! {
    "archive/zip", Error, Package(archive::zip):
        ["FMU distribution", "2.3", "2.5"],
        "an FMU is a complete zip archive",
        "fetch or export the FMU again";
    "archive/size", Error, Package(archive::size):
        ["", "", ""],
        "an archive stays within the limits of Cosimo; the standard has none",
        "no FMU needs that; do not trust this file";
    "archive/ending", Warning, Package(archive::ending):
        ["FMU distribution", "2.3", "2.5"],
        "the file of an FMU ends in .fmu",
        "rename the file";
    "archive/path", Error, Package(archive::path):
        ["FMU distribution", "2.3", "2.5"],
        "entries stay inside the FMU",
        "zip the FMU again, with relative paths; do not trust this file";
    "archive/backslash", Warning, Package(archive::backslash):
        ["FMU distribution", "2.3", "2.5"],
        "paths in the archive have forward slashes",
        "zip the FMU again with a tool that writes forward slashes";
    "archive/link", Error, Package(archive::link):
        ["FMU distribution", "2.3", "2.5"],
        "entries are files and folders",
        "zip the files themselves instead of links";
    "archive/method", Error, Package(archive::method):
        ["FMU distribution", "2.3", "2.5"],
        "entries are deflated or stored",
        "zip the FMU again by the usual method, which is called deflate";
    "archive/encryption", Error, Package(archive::encryption):
        ["FMU distribution", "2.3", "2.5"],
        "entries are not encrypted",
        "zip the FMU again without a password";
    "archive/damage", Error, Package(archive::damage):
        ["FMU distribution", "2.3", "2.5"],
        "entries can be unpacked",
        "fetch or export the FMU again";
    "archive/duplicate", Depends, Package(archive::duplicate):
        ["FMU distribution", "2.3", "2.5"],
        "each name is in the archive once",
        "remove all but one; where their contents differ, it is not known which of them is meant";
    "archive/file-and-folder", Error, Package(archive::file_and_folder):
        ["FMU distribution", "2.3", "2.5"],
        "no name is a file and a folder at once",
        "rename one of them; they cannot be unpacked side by side";
    "archive/long-name", Error, Package(archive::long_name):
        ["", "", ""],
        "names are short enough for file systems: 255 bytes for a name, 4000 for a path",
        "shorten the name";
    "archive/letter-case", Warning, Package(archive::letter_case):
        ["FMU distribution", "2.3", "2.5"],
        "names differ by more than upper and lower case",
        "rename or remove one of them; many file systems take them for one";
    "archive/description", Error, Package(archive::description):
        ["FMU distribution", "2.3", "2.5.1"],
        "modelDescription.xml is at the top of the archive",
        "zip the contents of the folder, not the folder itself";
    "archive/implementation", Error, Model(archive::implementation):
        ["FMU distribution", "2.3", "2.5"],
        "an FMU has binaries or sources",
        "export the FMU again with binaries";
    "archive/companion", Warning, Model(archive::companions):
        ["", "", "2.5.1"],
        "a picture as SVG has one as PNG beside it, and licences have an entry point",
        "add the file";
    "archive/documentation", Warning, Model(archive::documentation):
        ["", "2.3", "2.5.1.1"],
        "documentation has index.html as its entry point",
        "add documentation/index.html";
    "xml/well-formed", Error, Package(structure::well_formed):
        ["description schema", "2.2", "2.4"],
        "descriptions are well-formed XML",
        "correct the file, or export the FMU again";
    "xml/encoding", Warning, Package(structure::encoding):
        ["description schema", "2.2", "2.4"],
        "descriptions are in UTF-8 and say so in their first line",
        "write <?xml version=\"1.0\" encoding=\"UTF-8\"?> and save as UTF-8";
    "xml/root", Error, Package(structure::root):
        ["description schema", "2.2.1", "2.4.1"],
        "the root is <fmiModelDescription> of a known version",
        "check FMUs of FMI 1.0, 2.0 or 3.0; other versions have other rules";
    "xml/unknown-element", Warning, Structure(structure::DefectKind::UnknownElement):
        ["description schema", "2.2, schema", "2.4, schema"],
        "elements are those of the schema",
        "remove the element, or put what is your own into annotations";
    "xml/missing-element", Depends, Structure(structure::DefectKind::MissingElement):
        ["description schema", "2.2, schema", "2.4, schema"],
        "elements that the schema requires are there",
        "add the element";
    "xml/misplaced-element", Warning, Structure(structure::DefectKind::MisplacedElement):
        ["description schema", "2.2, schema", "2.4, schema"],
        "elements come in the order of the schema",
        "move the element";
    "xml/repeated-element", Depends, Structure(structure::DefectKind::RepeatedElement):
        ["description schema", "2.2, schema", "2.4, schema"],
        "elements come as often as the schema allows",
        "remove all but one";
    "xml/unknown-attribute", Warning, Structure(structure::DefectKind::UnknownAttribute):
        ["description schema", "2.2, schema", "2.4, schema"],
        "attributes are those of the schema",
        "remove the attribute, or correct its name";
    "xml/missing-attribute", Depends, Structure(structure::DefectKind::MissingAttribute):
        ["description schema", "2.2, schema", "2.4, schema"],
        "attributes that the schema requires are there",
        "add the attribute";
    "xml/attribute-value", Depends, Structure(structure::DefectKind::AttributeValue):
        ["description schema", "2.2, schema", "2.4, schema"],
        "values of attributes are of the type of the schema",
        "correct the value";
    "xml/stray-text", Warning, Structure(structure::DefectKind::StrayText):
        ["description schema", "2.2, schema", "2.4, schema"],
        "elements hold no text",
        "remove the text";
    "kind/none", Error, Model(kinds::none):
        ["", "2.2.1", "2.4.1"],
        "an FMU offers at least one kind of interface",
        "add the element of the kind that the FMU implements";
    "kind/identifier", Warning, Model(kinds::identifier):
        ["attributes of the model description", "3.3.1, 4.3.1", "2.4.2"],
        "a model identifier is a name in C",
        "use letters, digits and underscores only, and rename the library alike";
    "kind/serialize", Warning, Model(kinds::serialize):
        ["", "3.3.1, 4.3.1", "2.4.2"],
        "a state that can be serialized can be got and set",
        "set both flags, or none";
    "kind/early-return", Warning, Model(kinds::early_return):
        ["", "", "4.4"],
        "early return after intermediate update needs intermediate update",
        "set both flags, or none";
    "kind/clocks", Warning, Model(kinds::clocks_and_events):
        ["", "", "4.4"],
        "an FMU with clocks has an event mode",
        "set hasEventMode, or leave the clocks out";
    "kind/fixed-step", Warning, Model(kinds::fixed_step):
        ["", "", "4.4"],
        "a fixed internal step size is above 0",
        "correct the number, or leave it out";
    "kind/priority", Warning, Model(kinds::priority):
        ["", "", "2.4.4"],
        "input clocks for scheduled execution have a priority, and no others",
        "add priority to the clock, or remove it";
    "kind/misspelt-flag", Warning, Model(kinds::misspelt_flag):
        ["", "", "2.4.2"],
        "flags are spelled as in FMI 3.0",
        "use the spelling of FMI 3.0";
    "unit/duplicate", Warning, Model(definitions::duplicate_unit):
        ["", "2.2.2", "2.4.3"],
        "names of units are unique",
        "rename or remove one of them";
    "unit/conversion", Warning, Model(definitions::unit_conversion):
        ["", "2.2.2", "2.4.3"],
        "units can be converted",
        "correct factor, offset or inverse";
    "type/duplicate", Warning, Model(definitions::duplicate_type):
        ["type definitions", "2.2.3", "2.4.4"],
        "names of types are unique",
        "rename or remove one of them";
    "type/variable-name", Warning, Model(definitions::type_and_variable):
        ["", "2.2.3", "2.4.4"],
        "no variable has the name of a type",
        "rename the type";
    "type/enumeration", Warning, Model(definitions::enumeration_items):
        ["", "2.2.3", "2.4.4"],
        "names and values of an enumeration are unique",
        "rename or renumber one of the items";
    "log/duplicate", Warning, Model(definitions::duplicate_category):
        ["", "2.2.4", "2.4.5"],
        "names of log categories are unique",
        "remove one of them";
    "experiment/values", Warning, Model(definitions::experiment):
        ["default experiment", "2.2.5", "2.4.6"],
        "the default experiment can be run",
        "correct the number";
    "annotation/duplicate-tool", Warning, Model(definitions::duplicate_tool):
        ["", "2.2.6", ""],
        "each tool has one annotation in a list",
        "put both into one";
    "annotation/type", Warning, Model(definitions::annotation_type):
        ["", "", "2.4"],
        "types of annotations are in reverse domain notation",
        "begin the type with a domain of your own";
    "variable/duplicate-name", Error, Model(variables::duplicate_name):
        ["definition of model variables", "2.2.7", "2.4.7.4"],
        "names of variables and aliases are unique",
        "rename one of them";
    "variable/name", Warning, Model(variables::name):
        ["", "2.2.9", "2.4.7.5.1"],
        "names of variables are not empty and have no line ends or tabs",
        "rename the variable";
    "variable/structured-name", Warning, Model(variables::structured_name):
        ["variable naming conventions", "2.2.9", "2.4.7.5.1"],
        "names follow the convention that is declared",
        "rename the variable, or declare variableNamingConvention=\"flat\"";
    "variable/duplicate-reference", Error, Model(variables::duplicate_reference):
        ["", "", "2.4.7.4"],
        "value references are unique",
        "renumber one of them, in the code as well";
    "variable/alias", Warning, Model(variables::alias):
        ["", "2.2.7", ""],
        "aliases agree with each other, and one of them at most can be set",
        "give one of them a value reference of its own, in the code as well";
    "variable/alias-base", Warning, Model(fmi1::alias_base):
        ["definition of model variables", "", ""],
        "an alias has the value reference of a variable that is none",
        "correct valueReference, or leave `alias` out";
    "variable/direct-dependency", Warning, Model(fmi1::direct_dependency):
        ["definition of model variables", "", ""],
        "direct dependencies are inputs, and only outputs have them",
        "correct the name, or remove it from the list";
    "variable/causality-variability", Warning, Model(variables::causality_variability):
        ["", "2.2.7, table of causality and variability", "2.4.7.4, table of variability and causality"],
        "causality and variability go together",
        "correct one of the two attributes";
    "variable/initial", Warning, Model(variables::initial):
        ["", "2.2.7, table of initial", "2.4.7.5, table \"Definition of initial\""],
        "initial goes with causality and variability",
        "correct initial, or leave it out";
    "variable/start-missing", Warning, Model(variables::start_missing):
        ["", "2.2.7", "2.4.7.5"],
        "inputs and what is exact or approximate have start values",
        "add the start value that the code has";
    "variable/start-forbidden", Warning, Model(variables::start_forbidden):
        ["", "2.2.7", "2.4.7.5"],
        "what is calculated and the independent variable have no start values",
        "remove start, or declare initial=\"approx\" or \"exact\" if it counts";
    "variable/continuous-type", Warning, Model(variables::continuous_type):
        ["", "2.2.7", "2.4.7.4"],
        "only real variables are continuous",
        "declare variability=\"discrete\"";
    "variable/min-max", Warning, Model(variables::min_max):
        ["definition of model variables", "2.2.3", "2.4.4"],
        "min is not above max",
        "exchange or correct the two";
    "variable/start-range", Warning, Model(variables::start_range):
        ["definition of model variables", "2.2.7", "2.4.4"],
        "start values are between min and max",
        "correct start or the range";
    "variable/enumeration-start", Warning, Model(variables::enumeration_start):
        ["definition of model variables", "2.2.3", "2.4.4"],
        "start values of enumerations are among their items",
        "start with one of the items";
    "variable/start-size", Error, Model(variables::start_size):
        ["", "", "2.4.7.5"],
        "an array has one start value, or one for each element",
        "give one value, or all of them";
    "variable/declared-type", Warning, Model(variables::declared_type):
        ["definition of model variables", "2.2.7", "2.4.7.5"],
        "declared types exist and fit",
        "name a type that is defined and fits";
    "variable/unit", Warning, Model(variables::unit):
        ["", "2.2.2", "2.4.7.5"],
        "units are defined",
        "define the unit, or remove the attribute";
    "variable/display-unit", Warning, Model(variables::display_unit):
        ["", "2.2.2", "2.4.7.5"],
        "display units are defined for the unit",
        "define the display unit, or remove the attribute";
    "variable/derivative", Warning, Model(variables::derivative):
        ["", "2.2.7", "2.4.7.5"],
        "derivatives are those of continuous real variables",
        "correct the number; FMI 2.0 counts variables from 1, FMI 3.0 uses value references";
    "variable/reinit", Warning, Model(variables::reinit):
        ["", "2.2.7", "2.4.7.5"],
        "only continuous states have reinit",
        "remove reinit";
    "variable/multiple-set", Warning, Model(variables::multiple_set):
        ["", "2.2.7", "2.4.7.4"],
        "only inputs have canHandleMultipleSetPerTimeInstant",
        "remove the attribute";
    "variable/independent-count", Warning, Model(variables::independent_count):
        ["", "2.2.7", "2.4.7.4"],
        "one variable is the independent one; FMI 2.0 can do without",
        "declare one variable, usually time, with causality=\"independent\"";
    "variable/independent-type", Warning, Model(variables::independent_type):
        ["", "2.2.7", "2.4.7.4"],
        "the independent variable is real",
        "make it a floating point variable";
    "variable/dimension", Error, Model(variables::dimension):
        ["", "", "2.4.7.2"],
        "sizes of arrays are numbers or structural parameters",
        "correct the <Dimension>";
    "variable/structural-parameter", Warning, Model(variables::structural_parameter):
        ["", "", "2.4.7.4"],
        "structural parameters are scalars",
        "make a structural parameter for each element";
    "variable/intermediate-update", Warning, Model(variables::intermediate_update):
        ["", "", "2.4.7.4"],
        "parameters have no intermediateUpdate",
        "remove intermediateUpdate";
    "variable/previous", Warning, Model(variables::previous):
        ["", "", "2.4.7.4"],
        "previous values are discrete variables of the same type",
        "correct the value reference, or add clocks";
    "variable/clocks", Warning, Model(variables::clocks):
        ["", "", "2.4.7.4"],
        "clocked variables name clocks and are discrete or tunable",
        "correct the value references";
    "variable/clock", Warning, Model(variables::clock):
        ["", "", "2.4.4"],
        "clocks have attributes that fit each other",
        "correct the attribute";
    "structure/reference", Depends, Model(model_structure::reference):
        ["", "2.2.8", "2.4.8"],
        "entries of the model structure are variables",
        "correct the number; FMI 2.0 counts variables from 1, FMI 3.0 uses value references";
    "structure/repeated", Warning, Model(model_structure::repeated):
        ["", "2.2.8", "2.4.8"],
        "each variable is in a list once",
        "remove one of the entries";
    "structure/outputs-missing", Warning, Model(model_structure::outputs_missing):
        ["", "2.2.8", "2.4.8"],
        "all outputs are listed",
        "add the entry, with its dependencies";
    "structure/outputs-extra", Warning, Model(model_structure::outputs_extra):
        ["", "2.2.8", "2.4.8"],
        "only outputs are listed as outputs",
        "remove the entry, or make the variable an output";
    "structure/derivatives-missing", Warning, Model(model_structure::derivatives_missing):
        ["", "2.2.8", "2.4.8"],
        "model exchange lists the derivatives of all states",
        "add the entry";
    "structure/derivatives-extra", Warning, Model(model_structure::derivatives_extra):
        ["", "2.2.8", "2.4.8"],
        "only derivatives of states are listed as such",
        "add the attribute derivative to the variable, or remove the entry";
    "structure/initial-unknowns-missing", Warning, Model(model_structure::initial_unknowns_missing):
        ["", "2.2.8", "2.4.8"],
        "all initial unknowns are listed",
        "add the entry, with its dependencies";
    "structure/initial-unknowns-extra", Warning, Model(model_structure::initial_unknowns_extra):
        ["", "2.2.8", "2.4.8"],
        "only initial unknowns are listed as such",
        "remove the entry";
    "structure/initial-unknowns-order", Warning, Model(model_structure::initial_unknowns_order):
        ["", "2.2.8", ""],
        "initial unknowns come in the order of the variables",
        "sort the entries by index";
    "structure/dependencies", Warning, Model(model_structure::dependencies):
        ["", "2.2.8", "2.4.8"],
        "dependencies are knowns",
        "remove it from the list";
    "structure/dependencies-order", Warning, Model(model_structure::dependencies_order):
        ["", "2.2.8", ""],
        "dependencies come in ascending order",
        "sort the list";
    "structure/dependencies-kind", Warning, Model(model_structure::dependencies_kind):
        ["", "2.2.8", "2.4.8"],
        "kinds of dependency fit the dependencies",
        "correct dependenciesKind, or leave it out";
    "structure/event-indicators", Warning, Model(model_structure::event_indicators):
        ["", "", "2.4.8"],
        "event indicators are continuous",
        "remove the entry, or make the variable continuous";
    "structure/clocked-states", Warning, Model(model_structure::clocked_states):
        ["", "", "2.4.8"],
        "clocked states are listed, and only they",
        "add previous and clocks to the variable, or the entry";
    "terminal/version", Warning, Model(terminals::version):
        ["", "", "2.4.9"],
        "terminals are of the version of the FMU",
        "write the same fmiVersion into both files";
    "terminal/duplicate", Warning, Model(terminals::duplicate_name):
        ["", "", "2.4.9.2"],
        "names of terminals are unique on each level",
        "rename one of them";
    "terminal/variable", Warning, Model(terminals::variable):
        ["", "", "2.4.9.2"],
        "members of terminals are variables that can be connected",
        "correct the name";
    "terminal/member-name", Warning, Model(terminals::member_name):
        ["", "", "2.4.9.2"],
        "members of plugs and buses have names of their own",
        "add or change memberName";
    "terminal/word", Warning, Model(terminals::word):
        ["", "", "2.4.9.2"],
        "matching rules and kinds are those of the standard or in reverse domain notation",
        "use a word of the standard";
    "terminal/streams", Warning, Model(terminals::streams):
        ["", "", "2.4.9.2"],
        "a terminal with a stream has one flow",
        "put the flows into terminals of their own";
    "binary/platform", Warning, Model(binaries::platform_name):
        ["FMU distribution", "2.3", "2.5.1.4"],
        "folders of binaries are called after platforms",
        "rename the folder";
    "binary/missing", Depends, Model(binaries::library_missing):
        ["FMU distribution", "2.3", "2.5.1.4"],
        "each platform has a library with the name of the model identifier",
        "rename the library, or correct modelIdentifier";
    "binary/format", Depends, Model(binaries::library_format):
        ["FMU distribution", "2.3", "2.5.1.4"],
        "libraries are libraries of their platform",
        "export the FMU again";
    "binary/machine", Depends, Model(binaries::library_machine):
        ["FMU distribution", "2.3", "2.5.1.4"],
        "libraries are made for the machine that their folder names",
        "move the library to the folder of its machine";
    "binary/needed-function", Depends, Model(binaries::needed_function):
        ["naming conventions of functions", "2.3", "2.5"],
        "libraries have the functions that every importer calls",
        "export them from the library; names have no prefix in a shared library";
    "binary/function", Warning, Model(binaries::other_function):
        ["naming conventions of functions", "2.3", "2.5"],
        "libraries have all functions of their interface",
        "export them, even if they only return an error";
    "source/missing", Warning, Model(binaries::source_missing):
        ["", "2.3", "2.5.1.3"],
        "source files that are to be compiled are there",
        "add the file, or remove it from the list";
    "source/unlisted", Warning, Model(binaries::sources_listed):
        ["", "2.3", "2.5.1.3"],
        "it is said how to compile sources",
        "list the files to compile";
    "source/configuration", Warning, Model(binaries::build_configuration):
        ["", "", "2.5.1.3"],
        "build configurations are for the interfaces of the FMU, one for each platform",
        "correct modelIdentifier or platform";
};
