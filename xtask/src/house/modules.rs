//! The modules of a package and the imports between them, followed through re-exports to
//! the module that defines an item.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;

use super::imports::{ModuleSource, NamedPath, PathKind, join_modules, read_imports};
use super::lexer::lex;

/// Most re-exports that lead to an item; more go round in a circle.
const MOST_HOPS: usize = 16;

/// Name of a package's root where modules are shown; no module can be called so.
pub(super) const ROOT: &str = "crate";

/// An import that crosses from one module to another.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Crossing {
    pub(super) from: String,
    pub(super) to: String,
    /// File and line.
    pub(super) place: String,
    /// The path as the file has it.
    pub(super) item: String,
}

impl fmt::Display for Crossing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} -> {}: {} ({})", self.from, self.to, self.item, self.place)
    }
}

/// Modules by their names from the root, `seal/report`; the root's name is empty.
#[derive(Debug, Default)]
pub(super) struct PackageModules {
    modules: BTreeMap<String, Module>,
    of_tests: BTreeSet<String>,
}

#[derive(Debug)]
struct Module {
    source: ModuleSource,
    file: String,
    /// The module that the file is: this one, or one above it in the same file.
    of_file: String,
}

/// Depth at which modules are taken together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Level {
    /// Modules right below the root: folders, and files that lie beside them.
    Folder,
    /// Modules of a folder, each with everything beneath it, and modules right below the root.
    Unit,
}

impl PackageModules {
    /// `inner` is the path below `src`, `file` the one that is shown.
    pub(super) fn add_file(&mut self, inner: &Path, file: &str, text: &str) {
        let of_file = module_name(inner);
        let found = read_imports(&lex(text).tokens);
        self.of_tests.extend(found.of_tests.iter().map(|name| join_modules(&of_file, name)));
        for (name, source) in found.modules {
            let module = Module { source, file: file.to_owned(), of_file: of_file.clone() };
            self.modules.insert(join_modules(&of_file, &name), module);
        }
    }

    /// Takes out the modules that are declared for tests only.
    pub(super) fn drop_tests(&mut self) {
        let of_tests = std::mem::take(&mut self.of_tests);
        self.modules.retain(|name, _| !of_tests.iter().any(|above| is_beneath(name, above)));
    }

    /// Names of the modules at a level.
    pub(super) fn module_names(&self, level: Level) -> BTreeSet<String> {
        self.modules.values().map(|module| level.of(&module.of_file).to_owned()).collect()
    }

    /// Modules right below the root that have others beneath them.
    pub(super) fn folders(&self) -> BTreeSet<String> {
        let above = |module: &Module| module.of_file.split_once('/').map(|(folder, _)| folder.to_owned());
        self.modules.values().filter_map(above).collect()
    }

    /// Imports between modules of a level, sorted; each item of a file once.
    pub(super) fn crossings(&self, level: Level) -> Vec<Crossing> {
        let mut found = BTreeMap::new();
        for (name, module) in &self.modules {
            for named in &module.source.paths {
                let Some(to) = self.imported(name, module, named) else { continue };
                let (from, to) = (level.of(&module.of_file), level.of(to));
                if from != to {
                    let (from, to, item) = (from.to_owned(), to.to_owned(), named.path.join("::"));
                    let key = (from.clone(), to.clone(), &module.file, item.clone());
                    let place = format!("{}:{}", module.file, named.line);
                    found.entry(key).or_insert(Crossing { from, to, place, item });
                }
            }
        }
        found.into_values().collect()
    }

    /// The module that defines what a path names; none for other packages and for what
    /// imports nothing by itself.
    fn imported(&self, name: &str, module: &Module, named: &NamedPath) -> Option<&str> {
        let (target, is_item) = self.resolve(name, &named.path, MOST_HOPS)?;
        let definer = self.modules.get(&target)?;
        let counts = match named.kind {
            // A module is imported by the paths that go through it.
            PathKind::Import => is_item || named.is_glob,
            // A module that gives out what lies beneath it depends on that only if it uses
            // the name itself.
            PathKind::Reexport if is_beneath(&target, &module.of_file) => {
                is_item && module.source.words.contains(&named.name)
            }
            PathKind::Body => !self.begins_with_import(name, module, named),
            PathKind::Reexport => true,
        };
        counts.then_some(definer.of_file.as_str())
    }

    /// `Kind::Test` in a body says nothing new where a `use` has brought in `Kind`.
    fn begins_with_import(&self, name: &str, module: &Module, named: &NamedPath) -> bool {
        let imported = module.source.names.get(&named.path[0]);
        imported.and_then(|path| self.resolve(name, path, MOST_HOPS)).is_some_and(|(_, is_item)| is_item)
    }

