//! The cause of a failure, kept where a layer has nothing to say about its kind. Read
//! through `source()`; it becomes text only at the edge.

/// Any error that another one keeps as its cause.
pub type ErrorCause = Box<dyn std::error::Error + Send + Sync>;

#[cfg(test)]
mod tests {
    use std::error::Error;
    use std::io;
    use std::iter::successors;
    use std::path::PathBuf;

    use tree::{GitOutcome, SourceProblem, TreeError};

    use crate::after::archive::ExportRunError;
    use crate::after::gc::CollectError;
    use crate::after::reverify::{FindBaselineError, ReverifyError};
    use crate::after::take::TakeError;
    use crate::gather::decide::DecideError;
    use crate::home::baseline::CarryBaselineError;
    use crate::home::layout::OpenHomeError;
    use crate::run::file::OpenRunError;
    use crate::run::file::Stopped;
    use crate::run::harness::OpenHarnessError;
    use crate::seal::dead::RecoverError;
    use crate::spine::GovernError;

    fn denied() -> io::Error {
        io::ErrorKind::PermissionDenied.into()
    }

    fn path() -> PathBuf {
        "/p".into()
    }

    fn tree_io() -> TreeError {
        TreeError::Io { doing: "opening", path: path(), source: denied() }
    }

    fn tree_git() -> TreeError {
        TreeError::Git { doing: "listing", outcome: GitOutcome::Exited(128), stderr: "fatal: x".to_owned() }
    }

    fn bottom<'a>(error: &'a (dyn Error + 'static)) -> &'a (dyn Error + 'static) {
        successors(Some(error), |&error| error.source()).last().unwrap()
    }

    /// An error, its text, and a judge of the last link of its chain.
    fn check<C: Error + 'static>(rows: Vec<(Box<dyn Error>, &str)>, is_expected: fn(&C) -> bool) {
        for (error, text) in rows {
            assert_eq!(error.to_string(), text);
            assert!(bottom(&*error).downcast_ref().is_some_and(is_expected), "{error:?}");
        }
    }

    #[test]
    fn an_io_error_is_found_at_the_bottom() {
        let home = |error| GovernError::Open(OpenRunError::Home(error));
        let key = evidence::key::ReadKeyError::Io(path(), denied());
        let ledger = ledger::OpenLedgerError::Io { path: path(), error: denied() };
        let artifact = evidence::WriteArtifactError { name: "a".to_owned(), error: denied() };
        let carried = CarryBaselineError::from(denied());
        let lost = ReverifyError::NoBaseline(FindBaselineError::Carry(carried.into()));
        let late = RecoverError::Seal("r".to_owned(), Stopped::Io(path(), denied()).into());
        let exe = sandbox::SuperviseError::StartStage { exe: path(), source: denied() };
        check::<io::Error>(
            vec![
                (home(OpenHomeError::Io(path(), denied())).into(), "cannot use /p as the home: permission denied"),
                (home(OpenHomeError::Key(key)).into(), "cannot read or write the key /p: permission denied"),
                (home(OpenHomeError::Ledger(ledger)).into(), "cannot open the ledger /p: permission denied"),
                (Stopped::from(artifact).into(), "cannot write a: permission denied"),
                (Stopped::from(tree_io()).into(), "opening /p: permission denied"),
                (Stopped::from(exe).into(), "could not start the supervising stage /p"),
                (GovernError::Seal(late).into(), "run r cannot be sealed now: /p: permission denied"),
                (
                    ExportRunError::Baseline(lost).into(),
                    "the baseline is not to be had: it cannot be carried: permission denied",
                ),
                (TakeError::Read(path(), denied().into()).into(), "cannot read /p: permission denied"),
                (
                    TakeError::Lock(path(), denied()).into(),
                    "cannot record that the patch is taken: /p: permission denied",
                ),
                (CollectError::Io(path(), denied()).into(), "cannot clear /p: permission denied"),
            ],
            |error| error.kind() == io::ErrorKind::PermissionDenied,
        );
    }

    #[test]
    fn the_outcome_of_git_is_found_at_the_bottom() {
        const GIT: &str = "listing: git ended with exit status: 128: fatal: x";
        let baseline = GovernError::Seal(RecoverError::Seal("r".to_owned(), Stopped::from(tree_git()).into()));
        check::<GitOutcome>(
            vec![
                (OpenHarnessError::Git(tree_git()).into(), GIT),
                (ReverifyError::from(tree_git()).into(), GIT),
                (DecideError::Scratch(tree_git()).into(), &format!("cannot look at the target: {GIT}")),
                (TakeError::Repository(tree_git()).into(), &format!("the repository cannot be used: {GIT}")),
                (
                    Stopped::Baseline(baseline.into()).into(),
                    &format!("the fake engine's run could not be held: run r cannot be sealed now: {GIT}"),
                ),
            ],
            |outcome| *outcome == GitOutcome::Exited(128),
        );
    }

    #[test]
    fn the_problem_of_a_source_repository_is_found_at_the_bottom() {
        let error = TreeError::Source { path: path(), problem: SourceProblem::Bare };
        check::<SourceProblem>(
            vec![(Stopped::from(error).into(), "source repository /p: a bare repository has no work tree")],
            |problem| *problem == SourceProblem::Bare,
        );
    }
}
