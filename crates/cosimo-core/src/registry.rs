//! The registry: every method, simulator kind, reference model and result format as a named entry with declared options.
//! Parsing, help, schema, suggestions and the test matrix all come from these lists.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::interface::Needs;
use crate::method::{
    Correction, Estimate, ExtrapolationChoice, Iteration, JacobianSource, Partition, Steadiness,
    StepController,
};
use crate::recorder::{Columns, RecordError, Table, TableError, TableWriter};
use crate::simulator::Simulator;
use crate::unit::Unit;

/// A value as files and command lines give it.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Also whole numbers.
    Number(f64),
    /// `true` or `false`.
    Flag(bool),
    /// A quoted string.
    Text(String),
    /// Values in brackets.
    List(Vec<Value>),
    /// Keys with values, in order.
    Table(Vec<(String, Value)>),
}

impl Value {
    /// Its number, if it is one.
    pub fn number(&self) -> Option<f64> {
        if let Value::Number(number) = self { Some(*number) } else { None }
    }

    fn text(&self) -> Option<&str> {
        if let Value::Text(text) = self { Some(text) } else { None }
    }

    /// For messages.
    pub fn describe(&self) -> String {
        match self {
            Value::Number(number) => number_text(*number),
            Value::Flag(flag) => flag.to_string(),
            Value::Text(text) => format!("\"{text}\""),
            Value::List(_) => "a list".into(),
            Value::Table(_) => "a table".into(),
        }
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Value {
        Value::Number(number)
    }
}

impl From<bool> for Value {
    fn from(flag: bool) -> Value {
        Value::Flag(flag)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::Text(text.into())
    }
}

/// 1e-6 rather than 0.000001.
pub fn number_text(number: f64) -> String {
    if number == 0.0 || (1e-3..1e6).contains(&number.abs()) {
        number.to_string()
    } else {
        format!("{number:e}")
    }
}

/// One option of a method, or one parameter of a model: declared once, for parsing, help and schema.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spec {
    /// The key in files.
    pub name: &'static str,
    /// What it does, in one line of help.
    pub doc: &'static str,
    /// It is read only at initialization.
    pub initial: bool,
    /// Type, default and bounds.
    pub kind: OptionKind,
}

/// Type of an option, with its default and bounds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum OptionKind {
    /// Without a default it is optional.
    Number {
        /// `None`: not set.
        default: Option<f64>,
        /// Values that are accepted.
        range: Range,
        /// Physical unit; empty where there is none.
        unit: &'static str,
    },
    /// A whole number.
    Count {
        /// Where the file has none.
        default: u32,
        /// The smallest allowed value.
        least: u32,
    },
    /// One of several words.
    Choice {
        /// Where the file has none.
        default: &'static str,
        /// The allowed words.
        of: &'static [&'static str],
    },
    /// On or off.
    Flag {
        /// Where the file has none.
        default: bool,
    },
    /// A list of names, empty by default.
    Names,
    /// Rows of numbers, empty by default; a list of numbers is one row.
    Matrix,
}

/// Numbers that an option accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Range {
    /// Any but NaN and infinity.
    Finite,
    /// Above 0.
    Positive,
    /// 0 or above.
    NotNegative,
    /// 0 to 1, both included.
    Unit,
}

impl Range {
    /// Whether a number is in the range.
    pub fn holds(self, number: f64) -> bool {
        number.is_finite()
            && match self {
                Range::Finite => true,
                Range::Positive => number > 0.0,
                Range::NotNegative => number >= 0.0,
                Range::Unit => (0.0..=1.0).contains(&number),
            }
    }

    /// For messages: `must be ..`.
    pub fn text(self) -> &'static str {
        match self {
            Range::Finite => "a finite number",
            Range::Positive => "a finite number above 0",
            Range::NotNegative => "a finite number of at least 0",
            Range::Unit => "a number from 0 to 1",
        }
    }
}

impl Spec {
    /// A number that is read only at initialization.
    pub const fn initial(
        name: &'static str,
        default: f64,
        range: Range,
        unit: &'static str,
        doc: &'static str,
    ) -> Spec {
        Spec { initial: true, ..Spec::number(name, default, range, unit, doc) }
    }

