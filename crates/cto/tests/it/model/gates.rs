//! Every status of an admission and every provider decision, each blocking before anything starts or letting through.

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use super::scene::{KEY, PAIR, Scene, ask, asking, events};

type Change = fn(&mut Scene);

/// A change, the reason, the marker in `backend/` and words of the text that must follow.
const BLOCKED: &[(&str, Change, &str, &str, &str)] = &[
    ("no pair", |it| it.pair = None, NOT_ADMITTED, MODEL, "missing_admission"),
    ("another pair", |it| it.pair = Some("prov/other"), NOT_ADMITTED, MODEL, "missing_admission"),
    ("no object", |it| it.admission = json!("x"), NOT_ADMITTED, MODEL, "invalid_admission"),
    ("a further key", |it| it.admission["x"] = json!(1), NOT_ADMITTED, MODEL, "invalid_admission"),
    ("an empty word", |it| it.admission["approval_source"] = json!(""), NOT_ADMITTED, MODEL, "invalid_admission"),
    (
        "a secret in it",
        |it| it.admission["approval_source"] = json!(super::scene::secret()),
        NOT_ADMITTED,
        MODEL,
        "secret-shaped",
    ),
    ("a draft", |it| it.admission["status"] = json!("draft"), NOT_ADMITTED, MODEL, "not_admitted"),
    (
        "a placeholder",
        |it| it.admission["review_trigger"] = json!("<FILL IN: when this is to be looked at again>"),
        NOT_ADMITTED,
        MODEL,
        "`review_trigger` still holds the placeholder of a draft",
    ),
    (
        "expired",
        |it| it.admission["expires_at"] = json!("2026-01-02T00:00:00.000000Z"),
        NOT_ADMITTED,
        MODEL,
        "it expired at",
    ),
    ("a stage too far", |it| it.admission["max_stage"] = json!(1), NOT_ADMITTED, MODEL, "up to stage 1"),
    ("named, for another pair", name_another, NOT_ADMITTED, MODEL, "mismatch"),
    (
        "not decided",
        |it| it.decision = Some(json!({"decision_status": "not_decided"})),
        NOT_ADMITTED,
        MODEL,
        "`not_decided`",
    ),
    (
        "half decided",
        |it| it.decision = Some(json!({"decision_status": "local_provider_required"})),
        NOT_ADMITTED,
        MODEL,
        "is empty",
    ),
    ("required, without a pair", leave_out_pair, NOT_ADMITTED, MODEL, "names no pair"),
    (
        "another is required",
        |it| it.decision = Some(decision("local", "else", "x", "y")),
        NOT_ADMITTED,
        MODEL,
        "neither it nor its fallback",
    ),
    (
        "another is approved",
        |it| it.decision = Some(decision("external", "else", "x", "y")),
        NOT_ADMITTED,
        MODEL,
        "neither it nor its fallback",
    ),
    (
        "an unmapped credential",
        |it| it.config["credential_sources"] = json!({}),
        UNAVAILABLE,
        PROVIDER,
        "not mapped to a source",
    ),
    ("no credential", |it| it.environment.clear(), "provider_auth_unavailable", AUTH, "UPSTREAM_KEY is not set"),
    ("an expired login", expire_login, "provider_auth_unavailable", AUTH, "log in again"),
    ("an exposed credential", expose_credential, "provider_auth_unavailable", AUTH, "chmod 600"),
    (
        "an unmapped network",
        |it| it.config["network_classes"] = json!({}),
        UNAVAILABLE,
        PROVIDER,
        "not mapped to hosts",
    ),
    (
        "no endpoint",
        |it| it.config["models"] = json!({}),
        "local_provider_config_missing",
        LOCAL,
        "no endpoint is configured",
    ),
    (
        "a bad endpoint",
        |it| it.config["models"][PAIR]["endpoint"] = json!("ftp://x"),
        "local_provider_config_missing",
        LOCAL,
        "cannot be used",
    ),
    (
        "an endpoint outside its class",
        |it| it.config["network_classes"]["loopback"]["hosts"] = json!(["elsewhere.example"]),
        UNAVAILABLE,
        PROVIDER,
        "is not a host of network class",
    ),
];

const NOT_ADMITTED: &str = "model_not_admitted";
const UNAVAILABLE: &str = "provider_unavailable";
const MODEL: &str = "provider-model-not-admitted.txt";
const PROVIDER: &str = "provider-unavailable.txt";
const AUTH: &str = "provider-auth-unavailable.txt";
const LOCAL: &str = "provider-local-config-unavailable.txt";

