//! The tamper corpus: real bundles, changed in every way we could think of, must not verify, and must say where.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

mod callers;
mod edits;
mod garbage;
mod judged;
mod random;
mod sandboxed;

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use evidence::verify::{Checked, Failure};
use evidence::{HarnessKey, PublicKey, names};
use serde_json::json;
use tempfile::TempDir;
use testkit::{World, copy_bundle, wait_for};

/// One sealed bundle of each kind, made by the real binary.
pub(crate) struct Corpus {
    pub(crate) world: World,
    pub(crate) key: HarnessKey,
    bundles: Vec<(&'static str, PathBuf)>,
}

/// A copy that may be changed.
pub(crate) struct Scene {
    _dir: TempDir,
    pub(crate) bundle: PathBuf,
}

pub(crate) fn corpus() -> &'static Corpus {
    static CORPUS: OnceLock<Corpus> = OnceLock::new();
    CORPUS.get_or_init(|| {
        let world = World::shared(env!("CARGO_BIN_EXE_cto"));
        let bundles = vec![
            ("pass", world.run("shell-script-rotate-logs", 0).1),
            ("fail", world.run("fail-failed-tests", 1).1),
            ("outside", world.run("fail-disallowed-file", 1).1),
            ("forbidden", world.run("fail-forbidden-path", 1).1),
            ("blocked", world.run("fail-no-allowed-paths", 3).1),
            ("interrupted", interrupted(&world)),
            ("altered", altered(&world, "altered", "sh", "grep -qx two a.txt\n", "grep -q two a.txt\n")),
            ("shortened", altered(&world, "shortened", "python3", CHECKS, SHORTENED)),
        ];
        let key = HarnessKey::open_file(&world.home().join("keys/harness.pem")).unwrap();
        Corpus { world, key, bundles }
    })
}

const NAP: &str = "
schema_version: \"1\"
task_id: nap
title: A nap
brief: Sleep.
risk_class: low
allowed_paths: [a.txt]
forbidden_actions: [push, merge, deploy, close, pr_open, issue_close, public_publication, credential_change, vendor_source_mutation, cortex_core_mutation]
mutation_mode: copied-fixture
verification_commands: [{argv: [sh, -c, 'exit 0']}]
fake:
  steps:
    - print: {text: going to sleep}
    - state: {path: notes/diary.txt, text: dear diary}
    - sleep: {seconds: 600}
";

/// A check, and what is left of it without its one line that checks.
const CHECKS: &str = "import sys\nsys.exit(open('a.txt').read() != 'two\\n')\n";
const SHORTENED: &str = "import sys\n";

/// A good run whose patch also alters the file of the exam that a program runs.
fn altered(world: &World, name: &str, program: &str, before: &str, after: &str) -> PathBuf {
    let steps = json!([
        {"write": {"path": "a.txt", "text": "two\n"}},
        {"write": {"path": "tests/check", "text": after}},
    ]);
    let fake = json!({"steps": steps}).to_string();
    let commands = json!([[program, "tests/check"]]).to_string();
    let changes =
        [("allowed_paths", "[a.txt, 'tests/*']"), ("verification_commands", commands.as_str()), ("fake", &fake)];
    world.case(name, &changes);
    world.write(&format!("{name}/files/tests/check"), before);
    world.run(&format!("./{name}"), 0).1
}

/// A run that was killed while its engine worked, and then recovered.
fn interrupted(world: &World) -> PathBuf {
    world.write("nap/case.yaml", NAP);
    world.write("nap/files/a.txt", "a\n");
    let mut child = world.start(["run", "./nap"]);
    let started = |dir: &Path| {
        fs::read_to_string(dir.join(names::EVENTS)).is_ok_and(|events| events.contains("\"engine.started\""))
    };
    wait_for("the engine", || {
        let active = fs::read_dir(world.home().join("active")).ok()?;
        active.flatten().any(|entry| started(&entry.path())).then_some(())
    });
    child.kill().unwrap();
    child.wait().unwrap();
    let done = world.cto(["recover", "--json"]).expect(0).json();
    world.bundles().join(done["sealed"][0]["run_id"].as_str().unwrap())
}

