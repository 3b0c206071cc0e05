//! Stages 1 and 2: a shut gate means that nothing is touched, and a pass is one with every piece of evidence.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use testkit::{content_digest, files_of};

use super::expected::Expected;
use super::scene::{KEY, Scene, TASK, events, good, reasons};

/// A gate that is shut, and the error for it.
struct Shut {
    allow: Option<&'static str>,
    opened: Option<&'static str>,
    wanted: &'static str,
    says: &'static str,
}

const SHUT: &[Shut] = &[
    Shut { allow: None, opened: None, wanted: "1", says: "is not enabled" },
    Shut { allow: None, opened: Some("2"), wanted: "2", says: "is not enabled" },
    Shut { allow: Some("0"), opened: Some("2"), wanted: "2", says: "the environment shuts the gate" },
    Shut { allow: Some("1"), opened: None, wanted: "2", says: "stage 2 is not enabled" },
    Shut { allow: Some("1"), opened: Some("3"), wanted: "2", says: "opens stage 3" },
];

#[test]
fn a_shut_gate_means_that_nothing_is_touched() {
    let mut scene = Scene::new(good());
    for Shut { allow, opened, wanted, says } in SHUT {
        scene.unset("CTO_HARNESS_ALLOW_CASE");
        scene.unset("CTO_HARNESS_CASE_STAGE");
        allow.iter().for_each(|value| scene.set("CTO_HARNESS_ALLOW_CASE", value));
        opened.iter().for_each(|value| scene.set("CTO_HARNESS_CASE_STAGE", value));
        let before = content_digest(&scene.world.here(), &[]);
        let (report, bundle) = scene.run(TASK, wanted, 3);
        assert_eq!(reasons(&report), ["gate_missing"], "{says}");
        assert!(report["blockers"][0]["text"].as_str().unwrap().contains(says), "{}", testkit::outcome_of(&report));
        assert_eq!(
            (&report["case_process_started"], &report["engine"]["process_started"], &report["backend_exit_code"]),
            (&json!(false), &json!(false), &Value::Null)
        );
        assert_eq!((&report["case_runtime_model_provider"], &report["baseline_commit"]), (&Value::Null, &Value::Null));
        for name in ["report.md", "patch.diff", "test.log", "trace.jsonl", "backend/case-gate.log", "sandbox.json"] {
            assert!(bundle.join(name).is_file(), "{name}: {says}");
        }
        assert!(fs::read(bundle.join("patch.diff")).unwrap().is_empty());
        assert!(report["not_applicable"]["patch.applied"].is_string());
        let blocked = events(&bundle).into_iter().find(|event| event["type"] == "backend.gate.blocked").unwrap();
        assert_eq!((&blocked["data"]["case_executed"], &blocked["data"]["gate"]), (&json!(false), &json!("gate")));
        // No copy of the program, no look at the target, no model asked, and no file of the workspace changed.
        let copies = fs::read_dir(scene.world.home().join("engines")).map_or(0, Iterator::count);
        assert_eq!(copies, 0, "{says}");
        assert_eq!((scene.server.asked().len(), content_digest(&scene.world.here(), &[])), (0, before), "{says}");
    }
}

/// The requests of a run are found in the recording of another run, because no prompt names the run.
#[test]
fn a_recorded_run_is_played_again() {
    let mut scene = Scene::new(good());
    scene.climb();
    let (recorded, _) = scene.run_named("recorded", &[TASK, "--stage", "2", "--record-model-traffic"], 0);
    let (asked, run) = (scene.server.asked(), recorded["run_id"].as_str().unwrap());
    assert!(asked.iter().all(|asked| !String::from_utf8_lossy(&asked.body).contains(run)), "{asked:#?}");
    let (report, _) = scene.run_named("replayed", &[TASK, "--stage", "2", "--replay-model-traffic", run], 0);
    let model = &report["model"];
    assert_eq!(
        (&model["replayed"], &model["answered"]),
        (&recorded["model"]["answered"], &model["replayed"]),
        "{model}"
    );
    assert_eq!(scene.server.asked().len(), asked.len(), "nobody is asked");
}

#[test]
fn the_gate_alone_is_stage_1() {
    let mut scene = Scene::new(good());
    scene.unset("CTO_HARNESS_CASE_STAGE");
    let (report, _) = scene.run(TASK, "1", 0);
    assert_eq!((&report["status"], &report["case_process_started"]), (&json!("pass"), &json!(false)));
    assert_eq!(report["case_model_admission_status"], "admitted");
    assert_eq!(scene.server.asked().len(), 0);
}

