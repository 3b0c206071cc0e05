//! The command line, as clap sees it. Dumb on purpose: it is resolved once, in `context`.

mod approvals;
mod bridge;
mod demo;
mod engine;
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
mod serve;
mod setup;
mod take;
#[cfg(test)]
mod tests;
mod trust;
mod validate;
mod values;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use contract::decision::Profile;
use contract::{ModelPair, Stage, WorkId};
use evidence::verify::Expectation;
use harness::{FAKE, Task};

pub(crate) use approvals::{ApprovalsArgs, ApproveArgs, HoldArgs, RefuseArgs, RequestArgs};
pub(crate) use bridge::BridgeArgs;
pub(crate) use demo::DemoArgs;
pub(crate) use engine::EngineCommand;
pub(crate) use hermes::{HermesCommand, PanelPlace};
pub(crate) use ladder::{LadderArgs, LadderCommand};
pub(crate) use lanes::{MatrixArgs, RaceArgs, RepeatArgs};
pub(crate) use logs::LogsArgs;
pub(crate) use new::NewArgs;
pub(crate) use nouns::{CaseCommand, EnvironmentCommand, KeyCommand, LedgerCommand};
pub(crate) use outcome::{OutcomeArgs, OutcomeWord, RollbackArgs};
pub(crate) use queue::{QueueArgs, SubmitArgs, WorkerArgs};
pub(crate) use records::{RecordsArgs, RecordsCommand, UnpackArgs, ValidateWorkspaceArgs, WorkCommand};
pub(crate) use refresh::RefreshArgs;
pub(crate) use serve::ServeArgs;
pub(crate) use setup::{KeySource, SetupArgs, key_source};
pub(crate) use take::TakeArgs;
pub(crate) use trust::{
    RecordCommand, TrustCommand, TrustKeyCommand, TrustWorkerCommand, TrustWorkspaceArgs, TrustWorkspaceCommand,
};
pub(crate) use validate::{HealthArgs, SummaryArgs, ValidateCommand};
pub(crate) use values::parse_age;
pub(crate) use values::{Age, ProfileName, StatusFilter};
use values::{speed, work_id};

/// Let coding agents change real code without handing over authority.
#[derive(Debug, Parser)]
#[command(
    name = "cto",
    version,
    propagate_version = true,
    disable_help_subcommand = true,
    arg_required_else_help = true,
    after_help = "\
Examples:
  cto demo                                   the whole story, in a temporary home
  cto run r1-string-slugify                  a governed run of a built-in case
  cto run task.yaml --repo ~/src/site        a contract, on a copy of a repository you own
  cto verify @                               check the last bundle

