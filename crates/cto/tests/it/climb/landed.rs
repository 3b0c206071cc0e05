//! A target that would tell if anything but one commit came into it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use contract::Digest;
use serde_json::{Value, json};
use testkit::{World, contents, git};

/// Every hook of githooks(5) that no other program's commands are needed for.
const HOOKS: [&str; 24] = [
    "applypatch-msg",
    "pre-applypatch",
    "post-applypatch",
    "pre-merge-commit",
    "pre-rebase",
    "post-merge",
    "post-rewrite",
    "pre-receive",
    "proc-receive",
    "post-receive",
    "push-to-checkout",
    "pre-auto-gc",
    "sendemail-validate",
    "fsmonitor-watchman",
    "pre-commit",
    "prepare-commit-msg",
    "commit-msg",
    "post-commit",
    "post-checkout",
    "reference-transaction",
    "post-index-change",
    "pre-push",
    "update",
    "post-update",
];

/// A repository with hooks that leave a mark, and a remote.
pub(crate) struct LandingTarget {
    root: PathBuf,
    remote: PathBuf,
    mark: PathBuf,
    head: String,
}

impl LandingTarget {
    pub(crate) fn make(world: &World, files: &[(&str, &str)]) -> Self {
        fs::write(world.user().join(".gitconfig"), "[user]\n\tname = Ada\n\temail = ada@example.invalid\n").unwrap();
        let root = world.repository("target", files);
        let (remote, mark) = (world.path().join("remote.git"), world.path().join("a-hook-ran"));
        git(world.path(), ["init", "-q", "--bare", remote.to_str().unwrap()]);
        git(&root, ["remote", "add", "origin", remote.to_str().unwrap()]);
        git(&root, ["push", "-q", "origin", "HEAD"]);
        for hook in HOOKS {
            let file = root.join(".git/hooks").join(hook);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(&file, format!("#!/bin/sh\ntouch '{}'\n", mark.display())).unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        }
        // The index is as new as git would make it, so that a status of ours finds nothing to refresh.
        let head = git(&root, ["rev-parse", "HEAD"]);
        let _ = git(&root, ["status", "--short"]);
        let _ = fs::remove_file(&mark);
        Self { root, remote, mark, head }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    fn git(&self, words: &[&str]) -> String {
        git(&self.root, words.iter().copied())
    }

    /// Every file of the target but objects, and references that runs may add; and of the remote every file.
    pub(crate) fn untouched(&self) -> BTreeMap<String, Digest> {
        let mut all = contents(&self.root, &[]);
        let ours = [".git/objects", ".git/refs/cto", ".git/refs/heads/cto"];
        all.retain(|path, _| !ours.iter().any(|place| Path::new(path).starts_with(place)));
        all.extend(contents(&self.remote, &[]).into_iter().map(|(path, digest)| (format!("remote {path}"), digest)));
        all
    }

    /// Nothing but commits and references of runs came or went since.
    pub(crate) fn is_as(&self, before: &BTreeMap<String, Digest>, when: &str) {
        let now = self.untouched();
        let paths: BTreeSet<&String> = before.keys().chain(now.keys()).collect();
        let changed: Vec<_> = paths.into_iter().filter(|path| before.get(*path) != now.get(*path)).collect();
        assert!(changed.is_empty(), "{when}: {changed:?}");
    }

    /// Branches that runs have made.
    pub(crate) fn branches(&self) -> String {
        self.git(&["for-each-ref", "--format=%(refname:short)", "refs/heads/cto"])
    }

    /// Marks of approvals that were used here.
    pub(crate) fn used(&self) -> Vec<String> {
        self.git(&["for-each-ref", "--format=%(refname)", "refs/cto/used"]).lines().map(str::to_owned).collect()
    }

    /// One commit: its tree was verified, its parent was approved, its author is the operator, and no hook heard of it.
    pub(crate) fn check(&self, request: &Value, report: &Value, proof: &Value) {
        let digest = request["request_digest"].as_str().unwrap();
        let branch = report["result_branch"].as_str().unwrap();
        assert_eq!(branch, format!("cto/made/{}", &digest[..12]));
        let commit = self.git(&["rev-parse", branch]);
        assert_eq!(self.git(&["rev-parse", &format!("refs/cto/used/{digest}")]), commit);
        assert_eq!(self.git(&["rev-parse", &format!("{branch}^{{tree}}")]), report["result_tree"].as_str().unwrap());
        assert_eq!(self.git(&["rev-parse", "HEAD"]), self.head, "HEAD stays");
        assert_eq!(self.git(&["rev-list", &format!("{}..{branch}", self.head)]), commit, "one commit");
        assert_eq!(self.git(&["log", "-1", "--format=%P", branch]), self.head);
        assert_eq!(self.git(&["diff", "--name-only", &self.head, branch]), "a.txt");
        let people = self.git(&["log", "-1", "--format=%an <%ae>, %cn <%ce>", branch]);
        assert_eq!(people, "Ada <ada@example.invalid>, Ada <ada@example.invalid>");
        let patch = Digest::of_bytes(
            &fs::read(Path::new(report["artifacts_dir"].as_str().unwrap()).join("patch.diff")).unwrap(),
        );
        for (key, value) in [
            ("Cto-Run", report["run_id"].as_str().unwrap()),
            ("Cto-Contract", report["contract_digest"].as_str().unwrap()),
            ("Cto-Patch", &patch.to_string()),
        ] {
            let format = format!("--format=%(trailers:key={key},valueonly)");
            assert_eq!(self.git(&["log", "-1", &format, branch]).trim(), value, "{key}");
        }
        for (key, value) in [
            ("target_commit", json!(commit)),
            ("target_repository_head_before", json!(self.head)),
            ("target_repository_head_after", json!(self.head)),
            ("target_repository_start_clean", json!(true)),
            ("target_repository_ending_clean", json!(true)),
            ("target_repository_admission_status", json!("admitted")),
            ("no_forbidden_actions", json!(true)),
            ("public_publication_attempted", json!(false)),
            ("push_merge_deploy_close_pr_open_attempted", json!(false)),
            ("changed_files", json!(["a.txt"])),
            ("operator_outcome", json!("pending")),
        ] {
            assert_eq!(proof[key], value, "{key}");
        }
        assert_eq!(self.git(&["fsck", "--strict"]), "");
        assert!(!self.mark.exists(), "a hook ran");
    }

    /// The control of the silence: git itself runs them.
    pub(crate) fn hooks_work(&self) {
        assert!(!self.mark.exists(), "a hook ran");
        self.git(&["update-ref", "refs/heads/control", "HEAD"]);
        assert!(self.mark.exists());
    }
}
