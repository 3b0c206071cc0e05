//! The gate of the approval: the documents of a request that count, their period, and the
//! flaws of the rest.
//!
//! [`weigh`] is the one place that decides what counts. The gate refuses by it, and the run
//! takes from it the approvals that it uses up.

mod document;
mod request;
#[cfg(test)]
pub(crate) mod tests;

use std::collections::BTreeSet;
use std::time::Duration;

use contract::approval::{
    Approval, ApprovalFacts, ApprovalInput, LedgerContinuity, PolicyTerms, RecordedDocument, RequestFact,
};
use contract::decision::{Inputs, Refusal};
use contract::signer::SignerStanding;
use contract::text::{listed, show_controls};
use contract::{Coverage, Digest, Gate, Reason, Stage, Stamp, TaskContract};

use crate::rules::refuse_gate;
use document::{Flaw, judge_document};

/// The way on where an entry of the ledger is dated ahead of the clock.
const CLOCK_WAS_WRONG: &str =
    "cto ledger continue --time-went-back --reason \"...\"     if the clock is right now; then request again";

/// Approvals that count together, and what the bundle says about them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CountedApprovals<'f> {
    pub request_digest: Digest,
    /// The latest of their beginnings.
    pub not_before: Stamp,
    /// The earliest of their ends, of the policy's limit for each, and of the request's.
    pub expires_at: Stamp,
    /// In the order of their ledger entries, one for each key.
    pub approvals: Vec<&'f RecordedDocument<Approval>>,
    /// `solo_operator`, `break_glass`.
    pub coverage: Vec<Coverage>,
}

impl CountedApprovals<'_> {
    /// Digest that represents all of them in statement and proof: that of the first.
    pub fn approval_digest(&self) -> Option<Digest> {
        self.approvals.first().map(|approval| approval.sha256)
    }
}

/// The approvals that a decision rests on; none where it needs none, or has none that count.
pub fn counted_approvals(inputs: &Inputs) -> Option<CountedApprovals<'_>> {
    match &inputs.approval {
        Some(ApprovalInput::Found(facts)) => weigh(facts, inputs.stage, inputs.time).ok(),
        Some(ApprovalInput::Deferred) | None => None,
    }
}

/// The last moment of an approval that is recorded now, whatever it says itself.
pub fn last_moment(terms: &PolicyTerms, requested: Stamp, recorded: Stamp) -> Stamp {
    let ttl = Duration::from_secs(terms.max_ttl);
    requested.after(ttl).min(recorded.after(ttl))
}

/// Judges the approval of a run that needs one. Nothing where it is not looked for yet.
pub(crate) fn judge_approval(contract: &TaskContract, inputs: &Inputs) -> Option<Vec<Refusal>> {
    if !contract.needs_approval_at(inputs.stage) {
        return Some(Vec::new());
    }
    match &inputs.approval {
        Some(ApprovalInput::Deferred) => None,
        Some(ApprovalInput::Found(facts)) => Some(weigh(facts, inputs.stage, inputs.time).err().unwrap_or_default()),
        None => Some(unasked(inputs.stage)),
    }
}

/// Refusals if no approval was looked up: it counts as missing.
fn unasked(stage: Stage) -> Vec<Refusal> {
    let remedy = if stage.mutation_mode().needs_approval() {
        format!("cto request TASK --stage {stage}")
    } else {
        "set mutation_mode: copied-fixture and approval_required: false for a run at stage 2 or 3".to_owned()
    };
    against(Reason::ApprovalMissing, "no signed approval for this contract", remedy)
}

fn against(reason: Reason, text: impl Into<String>, remedy: impl Into<String>) -> Vec<Refusal> {
    refuse_gate(Gate::Approval, reason, text, remedy)
}

/// Approvals of a plan that count at `clock`, or all reasons against the run.
/// Ends of periods are judged at the later of the clock and the last ledger entry;
/// beginnings, at the clock.
pub fn weigh(facts: &ApprovalFacts, stage: Stage, clock: Stamp) -> Result<CountedApprovals<'_>, Vec<Refusal>> {
    let mut refusals = judge_continuity(&facts.continuity);
    let Some(request) = &facts.request else {
        let text = "nobody has asked for an approval of this plan";
        refusals.extend(against(Reason::ApprovalMissing, text, &facts.request_command));
        return Err(refusals);
    };
    let weighing = Weighing { facts, request, stage, clock, now: clock.max(facts.last_entry_at) };
    let ended = weighing.judge_request();
    if !ended.is_empty() {
        refusals.extend(ended);
        return Err(refusals);
    }
    refusals.extend(weighing.judge_hold());
    match weighing.count() {
        Ok(counted) if refusals.is_empty() => Ok(counted),
        Ok(_) => Err(refusals),
        Err(short) => {
            refusals.extend(short);
            Err(refusals)
        }
    }
}

