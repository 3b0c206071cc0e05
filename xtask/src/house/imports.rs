//! Imports of a source file, read from its tokens: `use` declarations and the paths of
//! bodies, without those of tests.

use std::collections::{BTreeMap, BTreeSet};

use super::lexer::Token;

/// Components of a path as it stands in a file: `crate`, `json`, `Value`.
pub(super) type ItemPath = Vec<String>;

/// Path of an item that a module names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NamedPath {
    pub(super) path: ItemPath,
    /// The item's name in the module: its last component, or the one after `as`.
    pub(super) name: String,
    pub(super) line: usize,
    pub(super) kind: PathKind,
    /// `use …::*`.
    pub(super) is_glob: bool,
}

/// Position of a path in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PathKind {
    Import,
    /// `pub use` in any form.
    Reexport,
    Body,
}

/// A module of a file: the file's own, or one that stands in braces in it.
#[derive(Debug, Default)]
pub(super) struct ModuleSource {
    pub(super) paths: Vec<NamedPath>,
    /// Names that `use` brings into scope, and the path of each.
    pub(super) names: BTreeMap<String, ItemPath>,
    /// Identifiers that occur outside `use`.
    pub(super) words: BTreeSet<String>,
}

/// The modules of one file.
#[derive(Debug, Default)]
pub(super) struct FileModules {
    /// By name below the file's module; empty for the file's own.
    pub(super) modules: BTreeMap<String, ModuleSource>,
    /// Modules that are declared for tests only.
    pub(super) of_tests: Vec<String>,
}

/// Reads the imports of a file and of its inline modules.
pub(super) fn read_imports(tokens: &[Token<'_>]) -> FileModules {
    let mut reader = Reader { tokens, at: 0, depth: 0, scopes: Vec::new(), found: FileModules::default() };
    reader.read();
    reader.found
}

struct Reader<'a> {
    tokens: &'a [Token<'a>],
    at: usize,
    depth: usize,
    /// Modules in braces that are open, and the depth at which each ends.
    scopes: Vec<(String, usize)>,
    found: FileModules,
}

