//! Facts as pages and JSON show them. What `views` has is taken as it is.

use std::collections::BTreeMap;

use contract::approval::PacketStatus;
use contract::claim::JudgedClaim;
use contract::paths::PathVerdict;
use contract::{Digest, Event, Report, Stamp};
use ledger::{BundleOrigin, RunRow, RunStatus};
use schemars::JsonSchema;
use serde::Serialize;
use views::{CollectedBundle, RequestSummary, RunAnswer, RunPage, RunPhase, RungStatus, SpendRow, VerifyResult};

/// The first page.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct OverviewFacts {
    pub waiting: Vec<WaitingFacts>,
    /// True if older things wait and are not listed.
    pub older_waiting: bool,
    pub running: Vec<RunningFacts>,
    pub ladders: Vec<LadderFacts>,
    /// Bundles that were verified for the ladders.
    pub verified_bundles: u64,
    pub days: Vec<DayCount>,
    pub rates: Vec<PassRate>,
    pub spend: Vec<SpendRow>,
    pub total_runs: u64,
    pub halted: Option<String>,
    pub now: Stamp,
}

/// One thing that waits for the operator, and the command that answers it.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct WaitingFacts {
    /// `decision`, `outcome`, `recovery` or `resume`.
    pub waits_for: String,
    pub subject: String,
    pub text: String,
    pub since: Option<Stamp>,
    pub remedy: String,
}

/// A run that goes on.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct RunningFacts {
    pub run_id: String,
    pub task_id: String,
    pub engine: String,
    pub stage: u8,
    pub started_at: Stamp,
    pub phase: RunPhase,
}

/// One ladder, the lowest rung first.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct LadderFacts {
    pub engine: String,
    pub model: Option<String>,
    pub source_id: Option<String>,
    pub rungs: Vec<LadderRung>,
    pub next_stage: Option<u8>,
    pub missing: Option<String>,
    pub remedy: Option<String>,
}

/// Rung of an engine's ladder.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct LadderRung {
    pub stage: u8,
    pub name: &'static str,
    pub scope: &'static str,
    pub status: RungStatus,
}

/// Sealed runs of one day, UTC.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DayCount {
    pub day: String,
    pub pass: u64,
    pub fail: u64,
    pub blocked: u64,
}

/// Passes among the runs of an engine that were not blocked.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct PassRate {
    pub engine: String,
    pub passed: u64,
    pub ran: u64,
    /// Wilson interval, 95 %, in per mille.
    pub low: u64,
    pub high: u64,
}

/// A question for runs, as the address has it.
#[derive(Debug, Clone, Default)]
pub struct RunsAsked {
    /// Words of the query language.
    pub query: String,
    pub cursor: Option<String>,
    pub limit: usize,
}

/// Page of runs, with facts that their bundles have and the ledger has not.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RunListFacts {
    #[serde(flatten)]
    pub page: RunPage,
    /// Names of all engines that have a run.
    pub engines: Vec<String>,
    /// By run id. A run is absent if its bundle is not in the home, is not signed by a trusted key, or is not the one that
    /// the ledger sealed.
    pub sealed: BTreeMap<String, SealedSize>,
}

/// Size of a run's patch, and the price of its model use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SealedSize {
    pub added: u64,
    pub removed: u64,
    /// Absent if no model was asked, or if the price of a request is not known.
    pub cost_micros: Option<u64>,
}

/// State of a run for its page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    Running,
    /// Its process is gone, and no recovery has sealed it.
    Interrupted,
    Sealed,
    /// Its bundle was removed on purpose.
    Collected,
    /// Its bundle does not verify: there is no verdict to show.
    Broken,
}

/// One run in whatever state.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct RunFacts {
    pub state: RunState,
    pub row: RunRow,
    pub phase: Option<RunPhase>,
    /// Report of a bundle that verifies; none otherwise.
    pub report: Option<Report>,
    /// The sentence that says what the verdict means.
    pub sentence: String,
    pub verification: Option<VerifyResult>,
    pub signer: Option<String>,
    pub attestation_sha256: Option<Digest>,
    pub origin: Option<BundleOrigin>,
    pub collected: Option<CollectedBundle>,
    pub answer: Option<RunAnswer>,
    pub events: Vec<Event>,
    /// Events beyond those that are listed.
    pub events_left_out: u64,
    pub patch: Vec<PatchFile>,
    pub patch_cut: bool,
    pub artifacts: Vec<ArtifactFacts>,
    /// Attempts that the sandboxes refused or noted, the worst first.
    pub refusals: Vec<RefusalFacts>,
    pub refusals_left_out: u64,
    pub claims: Vec<JudgedClaim>,
    /// Reason for which there is no verdict.
    pub problem: Option<String>,
    pub now: Stamp,
}