fn name_another(it: &mut Scene) {
    let mut other = it.admission.clone();
    other["model"] = json!("other");
    let file = it.world.write("other.json", other.to_string());
    it.environment.push(("CTO_HARNESS_FAKE_MODEL_ADMISSION_FILE".to_owned(), file.display().to_string()));
}

fn expire_login(it: &mut Scene) {
    let file = it.world.write_secret("login.json", r#"{"access_token":"tok-0123456789","expires_at":1}"#);
    it.config["credential_sources"]["key"] = json!({"oauth_file": file});
}

fn expose_credential(it: &mut Scene) {
    let file = it.world.write_secret("credential", "tok-0123456789");
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o640)).unwrap();
    it.config["credential_sources"]["key"] = json!({"file": file});
}

fn without(keys: &[&str]) -> Value {
    let mut decision = decision("local", "prov", "m", "y");
    keys.iter().for_each(|key| decision[*key] = json!(""));
    decision
}

fn leave_out_fallback(it: &mut Scene) {
    it.decision = Some(without(&["fallback_provider", "fallback_model"]));
}

fn leave_out_pair(it: &mut Scene) {
    it.decision = Some(without(&["provider", "model", "credential_source_class", "allowed_network_class"]));
}

/// A whole provider decision.
fn decision(kind: &str, provider: &str, model: &str, fallback: &str) -> Value {
    let local = kind == "local";
    json!({
        "decision_status": if local { "local_provider_required" } else { "external_provider_approved" },
        "provider_class": if local { "local_compatible" } else { "external_other" },
        "provider": provider, "model": model, "fallback_provider": "prov", "fallback_model": fallback,
        "approval_source": "tests", "credential_source_class": "key", "allowed_network_class": "loopback",
        "review_trigger": "never", "evidence_sources": ["tests"], "effect": "none",
    })
}

#[test]
fn each_missing_thing_blocks_before_anything_starts() {
    for (name, change, reason, marker, words) in BLOCKED {
        let mut scene = Scene::new();
        change(&mut scene);
        scene.settle();
        let case = scene.case(&[], &asking(&[ask("m", "hello")]));
        let (report, bundle) = scene.run(&case, &[], 3);
        let text = report["blockers"].to_string();
        assert_eq!(report["blocker_reasons"], json!([reason]), "{name}: {text}");
        assert!(text.contains(words), "{name}: {text}");
        assert_eq!(report["engine"]["process_started"], false, "{name}");
        assert!(std::fs::read_to_string(bundle.join("backend").join(marker)).unwrap().contains(words), "{name}");
        let gate = if *reason == UNAVAILABLE { "run.completed" } else { "backend.gate.blocked" };
        let carried = events(&bundle).iter().any(|event| event["type"] == gate && event["data"]["reason"] == *reason);
        assert!(carried, "{name}");
        assert_eq!(scene.asked(), 0, "{name}: nothing may be sent");
        let decided = scene.cto(&["decide", case.to_str().unwrap(), "--model", scene.pair.unwrap_or("a/b")]);
        assert_eq!(decided.code, 3, "{name}: {}", decided.text());
    }
}

/// The same scene with everything in place, and the decisions that allow it.
#[test]
fn what_is_admitted_and_decided_runs() {
    let rows: &[(&str, Change, bool)] = &[
        ("no decision", |_| {}, false),
        ("required", |it| it.decision = Some(decision("local", "prov", "m", "y")), false),
        ("required, without a fallback", leave_out_fallback, false),
        ("approved", |it| it.decision = Some(decision("external", "prov", "m", "y")), false),
        ("the fallback, asked for by name", |it| it.decision = Some(decision("local", "else", "x", "m")), true),
    ];
    for (name, change, fallback) in rows {
        let mut scene = Scene::new();
        change(&mut scene);
        scene.settle();
        let case = scene.case(&[], &asking(&[ask("m", "hello")]));
        let decided = scene.cto(&["decide", case.to_str().unwrap(), "--model", PAIR]);
        assert_eq!((decided.code, scene.asked()), (0, 0), "{name}: {}", decided.text());
        let (report, _) = scene.run(&case, &[], 0);
        assert_eq!(report["model"]["admission_status"], "admitted", "{name}");
        assert_eq!(report["model"]["fallback"], *fallback, "{name}");
        assert_eq!(scene.asked(), 2, "{name}: the probe and the engine");
    }
}