    /// A number with a default.
    pub const fn number(
        name: &'static str,
        default: f64,
        range: Range,
        unit: &'static str,
        doc: &'static str,
    ) -> Spec {
        Spec { name, doc, initial: false, kind: OptionKind::Number { default: Some(default), range, unit } }
    }

    /// A number that need not be set.
    pub const fn optional(name: &'static str, range: Range, unit: &'static str, doc: &'static str) -> Spec {
        Spec { name, doc, initial: false, kind: OptionKind::Number { default: None, range, unit } }
    }

    /// A whole number with a default and a smallest value.
    pub const fn count(name: &'static str, default: u32, least: u32, doc: &'static str) -> Spec {
        Spec { name, doc, initial: false, kind: OptionKind::Count { default, least } }
    }

    /// One of several words.
    pub const fn choice(
        name: &'static str,
        default: &'static str,
        of: &'static [&'static str],
        doc: &'static str,
    ) -> Spec {
        Spec { name, doc, initial: false, kind: OptionKind::Choice { default, of } }
    }

    /// On or off.
    pub const fn flag(name: &'static str, default: bool, doc: &'static str) -> Spec {
        Spec { name, doc, initial: false, kind: OptionKind::Flag { default } }
    }

    /// A list of names, empty by default.
    pub const fn names(name: &'static str, doc: &'static str) -> Spec {
        Spec { name, doc, initial: false, kind: OptionKind::Names }
    }

    /// Rows of numbers, empty by default.
    pub const fn matrix(name: &'static str, doc: &'static str) -> Spec {
        Spec { name, doc, initial: false, kind: OptionKind::Matrix }
    }

    /// The expected values, for messages.
    pub fn expected(&self) -> String {
        match self.kind {
            OptionKind::Number { range, .. } => range.text().into(),
            OptionKind::Count { least, .. } => format!("a whole number of at least {least}"),
            OptionKind::Choice { of, .. } => format!("one of {}", quoted(of)),
            OptionKind::Flag { .. } => "true or false".into(),
            OptionKind::Names => "a list of names".into(),
            OptionKind::Matrix => "a list of finite numbers, or of rows of equal length".into(),
        }
    }

    /// The default, as a file would spell it.
    pub fn default_text(&self) -> String {
        match self.kind {
            OptionKind::Number { default: Some(default), .. } => number_text(default),
            OptionKind::Number { default: None, .. } => "not set".into(),
            OptionKind::Count { default, .. } => default.to_string(),
            OptionKind::Choice { default, .. } => format!("\"{default}\""),
            OptionKind::Flag { default } => default.to_string(),
            OptionKind::Names | OptionKind::Matrix => "[]".into(),
        }
    }

    fn default_value(&self) -> Option<Value> {
        match self.kind {
            OptionKind::Number { default, .. } => default.map(Value::Number),
            OptionKind::Count { default, .. } => Some(Value::Number(f64::from(default))),
            OptionKind::Choice { default, .. } => Some(Value::Text(default.into())),
            OptionKind::Flag { default } => Some(Value::Flag(default)),
            OptionKind::Names | OptionKind::Matrix => Some(Value::List(Vec::new())),
        }
    }

    fn accepts(&self, value: &Value) -> bool {
        match (self.kind, value) {
            (OptionKind::Number { range, .. }, Value::Number(number)) => range.holds(*number),
            (OptionKind::Count { least, .. }, Value::Number(number)) => {
                number.fract() == 0.0 && *number >= f64::from(least) && *number <= f64::from(u32::MAX)
            }
            (OptionKind::Choice { of, .. }, Value::Text(text)) => of.contains(&text.as_str()),
            (OptionKind::Flag { .. }, Value::Flag(_)) => true,
            (OptionKind::Names, Value::List(items)) => {
                items.iter().all(|item| matches!(item, Value::Text(_)))
            }
            (OptionKind::Matrix, value) => {
                let rows = matrix_rows(value).unwrap_or_else(|| vec![vec![f64::NAN]]);
                let width = rows.first().map_or(0, Vec::len);
                rows.iter().all(|row| row.len() == width && row.iter().all(|number| number.is_finite()))
            }
            _ => false,
        }
    }
}

