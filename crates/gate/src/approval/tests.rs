//! Every way in which an approval does not count, each beside the nearest that does.

mod rows;

use contract::approval::{
    Approval, ApprovalFacts, ApprovalInput, ConsumedBy, Denial, Hold, LedgerContinuity, PlanSchema, PolicyTerms,
    RecordedDocument, RequestFact, Revocation,
};
use contract::signer::{SignatureFact, SignerKeyKind, SignerStanding, UserPresence};
use contract::{Coverage, Digest, Reason, RunId, Stage, Stamp, Status};
use proptest::prelude::*;
use serde_json::json;

use super::*;

const TTL: u64 = 1000;

/// `seconds` after the request was recorded.
fn at(seconds: u64) -> Stamp {
    Stamp::from_unix(Duration::from_secs(1_000_000 + seconds)).unwrap()
}

fn stage() -> Stage {
    Stage::DISPOSABLE_REPOSITORY
}

fn signature(key: &str) -> SignatureFact {
    SignatureFact {
        key_fingerprint: key.to_owned(),
        key_kind: SignerKeyKind::Ed25519,
        presence: None,
        standing: SignerStanding::Allowed,
    }
}

fn recorded<T>(document: T, key: &str, recorded_at: Stamp) -> RecordedDocument<T> {
    RecordedDocument { document, sha256: Digest::of_bytes(key.as_bytes()), signature: signature(key), recorded_at }
}

fn terms() -> PolicyTerms {
    PolicyTerms {
        approvals_required: 1,
        distinct_from_requester: false,
        max_ttl: TTL,
        require_hardware_key: false,
        break_glass: false,
    }
}

fn approval(key: &str) -> RecordedDocument<Approval> {
    let document = json!({
        "schema": "cto-approval@v1", "request_digest": Digest::of_bytes(b"plan"), "ledger_id": "ledger-1", "key_fingerprint": key,
        "sentence": "I approve t against t for the t.", "scope": stage().allowed_mutation_scope(),
        "mutation_mode": stage().mutation_mode(), "approval_source": "operator",
        "execution_scope": "one approved Harness run only", "packet_digest": Digest::of_bytes(b"packet"),
        "policy_digest": terms().digest().unwrap(), "signed_via": "terminal", "granted_at": at(10), "not_before": at(10),
        "expires_at": at(500), "nonce": "0".repeat(32),
    });
    recorded(serde_json::from_value(document).unwrap(), key, at(10))
}

fn said(schema: &str, more: serde_json::Value) -> serde_json::Value {
    let mut document = json!({
        "schema": schema, "request_digest": Digest::of_bytes(b"plan"), "ledger_id": "ledger-1", "key_fingerprint": "op2",
        "reason": "not now", "nonce": "1".repeat(32),
    });
    document.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    document
}

fn denial() -> RecordedDocument<Denial> {
    let document = said("cto-denial@v1", json!({"denied_at": at(20)}));
    recorded(serde_json::from_value(document).unwrap(), "op2", at(20))
}

fn revocation() -> RecordedDocument<Revocation> {
    let document = said("cto-revocation@v1", json!({"revoked_at": at(20)}));
    recorded(serde_json::from_value(document).unwrap(), "op2", at(20))
}

fn hold(state: &str) -> RecordedDocument<Hold> {
    let document = said("cto-hold@v1", json!({"state": state, "held_at": at(20)}));
    recorded(serde_json::from_value(document).unwrap(), "op2", at(20))
}

/// A request of `op1` at 0, approved by `op2` at 10 until 500, looked at at 100.
pub(crate) fn facts() -> ApprovalFacts {
    ApprovalFacts {
        plan_digest: Digest::of_bytes(b"plan"),
        plan_schema: PlanSchema::NAME.to_owned(),
        ledger_id: "ledger-1".to_owned(),
        last_entry_at: at(50),
        continuity: LedgerContinuity::Known,
        terms: terms(),
        request: Some(RequestFact {
            name: "req-7".to_owned(),
            request_digest: Digest::of_bytes(b"plan"),
            packet_digest: Digest::of_bytes(b"packet"),
            policy_digest: terms().digest().unwrap(),
            plan_schema: PlanSchema::NAME.to_owned(),
            sentence: "I approve t against t for the t.".to_owned(),
            ledger_id: "ledger-1".to_owned(),
            requester_fingerprint: "op1".to_owned(),
            signature: Some(signature("op1")),
            recorded_at: at(0),
            differences: Vec::new(),
            approvals: vec![approval("op2")],
            denials: Vec::new(),
            holds: Vec::new(),
            revocations: Vec::new(),
            consumed_by: None,
            used_mark: None,
            voided_by_entry: None,
        }),
        request_command: "cto request t --stage 4".to_owned(),
    }
}

