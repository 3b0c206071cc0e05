//! Conditions for a start of Case: each row removes one of them, and nothing is started.

use std::fs;
use std::net::TcpListener;

use fixtures::scripted::{Reply, Script};
use serde_json::{Value, json};

use super::expected::Expected;
use super::scene::{KEY, Scene, TASK, good};

/// A missing record, and the error for it.
struct Row {
    name: &'static str,
    change: fn(&mut Scene),
    /// A part of the error.
    says: &'static str,
    expected: Expected,
}

const ADMISSION: &str = "CTO_HARNESS_CASE_MODEL_ADMISSION_FILE";

fn admission(scene: &Scene) -> Value {
    serde_json::from_slice(&fs::read(scene.world.here().join("records/qwen-local.json")).unwrap()).unwrap()
}

/// Another admission in place of the one that stands.
fn admit(scene: &mut Scene, changes: &Value) {
    let mut record = admission(scene);
    record.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
    let file = scene.world.write("records/other.json", record.to_string());
    scene.set(ADMISSION, file.to_str().unwrap());
}

fn codex(scene: &mut Scene) {
    scene.set("CTO_HARNESS_CASE_MODEL_PROVIDER", "openai-codex");
    scene.set("CTO_HARNESS_CASE_MODEL", "gpt-5.5");
    admit(scene, &json!({"provider": "openai-codex", "model": "gpt-5.5", "credential_source_class": "login"}));
}

const ROWS: &[Row] = &[
    Row {
        name: "no admission",
        change: |scene| scene.unset(ADMISSION),
        says: "missing_admission",
        expected: Expected::refused(&["model_not_admitted"], "", &["provider-model-not-admitted.txt"]),
    },
    Row {
        name: "no model asked for: the built-in one is nobody's choice",
        change: |scene| {
            scene.unset("CTO_HARNESS_CASE_MODEL_PROVIDER");
            scene.unset("CTO_HARNESS_CASE_MODEL");
        },
        says: "needs a model, and none is asked for",
        expected: Expected::refused(
            &["stage_not_earned", "model_not_admitted"],
            "",
            &["provider-model-not-admitted.txt"],
        ),
    },
    Row {
        name: "an admission for another pair",
        change: |scene| scene.set("CTO_HARNESS_CASE_MODEL", "other"),
        says: "mismatch",
        expected: Expected::refused(
            &["stage_not_earned", "model_not_admitted"],
            "",
            &["provider-model-not-admitted.txt"],
        ),
    },
    Row {
        name: "an admission that is a draft",
        change: |scene| admit(scene, &json!({"status": "draft"})),
        says: "its status is `draft`",
        expected: Expected::refused(&["model_not_admitted"], "", &["provider-model-not-admitted.txt"]),
    },
    Row {
        name: "no endpoint",
        change: |scene| scene.unset("CTO_HARNESS_CASE_LOCAL_BASE_URL"),
        says: "provider unavailable",
        expected: Expected::refused(
            &["local_provider_config_missing"],
            "provider unavailable",
            &["provider-local-config-unavailable.txt"],
        ),
    },
    Row {
        name: "an endpoint that nobody serves",
        change: |scene| {
            let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
            scene.set("CTO_HARNESS_CASE_LOCAL_BASE_URL", &format!("http://{free}/v1"));
        },
        says: "provider unavailable",
        expected: Expected::refused(&["provider_unavailable"], "provider unavailable", &["provider-unavailable.txt"]),
    },
    Row {
        name: "reasoning and no content, within 1,024 tokens",
        change: |scene| {
            let reply = Reply { reasoning: Some("hmm ".repeat(1024)), text: None, ..Reply::default() };
            scene.answer(Script { steps: Vec::new(), otherwise: reply });
        },
        says: "provider response shape unavailable",
        expected: Expected::refused(
            &["provider_response_shape"],
            "provider response shape unavailable",
            &["provider-reasoning-only.txt"],
        ),
    },
    Row {
        name: "a login that nobody passes on",
        change: codex,
        says: "does not pass a login for openai-codex on",
        expected: Expected::refused(
            &["stage_not_earned", "provider_auth_unavailable"],
            "",
            &["provider-auth-unavailable.txt"],
        ),
    },
    Row {
        name: "a login that is passed on and is none",
        change: |scene| {
            codex(scene);
            scene.set("CTO_HARNESS_CASE_OPENAI_CODEX_AUTH_BRIDGE", "1");
        },
        says: "is not a login",
        expected: Expected::refused(
            &["stage_not_earned", "provider_auth_unavailable"],
            "",
            &["provider-auth-unavailable.txt"],
        ),
    },
    Row {
        name: "no program named: it is not looked for",
        change: |scene| scene.unset("CTO_HARNESS_CASE_BIN"),
        says: "is not looked for by name",
        expected: Expected::refused(&["provider_unavailable"], "", &["provider-unavailable.txt"]),
    },
    Row {
        name: "another program of the same name",
        change: |scene| scene.name_script("#!/bin/sh\necho 'ca, a certificate tool'\n"),
        says: "it is another program",
        expected: Expected::refused(&["provider_unavailable"], "", &["provider-unavailable.txt"]),
    },
];