    /// Follows a path to a module of this package, and says whether an item of it is meant.
    fn resolve(&self, from: &str, path: &[String], hops: usize) -> Option<(String, bool)> {
        let (mut at, mut rest) = self.begin(from, path)?;
        while let [name, further @ ..] = rest {
            let inner = join_modules(&at, name);
            if !self.modules.contains_key(&inner) {
                return self.resolve_item(at, rest, hops);
            }
            (at, rest) = (inner, further);
        }
        Some((at, false))
    }

    /// The module from which the rest of a path is looked for.
    fn begin<'a>(&self, from: &str, path: &'a [String]) -> Option<(String, &'a [String])> {
        match path {
            [first, rest @ ..] if first == "crate" => Some((String::new(), rest)),
            [first, rest @ ..] if first == "self" => Some((from.to_owned(), rest)),
            [first, ..] if first == "super" => {
                let ups = path.iter().take_while(|name| *name == "super").count();
                let above = (0..ups).fold(from, |module, _| module.rsplit_once('/').map_or("", |(above, _)| above));
                Some((above.to_owned(), &path[ups..]))
            }
            [first, ..] => {
                let is_name = self.modules.get(from)?.source.names.contains_key(first);
                let is_inner = self.modules.contains_key(&join_modules(from, first));
                (is_name || is_inner).then(|| (from.to_owned(), path))
            }
            [] => None,
        }
    }

    /// An item that a module defines, or has by a `use`.
    fn resolve_item(&self, at: String, rest: &[String], hops: usize) -> Option<(String, bool)> {
        let (source, hops) = (&self.modules.get(&at)?.source, hops.checked_sub(1));
        let Some(hops) = hops else { return Some((at, true)) };
        if let Some(path) = source.names.get(&rest[0]) {
            return self.resolve(&at, &[path, &rest[1..]].concat(), hops);
        }
        let globs = source.paths.iter().filter(|named| named.is_glob);
        let mut targets = globs.filter_map(|named| self.resolve(&at, &named.path, hops));
        let holds = |(target, _): &(String, bool)| self.holds(target, &rest[0]);
        match targets.find(holds) {
            Some((target, _)) if target != at => self.resolve(&target, &[&["self".to_owned()], rest].concat(), hops),
            _ => Some((at, true)),
        }
    }

    fn holds(&self, module: &str, name: &String) -> bool {
        let source = self.modules.get(module).map(|module| &module.source);
        source.is_some_and(|source| source.words.contains(name) || source.names.contains_key(name))
    }
}

impl Level {
    /// The module that stands for one at this level.
    fn of(self, module: &str) -> &str {
        let parts = match self {
            Self::Folder => 1,
            Self::Unit => 2,
        };
        let end = module.match_indices('/').nth(parts - 1).map_or(module.len(), |(at, _)| at);
        if module.is_empty() { ROOT } else { &module[..end] }
    }
}

