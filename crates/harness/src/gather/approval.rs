//! The approval that a run would use: the request for its plan, and every signed document
//! about that.

use std::time::Duration;

use contract::approval::{
    ApprovalFacts, ApprovalInput, Nonce, PACKET_RENDERER_VERSION, Plan, PlanSchema, RequestFact, RequestSchema,
    approval_sentence, differences, render_packet_of,
};
use contract::{Coverage, Digest, Stage, Stamp};
use evidence::stop;
use ledger::{ApprovalUse, ReadLedgerError, RequestRow};
use serde_json::Value;
use views::{RequestRecord, find_consumer};

use crate::gather::people::{People, Policies, ReadTrustError};
use crate::gather::plan::{BuildPlanError, PlanOnTerms, PlanScene, build_plan, policy_path};
use crate::gather::used_marks::{FindMarkError, find_home_mark, find_used_mark};
use crate::home::task::Task;
use crate::run::continuity::check_continuity;
use crate::run::harness::Harness;

/// Requests of a task that are looked through for one that fits.
const MOST_REQUESTS: usize = 1000;
/// Requests that are looked at first.
const FIRST_REQUESTS: usize = 8;
/// Rank of an open and approved request for exactly this plan.
const NEAREST: (bool, bool, bool) = (true, true, true);
/// Requester of a plan without a request; the request's own replaces it.
const NOBODY: &str = "unsigned";