Exit codes: 0 pass, 1 fail, 2 wrong usage or invalid input, 3 blocked, 130 interrupted."
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Args)]
pub(crate) struct Global {
    /// Where runs, keys and the ledger live [env: CTO_HOME]
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) home: Option<PathBuf>,
    /// The workspace whose cases and settings count [env: CTO_WORKSPACE]
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
    /// One JSON document on stdout and nothing else there
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Only the verdict
    #[arg(long, short, global = true, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// More detail
    #[arg(long, short, global = true)]
    pub(crate) verbose: bool,
    /// Print one fact a line on a terminal too, without colour, links or redrawing
    #[arg(long, global = true)]
    pub(crate) plain: bool,
    /// When to use colour
    #[arg(long, global = true, value_name = "WHEN")]
    pub(crate) color: Option<ColorWhen>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorWhen {
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show the whole story: a run that passes, a cheat that is refused, tampering that is found
    #[command(after_help = "\
Examples:
  cto demo
  cto demo --serve --open     a whole history in the console")]
    Demo(DemoArgs),
    /// Make a workspace
    Init {
        /// Where
        #[arg(value_name = "DIR", default_value = ".")]
        dir: PathBuf,
    },
    /// Connect an engine: its program, its model, its records, the first rungs
    #[command(after_help = "\
Drafts records and settings, shows them and asks you to agree. Then it opens the gate, and the engine earns stages 1 and 2 with real
runs. The command printed beside each step does that step alone.

Examples:
  cto setup codex --key env:OPENAI_API_KEY --model gpt-5.5
  cto setup claude --key env:ANTHROPIC_API_KEY --model claude-sonnet-5
  cto setup pi --endpoint http://127.0.0.1:8000/v1 --model my-model
  cto setup case --bin /opt/case/dist/ca --endpoint http://127.0.0.1:8000/v1 --model my-model --yes

Exit codes: 0 connected, 1 a run failed, 2 wrong usage, 3 something is missing, or you did not agree.")]
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
    #[command(after_help = "\
Tries the program by real runs in temporary homes, with a stand-in for Case and a model server that answers from a script. Only
verified bundles of this home show that Case passes. Nothing here counts for a stage.

Examples:
  cto health
  cto health --json
  cto health --only provider_timeout_fail_closed

Exit codes: 0 everything holds, 1 something does not, 2 wrong usage, 3 something could not be shown.")]
    Health(HealthArgs),
    /// Run the validators of a stage or a workspace
    #[command(subcommand)]
    Validate(ValidateCommand),
    /// Run a command in the sandbox that engines get
    #[command(after_help = "\
The command sees the folder as it is. What it writes is gone afterwards. There is no terminal inside, but standard input is passed
on. The exit code is the command's own.

Examples:
  cto sandbox -- ls -la / /home/user
  cto sandbox --contract task.yaml -- npm test
  echo 'id; mount' | cto sandbox -- sh")]
    Sandbox {
        /// Folder to mount as the workspace
        #[arg(long, value_name = "DIR", default_value = ".")]
        dir: PathBuf,
        /// Contract whose mounts, path, variables and limits apply
        #[arg(long, value_name = "FILE")]
        contract: Option<PathBuf>,
        /// Seconds it may take
        #[arg(long, value_name = "S", default_value_t = 600, value_parser = clap::value_parser!(u64).range(1..=604_800))]
        timeout: u64,
        /// The command
        #[arg(required = true, last = true, value_name = "CMD")]
        argv: Vec<String>,
    },
    /// Draft a contract from a repository
    #[command(after_help = "\
Reads languages, lock files, test commands and CI files; runs nothing. Writes the contract into the workspace's contracts/, or into
the home's, and overwrites no file. On a terminal without --from and --issue it asks what to do.

Examples:
  cto new --from \"fix the crash in parse()\" --repo ~/src/site
  cto new --issue issue-42.md --allow src/parse/ --out fix-parse.yaml

Exit codes: 0 written, 2 wrong usage.")]
    New(NewArgs),
    /// Decide whether a task may run, without running it; exit 0 eligible, 3 refused
    #[command(after_help = "\
Examples:
  cto decide r1-string-slugify
  cto decide task.yaml --repo . --json")]
    Decide(Asked),
    /// Run a task, from contract to sealed bundle
    #[command(after_help = "\
Examples:
  cto run r1-string-slugify
  cto run cases/my-case --keep-workspace
  cto run task.yaml --repo ~/src/site --json
  cto run --brief \"fix the crash in parse()\" --allow src/ --repo . --engine codex
  cto run task.yaml --repo . --at main      go on working meanwhile
  cto run --continue @ --engine codex")]
    Run {
        #[command(flatten)]
        asked: Asked,
        /// Seconds the engine may take, if less than the contract says
        #[arg(long, value_name = "S", value_parser = clap::value_parser!(u64).range(1..=604_800))]
        timeout: Option<u64>,
        /// Keep the work area under CTO_HOME/work
        #[arg(long)]
        keep_workspace: bool,
        /// Unsigned outcome of a run that passes; it counts only after `cto outcome` signs it
        #[arg(long, value_name = "WORD")]
        outcome: Option<OutcomeWord>,
        /// Keep the redacted conversation of engine and model in the bundle
        #[arg(long)]
        record_model_traffic: bool,
        /// Answer the engine only from the recording of a run or a file
        #[arg(long, value_name = "RUN", conflicts_with = "record_model_traffic")]
        replay_model_traffic: Option<String>,
    },
    /// Request approval for the plan of a run; nothing runs
    #[command(after_help = "\
Stages 4 and up need an approval. The same request again, for an unchanged plan, gives the same one.

Examples:
  cto request r1-string-slugify --stage 4
  cto request task.yaml --stage 5 --target admissions/target/site.yaml --work CTO-WORK-012

Exit codes: 0 requested or there already, 2 wrong usage, 3 there is nothing to approve yet.")]
    Request(RequestArgs),
    /// Show exactly what would be approved, and the state of the request
    #[command(after_help = "\
`cto packet promotion` is the decision packet about Core. It computes how far the evidence goes and promotes nothing.

Examples:
  cto packet req-143
  cto packet req-143 | mail -s approval op1
  cto packet promotion --markdown")]
    Packet {
        /// A request: req-N, apr-N of one of its approvals, or a unique beginning of its digest; or the word promotion
        request: String,
        /// The decision packet as a document with front matter
        #[arg(long)]
        markdown: bool,
    },
    /// Approve a request with its exact sentence, signed, for one run
    #[command(after_help = "\
On a terminal it asks for the sentence, up to three times. On a pipe it reads one line.

Examples:
  cto approve req-143
  cto approve req-143 --ttl 3600 --key ~/.ssh/id_ed25519_sk
  cto approve req-143 --break-glass --reason \"the site is down\"

Exit codes: 0 signed, 2 wrong usage, 3 refused.")]
    Approve(ApproveArgs),
    /// Deny a request, for good
    #[command(after_help = "Examples:\n  cto deny req-143 --reason \"the contract is too wide\"")]
    Deny(RefuseArgs),
    /// Put a request on hold, or release it
    #[command(after_help = "\
Examples:
  cto hold req-143 --reason \"after the release\"
  cto hold req-143 --release --reason \"released\"")]
    Hold(HoldArgs),
    /// Revoke the approvals of a request, for good
    #[command(after_help = "Examples:\n  cto revoke req-143 --reason \"HEAD moved\"")]
    Revoke(RefuseArgs),
    /// Requests with their state and age, newest first
    #[command(after_help = "\
