//! The XML schemas of FMI 1.0, 2.0.5 and 3.0.2 as tables: which element stands where, how often, and which attributes of
//! which type it has. After the `.xsd` files of the standard, whose names are used.

/// Types of attributes, as the schemas name them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Type {
    Text,
    Boolean,
    Double,
    /// A whole number from .. to.
    Whole(i128, i128),
    DateTime,
    Hex,
    One(&'static [&'static str]),
    List(&'static Type),
    /// `2.0`, or `3.` and more: the pattern of the schema.
    Version(&'static str),
}

#[derive(Debug)]
pub(crate) struct Attribute {
    pub(crate) name: &'static str,
    pub(crate) of: Type,
    pub(crate) required: bool,
}

#[derive(Debug)]
pub(crate) struct Element {
    pub(crate) name: &'static str,
    pub(crate) attributes: &'static [&'static [Attribute]],
    pub(crate) content: Content,
    /// Other attributes are allowed.
    pub(crate) open: bool,
}

#[derive(Debug)]
pub(crate) enum Content {
    /// In this order.
    Sequence(&'static [Particle]),
    /// So many elements of whatever kind.
    Any(usize),
    /// Text alone.
    Text,
}

/// One of some elements, so many times.
#[derive(Debug)]
pub(crate) struct Particle {
    pub(crate) of: &'static [&'static Element],
    pub(crate) least: usize,
    pub(crate) most: usize,
}

const MANY: usize = usize::MAX;
const UNSIGNED: Type = Type::Whole(0, u32::MAX as i128);
const INT: Type = Type::Whole(i32::MIN as i128, i32::MAX as i128);
const LONG: Type = Type::Whole(i64::MIN as i128, i64::MAX as i128);
const UNSIGNED_LONG: Type = Type::Whole(0, u64::MAX as i128);
const REFERENCES: Type = Type::List(&UNSIGNED);

const fn may(name: &'static str, of: Type) -> Attribute {
    Attribute { name, of, required: false }
}

const fn must(name: &'static str, of: Type) -> Attribute {
    Attribute { name, of, required: true }
}

const fn element(
    name: &'static str,
    attributes: &'static [&'static [Attribute]],
    content: &'static [Particle],
) -> Element {
    Element { name, attributes, content: Content::Sequence(content), open: false }
}

const fn some(of: &'static [&'static Element], least: usize, most: usize) -> Particle {
    Particle { of, least, most }
}

const fn optional(of: &'static [&'static Element]) -> Particle {
    some(of, 0, 1)
}

// What both versions have.

const CAUSALITIES: &[&str] = &["parameter", "calculatedParameter", "input", "output", "local", "independent"];
const CAUSALITIES3: &[&str] =
    &["parameter", "calculatedParameter", "input", "output", "local", "independent", "structuralParameter"];
const VARIABILITIES: &[&str] = &["constant", "fixed", "tunable", "discrete", "continuous"];
const INITIALS: &[&str] = &["exact", "approx", "calculated"];
const DEPENDENCY_KINDS: Type = Type::One(&["dependent", "constant", "fixed", "tunable", "discrete"]);

const NAMED: &[Attribute] = &[must("name", Type::Text)];
const DESCRIBED: &[Attribute] = &[may("description", Type::Text)];
const EXPERIMENT: &[Attribute] = &[
    may("startTime", Type::Double),
    may("stopTime", Type::Double),
    may("tolerance", Type::Double),
    may("stepSize", Type::Double),
];
const MODEL: &[Attribute] = &[
    must("modelName", Type::Text),
    may("description", Type::Text),
    may("author", Type::Text),
    may("version", Type::Text),
    may("copyright", Type::Text),
    may("license", Type::Text),
    may("generationTool", Type::Text),
    may("generationDateAndTime", Type::DateTime),
    may("variableNamingConvention", Type::One(&["flat", "structured"])),
];
const BASE_UNIT: &[Attribute] = &[
    may("kg", INT),
    may("m", INT),
    may("s", INT),
    may("A", INT),
    may("K", INT),
    may("mol", INT),
    may("cd", INT),
    may("rad", INT),
    may("factor", Type::Double),
    may("offset", Type::Double),
];
const CONVERSION: &[Attribute] = &[may("factor", Type::Double), may("offset", Type::Double)];
const REAL_BASE: &[Attribute] = &[
    may("quantity", Type::Text),
    may("unit", Type::Text),
    may("displayUnit", Type::Text),
    may("relativeQuantity", Type::Boolean),
    may("unbounded", Type::Boolean),
];
const QUANTITY: &[Attribute] = &[may("quantity", Type::Text)];
const DOUBLES: &[Attribute] =
    &[may("min", Type::Double), may("max", Type::Double), may("nominal", Type::Double)];
const INTS: &[Attribute] = &[may("min", INT), may("max", INT)];
const DERIVATIVE: &[Attribute] = &[may("derivative", UNSIGNED), may("reinit", Type::Boolean)];
const DEPENDENCIES: &[Attribute] =
    &[may("dependencies", REFERENCES), may("dependenciesKind", Type::List(&DEPENDENCY_KINDS))];

static BASE: Element = element("BaseUnit", &[BASE_UNIT], &[]);

// FMI 1.0.

