//! A draft of a contract's environment: each part with its reason, as YAML to paste or as
//! JSON.

mod changes;

use std::fmt::Write as _;

use contract::task::{Command, Environment, Mount};
use serde_json::{Value, json};

use crate::yaml::{scalar, write_comment};

/// Installing and compiling takes its time.
const TIMEOUT_SECONDS: u64 = 900;

const HEAD: &str = "Drafted by cto environment suggest. Paste it into a contract; read it first.";
const INPUTS: &str = "all that setup sees of the repository, with the manifests beside it; where a patch changes one of these, \
                      setup runs again on the patched tree";
const WHOLE_TREE: &str = "Without setup_inputs setup sees the whole repository, has no network, and runs again on every patched \
                          tree, over what it made of the baseline";
const NETWORK: &str = "Where this machine does not have what setup needs: name the registries, and setup alone reaches \
                       them through a proxy that records it";

#[derive(Debug, Clone)]
struct DraftPart<T> {
    value: T,
    why: String,
}

/// Draft of an environment that grows as ecosystems are found. A part that is added twice
/// occurs once.
#[derive(Debug, Clone, Default)]
pub struct EnvironmentDraft {
    found: Vec<String>,
    mounts: Vec<DraftPart<Mount>>,
    path: Vec<DraftPart<String>>,
    variables: Vec<DraftPart<(String, String)>>,
    setup: Vec<DraftPart<Command>>,
    /// Commands that come after those of all ecosystems.
    last: Vec<DraftPart<Command>>,
    inputs: Vec<String>,
    whole_tree: bool,
    build: Vec<DraftPart<Command>>,
    hosts: Vec<String>,
    /// Setup may reach the hosts.
    uses_network: bool,
    /// Further changes that setup needs where it may use the network.
    online: Vec<String>,
    notes: Vec<String>,
    /// Build command that installs the project itself, where a failure asks for it.
    project: Option<DraftPart<Command>>,
    /// Setup command that installs the project's own build tools, where a failure asks for it.
    build_tools: Option<DraftPart<Command>>,
    /// Folder of Python modules in a sandbox, where a failure asks for it.
    module_path: Option<String>,
}

impl EnvironmentDraft {
    /// Counts the projects that were found.
    pub(crate) fn count_projects(&self) -> usize {
        self.found.len()
    }

    /// An ecosystem and the files that say so.
    pub(super) fn found(&mut self, ecosystem: &str, files: &[String]) {
        self.found.push(format!("{ecosystem}: {}", files.join(", ")));
    }

    /// Adds a read-only mount with the reason for it.
    pub(super) fn mount(&mut self, source: &str, target: &str, why: impl Into<String>) {
        let value = Mount { source: source.to_owned(), target: Some(target.to_owned()) };
        add(&mut self.mounts, value, why);
    }

    /// Adds a folder to the search path with the reason for it.
    pub(super) fn add_path(&mut self, dir: &str, why: impl Into<String>) {
        add(&mut self.path, dir.to_owned(), why);
    }

    /// Adds a variable with the reason for it.
    pub(super) fn variable(&mut self, name: &str, value: &str, why: impl Into<String>) {
        add(&mut self.variables, (name.to_owned(), value.to_owned()), why);
    }

    /// Adds a setup command with the reason for it.
    pub(super) fn add_setup<S: AsRef<str>>(&mut self, argv: &[S], cwd: Option<String>, why: impl Into<String>) {
        add(&mut self.setup, command(argv, cwd), why);
    }

    /// Adds a setup command that must run after all others.
    pub(super) fn setup_last<S: AsRef<str>>(&mut self, argv: &[S], why: impl Into<String>) {
        add(&mut self.last, command(argv, None), why);
    }

    /// A file that setup depends on.
    pub(super) fn input(&mut self, path: &str) {
        push_new(&mut self.inputs, as_glob(path));
    }

    /// Setup compiles the repository's own code, so that it has to see the whole tree.
    pub(super) fn sees_whole_tree(&mut self) {
        self.whole_tree = true;
    }