/// The rows of a list of lists of numbers; a list of numbers is one row.
fn matrix_rows(value: &Value) -> Option<Vec<Vec<f64>>> {
    let Value::List(items) = value else { return None };
    let numbers = |items: &[Value]| items.iter().map(Value::number).collect::<Option<Vec<f64>>>();
    let row = |item: &Value| if let Value::List(items) = item { numbers(items) } else { None };
    match items.first() {
        Some(Value::Number(_)) => numbers(items).map(|row| vec![row]),
        _ => items.iter().map(row).collect(),
    }
}

/// Options after checking: every declared one has its value.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Options(Vec<(&'static str, Value)>);

/// What is wrong with one given option.
#[derive(Debug, Clone, PartialEq)]
pub struct OptionProblem {
    /// The key in the file.
    pub key: String,
    /// What is wrong with its value.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl Options {
    /// Checks given values against the declarations; all problems at once.
    pub fn resolve(
        owner: &str,
        specs: &[Spec],
        given: &[(String, Value)],
    ) -> Result<Options, Vec<OptionProblem>> {
        let mut problems = Vec::new();
        for (key, value) in given {
            match specs.iter().find(|spec| spec.name == key) {
                None => problems.push(OptionProblem {
                    key: key.clone(),
                    message: format!("{owner} has no `{key}`"),
                    hint: Some(suggest(key, specs.iter().map(|spec| spec.name))),
                }),
                Some(spec) if !spec.accepts(value) => problems.push(OptionProblem {
                    key: key.clone(),
                    message: format!(
                        "`{key}` of {owner} must be {}, got {}",
                        spec.expected(),
                        value.describe()
                    ),
                    hint: None,
                }),
                Some(_) => {}
            }
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        let value_of = |spec: &Spec| {
            let given = given.iter().rev().find(|(key, _)| key == spec.name).map(|(_, value)| value.clone());
            Some((spec.name, given.or_else(|| spec.default_value())?))
        };
        Ok(Options(specs.iter().filter_map(value_of).collect()))
    }

    fn get(&self, name: &str) -> Option<&Value> {
        self.0.iter().find(|(key, _)| *key == name).map(|(_, value)| value)
    }

    /// A declared option with a value. Reading any other one is a bug in the entry, found by its first test.
    fn declared<'v, T>(&'v self, name: &str, kind: &str, of: fn(&'v Value) -> Option<T>) -> T {
        let value = self.get(name);
        value
            .and_then(of)
            .unwrap_or_else(|| unreachable!("option `{name}` is not a declared {kind}: {value:?}"))
    }

    /// Value of a number.
    pub fn number(&self, name: &str) -> f64 {
        self.declared(name, "number", Value::number)
    }

    /// Value of a number that need not be set.
    pub fn optional(&self, name: &str) -> Option<f64> {
        self.get(name).and_then(Value::number)
    }

    /// Value of a whole number.
    pub fn count(&self, name: &str) -> usize {
        self.number(name) as usize
    }

    /// Value of a choice.
    pub fn text(&self, name: &str) -> &str {
        self.declared(name, "choice", Value::text)
    }

    /// Value of a flag.
    pub fn flag(&self, name: &str) -> bool {
        self.declared(name, "flag", |value| if let Value::Flag(flag) = value { Some(*flag) } else { None })
    }

    /// Value of a list of names.
    pub fn names(&self, name: &str) -> Vec<String> {
        self.declared(name, "list", |value| match value {
            Value::List(items) => Some(items.iter().filter_map(Value::text).map(str::to_owned).collect()),
            _ => None,
        })
    }

    /// Rows of a matrix.
    pub fn matrix(&self, name: &str) -> Vec<Vec<f64>> {
        self.declared(name, "matrix", matrix_rows)
    }

    /// All values, in the order of declaration.
    pub fn values(&self) -> &[(&'static str, Value)] {
        &self.0
    }
}

/// `did you mean ..?` or the list of known names.
pub fn suggest<'a>(wrong: &str, known: impl Iterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.collect();
    let near = known
        .iter()
        .map(|candidate| (strsim::damerau_levenshtein(wrong, candidate), *candidate))
        .filter(|(distance, candidate)| {
            let longest = candidate.len().max(wrong.len());
            *distance <= 1 + longest / 4 && *distance < longest // one letter is no near miss of another
        })
        .min();
    match near {
        Some((_, candidate)) => format!("did you mean `{candidate}`?"),
        None if known.is_empty() => "there is none to choose from".into(),
        None if known.len() > 12 => {
            format!("known are {} and {} more", quoted(&known[..12]), known.len() - 12)
        }
        None => format!("known are {}", quoted(known)),
    }
}

/// Words for a message, each in backticks.
pub fn quoted<W: std::fmt::Display>(words: impl IntoIterator<Item = W>) -> String {
    words.into_iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

/// A method in the registry.
pub struct MethodEntry<T: ?Sized> {
    /// As files spell it.
    pub name: &'static str,
    /// One line for listings.
    pub summary: &'static str,
    /// Paper and equation.
    pub source: &'static str,
    /// With which power of the step size its error or its estimate falls, as text; empty where that means nothing.
    pub order: &'static str,
    /// Declarations, checked before `build`.
    pub options: &'static [Spec],
    /// Requirements, with these options.
    pub needs: fn(&Options) -> Needs,
    /// The method, with these options.
    pub build: fn(&Options) -> Box<T>,
}

impl<T: ?Sized> std::fmt::Debug for MethodEntry<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Entry({})", self.name)
    }
}

