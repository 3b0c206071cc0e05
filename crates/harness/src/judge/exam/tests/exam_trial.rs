//! Two small trees, a contract, and an examiner whose commands are played.
#![expect(clippy::disallowed_methods, reason = "tests make and read files of their own")]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use contract::decision::Profile;
use contract::report::{CheckResult, VerificationPass};
use contract::task::FileContent;
use contract::{Digest, Ecosystem, Reason, TaskContract};
use sandbox::{Ended, Spec};
use serde_json::Value;
use tree::{Listing, ListingEntry, ObjectDatabase, PathMode};

use super::super::{Examined, Examiner, Furnished, Trees};
use crate::home::watch::{Quiet, Watch};
use crate::run::supervise::SupervisionTerms;
use crate::run::tests::{Trial, contract, ended};

/// Plays the command of a check: its name and what would be started.
pub(in crate::judge) type Script<'a> = &'a dyn Fn(&str, &Spec) -> Ended;

/// Paths and contents of a tree.
pub(super) type Files<'f> = &'f [(&'f str, &'f str)];

pub(super) struct ExamTrial {
    pub(super) contract: TaskContract,
    pub(super) store: ObjectDatabase,
    trial: Trial,
    cancel: AtomicBool,
}

impl ExamTrial {
    /// With these keys in the contract, beside the command `pytest`.
    pub(super) fn new(more: Value) -> Self {
        let trial = Trial::new();
        let bin = trial.folder().join("bin");
        fs::create_dir(&bin).unwrap();
        for name in ["pytest", "build"] {
            fs::write(bin.join(name), "").unwrap();
            fs::set_permissions(bin.join(name), fs::Permissions::from_mode(0o755)).unwrap();
        }
        let mut contract = contract(more);
        contract.environment.path = vec![bin.display().to_string()];
        let store = ObjectDatabase::create_store(&trial.folder().join("store"), trial.harness.git.clone()).unwrap();
        Self { contract, store, trial, cancel: AtomicBool::new(false) }
    }

    /// With a file of the operator's on top of every tree.
    pub(super) fn with_operator_file(mut self, path: &str, text: &str) -> Self {
        use base64::Engine as _;
        let base64 = base64::engine::general_purpose::STANDARD.encode(text);
        let file = FileContent { path: path.to_owned(), sha256: Digest::of_bytes(text.as_bytes()), base64 };
        self.contract.verification_files.push(file);
        self
    }

    pub(super) fn listing(&self, files: Files<'_>) -> Listing {
        let entry =
            |text: &str| ListingEntry { mode: PathMode::File, oid: self.store.put_blob(text.as_bytes()).unwrap() };
        Listing(files.iter().map(|(path, text)| (path.as_bytes().to_vec(), entry(text))).collect())
    }