impl RunFacts {
    /// Verdict of the run.
    pub fn status(&self) -> RunStatus {
        self.row.status
    }
}

/// Artifact of a bundle.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ArtifactFacts {
    pub name: String,
    pub bytes: Option<u64>,
    pub sha256: String,
}

/// One attempt inside a sandbox, and the line of a contract that would allow it.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct RefusalFacts {
    pub cell: String,
    pub what: String,
    pub by: Option<String>,
    pub count: u64,
    /// `forbidden action`, `violation` or `note`.
    pub counts_as: &'static str,
    /// Key of the contract; none where no line of any contract allows it.
    pub allowed_by: Option<&'static str>,
    pub advice: &'static str,
}

/// One file of a patch, with the word of the contract about its path.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PatchFile {
    pub path: String,
    #[serde(serialize_with = "write_verdict")]
    #[schemars(with = "String")]
    pub verdict: PathVerdict,
    /// Glob that decided; none where no glob did.
    pub glob: Option<String>,
    pub added: u64,
    pub removed: u64,
    pub lines: Vec<PatchLine>,
}

/// Line of a patch with its numbers in both files.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PatchLine {
    pub kind: PatchLineKind,
    pub old: Option<u64>,
    pub new: Option<u64>,
    pub text: String,
}

/// Kind of a patch line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PatchLineKind {
    Header,
    Hunk,
    Context,
    Added,
    Removed,
}

fn write_verdict<S: serde::Serializer>(verdict: &PathVerdict, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(verdict_word(*verdict))
}

/// The word for a verdict on a path.
pub(crate) const fn verdict_word(verdict: PathVerdict) -> &'static str {
    match verdict {
        PathVerdict::Allowed => "allowed",
        PathVerdict::Forbidden => "forbidden",
        PathVerdict::Protected => "protected",
        PathVerdict::Outside => "outside",
    }
}

/// Lines of a log.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct LogWindow {
    pub name: String,
    pub total_lines: u64,
    /// Number of lines with the search text; of all lines without one.
    pub matching_lines: u64,
    /// Each with its number, counted from 1.
    pub lines: Vec<(u64, String)>,
    pub next_line: Option<u64>,
}

/// Whole lines of a run's events.
#[derive(Debug, Clone, Default)]
pub struct EventChunk {
    pub run_id: String,
    pub lines: Vec<Vec<u8>>,
    /// Byte behind the last line.
    pub next: u64,
    /// No line will follow.
    pub is_over: bool,
    /// The run's process is gone and nothing has sealed it.
    pub is_interrupted: bool,
}

/// One request with its packet.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct RequestFacts {
    #[serde(flatten)]
    pub summary: RequestSummary,
    /// Text that a person reads, byte for byte what is signed.
    pub packet: String,
    pub packet_digest: Digest,
    pub packet_status: PacketStatus,
    pub sentence_text: String,
    /// Gates that refused when it was requested: gate, reason, text, remedy.
    pub missing: Vec<[String; 4]>,
    /// History: word, person, text, time of each entry.
    pub history: Vec<[String; 4]>,
    pub news: Vec<String>,
    pub next: String,
    /// True if the configuration lets a person approve here.
    pub may_capture: bool,
}

/// One record of the workspace.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct RecordFacts {
    pub file: String,
    pub kind: String,
    pub subject: Option<String>,
    pub status: Option<String>,
    pub problem: Option<String>,
    pub signed_by: Option<String>,
    pub sha256: Option<String>,
}

/// Model use and the limits of a day.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct SpendFacts {
    pub rows: Vec<SpendRow>,
    pub limit_requests: Option<u64>,
    pub limit_tokens: Option<u64>,
    pub limit_money_micros: Option<u64>,
    pub today: String,
}

/// An act of a person in the browser, or the refusal of one.
#[derive(Debug, Clone, Serialize)]
pub struct OperatorAct {
    pub act: OperatorActKind,
    pub subject: String,
    /// Short digest of the session, never the session itself.
    pub session: String,
    pub allowed: bool,
    pub text: String,
}

/// Act of a person that the ledger records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OperatorActKind {
    Login,
    Logout,
    Approve,
    Deny,
    Stop,
}
