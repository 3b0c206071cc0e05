//! The climb from stage 1 to a commit on a branch of an admitted target, with signed records, by `fake`; and what every other
//! engine that climbs is held to.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

mod candidate;
mod constants;
mod landed;
mod page;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use testkit::{Ran, World, program};

use crate::world;
pub(crate) use candidate::check_repeated_refresh;
pub(crate) use landed::LandingTarget;

/// Files of the target and of the case: the engine makes `a.txt` say two.
const FILES: &[(&str, &str)] = &[("a.txt", "one\n"), ("deep/b.txt", "stays\n")];
/// The work, for engines with a shell.
pub(crate) const WORK: &str = "echo two > a.txt";
const ACTIONS: &str = "[push, merge, deploy, close, pr_open, issue_close, public_publication, credential_change, \
                       vendor_source_mutation, cortex_core_mutation]";

/// Mutation modes of an admission for every stage that starts an engine.
const CLIMBED_MODES: &str = r#""copied-fixture", "sandbox-repo", "owned-noncritical-repo", "candidate-default""#;

/// An operator who climbs with one engine.
pub(crate) struct Climber<'a> {
    pub(crate) world: &'a World,
    pub(crate) home: PathBuf,
    /// Words that choose the engine, in each command about the run.
    pub(crate) words: &'a [&'a str],
    /// Opens the engine's gate for a stage and calls the binary.
    pub(crate) call: &'a mut dyn FnMut(u8, &[&str]) -> Ran,
    /// Name of the target's admission: `--target`, or nothing where the environment does.
    pub(crate) target_words: &'a [&'a str],
}

/// The admission of the target, below the workspace.
pub(crate) const TARGET: &str = "admissions/target/target.yaml";
pub(crate) const NAMED: &[&str] = &["--target", TARGET];

/// True if there is an ssh-keygen; otherwise the test is counted as skipped.
pub(crate) fn has_keygen(test: &str) -> bool {
    let found = program("ssh-keygen", Path::new("/")).arg("-?").output().is_ok();
    if !found {
        testkit::skip(test, "there is no ssh-keygen");
    }
    found
}

/// Writes the case that engines climb with, at `./made`. Its admission allows less than it does.
pub(crate) fn write_case(world: &World) {
    let changes = [
        ("mutation_mode", "candidate-default"),
        ("forbidden_actions", ACTIONS),
        ("allowed_paths", "[a.txt, deep/c.txt]"),
        ("forbidden_paths", "[.github/]"),
    ];
    let _ = world.case("made", &changes);
}

/// The draft of a source's admission as a person fills it in.
pub(crate) fn admit_draft(draft: &str) -> String {
    testkit::fill_in(draft)
        .replace("status: \"draft\"", "status: admitted")
        .replace("license_status: \"unresolved\"", "license_status: resolved")
        .replace("\"copied-fixture\"", CLIMBED_MODES)
}

