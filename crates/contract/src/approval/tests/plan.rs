//! The digest of a plan, and the comparison of two plans.

use serde_json::{Value, json};

use super::plan;
use crate::approval::*;
use crate::digest::{Digest, canonical_bytes};

/// Every leaf of a document, by its pointer.
fn leaves(value: &Value, field: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(members) if !members.is_empty() => {
            members.iter().for_each(|(name, value)| leaves(value, &format!("{field}/{name}"), found));
        }
        Value::Array(items) if !items.is_empty() => {
            items.iter().enumerate().for_each(|(at, value)| leaves(value, &format!("{field}/{at}"), found));
        }
        _ => found.push(field.to_owned()),
    }
}

/// Another value of the same kind, where the type has one.
fn altered(value: &Value) -> Value {
    match value {
        Value::Bool(yes) => json!(!yes),
        Value::Number(number) => json!(number.as_u64().unwrap() % 5 + 1),
        Value::String(text) if text.len() == 64 => json!(Digest::of_bytes(text.as_bytes())),
        Value::String(text) => json!(format!("{text}x")),
        Value::Null => json!("x"),
        other => json!([other]),
    }
}

/// No field of a plan can change without another digest, another packet or sentence where it is shown, and a difference that names
/// it. Fields with few values are changed to another of them.
#[test]
fn every_field_of_a_plan_is_digested_and_named_when_it_differs() {
    let old = plan();
    let document = serde_json::to_value(&old).unwrap();
    let mut fields = Vec::new();
    leaves(&document, "", &mut fields);
    let chosen = [
        ("/mutation_mode", json!("sandbox-repo")),
        ("/contract/mutation_mode", json!("sandbox-repo")),
        ("/contract/risk_class", json!("medium")),
        ("/contract/source_classification", json!("owned_local")),
        ("/contract/limits/model_requests", json!(1)),
        ("/contract/limits/model_tokens", json!(1)),
        ("/contract/limits/money_micros", json!(1)),
        ("/limits/model_requests", json!(1)),
        ("/limits/model_tokens", json!(1)),
        ("/limits/money_micros", json!(1)),
        ("/marks/0/kind", json!("sensitive")),
        ("/repository/kind", json!("disposable")),
        ("/sandbox/profile", json!("landlock")),
        ("/records/0/kind", json!("source_admission")),
        ("/nonce", json!("f".repeat(32))),
    ];
    let mut compared = 0;
    for field in fields {
        let mut other = document.clone();
        let place = other.pointer_mut(&field).unwrap();
        let fixed = chosen.iter().find(|(name, _)| *name == field).map(|(_, value)| value.clone());
        *place = fixed.unwrap_or_else(|| altered(place));
        let Ok(new) = serde_json::from_value::<Plan>(other.clone()) else {
            let closed = ["/schema", "/contract/schema_version", "/contract/control_patch", "forbidden_actions"];
            let empty = document.pointer(&field).is_some_and(|value| *value == json!([]) || *value == json!({}));
            assert!(empty || closed.iter().any(|name| field.contains(name)), "{field}");
            continue;
        };
        let found = differences(&old, &new).unwrap();
        assert_eq!(found.first().map(|first| first.field.as_str()), Some(field.as_str()), "{found:?}");
        assert_eq!(found[0].new.as_ref(), other.pointer(&field), "{field}");
        assert_ne!(old.digest().unwrap(), new.digest().unwrap(), "{field}");
        compared += 1;
    }
    assert!(compared > 70, "{compared} fields were compared");
}

#[test]
fn differences_are_told_in_the_order_of_the_plan() {
    let old = plan();
    let mut new = plan();
    assert_eq!(differences(&old, &new).unwrap(), []);
    new.policy_digest = Digest::ZERO;
    new.contract.allowed_paths.insert(1, "a/b~c".to_owned());
    new.model = None;
    new.repository.checked_out = None;
    new.settings.push(PlannedSetting { name: "a".into(), value: "b".into(), source: "c".into() });
    let found = differences(&old, &new).unwrap();
    let texts: Vec<String> = found.iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(texts.join("\n"), @r#"
    /contract/allowed_paths/1: nothing was approved, `a/b~c` is there now
    /repository/checked_out: `main` was approved, nothing is there now
    /model: `{"provider":"qwen-local","model":"qwen3.6-35b-a3b"}` was approved, nothing is there now
    /settings/1: nothing was approved, `{"name":"a","value":"b","source":"c"}` is there now
    /policy_digest: `823412d1eacb67956220e532959f0104603057c88704863ca38e7cd188fda812` was approved, `0000000000000000000000000000000000000000000000000000000000000000` is there now
    "#);
    assert_eq!(found[3].old, None);
    // Also where the old one has nothing.
    let found = differences(&new, &old).unwrap();
    let fields: Vec<&str> = found.iter().map(|one| one.field.as_str()).collect();
    let wanted = ["/contract/allowed_paths/1", "/repository/checked_out", "/model", "/settings/1", "/policy_digest"];
    assert_eq!(fields, wanted);
}

#[test]
fn a_plan_is_read_back_as_it_was_written() {
    let plan = plan();
    let bytes = canonical_bytes(&plan).unwrap();
    assert!(crate::is_canonical(&bytes));
    let read: Plan = crate::from_json(&bytes).unwrap();
    assert_eq!((&read, read.digest().unwrap()), (&plan, Digest::of_bytes(&bytes)));
    assert_eq!(read_schema_name(&bytes).as_deref(), Some("cto-plan@v1"));
    let newer = String::from_utf8(bytes).unwrap().replace("cto-plan@v1", "cto-plan@v2");
    assert!(crate::from_json::<Plan>(newer.as_bytes()).is_err());
    assert_eq!(read_schema_name(newer.as_bytes()).as_deref(), Some("cto-plan@v2"), "it can be told what it is");
}
