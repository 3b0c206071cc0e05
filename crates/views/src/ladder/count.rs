//! The weight of one run on its rung.

use std::sync::Arc;

use contract::approval::OutcomeVerdict;
use contract::engine::RungLack;
use contract::{Reason, RunId, Stage, Stamp, TaskId};
use ledger::{EngineIdentity, ReadLedgerError, RunRow, RunStatus};
use serde::Serialize;

use super::evidence::{BundleState, ProvenRun, RunEvidence, WorkerLack};

/// Reasons of a blocked run that end a rung. Outages, kills and refusals before the start
/// do not. An index of the ledger names them too, so another one needs a migration.
const COUNTS_AGAINST: &[Reason] =
    &[Reason::Timeout, Reason::LifecycleTimeoutAfterValidPatch, Reason::BudgetExceeded, Reason::ReviewerRejected];

/// The side on which a run counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RunCount {
    For,
    Against,
    /// A pass that waits for the operator's outcome.
    Waiting,
    NotCounted,
}

impl RunCount {
    /// Spelling in JSON output.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::For => "for",
            Self::Against => "against",
            Self::Waiting => "waiting",
            Self::NotCounted => "not_counted",
        }
    }
}

/// One run of a rung as people see it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RungRun {
    pub run_id: RunId,
    pub task_id: TaskId,
    pub status: RunStatus,
    pub started_at: Stamp,
    /// The entry that started it; runs are listed in this order.
    #[serde(skip)]
    pub seq: u64,
    pub counts: RunCount,
    /// Words that say why, where the status does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// Reason for which a run counts on neither side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Uncounted {
    Running,
    Outage,
    Collected,
    Elsewhere,
    NegativeFixture,
    BreakGlass,
    FromCommit,
    Continued,
    Unverified,
    NotAdmitted,
}

impl Uncounted {
    const fn sentence(self) -> &'static str {
        match self {
            Self::Running => "it goes on",
            Self::Outage => "an outage, a kill or a refusal before the start",
            Self::Collected => "its bundle was collected",
            Self::Elsewhere => "its bundle lies in another home",
            Self::NegativeFixture => "its case declares that it fails",
            Self::BreakGlass => "it was approved past the policy",
            Self::FromCommit => "its source was taken from a commit, and the work tree was not looked at",
            Self::Continued => "it began with the patch of another run",
            Self::Unverified => "nothing was verified",
            Self::NotAdmitted => "the key that signed it is not that of an admitted worker",
        }
    }
}

/// The weight of a run, with what it rests on.
#[derive(Debug, Clone)]
pub(super) enum Weighed {
    For(Arc<ProvenRun>),
    Waiting,
    /// A pass that no other worker has verified again.
    Uncountersigned,
    /// A lack where it is not simply a run that did not pass.
    Against(Option<RungLack>),
    /// Proven for another identity, in two forms of words.
    Other(String, String),
    Nothing(Uncounted),
}

impl Weighed {
    /// True if the run would weigh otherwise with its bundle collected. A bundle that is
    /// damaged or gone is never collected.
    pub(super) fn rests_on_bundle(&self, row: &RunRow) -> bool {
        match self {
            Self::For(_) | Self::Waiting | Self::Uncountersigned => true,
            Self::Against(lack) => *lack == Some(RungLack::OutcomeRejected),
            Self::Other(..) => row.status != RunStatus::Pass,
            Self::Nothing(why) => counts_against(row) && !matches!(why, Uncounted::Collected | Uncounted::Elsewhere),
        }
    }

    /// Row of the run in a rung's list, with the reason for its weight.
    pub(super) fn list_row(&self, row: &RunRow) -> RungRun {
        let (counts, why) = match self {
            Self::For(_) => (RunCount::For, None),
            Self::Waiting => (RunCount::Waiting, Some("it waits for the operator's outcome".to_owned())),
            Self::Uncountersigned => {
                let lack = RungLack::SingleWorkerEvidence;
                (RunCount::NotCounted, Some(format!("{} ({})", lack.sentence(row.run_id.suffix()), lack.code())))
            }
            Self::Against(lack) => (RunCount::Against, lack.map(|lack| lack.sentence(row.run_id.suffix()))),
            Self::Other(proven_for, _) => (RunCount::NotCounted, Some(format!("it is for {proven_for}"))),
            Self::Nothing(why) => (RunCount::NotCounted, Some(why.sentence().to_owned())),
        };
        let RunRow { run_id, task_id, status, started_at, seq, .. } = row;
        RungRun {
            run_id: run_id.clone(),
            task_id: task_id.clone(),
            status: *status,
            started_at: *started_at,
            seq: *seq,
            counts,
            why,
        }
    }
}