/// The same for another stage, whose words an approval has.
pub(crate) fn facts_at(stage: Stage) -> ApprovalFacts {
    let mut facts = facts();
    for approval in &mut request(&mut facts).approvals {
        approval.document.scope = stage.allowed_mutation_scope().to_owned();
        approval.document.mutation_mode = stage.mutation_mode();
    }
    facts
}

/// A moment at which [`facts`] are good.
pub(crate) fn in_time() -> Stamp {
    at(100)
}

fn request(facts: &mut ApprovalFacts) -> &mut RequestFact {
    facts.request.as_mut().unwrap()
}

fn first(facts: &mut ApprovalFacts) -> &mut RecordedDocument<Approval> {
    &mut request(facts).approvals[0]
}

/// Changes the terms as the request and its approvals know them.
fn under(facts: &mut ApprovalFacts, change: fn(&mut PolicyTerms)) {
    change(&mut facts.terms);
    let digest = facts.terms.digest().unwrap();
    let request = request(facts);
    request.policy_digest = digest;
    request.approvals.iter_mut().for_each(|approval| approval.document.policy_digest = digest);
}

fn add(facts: &mut ApprovalFacts, key: &str) {
    let digest = facts.terms.digest().unwrap();
    let mut more = approval(key);
    more.document.policy_digest = digest;
    request(facts).approvals.push(more);
}

fn consumed(status: Option<Status>) -> Option<ConsumedBy> {
    let task_id = "t".to_owned().try_into().unwrap();
    Some(ConsumedBy { run_id: RunId::new("20260101T000000Z", &task_id, "abcd").unwrap(), status })
}

fn touched(present: bool) -> SignatureFact {
    let presence = Some(UserPresence { present, verified: false, counter: 1 });
    SignatureFact { key_kind: SignerKeyKind::SkEd25519, presence, ..signature("op2") }
}

type Edit = fn(&mut ApprovalFacts);

#[test]
fn each_fault_of_an_approval_is_refused_with_its_reason() {
    for (name, edit, expected) in rows::ROWS {
        let mut facts = facts();
        edit(&mut facts);
        let refusals = weigh(&facts, stage(), in_time()).err().unwrap_or_default();
        let found: Vec<_> = refusals.iter().map(|refusal| refusal.reason.code()).collect();
        let reasons: Vec<_> = expected.iter().map(|(reason, _)| *reason).collect();
        assert_eq!(found, reasons, "{name}: {refusals:?}");
        for (refusal, (_, part)) in refusals.iter().zip(*expected) {
            assert!(refusal.text.contains(part), "{name}: {}", refusal.text);
            assert!(contract::remedy::is_one_act(&refusal.remedy), "{name}: {}", refusal.remedy);
        }
    }
}

#[test]
fn each_refusal_names_the_one_command_that_helps() {
    let rows: &[(&str, Edit, &str)] = &[
        ("nobody asked", |f| f.request = None, "cto request t --stage 4"),
        ("not granted", |f| request(f).approvals.clear(), "cto approve req-7"),
        ("expired", |f| first(f).document.expires_at = at(60), "cto approve req-7"),
        ("lapsed", |f| request(f).recorded_at = Stamp::from_unix(Duration::ZERO).unwrap(), "cto request t --stage 4"),
        ("used", |f| request(f).consumed_by = consumed(None), "cto request t --stage 4"),
        ("another plan", |f| f.plan_digest = Digest::ZERO, "cto request t --stage 4"),
        ("held", |f| request(f).holds.push(hold("held")), "cto hold req-7 --release --reason \"...\""),
        ("too early", |f| first(f).document.not_before = at(200), "run again after 1970-01-12T13:50:00.000000Z"),
        (
            "copied",
            |f| f.continuity = LedgerContinuity::Unknown { why: "w".into() },
            "cto ledger continue --reason \"...\"     once no other copy is in use",
        ),
    ];
    for (name, edit, remedy) in rows {
        let mut facts = facts();
        edit(&mut facts);
        let refusals = weigh(&facts, stage(), in_time()).unwrap_err();
        assert_eq!(refusals.iter().map(|refusal| refusal.remedy.as_str()).collect::<Vec<_>>(), [*remedy], "{name}");
    }
}