Examples:
  cto approvals --open
  cto approvals --task CTO-143 --json")]
    Approvals(ApprovalsArgs),
    /// Every case; a table, JUnit with --junit
    #[command(after_help = "\
Examples:
  cto matrix --jobs 4
  cto matrix --cheats --junit cases.xml")]
    Matrix(MatrixArgs),
    /// Run one task with several engines and compare
    #[command(after_help = "\
Each lane is a governed run with a bundle of its own; the comparison is one more. A lane that cannot run says why in its row.

Examples:
  cto race r1-string-slugify --engines fake,codex,pi
  cto race task.yaml --repo . --engines codex,claude --jobs 2 --json

Exit codes: 0 every lane passed, 1 one failed, 3 none failed and one was blocked.")]
    Race(RaceArgs),
    /// How often an engine passes: pass^k, an interval, time, cost, false claims
    #[command(after_help = "\
pass^k is the chance that k runs all pass, estimated without bias from these. One run is an anecdote.

Examples:
  cto repeat r1-string-slugify -n 10
  cto repeat task.yaml --repo . --engine codex -n 8 --jobs 2 --junit repeat.xml

Exit codes: 0 every run passed, 1 one failed, 3 none failed and one was blocked.")]
    Repeat(RepeatArgs),
    /// Any runs side by side: verdict, why, time, requests, tokens, cost, claims
    #[command(after_help = "\
With --candidate it makes the sealed comparison that stage 6 asks for, from the verified bundles of this home alone. It starts no run.
The comparison counts once you accept it with `cto outcome`, and never activates a default.

Examples:
  cto compare @ @-1
  cto compare b9tc k7q2 m4xd --json
  cto compare --candidate codex

Exit codes with --candidate: 0 pass, 1 a fact is wrong, 2 wrong usage, 3 something is missing.")]
    Compare {
        /// Runs, or paths of bundles
        #[arg(required_unless_present = "candidate", value_name = "RUN|PATH")]
        runs: Vec<String>,
        /// Compare this engine with fake, codex and pi, for stage 6
        #[arg(long, value_name = "ENGINE", conflicts_with = "runs")]
        candidate: Option<String>,
        /// The candidate's model, where it was run with several
        #[arg(long, value_name = "PROVIDER/MODEL", requires = "candidate")]
        model: Option<ModelPair>,
    },
    /// Put a verified patch on a new branch of your own repository
    #[command(after_help = "\
