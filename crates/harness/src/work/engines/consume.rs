//! The use of an approval, in the transaction that records the start of the engine: after every other gate, once, or not at all.

use contract::approval::{ApprovalFacts, ApprovalInput};
use contract::decision::Refusal;
use contract::{Decision, Digest, Gate, Reason, Stage, Stamp};
use evidence::stop;
use gate::approval::weigh;
use ledger::{AppendEntryError, ApprovalUse, UnusableRequest};
use serde_json::Value;

use super::Blocked;
use crate::gather::approval::{CountedRequest, refresh_approval};
use crate::run::continuity::note_entry;
use crate::run::evidence_store::{ask_witness, tell_witness};
use crate::run::file::{RunFile, Stopped};
use crate::run::lease_deadline::LeaseDeadline;
use crate::run::used::{MarkDurability, mark_used, unmark_used};

/// Records that the engine is about to start, and uses up the approval that the run rests on. A refusal means that nothing was
/// recorded and that no engine starts.
pub(super) fn record_start(
    run: &RunFile<'_>,
    intent: &Value,
    decision: &Decision,
    approval: Option<&CountedRequest>,
) -> Result<Result<(), Blocked>, Stopped> {
    let needs_approval = run.ask.stage.mutation_mode().needs_approval();
    let approval = match (needs_approval, approval) {
        (false, _) => None,
        (true, Some(approval)) => Some(approval),
        (true, None) => return Err(Stopped::Impossible("a run that needs an approval was admitted without one")),
    };
    let using = approval.map(|approval| &approval.using);
    if let Some(approval) = approval
        && let Some(refusal) = weigh_again(run, decision, approval)?
    {
        return Ok(Err(Blocked::of_approval(refusal.reason, refusal.text)));
    }
    // Also a use that this ledger has forgotten: nothing is spent then.
    let witness = run.harness.home.bundles().store();
    if let (Some(store), Some(using)) = (witness, using)
        && let Some(why) = ask_witness(store, using.request, run.id())?
    {
        return Ok(Err(Blocked::of_approval(Reason::ApprovalConsumed, why)));
    }
    let marked = using.filter(|_| run.ask.stage == Stage::DISPOSABLE_REPOSITORY);
    if let Some(using) = marked
        && !mark_used(run.harness, using.request, run.id(), MarkDurability::Synced)
            .map_err(|error| Stopped::Io(run.harness.home.root().join("used"), error))?
    {
        let why = format!("used/{} says that the approval was used", using.request);
        return Ok(Err(Blocked::of_approval(Reason::ApprovalConsumed, why)));
    }
    stop::pass_place("approval.marked");
    let deadline = LeaseDeadline::begin_lease(run)?;
    // The ledger is let go before anything else asks for it.
    let epoch = run.lease.map(|lease| lease.epoch);
    let started = run.harness.ledger().engine_starting(run.id(), epoch, run.clock.now(), intent, using);
    match started {
        Ok(position) => {
            if let Some(using) = using {
                stop::pass_place("approval.used");
                // What is remembered of an earlier entry still holds, so that a failure takes nothing back.
                let _ = note_entry(run.harness, position);
                if marked.is_none() {
                    mark_after_use(run, using);
                }
                if let Some(why) = witness.and_then(|store| tell_witness(store, using.request, run.id())) {
                    return Ok(Err(Blocked::of_approval(Reason::ApprovalConsumed, why)));
                }
            }
            // Last of all: a store may take long to keep the witness.
            deadline.check()?;
            Ok(Ok(()))
        }
        Err(AppendEntryError::RequestUnusable { why, .. }) => {
            unmark(run, marked.filter(|_| !matches!(why, UnusableRequest::Used { .. })));
            let text = format!("the approval cannot be used: {why}");
            Ok(Err(Blocked::of_approval(reason_of(&why), text)))
        }
        Err(error @ AppendEntryError::Busy) => {
            unmark(run, marked);
            Err(error.into())
        }
        Err(error) => Err(error.into()),
    }
}

