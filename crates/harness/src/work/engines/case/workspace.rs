//! The workspace as the prompts of Case need it. `ca run --task` skips what its other
//! commands prepare, and its agents then look at the wrong thing: verifier and reviewer
//! compare with `main`, so that the work needs a branch of its own, and its markers are
//! refused without an active task. Nothing of this is part of the result.

use std::fs;
use std::path::{Path, PathBuf};

use tree::Listing;
use untrusted_fs::own_files;

use crate::judge::copy::Copy;
use crate::run::file::Stopped;

const CASE_FOLDER: &[u8] = b".case";
const ACTIVE: &str = ".case/active";

/// The branch that is checked out. `main` stays at the baseline.
pub(in crate::work::engines) fn work_branch(task_id: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_') { c } else { '-' };
    format!("case/{}", task_id.chars().map(plain).collect::<String>())
}

/// Every file, by its place below the workspace.
fn workspace_files(task_id: &str, commit: &str) -> Vec<(String, String)> {
    let reference = format!("refs/heads/{}", work_branch(task_id));
    vec![
        (".git/HEAD".to_owned(), format!("ref: {reference}\n")),
        (format!(".git/{reference}"), format!("{commit}\n")),
        // An agent that adds everything does not commit what the program keeps there.
        (".git/info/exclude".to_owned(), ".case/\n".to_owned()),
        (ACTIVE.to_owned(), task_id.to_owned()),
    ]
}

/// True if a file can be written there without following a link of the repository's.
fn is_active_plain(baseline: &Listing) -> bool {
    let entry = baseline.0.get(ACTIVE.as_bytes());
    !baseline.0.contains_key(CASE_FOLDER)
        && !baseline.has_below(ACTIVE.as_bytes())
        && entry.is_none_or(|entry| entry.mode.is_regular())
}

/// Writes what is missing into the copy, or into a layer on top of one that other runs share.
pub(in crate::work::engines) fn prepare_workspace(
    copy: &Copy,
    task_id: &str,
    layer: Option<&Path>,
) -> Result<Option<PathBuf>, Stopped> {
    let root = layer.unwrap_or(&copy.root);
    for (below, text) in workspace_files(task_id, &copy.commit.to_string()) {
        if below == ACTIVE && !is_active_plain(&copy.baseline.listing) {
            continue;
        }
        let path = root.join(below);
        let made = path.parent().map_or(Ok(()), fs::create_dir_all);
        made.and_then(|()| own_files::write_file(&path, text)).map_err(|error| Stopped::Io(path, error))?;
    }
    Ok(layer.map(Path::to_owned))
}

#[cfg(test)]
mod tests {
    use tree::{ListingEntry, Oid, PathMode};

    use super::*;

    #[test]
    fn a_repository_does_not_say_where_is_written() {
        for (entries, plain) in [
            (&[("a.py", PathMode::File)][..], true),
            (&[(".case/active", PathMode::File)], true),
            (&[(".case/tasks/x", PathMode::File)], true),
            (&[(".case", PathMode::Link)], false),
            (&[(".case/active", PathMode::Link)], false),
            (&[(".case/active/x", PathMode::File)], false),
        ] {
            let oid = Oid::of_object("blob", b"");
            let entry = |(path, mode): &(&str, PathMode)| (path.as_bytes().to_vec(), ListingEntry { mode: *mode, oid });
            assert_eq!(is_active_plain(&Listing(entries.iter().map(entry).collect())), plain, "{entries:?}");
        }
    }

    #[test]
    fn a_branch_has_a_name_that_git_takes() {
        assert_eq!(work_branch("slug-0123abcd"), "case/slug-0123abcd");
        assert_eq!(work_branch("a..b~c.lock/d"), "case/a--b-c-lock-d");
    }
}