Takes patches of passed runs, from stage 3 on. Verifies the bundle and builds the result again first. Writes only the new branch and
its objects, and runs no hook. A signed record says that you took it.

Examples:
  cto take @
  cto take b9tc --branch fix/slugify

Exit codes: 0 taken or there already, 1 the bundle does not verify, 2 wrong usage, 3 refused.")]
    Take(TakeArgs),
    /// Accept or reject a finished run, signed; a run of stage 5 counts only then
    #[command(after_help = "\
Verifies the bundle first and never touches it. Your answer is a signed statement beside it and an entry of the ledger. A rejection
prints the commands that undo the change.

Examples:
  cto outcome @ accept --reason \"read and tried\"
  cto outcome b9tc reject --reason \"slower than before\"

Exit codes: 0 recorded, 1 the bundle does not verify, 2 wrong usage, 3 refused.")]
    Outcome(OutcomeArgs),
    /// Undo what a run landed in its target
    #[command(after_help = "\
Deletes the branch if it still names the run's commit and nothing else has that commit. If somebody built on it or merged it,
prints the revert, and makes it on that branch only with --revert. The mark of the used approval is never removed.

Examples:
  cto rollback @ --reason \"slower than before\"
  cto rollback b9tc --revert --reason \"it was merged already\"

Exit codes: 0 taken back, 1 the bundle does not verify, 2 wrong usage, 3 refused.")]
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
    #[command(after_help = "\
Prints an address with a link that logs in once. Looking changes nothing, and no page starts a run.

Examples:
  cto serve
  cto serve --open
  cto serve --read-only --listen 127.0.0.1:0

Exit codes: 0 ended by a signal, 2 wrong usage, 3 it cannot listen.")]
    Serve(ServeArgs),
    /// Check a console, or install its panel in another host
    #[command(subcommand)]
    Hermes(HermesCommand),
    /// The control summary: ladders, health, approvals and the next action in one bounded document
    #[command(after_help = "\
The same ledger gives the same bytes, except generated_at. --write puts them into CTO_HOME/matrix/webui-summary.json.

Examples:
  cto summary
  cto summary --json
  cto summary --write

Exit code: 0.")]
    Summary(SummaryArgs),
    /// How far each engine is proven, computed from verified bundles, and what is missing
    #[command(after_help = "\
Rungs are computed: none is stored and none can be set. A later run that does not pass ends a rung until a newer one passes.

Examples:
  cto ladder
  cto ladder --engine codex --json
  cto ladder explain 3 --engine codex
  cto ladder --svg ladder.svg

Exit code: 0; printing a ladder is not a verdict.")]
    Ladder(LadderArgs),
    /// Check real stage 5 passes and their targets again, read-only, and seal the result
    #[command(after_help = "\
Reads the bundles of accepted passes, their signed outcomes and the newest comparison of stage 6. There must be two passes or more,
of different cases and commits. Repeats each verification on a copy of its target's HEAD. Starts no engine, changes no repository,
activates nothing.

Examples:
  cto refresh
  cto refresh --engine case --json
  cto refresh b9tc k7q2

Exit codes: 0 everything holds, 1 rejected, 2 wrong usage, 3 something is missing.")]
    Refresh(RefreshArgs),
    /// The runs in the ledger, newest first
    #[command(after_help = "\
Examples:
  cto runs --status fail --limit 10
  cto runs engine:pi reason:claim_contradicted since:7d
  cto runs --since 2d
  cto runs --imported
  cto runs --since today --json")]
    Runs {
        /// Words as on the console: `engine:`, `status:`, `reason:`, `stage:`, `model:`, `since:`, or a task
        #[arg(value_name = "WORD")]
        words: Vec<String>,
        /// Only runs with this status
        #[arg(long, value_name = "STATUS")]
        status: Option<StatusFilter>,
        /// Only runs of this engine
        #[arg(long, value_name = "E")]
        engine: Option<String>,
        /// Only runs of this task
        #[arg(long, value_name = "ID")]
        task: Option<String>,
        /// `today`, an age such as 2d or 12h, a date, or an RFC 3339 time
        #[arg(long, value_name = "TIME")]
        since: Option<String>,
        /// Runs that were taken in from archives, instead of this home's own
        #[arg(long)]
        imported: bool,
        /// At most this many
        #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
        limit: u32,
    },
    /// One run: verdict, why, proof
    #[command(after_help = "\
