//! A workspace with records, and the keys of people.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use testkit::{Ran, World, git, program};

use crate::world;

pub(super) const NAMESPACE: &str = "cto-record@v1";
pub(super) const RECORD: &str = "admissions/target/site.yaml";

/// True if there is an ssh-keygen; otherwise the test is counted as skipped.
pub(super) fn has_keygen(test: &str) -> bool {
    let found = program("ssh-keygen", Path::new("/")).arg("-?").output().is_ok();
    if !found {
        testkit::skip(test, "there is no ssh-keygen");
    }
    found
}

pub(super) struct TrustScene {
    pub(super) world: World,
}

impl TrustScene {
    /// A workspace with one record of a target that a person has filled in.
    pub(super) fn new() -> Self {
        let scene = Self { world: world() };
        let _ = scene.cto(&["init", "."]).expect(0);
        scene.write_record(|text| text);
        scene
    }

    pub(super) fn cto(&self, arguments: &[&str]) -> Ran {
        self.world.cto(arguments)
    }

    /// Writes the record anew, with a change to its text.
    pub(super) fn write_record(&self, change: impl FnOnce(String) -> String) {
        self.world.write(RECORD, change(filled_in("/srv/site")));
    }

    pub(super) fn keygen(&self, arguments: &[&str]) {
        let ran = program("ssh-keygen", &self.world.user()).args(arguments).output().unwrap();
        assert!(ran.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&ran.stderr));
    }

    /// Makes a key of a kind, without a passphrase unless `kind` has one.
    pub(super) fn make_key(&self, name: &str, kind: &[&str]) -> PathBuf {
        let path = self.world.user().join(name);
        let plain: &[&str] = if kind.contains(&"-N") { &[] } else { &["-N", ""] };
        self.keygen(&[&["-q", "-C", name, "-f", path.to_str().unwrap()], plain, kind].concat());
        path
    }

    /// Makes a key that may sign.
    pub(super) fn trust_key(&self, name: &str, kind: &[&str]) -> PathBuf {
        let path = self.make_key(name, kind);
        let _ = self.cto(&["trust", "key", "add", path.to_str().unwrap()]).expect(0);
        path
    }

    pub(super) fn sign(&self, key: &Path) -> Ran {
        self.cto(&["record", "sign", RECORD, "--key", key.to_str().unwrap(), "--json"])
    }

    pub(super) fn check(&self) -> Value {
        self.cto(&["record", "check", RECORD, "--json"]).json()
    }

    pub(super) fn signature(&self) -> PathBuf {
        self.world.here().join(format!("{RECORD}.sig"))
    }

    pub(super) fn signers(&self) -> PathBuf {
        self.world.home().join("trust/allowed_signers")
    }

    /// Verdict of `ssh-keygen -Y verify` by the home's own list.
    pub(super) fn keygen_verifies(&self, name: &str) -> bool {
        let record = fs::File::open(self.world.here().join(RECORD)).unwrap();
        let (signers, signature) = (self.signers(), self.signature());
        let mut command = program("ssh-keygen", &self.world.here());
        command.args(["-Y", "verify", "-n", NAMESPACE, "-I", name, "-f"]).arg(signers).arg("-s").arg(signature);
        command.stdin(record).output().unwrap().status.success()
    }

    /// Bodies of the entries about trust, in order.
    pub(super) fn trust_entries(&self) -> Vec<Value> {
        self.entries("trust.changed")
    }

    pub(super) fn entries(&self, kind: &str) -> Vec<Value> {
        let ledger = rusqlite::Connection::open(self.world.home().join("ledger.db")).unwrap();
        let mut statement = ledger.prepare("SELECT body FROM entries WHERE kind = ?1 ORDER BY seq").unwrap();
        let bodies = statement.query_map([kind], |row| row.get::<_, String>(0)).unwrap();
        bodies.map(|body| serde_json::from_str(&body.unwrap()).unwrap()).collect()
    }

    /// An empty repository below the world.
    pub(super) fn repository(&self, name: &str) -> PathBuf {
        let dir = self.world.path().join(name);
        fs::create_dir_all(&dir).unwrap();
        git(&dir, ["init", "-q"]);
        dir
    }
}

/// A target admission that admits, as a person writes it.
pub(super) fn filled_in(path: &str) -> String {
    format!(
        "admission_status: admitted
target_repository_path: {path}
repository_owner: the operator
ownership_evidence: records/site.md
risk_classification: low_risk_noncritical
noncritical_rationale: a page that nobody depends on
allowed_paths: [src/]
forbidden_paths: [.github/]
forbidden_actions: [push, merge, deploy, close, pr_open, issue_close, public_publication, credential_change, vendor_source_mutation, cortex_core_mutation]
approval_source: the operator
approval_timestamp: 2026-01-01
operator_outcome_required: true
review_trigger: every year
"
    )
}