static DISPLAY1: Element = element(
    "DisplayUnitDefinition",
    &[&[must("displayUnit", Type::Text), may("gain", Type::Double), may("offset", Type::Double)]],
    &[],
);
static UNIT1: Element = element("BaseUnit", &[&[must("unit", Type::Text)]], &[some(&[&DISPLAY1], 0, MANY)]);
static UNITS1: Element = element("UnitDefinitions", &[], &[some(&[&UNIT1], 0, MANY)]);
const REAL_BASE1: &[Attribute] = &[
    may("quantity", Type::Text),
    may("unit", Type::Text),
    may("displayUnit", Type::Text),
    may("relativeQuantity", Type::Boolean),
];
static REAL_TYPE1: Element = element("RealType", &[REAL_BASE1, DOUBLES], &[]);
static INTEGER_TYPE1: Element = element("IntegerType", &[QUANTITY, INTS], &[]);
/// Without a type in the schema, which lets anything be in it.
static BOOLEAN_TYPE1: Element =
    Element { name: "BooleanType", attributes: &[], content: Content::Any(MANY), open: true };
static STRING_TYPE1: Element =
    Element { name: "StringType", attributes: &[], content: Content::Any(MANY), open: true };
static ITEM1: Element = element("Item", &[NAMED, DESCRIBED], &[]);
static ENUMERATION_TYPE1: Element =
    element("EnumerationType", &[QUANTITY, INTS], &[some(&[&ITEM1], 0, MANY)]);
static TYPE1: Element = element(
    "Type",
    &[NAMED, DESCRIBED],
    &[some(&[&REAL_TYPE1, &INTEGER_TYPE1, &BOOLEAN_TYPE1, &STRING_TYPE1, &ENUMERATION_TYPE1], 1, 1)],
);
static TYPES1: Element = element("TypeDefinitions", &[], &[some(&[&TYPE1], 0, MANY)]);
static EXPERIMENT1: Element = element(
    "DefaultExperiment",
    &[&[may("startTime", Type::Double), may("stopTime", Type::Double), may("tolerance", Type::Double)]],
    &[],
);
static ANNOTATION1: Element = element("Annotation", &[NAMED, &[must("value", Type::Text)]], &[]);
static TOOL1: Element = element("Tool", &[NAMED], &[some(&[&ANNOTATION1], 0, MANY)]);
static VENDOR1: Element = element("VendorAnnotations", &[], &[some(&[&TOOL1], 0, MANY)]);
const FIXED1: &[Attribute] = &[may("fixed", Type::Boolean)];
static REAL1: Element =
    element("Real", &[DECLARED, REAL_BASE1, DOUBLES, &[may("start", Type::Double)], FIXED1], &[]);
static INTEGER1: Element = element("Integer", &[DECLARED, QUANTITY, INTS, &[may("start", INT)], FIXED1], &[]);
static BOOLEAN1: Element = element("Boolean", &[DECLARED, &[may("start", Type::Boolean)], FIXED1], &[]);
static STRING1: Element = element("String", &[DECLARED, &[may("start", Type::Text)], FIXED1], &[]);
static ENUMERATION1: Element = element(
    "Enumeration",
    &[&[must("declaredType", Type::Text)], QUANTITY, INTS, &[may("start", INT)], FIXED1],
    &[],
);
static NAME1: Element = Element { name: "Name", attributes: &[], content: Content::Text, open: false };
static DEPENDENCY1: Element = element("DirectDependency", &[], &[some(&[&NAME1], 0, MANY)]);
static VARIABLE1: Element = element(
    "ScalarVariable",
    &[
        NAMED,
        DESCRIBED,
        &[
            must("valueReference", UNSIGNED),
            may("variability", Type::One(&["constant", "parameter", "discrete", "continuous"])),
            may("causality", Type::One(&["input", "output", "internal", "none"])),
            may("alias", Type::One(&["noAlias", "alias", "negatedAlias"])),
        ],
    ],
    &[some(&[&REAL1, &INTEGER1, &BOOLEAN1, &STRING1, &ENUMERATION1], 1, 1), optional(&[&DEPENDENCY1])],
);
static VARIABLES1: Element = element("ModelVariables", &[], &[some(&[&VARIABLE1], 0, MANY)]);
static CAPABILITIES1: Element = element(
    "Capabilities",
    &[&[
        may("canHandleVariableCommunicationStepSize", Type::Boolean),
        may("canHandleEvents", Type::Boolean),
        may("canRejectSteps", Type::Boolean),
        may("canInterpolateInputs", Type::Boolean),
        may("maxOutputDerivativeOrder", UNSIGNED),
        // As the schema spells it.
        may("canRunAsynchronuously", Type::Boolean),
        may("canSignalEvents", Type::Boolean),
        may("canBeInstantiatedOnlyOncePerProcess", Type::Boolean),
        may("canNotUseMemoryManagementFunctions", Type::Boolean),
    ]],
    &[],
);
static TOOL_FILE1: Element = element("File", &[&[must("file", Type::Text)]], &[]);
static TOOL_MODEL1: Element = element(
    "Model",
    &[&[must("entryPoint", Type::Text), may("manualStart", Type::Boolean), must("type", Type::Text)]],
    &[some(&[&TOOL_FILE1], 0, MANY)],
);
static ALONE1: Element = element("CoSimulation_StandAlone", &[], &[some(&[&CAPABILITIES1], 1, 1)]);
static COUPLED1: Element =
    element("CoSimulation_Tool", &[], &[some(&[&CAPABILITIES1], 1, 1), some(&[&TOOL_MODEL1], 1, 1)]);