Examples:
  cto show @
  cto show b9tc -v
  cto show run.cto.tar.zst
  cto show @ --markdown --bundle-url https://example.com/b9tc.cto.tar.zst")]
    Show {
        /// A run by id, prefix, suffix or `@`; or the path of a bundle or an archive
        #[arg(value_name = "RUN|PATH")]
        run: String,
        /// As the body of a pull request; the bundle is verified first
        #[arg(long)]
        markdown: bool,
        /// Address under which a reviewer finds the bundle, for the body
        #[arg(long, value_name = "URL", requires = "markdown", value_parser = values::web_address)]
        bundle_url: Option<String>,
    },
    /// The patch of a run
    #[command(after_help = "\
Examples:
  cto diff @
  cto diff b9tc | git apply --check")]
    Diff {
        /// A run by id, prefix, suffix or `@`; or the path of a bundle or an archive
        #[arg(value_name = "RUN|PATH")]
        run: String,
        /// Only files of the exam
        #[arg(long)]
        protected: bool,
        /// Only files outside the allowed paths, forbidden ones included
        #[arg(long)]
        outside: bool,
    },
    /// The conversation of a run with its tool calls, times and cost; or another log
    #[command(after_help = "\
Without a flag: what the engine said and did, from its own log, with the time of each act and the cost of each request.

Examples:
  cto logs @
  cto logs @ --raw
  cto logs @ --checks
  cto logs @ --refusals --json
  cto logs @ --events")]
    Logs(LogsArgs),
    /// Check bundles offline and judge them again
    #[command(after_help = "\
Examples:
  cto verify @
  cto verify ./bundle --key harness.pub --expect coverage=empty

Exit codes: 0 every check holds, 1 one does not, 2 not a bundle.")]
    Verify {
        /// A run, or the path of a bundle
        #[arg(required = true, value_name = "RUN|PATH")]
        bundles: Vec<String>,
        /// The public key to check with: an OpenSSH line or PEM
        #[arg(long, value_name = "FILE")]
        key: Vec<PathBuf>,
        /// contract=DIGEST, baseline=COMMIT, signer=KEYID, max-age=N(s|m|h|d), coverage=empty
        #[arg(long, value_name = "KEY=VALUE", value_delimiter = ',')]
        expect: Vec<Expectation>,
    },
    /// Look for secrets in files, folders or standard input
    #[command(after_help = "\
A hit shows its rule, its place and the digest of its value, never the value. Links are not followed.

Examples:
  cto scan .
  git diff | cto scan -
  cto scan src --json

Exit codes: 0 nothing found, 1 something found or a file not read, 2 no such path.")]
    Scan {
        /// Files and folders, or - for standard input
        #[arg(required = true, value_name = "PATH|-")]
        paths: Vec<PathBuf>,
    },
    /// Re-run a bundle's checks from scratch
    #[command(after_help = "\
Only reads the bundle. The result is a signed statement beside the bundles and a ledger entry.

Examples:
  cto reverify @
  cto reverify @ --contract stricter.yaml

Exit codes: 0 the verdict holds today, 1 it does not, 3 it cannot be told.")]
    Reverify {
        /// A run, or the path of a bundle
        #[arg(required = true, value_name = "RUN|PATH")]
        bundles: Vec<String>,
        /// Another contract for the same task; earlier blockers stay
        #[arg(long, value_name = "FILE")]
        contract: Option<PathBuf>,
    },
    /// Watch an active run, wherever it was started
    #[command(after_help = "\
Only looks: Ctrl-C leaves the run alone. When the run is sealed its result is shown, and the exit code is the run's own.