fn is_beneath(module: &str, above: &str) -> bool {
    above.is_empty() || module.strip_prefix(above).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Module of a file below `src`: `seal/report` of `seal/report.rs` and `seal/report/mod.rs`.
fn module_name(inner: &Path) -> String {
    let mut parts: Vec<String> =
        inner.with_extension("").iter().map(|part| part.to_string_lossy().into_owned()).collect();
    let is_root = parts.len() == 1 && matches!(parts[0].as_str(), "lib" | "main");
    if is_root || parts.last().is_some_and(|last| last == "mod") {
        parts.pop();
    }
    parts.join("/")
}

#[cfg(test)]
impl PackageModules {
    /// A made-up package of files below `src`.
    pub(super) fn of_files(files: &[(&str, &str)]) -> Self {
        let mut package = Self::default();
        let folders = files.iter().flat_map(|(inner, _)| Path::new(inner).ancestors().skip(1));
        folders.for_each(|folder| package.add_file(&folder.join("mod.rs"), "", ""));
        files.iter().for_each(|(inner, text)| package.add_file(Path::new(inner), inner, text));
        package.drop_tests();
        package
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(files: &[(&str, &str)], expected: &[&str]) {
        let found = PackageModules::of_files(files).crossings(Level::Unit);
        let shown: Vec<String> = found.iter().map(Crossing::to_string).collect();
        assert_eq!(shown, expected, "{files:?}");
    }

    #[test]
    fn every_way_to_name_an_item_is_an_import() {
        let low = ("low.rs", "pub struct A; pub fn b() {}");
        check(
            &[low, ("top.rs", "use crate::low::{A, b as c};")],
            &["top -> low: crate::low::A (top.rs:1)", "top -> low: crate::low::b (top.rs:1)"],
        );
        check(&[low, ("top.rs", "\nfn f() { crate::low::b() }")], &["top -> low: crate::low::b (top.rs:2)"]);
        check(&[low, ("top.rs", "fn f() { super::low::b() }")], &["top -> low: super::low::b (top.rs:1)"]);
        check(&[low, ("top.rs", "use super::low; fn f() { low::b() }")], &["top -> low: low::b (top.rs:1)"]);
        check(&[low, ("top.rs", "use crate::low::*;")], &["top -> low: crate::low (top.rs:1)"]);
        check(
            &[low, ("top.rs", "use crate::low::A; fn f() { A::new(); A::old() }")],
            &["top -> low: crate::low::A (top.rs:1)"],
        );
        check(
            &[("a/mod.rs", "mod b; fn f() { b::g(); self::b::h() }"), ("a/b.rs", "use super::f;")],
            &["a -> a/b: b::g (a/mod.rs:1)", "a -> a/b: self::b::h (a/mod.rs:1)", "a/b -> a: super::f (a/b.rs:1)"],
        );
    }

    #[test]
    fn other_packages_text_tests_and_visibility_are_none() {
        let low = ("low.rs", "pub struct A;");
        check(&[low, ("top.rs", "use std::low::A; use ::low::B; fn f() { other::low::A; }")], &[]);
        check(
            &[low, ("top.rs", "// crate::low::A\nconst S: &str = \"crate::low::A\"; pub(in crate::low) fn f() {}")],
            &[],
        );
        check(&[low, ("top.rs", "#[cfg(test)]\n#[expect(x)]\nmod t { use crate::low::A; }\nfn f() {}")], &[]);
        check(
            &[low, ("top.rs", "#[cfg(test)] use crate::low::A; #[cfg(test)] fn g(x: [u8; 2]) { crate::low::A; }")],
            &[],
        );
        check(
            &[
                low,
                ("top.rs", "#[cfg(test)] mod t;"),
                ("top/t.rs", "use crate::low::A;"),
                ("top/t/u.rs", "use crate::low::A;"),
            ],
            &[],
        );
        check(
            &[low, ("top.rs", "#[cfg(test)] fn g() {} use crate::low::A;")],
            &["top -> low: crate::low::A (top.rs:1)"],
        );
    }

    #[test]
    fn a_reexport_counts_for_the_module_that_defines_the_item() {
        let files = |root, user| {
            [
                ("lib.rs", root),
                ("a/mod.rs", "pub mod b; pub(crate) use b::{B as C, d}; pub(crate) struct Own;"),
                ("a/b.rs", "pub struct B; pub mod d;"),
                ("a/b/d.rs", "pub fn e() {}"),
                ("user.rs", user),
            ]
        };
        check(&files("pub use a::C as D;", "use crate::D;"), &["user -> a/b: crate::D (user.rs:1)"]);
        check(&files("pub use a::*;", "use crate::C;"), &["user -> a/b: crate::C (user.rs:1)"]);
        check(
            &files("use a::Own;", "use super::Own;"),
            &["crate -> a: a::Own (lib.rs:1)", "user -> a: super::Own (user.rs:1)"],
        );
        check(&files("", "use crate::a::d; fn f() { d::e() }"), &["user -> a/b: d::e (user.rs:1)"]);
        check(&files("pub struct Root;", "use crate::Root;"), &["user -> crate: crate::Root (user.rs:1)"]);
        check(&files("pub use std::fmt;", "use crate::fmt;"), &[]);
    }

    #[test]
    fn a_module_that_gives_out_names_depends_on_those_it_uses() {
        let inner = ("a/b.rs", "pub struct B;");
        check(&[inner, ("a/mod.rs", "mod b; pub use b::B;")], &[]);
        check(&[inner, ("a/mod.rs", "mod b; pub use b::B; fn f() -> B { B }")], &["a -> a/b: b::B (a/mod.rs:1)"]);
        check(&[inner, ("c.rs", "pub use crate::a::b::B;")], &["c -> a/b: crate::a::b::B (c.rs:1)"]);
    }

    #[test]
    fn a_module_in_braces_is_part_of_its_file() {
        let text = "mod inner { use super::super::low::A; pub struct I; }\nuse inner::I;";
        check(&[("low.rs", "pub struct A;"), ("top.rs", text)], &["top -> low: super::super::low::A (top.rs:1)"]);
    }

    #[test]
    fn a_folder_stands_for_everything_beneath_it() {
        let files = [("a/b/c.rs", "use crate::d::e::F;"), ("d/e.rs", "struct F;"), ("d/g.rs", "use super::e::F;")];
        check(&files, &["a/b -> d/e: crate::d::e::F (a/b/c.rs:1)", "d/g -> d/e: super::e::F (d/g.rs:1)"]);
        let folders = PackageModules::of_files(&files).crossings(Level::Folder);
        assert_eq!(folders.iter().map(|found| (&*found.from, &*found.to)).collect::<Vec<_>>(), [("a", "d")]);
    }
}
