//! Arguments of `cto outcome` and `cto rollback`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use contract::approval::OutcomeVerdict;

/// The operator's answer to a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutcomeWord {
    Accept,
    Reject,
}

impl From<OutcomeWord> for OutcomeVerdict {
    fn from(word: OutcomeWord) -> Self {
        match word {
            OutcomeWord::Accept => Self::Accepted,
            OutcomeWord::Reject => Self::Rejected,
        }
    }
}

/// Arguments of `cto outcome`.
#[derive(Debug, Args)]
#[command(after_help = "\
Verifies the bundle first and never touches it. Your answer is a signed statement beside it and an entry of the \
ledger. A rejection prints the commands that undo the change.

Examples:
  cto outcome @ accept --reason \"read and tried\"
  cto outcome b9tc reject --reason \"slower than before\"

Exit codes: 0 recorded, 1 the bundle does not verify, 2 wrong usage, 3 refused.")]
pub(crate) struct OutcomeArgs {
    /// A run: its id, a unique beginning of it or of its last part, `@` for the last one, `@-1` for the one before
    pub(crate) run: String,
    /// The answer
    pub(crate) outcome: OutcomeWord,
    /// Why; it is part of what is signed
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: String,
    /// The key to sign with; default: the operator's own
    #[arg(long, value_name = "FILE")]
    pub(crate) key: Option<PathBuf>,
}

/// Arguments of `cto rollback`.
#[derive(Debug, Args)]
#[command(after_help = "\
Deletes the branch if it still names the run's commit and nothing else has that commit. If somebody built on it or \
merged it, prints the revert, and makes it on that branch only with --revert. The mark of the used approval is never \
removed.

Examples:
  cto rollback @ --reason \"slower than before\"
  cto rollback b9tc --revert --reason \"it was merged already\"

Exit codes: 0 taken back, 1 the bundle does not verify, 2 wrong usage, 3 refused.")]
pub(crate) struct RollbackArgs {
    /// A run: its id, a unique beginning of it or of its last part, `@` for the last one, `@-1` for the one before
    pub(crate) run: String,
    /// Make a commit that undoes the change, if its branch cannot be removed
    #[arg(long)]
    pub(crate) revert: bool,
    /// Why; it is part of what is signed
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: String,
    /// The key to sign with; default: the operator's own
    #[arg(long, value_name = "FILE")]
    pub(crate) key: Option<PathBuf>,
}
