//! `cargo xtask mutants [--seed N] [--count N] [--crate NAME] [--at TEXT] [--list]`: changes random operators of the crates that
//! compute, and asks the tests of the changed crate whether they notice.
//!
//! All mutants of a sample are compiled once (mutant schemata; Untch, Offutt & Harrold 1993): in a copy of the workspace under
//! `target/mutants`, each drawn place becomes `if crate::__mutant(17) { L - R } else { L + R }`, and a variable of the environment
//! chooses the mutant of a process. A first pass without any mutant notes which test comes to which places; a mutant is then
//! shown to these tests only, the quickest first, until one of them fails. A mutant that takes a test's time several times is
//! caught, too.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{BinOp, Expr, UnOp};

use crate::{TaskResult, command};

const CRATES: [&str; 3] = ["cosimo-core", "cosimo-methods", "cosimo-engine"];

/// Binaries of tests that are left out: the allocations they count are partly those of the changed code itself.
const LEFT_OUT: &[&str] = &["allocation"];

/// Tests that take longer than this without a mutant are left out, and named.
const SLOW: Duration = Duration::from_secs(20);

/// The least time that a test gets with a mutant; it also gets this many times its own.
const PATIENCE: Duration = Duration::from_secs(20);
const TIMES: u32 = 5;

/// Which mutant is active, and the file that lists the places that were reached where none is.
const ACTIVE: &str = "COSIMO_MUTANT";
const REACHED: &str = "COSIMO_MUTANTS_REACHED";

/// An operator and what it is replaced with.
#[derive(Clone)]
struct Place {
    crate_name: &'static str,
    /// Relative to the workspace.
    file: PathBuf,
    line: usize,
    /// Of the whole expression, and of the operator in it, in bytes of the file.
    expression: Range<usize>,
    operator: Range<usize>,
    was: String,
    becomes: &'static str,
    /// The expression, for people.
    text: String,
}

struct Asked {
    seed: u64,
    count: usize,
    crate_name: Option<String>,
    at: String,
    list: bool,
}

pub(crate) fn run(root: &Path, arguments: &[String]) -> TaskResult {
    let asked = asked(arguments)?;
    let mut sources = BTreeMap::new();
    let mut places = Vec::new();
    for crate_name in CRATES {
        for file in sources_of(root, crate_name)? {
            let text = read(&root.join(&file))?;
            places.extend(find(crate_name, &file, &text)?);
            sources.insert(file, text);
        }
    }
    let found = places.len();
    places.retain(|place| asked.crate_name.as_deref().is_none_or(|name| name == place.crate_name));
    places.retain(|place| place.file.to_string_lossy().contains(&asked.at));
    println!(
        "{found} operators in {}; {} to draw from, seed {}",
        CRATES.join(", "),
        places.len(),
        asked.seed
    );
    let mut random = SplitMix64(asked.seed);
    shuffle(&mut places, &mut random);
    for place in &mut places {
        let choices = replacements(&place.was);
        place.becomes = choices[random.below(choices.len())];
    }

    if asked.list {
        places.truncate(asked.count);
        places.sort_by(|a, b| (&a.file, a.line).cmp(&(&b.file, b.line)));
        for place in &places {
            println!("{}", described(place));
        }
        return Ok(());
    }
    let folder = command::target(root)?.join("mutants");
    let copy = folder.join("workspace");
    copy_workspace(root, &copy, &sources)?;
    let sample = compiled(&copy, &folder.join("target"), &sources, places, asked.count)?;
    let tests = tests(&copy, &folder.join("target"))?;
    let tests = measured(tests, &folder, sample.len())?;
    report(&sample, &judged(&sample, &tests))
}

