//! Every field of a plan, whatever it is called: a request whose plan differs in that one field is approved by the right key, and the
//! run is refused with the field's name. The fields are those that the plan has, so that none is forgotten.

use contract::canonical_bytes;
use ledger::RequestStep;
use serde_json::{Value, json};
use testkit::each_row;

use super::forged::{NAMESPACE, approval, fingerprint, now, record, record_forgery, requested, sign};
use super::{Scene, text};

/// Fields that a request chooses and the run takes over; `who_asked_is_who_signed` is about the first.
const OF_THE_REQUEST: [&str; 2] = ["/requester_fingerprint", "/nonce"];

/// Places of all values of a document that hold no other.
fn leaves(value: &Value, place: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            members.iter().for_each(|(key, value)| leaves(value, &format!("{place}/{key}"), found))
        }
        Value::Array(items) if !items.is_empty() => {
            items.iter().enumerate().for_each(|(at, value)| leaves(value, &format!("{place}/{at}"), found));
        }
        _ => found.push(place.to_owned()),
    }
}

/// Another value of the same kind: one that the field may have, where that is easily said.
fn other_than(place: &str, value: &Value) -> Value {
    match value {
        Value::Bool(value) => json!(!value),
        Value::Number(number) => json!(number.as_u64().unwrap() + 1),
        Value::Array(_) => json!(["x"]),
        Value::Null => json!("x"),
        Value::Object(_) => json!({"x": "x"}),
        Value::String(text) if text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
            json!("0".repeat(64))
        }
        Value::String(_) if place.ends_with("/profile") => json!("landlock"),
        Value::String(_) if place.ends_with("/risk_class") => json!("medium"),
        Value::String(text) => json!(format!("{text}x")),
    }
}

/// True if the refusal names the place, a member of it, or the field that it is a member of.
fn names_field(told: &str, place: &str) -> bool {
    let parts: Vec<&str> = place.split('/').collect();
    let mut fields = (2..=parts.len()).map(|length| format!("{}: ", parts[..length].join("/")));
    told.contains(&format!("{place}/")) || fields.any(|field| told.contains(&field))
}

#[test]
fn a_plan_that_differs_in_any_field_is_another_plan() {
    let Some(scene) = Scene::new("a_plan_that_differs_in_any_field_is_another_plan") else { return };
    let me = fingerprint(&scene, &scene.key);
    let honest = requested(&scene);
    let _ = scene.cto(&["revoke", &text(&honest["name"]), "--reason", "forged next"]).expect(0);
    let mut places = vec!["no field".to_owned()];
    leaves(&honest["plan"], "", &mut places);
    places.retain(|place| !OF_THE_REQUEST.contains(&place.as_str()));
    assert!(places.len() > 60, "{places:?}");
    each_row(places.iter().enumerate().map(|row| (row.1, row)), |(number, place)| {
        let mut request = honest.clone();
        request.as_object_mut().unwrap().remove("name");
        let plan = &mut request["plan"];
        plan["nonce"] = json!(format!("{number:032x}"));
        if let Some(value) = plan.pointer_mut(place) {
            *value = other_than(place, value);
        }
        let name = record_forgery(&scene, &mut request);
        request["name"] = honest["name"].clone();
        let mut approved = approval(&scene, &request, &me);
        approved["policy_digest"] = request["plan"]["policy_digest"].clone();
        request["name"] = json!(name);
        let approved = String::from_utf8(canonical_bytes(&approved).unwrap()).unwrap();
        let armour = sign(&scene, &scene.key, NAMESPACE, approved.as_bytes());
        record(&scene, &request, RequestStep::Granted, &approved, &armour);
        if place == "no field" {
            assert_eq!(scene.run(0)["status"], "pass", "the control: an honest plan by the same way");
            return;
        }
        let report = scene.run(3);
        assert_eq!(report["engine"]["process_started"], false);
        let told = &report["blockers"][0];
        match told["reason"].as_str().unwrap() {
            "approval_not_comparable" => assert_eq!(place, "/schema"),
            "approval_mismatch" => {
                let told = told["text"].as_str().unwrap();
                // A value that the field cannot have makes the plan unreadable, and its digest is what differs.
                assert!(names_field(told, place) || told.contains("request_digest: "), "{told}");
            }
            other => panic!("{other}: {told}"),
        }
        revoke(&scene, &request, &me);
    });
}

/// Out of the way of the next row.
fn revoke(scene: &Scene, request: &Value, me: &str) {
    let revocation = json!({
        "schema": "cto-revocation@v1", "request_digest": request["request_digest"],
        "ledger_id": request["plan"]["ledger_id"], "key_fingerprint": me, "reason": "next", "revoked_at": now(),
        "nonce": "b".repeat(32),
    });
    let revocation = String::from_utf8(canonical_bytes(&revocation).unwrap()).unwrap();
    let armour = sign(scene, &scene.key, NAMESPACE, revocation.as_bytes());
    record(scene, request, RequestStep::Revoked, &revocation, &armour);
}