#[test]
fn approvals_that_count_say_how_long_and_what_they_do_not_prove() {
    type Counted = (u64, u64, &'static [&'static str], &'static [Coverage]);
    let rows: &[(&str, Edit, Counted)] = &[
        ("two people", |_| {}, (10, 500, &["op2"], &[])),
        (
            "one person",
            |f| {
                request(f).requester_fingerprint = "op2".into();
                request(f).signature = Some(signature("op2"));
            },
            (10, 500, &["op2"], &[Coverage::SoloOperator]),
        ),
        (
            "a request that nobody signed shows nobody else",
            |f| request(f).signature = None,
            (10, 500, &["op2"], &[Coverage::SoloOperator]),
        ),
        (
            "a request signed by a key that does not count",
            |f| {
                request(f).signature.as_mut().unwrap().standing = SignerStanding::NotListed;
            },
            (10, 500, &["op2"], &[Coverage::SoloOperator]),
        ),
        (
            "the narrowest of two",
            |f| {
                add(f, "op3");
                request(f).approvals[1].document.not_before = at(30);
                request(f).approvals[1].document.expires_at = at(300);
            },
            (30, 300, &["op2", "op3"], &[]),
        ),
        (
            "the longer of two by one key",
            |f| {
                add(f, "op2");
                request(f).approvals[1].document.expires_at = at(600);
            },
            (10, 600, &["op2"], &[]),
        ),
        ("the policy's end", |f| first(f).document.expires_at = at(5000), (10, TTL, &["op2"], &[])),
        (
            "broken glass",
            |f| {
                under(f, |terms| (terms.break_glass, terms.approvals_required) = (true, 2));
                first(f).document.break_glass_reason = Some("the site is down".into());
            },
            (10, 500, &["op2"], &[Coverage::BreakGlass]),
        ),
        (
            "broken glass by who asked",
            |f| {
                under(f, |terms| (terms.break_glass, terms.approvals_required) = (true, 2));
                first(f).document.break_glass_reason = Some("the site is down".into());
                request(f).requester_fingerprint = "op2".into();
                request(f).signature = Some(signature("op2"));
            },
            (10, 500, &["op2"], &[Coverage::SoloOperator, Coverage::BreakGlass]),
        ),
        (
            "glass that need not have been broken",
            |f| {
                under(f, |terms| terms.break_glass = true);
                add(f, "op3");
                first(f).document.break_glass_reason = Some("the site is down".into());
            },
            (10, 500, &["op3"], &[]),
        ),
    ];
    for (name, edit, (begins, ends, keys, coverage)) in rows {
        let mut facts = facts();
        edit(&mut facts);
        let counted = weigh(&facts, stage(), in_time()).unwrap();
        let found: Vec<_> =
            counted.approvals.iter().map(|approval| approval.signature.key_fingerprint.as_str()).collect();
        assert_eq!((counted.not_before, counted.expires_at), (at(*begins), at(*ends)), "{name}");
        assert_eq!((found.as_slice(), counted.coverage.as_slice()), (*keys, *coverage), "{name}");
        assert_eq!(counted.request_digest, Digest::of_bytes(b"plan"), "{name}");
    }
}

#[test]
fn the_first_approval_stands_for_all() {
    let mut facts = facts();
    add(&mut facts, "op3");
    assert_eq!(weigh(&facts, stage(), in_time()).unwrap().approval_digest(), Some(Digest::of_bytes(b"op2")));
}

