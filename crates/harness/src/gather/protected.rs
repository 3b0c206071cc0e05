//! Trees that no run may change, examined before the engine starts and again when the
//! result is verified.

use std::path::{Path, PathBuf};

use contract::Reason;
use contract::report::{ProtectedRoot, RootState};
use contract::text::{listed, show_controls};
use tree::{SourceDigest, SourceProblem, SourceRepository, TreeError, folder_digest};

use crate::run::file::{RunFile, Stopped};

/// Roots that are named in a sentence.
const NAMED: usize = 3;

/// A protected tree as it was seen before the engine started.
#[derive(Debug)]
pub(crate) struct SeenRoot {
    path: PathBuf,
    state: RootState,
    /// Files whose stat did not move since are not read again.
    digest: Option<SourceDigest>,
}

/// Looks at every tree that the configuration protects.
pub(crate) fn look_at_roots(run: &RunFile<'_>) -> Result<Vec<SeenRoot>, Stopped> {
    let roots = &run.harness().named_repositories.protected_roots;
    let look = |(number, path): (usize, &PathBuf)| {
        let (state, digest) = look_at_root(run, path, None, &format!("protected/before-{number}"))?;
        Ok(SeenRoot { path: path.clone(), state, digest })
    };
    roots.iter().enumerate().map(look).collect()
}

/// Looks again.
pub(crate) fn compare_roots(run: &RunFile<'_>, seen: &[SeenRoot]) -> Result<Vec<ProtectedRoot>, Stopped> {
    let look = |(number, root): (usize, &SeenRoot)| {
        let scratch = format!("protected/after-{number}");
        let (after, _) = look_at_root(run, &root.path, root.digest.as_ref(), &scratch)?;
        let (path, before) = (root.path.display().to_string(), root.state.clone());
        Ok(ProtectedRoot { path, before, after: Some(after) })
    };
    seen.iter().enumerate().map(look).collect()
}

/// The blocker of protected trees that are not what they were.
pub(crate) fn judge_roots(roots: &[ProtectedRoot]) -> Option<(Reason, String)> {
    let changed: Vec<String> =
        roots.iter().filter(|root| root.is_changed()).map(|root| show_controls(&root.path)).collect();
    let text =
        format!("protected trees are not what they were before the run: {}", listed(changed.iter().cloned(), NAMED));
    (!changed.is_empty()).then_some((Reason::SourceRepositoryMutated, text))
}

fn look_at_root(
    run: &RunFile<'_>,
    path: &Path,
    earlier: Option<&SourceDigest>,
    scratch: &str,
) -> Result<(RootState, Option<SourceDigest>), Stopped> {
    let scratch = run.work_dir(scratch)?;
    match read_root(run, path, earlier, &scratch) {
        Ok((state, digest)) => Ok((state, Some(digest))),
        Err(TreeError::Source { problem, .. }) => {
            Ok((RootState { problem: Some(problem.to_string()), ..RootState::default() }, None))
        }
        Err(own) => Err(own.into()),
    }
}

fn read_root(
    run: &RunFile<'_>,
    path: &Path,
    earlier: Option<&SourceDigest>,
    scratch: &Path,
) -> Result<(RootState, SourceDigest), TreeError> {
    let source = match SourceRepository::open_repository(path) {
        Err(TreeError::Source { problem: SourceProblem::NotARepository | SourceProblem::Bare, .. }) => {
            let digest = folder_digest(path, earlier)?;
            return Ok((RootState { sha256: Some(digest.sha256.clone()), ..RootState::default() }, digest));
        }
        opened => opened?,
    };
    let digest = source.digest(earlier)?;
    let status = source.dirty_paths(&run.harness().git, scratch)?;
    let state = RootState {
        head: Some(source.head_commit().to_string()),
        clean: Some(status.dirty.is_empty() && status.unfinished.is_empty()),
        sha256: Some(digest.sha256.clone()),
        problem: None,
    };
    Ok((state, digest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::two_sided;

    #[test]
    fn a_protected_tree_that_changed_fails_the_run() {
        let state = |sha256: &str| RootState { sha256: Some(sha256.to_owned()), ..RootState::default() };
        let root = |after: Option<RootState>| ProtectedRoot { path: "/srv/core".to_owned(), before: state("a"), after };
        let text = "protected trees are not what they were before the run: /srv/core".to_owned();
        assert_eq!(judge_roots(&[root(Some(state("b")))]), Some((Reason::SourceRepositoryMutated, text)));
        let gone = RootState { problem: Some("it is not there".to_owned()), ..RootState::default() };
        assert!(judge_roots(&[root(Some(gone))]).is_some());
        let same = judge_roots(&[root(Some(state("a"))), root(None)]);
        assert_eq!(same, None, "control");
        two_sided(Reason::SourceRepositoryMutated, judge_roots(&[root(Some(state("b")))]), same);
    }
}