Examples:
  cto attach @
  cto attach b9tc --plain

Exit codes: as `cto run`; 130 left before the end.")]
    Attach {
        /// A run: its id, a unique beginning of it or of its last part, `@` for the last one, `@-1` for the one before
        run: String,
    },
    /// Replay a run as it was shown
    #[command(after_help = "\
The bundle is verified first. A terminal shows its steps as they came, in at most three seconds unless you set --speed.
On a pipe and with --json, stdout is what `cto run` printed.

Examples:
  cto replay @
  cto replay b9tc --speed 1
  cto replay ./bundle --key harness.pub

Exit codes: 0 played, 1 the bundle does not verify, 2 not a bundle.")]
    Replay {
        /// A run, or the path of a bundle
        #[arg(value_name = "RUN|PATH")]
        run: String,
        /// Speed; 1 is real time
        #[arg(long, value_name = "X", value_parser = speed)]
        speed: Option<f64>,
        /// The public key to check with: an OpenSSH line or PEM
        #[arg(long, value_name = "FILE")]
        key: Vec<PathBuf>,
    },
    /// One portable archive of a run: its bundle and the signed statements about it
    #[command(after_help = "\
Two archives of the same run are the same bytes.

Examples:
  cto export @
  cto export b9tc -o /media/stick/b9tc.cto.tar.zst
  cto export --html @ -o run.html")]
    Export {
        /// A run: its id, a unique beginning of it or of its last part, `@` for the last one, `@-1` for the one before
        run: String,
        /// Where to; default: RUN_ID.cto.tar.zst or RUN_ID.html in the current directory
        #[arg(long, short, value_name = "FILE")]
        output: Option<PathBuf>,
        /// Add the baseline from the run's repository; bundles of cases hold theirs
        #[arg(long)]
        with_baseline: bool,
        /// Write one HTML page instead, with the bundle and a script that checks it
        #[arg(long, conflicts_with = "with_baseline")]
        html: bool,
    },
    /// Check an archive of `cto export` and take its run into this home
    #[command(after_help = "\
Checks everything before it keeps anything. Never uses the key in the archive: give the sender's key, obtained separately from the
archive.

Examples:
  cto import b9tc.cto.tar.zst --key alice.pub

Exit codes: 0 taken in or there already, 1 damaged, hostile or by an unknown signer, 2 not an archive.")]
    Import {
        /// The archive
        file: PathBuf,
        /// The public key to check with: an OpenSSH line or PEM
        #[arg(long, value_name = "FILE")]
        key: Vec<PathBuf>,
    },
    /// Seal what was interrupted
    Recover,
    /// Remove old bundles that nothing rests on, old caches and leftovers
    #[command(after_help = "\
gc keeps bundles that are recent, referenced, in use or damaged. It also keeps the latest pass of each task, engine and stage.
-v explains each run.

Examples:
  cto gc --dry-run -v
  cto gc --older-than 90d --keep 5")]
    Gc {
        /// Print what would be removed and why; remove nothing
        #[arg(long)]
        dry_run: bool,
        /// Keep bundles younger than N(s|m|h|d)
        #[arg(long, value_name = "AGE", default_value = "30d", value_parser = parse_age)]
        older_than: Age,
        /// Keep this many of the latest runs of each task
        #[arg(long, value_name = "N", default_value_t = 20)]
        keep: u32,
    },
    /// Stop one active run; it is sealed as interrupted
    #[command(after_help = "\
Examples:
  cto stop a1b2
  cto stop @ --json

Exit codes: 0 it was asked to stop, 2 there is no such run, 3 it does not run.")]
    Stop {
        /// The run, by id, unique beginning, suffix or `@`
        #[arg(value_name = "RUN")]
        run: String,
    },
    /// Put runs into the queue, for workers to take
    #[command(after_help = "\
Resolves the contract now and records its digest. A worker that finds another contract does not run it.

Examples:
  cto submit r1-string-slugify
  cto submit r1-string-slugify shell-script-rotate-logs --engine fake --priority 5
  cto submit task.yaml --repo . --after @ --labels gpu

