//! Arguments of `cto refresh`.

use clap::Args;

/// Arguments of `cto refresh`.
#[derive(Debug, Args)]
#[command(after_help = "\
Reads the bundles of accepted passes, their signed outcomes and the newest comparison of stage 6. There must be two \
passes or more, of different cases and commits. Repeats each verification on a copy of its target's HEAD. Starts no \
engine, changes no repository, activates nothing.

Examples:
  cto refresh
  cto refresh --engine case --json
  cto refresh b9tc k7q2

Exit codes: 0 everything holds, 1 rejected, 2 wrong usage, 3 something is missing.")]
pub(crate) struct RefreshArgs {
    /// Passes of stage 5; default: the newest that count
    #[arg(value_name = "RUN")]
    pub(crate) runs: Vec<String>,
    /// The engine; default: that of the runs, else that of the newest comparison
    #[arg(long, value_name = "E")]
    pub(crate) engine: Option<String>,
}
