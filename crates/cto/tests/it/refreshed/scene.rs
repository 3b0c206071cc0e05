//! An operator with a small engine of their own, an admitted target and two cases for it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tempfile::TempDir;
use testkit::{Ran, World, git};

use crate::climb::Climber;
use crate::world;

pub(super) const ENGINE: &str = "toy";
/// Item of the board that the runs of the case `other` are for.
pub(super) const WORK: &str = "DEMO-WORK-001";

const SCRIPT: &str = r#"#!/bin/sh
case "$1" in --version) echo "toy 1.0.0"; exit 0 ;; esac
if grep -q "b.txt says three" "$1"; then echo four > b.txt; else echo two > a.txt; fi
"#;

/// Tests of the target: one that a case must make green, one that is green all the while, and a known failure.
const TESTS: &str = "import unittest\n\n\nclass Words(unittest.TestCase):\n    def test_four(self):\n        self.assertEqual(open('b.txt').read(), 'four\\n')\n\n    def test_words(self):\n        self.assertTrue(open('a.txt').read())\n\n    def test_known(self):\n        self.fail('known')\n";

const ACTIONS: &str = "[push, merge, deploy, close, pr_open, issue_close, public_publication, credential_change, \
                       vendor_source_mutation, cortex_core_mutation]";

pub(super) struct Scene {
    pub(super) world: World,
    /// Place of the script.
    tools: TempDir,
    pub(super) target: PathBuf,
}

impl Scene {
    pub(super) fn new() -> Self {
        let world = world();
        let _ = world.cto(["init", "."]).expect(0);
        fs::write(world.user().join(".gitconfig"), "[user]\n\tname = Ada\n\temail = ada@example.invalid\n").unwrap();
        let target = world.repository("target", &[("a.txt", "one\n"), ("b.txt", "three\n"), ("test_words.py", TESTS)]);
        let tools = testkit::lasting_dir(env!("CARGO_TARGET_TMPDIR"));
        let script = tools.path().join(ENGINE);
        fs::write(&script, SCRIPT).unwrap();
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
        let good = [("mutation_mode", "candidate-default"), ("forbidden_actions", ACTIONS)];
        let other = [
            ("task_id", "other"),
            ("brief", "b.txt says three. Make it say four."),
            ("allowed_paths", "[b.txt]"),
            ("verification_commands", "[[python3, -m, unittest, -v]]"),
            // Everything that a verification may rest on, which a refresh holds once more at HEAD.
            ("must_pass", "[test_four]"),
            ("may_stay_red", "[test_known]"),
            ("blind_checks", r#"[{argv: [cat, b.txt], expect_stdout: "four\n"}]"#),
            ("environment", "{setup: [['true']]}"),
        ];
        world.case("made", &good);
        world.case("other", &[good.as_slice(), &other].concat());
        let scene = Self { world, tools, target };
        scene.open_gate(1);
        scene
    }

    pub(super) fn home(&self) -> PathBuf {
        self.world.home()
    }

    pub(super) fn cto(&self, words: &[&str]) -> Ran {
        self.world.cto(words.iter().copied())
    }

    /// Describes the engine and opens its gate for a stage.
    fn open_gate(&self, stage: u8) {
        let program = self.tools.path().join(ENGINE);
        let text = format!(
            "engines:\n  toy:\n    executable: {}\n    enabled: true\n    stage: {stage}\n    definition:\n      about: a small script\n      \
             program: toy\n      identity:\n        argv: [\"--version\"]\n        expect: \"toy 1.\"\n      argv: [\"{{task}}\"]\n",
            program.display()
        );
        self.world.write("harness.yaml", text);
    }

    /// Admits engine and target, and climbs to stage 4.
    pub(super) fn climb(&self) {
        let target = self.target.clone();
        let mut call = |stage: u8, words: &[&str]| {
            self.open_gate(stage);
            self.cto(words)
        };
        let words = ["--engine", ENGINE];
        let mut climber =
            Climber { world: &self.world, home: self.home(), words: &words, call: &mut call, target_words: &[] };
        climber.make_key();
        climber.admit_source(ENGINE);
        for stage in 1..=3 {
            let _ = climber.run(stage, &target, 0);
        }
        let admission = self.world.write("target.yaml", self.admission());
        climber.sign(&admission);
        let _ = climber.approve(4, &target);
        let _ = climber.run(4, &target, 0);
    }

    fn admission(&self) -> String {
        format!(
            "admission_status: admitted\ntarget_repository_path: {}\nrepository_owner: Ada\nownership_evidence: notes/1\n\
             risk_classification: low_risk_noncritical\nnoncritical_rationale: a toy\nallowed_paths: [a.txt, b.txt]\n\
             forbidden_paths: [secrets/]\nforbidden_actions: {ACTIONS}\napproval_source: Ada\napproval_timestamp: 2026-11-01\n\
             operator_outcome_required: true\nreview_trigger: never\n",
            self.target.display()
        )
    }

    /// Requests, approves and runs a case at stage 5; gives the run.
    pub(super) fn change_target(&self, case: &str, stage: &str) -> String {
        self.open_gate(5);
        let case = format!("./{case}");
        let work: &[&str] = if case == "./other" { &["--work", WORK] } else { &[] };
        let about = |command: &'static str| {
            let words = [command, &case, "--engine", ENGINE, "--stage", stage, "--target", "target.yaml", "--json"];
            words.iter().chain(work).map(|word| (*word).to_owned()).collect::<Vec<String>>()
        };
        let request = self.world.cto(about("request")).expect(0).json();
        let name = request["request"].as_str().unwrap();
        let packet = self.cto(&["packet", name, "--json"]).expect(0).json();
        let sentence = packet["approval_command_text"].as_str().unwrap();
        let _ = self.cto(&["approve", name, "--sentence", sentence]).expect(0);
        let report = self.world.cto(about("run")).expect(0).json();
        report["run_id"].as_str().unwrap().to_owned()
    }

