//! The command line, as clap sees it. Dumb on purpose: it is resolved once, in `context`.

mod admit;
mod approvals;
mod bridge;
mod bundles;
mod demo;
mod engine;
mod global;
mod hermes;
mod ladder;
mod lanes;
mod logs;
mod new;
mod nouns;
mod outcome;
mod queue;
mod records;
mod refresh;
mod runs;
mod sandbox;
mod serve;
mod setup;
mod take;
mod task;
#[cfg(test)]
mod tests;
mod trust;
mod validate;
mod values;

use std::path::PathBuf;

use clap::{Parser, Subcommand};

pub(crate) use admit::AdmitCommand;
pub(crate) use approvals::{ApprovalsArgs, ApproveArgs, HoldArgs, PacketArgs, RefuseArgs, RequestArgs};
pub(crate) use bridge::BridgeArgs;
pub(crate) use bundles::{ExportArgs, GcArgs, ImportArgs, ReverifyArgs, VerifyArgs};
pub(crate) use demo::DemoArgs;
pub(crate) use engine::EngineCommand;
pub(crate) use global::{ColorWhen, Global};
pub(crate) use hermes::{HermesCommand, PanelPlace};
pub(crate) use ladder::{LadderArgs, LadderCommand};
pub(crate) use lanes::{CompareArgs, MatrixArgs, RaceArgs, RepeatArgs};
pub(crate) use logs::LogsArgs;
pub(crate) use new::NewArgs;
pub(crate) use nouns::{CaseCommand, EnvironmentCommand, KeyCommand, LedgerCommand};
pub(crate) use outcome::{OutcomeArgs, OutcomeWord, RollbackArgs};
pub(crate) use queue::{CancelArgs, HaltArgs, QueueArgs, StopArgs, SubmitArgs, WatchArgs, WorkerArgs};
pub(crate) use records::{
    GuardArgs, PackArgs, RecordsArgs, RecordsCommand, UnpackArgs, ValidateWorkspaceArgs, WorkCommand,
};
pub(crate) use refresh::RefreshArgs;
pub(crate) use runs::{AttachArgs, DiffArgs, ReplayArgs, RunsArgs, ShowArgs};
pub(crate) use sandbox::{SandboxArgs, ScanArgs};
pub(crate) use serve::ServeArgs;
pub(crate) use setup::{KeySource, SetupArgs, key_source};
pub(crate) use take::TakeArgs;
pub(crate) use task::{Asked, RunArgs};
pub(crate) use trust::{
    RecordCommand, TrustCommand, TrustKeyCommand, TrustWorkerCommand, TrustWorkspaceArgs, TrustWorkspaceCommand,
};
pub(crate) use validate::{HealthArgs, SummaryArgs, ValidateCommand};
pub(crate) use values::{Age, ProfileName, StatusFilter, parse_age};

/// Let coding agents change real code without handing over authority.
#[derive(Debug, Parser)]
#[command(
    name = "cto",
    version,
    propagate_version = true,
    disable_help_subcommand = true,
    arg_required_else_help = true,
    max_term_width = 120,
    after_help = "\
Examples:
  cto demo                                the whole story, in a temporary home
  cto run r1-string-slugify               a governed run of a built-in case
  cto run task.yaml --repo ~/src/site     a contract, on a copy of a repository
  cto verify @                            check the last bundle

