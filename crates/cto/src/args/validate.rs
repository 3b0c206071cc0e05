//! Arguments of `validate` and `health`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::ValidateWorkspaceArgs;

/// Arguments of `cto health`.
#[derive(Debug, Args)]
#[command(after_help = "\
Tries the program by real runs in temporary homes, with a stand-in for Case and a model server that answers from a \
script. Only verified bundles of this home show that Case passes. Nothing here counts for a stage.

Examples:
  cto health
  cto health --json
  cto health --only provider_timeout_fail_closed

Exit codes: 0 everything holds, 1 something does not, 2 wrong usage, 3 something could not be shown.")]
pub(crate) struct HealthArgs {
    /// Only this group or named check; may be given several times
    #[arg(long, value_name = "NAME")]
    pub(crate) only: Vec<String>,
}

/// Arguments of `cto summary`.
#[derive(Debug, Args)]
#[command(after_help = "\
The same ledger gives the same bytes, except generated_at. --write puts them into CTO_HOME/matrix/webui-summary.json.

Examples:
  cto summary
  cto summary --json
  cto summary --write

Exit code: 0.")]
pub(crate) struct SummaryArgs {
    /// Put it into the home, for tools that read it there
    #[arg(long)]
    pub(crate) write: bool,
}

/// Commands of `cto validate`.
#[derive(Debug, Subcommand)]
pub(crate) enum ValidateCommand {
    /// Every record of the workspace: documents, board, evidence, links, words
    #[command(after_help = "\
Every finding has its file, line, column, rule and remedy. Advice does not make a workspace invalid.

Examples:
  cto validate workspace
  cto validate workspace --fix
  cto validate workspace --sarif > findings.sarif

Exit codes: 0 valid, 1 something does not hold, 2 wrong usage.")]
    Workspace(ValidateWorkspaceArgs),
    /// The control summary: shape, bounds, no activation, promotion or leak
    #[command(after_help = "\
Examples:
  cto validate summary
  cto validate summary webui-summary.json --json

Exit codes: 0 every check holds, 1 one does not, 2 wrong usage.")]
    Summary {
        /// Summary file to check; default: the current one
        #[arg(value_name = "FILE")]
        file: Option<PathBuf>,
    },
    /// One stage and every stage below it: gates, a pass, each failure class, nothing changed
    #[command(after_help = "\
Tries the harness by real runs of `fake` in a temporary home. Starts no other engine, and nothing counts for a stage. \
--engine also looks for that engine's passes among the verified bundles of this home.

Examples:
  cto validate stage 3
  cto validate stage 5 --engine case --json

Exit codes: 0 everything holds, 1 something does not, 2 wrong usage, 3 something could not be shown.")]
    Stage {
        /// The stage, 1 to 6
        #[arg(value_name = "STAGE", value_parser = clap::value_parser!(u8).range(1..=6))]
        stage: u8,
        /// Engine whose passes are checked too
        #[arg(long, value_name = "E")]
        engine: Option<String>,
    },
}
