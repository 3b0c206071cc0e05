//! The provider decision at stage 5: each member of it, its signature, and the records of an engine as other people's programs see them.

use serde_json::{Value, json};
use testkit::each_row;

use super::{Governed, MODEL, SIGNATURES, SOURCE, TARGET};
use crate::targets::documents::validate_documents;

const DECISION: &str = "decisions/provider.yaml";

impl Governed {
    /// A decision for the model of the scene, in the words of the record.
    fn decision() -> Value {
        json!({
            "decision_status": "local_provider_required", "provider_class": "local_case_compatible",
            "provider": "qwen-local", "model": "qwen3.6-35b-a3b", "fallback_provider": "qwen-local",
            "fallback_model": "another", "approval_source": "tests", "credential_source_class": "local",
            "allowed_network_class": "local", "review_trigger": "never", "evidence_sources": ["notes/1"], "effect": "none",
        })
    }

    /// Every record as it should be, and this decision, signed.
    fn decide(&self, decision: &str) {
        self.settle();
        self.scene.world.write(DECISION, decision);
        self.sign(DECISION, &self.key, "cto-record@v1");
    }
}

/// A member of a provider decision as it should not be.
type Decided = (&'static str, fn(&mut Value));

const DECISION_ROWS: &[Decided] = &[
    ("not decided, with details", |it| it["decision_status"] = json!("not_decided")),
    ("another status", |it| it["decision_status"] = json!("approved")),
    ("a class of the other kind", |it| it["provider_class"] = json!("external_other")),
    ("another class", |it| it["provider_class"] = json!("local")),
    ("another model", |it| it["model"] = json!("other")),
    ("another provider", |it| it["provider"] = json!("other")),
    ("a pair that is none", |it| it["fallback_model"] = json!("a b\nc")),
    ("an empty source", |it| it["approval_source"] = json!(" ")),
    ("no evidence", |it| it["evidence_sources"] = json!([])),
    ("a copy for evidence", |it| it["evidence_sources"] = json!(["x".repeat(301)])),
    ("a second line of evidence", |it| it["evidence_sources"] = json!(["notes/1\nmore"])),
    ("an unknown key", |it| it["more"] = json!(1)),
    ("a placeholder", |it| it["effect"] = json!("<FILL IN: what follows>")),
];

#[test]
fn a_provider_decision_counts_at_stage_5_only_as_it_should_be() {
    let Some(governed) = Governed::new("a_provider_decision_counts_at_stage_5_only_as_it_should_be") else { return };
    let decision = Governed::decision();
    let whole = decision.to_string();
    governed.decide(&whole);
    assert_eq!(governed.refusal().0, "", "the control: with every record right only the rung is missing");
    let refuse = |decision: &str| {
        governed.decide(decision);
        let (told, text) = governed.refusal();
        assert!(told.starts_with("model_not_admitted"), "{told}: {text}");
    };
    each_row(decision.as_object().unwrap().keys().map(|key| (format!("without {key}"), key)), |key| {
        let mut without = decision.clone();
        without.as_object_mut().unwrap().remove(key);
        refuse(&without.to_string());
    });
    each_row(DECISION_ROWS.iter().copied(), |edit| {
        let mut edited = decision.clone();
        edit(&mut edited);
        refuse(&edited.to_string());
    });
    refuse(&whole.replacen('{', "{\"provider\":\"qwen-local\",", 1));
    refuse("[]");
    each_row(SIGNATURES.iter().map(|row| (row.0, row)), |(_, spoil, words)| {
        governed.decide(&whole);
        spoil(&governed, DECISION);
        let (told, text) = governed.refusal();
        assert!(told.starts_with("model_not_admitted") && text.contains(words), "{told}: {text}");
    });
    governed.decide(&whole);
    assert_eq!(governed.refusal().0, "", "the control");
}

/// The records of an engine and its model, as other people's programs see them.
#[test]
fn jsonschema_of_python_takes_the_records_of_an_engine() {
    let test = "case::governed::jsonschema_of_python_takes_the_records_of_an_engine";
    let Some(python) = testkit::python(test) else { return };
    let Some(governed) = Governed::new(test) else { return };
    let value = |text: &str| contract::source::read("document", text).node.unwrap().to_value();
    let documents = [
        ("source-admission", SOURCE.to_owned(), value(&governed.source)),
        ("model-admission", MODEL.to_owned(), governed.model.clone()),
        ("target-admission", TARGET.to_owned(), value(&governed.admission())),
        ("provider-decision", DECISION.to_owned(), Governed::decision()),
    ];
    validate_documents(&governed.scene.world, &python, &documents);
}