static IMPLEMENTATION1: Element = element("Implementation", &[], &[some(&[&ALONE1, &COUPLED1], 1, 1)]);
pub(crate) static DESCRIPTION1: Element = element(
    "fmiModelDescription",
    &[&[
        must("fmiVersion", Type::Version("1.0")),
        must("modelName", Type::Text),
        must("modelIdentifier", Type::Text),
        must("guid", Type::Text),
        may("description", Type::Text),
        may("author", Type::Text),
        may("version", Type::Text),
        may("generationTool", Type::Text),
        may("generationDateAndTime", Type::DateTime),
        may("variableNamingConvention", Type::One(&["flat", "structured"])),
        must("numberOfContinuousStates", UNSIGNED),
        must("numberOfEventIndicators", UNSIGNED),
    ]],
    &[
        optional(&[&UNITS1]),
        optional(&[&TYPES1]),
        optional(&[&EXPERIMENT1]),
        optional(&[&VENDOR1]),
        optional(&[&VARIABLES1]),
        optional(&[&IMPLEMENTATION1]),
    ],
);

// FMI 2.0.

static FILE2: Element = element("File", &[NAMED], &[]);
static SOURCES2: Element = element("SourceFiles", &[], &[some(&[&FILE2], 1, MANY)]);
const KIND2: &[Attribute] = &[
    must("modelIdentifier", Type::Text),
    may("needsExecutionTool", Type::Boolean),
    may("canBeInstantiatedOnlyOncePerProcess", Type::Boolean),
    may("canNotUseMemoryManagementFunctions", Type::Boolean),
    may("canGetAndSetFMUstate", Type::Boolean),
    may("canSerializeFMUstate", Type::Boolean),
    may("providesDirectionalDerivative", Type::Boolean),
];
static EXCHANGE2: Element = element(
    "ModelExchange",
    &[KIND2, &[may("completedIntegratorStepNotNeeded", Type::Boolean)]],
    &[optional(&[&SOURCES2])],
);
static COSIMULATION2: Element = element(
    "CoSimulation",
    &[
        KIND2,
        &[
            may("canHandleVariableCommunicationStepSize", Type::Boolean),
            may("canInterpolateInputs", Type::Boolean),
            may("maxOutputDerivativeOrder", UNSIGNED),
            // As the schema spells it.
            may("canRunAsynchronuously", Type::Boolean),
        ],
    ],
    &[optional(&[&SOURCES2])],
);
static DISPLAY2: Element = element("DisplayUnit", &[NAMED, CONVERSION], &[]);
static UNIT2: Element = element("Unit", &[NAMED], &[optional(&[&BASE]), some(&[&DISPLAY2], 0, MANY)]);
static UNITS2: Element = element("UnitDefinitions", &[], &[some(&[&UNIT2], 1, MANY)]);
static REAL_TYPE2: Element = element("Real", &[REAL_BASE, DOUBLES], &[]);
static INTEGER_TYPE2: Element = element("Integer", &[QUANTITY, INTS], &[]);
static BOOLEAN_TYPE2: Element = element("Boolean", &[], &[]);
static STRING_TYPE2: Element = element("String", &[], &[]);
static ITEM2: Element = element("Item", &[NAMED, DESCRIBED, &[must("value", INT)]], &[]);
static ENUMERATION_TYPE2: Element = element("Enumeration", &[QUANTITY], &[some(&[&ITEM2], 1, MANY)]);
static TYPE2: Element = element(
    "SimpleType",
    &[NAMED, DESCRIBED],
    &[some(&[&REAL_TYPE2, &INTEGER_TYPE2, &BOOLEAN_TYPE2, &STRING_TYPE2, &ENUMERATION_TYPE2], 1, 1)],
);
static TYPES2: Element = element("TypeDefinitions", &[], &[some(&[&TYPE2], 1, MANY)]);
static CATEGORY2: Element = element("Category", &[NAMED, DESCRIBED], &[]);
static CATEGORIES2: Element = element("LogCategories", &[], &[some(&[&CATEGORY2], 1, MANY)]);
static EXPERIMENT2: Element = element("DefaultExperiment", &[EXPERIMENT], &[]);
static TOOL2: Element = Element { name: "Tool", attributes: &[NAMED], content: Content::Any(1), open: false };
static VENDOR2: Element = element("VendorAnnotations", &[], &[some(&[&TOOL2], 1, MANY)]);
static ANNOTATIONS2: Element = element("Annotations", &[], &[some(&[&TOOL2], 1, MANY)]);
const DECLARED: &[Attribute] = &[may("declaredType", Type::Text)];
static REAL2: Element =
    element("Real", &[DECLARED, REAL_BASE, DOUBLES, DERIVATIVE, &[may("start", Type::Double)]], &[]);
