//! Changes of facts that are good, and the refusals that follow.

use contract::approval::{LedgerContinuity, PlanDifference};
use contract::signer::SignerStanding;
use contract::{Digest, MutationMode, Status};

use super::{Edit, add, at, consumed, denial, first, hold, request, revocation, signature, touched, under};

pub(super) type Row = (&'static str, Edit, &'static [(&'static str, &'static str)]);

/// A change, and the refusals that follow, as the reason and a part of its text. Rows without any are controls.
pub(super) const ROWS: &[Row] = &[
    ("sound", |_| {}, &[]),
    (
        "a home that was copied",
        |f| f.continuity = LedgerContinuity::Unknown { why: "another machine".into() },
        &[("ledger_continuity_unknown", "another machine")],
    ),
    (
        "copied, and nobody asked",
        |f| {
            f.continuity = LedgerContinuity::Unknown { why: "another machine".into() };
            f.request = None;
        },
        &[("ledger_continuity_unknown", "another machine"), ("approval_missing", "nobody has asked")],
    ),
    ("nobody asked", |f| f.request = None, &[("approval_missing", "nobody has asked")]),
    ("not granted", |f| request(f).approvals.clear(), &[("approval_missing", "req-7 is requested and not granted")]),
    (
        "used",
        |f| request(f).consumed_by = consumed(Some(Status::Fail)),
        &[("approval_consumed", "run 20260101T000000Z-t-abcd, which ended `fail`")],
    ),
    ("in use", |f| request(f).consumed_by = consumed(None), &[("approval_consumed", "which goes on")]),
    (
        "a mark of a use that the ledger does not have",
        |f| request(f).used_mark = Some("refs/cto/used/ab".into()),
        &[("approval_consumed", "the mark refs/cto/used/ab")],
    ),
    ("denied", |f| request(f).denials.push(denial()), &[("approval_denied", "by op2: not now")]),
    ("revoked", |f| request(f).revocations.push(revocation()), &[("approval_revoked", "by op2: not now")]),
    (
        "used, and denied before",
        |f| {
            request(f).denials.push(denial());
            request(f).consumed_by = consumed(None);
        },
        &[("approval_consumed", ""), ("approval_denied", "")],
    ),
    ("held", |f| request(f).holds.push(hold("held")), &[("approval_held", "by op2: not now")]),
    ("released", |f| request(f).holds.extend([hold("held"), hold("released")]), &[]),
    (
        "released by a key that may not",
        |f| {
            let mut released = hold("released");
            released.signature.standing = SignerStanding::NotListed;
            request(f).holds.extend([hold("held"), released]);
        },
        &[("approval_held", "by op2: not now")],
    ),
    (
        "held again",
        |f| request(f).holds.extend([hold("held"), hold("released"), hold("held")]),
        &[("approval_held", "")],
    ),
    (
        "held and not granted",
        |f| {
            request(f).holds.push(hold("held"));
            request(f).approvals.clear();
        },
        &[("approval_held", ""), ("approval_missing", "not granted")],
    ),
    (
        "a plan of another program",
        |f| request(f).plan_schema = "cto-plan@v0".into(),
        &[("approval_not_comparable", "`cto-plan@v0`, and this program makes `cto-plan@v1`")],
    ),
    (
        "both of another program",
        |f| {
            request(f).plan_schema = "cto-plan@v9".into();
            f.plan_schema = "cto-plan@v9".into();
        },
        &[("approval_not_comparable", "")],
    ),
    (
        "another plan",
        |f| {
            let difference = |field: &str, old: &str, new: &str| PlanDifference {
                field: field.into(),
                old: Some(old.into()),
                new: Some(new.into()),
            };
            request(f).differences =
                vec![difference("/repository/head_commit", "a1", "b2"), difference("/engine/id", "case", "pi")];
        },
        &[(
            "approval_mismatch",
            "req-7 is for another plan: /repository/head_commit: `a1` was approved, `b2` is there now; /engine/id: `case` was approved, `pi` is there now",
        )],
    ),
    ("another digest", |f| f.plan_digest = Digest::ZERO, &[("approval_mismatch", "request_digest: ")]),
    ("another ledger", |f| f.ledger_id = "ledger-2".into(), &[("approval_mismatch", "/ledger_id: `ledger-1`")]),
    ("another policy", |f| f.terms.max_ttl += 1, &[("approval_mismatch", "/policy_digest: ")]),
    (
        "an approval of another request",
        |f| first(f).document.request_digest = Digest::ZERO,
        &[("approval_mismatch", "request_digest differs")],
    ),
    (
        "an approval in another ledger",
        |f| first(f).document.ledger_id = "ledger-2".into(),
        &[("approval_mismatch", "ledger_id differs")],
    ),
    (
        "an approval that names another key",
        |f| first(f).document.key_fingerprint = "op3".into(),
        &[("approval_mismatch", "key_fingerprint differs")],
    ),
    ("another sentence", |f| first(f).document.sentence.push(' '), &[("approval_mismatch", "sentence differs")]),
    ("another scope", |f| first(f).document.scope = "all".into(), &[("approval_mismatch", "scope differs")]),
    (
        "another mode",
        |f| first(f).document.mutation_mode = MutationMode::CopiedFixture,
        &[("approval_mismatch", "mutation_mode differs")],
    ),
    (
        "another packet and policy",
        |f| {
            first(f).document.packet_digest = Digest::ZERO;
            first(f).document.policy_digest = Digest::ZERO;
        },
        &[("approval_mismatch", "by op2 is for something else: packet_digest, policy_digest differs")],
    ),
    ("not expired", |f| first(f).document.expires_at = at(101), &[]),
    ("expired", |f| first(f).document.expires_at = at(100), &[("approval_expired", "by op2 expired at ")]),
    (
        "expired by the ledger's clock",
        |f| f.last_entry_at = at(500),
        &[("approval_expired", "an entry of the ledger is dated ")],
    ),
    (
        "requested before the ledger's time went back",
        |f| request(f).voided_by_entry = Some(9),
        &[("approval_expired", "req-7 is older than entry 9, by which the ledger's time went back")],
    ),
    ("just good by the ledger's clock", |f| f.last_entry_at = at(499), &[]),
    (
        "older than the policy lets it be",
        |f| {
            under(f, |terms| terms.max_ttl = 100);
            request(f).recorded_at = at(1);
            first(f).recorded_at = at(0);
        },
        &[("approval_expired", "the approval of req-7")],
    ),
    (
        "as old as the policy lets it be",
        |f| {
            under(f, |terms| terms.max_ttl = 100);
            request(f).recorded_at = at(1);
            first(f).recorded_at = at(1);
        },
        &[],
    ),
    ("lapsed", |f| under(f, |terms| terms.max_ttl = 100), &[("approval_expired", "req-7 lapsed at ")]),
    ("not lapsed", |f| under(f, |terms| terms.max_ttl = 101), &[]),
    ("valid from now on", |f| first(f).document.not_before = at(100), &[]),
    ("not valid yet", |f| first(f).document.not_before = at(101), &[("approval_not_yet_valid", "not valid before ")]),
    (
        "not valid yet, whatever the ledger says",
        |f| {
            first(f).document.not_before = at(101);
            f.last_entry_at = at(200);
        },
        &[("approval_not_yet_valid", "an entry of the ledger is dated ")],
    ),
    (
        "a key that nobody lists",
        |f| first(f).signature.standing = SignerStanding::NotListed,
        &[("approval_missing", "0 of 1 approvals of req-7 count; op2 is not listed in allowed_signers")],
    ),
    (
        "a key for records",
        |f| first(f).signature.standing = SignerStanding::OtherNamespace,
        &[("approval_missing", "for another purpose")],
    ),
    (
        "a key of tomorrow",
        |f| first(f).signature.standing = SignerStanding::NotYetValid,
        &[("approval_missing", "not valid yet")],
    ),
    (
        "a key of yesterday",
        |f| first(f).signature.standing = SignerStanding::Expired,
        &[("approval_missing", "not valid any more")],
    ),
    (
        "a stolen key",
        |f| first(f).signature.standing = SignerStanding::Compromised,
        &[("approval_missing", "compromised")],
    ),
    (
        "a stolen key beside a good one",
        |f| {
            first(f).signature.standing = SignerStanding::Compromised;
            add(f, "op3");
        },
        &[],
    ),
    ("one's own, alone", |f| request(f).requester_fingerprint = "op2".into(), &[]),
    (
        "one's own, where somebody else approves",
        |f| {
            under(f, |terms| terms.distinct_from_requester = true);
            request(f).requester_fingerprint = "op2".into();
            request(f).signature = Some(signature("op2"));
        },
        &[("approval_missing", "op2 asked for it; somebody else approves")],
    ),
    ("another's, where somebody else approves", |f| under(f, |terms| terms.distinct_from_requester = true), &[]),
    ("unsigned, alone", |f| request(f).signature = None, &[]),
    (
        "unsigned, where somebody else approves",
        |f| {
            under(f, |terms| terms.distinct_from_requester = true);
            request(f).signature = None;
        },
        &[("approval_missing", "req-7 is not signed by who asked")],
    ),
    (
        "signed for another",
        |f| {
            under(f, |terms| terms.distinct_from_requester = true);
            request(f).signature = Some(signature("op3"));
        },
        &[("approval_missing", "req-7 names op1 and is signed by op3")],
    ),
    (
        "asked for with a key made for it",
        |f| {
            under(f, |terms| terms.distinct_from_requester = true);
            request(f).signature.as_mut().unwrap().standing = SignerStanding::NotListed;
        },
        &[("approval_missing", "signed by op1, which is not listed")],
    ),
    (
        "one of two",
        |f| under(f, |terms| terms.approvals_required = 2),
        &[("approval_missing", "1 of 2 approvals of req-7 count (op2)")],
    ),
    (
        "two by one key",
        |f| {
            under(f, |terms| terms.approvals_required = 2);
            add(f, "op2");
        },
        &[("approval_missing", "1 of 2 approvals of req-7 count (op2)")],
    ),
    (
        "two by two keys",
        |f| {
            under(f, |terms| terms.approvals_required = 2);
            add(f, "op3");
        },
        &[],
    ),
    (
        "two, of which one asked",
        |f| {
            under(f, |terms| terms.approvals_required = 2);
            add(f, "op1");
        },
        &[("approval_missing", "1 of 2 approvals of req-7 count (op2); op1 asked for it; somebody else approves")],
    ),
    (
        "one of two, the other expired",
        |f| {
            under(f, |terms| terms.approvals_required = 2);
            add(f, "op3");
            request(f).approvals[1].document.expires_at = at(60);
        },
        &[("approval_expired", "by op3")],
    ),
    (
        "one of three, another expired",
        |f| {
            under(f, |terms| terms.approvals_required = 3);
            add(f, "op3");
            request(f).approvals[1].document.expires_at = at(60);
        },
        &[("approval_expired", "by op3"), ("approval_missing", "1 of 3")],
    ),
    (
        "approved again after it expired",
        |f| {
            first(f).document.expires_at = at(60);
            add(f, "op2");
        },
        &[],
    ),
    (
        "expired twice",
        |f| {
            first(f).document.expires_at = at(60);
            add(f, "op2");
            request(f).approvals[1].document.expires_at = at(70);
        },
        &[("approval_expired", "expired at 1970-01-12T13:47:50")],
    ),
    (
        "a key in a file, where a security key is asked for",
        |f| under(f, |terms| terms.require_hardware_key = true),
        &[("approval_missing", "op2 shows no touch of a security key")],
    ),
    (
        "a security key that nobody touched",
        |f| {
            under(f, |terms| terms.require_hardware_key = true);
            first(f).signature = touched(false);
        },
        &[("approval_missing", "op2 shows no touch of a security key")],
    ),
    (
        "a security key that somebody touched",
        |f| {
            under(f, |terms| terms.require_hardware_key = true);
            first(f).signature = touched(true);
        },
        &[],
    ),
    (
        "broken glass that the policy does not allow",
        |f| first(f).document.break_glass_reason = Some("the site is down".into()),
        &[("approval_missing", "op2 broke the glass, which the policy does not allow")],
    ),
    (
        "broken glass without a reason",
        |f| {
            under(f, |terms| (terms.break_glass, terms.approvals_required) = (true, 2));
            first(f).document.break_glass_reason = Some(" ".into());
        },
        &[("approval_missing", "0 of 2 approvals of req-7 count; op2 broke the glass without a reason")],
    ),
    (
        "broken glass passes number and separation",
        |f| {
            under(f, |terms| (terms.break_glass, terms.approvals_required) = (true, 2));
            first(f).document.break_glass_reason = Some("the site is down".into());
            request(f).requester_fingerprint = "op2".into();
            request(f).signature = None;
        },
        &[],
    ),
    (
        "broken glass passes no hardware key",
        |f| {
            under(f, |terms| (terms.break_glass, terms.require_hardware_key) = (true, true));
            first(f).document.break_glass_reason = Some("the site is down".into());
        },
        &[("approval_missing", "no touch")],
    ),
    (
        "broken glass passes no expiry",
        |f| {
            under(f, |terms| terms.break_glass = true);
            first(f).document.break_glass_reason = Some("the site is down".into());
            first(f).document.expires_at = at(99);
        },
        &[("approval_expired", "")],
    ),
    (
        "broken glass passes no hold",
        |f| {
            under(f, |terms| terms.break_glass = true);
            first(f).document.break_glass_reason = Some("the site is down".into());
            request(f).holds.push(hold("held"));
        },
        &[("approval_held", "")],
    ),
    (
        "a policy of nobody",
        |f| {
            under(f, |terms| terms.approvals_required = 0);
            request(f).approvals.clear();
        },
        &[("approval_missing", "not granted")],
    ),
];
