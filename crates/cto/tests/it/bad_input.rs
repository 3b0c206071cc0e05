//! Wrong input of every class: refused with a place, a value, a rule and a remedy, and nothing is written.
#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on must stop")]

mod calls;
mod contracts;
mod places;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Stdio;

use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::Value;
use testkit::{Ran, World, contents, contract_text};

/// A world whose home is only made by what is called.
fn world() -> World {
    crate::world().without_memory()
}

/// One call that must be refused.
struct Row<'a> {
    name: &'a str,
    exit: i32,
    args: Vec<&'a str>,
    /// Variables set, or taken away.
    env: Vec<(&'a str, Option<&'a str>)>,
}

fn row<'a>(name: &'a str, exit: i32, args: &[&'a str]) -> Row<'a> {
    Row { name, exit, args: args.to_vec(), env: Vec::new() }
}

impl<'a> Row<'a> {
    fn env(mut self, name: &'a str, value: Option<&'a str>) -> Self {
        self.env.push((name, value));
        self
    }

    fn call(&self, world: &World, more: &[&str]) -> Ran {
        let mut command = world.command(self.args.iter().chain(more));
        for (name, value) in &self.env {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        World::finish(child.expect("the binary starts"))
    }
}

/// Makes each call twice, plain and with `--json`; gives what was said to a person.
fn check(world: &World, rows: &[Row<'_>]) -> String {
    let mut said = String::new();
    for row in rows {
        let name = row.name;
        let before = outside(world);
        let plain = row.call(world, &[]);
        assert_eq!(plain.code, row.exit, "{name}: {plain:?}");
        assert_eq!(plain.text(), "", "{name}: only diagnostics");
        let json = row.call(world, &["--json"]);
        assert_eq!(json.code, row.exit, "{name}: the same with --json: {json:?}");
        let document: Value = json.json();
        let errors = document["errors"].as_array().unwrap_or_else(|| panic!("{name}: no errors in {document}"));
        assert!(!errors.is_empty() && document["status"].is_string(), "{name}: {document}");
        for word in ["panicked", "RUST_BACKTRACE", "\u{1b}"] {
            assert!(!plain.stderr.contains(word), "{name}: {word:?} in {}", plain.stderr);
        }
        let now = outside(world);
        let paths: BTreeSet<&String> = now.keys().chain(before.keys()).collect();
        let written: Vec<&String> = paths.into_iter().filter(|path| now.get(*path) != before.get(*path)).collect();
        assert!(written.is_empty(), "{name}: something was written: {written:?}");
        let _ = write!(said, "{name}: {}\n{}\n", row.exit, redact(world, &plain.stderr));
    }
    said
}

/// SQLite keeps its place in the log in a side file, also when it only reads. The digest of the executable is found out again
/// whenever the file's own times change, as they do when somebody links to it.
fn outside(world: &World) -> BTreeMap<String, contract::Digest> {
    contents(world.path(), &["home/ledger.db-shm", "home/ledger.db-wal", "home/cache/executables.json"])
}

fn redact(world: &World, text: &str) -> String {
    text.replace(world.path().to_str().expect("UTF-8"), "<world>")
}

/// Makes a named pipe that nobody writes to: who opens it waits for ever.
fn pipe(path: &Path) {
    mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
}