fn asked(arguments: &[String]) -> Result<Asked, String> {
    let mut asked = Asked { seed: 1, count: 60, crate_name: None, at: String::new(), list: false };
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().cloned().ok_or_else(|| format!("`{argument}` needs a value"));
        let number = |text: String| text.parse().map_err(|_| format!("`{text}` is no number"));
        match argument.as_str() {
            "--seed" => asked.seed = number(value()?)?,
            "--count" => asked.count = number(value()?)? as usize,
            "--crate" => asked.crate_name = Some(value()?),
            "--at" => asked.at = value()?,
            "--list" => asked.list = true,
            _ => return Err(format!("`{argument}` is not understood")),
        }
    }
    match &asked.crate_name {
        Some(name) if !CRATES.contains(&name.as_str()) => {
            Err(format!("`{name}` is not among {}", CRATES.join(", ")))
        }
        _ => Ok(asked),
    }
}

/// What stands in for an operator. Comparisons are moved by their border or turned round.
fn replacements(operator: &str) -> &'static [&'static str] {
    match operator {
        "+" => &["-"],
        "-" => &["+"],
        "*" => &["/"],
        "/" => &["*"],
        "+=" => &["-="],
        "-=" => &["+="],
        "*=" => &["/="],
        "/=" => &["*="],
        "<" => &["<=", ">="],
        "<=" => &["<", ">"],
        ">" => &[">=", "<="],
        ">=" => &[">", "<"],
        "==" => &["!="],
        "!=" => &["=="],
        "&&" => &["||"],
        "||" => &["&&"],
        _ => &[""],
    }
}

/// Steele, Lea & Flood 2014: one addition and a mixing per number.
struct SplitMix64(u64);

impl SplitMix64 {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// The bias of the remainder is far below what a sample could show.
    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }
}

fn shuffle<T>(items: &mut [T], random: &mut SplitMix64) {
    for last in (1..items.len()).rev() {
        items.swap(last, random.below(last + 1));
    }
}

/// The files below `src`, but for modules that only tests have.
fn sources_of(root: &Path, crate_name: &str) -> Result<Vec<PathBuf>, String> {
    let mut files = BTreeSet::new();
    let mut only_tests = BTreeSet::new();
    let mut folders = vec![Path::new("crates").join(crate_name).join("src")];
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(root.join(&folder)).map_err(|error| problem(&folder, &error))?;
        for entry in entries {
            let entry = entry.map_err(|error| problem(&folder, &error))?;
            let path = folder.join(entry.file_name());
            if root.join(&path).is_dir() {
                folders.push(path);
                continue;
            }
            if path.extension().is_none_or(|extension| extension != "rs") {
                continue;
            }
            let syntax = parsed(&path, &read(&root.join(&path))?)?;
            let stem = path.file_stem().unwrap_or_default();
            let owns_folder = stem == "mod" || stem == "lib";
            let below = if owns_folder { folder.clone() } else { folder.join(stem) };
            for item in &syntax.items {
                if let syn::Item::Mod(module) = item
                    && module.content.is_none()
                    && for_tests(&module.attrs)
                {
                    only_tests.insert(below.join(format!("{}.rs", module.ident)));
                }
            }
            files.insert(path);
        }
    }
    Ok(files.difference(&only_tests).cloned().collect())
}

fn parsed(file: &Path, text: &str) -> Result<syn::File, String> {
    syn::parse_file(text).map_err(|error| problem(file, &error))
}

/// Whether an item is there for tests only.
fn for_tests(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        syn::Meta::Path(path) => path.is_ident("test"),
        syn::Meta::List(list) => list.path.is_ident("cfg") && list.tokens.to_string() == "test",
        syn::Meta::NameValue(_) => false,
    })
}

fn find(crate_name: &'static str, file: &Path, text: &str) -> Result<Vec<Place>, String> {
    let mut finder = Finder { crate_name, file, text, constant: false, places: Vec::new() };
    finder.visit_file(&parsed(file, text)?);
    Ok(finder.places)
}

struct Finder<'a> {
    crate_name: &'static str,
    file: &'a Path,
    text: &'a str,
    /// Whether the compiler evaluates what is being visited: no call can stand there.
    constant: bool,
    places: Vec<Place>,
}