    /// Adds a build command, which runs on every judged tree before the tests.
    pub(super) fn add_build<S: AsRef<str>>(&mut self, argv: &[S], cwd: Option<String>, why: impl Into<String>) {
        add(&mut self.build, command(argv, cwd), why);
    }

    /// Keeps a build command that installs the project itself, for a failure that asks for it.
    pub(super) fn offer_project<S: AsRef<str>>(&mut self, argv: &[S], cwd: Option<String>) {
        let why = "installs a link to the project's own code, on every tree that is judged".to_owned();
        self.project = Some(DraftPart { value: command(argv, cwd), why });
    }

    /// Keeps a setup command that installs the project's build tools, for a failure that asks for it.
    pub(super) fn offer_build_tools<S: AsRef<str>>(&mut self, argv: &[S], cwd: Option<String>) {
        let why = "installs the build tools that pyproject.toml names".to_owned();
        self.build_tools = Some(DraftPart { value: command(argv, cwd), why });
    }

    /// Keeps a folder of modules, for a failure that asks for it.
    pub(super) fn offer_module_path(&mut self, below: &str) {
        self.module_path = Some(format!("/workspace/{below}"));
    }

    /// Hosts that setup would ask, and what else would have to change, if anything.
    pub(super) fn online(&mut self, hosts: &[&str], change: &str) {
        hosts.iter().for_each(|host| push_new(&mut self.hosts, (*host).to_owned()));
        if !change.is_empty() {
            push_new(&mut self.online, change.to_owned());
        }
    }

    /// Adds something that a person has to know or do.
    pub(super) fn add_note(&mut self, note: impl Into<String>) {
        push_new(&mut self.notes, note.into());
    }

    /// Environment of the contract, without the reasons of its parts.
    pub(crate) fn environment(&self) -> Environment {
        Environment {
            mounts: self.mounts.iter().map(|part| part.value.clone()).collect(),
            path: self.path.iter().map(|part| part.value.clone()).collect(),
            variables: self.variables.iter().map(|part| part.value.clone()).collect(),
            setup: self.setup.iter().chain(&self.last).map(|part| part.value.clone()).collect(),
            setup_inputs: if self.whole_tree { Vec::new() } else { self.inputs.clone() },
            setup_network: if self.uses_network { self.hosts.clone() } else { Vec::new() },
            build: self.build.iter().map(|part| part.value.clone()).collect(),
            setup_network_for_patch: false,
        }
    }

    /// JSON for programs: the environment, and everything that the YAML has in comments.
    pub fn document(&self) -> Value {
        fn because<T>(key: &str, parts: &[DraftPart<T>], named: impl Fn(&T) -> String) -> Vec<Value> {
            parts.iter().map(|part| json!({"key": key, "value": named(&part.value), "why": part.why})).collect()
        }
        let why = [
            because("mounts", &self.mounts, |mount| mount.target.clone().unwrap_or_else(|| mount.source.clone())),
            because("path", &self.path, String::clone),
            because("variables", &self.variables, |(name, _)| name.clone()),
            because("setup", &self.setup, |command| command.argv.join(" ")),
            because("setup", &self.last, |command| command.argv.join(" ")),
            because("build", &self.build, |command| command.argv.join(" ")),
        ];
        json!({
            "environment": self.environment(),
            "found": self.found,
            "notes": self.notes,
            "setup_network": {"change": self.online, "hosts": self.hosts},
            "why": why.concat(),
        })
    }

    /// YAML for people, to paste into a contract, each part below its reason.
    pub fn yaml(&self) -> String {
        let mut out = String::new();
        write_comment(&mut out, "", HEAD);
        self.found.iter().for_each(|found| write_comment(&mut out, "", found));
        if self.environment() == Environment::default() {
            write_comment(&mut out, "", "A sandbox shows all that is needed.");
            out.push_str("environment: {}\n");
        } else {
            out.push_str("environment:\n");
            self.sections(&mut out);
        }
        self.write_notes(&mut out);
        out
    }

