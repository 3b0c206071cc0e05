//! Files of the exam set that setup of a judged tree made: they count for nothing, whatever
//! made them.
//!
//! A patch may change a script that setup runs, or a manifest with hooks. Files that belong
//! to the exam stay as the baseline's layer has them, and are absent where it has none.

use std::io;
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::time::Duration;

use contract::paths::PathRules;
use contract::text::path_text;
use rustix::fs::FileType;
use tree::{Listing, folders_above};
use untrusted_fs::{
    Bounds, Met, Next, kind, open_root, plain_names, read_plain, read_plain_link, remove_tree_at, walk,
};

use super::settle::uncover_folder;

/// Time for one layer; a larger one is not used.
const WITHDRAWING: Duration = Duration::from_secs(600);
/// Size of a file up to which it is compared with the baseline's.
const LARGEST: u64 = 64 << 20;
/// Modules that Python runs when it starts, wherever they are installed.
const STARTUP: &[&[u8]] = &[b"sitecustomize.py", b"usercustomize.py"];

/// Folders of installed packages that the exam set protects as a whole.
const INSTALLED: &[&[u8]] = &[b".venv", b"venv", b"node_modules", b"vendor", b".tox", b".nox"];

/// The exam set of a judged tree.
#[derive(Clone, Copy)]
pub(crate) struct ExamFiles<'a> {
    pub(crate) rules: &'a PathRules,
    pub(crate) baseline: &'a Listing,
}

impl ExamFiles<'_> {
    /// True if a path of a layer belongs to the exam. In folders that the baseline's layer
    /// has of its own, such as installed packages, only what an interpreter starts with
    /// does: packages carry tests of theirs.
    fn is_exam(&self, path: &[u8], base: &Path) -> bool {
        let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
        self.rules.is_protected(path) && (STARTUP.contains(&name) || !self.is_installed(path, base))
    }

    fn is_installed(&self, path: &[u8], base: &Path) -> bool {
        let Some(own) = folders_above(path).find(|folder| !self.baseline.has_below(folder)) else { return false };
        let name = own.rsplit(|byte| *byte == b'/').next().unwrap_or(own);
        let is_plain = INSTALLED.contains(&name) || !self.rules.is_protected(&[own, b"/x"].concat());
        is_plain && !plain_names(base, own, 1).is_empty()
    }
}

/// Removes files of the exam set from a layer and names them. `base` is the baseline's layer.
pub(super) fn withdraw_exam_files(layer: &Path, base: &Path, exam: &ExamFiles<'_>) -> io::Result<Vec<String>> {
    let mut withdrawn = Vec::new();
    let same = |path: &[u8]| {
        let file = read_plain(base, path, LARGEST);
        let link = read_plain_link(base, path);
        file.is_some() && file == read_plain(layer, path, LARGEST)
            || link.is_some() && link == read_plain_link(layer, path)
    };
    let cut = walk(open_root(layer)?, &Bounds::within(WITHDRAWING), |met| {
        let entry = match met {
            Met::Entry(entry) => entry,
            Met::Left { dir, path } => return uncover_exam(dir, path, exam, base),
            Met::Shut { why, .. } => return Err(why.into()),
            Met::TooDeep { .. } => return Err(io::Error::other("directories too deep")),
        };
        if kind(entry.stat) == FileType::Directory {
            return Ok(Next::Enter);
        }
        if exam.is_exam(entry.path, base) && !same(entry.path) {
            remove_tree_at(entry.dir, entry.name)?;
            withdrawn.push(path_text(entry.path));
        }
        Ok(Next::Pass)
    })?;
    match cut {
        None => Ok(withdrawn),
        Some(cut) => Err(io::Error::other(cut.in_words())),
    }
}

/// A folder of the exam that was made anew hides nothing of the baseline's layer.
fn uncover_exam(dir: BorrowedFd<'_>, path: &[u8], exam: &ExamFiles<'_>, base: &Path) -> io::Result<Next> {
    if !path.is_empty() && exam.is_exam(&[path, b"/x"].concat(), base) {
        uncover_folder(dir)?;
    }
    Ok(Next::Pass)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "tests make and read files of their own")]

    use std::fs;
    use std::os::unix::fs::symlink;

    use contract::Ecosystem;
    use serde_json::json;
    use tree::{ListingEntry, Oid, PathMode};

    use super::*;
    use crate::run::tests::contract;

    fn write(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        match text.strip_prefix("-> ") {
            Some(target) => symlink(target, path).unwrap(),
            None => fs::write(path, text).unwrap(),
        }
    }

    /// One path of a layer: its content there and in the baseline's layer, and true if it is withdrawn.
    #[test]
    fn files_of_the_exam_stay_as_the_baselines_layer_has_them() {
        let entry = ListingEntry { mode: PathMode::File, oid: Oid([1; 20]) };
        let tree = ["app.py", "tests/test_a.py"].map(|path| (path.as_bytes().to_vec(), entry));
        let (baseline, rules) = (Listing(tree.into()), contract(json!({})).path_rules(&[Ecosystem::Python]).unwrap());
        for (path, now, before, is_withdrawn) in [
            ("tests/conftest.py", "x", None, true),
            ("tests/conftest.py", "x", Some("y"), true),
            ("tests/conftest.py", "x", Some("x"), false),
            ("tests/conftest.py", "-> a", Some("-> a"), false),
            ("tests/conftest.py", "-> a", Some("-> b"), true),
            ("tests/conftest.py", "-> a", Some("a"), true),
            ("src/helper.py", "x", None, false),
            ("fresh/test_b.py", "x", None, true),
            ("gen/test_b.py", "x", Some("y"), false),
            (".venv/lib/test_b.py", "x", Some("y"), false),
            (".venv/lib/sitecustomize.py", "x", Some("y"), true),
            ("fixtures/a.json", "x", Some("y"), true),
            ("node_modules/a/fixtures/a.json", "x", Some("y"), false),
        ] {
            let (layer, base) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
            write(layer.path(), path, now);
            before.iter().for_each(|text| write(base.path(), path, text));
            let exam = ExamFiles { rules: &rules, baseline: &baseline };
            let withdrawn = withdraw_exam_files(layer.path(), base.path(), &exam).unwrap();
            assert_eq!(withdrawn, if is_withdrawn { vec![path] } else { Vec::new() }, "{path} {now} {before:?}");
            assert_eq!(fs::symlink_metadata(layer.path().join(path)).is_err(), is_withdrawn, "{path} {now} {before:?}");
        }
    }
}
