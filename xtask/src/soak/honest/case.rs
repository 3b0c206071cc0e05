//! A pair of versions as a repository, a patch and a contract.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::archives::Shelf;
use super::pairs::{Language, Pair};
use crate::ChoreResult;
use crate::process::{command_output, program};
use crate::tools;

/// Ignore rules of the repository where the archive has none: registries rarely carry them,
/// and every repository has them.
const IGNORED: &str = "__pycache__/\n*.py[co]\n.pytest_cache/\n.hypothesis/\n.tox/\n*.egg-info/\nnode_modules/\n/target/\n*.o\n*.a\n*.so\n*.lo\n/.nyc_output/\n/out/\n/bzip2\n/bzip2recover\n*.rb2\n*.tst\n";

/// Names of folders that hold tests or their data.
const EXAM_FOLDERS: [&str; 12] = [
    "test",
    "tests",
    "testing",
    "spec",
    "__tests__",
    "testdata",
    "fixtures",
    "examples",
    "benches",
    "bench",
    ".github",
    "snapshots",
];

/// A pair, ready to run.
pub(super) struct Laid {
    pub(super) case: PathBuf,
    pub(super) source: PathBuf,
    /// Copies on which the tests are run without us.
    pub(super) old: PathBuf,
    pub(super) new: PathBuf,
    environment: Value,
}

impl Laid {
    /// Lays a pair out as a fresh case and its source.
    pub(super) fn lay_pair(place: &Path, shelf: &Shelf, pair: &Pair) -> ChoreResult<Self> {
        let folder = place.join(pair.package.replace(['/', '@'], "_")).join(pair.new);
        let fail = |error: std::io::Error| format!("cannot write {}: {error}", folder.display());
        match std::fs::remove_dir_all(&folder) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(fail(error)),
            _ => {}
        }
        let (case, source) = (folder.join("case"), folder.join("source"));
        let (old, new) = (folder.join("old"), folder.join("new"));
        std::fs::create_dir_all(case.join("files")).map_err(fail)?;
        std::fs::create_dir_all(&source).map_err(fail)?;
        let environment = environment(shelf, pair)?;
        git(&source, &["init", "--quiet"])?;
        for (version, copy) in [(pair.old, &old), (pair.new, &new)] {
            empty(&source)?;
            let files = shelf.tree(pair, version).join(".");
            command_output(program("cp", ["-a", "--no-preserve=ownership,timestamps"]).arg(files).arg(&source))?;
            complete(pair, &source).map_err(fail)?;
            command_output(program("cp", ["-a"]).arg(&source).arg(copy))?;
            std::fs::remove_dir_all(copy.join(".git")).map_err(fail)?;
            git(&source, &["add", "--all", "--force"])?;
            git(&source, &["commit", "--quiet", "--allow-empty", "--message", version])?;
        }
        let changed = git(&source, &["diff", "--no-renames", "--numstat", "-z", "HEAD~", "HEAD"])?;
        // Files that a release adds and its own ignore rules leave out are made by its
        // packaging; no patch brings them.
        let ignored = git(&source, &["ls-files", "--cached", "--ignored", "--exclude-standard"])?;
        let added = git(&source, &["diff", "--no-renames", "--diff-filter=A", "--name-only", "HEAD~", "HEAD"])?;
        if let Some(made) = ignored.lines().find(|path| added.lines().any(|other| other == *path)) {
            return Err(format!("its archive holds `{made}`, which its repository ignores"));
        }
        // A case is text, and so is a patch in which every file counts as binary, whatever
        // its encoding.
        let attributes = source.join(".git/info/attributes");
        std::fs::create_dir_all(source.join(".git/info")).map_err(fail)?;
        std::fs::write(&attributes, "* -diff\n").map_err(fail)?;
        let patch = format!("--output={}", case.join("change.patch").display());
        git(&source, &["diff", "--binary", "--no-renames", "--full-index", &patch, "HEAD~", "HEAD"])?;
        std::fs::remove_file(&attributes).map_err(fail)?;
        if changed.is_empty() {
            return Err(format!("{} and {} are the same", pair.old, pair.new));
        }
        git(&source, &["reset", "--quiet", "--hard", "HEAD~"])?;
        let contract = contract(pair, &changes(&changed), &environment);
        std::fs::write(case.join("case.yaml"), contract.to_string()).map_err(fail)?;
        Ok(Self { case, source, old, new, environment })
    }

    /// Runs the build and the tests in a tree, as somebody would who knows nothing of us.
    pub(super) fn tests_pass(&self, pair: &Pair, tree: &Path) -> ChoreResult {
        let setup = self.environment["setup"].as_array().into_iter().flatten();
        let setup =
            setup.map(|command| command["argv"].as_array().into_iter().flatten().filter_map(Value::as_str).collect());
        let own = pair.build.iter().copied().chain([pair.test]).map(<[&str]>::to_vec);
        for words in setup.chain(own).collect::<Vec<Vec<&str>>>() {
            let Some((first, rest)) = words.split_first() else { continue };
            let mut command = program(first, rest);
            command.current_dir(tree).env("PATH", self.path());
            for (name, value) in self.environment["variables"].as_object().into_iter().flatten() {
                command.env(name, value.as_str().unwrap_or_default());
            }
            let ended = command.output().map_err(|error| format!("cannot start {first}: {error}"))?;
            if !ended.status.success() {
                let said =
                    String::from_utf8_lossy(&ended.stdout).into_owned() + &String::from_utf8_lossy(&ended.stderr);
                let last: Vec<&str> = said.lines().rev().take(3).collect();
                return Err(format!("{} {}", ended.status, last.join(" / ")));
            }
        }
        Ok(())
    }

    /// Tests that a report misses and that the new version has no more: their name stands
    /// nowhere in it, or their file is gone.
    pub(super) fn tests_given_up(&self, report: &Value) -> Vec<String> {
        let passes = report["verification"]["passes"].as_array().into_iter().flatten();
        let missing = passes.flat_map(|pass| pass["tests"]["missing"].as_array().into_iter().flatten());
        let missing: BTreeSet<&str> = missing.filter_map(Value::as_str).collect();
        let given_up = missing.into_iter().filter(|test| {
            let (word, file) = (plain_name(test), test.split("::").next().unwrap_or(test));
            let is_gone = self.old.join(file).is_file() && !self.new.join(file).is_file();
            is_gone || stands_in(&self.old, word) && !stands_in(&self.new, word)
        });
        given_up.map(str::to_owned).collect()
    }

    /// Names tests in the contract that may go.
    pub(super) fn let_go(&self, tests: &[String]) -> ChoreResult {
        let path = self.case.join("case.yaml");
        let fail = |error: std::io::Error| format!("cannot change {}: {error}", path.display());
        let text = std::fs::read_to_string(&path).map_err(fail)?;
        let mut contract: Value =
            serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))?;
        contract["tests_may_go"] = json!(tests);
        std::fs::write(&path, contract.to_string()).map_err(fail)
    }

    fn path(&self) -> String {
        let own = self.environment["path"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let system = std::env::var("PATH").unwrap_or_default();
        own.chain([system.as_str()]).collect::<Vec<_>>().join(":")
    }
}

