//! The use of an approval, in the transaction that records the start of the engine: after every other gate, once, or not at all.

use std::thread::Scope;

use contract::approval::{ApprovalFacts, ApprovalInput};
use contract::decision::Refusal;
use contract::{Decision, Digest, Gate, Reason, Stage, Stamp};
use evidence::stop;
use gate::approval::weigh;
use ledger::{AppendEntryError, ApprovalUse, LeaseRenewal, Position, UnusableRequest};
use serde_json::Value;

use super::Blocked;
use crate::gather::approval::{CountedRequest, refresh_approval};
use crate::home::cause::ErrorCause;
use crate::run::continuity::note_entry;
use crate::run::evidence_store::{ask_witness, tell_witness};
use crate::run::file::{RunFile, Stopped};
use crate::run::harness::Harness;
use crate::run::lease_deadline::LeaseDeadline;
use crate::run::used::{MarkDurability, mark_used, unmark_used};

/// Records that the engine is about to start, and uses up the approval that the run rests on. A refusal means that no engine starts.
/// `beside` is where the home remembers the use while the engine gets ready.
pub(super) fn record_start<'scope, 'env: 'scope>(
    run: &RunFile<'env>,
    intent: &Value,
    decision: &Decision,
    approval: Option<&CountedRequest>,
    beside: &'scope Scope<'scope, 'env>,
) -> Result<Result<(), Blocked>, Stopped> {
    let needs_approval = run.ask().stage.mutation_mode().needs_approval();
    let approval = match (needs_approval, approval) {
        (false, _) => None,
        (true, Some(approval)) => Some(approval),
        (true, None) => return Err(Stopped::Impossible("a run that needs an approval was admitted without one")),
    };
    if let Some(approval) = approval
        && let Some(blocked) = look_again(run, decision, approval)?
    {
        return Ok(Err(blocked));
    }
    let using = approval.map(|approval| &approval.using);
    let marked = using.filter(|_| run.ask().stage == Stage::DISPOSABLE_REPOSITORY);
    if let Some(using) = marked
        && let Some(blocked) = mark_before_use(run, using)?
    {
        return Ok(Err(blocked));
    }
    stop::pass_place("approval.marked");
    let deadline = LeaseDeadline::begin_now(run);
    match use_up(run, intent, using) {
        Ok(position) => {
            if let Some(using) = using {
                stop::pass_place("approval.used");
                let word = leave_word(run, using, marked.is_some());
                let harness: &'env Harness = run.harness();
                // What is remembered of an earlier entry still holds, so that a failure takes nothing back. Its flush to the disk would
                // hold the mark up.
                beside.spawn(move || note_entry(harness, position));
                if let Some(blocked) = word {
                    return Ok(Err(blocked));
                }
            }
            // Last of all: a store may take long to keep the witness.
            deadline.check()?;
            Ok(Ok(()))
        }
        Err(error) => settle_unused(run, marked, error),
    }
}

/// Looks once more at everything that the use rests on. Nothing is spent by then, also not by a use that this ledger has forgotten.
fn look_again(run: &RunFile<'_>, decision: &Decision, approval: &CountedRequest) -> Result<Option<Blocked>, Stopped> {
    if let Some(refusal) = weigh_again(run, decision, approval)? {
        return Ok(Some(Blocked::of_approval(refusal.reason, refusal.text)));
    }
    let Some(store) = run.harness().home.bundles().store() else { return Ok(None) };
    let forgotten = ask_witness(store, approval.using.request)?;
    Ok(forgotten.map(|why| Blocked::of_approval(Reason::ApprovalConsumed, why)))
}

/// At stage 4 the home's mark alone says what a restored ledger does not, so that it comes first.
fn mark_before_use(run: &RunFile<'_>, using: &ApprovalUse) -> Result<Option<Blocked>, Stopped> {
    let is_made = mark_used(run.harness(), using.request, run.id(), MarkDurability::Synced);
    let is_made = is_made.map_err(|error| Stopped::Io(run.harness().home.root().join("used"), error))?;
    Ok((!is_made).then(|| Blocked::of_mark(using)))
}

/// The one transaction: it starts the engine, renews the lease of the run and uses the approval up.
fn use_up(run: &RunFile<'_>, intent: &Value, using: Option<&ApprovalUse>) -> Result<Position, UseApprovalError> {
    let lease =
        run.lease().map(|lease| run.harness().lease_end().map(|until| LeaseRenewal { epoch: lease.epoch, until }));
    let lease = lease.transpose().map_err(|error| UseApprovalError::Lease(error.into()))?;
    // The ledger is let go before anything else asks for it.
    Ok(run.harness().ledger().engine_starting(run.id(), lease, run.clock().now(), intent, using)?)
}