/// A simulator, or all reasons why it could not be opened.
pub type OpenResult = Result<Box<dyn Simulator>, Vec<OpenProblem>>;

/// A kind of simulator, by the `source` strings it opens. It may hold data: a closure, an interpreter, a parsed model.
///
/// ```
/// use cosimo_core::Source;
/// use cosimo_core::registry::{OpenProblem, OpenRequest, OpenResult};
///
/// /// Opens `script:NAME`.
/// struct Script;
///
/// impl Source for Script {
///     fn name(&self) -> &str {
///         "script"
///     }
///     fn summary(&self) -> &str {
///         "a script"
///     }
///     fn claims(&self, source: &str) -> bool {
///         source.starts_with("script:")
///     }
///     fn open(&self, request: &OpenRequest<'_>) -> OpenResult {
///         // Here it would return a `Simulator`.
///         let message = format!("`{}` cannot be run", request.source);
///         Err(vec![OpenProblem { parameter: None, message, hint: None }])
///     }
/// }
/// let mut registry = cosimo_core::Registry::default();
/// registry.add_source(Script);
/// assert!(registry.source("script:a").is_some());
/// ```
pub trait Source: Send + Sync {
    /// For messages, such as `fmu`.
    fn name(&self) -> &str;

    /// For messages, in a few words.
    fn summary(&self) -> &str;

    /// Whether it opens this `source` of a component.
    fn claims(&self, source: &str) -> bool;

    /// Opens a source with its parameters.
    fn open(&self, request: &OpenRequest<'_>) -> OpenResult;

    /// Parameters that a source takes; the folder is where relative paths start.
    fn parameters(&self, _source: &str, _folder: &Path) -> Vec<Parameter> {
        Vec::new()
    }

    /// What it can offer by name; empty for kinds that come from files.
    fn models(&self) -> Vec<ModelInfo> {
        Vec::new()
    }

    /// The same kind with these formats of result files, where it reads such files.
    fn with_formats(&self, _formats: &[&'static FormatEntry]) -> Option<Arc<dyn Source>> {
        None
    }

    /// Makes one simulator of several, with one solver, if the kind supports that.
    fn join(&self, _request: &JoinRequest<'_>) -> Option<JoinResult> {
        None
    }

    /// Whether it supports `join`.
    fn joins(&self) -> bool {
        false
    }
}

impl std::fmt::Debug for dyn Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Source({})", self.name())
    }
}