impl Finder<'_> {
    fn add(&mut self, expression: proc_macro2::Span, operator: proc_macro2::Span) {
        if self.constant {
            return;
        }
        let (expression, operator) = (expression.byte_range(), operator.byte_range());
        self.places.push(Place {
            crate_name: self.crate_name,
            file: self.file.into(),
            line: self.text[..operator.start].matches('\n').count() + 1,
            was: self.text[operator.clone()].into(),
            becomes: "",
            text: self.text[expression.clone()].split_whitespace().collect::<Vec<_>>().join(" "),
            expression,
            operator,
        });
    }

    fn within(&mut self, constant: bool, visit: impl FnOnce(&mut Self)) {
        let before = std::mem::replace(&mut self.constant, constant);
        visit(self);
        self.constant = before;
    }
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_expr_binary(&mut self, binary: &'ast syn::ExprBinary) {
        let plain = !matches!(
            binary.op,
            BinOp::Rem(_)
                | BinOp::RemAssign(_)
                | BinOp::BitXor(_)
                | BinOp::BitXorAssign(_)
                | BinOp::BitAnd(_)
                | BinOp::BitAndAssign(_)
                | BinOp::BitOr(_)
                | BinOp::BitOrAssign(_)
                | BinOp::Shl(_)
                | BinOp::ShlAssign(_)
                | BinOp::Shr(_)
                | BinOp::ShrAssign(_)
        );
        if plain && !binds(&binary.left) && !binds(&binary.right) {
            self.add(binary.span(), binary.op.span());
        }
        visit::visit_expr_binary(self, binary);
    }

    fn visit_expr_unary(&mut self, unary: &'ast syn::ExprUnary) {
        if matches!(unary.op, UnOp::Not(_) | UnOp::Neg(_)) {
            self.add(unary.span(), unary.op.span());
        }
        visit::visit_expr_unary(self, unary);
    }

    fn visit_expr_closure(&mut self, closure: &'ast syn::ExprClosure) {
        self.within(false, |finder| visit::visit_expr_closure(finder, closure));
    }

    fn visit_expr_repeat(&mut self, repeat: &'ast syn::ExprRepeat) {
        self.visit_expr(&repeat.expr);
    }

    fn visit_expr_const(&mut self, _: &'ast syn::ExprConst) {}

    fn visit_item_const(&mut self, item: &'ast syn::ItemConst) {
        self.within(true, |finder| visit::visit_item_const(finder, item));
    }

    fn visit_item_static(&mut self, item: &'ast syn::ItemStatic) {
        self.within(true, |finder| visit::visit_item_static(finder, item));
    }

    fn visit_impl_item_const(&mut self, item: &'ast syn::ImplItemConst) {
        self.within(true, |finder| visit::visit_impl_item_const(finder, item));
    }

    fn visit_trait_item_const(&mut self, item: &'ast syn::TraitItemConst) {
        self.within(true, |finder| visit::visit_trait_item_const(finder, item));
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !for_tests(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        if !for_tests(&item.attrs) {
            visit::visit_item_impl(self, item);
        }
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        if !for_tests(&item.attrs) {
            self.within(item.sig.constness.is_some(), |finder| visit::visit_item_fn(finder, item));
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if !for_tests(&item.attrs) {
            self.within(item.sig.constness.is_some(), |finder| visit::visit_impl_item_fn(finder, item));
        }
    }

    // No operator in these is evaluated when the program runs.
    fn visit_attribute(&mut self, _: &'ast syn::Attribute) {}
    fn visit_generic_argument(&mut self, _: &'ast syn::GenericArgument) {}
    fn visit_pat(&mut self, _: &'ast syn::Pat) {}
    fn visit_type(&mut self, _: &'ast syn::Type) {}
    fn visit_variant(&mut self, _: &'ast syn::Variant) {}
}

/// Whether it is part of a chain of conditions that binds names, which is no expression of its own.
fn binds(expression: &Expr) -> bool {
    match expression {
        Expr::Let(_) => true,
        Expr::Binary(binary) => binds(&binary.left) || binds(&binary.right),
        _ => false,
    }
}

/// The text of a part of a file, with the places in it made switchable. `places` are sorted: outer before inner.
fn instrumented(text: &str, part: Range<usize>, places: &[(usize, &Place)]) -> String {
    let mut result = String::new();
    let mut position = part.start;
    for (index, &(number, place)) in places.iter().enumerate() {
        let Range { start, end } = place.expression;
        if start < position || end > part.end {
            continue;
        }
        let inner = &places[index + 1..];
        let original = instrumented(text, start..end, inner);
        let left = instrumented(text, start..place.operator.start, inner);
        let right = instrumented(text, place.operator.end..end, inner);
        result += &text[position..start];
        let becomes = place.becomes;
        result += &format!(
            "/*<{number}*/(if crate::__mutant({number}) {{ {left}{becomes}{right} }} else {{ {original} }})/*{number}>*/"
        );
        position = end;
    }
    result + &text[position..part.end]
}

/// What each changed crate asks.
fn switch(count: usize) -> String {
    format!(
        r#"
pub(crate) fn __mutant(place: usize) -> bool {{
    use std::sync::OnceLock;
    use std::sync::atomic::{{AtomicBool, Ordering}};
    static ACTIVE: OnceLock<Option<usize>> = OnceLock::new();
    static REACHED: [AtomicBool; {count}] = [const {{ AtomicBool::new(false) }}; {count}];
    let active = *ACTIVE.get_or_init(|| std::env::var("{ACTIVE}").ok()?.parse().ok());
    if active.is_none() && !REACHED[place].load(Ordering::Relaxed) && !REACHED[place].swap(true, Ordering::Relaxed) {{
        use std::io::Write;
        let file = std::env::var_os("{REACHED}").map(|path| std::fs::File::options().append(true).create(true).open(path));
        if let Some(Ok(mut file)) = file {{
            let _ = file.write_all(format!("{{place}}\n").as_bytes());
        }}
    }}
    active == Some(place)
}}
"#
    )
}

/// Everything that git knows of, and the files that are new; the changed crates' sources are written later.
fn copy_workspace(root: &Path, copy: &Path, sources: &BTreeMap<PathBuf, String>) -> TaskResult {
    let mut git = Command::new("git");
    git.args(["ls-files", "--cached", "--others", "--exclude-standard"]).current_dir(root);
    let files = command::capture(git)?;
    let files: BTreeSet<&Path> =
        files.lines().map(Path::new).filter(|file| root.join(file).is_file()).collect();
    for file in files.iter().filter(|&&file| !sources.contains_key(file)) {
        let bytes = std::fs::read(root.join(file)).map_err(|error| problem(file, &error))?;
        write(&copy.join(file), &bytes)?;
    }
    let mut folders = vec![copy.join("crates")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).map_err(|error| problem(&folder, &error))?.flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.strip_prefix(copy).is_ok_and(|file| !files.contains(file)) {
                std::fs::remove_file(&path).map_err(|error| problem(&path, &error))?;
            }
        }
    }
    Ok(())
}

/// Writes only what differs, so that cargo builds only what changed.
fn write(path: &Path, bytes: &[u8]) -> TaskResult {
    if std::fs::read(path).is_ok_and(|there| there == bytes) {
        return Ok(());
    }
    let folder = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder).map_err(|error| problem(folder, &error))?;
    std::fs::write(path, bytes).map_err(|error| problem(path, &error))
}

/// The first `count` places that compile, written into the copy.
fn compiled(
    copy: &Path,
    target: &Path,
    sources: &BTreeMap<PathBuf, String>,
    mut places: Vec<Place>,
    count: usize,
) -> Result<Vec<Place>, String> {
    loop {
        let sample = &places[..count.min(places.len())];
        let mut written = BTreeMap::new();
        for (file, text) in sources {
            let mut here: Vec<(usize, &Place)> =
                sample.iter().enumerate().filter(|(_, place)| &place.file == file).collect();
            here.sort_by_key(|(_, place)| (place.expression.start, std::cmp::Reverse(place.expression.end)));
            let mut changed = instrumented(text, 0..text.len(), &here);
            if file.ends_with("src/lib.rs") {
                changed += &switch(sample.len());
            }
            write(&copy.join(file), changed.as_bytes())?;
            written.insert(file, changed);
        }
        let refused = refused(copy, target, &written)?;
        if refused.is_empty() {
            return Ok(sample.to_vec());
        }
        eprintln!("{} places do not compile and are drawn anew", refused.len());
        let mut number = 0;
        places.retain(|_| {
            number += 1;
            !refused.contains(&(number - 1))
        });
    }
}

/// Numbers of the places that the compiler complains about.
fn refused(
    copy: &Path,
    target: &Path,
    written: &BTreeMap<&PathBuf, String>,
) -> Result<BTreeSet<usize>, String> {
    let mut arguments = vec!["check", "--lib", "--quiet", "--message-format", "json"];
    arguments.extend(CRATES.iter().flat_map(|name| ["-p", name]));
    let mut cargo = command::cargo(copy, &arguments);
    let output = cargo.env("CARGO_TARGET_DIR", target).output().map_err(|error| problem(copy, &error))?;
    let mut refused = BTreeSet::new();
    let mut unplaced = String::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let Ok(message) = serde_json::from_str::<Value>(line) else { continue };
        let message = &message["message"];
        if message["level"] != "error" {
            continue;
        }
        let spans = message["spans"].as_array().into_iter().flatten();
        let numbers = spans.filter_map(|span| {
            let text = written.get(&PathBuf::from(span["file_name"].as_str()?))?;
            enclosing(&text[..span["byte_start"].as_u64()? as usize])
        });
        let before = refused.len();
        refused.extend(numbers);
        if refused.len() == before {
            unplaced += message["rendered"].as_str().unwrap_or_default();
        }
    }
    if refused.is_empty() && !output.status.success() {
        return Err(format!(
            "the copy does not compile:\n{unplaced}{}",
            String::from_utf8_lossy(&output.stderr)
        ));
    }
    Ok(refused)
}

/// The innermost place that is open at the end of a text.
fn enclosing(before: &str) -> Option<usize> {
    let mut open = Vec::new();
    for comment in before.split("/*").skip(1) {
        let mark = comment.split_once("*/").map_or(comment, |(mark, _)| mark);
        if let Some(number) = mark.strip_prefix('<').and_then(|number| number.parse::<usize>().ok()) {
            open.push(number);
        } else if mark.strip_suffix('>').is_some_and(|number| number.parse::<usize>().is_ok()) {
            open.pop();
        }
    }
    open.pop()
}

struct Test {
    crate_name: &'static str,
    binary: PathBuf,
    folder: PathBuf,
    name: String,
    /// Without a mutant, and the places that it comes to.
    takes: Duration,
    reaches: BTreeSet<usize>,
}

/// Builds the tests of the changed crates and lists them.
fn tests(copy: &Path, target: &Path) -> Result<Vec<Test>, String> {
    let mut arguments = vec!["test", "--no-run", "--message-format", "json-render-diagnostics"];
    arguments.extend(CRATES.iter().flat_map(|name| ["-p", name]));
    let mut cargo = command::cargo(copy, &arguments);
    // Parentheses of the changed places would be named one by one.
    cargo.env("CARGO_TARGET_DIR", target).arg("--quiet").stderr(Stdio::null());
    let output = cargo.output().map_err(|error| problem(copy, &error))?;
    if !output.status.success() {
        return Err("the tests do not compile with these mutants".into());
    }
    let mut tests = Vec::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let Ok(message) = serde_json::from_str::<Value>(line) else { continue };
        let Some(binary) = message["executable"].as_str().filter(|_| message["profile"]["test"] == true)
        else {
            continue;
        };
        let manifest = Path::new(message["manifest_path"].as_str().unwrap_or_default());
        let folder = manifest.parent().unwrap_or(copy);
        let Some(&crate_name) = CRATES.iter().find(|&&name| folder.ends_with(name)) else { continue };
        if message["target"]["name"].as_str().is_some_and(|name| LEFT_OUT.contains(&name)) {
            println!("left out: {binary}");
            continue;
        }
        let mut list = Command::new(binary);
        list.args(["--list", "--format", "terse"]).current_dir(folder);
        for name in command::capture(list)?.lines().filter_map(|line| line.strip_suffix(": test")) {
            tests.push(Test {
                crate_name,
                binary: binary.into(),
                folder: folder.into(),
                name: name.into(),
                takes: Duration::ZERO,
                reaches: BTreeSet::new(),
            });
        }
    }
    Ok(tests)
}

impl Test {
    fn start(&self, variable: &str, value: &std::ffi::OsStr) -> Result<Child, String> {
        // A mutant may collect without end: it gets 8 GB of addresses.
        let mut command = Command::new("sh");
        command.args(["-c", r#"ulimit -v 8000000; exec "$0" "$@""#]).arg(&self.binary);
        command.args(["--exact", &self.name, "--test-threads", "1"]).env(variable, value);
        command.current_dir(&self.folder).env("CARGO_MANIFEST_DIR", &self.folder);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().map_err(|error| problem(&self.binary, &error))
    }
}

/// Whether it succeeds in time.
fn succeeds(mut child: Child, limit: Duration) -> Result<bool, String> {
    let start = Instant::now();
    loop {
        match child.try_wait().map_err(|error| error.to_string())? {
            Some(status) => return Ok(status.success()),
            None if start.elapsed() > limit => {
                // It may have ended meanwhile.
                let _ = child.kill();
                let _ = child.wait();
                return Ok(false);
            }
            None => std::thread::sleep(Duration::from_millis(2)),
        }
    }
}

/// Does the work on all cores; results in the order of the items.
fn on_all_cores<T: Sync, R: Send>(items: &[T], work: impl Fn(usize, &T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let results = Mutex::new(Vec::new());
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(index) else { break };
                    let result = work(index, item);
                    if let Ok(mut results) = results.lock() {
                        results.push((index, result));
                    }
                }
            });
        }
    });
    let mut results = results.into_inner().unwrap_or_default();
    results.sort_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}