Exit codes: 0 queued, 2 wrong usage or invalid input, 3 the ledger cannot be written.")]
    Submit(SubmitArgs),
    /// Runs that wait and runs that workers have
    #[command(after_help = "\
Examples:
  cto queue
  cto queue --all --limit 20 --json")]
    Queue(QueueArgs),
    /// Follow a queued run to its end, or the queue until it is empty
    #[command(after_help = "\
Examples:
  cto watch a1b2
  cto watch --json

Exit codes: those of the run; 0 for the whole queue, 2 there is no such run, 3 it was cancelled.")]
    Watch {
        /// The run, by id, unique beginning, suffix or `@`, the last one that was submitted
        #[arg(value_name = "RUN")]
        run: Option<String>,
    },
    /// Take a run out of the queue, or stop it where it runs
    #[command(after_help = "\
Examples:
  cto cancel @
  cto cancel @ --json

Exit codes: 0 cancelled, or asked to stop, 2 there is no such run in the queue, 3 it has ended.")]
    Cancel {
        /// The run, by id, unique beginning, suffix or `@`, the last one that was submitted
        #[arg(value_name = "RUN")]
        run: String,
    },
    /// Take runs from the queue and run them
    #[command(after_help = "\
After SIGTERM or Ctrl-C it takes nothing new, finishes its runs and ends. A second one interrupts and seals them.

Examples:
  cto worker
  cto worker --slots 4 --engines codex,fake --labels gpu
  cto worker --until-empty --json

Exit codes: 0 drained, 3 it cannot work, 130 interrupted.")]
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
    #[command(after_help = "\
Examples:
  cto halt --reason \"the build machine is moving\"
  cto resume")]
    Halt {
        /// Why; every run that it stops says so
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
    },
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
    #[command(after_help = "\
Reserves, writes and stops nothing.

Examples:
  cto guard --core ~/src/core
  cto guard --json

Exit codes: 0 passed, 2 wrong usage, 3 blocked.")]
    Guard {
        /// The Core workspace; default: that of harness.yaml
        #[arg(long, value_name = "DIR")]
        core: Option<PathBuf>,
    },
    /// Check the ten requirements of the end goal against the evidence
    #[command(after_help = "\
A requirement without evidence is not proven. Its gap is printed as a draft work item.

Examples:
  cto audit
  cto audit --json

Exit codes: 0 complete, 3 incomplete.")]
    Audit,
    /// One file with the workspace, the ledger and the bundles, for another machine
    #[command(after_help = "\
Two packs of the same state are the same bytes.

