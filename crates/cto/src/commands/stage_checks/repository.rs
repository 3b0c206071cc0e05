//! Repositories of a home that nobody keeps, and the proof that nothing came into them.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use contract::Digest;
use harness::Tools;

use crate::error::CommandError;

/// Places in a target into which a landing writes.
const LANDED: [&str; 4] = [".git/objects", ".git/refs/cto", ".git/refs/heads/cto", ".git/logs/refs"];

/// Every file by its digest.
type Contents = BTreeMap<PathBuf, Digest>;

/// A repository with one commit of a case's files, which must stay as it was made.
#[derive(Debug)]
pub(super) struct TrialRepository {
    root: PathBuf,
    before: Contents,
}

impl TrialRepository {
    /// Makes a repository with the files of a built-in case, committed.
    pub(super) fn make_repository(root: PathBuf, case: &str, tools: &Tools) -> Result<Self, CommandError> {
        let missing = || CommandError::fail(format!("the built-in case `{case}` is missing"));
        for (path, file) in fixtures::find(case).ok_or_else(missing)?.baseline() {
            let place = root.join(path);
            fs::create_dir_all(place.parent().unwrap_or(&root))?;
            fs::write(place, file.bytes)?;
        }
        let git =
            tree::Git::find_git(&tools.operator_path).map_err(|error| CommandError::blocked_with(error.to_string()))?;
        run_git(git.program(), &root, &["init", "-q", "-b", "main"])?;
        let mut config = fs::OpenOptions::new().append(true).open(root.join(".git/config"))?;
        config.write_all(b"[user]\n\tname = cto\n\temail = cto@localhost\n")?;
        for words in [&["add", "-A"][..], &["commit", "-q", "-m", "the files of a case"], &["status", "--short"]] {
            run_git(git.program(), &root, words)?;
        }
        let before = read_contents(&root)?;
        Ok(Self { root, before })
    }

    /// Path of the repository.
    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// The first file that came, went or changed, but for those that a landing adds.
    pub(super) fn find_change(&self) -> Result<Option<String>, CommandError> {
        let (before, now) = (&self.before, read_contents(&self.root)?);
        let changed = before.keys().chain(now.keys()).find(|path| before.get(*path) != now.get(*path));
        Ok(changed.map(|path| format!("{} is not as it was", self.root.join(path).display())))
    }
}

/// Unfinished work in a repository, which goes with this value.
#[derive(Debug)]
pub(super) struct UnfinishedWork(PathBuf);

impl UnfinishedWork {
    /// Leaves an uncommitted file in a repository; it is removed on drop.
    pub(super) fn leave_in(repository: &Path) -> Result<Self, CommandError> {
        let file = repository.join("unfinished.txt");
        fs::write(&file, "not committed\n")?;
        Ok(Self(file))
    }
}

impl Drop for UnfinishedWork {
    fn drop(&mut self) {
        // Left behind, it is found as a change.
        let _ = fs::remove_file(&self.0);
    }
}

fn read_contents(root: &Path) -> Result<Contents, CommandError> {
    let mut found = Contents::new();
    collect_files(root, Path::new(""), &mut found)?;
    found.retain(|path, _| !LANDED.iter().any(|place| path.starts_with(place)));
    Ok(found)
}

fn collect_files(root: &Path, below: &Path, found: &mut Contents) -> Result<(), CommandError> {
    for entry in fs::read_dir(root.join(below))? {
        let entry = entry?;
        let path = below.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            collect_files(root, &path, found)?;
        } else if entry.file_type()?.is_file() {
            found.insert(path, Digest::of_bytes(&fs::read(entry.path())?));
        }
    }
    Ok(())
}

/// Runs git with no configuration but the repository's own.
#[expect(clippy::disallowed_methods, reason = "makes a repository of the checks' own, outside every run")]
fn run_git(program: &Path, dir: &Path, words: &[&str]) -> Result<(), CommandError> {
    let ran = Command::new(program)
        .args(words)
        .current_dir(dir)
        .env_clear()
        .envs([("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_SYSTEM", "/dev/null"), ("LC_ALL", "C")])
        .stdin(Stdio::null())
        .output()
        .map_err(|error| CommandError::blocked_with(format!("git cannot be run: {error}")).hint("cto doctor"))?;
    if ran.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&ran.stderr);
    Err(CommandError::blocked_with(format!("git made no repository: {}", said.trim())).hint("cto doctor"))
}
