//! All rules: clause of the standard, requirement, remedy.

use crate::Check::{Model, Package, Structure};
use crate::LenientSeverity::{Depends, Error, Warning};
use crate::Rule;
use crate::{archive, binaries, definitions, fmi1, kinds, model_structure, structure, terminals, variables};

/// A table of rules. Each has its identifier, its severity in the lenient profile and its check function; the clauses
/// of FMI 1.0, 2.0.5 and 3.0.2; the requirement; and the remedy.
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

/// All rules, in the order in which they are checked and reported.
pub const RULES: &[Rule] = rules! {
    "archive/zip", Error, Package(archive::zip):
        ["FMU distribution", "2.3", "2.5"],
        "an FMU is a complete zip archive",
        "download or re-export the FMU";
    "archive/size", Error, Package(archive::size):
        ["", "", ""],
        "the archive is within Cosimo's size limits (the standard has none)",
        "no real FMU is that large; do not trust this file";
    "archive/ending", Warning, Package(archive::ending):
        ["FMU distribution", "2.3", "2.5"],
        "the file name of an FMU ends in .fmu",
        "rename the file";
    "archive/path", Error, Package(archive::path):
        ["FMU distribution", "2.3", "2.5"],
        "archive paths are relative and stay inside the FMU",
        "zip the FMU again, with relative paths; do not trust this file";
    "archive/backslash", Warning, Package(archive::backslash):
        ["FMU distribution", "2.3", "2.5"],
        "archive paths use forward slashes",
        "zip the FMU again with a tool that writes forward slashes";
    "archive/link", Error, Package(archive::link):
        ["FMU distribution", "2.3", "2.5"],
        "archive entries are files or folders",
        "zip the files themselves instead of links";
    "archive/method", Error, Package(archive::method):
        ["FMU distribution", "2.3", "2.5"],
        "archive entries are compressed with deflate or stored",
        "zip the FMU again with compression method deflate";
    "archive/encryption", Error, Package(archive::encryption):
        ["FMU distribution", "2.3", "2.5"],
        "archive entries are not encrypted",
        "zip the FMU again without a password";
    "archive/damage", Error, Package(archive::damage):
        ["FMU distribution", "2.3", "2.5"],
        "archive entries can be unpacked",
        "download or re-export the FMU";
    "archive/duplicate", Depends, Package(archive::duplicate):
        ["FMU distribution", "2.3", "2.5"],
        "each path occurs once in the archive",
        "remove all but one; if their contents differ, which one applies is undefined";
    "archive/file-and-folder", Error, Package(archive::file_and_folder):
        ["FMU distribution", "2.3", "2.5"],
        "no path is both a file and a folder",
        "rename one of them; both cannot be unpacked";
    "archive/long-name", Error, Package(archive::long_name):
        ["", "", ""],
        "file names have at most 255 bytes and paths at most 4000, as file systems require",
        "shorten the name";
    "archive/letter-case", Warning, Package(archive::letter_case):
        ["FMU distribution", "2.3", "2.5"],
        "paths do not differ in letter case only",
        "rename or remove one of them; many file systems ignore case";
    "archive/description", Error, Package(archive::description):
        ["FMU distribution", "2.3", "2.5.1"],
        "modelDescription.xml is at the top of the archive",
        "zip the contents of the folder, not the folder itself";
    "archive/implementation", Error, Model(archive::implementation):
        ["FMU distribution", "2.3", "2.5"],
        "an FMU has binaries or sources",
        "re-export the FMU with binaries";
    "archive/companion", Warning, Model(archive::companions):
        ["", "", "2.5.1"],
        "each SVG image has a PNG version, and a licence folder has an entry point",
        "add the file";
    "archive/documentation", Warning, Model(archive::documentation):
        ["", "2.3", "2.5.1.1"],
        "documentation has index.html as its entry point",
        "add documentation/index.html";
    "xml/well-formed", Error, Package(structure::well_formed):
        ["description schema", "2.2", "2.4"],
        "XML files are well-formed",
        "correct the file, or re-export the FMU";
    "xml/encoding", Warning, Package(structure::encoding):
        ["description schema", "2.2", "2.4"],
        "XML files are encoded in UTF-8 and declare it in the first line",
        "write <?xml version=\"1.0\" encoding=\"UTF-8\"?> and save as UTF-8";
    "xml/root", Error, Package(structure::root):
        ["description schema", "2.2.1", "2.4.1"],
        "the root element is <fmiModelDescription> with a supported fmiVersion",
        "only FMI 1.0, 2.0 and 3.0 can be checked";
    "xml/unknown-element", Warning, Structure(structure::DefectKind::UnknownElement):
        ["description schema", "2.2, schema", "2.4, schema"],
        "only elements of the schema are used",
        "remove the element, or move vendor-specific data into annotations";
    "xml/missing-element", Depends, Structure(structure::DefectKind::MissingElement):
        ["description schema", "2.2, schema", "2.4, schema"],
        "elements that the schema requires are present",
        "add the element";
    "xml/misplaced-element", Warning, Structure(structure::DefectKind::MisplacedElement):
        ["description schema", "2.2, schema", "2.4, schema"],
        "elements are in the order of the schema",
        "move the element";
    "xml/repeated-element", Depends, Structure(structure::DefectKind::RepeatedElement):
        ["description schema", "2.2, schema", "2.4, schema"],
        "elements occur no more often than the schema allows",
        "remove all but one";
    "xml/unknown-attribute", Warning, Structure(structure::DefectKind::UnknownAttribute):
        ["description schema", "2.2, schema", "2.4, schema"],
        "only attributes of the schema are used",
        "remove the attribute, or correct its name";
    "xml/missing-attribute", Depends, Structure(structure::DefectKind::MissingAttribute):
        ["description schema", "2.2, schema", "2.4, schema"],
        "attributes that the schema requires are present",
        "add the attribute";
    "xml/attribute-value", Depends, Structure(structure::DefectKind::AttributeValue):
        ["description schema", "2.2, schema", "2.4, schema"],
        "attribute values have the type that the schema requires",
        "correct the value";
    "xml/stray-text", Warning, Structure(structure::DefectKind::StrayText):
        ["description schema", "2.2, schema", "2.4, schema"],
        "elements contain no text",
        "remove the text";
    "kind/none", Error, Model(kinds::none):
        ["", "2.2.1", "2.4.1"],
        "an FMU has at least one interface type",
        "add the element of the interface type that the FMU implements";
    "kind/identifier", Warning, Model(kinds::identifier):
        ["attributes of the model description", "3.3.1, 4.3.1", "2.4.2"],
        "modelIdentifier is a valid C identifier",
        "use letters, digits and underscores only, and rename the library accordingly";
    "kind/serialize", Warning, Model(kinds::serialize):
        ["", "3.3.1, 4.3.1", "2.4.2"],
        "canSerializeFMUState requires canGetAndSetFMUState",
        "set both flags, or neither";
    "kind/early-return", Warning, Model(kinds::early_return):
        ["", "", "4.4"],
        "canReturnEarlyAfterIntermediateUpdate requires providesIntermediateUpdate",
        "set both flags, or neither";
    "kind/clocks", Warning, Model(kinds::clocks_and_events):
        ["", "", "4.4"],
        "an FMU with clocks supports event mode",
        "set hasEventMode, or remove the clocks";
    "kind/fixed-step", Warning, Model(kinds::fixed_step):
        ["", "", "4.4"],
        "fixedInternalStepSize is greater than 0",
        "correct the value, or remove the attribute";
    "kind/priority", Warning, Model(kinds::priority):
        ["", "", "2.4.4"],
        "input clocks have a priority in scheduled execution, and only there",
        "add or remove the attribute priority";
    "kind/misspelt-flag", Warning, Model(kinds::misspelt_flag):
        ["", "", "2.4.2"],
        "capability flags are spelled as in FMI 3.0",
        "use the spelling of FMI 3.0";
    "unit/duplicate", Warning, Model(definitions::duplicate_unit):
        ["", "2.2.2", "2.4.3"],
        "unit names are unique",
        "rename or remove one of them";
    "unit/conversion", Warning, Model(definitions::unit_conversion):
        ["", "2.2.2", "2.4.3"],
        "unit conversions are valid",
        "correct factor, offset or inverse";
    "type/duplicate", Warning, Model(definitions::duplicate_type):
        ["type definitions", "2.2.3", "2.4.4"],
        "type names are unique",
        "rename or remove one of them";
    "type/variable-name", Warning, Model(definitions::type_and_variable):
        ["", "2.2.3", "2.4.4"],
        "no variable has the same name as a type",
        "rename the type";
    "type/enumeration", Warning, Model(definitions::enumeration_items):
        ["", "2.2.3", "2.4.4"],
        "item names and values of an enumeration are unique",
        "rename or renumber one of the items";
    "log/duplicate", Warning, Model(definitions::duplicate_category):
        ["", "2.2.4", "2.4.5"],
        "log category names are unique",
        "remove one of them";
    "experiment/values", Warning, Model(definitions::experiment):
        ["default experiment", "2.2.5", "2.4.6"],
        "the default experiment has valid values",
        "correct the value";
    "annotation/duplicate-tool", Warning, Model(definitions::duplicate_tool):
        ["", "2.2.6", ""],
        "each tool has one annotation per list",
        "merge the annotations";
    "annotation/type", Warning, Model(definitions::annotation_type):
        ["", "", "2.4"],
        "annotation types use reverse domain notation",
        "start the type with a domain that you own";
    "variable/duplicate-name", Error, Model(variables::duplicate_name):
        ["definition of model variables", "2.2.7", "2.4.7.4"],
        "variable and alias names are unique",
        "rename one of them";
    "variable/name", Warning, Model(variables::name):
        ["", "2.2.9", "2.4.7.5.1"],
        "variable names are not empty and contain no line breaks or tabs",
        "rename the variable";
    "variable/structured-name", Warning, Model(variables::structured_name):
        ["variable naming conventions", "2.2.9", "2.4.7.5.1"],
        "variable names follow variableNamingConvention",
        "rename the variable, or declare variableNamingConvention=\"flat\"";
    "variable/duplicate-reference", Error, Model(variables::duplicate_reference):
        ["", "", "2.4.7.4"],
        "value references are unique",
        "change one of them, in the code as well";
    "variable/alias", Warning, Model(variables::alias):
        ["", "2.2.7", ""],
        "aliases have consistent attributes, and at most one of them can be set",
        "give one of them a value reference of its own, in the code as well";
    "variable/alias-base", Warning, Model(fmi1::alias_base):
        ["definition of model variables", "", ""],
        "an alias has the value reference of a variable that is not an alias",
        "correct valueReference, or remove the attribute alias";
    "variable/direct-dependency", Warning, Model(fmi1::direct_dependency):
        ["definition of model variables", "", ""],
        "DirectDependency lists inputs and occurs on outputs only",
        "correct the name, or remove it from the list";
    "variable/causality-variability", Warning, Model(variables::causality_variability):
        ["", "2.2.7, table of causality and variability", "2.4.7.4, table of variability and causality"],
        "the combination of causality and variability is allowed",
        "correct one of the two attributes";
    "variable/initial", Warning, Model(variables::initial):
        ["", "2.2.7, table of initial", "2.4.7.5, table \"Definition of initial\""],
        "the value of initial is allowed for this causality and variability",
        "correct initial, or remove it";
    "variable/start-missing", Warning, Model(variables::start_missing):
        ["", "2.2.7", "2.4.7.5"],
        "inputs and variables with initial=\"exact\" or \"approx\" have start values",
        "add the start value that the code uses";
    "variable/start-forbidden", Warning, Model(variables::start_forbidden):
        ["", "2.2.7", "2.4.7.5"],
        "calculated variables and the independent variable have no start values",
        "remove start, or declare initial=\"approx\" or \"exact\" if the value is used";
    "variable/continuous-type", Warning, Model(variables::continuous_type):
        ["", "2.2.7", "2.4.7.4"],
        "only floating-point variables are continuous",
        "declare variability=\"discrete\"";
    "variable/min-max", Warning, Model(variables::min_max):
        ["definition of model variables", "2.2.3", "2.4.4"],
        "min is not greater than max",
        "correct min or max";
    "variable/start-range", Warning, Model(variables::start_range):
        ["definition of model variables", "2.2.7", "2.4.4"],
        "start values are within min and max",
        "correct start or the range";
    "variable/enumeration-start", Warning, Model(variables::enumeration_start):
        ["definition of model variables", "2.2.3", "2.4.4"],
        "start values of enumerations are defined items",
        "use the value of an item as start";
    "variable/start-size", Error, Model(variables::start_size):
        ["", "", "2.4.7.5"],
        "an array has one start value, or one for each element",
        "give one value, or all of them";
    "variable/declared-type", Warning, Model(variables::declared_type):
        ["definition of model variables", "2.2.7", "2.4.7.5"],
        "declaredType names a defined type of the same base type",
        "correct declaredType, or define the type";
    "variable/unit", Warning, Model(variables::unit):
        ["", "2.2.2", "2.4.7.5"],
        "units are defined",
        "define the unit, or remove the attribute";
    "variable/display-unit", Warning, Model(variables::display_unit):
        ["", "2.2.2", "2.4.7.5"],
        "display units are defined for the variable's unit",
        "define the display unit, or remove the attribute";
    "variable/derivative", Warning, Model(variables::derivative):
        ["", "2.2.7", "2.4.7.5"],
        "the attribute derivative refers to a continuous floating-point variable",
        "correct the number; FMI 2.0 uses 1-based indices, FMI 3.0 value references";
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
        "there is one independent variable (optional in FMI 2.0)",
        "declare one variable, usually time, with causality=\"independent\"";
    "variable/independent-type", Warning, Model(variables::independent_type):
        ["", "2.2.7", "2.4.7.4"],
        "the independent variable is a floating-point variable",
        "declare it as Real (FMI 2.0) or Float64 (FMI 3.0)";
    "variable/dimension", Error, Model(variables::dimension):
        ["", "", "2.4.7.2"],
        "array dimensions are constants or structural parameters",
        "correct the <Dimension>";
    "variable/structural-parameter", Warning, Model(variables::structural_parameter):
        ["", "", "2.4.7.4"],
        "structural parameters are scalars",
        "use one structural parameter per element";
    "variable/intermediate-update", Warning, Model(variables::intermediate_update):
        ["", "", "2.4.7.4"],
        "parameters have no intermediateUpdate",
        "remove intermediateUpdate";
    "variable/previous", Warning, Model(variables::previous):
        ["", "", "2.4.7.4"],
        "the attribute previous refers to a discrete variable of the same type",
        "correct the value reference, or add clocks";
    "variable/clocks", Warning, Model(variables::clocks):
        ["", "", "2.4.7.4"],
        "the attribute clocks refers to clocks, and the variable is discrete or tunable",
        "correct the value references";
    "variable/clock", Warning, Model(variables::clock):
        ["", "", "2.4.4"],
        "attributes of clocks are consistent",
        "correct the attribute";
    "structure/reference", Depends, Model(model_structure::reference):
        ["", "2.2.8", "2.4.8"],
        "entries of ModelStructure refer to variables",
        "correct the number; FMI 2.0 uses 1-based indices, FMI 3.0 value references";
    "structure/repeated", Warning, Model(model_structure::repeated):
        ["", "2.2.8", "2.4.8"],
        "each variable occurs once per list of ModelStructure",
        "remove the duplicate entry";
    "structure/outputs-missing", Warning, Model(model_structure::outputs_missing):
        ["", "2.2.8", "2.4.8"],
        "ModelStructure lists all outputs",
        "add the entry, with its dependencies";
    "structure/outputs-extra", Warning, Model(model_structure::outputs_extra):
        ["", "2.2.8", "2.4.8"],
        "ModelStructure lists only outputs as outputs",
        "remove the entry, or declare causality=\"output\"";
    "structure/derivatives-missing", Warning, Model(model_structure::derivatives_missing):
        ["", "2.2.8", "2.4.8"],
        "ModelStructure lists the derivatives of all states (model exchange)",
        "add the entry";
    "structure/derivatives-extra", Warning, Model(model_structure::derivatives_extra):
        ["", "2.2.8", "2.4.8"],
        "ModelStructure lists only derivatives of states as derivatives",
        "add the attribute derivative to the variable, or remove the entry";
    "structure/initial-unknowns-missing", Warning, Model(model_structure::initial_unknowns_missing):
        ["", "2.2.8", "2.4.8"],
        "ModelStructure lists all initial unknowns",
        "add the entry, with its dependencies";
    "structure/initial-unknowns-extra", Warning, Model(model_structure::initial_unknowns_extra):
        ["", "2.2.8", "2.4.8"],
        "ModelStructure lists only initial unknowns as initial unknowns",
        "remove the entry";
    "structure/initial-unknowns-order", Warning, Model(model_structure::initial_unknowns_order):
        ["", "2.2.8", ""],
        "initial unknowns are in ascending order of index",
        "sort the entries by index";
    "structure/dependencies", Warning, Model(model_structure::dependencies):
        ["", "2.2.8", "2.4.8"],
        "dependencies refer to knowns",
        "remove it from the dependencies";
    "structure/dependencies-order", Warning, Model(model_structure::dependencies_order):
        ["", "2.2.8", ""],
        "dependencies are in ascending order",
        "sort the list";
    "structure/dependencies-kind", Warning, Model(model_structure::dependencies_kind):
        ["", "2.2.8", "2.4.8"],
        "dependenciesKind matches dependencies",
        "correct or remove dependenciesKind";
    "structure/event-indicators", Warning, Model(model_structure::event_indicators):
        ["", "", "2.4.8"],
        "event indicators are continuous variables",
        "remove the entry, or declare variability=\"continuous\"";
    "structure/clocked-states", Warning, Model(model_structure::clocked_states):
        ["", "", "2.4.8"],
        "ModelStructure lists all clocked states, and only these",
        "add previous and clocks to the variable, or correct the entry";
    "terminal/version", Warning, Model(terminals::version):
        ["", "", "2.4.9"],
        "terminalsAndIcons.xml has the fmiVersion of the FMU",
        "use the same fmiVersion in both files";
    "terminal/duplicate", Warning, Model(terminals::duplicate_name):
        ["", "", "2.4.9.2"],
        "terminal names are unique on each level",
        "rename one of them";
    "terminal/variable", Warning, Model(terminals::variable):
        ["", "", "2.4.9.2"],
        "terminal members refer to variables that can be connected",
        "correct the name";
    "terminal/member-name", Warning, Model(terminals::member_name):
        ["", "", "2.4.9.2"],
        "members of plugs and buses have a unique memberName",
        "add or change memberName";
    "terminal/word", Warning, Model(terminals::word):
        ["", "", "2.4.9.2"],
        "matching rules and kinds are predefined or in reverse domain notation",
        "use a predefined value";
    "terminal/streams", Warning, Model(terminals::streams):
        ["", "", "2.4.9.2"],
        "a terminal with stream members has exactly one flow",
        "split the terminal, one flow each";
    "binary/platform", Warning, Model(binaries::platform_name):
        ["FMU distribution", "2.3", "2.5.1.4"],
        "folders in binaries/ have the names of platforms",
        "rename the folder";
    "binary/missing", Depends, Model(binaries::library_missing):
        ["FMU distribution", "2.3", "2.5.1.4"],
        "each platform has a library named after modelIdentifier",
        "rename the library, or correct modelIdentifier";
    "binary/format", Depends, Model(binaries::library_format):
        ["FMU distribution", "2.3", "2.5.1.4"],
        "libraries have the file format of their platform",
        "re-export the FMU";
    "binary/machine", Depends, Model(binaries::library_machine):
        ["FMU distribution", "2.3", "2.5.1.4"],
        "libraries are compiled for the platform of their folder",
        "move the library to the folder of its platform";
    "binary/needed-function", Depends, Model(binaries::needed_function):
        ["naming conventions of functions", "2.3", "2.5"],
        "libraries export the functions that every importer calls",
        "export them; in a shared library function names have no prefix";
    "binary/function", Warning, Model(binaries::other_function):
        ["naming conventions of functions", "2.3", "2.5"],
        "libraries export all functions of their interface type",
        "export them, even if they only return an error";
    "source/missing", Warning, Model(binaries::source_missing):
        ["", "2.3", "2.5.1.3"],
        "listed source files exist",
        "add the file, or remove it from the list";
    "source/unlisted", Warning, Model(binaries::sources_listed):
        ["", "2.3", "2.5.1.3"],
        "the files to compile are listed",
        "list them in <SourceFiles> (FMI 2.0) or sources/buildDescription.xml (FMI 3.0)";
    "source/configuration", Warning, Model(binaries::build_configuration):
        ["", "", "2.5.1.3"],
        "build configurations match the interface types of the FMU, one per platform",
        "correct modelIdentifier or platform";
};