#[test]
fn what_is_missing_is_named_and_nothing_is_started() {
    let mut scene = Scene::new(good());
    scene.climb();
    // The control: with nothing taken away it passes.
    let _ = scene.run(TASK, "2", 0);
    for Row { name, change, says, expected } in ROWS {
        let (environment, engine) = (scene.environment.clone(), scene.engine.clone());
        change(&mut scene);
        let (report, _) = scene.check(name, TASK, expected);
        let texts: Vec<&str> =
            report["blockers"].as_array().unwrap().iter().map(|it| it["text"].as_str().unwrap()).collect();
        let said = format!("{}\n{}", report["failure_reason"].as_str().unwrap(), texts.join("\n"));
        assert!(said.contains(says), "{name}: {said}");
        (scene.environment, scene.engine) = (environment, engine);
        scene.answer(good());
    }
}

#[test]
fn content_that_comes_late_is_content() {
    let mut scene = Scene::new(good());
    scene.climb();
    let mut script = good();
    let late = Reply { reasoning: Some("hmm ".repeat(200)), delay_head_ms: 1500, ..Reply::text("ready") };
    script.otherwise = late;
    scene.answer(script);
    let (report, _) = scene.run(TASK, "2", 0);
    assert_eq!(report["status"], "pass");
}

/// With the switch and a login the pair is let through this gate.
#[test]
fn a_login_is_passed_on_when_the_operator_says_so() {
    let mut scene = Scene::new(good());
    let login = scene
        .world
        .write_secret("auth.json", json!({"tokens": {"access_token": KEY, "refresh_token": "r"}}).to_string());
    scene.classes["credential_sources"]["login"] = json!({"oauth_file": login});
    codex(&mut scene);
    scene.set("CTO_HARNESS_CASE_OPENAI_CODEX_AUTH_BRIDGE", "1");
    scene.climb();
    let (report, _) = scene.run(TASK, "2", 0);
    assert_eq!(
        (&report["case_model_provider"], &report["case_runtime_model_provider"]),
        (&json!("openai-codex"), &json!("openai"))
    );
}

#[test]
fn a_probe_tells_it_all_and_starts_nothing() {
    let mut scene = Scene::new(good());
    scene.set("CTO_HARNESS_CASE_STAGE", "1");
    let probed = scene.cto(&["engine", "probe", "case", "--json"]).expect(0).json();
    assert_eq!(probed["selected_backend"], "case");
    let admission = scene.environment.iter().find(|(name, _)| *name == ADMISSION).unwrap().1.clone();
    scene.unset(ADMISSION);
    let _ = scene.cto(&["engine", "probe", "case", "--json"]).expect(3);
    assert_eq!(scene.server.asked().len(), 0);
    scene.set(ADMISSION, &admission);
    // Nobody is there any more, at any stage; the address stands nowhere.
    let address = scene.server.address().to_string();
    drop(std::mem::replace(&mut scene.server, Scene::new(good()).server));
    for stage in ["1", "2"] {
        scene.set("CTO_HARNESS_CASE_STAGE", stage);
        let probed = scene.cto(&["engine", "probe", "case", "--stage", stage]).expect(3).text();
        let said = "missing local_endpoint_configured provider_unavailable the endpoint of qwen-local/qwen3.6-35b-a3b, of network class `local`, cannot be reached: no connection: connection refused";
        assert!(probed.contains(said) && !probed.contains(&address), "{probed}");
    }
}
