//! Arguments of `cto logs`.

use clap::Args;

/// Which log, and of which run.
#[derive(Debug, Args)]
#[command(after_help = "\
Without a flag: what the engine said and did, from its own log, with the time of each act and the cost of each \
request.

Examples:
  cto logs @
  cto logs @ --raw
  cto logs @ --checks
  cto logs @ --refusals --json
  cto logs @ --events")]
pub(crate) struct LogsArgs {
    /// A run by id, prefix, suffix or `@`; or the path of a bundle or an archive
    #[arg(value_name = "RUN|PATH")]
    pub(crate) run: String,
    /// What the engine printed, byte for byte
    #[arg(long, group = "which")]
    pub(crate) raw: bool,
    /// Output of the environment's setup
    #[arg(long, group = "which")]
    pub(crate) setup: bool,
    /// Output of the checks
    #[arg(long, group = "which", visible_alias = "verification")]
    pub(crate) checks: bool,
    /// Requests and attempts that were refused
    #[arg(long, group = "which")]
    pub(crate) refusals: bool,
    /// The normalized events, one a line in words; as they are with --raw
    #[arg(long, conflicts_with_all = ["setup", "checks", "refusals", "trace"])]
    pub(crate) events: bool,
    /// What the harness did and checked
    #[arg(long, group = "which")]
    pub(crate) trace: bool,
}
