//! Commands that have commands of their own: cases, environments, keys, the ledger.

use std::path::PathBuf;

use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub(crate) enum CaseCommand {
    /// The cases that can be run by id
    List,
    /// Make a new case that passes, to start from
    New {
        /// Its id, which is also the name of its folder
        id: String,
        /// Where to put it; the workspace's cases/ unless said
        #[arg(long, value_name = "DIR")]
        dir: Option<PathBuf>,
    },
    /// Check cases: they load, and end as they say
    Check {
        /// Case ids or folders
        #[arg(required = true)]
        cases: Vec<String>,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum LedgerCommand {
    /// Check the chain of entries, and what they say of the bundles that are here
    #[command(
        after_help = "Examples:\n  cto ledger verify --json\n\nExit codes: 0 everything holds, 1 something does not."
    )]
    Verify,
}

#[derive(Debug, Subcommand)]
pub(crate) enum EnvironmentCommand {
    /// Draft a contract's environment from what lies in a repository
    #[command(
        after_help = "Prints the block with the reason for each part; nothing is run and nothing is written.\n\nExamples:\n  cto environment suggest ~/src/site\n  cto environment suggest ~/src/site >> task.yaml\n  cto environment suggest --json\n\nExit codes: 0 drafted, 3 nothing was found that it knows."
    )]
    Suggest {
        /// The repository
        #[arg(value_name = "DIR", default_value = ".")]
        dir: PathBuf,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum KeyCommand {
    /// Make the keys that are missing
    Init,
    /// Show the public keys
    Show,
}
