//! The gates of a model-backed engine, open and closed.

use contract::decision::{Inputs, Profile};
use contract::model::{
    AdmissionStatus, AnswerFact, AuthBridgeFact, CredentialFact, EndpointFact, ModelFacts, RefusalCode, Wire,
};
use contract::record::{DecisionStatus, FoundRecord, ModelAdmission, ProviderClass, ProviderDecision};
use contract::{Digest, Stage};

use super::admission_status;
use crate::Judged;
use crate::tests::{contract, inputs, judge};

fn admission() -> ModelAdmission {
    ModelAdmission {
        admission_timestamp: "2026-01-01T00:00:00Z".into(),
        allowed_network_class: "net".into(),
        approval_source: "a".into(),
        credential_source_class: "cred".into(),
        model: "m".into(),
        provider: "p".into(),
        review_trigger: "r".into(),
        status: "admitted".into(),
        evidence_expectations: None,
        expires_at: None,
        max_stage: None,
    }
}

fn decision(decision_status: DecisionStatus, provider_class: ProviderClass) -> ProviderDecision {
    ProviderDecision {
        decision_status,
        provider_class: Some(provider_class),
        provider: "p".into(),
        model: "m".into(),
        fallback_provider: "f".into(),
        fallback_model: "n".into(),
        approval_source: "a".into(),
        credential_source_class: "cred".into(),
        allowed_network_class: "net".into(),
        review_trigger: "r".into(),
        evidence_sources: vec!["e".into()],
        effect: "e".into(),
    }
}

fn found<T>(record: T) -> FoundRecord<T> {
    FoundRecord::Record { sha256: Digest::ZERO, record, signed_by: None }
}

fn backed() -> Inputs {
    let mut inputs = inputs();
    (inputs.settings.sandbox_asked, inputs.settings.sandbox_available) = (Profile::Strict, vec![Profile::Strict]);
    inputs.settings.model = Some(ModelFacts {
        wire: Wire::Messages,
        requested: Some("p/m".parse().unwrap()),
        admission: found(admission()),
        decision: FoundRecord::Missing,
        credential: CredentialFact::Present,
        endpoint: EndpointFact::Configured,
        replayed: false,
        auth_bridge: None,
    });
    inputs.answer = Some(AnswerFact::Content);
    inputs
}

fn facts(inputs: &mut Inputs) -> &mut ModelFacts {
    inputs.settings.model.as_mut().unwrap()
}

fn refusals(inputs: Inputs) -> Vec<String> {
    let judged = judge(&contract(), inputs).unwrap();
    let decision = judged.decision();
    decision.refusals.iter().map(|refusal| format!("{} {}", refusal.gate, refusal.reason)).collect()
}

type Edit = fn(&mut Inputs);

const ADMISSION: &str = "model_decision_and_admission model_not_admitted";