impl Climber<'_> {
    fn cto(&mut self, stage: u8, words: &[&str], code: i32) -> Value {
        let ran = (self.call)(stage, &[words, &["--json"]].concat());
        assert_eq!(ran.code, code, "{words:?}: {}{}", ran.text(), ran.stderr);
        ran.json()
    }

    /// Words of a command about the run of a stage.
    fn about(&self, command: &'static str, task: &str, stage: u8, target: &Path) -> Vec<String> {
        let mut words = vec![command.to_owned(), task.to_owned(), "--stage".to_owned(), stage.to_string()];
        words.extend(self.words.iter().map(|word| (*word).to_owned()));
        match stage {
            3 => words.extend(["--repo".to_owned(), target.display().to_string()]),
            5 | 6 => words.extend(self.target_words.iter().map(|word| (*word).to_owned())),
            _ => {}
        }
        words
    }

    fn say(&mut self, command: &'static str, task: &str, stage: u8, target: &Path, code: i32) -> Value {
        let words = self.about(command, task, stage, target);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        self.cto(stage, &words, code)
    }

    /// A run, whose bundle both verifiers accept, with the proofs of its stage as their schemas have them.
    pub(crate) fn run(&mut self, stage: u8, target: &Path, code: i32) -> (Value, PathBuf) {
        self.run_task("./made", stage, target, code)
    }

    fn run_task(&mut self, task: &str, stage: u8, target: &Path, code: i32) -> (Value, PathBuf) {
        let report = self.say("run", task, stage, target, code);
        let bundle = self.home.join("harness-runs").join(report["run_id"].as_str().unwrap());
        let _ = self.cto(stage, &["verify", bundle.to_str().unwrap()], 0);
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/formats/verify.py");
        let key = self.home.join("keys/harness.pub");
        let read =
            program("python3", Path::new("/")).args([&page, &bundle, Path::new("--key"), &key]).output().unwrap();
        assert!(read.status.success(), "{}", String::from_utf8_lossy(&read.stdout));
        self.check_constants(&report, stage, &bundle);
        (report, bundle)
    }

    /// The proof of a stage, which obeys its schema.
    pub(crate) fn proof(&mut self, bundle: &Path, name: &str) -> Value {
        let proof: Value = serde_json::from_slice(&fs::read(bundle.join(format!("{name}.json"))).unwrap()).unwrap();
        let schema = (self.call)(1, &["schema", name]).expect(0).json();
        assert!(jsonschema::is_valid(&schema, &proof), "{name}: {proof:#}");
        assert!(!jsonschema::is_valid(&schema, &json!({"passed": true})), "the control");
        assert_eq!(proof["passed"], true, "{proof:#}");
        proof
    }

    /// Asks for the run of a stage and approves it as a person does: by the sentence of the packet.
    pub(crate) fn approve(&mut self, stage: u8, target: &Path) -> Value {
        self.approve_task("./made", stage, target)
    }

    fn approve_task(&mut self, task: &str, stage: u8, target: &Path) -> Value {
        let request = self.say("request", task, stage, target, 0);
        let name = request["request"].as_str().unwrap();
        let packet = self.cto(stage, &["packet", name], 0);
        assert_eq!((&packet["approval_granted"], &packet["execution_allowed"]), (&json!(false), &json!(false)));
        let sentence = packet["approval_command_text"].as_str().unwrap();
        let granted = self.cto(stage, &["approve", name, "--sentence", sentence], 0);
        assert_eq!(granted["request_digest"], request["request_digest"]);
        request
    }

    /// Refused for want of an approval: no engine starts, and the event of the gate says so.
    pub(crate) fn refused(&mut self, stage: u8, target: &Path, reason: &str) {
        let (report, bundle) = self.run(stage, target, 3);
        assert_eq!(report["blocker_reasons"][0], reason, "{}", testkit::outcome_of(&report));
        assert_eq!(report["engine"]["process_started"], false);
        let events = fs::read_to_string(bundle.join("events.normalized.jsonl")).unwrap();
        assert!(events.contains("\"backend.gate.blocked\"") && !events.contains("\"engine.started\""), "{events}");
        assert!(report["blockers"][0]["remedy"].as_str().unwrap().contains("cto request"), "{}", report["blockers"]);
    }

    /// Makes the operator's key, and lets it sign.
    pub(crate) fn make_key(&mut self) {
        let known = fs::read_to_string(self.home.join("trust/allowed_signers")).unwrap_or_default();
        if known.is_empty() {
            let _ = (self.call)(1, &["key", "init"]).expect(0);
            let key = self.home.join("keys/operator.pub");
            let _ = (self.call)(1, &["trust", "key", "add", key.to_str().unwrap(), "--name", "ada"]).expect(0);
        }
    }

    pub(crate) fn sign(&mut self, record: &Path) {
        let _ = self.cto(1, &["record", "sign", record.to_str().unwrap()], 0);
        let edited = self.world.write("edited-record", [fs::read(record).unwrap().as_slice(), b" "].concat());
        for (bytes, holds) in [(record, true), (edited.as_path(), false)] {
            let verified = program("ssh-keygen", &self.world.here())
                .args(["-Y", "verify", "-n", "cto-record@v1", "-I", "ada", "-f"])
                .arg(self.home.join("trust/allowed_signers"))
                .arg("-s")
                .arg(format!("{}.sig", record.display()))
                .stdin(fs::File::open(bytes).unwrap())
                .output()
                .unwrap();
            assert_eq!(verified.status.success(), holds, "{}: {verified:?}", record.display());
        }
        fs::remove_file(edited).unwrap();
    }

    /// Drafts the admission of the engine's source for every stage, fills it in and signs it.
    pub(crate) fn admit_source(&mut self, engine: &str) {
        let _ = self.cto(3, &["admit", "source", engine], 0);
        let file = self.world.here().join(format!("admissions/source/{engine}.yaml"));
        let draft = fs::read_to_string(&file).unwrap();
        fs::write(&file, admit_draft(&draft)).unwrap();
        self.sign(&file);
    }

    /// Drafts, fills in and signs the admission of the target.
    fn admit_target(&mut self, target: &Path) {
        let _ = self.cto(5, &["admit", "target", target.to_str().unwrap()], 0);
        let file = self.world.here().join(TARGET);
        let draft = fs::read_to_string(&file).unwrap();
        let mut text = draft.replace("\"not_admitted\"", "admitted");
        for (asked, said) in [
            ("low_risk_noncritical, if it is that", "low_risk_noncritical"),
            ("globs that may change, such as src/", "a.txt"),
            ("when, as a date or a time with its offset", "2026-11-01"),
        ] {
            let place = format!("<FILL IN: {asked}>");
            assert!(text.contains(&place), "{text}");
            text = text.replace(&place, said);
        }
        fs::write(&file, testkit::fill_in(&text)).unwrap();
        self.sign(&file);
    }

    /// Stages 1 to 5, each with its gate; gives the target, which is as it was but for marks of used approvals.
    pub(crate) fn climb(&mut self) -> LandingTarget {
        let target = LandingTarget::make(self.world, FILES);
        let at = target.root().to_owned();
        let before = target.untouched();
        for stage in 1..=3 {
            let (report, _) = self.run(stage, &at, 0);
            assert_eq!(report["status"], "pass", "{}", testkit::outcome_of(&report));
        }
        self.admit_target(&at);
        let (report, _) = self.run(3, &at, 3);
        assert_eq!(report["blocker_reasons"], json!(["gate_missing"]), "an admitted target is not copied any more");
        self.refused(4, &at, "approval_missing");
        let _ = self.approve(4, &at);
        let (report, bundle) = self.run(4, &at, 0);
        assert_eq!(report["approval_status"], "granted");
        let proof = self.proof(&bundle, "stage4-disposable-sandbox-proof");
        assert_eq!((&proof["landed"]["tree"], &report["target_commit"]), (&report["result_tree"], &Value::Null));
        self.refused(4, &at, "approval_consumed");
        target.is_as(&before, "below stage 5");
        self.change_target(&target);
        target
    }

    /// Stage 5: one approval is one commit; the answer, the rollback, and a second run with an approval of its own.
    fn change_target(&mut self, target: &LandingTarget) {
        let at = target.root().to_owned();
        let before = target.untouched();
        self.refused(5, &at, "approval_missing");
        let request = self.approve(5, &at);
        let (report, bundle) = self.run(5, &at, 0);
        let proof = self.proof(&bundle, "stage5-owned-repo-proof");
        target.check(&request, &report, &proof);
        target.is_as(&before, "index, work tree and configuration after the commit");
        self.told_what_both_allow(&bundle);
        self.refused(5, &at, "approval_consumed");
        let run = report["run_id"].as_str().unwrap();
        let said = self.cto(5, &["outcome", run, "accept", "--reason", "read and tried"], 0);
        assert_eq!((&said["operator_outcome"], &said["source"]), (&json!("accepted"), &json!("operator")));

        let second = self.approve(5, &at);
        assert_ne!(second["request_digest"], request["request_digest"]);
        let (again, bundle) = self.run(5, &at, 0);
        let proof = self.proof(&bundle, "stage5-owned-repo-proof");
        target.check(&second, &again, &proof);
        for report in [&report, &again] {
            let run = report["run_id"].as_str().unwrap();
            let back = self.cto(5, &["rollback", run, "--reason", "an example"], 0);
            assert_eq!((&back["act"], &back["commit"]), (&json!("branch_deleted"), &report["target_commit"]));
        }
        target.is_as(&before, "after the rollback");
        assert_eq!(target.branches(), "");
        assert_eq!(target.used().len(), 2, "the marks stay");
        target.hooks_work();
    }

    /// The task of an engine, and the plan of every run, name what contract and admission both allow.
    fn told_what_both_allow(&self, bundle: &Path) {
        let events = fs::read_to_string(bundle.join("events.normalized.jsonl")).unwrap();
        let mut events = events.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let plan = events.find(|event| event["type"] == "plan.updated").unwrap();
        assert_eq!(plan["data"]["allowed_paths"], json!(["a.txt"]), "{plan:#}");
        if let Ok(task) = fs::read_to_string(bundle.join("backend/task.md")) {
            assert!(task.contains("`a.txt`") && !task.contains("deep/c.txt"), "{task}");
        }
    }
}

#[test]
fn fake_climbs_to_stage_5() {
    if !has_keygen("climb::fake_climbs_to_stage_5") {
        return;
    }
    let world = world();
    let _ = world.cto(["init", "."]).expect(0);
    write_case(&world);
    let mut call = |_: u8, words: &[&str]| world.cto(words.iter().copied());
    let mut climber = Climber { world: &world, home: world.home(), words: &[], call: &mut call, target_words: NAMED };
    climber.make_key();
    let _ = climber.climb();
}