/// A kind of simulator without data of its own.
#[derive(Debug)]
pub struct SourceEntry {
    /// [`Source::name`].
    pub name: &'static str,
    /// [`Source::summary`].
    pub summary: &'static str,
    /// [`Source::claims`].
    pub claims: fn(&str) -> bool,
    /// [`Source::open`].
    pub open: fn(&OpenRequest<'_>) -> OpenResult,
    /// Parameters that a source takes; the folder is where relative paths start.
    pub parameters: fn(&str, &Path) -> Vec<Parameter>,
    /// What it can offer by name; empty for kinds that come from files.
    pub models: fn() -> Vec<ModelInfo>,
    /// [`Source::join`], if the kind supports it.
    pub join: Option<fn(&JoinRequest<'_>) -> JoinResult>,
}

impl Source for &'static SourceEntry {
    fn name(&self) -> &str {
        self.name
    }
    fn summary(&self) -> &str {
        self.summary
    }
    fn claims(&self, source: &str) -> bool {
        (self.claims)(source)
    }
    fn open(&self, request: &OpenRequest<'_>) -> OpenResult {
        (self.open)(request)
    }
    fn parameters(&self, source: &str, folder: &Path) -> Vec<Parameter> {
        (self.parameters)(source, folder)
    }
    fn models(&self) -> Vec<ModelInfo> {
        (self.models)()
    }
    fn join(&self, request: &JoinRequest<'_>) -> Option<JoinResult> {
        self.join.map(|join| join(request))
    }
    fn joins(&self) -> bool {
        self.join.is_some()
    }
}

/// What is known of a parameter before its source is opened.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameter {
    /// As the source calls it.
    pub name: String,
    /// `None` where it is not known.
    pub unit: Option<Unit>,
    /// The value where none is given; `None` where that is not known.
    pub default: Option<Value>,
}

impl From<&Spec> for Parameter {
    fn from(spec: &Spec) -> Parameter {
        let unit = match spec.kind {
            OptionKind::Number { unit, .. } => Unit::parse(unit).ok(),
            _ => None,
        };
        Parameter { name: spec.name.to_owned(), unit, default: spec.default_value() }
    }
}

/// A component that is to be opened.
#[derive(Debug)]
pub struct OpenRequest<'a> {
    /// Its name in the system.
    pub name: &'a str,
    /// As the system file has it: a path or the name of a model.
    pub source: &'a str,
    /// Relative paths start here.
    pub folder: &'a Path,
    /// As given, not yet checked.
    pub parameters: &'a [(String, Value)],
    /// It is opened only for its interface, and will be joined with others.
    pub joined: bool,
}

/// Several components that are to be one simulator. Its inputs are those of the members that are not driven from
/// inside alone, its outputs all outputs of the members, both member by member; names begin with that of the member.
#[derive(Debug)]
pub struct JoinRequest<'a> {
    /// Of the new simulator.
    pub name: &'a str,
    /// The components, in the order of their outputs.
    pub members: &'a [OpenRequest<'a>],
    /// One per input that is driven from inside.
    pub connections: &'a [InnerConnection],
    /// As parameters of a component.
    pub options: &'a [(String, Value)],
}

/// What drives an input from inside: a constant and a sum of outputs.
#[derive(Debug, Clone, PartialEq)]
pub struct InnerConnection {
    /// Member and input.
    pub to: (usize, usize),
    /// Member, output and gain.
    pub terms: Vec<(usize, usize, f64)>,
    /// Added to the sum.
    pub constant: f64,
    /// Something else is added from outside.
    pub outside: bool,
    /// A first guess, if it is in a loop.
    pub start: Option<f64>,
}

/// Problems come with the index of the member; `None` is the whole.
pub type JoinResult = Result<Box<dyn Simulator>, Vec<(Option<usize>, OpenProblem)>>;

/// Why a source did not open.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenProblem {
    /// The parameter with the problem; `None` for the source itself.
    pub parameter: Option<String>,
    /// For users.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

/// A model that a source offers by name.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelInfo {
    /// What `source` has to be.
    pub name: String,
    /// One line for listings.
    pub summary: &'static str,
    /// Declarations.
    pub parameters: &'static [Spec],
}

/// The monolithic reference of a system, to compare with.
#[derive(Debug)]
pub struct ReferenceEntry {
    /// As the system file and the command line spell it.
    pub name: &'static str,
    /// One line for listings.
    pub summary: &'static str,
    /// Declarations.
    pub parameters: &'static [Spec],
    /// Names of outputs, in the order of `solve`.
    pub columns: &'static [&'static str],
    /// One row of columns per instant, from the time of the start and instants since then, which ascend. The states have
    /// their start values at the start; equations that depend on time get the time of the clock. Instants before 0 occur
    /// only where `history`.
    pub solve: fn(&Options, f64, &[f64]) -> Vec<Vec<f64>>,
    /// Whether it can be continued to before the start.
    pub history: bool,
}

/// A result file, or why it could not be created.
pub type CreateResult = Result<Box<dyn TableWriter>, RecordError>;

