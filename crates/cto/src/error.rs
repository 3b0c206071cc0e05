//! Errors at the edge: what happened, and what to do about it. Printed once.

use std::fmt;
use std::io;
use std::path::Path;

use contract::source::Problems;
use evidence::verify::{OpenBundleError, VerifyBundleError};
use ledger::ShareBundleError;
use rustix::io::Errno;
use views::{
    BindRunError, ComposeSummaryError, FindRequestError, FindRunError, ListRequestsError, ListRunsError, ViewRunError,
};

/// The exit code of a run that a signal ended.
pub(crate) const INTERRUPTED: u8 = 130;

/// Kind of an error, which decides the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ErrorKind {
    /// Wrong usage or invalid input.
    Usage,
    /// Something that was checked does not hold.
    Fail,
    /// A precondition is missing.
    Blocked,
}

impl ErrorKind {
    /// Exit code of the process.
    pub(crate) const fn exit_code(self) -> u8 {
        match self {
            Self::Usage => 2,
            Self::Fail => 1,
            Self::Blocked => 3,
        }
    }
}

/// An error a stranger can act on.
#[derive(Debug)]
pub(crate) struct CommandError {
    pub(crate) kind: ErrorKind,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
    /// Errors in a file that a person wrote, each with its position.
    pub(crate) problems: Option<Box<Problems>>,
}

impl CommandError {
    fn new(kind: ErrorKind, message: impl fmt::Display) -> Self {
        Self { kind, message: message.to_string(), hint: None, problems: None }
    }

    /// Error of wrong usage or invalid input; exit code 2.
    pub(crate) fn usage(message: impl fmt::Display) -> Self {
        Self::new(ErrorKind::Usage, message)
    }

    /// Error of a path that is no bundle.
    pub(crate) fn not_a_bundle(error: &OpenBundleError) -> Self {
        Self::usage(error).hint("give a run id, or the directory that holds report.json")
    }

    /// A command line that clap refuses: its first paragraph, without the word `error`.
    pub(crate) fn unparsed(error: &clap::Error) -> Self {
        let text = error.render().to_string();
        let message = text.split("\n\n").next().unwrap_or_default();
        Self::usage(message.trim_start_matches("error: ").trim()).hint("cto --help")
    }

    /// Error of a check that does not hold; exit code 1.
    pub(crate) fn fail(message: impl fmt::Display) -> Self {
        Self::new(ErrorKind::Fail, message)
    }

    /// Error of a missing precondition; exit code 3.
    pub(crate) fn blocked_with(message: impl fmt::Display) -> Self {
        Self::new(ErrorKind::Blocked, message)
    }

    /// Adds the next command or action.
    pub(crate) fn hint(mut self, hint: impl fmt::Display) -> Self {
        self.hint = Some(hint.to_string());
        self
    }
}

impl From<Problems> for CommandError {
    fn from(problems: Problems) -> Self {
        let count = problems.problems.len();
        let noun = if count == 1 { "error" } else { "errors" };
        let message = format!("{count} {noun} in {}. Nothing ran.", contract::text::show_controls(&problems.file));
        let schema =
            if Path::new(&problems.file).file_stem().is_some_and(|stem| stem == "case") { "case" } else { "contract" };
        let hint = format!("cto schema {schema}     every field");
        Self { problems: Some(Box::new(problems)), ..Self::usage(message).hint(hint) }
    }
}

impl From<harness::LoadTaskError> for CommandError {
    fn from(error: harness::LoadTaskError) -> Self {
        match error {
            harness::LoadTaskError::Invalid(problems) => problems.into(),
            harness::LoadTaskError::Unknown { .. } => Self::usage(&error).hint("cto case list"),
            harness::LoadTaskError::NoRepository(_) => {
                Self::usage(&error).hint("add --repo DIR, or source_repository to the contract")
            }
            harness::LoadTaskError::Read(_, ref why) if is_passing(why) => Self::blocked_with(&error),
            other => Self::usage(other)
                .hint("a task is a case id (cto case list), a folder with case.yaml and files/, or a contract file"),
        }
    }
}

/// True of a fault of the machine that says nothing of the file.
fn is_passing(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidData, InvalidInput, IsADirectory, NotADirectory, NotFound, PermissionDenied};
    let is_of_the_file =
        matches!(error.kind(), NotFound | NotADirectory | PermissionDenied | InvalidData | InvalidInput | IsADirectory);
    let is_of_the_path = matches!(Errno::from_io_error(error), Some(Errno::LOOP | Errno::NAMETOOLONG | Errno::NXIO));
    !is_of_the_file && !is_of_the_path
}