    /// Asks something of an examiner of these trees before it has begun.
    pub(super) fn ask<T>(
        &self,
        (baseline, result): (Files<'_>, Files<'_>),
        furnished: Furnished,
        play: Script<'_>,
        ask: impl FnOnce(Examiner<'_>) -> T,
    ) -> T {
        let (baseline, result) = (self.listing(baseline), self.listing(result));
        let rules = self.contract.path_rules(&[Ecosystem::Python, Ecosystem::Rust]).unwrap();
        let trees = Trees { store: &self.store, baseline: &baseline, result: &result, rules: &rules };
        let work = tempfile::tempdir_in(self.trial.folder()).unwrap();
        let setting = SupervisionTerms {
            harness: &self.trial.harness,
            contract: &self.contract,
            run_id: &self.trial.run_id,
            work: work.path(),
            profile: Profile::None,
            canary: "canary",
        };
        let watch = Watch { cancel: &self.cancel, observer: &Quiet };
        let mut examiner = Examiner::new(setting, watch, trees, None, furnished);
        examiner.script = Some(play);
        ask(examiner)
    }

    /// Holds the whole exam.
    pub(super) fn examine_with(&self, baseline: Files<'_>, result: Files<'_>, play: Script<'_>) -> Examined {
        self.ask((baseline, result), Furnished::default(), play, |examiner| examiner.examine_all().unwrap())
    }

    /// Holds the whole exam by pytest.
    pub(super) fn examine(&self, baseline: Files<'_>, result: Files<'_>) -> Examined {
        self.examine_with(baseline, result, &|_, spec| pytest(&spec.cwd))
    }
}

/// Reasons against a result, in one line each.
pub(super) fn blocks(examined: &Examined) -> Vec<String> {
    examined.blocks.iter().map(|(reason, text)| format!("{}: {text}", reason.code())).collect()
}

pub(super) fn reasons(examined: &Examined) -> Vec<Reason> {
    examined.blocks.iter().map(|(reason, _)| *reason).collect()
}

/// Checks in their order, each with how it ended.
pub(super) fn passes(examined: &Examined) -> Vec<String> {
    let holds = |pass: &VerificationPass| if pass.result == CheckResult::Pass { "holds" } else { "fails" };
    examined.passes.iter().map(|pass| format!("{} {}", pass.name, holds(pass))).collect()
}

pub(super) fn log(examined: &Examined) -> String {
    String::from_utf8_lossy(&examined.log).into_owned()
}

/// Writes what a build makes to where its changes of the tree go.
pub(super) fn made_by_build(spec: &Spec, files: Files<'_>) {
    let upper = spec.cwd.parent().unwrap().join("above/upper");
    fs::create_dir_all(&upper).unwrap();
    for (path, text) in files {
        let path = upper.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

/// Pytest on the files `test_*.py` of a tree. The line below a function's head says how its test ends: `skip`, `fail`, `"WORD" in app`
/// by the text of all files `app.*`, anything else passes; a control of the harness fails.
pub(super) fn pytest(tree: &Path) -> Ended {
    let (app, tests) = tests_of(tree);
    let outcome = |body: &str| match body.trim() {
        "skip" => "SKIPPED",
        "fail" => "FAILED",
        body if body.contains("\"found\" == \"expected\"") => "FAILED",
        body => match body.strip_suffix(" in app") {
            Some(word) if !app.contains(word.trim_matches('"')) => "FAILED",
            _ => "PASSED",
        },
    };
    say_pytest(&tests.iter().map(|(name, body)| (name.as_str(), outcome(body))).collect::<Vec<_>>())
}

/// Pytest's words for these tests, and its exit code.
pub(super) fn say_pytest(tests: &[(&str, &str)]) -> Ended {
    let number = |wanted: &str| tests.iter().filter(|(_, outcome)| *outcome == wanted).count();
    let mut said =
        format!("{} test session starts {}\ncollected {} items\n\n", "=".repeat(20), "=".repeat(20), tests.len());
    tests.iter().for_each(|(name, outcome)| said.push_str(&format!("{name} {outcome} [ 50%]\n")));
    let words = [("PASSED", "passed"), ("FAILED", "failed"), ("SKIPPED", "skipped")];
    let sums = words.map(|(outcome, word)| (number(outcome), word));
    let sums: Vec<String> =
        sums.iter().filter(|(sum, _)| *sum > 0).map(|(sum, word)| format!("{sum} {word}")).collect();
    let sums = if sums.is_empty() { "no tests ran".to_owned() } else { sums.join(", ") };
    said.push_str(&format!("\n{} {sums} in 0.01s {}\n", "=".repeat(20), "=".repeat(20)));
    let code = match tests.len() {
        0 => 5,
        _ => i32::from(number("FAILED") > 0),
    };
    ended(code, &said)
}

/// The text of all files `app.*`, and each test with the line below its head.
fn tests_of(tree: &Path) -> (String, Vec<(String, String)>) {
    let (mut app, mut tests) = (String::new(), Vec::new());
    for path in files_below(tree) {
        let text = fs::read_to_string(&path).unwrap_or_default();
        let (name, below) = (path.file_name().unwrap().to_string_lossy(), path.strip_prefix(tree).unwrap().display());
        if name.starts_with("app.") {
            app.push_str(&text);
        }
        if name.starts_with("test_") && name.ends_with(".py") {
            let lines: Vec<&str> = text.lines().collect();
            let heads = lines.windows(2).filter_map(|pair| Some((pair[0].strip_prefix("def ")?, pair[1])));
            tests.extend(heads.map(|(head, body)| {
                (format!("{below}::{}", head.split('(').next().unwrap_or_default()), body.to_owned())
            }));
        }
    }
    (app, tests)
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let each = paths.into_iter().map(|path| if path.is_dir() { files_below(&path) } else { vec![path] });
    each.flatten().collect()
}
