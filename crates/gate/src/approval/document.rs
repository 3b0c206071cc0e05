//! One approval: whether it counts, and if not, for which of its faults.

use contract::approval::{Approval, RecordedDocument, SignedVia};
use contract::signer::SignerStanding;
use contract::text::show_controls;
use contract::{Reason, Stamp};

use super::{CLOCK_WAS_WRONG, Weighing};

/// One thing for which an approval does not count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Flaw {
    /// Fields that are not those of the request.
    OtherFields(Vec<&'static str>),
    /// The key might not sign when the approval was recorded.
    Key(SignerStanding),
    /// Its signer also requested the run.
    OwnRequest,
    /// The policy asks for a security key, and this is none.
    NoHardware,
    /// It says that a security key was touched, and its signature does not show that.
    UntrueHardware,
    /// It passes over the policy, which does not permit that.
    GlassForbidden,
    /// It passes over the policy without a reason.
    GlassUnexplained,
    /// Its period ended at this time.
    Expired(Stamp),
    /// Its period begins at this time.
    NotYetValid(Stamp),
}

impl Flaw {
    /// The reason of its own that it has; a key that does not count leaves an approval missing.
    pub(super) fn reason(&self) -> Option<Reason> {
        match self {
            Self::OtherFields(_) => Some(Reason::ApprovalMismatch),
            Self::Expired(_) => Some(Reason::ApprovalExpired),
            Self::NotYetValid(_) => Some(Reason::ApprovalNotYetValid),
            Self::Key(_) | Self::OwnRequest | Self::NoHardware | Self::UntrueHardware => None,
            Self::GlassForbidden | Self::GlassUnexplained => None,
        }
    }

    /// True if the period is over by the ledger's time only, and not by the clock.
    fn is_by_ledger(&self, weighing: &Weighing<'_>) -> bool {
        match self {
            Self::Expired(at) => weighing.clock < *at,
            Self::NotYetValid(at) => weighing.now >= *at,
            _ => false,
        }
    }

    /// Next command for the operator; no command helps if the clock was wrong.
    pub(super) fn flaw_remedy(&self, weighing: &Weighing<'_>) -> String {
        match self {
            _ if self.is_by_ledger(weighing) => CLOCK_WAS_WRONG.to_owned(),
            Self::NotYetValid(at) => format!("run again after {at}"),
            _ => format!("cto approve {}", weighing.name()),
        }
    }

    /// Explanation of the flaw, with the request and the key it is about.
    pub(super) fn flaw_text(&self, weighing: &Weighing<'_>, approval: &RecordedDocument<Approval>) -> String {
        let (name, key) = (weighing.name(), show_controls(&approval.signature.key_fingerprint));
        let approved = format!("the approval of {name} by {key}");
        let ahead = match self.is_by_ledger(weighing) {
            true => format!("; {}", weighing.tell_ahead()),
            false => String::new(),
        };
        match self {
            Self::OtherFields(fields) => format!("{approved} is for something else: {} differs", fields.join(", ")),
            Self::Expired(at) => format!("{approved} expired at {at}{ahead}"),
            Self::NotYetValid(at) => format!("{approved} is not valid before {at}{ahead}"),
            Self::Key(standing) => format!("{key} {}", standing.sentence()),
            Self::OwnRequest => format!("{key} asked for it; somebody else approves"),
            Self::NoHardware => format!("{key} shows no touch of a security key, which the policy asks for"),
            Self::UntrueHardware => {
                format!("{approved} says `hardware`, and its signature shows no touch of a security key")
            }
            Self::GlassForbidden => format!("{key} broke the glass, which the policy does not allow"),
            Self::GlassUnexplained => format!("{key} broke the glass without a reason"),
        }
    }
}

/// Every flaw of an approval, the gravest first.
pub(super) fn judge_document(weighing: &Weighing<'_>, approval: &RecordedDocument<Approval>) -> Vec<Flaw> {
    let (terms, document, signature) = (&weighing.facts.terms, &approval.document, &approval.signature);
    let glass = document.break_glass_reason.as_deref();
    let fields = other_fields(weighing, approval);
    let own = signature.key_fingerprint == weighing.request.requester_fingerprint;
    let ends = weighing.ends_at(approval);
    let flaws = [
        (!fields.is_empty(), Flaw::OtherFields(fields)),
        (signature.standing != SignerStanding::Allowed, Flaw::Key(signature.standing)),
        (terms.require_hardware_key && !signature.is_by_present_user(), Flaw::NoHardware),
        (document.signed_via == SignedVia::Hardware && !signature.is_by_present_user(), Flaw::UntrueHardware),
        (glass.is_some() && !terms.break_glass, Flaw::GlassForbidden),
        (glass.is_some_and(|reason| reason.trim().is_empty()), Flaw::GlassUnexplained),
        (glass.is_none() && terms.separates_duties() && own, Flaw::OwnRequest),
        (weighing.now >= ends, Flaw::Expired(ends)),
        (weighing.clock < document.not_before, Flaw::NotYetValid(document.not_before)),
    ];
    flaws.into_iter().filter_map(|(is, flaw)| is.then_some(flaw)).collect()
}

/// Fields of an approval that are not those of its request.
fn other_fields(weighing: &Weighing<'_>, approval: &RecordedDocument<Approval>) -> Vec<&'static str> {
    let (request, document, stage) = (weighing.request, &approval.document, weighing.stage);
    let rows = [
        ("request_digest", document.request_digest == request.request_digest),
        ("ledger_id", document.ledger_id == request.ledger_id),
        ("key_fingerprint", document.key_fingerprint == approval.signature.key_fingerprint),
        ("sentence", document.sentence == request.sentence),
        ("scope", document.scope == stage.allowed_mutation_scope()),
        ("mutation_mode", document.mutation_mode == stage.mutation_mode()),
        ("packet_digest", document.packet_digest == request.packet_digest),
        ("policy_digest", document.policy_digest == request.policy_digest),
    ];
    rows.into_iter().filter(|(_, same)| !same).map(|(name, _)| name).collect()
}