/// Everything of a bundle that holds the text, in any file.
fn holding(bundle: &Path, text: &str) -> Vec<PathBuf> {
    let holds = |name: &PathBuf| String::from_utf8_lossy(&fs::read(bundle.join(name)).unwrap()).contains(text);
    files_of(bundle).into_iter().filter(holds).collect()
}

#[test]
fn stage_2_passes_as_the_operator_sets_it() {
    for wire in ["responses", "chat_completions"] {
        let mut scene = Scene::new(good());
        scene.engine["wire"] = json!(wire);
        scene.climb();
        let (report, bundle) = scene.run(TASK, "2", 0);
        for (field, value) in [
            ("status", json!("pass")),
            ("case_process_started", json!(true)),
            ("case_model_provider", json!("qwen-local")),
            ("case_model", json!("qwen3.6-35b-a3b")),
            ("case_runtime_model_provider", json!("openai")),
            ("case_model_admission_status", json!("admitted")),
            ("source_admission_status", json!("not_admitted")),
            ("changed_files", json!(["strings.py"])),
            ("backend_exit_code", json!(0)),
        ] {
            assert_eq!(report[field], value, "{wire}: {field}");
        }
        let proof = fs::read(bundle.join("stage2-no-target-inspection.json")).unwrap();
        let proof: Value = serde_json::from_slice(&proof).unwrap();
        assert_eq!((&proof["passed"], &proof["compared_with"]["engine"]), (&json!(true), &json!("fake")));
        // The scripted model was asked by every phase, in the wire that was chosen.
        let route = if wire == "responses" { "/v1/responses" } else { "/v1/chat/completions" };
        assert!(scene.server.asked().iter().all(|asked| asked.head.starts_with(&format!("POST {route} "))), "{wire}");
        assert!(report["model"]["answered"].as_u64().unwrap() >= 6, "{}", report["model"]);
        // Its litter is no part of the change, and its state is kept without its credentials.
        assert!(report["litter"].as_array().unwrap().iter().any(|path| path.as_str().unwrap().starts_with(".case/")));
        assert!(bundle.join("backend/case-data/config.json").is_file());
        assert!(!bundle.join("backend/case-data/pi-agent/auth.json").exists());
        let address = scene.server.address().to_string();
        let port = format!(":{}", scene.server.address().port());
        for secret in [address.as_str(), port.as_str(), KEY] {
            assert_eq!(holding(&bundle, secret), Vec::<PathBuf>::new(), "{wire}: {secret}");
        }
    }
}

/// Every variable has a key, and an operator may use either.
#[test]
fn keys_say_what_variables_say() {
    let mut scene = Scene::new(good());
    scene.set("CTO_HARNESS_CASE_WIRE", "chat_completions");
    scene.climb();
    let said: Vec<(&str, String)> = std::mem::take(&mut scene.environment);
    let value = |name: &str| said.iter().find(|(known, _)| *known == name).unwrap().1.clone();
    let (provider, model) = (value("CTO_HARNESS_CASE_MODEL_PROVIDER"), value("CTO_HARNESS_CASE_MODEL"));
    scene.classes["models"] =
        json!({format!("{provider}/{model}"): {"endpoint": value("CTO_HARNESS_CASE_LOCAL_BASE_URL")}});
    scene.engine = json!({
        "enabled": true, "stage": 2, "executable": value("CTO_HARNESS_CASE_BIN"), "wire": "chat_completions",
        "model": {"provider": provider, "model": model}, "settle_seconds": 1, "timeout_seconds": 60,
        "model_admission_file": value("CTO_HARNESS_CASE_MODEL_ADMISSION_FILE"), "openai_codex_auth_bridge": false,
    });
    let (report, _) = scene.check("keys", TASK, &Expected::PASS);
    assert_eq!(
        (&report["case_model_provider"], &report["case_runtime_model_provider"]),
        (&json!("qwen-local"), &json!("openai"))
    );
    assert!(scene.server.asked().iter().all(|asked| asked.head.starts_with("POST /v1/chat/completions ")));
    scene.set("CTO_HARNESS_CASE_WIRE", "carrier_pigeon");
    assert!(scene.cto(&["engine", "probe", "case"]).expect(2).stderr.contains("CTO_HARNESS_CASE_WIRE"));
}