static INTEGER2: Element = element("Integer", &[DECLARED, QUANTITY, INTS, &[may("start", INT)]], &[]);
static BOOLEAN2: Element = element("Boolean", &[DECLARED, &[may("start", Type::Boolean)]], &[]);
static STRING2: Element = element("String", &[DECLARED, &[may("start", Type::Text)]], &[]);
static ENUMERATION2: Element =
    element("Enumeration", &[&[must("declaredType", Type::Text)], QUANTITY, INTS, &[may("start", INT)]], &[]);
static VARIABLE2: Element = element(
    "ScalarVariable",
    &[
        NAMED,
        DESCRIBED,
        &[
            must("valueReference", UNSIGNED),
            may("causality", Type::One(CAUSALITIES)),
            may("variability", Type::One(VARIABILITIES)),
            may("initial", Type::One(INITIALS)),
            may("canHandleMultipleSetPerTimeInstant", Type::Boolean),
        ],
    ],
    &[some(&[&REAL2, &INTEGER2, &BOOLEAN2, &STRING2, &ENUMERATION2], 1, 1), optional(&[&ANNOTATIONS2])],
);
static VARIABLES2: Element = element("ModelVariables", &[], &[some(&[&VARIABLE2], 1, MANY)]);
static UNKNOWN2: Element = element("Unknown", &[&[must("index", UNSIGNED)], DEPENDENCIES], &[]);
static OUTPUTS2: Element = element("Outputs", &[], &[some(&[&UNKNOWN2], 1, MANY)]);
static DERIVATIVES2: Element = element("Derivatives", &[], &[some(&[&UNKNOWN2], 1, MANY)]);
static INITIAL_UNKNOWNS2: Element = element("InitialUnknowns", &[], &[some(&[&UNKNOWN2], 1, MANY)]);
static STRUCTURE2: Element = element(
    "ModelStructure",
    &[],
    &[optional(&[&OUTPUTS2]), optional(&[&DERIVATIVES2]), optional(&[&INITIAL_UNKNOWNS2])],
);
pub(crate) static DESCRIPTION2: Element = element(
    "fmiModelDescription",
    &[
        MODEL,
        &[
            must("fmiVersion", Type::Version("2.0")),
            must("guid", Type::Text),
            may("numberOfEventIndicators", UNSIGNED),
        ],
    ],
    &[
        some(&[&EXCHANGE2, &COSIMULATION2], 0, 2),
        optional(&[&UNITS2]),
        optional(&[&TYPES2]),
        optional(&[&CATEGORIES2]),
        optional(&[&EXPERIMENT2]),
        optional(&[&VENDOR2]),
        some(&[&VARIABLES2], 1, 1),
        some(&[&STRUCTURE2], 1, 1),
    ],
);

// FMI 3.0.

static ANNOTATION3: Element = Element {
    name: "Annotation",
    attributes: &[&[must("type", Type::Text)]],
    content: Content::Any(MANY),
    open: false,
};
static ANNOTATIONS3: Element = element("Annotations", &[], &[some(&[&ANNOTATION3], 1, MANY)]);
const NOTES: Particle = Particle { of: &[&ANNOTATIONS3], least: 0, most: 1 };
const VERSION3: Attribute = must("fmiVersion", Type::Version("3"));

