//! Arguments of the ladder.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Arguments of `cto ladder`.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Rungs are computed: none is stored and none can be set. A later run that does not pass ends a rung until a newer one \
passes.

Examples:
  cto ladder
  cto ladder --engine codex --json
  cto ladder explain 3 --engine codex
  cto ladder --svg ladder.svg

Exit code: 0; printing a ladder is not a verdict."
)]
pub(crate) struct LadderArgs {
    #[command(subcommand)]
    pub(crate) command: Option<LadderCommand>,
    /// Only this engine; `fake` climbs nothing and is shown only if named
    #[arg(long, value_name = "E")]
    pub(crate) engine: Option<String>,
    /// Draw it as SVG into this file, or to standard output with -
    #[arg(long, value_name = "FILE|-")]
    pub(crate) svg: Option<PathBuf>,
}

/// Commands of `cto ladder`.
#[derive(Debug, Subcommand)]
pub(crate) enum LadderCommand {
    /// Explain one rung: what it lacks, its runs, and the one command that climbs
    #[command(after_help = "\
Examples:
  cto ladder explain 5 --engine case
  cto ladder explain 2 --json")]
    Explain {
        /// The stage, 1 to 6
        #[arg(value_name = "STAGE", value_parser = clap::value_parser!(u8).range(1..=6))]
        stage: u8,
        /// Only this engine
        #[arg(long, value_name = "E")]
        engine: Option<String>,
    },
}