impl From<harness::OpenHomeError> for CommandError {
    fn from(error: harness::OpenHomeError) -> Self {
        let hint = error.remedy();
        match error {
            harness::OpenHomeError::Ledger(_) | harness::OpenHomeError::Key(_) => Self::blocked_with(error).hint(hint),
            _ => Self::usage(error).hint(hint),
        }
    }
}

impl From<harness::OpenHarnessError> for CommandError {
    fn from(error: harness::OpenHarnessError) -> Self {
        match error {
            harness::OpenHarnessError::Home(error) => error.into(),
            other => {
                let hint = other.remedy();
                Self::blocked_with(other).hint(hint)
            }
        }
    }
}

/// The way out for a contract that holds a secret.
const WRITE_OTHERWISE: &str =
    "take the value out of the contract; what only looks like a secret has to be written otherwise";

impl From<harness::GovernError> for CommandError {
    fn from(error: harness::GovernError) -> Self {
        match &error {
            harness::GovernError::Open(harness::OpenRunError::Evidence(unfit)) => {
                Self::blocked_with(&error).hint(unfit.remedy())
            }
            harness::GovernError::Open(harness::OpenRunError::Secret(_)) => Self::usage(&error).hint(WRITE_OTHERWISE),
            _ => Self::blocked_with(&error).hint("cto doctor"),
        }
    }
}

impl From<harness::CompareCandidateError> for CommandError {
    fn from(error: harness::CompareCandidateError) -> Self {
        match error {
            harness::CompareCandidateError::Home(error) => error.into(),
            harness::CompareCandidateError::Seal(error) => error.into(),
            harness::CompareCandidateError::NoLedger => Self::blocked_with(error).hint("cto demo"),
            harness::CompareCandidateError::Clock(_) | harness::CompareCandidateError::Ledger(_) => {
                Self::blocked_with(error).hint("cto doctor")
            }
        }
    }
}

impl From<harness::WorkerPanicked> for CommandError {
    fn from(error: harness::WorkerPanicked) -> Self {
        Self::fail(error)
    }
}

impl From<harness::RecoverError> for CommandError {
    fn from(error: harness::RecoverError) -> Self {
        Self::blocked_with(&error).hint("free disk space or fix what is named, then: cto recover")
    }
}

impl From<harness::DecideError> for CommandError {
    fn from(error: harness::DecideError) -> Self {
        Self::blocked_with(&error).hint("cto doctor")
    }
}

impl From<harness::RecordStatementError> for CommandError {
    fn from(error: harness::RecordStatementError) -> Self {
        Self::blocked_with(&error).hint("free disk space or fix what is named, then run the same command again")
    }
}

impl From<harness::ReadTrustError> for CommandError {
    fn from(error: harness::ReadTrustError) -> Self {
        Self::blocked_with(&error).hint("fix the file that is named; until then nothing is approved")
    }
}

impl From<harness::OpenRequestError> for CommandError {
    fn from(error: harness::OpenRequestError) -> Self {
        match error {
            harness::OpenRequestError::Find(FindRequestError::Ledger(error)) => error.into(),
            harness::OpenRequestError::Find(error) => Self::usage(&error).hint("cto approvals"),
            harness::OpenRequestError::Ledger(error) => error.into(),
            harness::OpenRequestError::Trust(error) => error.into(),
            harness::OpenRequestError::Unreadable(_) => Self::blocked_with(&error).hint("cto request TASK     again"),
            harness::OpenRequestError::Clock(_) => Self::blocked_with(&error).hint("cto doctor"),
        }
    }
}

/// The way on where an entry of the ledger is dated ahead of the clock.
const CLOCK_WAS_WRONG: &str =
    "cto ledger continue --time-went-back --reason \"...\"     if the clock is right now; then cto request TASK";

impl From<harness::RecordDecisionError> for CommandError {
    fn from(error: harness::RecordDecisionError) -> Self {
        use harness::RecordDecisionError as E;
        let hint = match &error {
            E::NotAllowed { .. } => "cto trust key add KEY.pub --name NAME",
            E::OwnRequest(_) => "ask somebody else to approve: cto approvals --open",
            E::Twice(_) => "another key has to approve as well",
            E::NoHardware(_) => "sign with a security key: --key ~/.ssh/id_ed25519_sk",
            E::NoBreakGlass => "break_glass: true in trust/approval-policy.yaml of the home allows it",
            E::EmptySpan(..) => "name a later --expires, or an earlier --not-before",
            E::Closed { .. } => "cto approvals",
            E::LedgerAhead { .. } => CLOCK_WAS_WRONG,
            _ => "cto doctor",
        };
        Self::blocked_with(&error).hint(hint)
    }
}

impl From<harness::RecordRequestError> for CommandError {
    fn from(error: harness::RecordRequestError) -> Self {
        Self::blocked_with(&error).hint("cto doctor")
    }
}