/// Runs every test once without a mutant. All must pass; those that are too slow are left out. The quickest come first.
fn measured(tests: Vec<Test>, folder: &Path, places: usize) -> Result<Vec<Test>, String> {
    println!("{} tests, once without a mutant", tests.len());
    let results = on_all_cores(&tests, |index, test| -> Result<(bool, Duration, BTreeSet<usize>), String> {
        let file = folder.join(format!("reached-{index}"));
        let _ = std::fs::remove_file(&file);
        let start = Instant::now();
        let passed = succeeds(test.start(REACHED, file.as_os_str())?, 10 * SLOW)?;
        let takes = start.elapsed();
        // Without a place that was reached there is no file.
        let reached = std::fs::read_to_string(&file).unwrap_or_default();
        let _ = std::fs::remove_file(&file);
        let reached = reached.lines().filter_map(|line| line.parse().ok()).filter(|&place| place < places);
        Ok((passed, takes, reached.collect()))
    });
    let mut kept = Vec::new();
    let mut failed = Vec::new();
    for (mut test, result) in tests.into_iter().zip(results) {
        let (passed, takes, reaches) = result?;
        if takes > SLOW {
            println!("left out, takes {:.0} s: {}", takes.as_secs_f64(), test.name);
            continue;
        }
        if !passed {
            failed.push(test.name.clone());
        }
        (test.takes, test.reaches) = (takes, reaches);
        kept.push(test);
    }
    kept.sort_by_key(|test| test.takes);
    if failed.is_empty() { Ok(kept) } else { Err(format!("fail without a mutant: {}", failed.join(", "))) }
}

