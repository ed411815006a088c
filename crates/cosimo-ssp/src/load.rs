//! From a path to a document: unpacks the archive, chooses the variant, and opens the files that a description names.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use cosimo_core::Registry;
use cosimo_core::registry::number_text;
use cosimo_pack::{ArchiveKind as Archive, Cache, archive, text, xml};
use cosimo_system::{Document, Problem, ReadError, ReadOptions, Span, System, sources};
use roxmltree::Node;

use crate::document::{ProblemLog, SspDocument, SspFileKind, offset, suggest};
use crate::tree::{ComponentContent, Connector, Mapping, Parameter, Rest, Structure};
use crate::{annotation, bindings, flatten, parameters, ssd};

/// The archive format of SSP packages.
pub const PACKAGE: Archive = Archive {
    title: "an SSP",
    noun: "package",
    folder: "ssp",
    proof: DEFAULT,
    proof_hint: "zip the contents of the folder, not the folder itself",
};
/// Parameter files may be inside FMUs.
const FMU_ARCHIVE: Archive = Archive {
    title: "an FMU",
    noun: "FMU",
    folder: "fmu",
    proof: "modelDescription.xml",
    proof_hint: "zip the contents of the FMU's folder, not the folder itself",
};
pub(crate) const DEFAULT: &str = "SystemStructure.ssd";
/// Nested structures.
const MAX_DEPTH: usize = 50;

pub(crate) const FMU: &str = "application/x-fmu-sharedlibrary";
const SSP: &str = "application/x-ssp-package";
const SSD: &str = "application/x-ssp-definition";
pub(crate) const NATIVE: &str = "application/x-cosimo-native";
pub(crate) const TABLE: &str = "text/csv";

/// Reads a structure as a system.
pub(crate) fn read(path: &Path, asked: &ReadOptions, registry: &Registry) -> Result<Document, ReadError> {
    let mut log = ProblemLog::default();
    let DescriptionPlace { folder, member, shown } = match place(path, asked, &mut log)? {
        Ok(place) => place,
        Err(()) => return Ok(document(System::default(), log, None)),
    };
    let mut loader = Loader::new(registry, &folder, shown);
    let Some(structure) = loader.structure(&mut log, &member, None) else {
        return Ok(document(System::default(), log, None));
    };
    let mut flat = flatten::flatten(&structure, &folder, registry, &mut log);
    if flat.excess {
        return Ok(document(System::default(), log, None)); // or every component would be reported
    }
    bindings::apply(&mut flat, &mut log);
    let mut system = flat.finish(&structure, &mut log);
    annotation::merge(&mut system, &structure, registry, &mut log);
    let archive = matches!(loader.shown, DisplayPath::Archive(_));
    let members = loader.shared.borrow().members.clone();
    let rest = Rest { folder, members, archive, member, system: system.clone() };
    Ok(document(system, log, Some(rest)))
}

fn document(system: System, log: ProblemLog, rest: Option<Rest>) -> Document {
    let left_out = log.left_out();
    let ProblemLog { files, mut problems, .. } = log;
    problems.sort_by_key(|problem| (problem.span.start, problem.span.end));
    problems.dedup();
    if left_out > 0 {
        let message = format!("{left_out} more problems were found and are not shown");
        problems.push(Problem::warning("ssp/more", message, 0..0));
    }
    Document { system, problems, files, rest: rest.map(|rest| Box::new(rest) as _) }
}

/// Where a description is, and how its files are named in messages.
struct DescriptionPlace {
    folder: PathBuf,
    member: String,
    shown: DisplayPath,
}

#[derive(Debug, Clone)]
pub(crate) enum DisplayPath {
    /// As a path below this one.
    Path(PathBuf),
    /// As a member of this archive.
    Archive(String),
}

impl DisplayPath {
    fn of(&self, member: &str) -> String {
        match self {
            DisplayPath::Path(folder) => folder.join(member).display().to_string(),
            DisplayPath::Archive(archive) => format!("{archive}: {member}"),
        }
    }
}