Exit codes: 0 pass, 1 fail, 2 wrong usage or invalid input, 3 blocked, 130 interrupted."
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show the whole story: a run that passes, a cheat that is refused, tampering that is found
    Demo(DemoArgs),
    /// Make a workspace
    Init {
        /// Where
        #[arg(value_name = "DIR", default_value = ".")]
        dir: PathBuf,
    },
    /// Connect an engine: its program, its model, its records, the first rungs
    Setup(SetupArgs),
    /// What this machine can do, what is missing and how to get it
    Doctor {
        /// What a sandbox shows of this machine, and where programs are looked for in it
        #[arg(long)]
        paths: bool,
        /// The ledger and the object store that several machines share, tried out
        #[arg(long)]
        fleet: bool,
    },
    /// Test this build, and whether Case has earned its stages; for CI
    Health(HealthArgs),
    /// Run the validators of a stage or a workspace
    #[command(subcommand)]
    Validate(ValidateCommand),
    /// Run a command in the sandbox that engines get
    Sandbox(SandboxArgs),
    /// Draft a contract from a repository
    New(NewArgs),
    /// Decide whether a task may run, without running it; exit 0 eligible, 3 refused
    #[command(after_help = "\
Examples:
  cto decide r1-string-slugify
  cto decide task.yaml --repo . --json")]
    Decide(Asked),
    /// Run a task, from contract to sealed bundle
    Run(RunArgs),
    /// Request approval for the plan of a run; nothing runs
    Request(RequestArgs),
    /// Show exactly what would be approved, and the state of the request
    Packet(PacketArgs),
    /// Approve a request with its exact sentence, signed, for one run
    Approve(ApproveArgs),
    /// Deny a request, for good
    #[command(after_help = "\
Examples:
  cto deny req-143 --reason \"the contract is too wide\"")]
    Deny(RefuseArgs),
    /// Put a request on hold, or release it
    Hold(HoldArgs),
    /// Revoke the approvals of a request, for good
    #[command(after_help = "\
Examples:
  cto revoke req-143 --reason \"HEAD moved\"")]
    Revoke(RefuseArgs),
    /// Requests with their state and age, newest first
    Approvals(ApprovalsArgs),
    /// Every case; a table, JUnit with --junit
    Matrix(MatrixArgs),
    /// Run one task with several engines and compare
    Race(RaceArgs),
    /// How often an engine passes: pass^k, an interval, time, cost, false claims
    Repeat(RepeatArgs),
    /// Any runs side by side: verdict, why, time, requests, tokens, cost, claims
    Compare(CompareArgs),
    /// Put a verified patch on a new branch of your own repository
    Take(TakeArgs),
    /// Accept or reject a finished run, signed; a run of stage 5 counts only then
    Outcome(OutcomeArgs),
    /// Undo what a run landed in its target
    Rollback(RollbackArgs),
    /// One screen: what waits for you, what runs, how far each engine is proven
    #[command(after_help = "\
Only looks: recovers nothing and seals nothing.

Examples:
  cto status
  cto status --json

Exit code: 0, whatever waits.")]
    Status,
    /// The same live: runs, what engines do now, model use, refusals
    #[command(after_help = "\
Needs a terminal. q or Ctrl-C leaves; the runs go on.

Examples:
  cto top")]
    Top,
    /// The console: a web page of this home, on loopback
    Serve(ServeArgs),
    /// Check a console, or install its panel in another host
    #[command(subcommand)]
    Hermes(HermesCommand),
    /// The control summary: ladders, health, approvals and the next action in one bounded document
    Summary(SummaryArgs),
    /// How far each engine is proven, computed from verified bundles, and what is missing
    Ladder(LadderArgs),
    /// Check real stage 5 passes and their targets again, read-only, and seal the result
    Refresh(RefreshArgs),
    /// The runs in the ledger, newest first
    Runs(RunsArgs),
    /// One run: verdict, why, proof
    Show(ShowArgs),
    /// The patch of a run
    Diff(DiffArgs),
    /// The conversation of a run with its tool calls, times and cost; or another log
    Logs(LogsArgs),
    /// Check bundles offline and judge them again
    Verify(VerifyArgs),
    /// Look for secrets in files, folders or standard input
    Scan(ScanArgs),
    /// Re-run a bundle's checks from scratch
    Reverify(ReverifyArgs),
    /// Watch an active run, wherever it was started
    Attach(AttachArgs),
    /// Replay a run as it was shown
    Replay(ReplayArgs),
    /// One portable archive of a run: its bundle and the signed statements about it
    Export(ExportArgs),
    /// Check an archive of `cto export` and take its run into this home
    Import(ImportArgs),
    /// Seal what was interrupted
    Recover,
    /// Remove old bundles that nothing rests on, old caches and leftovers
    Gc(GcArgs),
    /// Stop one active run; it is sealed as interrupted
    Stop(StopArgs),
    /// Put runs into the queue, for workers to take
    Submit(SubmitArgs),
    /// Runs that wait and runs that workers have
    Queue(QueueArgs),
    /// Follow a queued run to its end, or the queue until it is empty
    Watch(WatchArgs),
    /// Take a run out of the queue, or stop it where it runs
    Cancel(CancelArgs),
    /// Take runs from the queue and run them
    Worker(WorkerArgs),
    /// Ask the workers of this home to take no new run and to end after their active runs
    #[command(after_help = "\