/// Failure of the one transaction.
#[derive(Debug, thiserror::Error)]
enum UseApprovalError {
    #[error(transparent)]
    Lease(ErrorCause),
    #[error(transparent)]
    Append(#[from] AppendEntryError),
}

/// A use that did not happen spends nothing: its mark goes again wherever the ledger surely did not record it.
fn settle_unused(
    run: &RunFile<'_>,
    marked: Option<&ApprovalUse>,
    failure: UseApprovalError,
) -> Result<Result<(), Blocked>, Stopped> {
    let error = match failure {
        UseApprovalError::Lease(cause) => {
            unmark(run, marked);
            return Err(Stopped::Lease(cause));
        }
        UseApprovalError::Append(error) => error,
    };
    match error {
        AppendEntryError::RequestUnusable { why, .. } => {
            unmark(run, marked.filter(|_| !matches!(why, UnusableRequest::Used { .. })));
            let text = format!("the approval cannot be used: {why}");
            Ok(Err(Blocked::of_approval(reason_of(&why), text)))
        }
        AppendEntryError::LeaseLost { .. } | AppendEntryError::LeaseGone { .. } => {
            unmark(run, marked);
            Err(Stopped::LeaseDeadline)
        }
        AppendEntryError::Busy => {
            unmark(run, marked);
            Err(error.into())
        }
        _ => Err(error.into()),
    }
}

/// Says outside of the ledger that the approval is spent: by the home's mark, and to the witness. Where that cannot be said, a ledger
/// that is put back could be used again, so that no engine starts.
fn leave_word(run: &RunFile<'_>, using: &ApprovalUse, is_marked: bool) -> Option<Blocked> {
    let refuse = |why: String| Some(Blocked::of_approval(Reason::ApprovalConsumed, why));
    if !is_marked {
        // The mark follows the use, so that a kill between the two spends nothing for nothing.
        match mark_used(run.harness(), using.request, run.id(), MarkDurability::Written) {
            Ok(true) => {}
            Ok(false) => return Some(Blocked::of_mark(using)),
            Err(error) => return refuse(format!("the approval is used up, but its mark was not written: {error}")),
        }
        stop::pass_place("approval.remembered");
    }
    let store = run.harness().home.bundles().store()?;
    tell_witness(store, using.request, run.id()).and_then(refuse)
}

/// The approvals that the decision counted, by the keys and the policy of now: people may have taken either back while the run got
/// ready, which can take as long as the baseline's exam does.
fn weigh_again(run: &RunFile<'_>, decision: &Decision, approval: &CountedRequest) -> Result<Option<Refusal>, Stopped> {
    let Some(ApprovalInput::Found(facts)) = &decision.inputs.approval else { return Ok(None) };
    let target = decision.inputs.settings.target_admission.as_ref().map(|target| target.path.as_str());
    let now = refresh_approval(run.harness(), run.task(), run.ask().stage, target, facts, &approval.read);
    let now = now.map_err(|error| Stopped::Approval(error.into()))?;
    Ok(judge_refreshed(facts, &now, run.ask().stage, run.clock().now()))
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
        text: "an approval that the decision used is no longer valid".to_owned(),
        remedy: now.request_command.clone(),
    })
}

/// The mark of a use that did not happen would spend the approval for nothing.
fn unmark(run: &RunFile<'_>, marked: Option<&ApprovalUse>) {
    if let Some(using) = marked {
        let _ = unmark_used(run.harness(), using.request);
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
    /// Refusal for an approval that the home says was used.
    fn of_mark(using: &ApprovalUse) -> Self {
        let why = format!("used/{} says that the approval was used", using.request);
        Self::of_approval(Reason::ApprovalConsumed, why)
    }

    /// Refusal for an approval that cannot be used any more.
    fn of_approval(reason: Reason, why: String) -> Self {
        Self { gate: Gate::Approval, reason, why }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::two_sided;

    #[test]
    fn each_state_of_a_request_blocks_with_its_own_reason() {
        let at = "2026-03-01T10:00:00.000000Z".parse().unwrap();
        let by = "20260101T000000Z-t-aaaa".to_owned().try_into().unwrap();
        let rows = [
            (UnusableRequest::Unknown, Reason::ApprovalMissing),
            (UnusableRequest::Used { by }, Reason::ApprovalConsumed),
            (UnusableRequest::Denied, Reason::ApprovalDenied),
            (UnusableRequest::Revoked, Reason::ApprovalRevoked),
            (UnusableRequest::Held, Reason::ApprovalHeld),
            (UnusableRequest::Expired { at }, Reason::ApprovalExpired),
            (UnusableRequest::Void { by: 7 }, Reason::ApprovalExpired),
            (UnusableRequest::OtherTimeline, Reason::LedgerContinuityUnknown),
            (UnusableRequest::NotYetValid { at }, Reason::ApprovalNotYetValid),
        ];
        for (why, expected) in &rows {
            let others: Vec<Reason> =
                rows.iter().filter(|(_, reason)| reason != expected).map(|(other, _)| reason_of(other)).collect();
            two_sided(*expected, reason_of(why), others);
            assert_eq!(Blocked::of_approval(reason_of(why), String::new()).gate, Gate::Approval);
        }
    }
}
