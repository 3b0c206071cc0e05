//! Arguments of the queue: `submit`, `queue`, `watch`, `cancel`, `worker`.

use std::path::PathBuf;

use clap::Args;
use contract::ModelPair;

use super::ProfileName;

/// Arguments of `cto submit`.
#[derive(Debug, Args)]
#[command(after_help = "\
Resolves the contract now and records its digest. A worker that finds another contract does not run it.

Examples:
  cto submit r1-string-slugify
  cto submit r1-string-slugify shell-script-rotate-logs \\
      --engine fake --priority 5
  cto submit task.yaml --repo . --after @ --labels gpu

Exit codes: 0 queued, 2 wrong usage or invalid input, 3 the ledger cannot be written.")]
pub(crate) struct SubmitArgs {
    /// Case ids, case folders or contract files
    #[arg(id = "task", value_name = "TASK", required = true)]
    pub(crate) tasks: Vec<String>,
    /// The engine
    #[arg(long, value_name = "E", default_value = "fake")]
    pub(crate) engine: String,
    /// The stage, 1 to 6; default: 2 for a case and 3 with a repository
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=6))]
    pub(crate) stage: Option<u8>,
    /// The sandbox profile
    #[arg(long, value_name = "P")]
    pub(crate) sandbox: Option<ProfileName>,
    /// The model to ask for, as PROVIDER/MODEL, where the engine needs one
    #[arg(long, value_name = "P/M")]
    pub(crate) model: Option<ModelPair>,
    /// The owned local repository to copy and work on, by the path that workers find it at
    #[arg(long, value_name = "DIR")]
    pub(crate) repo: Option<PathBuf>,
    /// The admission of the repository that would be changed, for stages 5 and 6
    #[arg(long, value_name = "ADMISSION")]
    pub(crate) target: Option<PathBuf>,
    /// Seconds the engine may take, if less than the contract says
    #[arg(long, value_name = "S", value_parser = clap::value_parser!(u64).range(1..=604_800))]
    pub(crate) timeout: Option<u64>,
    /// Higher goes first; -1000 to 1000
    #[arg(long, value_name = "N", default_value_t = 0, allow_hyphen_values = true, value_parser = clap::value_parser!(i32).range(-1000..=1000))]
    pub(crate) priority: i32,
    /// Wait until this run has ended, however it ends
    #[arg(long, value_name = "RUN")]
    pub(crate) after: Option<String>,
    /// Wait until then: a time of RFC 3339
    #[arg(long, value_name = "TIME")]
    pub(crate) not_before: Option<String>,
    /// Only workers with all of these labels take it
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub(crate) labels: Vec<String>,
}

/// Arguments of `cto queue`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cto queue
  cto queue --all --limit 20 --json")]
pub(crate) struct QueueArgs {
    /// Also runs that have ended, newest first
    #[arg(long)]
    pub(crate) all: bool,
    /// At most so many
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) limit: u32,
}

/// Arguments of `cto worker`.
#[derive(Debug, Args)]
#[command(after_help = "\
After SIGTERM or Ctrl-C it takes nothing new, finishes its runs and ends. A second one interrupts and seals them.

Examples:
  cto worker
  cto worker --slots 4 --engines codex,fake --labels gpu
  cto worker --until-empty --json

Exit codes: 0 drained, 3 it cannot work, 130 interrupted.")]
pub(crate) struct WorkerArgs {
    /// Runs at once
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) slots: u16,
    /// Take only runs of these engines
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub(crate) engines: Option<Vec<String>>,
    /// Labels of this machine
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub(crate) labels: Vec<String>,
    /// End when no run of the queue is left, here or elsewhere
    #[arg(long)]
    pub(crate) until_empty: bool,
}

/// Arguments of `cto stop`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cto stop a1b2
  cto stop @ --json

Exit codes: 0 it was asked to stop, 2 there is no such run, 3 it does not run.")]
pub(crate) struct StopArgs {
    /// The run, by id, unique beginning, suffix or `@`
    #[arg(value_name = "RUN")]
    pub(crate) run: String,
}

/// Arguments of `cto watch`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cto watch a1b2
  cto watch --json

Exit codes: those of the run; 0 for the whole queue, 2 there is no such run, 3 it was cancelled.")]
pub(crate) struct WatchArgs {
    /// The run, by id, unique beginning, suffix or `@`, the last one that was submitted
    #[arg(value_name = "RUN")]
    pub(crate) run: Option<String>,
}

/// Arguments of `cto cancel`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cto cancel @
  cto cancel @ --json

Exit codes: 0 cancelled, or asked to stop, 2 there is no such run in the queue, 3 it has ended.")]
pub(crate) struct CancelArgs {
    /// The run, by id, unique beginning, suffix or `@`, the last one that was submitted
    #[arg(value_name = "RUN")]
    pub(crate) run: String,
}

/// Arguments of `cto halt`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cto halt --reason \"the build machine is moving\"
  cto resume")]
pub(crate) struct HaltArgs {
    /// Why; every run that it stops says so
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
}