/// The name of a test without what it stands in, its parameters and its number among equals.
fn plain_name(test: &str) -> &str {
    let test = test.split(" ⟨").next().unwrap_or(test);
    let test = test.split('[').next().unwrap_or(test);
    let test = test.rsplit("::").next().unwrap_or(test);
    let test = test.rsplit(" > ").next().unwrap_or(test);
    test.split(" (line").next().unwrap_or(test).rsplit(['/', '.']).next().unwrap_or(test)
}

fn stands_in(tree: &Path, word: &str) -> bool {
    command_output(program("grep", ["-rqwF", "--", word]).arg(tree)).is_ok()
}

/// Removes everything but the repository itself.
fn empty(source: &Path) -> ChoreResult {
    let words = [".", "-mindepth", "1", "-maxdepth", "1", "!", "-name", ".git", "-exec", "rm", "-rf", "{}", "+"];
    command_output(program("find", words).current_dir(source)).map(drop)
}

/// Adds what a repository has and its archive has not.
fn complete(pair: &Pair, source: &Path) -> std::io::Result<()> {
    let ignore = source.join(".gitignore");
    if !ignore.exists() {
        std::fs::write(ignore, IGNORED)?;
    }
    if source.join(".cargo-ok").exists() {
        std::fs::remove_file(source.join(".cargo-ok"))?;
    }
    if pair.language == Language::Go && !source.join("go.mod").exists() {
        std::fs::write(source.join("go.mod"), format!("module {}\n\ngo 1.21\n", pair.package))?;
    }
    Ok(())
}