fn place(
    path: &Path,
    asked: &ReadOptions,
    log: &mut ProblemLog,
) -> Result<Result<DescriptionPlace, ()>, ReadError> {
    let shown = path.display().to_string();
    if let Err(cause) = cosimo_system::check_regular_file(path).and_then(|()| File::open(path)) {
        return Err(ReadError {
            message: format!("cannot read `{shown}`: {cause}"),
            hint: None,
            malformed: false,
        });
    }
    if path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("ssd")) {
        if let Some(variant) = &asked.variant {
            let message =
                format!("an .ssd file has no variants, got `{variant}`; only SSP packages have variants");
            log.error("ssp/variant", message, &(0..0));
            return Ok(Err(()));
        }
        let folder = path.parent().map_or_else(PathBuf::new, Path::to_owned);
        let member = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        return Ok(Ok(DescriptionPlace { shown: DisplayPath::Path(folder.clone()), folder, member }));
    }
    let unpacked = Cache::standard(&PACKAGE).unpack(path).map_err(|problem| ReadError {
        message: problem.sentence(),
        hint: problem.hint.clone(),
        malformed: true,
    })?;
    for warning in unpacked.warnings() {
        log.warning("ssp/archive", format!("{shown}: {}", warning.message), &(0..0));
    }
    let folder = unpacked.keep();
    let member = match &asked.variant {
        None => DEFAULT.to_owned(),
        Some(asked) => match variant(&folder, asked) {
            Ok(member) => member,
            Err(known) => {
                let message = format!("`{shown}` has no variant `{asked}`");
                let listed: Vec<String> = known.iter().map(|name| format!("`{name}`")).collect();
                log.hinted("ssp/variant", message, &(0..0), format!("variants are {}", listed.join(", ")));
                return Ok(Err(()));
            }
        },
    };
    Ok(Ok(DescriptionPlace { folder, member, shown: DisplayPath::Archive(shown) }))
}

/// The description of a variant, by its file name, with or without ending; or the names of all.
fn variant(folder: &Path, asked: &str) -> Result<String, Vec<String>> {
    let mut known: Vec<String> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| name.to_lowercase().ends_with(".ssd"))
        .collect();
    known.sort();
    let fits = |name: &&String| *name == asked || name.strip_suffix(".ssd") == Some(asked);
    match known.iter().find(fits) {
        Some(name) => Ok(name.clone()),
        None => Err(known),
    }
}

fn unpack(
    kind: &'static Archive,
    file: &Path,
    span: &Span,
    log: &mut ProblemLog,
) -> Option<archive::UnpackedArchive> {
    let failed = |problem: cosimo_pack::FileProblem| {
        let hint = problem.hint.clone().unwrap_or_default();
        log.hinted("ssp/unreadable", problem.sentence(), span, hint);
    };
    Cache::standard(kind).unpack(file).map_err(failed).ok()
}

/// Opens what a description names. One per description.
pub(crate) struct Loader<'a> {
    registry: &'a Registry,
    /// Relative paths of the whole system start from here.
    root: PathBuf,
    /// URIs of the present description start from here.
    folder: PathBuf,
    shown: DisplayPath,
    /// Descriptions that are being read, from the outermost to this one.
    stack: Vec<PathBuf>,
    by_id: BTreeMap<String, Rc<crate::tree::SspSystem>>,
    shared: Rc<RefCell<FileCache>>,
}

/// What all descriptions of a system have in common. Files are read once, however often they are named.
#[derive(Debug, Default)]
struct FileCache {
    structures: BTreeMap<PathBuf, Option<Rc<Structure>>>,
    values: BTreeMap<PathBuf, Vec<Parameter>>,
    mappings: BTreeMap<PathBuf, Vec<Mapping>>,
    /// Files below the outermost folder that are named anywhere.
    members: BTreeSet<PathBuf>,
}

/// A file as a description names it.
#[derive(Clone, Copy)]
pub(crate) struct NamedFile<'n> {
    pub(crate) source: &'n str,
    /// That it is inside of.
    pub(crate) component: Option<&'n str>,
    pub(crate) span: &'n Span,
}

