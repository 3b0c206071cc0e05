//! Stages 4 and 5 at work: one commit on a new branch of a disposable repository or an admitted target, and nothing else touched.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

mod admitted;
mod again;
mod at_once;
mod busy;
mod contracts;
mod copied;
pub(crate) mod documents;
mod hostile;
mod killed;
mod kinds;
mod late;
mod marks;
mod own_branch;
mod policy;
mod redacted;
mod replanned;
mod statements;
mod unobserved;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use testkit::{Ran, World, git, program};

use crate::world;

const FILES: &[(&str, &str)] = &[("a.txt", "one\n"), ("deep/b.txt", "stays\n")];
const ALL_ACTIONS: &str = "[push, merge, deploy, close, pr_open, issue_close, public_publication, credential_change, \
                           vendor_source_mutation, cortex_core_mutation]";

/// A world with an operator whose key may do everything, a target repository, its signed admission, and a case.
pub(crate) struct Scene {
    pub(crate) world: World,
    target: PathBuf,
}

impl Scene {
    /// None without ssh-keygen, which is printed.
    pub(crate) fn new(test: &str) -> Option<Self> {
        Self::with(test, world(), |target| target.to_owned(), &[])
    }

    /// `prepare` gets a repository with a commit, and gives the one that is admitted.
    pub(crate) fn with(
        test: &str,
        world: World,
        prepare: impl FnOnce(&Path) -> PathBuf,
        changes: &[(&str, &str)],
    ) -> Option<Self> {
        if program("ssh-keygen", Path::new("/")).arg("-?").output().is_err() {
            testkit::skip(test, "there is no ssh-keygen");
            return None;
        }
        fs::write(world.user().join(".gitconfig"), "[user]\n\tname = Ada\n\temail = ada@example.invalid\n").unwrap();
        let target = prepare(&world.repository("target", FILES));
        let good = [("mutation_mode", "candidate-default"), ("forbidden_actions", ALL_ACTIONS)];
        world.case("made", &[good.as_slice(), changes].concat());
        let _ = world.cto(["key", "init"]).expect(0);
        let public = fs::read_to_string(world.home().join("keys/operator.pub")).unwrap();
        world.write_own("trust/allowed_signers", format!("ada namespaces=\"cto-*\" {public}"));
        let scene = Self { world, target };
        scene.admit("admitted");
        Some(scene)
    }

    /// The world with the target and its admission, for a test that has words of its own.
    pub(crate) fn into_world(self) -> World {
        self.world
    }

    /// Writes and signs the target's admission with this status.
    fn admit(&self, status: &str) {
        let text = format!(
            "admission_status: {status}\ntarget_repository_path: {}\nrepository_owner: Ada\nownership_evidence: notes/1\n\
             risk_classification: low_risk_noncritical\nnoncritical_rationale: a toy\nallowed_paths: [a.txt]\n\
             forbidden_paths: [secrets/]\nforbidden_actions: {ALL_ACTIONS}\napproval_source: Ada\n\
             approval_timestamp: 2026-11-01\noperator_outcome_required: true\nreview_trigger: never\n",
            self.target.display()
        );
        self.world.write("target.yaml", text);
        self.sign("target.yaml", &self.key());
    }

    /// The operator's key.
    fn key(&self) -> PathBuf {
        self.world.home().join("keys/operator")
    }

    /// Signs a record with a key, in place of its signature.
    fn sign(&self, file: &str, key: &Path) {
        self.sign_for("cto-record@v1", file, key);
    }

    fn sign_for(&self, namespace: &str, file: &str, key: &Path) {
        let _ = fs::remove_file(self.world.here().join(format!("{file}.sig")));
        self.keygen(&["-q", "-Y", "sign", "-n", namespace, "-f", key.to_str().unwrap(), file]);
    }

    fn keygen(&self, words: &[&str]) {
        let ran = program("ssh-keygen", &self.world.here()).args(words).output().unwrap();
        assert!(ran.status.success(), "{words:?}: {}", String::from_utf8_lossy(&ran.stderr));
    }

