//! Commands that have commands of their own: cases, environments, keys, the ledger.

use std::path::PathBuf;

use clap::Subcommand;

/// Commands of `cto case`.
#[derive(Debug, Subcommand)]
pub(crate) enum CaseCommand {
    /// The cases that can be run by id
    List,
    /// Make a new case that passes, to start from
    New {
        /// Its id, which is also the name of its folder
        id: String,
        /// Where to put it; default: the workspace's cases/
        #[arg(long, value_name = "DIR")]
        dir: Option<PathBuf>,
    },
    /// Check that cases load and end as they declare
    Check {
        /// Case ids or folders
        #[arg(required = true)]
        cases: Vec<String>,
    },
}

/// Commands of `cto ledger`.
#[derive(Debug, Subcommand)]
pub(crate) enum LedgerCommand {
    /// Check the chain of entries against the bundles
    #[command(after_help = "\
Examples:
  cto ledger verify --json
  cto ledger verify --local

Exit codes: 0 everything holds, 1 something does not, 3 the object store cannot be asked.")]
    Verify {
        /// Leave the object store out: its bundles and its witnesses of approvals
        #[arg(long)]
        local: bool,
    },
    /// Rebuild the index rows from the entries
    #[command(after_help = "\
Use it when `cto ledger verify` finds a row that differs from the entries. Touches no entry, bundle or lease. Refuses \
a broken chain.

Examples:
  cto ledger rebuild

Exit codes: 0 made again, 3 the chain does not hold.")]
    Rebuild,
    /// Copy the ledger to another place: into a database on a server, or back into a file
    #[command(after_help = "\
Every entry, the same chain, the same name; both ledgers are checked before and after. Runs that go on are waited for \
first. The ledger that is left stays as it is and must not be used again.

Examples:
  cto ledger migrate --to postgres://cto@db.example/cto
  cto ledger migrate --to sqlite:///var/lib/cto/ledger.db

Exit codes: 0 copied, 2 no such place, 3 not copied: see the message.")]
    Migrate {
        /// postgres://USER@HOST:PORT/DATABASE or sqlite:///PATH
        #[arg(long, value_name = "URL")]
        to: String,
    },
    /// Vouch for a copied or restored home, or for a wrong clock
    #[command(after_help = "\
Make sure first that no other copy of this home is in use: an approval could be used in each. If the server was restored, promoted or moved, a key that may sign approvals signs the record.

Examples:
  cto ledger continue --reason \"moved to the new machine; the old one is gone\"
  cto ledger continue --time-went-back --reason \"the clock was a year ahead\"

Exit codes: 0 recorded, 3 not recorded: see the message.")]
    Continue {
        /// The clock was ahead and is right now: count time from here; open requests and approvals are void
        #[arg(long)]
        time_went_back: bool,
        /// Reason, for the ledger
        #[arg(long, value_name = "TEXT")]
        reason: String,
        /// Key to sign with, for a ledger on a server; default: signing_key of the configuration, then keys/operator
        #[arg(long, value_name = "FILE")]
        key: Option<PathBuf>,
    },
}

/// Commands of `cto environment`.
#[derive(Debug, Subcommand)]
pub(crate) enum EnvironmentCommand {
    /// Draft a contract's environment from a repository
    #[command(after_help = "\
Prints the block with the reason for each part. Writes nothing, and runs nothing without --try.

Examples:
  cto environment suggest ~/src/site
  cto environment suggest ~/src/site >> task.yaml
  cto environment suggest --json
  cto environment suggest --try

Exit codes: 0 drafted, 3 nothing was found that it knows.")]
    Suggest {
        /// The repository
        #[arg(value_name = "DIR", default_value = ".")]
        dir: PathBuf,
        /// Try drafts in the sandbox with the repository's tests until one works
        #[arg(long = "try", id = "tried")]
        tried: bool,
    },
}

/// Commands of `cto key`.
#[derive(Debug, Subcommand)]
pub(crate) enum KeyCommand {
    /// Make the keys that are missing
    Init,
    /// Show the public keys
    Show,
}
