//! Every field of a plan, whatever it is called: a request whose plan differs in that one field is approved by the right key, and the
//! run is refused with the field's name. The fields are those of the published schema, so that none is forgotten: each that the plan
//! has gets another value, and each that it lacks gets one.

use contract::canonical_bytes;
use ledger::RequestStep;
use serde_json::{Value, json};
use testkit::each_row;

use super::forged::{NAMESPACE, approval, fingerprint, now, record, record_forgery, requested, sign};
use super::{Scene, text};

/// Fields that a request chooses and the run takes over; `who_asked_is_who_signed` is about the first.
const OF_THE_REQUEST: [&str; 2] = ["/requester_fingerprint", "/nonce"];

/// Fields that have only one value. With another the plan cannot be read, and its digest is what differs.
const OF_ONE_VALUE: [&str; 2] = ["/contract/schema_version", "/contract/source_classification"];

/// Parts of a plan that a target's admission, its repository and a mount fill in.
const OF_A_TARGET: [&str; 7] =
    ["/stage", "/mutation_mode", "/repository/", "/branch/", "/sandbox/mounts/", "/records/", "/contract/environment/"];

/// One field and the value that a forged plan has there.
type Row = (String, Value);

/// Fields of a plan by the published schema.
struct PlanFields<'s> {
    schema: &'s Value,
    rows: Vec<Row>,
}

impl<'s> PlanFields<'s> {
    /// Schema of a place, without references and without the choice of nothing.
    fn resolve(&self, node: &'s Value) -> &'s Value {
        if let Some(name) = node["$ref"].as_str() {
            return self.resolve(&self.schema["$defs"][name.rsplit('/').next().unwrap()]);
        }
        match node["anyOf"].as_array() {
            Some(choices) => self.resolve(choices.iter().find(|choice| choice["type"] != "null").unwrap()),
            None => node,
        }
    }

    fn collect(&mut self, node: &'s Value, value: &Value, place: &str) {
        let node = self.resolve(node);
        if let Some(members) = node["properties"].as_object() {
            for (name, node) in members {
                let place = format!("{place}/{name}");
                match value.get(name) {
                    Some(value) if !value.is_null() => self.collect(node, value, &place),
                    _ => self.rows.push((place, self.sample(node))),
                }
            }
        } else if let Some(items) = node.get("items") {
            let found = value.as_array().unwrap();
            found.iter().enumerate().for_each(|(at, value)| self.collect(items, value, &format!("{place}/{at}")));
            if found.is_empty() {
                self.rows.push((format!("{place}/0"), self.sample(items)));
            }
        } else if node["additionalProperties"].is_object() {
            self.rows.push((format!("{place}/ADDED"), self.sample(&node["additionalProperties"])));
        } else {
            self.rows.push((place.to_owned(), self.other_than(node, value)));
        }
    }

    /// A value that the place may have and that is not the one that it has without being written down.
    fn sample(&self, node: &'s Value) -> Value {
        let node = self.resolve(node);
        if let Some(members) = node["properties"].as_object() {
            return members.iter().map(|(name, node)| (name.clone(), self.sample(node))).collect();
        }
        if let Some(items) = node.get("items") {
            return json!([self.sample(items)]);
        }
        if let Some(first) = choices(node).first() {
            return first.clone();
        }
        let is_kind = |kind: &str| node["type"] == kind || node["type"].as_array().is_some_and(|all| all[0] == kind);
        match node["pattern"].as_str() {
            _ if is_kind("object") => json!({}),
            _ if is_kind("boolean") => json!(true),
            _ if is_kind("integer") => json!(7),
            Some(pattern) if pattern.contains("{64}") => json!("0".repeat(64)),
            Some(pattern) if pattern.contains("-WORK-") => json!("CTO-WORK-001"),
            Some(pattern) if pattern.contains("{6}Z-") => json!("20260101T000000Z-made-aaaa"),
            _ => json!("x"),
        }
    }

    fn other_than(&self, node: &'s Value, value: &Value) -> Value {
        if let Some(other) = choices(node).into_iter().find(|choice| choice != value) {
            return other;
        }
        match value {
            Value::Bool(value) => json!(!value),
            Value::Number(number) => json!(number.as_u64().unwrap() + 1),
            Value::String(_) if node["pattern"].as_str().is_some_and(|pattern| pattern.contains("{64}")) => {
                self.sample(node)
            }
            value => json!(format!("{}x", value.as_str().unwrap())),
        }
    }
}

/// The words that a place may have, where these are listed.
fn choices(node: &Value) -> Vec<Value> {
    let constants = node["oneOf"].as_array().into_iter().flatten().map(|choice| choice["const"].clone());
    node["enum"].as_array().into_iter().flatten().cloned().chain(constants).collect()
}

/// Every field of a plan, and one row for a plan that is as it was.
fn list_rows(scene: &Scene, plan: &Value) -> Vec<Row> {
    let schema = scene.cto(&["schema", "plan"]).expect(0).json();
    let mut fields = PlanFields { schema: &schema, rows: vec![("no field".to_owned(), Value::Null)] };
    fields.collect(&schema, plan, "");
    fields.rows.retain(|(place, _)| !OF_THE_REQUEST.contains(&place.as_str()));
    fields.rows
}

/// Puts a value in a place; only its last part may be missing.
fn put_value(plan: &mut Value, place: &str, value: &Value) {
    let (parent, name) = place.rsplit_once('/').unwrap();
    match plan.pointer_mut(parent).unwrap() {
        Value::Array(items) if items.is_empty() => items.push(value.clone()),
        parent => match name.parse::<usize>() {
            Ok(at) => parent[at] = value.clone(),
            Err(_) => parent[name] = value.clone(),
        },
    }
}

/// True if the refusal names the place, a member of it, or the field that it is a member of.
fn names_field(told: &str, place: &str) -> bool {
    let parts: Vec<&str> = place.split('/').collect();
    let mut fields = (2..=parts.len()).map(|length| format!("{}: ", parts[..length].join("/")));
    told.contains(&format!("{place}/")) || fields.any(|field| told.contains(&field))
}

/// Forges a plan for each row, has it approved, and shows that the run is refused with the field's name.
fn refuse_each(scene: &Scene, honest: &Value, rows: &[Row]) {
    let me = fingerprint(scene, &scene.key);
    let _ = scene.cto(&["revoke", &text(&honest["name"]), "--reason", "forged next"]).expect(0);
    each_row(rows.iter().enumerate().map(|row| (&row.1.0, row)), |(number, (place, value))| {
        let mut request = honest.clone();
        request.as_object_mut().unwrap().remove("name");
        let plan = &mut request["plan"];
        plan["nonce"] = json!(format!("{number:032x}"));
        if place != "no field" {
            put_value(plan, place, value);
        }
        let name = record_forgery(scene, &mut request);
        request["name"] = honest["name"].clone();
        let mut approved = approval(scene, &request, &me);
        approved["policy_digest"] = request["plan"]["policy_digest"].clone();
        request["name"] = json!(name);
        let approved = String::from_utf8(canonical_bytes(&approved).unwrap()).unwrap();
        let armour = sign(scene, &scene.key, NAMESPACE, approved.as_bytes());
        record(scene, &request, RequestStep::Granted, &approved, &armour);
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
                match OF_ONE_VALUE.contains(&place.as_str()) {
                    true => assert!(told.contains("request_digest: "), "{told}"),
                    false => assert!(names_field(told, place) && !told.contains("request_digest: "), "{told}"),
                }
            }
            other => assert_eq!(other, "approval_mismatch", "{told}"),
        }
        revoke(scene, &request, &me);
    });
}