/// Phase C: what the model's server does when it is asked for a word.
#[test]
fn a_model_that_cannot_be_used_blocks_before_the_engine_starts() {
    use fixtures::scripted::{Reply, Script};
    let reasoning = Reply { reasoning: Some("hm".to_owned()), ..Reply::default() };
    let other = Reply { model: Some("another".to_owned()), ..Reply::text("hi") };
    let rows = [
        (
            "reasoning alone",
            reasoning,
            "provider_response_shape",
            "provider-reasoning-only.txt",
            "reasoning and no content",
        ),
        ("an error", Reply::error(500, "no"), UNAVAILABLE, PROVIDER, "HTTP 500"),
        ("a refused key", Reply::error(401, "no"), "provider_auth_unavailable", AUTH, "refused the credential"),
        ("another model", other, NOT_ADMITTED, MODEL, "Another model"),
    ];
    for (name, otherwise, reason, marker, words) in rows {
        let scene = Scene::with(Script { steps: Vec::new(), otherwise });
        scene.settle();
        let case = scene.case(&[], &asking(&[ask("m", "hello")]));
        let (report, bundle) = scene.run(&case, &[], 3);
        assert_eq!(report["blocker_reasons"], json!([reason]), "{name}: {}", report["blockers"]);
        let said = std::fs::read_to_string(bundle.join("backend").join(marker)).unwrap();
        assert!(said.contains(words), "{name}: {said}");
        assert_eq!((&report["engine"]["process_started"], scene.asked()), (&json!(false), 1), "{name}");
        assert_eq!(report["model"]["requests"], 1, "{name}: what it cost is evidence");
    }
}

#[test]
fn a_server_that_is_not_there_blocks() {
    let mut scene = Scene::new();
    scene.settle();
    drop(scene.trap());
    let case = scene.case(&[], &asking(&[ask("m", "hello")]));
    let (report, bundle) = scene.run(&case, &[], 3);
    assert_eq!(report["blocker_reasons"], json!([UNAVAILABLE]));
    assert_eq!(report["failure_reason"], "provider unavailable");
    assert!(bundle.join("backend").join(PROVIDER).is_file());
}

/// Without a sandbox there is no network of the engine's own to serve the bridge in.
#[test]
fn no_sandbox_no_model() {
    let scene = Scene::new();
    scene.settle();
    let case = scene.case(&[], &asking(&[ask("m", "hello")]));
    let (report, _) = scene.run(&case, &["--sandbox", "none"], 3);
    assert_eq!(report["blocker_reasons"], json!(["sandbox_unavailable"]));
    assert_eq!(scene.asked(), 0);
}

/// Settings that a workspace may not have, and the output of the commands about records.
#[test]
fn records_are_drafted_checked_and_listed() {
    let mut scene = Scene::new();
    scene.settle();
    let listed = scene.cto(&["records", "--json"]).expect(0).json();
    assert_eq!((&listed[0]["subject"], &listed[0]["usable"]), (&json!(PAIR), &json!(true)));
    let drafted = scene.cto(&["admit", "model", "p/x", "--credential-class", "c", "--network-class", "n", "--json"]);
    let file = drafted.expect(0).json()["file"].as_str().unwrap().to_owned();
    let _ = scene.cto(&["admit", "model", "--check", &file]).expect(0);
    assert_eq!(scene.cto(&["admit", "model", "p/x"]).code, 2, "a record is never overwritten");
    scene.admission["secret"] = json!("x");
    scene.settle();
    let broken = scene.cto(&["records"]).expect(1);
    assert!(broken.text().contains("unusable"), "{}", broken.text());
    assert_eq!(scene.cto(&["admit", "model", "--check", "admissions/model/prov.json"]).code, 1);
    let shown = scene.cto(&["config"]).expect(0).text();
    assert!(shown.contains("credential_sources.key env UPSTREAM_KEY") && !shown.contains(KEY), "{shown}");
    assert!(!shown.contains("/v1"), "an endpoint is shown nowhere: {shown}");
    scene.world.write("harness.yaml", "network_classes: {loopback: {hosts: [evil.example]}}\n");
    let refused = scene.cto(&["config"]).expect(2);
    assert!(refused.stderr.contains("belongs into your own configuration"), "{}", refused.stderr);
}

/// The classes of a provider decision describe it; those of the admission govern.
#[test]
fn a_decision_may_describe_other_classes_than_the_admission() {
    let mut scene = Scene::new();
    let mut record = decision("local", "prov", "m", "y");
    record["credential_source_class"] = json!("another");
    record["allowed_network_class"] = json!("elsewhere");
    scene.decision = Some(record);
    scene.settle();
    let case = scene.case(&[], &super::scene::asking(&[super::scene::ask("m", "hello")]));
    let (report, _) = scene.run(&case, &[], 0);
    assert_eq!(report["model"]["provider_decision"], "local_provider_required");
}