const KIND3: &[Attribute] = &[
    must("modelIdentifier", Type::Text),
    may("needsExecutionTool", Type::Boolean),
    may("canBeInstantiatedOnlyOncePerProcess", Type::Boolean),
    may("canGetAndSetFMUState", Type::Boolean),
    may("canSerializeFMUState", Type::Boolean),
    may("providesDirectionalDerivatives", Type::Boolean),
    may("providesAdjointDerivatives", Type::Boolean),
    may("providesPerElementDependencies", Type::Boolean),
];
/// The schema allows any other attribute here.
const fn kind3(name: &'static str, attributes: &'static [&'static [Attribute]]) -> Element {
    Element { name, attributes, content: Content::Sequence(&[NOTES]), open: true }
}
pub(crate) static EXCHANGE3: Element = kind3(
    "ModelExchange",
    &[
        KIND3,
        &[
            may("needsCompletedIntegratorStep", Type::Boolean),
            may("providesEvaluateDiscreteStates", Type::Boolean),
        ],
    ],
);
pub(crate) static COSIMULATION3: Element = kind3(
    "CoSimulation",
    &[
        KIND3,
        &[
            may("canHandleVariableCommunicationStepSize", Type::Boolean),
            may("fixedInternalStepSize", Type::Double),
            may("maxOutputDerivativeOrder", UNSIGNED),
            may("recommendedIntermediateInputSmoothness", INT),
            may("providesIntermediateUpdate", Type::Boolean),
            may("mightReturnEarlyFromDoStep", Type::Boolean),
            may("canReturnEarlyAfterIntermediateUpdate", Type::Boolean),
            may("hasEventMode", Type::Boolean),
            may("providesEvaluateDiscreteStates", Type::Boolean),
        ],
    ],
);
pub(crate) static SCHEDULED3: Element = kind3("ScheduledExecution", &[KIND3]);
static DISPLAY3: Element =
    element("DisplayUnit", &[NAMED, CONVERSION, &[may("inverse", Type::Boolean)]], &[NOTES]);
static UNIT3: Element = element("Unit", &[NAMED], &[optional(&[&BASE]), some(&[&DISPLAY3], 0, MANY), NOTES]);
static UNITS3: Element = element("UnitDefinitions", &[], &[some(&[&UNIT3], 1, MANY)]);

macro_rules! whole {
    ($least:expr, $most:expr) => {
        Type::Whole($least as i128, $most as i128)
    };
}
/// `min` and `max` of one whole type.
macro_rules! bounds {
    ($of:expr) => {
        &[may("min", $of), may("max", $of)]
    };
}
const INT8: Type = whole!(i8::MIN, i8::MAX);
const UINT8: Type = whole!(0, u8::MAX);
const INT16: Type = whole!(i16::MIN, i16::MAX);
const UINT16: Type = whole!(0, u16::MAX);

macro_rules! types3 {
    ($($id:ident = $name:literal: $($group:expr),*;)*) => {
        $(static $id: Element = element($name, &[NAMED, DESCRIBED, $($group),*], &[NOTES]);)*
    };
}
const BINARY: &[Attribute] = &[may("mimeType", Type::Text), may("maxSize", UNSIGNED_LONG)];
const CLOCK: &[Attribute] = &[
    may("canBeDeactivated", Type::Boolean),
    may("priority", UNSIGNED),
    must(
        "intervalVariability",
        Type::One(&["constant", "fixed", "tunable", "changing", "countdown", "triggered"]),
    ),
    may("intervalDecimal", Type::Double),
    may("shiftDecimal", Type::Double),
    may("supportsFraction", Type::Boolean),
    may("resolution", UNSIGNED_LONG),
    may("intervalCounter", UNSIGNED_LONG),
    may("shiftCounter", UNSIGNED_LONG),
];
types3! {
    FLOAT32_TYPE = "Float32Type": REAL_BASE, DOUBLES;
    FLOAT64_TYPE = "Float64Type": REAL_BASE, DOUBLES;
    INT8_TYPE = "Int8Type": QUANTITY, bounds!(INT8);
    UINT8_TYPE = "UInt8Type": QUANTITY, bounds!(UINT8);
    INT16_TYPE = "Int16Type": QUANTITY, bounds!(INT16);
    UINT16_TYPE = "UInt16Type": QUANTITY, bounds!(UINT16);
    INT32_TYPE = "Int32Type": QUANTITY, bounds!(INT);
    UINT32_TYPE = "UInt32Type": QUANTITY, bounds!(UNSIGNED);
    INT64_TYPE = "Int64Type": QUANTITY, bounds!(LONG);
    UINT64_TYPE = "UInt64Type": QUANTITY, bounds!(UNSIGNED_LONG);
    BOOLEAN_TYPE = "BooleanType": ;
    STRING_TYPE = "StringType": ;
    BINARY_TYPE = "BinaryType": BINARY;
    CLOCK_TYPE = "ClockType": CLOCK;
}
static ITEM3: Element = element("Item", &[NAMED, DESCRIBED, &[must("value", LONG)]], &[NOTES]);
static ENUMERATION_TYPE: Element = element(
    "EnumerationType",
    &[NAMED, DESCRIBED, QUANTITY, bounds!(LONG)],
    &[NOTES, some(&[&ITEM3], 1, MANY)],
);
static TYPES3: Element = element(
    "TypeDefinitions",
    &[],
    &[some(
        &[
            &FLOAT32_TYPE,
            &FLOAT64_TYPE,
            &INT8_TYPE,
            &UINT8_TYPE,
            &INT16_TYPE,
            &UINT16_TYPE,
            &INT32_TYPE,
            &UINT32_TYPE,
            &INT64_TYPE,
            &UINT64_TYPE,
            &BOOLEAN_TYPE,
            &STRING_TYPE,
            &BINARY_TYPE,
            &ENUMERATION_TYPE,
            &CLOCK_TYPE,
        ],
        1,
        MANY,
    )],
);
static CATEGORY3: Element = element("Category", &[NAMED, DESCRIBED], &[NOTES]);
static CATEGORIES3: Element = element("LogCategories", &[], &[some(&[&CATEGORY3], 1, MANY)]);
static EXPERIMENT3: Element = element("DefaultExperiment", &[EXPERIMENT], &[NOTES]);

const VARIABLE3: &[Attribute] = &[
    must("name", Type::Text),
    must("valueReference", UNSIGNED),
    may("description", Type::Text),
    may("causality", Type::One(CAUSALITIES3)),
    may("variability", Type::One(VARIABILITIES)),
    may("canHandleMultipleSetPerTimeInstant", Type::Boolean),
    may("clocks", REFERENCES),
];
const ARRAYABLE: &[Attribute] = &[may("intermediateUpdate", Type::Boolean), may("previous", UNSIGNED)];
const INITIALIZABLE: &[Attribute] = &[may("initial", Type::One(INITIALS))];
static DIMENSION: Element =
    element("Dimension", &[&[may("start", UNSIGNED_LONG), may("valueReference", UNSIGNED)]], &[]);
static ALIAS: Element = element("Alias", &[NAMED, DESCRIBED], &[]);
static FLOAT_ALIAS: Element = element("Alias", &[NAMED, DESCRIBED, &[may("displayUnit", Type::Text)]], &[]);
static START_TEXT: Element = element("Start", &[&[may("value", Type::Text)]], &[]);
static START_HEX: Element = element("Start", &[&[may("value", Type::Hex)]], &[]);
const SIZES: Particle = Particle { of: &[&DIMENSION], least: 0, most: MANY };
const ALIASES: Particle = Particle { of: &[&ALIAS], least: 0, most: MANY };
const FLOAT_ALIASES: Particle = Particle { of: &[&FLOAT_ALIAS], least: 0, most: MANY };

macro_rules! variables3 {
    ($($id:ident = $name:literal: $start:expr, $bounds:expr;)*) => {
        $(static $id: Element = element(
            $name,
            &[VARIABLE3, ARRAYABLE, INITIALIZABLE, DECLARED, QUANTITY, $bounds, &[may("start", Type::List(&$start))]],
            &[NOTES, SIZES, ALIASES],
        );)*
    };
}
variables3! {
    INT8_3 = "Int8": INT8, bounds!(INT8);
    UINT8_3 = "UInt8": UINT8, bounds!(UINT8);
    INT16_3 = "Int16": INT16, bounds!(INT16);
    UINT16_3 = "UInt16": UINT16, bounds!(UINT16);
    INT32_3 = "Int32": INT, bounds!(INT);
    UINT32_3 = "UInt32": UNSIGNED, bounds!(UNSIGNED);
    INT64_3 = "Int64": LONG, bounds!(LONG);
    UINT64_3 = "UInt64": UNSIGNED_LONG, bounds!(UNSIGNED_LONG);
}
const FLOAT_START: &[Attribute] = &[may("start", Type::List(&Type::Double))];
const FLOAT3: &[&[Attribute]] =
    &[VARIABLE3, ARRAYABLE, INITIALIZABLE, DECLARED, REAL_BASE, DOUBLES, DERIVATIVE, FLOAT_START];
static FLOAT32_3: Element = element("Float32", FLOAT3, &[NOTES, SIZES, FLOAT_ALIASES]);
static FLOAT64_3: Element = element("Float64", FLOAT3, &[NOTES, SIZES, FLOAT_ALIASES]);
static BOOLEAN3: Element = element(
    "Boolean",
    &[VARIABLE3, ARRAYABLE, INITIALIZABLE, DECLARED, &[may("start", Type::List(&Type::Boolean))]],
    &[NOTES, SIZES, ALIASES],
);
static STRING3: Element = element(
    "String",
    &[VARIABLE3, ARRAYABLE, INITIALIZABLE, DECLARED],
    &[NOTES, SIZES, some(&[&START_TEXT], 0, MANY), ALIASES],
);
static BINARY3: Element = element(
    "Binary",
    &[VARIABLE3, ARRAYABLE, INITIALIZABLE, DECLARED, BINARY],
    &[NOTES, SIZES, some(&[&START_HEX], 0, MANY), ALIASES],
);
static ENUMERATION3: Element = element(
    "Enumeration",
    &[
        VARIABLE3,
        ARRAYABLE,
        INITIALIZABLE,
        &[must("declaredType", Type::Text)],
        QUANTITY,
        bounds!(LONG),
        &[may("start", Type::List(&LONG))],
    ],
    &[NOTES, SIZES, ALIASES],
);
static CLOCK3: Element = element("Clock", &[VARIABLE3, DECLARED, CLOCK], &[NOTES, ALIASES]);
static VARIABLES3: Element = element(
    "ModelVariables",
    &[],
    &[some(
        &[
            &FLOAT32_3,
            &FLOAT64_3,
            &INT8_3,
            &UINT8_3,
            &INT16_3,
            &UINT16_3,
            &INT32_3,
            &UINT32_3,
            &INT64_3,
            &UINT64_3,
            &BOOLEAN3,
            &STRING3,
            &BINARY3,
            &ENUMERATION3,
            &CLOCK3,
        ],
        1,
        MANY,
    )],
);
const UNKNOWN3: &[&[Attribute]] = &[&[must("valueReference", UNSIGNED)], DEPENDENCIES];
static OUTPUT3: Element = element("Output", UNKNOWN3, &[NOTES]);
static DERIVATIVE3: Element = element("ContinuousStateDerivative", UNKNOWN3, &[NOTES]);
static CLOCKED3: Element = element("ClockedState", UNKNOWN3, &[NOTES]);
static INITIAL3: Element = element("InitialUnknown", UNKNOWN3, &[NOTES]);
static INDICATOR3: Element = element("EventIndicator", UNKNOWN3, &[NOTES]);
static STRUCTURE3: Element = element(
    "ModelStructure",
    &[],
    &[
        some(&[&OUTPUT3], 0, MANY),
        some(&[&DERIVATIVE3], 0, MANY),
        some(&[&CLOCKED3], 0, MANY),
        some(&[&INITIAL3], 0, MANY),
        some(&[&INDICATOR3], 0, MANY),
    ],
);
pub(crate) static DESCRIPTION3: Element = element(
    "fmiModelDescription",
    &[MODEL, &[VERSION3, must("instantiationToken", Type::Text)]],
    &[
        optional(&[&EXCHANGE3]),
        optional(&[&COSIMULATION3]),
        optional(&[&SCHEDULED3]),
        optional(&[&UNITS3]),
        optional(&[&TYPES3]),
        optional(&[&CATEGORIES3]),
        optional(&[&EXPERIMENT3]),
        some(&[&VARIABLES3], 1, 1),
        some(&[&STRUCTURE3], 1, 1),
        NOTES,
    ],
);

// terminalsAndIcons.xml and buildDescription.xml of FMI 3.0.

const RECTANGLE: &[Attribute] =
    &[must("x1", Type::Double), must("y1", Type::Double), must("x2", Type::Double), must("y2", Type::Double)];
static COORDINATES: Element =
    element("CoordinateSystem", &[RECTANGLE, &[must("suggestedScalingFactorTo_mm", Type::Double)]], &[]);
static ICON: Element = element("Icon", &[RECTANGLE], &[]);
static GRAPHICS: Element =
    element("GraphicalRepresentation", &[], &[optional(&[&COORDINATES]), optional(&[&ICON]), NOTES]);
static MEMBER: Element = element(
    "TerminalMemberVariable",
    &[&[must("variableName", Type::Text), may("memberName", Type::Text), must("variableKind", Type::Text)]],
    &[NOTES],
);
static STREAM: Element = element(
    "TerminalStreamMemberVariable",
    &[&[
        must("inStreamMemberName", Type::Text),
        must("outStreamMemberName", Type::Text),
        must("inStreamVariableName", Type::Text),
        must("outStreamVariableName", Type::Text),
    ]],
    &[NOTES],
);
const BYTE: Type = Type::Whole(0, 255);
static TERMINAL_GRAPHICS: Element = element(
    "TerminalGraphicalRepresentation",
    &[
        RECTANGLE,
        &[
            may("defaultConnectionColor", Type::List(&BYTE)),
            may("defaultConnectionStrokeSize", Type::Double),
            must("iconBaseName", Type::Text),
        ],
    ],
    &[NOTES],
);
static TERMINAL: Element = element(
    "Terminal",
    &[NAMED, DESCRIBED, &[must("matchingRule", Type::Text), may("terminalKind", Type::Text)]],
    &[
        some(&[&MEMBER], 0, MANY),
        some(&[&STREAM], 0, MANY),
        some(&[&TERMINAL], 0, MANY),
        optional(&[&TERMINAL_GRAPHICS]),
        NOTES,
    ],
);
static TERMINALS: Element = element("Terminals", &[], &[some(&[&TERMINAL], 1, MANY)]);
pub(crate) static TERMINALS_AND_ICONS: Element = element(
    "fmiTerminalsAndIcons",
    &[&[VERSION3]],
    &[optional(&[&GRAPHICS]), optional(&[&TERMINALS]), NOTES],
);

static SOURCE_FILE: Element = element("SourceFile", &[NAMED], &[NOTES]);
static DEFINITION_OPTION: Element = element("Option", &[DESCRIBED, &[may("value", Type::Text)]], &[]);
static DEFINITION: Element = element(
    "PreprocessorDefinition",
    &[NAMED, DESCRIBED, &[may("optional", Type::Boolean), may("value", Type::Text)]],
    &[some(&[&DEFINITION_OPTION], 0, MANY), NOTES],
);
static INCLUDE: Element = element("IncludeDirectory", &[NAMED], &[NOTES]);
static FILE_SET: Element = element(
    "SourceFileSet",
    &[&[
        may("name", Type::Text),
        may("language", Type::Text),
        may("compiler", Type::Text),
        may("compilerOptions", Type::Text),
    ]],
    &[some(&[&SOURCE_FILE], 1, MANY), some(&[&DEFINITION], 0, MANY), some(&[&INCLUDE], 0, MANY), NOTES],
);
static LIBRARY: Element = element(
    "Library",
    &[NAMED, DESCRIBED, &[may("version", Type::Text), may("external", Type::Boolean)]],
    &[NOTES],
);
static CONFIGURATION: Element = element(
    "BuildConfiguration",
    &[DESCRIBED, &[must("modelIdentifier", Type::Text), may("platform", Type::Text)]],
    &[some(&[&FILE_SET], 0, MANY), some(&[&LIBRARY], 0, MANY), NOTES],
);
pub(crate) static BUILD: Element =
    element("fmiBuildDescription", &[&[VERSION3]], &[some(&[&CONFIGURATION], 1, MANY), NOTES]);

impl Element {
    pub(crate) fn attribute(&self, name: &str) -> Option<&'static Attribute> {
        self.attributes.iter().flat_map(|group| group.iter()).find(|attribute| attribute.name == name)
    }
}