    /// Makes a key that may sign, with these words beside it in the list.
    pub(crate) fn make_key(&self, name: &str, options: &[&str]) -> PathBuf {
        let key = self.make_unlisted_key(name);
        self.list_key(name, options, &key);
        key
    }

    fn make_unlisted_key(&self, name: &str) -> PathBuf {
        let path = self.world.user().join(name);
        self.keygen(&["-q", "-t", "ed25519", "-N", "", "-C", name, "-f", path.to_str().unwrap()]);
        path
    }

    /// Adds a line to the list of those who may sign.
    fn list_key(&self, name: &str, options: &[&str], key: &Path) {
        let public = fs::read_to_string(key.with_extension("pub")).unwrap();
        let options = if options.is_empty() { "namespaces=\"cto-*\"".to_owned() } else { options.join(",") };
        let list = self.world.home().join("trust/allowed_signers");
        let known = fs::read_to_string(list).unwrap();
        self.world.write_own("trust/allowed_signers", format!("{known}{name} {options} {public}"));
    }

    /// Another build of the binary, in this world.
    fn with_binary(&self, binary: &Path, words: Vec<&str>) -> Ran {
        Ran::of(self.world.program(binary.to_str().unwrap()).args(words).output().unwrap())
    }

    fn events(&self, report: &Value) -> Vec<Value> {
        let bundle = self.world.bundles().join(report["run_id"].as_str().unwrap());
        let events = fs::read_to_string(bundle.join("events.normalized.jsonl")).unwrap();
        events.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Words of a command about the case at this stage.
    pub(crate) fn words<'a>(&self, command: &'a str, stage: &'a str) -> Vec<&'a str> {
        let target: &[&str] = if stage == "4" { &[] } else { &["--target", "target.yaml"] };
        [&[command, "./made", "--stage", stage, "--json"], target].concat()
    }

    /// Requests the run and approves it; gives the request.
    pub(crate) fn approve(&self, stage: &str) -> Value {
        let request = self.world.cto(self.words("request", stage)).expect(0).json();
        let name = request["request"].as_str().unwrap();
        let packet = self.world.cto(["packet", name, "--json"]).expect(0).json();
        let sentence = packet["approval_command_text"].as_str().unwrap();
        let _ = self.world.cto(["approve", name, "--json", "--sentence", sentence]).expect(0);
        request
    }

    pub(crate) fn run(&self, stage: &str, code: i32) -> Value {
        self.world.cto(self.words("run", stage)).expect(code).json()
    }

    fn proof(&self, report: &Value, name: &str) -> Value {
        let bundle = self.world.bundles().join(report["run_id"].as_str().unwrap());
        serde_json::from_slice(&fs::read(bundle.join(name)).unwrap()).unwrap()
    }

    fn git(&self, words: &[&str]) -> String {
        git(&self.target, words.iter().copied())
    }

    /// Branches that runs have made.
    fn branches(&self) -> Vec<String> {
        let listed = self.git(&["for-each-ref", "--format=%(refname:short)", "refs/heads/cto"]);
        listed.lines().map(str::to_owned).collect()
    }

    /// Everything of the target but objects and what runs may add, as git and the file system have it.
    fn untouched(&self) -> String {
        let listed = program("find", &self.target)
            .args([".", "-path", "*/objects", "-prune", "-o", "-path", "*/refs/cto", "-prune", "-o"])
            .args(["-path", "*/refs/heads/cto", "-prune", "-o", "-type", "f", "-exec", "sha256sum", "{}", "+"])
            .output()
            .unwrap();
        let mut lines: Vec<String> = String::from_utf8(listed.stdout).unwrap().lines().map(str::to_owned).collect();
        lines.sort();
        lines.join("\n")
    }
}

/// A bare clone of a repository, beside it.
fn bare(target: &Path) -> PathBuf {
    let bare = target.with_extension("git");
    git(target, ["clone", "-q", "--bare", ".", bare.to_str().unwrap()]);
    bare
}

fn reasons(report: &Value) -> String {
    let codes: Vec<&str> = report["blocker_reasons"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    codes.join(",")
}

#[test]
fn a_target_gets_one_commit_on_a_new_branch_and_nothing_else() {
    let Some(scene) = Scene::new("a_target_gets_one_commit_on_a_new_branch_and_nothing_else") else { return };
    assert_eq!(reasons(&scene.run("5", 3)), "approval_missing", "control");
    let request = scene.approve("5");
    let (head, before) = (scene.git(&["rev-parse", "HEAD"]), scene.untouched());
    let report = scene.run("5", 0);
    assert_eq!(scene.untouched(), before, "index, work tree and configuration are as they were");
    let digest = request["request_digest"].as_str().unwrap();
    let branch = format!("cto/made/{}", &digest[..12]);
    assert_eq!(scene.branches(), std::slice::from_ref(&branch));
    let commit = scene.git(&["rev-parse", &branch]);
    assert_eq!(scene.git(&["rev-parse", &format!("refs/cto/used/{digest}")]), commit);
    assert_eq!(scene.git(&["rev-parse", &format!("{branch}^")]), head);
    assert_eq!(scene.git(&["show", &format!("{branch}:a.txt")]), "two");
    assert_eq!(scene.git(&["log", "-1", "--format=%an <%ae> %cn", &branch]), "Ada <ada@example.invalid> Ada");
    let message = scene.git(&["log", "-1", "--format=%B", &branch]);
    for (trailer, value) in [("Cto-Run", &report["run_id"]), ("Cto-Contract", &report["contract_digest"])] {
        assert!(message.contains(&format!("{trailer}: {}", value.as_str().unwrap())), "{message}");
    }
    assert!(message.contains("Cto-Patch: "), "{message}");
    assert_eq!((&report["target_commit"], &report["result_branch"]), (&json!(commit), &json!(branch)));
    assert_eq!(report["target_repository_admission_status"], "admitted");
    assert_eq!(report["operator_outcome"], "pending");
    assert_eq!(report["allowed_mutation_scope"], "explicitly owned low-risk repository only");
    let proof = scene.proof(&report, "stage5-owned-repo-proof.json");
    for (key, value) in [
        ("target_commit", json!(commit)),
        ("target_repository_head_before", json!(head)),
        ("target_repository_head_after", json!(head)),
        ("target_repository_start_clean", json!(true)),
        ("target_repository_ending_clean", json!(true)),
        ("allowed_paths_passed", json!(true)),
        ("forbidden_paths_passed", json!(true)),
        ("no_forbidden_actions", json!(true)),
        ("changed_files", json!(["a.txt"])),
        ("operator_outcome", json!("pending")),
        ("approval_source", json!("ada")),
        ("passed", json!(true)),
    ] {
        assert_eq!(proof[key], value, "{key}");
    }
    let _ = scene.world.cto(["verify", "@"]).expect(0);
    assert_eq!(reasons(&scene.run("5", 3)), "approval_consumed", "its branch is in nobody's way");
    assert_eq!(scene.git(&["fsck", "--strict"]), "");
}

#[test]
fn a_disposable_repository_is_made_changed_and_thrown_away() {
    let Some(scene) = Scene::new("a_disposable_repository_is_made_changed_and_thrown_away") else { return };
    scene.approve("4");
    let before = scene.untouched();
    let report = scene.run("4", 0);
    let place = report["disposable_repository_dir"].as_str().unwrap();
    assert!(!Path::new(place).exists(), "it goes with the work area");
    let proof = scene.proof(&report, "stage4-disposable-sandbox-proof.json");
    for (key, value) in [
        ("disposable_repository_dir", json!(place)),
        ("repository_start_clean", json!(true)),
        ("repository_ending_clean", json!(true)),
        ("no_forbidden_actions", json!(true)),
        ("branch_policy", json!("cto/made/<request>")),
        ("passed", json!(true)),
    ] {
        assert_eq!(proof[key], value, "{key}");
    }
    assert_eq!(proof["creation_source"]["kind"], "case_files");
    assert_eq!((&proof["approval"]["status"], &proof["landed"]["tree"]), (&json!("granted"), &report["result_tree"]));
    assert_eq!((&report["target_commit"], scene.untouched()), (&Value::Null, before), "no target is looked at");
    let _ = scene.world.cto(["verify", "@"]).expect(0);
}