    /// Merges the branch of a run, as its operator does.
    pub(super) fn merge(&self, run: &str) {
        let report = self.cto(&["show", run, "--json"]).expect(0).json();
        let branch = report["result_branch"].as_str().unwrap();
        git(&self.target, ["merge", "-q", "--no-edit", branch]);
    }

    /// A comparison in another home.
    pub(super) fn compare_in(&self, home: &Path, code: i32) -> Value {
        self.cto(&compare_words(home)).expect(code).json()
    }

    /// A command of the binary that looks at no fact of a proof.
    pub(super) fn trusting(&self, binary: &Path, words: &[&str]) -> Ran {
        let mut command = self.world.program(binary.to_str().unwrap());
        Ran::of(command.args(words).env("CTO_DEFECT", "proof_facts_unverified").output().unwrap())
    }

    pub(super) fn refresh(&self, words: &[&str], code: i32) -> Value {
        self.refresh_in(&self.home(), words, code)
    }

    pub(super) fn refresh_in(&self, home: &Path, words: &[&str], code: i32) -> Value {
        let words = [&["refresh", "--json", "--home", home.to_str().unwrap()], words].concat();
        self.cto(&words).expect(code).json()
    }

    /// A copy of the home, to be damaged.
    pub(super) fn copy_home(&self, name: &str) -> PathBuf {
        let copy = self.world.path().join(name);
        // A row that failed has left its own.
        let _ = fs::remove_dir_all(&copy);
        let copied = testkit::program("cp", self.world.path()).arg("-a").args([&self.home(), &copy]).output().unwrap();
        assert!(copied.status.success(), "{}", String::from_utf8_lossy(&copied.stderr));
        copy
    }

    /// Everything of the target, file by file.
    pub(super) fn untouched(&self) -> std::collections::BTreeMap<String, contract::Digest> {
        testkit::contents(&self.target, &[])
    }
}

/// Words of a comparison in a home.
pub(super) fn compare_words(home: &Path) -> [&str; 6] {
    ["compare", "--candidate", ENGINE, "--json", "--home", home.to_str().unwrap()]
}