impl From<harness::ProposeRequestError> for CommandError {
    fn from(error: harness::ProposeRequestError) -> Self {
        match &error {
            harness::ProposeRequestError::NotNeeded(_) => Self::usage(&error).hint("cto run TASK"),
            harness::ProposeRequestError::Secret(_) => Self::usage(&error).hint(WRITE_OTHERWISE),
            harness::ProposeRequestError::LedgerAhead { .. } => Self::blocked_with(&error).hint(CLOCK_WAS_WRONG),
            _ => Self::blocked_with(&error).hint("cto doctor"),
        }
    }
}

impl From<ListRequestsError> for CommandError {
    fn from(error: ListRequestsError) -> Self {
        match error {
            ListRequestsError::Cursor(_) => Self::usage(&error).hint("cto approvals"),
            ListRequestsError::Ledger(error) => error.into(),
        }
    }
}

impl From<ledger::ReadLedgerError> for CommandError {
    fn from(error: ledger::ReadLedgerError) -> Self {
        Self::blocked_with(&error).hint("cto doctor")
    }
}

impl From<cortex::WriteDraftError> for CommandError {
    fn from(error: cortex::WriteDraftError) -> Self {
        let usage = Self::usage(&error);
        match error {
            cortex::WriteDraftError::NoWorkspace => usage.hint("cto init DIR"),
            cortex::WriteDraftError::Exists { engine, .. } => {
                usage.hint(format!("edit it by hand, or: cto admit source {engine} --replace"))
            }
            cortex::WriteDraftError::Write { .. } => {
                usage.hint("a record that is there is edited by hand, never overwritten")
            }
            cortex::WriteDraftError::ReplacedTooOften(_) => usage,
            cortex::WriteDraftError::Io(error) => error.into(),
            cortex::WriteDraftError::Encode(error) => error.into(),
        }
    }
}

impl From<FindRunError> for CommandError {
    fn from(error: FindRunError) -> Self {
        match error {
            FindRunError::Unknown(_) => Self::usage(&error).hint("cto runs"),
            FindRunError::Ambiguous { .. } => Self::usage(&error).hint("use more of the id"),
            FindRunError::Running(ref run) => {
                let hint = format!("cto attach {run}");
                Self::blocked_with(&error).hint(hint)
            }
            FindRunError::Interrupted(_) => Self::blocked_with(&error).hint("cto recover"),
            FindRunError::Collected(_) => {
                Self::fail(&error).hint("cto import FILE, if it was exported; the ledger knows its digest")
            }
            FindRunError::Elsewhere(_) => Self::fail(&error).hint("cto export there, then cto import FILE here"),
            FindRunError::Gone { .. } => {
                Self::fail(&error).hint("restore it from a backup; the ledger still knows its digest")
            }
            FindRunError::Ledger(error) => error.into(),
            FindRunError::Imports(_) => Self::blocked_with(&error),
            FindRunError::Shared(ref shared) => match shared {
                ShareBundleError::Store(unread) => Self::blocked_with(&error).hint(unread.remedy()),
                _ => Self::fail(&error)
                    .hint("the home that made it still has it: cto export there, then cto import FILE here"),
            },
        }
    }
}

impl From<BindRunError> for CommandError {
    fn from(error: BindRunError) -> Self {
        match &error.error {
            VerifyBundleError::Open(error) => Self::not_a_bundle(error),
            VerifyBundleError::Checks(_) => {
                let hint = format!("cto verify {}", contract::text::show_controls(&error.id));
                Self::fail(&error).hint(hint)
            }
        }
    }
}

impl From<ViewRunError> for CommandError {
    fn from(error: ViewRunError) -> Self {
        match error {
            ViewRunError::Find(error) => error.into(),
            ViewRunError::Bind(error) => error.into(),
        }
    }
}

impl From<ListRunsError> for CommandError {
    fn from(error: ListRunsError) -> Self {
        match error {
            ListRunsError::Cursor(error) => Self::usage(error),
            ListRunsError::Ledger(error) => error.into(),
        }
    }
}

impl From<std::io::Error> for CommandError {
    fn from(error: std::io::Error) -> Self {
        Self::blocked_with(error)
    }
}

impl From<serde_json::Error> for CommandError {
    fn from(error: serde_json::Error) -> Self {
        Self::blocked_with(format!("cannot encode the answer: {error}"))
    }
}

impl From<ComposeSummaryError> for CommandError {
    fn from(error: ComposeSummaryError) -> Self {
        match error {
            ComposeSummaryError::Runs(error) => error.into(),
            ComposeSummaryError::Requests(error) => error.into(),
            ComposeSummaryError::Ledger(error) => error.into(),
            ComposeSummaryError::Json(error) => error.into(),
        }
    }
}