#[test]
fn closed_gates_refuse() {
    let rows: &[(&str, Edit, &str)] = &[
        ("no pair", |i| facts(i).requested = None, ADMISSION),
        ("no record", |i| facts(i).admission = FoundRecord::Missing, ADMISSION),
        ("a bad record", |i| facts(i).admission = FoundRecord::Invalid { why: "x".into() }, ADMISSION),
        (
            "a draft",
            |i| facts(i).admission = found(ModelAdmission { status: "draft".into(), ..admission() }),
            ADMISSION,
        ),
        (
            "other words",
            |i| facts(i).admission = found(ModelAdmission { status: "Admitted".into(), ..admission() }),
            ADMISSION,
        ),
        (
            "expired now",
            |i| facts(i).admission = found(ModelAdmission { expires_at: Some(i.time), ..admission() }),
            ADMISSION,
        ),
        (
            "stage 1",
            |i| facts(i).admission = found(ModelAdmission { max_stage: Some(Stage::GATED_ENGINE), ..admission() }),
            ADMISSION,
        ),
        ("another pair", |i| facts(i).requested = Some("p/x".parse().unwrap()), ADMISSION),
        ("a bad decision", |i| facts(i).decision = FoundRecord::Invalid { why: "x".into() }, ADMISSION),
        ("not decided", |i| decide(i, DecisionStatus::NotDecided, |_| ()), ADMISSION),
        (
            "decided for another",
            |i| decide(i, DecisionStatus::LocalProviderRequired, |d| d.model = "x".into()),
            ADMISSION,
        ),
        (
            "no class",
            |i| facts(i).credential = CredentialFact::Unmapped,
            "credential_source_present provider_unavailable",
        ),
        (
            "a login that is not passed on",
            |i| facts(i).auth_bridge = Some(AuthBridgeFact { switched_on: false, login: true }),
            "credential_source_present provider_auth_unavailable",
        ),
        (
            "a credential that is no login",
            |i| facts(i).auth_bridge = Some(AuthBridgeFact { switched_on: true, login: false }),
            "credential_source_present provider_auth_unavailable",
        ),
        (
            "no key",
            |i| facts(i).credential = CredentialFact::Unavailable { why: "x".into() },
            "credential_source_present provider_auth_unavailable",
        ),
        ("no hosts", |i| facts(i).endpoint = EndpointFact::Unmapped, "local_endpoint_configured provider_unavailable"),
        (
            "outside",
            |i| facts(i).endpoint = EndpointFact::OutsideClass,
            "local_endpoint_configured provider_unavailable",
        ),
        (
            "no endpoint",
            |i| facts(i).endpoint = EndpointFact::NotConfigured,
            "local_endpoint_configured local_provider_config_missing",
        ),
        ("no external endpoint", no_external_endpoint, "local_endpoint_configured provider_unavailable"),
        ("no sandbox", |i| i.settings.sandbox_asked = Profile::None, "sandbox_available sandbox_unavailable"),
        (
            "an error",
            |i| i.answer = Some(AnswerFact::UpstreamError { status: 500 }),
            "endpoint_reachable provider_unavailable",
        ),
        (
            "a bad key",
            |i| i.answer = Some(AnswerFact::Refused { code: RefusalCode::CredentialRefused }),
            "endpoint_reachable provider_auth_unavailable",
        ),
        (
            "another answers",
            |i| i.answer = Some(AnswerFact::Refused { code: RefusalCode::OtherModelAnswered }),
            "endpoint_reachable model_not_admitted",
        ),
        (
            "no money",
            |i| i.answer = Some(AnswerFact::Refused { code: RefusalCode::ModelUnpriced }),
            "endpoint_reachable budget_exceeded",
        ),
        ("reasoning", |i| i.answer = Some(AnswerFact::ReasoningOnly), "response_shape provider_response_shape"),
        ("silence", |i| i.answer = Some(AnswerFact::Empty), "response_shape provider_response_shape"),
    ];
    for (name, edit, expected) in rows {
        let mut inputs = backed();
        inputs.settings.sandbox_available = vec![Profile::None, Profile::Strict];
        edit(&mut inputs);
        assert_eq!(refusals(inputs), [*expected], "{name}");
    }
}

fn decide(inputs: &mut Inputs, status: DecisionStatus, edit: fn(&mut ProviderDecision)) {
    let mut record = decision(status, ProviderClass::LocalCompatible);
    edit(&mut record);
    facts(inputs).decision = found(record);
}

fn no_external_endpoint(inputs: &mut Inputs) {
    facts(inputs).decision = found(decision(DecisionStatus::ExternalProviderApproved, ProviderClass::ExternalOther));
    facts(inputs).endpoint = EndpointFact::NotConfigured;
}

#[test]
fn open_gates_admit() {
    let rows: &[(&str, Edit)] = &[
        ("an admission alone", |_| {}),
        ("required", |i| decide(i, DecisionStatus::LocalProviderRequired, |_| ())),
        ("the fallback", |i| {
            decide(i, DecisionStatus::LocalProviderRequired, |d| {
                (d.provider, d.fallback_provider, d.fallback_model) = ("x".into(), "p".into(), "m".into());
            });
        }),
        ("not yet expired", |i| {
            let later = i.time.after(std::time::Duration::from_secs(1));
            facts(i).admission = found(ModelAdmission { expires_at: Some(later), ..admission() });
        }),
        ("a login that is passed on", |i| {
            facts(i).auth_bridge = Some(AuthBridgeFact { switched_on: true, login: true });
        }),
        ("from a recording", |i| i.answer = Some(AnswerFact::Replayed)),
    ];
    for (name, edit) in rows {
        let mut inputs = backed();
        edit(&mut inputs);
        assert_eq!(refusals(inputs.clone()), Vec::<String>::new(), "{name}");
        assert!(matches!(judge(&contract(), inputs).unwrap(), Judged::Admitted(_)), "{name}");
    }
}

