//! Folders to measure in, removed afterwards.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::ChoreResult;
use crate::process::{command_output, program, repository_root};

/// Temporary folder of one bench; removed on drop.
pub(super) struct World {
    folder: PathBuf,
}

impl World {
    /// Makes a fresh folder below `place`.
    pub(super) fn new(place: &Path, name: &str) -> ChoreResult<World> {
        let folder = place.join(format!("cto-bench-{name}-{}", std::process::id()));
        std::fs::create_dir(&folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
        Ok(World { folder })
    }

    /// Path below the folder.
    pub(super) fn path_of(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// The case whose files every candidate works on.
pub(super) fn small_case() -> PathBuf {
    repository_root().join("crates/fixtures/cases/r1-string-slugify")
}

/// Copies a folder with everything in it.
pub(super) fn copy_tree(from: &Path, to: &Path) -> ChoreResult {
    let fail = |error: std::io::Error| format!("cannot copy {} to {}: {error}", from.display(), to.display());
    std::fs::create_dir_all(to).map_err(fail)?;
    for entry in std::fs::read_dir(from).map_err(fail)? {
        let entry = entry.map_err(fail)?;
        let target = to.join(entry.file_name());
        if entry.file_type().map_err(fail)?.is_dir() {
            copy_tree(&entry.path(), &target)?;
        } else {
            std::fs::copy(entry.path(), target).map_err(fail)?;
        }
    }
    Ok(())
}

/// Git without anybody's configuration.
pub(super) fn git(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = program("git", arguments);
    command.current_dir(folder).env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    for name in ["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"] {
        command.env(name, "bench");
    }
    command
}

/// A repository of one commit that holds the small case's files.
pub(super) fn repository(folder: &Path) -> ChoreResult {
    copy_tree(&small_case().join("files"), folder)?;
    for arguments in [&["init", "--quiet"][..], &["add", "--all"], &["commit", "--quiet", "--message", "baseline"]] {
        command_output(&mut git(folder, arguments))?;
    }
    Ok(())
}

/// The small case with a verification that costs nothing, so that what is measured is the
/// harness.
pub(super) fn bench_case(folder: &Path) -> ChoreResult {
    let fail = |error: std::io::Error| format!("cannot write {}: {error}", folder.display());
    copy_tree(&small_case().join("files"), &folder.join("files"))?;
    std::fs::copy(small_case().join("good.patch"), folder.join("good.patch")).map_err(fail)?;
    std::fs::write(folder.join("case.yaml"), CASE).map_err(fail)
}

const CASE: &str = r#"schema_version: "1"
task_id: bench
title: the least a whole run can be
brief: Apply the patch.
risk_class: low
allowed_paths: [strings.py]
forbidden_actions: [push, merge, deploy, close, pr_open, issue_close, public_publication, credential_change, vendor_source_mutation, cortex_core_mutation]
mutation_mode: copied-fixture
verification_commands:
  - argv: ["true"]
fake:
  patch: good.patch
expect:
  status: pass
  reasons: []
"#;