impl<'a> Loader<'a> {
    fn new(registry: &'a Registry, folder: &Path, shown: DisplayPath) -> Loader<'a> {
        Loader {
            registry,
            root: folder.to_owned(),
            folder: folder.to_owned(),
            shown,
            stack: Vec::new(),
            by_id: BTreeMap::new(),
            shared: Rc::default(),
        }
    }

    pub(crate) fn add_system_by_id(&mut self, system: &Rc<crate::tree::SspSystem>) {
        if let Some(id) = &system.id {
            self.by_id.insert(id.clone(), system.clone());
        }
    }

    pub(crate) fn take_systems_by_id(&mut self) -> BTreeMap<String, Rc<crate::tree::SspSystem>> {
        std::mem::take(&mut self.by_id)
    }

    /// Reads a description of the current folder; `span` is the place that refers to it.
    fn structure(
        &mut self,
        log: &mut ProblemLog,
        member: &str,
        span: Option<&Span>,
    ) -> Option<Rc<Structure>> {
        let path = self.folder.join(member);
        let path = path.canonicalize().unwrap_or(path);
        if self.stack.contains(&path) || self.stack.len() >= MAX_DEPTH {
            let message = if self.stack.len() >= MAX_DEPTH {
                format!("structures are nested deeper than the limit of {MAX_DEPTH}")
            } else {
                format!("`{}` contains itself", self.shown.of(member))
            };
            log.error("ssp/circular", message, span.unwrap_or(&(0..0)));
            return None;
        }
        if let Some(known) = self.shared.borrow().structures.get(&path) {
            return known.clone();
        }
        self.stack.push(path.clone());
        let structure = self.open(log, member, SspFileKind::Description, span, |page, root, loader| {
            Rc::new(ssd::structure(page, root, loader))
        });
        self.stack.pop();
        self.shared.borrow_mut().structures.insert(path, structure.clone());
        structure
    }

    /// Parses one file and reads its root if that is of the expected kind.
    fn open<T>(
        &mut self,
        log: &mut ProblemLog,
        member: &str,
        kind: SspFileKind,
        span: Option<&Span>,
        read: impl FnOnce(&mut SspDocument<'_>, Node<'_, '_>, &mut Loader<'a>) -> T,
    ) -> Option<T> {
        let name = self.shown.of(member);
        let (content, odd) = match text::read_text(&self.folder, member) {
            Ok(found) => found,
            Err(problem) => {
                let message = format!("{name}: {}", problem.message);
                let error = Problem::error("ssp/unreadable", message, span.cloned().unwrap_or(0..0));
                log.push(Problem { hint: problem.hint, ..error });
                return None;
            }
        };
        let base = log.files.add(name, content.clone());
        if let Some(odd) = odd {
            log.warning("ssp/encoding", odd.message, &(base..base));
        }
        if content.trim().is_empty() {
            let message = format!("`{}` is empty, expected `<{}>`", self.shown.of(member), kind.root());
            log.error("ssp/xml", message, span.unwrap_or(&(0..0)));
            return None;
        }
        let document = match xml::parse(&content, member) {
            Ok(document) => document,
            Err(problem) => {
                let at = problem.place.map_or(0..content.len().min(1), |place| offset(&content, place));
                let span = base + at.start..base + at.end;
                log.push(Problem { hint: problem.hint, ..Problem::error("ssp/xml", problem.message, span) });
                return None;
            }
        };
        let mut page = SspDocument { log, text: &content, base };
        let root = document.root_element();
        page.check_root(root, kind).then(|| read(&mut page, root, self))
    }

    /// A file of the current folder by its URI, checked to exist.
    fn find(&self, page: &mut SspDocument<'_>, uri: &str, span: &Span) -> Option<String> {
        let Some(member) = text::unescaped(uri) else {
            let message = format!("the URI `{uri}` has an invalid escape");
            page.log.error("ssp/uri", message, span);
            return None;
        };
        let in_archive = matches!(self.shown, DisplayPath::Archive(_));
        let scheme = member.split_once(':').is_some_and(|(scheme, _)| !scheme.contains('/'));
        if scheme || Path::new(&member).is_absolute() {
            let message = format!("`{uri}` is not relative to the description; other URIs are not supported");
            let hint = "put the file beside the description, as in `resources/part.fmu`";
            page.log.hinted("ssp/uri", message, span, hint);
            return None;
        }
        if in_archive && archive::inside(&member).is_none() {
            let message = format!("`{uri}` is outside the package");
            page.log.error("ssp/uri", message, span);
            return None;
        }
        let path = self.folder.join(&member);
        if !path.is_file() {
            let message = format!("there is no file `{}`", self.shown.of(&member));
            let hint = suggest(&member, self.nearby(&path).iter().map(String::as_str));
            page.log.hinted("ssp/missing-file", message, span, hint);
            return None;
        }
        if let Ok(below) = path.strip_prefix(&self.root) {
            self.shared.borrow_mut().members.insert(below.to_owned());
        }
        Some(member)
    }

    /// Files in the folder of one that is missing.
    fn nearby(&self, missing: &Path) -> Vec<String> {
        let Some(folder) = missing.parent() else { return Vec::new() };
        let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let relative = |path: PathBuf| path.strip_prefix(&self.folder).ok()?.to_str().map(str::to_owned);
        let mut names: Vec<String> = files.filter_map(|entry| relative(entry.path())).collect();
        names.sort();
        names
    }

    /// What is inside a component.
    pub(crate) fn component(
        &mut self,
        page: &mut SspDocument<'_>,
        source: &str,
        of: Option<&str>,
        span: &Span,
        type_span: &Span,
    ) -> ComponentContent {
        let ending = Path::new(source.split('#').next().unwrap_or(source)).extension();
        let ends = |with: &str| ending.is_some_and(|ending| ending.eq_ignore_ascii_case(with));
        match of {
            Some(NATIVE) => ComponentContent::Simulator(source.to_owned()),
            Some(SSP | SSD) => self.nested(page, source, span),
            None if ends("ssp") || ends("ssd") => self.nested(page, source, span),
            None | Some(FMU | TABLE) => self.simulator(page, source, span),
            Some(other) => {
                let known = [FMU, SSP, SSD, TABLE, NATIVE];
                if self.registry.source(source).is_some() {
                    return self.simulator(page, source, span);
                }
                let message = format!("components of type `{other}` cannot be run");
                let hint = suggest(other, known.into_iter());
                page.log.hinted("ssp/type", message, type_span, hint);
                ComponentContent::Unknown
            }
        }
    }

    fn simulator(&mut self, page: &mut SspDocument<'_>, source: &str, span: &Span) -> ComponentContent {
        let source = match sources::proxied(source) {
            None => source,
            Some(Ok(file)) => {
                let message = format!("`{source}` is opened in this process: no proxy is started");
                page.log.warning("ssp/proxy", message, span);
                file
            }
            Some(Err(message)) => {
                let hint = "copy the FMU beside the description, as in `resources/part.fmu`";
                page.log.hinted("ssp/uri", message, span, hint);
                return ComponentContent::Unknown;
            }
        };
        let Some(member) = self.find(page, source, span) else { return ComponentContent::Unknown };
        let path = self.folder.join(&member);
        let source = path.strip_prefix(&self.root).unwrap_or(&path).to_string_lossy().into_owned();
        if self.registry.source(&source).is_none() {
            let message = format!("no kind of simulator takes `{source}`");
            let known: Vec<String> = self.registry.kinds().map(|kind| kind.summary().to_owned()).collect();
            page.log.hinted("ssp/type", message, span, format!("known are {}", known.join(", ")));
            return ComponentContent::Unknown;
        }
        ComponentContent::Simulator(source)
    }

    /// Another package or description, or a system of this one: `resources/sub.ssp#VariantB.ssd`, `#id`.
    fn nested(&mut self, page: &mut SspDocument<'_>, source: &str, span: &Span) -> ComponentContent {
        let (uri, fragment) = source.split_once('#').map_or((source, None), |(uri, part)| (uri, Some(part)));
        if let ("", Some(id)) = (uri, fragment) {
            return ComponentContent::Local(id.to_owned());
        }
        let Some(member) = self.find(page, uri, span) else { return ComponentContent::Unknown };
        let path = self.folder.join(&member);
        let (folder, inner, shown) = if member.to_lowercase().ends_with(".ssd") {
            let folder = path.parent().map_or_else(PathBuf::new, Path::to_owned);
            let inner = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let shown = match &self.shown {
                DisplayPath::Path(_) => DisplayPath::Path(folder.clone()),
                DisplayPath::Archive(archive) => {
                    let below = Path::new(&member).parent().filter(|below| !below.as_os_str().is_empty());
                    DisplayPath::Archive(
                        below.map_or(archive.clone(), |below| format!("{archive}: {}", below.display())),
                    )
                }
            };
            (folder, inner, shown)
        } else {
            let Some(unpacked) = unpack(&PACKAGE, &path, span, page.log) else {
                return ComponentContent::Unknown;
            };
            let inner = match variant(&unpacked.folder, fragment.unwrap_or(DEFAULT)) {
                Ok(inner) => inner,
                Err(known) => {
                    let message = format!("`{member}` has no variant `{}`", fragment.unwrap_or(DEFAULT));
                    page.log.hinted(
                        "ssp/variant",
                        message,
                        span,
                        format!("variants are {}", known.join(", ")),
                    );
                    return ComponentContent::Unknown;
                }
            };
            (unpacked.keep(), inner, DisplayPath::Archive(self.shown.of(&member)))
        };
        let mut loader = Loader {
            root: self.root.clone(),
            stack: std::mem::take(&mut self.stack),
            shared: self.shared.clone(),
            ..Loader::new(self.registry, &folder, shown)
        };
        let structure = loader.structure(page.log, &inner, Some(span));
        self.stack = loader.stack;
        if let Some((step, _)) = structure.as_ref().and_then(|structure| structure.settings.step.as_ref()) {
            let message = format!(
                "`{member}` asks for steps of {} s; nested structures take those of the outermost one",
                number_text(*step)
            );
            page.log.warning("ssp/settings", message, span);
        }
        structure.map_or(ComponentContent::Unknown, ComponentContent::Structure)
    }

    pub(crate) fn values(
        &mut self,
        page: &mut SspDocument<'_>,
        file: NamedFile<'_>,
    ) -> Option<Vec<Parameter>> {
        self.once(page, file, SspFileKind::Values, |shared| &mut shared.values, parameters::values)
    }

    pub(crate) fn mapping(
        &mut self,
        page: &mut SspDocument<'_>,
        file: NamedFile<'_>,
    ) -> Option<Vec<Mapping>> {
        self.once(page, file, SspFileKind::Mapping, |shared| &mut shared.mappings, parameters::mapping)
    }

    /// Reads a file, or remembers what was read.
    fn once<T: Clone>(
        &mut self,
        page: &mut SspDocument<'_>,
        file: NamedFile<'_>,
        kind: SspFileKind,
        known: fn(&mut FileCache) -> &mut BTreeMap<PathBuf, Vec<T>>,
        read: fn(&mut SspDocument<'_>, Node<'_, '_>) -> Vec<T>,
    ) -> Option<Vec<T>> {
        let (mut inside, member) = self.open_binding_source(page, file)?;
        let path = inside.as_ref().map_or(&self.folder, |loader| &loader.folder).join(&member);
        if let Some(known) = known(&mut self.shared.borrow_mut()).get(&path) {
            return Some(known.clone());
        }
        let loader = inside.as_mut().unwrap_or(self);
        let read = loader.open(page.log, &member, kind, Some(file.span), |page, root, _| read(page, root))?;
        known(&mut self.shared.borrow_mut()).insert(path, read.clone());
        Some(read)
    }

    /// A file beside the description, or inside of a component.
    fn open_binding_source(
        &mut self,
        page: &mut SspDocument<'_>,
        file: NamedFile<'_>,
    ) -> Option<(Option<Loader<'a>>, String)> {
        let NamedFile { source, component, span } = file;
        let Some(component) = component else { return Some((None, self.find(page, source, span)?)) };
        let fmu = self.find(page, component, span)?;
        let unpacked = unpack(&FMU_ARCHIVE, &self.folder.join(&fmu), span, page.log)?;
        let shown = DisplayPath::Archive(self.shown.of(&fmu));
        let inside = Loader::new(self.registry, &unpacked.keep(), shown);
        let member = inside.find(page, source, span)?;
        Some((Some(inside), member))
    }

    pub(crate) fn dictionary(
        &mut self,
        page: &mut SspDocument<'_>,
        source: &str,
        span: &Span,
    ) -> Option<Vec<Connector>> {
        let member = self.find(page, source, span)?;
        self.open(page.log, &member, SspFileKind::Dictionary, Some(span), |page, root, _| {
            ssd::entries(page, root)
        })
    }
}