#[test]
fn nobody_is_admitted_before_the_model_has_answered() {
    let judged = judge(&contract(), Inputs { answer: None, ..backed() }).unwrap();
    assert!(matches!(judged, Judged::Pending(_)));
    assert_eq!(judged.decision().not_evaluated.len(), 3);
    let unlooked = |i: &mut Inputs| {
        (facts(i).credential, facts(i).endpoint) = (CredentialFact::NotLooked, EndpointFact::NotLooked)
    };
    let mut inputs = backed();
    unlooked(&mut inputs);
    assert!(matches!(judge(&contract(), inputs).unwrap(), Judged::Pending(_)), "what is not looked at is not passed");
}

#[test]
fn every_status_of_an_admission_can_be_had() {
    let rows: &[(AdmissionStatus, Edit)] = &[
        (AdmissionStatus::Admitted, |_| {}),
        (AdmissionStatus::MissingAdmission, |i| facts(i).admission = FoundRecord::Missing),
        (AdmissionStatus::InvalidAdmission, |i| facts(i).admission = FoundRecord::Invalid { why: "x".into() }),
        (AdmissionStatus::NotAdmitted, |i| {
            facts(i).admission = found(ModelAdmission { status: "x".into(), ..admission() });
        }),
        (AdmissionStatus::Mismatch, |i| facts(i).requested = Some("p/x".parse().unwrap())),
    ];
    assert_eq!(rows.len(), AdmissionStatus::ALL.len());
    for (expected, edit) in rows {
        let mut inputs = backed();
        edit(&mut inputs);
        assert_eq!(admission_status(facts(&mut inputs.clone()), inputs.stage, inputs.time), *expected);
    }
}

#[test]
fn from_the_fifth_stage_on_the_records_are_signed() {
    let sign = |found: &mut FoundRecord<ModelAdmission>| {
        if let FoundRecord::Record { signed_by, .. } = found {
            *signed_by = Some("op1".to_owned());
        }
    };
    let decided = |signed_by| FoundRecord::Record {
        sha256: Digest::ZERO,
        record: decision(DecisionStatus::LocalProviderRequired, ProviderClass::LocalCompatible),
        signed_by,
    };
    let pair = "find the file to sign for p/m: cto records";
    let provider = "cto record sign decisions/provider.yaml";
    let rows: &[(u8, bool, FoundRecord<ProviderDecision>, &[&str])] = &[
        (4, false, decided(None), &[]),
        (5, false, FoundRecord::Missing, &[pair]),
        (5, true, FoundRecord::Missing, &[]),
        (5, true, decided(None), &[provider]),
        (5, true, decided(Some("op1".to_owned())), &[]),
        (5, false, decided(None), &[pair, provider]),
    ];
    for (number, signed, decision, expected) in rows {
        let mut inputs = backed();
        inputs.stage = Stage::try_from(*number).unwrap();
        facts(&mut inputs).decision = decision.clone();
        if *signed {
            sign(&mut facts(&mut inputs).admission);
        }
        let model = inputs.settings.model.as_ref().unwrap();
        let refusals = super::decision_and_admission(model, &inputs).unwrap();
        assert!(refusals.iter().all(|refusal| refusal.reason == contract::Reason::ModelNotAdmitted));
        let remedies: Vec<_> = refusals.iter().map(|refusal| refusal.remedy.as_str()).collect();
        assert_eq!(remedies, *expected, "stage {number} {signed} {decision:?}");
        assert!(remedies.into_iter().all(contract::remedy::is_one_act), "{expected:?}");
    }
}