fn judge_continuity(continuity: &LedgerContinuity) -> Vec<Refusal> {
    match continuity {
        LedgerContinuity::Known => Vec::new(),
        LedgerContinuity::Unknown { why } => against(
            Reason::LedgerContinuityUnknown,
            format!("uses of approvals may be missing from this ledger: {}", show_controls(why)),
            "cto ledger continue --reason \"...\"     once no other copy is in use",
        ),
    }
}

/// One request under judgement.
struct Weighing<'f> {
    facts: &'f ApprovalFacts,
    request: &'f RequestFact,
    stage: Stage,
    clock: Stamp,
    /// The later of the clock and the last ledger entry.
    now: Stamp,
}

impl<'f> Weighing<'f> {
    fn name(&self) -> String {
        show_controls(&self.request.name)
    }

    /// A refusal that another request helps against.
    fn again(&self, reason: Reason, text: String) -> Vec<Refusal> {
        against(reason, text, &self.facts.request_command)
    }

    /// A refusal by the ledger's time alone: the clock is behind it, and one of the two was
    /// wrong.
    fn ahead(&self, reason: Reason, text: String) -> Vec<Refusal> {
        against(reason, format!("{text}; {}", self.tell_ahead()), CLOCK_WAS_WRONG)
    }

    fn tell_ahead(&self) -> String {
        format!("an entry of the ledger is dated {}, and the clock says {}", self.facts.last_entry_at, self.clock)
    }

    fn lapses_at(&self) -> Stamp {
        self.request.recorded_at.after(Duration::from_secs(self.facts.terms.max_ttl))
    }

    /// Approvals that are enough together, or what is missing.
    fn count(&self) -> Result<CountedApprovals<'f>, Vec<Refusal>> {
        let judged: Vec<(&'f RecordedDocument<Approval>, Vec<Flaw>)> =
            self.request.approvals.iter().map(|approval| (approval, judge_document(self, approval))).collect();
        let is_glass = |approval: &RecordedDocument<Approval>| approval.document.break_glass_reason.is_some();
        let flawless = |flaws: &[Flaw]| flaws.is_empty();
        let regular = judged.iter().filter(|(approval, flaws)| flawless(flaws) && !is_glass(approval));
        let counted = self.one_for_each_key(regular.map(|(approval, _)| *approval));
        let unsigned = self.judge_requester();
        if counted.len() >= self.required() && unsigned.is_empty() {
            return Ok(self.settle(counted, false));
        }
        let glass = judged.iter().filter(|(approval, flaws)| flawless(flaws) && is_glass(approval));
        let broken = self.one_for_each_key(glass.map(|(approval, _)| *approval));
        if !broken.is_empty() {
            return Ok(self.settle(broken, true));
        }
        let mut refusals = unsigned;
        refusals.extend(self.judge_shortfall(&judged, &counted));
        Err(refusals)
    }

    fn required(&self) -> usize {
        usize::from(self.facts.terms.approvals_required.max(1))
    }