impl<'a> Reader<'a> {
    fn text(&self, at: usize) -> &'a str {
        self.tokens.get(at).map_or("", |token| token.text)
    }

    fn line(&self) -> usize {
        self.tokens.get(self.at).map_or(0, |token| token.line)
    }

    fn before(&self, count: usize) -> &'a str {
        self.at.checked_sub(count).map_or("", |at| self.text(at))
    }

    fn scope(&self) -> String {
        self.scopes.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join("/")
    }

    fn module(&mut self) -> &mut ModuleSource {
        let scope = self.scope();
        self.found.modules.entry(scope).or_default()
    }

    fn read(&mut self) {
        self.module();
        while self.at < self.tokens.len() {
            match self.text(self.at) {
                "#" if self.is_test_attribute() => self.skip_test_item(),
                "use" if self.before(1) != "." => self.read_use(),
                "mod" if self.text(self.at + 2) == "{" => self.open_module(),
                "mod" if self.text(self.at + 2) == ";" => self.at += 3,
                "{" => self.step(1),
                "}" => self.close_brace(),
                word if is_word(word) => self.read_path(),
                _ => self.at += 1,
            }
        }
    }

    fn step(&mut self, braces: usize) {
        self.depth += braces;
        self.at += 1;
    }

    fn open_module(&mut self) {
        self.scopes.push((self.text(self.at + 1).to_owned(), self.depth));
        self.at += 2;
        self.module();
        self.step(1);
    }

    fn close_brace(&mut self) {
        self.depth = self.depth.saturating_sub(1);
        if self.scopes.last().is_some_and(|(_, depth)| *depth == self.depth) {
            self.scopes.pop();
        }
        self.at += 1;
    }

    /// `#[cfg(test)]` and `#[cfg(all(test, …))]`.
    fn is_test_attribute(&self) -> bool {
        let next: Vec<&str> = (1..7).map(|ahead| self.text(self.at + ahead)).collect();
        matches!(next[..], ["[", "cfg", "(", "test", ")", "]"] | ["[", "cfg", "(", "all", "(", "test"])
    }

    /// Passes over an item and its attributes; notes the name of a module that lies in a
    /// file of its own.
    fn skip_test_item(&mut self) {
        while self.text(self.at) == "#" {
            self.at += 1;
            self.skip_brackets();
        }
        while !matches!(self.text(self.at), "{" | ";" | "") {
            if self.text(self.at) == "mod" && self.text(self.at + 2) == ";" {
                let (scope, name) = (self.scope(), self.text(self.at + 1));
                self.found.of_tests.push(join_modules(&scope, name));
            }
            match self.text(self.at) {
                "(" | "[" => self.skip_brackets(),
                _ => self.at += 1,
            }
        }
        match self.text(self.at) {
            "{" => self.skip_brackets(),
            _ => self.at += 1,
        }
    }

    /// Passes over a bracket and everything in it.
    fn skip_brackets(&mut self) {
        let mut open = 0_usize;
        loop {
            match self.text(self.at) {
                "(" | "[" | "{" => open += 1,
                ")" | "]" | "}" => open = open.saturating_sub(1),
                "" => return,
                _ => {}
            }
            self.at += 1;
            if open == 0 {
                return;
            }
        }
    }

    fn read_use(&mut self) {
        // `pub use` or `pub(…) use`; a closing bracket stands before no other `use`.
        let kind = if matches!(self.before(1), "pub" | ")") { PathKind::Reexport } else { PathKind::Import };
        self.at += 1;
        self.read_use_tree(&Vec::new(), kind);
    }

    /// One branch of a `use`: up to its comma, closing brace or semicolon.
    fn read_use_tree(&mut self, above: &ItemPath, kind: PathKind) {
        let line = self.line();
        let path = self.read_use_path(above);
        match self.text(self.at) {
            "{" => self.read_use_branches(&path, kind),
            "*" => {
                self.at += 1;
                self.add_glob(path, line, kind);
            }
            "as" => {
                let name = self.text(self.at + 1).to_owned();
                self.at += 2;
                self.add_path(path, Some(name), line, kind);
            }
            _ => self.add_path(path, None, line, kind),
        }
    }

    fn read_use_path(&mut self, above: &ItemPath) -> ItemPath {
        let mut path = above.clone();
        loop {
            match self.text(self.at) {
                "self" if !path.is_empty() => {}
                // `::name` is a package whatever the modules are called.
                ":" if path.is_empty() => path.push(String::new()),
                ":" => {}
                word if is_word(word) && word != "as" => path.push(word.to_owned()),
                _ => return path,
            }
            self.at += 1;
        }
    }

    fn add_path(&mut self, path: ItemPath, name: Option<String>, line: usize, kind: PathKind) {
        let Some(name) = name.or_else(|| path.last().cloned()) else { return };
        let module = self.module();
        module.names.insert(name.clone(), path.clone());
        module.paths.push(NamedPath { path, name, line, kind, is_glob: false });
    }

    fn add_glob(&mut self, path: ItemPath, line: usize, kind: PathKind) {
        self.module().paths.push(NamedPath { path, name: "*".to_owned(), line, kind, is_glob: true });
    }

    fn read_use_branches(&mut self, path: &ItemPath, kind: PathKind) {
        self.at += 1;
        loop {
            match self.text(self.at) {
                "," => self.at += 1,
                "}" => break self.at += 1,
                "" | ";" => break,
                _ => self.read_use_tree(path, kind),
            }
        }
    }

    /// An identifier of a body, and the path that begins with it if it is the first of one.
    fn read_path(&mut self) {
        let line = self.line();
        // `pub(in crate::house)` says who may look, and imports nothing.
        let is_visibility = self.before(1) == "in" && self.before(2) == "(" && self.before(3) == "pub";
        let is_continued = self.before(1) == ":" && self.before(2) == ":";
        let mut path = vec![self.text(self.at).to_owned()];
        self.at += 1;
        while self.text(self.at) == ":" && self.text(self.at + 1) == ":" && is_word(self.text(self.at + 2)) {
            path.push(self.text(self.at + 2).to_owned());
            self.at += 3;
        }
        let module = self.module();
        module.words.extend(path.iter().cloned());
        if path.len() > 1 && !is_continued && !is_visibility {
            let name = path.last().cloned().unwrap_or_default();
            module.paths.push(NamedPath { path, name, line, kind: PathKind::Body, is_glob: false });
        }
    }
}

fn is_word(text: &str) -> bool {
    text.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_')
}

/// Name of a module below another; the root has the empty name.
pub(super) fn join_modules(above: &str, name: &str) -> String {
    [above, name].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/")
}