impl Corpus {
    pub(crate) fn kinds(&self) -> impl Iterator<Item = &'static str> {
        self.bundles.iter().map(|(kind, _)| *kind)
    }

    pub(crate) fn bundle(&self, kind: &str) -> &Path {
        &self.bundles.iter().find(|(known, _)| *known == kind).unwrap().1
    }

    pub(crate) fn copy(&self, kind: &str) -> Scene {
        // Outside of the world, where claims are searched for: what is forged here is no command's.
        let dir = tempfile::tempdir().unwrap();
        let bundle = dir.path().join("bundle");
        copy_bundle(self.bundle(kind), &bundle);
        Scene { _dir: dir, bundle }
    }

    pub(crate) fn public_key(&self) -> PathBuf {
        self.world.home().join("keys/harness.pub")
    }

    fn verify(&self, bundle: &Path) -> Checked {
        evidence::verify::verify_bundle(bundle, &[self.key.public()], &[]).unwrap()
    }
}

/// True if a failure names this file and one of these checks (any, if none is named).
fn names_it(failure: &Failure, file: &str, checks: &[&str]) -> bool {
    failure.file == file && (checks.is_empty() || checks.contains(&failure.check.as_str()))
}

/// The bundle does not verify, and a failure names the file and the check, with two things that differ.
fn refusal(checked: &Checked, what: &str, file: &str, checks: &[&str]) -> Result<(), String> {
    if checked.report.is_some() || checked.statement.is_some() {
        return Err(format!("{what}: a verdict is given"));
    }
    if !checked.failures.iter().any(|failure| names_it(failure, file, checks)) {
        return Err(format!("{what}: no failure names {file} {checks:?}: {:#?}", checked.failures));
    }
    let odd = |failure: &&Failure| failure.check.is_empty() || failure.expected == failure.found;
    checked.failures.iter().find(odd).map_or(Ok(()), |failure| Err(format!("{what}: {failure:?}")))
}

fn check_refused(checked: &Checked, what: &str, file: &str, checks: &[&str]) {
    all_hold([refusal(checked, what, file, checks)]);
}

/// All that does not hold, at once.
fn all_hold(results: impl IntoIterator<Item = Result<(), String>>) {
    let wrong: Vec<String> = results.into_iter().filter_map(Result::err).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn untouched_bundles_verify() {
    let corpus = corpus();
    for kind in corpus.kinds() {
        let checked = corpus.verify(&corpus.copy(kind).bundle);
        assert_eq!(checked.failures, vec![], "{kind}");
        assert!(checked.judged_again && checked.report.is_some(), "{kind}");
    }
    let recovered = corpus.verify(corpus.bundle("interrupted")).statement.unwrap();
    assert_eq!(recovered.predicate.sealed_by, contract::statement::SealedBy::Recover);
}

/// Nobody signs a folder, so one without a signed file in it is somebody's addition.
#[test]
fn an_added_folder_is_found() {
    let corpus = corpus();
    for added in ["backend/empty/deeper", "top"] {
        let scene = corpus.copy("pass");
        fs::create_dir_all(scene.bundle.join(added)).unwrap();
        check_refused(&corpus.verify(&scene.bundle), added, added, &["directory"]);
    }
}

/// Too large to be read is never the same as nothing wrong: the rest of this bundle is as its report says.
#[test]
fn an_attestation_too_large_to_read_is_no_signature() {
    let corpus = corpus();
    let unknown = HarnessKey::open_or_create(&corpus.world.path().join("unknown.pem")).unwrap();
    for file in [names::ATTESTATION, names::REPORT] {
        let scene = corpus.copy("pass");
        testkit::Forger::new(&scene.bundle, &unknown).report(|report| report["title"] = "Forged".into());
        let opened = OpenOptions::new().write(true).open(scene.bundle.join(file)).unwrap();
        opened.write_at(b" ", 256 << 20).unwrap();
        check_refused(&corpus.verify(&scene.bundle), file, file, &["size"]);
    }
}

/// A key that is in no file.
fn fresh_key(dir: &Path) -> (HarnessKey, PublicKey) {
    let key = HarnessKey::open_or_create(&dir.join("fresh.pem")).unwrap();
    let public = key.public();
    (key, public)
}