    /// Keeps one approval for each key: the one that lasts longer.
    fn one_for_each_key(
        &self,
        approvals: impl Iterator<Item = &'f RecordedDocument<Approval>>,
    ) -> Vec<&'f RecordedDocument<Approval>> {
        let mut kept: Vec<&'f RecordedDocument<Approval>> = Vec::new();
        for approval in approvals {
            let key = &approval.signature.key_fingerprint;
            match kept.iter_mut().find(|other| other.signature.key_fingerprint == *key) {
                Some(other) if self.ends_at(approval) > self.ends_at(other) => *other = approval,
                Some(_) => {}
                None => kept.push(approval),
            }
        }
        kept
    }

    /// The end of an approval: its own, and never later than the policy lets it and its
    /// request last.
    fn ends_at(&self, approval: &RecordedDocument<Approval>) -> Stamp {
        let latest = last_moment(&self.facts.terms, self.request.recorded_at, approval.recorded_at);
        approval.document.expires_at.min(latest)
    }

    fn settle(&self, approvals: Vec<&'f RecordedDocument<Approval>>, glass: bool) -> CountedApprovals<'f> {
        let begins = approvals.iter().map(|approval| approval.document.not_before).max();
        let ends = approvals.iter().map(|approval| self.ends_at(approval)).min();
        let solo = self.is_solo(&approvals);
        let said = [(solo, Coverage::SoloOperator), (glass, Coverage::BreakGlass)];
        CountedApprovals {
            request_digest: self.request.request_digest,
            not_before: begins.unwrap_or(self.request.recorded_at),
            expires_at: ends.unwrap_or(self.request.recorded_at),
            approvals,
            coverage: said.into_iter().filter_map(|(is, coverage)| is.then_some(coverage)).collect(),
        }
    }

    /// True unless the run involves two keys: only a signature shows that the requester is
    /// another person.
    fn is_solo(&self, approvals: &[&RecordedDocument<Approval>]) -> bool {
        let keys = approvals.iter().map(|approval| approval.signature.key_fingerprint.as_str());
        let asked = self.request.signature.as_ref().filter(|_| self.judge_signature().is_none());
        let people: BTreeSet<&str> = keys.chain(asked.map(|signature| signature.key_fingerprint.as_str())).collect();
        people.len() < 2
    }

    /// Requires a signed request under separate duties: otherwise the requester is unknown
    /// and could approve.
    fn judge_requester(&self) -> Vec<Refusal> {
        if !self.facts.terms.separates_duties() {
            return Vec::new();
        }
        match self.judge_signature() {
            Some(why) => {
                let text = format!("the policy keeps asking and approving apart, and {} {why}", self.name());
                self.again(Reason::ApprovalMissing, text)
            }
            None => Vec::new(),
        }
    }

    /// The fault by which the request's signature does not show who asked, if there is one.
    fn judge_signature(&self) -> Option<String> {
        let Some(signature) = &self.request.signature else { return Some("is not signed by who asked".to_owned()) };
        let key = show_controls(&signature.key_fingerprint);
        if signature.key_fingerprint != self.request.requester_fingerprint {
            let named = show_controls(&self.request.requester_fingerprint);
            return Some(format!("names {named} and is signed by {key}"));
        }
        let standing = signature.standing;
        (standing != SignerStanding::Allowed).then(|| format!("is signed by {key}, which {}", standing.sentence()))
    }

    /// Too few approvals count: why each of the others does not, and how many are missing
    /// besides.
    fn judge_shortfall(
        &self,
        judged: &[(&RecordedDocument<Approval>, Vec<Flaw>)],
        counted: &[&RecordedDocument<Approval>],
    ) -> Vec<Refusal> {
        let counts = |key: &str| counted.iter().any(|approval| approval.signature.key_fingerprint == key);
        // Of two by one key, the later one counts.
        let mut told = BTreeSet::new();
        let (mut refusals, mut uncounted) = (Vec::new(), Vec::new());
        for (approval, flaws) in judged.iter().rev() {
            let key = approval.signature.key_fingerprint.as_str();
            let Some(flaw) = flaws.first().filter(|_| !counts(key) && told.insert(key)) else { continue };
            match flaw.reason() {
                Some(reason) => {
                    refusals.extend(against(reason, flaw.flaw_text(self, approval), flaw.flaw_remedy(self)))
                }
                None => uncounted.push(flaw.flaw_text(self, approval)),
            }
        }
        refusals.reverse();
        uncounted.reverse();
        if counted.len() + refusals.len() < self.required() {
            let text = self.tell_missing(counted, &uncounted);
            refusals.extend(against(Reason::ApprovalMissing, text, format!("cto approve {}", self.name())));
        }
        refusals
    }

    fn tell_missing(&self, counted: &[&RecordedDocument<Approval>], uncounted: &[String]) -> String {
        let (name, required) = (self.name(), self.required());
        if counted.is_empty() && uncounted.is_empty() && required == 1 {
            return format!("{name} is requested and not granted");
        }
        let keys = counted.iter().map(|approval| show_controls(&approval.signature.key_fingerprint));
        let who = match counted.len() {
            0 => String::new(),
            _ => format!(" ({})", listed(keys, usize::MAX)),
        };
        let others = uncounted.iter().map(|other| format!("; {other}")).collect::<String>();
        format!("{} of {required} approvals of {name} count{who}{others}", counted.len())
    }
}