/// A format of result files, by the endings of their names.
#[derive(Debug)]
pub struct FormatEntry {
    /// For messages.
    pub name: &'static str,
    /// What it is, a colon, and what it is good for.
    pub summary: &'static str,
    /// Without the dot, the usual one first.
    pub endings: &'static [&'static str],
    /// A text format, also written by hand: without physical units, with one NaN only, and it may end after any line.
    pub text: bool,
    /// Creates the file with its header.
    pub create: fn(&Path, &Columns) -> CreateResult,
    /// Opens a file with the same columns again and truncates it at the bookmark.
    pub resume: fn(&Path, &Columns, &[u8]) -> CreateResult,
    /// Reads a whole file.
    pub read: fn(&Path) -> Result<Table, TableError>,
}

/// A file name whose ending belongs to no format.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("`{}` has {}; a result file is expected", file.display(), self.ending())]
pub struct UnknownFormat {
    /// The file in question.
    pub file: PathBuf,
    /// Known endings and the summaries of their formats.
    pub known: Vec<(&'static str, &'static str)>,
}

impl UnknownFormat {
    fn ending(&self) -> String {
        match self.file.extension() {
            Some(ending) => format!("the unknown ending `.{}`", ending.display()),
            None => "no ending".into(),
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> String {
        let known: Vec<String> =
            self.known.iter().map(|(ending, summary)| format!("`.{ending}` ({summary})")).collect();
        if known.is_empty() { "no format is known".into() } else { format!("known are {}", known.join(", ")) }
    }
}

/// Looks a format up by the ending of a file's name.
pub fn format_of(
    formats: &[&'static FormatEntry],
    file: &Path,
) -> Result<&'static FormatEntry, UnknownFormat> {
    let ending = file.extension().unwrap_or_default();
    let has = |format: &&&'static FormatEntry| {
        format.endings.iter().any(|known| ending.eq_ignore_ascii_case(known))
    };
    formats.iter().find(has).copied().ok_or_else(|| UnknownFormat {
        file: file.into(),
        known: formats.iter().filter_map(|format| Some((*format.endings.first()?, format.summary))).collect(),
    })
}

/// The usual endings of formats, as in `.csv, .arrow or .mat`; with `strengths`, each followed by the part of its summary
/// behind the colon.
pub fn endings_text(formats: &[&'static FormatEntry], strengths: bool) -> String {
    let ending = |format: &&'static FormatEntry| {
        let strength = format.summary.split_once(": ").filter(|_| strengths);
        let strength = strength.map_or(String::new(), |(_, strength)| format!(" ({strength})"));
        format!(".{}{strength}", format.endings.first().unwrap_or(&""))
    };
    match formats.iter().map(ending).collect::<Vec<_>>().split_last() {
        Some((last, [])) => last.clone(),
        Some((last, before)) => format!("{} or {last}", before.join(", ")),
        None => String::new(),
    }
}

/// All entries, in the order of listings.
#[derive(Debug, Default, Clone)]
pub struct Registry {
    /// Axis `partition`.
    pub partitions: Vec<&'static MethodEntry<dyn Partition>>,
    /// Axis `iteration`.
    pub iterations: Vec<&'static MethodEntry<dyn Iteration>>,
    /// Axis `input`: extrapolations.
    pub inputs: Vec<&'static MethodEntry<dyn ExtrapolationChoice>>,
    /// Axis `correction`.
    pub corrections: Vec<&'static MethodEntry<dyn Correction>>,
    /// Axis `jacobian`.
    pub jacobians: Vec<&'static MethodEntry<dyn JacobianSource>>,
    /// Axis `estimate`.
    pub estimates: Vec<&'static MethodEntry<dyn Estimate>>,
    /// Axis `controller`.
    pub controllers: Vec<&'static MethodEntry<dyn StepController>>,
    /// Axis `steadiness`, of transmission lines.
    pub steadiness: Vec<&'static MethodEntry<dyn Steadiness>>,
    /// Kinds of simulators; the first that claims a source opens it.
    pub sources: Vec<Arc<dyn Source>>,
    /// Monolithic references of the built-in systems.
    pub references: Vec<&'static ReferenceEntry>,
    /// Formats of result files.
    pub formats: Vec<&'static FormatEntry>,
}

/// What a listing needs of an entry, whatever it builds.
#[derive(Debug, Clone, Copy)]
pub struct EntryListing {
    /// [`MethodEntry::name`].
    pub name: &'static str,
    /// [`MethodEntry::summary`].
    pub summary: &'static str,
    /// [`MethodEntry::source`].
    pub source: &'static str,
    /// [`MethodEntry::order`].
    pub order: &'static str,
    /// [`MethodEntry::options`].
    pub options: &'static [Spec],
    /// [`MethodEntry::needs`].
    pub needs: fn(&Options) -> Needs,
}

fn listed<T: ?Sized>(entries: &[&'static MethodEntry<T>]) -> Vec<EntryListing> {
    entries
        .iter()
        .map(|e| EntryListing {
            name: e.name,
            summary: e.summary,
            source: e.source,
            order: e.order,
            options: e.options,
            needs: e.needs,
        })
        .collect()
}

impl Registry {
    /// Adds a kind of simulator.
    pub fn add_source(&mut self, source: impl Source + 'static) {
        self.sources.push(Arc::new(source));
    }

    /// All kinds of simulators, with the registered formats.
    pub fn kinds(&self) -> impl Iterator<Item = Arc<dyn Source>> {
        let kind =
            |kind: &Arc<dyn Source>| kind.with_formats(&self.formats).unwrap_or_else(|| Arc::clone(kind));
        self.sources.iter().map(kind)
    }

    /// The known kinds, for messages about a source that no kind claims.
    pub fn known_kinds(&self) -> String {
        let kinds: Vec<String> =
            self.kinds().map(|kind| format!("`{}` ({})", kind.name(), kind.summary())).collect();
        match kinds.is_empty() {
            true => "no kind of simulator is known".into(),
            false => format!("known kinds are {}", kinds.join(", ")),
        }
    }

    /// The kind that claims a source.
    pub fn source(&self, source: &str) -> Option<Arc<dyn Source>> {
        self.kinds().find(|kind| kind.claims(source))
    }

    /// Every axis with its entries.
    pub fn axes(&self) -> Vec<(&'static str, Vec<EntryListing>)> {
        vec![
            ("partition", listed(&self.partitions)),
            ("iteration", listed(&self.iterations)),
            ("input", listed(&self.inputs)),
            ("correction", listed(&self.corrections)),
            ("jacobian", listed(&self.jacobians)),
            ("estimate", listed(&self.estimates)),
            ("controller", listed(&self.controllers)),
            ("steadiness", listed(&self.steadiness)),
        ]
    }
}

/// Looks an entry up by name.
pub fn find<T: ?Sized>(entries: &[&'static MethodEntry<T>], name: &str) -> Option<&'static MethodEntry<T>> {
    entries.iter().find(|entry| entry.name == name).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPECS: &[Spec] = &[
        Spec::number("gain", 0.5, Range::Unit, "", "how much"),
        Spec::choice("form", "account", &["account", "paper"], "which"),
        Spec::count("steps", 4, 1, "how many"),
        Spec::optional("scale", Range::Positive, "J", "how large"),
    ];

    fn given(key: &str, value: Value) -> Vec<(String, Value)> {
        vec![(key.into(), value)]
    }

    #[test]
    fn defaults_fill_what_is_not_given() {
        let options = Options::resolve("it", SPECS, &given("gain", Value::Number(1.0))).unwrap();
        assert_eq!(
            (options.number("gain"), options.text("form"), options.count("steps")),
            (1.0, "account", 4)
        );
        assert_eq!(options.optional("scale"), None);
    }

    #[test]
    fn all_problems_come_at_once_and_near_misses_are_named() {
        let given = vec![
            ("gian".to_string(), Value::Number(0.1)),
            ("gain".to_string(), Value::Number(f64::NAN)),
            ("steps".to_string(), Value::Number(1.5)),
            ("form".to_string(), Value::Text("papers".into())),
        ];
        let problems = Options::resolve("`nepce`", SPECS, &given).unwrap_err();
        assert_eq!(problems.len(), 4);
        assert_eq!(problems[0].message, "`nepce` has no `gian`");
        assert_eq!(problems[0].hint.as_deref(), Some("did you mean `gain`?"));
        assert_eq!(problems[1].message, "`gain` of `nepce` must be a number from 0 to 1, got NaN");
        assert_eq!(problems[2].message, "`steps` of `nepce` must be a whole number of at least 1, got 1.5");
    }
}