/// Weighs a run for an identity.
pub(super) fn weigh_run(
    evidence: &impl RunEvidence,
    row: &RunRow,
    wanted: &EngineIdentity,
) -> Result<Weighed, ReadLedgerError> {
    match row.status {
        RunStatus::Running => Ok(Weighed::Nothing(Uncounted::Running)),
        RunStatus::Pass => weigh_pass(evidence, row, wanted),
        RunStatus::Fail | RunStatus::Blocked if counts_against(row) => weigh_failure(evidence, row, wanted),
        RunStatus::Fail | RunStatus::Blocked if row.collected_seq.is_some() || evidence.has_bundle(row) => {
            Ok(Weighed::Nothing(Uncounted::Outage))
        }
        RunStatus::Fail | RunStatus::Blocked => Ok(match evidence.look_for_bundle(row)? {
            BundleState::Missing => Weighed::Against(Some(RungLack::BundleMissing)),
            _ => Weighed::Nothing(Uncounted::Outage),
        }),
    }
}

fn weigh_pass(evidence: &impl RunEvidence, row: &RunRow, wanted: &EngineIdentity) -> Result<Weighed, ReadLedgerError> {
    let proven = match evidence.look_at_bundle(row)? {
        BundleState::Proven(proven) => proven,
        BundleState::Damaged => return Ok(Weighed::Against(Some(RungLack::BundleDamaged))),
        BundleState::Missing => return Ok(Weighed::Against(Some(RungLack::BundleMissing))),
        BundleState::Collected => return Ok(Weighed::Nothing(Uncounted::Collected)),
        BundleState::Elsewhere => return Ok(Weighed::Nothing(Uncounted::Elsewhere)),
    };
    if let Some(why) = never_counts(&proven) {
        return Ok(Weighed::Nothing(why));
    }
    if let Some((proven_for, why)) = proven.other_identity(wanted) {
        return Ok(Weighed::Other(proven_for, why));
    }
    match evidence.find_worker_lack(row, &proven)? {
        Some(WorkerLack::NotAdmitted) => return Ok(Weighed::Nothing(Uncounted::NotAdmitted)),
        Some(WorkerLack::NotCountersigned) => return Ok(Weighed::Uncountersigned),
        None => {}
    }
    if row.stage < Stage::OWNED_REPOSITORY {
        return Ok(Weighed::For(proven));
    }
    Ok(match evidence.signed_outcome(row)? {
        Some(OutcomeVerdict::Accepted) => Weighed::For(proven),
        Some(OutcomeVerdict::Rejected) => Weighed::Against(Some(RungLack::OutcomeRejected)),
        None => Weighed::Waiting,
    })
}

/// A bundle can only clear a rung of a failure: one that tells nothing counts against
/// everybody.
fn weigh_failure(
    evidence: &impl RunEvidence,
    row: &RunRow,
    wanted: &EngineIdentity,
) -> Result<Weighed, ReadLedgerError> {
    let proven = match evidence.look_at_bundle(row)? {
        BundleState::Proven(proven) => proven,
        BundleState::Missing => return Ok(Weighed::Against(Some(RungLack::BundleMissing))),
        BundleState::Damaged | BundleState::Collected | BundleState::Elsewhere => return Ok(Weighed::Against(None)),
    };
    let unverified_failure = |why: &Uncounted| *why != Uncounted::Unverified;
    Ok(match (never_counts(&proven).filter(unverified_failure), proven.other_identity(wanted)) {
        (Some(why), _) => Weighed::Nothing(why),
        (None, Some((proven_for, why))) => Weighed::Other(proven_for, why),
        (None, None) => Weighed::Against(None),
    })
}

fn never_counts(proven: &ProvenRun) -> Option<Uncounted> {
    if proven.is_negative_fixture {
        return Some(Uncounted::NegativeFixture);
    }
    if proven.is_break_glass {
        return Some(Uncounted::BreakGlass);
    }
    if proven.is_from_commit {
        return Some(Uncounted::FromCommit);
    }
    if proven.is_continued {
        return Some(Uncounted::Continued);
    }
    proven.is_unverified.then_some(Uncounted::Unverified)
}

/// True if the run counts against its rung. An interruption of the harness itself does not. A reason that only a newer program knows does:
/// nothing here can tell that it may be passed over.
pub(super) fn counts_against(row: &RunRow) -> bool {
    match row.status {
        RunStatus::Fail => row.reasons.iter().any(|reason| reason.known() != Some(Reason::HarnessInterrupted)),
        _ => row.reasons.iter().any(|reason| reason.known().is_none_or(|known| COUNTS_AGAINST.contains(&known))),
    }
}