impl Type {
    /// What is wanted instead, if the text is not of this type.
    pub(crate) fn refuses(self, text: &str) -> Option<String> {
        let trimmed = text.trim();
        match self {
            Type::Text => None,
            Type::Boolean => {
                let right = matches!(trimmed, "true" | "false" | "0" | "1");
                (!right).then(|| "true, false, 1 or 0".into())
            }
            Type::Double => number(trimmed).is_none().then(|| "a number".into()),
            Type::Whole(least, most) => {
                let right = whole(trimmed).is_some_and(|value| (least..=most).contains(&value));
                (!right).then(|| format!("a whole number from {least} to {most}"))
            }
            Type::DateTime => (!is_date_time(trimmed)).then(|| "a time such as 2009-12-08T14:33:22Z".into()),
            Type::Hex => {
                let right =
                    trimmed.len().is_multiple_of(2) && trimmed.bytes().all(|byte| byte.is_ascii_hexdigit());
                (!right).then(|| "pairs of hexadecimal digits".into())
            }
            Type::One(words) => (!words.contains(&trimmed)).then(|| format!("one of {}", words.join(", "))),
            Type::List(of) => {
                let wrong = text.split_ascii_whitespace().find_map(|part| of.refuses(part));
                wrong.map(|wanted| format!("a list with spaces between, each {wanted}"))
            }
            Type::Version(beginning) => {
                let right = match beginning {
                    "3" => is_version3(trimmed),
                    exact => trimmed == exact,
                };
                (!right).then(|| if beginning == "3" { "3.0".into() } else { beginning.into() })
            }
        }
    }
}