/// Failure to learn how an approval stands.
#[derive(Debug, thiserror::Error)]
pub enum FindApprovalError {
    #[error(transparent)]
    Plan(#[from] BuildPlanError),
    #[error(transparent)]
    Trust(#[from] ReadTrustError),
    #[error(transparent)]
    Ledger(#[from] ReadLedgerError),
    #[error(transparent)]
    Mark(#[from] FindMarkError),
    #[error("the plan cannot be compared: {0}")]
    Encode(#[from] serde_json::Error),
}

/// The approval as it was found.
#[derive(Debug)]
pub(crate) struct FoundApproval {
    pub(crate) input: ApprovalInput,
    /// Codes about the approvals that the gate cannot know.
    pub(crate) coverage: Vec<Coverage>,
    /// Entries and lists that the facts of the request were read from.
    pub(crate) read: Option<ReadApproval>,
}

/// Entries about a request, and the lists of keys that judged their signatures.
#[derive(Debug)]
pub(crate) struct ReadApproval {
    record: RequestRecord,
    people: People,
}

impl FoundApproval {
    /// An approval that cannot be looked for yet.
    pub(crate) fn deferred() -> Self {
        Self { input: ApprovalInput::Deferred, coverage: Vec::new(), read: None }
    }
}

/// The request whose approvals the decision counted.
#[derive(Debug)]
pub(crate) struct CountedRequest {
    /// The use that the engine's start makes of it.
    pub(crate) using: ApprovalUse,
    /// Entries and lists that the decision's facts were read from.
    pub(crate) read: ReadApproval,
}

/// Plan without a request, which would choose nonce and requester.
pub(crate) fn build_unrequested(scene: &PlanScene<'_>) -> Result<PlanOnTerms, FindApprovalError> {
    let nothing = "0".repeat(32);
    let nonce = Nonce::try_from(nothing).map_err(|why| BuildPlanError::Incomplete(why.to_owned()))?;
    Ok(build_plan(scene, NOBODY, nonce)?)
}

/// Looks for the approval of the plan as it is now.
pub(crate) fn find_approval(scene: &PlanScene<'_>, now: Stamp) -> Result<FoundApproval, FindApprovalError> {
    let harness = scene.harness;
    let unrequested = build_unrequested(scene)?;
    let continuity = check_continuity(harness)?;
    let last_entry_at = harness.ledger().latest_time()?.unwrap_or(now);
    let chosen = choose_newest(scene, &unrequested, now.max(last_entry_at))?;
    let plan_digest = match &chosen {
        Some(chosen) => chosen.plan_digest,
        None => unrequested.plan.digest()?,
    };
    let people = chosen.as_ref().map(|_| People::read_lists(&harness.records)).transpose()?;
    let asked = chosen.as_ref().zip(people.as_ref());
    let request = asked.map(|(chosen, people)| describe_request(harness, chosen, people)).transpose()?;
    let unprotected = chosen.as_ref().is_some_and(|chosen| chosen.is_same() && chosen.record.is_unprotected());
    let facts = ApprovalFacts {
        plan_digest,
        plan_schema: PlanSchema::NAME.to_owned(),
        ledger_id: unrequested.plan.ledger_id.clone(),
        last_entry_at,
        continuity,
        terms: unrequested.terms,
        request,
        request_command: scene.ask.request_command.clone(),
    };
    let coverage = unprotected.then_some(Coverage::ApprovalKeyUnprotected).into_iter().collect();
    let read = chosen.zip(people).map(|(chosen, people)| ReadApproval { record: chosen.record, people });
    Ok(FoundApproval { input: ApprovalInput::Found(Box::new(facts)), coverage, read })
}

/// The facts of an approval with the keys, the policy, the answers, the home's own mark of a
/// use, and the ledger's time and continuity of now. `read` is what the facts come from: where the ledger and the lists hold its
/// very bytes, every document counts for what it counted. Approvals that came since are left out: the decision does not rest on them.
pub(crate) fn refresh_approval(
    harness: &Harness,
    task: &Task,
    stage: Stage,
    target: Option<&str>,
    facts: &ApprovalFacts,
    read: &ReadApproval,
) -> Result<ApprovalFacts, FindApprovalError> {
    let mut now = facts.clone();
    now.terms = Policies::read_files(&harness.records)?.terms(stage, policy_path(task, stage, target).as_deref());
    // A ledger that was put back meanwhile no longer says that the request was used.
    now.continuity = check_continuity(harness)?;
    let ledger = harness.ledger();
    now.last_entry_at = ledger.latest_time()?.unwrap_or(facts.last_entry_at);
    let Some(request) = &mut now.request else { return Ok(now) };
    if request.used_mark.is_none() {
        request.used_mark = find_home_mark(harness, request.request_digest)?;
    }
    let record = read.record.read_changed(&ledger)?;
    let people = read.people.read_changed(&harness.records)?;
    if record.is_none() && people.is_none() {
        return Ok(now);
    }
    let (record, people) = (record.as_ref().unwrap_or(&read.record), people.as_ref().unwrap_or(&read.people));
    let standing = |key: &_, namespace: &str, at| people.judge_key(key, namespace, at);
    let known: Vec<Digest> = request.approvals.iter().map(|approval| approval.sha256).collect();
    let approvals = record.approvals.iter().map(|document| document.recorded(&standing));
    request.approvals = approvals.filter(|approval| known.contains(&approval.sha256)).collect();
    request.denials = record.denials.iter().map(|document| document.recorded(&standing)).collect();
    request.holds = record.holds.iter().map(|document| document.recorded(&standing)).collect();
    request.revocations = record.revocations.iter().map(|document| document.recorded(&standing)).collect();
    Ok(now)
}

/// Requests of this task and stage, newest first.
fn list_candidates(scene: &PlanScene<'_>, most: usize) -> Result<Vec<RequestRow>, ReadLedgerError> {
    let task_id = &scene.task.contract.task_id;
    let rows = scene.harness.ledger().requests_recent(Some(task_id), most)?;
    Ok(rows.into_iter().filter(|row| row.stage == scene.ask.stage).collect())
}

/// The request that fits best. The newest few are looked at first: where one of them is as near as a request can be, no
/// older one is nearer.
fn choose_newest(
    scene: &PlanScene<'_>,
    unrequested: &PlanOnTerms,
    now: Stamp,
) -> Result<Option<ChosenRequest>, FindApprovalError> {
    let newest = list_candidates(scene, FIRST_REQUESTS)?;
    match choose_request(scene, unrequested, newest, now)? {
        Some(chosen) if chosen.rank() == NEAREST => Ok(Some(chosen)),
        _ => choose_request(scene, unrequested, list_candidates(scene, MOST_REQUESTS)?, now),
    }
}

/// A request beside the plan of now.
pub(crate) struct ChosenRequest {
    pub(crate) record: RequestRecord,
    /// The plan of now, with the request's own nonce and requester.
    pub(crate) plan_now: Plan,
    plan_digest: Digest,
    /// Mark outside of the ledger that it was used.
    used_mark: Option<String>,
    /// True if it is older than the policy permits.
    is_lapsed: bool,
}

impl ChosenRequest {
    fn read(
        scene: &PlanScene<'_>,
        unrequested: &PlanOnTerms,
        row: RequestRow,
        now: Stamp,
    ) -> Result<Self, FindApprovalError> {
        let is_lapsed = has_lapsed(unrequested, &row, now);
        let record = RequestRecord::read_request(&scene.harness.ledger(), row)?;
        let plan_now = match &record.request {
            Some(request) => unrequested.as_requested(&request.plan.requester_fingerprint, &request.plan.nonce),
            None => unrequested.plan.clone(),
        };
        // A request that could be read has the digest of its own plan, so that an equal
        // plan has it too.
        let plan_digest = match &record.request {
            Some(request) if request.plan == plan_now => record.row.request,
            _ => plan_now.digest()?,
        };
        let used_mark = find_used_mark(scene.harness, scene.target, record.row.request)?;
        Ok(Self { record, plan_now, plan_digest, used_mark, is_lapsed })
    }

    /// True if what was requested is the plan of now.
    pub(crate) fn is_same(&self) -> bool {
        self.plan_digest == self.record.row.request
    }

    /// Neither the ledger nor a mark says that it was used, and neither a person nor time
    /// has ended it.
    pub(crate) fn is_open(&self) -> bool {
        self.used_mark.is_none() && !self.is_lapsed && is_undecided(&self.record.row)
    }
}

fn is_undecided(row: &RequestRow) -> bool {
    matches!(row.closed(), None | Some(ledger::UnusableRequest::Held))
}

fn has_lapsed(unrequested: &PlanOnTerms, row: &RequestRow, now: Stamp) -> bool {
    now >= row.requested_at.after(Duration::from_secs(unrequested.terms.max_ttl))
}

/// Newest open request for exactly this plan, approved ones first; else the newest open
/// one; else the newest.
pub(crate) fn choose_request(
    scene: &PlanScene<'_>,
    unrequested: &PlanOnTerms,
    rows: Vec<RequestRow>,
    now: Stamp,
) -> Result<Option<ChosenRequest>, FindApprovalError> {
    let mut best: Option<ChosenRequest> = None;
    for row in rows {
        // Only the newest of those that are over can matter, and nothing is nearer than an approved
        // one for this plan.
        let is_over = !is_undecided(&row) || has_lapsed(unrequested, &row, now);
        match &best {
            Some(best) if best.rank() == NEAREST => break,
            Some(_) if is_over => continue,
            _ => {}
        }
        let next = ChosenRequest::read(scene, unrequested, row, now)?;
        if best.as_ref().is_none_or(|best| next.rank() > best.rank()) {
            best = Some(next);
        }
    }
    Ok(best)
}

impl ChosenRequest {
    /// Nearness to what is looked for. Of two that are equally near the newer is met first,
    /// and stays.
    fn rank(&self) -> (bool, bool, bool) {
        let is_open = self.is_open();
        (is_open && self.is_same(), is_open && self.is_same() && self.record.row.grants > 0, is_open)
    }
}

/// Request for the gate: documents by their signatures, keys by their standing at the time
/// of their entries.
fn describe_request(
    harness: &Harness,
    chosen: &ChosenRequest,
    people: &People,
) -> Result<RequestFact, FindApprovalError> {
    let standing = |key: &_, namespace: &str, at| people.judge_key(key, namespace, at);
    let ChosenRequest { record, plan_now, used_mark, .. } = chosen;
    let words = RequestWords::of(record);
    let signature = record.signature.clone().map(|signature| {
        let standing = people.judge_key(signature.key(), RequestSchema::NAMESPACE, record.recorded_at);
        signature.into_fact(standing)
    });
    let differing = match &record.request {
        Some(request) if !chosen.is_same() => differences(&request.plan, plan_now)?,
        _ => Vec::new(),
    };
    Ok(RequestFact {
        name: record.name(),
        request_digest: record.row.request,
        packet_digest: words.packet_digest,
        policy_digest: words.policy_digest,
        plan_schema: words.plan_schema,
        sentence: words.sentence,
        ledger_id: words.ledger_id,
        requester_fingerprint: words.requester,
        signature,
        recorded_at: record.recorded_at,
        differences: differing,
        approvals: record.approvals.iter().map(|document| document.recorded(&standing)).collect(),
        denials: match stop::has_defect("denial_overlooked") {
            true => Vec::new(),
            false => record.denials.iter().map(|document| document.recorded(&standing)).collect(),
        },
        holds: record.holds.iter().map(|document| document.recorded(&standing)).collect(),
        revocations: record.revocations.iter().map(|document| document.recorded(&standing)).collect(),
        consumed_by: find_consumer(&harness.ledger(), &record.row)?,
        used_mark: used_mark.clone(),
        voided_by_entry: record.row.void_seq,
    })
}

/// Members of a request, also of one that this program cannot read in full.
struct RequestWords {
    packet_digest: Digest,
    policy_digest: Digest,
    plan_schema: String,
    sentence: String,
    ledger_id: String,
    requester: String,
}

impl RequestWords {
    fn of(record: &RequestRecord) -> Self {
        let Some(request) = &record.request else { return Self::of_other_version(record) };
        let plan = &request.plan;
        // The text of another renderer is not made here: what was shown is then what the
        // request says.
        let packet_digest = match plan.packet_renderer == PACKET_RENDERER_VERSION {
            true => Digest::of_bytes(render_packet_of(plan, record.row.request).as_bytes()),
            false => request.packet_digest,
        };
        Self {
            packet_digest,
            policy_digest: plan.policy_digest,
            plan_schema: PlanSchema::NAME.to_owned(),
            sentence: approval_sentence(plan),
            ledger_id: plan.ledger_id.clone(),
            requester: plan.requester_fingerprint.clone(),
        }
    }

    fn of_other_version(record: &RequestRecord) -> Self {
        let document: Value = serde_json::from_str(&record.text).unwrap_or_default();
        let plan = &document["plan"];
        let text = |value: &Value| value.as_str().unwrap_or("unknown").to_owned();
        let digest = |value: &Value| value.as_str().and_then(|text| text.parse().ok()).unwrap_or(Digest::ZERO);
        Self {
            packet_digest: digest(&document["packet_digest"]),
            policy_digest: digest(&plan["policy_digest"]),
            plan_schema: text(&plan["schema"]),
            sentence: String::new(),
            ledger_id: text(&plan["ledger_id"]),
            requester: text(&plan["requester_fingerprint"]),
        }
    }
}