/// The test that catches each place's mutant.
fn judged(sample: &[Place], tests: &[Test]) -> Vec<Result<Option<String>, String>> {
    on_all_cores(sample, |number, place| {
        let reaching =
            tests.iter().filter(|test| test.crate_name == place.crate_name && test.reaches.contains(&number));
        for test in reaching {
            let active = number.to_string();
            if !succeeds(test.start(ACTIVE, active.as_ref())?, PATIENCE.max(TIMES * test.takes))? {
                return Ok(Some(test.name.clone()));
            }
        }
        eprintln!("ALIVE  {} (number {number})", described(place));
        Ok(None)
    })
}

fn described(place: &Place) -> String {
    let becomes = if place.becomes.is_empty() { "nothing" } else { place.becomes };
    let change = format!("{} -> {becomes}", place.was);
    let text: String = place.text.chars().take(70).collect();
    format!("{:<56} {change:<13} {text}", format!("{}:{}", place.file.display(), place.line))
}

fn report(sample: &[Place], results: &[Result<Option<String>, String>]) -> TaskResult {
    let mut rows: Vec<_> = sample.iter().zip(results).collect();
    rows.sort_by(|(a, _), (b, _)| (&a.file, a.line).cmp(&(&b.file, b.line)));
    let mut alive = 0;
    for (place, result) in rows {
        match result.as_ref().map_err(Clone::clone)? {
            Some(test) => println!("caught {}  [{test}]", described(place)),
            None => {
                alive += 1;
                println!("ALIVE  {}", described(place));
            }
        }
    }
    for crate_name in CRATES {
        let of_crate = || sample.iter().zip(results).filter(|(place, _)| place.crate_name == crate_name);
        let caught = of_crate().filter(|(_, result)| matches!(result, Ok(Some(_)))).count();
        println!("{crate_name}: {caught} of {}", of_crate().count());
    }
    println!("{} of {} mutants are caught", sample.len() - alive, sample.len());
    Ok(())
}

fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| problem(path, &error))
}

fn problem(path: &Path, error: &dyn std::fmt::Display) -> String {
    format!("{}: {error}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(text: &str) -> Vec<Place> {
        let mut places = find("cosimo-core", Path::new("a.rs"), text).expect("parses");
        places.sort_by_key(|place| (place.expression.start, std::cmp::Reverse(place.expression.end)));
        for place in &mut places {
            place.becomes = replacements(&place.was)[0];
        }
        places
    }

    fn operators(text: &str) -> Vec<String> {
        places(text).into_iter().map(|place| place.was).collect()
    }

    #[test]
    fn operators_are_found_where_code_runs() {
        assert_eq!(operators("fn f() { let a = -b + c; a += !d; }"), ["+", "-", "+=", "!"]);
        let idle =
            "const A: usize = 1 + 2; #[cfg(test)] mod t { fn f() { a + b } } const fn g() -> u8 { 1 + 1 }
            fn h(a: [u8; 1 + 1]) { match a { -1 => [0; 1 + 1] } }";
        assert_eq!(operators(idle), [""; 0]);
        assert_eq!(operators("const F: fn(u8) -> u8 = |a| a + 1;"), ["+"]);
        assert_eq!(operators("fn f() { if let Some(a) = b && a < c {} }"), ["<"]);
    }

    #[test]
    fn a_place_inside_another_is_changed_on_both_sides() {
        let text = "fn f() { a * b + c }";
        let places = places(text);
        let numbered: Vec<_> = places.iter().enumerate().collect();
        let product = "/*<1*/(if crate::__mutant(1) { a / b } else { a * b })/*1>*/";
        let sum = format!("/*<0*/(if crate::__mutant(0) {{ {product} - c }} else {{ {product} + c }})/*0>*/");
        let changed = instrumented(text, 0..text.len(), &numbered);
        assert_eq!(changed, format!("fn f() {{ {sum} }}"));
        let inside = changed.find("a /").expect("is there");
        assert_eq!(enclosing(&changed[..inside]), Some(1));
        assert_eq!(enclosing(&changed[..changed.find("- c").expect("is there")]), Some(0));
        assert_eq!(enclosing(&changed), None);
    }
}
