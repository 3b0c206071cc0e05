//! Arguments of the commands that set runs side by side: `race`, `repeat`, `compare`, `matrix`.

use std::path::PathBuf;

use clap::Args;
use contract::ModelPair;

use super::{Asked, ProfileName};

/// Arguments of `cto race`.
#[derive(Debug, Args)]
#[command(after_help = "\
Each lane is a governed run with a bundle of its own; the comparison is one more. A lane that cannot run says why in \
its row.

Examples:
  cto race r1-string-slugify --engines fake,codex,pi
  cto race task.yaml --repo . --engines codex,claude --jobs 2 --json

Exit codes: 0 every lane passed, 1 one failed, 3 none failed and one was blocked.")]
pub(crate) struct RaceArgs {
    /// A case id, a case folder or a contract file
    task: String,
    /// The engines, one lane each
    #[arg(long, value_name = "A,B", required = true, value_delimiter = ',', value_parser = trimmed)]
    pub(crate) engines: Vec<String>,
    /// The stage, 1 to 6; default: 2 for a case and 3 with a repository
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=6))]
    stage: Option<u8>,
    /// The sandbox profile
    #[arg(long, value_name = "P")]
    sandbox: Option<ProfileName>,
    /// The model to ask for, as PROVIDER/MODEL, in every lane that needs one
    #[arg(long, value_name = "P/M")]
    model: Option<ModelPair>,
    /// The owned local repository to copy and work on
    #[arg(long, value_name = "DIR")]
    repo: Option<PathBuf>,
    /// Seconds each engine may take, if less than the contract says
    #[arg(long, value_name = "S", value_parser = clap::value_parser!(u64).range(1..=604_800))]
    pub(crate) timeout: Option<u64>,
    /// Lanes at once
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) jobs: u16,
}

impl RaceArgs {
    /// Case or contract that every lane runs.
    pub(crate) fn task(&self) -> &str {
        &self.task
    }

    /// Repository to copy and work on.
    pub(crate) fn repo(&self) -> Option<&std::path::Path> {
        self.repo.as_deref()
    }

    /// Arguments of one lane, as `cto run` would have them.
    pub(crate) fn lane(&self, engine: &str) -> Asked {
        Asked {
            task: Some(self.task.clone()),
            engine: Some(engine.to_owned()),
            stage: self.stage,
            sandbox: self.sandbox,
            model: self.model.clone(),
            repo: self.repo.clone(),
            ..Asked::default()
        }
    }
}

/// Arguments of `cto repeat`.
#[derive(Debug, Args)]
#[command(after_help = "\
pass^k is the chance that k runs all pass, estimated without bias from these. One run is an anecdote.

Examples:
  cto repeat r1-string-slugify -n 10
  cto repeat task.yaml --repo . --engine codex -n 8 --jobs 2 --junit repeat.xml

Exit codes: 0 every run passed, 1 one failed, 3 none failed and one was blocked.")]
pub(crate) struct RepeatArgs {
    #[command(flatten)]
    pub(crate) asked: Asked,
    /// How often
    #[arg(short = 'n', long = "times", value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(crate) times: u16,
    /// Seconds the engine may take each time, if less than the contract says
    #[arg(long, value_name = "S", value_parser = clap::value_parser!(u64).range(1..=604_800))]
    pub(crate) timeout: Option<u64>,
    /// Runs at once
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) jobs: u16,
    /// Write JUnit XML
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
}

/// Arguments of `cto matrix`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cto matrix --jobs 4
  cto matrix --cheats --junit cases.xml")]
pub(crate) struct MatrixArgs {
    /// The engines
    #[arg(long, value_name = "E", default_value = "fake", value_delimiter = ',', num_args = 1.., value_parser = trimmed)]
    pub(crate) engine: Vec<String>,
    /// The cheat corpus too: each cheat must be refused as it declares
    #[arg(long)]
    pub(crate) cheats: bool,
    /// Runs at once
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) jobs: Option<u16>,
    /// Write JUnit XML
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
}

/// Arguments of `cto compare`.
#[derive(Debug, Args)]
#[command(after_help = "\
With --candidate it makes the sealed comparison that stage 6 asks for, from the verified bundles of this home alone. \
It starts no run. The comparison counts once you accept it with `cto outcome`, and never activates a default.

Examples:
  cto compare @ @-1
  cto compare b9tc k7q2 m4xd --json
  cto compare --candidate codex

Exit codes with --candidate: 0 pass, 1 a fact is wrong, 2 wrong usage, 3 something is missing.")]
pub(crate) struct CompareArgs {
    /// Runs, or paths of bundles
    #[arg(required_unless_present = "candidate", value_name = "RUN|PATH")]
    pub(crate) runs: Vec<String>,
    /// Compare this engine with fake, codex and pi, for stage 6
    #[arg(long, value_name = "ENGINE", conflicts_with = "runs")]
    pub(crate) candidate: Option<String>,
    /// The candidate's model, where it was run with several
    #[arg(long, value_name = "PROVIDER/MODEL", requires = "candidate")]
    pub(crate) model: Option<ModelPair>,
}

/// A list may have spaces behind its commas.
fn trimmed(text: &str) -> Result<String, std::convert::Infallible> {
    Ok(text.trim().to_owned())
}