/// Changed paths, each with true if it is not text.
fn changes(numstat: &str) -> Vec<(&str, bool)> {
    let lines = numstat.split('\0').filter(|line| !line.is_empty());
    lines.filter_map(|line| Some((line.splitn(3, '\t').nth(2)?, line.starts_with('-')))).collect()
}

/// The contract as the author of the task would write it: everything may change; tests,
/// manifests and files that are no text are named.
fn contract(pair: &Pair, changed: &[(&str, bool)], environment: &Value) -> Value {
    let products = changed.iter().filter(|(_, binary)| *binary).map(|(path, _)| *path);
    let allowed: Vec<&str> = ["**"].into_iter().chain(products).collect();
    let released: Vec<&str> = changed.iter().map(|(path, _)| *path).filter(|path| is_of_exam(path)).collect();
    let mut environment = environment.clone();
    if !pair.build.is_empty() {
        let each = pair.build.iter().map(|argv| json!({"argv": argv, "timeout_seconds": 300}));
        environment["build"] = each.collect();
    }
    let mut steps = vec![json!({"apply": {"patch": "change.patch"}})];
    steps.extend(pair.build.iter().copied().chain([pair.test]).map(|argv| json!({"run": {"argv": argv}})));
    let mut contract = json!({
        "schema_version": "1",
        "task_id": format!("{}-{}", pair.package.replace(['/', '@', '.', '_'], "-").trim_matches('-'), pair.language.name()),
        "title": format!("{} {}", pair.package, pair.new),
        "brief": format!("Make {} {} of {}.", pair.package, pair.new, pair.old),
        "risk_class": "low",
        "source_owner": "the maintainers",
        "source_classification": "owned_local",
        "allowed_paths": allowed,
        "mutation_mode": "copied-fixture",
        "verification_commands": [{"argv": pair.test, "timeout_seconds": 300}],
        "environment": environment,
        "fake": {"steps": steps, "claims": {"status": "success", "tests_passed": true}},
    });
    if !released.is_empty() {
        contract["exam_may_change"] = json!(released);
    }
    contract
}

/// True for tests, their data and manifests, by the names that people use.
fn is_of_exam(path: &str) -> bool {
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
    let in_tests = folders.split('/').any(|folder| EXAM_FOLDERS.contains(&folder));
    let is_test = name.starts_with("test")
        || name.contains("_test.")
        || name.contains(".test.")
        || name.contains(".spec.")
        || name == "conftest.py";
    in_tests || is_test || folders.is_empty()
}

fn environment(shelf: &Shelf, pair: &Pair) -> ChoreResult<Value> {
    let same = |path: &Path| json!({"source": path, "target": path});
    Ok(match pair.language {
        Language::Python => json!({
            "mounts": [same(&shelf.venv)], "path": [shelf.venv.join("bin")], "variables": {"PYTHONPATH": "src:."},
        }),
        Language::TypeScript => json!({
            "mounts": [same(&shelf.node_modules)], "path": [shelf.node_modules.join(".bin")],
            "setup": [{"argv": ["ln", "-s", shelf.node_modules, "node_modules"]}], "setup_inputs": ["package.json"],
        }),
        Language::JavaScript => json!({
            "mounts": [same(&shelf.node_modules)], "path": [shelf.node_modules.join(".bin")],
            "variables": {"NODE_PATH": shelf.node_modules},
        }),
        Language::Rust => json!({"variables": {"CARGO_INCREMENTAL": "0", "CARGO_NET_OFFLINE": "true"}}),
        Language::Go => {
            let (go, cache) = (tools::go()?, tools::go_cache()?);
            let bin = go.parent().unwrap_or(&go);
            json!({
                "mounts": [same(bin.parent().unwrap_or(bin)), same(&cache)], "path": [bin],
                "variables": {"GOCACHE": cache, "GODEBUG": "goindex=0", "GOPROXY": "off", "GOTOOLCHAIN": "local"},
            })
        }
        Language::C => json!({}),
    })
}

/// Git without anybody's configuration; what it printed.
fn git(folder: &Path, arguments: &[&str]) -> ChoreResult<String> {
    let mut command: Command = program("git", arguments);
    command.current_dir(folder).env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    for name in ["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"] {
        command.env(name, "soak");
    }
    command_output(&mut command)
}