    /// The same inside of a whole contract, where an empty environment is left out.
    pub(crate) fn write_yaml(&self, out: &mut String) {
        self.found.iter().for_each(|found| write_comment(out, "", found));
        if self.environment() != Environment::default() {
            out.push_str("environment:\n");
            self.sections(out);
        }
        self.write_notes(out);
    }

    fn write_notes(&self, out: &mut String) {
        self.notes.iter().for_each(|note| write_comment(out, "", &format!("Note: {note}")));
    }

    fn sections(&self, out: &mut String) {
        section(out, "mounts", &self.mounts, |out, mount| {
            let _ = writeln!(out, "    - source: {}", scalar(&mount.source));
            if let Some(target) = &mount.target {
                let _ = writeln!(out, "      target: {}", scalar(target));
            }
        });
        section(out, "path", &self.path, |out, dir| {
            let _ = writeln!(out, "    - {}", scalar(dir));
        });
        section(out, "variables", &self.variables, |out, (name, value)| {
            let _ = writeln!(out, "    {}: {}", scalar(name), scalar(value));
        });
        let all: Vec<&DraftPart<Command>> = self.setup.iter().chain(&self.last).collect();
        section(out, "setup", &all, write_command);
        if self.whole_tree {
            write_comment(out, "  ", WHOLE_TREE);
        } else if !self.inputs.is_empty() {
            out.push_str("  setup_inputs:\n");
            write_comment(out, "    ", INPUTS);
            for path in &self.inputs {
                let _ = writeln!(out, "    - {}", scalar(path));
            }
        }
        section(out, "build", &self.build, write_command);
        if self.uses_network {
            let hosts: Vec<String> = self.hosts.iter().map(|host| scalar(host)).collect();
            let _ = writeln!(out, "  setup_network: [{}]", hosts.join(", "));
        } else if !self.hosts.is_empty() && !self.whole_tree {
            let also = if self.online.is_empty() {
                String::new()
            } else {
                format!("; then also {}", self.online.join(", and "))
            };
            write_comment(out, "  ", &format!("{NETWORK}{also}."));
            let hosts: Vec<String> = self.hosts.iter().map(|host| scalar(host)).collect();
            let _ = writeln!(out, "  # setup_network: [{}]", hosts.join(", "));
        }
    }
}

fn write_command(out: &mut String, command: &Command) {
    let argv: Vec<String> = command.argv.iter().map(|word| scalar(word)).collect();
    let _ = writeln!(out, "    - argv: [{}]\n      timeout_seconds: {}", argv.join(", "), command.timeout_seconds);
    if let Some(cwd) = &command.cwd {
        let _ = writeln!(out, "      cwd: {}", scalar(cwd));
    }
}

/// A glob that matches this path alone.
fn as_glob(path: &str) -> String {
    let special = |letter: char| matches!(letter, '*' | '?' | '[' | ']' | '{' | '}' | '\\' | '!');
    path.chars().flat_map(|letter| special(letter).then_some('\\').into_iter().chain([letter])).collect()
}

fn command<S: AsRef<str>>(argv: &[S], cwd: Option<String>) -> Command {
    let argv = argv.iter().map(|word| word.as_ref().to_owned()).collect();
    Command { argv, shell: false, timeout_seconds: TIMEOUT_SECONDS, cwd }
}

fn add<T: PartialEq>(parts: &mut Vec<DraftPart<T>>, value: T, why: impl Into<String>) {
    if parts.iter().all(|part| part.value != value) {
        parts.push(DraftPart { value, why: why.into() });
    }
}

fn push_new(texts: &mut Vec<String>, text: String) {
    if !texts.contains(&text) {
        texts.push(text);
    }
}

fn section<T>(
    out: &mut String,
    key: &str,
    parts: &[impl std::borrow::Borrow<DraftPart<T>>],
    each: impl Fn(&mut String, &T),
) {
    if parts.is_empty() {
        return;
    }
    let _ = writeln!(out, "  {key}:");
    for part in parts {
        let part = part.borrow();
        write_comment(out, "    ", &part.why);
        each(out, &part.value);
    }
}
