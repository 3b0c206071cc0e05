//! Workspaces and keys that this home trusts, and records that people sign.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Commands of `cto trust`.
#[derive(Debug, Subcommand)]
pub(crate) enum TrustCommand {
    /// Workspaces whose cases, settings and records count
    #[command(
        args_conflicts_with_subcommands = true,
        after_help = "\
Examples:
  cto trust workspace ~/work/shop
  cto trust workspace list
  cto trust workspace remove ~/work/shop

Exit codes: 0 done, 2 wrong usage, 3 the home cannot be changed."
    )]
    Workspace(TrustWorkspaceArgs),
    /// Keys of people that may sign records, requests, approvals and outcomes
    #[command(subcommand)]
    Key(TrustKeyCommand),
    /// Machines whose evidence counts on a ledger that several share
    #[command(subcommand)]
    Worker(TrustWorkerCommand),
}

/// Arguments of `cto trust workspace`.
#[derive(Debug, Args)]
pub(crate) struct TrustWorkspaceArgs {
    #[command(subcommand)]
    pub(crate) command: Option<TrustWorkspaceCommand>,
    /// The workspace to trust
    #[arg(value_name = "DIR", required = true)]
    pub(crate) dir: Option<PathBuf>,
}

/// Commands of `cto trust workspace`.
#[derive(Debug, Subcommand)]
pub(crate) enum TrustWorkspaceCommand {
    /// The workspaces that count
    List,
    /// Stop trusting a workspace
    Remove {
        /// The workspace
        dir: PathBuf,
    },
}

/// Commands of `cto trust key`.
#[derive(Debug, Subcommand)]
pub(crate) enum TrustKeyCommand {
    /// Let a key sign
    #[command(after_help = "\
The key may sign records, requests, approvals and outcomes; --namespaces limits this. It counts from now on, or from \
--from.

Examples:
  cto trust key add ~/.ssh/id_ed25519.pub --name alice
  cto trust key add 'ssh-ed25519 AAAAC3...' \\
      --name bob --namespaces cto-record@v1
  cto trust key add alice-harness.pub --bundles --name alice-laptop

Exit codes: 0 done, 2 it is no key that counts, 3 the home cannot be changed or the key is compromised.")]
    Add {
        /// A file of the key, or the line of its public half
        #[arg(value_name = "FILE|LINE")]
        key: String,
        /// A name to show; default: the key's own comment
        #[arg(long, value_name = "N")]
        name: Option<String>,
        /// Trust the bundles that this harness key signed, instead of --key for each; it may sign nothing else
        #[arg(long, conflicts_with = "namespaces")]
        bundles: bool,
        /// Namespaces that it may sign for
        #[arg(long, value_name = "NAMES", value_delimiter = ',')]
        namespaces: Vec<String>,
        /// When it begins to count, as a date or a time
        #[arg(long, value_name = "T")]
        from: Option<String>,
        /// When it stops counting, as a date or a time
        #[arg(long, value_name = "T")]
        until: Option<String>,
    },
    /// List the keys that may sign, and problems with the list
    List,
    /// Retire a key; what it signed before stays good
    #[command(
        visible_alias = "remove",
        after_help = "\
KEY is the beginning of a fingerprint, a name or a file.

Examples:
  cto trust key retire alice
  cto trust key retire SHA256:Xk3 --at 2026-12-31

Exit codes: 0 done, 2 there is no such key."
    )]
    Retire {
        /// The key
        key: String,
        /// When it stops counting; default: now
        #[arg(long, value_name = "T")]
        at: Option<String>,
    },
    /// Mark a key as compromised, and list what rests on it since
    #[command(after_help = "\
Nothing that the key signed at that time or later counts. KEY is the beginning of a fingerprint, a name or a file.

Examples:
  cto trust key compromised alice --since 2026-11-01
  cto trust key compromised SHA256:Xk3 --since 2026-11-01T08:00:00Z \\
      --reason 'laptop stolen'

Exit codes: 0 nothing rested on it, 2 there is no such key, 3 runs rested on it.")]
    Compromised {
        /// The key
        key: String,
        /// First time at which somebody else may have had it
        #[arg(long, value_name = "TIME")]
        since: String,
        /// The reason, for the ledger
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
    },
}

/// Commands of `cto trust worker`.
#[derive(Debug, Subcommand)]
pub(crate) enum TrustWorkerCommand {
    /// Admit the key of a machine, by a record that you sign
    #[command(after_help = "\
The key is keys/harness.pub of the machine's home. From the first worker on, a pass needs two machines to count on \
the ladder. An admitted worker seals it, and another one verifies it again: cto reverify RUN.

Examples:
  cto trust worker add machine7.pub --name machine7
  cto trust worker add machine7.pub --name machine7 --role machine7

Exit codes: 0 done, 2 it is no key that counts, 3 the ledger is of one home, or you may sign no records.")]
    Add {
        /// A file of the key, or the line of its public half
        #[arg(value_name = "FILE|LINE")]
        worker: String,
        /// A name to show; default: the key's own comment
        #[arg(long, value_name = "N")]
        name: Option<String>,
        /// Role of the database that the machine connects as
        #[arg(long, value_name = "ROLE")]
        role: Option<String>,
        /// Sign with this key instead of the configured one
        #[arg(long, value_name = "FILE")]
        key: Option<PathBuf>,
    },
    /// Remove a machine: the ledger refuses it from now on
    #[command(after_help = "\
WORKER is the beginning of a fingerprint, a name or a file. What the machine sealed before still counts where another \
worker countersigned it.

Examples:
  cto trust worker remove machine7

Exit codes: 0 done, 2 there is no such worker, 3 you may sign no records.")]
    Remove {
        /// The machine
        worker: String,
        /// Sign with this key instead of the configured one
        #[arg(long, value_name = "FILE")]
        key: Option<PathBuf>,
    },
    /// List the machines, and records that do not count here
    List,
}

/// Commands of `cto record`.
#[derive(Debug, Subcommand)]
pub(crate) enum RecordCommand {
    /// Sign a record with the operator's key
    #[command(after_help = "\
Writes FILE.sig with ssh-keygen, so that agents, passphrases and security keys work. A record with placeholders, \
problems or anything secret-shaped is refused.

Examples:
  cto record sign admissions/target/site.yaml
  cto record sign admissions/target/site.yaml --key ~/.ssh/id_ed25519_sk

Exit codes: 0 signed, 1 the record cannot be signed, 2 wrong usage, 3 no key, or one that may not sign.")]
    Sign {
        /// The record
        file: PathBuf,
        /// The key, instead of the home's own [env: CTO_SIGNING_KEY]
        #[arg(long, value_name = "K")]
        key: Option<PathBuf>,
        /// Replace a signature that holds
        #[arg(long)]
        replace: bool,
    },
    /// Check a record: usable or not, its signer, the stages it is good for
    #[command(after_help = "\
Examples:
  cto record check admissions/target/site.yaml

Exit codes: 0 usable, 1 it counts at no stage, 2 it is no record.")]
    Check {
        /// The record
        file: PathBuf,
    },
}
