//! The request itself: used, answered with no, for another plan, lapsed, held.

use contract::Reason;
use contract::approval::{Hold, HoldState, PlanSchema, RecordedDocument};
use contract::decision::Refusal;
use contract::signer::SignerStanding;
use contract::text::show_controls;

use super::{Weighing, against};

impl Weighing<'_> {
    /// Everything for which this request will never do, so that only another one helps.
    pub(super) fn judge_request(&self) -> Vec<Refusal> {
        let mut refusals = self.judge_use();
        refusals.extend(self.judge_answers());
        refusals.extend(self.judge_void());
        if self.request.plan_schema == self.facts.plan_schema && self.facts.plan_schema == PlanSchema::NAME {
            refusals.extend(self.judge_plan());
        } else {
            refusals.extend(self.again(
                Reason::ApprovalNotComparable,
                format!(
                    "{} has a plan of `{}`, and this program makes `{}`",
                    self.name(),
                    show_controls(&self.request.plan_schema),
                    show_controls(&self.facts.plan_schema)
                ),
            ));
        }
        if self.now >= self.lapses_at() {
            let (name, at, seconds) = (self.name(), self.lapses_at(), self.facts.terms.max_ttl);
            let text = format!("{name} lapsed at {at}: the policy's max_ttl is {seconds} seconds");
            match self.clock < at {
                true => refusals.extend(self.ahead(Reason::ApprovalExpired, text)),
                false => refusals.extend(self.again(Reason::ApprovalExpired, text)),
            }
        }
        refusals
    }

    fn judge_use(&self) -> Vec<Refusal> {
        let by = self.request.consumed_by.as_ref().map(|by| match by.status {
            Some(status) => format!("run {}, which ended `{status}`", by.run_id),
            None => format!("run {}, which goes on", by.run_id),
        });
        let mark = || {
            self.request.used_mark.as_deref().map(|mark| format!("a run that left the mark {}", show_controls(mark)))
        };
        match by.or_else(mark) {
            Some(by) => self.again(Reason::ApprovalConsumed, format!("{} was used by {by}", self.name())),
            None => Vec::new(),
        }
    }

    fn judge_answers(&self) -> Vec<Refusal> {
        let mut refusals = Vec::new();
        if let Some(denial) = self.request.denials.first() {
            let (key, why) = (show_controls(&denial.signature.key_fingerprint), show_controls(&denial.document.reason));
            let text = format!("{} was denied by {key}: {why}", self.name());
            refusals.extend(self.again(Reason::ApprovalDenied, text));
        }
        if let Some(revocation) = self.request.revocations.first() {
            let (key, why) =
                (show_controls(&revocation.signature.key_fingerprint), show_controls(&revocation.document.reason));
            let text = format!("{} was revoked by {key}: {why}", self.name());
            refusals.extend(self.again(Reason::ApprovalRevoked, text));
        }
        refusals
    }

    /// Refuses approvals from before the ledger's time went back: their remaining period is
    /// unknown.
    fn judge_void(&self) -> Vec<Refusal> {
        let Some(entry) = self.request.voided_by_entry else { return Vec::new() };
        let name = self.name();
        let text = format!("{name} is older than entry {entry}, by which the ledger's time went back");
        self.again(Reason::ApprovalExpired, text)
    }

    /// The request is for the plan, the ledger and the policy of now.
    fn judge_plan(&self) -> Vec<Refusal> {
        let (request, facts) = (self.request, self.facts);
        let mut told: Vec<String> = request.differences.iter().map(ToString::to_string).collect();
        let differs = |name: &str, old: String, new: String| {
            (old != new).then(|| {
                format!("{name}: `{}` was approved, `{}` is there now", show_controls(&old), show_controls(&new))
            })
        };
        if told.is_empty() {
            let policy = facts.terms.digest().map_or_else(|_| "unknown".to_owned(), |digest| digest.to_string());
            let rows = [
                differs("/ledger_id", request.ledger_id.clone(), facts.ledger_id.clone()),
                differs("/policy_digest", request.policy_digest.to_string(), policy),
                differs("request_digest", request.request_digest.to_string(), facts.plan_digest.to_string()),
            ];
            told.extend(rows.into_iter().flatten());
        }
        let Some((first, others)) = told.split_first() else { return Vec::new() };
        let more = others.iter().map(|other| format!("; {other}")).collect::<String>();
        self.again(Reason::ApprovalMismatch, format!("{} is for another plan: {first}{more}", self.name()))
    }

    /// The last statement about a hold counts. A person who may not approve can hold, and cannot release.
    pub(super) fn judge_hold(&self) -> Vec<Refusal> {
        let counts = |hold: &&RecordedDocument<Hold>| {
            hold.document.state == HoldState::Held || hold.signature.standing == SignerStanding::Allowed
        };
        match self.request.holds.iter().rev().find(counts) {
            Some(hold) if hold.document.state == HoldState::Held => {
                let (key, why) = (show_controls(&hold.signature.key_fingerprint), show_controls(&hold.document.reason));
                let text = format!("{} is held by {key}: {why}", self.name());
                against(Reason::ApprovalHeld, text, format!("cto hold {} --release --reason \"...\"", self.name()))
            }
            _ => Vec::new(),
        }
    }
}