/// `xs:double`, which knows fewer words than Rust does.
pub(crate) fn number(text: &str) -> Option<f64> {
    match text.trim() {
        "INF" => Some(f64::INFINITY),
        "-INF" => Some(f64::NEG_INFINITY),
        "NaN" => Some(f64::NAN),
        plain if plain.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte)) => {
            plain.parse().ok()
        }
        _ => None,
    }
}

/// `xs:integer`.
pub(crate) fn whole(text: &str) -> Option<i128> {
    text.trim().parse().ok()
}

/// `3[.](0|[1-9][0-9]*)([.](0|[1-9][0-9]*))?(-.+)?`
fn is_version3(text: &str) -> bool {
    let (numbers, suffix) = text.split_once('-').map_or((text, None), |(head, tail)| (head, Some(tail)));
    let plain = |part: &str| {
        part == "0" || !part.starts_with('0') && !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit())
    };
    let parts: Vec<&str> = numbers.split('.').collect();
    matches!(parts.len(), 2 | 3)
        && parts[0] == "3"
        && parts[1..].iter().all(|part| plain(part))
        && suffix != Some("")
}

/// `xs:dateTime`, as far as shape goes: digits where digits belong, months and hours that exist.
fn is_date_time(text: &str) -> bool {
    let Some((date, time)) = text.split_once('T') else { return false };
    let digits = |part: &str, length: usize, most: u32| {
        part.len() == length
            && part.bytes().all(|byte| byte.is_ascii_digit())
            && part.parse::<u32>().is_ok_and(|value| value <= most)
    };
    let mut days = date.trim_start_matches('-').splitn(3, '-');
    let (year, month, day) = (days.next(), days.next(), days.next());
    let date = year.is_some_and(|y| y.len() >= 4 && y.bytes().all(|byte| byte.is_ascii_digit()))
        && month.is_some_and(|month| digits(month, 2, 12))
        && day.is_some_and(|day| digits(day, 2, 31));
    let end = time.find(['Z', '+', '-']).unwrap_or(time.len());
    let (clock, zone) = time.split_at(end);
    let mut parts = clock.splitn(3, ':');
    let (hour, minute, second) = (parts.next(), parts.next(), parts.next());
    let second = second.is_some_and(|second| {
        let (whole, fraction) = second.split_once('.').unwrap_or((second, "0"));
        digits(whole, 2, 59) && !fraction.is_empty() && fraction.bytes().all(|byte| byte.is_ascii_digit())
    });
    let zone = match zone.get(1..) {
        None => true,
        Some("") => zone == "Z",
        Some(offset) => {
            !zone.starts_with('Z')
                && offset
                    .split_once(':')
                    .is_some_and(|(hour, minute)| digits(hour, 2, 14) && digits(minute, 2, 59))
        }
    };
    date && hour.is_some_and(|hour| digits(hour, 2, 24))
        && minute.is_some_and(|m| digits(m, 2, 59))
        && second
        && zone
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_take_what_the_schema_takes() {
        for (of, right, wrong) in [
            (Type::Boolean, &["true", "0", " 1 "][..], &["True", "yes", ""][..]),
            (Type::Double, &["1", "-1e-3", "INF", "NaN", ".5"], &["inf", "1,5", "", "0x1", "1e"]),
            (UINT8, &["0", "255", "+7"], &["256", "-1", "1.0"]),
            (REFERENCES, &["", "1 2  3"], &["1,2", "-1"]),
            (Type::Version("3"), &["3.0", "3.0.2", "3.1-beta.1"], &["3", "3.00", "2.0", "3.0-", "3.0.0.0"]),
            (Type::Version("2.0"), &["2.0"], &["2.0.4", "2"]),
            (
                Type::DateTime,
                &["2009-12-08T14:33:22Z", "2009-12-08T14:33:22.5+01:00", "2009-12-08T14:33:22"],
                &[
                    "2009-12-08",
                    "08.12.2009",
                    "2009-13-08T14:33:22Z",
                    "2009-12-08T14:33Z",
                    "2009-12-08 14:33:22",
                ],
            ),
            (Type::Hex, &["", "0aFF"], &["0", "gg"]),
        ] {
            for text in right {
                assert_eq!(of.refuses(text), None, "{of:?} {text:?}");
            }
            for text in wrong {
                assert!(of.refuses(text).is_some(), "{of:?} {text:?}");
            }
        }
    }
}