A worker that starts later is not asked.

Examples:
  cto drain
  cto drain --wait --json

Exit codes: 0 they were asked, or with --wait have ended; 3 they cannot be asked, 130 interrupted.")]
    Drain {
        /// Wait until they have ended
        #[arg(long)]
        wait: bool,
    },
    /// Set the kill switch: block new runs and stop active ones
    Halt(HaltArgs),
    /// Lift the kill switch
    Resume,
    /// The ledger
    #[command(subcommand)]
    Ledger(LedgerCommand),
    /// Evaluation cases
    #[command(subcommand)]
    Case(CaseCommand),
    /// What a repository needs to build and test
    #[command(subcommand)]
    Environment(EnvironmentCommand),
    /// The harness's and the operator's signing keys
    #[command(subcommand)]
    Key(KeyCommand),
    /// The published JSON Schemas
    Schema {
        /// Which one; without it, the list
        name: Option<String>,
    },
    /// A reason in words, with its remedy
    Explain {
        /// Which one; without it, the list
        reason: Option<String>,
    },
    /// Engines: list, probe, open a gate
    #[command(subcommand)]
    Engine(EngineCommand),
    /// Draft an admission, or check one
    #[command(subcommand)]
    Admit(AdmitCommand),
    /// The records of the workspace: what they are for, and whether they can be used
    Records(RecordsArgs),
    /// The workboard: what there is to do, what can be done now, what it rests on
    #[command(subcommand)]
    Work(WorkCommand),
    /// Check the Core workspace, read-only, before a route is requested
    Guard(GuardArgs),
    /// Check the ten requirements of the end goal against the evidence
    #[command(after_help = "\
A requirement without evidence is not proven. Its gap is printed as a draft work item.

Examples:
  cto audit
  cto audit --json

Exit codes: 0 complete, 3 incomplete.")]
    Audit,
    /// One file with the workspace, the ledger and the bundles, for another machine
    Pack(PackArgs),
    /// Take a pack into a fresh home and folder; everything is verified before anything is kept
    Unpack(UnpackArgs),
    /// One record: sign it, check it
    #[command(subcommand)]
    Record(RecordCommand),
    /// Whom this home trusts: workspaces, keys of people
    #[command(subcommand)]
    Trust(TrustCommand),
    /// The model bridge on its own, until it is interrupted
    Bridge(BridgeArgs),
    /// Every effective setting and where it came from
    Config,
    /// Shell completions
    #[command(after_help = "\
Examples:
  cto completions bash > ~/.local/share/bash-completion/completions/cto")]
    Completions {
        /// Which shell
        shell: clap_complete::Shell,
    },
    /// Words that fit where a shell asks
    #[command(name = "__complete", hide = true)]
    Complete {
        /// The words of the command line, the last of them being typed
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<String>,
    },
    /// The manual page, or all of them with --out
    Man {
        /// Write one page a command into this directory
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
    },
}
