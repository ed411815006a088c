//! JSON schemas, draft 2020-12, of what programs read: each follows from the struct that is written.

use std::borrow::Cow;

use cosimo_analysis::error_bars::Accuracy;
use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde_json::{Value as Json, json};

/// Structs of JSON output, with every member required and no other allowed. Where a struct has arguments, each member
/// has the expression it is computed from, and `new` evaluates them all.
macro_rules! objects {
    () => {};
    ($(#[$attribute:meta])* pub struct $name:ident { $($members:tt)* } $($more:tt)*) => {
        #[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
        #[schemars(deny_unknown_fields)]
        $(#[$attribute])*
        #[allow(missing_docs)] // doc comments of members become descriptions in the schema
        pub struct $name { $($members)* }
        objects! { $($more)* }
    };
    ($(#[$attribute:meta])* pub struct $name:ident($($argument:ident: $type:ty),*) {
        $($(#[$about:meta])* $member:ident: $kind:ty = $value:expr,)*
    } $($more:tt)*) => {
        objects! { $(#[$attribute])* pub struct $name { $($(#[$about])* pub $member: $kind,)* } }
        impl $name {
            #[allow(missing_docs)]
            pub fn new($($argument: $type),*) -> $name {
                $name { $($member: $value,)* }
            }
        }
        objects! { $($more)* }
    };
}
pub(crate) use objects;

/// The schema of a file or of a command's output.
#[derive(Debug)]
pub struct OutputSchema {
    /// Argument of `cosimo schema`.
    pub name: &'static str,
    /// One line for the help.
    pub summary: &'static str,
    /// Builds the schema.
    pub schema: fn() -> Json,
}

/// All schemas; the first is that of system files.
pub const SCHEMAS: &[OutputSchema] = &[
    OutputSchema {
        name: "system",
        summary: "System files",
        schema: || cosimo_system::schema::json_schema(&crate::registry()),
    },
    OutputSchema {
        name: "certificate",
        summary: "What `cosimo run --certificate` writes",
        schema: crate::certificate::schema,
    },
    OutputSchema {
        name: "summary",
        summary: "What `cosimo run --summary-json` writes",
        schema: || schema::<crate::observers::RunSummary>(true),
    },
    OutputSchema {
        name: "check",
        summary: "What `cosimo check --json` prints",
        schema: || schema::<crate::check::CheckReport>(true),
    },
    OutputSchema {
        name: "verify",
        summary: "What `cosimo verify --json` prints",
        schema: || schema::<FileOutput<'_, cosimo_analysis::verify::Verification>>(true),
    },
    OutputSchema {
        name: "compare",
        summary: "What `cosimo compare --json` prints",
        schema: || schema::<cosimo_record::compare::Comparison>(true),
    },
    #[cfg(feature = "fmi")]
    OutputSchema {
        name: "info",
        summary: "What `cosimo info --json` prints",
        schema: || schema::<crate::info::FmuInfo>(true),
    },
];

/// What was found, behind the system that it is about.
#[derive(Debug, serde::Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[allow(missing_docs)] // doc comments of members become descriptions in the schema
pub struct FileOutput<'a, T> {
    /// As on the command line.
    pub file: &'a str,
    #[serde(flatten)]
    pub found: T,
}

/// The accuracy of signals as a member of files: any number in it may be null.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(transparent)]
pub struct AccuracyObject(pub Accuracy);

impl Default for AccuracyObject {
    fn default() -> AccuracyObject {
        AccuracyObject(Accuracy::unknown(f64::NAN, String::new()))
    }
}

impl JsonSchema for AccuracyObject {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        Accuracy::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = Accuracy::json_schema(generator);
        RecursiveTransform(nullable).transform(&mut schema);
        schema
    }
}

/// JSON has neither infinities nor NaN: they are null.
fn nullable(schema: &mut Schema) {
    if schema.get("type") == Some(&json!("number")) {
        schema.insert("type".into(), json!(["number", "null"]));
    }
}

/// The schema of a struct inside of another.
pub(crate) fn part<T: JsonSchema>() -> Json {
    let mut part = schema::<T>(true);
    part.as_object_mut().and_then(|part| part.shift_remove("$schema"));
    part
}

/// The schema of a struct; with `null_numbers` any number can be null.
pub(crate) fn schema<T: JsonSchema>(null_numbers: bool) -> Json {
    let mut settings = SchemaSettings::draft2020_12().for_serialize();
    settings.inline_subschemas = true;
    // `double` and `uint64` are formats of OpenAPI, and titles would be names of Rust types.
    let plain = move |schema: &mut Schema| {
        ["format", "title"].iter().for_each(|key| drop(schema.remove(*key)));
        if null_numbers {
            nullable(schema);
        }
    };
    settings.with_transform(RecursiveTransform(plain)).into_generator().into_root_schema_for::<T>().into()
}
