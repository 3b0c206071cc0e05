//! Sentence, request, approval and what else people say.

use serde_json::json;

use super::plan;
use super::sample::{approval, stamp};
use crate::approval::*;
use crate::digest::Digest;

#[test]
fn the_sentence_names_the_work_the_target_and_the_title() {
    let mut plan = plan();
    assert_eq!(approval_sentence(&plan), "I approve CTO-143 against site-tools for the link checker timeout.");
    plan.work_id = Some("CTO-WORK-012".to_owned().try_into().unwrap());
    plan.contract.title = "two\nlines".to_owned();
    assert_eq!(approval_sentence(&plan), "I approve CTO-WORK-012 against site-tools for the two␊lines.");
}

#[test]
fn an_approval_has_sixteen_keys() {
    let written = serde_json::to_value(approval(&plan())).unwrap();
    let keys: Vec<&String> = written.as_object().unwrap().keys().collect();
    let expected = "schema request_digest ledger_id key_fingerprint sentence scope mutation_mode approval_source execution_scope \
                    packet_digest policy_digest signed_via granted_at not_before expires_at nonce";
    assert_eq!(keys, expected.split_whitespace().collect::<Vec<_>>());
    assert_eq!(written["execution_scope"], EXECUTION_SCOPE);
    let mut more = written.clone();
    more["approval_granted"] = json!(true);
    assert!(serde_json::from_value::<Approval>(more).is_err(), "no other key");
}

#[test]
fn an_approval_of_another_plan_names_the_field() {
    let plan = plan();
    let digests = (plan.digest().unwrap(), Digest::of_bytes(render_packet(&plan).unwrap().as_bytes()));
    type Edit = fn(&mut Approval);
    let rows: &[(Option<&str>, Edit)] = &[
        (None, |_| {}),
        (Some("request_digest"), |it| it.request_digest = Digest::ZERO),
        (Some("ledger_id"), |it| it.ledger_id = "ledger-2".to_owned()),
        (Some("sentence"), |it| it.sentence.push('.')),
        (Some("scope"), |it| it.scope = "everything".to_owned()),
        (Some("mutation_mode"), |it| it.mutation_mode = crate::MutationMode::CandidateDefault),
        (Some("packet_digest"), |it| it.packet_digest = Digest::ZERO),
        (Some("policy_digest"), |it| it.policy_digest = Digest::ZERO),
    ];
    for (expected, edit) in rows {
        let mut approval = approval(&plan);
        edit(&mut approval);
        assert_eq!(approval.first_mismatch(&plan, digests.0, digests.1), *expected);
    }
}

#[test]
fn a_request_allows_nothing() {
    let request = Request::new(plan(), stamp("2026-11-15T01:21:17Z")).unwrap();
    let written = serde_json::to_value(&request).unwrap();
    assert_eq!((&written["approval_granted"], &written["execution_allowed"]), (&json!(false), &json!(false)));
    assert_eq!(written["blocked_actions"].as_array().unwrap().len(), 10);
    assert_eq!(written["next_allowed_action"], format!("cto approve {}", plan().digest().unwrap()));
    assert!(request.is_consistent().unwrap());
    for key in ["approval_granted", "execution_allowed"] {
        let mut granted = written.clone();
        granted[key] = json!(true);
        assert!(serde_json::from_value::<Request>(granted).is_err(), "{key}");
    }
    let edits: [fn(&mut Request); 4] = [
        |it| it.plan.ledger_id.push('x'),
        |it| it.packet_digest = Digest::ZERO,
        |it| it.evidence_pointers.clear(),
        |it| it.blocked_actions.clear(),
    ];
    for edit in edits {
        let mut edited = request.clone();
        edit(&mut edited);
        assert!(!edited.is_consistent().unwrap(), "{edited:?}");
    }
}

/// Each kind has a schema name of its own, so that a signature of one document is never one of another.
#[test]
fn documents_say_what_they_are() {
    let (plan, at) = (plan(), stamp("2026-11-15T01:21:17Z"));
    let nonce = approval(&plan).nonce;
    let digest = plan.digest().unwrap();
    let (ledger_id, key_fingerprint, reason) = ("ledger-1".to_owned(), "SHA256:k".to_owned(), "why".to_owned());
    let hold = Hold {
        schema: HoldSchema::V1,
        request_digest: digest,
        ledger_id: ledger_id.clone(),
        key_fingerprint: key_fingerprint.clone(),
        state: HoldState::Held,
        reason: reason.clone(),
        held_at: at,
        nonce: nonce.clone(),
    };
    let denial = Denial {
        schema: DenialSchema::V1,
        request_digest: digest,
        ledger_id: ledger_id.clone(),
        key_fingerprint: key_fingerprint.clone(),
        reason: reason.clone(),
        denied_at: at,
        nonce: nonce.clone(),
    };
    let revocation = Revocation {
        schema: RevocationSchema::V1,
        request_digest: digest,
        ledger_id,
        key_fingerprint: key_fingerprint.clone(),
        reason: reason.clone(),
        revoked_at: at,
        nonce,
    };
    let run_id = crate::RunId::new("20261115T003955Z", &plan.contract.task_id, "m4xd").unwrap();
    let outcome = OutcomeStatement {
        schema: OutcomeSchema::V1,
        attestation_sha256: digest,
        run_id: run_id.clone(),
        task_id: plan.contract.task_id.clone(),
        work_id: None,
        operator_outcome: OutcomeVerdict::from_word("accept").unwrap(),
        reason: reason.clone(),
        source: OutcomeSource::Operator,
        key_fingerprint: Some(key_fingerprint.clone()),
        recorded_at: at,
    };
    let rollback = RollbackStatement {
        schema: RollbackSchema::V1,
        attestation_sha256: digest,
        run_id,
        task_id: plan.contract.task_id.clone(),
        work_id: None,
        repository: "/srv/site-tools".to_owned(),
        branch: "cto/CTO-143/req-143".to_owned(),
        commit: "5e0a77c".to_owned(),
        act: RollbackAct::Reverted { commit: "6f0a77c".to_owned() },
        reason,
        key_fingerprint,
        recorded_at: at,
    };
    let documents = [
        serde_json::to_value(&plan).unwrap(),
        serde_json::to_value(Request::new(plan.clone(), at).unwrap()).unwrap(),
        serde_json::to_value(approval(&plan)).unwrap(),
        serde_json::to_value(denial).unwrap(),
        serde_json::to_value(hold).unwrap(),
        serde_json::to_value(revocation).unwrap(),
        serde_json::to_value(outcome).unwrap(),
        serde_json::to_value(rollback).unwrap(),
    ];
    let names: std::collections::BTreeSet<&str> =
        documents.iter().map(|document| document["schema"].as_str().unwrap()).collect();
    assert_eq!(names.len(), documents.len());
    assert!(serde_json::from_value::<Approval>(documents[3].clone()).is_err());
    assert_eq!(
        (OutcomeVerdict::from_word("rejected"), OutcomeVerdict::from_word("yes")),
        (Some(OutcomeVerdict::Rejected), None)
    );
}