#[test]
fn an_approval_is_good_for_its_own_stage() {
    let five = Stage::try_from(5).unwrap();
    assert!(weigh(&facts_at(five), five, in_time()).is_ok(), "control");
    let refusals = weigh(&facts(), five, in_time()).unwrap_err();
    assert_eq!(refusals[0].reason, Reason::ApprovalMismatch);
    assert!(refusals[0].text.contains("scope, mutation_mode differs"), "{}", refusals[0].text);
}

#[test]
fn what_is_recorded_now_lasts_no_longer_than_its_request() {
    assert_eq!(last_moment(&terms(), at(0), at(400)), at(TTL));
    assert_eq!(last_moment(&terms(), at(400), at(0)), at(TTL));
}

#[test]
fn only_a_decision_that_rests_on_approvals_has_some() {
    let mut inputs = crate::tests::inputs();
    (inputs.stage, inputs.time) = (stage(), in_time());
    assert_eq!(counted_approvals(&inputs), None);
    inputs.approval = Some(ApprovalInput::Deferred);
    assert_eq!(counted_approvals(&inputs), None);
    inputs.approval = Some(ApprovalInput::Found(Box::new(facts())));
    assert_eq!(counted_approvals(&inputs).unwrap().approvals.len(), 1);
}

/// The remedy names the ledger's time only where the clock alone would let the approval count.
#[test]
fn a_clock_that_was_wrong_has_a_way_on() {
    let remedy = |last: u64, clock: u64| {
        let mut facts = facts();
        facts.last_entry_at = at(last);
        weigh(&facts, stage(), at(clock)).unwrap_err().remove(0).remedy
    };
    for (last, clock, expected) in [
        (600, 100, CLOCK_WAS_WRONG),
        (5000, 100, CLOCK_WAS_WRONG),
        (600, 5, CLOCK_WAS_WRONG),
        (5, 600, "cto approve req-7"),
        (5, 5000, "cto request t --stage 4"),
        (5, 5, "run again after 1970-01-12T13:46:50.000000Z"),
    ] {
        assert_eq!(remedy(last, clock), expected, "{last} {clock}");
    }
}

proptest! {
    /// Time, number and keys at random: whatever counts is in time, by distinct keys that may sign, and enough.
    #[test]
    fn whatever_counts_is_good(
        clock in 0_u64..2000, last in 0_u64..2000, required in 0_u8..4, apart: bool,
        keys in prop::collection::vec((0_u8..4, 0_u64..1500, 0_u64..1500, 0_u64..1500, any::<bool>()), 0..5),
    ) {
        let mut facts = facts();
        facts.terms.approvals_required = required;
        facts.terms.distinct_from_requester = apart;
        under(&mut facts, |_| {});
        request(&mut facts).approvals.clear();
        facts.last_entry_at = at(last);
        for (key, begins, ends, recorded_at, allowed) in keys {
            add(&mut facts, &format!("op{key}"));
            let approval = request(&mut facts).approvals.last_mut().unwrap();
            (approval.document.not_before, approval.document.expires_at) = (at(begins), at(ends));
            approval.recorded_at = at(recorded_at);
            approval.signature.standing = if allowed { SignerStanding::Allowed } else { SignerStanding::NotListed };
        }
        match weigh(&facts, stage(), at(clock)) {
            Err(refusals) => prop_assert!(!refusals.is_empty()),
            Ok(counted) => {
                let keys: BTreeSet<_> = counted.approvals.iter().map(|one| &one.signature.key_fingerprint).collect();
                prop_assert!(keys.len() == counted.approvals.len() && keys.len() >= usize::from(required.max(1)));
                prop_assert!(!facts.terms.separates_duties() || !keys.contains(&"op1".to_owned()));
                prop_assert!(counted.not_before <= at(clock) && at(clock.max(last)) < counted.expires_at);
                prop_assert!(clock.max(last) < TTL);
                for one in &counted.approvals {
                    prop_assert_eq!(one.signature.standing, SignerStanding::Allowed);
                    prop_assert!(one.document.expires_at > at(clock.max(last)));
                }
            }
        }
    }
}