/// The approvals that the decision counted, by the keys and the policy of now: people may have taken either back while the run got
/// ready, which can take as long as the baseline's exam does.
fn weigh_again(run: &RunFile<'_>, decision: &Decision, approval: &CountedRequest) -> Result<Option<Refusal>, Stopped> {
    let Some(ApprovalInput::Found(facts)) = &decision.inputs.approval else { return Ok(None) };
    let target = decision.inputs.settings.target_admission.as_ref().map(|target| target.path.as_str());
    let now = refresh_approval(run.harness, run.task, run.ask.stage, target, facts, &approval.record);
    let now = now.map_err(|error| Stopped::Approval(error.into()))?;
    Ok(judge_refreshed(facts, &now, run.ask.stage, run.clock.now()))
}

/// The first refusal of the facts of now, or that of an approval which the decision counted and which counts no longer.
fn judge_refreshed(decided: &ApprovalFacts, now: &ApprovalFacts, stage: Stage, clock: Stamp) -> Option<Refusal> {
    let counted = |facts: &ApprovalFacts| {
        weigh(facts, stage, clock).map(|counted| counted.approvals.iter().map(|approval| approval.sha256).collect())
    };
    let (before, after): (Vec<Digest>, Vec<Digest>) = match (counted(decided), counted(now)) {
        (Ok(before), Ok(after)) => (before, after),
        (Err(refusals), _) | (_, Err(refusals)) => return refusals.into_iter().next(),
    };
    (before != after).then(|| Refusal {
        gate: Gate::Approval,
        reason: Reason::ApprovalMissing,
        text: "an approval that the decision rests on counts no longer".to_owned(),
        remedy: now.request_command.clone(),
    })
}

/// From stage 5 on the target keeps a mark of its own, but only of a run that lands. The home's mark says that the approval is spent
/// whatever becomes of the run, also to a ledger that was put back to before its use. It follows the use, so that a kill between the two
/// spends nothing for nothing; the ledger has the use by then, so that a failure takes nothing back.
fn mark_after_use(run: &RunFile<'_>, using: &ApprovalUse) {
    let _ = mark_used(run.harness, using.request, run.id(), MarkDurability::Written);
    stop::pass_place("approval.remembered");
}

/// The mark of a use that did not happen would spend the approval for nothing.
fn unmark(run: &RunFile<'_>, marked: Option<&ApprovalUse>) {
    if let Some(using) = marked {
        let _ = unmark_used(run.harness, using.request);
    }
}

fn reason_of(why: &UnusableRequest) -> Reason {
    match why {
        UnusableRequest::Unknown => Reason::ApprovalMissing,
        UnusableRequest::Used { .. } => Reason::ApprovalConsumed,
        UnusableRequest::Denied => Reason::ApprovalDenied,
        UnusableRequest::Revoked => Reason::ApprovalRevoked,
        UnusableRequest::OtherTimeline => Reason::LedgerContinuityUnknown,
        UnusableRequest::Held => Reason::ApprovalHeld,
        UnusableRequest::Expired { .. } | UnusableRequest::Void { .. } => Reason::ApprovalExpired,
        UnusableRequest::NotYetValid { .. } => Reason::ApprovalNotYetValid,
    }
}

impl Blocked {
    /// Of an approval that cannot be used any more.
    fn of_approval(reason: Reason, why: String) -> Self {
        Self { gate: Gate::Approval, reason, why }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_state_of_a_request_blocks_with_its_own_reason() {
        let at = "2026-03-01T10:00:00.000000Z".parse().unwrap();
        let by = "20260101T000000Z-t-aaaa".to_owned().try_into().unwrap();
        for (why, expected) in [
            (UnusableRequest::Unknown, Reason::ApprovalMissing),
            (UnusableRequest::Used { by }, Reason::ApprovalConsumed),
            (UnusableRequest::Denied, Reason::ApprovalDenied),
            (UnusableRequest::Revoked, Reason::ApprovalRevoked),
            (UnusableRequest::Held, Reason::ApprovalHeld),
            (UnusableRequest::Expired { at }, Reason::ApprovalExpired),
            (UnusableRequest::Void { by: 7 }, Reason::ApprovalExpired),
            (UnusableRequest::OtherTimeline, Reason::LedgerContinuityUnknown),
            (UnusableRequest::NotYetValid { at }, Reason::ApprovalNotYetValid),
        ] {
            assert_eq!(reason_of(&why), expected);
            assert_eq!(Blocked::of_approval(reason_of(&why), String::new()).gate, Gate::Approval);
        }
    }
}