#[test]
fn a_plan_that_differs_in_any_field_is_another_plan() {
    let Some(scene) = Scene::new("a_plan_that_differs_in_any_field_is_another_plan") else { return };
    let honest = requested(&scene);
    let rows = list_rows(&scene, &honest["plan"]);
    for (added, place) in [("a model", "/model"), ("a run", "/continues"), ("a proof", "/evidence/0")] {
        assert!(rows.iter().any(|row| row.0 == place), "{added}: {rows:?}");
    }
    refuse_each(&scene, &honest, &rows);
}

#[test]
fn a_plan_for_a_target_that_differs_in_any_field_is_another_plan() {
    let test = "a_plan_for_a_target_that_differs_in_any_field_is_another_plan";
    let Some(scene) = Scene::with_target(test) else { return };
    let honest = requested(&scene);
    let mut rows = list_rows(&scene, &honest["plan"]);
    let is_wanted = |place: &str| place == "no field" || OF_A_TARGET.iter().any(|part| place.starts_with(part));
    rows.retain(|(place, _)| is_wanted(place));
    for place in ["/records/0/signed_by", "/sandbox/mounts/0/tree_sha256", "/repository/path", "/repository/clean"] {
        let row = rows.iter().find(|row| row.0 == place);
        assert!(row.is_some() && honest["plan"].pointer(place).is_some(), "{place} is there to be changed: {rows:?}");
    }
    refuse_each(&scene, &honest, &rows);
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