Examples:
  cto pack -o team.cto-pack.tar.zst")]
    Pack {
        /// Where to; default: NAME.cto-pack.tar.zst in the current directory
        #[arg(long, short, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Take a pack into a fresh home and folder; everything is verified before anything is kept
    #[command(after_help = "\
Examples:
  cto --home ~/cto-new unpack team.cto-pack.tar.zst ~/team --key alice.pub --trust-sender

Exit codes: 0 unpacked, 1 damaged, hostile or by an unknown signer, 2 wrong usage, 3 sender not trusted.")]
    Unpack(UnpackArgs),
    /// One record: sign it, check it
    #[command(subcommand)]
    Record(RecordCommand),
    /// Whom this home trusts: workspaces, keys of people
    #[command(subcommand)]
    Trust(TrustCommand),
    /// The model bridge on its own, until it is interrupted
    #[command(after_help = "\
Shows each request as it happens: one line on a pipe, one JSON object a line with --json.
Clients present the token as their key. Without one, the bridge makes and prints it.

Examples:
  cto bridge --upstream http://127.0.0.1:8000/v1 --admit qwen-local/qwen3
  cto bridge --upstream https://api.openai.com/v1 --admit openai/gpt-5.5 --credential env:KEY")]
    Bridge(BridgeArgs),
    /// Every effective setting and where it came from
    Config,
    /// Shell completions
    #[command(after_help = "Examples:\n  cto completions bash > ~/.local/share/bash-completion/completions/cto")]
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

#[derive(Debug, Args)]
pub(crate) struct Asked {
    /// A case id, a case folder or a contract file
    #[arg(required_unless_present_any = ["brief", "continue_run"], conflicts_with_all = ["brief", "continue_run"])]
    pub(crate) task: Option<String>,
    /// Task text, for one-off work without a contract file
    #[arg(long, value_name = "TEXT", requires_all = ["allow", "repo"])]
    pub(crate) brief: Option<String>,
    /// A path that may change, as in allowed_paths; repeat it for more
    #[arg(long, value_name = "PATH", requires = "brief")]
    pub(crate) allow: Vec<String>,
    /// Take the source from this commit, branch or tag, not from the work tree; stage 3 in the strict sandbox
    #[arg(long, value_name = "COMMIT")]
    pub(crate) at: Option<String>,
    /// Continue from the patch of this run, with its contract and baseline; the whole change is judged
    #[arg(long = "continue", id = "continue_run", value_name = "RUN", conflicts_with_all = ["brief", "repo", "target", "work"])]
    pub(crate) continue_run: Option<String>,
    /// The engine; default: fake, or with --continue that of the run
    #[arg(long, value_name = "E")]
    pub(crate) engine: Option<String>,
    /// The stage, 1 to 6; default: 2 for a case and 3 with a repository
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=6))]
    pub(crate) stage: Option<u8>,
    /// The sandbox profile
    #[arg(long, value_name = "P")]
    pub(crate) sandbox: Option<ProfileName>,
    /// Model to request, as PROVIDER/MODEL; the admissions decide
    #[arg(long, value_name = "P/M")]
    pub(crate) model: Option<ModelPair>,
    /// The owned local repository to copy and work on
    #[arg(long, value_name = "DIR")]
    pub(crate) repo: Option<PathBuf>,
    /// Admission of the repository to change, for stages 5 and 6
    #[arg(long, value_name = "ADMISSION")]
    pub(crate) target: Option<PathBuf>,
    /// The item of the workboard, such as CTO-WORK-012; instead of the contract's own
    #[arg(long, value_name = "ID", value_parser = work_id)]
    pub(crate) work: Option<WorkId>,
}

impl Asked {
    /// The words that name the same task on another command line.
    pub(crate) fn task_words(&self) -> String {
        let mut words: Vec<String> = self.task.iter().cloned().collect();
        let mut add = |flag: &str, value: Option<String>| {
            words.extend(value.into_iter().flat_map(|value| [flag.to_owned(), value]));
        };
        add("--brief", self.brief.clone());
        self.allow.iter().for_each(|path| add("--allow", Some(path.clone())));
        add("--continue", self.continue_run.clone());
        add("--repo", self.repo.as_ref().map(|repository| repository.display().to_string()));
        shell_words::join(words)
    }

    /// The command line that asks for the same of another command. A run that it goes on from is named by its id: `@` is another one later.
    pub(crate) fn words(&self, command: &str, task: &Task, stage: Stage, timeout: Option<u64>) -> String {
        let mut words = vec!["cto".to_owned(), command.to_owned()];
        words.extend(self.task.clone());
        let mut add = |flag: &str, value: Option<String>| {
            words.extend(value.into_iter().flat_map(|value| [flag.to_owned(), value]));
        };
        let path = |path: &Option<PathBuf>| path.as_ref().map(|path| path.display().to_string());
        add("--brief", self.brief.clone());
        self.allow.iter().for_each(|path| add("--allow", Some(path.clone())));
        add("--continue", task.continued.as_ref().map(|continued| continued.run_id.suffix().to_owned()));
        add("--at", self.at.clone());
        add("--engine", self.engine.clone().filter(|engine| engine != FAKE || self.continue_run.is_some()));
        add("--stage", Some(stage.to_string()));
        add("--sandbox", self.sandbox.map(|name| Profile::from(name).to_string()));
        add("--model", self.model.as_ref().map(ToString::to_string));
        add("--repo", path(&self.repo));
        add("--target", path(&self.target));
        add("--work", self.work.as_ref().map(ToString::to_string));
        add("--timeout", timeout.map(|seconds| seconds.to_string()));
        shell_words::join(words)
    }
}

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
  cto admit model qwen-local/qwen3.6-35b-a3b --credential-class local-none --network-class local-vllm
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
