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
    #[command(after_help = "\
Examples:
  cto ledger verify --json

Exit codes: 0 everything holds, 1 something does not.")]
    Verify,
    /// Make the rows that lists and rungs are found by again, from the entries alone
    #[command(after_help = "\
For a ledger of which `cto ledger verify` says that a row is not what the entries say. Entries, bundles and leases are not touched, and a chain that does not hold is refused.

Examples:
  cto ledger rebuild

Exit codes: 0 made again, 3 the chain does not hold.")]
    Rebuild,
    /// Vouch for a copied or restored home, or for a wrong clock
    #[command(after_help = "\
Make sure first that no other copy of this home is in use: an approval could be used in each.

Examples:
  cto ledger continue --reason \"moved to the new machine; the old one is gone\"
  cto ledger continue --time-went-back --reason \"the clock was a year ahead\"

Exit codes: 0 recorded, 3 not recorded: see the message.")]
    Continue {
        /// The clock was ahead and is right now: count time from here; what is open or approved needs a new request
        #[arg(long)]
        time_went_back: bool,
        /// Why; it stands in the ledger
        #[arg(long, value_name = "TEXT")]
        reason: String,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum EnvironmentCommand {
    /// Draft a contract's environment from what lies in a repository
    #[command(after_help = "\
Prints the block with the reason for each part; nothing is written, and nothing is run without --try.

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
        /// Run it in the sandbox with the repository's own tests, and the next one where it does not work
        #[arg(long = "try", id = "tried")]
        tried: bool,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum KeyCommand {
    /// Make the keys that are missing
    Init,
    /// Show the public keys
    Show,
}
