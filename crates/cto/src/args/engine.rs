//! `cto engine`.

use clap::Subcommand;
use contract::ModelPair;

/// Commands of `cto engine`.
#[derive(Debug, Subcommand)]
pub(crate) enum EngineCommand {
    /// List the engines: their programs, and which gates are open
    List,
    /// Check everything that an engine needs, without starting it
    #[command(after_help = "\
Needs an open gate. Copies the program into CTO_HOME/engines and runs its identity check in a sandbox.

Examples:
  cto engine probe codex
  cto engine probe claude --model anthropic/claude-sonnet-5 --json

Exit codes: 0 it could start, 3 something is missing.")]
    Probe {
        /// The engine
        engine: String,
        /// The stage to check for
        #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=3))]
        stage: u8,
        /// The model to request
        #[arg(long, value_name = "P/M")]
        model: Option<ModelPair>,
    },
    /// Open the gate of an engine for one stage, in the workspace's harness.yaml
    #[command(after_help = "\
The ledger records it. A gate is open for one stage and no other.

Examples:
  cto engine enable codex --stage 1")]
    Enable {
        /// The engine
        engine: String,
        /// The stage
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=6))]
        stage: u8,
    },
}
