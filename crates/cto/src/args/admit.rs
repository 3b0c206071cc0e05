//! Commands of `cto admit`.

use std::path::PathBuf;

use clap::Subcommand;
use contract::ModelPair;

/// Commands of `cto admit`.
#[derive(Debug, Subcommand)]
pub(crate) enum AdmitCommand {
    /// Copy an engine and draft the admission of its source, or check one
    #[command(after_help = "\
A draft admits nothing: a person fills in who approved it, resolves the licence and sets its status to admitted.

Examples:
  cto admit source codex
  cto admit source --check admissions/source/codex.yaml

Exit codes: 0 drafted or usable, 1 it cannot be used, 2 wrong usage, 3 the engine cannot be had.")]
    Source {
        /// The engine
        #[arg(value_name = "ENGINE", required_unless_present = "check")]
        engine: Option<String>,
        /// Set the existing record aside; the new one names it as its predecessor
        #[arg(long)]
        replace: bool,
        /// Check this record instead
        #[arg(long, value_name = "FILE", conflicts_with = "engine")]
        check: Option<PathBuf>,
    },
    /// Draft the admission of a target repository into the workspace, or check one with --check
    #[command(after_help = "\
A draft admits nothing: a person fills in every placeholder, sets admission_status to admitted and signs it.

Examples:
  cto admit target ~/src/site
  cto admit target ~/src/site --name site
  cto admit target --check admissions/target/site.yaml

Exit codes: 0 drafted or usable, 1 it cannot be used, 2 wrong usage.")]
    Target {
        /// The repository
        #[arg(value_name = "REPO", required_unless_present = "check")]
        repository: Option<PathBuf>,
        /// The record's name; default: that of the repository's folder
        #[arg(long, value_name = "N")]
        name: Option<String>,
        /// Check this record instead
        #[arg(long, value_name = "FILE", conflicts_with = "repository")]
        check: Option<PathBuf>,
    },
    /// Draft the admission of a model into the workspace, or check one with --check
    #[command(after_help = "\
A draft admits nothing: a person fills in who approved it and sets its status to admitted.

Examples:
  cto admit model qwen-local/qwen3.6-35b-a3b \\
      --credential-class local-none --network-class local-vllm
  cto admit model --check admissions/model/qwen.json

Exit codes: 0 drafted or usable, 1 it cannot be used, 2 wrong usage.")]
    Model {
        /// The pair
        #[arg(value_name = "PROVIDER/MODEL", required_unless_present = "check")]
        pair: Option<ModelPair>,
        /// The class of its credential
        #[arg(long, value_name = "CLASS", default_value = "")]
        credential_class: String,
        /// The class of its network
        #[arg(long, value_name = "CLASS", default_value = "")]
        network_class: String,
        /// Check this record instead
        #[arg(long, value_name = "FILE", conflicts_with = "pair")]
        check: Option<PathBuf>,
    },
}
