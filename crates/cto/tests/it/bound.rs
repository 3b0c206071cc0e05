//! A genuine bundle in the place of another run's: no command takes the one for the other.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use testkit::{World, copy_bundle, program};

use crate::world;

/// A home with a run that failed and one that passed, both on the same repository.
struct Scene {
    world: World,
    failed: PathBuf,
    passed: PathBuf,
}

impl Scene {
    fn new() -> Self {
        let world = world();
        let (_, failed) = world.run("fail-failed-tests", 1);
        let (_, passed) = world.run("shell-script-rotate-logs", 0);
        Self { world, failed, passed }
    }

    fn failed_run(&self) -> &str {
        self.failed.file_name().unwrap().to_str().unwrap()
    }

    /// Puts the bundle that passed in the place of the one that failed.
    fn replace(&self) {
        fs::remove_dir_all(&self.failed).unwrap();
        copy_bundle(&self.passed, &self.failed);
    }

    /// The exit code of the page of Python.
    fn python(&self, bundle: &Path) -> (Option<i32>, String) {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/formats/verify.py");
        let key = self.world.home().join("keys/harness.pub");
        let ran =
            program("python3", Path::new("/")).args([&script, bundle, Path::new("--key"), &key]).output().unwrap();
        (ran.status.code(), String::from_utf8_lossy(&ran.stdout).into_owned())
    }
}

fn checks(document: &Value) -> Vec<&str> {
    document["errors"].as_array().unwrap().iter().map(|error| error["check"].as_str().unwrap()).collect()
}

/// Commands that act on a run, before its name.
const ACTING: &[&[&str]] = &[
    &["show"],
    &["show", "--json"],
    &["show", "--markdown"],
    &["diff"],
    &["logs"],
    &["logs", "--events"],
    &["replay"],
    &["reverify"],
    &["compare"],
    &["export"],
    &["take"],
];

#[test]
fn no_command_takes_another_runs_bundle_for_the_one_asked_for() {
    let scene = Scene::new();
    let (world, run) = (&scene.world, scene.failed_run().to_owned());
    let shown = world.cto(["show", &run]).expect(0).text();
    assert!(shown.starts_with("fail "), "control: the run as it was: {shown}");
    scene.replace();
    for name in [run.as_str(), scene.failed.to_str().unwrap(), run.rsplit('-').next().unwrap()] {
        let document = world.cto(["verify", name, "--json"]).expect(1).json();
        assert!(checks(&document).iter().all(|check| *check == "run_mismatch"), "{name}: {document:#}");
        assert_eq!(document["status"], Value::Null, "{name}: it has no verdict: {document:#}");
    }
    for command in ACTING {
        let ran = world.cto(command.iter().copied().chain([run.as_str()])).expect(1);
        let told = format!("{}{}", ran.text(), ran.stderr);
        assert!(told.contains("run_mismatch") && !told.contains("pass "), "{command:?}: {told}");
    }
    let (code, said) = scene.python(&scene.failed);
    assert!(code == Some(1) && said.contains("run_mismatch"), "{said}");
    let audit = world.cto(["ledger", "verify"]).expect(1).text();
    assert!(audit.contains("is not the one that was sealed"), "{audit}");
}

/// The control: the same bundle in a folder that names no run is what it says it is, for both verifiers.
#[test]
fn a_bundle_elsewhere_is_the_run_that_it_names() {
    let scene = Scene::new();
    let elsewhere = scene.world.here().join("handed-over");
    copy_bundle(&scene.passed, &elsewhere);
    let document = scene.world.cto(["verify", "./handed-over", "--json"]).expect(0).json();
    assert_eq!(document["run_id"], scene.passed.file_name().unwrap().to_str().unwrap());
    assert_eq!(scene.python(&elsewhere).0, Some(0));
    let named = scene.world.here().join(scene.failed_run());
    fs::rename(&elsewhere, &named).unwrap();
    let document = scene.world.cto(["verify", named.to_str().unwrap(), "--json"]).expect(1).json();
    assert_eq!(checks(&document), ["run_mismatch"], "a folder named like another run: {document:#}");
    assert_eq!(scene.python(&named).0, Some(1));
}

/// A run sealed again with the home's own key is whole and of the right name; only the ledger knows it for another.
#[test]
fn an_attestation_that_the_ledger_does_not_have_is_another_run() {
    let scene = Scene::new();
    let key = evidence::HarnessKey::open_file(&scene.world.home().join("keys/harness.pem")).unwrap();
    let forger = testkit::Forger::new(&scene.passed, &key);
    forger.report(|report| report["title"] = "Another title".into());
    forger.sign(|_| {});
    let run = scene.passed.file_name().unwrap().to_str().unwrap();
    let document = scene.world.cto(["verify", run, "--json"]).expect(1).json();
    assert_eq!(checks(&document), ["run_mismatch"], "{document:#}");
    let moved = scene.world.here().join("moved");
    copy_bundle(&scene.passed, &moved);
    let _ = scene.world.cto(["verify", "./moved"]).expect(0);
}

#[test]
fn a_ledger_that_is_gone_is_missed_by_the_bundles() {
    let scene = Scene::new();
    let world = &scene.world;
    let _ = world.cto(["ledger", "verify"]).expect(0);
    for entry in fs::read_dir(world.home()).unwrap().flatten() {
        if entry.file_name().to_string_lossy().starts_with("ledger.db") {
            fs::remove_file(entry.path()).unwrap();
        }
    }
    let document = world.cto(["ledger", "verify", "--json"]).expect(1).json();
    assert_eq!((&document["ok"], &document["bundles"]), (&false.into(), &2.into()), "{document}");
    assert!(document["problems"][0]["what"].as_str().unwrap().contains("there is no ledger"), "{document}");
    fs::remove_dir_all(world.bundles()).unwrap();
    let _ = world.cto(["ledger", "verify"]).expect(0);
}
